#!/usr/bin/python3
"""Carries a machine's frames late: this kernel has no queue that would delay them.

    delay_frames.py SECONDS PORT OTHER_PORT...

Runs in the switch's namespace until it is killed. The switch itself drops what comes from PORT or goes there meanwhile (Network.cut());
what arrives is seen here before that, kept for SECONDS, and put out at the port of its receiver, or at all of them where it is for all.
Frames are passed on with their virtio header, since checksums and large segments are left to the device on such cables. Prints "ready".
"""

import collections
import select
import socket
import sys
import time

SOL_PACKET, PACKET_VNET_HDR, PACKET_OUTGOING = 263, 15, 4
ETH_P_ALL = 0x0003
HEADER = 10  # bytes of the virtio header
LARGEST = 70000
KEPT = 10000  # frames; a machine behind a full queue loses what comes then


def open_port(name):
    port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    port.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    port.bind((name, ETH_P_ALL))
    return port


def main(seconds, near_name, *other_names):
    near, others, learned, waiting = open_port(near_name), [open_port(name) for name in other_names], {}, collections.deque()
    print("ready", flush=True)
    machine = set()  # its addresses
    while True:
        patience = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        readable, _, _ = select.select([near, *others], [], [], patience)
        for port in readable:
            frame, address = port.recvfrom(LARGEST)
            if address[2] == PACKET_OUTGOING or len(waiting) >= KEPT:
                continue
            source, target = frame[HEADER + 6:HEADER + 12], frame[HEADER:HEADER + 6]
            learned[source] = port
            if port is near:
                machine.add(source)
                to = [learned[target]] if target in learned else others
            elif target in machine or target[0] & 1:  # for it, or for everybody
                to = [near]
            else:
                continue
            waiting.append((time.monotonic() + seconds, frame, to))
        while waiting and waiting[0][0] <= time.monotonic():
            _, frame, to = waiting.popleft()
            for port in to:
                try:
                    port.send(frame)
                except OSError:  # the port is down, or full: frames are lost, as they may be
                    pass


main(float(sys.argv[1]), *sys.argv[2:])

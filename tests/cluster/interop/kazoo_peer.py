#!/usr/bin/python3
"""kazoo's locks, driven from outside as lock-probe drives ours: the protocol is in tests/integration/lock-probe.c.

Commands: acquire ID DIRECTORY exclusive|shared WAIT_MS|forever [recipe=Lock|WriteLock], release ID. Shared is kazoo's ReadLock; exclusive
its Lock, which does not look at readers, or with recipe=WriteLock the one that does. kazoo's calls block, so each ID has a thread. Tokens are
0, contenders "-", and UNTIL is for ever: kazoo does not tell them.

Usage: kazoo_peer.py SERVERS SESSION_TIMEOUT_MS
"""

import logging
import queue
import sys
import threading
import time

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout
from kazoo.protocol.states import KazooState

FOREVER = 2**63 - 1
_printing = threading.Lock()


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


def say(when, *words):
    with _printing:
        sys.stdout.write(f"{when} {' '.join(str(word) for word in words)}\n")
        sys.stdout.flush()


def attempt(lock, wait):
    """Whether it was acquired."""
    try:
        return lock.acquire(blocking=wait != "0", timeout=None if wait in ("0", "forever") else int(wait) / 1000)
    except LockTimeout:
        return False


def hold(client, commands, identity, directory, mode, wait, recipe="recipe=Lock"):
    """One ID, from its acquire to its release."""
    try:
        make = client.ReadLock if mode == "shared" else client.WriteLock if recipe == "recipe=WriteLock" else client.Lock
        lock = make(directory)
        if not attempt(lock, wait):
            say(now(), "timeout", identity)
            return
        say(now(), "held", identity, 0, FOREVER, "-")
        commands.get()
        when = now()  # somebody may have it before we could say so
        lock.release()
        say(when, "released", identity)
    except Exception as fault:  # pylint: disable=broad-except  # whatever kazoo throws belongs in the history
        say(now(), "error", identity, repr(fault))


def on_state(state):
    word = {KazooState.CONNECTED: "connected", KazooState.SUSPENDED: "suspended"}.get(state, "lost")
    say(now(), "session", word, FOREVER)


def main(servers, timeout):
    logging.basicConfig(level=logging.WARNING)
    client = KazooClient(servers, timeout=int(timeout) / 1000)
    client.add_listener(on_state)
    client.start()
    going = {}
    for line in sys.stdin:
        command, *words = line.split()
        if command == "acquire":
            going[words[0]] = queue.SimpleQueue()
            threading.Thread(target=hold, args=(client, going[words[0]], *words), daemon=True).start()
        elif command == "release" and words[0] in going:
            going.pop(words[0]).put(None)
        else:
            say(now(), "error", *(words[:1] or ["-"]), "not a command:", line.strip())
    client.remove_listener(on_state)
    client.stop()
    client.close()


if __name__ == "__main__":
    main(*sys.argv[1:])

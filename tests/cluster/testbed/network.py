"""The testbed's network: one bridge in a network namespace of its own, and one more namespace a machine.

The bridge is the switch, and its ports are veth devices named after the machines behind them. The host's own network is not
touched, so that all testbeds use the same addresses without meeting. Faults are made at the switch, where no machine sees how:
a cut is silent (packets are dropped in both directions, nobody gets an error), as when a cable is pulled two switches away;
one that is deaf or mute loses one direction only, a lossy one 30 % of either; a carrier fault is seen by the machine as its link going
down; an unplugged machine is gone with no FIN or RST sent.
"""

import ctypes
import os
import socket

from .command import run

CLONE_NEWNET = 0x40000000
SWITCH_ADDRESS = "10.99.0.254"

_RULES = """
table bridge faults {
    set cut { type ifname; }
    set deaf { type ifname; }
    set mute { type ifname; }
    set lossy { type ifname; }
    chain forward {
        type filter hook forward priority 0;
        oifname @deaf drop
        iifname @mute drop
        iifname @lossy numgen random mod 100 < 30 drop
        oifname @lossy numgen random mod 100 < 30 drop
        iifname @cut drop
        oifname @cut drop
    }
    chain input { type filter hook input priority 0; iifname @cut drop; }
    chain output { type filter hook output priority 0; oifname @cut drop; }
}
"""


class Network:
    """The switch. `prefix` begins the names of all namespaces made here."""

    def __init__(self, prefix):
        self.prefix = prefix
        self.switch = self.namespace("switch")

    def namespace(self, machine):
        return f"{self.prefix}-{machine}"

    def namespace_path(self, machine):
        return f"/run/netns/{self.namespace(machine)}"

    def enter(self, machine="switch"):
        """What to put before a command so that it runs in a machine's network; the switch's own reaches all of them."""
        return ["nsenter", f"--net={self.namespace_path(machine)}"]

    def create(self):
        run("ip", "netns", "add", self.switch)
        self._ip("link", "add", "bridge", "type", "bridge", "stp_state", "0", "forward_delay", "0")
        self._ip("address", "add", f"{SWITCH_ADDRESS}/24", "dev", "bridge")
        self._ip("link", "set", "bridge", "up")
        self._ip("link", "set", "lo", "up")
        run(*self.enter(), "nft", _RULES)

    def remove(self):
        """Removes every namespace that begins with our prefix; also after a harness that crashed half-way."""
        for name in namespaces(self.prefix):
            run("ip", "netns", "delete", name, check=False)

    def plug(self, machine, address):
        """Makes the machine's namespace, if there is none yet, and a cable from it to the switch."""
        namespace = self.namespace(machine)
        if not os.path.exists(self.namespace_path(machine)):
            run("ip", "netns", "add", namespace)
        self._ip("link", "add", machine, "type", "veth", "peer", "name", "host0", "netns", namespace)
        self._ip("link", "set", machine, "master", "bridge", "up")
        for arguments in (("link", "set", "lo", "up"), ("address", "add", f"{address}/24", "dev", "host0"),
                          ("link", "set", "host0", "up")):
            run("ip", "-n", namespace, *arguments)

    def plugged(self, machine):
        return self._ip("link", "show", machine, check=False).returncode == 0

    def unplug(self, machine):
        self._ip("link", "delete", machine, check=False)

    def forget(self, machine):
        run("ip", "netns", "delete", self.namespace(machine), check=False)

    def cut(self, machine, how="cut"):
        """`how`: cut, deaf, mute or lossy."""
        self._nft("add", how, machine)

    def heal(self, machine, how="cut"):
        self._nft("delete", how, machine)

    def carrier(self, machine, up):
        self._ip("link", "set", machine, "up" if up else "down")

    def connect(self, address, port, timeout=2):
        """A TCP connection from the switch's namespace: the socket stays there, this thread returns to its own."""
        with open("/proc/thread-self/ns/net", "rb") as own, open(f"/run/netns/{self.switch}", "rb") as switch:
            _setns(switch)
            try:
                sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            finally:
                _setns(own)
        try:
            sock.settimeout(timeout)
            sock.connect((address, port))
        except OSError:
            sock.close()
            raise
        return sock

    def _ip(self, *arguments, check=True):
        return run("ip", "-n", self.switch, *arguments, check=check)

    def _nft(self, verb, how, machine):
        run(*self.enter(), "nft", verb, "element", "bridge", "faults", how, f"{{ {machine} }}")


def namespaces(prefix):
    try:
        return sorted(name for name in os.listdir("/run/netns") if name.startswith(prefix + "-"))
    except FileNotFoundError:
        return []


def _setns(stream):
    if ctypes.CDLL(None, use_errno=True).setns(stream.fileno(), CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")

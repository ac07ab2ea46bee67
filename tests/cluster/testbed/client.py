"""A client: one program that talks to the servers, on a machine of its own or beside a server.

Beside a server it shares that server's network, so it stays with it in every partition. On a machine of its own it has a cable
of its own, which can be cut. Either way it has a cgroup of its own: it is frozen and killed alone.
"""

from .machine import Machine


class Client(Machine):
    """`beside`: a server; else the client has `address`. What its programs say on stderr goes to `log`."""

    def __init__(self, name, log, cgroup_path, network, address=None, beside=None):
        super().__init__(name, address, cgroup_path, network, log)
        self.host = beside.name if beside else name  # whose network it is in

    def popen(self, *argv, **options):
        """Starts the program. The caller waits for it; remove() ends it, also when it is frozen."""
        return self.spawn(*self.network.enter(self.host), *argv, **options)

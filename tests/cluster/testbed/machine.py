"""What nodes, servers and clients have in common: a name, a cgroup, a cable to the switch, a log; and the faults made with these.

A machine's processes are in its cgroup, so they are frozen and killed whole, without knowing pids. Its cable has its name.
"""

import subprocess

from .cgroup import Cgroup

# Takes its cgroup as first argument, and becomes the rest.
_ENTER = 'echo $$ > "$1/cgroup.procs" && shift && exec "$@"'


class Machine:
    """`address`: None where it has no cable of its own. `log`: the file for what its processes print."""

    def __init__(self, name, address, cgroup_path, network, log):
        self.name = name
        self.address = address
        self.cgroup = Cgroup(cgroup_path)
        self.network = network
        self.log = log
        self.process = None  # what remove() waits for

    def connect(self):
        """Makes the cgroup and plugs the cable in, each unless that is so already."""
        self.cgroup.create()
        if self.address and not self.network.plugged(self.name):
            self.network.plug(self.name, self.address)

    def spawn(self, *argv, **options):
        """Starts a program in the machine's cgroup; in which namespaces, `argv` says. Its output goes to the log unless told otherwise."""
        with open(self.log, "ab") as log:
            return subprocess.Popen(["sh", "-c", _ENTER, "sh", self.cgroup.path, *(str(argument) for argument in argv)], start_new_session=True,
                                    **{"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log, **options})

    def remove(self):
        """Everything in it ends at once, also what is frozen; then it is gone from the network."""
        self.cgroup.remove()
        if self.process is not None:
            self.process.wait(20)
            self.process = None
        if self.address:
            self.network.unplug(self.name)
            self.network.forget(self.name)

    def freeze(self):
        """All of it stands still, as a paused virtual machine does; its network stays."""
        self.cgroup.freeze(True)

    def thaw(self):
        self.cgroup.freeze(False)

    def cut(self, how="cut"):
        self.network.cut(self.name, how)

    def heal(self, how="cut"):
        self.network.heal(self.name, how)

    def log_text(self, lines=0):
        """The log's last lines; all of it where no number is given."""
        try:
            with open(self.log, encoding="utf-8", errors="replace") as stream:
                return "".join(stream.readlines()[-lines:])
        except FileNotFoundError:
            return ""

"""A node: a machine with systemd as its PID 1, in a container of systemd-nspawn, and what can happen to a machine.

It boots, it crashes (at once, with nothing said on the network), it hangs, it is cut off, it boots again with the disk it had.
The container gets a mount namespace first, in which /run/systemd/nspawn is empty and /sys/fs/cgroup is the unified hierarchy:
so parallel testbeds share no locks and no machine names, and the host's own cgroup layout does not matter (cgroup.py).
"""

import os
import subprocess

from .cgroup import Cgroup
from .command import CommandFailed, WaitFailed, run, wait_until
from .machine import Machine
from .rootfs import RootFs

# In the node's mount namespace; becomes its arguments.
_MOUNT = """
set -e
mount -t tmpfs -o mode=0755 tmpfs /run/systemd/nspawn
mount -t cgroup2 cgroup2 /sys/fs/cgroup
exec "$@"
"""

# What whoever runs the tests has set counts for what is run in a node from here, and for its services.
PASSED_ON = [f"{name}={os.environ[name]}" for name in ("ASAN_OPTIONS",) if name in os.environ]
ENVIRONMENT = ("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "HOME=/root", "container=systemd-nspawn", *PASSED_ON)


class Node(Machine):
    def __init__(self, name, address, directory, cgroup_path, network, binds=(), hosts=None, hostname=None):
        super().__init__(name, address, cgroup_path, network, f"{directory}/console")
        self.directory = directory
        self.binds = list(binds)  # options of systemd-nspawn
        self.rootfs = RootFs(directory, hostname or name, hosts or {})
        self.leader = None  # the container's PID 1, in our numbers

    # -- life and death

    def create(self):
        os.makedirs(self.directory)
        self.rootfs.create()
        settings = " ".join(f'"{setting}"' for setting in PASSED_ON).replace("%", "%%")
        self.write("/etc/systemd/system.conf.d/testbed.conf", f"[Manager]\nDefaultEnvironment={settings}\n")

    def boot(self, timeout=60):
        """Starts the node; returns when its systemd says that everything is up."""
        self.connect()
        os.makedirs("/run/systemd/nspawn", exist_ok=True)
        self.process = self.spawn(*self._command(), env={**os.environ, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"})
        self.leader = wait_until(self._find_leader, timeout, lambda: f"{self.name}: PID 1\n{self.log_text(40)}")
        wait_until(self._is_up, timeout, lambda: f"{self.name}: up ({self._state()})\n{self.log_text(40)}")

    def crash(self):
        """The power fails: the cable goes first, so that no last word leaves; then everything dies at once."""
        self.network.unplug(self.name)
        self.remove()

    def shutdown(self, timeout=60):
        """An orderly poweroff."""
        self.systemctl("poweroff", "--no-block")
        self.process.wait(timeout)
        self.remove()

    def remove(self):
        self.leader = None
        super().remove()

    def up(self):
        return self.leader is not None

    # -- inside

    def command(self, *argv):
        """The command line with which the host runs something in the node."""
        return ["nsenter", "-t", str(self.leader), "-a", "-r", "-w", "env", "-i", *ENVIRONMENT, *(str(a) for a in argv)]

    def run(self, *argv, check=True, timeout=60):
        return run(*self.command(*argv), check=check, timeout=timeout)

    def popen(self, *argv, **options):
        """Like run(), but does not wait. The caller waits for it."""
        options.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.Popen(self.command(*argv), text=True, **options)

    def systemctl(self, *arguments, check=True, timeout=60):
        return self.run("systemctl", *arguments, check=check, timeout=timeout)

    def property(self, unit, name):
        return self.systemctl("show", "--value", "-p", name, unit).stdout.strip()

    def write(self, path, text, mode=0o644):
        self.rootfs.write(path, text, mode)

    def install_deb(self, *packages, check=True):
        """Installs packages that the node sees at these paths, with dpkg, as an administrator would. Returns dpkg's words."""
        result = self.run("env", "DEBIAN_FRONTEND=noninteractive", "dpkg", "--force-unsafe-io", "-i", *packages, check=False, timeout=180)
        if check and result.returncode != 0:
            raise CommandFailed(result)
        return result.stdout + result.stderr

    # -- what it has said

    def journal(self, *matches, lines=None):
        """The journal's text, also while the node is down. `matches` are arguments of journalctl, such as "-u", "cron"."""
        arguments = ["journalctl", "-D", self.rootfs.path("var/log/journal"), "--no-pager", "-q", "-o", "short-precise", "--utc", *matches]
        if lines is not None:
            arguments += ["-n", str(lines)]
        return run(*arguments, check=False).stdout

    # -- how

    def _command(self):
        overlays = [f"--overlay={lower}:{upper}:{lower}" for lower, upper in self.rootfs.overlays if os.path.isdir(lower)]
        return ["unshare", "--mount", "--propagation", "slave", "sh", "-c", _MOUNT, "sh",
                "systemd-nspawn", "--quiet", "--boot", f"--directory={self.rootfs.root}", "--register=no", "--keep-unit",
                "--link-journal=no", "--resolv-conf=off", "--timezone=off", "--console=pipe", f"--machine={self.name}",
                f"--hostname={self.rootfs.hostname}", f"--network-namespace-path={self.network.namespace_path(self.name)}",
                *overlays, *self.binds]

    def _find_leader(self):
        if self.process.poll() is not None:
            raise WaitFailed(f"{self.name}: systemd-nspawn ended with status {self.process.returncode}\n{self.log_text(40)}")
        pids = Cgroup(f"{self.cgroup.path}/payload/init.scope").read("cgroup.procs").split()
        return int(pids[0]) if pids else None

    def _state(self):
        try:
            return self.systemctl("is-system-running", "--wait", check=False, timeout=60).stdout.strip()
        except subprocess.TimeoutExpired:
            return "starting"

    def _is_up(self):
        return self._state() in ("running", "degraded")

"""Does to nodes and servers what the plan says, and notes what it did and when.

Each kind of fault is a method of its name, with `_` for `-`: it begins the fault and returns the function that ends it, or None where it ended by itself.
A fault's end leaves nothing of it: the node is up, its daemon is started, its files are as they were.
"""

import contextlib
import dataclasses
import os
import re
import signal
import struct
import subprocess
import sys
import threading
import time

from testbed import CommandFailed, WaitFailed, wait_until

from . import work
from .peace import STOPPING
from .verdict import Fault

FENCE_KINDS = ("fence-kill", "fence-hang")
HERE = os.path.dirname(os.path.abspath(__file__))
DELAY_FRAMES = f"{HERE}/delay_frames.py"
CLOCK_SHIFT = "/etc/clock-shift"
RECENT = 50_000  # bytes of the history: a second or two
BROKEN = "zookeeper: [\n"
FILLER = "/run/filler"
ASKED_FOR = 60  # seconds
PROGRAMS = ("/usr/sbin/jobkeeperd", "/usr/bin/jobkeeper", "/usr/libexec/jobkeeper/jobkeeper-fence", "/usr/libexec/jobkeeper/jobkeeper-launch")


def add_clocks(install):
    """Adds to the tree that the nodes get what gives each a wall clock of its own."""
    os.makedirs(f"{install}/etc", exist_ok=True)
    subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-o", f"{install}/etc/shift-clock.so", f"{HERE}/shift-clock.c"], check=True)
    for name, content in ((CLOCK_SHIFT, struct.pack("=q", 0)), ("/etc/ld.so.preload", b"/etc/shift-clock.so\n")):
        with open(f"{install}{name}", "wb") as stream:
            stream.write(content)


def shift_clock(node, seconds):
    """Sets the wall clock of a node: so many seconds ahead of the machine's."""
    with open(node.rootfs.path(CLOCK_SHIFT), "r+b") as stream:  # in place: it is mapped
        stream.write(struct.pack("=q", seconds * 1_000_000))


class Nemesis:
    """`strike_fence`: there is one."""

    def __init__(self, fleet, jobs, say, strike_fence=True):
        self.fleet = fleet
        self.files = work.files(jobs)
        self.edited = work.files(jobs, "edited")
        self.say = say
        self.strike_fence = strike_fence
        self.faults = []
        self.refused = []  # what could not be done as planned
        self.drained = []  # (node, since, until)

    # -- playing

    def play(self, plan, began):
        for step in plan.steps:
            time.sleep(max(0.0, began + step.at - time.monotonic()))  # the plan's own time: nothing is waited for
            self.say(f"{time.monotonic() - began:7.2f}  " + "  +  ".join(map(str, step.strikes)))
            threads = [threading.Thread(target=self._strike, args=(self._aimed(strike),), name=str(strike)) for strike in step.strikes]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    def _aimed(self, strike):
        """The strike at the node that runs the job it is aimed at, where there is one."""
        if not strike.aim:
            return strike
        with open(self.fleet.history_path, "rb") as stream:
            stream.seek(max(0, os.path.getsize(self.fleet.history_path) - RECENT))
            lines = [line.split(" ") for line in stream.read().decode().split("\n")[1:-1]]
        last = next((fields for fields in reversed(lines) if fields[2] == strike.aim), None)
        return dataclasses.replace(strike, targets=(last[1],)) if last and last[6] != "end" and self.fleet.nodes[last[1]].up() else strike

    def _strike(self, strike):
        if strike.kind in FENCE_KINDS and not self.strike_fence:
            return
        time.sleep(strike.delay)
        begin, targets = time.monotonic(), strike.targets
        try:
            end = getattr(self, strike.kind.replace("-", "_"))(strike)
            if end:
                time.sleep(max(0.0, begin + strike.length - time.monotonic()))
                end()
        except (CommandFailed, WaitFailed, subprocess.TimeoutExpired, OSError) as fault:
            self.refused.append(f"{strike}: {fault}")
        self.faults.append(Fault(strike.kind, targets, begin, time.monotonic()))

    def _node(self, strike):
        return self.fleet.nodes[strike.targets[0]]

    def _server(self, strike):
        return next(server for server in self.fleet.bed.zookeepers if server.name in strike.targets)

    def _kill(self, node, number, unit="jobkeeperd"):
        node.systemctl("kill", "-s", number, "--kill-whom=main", unit, check=False)

    # -- the daemon

    def daemon_kill(self, strike):
        self._kill(self._node(strike), "KILL")

    def daemon_hang(self, strike):
        node = self._node(strike)
        self._kill(node, "STOP")
        return lambda: self._kill(node, "CONT")

    def daemon_crash_loop(self, strike):
        node, over = self._node(strike), time.monotonic() + strike.length
        while time.monotonic() < over:
            self._kill(node, "KILL")
            time.sleep(0.4)

    def daemon_broken_configuration(self, strike):
        node, path = self._node(strike), "/etc/jobkeeper/jobkeeper.yaml"
        with open(node.rootfs.path(path), encoding="utf-8") as stream:
            good = stream.read()
        node.write(path, BROKEN)
        node.systemctl("restart", "jobkeeperd", check=False, timeout=STOPPING)

        def mend():
            node.write(path, good)
            node.systemctl("reset-failed", "jobkeeperd", check=False)
            node.systemctl("start", "jobkeeperd", timeout=STOPPING)
        return mend

    def daemon_restart(self, strike):
        self._node(strike).systemctl("restart", "jobkeeperd", check=False, timeout=STOPPING)

    def daemon_stop(self, strike):
        node = self._node(strike)
        node.systemctl("stop", "jobkeeperd", check=False, timeout=STOPPING)
        return lambda: node.systemctl("start", "jobkeeperd", timeout=STOPPING)

    def daemon_upgrade(self, strike):
        """Another version is installed over it, as its package does, and later the one before."""
        node = self._node(strike)
        version = re.search(r"[0-9]+([.][0-9]+)+", node.run("jobkeeper", "--version").stdout).group(0)
        other = version[:-1] + str((int(version[-1]) + 1) % 10)
        self._install(node, version, other)
        return lambda: self._install(node, other, version)

    def _install(self, node, before, after):
        """What the programs have of their version is all that differs; each is a new file in place of the one before."""
        node.run("env", "LC_ALL=C", "sed", "-i", f"s/{re.escape(before)}/{after}/g", *PROGRAMS)
        node.systemctl("daemon-reload", timeout=STOPPING)
        node.systemctl("restart", "jobkeeperd", timeout=STOPPING)
        said = node.run("jobkeeperd", "--version").stdout
        if after not in said:
            raise OSError(f"it is still {said}")

    def hang_and_cut(self, strike):
        node = self._node(strike)
        self._kill(node, "STOP")
        node.cut()

        def end():
            node.heal()
            self._kill(node, "CONT")
        return end

    def kill_and_cut(self, strike):
        node = self._node(strike)
        node.cut()
        self._kill(node, "KILL")
        return node.heal

    # -- the fence

    def fence_kill(self, strike):
        self._kill(self._node(strike), "KILL", "jobkeeper-fence")

    def fence_hang(self, strike):
        node = self._node(strike)
        self._kill(node, "STOP", "jobkeeper-fence")
        return lambda: self._kill(node, "CONT", "jobkeeper-fence")

    # -- the units of runs

    def unit_restart(self, strike):
        """Somebody restarts all that runs there; PID 1 does it of itself where something that a unit is bound to is restarted."""
        listed = self._node(strike).systemctl("list-units", "--plain", "--no-legend", "--state=active,activating", "jobkeeper-*.service").stdout
        units = [line.split()[0] for line in listed.splitlines() if line and not line.startswith("jobkeeper-fence")]
        if units:
            self._node(strike).systemctl("restart", *units, check=False)

    # -- the node

    def _boot(self, node):
        node.boot()
        node.systemctl("start", "jobkeeperd", timeout=STOPPING)

    def node_kill(self, strike):
        node = self._node(strike)
        self.fleet.crash(node.name)
        return lambda: self._boot(node)

    def node_poweroff(self, strike):
        node = self._node(strike)
        node.shutdown(STOPPING)
        return lambda: self._boot(node)

    def node_freeze(self, strike):
        node = self._node(strike)
        node.freeze()
        return node.thaw

    def clock_step(self, strike):
        """The node's wall clock is set, and set right again (shift-clock.c)."""
        node = self._node(strike)
        shift_clock(node, int(strike.detail))
        return lambda: shift_clock(node, 0)

    def bus_restart(self, strike):
        self._node(strike).systemctl("restart", "dbus.service", check=False)

    def pid1_reexec(self, strike):
        self._node(strike).systemctl("daemon-reexec", check=False)

    def pid1_slow(self, strike):
        """It stands still most of the time."""
        leader, over = self._node(strike).leader, time.monotonic() + strike.length
        with contextlib.suppress(ProcessLookupError):
            while time.monotonic() < over:
                os.kill(leader, signal.SIGSTOP)
                time.sleep(0.8)
                os.kill(leader, signal.SIGCONT)
                time.sleep(0.15)

    def pid1_hang(self, strike):
        """It does nothing at all."""
        leader = self._node(strike).leader
        os.kill(leader, signal.SIGSTOP)

        def go_on():
            with contextlib.suppress(ProcessLookupError):
                os.kill(leader, signal.SIGCONT)
        return go_on

    def disk_full(self, strike):
        """Nothing more can be written below /run."""
        node = self._node(strike)
        node.run("sh", "-c", f"mount -o remount,size=8m /run; ! dd if=/dev/zero of={FILLER} bs=4k 2>/dev/null")
        return lambda: node.run("sh", "-c", f"rm {FILLER}; mount -o remount,size=1g /run")  # PID 1 reloads nothing with little space left

    # -- the network

    def _cut(self, machine, how):
        machine.cut(how)
        return lambda: machine.heal(how)

    def net_cut(self, strike):
        return self._cut(self._node(strike), "cut")

    def net_mute(self, strike):
        return self._cut(self._node(strike), "mute")

    def net_deaf(self, strike):
        return self._cut(self._node(strike), "deaf")

    def net_loss(self, strike):
        return self._cut(self._node(strike), "lossy")

    def net_delay(self, strike):
        """Half a second more each way."""
        node, network = self._node(strike), self.fleet.bed.network
        node.cut()
        others = [machine.name for machine in (*self.fleet.nodes.values(), *self.fleet.bed.zookeepers) if machine is not node and network.plugged(machine.name)]
        relay = subprocess.Popen([*network.enter(), sys.executable, DELAY_FRAMES, "0.5", node.name, *others], stdout=subprocess.PIPE)
        relay.stdout.readline()

        def end():
            relay.kill()
            relay.communicate()
            node.heal()
        return end

    def answers_lost(self, strike):
        """What the node asks for meanwhile is done, and nobody tells it: its connections break before the answers can come."""
        node, network = self._node(strike), self.fleet.bed.network
        node.cut("deaf")

        def end():
            subprocess.run([*network.enter(node.name), "ss", "-t", "-K", "dport", "=", ":2181"], check=True, stdout=subprocess.DEVNULL)
            node.heal("deaf")
        return end

    # -- drain

    def _ask_anybody(self, *arguments):
        """Of a command of jobkeeper's: whoever has a session may carry it out."""
        def done():
            return any(self.fleet.jobkeeper(name, *arguments, check=False).returncode == 0 for name in self.fleet.live_names())
        wait_until(done, ASKED_FOR, f"jobkeeper {' '.join(arguments)}", interval=0.5)

    def drain(self, strike):
        name = strike.targets[0]
        self._ask_anybody("drain", name)
        since = time.monotonic()

        def end():
            self.drained.append((name, since, time.monotonic()))
            self._ask_anybody("undrain", name)
        return end

    # -- job files

    def _put(self, strike, text):
        """Puts it on the nodes in place of the file, or removes the file; they reload, or find it at their next start."""
        for name in strike.targets:
            node, path = self.fleet.nodes[name], f"/etc/jobkeeper/jobs.d/{strike.detail}"
            if text is None:
                os.unlink(node.rootfs.path(path))
            else:
                node.write(path, text)
            if node.up():
                node.systemctl("reload", "jobkeeperd", check=False, timeout=STOPPING)

    def file_edit(self, strike):
        self._put(strike, self.edited[strike.detail])
        return lambda: self._put(strike, self.files[strike.detail])

    def file_break(self, strike):
        self._put(strike, "jobs: {\n")
        return lambda: self._put(strike, self.files[strike.detail])

    def file_remove(self, strike):
        self._put(strike, None)
        return lambda: self._put(strike, self.files[strike.detail])

    # -- ZooKeeper

    def _start(self, server):
        server.start()
        server.wait_ready()

    def server_kill(self, strike):
        server = self._server(strike)
        server.kill()
        return lambda: self._start(server)

    def server_restart(self, strike):
        server = self._server(strike)
        server.kill()
        self._start(server)

    def server_freeze(self, strike):
        server = self._server(strike)
        server.freeze()
        return server.thaw

    def server_cut(self, strike):
        server = self._server(strike)
        server.cut()

        def end():
            server.heal()
            server.kill()  # a server that was cut off looks for the others ever more seldom
            self._start(server)
        return end

    def _leader(self):
        return wait_until(lambda: next((server for server in self.fleet.bed.zookeepers if "Mode: leader" in server.ask("srvr")), None), 30, "a leader")

    def leader_change(self, _strike):
        server = self._leader()
        server.kill()
        self._start(server)

    def leader_freeze(self, _strike):
        server = self._leader()
        server.freeze()
        return server.thaw

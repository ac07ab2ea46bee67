"""The fence on a real node: what it has stopped and killed, when, and what nobody brings it to.

jobkeeperd.service runs bin/stand-in here, which sets the fence's timers when a test says so. What is fenced are transient units as jobkeeperd
makes them. Instants are of the clock of the history (CLOCK_MONOTONIC).
"""

import re
import subprocess
import time

from cluster_test import ClusterTest
from fleet import TOOLS, now
from testbed import wait_until

FENCE = "jobkeeper-fence.service"
SOCKET = "/run/jobkeeper-fence.sock"
CGROUP = "/sys/fs/cgroup/system.slice/system-jobkeeper.slice/system-jobkeeper-fenced.slice"
DROP_IN = f"[Service]\nExecStart=\nExecStart={TOOLS}/stand-in serve\nType=simple\nWatchdogSec=0\n"
BOUND = ("--slice=system-jobkeeper-fenced.slice", "-p", f"BindsTo={FENCE}", "-p", f"After={FENCE}", "-p", "Type=oneshot", "-p", "RemainAfterExit=yes",
         "--no-block", "--quiet")
WATCHDOG = 1.8
TIMERS = 0.25  # seconds: so late PID 1's may be
AT_ONCE = 0.25  # seconds: a fraction of kill-slack; mostly a few milliseconds, on a machine that has other things to do
# Somebody who connects: as many connections as the argument says, with a descriptor attached to what they send; prints what they were told.
STRANGER = """
import array, os, socket, sys
for _ in range(int(sys.argv[1])):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as fence:
        fence.settimeout(10)
        fence.connect("/run/jobkeeper-fence.sock")
        try:
            fence.sendmsg([b"L" * int(sys.argv[2])], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0] * 8))])
        except OSError:
            pass
        try:
            told = fence.recv(256)
        except ConnectionResetError:
            told = b""
        if told:
            sys.exit(f"was let in: {told}")
"""


class Fence(ClusterTest):
    alone = True

    def begin_node(self):
        self.node = self.begin(nodes=1, zookeepers=0, start=False).nodes["n1"]
        self.node.write("/etc/systemd/system/jobkeeperd.service.d/stand-in.conf", DROP_IN)
        self.node.systemctl("daemon-reload")
        self.node.systemctl("start", "jobkeeperd")
        self.connect()
        return self.node

    def say(self, *words):
        return self.node.run(f"{TOOLS}/stand-in", *words).stdout.strip()

    def connect(self):
        """The stand-in is there a moment after its service is."""
        def greeting():
            result = self.node.run(f"{TOOLS}/stand-in", "connect", check=False)
            return result.returncode == 0 and result.stdout.strip()
        return wait_until(greeting, 10, "the fence answers")

    def set(self, stop=None, kill=None):
        """Instants in seconds from now. Returns now."""
        began, boottime = now(), time.clock_gettime(time.CLOCK_BOOTTIME)
        self.assertEqual(self.say("set", *("-" if seconds is None else f"{boottime + seconds:.6f}" for seconds in (stop, kill))), "set")
        return began

    def pid(self):
        return self.node.property(FENCE, "MainPID")

    def start_bound(self, name, *arguments, stop_timeout="5s"):
        """A fenced unit that marks its life in the history. Returns once it has."""
        self.node.run("systemd-run", f"--unit={name}", *BOUND, "-p", f"TimeoutStopSec={stop_timeout}", f"{TOOLS}/mark-run", "--job", name, "--seconds", "60",
                      *arguments)
        return self.fleet.wait_running(name)

    def wait_dead(self, name, seconds=10):
        """Waits until nothing of it lives, and returns the last that was heard of it."""
        self.wait_empty(seconds)
        return self.fleet.runs(name)[-1].end

    def wait_empty(self, seconds=10):
        wait_until(lambda: "populated 0" in self.node.run("cat", f"{CGROUP}/cgroup.events").stdout, seconds, "nothing fenced lives", interval=0.02)

    def wait_another(self, before):
        return wait_until(lambda: (pid := self.pid()) not in ("0", before) and self.node.property(FENCE, "ActiveState") == "active" and pid, 10,
                          "another fence")

    def note(self, what, seconds):
        print(f"    {what}: {seconds * 1000:.1f} ms", flush=True)

    # -- what it is for

    def test_at_the_stop_what_is_bound_is_told_to_end(self):
        self.begin_node()
        before = self.pid()
        self.start_bound("told")
        instant = self.set(stop=1, kill=4) + 1
        ended = self.wait_dead("told")
        self.note("stop until SIGTERM was heard", ended - instant)
        self.assertGreaterEqual(ended, instant)
        self.assertLess(ended, instant + AT_ONCE)
        self.wait_another(before)
        self.assertIn("jobkeeperd has not moved the deadline in time", self.node.journal("-u", FENCE))
        self.assertNotIn("was killed", self.node.journal("-u", FENCE))
        wait_until(lambda: self.say("gone") == "gone", 5, "the connection ended")
        self.assertEqual(len(self.fleet.runs("told")), 1, "it did not run again")

    def test_at_the_kill_nothing_is_left_however_long_systemd_would_wait(self):
        self.begin_node()
        before = self.pid()
        self.start_bound("stubborn", "--stubborn", stop_timeout="60s")
        instant = self.set(stop=0.5, kill=1.5) + 1.5
        wait_until(lambda: self.node.property(FENCE, "ActiveState") == "deactivating", 5, "it stops")
        self.assertEqual(self.pid(), before, "it lives on")
        last = self.wait_dead("stubborn")
        self.note("kill until the last sign of life", last - instant)
        self.assertGreater(last, instant - 0.1, "not before")
        self.assertLess(last, instant + AT_ONCE)
        self.wait_another(before)
        self.assertIn("was killed", self.node.journal("-u", FENCE))

    def test_what_is_set_anew_in_time_goes_on(self):
        self.begin_node()
        self.start_bound("kept")
        for _ in range(6):
            self.set(stop=1, kill=2)
            time.sleep(0.4)
        self.assertEqual(self.fleet.runs("kept")[0].ended, "open")

    def test_on_an_idle_machine_nothing_happens_but_what_begins_too_late_is_stopped(self):
        self.begin_node()
        before = self.pid()
        self.set(stop=0.1, kill=0.2)
        time.sleep(0.5)
        self.assertEqual(self.pid(), before)
        self.set(stop=20, kill=30)  # jobkeeperd is back
        self.start_bound("in-time")
        time.sleep(0.5)
        self.assertEqual((self.pid(), self.fleet.runs("in-time")[0].ended), (before, "open"))
        self.node.systemctl("stop", "in-time")
        self.set(stop=0.1, kill=30)
        time.sleep(0.5)
        self.node.run("systemd-run", "--unit=late", *BOUND, "-p", "TimeoutStopSec=5s", f"{TOOLS}/mark-run", "--job", "late", "--seconds", "60")
        self.wait_another(before)
        self.wait_empty()
        self.assertTrue(all(run.ended == "end" for run in self.fleet.runs("late")))

    # -- what becomes of it

    def assert_stopped(self, name, began, within):
        ended = self.wait_dead(name)
        self.note("until SIGTERM was heard", ended - began)
        self.assertLess(ended, began + within)
        self.assertEqual(len(self.fleet.runs(name)), 1, "it did not run again")

    def test_killed_it_takes_what_is_bound_along(self):
        self.begin_node()
        before = self.pid()
        self.start_bound("killed")
        began = now()
        self.node.run("kill", "-KILL", before)
        self.assert_stopped("killed", began, AT_ONCE)
        self.wait_another(before)
        self.assertRegex(self.connect(), "^jkfence1 ")

    def test_hung_it_is_killed_by_the_watchdog(self):
        self.begin_node()
        before = self.pid()
        self.start_bound("hung")
        began = now()
        self.node.run("kill", "-STOP", before)
        self.assert_stopped("hung", began, WATCHDOG + TIMERS + AT_ONCE)
        self.wait_another(before)

    def test_frozen_in_its_cgroup_it_is_killed_by_the_watchdog(self):
        self.begin_node()
        before = self.pid()
        self.start_bound("frozen")
        began = now()
        self.node.run("sh", "-c", f"echo 1 > /sys/fs/cgroup/system.slice/{FENCE}/cgroup.freeze")
        self.assert_stopped("frozen", began, WATCHDOG + TIMERS + AT_ONCE)

    def test_a_stall_of_a_second_stops_nothing(self):
        self.begin_node()
        before = self.pid()
        self.start_bound("kept")
        for _ in range(4):
            self.node.run("sh", "-c", f"kill -STOP {before}; sleep 1; kill -CONT {before}")
            time.sleep(0.7)  # it says that it lives
        self.assertEqual((self.pid(), self.fleet.runs("kept")[0].ended), (before, "open"))

    def test_the_daemon_comes_and_goes_and_the_timers_stay(self):
        self.begin_node()
        before = self.pid()
        self.start_bound("kept")
        self.set(stop=50, kill=60)
        for verb in (("restart",), ("kill", "-s", "KILL")):
            daemon = self.node.property("jobkeeperd", "MainPID")
            self.node.systemctl(*verb, "jobkeeperd")
            wait_until(lambda daemon=daemon: self.node.property("jobkeeperd", "MainPID") not in ("0", daemon), 10, "the next one")
            self.assertRegex(self.connect(), "^jkfence1 .* 1$")
            stop, kill = map(float, self.say("timers").split())
            self.assertTrue(30 < stop < 50 and 40 < kill < 60, (stop, kill))
        self.assertEqual((self.pid(), self.fleet.runs("kept")[0].ended), (before, "open"))

    def test_it_ends_with_what_it_is_for_and_not_before(self):
        node = self.begin_node()
        before = self.pid()
        self.start_bound("kept")
        node.systemctl("stop", "jobkeeperd")
        self.assertEqual((self.pid(), node.property(FENCE, "ActiveState")), (before, "active"))
        node.systemctl("stop", "kept")
        wait_until(lambda: node.property(FENCE, "ActiveState") == "inactive", 10, "it ended")
        wait_until(lambda: node.property("jobkeeper-fence.socket", "ActiveState") == "inactive", 10, "its socket too")
        node.systemctl("start", "jobkeeperd")
        self.assertEqual(node.property(FENCE, "ActiveState"), "active")

    def assert_leaves_once_nothing_lives(self, ask):
        before = self.pid()
        self.start_bound("kept")
        ask()
        time.sleep(0.5)
        self.assertEqual((self.pid(), self.fleet.runs("kept")[0].ended), (before, "open"))
        self.node.systemctl("stop", "kept")
        self.wait_another(before)
        self.assertNotIn("Failed with result", self.node.journal("-u", FENCE))

    def test_asked_to_leave_it_waits_until_nothing_lives(self):
        self.begin_node()
        self.assert_leaves_once_nothing_lives(lambda: self.say("send", b"L".hex()))

    def test_it_is_not_stopped_by_hand(self):
        node = self.begin_node()
        for verb in ("stop", "restart"):
            result = node.systemctl(verb, FENCE, check=False)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("refused", result.stderr)
        result = node.systemctl("stop", "jobkeeper-fence.socket", check=False)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("refused", result.stderr)
        node.run("test", "-S", SOCKET)
        before = self.pid()
        for signal in ("HUP", "USR1", "USR2", "ALRM"):
            node.systemctl("kill", "-s", signal, FENCE)
        self.assertRegex(self.connect(), "^jkfence1 ")  # it answers
        self.assertEqual(self.pid(), before)
        self.assert_leaves_once_nothing_lives(lambda: node.systemctl("kill", FENCE))

    def test_a_shutdown_is_not_held_up(self):
        self.begin_node()
        self.start_bound("told")
        self.set(stop=50, kill=60)
        began = now()
        self.node.shutdown()
        self.assertLess(now(), began + 15)
        self.assertEqual(self.fleet.runs("told")[0].ended, "end")

    # -- who else connects

    def descriptors(self):
        return len(self.node.run("ls", f"/proc/{self.pid()}/fd").stdout.split())

    def test_whoever_else_connects_is_closed(self):
        node = self.begin_node()
        before = self.pid()
        count = self.descriptors()
        refused = node.run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "python3", "-c", STRANGER, "1", "1", check=False)
        self.assertIn("PermissionError", refused.stderr)
        for connections, size in ((3000, 1), (20, 100000)):
            for words in ((), ("systemd-run", "--pipe", "--wait", "--quiet", "--slice=system-jobkeeper.slice")):
                result = node.run(*words, "python3", "-c", STRANGER, connections, size, check=False)
                self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual((self.pid(), self.say("gone"), self.descriptors()), (before, "there", count))

    def test_the_newest_connection_of_the_daemon_s_counts_and_nonsense_ends_it(self):
        self.begin_node()
        count = self.descriptors()
        self.set(stop=50, kill=60)
        for words in ("", "4c4c", "58", "00" * 60000):
            if words:
                self.say("send", words)
                wait_until(lambda: self.say("gone") == "gone", 5, f"{words[:8]} ends the connection")
            self.assertRegex(self.connect(), "^jkfence1 ")
            self.assertEqual(self.say("gone"), "there")
        self.assertEqual(self.descriptors(), count)

    # -- what it costs

    def test_what_it_needs_and_what_it_may(self):
        node = self.begin_node()
        pid = self.pid()
        rollup = dict(re.findall(r"^(\w+): +(\d+) kB", node.run("cat", f"/proc/{pid}/smaps_rollup").stdout, re.M))
        status = dict(re.findall(r"^(\w+):\s+(\S.*)$", node.run("cat", f"/proc/{pid}/status").stdout, re.M))
        private = int(rollup["Private_Clean"]) + int(rollup["Private_Dirty"])
        exposure = node.run("systemd-analyze", "security", "--no-pager", FENCE, check=False).stdout
        level = float(re.search(r"Overall exposure level for \S+: ([0-9.]+)", exposure).group(1))
        print(f"    PSS {rollup['Pss']} kB, private {private} kB, locked {status.get('VmLck')}, MemoryCurrent {node.property(FENCE, 'MemoryCurrent')}, "
              f"exposure {level}", flush=True)
        self.assertLess(int(rollup["Pss"]), 2048)
        self.assertLess(level, 1.0)
        self.assertEqual((int(status["CapEff"], 16), int(status["CapBnd"], 16), status["NoNewPrivs"], status["Seccomp"]), (0, 0, "1", "2"))
        self.assertRegex(self.connect(), "^jkfence1 .* 1$")  # it may kill what is fenced
        inside = ("nsenter", "-m", "-t", pid)
        for path in ("/sys/fs/cgroup/system.slice/jobkeeperd.service/cgroup.kill", "/run/x", "/etc/x"):
            self.assertIn("Read-only file system", node.run(*inside, "sh", "-c", f"echo 1 > {path}", check=False).stderr, path)

        def switches():
            return int(re.search(r"voluntary_ctxt_switches:\s+(\d+)", node.run("cat", f"/proc/{pid}/status").stdout).group(1))

        first = switches()
        time.sleep(5)
        self.assertLessEqual(switches() - first, 3 * 5 / WATCHDOG + 2, "at rest it wakes for its watchdog alone")

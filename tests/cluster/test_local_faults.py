"""What goes wrong within one machine while it runs jobs: no space, nothing to be written, no memory, no descriptors, a slow PID 1, no bus, a crowd of
units. What is recorded is true all the same, the daemon says what is wrong, and all is right again afterwards (local_fault.py)."""

import contextlib
import json
import os
import re
import resource
import signal
import time

from fleet import TOOLS
from local_fault import AGAIN, LASTING, LONG, OTHER, OWN, STRUCK, LocalFaultTest
from testbed import wait_until

STATE, RUNTIME = "/var/lib/jobkeeper", "/run/jobkeeper"
SMALL_STATE = f"mkdir -p {STATE}; mount -t tmpfs -o size=64k,mode=0700 none {STATE}"
FORGETS = "cannot remember which definitions this node has put in force"
MEMORY = "/sys/fs/cgroup/memory"  # the machine's, outside: in the nodes there is no such controller
CROWD = 5000
# Their start deadline passes while PID 1 hangs. The last one runs on the struck node alone.
HASTY, HASTY_THERE = tuple(f"hasty-{i}" for i in range(4)), "hasty-there"


class Disks(LocalFaultTest):
    """What cannot be written."""

    def edit(self, node):
        """A change that the node would remember."""
        with open(node.rootfs.path("/etc/jobkeeper/jobs.d/often.yaml"), encoding="utf-8") as stream:
            text = stream.read()
        node.write("/etc/jobkeeper/jobs.d/often.yaml", f"{text}  another:\n    every: 1h\n    exec: /bin/true\n    stop-timeout: 1s\n")
        node.systemctl("reload", "jobkeeperd")

    def test_the_state_directory_cannot_be_written(self):
        """On one node it is full, on the other one read-only."""
        fleet = self.begin_jobs(prepare=SMALL_STATE)
        faults = ((STRUCK, f"! dd if=/dev/zero of={STATE}/filler bs=1k 2>/dev/null", "No space left", f"rm {STATE}/filler"),
                  (OTHER, f"mount -o remount,ro {STATE}", "Read-only file system", f"mount -o remount,rw {STATE}"))
        since = time.monotonic()
        for name, begin, _, _ in faults:
            fleet.nodes[name].run("sh", "-c", begin)
            self.edit(fleet.nodes[name])
        for name, _, why, _ in faults:
            wait_until(lambda name=name, why=why: re.search(f"{FORGETS}.*{why}", fleet.nodes[name].journal("-u", "jobkeeperd")), AGAIN,
                       f"{name} says that it forgets")
            self.assertIn(FORGETS, json.dumps(fleet.status(name)["warnings"]))
        self.wait_own_run(since)
        for name, _, _, end in faults:
            fleet.nodes[name].run("sh", "-c", end)
        self.assert_right()

    def test_all_of_run_is_full(self):
        fleet = self.begin_jobs()
        self.shell("mount -o remount,size=4m /run; ! dd if=/dev/zero of=/run/filler bs=4k 2>/dev/null")
        self.wait_said("nothing is begun here until that is over")
        self.wait_others(time.monotonic())
        self.assertIn("cannot be written under /run", fleet.status(STRUCK)["session"]["fault"])
        tried = self.node.journal("-u", "jobkeeperd").count("not started")
        self.wait_others(time.monotonic())
        self.assertEqual(self.node.journal("-u", "jobkeeperd").count("not started"), tried, "nothing more is claimed there")
        self.shell("rm /run/filler")
        self.assert_right()

    def test_nothing_can_be_written_in_the_runtime_directory(self):
        fleet = self.begin_jobs()
        self.shell(f"mount -t tmpfs -o ro none {RUNTIME}")
        wait_until(lambda: "cannot be written under /run/jobkeeper" in fleet.status(STRUCK)["session"]["fault"], 20, "the status says so")
        since = time.monotonic()
        self.wait_others(since)
        self.assertEqual([run for run in fleet.runs(OWN.name) if run.start > since + 1], [])
        self.shell(f"umount {RUNTIME}")
        self.assert_right()


class Memory(LocalFaultTest):
    """What there is not enough of."""

    def setUp(self):
        self.group = f"{MEMORY}/jobkeeper-testbed-{os.getpid()}"
        self.addCleanup(lambda: wait_until(self.is_removed, 20, f"{self.group} is empty"))  # after the fleet

    def is_removed(self):
        with contextlib.suppress(OSError):
            os.rmdir(self.group)
        return not os.path.exists(self.group)

    def leave_memory(self, unit, size):
        """From now on there is only so much for the first process of a unit and what it forks. Returns a function that says whether the kernel
        has killed somebody for want of more."""
        if not os.path.isdir(MEMORY):  # the controller is in the hierarchy that the nodes have
            self.node.systemctl("set-property", "--runtime", os.path.basename(unit), f"MemoryMax={size}", "MemorySwapMax=0")
            events = f"{self.node.cgroup.path}/payload/system.slice/{unit}/memory.events"
            return lambda: not os.path.exists(events) or self.number_in(events, "oom_kill") > 0
        os.mkdir(self.group)
        for name, value in (("memory.limit_in_bytes", size), ("cgroup.procs", self.process(unit))):
            with open(f"{self.group}/{name}", "w", encoding="ascii") as stream:
                stream.write(str(value))
        return lambda: self.number_in(f"{self.group}/memory.oom_control", "oom_kill") > 0

    @staticmethod
    def number_in(path, name):
        with open(path, encoding="ascii") as stream:
            return int(dict(line.split() for line in stream)[name])

    def drop_in(self, setting):
        self.node.write("/etc/systemd/system/jobkeeperd.service.d/limit.conf", f"[Service]\n{setting}\n")
        self.shell("systemctl daemon-reload; systemctl restart --no-block jobkeeperd")

    def no_drop_in(self):
        self.shell("rm /etc/systemd/system/jobkeeperd.service.d/limit.conf; systemctl daemon-reload")

    def not_enough_to_start(self, setting):
        """It cannot start for so long that what it ran is stopped, and the other node runs what it may."""
        fleet = self.begin_jobs(lasting=60)
        since, before = time.monotonic(), self.process()
        self.drop_in(setting)
        wait_until(lambda: int(self.node.property("jobkeeperd", "NRestarts")) >= 2, AGAIN, "it is started again and again")
        fleet.wait_run(lambda run: run.run == self.lasting.run and run.status is not None, AGAIN, "what it ran is stopped")
        self.wait_others(since)
        self.no_drop_in()
        self.wait_another_daemon(before)
        self.assert_right("interrupted")

    def test_no_memory_to_start(self):
        self.not_enough_to_start("LimitAS=32M")

    def test_no_descriptors_to_start(self):
        self.not_enough_to_start("LimitNOFILE=8")

    def test_the_kernel_kills_the_daemon_for_memory(self):
        self.begin_jobs()
        before = self.process()
        killed = self.leave_memory("jobkeeperd.service", 1 << 20)
        many = "".join(f"  {'x' * 60}-{number}: {{exec: /bin/true, stop-timeout: 1s}}\n" for number in range(2000))
        self.node.write("/etc/jobkeeper/jobs.d/many.yaml", f"jobs:\n{many}")
        self.node.systemctl("kill", "-s", "HUP", "--kill-whom=main", "jobkeeperd")
        wait_until(killed, AGAIN, "it is killed")
        os.unlink(self.node.rootfs.path("/etc/jobkeeper/jobs.d/many.yaml"))
        self.wait_another_daemon(before)
        self.assert_right()

    def test_the_kernel_kills_a_run_for_memory(self):
        self.begin_jobs(command=f"{TOOLS}/mark-run --beat --seconds 2; until test -e /run/eat; do sleep 0.1; done; exec tail /dev/zero")
        unit = f"system-jobkeeper.slice/system-jobkeeper-fenced.slice/jobkeeper-{LASTING}-{self.lasting.run}.service"
        killed = self.leave_memory(unit, 16 << 20)
        self.shell("touch /run/eat")
        wait_until(killed, AGAIN, "it is killed")
        record = self.assert_right("failed")
        self.assertEqual(record.get("signal"), signal.SIGKILL, record)

    def test_no_descriptors_left(self):
        """When it loses its connection it cannot make another, until it has to give up what it holds."""
        fleet = self.begin_jobs(lasting=60)
        since, pid = time.monotonic(), self.process()
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, before[1]))
        server = fleet.bed.zookeepers[0]
        server.kill()
        server.start()
        server.wait_ready()
        self.wait_others(since)
        fleet.wait_run(lambda run: run.run == self.lasting.run and run.status is not None, AGAIN, "what it ran is stopped")
        self.wait_said("Too many open files")
        if self.process() == pid:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        self.assert_right("interrupted")


class Company(LocalFaultTest):
    """PID 1, the bus, and the others on the machine."""

    def test_pid_1_is_slow(self):
        self.begin_jobs()
        leader, over = self.node.leader, time.monotonic() + (30 if LONG else 8)
        self.addCleanup(lambda: self.node.leader and os.kill(leader, signal.SIGCONT))
        while time.monotonic() < over:
            os.kill(leader, signal.SIGSTOP)
            time.sleep(2)
            os.kill(leader, signal.SIGCONT)
            time.sleep(0.2)
        self.assert_right()

    def stop_pid_1(self, jobs):
        """At a moment at which none of these jobs is about to begin: PID 1 may have let it already. Returns a function that has it go on."""
        leader = self.node.leader
        self.addCleanup(lambda: self.node.leader and os.kill(leader, signal.SIGCONT))

        def stopped_between():
            time.sleep((0.6 - time.time()) % 1)  # ticks are whole seconds
            os.kill(leader, signal.SIGSTOP)
            now = time.time()
            if not any(record["state"] == "claimed" and record["claimed"] <= now for name in jobs for record in self.fleet.ledger(name, OTHER, 5)):
                return True
            os.kill(leader, signal.SIGCONT)
            return False
        wait_until(stopped_between, AGAIN, "a moment between two ticks")
        return lambda: os.kill(leader, signal.SIGCONT)

    def write_hasty_jobs(self):
        """Some that either node runs, and one that the struck one alone does, each second or never."""
        keys = f"    every: 1s\n    start-deadline: 1s\n    catch-up: none\n    exec: [\"{TOOLS}/mark-run\"]\n    stop-timeout: 1s\n    history: 1000\n"
        names = [*HASTY, HASTY_THERE]
        text = "jobs:\n" + "".join(f"  {name}:\n{keys}" + (f"    nodes: [{STRUCK}]\n" if name == HASTY_THERE else "") for name in names)
        self.fleet.write_jobs("hasty.yaml", text)
        since = time.monotonic()
        for name in names:
            self.fleet.wait_run(lambda run, name=name: run.job == name and run.start > since, AGAIN, f"a run of {name}")

    def own_busy(self):
        return next(member["busy"] for member in self.fleet.status(STRUCK)["members"] if member["node"] == STRUCK)

    def test_pid_1_hangs(self):
        """While it does nothing more is claimed there, and what was claimed and does not begin in time is given up; when it goes on none of that begins."""
        fleet = self.begin_jobs(lasting=50)
        self.write_hasty_jobs()
        go_on, stopped = self.stop_pid_1([*HASTY, HASTY_THERE]), time.monotonic()
        wait_until(lambda: re.search(r"systemd has not answered for \d+ s", fleet.status(STRUCK)["session"]["fault"]), 20, "the status says so")
        wait_until(lambda: self.own_busy() == "systemd", 10, "the others are told")
        given_up = fleet.wait_ledger(HASTY_THERE, lambda record: record["state"] == "interrupted", 40, "what was claimed is given up", OTHER)
        self.assertIn("not started: systemd did not begin it in time", given_up["why"])
        self.wait_others(time.monotonic(), HASTY)
        wait_until(lambda: time.monotonic() > stopped + 25, 40, "it hangs for longer than a call waits for its answer")
        self.assertEqual(self.node.journal("-u", "jobkeeperd").count("nothing is begun here until it does"), 1)
        woken = time.monotonic()
        go_on()
        wait_until(lambda: not fleet.status(STRUCK)["session"]["fault"], 10, "that is over")
        fleet.wait_run(lambda run: run.job == HASTY_THERE and run.start > woken, AGAIN, f"{STRUCK} runs what is due")
        never = {(name, record["run"]) for name in [*HASTY, HASTY_THERE] for record in fleet.ledger(name, OTHER, 1000) if record["state"] == "interrupted"}
        self.assertTrue(never)
        self.assertEqual([run for run in fleet.runs() if (run.job, run.run) in never], [], "what was given up has begun")
        self.assertEqual([run for run in fleet.runs() if run.node == STRUCK and stopped + 1 < run.start < woken], [])
        self.assert_right(others=[*HASTY, HASTY_THERE])

    def test_there_is_no_bus_for_a_while(self):
        fleet = self.begin_jobs(lasting=70 if LONG else 12)
        self.shell("systemctl stop dbus.socket dbus.service")
        since = time.monotonic()
        time.sleep(60 if LONG else 10)
        self.assertTrue([run for run in fleet.runs(OWN.name) if run.start > since], "what it runs needs no bus")
        self.assertIn("cannot reach the system bus", fleet.jobkeeper(STRUCK, "status", check=False).stderr)
        self.shell("systemctl start dbus.socket dbus.service")
        self.assert_right()

    def test_thousands_of_units_of_others(self):
        self.begin_jobs()
        self.node.write("/etc/systemd/system/other@.target", "[Unit]\nDefaultDependencies=no\n")
        self.node.write("/etc/systemd/system/many.target", "[Unit]\n" + "".join(f"Wants={others}\n" for others in
                        (" ".join(f"other@{number}.target" for number in range(at, at + 100)) for at in range(0, CROWD, 100))))
        self.shell("systemctl daemon-reload; systemctl start many.target")
        units = self.node.systemctl("list-units", "--plain", "--no-legend", "--all", "--state=active", "other@*", timeout=120).stdout
        self.assertEqual(len(units.splitlines()), CROWD)
        self.wait_own_run(time.monotonic())
        self.node.systemctl("restart", "jobkeeperd")
        self.wait_own_run(time.monotonic())
        self.assert_right()

"""A daemon that hangs while its node is cut off: what it ran is dead before another node holds the lock, since the fence stops it.
And what becomes of runs when the fence itself ends, and of the fence when the daemon does.

A round hangs and cuts off the node that runs most. JOBKEEPER_ROUNDS says how many runs are to be lost that way (6); for a hundred:

    sudo JOBKEEPER_ROUNDS=100 tests/cluster/run.py -k test_hang_and_cut --limit 3600
"""

import os
import statistics
import time

from cluster_test import ClusterTest
from fleet import TAKEOVER, TOOLS, job, job_file
from testbed import wait_until

FENCE = "jobkeeper-fence.service"
ROUNDS = int(os.environ.get("JOBKEEPER_ROUNDS", "6"))


class Hang(ClusterTest):
    alone = True

    def hold_on(self):
        """Jobs that run for ever, one that ignores SIGTERM, one that leaves well, and so on by turns."""
        return {"held.yaml": job_file(*(job(f"held-{i}", every="1s", seconds=600, arguments=("--stubborn",) if i % 2 else ())
                                        for i in range(4)))}

    def living(self):
        """{node: runs} of jobs that have begun and not ended. Of a stubborn one each sign of life is written down, and the last one tells."""
        fresh, found = time.monotonic() - 0.5, {}
        for run in self.fleet.runs():
            if run.tick and (run.ended == "open" or (run.ended == "alive" and run.end > fresh)):
                found.setdefault(run.node, []).append(run)
        return found

    def wait_all_run(self, count):
        def condition():
            found = self.living()
            return sum(map(len, found.values())) >= count and found
        return wait_until(condition, 60, lambda: f"{count} runs live: {self.living()}")

    def lock(self, name, lock, job_name):
        """A command under a lock, which ends with the test."""
        process = self.fleet.nodes[name].popen("jobkeeper", "lock", lock, "--", f"{TOOLS}/mark-run", "--job", job_name, "--seconds", "600", "--stubborn")
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def hang_and_cut(self, name):
        """Returns since when."""
        node = self.fleet.nodes[name]
        node.cut()
        node.systemctl("kill", "-s", "STOP", "jobkeeperd")
        return time.monotonic()

    def go_on(self, name):
        node = self.fleet.nodes[name]
        node.systemctl("kill", "-s", "CONT", "jobkeeperd")
        node.heal()

    def next_run(self, lost, since):
        """Waits until another node has the lock of a run, and returns the seconds between them."""
        found = self.fleet.wait_run(lambda run: run.job == lost.job and run.node != lost.node and run.start > since, TAKEOVER + 10,
                                    f"{lost.job} elsewhere")
        before = next(run for run in self.fleet.runs(lost.job) if run.run == lost.run and run.node == lost.node)
        return found.start - before.end

    def interrupted(self, lost):
        """Its own node says in the end what became of it: those that remained could not know."""
        record = self.fleet.wait_ledger(lost.job, lambda record: record["run"] == lost.run and record["state"] not in ("claimed", "running", "unknown"), 60,
                                        f"{lost.job} {lost.run} is settled")
        self.assertEqual(record["state"], "interrupted", record)

    def test_hang_and_cut(self):
        fleet = self.begin(files=self.hold_on())
        distances, rounds = [], 0
        while len(distances) < ROUNDS:
            living = self.wait_all_run(4)
            name, lost = max(living.items(), key=lambda item: len(item[1]))
            other = next(other for other in fleet.nodes if other != name)
            holder = self.lock(name, f"command-{rounds}", f"holder-{rounds}")
            fleet.wait_running(f"holder-{rounds}")
            self.lock(other, f"command-{rounds}", f"waiter-{rounds}")
            since = self.hang_and_cut(name)
            found = [self.next_run(run, since) for run in lost]
            begun = fleet.wait_running(f"waiter-{rounds}", TAKEOVER)
            found.append(begun.start - fleet.runs(f"holder-{rounds}")[-1].end)
            print(f"    {name}: another had the lock {', '.join(f'{seconds:.3f}' for seconds in found)} s after the end", flush=True)
            distances += found
            self.go_on(name)
            holder.wait(30)
            fleet.wait_members(fleet.nodes)
            for run in lost:
                self.interrupted(run)
            rounds += 1
        print(f"    {len(distances)} lost in {rounds} rounds: least {min(distances):.3f} s, p50 {statistics.median(distances):.3f} s", flush=True)
        self.assertGreater(min(distances), 0)
        self.assert_exclusive()

    def test_the_fence_killed(self):
        """What it guarded is stopped, nothing of that is called a failure, and work goes on beside the next one."""
        fleet = self.begin(files=self.hold_on())
        living = self.wait_all_run(4)
        name, lost = max(living.items(), key=lambda item: len(item[1]))
        node, before = fleet.nodes[name], fleet.nodes[name].property(FENCE, "MainPID")
        holder = self.lock(name, "command", "holder")
        fleet.wait_running("holder")
        node.systemctl("kill", "-s", "KILL", FENCE)
        for run in lost:
            self.interrupted(run)
        self.assertNotEqual(holder.wait(20), 0)
        wait_until(lambda: node.property(FENCE, "MainPID") not in ("0", before), 10, "another fence")
        self.wait_all_run(4)
        fleet.jobkeeper(name, "lock", "after", "--", "true")
        self.assert_exclusive()

    def test_the_fence_outlives_the_daemon(self):
        fleet = self.begin(files=self.hold_on(), session_timeout=10)
        living = self.wait_all_run(4)
        name, kept = max(living.items(), key=lambda item: len(item[1]))
        node, fence = fleet.nodes[name], fleet.nodes[name].property(FENCE, "MainPID")
        for verb in (("kill", "-s", "KILL"), ("restart",), ("kill", "-s", "KILL")):
            before = node.property("jobkeeperd", "MainPID")
            node.systemctl(*verb, "jobkeeperd")
            wait_until(lambda before=before: node.property("jobkeeperd", "MainPID") not in ("0", before), 15, "a new daemon")
            wait_until(lambda: fleet.status(name).get("session", {}).get("state") == "connected", 15, "it is connected")
        time.sleep(12)  # longer than the deadline that the fence had from the first daemon
        self.assertEqual(node.property(FENCE, "MainPID"), fence)
        self.assertEqual({run.run for run in kept} - {run.run for run in self.living()[name]}, set())
        self.assert_exclusive()

    def test_a_daemon_that_is_gone_for_good(self):
        """Its runs are dead before the session has ended, although it is never started again."""
        fleet = self.begin(files=self.hold_on())
        living = self.wait_all_run(4)
        name, lost = max(living.items(), key=lambda item: len(item[1]))
        node = fleet.nodes[name]
        node.write("/etc/systemd/system/jobkeeperd.service.d/gone.conf", "[Service]\nRestart=no\n")
        node.systemctl("daemon-reload")
        since = time.monotonic()
        node.systemctl("kill", "-s", "KILL", "jobkeeperd")
        distances = [self.next_run(run, since) for run in lost]
        print(f"    another had the lock {min(distances):.3f} s after the end at the least", flush=True)
        self.assertGreater(min(distances), 0)
        node.run("rm", "/etc/systemd/system/jobkeeperd.service.d/gone.conf")
        node.systemctl("daemon-reload")
        node.systemctl("start", "jobkeeperd")
        for run in lost:
            self.interrupted(run)
        self.assert_exclusive()

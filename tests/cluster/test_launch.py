"""The launch step in runs of a daemon: what is done with a run's unit does not execute its command again, and its result is the true one."""

import time

from cluster_test import ClusterTest
from fleet import job, job_file
from testbed import wait_until

DROPINS = "/run/systemd/system"
INSTANCE = "/run/jobkeeper-fence/instance"
OTHER_FENCE, OVERDUE = 85, 86
TERMINATED = 143  # how mark-run ends on SIGTERM


class Launch(ClusterTest):
    alone = True

    def running(self, **options):
        """A fleet whose one job is in a run that lasts for long. Returns that run, its node and its unit."""
        ticks = job("ticks", every="10s", seconds=60, stop_timeout="1s", **options)
        self.begin(nodes=1, files={"ticks.yaml": job_file(ticks)})
        run = self.fleet.wait_running("ticks")
        node = self.fleet.nodes[run.node]
        return run, node, f"jobkeeper-ticks-{run.run}.service"

    def record_of(self, run):
        """The run's record once it is settled; before that it is told as claimed, and as running while its node is there."""
        return self.fleet.wait_ledger("ticks", lambda record: record["run"] == run.run and record["state"] not in ("claimed", "running"), 20,
                                      "the run's record")

    def drop_ins(self, node):
        return [name for name in node.run("ls", DROPINS).stdout.split() if name.startswith("jobkeeper-")]

    def test_a_unit_that_is_restarted_is_not_executed_again(self):
        run, node, unit = self.running()
        self.assertIn(f"{unit}.d", self.drop_ins(node))
        node.systemctl("restart", unit, check=False)
        record = self.record_of(run)
        self.assertEqual((record["state"], record["exit"]), ("stopped", TERMINATED), "by whoever restarted it: its command obeyed SIGTERM in its own way")
        self.assert_exclusive()
        self.assertEqual(len([other for other in self.fleet.runs("ticks") if other.run == run.run]), 1)
        wait_until(lambda: f"{unit}.d" not in self.drop_ins(node), 10, "the drop-in is removed")

    def test_a_result_outlives_the_unit(self):
        """The unit is stopped, fails, and is forgotten, while there is no daemon."""
        run, node, unit = self.running()
        node.systemctl("kill", "-s", "STOP", "jobkeeperd")
        node.systemctl("stop", unit)
        wait_until(lambda: node.property(unit, "LoadState") == "not-found" or node.property(unit, "ActiveState") == "failed", 10, "it is over")
        node.systemctl("reset-failed", unit, check=False)
        before = node.property("jobkeeperd", "MainPID")
        node.systemctl("kill", "-s", "KILL", "jobkeeperd")
        wait_until(lambda: node.property("jobkeeperd", "MainPID") not in ("0", before) and node.property("jobkeeperd", "ActiveState") == "active",
                   15, "a new daemon")
        record = self.record_of(run)
        self.assertEqual((record["state"], record.get("exit")), ("failed", TERMINATED), record)
        wait_until(lambda: f"{unit}.d" not in self.drop_ins(node), 10, "the drop-in is removed")

    def test_a_run_begins_under_its_own_fence_only(self):
        _, node, unit = self.running()
        program, verb, _, _, file, session, instance, until = node.run(
            "sed", "-n", "s/^ExecStartPre=+//p", f"{DROPINS}/{unit}.d/50-jobkeeper-launch.conf").stdout.split()
        self.assertEqual(node.run("cat", INSTANCE).stdout, f"{instance}\n")
        step = (program, verb, "/run")
        self.assertEqual(node.run(*step, "a" * 32, file, session, instance, until, check=False).returncode, 0)
        self.assertEqual(node.run(*step, "c" * 32, file, session, instance, "begin-by:1", "other:word", check=False).returncode, OVERDUE)
        self.assertEqual(node.run(*step, "b" * 32, file, session, "0" * 32, check=False).returncode, OTHER_FENCE)

    def test_without_room_nothing_begins_and_the_record_says_why(self):
        self.begin(nodes=1, files={})
        node = self.fleet.nodes["n1"]
        node.run("mount", "-t", "tmpfs", "-o", "nr_inodes=1", "none", DROPINS)
        self.fleet.write_jobs("ticks.yaml", job_file(job("ticks", every="2s", seconds=0.1)))
        record = self.fleet.wait_ledger("ticks", lambda record: record["state"] == "interrupted", 20, "a record")
        self.assertIn("not started: its unit could not be prepared: No space left on device", record["why"])
        self.assertIn("cannot be written under /run", self.fleet.status("n1")["session"]["fault"])
        node.run("umount", DROPINS)
        self.fleet.wait_ledger("ticks", lambda record: record["state"] == "succeeded", 40, "a run")

    def test_without_its_program_nothing_begins_and_the_others_run_the_jobs(self):
        names = [f"ticks-{number}" for number in range(4)]
        self.begin(nodes=2, files={"ticks.yaml": job_file(job("own", every="1s", seconds=0.1, nodes="[n1]"),
                                                          *(job(name, every="1s", seconds=0.1) for name in names))})
        node = self.fleet.nodes["n1"]
        self.fleet.wait_run(lambda run: run.job == "own", 20, "a run there")
        path = node.run("sh", "-c", "ls /usr/libexec/jobkeeper/jobkeeper-launch || ls /usr/local/libexec/jobkeeper/jobkeeper-launch").stdout.strip()
        node.run("mv", path, f"{path}.away")
        wait_until(lambda: "cannot execute jobkeeper-launch" in self.fleet.status("n1")["session"]["fault"], 40, "the status says so")
        since = time.monotonic()
        for name in names:
            self.fleet.wait_run(lambda run, name=name: run.job == name and run.node == "n2" and run.start > since, 40, "a run elsewhere")
        node.run("mv", f"{path}.away", path)
        since = time.monotonic()
        self.fleet.wait_run(lambda run: run.job == "own" and run.start > since, 80, "a run there")

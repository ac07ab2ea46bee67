"""Stopping the daemon, or the machine: what runs has its time, is settled, and nobody waits for a session's end."""

import json
import re
import time

import history
from cluster_test import ClusterTest
from fleet import job, job_file
from testbed import wait_until

PATIENT = "drain-timeout: 60s\n"
AT_ONCE = 1  # seconds: no session's end is awaited


class Stop(ClusterTest):
    alone = True

    def begin_run(self, seconds, settings, arguments=(), **keys):
        """A run of `long`, which another node's `next` waits for, beside ticks for all. Returns it and its node."""
        text = job_file(job("long", seconds=seconds, arguments=arguments, locks="{data: exclusive}"),
                        job("next", locks="{data: exclusive}", lock_wait="5min", **keys), job("ticks", every="1s", seconds=0.1))
        fleet = self.begin(nodes=2, files={"jobs.yaml": text}, settings=settings)
        fleet.jobkeeper("n1", "run", "long")
        run = fleet.wait_running("long")
        fleet.wait_run(lambda run: run.job == "ticks" and run.ended == "end", 20, "ticks run")
        return run, fleet.nodes[run.node]

    def stop(self, node):
        node.systemctl("stop", "--no-block", "jobkeeperd")
        wait_until(lambda: "may end by themselves" in node.property("jobkeeperd", "StatusText"), 10, lambda: node.property("jobkeeperd", "StatusText"))

    def wait_settled(self, run, name):
        return self.fleet.wait_ledger(run.job, lambda record: record["run"] == run.run and record["state"] in history.FINAL_STATES, 10, "settled", name=name)

    def other(self, node):
        return next(name for name in self.fleet.nodes if name != node.name)

    def wait_gone(self, node, timeout=20):
        wait_until(lambda: node.property("jobkeeperd", "ActiveState") == "inactive", timeout, "the daemon is gone")

    def test_a_run_may_end_by_itself_while_the_others_take_what_is_due(self):
        run, node = self.begin_run(6, PATIENT)
        other = self.other(node)
        self.stop(node)
        self.assertRegex(node.property("jobkeeperd", "StatusText"), r"until \S+ \S+ UTC runs \(1\) and commands with locks \(0\) may end by themselves")
        since = time.monotonic()
        self.fleet.wait_run(lambda run: run.job == "ticks" and run.node == other and run.start > since, 3 + AT_ONCE, "the next ticks run")
        self.assertEqual(self.wait_settled(run, other)["state"], "succeeded")
        self.wait_gone(node)
        self.assertEqual(node.property("jobkeeperd", "Result"), "success")
        self.assertEqual([run for run in self.fleet.runs("ticks") if run.node == node.name and run.start > since], [])
        self.assert_exclusive()

    def test_what_has_not_ended_in_time_is_ended_and_its_locks_are_free_at_once(self):
        run, node = self.begin_run(60, "drain-timeout: 3s\n")
        other = self.other(node)
        self.fleet.jobkeeper(other, "run", "next")
        wait_until(lambda: "waits" in self.fleet.jobkeeper(other, "locks", "data").stdout, 10, "another waits for its lock")
        began = time.monotonic()
        node.systemctl("stop", "jobkeeperd")
        took = time.monotonic() - began
        following = self.fleet.wait_run(lambda run: run.job == "next", AT_ONCE + 2, "who waited has the lock")
        ended, = (one for one in self.fleet.runs("long") if one.run == run.run)
        print(f"      stopped after {took:.2f} s, next start {following.start - ended.end:.3f} s after the end")
        self.assertGreaterEqual(ended.end - began, 2.9)
        self.assertLess(took, 3 + 2)
        self.assertLess(following.start - ended.end, AT_ONCE)
        self.assertEqual(self.wait_settled(run, other)["state"], "interrupted")
        self.assertEqual(self.fleet.members(other), {other})

    def test_whoever_kills_it_does_not_want_to_wait(self):
        run, node = self.begin_run(60, "")
        node.write("/etc/jobkeeper/jobkeeper.yaml", re.sub("drain-timeout.*\n", "", node.run("cat", "/etc/jobkeeper/jobkeeper.yaml").stdout))
        node.systemctl("restart", "jobkeeperd")
        self.fleet.wait_members(self.fleet.nodes)
        self.stop(node)  # ten minutes
        time.sleep(2)  # it is to be seen that nothing happens
        self.assertEqual([one.run for one in self.fleet.running("long")], [run.run])
        node.systemctl("kill", "jobkeeperd")
        self.wait_gone(node)
        self.assertEqual(self.wait_settled(run, self.other(node))["state"], "interrupted")
        self.assertEqual(node.property("jobkeeperd", "Result"), "success")


class PowerOff(ClusterTest):
    alone = True

    def test_runs_and_commands_end_before_the_network_and_the_others_go_on(self):
        """It is not waited for the ten minutes of drain-timeout, nor for one that is deaf to SIGTERM, and a good end on SIGTERM is none."""
        trap = "jobs:\n  trapped:\n    exec: [/bin/sh, -c, \"trap 'exit 0' TERM; touch /run/trapped; sleep 600 & wait\"]\n    stop-timeout: 1s\n    nodes: [n1]\n" \
               "  deaf:\n    exec: [/bin/sh, -c, \"trap '' TERM; touch /run/deaf; while :; do sleep 1; done\"]\n    stop-timeout: 2s\n    nodes: [n1]\n"
        fleet = self.begin(nodes=2, settings="drain-timeout: 10min\n", files={
            "trap.yaml": trap, "ticks.yaml": job_file(job("ticks", every="1s", seconds=0.3, start_deadline="10s"))})
        node = fleet.nodes["n1"]
        for name in ("trapped", "deaf"):
            fleet.jobkeeper("n1", "run", name)
            wait_until(lambda name=name: node.run("test", "-e", f"/run/{name}", check=False).returncode == 0, 20, "the trap is set")
        node.popen("jobkeeper", "lock", "data", "--", "sh", "-c", "touch /run/held; sleep 600")
        wait_until(lambda: node.run("test", "-e", "/run/held", check=False).returncode == 0, 20, "a command runs")
        first = fleet.wait_run(lambda run: run.job == "ticks" and run.ended == "end", 20, "ticks run").tick
        node.shutdown(30)
        off = time.monotonic()
        self.assertEqual(fleet.jobkeeper("n2", "lock", "-t", AT_ONCE, "data", "--", "true", check=False).returncode, 0, "its lock is free")
        self.assertEqual(fleet.members("n2"), {"n2"})
        for name in ("trapped", "deaf"):
            record = fleet.wait_ledger(name, lambda record: record["state"] in history.FINAL_STATES, 10, "settled", name="n2")
            self.assertEqual(record["state"], "interrupted")
        fleet.wait_run(lambda run: run.job == "ticks" and run.start > off + 3, 10, "the other goes on")
        due = history.ticks(1, first, time.time() - 2)
        fleet.wait_ledger("ticks", lambda record: record["tick"] >= due[-1] and record["state"] in history.FINAL_STATES, 20, "the last due tick settled")
        account = history.account("ticks", due, fleet.runs(), fleet.ledger("ticks"))
        self.assertEqual((account.double, account.lost, account.invented, account.unknown), ([], [], [], []))
        self.assert_exclusive()


class Drain(ClusterTest):
    alone = True

    def drained(self, name):
        return {entry["node"]: entry for entry in self.fleet.status(name).get("drained", [])}

    def test_a_node_is_drained_from_another_and_waited_for_and_stays_so_over_a_reboot(self):
        fleet = self.begin(nodes=2, files={"jobs.yaml": job_file(job("ticks", every="1s", seconds=0.1), job("long", seconds=5, nodes="[n1]"))})
        fleet.wait_run(lambda run: run.job == "ticks" and run.ended == "end", 20, "ticks run")
        fleet.jobkeeper("n1", "run", "long")
        run = fleet.wait_running("long")
        waited = fleet.jobkeeper("n2", "drain", "n1", "--wait", "--reason=new disk", timeout=60)
        self.assertEqual(waited.stdout, "n1 is drained, and nothing runs there\n")
        self.assertEqual([one.ended for one in fleet.runs("long") if one.run == run.run], ["end"], "it was waited for")
        record, = fleet.ledger("long", "n2")
        self.assertEqual(record["state"], "succeeded")
        since = time.monotonic()
        fleet.wait_run(lambda run: run.job == "ticks" and run.start > since + 3, 20, "the other goes on")
        for name in ("n1", "n2"):
            entry = self.drained(name)["n1"]
            self.assertEqual((entry["by"], entry["why"]), ("root on n2", "new disk"))
        self.assertIn("drained  n1 by root on n2, ", fleet.jobkeeper("n1", "status").stdout)
        self.assertEqual(fleet.jobkeeper("n1", "lock", "-t", "5", "free", "--", "true").returncode, 0, "a command by hand has its lock")
        node = fleet.nodes["n1"]
        node.shutdown(30)
        node.boot()
        node.systemctl("start", "jobkeeperd")
        fleet.wait_members({"n1", "n2"})
        again = time.monotonic()
        fleet.wait_run(lambda run: run.job == "ticks" and run.start > again + 4, 20, "the other goes on")
        self.assertEqual([run for run in fleet.runs("ticks") if run.node == "n1" and run.start > since], [])
        self.assertEqual(fleet.jobkeeper("n1", "undrain").stdout, "n1 is not drained any more\n")
        self.assertEqual(json.loads(fleet.jobkeeper("n2", "undrain", "--json", "n1").stdout)["changed"], False)
        fleet.nodes["n2"].systemctl("stop", "jobkeeperd")
        fleet.wait_run(lambda run: run.job == "ticks" and run.node == "n1" and run.start > again, 10, "it runs ticks again")
        self.assert_exclusive()

    def test_a_node_that_is_away_is_drained_when_it_comes_and_only_root_may_drain(self):
        fleet = self.begin(nodes=2, files={"ticks.yaml": job_file(job("ticks", every="1s", seconds=0.1))})
        fleet.nodes["n1"].systemctl("stop", "jobkeeperd")
        result = fleet.jobkeeper("n2", "drain", "n1")
        self.assertIn("n1 is away at present: this counts as soon as it is back", result.stderr)
        since = time.monotonic()
        fleet.nodes["n1"].systemctl("start", "jobkeeperd")
        fleet.wait_members({"n1", "n2"})
        fleet.wait_run(lambda run: run.start > since + 4, 20, "the other goes on")
        self.assertEqual([run for run in fleet.runs() if run.node == "n1" and run.start > since], [])
        self.assertNotEqual(fleet.jobkeeper("n2", "drain", "../n1", check=False).returncode, 0)
        nobody = ("setpriv", "--reuid=65534", "--clear-groups", "jobkeeper")
        for command in (("drain", "n2"), ("undrain", "n1")):
            denied = fleet.nodes["n2"].run(*nobody, *command, check=False)
            self.assertNotEqual(denied.returncode, 0)
            self.assertIn("try as root", denied.stderr)
        self.assertEqual(set(self.drained("n2")), {"n1"})

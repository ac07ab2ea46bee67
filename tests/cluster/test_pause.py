"""Jobs that people pause: nothing of them begins on any node, whatever node is asked and whatever node is dead; what came due is skipped, once and for all."""

import json
import time

import history
from cluster_test import ClusterTest
from fleet import job, job_file
from testbed import wait_until

EACH_SECOND = job("ticks", every="1s", seconds=0.1, start_deadline="1h")


class Pause(ClusterTest):
    alone = True

    def wait_ticks(self, since, timeout=20):
        return self.fleet.wait_run(lambda run: run.job == "ticks" and run.start > since and run.ended == "end", timeout, "ticks run")

    def assert_settled_without_a_gap(self, first, name):
        """Every tick from the first run on is in the ledger, once, and what was skipped was paused."""
        due = history.ticks(1, first, time.time() - 2)
        self.fleet.wait_ledger("ticks", lambda record: record["tick"] >= due[-1] and record["state"] in history.FINAL_STATES, 20, "the last due tick settled",
                               name=name)
        ledger = self.fleet.ledger("ticks", name)
        account = history.account("ticks", due, self.fleet.runs(), ledger)
        self.assertEqual((account.double, account.lost, account.invented, account.unknown), ([], [], [], []))
        return [record for record in ledger if record["state"] == "skipped"]

    def test_a_job_is_paused_on_one_node_and_resumed_on_another_while_one_is_dead(self):
        fleet = self.begin(nodes=3, files={"jobs.yaml": job_file(EACH_SECOND, job("others", every="1s", seconds=0.1), job("long", seconds=6))})
        first = self.wait_ticks(0).tick
        fleet.jobkeeper("n1", "run", "long")
        run = fleet.wait_running("long")
        fleet.jobkeeper("n2", "pause", "--reason=new db", "ticks", "long")
        paused = time.monotonic()
        fleet.wait_run(lambda run: run.job == "others" and run.start > paused + 3, 10, "other jobs go on")
        self.assertEqual([run for run in fleet.runs("ticks") if run.start > paused + 0.5], [], "what was claimed by then has begun")
        for name in fleet.nodes:
            status = fleet.job_status(name, "ticks")
            self.assertEqual((status["state"], status["why"]), ("paused", "paused by root on n2: new db"))
            self.assertEqual((status["paused"]["by"], status["paused"]["why"]), ("root on n2", "new db"))
            self.assertIn("paused by root on n2, new db", fleet.jobkeeper(name, "next", "ticks").stdout)
        refused = fleet.jobkeeper("n3", "run", "ticks", check=False)
        self.assertEqual((refused.returncode, refused.stderr), (1, 'jobkeeper: job "ticks" is paused by root on n2: new db (jobkeeper resume ticks)\n'))
        fleet.wait_run(lambda one: one.run == run.run and one.ended == "end", 20, "what ran goes on to its end")
        dead, = {"n1", "n2", "n3"} - {run.node} - {min({"n1", "n2", "n3"} - {run.node})}
        alive = sorted(set(fleet.nodes) - {dead})
        fleet.crash(dead)
        self.assertEqual(fleet.jobkeeper(alive[0], "resume", "ticks").stdout, "ticks: not paused any more\n")
        resumed, began = time.time(), time.monotonic()
        self.wait_ticks(began)
        after = [run for run in fleet.runs("ticks") if run.start > paused + 0.5]
        self.assertGreater(min(run.tick for run in after), resumed - 1, "nothing is caught up with")
        skipped = self.assert_settled_without_a_gap(first, alive[1])
        self.assertEqual({record["why"] for record in skipped}, {"paused by root on n2: new db"})
        self.assertEqual(len(skipped), 1, skipped)
        self.assertEqual(fleet.job_status(alive[0], "long")["state"], "paused")
        self.assert_exclusive()

    def test_all_jobs_stay_paused_over_restarts_and_only_root_may_pause(self):
        fleet = self.begin(nodes=2, files={"jobs.yaml": job_file(EACH_SECOND)})
        first = self.wait_ticks(0).tick
        nobody = ("setpriv", "--reuid=65534", "--clear-groups", "jobkeeper")
        for command in (("pause", "ticks"), ("pause", "--all"), ("resume", "--all")):
            denied = fleet.nodes["n2"].run(*nobody, *command, check=False)
            self.assertNotEqual(denied.returncode, 0)
            self.assertIn("try as root", denied.stderr)
        self.assertEqual(fleet.jobkeeper("n1", "pause", "tick", check=False).stderr, 'jobkeeper: there is no job "tick" on this node (did you mean "ticks"?)\n')
        fleet.jobkeeper("n1", "pause", "--all")
        paused = time.monotonic()
        for node in fleet.nodes.values():
            node.systemctl("restart", "jobkeeperd")
        fleet.wait_members(fleet.nodes)
        self.assertIn("paused   all jobs by root on n1, ", fleet.jobkeeper("n2", "status").stdout)
        # All are away while ticks come due: nobody has settled them when the pause ends.
        for node in fleet.nodes.values():
            node.systemctl("stop", "jobkeeperd")
        away = time.time()
        wait_until(lambda: time.time() > away + 3, 10, "ticks come due")
        for node in fleet.nodes.values():
            node.systemctl("start", "jobkeeperd")
        fleet.wait_members(fleet.nodes)
        self.assertEqual([run for run in fleet.runs("ticks") if run.start > paused + 0.5], [])
        answer = json.loads(fleet.jobkeeper("n2", "resume", "--all", "--json").stdout)
        self.assertEqual((answer["job"], answer["all"], answer["changed"]), (None, None, True))
        resumed = time.time()
        self.wait_ticks(time.monotonic())
        self.assertGreater(min(run.tick for run in fleet.runs("ticks") if run.start > paused + 0.5), resumed - 1)
        skipped = self.assert_settled_without_a_gap(first, "n1")
        self.assertEqual({record["why"] for record in skipped}, {"all jobs are paused by root on n1"})
        self.assertIn("all jobs are paused by root on n1; nothing begins, and what runs goes on", fleet.nodes["n2"].run("journalctl", "-u", "jobkeeperd").stdout)
        self.assert_exclusive()


class Stop(ClusterTest):
    alone = True

    def test_a_run_is_stopped_from_another_node_and_is_not_attempted_again(self):
        trap = "jobs:\n  trapped:\n    exec: [/bin/sh, -c, \"trap 'exit 0' TERM; touch /run/trapped; sleep 600 & wait\"]\n    nodes: [n1]\n" \
               "    retries: {attempts: 3, delay: 1s}\n    on-owner-lost: rerun\n    stop-timeout: 1s\n"
        fleet = self.begin(nodes=2, files={"trap.yaml": trap, "ticks.yaml": job_file(EACH_SECOND)})
        idle = fleet.jobkeeper("n2", "stop", "trapped", check=False)
        self.assertEqual((idle.returncode, idle.stderr), (1, "jobkeeper: nothing of trapped runs\n"))
        fleet.jobkeeper("n2", "run", "trapped")
        node = fleet.nodes["n1"]
        wait_until(lambda: node.run("test", "-e", "/run/trapped", check=False).returncode == 0, 20, "the trap is set")
        denied = fleet.nodes["n2"].run("setpriv", "--reuid=65534", "--clear-groups", "jobkeeper", "stop", "trapped", check=False)
        self.assertIn("try as root", denied.stderr)
        stopped = fleet.jobkeeper("n2", "stop", "trapped", "--wait")
        self.assertRegex(stopped.stdout, r"^run \S+ of trapped on n1: stopped")
        record, = fleet.ledger("trapped", "n2")
        self.assertEqual((record["state"], record["why"]), ("stopped", "stopped by root on n2"))
        self.assertIn("is stopped by root on n2", node.run("journalctl", "-u", "jobkeeperd").stdout)
        again = fleet.jobkeeper("n2", "stop", "trapped", "--json", check=False)
        self.assertEqual((again.returncode, json.loads(again.stdout)["run"]), (1, None))

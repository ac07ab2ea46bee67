"""What an operator is told: of runs in progress, of jobs that no node can run, of nodes that left, and while ZooKeeper hangs."""

import json
import time

from cluster_test import ClusterTest
from fleet import SESSION_TIMEOUT, job, job_file, now
from testbed import wait_until


class Asking(ClusterTest):
    alone = True

    def text(self, node, *arguments):
        return self.fleet.jobkeeper(node, *arguments).stdout

    def row(self, node, name):
        return next((line for line in self.text(node, "status").splitlines() if line.startswith(name)), "")

    def test_what_runs_where_and_since_when(self):
        fleet = self.begin(files={"jobs.yaml": job_file(job("long", seconds=600), job("nowhere", nodes="[n9]"))})
        fleet.jobkeeper("n1", "run", "long")
        run = fleet.wait_running("long")
        other = next(name for name in fleet.nodes if name != run.node)
        self.assertRegex(self.row(run.node, "long"), rf"long +running +manual .*(now|ago)\) +running +{run.node}")
        self.assertRegex(self.row(other, "long"), rf"long +running +manual .*(now|ago)\) +in progress +{run.node}")
        self.assertRegex(self.text(run.node, "history", "long"), rf"manual .* {run.node} .*(now|ago)\) .* running")
        self.assertRegex(self.text(other, "history", "long"), rf"manual .* {run.node} .*(now|ago)\) .* in progress")
        self.assertRegex(self.row(other, "nowhere"), r"nowhere +no-node .*no node of the cluster can run it")
        third = next(name for name in fleet.nodes if name not in (run.node, other))
        fleet.crash(third)
        away = wait_until(lambda: fleet.status(other)["away"], SESSION_TIMEOUT + 10, f"{third} is away")
        self.assertEqual(away[0]["node"], third)
        self.assertAlmostEqual(away[0]["since"], time.time(), delta=SESSION_TIMEOUT + 10)
        self.assertIn(f"{third} (away for ", self.text(other, "status"))

    def explained(self, node, name, *tick):
        return json.loads(self.text(node, "explain", "--json", name, *tick))

    def test_why_a_tick_is_run_or_not_on_any_node(self):
        """What is to come, what runs, what ran and what was skipped, the same on all nodes; and of each node why it does not run it."""
        fleet = self.begin(files={"jobs.yaml": job_file(job("often", every="10s", seconds=12), job("narrow", every="1h", nodes="[n2]"))})
        answers = [self.explained(name, "narrow") for name in fleet.nodes]
        self.assertEqual({answer["state"] for answer in answers}, {"coming"})
        self.assertEqual({(node["node"], node["rank"], node["why"]) for answer in answers for node in answer["nodes"]},
                         {("n1", None, "nodes: does not match it"), ("n2", 0, ""), ("n3", None, "nodes: does not match it")})
        self.assertIn("As things stand, it will be run, by n2 first.", self.text("n1", "explain", "narrow"))
        run = fleet.wait_run(lambda run: run.job == "often", 30, "a run")
        other = next(name for name in fleet.nodes if name != run.node)
        shown = self.explained(other, "often", f"@{run.tick}")
        self.assertEqual((shown["state"], shown["node"], shown["run"]), ("under-way", run.node, run.run))
        over = wait_until(lambda: next((answer for answer in [self.explained(other, "often", f"@{run.tick + 10}")] if answer["state"] == "settled"), None),
                          30, "the next tick is skipped")
        self.assertIn("overlap", next(record["why"] for record in over["runs"] if record["state"] == "skipped"))
        self.assertRegex(self.text(run.node, "explain", "often", f"@{run.tick + 10}"), r"It is settled, and this is what became of it:\n\n(.*\n)*.*skipped")
        wait_until(lambda: self.explained(other, "often", run.run)["runs"][0]["state"] == "succeeded", 30, "it has ended")
        self.assertIn("The job has no such tick. The one before is", self.text("n3", "explain", "often", f"@{run.tick + 1}"))
        self.assertIn("is no tick: write", fleet.jobkeeper("n1", "explain", "often", "soon", check=False).stderr)
        everybody = fleet.nodes["n3"].run("runuser", "-u", "nobody", "--", "jobkeeper", "explain", "narrow")
        self.assertIn("n2", everybody.stdout)

    def test_while_zookeeper_hangs_a_node_says_what_it_knows(self):
        fleet = self.begin(nodes=1, files={"jobs.yaml": job_file(job("long", seconds=600))})
        fleet.jobkeeper("n1", "run", "long")
        fleet.wait_running("long")
        server = fleet.bed.zookeepers[0]
        server.freeze()
        self.addCleanup(server.thaw)
        began = time.monotonic()
        status = json.loads(self.text("n1", "status", "--json"))
        self.assertLess(time.monotonic() - began, 6)
        self.assertFalse(status["complete"])
        run = (status["jobs"][0]["running"] or [status["jobs"][0]["last"]])[0]  # it is stopped before its locks can expire
        self.assertEqual(run["node"], "n1")
        self.assertIn(run["state"], ("running", "interrupted"))
        shown = wait_until(lambda: "has not answered for" in self.text("n1", "status"), 10, "the silence is told of")
        wait_until(lambda: self.fleet.status("n1")["session"]["state"] == "connecting", SESSION_TIMEOUT + 10, "the session is over")
        shown = self.text("n1", "status")
        self.assertNotIn("no node of the cluster", shown)
        self.assertIn("as far as this node knows", shown)

    def test_a_journal_that_hangs_holds_up_nobody(self):
        reloads = 30  # lines; the socket of a new machine's journal has room for ten
        fleet = self.begin(nodes=1, files={"jobs.yaml": job_file(job("often", every="1s", seconds=0.1))})
        fleet.wait_run(lambda run: run.job == "often", 20, "a first run")
        node = fleet.nodes["n1"]
        before = fleet.status("n1")["session"]["id"], node.property("jobkeeperd", "MainPID")
        node.systemctl("kill", "--signal", "STOP", "systemd-journald")
        self.addCleanup(node.systemctl, "kill", "--signal", "CONT", "systemd-journald")
        for _ in range(reloads):
            node.systemctl("kill", "--signal", "HUP", "jobkeeperd")
            self.assertEqual(fleet.status("n1")["session"]["state"], "connected")
        since = now() + SESSION_TIMEOUT
        fleet.wait_run(lambda run: run.job == "often" and run.start > since, SESSION_TIMEOUT + 10, "runs go on")
        self.assertEqual((fleet.status("n1")["session"]["id"], node.property("jobkeeperd", "MainPID")), before)
        node.systemctl("kill", "--signal", "CONT", "systemd-journald")
        wait_until(lambda: node.journal("_SYSTEMD_UNIT=jobkeeperd.service").count("reloaded: ") > 10, 20, "the lines are there")

    def test_the_history_of_a_job_that_left_the_files_is_there(self):
        fleet = self.begin(nodes=1, files={"jobs.yaml": job_file(job("leaves"), job("stays"))})
        fleet.jobkeeper("n1", "run", "--wait", "leaves")
        fleet.write_jobs("jobs.yaml", job_file(job("stays")))
        wait_until(lambda: not fleet.job_status("n1", "leaves"), 10, "the job is gone")
        self.assertRegex(self.text("n1", "history", "leaves"), "manual .* succeeded")
        result = fleet.jobkeeper("n1", "history", "never", check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("there is no job", result.stderr)

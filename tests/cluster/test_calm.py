"""A healthy fleet under a minute of work: every tick once on one node, locks respected, mistakes of operators survived.

All tests here share one fleet, in which the jobs of the last two tests run from the beginning: the others make their mistakes
(broken files, foreign data, missing users) beside them, and must not disturb them.
"""

import json
import time

import history
from cluster_test import ClusterTest, assert_no_crash, new_fleet
from fleet import TOOLS, job, job_file
from history import EXCLUSIVE, SHARED
from testbed import parallel, wait_until

HOLDS = {"reader-a": {"orders": SHARED}, "reader-b": {"orders": SHARED}, "writer": {"orders": EXCLUSIVE}}

FILES = {
    "ticks.yaml": job_file(job("every-two", every="2s")),
    "locks.yaml": job_file(job("reader-a", every="3s", seconds=1.2, locks="{orders: shared}", start_deadline="30s"),
                           job("reader-b", every="3s", seconds=1.2, locks="{orders: shared}", start_deadline="30s"),
                           job("writer", every="5s", seconds=0.8, locks="{orders: exclusive}", start_deadline="30s")),
    "manual.yaml": job_file(job("by-hand", seconds=0.5), job("by-hand-failing", arguments=("--exit", "3"))),
    "victim.yaml": job_file(job("victim", every="2s")),
    "nowhere.yaml": job_file(job("nowhere", every="4s", nodes="[no-such-node]", start_deadline="2s")),
}


class Calm(ClusterTest):
    @classmethod
    def setUpClass(cls):
        cls.fleet = cls.enterClassContext(new_fleet(files=FILES))
        cls.addClassCleanup(assert_no_crash, cls.fleet)
        cls.fleet.wait_run(lambda run: run.job == "every-two", 30, "a first run")
        cls.first = time.time()

    def later_run(self, job_name, since, timeout=15):
        return self.fleet.wait_run(lambda run: run.job == job_name and run.start > since, timeout, f"a further run of {job_name}")

    def test_status_names_session_members_and_jobs(self):
        for name in self.fleet.nodes:
            status = self.fleet.status(name)
            self.assertEqual(status["node"], name)
            self.assertEqual(status["session"]["state"], "connected")
            self.assertEqual([member["node"] for member in status["members"] if member["self"]], [name])
            self.assertEqual({member["node"] for member in status["members"]}, {"n1", "n2", "n3"})
            self.assertLessEqual({"every-two", "reader-a", "writer", "by-hand"}, {entry["job"] for entry in status["jobs"]})
            self.assertEqual(status["errors"], [])

    def test_next_and_history_agree_with_the_schedule(self):
        answer = json.loads(self.fleet.jobkeeper("n2", "next", "--json", "-n", "3", "every-two").stdout)
        self.assertEqual([tick % 2 for tick in answer["ticks"]], [0, 0, 0])
        self.assertEqual([b - a for a, b in zip(answer["ticks"], answer["ticks"][1:])], [2, 2])
        records = self.fleet.ledger("every-two")
        self.assertEqual([record["tick"] for record in records], sorted((record["tick"] for record in records), reverse=True))

    def test_a_run_by_hand_is_waited_for(self):
        result = self.fleet.jobkeeper("n3", "run", "--wait", "--json", "by-hand")
        record = json.loads(result.stdout)
        self.assertEqual((record["state"], record["tick"]), ("succeeded", None))
        run, = self.fleet.runs("by-hand")
        self.assertEqual((run.tick, run.node, run.ended), (None, record["node"], "end"))
        failing = self.fleet.jobkeeper("n3", "run", "--wait", "--json", "by-hand-failing", check=False)
        self.assertEqual(failing.returncode, 1)
        record = json.loads(failing.stdout)
        self.assertEqual((record["state"], record["exit"]), ("failed", 3))

    def test_a_run_by_hand_of_no_job_is_refused(self):
        result = self.fleet.jobkeeper("n1", "run", "no-such-job", check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("no-such-job", result.stderr)

    def test_lock_passes_the_status_and_gives_a_growing_token(self):
        tokens = []
        for name in ("n1", "n2"):
            result = self.fleet.jobkeeper(name, "lock", "tokens", "--", "sh", "-c", "echo $JOBKEEPER_FENCING_TOKEN; exit 7", check=False)
            self.assertEqual(result.returncode, 7, result.stderr)
            tokens.append(int(result.stdout))
        self.assertLess(tokens[0], tokens[1])

    def test_lock_is_exclusive_and_gives_up_in_time(self):
        arguments = ("jobkeeper", "lock", "console", "--", f"{TOOLS}/mark-run", "--job", "holder", "--seconds", "4")
        with self.fleet.nodes["n1"].popen(*arguments) as holder:
            self.fleet.wait_running("holder")
            began = time.monotonic()
            result = self.fleet.jobkeeper("n2", "lock", "--timeout", "1s", "console", "--", "touch", "/history/forbidden", check=False)
            self.assertEqual(result.returncode, 75, result.stderr)
            self.assertLess(time.monotonic() - began, 3.5)
            self.assertEqual(holder.wait(20), 0)
        with self.assertRaises(FileNotFoundError):
            open(f"{self.fleet.bed.history_directory}/forbidden", encoding="ascii")  # pylint: disable=consider-using-with
        self.fleet.jobkeeper("n2", "lock", "--timeout", "5s", "console", "--", "true")

    def test_a_second_daemon_on_a_machine_ends_and_disturbs_nothing(self):
        node = self.fleet.nodes["n1"]
        self.fleet.write_jobs("beside.yaml", job_file(job("beside", seconds=8, nodes="[n1]")))
        with node.popen("jobkeeper", "lock", "typing", "--", f"{TOOLS}/mark-run", "--job", "beside-command", "--seconds", "8") as holder:
            self.fleet.jobkeeper("n1", "run", "beside")
            runs = [self.fleet.wait_running(name) for name in ("beside", "beside-command")]
            session = self.fleet.status("n1")["session"]["id"]
            node.run("cp", "/etc/jobkeeper/jobkeeper.yaml", "/srv/copy.yaml")
            for command in (("jobkeeperd",), ("jobkeeperd", "--config=/srv/copy.yaml"),
                            ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "jobkeeperd")):
                second = node.run("timeout", "-s", "INT", "10", *command, check=False)
                self.assertEqual(second.returncode, 1, second.stderr)
                self.assertRegex(second.stderr, "runs on this machine already .process [1-9]|cannot lock /run/jobkeeper")
            self.assertEqual(holder.wait(30), 0)
        for run in runs:
            run = self.fleet.wait_run(lambda other, run=run: other.job == run.job and other.ended == "end", 20, "it has ended")
            self.assertGreater(run.end - run.start, 7.5, "it was not disturbed")
        self.fleet.wait_ledger("beside", lambda record: record["state"] == "succeeded", 20, "settled")
        self.assertEqual(self.fleet.status("n1")["session"]["id"], session)

    def test_two_shared_locks_are_held_at_once(self):
        commands = [("jobkeeper", "lock", "--shared", "library", "--", f"{TOOLS}/mark-run", "--job", f"shared-{name}", "--seconds", "2")
                    for name in ("n1", "n2")]
        processes = [self.fleet.nodes[name].popen(*command) for name, command in zip(("n1", "n2"), commands)]
        self.assertEqual([process.wait(30) for process in processes], [0, 0])
        one, other = sorted(self.fleet.runs("shared-n1") + self.fleet.runs("shared-n2"), key=lambda run: run.start)
        self.assertLess(other.start, one.end)

    def test_a_node_that_cannot_run_a_job_is_no_candidate_and_says_why(self):
        self.fleet.nodes["n1"].write("/srv/only-here", f"#!/bin/sh\nexec {TOOLS}/mark-run\n", 0o755)
        self.fleet.write_jobs("unfit.yaml", job_file("  only-n1:\n    every: 2s\n    exec: [/srv/only-here]\n    stop-timeout: 1s\n",
                                                     job("no-user", every="2s", user="nobody-has-this-name")))
        entry = wait_until(lambda: "/srv/only-here" in (one := self.fleet.job_status("n2", "only-n1")).get("why", "") and one,
                           10, lambda: f"unfit: {self.fleet.job_status('n2', 'only-n1')}")
        self.assertFalse(entry["fit"])
        wait_until(lambda: self.fleet.job_status("n1", "only-n1")["fit"], 10, lambda: self.fleet.job_status("n1", "only-n1"))
        entry = wait_until(lambda: "nobody-has-this-name" in (one := self.fleet.job_status("n1", "no-user")).get("why", "") and one,
                           10, lambda: self.fleet.job_status("n1", "no-user"))
        self.assertEqual(entry["state"], "unfit")
        member = wait_until(lambda: next((one for one in self.fleet.status("n1")["members"] if one["node"] == "n3" and "only-n1" in one["unfit"]), None),
                            10, "n1 knows why n3 is no candidate")
        self.assertIn("/srv/only-here", member["unfit"]["only-n1"])
        since = time.monotonic()
        self.later_run("only-n1", since)
        self.later_run("only-n1", since + 2)
        self.assertEqual({run.node for run in self.fleet.runs("only-n1")}, {"n1"})
        self.assertEqual(self.fleet.runs("no-user"), [])

    def test_what_no_node_can_run_is_skipped_and_says_so(self):
        record = self.fleet.wait_ledger("nowhere", lambda record: record["state"] == "skipped", 20, "a skipped tick")
        self.assertIn("no node could run it", record["why"])
        self.assertIn("no node", self.fleet.job_status("n1", "nowhere")["why"])

    def test_a_broken_file_keeps_its_last_good_jobs_and_all_others(self):
        self.fleet.write_jobs("fragile.yaml", job_file(job("fragile", every="2s")))
        self.later_run("fragile", 0)
        self.fleet.write_jobs("fragile.yaml", job_file(job("fragile", every="2s", retires="3")), refused=True)
        errors = wait_until(lambda: self.fleet.status("n1")["errors"], 10, "an error in the status")
        self.assertRegex(errors[0], r"^/etc/jobkeeper/jobs\.d/fragile\.yaml:\d+:\d+: error: .*retires")
        verify = self.fleet.jobkeeper("n2", "verify", check=False)
        self.assertEqual(verify.returncode, 1)
        self.assertIn("fragile.yaml", verify.stdout + verify.stderr)
        since = time.monotonic()
        self.later_run("fragile", since + 1)
        self.later_run("every-two", since + 1)
        self.fleet.write_jobs("fragile.yaml", job_file(job("fragile", every="2s")))
        wait_until(lambda: not self.fleet.status("n1")["errors"], 10, "no error in the status any more")

    def test_foreign_data_in_our_tree_is_survived(self):
        daemons = {name: node.property("jobkeeperd", "MainPID") for name, node in self.fleet.nodes.items()}
        self.later_run("victim", 0)
        self.fleet.bed.zookeepers[0].shell(
            "create /jobkeeper/nodes/stranger {{{", "create /jobkeeper/jobs/Not_A_Name x", "create /jobkeeper/jobs/foreign []",
            "create /jobkeeper/open/nobody", "create /jobkeeper/open/nobody/garbage ][", "create /jobkeeper/requests/nonsense 42",
            "set /jobkeeper/jobs/victim {\"mark\":\"yesterday\"")
        since = time.monotonic()
        self.later_run("every-two", since + 3)
        victim = wait_until(lambda: self.fleet.job_status("n1", "victim").get("why"), 10, lambda: f"why: {self.fleet.job_status('n1', 'victim')}")
        self.assertTrue(victim)
        self.assertEqual({name: node.property("jobkeeperd", "MainPID") for name, node in self.fleet.nodes.items()}, daemons)
        self.assertIn("/jobkeeper/jobs/victim", "".join(node.journal("-u", "jobkeeperd") for node in self.fleet.nodes.values()))

    def test_shared_and_exclusive_jobs_on_one_resource(self):
        """Judged over all that ran so far: two readers at once, a writer never beside anybody."""
        wait_until(lambda: len(self.fleet.runs("writer")) >= 6, 40, "six runs of the writer")
        self.assert_exclusive(HOLDS)
        pairs = [{one.job, other.job} for one, other in history.pairs_at_once(self.fleet.runs())]
        self.assertIn({"reader-a", "reader-b"}, pairs)

    def test_a_minute_of_ticks_each_on_exactly_one_node(self):
        left = self.first + 60 - time.time()
        time.sleep(max(0, left))
        due = history.ticks(2, self.first + 1, self.first + 58)
        self.fleet.wait_ledger("every-two", lambda record: record["tick"] > due[-1], 10, "the ledger is past the last due tick")
        runs = self.fleet.runs()
        self.assertEqual(history.never_started(due, "every-two", runs), [])
        answers = parallel([lambda name=name: self.fleet.ledger("every-two", name) for name in self.fleet.nodes])
        for answer in answers:
            result = history.account("every-two", due, runs, answer)
            self.assertEqual((result.double, result.lost, result.unknown, result.skipped, result.invented), ([], [], [], [], []))
            where = {record["tick"]: record["node"] for record in answer}
            self.assertEqual({run.tick: run.node for run in runs if run.job == "every-two" and run.tick in due},
                             {tick: where[tick] for tick in due})
        self.assert_exclusive(HOLDS)

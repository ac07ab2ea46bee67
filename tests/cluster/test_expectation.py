"""A job of which no run succeeds within its expect-within: told once in the cluster, by a node that lives, until a success ends it."""

import json
import re
import time

from cluster_test import ClusterTest
from fleet import TAKEOVER, job, job_file
from testbed import wait_until

OVERDUE = re.compile(r"(\S+): overdue: (.*)")
OVER = re.compile(r"(\S+): run \S+ has succeeded: the job is not overdue any more")
WITHIN = 60  # the least that is allowed
MESSAGE_JOB_OVERDUE = "da2dd7b9c309495cab7fa6c4d17bbd89"
LOOK = 10  # so long after its start a daemon looks


class Expectation(ClusterTest):
    alone = True

    def told(self, pattern):
        """What the journals of the living say: {job: [(node, line)]}."""
        found = {}
        for name in self.fleet.live_names():
            for line in self.fleet.nodes[name].run("journalctl", "-u", "jobkeeperd", "--no-pager", "-o", "cat").stdout.splitlines():
                match = pattern.search(line)
                if match:
                    found.setdefault(match.group(1), []).append((name, line))
        return found

    def files(self, bad):
        return job_file(job("bad", every="2s", seconds=0.1, arguments=("--exit", str(bad)), expect_within="1min"),
                        job("good", every="2s", seconds=0.1, expect_within="1min"), job("off", every="2s", expect_within="1min"),
                        job("nowhere", every="2s", nodes="[nobody]", expect_within="1min"), job("free", every="2s", arguments=("--exit", "3")))

    def test_no_success_is_told_once_until_there_is_one(self):
        fleet = self.begin(nodes=3, files={"jobs.yaml": self.files(3)})
        began = time.time()
        fleet.jobkeeper("n1", "pause", "--reason=moving", "off")
        run = fleet.wait_run(lambda run: run.job == "bad", 20, "a run that fails")
        self.assertEqual(fleet.jobkeeper("n1", "status", "--check").stdout, "no job is overdue\n")
        fleet.crash(run.node)  # the one that would have told
        wait_until(lambda: {"bad", "off", "nowhere"} <= set(self.told(OVERDUE)), WITHIN + TAKEOVER + 30, "three jobs are overdue")
        self.assertGreater(time.time(), began + WITHIN - 5)
        alive = fleet.live_names()
        for node in alive:
            fleet.nodes[node].systemctl("restart", "jobkeeperd")
        fleet.wait_members(alive)
        restarted = time.time()
        status = fleet.job_status(alive[0], "bad")
        self.assertEqual((status["expected"]["within"], status["expected"]["overdue"], status["expected"]["succeeded"]), (WITHIN, True, False))
        self.assertRegex(fleet.jobkeeper(alive[1], "status").stdout, r"(?m)^overdue  3 jobs: see WHY$")
        check = fleet.jobkeeper(alive[1], "status", "--check", check=False)
        self.assertEqual((check.returncode, [line.split(":")[0] for line in check.stdout.splitlines()]), (1, ["bad", "nowhere", "off"]))
        self.assertNotIn("expected", fleet.job_status(alive[0], "free"))
        fleet.write_jobs("jobs.yaml", self.files(0))
        wait_until(lambda: "bad" in self.told(OVER), 30, "a success ends it")
        wait_until(lambda: time.time() > restarted + LOOK + 4, LOOK + 10, "the daemons have looked again")
        told = self.told(OVERDUE)
        self.assertEqual({name: len(lines) for name, lines in told.items()}, {"bad": 1, "off": 1, "nowhere": 1}, told)
        for name, more in (("bad", "one is expected within 1min"), ("off", "; it is paused by root on n1: moving"),
                           ("nowhere", "; no node can run it at present")):
            self.assertTrue(told[name][0][1].endswith(more), told[name])
        self.assertEqual({name: len(lines) for name, lines in self.told(OVER).items()}, {"bad": 1})
        fields = json.loads(fleet.nodes[told["bad"][0][0]].run("journalctl", "-o", "json", "JOBKEEPER_JOB=bad", f"MESSAGE_ID={MESSAGE_JOB_OVERDUE}", "PRIORITY=4").stdout)
        self.assertIn("overdue: no run has succeeded since the job is there", fields["MESSAGE"])
        self.assertFalse(fleet.job_status(alive[0], "bad")["expected"]["overdue"])
        self.assert_exclusive()

"""Jobs that follow others: the node that settled the first of a chain is killed right then, and so is one that settled the first of two that are waited for;
a failure is told once, and that it is over."""

import json

from cluster_test import ClusterTest
from fleet import job, job_file
from testbed import wait_until

TELL = "/etc/jobkeeper/tell"
# Notes what it is told of another run, where the test reads it.
TELL_TEXT = """#!/bin/sh
set -eu
printf '%s|' "$JOBKEEPER_JOB" "$JOBKEEPER_PARENT_JOB" "$JOBKEEPER_PARENT_RUN" "$JOBKEEPER_PARENT_STATE" "$JOBKEEPER_PARENT_EXIT_STATUS" \\
    "$JOBKEEPER_PARENT_NODE" "$JOBKEEPER_PARENT_WHY" >>/history/told
echo >>/history/told
"""


class After(ClusterTest):
    alone = True

    def told(self):
        try:
            with open(f"{self.fleet.bed.history_directory}/told", encoding="utf-8") as lines:
                return [line.split("|")[:-1] for line in lines]
        except FileNotFoundError:
            return []

    def files(self, status):
        tell = f"[/bin/sh, {TELL}], stop-timeout: 1s"
        return job_file(job("first", nodes="[n1]"), job("second", after="first", nodes="[n2, n3]"), job("third", after="{job: second, on: any}", nodes="[n2, n3]"),
                        job("shaky", seconds=0.1, arguments=("--exit", str(status)), retries="{attempts: 2, delay: 0}", on_failure="mail", on_recovery="well"),
                        f"  mail: {{exec: {tell}}}\n", f"  well: {{exec: {tell}}}\n")

    def test_a_chain_outlives_who_settled_its_first_run_and_a_failure_is_told_once(self):
        fleet = self.begin(nodes=3, files={"jobs.yaml": self.files(3)}, start=False)
        for node in fleet.nodes.values():
            node.write(TELL, TELL_TEXT)
        fleet.start()
        # A chain: when the first run is settled, and its node dies, nobody is there who could have seen it.
        others = ("n2", "n3")
        for name in others:
            fleet.nodes[name].systemctl("stop", "jobkeeperd")
        run = json.loads(fleet.jobkeeper("n1", "run", "first", "--wait", "--json").stdout)["run"]
        fleet.crash("n1")
        for name in others:
            fleet.nodes[name].systemctl("start", "jobkeeperd")
        second = fleet.wait_ledger("second", lambda record: record["state"] == "succeeded", 45, "the second", name="n2")
        self.assertEqual(second["who"], f"after first, run {run}")
        third = fleet.wait_ledger("third", lambda record: record["state"] == "succeeded", 20, "the third", name="n3")
        self.assertEqual(third["who"], f"after second, run {second['run']}")
        failed = json.loads(fleet.jobkeeper("n2", "run", "shaky", "--wait", "--json", check=False).stdout)
        wait_until(lambda: self.told(), 20, "the failure is told")
        self.assertEqual(self.told(), [["mail", "shaky", failed["run"], "failed", "3", failed["node"], failed["why"]]])
        again = json.loads(fleet.jobkeeper("n3", "run", "shaky", "--wait", "--json", check=False).stdout)
        wait_until(lambda: len(self.told()) == 2, 20, "the second one as well")
        self.assertEqual(self.told()[1][:3], ["mail", "shaky", again["run"]])
        fleet.write_jobs("jobs.yaml", self.files(0))
        for _ in range(2):
            good = json.loads(fleet.jobkeeper("n2", "run", "shaky", "--wait", "--json").stdout)
            self.assertEqual(good["state"], "succeeded")
        wait_until(lambda: len(self.told()) == 3, 20, "that it is well again")
        self.assertEqual(self.told()[2][:2] + self.told()[2][3:5], ["well", "shaky", "succeeded", "0"])
        self.assertEqual([len(fleet.ledger(name, "n2")) for name in ("second", "third", "mail", "well")], [1, 1, 2, 1])
        self.assert_exclusive()

    def waits(self):
        answer = json.loads(self.fleet.jobkeeper("n3", "explain", "joined", "--json").stdout)
        return [wait for wait in answer.get("waits", ()) if wait["missing"] == ["left"]]

    def test_what_waits_for_two_runs_once_though_who_settled_the_first_is_gone(self):
        fleet = self.begin(nodes=3, files={"jobs.yaml": job_file(
            job("left", every="20s", nodes="[n1]"), job("right", every="20s", seconds=8, nodes="[n2]"),
            job("joined", after="{all: [left, {job: right, on: any}]}", nodes="[n3]"))})
        # The left one has ended and is recorded, the right one goes on: nobody but the record knows that it has come.
        left = fleet.wait_ledger("left", lambda record: record["state"] == "succeeded", 60, "the first of two", name="n3")
        fleet.crash("n1")
        self.assertEqual(fleet.ledger("joined", "n3"), [])
        joined = fleet.wait_ledger("joined", lambda record: record["state"] == "succeeded", 45, "what waits for both", name="n3")
        self.assertEqual(joined["who"], f"after right, run {left['tick']}-1")
        told = json.loads(self.fleet.jobkeeper("n3", "explain", "joined", f"@{left['tick']}", "--json").stdout)
        self.assertEqual([run["run"] for run in told["runs"]], [joined["run"]])
        self.assertEqual([(parent["job"], parent["on"], [run["state"] for run in parent["runs"]]) for parent in told["follows"]],
                         [("left", "success", ["succeeded"]), ("right", "any", ["succeeded"])])
        # Of the next ticks the left one has no run: they are waited for, and everybody can see it.
        wait_until(lambda: self.waits(), 60, "a tick to which the right one alone has come")
        self.assertEqual([part["job"] for part in self.waits()[0]["come"]], ["right"])
        self.assertEqual(len(fleet.ledger("joined", "n3")), 1)
        self.assert_exclusive()

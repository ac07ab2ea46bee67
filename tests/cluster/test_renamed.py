"""A job gets another name while ticks come: the machines have the new file one after the other, and no tick runs twice or is lost."""

import dataclasses
import time

import history
from cluster_test import ClusterTest
from fleet import job, job_file
from testbed import wait_until

EVERY = 4


class Renamed(ClusterTest):
    alone = True

    @staticmethod
    def file(name, seconds=0.2, **keys):
        return job_file(job(name, every=f"{EVERY}s", seconds=seconds, start_deadline="1min", **keys))

    def all_runs(self):
        """Of the job, whatever its name: in the history as one."""
        return [dataclasses.replace(run, job="job") for run in self.fleet.runs()]

    def ledger(self):
        return self.fleet.ledger("old", "n1") + self.fleet.ledger("new", "n1")

    def expect_account(self, first, last):
        self.fleet.wait_ledger("new", lambda record: record["tick"] >= last and record["state"] in history.FINAL_STATES, 60, "a later tick", name="n1")
        result = history.account("job", history.ticks(EVERY, first, last), self.all_runs(), self.ledger())
        self.assertEqual((result.double, result.lost, result.unknown, result.invented), ([], [], [], []))
        runs = sorted((run for run in self.all_runs() if first <= run.tick <= last), key=lambda run: run.start)
        for one, other in zip(runs, runs[1:]):
            self.assertLessEqual(one.end, other.start, f"{one} and {other} overlap")
        return result

    def test_a_job_renamed_while_a_run_is_under_way_first_on_one_machine(self):
        fleet = self.begin()
        fleet.write_jobs("it.yaml", self.file("old", seconds=12))
        run = fleet.wait_running("old", 30)
        first = run.tick
        renamer = next(name for name in ("n1", "n2", "n3") if name != run.node)
        fleet.write_jobs("it.yaml", self.file("new", was="old"), nodes=[renamer])
        status = wait_until(lambda: fleet.job_status(renamer, "new") if fleet.job_status(renamer, "new").get("why") else None, 20, "it says why it waits")
        self.assertEqual((status["state"], status["why"]), ("waiting", f'goes on from "old" once run {run.run} on {run.node} is over'))
        self.assertEqual([found.job for found in fleet.runs()], ["old"])
        fleet.wait_run(lambda found: found.job == "new", 60, "it goes on")
        stale = next(name for name in ("n1", "n2", "n3") if name != renamer)
        wait_until(lambda: fleet.job_status(stale, "old").get("state") == "drifted", 30, lambda: f"drifted: {fleet.job_status(stale, 'old')}")
        self.assertIn('"old" was renamed to "new"', fleet.job_status(stale, "old")["why"])
        middle = int(time.time())
        fleet.nodes[stale].systemctl("restart", "jobkeeperd")
        fleet.wait_run(lambda found: found.job == "new" and found.tick > middle + 2 * EVERY, 60, "ticks while the others have the old file")
        fleet.write_jobs("it.yaml", self.file("new", was="old"))
        last = int(time.time()) + 3 * EVERY
        self.expect_account(first, last)
        self.assertIn("(jobkeeper history old)", fleet.jobkeeper("n1", "history", "new").stdout)
        switched = min(run.start for run in fleet.runs("new"))
        self.assertEqual([str(run) for run in fleet.runs("old") if run.start > switched], [])

    def test_and_back_again(self):
        fleet = self.begin()
        fleet.write_jobs("it.yaml", self.file("new"))
        first = fleet.wait_run(lambda run: run.job == "new", 30, "a first run").tick
        fleet.write_jobs("it.yaml", self.file("old", was="new"))
        fleet.wait_run(lambda run: run.job == "old", 30, "it goes on as old")
        fleet.write_jobs("it.yaml", self.file("new", was="old"), nodes=["n2"])
        fleet.wait_run(lambda run: run.job == "new" and run.start > fleet.runs("old")[-1].end, 60, "it goes on as new")
        fleet.write_jobs("it.yaml", self.file("new", was="old"))
        self.expect_account(first, int(time.time()) + 2 * EVERY)

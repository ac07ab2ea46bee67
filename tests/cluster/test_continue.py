"""Runs that continue without their locks (on-lock-loss: continue): their node is cut off, or its daemon hangs, for longer than its session lasts.

They go on, no other run of the job begins, and their own results are recorded once their daemons are back; unless takeover-after has passed
before that, and others say so.
"""

from cluster_test import ClusterTest
from fleet import TAKEOVER, job, job_file, now
from history import double_starts


class Continue(ClusterTest):
    alone = True

    def lose_touch(self, name, lose):
        """A run of the job whose node is out of touch from now on, as another node sees it."""
        fleet = self.fleet
        since = now()
        run = fleet.wait_run(lambda run: run.job == name and run.start > since, 60, f"a run of {name}")
        other = next(other for other in fleet.nodes if other != run.node)
        lose(fleet.nodes[run.node])
        return run, other

    def wait_record(self, run, condition, seconds, message, name=None):
        return self.fleet.wait_ledger(run.job, lambda record: record["run"] == run.run and condition(record), seconds, message, name)

    def wait_waited_for(self, run, other):
        """The session has ended, and ticks that come are skipped for the run's sake."""
        return self.fleet.wait_ledger(run.job, lambda record: f"({run.run} on {run.node}, which is out of touch)" in record.get("why", ""),
                                      2 * TAKEOVER, "ticks are skipped for a run that is out of touch", other)

    def stays_the_only_one(self, name, lose, have_again):
        run, other = self.lose_touch(name, lose)
        self.wait_waited_for(run, other)
        self.assertEqual({found.run for found in self.fleet.runs(name) if found.start >= run.start}, {run.run})
        self.wait_record(run, lambda record: record["state"] == "claimed", 1, "it is not settled by others", other)
        have_again(self.fleet.nodes[run.node])
        record = self.wait_record(run, lambda record: record["state"] not in ("claimed", "running"), 60, "it is settled")
        self.assertEqual((record["state"], record["node"], record["exit"]), ("succeeded", run.node, 0), record)
        self.fleet.wait_run(lambda found: found.job == name and found.start > run.start, 30, "the job runs again")
        self.assert_exclusive()

    def test_it_is_the_only_one(self):
        fleet = self.begin(files={"a.yaml": job_file(job("cut", every="1s", seconds=30, on_lock_loss="continue"),
                                                     job("hung", every="1s", seconds=30, on_lock_loss="continue"))})
        self.stays_the_only_one("cut", lambda node: node.cut(), lambda node: node.heal())
        fleet.wait_members(fleet.nodes)
        self.stays_the_only_one("hung", lambda node: node.systemctl("kill", "-s", "STOP", "jobkeeperd"),
                                lambda node: node.systemctl("kill", "-s", "CONT", "jobkeeperd"))

    def test_after_takeover_after_another_begins(self):
        fleet = self.begin(files={"a.yaml": job_file(job("a", every="1s", seconds=45, on_lock_loss="continue", takeover_after="2s"))})
        run, other = self.lose_touch("a", lambda node: node.cut())
        record = self.wait_record(run, lambda record: record["state"] == "unknown", 2 * TAKEOVER, "it is given up", other)
        self.assertEqual(record["why"], f"node {run.node} disappeared during the run, which may continue there: takeover-after has passed")
        fleet.wait_run(lambda found: found.job == "a" and found.node != run.node and found.start > run.start, TAKEOVER, "another begins")
        fleet.nodes[run.node].heal()
        self.wait_record(run, lambda record: record["state"] == "succeeded", 120, "its own daemon says what became of it")
        self.assertEqual(double_starts(fleet.runs()), [])

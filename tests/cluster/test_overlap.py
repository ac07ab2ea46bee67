"""What becomes of a tick while another run of its job is under way (overlap)."""

import history
from cluster_test import ClusterTest
from fleet import TAKEOVER, job, job_file
from history import double_starts
from test_policy import most_at_once
from testbed import wait_until


class Allow(ClusterTest):
    alone = True

    def test_runs_are_side_by_side_and_one_that_is_lost_takes_no_other_with_it(self):
        jobs = job_file(*(job(name, every="1s", seconds=5, overlap="allow", lock=lock, start_deadline="30s")
                          for name, lock in (("sharing", "shared"), ("free", "none"))))
        fleet = self.begin(nodes=3, files={"jobs.yaml": jobs})
        for name in ("sharing", "free"):
            wait_until(lambda name=name: sum(run.ended == "end" for run in fleet.runs(name)) >= 5, 60, f"five runs of {name} are over")
            self.assertGreaterEqual(most_at_once([run for run in fleet.runs(name) if run.ended == "end"]), 4, name)
            self.assertEqual([record["why"] for record in fleet.ledger(name) if record.get("why", "").startswith("overlap")], [], name)
        # The machine of those runs is lost: each of them is settled, and the job goes on with the next ticks elsewhere.
        run = fleet.wait_run(lambda run: run.job == "sharing" and run.ended == "open", 30, "a run")
        lost = [other for other in fleet.runs("sharing") if other.node == run.node and other.ended == "open"]
        fleet.crash(run.node)
        for other in lost:
            fleet.wait_ledger("sharing", lambda record, other=other: record["run"] == other.run and record["state"] in ("unknown", "succeeded"),
                              2 * TAKEOVER, f"{other.run} is settled")
        newest = max(other.tick for other in lost)
        fleet.wait_ledger("sharing", lambda record: record["tick"] > newest and record["state"] == "succeeded", 2 * TAKEOVER, "it goes on elsewhere")
        self.assertEqual(double_starts(fleet.runs()), [])
        self.assert_exclusive({"sharing": {"job:sharing": history.SHARED}, "free": {}})

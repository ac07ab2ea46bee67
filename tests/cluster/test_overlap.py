"""What becomes of a tick while another run of its job is under way (overlap)."""

import time

import history
from cluster_test import ClusterTest
from fleet import TAKEOVER, job, job_file, now
from history import double_starts
from testbed import wait_until

WAITS = "overlap: another tick waits already"


def wall_time(moment):
    """Epoch seconds of a moment of the history."""
    return time.time() - now() + moment


class Allow(ClusterTest):
    alone = True

    def test_runs_are_side_by_side_and_one_that_is_lost_takes_no_other_with_it(self):
        jobs = job_file(*(job(name, every="1s", seconds=5, overlap="allow", lock=lock, start_deadline="30s")
                          for name, lock in (("sharing", "shared"), ("free", "none"))))
        fleet = self.begin(nodes=3, files={"jobs.yaml": jobs})
        for name in ("sharing", "free"):
            wait_until(lambda name=name: sum(run.ended == "end" for run in fleet.runs(name)) >= 5, 60, f"five runs of {name} are over")
            self.assertGreaterEqual(history.most_at_once([run for run in fleet.runs(name) if run.ended == "end"]), 4, name)
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


class Queue(ClusterTest):
    alone = True

    def test_one_tick_waits_for_the_run_before_it_and_outlives_its_machine(self):
        fleet = self.begin(nodes=3, files={"jobs.yaml": job_file(job("a", every="2s", seconds=7, overlap="queue", catch_up="none", start_deadline="10min"))})
        wait_until(lambda: len(fleet.runs("a")) >= 3, 60, "three runs")
        first, second, third = sorted(fleet.runs("a"), key=lambda run: run.start)[:3]
        for before, after in ((first, second), (second, third)):
            self.assertLess(after.tick, wall_time(before.end), "it came while the one before it ran")
            self.assertLess(after.start - before.end, 1.5, "it begins when that is over")
        fleet.wait_ledger("a", lambda record: record.get("why", "") == WAITS, 30, "further ticks are left out")
        # The machine of a run is lost, and with it nothing that waits.
        run = fleet.wait_run(lambda run: run.ended == "open", 30, "a run")
        fleet.wait_ledger("a", lambda record: record.get("why", "") == WAITS and record["tick"] > wall_time(run.start), 30, "a tick waits for it")
        fleet.crash(run.node)
        fleet.wait_ledger("a", lambda record: record["run"] == run.run and record["state"] == "unknown", 2 * TAKEOVER, "it is recorded as unknown")
        after = fleet.wait_run(lambda other: other.start > run.start and other.node != run.node, 30, "what waited runs")
        self.assertLess(abs(after.tick - wall_time(run.start) - 1), 2, "the first one that came during the run")
        self.assertEqual([record["why"] for record in fleet.ledger("a") if record.get("why", "").startswith("missed") and record["tick"] > first.tick], [])
        self.assertEqual(double_starts(fleet.runs()), [])
        self.assert_exclusive()

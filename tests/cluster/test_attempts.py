"""Further attempts of a tick: after a failure (retries, no-retry), and where its machine is lost or rebooted (on-owner-lost)."""

import itertools

from cluster_test import ClusterTest
from fleet import TAKEOVER, job, job_file, now
from history import double_starts
from testbed import wait_until

EARLIER = "overlap: an earlier tick is to be attempted again"


class Attempts(ClusterTest):
    alone = True

    def attempts(self, name, tick):
        """The records of a tick, by attempt."""
        return sorted((record for record in self.fleet.ledger(name) if record["tick"] == tick and record["state"] != "skipped"),
                      key=lambda record: record["attempt"])

    def wait_attempt(self, name, attempt, state, seconds):
        return self.fleet.wait_ledger(name, lambda record: record.get("attempt") == attempt and record["state"] == state, seconds,
                                      f"attempt {attempt} of {name}, {state}")

    def test_what_fails_is_attempted_again_after_a_pause(self):
        fleet = self.begin(files={"a.yaml": job_file(
            job("failing", every="2s", arguments=("--exit", "3"), retries="{attempts: 3, delay: 1s, max-delay: 20s}"),
            job("usage", every="2s", arguments=("--exit", "2"), retries="{attempts: 3, delay: 0}", no_retry="[2, 64..78]"),
            job("good", every="2s", retries="{attempts: 3, delay: 0}", on_owner_lost="rerun"))})
        last = self.wait_attempt("failing", 3, "failed", 60)
        records = self.attempts("failing", last["tick"])
        self.assertEqual([(record["run"], record["state"], record["exit"]) for record in records],
                         [(f"{last['tick']}-{attempt}", "failed", 3) for attempt in (1, 2, 3)])
        tokens = [record["token"] for record in records]
        self.assertEqual(tokens, sorted(set(tokens)), "each has its own, larger token")
        runs = sorted((run for run in fleet.runs("failing") if run.tick == last["tick"]), key=lambda run: run.start)
        self.assertEqual([run.attempt for run in runs], ["1", "2", "3"])
        for (before, after), pause in zip(itertools.pairwise(runs), (1, 2)):
            self.assertGreaterEqual(after.start, before.end + pause)
        # Ticks that come meanwhile are left out, and the next one begins anew.
        fleet.wait_ledger("failing", lambda record: record.get("why", "").startswith(EARLIER), 60, "a tick that came meanwhile is skipped")
        fleet.wait_ledger("failing", lambda record: record["tick"] > last["tick"] and record.get("attempt") == 1, 60, "the next tick")
        self.assertEqual(len(self.attempts("failing", last["tick"])), 3)
        # What is not to be retried is not.
        for name, state in (("usage", "failed"), ("good", "succeeded")):
            record = self.wait_attempt(name, 1, state, 30)
            fleet.wait_ledger(name, lambda later, record=record: later["tick"] > record["tick"] and later.get("attempt") == 1, 30, f"{name} goes on")
            self.assertEqual({record.get("attempt", 1) for record in fleet.ledger(name)}, {1}, name)
        self.assert_exclusive()

    def lose(self, on_owner_lost):
        """What follows a run whose machine is lost: that run, and the next one."""
        fleet = self.begin(nodes=3, files={"a.yaml": job_file(job("a", every="1s", seconds=600, on_owner_lost=on_owner_lost))})
        run = fleet.wait_run(lambda run: run.ended == "open", 60, "a run")
        fleet.crash(run.node)
        lost = fleet.wait_ledger("a", lambda record: record["run"] == run.run and record["state"] == "unknown", 2 * TAKEOVER,
                                 "it is recorded as unknown")
        self.assertIn(f"node {run.node} disappeared", lost["why"])
        again = fleet.wait_run(lambda other: other.node != run.node and other.start > run.start, 2 * TAKEOVER, "the job runs again")
        self.assertEqual(double_starts(fleet.runs()), [])
        self.assert_exclusive()
        return run, again

    def test_a_tick_whose_machine_is_lost(self):
        run, again = self.lose("fail")
        self.assertEqual((again.tick > run.tick, again.attempt), (True, "1"))

    def test_a_tick_whose_machine_is_lost_and_that_is_run_again(self):
        run, again = self.lose("rerun")
        self.assertEqual((again.tick, again.attempt), (run.tick, "2"))
        self.assertEqual([record["attempt"] for record in self.attempts("a", run.tick)], [1, 2])

    def test_a_tick_that_somebody_stops_and_whose_machine_is_lost_just_then(self):
        fleet = self.begin(nodes=3, files={"a.yaml": job_file(job("a", every="1s", seconds=600, arguments=("--stubborn",), stop_timeout="1min",
                                                                  on_lock_loss="continue", takeover_after="5s", on_owner_lost="rerun"))})
        run = fleet.wait_run(lambda run: run.job == "a", 60, "a run")
        other = next(name for name in fleet.nodes if name != run.node)
        fleet.jobkeeper(other, "stop", "a", run.run)
        journal = lambda: fleet.nodes[run.node].run("journalctl", "-u", "jobkeeperd").stdout  # noqa: E731
        wait_until(lambda: "is stopped by root" in journal(), 30, "its node ends it")
        fleet.crash(run.node)
        lost = fleet.wait_ledger("a", lambda record: record["run"] == run.run and record["state"] == "unknown", 2 * TAKEOVER,
                                 "it is recorded as unknown")
        self.assertIn("wanted it to end", lost["why"])
        again = fleet.wait_run(lambda other: other.node != run.node and other.start > run.start, 2 * TAKEOVER, "the job runs again")
        self.assertEqual((again.tick > run.tick, again.attempt), (True, "1"))
        self.assertEqual([record["attempt"] for record in self.attempts("a", run.tick)], [1])
        self.assert_exclusive()

    def test_a_tick_whose_machine_is_rebooted(self):
        fleet = self.begin(nodes=1, files={"a.yaml": job_file(job("a", every="1s", seconds=600, on_owner_lost="rerun"))})
        run = fleet.wait_run(lambda run: run.job == "a", 60, "a run")
        since = now()
        fleet.crash("n1")
        fleet.nodes["n1"].boot()
        fleet.nodes["n1"].systemctl("start", "jobkeeperd")
        again = fleet.wait_run(lambda other: other.start > since, 120, "it is run again")
        self.assertEqual((again.tick, again.attempt), (run.tick, "2"))
        # A node of these tests has the boot id of the machine that it is on: its daemon finds that the unit is gone, and not why.
        self.assertIn(self.attempts("a", run.tick)[0]["state"], ("interrupted", "unknown"))
        # Once: what is lost of the second attempt is lost.
        since = now()
        fleet.crash("n1")
        fleet.nodes["n1"].boot()
        fleet.nodes["n1"].systemctl("start", "jobkeeperd")
        newer = fleet.wait_run(lambda other: other.start > since, 120, "the job runs again")
        self.assertEqual((newer.tick > run.tick, newer.attempt), (True, "1"))
        self.assertEqual([record["attempt"] for record in self.attempts("a", run.tick)], [1, 2])
        self.assertEqual(double_starts(fleet.runs()), [])

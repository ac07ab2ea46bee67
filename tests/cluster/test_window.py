"""Jobs with a window: nothing that the schedule says begins outside of it on any node, whatever node is dead, and what came due there is skipped for that."""

import time

import history
from cluster_test import ClusterTest
from fleet import job, job_file

WINDOW = '{from: "*:*:00/20", for: 10s}'
OUTSIDE = "outside its window; the next begins at "
CLOSED = "its window closed before it could begin"


class Window(ClusterTest):
    alone = True

    def wait_inside(self, first):
        """Waits until a tick has run in a window after that of `first`."""
        return self.fleet.wait_run(lambda run: run.job == "ticks" and run.tick and run.tick // 20 > first // 20 and run.ended == "end", 40, "the next window's ticks run").tick

    def test_nothing_begins_outside_and_what_is_asked_for_does(self):
        fleet = self.begin(nodes=3, files={"jobs.yaml": job_file(job("ticks", every="1s", seconds=0.1, start_deadline="1h", window=WINDOW))})
        first = fleet.wait_run(lambda run: run.job == "ticks" and run.ended == "end", 40, "a tick in a window")
        fleet.crash(first.node)
        alive = sorted(set(fleet.nodes) - {first.node})
        # Once another has run what the dead one had under way is settled, and in nobody's way.
        going = fleet.wait_run(lambda run: run.job == "ticks" and run.node in alive and run.tick and run.tick > first.tick and run.ended == "end", 60, "the others go on")
        fleet.wait_ledger("ticks", lambda record: record.get("why", "").startswith(OUTSIDE) and record["tick"] > going.tick, 40, "what is outside is skipped",
                          name=alive[0])
        told = fleet.jobkeeper(alive[1], "run", "ticks").stderr
        self.assertRegex(told, '^jobkeeper: job "ticks" is outside its window; the next begins at .*Z: what is asked for by hand begins all the same\n$')
        fleet.wait_ledger("ticks", lambda record: record["tick"] is None and record["state"] == "succeeded", 8, "a run by hand, outside", name=alive[0])
        # The first tick that is to come outside, and one inside, as they are told before.
        shut, inside = (int(time.time()) // 20 + 3) * 20 + 15, (int(time.time()) // 20 + 3) * 20 + 5
        self.assertIn(OUTSIDE, fleet.jobkeeper(alive[0], "explain", "ticks", f"@{shut}", "--json").stdout)
        self.assertNotIn(OUTSIDE, fleet.jobkeeper(alive[0], "explain", "ticks", f"@{inside}", "--json").stdout)
        self.assertIn("window *-*-* *:*:00/20 UTC for 10s", fleet.jobkeeper(alive[0], "next", "ticks").stdout)
        last = self.wait_inside(first.tick)
        due = history.ticks(1, first.tick, last)
        ledger = fleet.wait_ledger("ticks", lambda record: record["tick"] and record["tick"] >= last, 20, "the last of them is settled", name=alive[1]) and \
            fleet.ledger("ticks", alive[1])
        account = history.account("ticks", due, fleet.runs(), ledger)
        self.assertEqual((account.double, account.lost, account.invented), ([], [], []))
        self.assertEqual([run.tick for run in fleet.runs("ticks") if run.tick and run.tick in due and run.tick % 20 >= 10], [], "nothing began outside")
        whys = {tick: record["why"] for record in ledger if record["state"] == "skipped" for tick in range(record["tick"], record.get("to", record["tick"]) + 1)}
        self.assertEqual({whys[tick].startswith((OUTSIDE, CLOSED)) for tick in due if tick % 20 >= 10}, {True})
        self.assert_exclusive()

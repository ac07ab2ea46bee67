"""Jobs with a window: nothing that the schedule says begins outside of it on any node, whatever node is dead, and what came due there is skipped for that.
Nodes with a window: nothing begins there outside of it, and the others take what is due."""

import json
import time

import history
from cluster_test import ClusterTest
from fleet import job, job_file
from testbed import wait_until

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


class NodeWindow(ClusterTest):
    alone = True
    period, length = 12, 6  # seconds: n1 is open from :00, :12, :24, :36 and :48 on

    def outside(self, name):
        """What a node says of n1."""
        return next((member["outside"] for member in self.fleet.status(name).get("members", []) if member["node"] == "n1"), None)

    def rank(self, name):
        nodes = json.loads(self.fleet.jobkeeper(name, "explain", "ticks", "--json").stdout)["nodes"]
        return next((node["rank"], node["why"]) for node in nodes if node["node"] == "n1")

    def test_the_others_take_what_is_due_outside_and_it_comes_back_by_itself(self):
        fleet = self.begin(nodes=2, start=False, files={"jobs.yaml": job_file(job("ticks", every="1s", seconds=0.1), job("long", seconds=self.length + 2))})
        node = fleet.nodes["n1"]
        configuration = node.run("cat", "/etc/jobkeeper/jobkeeper.yaml").stdout
        node.write("/etc/jobkeeper/jobkeeper.yaml", configuration + f'node: {{window: {{from: "*:*:00/{self.period}", for: {self.length}s}}}}\n')
        fleet.start()
        first = fleet.wait_run(lambda run: run.job == "ticks" and run.node == "n1" and run.tick % self.period < self.length / 2, 30, "it is the first for a tick inside")
        wait_until(lambda: self.rank("n2") == (0, ""), 2, lambda: f"the other sees that: {self.rank('n2')}")
        fleet.jobkeeper("n1", "run", "long", "--on", "n1")
        going = fleet.wait_running("long", 5)
        until = wait_until(lambda: self.outside("n2"), 10, "its window closes")["until"]
        self.assertEqual(until % self.period, 0)
        self.assertEqual([run.run for run in fleet.running("long")], [going.run], "what runs goes on")
        refused = fleet.jobkeeper("n2", "run", "long", "--on", "n1", check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertRegex(refused.stderr, r"n1 is outside of its window until \S+Z\n")
        rank, why = self.rank("n2")
        self.assertEqual(rank, 1, "the last of all")
        self.assertRegex(why, r"^it is outside of its window until \S+Z$")
        self.assertRegex(fleet.jobkeeper("n1", "status").stdout, r"\nwindow   n1 is outside of its window until \S+ \S+ UTC \(\S+.*\)\n")
        self.assertRegex(node.property("jobkeeperd", "StatusText"), "but no jobs are run: this node is outside of its window until ")
        again = fleet.wait_run(lambda run: run.job == "ticks" and run.node == "n1" and run.tick >= until, 20, "it takes ticks again")
        wait_until(lambda: self.outside("n2") is None, 2, "the other sees that")
        self.assertEqual([run.ended for run in fleet.runs("long")], ["end"])
        self.check_account(first.tick, again.tick)

    def check_account(self, first, last):
        due = history.ticks(1, first, last)
        self.fleet.wait_ledger("ticks", lambda record: record["tick"] and record["tick"] >= last and record["state"] in history.FINAL_STATES, 10, "the last is settled")
        account = history.account("ticks", due, self.fleet.runs(), self.fleet.ledger("ticks"))
        self.assertEqual((account.double, account.lost, account.invented, account.unknown), ([], [], [], []))
        # The one at the edge may come while the word is still on its way.
        outside = [run for run in self.fleet.runs("ticks") if run.tick in due and run.tick % self.period >= self.length]
        self.assertEqual({run.node for run in outside}, {"n2"})
        late = [run.start - (time.monotonic() - time.time()) - run.tick for run in outside if run.tick % self.period > self.length + 1]
        print(f"      taken {max(late):.3f} s after the tick at most")
        self.assertLess(max(late), 0.9, "nobody waits for it: that would be takeover-delay, 1 s")
        self.assert_exclusive()

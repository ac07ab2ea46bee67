"""Promise 5: cost follows the work, not the fleet. Counted at the server: every write has a transaction id of its own."""

import re

from cluster_test import ClusterTest
from fleet import job, job_file
from testbed import wait_until

RUNS = 8
RARELY = '"*-02-29"'  # each hour would be due now and then
HEARTBEATS = 10  # of each node while the fleet is idle: five seconds


class Cost(ClusterTest):
    def zxid(self):
        """The server's newest transaction id (within one leader's epoch: a count of writes)."""
        answer = self.fleet.bed.zookeepers[0].ask("srvr")
        return int(next(line for line in answer.splitlines() if line.startswith("Zxid: ")).split()[1], 16)

    def requests(self):
        """{session: how many requests it has sent}."""
        return {session: int(count) for count, session in re.findall(r"recved=(\d+),.*?sid=(0x[0-9a-f]+)", self.fleet.bed.zookeepers[0].ask("cons"))}

    def settled(self):
        return [record for record in self.fleet.ledger("tick") if record["state"] not in ("claimed", "running")]

    def assert_costs_follow_the_work(self, nodes):
        self.begin(nodes=nodes, files={"tick.yaml": job_file(job("tick", every="3s", seconds=0.1)), "rare.yaml": job_file(job("rare", schedule=RARELY))})
        wait_until(lambda: len(self.settled()) >= 2, 30, "two settled runs")
        # Between two settles lie whole runs only: queue, claim, settle. On a busy machine a run has begun by the time we look: two writes less.
        before, first = self.zxid(), len(self.settled())
        wait_until(lambda: len(self.settled()) >= first + RUNS, 60, f"{RUNS} further runs")
        writes = self.zxid() - before
        # Once a minute at most a node that did not run compares its clock with the server's by a write of its own; this is half a minute.
        self.assertLessEqual(writes, 3 * RUNS + nodes - 1)
        self.assertGreaterEqual(writes, 3 * RUNS - 2)
        self.fleet.write_jobs("tick.yaml", job_file(job("tick", schedule=RARELY)))
        wait_until(lambda: not self.fleet.running(), 10, "the last run's end")
        idle, sent = self.zxid(), self.requests()
        self.assertEqual(len(sent), len(self.fleet.nodes))
        wait_until(lambda: all(count >= sent[session] + HEARTBEATS for session, count in self.requests().items()), 20, "heartbeats of an idle fleet")
        self.assertLessEqual(self.zxid() - idle, 4)  # the withdrawal of the old definition may still be on its way

    def test_an_uncontended_run_costs_three_writes_and_an_idle_fleet_none(self):
        self.assert_costs_follow_the_work(3)

    def test_so_it_does_in_twice_as_large_a_fleet(self):
        self.assert_costs_follow_the_work(6)

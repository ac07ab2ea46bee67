"""A crowd of jobs that are all due in the same second: each is run once, on one of the nodes, and its record says so. The history that the jobs
write decides which ran, and the ledgers must agree with it."""

import datetime
import time

from cluster_test import ClusterTest
from fleet import job, job_file
from testbed import wait_until

CROWD = 500
AHEAD = 20  # seconds from the reload until they are due
PATIENCE = 150  # seconds until all have run: a small machine starts some units a second
LATE = 240  # their start deadline, so that a slow machine makes none of them late for good


class Crowd(ClusterTest):
    alone = True

    def test_all_that_are_due_in_one_second_run_once(self):
        fleet = self.begin(nodes=3, files={"first.yaml": job_file(job("first", every="1h"))})
        tick = int(time.time()) + AHEAD
        moment = datetime.datetime.fromtimestamp(tick, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
        names = [f"crowd-{number:03}" for number in range(CROWD)]
        text = job_file(*(job(name, seconds=0, schedule=f'"{moment}"', start_deadline=f"{LATE}s") for name in names))
        fleet.write_jobs("crowd.yaml", text)
        self.assertLess(time.time(), tick, "all nodes have them before they are due")
        wait_until(lambda: len({run.job for run in fleet.runs() if run.ended == "end"} & set(names)) == CROWD, AHEAD + PATIENCE,
                   lambda: f"all have run; {len(fleet.runs())} have begun")
        runs = [run for run in fleet.runs() if run.job in names]
        self.assertEqual(len(runs), CROWD)
        self.assertEqual({run.tick for run in runs}, {tick})
        self.assertEqual({run.node for run in runs}, set(fleet.nodes), "each node has its share")
        self.assert_exclusive()
        wrote = {run.job: (run.node, run.tick, "succeeded") for run in runs}
        wait_until(lambda: self.told("n1") == wrote, 60, lambda: f"the ledgers agree: {set(self.told('n1').items()) ^ set(wrote.items())}")
        for name in names[::100]:
            self.assertEqual(len(fleet.ledger(name)), 1, name)

    def told(self, node):
        """What a node says of the last run of each."""
        told = ((one["job"], one["last"]) for one in self.fleet.status(node).get("jobs", []))
        return {name: (last["node"], last["tick"], last["state"]) for name, last in told if last and name.startswith("crowd-")}

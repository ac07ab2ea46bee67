"""A campaign: random faults on three nodes and three ZooKeeper servers while jobs of every lock run; then the history is judged.

The seed is printed and decides every fault and every pause (JOBKEEPER_SEED replays them; JOBKEEPER_CAMPAIGN_SECONDS makes it longer). What is
not promised is left out: a node that stands still as a whole for longer than its deadline.
"""

import os
import random
import time

import history
from cluster_test import ClusterTest
from fleet import SESSION_TIMEOUT, job, job_file
from history import EXCLUSIVE, SHARED
from testbed import wait_until

SECONDS = float(os.environ.get("JOBKEEPER_CAMPAIGN_SECONDS", "40"))
PERIODS = {"ticks": 2, "reader": 3, "writer": 5, "free": 4}
HOLDS = {"reader": {"data": SHARED}, "writer": {"data": EXCLUSIVE}}
FILES = {
    "jobs.yaml": job_file(job("ticks", every="2s", seconds=0.7, history=500), job("reader", every="3s", seconds=0.9, locks="{data: shared}", start_deadline="40s", history=500),
                          job("writer", every="5s", seconds=0.8, locks="{data: exclusive}", start_deadline="40s", history=500),
                          job("free", every="4s", seconds=0.3, lock="shared", history=500)),
}


class Campaign(ClusterTest):
    alone = True

    # Each fault returns the function that ends it, or None when it ends by itself.

    def crash_node(self, dice):
        if len(self.fleet.live_names()) < 3:
            return None
        name = dice.choice(sorted(self.fleet.live_names()))
        self.fleet.crash(name)

        def boot():
            self.fleet.nodes[name].boot()
            self.fleet.nodes[name].systemctl("start", "jobkeeperd")
        return boot

    def cut_node(self, dice):
        node = self.fleet.nodes[dice.choice(sorted(self.fleet.live_names()))]
        node.cut()
        return lambda: node.heal() if node.up() else None

    def kill_daemon(self, dice):
        node = self.fleet.nodes[dice.choice(sorted(self.fleet.live_names()))]
        node.systemctl("kill", "-s", "KILL", "jobkeeperd", check=False)

    def restart_daemon(self, dice):
        node = self.fleet.nodes[dice.choice(sorted(self.fleet.live_names()))]
        node.systemctl("restart", "jobkeeperd", check=False)

    def hang_daemon(self, dice):
        node = self.fleet.nodes[dice.choice(sorted(self.fleet.live_names()))]
        node.systemctl("kill", "-s", "STOP", "jobkeeperd", check=False)
        return lambda: node.systemctl("kill", "-s", "CONT", "jobkeeperd", check=False) if node.up() else None

    def hang_daemon_and_cut_node(self, dice):
        node = self.fleet.nodes[dice.choice(sorted(self.fleet.live_names()))]
        node.systemctl("kill", "-s", "STOP", "jobkeeperd", check=False)
        node.cut()

        def go_on():
            if node.up():
                node.systemctl("kill", "-s", "CONT", "jobkeeperd", check=False)
                node.heal()
        return go_on

    def kill_fence(self, dice):
        node = self.fleet.nodes[dice.choice(sorted(self.fleet.live_names()))]
        node.systemctl("kill", "-s", "KILL", "jobkeeper-fence", check=False)

    def kill_server(self, dice):
        server = dice.choice(self.fleet.bed.zookeepers)
        server.kill()
        return server.start

    def freeze_server(self, dice):
        server = dice.choice(self.fleet.bed.zookeepers)
        server.freeze()
        return server.thaw

    def faults(self, dice, until):
        """One fault at a time with a pause between; some end before the sessions do, some after. Returns how many there were."""
        number = 0
        kinds = (self.crash_node, self.cut_node, self.kill_daemon, self.restart_daemon, self.hang_daemon, self.hang_daemon_and_cut_node,
                 self.kill_fence, self.kill_server, self.freeze_server)
        while time.monotonic() < until:
            fault, length, pause = dice.choice(kinds), dice.choice((0.5, 2, 4, SESSION_TIMEOUT + 3)), dice.uniform(0.2, 4)
            print(f"  {time.monotonic():.3f} {fault.__name__} for {length} s", flush=True)
            number += 1
            end = fault(dice)
            if end:
                time.sleep(length)  # that long is the fault: nothing is waited for
                end()
            time.sleep(pause)
        return number

    def settled(self, name, last):
        """The ledger's records of a job once each due tick up to `last` is covered by one."""
        due = [tick for tick in history.ticks(PERIODS[name], self.first, last)]

        def covered():
            result = self.fleet.jobkeeper(self.fleet.live_names()[0], "history", "--json", "-n", 500, name, check=False)
            return result.returncode == 0 and not history.account(name, due, self.fleet.runs(), self.fleet.ledger(name)).lost
        wait_until(covered, 60, lambda: f"{name}: {history.account(name, due, self.fleet.runs(), self.fleet.ledger(name))}")
        return history.account(name, due, self.fleet.runs(), self.fleet.ledger(name))

    def assert_mostly_known(self, result, faults):
        """A fault ends one run of a job at most, and only the run that it ends may be unknown; most of what was due has run."""
        self.assertLessEqual(len(result.unknown), faults)
        self.assertLess(len(result.unknown), len(result.run), "more is unknown than has run")
        self.assertGreaterEqual(3 * len(result.run), len(result.due), "hardly anything has run")

    def test_random_faults_neither_double_nor_lose_a_tick(self):
        seed = int(os.environ.get("JOBKEEPER_SEED", random.SystemRandom().randrange(10 ** 9)))
        print(f"campaign: JOBKEEPER_SEED={seed}", flush=True)
        fleet = self.begin(files=FILES, zookeepers=3)
        for name in PERIODS:
            fleet.wait_run(lambda run, name=name: run.job == name, 30, f"a run of {name}")
        self.first = time.time() + 1
        faults = self.faults(random.Random(seed), time.monotonic() + SECONDS)
        last = time.time()
        for name in PERIODS:
            result = self.settled(name, last)
            print(f"  {name}: {len(result.due)} due, {len(result.run)} run, {len(result.unknown)} unknown", flush=True)
            self.assertEqual((result.double, result.lost, result.invented), ([], [], []))
            self.assert_mostly_known(result, faults)
        self.assert_exclusive(HOLDS)

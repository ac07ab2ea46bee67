"""Definitions change and go while ticks wait: no tick disappears, and none runs by a definition that is not in force."""

import time

import history
from cluster_test import ClusterTest
from fleet import SESSION_TIMEOUT, job, job_file
from testbed import wait_until

# How long a node that lost a job leaves others to say that they have it, and some more: session-timeout, two ticks, four ranks.
PATIENCE = SESSION_TIMEOUT + 1 + 4 + 12


def at(tick):
    return '"' + time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(tick)) + '"'


class Definitions(ClusterTest):
    alone = True

    def begin_with_a_tick_that_waits(self):
        """The tick's resource is held by n1's console until free() is called; n1 never runs the job, one of the others waits."""
        fleet = self.begin()
        holder = fleet.nodes["n1"].popen("jobkeeper", "lock", "orders", "--", "sleep", "infinity")
        self.addCleanup(holder.wait)
        self.addCleanup(holder.kill)
        wait_until(lambda: "orders" in fleet.jobkeeper("n1", "locks").stdout, 20, "the resource is held")
        tick = int(time.time()) + 5
        fleet.write_jobs("waits.yaml", self.waiting_job(schedule=at(tick)), nodes=("n2", "n3"))
        waiting = wait_until(lambda: next((name for name in ("n2", "n3") if fleet.job_status(name, "waits").get("state") == "waiting"), None),
                             30, lambda: f"a node waits: {fleet.job_status('n2', 'waits')}")
        wait_until(lambda: time.time() > tick + 4, 10, "its start deadline is over")
        return fleet, tick, waiting, lambda: fleet.nodes["n1"].run("pkill", "-x", "sleep")

    @staticmethod
    def waiting_job(**keys):
        return job_file(job("waits", nodes="[n2, n3]", start_deadline="3s", lock_wait="10min", locks="{orders: exclusive}", **keys))

    def record(self, tick):
        """What stands in the ledger, also where no node knows the job any more."""
        return self.fleet.bed.zookeepers[0].shell(f"get /jobkeeper/jobs/waits/runs/{tick}-0")

    def test_a_tick_that_waits_while_its_schedule_changes_is_skipped_and_says_so(self):
        fleet, tick, _, free = self.begin_with_a_tick_that_waits()
        fleet.write_jobs("waits.yaml", self.waiting_job(schedule=at(tick + 86400)), nodes=("n2", "n3"))
        record = fleet.wait_ledger("waits", lambda record: record["tick"] == tick, 20, "the tick is settled", name="n2")
        self.assertEqual((record["state"], record["why"]), ("skipped", "its definition changed while it waited"))
        free()
        fleet.jobkeeper("n2", "run", "--wait", "waits")  # by now whoever waited would have run
        self.assertEqual([run.tick for run in fleet.runs("waits")], [None])

    def test_a_tick_waits_on_where_only_another_node_lost_the_job(self):
        fleet, tick, waiting, free = self.begin_with_a_tick_that_waits()
        other, = {"n2", "n3"} - {waiting}
        fleet.nodes[other].run("rm", "/etc/jobkeeper/jobs.d/waits.yaml")
        fleet.nodes[other].systemctl("reload", "jobkeeperd")
        wait_until(lambda: "no longer in this node's files" in fleet.nodes[other].journal("-u", "jobkeeperd"), PATIENCE, "it is withdrawn there")
        self.assertEqual(fleet.job_status(waiting, "waits")["state"], "waiting")
        free()
        run = fleet.wait_run(lambda run: run.job == "waits", 20, "the tick runs")
        self.assertEqual((run.tick, run.node), (tick, waiting))
        fleet.wait_ledger("waits", lambda record: record["tick"] == tick and record["state"] == "succeeded", 20, "it is settled", name=waiting)

    def test_a_tick_that_waits_while_all_nodes_lose_the_job_is_skipped_and_says_so(self):
        fleet, tick, _, free = self.begin_with_a_tick_that_waits()
        for name in ("n2", "n3"):
            fleet.nodes[name].run("rm", "/etc/jobkeeper/jobs.d/waits.yaml")
            fleet.nodes[name].systemctl("reload", "jobkeeperd")
        wait_until(lambda: "its job left the job files while it waited" in self.record(tick), PATIENCE, lambda: self.record(tick), interval=1)
        free()
        added = time.time()
        fleet.write_jobs("waits.yaml", self.waiting_job(every="2s"), nodes=("n2", "n3"))
        run = fleet.wait_run(lambda run: run.job == "waits", 20, "it runs again")
        self.assertGreater(run.tick, added - 2)  # at its re-adding, and nothing of the time between

    def test_ticks_go_on_where_one_of_the_nodes_loses_the_job(self):
        fleet = self.begin()
        fleet.write_jobs("ticks.yaml", job_file(job("ticks", every="4s")), nodes=("n2", "n3"))
        first = fleet.wait_run(lambda run: run.job == "ticks", 20, "a first run").tick
        loser, = {"n2", "n3"} - {fleet.runs("ticks")[0].node}
        fleet.nodes[loser].run("rm", "/etc/jobkeeper/jobs.d/ticks.yaml")
        fleet.nodes[loser].systemctl("reload", "jobkeeperd")
        last = first + 16
        keeper, = {"n2", "n3"} - {loser}
        fleet.wait_ledger("ticks", lambda record: record["tick"] >= last and record["state"] in history.FINAL_STATES, 40, "a later tick", name=keeper)
        result = history.account("ticks", history.ticks(4, first, last), fleet.runs(), fleet.ledger("ticks", keeper))
        self.assertEqual((result.double, result.lost, result.skipped), ([], [], []))

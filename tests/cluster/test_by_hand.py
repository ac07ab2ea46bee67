"""Runs that people ask for: on a node that they name, whichever they ask, and where that node leaves before it has begun."""

import json

from cluster_test import ClusterTest
from fleet import job, job_file
from testbed import wait_until

REQUEST_TIME = 60  # seconds: so long may a request wait


class ByHand(ClusterTest):
    alone = True

    def refused(self, node, *arguments):
        result = self.fleet.jobkeeper(node, *arguments, check=False)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        return result.stderr

    def test_a_run_is_where_it_is_wanted_or_nowhere(self):
        """Each node for each; then one that is away while the request stands, and the answer comes when the minute is over."""
        fleet = self.begin(files={"jobs.yaml": job_file(job("works"), job("narrow", nodes="[n2]"), job("busy", seconds=70, lock="none", locks="{one: exclusive}"),
                                                        job("waits", lock="none", locks="{one: exclusive}", lock_wait="2min"))})
        for asked in fleet.nodes:
            for node in fleet.nodes:
                run = json.loads(fleet.jobkeeper(asked, "run", "--wait", "--json", "works", f"--on={node}").stdout)
                self.assertEqual((run["state"], run["node"], run["tick"]), ("succeeded", node, None))
        self.assertIn('n1 cannot run job "narrow" at present: nodes: does not match it', self.refused("n2", "run", "narrow", "--on", "n1"))
        self.assertIn("n9 is no member of the cluster", self.refused("n2", "run", "works", "--on", "n9"))
        fleet.jobkeeper("n1", "drain", "--reason=new disk", "n3")
        self.assertRegex(self.refused("n2", "run", "works", "--on", "n3"), r"n3 is drained since .* by root on n1: new disk \(jobkeeper undrain n3\)")
        fleet.jobkeeper("n2", "undrain", "n3")
        fleet.jobkeeper("n1", "run", "busy", "--on=n1")
        fleet.wait_running("busy")
        request = json.loads(fleet.jobkeeper("n1", "run", "--json", "waits", "--on=n3").stdout)
        wait_until(lambda: fleet.job_status("n3", "waits")["state"] == "waiting", 10, "it waits there")
        fleet.crash("n3")
        over = fleet.jobkeeper("n2", "history", "waits", "--json").stdout
        self.assertNotIn(request["run"], over)
        fleet.wait_ledger("waits", lambda record: record["run"] == request["run"], REQUEST_TIME + 30, "an answer", name="n2")
        record = next(record for record in fleet.ledger("waits", "n2") if record["run"] == request["run"])
        self.assertEqual((record["state"], record["why"]), ("skipped", "n3 left before it had started it"))
        self.assertEqual([run.run for run in fleet.runs("waits")], [])

    def test_a_tick_is_attempted_again_by_whoever_asks(self):
        """One that failed, on another node than the first attempt; one that was skipped; and none that is under way, or to come."""
        fleet = self.begin(files={"jobs.yaml": job_file(job("often", every="5s", seconds=7, retries="{attempts: 2, delay: 0}"))})
        run = fleet.wait_run(lambda run: run.job == "often", 30, "a run")
        other = next(name for name in fleet.nodes if name != run.node)
        self.assertIn("is under way on", self.refused(other, "rerun", "often", run.run))
        fleet.wait_ledger("often", lambda record: record["tick"] == run.tick + 5 and record["state"] == "skipped", 30, "the next tick is skipped", name=other)
        fleet.jobkeeper("n1", "pause", "often")
        self.assertIn('job "often" is paused', self.refused(other, "rerun", "often", run.run))
        fleet.wait_ledger("often", lambda record: record["run"] == run.run and record["state"] == "succeeded", 30, "it has ended", name=other)
        fleet.write_jobs("jobs.yaml", job_file(job("often", every="1h", seconds=0.2, retries="{attempts: 2, delay: 0}")))
        fleet.jobkeeper("n1", "resume", "often")
        wait_until(lambda: all(fleet.job_status(name, "often")["state"] == "idle" for name in fleet.nodes), 30, "the definition is in force")
        again = json.loads(fleet.jobkeeper(other, "rerun", "often", run.run, f"--on={other}", "--wait", "--json").stdout)
        self.assertEqual((again["run"], again["attempt"], again["state"], again["node"], again["who"]), (f"{run.tick}-2", 2, "succeeded", other, "uid 0"))
        first = json.loads(fleet.jobkeeper("n3", "run", "often", f"--tick={run.tick + 5}-0", "--wait", "--json").stdout)
        self.assertEqual((first["run"], first["attempt"], first["state"], first["tick"]), (f"{run.tick + 5}-1", 1, "succeeded", run.tick + 5))
        third = json.loads(fleet.jobkeeper("n2", "run", "often", "--tick", run.run, "--json").stdout)
        self.assertEqual(third["run"], f"{run.tick}-3")
        fleet.wait_ledger("often", lambda record: record["run"] == third["run"] and record["state"] == "succeeded", 30, "the third attempt", name="n2")
        records = [record["run"] for record in fleet.ledger("often", "n1") if record["state"] == "succeeded"]
        self.assertEqual(len(records), len(set(records)))
        coming = json.loads(fleet.jobkeeper("n1", "explain", "often", "--json").stdout)["tick"]
        self.assertIn("it is still to come", self.refused("n1", "run", "often", f"--tick=@{coming}"))
        self.assertIn("the job has no such tick", self.refused("n1", "run", "often", f"--tick=@{coming + 1}"))
        self.assert_exclusive()

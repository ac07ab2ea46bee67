"""What a person does about a run that he knows more of: saying how one ended that is unknown, and following one while it runs."""

import json
import signal

from cluster_test import ClusterTest
from fleet import TAKEOVER, job, job_file
from testbed import wait_until

MESSAGE_RUN_RESOLVED = "c63a2f0be7184d5f9b0d41e85a7c2f96"
# Bytes that a terminal would take for more than text, and what is left of a line without its end.
WRITES = "printf 'one\\033[1m \\377\\n'; sleep 1; printf 'two\\n' >&2; printf 'the rest'; exit 3"


class Resolve(ClusterTest):
    alone = True

    def refused(self, node, *arguments):
        result = self.fleet.jobkeeper(node, *arguments, check=False)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        return result.stderr

    def begin_on(self, name, node):
        """The id of a run of the job, which is under way on the node."""
        run = json.loads(self.fleet.jobkeeper("n1", "run", "--json", name, f"--on={node}").stdout)["run"]
        self.fleet.wait_running(name)
        return run

    def record(self, name, run, node):
        return next(record for record in self.fleet.ledger(name, node) if record["run"] == run)

    def test_who_knows_says_how_a_run_ended(self):
        """One node dies in a run, another is cut off; a third says how the runs ended; both are back and change nothing of it."""
        fleet = self.begin(files={"jobs.yaml": job_file(job("dies", seconds=600), job("cut", seconds=600))})
        runs = {"dies": self.begin_on("dies", "n2"), "cut": self.begin_on("cut", "n3")}
        self.assertIn("is under way on n2", self.refused("n1", "resolve", "dies", runs["dies"], "failed", "--reason=seen"))
        fleet.crash("n2")
        fleet.nodes["n3"].cut()
        for name, run in runs.items():
            fleet.wait_ledger(name, lambda record, run=run: record["run"] == run and record["state"] == "unknown", 2 * TAKEOVER, f"{name} is unknown", name="n1")
        said = fleet.jobkeeper("n1", "resolve", "dies", runs["dies"], "failed", "--reason=the dump is empty").stdout
        self.assertEqual(said, f"run {runs['dies']} of dies on n2: failed: resolved by root on n1: the dump is empty\n")
        fleet.jobkeeper("n1", "resolve", "cut", runs["cut"], "succeeded", "--reason=the dump is there")
        self.assertIn("is known to have ended: failed: resolved by root on n1: the dump is empty",
                      self.refused("n1", "resolve", "dies", runs["dies"], "succeeded", "--reason=no"))
        last = fleet.job_status("n1", "cut")["last"]
        self.assertEqual((last["run"], last["state"], last["why"]), (runs["cut"], "succeeded", "resolved by root on n1: the dump is there"))
        fleet.nodes["n3"].heal()
        fleet.nodes["n2"].boot()
        fleet.start("n2")
        fleet.wait_members(["n1", "n2", "n3"], timeout=30)
        # It has seen another end, and says so.
        told = wait_until(lambda: fleet.nodes["n3"].journal(f"MESSAGE_ID={MESSAGE_RUN_RESOLVED}"), 30, "the other end is told")
        self.assertIn("ended here as interrupted, but stays recorded as succeeded: resolved by root on n1: the dump is there", told)
        for node in fleet.nodes:
            failed, succeeded = self.record("dies", runs["dies"], node), self.record("cut", runs["cut"], node)
            self.assertEqual((failed["state"], failed["why"]), ("failed", "resolved by root on n1: the dump is empty"), node)
            self.assertEqual((succeeded["state"], succeeded["resolved_by"]), ("succeeded", "root on n1"), node)
            self.assertIn("node n3 disappeared", succeeded["was_unknown"], node)

    def test_what_a_run_writes_is_seen_where_it_runs(self):
        """Here, elsewhere, by somebody who may not look, and until Ctrl-C."""
        writes = f'  writes:\n    exec: ["/bin/sh", "-c", {json.dumps(WRITES)}]\n    stop-timeout: 1s\n'
        fleet = self.begin(nodes=2, files={"jobs.yaml": "jobs:\n" + writes + job("long", seconds=600)})
        process = fleet.nodes["n1"].popen("sh", "-c", "jobkeeper run writes --on=n1 --follow 2>/var/tmp/words >/var/tmp/lines; echo $?", stdout=-1)
        self.assertEqual(process.communicate(timeout=60)[0], "1\n")
        with open(fleet.nodes["n1"].rootfs.path("var/tmp/lines"), "rb") as file:
            self.assertEqual(sorted(file.read().split(b"\n")), sorted([b"one\x1b[1m \xff", b"two", b"the rest", b""]))
        words = fleet.nodes["n1"].run("cat", "/var/tmp/words").stdout
        self.assertRegex(words, r"^jobkeeper: run \S+ of writes was requested; following it until it has ended .*jobkeeper stop writes \S+\)\n"
                                r"jobkeeper: run \S+ of writes on n1: failed \(exit status 3\) after .*\n$")
        away = fleet.jobkeeper("n1", "run", "writes", "--on=n2", "--follow", check=False)
        self.assertEqual((away.returncode, away.stdout), (1, ""))
        self.assertRegex(away.stderr, r"is on n2, .*: ssh n2 journalctl -f -u jobkeeper-writes-\S+\.service\n")
        nobody = fleet.nodes["n1"].run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "jobkeeper", "run", "writes", "--follow", check=False)
        self.assertEqual((nobody.returncode, nobody.stdout), (1, ""))
        self.assertIn("not allowed to read this machine's journal", nobody.stderr)
        process = fleet.nodes["n1"].popen("jobkeeper", "run", "long", "--on=n1", "--follow", stdout=-1, stderr=-1)
        run = fleet.wait_running("long")
        fleet.nodes["n1"].run("pkill", "-INT", "-f", "jobkeeper run long")
        said = process.communicate(timeout=20)[1]
        self.assertIn(process.returncode, (-signal.SIGINT, 128 + signal.SIGINT))
        self.assertIn(f"run {run.run} of long goes on (jobkeeper stop long {run.run} stops it)\n", said)
        self.assertEqual(self.record("long", run.run, "n1")["state"], "running")
        fleet.jobkeeper("n1", "stop", "--wait", "long")

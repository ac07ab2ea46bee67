"""What the command of a job is given in files: credentials and environment files, on real nodes, behind the launch step; and what becomes of a run without them."""

from cluster_test import ClusterTest
from testbed import wait_until

DIRECTORY = "/etc/inputs"
SECRET = "sesame"
SCRIPT = 'echo "given $A $B $C $JOBKEEPER_JOB $(id -un) $(cat "$CREDENTIALS_DIRECTORY/token")"'
JOBS = f"""
defaults: {{stop-timeout: 1s}}
jobs:
  given:
    every: 2s
    exec: [/bin/sh, -c, '{SCRIPT}']
    user: nobody
    environment: {{A: environment, B: environment, C: environment}}
    environment-file: [{DIRECTORY}/first, -{DIRECTORY}/absent, {DIRECTORY}/second]
    credentials: {{token: {DIRECTORY}/token}}
  expanded:
    every: 2s
    exec: /bin/cat ${{CREDENTIALS_DIRECTORY}}/token
    credentials: {{token: {DIRECTORY}/token}}
  foretold:
    every: 2s
    exec: [/bin/echo, executed]
    environment-file: {DIRECTORY}/result
  no-credential:
    every: 2s
    exec: [/bin/echo, executed]
    credentials: {{token: {DIRECTORY}/token, other: {DIRECTORY}/absent}}
  no-file:
    every: 2s
    exec: [/bin/echo, executed]
    environment-file: {DIRECTORY}/absent
"""


class Inputs(ClusterTest):
    alone = True

    def begin_with_files(self):
        self.begin(nodes=1, files={})
        node = self.fleet.nodes["n1"]
        node.run("mkdir", "-m", "0700", DIRECTORY)
        node.write(f"{DIRECTORY}/first", "B=first\nC=first\n", 0o600)
        node.write(f"{DIRECTORY}/second", "C=second\n", 0o600)
        node.write(f"{DIRECTORY}/result", "SERVICE_RESULT=success\n", 0o600)
        node.write(f"{DIRECTORY}/token", f"{SECRET}\n", 0o600)
        self.fleet.write_jobs("inputs.yaml", JOBS)
        return node

    def printed(self, name):
        """The lines that a job's commands have printed."""
        node = self.fleet.nodes["n1"]
        node.run("journalctl", "--sync")
        return set(node.journal("-o", "cat", f"JOBKEEPER_JOB={name}", "SYSLOG_IDENTIFIER=" + {"given": "sh", "expanded": "cat"}.get(name, "echo")).splitlines())

    def assert_not_started(self, name, state, why):
        record = self.fleet.wait_ledger(name, lambda record: record["state"] not in ("claimed", "running"), 20, f"{name} is settled")
        self.assertEqual((record["state"], record["why"]), (state, why))
        self.assertEqual(self.printed(name), set())

    def test_a_run_is_given_its_files_or_does_not_begin_and_says_why(self):
        node = self.begin_with_files()
        self.assert_not_started("no-credential", "failed", "could not be started: exit status 243/CREDENTIALS")
        self.assert_not_started("no-file", "failed", "could not be started: resources before the main process started")
        self.assert_not_started("foretold", "interrupted", "not started: a file of its environment-file has SERVICE_RESULT, EXIT_CODE or "
                                "EXIT_STATUS, by which systemd tells how it ended")
        last = self.fleet.ledger("foretold")[0]["tick"]
        for name in ("given", "expanded"):
            self.fleet.wait_ledger(name, lambda record: record["tick"] > last and record["state"] == "succeeded", 20, "the machine goes on")
        self.assertEqual(self.printed("given"), {f"given environment first second given nobody {SECRET}"})
        self.assertEqual(self.printed("expanded"), {SECRET})
        self.assertFalse(self.fleet.status("n1")["session"]["fault"])
        node.run("rm", "/etc/jobkeeper/jobs.d/inputs.yaml")
        node.systemctl("reload", "jobkeeperd")
        wait_until(lambda: "jobkeeper-" not in node.run("ls", "/run/credentials").stdout, 20, "no credentials are left of runs that are over")

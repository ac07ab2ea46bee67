"""The settings of systemd that a job gives the units of its runs, on a real node: they are in force, what jobkeeper's promises rest on is as before, and what systemd
would ignore keeps the machine from running the job."""

from cluster_test import ClusterTest
from testbed import wait_until

SCRIPT = 'echo "said $(nice) $(umask) $(touch /usr/none 2>/dev/null || (touch /srv/open/file && echo written))"; sleep 6'
JOBS = f"""
defaults: {{stop-timeout: 1s}}
jobs:
  set:
    every: 10s
    exec: [/bin/sh, -c, '{SCRIPT}']
    unit: {{Nice: 7, UMask: 0777, ProtectSystem: strict, ReadWritePaths: [/srv/open], MemoryMax: 512M, PrivateNetwork: yes,
           CapabilityBoundingSet: CAP_DAC_OVERRIDE, After: none-such.service}}
  plain:
    every: 10s
    exec: [/bin/sleep, 4]
  ignored:
    every: 2s
    exec: [/bin/echo, executed]
    unit: {{MemoryMax: lots}}
  lacks:
    every: 2s
    exec: [/bin/echo, executed]
    unit: {{ReadWritePaths: [/srv/none]}}
"""
REFUSED = """
jobs:
  refused:
    every: 2s
    exec: [/bin/echo, executed]
    unit: {KillMode: process}
"""
# What the exclusion rests on.
PROPERTIES = ("Type", "RemainAfterExit", "CollectMode", "KillMode", "SendSIGKILL", "Slice", "BindsTo", "TimeoutStopUSec", "Restart", "User", "Delegate")


class Settings(ClusterTest):
    alone = True

    def properties(self, name):
        """Of a run that is still under way when all have been read."""
        node = self.fleet.nodes["n1"]

        def read():
            unit = self.fleet.wait_ledger(name, lambda record: record["state"] == "running", 20, f"{name} runs")["unit"]
            found = {key: node.property(unit, key) for key in PROPERTIES}
            steps = [node.property(unit, key) for key in ("ExecStartPre", "ExecStop", "ExecStopPost")]
            return (unit, found, [step.count("path=") for step in steps]) if node.property(unit, "MainPID") != "0" else None
        return wait_until(read, 40, f"a run of {name} is seen")

    def test_settings_are_in_force_and_nothing_else_changes(self):
        self.begin(nodes=1, files={})
        node = self.fleet.nodes["n1"]
        node.run("mkdir", "-p", "/srv/open")
        self.fleet.write_jobs("settings.yaml", JOBS)
        unit, found, steps = self.properties("set")
        self.assertEqual((node.property(unit, "Nice"), node.property(unit, "MemoryMax"), node.property(unit, "ProtectSystem")), ("7", str(512 << 20), "strict"))
        self.assertIn("none-such.service", node.property(unit, "After").split())
        self.assertEqual(node.property(unit, "NeedDaemonReload"), "no")
        marker = node.run("sh", "-c", f"stat -c %a /run/systemd/system/{unit}.d/*.started").stdout.split()
        self.assertEqual(marker, ["600"], "the daemon, which has no capabilities, can read it whatever the job's UMask is")
        node.systemctl("daemon-reload")
        again = {key: node.property(unit, key) for key in (*PROPERTIES, "Nice", "ActiveState")}
        self.assertEqual(again, {**found, "Nice": "7", "ActiveState": "activating"}, "a daemon-reload by anybody changes nothing")
        _, plain, plain_steps = self.properties("plain")
        self.assertEqual((found, steps), (plain, plain_steps))
        self.assertIn("jobkeeper-fence.service", found["BindsTo"])
        self.assertEqual((found["Type"], found["KillMode"], found["Slice"], steps), ("oneshot", "control-group", "system-jobkeeper-fenced.slice", [1, 1, 1]))
        self.fleet.wait_ledger("set", lambda record: record["state"] == "succeeded", 20, "it ends well")
        node.run("journalctl", "--sync")
        said = set(node.journal("-o", "cat", "JOBKEEPER_JOB=set", "_TRANSPORT=stdout").splitlines())
        self.assertEqual(said, {"said 7 0777 written"})

    def test_what_systemd_would_ignore_is_not_run_and_a_refused_setting_is_refused(self):
        self.begin(nodes=1, files={})
        node = self.fleet.nodes["n1"]
        self.fleet.write_jobs("settings.yaml", JOBS)
        self.fleet.wait_ledger("plain", lambda record: record["state"] == "running", 20, "others run")
        record = self.fleet.wait_ledger("lacks", lambda record: record["state"] not in ("claimed", "running"), 20, "what lacks a path is settled")
        self.assertEqual((record["state"], record["why"]), ("failed", "could not be started: exit status 226/NAMESPACE"))
        status = node.run("jobkeeper", "status").stdout + node.run("jobkeeper", "status", "ignored", check=False).stdout
        self.assertIn("systemd does not take the setting MemoryMax", status)
        self.assertNotIn("executed", node.journal("-o", "cat", "JOBKEEPER_JOB=ignored", "_TRANSPORT=stdout"))
        node.write("/etc/jobkeeper/jobs.d/refused.yaml", REFUSED)
        answer = node.run("jobkeeper", "verify", check=False)
        self.assertNotEqual(answer.returncode, 0)
        self.assertIn('refused.yaml:6:12: error: "KillMode" cannot be set in "unit"', answer.stdout + answer.stderr)
        self.assertEqual(self.fleet.ledger("ignored"), [])

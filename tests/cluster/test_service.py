"""Jobs of mode service: kept running on one node, moved when that is lost or drained, run again after each end, and never twice at once."""

import json
import re

import history
from cluster_test import ClusterTest
from fleet import TOOLS, job, job_file
from testbed import wait_until

LONG = 3600


def service(seconds=LONG, arguments=(), **keys):
    return job_file(job("web", seconds=seconds, arguments=arguments, mode="service", **keys))


class Service(ClusterTest):
    alone = True

    def running(self, but=(), timeout=60):
        """The one run that is under way, none of these."""
        def found():
            going = [run for run in self.fleet.running("web") if run.run not in but]
            return going[0] if len(going) == 1 else None
        return wait_until(found, timeout, lambda: "one run of the service:\n" + "\n".join(map(str, self.fleet.runs("web"))))

    def record(self, run, name):
        return self.fleet.wait_ledger("web", lambda entry: entry["run"] == run.run and entry["state"] not in ("claimed", "running"), 30, "its end is recorded", name=name)

    def assert_one_at_a_time(self):
        self.assert_exclusive({"web": {"job:web": history.EXCLUSIVE}})

    def test_moves_when_its_node_is_lost(self):
        fleet = self.begin(nodes=4, files={"web.yaml": service(nodes="[n1, n2, n3]")})
        first = self.running()
        fleet.crash(first.node)
        second = self.running(but=(first.run,), timeout=90)
        self.assertNotEqual(second.node, first.node)
        self.assertNotEqual(second.node, "n4", "it does not match")
        self.assertEqual(self.record(first, second.node)["state"], "unknown")
        self.assertEqual((second.tick, int(second.attempt)), (first.tick, int(first.attempt) + 1))
        tokens = [fleet.wait_ledger("web", lambda entry, run=run: entry["run"] == run.run, 30, "its token", name=second.node)["token"] for run in (first, second)]
        self.assertLess(*tokens)
        # A restart of its daemon is a non-event.
        fleet.nodes[second.node].systemctl("restart", "jobkeeperd")
        wait_until(lambda: fleet.job_status(second.node, "web").get("state") == "running", 30, "it goes on")
        self.assertEqual(self.running().run, second.run)
        self.assert_one_at_a_time()

    def test_is_run_again_after_each_end(self):
        fleet = self.begin(nodes=3, files={"web.yaml": service(seconds=0.3, arguments=("--exit", "3"), restart="{delay: 1s, max-delay: 4s}")})
        last = fleet.wait_run(lambda run: run.job == "web" and run.attempt == "5" and run.ended == "end", 90, "the fifth")
        starts = [run.start for run in sorted(fleet.runs("web"), key=lambda run: int(run.attempt))]
        pauses = [later - earlier for earlier, later in zip(starts, starts[1:])]
        for pause, least in zip(pauses, (1, 2, 4, 4)):
            self.assertGreaterEqual(pause, least, pauses)
        self.assertEqual(fleet.wait_ledger("web", lambda entry: entry["run"] == last.run and entry["state"] == "failed", 20, "its end")["exit"], 3)
        # A pause keeps it down, and its end has it run again.
        fleet.jobkeeper("n1", "pause", "web", "--reason", "not now")
        wait_until(lambda: fleet.job_status("n2", "web").get("state") == "paused" and not fleet.running("web"), 30, "it is down")
        known = {run.run for run in fleet.runs("web")}
        refused = fleet.jobkeeper("n1", "run", "web", check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn('job "web" is a service, which is run by itself', refused.stderr)
        self.assertEqual({run.run for run in fleet.runs("web")}, known)
        fleet.jobkeeper("n2", "resume", "web")
        fleet.wait_run(lambda run: run.job == "web" and run.run not in known, 30, "it is run again")
        self.assert_one_at_a_time()

    def test_is_drained_and_stopped(self):
        fleet = self.begin(nodes=3, files={"web.yaml": service()})
        first = self.running()
        other = next(name for name in fleet.nodes if name != first.node)
        fleet.jobkeeper(other, "drain", first.node, "--wait", timeout=60)
        second = self.running(but=(first.run,))
        self.assertNotEqual(second.node, first.node)
        self.assertEqual(self.record(first, other)["state"], "interrupted")
        fleet.jobkeeper(other, "undrain", first.node)
        # What somebody stops comes back.
        stopped = json.loads(fleet.jobkeeper(other, "stop", "web", "--wait", "--json").stdout)
        self.assertEqual((stopped["run"], stopped["state"]), (second.run, "stopped"))
        third = self.running(but=(first.run, second.run))
        # A real stop of the daemon moves it, and does not wait for it.
        fleet.nodes[third.node].systemctl("stop", "jobkeeperd")
        fourth = self.running(but=(first.run, second.run, third.run), timeout=30)
        self.assertNotEqual(fourth.node, third.node)
        self.assertEqual(self.record(third, fourth.node)["state"], "interrupted")
        self.assert_one_at_a_time()

    def test_follows_its_definition(self):
        fleet = self.begin(nodes=3, files={"web.yaml": service()})
        first = self.running()
        # Another command is for the next run, other locks have it started anew.
        fleet.write_jobs("web.yaml", service(seconds=LONG + 1))
        self.assertEqual(self.running().run, first.run)
        fleet.write_jobs("web.yaml", service(seconds=LONG + 1, locks="{db: exclusive}"))
        second = self.running(but=(first.run,))
        self.assertGreater(second.tick, first.tick)
        # One node's file loses it: another one has it then.
        for name, node in fleet.nodes.items():
            if name == second.node:
                node.run("rm", "/etc/jobkeeper/jobs.d/web.yaml")
                node.systemctl("reload", "jobkeeperd")
        third = self.running(but=(first.run, second.run))
        self.assertNotEqual(third.node, second.node)
        # All do: it ends.
        for name, node in fleet.nodes.items():
            if name != second.node:
                node.run("rm", "/etc/jobkeeper/jobs.d/web.yaml")
                node.systemctl("reload", "jobkeeperd")
        wait_until(lambda: not fleet.running("web"), 30, "it has ended")
        known = {run.run for run in fleet.runs("web")}
        self.assertEqual(self.record(third, third.node)["state"], "interrupted")
        self.assertEqual({run.run for run in fleet.runs("web")}, known)
        self.assert_one_at_a_time()

    def test_goes_on_by_another_name(self):
        fleet = self.begin(nodes=3, files={"web.yaml": service()})
        renamed = job_file(job("site", seconds=LONG, mode="service", was="web"))
        first = self.running()
        others = [name for name in fleet.nodes if name != first.node]
        # Where it does not run nothing ends it.
        fleet.write_jobs("web.yaml", renamed, nodes=others)
        wait_until(lambda: fleet.job_status(others[0], "site").get("state") == "waiting", 30, lambda: f"it waits: {fleet.job_status(others[0], 'site')}")
        self.assertEqual(self.running().run, first.run)
        fleet.write_jobs("web.yaml", renamed, nodes=[first.node])
        second = fleet.wait_run(lambda run: run.job == "site", 60, "it runs by the new name")
        self.assertEqual(self.record(first, second.node)["state"], "interrupted")
        self.assertEqual((second.tick, int(second.attempt)), (first.tick, int(first.attempt) + 1))
        runs = sorted(fleet.runs(), key=lambda run: run.start)
        self.assertEqual([run.job for run in runs], ["web", "site"])
        self.assertLessEqual(runs[0].end, runs[1].start)

    def test_says_itself_when_it_has_started(self):
        """By sd_notify: what does not in time is ended, and what has is stopped and adopted as any other run."""
        says = f'[/bin/sh, -c, "sleep 3; systemd-notify --ready; exec {TOOLS}/mark-run --seconds {LONG}"]'
        text = job_file(f"  web: {{mode: service, ready: notify, timeout: 20s, stop-timeout: 1s, exec: {says}}}\n",
                        "  mute: {mode: service, ready: notify, timeout: 2s, stop-timeout: 1s, exec: [/bin/sleep, 3600]}\n")
        fleet = self.begin(nodes=3, files={"web.yaml": text})
        first = self.running()
        late = fleet.wait_ledger("mute", lambda entry: entry["state"] == "timed-out", 60, "it did not say so in time")
        fleet.wait_ledger("mute", lambda entry: int(entry["attempt"]) > int(late["attempt"]), 60, "it is run again")
        node = fleet.nodes[first.node]
        unit = f"jobkeeper-web-{first.run}.service"
        shown = node.run("systemctl", "show", "-p", "Type,ActiveState,SubState", unit).stdout
        self.assertEqual(sorted(shown.split()), ["ActiveState=active", "SubState=running", "Type=notify"])
        wait_until(lambda: f"run {first.run} " in node.run("journalctl", "-u", "jobkeeperd", "-g", " started").stdout, 20, "it is logged when it has")
        node.systemctl("restart", "jobkeeperd")
        wait_until(lambda: fleet.job_status(first.node, "web").get("state") == "running", 30, "it goes on")
        self.assertEqual(self.running().run, first.run)
        stopped = json.loads(fleet.jobkeeper(first.node, "stop", "web", "--wait", "--json").stdout)
        self.assertEqual((stopped["run"], stopped["state"]), (first.run, "stopped"))
        second = self.running(but=(first.run,))
        fleet.crash(second.node)
        third = self.running(but=(first.run, second.run), timeout=90)
        # The fence ends it as any other run.
        fleet.nodes[third.node].run("systemctl", "kill", "--signal", "KILL", "jobkeeper-fence.service")
        record = self.record(third, third.node)
        self.assertEqual(record["state"], "interrupted", record)
        self.running(but=(first.run, second.run, third.run), timeout=60)
        self.assert_one_at_a_time()

    def test_its_end_is_seen_at_once(self):
        """However quickly what PID 1 runs behind it is gone, too: nothing but the cgroup tells of the end, and one in twenty of those was missed."""
        names = [f"web{number}" for number in range(12)]
        fleet = self.begin(nodes=2, files={"web.yaml": job_file(*(job(name, seconds=0.3, arguments=("--exit", "3"), mode="service", restart="{delay: 1s, max-delay: 1s}")
                                                                 for name in names))})
        wait_until(lambda: sum(run.ended == "end" for run in fleet.runs()) >= 150, 120, "many ends")
        late = {}
        for node in fleet.nodes.values():
            gone = {}
            for line in node.run("journalctl", "-o", "short-unix", "--no-pager").stdout.splitlines():
                if found := re.match(r"([0-9.]+) .* jobkeeper-(web[0-9]+-[0-9]+-[0-9]+)[.]service: Failed with result", line):
                    gone[found[2]] = float(found[1])
                elif (found := re.match(r"([0-9.]+) .*: (web[0-9]+): run (\S+) \(tick .*\) failed", line)) and f"{found[2]}-{found[3]}" in gone:
                    late[f"{found[2]}-{found[3]}"] = float(found[1]) - gone[f"{found[2]}-{found[3]}"]
        self.assertGreater(len(late), 100)
        self.assertEqual({run: seconds for run, seconds in late.items() if seconds > 5}, {})

    def test_moves_when_its_machine_is_shut_down(self):
        """At once, but where that machine claims it once more before it knows: then after a pause."""
        fleet = self.begin(nodes=2, files={"web.yaml": service(restart="{delay: 3s, max-delay: 3s}")})
        first = self.running()
        wait_until(lambda: fleet.job_status(first.node, "web").get("state") == "running", 30, "its node knows that it has started")
        fleet.nodes[first.node].shutdown()
        second = self.running(but=(first.run,), timeout=30)
        self.assertNotEqual(second.node, first.node)
        self.assertEqual(self.record(first, second.node)["state"], "interrupted")  # with whatever status it exits

    def test_does_not_put_off_the_end_of_a_boot(self):
        """A boot has ended once nothing is being started any more, and what is in the middle of it when a service begins takes its time."""
        fleet = self.begin(nodes=1, files={"web.yaml": service()})
        first, node = self.running(), fleet.nodes["n1"]
        node.write("/etc/systemd/system/slow.service", "[Service]\nType=oneshot\nExecStart=/bin/sleep 15\n[Install]\nWantedBy=multi-user.target\n")
        node.systemctl("enable", "slow", "jobkeeperd")
        node.shutdown()
        node.boot()  # returns when it has ended
        second = self.running(but=(first.run,))
        slow = float(node.systemctl("show", "--value", "-p", "InactiveEnterTimestampMonotonic", "slow").stdout) / 1e6
        self.assertLess(second.start, slow, "it began in the middle of it")
        shown = node.run("systemctl", "show", "-p", "Type,ActiveState,SubState", f"jobkeeper-web-{second.run}.service").stdout
        self.assertEqual(sorted(shown.split()), ["ActiveState=active", "SubState=running", "Type=exec"])

    def test_does_not_put_off_its_end(self):
        """By asking PID 1 for more time again and again, which everybody who may say that he is ready may do."""
        stubborn = "trap : TERM; systemd-notify --ready; while :; do systemd-notify EXTEND_TIMEOUT_USEC=60000000; sleep 0.2; done"
        text = job_file(f"  web: {{mode: service, ready: notify, stop-timeout: 1s, user: nobody, exec: [/bin/sh, -c, '{stubborn}']}}\n")
        fleet = self.begin(nodes=2, files={"web.yaml": text})
        # Nobody writes history for it: its node tells.
        def running(but=""):
            return next((entry for entry in fleet.ledger("web") if entry["run"] != but and fleet.job_status(entry["node"], "web").get("state") == "running"), None)

        first = wait_until(running, 30, "it runs")
        stopped = json.loads(fleet.jobkeeper(first["node"], "stop", "web", "--wait", "--json", timeout=20).stdout)
        self.assertEqual((stopped["run"], stopped["state"]), (first["run"], "stopped"))
        second = wait_until(lambda: running(first["run"]), 30, "it runs again")
        fleet.nodes[second["node"]].systemctl("stop", "jobkeeperd", timeout=40)

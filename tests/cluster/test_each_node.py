"""Jobs of mode each-node: a tick runs on every matching node, one at a time or as many as the job says, whoever is down, joins late or dies over it."""

import json
import time

import history
from cluster_test import ClusterTest
from fleet import TAKEOVER, TOOLS, job, job_file, now
from testbed import wait_until

TELL = "/etc/jobkeeper/tell"
# Notes what it is told of another run, where the test reads it.
TELL_TEXT = """#!/bin/sh
set -eu
echo "$JOBKEEPER_PARENT_JOB $JOBKEEPER_PARENT_STATE $JOBKEEPER_PARENT_NODE" >>/history/told
"""
# Notes its run, and reboots the machine over it.
REBOOT = "/etc/jobkeeper/reboot"
REBOOT_TEXT = f"""#!/bin/sh
set -eu
{TOOLS}/mark-run --seconds 0.1
systemctl reboot --no-block
exec sleep 600
"""
# The daemon has a /proc of its own, in which it would see the boot id of the machine that the node is on: that of the container is another one at each boot.
OWN_BOOT_ID = "/etc/systemd/system/jobkeeperd.service.d/boot-id.conf"
OWN_BOOT_ID_TEXT = """[Unit]
Requires=boot-id.service
After=boot-id.service
[Service]
BindReadOnlyPaths=/run/boot-id:/proc/sys/kernel/random/boot_id
"""
BOOT_ID_SERVICE = "/etc/systemd/system/boot-id.service"
BOOT_ID_SERVICE_TEXT = """[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/cp /proc/sys/kernel/random/boot_id /run/boot-id
"""


class Rolls(ClusterTest):
    def runs_of(self, name):
        """Those of all instances of a job."""
        return [run for run in self.fleet.runs() if run.job.startswith(f"{name}@")]

    def begin_rebooting(self, equip, **options):
        """A fleet whose nodes may reboot. equip(node): before its daemon is started. `options`: of the fleet."""
        fleet = self.begin(nodes=3, start=False, **options)
        for node in fleet.nodes.values():
            equip(node)
            node.write(BOOT_ID_SERVICE, BOOT_ID_SERVICE_TEXT)
            node.write(OWN_BOOT_ID, OWN_BOOT_ID_TEXT)
            node.systemctl("daemon-reload")
        fleet.start()
        return fleet

    def wait_down(self, name):
        """Until the node has gone down by itself, in good order."""
        node = self.fleet.nodes[name]
        wait_until(lambda: node.process.poll() is not None, 60, f"{name} goes down")
        node.remove()


class EachNode(Rolls):
    alone = True

    def wait_roll(self, name, nodes, after=0, timeout=60):
        """Waits for a tick later than `after` that has run to its end on exactly these nodes; returns it."""
        def found():
            ticks = {}
            for run in self.runs_of(name):
                if run.tick and run.tick > after and run.ended == "end":
                    ticks.setdefault(run.tick, []).append(run.node)
            return next((tick for tick, ran in sorted(ticks.items()) if sorted(ran) == sorted(nodes)), None)
        return wait_until(found, timeout, lambda: f"a tick of {name} on {nodes}: " + "\n".join(map(str, self.runs_of(name))))

    def told(self):
        try:
            with open(f"{self.fleet.bed.history_directory}/told", encoding="utf-8") as lines:
                return lines.read().splitlines()
        except FileNotFoundError:
            return []

    def test_one_node_at_a_time_whoever_is_down_or_dies(self):
        roll = job("roll", every="40s", seconds=2, mode="each-node", nodes="[n1, n2, n3]", on_failure="mail")
        fleet = self.begin(nodes=4, files={"jobs.yaml": job_file(roll, f"  mail: {{exec: [/bin/sh, {TELL}], stop-timeout: 1s}}\n")}, start=False)
        for node in fleet.nodes.values():
            node.write(TELL, TELL_TEXT)
        fleet.start()
        first = self.wait_roll("roll", ("n1", "n2", "n3"))
        self.assertEqual(fleet.job_status("n4", "roll@n4"), {}, "it does not match")
        self.by_hand()
        # A node that is down at the tick runs it when it is back, as long as it may begin.
        fleet.nodes["n3"].systemctl("stop", "jobkeeperd")
        missed = self.wait_roll("roll", ("n1", "n2"), after=max(run.tick or first for run in self.runs_of("roll")))
        fleet.start("n3")
        fleet.wait_run(lambda run: run.job == "roll@n3" and run.tick == missed and run.ended == "end", 30, "what it missed")
        # What it ran it does not run again.
        fleet.nodes["n3"].systemctl("restart", "jobkeeperd")
        # Nobody waits for a node that dies over it, longer than for its locks.
        lost = fleet.wait_run(lambda run: run.job == "roll@n2" and run.tick and run.tick > missed and run.ended in ("open", "alive"), 90, "a run to be lost")
        fleet.crash("n2")
        self.wait_roll("roll", ("n1", "n3"), after=lost.tick - 1, timeout=90)
        record = fleet.wait_ledger("roll@n2", lambda entry: entry["tick"] == lost.tick and entry["state"] == "unknown", 30, "who lives settles it", name="n4")
        self.assertEqual(record["node"], "n2")
        wait_until(lambda: self.told(), 30, "the loss is told")
        self.assertEqual(self.told(), ["roll@n2 unknown n2"])
        self.assert_exclusive({f"roll@{name}": {"job:roll": history.EXCLUSIVE} for name in fleet.nodes})

    def by_hand(self):
        fleet = self.fleet
        refused = fleet.jobkeeper("n1", "run", "roll", check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn('say on which it is to run, as in "jobkeeper run roll --on n1"', refused.stderr)
        asked = json.loads(fleet.jobkeeper("n1", "run", "roll", "--on", "n2", "--wait", "--json").stdout)
        self.assertEqual((asked["job"], asked["node"], asked["state"]), ("roll@n2", "n2", "succeeded"))
        asked = json.loads(fleet.jobkeeper("n4", "run", "roll@n3", "--wait", "--json").stdout)
        self.assertEqual((asked["job"], asked["node"], asked["state"]), ("roll@n3", "n3", "succeeded"))
        for wrong, why in ((("roll", "--on", "n4"), "nodes: does not match it"), (("roll@n2", "--on", "n3"), 'job "roll@n2" runs on n2, and not on n3')):
            self.assertIn(why, fleet.jobkeeper("n1", "run", *wrong, check=False).stderr)
        fleet.jobkeeper("n4", "pause", "roll", "--reason", "not now")
        wait_until(lambda: fleet.job_status("n2", "roll@n2").get("state") == "paused", 20, "all of them are paused")
        self.assertIn("jobkeeper resume roll)", fleet.jobkeeper("n1", "run", "roll@n2", check=False).stderr)
        fleet.jobkeeper("n1", "resume", "roll")
        of_all = json.loads(fleet.jobkeeper("n4", "history", "roll", "--json").stdout)["runs"]
        self.assertGreaterEqual({run["job"] for run in of_all}, {"roll@n1", "roll@n2", "roll@n3"})

    def test_who_waits_for_its_turn_waits_on(self):
        """However long it takes, and over a restart of the daemon: start-deadline is for when the waiting begins."""
        fleet = self.begin(nodes=3, files={"jobs.yaml": job_file(job("slow", every="60s", seconds=5, mode="each-node", start_deadline="3s"))})
        first = fleet.wait_run(lambda run: run.job.startswith("slow@") and run.tick and run.ended in ("open", "alive"), 70, "the first")
        waiting = sorted(set(fleet.nodes) - {first.node})
        for name in waiting:
            wait_until(lambda name=name: "waits for the lock job:slow" in fleet.job_status(name, f"slow@{name}").get("why", ""), 4, f"{name} waits", interval=0.1)
        for name in waiting:
            fleet.nodes[name].systemctl("restart", "jobkeeperd")
        self.wait_roll("slow", sorted(fleet.nodes), after=first.tick - 1)
        starts = sorted(run.start for run in self.runs_of("slow") if run.tick == first.tick)
        self.assertGreater(starts[-1] - starts[0], 2 * 5, "one after the other")
        self.assert_exclusive({f"slow@{name}": {"job:slow": history.EXCLUSIVE} for name in fleet.nodes})

    def test_as_many_as_the_job_says(self):
        fleet = self.begin(nodes=4, files={"jobs.yaml": job_file(job("pairs", every="30s", seconds=3, mode="each-node", slots=2),
                                                                 job("all", every="30s", seconds=6, mode="each-node", lock="shared"))}, start=False)
        # One that comes late begins with the first tick after that.
        for name in ("n1", "n2", "n3"):
            fleet.nodes[name].systemctl("start", "jobkeeperd")
        before = self.wait_roll("pairs", ("n1", "n2", "n3"))
        fleet.nodes["n4"].systemctl("start", "jobkeeperd")
        came = fleet.wait_run(lambda run: run.job == "pairs@n4", 60, "the one that came late").tick
        self.assertGreater(came, before)
        self.assertEqual([record for record in fleet.ledger("pairs@n4", "n1") if record["tick"] and record["tick"] <= before], [])
        for name, most in (("pairs", 2), ("all", 4)):
            tick = self.wait_roll(name, sorted(fleet.nodes), timeout=120)
            self.assertEqual(history.most_at_once([run for run in self.runs_of(name) if run.tick == tick]), most, name)
            self.assertLessEqual(history.most_at_once([run for run in self.runs_of(name) if run.ended == "end"]), most, name)
        self.assert_exclusive()

    def test_a_failure_stops_the_roll(self):
        """Also where it is that of a node that died over it, which the others learn of only when its session has expired."""
        roll = job("roll", every="45s", seconds=2, arguments=("--exit", "1"), mode="each-node", max_failures=1)
        fleet = self.begin(nodes=3, files={"jobs.yaml": job_file(roll)})
        first = fleet.wait_run(lambda run: run.job.startswith("roll@") and run.tick and run.ended == "end", 70, "the first")
        self.assert_stopped(first, "failed")
        # The next tick is another roll.
        lost = fleet.wait_run(lambda run: run.job.startswith("roll@") and run.tick and run.tick > first.tick and run.ended in ("open", "alive"), 70, "the next roll")
        fleet.crash(lost.node)
        self.assert_stopped(lost, "unknown")
        self.assert_exclusive({f"roll@{name}": {"job:roll": history.EXCLUSIVE} for name in fleet.nodes})

    def assert_stopped(self, run, state):
        """By that run, in which the others did not begin the tick."""
        others = sorted(set(self.fleet.nodes) - {run.node})
        for name in others:
            record = self.fleet.wait_ledger(f"roll@{name}", lambda entry: entry["tick"] == run.tick, 60, f"the tick on {name}", name=others[0])
            self.assertEqual(record["state"], "skipped", record)
            self.assertIn(f"roll-stopped: {state} on {run.node} (", record["why"])
        self.assertEqual([other.node for other in self.runs_of("roll") if other.tick == run.tick], [run.node])


class Reboots(Rolls):
    """A roll in which each machine reboots over its run."""

    alone = True

    def begin_roll(self, rejoin_timeout):
        """Returns the first run of its only tick."""
        fleet = self.begin_rebooting(lambda node: node.write(REBOOT, REBOOT_TEXT))
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(time.time() + 15))
        fleet.write_jobs("jobs.yaml", job_file(job("roll", schedule=f'"{at}"', mode="each-node", exec=f"[/bin/sh, {REBOOT}]", rejoin_timeout=rejoin_timeout,
                                                   reboot="success")))
        return fleet.wait_run(lambda run: run.job.startswith("roll@"), 60, "the first")

    def wait_why(self, names, text, timeout=30):
        """Until one of these says so of what it waits for; returns which one."""
        return wait_until(lambda: next((name for name in names if text in self.fleet.job_status(name, f"roll@{name}").get("why", "")), None), timeout,
                          lambda: f"{text}: {[self.fleet.job_status(name, f'roll@{name}').get('why') for name in names]}")

    def test_each_machine_reboots_when_the_one_before_is_back(self):
        run = self.begin_roll("90s")
        fleet, tick = self.fleet, run.tick
        left = sorted(set(fleet.nodes) - {run.node})
        while True:
            self.wait_down(run.node)
            if left:
                waits = self.wait_why(left, f"its turn comes when {run.node} is back and its run ")
                explained = json.loads(fleet.jobkeeper(waits, "explain", f"roll@{waits}", "--json").stdout)
                self.assertIn(f"its turn comes when {run.node} is back", explained["here"])
            self.assertEqual([other.node for other in self.runs_of("roll") if other.tick == tick and other.node in left], [], "nobody begins meanwhile")
            node = fleet.nodes[run.node]
            node.boot()
            back = now()
            node.systemctl("start", "jobkeeperd")
            record = fleet.wait_ledger(f"roll@{run.node}", lambda entry: entry["tick"] == tick and entry["state"] in history.FINAL_STATES, 60, "it is settled",
                                       name=run.node)
            self.assertEqual((record["state"], record["why"], record["node"]), ("succeeded", "the node was rebooted", run.node))
            if not left:
                break
            run = fleet.wait_run(lambda other: other.tick == tick and other.node in left, 60, "the next")
            self.assertGreater(run.start, back, "one machine at a time is down")
            left.remove(run.node)
        self.assertEqual(sorted(other.node for other in self.runs_of("roll") if other.tick == tick), sorted(fleet.nodes), "once on each")
        self.assertEqual(history.double_starts(fleet.runs()), [])

    def test_a_machine_that_does_not_come_back_stops_the_roll(self):
        run = self.begin_roll("20s")
        fleet = self.fleet
        self.wait_down(run.node)
        history.append_dead(fleet.history_path, run.node)
        others = sorted(set(fleet.nodes) - {run.node})
        for name in others:
            record = fleet.wait_ledger(f"roll@{name}", lambda entry: entry["tick"] == run.tick, 20 + 2 * TAKEOVER, f"the tick on {name}", name=name)
            self.assertEqual(record["state"], "skipped", record)
            self.assertIn(f"roll-stopped: {run.node} is not back since its run {run.run} (unknown)", record["why"])
        # It comes too late: what the others have said of its run stays, and nobody begins the tick.
        node = fleet.nodes[run.node]
        node.boot()
        node.systemctl("start", "jobkeeperd")
        fleet.wait_members(set(fleet.nodes))
        record = fleet.wait_ledger(f"roll@{run.node}", lambda entry: entry["tick"] == run.tick, 30, "its run", name=run.node)
        self.assertEqual((record["state"], record["why"]), ("unknown", f"node {run.node} disappeared during the run, and was not back within rejoin-timeout"))
        self.assertEqual([other.node for other in self.runs_of("roll") if other.tick == run.tick], [run.node])

"""Nodes crash, daemons die, networks break: what was promised still holds. Every test has a fleet of its own."""

import itertools
import re
import time

import history
from cluster_test import ClusterTest
from fleet import DEADLINE, SESSION_TIMEOUT, TAKEOVER, TOOLS, job, job_file
from testbed import parallel, wait_until

PID1 = ("org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager")


def ticks_file(seconds=0.2, every="2s", arguments=(), **keys):
    return {"ticks.yaml": job_file(job("ticks", every=every, seconds=seconds, arguments=arguments, **keys))}


class Crashes(ClusterTest):
    alone = True

    def go_on_elsewhere(self, fleet, dead, since):
        """Three further ticks run, none of them on the dead node."""
        run = fleet.wait_run(lambda run: run.job == "ticks" and run.start > since, TAKEOVER, f"a run after the end of {dead}")
        wait_until(lambda: sum(other.start >= run.start for other in fleet.runs("ticks")) >= 3, 20, "three further runs")
        self.assertNotIn(dead, {other.node for other in fleet.runs("ticks") if other.start > since})

    def settled_ticks(self, fleet, first, last):
        """The account of all due ticks, once the ledger is past the last one."""
        due = history.ticks(2, first, last)
        fleet.wait_ledger("ticks", lambda record: record["tick"] >= due[-1] and record["state"] in history.FINAL_STATES, 20, "the last due tick settled")
        return history.account("ticks", due, fleet.runs(), fleet.ledger("ticks"))

    def test_node_killed_in_the_middle_of_a_run(self):
        fleet = self.begin(files=ticks_file(seconds=1.2))
        run = fleet.wait_running("ticks")
        fleet.crash(run.node)
        since = time.monotonic()
        self.go_on_elsewhere(fleet, run.node, since)
        record = fleet.wait_ledger("ticks", lambda record: record["tick"] == run.tick and record["state"] == "unknown", TAKEOVER, "the killed run is unknown")
        self.assertEqual(record["node"], run.node)
        result = self.settled_ticks(fleet, run.tick, time.time() - 4)
        self.assertEqual((result.double, result.lost, result.invented), ([], [], []))
        self.assertEqual(result.unknown, [run.tick])
        self.assert_exclusive()

    def test_node_killed_between_runs(self):
        fleet = self.begin(files=ticks_file())
        run = fleet.wait_run(lambda run: run.ended == "end", 20, "a run that ended")
        fleet.wait_ledger("ticks", lambda record: record["tick"] == run.tick and record["state"] == "succeeded", 10, "the run is settled")
        fleet.crash(run.node)
        since = time.monotonic()
        self.go_on_elsewhere(fleet, run.node, since)
        result = self.settled_ticks(fleet, run.tick, time.time() - 4)
        self.assertEqual((result.double, result.lost, result.invented), ([], [], []))
        self.assertLessEqual(len(result.unknown), 1)  # it may have died on the next tick
        self.assert_exclusive()
        fleet.nodes[run.node].boot()
        fleet.start(run.node)  # as after a power failure; its old session is gone or will be
        self.assertEqual(fleet.members(run.node), {"n1", "n2", "n3"})


class Daemon(ClusterTest):
    alone = True

    def run_in_progress(self):
        """A fleet with one long run going; the job's next tick is far away."""
        fleet = self.begin(files={"long.yaml": job_file(job("long", seconds=9))}, session_timeout=10)
        fleet.jobkeeper("n1", "run", "long")
        run = fleet.wait_running("long")
        return fleet, run, fleet.nodes[run.node]

    def stops_asked_for(self, node):
        """Has PID 1 tell what it is asked. Returns a function that returns how many StopUnit calls there were since, carried out or not, on its
        private socket and on the bus."""
        node.systemctl("log-level", "debug")
        self.addCleanup(node.systemctl, "log-level", "info", check=False)

        markers = itertools.count(1)

        def calls():
            marker = f"Marker{next(markers)}"

            def seen():
                text = node.journal("_PID=1")
                return text if f"member={marker} " in text else None

            node.run("busctl", "call", *PID1, marker, check=False)
            return len(re.findall("type=method_call .* member=StopUnit ", wait_until(seen, 10, f"PID 1 tells of {marker}")))

        before = calls()
        return lambda: calls() - before

    def assert_survived(self, fleet, run):
        done = fleet.wait_run(lambda other: other.job == "long" and other.ended == "end", 30, "the run's end")
        self.assertEqual((done.run, done.node), (run.run, run.node))
        self.assertGreater(done.end - done.start, 8.9)
        record = fleet.wait_ledger("long", lambda record: record["state"] in history.FINAL_STATES, 20, "the run settled")
        self.assertEqual((record["state"], record["run"], record["node"]), ("succeeded", run.run, run.node))
        self.assertEqual(len(fleet.runs("long")), 1)
        self.assertEqual(len(fleet.ledger("long")), 1)

    def test_killed_and_restarted_the_run_is_found_again(self):
        fleet, run, node = self.run_in_progress()
        before = node.property("jobkeeperd", "MainPID")
        node.systemctl("kill", "-s", "KILL", "jobkeeperd")
        wait_until(lambda: node.property("jobkeeperd", "MainPID") not in ("0", before), 15, "a new daemon")
        self.assert_survived(fleet, run)

    def test_restart_keeps_the_run_and_the_session(self):
        fleet, run, node = self.run_in_progress()
        before = fleet.status(run.node)["session"]["id"]
        stops = self.stops_asked_for(node)
        node.systemctl("restart", "jobkeeperd")
        # PID 1 denies what a process asks for that is gone by then: that a stop was not carried out would prove nothing.
        self.assertEqual(stops(), 0)
        node.systemctl("stop", "nothing.service", check=False)
        self.assertGreater(stops(), 0, "they are seen")
        wait_until(lambda: fleet.status(run.node).get("session", {}).get("state") == "connected", 15, "connected again")
        self.assertEqual(fleet.status(run.node)["session"]["id"], before)
        self.assert_survived(fleet, run)

    def test_a_new_pid_1_and_a_new_bus_disturb_no_run(self):
        fleet, run, node = self.run_in_progress()
        node.systemctl("daemon-reexec")
        node.systemctl("restart", "dbus.service")
        wait_until(lambda: fleet.status(run.node).get("session", {}).get("state") == "connected", 15, "it can be asked again")
        self.assert_survived(fleet, run)

    def test_stop_settles_the_run_as_interrupted(self):
        fleet, run, node = self.run_in_progress()
        node.systemctl("stop", "jobkeeperd")
        stopped, = fleet.runs("long")
        self.assertEqual(stopped.ended, "end")
        other = next(name for name in fleet.nodes if name != run.node)
        record, = fleet.ledger("long", other)
        self.assertEqual((record["state"], record["run"]), ("interrupted", run.run))
        wait_until(lambda: run.node not in fleet.members(other), 3, "the node has left: its session was closed, not timed out")

    def test_ticks_go_on_while_daemons_are_killed(self):
        fleet = self.begin(files=ticks_file(seconds=0.5))
        fleet.wait_run(lambda run: True, 20, "a first run")
        first = time.time()
        for number in range(6):
            node = fleet.nodes[f"n{number % 3 + 1}"]
            fleet.wait_running("ticks", timeout=SESSION_TIMEOUT + 10)
            node.systemctl("kill", "-s", "KILL", "jobkeeperd")
        fleet.wait_members(fleet.nodes)
        time_of_last = time.time()
        fleet.wait_ledger("ticks", lambda record: record["tick"] > time_of_last and record["state"] == "succeeded", 20, "a tick after all that")
        result = history.account("ticks", history.ticks(2, first + 1, time_of_last), fleet.runs(), fleet.ledger("ticks"))
        self.assertEqual((result.double, result.lost, result.invented), ([], [], []))
        self.assert_exclusive()


class Networks(ClusterTest):
    alone = True

    def cut_in_the_middle_of_a_run(self, **keys):
        """Cuts the node of a run off; returns the fleet, that run, and the first run after it elsewhere."""
        fleet = self.begin(files=ticks_file(seconds=40, start_deadline="10s", **keys))
        run = fleet.wait_running("ticks")
        cut = time.monotonic()
        fleet.nodes[run.node].cut()
        following = fleet.wait_run(lambda other: other.job == "ticks" and other.run != run.run, TAKEOVER, "a run elsewhere")
        run = next(other for other in fleet.runs("ticks") if other.run == run.run)
        self.assertNotEqual(following.node, run.node)
        self.assertGreater(run.end, cut)
        self.assertLess(run.end, cut + DEADLINE + 0.1, "the run was dead at the deadline")
        self.assertLess(run.end, following.start, "the run was dead before the next began")
        self.assert_exclusive()
        return fleet, run, following

    def test_cut_off_node_stops_its_run_before_another_starts(self):
        fleet, run, _ = self.cut_in_the_middle_of_a_run()
        self.assertEqual(run.ended, "end")
        fleet.nodes[run.node].heal()
        fleet.wait_members(fleet.nodes, timeout=40)
        record = fleet.wait_ledger("ticks", lambda record: record["run"] == run.run, 10, "the cut run's record")
        self.assertIn(record["state"], ("unknown", "interrupted"))  # the owner may tell more when it is back

    def test_cut_off_run_that_ignores_sigterm_is_killed_in_time(self):
        _, run, _ = self.cut_in_the_middle_of_a_run(arguments=("--stubborn",))
        self.assertEqual(run.ended, "alive")

    def test_a_short_cut_is_no_fault(self):
        fleet = self.begin(files={"long.yaml": job_file(job("long", seconds=5))})
        fleet.jobkeeper("n1", "run", "long")
        run = fleet.wait_running("long")
        fleet.nodes[run.node].cut()
        time.sleep(0.4)  # well inside the budget: the stop begins DEADLINE - FENCE_BUDGET after the last good heartbeat
        fleet.nodes[run.node].heal()
        record = fleet.wait_ledger("long", lambda record: record["state"] in history.FINAL_STATES, 20, "the run settled")
        self.assertEqual(record["state"], "succeeded")

    def test_lock_command_is_killed_at_the_deadline(self):
        fleet = self.begin()
        with fleet.nodes["n1"].popen("jobkeeper", "lock", "console", "--", f"{TOOLS}/mark-run", "--job", "locked", "--seconds", "60") as holder:
            fleet.wait_running("locked")
            cut = time.monotonic()
            fleet.nodes["n1"].cut()
            self.assertEqual(holder.wait(30), 75)
        run, = fleet.runs("locked")
        self.assertLess(run.end, cut + DEADLINE + 0.1)
        fleet.jobkeeper("n2", "lock", "--timeout", "20s", "console", "--", f"{TOOLS}/mark-run", "--job", "locked")
        self.assertGreater(fleet.runs("locked")[-1].start, run.end)

    def test_zookeeper_is_not_reachable_at_start(self):
        fleet = self.begin(files=ticks_file(), start=False)
        server = fleet.bed.zookeepers[0]
        server.kill()
        began = time.time()
        for node in fleet.nodes.values():
            node.write("/etc/systemd/system/jobkeeperd.service.d/debug.conf", "[Service]\nEnvironment=JOBKEEPER_DEBUG=1\n")
            node.systemctl("daemon-reload")
        parallel([lambda node=node: node.systemctl("start", "jobkeeperd") for node in fleet.nodes.values()])
        for name, node in fleet.nodes.items():
            def warnings(node=node):
                return [line for line in node.journal("-u", "jobkeeperd", "-p", "warning").splitlines() if "jobkeeperd[" in line]

            def refusals(node=node):
                return node.journal("-u", "jobkeeperd").count("Connection refused")
            wait_until(warnings, 20, "a warning")
            tried = refusals()
            wait_until(lambda: refusals() >= tried + 2, 30, "further attempts to connect")
            self.assertEqual(node.property("jobkeeperd", "ActiveState"), "active")
            self.assertEqual(node.property("jobkeeperd", "NRestarts"), "0")
            lines = warnings()
            self.assertEqual(len(lines), 1, lines)
            self.assertIn(server.address, lines[0])
            self.assertEqual(fleet.status(name)["session"]["state"], "connecting")
        self.assertEqual(fleet.jobkeeper("n1", "run", "ticks", check=False).returncode, 69)
        server.start()
        server.wait_ready()
        fleet.wait_members(fleet.nodes)
        run = fleet.wait_run(lambda run: True, 20, "a run once ZooKeeper is there")
        self.assertGreater(run.tick, began - 2)
        self.assert_exclusive()

    def test_zookeeper_restarts_under_load(self):
        fleet = self.begin(files=ticks_file(seconds=0.5))
        fleet.wait_run(lambda run: True, 20, "a first run")
        server = fleet.bed.zookeepers[0]
        server.kill()
        server.start()
        server.wait_ready()
        since = time.monotonic()
        fleet.wait_run(lambda run: run.start > since + 1, TAKEOVER, "runs go on")
        fleet.wait_members(fleet.nodes)
        self.assert_exclusive()


class Definitions(ClusterTest):
    alone = True

    def test_nodes_set_up_anew_beside_an_old_ledger_agree(self):
        fleet = self.begin()
        having = ("n2", "n3")  # n1 is there and knows nothing of the job: no node is alone, and none withdraws it
        fleet.write_jobs("ticks.yaml", ticks_file(every="2s", nodes="[n2, n3]")["ticks.yaml"], nodes=having)
        fleet.wait_run(lambda run: run.job == "ticks" and run.ended == "end", 20, "a first run")
        for name in having:
            node = fleet.nodes[name]
            node.systemctl("stop", "jobkeeperd")
            node.run("rm", "/var/lib/jobkeeper/digests.json")
            node.write("/etc/jobkeeper/jobs.d/ticks.yaml", ticks_file(every="3s", nodes="[n2, n3]")["ticks.yaml"])
        since = time.monotonic()
        fleet.start(*having)
        fleet.wait_run(lambda run: run.start > since and run.tick % 2, 270, "a run of the new definition")
        wait_until(lambda: all(fleet.job_status(name, "ticks").get("state") != "drifted" for name in having), 60, "both agree")
        self.assert_exclusive()


class Names(ClusterTest):
    alone = True

    def test_two_nodes_with_the_same_name(self):
        fleet = self.begin(files=ticks_file(), hostnames={"n1": "twin", "n2": "twin", "n3": "other"}, start=False)
        fleet.nodes["n1"].systemctl("start", "jobkeeperd")
        wait_until(lambda: fleet.members("n1") == {"twin"}, 20, "the first twin is a member")
        fleet.nodes["n3"].systemctl("start", "jobkeeperd")
        wait_until(lambda: fleet.members("n3") == {"other", "twin"}, 20, "two members")
        machine = fleet.nodes["n1"].run("cat", "/etc/machine-id").stdout.strip()
        fleet.nodes["n2"].systemctl("start", "jobkeeperd", check=False)
        wait_until(lambda: "twin" in fleet.nodes["n2"].journal("-u", "jobkeeperd", "-p", "warning"), 20, "the second twin is told")
        since = time.monotonic()
        wait_until(lambda: sum(run.start > since for run in fleet.runs("ticks")) >= 4, 20, "ticks go on")
        self.assert_exclusive()
        self.assertEqual(fleet.members("n3"), {"other", "twin"})
        answer = fleet.bed.zookeepers[0].shell("get /jobkeeper/nodes/twin")
        self.assertIn(machine, answer)

    def test_a_clone_of_a_machine_disturbs_nothing(self):
        """Machine id and name are the same, so that its registration looks like what the other left before a crash."""
        fleet = self.begin(files={"long.yaml": job_file(job("long", seconds=25, nodes="[twin]"))}, hostnames={"n1": "twin", "n2": "twin", "n3": "other"},
                           start=False)
        original, clone = fleet.nodes["n1"], fleet.nodes["n2"]
        clone.crash()
        clone.write("/etc/machine-id", original.run("cat", "/etc/machine-id").stdout, 0o444)
        clone.boot()
        for name, members in (("n1", {"twin"}), ("n3", {"other", "twin"})):
            fleet.nodes[name].systemctl("start", "jobkeeperd")
            wait_until(lambda name=name, members=members: fleet.members(name) == members, 20, f"{name} sees {members}")
        fleet.jobkeeper("n1", "run", "long")
        run = fleet.wait_running("long")
        clone.systemctl("start", "jobkeeperd")
        wait_until(lambda: "another machine with this machine's id" in clone.journal("-u", "jobkeeperd", "-p", "err"), SESSION_TIMEOUT + 20, "it is told")
        self.assertNotIn("as node \"twin\"", clone.journal("-u", "jobkeeperd", "MESSAGE_ID=ee9b4f3f54e24b89abe054e8ecacbefc"))
        record = fleet.wait_ledger("long", lambda record: record["state"] in history.FINAL_STATES, 40, "the run is settled")
        self.assertEqual((record["state"], record["run"]), ("succeeded", run.run))
        self.assertEqual([other.ended for other in fleet.runs("long")], ["end"])
        original.systemctl("stop", "jobkeeperd")  # now there is one of them
        wait_until(lambda: fleet.status("n2").get("session", {}).get("state") == "connected" and fleet.members("n2") == {"other", "twin"}, 20,
                   lambda: f"it takes part: {fleet.status('n2')}")
        self.assertEqual(fleet.jobkeeper("n2", "run", "--wait", "long", timeout=90).returncode, 0)

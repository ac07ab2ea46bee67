"""A daemon that ends at the wrong moment, or comes back as somebody else: what it left running ends before its locks move."""

import time

import history
from cluster_test import ClusterTest
from fleet import DEADLINE, SECRET, SESSION_TIMEOUT, TAKEOVER, TOOLS, job, job_file
from history import EXCLUSIVE
from testbed import wait_until

LONGEST = 10  # seconds that the servers grant a session: 20 of their ticks
CONFIGURATION = "/etc/jobkeeper/jobkeeper.yaml"


class Restarts(ClusterTest):
    alone = True

    def run_in_progress(self, arguments=(), stop_timeout="1s", **options):
        """A fleet whose one job, due every two seconds, is in a run that would last for long. Returns that run and its node."""
        ticks = job("ticks", every="2s", seconds=60, arguments=arguments, start_deadline="10s", stop_timeout=stop_timeout)
        self.begin(files={"ticks.yaml": job_file(ticks)}, **options)
        run = self.fleet.wait_running("ticks")
        return run, self.fleet.nodes[run.node]

    def another_daemon(self, node, *command):
        """Ends the daemon in this way, and waits until there is another."""
        before = node.property("jobkeeperd", "MainPID")
        node.systemctl(*command, "jobkeeperd")
        self.wait_another_daemon(node, before)

    def wait_another_daemon(self, node, before):
        wait_until(lambda: node.property("jobkeeperd", "MainPID") not in ("0", before) and node.property("jobkeeperd", "ActiveState") == "active",
                   15, "a new daemon")

    def other_than(self, node):
        return next(name for name in self.fleet.nodes if name != node.name)

    def same(self, run):
        """The run as the history has it now."""
        return next(other for other in self.fleet.runs(run.job) if other.run == run.run)

    def wait_ended(self, run, timeout):
        return wait_until(lambda: next((other for other in self.fleet.runs(run.job) if other.run == run.run and other.ended == "end"), None),
                          timeout, f"the end of {run}")

    def assert_gone_before_the_next(self, run, timeout=TAKEOVER):
        """Another run of the job begins, and this one had ended by then."""
        following = self.fleet.wait_run(lambda other: other.job == run.job and other.run != run.run, timeout, "a further run")
        run = self.same(run)
        self.assertLess(run.end, following.start, "the run was dead before the next began")
        self.assert_exclusive()
        return run, following

    # -- cut off, and then the daemon ends

    def cut_off_and_restarted(self, *command, arguments=()):
        run, node = self.run_in_progress(arguments)
        cut = time.monotonic()
        node.cut()
        self.another_daemon(node, *command)
        run, following = self.assert_gone_before_the_next(run)
        self.assertNotEqual(following.node, run.node)
        self.assertGreater(run.end, cut)
        self.assertLess(run.end, cut + DEADLINE + 0.1, "the run was dead at the deadline")
        return run, node

    def test_killed_while_cut_off_the_run_ends_by_the_deadline(self):
        run, _ = self.cut_off_and_restarted("kill", "-s", "KILL", arguments=("--stubborn",))
        self.assertEqual(run.ended, "alive")

    def test_restarted_while_cut_off_the_run_ends_by_the_deadline(self):
        run, node = self.cut_off_and_restarted("restart")
        self.assertEqual(run.ended, "end")
        node.heal()
        self.fleet.wait_members(self.fleet.nodes, timeout=40)
        record = self.fleet.wait_ledger("ticks", lambda record: record["run"] == run.run, 10, "the run's record")
        self.assertIn(record["state"], ("unknown", "interrupted"))

    def test_restarted_after_the_run_was_ended_its_result_is_written_and_nothing_of_it_is_left(self):
        """Others have settled it as unknown meanwhile: what the process before knew must not be lost with that one."""
        run, node = self.run_in_progress()
        other = self.other_than(node)
        node.cut()
        self.wait_ended(run, 10)
        self.fleet.wait_ledger("ticks", lambda record: record["run"] == run.run and record["state"] == "unknown", SESSION_TIMEOUT + TAKEOVER,
                               "settled by others", name=other)
        self.another_daemon(node, "restart")
        self.assertIn("results that are not written yet (1) are left for the next process", node.journal("-u", "jobkeeperd"))
        node.heal()
        record = self.fleet.wait_ledger("ticks", lambda record: record["run"] == run.run and record["state"] != "unknown", 30, "its result",
                                        name=other)
        self.assertEqual((record["state"], record["node"]), ("interrupted", run.node))
        self.assertIn("ZooKeeper did not answer", record["why"])
        wait_until(lambda: "jobkeeper-ticks-" + run.run not in node.systemctl("list-units", "--all", "--plain", "--no-legend").stdout, 10,
                   "its unit is forgotten")

    def test_stopped_while_cut_off_the_run_of_the_process_before_is_ended(self):
        run, node = self.run_in_progress(session_timeout=LONGEST)
        node.cut()
        self.another_daemon(node, "kill", "-s", "KILL")
        began = time.monotonic()
        node.systemctl("stop", "jobkeeperd")
        run = self.same(run)
        self.assertEqual(run.ended, "end")
        self.assertLess(time.monotonic() - began, 10, "nothing else was waited for")

    def test_a_cut_that_heals_before_the_deadline_ends_the_run_as_interrupted(self):
        """The stop is due before the next daemon has a session, and the session lives on."""
        run, node = self.run_in_progress()
        node.cut()
        self.another_daemon(node, "kill", "-s", "KILL")
        self.wait_ended(run, 10)
        node.heal()
        record = self.fleet.wait_ledger("ticks", lambda record: record["run"] == run.run and record["state"] in history.FINAL_STATES, 30, "settled",
                                        name=self.other_than(node))
        self.assertIn(record["state"], ("interrupted", "unknown"))  # where healing took longer than the session lived
        self.assertTrue(record["why"])
        self.assert_gone_before_the_next(run)

    def test_back_after_the_deadline_it_kills_the_run_at_once(self):
        """Others have its lock by then, and a stop-timeout is not theirs to wait for."""
        run, node = self.run_in_progress(("--stubborn",), stop_timeout="2s")
        node.write("/etc/systemd/system/jobkeeperd.service.d/no.conf", "[Service]\nRestart=no\n")
        node.systemctl("daemon-reload")
        node.systemctl("kill", "-s", "KILL", "jobkeeperd")
        self.fleet.wait_run(lambda other: other.job == run.job and other.run != run.run, SESSION_TIMEOUT + TAKEOVER, "a run elsewhere")
        began = time.monotonic()
        node.systemctl("start", "jobkeeperd")
        wait_until(lambda: time.monotonic() - self.same(run).end > 1, 10, "no further sign of life")
        self.assertLess(self.same(run).end, began + 1.5)
        record = self.fleet.wait_ledger("ticks", lambda record: record["run"] == run.run, 20, "the run's record", name=self.other_than(node))
        self.assertIn(record["state"], ("interrupted", "unknown"))

    # -- another name, another tree, no memory

    def come_back_as(self, node, before, after):
        text = node.run("cat", CONFIGURATION).stdout
        self.assertIn(before, text)
        node.write(CONFIGURATION, text.replace(before, after))
        self.another_daemon(node, "restart")

    def test_restarted_under_another_name_the_run_ends_before_its_lock_moves(self):
        run, node = self.run_in_progress()
        self.come_back_as(node, "zookeeper:\n", "node: {name: renamed}\nzookeeper:\n")
        run, _ = self.assert_gone_before_the_next(run, SESSION_TIMEOUT + TAKEOVER)
        self.assertEqual(run.ended, "end")
        other = self.other_than(node)
        wait_until(lambda: "renamed" in self.fleet.members(other) and run.node not in self.fleet.members(other), 20, "a member by its new name")
        record = self.fleet.wait_ledger("ticks", lambda record: record["run"] == run.run, 10, "the run's record", name=other)
        self.assertEqual(record["state"], "unknown")

    def test_restarted_with_another_root_the_run_ends_before_its_lock_moves(self):
        run, node = self.run_in_progress()
        self.come_back_as(node, "zookeeper:\n", "zookeeper:\n  root: /elsewhere\n")
        run, _ = self.assert_gone_before_the_next(run)
        self.assertEqual(run.ended, "end")

    def test_a_daemon_that_has_lost_its_memory_ends_what_runs(self):
        """Also where nobody can tell it what runs."""
        run, node = self.run_in_progress()
        node.cut()
        before = node.property("jobkeeperd", "MainPID")
        node.systemctl("kill", "-s", "KILL", "jobkeeperd")
        node.run("rm", "/run/jobkeeper/session")  # it is away for a second
        self.wait_another_daemon(node, before)
        run, _ = self.assert_gone_before_the_next(run)
        self.assertEqual(run.ended, "end")

    # -- a start that cannot go on

    def restart_that_fails(self, node, status):
        """Returns when it began and when systemctl had its answer."""
        began = time.monotonic()
        self.assertNotEqual(node.systemctl("restart", "jobkeeperd", check=False).returncode, 0)
        self.assertEqual(node.property("jobkeeperd", "ExecMainStatus"), status)
        return began, time.monotonic()

    def assert_ended_by_the_deadline(self, run, began, answered):
        """And once it was, and not before, the start had failed; another node has the lock then, and the result is known in the end."""
        run, following = self.assert_gone_before_the_next(run, SESSION_TIMEOUT + TAKEOVER)
        self.assertNotEqual(following.node, run.node)
        self.assertEqual(run.ended, "end")
        self.assertLess(run.end, began + DEADLINE + 0.1)
        self.assertLess(run.end, answered)
        return run

    def spoil(self, node):
        """A typo. Returns the text as it was."""
        text = node.run("cat", CONFIGURATION).stdout
        node.write(CONFIGURATION, text.replace("session-timeout", "sesion-timeout"))
        return text

    def test_a_typo_and_a_restart_leave_no_run_behind(self):
        run, node = self.run_in_progress()
        text = self.spoil(node)
        self.assertNotEqual(node.systemctl("reload", "jobkeeperd", check=False).returncode, 0)
        wait_until(lambda: "could not be restarted now" in node.journal("-u", "jobkeeperd"), 10, "a reload says that a restart would fail")
        run = self.assert_ended_by_the_deadline(run, *self.restart_that_fails(node, "78"))
        self.assertEqual(node.property("jobkeeperd", "ActiveState"), "failed")
        self.assertIn("jobkeeperd could not be started (the configuration has errors)", node.journal("-u", "jobkeeperd"))
        node.write(CONFIGURATION, text)
        node.systemctl("start", "jobkeeperd")
        self.fleet.wait_members(self.fleet.nodes, timeout=40)
        record = self.fleet.wait_ledger("ticks", lambda record: record["run"] == run.run and record["state"] in history.FINAL_STATES, 20, "settled")
        self.assertIn(record["state"], ("unknown", "interrupted"))

    def test_a_missing_secret_and_a_restart_leave_no_run_behind(self):
        run, node = self.run_in_progress(secret="fleet:s3cret-of-the-tests")
        node.run("rm", SECRET)
        self.assert_ended_by_the_deadline(run, *self.restart_that_fails(node, "78"))

    def test_an_unreadable_directory_and_a_restart_leave_no_run_behind(self):
        run, node = self.run_in_progress()
        node.run("sh", "-c", "rm -r /etc/jobkeeper/jobs.d && echo > /etc/jobkeeper/jobs.d")
        began, _ = self.restart_that_fails(node, "1")
        run, _ = self.assert_gone_before_the_next(run, SESSION_TIMEOUT + TAKEOVER)
        self.assertLess(run.end, began + DEADLINE + 0.1)

    def test_a_wrong_option_and_a_restart_leave_no_run_behind(self):
        """The service manager tries again for ever."""
        run, node = self.run_in_progress()
        node.write("/etc/systemd/system/jobkeeperd.service.d/option.conf", "[Service]\nExecStart=\nExecStart=/usr/sbin/jobkeeperd --confg\n")
        node.systemctl("daemon-reload")
        began, _ = self.restart_that_fails(node, "64")
        run, _ = self.assert_gone_before_the_next(run, SESSION_TIMEOUT + TAKEOVER)
        self.assertLess(run.end, began + DEADLINE + 0.1)

    def test_a_typo_that_is_mended_in_time_costs_nothing(self):
        run, node = self.run_in_progress(session_timeout=LONGEST)
        text = self.spoil(node)
        with node.popen("systemctl", "restart", "jobkeeperd") as restart:
            wait_until(lambda: "Failed (" in node.property("jobkeeperd", "StatusText"), 10, "the start is waiting")
            node.write(CONFIGURATION, text)
            node.systemctl("restart", "jobkeeperd")
            restart.wait(30)
        self.fleet.wait_members(self.fleet.nodes)
        since = time.monotonic()
        wait_until(lambda: time.monotonic() > since + DEADLINE, DEADLINE + 5, "the old deadline has passed")
        self.assertEqual(self.same(run).ended, "open", "it goes on")
        self.assert_exclusive()

    def test_a_typo_and_a_restart_leave_no_command_behind(self):
        """What its caller ends, and what the command has left in the background: of that nobody waits for the end, it is killed."""
        fleet = self.begin()
        node = fleet.nodes["n1"]
        background = f"setsid {TOOLS}/mark-run --job locked --seconds 60 --stubborn & exec {TOOLS}/mark-run --job locked-too --seconds 60"
        with node.popen("jobkeeper", "lock", "console", "--", "sh", "-c", background) as holder:
            for name in ("locked", "locked-too"):
                fleet.wait_running(name)
            self.spoil(node)
            self.restart_that_fails(node, "78")
            self.assertIn(holder.wait(30), (75, 143))  # it noticed first, or its command was stopped first
        fleet.jobkeeper("n2", "lock", "--timeout", "20s", "console", "--", f"{TOOLS}/mark-run", "--job", "after")
        after, = fleet.runs("after")
        for run in (*fleet.runs("locked"), *fleet.runs("locked-too")):
            self.assertLess(run.end, after.start)

    # -- records that are not what they were

    def record_spoilt(self, command):
        """A run that holds a lock; its record is spoilt, and its daemon restarted. Returns the run, once the next daemon knows."""
        locks = "{data: exclusive}"
        self.begin(files={"first.yaml": job_file(job("first", seconds=9, locks=locks)),
                          "second.yaml": job_file(job("second", every="2s", locks=locks, start_deadline="60s"))}, session_timeout=LONGEST)
        self.fleet.jobkeeper("n1", "run", "first")
        run = self.fleet.wait_running("first")
        node = self.fleet.nodes[run.node]
        self.fleet.bed.zookeepers[0].shell(command.format(f"/jobkeeper/jobs/first/runs/{run.run}"))
        self.another_daemon(node, "restart")
        wait_until(lambda: "but its record cannot be read" in node.journal("-u", "jobkeeperd"), 15, "the next daemon says so")
        return run

    def assert_lock_was_kept(self, run):
        run = self.wait_ended(run, 20)
        self.assertGreater(run.end - run.start, 8.9, "it was not disturbed")
        self.fleet.wait_run(lambda other: other.job == "second" and other.start > run.end, 20, "the lock moves then")
        self.assert_exclusive({"first": {"data": EXCLUSIVE}, "second": {"data": EXCLUSIVE}})
        return run

    def assert_settled_as_unknown_and_runs_again(self, run):
        run = self.assert_lock_was_kept(run)
        record = self.fleet.wait_ledger("first", lambda record: record["run"] == run.run and record["state"] in history.FINAL_STATES, 20, "settled")
        self.assertEqual((record["state"], record["node"]), ("unknown", run.node))
        self.fleet.jobkeeper("n1", "run", "first")
        self.fleet.wait_run(lambda other: other.job == "first" and other.start > run.end, 20, "the job runs again")

    def test_a_damaged_record_costs_its_run_no_lock_and_is_settled_in_the_end(self):
        self.assert_settled_as_unknown_and_runs_again(self.record_spoilt("set {} ]["))

    def test_a_deleted_record_costs_its_run_no_lock_and_is_settled_in_the_end(self):
        self.assert_settled_as_unknown_and_runs_again(self.record_spoilt("delete {}"))


class Stops(ClusterTest):
    """What ends a run's unit and is not jobkeeper. Whatever the command makes of SIGTERM, that is no result of its own."""

    alone = True

    def begin_runs(self):
        """One that ends well when it is told to, one that dies of it. Returns their records, by job."""
        text = ("jobs:\n  trapped:\n    exec: [/bin/sh, -c, \"trap 'exit 0' TERM; touch /run/trapped; sleep 60 & wait\"]\n    stop-timeout: 1s\n"
                "    nodes: [n1]\n  plain:\n    exec: [/bin/sleep, \"60\"]\n    stop-timeout: 1s\n    nodes: [n1]\n")
        fleet = self.begin(nodes=2, files={"both.yaml": text})
        for name in ("trapped", "plain"):
            fleet.jobkeeper("n1", "run", name)
        node = fleet.nodes["n1"]
        records = {name: fleet.wait_ledger(name, lambda record: record["state"] in ("claimed", "running"), 20, "it runs", name="n2")
                   for name in ("trapped", "plain")}
        for record in records.values():
            wait_until(lambda record=record: node.property(record["unit"], "MainPID") != "0", 20, "the command runs")
        wait_until(lambda: node.run("test", "-e", "/run/trapped", check=False).returncode == 0, 20, "the trap is set")
        return records

    def assert_settled(self, records, state, why):
        for name, record in records.items():
            settled = self.fleet.wait_ledger(name, lambda other, record=record: other["run"] == record["run"] and other["state"] in history.FINAL_STATES,
                                             30, "settled", name="n2")
            self.assertEqual((name, settled["state"]), (name, state))
            self.assertIn(why, settled["why"])

    def test_a_poweroff_interrupts_runs(self):
        records = self.begin_runs()
        self.fleet.nodes["n1"].shutdown()
        self.assert_settled(records, "interrupted", "")

    def test_whose_unit_is_stopped_by_a_person_is_stopped(self):
        records = self.begin_runs()
        for record in records.values():
            self.fleet.nodes["n1"].systemctl("stop", record["unit"])
        self.assert_settled(records, "stopped", "not by jobkeeper")

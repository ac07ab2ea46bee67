"""What a job file and jobkeeper.yaml ask for, where it shows: how many runs at once, how long for locks, what of the ticks that all missed."""

import pathlib
import time

import history
from cluster_test import ClusterTest, new_fleet
from fleet import job, job_file
from testbed import parallel, wait_until

FRESH = 4 * 1.0 + 2  # seconds after which a tick counts as missed, with the fleet's takeover-delay
PERIOD = 12  # of the jobs whose ticks are missed


class MaxRuns(ClusterTest):
    alone = True

    def test_no_more_runs_at_once_than_the_machine_takes(self):
        names = ("one", "two", "three")
        jobs = job_file(*(job(name, every="4s", seconds=1.5, start_deadline="30s") for name in names))
        fleet = self.begin(nodes=1, files={"jobs.yaml": jobs}, settings="max-runs: 2\n")
        wait_until(lambda: all(len(fleet.runs(name)) >= 2 for name in names), 40, lambda: "each has run twice: " + "\n".join(map(str, fleet.runs())))
        ended = [run for run in fleet.runs() if run.ended == "end"]
        self.assertEqual(history.most_at_once(ended), 2)
        self.assert_exclusive()


class LockWait(ClusterTest):
    @classmethod
    def setUpClass(cls):
        cls.fleet = cls.enterClassContext(new_fleet(nodes=2, files={"jobs.yaml": job_file(
            job("hurried", every="6s", locks="{busy: exclusive}", start_deadline="1min", lock_wait="2s"),
            job("patient", every="6s", locks="{busy: exclusive}", start_deadline="1min"))}))

    def test_a_tick_is_skipped_after_its_lock_wait_and_waits_for_its_start_deadline_without(self):
        enough = f"{self.fleet.bed.history_directory}/enough"
        holder = self.fleet.nodes["n1"].popen("jobkeeper", "lock", "busy", "--", "sh", "-c", "until test -e /history/enough; do sleep 0.1; done")
        self.addCleanup(holder.wait, 20)
        self.addCleanup(pathlib.Path(enough).touch)
        wait_until(lambda: "holds" in self.fleet.jobkeeper("n2", "locks", "busy").stdout, 20, "the lock is held")
        wait_until(lambda: not self.fleet.running(), 20, "no run is left from before")
        runs, since = self.fleet.runs(), time.time()
        record = self.fleet.wait_ledger("hurried", lambda record: record["tick"] >= since and record["state"] == "skipped", 30, "a skipped tick")
        self.assertIn("lock-wait", record["why"])
        self.assertEqual(self.fleet.runs(), runs, "nothing ran while the lock was held")
        self.assertEqual([one for one in self.fleet.ledger("patient") if one["tick"] >= since and "lock-wait" in one.get("why", "")], [])
        pathlib.Path(enough).touch()
        for name in ("hurried", "patient"):
            self.fleet.wait_run(lambda run, name=name: run.job == name and run not in runs, 30, f"{name} runs again")
        self.assert_exclusive({"hurried": {"busy": history.EXCLUSIVE}, "patient": {"busy": history.EXCLUSIVE}})


class CatchUp(ClusterTest):
    alone = True

    def test_the_latest_of_the_missed_ticks_is_run_or_none_or_all(self):
        every = f"{PERIOD}s"
        names = ("latest", "none", "all")
        fleet = self.begin(nodes=2, files={"jobs.yaml": job_file(*(job(name, every=every, catch_up=name) for name in names))})
        last = fleet.wait_run(lambda run: run.job == "none", 40, "a first tick").tick
        for name in names:
            fleet.wait_ledger(name, lambda record: record["tick"] == last and record["state"] == "succeeded", 10, f"{name} ran at that tick")
        parallel([lambda node=node: node.systemctl("stop", "jobkeeperd") for node in fleet.nodes.values()])
        missed = [last + PERIOD, last + 2 * PERIOD]
        time.sleep(missed[1] + FRESH + 1 - time.time())  # nobody is there: nothing can be waited for
        fleet.start()
        late = fleet.wait_run(lambda run: run.job == "latest" and run.tick > last, PERIOD, "a run of a missed tick")
        self.assertEqual(late.tick, missed[1])
        for name in names:
            fleet.wait_ledger(name, lambda record: record["tick"] == last + 3 * PERIOD and record["state"] == "succeeded", 2 * PERIOD, f"{name} goes on")
        self.assertEqual([run.tick for run in fleet.runs("latest")][-3:], [last, missed[1], last + 3 * PERIOD])
        self.assertEqual([run.tick for run in fleet.runs("none")][-2:], [last, last + 3 * PERIOD])
        self.assertEqual([run.tick for run in fleet.runs("all")][-4:], [last, *missed, last + 3 * PERIOD])
        account = history.account("none", missed, fleet.runs(), fleet.ledger("none"))
        self.assertEqual((account.skipped, account.lost), (missed, []))


class Unreadable(ClusterTest):
    alone = True

    """The daemon is a root without capabilities; whoever types `verify` has them all."""

    def assert_both_say(self, fleet, *said):
        self.assertNotEqual(fleet.nodes["n1"].systemctl("reload", "jobkeeperd", check=False).returncode, 0)
        wait_until(lambda: fleet.status("n1")["errors"] == [*said], 10, lambda: f"errors: {fleet.status('n1')['errors']}")
        verify = fleet.jobkeeper("n1", "verify", check=False)
        self.assertEqual((verify.returncode, verify.stderr.splitlines()), (1, [*said]))
        for one in said:
            self.assertIn(one, fleet.nodes["n1"].journal("-u", "jobkeeperd"))

    def assert_both_go_on(self, fleet):
        """By their last good definition."""
        since = time.monotonic()
        for name in ("good", "closed"):
            fleet.wait_run(lambda run, name=name: run.job == name and run.start > since, 20, f"{name} goes on")

    def test_what_the_daemon_cannot_open_is_an_error_for_verify_too(self):
        fleet = self.begin(nodes=1, files={"good.yaml": job_file(job("good", every="2s")), "closed.yaml": job_file(job("closed", every="2s"))})
        fleet.wait_run(lambda run: run.job == "closed", 20, "it ran")
        node, directory = fleet.nodes["n1"], "/etc/jobkeeper/jobs.d"
        mode = "(mode 0000; jobkeeperd has no special rights: the mode must let root read it)"
        node.write(f"{directory}/closed.yaml", job_file(job("closed", every="1h")), 0)
        self.assert_both_say(fleet, f"{directory}/closed.yaml: error: cannot be opened: Permission denied {mode}")
        by_name = fleet.jobkeeper("n1", "verify", f"{directory}/closed.yaml", check=False)
        self.assertEqual(by_name.returncode, 1)
        self.assertIn("cannot be read by its owner (mode 0000)", by_name.stderr)
        self.assert_both_go_on(fleet)
        node.run("chmod", "0", directory)
        self.assert_both_say(fleet, f"{directory}: error: cannot be read: Permission denied {mode}")
        self.assert_both_go_on(fleet)
        node.run("chmod", "0755", directory)
        node.run("chmod", "0644", f"{directory}/closed.yaml")
        node.systemctl("reload", "jobkeeperd")
        wait_until(lambda: not fleet.status("n1")["errors"], 10, "no errors any more")
        self.assertEqual(fleet.jobkeeper("n1", "verify").stderr, "")


class Places(ClusterTest):
    """More runs of a job than one at a time, and runs that give way."""

    alone = True

    def test_a_newer_tick_takes_the_place_of_the_run_on_whatever_node(self):
        fleet = self.begin(nodes=3, files={"jobs.yaml": job_file(job("a", every="4s", seconds=600, overlap="replace", stop_timeout="2s"))})
        wait_until(lambda: len(fleet.runs("a")) >= 4, 60, lambda: "\n".join(map(str, fleet.runs())))
        runs = sorted(fleet.runs("a"), key=lambda run: run.start)[:4]
        for run, following in zip(runs, runs[1:]):
            self.assertEqual(following.tick, run.tick + 4)
            record = fleet.wait_ledger("a", lambda record, run=run: record["run"] == run.run and record["state"] == "stopped", 10, "it is stopped")
            self.assertRegex(record["why"], "^stopped by the tick .*, which takes its place$")
        self.assertEqual(history.most_at_once(runs), 1)
        # The node of the run leaves for good: nobody stops it there, and the newest tick begins when its lock is free.
        run = fleet.wait_run(lambda run: run.ended == "open", 20, "a run")
        fleet.crash(run.node)
        again = fleet.wait_run(lambda other: other.start > run.start and other.node != run.node, 60, "it is run elsewhere")
        self.assertGreater(again.tick, run.tick)
        self.assert_exclusive()

    def test_a_node_with_another_definition_is_asked_to_stop_its_run(self):
        old = job_file(job("a", every="1h", seconds=600))
        fleet = self.begin(nodes=2, files={"jobs.yaml": old})
        fleet.jobkeeper("n1", "run", "a")
        run = fleet.wait_run(lambda run: run.job == "a", 20, "a run by hand")
        other = "n2" if run.node == "n1" else "n1"
        fleet.nodes[other].write("/etc/jobkeeper/jobs.d/jobs.yaml", job_file(job("a", every="5s", seconds=600, overlap="replace")))
        fleet.nodes[other].systemctl("reload", "jobkeeperd")
        again = fleet.wait_run(lambda one: one.job == "a" and one.node == other, 90, "a tick takes its place")
        record = fleet.wait_ledger("a", lambda record: record["run"] == run.run and record["state"] == "stopped", 10, "it is stopped")
        self.assertRegex(record["why"], "^stopped by the tick .*, which takes its place$")
        self.assertGreater(again.start, run.start)
        self.assert_exclusive()

    def test_as_many_runs_as_there_are_slots(self):
        fleet = self.begin(nodes=3, files={"jobs.yaml": job_file(job("a", every="1s", seconds=5, slots=2))})
        wait_until(lambda: sum(run.ended == "end" for run in fleet.runs("a")) >= 5, 60, lambda: "\n".join(map(str, fleet.runs())))
        self.assertEqual(history.most_at_once(fleet.runs("a")), 2)
        fleet.wait_ledger("a", lambda record: record["state"] == "skipped" and record["why"].startswith("overlap: its slots are taken"), 10,
                          "a tick for which there is no slot")
        # Another number is in force at once, beside runs of the old one; one slot is a lock like any other, before which all others end.
        self.redefine(fleet, job_file(job("a", every="1s", seconds=5, slots=3)))
        wait_until(lambda: len([run for run in fleet.runs("a") if run.ended == "open"]) == 3, 60, lambda: "three: " + "\n".join(map(str, fleet.runs())))
        self.redefine(fleet, job_file(job("a", every="1s", seconds=2)))
        since = time.monotonic()
        wait_until(lambda: len([run for run in fleet.runs("a") if run.start > since + 10 and run.ended == "end"]) >= 2, 60,
                   lambda: "one after the other: " + "\n".join(map(str, fleet.runs())))
        self.assertEqual(history.most_at_once([run for run in fleet.runs("a") if run.start > since + 10]), 1)

    def redefine(self, fleet, text):
        for node in fleet.nodes.values():
            node.write("/etc/jobkeeper/jobs.d/jobs.yaml", text)
        for node in fleet.nodes.values():
            node.systemctl("reload", "jobkeeperd")

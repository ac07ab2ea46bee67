"""What somebody else has put where jobkeeper keeps what it knows, on real machines: files under /run and /var/lib, units and drop-ins of a run's name, records in
ZooKeeper, and wall clocks that cannot be right. It is said, set aside, not believed, and nothing ends by it."""

import json
import subprocess
import tempfile
import time

from cluster_test import ClusterTest, installed
from fleet import job, job_file
from siege.nemesis import add_clocks, shift_clock
from testbed import wait_until

DAMAGED = "MESSAGE_ID=b8d6f0c2795e4c1ba3f94e1d0a67c853"  # base/message-id.h
SKEWED = "MESSAGE_ID=9046320541b74ad2ad6e2d02261a7c95"
FILES = ("/run/jobkeeper/session", "/run/jobkeeper/fence", "/run/jobkeeper/ended-units", "/run/jobkeeper/clock-waited", "/run/jobkeeper/leases",
         "/run/jobkeeper/command-locks", "/run/jobkeeper/command-locks.json", "/run/jobkeeper/jobkeeperd.lock", "/var/lib/jobkeeper/digests.json")
INSTANCE = "/run/jobkeeper-fence/instance"
RUBBISH = {
    "empty": ": > {}",
    "binary": "head -c 4096 /dev/urandom > {}",
    "long": "echo '{{' > {0}; truncate -s 100M {0}",
    "directory": "mkdir -p {}/inside",
    "fifo": "mkfifo {}",
    "link": "ln -s /etc/passwd {}",
    "dangling": "ln -s /nonexistent/file {}",
    "others": "echo yes > {0}; chown nobody {0}",
    "types": "echo '[{{\"id\":1}}]' > {}",
}
BACK = 25  # seconds, from a start to a run
YEARS = 365 * 24 * 3600


class BadState(ClusterTest):
    def one_node(self, *jobs):
        self.begin(nodes=1, files={"a.yaml": job_file(*(jobs or (job("beat", every="1s"),)))})
        return self.fleet.nodes["n1"]

    def spoil(self, node, kind, paths):
        node.run("sh", "-c", "\n".join(f"rm -rf {path}; {RUBBISH[kind].format(path)}" for path in paths))

    def wait_runs(self, job_name="beat", timeout=BACK):
        before = len(self.fleet.runs(job_name))
        wait_until(lambda: len(self.fleet.runs(job_name)) > before + 1, timeout, "it runs again")

    def test_whatever_stands_in_the_place_of_its_files_it_starts_and_runs(self):
        node = self.one_node()
        self.wait_runs()
        for kind in RUBBISH:
            with self.subTest(kind):
                node.systemctl("stop", "jobkeeperd")
                said = node.journal(DAMAGED).count("is not believed")
                self.spoil(node, kind, FILES)
                node.systemctl("start", "jobkeeperd", timeout=30)
                self.wait_runs()
                self.assertGreater(node.journal(DAMAGED).count("is not believed"), said)
                self.assertEqual(self.fleet.status("n1")["session"]["state"], "connected")
                node.run("sh", "-c", "rm -rf /run/jobkeeper/*.damaged* /var/lib/jobkeeper/*.damaged*")
        self.assert_exclusive()

    def test_what_is_put_there_while_a_run_is_under_way(self):
        """A daemon that is killed finds no session that it believes: it ends the run before its lock moves, and goes on."""
        node = self.one_node(job("ticks", every="10s", seconds=60))
        for kind in ("fifo", "binary", "directory", "others"):
            with self.subTest(kind):
                run = self.fleet.wait_running("ticks", 40)
                before = node.property("jobkeeperd", "MainPID")
                node.systemctl("kill", "-s", "KILL", "jobkeeperd")
                self.spoil(node, kind, FILES)
                wait_until(lambda before=before: node.property("jobkeeperd", "MainPID") not in ("0", before)
                           and node.property("jobkeeperd", "ActiveState") == "active", 20, "a new daemon")
                record = self.fleet.wait_ledger("ticks", lambda record, run=run: record["run"] == run.run and record["state"] not in ("claimed", "running"), 40,
                                                "the run's record")
                self.assertIn(record["state"], ("interrupted", "unknown"))
                node.run("sh", "-c", "rm -rf /run/jobkeeper/*.damaged* /var/lib/jobkeeper/*.damaged*")
        self.assert_exclusive()

    def test_a_fence_names_itself_whatever_stands_there(self):
        node = self.one_node()
        self.wait_runs()
        for kind in ("fifo", "directory", "link", "binary"):
            with self.subTest(kind):
                # Its runtime directory is emptied when it ends: what is put there comes right before the next one begins.
                node.write("/run/systemd/system/jobkeeper-fence.service.d/spoil.conf",
                           f"[Service]\nExecStartPre=+/bin/sh -c 'rm -rf {INSTANCE}; {RUBBISH[kind].format(INSTANCE)}'\n")
                node.systemctl("daemon-reload")
                node.systemctl("kill", "-s", "KILL", "jobkeeper-fence")
                self.wait_runs()
                self.assertEqual(len(node.run("cat", INSTANCE).stdout.strip()), 32)
        self.assert_exclusive()

    def test_units_and_drop_ins_of_a_runs_name_that_are_anothers(self):
        node = self.one_node(job("beat", every="5s"))
        self.wait_runs(timeout=40)
        next_tick = (int(time.time()) // 5 + 2) * 5
        foreign, link, fifo = (f"jobkeeper-beat-{next_tick + 5 * i}-1.service" for i in range(3))
        node.run("systemd-run", f"--unit={foreign}", "sleep", "1000")
        node.run("sh", "-c", f"mkdir -p /run/elsewhere; ln -s /run/elsewhere /run/systemd/system/{link}.d; mkfifo /run/systemd/system/{fifo}.d")
        for unit in (link, fifo):
            run = unit[len("jobkeeper-beat-"):-len(".service")]
            self.fleet.wait_run(lambda other, run=run: other.run == run, 40, f"a run as {unit}")
        record = self.fleet.wait_ledger("beat", lambda record: foreign == f"jobkeeper-beat-{record['run']}.service" and record["state"] != "claimed", 20, "its record")
        self.assertNotIn(record["state"], ("succeeded", "running"))
        self.assertEqual(node.property(foreign, "ActiveState"), "active", "it is another's")
        self.assertEqual(node.run("ls", "/run/elsewhere").stdout, "")
        self.wait_runs(timeout=40)
        self.assert_exclusive()

    def test_records_edited_into_nonsense(self):
        node = self.one_node(job("beat", every="2s"))
        self.wait_runs()
        shell = self.fleet.bed.zookeepers[0].shell
        for text in ("", "][", "7", "{}", '{"run":[],"job":7}', '{"run":"../../x","job":"beat","state":"succeeded"}', "x" * 5000):
            run = self.fleet.runs("beat")[-1].run
            shell(f"set /jobkeeper/jobs/beat/runs/{run} '{text}'" if text else f"set /jobkeeper/jobs/beat/runs/{run} ''")
            shell(f"create /jobkeeper/open/n1/{int(time.time())}-{len(text)} '{text}'")
            shell(f"create /jobkeeper/requests/r{len(text)} '{text}'")
            shell(f"create /jobkeeper/nodes/other{len(text)} '{text}'")
            self.wait_runs()
            self.assertIsInstance(json.loads(self.fleet.jobkeeper("n1", "history", "--json", "beat").stdout)["runs"], list)
            self.fleet.jobkeeper("n1", "status")
        self.assertEqual(node.property("jobkeeperd", "NRestarts"), "0")
        self.assert_exclusive()


class Clocks(ClusterTest):
    def fleet_with_clocks(self, nodes, every="2s", settings="", start=True):
        directory = self.enterContext(tempfile.TemporaryDirectory())
        subprocess.run(["cp", "-a", f"{installed()}/.", directory], check=True)
        add_clocks(directory)
        self.begin(nodes=nodes, install=directory, files={"a.yaml": job_file(job("beat", every=every))}, settings=settings, start=start)
        return self.fleet.nodes

    def said_impossible(self, name):
        clock = self.fleet.status(name).get("clock", {})
        return clock.get("skewed") and clock.get("impossible")

    def runs_on(self, name):
        return [run for run in self.fleet.runs("beat") if run.node == name]

    def wait_runs(self, timeout=BACK, **where):
        before = len(self.fleet.runs("beat"))
        wait_until(lambda: len(self.fleet.runs("beat")) > before + 1, timeout, "it runs")

    def assert_ticks_are_right(self):
        """Each tick once, and none of another time: nothing of before 2000 or after 2099 stands anywhere."""
        self.assert_exclusive()
        for record in self.fleet.ledger("beat"):
            self.assertLess(abs(record["tick"] - time.time()), 3600, record)

    def test_one_that_is_wrong_leaves_the_runs_to_the_others(self):
        nodes = self.fleet_with_clocks(2)
        self.wait_runs()
        for years in (-50, 100, -27):
            with self.subTest(years=years):
                shift_clock(nodes["n1"], years * YEARS)
                wait_until(lambda: self.said_impossible("n1"), 30, lambda: f"it is said: {self.fleet.status('n1').get('clock')}")
                self.assertIn("IMPOSSIBLE", self.fleet.jobkeeper("n1", "status").stdout)
                before = len(self.runs_on("n1"))
                self.wait_runs()
                self.assertEqual(len(self.runs_on("n1")), before)
                shift_clock(nodes["n1"], 0)
                wait_until(lambda: not self.fleet.status("n1")["clock"]["skewed"], 30, "it is right again")
                self.wait_runs()
        self.assertTrue(nodes["n1"].journal(SKEWED))
        self.assert_ticks_are_right()

    def test_half_a_minute_ahead_and_behind_leave_the_runs_to_the_third(self):
        """What is due is due by the servers' clock, and by that of the node which is right."""
        nodes = self.fleet_with_clocks(3)
        self.wait_runs()
        for name, seconds in (("n1", 30), ("n2", -30)):
            shift_clock(nodes[name], seconds)
        wait_until(lambda: {run.node for run in self.fleet.runs("beat")[-3:]} == {"n3"}, BACK, "the third runs what is due")
        before = {name: len(self.runs_on(name)) for name in nodes}
        wait_until(lambda: len(self.runs_on("n3")) > before["n3"] + 4, BACK, "and goes on with that")
        self.assertEqual({name: len(self.runs_on(name)) for name in ("n1", "n2")}, {name: before[name] for name in ("n1", "n2")})
        for name in ("n1", "n2"):
            shift_clock(nodes[name], 0)
        wait_until(lambda: {run.node for run in self.fleet.runs("beat")[-3:]} != {"n3"}, BACK, "who is right again runs it as before")
        self.wait_runs()
        for run in self.fleet.runs("beat"):
            self.assertEqual(run.tick % 2, 0, "a tick of the schedule")
        self.assert_ticks_are_right()

    def test_all_that_are_wrong_begin_nothing_and_lose_nothing(self):
        nodes = self.fleet_with_clocks(2)
        self.wait_runs()
        for years in (-50, 100):
            with self.subTest(years=years):
                for node in nodes.values():
                    shift_clock(node, years * YEARS)
                for name in nodes:
                    wait_until(lambda name=name: self.said_impossible(name), 30, "it is said")
                before = len(self.fleet.runs("beat"))
                time.sleep(5)
                self.assertEqual(len(self.fleet.runs("beat")), before)
                for node in nodes.values():
                    shift_clock(node, 0)
                self.wait_runs(40)
        self.assert_ticks_are_right()

    def wrong_from_the_boot_on(self, settings):
        nodes = self.fleet_with_clocks(2, settings=settings)
        self.wait_runs()
        for years in (-50, 100):
            with self.subTest(years=years):
                self.fleet.crash("n1")
                shift_clock(nodes["n1"], years * YEARS)
                nodes["n1"].boot()
                nodes["n1"].systemctl("start", "jobkeeperd")
                wait_until(lambda: self.said_impossible("n1"), 40, "it is said")
                wait_until(lambda: "before 2000 or after 2099" in nodes["n1"].property("jobkeeperd", "StatusText"), 30, "its status says so")
                before = len(self.runs_on("n1"))
                self.wait_runs(40)
                self.assertEqual(len(self.runs_on("n1")), before)
                shift_clock(nodes["n1"], 0)
                wait_until(lambda: not self.fleet.status("n1")["clock"]["skewed"], 30, "it is right again")
        self.assert_ticks_are_right()

    def test_wrong_from_the_boot_on_and_not_waited_for(self):
        self.wrong_from_the_boot_on("wait-for-clock: no\n")

    def test_wrong_from_the_boot_on_and_waited_for(self):
        self.wrong_from_the_boot_on("wait-for-clock: yes\n")

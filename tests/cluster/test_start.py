"""When a start of the daemon is over: as soon as it can be asked, and soon also where there is nobody through whom to ask."""

import subprocess
import time

from cluster_test import ClusterTest, new_fleet
from fleet import job, job_file
from testbed import wait_until

START = 20  # seconds for a start, with the patience for a silent bus
CONFIGURATION = "/etc/jobkeeper/jobkeeper.yaml"
SESSION_WARNING = "MESSAGE_ID=87e124d36f4e4070affd7cdfd76a18de"  # base/message-id.h


class Start(ClusterTest):
    @classmethod
    def setUpClass(cls):
        cls.fleet = cls.enterClassContext(new_fleet(nodes=1, start=False))
        cls.node = cls.fleet.nodes["n1"]

    def setUp(self):
        self.addCleanup(self.node.systemctl, "stop", "jobkeeperd")

    def bus(self, signal):
        self.node.systemctl("kill", "--signal", signal, "dbus.service")

    def assert_answers(self):
        self.fleet.jobkeeper("n1", "status")

    def test_whoever_comes_after_the_start_is_answered(self):
        for _ in range(5):
            self.node.systemctl("restart", "jobkeeperd")
            self.assert_answers()

    def test_a_start_waits_for_the_bus(self):
        self.bus("STOP")
        self.addCleanup(self.bus, "CONT")
        start = self.node.popen("systemctl", "start", "jobkeeperd")
        self.addCleanup(start.wait, START)
        wait_until(lambda: self.node.property("jobkeeperd", "MainPID") != "0", 10, "the daemon is executed")
        with self.assertRaises(subprocess.TimeoutExpired):
            start.wait(1)
        self.bus("CONT")
        self.assertEqual(start.wait(START), 0)
        self.assert_answers()

    def test_a_start_does_not_wait_long_for_a_bus_that_is_silent(self):
        self.bus("STOP")
        self.addCleanup(self.bus, "CONT")
        began = time.monotonic()
        self.node.systemctl("start", "jobkeeperd", timeout=START)
        self.assertGreater(time.monotonic() - began, 4)
        self.bus("CONT")
        wait_until(lambda: self.fleet.status("n1"), 10, "it answers")

    def test_a_start_does_not_wait_for_a_bus_that_is_not_there(self):
        self.node.systemctl("stop", "dbus.socket", "dbus.service")
        self.addCleanup(self.node.systemctl, "start", "dbus.socket", "dbus.service")
        began = time.monotonic()
        self.node.systemctl("start", "jobkeeperd", timeout=START)
        self.assertLess(time.monotonic() - began, 4)
        self.node.systemctl("start", "dbus.socket", "dbus.service")
        wait_until(lambda: self.fleet.status("n1"), 10, "it answers")

    def test_a_file_that_is_broken_at_the_start_is_named(self):
        path = "/etc/jobkeeper/jobs.d/beat.yaml"
        self.addCleanup(self.node.run, "rm", path)
        self.node.write(path, job_file(job("beat")))
        self.node.systemctl("start", "jobkeeperd")
        self.node.write(path, job_file(job("beat", retires="3")))
        self.node.systemctl("reload", "jobkeeperd", check=False)
        self.assertIn("the jobs of a file with errors stay as they last were, unless the error says otherwise:", self.fleet.jobkeeper("n1", "status").stdout)
        self.assertEqual(self.fleet.status("n1")["unloaded"], [])
        self.node.systemctl("restart", "jobkeeperd")
        shown = self.fleet.jobkeeper("n1", "status").stdout
        self.assertIn("Not loaded on this node are the jobs of beat.yaml: it has had errors since jobkeeperd was started.", shown)
        self.assertIn("beat.yaml has had errors since jobkeeperd was started: none of its jobs is loaded", self.node.journal("-u", "jobkeeperd"))
        wait_until(lambda: "beat.yaml (its jobs are not loaded)" in self.node.property("jobkeeperd", "StatusText"), 10, "the status line")
        self.node.write(path, job_file(job("beat")))
        self.node.systemctl("reload", "jobkeeperd")
        self.assertEqual(self.fleet.status("n1")["unloaded"], [])

    def test_a_tick_shorter_than_the_servers_is_said(self):
        text = self.node.run("cat", CONFIGURATION).stdout
        self.addCleanup(self.node.write, CONFIGURATION, text)
        self.node.write(CONFIGURATION, text.replace("tick-time: 500ms", "tick-time: 250ms"))
        self.node.systemctl("start", "jobkeeperd")
        wait_until(lambda: self.fleet.status("n1").get("session", {}).get("state") == "connected", 10, "connected")
        said = "grant is 1s, so their tick is taken to be 0.5s, longer than the configured tick-time of 0.25s"
        wait_until(lambda: said in self.node.journal("-u", "jobkeeperd", "-p", "warning", SESSION_WARNING), 10, "a warning")

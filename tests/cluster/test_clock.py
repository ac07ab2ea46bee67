"""Waiting for the clock after a boot, beside the machine's own timedated."""

from cluster_test import ClusterTest, new_fleet
from fleet import job, job_file
from testbed import wait_until

CONFIGURATION = "/etc/jobkeeper/jobkeeper.yaml"
TIMEDATED = "systemd-timedated.service"
WAITED_FOR = "MESSAGE_ID=7c4df2338d5847fbb373845bef0da5ab"  # base/message-id.h


class Clock(ClusterTest):
    @classmethod
    def setUpClass(cls):
        cls.fleet = cls.enterClassContext(new_fleet(nodes=1, start=False, files={"a.yaml": job_file(job("beat", every="1s"))}))
        cls.node = cls.fleet.nodes["n1"]

    def setUp(self):
        """A machine that has just booted and is no container, whose clock nobody has synchronised: timedated may not even ask."""
        self.node.systemctl("stop", "jobkeeperd")
        self.node.run("rm", "-f", "/run/systemd/container", "/run/jobkeeper/clock-waited")
        self.addCleanup(self.node.systemctl, "stop", "jobkeeperd")

    def clock(self):
        return self.fleet.status("n1")["clock"]

    def runs(self):
        return len(self.fleet.runs())

    def assert_runs(self):
        before = self.runs()
        wait_until(lambda: self.runs() > before, 20, "the job runs")

    def test_nothing_begins_until_it_is_synchronised_or_is_not_to_be_waited_for(self):
        self.node.systemctl("start", "jobkeeperd")
        wait_until(lambda: self.node.journal(WAITED_FOR), 10, "it is said")
        wait_until(lambda: self.clock()["known"], 10, "it is connected, and has compared its clock")
        self.assertTrue(self.clock()["waited_for"])
        self.assertIn("NOT SYNCHRONISED", self.fleet.jobkeeper("n1", "status").stdout)
        self.assertIn("until the clock is synchronised", self.node.property("jobkeeperd", "StatusText"))
        self.assertEqual(self.runs(), 0)
        configuration = self.node.run("cat", CONFIGURATION).stdout
        self.addCleanup(self.node.write, CONFIGURATION, configuration)
        self.node.write(CONFIGURATION, configuration + "wait-for-clock: no\n")
        self.node.systemctl("restart", "jobkeeperd")
        self.assert_runs()
        self.assertFalse(self.clock()["waited_for"])

    def test_where_timedated_is_masked_it_is_not_waited_for(self):
        self.node.systemctl("stop", TIMEDATED)
        self.node.systemctl("mask", "--runtime", TIMEDATED)
        self.addCleanup(self.node.systemctl, "unmask", "--runtime", TIMEDATED)
        self.node.systemctl("start", "jobkeeperd")
        wait_until(lambda: not self.clock()["waited_for"], 10, "it is known that nobody knows")
        self.assertEqual(self.node.run("cat", "/run/jobkeeper/clock-waited").stdout.strip(), "yes")
        self.assert_runs()

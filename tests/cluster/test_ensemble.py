"""Servers that were emptied or restored are recognised: nothing is claimed until a person accepts that, and nothing else is taken for it."""

import json
import os
import shutil
import time

from cluster_test import ClusterTest
from fleet import job, job_file
from testbed import parallel, wait_until

QUIET = 4  # seconds without a run, where one is due each second
DOUBTED = 40  # within which who is up has found a server again: its session is over, or its deadline, and the client library has its own pauses


class Ensemble(ClusterTest):
    alone = True

    def begin_ticks(self, zookeepers=1, nodes=2):
        fleet = self.begin(nodes=nodes, zookeepers=zookeepers, files={"ticks.yaml": job_file(job("ticks", every="1s", seconds=0.1))}, settings="max-runs: 4\n")
        self.wait_more(3)
        return fleet

    def wait_more(self, count):
        before = len(self.fleet.runs())
        wait_until(lambda: len(self.fleet.runs()) >= before + count, 30, f"{count} more runs")

    # -- what befalls the servers

    def stop_servers(self):
        for server in self.fleet.bed.zookeepers:
            server.kill()

    def start_servers(self):
        for server in self.fleet.bed.zookeepers:
            server.start()
        for server in self.fleet.bed.zookeepers:
            server.wait_ready()

    def data(self, server):
        return f"{server.directory}/data/version-2"

    def empty(self):
        for server in self.fleet.bed.zookeepers:
            shutil.rmtree(self.data(server))

    def back_up(self):
        """As whoever copies the files of servers that are stopped does."""
        self.stop_servers()
        for server in self.fleet.bed.zookeepers:
            shutil.copytree(self.data(server), f"{server.directory}/backup")
        self.start_servers()

    def restore(self):
        for server in self.fleet.bed.zookeepers:
            shutil.rmtree(self.data(server))
            shutil.copytree(f"{server.directory}/backup", self.data(server))

    # -- what is asked

    def doubt(self, name):
        return self.fleet.status(name).get("ensemble", {}).get("doubt")

    def wait_doubted(self, names=None):
        for name in names or self.fleet.nodes:
            wait_until(lambda name=name: self.doubt(name), DOUBTED, lambda name=name: f"{name} doubts: {self.fleet.status(name)}")

    def assert_nothing_begins(self):
        before = len(self.fleet.runs())
        time.sleep(QUIET)  # it is to be seen that nothing happens
        self.assertEqual(len(self.fleet.runs()), before)
        for name in self.fleet.nodes:
            self.assertIn("jobkeeper admin accept-ensemble", self.fleet.jobkeeper(name, "status").stdout)

    def accept(self, name):
        began = time.monotonic()
        answer = self.fleet.jobkeeper(name, "admin", "accept-ensemble", "--yes", "--reason", "tested", "--json").stdout
        self.assertLess(time.monotonic() - began, 10)
        self.assertTrue(json.loads(answer)["changed"])
        self.fleet.wait_members(self.fleet.nodes, timeout=30)
        self.wait_more(3)
        for name in self.fleet.nodes:
            self.assertIsNone(self.doubt(name))
            self.assertEqual(self.fleet.status(name)["ensemble"]["accepted"]["why"], "tested")

    # -- the tests

    def test_emptied_servers(self):
        self.begin_ticks()
        self.stop_servers()
        self.empty()
        self.start_servers()
        self.wait_doubted()
        self.assert_nothing_begins()
        self.assertIn("is gone", self.doubt("n1")["why"])
        refused = self.fleet.jobkeeper("n1", "admin", "accept-ensemble", check=False)
        self.assertEqual(refused.returncode, 64)  # without a terminal nobody was asked
        self.accept("n2")
        self.assertIn("Nothing to accept", self.fleet.jobkeeper("n1", "admin", "accept-ensemble").stdout)

    def test_emptied_servers_that_a_restarted_node_finds_first(self):
        fleet = self.begin_ticks()
        time.sleep(1.5)  # what a node remembers stands in its file within a second
        parallel([lambda node=node: node.systemctl("stop", "jobkeeperd") for node in fleet.nodes.values()])
        self.stop_servers()
        self.empty()
        self.start_servers()
        parallel([lambda node=node: node.systemctl("start", "jobkeeperd") for node in fleet.nodes.values()])
        self.wait_doubted()
        self.assert_nothing_begins()
        began = time.monotonic()
        fleet.nodes["n1"].systemctl("stop", "jobkeeperd")
        self.assertLess(time.monotonic() - began, 5, "a stop waits for nothing there")
        fleet.nodes["n1"].systemctl("start", "jobkeeperd")
        self.wait_doubted()
        self.accept("n1")

    def test_a_restored_backup_of_three_servers(self):
        fleet = self.begin_ticks(zookeepers=3)
        self.back_up()
        fleet.wait_members(fleet.nodes, timeout=60)
        self.wait_more(3)
        self.stop_servers()
        self.restore()
        self.start_servers()
        self.wait_doubted()
        self.assert_nothing_begins()
        self.assertIn("older", self.doubt("n1")["why"])
        fleet.nodes["n1"].systemctl("restart", "jobkeeperd")
        self.wait_doubted()
        self.assert_nothing_begins()
        self.accept("n1")

    def test_a_restored_backup_that_a_node_which_knows_nothing_finds_with_the_others(self):
        fleet = self.begin_ticks()
        self.back_up()
        fleet.wait_members(fleet.nodes, timeout=60)
        self.wait_more(6)
        time.sleep(1.5)  # what a node remembers stands in its file within a second
        parallel([lambda node=node: node.systemctl("stop", "jobkeeperd") for node in fleet.nodes.values()])
        knows = fleet.runs()[-1].node
        other = next(name for name in fleet.nodes if name != knows)
        self.stop_servers()
        self.restore()
        self.start_servers()
        os.unlink(fleet.nodes[other].rootfs.path("var/lib/jobkeeper/ensemble.json"))
        fleet.nodes[knows].systemctl("start", "jobkeeperd")
        self.wait_doubted([knows])
        fleet.nodes[other].systemctl("start", "jobkeeperd")
        self.wait_doubted()
        self.assert_nothing_begins()
        self.accept(other)

    def test_nothing_else_is_taken_for_it(self):
        fleet = self.begin_ticks(zookeepers=3)
        fleet.nodes["n1"].systemctl("restart", "jobkeeperd")
        self.wait_more(2)
        fleet.nodes["n2"].systemctl("kill", "-s", "KILL", "jobkeeperd")
        self.wait_more(2)
        for server in fleet.bed.zookeepers:
            server.kill()
            server.start()
            server.wait_ready()
            self.wait_more(2)
        self.stop_servers()
        self.start_servers()
        fleet.wait_members(fleet.nodes, timeout=60)
        self.wait_more(2)
        fleet.crash("n1")
        fleet.nodes["n1"].boot()
        fleet.start("n1")
        self.wait_more(2)
        for name, node in fleet.nodes.items():
            self.assertNotIn("is not trusted", node.journal("_SYSTEMD_UNIT=jobkeeperd.service"), name)
        self.assert_exclusive()

"""The example files of the package, on real nodes, as they are installed: what they name is there (users, commands, labels, a secret), each job is run,
and what their comments promise happens. A file that comes to them later is run as well."""

import glob
import json
import os
import time
from datetime import datetime
from zoneinfo import ZoneInfo

from cluster_test import ClusterTest, installed
from fleet import TOOLS
from test_each_node import Rolls
from testbed import wait_until

EXAMPLES = "/usr/share/doc/jobkeeper/examples"
SECRET = "sesame"
USERS = ("reports", "mirror", "fetcher", "consumer")  # "backup" is Debian's
MARK = f"exec {TOOLS}/mark-run --seconds "
# What the files call in /usr/local/bin. Each ends with a failure where it is not given what its file says.
COMMANDS = {
    "backup": f'[ "$*" = --all ] && [ "$(id -un)" = backup ] && {MARK} 0.2',
    "vacuum": f"{MARK} 0.2",
    "copy-off-site": f'[ "$1" = --date ] && ! [ -e /run/broken ] && {MARK} 0.2',
    "copy-to-tape": f'[ "$1" = --date ] && {MARK} 0.2',
    "delete-dumps": f'[ "$1" = --before ] && {MARK} 0.2',
    "mail-about-run": 'echo "$1|$2|$JOBKEEPER_PARENT_JOB|$JOBKEEPER_PARENT_STATE" >>/history/told',
    "mirror": "touch /srv/mirror/state && ! touch /srv/other 2>/dev/null",
    "fetch-pages": f'[ "$*" = --count=100 ] && [ "$(cat "$CREDENTIALS_DIRECTORY/token")" = {SECRET} ]',
    "fetch-queue": '[ "$PWD" = /var/lib/fetcher ] && [ "$QUEUE_URL" = https://queue.example.net/ ]',
    "check": f'[ "$*" = replicas ] || [ "$*" = "certificates --warn-days=21" ] && {MARK} 0.2',
    "report": f'[ "$(id -un)" = reports ] && {MARK} 0.2',
    "rebuild-index": f'[ "$LANG" = en_GB.UTF-8 ] && {MARK} 0.2',
    "consume": f'[ "$*" = --queue=orders ] && {MARK} 600',
}
TICK_MS = 2000  # of ZooKeeper, as on any server: with the tests' own, a session would be too short for what is configured where nobody says anything
LABELS = {"n1": "worker", "n2": "worker", "n3": "db1"}


def example(name):
    with open(f"{installed()}{EXAMPLES}/{name}", encoding="utf-8") as text:
        return text.read()


def due_soon(text, schedule, zone):
    """The file with that schedule put to a moment of its zone in a few seconds; and that moment, in Unix seconds."""
    assert f'schedule: "{schedule}"' in text
    at = int(time.time()) + 15
    return text.replace(f'schedule: "{schedule}"', f'schedule: "{datetime.fromtimestamp(at, ZoneInfo(zone)):%Y-%m-%d %H:%M:%S}"'), at


def configure(fleet, node, label):
    """With all timings as they are where nobody has said anything: the files are written for them."""
    node.write("/etc/jobkeeper/jobkeeper.yaml", f"zookeeper: {{ servers: [{', '.join(fleet.bed.servers().split(','))}] }}\nnode: {{ labels: {{ {label} }} }}\n")


class Examples(ClusterTest):
    alone = True

    def equip(self, node, role):
        node.run("sh", "-ec", "".join(f"useradd --system --create-home --home-dir /var/lib/{user} {user}\n" for user in USERS)
                 + "install -d -o mirror /srv/mirror\nmkdir -p -m 0755 /etc/mirror\n")
        node.write("/etc/mirror/token", SECRET, 0o600)
        for name, text in COMMANDS.items():
            node.write(f"/etc/commands/{name}", f"#!/bin/sh\n{text}\n", 0o755)
        node.run("sh", "-c", "cp -p /etc/commands/* /usr/local/bin/")
        configure(self.fleet, node, f"role: {role}")

    def begin_equipped(self, names):
        fleet = self.begin(nodes=len(LABELS), start=False, tick_ms=TICK_MS, files={name: example(name) for name in names})
        for path in (fleet.history_path, f"{fleet.bed.history_directory}/told"):
            with open(path, "x", encoding="utf-8"):
                os.chmod(path, 0o666)
        for name, node in fleet.nodes.items():
            self.equip(node, LABELS[name])
        fleet.start()
        return fleet

    def run_by_hand(self, name, *arguments, check=True):
        return json.loads(self.fleet.jobkeeper("n1", "run", name, "--wait", "--json", *arguments, check=check).stdout)

    def told(self):
        with open(f"{self.fleet.bed.history_directory}/told", encoding="utf-8") as lines:
            return [line.rstrip("\n").split("|") for line in lines]

    def test_each_job_runs(self):
        names = [os.path.basename(path) for path in glob.glob(f"{installed()}{EXAMPLES}/*.yaml")]
        fleet = self.begin_equipped(set(names) - {"chain.yaml", "reboot.yaml"})  # which have tests of their own
        jobs = fleet.status("n1")["jobs"]
        self.assertGreaterEqual(len(jobs), 12)
        for job in jobs:
            self.assertNotIn(job["state"], ("unfit", "invalid"), job)
            if job["job"] != "queue-consumer":
                self.assertEqual(self.run_by_hand(job["job"])["state"], "succeeded", job)
        # As service.yaml says: stopped, it is restarted, and paused before that it stays down.
        first = fleet.wait_running("queue-consumer")
        fleet.jobkeeper("n3", "stop", "queue-consumer")
        second = fleet.wait_run(lambda run: run.job == "queue-consumer" and run.start > first.start, 30, "it is restarted")
        fleet.jobkeeper("n3", "pause", "queue-consumer")
        fleet.jobkeeper("n3", "stop", "queue-consumer")
        fleet.wait_ledger("queue-consumer", lambda record: record["run"] == second.run and record["state"] == "stopped", 30, "it is stopped")
        wait_until(lambda: fleet.job_status("n1", "queue-consumer")["state"] == "paused", 20, "it is paused")
        self.assertEqual(fleet.running("queue-consumer"), [])
        self.assert_exclusive()

    def test_a_chain_from_its_dump_to_its_mail(self):
        fleet = self.begin_equipped([])
        text, tick = due_soon(example("chain.yaml"), "02:30", "Europe/Berlin")
        fleet.write_jobs("chain.yaml", text)
        clean = fleet.wait_ledger("orders-clean", lambda record: record["state"] == "succeeded", 60, "the last of the chain")
        self.assertTrue(clean["run"].startswith(f"{tick}-"), clean)
        for name in ("orders-copy", "orders-tape", "orders-report"):
            record = fleet.wait_ledger(name, lambda record: record["state"] == "succeeded", 30, name)
            self.assertTrue(record["run"].startswith(f"{tick}-"), record)
        self.assertEqual(self.told(), [])
        for node in fleet.nodes.values():
            node.run("touch", "/run/broken")
        self.assertEqual(self.run_by_hand("orders-copy", check=False)["state"], "failed")
        wait_until(lambda: self.told() == [["ops@example.com", "failed", "orders-copy", "failed"]], 30, lambda: f"one mail: {self.told()}")
        wait_until(lambda: len(fleet.ledger("orders-report")) == 2, 30, "the report comes whatever became of the copy")
        self.assertEqual(len(fleet.ledger("orders-clean")), 1)
        self.assert_exclusive()


class Reboot(Rolls):
    alone = True

    def test_who_needs_it_is_rebooted_and_the_others_are_not(self):
        self.begin_rebooting(lambda node: configure(self.fleet, node, "reboot: automatic"), tick_ms=TICK_MS)
        fleet = self.fleet
        fleet.nodes["n2"].run("touch", "/run/reboot-required")
        text, at = due_soon(example("reboot.yaml"), "Wed 04:00", "Europe/Berlin")
        fleet.write_jobs("reboot.yaml", text)
        self.wait_down("n2")
        node = fleet.nodes["n2"]
        node.boot()
        node.systemctl("start", "jobkeeperd")
        for name in fleet.nodes:
            record = fleet.wait_ledger(f"kernel-reboot@{name}", lambda record: record["tick"] == at and record["state"] == "succeeded", 90, f"the tick on {name}")
            self.assertEqual(record.get("why") or "", "the node was rebooted" if name == "n2" else "")

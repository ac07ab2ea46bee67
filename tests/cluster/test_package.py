"""The Debian package on real nodes: it installs, starts, upgrades with a run in progress, and purges."""

import os
import re
import shutil
import tempfile

import history
from cluster_test import ClusterTest
from fleet import job, job_file
from testbed import run, wait_until

INSIDE = "/opt/packages"
SMOKE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../packaging/debian/tests/smoke")


def newer_package(deb, directory):
    """The same package with a higher version."""
    tree = f"{directory}/tree"
    run("dpkg-deb", "-R", deb, tree)
    with open(f"{tree}/DEBIAN/control", encoding="utf-8") as stream:
        control = stream.read()
    with open(f"{tree}/DEBIAN/control", "w", encoding="utf-8") as stream:
        stream.write(re.sub(r"^(Version: .*)$", r"\1+upgrade", control, flags=re.M))
    run("dpkg-deb", "--root-owner-group", "-Zgzip", "-b", tree, f"{directory}/new.deb")
    shutil.rmtree(tree)


class Package(ClusterTest):
    alone = True
    needs = "deb"

    def begin_with_packages(self, **options):
        directory = self.enterContext(tempfile.TemporaryDirectory(prefix="jobkeeper-packages-"))
        os.chmod(directory, 0o755)
        shutil.copy(os.environ["JOBKEEPER_DEB"], f"{directory}/old.deb")
        newer_package(f"{directory}/old.deb", directory)
        return self.begin(install=None, binds=[(directory, INSIDE, False)], **options)

    def install_all(self, fleet, package):
        for node in fleet.nodes.values():
            node.install_deb("--force-confold", f"{INSIDE}/{package}.deb")

    def test_upgrade_with_a_run_in_progress(self):
        fleet = self.begin_with_packages(files={"long.yaml": job_file(job("long", seconds=12), job("ticks", every="2s"))})
        self.install_all(fleet, "old")
        for node in fleet.nodes.values():
            self.assertEqual(node.property("jobkeeperd", "ActiveState"), "active")
            self.assertEqual(node.systemctl("is-enabled", "jobkeeperd").stdout.strip(), "enabled")
        fleet.wait_members(fleet.nodes)
        fleet.jobkeeper("n1", "run", "long")
        long = fleet.wait_running("long")
        before = {name: node.property("jobkeeperd", "MainPID") for name, node in fleet.nodes.items()}
        fences = {name: node.property("jobkeeper-fence", "MainPID") for name, node in fleet.nodes.items()}
        self.assertNotIn("0", fences.values())
        self.install_all(fleet, "new")
        for name, node in fleet.nodes.items():
            self.assertNotEqual(node.property("jobkeeperd", "MainPID"), before[name], "the new daemon runs")
            self.assertEqual(node.property("jobkeeper-fence", "MainPID"), fences[name], "the fence is left alone")
            self.assertIn("+upgrade", node.run("dpkg-query", "-W", "-f", "${Version}", "jobkeeper").stdout)
        record = fleet.wait_ledger("long", lambda record: record["state"] in history.FINAL_STATES, 30, "the run settled")
        self.assertEqual((record["state"], record["run"], record["node"]), ("succeeded", long.run, long.node))
        self.assertEqual([one.ended for one in fleet.runs("long")], ["end"])
        due = [one.tick for one in fleet.runs("ticks")]
        account = history.account("ticks", history.ticks(2, min(due), max(due) - 2), fleet.runs(), fleet.ledger("ticks"))
        self.assertEqual((account.double, account.lost, account.unknown), ([], [], []))
        self.assert_exclusive()

    def test_the_package_s_own_test(self):
        """What Debian would run on the installed package (debian/tests)."""
        fleet = self.begin_with_packages(nodes=1)
        self.install_all(fleet, "old")
        fleet.wait_members(fleet.nodes)
        shutil.copy(SMOKE, fleet.nodes["n1"].rootfs.path("/var/tmp/smoke"))
        fleet.nodes["n1"].run("/var/tmp/smoke", timeout=180)

    def test_idle_without_zookeeper_then_removed_and_purged(self):
        fleet = self.begin_with_packages(nodes=1, zookeepers=0, start=False)
        node = fleet.nodes["n1"]
        os.unlink(node.rootfs.path("/etc/jobkeeper/jobkeeper.yaml"))  # the package's own: ZooKeeper at 127.0.0.1:2181
        node.install_deb(f"{INSIDE}/old.deb")
        self.assertEqual(node.property("jobkeeperd", "ActiveState"), "active")
        said = wait_until(lambda: node.journal("-u", "jobkeeperd", "-p", "warning"), 20, "one clear line")
        self.assertIn("127.0.0.1:2181", said)
        node.run("test", "-f", "/etc/jobkeeper/jobkeeper.yaml")
        node.run("jobkeeper", "verify")
        self.assertIn("within drain-timeout", node.run("dpkg", "--remove", "jobkeeper", timeout=120).stdout)
        for unit in ("jobkeeperd", "jobkeeper-fence.service", "jobkeeper-fence.socket"):
            wait_until(lambda unit=unit: node.systemctl("is-active", unit, check=False).stdout.strip() == "inactive", 10, f"{unit} has ended")
        node.run("dpkg", "--purge", "jobkeeper", timeout=120)
        for path in ("/var/lib/jobkeeper", "/run/jobkeeper", "/etc/jobkeeper/jobkeeper.yaml", "/usr/sbin/jobkeeperd", "/run/jobkeeper-fence.sock", "/usr/libexec/jobkeeper"):
            self.assertNotEqual(node.run("test", "-e", path, check=False).returncode, 0, path)

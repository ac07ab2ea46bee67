"""What the cluster tests share: where the built jobkeeper is, fleets that end with their test, and the checks that always hold."""

import os
import re
import unittest

import history
from fleet import Fleet

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = os.path.join(HERE, "bin")


def installed():
    """The tree that `cmake --install` made (run.py sees to it)."""
    return os.environ["JOBKEEPER_INSTALL"]


def new_fleet(**options):
    if "install" not in options:
        options["install"] = installed()
    return Fleet(TOOLS, **options)


# A daemon that died of itself, in its own words (the sanitizers', where it is built with them) or in the service manager's.
CRASH = re.compile(r"(ERROR: \w+Sanitizer|runtime error:|cannot happen|status=6/ABRT|status=11/SEGV|code=dumped|Watchdog timeout).*")


def assert_no_crash(fleet):
    """No daemon aborted: a restart would hide it from every other check."""
    for name, node in fleet.nodes.items():
        found = CRASH.search(node.journal("_SYSTEMD_UNIT=jobkeeperd.service", "+", "UNIT=jobkeeperd.service"))
        if found:
            raise AssertionError(f"the daemon on {name} crashed: {found.group(0)}")


def assert_no_sanitizer_spoke(bed):
    """Of the clients' programs; a lock-probe that is killed in the end would not be missed otherwise."""
    for client in bed.clients.values():
        text = client.log_text()
        if "Sanitizer" in text or "runtime error" in text:
            raise AssertionError(f"{client.name}: {text}")


class ClusterTest(unittest.TestCase):
    """A test has one fleet of its own (self.begin()), or its class has one for all (new_fleet() in setUpClass)."""

    fleet = None
    needs = "install"  # what run.py makes first: a build's installed tree, or the package ("deb")

    def begin(self, **options):
        self.fleet = self.enterContext(new_fleet(**options))
        self.addCleanup(assert_no_crash, self.fleet)
        return self.fleet

    def report(self):
        """For the reader of a failure; the runner calls it while the fleet still stands."""
        if self.fleet is None:
            return ""
        runs = "\n".join(map(str, self.fleet.runs()[-40:]))
        return f"---- history\n{runs}\n{self.fleet.bed.report()}"

    def keep(self):
        """Leaves the fleet running after the test; returns how to get there."""
        if self.fleet is None:
            return ""
        self.fleet.bed.keep = True
        return self.fleet.bed.how_to_enter()

    def assert_exclusive(self, holds=None):
        """No tick was started twice, and no two runs that exclude each other ran at the same time."""
        runs = self.fleet.runs()
        self.assertEqual(history.double_starts(runs), [])
        self.assertEqual([f"{one} | {other}" for one, other in history.overlaps(runs, holds or {})], [])

"""The demonstration's summary says that all is well only of one that has shown something (packaging/demo.py). No nodes."""

import contextlib
import io
import os
import sys
import unittest

import history

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "packaging"))
import demo  # pylint: disable=wrong-import-position

CRASH = demo.Crash("n1", 100.0)


def run(node, start, tick=2):
    return history.Run(node, "heartbeat", tick, "1", f"{node}-{start}", start, start + 0.3, "end")


def summary(runs, due, crash=CRASH):
    ledger = [{"tick": tick, "state": "succeeded"} for tick in due]
    with contextlib.redirect_stdout(io.StringIO()) as output:
        good = demo.summary(runs, {"heartbeat": history.account("heartbeat", due, runs, ledger)}, crash)
    return good, output.getvalue()


class Summary(unittest.TestCase):
    def test_jobs_that_go_on_elsewhere_are_good(self):
        good, said = summary([run("n1", 99), run("n2", 101, tick=4)], [2, 4])
        self.assertTrue(good, said)
        self.assertIn("runs after the crash of n1, on n2: 1\n", said)
        self.assertIn("Every due tick is accounted for.", said)

    def test_nothing_due_is_wrong(self):
        good, said = summary([], [], crash=None)
        self.assertFalse(good)
        self.assertIn("No tick was due", said)
        self.assertNotIn("accounted for", said)

    def test_nothing_run_is_wrong(self):
        good, said = summary([], [2], crash=None)
        self.assertFalse(good)
        self.assertIn("No job has run", said)

    def test_nothing_elsewhere_after_the_crash_is_wrong(self):
        good, said = summary([run("n2", 98), run("n1", 99, tick=4)], [2, 4])
        self.assertFalse(good)
        self.assertIn("No run started on another node after n1 was crashed.", said)

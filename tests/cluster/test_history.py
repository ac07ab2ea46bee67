"""The checker of histories must find what is planted, and nothing where there is nothing: a blind checker passes every test."""

import os
import subprocess
import tempfile
import unittest

import history
from history import EXCLUSIVE, SHARED

MARK_RUN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "mark-run")


def lines(*rows):
    """Rows of (seconds, node, job, tick, kind)."""
    return history.parse("".join(f"{int(at * 1e6)} {node} {job} {tick} 1 {tick}-1 {kind}\n" for at, node, job, tick, kind in rows))


def one_run(start, end, node="n1", job="a", tick=10):
    return (start, node, job, tick, "start"), (end, node, job, tick, "end")


class Parsing(unittest.TestCase):
    def test_runs_are_put_together_over_nodes(self):
        found = history.runs(lines(*one_run(1, 3), *one_run(2, 4, node="n2", tick=12)))
        self.assertEqual([(run.node, run.tick, run.start, run.end, run.ended) for run in found],
                         [("n1", 10, 1, 3, "end"), ("n2", 12, 2, 4, "end")])

    def test_a_torn_line_is_refused(self):
        for text in ("17 n1 a 10 1 10-1 sta\n", "17 n1 a 10 1 start\n", "x n1 a 10 1 10-1 end\n"):
            with self.assertRaises(ValueError, msg=text):
                history.parse(text)

    def test_a_dead_node_ends_its_runs_and_no_others(self):
        found = history.runs(lines((1, "n1", "a", 10, "start"), (1, "n2", "b", 10, "start"), (5, "n1", "-", "-", "dead")))
        self.assertEqual({run.job: (run.end, run.ended) for run in found}, {"a": (5, "dead"), "b": (history.FOREVER, "open")})

    def test_the_last_sign_of_life_is_an_end(self):
        found = history.runs(lines((1, "n1", "a", 10, "start"), (2, "n1", "a", 10, "alive"), (3, "n1", "a", 10, "alive")))
        self.assertEqual([(run.end, run.ended) for run in found], [(3, "alive")])

    def test_the_same_run_started_twice_on_one_node_is_two(self):
        found = history.runs(lines((1, "n1", "a", 10, "start"), (2, "n1", "a", 10, "start"), (3, "n1", "a", 10, "end")))
        self.assertEqual([run.ended for run in found], ["open", "end"])
        self.assertEqual(len(history.double_starts(found)), 1)


    def test_what_beats_ends_with_its_last_beat_whoever_ended_it(self):
        text = "1000000 n1 a 10 1 10-1 start instance=x token=7\n1050000 n1 a 10 1 10-1 alive instance=x token=7\n9000000 n1 - - - - dead\n"
        text += "2000000 n2 a 12 1 12-1 start instance=y token=-\n"
        found = history.runs(history.parse(text))
        self.assertEqual([(run.end, run.ended, run.token) for run in found], [(1.05, "dead", 7), (2, "alive", None)])

    def test_what_it_left_behind_is_the_run_still(self):
        text = "".join(f"{at} n1 a 10 1 10-1 {what} instance=x token=7\n" for at, what in ((1000000, "start"), (3000000, "alive")))
        text += "2000000 n1 a 10 1 10-1 end instance=x token=7 status=0\n"
        run, = history.runs(history.parse(text))
        self.assertEqual((run.end, run.ended, run.status), (3, "end", 0))

    def test_two_processes_of_one_run_at_once_are_two(self):
        text = "".join(f"{at} n1 a 10 1 10-1 {what} instance={who} token=7\n"
                       for at, what, who in ((1, "start", "x"), (2, "start", "y"), (3, "alive", "x"), (4, "alive", "y")))
        self.assertEqual(len(history.double_starts(history.runs(history.parse(text)))), 1)


class Doubles(unittest.TestCase):
    def test_a_tick_on_two_nodes_is_found_however_far_apart(self):
        found = history.double_starts(history.runs(lines(*one_run(1, 2), *one_run(50, 51, node="n2"))))
        self.assertEqual([(job, tick, len(same)) for job, tick, same in found], [("a", 10, 2)])

    def test_other_ticks_jobs_and_attempts_are_none(self):
        events = lines(*one_run(1, 2), *one_run(3, 4, tick=12), *one_run(1, 2, job="b"))
        events += history.parse("9000000 n2 a 10 2 10-2 start\n")
        self.assertEqual(history.double_starts(history.runs(events)), [])

    def test_manual_runs_have_no_tick(self):
        text = "1000000 n1 a - 1 m-1 start\n2000000 n1 a - 1 m-2 start\n"
        self.assertEqual(history.double_starts(history.runs(history.parse(text))), [])


class Overlaps(unittest.TestCase):
    HOLDS = {"reader": {"db": SHARED}, "reader2": {"db": SHARED}, "writer": {"db": EXCLUSIVE}, "other": {"x": EXCLUSIVE}}

    def overlaps(self, *rows):
        return [(one.job, other.job) for one, other in history.overlaps(history.runs(lines(*rows)), self.HOLDS)]

    def test_a_writer_beside_a_reader_is_found(self):
        self.assertEqual(self.overlaps(*one_run(1, 5, job="reader"), *one_run(4.999, 6, job="writer", node="n2")), [("reader", "writer")])

    def test_a_writer_inside_a_reader_is_found(self):
        self.assertEqual(self.overlaps(*one_run(1, 9, job="reader"), *one_run(3, 4, job="writer")), [("reader", "writer")])

    def test_a_writer_over_an_earlier_one_that_ended_late_is_found(self):
        rows = (*one_run(1, 20, job="reader"), *one_run(2, 3, job="reader2"), *one_run(10, 11, job="writer"))
        self.assertEqual(self.overlaps(*rows), [("reader", "writer")])

    def test_readers_share_and_strangers_do_not_matter(self):
        rows = (*one_run(1, 5, job="reader"), *one_run(2, 6, job="reader2"), *one_run(1, 6, job="other"))
        self.assertEqual(self.overlaps(*rows), [])
        pairs = [(one.job, other.job) for one, other in history.pairs_at_once(history.runs(lines(*rows)))]
        self.assertIn(("reader", "reader2"), pairs)

    def test_one_after_the_other_is_none(self):
        self.assertEqual(self.overlaps(*one_run(1, 5, job="writer"), *one_run(5, 6, job="writer", tick=12)), [])

    def test_a_run_whose_end_nobody_saw_overlaps_what_follows(self):
        self.assertEqual(self.overlaps((1, "n1", "writer", 10, "start"), *one_run(90, 91, job="writer", tick=12)), [("writer", "writer")])

    def test_a_job_without_resources_excludes_itself(self):
        self.assertEqual(self.overlaps(*one_run(1, 5, job="plain"), *one_run(2, 3, job="plain", tick=12, node="n2")), [("plain", "plain")])


class Accounts(unittest.TestCase):
    def test_ticks_are_multiples_since_the_epoch(self):
        self.assertEqual(history.ticks(5, 11, 25), [15, 20, 25])
        self.assertEqual(history.ticks(5, 10, 10), [10])

    def test_each_planted_fault_is_found(self):
        found = history.runs(lines(*one_run(1, 2), *one_run(3, 4, tick=12), *one_run(5, 6, tick=12, node="n2"), (7, "n1", "a", 14, "start")))
        ledger = [{"tick": 10, "state": "succeeded"}, {"tick": 12, "state": "succeeded"}, {"tick": 14, "state": "unknown"},
                  {"tick": 16, "to": 18, "count": 2, "state": "skipped"}, {"tick": 20, "state": "claimed"},
                  {"tick": 22, "state": "succeeded"}, {"tick": None, "state": "succeeded"}]
        result = history.account("a", range(10, 26, 2), found, ledger)
        self.assertEqual(result.run, [10, 12, 14])
        self.assertEqual(result.double, [12])
        self.assertEqual(result.lost, [20, 24])
        self.assertEqual(result.unknown, [14])
        self.assertEqual(result.skipped, [16, 18])
        self.assertEqual(result.invented, [22])
        self.assertEqual(history.never_started([10, 20], "a", found), [20])


class MarkRun(unittest.TestCase):
    ENVIRONMENT = {"JOBKEEPER_JOB": "a", "JOBKEEPER_TICK_EPOCH": "10", "JOBKEEPER_ATTEMPT": "1", "JOBKEEPER_NODE": "n1", "JOBKEEPER_RUN_ID": "10-1"}

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = f"{directory.name}/runs"

    def start(self, *arguments):
        return subprocess.Popen([MARK_RUN, "--history", self.path, *arguments], env=self.ENVIRONMENT)

    def wait_for_start(self):
        from testbed import wait_until  # pylint: disable=import-outside-toplevel
        wait_until(lambda: history.load(self.path), 10, "a first line")

    def test_start_and_end_and_status(self):
        self.assertEqual(self.start("--seconds", "0.05", "--exit", "7").wait(10), 7)
        run, = history.runs(history.load(self.path))
        self.assertEqual((run.node, run.job, run.tick, run.run, run.ended), ("n1", "a", 10, "10-1", "end"))
        self.assertGreaterEqual(run.end - run.start, 0.05)

    def test_by_turns_it_succeeds_and_fails(self):
        # Tick 10 is in the second stretch of 7 s, and in the first of 20 s.
        self.assertEqual([self.start("--beat", "--exit", "3", "--turns", turns).wait(10) for turns in ("7", "20", "0")], [0, 3, 3])
        self.assertEqual([run.status for run in history.runs(history.load(self.path))], [0, 3, 3])

    def test_it_says_when_it_is_terminated(self):
        process = self.start("--seconds", "30")
        self.wait_for_start()
        process.terminate()
        self.assertEqual(process.wait(10), 143)
        self.assertEqual([run.ended for run in history.runs(history.load(self.path))], ["end"])

    def test_a_stubborn_one_is_known_by_its_last_sign_of_life(self):
        process = self.start("--seconds", "30", "--stubborn")
        self.wait_for_start()
        process.terminate()
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(0.2)
        process.kill()
        process.wait(10)
        self.assertEqual([run.ended for run in history.runs(history.load(self.path))], ["alive"])


if __name__ == "__main__":
    unittest.main()

"""What a campaign's verdict says of services and of rolls over all nodes: each rule finds what is planted, and is quiet about what a mode allows. Needs no nodes."""

import dataclasses
import unittest

from history import FOREVER
from siege import modes, policy, verdict, work
from siege.policy import Deed
from siege.verdict import Fault
from siege.work import Policy, Work
from test_siege import WALL, evidence, record, run
from test_siege_policy import Rules

SERVICE = Work("job", "job.yaml", 0, 3600, mode=work.SERVICE, policy=Policy(delay=1, most_delay=4))
KILL, FREEZE = Fault("node-kill", ("n1",), 39.5, 60), Fault("node-freeze", ("n1",), 40, 60)


def served(number, start, end, node="n1", status=143, ended="end"):
    return dataclasses.replace(run(start, end, 2, node=node, status=status, identity=f"2-{number}", ended=ended), attempt=str(number))


def living(number, start, node="n1"):
    """Until after everything is told."""
    return served(number, start, 220, node)


def held(number, state="interrupted", node="n1", claimed=None, ended=None, **keys):
    """`claimed`, `ended`: seconds on the history's clock."""
    times = {name: at + WALL for name, at in (("claimed", claimed), ("ended", ended)) if at}
    return record(2, state, node=node, **{"run": f"2-{number}", "attempt": number, **times, **keys})


class Services(Rules):
    """From 5 to 190; the records are told at 200."""

    def served(self, runs, records, job=SERVICE, **keys):
        return verdict.judge(evidence(runs, records=records, jobs=(job,), **{"first": WALL + 5, "last": WALL + 190, "told": {"job": 200.0}, **keys}))

    def test_one_that_runs_all_the_time(self):
        self.assert_broken(self.served((living(1, 5),), [held(1, "claimed")]))

    def test_never_two_at_once_but_beside_a_node_that_stood_still(self):
        records = [held(1, ended=55), held(2, "claimed", "n2", claimed=52)]
        self.assert_broken(self.served((served(1, 5, 62), living(2, 52, "n2")), records, faults=[FREEZE]))
        self.assert_broken(self.served((served(1, 5, 62), living(2, 52, "n2")), records, faults=[dataclasses.replace(FREEZE, kind="net-cut")]), "overlaps")

    def test_moves_when_its_node_is_lost(self):
        def moved(at, fault, ended=40):
            records = [held(1, "unknown", ended=at - 1), held(2, "claimed", "n2", claimed=at - 0.5)]
            return self.served((served(1, 5, ended), living(2, at, "n2")), records, faults=[fault])
        self.assert_broken(moved(52, KILL))
        self.assert_broken(moved(85, dataclasses.replace(KILL, end=84)), "losses")  # the node being down for that long is no reason
        self.assert_broken(moved(52, FREEZE, 62))
        self.assert_broken(moved(100, FREEZE, 62), "losses")

    def test_does_not_move_from_a_node_that_stood_still(self):
        """What came back with the node is not taken for a service that runs: its session was over."""
        kept = self.served((served(1, 5, 104), living(2, 106, "n2")), [held(1, ended=105), held(2, "claimed", "n2")], faults=[dataclasses.replace(FREEZE, end=100)])
        self.assert_broken(kept, "losses")

    def test_is_run_again_when_it_has_ended(self):
        def again(at, faults=()):
            records = [held(1, "failed", exit=3, ended=40), held(2, "claimed", "n2", claimed=at - 1)]
            return self.served((served(1, 5, 40, status=3), living(2, at, "n2")), records, faults=faults)
        self.assert_broken(again(42))
        self.assert_broken(again(40.3), "contradictions")  # the pause is 1 s
        self.assert_broken(again(85), "losses")
        self.assert_broken(again(85, [Fault("pid1-hang", ("n2",), 45, 82)]))
        self.assert_broken(again(85, [Fault("pid1-hang", ("n3",), 45, 82)]), "losses")
        self.assert_broken(again(85, [Fault("server-freeze", ("zk1",), 45, 70)]))
        self.assert_broken(again(85, [Fault("drain", ("n2",), 45, 82)]), "losses")

    def test_pauses_double_and_a_stop_has_them_begin_anew(self):
        def paused(*ends, state="failed", faults=()):
            """Runs of 2 s that end after so many s of pause."""
            runs, records, at = [], [], 5.0
            for number, pause in enumerate((*ends, None), 1):
                if pause is None:
                    runs.append(living(number, at))
                    records.append(held(number, "claimed"))
                else:
                    last = number == len(ends)
                    runs.append(served(number, at, at + 2, status=143 if last and state == "stopped" else 3))
                    records.append(held(number, state if last else "failed", ended=at + 2, **({} if last and state == "stopped" else {"exit": 3})))
                    at += 2 + pause
            return self.served(runs, records, faults=faults, deeds=(Deed(policy.STOP, "job", 5, 40, 40),))
        self.assert_broken(paused(1, 2, 4, 4))
        self.assert_broken(paused(1, 1), "contradictions")
        self.assert_broken(paused(1, 2, 3), "contradictions")
        self.assert_broken(paused(1, 2, 1, state="stopped"))
        self.assert_broken(paused(1, 2, 0.3, state="stopped"), "contradictions")
        self.assert_broken(paused(1, 1, faults=[Fault("daemon-kill", ("n1",), 5, 5)]))  # what was lost at first has half the pause

    def test_what_was_down_in_the_beginning_or_is_in_the_end(self):
        self.assert_broken(self.served((living(1, 40),), [held(1, "claimed")]), "losses")
        self.assert_broken(self.served((), []), "losses")
        ended = [held(1, "failed", exit=3, ended=198)]
        self.assert_broken(self.served((served(1, 5, 198, status=3),), ended))  # it is in its pause
        self.assert_broken(self.served((served(1, 5, 150, status=3),), [held(1, "failed", exit=3, ended=150)]), "losses")

    def test_the_ledger_has_in_the_end_what_lives(self):
        two = (served(1, 5, 40, status=3), living(2, 42, "n2"))
        self.assert_broken(self.served(two, [held(1, "claimed"), held(2, "claimed", "n2")]), "contradictions")
        self.assert_broken(self.served((living(1, 5),), [held(1, "claimed"), held(2, "claimed", "n2", claimed=198)]), "contradictions")
        self.assert_broken(self.served(two, [held(1, "failed", exit=3, ended=40), held(2, "claimed", "n3")]), "contradictions")
        self.assert_broken(self.served(two, [held(1, "failed", exit=3, ended=40), held(2, "failed", "n2", exit=3, ended=190)]), "contradictions")
        self.assert_broken(self.served(two[1:], [held(1, "claimed", claimed=5), held(2, "claimed", "n2")], first=WALL + 30), "contradictions")

    def test_each_run_is_in_the_ledger_and_in_its_order(self):
        runs = (served(1, 5, 40, status=3), living(2, 42, "n2"))
        self.assert_broken(self.served(runs, [held(2, "claimed", "n2")]), "contradictions", "losses")
        self.assert_broken(self.served((served(2, 5, 40, status=3), living(1, 42, "n2")), [held(2, "failed", exit=3, ended=40), held(1, "claimed", "n2")]), "contradictions")
        self.assert_broken(self.served(runs, [held(1, "failed", exit=3, ended=40), held(2, "claimed", "n2")]))

    def test_a_claim_that_came_to_no_start_leaves_no_gap(self):
        records = [held(1, "failed", exit=3, ended=40), held(2, "unknown", "n3", claimed=42, ended=53), held(3, "claimed", "n2", claimed=54)]
        runs, kill = (served(1, 5, 40, status=3), living(3, 54, "n2")), Fault("node-kill", ("n3",), 41, 60)
        self.assert_broken(self.served(runs, records, faults=[kill]))
        self.assert_broken(self.served(runs, records), "unexplained")
        self.assert_broken(self.served(runs, [records[0], records[2]], faults=[kill]), "losses")

    def test_the_same_attempt_twice(self):
        self.assert_broken(self.served((served(1, 5, 40), living(1, 42, "n2")), [held(1, "claimed", "n2")], faults=[KILL]), "doubles")

    def test_another_tick_needs_another_definition(self):
        runs = (served(1, 5, 40, status=3), dataclasses.replace(living(1, 42, "n2"), tick=int(WALL) + 41, run="41-1"))
        records = [held(1, "failed", exit=3, ended=40), {**held(1, "claimed", "n2"), "tick": int(WALL) + 41, "run": "41-1"}]
        self.assert_broken(self.served(runs, records), "contradictions")
        self.assert_broken(self.served(runs, records, faults=[Fault("file-remove", ("n1",), 39, 45)]))

    def test_a_drain_ends_it_and_ends_nothing_else(self):
        drain, drained = Fault("drain", ("n1",), 39.5, 60), (("n1", 39.8, 60),)

        def moved(ended, **keys):
            return self.served((served(1, 5, ended), living(2, ended + 1, "n2")), [held(1, ended=ended), held(2, "claimed", "n2", claimed=ended + 0.5)], **keys)
        self.assert_broken(moved(40, faults=[drain], drained=drained))
        self.assert_broken(moved(40), "unexplained")
        self.assert_broken(moved(38, faults=[drain]), "unexplained")
        self.assert_broken(moved(50, faults=[drain], drained=drained), "contradictions")
        self.assert_broken(moved(50, faults=[drain, Fault("node-freeze", ("n1",), 40, 49)], drained=drained))

    def test_only_what_was_near_its_end_explains_that(self):
        def cut(begin):
            return self.served((served(1, 5, 100), living(2, 101, "n2")), [held(1, ended=100), held(2, "claimed", "n2")], faults=[Fault("net-cut", ("n1",), begin, begin + 10)])
        self.assert_broken(cut(88))
        self.assert_broken(cut(40), "unexplained")

    def test_what_somebody_stopped(self):
        runs, records = (served(1, 5, 40), living(2, 42, "n2")), [held(1, "stopped", ended=40), held(2, "claimed", "n2")]
        self.assert_broken(self.served(runs, records, deeds=(Deed(policy.STOP, "job", 39, 41, 41),)))
        self.assert_broken(self.served(runs, records), "unexplained")

    def test_uncovered(self):
        self.assertEqual([modes.uncovered(0, 10, covers) for covers in ((), ((2, 4),), ((-1, 3), (2, 5)), ((1, 2), (1, 8)), ((0, 20),), ((11, 12),))], [10, 8, 5, 3, 0, 10])


def roll(number_of_slots=1, **keys):
    """The jobs of n1, n2, n3."""
    return tuple(work.instances([Work("job", "job.yaml", 10, 1, mode=work.EACH_NODE, policy=Policy(slots=number_of_slots, **keys))], ("n1", "n2", "n3")))


class Rolls(Rules):
    STOP = "roll-stopped: failed on n1 (1000010-1); max-failures is 1"

    def rolled(self, runs, records=None, jobs=None, **keys):
        """Of the tick 10. `runs`: (node, start, end, status); `records`: {node: record}, of whom it is not as the runs."""
        jobs = jobs or roll()
        ran = [run(start, end, 10, node=node, job=f"job@{node}", status=status) for node, start, end, status in runs]
        found = evidence(ran, records=(), jobs=jobs, **{"last": WALL + 15, **keys})
        for job in jobs:
            own = [record(10, "failed" if one.status else "succeeded", node=one.node, **({"exit": one.status} if one.status else {})) for one in ran if one.job == job.name]
            found.ledger[job.name] = (records or {}).get(job.node, own)
        return verdict.judge(found)

    GOOD = (("n2", 10.1, 11.1, 0), ("n1", 11.3, 12.3, 0), ("n3", 12.4, 13.4, 0))

    def test_one_after_the_other(self):
        self.assert_broken(self.rolled(self.GOOD))

    def test_two_at_a_time(self):
        both = (("n2", 10.1, 11.1, 0), ("n1", 11, 12, 0), ("n3", 12.4, 13.4, 0))
        self.assert_broken(self.rolled(both), "overlaps")
        self.assert_broken(self.rolled(both, jobs=roll(2)))
        self.assert_broken(self.rolled((*both[:2], ("n3", 11.05, 12, 0)), jobs=roll(2)), "overlaps")

    def test_a_node_that_did_not_run_it(self):
        self.assert_broken(self.rolled(self.GOOD[:2]), "losses")
        missed = {"n3": [record(10, "skipped", node="n3", why="missed: no node started it in time, and a newer tick came")]}
        self.assert_broken(self.rolled(self.GOOD[:2], missed), "unexplained")
        self.assert_broken(self.rolled(self.GOOD[:2], missed, faults=[Fault("node-kill", ("n3",), 9, 15)]))
        self.assert_broken(self.rolled(self.GOOD[:2], missed, drained=(("n3", 9, 15),)))
        self.assert_broken(self.rolled(self.GOOD[:2], missed, drained=(("n2", 5, 9),)), "unexplained")

    def test_it_waited_for_its_turn_until_a_newer_tick_came(self):
        missed = {"n3": [record(10, "skipped", node="n3", why="missed: no node started it in time, and a newer tick came")]}
        self.assert_broken(self.rolled((self.GOOD[0], ("n1", 11.3, 16.5, 0)), missed))

    def test_a_node_ran_that_of_another(self):
        found = evidence([run(10.1, 11, 10, node="n2", job="job@n1")], jobs=roll()[:1], last=WALL + 15)
        self.assert_broken(verdict.judge(found), "contradictions")

    def test_a_node_ran_it_twice(self):
        self.assert_broken(self.rolled((*self.GOOD, ("n3", 14, 14.5, 0)), {"n3": [record(10, node="n3")]}), "doubles")

    def test_nobody_begins_after_so_many_failures(self):
        failing = (("n1", 10.1, 11, 3), ("n2", 11.2, 12, 3), ("n3", 12.2, 13, 3))
        stopped = {"n2": [record(10, "skipped", node="n2", why=self.STOP)], "n3": [record(10, "skipped", node="n3", why=self.STOP)]}
        self.assert_broken(self.rolled(failing))
        self.assert_broken(self.rolled(failing, jobs=roll(max_failures=3)))
        self.assert_broken(self.rolled(failing, jobs=roll(max_failures=2)), "contradictions")
        self.assert_broken(self.rolled(failing[:1], stopped, jobs=roll(max_failures=1)))
        # Of those who run together one may have begun before the failure was known.
        self.assert_broken(self.rolled(failing, jobs=roll(2, max_failures=2)))
        self.assert_broken(self.rolled((*failing[:2], ("n3", 18, 19, 3)), jobs=roll(2, max_failures=2)), "contradictions")

    def test_what_it_has_stopped_for_is_so(self):
        stopped = {"n2": [record(10, "skipped", node="n2", why=self.STOP)]}
        others = (("n1", 10.1, 11, 3), ("n3", 12.2, 13, 0))
        self.assert_broken(self.rolled(others, stopped, jobs=roll(max_failures=1)), "contradictions")  # n3 began
        good, one = (("n1", 10.1, 11, 0), ("n3", 12.2, 13, 0)), roll(max_failures=1)
        self.assert_broken(self.rolled(good, stopped, jobs=one), "unexplained")
        self.assert_broken(self.rolled(good, stopped, jobs=one, faults=[Fault("net-cut", ("n1",), 9, 15)]), "unexplained")
        both = {"n3": [record(10, "skipped", node="n3", why=self.STOP)], **stopped}
        self.assert_broken(self.rolled(others[:1], both, jobs=roll(max_failures=2)), "unexplained")
        # What was unknown by then and is made out since.
        lost = {name: [record(10, "skipped", node=name, why=self.STOP.replace("failed", "unknown"))] for name in ("n2", "n3")}
        self.assert_broken(self.rolled(others[:1], lost, jobs=one))
        by_hand = {**both, "n1": [record(10, "stopped")]}
        self.assert_broken(self.rolled(others[:1], by_hand, jobs=one, deeds=(Deed(policy.STOP, "job@n1", 9, 12, 12),)), "unexplained")

    def test_a_node_that_is_waited_for_after_its_run(self):
        jobs = roll(rejoin=15)
        self.assert_broken(self.rolled((("n1", 10.1, 11, 0), ("n2", 21, 22, 0), ("n3", 32.2, 33, 0)), jobs=jobs))
        self.assert_broken(self.rolled((("n1", 10.1, 11, 0), ("n2", 18, 19, 0), ("n3", 30, 31, 0)), jobs=jobs), "contradictions")
        late = "roll-stopped: n1 is not back since its run 1000010-1 (succeeded); rejoin-timeout is 15s"
        stopped = {name: [record(10, "skipped", node=name, why=late)] for name in ("n2", "n3")}
        self.assert_broken(self.rolled((("n1", 10.1, 11, 0),), stopped, jobs=jobs, faults=[Fault("node-kill", ("n1",), 11, 30)]))
        self.assert_broken(self.rolled((("n1", 10.1, 11, 0),), stopped, jobs=jobs, faults=[Fault("node-kill", ("n2",), 11, 30)]), "unexplained")
        self.assert_broken(self.rolled((("n1", 10.1, 11, 0),), stopped, faults=[Fault("node-kill", ("n1",), 11, 30)]), "unexplained")

    def test_of_each_node_ticks_come_in_their_order(self):
        found = evidence([run(20.1, 20.3, 20, job="job@n1"), run(21.1, 21.3, 10, job="job@n1")], jobs=roll(2)[:1])
        self.assert_broken(verdict.judge(found), "contradictions")


class UnderWay(Rules):
    """A run is under way from its claim on, however long its machine takes to start it."""

    def skipped(self, claimed, start, end=23):
        records = [record(10, claimed=claimed + WALL, ended=end + WALL), record(20, "skipped", why="overlap: the previous run was still under way")]
        return verdict.judge(evidence((run(start, end, 10),), records=records))

    def test_from_its_claim(self):
        self.assert_broken(self.skipped(12, 22.5))
        self.assert_broken(self.skipped(20.5, 22.5))
        self.assert_broken(self.skipped(21.5, 22.5), "unexplained")

    def test_also_where_it_never_started(self):
        records = [record(10, "interrupted", claimed=WALL + 12, ended=WALL + 19), record(20, "skipped", why="overlap: the previous run was still under way")]
        self.assert_broken(verdict.judge(evidence((), records=records, faults=[Fault("net-cut", ("n1",), 10, 12)], last=WALL + 25)))
        busy = verdict.under_way(evidence((), records=records), Work("job", "job.yaml", 10, 1), ())
        self.assertEqual(busy, [(12, 19)])
        self.assertEqual(verdict.under_way(evidence((), records=[record(10, "claimed", claimed=WALL + 12)]), Work("job", "job.yaml", 10, 1), ()), [(12, FOREVER)])


if __name__ == "__main__":
    unittest.main()

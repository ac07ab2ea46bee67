"""What a campaign's verdict says of the policies of jobs: each rule finds what is planted, and is quiet about what a policy allows. Needs no nodes."""

import dataclasses
import unittest

from siege import policy, verdict, work
from siege.policy import Deed
from siege.renaming import under_one_name
from siege.verdict import Fault
from siege.work import Policy, Work
from test_siege import WALL, evidence, record, run

TOLD = {"told": {"job": 1000.0}}
RETRIED = Work("job", "job.yaml", 10, 1, status=3, policy=Policy(attempts=3, delay=1))
NEAR = Fault("net-cut", ("n1",), 10, 12)


def attempt(number, start, end, status=3, tick=10):
    return dataclasses.replace(run(start, end, tick, status=status, identity=f"{int(tick + WALL)}-{number}"), attempt=str(number))


def told(number, state="failed", tick=10, **keys):
    return record(tick, state, **{"run": f"{int(tick + WALL)}-{number}", "attempt": number, **({"exit": 3} if state == "failed" else {}), **keys})


class Rules(unittest.TestCase):
    def judge(self, runs, records, job=RETRIED, **keys):
        """Of one tick, 10."""
        return verdict.judge(evidence(runs, records=records, jobs=(job,), **{"last": WALL + 15, **TOLD, **keys}))

    def assert_broken(self, found, *checks):
        self.assertEqual({check for check, sentences in found.broken.items() if sentences}, set(checks), found.broken)


class Attempts(Rules):
    GOOD = (attempt(1, 10.1, 10.3), attempt(2, 11.4, 11.6), attempt(3, 13.7, 13.9))
    TOLD = [told(1), told(2), told(3)]

    def test_those_in_order_are_good(self):
        self.assert_broken(self.judge(self.GOOD, self.TOLD))

    def test_in_another_order(self):
        self.assert_broken(self.judge((attempt(2, 10.1, 10.3), attempt(1, 12.4, 12.6)), self.TOLD[:2]), "contradictions", "losses")

    def test_too_early(self):
        self.assert_broken(self.judge((*self.GOOD[:2], attempt(3, 12.4, 12.6)), self.TOLD), "contradictions")

    def test_one_too_many(self):
        self.assert_broken(self.judge((*self.GOOD, attempt(4, 18, 18.2)), [*self.TOLD, told(4)]), "contradictions")

    def test_one_too_few_is_lost_where_no_fault_was_near(self):
        self.assert_broken(self.judge(self.GOOD[:2], self.TOLD[:2]), "losses")
        self.assert_broken(self.judge(self.GOOD[:2], self.TOLD[:2], faults=[NEAR]))
        self.assert_broken(self.judge(self.GOOD[:2], self.TOLD[:2], told={"job": 12.0}))  # it was still to come

    def test_after_a_success_or_an_end_that_is_not_attempted_again(self):
        self.assert_broken(self.judge((attempt(1, 10.1, 10.3, 0), self.GOOD[1], self.GOOD[2]), [told(1, "succeeded"), *self.TOLD[1:]]), "contradictions")
        refusing = dataclasses.replace(RETRIED, policy=Policy(attempts=3, delay=1, no_retry=(3,)))
        self.assert_broken(self.judge(self.GOOD[:1], self.TOLD[:1], job=refusing))
        self.assert_broken(self.judge(self.GOOD[:2], self.TOLD[:2], job=refusing), "contradictions")

    def test_what_was_lost_is_made_once_more_where_it_says_so(self):
        runs, records = (attempt(1, 10.1, 11, 143), attempt(2, 11.2, 12, 0)), [told(1, "interrupted"), told(2, "succeeded")]
        self.assert_broken(self.judge(runs, records, job=Work("job", "job.yaml", 10, 1, policy=Policy(rerun=True)), faults=[NEAR]))
        self.assert_broken(self.judge(runs, records, job=Work("job", "job.yaml", 10, 1), faults=[NEAR]), "contradictions")


    def test_a_pause_is_no_longer_than_the_most(self):
        job = dataclasses.replace(RETRIED, policy=Policy(attempts=3, delay=1, most_delay=1))
        self.assert_broken(self.judge((*self.GOOD[:2], attempt(3, 12.7, 12.9)), self.TOLD, job=job))
        self.assert_broken(self.judge((*self.GOOD[:2], attempt(3, 12, 12.2)), self.TOLD, job=job), "contradictions")


class Times(Rules):
    WINDOWED = Work("job", "job.yaml", 10, 1, policy=Policy(window=(20, 10)))
    PAUSE = Deed(policy.PAUSE, "job", 5, 5.1, 14)

    def test_a_window(self):
        # The epoch's second 1000010 is 10 s behind a window's beginning: outside.
        outside = record(10, "skipped", why="outside its window; the next begins at 20")
        self.assert_broken(self.judge((), [outside], job=self.WINDOWED))
        self.assert_broken(self.judge((), [outside]), "unexplained")
        self.assert_broken(self.judge((run(10.1, 10.2, 10),), None, job=self.WINDOWED), "contradictions")

        def inside(start, **keys):
            return verdict.judge(evidence((run(start, start + 0.2, 20),), jobs=(self.WINDOWED,), first=WALL + 15, **keys))
        self.assert_broken(inside(20.1))
        self.assert_broken(inside(43), "contradictions")
        self.assert_broken(inside(43, faults=[Fault("pid1-hang", ("n1",), 21, 42)]))

    def test_a_pause(self):
        paused = record(10, "skipped", why="paused")
        self.assert_broken(self.judge((), [paused], deeds=(self.PAUSE,)))
        self.assert_broken(self.judge((), [paused]), "unexplained")
        self.assert_broken(self.judge((run(10.1, 10.2, 10),), None, deeds=(self.PAUSE,)), "contradictions")
        self.assert_broken(self.judge((run(10.1, 10.2, 10),), None, deeds=(self.PAUSE,), faults=[Fault("node-freeze", ("n1",), 4, 10)]))
        unknown = dataclasses.replace(self.PAUSE, done=float("inf"))
        self.assert_broken(self.judge((run(10.1, 10.2, 10),), None, deeds=(unknown,)))

    def test_a_tick_that_there_is_not(self):
        excepting = Work("job", "job.yaml", 10, 1, policy=Policy(excepted=(int(WALL) % 60 + 10,)))
        self.assert_broken(self.judge((), [], job=excepting))
        self.assert_broken(self.judge((run(10.1, 10.2, 10),), [], job=excepting), "contradictions")
        self.assert_broken(self.judge((), [record(10, "skipped", why="overlap: the previous run was still under way")], job=excepting), "contradictions")
        self.assert_broken(self.judge((run(10.1, 10.2, 10), run(12.1, 12.2, 12)), [record(10), record(12)], job=Work("job", "job.yaml", 10, 1)), "contradictions")

    def test_a_delay_at_random(self):
        spread = Work("job", "job.yaml", 10, 1, policy=Policy(delayed=3))
        for start, faults, broken in ((10.1, (), ()), (15.5, (), ()), (16.5, (), ("contradictions",)), (16.5, (NEAR,), ())):
            with self.subTest(start=start, faults=faults):
                self.assert_broken(self.judge((run(start, start + 0.2, 10),), [record(10, "succeeded")], job=spread, faults=list(faults)), *broken)

    def test_ticks_in_another_order(self):
        runs = (run(20.1, 20.3, 20), run(21.1, 21.3, 10, "n2"))
        self.assert_broken(verdict.judge(evidence(runs)), "contradictions")
        beside = Work("job", "job.yaml", 10, 1, policy=Policy(slots=2))
        self.assert_broken(verdict.judge(evidence(runs, jobs=(beside,))))


class Ends(Rules):
    def test_what_was_replaced(self):
        runs, records = (run(10.1, 14, 10, status=143),), [record(10, "stopped", why="stopped by the tick 20, which takes its place")]
        self.assert_broken(self.judge(runs, records, job=Work("job", "job.yaml", 10, 1, policy=Policy(overlap="replace"))))
        self.assert_broken(self.judge(runs, records), "unexplained")

    def test_what_took_too_long(self):
        job, late = Work("job", "job.yaml", 10, 9, policy=Policy(timeout=2)), [record(10, "timed-out")]
        self.assert_broken(self.judge((run(10.1, 12.2, 10, status=143),), late, job=job))
        self.assert_broken(self.judge((run(10.1, 11, 10, status=143),), late, job=job), "unexplained")
        self.assert_broken(self.judge((run(12, 12.2, 10, status=143),), [{**late[0], "claimed": WALL + 10.1}], job=job))
        self.assert_broken(self.judge((run(12, 12.2, 10, status=143),), [{**late[0], "claimed": WALL + 11.5}], job=job), "unexplained")
        self.assert_broken(self.judge((run(10.1, 12.2, 10, status=143),), late), "unexplained")
        self.assert_broken(self.judge((run(10.1, 19, 10, status=143),), late, job=job), "contradictions")
        self.assert_broken(self.judge((run(10.1, 19, 10, status=143),), late, job=job, faults=[Fault("node-freeze", ("n1",), 11, 18)]))

    def test_what_was_replaced_is_gone_before_the_next_begins(self):
        job = Work("job", "job.yaml", 10, 1, policy=Policy(overlap="replace"))
        records = [record(10, "stopped", why="stopped by the tick 20, which takes its place"), record(20, node="n2")]
        self.assert_broken(verdict.judge(evidence((run(10.1, 20.2, 10, status=143), run(20.1, 21, 20, "n2")), records=records, jobs=(job,))), "overlaps")

    def test_what_somebody_stopped(self):
        runs, records = (run(10.1, 12, 10, status=143),), [record(10, "stopped", why="stopped by root")]
        self.assert_broken(self.judge(runs, records, deeds=(Deed(policy.STOP, "job", 11.9, 12.1, 12.1),)))
        self.assert_broken(self.judge(runs, records, deeds=(Deed(policy.STOP, "job", 14.9, 15.1, 15.1),)), "unexplained")


class ByHand(Rules):
    MANUAL = Work("job", "job.yaml", 0, 1)

    def test_it_is_in_the_ledger_and_was_started_once(self):
        ran = run(10.1, 11.1, identity="m-1")
        known = {"tick": None, "run": "m-1", "state": "succeeded", "node": "n1", "claimed": WALL + 10, "ended": WALL + 11}
        self.assert_broken(self.judge((ran,), [known], job=self.MANUAL))
        self.assert_broken(self.judge((ran,), [], job=self.MANUAL), "contradictions")
        self.assert_broken(self.judge((ran,), [], job=self.MANUAL, told={"job": 12.0}))
        self.assert_broken(self.judge((ran, dataclasses.replace(ran, start=12, end=13)), [known], job=self.MANUAL), "doubles")
        self.assert_broken(self.judge((), [known], job=self.MANUAL), "contradictions")


class Following(Rules):
    TELLS = dataclasses.replace(RETRIED, policy=Policy(attempts=3, delay=1, on_failure="mail"))
    MAIL = Work("mail", "mail.yaml", 0, 1, lock=work.NONE)

    def follows(self, parents, job=None, records=None, tells=TELLS, runs=Attempts.GOOD, **keys):
        """`parents`: the runs behind which the other one was run."""
        children = [{"tick": None, "run": f"c-{number}", "state": "succeeded", "node": "n1", "claimed": WALL + 14, "ended": WALL + 15, "parent_job": "job",
                     "parent_run": f"{int(WALL) + 10}-{parent}"} for number, parent in enumerate(parents)]
        ran = [run(14 + 0.1 * number, 14.1 + 0.1 * number, job="mail", identity=f"c-{number}") for number in range(len(children))]
        found = evidence((*runs, *ran), records=records or Attempts.TOLD, jobs=(tells, job or self.MAIL), first=WALL + 1, last=WALL + 15,
                         told={"job": 1000.0, "mail": 1000.0}, **keys)
        found.ledger["mail"] = children
        for one in found.ledger["job"]:
            one.setdefault("ended", WALL + 14)
        return verdict.judge(found)

    def test_the_last_attempt_is_followed_once(self):
        self.assert_broken(self.follows([3]))
        self.assert_broken(self.follows([]), "losses")
        self.assert_broken(self.follows([3, 3]), "doubles")

    def test_no_other_attempt_is(self):
        self.assert_broken(self.follows([2, 3]), "contradictions")

    def test_where_the_files_lacked_it_nothing_follows(self):
        self.assert_broken(self.follows([], faults=[Fault("file-remove", ("n1",), 10, 15)]))
        self.assert_broken(self.follows([], faults=[NEAR]), "losses")

    def test_after_a_success_only_what_is_to_follow_a_success(self):
        succeeded, runs = [told(1, "succeeded")], (attempt(1, 10.1, 10.3, 0),)
        head, after = Work("job", "job.yaml", 10, 1), dataclasses.replace(self.MAIL, policy=Policy(after=(("job", "success"),)))
        self.assert_broken(self.follows([1], after, succeeded, head, runs))
        self.assert_broken(self.follows([], after, succeeded, head, runs), "losses")
        self.assert_broken(self.follows([1], records=succeeded, runs=runs), "contradictions")

    def test_a_recovery_is_the_first_success_behind_a_failure(self):
        self.assertEqual([policy.asks(("on-recovery", ""), state, before) for state, before in
                          (("succeeded", "failed"), ("succeeded", "succeeded"), ("succeeded", None), ("failed", "failed"))], [True, False, False, False])

    def test_ends(self):
        self.assertEqual([policy.asks(("after", end), state, None) for end in ("success", "failure", "any") for state in ("succeeded", "unknown", "stopped")],
                         [True, False, False, False, True, False, True, True, True])


class Together(Rules):
    BOTH = (Work("left", "heads.yaml", 10, 1), Work("right", "heads.yaml", 10, 1))
    JOINED = Work("joined", "joined.yaml", 0, 1, policy=Policy(after=(("left", "success"), ("right", "any")), together=True))

    def joins(self, count=1, tick=10, states=("succeeded", "failed"), faults=()):
        """`count`: the runs behind the two for the tick."""
        parents = [run(10.1, 11, 10, job=job.name, status=int(state == "failed")) for job, state in zip(self.BOTH, states) if state]
        ran = [run(12 + number, 12.5 + number, job="joined", identity=f"c-{number}") for number in range(count)]
        found = evidence((*parents, *ran), records=(), jobs=(*self.BOTH, self.JOINED), first=WALL + 3, last=WALL + 19, told={"joined": 1000.0}, faults=faults)
        for job, state in zip(self.BOTH, states):
            found.ledger[job.name] = [record(10, state, ended=WALL + 11, **({"exit": 1} if state == "failed" else {}))]
        found.ledger["joined"] = [{"tick": None, "run": f"c-{number}", "state": "succeeded", "node": "n1", "claimed": WALL + 12, "ended": WALL + 13, "parent_job": "right",
                                   "parent_run": "x", "parent_tick": int(tick + WALL)} for number in range(count)]
        return verdict.judge(found)

    def test_once_for_a_tick_for_which_both_have_come(self):
        self.assert_broken(self.joins())
        self.assert_broken(self.joins(0), "losses")
        self.assert_broken(self.joins(0, faults=[Fault("file-remove", ("n1",), 9, 12)]))
        self.assert_broken(self.joins(0, faults=[NEAR]), "losses")
        self.assert_broken(self.joins(2), "doubles")

    def test_not_where_one_has_not(self):
        self.assert_broken(self.joins(0, states=("failed", "succeeded")))
        self.assert_broken(self.joins(1, states=("failed", "succeeded")), "contradictions")


class Renamed(Rules):
    JOB = Work("job", "job.yaml", 10, 1, renamed="new")
    DEED = Deed(policy.RENAME, "job", 12, 18, 18)

    def renamed(self, runs, records=None, **keys):
        joined, former = under_one_name([self.JOB], runs)
        return verdict.judge(evidence(joined, records=records, jobs=(self.JOB,), by_former_names=tuple(former), deeds=(self.DEED,), **keys))

    def test_it_goes_on_under_the_new_name(self):
        runs = (run(10.1, 11, 10), run(20.1, 21, 20, job="new"))
        self.assert_broken(self.renamed(runs))
        self.assert_broken(self.renamed((runs[0], run(20.1, 21, 20))), "losses")
        self.assert_broken(self.renamed((run(10.1, 11, 10, job="new"), run(20.1, 21, 20))), "contradictions")

    def test_it_is_one_job(self):
        once = [record(10), record(20)]
        self.assert_broken(self.renamed((run(10.1, 11, 10), run(20.1, 21, 20, job="new"), run(22, 23, 10, "n2", job="new")), once), "doubles", "contradictions")
        self.assert_broken(self.renamed((run(10.1, 20.5, 10), run(20.1, 21, 20, "n2", job="new"))), "overlaps")
        self.assert_broken(self.renamed((run(10.1, 11, 10), run(20.1, 21, 20, job="new")), once[:1]), "losses")

    def test_what_was_due_meanwhile_may_have_been_nobodys(self):
        def missed(since, done):
            records = [record(10), record(20, "skipped", why="missed: no node started it in time, and a newer tick came"), record(30)]
            joined, former = under_one_name([self.JOB], (run(10.1, 11, 10), run(30.1, 31, 30, job="new")))
            return verdict.judge(evidence(joined, records=records, jobs=(self.JOB,), by_former_names=tuple(former), deeds=(Deed(policy.RENAME, "job", since, done, done),)))
        self.assert_broken(missed(15, 22))
        self.assert_broken(missed(12, 16), "unexplained")

    def test_other_jobs_keep_their_names(self):
        self.assertEqual(under_one_name([self.JOB, RETRIED], [run(1, 2, job="other")]), ([run(1, 2, job="other")], []))


if __name__ == "__main__":
    unittest.main()

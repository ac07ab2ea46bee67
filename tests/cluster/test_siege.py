"""The parts of the fault campaign that need no nodes: a plan is its seed's, the verdict finds each kind of break and is quiet about a good history,
the report and the timeline say what there was."""

import os
import random
import subprocess
import sys
import unittest
import xml.etree.ElementTree

import history
from history import EXCLUSIVE, SHARED, Run
from siege import peace, plan, report, timeline, verdict, work
from siege.nemesis import Nemesis
from siege.policy import Deed
from siege.verdict import Evidence, Fault

CAMPAIGN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "campaign")
WALL = 1000000.0  # what the wall clock is ahead
JOB = work.Work("job", "job.yaml", 10, 1)
LASTING = work.Work("job", "job.yaml", 10, 1, continues=True)


def run(start, end, tick=None, node="n1", job="job", ended="end", status=0, token=None, identity=None):
    """`tick`: seconds on the history's clock, like the others."""
    epoch = None if tick is None else int(tick + WALL)
    return Run(node, job, epoch, "1", identity or f"{epoch}-1", start, end, ended, token, status)


def record(tick, state="succeeded", to=None, node="n1", **keys):
    epoch = int(tick + WALL)
    return {"tick": epoch, "run": f"{epoch}-1", "state": state, "node": node, **({"to": int(to + WALL)} if to else {}), **keys}


def evidence(runs=(), records=None, faults=(), jobs=(JOB,), **keys):
    """By default two ticks, 10 and 20, which ran well. `records`: the first job's, None where they are to be as the runs."""
    records = [record(one.tick - WALL, node=one.node) for one in runs if one.tick] if records is None else records
    return Evidence(**{"jobs": list(jobs), "holds": {**{job.name: job.holds() for job in jobs}, **verdict.command_holds()}, "runs": list(runs),
                       "faults": list(faults), "ledger": {jobs[0].name: records}, "first": WALL + 5, "last": WALL + 25, "wall": WALL,
                       "left_over": [], "crashes": [], **keys})


GOOD = (run(10.1, 11.1, 10, token=1), run(20.1, 21.1, 20, "n2", token=2))
FREEZE, HANG, CUT = Fault("node-freeze", ("n1",), 10, 15), Fault("daemon-hang", ("n1",), 10, 15), Fault("net-cut", ("n1",), 10, 15)


class Plans(unittest.TestCase):
    def test_a_seed_makes_the_same_plan_again_and_another_another(self):
        self.assertEqual(plan.draw(7, 300), plan.draw(7, 300))
        self.assertNotEqual(plan.draw(7, 300).steps, plan.draw(8, 300).steps)
        self.assertNotEqual(plan.draw(7, 300).jobs, plan.draw(8, 300).jobs)

    def test_every_kind_comes_and_there_is_a_method_for_it(self):
        found = {strike.kind for seed in range(10) for step in plan.draw(seed, 600).steps for strike in step.strikes}
        self.assertEqual(found, set(plan.KINDS))
        self.assertEqual([kind for kind in plan.KINDS if not hasattr(Nemesis, kind.replace("-", "_"))], [])

    def test_steps_come_one_after_the_other_and_leave_a_quiet_end(self):
        for seed in range(10):
            steps, reached = plan.draw(seed, 300).steps, 0.0
            for step in steps:
                self.assertGreater(step.at, reached)
                reached = step.at + max(strike.delay + strike.length for strike in step.strikes)
            self.assertLessEqual(reached, 300 - plan.QUIET)

    def test_faults_are_combined_and_never_strike_one_machine_twice_or_two_servers(self):
        both = [step.strikes for seed in range(10) for step in plan.draw(seed, 600).steps if len(step.strikes) > 1]
        self.assertTrue(both)
        for one, other in both:
            self.assertFalse(set(one.targets) & set(other.targets))
            self.assertFalse({plan.KINDS[one.kind].target, plan.KINDS[other.kind].target} <= {plan.SERVER, plan.LEADER})

    def test_what_is_aimed_strikes_alone_and_at_a_run_that_it_may_find(self):
        steps = [step for seed in range(10) for step in plan.draw(seed, 600).steps if any(strike.aim for strike in step.strikes)]
        self.assertTrue(steps)
        self.assertEqual({(len(step.strikes), len(step.strikes[0].targets), step.strikes[0].aim.split("-")[0]) for step in steps},
                         {(1, 1, "long"), (1, 1, "lasting"), (1, 1, "crowd"), (1, 1, "serving")})

    def test_only_the_kinds_that_are_asked_for(self):
        kinds = {strike.kind for step in plan.draw(3, 300, only=["net-cut", "daemon-kill"]).steps for strike in step.strikes}
        self.assertEqual(kinds, {"net-cut", "daemon-kill"})

    def test_the_program_prints_a_plan_and_refuses_unknown_faults(self):
        printed = subprocess.run([sys.executable, CAMPAIGN, "--plan", "--seed=5", "--minutes=2"], check=True, capture_output=True, text=True).stdout
        self.assertEqual(printed, f"{plan.draw(5, 120)}\n")
        refused = subprocess.run([sys.executable, CAMPAIGN, "--plan", "--faults=net-cut,rain"], check=False, capture_output=True, text=True)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("rain", refused.stderr)


class Jobs(unittest.TestCase):
    def test_there_are_about_fifty_of_every_shape(self):
        jobs = work.draw(random.Random(1))
        self.assertTrue(45 <= len(jobs) <= 60, len(jobs))
        self.assertEqual({job.every for job in jobs if job.every in (1, 60)}, {1, 60})
        self.assertTrue(any(job.stubborn for job in jobs) and any(job.children for job in jobs) and any(len(job.locks) > 1 for job in jobs))
        self.assertGreater(max(job.seconds for job in jobs), 2 * plan.SESSION)

    def test_every_policy_is_there_and_who_follows_follows_a_job_that_there_is(self):
        jobs = {job.name: job for job in work.draw(random.Random(1))}
        policies = [job.policy for job in jobs.values()]
        self.assertEqual({policy.overlap for policy in policies}, {"skip", "queue", "replace", "allow"})
        keys = {key for policy in policies for key in policy.keys()}
        self.assertEqual(keys, {"overlap", "slots", "retries", "no-retry", "on-owner-lost", "after", "on-failure", "on-recovery", "window", "random-delay", "dst", "catch-up",
                                "lock-wait", "expect-within", "except", "timeout", "max-failures", "rejoin-timeout"})
        self.assertEqual({job.mode for job in jobs.values()}, {work.ONCE, work.EACH_NODE, work.SERVICE})
        self.assertTrue(any(policy.together for policy in policies))
        self.assertEqual([job.under_new_name().yaml().splitlines()[:2] for job in jobs.values() if job.renamed], [["  renamed-1:", "    was: renaming-1"]])
        linked = {name for policy in policies for name in (policy.on_failure, policy.on_recovery, *(name for name, _ in policy.after)) if name}
        self.assertLessEqual(linked | {work.MANUAL, work.PAUSING, work.SERVING}, jobs.keys())

    def test_of_what_runs_on_each_node_there_is_one_for_each_under_one_lock(self):
        both = work.instances([work.Work("a", "a.yaml", 10, 1, mode=work.EACH_NODE), JOB], ("n1", "n2"))
        self.assertEqual([(job.name, job.node) for job in both], [("a@n1", "n1"), ("a@n2", "n2"), ("job", "")])
        self.assertEqual([job.holds() for job in both[:2]], [{"job:a": (EXCLUSIVE, 0)}] * 2)

    def test_ticks(self):
        self.assertEqual(JOB.due(5, 25), [10, 20])
        self.assertEqual(work.Work("a", "a.yaml", 10, 1, policy=work.Policy(excepted=(20,))).due(5, 85), [10, 30, 40, 50, 60, 70])
        self.assertEqual(work.Work("a", "a.yaml", 0, 1).due(5, 25), [])
        self.assertEqual([job.follows() for job in (JOB, work.Work("a", "a.yaml", 0, 1), work.Work("a", "a.yaml", 0, 1, mode=work.SERVICE))], [False, True, False])

    def test_what_a_job_holds(self):
        self.assertEqual(JOB.holds(), {"job:job": (EXCLUSIVE, 0)})
        self.assertEqual(work.Work("a", "a.yaml", 1, 1, lock=work.NONE).holds(), {})
        self.assertEqual(work.Work("a", "a.yaml", 1, 1, policy=work.Policy(slots=2)).holds(), {"job:a": (EXCLUSIVE, 2)})
        both = work.Work("a", "a.yaml", 1, 1, locks=(("data", SHARED), ("pool", EXCLUSIVE)), lock=SHARED)
        self.assertEqual(both.holds(), {"job:a": (SHARED, 0), "data": (SHARED, 0), "pool": (EXCLUSIVE, work.POOL_SLOTS)})


class Verdicts(unittest.TestCase):
    """Each check finds what is planted, and nothing where there is nothing."""

    def assert_broken(self, found, *checks):
        self.assertEqual({check for check, sentences in found.broken.items() if sentences}, set(checks), found.broken)

    def judge(self, *arguments, **keys):
        return verdict.judge(evidence(*arguments, **keys))

    def test_a_good_history_is_quiet(self):
        found = self.judge(GOOD)
        self.assert_broken(found)
        self.assertTrue(found.good())
        self.assertEqual(found.excused, {})

    def test_a_tick_started_twice(self):
        found = self.judge((*GOOD, run(15, 16, 10, "n3", token=1)), records=[record(10), record(20, node="n2")])
        self.assert_broken(found, "doubles", "tokens")

    def test_an_overlap_to_the_beat(self):
        self.assert_broken(self.judge((run(10.1, 20.15, 10), GOOD[1])), "overlaps")
        self.assert_broken(self.judge((run(10.1, 20.1, 10), GOOD[1])))

    def test_an_overlap_with_what_it_left_behind(self):
        child = "10100000 n1 job {0} 1 {0}-1 start instance=x token=1\n11000000 n1 job {0} 1 {0}-1 end instance=x token=1 status=0\n20150000 n1 job {0} 1 {0}-1 alive instance=x token=1\n"
        left, = history.runs(history.parse(child.format(int(WALL) + 10)))
        self.assert_broken(self.judge((left, GOOD[1])), "overlaps")

    def test_an_overlap_at_a_shared_resource(self):
        reader, writer = (work.Work(name, f"{name}.yaml", 10, 1, locks=(("data", mode),)) for name, mode in (("reader", SHARED), ("writer", EXCLUSIVE)))
        command = run(10, 12, node="n3", job="cmd-read", identity="-")

        def of(job):
            return evidence((run(11, 11.5, 10, job=job.name), run(20, 21, 20, job=job.name), command), records=[record(10), record(20)], jobs=(job,))
        self.assert_broken(verdict.judge(of(reader)))
        self.assert_broken(verdict.judge(of(writer)), "overlaps")

    def test_one_more_than_the_slots(self):
        two = [run(12, 14, node=node, job="cmd-pool", identity="-") for node in ("n1", "n2")]
        self.assert_broken(self.judge((*GOOD, *two)))
        self.assert_broken(self.judge((*GOOD, *two, run(13, 13.5, node="n3", job="cmd-pool", identity="-"))), "overlaps")

    def test_an_overlap_with_a_foreign_program(self):
        job = work.Work("job", "job.yaml", 10, 1, locks=(("java", EXCLUSIVE),))
        self.assert_broken(self.judge((*GOOD, run(20.5, 22, node="curator", job="curator", identity="-")), jobs=(job,)), "overlaps")

    def test_a_token_that_does_not_grow(self):
        self.assert_broken(self.judge((GOOD[0], run(20.1, 21.1, 20, "n2", token=1))), "tokens")

    def test_a_node_that_stood_still_excuses_an_overlap_on_it_and_no_other(self):
        late, other = run(10.1, 20.5, 10), run(20.1, 21.1, 20, "n2")
        found = self.judge((late, other), faults=[Fault("node-freeze", ("n1",), 11, 20.2)])
        self.assert_broken(found)
        self.assertEqual([len(sentences) for sentences in found.excused.values()], [1])
        self.assert_broken(self.judge((late, other), faults=[Fault("node-freeze", ("n3",), 11, 20.2)]), "overlaps")

    def test_a_daemon_that_hung_excuses_it_only_where_there_is_no_fence(self):
        runs = (run(10.1, 20.5, 10), run(20.1, 21.1, 20, "n2"))
        self.assert_broken(self.judge(runs, faults=[HANG]), "overlaps")
        self.assert_broken(self.judge(runs, faults=[HANG], fenced=False))
        self.assert_broken(self.judge(runs, faults=[CUT], fenced=False), "overlaps")

    def test_a_tick_without_a_final_state(self):
        self.assert_broken(self.judge(GOOD, records=[record(10)]), "losses")
        self.assert_broken(self.judge(GOOD, records=[record(10), record(20, "claimed")]), "losses")

    def test_a_tick_with_two_final_states(self):
        self.assert_broken(self.judge(GOOD, records=[record(10), record(20), record(20, "interrupted", why="it was not")]), "contradictions", "unexplained")

    def test_succeeded_without_an_end_or_with_another_status_or_never_started(self):
        for bad in (run(20.1, 20.5, 20, "n2", ended="alive", status=None), run(20.1, 21.1, 20, "n2", status=3), run(20.1, 21.1, 20, "n2", status=143)):
            self.assert_broken(self.judge((GOOD[0], bad), records=[record(10), record(20, node="n2")]), "contradictions")
        self.assert_broken(self.judge(GOOD[:1], records=[record(10), record(20)]), "contradictions")

    def test_failed_with_a_status_that_it_did_not_have(self):
        failed = record(20, "failed", exit=3)
        self.assert_broken(self.judge((GOOD[0], run(20.1, 21.1, 20, status=3)), records=[record(10), failed]))
        self.assert_broken(self.judge(GOOD, records=[record(10), failed]), "contradictions")

    def test_what_ran_and_is_recorded_as_skipped(self):
        found = self.judge(GOOD, records=[record(10), record(20, "skipped", why="missed: no node started it in time")], faults=[CUT])
        self.assert_broken(found, "contradictions")

    def test_a_run_long_before_its_tick(self):
        self.assert_broken(self.judge((run(7.8, 8, 10), GOOD[1])), "contradictions")
        self.assert_broken(self.judge((run(8.2, 9, 10), GOOD[1])))

    def test_a_record_with_another_token(self):
        self.assert_broken(self.judge(GOOD, records=[record(10, token=1), record(20, token=3)]), "contradictions")

    def test_what_was_cut_short_is_explained_by_a_fault_on_its_node_only(self):
        runs, records = (GOOD[0], run(20.1, 20.4, 20, "n2", status=143)), [record(10), record(20, "interrupted", node="n2", why="its locks were lost")]
        self.assert_broken(self.judge(runs, records=records), "unexplained")
        self.assert_broken(self.judge(runs, records=records, faults=[CUT]), "unexplained")
        self.assert_broken(self.judge(runs, records=records, faults=[Fault("net-cut", ("n2",), 10, 15)]))
        self.assert_broken(self.judge(runs, records=records, faults=[Fault("server-kill", ("zk1",), 10, 15)]))
        self.assert_broken(self.judge(runs, records=records, faults=[Fault("leader-change", (), 10, 15)]))

    def test_one_that_continues_is_waited_for_whatever_stood_still(self):
        runs = (run(10.1, 20.5, 10), run(20.1, 21.1, 20, "n2"))
        self.assert_broken(self.judge(runs, faults=[Fault("node-freeze", ("n1",), 11, 20.2)], jobs=(LASTING,)), "overlaps")

    def test_one_that_continues_is_not_cut_short_by_the_loss_of_its_locks(self):
        runs, records = (run(10.1, 14, 10, status=143), GOOD[1]), [record(10, "interrupted"), record(20, node="n2")]
        self.assert_broken(self.judge(runs, records=records, faults=[CUT]))
        self.assert_broken(self.judge(runs, records=records, faults=[CUT], jobs=(LASTING,)), "unexplained")
        self.assert_broken(self.judge(runs, records=records, faults=[CUT, Fault("node-kill", ("n1",), 12, 15)], jobs=(LASTING,)))
        self.assert_broken(self.judge(GOOD[1:], records=records, faults=[CUT], jobs=(LASTING,)))  # it was not started

    def test_a_drain_explains_nothing_and_keeps_runs_away(self):
        records = [record(10, "interrupted"), record(20, node="n2")]
        self.assert_broken(self.judge((run(10.1, 14, 10, status=143), GOOD[1]), records=records, faults=[Fault("drain", ("n1",), 9, 15)]), "unexplained")
        self.assert_broken(self.judge(GOOD, drained=(("n2", 8, 16),)))
        self.assert_broken(self.judge(GOOD, drained=(("n1", 9, 16),)))  # it was claimed before
        self.assert_broken(self.judge(GOOD, drained=(("n1", 6, 16),)), "contradictions")

    def test_whoever_is_drained_answers_for_ticks_beside_its_run(self):
        runs, records = (run(10.1, 24, 10),), [record(10), record(20, "skipped", why="missed: no node started it in time, and a newer tick came")]
        self.assert_broken(self.judge(runs, records=records), "unexplained")
        self.assert_broken(self.judge(runs, records=records, drained=(("n1", 15, 30),)), "unexplained")
        records[1]["why"] = "overlap: the previous run was still under way"
        self.assert_broken(self.judge(runs, records=records, drained=(("n1", 15, 30),)))

    def test_a_skip_needs_a_reason(self):
        missed = [record(10, "skipped", why="missed: no node started it in time", to=20)]
        self.assert_broken(self.judge((), records=missed), "unexplained")
        self.assert_broken(self.judge((), records=missed, faults=[CUT]))
        overlap = [record(10), record(20, "skipped", why="overlap: the previous run was still under way")]
        self.assert_broken(self.judge((run(10.1, 21, 10),), records=overlap))
        self.assert_broken(self.judge((run(10.1, 11, 10),), records=overlap), "unexplained")

    def test_a_tick_that_waited_in_a_queue_until_a_newer_one_came(self):
        reader = work.Work("reader", "reader.yaml", 10, 1, locks=(("data", SHARED),))
        missed = [record(10, "skipped", why="missed: no node started it in time, and a newer tick came"), record(20)]

        def of(*commands):
            return verdict.judge(evidence((run(20.1, 21.1, 20, job="reader"), *commands), records=missed, jobs=(reader,)))
        self.assert_broken(of(), "unexplained")
        self.assert_broken(of(run(12, 16.5, job="cmd-data", identity="-")))
        self.assert_broken(of(run(12, 14.5, job="cmd-data", identity="-")), "unexplained")
        self.assert_broken(of(run(17, 18, job="cmd-data", identity="-")), "unexplained")
        self.assert_broken(of(run(12, 16.5, job="cmd-read", identity="-")), "unexplained")

    def test_what_is_left_over_and_what_crashed(self):
        self.assert_broken(self.judge(GOOD, left_over=["n1: unit x"]), "left over")
        self.assert_broken(self.judge(GOOD, crashes=["n1: ABRT"]), "crashes")


class Memories(unittest.TestCase):
    def test_what_is_not_told_any_more_stays_and_what_is_told_again_counts_as_it_is_now(self):
        early = peace.merged({}, [record(10), record(20, "claimed"), record(30, "skipped", why="missed")])
        late = peace.merged(early, [record(20, "succeeded"), record(40)])
        self.assertEqual([(one["tick"] - int(WALL), one["state"]) for one in late.values()],
                         [(10, "succeeded"), (20, "succeeded"), (30, "skipped"), (40, "succeeded")])

    def test_a_tick_that_was_recorded_twice_is_not_taken_for_one(self):
        skipped = {key: value for key, value in record(20, "skipped", why="missed: no node started it in time").items() if key != "run"}
        kept = peace.merged(peace.merged({}, [skipped]), [record(10), record(20, node="n2")])
        self.assertTrue(verdict.judge(evidence(GOOD, records=list(kept.values()))).broken["contradictions"])


class Twins(unittest.TestCase):
    def test_contenders_of_one_attempt_are_found_and_others_are_not_taken_for_such(self):
        one, other = "5d0e0000-0000-8000-8000-000000000001", "5d0e0000-0000-8000-8000-000000000002"
        dump = f"""Sessions with Ephemerals (2):
0x1:
\t/jobkeeper/nodes/n1
\t/jobkeeper/locks/job:a/_c_{one}-__WRIT__0000000001
\t/jobkeeper/locks/job:b/_c_{other}-__WRIT__0000000001
"""
        self.assertEqual(peace.twins(dump), {})
        again = f"/jobkeeper/locks/job:a/_c_{one}-__WRIT__0000000002"
        self.assertEqual(peace.twins(f"{dump}\t{again}\n"), {one: {f"/jobkeeper/locks/job:a/_c_{one}-__WRIT__0000000001", again}})


class Ledgers(unittest.TestCase):
    def test_what_is_claimed_for_ever_is_found(self):
        told = ["Connecting to 10.99.0.11:2181", '{"v":1, "mark":10, "open":[{"tick":20, "run":"20-1", "node":"n1", "state":"succeeded"}]}', "get: is no ledger",
                '{"v":1, "mark":10, "open":[]}']
        self.assertEqual(list(peace.claimed_for_ever("\n".join(told))), [])
        told.append('{"v":1, "mark":10, "open":[{"tick":20, "run":"20-1", "node":"n1", "state":"claimed"}]}')
        self.assertEqual([entry["run"] for entry in peace.claimed_for_ever("\n".join(told))], ["20-1"])


class Reports(unittest.TestCase):
    def test_percentiles(self):
        self.assertEqual(report.percentiles(range(1, 101)), (50.5, 100, 100))
        self.assertIsNone(report.percentiles([]))

    def test_lateness_is_from_the_tick_and_apart_near_faults(self):
        late = report.lateness(evidence(GOOD, faults=[Fault("net-cut", ("n1",), 20, 20)]))
        self.assertEqual({name: [round(value, 3) for value in values] for name, values in late.items()}, {"calm": [0.1], "faults": [0.1]})

    def test_failover_is_from_the_last_beat_or_from_the_next_tick(self):
        cut = run(10.1, 10.5, 10, ended="dead", status=None)
        self.assertEqual([round(value, 3) for value in report.failovers(evidence((cut, GOOD[1])))], [0.1])
        self.assertEqual([round(value, 3) for value in report.failovers(evidence((run(10.1, 21.0, 10, ended="alive", status=None), run(23, 24, 20))))], [2.0])
        self.assertEqual(report.failovers(evidence(GOOD)), [])

    def test_distance_of_what_was_cut_short_to_the_next_holder(self):
        runs = (run(10.1, 18, 10, ended="dead", status=None), GOOD[1])
        self.assertEqual([round(value, 3) for value in report.distances(evidence(runs))], [2.1])

    def test_the_text_has_what_was_found(self):
        skipped = record(20, "skipped", why="outside its window; the next begins at 30")
        found = evidence((GOOD[0], run(11, 12, 20, "n2")), records=[record(10)], faults=[CUT], deeds=(Deed("stop", "job", 1, 2, 2),))
        self.assertEqual(report.states(evidence(GOOD[:1], records=[record(10), skipped])), {"succeeded": 1, "skipped (outside its window)": 1})
        text = report.text(plan.draw(1, 60), found, verdict.judge(found))
        for words in ("seed 1,", "net-cut 1", "1 overlaps", "1 losses", "1 succeeded, 1 lost", "0 runs followed others, 0 were further attempts; by hand: 1 stop", "forceSnapshotSync", "overlaps: job:job: job tick"):
            self.assertIn(words, text)


class Timelines(unittest.TestCase):
    def test_runs_at_once_have_lanes_of_their_own(self):
        placed, count = timeline.lanes([one := run(1, 5), two := run(2, 3), three := run(3, 4), four := run(5, 6)])
        self.assertEqual(([placed[id(each)] for each in (one, two, three, four)], count), ([0, 1, 1, 0], 2))

    def test_the_picture_is_well_formed_and_has_every_run_and_fault(self):
        picture = timeline.draw([*GOOD, run(12, history.FOREVER, job="a<b>&", ended="open", status=None)], [CUT, Fault("leader-change", (), 12, 13)],
                                ("n1", "n2"), ("zk1",), 5, 25)
        titles = [element.text for element in xml.etree.ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}title")]
        self.assertEqual(len(titles), 3 + 1 + 2)
        self.assertTrue(any("a<b>&" in title for title in titles) and any(title.startswith("net-cut n1") for title in titles))


if __name__ == "__main__":
    unittest.main()

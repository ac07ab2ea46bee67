/* Every policy on due, missed and overlapping ticks and on attempts, in tables. */
#include "decision-cells.h"

Test(decision, fresh_ticks_at_each_rank) {
        static const DecisionCell cells[] = {
            {"not yet", 99999, 0, "nothing, again 100"},
            {"rank 0 at once", 100000, 0, "run 100, again 200"},
            {"rank 1 not yet", 100000, 1, "nothing, again 102"},
            {"rank 1 still not", 101999, 1, "nothing, again 102"},
            {"rank 1", 102000, 1, "run 100, again 202"},
            {"rank 2 not yet", 103999, 2, "nothing, again 104"},
            {"rank 2", 104000, 2, "run 100, again 204"},
            {"rank 3 not yet", 105999, 3, "nothing, again 106"},
            {"rank 3", 106000, 3, "run 100, again 206"},
            {"to the end of its freshness", 110000, 0, "run 100, again 200"},
            {"before anything is owed", 20000, 0, "nothing, again 100"},
            {"the next one", 150000, 1, "nothing, again 202",
             "{'run':'100-1','state':'failed','tick':100}"},
        };

        EXPECT_CELLS(cells);
}

/* An attempt that ended as a failure; the next one may begin at 115 s. */

Test(decision, a_retry_is_taken_as_a_tick_is) {
        static const DecisionCell cells[] = {
            {"not yet", 114999, 0, "nothing, again 115", RETRY_100},
            {"rank 0 at once", 115000, 0, "run 100, again 175", RETRY_100},
            {"rank 1 not yet", 116999, 1, "nothing, again 117", RETRY_100},
            {"rank 1", 117000, 1, "run 100, again 175", RETRY_100},
            {"rank 3 not yet", 120999, 3, "nothing, again 121", RETRY_100},
            {"rank 3", 121000, 3, "run 100, again 175", RETRY_100},
            {"not rank 4", 130000, PLACEMENT_RANKS, "nothing, never again", RETRY_100},
            {"it need not be fresh", 160000, 0, "run 100, again 175", RETRY_100},
            {"nor to be caught up", 160000, 0, "run 100, again 175", RETRY_100,
             .catch_up = JOB_CATCH_UP_NONE},
        };

        EXPECT_CELLS(cells);
}

Test(decision, past_its_start_deadline_it_is_given_up) {
        static const DecisionCell cells[] = {
            {"up to it", 175000, 0, "run 100, again 175", RETRY_100},
            {"past it", 175001, 0,
             "give up 100-100 x1 (missed: the start deadline passed), nothing, again 175.001",
             RETRY_100},
            {"by rank 3 as well", 175001, 3,
             "give up 100-100 x1 (missed: the start deadline passed), nothing, again 175.001",
             RETRY_100},
            {"not by rank 4", 175001, PLACEMENT_RANKS, "nothing, never again", RETRY_100},
            {"before anything else", 205000, 0,
             "give up 100-100 x1 (missed: the start deadline passed), nothing, again 205",
             RETRY_100},
            {"where nobody can run it", 175001, 0,
             "give up 100-100 x1 (no node could run it), nothing, again 175.001", RETRY_100,
             .nobody = true},
            {"rank 1 gives rank 0 time", 175001, 1, "nothing, again 177", RETRY_100,
             .nobody = true},
            {"nor is it begun", 130000, 0, "nothing, again 175", RETRY_100, .nobody = true},
        };

        EXPECT_CELLS(cells);
}

#define OFF(seconds)                                                                               \
        "{'run':'100-1','state':'failed','tick':100,'attempt':1,'node':'n1','not_before':" seconds \
        "}"

/* The longest pause is a day. The clock by which it was counted was set back since. */
Test(decision, what_is_further_off_than_any_pause_is_given_up) {
        static const DecisionCell cells[] = {
            {"two days", 150000, 0, "nothing, again 200", OFF("172950")},
            {"more", 150000, 0,
             "give up 100-100 x1 (the ZooKeeper servers' clock was wrong when the attempt before "
             "ended), nothing, again 150",
             OFF("172950.001")},
            {"where nobody can run it", 150000, 1,
             "give up 100-100 x1 (the ZooKeeper servers' clock was wrong when the attempt before "
             "ended), nothing, again 150",
             OFF("99999999"), .nobody = true},
        };

        EXPECT_CELLS(cells);
}

Test(decision, a_tick_that_comes_meanwhile_is_skipped) {
        static const DecisionCell cells[] = {
            {"at its turn", 200000, 0, "skip 200-200 x1 (" EARLIER "), nothing, again 250", LATE},
            {"rank 1 later", 201999, 1, "nothing, again 202", LATE},
            {"rank 1", 202000, 1, "skip 200-200 x1 (" EARLIER "), nothing, again 252", LATE},
            {"one that is not fresh", 215000, 0,
             "skip 200-200 x1 (" EARLIER "), nothing, again 250", LATE},
            {"one that is too late anyway", 261000, 0,
             "skip 200-200 x1 (" EXPIRED "), nothing, again 300", LATE},
            {"before the retry is begun", 250000, 0,
             "skip 200-200 x1 (" EARLIER "), nothing, again 300", LATE},
            {"then", 250000, 0, "run 100, again 300",
             LATE ",{'run':'200-0','state':'skipped','tick':200}"},
        };

        EXPECT_CELLS(cells);
}

Test(decision, what_is_run_by_hand_is_waited_for) {
        static const DecisionCell cells[] = {
            {"elsewhere", 130000, 0, "watch, again 175", RETRY_100 BY_HAND("n2")},
            {"here we hear of its end", 130000, 0, "nothing, again 175", RETRY_100 BY_HAND("n1")},
            {"it is given up all the same", 176000, 0,
             "give up 100-100 x1 (missed: the start deadline passed), nothing, again 176",
             RETRY_100 BY_HAND("n2")},
        };

        EXPECT_CELLS(cells);
}

Test(decision, who_may_take_a_retry_watches_the_attempt_before) {
        static const DecisionCell cells[] = {
            {"elsewhere", 105000, 0, "watch, again 200", AGAIN("n2")},
            {"rank 3", 107000, 3, "watch, again 206", AGAIN("n2")},
            {"not rank 4", 107000, PLACEMENT_RANKS, "nothing, never again", AGAIN("n2")},
            {"our own", 105000, 0, "nothing, again 200", AGAIN("n1")},
            {"one after which none follows", 105000, 0, "nothing, again 200", OTHER_100},
        };

        EXPECT_CELLS(cells);
}

Test(decision, whoever_is_no_candidate_does_nothing) {
        static const DecisionCell cells[] = {
            {"fresh", 105000, PLACEMENT_RANKS, "nothing, never again"},
            {"stale", 115000, PLACEMENT_RANKS, "nothing, never again"},
            {"expired", 190000, PLACEMENT_RANKS, "nothing, never again"},
            {"not one of them at all", 115000, PLACEMENT_NONE, "nothing, never again"},
        };

        EXPECT_CELLS(cells);
}

Test(decision, what_nobody_can_run_is_skipped_once_its_deadline_passed) {
        static const DecisionCell cells[] = {
            {"due", 100000, 0, "nothing, again 160", .nobody = true},
            {"not fresh any more", 130000, 0, "nothing, again 160", .nobody = true},
            {"to its deadline", 160000, 0, "nothing, again 160", .nobody = true},
            {"past it", 161000, 0, "skip 100-100 x1 (no node could run it), nothing, again 260",
             .nobody = true},
            {"rank 1 gives rank 0 time", 161000, 1, "nothing, again 162", .nobody = true},
            {"several", 400000, 0, "skip 100-300 x3 (no node could run it), nothing, again 460",
             .nobody = true},
            {"not by rank 4", 161000, PLACEMENT_RANKS, "nothing, never again", .nobody = true},
        };

        EXPECT_CELLS(cells);
}

Test(decision, a_tick_that_is_not_fresh_any_more) {
        static const DecisionCell cells[] = {
            {"latest: is run", 110001, 0, "run 100, again 200"},
            {"latest: at any rank", 110001, 3, "run 100, again 206"},
            {"latest: to its deadline", 160000, 0, "run 100, again 200"},
            {"latest: not later", 160001, 0, "skip 100-100 x1 (" EXPIRED "), nothing, again 200"},
            {"none: fresh", 110000, 0, "run 100, again 200", .catch_up = JOB_CATCH_UP_NONE},
            {"none: is not run", 110001, 0, "skip 100-100 x1 (" NOBODY "), nothing, again 200",
             .catch_up = JOB_CATCH_UP_NONE},
            {"none: past its deadline", 160001, 0,
             "skip 100-100 x1 (" EXPIRED "), nothing, again 200", .catch_up = JOB_CATCH_UP_NONE},
        };

        EXPECT_CELLS(cells);
}

Test(decision, several_missed_ticks) {
        static const DecisionCell cells[] = {
            {"latest runs the newest", 455000, 0,
             "skip 100-300 x3 (" NEWER "), run 400, again 500"},
            {"none runs none", 455000, 0, "skip 100-400 x4 (" NOBODY "), nothing, again 500",
             .catch_up = JOB_CATCH_UP_NONE},
            {"too late for all", 461000, 0, "skip 100-400 x4 (" EXPIRED "), nothing, again 500"},
            {"the newest is in time", 461000, 0, "skip 100-300 x3 (" NEWER "), run 400, again 500",
             .deadline = 1000},
            {"a fresh one takes their place", 500000, 0,
             "skip 100-400 x4 (" NEWER "), run 500, again 600", .deadline = 1000},
            {"also before its turn", 500000, 1, "skip 100-400 x4 (" NEWER "), nothing, again 502",
             .deadline = 1000},
            {"none, and a fresh one", 500000, 0, "skip 100-400 x4 (" NEWER "), run 500, again 600",
             .deadline = 1000, .catch_up = JOB_CATCH_UP_NONE},
            {"too late, and a fresh one", 500000, 0,
             "skip 100-400 x4 (" EXPIRED "), run 500, again 600"},
        };

        EXPECT_CELLS(cells);
}

Test(decision, decided_ticks_lie_between) {
        static const DecisionCell cells[] = {
            {"one range a gap", 455000, 0,
             "skip 100-100 x1 (" NEWER "), skip 300-300 x1 (" NEWER "), run 400, again 500",
             "{'run':'200-1','state':'failed','tick':200}"},
            {"the newest is done", 455000, 0, "skip 100-200 x2 (" NEWER "), run 300, again 500",
             "{'run':'400-1','state':'failed','tick':400}", .deadline = 1000},
            {"a skipped range is jumped over", 655000, 0,
             "skip 100-100 x1 (" NEWER "), skip 500-500 x1 (" NEWER "), run 600, again 700",
             "{'run':'200-0','state':'skipped','tick':200,'to':400,'count':3}"},
        };

        EXPECT_CELLS(cells);
}

Test(decision, deadline_shorter_than_freshness) {
        static const DecisionCell cells[] = {
            {"in time", 105000, 0, "run 100, again 200", .deadline = 5},
            {"too late", 105001, 0, "skip 100-100 x1 (" EXPIRED "), nothing, again 200",
             .deadline = 5},
            {"a rank whose turn never comes", 104000, 3, "nothing, again 106", .deadline = 5},
            {"skips it instead", 106000, 3, "skip 100-100 x1 (" EXPIRED "), nothing, again 206",
             .deadline = 5},
        };

        EXPECT_CELLS(cells);
}

Test(decision, ticks_that_come_faster_than_freshness_ends) {
        static const DecisionCell cells[] = {
            {"the oldest first", 68500, 0, "run 60, again 72", .every = 12},
            {"each for itself", 64500, 0, "run 56, again 68",
             "{'run':'52-1','state':'failed','tick':52}", .every = 4},
            {"in its turn", 61000, 3, "nothing, again 62",
             "{'run':'52-1','state':'failed','tick':52}", .every = 4},
            {"ours is under way: one after the other", 68500, 0,
             "skip 60-60 x1 (" OVERLAP "), nothing, again 72",
             "{'run':'52-0','state':'skipped','tick':52},"
             "{'run':'56-1','state':'claimed','tick':56,'node':'n1'}",
             .every = 4},
            {"that of another", 68500, 0, "blocked 60 by 56-1, again 72",
             "{'run':'52-0','state':'skipped','tick':52},"
             "{'run':'56-1','state':'claimed','tick':56,'node':'n2'}",
             .every = 4},
        };

        EXPECT_CELLS(cells);
}

/* The starts are at 130, 240, 300, 402, ... */
Test(decision, a_tick_that_is_delayed_starts_later) {
        static const DecisionCell cells[] = {
            {"it has come", 100000, 0, "nothing, again 130", .random_delay = 40},
            {"not yet", 129999, 0, "nothing, again 130", .random_delay = 40},
            {"rank 0 at its start", 130000, 0, "run 100, again 240", .random_delay = 40},
            {"rank 1 not yet", 131999, 1, "nothing, again 132", .random_delay = 40},
            {"rank 1", 132000, 1, "run 100, again 242", .random_delay = 40},
            {"rank 3", 136000, 3, "run 100, again 246", .random_delay = 40},
            {"it is fresh from then on", 140000, 0, "run 100, again 240", .random_delay = 40,
             .catch_up = JOB_CATCH_UP_NONE},
            {"not for longer", 140001, 0, "skip 100-100 x1 (" NOBODY "), nothing, again 240",
             .random_delay = 40, .catch_up = JOB_CATCH_UP_NONE},
            {"to its deadline", 190000, 0, "run 100, again 240", .random_delay = 40},
            {"past it", 190001, 0, "skip 100-100 x1 (" EXPIRED "), nothing, again 240",
             .random_delay = 40},
            {"where nobody can run it", 190000, 0, "nothing, again 190", .random_delay = 40,
             .nobody = true},
            {"nobody could", 190001, 0,
             "skip 100-100 x1 (no node could run it), nothing, again 300", .random_delay = 40,
             .nobody = true},
        };

        EXPECT_CELLS(cells);
}

Test(decision, before_the_next_one_starts_the_one_before_is_the_newest) {
        static const DecisionCell cells[] = {
            {"it is caught up with", 239999, 0, "run 100, again 240", .random_delay = 40,
             .deadline = 1000},
            {"then it is not", 240000, 0, "skip 100-100 x1 (" NEWER "), run 200, again 300",
             .random_delay = 40, .deadline = 1000},
            {"one without a delay", 300000, 0, "skip 100-200 x2 (" NEWER "), run 300, again 402",
             .random_delay = 40},
            {"ours is under way", 239999, 0, "nothing, again 240", OURS_100, .random_delay = 40},
            {"when the next one starts", 240000, 0,
             "skip 200-200 x1 (" OVERLAP "), nothing, again 300", OURS_100, .random_delay = 40},
            {"another's is", 240000, 1, "nothing, again 242", OTHER_100, .random_delay = 40},
            {"a retry knows its pause alone", 115000, 0, "run 100, again 175", RETRY_100,
             .random_delay = 40},
            {"beside one that has come", 230000, 0, "nothing, again 240", LATE, .random_delay = 40},
        };

        EXPECT_CELLS(cells);
}

Test(decision, overlap_with_our_own_run) {
        static const DecisionCell cells[] = {
            {"nothing is due", 150000, 0, "nothing, again 200", OURS_100},
            {"skipped at once", 200000, 0, "skip 200-200 x1 (" OVERLAP "), nothing, again 300",
             OURS_100},
            {"at any rank", 200000, 3, "skip 200-200 x1 (" OVERLAP "), nothing, again 300",
             OURS_100},
            {"asked again at the tick, not at our turn", 150000, 3, "nothing, again 200", OURS_100},
            {"though we are no candidate any more", 200000, PLACEMENT_NONE,
             "skip 200-200 x1 (" OVERLAP "), nothing, again 300", OURS_100},
            {"a stale one too", 215000, 0, "skip 200-200 x1 (" OVERLAP "), nothing, again 300",
             OURS_100},
            {"of several the newest", 425000, 0,
             "skip 200-300 x2 (" NEWER "), skip 400-400 x1 (" OVERLAP "), nothing, again 500",
             OURS_100},
            {"a manual run of ours", 200000, 0, "skip 200-200 x1 (" OVERLAP "), nothing, again 300",
             "{'run':'100-1','state':'failed','tick':100},"
             "{'run':'150-m1','state':'claimed','node':'n1'}"},
        };

        EXPECT_CELLS(cells);
}

Test(decision, overlap_with_the_run_of_another) {
        static const DecisionCell cells[] = {
            {"waits", 200000, 0, "blocked 200 by 100-1, again 300", OTHER_100},
            {"not our turn yet", 200000, 1, "nothing, again 202", OTHER_100},
            {"waits in its turn", 202000, 1, "blocked 200 by 100-1, again 302", OTHER_100},
            {"waits for that run, not long yet", 200000, 0, "blocked 200 by 100-1, again 300",
             OTHER_100, .waited_run = "100-1"},
            {"waited for another run", 200000, 0, "blocked 200 by 100-1, again 300", OTHER_100,
             .waited_run = "99-1", .waited_long_enough = true},
            {"waited long enough", 200000, 0, "skip 200-200 x1 (" OVERLAP "), nothing, again 300",
             OTHER_100, .waited_run = "100-1", .waited_long_enough = true},
            {"but not before our turn", 200000, 2, "nothing, again 204", OTHER_100,
             .waited_run = "100-1", .waited_long_enough = true},
            {"a manual run of another", 200000, 0, "blocked 200 by 150-m1, again 300",
             "{'run':'100-1','state':'failed','tick':100},"
             "{'run':'150-m1','state':'claimed','node':'n2'}"},
        };

        EXPECT_CELLS(cells);
}

Test(decision, what_waited_for_another_goes_stale) {
        static const DecisionCell cells[] = {
            {"latest: goes on waiting", 260000, 0, "blocked 200 by 100-1, again 300", OTHER_100},
            {"latest: to its deadline", 260001, 0,
             "skip 200-200 x1 (" EXPIRED "), nothing, again 300", OTHER_100},
            {"none: no longer", 210001, 0, "skip 200-200 x1 (" NOBODY "), nothing, again 300",
             OTHER_100, .catch_up = JOB_CATCH_UP_NONE},
            {"a newer one takes its place", 300000, 0,
             "skip 200-200 x1 (" NEWER "), blocked 300 by 100-1, again 400", OTHER_100,
             .deadline = 1000},
        };

        EXPECT_CELLS(cells);
}

Test(decision, more_gaps_than_fit) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        GString *entries = g_string_new(NULL);
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        DecisionInput input = {.job = "a",
                               .schedule = schedule,
                               .self = "n1",
                               .now = 1009 * USEC_PER_SEC,
                               .takeover_delay = USEC_PER_SEC,
                               .start_deadline = USEC_PER_HOUR};
        Decision decision;

        for (unsigned tick = 20; tick < 1000; tick += 20)
                g_string_append_printf(entries, "%s{'run':'%u-1','state':'failed','tick':%u}",
                                       tick > 20 ? "," : "", tick, tick);
        ledger = ledger_of(0, 5, entries->str);
        g_string_free(entries, TRUE);
        input.ledger = ledger;
        decide(&input, &decision);
        cr_assert_eq(decision.n_skips, DECISION_SKIPS_MAX);
        cr_expect_eq(decision.verdict, DECISION_NOTHING, "the rest is decided the next time");
        for (size_t i = 0; i < decision.n_skips; i++)
                cr_expect_eq(decision.skips[i].from, 10 + 20 * (int64_t)i, "oldest first");
}

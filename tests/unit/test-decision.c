/* Every policy on due, missed and overlapping ticks, in tables: what is known, and what is to be
 * done. Unless a cell says otherwise ticks are 100, 200, ..., owed from 50 on, a tick's turn at
 * rank r is 2 r seconds after its start, it is fresh for 10 s and may start for 60 s. */
#include "decision.h"
#include "ledger-fixture.h"
#include "placement.h"

#define OVERLAP "overlap: the previous run was still under way"
#define NEWER "missed: no node started it in time, and a newer tick came"
#define NOBODY "missed: no node could start it"
#define EXPIRED "missed: the start deadline passed"

/* A run of another node, and one of ours, that stand in the way. */
#define OTHER_100 "{'run':'100-1','state':'claimed','tick':100,'node':'n2'}"
#define OURS_100 "{'run':'100-1','state':'claimed','tick':100,'node':'n1'}"

typedef struct Cell {
        const char *title;
        unsigned ms; /* now, 1/1000 s */
        uint32_t rank;
        const char *expected;
        const char *entries;
        unsigned every;
        unsigned deadline;
        JobOverlap overlap;
        JobCatchUp catch_up;
        const char *waited_run;
        bool waited_long_enough;
        bool nobody;
        unsigned random_delay;
        unsigned last_tick, last_ended; /* of the last run, s */
        unsigned paused, resumed;       /* since and until, s; 0: not, and until now */
} Cell;

/* Of this job the ticks from 100 on are delayed by 30, 40, 0, 2, 14 and 7 s where 40 are allowed.
 */
#define DELAYED_JOB "j113902"

static char *decision_to_text(const Decision *decision) {
        GString *text = g_string_new(NULL);

        for (size_t i = 0; i < decision->n_skips; i++) {
                const DecisionSkip *one = &decision->skips[i];

                g_string_append_printf(
                    text, "%s %" G_GINT64_FORMAT "-%" G_GINT64_FORMAT " x%u (%s), ",
                    one->gives_up ? "give up" : "skip", one->from, one->to, one->count, one->why);
        }
        if (decision->verdict == DECISION_NOTHING)
                g_string_append(text, decision->watch ? "watch" : "nothing");
        else
                g_string_append_printf(text, "%s %" G_GINT64_FORMAT,
                                       decision->verdict == DECISION_RUN ? "run" : "blocked",
                                       decision->tick);
        if (decision->blocker)
                g_string_append_printf(text, " by %s", decision->blocker->run);
        if (decision->again == USEC_INFINITY)
                g_string_append(text, ", never again");
        else
                g_string_append_printf(text, ", again %g",
                                       (double)decision->again / (double)USEC_PER_SEC);
        return g_string_free(text, FALSE);
}

static void expect_decision(const DecisionInput *input, const char *title, const char *expected) {
        g_autofree char *text = NULL;
        Decision decision;

        decide(input, &decision);
        text = decision_to_text(&decision);
        cr_expect_str_eq(text, expected, "%s:\n  %s\nrather than\n  %s", title, text, expected);
}

static void expect_cell(const Cell *cell) {
        const DecisionPause pause = {.since = cell->paused * USEC_PER_SEC,
                                     .until = cell->resumed ? cell->resumed * USEC_PER_SEC + 1
                                                            : USEC_INFINITY,
                                     .why = (char *)"paused"};
        _cleanup_(schedule_freep) Schedule *schedule = every(cell->every ? cell->every : 100);
        _cleanup_(ledger_freep) Ledger *ledger =
            ledger_of(0, 50, cell->entries ? cell->entries : "");
        g_autofree char *fault = NULL;
        RunRecord *last = cell->last_ended ? run_record_new("a", "1-1") : NULL;
        const DecisionInput input = {
            .job = DELAYED_JOB,
            .schedule = schedule,
            .ledger = ledger,
            .self = "n1",
            .now = cell->ms * USEC_PER_MSEC,
            .rank = cell->rank,
            .takeover_delay = 2 * USEC_PER_SEC,
            .start_deadline = (cell->deadline ? cell->deadline : 60) * USEC_PER_SEC,
            .overlap = cell->overlap,
            .catch_up = cell->catch_up,
            .waited_run = cell->waited_run,
            .waited_long_enough = cell->waited_long_enough,
            .nobody = cell->nobody,
            .pause = cell->paused ? &pause : NULL,
        };

        cr_assert_eq(schedule_set_random_delay(schedule, cell->random_delay * USEC_PER_SEC, &fault),
                     0);
        if (last) {
                last->tick = cell->last_tick;
                last->ended = cell->last_ended * USEC_PER_SEC;
                ledger->last = last;
        }
        expect_decision(&input, cell->title, cell->expected);
}

#define EXPECT_CELLS(cells)                                                                        \
        for (size_t i = 0; i < G_N_ELEMENTS(cells); i++)                                           \
        expect_cell(&(cells)[i])

Test(decision, fresh_ticks_at_each_rank) {
        static const Cell cells[] = {
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
#define RETRY_100                                                                                  \
        "{'run':'100-1','state':'failed','tick':100,'attempt':1,'node':'n1','not_before':115}"
#define AGAIN(node) "{'run':'100-1','state':'claimed','tick':100,'node':'" node "','again':true}"
#define BY_HAND(node) ",{'run':'110-m1','state':'claimed','node':'" node "'}"

Test(decision, a_retry_is_taken_as_a_tick_is) {
        static const Cell cells[] = {
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
        static const Cell cells[] = {
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
        static const Cell cells[] = {
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

#define EARLIER "overlap: an earlier tick is to be attempted again"
#define LATE "{'run':'100-1','state':'failed','tick':100,'attempt':1,'node':'n1','not_before':250}"

Test(decision, a_tick_that_comes_meanwhile_is_skipped) {
        static const Cell cells[] = {
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
        static const Cell cells[] = {
            {"elsewhere", 130000, 0, "watch, again 175", RETRY_100 BY_HAND("n2")},
            {"here we hear of its end", 130000, 0, "nothing, again 175", RETRY_100 BY_HAND("n1")},
            {"it is given up all the same", 176000, 0,
             "give up 100-100 x1 (missed: the start deadline passed), nothing, again 176",
             RETRY_100 BY_HAND("n2")},
        };

        EXPECT_CELLS(cells);
}

Test(decision, who_may_take_a_retry_watches_the_attempt_before) {
        static const Cell cells[] = {
            {"elsewhere", 105000, 0, "watch, again 200", AGAIN("n2")},
            {"rank 3", 107000, 3, "watch, again 206", AGAIN("n2")},
            {"not rank 4", 107000, PLACEMENT_RANKS, "nothing, never again", AGAIN("n2")},
            {"our own", 105000, 0, "nothing, again 200", AGAIN("n1")},
            {"one after which none follows", 105000, 0, "nothing, again 200", OTHER_100},
        };

        EXPECT_CELLS(cells);
}

Test(decision, whoever_is_no_candidate_does_nothing) {
        static const Cell cells[] = {
            {"fresh", 105000, PLACEMENT_RANKS, "nothing, never again"},
            {"stale", 115000, PLACEMENT_RANKS, "nothing, never again"},
            {"expired", 190000, PLACEMENT_RANKS, "nothing, never again"},
            {"not one of them at all", 115000, PLACEMENT_NONE, "nothing, never again"},
        };

        EXPECT_CELLS(cells);
}

Test(decision, what_nobody_can_run_is_skipped_once_its_deadline_passed) {
        static const Cell cells[] = {
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
        static const Cell cells[] = {
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
        static const Cell cells[] = {
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
        static const Cell cells[] = {
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
        static const Cell cells[] = {
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
        static const Cell cells[] = {
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
        static const Cell cells[] = {
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
        static const Cell cells[] = {
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
        static const Cell cells[] = {
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
        static const Cell cells[] = {
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

#define ALLOW .overlap = JOB_OVERLAP_ALLOW
#define RETRY(tick, at)                                                                            \
        "{'run':'" tick "-1','state':'failed','tick':" tick                                        \
        ",'attempt':1,'node':'n1','not_before':" at "}"

Test(decision, side_by_side_each_tick_is_for_itself) {
        static const Cell cells[] = {
            {"beside ours", 200000, 0, "run 200, again 300", OURS_100, ALLOW},
            {"beside another's", 200000, 0, "run 200, again 300", OTHER_100, ALLOW},
            {"beside one by hand", 200000, 0, "run 200, again 300",
             "{'run':'100-1','state':'failed','tick':100}" BY_HAND("n2"), ALLOW},
            {"in our turn, though one is ours", 200000, 1, "nothing, again 202", OURS_100, ALLOW},
            {"in our turn", 202000, 1, "run 200, again 302", OURS_100, ALLOW},
            {"not as no candidate, though one is ours", 200000, PLACEMENT_NONE,
             "nothing, never again", OURS_100, ALLOW},
            {"however long it has been there", 200000, 0, "run 200, again 300", OTHER_100,
             .waited_run = "100-1", .waited_long_enough = true, ALLOW},
            {"what was missed", 215000, 0, "run 200, again 300", OURS_100, ALLOW},
            {"of several the newest", 425000, 0, "skip 200-300 x2 (" NEWER "), run 400, again 500",
             OURS_100, ALLOW},
            {"none of them", 425000, 0, "skip 200-400 x3 (" NOBODY "), nothing, again 500",
             OURS_100, .catch_up = JOB_CATCH_UP_NONE, ALLOW},
            {"too late", 261000, 0, "skip 200-200 x1 (" EXPIRED "), nothing, again 300", OURS_100,
             ALLOW},
        };

        EXPECT_CELLS(cells);
}

Test(decision, side_by_side_a_retry_waits_for_nobody) {
        static const Cell cells[] = {
            {"nor does a tick for it", 200000, 0, "run 200, again 250", LATE, ALLOW},
            {"beside one by hand", 130000, 0, "run 100, again 175", RETRY_100 BY_HAND("n2"), ALLOW},
            {"whose end nobody waits for", 110000, 0, "nothing, again 115", RETRY_100 BY_HAND("n2"),
             ALLOW},
            {"but for that of its attempt before", 105000, 0, "watch, again 200", AGAIN("n2"),
             ALLOW},
            {"before what is due", 200000, 0, "run 100, again 300", RETRY("100", "150"),
             .deadline = 200, ALLOW},
            {"of several that which begins first", 230000, 0, "run 200, again 285",
             RETRY("100", "240") "," RETRY("200", "225"), ALLOW},
            {"then the other", 245000, 0, "run 100, again 300",
             RETRY("100", "240") ",{'run':'200-2','state':'claimed','tick':200,'node':'n1'}",
             ALLOW},
            {"the one that is too late is given up", 286000, 0,
             "give up 200-200 x1 (" EXPIRED "), nothing, again 286",
             RETRY("100", "240") "," RETRY("200", "225"), ALLOW},
        };

        EXPECT_CELLS(cells);
}

/* Each is one second before the next, the last one is due. */
static char *many(unsigned claimed, unsigned retries) {
        GString *text = g_string_new("");
        unsigned tick = 51;

        for (unsigned i = 0; i < claimed; i++, tick++)
                g_string_append_printf(text,
                                       "%s{'run':'%u-1','state':'claimed','tick':%u,'node':'n2'}",
                                       i > 0 ? "," : "", tick, tick);
        for (unsigned i = 0; i < retries; i++, tick++)
                g_string_append_printf(
                    text, ",{'run':'%u-1','state':'failed','tick':%u,'not_before':200}", tick,
                    tick);
        return g_string_free(text, FALSE);
}

Test(decision, side_by_side_are_only_so_many) {
        static const unsigned most = DECISION_BESIDE_MAX;
        static const char skipped[] = "skip 75-75 x1 (" DECISION_WHY_MANY "), nothing, again 76";
        const struct {
                unsigned claimed, retries;
                const char *expected;
        } cases[] = {{most, 0, skipped}, {most - 4, 4, skipped}, {most - 1, 0, "run 74, again 75"}};

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *entries = many(cases[i].claimed, cases[i].retries);
                unsigned tick = 51 + cases[i].claimed + cases[i].retries;
                const Cell cell = {cases[i].expected, tick * 1000, 0,    cases[i].expected,
                                   entries,           .every = 1,  ALLOW};

                expect_cell(&cell);
        }
}

#define QUEUE .overlap = JOB_OVERLAP_QUEUE
#define DONE_100 "{'run':'100-1','state':'failed','tick':100}"

Test(decision, in_line_a_tick_waits_for_the_run_before_it) {
        static const Cell cells[] = {
            {"another's is watched", 200000, 0, "watch, again 260", OTHER_100, QUEUE},
            {"we hear of the end of ours", 200000, 0, "nothing, again 260", OURS_100, QUEUE},
            {"before our turn nobody watches", 200000, 1, "nothing, again 202", OTHER_100, QUEUE},
            {"in our turn", 202000, 1, "watch, again 260", OTHER_100, QUEUE},
            {"we are no candidate", 200000, PLACEMENT_NONE, "nothing, never again", OURS_100,
             QUEUE},
            {"nothing is due", 150000, 0, "nothing, again 200", OTHER_100, QUEUE},
            {"it is not missed", 255000, 0, "watch, again 260", OTHER_100,
             .catch_up = JOB_CATCH_UP_NONE, QUEUE},
            {"however long that stands there", 255000, 0, "watch, again 260", OTHER_100,
             .waited_run = "100-1", .waited_long_enough = true, QUEUE},
            {"one by hand", 200000, 0, "watch, again 260", DONE_100 BY_HAND("n2"), QUEUE},
            {"to its deadline", 260000, 0, "watch, again 260", OTHER_100, QUEUE},
            {"not longer", 260001, 0,
             "skip 200-200 x1 (" DECISION_WHY_OUTLASTED "), nothing, again 300", OTHER_100, QUEUE},
            {"nobody can run it", 261000, 0,
             "skip 200-200 x1 (no node could run it), nothing, "
             "again 360",
             OTHER_100, .nobody = true, QUEUE},
        };

        EXPECT_CELLS(cells);
}

Test(decision, in_line_is_one) {
        static const Cell cells[] = {
            {"the next is left out", 300000, 0,
             "skip 300-300 x1 (" DECISION_WHY_WAITS "), watch, again 400", OTHER_100,
             .deadline = 1000, QUEUE},
            {"in our turn", 300000, 1, "watch, again 302", OTHER_100, .deadline = 1000, QUEUE},
            {"then", 302000, 1, "skip 300-300 x1 (" DECISION_WHY_WAITS "), watch, again 402",
             OTHER_100, .deadline = 1000, QUEUE},
            {"and all others", 555000, 0,
             "skip 300-500 x3 (" DECISION_WHY_WAITS "), watch, again 600", OTHER_100,
             .deadline = 1000, QUEUE},
            {"whose run it is does not matter", 555000, 0,
             "skip 300-500 x3 (" DECISION_WHY_WAITS "), nothing, again 600", OURS_100,
             .deadline = 1000, QUEUE},
            {"when its time is over the next one waits", 351000, 0,
             "skip 200-200 x1 (" DECISION_WHY_OUTLASTED "), watch, again 400", OTHER_100,
             .deadline = 150, QUEUE},
        };

        EXPECT_CELLS(cells);
}

Test(decision, in_line_attempts_come_first) {
        static const Cell cells[] = {
            {"a tick waits for them", 200000, 0, "nothing, again 250", LATE, QUEUE},
            {"the next one does not", 300000, 0,
             "skip 300-300 x1 (" DECISION_WHY_WAITS "), nothing, again 350", RETRY("100", "350"),
             .deadline = 1000, QUEUE},
            {"it is their turn", 250000, 0, "run 100, again 260", LATE, QUEUE},
            {"it has waited too long", 261000, 0,
             "skip 200-200 x1 (" EARLIER "), nothing, again 300", LATE, QUEUE},
            {"too late for them", 311000, 0,
             "give up 100-100 x1 (missed: the start deadline passed), nothing, again 311", LATE,
             QUEUE},
            {"one that may follow is watched", 105000, 0, "watch, again 200", AGAIN("n2"), QUEUE},
        };

        EXPECT_CELLS(cells);
}

Test(decision, what_was_in_line_is_not_missed) {
        static const Cell cells[] = {
            {"rank 0 at once", 255000, 0, "run 200, again 300", DONE_100, .last_tick = 100,
             .last_ended = 255, QUEUE},
            {"rank 1 not yet", 256000, 1, "nothing, again 257", DONE_100, .last_tick = 100,
             .last_ended = 255, QUEUE},
            {"rank 1", 257000, 1, "run 200, again 302", DONE_100, .last_tick = 100,
             .last_ended = 255, QUEUE},
            {"it need not be caught up", 259000, 0, "run 200, again 300", DONE_100,
             .last_tick = 100, .last_ended = 240, .catch_up = JOB_CATCH_UP_NONE, QUEUE},
            {"to its deadline", 260001, 0, "skip 200-200 x1 (" EXPIRED "), nothing, again 300",
             DONE_100, .last_tick = 100, .last_ended = 255, QUEUE},
            {"the run was over before it", 215000, 0,
             "skip 200-200 x1 (" NOBODY "), nothing, again 300", DONE_100, .last_tick = 100,
             .last_ended = 199, .catch_up = JOB_CATCH_UP_NONE, QUEUE},
            {"the run was its own", 215000, 0, "skip 200-200 x1 (" NOBODY "), nothing, again 300",
             DONE_100, .last_tick = 200, .last_ended = 205, .catch_up = JOB_CATCH_UP_NONE, QUEUE},
            {"without a line nobody waited", 255000, 0,
             "skip 200-200 x1 (" NOBODY "), nothing, again 300", DONE_100, .last_tick = 100,
             .last_ended = 255, .catch_up = JOB_CATCH_UP_NONE},
            {"the oldest, and the next one waits for it", 305000, 0, "run 200, again 400", DONE_100,
             .last_tick = 100, .last_ended = 300, .deadline = 1000, QUEUE},
            {"ended by a clock that was ahead", 255000, 3, "run 200, again 306", DONE_100,
             .last_tick = 100, .last_ended = 256, .catch_up = JOB_CATCH_UP_NONE, QUEUE},
            {"behind one by hand", 255000, 0, "run 200, again 300", DONE_100, .last_ended = 250,
             .catch_up = JOB_CATCH_UP_NONE, QUEUE},
        };

        EXPECT_CELLS(cells);
}

#define ALL .catch_up = JOB_CATCH_UP_ALL, .deadline = 1000
/* Begun when several were owed already. */
#define LATE_RUN(node)                                                                             \
        "{'run':'100-1','state':'claimed','tick':100,'claimed':455,'node':'" node "'}"
#define LATE_RETRY                                                                                 \
        "{'run':'100-1','state':'failed','tick':100,'attempt':1,'claimed':455,'node':'n1',"        \
        "'not_before':600}"

Test(decision, all_are_caught_up_with_oldest_first) {
        static const Cell cells[] = {
            {"the oldest", 455000, 0, "run 100, again 500", ALL},
            {"at any rank", 455000, 3, "run 100, again 506", ALL},
            {"the next one", 455000, 0, "run 200, again 500", DONE_100, ALL},
            {"before a fresh one", 500000, 0, "run 100, again 600", ALL},
            {"which comes in its turn", 500000, 1, "nothing, again 502",
             "{'run':'100-0','state':'skipped','tick':100,'to':400,'count':4}", ALL},
            {"then", 502000, 1, "run 500, again 602",
             "{'run':'100-0','state':'skipped','tick':100,'to':400,'count':4}", ALL},
            {"but those past their deadline", 455000, 0,
             "skip 100-200 x2 (" EXPIRED "), run 300, again 500", .catch_up = JOB_CATCH_UP_ALL,
             .deadline = 200},
            {"nobody can run it", 455000, 0,
             "skip 100-200 x2 (no node could run it), nothing, again 500", .nobody = true,
             .catch_up = JOB_CATCH_UP_ALL, .deadline = 200},
            {"side by side", 455000, 0, "run 200, again 500", LATE_RUN("n2"), ALLOW, ALL},
            {"in line", 455000, 0, "run 100, again 500", QUEUE, ALL},
        };

        EXPECT_CELLS(cells);
}

Test(decision, what_is_caught_up_with_is_no_overlap) {
        static const Cell cells[] = {
            {"it waits", 460000, 0, "watch, again 500", LATE_RUN("n2"), ALL},
            {"at any rank", 460000, 3, "watch, again 506", LATE_RUN("n2"), ALL},
            {"behind ours", 460000, 0, "nothing, again 500", LATE_RUN("n1"), ALL},
            {"what comes during the run is", 500000, 0,
             "skip 500-500 x1 (" OVERLAP "), nothing, again 600", LATE_RUN("n1"), ALL},
            {"though we are no candidate any more", 500000, PLACEMENT_NONE,
             "skip 500-500 x1 (" OVERLAP "), nothing, again 600", LATE_RUN("n1"), ALL},
            {"each of it", 655000, 0, "skip 500-600 x2 (" OVERLAP "), nothing, again 700",
             LATE_RUN("n1"), ALL},
            {"once it is known that it was one", 500000, 0, "blocked 500 by 100-1, again 600",
             LATE_RUN("n2"), ALL},
            {"after a while", 655000, 0, "skip 500-600 x2 (" OVERLAP "), watch, again 700",
             LATE_RUN("n2"), .waited_run = "100-1", .waited_long_enough = true, ALL},
            {"it waits for a retry", 470000, 0, "nothing, again 500", LATE_RETRY, ALL},
            {"what comes meanwhile does not", 500000, 0,
             "skip 500-500 x1 (" EARLIER "), nothing, again 600", LATE_RETRY, ALL},
            {"which is first", 600000, 0, "run 100, again 700",
             LATE_RETRY ",{'run':'500-0','state':'skipped','tick':500,'to':600}", ALL},
            {"it is too late for some", 1255000, 0,
             "skip 200-200 x1 (" EXPIRED "), skip 500-1200 x8 (" OVERLAP "), nothing, again 1300",
             LATE_RUN("n1"), ALL},
            {"in line one more waits", 655000, 0,
             "skip 600-600 x1 (" DECISION_WHY_WAITS "), watch, again 700", LATE_RUN("n2"), QUEUE,
             ALL},
            {"which has not come yet", 460000, 0, "watch, again 500", LATE_RUN("n2"), QUEUE, ALL},
        };

        EXPECT_CELLS(cells);
}

Test(decision, where_too_many_are_side_by_side_those_that_were_missed_wait) {
        g_autofree char *entries = many(DECISION_BESIDE_MAX, 0);
        const Cell cell = {"full", 90000, 0, "watch, again 91", entries, .every = 1, ALLOW, ALL};

        expect_cell(&cell);
}

/* The starts are at 130, 240, 300, 402, ... */
Test(decision, in_line_a_delayed_tick_waits_from_its_start_on) {
        static const Cell cells[] = {
            {"it has come", 200000, 0, "nothing, again 240", OTHER_100, .random_delay = 40, QUEUE},
            {"not yet", 239999, 0, "nothing, again 240", OTHER_100, .random_delay = 40, QUEUE},
            {"at its start", 240000, 0, "watch, again 300", OTHER_100, .random_delay = 40, QUEUE},
            {"rank 1 not yet", 241999, 1, "nothing, again 242", OTHER_100, .random_delay = 40,
             QUEUE},
            {"rank 1", 242000, 1, "watch, again 300", OTHER_100, .random_delay = 40, QUEUE},
            {"to its deadline, and the next one starts", 300000, 0,
             "skip 300-300 x1 (" DECISION_WHY_WAITS "), watch, again 300", OTHER_100,
             .random_delay = 40, QUEUE},
            {"not longer", 300001, 0,
             "skip 200-200 x1 (" DECISION_WHY_OUTLASTED "), watch, again 360", OTHER_100,
             .random_delay = 40, QUEUE},
            {"one that has come and not started is not left out", 401999, 0, "watch, again 402",
             OTHER_100 ",{'run':'200-0','state':'skipped','tick':200}", .random_delay = 40,
             .deadline = 1000, QUEUE},
            {"one that has started is", 402000, 0,
             "skip 400-400 x1 (" DECISION_WHY_WAITS "), watch, again 514",
             OTHER_100 ",{'run':'200-0','state':'skipped','tick':200}", .random_delay = 40,
             .deadline = 1000, QUEUE},
            {"behind attempts", 230000, 0, "nothing, again 240", LATE, .random_delay = 40, QUEUE},
            {"it has started", 240000, 0, "nothing, again 250", LATE, .random_delay = 40, QUEUE},
            {"they come first", 250000, 0, "run 100, again 300", LATE, .random_delay = 40, QUEUE},
        };

        EXPECT_CELLS(cells);
}

Test(decision, when_nothing_is_in_the_way_a_delayed_tick_begins_at_its_start) {
        static const Cell cells[] = {
            {"the run ended before it", 235000, 0, "nothing, again 240", DONE_100, .last_tick = 100,
             .last_ended = 235, .random_delay = 40, QUEUE},
            {"by a clock that was ahead", 235000, 0, "nothing, again 240", DONE_100,
             .last_tick = 100, .last_ended = 250, .random_delay = 40, QUEUE},
            {"not yet", 239999, 0, "nothing, again 240", DONE_100, .last_tick = 100,
             .last_ended = 235, .random_delay = 40, QUEUE},
            {"now", 240000, 0, "run 200, again 300", DONE_100, .last_tick = 100, .last_ended = 235,
             .random_delay = 40, QUEUE},
            {"rank 1 counts from the start", 241999, 1, "nothing, again 242", DONE_100,
             .last_tick = 100, .last_ended = 235, .random_delay = 40, QUEUE},
            {"from there on it was missed", 250001, 0,
             "skip 200-200 x1 (" NOBODY "), nothing, again 300", DONE_100, .last_tick = 100,
             .last_ended = 235, .random_delay = 40, .catch_up = JOB_CATCH_UP_NONE, QUEUE},
            {"it has waited for the run", 255001, 0, "run 200, again 300", DONE_100,
             .last_tick = 100, .last_ended = 245, .random_delay = 40, .catch_up = JOB_CATCH_UP_NONE,
             QUEUE},
            {"rank 1 counts from its end", 246999, 1, "nothing, again 247", DONE_100,
             .last_tick = 100, .last_ended = 245, .random_delay = 40, QUEUE},
            {"rank 1", 247000, 1, "run 200, again 302", DONE_100, .last_tick = 100,
             .last_ended = 245, .random_delay = 40, QUEUE},
            {"to its deadline", 300000, 0, "run 200, again 402", DONE_100, .last_tick = 100,
             .last_ended = 295, .random_delay = 40, QUEUE},
        };

        EXPECT_CELLS(cells);
}

Test(decision, side_by_side_a_delayed_tick_begins_at_its_start) {
        static const Cell cells[] = {
            {"beside ours", 239999, 0, "nothing, again 240", OURS_100, .random_delay = 40, ALLOW},
            {"now", 240000, 0, "run 200, again 300", OURS_100, .random_delay = 40, ALLOW},
            {"rank 1 later", 241999, 1, "nothing, again 242", OURS_100, .random_delay = 40, ALLOW},
            {"rank 1", 242000, 1, "run 200, again 302", OTHER_100, .random_delay = 40, ALLOW},
        };

        EXPECT_CELLS(cells);
}

Test(decision, what_waited_for_another_goes_stale) {
        static const Cell cells[] = {
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

/* ---- paused ---- */

Test(decision, what_is_paused_is_skipped_by_rank_as_it_comes) {
        static const Cell cells[] = {
            {"not yet", 99999, 0, "nothing, again 100", .paused = 50},
            {"rank 0 at once", 100000, 0, "skip 100-100 x1 (paused), nothing, again 100",
             .paused = 50},
            {"rank 1 not yet", 101999, 1, "nothing, again 102", .paused = 50},
            {"rank 1", 102000, 1, "skip 100-100 x1 (paused), nothing, again 102", .paused = 50},
            {"rank 3 not yet", 105999, 3, "nothing, again 106", .paused = 50},
            {"not rank 4", 120000, PLACEMENT_RANKS, "nothing, never again", .paused = 50},
            {"whoever sees it stale", 120000, 3, "skip 100-100 x1 (paused), nothing, again 120",
             .paused = 50},
            {"the next one", 150000, 1, "nothing, again 202",
             "{'run':'100-1','state':'failed','tick':100}", .paused = 50},
            {"many at once", 550000, 0, "skip 100-500 x5 (paused), nothing, again 550",
             .paused = 50},
            {"the fresh one has its turn", 500000, 1,
             "skip 100-400 x4 (paused), nothing, again 500", .paused = 50},
            {"what was to be caught up with", 150000, 0,
             "skip 100-100 x1 (paused), nothing, again 150", .paused = 140},
            {"what was too late by then was missed", 350000, 0,
             "skip 100-200 x2 (" EXPIRED "), nothing, again 350", .paused = 270},
            {"and the rest is paused", 350000, 0, "skip 300-300 x1 (paused), nothing, again 350",
             "{'run':'100-0','state':'skipped','tick':100,'to':200,'count':2}", .paused = 270},
            {"where nobody can run it, too", 100000, 0,
             "skip 100-100 x1 (paused), nothing, again 100", .nobody = true, .paused = 50},
            {"beside a run of ours", 200000, 2, "skip 200-200 x1 (paused), nothing, again 200",
             OURS_100, .paused = 150},
            {"beside a run of another", 200000, 0, "skip 200-200 x1 (paused), nothing, again 200",
             OTHER_100, .paused = 150},
        };

        EXPECT_CELLS(cells);
}

Test(decision, what_came_by_the_end_of_a_pause_is_not_caught_up_with) {
        static const Cell cells[] = {
            {"at its second", 100500, 0, "skip 100-100 x1 (paused), nothing, again 100.5",
             .paused = 50, .resumed = 100},
            {"a second later", 101000, 0, "run 100, again 200", .paused = 50, .resumed = 99},
            {"by rank", 100500, 1, "nothing, again 102", .paused = 50, .resumed = 100},
            {"several, and then the fresh one", 500000, 0,
             "skip 100-400 x4 (paused), nothing, again 500", .paused = 50, .resumed = 450},
            {"the fresh one", 500000, 0, "run 500, again 600",
             "{'run':'100-0','state':'skipped','tick':100,'to':400,'count':4}", .paused = 50,
             .resumed = 450},
            {"however late", 900000, 0, "skip 100-400 x4 (paused), nothing, again 900",
             .deadline = 1000, .paused = 50, .resumed = 450},
            {"what was missed after it is as ever", 900000, 0,
             "skip 500-800 x4 (" NEWER "), run 900, again 1000",
             "{'run':'100-0','state':'skipped','tick':100,'to':400,'count':4}", .deadline = 1000,
             .paused = 50, .resumed = 450},
        };

        EXPECT_CELLS(cells);
}

/* The starts are at 130, 240, 300, 402, ... */
Test(decision, a_delayed_tick_is_paused_when_it_starts) {
        static const Cell cells[] = {
            {"it has come", 110000, 0, "nothing, again 130", .random_delay = 40, .paused = 50},
            {"not yet", 129999, 0, "nothing, again 130", .random_delay = 40, .paused = 50},
            {"at its start", 130000, 0, "skip 100-100 x1 (paused), nothing, again 130",
             .random_delay = 40, .paused = 50},
            {"rank 1 not yet", 131999, 1, "nothing, again 132", .random_delay = 40, .paused = 50},
            {"resumed before it", 115000, 0, "nothing, again 130", .random_delay = 40, .paused = 50,
             .resumed = 110},
            {"then it is run", 130000, 0, "run 100, again 240", .random_delay = 40, .paused = 50,
             .resumed = 129},
            {"resumed in its second", 130500, 0, "skip 100-100 x1 (paused), nothing, again 130.5",
             .random_delay = 40, .paused = 50, .resumed = 130},
            {"it was missed before the pause", 235000, 0,
             "skip 100-100 x1 (" EXPIRED "), nothing, again 235", .random_delay = 40,
             .paused = 191},
            {"it could still begin then", 235000, 0, "skip 100-100 x1 (paused), nothing, again 235",
             .random_delay = 40, .paused = 190},
        };

        EXPECT_CELLS(cells);
}

Test(decision, what_is_in_line_in_a_pause_does_not_begin) {
        static const Cell cells[] = {
            {"it comes", 200000, 0, "skip 200-200 x1 (paused), nothing, again 200", OTHER_100,
             .paused = 150, QUEUE},
            {"in our turn", 201999, 1, "nothing, again 202", OTHER_100, .paused = 150, QUEUE},
            {"it waits", 210000, 0, "skip 200-200 x1 (paused), nothing, again 210", OTHER_100,
             .paused = 205, QUEUE},
            {"the run is over", 255000, 0, "skip 200-200 x1 (paused), nothing, again 255", DONE_100,
             .last_tick = 100, .last_ended = 255, .paused = 210, QUEUE},
            {"which counts for rank 1", 256000, 1, "nothing, again 257", DONE_100, .last_tick = 100,
             .last_ended = 255, .paused = 210, QUEUE},
            {"resumed while it ran", 256000, 0, "skip 200-200 x1 (paused), nothing, again 256",
             DONE_100, .last_tick = 100, .last_ended = 255, .paused = 210, .resumed = 240, QUEUE},
            {"what comes after that waits", 305000, 0, "watch, again 360",
             OTHER_100 ",{'run':'200-0','state':'skipped','tick':200}", .paused = 150,
             .resumed = 240, QUEUE},
            {"an attempt waits", 250000, 0, "nothing, again 300",
             LATE ",{'run':'200-0','state':'skipped','tick':200}", .paused = 240, QUEUE},
        };

        EXPECT_CELLS(cells);
}

Test(decision, side_by_side_nothing_begins_in_a_pause) {
        static const Cell cells[] = {
            {"beside ours", 200000, 0, "skip 200-200 x1 (paused), nothing, again 200", OURS_100,
             .paused = 150, ALLOW},
            {"in our turn", 201999, 1, "nothing, again 202", OURS_100, .paused = 150, ALLOW},
            {"afterwards", 200000, 0, "run 200, again 300", OTHER_100, .paused = 150,
             .resumed = 199, ALLOW},
            {"an attempt", 115000, 0, "nothing, again 175", RETRY_100, .paused = 110, ALLOW},
            {"beside one by hand", 130000, 0, "nothing, again 175", RETRY_100 BY_HAND("n2"),
             .paused = 110, ALLOW},
        };

        EXPECT_CELLS(cells);
}

Test(decision, what_is_paused_is_not_caught_up_with_either) {
        static const Cell cells[] = {
            {"it lasts", 455000, 0, "skip 100-400 x4 (paused), nothing, again 455", .paused = 50,
             ALL},
            {"it is over", 455000, 0, "skip 100-200 x2 (paused), nothing, again 455", .paused = 50,
             .resumed = 250, ALL},
            {"what came afterwards is", 455000, 0, "run 300, again 500",
             "{'run':'100-0','state':'skipped','tick':100,'to':200,'count':2}", .paused = 50,
             .resumed = 250, ALL},
        };

        EXPECT_CELLS(cells);
}

Test(decision, a_retry_of_a_paused_job_waits) {
        static const Cell cells[] = {
            {"it is due", 115000, 0, "nothing, again 175", RETRY_100, .paused = 110},
            {"by rank", 115000, 1, "nothing, again 175", RETRY_100, .paused = 110},
            {"to its start deadline", 175000, 0, "nothing, again 175", RETRY_100, .paused = 110},
            {"then it is given up", 175001, 0,
             "give up 100-100 x1 (paused), nothing, again 175.001", RETRY_100, .paused = 110},
            {"where it is resumed before it begins", 150000, 0, "run 100, again 175", RETRY_100,
             .paused = 110, .resumed = 140},
            {"who would take it hears of its end", 110000, 1, "watch, again 202", AGAIN("n2"),
             .paused = 105},
        };

        EXPECT_CELLS(cells);
}

/* ---- the ends of time ---- */

static DecisionInput input_of(const Schedule *schedule, const Ledger *ledger, int64_t now) {
        return (DecisionInput){.job = "a",
                               .schedule = schedule,
                               .ledger = ledger,
                               .self = "n1",
                               .now = (usec_t)now * USEC_PER_SEC,
                               .takeover_delay = 2 * USEC_PER_SEC,
                               .start_deadline = 600 * USEC_PER_SEC};
}

/* One record for what is too late, one for what is too much, and no loop over the seconds. */
Test(decision, a_month_of_seconds_is_not_caught_up_with) {
        _cleanup_(schedule_freep) Schedule *schedule = every(1);
        _cleanup_(ledger_freep) Ledger *ledger = ledger_of(0, 0, "");
        DecisionInput input = input_of(schedule, ledger, 2592000);
        usec_t began = clock_monotonic();

        input.catch_up = JOB_CATCH_UP_ALL;
        expect_decision(&input, "its start deadline",
                        "skip 1-2591399 x1000 (" EXPIRED "), run 2591400, again 2.592e+06");
        input.start_deadline = USEC_PER_DAY;
        expect_decision(&input, "too many",
                        "skip 1-2505599 x1000 (" EXPIRED "), skip 2505600-2590989 x1000 "
                        "(" DECISION_WHY_CROWD "), run 2590990, again 2.592e+06");
        cr_expect_lt(clock_monotonic() - began, USEC_PER_SEC / 4);
}

Test(decision, half_a_century_of_seconds_is_one_range) {
        _cleanup_(schedule_freep) Schedule *schedule = every(1);
        _cleanup_(ledger_freep) Ledger *ledger = ledger_of(0, 0, "");
        DecisionInput input = input_of(schedule, ledger, 1763700000);
        usec_t began = clock_monotonic();

        expect_decision(&input, "fresh",
                        "skip 1-1763699989 x1000 (" NEWER "), run 1763699990, again 1.7637e+09");
        input.takeover_delay = 0;
        input.start_deadline = 0;
        expect_decision(&input, "expired",
                        "skip 1-1763699999 x1000 (" EXPIRED "), run 1763700000, again 1.7637e+09");
        cr_expect_lt(clock_monotonic() - began, USEC_PER_SEC);
}

Test(decision, a_mark_at_the_end_of_time) {
        _cleanup_(schedule_freep) Schedule *schedule = every(1);
        _cleanup_(ledger_freep) Ledger *ledger = ledger_of(SCHEDULE_TICK_MAX, 0, "");
        DecisionInput input = input_of(schedule, ledger, 1763700000);

        expect_decision(&input, "now", "nothing, never again");
        input.now = USEC_INFINITY;
        expect_decision(&input, "never", "nothing, never again");
        input.now = 0;
        expect_decision(&input, "1970", "nothing, never again");
}

Test(decision, what_is_owed_begins_in_the_future) {
        _cleanup_(schedule_freep) Schedule *schedule = every(100);
        _cleanup_(ledger_freep) Ledger *ledger = ledger_of(0, 1000, "");
        DecisionInput input = input_of(schedule, ledger, 500);

        expect_decision(&input, "the clock of its maker was ahead", "nothing, again 1100");
        input.rank = 1;
        expect_decision(&input, "rank 1", "nothing, again 1102");
}

Test(decision, a_schedule_that_is_over) {
        g_autofree char *message = NULL;
        Schedule *schedule = NULL;
        _cleanup_(ledger_freep) Ledger *ledger = ledger_of(0, 1700000000, "");
        DecisionInput input;

        cr_assert_eq(schedule_new(NULL, &schedule, &message), 0);
        cr_assert_eq(schedule_add_calendar(schedule, "2024-01-01", &message), 0);
        input = input_of(schedule, ledger, 1704067200);
        expect_decision(&input, "the last one", "run 1704067200, never again");
        input.now += USEC_PER_DAY;
        expect_decision(&input, "missed",
                        "skip 1704067200-1704067200 x1 (" EXPIRED "), nothing, never again");
        ledger->mark = 1704067200;
        expect_decision(&input, "done", "nothing, never again");
        schedule_free(schedule);
}

Test(decision, a_deadline_without_end) {
        _cleanup_(schedule_freep) Schedule *schedule = every(100);
        _cleanup_(ledger_freep) Ledger *ledger = ledger_of(0, 50, "");
        DecisionInput input = input_of(schedule, ledger, 150);

        input.takeover_delay = 5 * USEC_PER_MINUTE;
        input.start_deadline = USEC_INFINITY;
        expect_decision(&input, "fresh for long", "run 100, again 200");
        input.rank = 3;
        expect_decision(&input, "its turn is far", "nothing, again 1000");
        input.takeover_delay = 0;
        input.now = 1763700050 * USEC_PER_SEC;
        expect_decision(&input, "and is never too late",
                        "skip 100-1763699900 x1000 (" NEWER "), run 1763700000, again 1.7637e+09");
}

/* ---- again ---- */

static Ledger *random_ledger(GRand *chance) {
        static const RunState states[] = {RUN_CLAIMED, RUN_SUCCEEDED, RUN_SKIPPED};
        Ledger *ledger = ledger_new(g_rand_int_range(chance, 0, 300), "d");

        for (unsigned i = 0; i < (unsigned)g_rand_int_range(chance, 0, 4); i++) {
                int64_t tick = 10 * (int64_t)g_rand_int_range(chance, 1, 40);
                g_autofree char *run = g_strdup_printf("%" G_GINT64_FORMAT "-1", tick);
                _cleanup_(run_record_freep) RunRecord *record =
                    run_of(tick, run, g_rand_boolean(chance) ? "n1" : "n2", RUN_CLAIMED);

                if (ledger_claim(ledger, record) == 0)
                        ((LedgerEntry *)ledger_find_run(ledger, run))->state =
                            states[g_rand_int_range(chance, 0, 3)];
        }
        return ledger;
}

static bool is_idle(const Decision *decision) {
        return decision->verdict == DECISION_NOTHING && decision->n_skips == 0;
}

/* A deadline not shorter than the last rank's turn. Who has nothing to do has nothing to do until
 * `again`, and then has something to do: nobody spins, and nobody sleeps through a tick. */
static void check_again(DecisionInput *input, GRand *chance) {
        Decision decision, later;

        decide(input, &decision);
        if (decision.again == USEC_INFINITY)
                return;
        cr_assert_gt(decision.again, input->now);
        if (!is_idle(&decision))
                return;
        for (unsigned i = 0; i < 4; i++) {
                DecisionInput then = *input;

                then.now += (usec_t)(g_rand_double(chance) * (double)(decision.again - input->now));
                decide(&then, &later);
                cr_assert(is_idle(&later));
                cr_assert_eq(later.again, decision.again);
        }
        input->now = decision.again;
        decide(input, &later);
        cr_assert_not(is_idle(&later));
}

Test(decision, again_is_when_there_is_something_to_do) {
        GRand *chance = g_rand_new_with_seed(20250101);

        for (unsigned i = 0; i < 5000; i++) {
                _cleanup_(schedule_freep) Schedule *schedule =
                    every((unsigned)g_rand_int_range(chance, 1, 5) * 10);
                _cleanup_(ledger_freep) Ledger *ledger = random_ledger(chance);
                g_autofree char *fault = NULL;
                DecisionInput input = {
                    .job = "a",
                    .schedule = schedule,
                    .ledger = ledger,
                    .self = "n1",
                    .now = (usec_t)g_rand_int_range(chance, 0, 500000) * USEC_PER_MSEC,
                    .rank = (uint32_t)g_rand_int_range(chance, 0, PLACEMENT_RANKS),
                    .takeover_delay = (usec_t)g_rand_int_range(chance, 0, 4) * USEC_PER_SEC,
                    .start_deadline = (usec_t)g_rand_int_range(chance, 9, 100) * USEC_PER_SEC,
                    .catch_up = (JobCatchUp)g_rand_int_range(chance, 0, 2),
                };

                cr_assert_eq(
                    schedule_set_random_delay(
                        schedule, (usec_t)g_rand_int_range(chance, 0, 10) * USEC_PER_SEC, &fault),
                    0);
                check_again(&input, chance);
        }
        g_rand_free(chance);
}

/* ---- never before it starts ---- */

static void check_started(const DecisionInput *input, int64_t tick) {
        cr_assert_leq((usec_t)schedule_start(input->schedule, input->job, tick) * USEC_PER_SEC,
                      input->now, "%" G_GINT64_FORMAT, tick);
}

static void check_not_early(const DecisionInput *input) {
        Decision decision;

        decide(input, &decision);
        for (size_t i = 0; i < decision.n_skips; i++)
                check_started(input, decision.skips[i].to);
        if (decision.verdict != DECISION_NOTHING) {
                check_started(input, decision.tick);
                cr_assert_not(decision_pause_covers(
                    input->pause, schedule_start(input->schedule, input->job, decision.tick)));
        }
        cr_assert(decision.n_skips > 0 || decision.again > input->now);
}

static DecisionPause random_pause(GRand *chance) {
        usec_t since = (usec_t)g_rand_int_range(chance, 0, 500000) * USEC_PER_MSEC;

        return (DecisionPause){.since = since,
                               .until = g_rand_boolean(chance)
                                            ? USEC_INFINITY
                                            : since + (usec_t)g_rand_int_range(chance, 0, 300000) *
                                                          USEC_PER_MSEC,
                               .why = (char *)"paused"};
}

/* The last run may have ended at any time, by a clock that was ahead as well. */
static void random_last(GRand *chance, Ledger *ledger) {
        ledger->last = run_record_new("a", "1-1");
        ledger->last->tick = 10 * (int64_t)g_rand_int_range(chance, 0, 40);
        ledger->last->ended = (usec_t)g_rand_int_range(chance, 0, 600000) * USEC_PER_MSEC;
}

Test(decision, nothing_is_done_about_a_tick_before_it_starts) {
        GRand *chance = g_rand_new_with_seed(20250102);

        for (unsigned i = 0; i < 5000; i++) {
                _cleanup_(schedule_freep) Schedule *schedule =
                    every((unsigned)g_rand_int_range(chance, 2, 6) * 10);
                _cleanup_(ledger_freep) Ledger *ledger = random_ledger(chance);
                g_autofree char *fault = NULL;
                const DecisionPause pause = random_pause(chance);
                const DecisionInput input = {
                    .job = "a",
                    .schedule = schedule,
                    .ledger = ledger,
                    .self = "n1",
                    .now = (usec_t)g_rand_int_range(chance, 0, 500000) * USEC_PER_MSEC,
                    .rank = (uint32_t)g_rand_int_range(chance, 0, PLACEMENT_RANKS),
                    .takeover_delay = (usec_t)g_rand_int_range(chance, 0, 4) * USEC_PER_SEC,
                    .start_deadline = (usec_t)g_rand_int_range(chance, 0, 100) * USEC_PER_SEC,
                    .overlap = (JobOverlap)g_rand_int_range(chance, 0, 3),
                    .catch_up = (JobCatchUp)g_rand_int_range(chance, 0, 3),
                    .nobody = g_rand_int_range(chance, 0, 8) == 0,
                    .pause = g_rand_boolean(chance) ? &pause : NULL,
                };

                if (g_rand_boolean(chance))
                        random_last(chance, ledger);
                cr_assert_eq(
                    schedule_set_random_delay(
                        schedule, (usec_t)g_rand_int_range(chance, 0, 20) * USEC_PER_SEC, &fault),
                    0);
                check_not_early(&input);
        }
        g_rand_free(chance);
}

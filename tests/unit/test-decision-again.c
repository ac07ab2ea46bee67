/* The ends of time; and by chance: it is asked again when there is something to do, and no tick
 * begins before its start. */
#include <time.h>

#include "decision-cells.h"
#include "ledger-change.h"

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
        clock_t began = clock();

        input.catch_up = JOB_CATCH_UP_ALL;
        expect_decision(&input, "its start deadline",
                        "skip 1-2591399 x1000 (" EXPIRED "), run 2591400, again 2.592e+06");
        input.start_deadline = USEC_PER_DAY;
        expect_decision(&input, "too many",
                        "skip 1-2505599 x1000 (" EXPIRED "), skip 2505600-2590989 x1000 "
                        "(" DECISION_WHY_CROWD "), run 2590990, again 2.592e+06");
        cr_expect_lt(clock() - began, CLOCKS_PER_SEC / 4);
}

Test(decision, half_a_century_of_seconds_is_one_range) {
        _cleanup_(schedule_freep) Schedule *schedule = every(1);
        _cleanup_(ledger_freep) Ledger *ledger = ledger_of(0, 0, "");
        DecisionInput input = input_of(schedule, ledger, 1763700000);
        clock_t began = clock();

        expect_decision(&input, "fresh",
                        "skip 1-1763699989 x1000 (" NEWER "), run 1763699990, again 1.7637e+09");
        input.takeover_delay = 0;
        input.start_deadline = 0;
        expect_decision(&input, "expired",
                        "skip 1-1763699999 x1000 (" EXPIRED "), run 1763700000, again 1.7637e+09");
        cr_expect_lt(clock() - began, CLOCKS_PER_SEC);
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
                const JobOverlap overlap = (JobOverlap)g_rand_int_range(chance, 0, 4);
                const DecisionInput input = {
                    .job = "a",
                    .schedule = schedule,
                    .ledger = ledger,
                    .self = "n1",
                    .now = (usec_t)g_rand_int_range(chance, 0, 500000) * USEC_PER_MSEC,
                    .rank = (uint32_t)g_rand_int_range(chance, 0, PLACEMENT_RANKS),
                    .takeover_delay = (usec_t)g_rand_int_range(chance, 0, 4) * USEC_PER_SEC,
                    .start_deadline = (usec_t)g_rand_int_range(chance, 0, 100) * USEC_PER_SEC,
                    .overlap = overlap,
                    .beside = overlap == JOB_OVERLAP_ALLOW ? JOB_BESIDE_MAX
                              : overlap == JOB_OVERLAP_SKIP
                                  ? (unsigned)g_rand_int_range(chance, 0, 4)
                                  : 1,
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

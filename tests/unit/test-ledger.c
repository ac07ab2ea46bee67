/* The rules by which a ledger changes. Ticks are small numbers: every 10 s from 10 on. */
#include "ledger-change.h"
#include "ledger-fixture.h"
#include "ledger-skip.h"

/* Return: whether it was joined to the entry before. */
static bool skip(Ledger *ledger, const Schedule *schedule, int64_t from, int64_t to,
                 const char *why) {
        const LedgerEntry *entry = NULL;
        bool joined = false;

        cr_assert_eq(ledger_skip(ledger, schedule, from, to,
                                 schedule_count(schedule, from - 1, to, 1000), why, &entry,
                                 &joined),
                     0);
        cr_assert_not_null(entry);
        cr_assert_eq(entry->to, to);
        cr_assert_eq(ledger_find_tick(ledger, from), entry);
        return joined;
}

/* ---- claims ---- */

Test(ledger, claim_is_written_down) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(5, "d");
        const LedgerEntry *entry;

        cr_assert_eq(claim_tick(ledger, 10, "10-1"), 0);
        expect_ledger(ledger, "mark 0 | 10 claimed 10-1");
        entry = ledger_find_run(ledger, "10-1");
        cr_assert_not_null(entry);
        cr_expect_eq(entry, ledger_find_tick(ledger, 10));
        cr_expect_eq(entry, ledger_first_claimed(ledger));
        cr_expect_str_eq(entry->node, "n1");
        cr_expect_eq(entry->attempt, 1);
        cr_expect_eq(entry->claimed, 10 * USEC_PER_SEC + 1);
        cr_expect_null(entry->why);
}

Test(ledger, no_tick_is_claimed_twice) {
        _cleanup_(ledger_freep) Ledger *ledger =
            ledger_of(20, 5,
                      "{'run':'40-0','state':'skipped','tick':40,'to':60,'count':3},"
                      "{'run':'30-1','state':'failed','tick':30}");

        cr_expect_eq(claim_tick(ledger, 5, "5-1"), -EEXIST, "never owed");
        cr_expect_eq(claim_tick(ledger, 20, "20-2"), -EEXIST, "at the mark");
        cr_expect_eq(claim_tick(ledger, 30, "30-2"), -EEXIST, "done already");
        cr_expect_eq(claim_tick(ledger, 50, "50-1"), -EEXIST, "inside a skipped range");
        cr_expect_eq(claim_tick(ledger, 70, "30-1"), -EEXIST, "a run of that name");
        cr_expect_eq(claim_tick(ledger, 70, "70-1"), 0);
        cr_expect_eq(claim_tick(ledger, 70, "70-1"), -EEXIST);
        cr_expect_eq(claim_tick(ledger, 70, "70-2"), -EEXIST);
}

static int claim_by_hand(Ledger *ledger, int64_t tick, const char *run) {
        _cleanup_(run_record_freep) RunRecord *record = run_of(tick, run, "n1", RUN_CLAIMED);

        record->who = g_strdup("me");
        return ledger_claim(ledger, record);
}

/* It stands there as a manual run does, wherever the mark is. */
Test(ledger, a_settled_tick_is_attempted_again_by_hand) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger =
            ledger_of(20, 5, "{'run':'40-1','state':'failed','tick':40}");

        cr_expect(ledger_is_settled(ledger, 20) && ledger_is_settled(ledger, 40));
        cr_assert_eq(claim_by_hand(ledger, 20, "20-2"), 0);
        cr_assert_eq(claim_by_hand(ledger, 40, "40-2"), 0);
        expect_ledger(ledger, "mark 20 | 0 claimed 20-2 | 0 claimed 40-2 | 40 failed 40-1");
        cr_expect_str_eq(ledger_find_unsettled(ledger, 20)->run, "20-2");
        cr_expect_not(ledger_is_settled(ledger, 20) || ledger_is_settled(ledger, 40));
        cr_expect_eq(claim_by_hand(ledger, 20, "20-3"), -EEXIST, "one at a time");
        cr_assert_eq(settle_tick(ledger, schedule, 20, "20-2", RUN_SUCCEEDED), 0);
        cr_assert_eq(settle_tick(ledger, schedule, 40, "40-2", RUN_FAILED), 0);
        expect_ledger(ledger, "mark 20 | 40 failed 40-1");
        cr_expect(ledger_is_settled(ledger, 20) && ledger_is_settled(ledger, 40));
}

Test(ledger, what_is_not_settled_is_not_attempted_by_hand) {
        _cleanup_(ledger_freep) Ledger *ledger =
            ledger_of(20, 5,
                      "{'run':'30-1','state':'claimed','tick':30},"
                      "{'run':'40-1','state':'failed','tick':40,'not_before':60}");

        cr_expect_eq(claim_by_hand(ledger, 30, "30-2"), -EEXIST, "under way");
        cr_expect_eq(claim_by_hand(ledger, 40, "40-2"), -EEXIST, "it follows by itself");
        cr_expect_eq(claim_by_hand(ledger, 50, "50-1"), -EEXIST, "undecided");
        cr_expect_not(ledger_is_settled(ledger, 30) || ledger_is_settled(ledger, 40) ||
                      ledger_is_settled(ledger, 50));
        cr_expect_eq(claim_by_hand(ledger, 0, "20-m1"), 0);
        cr_expect(ledger_is_settled(ledger, 20), "that is a run of no tick");
}

Test(ledger, entries_are_sorted_by_tick) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(5, "d");

        cr_assert_eq(claim_tick(ledger, 30, "30-1"), 0);
        cr_assert_eq(claim_tick(ledger, 10, "10-1"), 0);
        cr_assert_eq(claim_tick(ledger, 0, "12-m1"), 0);
        cr_assert_eq(claim_tick(ledger, 20, "20-1"), 0);
        expect_ledger(
            ledger,
            "mark 0 | 0 claimed 12-m1 | 10 claimed 10-1 | 20 claimed 20-1 | 30 claimed 30-1");
}

Test(ledger, only_so_many_claims) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(5, "d");

        for (int64_t i = 1; i <= LEDGER_OPEN_MAX; i++) {
                g_autofree char *run = g_strdup_printf("%" G_GINT64_FORMAT "-1", 10 * i);

                cr_assert_eq(claim_tick(ledger, 10 * i, run), 0);
        }
        cr_expect_eq(claim_tick(ledger, 10000, "10000-1"), -ENOSPC);
        cr_expect_eq(ledger->open->len, LEDGER_OPEN_MAX);
        cr_expect_eq(claim_tick(ledger, 10, "10-1"), -EEXIST, "which says more");
}

/* ---- retries ---- */

static RunRecord *attempt_of(int64_t tick, unsigned attempt, RunState state) {
        g_autofree char *run = g_strdup_printf("%" G_GINT64_FORMAT "-%u", tick, attempt);
        RunRecord *record = run_of(tick, run, "n1", state);

        record->attempt = attempt;
        record->ended = (usec_t)(tick + 5) * USEC_PER_SEC;
        record->terms.attempts = 3;
        record->terms.delay = 2 * USEC_PER_SEC;
        record->terms.max_delay = USEC_PER_MINUTE;
        return record;
}

static int claim_attempt(Ledger *ledger, int64_t tick, unsigned attempt) {
        _cleanup_(run_record_freep) RunRecord *record = attempt_of(tick, attempt, RUN_CLAIMED);

        return ledger_claim(ledger, record);
}

static void settle_attempt(Ledger *ledger, const Schedule *schedule, int64_t tick, unsigned attempt,
                           RunState state) {
        _cleanup_(run_record_freep) RunRecord *record = attempt_of(tick, attempt, state);

        cr_assert_eq(ledger_settle(ledger, record, schedule, record->ended), 0);
}

Test(ledger, what_failed_is_retried) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(5, "d");
        const LedgerEntry *entry;

        cr_expect_eq(ledger_next_attempt(ledger, 10), 1);
        cr_assert_eq(claim_attempt(ledger, 10, 1), 0);
        cr_expect(ledger_first_claimed(ledger)->again);
        cr_expect_not(ledger_is_claimable(ledger, 10));
        settle_attempt(ledger, schedule, 10, 1, RUN_FAILED);
        expect_ledger(ledger, "mark 0 | 10 failed 10-1");
        entry = ledger_first_retry(ledger);
        cr_assert_not_null(entry);
        cr_expect_eq(entry->not_before, 17 * USEC_PER_SEC);
        cr_expect_not(entry->again);
        cr_expect(ledger_is_decided(ledger, 10), "no first attempt of it follows");
        cr_expect(ledger_is_claimable(ledger, 10));
        cr_expect_eq(ledger_next_attempt(ledger, 10), 2);
        cr_expect_eq(ledger_due(ledger, 10, 12), 17);
        /* The next one takes its entry over. */
        cr_assert_eq(claim_attempt(ledger, 10, 2), 0);
        expect_ledger(ledger, "mark 0 | 10 claimed 10-2");
        cr_expect_null(ledger_first_retry(ledger));
        cr_expect_eq(ledger_due(ledger, 10, 12), 12);
        settle_attempt(ledger, schedule, 10, 2, RUN_SUCCEEDED);
        expect_ledger(ledger, "mark 10");
        cr_expect_eq(ledger->last->attempt, 2);
        cr_expect_eq(ledger->last->terms.attempts, 0, "it is kept short");
}

Test(ledger, as_often_as_its_claim_says) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(5, "d");

        for (unsigned attempt = 1; attempt <= 3; attempt++) {
                cr_assert_eq(claim_attempt(ledger, 10, attempt), 0);
                cr_expect_eq(ledger_first_claimed(ledger)->again, attempt < 3);
                settle_attempt(ledger, schedule, 10, attempt, RUN_TIMED_OUT);
        }
        expect_ledger(ledger, "mark 10");
        cr_expect_eq(claim_attempt(ledger, 10, 4), -EEXIST);
}

Test(ledger, no_attempt_is_left_out_or_made_twice) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(5, "d");

        cr_assert_eq(claim_attempt(ledger, 10, 1), 0);
        cr_expect_eq(claim_attempt(ledger, 10, 2), -EEXIST, "the one before is under way");
        settle_attempt(ledger, schedule, 10, 1, RUN_FAILED);
        cr_expect_eq(claim_attempt(ledger, 10, 1), -EEXIST);
        cr_expect_eq(claim_attempt(ledger, 10, 3), -EEXIST);
        cr_assert_eq(claim_attempt(ledger, 10, 2), 0);
        cr_expect_eq(claim_attempt(ledger, 10, 2), -EEXIST);
}

/* A full ledger, and one whose definition changed meanwhile, take it as well. */
Test(ledger, a_retry_needs_no_place_of_its_own) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(5, "d");

        cr_assert_eq(claim_attempt(ledger, 10, 1), 0);
        settle_attempt(ledger, schedule, 10, 1, RUN_FAILED);
        for (int64_t i = 2; i <= LEDGER_OPEN_MAX; i++)
                cr_assert_eq(claim_attempt(ledger, 10 * i, 1), 0);
        ledger_adopt_digest(ledger, "e", 1000);
        cr_assert_not_null(ledger_first_retry(ledger));
        cr_expect_eq(claim_attempt(ledger, 10, 2), 0);
        cr_expect_eq(ledger->open->len, LEDGER_OPEN_MAX);
}

Test(ledger, the_mark_waits_for_a_retry) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(5, "d");

        cr_assert_eq(claim_attempt(ledger, 10, 1), 0);
        settle_attempt(ledger, schedule, 10, 1, RUN_FAILED);
        skip(ledger, schedule, 20, 30, "x");
        ledger_compact(ledger, schedule);
        expect_ledger(ledger, "mark 0 | 10 failed 10-1 | 20-30 x2 skipped 20-0 (x)");
        cr_expect_not(ledger_give_up(ledger, 20, 0));
        cr_expect_not(ledger_give_up(ledger, 40, 0));
        cr_expect_not(ledger_give_up(ledger, 0, 0));
        cr_expect(ledger_give_up(ledger, 10, 0));
        cr_expect_not(ledger_give_up(ledger, 10, 0));
        ledger_compact(ledger, schedule);
        expect_ledger(ledger, "mark 30 | 20-30 x2 skipped 20-0 (x)");
        cr_expect_eq(claim_attempt(ledger, 10, 2), -EEXIST);
}

/* What comes between the end of a run and its being written is in line behind it. */
Test(ledger, what_is_written_late_is_noted) {
        static const struct {
                unsigned ended, now, freed;
        } cases[] = {{50, 50, 0}, {50, 51, 0}, {50, 53, 53}, {50, 49, 0}};

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                _cleanup_(ledger_freep) Ledger *ledger = ledger_new(5, "d");
                _cleanup_(run_record_freep) RunRecord *record = run_record_new("a", "10-1");

                cr_expect_eq(ledger_free_since(ledger), 0);
                cr_assert_eq(claim_attempt(ledger, 10, 1), 0);
                ledger->freed = 7 * USEC_PER_SEC;
                record->tick = 10;
                record->attempt = 1;
                record->state = RUN_UNKNOWN;
                record->ended = cases[i].ended * USEC_PER_SEC;
                cr_assert_eq(ledger_settle(ledger, record, NULL, cases[i].now * USEC_PER_SEC), 0);
                cr_expect_eq(ledger->freed, cases[i].freed * USEC_PER_SEC);
                cr_expect_eq(ledger_free_since(ledger),
                             MAX(cases[i].ended, cases[i].freed) * USEC_PER_SEC);
                record->state = RUN_SUCCEEDED;
                cr_assert_eq(ledger_settle(ledger, record, NULL, 90 * USEC_PER_SEC), 0);
                cr_expect_eq(ledger->freed, cases[i].freed * USEC_PER_SEC, "known better by now");
        }
}

Test(ledger, so_is_what_is_given_up) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(5, "d");

        cr_assert_eq(claim_attempt(ledger, 10, 1), 0);
        settle_attempt(ledger, schedule, 10, 1, RUN_FAILED);
        cr_expect_eq(ledger->freed, 0);
        cr_expect_not(ledger_give_up(ledger, 20, 60 * USEC_PER_SEC));
        cr_expect_eq(ledger->freed, 0);
        cr_expect(ledger_give_up(ledger, 10, 60 * USEC_PER_SEC));
        cr_expect_eq(ledger->freed, 60 * USEC_PER_SEC);
}

/* A job that left all files, and one that is run by hand from now on. */
Test(ledger, what_has_no_ticks_any_more_is_not_retried) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);

        for (unsigned late = 0; late < 4; late++) {
                _cleanup_(ledger_freep) Ledger *ledger = ledger_new(5, "d");

                ledger_set_schedule(ledger, schedule);
                cr_assert_eq(claim_attempt(ledger, 10, 1), 0);
                if (late < 2)
                        settle_attempt(ledger, schedule, 10, 1, RUN_FAILED);
                ledger_adopt_digest(ledger, late % 2 ? "e" : "", 95);
                if (late % 2)
                        ledger_set_schedule(ledger, NULL);
                if (late >= 2)
                        settle_attempt(ledger, schedule, 10, 1, RUN_FAILED);
                cr_expect_null(ledger_first_retry(ledger), "%u", late);
                cr_expect_eq(ledger->open->len, 0, "%u", late);
        }
}

/* Its owner comes back and knows. */
Test(ledger, a_lost_one_that_had_succeeded_is_not_rerun) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(5, "d");
        _cleanup_(run_record_freep) RunRecord *record = attempt_of(10, 1, RUN_UNKNOWN);

        record->terms = (RunTerms){.rerun = true};
        cr_assert_eq(claim_attempt(ledger, 10, 1), 0);
        cr_assert_eq(ledger_settle(ledger, record, schedule, record->ended), 0);
        cr_expect_eq(ledger_first_retry(ledger)->not_before, record->ended, "at once");
        record->state = RUN_INTERRUPTED;
        cr_assert_eq(ledger_settle(ledger, record, schedule, record->ended), 0);
        cr_assert_not_null(ledger_first_retry(ledger));
        cr_expect_eq(ledger->freed, 0);
        record->state = RUN_SUCCEEDED;
        cr_assert_eq(ledger_settle(ledger, record, schedule, record->ended + USEC_PER_SEC), 0);
        expect_ledger(ledger, "mark 10");
        cr_expect_eq(ledger->freed, record->ended + USEC_PER_SEC, "until then others had to wait");
}

/* What was over is over, whatever it turns out to have been. */
Test(ledger, what_was_not_to_be_retried_is_not_because_it_is_refined) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(5, "d");

        cr_assert_eq(claim_attempt(ledger, 10, 1), 0);
        cr_assert_eq(claim_attempt(ledger, 20, 1), 0);
        settle_attempt(ledger, schedule, 20, 1, RUN_UNKNOWN);
        settle_attempt(ledger, schedule, 20, 1, RUN_FAILED);
        expect_ledger(ledger, "mark 0 | 10 claimed 10-1 | 20 failed 20-1");
        cr_expect_null(ledger_first_retry(ledger));
}

/* What is left of a rerun when an older version has written the ledger: it drops what it does not
 * know, and ends the tick as it always did. */
Test(ledger, without_its_time_a_retry_is_none) {
        _cleanup_(ledger_freep) Ledger *ledger =
            ledger_of(0, 5, "{'run':'10-1','state':'unknown','tick':10,'attempt':1,'node':'n1'}");

        cr_expect_null(ledger_first_retry(ledger));
        cr_expect_eq(claim_attempt(ledger, 10, 2), -EEXIST);
}

Test(ledger, what_cannot_be_retried_is_not_believed_to_be) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_of(
            0, 5,
            "{'run':'10-1','state':'claimed','tick':10,'attempt':1,'node':'n1','not_before':7},"
            "{'run':'12-m1','state':'failed','attempt':1,'node':'n1','not_before':7},"
            "{'run':'20-0','state':'skipped','tick':20,'to':30,'count':2,'not_before':7},"
            "{'run':'40-1','state':'failed','tick':40,'to':50,'count':2,'not_before':7}");

        cr_expect_null(ledger_first_retry(ledger));
        cr_expect_eq(ledger_due(NULL, 10, 12), 12);
}

/* Somebody wrote a tick into the record of a run by hand: nobody could claim what would follow. */
Test(ledger, a_run_by_hand_is_not_retried_whatever_its_record_says) {
        _cleanup_(ledger_freep) Ledger *ledger =
            ledger_of(0, 5, "{'run':'12-m1','state':'claimed','attempt':1,'node':'n1'}");
        _cleanup_(run_record_freep) RunRecord *record = attempt_of(10, 1, RUN_FAILED);

        g_free(record->run);
        record->run = g_strdup("12-m1");
        (void)ledger_settle(ledger, record, NULL, record->ended);
        cr_expect_null(ledger_first_retry(ledger));
}

/* ---- settles and the mark ---- */

/* What stands in the run's own record would only make every claim's write longer. */
Test(ledger, the_newest_run_is_kept_short) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(5, "d");
        _cleanup_(run_record_freep) RunRecord *record = run_of(10, "10-1", "n1", RUN_SUCCEEDED);
        static const char *const locks[] = {"/l/a", NULL};

        record->boot = g_strdup("boot");
        record->nonce = g_strdup("nonce");
        record->unit = g_strdup("unit");
        record->invocation = g_strdup("invocation");
        record->locks = g_strdupv((char **)locks);
        record->token = 7;
        cr_assert_eq(claim_tick(ledger, 10, "10-1"), 0);
        cr_assert_eq(ledger_settle(ledger, record, schedule, record->ended), 0);
        cr_assert_not_null(ledger->last);
        cr_expect_null(ledger->last->boot);
        cr_expect_null(ledger->last->nonce);
        cr_expect_null(ledger->last->unit);
        cr_expect_null(ledger->last->invocation);
        cr_expect_null(ledger->last->locks);
        cr_expect_eq(ledger->last->token, 0);
        cr_expect_str_eq(ledger->last->node, "n1");
}

Test(ledger, settle_moves_the_mark) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(5, "d");

        cr_assert_eq(claim_tick(ledger, 10, "10-1"), 0);
        cr_assert_eq(settle_tick(ledger, schedule, 10, "10-1", RUN_SUCCEEDED), 0);
        expect_ledger(ledger, "mark 10");
        cr_expect(ledger_is_decided(ledger, 10));
        cr_expect_not(ledger_is_decided(ledger, 20));
        cr_assert_not_null(ledger->last);
        cr_expect_str_eq(ledger->last->run, "10-1");
        cr_expect_eq(ledger->last->state, RUN_SUCCEEDED);
}

Test(ledger, mark_stands_before_what_is_open) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(5, "d");

        cr_assert_eq(claim_tick(ledger, 10, "10-1"), 0);
        cr_assert_eq(claim_tick(ledger, 30, "30-1"), 0);
        cr_assert_eq(settle_tick(ledger, schedule, 30, "30-1", RUN_FAILED), 0);
        expect_ledger(ledger, "mark 0 | 10 claimed 10-1 | 30 failed 30-1");
        cr_assert_eq(settle_tick(ledger, schedule, 10, "10-1", RUN_SUCCEEDED), 0);
        expect_ledger(ledger, "mark 10 | 30 failed 30-1");
        cr_assert_not(skip(ledger, schedule, 20, 20, "x"));
        ledger_compact(ledger, schedule);
        expect_ledger(ledger, "mark 30");
}

Test(ledger, mark_passes_ranges_and_ends_behind_them) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger =
            ledger_of(0, 15,
                      "{'run':'20-1','state':'unknown','tick':20},"
                      "{'run':'30-0','state':'skipped','tick':30,'to':70,'count':5,'why':'x'},"
                      "{'run':'80-1','state':'claimed','tick':80},"
                      "{'run':'90-0','state':'skipped','tick':90,'why':'y'}");

        ledger_compact(ledger, schedule);
        expect_ledger(
            ledger, "mark 70 | 30-70 x5 skipped 30-0 (x) | 80 claimed 80-1 | 90 skipped 90-0 (y)");
        cr_assert_eq(settle_tick(ledger, schedule, 80, "80-1", RUN_STOPPED), 0);
        expect_ledger(ledger, "mark 90 | 90 skipped 90-0 (y)");
}

Test(ledger, compact_without_a_schedule_only_drops) {
        _cleanup_(ledger_freep) Ledger *ledger =
            ledger_of(20, 5,
                      "{'run':'10-1','state':'failed','tick':10},"
                      "{'run':'15-1','state':'claimed','tick':15},"
                      "{'run':'20-0','state':'skipped','tick':20,'to':30,'count':2},"
                      "{'run':'9-m1','state':'failed'}");

        ledger_compact(ledger, NULL);
        expect_ledger(ledger, "mark 20 | 15 claimed 15-1 | 20-30 x2 skipped 20-0");
}

Test(ledger, manual_runs_never_move_the_mark) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(5, "d");

        cr_assert_eq(claim_tick(ledger, 0, "12-m1"), 0);
        cr_expect_not(ledger_is_decided(ledger, 10));
        cr_expect_eq(claim_tick(ledger, 0, "12-m1"), -EEXIST);
        cr_expect_str_eq(ledger_first_claimed(ledger)->run, "12-m1");
        cr_assert_eq(settle_tick(ledger, schedule, 0, "12-m1", RUN_SUCCEEDED), 0);
        expect_ledger(ledger, "mark 0");
        cr_expect_str_eq(ledger->last->run, "12-m1");
}

Test(ledger, a_run_nobody_knows) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(5, "d");

        cr_expect_eq(settle_tick(ledger, schedule, 10, "10-1", RUN_SUCCEEDED), -ENOENT);
        cr_expect_null(ledger->last);
        expect_ledger(ledger, "mark 0");
}

Test(ledger, unknown_is_refined_after_its_entry_went) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(5, "d");

        cr_assert_eq(claim_tick(ledger, 10, "10-1"), 0);
        cr_assert_eq(settle_tick(ledger, schedule, 10, "10-1", RUN_UNKNOWN), 0);
        cr_expect_eq(settle_tick(ledger, schedule, 10, "10-1", RUN_SUCCEEDED), -ENOENT);
        cr_expect_eq(ledger->last->state, RUN_SUCCEEDED);
        cr_expect_eq(ledger->succeeded, ledger->last->ended);
        expect_ledger(ledger, "mark 10");
}

Test(ledger, last_is_the_newest_claim_and_short) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(5, "d");
        _cleanup_(run_record_freep) RunRecord *record = run_of(20, "20-1", "n1", RUN_FAILED);

        record->unit = g_strdup("u");
        record->nonce = g_strdup("n");
        record->why = g_strdup("w");
        record->exit_status = 3;
        record->token = 7;
        cr_assert_eq(claim_tick(ledger, 10, "10-1"), 0);
        cr_assert_eq(ledger_claim(ledger, record), 0);
        cr_assert_eq(ledger_settle(ledger, record, schedule, record->ended), 0);
        cr_assert_eq(settle_tick(ledger, schedule, 10, "10-1", RUN_SUCCEEDED), 0);
        cr_expect_str_eq(ledger->last->run, "20-1", "the older one was settled later");
        cr_expect(!ledger->last->unit && !ledger->last->nonce && ledger->last->token == 0);
        cr_expect_str_eq(ledger->last->why, "w");
        cr_expect_eq(ledger->last->exit_status, 3);
}

/* ---- skips ---- */

Test(ledger, skips_join_their_neighbour) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(5, "d");

        cr_assert_eq(claim_tick(ledger, 10, "10-1"), 0);
        cr_expect_not(skip(ledger, schedule, 20, 20, "x"));
        cr_expect(skip(ledger, schedule, 30, 30, "x"));
        cr_expect(skip(ledger, schedule, 40, 70, "x"));
        expect_ledger(ledger, "mark 0 | 10 claimed 10-1 | 20-70 x6 skipped 20-0 (x)");
        cr_expect_not(skip(ledger, schedule, 80, 80, "y"), "another reason");
        cr_expect_not(skip(ledger, schedule, 100, 100, "y"), "90 is owed still");
        expect_ledger(ledger, "mark 0 | 10 claimed 10-1 | 20-70 x6 skipped 20-0 (x) | "
                              "80 skipped 80-0 (y) | 100 skipped 100-0 (y)");
}

Test(ledger, skips_do_not_join_runs_or_what_comes_after) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger =
            ledger_of(0, 5,
                      "{'run':'20-1','state':'failed','tick':20,'why':'x'},"
                      "{'run':'50-0','state':'skipped','tick':50,'why':'x'}");

        cr_expect_not(skip(ledger, schedule, 30, 30, "x"));
        cr_expect_not(skip(ledger, schedule, 10, 10, "x"));
        cr_expect(skip(ledger, schedule, 40, 40, "x"));
        ledger_compact(ledger, schedule);
        expect_ledger(ledger, "mark 50 | 50 skipped 50-0 (x)");
}

/* One record, however long it lasts. */
Test(ledger, a_stretch_goes_on_behind_the_mark) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger = ledger_of(20, 5, "");
        _cleanup_(run_record_freep) RunRecord *run = run_of(70, "70-1", "n1", RUN_CLAIMED);

        for (int64_t tick = 30; tick <= 60; tick += 10) {
                const LedgerEntry *entry = NULL;
                bool joined = false;

                cr_assert_eq(ledger_skip(ledger, schedule, tick, tick, 1, "x", &entry, &joined), 0);
                cr_expect_eq(joined, tick > 30);
                cr_expect_str_eq(entry->run, "30-0");
                ledger_compact(ledger, schedule);
        }
        expect_ledger(ledger, "mark 60 | 30-60 x4 skipped 30-0 (x)");
        /* A run ends it. */
        cr_assert_eq(ledger_claim(ledger, run), 0);
        run->state = RUN_SUCCEEDED;
        cr_assert_eq(ledger_settle(ledger, run, schedule, 0), 0);
        expect_ledger(ledger, "mark 70");
}

Test(ledger, another_reason_is_another_stretch) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger =
            ledger_of(30, 5, "{'run':'30-0','state':'skipped','tick':30,'why':'x'}");
        const LedgerEntry *entry = NULL;
        bool joined = true;

        cr_assert_eq(ledger_skip(ledger, schedule, 40, 40, 1, "y", &entry, &joined), 0);
        cr_expect_not(joined);
        ledger_compact(ledger, schedule);
        expect_ledger(ledger, "mark 40 | 40 skipped 40-0 (y)");
}

Test(ledger, decided_ticks_are_not_skipped) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger =
            ledger_of(20, 5, "{'run':'40-1','state':'claimed','tick':40}");
        static const int64_t ranges[][2] = {{20, 20}, {40, 40}, {30, 40}, {40, 50}, {20, 30}};

        for (size_t i = 0; i < G_N_ELEMENTS(ranges); i++) {
                const LedgerEntry *entry = NULL;
                bool joined = false;

                cr_expect_eq(ledger_skip(ledger, schedule, ranges[i][0], ranges[i][1], 1, "x",
                                         &entry, &joined),
                             -EEXIST, "%zu", i);
                cr_expect_null(entry, "untouched");
        }
        expect_ledger(ledger, "mark 20 | 40 claimed 40-1");
}

Test(ledger, counts_do_not_wrap) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger =
            ledger_of(0, 5,
                      "{'run':'20-0','state':'skipped','tick':20,'to':30,"
                      "'count':4294967295,'why':'x'}");

        cr_expect(skip(ledger, schedule, 40, 40, "x"));
        cr_expect_eq(ledger_find_tick(ledger, 40)->count, UINT32_MAX);
}

/* ---- a full ledger ---- */

/* A claimed tick 10 that holds the mark back, then 63 skipped ones that no two of have the same
 * reason. */
static Ledger *full_ledger(const Schedule *schedule) {
        Ledger *ledger = ledger_new(5, "d");

        cr_assert_eq(claim_tick(ledger, 10, "10-1"), 0);
        for (int64_t i = 2; i <= LEDGER_OPEN_MAX; i++)
                cr_assert_not(skip(ledger, schedule, 10 * i, 10 * i, i % 2 ? "x" : "y"));
        cr_assert_eq(ledger->open->len, LEDGER_OPEN_MAX);
        return ledger;
}

Test(ledger, a_full_ledger_still_takes_skips) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger = full_ledger(schedule);
        const LedgerEntry *entry;

        cr_expect_eq(claim_tick(ledger, 1000, "1000-1"), -ENOSPC);
        cr_expect(skip(ledger, schedule, 650, 650, "x"), "640 was skipped for y");
        cr_expect(skip(ledger, schedule, 660, 700, "z"));
        entry = ledger_find_tick(ledger, 700);
        cr_expect_eq(entry->tick, 640);
        cr_expect_eq(entry->count, 7);
        cr_expect_str_eq(entry->why, LEDGER_WHY_SEVERAL);
        cr_expect_eq(ledger->open->len, LEDGER_OPEN_MAX);
        cr_assert_eq(settle_tick(ledger, schedule, 10, "10-1", RUN_SUCCEEDED), 0);
        expect_ledger(ledger, "mark 700 | 640-700 x7 skipped 640-0 (" LEDGER_WHY_SEVERAL ")");
}

Test(ledger, a_full_ledger_takes_what_frees_its_mark) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger = full_ledger(schedule);

        /* nobody knows of 10 any more, and everything waits for it */
        g_ptr_array_remove_index(ledger->open, 0);
        cr_assert_not(skip(ledger, schedule, 700, 700, "x"));
        cr_assert_eq(ledger->open->len, LEDGER_OPEN_MAX);
        cr_expect_not(skip(ledger, schedule, 10, 10, "x"));
        ledger_compact(ledger, schedule);
        expect_ledger(ledger, "mark 640 | 700 skipped 700-0 (x)");
}

Test(ledger, a_full_ledger_of_others_runs_takes_nothing) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(5, "d");
        const LedgerEntry *entry = NULL;
        bool joined = false;

        for (int64_t i = 1; i <= LEDGER_OPEN_MAX; i++) {
                g_autofree char *run = g_strdup_printf("%" G_GINT64_FORMAT "-1", 10 * i);

                cr_assert_eq(claim_tick(ledger, 10 * i, run), 0);
        }
        cr_expect_eq(ledger_skip(ledger, schedule, 650, 650, 1, "x", &entry, &joined), -ENOSPC);
        cr_expect_null(entry, "untouched");
}

/* ---- runs side by side ---- */

/* A run that lasts, then `n` short ones, the first of which is tick 20. */
static Ledger *lasting_ledger(const Schedule *schedule, int64_t n) {
        Ledger *ledger = ledger_new(5, "d");

        cr_assert_eq(claim_tick(ledger, 10, "10-1"), 0);
        for (int64_t i = 2; i < n + 2; i++) {
                g_autofree char *run = g_strdup_printf("%" G_GINT64_FORMAT "-1", 10 * i);

                cr_assert_eq(claim_tick(ledger, 10 * i, run), 0, "%s", run);
                cr_assert_eq(
                    settle_tick(ledger, schedule, 10 * i, run, i % 2 ? RUN_FAILED : RUN_SUCCEEDED),
                    0);
        }
        return ledger;
}

Test(ledger, what_is_over_beside_one_that_lasts_needs_one_place) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger = lasting_ledger(schedule, LEDGER_OPEN_MANY - 1),
                                       *many = lasting_ledger(schedule, 1000), *read = NULL;
        g_autofree char *data = ledger_encode(many);

        cr_expect_eq(ledger->open->len, LEDGER_OPEN_MANY, "few are told apart");
        cr_expect_leq(many->open->len, LEDGER_OPEN_MANY);
        for (int64_t tick = 10; tick <= 10010; tick += 10)
                cr_assert(ledger_is_decided(many, tick));
        cr_expect_not(ledger_is_decided(many, 10020));
        cr_assert_eq(ledger_decode(data, strlen(data), &read), 0);
        cr_expect(ledger_is_decided(read, 5000));
        cr_assert_eq(settle_tick(many, schedule, 10, "10-1", RUN_SUCCEEDED), 0);
        expect_ledger(many, "mark 10010");
}

/* Beside what ran, what was skipped before it and after it is joined, once and for all. */
Test(ledger, what_is_over_is_joined_on_both_sides_at_once) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(5, "d");

        cr_assert_eq(claim_tick(ledger, 10, "10-1"), 0);
        for (int64_t tick = 20; tick <= 400; tick += 10)
                if (tick != 200)
                        skip(ledger, schedule, tick, tick, tick % 20 ? "x" : "y");
        cr_assert_eq(claim_tick(ledger, 200, "200-1"), 0);
        cr_assert_eq(settle_tick(ledger, schedule, 200, "200-1", RUN_SUCCEEDED), 0);
        expect_ledger(ledger, "mark 0 | 10 claimed 10-1 | 20-390 x38 succeeded 390-0 | "
                              "400 skipped 400-0 (y)");
}

Test(ledger, what_is_joined_leaves_out_what_is_not_over) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger = lasting_ledger(schedule, LEDGER_OPEN_MANY - 4);

        /* 20 to 290 are over; 300 is undecided, 310 is over, 320 is retried, 330 skipped */
        cr_assert_eq(claim_tick(ledger, 310, "310-1"), 0);
        cr_assert_eq(settle_tick(ledger, schedule, 310, "310-1", RUN_SUCCEEDED), 0);
        cr_assert_eq(claim_attempt(ledger, 320, 1), 0);
        settle_attempt(ledger, schedule, 320, 1, RUN_FAILED);
        skip(ledger, schedule, 330, 330, "x");
        skip(ledger, schedule, 340, 340, "y");
        ledger_compact(ledger, schedule);
        expect_ledger(ledger, "mark 0 | 10 claimed 10-1 | 20-290 x28 failed 290-1 | "
                              "310 succeeded 310-1 | 320 failed 320-1 | 330 skipped 330-0 (x) | "
                              "340 skipped 340-0 (y)");
        cr_expect_not_null(ledger_first_retry(ledger));
        cr_expect(skip(ledger, schedule, 350, 350, "y"), "the last stretch goes on");
}

Test(ledger, a_skipped_stretch_is_taken_in_once_it_does_not_go_on) {
        _cleanup_(schedule_freep) Schedule *schedule = every(10);
        _cleanup_(ledger_freep) Ledger *ledger = lasting_ledger(schedule, LEDGER_OPEN_MANY - 1);

        skip(ledger, schedule, 330, 350, "x");
        ledger_compact(ledger, schedule);
        expect_ledger(ledger, "mark 0 | 10 claimed 10-1 | 20-320 x31 succeeded 320-1 | "
                              "330-350 x3 skipped 330-0 (x)");
        for (int64_t i = 36; i < 36 + LEDGER_OPEN_MANY; i++) {
                g_autofree char *run = g_strdup_printf("%" G_GINT64_FORMAT "-1", 10 * i);

                cr_assert_eq(claim_tick(ledger, 10 * i, run), 0);
                cr_assert_eq(settle_tick(ledger, schedule, 10 * i, run, RUN_SUCCEEDED), 0);
        }
        cr_expect_leq(ledger->open->len, LEDGER_OPEN_MANY);
        cr_expect_eq(ledger_find_tick(ledger, 340)->tick, 20);
        cr_expect_null(ledger_find_tick(ledger, 340)->why);
}

Test(ledger, the_retry_that_begins_first) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_of(
            0, 5,
            "{'run':'10-1','state':'failed','tick':10,'attempt':1,'node':'n1','not_before':90},"
            "{'run':'20-1','state':'failed','tick':20,'attempt':1,'node':'n1','not_before':70},"
            "{'run':'30-1','state':'failed','tick':30,'attempt':1,'node':'n1','not_before':70},"
            "{'run':'40-1','state':'claimed','tick':40,'node':'n1'},"
            "{'run':'50-1','state':'failed','tick':50}");

        cr_expect_str_eq(ledger_first_retry(ledger)->run, "20-1");
        cr_expect_eq(ledger_count_unsettled(ledger), 4);
}

/* When a run of the job last succeeded, and whether it fails, by its ledger. */
#include "ledger-change.h"
#include "ledger-fixture.h"

/* The job is there since 5 s. */
Test(ledger_success, the_last_success_is_noted) {
        static const struct {
                RunState state;
                unsigned before, ended, now, succeeded;
        } cases[] = {
            {RUN_SUCCEEDED, 0, 50, 51, 50},  {RUN_SUCCEEDED, 40, 50, 51, 50},
            {RUN_SUCCEEDED, 60, 50, 70, 60}, /* one that ended later was written before */
            {RUN_SUCCEEDED, 0, 90, 60, 60},  /* by a clock that was ahead */
            {RUN_SUCCEEDED, 0, 4, 60, 0},    /* of another time */
            {RUN_SUCCEEDED, 3, 4, 60, 4},    /* before the definition changed */
            {RUN_FAILED, 0, 50, 51, 0},      {RUN_UNKNOWN, 40, 50, 51, 40},
            {RUN_TIMED_OUT, 40, 50, 51, 40}, {RUN_SKIPPED, 40, 50, 51, 40},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                _cleanup_(ledger_freep) Ledger *ledger = ledger_new(5, "d");
                _cleanup_(run_record_freep)
                    RunRecord *claimed = run_of(10, "10-1", "n1", RUN_CLAIMED),
                              *record = run_of(10, "10-1", "n1", cases[i].state);

                ledger->succeeded = cases[i].before * USEC_PER_SEC;
                ledger->overdue = 7 * USEC_PER_SEC;
                record->ended = cases[i].ended * USEC_PER_SEC;
                cr_assert_eq(ledger_claim(ledger, claimed), 0);
                cr_assert_eq(ledger_settle(ledger, record, NULL, cases[i].now * USEC_PER_SEC), 0);
                cr_expect_eq(ledger->succeeded, cases[i].succeeded * USEC_PER_SEC, "%zu", i);
                cr_expect_eq(ledger->overdue == 0, cases[i].before != cases[i].succeeded,
                             "what was told is over by it: %zu", i);
                cr_expect_eq(ledger_without_success_since(ledger),
                             MAX(cases[i].succeeded, 5U * !cases[i].succeeded) * USEC_PER_SEC);
                cr_expect_eq(ledger_last_success(ledger), cases[i].succeeded * USEC_PER_SEC, "%zu",
                             i);
        }
}

Test(ledger_success, the_last_success_is_that_of_the_job_that_is_there) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(5, "d"), *copy = NULL;

        ledger->succeeded = 50 * USEC_PER_SEC;
        ledger->overdue = 80 * USEC_PER_SEC;
        ledger_adopt_digest(ledger, "e", 95);
        cr_expect_eq(ledger_last_success(ledger), 50 * USEC_PER_SEC, "another definition");
        ledger_stand_in(ledger, "f", 96);
        copy = ledger_copy(ledger);
        cr_expect_eq(ledger_last_success(copy), 50 * USEC_PER_SEC);
        cr_expect_eq(copy->overdue, 80 * USEC_PER_SEC);
        ledger_withdraw(ledger, 97);
        ledger_resume(ledger);
        cr_expect_eq(ledger_last_success(ledger), 50 * USEC_PER_SEC, "it was not withdrawn");
        ledger_adopt_digest(ledger, "", 98);
        ledger_adopt_digest(ledger, "d", 99);
        cr_expect_eq(ledger_last_success(ledger), 0, "it starts anew");
        cr_expect_eq(ledger_without_success_since(ledger), 99 * USEC_PER_SEC);
        cr_expect_eq(ledger->overdue, 0);
}

Test(ledger_success, before_the_first_success_a_changed_definition_is_no_new_job) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(5, "d"), *copy = NULL;
        g_autofree char *text = NULL;

        ledger_adopt_digest(ledger, "e", 95);
        ledger_stand_in(ledger, "f", 96);
        text = ledger_encode(ledger);
        cr_assert_eq(ledger_decode(text, strlen(text), &copy), 0, "%s", text);
        cr_expect_eq(copy->from, 96);
        cr_expect_eq(ledger_without_success_since(copy), 5 * USEC_PER_SEC, "%s", text);
        ledger_adopt_digest(copy, "", 98);
        ledger_adopt_digest(copy, "d", 99);
        cr_expect_eq(ledger_without_success_since(copy), 99 * USEC_PER_SEC, "it comes anew");
}

/* Its run began, and ended, by the definition before. */
Test(ledger_success, a_success_that_is_written_after_the_definition_changed_is_one) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(5, "d");
        _cleanup_(run_record_freep) RunRecord *claimed = run_of(10, "10-1", "n1", RUN_CLAIMED),
                                              *record = run_of(10, "10-1", "n1", RUN_SUCCEEDED);

        cr_assert_eq(ledger_claim(ledger, claimed), 0);
        ledger_adopt_digest(ledger, "e", 60);
        record->ended = 50 * USEC_PER_SEC;
        cr_assert_eq(ledger_settle(ledger, record, NULL, 61 * USEC_PER_SEC), 0);
        cr_expect_eq(ledger_last_success(ledger), 50 * USEC_PER_SEC);
        ledger_adopt_digest(ledger, "f", 70);
        cr_expect_eq(ledger_without_success_since(ledger), 50 * USEC_PER_SEC);
}

/* A version before this one, which does not note it, wrote the ledger. */
Test(ledger_success, without_a_note_the_last_run_tells) {
        static const struct {
                RunState state;
                unsigned ended, succeeded;
        } cases[] = {{RUN_SUCCEEDED, 50, 50}, {RUN_SUCCEEDED, 4, 0}, {RUN_FAILED, 50, 0}};

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                _cleanup_(ledger_freep) Ledger *ledger = ledger_new(5, "d");

                ledger->last = run_of(10, "10-1", "n1", cases[i].state);
                ledger->last->ended = cases[i].ended * USEC_PER_SEC;
                cr_expect_eq(ledger_last_success(ledger), cases[i].succeeded * USEC_PER_SEC);
                ledger->succeeded = 60 * USEC_PER_SEC;
                cr_expect_eq(ledger_last_success(ledger), 60 * USEC_PER_SEC);
        }
}

/* ---- whether it fails ---- */

static RunRecord *attempt_of(unsigned attempt, RunState state) {
        g_autofree char *run = g_strdup_printf("10-%u", attempt);
        RunRecord *record = run_of(10, run, "n1", state);

        record->attempt = attempt;
        record->claimed += attempt;
        record->terms.attempts = 2;
        return record;
}

/* Claims the attempt, of two, and settles it. */
static void make_attempt(Ledger *ledger, unsigned attempt, RunState state) {
        _cleanup_(run_record_freep) RunRecord *claimed = attempt_of(attempt, RUN_CLAIMED),
                                              *record = attempt_of(attempt, state);

        cr_assert_eq(ledger_claim(ledger, claimed), 0);
        cr_assert_eq(ledger_settle(ledger, record, NULL, 50 * USEC_PER_SEC), 0);
}

Test(ledger_success, the_newest_run_says_whether_the_job_fails) {
        static const struct {
                RunState state;
                bool before, after;
        } cases[] = {
            {RUN_SUCCEEDED, true, false}, {RUN_FAILED, false, true},
            {RUN_TIMED_OUT, false, true}, {RUN_INTERRUPTED, false, true},
            {RUN_UNKNOWN, false, true},   {RUN_STOPPED, false, false},
            {RUN_STOPPED, true, true},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                _cleanup_(ledger_freep) Ledger *ledger = ledger_new(5, "d");
                _cleanup_(run_record_freep)
                    RunRecord *claimed = run_of(10, "10-1", "n1", RUN_CLAIMED),
                              *record = run_of(10, "10-1", "n1", cases[i].state);

                ledger->failing = cases[i].before;
                cr_assert_eq(ledger_claim(ledger, claimed), 0);
                cr_assert_eq(ledger_settle(ledger, record, NULL, 50 * USEC_PER_SEC), 0);
                cr_expect_eq(ledger->failing, cases[i].after, "%zu", i);
        }
}

Test(ledger_success, an_older_run_that_ends_later_says_nothing_of_that) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(5, "d");
        _cleanup_(run_record_freep) RunRecord *older = run_of(10, "10-1", "n1", RUN_CLAIMED),
                                              *newer = run_of(20, "20-1", "n2", RUN_CLAIMED);

        cr_assert_eq(ledger_claim(ledger, older), 0);
        cr_assert_eq(ledger_claim(ledger, newer), 0);
        newer->state = RUN_SUCCEEDED;
        cr_assert_eq(ledger_settle(ledger, newer, NULL, 50 * USEC_PER_SEC), 0);
        older->state = RUN_FAILED;
        cr_assert_eq(ledger_settle(ledger, older, NULL, 51 * USEC_PER_SEC), 0);
        cr_expect_not(ledger->failing);
}

/* What is attempted again has not failed yet. */
Test(ledger_success, the_last_attempt_fails_and_so_does_what_is_given_up) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(5, "d"), *other = NULL;

        make_attempt(ledger, 1, RUN_FAILED);
        cr_assert_not_null(ledger_first_retry(ledger));
        cr_expect_not(ledger->failing);
        other = ledger_copy(ledger);
        make_attempt(ledger, 2, RUN_FAILED);
        cr_expect(ledger->failing);
        cr_assert(ledger_give_up(other, 10, 60 * USEC_PER_SEC));
        cr_expect(other->failing);
}

/* When a run of the job last succeeded, by its ledger. */
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

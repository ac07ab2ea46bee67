/* Whether another attempt follows, and when, cell by cell: how the run ended × what was left ×
 * what its definition said. A run is settled at 1000 s; pauses are 10 s, and 60 s at most. */
#include "next-attempt.h"

#include <criterion/criterion.h>
#include <glib.h>

#include "job.h"

#define SETTLED (1000 * USEC_PER_SEC)

typedef struct Cell {
        const char *title;
        RunState state;
        unsigned attempt, attempts;
        bool rerun;
        int status;
        unsigned after; /* seconds, of the pause; NONE: none follows */
} Cell;

#define NONE UINT_MAX

static void expect_cell(const Cell *cell) {
        RunRecord record = {
            .tick = 900,
            .attempt = cell->attempt,
            .state = cell->state,
            .exit_status = cell->status ? cell->status : -1,
            .terms = {.attempts = cell->attempts,
                      .delay = 10 * USEC_PER_SEC,
                      .max_delay = 60 * USEC_PER_SEC,
                      .no_retry = (char *)"2,64..78",
                      .rerun = cell->rerun},
        };
        usec_t expected = cell->after == NONE ? 0 : SETTLED + cell->after * USEC_PER_SEC;

        cr_expect_eq(next_attempt_not_before(&record, SETTLED), expected, "%s: %g s", cell->title,
                     (double)next_attempt_not_before(&record, SETTLED) / 1e6);
        if (cell->after != NONE)
                cr_expect(next_attempt_may_follow(&record), "%s", cell->title);
}

Test(next_attempt, by_how_it_ended) {
        static const Cell cells[] = {
            {"good", RUN_SUCCEEDED, 1, 3, true, 0, NONE},
            {"failed", RUN_FAILED, 1, 3, false, 1, 10},
            {"by a signal", RUN_FAILED, 1, 3, false, 0, 10},
            {"with a status that is not retried", RUN_FAILED, 1, 3, true, 2, NONE},
            {"in a range of those", RUN_FAILED, 1, 3, true, 70, NONE},
            {"beside it", RUN_FAILED, 1, 3, false, 79, 10},
            {"timed out", RUN_TIMED_OUT, 1, 3, false, 0, 10},
            {"timed out, with such a status", RUN_TIMED_OUT, 1, 3, false, 2, NONE},
            {"stopped", RUN_STOPPED, 1, 3, true, 0, NONE},
            {"skipped", RUN_SKIPPED, 1, 3, true, 0, NONE},
            {"under way", RUN_CLAIMED, 1, 3, true, 0, NONE},
            {"interrupted", RUN_INTERRUPTED, 1, 3, false, 0, NONE},
            {"unknown", RUN_UNKNOWN, 1, 3, false, 0, NONE},
            {"interrupted, rerun", RUN_INTERRUPTED, 1, 3, true, 0, 0},
            {"unknown, rerun", RUN_UNKNOWN, 1, 3, true, 0, 0},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cells); i++)
                expect_cell(&cells[i]);
}

Test(next_attempt, as_long_as_some_are_left) {
        static const Cell cells[] = {
            {"none is said", RUN_FAILED, 1, 0, false, 1, NONE},
            {"one", RUN_FAILED, 1, 1, false, 1, NONE},
            {"the first of two", RUN_FAILED, 1, 2, false, 1, 10},
            {"the second of two", RUN_FAILED, 2, 2, false, 1, NONE},
            {"beyond", RUN_FAILED, 7, 2, true, 1, NONE},
            {"a rerun is one at least", RUN_UNKNOWN, 1, 0, true, 0, 0},
            {"and one alone", RUN_UNKNOWN, 2, 0, true, 0, NONE},
            {"which is for no failure", RUN_FAILED, 1, 0, true, 1, NONE},
            {"the last of three is lost", RUN_UNKNOWN, 3, 3, true, 0, NONE},
            {"the one before", RUN_UNKNOWN, 2, 3, true, 0, 20},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cells); i++)
                expect_cell(&cells[i]);
}

Test(next_attempt, the_pause_doubles_up_to_a_limit) {
        static const Cell cells[] = {
            {"first", RUN_FAILED, 1, 100, false, 1, 10},
            {"second", RUN_FAILED, 2, 100, false, 1, 20},
            {"third", RUN_FAILED, 3, 100, false, 1, 40},
            {"fourth", RUN_FAILED, 4, 100, false, 1, 60},
            {"the last but one", RUN_FAILED, 99, 100, false, 1, 60},
            {"more than anybody says", RUN_FAILED, 100, UINT_MAX, false, 1, NONE},
            {"the first that is lost", RUN_INTERRUPTED, 1, 100, true, 0, 0},
            {"then machine after machine", RUN_UNKNOWN, 2, 100, true, 0, 20},
            {"is given time", RUN_INTERRUPTED, 5, 100, true, 0, 60},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cells); i++)
                expect_cell(&cells[i]);
}

/* What stands in a record may be anything. */
Test(next_attempt, nothing_waits_for_ever) {
        RunRecord record = {.tick = 900,
                            .attempt = 99,
                            .state = RUN_FAILED,
                            .exit_status = 1,
                            .terms = {.attempts = UINT_MAX,
                                      .delay = USEC_INFINITY - 1,
                                      .max_delay = USEC_INFINITY - 1}};

        cr_expect_eq(next_attempt_not_before(&record, SETTLED), SETTLED + JOB_RETRY_DELAY_MAX);
        record.terms.delay = 0;
        cr_expect_eq(next_attempt_not_before(&record, SETTLED), SETTLED);
}

/* The clock of the machine on which it ended may show any time. */
Test(next_attempt, counts_from_when_it_is_settled) {
        RunRecord record = {.tick = 900,
                            .attempt = 1,
                            .state = RUN_FAILED,
                            .exit_status = 1,
                            .claimed = 5,
                            .ended = USEC_INFINITY - 1,
                            .terms = {.attempts = 2, .delay = 7, .max_delay = 7}};

        cr_expect_eq(next_attempt_not_before(&record, SETTLED), SETTLED + 7);
        record.ended = 1;
        cr_expect_eq(next_attempt_not_before(&record, SETTLED), SETTLED + 7);
}

/* It was given up, and may be alive; once its node was rebooted it is not. */
Test(next_attempt, beside_one_that_continues_there_is_none) {
        RunRecord record = {.tick = 900,
                            .attempt = 1,
                            .state = RUN_UNKNOWN,
                            .continues = true,
                            .terms = {.attempts = 3, .rerun = true}};

        cr_expect_eq(next_attempt_not_before(&record, SETTLED), 0);
        record.state = RUN_INTERRUPTED;
        cr_expect_eq(next_attempt_not_before(&record, SETTLED), SETTLED);
}

Test(next_attempt, what_was_asked_for_by_hand_is_not_repeated) {
        RunRecord record = {.attempt = 1,
                            .state = RUN_FAILED,
                            .exit_status = 1,
                            .terms = {.attempts = 3, .rerun = true}};

        cr_expect_not(next_attempt_may_follow(&record));
        cr_expect_eq(next_attempt_not_before(&record, SETTLED), 0);
}

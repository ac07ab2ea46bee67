/* The times in a record, beside the true ones: when a run began and ended is what PID 1 says, also
 * where the machine's clock is wrong; and all of them are true where it is right. */
#include <inttypes.h>

#include "write-checker.h"

/* A clock that somebody has set is right again within this. */
#define WRONG_AT_MOST (60 * USEC_PER_SEC)
/* A claim that is asked for is made within this, or never: its session ends. */
#define CLAIMED_WITHIN (60 * USEC_PER_SEC)
/* By how much it is wrong without that. */
#define TOLERANCE (250 * USEC_PER_MSEC)

static bool time_is_between(usec_t time, usec_t from, usec_t to) {
        const usec_t epoch = (usec_t)MACHINE_EPOCH * USEC_PER_SEC;

        return time + TOLERANCE >= epoch + from && time <= epoch + to + TOLERANCE;
}

/* Return: whether PID 1 said how it ended, and had not forgotten it (then only that it ended well
 * is remembered, and when that was noted). */
static bool time_is_told(const RunRecord *record) {
        return !reboot_is_said(record) &&
               ((record->state == RUN_SUCCEEDED && record->started > 0) ||
                record->state == RUN_FAILED || record->state == RUN_TIMED_OUT);
}

static bool time_is_as_told(const HistoryRun *run, const RunRecord *record) {
        return record->started == run->result.started && record->ended == run->result.ended;
}

/* Return: whether the times may be true. `claimed`, `written`: when the claim and the end were,
 * true time. */
static bool time_is_true(const HistoryRun *run, const RunRecord *record, usec_t claimed,
                         usec_t written) {
        return time_is_between(record->claimed, usec_sub(claimed, CLAIMED_WITHIN), claimed) &&
               (record->started == 0 || time_is_between(record->started, run->begun, written)) &&
               (record->state == RUN_UNKNOWN || /* whose clock that is nobody says */
                time_is_between(record->ended, run->begun, written));
}

/* Return: whether the clock of its node was right from the claim on. */
static bool time_was_right(const Checker *checker, const HistoryRun *run, usec_t claimed,
                           usec_t written) {
        return !history_befell(checker_history(checker), run->node, HISTORY_CLOCK,
                               usec_sub(claimed, WRONG_AT_MOST + CLAIMED_WITHIN), written);
}

static bool time_is_plausible(const Checker *checker, const HistoryRun *run,
                              const RunRecord *record, usec_t claimed, usec_t written) {
        if (time_is_told(record) && !time_is_as_told(run, record))
                return false;
        return !time_was_right(checker, run, claimed, written) ||
               time_is_true(run, record, claimed, written);
}

void time_judge(Checker *checker, const HistoryRun *run, const RunRecord *record, usec_t written) {
        const Claimed *claimed = write_book_find(checker_book(checker), run->job, run->run);

        if (claimed && run->over && run_state_is_final(record->state) &&
            !time_is_plausible(checker, run, record, claimed->at, written))
                checker_complain(checker,
                                 "run %s of %s on %s was claimed at %" PRIu64 ", began at %" PRIu64
                                 " and ended at %" PRIu64 ", and its record says %" PRIu64
                                 ", %" PRIu64 " and %" PRIu64 " (%s)",
                                 run->run, run->job, run->node, claimed->at, run->begun, run->over,
                                 record->claimed, record->started, record->ended,
                                 run_state_to_string(record->state));
}

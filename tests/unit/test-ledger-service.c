/* What the ledger remembers of a service: one tick from when its definition is in force, whose runs
 * follow each other for ever; and that a definition that is not in force any more is followed by
 * nothing. */
#include <criterion/criterion.h>
#include <limits.h>

#include "ledger-change.h"
#include "ledger.h"
#include "paths.h"

#define FROM INT64_C(1000)
#define TICK (FROM + 1)
#define SECONDS(n) ((usec_t)(n)*USEC_PER_SEC)

static Ledger *ledger;

static void make_service(void) {
        ledger = ledger_new(FROM, "d1");
        ledger_set_service(ledger);
}

static void free_ledger(void) {
        ledger_free(ledger);
}

TestSuite(ledger_service, .init = make_service, .fini = free_ledger);

static RunRecord *record_of(int64_t tick, unsigned attempt, unsigned short_lived) {
        g_autofree char *run = run_id_for_tick(tick, attempt);
        RunRecord *record = run_record_new("web", run);

        record->tick = tick;
        record->attempt = attempt;
        record->node = g_strdup("n1");
        record->claimed = SECONDS(tick);
        record->terms.service = true;
        record->terms.short_lived = short_lived;
        record->terms.delay = SECONDS(2);
        record->terms.max_delay = SECONDS(60);
        return record;
}

/* Return: what its entry says then. */
static const LedgerEntry *run_and_end(unsigned attempt, unsigned short_lived, RunState state,
                                      usec_t lived) {
        _cleanup_(run_record_freep) RunRecord *record = record_of(TICK, attempt, short_lived);
        g_autofree char *run = g_strdup(record->run);

        cr_assert_eq(ledger_claim(ledger, record), 0);
        cr_assert(ledger_find_run(ledger, run)->again);
        record->state = state;
        record->ended = record->claimed + lived;
        cr_assert_eq(ledger_settle(ledger, record, NULL, SECONDS(5000)), 0);
        return ledger_find_run(ledger, run);
}

Test(ledger_service, has_one_tick_from_when_it_is_in_force) {
        cr_expect_eq(ledger_service_tick(ledger), TICK);
        cr_expect(ledger_is_claimable(ledger, TICK));
        ledger_set_schedule(ledger, NULL);
        cr_expect_eq(ledger_service_tick(ledger), 0);
}

/* None that was withdrawn is a service. */
Test(ledger_service, has_none_when_it_was_withdrawn) {
        ledger_adopt_digest(ledger, "", FROM + 10);
        cr_expect_eq(ledger_service_tick(ledger), 0);
}

Test(ledger_service, has_no_schedule) {
        Schedule *schedule = NULL;

        cr_expect_eq(ledger_schedule(ledger, &schedule), 0);
        cr_expect_null(schedule);
}

Test(ledger_service, run_follows_run_beyond_all_limits_of_attempts) {
        const LedgerEntry *entry = run_and_end(1, 0, RUN_FAILED, 0);

        cr_expect_eq(entry->not_before, SECONDS(5002));
        cr_expect_eq(entry->short_lived, 1);
        ((LedgerEntry *)entry)->attempt = 4000000;
        cr_expect_eq(ledger_next_attempt(ledger, TICK), 4000001);
        entry = run_and_end(4000001, 1, RUN_SUCCEEDED, 0);
        cr_expect_eq(entry->not_before, SECONDS(5004));
        cr_expect_eq(entry->short_lived, 2);
        cr_expect_eq(ledger->mark, 0);
}

Test(ledger_service, numbers_end_all_the_same) {
        const LedgerEntry *entry = run_and_end(1, 0, RUN_FAILED, 0);
        _cleanup_(run_record_freep) RunRecord *record = record_of(TICK, UINT_MAX, 0);

        ((LedgerEntry *)entry)->attempt = UINT_MAX - 1;
        cr_assert_eq(ledger_claim(ledger, record), 0);
        record->state = RUN_FAILED;
        record->ended = record->claimed;
        cr_assert_eq(ledger_settle(ledger, record, NULL, SECONDS(5000)), 0);
        cr_expect_null(ledger_first_retry(ledger));
}

Test(ledger_service, one_that_lived_for_long_begins_anew) {
        const LedgerEntry *entry = run_and_end(1, 5, RUN_FAILED, 10 * USEC_PER_MINUTE);

        cr_expect_eq(entry->not_before, SECONDS(5002));
        cr_expect_eq(entry->short_lived, 0);
}

Test(ledger_service, stands_in_a_line_of_text) {
        _cleanup_(ledger_freep) Ledger *read = NULL;
        g_autofree char *text = NULL;

        (void)run_and_end(1, 3, RUN_FAILED, 0);
        text = ledger_encode(ledger);
        cr_assert_eq(ledger_decode(text, strlen(text), &read), 0);
        cr_expect_eq(ledger_service_tick(read), TICK);
        cr_expect(ledger_first_retry(read)->service);
        cr_expect_eq(ledger_first_retry(read)->short_lived, 4);
}

/* ---- another definition ---- */

Test(ledger_service, another_one_begins_another_tick) {
        (void)run_and_end(1, 0, RUN_FAILED, 0);
        ledger_adopt_digest(ledger, "d2", FROM + 50);
        ledger_set_service(ledger);
        cr_expect_eq(ledger_service_tick(ledger), FROM + 51);
        cr_expect_null(ledger_first_retry(ledger));
        cr_expect_eq(ledger->open->len, 0);
}

/* Whoever has it has still to end, and nothing follows that. */
Test(ledger_service, a_run_of_the_one_before_is_followed_by_none) {
        _cleanup_(run_record_freep) RunRecord *record = record_of(TICK, 1, 0);

        cr_assert_eq(ledger_claim(ledger, record), 0);
        cr_expect_not(ledger_is_of_earlier_service(ledger, ledger_first_claimed(ledger)));
        ledger_adopt_digest(ledger, "d2", FROM + 50);
        ledger_set_service(ledger);
        cr_expect(ledger_is_of_earlier_service(ledger, ledger_first_claimed(ledger)));
        record->state = RUN_INTERRUPTED;
        record->ended = record->claimed;
        cr_assert_eq(ledger_settle(ledger, record, NULL, SECONDS(5000)), 0);
        cr_expect_null(ledger_first_retry(ledger));
        cr_expect_eq(ledger->open->len, 0);
}

Test(ledger_service, of_what_is_none_any_more_nothing_follows) {
        (void)run_and_end(1, 0, RUN_FAILED, 0);
        ledger_adopt_digest(ledger, "d2", FROM + 50);
        ledger_set_schedule(ledger, NULL);
        cr_expect_null(ledger_first_retry(ledger));
}

/* It would be attempted by nobody, and stand there for ever. */
Test(ledger_service, what_was_none_before_is_not_attempted_again) {
        _cleanup_(run_record_freep) RunRecord *record = record_of(900, 1, 0);
        _cleanup_(ledger_freep) Ledger *before = ledger_new(800, "d1");

        record->terms.service = false;
        record->terms.attempts = 3;
        cr_assert_eq(ledger_claim(before, record), 0);
        record->state = RUN_FAILED;
        cr_assert_eq(ledger_settle(before, record, NULL, SECONDS(950)), 0);
        cr_assert_not_null(ledger_first_retry(before));
        ledger_adopt_digest(before, "d2", FROM);
        cr_assert_not_null(ledger_first_retry(before));
        ledger_set_service(before);
        cr_expect_null(ledger_first_retry(before));
}

/* ---- what may be alive ---- */

Test(ledger_service, what_may_be_alive_is_followed_once_its_end_is_known) {
        _cleanup_(run_record_freep) RunRecord *record = record_of(TICK, 1, 0);

        record->continues = true;
        cr_assert_eq(ledger_claim(ledger, record), 0);
        record->state = RUN_UNKNOWN;
        record->ended = record->claimed;
        cr_assert_eq(ledger_settle(ledger, record, NULL, SECONDS(5000)), 0);
        cr_expect_null(ledger_first_retry(ledger));
        cr_expect_not(ledger_is_claimable(ledger, TICK));
        record->state = RUN_FAILED;
        cr_assert_eq(ledger_settle(ledger, record, NULL, SECONDS(6000)), 0);
        cr_assert_not_null(ledger_first_retry(ledger));
        cr_expect_eq(ledger_first_retry(ledger)->not_before, SECONDS(6002));
}

static RunRecord *claim_what_continues(void) {
        RunRecord *record = record_of(TICK, 1, 2);

        record->continues = true;
        cr_assert_eq(ledger_claim(ledger, record), 0);
        return record;
}

static void settle_as(RunRecord *record, RunState state) {
        record->state = state;
        record->ended = record->claimed;
        cr_assert_eq(ledger_settle(ledger, record, NULL, SECONDS(5000)), 0);
}

static void edit(void) {
        ledger_adopt_digest(ledger, "d2", FROM + 50);
        ledger_set_service(ledger);
}

/* Return: whether it stands there as what may be alive, also for who reads the ledger. */
static bool may_be_alive(const char *run) {
        g_autofree char *text = ledger_encode(ledger);
        _cleanup_(ledger_freep) Ledger *read = NULL;
        const LedgerEntry *entry;

        cr_assert_eq(ledger_decode(text, strlen(text), &read), 0);
        entry = ledger_first_claimed(read);
        return entry && g_str_equal(entry->run, run) && ledger_may_be_alive(entry) &&
               ledger_count_unsettled(read) == 1;
}

/* It would be begun anew beside it. */
Test(ledger_service, an_edit_forgets_nothing_that_may_be_alive) {
        _cleanup_(run_record_freep) RunRecord *record = claim_what_continues();

        settle_as(record, RUN_UNKNOWN);
        cr_expect(may_be_alive(record->run));
        edit();
        cr_expect(may_be_alive(record->run));
        settle_as(record, RUN_FAILED);
        cr_expect_eq(ledger->open->len, 0);
}

Test(ledger_service, what_is_given_up_after_an_edit_may_be_alive_all_the_same) {
        _cleanup_(run_record_freep) RunRecord *record = claim_what_continues();

        edit();
        settle_as(record, RUN_UNKNOWN);
        cr_expect(may_be_alive(record->run));
        ledger_set_schedule(ledger, NULL);
        cr_expect(may_be_alive(record->run));
        ledger_adopt_digest(ledger, "", FROM + 60);
        cr_expect(may_be_alive(record->run));
        settle_as(record, RUN_SUCCEEDED);
        cr_expect_eq(ledger->open->len, 0);
}

/* What is over is forgotten. */
Test(ledger_service, what_was_lost_before_an_edit_is_not_alive) {
        _cleanup_(run_record_freep) RunRecord *record = record_of(TICK, 1, 0);

        cr_assert_eq(ledger_claim(ledger, record), 0);
        edit();
        settle_as(record, RUN_UNKNOWN);
        cr_expect_eq(ledger->open->len, 0);
}

/* ---- whose record is lost ---- */

/* All that an id and an open entry tell of the first run. */
static RunRecord *record_of_nothing(void) {
        g_autofree char *run = run_id_for_tick(TICK, 1);
        RunRecord *record = run_record_new("web", run);

        record->tick = TICK;
        record->attempt = 1;
        record->state = RUN_UNKNOWN;
        record->ended = SECONDS(TICK) + 1;
        return record;
}

Test(ledger_service, whose_record_is_lost_is_followed_as_any_other) {
        _cleanup_(run_record_freep) RunRecord *record = record_of(TICK, 1, 2),
                                              *lost = record_of_nothing();

        cr_assert_eq(ledger_claim(ledger, record), 0);
        ledger_complete(ledger, lost, true);
        cr_expect_eq(lost->claimed, record->claimed);
        cr_assert_eq(ledger_settle(ledger, lost, NULL, SECONDS(5000)), 0);
        cr_assert_not_null(ledger_first_retry(ledger));
        cr_expect_eq(ledger_first_retry(ledger)->short_lived, 3);
}

/* Its node alone can say that it is over. */
Test(ledger_service, whose_record_is_lost_may_be_alive_as_any_other) {
        _cleanup_(run_record_freep) RunRecord *record = claim_what_continues(),
                                              *lost = record_of_nothing(),
                                              *own = record_of_nothing();

        ledger_complete(ledger, lost, true);
        cr_assert_eq(ledger_settle(ledger, lost, NULL, SECONDS(5000)), 0);
        cr_expect(may_be_alive(record->run));
        ledger_complete(ledger, own, false);
        cr_assert_eq(ledger_settle(ledger, own, NULL, SECONDS(6000)), 0);
        cr_expect_not_null(ledger_first_retry(ledger));
}

Test(ledger_service, nothing_is_added_to_a_record_that_is_there_nor_to_what_is_no_service) {
        _cleanup_(run_record_freep) RunRecord *record = claim_what_continues(),
                                              *other = run_record_new("web", "7-1");

        record->continues = false;
        record->claimed = 0;
        ledger_complete(ledger, record, true);
        cr_expect_not(record->continues);
        cr_expect_eq(record->claimed, 0);
        ledger_complete(ledger, other, true);
        cr_expect_not(other->terms.service);
}

/* What a settle makes of what stands there of its run, in a whole daemon (daemon-fixture.h): where
 * that is unknown already, on behalf of a dead node, and what is noted of the ensemble then. */
#include "settle-view.h"

#include "daemon-fixture.h"
#include "ensemble-memory.h"
#include "paths.h"
#include "settle.h"

#define ROOT "/jobkeeper"

static int64_t tick;
static SettleOutcome outcome;
static bool is_answered;

static void setup_settle_view(void) {
        setup();
        is_answered = false;
}

TestSuite(settle_view, .init = setup_settle_view, .fini = teardown);

static bool has_started(void) {
        return service_newest() && service_newest()->state == SERVICE_RUNNING &&
               service_newest()->unit;
}

static char *record_path(void) {
        g_autofree char *run = run_id_for_tick(tick, 1);

        return path_run(ROOT, "a", run);
}

static RunRecord *record_there(void) {
        g_autofree char *path = record_path();
        RunRecord *record = NULL;

        cr_assert_eq(run_record_decode(server_data(path), strlen(server_data(path)), &record), 0);
        return record;
}

static void put_record(const RunRecord *record) {
        g_autofree char *path = record_path(), *data = run_record_encode(record);

        server_set(server_node(path), data);
}

static void on_settled(SettleOutcome said, void *userdata) {
        (void)userdata;
        outcome = said;
        is_answered = true;
}

static bool has_answer(void) {
        return is_answered;
}

/* Beside the run that this daemon follows: what it is to be is settled by somebody else. */
static void settle_as(const RunRecord *record, const char *owner, bool only_if_claimed) {
        const SettleRequest request = {.record = record,
                                       .owner = owner,
                                       .record_version = -1,
                                       .only_if_claimed = only_if_claimed};
        _cleanup_(settle_freep) Settle *settle = NULL;

        is_answered = false;
        cr_assert_eq(settle_start(&coordinator->store.settler, &request, on_settled, NULL, &settle),
                     0);
        await(has_answer, "it is settled");
}

/* ---- unknown already ---- */

typedef struct UnknownCell {
        const char *what;
        bool found_continues, is_service, continues, only_if_claimed;
        bool is_written;
} UnknownCell;

static const UnknownCell unknown_cells[] = {
    {"that it is over is news", true, true, false, false, true},
    {"but not of what was known to be over", false, true, false, false, false},
    {"nor that it may go on still", true, true, true, false, false},
    {"nor on behalf of a dead node", true, true, false, true, false},
    {"nor of what is no service, for which nothing waits", true, false, false, false, false},
};

/* How a service ended nobody knows: that it has, is what the next one waits for. */
Test(settle_view, what_is_unknown_is_written_over_where_it_is_known_to_be_over) {
        tick = due_soon("");
        await(has_started, "a start");
        for (size_t i = 0; i < G_N_ELEMENTS(unknown_cells); i++) {
                const UnknownCell *cell = &unknown_cells[i];
                _cleanup_(run_record_freep) RunRecord *record = record_there(), *after = NULL;

                record->state = RUN_UNKNOWN;
                record->continues = cell->found_continues;
                record->terms.service = cell->is_service;
                record->ended = clock_realtime();
                put_record(record);
                record->continues = cell->continues;
                record->ended += USEC_PER_SEC;
                settle_as(record, "n1", cell->only_if_claimed);
                cr_expect_eq(outcome, cell->is_written ? SETTLE_DONE : SETTLE_ELSEWHERE, "%s",
                             cell->what);
                after = record_there();
                cr_expect_eq(after->ended == record->ended, cell->is_written, "%s", cell->what);
        }
}

/* ---- for others ---- */

/* Return: its record. */
static RunRecord *start_with_lock(void) {
        g_autofree char *path = NULL;
        RunRecord *record;

        tick = due_soon("    locks: {r: exclusive}\n");
        await(has_started, "a start");
        record = record_there();
        path = record_path();
        record->token = server_node(path)->stat.czxid;
        cr_assert(record->locks && record->locks[0]);
        for (char **lock = record->locks; *lock; lock++)
                cr_assert_not_null(server_node(*lock));
        record->ended = clock_realtime();
        return record;
}

static unsigned count_locks(const RunRecord *record) {
        unsigned n = 0;

        for (char **lock = record->locks; *lock; lock++)
                n += server_node(*lock) != NULL;
        return n;
}

/* They go with their session, when the servers know that it is over. */
Test(settle_view, the_locks_of_a_dead_node_stay) {
        _cleanup_(run_record_freep) RunRecord *record = start_with_lock();

        record->state = RUN_UNKNOWN;
        settle_as(record, "n1", true);
        cr_expect_eq(outcome, SETTLE_DONE);
        cr_expect_eq(count_locks(record), g_strv_length(record->locks));
}

Test(settle_view, those_of_a_run_that_has_ended_go) {
        _cleanup_(run_record_freep) RunRecord *record = start_with_lock();

        record->state = RUN_FAILED;
        settle_as(record, "n1", false);
        cr_expect_eq(outcome, SETTLE_DONE);
        cr_expect_eq(count_locks(record), 0);
}

static int64_t known(void) {
        return ensemble_memory_known(coordinator->store.ensemble).newest;
}

/* The directory of another node's runs is no witness for how far the ensemble is. */
Test(settle_view, only_what_changes_our_own_open_runs_is_remembered) {
        g_autofree char *other = NULL, *run = NULL;
        _cleanup_(run_record_freep) RunRecord *record = NULL;
        int64_t before;

        tick = due_soon("");
        await(has_started, "a start");
        record = record_there();
        run = run_id_for_tick(tick, 1);
        other = path_open_run(ROOT, "n2", "a", run);
        server_create(ROOT "/open/n2", "", 0);
        server_create(other, "", 0);
        before = known();
        record->state = RUN_FAILED;
        record->ended = clock_realtime();
        settle_as(record, "n2", false);
        cr_expect_eq(outcome, SETTLE_DONE);
        cr_expect_null(server_node(other));
        cr_expect_eq(known(), before);
        record = run_record_free(record);
        record = record_there();
        record->state = RUN_CLAIMED;
        put_record(record);
        record->state = RUN_FAILED;
        settle_as(record, "n1", false);
        cr_expect_eq(outcome, SETTLE_DONE);
        cr_expect_gt(known(), before);
}

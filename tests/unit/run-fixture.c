/* See run-fixture.h. */
#include "run-fixture.h"

#include <string.h>

#include "ledger.h"
#include "paths.h"
#include "runs.h"

int64_t tick;

void start_one(const char *more) {
        tick = due_soon(more);
        await(a_run_goes_on, "a start");
}

char *record_path(void) {
        g_autofree char *run = run_id_for_tick(tick, 1);

        return path_run(RUN_ROOT, "a", run);
}

RunRecord *record_there(void) {
        g_autofree char *path = record_path();
        RunRecord *record = NULL;

        cr_assert_eq(run_record_decode(server_data(path), strlen(server_data(path)), &record), 0,
                     "%s: %s", path, server_data(path));
        return record;
}

bool is_over(void) {
        return server_count(RUN_OPEN) == 0 && runs_count(coordinator->runs) == 0;
}

bool is_forgotten(void) {
        return service_newest()->state == SERVICE_FORGOTTEN;
}

bool is_claimed_and_over(void) {
        g_autofree char *path = record_path();

        return server_node(path) && is_over();
}

/* Nothing stands open, and nobody stands in the queue. */
void expect_settled(RunState state, const char *why) {
        _cleanup_(run_record_freep) RunRecord *record = NULL;
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        await(is_over, "it is settled");
        record = record_there();
        cr_expect_eq(record->state, state, "%s", run_state_to_string(record->state));
        cr_expect_str_eq(record->why ? record->why : "", why);
        cr_expect_neq(record->ended, 0);
        cr_expect_eq(server_count(RUN_LOCK), 0);
        cr_assert_eq(
            ledger_decode(server_data(RUN_LEDGER), strlen(server_data(RUN_LEDGER)), &ledger), 0);
        cr_expect_eq(ledger->open->len, 0);
        cr_expect_eq(ledger->mark, record->tick);
        cr_expect_eq(ledger->last->state, state);
}

void leave_it(void) {
        start_one("");
        close_daemon();
}

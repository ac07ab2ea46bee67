/* A tick that comes while another run of its job is under way, in a whole daemon
 * (daemon-fixture.h), by what the job says of that. */
#include "daemon-fixture.h"
#include "job-table.h"
#include "ledger.h"
#include "paths.h"
#include "runs.h"

#define ROOT "/jobkeeper"
#define JOB_PATH ROOT "/jobs/a"
#define ALLOW(lock) "    every: 1s\n    exec: [/bin/true]\n    overlap: allow\n    lock: " lock "\n"

TestSuite(overlap, .init = setup, .fini = teardown);

static Ledger *ledger_there(void) {
        Ledger *ledger = NULL;

        cr_assert_eq(ledger_decode(server_data(JOB_PATH), strlen(server_data(JOB_PATH)), &ledger),
                     0);
        return ledger;
}

static bool has_ledger(void) {
        return node_is_ready(coordinator->node) && server_node(JOB_PATH);
}

/* Another node runs the tick of a moment ago. */
static void run_elsewhere(const char *keys) {
        int64_t tick;
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        _cleanup_(run_record_freep) RunRecord *record = NULL;
        g_autofree char *run = NULL, *data = NULL;

        write_job(keys);
        open_daemon();
        await(has_ledger, "a ledger");
        tick = (int64_t)(clock_realtime() / USEC_PER_SEC) - 1;
        run = run_id_for_tick(tick, 1);
        record = run_record_new("a", run);
        record->tick = tick;
        record->attempt = 1;
        record->node = g_strdup("n2");
        record->state = RUN_CLAIMED;
        ledger = ledger_there();
        ledger->from = tick - 1;
        cr_assert_eq(ledger_claim(ledger, record), 0);
        data = ledger_encode(ledger);
        server_write(JOB_PATH, data);
}

static bool run_three(void) {
        return services_alive() >= 3;
}

/* ---- allow ---- */

static void expect_side_by_side(const char *keys) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        run_elsewhere(keys);
        await(run_three, "three runs beside that of the other node");
        ledger = ledger_there();
        cr_expect_geq(ledger_count_unsettled(ledger), 4);
        cr_expect_null(ledger_first_retry(ledger));
        cr_expect_eq(scheduled_job_state(job_table_find(coordinator->jobs, "a")), JOB_RUNNING);
}

Test(overlap, runs_that_share_the_lock_are_side_by_side) {
        expect_side_by_side(ALLOW("shared"));
        cr_expect_geq(server_count(ROOT "/locks/job:a"), 3, "each holds it");
}

Test(overlap, so_are_runs_without_a_lock) {
        expect_side_by_side(ALLOW("none"));
}

/* Return: how many records there are that say so. */
static unsigned count_records(const char *text) {
        GHashTableIter iterator;
        gpointer path, node;
        unsigned count = 0;

        g_hash_table_iter_init(&iterator, server.nodes);
        while (g_hash_table_iter_next(&iterator, &path, &node))
                if (g_str_has_prefix(path, JOB_PATH "/runs/"))
                        count += strstr(((ServerNode *)node)->data, text) != NULL;
        return count;
}

static bool are_two_over(void) {
        return count_records("\"succeeded\"") == 2;
}

/* In whatever order they end, each is settled for itself. */
Test(overlap, each_of_them_is_settled_for_itself) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        run_elsewhere(ALLOW("shared"));
        await(run_three, "three runs");
        service_exit(service_manager.services->pdata[2], 0);
        service_exit(service_manager.services->pdata[0], 0);
        await(are_two_over, "two of them are settled");
        ledger = ledger_there();
        cr_expect_not_null(ledger_first_claimed(ledger));
        cr_expect(service_is_alive(service_manager.services->pdata[1]));
        cr_expect_eq(count_records("overlap"), 0);
}

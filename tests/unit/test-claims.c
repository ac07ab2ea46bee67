/* Claims that do not go as they should, in a whole daemon (daemon-fixture.h): what stands there
 * already, locks that are not had in time, requests that nobody takes. */
#include "daemon-fixture.h"
#include "ledger.h"
#include "paths.h"

#define ROOT "/jobkeeper"
#define JOB_PATH ROOT "/jobs/a"
#define RUNS_PATH JOB_PATH "/runs"
#define LOCK_PATH ROOT "/locks/r"
#define BLOCKER LOCK_PATH "/_c_00000000-0000-0000-0000-000000000000-__WRIT__0000000000"

static int64_t tick;

TestSuite(claims, .init = setup, .fini = teardown);

static bool is_ready(void) {
        return node_is_ready(coordinator->node) && server_node(RUNS_PATH);
}

/* One tick is due soon, and no other for long. */
static void begin(const char *more) {
        tick = due_soon(more);
        await(is_ready, "ready");
}

static Ledger *ledger_there(void) {
        Ledger *ledger = NULL;

        cr_assert_eq(ledger_decode(server_data(JOB_PATH), strlen(server_data(JOB_PATH)), &ledger),
                     0);
        return ledger;
}

static bool is_taken_in(void) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_there();

        return ledger_is_decided(ledger, tick);
}

/* ---- a record where one is to be made ---- */

/* Somebody deleted the ledger, and left the records. */
static void record_stands(const char *node, RunState state) {
        g_autofree char *run = run_id_for_tick(tick, 1), *path = path_run(ROOT, "a", run),
                        *data = NULL;
        _cleanup_(run_record_freep) RunRecord *record = run_record_new("a", run);

        record->tick = tick;
        record->attempt = 1;
        record->node = g_strdup(node);
        record->state = state;
        record->claimed = clock_realtime();
        data = run_record_encode(record);
        server_create(path, data, 0);
}

Test(claims, a_tick_whose_record_is_final_is_not_run_again) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        begin("");
        record_stands("n2", RUN_SUCCEEDED);
        await(is_taken_in, "it is taken in");
        ledger = ledger_there();
        cr_expect_eq(ledger->mark, tick);
        cr_expect_eq(ledger->last->state, RUN_SUCCEEDED);
        serve_for(USEC_PER_SEC);
        cr_expect_eq(started->len, 0);
}

Test(claims, one_whose_record_is_claimed_is_under_way) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        begin("");
        record_stands("n2", RUN_CLAIMED);
        await(is_taken_in, "it is taken in");
        ledger = ledger_there();
        cr_assert_not_null(ledger_first_claimed(ledger));
        cr_expect_str_eq(ledger_first_claimed(ledger)->node, "n2");
        cr_expect_eq(started->len, 0);
}

static char *record_path(void) {
        g_autofree char *run = run_id_for_tick(tick, 1);

        return path_run(ROOT, "a", run);
}

/* Nothing can be learnt from it, so the tick is neither run nor tried for ever. */
Test(claims, one_whose_record_is_damaged_is_unknown) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        _cleanup_(run_record_freep) RunRecord *record = NULL;
        g_autofree char *run = NULL, *path = NULL, *kept = NULL;
        const char *data;

        begin("");
        run = run_id_for_tick(tick, 1);
        path = record_path();
        kept = path_damaged(ROOT, "a", run);
        server_create(path, "][", 0);
        await(is_taken_in, "it is taken in");
        ledger = ledger_there();
        cr_expect_eq(ledger->mark, tick);
        cr_expect_eq(ledger->last->state, RUN_UNKNOWN);
        cr_expect_str_eq(server_data(kept), "][");
        data = server_data(path);
        cr_assert_eq(run_record_decode(data, strlen(data), &record), 0, "%s", data);
        cr_expect_eq(record->state, RUN_UNKNOWN);
        cr_expect_eq(record->tick, tick);
        cr_expect_str_eq(record->why, "its record in ZooKeeper was damaged");
        serve_for(USEC_PER_SEC);
        cr_expect_eq(started->len, 0);
}

/* One of another run says nothing of this one. */
Test(claims, one_whose_record_is_of_another_run_is_unknown) {
        static const char other[] = "{\"run\":\"10-1\",\"job\":\"a\",\"state\":\"claimed\"}";
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        g_autofree char *path = NULL;

        begin("");
        path = record_path();
        server_create(path, other, 0);
        await(is_taken_in, "it is taken in");
        ledger = ledger_there();
        cr_expect_eq(ledger->last->state, RUN_UNKNOWN);
        cr_expect_null(ledger_first_claimed(ledger));
}

static bool is_claiming(void) {
        return g_queue_get_length(&server.kept) > 0;
}

static ServerWay keep_claims(const ZkCall *call) {
        return is_claim(call) ? SERVER_KEEP : SERVER_ANSWER;
}

static Ledger *first_written;

static ServerWay note_ledger(const ZkCall *call) {
        for (size_t i = 0; i < call->n_ops && !first_written; i++)
                if (call->ops[i].type == ZK_OP_SET && strcmp(call->ops[i].path, JOB_PATH) == 0 &&
                    !is_claim(call))
                        (void)ledger_decode(call->ops[i].data, strlen(call->ops[i].data),
                                            &first_written);
        return SERVER_ANSWER;
}

static bool has_written(void) {
        return first_written;
}

/* The mark moves by the schedule in force. Ours has become another while the claim was on its way,
 * and would have it stay behind ticks that nobody owes. */
Test(claims, what_is_taken_in_counts_by_the_schedule_in_force) {
        begin("");
        record_stands("n2", RUN_SUCCEEDED);
        server.way = keep_claims;
        await(is_claiming, "a claim");
        write_job("    every: 1s\n    exec: [/bin/true]\n");
        reload();
        server.way = note_ledger;
        server_release();
        await(has_written, "it is taken in");
        cr_expect_eq(first_written->mark, tick);
        first_written = ledger_free(first_written);
}

/* ---- locks that are not had in time ---- */

static void block_resource(void) {
        server_create(ROOT, "", 0);
        server_create(ROOT "/locks", "", 0);
        server_create(LOCK_PATH, "", 0);
        server_create(BLOCKER, "", 99);
}

static bool has_a_record(void) {
        return server_count(RUNS_PATH) == 1;
}

/* Return: what the only record says, borrowed. */
static const char *only_record(void) {
        GHashTableIter iterator;
        gpointer path, node;

        g_hash_table_iter_init(&iterator, server.nodes);
        while (g_hash_table_iter_next(&iterator, &path, &node))
                if (g_str_has_prefix(path, RUNS_PATH "/"))
                        return ((ServerNode *)node)->data;
        return "";
}

Test(claims, a_tick_whose_locks_are_not_free_in_time_is_skipped) {
        block_resource();
        begin("    locks: {r: exclusive}\n    lock-wait: 1s\n");
        await(has_a_record, "it is skipped");
        cr_expect_not_null(strstr(only_record(), "lock-wait: its locks were not free in time"),
                           "%s", only_record());
        cr_expect(is_taken_in());
        cr_expect_eq(server_count(ROOT "/locks/job:a"), 0);
        cr_expect_eq(server_count(LOCK_PATH), 1, "the other one's");
}

/* ---- requests ---- */

static bool is_nothing_asked(void) {
        return server_count(ROOT "/requests") == 0;
}

static void ask(const char *job, int64_t not_after) {
        g_autofree char *data =
            g_strdup_printf("{\"job\":\"%s\",\"not_after\":%" G_GINT64_FORMAT "}", job, not_after);

        server_write(ROOT "/requests/1000000000-m0badcafe", data);
}

static int64_t now(void) {
        return (int64_t)(clock_realtime() / USEC_PER_SEC);
}

Test(claims, a_request_whose_locks_are_not_free_in_time_is_refused) {
        block_resource();
        write_job("    exec: [/bin/true]\n    locks: {r: exclusive}\n    lock-wait: 1s\n");
        open_daemon();
        await(is_ready, "ready");
        ask("a", now() + 60);
        await(is_nothing_asked, "it is refused");
        cr_expect_not_null(strstr(only_record(), "\"skipped\""), "%s", only_record());
        cr_expect_eq(started->len, 0);
}

Test(claims, a_request_that_nobody_takes_expires) {
        write_job("    exec: [/bin/true]\n");
        open_daemon();
        await(is_ready, "ready");
        ask("b", now() - 60);
        await(is_nothing_asked, "it does not stay");
        cr_expect_eq(started->len, 0);
}

static bool has_started(void) {
        return started->len > 0;
}

Test(claims, a_request_is_run) {
        write_job("    exec: [/bin/true]\n");
        open_daemon();
        await(is_ready, "ready");
        ask("a", now() + 60);
        await(has_started, "it runs");
        cr_expect(is_nothing_asked());
}

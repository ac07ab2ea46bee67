/* A tick that comes while another run of its job is under way, in a whole daemon
 * (daemon-fixture.h), by what the job says of that. */
#include "daemon-fixture.h"
#include "decision.h"
#include "job-table.h"
#include "ledger-change.h"
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

/* ---- queue ---- */

#define QUEUE "    every: 1s\n    exec: [/bin/true]\n    overlap: queue\n    start-deadline: 1h\n"

static bool runs_here(void) {
        return services_alive() == 1;
}

static bool has_left_out(void) {
        return count_records(DECISION_WHY_WAITS) > 0;
}

static int64_t waiting;

static bool runs_what_waited(void) {
        g_autofree char *run = run_id_for_tick(waiting, 1), *unit = unit_name_for_run("a", run);

        return service_newest() && service_is_alive(service_newest()) &&
               strcmp(service_newest()->name, unit) == 0;
}

/* Return: the first tick after the run that is under way. */
static int64_t first_in_line(void) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_there();
        const LedgerEntry *claimed = ledger_first_claimed(ledger);

        cr_assert_not_null(claimed);
        return claimed->tick + 1;
}

Test(overlap, a_tick_in_line_runs_once_our_run_is_over) {
        write_job(QUEUE);
        open_daemon();
        await(runs_here, "a run");
        await(has_left_out, "a tick waits, and another is left out");
        waiting = first_in_line();
        cr_expect_eq(started->len, 1);
        service_exit(service_newest(), 0);
        await(runs_what_waited, "what waited runs");
        cr_expect_eq(count_records("missed"), 0);
}

/* Its end is written now, so long after it. */
static void end_elsewhere_before(usec_t span) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_there();
        const LedgerEntry *claimed = ledger_first_claimed(ledger);
        _cleanup_(run_record_freep) RunRecord *record = run_record_new("a", claimed->run);
        g_autofree char *data = NULL;

        record->tick = claimed->tick;
        record->attempt = 1;
        record->node = g_strdup("n2");
        record->state = RUN_SUCCEEDED;
        record->ended = clock_realtime() - span;
        cr_assert_eq(ledger_settle(ledger, record, NULL, clock_realtime()), 0);
        data = ledger_encode(ledger);
        server_write(JOB_PATH, data);
}

static void end_elsewhere(void) {
        end_elsewhere_before(0);
}

/* Its end is seen by a watch, as soon as it is there. */
Test(overlap, a_tick_in_line_runs_once_that_of_another_node_is_over) {
        unsigned reads;

        run_elsewhere(QUEUE "    catch-up: none\n");
        await(has_left_out, "a tick waits, and another is left out");
        waiting = first_in_line();
        reads = server.reads;
        serve_for(USEC_PER_SEC);
        cr_expect_lt(server.reads - reads, 8, "it is watched: %u reads", server.reads - reads);
        cr_expect_eq(started->len, 0);
        end_elsewhere();
        await(runs_what_waited, "what waited runs");
        cr_expect_eq(count_records("missed"), 0);
}

static bool waits_for_long(void) {
        return clock_realtime() > (usec_t)(waiting + 4) * USEC_PER_SEC;
}

/* Its node was out of touch when it ended, which was before the tick came. */
Test(overlap, a_tick_in_line_runs_also_where_the_end_is_written_late) {
        run_elsewhere(QUEUE "    catch-up: none\n");
        await(has_left_out, "a tick waits, and another is left out");
        waiting = first_in_line();
        await(waits_for_long, "it is fresh no more");
        end_elsewhere_before(clock_realtime() - (usec_t)waiting * USEC_PER_SEC +
                             10 * USEC_PER_MSEC);
        await(runs_what_waited, "what waited runs");
        cr_expect_eq(count_records("missed"), 0);
}

/* What waits is in nobody's memory. */
Test(overlap, a_tick_in_line_outlives_the_daemon) {
        run_elsewhere(QUEUE);
        await(has_left_out, "a tick waits, and another is left out");
        waiting = first_in_line();
        close_daemon();
        end_elsewhere();
        open_daemon();
        await(runs_what_waited, "what waited runs");
}

/* ---- catching up with all ---- */

/* What was owed when the daemon came is run one after the other, and is in nobody's way. */
Test(overlap, each_tick_that_was_missed_is_run_oldest_first) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        g_autofree char *data = NULL;

        write_job("    every: 5s\n    exec: [/bin/true]\n    catch-up: all\n"
                  "    start-deadline: 1h\n");
        open_daemon();
        await(has_ledger, "a ledger");
        close_daemon();
        ledger = ledger_there();
        ledger->from -= 60;
        g_ptr_array_set_size(ledger->open, 0);
        data = ledger_encode(ledger);
        server_write(JOB_PATH, data);
        open_daemon();
        waiting = ledger->from / 5 * 5;
        for (unsigned i = 0; i < 4; i++) {
                waiting += 5;
                await(runs_what_waited, "the next one");
                service_exit(service_newest(), 0);
        }
        cr_expect_eq(count_records("missed"), 0);
}

/* ---- replace ---- */

static char *wish; /* the path of the last one that was written */

static ServerWay note_wishes(const ZkCall *call) {
        if (call->request == REQUEST_CREATE && g_str_has_prefix(call->path, ROOT "/requests/")) {
                g_free(wish);
                wish = g_strdup(call->path);
        }
        return SERVER_ANSWER;
}

static bool is_wished(void) {
        return wish && server_data(wish);
}

/* Its own node ends it; where that does not act, the tick's wish stands there as a person's does.
 */
Test(overlap, a_run_elsewhere_is_asked_to_give_way) {
        tree_write(root, "jobkeeper.yaml",
                   "node: {name: n1}\ntakeover-delay: 100ms\nheartbeat: 100ms\n"
                   "fence-budget: 2500ms\nkill-slack: 500ms\n"
                   "zookeeper: {session-timeout: 6s, tick-time: 100ms, sync-limit: 1}\n");
        run_elsewhere("    every: 2s\n    overlap: replace\n    exec: [/bin/true]\n");
        server_write(ROOT "/nodes/n2", "{\"machine\":\"m2\",\"boot\":\"b\"}");
        server.way = note_wishes;
        serve_for(2 * USEC_PER_SEC);
        cr_expect_not(is_wished(), "its own node is first");
        await_within(is_wished, "it is asked to end", 20 * USEC_PER_SEC);
        cr_expect(strstr(server_data(wish), "\"on\":\"n2\""), "%s", server_data(wish));
        cr_expect(strstr(server_data(wish), "\"by\":\"the tick 2"), "%s", server_data(wish));
        cr_expect_eq(started->len, 0U, "it is not over yet");
        g_clear_pointer(&wish, g_free);
}

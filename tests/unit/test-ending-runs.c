/* How the daemon ends, in a whole daemon (daemon-fixture.h): at a real stop its runs end first, at
 * a restart they go on. */
#include "daemon-fixture.h"
#include "ledger.h"
#include "paths.h"
#include "runs.h"

#define ROOT "/jobkeeper"
#define OPEN_PATH ROOT "/open/n1"

TestSuite(ending_runs, .init = setup, .fini = teardown);

static bool is_ready(void) {
        return node_is_ready(coordinator->node);
}

static bool has_claimed(void) {
        return server.held;
}

/* The loop was told to end. */
static bool is_done(void) {
        return sd_event_get_state(event) == SD_EVENT_FINISHED;
}

static void run_one(void) {
        write_job("    every: 1s\n    exec: [/bin/true]\n");
        open_daemon();
        await(a_run_goes_on, "a run");
}

/* The state of the only run's record. */
static RunState state_there(void) {
        GHashTableIter iterator;
        gpointer path, node;
        RunState state = RUN_CLAIMED;

        g_hash_table_iter_init(&iterator, server.nodes);
        while (g_hash_table_iter_next(&iterator, &path, &node)) {
                const char *data = ((ServerNode *)node)->data;
                RunRecord *record = NULL;

                if (!g_str_has_prefix(path, ROOT "/jobs/a/runs/") ||
                    run_record_decode(data, strlen(data), &record) < 0)
                        continue;
                if (record->attempt > 0)
                        state = record->state;
                run_record_free(record);
        }
        return state;
}

static void answer_query(SystemdJob systemd_job) {
        service_manager.query_error = 0;
        service_manager.systemd_job = systemd_job;
}

/* ---- a real stop ---- */

Test(ending_runs, a_stop_ends_runs_settles_them_and_closes_the_session) {
        run_one();
        answer_query(SYSTEMD_JOB_STOP);
        coordinator_terminate(coordinator);
        coordinator_terminate(coordinator); /* once is enough */
        await(is_done, "it ends");
        cr_expect_eq(services_alive(), 0);
        cr_expect_eq(state_there(), RUN_INTERRUPTED);
        cr_expect_eq(server_count(OPEN_PATH), 0);
        cr_expect_eq(server_count(ROOT "/nodes"), 0, "its session is closed");
}

Test(ending_runs, it_waits_until_nothing_of_a_run_is_left) {
        run_one();
        service_manager.deaf = true;
        coordinator_stop(coordinator);
        serve_for(USEC_PER_SEC);
        cr_expect_not(is_done());
        cr_expect_eq(server_count(ROOT "/nodes"), 1);
        service_obey(service_newest());
        await(is_done, "it ends");
        cr_expect_eq(state_there(), RUN_INTERRUPTED);
}

/* What is claimed then is not started. */
Test(ending_runs, a_claim_that_is_on_its_way_is_waited_for) {
        server.hold_claims = true;
        write_job("    every: 1s\n    exec: [/bin/true]\n");
        open_daemon();
        await(has_claimed, "a claim");
        coordinator_stop(coordinator);
        serve_for(300 * USEC_PER_MSEC);
        cr_expect_not(is_done());
        server.hold_claims = false;
        server_release();
        await(is_done, "it ends");
        cr_expect_eq(started->len, 0);
        cr_expect_eq(state_there(), RUN_INTERRUPTED);
}

Test(ending_runs, without_a_run_it_ends_at_once) {
        write_job("    every: 300d\n    exec: [/bin/true]\n");
        open_daemon();
        await(is_ready, "ready");
        coordinator_stop(coordinator);
        await(is_done, "it ends");
        cr_expect_eq(server_count(ROOT "/nodes"), 0);
}

/* A session that was never had is not closed. */
Test(ending_runs, nor_does_it_wait_for_a_server) {
        write_job("    every: 300d\n    exec: [/bin/true]\n");
        open_daemon();
        coordinator_stop(coordinator);
        await(is_done, "it ends");
}

/* What PID 1 was told last is to reach it. */
Test(ending_runs, it_waits_for_pid_1_a_moment) {
        write_job("    every: 300d\n    exec: [/bin/true]\n");
        open_daemon();
        await(is_ready, "ready");
        service_manager.busy = true;
        coordinator_stop(coordinator);
        serve_for(300 * USEC_PER_MSEC);
        cr_expect_not(is_done());
        service_manager.busy = false;
        await(is_done, "it ends");
}

Test(ending_runs, but_not_for_long) {
        write_job("    every: 300d\n    exec: [/bin/true]\n");
        open_daemon();
        await(is_ready, "ready");
        service_manager.busy = true;
        coordinator_stop(coordinator);
        await(is_done, "it ends");
}

/* The session is lost meanwhile: what was stopped is settled by others, or by the next process. */
Test(ending_runs, a_session_that_is_lost_meanwhile_ends_it_as_well) {
        run_one();
        service_manager.deaf = true;
        coordinator_stop(coordinator);
        serve_for(100 * USEC_PER_MSEC);
        server_expire(last_session);
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        cr_expect_geq(service_newest()->kills, 1);
        service_obey(service_newest());
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_CONNECTED);
        await(is_done, "it ends");
        cr_expect_eq(state_there(), RUN_INTERRUPTED);
}

/* What the process before us left is found only after we were asked to stop. */
Test(ending_runs, what_is_found_while_it_stops_is_ended_too) {
        run_one();
        close_daemon();
        open_daemon_again();
        coordinator_stop(coordinator);
        await(is_done, "it ends");
        cr_expect_eq(services_alive(), 0);
}

static ServerWay keep_open_runs(const ZkCall *call) {
        return call->request == REQUEST_LIST && strcmp(call->path, OPEN_PATH) == 0 ? SERVER_KEEP
                                                                                   : SERVER_ANSWER;
}

static bool is_looking_for_runs(void) {
        return g_queue_get_length(&server.kept) > 0;
}

static bool is_being_stopped(void) {
        return service_newest()->stops > 0;
}

/* It is found while PID 1 has not said yet which units there are: then it is that run's unit, and
 * nobody else's to end. */
Test(ending_runs, what_is_found_before_its_unit_is_listed_is_ended_too) {
        run_one();
        close_daemon();
        server.way = keep_open_runs;
        open_daemon_again();
        await(is_looking_for_runs, "it looks for what was left");
        service_manager.disconnected = true;
        coordinator_stop(coordinator);
        server.way = NULL;
        server_release();
        await(is_being_stopped, "its unit is stopped");
        service_manager.disconnected = false;
        await(is_done, "it ends");
        cr_expect_eq(services_alive(), 0);
        cr_expect_eq(state_there(), RUN_INTERRUPTED);
}

/* ---- a restart ---- */

static void expect_left(void) {
        await(is_done, "it ends");
        cr_expect_eq(services_alive(), 1);
        cr_expect_eq(service_newest()->stops, 0);
        cr_expect_eq(server_count(ROOT "/nodes"), 1, "its session lives");
        cr_expect_eq(state_there(), RUN_CLAIMED);
}

Test(ending_runs, a_restart_leaves_everything_to_the_next) {
        run_one();
        answer_query(SYSTEMD_JOB_RESTART);
        coordinator_terminate(coordinator);
        expect_left();
}

Test(ending_runs, so_does_an_end_that_pid_1_says_nothing_of) {
        run_one();
        coordinator_terminate(coordinator);
        expect_left();
}

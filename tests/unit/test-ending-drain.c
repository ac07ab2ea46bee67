/* What runs may end by itself for drain-timeout when the daemon is stopped, in a whole daemon
 * (daemon-fixture.h): nothing else begins, what does not end is ended, and nobody waits for longer
 * than there is something to wait for. */
#include <sys/socket.h>
#include <sys/un.h>

#include "daemon-fixture.h"
#include "ledger.h"
#include "member.h"
#include "paths.h"
#include "runs.h"

#define ROOT "/jobkeeper"
#define OPEN_PATH ROOT "/open/n1"

static int notify_fd = -1;
static GString *notified; /* all of it */

static void drain_within(const char *span) {
        g_autofree char *text = g_strdup_printf("node: {name: n1}\ntakeover-delay: 100ms\n%s%s\n",
                                                *span ? "drain-timeout: " : "", span);

        tree_write(root, "jobkeeper.yaml", text);
}

static void setup_drain(void) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        g_autofree char *path = NULL;

        setup();
        notified = g_string_new(NULL);
        path = g_build_filename(root, "notify", NULL);
        notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        cr_assert_lt(strlen(path), sizeof address.sun_path);
        (void)g_strlcpy(address.sun_path, path, sizeof address.sun_path);
        cr_assert_eq(bind(notify_fd, (struct sockaddr *)&address, sizeof address), 0);
        g_setenv("NOTIFY_SOCKET", path, TRUE);
        drain_within("20s");
        write_job("    every: 1s\n    exec: [/bin/true]\n");
}

static void teardown_drain(void) {
        (void)close(notify_fd);
        (void)g_string_free(notified, TRUE);
        g_unsetenv("NOTIFY_SOCKET");
        teardown();
}

TestSuite(ending_drain, .init = setup_drain, .fini = teardown_drain, .timeout = 60);

static bool was_notified(const char *text) {
        char buffer[4096];
        ssize_t n;

        while ((n = recv(notify_fd, buffer, sizeof buffer - 1, 0)) > 0) {
                buffer[n] = '\0';
                (void)g_string_append(notified, buffer);
                (void)g_string_append_c(notified, '\n');
        }
        return strstr(notified->str, text);
}

static bool is_done(void) {
        return sd_event_get_state(event) == SD_EVENT_FINISHED;
}

static bool is_ready(void) {
        return node_is_ready(coordinator->node);
}

static void run_one(void) {
        open_daemon();
        await(a_run_goes_on, "a run");
}

static void terminate(SystemdJob systemd_job) {
        service_manager.query_error = 0;
        service_manager.systemd_job = systemd_job;
        coordinator_terminate(coordinator);
}

/* The state of the first run's record. */
static RunState state_there(void) {
        g_autofree char *name = NULL, *path = NULL;
        const Service *service = service_manager.services->pdata[0];
        RunRecord *record = NULL;
        RunState state;

        name = g_strdup(service->name + strlen("jobkeeper-a-"));
        *strstr(name, ".service") = '\0';
        path = g_strconcat(ROOT "/jobs/a/runs/", name, NULL);
        cr_assert_eq(run_record_decode(server_data(path), strlen(server_data(path)), &record), 0);
        state = record->state;
        run_record_free(record);
        return state;
}

static void expect_untouched(usec_t span) {
        serve_for(span);
        cr_expect_not(is_done());
        cr_expect_eq(services_alive(), 1);
        cr_expect_eq(service_newest()->stops, 0);
        cr_expect_eq(started->len, 1);
}

static void expect_ended(RunState state) {
        await(is_done, "it ends");
        cr_expect_eq(services_alive(), 0);
        cr_expect_eq(state_there(), state, "%s", run_state_to_string(state_there()));
        cr_expect_eq(server_count(OPEN_PATH), 0);
        cr_expect_eq(server_count(ROOT "/nodes"), 0, "its session is closed");
}

/* ---- its time ---- */

/* Ticks come and go meanwhile. */
Test(ending_drain, what_runs_ends_by_itself_and_nothing_else_begins) {
        run_one();
        terminate(SYSTEMD_JOB_STOP);
        expect_untouched(2500 * USEC_PER_MSEC);
        service_exit(service_newest(), 0);
        expect_ended(RUN_SUCCEEDED);
        cr_expect_eq(started->len, 1);
}

Test(ending_drain, what_has_not_ended_in_time_is_ended) {
        usec_t since;

        drain_within("1500ms");
        run_one();
        since = clock_monotonic();
        terminate(SYSTEMD_JOB_STOP);
        expect_untouched(USEC_PER_SEC);
        expect_ended(RUN_INTERRUPTED);
        cr_expect_geq(clock_monotonic() - since, 1500 * USEC_PER_MSEC);
}

Test(ending_drain, ten_minutes_where_nothing_is_said) {
        drain_within("");
        run_one();
        cr_expect_eq(coordinator->config->drain_timeout, 10 * USEC_PER_MINUTE);
        terminate(SYSTEMD_JOB_STOP);
        expect_untouched(USEC_PER_SEC);
}

Test(ending_drain, with_no_time_it_is_ended_at_once) {
        drain_within("0");
        run_one();
        coordinator_stop(coordinator);
        cr_expect_eq(service_newest()->stops, 1);
        expect_ended(RUN_INTERRUPTED);
}

Test(ending_drain, without_a_run_nothing_is_waited_for) {
        write_job("    every: 300d\n    exec: [/bin/true]\n");
        open_daemon();
        await(is_ready, "ready");
        terminate(SYSTEMD_JOB_STOP);
        await_within(is_done, "it ends", 3 * USEC_PER_SEC);
        cr_expect_eq(server_count(ROOT "/nodes"), 0);
}

/* The others rank without it. */
static bool says_that_it_stops(void) {
        return strstr(server_data(ROOT "/nodes/n1"), "\"busy\":\"stopping\"");
}

Test(ending_drain, the_others_hear_of_it) {
        run_one();
        terminate(SYSTEMD_JOB_STOP);
        await(says_that_it_stops, "its member says so");
}

#define QUEUE ROOT "/locks/db"

static bool both_stand_in_the_queue(void) {
        return server_count(QUEUE) == 2;
}

static bool one_stands_in_the_queue(void) {
        return server_count(QUEUE) == 1;
}

/* Other nodes are to have what this one queues for. */
Test(ending_drain, what_queues_gives_its_place_up_at_once) {
        write_job("    every: 1s\n    exec: [/bin/true]\n    locks: {db: exclusive}\n");
        write_job_named("b", "    every: 1s\n    exec: [/bin/true]\n    locks: {db: exclusive}\n");
        run_one();
        await(both_stand_in_the_queue, "the other one waits");
        terminate(SYSTEMD_JOB_STOP);
        await(one_stands_in_the_queue, "its place is free");
        expect_untouched(300 * USEC_PER_MSEC);
}

/* ---- asked again ---- */

Test(ending_drain, whoever_asks_again_does_not_want_to_wait) {
        run_one();
        terminate(SYSTEMD_JOB_STOP);
        expect_untouched(300 * USEC_PER_MSEC);
        terminate(SYSTEMD_JOB_STOP);
        cr_expect_eq(service_newest()->stops, 1);
        expect_ended(RUN_INTERRUPTED);
}

Test(ending_drain, nor_does_who_interrupts_twice) {
        run_one();
        coordinator_stop(coordinator);
        expect_untouched(300 * USEC_PER_MSEC);
        coordinator_stop(coordinator);
        expect_ended(RUN_INTERRUPTED);
}

/* ---- a stop that is to come ---- */

/* At shutdown PID 1 ends the runs, and only then us. */
Test(ending_drain, what_pid_1_has_planned_is_heeded_at_once) {
        run_one();
        service_manager_has_a_job(SYSTEMD_JOB_STOP);
        expect_untouched(1500 * USEC_PER_MSEC);
        service_manager.shuts_down = true;
        service_exit(service_newest(), 0);
        expect_ended(RUN_INTERRUPTED);
}

/* Its signal is part of the same stop. */
Test(ending_drain, the_signal_of_a_planned_stop_is_not_its_second) {
        run_one();
        service_manager_has_a_job(SYSTEMD_JOB_STOP);
        serve_for(100 * USEC_PER_MSEC);
        terminate(SYSTEMD_JOB_STOP);
        expect_untouched(300 * USEC_PER_MSEC);
        terminate(SYSTEMD_JOB_STOP);
        expect_ended(RUN_INTERRUPTED);
}

/* What lives then is what PID 1 could not end. */
Test(ending_drain, what_outlives_a_shutdown_has_no_more_time) {
        run_one();
        service_manager_has_a_job(SYSTEMD_JOB_SHUTDOWN);
        expect_untouched(1500 * USEC_PER_MSEC);
        cr_expect(was_notified("systemd ends runs (1) and commands with locks (0) first"));
        terminate(SYSTEMD_JOB_SHUTDOWN);
        cr_expect_eq(service_newest()->stops, 1);
        cr_expect(was_notified("STOPPING=1"));
        cr_expect(was_notified("EXTEND_TIMEOUT_USEC=120000000\n"));
        expect_ended(RUN_INTERRUPTED);
}

Test(ending_drain, nor_has_what_runs_when_a_shutdown_begins_meanwhile) {
        drain_within("");
        run_one();
        terminate(SYSTEMD_JOB_STOP);
        expect_untouched(300 * USEC_PER_MSEC);
        service_manager.systemd_job = SYSTEMD_JOB_SHUTDOWN;
        expect_ended(RUN_INTERRUPTED);
}

static bool says_that_systemd_ends_it(void) {
        return was_notified("systemd ends runs (1) and commands with locks (0) first");
}

/* PID 1 had not said so when it was asked first. */
Test(ending_drain, a_stop_that_is_to_come_may_turn_out_to_be_a_shutdown) {
        drain_within("");
        run_one();
        service_manager_has_a_job(SYSTEMD_JOB_STOP);
        serve_for(100 * USEC_PER_MSEC);
        service_manager.systemd_job = SYSTEMD_JOB_SHUTDOWN;
        await(says_that_systemd_ends_it, "it knows");
        cr_expect_eq(service_newest()->stops, 0);
        terminate(SYSTEMD_JOB_SHUTDOWN);
        cr_expect_eq(service_newest()->stops, 1);
        expect_ended(RUN_INTERRUPTED);
}

/* Its machine says what it has come to, when it is back. */
Test(ending_drain, what_is_for_the_reboot_is_left_open) {
        write_job("    every: 1s\n    exec: [/bin/true]\n    mode: each-node\n"
                  "    rejoin-timeout: 1min\n    reboot: success\n");
        run_one();
        service_manager_has_a_job(SYSTEMD_JOB_SHUTDOWN);
        serve_for(100 * USEC_PER_MSEC);
        terminate(SYSTEMD_JOB_SHUTDOWN);
        await(is_done, "it ends");
        cr_expect_eq(services_alive(), 0);
        cr_expect_eq(server_count(OPEN_PATH), 1);
        cr_expect_eq(server_count(ROOT "/nodes"), 0, "its session is closed");
}

/* Where nobody heard of PID 1's plans. */
Test(ending_drain, nor_has_it_where_the_signal_is_the_first_sign) {
        run_one();
        terminate(SYSTEMD_JOB_SHUTDOWN);
        await_within(is_done, "it ends", 10 * USEC_PER_SEC);
        cr_expect_eq(services_alive(), 0);
        cr_expect_eq(state_there(), RUN_INTERRUPTED);
}

static bool has_started_again(void) {
        if (service_is_alive(service_newest()))
                service_exit(service_newest(), 0);
        return started->len > 1;
}

Test(ending_drain, a_planned_restart_or_reload_changes_nothing) {
        run_one();
        service_manager_has_a_job(SYSTEMD_JOB_RESTART);
        serve_for(100 * USEC_PER_MSEC);
        service_manager_has_a_job(SYSTEMD_JOB_OTHER);
        await(has_started_again, "the next run");
}

/* ---- what a process before us left ---- */

Test(ending_drain, what_is_found_meanwhile_has_its_time_too) {
        run_one();
        close_daemon();
        open_daemon_again();
        terminate(SYSTEMD_JOB_STOP);
        expect_untouched(500 * USEC_PER_MSEC);
        service_exit(service_newest(), 0);
        expect_ended(RUN_SUCCEEDED);
}

/* ---- without answers ---- */

/* Locks that may be lost wait for nothing. */
Test(ending_drain, with_the_session_its_time_is_over) {
        run_one();
        terminate(SYSTEMD_JOB_STOP);
        serve_for(100 * USEC_PER_MSEC);
        server_expire(last_session);
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        cr_expect_eq(services_alive(), 0);
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_CONNECTED);
        expect_ended(RUN_INTERRUPTED);
}

static ServerWay keep_settles(const ZkCall *call) {
        return call->request == REQUEST_MULTI ? SERVER_KEEP : SERVER_ANSWER;
}

static bool settles(void) {
        return runs_count_results(coordinator->runs) > 0;
}

/* A result that cannot be written is no run: it has the time of a stop, and not that of a drain. */
Test(ending_drain, a_result_is_not_waited_for_as_long_as_a_run) {
        run_one();
        server.way = keep_settles;
        terminate(SYSTEMD_JOB_STOP);
        service_exit(service_newest(), 0);
        await(settles, "it has ended");
        serve_for(1200 * USEC_PER_MSEC);
        cr_expect_eq(coordinator->node->process_phase, PROCESS_PHASE_STOPPING);
        cr_expect_not(is_done());
        server.way = NULL;
        server_release();
        expect_ended(RUN_SUCCEEDED);
}

/* ---- what PID 1 is told ---- */

/* 20 s + 90 s + 30 s; then, when there is nothing left to wait for, 90 s + 30 s. */
Test(ending_drain, pid_1_gives_it_the_time_it_needs) {
        run_one();
        terminate(SYSTEMD_JOB_STOP);
        serve_for(100 * USEC_PER_MSEC);
        cr_expect(was_notified("STOPPING=1"));
        cr_expect(was_notified("EXTEND_TIMEOUT_USEC=139") ||
                  was_notified("EXTEND_TIMEOUT_USEC=140000000\n"));
        cr_expect(was_notified(" UTC runs (1) and commands with locks (0) may end by themselves"));
        cr_expect_not(was_notified("EXTEND_TIMEOUT_USEC=120000000\n"));
        service_exit(service_newest(), 0);
        await(is_done, "it ends");
        cr_expect(was_notified("EXTEND_TIMEOUT_USEC=120000000\n"));
        cr_expect(was_notified("STATUS=Stopping, ending and settling runs"));
}

/* It counts only from its signal on, and sends none to who said before that it is stopping. */
Test(ending_drain, pid_1_is_asked_for_time_when_it_counts) {
        run_one();
        service_manager_has_a_job(SYSTEMD_JOB_STOP);
        serve_for(1100 * USEC_PER_MSEC);
        cr_expect(was_notified(" may end by themselves"));
        cr_expect_not(was_notified("STOPPING=1"));
        cr_expect_not(was_notified("EXTEND_TIMEOUT_USEC="));
        terminate(SYSTEMD_JOB_STOP);
        serve_for(100 * USEC_PER_MSEC);
        cr_expect(was_notified("STOPPING=1"));
        cr_expect(was_notified("EXTEND_TIMEOUT_USEC=138"));
}

/* How the daemon ends: a restart leaves what runs and waits for what is about to, a stop ends it;
 * in a whole daemon (daemon-fixture.h). */
#include "daemon-fixture.h"
#include "run-record.h"
#include "timer.h"

#define RUNS_PATH "/jobkeeper/jobs/a/runs"
/* The patience with what does not end, or cannot be settled: as in ending.c, and as it is here. */
#define PATIENCE (90 * USEC_PER_SEC)
#define SHORT_PATIENCE (1 * USEC_PER_SEC)

TestSuite(ending, .init = setup, .fini = teardown);

/* The linker has these in place of timer_in(). */
int __real_timer_in(sd_event *loop, sd_event_source **slot, usec_t delay, TimerFunc func,
                    void *userdata);
int __wrap_timer_in(sd_event *loop, sd_event_source **slot, usec_t delay, TimerFunc func,
                    void *userdata);

int __wrap_timer_in(sd_event *loop, sd_event_source **slot, usec_t delay, TimerFunc func,
                    void *userdata) {
        return __real_timer_in(loop, slot, delay == PATIENCE ? SHORT_PATIENCE : delay, func,
                               userdata);
}

static bool is_claiming(void) {
        return server.held;
}

static bool has_started(void) {
        return service_newest() && service_newest()->unit;
}

static bool has_left(void) {
        return session_state(coordinator->session) == SESSION_CLOSED;
}

/* SIGTERM, and this is what PID 1 has queued for us. */
static void terminate(SystemdJob systemd_job) {
        service_manager.query_error = 0;
        service_manager.systemd_job = systemd_job;
        coordinator_terminate(coordinator);
}

static void claim_and_terminate(SystemdJob systemd_job) {
        write_job("    every: 1s\n    exec: [/bin/true]\n");
        server.hold_claims = true;
        open_daemon();
        await(is_claiming, "a claim");
        terminate(systemd_job);
}

/* What is cut off between the claim and the start nobody starts any more. */
Test(ending, a_restart_waits_for_a_start_that_is_on_its_way) {
        usec_t began;

        claim_and_terminate(SYSTEMD_JOB_RESTART);
        began = clock_monotonic();
        serve_for(300 * USEC_PER_MSEC);
        cr_expect_not(has_left());
        cr_expect_eq(started->len, 0);
        server.hold_claims = false;
        server_release();
        await(has_started, "a start");
        await(has_left, "the session is left");
        cr_expect_lt(clock_monotonic() - began, 1900 * USEC_PER_MSEC, "and no longer");
        cr_expect_eq(started->len, 1);
        cr_expect(service_is_alive(service_newest()));
        cr_expect_eq(service_newest()->stops, 0);
}

Test(ending, a_restart_does_not_wait_for_ever) {
        usec_t began;

        claim_and_terminate(SYSTEMD_JOB_RESTART);
        began = clock_monotonic();
        await(has_left, "the session is left");
        cr_expect_geq(clock_monotonic() - began, 1900 * USEC_PER_MSEC);
        cr_expect_eq(started->len, 0);
}

Test(ending, a_restart_with_nothing_under_way_waits_for_nothing) {
        usec_t began;

        write_job("    schedule: \"2199-01-01\"\n    exec: [/bin/true]\n");
        open_daemon();
        serve_for(200 * USEC_PER_MSEC);
        began = clock_monotonic();
        terminate(SYSTEMD_JOB_RESTART);
        await(has_left, "the session is left");
        cr_expect_lt(clock_monotonic() - began, 1900 * USEC_PER_MSEC);
}

static RunRecord *record_of(const Service *service) {
        g_autofree char *name = g_strdup(service->name + strlen("jobkeeper-a-")), *path = NULL;
        RunRecord *record = NULL;

        *strstr(name, ".service") = '\0';
        path = g_strconcat(RUNS_PATH "/", name, NULL);
        cr_assert_eq(run_record_decode(server_data(path), strlen(server_data(path)), &record), 0);
        return record;
}

/* Nobody else can say now what became of it; that we had stopped it is known. */
Test(ending, a_run_that_vanishes_while_it_is_stopped_says_why_it_was) {
        _cleanup_(run_record_freep) RunRecord *record = NULL;

        write_job("    every: 1s\n    exec: [/bin/true]\n");
        service_manager.deaf = true;
        open_daemon();
        await(has_started, "a start");
        terminate(SYSTEMD_JOB_STOP);
        serve_for(200 * USEC_PER_MSEC);
        cr_expect_not(has_left());
        service_vanish(service_newest());
        await(has_left, "the session is closed");
        record = record_of(service_newest());
        cr_expect_str_eq(record->why, "the daemon was stopped");
        cr_expect_gt(record->ended, 0);
}

Test(ending, a_stop_does_not_wait_for_ever_for_what_does_not_end) {
        usec_t began;

        write_job("    every: 1s\n    exec: [/bin/true]\n");
        service_manager.deaf = true;
        open_daemon();
        await(has_started, "a start");
        began = clock_monotonic();
        terminate(SYSTEMD_JOB_STOP);
        await(has_left, "the session is left to the next process");
        cr_expect_geq(clock_monotonic() - began, SHORT_PATIENCE);
        cr_expect(service_is_alive(service_newest()));
}

static bool nothing_stands_open(void) {
        return server_count("/jobkeeper/open/n1") == 0;
}

/* What it claims is written already, perhaps: it is not started, and says so. */
Test(ending, a_stop_waits_for_a_claim_that_is_on_its_way) {
        claim_and_terminate(SYSTEMD_JOB_STOP);
        serve_for(200 * USEC_PER_MSEC);
        cr_expect_not(has_left());
        cr_expect_not(nothing_stands_open());
        server.hold_claims = false;
        server_release();
        await(has_left, "the session is closed");
        cr_expect(nothing_stands_open());
        cr_expect_eq(started->len, 0);
}

/* They are known only from ZooKeeper, and the stop comes before its answer. */
Test(ending, a_stop_ends_the_runs_of_the_process_before_as_well) {
        _cleanup_(run_record_freep) RunRecord *record = NULL;
        Service *service = NULL;

        write_job("    every: 1s\n    exec: [/bin/true]\n");
        open_daemon();
        await(has_started, "a start");
        service = service_newest();
        close_daemon();
        open_daemon_again();
        coordinator_stop(coordinator);
        cr_expect_not(has_left());
        await(has_left, "the session is closed");
        cr_expect_not(service_is_alive(service));
        cr_expect(nothing_stands_open());
        record = record_of(service);
        cr_expect_eq(record->state, RUN_INTERRUPTED, "%s", run_state_to_string(record->state));
}

Test(ending, a_stop_without_zookeeper_waits_for_nothing) {
        g_autofree char *config = tree_path(root, "jobkeeper.yaml"),
                        *runtime = g_build_filename(root, "run", NULL),
                        *state = g_build_filename(root, "state", NULL);
        const CoordinatorOptions options = {config, root, runtime, state};

        write_job("    every: 1s\n    exec: [/bin/true]\n");
        cr_assert_eq(coordinator_new(event, &options, &coordinator), 0);
        coordinator_stop(coordinator);
        await(has_left, "the session is left");
}

static bool has_exited(void) {
        return sd_event_get_state(event) == SD_EVENT_FINISHED;
}

/* PID 1 refuses whoever has gone when it looks; but it may never answer. */
Test(ending, the_process_stays_until_pid_1_has_heard_its_last_words) {
        service_manager.busy = true;
        write_job("    schedule: \"2199-01-01\"\n    exec: [/bin/true]\n");
        open_daemon();
        terminate(SYSTEMD_JOB_RESTART);
        await(has_left, "the session is left");
        serve_for(300 * USEC_PER_MSEC);
        cr_expect_not(has_exited());
        await(has_exited, "it does not wait for ever");
}

Test(ending, with_nothing_to_hear_it_goes_at_once) {
        usec_t began;

        write_job("    schedule: \"2199-01-01\"\n    exec: [/bin/true]\n");
        open_daemon();
        terminate(SYSTEMD_JOB_RESTART);
        await(has_left, "the session is left");
        began = clock_monotonic();
        await(has_exited, "the loop ends");
        cr_expect_lt(clock_monotonic() - began, 700 * USEC_PER_MSEC);
}

/* jobkeeper.yaml is not read anew; that it is broken does not disturb what runs. */
Test(ending, a_reload_with_a_broken_configuration_keeps_what_is_in_force) {
        write_job("    every: 1s\n    exec: [/bin/true]\n");
        open_daemon();
        tree_write(root, "jobkeeper.yaml", "nodes: {nam: [\n");
        coordinator_reload(coordinator);
        await(has_started, "a start");
        cr_expect_str_eq(coordinator->config->node_name, "n1");
}

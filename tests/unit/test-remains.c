/* Results that were known when the session was lost and that a restart came between, in a whole
 * daemon (daemon-fixture.h): another node has settled the runs as unknown meanwhile. */
#include "counted-reads.h"
#include "daemon-fixture.h"
#include "ledger.h"
#include "log.h"
#include "paths.h"
#include "read-window.h"
#include "runs.h"

#define ROOT "/jobkeeper"
#define RUNS_PATH ROOT "/jobs/a/runs"

static char *run_name;
static int64_t session; /* the one it ran in */

static void setup_run(void) {
        setup();
        write_job("    every: 1s\n    exec: [/bin/true]\n");
}

static void teardown_run(void) {
        g_clear_pointer(&run_name, g_free);
        teardown();
}

TestSuite(remains, .init = setup_run, .fini = teardown_run);

static bool is_ready(void) {
        return node_is_ready(coordinator->node);
}

static Service *the_service(void) {
        return service_manager.services->pdata[0];
}

static RunRecord *the_record(void) {
        g_autofree char *path = path_run(ROOT, "a", run_name);
        const char *data = server_data(path);
        RunRecord *record = NULL;

        cr_assert_eq(run_record_decode(data, strlen(data), &record), 0, "%s", data);
        return record;
}

static void begin_run(void) {
        g_autoptr(GPtrArray) runs = NULL;

        open_daemon();
        await(a_run_goes_on, "a run");
        runs = runs_list(coordinator->runs);
        run_name = g_strdup(((Run *)runs->pdata[0])->record->run);
        session = last_session;
        write_job("    every: 300d\n    exec: [/bin/true]\n"); /* no other from now on */
}

/* The session is lost, and its process as well. */
static void lose_session_and_process(void) {
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_EXPIRED);
        for (unsigned i = 0; i < 20; i++)
                (void)sd_event_run(event, 5 * USEC_PER_MSEC);
        close_daemon();
}

/* Another node finds the run without its node. */
static void settle_as_other(void) {
        _cleanup_(run_record_freep) RunRecord *record = the_record();
        g_autofree char *text = NULL, *path = path_run(ROOT, "a", run_name),
                        *open = path_open_run(ROOT, "n1", "a", run_name);

        record->state = RUN_UNKNOWN;
        record->ended = clock_realtime();
        g_free(record->why);
        record->why = g_strdup("node n1 disappeared during the run");
        text = run_record_encode(record);
        server_set(server_node(path), text);
        server_remove(open);
        server_forget_watches();
        server_expire(session);
}

static bool is_refined(void) {
        _cleanup_(run_record_freep) RunRecord *record = the_record();

        return record->state != RUN_UNKNOWN && the_service()->state == SERVICE_FORGOTTEN;
}

static bool is_forgotten(void) {
        return the_service()->state == SERVICE_FORGOTTEN;
}

Test(remains, a_run_that_was_ended_with_its_session_is_interrupted_after_a_restart) {
        _cleanup_(run_record_freep) RunRecord *record = NULL;

        begin_run();
        lose_session_and_process();
        cr_assert_eq(the_service()->state, SERVICE_OVER);
        settle_as_other();
        open_daemon();
        await(is_refined, "the result is written, and the unit forgotten");
        record = the_record();
        cr_expect_eq(record->state, RUN_INTERRUPTED);
        cr_expect_str_eq(record->why, "the ZooKeeper session was lost");
        cr_expect_eq(runs_count(coordinator->runs), 0);
}

/* Its own end, that nobody saw. */
Test(remains, a_run_that_ended_while_nobody_was_there_has_its_own_result) {
        _cleanup_(run_record_freep) RunRecord *record = NULL;

        begin_run();
        close_daemon();
        service_exit(the_service(), 3);
        settle_as_other();
        open_daemon();
        await(is_refined, "the result is written, and the unit forgotten");
        record = the_record();
        cr_expect_eq(record->state, RUN_FAILED);
        cr_expect_eq(record->exit_status, 3);
        cr_expect_str_eq(record->why, "exit-code");
}

/* A person says how it ended, before its node is back. */
static void resolve_as_person(void) {
        _cleanup_(run_record_freep) RunRecord *record = the_record();
        g_autofree char *text = NULL, *path = path_run(ROOT, "a", run_name);

        run_record_resolve(record, RUN_SUCCEEDED, "alice on n2", "seen", clock_realtime());
        text = run_record_encode(record);
        server_set(server_node(path), text);
}

Test(remains, what_a_person_said_meanwhile_stays) {
        _cleanup_(run_record_freep) RunRecord *record = NULL;

        begin_run();
        close_daemon();
        service_exit(the_service(), 3);
        settle_as_other();
        resolve_as_person();
        open_daemon();
        await(is_forgotten, "its unit is forgotten");
        record = the_record();
        cr_expect_eq(record->state, RUN_SUCCEEDED);
        cr_expect_str_eq(record->why, "resolved by alice on n2: seen");
        cr_expect_str_eq(record->resolution.before, "node n1 disappeared during the run");
        cr_expect_eq(runs_count(coordinator->runs), 0);
}

/* PID 1 forgets a unit that ended well when it was told to. */
Test(remains, that_it_was_ended_is_known_without_the_unit) {
        _cleanup_(run_record_freep) RunRecord *record = NULL;

        begin_run();
        lose_session_and_process();
        settle_as_other();
        service_vanish(the_service());
        open_daemon();
        await(is_refined, "the result is written");
        record = the_record();
        cr_expect_eq(record->state, RUN_INTERRUPTED);
}

/* A read that is lost is asked for again. */
static unsigned lost;

static ServerWay lose_records(const ZkCall *call) {
        if (call->request != REQUEST_GET || !strstr(call->path, RUNS_PATH "/") || lost == 2)
                return SERVER_ANSWER;
        lost++;
        return SERVER_LOSE;
}

Test(remains, it_is_read_again_where_the_answer_was_lost) {
        begin_run();
        lose_session_and_process();
        settle_as_other();
        server.way = lose_records;
        open_daemon();
        await(is_refined, "the result is written");
        cr_expect_eq(lost, 2);
}

static ServerWay refuse_records(const ZkCall *call) {
        if (call->request != REQUEST_GET || !strstr(call->path, RUNS_PATH "/"))
                return SERVER_ANSWER;
        lost++;
        return SERVER_REFUSE;
}

static bool is_refused(void) {
        return lost > 0;
}

/* Whoever may not read it may not write it either. */
Test(remains, it_is_not_read_again_where_that_was_refused) {
        begin_run();
        lose_session_and_process();
        settle_as_other();
        server.way = refuse_records;
        server.refusal = ZK_NO_AUTH;
        open_daemon();
        await(is_refused, "it is asked for");
        serve_for(3 * USEC_PER_SEC + USEC_PER_SEC / 5);
        cr_expect_leq(lost, 2, "%u", lost); /* it is remembered, and PID 1 has it */
}

static void set_record(void (*change)(RunRecord *record)) {
        _cleanup_(run_record_freep) RunRecord *record = the_record();
        g_autofree char *text = NULL, *path = path_run(ROOT, "a", run_name);

        change(record);
        text = run_record_encode(record);
        server_set(server_node(path), text);
}

static void it_succeeded(RunRecord *record) {
        record->state = RUN_SUCCEEDED;
}

Test(remains, what_is_settled_for_good_stays_and_its_unit_is_forgotten) {
        _cleanup_(run_record_freep) RunRecord *record = NULL;

        begin_run();
        lose_session_and_process();
        settle_as_other();
        set_record(it_succeeded);
        open_daemon();
        await(is_forgotten, "the unit is forgotten");
        record = the_record();
        cr_expect_eq(record->state, RUN_SUCCEEDED);
}

static void it_was_another_boot(RunRecord *record) {
        g_free(record->boot);
        record->boot = g_strdup("11111111111111111111111111111111");
}

static void it_was_another_node(RunRecord *record) {
        g_free(record->node);
        record->node = g_strdup("n2");
}

static void expect_left_alone(void (*change)(RunRecord *record)) {
        _cleanup_(run_record_freep) RunRecord *record = NULL;

        begin_run();
        lose_session_and_process();
        settle_as_other();
        set_record(change);
        open_daemon();
        await(is_ready, "ready");
        serve_for(300 * USEC_PER_MSEC);
        record = the_record();
        cr_expect_eq(record->state, RUN_UNKNOWN);
        cr_expect_eq(the_service()->state, SERVICE_OVER);
}

Test(remains, a_run_of_another_boot_is_left_alone) {
        expect_left_alone(it_was_another_boot);
}

Test(remains, a_run_of_another_node_is_left_alone) {
        expect_left_alone(it_was_another_node);
}

#define MANY 300

static bool all_are_read(void) {
        (void)counted_reads_serve();
        return counted_reads_served() >= MANY;
}

/* A heartbeat does not wait behind all that was ended in days. */
Test(remains, very_many_are_read_a_few_at_a_time) {
        g_autofree char *path = tree_path(root, "run/ended-units"),
                        *runtime_dir = g_path_get_dirname(path);

        write_job("    every: 300d\n    exec: [/bin/true]\n");
        for (unsigned i = 0; i < MANY; i++) {
                g_autofree char *unit = g_strdup_printf("jobkeeper-a-%u-1.service", 1000000000 + i);

                ended_units_add(runtime_dir, unit, clock_monotonic(), NULL);
        }
        counted_reads_begin(RUNS_PATH);
        open_daemon();
        await(all_are_read, "they are read");
        counted_reads_end();
        cr_expect_eq(counted_reads_served(), (unsigned)MANY);
        cr_expect_eq(counted_reads_most(), (unsigned)READ_WINDOW_SIZE);
}

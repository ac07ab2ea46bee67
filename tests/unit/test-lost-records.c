/* Records of runs that somebody deleted or wrote over, in a whole daemon (daemon-fixture.h):
 * whoever may live keeps its locks, and after that the job goes on. */
#include "daemon-fixture.h"
#include "ledger.h"
#include "paths.h"
#include "runs.h"

#define ROOT "/jobkeeper"
#define JOB_PATH ROOT "/jobs/a"
#define RUNS_PATH JOB_PATH "/runs"
#define LOCK_PATH ROOT "/locks/job:a"
#define GARBAGE "]["

static char *run_name; /* of the first run, whose record is lost */

static void setup_run(void) {
        setup();
        write_job("    every: 1s\n    exec: [/bin/true]\n");
}

static void teardown_run(void) {
        g_clear_pointer(&run_name, g_free);
        teardown();
}

TestSuite(lost_records, .init = setup_run, .fini = teardown_run);

static bool has_started(void) {
        return service_newest() && service_newest()->state == SERVICE_RUNNING &&
               service_newest()->unit;
}

static Service *first_service(void) {
        return service_manager.services->pdata[0];
}

/* A run is under way, and its daemon is gone. */
static void leave_a_run(void) {
        g_autoptr(GPtrArray) runs = NULL;

        open_daemon();
        await(has_started, "a start");
        runs = runs_list(coordinator->runs);
        cr_assert_gt(runs->len, 0);
        run_name = g_strdup(((Run *)runs->pdata[0])->record->run);
        close_daemon();
}

static char *record_path(void) {
        return path_run(ROOT, "a", run_name);
}

static void damage(const char *data) {
        g_autofree char *path = record_path();

        server_set(server_node(path), data);
}

static Run *the_run(void) {
        g_autofree char *key = run_key("a", run_name);

        return runs_find(coordinator->runs, key);
}

static bool is_open(void) {
        g_autofree char *path = path_open_run(ROOT, "n1", "a", run_name);

        return server_node(path);
}

static bool is_settled(void) {
        return !is_open() && !the_run();
}

static bool is_ready(void) {
        return node_is_ready(coordinator->node);
}

static bool has_started_again(void) {
        return started->len > 1;
}

static void expect_unknown(const char *why) {
        g_autofree char *path = record_path();
        const char *data = server_data(path);
        _cleanup_(run_record_freep) RunRecord *record = NULL;
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        cr_assert_eq(run_record_decode(data, strlen(data), &record), 0, "%s", data);
        cr_expect_eq(record->state, RUN_UNKNOWN);
        cr_expect_str_eq(record->why, why);
        data = server_data(JOB_PATH);
        cr_assert_eq(ledger_decode(data, strlen(data), &ledger), 0);
        cr_expect_null(ledger_find_run(ledger, run_name));
        cr_expect_str_eq(ledger->last->run, run_name);
        cr_expect_neq(ledger->last->claimed, 0);
}

static void expect_kept(const char *data) {
        g_autofree char *path = path_damaged(ROOT, "a", run_name);

        cr_expect_str_eq(server_data(path), data);
}

/* ---- tests ---- */

Test(lost_records, a_damaged_one_keeps_its_lock_while_its_unit_lives_and_then_goes) {
        leave_a_run();
        damage(GARBAGE);
        open_daemon_again();
        await(is_ready, "ready");
        serve_for(2 * USEC_PER_SEC);
        cr_expect(is_open());
        cr_expect_eq(server_count(LOCK_PATH), 1, "its contender stands");
        cr_expect_eq(started->len, 1);
        cr_expect_eq(first_service()->stops, 0);
        service_exit(first_service(), 0);
        await(is_settled, "it is settled");
        expect_unknown("its record in ZooKeeper was damaged");
        expect_kept(GARBAGE);
        await(has_started_again, "the job runs again");
}

Test(lost_records, a_damaged_one_whose_unit_is_gone_goes_at_once) {
        leave_a_run();
        service_exit(first_service(), 0);
        damage(GARBAGE);
        open_daemon_again();
        await(has_started_again, "the job runs again");
        cr_expect(is_settled());
        expect_unknown("its record in ZooKeeper was damaged");
}

/* One of another run is none of this one's. */
Test(lost_records, that_of_another_run_is_as_good_as_damaged) {
        static const char other[] = "{\"run\":\"10-1\",\"job\":\"a\",\"state\":\"claimed\"}";

        leave_a_run();
        service_exit(first_service(), 0);
        damage(other);
        open_daemon_again();
        await(has_started_again, "the job runs again");
        expect_unknown("its record in ZooKeeper was damaged");
        expect_kept(other);
}

Test(lost_records, a_deleted_one_is_made_again) {
        g_autofree char *path = NULL;

        leave_a_run();
        path = record_path();
        service_exit(first_service(), 0);
        server_remove(path);
        open_daemon_again();
        await(has_started_again, "the job runs again");
        expect_unknown("its record was deleted from ZooKeeper");
}

/* Its daemon knows how it ends. */
Test(lost_records, what_is_damaged_under_its_daemon_is_written_anew) {
        g_autofree char *path = NULL;

        open_daemon();
        await(has_started, "a start");
        run_name = g_strdup(strchr(first_service()->name, '-') + strlen("-a-"));
        *strrchr(run_name, '.') = '\0';
        damage(GARBAGE);
        service_exit(first_service(), 3);
        await(is_settled, "it is settled");
        path = record_path();
        cr_expect_not_null(strstr(server_data(path), "\"failed\""), "%s", server_data(path));
        expect_kept(GARBAGE);
        await(has_started_again, "the job runs again");
}

static bool has_started_another(void) {
        return service_manager.services->len > 1;
}

/* Return: the tick of the run that is its. */
static int64_t tick_of(const Service *service) {
        const char *number = service->name + strlen("jobkeeper-a-");

        return g_ascii_strtoll(number, NULL, 10);
}

/* Nobody looks for it otherwise before the next session. */
Test(lost_records, the_directory_of_all_is_made_again_and_no_tick_is_lost) {
        write_job("    every: 3s\n    exec: [/bin/true]\n");
        open_daemon();
        await(has_started, "a start");
        service_exit(first_service(), 0);
        await_quiet();
        server_remove(RUNS_PATH);
        await(has_started_another, "the job goes on");
        cr_expect_eq(tick_of(service_newest()), tick_of(first_service()) + 3);
        cr_expect_not_null(server_node(RUNS_PATH));
}

/* ---- the session is lost while they are read ---- */

static bool is_kept(void) {
        return g_queue_get_length(&server.kept) > 0;
}

static ServerWay keep_records(const ZkCall *call) {
        return call->request == REQUEST_GET && strstr(call->path, RUNS_PATH "/") ? SERVER_KEEP
                                                                                 : SERVER_ANSWER;
}

/* What it was asked for in the old session is of no use in the new one. */
Test(lost_records, a_session_that_is_lost_while_records_are_read_begins_anew) {
        leave_a_run();
        server.way = keep_records;
        open_daemon_again();
        await(is_kept, "its record is read");
        server.way = NULL;
        server_expire(last_session);
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_CONNECTED);
        server_release();
        cr_expect_null(the_run(), "nothing follows from an answer to what is over");
        await(is_settled, "it is settled");
        cr_expect_not(service_is_alive(first_service()));
        await(has_started_again, "the job runs again");
}

/* What is said on the bus of runs: Next, Run and WaitRun, in a whole daemon
 * (bus-fixture.h), and from a door of the test's own where the daemon's would take too long. */
#include "answer-history.h"
#include "answer-runs.h"

#include "answer-request.h"

#include "bus-fixture.h"
#include "digest-memory.h"
#include "ledger-change.h"
#include "paths.h"
#include "run-record.h"
#include "spread.h"
#include "tree.h"

#define ROOT "/jobkeeper"
#define LEDGER ROOT "/jobs/a"
#define RUNS LEDGER "/runs"
#define REQUESTS ROOT "/requests"

TestSuite(answer_runs, .init = setup_bus, .fini = teardown_bus);

static void ask_root(const char *method, const char *job) {
        ask_as(bus, BUS_NAME_ROOT, method, "s", job);
}

static void suspend(void) {
        port_tell(ports->pdata[0], ZK_STATE_SUSPENDED);
}

static bool is_kept(void) {
        return g_queue_get_length(&server.kept) == 1;
}

static bool has_started(void) {
        return service_newest() && service_is_alive(service_newest());
}

/* The others took this node for dead while its run went on. */
Test(answer_runs, what_others_settled_is_as_they_say) {
        g_autoptr(GPtrArray) runs = NULL;
        g_autofree char *path = NULL, *data = NULL;
        const char *run = NULL;

        write_job("    every: 1s\n    exec: [/bin/true]\n    overlap: skip\n");
        open_daemon();
        await(has_started, "it runs");
        await_daemon_on_bus();
        runs = runs_list(coordinator->runs);
        run = ((const Run *)runs->pdata[0])->record->run;
        path = g_strconcat(RUNS "/", run, NULL);
        data = g_strdup_printf("{\"run\":\"%s\",\"job\":\"a\",\"state\":\"unknown\"}", run);
        server_set(server_node(path), data);
        ask("WaitRun", "ss", "a", run);
        expect_said("\"state\":\"unknown\"");
}

static ServerWay refuse_creates(const ZkCall *call) {
        return call->request == REQUEST_CREATE ? SERVER_REFUSE : SERVER_ANSWER;
}

static bool is_refused(void) {
        return *tree_fault(coordinator->tree);
}

/* There is a session, and it is of no use. */
Test(answer_runs, that_zookeeper_refuses_this_node_is_said) {
        open_hourly_on_bus();
        server.way = refuse_creates;
        server.refusal = ZK_NO_AUTH;
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_CONNECTED);
        await(is_refused, "a fault");
        ask_root("Run", "a");
        expect_said(BUS_ERROR_NOT_CONNECTED
                    ": this node cannot work with ZooKeeper: /jobkeeper: no "
                    "permission to create nodes there; if it was made by");
}

/* ---- next ---- */

Test(answer_runs, next_of_a_job_without_a_schedule_has_no_ticks) {
        write_job("    exec: [/bin/true]\n");
        open_daemon_on_bus();
        ask("Next", "su", "a", 10U);
        expect_said("{\"job\":\"a\",\"schedule\":null,\"ticks\":[]}");
}

Test(answer_runs, next_ends_with_the_schedule) {
        write_job("    schedule: \"2099-01-01 12:00\"\n    exec: [/bin/true]\n");
        open_daemon_on_bus();
        ask("Next", "su", "a", 10U);
        expect_said("\"ticks\":[4070952000]}");
        ask("Next", "su", "a", 0U);
        expect_said("\"ticks\":[]}");
}

/* Also those that only another job's definition has. */
Test(answer_runs, next_has_the_links_of_a_job) {
        write_job("    exec: [/bin/true]\n    on-failure: d\n    after: {job: c, on: any}\n"
                  "  b: {exec: [/bin/true], after: {job: a}}\n  c: {exec: [/bin/true]}\n  d: "
                  "{exec: [/bin/true]}\n  e: {exec: [/bin/true], after: {all: [c, d]}}\n");
        open_daemon_on_bus();
        ask("Next", "su", "e", 1U);
        expect_said("\"all\":true");
        ask("Next", "su", "a", 1U);
        expect_said("\"links\":{\"after\":[{\"job\":\"c\",\"on\":\"any\"}],\"all\":false,"
                    "\"followers\":[\"b\"],"
                    "\"on_failure\":\"d\",\"on_recovery\":null,\"serves\":[]}");
        ask("Next", "su", "d", 1U);
        expect_said("\"serves\":[{\"job\":\"a\",\"on\":\"on-failure\"}]");
        ask("Next", "su", "b", 1U);
        expect_said("\"links\":{\"after\":[{\"job\":\"a\",\"on\":\"success\"}],\"all\":false,"
                    "\"followers\":[]");
}

/* Those of "a": 7200 + 213, ... */
Test(answer_runs, next_has_the_starts_that_are_delayed) {
        const json_t *starts = NULL, *ticks = NULL;
        json_t *answer = NULL;

        write_job("    every: 2h\n    random-delay: 10min\n    exec: [/bin/true]\n");
        open_daemon_on_bus();
        ask("Next", "su", "a", 20U);
        answer = expect_json();
        cr_expect_str_eq(json_string_value(json_object_get(answer, "schedule")),
                         "every 2h\nrandom-delay 10min");
        starts = json_object_get(answer, "starts");
        ticks = json_object_get(answer, "ticks");
        cr_assert_eq(json_array_size(starts), 20U);
        cr_assert_eq(json_array_size(ticks), 20U);
        for (size_t i = 0; i < 20; i++) {
                int64_t tick = json_integer_value(json_array_get(ticks, i));

                cr_expect_eq(json_integer_value(json_array_get(starts, i)),
                             tick + spread_of("a", tick, 600));
        }
        json_decref(answer);
}

Test(answer_runs, next_has_a_thousand_ticks_at_most) {
        json_t *answer = NULL;

        open_hourly_on_bus();
        ask("Next", "su", "a", 100000U);
        answer = expect_json();
        cr_expect_eq(json_array_size(json_object_get(answer, "ticks")), 1000U);
        json_decref(answer);
}

Test(answer_runs, next_of_no_job_is_an_error) {
        open_hourly_on_bus();
        ask("Next", "su", "b", 1U);
        expect_said(BUS_ERROR_NO_SUCH_JOB ": there is no job \"b\" on this node");
}

static void next_of_each(const char *more) {
        g_autofree char *job =
            g_strconcat("    every: 1h\n    exec: [/bin/true]\n    mode: each-node\n", more, NULL);

        write_job_named("r", job);
        open_hourly_on_bus();
        ask("Next", "su", "r", 1U);
}

/* They have the same ticks. */
Test(answer_runs, next_of_what_each_node_runs_is_that_of_this_one) {
        next_of_each("");
        expect_said("\"job\":\"r@n1\"");
}

Test(answer_runs, next_of_what_other_nodes_run_is_for_them) {
        next_of_each("    nodes: [n7]\n");
        expect_said(BUS_ERROR_JOB_ELSEWHERE ": job \"r\" does not run on this node");
}

static ServerWay keep_reads(const ZkCall *call) {
        return call->request == REQUEST_GET ? SERVER_KEEP : SERVER_ANSWER;
}

Test(answer_runs, next_does_not_wait_long_for_zookeeper) {
        open_hourly_on_bus();
        server.way = keep_reads;
        ask("Next", "su", "a", 1U);
        await(is_kept, "the ledger is read");
        expect_said("\"schedule\":\"every 1h\"");
        server_release();
        server.way = NULL;
        suspend();
        ask("Next", "su", "a", 1U);
        expect_said("\"schedule\":\"every 1h\"");
}

static bool is_agreed(void) {
        return digest_memory_get(coordinator->digests, "a");
}

/* Another node's file has changed, and its job is due in an hour. */
Test(answer_runs, next_says_that_another_definition_is_in_force) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        g_autofree char *data = NULL;

        open_hourly_on_bus();
        await(is_agreed, "our definition is in force");
        await_quiet();
        ask("Next", "su", "a", 0U);
        expect_said("\"ticks\":[]}");
        cr_assert_eq(ledger_decode(server_data(LEDGER), strlen(server_data(LEDGER)), &ledger), 0);
        ledger_adopt_digest(ledger, "other", (int64_t)(clock_realtime() / USEC_PER_SEC));
        data = ledger_encode(ledger);
        server_set(server_node(LEDGER), data);
        ask("Next", "su", "a", 0U);
        expect_said("\"drifted\":true");
}

/* ---- run ---- */

static ServerWay request_way;

static ServerWay by_request_way(const ZkCall *call) {
        return call->request == REQUEST_CREATE && g_str_has_prefix(call->path, REQUESTS)
                   ? request_way
                   : SERVER_ANSWER;
}

static void requests_go(ServerWay way) {
        request_way = way;
        server.way = by_request_way;
}

Test(answer_runs, a_request_whose_answer_is_lost_may_still_be_run) {
        open_hourly_on_bus();
        requests_go(SERVER_LOSE_ANSWER);
        ask_root("Run", "a");
        expect_said(BUS_ERROR_FAILED ": no reply from ZooKeeper: the run may still take place");
        await(has_started, "it does");
}

Test(answer_runs, a_request_that_is_refused_is_not_run) {
        open_hourly_on_bus();
        server.refusal = ZK_NO_AUTH;
        requests_go(SERVER_REFUSE);
        ask_root("Run", "a");
        expect_said(BUS_ERROR_FAILED ": the request could not be written");
        serve_for(USEC_PER_SEC / 5);
        cr_expect_eq(started->len, 0U);
}

/* The server may have taken it before the session ended, and it stands there for any node. */
Test(answer_runs, a_request_on_its_way_when_the_session_ends_may_still_be_run) {
        open_hourly_on_bus();
        requests_go(SERVER_KEEP);
        ask_root("Run", "a");
        await(is_kept, "it is on its way");
        port_reply(g_queue_pop_head(&server.kept), (ZkReply){.code = ZK_CLOSED});
        expect_said(BUS_ERROR_FAILED ": no reply from ZooKeeper: the run may still take place");
}

Test(answer_runs, a_run_is_asked_for_though_its_caller_leaves) {
        sd_bus *other = NULL;

        open_hourly_on_bus();
        other = another_caller();
        requests_go(SERVER_KEEP);
        ask_as(other, BUS_NAME_ROOT, "Run", "s", "a");
        await(is_kept, "it is on its way");
        sd_bus_flush_close_unref(other);
        serve_for(USEC_PER_SEC / 10);
        server_release();
        await(has_started, "it runs");
        cr_expect_null(said);
}

Test(answer_runs, a_run_needs_a_session) {
        open_hourly_on_bus();
        suspend();
        ask_root("Run", "a");
        expect_said(BUS_ERROR_NOT_CONNECTED ": no ZooKeeper session");
        cr_expect_eq(server_count(REQUESTS), 0U);
}

/* ---- waiting for a run ---- */

Test(answer_runs, what_is_final_is_said_at_once) {
        open_hourly_on_bus();
        record_stands("a", "1000000010-1", ",\"state\":\"failed\",\"exit\":3");
        ask("WaitRun", "ss", "a", "1000000010-1");
        expect_said("\"state\":\"failed\"");
        cr_expect_not_null(strstr(said, "\"exit\":3"), "%s", said);
}

Test(answer_runs, nothing_is_waited_for_of_no_job) {
        open_hourly_on_bus();
        ask("WaitRun", "ss", "b", "1000000010-1");
        expect_said(BUS_ERROR_NO_SUCH_JOB ": there is no job \"b\" on this node");
}

/* With the last session, and with the next. */
Test(answer_runs, a_run_is_waited_for_over_the_end_of_a_session) {
        open_hourly_on_bus();
        record_stands("a", "1000000010-m1", ",\"state\":\"claimed\"");
        ask("WaitRun", "ss", "a", "1000000010-m1");
        serve_for(USEC_PER_SEC / 10);
        server_expire(last_session);
        server_forget_watches();
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        serve_for(USEC_PER_SEC);
        cr_expect_null(said, "%s", said);
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_CONNECTED);
        serve_for(USEC_PER_SEC);
        cr_expect_null(said, "%s", said);
        server_set(server_node(RUNS "/1000000010-m1"),
                   "{\"run\":\"1000000010-m1\",\"job\":\"a\",\"state\":\"succeeded\"}");
        expect_said("\"state\":\"succeeded\"");
}

Test(answer_runs, a_run_is_waited_for_while_its_record_cannot_be_read) {
        open_hourly_on_bus();
        record_stands("a", "1000000010-m1", ",\"state\":\"succeeded\"");
        server.broken = RUNS "/1000000010-m1";
        ask("WaitRun", "ss", "a", "1000000010-m1");
        serve_for(USEC_PER_SEC);
        cr_expect_null(said, "%s", said);
        server.broken = NULL;
        expect_said("\"state\":\"succeeded\"");
}

/* ---- a door of the test's own ---- */

#define DOOR "org.jobkeeper.Test"

static sd_bus *door;
static Answers *answers;
static View view;
static int request_result;
static unsigned n_requested;
static RequestCall *forgotten;

static const JobSpec *view_job(const void *userdata, const char *name) {
        (void)userdata;
        return jobset_find(view.jobset, name);
}

static bool view_has_candidate(const void *userdata, const JobSpec *spec) {
        (void)userdata;
        (void)spec;
        return true;
}

static bool view_none_is_shut(const void *userdata, const JobSpec *spec) {
        (void)userdata;
        (void)spec;
        return false;
}

static int view_request(void *userdata, const Requested *wish, ViewRequestFunc func,
                        void *func_userdata, RequestCall **ret_call) {
        (void)userdata;
        (void)wish;
        (void)func;
        (void)func_userdata;
        n_requested++;
        if (request_result == 0)
                *ret_call = (RequestCall *)&request_result;
        return request_result;
}

static RequestCall *view_forget_request(RequestCall *call) {
        forgotten = call;
        return NULL;
}

static const ViewCalls view_calls = {
    .job = view_job,
    .has_candidate = view_has_candidate,
    .all_drained = view_none_is_shut,
    .all_shut = view_none_is_shut,
    .request = view_request,
    .forget_request = view_forget_request,
};

static int on_run(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        (void)userdata;
        return answer_run(answers, message, error);
}

static int on_history(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        (void)userdata;
        return answer_history(answers, message, error);
}

static int on_wait_run(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        (void)userdata;
        return answer_wait_run(answers, message, error);
}

static const sd_bus_vtable door_vtable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD("Run", "s", "s", on_run, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("History", "su", "s", on_history, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("WaitRun", "ss", "s", on_wait_run, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};

static void open_door(void) {
        view = (View){
            .node = coordinator->node,
            .jobset = coordinator->jobset,
            .tree = coordinator->tree,
            .runs = coordinator->runs,
            .request_lifetime = USEC_PER_SEC,
            .calls = &view_calls,
        };
        answers = answers_new(&view, false);
        door = another_caller();
        cr_assert_geq(
            sd_bus_add_object_vtable(door, NULL, BUS_PATH, BUS_INTERFACE, door_vtable, NULL), 0);
        cr_assert_geq(sd_bus_request_name(door, DOOR, 0), 0);
}

static void close_door(void) {
        answers = answers_free(answers);
        door = sd_bus_flush_close_unref(door);
}

/* Return: the only one that waits. */
static Answer *the_answer(void) {
        GHashTableIter iterator;
        gpointer answer = NULL;

        cr_assert_eq(g_hash_table_size(answers->set), 1U);
        g_hash_table_iter_init(&iterator, answers->set);
        (void)g_hash_table_iter_next(&iterator, &answer, NULL);
        return answer;
}

static bool does_one_wait(void) {
        return g_hash_table_size(answers->set) == 1;
}

static void wait_for_m1(void) {
        ask_as(bus, DOOR, "WaitRun", "ss", "a", "1000000010-m1");
        await(does_one_wait, "the question");
}

static bool is_requested(void) {
        return n_requested > 0;
}

static void a_minute_passes(void) {
        the_answer()->since = usec_sub(clock_monotonic(), USEC_PER_MINUTE);
}

Test(answer_runs, a_request_that_nobody_took_is_skipped) {
        open_hourly_on_bus();
        open_door();
        wait_for_m1();
        serve_for(USEC_PER_SEC);
        cr_expect_null(said, "there is time yet");
        a_minute_passes();
        expect_said("\"state\":\"skipped\"");
        cr_expect_not_null(strstr(said, "\"run\":\"1000000010-m1\""), "%s", said);
        cr_expect_not_null(strstr(said, "\"why\":\"no node took the request in time\""), "%s",
                           said);
        close_door();
}

static bool is_read_again(void) {
        return server.reads >= 3;
}

/* It may run for as long as it takes. */
Test(answer_runs, a_run_that_is_claimed_is_waited_for_however_long) {
        open_hourly_on_bus();
        record_stands("a", "1000000010-m1", ",\"state\":\"claimed\"");
        open_door();
        wait_for_m1();
        a_minute_passes();
        server.reads = 0;
        await(is_read_again, "it is looked at");
        cr_expect_null(said, "%s", said);
        /* Its record is gone; that it was there counts from when it was seen last. */
        server_remove(RUNS "/1000000010-m1");
        server.reads = 0;
        await(is_read_again, "it is looked at");
        cr_expect_null(said, "%s", said);
        a_minute_passes();
        expect_said("\"state\":\"skipped\"");
        close_door();
}

Test(answer_runs, whether_a_run_is_there_is_not_known_while_nothing_is_read) {
        open_hourly_on_bus();
        open_door();
        server.broken = RUNS "/1000000010-m1";
        wait_for_m1();
        a_minute_passes();
        server.reads = 0;
        await(is_read_again, "it is looked at");
        cr_expect_null(said, "%s", said);
        close_door();
}

Test(answer_runs, a_session_that_ends_before_the_request_is_written_is_said) {
        open_hourly_on_bus();
        open_door();
        request_result = -ENOTCONN;
        ask_as(bus, DOOR, "Run", "s", "a");
        expect_said(BUS_ERROR_NOT_CONNECTED ": no ZooKeeper session");
        cr_expect_eq(g_hash_table_size(answers->set), 0U);
        close_door();
}

static bool is_forgotten(void) {
        return forgotten;
}

Test(answer_runs, who_leaves_is_not_told_of_the_request) {
        sd_bus *other = NULL;

        open_hourly_on_bus();
        open_door();
        other = another_caller();
        ask_as(other, DOOR, "Run", "s", "a");
        await(is_requested, "it is asked for");
        cr_expect_null(forgotten);
        sd_bus_flush_close_unref(other);
        await(is_forgotten, "its caller has left");
        cr_expect_eq(g_hash_table_size(answers->set), 0U);
        close_door();
}

static ServerWay keep_lists(const ZkCall *call) {
        return call->request == REQUEST_LIST ? SERVER_KEEP : SERVER_ANSWER;
}

static void its_time_is_over(void) {
        cr_assert_geq(sd_event_source_set_time_relative(the_answer()->timeout, 0), 0);
}

Test(answer_runs, who_asks_what_zookeeper_does_not_answer_is_told_so) {
        open_hourly_on_bus();
        open_door();
        server.way = keep_lists;
        ask_as(bus, DOOR, "History", "su", "a", 0U);
        await(is_kept, "it is being read");
        its_time_is_over();
        expect_said(BUS_ERROR_NOT_CONNECTED ": ZooKeeper did not answer in time");
        cr_expect(g_str_has_suffix(said, "in time"), "%s", said);
        server_release(); /* which nobody waits for any more */
        cr_expect_eq(g_hash_table_size(answers->set), 0U);
        ask_as(bus, DOOR, "Run", "s", "a");
        await(is_requested, "it is asked for");
        its_time_is_over();
        expect_said(BUS_ERROR_NOT_CONNECTED
                    ": ZooKeeper did not answer in time: the run may still take place");
        cr_expect_not_null(forgotten);
        close_door();
}

Test(answer_runs, whoever_waits_for_a_run_has_all_the_time) {
        open_hourly_on_bus();
        open_door();
        wait_for_m1();
        cr_expect_null(the_answer()->timeout);
        close_door();
}

/* The daemon is being stopped. */
Test(answer_runs, who_still_waits_at_the_end_is_told) {
        open_hourly_on_bus();
        open_door();
        wait_for_m1();
        answers_drop(answers);
        expect_said(BUS_ERROR_FAILED ": jobkeeperd is stopping");
        close_door();
}

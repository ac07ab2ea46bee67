/* What is said on the bus of runs: History, Next, Run and WaitRun, in a whole daemon
 * (bus-fixture.h), and from a door of the test's own where the daemon's would take too long. */
#include "answer-history.h"
#include "answer-runs.h"

#include "answer-request.h"

#include "bus-fixture.h"
#include "digest-memory.h"
#include "ledger.h"
#include "paths.h"
#include "run-record.h"
#include "spread.h"
#include "tree.h"

#define ROOT "/jobkeeper"
#define LEDGER ROOT "/jobs/a"
#define RUNS LEDGER "/runs"
#define REQUESTS ROOT "/requests"

TestSuite(answer_runs, .init = setup_bus, .fini = teardown_bus);

static void begin(void) {
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon_on_bus();
}

/* A record, with more members than it needs. */
static void record_is(const char *run, const char *more) {
        g_autofree char *path = g_strconcat(RUNS "/", run, NULL),
                        *data = g_strdup_printf("{\"run\":\"%s\",\"job\":\"a\"%s}", run, more);

        server_create(path, data, 0);
}

static void ask_root(const char *method, const char *job) {
        ask_as(bus, BUS_NAME_ROOT, method, "s", job);
}

static void suspend(void) {
        port_tell(ports->pdata[0], ZK_STATE_SUSPENDED);
}

static bool is_kept(void) {
        return g_queue_get_length(&server.kept) == 1;
}

/* ---- history ---- */

/* Return: the runs of an answer, as "RUN RUN"; newly allocated. */
static char *runs_said_of(const char *job) {
        json_t *answer = expect_json();
        const json_t *run;
        GString *text = g_string_new(NULL);
        size_t i;

        cr_expect_str_eq(json_string_value(json_object_get(answer, "job")), job);
        json_array_foreach(json_object_get(answer, "runs"), i, run) g_string_append_printf(
            text, "%s%s", i ? " " : "", json_string_value(json_object_get(run, "run")));
        json_decref(answer);
        return g_string_free(text, FALSE);
}

static char *runs_said(void) {
        return runs_said_of("a");
}

static void begin_each(const char *more) {
        g_autofree char *job =
            g_strconcat("    every: 1h\n    exec: [/bin/true]\n    mode: each-node\n", more, NULL);

        write_job_named("r", job);
        begin();
}

static void record_of(const char *job, const char *run) {
        g_autofree char *path = g_strconcat(ROOT "/jobs/", job, "/runs/", run, NULL),
                        *data = g_strdup_printf("{\"run\":\"%s\",\"job\":\"%s\",\"state\":"
                                                "\"failed\"}",
                                                run, job);

        server_create(path, data, 0);
}

static ServerWay refuse_lists(const ZkCall *call) {
        return call->request == REQUEST_LIST ? SERVER_LOSE : SERVER_ANSWER;
}

static void expect_runs(unsigned limit, const char *expected) {
        g_autofree char *text = NULL;

        ask("History", "su", "a", limit);
        text = runs_said();
        cr_expect_str_eq(text, expected);
}

Test(answer_runs, history_is_newest_first_and_of_as_many_as_were_asked_for) {
        begin();
        expect_runs(0, "");
        record_is("1000000010-1", ",\"state\":\"succeeded\"");
        record_is("1000000030-mabc", ",\"state\":\"failed\"");
        record_is("1000000020-0", ",\"state\":\"skipped\"");
        expect_runs(0, "1000000030-mabc 1000000020-0 1000000010-1");
        expect_runs(2, "1000000030-mabc 1000000020-0");
        expect_runs(1, "1000000030-mabc");
        expect_runs(5000, "1000000030-mabc 1000000020-0 1000000010-1");
}

Test(answer_runs, the_tenth_attempt_follows_the_ninth) {
        begin();
        for (unsigned attempt = 0; attempt <= 12; attempt++) {
                g_autofree char *run = g_strdup_printf("1000000010-%u", attempt);
                record_is(run, ",\"state\":\"failed\"");
        }
        expect_runs(3, "1000000010-0 1000000010-12 1000000010-11");
}

static ServerWay keep_30(const ZkCall *call) {
        return call->request == REQUEST_GET && g_str_equal(call->path, RUNS "/1000000030-1")
                   ? SERVER_KEEP
                   : SERVER_ANSWER;
}

Test(answer_runs, history_is_newest_first_in_whatever_order_it_is_read) {
        g_autofree char *text = NULL;

        begin();
        record_is("1000000020-1", ",\"state\":\"failed\"");
        record_is("1000000030-1", ",\"state\":\"succeeded\"");
        server.way = keep_30;
        ask("History", "su", "a", 0U);
        await(is_kept, "it is being read");
        cr_expect_null(said);
        server_release();
        text = runs_said();
        cr_expect_str_eq(text, "1000000030-1 1000000020-1");
}

/* A job of mode each-node has a history a node, and one of all that are there or have run it. */
Test(answer_runs, history_of_what_each_node_runs) {
        g_autofree char *text = NULL, *fewer = NULL, *none = NULL;

        begin_each("");
        ask("History", "su", "r", 0U);
        none = runs_said_of("r");
        cr_expect_str_eq(none, "");
        server_create(ROOT "/jobs/r@n7", "", 0);
        server_create(ROOT "/jobs/r@n7/runs", "", 0);
        server_create(ROOT "/jobs/r@n8", "", 0);
        server_create(ROOT "/jobs/r@n8/runs", "", 0);
        record_of("r@n1", "1000000010-1");
        record_of("r@n7", "1000000030-1");
        record_of("r@n7", "1000000020-1");
        record_of("r@n8", "1000000040-1");
        record_of("r@n7", "no run");
        ask("History", "su", "r", 0U);
        text = runs_said_of("r");
        cr_expect_str_eq(text, "1000000040-1 1000000030-1 1000000020-1 1000000010-1");
        ask("History", "su", "r", 2U);
        fewer = runs_said_of("r");
        cr_expect_str_eq(fewer, "1000000040-1 1000000030-1");
        server_write(ROOT "/jobs/r@n7/runs/1000000020-1", "][");
        ask("History", "su", "r", 0U);
        expect_said("{\"run\":\"1000000020-1\",\"job\":\"r@n7\"");
        expect_said("its record in ZooKeeper cannot be read");
}

Test(answer_runs, history_of_what_each_node_runs_that_cannot_be_read) {
        begin_each("");
        server.way = refuse_lists;
        ask("History", "su", "r", 0U);
        expect_said("the connection to ZooKeeper was lost while reading the history");
}

/* They have the same ticks. */
Test(answer_runs, next_of_what_each_node_runs_is_that_of_this_one) {
        begin_each("");
        ask("Next", "su", "r", 1U);
        expect_said("\"job\":\"r@n1\"");
}

Test(answer_runs, next_of_what_other_nodes_run_is_for_them) {
        begin_each("    nodes: [n7]\n");
        ask("Next", "su", "r", 1U);
        expect_said("of mode each-node");
}

Test(answer_runs, history_has_a_thousand_runs_at_most) {
        json_t *answer = NULL;
        const json_t *runs = NULL;

        begin();
        for (unsigned i = 0; i < 1003; i++) {
                g_autofree char *run = g_strdup_printf("%u-1", 1000000000 + i);
                record_is(run, ",\"state\":\"succeeded\"");
        }
        for (unsigned limit = 0; limit <= 2000; limit += 2000) {
                ask("History", "su", "a", limit);
                answer = expect_json();
                runs = json_object_get(answer, "runs");
                cr_assert_eq(json_array_size(runs), 1000U);
                cr_expect_str_eq(json_string_value(json_object_get(json_array_get(runs, 0), "run")),
                                 "1000001002-1");
                cr_expect_str_eq(
                    json_string_value(json_object_get(json_array_get(runs, 999), "run")),
                    "1000000003-1");
                json_decref(answer);
        }
}

/* Somebody wrote much into them. */
Test(answer_runs, a_history_that_would_be_too_long_is_refused) {
        g_autofree char *why = g_strnfill(60000, 'w'),
                        *more = g_strdup_printf(",\"state\":\"failed\",\"why\":\"%s\"", why);

        begin();
        for (unsigned i = 0; i < 300; i++) {
                g_autofree char *run = g_strdup_printf("%u-1", 1000000000 + i);
                record_is(run, more);
        }
        ask("History", "su", "a", 0U);
        await(is_said, "an answer");
        cr_assert_lt(strlen(said), 400U);
        expect_said("the answer would be too long: ask for fewer runs");
        ask("History", "su", "a", 100U);
        await(is_said, "an answer");
        cr_expect_gt(strlen(said), 100 * strlen(why));
}

Test(answer_runs, history_shows_all_that_stands_in_a_record_but_the_nonce) {
        json_t *answer = NULL, *run = NULL;

        begin();
        record_is("1000000010-2",
                  ",\"tick\":1000000010,\"attempt\":2,\"state\":\"failed\",\"why\":\"exit status "
                  "3\",\"exit\":3,\"node\":\"n2\",\"boot\":\"b\",\"nonce\":\"secret\",\"unit\":"
                  "\"jobkeeper-a-1000000010-2.service\",\"claimed\":1000000011.5,\"started\":"
                  "1000000012,\"ended\":1000000013,\"who\":\"uid 0\"");
        server_node(RUNS "/1000000010-2")->stat.czxid = 4711;
        ask("History", "su", "a", 0U);
        answer = expect_json();
        cr_expect_null(strstr(said, "secret"), "%s", said);
        run = json_array_get(json_object_get(answer, "runs"), 0);
        cr_expect_eq(json_integer_value(json_object_get(run, "tick")), 1000000010);
        cr_expect_eq(json_integer_value(json_object_get(run, "attempt")), 2);
        cr_expect_str_eq(json_string_value(json_object_get(run, "state")), "failed");
        cr_expect_str_eq(json_string_value(json_object_get(run, "why")), "exit status 3");
        cr_expect_eq(json_integer_value(json_object_get(run, "exit")), 3);
        cr_expect_str_eq(json_string_value(json_object_get(run, "node")), "n2");
        cr_expect_eq(json_number_value(json_object_get(run, "claimed")), 1000000011.5);
        cr_expect_eq(json_integer_value(json_object_get(run, "token")), 4711);
        cr_expect_str_eq(json_string_value(json_object_get(run, "who")), "uid 0");
        json_decref(answer);
}

static ServerWay prune_20(const ZkCall *call) {
        if (call->request == REQUEST_GET && g_str_equal(call->path, RUNS "/1000000020-1"))
                server_remove(call->path);
        return SERVER_ANSWER;
}

Test(answer_runs, what_is_pruned_while_history_is_read_is_left_out) {
        begin();
        record_is("1000000010-1", ",\"state\":\"succeeded\"");
        record_is("1000000020-1", ",\"state\":\"succeeded\"");
        server.way = prune_20;
        expect_runs(0, "1000000010-1");
}

static bool has_started(void) {
        return service_newest() && service_is_alive(service_newest());
}

Test(answer_runs, what_runs_here_is_running) {
        write_job("    every: 1s\n    exec: [/bin/true]\n    overlap: skip\n");
        open_daemon();
        await(has_started, "it runs");
        await_daemon_on_bus();
        ask("History", "su", "a", 0U);
        expect_said("\"state\":\"running\"");
        cr_expect_not_null(strstr(said, "\"unit\":\"jobkeeper-a-"), "%s", said);
        cr_expect_not_null(strstr(said, "\"started\":"), "%s", said);
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

static unsigned strange_paths;

static ServerWay count_strange_paths(const ZkCall *call) {
        strange_paths += strstr(call->path, "..") != NULL;
        return SERVER_ANSWER;
}

Test(answer_runs, history_of_what_is_no_name_is_of_no_job) {
        begin();
        server.way = count_strange_paths;
        ask("History", "su", "../a", 0U);
        expect_said(BUS_ERROR_NO_SUCH_JOB ": there is no job \"../a\" on this node");
        cr_expect_eq(strange_paths, 0U, "it is no part of a path");
}

Test(answer_runs, history_says_under_which_other_names_there_is_more) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(0, "");
        g_autofree char *data = NULL;

        begin();
        ledger_leave(ledger, "next", 0);
        ledger->was = g_strdup("before");
        data = ledger_encode(ledger);
        server_write("/jobkeeper/jobs/a", data);
        ask("History", "su", "a", 0U);
        expect_said("\"was\":\"before\",\"renamed\":\"next\"");
}

Test(answer_runs, history_needs_a_session) {
        begin();
        suspend();
        ask("History", "su", "a", 0U);
        expect_said(BUS_ERROR_NOT_CONNECTED ": no ZooKeeper session");
}

static bool is_faulty(void) {
        return *session_fault(coordinator->session);
}

Test(answer_runs, why_there_is_no_session_is_said) {
        begin();
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_AUTH_FAILED);
        await(is_faulty, "a fault");
        ask("History", "su", "a", 0U);
        expect_said(BUS_ERROR_NOT_CONNECTED ": no ZooKeeper session: ");
        cr_expect(g_str_has_suffix(said, session_fault(coordinator->session)), "%s", said);
}

static ServerWay refuse_creates(const ZkCall *call) {
        return call->request == REQUEST_CREATE ? SERVER_REFUSE : SERVER_ANSWER;
}

static bool is_refused(void) {
        return *tree_fault(coordinator->tree);
}

/* There is a session, and it is of no use. */
Test(answer_runs, that_zookeeper_refuses_this_node_is_said) {
        begin();
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

static ServerWay refuse_all(const ZkCall *call) {
        (void)call;
        return SERVER_REFUSE;
}

/* Somebody changed the tree's rights, and this session has not even made what it needs there. */
Test(answer_runs, that_zookeeper_refuses_this_node_is_said_of_a_history_as_well) {
        begin();
        server.way = refuse_all;
        server.refusal = ZK_NO_AUTH;
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_CONNECTED);
        await(is_refused, "a fault");
        ask("History", "su", "a", 0U);
        expect_said(BUS_ERROR_NOT_CONNECTED
                    ": this node cannot work with ZooKeeper: /jobkeeper: no permission");
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
                    "\"on_failure\":\"d\",\"on_recovery\":null}");
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

        begin();
        ask("Next", "su", "a", 100000U);
        answer = expect_json();
        cr_expect_eq(json_array_size(json_object_get(answer, "ticks")), 1000U);
        json_decref(answer);
}

Test(answer_runs, next_of_no_job_is_an_error) {
        begin();
        ask("Next", "su", "b", 1U);
        expect_said(BUS_ERROR_NO_SUCH_JOB ": there is no job \"b\" on this node");
}

static ServerWay keep_reads(const ZkCall *call) {
        return call->request == REQUEST_GET ? SERVER_KEEP : SERVER_ANSWER;
}

Test(answer_runs, next_does_not_wait_long_for_zookeeper) {
        begin();
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

        begin();
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
        begin();
        requests_go(SERVER_LOSE_ANSWER);
        ask_root("Run", "a");
        expect_said(BUS_ERROR_FAILED ": no reply from ZooKeeper: the run may still take place");
        await(has_started, "it does");
}

Test(answer_runs, a_request_that_is_refused_is_not_run) {
        begin();
        server.refusal = ZK_NO_AUTH;
        requests_go(SERVER_REFUSE);
        ask_root("Run", "a");
        expect_said(BUS_ERROR_FAILED ": the request could not be written");
        serve_for(USEC_PER_SEC / 5);
        cr_expect_eq(started->len, 0U);
}

/* The server may have taken it before the session ended, and it stands there for any node. */
Test(answer_runs, a_request_on_its_way_when_the_session_ends_may_still_be_run) {
        begin();
        requests_go(SERVER_KEEP);
        ask_root("Run", "a");
        await(is_kept, "it is on its way");
        port_reply(g_queue_pop_head(&server.kept), (ZkReply){.code = ZK_CLOSED});
        expect_said(BUS_ERROR_FAILED ": no reply from ZooKeeper: the run may still take place");
}

Test(answer_runs, a_run_is_asked_for_though_its_caller_leaves) {
        sd_bus *other = NULL;

        begin();
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
        begin();
        suspend();
        ask_root("Run", "a");
        expect_said(BUS_ERROR_NOT_CONNECTED ": no ZooKeeper session");
        cr_expect_eq(server_count(REQUESTS), 0U);
}

/* ---- waiting for a run ---- */

Test(answer_runs, what_is_final_is_said_at_once) {
        begin();
        record_is("1000000010-1", ",\"state\":\"failed\",\"exit\":3");
        ask("WaitRun", "ss", "a", "1000000010-1");
        expect_said("\"state\":\"failed\"");
        cr_expect_not_null(strstr(said, "\"exit\":3"), "%s", said);
}

Test(answer_runs, nothing_is_waited_for_of_no_job) {
        begin();
        ask("WaitRun", "ss", "b", "1000000010-1");
        expect_said(BUS_ERROR_NO_SUCH_JOB ": there is no job \"b\" on this node");
}

/* With the last session, and with the next. */
Test(answer_runs, a_run_is_waited_for_over_the_end_of_a_session) {
        begin();
        record_is("1000000010-m1", ",\"state\":\"claimed\"");
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
        begin();
        record_is("1000000010-m1", ",\"state\":\"succeeded\"");
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
        begin();
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
        begin();
        record_is("1000000010-m1", ",\"state\":\"claimed\"");
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
        begin();
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
        begin();
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

        begin();
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
        begin();
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
        begin();
        open_door();
        wait_for_m1();
        cr_expect_null(the_answer()->timeout);
        close_door();
}

/* The daemon is being stopped. */
Test(answer_runs, who_still_waits_at_the_end_is_told) {
        begin();
        open_door();
        wait_for_m1();
        answers_drop(answers);
        expect_said(BUS_ERROR_FAILED ": jobkeeperd is stopping");
        close_door();
}

/* What is said on the bus of the runs that were: History, in a whole daemon (bus-fixture.h). */
#include "answer-history.h"

#include "bus-fixture.h"
#include "ledger.h"
#include "tree.h"

#define ROOT "/jobkeeper"
#define RUNS ROOT "/jobs/a/runs"

TestSuite(answer_history, .init = setup_bus, .fini = teardown_bus);

static bool is_kept(void) {
        return g_queue_get_length(&server.kept) == 1;
}

static bool is_refused(void) {
        return *tree_fault(coordinator->tree);
}

/* Return: what the runs of an answer have there, as "RUN RUN"; newly allocated. */
static char *members_said_of(const char *job, const char *member) {
        json_t *answer = expect_json();
        const json_t *run;
        GString *text = g_string_new(NULL);
        size_t i;

        cr_expect_str_eq(json_string_value(json_object_get(answer, "job")), job);
        json_array_foreach(json_object_get(answer, "runs"), i, run) g_string_append_printf(
            text, "%s%s", i ? " " : "", json_string_value(json_object_get(run, member)));
        json_decref(answer);
        return g_string_free(text, FALSE);
}

static char *runs_said_of(const char *job) {
        return members_said_of(job, "run");
}

static char *runs_said(void) {
        return runs_said_of("a");
}

static void begin_each(const char *more) {
        g_autofree char *job =
            g_strconcat("    every: 1h\n    exec: [/bin/true]\n    mode: each-node\n", more, NULL);

        write_job_named("r", job);
        open_hourly_on_bus();
}

static ServerWay refuse_lists(const ZkCall *call) {
        return call->request == REQUEST_LIST ? SERVER_LOSE : SERVER_ANSWER;
}

static ServerWay refuse_jobs(const ZkCall *call) {
        return call->request == REQUEST_LIST && g_str_equal(call->path, ROOT "/jobs")
                   ? SERVER_LOSE
                   : SERVER_ANSWER;
}

static void expect_runs(unsigned limit, const char *expected) {
        g_autofree char *text = NULL;

        ask("History", "su", "a", limit);
        text = runs_said();
        cr_expect_str_eq(text, expected);
}

Test(answer_history, history_is_newest_first_and_of_as_many_as_were_asked_for) {
        open_hourly_on_bus();
        expect_runs(0, "");
        record_stands("a", "1000000010-1", ",\"state\":\"succeeded\"");
        record_stands("a", "1000000030-mabc", ",\"state\":\"failed\"");
        record_stands("a", "1000000020-0", ",\"state\":\"skipped\"");
        expect_runs(0, "1000000030-mabc 1000000020-0 1000000010-1");
        expect_runs(2, "1000000030-mabc 1000000020-0");
        expect_runs(1, "1000000030-mabc");
        expect_runs(5000, "1000000030-mabc 1000000020-0 1000000010-1");
}

Test(answer_history, the_tenth_attempt_follows_the_ninth) {
        open_hourly_on_bus();
        for (unsigned attempt = 0; attempt <= 12; attempt++) {
                g_autofree char *run = g_strdup_printf("1000000010-%u", attempt);
                record_stands("a", run, ",\"state\":\"failed\"");
        }
        expect_runs(3, "1000000010-0 1000000010-12 1000000010-11");
}

static ServerWay keep_30(const ZkCall *call) {
        return call->request == REQUEST_GET && g_str_equal(call->path, RUNS "/1000000030-1")
                   ? SERVER_KEEP
                   : SERVER_ANSWER;
}

Test(answer_history, history_is_newest_first_in_whatever_order_it_is_read) {
        g_autofree char *text = NULL;

        open_hourly_on_bus();
        record_stands("a", "1000000020-1", ",\"state\":\"failed\"");
        record_stands("a", "1000000030-1", ",\"state\":\"succeeded\"");
        server.way = keep_30;
        ask("History", "su", "a", 0U);
        await(is_kept, "it is being read");
        cr_expect_null(said);
        server_release();
        text = runs_said();
        cr_expect_str_eq(text, "1000000030-1 1000000020-1");
}

/* A job of mode each-node has a history a node, and one of all that are there or have run it. */
Test(answer_history, history_of_what_each_node_runs) {
        g_autofree char *text = NULL, *fewer = NULL, *none = NULL;

        begin_each("");
        ask("History", "su", "r", 0U);
        none = runs_said_of("r");
        cr_expect_str_eq(none, "");
        server_create(ROOT "/jobs/r@n7", "", 0);
        server_create(ROOT "/jobs/r@n7/runs", "", 0);
        server_create(ROOT "/jobs/r@n8", "", 0);
        server_create(ROOT "/jobs/r@n8/runs", "", 0);
        record_stands("r@n1", "1000000010-1", ",\"state\":\"failed\"");
        record_stands("r@n7", "1000000030-1", ",\"state\":\"failed\"");
        record_stands("r@n7", "1000000020-1", ",\"state\":\"failed\"");
        record_stands("r@n8", "1000000040-1", ",\"state\":\"failed\"");
        record_stands("r@n7", "no run", ",\"state\":\"failed\"");
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

static void instance_stands(const char *job, const char *run) {
        g_autofree char *path = g_strconcat(ROOT "/jobs/", job, NULL),
                        *runs = g_strconcat(path, "/runs", NULL);

        server_create(path, "", 0);
        server_create(runs, "", 0);
        if (run)
                record_stands(job, run, ",\"state\":\"failed\"");
}

/* Its records stand for a month after its file is gone, and another machine may have it still. */
Test(answer_history, history_of_what_each_node_ran_that_is_in_no_file_here) {
        g_autofree char *text = NULL, *none = NULL;

        open_hourly_on_bus();
        instance_stands("r@n7", "1000000030-1");
        instance_stands("r@n8", "1000000040-1");
        instance_stands("rr@n8", "1000000050-1");
        instance_stands("s@n8", NULL);
        ask("History", "su", "r", 0U);
        text = runs_said_of("r");
        cr_expect_str_eq(text, "1000000040-1 1000000030-1");
        ask("History", "su", "s", 0U);
        none = runs_said_of("s");
        cr_expect_str_eq(none, "");
        ask("History", "su", "t", 0U);
        expect_said(BUS_ERROR_NO_SUCH_JOB
                    ": there is no job \"t\" on this node, and no history of one");
        ask("History", "su", "t@n8", 0U);
        expect_said(BUS_ERROR_NO_SUCH_JOB
                    ": there is no job \"t@n8\" on this node, and no history of one");
        server.way = refuse_jobs;
        ask("History", "su", "t", 0U);
        expect_said("the connection to ZooKeeper was lost while reading the history");
}

/* It may be in what could not be read. */
Test(answer_history, of_a_job_that_is_not_there_it_is_said_what_was_refused) {
        write_job_named("backup", "    exec: []\n");
        open_hourly_on_bus();
        ask("History", "su", "backup", 10U);
        expect_said("there is no job \"backup\" on this node, and no history of one; it may be in "
                    "backup.yaml, refused for its errors, which \"jobkeeper status\" tells of");
}

static void expect_jobs(unsigned limit, const char *expected) {
        g_autofree char *text = NULL;

        ask("History", "su", "r", limit);
        text = members_said_of("r", "job");
        cr_expect_str_eq(text, expected, "%u: %s", limit, text);
}

/* The runs of a roll have one id: the newest is the one that was claimed last. */
Test(answer_history, of_one_tick_on_several_nodes_that_comes_first_which_was_claimed_last) {
        static const char *const jobs[] = {"r@n6", "r@n7", "r@n8", "r@n9"};
        static const unsigned claimed[] = {20, 40, 30, 30};

        begin_each("");
        for (unsigned i = 0; i < G_N_ELEMENTS(jobs); i++) {
                g_autofree char *more =
                    g_strdup_printf(",\"state\":\"failed\",\"claimed\":10000000%u", claimed[i]);

                instance_stands(jobs[i], NULL);
                record_stands(jobs[i], "1000000010-1", more);
        }
        record_stands("r@n6", "1000000020-1", ",\"state\":\"failed\",\"claimed\":1000000025");
        record_stands("r@n6", "1000000005-1", ",\"state\":\"failed\",\"claimed\":1000000099");
        expect_jobs(0, "r@n6 r@n7 r@n8 r@n9 r@n6 r@n6");
        expect_jobs(4, "r@n6 r@n7 r@n8 r@n9");
        expect_jobs(3, "r@n6 r@n7 r@n8");
        expect_jobs(2, "r@n6 r@n7");
        expect_jobs(1, "r@n6");
}

/* Of a node that nobody knows, or that is not to run it, there is no such job. */
Test(answer_history, history_of_an_instance_that_there_cannot_be) {
        begin_each("    nodes: [n7]\n");
        ask("History", "su", "r@nowhere", 0U);
        expect_said(BUS_ERROR_NO_SUCH_JOB
                    ": there is no job \"r@nowhere\" on this node, and nowhere "
                    "is no member of the cluster at present, and no history "
                    "of one");
        ask("History", "su", "r@n1", 0U);
        expect_said(BUS_ERROR_JOB_ELSEWHERE ": job \"r\" does not run on this node");
}

Test(answer_history, history_of_what_each_node_runs_that_cannot_be_read) {
        begin_each("");
        server.way = refuse_lists;
        ask("History", "su", "r", 0U);
        expect_said("the connection to ZooKeeper was lost while reading the history");
}

Test(answer_history, history_has_a_thousand_runs_at_most) {
        json_t *answer = NULL;
        const json_t *runs = NULL;

        open_hourly_on_bus();
        for (unsigned i = 0; i < 1003; i++) {
                g_autofree char *run = g_strdup_printf("%u-1", 1000000000 + i);
                record_stands("a", run, ",\"state\":\"succeeded\"");
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
Test(answer_history, a_history_that_would_be_too_long_is_refused) {
        g_autofree char *why = g_strnfill(60000, 'w'),
                        *more = g_strdup_printf(",\"state\":\"failed\",\"why\":\"%s\"", why);

        open_hourly_on_bus();
        for (unsigned i = 0; i < 300; i++) {
                g_autofree char *run = g_strdup_printf("%u-1", 1000000000 + i);
                record_stands("a", run, more);
        }
        ask("History", "su", "a", 0U);
        await(is_said, "an answer");
        cr_assert_lt(strlen(said), 400U);
        expect_said("the answer would be too long: ask for fewer runs");
        ask("History", "su", "a", 100U);
        await(is_said, "an answer");
        cr_expect_gt(strlen(said), 100 * strlen(why));
}

Test(answer_history, history_shows_all_that_stands_in_a_record_but_the_nonce) {
        json_t *answer = NULL, *run = NULL;

        open_hourly_on_bus();
        record_stands(
            "a", "1000000010-2",
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

Test(answer_history, what_is_pruned_while_history_is_read_is_left_out) {
        open_hourly_on_bus();
        record_stands("a", "1000000010-1", ",\"state\":\"succeeded\"");
        record_stands("a", "1000000020-1", ",\"state\":\"succeeded\"");
        server.way = prune_20;
        expect_runs(0, "1000000010-1");
}

Test(answer_history, what_runs_here_is_running) {
        write_job("    every: 1s\n    exec: [/bin/true]\n    overlap: skip\n");
        open_daemon();
        await(a_run_goes_on, "it runs");
        await_daemon_on_bus();
        ask("History", "su", "a", 0U);
        expect_said("\"state\":\"running\"");
        cr_expect_not_null(strstr(said, "\"unit\":\"jobkeeper-a-"), "%s", said);
        cr_expect_not_null(strstr(said, "\"started\":"), "%s", said);
}

static unsigned strange_paths;

static ServerWay count_strange_paths(const ZkCall *call) {
        strange_paths += strstr(call->path, "..") != NULL;
        return SERVER_ANSWER;
}

Test(answer_history, history_of_what_is_no_name_is_of_no_job) {
        open_hourly_on_bus();
        server.way = count_strange_paths;
        ask("History", "su", "../a", 0U);
        expect_said(BUS_ERROR_NO_SUCH_JOB ": there is no job \"../a\" on this node");
        cr_expect_eq(strange_paths, 0U, "it is no part of a path");
}

Test(answer_history, history_says_under_which_other_names_there_is_more) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(0, "");
        g_autofree char *data = NULL;

        open_hourly_on_bus();
        ledger_leave(ledger, "next", 0);
        ledger->was = g_strdup("before");
        data = ledger_encode(ledger);
        server_write("/jobkeeper/jobs/a", data);
        ask("History", "su", "a", 0U);
        expect_said("\"was\":\"before\",\"renamed\":\"next\"");
}

Test(answer_history, history_needs_a_session) {
        open_hourly_on_bus();
        port_tell(ports->pdata[0], ZK_STATE_SUSPENDED);
        ask("History", "su", "a", 0U);
        expect_said(BUS_ERROR_NOT_CONNECTED ": no ZooKeeper session");
}

static bool is_faulty(void) {
        return *session_fault(coordinator->session);
}

Test(answer_history, why_there_is_no_session_is_said) {
        open_hourly_on_bus();
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_AUTH_FAILED);
        await(is_faulty, "a fault");
        ask("History", "su", "a", 0U);
        expect_said(BUS_ERROR_NOT_CONNECTED ": no ZooKeeper session: ");
        cr_expect(g_str_has_suffix(said, session_fault(coordinator->session)), "%s", said);
}

static ServerWay refuse_all(const ZkCall *call) {
        (void)call;
        return SERVER_REFUSE;
}

/* Somebody changed the tree's rights, and this session has not even made what it needs there. */
Test(answer_history, that_zookeeper_refuses_this_node_is_said_of_a_history_as_well) {
        open_hourly_on_bus();
        server.way = refuse_all;
        server.refusal = ZK_NO_AUTH;
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_CONNECTED);
        await(is_refused, "a fault");
        ask("History", "su", "a", 0U);
        expect_said(BUS_ERROR_NOT_CONNECTED
                    ": this node cannot work with ZooKeeper: /jobkeeper: no permission");
}

/* What is said on the bus of one tick, and why: Explain, in a whole daemon (bus-fixture.h). */
#include "answer-explain.h"

#include <inttypes.h>
#include <string.h>

#include "bus-fixture.h"
#include "ledger-change.h"
#include "members.h"
#include "run-record.h"
#include "runs.h"
#include "tree.h"

#define ROOT "/jobkeeper"
#define RUNS ROOT "/jobs/a/runs"
#define HOUR ((int64_t)3600)

TestSuite(answer_explain, .init = setup_bus, .fini = teardown_bus, .timeout = 60);

static void begin(const char *more) {
        g_autofree char *job = g_strconcat("    every: 1h\n    exec: [/bin/true]\n", more, NULL);

        write_job(job);
        open_daemon_on_bus();
}

static int64_t tick_before(void) {
        return (int64_t)(clock_realtime() / USEC_PER_SEC) / HOUR * HOUR;
}

/* A record, with more members than it needs. */
static void record_is(const char *run, const char *more) {
        g_autofree char *path = g_strconcat(RUNS "/", run, NULL),
                        *data = g_strdup_printf("{\"run\":\"%s\",\"job\":\"a\"%s}", run, more);

        server_create(path, data, 0);
}

static void other_is(const char *job, const char *run, const char *more) {
        g_autofree char *path = g_strconcat(ROOT "/jobs/", job, "/runs/", run, NULL),
                        *data =
                            g_strdup_printf("{\"run\":\"%s\",\"job\":\"%s\"%s}", run, job, more);

        server_create(path, data, 0);
}

/* As a run has it that was asked for because another one ended. */
#define FOLLOWS(tick)                                                                              \
        ",\"parent_job\":\"b\",\"parent_run\":\"" tick "-1\",\"parent_state\":\"succeeded\","      \
        "\"parent_tick\":" tick ",\"parent_chain\":1"

static void expect_run(const json_t *runs, size_t i, const char *run) {
        cr_expect_str_eq(json_string_value(json_object_get(json_array_get(runs, i), "run")), run);
}

static const json_t *runs_of(const json_t *follows, size_t i, size_t n) {
        const json_t *runs = json_object_get(json_array_get(follows, i), "runs");

        cr_assert_eq(json_array_size(runs), n, "%zu", i);
        return runs;
}

static void expect_explained(int64_t tick, const char *part) {
        ask("Explain", "sx", "a", tick);
        expect_said(part);
}

Test(answer_explain, what_is_to_come) {
        g_autofree char *next = NULL;

        begin("");
        next = g_strdup_printf("\"tick\":%" PRId64 ",\"start\":%" PRId64 ",\"state\":\"coming\"",
                               tick_before() + HOUR, tick_before() + HOUR);
        expect_explained(0, next);
        expect_said("\"begins\":true");
        expect_said("\"nodes\":[{\"node\":\"n1\",\"rank\":0,\"why\":\"\"}]");
        expect_said("\"runs\":[]");
}

/* Of what runs after several together, by its own file. */
Test(answer_explain, who_has_come_of_those_that_it_waits_for) {
        begin("    after: {all: [b, c]}\n  b: {exec: [/bin/true]}\n  c: {exec: [/bin/true]}\n");
        expect_explained(0, "\"runs\":[]");
        server_create(ROOT "/meetings/a",
                      "{\"meetings\":[{\"tick\":1763700000,\"come\":{\"c\":\"1763700000-1\"}}]}",
                      0);
        expect_explained(0, "\"waits\":[{\"tick\":1763700000,\"come\":[{\"job\":\"c\",\"run\":"
                            "\"1763700000-1\"}],\"missing\":[\"b\"]}]");
        expect_said("\"state\":\"coming\"");
        server_write(ROOT "/meetings/a", "junk");
        expect_explained(0, "\"runs\":[]");
}

/* Of what runs after others: what the tick came to with them, and its own runs for it. */
Test(answer_explain, what_it_runs_after) {
        json_t *answer = NULL, *follows = NULL;

        begin("    after: [{job: b, on: any}, c, d, e]\n  b: {exec: [/bin/true]}\n  c: {exec: "
              "[/bin/true]}\n  d: {exec: [/bin/true]}\n  e: {exec: [/bin/true]}\n");
        other_is("b", "1763700000-1", ",\"state\":\"failed\",\"tick\":1763700000");
        other_is("b", "1763690000-0", ",\"state\":\"skipped\",\"to\":1763700000");
        for (unsigned i = 1; i <= 5; i++) {
                g_autofree char *run = g_strdup_printf("1763700000-%u", i);

                other_is("c", run, ",\"state\":\"failed\",\"tick\":1763700000");
        }
        other_is("d", "1763690000-0", ",\"state\":\"skipped\",\"to\":1763700000");
        other_is("d", "1763600000-0", ",\"state\":\"skipped\",\"to\":1763690000");
        other_is("e", "1763690000-0", ",\"state\":\"skipped\",\"to\":1763690001");
        other_is("e", "1763700000-m01", ",\"state\":\"failed\"" FOLLOWS("1763699999"));
        record_is("1763700000-m02", ",\"state\":\"succeeded\"" FOLLOWS("1763700000"));
        record_is("1763700000-m03", ",\"state\":\"succeeded\"");
        ask("Explain", "sx", "a", (int64_t)1763700000);
        answer = expect_json();
        cr_expect_eq(json_array_size(json_object_get(answer, "runs")), 1U);
        expect_run(json_object_get(answer, "runs"), 0, "1763700000-m02");
        follows = json_object_get(answer, "follows");
        cr_assert_eq(json_array_size(follows), 4U);
        expect_run(runs_of(follows, 0, 1), 0, "1763700000-1");
        expect_run(runs_of(follows, 1, 3), 0, "1763700000-3");
        expect_run(runs_of(follows, 2, 1), 0, "1763690000-0");
        (void)runs_of(follows, 3, 0);
        json_decref(answer);
}

Test(answer_explain, what_is_no_tick) {
        g_autofree char *nearest = NULL;

        begin("");
        nearest = g_strdup_printf("\"before\":%" PRId64 ",\"after\":%" PRId64, tick_before(),
                                  tick_before() + HOUR);
        expect_explained(tick_before() + 1, "\"state\":\"no-tick\"");
        expect_said(nearest);
}

Test(answer_explain, what_was_due_before_the_job_was_seen) {
        begin("");
        expect_explained(tick_before() - 10 * HOUR, "\"state\":\"not-owed\"");
}

/* Its attempts by their names, and of what was skipped the stretch that it is in. */
Test(answer_explain, the_records_of_the_tick_are_with_it) {
        json_t *answer = NULL;
        const json_t *runs = NULL;

        begin("");
        record_is("1763700000-1", ",\"state\":\"failed\",\"tick\":1763700000");
        record_is("1763700000-2", ",\"state\":\"succeeded\",\"tick\":1763700000");
        record_is("1763690000-0", ",\"state\":\"skipped\",\"tick\":1763690000,\"to\":1763700000");
        record_is("1763680000-0", ",\"state\":\"skipped\",\"tick\":1763680000");
        record_is("1763703600-1", ",\"state\":\"failed\",\"tick\":1763703600");
        record_is("1763700000-m1", ",\"state\":\"failed\"");
        ask("Explain", "sx", "a", (int64_t)1763700000);
        answer = expect_json();
        runs = json_object_get(answer, "runs");
        cr_assert_eq(json_array_size(runs), 3U);
        cr_expect_str_eq(json_string_value(json_object_get(json_array_get(runs, 0), "run")),
                         "1763690000-0");
        cr_expect_str_eq(json_string_value(json_object_get(json_array_get(runs, 2), "run")),
                         "1763700000-2");
        json_decref(answer);
        ask("Explain", "sx", "a", (int64_t)1763703600);
        expect_said("\"runs\":[{\"run\":\"1763703600-1\"");
}

/* D-Bus has no such characters: whoever puts them there does not keep others from an answer. */
Test(answer_explain, what_the_bus_does_not_carry) {
        begin("");
        record_is(
            "1763700000-1",
            ",\"state\":\"failed\",\"tick\":1763700000,\"why\":\"a\\ufffeb\\ufdd0\\ud83f\\udfff\"");
        ask("Explain", "sx", "a", (int64_t)1763700000);
        expect_said("\"why\":\"a\xef\xbf\xbd"
                    "b\xef\xbf\xbd\xef\xbf\xbd\"");
}

/* Somebody has put them there. */
Test(answer_explain, there_are_no_more_records_than_attempts) {
        json_t *answer = NULL;
        const json_t *runs = NULL;

        begin("");
        for (unsigned i = 1; i <= 150; i++) {
                g_autofree char *run = g_strdup_printf("1763700000-%u", i);

                record_is(run, ",\"state\":\"failed\",\"tick\":1763700000");
        }
        ask("Explain", "sx", "a", (int64_t)1763700000);
        answer = expect_json();
        runs = json_object_get(answer, "runs");
        cr_assert_eq(json_array_size(runs), 101U);
        cr_expect_str_eq(json_string_value(json_object_get(json_array_get(runs, 100), "run")),
                         "1763700000-150");
        json_decref(answer);
}

Test(answer_explain, a_damaged_record_is_shown) {
        begin("");
        server_create(RUNS "/1763700000-1", "garbage", 0);
        expect_explained(1763700000, "\"why\":\"its record in ZooKeeper cannot be read\"");
}

/* Another node's file has changed: there its ticks are at even hours alone. */
Test(answer_explain, the_definition_in_force_counts) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        int64_t odd = tick_before() + HOUR;
        g_autofree char *data = NULL, *message = NULL;

        odd += odd % (2 * HOUR) ? 0 : HOUR;
        begin("");
        await_quiet();
        data = g_strdup(server_data(ROOT "/jobs/a"));
        cr_assert_eq(ledger_decode(data, strlen(data), &ledger), 0);
        ledger_adopt_digest(ledger, "other", (int64_t)(clock_realtime() / USEC_PER_SEC));
        cr_assert_eq(schedule_new("UTC", &schedule, &message), 0);
        cr_assert_eq(schedule_add_every(schedule, 2 * HOUR * USEC_PER_SEC, &message), 0);
        ledger_set_schedule(ledger, schedule);
        g_free(data);
        data = ledger_encode(ledger);
        expect_explained(odd, "\"state\":\"coming\"");
        server_set(server_node(ROOT "/jobs/a"), data);
        expect_explained(odd, "\"state\":\"no-tick\"");
        expect_said("\"drifted\":true");
}

Test(answer_explain, what_is_under_way) {
        g_autofree char *run = NULL;
        int64_t tick = due_soon("");

        await_daemon_on_bus();
        await(a_run_goes_on, "a run");
        run = g_strdup_printf(
            "\"state\":\"under-way\",\"why\":\"\",\"begins\":false,\"run\":\"%" PRId64
            "-1\",\"node\":\"n1\"",
            tick);
        expect_explained(tick, run);
        expect_said("\"state\":\"running\"");
}

/* The reason is that of the decision. */
Test(answer_explain, what_would_not_begin) {
        server_create(ROOT, "", 0);
        server_create(ROOT "/control",
                      "{\"paused\":{\"jobs\":{\"a\":{\"by\":\"bob\",\"why\":\"new db\"}}}}", 0);
        begin("");
        expect_explained(0,
                         "\"state\":\"coming\",\"why\":\"paused by bob: new db\",\"begins\":false");
}

static bool are_all(void) {
        return members_list(coordinator->members)->len == 12;
}

static bool are_three(void) {
        return members_list(coordinator->members)->len == 3;
}

Test(answer_explain, why_a_node_does_not_run_it) {
        begin("    nodes: \"n2*\"\n");
        server_write(ROOT "/nodes/n2", "{\"machine\":\"m\",\"boot\":\"b\",\"busy\":\"drained\"}");
        server_write(ROOT "/nodes/n2b",
                     "{\"machine\":\"m\",\"boot\":\"b\",\"unfit\":{\"a\":\"no such user\"}}");
        await(are_three, "they are there");
        expect_explained(0, "{\"node\":\"n1\",\"rank\":null,\"why\":\"nodes: does not match it\"}");
        expect_said("{\"node\":\"n2\",\"rank\":0,\"why\":\"it is drained\"}");
        expect_said("{\"node\":\"n2b\",\"rank\":null,\"why\":\"no such user\"}");
}

Test(answer_explain, of_one_that_is_a_nodes_own) {
        write_job_named("r", "    every: 1h\n    exec: [/bin/true]\n    mode: each-node\n");
        begin("");
        server_write(ROOT "/nodes/n2", "{\"machine\":\"m\",\"boot\":\"b\"}");
        server_write(ROOT "/nodes/n2b", "{\"machine\":\"m\",\"boot\":\"b\"}");
        await(are_three, "they are there");
        ask("Explain", "sx", "r@n1", (int64_t)0);
        expect_said("{\"node\":\"n1\",\"rank\":0,\"why\":\"\"}");
        expect_said("{\"node\":\"n2\",\"rank\":null,\"why\":\"it is the job of n1 alone (mode: "
                    "each-node)\"}");
}

Test(answer_explain, each_reason_for_which_a_node_begins_nothing) {
        static const char *const cells[][2] = {
            {"\"busy\":\"max-runs\"", "max-runs is reached there"},
            {"\"busy\":\"ending\"", "something that must not run any more does so there still"},
            {"\"busy\":\"stopping\"", "its daemon is being stopped"},
            {"\"busy\":\"clock\"", "its clock is not synchronised yet"},
            {"\"busy\":\"unfenced\"", "its fence cannot be reached"},
            {"\"busy\":\"unfiled\"", "what runs need there cannot be written or executed"},
            {"\"busy\":\"systemd\"", "its systemd does not answer"},
            {"\"busy\":\"drained\"", "it is drained"},
            {"\"skewed\":true", "its clock differs too much from the others'"},
            {"\"drifted\":[\"a\"]", "its job file has another definition than the one in force"},
            {"\"absent\":[\"a\"]", "its job files do not have the job"},
        };

        begin("");
        for (size_t i = 0; i < G_N_ELEMENTS(cells); i++) {
                g_autofree char *node = g_strdup_printf("x%zu", i),
                                *path = g_strconcat(ROOT "/nodes/", node, NULL),
                                *data = g_strdup_printf("{\"machine\":\"m\",\"boot\":\"b\",%s}",
                                                        cells[i][0]);

                server_write(path, data);
        }
        await(are_all, "they are there");
        ask("Explain", "sx", "a", (int64_t)0);
        for (size_t i = 0; i < G_N_ELEMENTS(cells); i++)
                expect_said(cells[i][1]);
}

Test(answer_explain, without_a_schedule_there_is_none) {
        write_job("    exec: [/bin/true]\n");
        open_daemon_on_bus();
        expect_explained(0, "\"tick\":null,\"start\":null,\"state\":\"no-tick\"");
}

Test(answer_explain, what_can_be_no_tick) {
        static const int64_t ticks[] = {INT64_MIN, -1, SCHEDULE_TICK_MAX + 1, INT64_MAX};

        begin("");
        for (size_t i = 0; i < G_N_ELEMENTS(ticks); i++) {
                ask("Explain", "sx", "a", ticks[i]);
                expect_said("that can be no tick");
        }
        expect_explained(SCHEDULE_TICK_MAX, "\"state\":\"no-tick\"");
}

Test(answer_explain, of_no_job) {
        begin("");
        ask("Explain", "sx", "b", (int64_t)0);
        expect_said(BUS_ERROR_NO_SUCH_JOB ": there is no job \"b\" on this node");
        ask("Explain", "sx", "../b", (int64_t)0);
        expect_said(BUS_ERROR_NO_SUCH_JOB);
}

static ServerWay lose_reads(const ZkCall *call) {
        return call->request == REQUEST_LIST || call->request == REQUEST_GET ? SERVER_LOSE
                                                                             : SERVER_ANSWER;
}

Test(answer_explain, where_zookeeper_does_not_answer) {
        begin("");
        server.way = lose_reads;
        ask("Explain", "sx", "a", (int64_t)0);
        expect_said(BUS_ERROR_NOT_CONNECTED);
        server.way = NULL;
        port_tell(ports->pdata[0], ZK_STATE_SUSPENDED);
        ask("Explain", "sx", "a", (int64_t)0);
        expect_said(BUS_ERROR_NOT_CONNECTED);
}

/* What anybody may ask over and over does not look at the names of ten thousand jobs. */
Test(answer_explain, among_many_jobs_no_other_name_is_looked_for) {
        g_autoptr(GString) text = g_string_new("jobs:\n");

        for (unsigned i = 0; i < 600; i++)
                g_string_append_printf(text, "  job-%03u: {exec: /bin/true}\n", i);
        tree_write(root, "etc/jobkeeper/jobs.d/many.yaml", text->str);
        begin("");
        ask("Explain", "sx", "jbo-007", (int64_t)0);
        expect_said("there is no job \"jbo-007\" on this node");
        cr_expect_null(strstr(said, "did you mean"), "%s", said);
}

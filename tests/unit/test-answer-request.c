/* What is said on the bus to whoever asks for a run: RunOn and Rerun, in a whole daemon
 * (bus-fixture.h) among members that are none. */
#include "answer-request.h"

#include <inttypes.h>
#include <string.h>

#include "bus-fixture.h"
#include "ledger.h"
#include "members.h"
#include "paths.h"
#include "runs.h"

#define ROOT "/jobkeeper"
#define REQUESTS ROOT "/requests"
#define RUNS ROOT "/jobs/a/runs"

TestSuite(answer_request, .init = setup_bus, .fini = teardown_bus, .timeout = 60);

static guint n_members;

static bool are_members(void) {
        return members_list(coordinator->members)->len == n_members;
}

static void member_is(const char *node, const char *more) {
        g_autofree char *path = g_strconcat(ROOT "/nodes/", node, NULL),
                        *data =
                            g_strdup_printf("{\"machine\":\"%s\",\"boot\":\"b\"%s}", node, more);

        server_write(path, data);
        n_members++;
}

static void begin(const char *keys) {
        write_job(keys);
        open_daemon_on_bus();
        n_members = 1;
        member_is("n2", "");
        member_is("n3-unfit", ",\"unfit\":{\"a\":\"no user \\\"x\\\"\"}");
        member_is("n4-drifted", ",\"drifted\":[\"a\"]");
        member_is("n5-worker", ",\"labels\":{\"role\":\"worker\"}");
        await(are_members, "all are there");
}

static void ask_on(const char *node) {
        ask_as(bus, BUS_NAME_ROOT, "RunOn", "ss", "a", node);
}

/* ---- on one node ---- */

static void expect_refused_on(const char *node, const char *why) {
        ask_on(node);
        expect_said(why);
        cr_expect_eq(server_count(REQUESTS), 0U);
}

Test(answer_request, a_node_that_cannot_run_it_is_refused) {
        server_create(ROOT, "", 0);
        server_create(ROOT "/control", "{\"drained\":{\"n2\":{\"by\":\"bob\",\"why\":\"disk\"}}}",
                      0);
        begin("    exec: [/bin/true]\n");
        expect_refused_on("n9",
                          BUS_ERROR_NO_CANDIDATE ": n9 is no member of the cluster at present");
        expect_refused_on("n5-worke", "at present (did you mean \"n5-worker\"?)");
        expect_refused_on("", SD_BUS_ERROR_INVALID_ARGS ": the node \"\" is empty");
        expect_refused_on("../n2", SD_BUS_ERROR_INVALID_ARGS
                          ": the node \"../n2\" may only have the characters");
        expect_refused_on("n3-unfit", BUS_ERROR_NO_CANDIDATE
                          ": n3-unfit cannot run job \"a\" at present: no user \"x\"");
        expect_refused_on("n4-drifted", "another definition than the one in force");
        expect_refused_on("n2", BUS_ERROR_NO_CANDIDATE
                          ": n2 is drained by bob: disk (jobkeeper undrain n2)");
}

Test(answer_request, a_node_that_the_job_does_not_name_is_refused) {
        begin("    exec: [/bin/true]\n    nodes: {role: worker}\n");
        expect_refused_on("n1", "n1 cannot run job \"a\" at present: nodes: does not match it");
        expect_refused_on("n2", "nodes: does not match it");
        ask_on("n5-worker");
        expect_said("\"note\":\"\"");
        cr_expect_eq(server_count(REQUESTS), 1U);
        ask_as(bus, BUS_NAME_ROOT, "RunOn", "ss", "b", "n2");
        expect_said(BUS_ERROR_NO_SUCH_JOB ": there is no job \"b\" on this node");
}

/* It may be in what could not be read. */
Test(answer_request, of_a_job_that_is_not_there_it_is_said_what_was_refused) {
        write_job_named("backup", "    exec: []\n");
        begin("    exec: [/bin/true]\n");
        ask_as(bus, BUS_NAME_ROOT, "RunOn", "ss", "backup", "n2");
        expect_said(
            BUS_ERROR_NO_SUCH_JOB
            ": there is no job \"backup\" on this node; it may be in backup.yaml, refused for its "
            "errors, which \"jobkeeper status\" tells of");
        write_job_named("c", "    exec: []\n");
        reload();
        ask_as(bus, BUS_NAME_ROOT, "RunOn", "ss", "vacuum", "n2");
        expect_said(
            "there is no job \"vacuum\" on this node; it may be in backup.yaml, or another file, "
            "refused for their errors");
}

Test(answer_request, what_two_files_define_was_refused) {
        write_job_named("b", "    exec: [/bin/true]\n  c:\n    exec: [/bin/true]\n");
        write_job_named("c", "    exec: [/bin/true]\n");
        begin("    exec: [/bin/true]\n");
        ask_as(bus, BUS_NAME_ROOT, "RunOn", "ss", "c", "n2");
        expect_said("; its definition was refused, which \"jobkeeper status\" tells of");
}

Test(answer_request, of_a_paused_job_none_is_asked_for) {
        server_create(ROOT, "", 0);
        server_create(ROOT "/control", "{\"paused\":{\"jobs\":{\"a\":{\"by\":\"bob\"}}}}", 0);
        begin("    exec: [/bin/true]\n");
        expect_refused_on("n2", BUS_ERROR_PAUSED ": job \"a\" is paused by bob");
}

static bool has_started(void) {
        return started->len > 0;
}

static bool is_nothing_asked(void) {
        return server_count(REQUESTS) == 0;
}

/* Whatever its rank is. */
Test(answer_request, on_this_node_it_is_run_here) {
        g_autofree char *path = NULL;
        const char *run;
        json_t *answer;

        begin("    exec: [/bin/true]\n");
        for (unsigned i = 0; i < 20; i++) {
                g_autofree char *node = g_strdup_printf("m%u", i);

                member_is(node, "");
        }
        await(are_members, "all are there");
        ask_on("n1");
        answer = expect_json();
        run = json_string_value(json_object_get(answer, "run"));
        cr_assert(run_id_is_of_request(run), "%s", run);
        await(has_started, "it runs");
        path = g_strconcat(RUNS "/", run, NULL);
        cr_expect(strstr(server_data(path), "\"who\":\"uid "), "%s", server_data(path));
        await(is_nothing_asked, "its request is gone");
        json_decref(answer);
}

#define LEDGER ROOT "/jobs/a"
#define HOUR ((int64_t)3600)

static int64_t now_second(void) {
        return (int64_t)(clock_realtime() / USEC_PER_SEC);
}

static int64_t hour(void) {
        return now_second() / HOUR * HOUR;
}

/* ---- of a job of every node ---- */

static void expect_refused(const char *job, const char *node, const char *why) {
        ask_as(bus, BUS_NAME_ROOT, "RunOn", "ss", job, node);
        expect_said(why);
        cr_expect_eq(server_count(REQUESTS), 0U);
}

Test(answer_request, of_a_job_of_every_node_one_is_to_be_named) {
        write_job_named("r", "    exec: [/bin/true]\n    every: 1h\n    mode: each-node\n"
                             "    nodes: n[1-4]*\n");
        begin("    exec: [/bin/true]\n");
        ask_as(bus, BUS_NAME_ROOT, "Run", "s", "r");
        expect_said(
            SD_BUS_ERROR_INVALID_ARGS
            ": job \"r\" is of mode each-node, a job of its own on every node: say on which it "
            "is to run, as in \"jobkeeper run r --on n1\"");
        expect_refused("r", "n9", "n9 is no member of the cluster at present");
        expect_refused("r", "", SD_BUS_ERROR_INVALID_ARGS ": the node \"\" is empty");
        expect_refused("r", "n5-worker",
                       "n5-worker cannot run job \"r@n5-worker\" at present: nodes:");
        expect_refused("r@n2", "n1", "job \"r@n2\" runs on n2, and not on n1");
        expect_refused("r@n9", "n9", "n9 is no member of the cluster at present");
        expect_refused("b@n2", "n2",
                       BUS_ERROR_NO_SUCH_JOB ": there is no job \"b@n2\" on this node");
        ask_as(bus, BUS_NAME_ROOT, "Rerun", "ssxs", "r@n2", "", hour(), "");
        expect_said(BUS_ERROR_JOB_ELSEWHERE
                    ": job \"r@n2\" is one of n2, and this node knows too little of it: ask there");
        ask_as(bus, BUS_NAME_ROOT, "Explain", "sx", "r", (int64_t)0);
        expect_said(BUS_ERROR_JOB_ELSEWHERE
                    ": job \"r\" is of mode each-node, a job of its own on every "
                    "node: write of which one, as in \"r@n1\"");
        cr_expect_eq(server_count(REQUESTS), 0U);
        ask_as(bus, BUS_NAME_ROOT, "RunOn", "ss", "r", "n2");
        expect_said("r@n2");
        cr_expect_eq(server_count(REQUESTS), 1U);
}

Test(answer_request, a_service_is_run_by_itself) {
        write_job_named("r", "    exec: [/bin/true]\n    mode: service\n    nodes: n2\n");
        begin("    exec: [/bin/true]\n");
        ask_as(bus, BUS_NAME_ROOT, "Run", "s", "r");
        expect_said(BUS_ERROR_FAILED ": job \"r\" is a service, which is run by itself; "
                                     "\"jobkeeper stop r\" has it started anew");
        ask_as(bus, BUS_NAME_ROOT, "Rerun", "ssxs", "r", "", hour(), "");
        expect_said(BUS_ERROR_FAILED ": job \"r\" is a service");
        cr_expect_eq(server_count(REQUESTS), 0U);
}

static void expect_explain(const char *job, const char *why) {
        ask_as(bus, BUS_NAME_ROOT, "Explain", "sx", job, (int64_t)0);
        expect_said(why);
}

/* Nobody is sent round in a circle. */
Test(answer_request, of_a_job_of_other_nodes_one_of_those_is_named) {
        write_job_named("r", "    exec: [/bin/true]\n    every: 1h\n    mode: each-node\n"
                             "    nodes: {role: worker}\n");
        write_job_named("s", "    exec: [/bin/true]\n    every: 1h\n    mode: each-node\n"
                             "    nodes: [n7]\n");
        begin("    exec: [/bin/true]\n");
        expect_explain(
            "r", BUS_ERROR_JOB_ELSEWHERE
            ": job \"r\" does not run on this node (\"nodes\" does not match it): ask on "
            "one of those, as on n5-worker for \"r@n5-worker\"");
        expect_explain(
            "r@n1", BUS_ERROR_JOB_ELSEWHERE
            ": job \"r\" does not run on this node (\"nodes\" does not match it): ask on "
            "one of those, as on n5-worker for \"r@n5-worker\"");
        expect_explain(
            "s", BUS_ERROR_JOB_ELSEWHERE
            ": job \"s\" does not run on this node (\"nodes\" does not match it): ask on "
            "one of those");
        cr_expect(g_str_has_suffix(said, "ask on one of those"), "%s", said);
        expect_explain("r@n5-worker", BUS_ERROR_JOB_ELSEWHERE
                       ": job \"r@n5-worker\" is one of n5-worker, and this node knows too little "
                       "of it: ask there");
        expect_explain("r@nowhere", BUS_ERROR_NO_SUCH_JOB
                       ": there is no job \"r@nowhere\" on this node, and nowhere is no member of "
                       "the cluster at present");
}

Test(answer_request, the_one_of_this_node_is_run_here) {
        g_autofree char *path = NULL;
        json_t *answer;

        write_job_named("r", "    exec: [/bin/true]\n    mode: each-node\n");
        begin("    exec: [/bin/true]\n");
        ask_as(bus, BUS_NAME_ROOT, "Run", "s", "r@n1");
        answer = expect_json();
        cr_expect_str_eq(json_string_value(json_object_get(answer, "job")), "r@n1");
        await(has_started, "it runs");
        cr_expect(g_str_has_prefix(service_newest()->name, "jobkeeper-r@n1-"), "%s",
                  service_newest()->name);
        path = g_strconcat(ROOT "/jobs/r@n1/runs/",
                           json_string_value(json_object_get(answer, "run")), NULL);
        cr_expect(strstr(server_data(path), "\"job\":\"r@n1\""), "%s", server_data(path));
        cr_expect_eq(server_count(ROOT "/locks/job:r"), 1U, "it stands at the lock of all of them");
        json_decref(answer);
}

/* ---- a further attempt ---- */

static void begin_hourly(void) {
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon_on_bus();
        await_quiet();
}

/* All up to that tick is settled. */
static void mark_is(int64_t mark) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        g_autofree char *data = g_strdup(server_data(LEDGER));

        cr_assert_eq(ledger_decode(data, strlen(data), &ledger), 0);
        ledger->mark = mark;
        g_free(data);
        data = ledger_encode(ledger);
        server_set(server_node(LEDGER), data);
}

/* A record, with more members than it needs. */
static void record_is(const char *run, const char *more) {
        g_autofree char *path = g_strconcat(RUNS "/", run, NULL),
                        *data = g_strdup_printf("{\"run\":\"%s\",\"job\":\"a\"%s}", run, more);

        server_create(path, data, 0);
}

static void ask_rerun(const char *run, int64_t tick) {
        ask_as(bus, BUS_NAME_ROOT, "Rerun", "ssxs", "a", run, tick, "");
}

static void expect_no_rerun(const char *run, int64_t tick, const char *why) {
        ask_rerun(run, tick);
        expect_said(why);
        cr_expect_eq(server_count(REQUESTS), 0U);
}

/* Return: its record, borrowed; "" where there is none. */
static const char *record_of(int64_t tick, unsigned attempt) {
        g_autofree char *run = run_id_for_tick(tick, attempt),
                        *path = g_strconcat(RUNS "/", run, NULL);

        return server_node(path) ? server_data(path) : "";
}

static void expect_rerun(const char *run, int64_t tick, unsigned attempt) {
        g_autofree char *id = run_id_for_tick(tick, attempt),
                        *expected = g_strdup_printf("\"run\":\"%s\",\"note\":\"\"", id);

        ask_rerun(run, *run ? 0 : tick);
        expect_said(expected);
}

static guint n_wanted;

static bool have_started(void) {
        return started->len == n_wanted;
}

static void await_start(guint n) {
        n_wanted = n;
        await(have_started, "it runs");
}

static bool is_all_settled(void) {
        return runs_count(coordinator->runs) == 0;
}

/* The last run ends. */
static void end(int status) {
        service_exit(service_newest(), status);
        await(is_all_settled, "settled");
}

Test(answer_request, a_run_that_has_ended_is_attempted_again) {
        int64_t tick = due_soon("    retries: {attempts: 5, delay: 0}\n    on-owner-lost: rerun\n");
        g_autofree char *first = run_id_for_tick(tick, 1), *second = run_id_for_tick(tick, 2),
                        *under_way = g_strdup_printf("run %s of it is under way on n1", second),
                        *explained = g_strdup_printf("\"state\":\"under-way\",\"why\":\"\","
                                                     "\"begins\":false,\"run\":\"%s\"",
                                                     second);

        await_daemon_on_bus();
        await_start(1);
        expect_no_rerun(first, 0, "under way on n1");
        end(0);
        expect_rerun(first, tick, 2);
        await_start(2);
        cr_expect(is_nothing_asked());
        cr_expect(strstr(record_of(tick, 2), "\"attempt\":2"), "%s", record_of(tick, 2));
        cr_expect(strstr(record_of(tick, 2), "\"who\":\"uid "), "%s", record_of(tick, 2));
        expect_no_rerun(first, 0, under_way);
        ask("Explain", "sx", "a", tick);
        expect_said(explained);
        end(1);
        cr_expect(strstr(record_of(tick, 2), "\"state\":\"failed\""), "%s", record_of(tick, 2));
        cr_expect(strstr(server_data(LEDGER), "\"open\":[]"), "none follows by itself: %s",
                  server_data(LEDGER));
        expect_rerun("", tick, 3);
        await_start(3);
        end(0);
}

Test(answer_request, of_what_was_skipped_the_first_attempt) {
        int64_t tick = hour() - 10 * HOUR;
        g_autofree char *skipped = run_id_for_skip(tick),
                        *more = g_strdup_printf(",\"state\":\"skipped\",\"tick\":%" PRId64
                                                ",\"to\":%" PRId64,
                                                tick, tick + 3 * HOUR);

        begin_hourly();
        mark_is(hour());
        record_is(skipped, more);
        expect_rerun("", tick + 2 * HOUR, 1);
        await_start(1);
        end(0);
        expect_rerun("", tick + 2 * HOUR, 2);
        await_start(2);
        end(0);
        expect_rerun(skipped, tick, 1);
        await_start(3);
        end(0);
        expect_no_rerun("", tick + 4 * HOUR, "what became of it is not kept any more");
        expect_no_rerun("", tick + 1, "the job has no such tick; the one before is ");
}

/* The definition in force is younger, or has other ticks. */
Test(answer_request, what_was_attempted_may_be_again) {
        begin_hourly();
        record_is("1000000001-1", ",\"state\":\"failed\",\"tick\":1000000001");
        record_is("1000000001-10", ",\"state\":\"failed\",\"tick\":1000000001");
        record_is("1000000001-0", ",\"state\":\"skipped\",\"tick\":1000000001");
        expect_rerun("1000000001-1", 1000000001, 11);
        await_start(1);
        end(0);
}

Test(answer_request, what_cannot_be_attempted_again) {
        begin_hourly();
        record_is("1000000000-m1", ",\"state\":\"failed\"");
        expect_no_rerun("", hour() + HOUR, "cannot be attempted again: it is still to come");
        expect_no_rerun("", hour() + HOUR + 1, "the job has no such tick; the one before is ");
        expect_no_rerun("", hour() - HOUR, "it was due before the definition in force took effect");
        expect_no_rerun("", 0, SD_BUS_ERROR_INVALID_ARGS ": that can be no tick");
        expect_no_rerun("1000000000-1", 0,
                        "there is no record of a run 1000000000-1 of job \"a\" (jobkeeper history "
                        "a)");
        expect_no_rerun("1000000000-m1", 0,
                        "was by hand or followed another run, and is an attempt of no tick: "
                        "jobkeeper run a");
        expect_no_rerun("../1-1", 0, SD_BUS_ERROR_INVALID_ARGS ": \"../1-1\" can be no run's id");
        cr_expect_eq(started->len, 0U);
}

/* What is asked for twice at once is made once. */
Test(answer_request, an_attempt_is_made_once) {
        int64_t tick = hour() - HOUR;
        g_autofree char *first = run_id_for_tick(tick, 1), *second = run_id_for_tick(tick, 2),
                        *more = g_strdup_printf(",\"state\":\"failed\",\"tick\":%" PRId64, tick),
                        *again = NULL;

        begin_hourly();
        mark_is(hour());
        record_is(first, more);
        expect_rerun(first, tick, 2);
        await_start(1);
        end(0);
        again = g_strdup_printf("{\"job\":\"a\",\"run\":\"%s\",\"not_after\":%" PRId64 "}", second,
                                now_second() + 60);
        server_create(REQUESTS "/1000000000-r1", again, 0);
        server_fire_parent(REQUESTS "/1000000000-r1");
        serve_for(USEC_PER_SEC / 2);
        cr_expect_eq(started->len, 1U);
        cr_expect(strstr(record_of(tick, 2), "\"state\":\"succeeded\""), "%s", record_of(tick, 2));
        cr_expect(strstr(server_data(LEDGER), "\"open\":[]"), "%s", server_data(LEDGER));
        expect_rerun("", tick, 3);
        await_start(2);
        end(0);
}

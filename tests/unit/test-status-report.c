/* What Status says of the node itself, in a whole daemon: the session, the clock, what is wrong
 * with the files, and what becomes of a report that would be too long. */
#include "status-report.h"

#include <glib/gstdio.h>

#include "answer.h"
#include "clock-watch.h"
#include "digest-memory.h"
#include "status-fixture.h"
#include "tree.h"

TestSuite(status_report, .init = setup_bus, .fini = teardown_bus);

/* ---- the session and the clock ---- */

Test(status_report, the_session_is_shown) {
        json_t *object = NULL, *session = NULL;
        double held_for = 0;

        begin_with_a();
        object = ask_status();
        session = json_object_get(object, "session");
        cr_expect_str_eq(string_of(object, "node"), "n1");
        cr_expect_str_eq(string_of(object, "version"), JOBKEEPER_VERSION);
        cr_expect_eq(json_number_value(json_object_get(object, "started")),
                     (double)coordinator->node->started / (double)USEC_PER_SEC);
        cr_expect(json_is_true(json_object_get(object, "complete")));
        cr_expect_str_eq(string_of(session, "state"), "connected");
        cr_expect_str_eq(string_of(session, "server"), "scripted");
        cr_expect_eq(json_number_value(json_object_get(session, "timeout")), 30.0);
        held_for = json_number_value(json_object_get(session, "held_for"));
        cr_expect(held_for > 10 && held_for <= 16, "%f", held_for);
        cr_expect_str_eq(string_of(session, "fault"), "");
        json_decref(object);
}

Test(status_report, a_session_that_is_suspended_or_gone_is_shown) {
        json_t *object = NULL, *session = NULL;

        begin_with_a();
        port_tell(ports->pdata[0], ZK_STATE_SUSPENDED);
        object = ask_status();
        cr_expect_str_eq(string_of(json_object_get(object, "session"), "state"), "suspended");
        cr_expect(json_is_false(json_object_get(object, "complete")));
        json_decref(object);

        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        turn();
        object = ask_status();
        session = json_object_get(object, "session");
        cr_expect_str_eq(string_of(session, "state"), "connecting");
        cr_expect_eq(json_number_value(json_object_get(session, "held_for")), 0.0);
        cr_expect_eq(json_number_value(json_object_get(session, "timeout")), 30.0,
                     "that is asked for");
        expect_text(json_object_get(object, "members"), "[]");
        expect_text(json_object_get(object, "away"), "[]");
        expect_text(json_object_get(object, "clock"),
                    "{\"impossible\":false,\"known\":false,\"skew\":null,\"skewed\":false,"
                    "\"waited_for\":false}");
        json_decref(object);
}

static bool is_silent(void) {
        g_autofree char *silence = status_silence(coordinator->node);

        return silence;
}

static ServerWay keep_all(const ZkCall *call) {
        (void)call;
        return SERVER_KEEP;
}

Test(status_report, a_server_that_is_silent_is_no_good_one) {
        json_t *object = NULL;

        begin_with_a();
        cr_expect_not(is_silent());
        server.way = keep_all;
        coordinator->config->heartbeat = USEC_PER_SEC / 2;
        coordinator->config->tick_time = USEC_PER_SEC / 2;
        await(is_silent, "it is silent");
        object = ask_status();
        cr_expect_str_eq(string_of(json_object_get(object, "session"), "state"), "connected");
        cr_expect_str_eq(string_of(json_object_get(object, "session"), "fault"),
                         "ZooKeeper has not answered for 2 s");
        cr_expect(json_is_false(json_object_get(object, "complete")), "it is not even asked");
        json_decref(object);
}

static bool is_skewed(void) {
        return node_is_skewed(coordinator->node);
}

Test(status_report, the_clock_is_shown) {
        json_t *object = NULL;
        double skew = 0;

        begin_with_a();
        server.clock = -(int64_t)(5 * USEC_PER_SEC);
        clock_watch_measure(coordinator->clock);
        await(is_skewed, "it is measured");
        object = ask_status();
        skew = json_number_value(json_object_get(json_object_get(object, "clock"), "skew"));
        cr_expect(skew > 4.5 && skew < 5.5, "%f", skew);
        cr_expect(json_is_true(json_object_get(json_object_get(object, "clock"), "skewed")));
        cr_expect(json_is_true(json_object_get(json_object_get(object, "clock"), "known")));
        json_decref(object);

        coordinator->node->skew.offset -= (int64_t)USEC_PER_SEC;
        object = ask_status();
        cr_expect(json_is_false(json_object_get(json_object_get(object, "clock"), "known")),
                  "it was set");
        json_decref(object);

        coordinator->node->waits_for_clock = true;
        object = ask_status();
        cr_expect(json_is_true(json_object_get(json_object_get(object, "clock"), "waited_for")));
        json_decref(object);
}

/* ---- reports that would be too long ---- */

/* Each has had a run of which much can be said. */
static void write_talkative_jobs(unsigned n) {
        g_autofree char *why = g_strnfill(60000, 'w');

        for (unsigned i = 0; i < n; i++) {
                g_autofree char *name = g_strdup_printf("t%03u", i),
                                *path = g_strconcat("/jobkeeper/jobs/", name, NULL),
                                *data = g_strdup_printf(
                                    "{\"v\":1,\"mark\":10,\"from\":10,\"digest\":\"d\",\"open\":[],"
                                    "\"last\":{\"run\":\"10-1\",\"job\":\"%s\","
                                    "\"tick\":10,\"state\":\"failed\",\"why\":\"%s\"}}",
                                    name, why);
                write_job_named(name, "    exec: [/bin/true]\n");
                server_create(path, data, 0);
        }
}

Test(status_report, what_would_be_too_long_is_cut_and_says_so) {
        json_t *object = NULL;
        g_autofree char *note = NULL;
        size_t shown = 0;

        write_talkative_jobs(300);
        begin_with_a();
        ask_as(bus, BUS_NAME_ROOT, "Status", NULL);
        await(is_said, "an answer");
        cr_assert_lt(strlen(said), ANSWER_BYTES_MAX);
        object = json_loads(said, 0, NULL);
        shown = json_array_size(json_object_get(object, "jobs"));
        cr_assert_gt(shown, 250U);
        cr_assert_lt(shown, 301U);
        cr_expect(json_is_false(json_object_get(object, "complete")));
        note = g_strdup_printf("the answer would be too long: %zu jobs and 0 members are left out",
                               301 - shown);
        cr_expect_str_eq(string_of(object, "note"), note);
        json_decref(object);
}

/* ---- what is wrong ---- */

Test(status_report, what_is_wrong_with_the_files_is_shown) {
        g_autofree char *error = NULL;
        json_t *object = NULL;

        tree_write(root, "etc/jobkeeper/jobs.d/bad.yaml",
                   "jobs:\n  bad:\n    exec: [/bin/true]\n    retires: 1\n");
        begin_with_a();
        object = ask_status();
        error = g_strdup_printf("%s/etc/jobkeeper/jobs.d/bad.yaml:4:5: error: ", root);
        cr_assert_eq(json_array_size(json_object_get(object, "errors")), 1U);
        cr_expect(g_str_has_prefix(
            json_string_value(json_array_get(json_object_get(object, "errors"), 0)), error));
        expect_text(json_object_get(object, "warnings"), "[]");
        json_decref(object);
}

Test(status_report, an_open_tree_is_warned_of) {
        json_t *object = NULL;

        server.others = "everybody";
        begin_with_a();
        object = ask_status();
        cr_assert_eq(json_array_size(json_object_get(object, "warnings")), 1U);
        cr_expect_str_eq(json_string_value(json_array_get(json_object_get(object, "warnings"), 0)),
                         tree_warning(coordinator->tree));
        json_decref(object);
}

static const char *memory_fault(void) {
        return digest_memory_fault(coordinator->digests);
}

static bool memory_is_at_fault(void) {
        return *memory_fault();
}

/* A directory of that name stands in the way, whoever asks. */
Test(status_report, a_memory_that_cannot_be_written_is_warned_of) {
        g_autofree char *file = tree_path(root, "state/digests.json");
        json_t *object = NULL;

        begin_with_a();
        (void)g_unlink(file);
        (void)g_mkdir_with_parents(file, 0700);
        digest_memory_set(coordinator->digests, "another", "d1");
        await(memory_is_at_fault, "the memory cannot be written");
        object = ask_status();
        cr_assert_eq(json_array_size(json_object_get(object, "warnings")), 1U);
        cr_expect_str_eq(json_string_value(json_array_get(json_object_get(object, "warnings"), 0)),
                         memory_fault());
        cr_expect(g_str_has_prefix(memory_fault(),
                                   "cannot remember which definitions this node has put in "
                                   "force: "),
                  "%s", memory_fault());
        json_decref(object);
        cr_assert_eq(g_rmdir(file), 0);
}

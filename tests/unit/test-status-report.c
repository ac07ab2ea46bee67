/* What Status says, piece by piece, in a whole daemon (bus-fixture.h): the session, the members,
 * those that are away, what is wrong with the files, and each job. */
#include "status-report.h"

#include <glib/gstdio.h>

#include "answer.h"
#include "bus-fixture.h"
#include "clock-watch.h"
#include "digest-memory.h"
#include "json-line.h"
#include "members.h"
#include "spread.h"
#include "tree.h"

#define NODES "/jobkeeper/nodes"
#define JOB "/jobkeeper/jobs/a"

TestSuite(status_report, .init = setup_bus, .fini = teardown_bus);

static void begin(void) {
        write_job("    every: 1h\n    exec: [/bin/true]\n    description: Does nothing\n");
        open_daemon_on_bus();
}

/* Where there is no pause between two reports. */
static json_t *status(void) {
        ask_as(bus, BUS_NAME_ROOT, "Status", NULL);
        return expect_json();
}

static const char *string_of(const json_t *object, const char *member) {
        const char *text = json_string_value(json_object_get(object, member));

        return text ? text : "(none)";
}

static json_t *find(const json_t *array, const char *member, const char *value) {
        json_t *item;
        size_t i;

        json_array_foreach(array, i,
                           item) if (g_str_equal(string_of(item, member), value)) return item;
        return NULL;
}

static char *text_of(const json_t *value) {
        char *text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
        char *copy = g_strdup(text ? text : "(none)");

        free(text);
        return copy;
}

static void expect_text(const json_t *value, const char *expected) {
        g_autofree char *text = text_of(value);

        cr_expect_str_eq(text, expected, "%s rather than %s", text, expected);
}

/* ---- the session and the clock ---- */

Test(status_report, the_session_is_shown) {
        json_t *object = NULL, *session = NULL;
        double held_for = 0;

        begin();
        object = status();
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

        begin();
        port_tell(ports->pdata[0], ZK_STATE_SUSPENDED);
        object = status();
        cr_expect_str_eq(string_of(json_object_get(object, "session"), "state"), "suspended");
        cr_expect(json_is_false(json_object_get(object, "complete")));
        json_decref(object);

        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        turn();
        object = status();
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

        begin();
        cr_expect_not(is_silent());
        server.way = keep_all;
        coordinator->config->heartbeat = USEC_PER_SEC / 2;
        coordinator->config->tick_time = USEC_PER_SEC / 2;
        await(is_silent, "it is silent");
        object = status();
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

        begin();
        server.clock = -(int64_t)(5 * USEC_PER_SEC);
        clock_watch_measure(coordinator->clock);
        await(is_skewed, "it is measured");
        object = status();
        skew = json_number_value(json_object_get(json_object_get(object, "clock"), "skew"));
        cr_expect(skew > 4.5 && skew < 5.5, "%f", skew);
        cr_expect(json_is_true(json_object_get(json_object_get(object, "clock"), "skewed")));
        cr_expect(json_is_true(json_object_get(json_object_get(object, "clock"), "known")));
        json_decref(object);

        coordinator->node->skew.offset -= (int64_t)USEC_PER_SEC;
        object = status();
        cr_expect(json_is_false(json_object_get(json_object_get(object, "clock"), "known")),
                  "it was set");
        json_decref(object);

        coordinator->node->waits_for_clock = true;
        object = status();
        cr_expect(json_is_true(json_object_get(json_object_get(object, "clock"), "waited_for")));
        json_decref(object);
}

/* ---- members ---- */

static bool are_two(void) {
        return members_list(coordinator->members)->len == 2;
}

static bool is_one(void) {
        return members_list(coordinator->members)->len == 1;
}

Test(status_report, members_are_shown_as_they_say) {
        json_t *object = NULL, *members = NULL;

        begin();
        server_write(NODES "/n2",
                     "{\"machine\":\"m\",\"boot\":\"b\",\"version\":\"0.2\",\"labels\":"
                     "{\"role\":\"db\"},\"unfit\":{\"x\":\"why\"},\"drifted\":[\"y\"],"
                     "\"absent\":[\"z\"],\"skewed\":true,\"busy\":\"max-runs\","
                     "\"outside\":4102444800}");
        await(are_two, "it is there");
        object = status();
        members = json_object_get(object, "members");
        expect_text(json_array_get(members, 1),
                    "{\"absent\":[\"z\"],\"busy\":\"max-runs\",\"counts\":{\"absent\":1,"
                    "\"drifted\":1,\"unfit\":1},\"drifted\":[\"y\"],\"labels\":{"
                    "\"role\":\"db\"},\"node\":\"n2\",\"outside\":{\"until\":4102444800},"
                    "\"self\":false,\"skewed\":true,\"unfit\":{"
                    "\"x\":\"why\"},\"unnamed\":0,\"version\":\"0.2\"}");
        cr_expect_str_eq(string_of(json_array_get(members, 0), "node"), "n1");
        cr_expect(json_is_true(json_object_get(json_array_get(members, 0), "self")));
        json_decref(object);
}

/* A member that cannot run any of `n` jobs. */
static char *member_unfit_for(unsigned n) {
        g_autoptr(GString) text = g_string_new("{\"machine\":\"m\",\"boot\":\"b\",\"unfit\":{");

        for (unsigned i = 0; i < n; i++)
                g_string_append_printf(text, "%s\"j%03u\":\"%0300u\"", i ? "," : "", i, 0U);
        (void)g_string_append(text, "},\"drifted\":[\"j1\",\"j2\"]}");
        return g_string_free(g_steal_pointer(&text), FALSE);
}

Test(status_report, of_what_another_node_cannot_run_the_first_are_named_and_all_counted) {
        g_autofree char *data = member_unfit_for(200);
        json_t *object = NULL, *member = NULL, *unfit = NULL;

        begin();
        server_write(NODES "/n2", data);
        await(are_two, "it is there");
        object = status();
        member = json_array_get(json_object_get(object, "members"), 1);
        unfit = json_object_get(member, "unfit");
        cr_expect_eq(json_object_size(unfit), STATUS_NAMES_MAX);
        cr_expect_eq(json_string_length(json_object_get(unfit, "j000")), SAID_TEXT_MAX);
        cr_expect_not_null(json_object_get(unfit, "j019"));
        expect_text(json_object_get(member, "counts"),
                    "{\"absent\":0,\"drifted\":2,\"unfit\":200}");
        cr_expect_lt(strlen(said), 12000U, "%zu", strlen(said));
        json_decref(object);
}

static bool all_are_unfit(void) {
        const Member *self = members_list(coordinator->members)->pdata[0];

        return g_hash_table_size(self->unfit) == 30;
}

Test(status_report, of_what_this_node_cannot_run_all_is_named) {
        json_t *object = NULL, *member = NULL;

        for (unsigned i = 0; i < 30; i++) {
                g_autofree char *name = g_strdup_printf("j%02u", i);
                write_job_named(name, "    every: 1h\n    exec: [/does/not/exist]\n");
        }
        begin();
        await(all_are_unfit, "it is said");
        object = status();
        member = json_array_get(json_object_get(object, "members"), 0);
        cr_expect_eq(json_object_size(json_object_get(member, "unfit")), 30U);
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
        begin();
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

Test(status_report, who_left_is_away_and_who_once_ran_something) {
        json_t *object = NULL, *away = NULL;
        double since = 0;

        begin();
        server_create("/jobkeeper/open/n9", "", 0);
        server_create("/jobkeeper/open/n2", "", 0);
        server_write(NODES "/n2", "{\"machine\":\"m\",\"boot\":\"b\"}");
        await(are_two, "it is there");
        object = status();
        expect_text(json_object_get(object, "away"), "[{\"node\":\"n9\",\"since\":null}]");
        json_decref(object);

        server_delete(NODES "/n2");
        await(is_one, "it left");
        object = status();
        away = json_object_get(object, "away");
        cr_expect_eq(json_array_size(away), 2U, "each once");
        since = json_number_value(json_object_get(find(away, "node", "n2"), "since"));
        cr_expect(since > (double)coordinator->node->started / (double)USEC_PER_SEC);
        cr_expect_not_null(find(away, "node", "n9"));
        json_decref(object);

        server_write(NODES "/n2", "{\"machine\":\"m\",\"boot\":\"b\"}");
        await(are_two, "it came back");
        object = status();
        expect_text(json_object_get(object, "away"), "[{\"node\":\"n9\",\"since\":null}]");
        json_decref(object);
}

/* Without a session nobody is known to be there, so nobody to be away. */
Test(status_report, nobody_is_away_while_it_is_not_known_who_is_there) {
        json_t *object = NULL;

        begin();
        server_write(NODES "/n2", "{\"machine\":\"m\",\"boot\":\"b\"}");
        await(are_two, "it is there");
        server_delete(NODES "/n2");
        await(is_one, "it left");
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        turn();
        object = status();
        expect_text(json_object_get(object, "away"), "[]");
        json_decref(object);
}

/* ---- what is wrong ---- */

Test(status_report, what_is_wrong_with_the_files_is_shown) {
        g_autofree char *error = NULL;
        json_t *object = NULL;

        tree_write(root, "etc/jobkeeper/jobs.d/bad.yaml",
                   "jobs:\n  bad:\n    exec: [/bin/true]\n    retires: 1\n");
        begin();
        object = status();
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
        begin();
        object = status();
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

        begin();
        (void)g_unlink(file);
        (void)g_mkdir_with_parents(file, 0700);
        digest_memory_set(coordinator->digests, "another", "d1");
        await(memory_is_at_fault, "the memory cannot be written");
        object = status();
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

/* ---- jobs ---- */

static json_t *job_of(const json_t *object, const char *name) {
        return find(json_object_get(object, "jobs"), "job", name);
}

Test(status_report, a_job_is_shown) {
        json_t *object = NULL, *job = NULL;
        int64_t now = (int64_t)(clock_realtime() / USEC_PER_SEC), next = 0;

        write_job_named("manual", "    exec: [/bin/true]\n    nodes: {role: db}\n");
        begin();
        object = status();
        job = job_of(object, "a");
        cr_expect_str_eq(string_of(job, "description"), "Does nothing");
        cr_expect_str_eq(string_of(job, "schedule"), "every 1h");
        cr_expect_str_eq(string_of(job, "state"), "idle");
        cr_expect_str_eq(string_of(job, "why"), "");
        cr_expect(json_is_true(json_object_get(job, "fit")));
        next = json_integer_value(json_object_get(job, "next"));
        cr_expect(next > now && next <= now + 3601 && next % 3600 == 0);
        expect_text(json_object_get(job, "running"), "[]");
        expect_text(json_object_get(job, "last"), "null");
        job = job_of(object, "manual");
        cr_expect_str_eq(string_of(job, "description"), "");
        expect_text(json_object_get(job, "schedule"), "null");
        expect_text(json_object_get(job, "next"), "null");
        expect_text(json_object_get(job, "fit"), "false");
        cr_expect_str_eq(string_of(job, "state"), "no-node");
        json_decref(object);
}

Test(status_report, a_delayed_start_is_shown_beside_its_tick) {
        json_t *object = NULL, *job = NULL;
        int64_t next = 0;

        write_job_named("late", "    every: 2h\n    random-delay: 10min\n    exec: [/bin/true]\n");
        begin();
        object = status();
        job = job_of(object, "late");
        next = json_integer_value(json_object_get(job, "next"));
        cr_expect_eq(next % 7200, 0);
        cr_expect_eq(json_integer_value(json_object_get(job, "next_start")),
                     next + spread_of("late", next, 600));
        job = job_of(object, "a");
        cr_expect_eq(json_integer_value(json_object_get(job, "next_start")),
                     json_integer_value(json_object_get(job, "next")));
        json_decref(object);
}

/* What another node claimed, and what is settled above an older tick that is not. */
static Ledger *ledger_with_claim(void) {
        _cleanup_(run_record_freep) RunRecord *claimed = run_record_new("a", "2000000000-1"),
                                              *skipped = run_record_new("a", "2000003600-1");
        Ledger *ledger = NULL;

        cr_assert_eq(ledger_decode(server_data(JOB), strlen(server_data(JOB)), &ledger), 0);
        claimed->tick = 2000000000;
        claimed->attempt = 1;
        claimed->node = g_strdup("n2");
        claimed->state = RUN_CLAIMED;
        claimed->claimed = 2000000001 * USEC_PER_SEC;
        cr_assert_eq(ledger_claim(ledger, claimed), 0);
        skipped->tick = 2000003600;
        skipped->attempt = 1;
        skipped->node = g_strdup("n3");
        skipped->state = RUN_CLAIMED;
        cr_assert_eq(ledger_claim(ledger, skipped), 0);
        skipped->state = RUN_FAILED;
        skipped->why = g_strdup("exit status 3");
        cr_assert_eq(ledger_settle(ledger, skipped, NULL, 0), 0);
        return ledger;
}

Test(status_report, what_runs_elsewhere_is_shown) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        g_autofree char *text = NULL;
        json_t *object = NULL, *job = NULL;

        begin();
        ledger = ledger_with_claim();
        text = ledger_encode(ledger);
        server_set(server_node(JOB), text);
        object = status();
        job = job_of(object, "a");
        expect_text(
            json_object_get(job, "running"),
            "[{\"attempt\":1,\"claimed\":2000000001.0,\"job\":\"a\",\"node\":\"n2\",\"run\":"
            "\"2000000000-1\",\"state\":\"claimed\",\"tick\":2000000000}]");
        cr_expect_str_eq(string_of(job, "state"), "running");
        cr_expect_str_eq(string_of(json_object_get(job, "last"), "run"), "2000003600-1");
        cr_expect_str_eq(string_of(json_object_get(job, "last"), "why"), "exit status 3");
        json_decref(object);
}

Test(status_report, what_is_attempted_again_is_shown) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        LedgerEntry *entry;
        g_autofree char *text = NULL;
        json_t *object = NULL;

        begin();
        ledger = ledger_with_claim();
        entry = (LedgerEntry *)ledger_find_tick(ledger, 2000003600);
        entry->not_before = 2000003700 * USEC_PER_SEC;
        text = ledger_encode(ledger);
        server_set(server_node(JOB), text);
        object = status();
        expect_text(json_object_get(job_of(object, "a"), "retry"),
                    "{\"attempt\":2,\"not_before\":2000003700.0,\"tick\":2000003600}");
        json_decref(object);
}

static bool both_run(void) {
        return services_alive() == 2;
}

static void expect_both_to_run(void) {
        json_t *object = status(), *running = NULL;

        for (const char *const *name = (const char *const[]){"a", "b", NULL}; *name; name++) {
                running = json_object_get(job_of(object, *name), "running");
                cr_assert_eq(json_array_size(running), 1U);
                cr_expect_str_eq(string_of(json_array_get(running, 0), "job"), *name);
                cr_expect_str_eq(string_of(json_array_get(running, 0), "state"), "running");
                cr_expect_str_eq(string_of(json_array_get(running, 0), "node"), "n1");
                cr_expect_str_eq(string_of(job_of(object, *name), "state"), "running");
        }
        json_decref(object);
}

/* Each job's own, as the ledger has them and also where ZooKeeper says nothing. */
Test(status_report, what_runs_here_is_shown_with_and_without_zookeeper) {
        write_job_named("b", "    every: 1s\n    exec: [/bin/true]\n");
        write_job("    every: 1s\n    exec: [/bin/true]\n");
        open_daemon_on_bus();
        await(both_run, "both run");
        expect_both_to_run();
        port_tell(ports->pdata[0], ZK_STATE_SUSPENDED);
        expect_both_to_run();
}

static bool one_runs(void) {
        return services_alive() == 1;
}

static bool none_runs(void) {
        return services_alive() == 0 && runs_count(coordinator->runs) == 0;
}

Test(status_report, what_left_the_files_is_shown_while_it_runs) {
        json_t *object = NULL, *job = NULL;

        write_job_named("b", "    every: 1s\n    exec: [/bin/true]\n");
        write_job("    every: 300d\n    exec: [/bin/true]\n");
        open_daemon_on_bus();
        await(one_runs, "b runs");
        tree_write(root, "etc/jobkeeper/jobs.d/b.yaml", "jobs: {}\n");
        reload();
        object = status();
        job = job_of(object, "b");
        cr_assert(job);
        cr_expect_str_eq(string_of(job, "state"), "running");
        cr_expect_str_eq(string_of(job, "why"), "it has left this node's job files");
        cr_expect_eq(json_array_size(json_object_get(job, "running")), 1U);
        expect_text(json_object_get(job, "schedule"), "null");
        json_decref(object);
        service_exit(service_newest(), 0);
        await(none_runs, "it is over");
        object = status();
        cr_expect_eq(json_array_size(json_object_get(object, "jobs")), 1U);
        json_decref(object);
}

static bool both_have_ended(void) {
        return services_alive() == 0 && runs_count(coordinator->runs) == 2 &&
               runs_count_results(coordinator->runs) == 2;
}

/* What has ended does not run, also where that cannot be written. */
Test(status_report, a_result_that_is_not_written_yet_is_the_last_run) {
        json_t *object = NULL, *job = NULL;

        write_job_named("b", "    every: 1s\n    exec: [/bin/true]\n");
        write_job("    every: 1s\n    exec: [/bin/true]\n");
        open_daemon_on_bus();
        await(both_run, "both run");
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        await(both_have_ended, "both were stopped");
        object = status();
        job = job_of(object, "a");
        expect_text(json_object_get(job, "running"), "[]");
        cr_expect_str_neq(string_of(job, "state"), "running");
        cr_expect_str_eq(string_of(json_object_get(job, "last"), "state"), "interrupted");
        cr_expect_str_eq(string_of(json_object_get(job, "last"), "node"), "n1");
        json_decref(object);
}

/* ---- a job's state, by a view of the test's own ---- */

static ScheduledJobState state;
static const char *why;

static const JobSpec *view_job(const void *userdata, const char *name) {
        return jobset_find(userdata, name);
}

static ScheduledJobState view_job_state(const void *userdata, const char *name) {
        (void)userdata;
        (void)name;
        return state;
}

static char *view_job_why(const void *userdata, const char *name) {
        (void)userdata;
        (void)name;
        return g_strdup(why);
}

static unsigned looks;

static void view_look_again(void *userdata, const char *name) {
        (void)userdata;
        (void)name;
        looks++;
}

static bool view_can_run(const void *userdata, const char *name) {
        (void)userdata;
        (void)name;
        return false;
}

static const ViewCalls view_calls = {.job = view_job,
                                     .job_state = view_job_state,
                                     .job_why = view_job_why,
                                     .look_again = view_look_again,
                                     .can_run = view_can_run};

static bool is_agreed(void) {
        return digest_memory_get(coordinator->digests, "a");
}

static View own_view(void) {
        return (View){.node = coordinator->node,
                      .tree = coordinator->tree,
                      .jobset = coordinator->jobset,
                      .digests = coordinator->digests,
                      .runs = coordinator->runs,
                      .calls = &view_calls,
                      .userdata = coordinator->jobset};
}

/* What the job remembers, what its ledger says that was just read, and what is shown. */
Test(status_report, what_was_just_read_is_newer_than_what_is_remembered) {
        enum { NONE, EMPTY, CLAIMED };
        static const struct {
                ScheduledJobState state;
                const char *why;
                int read;
                const char *word;
        } cases[] = {
            {JOB_UNREAD, "", NONE, "unread"},
            {JOB_UNREAD, "", EMPTY, "idle"},
            {JOB_UNREAD, "damaged", EMPTY, "unread"},
            {JOB_UNREAD, "", CLAIMED, "running"},
            {JOB_IDLE, "", NONE, "idle"},
            {JOB_IDLE, "", CLAIMED, "running"},
            {JOB_RUNNING, "", NONE,
             "unread"}, /* elsewhere, and nobody knows whether it still does */
            {JOB_RUNNING, "", EMPTY, "idle"},
            {JOB_NO_NODE, "x", EMPTY, "no-node"},
            {JOB_NO_NODE, "x", CLAIMED, "running"},
            {JOB_WAITING, "x", CLAIMED, "waiting"},
            {JOB_DRIFTED, "x", CLAIMED, "drifted"},
            {JOB_UNFIT, "x", CLAIMED, "unfit"},
        };
        _cleanup_(ledger_freep) Ledger *empty = NULL, *claimed = NULL;
        const Ledger *ledgers[] = {NULL, NULL, NULL};
        View view;

        begin();
        await(is_agreed, "our definition is in force");
        view = own_view();
        empty = ledger_new(0, digest_memory_get(coordinator->digests, "a"));
        ledgers[EMPTY] = empty;
        claimed = ledger_with_claim();
        ledgers[CLAIMED] = claimed;
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                json_t *job = NULL;

                state = cases[i].state;
                why = cases[i].why;
                job = status_report_job(&view, "a", ledgers[cases[i].read]);
                cr_expect_str_eq(string_of(job, "state"), cases[i].word, "case %zu: %s", i,
                                 string_of(job, "state"));
                if (cases[i].state != JOB_RUNNING || cases[i].read != NONE)
                        cr_expect_str_eq(string_of(job, "why"), cases[i].why);
                else
                        cr_expect_str_eq(string_of(job, "why"),
                                         "it was running when ZooKeeper last answered");
                cr_expect(json_is_false(json_object_get(job, "fit")));
                json_decref(job);
        }
}

/* By our file the ticks are others, which never come. */
Test(status_report, where_it_is_drifted_the_next_tick_is_that_in_force) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        json_t *job = NULL;
        View view;

        begin();
        view = own_view();
        cr_assert_eq(ledger_decode(server_data(JOB), strlen(server_data(JOB)), &ledger), 0);
        g_free(ledger->schedule);
        ledger->schedule = g_strdup("2099-01-01 12:00:00 UTC");
        state = JOB_DRIFTED;
        why = "";
        job = status_report_job(&view, "a", ledger);
        expect_text(json_object_get(job, "next"), "4070952000");
        json_decref(job);
        job = status_report_job(&view, "a", NULL);
        expect_text(json_object_get(job, "next"), "null");
        json_decref(job);
        state = JOB_IDLE;
        job = status_report_job(&view, "a", ledger);
        cr_expect_lt(json_integer_value(json_object_get(job, "next")), 4070952000);
        json_decref(job);
}

static Ledger *ledger_there(void) {
        Ledger *ledger = NULL;

        cr_assert_eq(ledger_decode(server_data(JOB), strlen(server_data(JOB)), &ledger), 0);
        return ledger;
}

static bool is_drift_told(void) {
        return strstr(server_data(NODES "/n1"), "\"drifted\":[\"a\"]");
}

/* Another node's file has changed, and its job is due in an hour. */
Test(status_report, what_another_node_put_in_force_shows_at_once) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        g_autofree char *data = NULL;
        json_t *object = NULL, *job = NULL;

        begin();
        await(is_agreed, "our definition is in force");
        await_quiet();
        ledger = ledger_there();
        ledger_adopt_digest(ledger, "other", (int64_t)(clock_realtime() / USEC_PER_SEC));
        g_free(ledger->schedule);
        ledger->schedule = g_strdup("2099-01-01 12:00:00 UTC");
        data = ledger_encode(ledger);
        server_set(server_node(JOB), data);
        object = status();
        job = job_of(object, "a");
        cr_expect_str_eq(string_of(job, "state"), "drifted");
        expect_text(json_object_get(job, "next"), "4070952000");
        json_decref(object);
        await(is_drift_told, "the others are told");
}

/* Where our own file has changed, ours is about to be put in force; and the job is asked to look
 * only where there is something to see. */
Test(status_report, what_was_read_is_compared_with_what_was_agreed_on) {
        static const char *const digests[] = {NULL, "other", ""};
        static const char *const states[] = {"idle", "drifted", "idle"};
        View view;

        begin();
        await(is_agreed, "our definition is in force");
        view = own_view();
        state = JOB_IDLE;
        why = "";
        for (size_t i = 0; i < G_N_ELEMENTS(digests); i++) {
                _cleanup_(ledger_freep) Ledger *ledger = ledger_there();
                json_t *job = NULL;

                looks = 0;
                if (digests[i]) {
                        g_free(ledger->digest);
                        ledger->digest = g_strdup(digests[i]);
                }
                job = status_report_job(&view, "a", ledger);
                cr_expect_str_eq(string_of(job, "state"), states[i]);
                cr_expect_eq(looks, i == 1);
                json_decref(job);
                if (i != 1)
                        continue;
                digest_memory_set(coordinator->digests, "a", "agreed");
                job = status_report_job(&view, "a", ledger);
                cr_expect_str_eq(string_of(job, "state"), "idle", "ours has changed");
                cr_expect_eq(looks, 1);
                json_decref(job);
        }
}

Test(status_report, a_job_that_left_meanwhile_is_not_shown) {
        View view;

        begin();
        view = own_view();
        cr_expect_null(status_report_job(&view, "gone", NULL));
}

/* Without its ledger it is not known. */
Test(status_report, what_is_expected_of_a_job_is_shown) {
        json_t *object = NULL, *expected = NULL;

        write_job("    every: 1h\n    exec: [/bin/true]\n    expect-within: 2h\n");
        open_daemon_on_bus();
        object = status();
        expected = json_object_get(find(json_object_get(object, "jobs"), "job", "a"), "expected");
        cr_expect_eq(json_number_value(json_object_get(expected, "within")), 7200.0);
        cr_expect(json_number_value(json_object_get(expected, "since")) > 1e9);
        cr_expect(json_is_false(json_object_get(expected, "succeeded")));
        cr_expect(json_is_false(json_object_get(expected, "overdue")));
        json_decref(object);

        port_tell(ports->pdata[0], ZK_STATE_SUSPENDED);
        object = status();
        expected = json_object_get(find(json_object_get(object, "jobs"), "job", "a"), "expected");
        expect_text(expected,
                    "{\"overdue\":null,\"since\":null,\"succeeded\":null,\"within\":7200.0}");
        json_decref(object);
}

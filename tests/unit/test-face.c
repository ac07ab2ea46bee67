/* What the daemon shows of itself on the bus, in a whole daemon: why it runs nothing, who can run a
 * job, and that what is asked there is done. */
#include "bus-fixture.h"
#include "job-table.h"
#include "journal.h"
#include "members.h"
#include "paths.h"
#include "registration.h"
#include "requests.h"
#include "run-record.h"
#include "scheduled-job.h"
#include "tree.h"

#define ROOT "/jobkeeper"
#define RUNS ROOT "/jobs/a/runs"
#define OWN_LOCK ROOT "/locks/job:a"

TestSuite(face, .init = setup_bus, .fini = teardown_bus);

static const char *fault_of(json_t *status) {
        return json_string_value(json_object_get(json_object_get(status, "session"), "fault"));
}

/* Return: what Status says is wrong; newly allocated. */
static char *fault(void) {
        json_t *status = NULL;
        char *text = NULL;

        ask_as(bus, BUS_NAME_ROOT, "Status", NULL);
        status = expect_json();
        text = g_strdup(fault_of(status));
        json_decref(status);
        return text;
}

static void expect_fault(const char *expected) {
        g_autofree char *text = fault();

        cr_assert_not_null(text);
        cr_expect_str_eq(text, expected);
}

/* ---- why it runs nothing ---- */

static bool is_faulty(void) {
        return *tree_fault(coordinator->tree) || *registration_fault(coordinator->registration);
}

Test(face, nothing_is_wrong_with_a_daemon_that_is_ready) {
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon_on_bus();
        expect_fault("");
}

Test(face, a_tree_of_another_version_is_shown) {
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        server_create(ROOT, "", 0);
        server_create(ROOT "/version", "99", 0);
        open_daemon();
        await_daemon_on_bus();
        await(is_faulty, "something is wrong");
        expect_fault(ROOT "/version: unknown layout for jobkeeper " JOBKEEPER_VERSION
                          " (expected 1); no jobs are run until it matches");
}

Test(face, a_name_that_another_machine_has_is_shown) {
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        server_create(ROOT, "", 0);
        server_create(ROOT "/nodes", "", 0);
        server_create(ROOT "/nodes/n1", "{\"machine\":\"m2\",\"boot\":\"b\"}", 77);
        open_daemon();
        await_daemon_on_bus();
        await(is_faulty, "something is wrong");
        expect_fault("another machine (machine id m2) is registered as node \"n1\"; this node "
                     "starts no runs until one of the two has another node.name");
        cr_expect_eq(journal_count(MESSAGE_NODE_NAME_TAKEN), 1U);
}

static bool is_ready(void) {
        return node_is_ready(coordinator->node);
}

/* A process before us left it, and the session that it ran under is over. */
Test(face, a_unit_that_is_being_stopped_is_shown) {
        service_manager.deaf = true;
        service_manager.patience = LIMIT;
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        (void)service_add("jobkeeper-a-1000-1.service", "0123456789abcdef0123456789abcdef",
                          "system-jobkeeper.slice");
        open_daemon();
        await_daemon_on_bus();
        expect_fault("runs left by the previous daemon process have not ended yet");
        service_obey(service_find("jobkeeper-a-1000-1.service"));
        await(is_ready, "ready");
        expect_fault("");
}

static ServerWay keep_lists_of_own_lock(const ZkCall *call) {
        return call->request == REQUEST_LIST && g_str_equal(call->path, OWN_LOCK) ? SERVER_KEEP
                                                                                  : SERVER_ANSWER;
}

Test(face, a_look_at_what_was_waited_for_is_shown) {
        write_job("    every: 1h\n    lock-wait: 1h\n    exec: [/bin/true]\n");
        open_daemon();
        await(is_ready, "ready");
        close_daemon();
        server_forget_watches();
        server.way = keep_lists_of_own_lock;
        open_daemon_again();
        await_daemon_on_bus();
        await(is_ready, "ready");
        expect_fault("what the previous daemon process waited for is being looked at");
        server.way = NULL;
        server_release();
        await_quiet();
        expect_fault("");
}

/* ---- what keeps a job ---- */

static bool is_waiting(void) {
        return scheduled_job_state(job_table_find(coordinator->jobs, "a")) == JOB_WAITING;
}

Test(face, the_lock_that_a_job_waits_for_is_shown) {
        json_t *status = NULL;
        const json_t *job;

        write_job("    lock-wait: 1h\n    exec: [/bin/true]\n");
        server_create(ROOT, "", 0);
        server_create(ROOT "/locks", "", 0);
        server_create(OWN_LOCK, "", 0);
        server_create(OWN_LOCK "/_c_00000000-0000-0000-0000-000000000000-__WRIT__0000000000", "",
                      99);
        open_daemon_on_bus();
        ask_as(bus, BUS_NAME_ROOT, "Run", "s", "a");
        json_decref(expect_json());
        await(is_waiting, "it waits");
        serve_for(100 * USEC_PER_MSEC);
        ask_as(bus, BUS_NAME_ROOT, "Status", NULL);
        status = expect_json();
        job = json_array_get(json_object_get(status, "jobs"), 0);
        cr_expect_str_eq(json_string_value(json_object_get(job, "state")), "waiting");
        cr_expect_str_eq(json_string_value(json_object_get(job, "why")),
                         "its run by hand waits for the lock job:a (1 before it)");
        json_decref(status);
}

/* ---- asking for a run ---- */

static bool has_started(void) {
        return started->len > 0;
}

Test(face, a_run_that_is_asked_for_is_run_in_the_name_of_who_asked) {
        g_autofree char *who = g_strdup_printf("uid %u", (unsigned)getuid()), *path = NULL;
        _cleanup_(run_record_freep) RunRecord *record = NULL;
        json_t *answer = NULL;

        write_job("    exec: [/bin/true, now]\n");
        open_daemon_on_bus();
        ask_as(bus, BUS_NAME_ROOT, "Run", "s", "a");
        answer = expect_json();
        cr_expect_str_eq(json_string_value(json_object_get(answer, "job")), "a");
        cr_assert(run_id_is_valid(json_string_value(json_object_get(answer, "run"))));
        await(has_started, "it runs");
        path =
            g_strconcat(RUNS "/", json_string_value(json_object_get(answer, "run")), (char *)NULL);
        cr_assert_not_null(server_node(path));
        cr_assert_eq(run_record_decode(server_data(path), strlen(server_data(path)), &record), 0);
        cr_expect_str_eq(record->who, who);
        cr_expect_eq(record->tick, 0);
        cr_expect_eq(server_count(ROOT "/requests"), 0U);
        json_decref(answer);
}

static bool are_two(void) {
        return members_list(coordinator->members)->len == 2;
}

Test(face, a_run_that_no_node_can_run_is_not_asked_for) {
        write_job("    exec: [/bin/true]\n    nodes: {role: worker}\n");
        open_daemon_on_bus();
        ask_as(bus, BUS_NAME_ROOT, "Run", "s", "a");
        expect_said(BUS_ERROR_NO_CANDIDATE ": no node of the cluster can run job \"a\" at present");
        cr_expect_eq(server_count(ROOT "/requests"), 0U);
        /* One comes that can. */
        server_write(ROOT "/nodes/n2",
                     "{\"machine\":\"m2\",\"boot\":\"b\",\"labels\":{\"role\":\"worker\"}}");
        await(are_two, "it is there");
        ask_as(bus, BUS_NAME_ROOT, "Run", "s", "a");
        expect_said("\"run\":");
        cr_expect_eq(server_count(ROOT "/requests"), 1U);
        cr_expect_eq(started->len, 0U);
}

Test(face, a_job_that_nobody_has_cannot_be_run) {
        write_job("    exec: [/bin/true]\n");
        open_daemon_on_bus();
        ask_as(bus, BUS_NAME_ROOT, "Run", "s", "b");
        expect_said(BUS_ERROR_NO_SUCH_JOB ": there is no job \"b\" on this node");
}

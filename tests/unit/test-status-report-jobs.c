/* What Status says of each job, in a whole daemon. */
#include "status-report.h"

#include "spread.h"
#include "status-fixture.h"

TestSuite(status_report, .init = setup_bus, .fini = teardown_bus);

Test(status_report, a_job_is_shown) {
        json_t *object = NULL, *job = NULL;
        int64_t now = (int64_t)(clock_realtime() / USEC_PER_SEC), next = 0;

        write_job_named("manual", "    exec: [/bin/true]\n    nodes: {role: db}\n");
        begin_with_a();
        object = ask_status();
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
        cr_expect_null(json_object_get(job, "after"));
        cr_expect_str_eq(string_of(job, "description"), "");
        expect_text(json_object_get(job, "schedule"), "null");
        expect_text(json_object_get(job, "next"), "null");
        expect_text(json_object_get(job, "fit"), "false");
        cr_expect_str_eq(string_of(job, "state"), "no-node");
        json_decref(object);
}

Test(status_report, what_a_job_runs_after_is_shown) {
        json_t *object = NULL;

        write_job_named("last", "    exec: [/bin/true]\n    after: [a, {job: b, on: any}]\n");
        write_job_named("b", "    exec: [/bin/true]\n");
        begin_with_a();
        object = ask_status();
        expect_text(json_object_get(job_of(object, "last"), "after"), "[\"a\",\"b\"]");
        json_decref(object);
}

Test(status_report, a_delayed_start_is_shown_beside_its_tick) {
        json_t *object = NULL, *job = NULL;
        int64_t next = 0;

        write_job_named("late", "    every: 2h\n    random-delay: 10min\n    exec: [/bin/true]\n");
        begin_with_a();
        object = ask_status();
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

Test(status_report, what_runs_elsewhere_is_shown) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        g_autofree char *text = NULL;
        json_t *object = NULL, *job = NULL;

        begin_with_a();
        ledger = ledger_with_claim();
        text = ledger_encode(ledger);
        server_set(server_node(JOB), text);
        object = ask_status();
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

        begin_with_a();
        ledger = ledger_with_claim();
        entry = (LedgerEntry *)ledger_find_tick(ledger, 2000003600);
        entry->not_before = 2000003700 * USEC_PER_SEC;
        text = ledger_encode(ledger);
        server_set(server_node(JOB), text);
        object = ask_status();
        expect_text(json_object_get(job_of(object, "a"), "retry"),
                    "{\"attempt\":2,\"not_before\":2000003700.0,\"tick\":2000003600}");
        json_decref(object);
}

Test(status_report, a_service_is_one) {
        json_t *object = NULL;

        write_job_named("b", "    exec: [/bin/true]\n");
        write_job("    mode: service\n    exec: [/bin/true]\n    nodes: n2\n");
        open_daemon_on_bus();
        await_quiet();
        object = ask_status();
        cr_expect_str_eq(string_of(job_of(object, "a"), "mode"), "service");
        cr_expect(json_is_null(json_object_get(job_of(object, "a"), "next")));
        cr_expect_null(json_object_get(job_of(object, "b"), "mode"));
        json_decref(object);
}

static bool both_run(void) {
        return services_alive() == 2;
}

static void expect_both_to_run(void) {
        json_t *object = ask_status(), *running = NULL;

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
        object = ask_status();
        job = job_of(object, "b");
        cr_assert(job);
        cr_expect_str_eq(string_of(job, "state"), "running");
        cr_expect_str_eq(string_of(job, "why"), "it has left this node's job files");
        cr_expect_eq(json_array_size(json_object_get(job, "running")), 1U);
        expect_text(json_object_get(job, "schedule"), "null");
        json_decref(object);
        service_exit(service_newest(), 0);
        await(none_runs, "it is over");
        object = ask_status();
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
        object = ask_status();
        job = job_of(object, "a");
        expect_text(json_object_get(job, "running"), "[]");
        cr_expect_str_neq(string_of(job, "state"), "running");
        cr_expect_str_eq(string_of(json_object_get(job, "last"), "state"), "interrupted");
        cr_expect_str_eq(string_of(json_object_get(job, "last"), "node"), "n1");
        json_decref(object);
}

/* Without its ledger it is not known. */
Test(status_report, what_is_expected_of_a_job_is_shown) {
        json_t *object = NULL, *expected = NULL;

        write_job("    every: 1h\n    exec: [/bin/true]\n    expect-within: 2h\n");
        open_daemon_on_bus();
        object = ask_status();
        expected =
            json_object_get(find_with(json_object_get(object, "jobs"), "job", "a"), "expected");
        cr_expect_eq(json_number_value(json_object_get(expected, "within")), 7200.0);
        cr_expect(json_number_value(json_object_get(expected, "since")) > 1e9);
        cr_expect(json_is_false(json_object_get(expected, "succeeded")));
        cr_expect(json_is_false(json_object_get(expected, "overdue")));
        json_decref(object);

        port_tell(ports->pdata[0], ZK_STATE_SUSPENDED);
        object = ask_status();
        expected =
            json_object_get(find_with(json_object_get(object, "jobs"), "job", "a"), "expected");
        expect_text(expected,
                    "{\"overdue\":null,\"since\":null,\"succeeded\":null,\"within\":7200.0}");
        json_decref(object);
}

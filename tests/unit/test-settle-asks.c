/* What a settle asks for, in a whole daemon (daemon-fixture.h): the request that its transaction
 * makes, the run that comes of it, and that it comes once. */
#include <string.h>
#include <unistd.h>

#include "follow-fixture.h"
#include "ledger.h"
#include "paths.h"
#include "temporary-tree.h"

#define ROOT FOLLOW_ROOT
#define REQUESTS ROOT "/requests"

TestSuite(settle_asks, .init = setup, .fini = teardown);

static RunRecord *record_of(const char *job) {
        g_autofree char *run = follow_run(job), *path = path_run(ROOT, job, run);
        const char *data = server_data(path);
        RunRecord *record = NULL;

        cr_assert_eq(run_record_decode(data, strlen(data), &record), 0, "%s: %s", path, data);
        return record;
}

/* ---- one after the other ---- */

Test(settle_asks, a_run_follows_with_the_tick_and_the_particulars) {
        g_autofree char *unit = NULL, *run = NULL, *parent = NULL, *stamp = NULL, *epoch = NULL;
        _cleanup_(run_record_freep) RunRecord *record = NULL;

        write_job_named("b", "    after: a\n    exec: [/bin/echo]\n");
        follow_start("");
        service_exit(service_newest(), 0);
        await(follow_has_two_starts, "the run after it");
        run = follow_run("b");
        unit = unit_name_for_run("b", run);
        cr_expect_str_eq(service_newest()->name, unit);
        parent = g_strdup_printf("JOBKEEPER_PARENT_RUN=%" G_GINT64_FORMAT "-1", follow_tick);
        stamp = g_strdup_printf("JOBKEEPER_TICK_EPOCH=%" G_GINT64_FORMAT, follow_tick);
        cr_expect(follow_has_variable("JOBKEEPER_PARENT_JOB=a"));
        cr_expect(follow_has_variable(parent));
        cr_expect(follow_has_variable(stamp));
        cr_expect(follow_has_variable("JOBKEEPER_PARENT_STATE=succeeded"));
        cr_expect(follow_has_variable("JOBKEEPER_PARENT_EXIT_STATUS=0"));
        cr_expect(follow_has_variable("JOBKEEPER_PARENT_NODE=n1"));
        cr_expect(follow_has_variable("JOBKEEPER_PARENT_WHY="));
        record = record_of("b");
        epoch = g_strdup_printf("after a, run %" G_GINT64_FORMAT "-1", follow_tick);
        cr_expect_str_eq(record->who, epoch);
        cr_expect_eq(record->tick, 0);
        cr_expect_eq(record->terms.parent.chain, 1U);
        cr_expect_eq(server_count(REQUESTS), 0U, "its claim took the request away");
}

/* What nothing follows costs nothing more, and no run without a parent has its variables. */
Test(settle_asks, nothing_is_asked_for_where_nothing_follows) {
        write_job_named("b", "    after: {job: a, on: failure}\n    exec: [/bin/echo]\n");
        follow_start("");
        for (char **variable = service_newest()->environment; *variable; variable++)
                cr_expect_not(g_str_has_prefix(*variable, "JOBKEEPER_PARENT"), "%s", *variable);
        service_exit(service_newest(), 0);
        await(follow_is_over, "it is settled");
        await_quiet();
        cr_expect_eq(server_count(REQUESTS), 0U);
        cr_expect_eq(started->len, 1U);
}

Test(settle_asks, a_chain_has_the_tick_of_its_first_run) {
        g_autofree char *stamp = NULL, *second = NULL, *parent = NULL;

        write_job_named("b", "    after: a\n    exec: [/bin/echo]\n");
        write_job_named("c", "    after: b\n    exec: [/bin/cat]\n");
        follow_start("");
        service_exit(service_newest(), 0);
        await(follow_has_two_starts, "the second");
        second = follow_run("b");
        service_exit(service_newest(), 0);
        await(follow_has_three_starts, "the third");
        stamp = g_strdup_printf("JOBKEEPER_TICK_EPOCH=%" G_GINT64_FORMAT, follow_tick);
        parent = g_strconcat("JOBKEEPER_PARENT_RUN=", second, NULL);
        cr_expect(follow_has_variable(stamp));
        cr_expect(follow_has_variable("JOBKEEPER_PARENT_JOB=b"));
        cr_expect(follow_has_variable(parent));
}

/* No circle that only several nodes' files together make goes on for ever. */
Test(settle_asks, a_chain_comes_to_an_end) {
        write_job_named("b", "    exec: [/bin/echo]\n");
        write_job_named("c", "    after: b\n    exec: [/bin/cat]\n");
        follow_start("");
        follow_ask_for_b(RUN_PARENTS_MAX);
        await(follow_has_two_starts, "the last of it");
        service_exit(service_newest(), 0);
        service_exit(service_manager.services->pdata[0], 0);
        await(follow_both_are_over, "all is over");
        await_quiet();
        cr_expect_eq(started->len, 2U);
        cr_expect_eq(server_count(REQUESTS), 0U);
}

Test(settle_asks, but_not_before) {
        write_job_named("b", "    exec: [/bin/echo]\n");
        write_job_named("c", "    after: b\n    exec: [/bin/cat]\n");
        follow_start("");
        follow_ask_for_b(RUN_PARENTS_MAX - 1);
        await(follow_has_two_starts, "the last but one");
        service_exit(service_newest(), 0);
        await(follow_has_three_starts, "the last");
}

/* ---- failures ---- */

Test(settle_asks, only_the_last_attempt_alarms) {
        write_job_named("mail", "    exec: [/bin/echo]\n");
        follow_start("    retries: {attempts: 2, delay: 0}\n    on-failure: mail\n");
        service_exit(service_newest(), 3);
        await(follow_has_two_starts, "another attempt");
        cr_expect_not(follow_has_variable("JOBKEEPER_PARENT_JOB=a"));
        service_exit(service_newest(), 4);
        await(follow_has_three_starts, "the third");
        cr_expect(follow_has_variable("JOBKEEPER_PARENT_JOB=a"));
        cr_expect(follow_has_variable("JOBKEEPER_PARENT_STATE=failed"));
        cr_expect(follow_has_variable("JOBKEEPER_PARENT_EXIT_STATUS=4"));
}

/* Two requests of one name would keep the end from being written. */
Test(settle_asks, what_follows_in_two_ways_is_asked_for_once) {
        write_job_named("b", "    after: {job: a, on: any}\n    exec: [/bin/echo]\n");
        follow_start("    on-failure: b\n");
        service_exit(service_newest(), 1);
        await(follow_has_two_starts, "it follows");
        service_exit(service_newest(), 0);
        await(follow_both_are_over, "all is over");
        await_quiet();
        cr_expect_eq(started->len, 2U);
}

static bool mail_has_started(void) {
        return follow_has_started() && follow_has_variable("JOBKEEPER_PARENT_JOB=a");
}

static bool ledger_fails(void) {
        return strstr(server_data(ROOT "/jobs/a"), "\"failing\":true") != NULL;
}

Test(settle_asks, what_is_well_again_is_told_once) {
        write_job_named("mail", "    exec: [/bin/echo]\n");
        write_job("    every: 1s\n    exec: [/bin/true]\n    on-recovery: mail\n");
        open_daemon();
        await(follow_has_started, "a start");
        service_exit(service_newest(), 1);
        await(ledger_fails, "it has failed");
        await(follow_has_two_starts, "the next tick");
        cr_expect_not(follow_has_variable("JOBKEEPER_PARENT_JOB=a"));
        service_exit(service_newest(), 0);
        await(mail_has_started, "the mail");
        cr_expect(follow_has_variable("JOBKEEPER_PARENT_STATE=succeeded"));
        cr_expect_not(ledger_fails());
}

/* ---- once, whatever happens ---- */

Test(settle_asks, an_answer_that_was_lost_asks_once) {
        write_job_named("b", "    after: a\n    exec: [/bin/echo]\n");
        follow_start("");
        server.way = follow_lose_the_answer;
        service_exit(service_newest(), 0);
        await(follow_has_two_starts, "the run after it");
        service_exit(service_newest(), 0);
        await(follow_both_are_over, "all is over");
        await_quiet();
        cr_expect_eq(started->len, 2U);
        cr_expect_eq(follow_tries, 1U);
}

static ServerWay lose_all_that_claims_b(const ZkCall *call) {
        return call_has(call, ZK_OP_CREATE, "/jobs/b/runs/") ? SERVER_LOSE : SERVER_ANSWER;
}

static bool is_asked(void) {
        g_autofree char *path = follow_request_path("b");

        return server_node(path) != NULL;
}

/* The process that settled is gone before it has begun what follows: the next one finds it. */
Test(settle_asks, what_was_asked_for_outlives_who_asked) {
        write_job_named("b", "    after: a\n    exec: [/bin/echo]\n");
        follow_start("");
        server.way = lose_all_that_claims_b;
        service_exit(service_newest(), 0);
        await(is_asked, "the request");
        close_daemon();
        server.way = NULL;
        open_daemon_again();
        await(follow_has_two_starts, "the run after it");
        cr_expect(follow_has_variable("JOBKEEPER_PARENT_JOB=a"));
}

/* Others settled the run as unknown, and by their definitions asked for what we ask for, too: what
 * came of it has its record. */
static void settled_by_others(void) {
        g_autofree char *run = run_id_for_tick(follow_tick, 1), *path = path_run(ROOT, "a", run),
                        *data = NULL;
        _cleanup_(run_record_freep) RunRecord *record = NULL;

        cr_assert_eq(run_record_decode(server_data(path), strlen(server_data(path)), &record), 0);
        record->state = RUN_UNKNOWN;
        record->ended = clock_realtime();
        data = run_record_encode(record);
        server_set(server_node(path), data);
}

/* By the ledger, too: the newest run that is over has failed. */
static void note_failing(void) {
        const char *data = server_data(ROOT "/jobs/a");
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        g_autofree char *text = NULL;

        cr_assert_eq(ledger_decode(data, strlen(data), &ledger), 0);
        ledger->failing = true;
        text = ledger_encode(ledger);
        server_write(ROOT "/jobs/a", text);
}

Test(settle_asks, what_is_known_better_asks_for_what_was_not_asked_for) {
        write_job_named("b", "    after: a\n    exec: [/bin/echo]\n");
        write_job_named("c", "    after: {job: a, on: any}\n    exec: [/bin/cat]\n");
        follow_start("");
        settled_by_others();
        service_exit(service_newest(), 0);
        await(follow_has_two_starts, "what follows a success");
        cr_expect_str_eq(started->pdata[1], "/bin/echo");
        await_quiet();
        cr_expect_eq(started->len, 2U, "what follows any end was asked for by the others");
}

/* Somebody deleted what they wrote of it, and the ledger does not have it any more. */
static void forget_the_run(void) {
        g_autofree char *run = run_id_for_tick(follow_tick, 1), *path = path_run(ROOT, "a", run),
                        *text = NULL;
        const char *data = server_data(ROOT "/jobs/a");
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        cr_assert_eq(ledger_decode(data, strlen(data), &ledger), 0);
        g_ptr_array_set_size(ledger->open, 0);
        ledger->mark = follow_tick;
        text = ledger_encode(ledger);
        server_set(server_node(ROOT "/jobs/a"), text);
        server_remove(path);
}

Test(settle_asks, also_where_what_was_known_of_it_is_gone) {
        write_job_named("b", "    after: a\n    exec: [/bin/echo]\n");
        write_job_named("c", "    after: {job: a, on: any}\n    exec: [/bin/cat]\n");
        follow_start("");
        forget_the_run();
        service_exit(service_newest(), 0);
        await(follow_has_two_starts, "what follows a success");
        cr_expect_str_eq(started->pdata[1], "/bin/echo");
        await_quiet();
        cr_expect_eq(started->len, 2U, "what follows any end was asked for by the others");
}

/* They had one job told that it had failed; that job is told as well that it had not. */
Test(settle_asks, a_run_that_was_taken_for_a_failure_is_told_to_be_well) {
        g_autofree char *run = NULL, *path = NULL;

        write_job_named("tell", "    exec: [/bin/echo]\n");
        follow_start("    on-failure: tell\n    on-recovery: tell\n");
        settled_by_others();
        note_failing();
        run = follow_run("tell");
        path = path_run(ROOT, "tell", run);
        server_create(path, "{}", 0);
        service_exit(service_newest(), 0);
        await(follow_has_two_starts, "it is told that it is well");
        cr_expect(follow_has_variable("JOBKEEPER_PARENT_STATE=succeeded"));
}

/* The files were read again while the run was under way. */
Test(settle_asks, what_follows_a_job_by_its_new_name_follows_a_run_of_its_old_one) {
        g_autofree char *path = tree_path(root, "etc/jobkeeper/jobs.d/a.yaml");

        write_job_named("b", "    after: new\n    exec: [/bin/echo]\n");
        follow_start("");
        cr_assert_eq(unlink(path), 0);
        write_job_named("new", "    was: a\n    exec: [/bin/false]\n");
        reload();
        service_exit(service_newest(), 0);
        await(follow_has_two_starts, "what follows a success");
        cr_expect_str_eq(started->pdata[1], "/bin/echo");
        cr_expect(follow_has_variable("JOBKEEPER_PARENT_JOB=a"));
}

Test(settle_asks, what_has_its_record_is_not_asked_for_again) {
        g_autofree char *run = NULL, *path = NULL;

        write_job_named("b", "    after: a\n    exec: [/bin/echo]\n");
        follow_start("");
        settled_by_others();
        run = follow_run("b");
        path = path_run(ROOT, "b", run);
        server_create(path, "{}", 0);
        service_exit(service_newest(), 0);
        await(follow_is_over, "it is settled");
        await_quiet();
        cr_expect_eq(started->len, 1U);
        cr_expect_eq(server_count(REQUESTS), 0U);
}

/* Others, whose files say otherwise, have asked for "b": that waits still, by whatever name the job
 * has here. */
static void expect_not_asked_for_again(const char *name, const char *keys) {
        g_autofree char *path = NULL;

        write_job_named(name, keys);
        follow_start("");
        settled_by_others();
        path = follow_request_path("b");
        server_create(path, "{}", 0);
        service_exit(service_newest(), 0);
        await(follow_is_over, "it is settled");
        cr_expect_str_eq(server_data(path), "{}");
        cr_expect_eq(server_count(REQUESTS), 1U);
}

Test(settle_asks, what_has_its_request_is_not_asked_for_again) {
        expect_not_asked_for_again("b", "    after: a\n    exec: [/bin/echo]\n");
}

/* Somebody deleted where requests are. */
Test(settle_asks, their_directory_is_made_again) {
        write_job_named("b", "    after: a\n    exec: [/bin/echo]\n");
        follow_start("");
        server_remove(REQUESTS);
        service_exit(service_newest(), 0);
        await(follow_is_over, "it is settled");
        cr_expect_eq(server_count(REQUESTS), 1U);
}

/* ---- by a name of before ---- */

/* Another machine, with the file of before, settled "a" and asked for "b"; here that is "b2". */
static void ask_by_the_old_name(void) {
        g_autofree char *path = follow_request_path("b"), *run = follow_run("b"),
                        *data = g_strdup_printf(
                            "{\"job\":\"b\",\"run\":\"%s\",\"why\":\"after\",\"not_after\":"
                            "%" G_GINT64_FORMAT ",\"within\":60,\"parent\":{\"job\":\"a\","
                            "\"run\":\"%" G_GINT64_FORMAT "-1\",\"state\":\"succeeded\"}}",
                            run, follow_tick + 60, follow_tick);

        server_create(path, data, 0);
        server_fire_parent(path);
}

/* The ledger of that name is closed: nobody else would run it. */
Test(settle_asks, what_was_asked_for_by_the_name_that_it_had_is_run_once) {
        g_autofree char *run = NULL, *path = NULL;

        write_job_named("b2", "    was: b\n    after: a\n    exec: [/bin/echo]\n");
        follow_start("");
        settled_by_others();
        run = follow_run("b");
        path = path_run(ROOT, "b2", run);
        ask_by_the_old_name();
        await(follow_has_two_starts, "it is run");
        cr_expect(follow_has_variable("JOBKEEPER_PARENT_JOB=a"));
        cr_expect_not_null(server_node(path));
        service_exit(service_manager.services->pdata[0], 0);
        service_exit(service_newest(), 0);
        await(follow_both_are_over, "all is over");
        await_quiet();
        cr_expect_eq(started->len, 2U, "who knows how it ended finds it");
        cr_expect_eq(server_count(REQUESTS), 0U);
}

Test(settle_asks, what_waits_by_the_name_that_it_had_is_not_asked_for_again) {
        expect_not_asked_for_again("b2", "    was: b\n    after: a\n    exec: [/bin/echo]\n");
}

/* ---- how long it may wait ---- */

#define HOLDER ROOT "/locks/r/_c_00000000-0000-0000-0000-000000000000-__WRIT__0000000000"

static bool is_given_up(void) {
        g_autofree char *path = follow_request_path("b");

        return !server_node(path);
}

static bool b_is_recorded(void) {
        g_autofree char *run = follow_run("b"), *path = path_run(ROOT, "b", run);

        return server_node(path) != NULL;
}

Test(settle_asks, it_may_be_as_late_as_its_job) {
        _cleanup_(run_record_freep) RunRecord *record = NULL;

        server_create(ROOT, "", 0);
        server_create(ROOT "/locks", "", 0);
        server_create(ROOT "/locks/r", "", 0);
        server_create(HOLDER, "", 99);
        write_job_named("b", "    after: a\n    exec: [/bin/echo]\n    locks: {r: exclusive}\n"
                             "    start-deadline: 2s\n");
        follow_start("");
        service_exit(service_newest(), 0);
        await(is_asked, "the request");
        await(is_given_up, "its end");
        await(b_is_recorded, "its record");
        record = record_of("b");
        cr_expect_eq(record->state, RUN_SKIPPED);
        cr_expect(g_str_has_prefix(record->who, "after a, run "), "%s", record->who);
        cr_expect_str_eq(record->terms.parent.job, "a", "nobody asked for it by hand");
        cr_expect_eq(started->len, 1U);
}

/* ---- what somebody else wrote ---- */

static void ask_by_hand(const char *more) {
        g_autofree char *path = follow_request_path("b"),
                        *data = g_strdup_printf("{\"job\":\"b\",\"not_after\":%" G_GINT64_FORMAT
                                                ",\"within\":60%s}",
                                                follow_tick + 60, more);

        server_create(path, data, 0);
        server_fire_parent(path);
        serve_for(USEC_PER_SEC / 2);
        cr_expect_eq(started->len, 1U, "%s", data);
        server_delete(path);
        serve_for(USEC_PER_SEC / 4);
}

Test(settle_asks, what_does_not_say_whose_end_it_was_is_left_alone) {
        write_job_named("b", "    exec: [/bin/echo]\n");
        follow_start("");
        ask_by_hand("");
        ask_by_hand(",\"run\":\"5-m1\",\"why\":\"after\"");
        ask_by_hand(
            ",\"run\":\"5-m1\",\"why\":\"$(reboot)\",\"parent\":{\"job\":\"a\",\"run\":\"5-1\","
            "\"state\":\"failed\"}");
        ask_by_hand(",\"run\":\"5-1\",\"why\":\"after\",\"parent\":{\"job\":\"a\",\"run\":\"5-1\","
                    "\"state\":\"failed\"}");
        ask_by_hand(
            ",\"run\":\"5-m1\",\"why\":\"after\",\"parent\":{\"job\":\"A B\",\"run\":\"5-1\","
            "\"state\":\"failed\"}");
        ask_by_hand(",\"run\":\"5-m1\",\"why\":\"after\",\"parent\":{\"job\":\"a\",\"run\":\"5-1\","
                    "\"state\":\"fallen\"}");
        ask_by_hand(",\"run\":\"5-m1\",\"why\":\"after\",\"parent\":{\"job\":\"a\",\"run\":\"5-1\","
                    "\"state\":\"failed\",\"why\":\"a\\nb\"}");
        ask_by_hand(",\"run\":\"5-m1\",\"why\":\"after\",\"parent\":{\"job\":\"a\",\"run\":\"5-1\","
                    "\"state\":\"failed\",\"chain\":101}");
}

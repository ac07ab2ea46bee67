/* What a settle asks for, in a whole daemon (daemon-fixture.h): the request that its transaction
 * makes, the run that comes of it, and that it comes once. */
#include <string.h>
#include <unistd.h>

#include "daemon-fixture.h"
#include "job-links.h"
#include "journal.h"
#include "ledger.h"
#include "meetings.h"
#include "paths.h"
#include "runs.h"
#include "temporary-tree.h"

#define ROOT "/jobkeeper"
#define REQUESTS ROOT "/requests"

static int64_t tick; /* of the run of job "a" */

TestSuite(settle_asks, .init = setup, .fini = teardown);

static bool has_started(void) {
        return service_newest() && service_newest()->state == SERVICE_RUNNING &&
               service_newest()->unit;
}

static bool is_over(void) {
        return runs_count(coordinator->runs) == 0;
}

static bool follower_is_over(void) {
        return started->len == 2 && is_over();
}

static bool has_two_starts(void) {
        return started->len == 2 && has_started();
}

static bool has_three_starts(void) {
        return started->len == 3 && has_started();
}

static char *ask_path(const char *job) {
        g_autofree char *run = run_id_for_tick(tick, 1), *id = ask_id("a", run, job);

        return path_request(ROOT, id);
}

static char *asked_run(const char *job) {
        g_autofree char *run = run_id_for_tick(tick, 1);

        return run_id_for_ask("a", run, job);
}

static void start_a(const char *more) {
        tick = due_soon(more);
        await(has_started, "a start");
}

static bool has_variable(const char *assignment) {
        return g_strv_contains((const char *const *)service_newest()->environment, assignment);
}

static RunRecord *record_of(const char *job) {
        g_autofree char *run = asked_run(job), *path = path_run(ROOT, job, run);
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
        start_a("");
        service_exit(service_newest(), 0);
        await(has_two_starts, "the run after it");
        run = asked_run("b");
        unit = unit_name_for_run("b", run);
        cr_expect_str_eq(service_newest()->name, unit);
        parent = g_strdup_printf("JOBKEEPER_PARENT_RUN=%" G_GINT64_FORMAT "-1", tick);
        stamp = g_strdup_printf("JOBKEEPER_TICK_EPOCH=%" G_GINT64_FORMAT, tick);
        cr_expect(has_variable("JOBKEEPER_PARENT_JOB=a"));
        cr_expect(has_variable(parent));
        cr_expect(has_variable(stamp));
        cr_expect(has_variable("JOBKEEPER_PARENT_STATE=succeeded"));
        cr_expect(has_variable("JOBKEEPER_PARENT_EXIT_STATUS=0"));
        cr_expect(has_variable("JOBKEEPER_PARENT_NODE=n1"));
        cr_expect(has_variable("JOBKEEPER_PARENT_WHY="));
        record = record_of("b");
        epoch = g_strdup_printf("after a, run %" G_GINT64_FORMAT "-1", tick);
        cr_expect_str_eq(record->who, epoch);
        cr_expect_eq(record->tick, 0);
        cr_expect_eq(record->terms.parent.chain, 1U);
        cr_expect_eq(server_count(REQUESTS), 0U, "its claim took the request away");
}

/* What nothing follows costs nothing more, and no run without a parent has its variables. */
Test(settle_asks, nothing_is_asked_for_where_nothing_follows) {
        write_job_named("b", "    after: {job: a, on: failure}\n    exec: [/bin/echo]\n");
        start_a("");
        for (char **variable = service_newest()->environment; *variable; variable++)
                cr_expect_not(g_str_has_prefix(*variable, "JOBKEEPER_PARENT"), "%s", *variable);
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        await_quiet();
        cr_expect_eq(server_count(REQUESTS), 0U);
        cr_expect_eq(started->len, 1U);
}

Test(settle_asks, a_chain_has_the_tick_of_its_first_run) {
        g_autofree char *stamp = NULL, *second = NULL, *parent = NULL;

        write_job_named("b", "    after: a\n    exec: [/bin/echo]\n");
        write_job_named("c", "    after: b\n    exec: [/bin/cat]\n");
        start_a("");
        service_exit(service_newest(), 0);
        await(has_two_starts, "the second");
        second = asked_run("b");
        service_exit(service_newest(), 0);
        await(has_three_starts, "the third");
        stamp = g_strdup_printf("JOBKEEPER_TICK_EPOCH=%" G_GINT64_FORMAT, tick);
        parent = g_strconcat("JOBKEEPER_PARENT_RUN=", second, NULL);
        cr_expect(has_variable(stamp));
        cr_expect(has_variable("JOBKEEPER_PARENT_JOB=b"));
        cr_expect(has_variable(parent));
}

/* A run of "b" is asked for as the one that comes after so many. */
static void ask_for_b_after(unsigned runs) {
        g_autofree char *path = ask_path("b"),
                        *data = g_strdup_printf(
                            "{\"job\":\"b\",\"run\":\"5-m1\",\"why\":\"after\",\"not_after\":"
                            "%" G_GINT64_FORMAT ",\"within\":60,\"parent\":{\"job\":\"x\","
                            "\"run\":\"5-1\",\"state\":\"succeeded\",\"chain\":%u}}",
                            tick + 60, runs);

        server_create(path, data, 0);
        server_fire_parent(path);
}

/* No circle that only several nodes' files together make goes on for ever. */
Test(settle_asks, a_chain_comes_to_an_end) {
        write_job_named("b", "    exec: [/bin/echo]\n");
        write_job_named("c", "    after: b\n    exec: [/bin/cat]\n");
        start_a("");
        ask_for_b_after(RUN_PARENTS_MAX);
        await(has_two_starts, "the last of it");
        service_exit(service_newest(), 0);
        service_exit(service_manager.services->pdata[0], 0);
        await(follower_is_over, "all is over");
        await_quiet();
        cr_expect_eq(started->len, 2U);
        cr_expect_eq(server_count(REQUESTS), 0U);
}

Test(settle_asks, but_not_before) {
        write_job_named("b", "    exec: [/bin/echo]\n");
        write_job_named("c", "    after: b\n    exec: [/bin/cat]\n");
        start_a("");
        ask_for_b_after(RUN_PARENTS_MAX - 1);
        await(has_two_starts, "the last but one");
        service_exit(service_newest(), 0);
        await(has_three_starts, "the last");
}

/* ---- failures ---- */

Test(settle_asks, only_the_last_attempt_alarms) {
        write_job_named("mail", "    exec: [/bin/echo]\n");
        start_a("    retries: {attempts: 2, delay: 0}\n    on-failure: mail\n");
        service_exit(service_newest(), 3);
        await(has_two_starts, "another attempt");
        cr_expect_not(has_variable("JOBKEEPER_PARENT_JOB=a"));
        service_exit(service_newest(), 4);
        await(has_three_starts, "the third");
        cr_expect(has_variable("JOBKEEPER_PARENT_JOB=a"));
        cr_expect(has_variable("JOBKEEPER_PARENT_STATE=failed"));
        cr_expect(has_variable("JOBKEEPER_PARENT_EXIT_STATUS=4"));
}

/* Two requests of one name would keep the end from being written. */
Test(settle_asks, what_follows_in_two_ways_is_asked_for_once) {
        write_job_named("b", "    after: {job: a, on: any}\n    exec: [/bin/echo]\n");
        start_a("    on-failure: b\n");
        service_exit(service_newest(), 1);
        await(has_two_starts, "it follows");
        service_exit(service_newest(), 0);
        await(follower_is_over, "all is over");
        await_quiet();
        cr_expect_eq(started->len, 2U);
}

static bool mail_has_started(void) {
        return has_started() && has_variable("JOBKEEPER_PARENT_JOB=a");
}

static bool ledger_fails(void) {
        return strstr(server_data(ROOT "/jobs/a"), "\"failing\":true") != NULL;
}

Test(settle_asks, what_is_well_again_is_told_once) {
        write_job_named("mail", "    exec: [/bin/echo]\n");
        write_job("    every: 1s\n    exec: [/bin/true]\n    on-recovery: mail\n");
        open_daemon();
        await(has_started, "a start");
        service_exit(service_newest(), 1);
        await(ledger_fails, "it has failed");
        await(has_two_starts, "the next tick");
        cr_expect_not(has_variable("JOBKEEPER_PARENT_JOB=a"));
        service_exit(service_newest(), 0);
        await(mail_has_started, "the mail");
        cr_expect(has_variable("JOBKEEPER_PARENT_STATE=succeeded"));
        cr_expect_not(ledger_fails());
}

/* ---- once, whatever happens ---- */

static unsigned tries;

static bool is_asking(const ZkCall *call) {
        return call_has(call, ZK_OP_CREATE, REQUESTS "/");
}

static ServerWay lose_the_answer(const ZkCall *call) {
        return is_asking(call) && tries++ == 0 ? SERVER_LOSE_ANSWER : SERVER_ANSWER;
}

Test(settle_asks, an_answer_that_was_lost_asks_once) {
        write_job_named("b", "    after: a\n    exec: [/bin/echo]\n");
        start_a("");
        server.way = lose_the_answer;
        service_exit(service_newest(), 0);
        await(has_two_starts, "the run after it");
        service_exit(service_newest(), 0);
        await(follower_is_over, "all is over");
        await_quiet();
        cr_expect_eq(started->len, 2U);
        cr_expect_eq(tries, 1U);
}

static ServerWay lose_all_that_claims_b(const ZkCall *call) {
        return call_has(call, ZK_OP_CREATE, "/jobs/b/runs/") ? SERVER_LOSE : SERVER_ANSWER;
}

static bool is_asked(void) {
        g_autofree char *path = ask_path("b");

        return server_node(path) != NULL;
}

/* The process that settled is gone before it has begun what follows: the next one finds it. */
Test(settle_asks, what_was_asked_for_outlives_who_asked) {
        write_job_named("b", "    after: a\n    exec: [/bin/echo]\n");
        start_a("");
        server.way = lose_all_that_claims_b;
        service_exit(service_newest(), 0);
        await(is_asked, "the request");
        close_daemon();
        server.way = NULL;
        open_daemon_again();
        await(has_two_starts, "the run after it");
        cr_expect(has_variable("JOBKEEPER_PARENT_JOB=a"));
}

/* Others settled the run as unknown, and by their definitions asked for what we ask for, too: what
 * came of it has its record. */
static void settled_by_others(void) {
        g_autofree char *run = run_id_for_tick(tick, 1), *path = path_run(ROOT, "a", run),
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
        start_a("");
        settled_by_others();
        service_exit(service_newest(), 0);
        await(has_two_starts, "what follows a success");
        cr_expect_str_eq(started->pdata[1], "/bin/echo");
        await_quiet();
        cr_expect_eq(started->len, 2U, "what follows any end was asked for by the others");
}

/* They had one job told that it had failed; that job is told as well that it had not. */
Test(settle_asks, a_run_that_was_taken_for_a_failure_is_told_to_be_well) {
        g_autofree char *run = NULL, *path = NULL;

        write_job_named("tell", "    exec: [/bin/echo]\n");
        start_a("    on-failure: tell\n    on-recovery: tell\n");
        settled_by_others();
        note_failing();
        run = asked_run("tell");
        path = path_run(ROOT, "tell", run);
        server_create(path, "{}", 0);
        service_exit(service_newest(), 0);
        await(has_two_starts, "it is told that it is well");
        cr_expect(has_variable("JOBKEEPER_PARENT_STATE=succeeded"));
}

/* The files were read again while the run was under way. */
Test(settle_asks, what_follows_a_job_by_its_new_name_follows_a_run_of_its_old_one) {
        g_autofree char *path = tree_path(root, "etc/jobkeeper/jobs.d/a.yaml");

        write_job_named("b", "    after: new\n    exec: [/bin/echo]\n");
        start_a("");
        cr_assert_eq(unlink(path), 0);
        write_job_named("new", "    was: a\n    exec: [/bin/false]\n");
        reload();
        service_exit(service_newest(), 0);
        await(has_two_starts, "what follows a success");
        cr_expect_str_eq(started->pdata[1], "/bin/echo");
        cr_expect(has_variable("JOBKEEPER_PARENT_JOB=a"));
}

Test(settle_asks, what_has_its_record_is_not_asked_for_again) {
        g_autofree char *run = NULL, *path = NULL;

        write_job_named("b", "    after: a\n    exec: [/bin/echo]\n");
        start_a("");
        settled_by_others();
        run = asked_run("b");
        path = path_run(ROOT, "b", run);
        server_create(path, "{}", 0);
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        await_quiet();
        cr_expect_eq(started->len, 1U);
        cr_expect_eq(server_count(REQUESTS), 0U);
}

/* Others, whose files say otherwise, have asked for it: it waits still. */
Test(settle_asks, what_has_its_request_is_not_asked_for_again) {
        g_autofree char *path = NULL;

        write_job_named("b", "    after: a\n    exec: [/bin/echo]\n");
        start_a("");
        settled_by_others();
        path = ask_path("b");
        server_create(path, "{}", 0);
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        cr_expect_str_eq(server_data(path), "{}");
        cr_expect_eq(server_count(REQUESTS), 1U);
}

/* Somebody deleted where requests are. */
Test(settle_asks, their_directory_is_made_again) {
        write_job_named("b", "    after: a\n    exec: [/bin/echo]\n");
        start_a("");
        server_remove(REQUESTS);
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        cr_expect_eq(server_count(REQUESTS), 1U);
}

/* ---- by a name of before ---- */

/* Another machine, with the file of before, settled "a" and asked for "b"; here that is "b2". */
static void ask_by_the_old_name(void) {
        g_autofree char *path = ask_path("b"), *run = asked_run("b"),
                        *data = g_strdup_printf(
                            "{\"job\":\"b\",\"run\":\"%s\",\"why\":\"after\",\"not_after\":"
                            "%" G_GINT64_FORMAT ",\"within\":60,\"parent\":{\"job\":\"a\","
                            "\"run\":\"%" G_GINT64_FORMAT "-1\",\"state\":\"succeeded\"}}",
                            run, tick + 60, tick);

        server_create(path, data, 0);
        server_fire_parent(path);
}

/* The ledger of that name is closed: nobody else would run it. */
Test(settle_asks, what_was_asked_for_by_the_name_that_it_had_is_run_once) {
        g_autofree char *run = NULL, *path = NULL;

        write_job_named("b2", "    was: b\n    after: a\n    exec: [/bin/echo]\n");
        start_a("");
        settled_by_others();
        run = asked_run("b");
        path = path_run(ROOT, "b2", run);
        ask_by_the_old_name();
        await(has_two_starts, "it is run");
        cr_expect(has_variable("JOBKEEPER_PARENT_JOB=a"));
        cr_expect_not_null(server_node(path));
        service_exit(service_manager.services->pdata[0], 0);
        service_exit(service_newest(), 0);
        await(follower_is_over, "all is over");
        await_quiet();
        cr_expect_eq(started->len, 2U, "who knows how it ended finds it");
        cr_expect_eq(server_count(REQUESTS), 0U);
}

Test(settle_asks, what_waits_by_the_name_that_it_had_is_not_asked_for_again) {
        g_autofree char *path = NULL;

        write_job_named("b2", "    was: b\n    after: a\n    exec: [/bin/echo]\n");
        start_a("");
        settled_by_others();
        path = ask_path("b");
        server_create(path, "{}", 0);
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        cr_expect_eq(server_count(REQUESTS), 1U);
}

/* ---- several together ---- */

#define MEETINGS ROOT "/meetings"

/* Job "b" waits for "a" and "x" together, and "x" never runs here. */
static void start_a_beside_x(void) {
        write_job_named("x", "    exec: [/bin/false]\n");
        write_job_named("b", "    after: {all: [a, {job: x, on: any}]}\n    exec: [/bin/echo]\n");
        start_a("");
}

static char *meetings_where_came(const char *job) {
        return g_strdup_printf("{\"meetings\":[{\"tick\":%" G_GINT64_FORMAT
                               ",\"come\":{\"%s\":\"%" G_GINT64_FORMAT "-1\"}}]}",
                               tick, job, tick);
}

static char *run_for_all(void) {
        return run_id_for_ask_of_all(tick, "b");
}

static void x_has_come(void) {
        g_autofree char *data = meetings_where_came("x");

        server_create(MEETINGS "/b", data, 0);
}

static void expect_meetings(const char *data) {
        cr_expect_str_eq(server_data(MEETINGS "/b"), data);
}

#define NOBODY "{\"meetings\":[]}"

/* It is not run before the other one has come as well; that costs no further write. */
Test(settle_asks, one_of_two_is_noted) {
        g_autofree char *data = NULL;

        start_a_beside_x();
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        await_quiet();
        data = meetings_where_came("a");
        expect_meetings(data);
        cr_expect_eq(started->len, 1U);
        cr_expect_eq(server_count(REQUESTS), 0U);
}

Test(settle_asks, the_last_of_two_asks_for_the_run) {
        g_autofree char *run = NULL, *unit = NULL, *stamp = NULL, *path = NULL;

        start_a_beside_x();
        x_has_come();
        service_exit(service_newest(), 0);
        await(has_two_starts, "the run after both");
        run = run_for_all();
        unit = unit_name_for_run("b", run);
        cr_expect_str_eq(service_newest()->name, unit);
        stamp = g_strdup_printf("JOBKEEPER_TICK_EPOCH=%" G_GINT64_FORMAT, tick);
        cr_expect(has_variable(stamp));
        cr_expect(has_variable("JOBKEEPER_PARENT_JOB=a"), "the one that came last");
        expect_meetings(NOBODY);
        path = path_run(ROOT, "b", run);
        cr_expect_not_null(server_node(path));
        cr_expect_eq(server_count(REQUESTS), 0U, "its claim took the request away");
}

Test(settle_asks, who_ended_otherwise_has_not_come) {
        start_a_beside_x();
        x_has_come();
        service_exit(service_newest(), 1);
        await(is_over, "it is settled");
        await_quiet();
        cr_expect_not_null(strstr(server_data(MEETINGS "/b"), "\"x\""));
        cr_expect_null(strstr(server_data(MEETINGS "/b"), "\"a\""));
        cr_expect_eq(started->len, 1U);
}

/* "b" had another name when "x" came. */
static void x_has_come_for_its_old_name(void) {
        g_autofree char *data = NULL;

        write_job_named("x", "    exec: [/bin/false]\n");
        write_job_named("b", "    was: old\n    after: {all: [a, x]}\n    exec: [/bin/echo]\n");
        start_a("");
        data = meetings_where_came("x");
        server_create(MEETINGS "/old", data, 0);
}

Test(settle_asks, who_came_for_the_name_that_a_job_had_has_come) {
        x_has_come_for_its_old_name();
        service_exit(service_newest(), 0);
        await(has_two_starts, "the run after both");
        expect_meetings(NOBODY);
}

/* "a" has another name by the time its run ends, and comes as that. */
Test(settle_asks, a_run_of_the_name_that_it_had_comes_by_the_new_one) {
        g_autofree char *path = tree_path(root, "etc/jobkeeper/jobs.d/a.yaml"), *data = NULL;

        write_job_named("x", "    exec: [/bin/false]\n");
        write_job_named("b", "    after: {all: [new, x]}\n    exec: [/bin/echo]\n");
        start_a("");
        data = meetings_where_came("x");
        server_create(MEETINGS "/b", data, 0);
        cr_assert_eq(unlink(path), 0);
        write_job_named("new", "    was: a\n    exec: [/bin/false]\n");
        reload();
        service_exit(service_newest(), 0);
        await(has_two_starts, "the run after both");
        expect_meetings(NOBODY);
}

/* "x" had another name when it came. */
Test(settle_asks, who_came_by_the_name_that_it_had_has_come) {
        g_autofree char *data = NULL;

        write_job_named("x", "    was: old\n    exec: [/bin/false]\n");
        write_job_named("b", "    after: {all: [a, x]}\n    exec: [/bin/echo]\n");
        start_a("");
        data = meetings_where_came("old");
        server_create(MEETINGS "/b", data, 0);
        service_exit(service_newest(), 0);
        await(has_two_starts, "the run after both");
        expect_meetings(NOBODY);
}

/* What stands there is of before. */
Test(settle_asks, what_has_its_own_place_goes_by_that_alone) {
        g_autofree char *data = NULL;

        x_has_come_for_its_old_name();
        data = meetings_where_came("a");
        server_create(MEETINGS "/b", NOBODY, 0);
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        await_quiet();
        expect_meetings(data);
        cr_expect_eq(started->len, 1U);
}

/* Another node settles a run of "x" right between what we read and what we write. */
static ServerWay x_comes_meanwhile(const ZkCall *call) {
        if (call_has(call, ZK_OP_CREATE, MEETINGS "/") && tries++ == 0)
                x_has_come();
        return SERVER_ANSWER;
}

Test(settle_asks, two_that_come_at_the_same_moment_see_each_other) {
        start_a_beside_x();
        server.way = x_comes_meanwhile;
        service_exit(service_newest(), 0);
        await(has_two_starts, "the run after both");
        cr_expect_eq(tries, 1U, "the second time it is there");
        expect_meetings(NOBODY);
}

static ServerWay x_comes_again_meanwhile(const ZkCall *call) {
        g_autofree char *data = meetings_where_came("x");

        if (call_has(call, ZK_OP_SET, MEETINGS "/") && tries++ == 0)
                server_write(MEETINGS "/b", data);
        return SERVER_ANSWER;
}

Test(settle_asks, what_has_changed_since_it_was_read_is_read_again) {
        start_a_beside_x();
        server_create(MEETINGS "/b", NOBODY, 0);
        server.way = x_comes_again_meanwhile;
        service_exit(service_newest(), 0);
        await(has_two_starts, "the run after both");
        cr_expect_eq(tries, 2U);
        expect_meetings(NOBODY);
}

/* So many others end at the same moment, and each is quicker. */
#define QUICKER 17

static ServerWay others_are_quicker(const ZkCall *call) {
        if (call_has(call, ZK_OP_SET, MEETINGS "/") && tries++ < QUICKER)
                server_write(MEETINGS "/b", NOBODY);
        return SERVER_ANSWER;
}

/* The locks of the run are held until it is settled. */
Test(settle_asks, who_is_outrun_does_not_pause) {
        usec_t began;

        start_a_beside_x();
        server_create(MEETINGS "/b", NOBODY, 0);
        server.way = others_are_quicker;
        began = clock_monotonic();
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        cr_expect_eq(tries, QUICKER + 1U);
        cr_expect_lt(clock_monotonic() - began, 7 * USEC_PER_SEC, "four pauses are longer");
}

Test(settle_asks, an_answer_that_was_lost_asks_for_all_once) {
        start_a_beside_x();
        x_has_come();
        server.way = lose_the_answer;
        service_exit(service_newest(), 0);
        await(has_two_starts, "the run after both");
        service_exit(service_newest(), 0);
        await(follower_is_over, "all is over");
        await_quiet();
        cr_expect_eq(started->len, 2U);
        cr_expect_eq(tries, 1U);
        expect_meetings(NOBODY);
}

/* They met before, and "a" is run once more for the tick: nobody begins to wait again. */
Test(settle_asks, who_comes_after_they_have_met_is_not_noted) {
        g_autofree char *run = NULL, *path = NULL;

        start_a_beside_x();
        run = run_for_all();
        path = path_run(ROOT, "b", run);
        server_create(path, "{}", 0);
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        await_quiet();
        cr_expect_null(server_node(MEETINGS "/b"));
        cr_expect_eq(started->len, 1U);
}

Test(settle_asks, what_nobody_of_us_wrote_is_nobody) {
        g_autofree char *data = NULL;

        start_a_beside_x();
        server_create(MEETINGS "/b", "junk", 0);
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        data = meetings_where_came("a");
        expect_meetings(data);
}

/* Somebody closed it: that is told once, and holds up no run that is over. */
Test(settle_asks, where_they_meet_may_be_closed) {
        start_a_beside_x();
        server_create(MEETINGS "/b", NOBODY, 0);
        server.unreadable = MEETINGS "/b";
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        cr_expect_eq(journal_count(MESSAGE_REFUSED), 1U);
        cr_expect(journal_has("b: " MEETINGS "/b: "));
        cr_expect_eq(server_count(REQUESTS), 0U);
}

Test(settle_asks, or_not_to_be_changed) {
        start_a_beside_x();
        server_create(MEETINGS "/b", NOBODY, 0);
        server.unwritable = MEETINGS "/b";
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        cr_expect_eq(journal_count(MESSAGE_REFUSED), 1U);
        expect_meetings(NOBODY);
}

/* What else follows does. */
Test(settle_asks, that_holds_up_nothing_else) {
        write_job_named("c", "    after: a\n    exec: [/bin/cat]\n");
        start_a_beside_x();
        server_create(MEETINGS "/b", NOBODY, 0);
        server.unreadable = MEETINGS "/b";
        service_exit(service_newest(), 0);
        await(has_two_starts, "what follows");
        cr_expect_str_eq(started->pdata[1], "/bin/cat");
}

Test(settle_asks, where_they_meet_is_made_again) {
        start_a_beside_x();
        server_remove(MEETINGS);
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        cr_expect_not_null(server_node(MEETINGS "/b"));
}

/* Two that wait, one of which is there: no further write of where they meet. */
Test(settle_asks, each_that_waits_has_its_own_place) {
        write_job_named("c", "    after: {all: [x, a]}\n    exec: [/bin/cat]\n");
        start_a_beside_x();
        server_remove(MEETINGS);
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        cr_expect_eq(server_count(MEETINGS), 2U);
}

/* ---- as many as there may be ---- */

#define FOLLOWERS JOB_AFTER_MAX
#define PACKET_MAX (1024 * 1024 - 1) /* jute.maxbuffer, by default */

static size_t largest;

static ServerWay weigh(const ZkCall *call) {
        size_t size = 0;

        for (size_t i = 0; i < call->n_ops; i++)
                size +=
                    strlen(call->ops[i].path) + (call->ops[i].data ? strlen(call->ops[i].data) : 0);
        largest = MAX(largest, size);
        return SERVER_ANSWER;
}

static void write_followers(void) {
        g_autoptr(GString) followers = g_string_new("jobs:\n");

        for (unsigned i = 0; i < FOLLOWERS; i++) {
                g_string_append_printf(followers, "  b%02u: {exec: /bin/echo, after: {all: [a", i);
                for (unsigned parent = 1; parent < JOB_AFTER_ALL_MAX; parent++)
                        g_string_append_printf(followers, ", a-job-with-a-name-of-some-length-%05u",
                                               parent);
                g_string_append(followers, "]}}\n");
        }
        tree_write(root, "etc/jobkeeper/jobs.d/b.yaml", followers->str);
}

/* All but "a", and the last, which never ran. */
static void others_have_come(void) {
        g_autoptr(GString) text = g_string_new("{\"meetings\":[");

        for (unsigned tick_of = 1; tick_of <= MEETINGS_MAX; tick_of++) {
                g_string_append_printf(text, "%s{\"tick\":%u,\"come\":{", tick_of > 1 ? "," : "",
                                       1000000000 + tick_of);
                for (unsigned i = 1; i < JOB_AFTER_ALL_MAX - 1; i++)
                        g_string_append_printf(text,
                                               "%s\"a-job-with-a-name-of-some-length-%05u\":"
                                               "\"1000000000-1\"",
                                               i > 1 ? "," : "", i);
                g_string_append(text, "}}");
        }
        g_string_append(text, "]}");
        for (unsigned i = 0; i < FOLLOWERS; i++) {
                g_autofree char *path = g_strdup_printf(MEETINGS "/b%02u", i);
                server_create(path, text->str, 0);
        }
}

/* A server drops whoever sends it more, and the end would never be written. */
Test(settle_asks, whatever_waits_goes_into_one_packet) {
        write_followers();
        start_a("");
        others_have_come();
        largest = 0;
        server.way = weigh;
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        await_quiet();
        cr_expect_lt(largest, (size_t)PACKET_MAX);
        cr_expect_gt(largest, (size_t)PACKET_MAX / 3, "as much is kept as goes into it");
        for (unsigned i = 0; i < FOLLOWERS; i++) {
                g_autofree char *path = g_strdup_printf(MEETINGS "/b%02u", i),
                                *own = g_strdup_printf("{\"a\":\"%" G_GINT64_FORMAT "-1\"}", tick);

                cr_expect_not_null(strstr(server_data(path), own), "the newest tick is kept");
        }
}

/* By hand, and so what follows it: there is no tick to meet for. */
Test(settle_asks, what_has_no_tick_meets_nobody) {
        write_job_named("b", "    exec: [/bin/echo]\n");
        write_job_named("c", "    after: {all: [b, a]}\n    exec: [/bin/cat]\n");
        start_a("");
        ask_for_b_after(1);
        await(has_two_starts, "what was asked for");
        service_exit(service_newest(), 0);
        await_quiet();
        cr_expect_null(server_node(MEETINGS "/c"));
}

/* As an alarm it is told of this end alone, and as what waits for all it waits. */
Test(settle_asks, what_waits_may_be_an_alarm_as_well) {
        write_job_named("x", "    exec: [/bin/false]\n");
        write_job_named("b", "    after: {all: [{job: a, on: any}, x]}\n    exec: [/bin/echo]\n");
        start_a("    on-failure: b\n");
        service_exit(service_newest(), 1);
        await(has_two_starts, "the alarm");
        cr_expect_not_null(server_node(MEETINGS "/b"));
}

/* ---- how long it may wait ---- */

#define HOLDER ROOT "/locks/r/_c_00000000-0000-0000-0000-000000000000-__WRIT__0000000000"

static bool is_given_up(void) {
        g_autofree char *path = ask_path("b");

        return !server_node(path);
}

static bool b_is_recorded(void) {
        g_autofree char *run = asked_run("b"), *path = path_run(ROOT, "b", run);

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
        start_a("");
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
        g_autofree char *path = ask_path("b"),
                        *data = g_strdup_printf("{\"job\":\"b\",\"not_after\":%" G_GINT64_FORMAT
                                                ",\"within\":60%s}",
                                                tick + 60, more);

        server_create(path, data, 0);
        server_fire_parent(path);
        serve_for(USEC_PER_SEC / 2);
        cr_expect_eq(started->len, 1U, "%s", data);
        server_delete(path);
        serve_for(USEC_PER_SEC / 4);
}

Test(settle_asks, what_does_not_say_whose_end_it_was_is_left_alone) {
        write_job_named("b", "    exec: [/bin/echo]\n");
        start_a("");
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

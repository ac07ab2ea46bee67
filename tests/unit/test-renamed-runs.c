/* Runs of a job that was renamed since they were claimed, in a whole daemon (daemon-fixture.h):
 * what is owed stands in the ledger of the name that the job has by then, and their ends count
 * there. And of one that gets its old name back. */
#include <unistd.h>

#include "daemon-fixture.h"
#include "job-table.h"
#include "ledger-change.h"
#include "ledger.h"
#include "paths.h"
#include "runs.h"

#define ROOT "/jobkeeper"
#define OLD ROOT "/jobs/a"
#define NEW ROOT "/jobs/b"
#define FOLLOWS ROOT "/jobs/c"

static int64_t tick; /* of the run of a that is under way here */

TestSuite(renamed_runs, .init = setup, .fini = teardown, .timeout = 60);

static Ledger *ledger_at(const char *path) {
        const char *data = server_data(path);
        Ledger *ledger = NULL;

        cr_assert_eq(ledger_decode(data, strlen(data), &ledger), 0, "%s: %s", path, data);
        return ledger;
}

/* Somebody else writes it. */
static void set_ledger(const char *path, const Ledger *ledger) {
        g_autofree char *data = ledger_encode(ledger);

        server_write(path, data);
}

static char *run_path(const char *job, unsigned attempt) {
        g_autofree char *run = run_id_for_tick(tick, attempt);

        return path_run(ROOT, job, run);
}

static RunRecord *the_record(void) {
        g_autofree char *path = run_path("a", 1);
        const char *data = server_data(path);
        RunRecord *record = NULL;

        cr_assert_eq(run_record_decode(data, strlen(data), &record), 0, "%s", data);
        return record;
}

static void expect_state(RunState state) {
        _cleanup_(run_record_freep) RunRecord *record = the_record();

        cr_expect_eq(record->state, state, "%s", run_state_to_string(record->state));
}

static bool has_started(void) {
        return service_newest() && service_newest()->state == SERVICE_RUNNING &&
               service_newest()->unit;
}

static bool is_over(void) {
        return runs_count(coordinator->runs) == 0;
}

static bool a_is_known(void) {
        return node_is_ready(coordinator->node) && strstr(server_data(OLD), "\"digest\"") &&
               digest_memory_get(coordinator->digests, "a");
}

static bool goes_on_as_b(void) {
        return strstr(server_data(NEW), "\"was\":\"a\"");
}

/* The others do not see this node, and could not know how it would end. Nobody begins what they
 * owe for it: that is an hour away. */
static void settle_as_unknown(void) {
        _cleanup_(run_record_freep) RunRecord *record = the_record();
        _cleanup_(ledger_freep) Ledger *ledger = ledger_at(OLD);
        g_autofree char *path = run_path("a", 1), *data = NULL;

        record->state = RUN_UNKNOWN;
        record->ended = clock_realtime();
        data = run_record_encode(record);
        server_write(path, data);
        cr_assert_eq(ledger_settle(ledger, record, NULL, usec_add(record->ended, USEC_PER_HOUR)),
                     0);
        cr_assert_not_null(ledger_first_retry(ledger), "it is to be attempted again");
        set_ledger(OLD, ledger);
}

#define RERUN "    on-owner-lost: rerun\n"

/* Return: what the file of b says, where a's says the same of a; newly allocated. */
static char *keys_of_b(const char *more) {
        g_autoptr(GDateTime) when = g_date_time_new_from_unix_utc(tick);
        g_autofree char *text = g_date_time_format(when, "%Y-%m-%d %H:%M:%S");

        return g_strdup_printf(
            "    was: a\n    schedule: \"%s\"\n    exec: [/bin/true]\n" RERUN "%s", text, more);
}

/* A run of a is under way here, and is taken for lost; then the job is named b, with these keys. */
static void rename_a_lost_one(const char *more) {
        g_autofree char *path = tree_path(root, "etc/jobkeeper/jobs.d/a.yaml"), *keys = NULL;

        tick = due_soon(RERUN);
        await(has_started, "a start");
        keys = keys_of_b(more);
        cr_assert_eq(unlink(path), 0);
        write_job_named("b", keys);
        reload();
        await_quiet();
        cr_assert_null(server_node(NEW), "it waits for the run");
        settle_as_unknown();
        await(goes_on_as_b, "it goes on as b");
        await_quiet();
}

Test(renamed_runs, an_end_withdraws_what_is_owed_by_the_name_that_the_job_has_now) {
        _cleanup_(ledger_freep) Ledger *left = NULL, *ledger = NULL;

        rename_a_lost_one("");
        left = ledger_at(OLD);
        ledger = ledger_at(NEW);
        cr_assert_not_null(ledger_first_retry(ledger), "b owes it");
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        expect_state(RUN_SUCCEEDED);
        ledger_free(ledger);
        ledger = ledger_at(NEW);
        cr_expect_null(ledger_first_retry(ledger), "%s", server_data(NEW));
        cr_expect_eq(ledger->mark, tick);
        cr_assert_not_null(ledger->last);
        cr_expect_str_eq(ledger->last->job, "b");
        cr_expect_eq(ledger->last->state, RUN_SUCCEEDED);
        cr_expect_eq(ledger->succeeded, ledger->last->ended);
        cr_expect_not_null(strstr(server_data(OLD), "\"renamed\":\"b\""));
        cr_expect_eq(left->last->state, RUN_UNKNOWN);
        serve_for(200 * USEC_PER_MSEC);
        cr_expect_eq(started->len, 1, "nothing is run again");
}

static bool c_is_run(void) {
        return started->len == 2;
}

/* Before it was lost, and another attempt was to follow: that is no end that is followed. */
Test(renamed_runs, what_follows_it_is_asked_for_once) {
        write_job_named("c", "    exec: [/bin/echo]\n    after: [{job: b, on: any}]\n");
        rename_a_lost_one("");
        cr_expect_eq(server_count(FOLLOWS "/runs"), 0, "another attempt is to follow");
        service_exit(service_newest(), 0);
        await(c_is_run, "c follows");
        await_quiet();
        cr_expect_eq(server_count(FOLLOWS "/runs"), 1);
        cr_expect_eq(server_count(ROOT "/requests"), 0);
}

Test(renamed_runs, but_not_once_there_is_a_newer_attempt_by_that_name) {
        g_autofree char *path = NULL;

        rename_a_lost_one("");
        path = run_path("b", 2);
        server_create(path, "{}", 0);
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        expect_state(RUN_UNKNOWN);
        cr_expect_eq(server_count(ROOT "/locks/job:a"), 0, "its contender goes all the same");
}

static bool raced;

static bool is_refinement(const ZkCall *call) {
        return call_has(call, ZK_OP_SET, OLD "/runs/");
}

/* The job has the name of before again. */
Test(renamed_runs, nor_where_that_was_made_by_a_name_in_between) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        g_autofree char *path = NULL;

        tick = due_soon(RERUN);
        await(has_started, "a start");
        settle_as_unknown();
        ledger = ledger_at(OLD);
        ledger->was = g_strdup("b");
        set_ledger(OLD, ledger);
        server_create(NEW, "", 0);
        server_create(NEW "/runs", "", 0);
        path = run_path("b", 2);
        server_create(path, "{}", 0);
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        expect_state(RUN_UNKNOWN);
}

/* Another node claims the second attempt, between our reading and our writing. */
static ServerWay claim_first(const ZkCall *call) {
        _cleanup_(run_record_freep) RunRecord *record = NULL;
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        g_autofree char *run = NULL, *path = NULL, *data = NULL;

        if (raced || !is_refinement(call))
                return SERVER_ANSWER;
        raced = true;
        run = run_id_for_tick(tick, 2);
        path = run_path("b", 2);
        record = run_record_new("b", run);
        record->tick = tick;
        record->attempt = 2;
        record->node = g_strdup("n2");
        record->state = RUN_CLAIMED;
        record->claimed = clock_realtime();
        ledger = ledger_at(NEW);
        cr_assert_eq(ledger_claim(ledger, record), 0);
        set_ledger(NEW, ledger);
        data = run_record_encode(record);
        server_create(path, data, 0);
        return SERVER_ANSWER;
}

Test(renamed_runs, who_claims_it_meanwhile_is_first) {
        raced = false;
        rename_a_lost_one("");
        server.way = claim_first;
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        cr_expect(raced);
        expect_state(RUN_UNKNOWN);
        cr_expect_not_null(strstr(server_data(NEW), "\"claimed\""), "%s", server_data(NEW));
}

/* Meanwhile the job goes on by yet another name. */
static ServerWay rename_first(const ZkCall *call) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL, *next = NULL;
        g_autofree char *data = NULL;

        if (raced || !is_refinement(call))
                return SERVER_ANSWER;
        raced = true;
        ledger = ledger_at(NEW);
        next = ledger_move(ledger, "b", "x");
        ledger_leave(ledger, "x", tick);
        set_ledger(NEW, ledger);
        data = ledger_encode(next);
        server_create(ROOT "/jobs/x", data, 0);
        server_create(ROOT "/jobs/x/runs", "", 0);
        return SERVER_ANSWER;
}

Test(renamed_runs, a_job_that_was_renamed_again_is_followed_again) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        raced = false;
        rename_a_lost_one("");
        server.way = rename_first;
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        cr_expect(raced);
        expect_state(RUN_SUCCEEDED);
        ledger = ledger_at(ROOT "/jobs/x");
        cr_expect_null(ledger_first_retry(ledger), "%s", server_data(ROOT "/jobs/x"));
        cr_expect_str_eq(ledger->last->job, "x");
        cr_expect_eq(ledger->last->state, RUN_SUCCEEDED);
}

/* Somebody has opened the old one by hand, and what is owed stands there. */
static ServerWay open_old_first(const ZkCall *call) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL, *own = NULL;

        if (raced || !is_refinement(call))
                return SERVER_ANSWER;
        raced = true;
        ledger = ledger_at(NEW);
        own = ledger_move(ledger, "b", "a");
        set_ledger(OLD, own);
        return SERVER_ANSWER;
}

Test(renamed_runs, one_that_does_not_lead_there_any_more_is_not_followed) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL, *other = NULL;

        raced = false;
        rename_a_lost_one("");
        server.way = open_old_first;
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        cr_expect(raced);
        expect_state(RUN_SUCCEEDED);
        ledger = ledger_at(OLD);
        other = ledger_at(NEW);
        cr_expect_null(ledger_first_retry(ledger), "%s", server_data(OLD));
        cr_expect_not_null(ledger_first_retry(other), "nothing was settled there");
}

/* What nobody can have written: names that lead to each other. */
static ServerWay close_a_circle(const ZkCall *call) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        if (raced || !is_refinement(call))
                return SERVER_ANSWER;
        raced = true;
        ledger = ledger_at(NEW);
        ledger_leave(ledger, "a", tick);
        set_ledger(NEW, ledger);
        return SERVER_ANSWER;
}

Test(renamed_runs, names_that_lead_in_a_circle_keep_no_end_from_being_recorded) {
        raced = false;
        rename_a_lost_one("");
        server.way = close_a_circle;
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        cr_expect(raced);
        expect_state(RUN_SUCCEEDED);
}

/* ---- the files of before are back ---- */

static bool b_is_withdrawn(void) {
        return strstr(server_data(NEW), "\"withdrawn\"");
}

static bool b_is_absent(void) {
        return strstr(server_data(ROOT "/nodes/n1"), "\"absent\":[\"b\"]");
}

static bool a_is_back(void) {
        return !strstr(server_data(OLD), "\"renamed\"") &&
               strstr(server_data(NEW), "\"renamed\":\"a\"") &&
               digest_memory_get(coordinator->digests, "a") &&
               !digest_memory_get(coordinator->digests, "b");
}

/* All machines have the file of before, and those that were away for a moment would be back. */
static void take_the_file_back(const char *keys) {
        g_autofree char *path = tree_path(root, "etc/jobkeeper/jobs.d/b.yaml");
        _cleanup_(ledger_freep) Ledger *lost = NULL;

        cr_assert_eq(unlink(path), 0);
        write_job(keys);
        reload();
        await(b_is_withdrawn, "it is withdrawn");
        await(b_is_absent, "it is not here");
        await_quiet();
        cr_expect_not_null(strstr(server_data(OLD), "\"renamed\""), "not yet");
        lost = ledger_at(NEW);
        lost->withdrawn -= 180;
        set_ledger(NEW, lost);
        scheduled_job_look_again(job_table_find(coordinator->jobs, "a"));
        await(a_is_back, "it is back");
}

Test(renamed_runs, a_job_gets_its_old_name_back) {
        static const char keys[] = "    exec: [/bin/true]\n    nodes: [another]\n";
        g_autofree char *path = tree_path(root, "etc/jobkeeper/jobs.d/a.yaml"),
                        *text = g_strconcat(keys, "    was: a\n", NULL);
        _cleanup_(ledger_freep) Ledger *before = NULL, *own = NULL;

        write_job(keys);
        open_daemon();
        await(a_is_known, "a ledger");
        before = ledger_at(OLD);
        cr_assert_eq(unlink(path), 0);
        write_job_named("b", text);
        reload();
        await(goes_on_as_b, "it goes on as b");
        take_the_file_back(keys);
        own = ledger_at(OLD);
        cr_expect_eq(own->from, before->from, "it is no new job");
        cr_expect_eq(own->withdrawn, 0);
        cr_expect_str_eq(own->digest, before->digest);
}

/* What has run by the name in between has run. */
Test(renamed_runs, nothing_is_run_again_by_an_old_name) {
        g_autofree char *path = tree_path(root, "etc/jobkeeper/jobs.d/a.yaml"), *keys = NULL,
                        *keys_of_a = NULL;
        _cleanup_(ledger_freep) Ledger *own = NULL;

        write_job("    schedule: \"2096-02-29 00:00:00\"\n    exec: [/bin/true]\n");
        open_daemon();
        await(a_is_known, "a ledger");
        tick = due_soon(RERUN);
        keys = keys_of_b("");
        cr_assert_eq(unlink(path), 0);
        write_job_named("b", keys);
        reload();
        await(has_started, "a start");
        cr_assert_not_null(strstr(server_data(NEW), "\"claimed\""), "by the new name");
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        keys_of_a = g_strdup(strchr(keys, '\n') + 1);
        take_the_file_back(keys_of_a);
        own = ledger_at(OLD);
        cr_expect_eq(own->mark, tick);
        serve_for(500 * USEC_PER_MSEC);
        cr_expect_eq(started->len, 1);
}

/* ---- what asks for it meanwhile ---- */

#define ASK ROOT "/requests/1000000000-a0badcafe"
#define ASKED "1000000000-m0badcafe"

static bool is_ask_gone(void) {
        return !server_node(ASK);
}

/* A run of it is under way by its old name, so that it does not go on by the new one, and what is
 * to follow another one would be too late. */
static void expect_recorded_by_old_name(const char *asked_for) {
        g_autofree char *path = tree_path(root, "etc/jobkeeper/jobs.d/a.yaml"), *keys = NULL,
                        *ask = NULL;

        tick = due_soon(RERUN);
        await(has_started, "a start");
        keys = keys_of_b("");
        cr_assert_eq(unlink(path), 0);
        write_job_named("b", keys);
        reload();
        await_quiet();
        cr_assert_null(server_node(NEW), "it waits for the run");
        ask = g_strdup_printf(
            "{\"job\":\"%s\",\"run\":\"" ASKED "\",\"why\":\"after\",\"not_after\":1000000001,"
            "\"within\":1,\"parent\":{\"job\":\"c\",\"run\":\"1000000000-1\",\"state\":"
            "\"succeeded\",\"node\":\"n1\",\"tick\":1000000000,\"chain\":1}}",
            asked_for);
        server_create(ASK, ask, 0);
        server_fire_parent(ASK);
        await_within(is_ask_gone, "its time is over", 2 * LIMIT);
        cr_assert_null(server_node(NEW), "it still waits");
        cr_assert_not_null(server_node(OLD "/runs/" ASKED));
        cr_expect(strstr(server_data(OLD "/runs/" ASKED), "no node could start it in time"), "%s",
                  server_data(OLD "/runs/" ASKED));
}

Test(renamed_runs, an_ask_that_is_over_before_it_goes_on_is_recorded_by_its_old_name) {
        expect_recorded_by_old_name("a");
}

Test(renamed_runs, so_is_one_by_its_new_name) {
        expect_recorded_by_old_name("b");
}

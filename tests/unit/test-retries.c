/* Further attempts of a tick, in a whole daemon (daemon-fixture.h): after a failure here, after one
 * of another node, beside a tick that comes meanwhile, and when it is too late. */
#include "daemon-fixture.h"
#include "job-parts.h"
#include "job-table.h"
#include "journal.h"
#include "ledger-cache.h"
#include "ledger-change.h"
#include "ledger.h"
#include "paths.h"
#include "runs.h"

#define ROOT "/jobkeeper"
#define JOB_PATH ROOT "/jobs/a"

TestSuite(retries, .init = setup, .fini = teardown);

static int64_t tick;
static char *waited_for; /* the unit */

static Ledger *ledger_there(void) {
        Ledger *ledger = NULL;

        cr_assert_eq(ledger_decode(server_data(JOB_PATH), strlen(server_data(JOB_PATH)), &ledger),
                     0);
        return ledger;
}

static RunRecord *record_there(int64_t of_tick, unsigned attempt) {
        g_autofree char *run = run_id_for_tick(of_tick, attempt), *path = path_run(ROOT, "a", run);
        RunRecord *record = NULL;

        cr_assert_eq(run_record_decode(server_data(path), strlen(server_data(path)), &record), 0);
        return record;
}

static bool runs_unit(void) {
        return service_newest() && service_newest()->state == SERVICE_RUNNING &&
               service_newest()->unit && strcmp(service_newest()->name, waited_for) == 0;
}

static void await_attempt_within(int64_t of_tick, unsigned attempt, usec_t limit) {
        g_autofree char *run = run_id_for_tick(of_tick, attempt);

        g_free(waited_for);
        waited_for = unit_name_for_run("a", run);
        await_within(runs_unit, waited_for, limit);
}

static void await_attempt(int64_t of_tick, unsigned attempt) {
        await_attempt_within(of_tick, attempt, LIMIT);
}

static bool is_over(void) {
        return runs_count(coordinator->runs) == 0;
}

Test(retries, what_fails_is_run_again_until_it_succeeds) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        _cleanup_(run_record_freep) RunRecord *first = NULL, *third = NULL;

        tick = due_soon("    retries: {attempts: 4, delay: 0}\n");
        for (unsigned attempt = 1; attempt <= 3; attempt++) {
                await_attempt(tick, attempt);
                service_exit(service_newest(), attempt < 3 ? 5 : 0);
        }
        await(is_over, "it is settled");
        serve_for(200 * USEC_PER_MSEC);
        cr_expect_eq(started->len, 3);
        ledger = ledger_there();
        cr_expect_eq(ledger->mark, tick);
        first = record_there(tick, 1);
        cr_expect_eq(first->state, RUN_FAILED);
        cr_expect_eq(first->exit_status, 5);
        third = record_there(tick, 3);
        cr_expect_eq(third->state, RUN_SUCCEEDED);
}

Test(retries, it_is_not_before_the_end_of_its_pause_and_not_after_some_statuses) {
        _cleanup_(run_record_freep) RunRecord *first = NULL, *second = NULL;

        tick = due_soon("    retries: {attempts: 4, delay: 1s}\n    no-retry: [7]\n");
        await_attempt(tick, 1);
        service_exit(service_newest(), 5);
        await_attempt(tick, 2);
        first = record_there(tick, 1);
        second = record_there(tick, 2);
        cr_expect_geq(second->claimed, first->ended + USEC_PER_SEC);
        service_exit(service_newest(), 7);
        await(is_over, "it is settled");
        serve_for(200 * USEC_PER_MSEC);
        cr_expect_eq(started->len, 2);
}

/* ---- when it is too late ---- */

#define BLOCKER ROOT "/locks/job:a/_c_00000000-0000-0000-0000-000000000000-__WRIT__0000000000"

static bool is_said_why(void) {
        g_autofree char *run = run_id_for_skip(tick), *path = path_run(ROOT, "a", run);

        return server_node(path);
}

/* Somebody else has its lock. Return: why it is not made; to be freed with g_free. */
static char *why_not_made(const char *keys, usec_t least) {
        _cleanup_(run_record_freep) RunRecord *first = NULL, *record = NULL;
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        tick = due_soon(keys);
        await_attempt(tick, 1);
        server_create(BLOCKER, "", 0x77);
        service_exit(service_newest(), 5);
        await(is_said_why, "a record says why it is not made");
        first = record_there(tick, 1);
        record = record_there(tick, 0);
        cr_expect_geq(record->ended, first->ended + least);
        ledger = ledger_there();
        cr_expect_null(ledger_first_retry(ledger));
        cr_expect_eq(ledger->mark, tick);
        cr_expect_eq(started->len, 1);
        return g_strdup(record->why);
}

Test(retries, one_whose_locks_are_not_free_in_time_is_not_made) {
        g_autofree char *why =
            why_not_made("    retries: {attempts: 2, delay: 0}\n    lock-wait: 1s\n", USEC_PER_SEC);

        cr_expect_str_eq(why, "attempt 2 is not made: lock-wait: its locks were not free in time");
}

Test(retries, the_wait_for_its_locks_ends_with_its_own_start_deadline) {
        g_autofree char *why = why_not_made(
            "    retries: {attempts: 2, delay: 2s}\n    start-deadline: 1s\n", 3 * USEC_PER_SEC);

        cr_expect(g_str_has_prefix(why, "attempt 2 is not made: "), "%s", why);
}

Test(retries, a_pause_may_be_longer_than_the_start_deadline) {
        tick = due_soon("    retries: {attempts: 2, delay: 2s}\n    start-deadline: 1s\n");
        await_attempt(tick, 1);
        service_exit(service_newest(), 5);
        await_attempt(tick, 2);
}

/* ---- by whose clock ---- */

#define MONTH ((int64_t)30 * (int64_t)USEC_PER_DAY)

/* By the server's clock, which is ours less `behind`. */
static void expect_owed_in_an_hour(int64_t behind) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_there();
        const LedgerEntry *owed = ledger_first_retry(ledger);
        int64_t away;

        cr_assert_not_null(owed);
        away = (int64_t)owed->not_before - ((int64_t)clock_realtime() - behind);
        cr_expect(away > 50 * (int64_t)USEC_PER_MINUTE && away < 61 * (int64_t)USEC_PER_MINUTE,
                  "%g s", (double)away / 1e6);
}

static void begin_one_for_a_clock(void) {
        tick = due_soon("    retries: {attempts: 2, delay: 1h, max-delay: 1h}\n");
        await_attempt(tick, 1);
}

/* Otherwise all would wait as long, or the attempt would be given up by all. */
Test(retries, a_clock_that_is_set_during_the_run_moves_none) {
        begin_one_for_a_clock();
        coordinator->node->skew.offset -= MONTH;
        server.clock -= MONTH;
        service_exit(service_newest(), 5);
        await(is_over, "it is settled");
        expect_owed_in_an_hour(MONTH);
}

Test(retries, a_clock_that_was_never_compared_is_first) {
        begin_one_for_a_clock();
        coordinator->node->skew = (ClockSkew){0};
        server.clock += MONTH;
        service_exit(service_newest(), 5);
        await(is_over, "it is settled");
        expect_owed_in_an_hour(-MONTH);
}

/* ---- of another node ---- */

static int64_t now(void) {
        return (int64_t)(clock_realtime() / USEC_PER_SEC);
}

static bool has_ledger(void) {
        return node_is_ready(coordinator->node) && server_node(JOB_PATH);
}

static void write_ledger(const Ledger *ledger) {
        g_autofree char *data = ledger_encode(ledger);

        server_write(JOB_PATH, data);
}

static RunRecord *record_elsewhere(void) {
        g_autofree char *run = run_id_for_tick(tick, 1);
        RunRecord *record = run_record_new("a", run);

        record->tick = tick;
        record->attempt = 1;
        record->node = g_strdup("n2");
        record->terms.attempts = 2;
        record->terms.max_delay = USEC_PER_HOUR;
        return record;
}

static bool crowded_out; /* there is no room for any watch on a ledger */
static unsigned reads;

static ServerWay count_reads(const ZkCall *call) {
        reads += call->request == REQUEST_GET && g_str_equal(call->path, JOB_PATH);
        return SERVER_ANSWER;
}

static void crowd_out(void) {
        while (ledger_cache_take_watch(coordinator->store.ledgers, JOB_PATH)) {
        }
        server.way = count_reads;
}

/* Another node runs a tick, which may be attempted again. */
static void run_elsewhere(const char *keys) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        _cleanup_(run_record_freep) RunRecord *record = record_elsewhere();

        write_job(keys);
        open_daemon();
        await(has_ledger, "a ledger");
        if (crowded_out)
                crowd_out();
        ledger = ledger_there();
        tick = now() - 1;
        g_free(record->run);
        record->run = run_id_for_tick(tick, 1);
        record->tick = tick;
        ledger->from = tick - 1;
        cr_assert_eq(ledger_claim(ledger, record), 0);
        write_ledger(ledger);
        /* As at its turn for the tick. */
        scheduled_job_look_again(job_table_find(coordinator->jobs, "a"));
}

static void fail_elsewhere(usec_t pause) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_there();
        _cleanup_(run_record_freep) RunRecord *record = record_elsewhere();

        record->state = RUN_FAILED;
        record->exit_status = 1;
        record->ended = clock_realtime();
        record->terms.delay = pause;
        cr_assert_eq(ledger_settle(ledger, record, NULL, record->ended), 0);
        cr_assert_not_null(ledger_first_retry(ledger));
        write_ledger(ledger);
}

static bool knows_of_a_run(void) {
        return scheduled_job_state(job_table_find(coordinator->jobs, "a")) == JOB_RUNNING;
}

/* Its next tick is far away: nothing but the watch tells. */
Test(retries, what_fails_elsewhere_is_taken_up) {
        run_elsewhere("    schedule: \"2096-02-29 00:00:00\"\n    exec: [/bin/true]\n");
        await(knows_of_a_run, "the other run is known");
        await_quiet();
        cr_expect_eq(started->len, 0);
        fail_elsewhere(0);
        await_attempt(tick, 2);
}

static char *digest_before;

static bool is_in_force(void) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_there();

        return g_strcmp0(ledger->digest, digest_before) != 0;
}

/* The watch is gone with what we wrote, and what we know of the ledger is what that was. */
Test(retries, also_where_we_wrote_the_ledger_ourselves_meanwhile) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        run_elsewhere("    schedule: \"2096-02-29 00:00:00\"\n    exec: [/bin/true]\n");
        await(knows_of_a_run, "the other run is known");
        await_quiet();
        ledger = ledger_there();
        digest_before = ledger->digest;
        write_job("    schedule: \"2092-02-29 00:00:00\"\n    exec: [/bin/true]\n");
        reload();
        await(is_in_force, "the new definition is in force");
        await_quiet();
        fail_elsewhere(0);
        await_attempt(tick, 2);
}

/* It is looked at now and then, and neither never nor all the time. */
Test(retries, what_fails_elsewhere_is_taken_up_where_so_much_is_watched, .timeout = 90) {
        crowded_out = true;
        run_elsewhere("    schedule: \"2096-02-29 00:00:00\"\n    exec: [/bin/true]\n");
        await(knows_of_a_run, "the other run is known");
        await_quiet();
        serve_for(3 * USEC_PER_SEC);
        cr_expect(reads > 0 && reads <= 3, "%u", reads);
        fail_elsewhere(0);
        await_attempt_within(tick, 2, 2 * JOB_CROWDED_OUT_DELAY);
        crowded_out = false;
}

static bool is_skipped(void) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_there();

        for (guint i = 0; i < ledger->open->len; i++) {
                const LedgerEntry *entry = ledger->open->pdata[i];
                if (entry->state == RUN_SKIPPED &&
                    g_strcmp0(entry->why, "overlap: an earlier tick is to be attempted again") == 0)
                        return true;
        }
        return false;
}

Test(retries, a_tick_that_comes_meanwhile_is_skipped) {
        run_elsewhere("    every: 1s\n    exec: [/bin/true]\n");
        fail_elsewhere(USEC_PER_HOUR);
        await(is_skipped, "ticks are skipped");
        cr_expect_eq(started->len, 0);
}

static bool is_given_up(void) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_there();

        return !ledger_first_retry(ledger);
}

static void end_long_ago(RunState state) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_there();
        _cleanup_(run_record_freep) RunRecord *record = record_elsewhere();

        record->state = state;
        record->ended = clock_realtime() - USEC_PER_HOUR;
        cr_assert_eq(ledger_settle(ledger, record, NULL, record->ended), 0);
        write_ledger(ledger);
}

static void fail_long_ago(void) {
        end_long_ago(RUN_FAILED);
}

Test(retries, what_is_too_late_is_given_up) {
        run_elsewhere("    schedule: \"2096-02-29 00:00:00\"\n    exec: [/bin/true]\n"
                      "    start-deadline: 1min\n");
        await(knows_of_a_run, "the other run is known");
        await_quiet();
        fail_long_ago();
        await(is_given_up, "it is given up");
        serve_for(200 * USEC_PER_MSEC);
        cr_expect_eq(started->len, 0);
}

static bool tells_of_a(void) {
        return started->len == 1 && service_newest()->unit &&
               g_strv_contains((const char *const *)service_newest()->environment,
                               "JOBKEEPER_PARENT_JOB=a");
}

/* The attempt before was the last one after all. */
Test(retries, what_is_given_up_is_followed) {
        char **variable;

        write_job_named("mail", "    exec: [/bin/echo]\n");
        run_elsewhere("    schedule: \"2096-02-29 00:00:00\"\n    exec: [/bin/true]\n"
                      "    start-deadline: 1min\n    on-failure: mail\n");
        await(knows_of_a_run, "the other run is known");
        await_quiet();
        fail_long_ago();
        await(tells_of_a, "a mail");
        variable = service_newest()->environment;
        while (*variable && !g_str_has_prefix(*variable, "JOBKEEPER_PARENT_WHY="))
                variable++;
        cr_assert_not_null(*variable);
        cr_expect(g_str_has_prefix(*variable, "JOBKEEPER_PARENT_WHY=attempt 2 is not made: "), "%s",
                  *variable);
        cr_expect(g_strv_contains((const char *const *)service_newest()->environment,
                                  "JOBKEEPER_PARENT_STATE=failed"));
}

/* In an hour another attempt would be made. */
static void fail_for_an_hour(const char *keys) {
        write_job_named("mail", "    exec: [/bin/echo]\n");
        run_elsewhere(keys);
        await(knows_of_a_run, "the other run is known");
        await_quiet();
        fail_elsewhere(USEC_PER_HOUR);
        await_quiet();
        cr_assert_eq(started->len, 0);
}

/* So does the file that takes the schedule away. */
Test(retries, what_loses_its_schedule_is_given_up_and_followed) {
        fail_for_an_hour("    schedule: \"2096-02-29 00:00:00\"\n    exec: [/bin/true]\n"
                         "    retries: {attempts: 2, delay: 1h, max-delay: 1h}\n"
                         "    on-failure: mail\n");
        write_job("    exec: [/bin/true]\n    on-failure: mail\n");
        reload();
        await(tells_of_a, "a mail");
        cr_expect(g_strv_contains((const char *const *)service_newest()->environment,
                                  "JOBKEEPER_PARENT_STATE=failed"));
        cr_expect_eq(records_that_say("attempt 2 is not made: its definition changed"), 1);
}

static bool is_recorded_as_given_up(void) {
        return records_that_say("attempt 2 is not made: its definition changed") == 1;
}

/* Also where nothing follows, and where it becomes a service. */
Test(retries, what_becomes_a_service_is_given_up) {
        fail_for_an_hour("    schedule: \"2096-02-29 00:00:00\"\n    exec: [/bin/true]\n"
                         "    retries: {attempts: 2, delay: 1h, max-delay: 1h}\n");
        write_job("    mode: service\n    exec: [/bin/true]\n    nodes: [n2]\n");
        reload();
        await(is_recorded_as_given_up, "it is given up");
}

/* A mail waits for x and for a run of a's that fails, which another node has: x has come. */
static void x_has_come_to_the_mail(void) {
        g_autofree char *data = NULL;

        write_job_named("x", "    exec: [/bin/false]\n");
        write_job_named("mail",
                        "    exec: [/bin/echo]\n    after: {all: [x, {job: a, on: failure}]}\n");
        run_elsewhere("    schedule: \"2096-02-29 00:00:00\"\n    exec: [/bin/true]\n"
                      "    start-deadline: 1min\n");
        await(knows_of_a_run, "the other run is known");
        await_quiet();
        data = g_strdup_printf(
            "{\"meetings\":[{\"tick\":%" G_GINT64_FORMAT ",\"come\":{\"x\":\"5-1\"}}]}", tick);
        server_create(ROOT "/meetings/mail", data, 0);
}

/* So it is where others are waited for, too: they have come. */
Test(retries, what_is_given_up_comes_to_where_others_wait) {
        x_has_come_to_the_mail();
        fail_long_ago();
        await(tells_of_a, "a mail");
        cr_expect_str_eq(server_data(ROOT "/meetings/mail"), "{\"meetings\":[]}");
}

/* Somebody closed that: no ledger is held up by it, and it is told of what is closed alone. */
Test(retries, what_is_given_up_is_so_where_others_cannot_be_met) {
        x_has_come_to_the_mail();
        server.unwritable = ROOT "/meetings/mail";
        fail_long_ago();
        await(is_given_up, "no further attempt is waited for");
        cr_expect(journal_has("mail: " ROOT "/meetings/mail: "));
        cr_expect_not(journal_has("a: " ROOT "/jobs/a: cannot be written"));
}

static unsigned looks;

static ServerWay count_looks(const ZkCall *call) {
        looks += call->request == REQUEST_GET;
        return SERVER_ANSWER;
}

/* Nor by that and by what somebody has put in the place of its record. */
Test(retries, also_where_something_stands_in_the_place_of_the_record) {
        g_autofree char *run = NULL, *path = NULL;

        x_has_come_to_the_mail();
        run = run_id_for_skip(tick);
        path = path_run(ROOT, "a", run);
        server.unwritable = ROOT "/meetings/mail";
        server_create(path, "junk", 0);
        server.way = count_looks;
        fail_long_ago();
        await(is_given_up, "no further attempt is waited for");
        cr_expect_lt(looks, 30U, "%u", looks);
}

static ServerWay keep_meeting(const ZkCall *call) {
        return call->request == REQUEST_GET && g_str_equal(call->path, ROOT "/meetings/mail")
                   ? SERVER_KEEP
                   : SERVER_ANSWER;
}

static bool is_looked_for(void) {
        return g_queue_get_length(&server.kept) == 1;
}

/* While it was looked who has come, the attempt's end was said better. */
Test(retries, what_is_given_up_is_told_as_it_is_known_by_then) {
        x_has_come_to_the_mail();
        server.way = keep_meeting;
        fail_long_ago();
        await(is_looked_for, "it is looked for who has come");
        end_long_ago(RUN_TIMED_OUT);
        server.way = NULL;
        server_release();
        await(tells_of_a, "a mail");
        cr_expect(g_strv_contains((const char *const *)service_newest()->environment,
                                  "JOBKEEPER_PARENT_STATE=timed-out"));
        cr_expect_str_eq(server_data(ROOT "/meetings/mail"), "{\"meetings\":[]}");
}

/* What is asked for has its name, and somebody put something else there. */
Test(retries, what_is_given_up_is_so_where_what_follows_cannot_be_asked_for) {
        g_autofree char *run = NULL, *id = NULL, *path = NULL;

        write_job_named("mail", "    exec: [/bin/echo]\n");
        run_elsewhere("    schedule: \"2096-02-29 00:00:00\"\n    exec: [/bin/true]\n"
                      "    start-deadline: 1min\n    on-failure: mail\n");
        await(knows_of_a_run, "the other run is known");
        await_quiet();
        run = run_id_for_tick(tick, 1);
        id = ask_id("a", run, "mail");
        path = path_request("/jobkeeper", id);
        server_create(path, "junk", 0);
        fail_long_ago();
        await(is_given_up, "no further attempt is waited for");
}

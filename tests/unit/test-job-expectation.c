/* That a job is overdue, in a whole daemon (daemon-fixture.h): it stands in the ledger once it is
 * told, by the version that was read, and nothing is written for a job that is not. */
#include "daemon-fixture.h"
#include "journal.h"
#include "ledger.h"

#define LEDGER "/jobkeeper/jobs/a"
#define PATIENCE (25 * USEC_PER_SEC) /* it looks ten seconds after it has begun */

TestSuite(job_expectation, .init = setup, .fini = teardown);

/* Return: NULL: there is none, or as yet an empty one. */
static Ledger *ledger_there(void) {
        const char *data = server_data(LEDGER);
        Ledger *ledger = NULL;

        if (data && *data)
                cr_assert_eq(ledger_decode(data, strlen(data), &ledger), 0, "%s", data);
        return ledger;
}

static bool is_made(void) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_there();

        return ledger;
}

static bool is_told(void) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_there();

        return ledger && ledger->overdue > 0;
}

/* Return: 0 for 0. */
static usec_t seconds_ago(unsigned seconds) {
        return seconds ? clock_realtime() - seconds * USEC_PER_SEC : 0;
}

/* Somebody writes so in the ledger. */
static void say_success(unsigned success_ago, unsigned told_ago) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_there();
        g_autofree char *data = NULL;

        ledger->succeeded = seconds_ago(success_ago);
        ledger->overdue = seconds_ago(told_ago);
        data = ledger_encode(ledger);
        server_write(LEDGER, data);
}

/* A daemon finds the job as it came, last succeeded, or was told of, so long ago. */
static void open_after_told(unsigned from_ago, unsigned success_ago, unsigned told_ago) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        g_autofree char *data = NULL;

        write_job("    exec: [/bin/true]\n    expect-within: 2min\n");
        open_daemon();
        await(is_made, "a ledger");
        await_quiet();
        close_daemon();
        ledger = ledger_there();
        ledger->from = (int64_t)(seconds_ago(from_ago) / USEC_PER_SEC);
        data = ledger_encode(ledger);
        server_write(LEDGER, data);
        say_success(success_ago, told_ago);
        open_daemon_again();
}

static void open_after(unsigned from_ago, unsigned success_ago) {
        open_after_told(from_ago, success_ago, 0);
}

Test(job_expectation, what_never_succeeded_is_told) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        usec_t now = clock_realtime();

        open_after(130, 0);
        await_within(is_told, "it is told", PATIENCE);
        ledger = ledger_there();
        cr_expect(ledger->overdue >= now && ledger->overdue <= clock_realtime() + USEC_PER_SEC);
        cr_expect_leq(ABS(ledger->from - (int64_t)(now / USEC_PER_SEC) + 130), 1,
                      "nothing else changes");
}

Test(job_expectation, what_succeeded_long_ago_is_told) {
        open_after(1000, 130);
        await_within(is_told, "it is told", PATIENCE);
}

Test(job_expectation, what_succeeded_lately_is_not) {
        open_after(1000, 60);
        serve_for(15 * USEC_PER_SEC);
        cr_expect_not(is_told());
}

Test(job_expectation, what_is_paused_is_overdue_all_the_same_and_says_why) {
        server_create("/jobkeeper", "", 0);
        server_create("/jobkeeper/control",
                      "{\"paused\":{\"jobs\":{\"a\":{\"by\":\"alice\",\"why\":\"new "
                      "db\",\"since\":1763000000}}}}",
                      0);
        open_after(1000, 130);
        await_within(is_told, "it is told", PATIENCE);
        cr_expect(journal_has("expected within 2min; it is paused by alice"));
        cr_expect_eq(journal_count(MESSAGE_JOB_OVERDUE), 1U);
}

/* Whoever told of the last one does not hear of the success that ended it. */
Test(job_expectation, the_next_silence_is_told_on_the_same_day) {
        open_after_told(1000, 800, 600);
        await_quiet();
        server_forget_watches();
        say_success(130, 0);
        await_within(is_told, "it is told", PATIENCE);
}

Test(job_expectation, what_was_told_is_not_told_again) {
        open_after_told(1000, 800, 600);
        serve_for(15 * USEC_PER_SEC);
        cr_expect_eq(journal_count(MESSAGE_JOB_OVERDUE), 0U);
}

/* ---- a write whose answer never comes ---- */

static ServerWay keep_writes_of_ledger(const ZkCall *call) {
        return call->request == REQUEST_SET && g_str_equal(call->path, LEDGER) ? SERVER_KEEP
                                                                               : SERVER_ANSWER;
}

static bool is_kept_back(void) {
        return server.kept.length > 0;
}

/* It may have been done, and then others do not tell. */
Test(job_expectation, what_goes_with_the_session_is_told) {
        server.way = keep_writes_of_ledger;
        open_after(1000, 130);
        await_within(is_kept_back, "it is written", PATIENCE);
        cr_expect_eq(journal_count(MESSAGE_JOB_OVERDUE), 0U);
        server_expire(last_session);
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_EXPIRED);
        serve_for(USEC_PER_SEC);
        cr_expect_eq(journal_count(MESSAGE_JOB_OVERDUE), 1U);
}

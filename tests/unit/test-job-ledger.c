/* A job's ledger by itself, on top of a whole daemon (daemon-fixture.h): what its owner hears of a
 * read and of a write, and when it is to be looked at again. */
#include "job-ledger.h"

#include "backoff.h"
#include "diagnostics.h"
#include "heard.h"
#include "job-file.h"
#include "job-parts-fixture.h"
#include "ledger-fixture.h"

#define ROOT "/jobkeeper"
#define PATH ROOT "/jobs/b" /* of no job of this node, so that nobody else has to do with it */
#define REQUEST ROOT "/requests/1000000000-m0badcafe"

static JobLedger *ledger;
static JobParts parts;
static JobFile *file;
static const JobSpec *spec, *other;

/* ---- what the owner hears ---- */

static void on_read(void *userdata) {
        hear("read");
}

static void on_changed(void *userdata) {
        hear("changed");
}

static void on_writes(void *userdata) {
        hear("writes");
}

static void on_over(usec_t delay, void *userdata) {
        g_autofree char *word =
            delay == USEC_INFINITY
                ? g_strdup("over")
                : g_strdup_printf("over:%" G_GUINT64_FORMAT, (guint64)(delay / USEC_PER_MSEC));

        hear(word);
}

static void on_refused(const char *request, void *userdata) {
        g_autofree char *word = g_strconcat("refused:", request, NULL);

        hear(word);
}

/* ... that it is over, and is to be looked at again after so long, but for what of it has passed
 * since `since`. */
static void expect_heard_pause(usec_t pause, usec_t since) {
        g_autofree char *word = NULL;
        usec_t delay, passed;

        await(has_heard, "over");
        passed = clock_boottime() - since;
        word = g_strdup(heard());
        cr_assert(g_str_has_prefix(word, "over:"), "%s", word);
        delay = g_ascii_strtoull(word + strlen("over:"), NULL, 10) * USEC_PER_MSEC;
        cr_expect_leq(delay, pause, "%s", word);
        cr_expect_geq(delay, usec_sub(pause, passed + USEC_PER_MSEC), "%s", word);
        expect_heard(word);
}

/* ... that so much of it has passed for certain. */
static void expect_heard_rest(usec_t pause, usec_t since, usec_t passed) {
        expect_heard_pause(usec_sub(pause, passed), usec_add(since, passed));
}

/* ... the whole of it. */
static void expect_pause(usec_t pause) {
        g_autofree char *word =
            g_strdup_printf("over:%" G_GUINT64_FORMAT, (guint64)(pause / USEC_PER_MSEC));

        expect_heard(word);
}

static usec_t pause_refused(unsigned failures) {
        return backoff_pause(JOB_REFUSED_DELAY, JOB_REFUSED_DELAY_MAX, failures,
                             backoff_spread("b"));
}

static usec_t pause_drifted(unsigned failures) {
        return backoff_pause(JOB_FAULT_DELAY, JOB_DRIFTED_DELAY_MAX, failures, backoff_spread("b"));
}

static usec_t pause_unreadable(unsigned failures) {
        return backoff_pause(JOB_FAULT_DELAY, JOB_REFUSED_DELAY_MAX, failures, backoff_spread("b"));
}

/* ---- the scene ---- */

static void define(void) {
        const char *text = "jobs: {b: {exec: [/bin/true]}, other: {exec: [/bin/false]}}";
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();

        cr_assert_eq(job_file_parse("f", text, strlen(text), diagnostics, &file), 0);
        spec = file->jobs->pdata[0];
        other = file->jobs->pdata[1];
}

static void setup_ledger(void) {
        static const JobLedgerEvents events = {.read = on_read,
                                               .changed = on_changed,
                                               .writes = on_writes,
                                               .over = on_over,
                                               .refused = on_refused};

        setup();
        heard_begin();
        parts = job_parts_begin();
        define();
        ledger = job_ledger_new(&parts, spec, &events, NULL);
}

static void teardown_ledger(void) {
        ledger = job_ledger_free(ledger);
        file = job_file_free(file);
        heard_end();
        teardown();
}

TestSuite(job_ledger, .init = setup_ledger, .fini = teardown_ledger);

static void put(const char *digest) {
        _cleanup_(ledger_freep) Ledger *there = ledger_new(1000, digest);
        g_autofree char *data = ledger_encode(there);

        server_write(PATH, data);
        if (!server_node(PATH "/runs"))
                server_create(PATH "/runs", "", 0);
}

static void put_ours(void) {
        g_autofree char *digest = job_spec_digest(spec, coordinator->config);

        put(digest);
}

static void read_ours(bool watch) {
        put_ours();
        cr_assert_eq(job_ledger_read(ledger, watch), 0);
        expect_heard("read");
}

/* ---- reading ---- */

Test(job_ledger, one_with_our_definition_is_read) {
        cr_expect(job_ledger_is_unchecked(ledger));
        cr_expect_null(job_ledger_known(ledger));
        read_ours(false);
        cr_expect_not_null(job_ledger_known(ledger));
        cr_expect(job_ledger_is_ours(ledger));
        cr_expect_not(job_ledger_is_unchecked(ledger) || job_ledger_is_drifted(ledger));
        cr_expect_not(job_ledger_is_watching(ledger));
        job_ledger_forget(ledger);
        cr_expect_null(job_ledger_known(ledger));
        cr_expect_null(job_ledger_free(NULL));
}

Test(job_ledger, one_that_is_watched_tells_of_a_change_once) {
        read_ours(true);
        cr_expect(job_ledger_is_watching(ledger));
        put("other");
        expect_heard("changed");
        cr_expect_not(job_ledger_is_watching(ledger));
        put_ours();
        expect_silence();
}

/* That is remembered first. */
Test(job_ledger, one_that_is_missing_is_made) {
        cr_assert_eq(job_ledger_read(ledger, false), 0);
        expect_heard("over");
        expect_heard("changed");
        cr_expect_null(server_node(PATH));
        cr_assert_eq(job_ledger_read(ledger, false), 0);
        expect_heard("writes over:0");
        cr_expect_not_null(server_node(PATH));
        cr_expect(job_ledger_is_ours(ledger));
}

Test(job_ledger, one_with_another_definition_is_looked_at_now_and_then) {
        g_autofree char *own = job_spec_digest(spec, coordinator->config);

        digest_memory_set(coordinator->digests, "b", own);
        put("other");
        cr_assert_eq(job_ledger_read(ledger, false), 0);
        expect_pause(pause_drifted(0));
        cr_expect(job_ledger_is_drifted(ledger));
        cr_expect_not(job_ledger_is_ours(ledger));
        read_ours(false);
        cr_expect_not(job_ledger_is_drifted(ledger));
        job_ledger_definition_changed(ledger);
        cr_expect(job_ledger_is_unchecked(ledger));
}

static ServerWay keep_looks(const ZkCall *call) {
        return call->request == REQUEST_SET && strcmp(call->path, ROOT "/open/n1") == 0
                   ? SERVER_KEEP
                   : SERVER_ANSWER;
}

static bool is_one_kept(void) {
        return g_queue_get_length(&server.kept) == 1;
}

/* ... by one that is good, which is begun to be found out. */
Test(job_ledger, nothing_is_made_by_a_clock_that_is_not_known) {
        server.way = keep_looks;
        clock_watch_reset(coordinator->clock);
        cr_assert_eq(job_ledger_read(ledger, false), 0);
        expect_heard("over:100");
        await(is_one_kept, "a look at the clock");
        digest_memory_set(coordinator->digests, "b", "older");
        put("other");
        cr_assert_eq(job_ledger_read(ledger, false), 0);
        expect_heard("over:100");
        cr_expect_null(job_ledger_known(ledger), "it is read again");
}

Test(job_ledger, one_that_is_none_is_said) {
        put_ours();
        server_write(PATH, "][");
        cr_assert_eq(job_ledger_read(ledger, false), 0);
        expect_pause(pause_unreadable(0));
        cr_expect_not_null(strstr(job_ledger_fault(ledger), "not a ledger"));
        read_ours(false);
        cr_expect_null(job_ledger_fault(ledger));
}

/* It may stay so until somebody sees to it. */
Test(job_ledger, one_that_is_none_is_read_less_and_less_often) {
        usec_t since = clock_boottime();

        put_ours();
        server_write(PATH, "][");
        cr_assert_eq(job_ledger_read(ledger, false), 0);
        expect_pause(pause_unreadable(0));
        serve_for(50 * USEC_PER_MSEC);
        cr_assert_eq(job_ledger_read(ledger, false), 0);
        expect_heard_rest(pause_unreadable(0), since, 50 * USEC_PER_MSEC);
        read_ours(false);
        server_write(PATH, "][");
        cr_assert_eq(job_ledger_read(ledger, false), 0);
        expect_pause(pause_unreadable(0));
}

static ServerWay refuse_ours(const ZkCall *call) {
        return strcmp(call->path, PATH) == 0 ? SERVER_REFUSE : SERVER_ANSWER;
}

Test(job_ledger, a_read_that_fails_is_done_later_or_with_the_next_session) {
        server.way = refuse_ours;
        server.refusal = ZK_UNKNOWN;
        for (unsigned i = 0; i < 3; i++) {
                cr_assert_eq(job_ledger_read(ledger, false), 0);
                expect_heard("over:1000");
                cr_expect_null(job_ledger_fault(ledger));
        }
        server.refusal = ZK_CLOSED;
        cr_assert_eq(job_ledger_read(ledger, false), 0);
        expect_heard("over");
        coordinator->node->session_phase = 0;
        cr_expect_eq(job_ledger_read(ledger, false), -ENOTCONN);
        expect_silence();
}

static usec_t pause_ends;

static bool is_pause_over(void) {
        return clock_boottime() >= pause_ends;
}

static void await_the_pauses_end(usec_t pause) {
        pause_ends = clock_boottime() + pause;
        await(is_pause_over, "the pause");
}

static void expect_refused_reads(unsigned n) {
        for (unsigned i = 0; i < n; i++) {
                usec_t since = clock_boottime();

                cr_assert_eq(job_ledger_read(ledger, false), 0);
                expect_pause(pause_refused(i));
                cr_assert_eq(job_ledger_read(ledger, false), 0);
                expect_heard_pause(pause_refused(i), since);
                if (i + 1 < n)
                        await_the_pauses_end(pause_refused(i));
        }
}

/* All jobs at once are, where somebody changed an ACL, until somebody sees to it. */
Test(job_ledger, a_read_that_is_refused_is_done_less_and_less_often) {
        put_ours();
        server.way = refuse_ours;
        server.refusal = ZK_NO_AUTH;
        expect_refused_reads(2);
        cr_expect(g_str_has_prefix(job_ledger_fault(ledger), PATH ": cannot be read"));
        server.way = NULL;
        read_ours(false);
        cr_expect_null(job_ledger_fault(ledger));
        server.way = refuse_ours;
        expect_refused_reads(1);
        job_ledger_definition_changed(ledger);
        expect_refused_reads(1);
        job_ledger_try_anew(ledger);
        expect_refused_reads(1);
        job_ledger_reset(ledger);
        expect_refused_reads(1);
}

static void expect_drifted(void) {
        cr_assert_eq(job_ledger_read(ledger, false), 0);
        expect_pause(pause_drifted(0));
}

/* A fleet may wait for a rollout for days. */
Test(job_ledger, one_with_another_definition_is_looked_at_less_and_less_often) {
        g_autofree char *own = job_spec_digest(spec, coordinator->config);
        usec_t since = clock_boottime();

        digest_memory_set(coordinator->digests, "b", own);
        put("other");
        expect_drifted();
        serve_for(50 * USEC_PER_MSEC);
        cr_assert_eq(job_ledger_read(ledger, false), 0);
        expect_heard_rest(pause_drifted(0), since, 50 * USEC_PER_MSEC);
        cr_expect_lt(pause_drifted(0), pause_drifted(1));
        put("yet another");
        expect_drifted();
        read_ours(true);
        put("other");
        expect_heard("changed");
        expect_drifted();
        job_ledger_definition_changed(ledger);
        expect_drifted();
        job_ledger_try_anew(ledger);
        expect_drifted();
        job_ledger_reset(ledger);
        expect_drifted();
        job_ledger_try_anew(ledger);
        cr_assert_eq(job_ledger_read(ledger, true), 0);
        expect_pause(pause_drifted(0));
        put("other"); /* as it was, but somebody wrote it */
        expect_heard("changed");
        expect_drifted();
}

Test(job_ledger, nobody_hears_of_what_was_stopped) {
        put_ours();
        cr_assert_eq(job_ledger_read(ledger, false), 0);
        job_ledger_stop_reading(ledger);
        expect_silence();
        read_ours(true);
        job_ledger_cancel(ledger);
        cr_expect_not(job_ledger_is_watching(ledger));
        put("other");
        expect_silence();
        cr_expect_not_null(job_ledger_known(ledger));
        job_ledger_reset(ledger);
        cr_expect_null(job_ledger_known(ledger));
}

/* ---- writing ---- */

Test(job_ledger, a_request_that_is_refused_is_told_before_that_is_over) {
        char run[] = "1000000000-m0badcafe", who[] = "me";

        read_ours(false);
        server_create(REQUEST, "{}", 0);
        cr_assert_eq(job_ledger_refuse(ledger, &(ManualRun){.id = run, .who = who}, "too late"), 0);
        expect_heard("refused:1000000000-m0badcafe over:0");
        cr_expect_null(server_node(REQUEST));
}

Test(job_ledger, what_is_skipped_is_in_the_ledger) {
        DecisionSkip skip = {.from = 2000,
                             .to = 2000,
                             .count = 1,
                             .why = {DECISION_KIND_MISSED, "missed: for a test"}};

        read_ours(false);
        cr_assert_eq(job_ledger_skip(ledger, &skip, 1), 0);
        expect_heard("over:0");
        cr_expect(ledger_is_decided(job_ledger_known(ledger), 2000));
        cr_expect_not_null(strstr(server_data(PATH "/runs/2000-0"), "for a test"));
}

/* Another write comes in between, or the session goes. */
Test(job_ledger, a_write_that_was_not_done_is_decided_again_later_or_not_in_this_session) {
        DecisionSkip skip = {.from = 2000,
                             .to = 2000,
                             .count = 1,
                             .why = {DECISION_KIND_MISSED, "missed: for a test"}};

        read_ours(false);
        put_ours();
        cr_assert_eq(job_ledger_skip(ledger, &skip, 1), 0);
        expect_heard("over:0");
        cr_expect_null(job_ledger_known(ledger));
        read_ours(false);
        server.way = refuse_ours;
        server_delete(ROOT "/control");
        cr_assert_eq(job_ledger_skip(ledger, &skip, 1), 0);
        expect_heard("over:1000");
}

static ServerWay refuse_writes(const ZkCall *call) {
        return call->request == REQUEST_MULTI ? SERVER_REFUSE : SERVER_ANSWER;
}

static void expect_refused_skip(unsigned failures) {
        DecisionSkip skip = {.from = 2000,
                             .to = 2000,
                             .count = 1,
                             .why = {DECISION_KIND_MISSED, "missed: for a test"}};

        read_ours(false);
        cr_assert_eq(job_ledger_skip(ledger, &skip, 1), 0);
        expect_pause(pause_refused(failures));
        cr_expect(g_str_has_prefix(job_ledger_fault(ledger), PATH ": cannot be written"));
}

Test(job_ledger, a_write_that_is_refused_is_done_less_and_less_often) {
        DecisionSkip skip = {.from = 2000,
                             .to = 2000,
                             .count = 1,
                             .why = {DECISION_KIND_MISSED, "missed: for a test"}};

        server.way = refuse_writes;
        server.refusal = ZK_NO_AUTH;
        expect_refused_skip(0);
        await_the_pauses_end(pause_refused(0));
        expect_refused_skip(1);
        server.way = NULL;
        read_ours(false);
        cr_expect_null(job_ledger_fault(ledger));
        cr_assert_eq(job_ledger_skip(ledger, &skip, 1), 0);
        expect_heard("over:0");
        server.way = refuse_writes;
        expect_refused_skip(0);
        job_ledger_try_anew(ledger);
        expect_refused_skip(0);
        job_ledger_reset(ledger);
        cr_expect_null(job_ledger_fault(ledger), "of the session before");
        expect_refused_skip(0);
}

Test(job_ledger, another_definition_is_taken_as_it_is) {
        cr_expect_eq(job_ledger_spec(ledger), spec);
        job_ledger_take_spec(ledger, other);
        cr_expect_eq(job_ledger_spec(ledger), other);
        cr_expect(job_ledger_is_unchecked(ledger));
}

/* Withdrawals by themselves, on top of a whole daemon (daemon-fixture.h): what the ledger says of a
 * job that this node has no more, how long others may answer, and how many are under way at a time.
 */
#include "withdrawal.h"

#include "daemon-fixture.h"
#include "ledger-change.h"
#include "ledger-fixture.h"

#define ROOT "/jobkeeper"
#define PATH ROOT "/jobs/b"

static Withdrawals *withdrawals;

static bool is_ready(void) {
        return node_is_ready(coordinator->node) && server_node(ROOT "/jobs/a/runs") &&
               clock_watch_is_good(coordinator->clock);
}

static void setup_withdrawals(void) {
        setup();
        write_job("    exec: [/bin/true]\n    nodes: [another]\n");
        open_daemon();
        await(is_ready, "ready");
        serve_for(100 * USEC_PER_MSEC);
        withdrawals = withdrawals_new(&(WithdrawalsParts){.node = coordinator->node,
                                                          .digests = coordinator->digests,
                                                          .clock = coordinator->clock,
                                                          .tree = coordinator->tree,
                                                          .pruner = coordinator->store.pruner,
                                                          .jobset = coordinator->jobset});
}

static void teardown_withdrawals(void) {
        withdrawals = withdrawals_free(withdrawals);
        teardown();
}

TestSuite(withdrawal, .init = setup_withdrawals, .fini = teardown_withdrawals);

static int64_t now(void) {
        return (int64_t)(clock_realtime() / USEC_PER_SEC);
}

/* A job that this node had, with a ledger. */
static void put_job(const char *job, const char *schedule, int64_t from) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(from, "digest");
        g_autofree char *path = g_strconcat(ROOT "/jobs/", job, NULL),
                        *runs = g_strconcat(path, "/runs", NULL), *data = NULL;

        g_free(ledger->schedule);
        ledger->schedule = g_strdup(schedule);
        data = ledger_encode(ledger);
        server_write(path, data);
        server_create(runs, "", 0);
        digest_memory_set(coordinator->digests, job, "digest");
}

static Ledger *there(void) {
        Ledger *ledger = NULL;

        cr_assert_eq(ledger_decode(server_data(PATH), strlen(server_data(PATH)), &ledger), 0);
        return ledger;
}

static bool is_said(void) {
        _cleanup_(ledger_freep) Ledger *ledger = there();

        return ledger->withdrawn != 0;
}

static bool is_withdrawn(void) {
        return strstr(server_data(PATH), "\"digest\":\"\"");
}

static bool is_over(void) {
        return withdrawals_size(withdrawals) == 0;
}

/* Nobody has to be waited for. */
static void have_no_patience(void) {
        coordinator->config->session_timeout = coordinator->config->tick_time =
            coordinator->config->takeover_delay = 0;
}

/* Whoever has the job says so. */
static void answer(void) {
        _cleanup_(ledger_freep) Ledger *ledger = there();
        g_autofree char *data = NULL;

        ledger_resume(ledger);
        data = ledger_encode(ledger);
        server_write(PATH, data);
}

static const char *remembered(void) {
        return digest_memory_get(coordinator->digests, "b");
}

static bool is_remembered_as_lost(void) {
        return g_strcmp0(remembered(), "") == 0;
}

/* ---- the two steps ---- */

/* Its definition stays in force meanwhile; whoever comes after this process goes on with it. */
Test(withdrawal, first_the_ledger_says_that_a_node_has_lost_it) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        put_job("b", NULL, 1000);
        withdrawals_add(withdrawals, "b");
        cr_expect_eq(withdrawals_size(withdrawals), 1);
        await(is_said, "it is said");
        await(is_remembered_as_lost, "it is waited for others");
        ledger = there();
        cr_expect_str_eq(ledger->digest, "digest");
        cr_expect(ledger->withdrawn >= now() - 2 && ledger->withdrawn <= now());
        cr_expect_eq(withdrawals_size(withdrawals), 1);
}

Test(withdrawal, then_where_nobody_has_it_what_it_owes_is_skipped) {
        int64_t tick = now() / 10 * 10;
        g_autofree char *record = g_strdup_printf(PATH "/runs/%" G_GINT64_FORMAT "-0", tick);
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        have_no_patience();
        put_job("b", "every 10s", tick - 1);
        withdrawals_add(withdrawals, "b");
        await(is_over, "it is over");
        ledger = there();
        cr_expect_str_eq(ledger->digest, "");
        cr_expect_eq(ledger->withdrawn, 0);
        cr_expect_not_null(strstr(server_data(record), "its job left the job files"));
        cr_expect_null(remembered());
}

/* Return: whether anything is recorded of the tick. */
static bool is_recorded(int64_t tick) {
        g_autofree char *path = g_strdup_printf(PATH "/runs/%" G_GINT64_FORMAT "-0", tick);

        return server_node(path);
}

/* Every other tick was decided, beside one that is under way still. */
Test(withdrawal, however_many_stretches_it_owes) {
        int64_t first = now() / 10 * 10 - 400;
        g_autoptr(GString) entries = g_string_new(NULL);
        _cleanup_(ledger_freep) Ledger *ledger = NULL, *after = NULL;
        g_autofree char *data = NULL;

        for (int64_t tick = first; tick < first + 400; tick += 20)
                g_string_append_printf(entries,
                                       "%s{'run':'%" G_GINT64_FORMAT
                                       "-1','state':'%s','tick':%" G_GINT64_FORMAT ",'node':'n2'}",
                                       tick == first ? "" : ",", tick,
                                       tick == first ? "claimed" : "succeeded", tick);
        have_no_patience();
        put_job("b", "every 10s", first - 1);
        ledger = ledger_of(0, first - 1, entries->str);
        ledger->schedule = g_strdup("every 10s");
        data = ledger_encode(ledger);
        server_write(PATH, data);
        withdrawals_add(withdrawals, "b");
        await(is_over, "it is over");
        after = there();
        cr_expect_str_eq(after->digest, "");
        for (int64_t tick = first + 10; tick < first + 400; tick += 20)
                cr_expect(is_recorded(tick), "tick %" G_GINT64_FORMAT, tick);
}

/* The tick that it is an attempt of is settled, but was to be attempted again. */
Test(withdrawal, what_was_to_be_attempted_again_is_given_up_and_that_is_recorded) {
        int64_t tick = now() / 10 * 10 - 20;
        g_autofree char *entries = g_strdup_printf(
                            "{'run':'%" G_GINT64_FORMAT
                            "-1','state':'failed','tick':%" G_GINT64_FORMAT
                            ",'attempt':1,'node':'n2','not_before':%" G_GINT64_FORMAT "}",
                            tick, tick, now() + 3600),
                        *record = g_strdup_printf(PATH "/runs/%" G_GINT64_FORMAT "-0", tick),
                        *data = NULL;
        _cleanup_(ledger_freep) Ledger *ledger = NULL, *after = NULL;

        have_no_patience();
        put_job("b", "every 10s", tick - 1);
        ledger = ledger_of(0, tick - 1, entries);
        ledger->schedule = g_strdup("every 10s");
        data = ledger_encode(ledger);
        server_write(PATH, data);
        withdrawals_add(withdrawals, "b");
        await(is_over, "it is over");
        after = there();
        cr_expect_str_eq(after->digest, "");
        cr_assert(is_recorded(tick));
        cr_expect_not_null(strstr(server_data(record), "attempt 2 is not made: its job left"));
        cr_expect(is_recorded(tick + 10), "and the ticks after it are skipped");
        cr_expect_null(remembered());
}

/* What was paused is told as that. */
Test(withdrawal, what_it_owes_since_a_pause_was_skipped_for_that) {
        int64_t tick = now() / 10 * 10 - 20;
        g_autofree char *control = g_strdup_printf("{\"paused\":{\"jobs\":{\"b\":{\"by\":\"alice\","
                                                   "\"why\":\"a new database\","
                                                   "\"since\":%" G_GINT64_FORMAT "}}}}",
                                                   tick - 100),
                        *record = g_strdup_printf(PATH "/runs/%" G_GINT64_FORMAT "-0", tick);

        have_no_patience();
        put_job("b", "every 10s", tick - 1);
        server_write(ROOT "/control", control);
        serve_for(500 * USEC_PER_MSEC);
        withdrawals_add(withdrawals, "b");
        await(is_over, "it is over");
        cr_assert(is_recorded(tick));
        cr_expect_not_null(strstr(server_data(record), "paused by alice: a new database"), "%s",
                           server_data(record));
}

Test(withdrawal, also_where_the_directory_of_its_records_is_gone) {
        int64_t tick = now() / 10 * 10;

        have_no_patience();
        put_job("b", "every 10s", tick - 1);
        server_remove(PATH "/runs");
        withdrawals_add(withdrawals, "b");
        await(is_over, "it is over");
        cr_expect(is_withdrawn());
        cr_expect(is_recorded(tick));
}

/* Of 64 runs that are under way, every other tick was decided: there is no room for more. */
static void fill_ledger(void) {
        int64_t first = now() / 10 * 10 - 2000;
        g_autoptr(GString) entries = g_string_new(NULL);
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        g_autofree char *data = NULL;

        for (int64_t i = 0; i < LEDGER_OPEN_MAX; i++)
                g_string_append_printf(entries,
                                       "%s{'run':'%" G_GINT64_FORMAT
                                       "-1','state':'claimed','tick':%" G_GINT64_FORMAT
                                       ",'node':'n2'}",
                                       i > 0 ? "," : "", first + i * 20, first + i * 20);
        put_job("b", "every 10s", first - 1);
        ledger = ledger_of(0, first - 1, entries->str);
        ledger->schedule = g_strdup("every 10s");
        data = ledger_encode(ledger);
        server_write(PATH, data);
}

/* All of them have ended. */
static void empty_ledger(void) {
        _cleanup_(ledger_freep) Ledger *ledger = there();
        g_autofree char *data = NULL;

        g_ptr_array_set_size(ledger->open, 0);
        data = ledger_encode(ledger);
        server_write(PATH, data);
}

static unsigned asked; /* requests that are no heartbeats */

static ServerWay count_asked(const ZkCall *call) {
        asked += call->request != REQUEST_SYNC;
        return SERVER_ANSWER;
}

/* One of them has to end before there is room for what was skipped. */
Test(withdrawal, where_the_ledger_is_full_of_runs_under_way_it_waits) {
        have_no_patience();
        fill_ledger();
        withdrawals_add(withdrawals, "b");
        await(is_said, "it is said");
        serve_for(200 * USEC_PER_MSEC);
        server.way = count_asked;
        serve_for(USEC_PER_SEC);
        cr_expect_lt(asked, 5U, "%u", asked);
        cr_expect_not(is_withdrawn());
        cr_expect_eq(withdrawals_size(withdrawals), 1);
        empty_ledger();
        await(is_over, "it is over");
        cr_expect(is_withdrawn());
}

Test(withdrawal, where_somebody_has_it_nothing_else_follows) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        have_no_patience();
        coordinator->config->tick_time = USEC_PER_SEC; /* long enough to answer */
        put_job("b", NULL, 1000);
        withdrawals_add(withdrawals, "b");
        await(is_said, "it is said");
        answer();
        await(is_over, "it is over");
        ledger = there();
        cr_expect_str_eq(ledger->digest, "digest");
        cr_expect_eq(ledger->withdrawn, 0);
        cr_expect_null(remembered());
}

/* ---- where it is not needed ---- */

Test(withdrawal, of_what_has_no_ledger_nothing_is_said) {
        digest_memory_set(coordinator->digests, "b", "digest");
        withdrawals_add(withdrawals, "b");
        await(is_over, "it is over");
        cr_expect_null(remembered());
        cr_expect_null(server_node(PATH));
}

Test(withdrawal, what_another_node_withdrew_for_good_is_withdrawn) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        g_autofree char *data = NULL;
        int32_t version;

        put_job("b", NULL, 1000);
        ledger = there();
        ledger_adopt_digest(ledger, "", 2000);
        data = ledger_encode(ledger);
        server_write(PATH, data);
        version = server_node(PATH)->stat.version;
        withdrawals_add(withdrawals, "b");
        await(is_over, "it is over");
        cr_expect_eq(server_node(PATH)->stat.version, version);
        cr_expect_null(remembered());
}

Test(withdrawal, what_goes_on_under_another_name_is_left_as_it_is) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(now(), "");
        g_autofree char *data = NULL;

        put_job("b", "", now());
        ledger_leave(ledger, "c", now());
        data = ledger_encode(ledger);
        server_write(PATH, data);
        withdrawals_add(withdrawals, "b");
        await_quiet();
        cr_expect_eq(withdrawals_size(withdrawals), 0);
        cr_expect_str_eq(server_data(PATH), data);
        cr_expect_null(digest_memory_get(coordinator->digests, "b"));
}

Test(withdrawal, a_job_that_is_there_again_is_not_withdrawn) {
        put_job("b", NULL, 1000);
        withdrawals_add(withdrawals, "b");
        withdrawals_remove(withdrawals, "b");
        cr_expect_eq(withdrawals_size(withdrawals), 0);
        serve_for(200 * USEC_PER_MSEC);
        cr_expect_not(is_said());
        cr_expect_str_eq(remembered(), "digest");
}

Test(withdrawal, without_a_session_none_begins_and_with_its_end_all_are_over) {
        put_job("b", NULL, 1000);
        withdrawals_add(withdrawals, "b");
        withdrawals_reset(withdrawals);
        cr_expect_eq(withdrawals_size(withdrawals), 0);
        coordinator->node->session_phase = 0;
        withdrawals_add(withdrawals, "b");
        cr_expect_eq(withdrawals_size(withdrawals), 0);
        cr_expect_str_eq(remembered(), "digest");
}

/* ---- what goes wrong ---- */

static unsigned writes;

static ServerWay lose_first_write(const ZkCall *call) {
        if (call->request != REQUEST_SET || strcmp(call->path, PATH) != 0)
                return SERVER_ANSWER;
        return ++writes == 1 ? SERVER_LOSE : SERVER_ANSWER;
}

Test(withdrawal, a_write_that_may_be_lost_is_looked_for_and_done_again) {
        put_job("b", NULL, 1000);
        server.way = lose_first_write;
        withdrawals_add(withdrawals, "b");
        await(is_said, "it is said");
        cr_expect_eq(writes, 2);
}

static void others_write(void (*change)(Ledger *ledger)) {
        _cleanup_(ledger_freep) Ledger *ledger = there();
        g_autofree char *data = NULL;

        change(ledger);
        data = ledger_encode(ledger);
        server_set(server_node(PATH), data);
}

static void succeed(Ledger *ledger) {
        ledger->succeeded += USEC_PER_SEC;
}

static void lose_later(Ledger *ledger) {
        ledger->withdrawn += 1000;
}

/* Another node's write comes first, each time that we want to write. */
static ServerWay others_are_quicker(const ZkCall *call) {
        if (!call_has(call, ZK_OP_SET, PATH) &&
            (call->request != REQUEST_SET || strcmp(call->path, PATH) != 0))
                return SERVER_ANSWER;
        if (++writes % 2 != 0)
                others_write(succeed);
        return SERVER_ANSWER;
}

Test(withdrawal, what_others_wrote_meanwhile_stays) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        put_job("b", NULL, 1000);
        server.way = others_are_quicker;
        withdrawals_add(withdrawals, "b");
        await(is_said, "it is said");
        cr_expect_eq(writes, 2);
        ledger = there();
        cr_expect_eq(ledger->succeeded, USEC_PER_SEC);
}

static ServerWay others_have_it_after_all(const ZkCall *call) {
        if (call_has(call, ZK_OP_SET, PATH) && writes++ == 0)
                answer();
        return SERVER_ANSWER;
}

Test(withdrawal, a_node_that_says_at_the_last_moment_that_it_has_the_job_is_heard) {
        have_no_patience();
        put_job("b", NULL, 1000);
        server.way = others_have_it_after_all;
        withdrawals_add(withdrawals, "b");
        await(is_over, "it is over");
        cr_expect_eq(writes, 1U);
        cr_expect_not(is_withdrawn());
        cr_expect_null(remembered(), "that is settled");
}

static ServerWay refuse_writes(const ZkCall *call) {
        if (call->request != REQUEST_SET || strcmp(call->path, PATH) != 0)
                return SERVER_ANSWER;
        writes++;
        return SERVER_REFUSE;
}

/* The next reload, or the next process, tries again. */
Test(withdrawal, one_that_cannot_be_written_is_over_and_still_remembered) {
        put_job("b", NULL, 1000);
        server.way = refuse_writes;
        server.refusal = ZK_NO_AUTH;
        withdrawals_add(withdrawals, "b");
        await(is_over, "it is over");
        cr_expect_eq(writes, 1);
        cr_expect_str_eq(remembered(), "digest");
}

static ServerWay refuse_the_end(const ZkCall *call) {
        return call_has(call, ZK_OP_SET, PATH) ? SERVER_REFUSE : SERVER_ANSWER;
}

Test(withdrawal, nor_where_that_is_so_of_the_last_step) {
        have_no_patience();
        put_job("b", NULL, 1000);
        server.way = refuse_the_end;
        server.refusal = ZK_NO_AUTH;
        withdrawals_add(withdrawals, "b");
        await(is_over, "it is over");
        cr_expect(is_said());
        cr_expect_not(is_withdrawn());
        cr_expect_not_null(remembered());
}

/* A node has it, and another one loses it, before we have written. */
static ServerWay others_have_it_and_lose_it(const ZkCall *call) {
        if (!call_has(call, ZK_OP_SET, PATH) || writes++ > 0)
                return SERVER_ANSWER;
        others_write(lose_later);
        coordinator->config->session_timeout = USEC_PER_HOUR;
        return SERVER_ANSWER;
}

Test(withdrawal, what_is_lost_anew_meanwhile_has_all_its_time_again) {
        have_no_patience();
        put_job("b", NULL, 1000);
        server.way = others_have_it_and_lose_it;
        withdrawals_add(withdrawals, "b");
        await(is_remembered_as_lost, "it is waited for others");
        serve_for(2 * USEC_PER_SEC);
        cr_expect_eq(writes, 1U);
        cr_expect_not(is_withdrawn());
        cr_expect_eq(withdrawals_size(withdrawals), 1);
}

static ServerWay keep_looks(const ZkCall *call) {
        return call->request == REQUEST_SET && strcmp(call->path, ROOT "/open/n1") == 0
                   ? SERVER_KEEP
                   : SERVER_ANSWER;
}

static bool is_kept(void) {
        return g_queue_get_length(&server.kept) > 0;
}

Test(withdrawal, nothing_is_dated_by_a_clock_that_is_not_known) {
        put_job("b", NULL, 1000);
        server.way = keep_looks;
        clock_watch_reset(coordinator->clock);
        withdrawals_add(withdrawals, "b");
        await(is_kept, "a look at the clock");
        serve_for(200 * USEC_PER_MSEC);
        cr_expect_not(is_said());
        server.way = NULL;
        server_release();
        await(is_said, "it is said");
}

/* ---- many ---- */

#define MANY (WITHDRAWALS_BUSY_MAX + 36)

static unsigned reads;

static ServerWay keep_reads(const ZkCall *call) {
        bool is_one = call->request == REQUEST_GET && strstr(call->path, "/jobs/many-");

        reads += is_one;
        return is_one ? SERVER_KEEP : SERVER_ANSWER;
}

/* Whoever asks for it twice does not make it two. */
static void add_many(void) {
        for (unsigned i = 0; i < 2 * MANY; i++) {
                g_autofree char *job = g_strdup_printf("many-%u", i % MANY);

                withdrawals_add(withdrawals, job);
        }
}

Test(withdrawal, some_are_under_way_and_the_others_wait) {
        server.way = keep_reads;
        add_many();
        serve_for(100 * USEC_PER_MSEC);
        cr_expect_eq(withdrawals_size(withdrawals), MANY);
        cr_expect_eq(reads, WITHDRAWALS_BUSY_MAX);
        withdrawals_remove(withdrawals, "many-0");  /* one that is under way */
        withdrawals_remove(withdrawals, "many-99"); /* one that is not */
        serve_for(100 * USEC_PER_MSEC);
        cr_expect_eq(reads, WITHDRAWALS_BUSY_MAX + 1);
        server.way = NULL;
        server_release();
        await(is_over, "all are over");
}

/* However many wait, and however long that lasts. */
Test(withdrawal, while_the_clock_is_skewed_nothing_is_asked_for_each) {
        server.clock = -(int64_t)USEC_PER_HOUR;
        node_clock_sample(coordinator->node, 1000, clock_realtime());
        server.way = count_asked;
        add_many();
        serve_for(3 * USEC_PER_SEC);
        cr_expect_lt(asked, 10, "%u", asked);
        cr_expect_eq(withdrawals_size(withdrawals), MANY);
        server.clock = 0;
        clock_watch_measure(coordinator->clock);
        await(is_over, "all are over");
}

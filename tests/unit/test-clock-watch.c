/* A clock that is not the servers', in a whole daemon (daemon-fixture.h): what is said of it, what
 * is left undone, and that it is measured until it is right again. */
#include "clock-watch.h"

#include "daemon-fixture.h"
#include "journal.h"
#include "members.h"

#define MEMBER "/jobkeeper/nodes/n1"
#define DIFFERS "warning: this node's clock differs from the ZooKeeper server's by "
#define PROBED "/jobkeeper/open/n1"

TestSuite(clock_watch, .init = setup, .fini = teardown);

static unsigned probes;

static ServerWay count_probes(const ZkCall *call) {
        probes += call->request == REQUEST_SET && g_str_equal(call->path, PROBED);
        return SERVER_ANSWER;
}

static bool is_ready(void) {
        return node_is_ready(coordinator->node) && server_node("/jobkeeper/jobs/a/runs");
}

static bool is_told_skewed(void) {
        return strstr(server_data(MEMBER), "\"skewed\":true");
}

static bool is_told_good(void) {
        return strstr(server_data(MEMBER), "\"skewed\":false");
}

static bool has_started(void) {
        return started->len > 0;
}

static void begin(const char *schedule) {
        g_autofree char *keys = g_strdup_printf("%s    exec: [/bin/true]\n", schedule);

        write_job(keys);
        open_daemon();
}

Test(clock_watch, nothing_is_run_by_a_wrong_clock_until_it_is_right_again) {
        usec_t until = 0;

        server.clock = (int64_t)(5 * USEC_PER_SEC);
        begin("    every: 1s\n");
        await(is_told_skewed, "the others are told");
        cr_expect(journal_has(DIFFERS "-5.0") || journal_has(DIFFERS "-4.9"));
        cr_expect_eq(journal_count(MESSAGE_CLOCK_SKEWED), 1U);
        cr_expect(clock_watch_is_known(coordinator->clock));
        cr_expect_not(clock_watch_is_good(coordinator->clock));
        serve_for(2 * USEC_PER_SEC);
        cr_expect_eq(started->len, 0U);

        /* Nothing else is written by a node that claims nothing: it finds out by itself. */
        server.clock = 0;
        server.way = count_probes;
        until = clock_monotonic() + 2 * LIMIT;
        while (!is_told_good() && clock_monotonic() < until)
                turn();
        cr_assert(is_told_good());
        cr_expect_eq(probes, 1U);
        cr_expect(
            journal_has("notice: this node's clock agrees with the ZooKeeper server's again"));
        cr_expect_eq(journal_count(MESSAGE_CLOCK_SKEWED), 2U);
        cr_expect(clock_watch_is_good(coordinator->clock));
        await(has_started, "it runs again");
}

static ServerWay keep_probes(const ZkCall *call) {
        (void)count_probes(call);
        return g_str_equal(call->path, PROBED) ? SERVER_KEEP : SERVER_ANSWER;
}

static usec_t measured_before;

static bool is_measured_anew(void) {
        return coordinator->node->skew.measured > measured_before;
}

Test(clock_watch, who_asks_while_an_answer_is_awaited_shares_it) {
        begin("    every: 1h\n");
        await(is_ready, "ready");
        serve_for(USEC_PER_SEC / 5);
        server.way = keep_probes;
        measured_before = coordinator->node->skew.measured;
        for (unsigned i = 0; i < 3; i++) {
                clock_watch_measure(coordinator->clock);
                turn();
        }
        cr_expect_eq(probes, 1U);
        server_release();
        await(is_measured_anew, "it is measured");
        clock_watch_measure(coordinator->clock);
        turn();
        cr_expect_eq(probes, 2U, "and may be again");
}

/* Every job that is due asks, while somebody deleted what it asks of. */
Test(clock_watch, what_tells_nothing_is_not_asked_again_at_once) {
        usec_t began = 0;

        begin("    every: 1h\n");
        await(is_ready, "ready");
        await_quiet();
        server_delete(PROBED);
        server.way = count_probes;
        measured_before = coordinator->node->skew.measured;
        began = clock_monotonic();
        while (!is_measured_anew() && clock_monotonic() < began + LIMIT) {
                (void)clock_watch_measure(coordinator->clock);
                turn();
        }
        cr_expect(is_measured_anew(), "it was made again");
        cr_expect_leq(probes, 2 + (clock_monotonic() - began) / (USEC_PER_SEC / 2), "%u", probes);
}

Test(clock_watch, a_clock_that_was_set_is_not_known) {
        begin("    every: 1h\n");
        await(is_ready, "ready");
        cr_assert(clock_watch_is_good(coordinator->clock));
        coordinator->node->skew.offset -= (int64_t)USEC_PER_SEC;
        cr_expect_not(clock_watch_is_known(coordinator->clock));
        cr_expect_not(clock_watch_is_good(coordinator->clock));
        clock_watch_measure(coordinator->clock);
        turn();
        cr_expect(clock_watch_is_good(coordinator->clock));
}

static bool is_known(void) {
        return clock_watch_is_known(coordinator->clock);
}

/* The next server may be another one. */
Test(clock_watch, what_a_sessions_server_said_goes_with_the_session) {
        server.clock = (int64_t)(5 * USEC_PER_SEC);
        begin("    every: 1h\n");
        await(is_told_skewed, "the others are told");
        server.clock = 0;
        server_expire(last_session);
        server_forget_watches();
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        cr_expect_not(is_known());
        cr_expect_not(node_is_skewed(coordinator->node));
        server.way = count_probes;
        clock_watch_measure(coordinator->clock);
        turn();
        cr_expect_eq(probes, 0U, "there is nobody to ask");
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_CONNECTED);
        await(is_ready, "ready");
        cr_expect(clock_watch_is_good(coordinator->clock));
        cr_expect_not_null(strstr(server_data(MEMBER), "\"skewed\":false"));
}

Test(clock_watch, there_may_be_none) {
        cr_expect_null(clock_watch_free(NULL));
}

/* A node that is drained, in a whole daemon (bus-fixture.h): nothing begins there, what runs goes
 * on, the others hear of it, and it lasts; and how it is asked for. */
#include <string.h>

#include "bus-fixture.h"
#include "clock-watch.h"
#include "control.h"
#include "gate.h"
#include "ledger-change.h"
#include "ledger.h"
#include "runs.h"
#include "tree.h"

#define ROOT "/jobkeeper"
#define CONTROL ROOT "/control"
#define DRAINED                                                                                    \
        "{\"drained\":{\"n1\":{\"by\":\"alice on n2\",\"why\":\"new "                              \
        "disk\",\"since\":1763000000}}}"

TestSuite(drain, .init = setup_bus, .fini = teardown_bus, .timeout = 60);

static bool is_ready(void) {
        return node_is_ready(coordinator->node);
}

static bool is_drained(void) {
        return drain_view_closed(tree_drain_view(coordinator->tree));
}

static bool is_undrained(void) {
        return !is_drained();
}

static bool says_so(void) {
        const char *data = server_data(ROOT "/nodes/n1");

        return data && strstr(data, "\"busy\":\"drained\"");
}

static bool is_free(void) {
        const char *data = server_data(ROOT "/nodes/n1");

        return data && strstr(data, "\"busy\":\"\"");
}

static void each_second(void) {
        write_job("    every: 1s\n    exec: [/bin/true]\n");
}

static void with_control(const char *data) {
        server_create(ROOT, "", 0);
        server_create(CONTROL, data, 0);
}

/* ---- what it means ---- */

Test(drain, nothing_begins_on_a_node_that_was_drained_before_it_came) {
        with_control(DRAINED);
        each_second();
        open_daemon();
        await(says_so, "its member says so");
        serve_for(2500 * USEC_PER_MSEC);
        cr_expect_eq(started->len, 0);
        cr_expect_str_eq(gate_closed(coordinator->gate),
                         "this node is drained since 2025-11-13 02:13:20 UTC by alice on n2: new "
                         "disk");
        server_write(CONTROL, "{}");
        await(a_run_goes_on, "and then it does");
        await(is_free, "its member says so");
}

Test(drain, what_runs_goes_on_and_nothing_follows_it) {
        each_second();
        open_daemon();
        await(a_run_goes_on, "a run");
        server_write(CONTROL, DRAINED);
        await(says_so, "its member says so at once");
        serve_for(300 * USEC_PER_MSEC);
        cr_expect_eq(service_newest()->stops + service_newest()->kills, 0);
        service_exit(service_newest(), 0);
        serve_for(2500 * USEC_PER_MSEC);
        cr_expect_eq(started->len, 1);
        cr_expect_eq(runs_count(coordinator->runs), 0, "it is settled");
}

static bool is_overlap(void) {
        return records_that_say("\"why\":\"overlap: the previous run") > 0;
}

static bool says_more(void) {
        static unsigned versions;
        unsigned version = (unsigned)server_node(ROOT "/jobs/a")->stat.version;

        if (versions == 0)
                versions = version;
        return version > versions;
}

/* Others only know that it was claimed here, and wait for our word. */
Test(drain, what_comes_while_its_run_goes_on_is_said_to_overlap) {
        each_second();
        open_daemon();
        await(a_run_goes_on, "a run");
        server_write(CONTROL, DRAINED);
        await(says_so, "its member says so");
        await(is_overlap, "the next tick is skipped");
        cr_expect_eq(started->len, 1U);
        service_exit(service_newest(), 0);
        serve_for(2500 * USEC_PER_MSEC);
        cr_expect_eq(started->len, 1U, "that is all that it says");
}

static ServerWay keep_probes(const ZkCall *call) {
        return call->request == REQUEST_SET && g_str_equal(call->path, ROOT "/open/n1")
                   ? SERVER_KEEP
                   : SERVER_ANSWER;
}

/* Nothing could begin in its place. */
Test(drain, no_run_gives_way_to_a_newer_tick) {
        write_job("    every: 1s\n    overlap: replace\n    exec: [/bin/true]\n");
        open_daemon();
        await(a_run_goes_on, "a run");
        server_write(CONTROL, DRAINED);
        await(says_so, "its member says so");
        serve_for(2500 * USEC_PER_MSEC);
        cr_expect_eq(service_newest()->stops + service_newest()->kills, 0U, "it goes on");
        cr_expect_eq(started->len, 1U);
}

/* By a clock that was set an hour ahead it would be said of an hour's ticks. */
Test(drain, nothing_is_said_by_a_clock_that_was_not_compared) {
        g_autofree char *before = NULL;

        each_second();
        open_daemon();
        await(a_run_goes_on, "a run");
        server_write(CONTROL, DRAINED);
        await(is_overlap, "it is said while the clock is known");
        await_quiet();
        server.way = keep_probes;
        clock_watch_reset(coordinator->clock);
        before = g_strdup(server_data(ROOT "/jobs/a"));
        serve_for(2500 * USEC_PER_MSEC);
        cr_expect_str_eq(server_data(ROOT "/jobs/a"), before);
        server.way = NULL;
        server_release();
        await(says_more, "and again");
}

static unsigned ledgers_read;

static ServerWay count_ledgers(const ZkCall *call) {
        ledgers_read += call->request == REQUEST_GET && g_str_equal(call->path, ROOT "/jobs/a");
        return SERVER_ANSWER;
}

/* What it would skip are ticks of a definition that is in force no more. */
Test(drain, nothing_is_said_of_a_job_that_differs) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        g_autofree char *data = NULL;

        each_second();
        open_daemon();
        await(a_run_goes_on, "a run");
        server_write(CONTROL, DRAINED);
        await(is_overlap, "it is said while it agrees");
        await_quiet();
        data = g_strdup(server_data(ROOT "/jobs/a"));
        cr_assert_eq(ledger_decode(data, strlen(data), &ledger), 0);
        ledger_adopt_digest(ledger, "other", (int64_t)(clock_realtime() / USEC_PER_SEC));
        g_free(data);
        data = ledger_encode(ledger);
        server_set(server_node(ROOT "/jobs/a"), data);
        server.way = count_ledgers;
        serve_for(3500 * USEC_PER_MSEC);
        cr_expect_leq(ledgers_read, 2U, "it is not read for each tick");
        cr_expect_str_eq(server_data(ROOT "/jobs/a"), data);
}

/* Somebody asks for a run, too: that is for others. */
Test(drain, what_is_asked_for_beside_its_run_is_left_to_others) {
        each_second();
        open_daemon();
        await(a_run_goes_on, "a run");
        server_write(CONTROL, DRAINED);
        await(says_so, "its member says so");
        server_create(ROOT "/requests/1000000000-m1",
                      "{\"job\":\"a\",\"who\":\"bob\",\"not_after\":4000000000}", 0);
        await(is_overlap, "the next tick is skipped");
        cr_expect_eq(started->len, 1U);
        cr_expect_not_null(server_node(ROOT "/requests/1000000000-m1"));
}

Test(drain, another_node_that_is_drained_is_none_of_ours) {
        with_control("{\"drained\":{\"n2\":{},\"n11\":{}}}");
        each_second();
        open_daemon();
        await(a_run_goes_on, "a run");
}

static bool queues(void) {
        return server_count(ROOT "/locks/db") > 1;
}

static bool queues_no_more(void) {
        return server_count(ROOT "/locks/db") == 1;
}

/* Others are to have it. */
Test(drain, what_queues_for_a_lock_leaves_the_queue) {
        with_control("{}");
        server_create(ROOT "/locks", "", 0);
        server_create(ROOT "/locks/db", "", 0);
        server_create(ROOT "/locks/db/_c_00000000-0000-0000-0000-000000000001-__WRIT__0000000000",
                      "", 77);
        (void)due_soon("    locks: {db: exclusive}\n");
        await(queues, "it queues");
        server_write(CONTROL, DRAINED);
        await(queues_no_more, "it has left");
}

static ServerWay keep_claims(const ZkCall *call) {
        return call->request == REQUEST_MULTI && runs_count_claims(coordinator->runs) > 0
                   ? SERVER_KEEP
                   : SERVER_ANSWER;
}

static bool is_claiming(void) {
        return runs_count_claims(coordinator->runs) > 0 && g_queue_get_length(&server.kept) > 0;
}

/* It was written before the claim: the claim's own check says so. */
Test(drain, a_claim_that_comes_too_late_is_none) {
        each_second();
        open_daemon();
        await(is_ready, "ready");
        server.way = keep_claims;
        await(is_claiming, "a claim");
        server_write(CONTROL, DRAINED);
        server.way = NULL;
        server_release();
        serve_for(1500 * USEC_PER_MSEC);
        cr_expect_eq(started->len, 0);
        cr_expect_eq(server_count(ROOT "/open/n1"), 0);
}

Test(drain, it_outlasts_the_session) {
        each_second();
        with_control(DRAINED);
        open_daemon();
        await(says_so, "its member says so");
        server_expire(last_session);
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        serve_for(50 * USEC_PER_MSEC);
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_CONNECTED);
        await(is_ready, "another session");
        await(says_so, "its new member says so");
        serve_for(1500 * USEC_PER_MSEC);
        cr_expect_eq(started->len, 0);
}

/* ---- what is none of ours ---- */

static bool has_fault(void) {
        return *drain_view_fault(tree_drain_view(coordinator->tree));
}

static bool has_started_again(void) {
        return started->len > 1;
}

Test(drain, what_was_last_read_holds_where_the_node_is_damaged) {
        each_second();
        open_daemon();
        await(a_run_goes_on, "a run");
        server_write(CONTROL, "rubbish");
        await(has_fault, "it is seen");
        service_exit(service_newest(), 0);
        await(has_started_again, "another run");
        cr_expect(strstr(drain_view_fault(tree_drain_view(coordinator->tree)),
                         "/jobkeeper/control is not what jobkeeper would have written there; which "
                         "nodes are drained, and which jobs paused, stays as it was before"));
        server_write(CONTROL, DRAINED);
        await(is_drained, "drained");
        server_write(CONTROL, "[]");
        serve_for(300 * USEC_PER_MSEC);
        cr_expect(is_drained());
        server_write(CONTROL, "{}");
        await(is_undrained, "undrained");
        cr_expect_str_empty(drain_view_fault(tree_drain_view(coordinator->tree)));
}

Test(drain, where_nothing_was_ever_read_nothing_begins) {
        each_second();
        with_control("rubbish");
        open_daemon();
        await(is_drained, "nothing may begin");
        serve_for(1500 * USEC_PER_MSEC);
        cr_expect_eq(started->len, 0);
        server_write(CONTROL, "{}");
        await(a_run_goes_on, "mended");
}

static bool is_made_again(void) {
        return server_node(CONTROL) && strstr(server_data(CONTROL), "n1");
}

Test(drain, a_control_node_that_somebody_deletes_undrains_nobody) {
        with_control(DRAINED);
        each_second();
        open_daemon();
        await(says_so, "its member says so");
        server_delete(CONTROL);
        await(is_made_again, "it is made again");
        serve_for(1500 * USEC_PER_MSEC);
        cr_expect_eq(started->len, 0);
        server_write(CONTROL, "{}");
        await(a_run_goes_on, "and may still be undrained");
}

/* ---- asking for it ---- */

static void ask_root(const char *method, const char *node) {
        ask_as(bus, BUS_NAME_ROOT, method, "s", node);
}

static void ask_drain(const char *node, const char *why) {
        ask_as(bus, BUS_NAME_ROOT, "Drain", "sss", node, why, "alice");
}

static void begin(void) {
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon_on_bus();
}

Test(drain, this_node_and_back) {
        begin();
        ask_drain("", "new disk");
        expect_said("\"by\":\"alice on n1\",\"why\":\"new disk\"");
        expect_said("\"node\":\"n1\"");
        expect_said("\"changed\":true");
        expect_said("\"member\":true,\"away\":false,\"nearest\":null");
        await(is_drained, "drained");
        ask_as(bus, BUS_NAME_ROOT, "Status", NULL);
        expect_said("\"drained\":[{\"by\":\"alice on n1\",\"why\":\"new disk\",\"since\":");
        ask_root("Undrain", "n1");
        expect_said("\"drained\":null,\"changed\":true");
        await(is_undrained, "undrained");
        cr_expect_str_eq(server_data(CONTROL), "{}");
        ask_root("Undrain", "n1");
        expect_said("\"drained\":null,\"changed\":false");
}

Test(drain, another_node_which_may_be_away) {
        begin();
        server_create(ROOT "/open/n7", "", 0);
        server_create(ROOT "/open/n7/a.1", "", 0);
        server_create(ROOT "/open/n7/a.2", "", 0);
        ask_drain("n7", "");
        expect_said("\"member\":false,\"away\":false,\"nearest\":\"n1\"");
        expect_said("\"runs\":2");
        cr_expect_not(is_drained());
        server_delete(ROOT "/open/n7/a.1");
        ask_root("Drained", "n7");
        expect_said("\"runs\":1");
        expect_said("\"changed\":false");
}

/* Whoever comes second is not the one who did it, unless with a reason of his own. */
Test(drain, twice_is_once) {
        begin();
        ask_drain("n7", "new disk");
        expect_said("\"changed\":true");
        ask_as(bus, BUS_NAME_ROOT, "Drain", "sss", "n7", "", "bob");
        expect_said("\"by\":\"alice on n1\",\"why\":\"new disk\"");
        expect_said("\"changed\":false");
        ask_as(bus, BUS_NAME_ROOT, "Drain", "sss", "n7", "two disks", "bob");
        expect_said("\"by\":\"bob on n1\",\"why\":\"two disks\"");
        expect_said("\"changed\":true");
}

static ServerWay keep_writes(const ZkCall *call) {
        return call->request == REQUEST_SET && g_str_equal(call->path, CONTROL) ? SERVER_KEEP
                                                                                : SERVER_ANSWER;
}

static bool is_kept(void) {
        return g_queue_get_length(&server.kept) > 0;
}

Test(drain, what_somebody_else_wrote_meanwhile_is_kept) {
        begin();
        server.way = keep_writes;
        ask_drain("n7", "");
        await(is_kept, "it is to be written");
        server_write(CONTROL, "{\"id\":\"x\",\"drained\":{\"n8\":{}}}");
        server.way = NULL;
        server_release();
        expect_said("\"changed\":true");
        cr_expect(
            g_str_has_prefix(server_data(CONTROL), "{\"id\":\"x\",\"drained\":{\"n8\":{},\"n7\":"));
}

/* Nobody takes the request, unless a node is undrained for it. */
Test(drain, who_asks_for_a_run_hears_that_all_nodes_are_drained) {
        begin();
        ask_root("Run", "a");
        expect_said("\"note\":\"\"");
        ask_drain("n1", "");
        expect_said("\"changed\":true");
        await(is_drained, "drained");
        ask_root("Run", "a");
        expect_said("\"note\":\"all nodes that can run job \\\"a\\\" are drained: it is run only "
                    "where one of them is undrained within 1min\"");
}

/* Who waits until nothing runs there relies on the number. */
Test(drain, what_is_claimed_just_before_it_is_written_counts) {
        begin();
        server.way = keep_writes;
        ask_drain("n7", "");
        await(is_kept, "it is to be written");
        server_create(ROOT "/open/n7", "", 0);
        server_create(ROOT "/open/n7/a.1", "", 0);
        server.way = NULL;
        server_release();
        expect_said("\"changed\":true,\"runs\":1");
}

static unsigned syncs;

static ServerWay count_syncs(const ZkCall *call) {
        syncs += call->request == REQUEST_SYNC && g_str_equal(call->path, CONTROL);
        return SERVER_ANSWER;
}

/* A server that lags would say what was before somebody else was answered. */
Test(drain, it_looks_at_what_is_newest) {
        begin();
        server.way = count_syncs;
        syncs = 0;
        ask_root("Drained", "n7");
        expect_said("\"drained\":null");
        cr_expect_eq(syncs, 1);
}

static ServerWay lose_answers(const ZkCall *call) {
        return call->request == REQUEST_SET && g_str_equal(call->path, CONTROL) ? SERVER_LOSE_ANSWER
                                                                                : SERVER_ANSWER;
}

/* Asked again, it says what became of it. */
Test(drain, an_answer_that_is_lost_is_no_answer) {
        begin();
        server.way = lose_answers;
        ask_drain("n7", "");
        expect_said("no reply from ZooKeeper: it may still be done; try again");
        server.way = NULL;
        cr_expect(strstr(server_data(CONTROL), "n7"));
}

Test(drain, what_cannot_be) {
        begin();
        ask_drain("../x", "");
        expect_said("that can be no node's name");
        server_write(CONTROL, "rubbish");
        ask_drain("n7", "");
        expect_said("the control node in ZooKeeper is damaged");
        ask_root("Undrain", "n7");
        expect_said("the control node in ZooKeeper is damaged");
        cr_expect_str_eq(server_data(CONTROL), "rubbish");
}

static ServerWay refuse_writes(const ZkCall *call) {
        return call->request == REQUEST_SET && g_str_equal(call->path, CONTROL) ? SERVER_REFUSE
                                                                                : SERVER_ANSWER;
}

Test(drain, what_the_server_refuses_is_said) {
        begin();
        server.way = refuse_writes;
        server.refusal = ZK_NO_AUTH;
        ask_drain("n7", "");
        expect_said("ZooKeeper permits no change of the control node");
        server.refusal = ZK_BAD_VERSION;
        ask_drain("n7", "");
        expect_said("others change the control node in ZooKeeper all the time: try again");
}

Test(drain, there_is_a_most_of_drained_nodes) {
        g_autoptr(GString) data = g_string_new("{\"drained\":{");

        begin();
        for (unsigned i = 0; i < CONTROL_DRAINED_MAX; i++)
                g_string_append_printf(data, "%s\"m%u\":{}", i > 0 ? "," : "", i);
        g_string_append(data, "}}");
        server_write(CONTROL, data->str);
        ask_drain("n7", "");
        expect_said("too many nodes are drained");
        ask_drain("m1", "new disk");
        expect_said("\"changed\":true");
}

Test(drain, without_a_session_nothing_is_asked) {
        begin();
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        ask_drain("n7", "");
        expect_said("ZooKeeper");
        cr_expect_null(strstr(server_data(CONTROL), "n7"));
}

/* What follows from what happens to the session, in a whole daemon (daemon-fixture.h). */
#include "daemon-fixture.h"

#include "journal.h"
#include "life.h"
#include "runs.h"

TestSuite(life, .init = setup, .fini = teardown);

static Zk *newest_port(void) {
        return ports->pdata[ports->len - 1];
}

static bool is_ready(void) {
        return node_is_ready(coordinator->node);
}

static bool has_started(void) {
        return service_newest() && service_newest()->unit &&
               service_newest()->state == SERVICE_RUNNING;
}

static bool has_started_again(void) {
        return started->len >= 2;
}

static bool is_resumed(void) {
        return session_state(coordinator->session) == SESSION_CONNECTED;
}

static unsigned control_reads;

/* Answers all, and counts what reads whether the cluster is paused. */
static ServerWay count_control(const ZkCall *call) {
        control_reads += call->request == REQUEST_GET && g_str_has_suffix(call->path, "/control");
        return SERVER_ANSWER;
}

static bool has_read_control(void) {
        return control_reads > 0;
}

static bool connects_again(void) {
        return ports && ports->len > 0 && newest_port()->connections == 0 && !newest_port()->ended;
}

static bool is_stopped(void) {
        return service_newest()->stops > 0;
}

Test(life, a_short_break_ends_nothing) {
        write_job("    every: 1s\n    exec: [/bin/true]\n");
        open_daemon();
        await(has_started, "a start");
        port_tell(newest_port(), ZK_STATE_SUSPENDED);
        cr_expect_eq(session_state(coordinator->session), SESSION_SUSPENDED);
        cr_expect(journal_has("warning: the connection to ZooKeeper was lost, reconnecting"));
        cr_expect(is_ready(), "what is known of the tree stays so");
        server.way = count_control;
        port_tell(newest_port(), ZK_STATE_CONNECTED);
        await(is_resumed, "the session continues");
        await(has_read_control, "what may have changed meanwhile is read again");
        cr_expect(journal_has("reconnected to ZooKeeper, the session continues"));
        cr_expect_eq(service_newest()->stops, 0);
        service_exit(service_newest(), 0);
        await(has_started_again, "the next tick");
}

static unsigned versions_read;

/* The first read of the tree's version is lost. */
static ServerWay lose_version(const ZkCall *call) {
        if (call->request != REQUEST_GET || !g_str_has_suffix(call->path, "/version"))
                return SERVER_ANSWER;
        return versions_read++ ? SERVER_ANSWER : SERVER_LOSE;
}

static bool has_lost_version(void) {
        return versions_read > 0;
}

Test(life, a_break_while_the_tree_is_checked_is_got_over) {
        server.way = lose_version;
        open_daemon();
        await(has_lost_version, "the check of the tree");
        port_tell(newest_port(), ZK_STATE_SUSPENDED);
        cr_assert_not(is_ready());
        port_tell(newest_port(), ZK_STATE_CONNECTED);
        await(is_ready, "the node is registered");
        cr_expect_gt(versions_read, 1);
}

/* The first one is never answered. */
static ServerWay keep_version(const ZkCall *call) {
        if (call->request != REQUEST_GET || !g_str_has_suffix(call->path, "/version"))
                return SERVER_ANSWER;
        return versions_read++ ? SERVER_ANSWER : SERVER_KEEP;
}

/* Rather than after the pause that follows what was answered, and failed. */
Test(life, what_was_asked_of_the_tree_before_a_break_is_asked_anew_after_it) {
        server.way = keep_version;
        open_daemon();
        await(has_lost_version, "the check of the tree");
        port_tell(newest_port(), ZK_STATE_SUSPENDED);
        port_tell(newest_port(), ZK_STATE_CONNECTED);
        await(is_ready, "the node is registered");
        cr_expect_eq(versions_read, 2);
}

Test(life, without_an_answer_runs_are_stopped_before_their_locks_expire) {
        write_job("    every: 1s\n    exec: [/bin/true]\n");
        open_daemon();
        await(has_started, "a start");
        life_on_session(coordinator->session, SESSION_EVENT_STOP, coordinator);
        cr_expect(journal_has("warning: no reply from ZooKeeper: stopping all runs (1) before "
                              "their locks can expire"));
        await(is_stopped, "its stop");
        cr_expect(is_ready(), "the session may still continue");
}

Test(life, what_keeps_us_out_is_said_and_tried_again) {
        open_daemon();
        await(is_ready, "the node is registered");
        port_tell(newest_port(), ZK_STATE_AUTH_FAILED);
        cr_expect_not(is_ready(), "the session is lost");
        cr_expect(journal_has("warning: the ZooKeeper server refuses our credentials; no jobs are "
                              "run until this is resolved, retrying"));
        cr_expect_eq(journal_count(MESSAGE_ZOOKEEPER_UNREACHABLE), 1);
        await(connects_again, "another connection");
        port_tell(newest_port(), ZK_STATE_CONNECTED);
        await(is_ready, "the node is registered again");
}

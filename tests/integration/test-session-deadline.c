/* The deadline of a session against a real server: what moves it, and that it is kept. */
#include <criterion/criterion.h>
#include <glib.h>
#include <string.h>

#include "helper-session.h"
#include "helper-zookeeper-main.h"

Test(session_deadline, heartbeats_move_the_deadline) {
        Peer peer = {0};

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_shared(), SESSION_SHORT);
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        cr_assert(peer_await_beats(&peer, USEC_PER_SEC));
        cr_assert_eq(peer.n_events, 1);
        peer_stop(&peer);
        peer_clear(&peer);
}

Test(session_deadline, frozen_server_is_lost_at_the_deadline) {
        ZooKeeperServer *server = zookeeper_server_new(ZOOKEEPER_TICK_MS);
        Peer peer = {0};
        usec_t held_until;
        int64_t id;

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_server_address(server), SESSION_SHORT);
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        id = session_id(peer.session);
        held_until = peer_freeze(&peer, server);
        cr_assert_lt(held_until, clock_boottime() + SESSION_SHORT - SESSION_TICK,
                     "before any server could give our locks away");
        peer_await_at(&peer, SESSION_EVENT_STOP, session_stop_at(peer.session));
        cr_assert_eq(session_state(peer.session), SESSION_CONNECTED);
        peer_await_at(&peer, SESSION_EVENT_LOST, held_until);
        cr_assert_eq(peer_count(&peer, SESSION_EVENT_STOP), 1);
        cr_assert_null(session_zk(peer.session));
        cr_assert_eq(session_held_until(peer.session), 0);
        cr_assert_not(g_file_test(peer.file, G_FILE_TEST_EXISTS),
                      "nobody may attach to a lost session");

        zookeeper_server_thaw(server);
        peer.n_events = 0;
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        cr_assert_neq(session_id(peer.session), id);
        peer_stop(&peer);
        peer_clear(&peer);
        zookeeper_server_free(server);
}

Test(session_deadline, stop_is_followed_by_resumed_when_the_server_is_back_in_time,
     .timeout = 120) {
        ZooKeeperServer *server = zookeeper_server_new(ZOOKEEPER_TICK_MS);
        Peer peer = {.fence_budget = 5 * USEC_PER_SEC};
        int64_t id;

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_server_address(server), SESSION_LONG);
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        id = session_id(peer.session);
        (void)peer_freeze(&peer, server);
        cr_assert(peer_await(&peer, SESSION_EVENT_STOP));
        zookeeper_server_thaw(server);
        cr_assert(peer_await(&peer, SESSION_EVENT_RESUMED));
        cr_assert_eq(peer_count(&peer, SESSION_EVENT_LOST), 0);
        cr_assert_eq(session_id(peer.session), id);
        cr_assert_gt(session_stop_at(peer.session), clock_boottime());
        peer_stop(&peer);
        peer_clear(&peer);
        zookeeper_server_free(server);
}

static uint64_t highest_zxid(ZooKeeperServer *server) {
        g_autofree char *answer = zookeeper_ask(zookeeper_server_address(server), "srvr");

        cr_assert_not_null(answer);
        cr_assert_not_null(strstr(answer, "Zxid: 0x"));
        return g_ascii_strtoull(strstr(answer, "Zxid: 0x") + 8, NULL, 16);
}

/* A leader that was frozen answers a sync as soon as it is thawed, whoever leads by then: only a
 * write is believed. */
Test(session_deadline, heartbeats_write_nothing_but_after_a_slow_answer) {
        ZooKeeperServer *server = zookeeper_server_new(ZOOKEEPER_TICK_MS);
        Peer peer = {0};
        uint64_t zxid;

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_server_address(server), SESSION_LONG);
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        peer_await_sessions(&peer, server, 1);
        zxid = highest_zxid(server);
        cr_assert(peer_await_beats(&peer, USEC_PER_SEC));
        cr_assert_eq(highest_zxid(server), zxid);

        zookeeper_server_freeze(server);
        loop_for(peer.event, 2 * SESSION_TICK);
        zookeeper_server_thaw(server);
        cr_assert(peer_await_beats(&peer, USEC_PER_SEC));
        cr_assert_eq(highest_zxid(server), zxid + 1);
        cr_assert_eq(peer.n_events, 1, "no event, just a proof");
        peer_stop(&peer);
        peer_clear(&peer);
        zookeeper_server_free(server);
}

/* Frozen for as long as the leader, we would not have noticed that it was. */
Test(session_deadline, a_heartbeat_writes_after_our_own_loop_stood_still) {
        ZooKeeperServer *server = zookeeper_server_new(ZOOKEEPER_TICK_MS);
        Peer peer = {0};
        uint64_t zxid;

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_server_address(server), SESSION_LONG);
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        peer_await_sessions(&peer, server, 1);
        zxid = highest_zxid(server);
        cr_assert(peer_await_beats(&peer, 0));
        loop_for(peer.event, session_rule.heartbeat / 2); /* no heartbeat is on its way */
        g_usleep(session_rule.heartbeat + 2 * SESSION_TICK);
        cr_assert(peer_await_beats(&peer, USEC_PER_SEC));
        cr_assert_eq(highest_zxid(server), zxid + 1);
        cr_assert_eq(peer.n_events, 1, "no event, just a proof");
        peer_stop(&peer);
        peer_clear(&peer);
        zookeeper_server_free(server);
}

ZOOKEEPER_MAIN;

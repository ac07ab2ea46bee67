/* What a session finds out about the servers' tick, and what follows from it. */
#include <criterion/criterion.h>
#include <glib.h>
#include <string.h>

#include "helper-session.h"
#include "helper-zookeeper-main.h"

#define LONGER_TICK "<4> the least session timeout that the ZooKeeper servers grant is "
#define NO_ANSWER "<4> the ZooKeeper server did not say its least session timeout"
/* The server's counts of sessions that have begun, or been resumed, and of connections that it did
 * not take. */
#define ESTABLISHED "connection_request_count"
#define REJECTED "connection_rejected"

typedef struct Lease {
        const Peer *peer;
        usec_t at_most;
} Lease;

/* A heartbeat that is answered quickly shows all of it, but for its own period. */
static bool is_shown(void *userdata) {
        const Lease *lease = userdata;
        usec_t left = session_held_until(lease->peer->session) - clock_boottime();

        cr_assert_leq(left, lease->at_most);
        return left > lease->at_most - 2 * session_rule.heartbeat;
}

/* D is that of a server with this least session timeout, and not that of the rule. */
static void check_deadline(Peer *peer, usec_t timeout, usec_t least_timeout) {
        DeadlineRule longer = session_rule;

        longer.least_timeout = least_timeout;
        cr_assert(loop_until(peer->event, is_shown,
                             &(Lease){peer, deadline_lease(&longer, timeout)}, SESSION_LIMIT));
}

Test(session_tick, a_tick_longer_than_configured_makes_the_deadline_earlier, .timeout = 120) {
        ZooKeeperServer *server = zookeeper_server_new(2 * ZOOKEEPER_TICK_MS);
        Peer peer = {0};
        int64_t id;

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_server_address(server), SESSION_PATIENT);
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        check_deadline(&peer, SESSION_PATIENT, 4 * SESSION_TICK);
        cr_assert_eq(peer_count_lines(&peer, LONGER_TICK "2s, so their tick is taken to be 1s"), 1,
                     "%s", peer.log->str);
        cr_assert_eq(zookeeper_server_count(server, ESTABLISHED), 2);

        /* The server of a connection that comes back is asked again, and said to be the same. */
        zookeeper_server_kill(server);
        cr_assert(peer_await(&peer, SESSION_EVENT_SUSPENDED));
        zookeeper_server_start(server);
        cr_assert(peer_await(&peer, SESSION_EVENT_RESUMED));
        check_deadline(&peer, SESSION_PATIENT, 4 * SESSION_TICK);
        cr_assert_eq(zookeeper_server_count(server, ESTABLISHED), 2, "%s", peer.log->str);
        cr_assert_eq(peer_count_lines(&peer, LONGER_TICK), 1, "%s", peer.log->str);

        /* One that is attached to is asked about, and kept. */
        id = session_id(peer.session);
        session_detach(peer.session);
        cr_assert(peer_await(&peer, SESSION_EVENT_CLOSED));
        peer.session = session_free(peer.session);
        peer_start(&peer, zookeeper_server_address(server), SESSION_PATIENT);
        cr_assert(peer_await(&peer, SESSION_EVENT_ATTACHED));
        cr_assert_eq(session_id(peer.session), id);
        check_deadline(&peer, SESSION_PATIENT, 4 * SESSION_TICK);
        cr_assert_eq(peer_count_lines(&peer, LONGER_TICK), 2, "each process says it once");
        peer_stop(&peer);
        peer_clear(&peer);
        zookeeper_server_free(server);
}

/* It was started anew with another configuration, or is another one. */
static void reconnect_with_tick(unsigned tick_ms, unsigned new_tick_ms, usec_t least_timeout) {
        ZooKeeperServer *server = zookeeper_server_new(tick_ms);
        Peer peer = {0};

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_server_address(server), SESSION_PATIENT);
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        zookeeper_server_kill(server);
        cr_assert(peer_await(&peer, SESSION_EVENT_SUSPENDED));
        zookeeper_server_configure(server, new_tick_ms, "");
        zookeeper_server_start(server);
        cr_assert(peer_await(&peer, SESSION_EVENT_RESUMED), "%s", peer.log->str);
        check_deadline(&peer, SESSION_PATIENT, least_timeout);
        cr_assert_eq(peer_count_lines(&peer, LONGER_TICK "2s, so their tick is taken to be 1s"), 1,
                     "%s", peer.log->str);
        peer_stop(&peer);
        peer_clear(&peer);
        zookeeper_server_free(server);
}

Test(session_tick, a_longer_tick_after_a_reconnection_counts, .timeout = 120) {
        reconnect_with_tick(ZOOKEEPER_TICK_MS, 2 * ZOOKEEPER_TICK_MS, 4 * SESSION_TICK);
}

/* Other servers of the ensemble may still have the longer one. */
Test(session_tick, a_shorter_tick_after_a_reconnection_does_not, .timeout = 120) {
        reconnect_with_tick(2 * ZOOKEEPER_TICK_MS, ZOOKEEPER_TICK_MS, 4 * SESSION_TICK);
}

/* 10 - 2 x 2 - 0.1 - 0.1 - 0.7 = 5.1 s. The second session would live for 4 s if nobody closed it.
 */
Test(session_tick,
     a_raised_least_timeout_looks_like_a_longer_tick_and_nothing_stays_of_the_question,
     .timeout = 120) {
        ZooKeeperServer *server =
            zookeeper_server_new_with(ZOOKEEPER_TICK_MS, "minSessionTimeout=4000\n");
        const unsigned own = 4 + 2; /* of its handle; timers of both clocks */
        Peer peer = {0};
        unsigned before;

        peer_prepare(&peer);
        before = count_descriptors();
        peer_start(&peer, zookeeper_server_address(server), SESSION_LONG);
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        peer_await_sessions(&peer, server, 1);
        cr_assert(await_descriptors(before + own));
        check_deadline(&peer, SESSION_LONG, 4 * USEC_PER_SEC);
        cr_assert_eq(peer_count_lines(&peer, LONGER_TICK "4s, so their tick is taken to be 2s"), 1,
                     "%s", peer.log->str);
        peer_stop(&peer);
        peer_await_sessions(&peer, server, 0);
        peer_clear(&peer);
        zookeeper_server_free(server);
}

Test(session_tick, a_lowered_least_timeout_changes_nothing, .timeout = 120) {
        ZooKeeperServer *server =
            zookeeper_server_new_with(ZOOKEEPER_TICK_MS, "minSessionTimeout=100\n");
        Peer peer = {0};

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_server_address(server), SESSION_LONG);
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        check_deadline(&peer, SESSION_LONG, 0);
        cr_assert_eq(peer_count_lines(&peer, "<4>"), 0, "%s", peer.log->str);
        peer_stop(&peer);
        peer_clear(&peer);
        zookeeper_server_free(server);
}

/* 10 - 2 x 4 - 0.1 - 0.1 - 0.7 = 1.1 s, 0.1 s of which is left after the stop: not two heartbeats.
 */
Test(session_tick, a_least_timeout_without_room_is_a_fault_and_no_session, .timeout = 120) {
        ZooKeeperServer *server =
            zookeeper_server_new_with(ZOOKEEPER_TICK_MS, "minSessionTimeout=8000\n");
        Peer peer = {0};

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_server_address(server), SESSION_LONG);
        cr_assert(peer_await(&peer, SESSION_EVENT_FAULT));
        cr_assert(g_str_has_prefix(session_fault(peer.session),
                                   "the least session timeout that the ZooKeeper servers grant is "
                                   "8s, so their tick is taken to be 4s"),
                  "%s", session_fault(peer.session));
        loop_for(peer.event, 2 * USEC_PER_SEC);
        cr_assert_eq(peer.n_events, 1);
        cr_assert_null(session_zk(peer.session));
        cr_assert_gt(zookeeper_server_count(server, ESTABLISHED), 2, "it was tried again");
        cr_assert_eq(peer_count_lines(&peer, "<4>"), 1, "and said once: %s", peer.log->str);
        peer_stop(&peer);
        peer_await_sessions(&peer, server, 0);
        peer_clear(&peer);
        zookeeper_server_free(server);
}

/* One connection for each address: the second session gets none. */
Test(session_tick, without_an_answer_about_the_tick_the_configured_one_counts, .timeout = 120) {
        ZooKeeperServer *server =
            zookeeper_server_new_with(ZOOKEEPER_TICK_MS, "maxClientCnxns=1\n");
        Peer peer = {0};
        int64_t id;

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_server_address(server), SESSION_LONG);
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        check_deadline(&peer, SESSION_LONG, 0);
        cr_assert_eq(peer_count_lines(&peer, NO_ANSWER), 1, "%s", peer.log->str);
        id = session_id(peer.session);
        session_detach(peer.session);
        cr_assert(peer_await(&peer, SESSION_EVENT_CLOSED));
        peer.session = session_free(peer.session);

        peer_start(&peer, zookeeper_server_address(server), SESSION_LONG);
        cr_assert(peer_await(&peer, SESSION_EVENT_ATTACHED));
        cr_assert_eq(session_id(peer.session), id);
        check_deadline(&peer, SESSION_LONG, 0);
        cr_assert_eq(peer_count_lines(&peer, NO_ANSWER), 2, "%s", peer.log->str);
        peer_stop(&peer);
        peer_clear(&peer);
        zookeeper_server_free(server);
}

/* 4.5 - 2 x 0.5 - 0.1 - 0.05 - 0.7 = 2.65 s, and STOP a second before that: sooner than an answer
 * would otherwise be given up. */
Test(session_tick, waiting_for_the_tick_does_not_cost_an_attached_session_its_deadline,
     .timeout = 120) {
        ZooKeeperServer *server =
            zookeeper_server_new_with(ZOOKEEPER_TICK_MS, "maxClientCnxns=1\n");
        Peer peer = {0};

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_server_address(server), 4500 * USEC_PER_MSEC);
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        peer.session = session_free(peer.session); /* as a process that is killed */
        cr_assert(await_descriptors(peer.descriptors + 4), "its connection is closed");
        peer_start(&peer, zookeeper_server_address(server), 4500 * USEC_PER_MSEC);
        cr_assert(peer_await(&peer, SESSION_EVENT_ATTACHED));
        cr_assert_eq(peer.n_events, 1, "neither STOP nor LOST");
        cr_assert_eq(peer_count_lines(&peer, NO_ANSWER), 2, "%s", peer.log->str);
        peer_stop(&peer);
        peer_clear(&peer);
        zookeeper_server_free(server);
}

static bool is_asked_for(void *userdata) {
        return zookeeper_server_count(userdata, REJECTED) > 0;
}

Test(session_tick, may_be_closed_while_the_tick_is_asked_for, .timeout = 120) {
        ZooKeeperServer *server =
            zookeeper_server_new_with(ZOOKEEPER_TICK_MS, "maxClientCnxns=1\n");
        Peer peer = {0};

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_server_address(server), SESSION_LONG);
        cr_assert(loop_until(peer.event, is_asked_for, server, SESSION_LIMIT));
        peer_stop(&peer);
        cr_assert_eq(peer.n_events, 1);
        peer_clear(&peer);
        zookeeper_server_free(server);
}

ZOOKEEPER_MAIN;

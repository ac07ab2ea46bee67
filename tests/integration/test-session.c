/* Sessions against a real server: what is reported and when, from the first connection to the end.
 */
#include <criterion/criterion.h>
#include <glib.h>
#include <string.h>
#include <sys/stat.h>

#include "helper-session.h"
#include "helper-zookeeper-main.h"

Test(session, connects_reports_and_closes) {
        struct stat st;
        Peer peer = {0};

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_shared(), SESSION_SHORT);
        cr_assert_eq(session_state(peer.session), SESSION_CONNECTING);
        cr_assert_null(session_zk(peer.session));
        cr_assert_eq(session_held_until(peer.session), 0);
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        cr_assert_eq(peer.n_events, 1);
        cr_assert_eq(session_state(peer.session), SESSION_CONNECTED);
        cr_assert_neq(session_id(peer.session), 0);
        cr_assert_eq(session_held_until(peer.session) - session_stop_at(peer.session),
                     session_rule.fence_budget);
        cr_assert_gt(session_held_until(peer.session), clock_boottime());
        cr_assert_leq(session_held_until(peer.session),
                      clock_boottime() + deadline_lease(&session_rule, SESSION_SHORT));
        cr_assert_eq(stat(peer.file, &st), 0);
        cr_assert_eq(st.st_mode & 07777, 0600);
        cr_assert_eq(peer_create_ephemeral(&peer, "/closed-with-it"), ZK_OK);
        peer_stop(&peer);
        cr_assert_neq(stat(peer.file, &st), 0, "no state file after a close");

        peer_start(&peer, zookeeper_shared(), SESSION_SHORT);
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        cr_assert_eq(peer_exists(&peer, "/closed-with-it"), ZK_NO_NODE);
        peer_stop(&peer);
        peer_clear(&peer);
}

Test(session, freed_session_is_abandoned_not_closed) {
        Peer peer = {0};

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_shared(), SESSION_SHORT);
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        cr_assert_eq(peer_create_ephemeral(&peer, "/after-free"), ZK_OK);
        peer.session = session_free(peer.session);
        cr_assert(await_descriptors(peer.descriptors + 4), "the handle is closed behind our back");

        peer_start(&peer, zookeeper_shared(), SESSION_SHORT);
        cr_assert(peer_await(&peer, SESSION_EVENT_ATTACHED));
        cr_assert_eq(peer_exists(&peer, "/after-free"), ZK_OK);
        peer_stop(&peer);
        peer_clear(&peer);
}

Test(session, restarted_server_is_suspended_and_resumed, .timeout = 120) {
        ZooKeeperServer *server = zookeeper_server_new(ZOOKEEPER_TICK_MS);
        Peer peer = {0};
        usec_t before;
        int64_t id;

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_server_address(server), SESSION_PATIENT);
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        id = session_id(peer.session);
        cr_assert_eq(peer_create_ephemeral(&peer, "/suspended"), ZK_OK);
        zookeeper_server_kill(server);
        cr_assert(peer_await(&peer, SESSION_EVENT_SUSPENDED));
        cr_assert_eq(session_state(peer.session), SESSION_SUSPENDED);
        before = session_held_until(peer.session);
        cr_assert_gt(before, clock_boottime(), "locks stay ours for the time being");
        zookeeper_server_start(server);
        cr_assert(peer_await(&peer, SESSION_EVENT_RESUMED));
        cr_assert_eq(session_id(peer.session), id);
        cr_assert_gt(session_held_until(peer.session), before);
        cr_assert_eq(peer_exists(&peer, "/suspended"), ZK_OK);
        peer_stop(&peer);
        peer_clear(&peer);
        zookeeper_server_free(server);
}

typedef struct Thief {
        Zk *zk;
        ZkState state;
} Thief;

static void on_thief_state(Zk *zk, ZkState state, void *userdata) {
        (void)zk;
        ((Thief *)userdata)->state = state;
}

static bool is_through(void *userdata) {
        ZkState state = ((Thief *)userdata)->state;

        return state == ZK_STATE_CLOSED || state == ZK_STATE_EXPIRED;
}

static bool is_in(void *userdata) {
        return ((Thief *)userdata)->state == ZK_STATE_CONNECTED || is_through(userdata);
}

/* Attaches to a session and closes it. The rightful owner comes back within moments, and then
 * nothing is closed. */
static void try_to_end(Peer *peer, const char *servers, const ZkSessionId *id) {
        Thief thief = {.state = ZK_STATE_CONNECTING};

        cr_assert_eq(zk_connect(peer->event,
                                &(ZkOptions){
                                    .servers = servers,
                                    .session_timeout = SESSION_LONG,
                                    .session = id,
                                    .state = on_thief_state,
                                    .userdata = &thief,
                                },
                                &thief.zk),
                     0);
        cr_assert(loop_until(peer->event, is_in, &thief, SESSION_LIMIT));
        zk_close(thief.zk);
        cr_assert(loop_until(peer->event, is_through, &thief, SESSION_LIMIT));
        thief.zk = zk_free(thief.zk);
}

static bool was_lost(void *userdata) {
        return peer_was_told(userdata, SESSION_EVENT_LOST);
}

Test(session, session_ended_by_a_server_is_lost_at_once) {
        ZkSessionId id;
        usec_t held_until = 0;
        Peer peer = {0};

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_shared(), SESSION_LONG);
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        id = zk_session_id(session_zk(peer.session));
        for (unsigned i = 0; i < 20 && !peer_was_told(&peer, SESSION_EVENT_LOST); i++) {
                peer.n_events = 0;
                held_until = session_held_until(peer.session);
                try_to_end(&peer, zookeeper_shared(), &id);
                (void)loop_until(peer.event, was_lost, &peer, USEC_PER_SEC);
        }
        cr_assert(peer_was_told(&peer, SESSION_EVENT_LOST));
        cr_assert_lt(peer.times[0], held_until, "a server's word is enough");
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        cr_assert_neq(session_id(peer.session), id.id);
        peer_stop(&peer);
        peer_clear(&peer);
}

Test(session, unresolvable_address_is_a_fault_once) {
        Peer peer = {0};

        peer_prepare(&peer);
        peer_start(&peer, "no-such-host.invalid:2181", SESSION_SHORT);
        cr_assert(peer_await(&peer, SESSION_EVENT_FAULT));
        cr_assert_not_null(strstr(session_fault(peer.session), "no-such-host.invalid"));
        loop_for(peer.event, 2 * USEC_PER_SEC); /* several retries */
        cr_assert_eq(peer.n_events, 1);
        peer_stop(&peer);
        peer_clear(&peer);
}

Test(session, silence_is_a_fault_once_and_retrying_goes_on) {
        ZooKeeperServer *server = zookeeper_server_new(ZOOKEEPER_TICK_MS);
        g_autofree char *sentence =
            g_strdup_printf("no ZooKeeper server answers at %s", zookeeper_server_address(server));
        Peer peer = {0};

        zookeeper_server_kill(server);
        peer_prepare(&peer);
        peer_start(&peer, zookeeper_server_address(server), SESSION_SHORT);
        cr_assert(peer_await(&peer, SESSION_EVENT_FAULT));
        cr_assert_str_eq(session_fault(peer.session), sentence);
        zookeeper_server_start(server);
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        cr_assert_eq(peer.n_events, 2);
        cr_assert_str_eq(session_fault(peer.session), "");
        peer_stop(&peer);
        peer_clear(&peer);
        zookeeper_server_free(server);
}

Test(session, timeout_without_room_is_a_fault_and_no_session) {
        Peer peer = {0};

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_shared(), USEC_PER_SEC);
        cr_assert(peer_await(&peer, SESSION_EVENT_FAULT));
        cr_assert_not_null(strstr(session_fault(peer.session), "(session-timeout 1s - "), "%s",
                           session_fault(peer.session));
        loop_for(peer.event, 2 * USEC_PER_SEC);
        cr_assert_eq(peer.n_events, 1);
        cr_assert_null(session_zk(peer.session));
        peer_stop(&peer);
        peer_clear(&peer);
}

Test(session, close_without_a_server_ends_in_time) {
        ZooKeeperServer *server = zookeeper_server_new(ZOOKEEPER_TICK_MS);
        Peer peer = {0};
        usec_t asked;

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_server_address(server), SESSION_LONG);
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        zookeeper_server_freeze(server);
        asked = clock_boottime();
        session_close(peer.session);
        session_close(peer.session);
        peer_await_before(&peer, SESSION_EVENT_CLOSED, asked + 5 * USEC_PER_SEC);
        cr_assert_eq(peer.n_events, 2);
        peer.session = session_free(peer.session);
        zookeeper_server_free(server);
        peer_clear(&peer);
}

Test(session, may_be_freed_from_inside_its_event) {
        Peer peer = {.free_in_event = true};

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_shared(), SESSION_SHORT);
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        cr_assert_null(peer.session);
        peer_clear(&peer);
}

/* Listeners: in order, before the owner, coming and going as they like. */
typedef struct Ear {
        Peer *peer;
        SessionListener *listener;
        struct Ear *next; /* registered from inside the first event */
        unsigned heard;
        size_t owner_had; /* events that the owner had seen when we heard the latest */
        bool leaves;
        SessionEvent last;
} Ear;

static void on_ear(Session *session, SessionEvent event, void *userdata) {
        Ear *ear = userdata;

        ear->heard++;
        ear->last = event;
        ear->owner_had = ear->peer->n_events;
        if (ear->next)
                cr_assert_eq(session_listen(session, on_ear, ear->next, &ear->next->listener), 0);
        ear->next = NULL;
        if (ear->leaves)
                ear->listener = session_unlisten(ear->listener);
}

Test(session, listeners_come_and_go) {
        Peer peer = {0};
        Ear late = {.peer = &peer}, first = {.peer = &peer, .next = &late},
            leaver = {.peer = &peer, .leaves = true};

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_shared(), SESSION_SHORT);
        cr_assert_eq(session_listen(peer.session, on_ear, &first, &first.listener), 0);
        cr_assert_eq(session_listen(peer.session, on_ear, &leaver, &leaver.listener), 0);
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        cr_assert_eq(first.heard, 1);
        cr_assert_eq(first.owner_had, 0, "before the owner");
        cr_assert_eq(leaver.heard, 1);
        cr_assert_eq(late.heard, 0, "waits for the next event");

        peer.session = session_free(peer.session);
        cr_assert_eq(first.heard, 2);
        cr_assert_eq(first.last, SESSION_EVENT_CLOSED);
        cr_assert_eq(late.heard, 1);
        cr_assert_eq(leaver.heard, 1);
        cr_assert_eq(peer.n_events, 1, "the owner knows that it freed it");
        session_unlisten(first.listener);
        session_unlisten(late.listener);
        peer_clear(&peer);
}

ZOOKEEPER_MAIN;

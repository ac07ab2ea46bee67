/* Sessions against a real server: what is reported and when, the deadline above all, and the way
 * over a restart. */
#include <criterion/criterion.h>
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helper-zookeeper-main.h"
#include "session.h"

#define LIMIT (20 * USEC_PER_SEC)
#define TICK ((usec_t)ZOOKEEPER_TICK_MS * USEC_PER_MSEC)
/* With a timeout of 4 s: 4 - 1 - 0.1 - 0.04 - 0.7 = 2.16 s until LOST, half a second less until
 * STOP. */
#define SHORT (4 * USEC_PER_SEC)
#define LONG (10 * USEC_PER_SEC)

static const DeadlineRule rule = {
    .tick_time = TICK,
    .sync_limit = 1,
    .heartbeat = 100 * USEC_PER_MSEC,
    .fence_budget = USEC_PER_SEC,
};

typedef struct Peer {
        sd_event *event;
        Session *session;
        SessionEvent events[64];
        usec_t times[64];       /* CLOCK_BOOTTIME */
        usec_t held_until_last; /* as seen by the loop before the event */
        size_t n_events;
        bool free_in_event;
        GString *log;
        char *directory, *file;
        const char *identity;
        unsigned descriptors;
} Peer;

static void on_event(Session *session, SessionEvent event, void *userdata) {
        Peer *peer = userdata;

        cr_assert_lt(peer->n_events, G_N_ELEMENTS(peer->events));
        peer->times[peer->n_events] = clock_boottime();
        peer->events[peer->n_events++] = event;
        if (peer->free_in_event)
                peer->session = session_free(session);
}

static void on_log(int priority, const char *message, void *userdata) {
        g_string_append_printf(((Peer *)userdata)->log, "<%d> %s\n", priority, message);
}

static void peer_prepare(Peer *peer) {
        peer->descriptors = count_descriptors();
        peer->directory = g_dir_make_tmp("jobkeeper-session-XXXXXX", NULL);
        peer->file = g_build_filename(peer->directory, "session", NULL);
        peer->log = g_string_new(NULL);
        cr_assert_geq(sd_event_new(&peer->event), 0);
}

static void peer_start(Peer *peer, const char *servers, usec_t timeout) {
        peer->n_events = 0;
        cr_assert_eq(session_new(peer->event,
                                 &(SessionOptions){
                                     .servers = servers,
                                     .session_timeout = timeout,
                                     .rule = rule,
                                     .state_file = peer->file,
                                     .identity = peer->identity,
                                     .log = on_log,
                                 },
                                 on_event, peer, &peer->session),
                     0);
        cr_assert_eq(peer->n_events, 0, "never from inside");
}

typedef struct Expect {
        Peer *peer;
        SessionEvent event;
} Expect;

static bool has_happened(void *userdata) {
        const Expect *expect = userdata;
        Peer *peer = expect->peer;

        if (peer->session && session_held_until(peer->session) > 0)
                peer->held_until_last = session_held_until(peer->session);
        for (size_t i = 0; i < peer->n_events; i++)
                if (peer->events[i] == expect->event)
                        return true;
        return false;
}

static bool await_event(Peer *peer, SessionEvent event) {
        return loop_until(peer->event, has_happened, &(Expect){peer, event}, LIMIT);
}

static unsigned count_events(const Peer *peer, SessionEvent event) {
        unsigned count = 0;

        for (size_t i = 0; i < peer->n_events; i++)
                count += peer->events[i] == event;
        return count;
}

static void peer_stop(Peer *peer) {
        session_close(peer->session);
        cr_assert(await_event(peer, SESSION_EVENT_CLOSED));
        peer->session = session_free(peer->session);
}

static void peer_clear(Peer *peer) {
        peer->session = session_free(peer->session);
        peer->event = sd_event_unref(peer->event);
        g_unlink(peer->file);
        cr_assert_eq(g_rmdir(peer->directory), 0, "nothing else may lie beside the state file");
        g_free(peer->file);
        g_free(peer->directory);
        g_string_free(peer->log, TRUE);
        cr_assert(await_descriptors(peer->descriptors), "leaked descriptors");
}

static void on_code(const ZkReply *reply, void *userdata) {
        *(int *)userdata = (int)reply->code;
}

static bool is_known(void *userdata) {
        return *(int *)userdata >= 0;
}

static int await_code(Peer *peer, int sent, int *code) {
        cr_assert_eq(sent, 0);
        cr_assert(loop_until(peer->event, is_known, code, LIMIT));
        return *code;
}

static int create_ephemeral(Peer *peer, const char *path) {
        int code = -1;

        return await_code(peer,
                          zk_create(session_zk(peer->session), path, NULL, ZK_CREATE_EPHEMERAL,
                                    on_code, &code, NULL),
                          &code);
}

static int exists(Peer *peer, const char *path) {
        int code = -1;

        return await_code(
            peer,
            zk_exists(session_zk(peer->session), path, on_code, &code, NULL, NULL, NULL, NULL),
            &code);
}

Test(session, connects_reports_and_closes) {
        struct stat st;
        Peer peer = {0};

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_shared(), SHORT);
        cr_assert_eq(session_state(peer.session), SESSION_CONNECTING);
        cr_assert_null(session_zk(peer.session));
        cr_assert_eq(session_held_until(peer.session), 0);
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
        cr_assert_eq(peer.n_events, 1);
        cr_assert_eq(session_state(peer.session), SESSION_CONNECTED);
        cr_assert_neq(session_id(peer.session), 0);
        cr_assert_eq(session_held_until(peer.session) - session_stop_at(peer.session),
                     rule.fence_budget);
        cr_assert_gt(session_held_until(peer.session), clock_boottime() + USEC_PER_SEC);
        cr_assert_leq(session_held_until(peer.session),
                      clock_boottime() + deadline_lease(&rule, SHORT));
        cr_assert_eq(stat(peer.file, &st), 0);
        cr_assert_eq(st.st_mode & 07777, 0600);
        cr_assert_eq(create_ephemeral(&peer, "/closed-with-it"), ZK_OK);
        peer_stop(&peer);
        cr_assert_neq(stat(peer.file, &st), 0, "no state file after a close");

        peer_start(&peer, zookeeper_shared(), SHORT);
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
        cr_assert_eq(exists(&peer, "/closed-with-it"), ZK_NO_NODE);
        peer_stop(&peer);
        peer_clear(&peer);
}

static bool has_advanced(void *userdata) {
        const Peer *peer = userdata;

        return session_held_until(peer->session) > peer->held_until_last + USEC_PER_SEC;
}

Test(session, heartbeats_move_the_deadline) {
        Peer peer = {0};

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_shared(), SHORT);
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
        peer.held_until_last = session_held_until(peer.session);
        cr_assert(loop_until(peer.event, has_advanced, &peer, LIMIT));
        cr_assert_eq(peer.n_events, 1);
        peer_stop(&peer);
        peer_clear(&peer);
}

Test(session, detached_session_is_attached_to_with_its_ephemerals) {
        Peer peer = {0};
        int64_t id;

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_shared(), SHORT);
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
        cr_assert_eq(create_ephemeral(&peer, "/kept"), ZK_OK);
        id = session_id(peer.session);
        session_detach(peer.session);
        cr_assert(await_event(&peer, SESSION_EVENT_CLOSED));
        peer.session = session_free(peer.session);

        peer_start(&peer, zookeeper_shared(), SHORT);
        cr_assert(await_event(&peer, SESSION_EVENT_ATTACHED));
        cr_assert_eq(count_events(&peer, SESSION_EVENT_CONNECTED), 0);
        cr_assert_eq(session_id(peer.session), id);
        cr_assert_gt(session_held_until(peer.session), clock_boottime());
        cr_assert_eq(exists(&peer, "/kept"), ZK_OK);
        peer_stop(&peer);
        peer_clear(&peer);
}

typedef struct Absence {
        Peer *peer;
        const char *path;
} Absence;

static bool is_absent(void *userdata) {
        const Absence *absence = userdata;

        return exists(absence->peer, absence->path) == ZK_NO_NODE;
}

Test(session, detached_session_ends_at_its_timeout) {
        Peer peer = {0}, witness = {0};
        usec_t detached;

        peer_prepare(&witness);
        peer_start(&witness, zookeeper_shared(), LONG);
        cr_assert(await_event(&witness, SESSION_EVENT_CONNECTED));
        peer_prepare(&peer);
        peer_start(&peer, zookeeper_shared(), SHORT);
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
        cr_assert_eq(create_ephemeral(&peer, "/for-a-while"), ZK_OK);
        session_detach(peer.session);
        cr_assert(await_event(&peer, SESSION_EVENT_CLOSED));
        peer.session = session_free(peer.session);
        detached = clock_boottime();

        cr_assert_eq(exists(&witness, "/for-a-while"), ZK_OK);
        cr_assert(
            loop_until(witness.event, is_absent, &(Absence){&witness, "/for-a-while"}, LIMIT));
        cr_assert_gt(clock_boottime(), detached + deadline_lease(&rule, SHORT),
                     "it outlived every deadline that it could have had");

        /* The file is there, the session is not: its loss is told, then a new one begins. */
        peer_start(&peer, zookeeper_shared(), SHORT);
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
        cr_assert_eq(peer.n_events, 3);
        cr_assert_eq(peer.events[0], SESSION_EVENT_STOP);
        cr_assert_eq(peer.events[1], SESSION_EVENT_LOST);
        peer_stop(&peer);
        peer_clear(&peer);
        peer_stop(&witness);
        peer_clear(&witness);
}

Test(session, freed_session_is_abandoned_not_closed) {
        Peer peer = {0};

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_shared(), SHORT);
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
        cr_assert_eq(create_ephemeral(&peer, "/after-free"), ZK_OK);
        peer.session = session_free(peer.session);
        cr_assert(await_descriptors(peer.descriptors + 4), "the handle is closed behind our back");

        peer_start(&peer, zookeeper_shared(), SHORT);
        cr_assert(await_event(&peer, SESSION_EVENT_ATTACHED));
        cr_assert_eq(exists(&peer, "/after-free"), ZK_OK);
        peer_stop(&peer);
        peer_clear(&peer);
}

static void spoil(const char *file, const char *from, const char *to) {
        g_autofree char *text = NULL;
        char *at;

        cr_assert(g_file_get_contents(file, &text, NULL, NULL));
        at = strstr(text, from);
        cr_assert_not_null(at);
        for (; *to; to++)
                *at++ = *to;
        cr_assert(g_file_set_contents(file, text, -1, NULL));
}

static void detach_then_spoil(Peer *peer, const char *from, const char *to) {
        peer_start(peer, zookeeper_shared(), SHORT);
        cr_assert(await_event(peer, SESSION_EVENT_CONNECTED));
        session_detach(peer->session);
        cr_assert(await_event(peer, SESSION_EVENT_CLOSED));
        peer->session = session_free(peer->session);
        spoil(peer->file, from, to);
        peer_start(peer, zookeeper_shared(), SHORT);
        cr_assert(await_event(peer, SESSION_EVENT_CONNECTED));
        cr_assert_eq(peer->n_events, 1);
        peer_stop(peer);
}

Test(session, state_file_of_another_boot_or_damaged_is_ignored) {
        Peer peer = {0};

        peer_prepare(&peer);
        detach_then_spoil(&peer, "boot ", "boot ffffffff");
        cr_assert_null(strstr(peer.log->str, "damaged"));
        detach_then_spoil(&peer, "password ", "password !!");
        cr_assert_not_null(strstr(peer.log->str, "damaged"));
        detach_then_spoil(&peer, "id 0x", "id xyz");
        detach_then_spoil(&peer, "jobkeeper", "jobkeepes");
        peer_clear(&peer);
}

Test(session, state_file_of_another_identity_is_not_attached_to) {
        Peer peer = {.identity = "one /tree"};
        int64_t id;

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_shared(), SHORT);
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
        id = session_id(peer.session);
        peer.session = session_free(peer.session);
        peer.identity = "other /tree";
        peer_start(&peer, zookeeper_shared(), SHORT);
        cr_assert_eq(session_held_until(peer.session), 0, "nothing is inherited");
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
        cr_assert_eq(peer.n_events, 1);
        cr_assert_neq(session_id(peer.session), id);
        peer_stop(&peer);
        peer_clear(&peer);
}

static bool has_moved(void *userdata) {
        const Peer *peer = userdata;

        return session_held_until(peer->session) > peer->held_until_last;
}

/* What is killed between two heartbeats leaves the deadline of the last good one. */
Test(session, a_process_inherits_the_deadline_of_the_one_before_it) {
        struct stat first, last;
        Peer peer = {0};
        usec_t held_until;

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_shared(), SHORT);
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
        cr_assert_eq(stat(peer.file, &first), 0);
        peer.held_until_last = session_held_until(peer.session);
        cr_assert(loop_until(peer.event, has_moved, &peer, LIMIT));
        held_until = session_held_until(peer.session);
        peer.session = session_free(peer.session);
        cr_assert_eq(stat(peer.file, &last), 0);
        cr_assert_eq(first.st_ino, last.st_ino, "a heartbeat writes in place");
        cr_assert_eq(last.st_mode & 07777, 0600);

        peer_start(&peer, zookeeper_shared(), SHORT);
        cr_assert_eq(session_held_until(peer.session), held_until);
        cr_assert_eq(session_stop_at(peer.session), held_until - rule.fence_budget);
        cr_assert_null(session_zk(peer.session));
        cr_assert(await_event(&peer, SESSION_EVENT_ATTACHED));
        cr_assert_eq(peer.n_events, 1);
        cr_assert_gt(session_held_until(peer.session), held_until);
        peer_stop(&peer);
        peer_clear(&peer);
}

/* A host that takes connections and says nothing: the library gives it 8 of the 12 seconds. It is
 * the first to be tried in one of eight attempts. */
Test(session, a_silent_host_does_not_keep_a_process_from_attaching, .timeout = 120) {
        const struct sockaddr_in any = {.sin_family = AF_INET,
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        struct sockaddr_in address = {0};
        socklen_t length = sizeof(address);
        int hole = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        g_autoptr(GString) servers = g_string_new(NULL);
        Peer peer = {0};

        cr_assert_eq(bind(hole, (const struct sockaddr *)&any, sizeof(any)), 0);
        cr_assert_eq(listen(hole, 64), 0);
        cr_assert_eq(getsockname(hole, (struct sockaddr *)&address, &length), 0);
        g_string_printf(servers, "127.0.0.1:%u", ntohs(address.sin_port));
        for (unsigned i = 0; i < 7; i++)
                g_string_append_printf(servers, ",%s", zookeeper_shared());

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_shared(), 3 * SHORT);
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
        for (unsigned i = 0; i < 10; i++) {
                usec_t since = clock_boottime();

                peer.session = session_free(peer.session);
                peer_start(&peer, servers->str, 3 * SHORT);
                cr_assert(await_event(&peer, SESSION_EVENT_ATTACHED));
                cr_assert_eq(peer.n_events, 1);
                cr_assert_lt(clock_boottime() - since, 6 * USEC_PER_SEC);
        }
        peer_stop(&peer);
        peer_clear(&peer);
        close(hole);
}

Test(session, an_inherited_deadline_ends_in_stop_and_loss_without_any_answer) {
        ZooKeeperServer *server = zookeeper_server_new(ZOOKEEPER_TICK_MS);
        Peer peer = {0};
        usec_t held_until;
        int64_t id;

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_server_address(server), SHORT);
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
        id = session_id(peer.session);
        zookeeper_server_freeze(server);
        held_until = session_held_until(peer.session);
        peer.session = session_free(peer.session);

        peer_start(&peer, zookeeper_server_address(server), SHORT);
        cr_assert(await_event(&peer, SESSION_EVENT_STOP));
        cr_assert_geq(peer.times[peer.n_events - 1], held_until - rule.fence_budget);
        cr_assert_lt(peer.times[peer.n_events - 1], held_until - rule.fence_budget + LATE_MAX);
        cr_assert(await_event(&peer, SESSION_EVENT_LOST));
        cr_assert_geq(peer.times[peer.n_events - 1], held_until);
        cr_assert_lt(peer.times[peer.n_events - 1], held_until + LATE_MAX);
        cr_assert_eq(session_held_until(peer.session), 0);
        cr_assert_not(g_file_test(peer.file, G_FILE_TEST_EXISTS));

        zookeeper_server_thaw(server);
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
        cr_assert_neq(session_id(peer.session), id);
        cr_assert_eq(count_events(&peer, SESSION_EVENT_STOP), 1);
        cr_assert_eq(count_events(&peer, SESSION_EVENT_LOST), 1);
        peer_stop(&peer);
        peer_clear(&peer);
        zookeeper_server_free(server);
}

Test(session, an_inherited_session_that_is_stopped_may_still_be_attached_to) {
        ZooKeeperServer *server = zookeeper_server_new(ZOOKEEPER_TICK_MS);
        Peer peer = {0};
        int64_t id;

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_server_address(server), SHORT);
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
        id = session_id(peer.session);
        zookeeper_server_freeze(server);
        peer.session = session_free(peer.session);
        peer_start(&peer, zookeeper_server_address(server), SHORT);
        cr_assert(await_event(&peer, SESSION_EVENT_STOP));
        zookeeper_server_thaw(server);
        cr_assert(await_event(&peer, SESSION_EVENT_ATTACHED));
        cr_assert_eq(session_id(peer.session), id);
        cr_assert_eq(count_events(&peer, SESSION_EVENT_LOST), 0);
        loop_for(peer.event, 3 * USEC_PER_SEC); /* past the old deadline */
        cr_assert_eq(count_events(&peer, SESSION_EVENT_LOST), 0);
        cr_assert_eq(count_events(&peer, SESSION_EVENT_STOP), 1);
        peer_stop(&peer);
        peer_clear(&peer);
        zookeeper_server_free(server);
}

Test(session, an_inherited_session_that_a_server_calls_expired_is_lost) {
        ZooKeeperServer *server = zookeeper_server_new(ZOOKEEPER_TICK_MS);
        Peer peer = {0};

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_shared(), SHORT);
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
        peer.session = session_free(peer.session);
        peer_start(&peer, zookeeper_server_address(server), SHORT); /* which never heard of it */
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
        cr_assert_eq(peer.events[peer.n_events - 2], SESSION_EVENT_LOST);
        cr_assert_eq(count_events(&peer, SESSION_EVENT_ATTACHED), 0);
        peer_stop(&peer);
        peer_clear(&peer);
        zookeeper_server_free(server);
}

Test(session, frozen_server_is_lost_at_the_deadline) {
        ZooKeeperServer *server = zookeeper_server_new(ZOOKEEPER_TICK_MS);
        Peer peer = {0};
        usec_t frozen, stop, lost;
        int64_t id;

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_server_address(server), SHORT);
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
        id = session_id(peer.session);
        zookeeper_server_freeze(server);
        frozen = clock_boottime();
        cr_assert(await_event(&peer, SESSION_EVENT_STOP));
        stop = peer.times[peer.n_events - 1];
        cr_assert_eq(session_state(peer.session), SESSION_CONNECTED);
        cr_assert_geq(stop, session_stop_at(peer.session));
        cr_assert_lt(stop, session_stop_at(peer.session) + LATE_MAX);

        cr_assert(await_event(&peer, SESSION_EVENT_LOST));
        lost = peer.times[peer.n_events - 1];
        cr_assert_geq(lost, peer.held_until_last);
        cr_assert_lt(lost, peer.held_until_last + LATE_MAX);
        cr_assert_lt(lost, frozen + SHORT - TICK, "before any server could give our locks away");
        cr_assert_eq(count_events(&peer, SESSION_EVENT_STOP), 1);
        cr_assert_null(session_zk(peer.session));
        cr_assert_eq(session_held_until(peer.session), 0);
        cr_assert_not(g_file_test(peer.file, G_FILE_TEST_EXISTS),
                      "nobody may attach to a lost session");

        zookeeper_server_thaw(server);
        peer.n_events = 0;
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
        cr_assert_neq(session_id(peer.session), id);
        peer_stop(&peer);
        peer_clear(&peer);
        zookeeper_server_free(server);
}

Test(session, stop_is_followed_by_resumed_when_the_server_is_back_in_time) {
        ZooKeeperServer *server = zookeeper_server_new(ZOOKEEPER_TICK_MS);
        Peer peer = {0};
        int64_t id;

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_server_address(server), SHORT);
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
        id = session_id(peer.session);
        zookeeper_server_freeze(server);
        cr_assert(await_event(&peer, SESSION_EVENT_STOP));
        zookeeper_server_thaw(server);
        cr_assert(await_event(&peer, SESSION_EVENT_RESUMED));
        cr_assert_eq(count_events(&peer, SESSION_EVENT_LOST), 0);
        cr_assert_eq(session_id(peer.session), id);
        cr_assert_gt(session_stop_at(peer.session), clock_boottime());
        peer_stop(&peer);
        peer_clear(&peer);
        zookeeper_server_free(server);
}

typedef struct Crowd {
        const ZooKeeperServer *server;
        unsigned n_sessions;
} Crowd;

/* Whether the server knows so many sessions. Its word for that names each with its number. */
static bool is_crowd(void *userdata) {
        const Crowd *crowd = userdata;
        g_autofree char *answer = zookeeper_ask(zookeeper_server_address(crowd->server), "dump");
        char *end = answer ? strstr(answer, "ephemeral nodes dump:") : NULL;
        unsigned n = 0;

        if (!end)
                return false;
        *end = '\0';
        for (const char *at = answer; (at = strstr(at, "\t0x")); at++)
                n++;
        return n == crowd->n_sessions;
}

/* The session with which ours asked for the servers' tick is gone: it is closed beside CONNECTED.
 */
static void await_sessions(Peer *peer, const ZooKeeperServer *server, unsigned n_sessions) {
        cr_assert(loop_until(peer->event, is_crowd, &(Crowd){server, n_sessions}, 6 * USEC_PER_SEC),
                  "the server knows others than %u sessions", n_sessions);
}

static uint64_t highest_zxid(ZooKeeperServer *server) {
        g_autofree char *answer = zookeeper_ask(zookeeper_server_address(server), "srvr");

        cr_assert_not_null(answer);
        cr_assert_not_null(strstr(answer, "Zxid: 0x"));
        return g_ascii_strtoull(strstr(answer, "Zxid: 0x") + 8, NULL, 16);
}

/* A leader that was frozen answers a sync as soon as it is thawed, whoever leads by then: only a
 * write is believed. */
Test(session, heartbeats_write_nothing_but_after_a_slow_answer) {
        ZooKeeperServer *server = zookeeper_server_new(ZOOKEEPER_TICK_MS);
        Peer peer = {0};
        uint64_t zxid;

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_server_address(server), LONG);
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
        await_sessions(&peer, server, 1);
        zxid = highest_zxid(server);
        peer.held_until_last = session_held_until(peer.session);
        cr_assert(loop_until(peer.event, has_advanced, &peer, LIMIT));
        cr_assert_eq(highest_zxid(server), zxid);

        zookeeper_server_freeze(server);
        loop_for(peer.event, 2 * TICK);
        peer.held_until_last = session_held_until(peer.session);
        zookeeper_server_thaw(server);
        cr_assert(loop_until(peer.event, has_advanced, &peer, LIMIT));
        cr_assert_eq(highest_zxid(server), zxid + 1);
        cr_assert_eq(peer.n_events, 1, "no event, just a proof");
        peer_stop(&peer);
        peer_clear(&peer);
        zookeeper_server_free(server);
}

/* Frozen for as long as the leader, we would not have noticed that it was. */
Test(session, a_heartbeat_writes_after_our_own_loop_stood_still) {
        ZooKeeperServer *server = zookeeper_server_new(ZOOKEEPER_TICK_MS);
        Peer peer = {0};
        uint64_t zxid;

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_server_address(server), LONG);
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
        await_sessions(&peer, server, 1);
        zxid = highest_zxid(server);
        loop_for(peer.event, rule.heartbeat / 2); /* no heartbeat is on its way */
        g_usleep(rule.heartbeat + 2 * TICK);
        peer.held_until_last = session_held_until(peer.session);
        cr_assert(loop_until(peer.event, has_advanced, &peer, LIMIT));
        cr_assert_eq(highest_zxid(server), zxid + 1);
        cr_assert_eq(peer.n_events, 1, "no event, just a proof");
        peer_stop(&peer);
        peer_clear(&peer);
        zookeeper_server_free(server);
}

Test(session, closing_a_detached_session_leaves_it_to_the_next_process) {
        Peer peer = {0};

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_shared(), SHORT);
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
        session_detach(peer.session);
        session_close(peer.session);
        cr_assert(await_event(&peer, SESSION_EVENT_CLOSED));
        peer.session = session_free(peer.session);
        peer_start(&peer, zookeeper_shared(), SHORT);
        cr_assert(await_event(&peer, SESSION_EVENT_ATTACHED));
        peer_stop(&peer);
        peer_clear(&peer);
}

Test(session, restarted_server_is_suspended_and_resumed) {
        ZooKeeperServer *server = zookeeper_server_new(ZOOKEEPER_TICK_MS);
        Peer peer = {0};
        usec_t before;
        int64_t id;

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_server_address(server), LONG);
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
        id = session_id(peer.session);
        cr_assert_eq(create_ephemeral(&peer, "/suspended"), ZK_OK);
        zookeeper_server_kill(server);
        cr_assert(await_event(&peer, SESSION_EVENT_SUSPENDED));
        cr_assert_eq(session_state(peer.session), SESSION_SUSPENDED);
        before = session_held_until(peer.session);
        cr_assert_gt(before, clock_boottime(), "locks stay ours for the time being");
        zookeeper_server_start(server);
        cr_assert(await_event(&peer, SESSION_EVENT_RESUMED));
        cr_assert_eq(session_id(peer.session), id);
        cr_assert_gt(session_held_until(peer.session), before);
        cr_assert_eq(exists(&peer, "/suspended"), ZK_OK);
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
                                    .session_timeout = LONG,
                                    .session = id,
                                    .state = on_thief_state,
                                    .userdata = &thief,
                                },
                                &thief.zk),
                     0);
        cr_assert(loop_until(peer->event, is_in, &thief, LIMIT));
        zk_close(thief.zk);
        cr_assert(loop_until(peer->event, is_through, &thief, LIMIT));
        thief.zk = zk_free(thief.zk);
}

Test(session, session_ended_by_a_server_is_lost_at_once) {
        Expect lost = {.event = SESSION_EVENT_LOST};
        ZkSessionId id;
        Peer peer = {0};

        lost.peer = &peer;
        peer_prepare(&peer);
        peer_start(&peer, zookeeper_shared(), LONG);
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
        id = zk_session_id(session_zk(peer.session));
        for (unsigned i = 0; i < 20 && !has_happened(&lost); i++) {
                peer.n_events = 0;
                try_to_end(&peer, zookeeper_shared(), &id);
                (void)loop_until(peer.event, has_happened, &lost, USEC_PER_SEC);
        }
        cr_assert(has_happened(&lost));
        cr_assert_lt(peer.times[0], peer.held_until_last, "a server's word is enough");
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
        cr_assert_neq(session_id(peer.session), id.id);
        peer_stop(&peer);
        peer_clear(&peer);
}

Test(session, unresolvable_address_is_a_fault_once) {
        Peer peer = {0};

        peer_prepare(&peer);
        peer_start(&peer, "no-such-host.invalid:2181", SHORT);
        cr_assert(await_event(&peer, SESSION_EVENT_FAULT));
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
        peer_start(&peer, zookeeper_server_address(server), SHORT);
        cr_assert(await_event(&peer, SESSION_EVENT_FAULT));
        cr_assert_str_eq(session_fault(peer.session), sentence);
        zookeeper_server_start(server);
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
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
        cr_assert(await_event(&peer, SESSION_EVENT_FAULT));
        cr_assert_not_null(strstr(session_fault(peer.session), "session timeout 1s"), "%s",
                           session_fault(peer.session));
        loop_for(peer.event, 2 * USEC_PER_SEC);
        cr_assert_eq(peer.n_events, 1);
        cr_assert_null(session_zk(peer.session));
        peer_stop(&peer);
        peer_clear(&peer);
}

/* How often `text` is in the log. */
static unsigned count_lines(const Peer *peer, const char *text) {
        unsigned count = 0;

        for (const char *at = peer->log->str; (at = strstr(at, text)); at++)
                count++;
        return count;
}

#define LONGER_TICK "<4> the least session timeout that the ZooKeeper servers grant is "
#define NO_ANSWER "<4> the ZooKeeper server did not say its least session timeout"
/* The library's word for a session that has begun, or been resumed, of whoever. */
#define ESTABLISHED "session establishment complete"

/* D is that of a server with this least session timeout, and not that of the rule. */
static void check_deadline(const Peer *peer, usec_t timeout, usec_t least_timeout) {
        DeadlineRule longer = rule;
        usec_t left = session_held_until(peer->session) - clock_boottime();

        longer.least_timeout = least_timeout;
        cr_assert_leq(left, deadline_lease(&longer, timeout));
        cr_assert_gt(left, deadline_lease(&longer, timeout) - 2 * LATE_MAX);
}

/* What that server grants at most, since it is started anew meanwhile. */
#define VERY_LONG (2 * LONG)

Test(session, a_tick_longer_than_configured_makes_the_deadline_earlier, .timeout = 120) {
        ZooKeeperServer *server = zookeeper_server_new(2 * ZOOKEEPER_TICK_MS);
        Peer peer = {0};
        int64_t id;

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_server_address(server), VERY_LONG);
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
        check_deadline(&peer, VERY_LONG, 4 * TICK);
        cr_assert_eq(count_lines(&peer, LONGER_TICK "2s, so their tick is taken to be 1s"), 1, "%s",
                     peer.log->str);
        cr_assert_eq(count_lines(&peer, ESTABLISHED), 2);

        /* A connection that comes back is no new session. */
        zookeeper_server_kill(server);
        cr_assert(await_event(&peer, SESSION_EVENT_SUSPENDED));
        zookeeper_server_start(server);
        cr_assert(await_event(&peer, SESSION_EVENT_RESUMED));
        check_deadline(&peer, VERY_LONG, 4 * TICK);
        loop_for(peer.event, TICK);
        cr_assert_eq(count_lines(&peer, ESTABLISHED), 3, "%s", peer.log->str);

        /* One that is attached to is asked about, and kept. */
        id = session_id(peer.session);
        session_detach(peer.session);
        cr_assert(await_event(&peer, SESSION_EVENT_CLOSED));
        peer.session = session_free(peer.session);
        peer_start(&peer, zookeeper_server_address(server), VERY_LONG);
        cr_assert(await_event(&peer, SESSION_EVENT_ATTACHED));
        cr_assert_eq(session_id(peer.session), id);
        check_deadline(&peer, VERY_LONG, 4 * TICK);
        cr_assert_eq(count_lines(&peer, LONGER_TICK), 2, "each process says it once");
        peer_stop(&peer);
        peer_clear(&peer);
        zookeeper_server_free(server);
}

/* 10 - 2 x 2 - 0.1 - 0.1 - 0.7 = 5.1 s. The second session would live for 4 s if nobody closed it.
 */
Test(session, a_raised_least_timeout_looks_like_a_longer_tick_and_nothing_stays_of_the_question,
     .timeout = 120) {
        ZooKeeperServer *server =
            zookeeper_server_new_with(ZOOKEEPER_TICK_MS, "minSessionTimeout=4000\n");
        const unsigned own = 4 + 2; /* of its handle; timers of both clocks */
        Peer peer = {0};
        unsigned before;

        peer_prepare(&peer);
        before = count_descriptors();
        peer_start(&peer, zookeeper_server_address(server), LONG);
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
        await_sessions(&peer, server, 1);
        cr_assert(await_descriptors(before + own));
        check_deadline(&peer, LONG, 4 * USEC_PER_SEC);
        cr_assert_eq(count_lines(&peer, LONGER_TICK "4s, so their tick is taken to be 2s"), 1, "%s",
                     peer.log->str);
        peer_stop(&peer);
        await_sessions(&peer, server, 0);
        peer_clear(&peer);
        zookeeper_server_free(server);
}

Test(session, a_lowered_least_timeout_changes_nothing, .timeout = 120) {
        ZooKeeperServer *server =
            zookeeper_server_new_with(ZOOKEEPER_TICK_MS, "minSessionTimeout=100\n");
        Peer peer = {0};

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_server_address(server), LONG);
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
        check_deadline(&peer, LONG, 0);
        cr_assert_eq(count_lines(&peer, "<4>"), 0, "%s", peer.log->str);
        peer_stop(&peer);
        peer_clear(&peer);
        zookeeper_server_free(server);
}

/* 10 - 2 x 4 - 0.1 - 0.1 - 0.7 = 1.1 s, 0.1 s of which is left after the stop: not two heartbeats.
 */
Test(session, a_least_timeout_without_room_is_a_fault_and_no_session, .timeout = 120) {
        ZooKeeperServer *server =
            zookeeper_server_new_with(ZOOKEEPER_TICK_MS, "minSessionTimeout=8000\n");
        Peer peer = {0};

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_server_address(server), LONG);
        cr_assert(await_event(&peer, SESSION_EVENT_FAULT));
        cr_assert(g_str_has_prefix(session_fault(peer.session),
                                   "the least session timeout that the ZooKeeper servers grant is "
                                   "8s, so their tick is taken to be 4s"),
                  "%s", session_fault(peer.session));
        loop_for(peer.event, 2 * USEC_PER_SEC);
        cr_assert_eq(peer.n_events, 1);
        cr_assert_null(session_zk(peer.session));
        cr_assert_gt(count_lines(&peer, ESTABLISHED), 2, "it was tried again");
        cr_assert_eq(count_lines(&peer, "<4>"), 1, "and said once: %s", peer.log->str);
        peer_stop(&peer);
        await_sessions(&peer, server, 0);
        peer_clear(&peer);
        zookeeper_server_free(server);
}

/* One connection for each address: the second session gets none. */
Test(session, without_an_answer_about_the_tick_the_configured_one_counts, .timeout = 120) {
        ZooKeeperServer *server =
            zookeeper_server_new_with(ZOOKEEPER_TICK_MS, "maxClientCnxns=1\n");
        Peer peer = {0};
        int64_t id;

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_server_address(server), LONG);
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
        check_deadline(&peer, LONG, 0);
        cr_assert_eq(count_lines(&peer, NO_ANSWER), 1, "%s", peer.log->str);
        id = session_id(peer.session);
        session_detach(peer.session);
        cr_assert(await_event(&peer, SESSION_EVENT_CLOSED));
        peer.session = session_free(peer.session);

        peer_start(&peer, zookeeper_server_address(server), LONG);
        cr_assert(await_event(&peer, SESSION_EVENT_ATTACHED));
        cr_assert_eq(session_id(peer.session), id);
        check_deadline(&peer, LONG, 0);
        cr_assert_eq(count_lines(&peer, NO_ANSWER), 2, "%s", peer.log->str);
        peer_stop(&peer);
        peer_clear(&peer);
        zookeeper_server_free(server);
}

/* 4.5 - 2 x 0.5 - 0.1 - 0.05 - 0.7 = 2.65 s, and STOP a second before that: sooner than an answer
 * would otherwise be given up. */
Test(session, waiting_for_the_tick_does_not_cost_an_attached_session_its_deadline, .timeout = 120) {
        ZooKeeperServer *server =
            zookeeper_server_new_with(ZOOKEEPER_TICK_MS, "maxClientCnxns=1\n");
        Peer peer = {0};

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_server_address(server), 4500 * USEC_PER_MSEC);
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
        peer.session = session_free(peer.session); /* as a process that is killed */
        peer_start(&peer, zookeeper_server_address(server), 4500 * USEC_PER_MSEC);
        cr_assert(await_event(&peer, SESSION_EVENT_ATTACHED));
        cr_assert_eq(peer.n_events, 1, "neither STOP nor LOST");
        cr_assert_eq(count_lines(&peer, NO_ANSWER), 2, "%s", peer.log->str);
        peer_stop(&peer);
        peer_clear(&peer);
        zookeeper_server_free(server);
}

static bool is_established(void *userdata) {
        return count_lines(userdata, ESTABLISHED) > 0;
}

Test(session, may_be_closed_while_the_tick_is_asked_for, .timeout = 120) {
        ZooKeeperServer *server =
            zookeeper_server_new_with(ZOOKEEPER_TICK_MS, "maxClientCnxns=1\n");
        Peer peer = {0};

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_server_address(server), LONG);
        cr_assert(loop_until(peer.event, is_established, &peer, LIMIT));
        peer_stop(&peer);
        cr_assert_eq(peer.n_events, 1);
        peer_clear(&peer);
        zookeeper_server_free(server);
}

Test(session, close_without_a_server_ends_in_time) {
        ZooKeeperServer *server = zookeeper_server_new(ZOOKEEPER_TICK_MS);
        Peer peer = {0};
        usec_t asked;

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_server_address(server), LONG);
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
        zookeeper_server_freeze(server);
        asked = clock_boottime();
        session_close(peer.session);
        session_close(peer.session);
        cr_assert(await_event(&peer, SESSION_EVENT_CLOSED));
        cr_assert_lt(clock_boottime(), asked + 5 * USEC_PER_SEC + LATE_MAX);
        cr_assert_eq(peer.n_events, 2);
        peer.session = session_free(peer.session);
        zookeeper_server_free(server);
        peer_clear(&peer);
}

Test(session, may_be_freed_from_inside_its_event) {
        Peer peer = {.free_in_event = true};

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_shared(), SHORT);
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
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
        peer_start(&peer, zookeeper_shared(), SHORT);
        cr_assert_eq(session_listen(peer.session, on_ear, &first, &first.listener), 0);
        cr_assert_eq(session_listen(peer.session, on_ear, &leaver, &leaver.listener), 0);
        cr_assert(await_event(&peer, SESSION_EVENT_CONNECTED));
        cr_assert_eq(first.heard, 1);
        cr_assert_eq(first.owner_had, 0, "before the owner");
        cr_assert_eq(leaver.heard, 1);
        cr_assert_eq(late.heard, 0, "waits for the next event");

        peer.session = session_free(peer.session);
        cr_assert_eq(first.heard, 2);
        cr_assert_eq(first.last, SESSION_EVENT_CLOSED);
        cr_assert_eq(late.heard, 1);
        cr_assert_eq(leaver.heard, 1);
        cr_assert_eq(peer.n_events, 1, "the owner knows that he freed it");
        session_unlisten(first.listener);
        session_unlisten(late.listener);
        peer_clear(&peer);
}

ZOOKEEPER_MAIN;

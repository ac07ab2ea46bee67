/* The way of a session over a restart: what the next process finds, and until when it counts. */
#include <criterion/criterion.h>
#include <glib.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helper-session.h"
#include "helper-zookeeper-main.h"

Test(session_attach, detached_session_is_attached_to_with_its_ephemerals) {
        Peer peer = {0};
        int64_t id;

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_shared(), SESSION_LONG);
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        cr_assert_eq(peer_create_ephemeral(&peer, "/kept"), ZK_OK);
        id = session_id(peer.session);
        session_detach(peer.session);
        cr_assert(peer_await(&peer, SESSION_EVENT_CLOSED));
        peer.session = session_free(peer.session);

        peer_start(&peer, zookeeper_shared(), SESSION_LONG);
        cr_assert(peer_await(&peer, SESSION_EVENT_ATTACHED));
        cr_assert_eq(peer_count(&peer, SESSION_EVENT_CONNECTED), 0);
        cr_assert_eq(session_id(peer.session), id);
        cr_assert_gt(session_held_until(peer.session), clock_boottime());
        cr_assert_eq(peer_exists(&peer, "/kept"), ZK_OK);
        peer_stop(&peer);
        peer_clear(&peer);
}

typedef struct Absence {
        Peer *peer;
        const char *path;
} Absence;

static bool is_absent(void *userdata) {
        const Absence *absence = userdata;

        return peer_exists(absence->peer, absence->path) == ZK_NO_NODE;
}

Test(session_attach, detached_session_ends_at_its_timeout) {
        Peer peer = {0}, witness = {0};
        usec_t detached;

        peer_prepare(&witness);
        peer_start(&witness, zookeeper_shared(), SESSION_LONG);
        cr_assert(peer_await(&witness, SESSION_EVENT_CONNECTED));
        peer_prepare(&peer);
        peer_start(&peer, zookeeper_shared(), SESSION_SHORT);
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        cr_assert_eq(peer_create_ephemeral(&peer, "/for-a-while"), ZK_OK);
        session_detach(peer.session);
        cr_assert(peer_await(&peer, SESSION_EVENT_CLOSED));
        peer.session = session_free(peer.session);
        detached = clock_boottime();

        cr_assert_eq(peer_exists(&witness, "/for-a-while"), ZK_OK);
        cr_assert(loop_until(witness.event, is_absent, &(Absence){&witness, "/for-a-while"},
                             SESSION_LIMIT));
        cr_assert_gt(clock_boottime(), detached + deadline_lease(&session_rule, SESSION_SHORT),
                     "it outlived every deadline that it could have had");

        /* The file is there, the session is not: its loss is told, then a new one begins. */
        peer_start(&peer, zookeeper_shared(), SESSION_SHORT);
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        cr_assert_eq(peer.n_events, 3);
        cr_assert_eq(peer.events[0], SESSION_EVENT_STOP);
        cr_assert_eq(peer.events[1], SESSION_EVENT_LOST);
        peer_stop(&peer);
        peer_clear(&peer);
        peer_stop(&witness);
        peer_clear(&witness);
}

Test(session_attach, closing_a_detached_session_leaves_it_to_the_next_process) {
        Peer peer = {0};

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_shared(), SESSION_LONG);
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        session_detach(peer.session);
        session_close(peer.session);
        cr_assert(peer_await(&peer, SESSION_EVENT_CLOSED));
        peer.session = session_free(peer.session);
        peer_start(&peer, zookeeper_shared(), SESSION_LONG);
        cr_assert(peer_await(&peer, SESSION_EVENT_ATTACHED));
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
        peer_start(peer, zookeeper_shared(), SESSION_LONG);
        cr_assert(peer_await(peer, SESSION_EVENT_CONNECTED));
        session_detach(peer->session);
        cr_assert(peer_await(peer, SESSION_EVENT_CLOSED));
        peer->session = session_free(peer->session);
        spoil(peer->file, from, to);
        peer_start(peer, zookeeper_shared(), SESSION_LONG);
        cr_assert(peer_await(peer, SESSION_EVENT_CONNECTED));
        cr_assert_eq(peer->n_events, 1);
        peer_stop(peer);
}

Test(session_attach, state_file_of_another_boot_or_damaged_is_ignored) {
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

Test(session_attach, state_file_of_another_identity_is_not_attached_to) {
        Peer peer = {.identity = "one /tree"};
        int64_t id;

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_shared(), SESSION_LONG);
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        id = session_id(peer.session);
        peer.session = session_free(peer.session);
        peer.identity = "other /tree";
        peer_start(&peer, zookeeper_shared(), SESSION_LONG);
        cr_assert_eq(session_held_until(peer.session), 0, "nothing is inherited");
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        cr_assert_eq(peer.n_events, 1);
        cr_assert_neq(session_id(peer.session), id);
        peer_stop(&peer);
        peer_clear(&peer);
}

/* What is killed between two heartbeats leaves the deadline of the last good one. */
Test(session_attach, a_process_inherits_the_deadline_of_the_one_before_it) {
        struct stat first, last;
        Peer peer = {0};
        usec_t held_until;

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_shared(), SESSION_LONG);
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        cr_assert_eq(stat(peer.file, &first), 0);
        cr_assert(peer_await_beats(&peer, 0));
        held_until = session_held_until(peer.session);
        peer.session = session_free(peer.session);
        cr_assert_eq(stat(peer.file, &last), 0);
        cr_assert_eq(first.st_ino, last.st_ino, "a heartbeat writes in place");
        cr_assert_eq(last.st_mode & 07777, 0600);

        peer_start(&peer, zookeeper_shared(), SESSION_LONG);
        cr_assert_eq(session_held_until(peer.session), held_until);
        cr_assert_eq(session_stop_at(peer.session), held_until - session_rule.fence_budget);
        cr_assert_null(session_zk(peer.session));
        cr_assert(peer_await(&peer, SESSION_EVENT_ATTACHED));
        cr_assert_eq(peer.n_events, 1);
        cr_assert_gt(session_held_until(peer.session), held_until);
        peer_stop(&peer);
        peer_clear(&peer);
}

/* A host that takes connections and says nothing: the library gives it two thirds of the timeout.
 * It is the first to be tried in one of eight attempts. */
Test(session_attach, a_silent_host_does_not_keep_a_process_from_attaching, .timeout = 120) {
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
        peer_start(&peer, zookeeper_shared(), SESSION_LONG);
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        for (unsigned i = 0; i < 10; i++) {
                peer.session = session_free(peer.session);
                peer_start(&peer, servers->str, SESSION_LONG);
                cr_assert(peer_await(&peer, SESSION_EVENT_ATTACHED));
                cr_assert_eq(peer.n_events, 1, "not even STOP");
        }
        peer_stop(&peer);
        peer_clear(&peer);
        close(hole);
}

Test(session_attach, an_inherited_deadline_ends_in_stop_and_loss_without_any_answer) {
        ZooKeeperServer *server = zookeeper_server_new(ZOOKEEPER_TICK_MS);
        Peer peer = {0};
        usec_t held_until;
        int64_t id;

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_server_address(server), SESSION_SHORT);
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        id = session_id(peer.session);
        held_until = peer_freeze(&peer, server);
        peer.session = session_free(peer.session);

        peer_start(&peer, zookeeper_server_address(server), SESSION_SHORT);
        peer_await_at(&peer, SESSION_EVENT_STOP, held_until - session_rule.fence_budget);
        peer_await_at(&peer, SESSION_EVENT_LOST, held_until);
        cr_assert_eq(session_held_until(peer.session), 0);
        cr_assert_not(g_file_test(peer.file, G_FILE_TEST_EXISTS));

        zookeeper_server_thaw(server);
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        cr_assert_neq(session_id(peer.session), id);
        cr_assert_eq(peer_count(&peer, SESSION_EVENT_STOP), 1);
        cr_assert_eq(peer_count(&peer, SESSION_EVENT_LOST), 1);
        peer_stop(&peer);
        peer_clear(&peer);
        zookeeper_server_free(server);
}

Test(session_attach, an_inherited_session_that_is_stopped_may_still_be_attached_to,
     .timeout = 120) {
        ZooKeeperServer *server = zookeeper_server_new(ZOOKEEPER_TICK_MS);
        Peer peer = {.fence_budget = 5 * USEC_PER_SEC};
        usec_t held_until;
        int64_t id;

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_server_address(server), SESSION_LONG);
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        id = session_id(peer.session);
        held_until = peer_freeze(&peer, server);
        peer.session = session_free(peer.session);
        peer_start(&peer, zookeeper_server_address(server), SESSION_LONG);
        cr_assert(peer_await(&peer, SESSION_EVENT_STOP));
        zookeeper_server_thaw(server);
        cr_assert(peer_await(&peer, SESSION_EVENT_ATTACHED));
        cr_assert_eq(session_id(peer.session), id);
        cr_assert_eq(peer_count(&peer, SESSION_EVENT_LOST), 0);
        loop_for(peer.event, usec_sub(held_until, clock_boottime()) + SESSION_TICK);
        cr_assert_eq(peer_count(&peer, SESSION_EVENT_LOST), 0);
        cr_assert_eq(peer_count(&peer, SESSION_EVENT_STOP), 1);
        peer_stop(&peer);
        peer_clear(&peer);
        zookeeper_server_free(server);
}

Test(session_attach, an_inherited_session_that_a_server_calls_expired_is_lost) {
        ZooKeeperServer *server = zookeeper_server_new(ZOOKEEPER_TICK_MS);
        Peer peer = {0};

        peer_prepare(&peer);
        peer_start(&peer, zookeeper_shared(), SESSION_LONG);
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        peer.session = session_free(peer.session);
        peer_start(&peer, zookeeper_server_address(server),
                   SESSION_LONG); /* which never heard of it */
        cr_assert(peer_await(&peer, SESSION_EVENT_CONNECTED));
        cr_assert_eq(peer.events[peer.n_events - 2], SESSION_EVENT_LOST);
        cr_assert_eq(peer_count(&peer, SESSION_EVENT_ATTACHED), 0);
        peer_stop(&peer);
        peer_clear(&peer);
        zookeeper_server_free(server);
}

ZOOKEEPER_MAIN;

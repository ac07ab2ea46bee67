/* See helper-session.h. */
#include "helper-session.h"

#include <criterion/criterion.h>
#include <glib/gstdio.h>
#include <string.h>

/* So long a timer of the same loop comes after what it is compared with. */
#define MOMENT (50 * USEC_PER_MSEC)

const DeadlineRule session_rule = {
    .tick_time = SESSION_TICK,
    .sync_limit = 1,
    .heartbeat = 100 * USEC_PER_MSEC,
    .fence_budget = USEC_PER_SEC,
};

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

void peer_prepare(Peer *peer) {
        peer->descriptors = count_descriptors();
        peer->directory = g_dir_make_tmp("jobkeeper-session-XXXXXX", NULL);
        peer->file = g_build_filename(peer->directory, "session", NULL);
        peer->log = g_string_new(NULL);
        cr_assert_geq(sd_event_new(&peer->event), 0);
}

void peer_start(Peer *peer, const char *servers, usec_t timeout) {
        DeadlineRule with = session_rule;

        if (peer->fence_budget > 0)
                with.fence_budget = peer->fence_budget;
        peer->n_events = 0;
        cr_assert_eq(session_new(peer->event,
                                 &(SessionOptions){
                                     .servers = servers,
                                     .session_timeout = timeout,
                                     .rule = with,
                                     .state_file = peer->file,
                                     .identity = peer->identity,
                                     .log = on_log,
                                 },
                                 on_event, peer, &peer->session),
                     0);
        cr_assert_eq(peer->n_events, 0, "never from inside");
}

bool peer_was_told(const Peer *peer, SessionEvent event) {
        return peer_count(peer, event) > 0;
}

typedef struct Expect {
        Peer *peer;
        SessionEvent event;
        bool too_late;
} Expect;

static bool has_happened(void *userdata) {
        const Expect *expect = userdata;

        return expect->too_late || peer_was_told(expect->peer, expect->event);
}

bool peer_await(Peer *peer, SessionEvent event) {
        return loop_until(peer->event, has_happened, &(Expect){peer, event, false}, SESSION_LIMIT);
}

static int on_moment_later(sd_event_source *source, uint64_t usec, void *userdata) {
        Expect *expect = userdata;

        (void)source;
        (void)usec;
        expect->too_late = true;
        return 0;
}

void peer_await_before(Peer *peer, SessionEvent event, usec_t at) {
        Expect expect = {peer, event, false};
        sd_event_source *moment_later = NULL;

        cr_assert_not(peer_was_told(peer, event));
        cr_assert_geq(sd_event_add_time(peer->event, &moment_later, CLOCK_BOOTTIME, at + MOMENT, 1,
                                        on_moment_later, &expect),
                      0);
        cr_assert_geq(sd_event_source_set_priority(moment_later, SD_EVENT_PRIORITY_IDLE), 0);
        cr_assert(loop_until(peer->event, has_happened, &expect, SESSION_LIMIT));
        moment_later = sd_event_source_disable_unref(moment_later);
        cr_assert_not(expect.too_late, "event %d comes too late", (int)event);
}

void peer_await_at(Peer *peer, SessionEvent event, usec_t at) {
        peer_await_before(peer, event, at);
        cr_assert_geq(peer->times[peer->n_events - 1], at, "event %d comes too soon", (int)event);
}

unsigned peer_count(const Peer *peer, SessionEvent event) {
        unsigned count = 0;

        for (size_t i = 0; i < peer->n_events; i++)
                count += peer->events[i] == event;
        return count;
}

typedef struct Advance {
        const Peer *peer;
        usec_t beyond;
} Advance;

static bool has_advanced(void *userdata) {
        const Advance *advance = userdata;

        return session_held_until(advance->peer->session) > advance->beyond;
}

bool peer_await_beats(Peer *peer, usec_t by) {
        return loop_until(peer->event, has_advanced,
                          &(Advance){peer, session_held_until(peer->session) + by}, SESSION_LIMIT);
}

usec_t peer_freeze(Peer *peer, ZooKeeperServer *server) {
        cr_assert(peer_await_beats(peer, 0));
        zookeeper_server_freeze(server);
        loop_for(peer->event, session_rule.heartbeat); /* what was answered before arrives */
        return session_held_until(peer->session);
}

void peer_stop(Peer *peer) {
        session_close(peer->session);
        cr_assert(peer_await(peer, SESSION_EVENT_CLOSED));
        peer->session = session_free(peer->session);
}

/* Damaged files were set aside for people. */
static void peer_remove_set_aside(const Peer *peer) {
        GDir *directory = g_dir_open(peer->directory, 0, NULL);
        const char *name = NULL;

        cr_assert_not_null(directory);
        while ((name = g_dir_read_name(directory))) {
                g_autofree char *path = g_build_filename(peer->directory, name, NULL);

                if (strstr(name, ".damaged"))
                        g_unlink(path);
        }
        g_dir_close(directory);
}

void peer_clear(Peer *peer) {
        peer->session = session_free(peer->session);
        peer->event = sd_event_unref(peer->event);
        g_unlink(peer->file);
        peer_remove_set_aside(peer);
        cr_assert_eq(g_rmdir(peer->directory), 0, "nothing else may lie beside the state file");
        g_free(peer->file);
        g_free(peer->directory);
        g_string_free(peer->log, TRUE);
        cr_assert(await_descriptors(peer->descriptors), "leaked descriptors");
}

unsigned peer_count_lines(const Peer *peer, const char *text) {
        unsigned count = 0;

        for (const char *at = peer->log->str; (at = strstr(at, text)); at++)
                count++;
        return count;
}

static void on_code(const ZkReply *reply, void *userdata) {
        *(int *)userdata = (int)reply->code;
}

static bool is_known(void *userdata) {
        return *(int *)userdata >= 0;
}

static int await_code(Peer *peer, int sent, int *code) {
        cr_assert_eq(sent, 0);
        cr_assert(loop_until(peer->event, is_known, code, SESSION_LIMIT));
        return *code;
}

int peer_create_ephemeral(Peer *peer, const char *path) {
        int code = -1;

        return await_code(peer,
                          zk_create(session_zk(peer->session), path, NULL, ZK_CREATE_EPHEMERAL,
                                    on_code, &code, NULL),
                          &code);
}

int peer_exists(Peer *peer, const char *path) {
        int code = -1;

        return await_code(
            peer,
            zk_exists(session_zk(peer->session), path, on_code, &code, NULL, NULL, NULL, NULL),
            &code);
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

void peer_await_sessions(Peer *peer, const ZooKeeperServer *server, unsigned n_sessions) {
        cr_assert(loop_until(peer->event, is_crowd, &(Crowd){server, n_sessions}, 6 * USEC_PER_SEC),
                  "the server knows others than %u sessions", n_sessions);
}

/* Sessions on a scripted port: heartbeats are answered late, badly or never, at moments that no
 * server can be made to choose. What the deadline does then is counted from the answers.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <time.h>

#include "event-loop.h"
#include "scripted-port.h"
#include "session-listen.h"
#include "session.h"
#include "temporary-tree.h"

#define LIMIT (10 * USEC_PER_SEC)
#define TICK USEC_PER_SEC
#define BEAT (20 * USEC_PER_MSEC)
#define BUDGET (200 * USEC_PER_MSEC)
#define LONG USEC_PER_MINUTE
/* 3.3 - 1 - 0.02 - 0.033 - 0.7 = 1.547 s until LOST, 0.2 s less until STOP. */
#define SHORT (3300 * USEC_PER_MSEC)

static const DeadlineRule rule = {
    .tick_time = TICK, .sync_limit = 0, .heartbeat = BEAT, .fence_budget = BUDGET};

static const char *state_file; /* or NULL */
static usec_t behind;          /* so much earlier it is for who asks than for the loop's timers */

/* In place of base/clock.c. */
static usec_t read_clock(clockid_t id) {
        struct timespec ts = {0};

        (void)clock_gettime(id, &ts);
        return (usec_t)ts.tv_sec * USEC_PER_SEC + (usec_t)ts.tv_nsec / 1000;
}

usec_t clock_boottime(void) {
        return read_clock(CLOCK_BOOTTIME);
}

usec_t clock_monotonic(void) {
        return read_clock(CLOCK_MONOTONIC) - behind;
}

usec_t clock_realtime(void) {
        return read_clock(CLOCK_REALTIME);
}

typedef struct Life {
        sd_event *event;
        Session *session;
        unsigned events[SESSION_EVENT_CLOSED + 1];
        usec_t times[SESSION_EVENT_CLOSED + 1]; /* of the latest */
} Life;

static void on_event(Session *session, SessionEvent event, void *userdata) {
        Life *life = userdata;

        (void)session;
        life->events[event]++;
        life->times[event] = clock_boottime();
}

static Zk *newest_port(void) {
        return ports->pdata[ports->len - 1];
}

static int life_new(Life *life, const DeadlineRule *with, usec_t timeout) {
        const SessionOptions options = {.servers = "127.0.0.1:2181",
                                        .session_timeout = timeout,
                                        .rule = *with,
                                        .state_file = state_file};

        life->event = loop_new();
        return session_new(life->event, &options, on_event, life, &life->session);
}

static void life_close(Life *life) {
        life->session = session_free(life->session);
        life->event = loop_end(life->event);
}

/* Return: the next heartbeat, not answered yet. */
static ZkCall *next_beat(Life *life) {
        usec_t until = clock_monotonic() + LIMIT;
        ZkCall *call;

        while (!(call = g_queue_pop_head(&newest_port()->calls))) {
                cr_assert_lt(clock_monotonic(), until, "no heartbeat came");
                (void)sd_event_run(life->event, 10 * USEC_PER_MSEC);
        }
        return call;
}

static void answer_beat(Life *life, Request request) {
        ZkCall *call = next_beat(life);

        cr_assert_eq(call->request, request, "%d", (int)call->request);
        port_reply(call, (ZkReply){.code = ZK_OK});
}

/* A session that is proved by a write and has had one more heartbeat, which moved its deadline. */
static void life_open(Life *life, usec_t timeout) {
        usec_t first;

        cr_assert_eq(life_new(life, &rule, timeout), 0);
        port_tell(newest_port(), ZK_STATE_CONNECTED);
        answer_beat(life, REQUEST_MULTI);
        cr_assert_eq(life->events[SESSION_EVENT_CONNECTED], 1);
        first = session_held_until(life->session);
        answer_beat(life, REQUEST_SYNC);
        cr_assert_gt(session_held_until(life->session), first);
}

static void await(Life *life, SessionEvent event) {
        usec_t until = clock_monotonic() + LIMIT;

        while (life->events[event] == 0) {
                cr_assert_lt(clock_monotonic(), until, "event %d did not come", (int)event);
                (void)sd_event_run(life->event, 10 * USEC_PER_MSEC);
        }
}

static void sleep_until(usec_t then) {
        while (clock_boottime() < then)
                g_usleep(USEC_PER_MSEC);
}

Test(session_script, a_rule_without_a_heartbeat_or_a_tick_is_refused) {
        const DeadlineRule none = {0}, no_tick = {.heartbeat = BEAT}, no_beat = {.tick_time = TICK};
        const DeadlineRule *rules[] = {&none, &no_tick, &no_beat};

        for (size_t i = 0; i < G_N_ELEMENTS(rules); i++) {
                Life life = {0};

                cr_assert_eq(life_new(&life, rules[i], LONG), -EINVAL);
                cr_assert_null(life.session);
                cr_assert_null(ports);
                life_close(&life);
        }
}

Test(session_script, both_timers_follow_a_deadline_that_has_moved) {
        usec_t until, stop_at;
        Life life = {0};

        life_open(&life, SHORT);
        until = session_held_until(life.session);
        stop_at = session_stop_at(life.session);
        cr_assert_eq(until - stop_at, BUDGET);
        await(&life, SESSION_EVENT_STOP);
        cr_assert_geq(life.times[SESSION_EVENT_STOP], stop_at);
        cr_assert_eq(life.events[SESSION_EVENT_LOST], 0);
        await(&life, SESSION_EVENT_LOST);
        cr_assert_geq(life.times[SESSION_EVENT_LOST], until);
        cr_assert_null(session_zk(life.session));
        cr_assert_eq(session_held_until(life.session), 0);
        cr_assert_eq(life.events[SESSION_EVENT_STOP], 1);
        life_close(&life);
}

/* Told from the loop, and the server is not asked to end it: what relied on it may still live. */
Test(session_script, one_that_is_forsaken_is_lost_at_once_and_followed_by_another) {
        Life life = {0};
        Zk *first;

        life_open(&life, LONG);
        first = newest_port();
        session_forsake(life.session);
        cr_expect_eq(life.events[SESSION_EVENT_LOST], 0);
        cr_expect_not(first->tidy);
        await(&life, SESSION_EVENT_LOST);
        cr_expect_eq(life.events[SESSION_EVENT_STOP], 0);
        cr_expect_null(session_zk(life.session));
        port_tell(newest_port(), ZK_STATE_CONNECTED);
        answer_beat(&life, REQUEST_MULTI);
        cr_expect_eq(life.events[SESSION_EVENT_CONNECTED], 2);
        session_forsake(life.session);
        session_close(life.session);
        port_tell(newest_port(), ZK_STATE_CLOSED);
        await(&life, SESSION_EVENT_CLOSED);
        cr_expect_eq(life.events[SESSION_EVENT_LOST], 1, "who is closed is not lost");
        life_close(&life);
}

Test(session_script, what_is_not_to_be_kept_counts_as_filed) {
        Life life = {0};

        cr_assert_eq(life_new(&life, &rule, LONG), 0);
        cr_expect(session_is_filed(life.session));
        life_close(&life);
        life = (Life){0};
        life_open(&life, LONG);
        cr_expect(session_is_filed(life.session));
        life_close(&life);
}

Test(session_script, a_later_heartbeat_writes_what_an_earlier_one_could_not) {
        g_autofree char *root = tree_make();
        g_autofree char *directory = g_build_filename(root, "run", NULL),
                        *path = g_build_filename(directory, "session", NULL);
        Life life = {0};

        state_file = path;
        life_open(&life, LONG);
        cr_expect_not(session_is_filed(life.session), "there is no such directory");
        cr_assert_eq(g_mkdir(directory, 0700), 0);
        answer_beat(&life, REQUEST_SYNC);
        cr_expect(session_is_filed(life.session));
        cr_expect(g_file_test(path, G_FILE_TEST_EXISTS));
        tree_remove(directory);
        answer_beat(&life, REQUEST_SYNC);
        cr_expect_not(session_is_filed(life.session), "it was removed by hand");
        cr_assert_eq(g_mkdir(directory, 0700), 0);
        answer_beat(&life, REQUEST_SYNC);
        cr_expect(session_is_filed(life.session));
        life_close(&life);
        tree_remove(root);
}

/* It was asked for, and then we stood still for so long that the servers may be about to end it. */
static void answer_first_beat_late(Life *life) {
        sleep_until(newest_port()->asked + SHORT / 2);
        port_tell(newest_port(), ZK_STATE_CONNECTED);
        answer_beat(life, REQUEST_MULTI);
        cr_expect_eq(life->events[SESSION_EVENT_CONNECTED], 0);
        cr_expect_eq(session_held_until(life->session), 0);
}

Test(session_script, a_session_whose_first_heartbeat_is_late_is_asked_for_anew) {
        Life life = {0};
        usec_t asked;

        cr_assert_eq(life_new(&life, &rule, SHORT), 0);
        asked = newest_port()->asked;
        answer_first_beat_late(&life);
        cr_assert_gt(newest_port()->asked, asked, "another port");
        port_tell(newest_port(), ZK_STATE_CONNECTED);
        answer_beat(&life, REQUEST_MULTI);
        cr_expect_eq(life.events[SESSION_EVENT_CONNECTED], 1);
        life_close(&life);
}

/* Servers answer late each time. */
Test(session_script, one_that_is_late_again_counts_once_the_servers_know_of_it) {
        Life life = {0};
        usec_t heard;

        cr_assert_eq(life_new(&life, &rule, SHORT), 0);
        answer_first_beat_late(&life);
        answer_first_beat_late(&life);
        heard = clock_boottime();
        while (life.events[SESSION_EVENT_CONNECTED] == 0) {
                cr_assert_eq(session_held_until(life.session), 0);
                port_reply(next_beat(&life), (ZkReply){.code = ZK_OK});
        }
        cr_expect_gt(clock_boottime(), heard + SHORT / 2);
        cr_expect_gt(session_held_until(life.session), heard + SHORT / 2);
        life_close(&life);
}

/* The loop stood still past the deadline, and the answer was there first. */
Test(session_script, an_answer_after_the_deadline_revives_nothing) {
        Life life = {0};
        ZkCall *call;

        life_open(&life, SHORT);
        call = next_beat(&life);
        sleep_until(session_held_until(life.session));
        call->sent = clock_boottime();
        port_reply(call, (ZkReply){.code = ZK_OK});
        cr_assert_eq(life.events[SESSION_EVENT_LOST], 1);
        cr_assert_eq(life.events[SESSION_EVENT_RESUMED], 0);
        life_close(&life);
}

Test(session_script, a_slow_sync_counts_only_once_a_write_was_answered) {
        Life life = {0};
        ZkCall *call;
        usec_t before;

        life_open(&life, LONG);
        before = session_held_until(life.session);
        call = next_beat(&life);
        cr_assert_eq(call->request, REQUEST_SYNC);
        call->sent -= TICK + USEC_PER_MSEC;
        port_reply(call, (ZkReply){.code = ZK_OK});
        cr_assert_eq(session_held_until(life.session), before, "a cut-off leader answers, too");
        answer_beat(&life, REQUEST_MULTI);
        cr_assert_gt(session_held_until(life.session), before);
        answer_beat(&life, REQUEST_SYNC);
        life_close(&life);
}

/* What is granted at a reconnection, the connection being cut and back at once. */
static void reconnect(usec_t granted) {
        newest_port()->granted = granted;
        port_tell(newest_port(), ZK_STATE_SUSPENDED);
        port_tell(newest_port(), ZK_STATE_CONNECTED);
}

Test(session_script, a_larger_timeout_counts_from_the_next_proof_on) {
        Life life = {0};
        usec_t before, before_stop;

        life_open(&life, LONG);
        before = session_held_until(life.session);
        before_stop = session_stop_at(life.session);
        reconnect(2 * LONG);
        cr_assert_eq(session_held_until(life.session), before);
        cr_assert_eq(session_stop_at(life.session), before_stop);
        answer_beat(&life, REQUEST_MULTI);
        cr_assert_eq(life.events[SESSION_EVENT_RESUMED], 1);
        cr_assert_gt(session_held_until(life.session), before + LONG / 2);
        life_close(&life);
}

Test(session_script, a_smaller_timeout_counts_at_once) {
        const usec_t less = 100 * USEC_PER_MSEC;
        Life life = {0};
        usec_t before;

        life_open(&life, LONG);
        before = session_held_until(life.session);
        reconnect(LONG - less);
        cr_assert_eq(session_held_until(life.session),
                     before - less + less / DEADLINE_DRIFT_DIVISOR);
        cr_assert_eq(session_stop_at(life.session), session_held_until(life.session) - BUDGET);
        life_close(&life);
}

Test(session_script, a_timeout_without_room_at_a_reconnection_ends_the_session) {
        Life life = {0};

        life_open(&life, LONG);
        reconnect(TICK);
        cr_assert_eq(life.events[SESSION_EVENT_LOST], 1);
        cr_assert_eq(life.events[SESSION_EVENT_FAULT], 1);
        cr_assert_null(session_zk(life.session));
        life_close(&life);
}

/* No descriptors, say. */
Test(session_script, what_cannot_even_begin_to_connect_tries_again) {
        Life life = {0};
        usec_t until = clock_monotonic() + LIMIT;

        life_open(&life, LONG);
        connect_error = -EMFILE;
        port_tell(newest_port(), ZK_STATE_EXPIRED);
        cr_assert_eq(life.events[SESSION_EVENT_LOST], 1);
        cr_assert_eq(life.events[SESSION_EVENT_FAULT], 1);
        cr_assert_null(ports);
        connect_error = 0;
        while (!ports && clock_monotonic() < until)
                (void)sd_event_run(life.event, 10 * USEC_PER_MSEC);
        cr_assert_not_null(ports, "it gave up");
        port_tell(newest_port(), ZK_STATE_CONNECTED);
        answer_beat(&life, REQUEST_MULTI);
        cr_assert_eq(life.events[SESSION_EVENT_CONNECTED], 2);
        life_close(&life);
}

/* The names of the servers may mean other addresses by now. */
Test(session_script, where_nobody_answers_for_long_another_port_is_taken) {
        Life life = {0};
        usec_t asked, until;

        cr_assert_eq(life_new(&life, &rule, LONG), 0);
        asked = newest_port()->asked;
        behind = 29 * USEC_PER_SEC; /* of half a minute, from the first fault on */
        await(&life, SESSION_EVENT_FAULT);
        cr_expect_eq(newest_port()->asked, asked);
        until = clock_monotonic() + LIMIT;
        while (newest_port()->asked == asked) {
                cr_assert_lt(clock_monotonic(), until, "it waits for ever");
                (void)sd_event_run(life.event, 10 * USEC_PER_MSEC);
        }
        behind = 0;
        port_tell(newest_port(), ZK_STATE_CONNECTED);
        answer_beat(&life, REQUEST_MULTI);
        cr_expect_eq(life.events[SESSION_EVENT_CONNECTED], 1);
        life_close(&life);
}

/* The server says how long the least session timeout is that it grants. */
static void answer_probe(usec_t least_timeout) {
        SessionProbe *asked = port_probe;

        cr_assert_not_null(asked, "nothing is asked");
        port_probe_waits = false;
        asked->func(least_timeout, asked->userdata);
}

Test(session_script, no_heartbeat_counts_before_the_tick_is_known) {
        Life life = {0};

        port_probe_waits = true;
        cr_assert_eq(life_new(&life, &rule, LONG), 0);
        port_tell(newest_port(), ZK_STATE_CONNECTED);
        answer_beat(&life, REQUEST_MULTI);
        answer_beat(&life, REQUEST_SYNC);
        cr_assert_eq(life.events[SESSION_EVENT_CONNECTED], 0);
        cr_assert_eq(session_held_until(life.session), 0);
        answer_probe(8 * TICK);
        answer_beat(&life, REQUEST_SYNC);
        cr_assert_eq(life.events[SESSION_EVENT_CONNECTED], 1);
        cr_assert_leq(session_held_until(life.session), clock_boottime() + LONG - 4 * TICK);
        life_close(&life);
}

Test(session_script, each_connection_asks_and_a_longer_tick_counts_at_once) {
        Life life = {0};
        usec_t before;

        life_open(&life, LONG);
        cr_assert_eq(n_probes, 1);
        before = session_held_until(life.session);
        port_probe_waits = true;
        reconnect(LONG);
        cr_assert_eq(n_probes, 2);
        answer_beat(&life, REQUEST_MULTI);
        cr_assert_eq(session_held_until(life.session), before, "its worth is not known yet");
        cr_assert_eq(life.events[SESSION_EVENT_RESUMED], 0);
        answer_probe(8 * TICK);
        cr_assert_eq(session_held_until(life.session), before - 3 * TICK);
        answer_beat(&life, REQUEST_SYNC);
        cr_assert_eq(life.events[SESSION_EVENT_RESUMED], 1);
        life_close(&life);
}

/* Other servers of the ensemble may still have the longer one. */
Test(session_script, a_shorter_tick_or_none_at_a_reconnection_changes_nothing) {
        static const usec_t answers[] = {2 * TICK, 0};
        Life life = {0};
        usec_t before;

        life_open(&life, LONG);
        port_probe_waits = true;
        reconnect(LONG);
        answer_probe(8 * TICK);
        answer_beat(&life, REQUEST_MULTI);
        for (size_t i = 0; i < G_N_ELEMENTS(answers); i++) {
                port_probe_waits = true;
                reconnect(LONG);
                before = session_held_until(life.session);
                answer_probe(answers[i]);
                cr_assert_eq(session_held_until(life.session), before);
                answer_beat(&life, REQUEST_MULTI);
                cr_assert_leq(session_held_until(life.session), clock_boottime() + LONG - 4 * TICK);
        }
        life_close(&life);
}

Test(session_script, a_tick_without_room_at_a_reconnection_ends_the_session) {
        Life life = {0};

        life_open(&life, LONG);
        port_probe_waits = true;
        reconnect(LONG);
        answer_probe(2 * LONG);
        cr_assert_eq(life.events[SESSION_EVENT_LOST], 1);
        cr_assert_eq(life.events[SESSION_EVENT_FAULT], 1);
        life_close(&life);
}

/* The library has closed it, and whoever is told may let it live on for longer than a close may
 * take.
 */
Test(session_script, a_close_is_told_once) {
        usec_t late;
        Life life = {0};

        life_open(&life, LONG);
        session_close(life.session);
        late = clock_monotonic() + 5500 * USEC_PER_MSEC;
        port_tell(newest_port(), ZK_STATE_CLOSED);
        cr_assert_eq(life.events[SESSION_EVENT_CLOSED], 1);
        while (clock_monotonic() < late)
                (void)sd_event_run(life.event, late - clock_monotonic());
        cr_assert_eq(life.events[SESSION_EVENT_CLOSED], 1);
        life_close(&life);
}

static void leave(Session *session, SessionEvent event, void *userdata) {
        SessionListener **listener = userdata;

        (void)session;
        (void)event;
        *listener = session_unlisten(*listener);
}

Test(session_script, listeners_that_left_during_an_event_are_purged_after_it) {
        SessionListener *tokens[2] = {NULL};
        SessionListeners listeners;

        session_listeners_init(&listeners, NULL, NULL, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(tokens); i++)
                cr_assert_eq(session_listeners_add(&listeners, leave, &tokens[i], &tokens[i]), 0);
        session_listeners_tell(&listeners, SESSION_EVENT_SUSPENDED);
        cr_assert_null(tokens[0]);
        cr_assert_null(tokens[1]);
        cr_assert_eq(listeners.array->len, 0);
        session_listeners_clear(&listeners);
}

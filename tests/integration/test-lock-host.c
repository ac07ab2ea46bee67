/* Locks on a machine whose name server does not answer, and whose wall clock is set.
 *
 * The program interposes itself between all its libraries and the C library: names take as long to
 * look up as a test wants (numeric addresses do not), and CLOCK_REALTIME is what a test wants
 * (wall-clock.h). The other clocks go on.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <glib.h>
#include <netdb.h>
#include <string.h>

#include "helper-wire.h"
#include "helper-zookeeper-main.h"
#include "wall-clock.h"

#define TIMEOUT (20 * USEC_PER_SEC)
#define FOREVER USEC_INFINITY
#define A_WHILE (300 * USEC_PER_MSEC)

/* Shared with the library's threads. */
static gint look_up_ms, look_ups;

typedef int (*LookUp)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

static bool is_numeric(const char *node) {
        unsigned char address[sizeof(struct in6_addr)];

        return !node || inet_pton(AF_INET, node, address) == 1 ||
               inet_pton(AF_INET6, node, address) == 1;
}

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): theirs are reserved */

/* Every name is that of this machine. */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **ret) {
        LookUp real = (LookUp)dlsym(RTLD_NEXT, "getaddrinfo");

        if (is_numeric(node))
                return real(node, service, hints, ret);
        g_atomic_int_inc(&look_ups);
        g_usleep((gulong)g_atomic_int_get(&look_up_ms) * USEC_PER_MSEC);
        return real("127.0.0.1", service, hints, ret);
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

/* Looks often: does the loop turn, does the deadline move? */
typedef struct Pulse {
        const Session *session;
        sd_event_source *source;
        usec_t last_turn, longest_gap;
        usec_t last_deadline;
        unsigned advances;
} Pulse;

#define PULSE_PERIOD (20 * USEC_PER_MSEC)

static int on_pulse(sd_event_source *source, uint64_t usec, void *userdata) {
        Pulse *pulse = userdata;
        usec_t now = clock_monotonic(), deadline = session_held_until(pulse->session);

        (void)usec;
        pulse->longest_gap = MAX(pulse->longest_gap, now - pulse->last_turn);
        pulse->last_turn = now;
        pulse->advances += deadline > pulse->last_deadline;
        pulse->last_deadline = deadline;
        cr_assert_geq(sd_event_source_set_time(source, now + PULSE_PERIOD), 0);
        cr_assert_geq(sd_event_source_set_enabled(source, SD_EVENT_ONESHOT), 0);
        return 0;
}

static void pulse_begin(Pulse *pulse, World *world, const Session *session) {
        *pulse = (Pulse){.session = session,
                         .last_turn = clock_monotonic(),
                         .last_deadline = session_held_until(session)};
        cr_assert_geq(sd_event_add_time(world->event, &pulse->source, CLOCK_MONOTONIC,
                                        clock_monotonic(), 1, on_pulse, pulse),
                      0);
}

/* The session's heartbeat is 200 ms. */
static void pulse_end(Pulse *pulse, usec_t since) {
        usec_t passed = clock_monotonic() - since;

        pulse->source = sd_event_source_disable_unref(pulse->source);
        cr_assert_lt(pulse->longest_gap, LATE_MAX, "the loop stood still for %" G_GUINT64_FORMAT,
                     pulse->longest_gap);
        cr_assert_geq(pulse->advances, passed / (400 * USEC_PER_MSEC), "%u heartbeats",
                      pulse->advances);
}

#define LOOK_UP_MS 2000

Test(lock_host, slow_name_servers_do_not_stop_heartbeats) {
        g_autofree char *named = NULL;
        Wire wire;
        Holder holder = {0};
        Pulse pulse;
        usec_t begin;

        wire_open(&wire, zookeeper_shared(), 1, TIMEOUT);
        wire.proxies[1] = proxy_new(wire.world.event, zookeeper_shared());
        named =
            g_strdup_printf("zookeeper.test:%s", strrchr(proxy_address(wire.proxies[1]), ':') + 1);
        wire_hold(&wire, &holder, 0, "a");

        g_atomic_int_set(&look_up_ms, LOOK_UP_MS);
        begin = clock_monotonic();
        pulse_begin(&pulse, &wire.world, wire_session(&wire, 0));
        world_connect(&wire.world, 1, named, TIMEOUT, NULL);
        cr_assert_geq(clock_monotonic() - begin, LOOK_UP_MS * USEC_PER_MSEC, "nothing was slow");
        pulse_end(&pulse, begin);
        cr_assert_eq(g_atomic_int_get(&look_ups), 1);

        g_atomic_int_set(&look_up_ms, 60 * 1000); /* the library asks for no name any more */
        begin = clock_monotonic();
        pulse_begin(&pulse, &wire.world, wire_session(&wire, 1));
        loop_for(wire.world.event, 4 * A_WHILE);
        proxy_cut(wire.proxies[1]);
        world_await_event(&wire.world, 1, SESSION_EVENT_RESUMED, 1);
        loop_for(wire.world.event, 4 * A_WHILE);
        pulse_end(&pulse, begin);
        cr_assert_eq(g_atomic_int_get(&look_ups), 1);
        cr_assert_eq(holder.total, 1);
        holder_release(&holder);
        wire_close(&wire);
}

static void ignore(Session *session, SessionEvent event, void *userdata) {
        (void)session;
        (void)event;
        (void)userdata;
}

Test(lock_host, a_session_that_is_being_looked_up_is_freed_at_once) {
        const SessionOptions options = {
            .servers = "zookeeper.test:1",
            .session_timeout = TIMEOUT,
            .rule = {.tick_time = USEC_PER_MSEC, .heartbeat = USEC_PER_SEC}};
        unsigned descriptors = count_descriptors();
        sd_event *event = NULL;
        Session *session = NULL;
        usec_t begin = clock_monotonic();

        g_atomic_int_set(&look_up_ms, LOOK_UP_MS);
        cr_assert_geq(sd_event_new(&event), 0);
        cr_assert_eq(session_new(event, &options, ignore, NULL, &session), 0);
        loop_for(event, A_WHILE);
        cr_assert_eq(g_atomic_int_get(&look_ups), 1);
        session = session_free(session);
        event = sd_event_unref(event);
        cr_assert_lt(clock_monotonic() - begin, A_WHILE + LATE_MAX);
        cr_assert(await_descriptors(descriptors), "the helper thread has gone, too");
}

/* Steps the clock while somebody waits for a second. */
static void step_clock(int seconds) {
        Wire wire;
        Holder holder = {0}, timed = {0}, waiter = {0};
        Pulse pulse;
        usec_t begin, wait = USEC_PER_SEC;
        gint64 wall;

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        wire_hold(&wire, &holder, 0, "a");
        begin = clock_monotonic();
        pulse_begin(&pulse, &wire.world, wire_session(&wire, 1));
        holder_acquire(&wire.world, &timed, wire_session(&wire, 1), "a", wait);
        wire_queue(&wire, &waiter, 1, "a", 2);
        wall = g_get_real_time();
        wall_clock_shift(seconds * (int64_t)USEC_PER_SEC);
        cr_assert_gt(ABS(g_get_real_time() - wall), 3000 * (gint64)USEC_PER_SEC,
                     "libraries see another time");
        holder_await(&wire.world, &timed, LOCK_EVENT_TIMEOUT);
        cr_assert_geq(clock_monotonic() - begin, wait);
        cr_assert_lt(clock_monotonic() - begin, wait + LATE_MAX);
        loop_for(wire.world.event, USEC_PER_SEC);
        pulse_end(&pulse, begin);

        for (size_t i = 0; i < 2; i++) {
                usec_t left = session_held_until(wire_session(&wire, i)) - clock_boottime();

                cr_assert_eq(wire.world.clients[i].events[SESSION_EVENT_SUSPENDED], 0);
                cr_assert_eq(wire.world.clients[i].events[SESSION_EVENT_STOP], 0);
                cr_assert_eq(wire.world.clients[i].events[SESSION_EVENT_LOST], 0);
                cr_assert_lt(left, TIMEOUT);
        }
        cr_assert_eq(waiter.total, 0);
        holder_release(&timed);
        holder_release(&holder);
        holder_await(&wire.world, &waiter, LOCK_EVENT_HELD);
        holder_release(&waiter);
        proxy_cut(wire.proxies[1]); /* a connection is made as quickly as ever */
        world_await_event(&wire.world, 1, SESSION_EVENT_RESUMED, 1);
        wire_close(&wire);
}

Test(lock_host, a_wall_clock_set_forward_changes_no_time_out) {
        step_clock(3600);
}

Test(lock_host, a_wall_clock_set_back_changes_no_time_out) {
        step_clock(-3600);
}

/* Three names, one after the other: longer than what an attempt to attach is given at first. */
Test(lock_host, slow_name_servers_do_not_keep_a_restarted_process_from_attaching) {
        const char *port = strrchr(zookeeper_shared(), ':') + 1;
        g_autofree char *named = g_strdup_printf("a.test:%s,b.test:%s,c.test:%s", port, port, port);
        StateFile file = world_state_file_new();
        World world;

        world_open_shared(&world, 1, TIMEOUT);
        world_connect(&world, 1, named, 9 * USEC_PER_SEC, file.path);
        g_atomic_int_set(&look_up_ms, 400);
        world_reattach(&world, 1, named, 9 * USEC_PER_SEC, file.path);
        cr_assert_leq(g_atomic_int_get(&look_ups), 9, "%d", g_atomic_int_get(&look_ups));
        g_atomic_int_set(&look_up_ms, 0);
        world_disconnect(&world, 1);
        world_state_file_clear(&file);
        world_close(&world);
}

ZOOKEEPER_MAIN;

/* Locks when the connection breaks between request and answer, when the server goes and comes back,
 * and when it stays away. */
#include <criterion/criterion.h>
#include <glib.h>
#include <string.h>

#include "../random-seed.h"
#include "helper-wire.h"
#include "helper-zookeeper-main.h"

#define TIMEOUT (20 * USEC_PER_SEC)
#define SHORT_TIMEOUT (3 * USEC_PER_SEC)
#define FOREVER USEC_INFINITY
#define A_WHILE (300 * USEC_PER_MSEC)

Test(lock_faults, a_contender_whose_creation_was_not_answered_is_found_again) {
        Wire wire;
        Holder holder = {0};
        g_auto(GStrv) children = NULL;
        g_autofree char *directory = NULL, *path = NULL;
        ZkStat stat;

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        wire_prepare(&wire, "a");
        proxy_mute(wire.proxies[1]);
        holder_acquire(&wire.world, &holder, wire_session(&wire, 1), "a", FOREVER);
        world_await_children(&wire.world, wire_session(&wire, 0), "a", 1);
        cr_assert_eq(holder.total, 0);
        proxy_cut(wire.proxies[1]);
        holder_await(&wire.world, &holder, LOCK_EVENT_HELD);

        children = world_list(&wire.world, wire_session(&wire, 0), "a");
        cr_assert_eq(g_strv_length(children), 1, "it was created twice");
        directory = world_path(&wire.world, "a");
        path = g_strconcat(directory, "/", children[0], NULL);
        cr_assert_str_eq(lock_set_paths(holder.set)[0], path);
        cr_assert_eq(world_exists(&wire.world, wire_session(&wire, 0), path, &stat), ZK_OK);
        cr_assert_eq(lock_set_fencing_token(holder.set), stat.czxid);
        cr_assert_eq(wire.world.clients[1].events[SESSION_EVENT_LOST], 0);
        holder_release(&holder);
        wire_close(&wire);
}

Test(lock_faults, a_waiter_whose_creation_was_not_answered_keeps_its_place) {
        Wire wire;
        Holder first = {0}, waiter = {0}, last = {0};
        unsigned turns = 0;

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        wire_hold(&wire, &first, 0, "a");
        proxy_mute(wire.proxies[1]);
        waiter.turns = last.turns = &turns;
        holder_acquire(&wire.world, &waiter, wire_session(&wire, 1), "a", FOREVER);
        world_await_children(&wire.world, wire_session(&wire, 0), "a", 2);
        holder_acquire(&wire.world, &last, wire_session(&wire, 0), "a", FOREVER);
        world_await_children(&wire.world, wire_session(&wire, 0), "a", 3);
        proxy_cut(wire.proxies[1]);
        holder_release(&first);
        holder_await(&wire.world, &waiter, LOCK_EVENT_HELD);
        cr_assert_eq(last.total, 0);
        holder_release(&waiter);
        holder_await(&wire.world, &last, LOCK_EVENT_HELD);
        holder_release(&last);
        wire_close(&wire);
}

Test(lock_faults, a_set_freed_before_its_creation_was_answered_leaves_no_node) {
        Wire wire;
        Holder holder = {0};

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        wire_prepare(&wire, "a");
        proxy_mute(wire.proxies[1]);
        holder_acquire(&wire.world, &holder, wire_session(&wire, 1), "a", FOREVER);
        world_await_children(&wire.world, wire_session(&wire, 0), "a", 1);
        holder_release(&holder);
        proxy_cut(wire.proxies[1]);
        wire_close(&wire);
}

Test(lock_faults, a_try_that_is_cut_off_is_over_and_leaves_no_node) {
        Wire wire;
        Holder holder = {0};

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        wire_prepare(&wire, "a");
        proxy_mute(wire.proxies[1]);
        holder_acquire(&wire.world, &holder, wire_session(&wire, 1), "a", 0);
        world_await_children(&wire.world, wire_session(&wire, 0), "a", 1);
        proxy_cut(wire.proxies[1]);
        holder_await(&wire.world, &holder, LOCK_EVENT_TIMEOUT);
        world_await_children(&wire.world, wire_session(&wire, 0), "a", 0);
        holder_release(&holder);
        wire_close(&wire);
}

Test(lock_faults, a_wait_that_ends_while_cut_off_leaves_no_node) {
        Wire wire;
        Holder first = {0}, waiter = {0};

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        wire_hold(&wire, &first, 0, "a");
        holder_acquire(&wire.world, &waiter, wire_session(&wire, 1), "a", 2 * A_WHILE);
        world_await_children(&wire.world, wire_session(&wire, 0), "a", 2);
        world_settle(&wire.world, wire_session(&wire, 1));
        proxy_admit(wire.proxies[1], false);
        proxy_cut(wire.proxies[1]);
        holder_await(&wire.world, &waiter, LOCK_EVENT_TIMEOUT);
        world_await_children(&wire.world, wire_session(&wire, 0), "a", 2);
        proxy_admit(wire.proxies[1], true);
        world_await_children(&wire.world, wire_session(&wire, 0), "a", 1);
        holder_release(&waiter);
        holder_release(&first);
        wire_close(&wire);
}

Test(lock_faults, a_release_that_was_cut_off_is_done_after_reconnection) {
        Wire wire;
        Holder holder = {0}, waiter = {0};

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        wire_hold(&wire, &holder, 1, "a b");
        holder_acquire(&wire.world, &waiter, wire_session(&wire, 0), "a b", FOREVER);
        proxy_admit(wire.proxies[1], false);
        proxy_cut(wire.proxies[1]);
        world_await_event(&wire.world, 1, SESSION_EVENT_SUSPENDED, 1);
        cr_assert_gt(lock_set_held_until(holder.set), clock_boottime(), "suspended is not lost");
        holder_release(&holder);
        loop_for(wire.world.event, A_WHILE);
        cr_assert_eq(waiter.total, 0);
        proxy_admit(wire.proxies[1], true);
        holder_await(&wire.world, &waiter, LOCK_EVENT_HELD);
        holder_release(&waiter);
        wire_close(&wire);
}

Test(lock_faults, a_handover_while_the_waiter_is_cut_off_is_not_missed) {
        Wire wire;
        Holder first = {0}, second = {0}, waiter = {0};

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        wire_hold(&wire, &first, 0, "a");
        holder_acquire(&wire.world, &second, wire_session(&wire, 0), "a", FOREVER);
        world_await_children(&wire.world, wire_session(&wire, 0), "a", 2);
        holder_acquire(&wire.world, &waiter, wire_session(&wire, 1), "a", FOREVER);
        world_await_children(&wire.world, wire_session(&wire, 0), "a", 3);
        world_settle(&wire.world, wire_session(&wire, 1));
        proxy_admit(wire.proxies[1], false);
        proxy_cut(wire.proxies[1]);
        world_await_event(&wire.world, 1, SESSION_EVENT_SUSPENDED, 1);
        holder_release(&first);
        holder_await(&wire.world, &second, LOCK_EVENT_HELD);
        holder_release(&second);
        world_await_children(&wire.world, wire_session(&wire, 0), "a", 1);
        cr_assert_eq(waiter.total, 0);
        proxy_admit(wire.proxies[1], true);
        holder_await(&wire.world, &waiter, LOCK_EVENT_HELD);
        holder_release(&waiter);
        wire_close(&wire);
}

/* The list arrives, what asks for the watches does not: they were not set, and must be. */
Test(lock_faults, a_watch_whose_request_was_lost_is_set_again) {
        Wire wire;
        Holder first = {0}, waiter = {0};
        size_t before = 0;

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        wire_hold(&wire, &first, 0, "a");
        for (size_t i = 0; i < 5; i++) {
                holder_acquire(&wire.world, &waiter, wire_session(&wire, 1), "a", FOREVER);
                while (before == 0) {
                        (void)sd_event_run(wire.world.event, USEC_PER_SEC);
                        (void)lock_set_waiting_for(waiter.set, &before);
                }
                proxy_cut(wire.proxies[1]);
                world_await_event(&wire.world, 1, SESSION_EVENT_RESUMED, (unsigned)i + 1);
                cr_assert_eq(waiter.total, 0);
                holder_release(&first);
                holder_await(&wire.world, &waiter, LOCK_EVENT_HELD);
                holder_release(&waiter);
                wire_hold(&wire, &first, 0, "a");
                before = 0;
        }
        holder_release(&first);
        wire_close(&wire);
}

/* Two that take turns while the connection of one is muted and cut at any moment. */
typedef struct Turns {
        Wire wire;
        Holder holders[2];
        unsigned grants, cuts;
        GRand *random;
} Turns;

static void take_turns(Turns *turns) {
        for (size_t i = 0; i < 2; i++) {
                Holder *holder = &turns->holders[i];
                Session *session = wire_session(&turns->wire, i);

                if (!holder->set && session_state(session) == SESSION_CONNECTED)
                        holder_acquire(&turns->wire.world, holder, session, "a", FOREVER);
                if (!holder->events[LOCK_EVENT_HELD])
                        continue;
                cr_assert_eq(holder->total, 1);
                turns->grants++;
                if (g_rand_boolean(turns->random)) {
                        holder_release(holder);
                        *holder = (Holder){0};
                }
        }
}

static void run_until_cut(Turns *turns) {
        usec_t cut =
            clock_monotonic() + (usec_t)g_rand_int_range(turns->random, 0, 400) * USEC_PER_MSEC;

        while (clock_monotonic() < cut) {
                (void)sd_event_run(turns->wire.world.event, USEC_PER_MSEC);
                cr_assert_not(turns->holders[0].events[LOCK_EVENT_HELD] &&
                                  turns->holders[1].events[LOCK_EVENT_HELD],
                              "both hold");
                take_turns(turns);
        }
        if (g_rand_boolean(turns->random))
                proxy_mute(turns->wire.proxies[1]);
        for (gint32 n = g_rand_int_range(turns->random, 0, 10); n > 0; n--)
                (void)sd_event_run(turns->wire.world.event, USEC_PER_MSEC);
        proxy_cut(turns->wire.proxies[1]);
        turns->cuts++;
}

Test(lock_faults, cuts_at_random_moments_neither_double_nor_lose_the_lock, .timeout = 120) {
        Turns turns = {.random = g_rand_new_with_seed(random_seed())};
        usec_t until = clock_monotonic() + WORLD_LIMIT;

        wire_open(&turns.wire, zookeeper_shared(), 2, TIMEOUT);
        while (turns.cuts < 25 || turns.grants < 50) {
                run_until_cut(&turns);
                cr_assert_lt(clock_monotonic(), until, "%u grants after %u cuts", turns.grants,
                             turns.cuts);
        }
        for (size_t i = 0; i < 2; i++)
                holder_release(&turns.holders[i]);
        cr_assert_eq(turns.wire.world.clients[1].events[SESSION_EVENT_LOST], 0);
        wire_close(&turns.wire);
        g_rand_free(turns.random);
}

/* A server of one's own, to kill. */
Test(lock_faults, a_server_that_is_back_in_time_costs_no_lock, .timeout = 120) {
        _cleanup_(zookeeper_server_freep) ZooKeeperServer *server =
            zookeeper_server_new(ZOOKEEPER_TICK_MS);
        World world;
        Holder holder = {0}, waiter = {0};
        Session *session;

        world_open(&world);
        session =
            world_connect(&world, 0, zookeeper_server_address(server), 10 * USEC_PER_SEC, NULL);
        holder_acquire(&world, &holder, session, "a", FOREVER);
        holder_await(&world, &holder, LOCK_EVENT_HELD);
        holder_acquire(&world, &waiter, session, "a", FOREVER);
        world_await_children(&world, session, "a", 2);
        world_settle(&world, session);
        zookeeper_server_kill(server);
        zookeeper_server_start(server);
        world_await_event(&world, 0, SESSION_EVENT_RESUMED, 1);
        cr_assert_eq(holder.total, 1, "told %u times, lost %u", holder.total,
                     holder.events[LOCK_EVENT_LOST]);
        cr_assert_gt(lock_set_held_until(holder.set), clock_boottime());
        world_await_children(&world, session, "a", 2);
        holder_release(&holder);
        holder_await(&world, &waiter, LOCK_EVENT_HELD);
        holder_release(&waiter);
        world_close(&world);
}

Test(lock_faults, a_server_that_stays_away_costs_the_lock_at_the_deadline, .timeout = 120) {
        _cleanup_(zookeeper_server_freep) ZooKeeperServer *server =
            zookeeper_server_new(ZOOKEEPER_TICK_MS);
        World world;
        Holder holder = {0}, waiter = {0}, again = {0};
        Session *session;

        world_open(&world);
        session = world_connect(&world, 0, zookeeper_server_address(server), SHORT_TIMEOUT, NULL);
        holder_acquire(&world, &holder, session, "a", FOREVER);
        holder_await(&world, &holder, LOCK_EVENT_HELD);
        holder_acquire(&world, &waiter, session, "a", FOREVER);
        world_settle(&world, session);
        zookeeper_server_freeze(server);
        holder_await_deadline(&world, &holder);
        cr_assert_eq(lock_set_held_until(holder.set), 0);
        holder_await(&world, &waiter, LOCK_EVENT_LOST);
        zookeeper_server_thaw(server);
        world_await_event(&world, 0, SESSION_EVENT_CONNECTED, 2);
        holder_release(&holder);
        holder_release(&waiter);
        holder_acquire(&world, &again, session, "a", FOREVER);
        holder_await(&world, &again, LOCK_EVENT_HELD);
        holder_release(&again);
        world_close(&world);
}

static bool is_granted(void *userdata) {
        return lock_set_held_until(((Holder *)userdata)->set) > 0;
}

/* The grant was known in time, but the loop stood still before the owner could be told. */
Test(lock_faults, a_grant_is_not_told_after_the_deadline) {
        World world;
        Holder holder = {0};
        Session *session;

        world_open_shared(&world, 1, TIMEOUT);
        session = world_connect(&world, 1, zookeeper_shared(), SHORT_TIMEOUT, NULL);
        holder_acquire(&world, &holder, session, "a", FOREVER);
        cr_assert(loop_until(world.event, is_granted, &holder, WORLD_LIMIT));
        cr_assert_eq(holder.total, 0);
        while (clock_boottime() < session_held_until(session))
                g_usleep(10 * USEC_PER_MSEC);
        holder_await(&world, &holder, LOCK_EVENT_LOST);
        holder_release(&holder);
        world_await_children(&world, world_session(&world, 0), "a", 0);
        world_close(&world);
}

Test(lock_faults, a_session_freed_before_its_deletions_are_answered_leaks_nothing) {
        World world;
        Holder holder = {0};

        world_open_shared(&world, 2, TIMEOUT);
        holder_take(&world, &holder, 1, "a");
        holder_release(&holder);
        holder_acquire(&world, &holder, world_session(&world, 1), "b", FOREVER);
        holder_release(&holder);
        world.clients[1].session = session_free(world.clients[1].session);
        world_close(&world);
}

ZOOKEEPER_MAIN;

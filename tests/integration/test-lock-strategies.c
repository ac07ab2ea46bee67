/* The other ways to wait, by watching the directory and by asking every second: slower, but no less
 * a lock. */
#include <criterion/criterion.h>
#include <glib.h>
#include <string.h>

#include "helper-crowd.h"
#include "helper-wire.h"
#include "helper-zookeeper-main.h"

#define TIMEOUT (20 * USEC_PER_SEC)
#define FOREVER USEC_INFINITY
/* More than one period of asking. */
#define A_WHILE (1300 * USEC_PER_MSEC)

static const LockStrategy strategies[] = {LOCK_STRATEGY_PARENT, LOCK_STRATEGY_POLL};
static void ask(World *world, Holder *holder, size_t index, LockRequest request,
                LockStrategy strategy, usec_t wait) {
        request.resource = "a";
        holder_acquire_with(world, holder, world_session(world, index), request,
                            (LockOptions){.wait = wait, .strategy = strategy});
}

static void hold(World *world, Holder *holder, size_t index, LockStrategy strategy) {
        ask(world, holder, index, (LockRequest){0}, strategy, FOREVER);
        holder_await(world, holder, LOCK_EVENT_HELD);
}

/* Queues exclusively, as the n-th in the directory. */
static void queue(World *world, Holder *holder, size_t index, LockStrategy strategy, size_t n) {
        ask(world, holder, index, (LockRequest){0}, strategy, FOREVER);
        world_await_children(world, world_session(world, 0), "a", n);
        world_settle(world, world_session(world, index));
}

Test(lock_strategies, it_hands_over_in_the_order_of_the_queue, .timeout = 120) {
        World world;

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t s = 0; s < G_N_ELEMENTS(strategies); s++) {
                Holder line[4] = {{0}};

                hold(&world, &line[0], 0, strategies[s]);
                for (size_t i = 1; i < 4; i++)
                        queue(&world, &line[i], i % 2, strategies[s], i + 1);
                for (size_t i = 0; i < 3; i++) {
                        holder_assert_waits(&world, &line[i + 1], A_WHILE, "both hold");
                        holder_release(&line[i]);
                        holder_await(&world, &line[i + 1], LOCK_EVENT_HELD);
                }
                holder_release(&line[3]);
                world_await_children(&world, world_session(&world, 0), "a", 0);
        }
        world_close(&world);
}

Test(lock_strategies, never_a_reader_beside_a_writer, .timeout = 180) {
        static const unsigned steps[] = {1500, 150};
        World world;

        world_open_shared(&world, 3, TIMEOUT);
        for (size_t i = 0; i < G_N_ELEMENTS(strategies); i++)
                crowd_run(&world, &(CrowdRules){
                                      .request = {.resource = "a"},
                                      .options = {.wait = FOREVER, .strategy = strategies[i]},
                                      .size = i == 0 ? 12 : 6,
                                      .sessions = 3,
                                      .shared = 6,
                                      .steps = steps[i],
                                  });
        world_close(&world);
}

Test(lock_strategies, never_more_than_there_are_slots, .timeout = 180) {
        static const unsigned steps[] = {1000, 150};
        World world;

        world_open_shared(&world, 3, TIMEOUT);
        for (size_t i = 0; i < G_N_ELEMENTS(strategies); i++)
                crowd_run(&world, &(CrowdRules){
                                      .request = {.resource = "a", .slots = 3},
                                      .options = {.wait = FOREVER, .strategy = strategies[i]},
                                      .size = i == 0 ? 12 : 8,
                                      .sessions = 3,
                                      .steps = steps[i],
                                  });
        world_close(&world);
}

Test(lock_strategies, those_who_wait_in_different_ways_wait_for_each_other, .timeout = 120) {
        World world;
        Holder line[6] = {{0}};

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t i = 0; i < 6; i++)
                queue(&world, &line[i], i % 2, (LockStrategy)(i % 3), i + 1);
        for (size_t i = 0; i < 6; i++) {
                holder_await(&world, &line[i], LOCK_EVENT_HELD);
                if (i + 1 < 6)
                        holder_assert_waits(&world, &line[i + 1], A_WHILE, "both hold");
                holder_release(&line[i]);
        }
        world_close(&world);
}

Test(lock_strategies, tried_timed_out_or_cancelled_nothing_is_left, .timeout = 120) {
        World world;

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t s = 0; s < G_N_ELEMENTS(strategies); s++) {
                Holder holder = {0}, loser = {0};

                hold(&world, &holder, 0, strategies[s]);
                ask(&world, &loser, 1, (LockRequest){0}, strategies[s], 0);
                holder_await(&world, &loser, LOCK_EVENT_TIMEOUT);
                holder_release(&loser);
                ask(&world, &loser, 1, (LockRequest){0}, strategies[s], A_WHILE);
                holder_await(&world, &loser, LOCK_EVENT_TIMEOUT);
                holder_release(&loser);
                queue(&world, &loser, 1, strategies[s], 2);
                holder_release(&loser);
                world_await_children(&world, world_session(&world, 0), "a", 1);
                for (size_t i = 0; i < 12; i++) {
                        ask(&world, &loser, 1, (LockRequest){0}, strategies[s], FOREVER);
                        for (size_t n = 0; n < i; n++)
                                (void)sd_event_run(world.event, USEC_PER_MSEC);
                        holder_release(&loser);
                }
                world_await_children(&world, world_session(&world, 0), "a", 1);
                cr_assert_eq(holder.total, 1);
                holder_release(&holder);
                world_await_children(&world, world_session(&world, 0), "a", 0);
        }
        world_close(&world);
}

Test(lock_strategies, a_contender_that_somebody_deletes_is_lost_while_waiting_and_while_held,
     .timeout = 120) {
        World world;

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t s = 0; s < G_N_ELEMENTS(strategies); s++) {
                Holder holder = {0}, waiter = {0};

                hold(&world, &holder, 0, strategies[s]);
                queue(&world, &waiter, 0, strategies[s], 2);
                cr_assert_eq(
                    world_delete(&world, world_session(&world, 1), lock_set_paths(waiter.set)[0]),
                    ZK_OK);
                holder_await(&world, &waiter, LOCK_EVENT_LOST);
                cr_assert_eq(
                    world_delete(&world, world_session(&world, 1), lock_set_paths(holder.set)[0]),
                    ZK_OK);
                holder_await_total(&world, &holder, 1);
                cr_assert_eq(holder.events[LOCK_EVENT_LOST], 1);
                cr_assert_eq(waiter.total, 1);
                holder_release(&holder);
                holder_release(&waiter);
        }
        world_close(&world);
}

Test(lock_strategies, a_downgrade_does_not_grant_a_waiting_writer, .timeout = 120) {
        World world;

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t s = 0; s < G_N_ELEMENTS(strategies); s++) {
                Holder holder = {0}, writer = {0}, reader = {0};

                holder_acquire_with(&world, &holder, world_session(&world, 0),
                                    (LockRequest){.resource = "a"},
                                    (LockOptions){.wait = FOREVER, .may_downgrade = true});
                holder_await(&world, &holder, LOCK_EVENT_HELD);
                ask(&world, &reader, 1, (LockRequest){.mode = LOCK_SHARED}, strategies[s], FOREVER);
                world_await_children(&world, world_session(&world, 0), "a", 2);
                queue(&world, &writer, 1, strategies[s], 3);
                cr_assert_eq(lock_set_downgrade(holder.set), 0);
                holder_await(&world, &reader, LOCK_EVENT_HELD);
                holder_release(&reader);
                holder_assert_waits(&world, &writer, A_WHILE, "granted by a downgrade");
                holder_release(&holder);
                holder_await(&world, &writer, LOCK_EVENT_HELD);
                holder_release(&writer);
                world_await_children(&world, world_session(&world, 0), "a", 0);
        }
        world_close(&world);
}

/* While nothing changes the one asks nothing, the other once a second. */
Test(lock_strategies, a_waiter_lists_no_more_than_its_strategy_says, .timeout = 120) {
        static const unsigned most[] = {0, 3};
        Wire wire;

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        for (size_t s = 0; s < G_N_ELEMENTS(strategies); s++) {
                Holder holder = {0}, waiter = {0}, late = {0};

                hold(&wire.world, &holder, 0, strategies[s]);
                queue(&wire.world, &waiter, 1, strategies[s], 2);
                loop_for(wire.world.event, A_WHILE);
                proxy_reset_counts(wire.proxies[1]);
                loop_for(wire.world.event, 2 * A_WHILE);
                cr_assert_leq(proxy_count(wire.proxies[1], OPCODE_LIST), most[s]);
                cr_assert_geq(proxy_count(wire.proxies[1], OPCODE_LIST), most[s] > 0);
                queue(&wire.world, &late, 0, strategies[s], 3);
                loop_for(wire.world.event, A_WHILE);
                cr_assert_geq(proxy_count(wire.proxies[1], OPCODE_LIST), 1,
                              "a change was not looked at");
                cr_assert_leq(proxy_count(wire.proxies[1], OPCODE_LIST), most[s] + 2);
                holder_release(&holder);
                holder_await(&wire.world, &waiter, LOCK_EVENT_HELD);
                holder_release(&waiter);
                holder_await(&wire.world, &late, LOCK_EVENT_HELD);
                holder_release(&late);
                world_await_children(&wire.world, wire_session(&wire, 0), "a", 0);
        }
        wire_close(&wire);
}

/* clients[1] talks through a proxy. */
Test(lock_strategies, a_waiter_that_was_cut_off_gets_it_and_nothing_is_left, .timeout = 120) {
        Wire wire;
        unsigned cuts = 0;

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        for (size_t s = 0; s < G_N_ELEMENTS(strategies); s++) {
                Holder holder = {0}, waiter = {0};

                for (size_t i = 0; i < 2; i++) {
                        hold(&wire.world, &holder, 0, strategies[s]);
                        queue(&wire.world, &waiter, 1, strategies[s], 2);
                        proxy_admit(wire.proxies[1], false);
                        proxy_cut(wire.proxies[1]);
                        world_await_event(&wire.world, 1, SESSION_EVENT_SUSPENDED, ++cuts);
                        if (i == 0)
                                holder_release(&holder);
                        loop_for(wire.world.event, A_WHILE / 4);
                        proxy_admit(wire.proxies[1], true);
                        world_await_event(&wire.world, 1, SESSION_EVENT_RESUMED, cuts);
                        if (i > 0) {
                                holder_assert_waits(&wire.world, &waiter, A_WHILE, "both hold");
                                holder_release(&holder);
                        }
                        holder_await(&wire.world, &waiter, LOCK_EVENT_HELD);
                        holder_release(&waiter);
                        world_await_children(&wire.world, wire_session(&wire, 0), "a", 0);
                }
                proxy_order(wire.proxies[1], OPCODE_LIST, PROXY_LOSE_ANSWER, 1);
                hold(&wire.world, &waiter, 1, strategies[s]);
                cr_assert_eq(proxy_ordered(wire.proxies[1]), 0, "nothing was lost");
                cuts++;
                holder_release(&waiter);
                world_await_children(&wire.world, wire_session(&wire, 0), "a", 0);
        }
        wire_close(&wire);
}

ZOOKEEPER_MAIN;

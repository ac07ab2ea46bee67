/* Semaphores: of several slots never more are taken than there are, and none stays empty while
 * somebody waits. */
#include <criterion/criterion.h>
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "helper-crowd.h"
#include "helper-wire.h"
#include "helper-zookeeper-main.h"

#define TIMEOUT (20 * USEC_PER_SEC)
#define FOREVER USEC_INFINITY
#define A_WHILE (300 * USEC_PER_MSEC)

static void queue(World *world, Holder *holder, size_t index, unsigned slots, usec_t wait) {
        holder_acquire_with(world, holder, world_session(world, index),
                            (LockRequest){.resource = "a", .slots = slots},
                            (LockOptions){.wait = wait});
}

static void hold(World *world, Holder *holder, size_t index, unsigned slots) {
        queue(world, holder, index, slots, FOREVER);
        holder_await(world, holder, LOCK_EVENT_HELD);
}

/* Queues, as the n-th in the directory. */
static void line_up(World *world, Holder *holder, size_t index, unsigned slots, size_t n) {
        queue(world, holder, index, slots, FOREVER);
        world_await_children(world, world_session(world, 0), "a", n);
        world_settle(world, world_session(world, index));
}

Test(lock_slots, as_many_hold_as_there_are_and_no_more) {
        World world;
        Holder holders[3] = {{0}}, waiter = {0};
        g_autofree char *directory = NULL, *data = NULL;

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t i = 0; i < 3; i++)
                hold(&world, &holders[i], i % 2, 3);
        line_up(&world, &waiter, 1, 3, 4);
        holder_assert_waits(&world, &waiter, A_WHILE, "a fourth");
        directory = world_path(&world, "a");
        data = world_get(&world, world_session(&world, 0), directory);
        cr_assert_str_eq(data, "{\"slots\": 3}");
        for (size_t i = 0; i < 3; i++)
                holder_release(&holders[i]);
        holder_await(&world, &waiter, LOCK_EVENT_HELD);
        holder_release(&waiter);
        world_close(&world);
}

Test(lock_slots, whichever_holder_leaves_the_waiter_gets_its_slot) {
        World world;

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t leaver = 0; leaver < 3; leaver++) {
                Holder holders[3] = {{0}}, first = {0}, second = {0};

                for (size_t i = 0; i < 3; i++)
                        hold(&world, &holders[i], i % 2, 3);
                line_up(&world, &first, 1, 3, 4);
                line_up(&world, &second, 0, 3, 5);
                holder_release(&holders[leaver]);
                holder_await(&world, &first, LOCK_EVENT_HELD);
                holder_assert_waits(&world, &second, A_WHILE, "one left, two came");
                holder_release(&first);
                holder_await(&world, &second, LOCK_EVENT_HELD);
                holder_release(&second);
                for (size_t i = 0; i < 3; i++)
                        holder_release(&holders[i]);
                world_await_children(&world, world_session(&world, 0), "a", 0);
        }
        world_close(&world);
}

Test(lock_slots, all_leave_at_once_and_as_many_come) {
        World world;
        Holder holders[3] = {{0}}, waiters[5] = {{0}};

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t i = 0; i < 3; i++)
                hold(&world, &holders[i], i % 2, 3);
        for (size_t i = 0; i < 5; i++)
                line_up(&world, &waiters[i], i % 2, 3, 4 + i);
        for (size_t i = 0; i < 3; i++)
                holder_release(&holders[i]);
        for (size_t i = 0; i < 3; i++)
                holder_await(&world, &waiters[i], LOCK_EVENT_HELD);
        holder_assert_waits(&world, &waiters[3], A_WHILE, "a fourth");
        cr_assert_eq(waiters[4].total, 0);
        for (size_t i = 0; i < 3; i++)
                holder_release(&waiters[i]);
        for (size_t i = 3; i < 5; i++) {
                holder_await(&world, &waiters[i], LOCK_EVENT_HELD);
                holder_release(&waiters[i]);
        }
        world_close(&world);
}

Test(lock_slots, a_waiter_that_gives_up_lets_nobody_in) {
        World world;
        Holder holders[2] = {{0}}, middle = {0}, last = {0};

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t i = 0; i < 2; i++)
                hold(&world, &holders[i], i, 2);
        line_up(&world, &middle, 0, 2, 3);
        line_up(&world, &last, 1, 2, 4);
        holder_release(&middle);
        world_await_children(&world, world_session(&world, 0), "a", 3);
        holder_assert_waits(&world, &last, A_WHILE, "a third");
        holder_release(&holders[1]);
        holder_await(&world, &last, LOCK_EVENT_HELD);
        holder_release(&last);
        holder_release(&holders[0]);
        world_close(&world);
}

Test(lock_slots, a_try_and_a_timed_wait_leave_no_node) {
        World world;
        Holder holders[2] = {{0}}, loser = {0};
        static const usec_t waits[] = {0, A_WHILE};

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t i = 0; i < 2; i++)
                hold(&world, &holders[i], i, 2);
        for (size_t i = 0; i < G_N_ELEMENTS(waits); i++) {
                queue(&world, &loser, 1, 2, waits[i]);
                holder_await(&world, &loser, LOCK_EVENT_TIMEOUT);
                world_await_children(&world, world_session(&world, 0), "a", 2);
                holder_release(&loser);
        }
        holder_release(&holders[0]);
        world_await_children(&world, world_session(&world, 0), "a", 1);
        queue(&world, &loser, 1, 2, 0);
        holder_await(&world, &loser, LOCK_EVENT_HELD);
        holder_release(&loser);
        holder_release(&holders[1]);
        world_close(&world);
}

Test(lock_slots, never_more_than_there_are_over_many_random_operations, .timeout = 120) {
        static const unsigned slots[] = {2, 3, 5};
        World world;

        world_open_shared(&world, 4, TIMEOUT);
        for (size_t i = 0; i < G_N_ELEMENTS(slots); i++) {
                crowd_run(&world, &(CrowdRules){
                                      .request = {.resource = "a", .slots = slots[i]},
                                      .options = {.wait = FOREVER},
                                      .size = 14,
                                      .sessions = 4,
                                      .steps = 800,
                                  });
                world_await_children(&world, world_session(&world, 0), "a", 0);
                cr_assert_eq(lock_change_slots(world_session(&world, 0), "/", 1, NULL, NULL),
                             -EINVAL);
                if (i + 1 < G_N_ELEMENTS(slots)) {
                        g_autofree char *directory = world_path(&world, "a");

                        cr_assert_eq(lock_change_slots(world_session(&world, 0), directory,
                                                       slots[i + 1], NULL, NULL),
                                     0);
                        world_settle(&world, world_session(&world, 0));
                }
        }
        world_close(&world);
}

Test(lock_slots, more_slots_wake_who_waits_for_one) {
        World world;
        Holder holders[2] = {{0}}, waiters[3] = {{0}};
        g_autofree char *directory = NULL;

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t i = 0; i < 2; i++)
                hold(&world, &holders[i], i, 2);
        for (size_t i = 0; i < 3; i++)
                line_up(&world, &waiters[i], i % 2, 2, 3 + i);
        directory = world_path(&world, "a");
        cr_assert_eq(lock_change_slots(world_session(&world, 0), directory, 4, NULL, NULL), 0);
        holder_await(&world, &waiters[0], LOCK_EVENT_HELD);
        holder_await(&world, &waiters[1], LOCK_EVENT_HELD);
        holder_assert_waits(&world, &waiters[2], A_WHILE, "a fifth");
        holder_release(&holders[0]);
        holder_await(&world, &waiters[2], LOCK_EVENT_HELD);
        holder_release(&holders[1]);
        for (size_t i = 0; i < 3; i++)
                holder_release(&waiters[i]);
        world_close(&world);
}

Test(lock_slots, fewer_slots_take_nothing_away_but_let_nobody_in) {
        World world;
        Holder holders[4] = {{0}}, waiter = {0};
        g_autofree char *directory = NULL;

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t i = 0; i < 4; i++)
                hold(&world, &holders[i], i % 2, 4);
        line_up(&world, &waiter, 1, 4, 5);
        directory = world_path(&world, "a");
        cr_assert_eq(lock_change_slots(world_session(&world, 0), directory, 2, NULL, NULL), 0);
        for (size_t i = 0; i < 3; i++) {
                holder_assert_waits(&world, &waiter, A_WHILE, "more than two");
                cr_assert_eq(holders[3].total, 1);
                holder_release(&holders[i]);
        }
        holder_await(&world, &waiter, LOCK_EVENT_HELD);
        holder_release(&waiter);
        holder_release(&holders[3]);
        world_close(&world);
}

Test(lock_slots, another_number_is_refused_and_both_are_named) {
        World world;
        Holder holder = {0}, other = {0};
        static const unsigned wrong[] = {2, 4};

        world_open_shared(&world, 2, TIMEOUT);
        hold(&world, &holder, 0, 3);
        for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
                g_autofree char *number = g_strdup_printf("%u", wrong[i]);
                g_autofree char *directory = world_path(&world, "a");

                queue(&world, &other, 1, wrong[i], FOREVER);
                holder_await(&world, &other, LOCK_EVENT_FAILED);
                cr_assert_not_null(strstr(lock_set_fault(other.set), "3"), "%s",
                                   lock_set_fault(other.set));
                cr_assert_not_null(strstr(lock_set_fault(other.set), number));
                cr_assert_not_null(strstr(lock_set_fault(other.set), directory));
                world_await_children(&world, world_session(&world, 0), "a", 1);
                holder_release(&other);
        }
        cr_assert_eq(holder.total, 1);
        holder_release(&holder);
        world_close(&world);
}

Test(lock_slots, who_is_alone_may_change_their_number) {
        static const unsigned numbers[] = {3, 2, 4};
        World world;
        Holder holder = {0}, other = {0};

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
                hold(&world, &holder, 0, numbers[i]);
                hold(&world, &other, 1, numbers[i]);
                holder_release(&holder);
                holder_release(&other);
                world_await_children(&world, world_session(&world, 0), "a", 0);
        }
        world_close(&world);
}

/* Whoever makes the directory anew, the others agree with it or go. */
Test(lock_slots, those_who_come_at_once_and_do_not_agree_never_hold_together) {
        static const unsigned numbers[] = {2, 3, 2, 2, 3, 3};
        World world;

        world_open_shared(&world, 4, TIMEOUT);
        for (size_t round = 0; round < 10; round++) {
                Holder before = {0}, holders[G_N_ELEMENTS(numbers)] = {{0}};
                unsigned agreed = 0, held = 0;

                hold(&world, &before, 0, 4);
                holder_release(&before);
                world_await_children(&world, world_session(&world, 0), "a", 0);
                for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++)
                        queue(&world, &holders[i], (round + i) % 4, numbers[i], FOREVER);
                loop_for(world.event, A_WHILE);
                for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
                        if (!holders[i].events[LOCK_EVENT_HELD])
                                continue;
                        cr_assert(agreed == 0 || agreed == numbers[i]);
                        agreed = numbers[i];
                        cr_assert_leq(++held, agreed);
                }
                for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++)
                        holder_release(&holders[i]);
                world_await_children(&world, world_session(&world, 0), "a", 0);
        }
        world_close(&world);
}

Test(lock_slots, locks_and_slots_do_not_mix_and_each_is_named) {
        static const char *const locks[] = {"a", "~a"};
        World world;
        Holder slot = {0}, lock = {0};

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t i = 0; i < G_N_ELEMENTS(locks); i++) {
                hold(&world, &slot, 0, 2);
                holder_acquire(&world, &lock, world_session(&world, 1), locks[i], FOREVER);
                holder_await(&world, &lock, LOCK_EVENT_FAILED);
                cr_assert_not_null(strstr(lock_set_fault(lock.set), lock_set_paths(slot.set)[0]),
                                   "%s", lock_set_fault(lock.set));
                holder_release(&lock);
                holder_release(&slot);
                world_await_children(&world, world_session(&world, 0), "a", 0);

                holder_take(&world, &lock, 1, locks[i]);
                queue(&world, &slot, 0, 2, FOREVER);
                holder_await(&world, &slot, LOCK_EVENT_FAILED);
                cr_assert_not_null(strstr(lock_set_fault(slot.set), lock_set_paths(lock.set)[0]),
                                   "%s", lock_set_fault(slot.set));
                holder_release(&slot);
                holder_release(&lock);
                world_await_children(&world, world_session(&world, 0), "a", 0);
        }
        world_close(&world);
}

/* It may have been used as a lock before, and its directory remembers something else. */
Test(lock_slots, an_empty_directory_may_change_from_lock_to_slots_and_back) {
        World world;
        Holder slot = {0}, first = {0}, second = {0};

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t i = 0; i < 3; i++) {
                holder_take(&world, &first, 0, "a");
                holder_acquire(&world, &second, world_session(&world, 1), "a", FOREVER);
                world_await_children(&world, world_session(&world, 0), "a", 2);
                holder_release(&first);
                holder_await(&world, &second, LOCK_EVENT_HELD);
                holder_release(&second);
                world_await_children(&world, world_session(&world, 0), "a", 0);
                hold(&world, &slot, 0, 2);
                hold(&world, &second, 1, 2);
                holder_release(&slot);
                holder_release(&second);
                world_await_children(&world, world_session(&world, 0), "a", 0);
        }
        world_close(&world);
}

/* All declare the number at the same moment, in a directory that does not exist. */
Test(lock_slots, those_who_come_first_at_once_agree) {
        World world;

        world_open_shared(&world, 4, TIMEOUT);
        for (size_t round = 0; round < 5; round++) {
                Holder holders[4] = {{0}};
                g_autofree char *directory = world_path(&world, "a");

                for (size_t i = 0; i < 4; i++)
                        queue(&world, &holders[i], i, 4, FOREVER);
                for (size_t i = 0; i < 4; i++)
                        holder_await(&world, &holders[i], LOCK_EVENT_HELD);
                for (size_t i = 0; i < 4; i++)
                        holder_release(&holders[i]);
                world_await_children(&world, world_session(&world, 0), "a", 0);
                cr_assert_eq(world_delete(&world, world_session(&world, 0), directory), ZK_OK);
        }
        world_close(&world);
}

Test(lock_slots, a_slot_that_somebody_deletes_is_lost_and_the_next_gets_it) {
        World world;
        Holder holders[2] = {{0}}, waiter = {0};

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t i = 0; i < 2; i++)
                hold(&world, &holders[i], 0, 2);
        line_up(&world, &waiter, 1, 2, 3);
        world_settle(&world, world_session(&world, 0));
        cr_assert_eq(
            world_delete(&world, world_session(&world, 1), lock_set_paths(holders[1].set)[0]),
            ZK_OK);
        holder_await_total(&world, &holders[1], 1);
        cr_assert_eq(holders[1].events[LOCK_EVENT_LOST], 1);
        holder_await(&world, &waiter, LOCK_EVENT_HELD);
        cr_assert_eq(holders[0].total, 1);
        for (size_t i = 0; i < 2; i++)
                holder_release(&holders[i]);
        holder_release(&waiter);
        world_close(&world);
}

/* clients[1] talks through a proxy. */
Test(lock_slots, what_happens_while_a_waiter_is_cut_off_is_not_missed) {
        Wire wire;
        g_autofree char *directory = NULL;

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        directory = world_path(&wire.world, "a");
        for (unsigned round = 0; round < 3; round++) {
                Holder holders[2] = {{0}}, waiter = {0};

                for (size_t i = 0; i < 2; i++)
                        hold(&wire.world, &holders[i], 0, 2);
                line_up(&wire.world, &waiter, 1, 2, 3);
                proxy_admit(wire.proxies[1], false);
                proxy_cut(wire.proxies[1]);
                world_await_event(&wire.world, 1, SESSION_EVENT_SUSPENDED, round + 1);
                if (round < 2)
                        holder_release(&holders[round]);
                else
                        cr_assert_eq(
                            lock_change_slots(wire_session(&wire, 0), directory, 3, NULL, NULL), 0);
                world_settle(&wire.world, wire_session(&wire, 0));
                cr_assert_eq(waiter.total, 0);
                proxy_admit(wire.proxies[1], true);
                holder_await(&wire.world, &waiter, LOCK_EVENT_HELD);
                holder_release(&waiter);
                for (size_t i = 0; i < 2; i++)
                        holder_release(&holders[i]);
                world_await_children(&wire.world, wire_session(&wire, 0), "a", 0);
        }
        wire_close(&wire);
}

Test(lock_slots, one_whose_creation_was_not_answered_takes_one_slot_only) {
        Wire wire;
        Holder holder = {0}, other = {0};

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        hold(&wire.world, &other, 0, 2);
        proxy_order(wire.proxies[1], OPCODE_CREATE, PROXY_LOSE_ANSWER, 1);
        hold(&wire.world, &holder, 1, 2);
        cr_assert_eq(proxy_ordered(wire.proxies[1]), 0, "nothing was lost");
        world_await_children(&wire.world, wire_session(&wire, 0), "a", 2);
        holder_release(&holder);
        holder_release(&other);
        world_await_children(&wire.world, wire_session(&wire, 0), "a", 0);
        wire_close(&wire);
}

/* With nothing in between. */
Test(lock_slots, a_lowered_number_counts_for_the_release_that_follows_it) {
        World world;
        Holder holders[3] = {{0}}, waiter = {0};
        g_autofree char *directory = NULL;

        world_open_shared(&world, 2, TIMEOUT);
        directory = world_path(&world, "a");
        for (size_t i = 0; i < 3; i++)
                hold(&world, &holders[i], 0, 3);
        line_up(&world, &waiter, 1, 3, 4);
        cr_assert_eq(lock_change_slots(world_session(&world, 0), directory, 2, NULL, NULL), 0);
        holder_release(&holders[0]);
        holder_assert_waits(&world, &waiter, A_WHILE, "three hold two slots");
        holder_release(&holders[1]);
        holder_await(&world, &waiter, LOCK_EVENT_HELD);
        holder_release(&holders[2]);
        holder_release(&waiter);
        world_close(&world);
}

ZOOKEEPER_MAIN;

/* The older recipe: one node of a fixed name. Whoever creates it has the lock. */
#include <criterion/criterion.h>
#include <glib.h>
#include <string.h>

#include "helper-crowd.h"
#include "helper-wire.h"
#include "helper-zookeeper-main.h"

#define TIMEOUT (8 * USEC_PER_SEC)
#define FOREVER USEC_INFINITY
#define A_WHILE (300 * USEC_PER_MSEC)

static void ask(World *world, Holder *holder, size_t index, usec_t wait) {
        holder_acquire_with(world, holder, world_session(world, index),
                            (LockRequest){.resource = "a", .naming = LOCK_NAMING_SINGLE_NODE},
                            (LockOptions){.wait = wait});
}

static void hold(World *world, Holder *holder, size_t index) {
        ask(world, holder, index, FOREVER);
        holder_await(world, holder, LOCK_EVENT_HELD);
}

static char *node(const World *world) {
        return world_path(world, "a/lock");
}

Test(lock_single, whoever_creates_it_has_it_and_the_losers_get_it_when_it_goes) {
        World world;
        Holder holder = {0}, losers[2] = {{0}};
        g_autofree char *path = NULL;
        ZkStat stat;
        size_t winner;

        world_open_shared(&world, 2, TIMEOUT);
        path = node(&world);
        hold(&world, &holder, 0);
        cr_assert_eq(world_exists(&world, world_session(&world, 1), path, &stat), ZK_OK);
        cr_assert_eq(stat.ephemeral_owner, session_id(world_session(&world, 0)));
        cr_assert_eq(stat.czxid, lock_set_fencing_token(holder.set));
        cr_assert_str_eq(lock_set_paths(holder.set)[0], path);
        for (size_t i = 0; i < 2; i++)
                ask(&world, &losers[i], i, FOREVER);
        holder_assert_waits(&world, &losers[0], A_WHILE, "both hold");
        cr_assert_eq(losers[1].total, 0);
        holder_release(&holder);
        while (losers[0].total + losers[1].total == 0)
                (void)sd_event_run(world.event, USEC_PER_SEC);
        winner = losers[0].total ? 0 : 1;
        holder_assert_waits(&world, &losers[1 - winner], A_WHILE, "both hold");
        holder_release(&losers[winner]);
        holder_await(&world, &losers[1 - winner], LOCK_EVENT_HELD);
        holder_release(&losers[1 - winner]);
        world_close(&world);
}

/* Neither sees the other by its own rules, so each looks for the other. */
Test(lock_single, who_queues_there_is_refused_and_refuses) {
        World world;
        Holder queued = {0}, single = {0};
        const LockRequest as_queue = {.resource = "a"};

        world_open_shared(&world, 2, TIMEOUT);
        holder_acquire_with(&world, &queued, world_session(&world, 0), as_queue, (LockOptions){0});
        holder_await(&world, &queued, LOCK_EVENT_HELD);
        ask(&world, &single, 1, FOREVER);
        holder_await(&world, &single, LOCK_EVENT_FAILED);
        cr_assert_not_null(
            strstr(lock_set_fault(single.set), strrchr(lock_set_paths(queued.set)[0], '/') + 1),
            "%s", lock_set_fault(single.set));
        holder_release(&single);
        world_await_children(&world, world_session(&world, 0), "a", 1);
        cr_assert_eq(queued.total, 1);
        holder_release(&queued);
        world_await_children(&world, world_session(&world, 0), "a", 0);

        hold(&world, &single, 1);
        holder_acquire_with(&world, &queued, world_session(&world, 0), as_queue,
                            (LockOptions){.wait = FOREVER});
        holder_await(&world, &queued, LOCK_EVENT_FAILED);
        holder_release(&queued);
        holder_release(&single);
        world_close(&world);
}

Test(lock_single, fencing_tokens_grow) {
        World world;
        Holder holder = {0};
        int64_t last = 0;

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t i = 0; i < 5; i++) {
                hold(&world, &holder, i % 2);
                cr_assert_gt(lock_set_fencing_token(holder.set), last);
                last = lock_set_fencing_token(holder.set);
                holder_release(&holder);
        }
        world_close(&world);
}

Test(lock_single, a_foreign_holders_node_is_respected_and_left_alone) {
        World world;
        Holder holder = {0}, tried = {0};
        g_autofree char *path = NULL;

        world_open_shared(&world, 2, TIMEOUT);
        path = node(&world);
        hold(&world, &holder, 0);
        holder_release(&holder);
        world_await_children(&world, world_session(&world, 0), "a", 0);
        cr_assert_eq(world_create(&world, world_session(&world, 1), path, ZK_CREATE_EPHEMERAL),
                     ZK_OK);
        ask(&world, &tried, 0, 0);
        holder_await(&world, &tried, LOCK_EVENT_TIMEOUT);
        holder_release(&tried);
        ask(&world, &tried, 0, A_WHILE);
        holder_await(&world, &tried, LOCK_EVENT_TIMEOUT);
        holder_release(&tried);
        ask(&world, &holder, 0, FOREVER);
        holder_assert_waits(&world, &holder, A_WHILE, "both hold");
        cr_assert_eq(world_set(&world, world_session(&world, 1), path, "x"), ZK_OK);
        holder_assert_waits(&world, &holder, A_WHILE, "granted by a write");
        cr_assert_eq(world_exists(&world, world_session(&world, 0), path, NULL), ZK_OK);
        cr_assert_eq(world_delete(&world, world_session(&world, 1), path), ZK_OK);
        holder_await(&world, &holder, LOCK_EVENT_HELD);
        holder_release(&holder);
        world_close(&world);
}

/* A foreign holder in our own session's name is no lock of ours either. */
Test(lock_single, a_node_that_another_set_of_the_session_made_is_not_taken_for_ours) {
        World world;
        Holder holder = {0}, other = {0};

        world_open_shared(&world, 2, TIMEOUT);
        hold(&world, &holder, 0);
        ask(&world, &other, 0, FOREVER);
        holder_assert_waits(&world, &other, A_WHILE, "both hold");
        holder_release(&other);
        world_settle(&world, world_session(&world, 0));
        world_await_children(&world, world_session(&world, 1), "a", 1);
        cr_assert_eq(holder.total, 1);
        holder_release(&holder);
        world_close(&world);
}

/* A waiter that gives up, at whatever moment, takes nobody's node away. */
Test(lock_single, a_cancelled_waiter_leaves_nothing_and_takes_nothing) {
        World world;
        Holder holder = {0}, waiter = {0};

        world_open_shared(&world, 2, TIMEOUT);
        hold(&world, &holder, 0);
        for (size_t i = 0; i < 20; i++) {
                ask(&world, &waiter, 1, FOREVER);
                for (size_t n = 0; n < i; n++)
                        (void)sd_event_run(world.event, USEC_PER_MSEC);
                holder_release(&waiter);
        }
        world_settle(&world, world_session(&world, 1));
        world_settle(&world, world_session(&world, 1));
        world_await_children(&world, world_session(&world, 1), "a", 1);
        cr_assert_eq(holder.total, 1);
        holder_release(&holder);
        for (size_t i = 0; i < 20; i++) {
                ask(&world, &waiter, 1, FOREVER);
                for (size_t n = 0; n < i; n++)
                        (void)sd_event_run(world.event, USEC_PER_MSEC);
                holder_release(&waiter);
        }
        world_close(&world);
}

Test(lock_single, a_node_that_somebody_deletes_is_lost) {
        World world;
        Holder holder = {0};
        g_autofree char *path = NULL;

        world_open_shared(&world, 2, TIMEOUT);
        path = node(&world);
        hold(&world, &holder, 0);
        loop_for(world.event, A_WHILE);
        cr_assert_eq(world_delete(&world, world_session(&world, 1), path), ZK_OK);
        holder_await_total(&world, &holder, 1);
        cr_assert_eq(holder.events[LOCK_EVENT_LOST], 1);
        holder_release(&holder);
        world_close(&world);
}

/* It is not ours any more, though it has the same name: also before we were told. */
Test(lock_single, a_node_that_was_made_again_by_another_is_not_deleted_by_our_release) {
        World world;
        Holder holder = {0};
        g_autofree char *path = NULL;

        world_open_shared(&world, 2, TIMEOUT);
        path = node(&world);
        for (size_t i = 0; i < 5; i++) {
                hold(&world, &holder, 0);
                cr_assert_eq(
                    zk_delete(session_zk(world_session(&world, 1)), path, -1, NULL, NULL, NULL), 0);
                cr_assert_eq(
                    world_create(&world, world_session(&world, 1), path, ZK_CREATE_EPHEMERAL),
                    ZK_OK);
                holder_release(&holder);
                world_settle(&world, world_session(&world, 0));
                world_settle(&world, world_session(&world, 0));
                world_settle(&world, world_session(&world, 0));
                cr_assert_eq(world_exists(&world, world_session(&world, 1), path, NULL), ZK_OK,
                             "another's lock was taken away");
                cr_assert_eq(world_delete(&world, world_session(&world, 1), path), ZK_OK);
        }
        world_close(&world);
}

Test(lock_single, it_hands_over_when_the_session_of_its_holder_ends) {
        World world;
        Holder holder = {0}, waiter = {0};

        world_open_shared(&world, 2, TIMEOUT);
        hold(&world, &holder, 1);
        ask(&world, &waiter, 0, FOREVER);
        holder_assert_waits(&world, &waiter, A_WHILE, "both hold");
        session_close(world_session(&world, 1));
        world_await_event(&world, 1, SESSION_EVENT_CLOSED, 1);
        holder_await_total(&world, &holder, 1);
        cr_assert_eq(holder.events[LOCK_EVENT_LOST], 1);
        holder_await(&world, &waiter, LOCK_EVENT_HELD);
        holder_release(&waiter);
        holder_release(&holder);
        world_close(&world);
}

Test(lock_single, never_two_over_many_random_operations, .timeout = 120) {
        World world;

        world_open_shared(&world, 3, TIMEOUT);
        crowd_run(&world, &(CrowdRules){
                              .request = {.resource = "a", .naming = LOCK_NAMING_SINGLE_NODE},
                              .options = {.wait = FOREVER},
                              .size = 8,
                              .sessions = 3,
                              .steps = 1000,
                          });
        world_close(&world);
}

Test(lock_single, a_creation_whose_answer_was_lost_is_found_again) {
        Wire wire;
        Holder holder = {0};
        g_autofree char *path = NULL;
        ZkStat stat;

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        path = node(&wire.world);
        for (size_t i = 0; i < 3; i++) {
                proxy_order(wire.proxies[1], OPCODE_CREATE, PROXY_LOSE_ANSWER, 1);
                hold(&wire.world, &holder, 1);
                cr_assert_eq(proxy_ordered(wire.proxies[1]), 0, "nothing was lost");
                cr_assert_eq(world_exists(&wire.world, wire_session(&wire, 0), path, &stat), ZK_OK);
                cr_assert_eq(lock_set_fencing_token(holder.set), stat.czxid);
                holder_release(&holder);
                world_await_children(&wire.world, wire_session(&wire, 0), "a", 0);
        }
        wire_close(&wire);
}

/* Both sets are of one session: its owner alone does not tell whose the node is. */
Test(lock_single, a_creation_whose_answer_was_lost_does_not_find_another_sets_node) {
        Wire wire;
        Holder holder = {0}, other = {0};

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        hold(&wire.world, &holder, 1);
        proxy_order(wire.proxies[1], OPCODE_CREATE, PROXY_LOSE_ANSWER, 1);
        ask(&wire.world, &other, 1, FOREVER);
        world_await_event(&wire.world, 1, SESSION_EVENT_RESUMED, 1);
        cr_assert_eq(proxy_ordered(wire.proxies[1]), 0, "nothing was lost");
        holder_assert_waits(&wire.world, &other, A_WHILE, "it took another's node for its own");
        cr_assert_eq(holder.total, 1);
        holder_release(&holder);
        holder_await(&wire.world, &other, LOCK_EVENT_HELD);
        holder_release(&other);
        wire_close(&wire);
}

Test(lock_single, a_set_freed_before_its_creation_was_answered_leaves_no_node) {
        Wire wire;
        Holder holder = {0};

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        for (size_t i = 0; i < 3; i++) {
                proxy_mute(wire.proxies[1]);
                ask(&wire.world, &holder, 1, FOREVER);
                world_await_children(&wire.world, wire_session(&wire, 0), "a", 1);
                holder_release(&holder);
                proxy_cut(wire.proxies[1]);
                world_await_children(&wire.world, wire_session(&wire, 0), "a", 0);
                world_await_event(&wire.world, 1, SESSION_EVENT_RESUMED, (unsigned)i + 1);
        }
        wire_close(&wire);
}

Test(lock_single, a_try_that_is_cut_off_is_over_and_leaves_no_node) {
        Wire wire;
        Holder holder = {0};

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        proxy_order(wire.proxies[1], OPCODE_CREATE, PROXY_LOSE_ANSWER, 1);
        ask(&wire.world, &holder, 1, 0);
        holder_await(&wire.world, &holder, LOCK_EVENT_TIMEOUT);
        world_await_children(&wire.world, wire_session(&wire, 0), "a", 0);
        holder_release(&holder);
        wire_close(&wire);
}

Test(lock_single, a_release_whose_request_or_answer_was_lost_is_done_after_reconnection) {
        static const ProxyFate fates[] = {PROXY_CUT_BEFORE, PROXY_LOSE_ANSWER};
        Wire wire;
        Holder holder = {0}, waiter = {0};

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        for (size_t i = 0; i < G_N_ELEMENTS(fates); i++) {
                hold(&wire.world, &holder, 1);
                ask(&wire.world, &waiter, 0, FOREVER);
                holder_assert_waits(&wire.world, &waiter, A_WHILE, "both hold");
                proxy_order(wire.proxies[1], OPCODE_DELETE, fates[i], 1);
                holder_release(&holder);
                holder_await(&wire.world, &waiter, LOCK_EVENT_HELD);
                world_await_event(&wire.world, 1, SESSION_EVENT_RESUMED, (unsigned)i + 1);
                cr_assert_eq(proxy_ordered(wire.proxies[1]), 0, "nothing was lost");
                loop_for(wire.world.event, A_WHILE);
                cr_assert_eq(waiter.total, 1, "the second attempt deleted another's node");
                holder_release(&waiter);
                world_await_children(&wire.world, wire_session(&wire, 0), "a", 0);
        }
        wire_close(&wire);
}

Test(lock_single, a_handover_while_the_waiter_is_cut_off_is_not_missed) {
        Wire wire;
        Holder holder = {0}, waiter = {0};

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        hold(&wire.world, &holder, 0);
        ask(&wire.world, &waiter, 1, FOREVER);
        holder_assert_waits(&wire.world, &waiter, A_WHILE, "both hold");
        proxy_admit(wire.proxies[1], false);
        proxy_cut(wire.proxies[1]);
        world_await_event(&wire.world, 1, SESSION_EVENT_SUSPENDED, 1);
        holder_release(&holder);
        world_await_children(&wire.world, wire_session(&wire, 0), "a", 0);
        proxy_admit(wire.proxies[1], true);
        holder_await(&wire.world, &waiter, LOCK_EVENT_HELD);
        holder_release(&waiter);
        wire_close(&wire);
}

static const LockOptions revocable = {.wait = FOREVER, .revocable = true};

/* Being asked writes over what tells whose it is. */
Test(lock_single, who_was_asked_to_let_go_and_does_leaves_nothing) {
        Holder holder = {0}, waiter = {0};
        World world;

        world_open_shared(&world, 2, TIMEOUT);
        holder_acquire_with(&world, &holder, world_session(&world, 0),
                            (LockRequest){.resource = "a", .naming = LOCK_NAMING_SINGLE_NODE},
                            revocable);
        holder_await(&world, &holder, LOCK_EVENT_HELD);
        ask(&world, &waiter, 1, FOREVER);
        cr_assert_eq(
            lock_revoke(world_session(&world, 1), lock_set_paths(holder.set)[0], NULL, NULL), 0);
        holder_await_total(&world, &holder, 1);
        cr_assert_eq(holder.events[LOCK_EVENT_REVOKED], 1);
        holder_release(&holder);
        holder_await(&world, &waiter, LOCK_EVENT_HELD);
        holder_release(&waiter);
        world_await_children(&world, world_session(&world, 0), "a", 0);
        world_close(&world);
}

Test(lock_single, the_next_process_adopts_what_was_asked_to_let_go) {
        StateFile file = world_state_file_new();
        g_autofree char *path = NULL;
        Holder holder = {0};
        World world;

        world_open_shared(&world, 1, TIMEOUT);
        path = node(&world);
        world_connect(&world, 1, zookeeper_shared(), TIMEOUT, file.path);
        hold(&world, &holder, 1);
        cr_assert_eq(lock_revoke(world_session(&world, 0), path, NULL, NULL), 0);
        world_settle(&world, world_session(&world, 0));
        holder.set = lock_set_forget(holder.set);
        world_reattach(&world, 1, zookeeper_shared(), TIMEOUT, file.path);
        holder_adopt_with(&world, &holder, 1, path, &revocable);
        holder_await_total(&world, &holder, 0);
        cr_assert_eq(holder.events[LOCK_EVENT_LOST], 0);
        while (holder.total < 2)
                holder_await_total(&world, &holder, holder.total);
        cr_assert_eq(holder.events[LOCK_EVENT_HELD], 1);
        cr_assert_eq(holder.events[LOCK_EVENT_REVOKED], 1);
        holder_release(&holder);
        world_await_children(&world, world_session(&world, 0), "a", 0);
        world_disconnect(&world, 1);
        world_state_file_clear(&file);
        world_close(&world);
}

ZOOKEEPER_MAIN;

/* What a lock promises beyond being had and given back: entered again, given up in the middle of a
 * queue, stepped down from, asked for by somebody else. */
#include <criterion/criterion.h>
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "helper-wire.h"
#include "helper-zookeeper-main.h"

#define TIMEOUT (20 * USEC_PER_SEC)
#define FOREVER USEC_INFINITY
#define A_WHILE (300 * USEC_PER_MSEC)
/* As Curator makes them: version 4. */
#define CURATORS "_c_01234567-89ab-4def-8123-456789abcdef-"

/* Reentrance */

Test(lock_recipes, reentrant_needs_equal_releases) {
        World world;
        Holder holder = {0}, other = {0};

        world_open_shared(&world, 2, TIMEOUT);
        holder_take(&world, &holder, 0, "a");
        cr_assert_eq(lock_set_enter(holder.set, LOCK_EXCLUSIVE), 2);
        cr_assert_eq(lock_set_enter(holder.set, LOCK_SHARED), 3);
        holder_queue(&world, &other, 1, "a", 2);
        for (size_t i = 0; i < 2; i++) {
                cr_assert_null(lock_set_free(holder.set));
                holder_assert_waits(&world, &other, A_WHILE, "given away too early");
                cr_assert_gt(lock_set_held_until(holder.set), clock_boottime());
        }
        holder_release(&holder);
        holder_await(&world, &other, LOCK_EVENT_HELD);
        holder_release(&other);
        world_close(&world);
}

Test(lock_recipes, an_upgrade_is_refused_where_it_would_wait_for_itself) {
        World world;
        Holder shared = {0}, mixed = {0};

        world_open_shared(&world, 2, TIMEOUT);
        holder_take(&world, &shared, 0, "~a");
        cr_assert_eq(lock_set_enter(shared.set, LOCK_EXCLUSIVE), -EDEADLK);
        cr_assert_eq(lock_set_enter(shared.set, LOCK_SHARED), 2);
        holder_take(&world, &mixed, 1, "b ~c");
        cr_assert_eq(lock_set_enter(mixed.set, LOCK_EXCLUSIVE), -EDEADLK);
        cr_assert_null(lock_set_free(shared.set));
        holder_release(&shared);
        holder_release(&mixed);
        world_close(&world);
}

Test(lock_recipes, only_what_is_held_can_be_entered_again) {
        World world;
        Holder holder = {0}, waiter = {0};

        world_open_shared(&world, 2, TIMEOUT);
        holder_take(&world, &holder, 0, "a");
        holder_queue(&world, &waiter, 1, "a", 2);
        cr_assert_eq(lock_set_enter(waiter.set, LOCK_EXCLUSIVE), -ENOLCK);
        cr_assert_eq(world_delete(&world, world_session(&world, 1), lock_set_paths(holder.set)[0]),
                     ZK_OK);
        holder_await_total(&world, &holder, 1);
        cr_assert_eq(lock_set_enter(holder.set, LOCK_EXCLUSIVE), -ENOLCK);
        holder_release(&holder);
        holder_release(&waiter);
        world_close(&world);
}

Test(lock_recipes, the_loss_of_a_lock_that_was_entered_again_is_told_once) {
        World world;
        Holder holder = {0};

        world_open_shared(&world, 2, TIMEOUT);
        holder_take(&world, &holder, 0, "a");
        cr_assert_eq(lock_set_enter(holder.set, LOCK_EXCLUSIVE), 2);
        world_settle(&world, world_session(&world, 0));
        cr_assert_eq(world_delete(&world, world_session(&world, 1), lock_set_paths(holder.set)[0]),
                     ZK_OK);
        holder_await_total(&world, &holder, 1);
        cr_assert_eq(holder.events[LOCK_EVENT_LOST], 1);
        cr_assert_null(lock_set_free(holder.set));
        loop_for(world.event, A_WHILE);
        cr_assert_eq(holder.total, 2);
        holder_release(&holder);
        world_close(&world);
}

/* The queue */

Test(lock_recipes, a_cancelled_waiter_leaves_the_queue_and_nobody_moves_up_too_far) {
        World world;
        Holder holder = {0}, second = {0}, third = {0};

        world_open_shared(&world, 2, TIMEOUT);
        holder_take(&world, &holder, 0, "a");
        holder_queue(&world, &second, 1, "a", 2);
        holder_queue(&world, &third, 0, "a", 3);
        holder_release(&second);
        world_await_children(&world, world_session(&world, 0), "a", 2);
        holder_assert_waits(&world, &third, A_WHILE, "granted by a waiter that gave up");
        holder_release(&holder);
        holder_await(&world, &third, LOCK_EVENT_HELD);
        holder_release(&third);
        world_close(&world);
}

Test(lock_recipes, a_second_owner_times_out_and_leaves_no_node) {
        World world;
        Holder holder = {0}, second = {0};
        g_auto(GStrv) children = NULL;

        world_open_shared(&world, 2, TIMEOUT);
        holder_take(&world, &holder, 0, "a");
        holder_acquire(&world, &second, world_session(&world, 0), "a", A_WHILE);
        holder_await(&world, &second, LOCK_EVENT_TIMEOUT);
        world_await_children(&world, world_session(&world, 1), "a", 1);
        children = world_list(&world, world_session(&world, 1), "a");
        cr_assert(g_str_has_suffix(lock_set_paths(holder.set)[0], children[0]));
        holder_release(&second);
        holder_release(&holder);
        world_close(&world);
}

Test(lock_recipes, a_reader_ahead_of_a_queued_writer_is_not_held_up_by_it) {
        World world;
        Holder writer = {0}, reader = {0}, next = {0}, late = {0};

        world_open_shared(&world, 2, TIMEOUT);
        holder_take(&world, &writer, 0, "a");
        holder_queue(&world, &reader, 1, "~a", 2);
        holder_queue(&world, &next, 0, "a", 3);
        holder_queue(&world, &late, 1, "~a", 4);
        holder_release(&writer);
        holder_await(&world, &reader, LOCK_EVENT_HELD);
        holder_assert_waits(&world, &next, A_WHILE, "a writer beside a reader");
        cr_assert_eq(late.total, 0, "it overtook a writer");
        holder_release(&next);
        holder_await(&world, &late, LOCK_EVENT_HELD);
        holder_release(&reader);
        holder_release(&late);
        world_close(&world);
}

#define FAR_BACK 8

/* Only the one whose turn it is may be told, in whatever order those in the middle give up. */
Test(lock_recipes, far_back_one_stays_waiting_whoever_gives_up_in_the_middle) {
        World world;
        Holder line[FAR_BACK] = {{0}};
        static const size_t leave[] = {3, 5, 1, 6, 2, 4};

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t i = 0; i < FAR_BACK; i++)
                holder_queue(&world, &line[i], i % 2, "a", i + 1);
        holder_await(&world, &line[0], LOCK_EVENT_HELD);
        for (size_t i = 0; i < G_N_ELEMENTS(leave); i++) {
                holder_release(&line[leave[i]]);
                holder_assert_waits(&world, &line[FAR_BACK - 1], A_WHILE,
                                    "granted while another holds");
        }
        holder_release(&line[0]);
        holder_await(&world, &line[FAR_BACK - 1], LOCK_EVENT_HELD);
        holder_release(&line[FAR_BACK - 1]);
        world_close(&world);
}

/* Stepping down */

static void hold_downgradable(World *world, Holder *holder, size_t index, const char *resource) {
        holder_acquire_with(world, holder, world_session(world, index),
                            (LockRequest){.resource = resource},
                            (LockOptions){.wait = FOREVER, .may_downgrade = true});
        holder_await(world, holder, LOCK_EVENT_HELD);
}

static void step_down(World *world, Holder *holder) {
        unsigned total = holder->total;

        cr_assert_eq(lock_set_downgrade(holder->set), 0);
        cr_assert_eq(holder->total, total, "told from inside a function");
        holder_await_total(world, holder, total);
        cr_assert_eq(holder->events[LOCK_EVENT_DOWNGRADED], 1);
        cr_assert_eq(holder->total, total + 1);
}

Test(lock_recipes, a_downgrade_keeps_a_waiting_writer_out_and_lets_waiting_readers_in) {
        World world;
        Holder holder = {0}, reader = {0}, writer = {0}, late = {0};

        world_open_shared(&world, 2, TIMEOUT);
        hold_downgradable(&world, &holder, 0, "a");
        holder_queue(&world, &reader, 1, "~a", 2);
        holder_queue(&world, &writer, 1, "a", 3);
        holder_queue(&world, &late, 0, "~a", 4);
        step_down(&world, &holder);
        holder_await(&world, &reader, LOCK_EVENT_HELD);
        holder_assert_waits(&world, &writer, A_WHILE, "a writer beside readers");
        cr_assert_eq(late.total, 0, "it overtook a writer");
        cr_assert_gt(lock_set_held_until(holder.set), clock_boottime());
        holder_release(&reader);
        holder_assert_waits(&world, &writer, A_WHILE, "a writer beside the one that stepped down");
        holder_release(&holder);
        holder_await(&world, &writer, LOCK_EVENT_HELD);
        holder_release(&writer);
        holder_await(&world, &late, LOCK_EVENT_HELD);
        holder_release(&late);
        world_close(&world);
}

Test(lock_recipes, who_stepped_down_keeps_its_number_and_identity_and_cannot_go_up_again) {
        World world;
        Holder holder = {0};
        Contender before, after;
        g_autofree char *path = NULL;
        g_auto(GStrv) children = NULL;
        int64_t token;
        ZkStat stat;

        world_open_shared(&world, 2, TIMEOUT);
        hold_downgradable(&world, &holder, 0, "a");
        path = g_strdup(lock_set_paths(holder.set)[0]);
        token = lock_set_fencing_token(holder.set);
        contender_parse(strrchr(path, '/') + 1, &before);
        cr_assert(before.may_leave_twin);
        step_down(&world, &holder);
        children = world_list(&world, world_session(&world, 1), "a");
        cr_assert_eq(g_strv_length(children), 1);
        contender_parse(children[0], &after);
        cr_assert_eq(after.kind, CONTENDER_READER);
        cr_assert_eq(after.sequence, before.sequence);
        cr_assert_str_eq(after.uuid, before.uuid);
        cr_assert(g_str_has_suffix(lock_set_paths(holder.set)[0], children[0]));
        world_settle(&world, world_session(&world, 0));
        cr_assert_eq(
            world_exists(&world, world_session(&world, 0), lock_set_paths(holder.set)[0], &stat),
            ZK_OK);
        cr_assert_gt(stat.czxid, token);
        cr_assert_eq(lock_set_fencing_token(holder.set), token, "who comes next has a larger one");
        cr_assert_eq(lock_set_enter(holder.set, LOCK_EXCLUSIVE), -EDEADLK);
        cr_assert_eq(lock_set_enter(holder.set, LOCK_SHARED), 2);
        cr_assert_eq(lock_set_downgrade(holder.set), -EINVAL);
        cr_assert_null(lock_set_free(holder.set));
        holder_release(&holder);
        world_close(&world);
}

Test(lock_recipes, a_downgrade_is_refused_where_there_is_none) {
        World world;
        Holder plain = {0}, shared = {0}, waiter = {0}, slot = {0}, kazoo = {0};
        const LockOptions may = {.wait = FOREVER, .may_downgrade = true};

        world_open_shared(&world, 2, TIMEOUT);
        holder_take(&world, &plain, 0, "a");
        cr_assert_eq(lock_set_downgrade(plain.set), -EPERM);
        holder_acquire_with(&world, &waiter, world_session(&world, 1),
                            (LockRequest){.resource = "a"}, may);
        world_await_children(&world, world_session(&world, 0), "a", 2);
        cr_assert_eq(lock_set_downgrade(waiter.set), -ENOLCK);
        holder_acquire_with(&world, &shared, world_session(&world, 1),
                            (LockRequest){.resource = "b", .mode = LOCK_SHARED}, may);
        holder_await(&world, &shared, LOCK_EVENT_HELD);
        cr_assert_eq(lock_set_downgrade(shared.set), -EINVAL);
        holder_acquire_with(&world, &slot, world_session(&world, 1),
                            (LockRequest){.resource = "c", .slots = 2}, may);
        holder_await(&world, &slot, LOCK_EVENT_HELD);
        cr_assert_eq(lock_set_downgrade(slot.set), -EINVAL);
        holder_acquire_with(&world, &kazoo, world_session(&world, 1),
                            (LockRequest){.resource = "d", .naming = LOCK_NAMING_KAZOO}, may);
        holder_await(&world, &kazoo, LOCK_EVENT_HELD);
        cr_assert_eq(lock_set_downgrade(kazoo.set), -EINVAL);
        holder_release(&kazoo);
        holder_release(&slot);
        holder_release(&shared);
        holder_release(&waiter);
        holder_release(&plain);
        world_close(&world);
}

Test(lock_recipes, several_step_down_together) {
        World world;
        Holder holder = {0}, readers = {0}, writer = {0};
        const LockRequest requests[] = {
            {.resource = "a"}, {.resource = "b", .mode = LOCK_SHARED}, {.resource = "c"}};

        world_open_shared(&world, 2, TIMEOUT);
        cr_assert_eq(holder_try_acquire_with(&world, &holder, world_session(&world, 0), requests, 3,
                                             (LockOptions){.wait = FOREVER, .may_downgrade = true}),
                     0);
        holder_await(&world, &holder, LOCK_EVENT_HELD);
        holder_acquire(&world, &readers, world_session(&world, 1), "~a ~b ~c", FOREVER);
        world_await_children(&world, world_session(&world, 0), "a", 2);
        step_down(&world, &holder);
        holder_await(&world, &readers, LOCK_EVENT_HELD);
        holder_acquire(&world, &writer, world_session(&world, 1), "c", A_WHILE);
        holder_await(&world, &writer, LOCK_EVENT_TIMEOUT);
        holder_release(&writer);
        holder_release(&readers);
        holder_release(&holder);
        world_close(&world);
}

Test(lock_recipes, freed_at_any_moment_of_its_downgrade_it_leaves_no_node) {
        World world;
        Holder holder = {0};

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t i = 0; i < 12; i++) {
                hold_downgradable(&world, &holder, 0, "a");
                cr_assert_eq(lock_set_downgrade(holder.set), 0);
                for (size_t n = 0; n < i; n++)
                        (void)sd_event_run(world.event, USEC_PER_MSEC);
                holder_release(&holder);
                world_await_children(&world, world_session(&world, 1), "a", 0);
        }
        world_close(&world);
}

Test(lock_recipes, a_downgrade_whose_request_or_answer_was_lost_is_done_once) {
        static const ProxyFate fates[] = {PROXY_CUT_BEFORE, PROXY_LOSE_ANSWER};
        Wire wire;
        Holder holder = {0}, reader = {0}, writer = {0};

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        for (size_t i = 0; i < G_N_ELEMENTS(fates); i++) {
                hold_downgradable(&wire.world, &holder, 1, "a");
                holder_queue(&wire.world, &reader, 0, "~a", 2);
                holder_queue(&wire.world, &writer, 0, "a", 3);
                proxy_order(wire.proxies[1], OPCODE_MULTI, fates[i], 1);
                step_down(&wire.world, &holder);
                cr_assert_eq(proxy_ordered(wire.proxies[1]), 0, "nothing was lost");
                holder_await(&wire.world, &reader, LOCK_EVENT_HELD);
                world_await_children(&wire.world, wire_session(&wire, 0), "a", 3);
                holder_assert_waits(&wire.world, &writer, A_WHILE, "a writer beside readers");
                holder_release(&reader);
                holder_release(&holder);
                holder_await(&wire.world, &writer, LOCK_EVENT_HELD);
                holder_release(&writer);
                world_await_children(&wire.world, wire_session(&wire, 0), "a", 0);
        }
        wire_close(&wire);
}

Test(lock_recipes, a_downgrade_behind_the_back_of_a_waiter_that_is_cut_off_grants_nothing) {
        Wire wire;
        Holder holder = {0}, writer = {0};

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        hold_downgradable(&wire.world, &holder, 0, "a");
        holder_queue(&wire.world, &writer, 1, "a", 2);
        proxy_admit(wire.proxies[1], false);
        proxy_cut(wire.proxies[1]);
        world_await_event(&wire.world, 1, SESSION_EVENT_SUSPENDED, 1);
        step_down(&wire.world, &holder);
        proxy_admit(wire.proxies[1], true);
        world_await_event(&wire.world, 1, SESSION_EVENT_RESUMED, 1);
        holder_assert_waits(&wire.world, &writer, A_WHILE, "granted by a downgrade");
        holder_release(&holder);
        holder_await(&wire.world, &writer, LOCK_EVENT_HELD);
        holder_release(&writer);
        wire_close(&wire);
}

/* The list with which the waiter looks again is lost with the connection. */
Test(lock_recipes, a_waiter_cut_off_while_it_looks_for_the_twin_is_not_granted) {
        static const ProxyFate fates[] = {PROXY_CUT_BEFORE, PROXY_LOSE_ANSWER};
        Wire wire;
        Holder holder = {0}, writer = {0};

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        for (size_t i = 0; i < G_N_ELEMENTS(fates); i++) {
                hold_downgradable(&wire.world, &holder, 0, "a");
                holder_queue(&wire.world, &writer, 1, "a", 2);
                proxy_order(wire.proxies[1], OPCODE_LIST, fates[i], 1);
                step_down(&wire.world, &holder);
                world_await_event(&wire.world, 1, SESSION_EVENT_RESUMED, (unsigned)i + 1);
                cr_assert_eq(proxy_ordered(wire.proxies[1]), 0, "nothing was lost");
                holder_assert_waits(&wire.world, &writer, A_WHILE, "granted by a downgrade");
                holder_release(&holder);
                holder_await(&wire.world, &writer, LOCK_EVENT_HELD);
                holder_release(&writer);
                world_await_children(&wire.world, wire_session(&wire, 0), "a", 0);
        }
        wire_close(&wire);
}

/* Curator 5's own way: two requests, so for a moment both stand with one number. */

static char *make_by_hand(World *world, size_t index, const char *name, unsigned flags) {
        g_autofree char *directory = world_path(world, "a");
        char *path = g_strconcat(directory, "/", name, NULL);

        cr_assert_eq(world_create(world, world_session(world, index), path, flags), ZK_OK);
        return path;
}

/* Return: the only child, a writer made by hand. */
static char *make_writer_by_hand(World *world, size_t index) {
        g_autofree char *made = make_by_hand(world, index, CURATORS "__WRIT__",
                                             ZK_CREATE_EPHEMERAL | ZK_CREATE_SEQUENTIAL);
        g_autofree char *directory = world_path(world, "a");
        g_auto(GStrv) children = world_list(world, world_session(world, index), "a");

        cr_assert_not_null(made);
        cr_assert_eq(g_strv_length(children), 1);
        return g_strconcat(directory, "/", children[0], NULL);
}

Test(lock_recipes, curators_downgrade_does_not_grant_a_waiting_writer) {
        World world;
        Holder reader = {0}, writer = {0};
        g_autofree char *first = NULL, *twin_name = NULL, *twin = NULL;

        world_open_shared(&world, 2, TIMEOUT);
        world_make_resource(&world, "a");
        first = make_writer_by_hand(&world, 1);
        holder_queue(&world, &writer, 0, "a", 2);
        holder_queue(&world, &reader, 0, "~a", 3);
        twin_name = contender_twin(strrchr(first, '/') + 1);
        twin = make_by_hand(&world, 1, twin_name, ZK_CREATE_EPHEMERAL);
        cr_assert_eq(world_delete(&world, world_session(&world, 1), first), ZK_OK);
        holder_assert_waits(&world, &writer, A_WHILE, "granted by a downgrade");
        cr_assert_eq(reader.total, 0, "it overtook a writer");
        cr_assert_eq(world_delete(&world, world_session(&world, 1), twin), ZK_OK);
        holder_await(&world, &writer, LOCK_EVENT_HELD);
        holder_release(&writer);
        holder_await(&world, &reader, LOCK_EVENT_HELD);
        holder_release(&reader);
        world_close(&world);
}

Test(lock_recipes, curators_downgrade_grants_a_waiting_reader) {
        World world;
        Holder reader = {0};
        g_autofree char *first = NULL, *twin_name = NULL, *twin = NULL;

        world_open_shared(&world, 2, TIMEOUT);
        world_make_resource(&world, "a");
        first = make_writer_by_hand(&world, 1);
        holder_queue(&world, &reader, 0, "~a", 2);
        twin_name = contender_twin(strrchr(first, '/') + 1);
        twin = make_by_hand(&world, 1, twin_name, ZK_CREATE_EPHEMERAL);
        holder_assert_waits(&world, &reader, A_WHILE, "a reader beside a writer");
        cr_assert_eq(world_delete(&world, world_session(&world, 1), first), ZK_OK);
        holder_await(&world, &reader, LOCK_EVENT_HELD);
        holder_release(&reader);
        cr_assert_eq(world_delete(&world, world_session(&world, 1), twin), ZK_OK);
        world_close(&world);
}

/* Who comes at that very moment sees two with the same number. */
Test(lock_recipes, two_of_equal_number_are_both_waited_for) {
        World world;
        Holder writer = {0}, reader = {0};
        g_autofree char *first = NULL, *twin_name = NULL, *twin = NULL;

        world_open_shared(&world, 2, TIMEOUT);
        world_make_resource(&world, "a");
        first = make_writer_by_hand(&world, 1);
        twin_name = contender_twin(strrchr(first, '/') + 1);
        twin = make_by_hand(&world, 1, twin_name, ZK_CREATE_EPHEMERAL);
        holder_queue(&world, &reader, 0, "~a", 3);
        holder_queue(&world, &writer, 0, "a", 4);
        holder_assert_waits(&world, &reader, A_WHILE, "a reader beside a writer");
        cr_assert_eq(world_delete(&world, world_session(&world, 1), first), ZK_OK);
        holder_await(&world, &reader, LOCK_EVENT_HELD);
        holder_assert_waits(&world, &writer, A_WHILE, "a writer beside readers");
        holder_release(&reader);
        holder_assert_waits(&world, &writer, A_WHILE, "a writer beside a reader");
        cr_assert_eq(world_delete(&world, world_session(&world, 1), twin), ZK_OK);
        holder_await(&world, &writer, LOCK_EVENT_HELD);
        holder_release(&writer);
        world_close(&world);
}

/* Revocation */

static void ask_back(World *world, size_t index, const char *path) {
        cr_assert_eq(lock_revoke(world_session(world, index), path, NULL, NULL), 0);
        world_settle(world, world_session(world, index));
}

static void hold_revocable(World *world, Holder *holder, size_t index, const char *resource) {
        holder_acquire_with(world, holder, world_session(world, index),
                            (LockRequest){.resource = resource},
                            (LockOptions){.wait = FOREVER, .revocable = true});
        holder_await(world, holder, LOCK_EVENT_HELD);
}

Test(lock_recipes, who_registered_for_it_is_asked_to_let_go_and_holds_on_all_the_same) {
        World world;
        Holder holder = {0}, waiter = {0};

        world_open_shared(&world, 2, TIMEOUT);
        hold_revocable(&world, &holder, 0, "a");
        holder_queue(&world, &waiter, 1, "a", 2);
        for (unsigned i = 1; i <= 3; i++) {
                ask_back(&world, 1, lock_set_paths(holder.set)[0]);
                holder_await_total(&world, &holder, i);
                cr_assert_eq(holder.events[LOCK_EVENT_REVOKED], i);
                cr_assert_gt(lock_set_held_until(holder.set), clock_boottime());
                world_settle(&world, world_session(&world, 0));
        }
        holder_assert_waits(&world, &waiter, A_WHILE, "granted by a revocation");
        holder_release(&holder);
        holder_await(&world, &waiter, LOCK_EVENT_HELD);
        holder_release(&waiter);
        world_close(&world);
}

/* Before its own contender is under watch. */
Test(lock_recipes, a_revocation_right_after_the_grant_is_heard) {
        World world;
        Holder holder = {0};

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t i = 0; i < 5; i++) {
                hold_revocable(&world, &holder, 0, "a");
                ask_back(&world, 1, lock_set_paths(holder.set)[0]);
                holder_await_total(&world, &holder, 1);
                cr_assert_eq(holder.events[LOCK_EVENT_REVOKED], 1);
                holder_release(&holder);
        }
        world_close(&world);
}

Test(lock_recipes, a_revocation_while_cut_off_is_heard_after_it) {
        Wire wire;
        Holder holder = {0};

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        hold_revocable(&wire.world, &holder, 1, "a");
        loop_for(wire.world.event, A_WHILE);
        proxy_admit(wire.proxies[1], false);
        proxy_cut(wire.proxies[1]);
        world_await_event(&wire.world, 1, SESSION_EVENT_SUSPENDED, 1);
        ask_back(&wire.world, 0, lock_set_paths(holder.set)[0]);
        proxy_admit(wire.proxies[1], true);
        holder_await_total(&wire.world, &holder, 1);
        cr_assert_eq(holder.events[LOCK_EVENT_REVOKED], 1);
        holder_release(&holder);
        wire_close(&wire);
}

Test(lock_recipes, who_did_not_register_hears_nothing) {
        World world;
        Holder holder = {0};

        world_open_shared(&world, 2, TIMEOUT);
        holder_take(&world, &holder, 0, "a");
        for (size_t i = 0; i < 2; i++) {
                ask_back(&world, 1, lock_set_paths(holder.set)[0]);
                loop_for(world.event, A_WHILE);
                cr_assert_eq(holder.total, 1);
        }
        holder_release(&holder);
        world_close(&world);
}

Test(lock_recipes, what_else_somebody_writes_to_a_contender_is_no_revocation) {
        static const char *const texts[] = {"", "x", "__REVOKE__ ", "{\"test\":1}"};
        World world;
        Holder holder = {0};

        world_open_shared(&world, 2, TIMEOUT);
        hold_revocable(&world, &holder, 0, "a");
        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
                cr_assert_eq(world_set(&world, world_session(&world, 1),
                                       lock_set_paths(holder.set)[0], texts[i]),
                             ZK_OK);
                loop_for(world.event, A_WHILE / 2);
                cr_assert_eq(holder.total, 1, "'%s'", texts[i]);
        }
        ask_back(&world, 1, lock_set_paths(holder.set)[0]);
        holder_await_total(&world, &holder, 1);
        cr_assert_eq(holder.events[LOCK_EVENT_REVOKED], 1);
        holder_release(&holder);
        world_close(&world);
}

Test(lock_recipes, a_revocation_of_a_waiter_changes_nothing_in_the_queue) {
        World world;
        Holder holder = {0}, waiter = {0}, last = {0};

        world_open_shared(&world, 2, TIMEOUT);
        holder_take(&world, &holder, 0, "a");
        holder_acquire_with(&world, &waiter, world_session(&world, 1),
                            (LockRequest){.resource = "a"},
                            (LockOptions){.wait = FOREVER, .revocable = true});
        world_await_children(&world, world_session(&world, 0), "a", 2);
        world_settle(&world, world_session(&world, 1));
        holder_queue(&world, &last, 0, "a", 3);
        ask_back(&world, 0, lock_set_paths(waiter.set)[0]);
        holder_assert_waits(&world, &waiter, A_WHILE, "told while it waits");
        cr_assert_eq(last.total, 0);
        cr_assert_eq(holder.total, 1);
        holder_release(&holder);
        holder_await_total(&world, &waiter, 0);
        cr_assert_eq(waiter.events[LOCK_EVENT_HELD], 1);
        cr_assert_eq(last.total, 0);
        holder_release(&waiter);
        holder_await(&world, &last, LOCK_EVENT_HELD);
        holder_release(&last);
        world_close(&world);
}

static void on_revoked(const ZkReply *reply, void *userdata) {
        *(int *)userdata = (int)reply->code;
}

Test(lock_recipes, a_revocation_of_nobody_is_answered_so) {
        World world;
        g_autofree char *path = NULL;
        int code = -1;

        world_open_shared(&world, 2, TIMEOUT);
        path = world_path(&world, "nobody");
        cr_assert_eq(lock_revoke(world_session(&world, 0), path, on_revoked, &code), 0);
        world_settle(&world, world_session(&world, 0));
        cr_assert_eq(code, ZK_NO_NODE);
        world_close(&world);
}

ZOOKEEPER_MAIN;

/* Locks where somebody may not do everything, where one of several cannot be had, where numbers are
 * used up, and where an administrator deletes what is in use. */
#include <criterion/criterion.h>
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "helper-acl.h"
#include "helper-wire.h"
#include "helper-zookeeper-main.h"

#define TIMEOUT (20 * USEC_PER_SEC)
#define FOREVER USEC_INFINITY
#define A_WHILE (300 * USEC_PER_MSEC)
#define OURS "jobkeeper:one secret"
#define THEIRS "jobkeeper:another secret"

static void open_as(World *world, const char *first, const char *second) {
        world_open(world);
        world_connect_as(world, 0, zookeeper_shared(), TIMEOUT, first);
        world_connect_as(world, 1, zookeeper_shared(), TIMEOUT, second);
}

/* It fails, with a sentence that names the place. */
static void check_fails(World *world, size_t index, LockRequest request, const char *word) {
        Holder holder = {0};

        holder_acquire_with(world, &holder, world_session(world, index), request,
                            (LockOptions){.wait = FOREVER});
        holder_await(world, &holder, LOCK_EVENT_FAILED);
        cr_assert_not_null(strstr(lock_set_fault(holder.set), word), "%s",
                           lock_set_fault(holder.set));
        cr_assert_not_null(strstr(lock_set_fault(holder.set), request.resource), "%s",
                           lock_set_fault(holder.set));
        holder_release(&holder);
}

Test(lock_rights, with_a_secret_our_nodes_are_shut_and_a_foreign_client_is_refused) {
        static const char *const others[] = {NULL, THEIRS};

        for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
                World world;
                Holder holder = {0};
                const char *path;

                open_as(&world, OURS, others[i]);
                holder_take(&world, &holder, 0, "a");
                path = lock_set_paths(holder.set)[0];
                cr_assert_eq(world_delete(&world, world_session(&world, 1), path), ZK_NO_AUTH);
                cr_assert_eq(world_set(&world, world_session(&world, 1), path, "x"), ZK_NO_AUTH);
                cr_assert_null(world_get(&world, world_session(&world, 1), path));
                cr_assert_null(world_list(&world, world_session(&world, 1), "a"));
                check_fails(&world, 1, (LockRequest){.resource = "a"}, "not permitted");
                check_fails(&world, 1, (LockRequest){.resource = "b"}, "not permitted");
                world_await_children(&world, world_session(&world, 0), "a", 1);
                cr_assert_eq(holder.total, 1);
                holder_release(&holder);
                world_close(&world);
        }
}

Test(lock_rights, who_has_the_same_secret_shares_the_lock) {
        World world;
        Holder holder = {0}, waiter = {0};

        open_as(&world, OURS, OURS);
        for (size_t i = 0; i < 3; i++) {
                holder_take(&world, &holder, 0, "a ~b");
                holder_acquire(&world, &waiter, world_session(&world, 1), "a b", FOREVER);
                world_await_children(&world, world_session(&world, 1), "a", 2);
                holder_assert_waits(&world, &waiter, A_WHILE, "both hold");
                holder_release(&holder);
                holder_await(&world, &waiter, LOCK_EVENT_HELD);
                holder_release(&waiter);
        }
        world_close(&world);
}

Test(lock_rights, a_secret_holds_over_a_reconnect) {
        World world;
        Proxy *proxy;
        Holder holder = {0}, waiter = {0};

        world_open(&world);
        proxy = proxy_new(world.event, zookeeper_shared());
        world_connect_as(&world, 0, zookeeper_shared(), TIMEOUT, OURS);
        world_connect_as(&world, 1, proxy_address(proxy), TIMEOUT, OURS);
        for (unsigned i = 1; i <= 3; i++) {
                holder_take(&world, &holder, 0, "a");
                holder_queue(&world, &waiter, 1, "a", 2);
                proxy_cut(proxy);
                world_await_event(&world, 1, SESSION_EVENT_RESUMED, i);
                holder_assert_waits(&world, &waiter, A_WHILE, "both hold");
                holder_release(&holder);
                holder_await(&world, &waiter, LOCK_EVENT_HELD);
                holder_release(&waiter);
                world_await_children(&world, world_session(&world, 0), "a", 0);
        }
        world_disconnect(&world, 1);
        (void)proxy_free(proxy);
        world_close(&world);
}

/* The directory is everybody's, the contender its creator's only. */
Test(lock_rights, a_predecessor_that_we_may_not_read_is_waited_for_all_the_same) {
        World world;
        Holder closed[2] = {{0}}, waiter = {0}, last = {0};

        open_as(&world, NULL, OURS);
        world_make_resource(&world, "a");
        holder_take(&world, &closed[0], 1, "a");
        cr_assert_null(
            world_get(&world, world_session(&world, 0), lock_set_paths(closed[0].set)[0]));
        holder_queue(&world, &closed[1], 1, "a", 2);
        holder_queue(&world, &waiter, 0, "a", 3);
        holder_queue(&world, &last, 0, "a", 4);
        holder_assert_waits(&world, &waiter, A_WHILE, "both hold");
        holder_release(&closed[0]);
        holder_await(&world, &closed[1], LOCK_EVENT_HELD);
        holder_assert_waits(&world, &waiter, A_WHILE, "both hold");
        holder_release(&closed[1]);
        holder_await(&world, &waiter, LOCK_EVENT_HELD);
        cr_assert_eq(last.total, 0);
        holder_release(&waiter);
        holder_await(&world, &last, LOCK_EVENT_HELD);
        holder_release(&last);
        world_close(&world);
}

Test(lock_rights, an_unreadable_predecessor_that_goes_while_we_are_cut_off_is_not_missed) {
        Wire wire;
        Holder closed = {0}, waiter = {0};

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        world_connect_as(&wire.world, 2, zookeeper_shared(), TIMEOUT, OURS);
        world_make_resource(&wire.world, "a");
        holder_take(&wire.world, &closed, 2, "a");
        holder_queue(&wire.world, &waiter, 1, "a", 2);
        proxy_admit(wire.proxies[1], false);
        proxy_cut(wire.proxies[1]);
        world_await_event(&wire.world, 1, SESSION_EVENT_SUSPENDED, 1);
        holder_release(&closed);
        world_await_children(&wire.world, wire_session(&wire, 0), "a", 1);
        proxy_admit(wire.proxies[1], true);
        holder_await(&wire.world, &waiter, LOCK_EVENT_HELD);
        holder_release(&waiter);
        world_await_children(&wire.world, wire_session(&wire, 0), "a", 0);
        wire_close(&wire);
}

Test(lock_rights, a_missing_right_is_a_sentence_and_leaves_no_node) {
        static const struct {
                int rights;
                LockRequest request;
        } cases[] = {
            {ACL_ALL & ~ACL_READ, {.resource = "a"}},
            {ACL_ALL & ~ACL_READ, {.resource = "a", .mode = LOCK_SHARED}},
            {ACL_ALL & ~ACL_READ, {.resource = "a", .slots = 2}},
            {ACL_ALL & ~ACL_CREATE, {.resource = "a"}},
            {ACL_ALL & ~ACL_CREATE, {.resource = "a", .naming = LOCK_NAMING_SINGLE_NODE}},
        };
        World world;
        g_autofree char *directory = NULL;

        open_as(&world, NULL, NULL);
        world_make_resource(&world, "a");
        directory = world_path(&world, "a");
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                acl_set(zookeeper_shared(), directory, cases[i].rights);
                check_fails(&world, 0, cases[i].request, "not permitted");
                world_settle(&world, world_session(&world, 0));
                acl_set(zookeeper_shared(), directory, ACL_ALL);
                world_await_children(&world, world_session(&world, 0), "a", 0);
        }
        world_close(&world);
}

/* A single node needs the list only where it has to wait. */
/* Who cannot list the directory cannot wait for the node to go, nor know that nobody queues. */
Test(lock_rights, a_single_node_whose_directory_cannot_be_listed_is_a_sentence) {
        const LockRequest request = {.resource = "a", .naming = LOCK_NAMING_SINGLE_NODE};
        g_autofree char *directory = NULL;
        World world;

        open_as(&world, NULL, NULL);
        world_make_resource(&world, "a");
        directory = world_path(&world, "a");
        acl_set(zookeeper_shared(), directory, ACL_ALL & ~ACL_READ);
        check_fails(&world, 1, request, "not permitted");
        world_settle(&world, world_session(&world, 1));
        acl_set(zookeeper_shared(), directory, ACL_ALL);
        world_close(&world);
}

/* Several together */

Test(lock_rights, one_of_several_that_cannot_be_had_gives_the_others_back) {
        static const LockRequest requests[] = {
            {.resource = "a"}, {.resource = "b"}, {.resource = "c", .mode = LOCK_SHARED}};
        World world;
        Holder holder = {0}, waiter = {0};
        g_autofree char *foreign = NULL, *third = NULL;

        open_as(&world, NULL, NULL);
        world_make_resource(&world, "b");
        foreign = world_path(&world, "b/somebody-0000000000");
        third = world_path(&world, "c");
        cr_assert_eq(world_create(&world, world_session(&world, 1), foreign, ZK_CREATE_EPHEMERAL),
                     ZK_OK);
        cr_assert_eq(holder_try_acquire_with(&world, &holder, world_session(&world, 0), requests, 3,
                                             (LockOptions){.wait = FOREVER}),
                     0);
        holder_await(&world, &holder, LOCK_EVENT_FAILED);
        cr_assert_not_null(strstr(lock_set_fault(holder.set), foreign), "%s",
                           lock_set_fault(holder.set));
        holder_take(&world, &waiter, 1, "a");
        world_await_children(&world, world_session(&world, 1), "a", 1);
        world_await_children(&world, world_session(&world, 1), "b", 1);
        cr_assert_eq(world_exists(&world, world_session(&world, 1), third, NULL), ZK_NO_NODE,
                     "it queued although an earlier one had failed");
        cr_assert_null(lock_set_paths(holder.set)[0]);
        holder_release(&holder);
        holder_release(&waiter);
        cr_assert_eq(world_delete(&world, world_session(&world, 1), foreign), ZK_OK);
        world_close(&world);
}

Test(lock_rights, a_release_that_does_not_succeed_does_not_stop_the_others) {
        World world;
        Holder holder = {0}, waiter = {0};
        g_autofree char *middle = NULL;

        open_as(&world, NULL, NULL);
        holder_take(&world, &holder, 0, "a b c");
        middle = world_path(&world, "b");
        acl_set(zookeeper_shared(), middle, ACL_ALL & ~ACL_DELETE);
        holder_release(&holder);
        holder_take(&world, &waiter, 1, "a c");
        world_await_children(&world, world_session(&world, 1), "b", 1);
        acl_set(zookeeper_shared(), middle, ACL_ALL);
        world_await_children(&world, world_session(&world, 1), "b", 0);
        holder_release(&waiter);
        world_close(&world);
}

/* Numbers */

/* Waits until what follows the deletion of a contender is done as well. */
static void settle_twice(World *world, size_t index) {
        world_settle(world, world_session(world, index));
        world_settle(world, world_session(world, index));
}

static void ask_numbered(World *world, Holder *holder, size_t index, int64_t most) {
        holder_acquire_with(world, holder, world_session(world, index),
                            (LockRequest){.resource = "a"},
                            (LockOptions){.wait = FOREVER,
                                          .sequence_max = most,
                                          .persistent = true}); /* not the server's to delete */
}

Test(lock_rights, numbers_that_are_used_up_are_refused_and_the_empty_directory_begins_anew) {
        World world;
        Holder holder = {0};
        unsigned held = 0, failed = 0;
        int64_t token = 0;

        open_as(&world, NULL, NULL);
        for (size_t i = 0; i < 12; i++) {
                ask_numbered(&world, &holder, i % 2, 3);
                holder_await_total(&world, &holder, 0);
                if (holder.events[LOCK_EVENT_HELD]) {
                        held++;
                        cr_assert_gt(lock_set_fencing_token(holder.set), token);
                        token = lock_set_fencing_token(holder.set);
                } else {
                        failed++;
                        cr_assert_eq(holder.events[LOCK_EVENT_FAILED], 1);
                        cr_assert_not_null(strstr(lock_set_fault(holder.set), "used up"), "%s",
                                           lock_set_fault(holder.set));
                }
                holder_release(&holder);
                world_await_children(&world, world_session(&world, 0), "a", 0);
                settle_twice(&world, i % 2);
        }
        cr_assert_eq(failed, 2, "%u", failed);
        cr_assert_eq(held, 10);
        world_close(&world);
}

Test(lock_rights, a_directory_in_use_does_not_begin_anew_under_its_holder) {
        World world;
        Holder holder = {0}, late = {0};

        open_as(&world, NULL, NULL);
        ask_numbered(&world, &holder, 0, 1);
        holder_await(&world, &holder, LOCK_EVENT_HELD);
        holder_release(&holder);
        world_await_children(&world, world_session(&world, 0), "a", 0);
        ask_numbered(&world, &holder, 0, 1);
        holder_await(&world, &holder, LOCK_EVENT_HELD);
        for (size_t i = 0; i < 2; i++) {
                ask_numbered(&world, &late, 1, 1);
                holder_await(&world, &late, LOCK_EVENT_FAILED);
                world_await_children(&world, world_session(&world, 0), "a", 1);
                settle_twice(&world, 1);
                holder_release(&late);
        }
        cr_assert_eq(holder.total, 1);
        holder_release(&holder);
        world_await_children(&world, world_session(&world, 0), "a", 0);
        ask_numbered(&world, &late, 1, 1);
        holder_await(&world, &late, LOCK_EVENT_FAILED);
        world_await_children(&world, world_session(&world, 0), "a", 0);
        settle_twice(&world, 1);
        holder_release(&late);
        ask_numbered(&world, &late, 1, 1);
        holder_await(&world, &late, LOCK_EVENT_HELD);
        holder_release(&late);
        world_close(&world);
}

/* An administrator */

static void on_multi(const ZkReply *reply, void *userdata) {
        cr_assert_eq(reply->code, ZK_OK);
        *(bool *)userdata = true;
}

static bool is_true(void *userdata) {
        return *(bool *)userdata;
}

/* Deletes all of them in one transaction, in that order. */
static void delete_all(World *world, size_t index, const char *const *paths) {
        ZkOp ops[8];
        size_t n = 0;
        bool done = false;

        for (; paths[n]; n++)
                ops[n] = (ZkOp){.type = ZK_OP_DELETE, .path = paths[n], .version = -1};
        cr_assert_eq(
            zk_multi(session_zk(world_session(world, index)), ops, n, on_multi, &done, NULL), 0);
        cr_assert(loop_until(world->event, is_true, &done, WORLD_LIMIT));
}

Test(lock_rights, a_directory_that_somebody_deletes_is_a_loss_for_holder_and_waiters) {
        World world;
        Holder holder = {0}, waiter = {0}, reader = {0};
        g_autofree char *directory = NULL;
        int64_t token;

        open_as(&world, NULL, NULL);
        directory = world_path(&world, "a");
        holder_take(&world, &holder, 0, "a");
        token = lock_set_fencing_token(holder.set);
        holder_queue(&world, &waiter, 0, "a", 2);
        holder_acquire(&world, &reader, world_session(&world, 0), "~a", FOREVER);
        world_await_children(&world, world_session(&world, 0), "a", 3);
        loop_for(world.event, A_WHILE);
        delete_all(&world, 1,
                   (const char *const[]){lock_set_paths(reader.set)[0],
                                         lock_set_paths(waiter.set)[0],
                                         lock_set_paths(holder.set)[0], directory, NULL});
        holder_await(&world, &reader, LOCK_EVENT_LOST);
        holder_await(&world, &waiter, LOCK_EVENT_LOST);
        holder_await_total(&world, &holder, 1);
        cr_assert_eq(holder.events[LOCK_EVENT_LOST], 1);
        cr_assert_eq(lock_set_held_until(holder.set), 0);
        cr_assert_eq(lock_set_held_until(waiter.set), 0);
        holder_release(&holder);
        holder_release(&waiter);
        holder_release(&reader);
        holder_take(&world, &holder, 1, "a");
        cr_assert_gt(lock_set_fencing_token(holder.set), token);
        holder_release(&holder);
        world_close(&world);
}

/* Deleted and made again at once, with somebody else in it, whose number is small. */
Test(lock_rights, a_directory_that_was_made_again_grants_nothing_to_who_waited_in_the_old_one) {
        World world;
        Holder holder = {0}, waiter = {0}, other = {0};
        g_autofree char *directory = NULL;

        open_as(&world, NULL, NULL);
        directory = world_path(&world, "a");
        world_make_resource(&world, "a");
        holder_take(&world, &holder, 0, "a");
        holder_queue(&world, &waiter, 0, "a", 2);
        loop_for(world.event, A_WHILE);
        delete_all(&world, 1,
                   (const char *const[]){lock_set_paths(waiter.set)[0],
                                         lock_set_paths(holder.set)[0], directory, NULL});
        holder_take(&world, &other, 1, "a");
        holder_await(&world, &waiter, LOCK_EVENT_LOST);
        holder_await_total(&world, &holder, 1);
        cr_assert_eq(holder.events[LOCK_EVENT_LOST], 1);
        holder_release(&holder);
        holder_release(&waiter);
        world_settle(&world, world_session(&world, 0));
        loop_for(world.event, A_WHILE);
        cr_assert_eq(other.total, 1, "a late deletion took it away");
        holder_release(&other);
        world_close(&world);
}

/* Behind our back, while we cannot be told. After it the server tells of both, in any order. */
Test(lock_rights, a_contender_that_is_deleted_while_cut_off_is_lost_after_it) {
        Wire wire;

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        for (unsigned i = 1; i <= 8; i++) {
                Holder holder = {0}, waiter = {0};

                holder_take(&wire.world, &holder, 1, "a");
                holder_queue(&wire.world, &waiter, 1, "a", 2);
                loop_for(wire.world.event, A_WHILE);
                proxy_admit(wire.proxies[1], false);
                proxy_cut(wire.proxies[1]);
                world_await_event(&wire.world, 1, SESSION_EVENT_SUSPENDED, i);
                delete_all(&wire.world, 0,
                           (const char *const[]){lock_set_paths(waiter.set)[0],
                                                 lock_set_paths(holder.set)[0], NULL});
                proxy_admit(wire.proxies[1], true);
                holder_await_total(&wire.world, &holder, 1);
                cr_assert_eq(holder.events[LOCK_EVENT_LOST], 1);
                holder_await_total(&wire.world, &waiter, 0);
                cr_assert_eq(waiter.events[LOCK_EVENT_HELD], 0, "held without a contender");
                cr_assert_eq(waiter.events[LOCK_EVENT_LOST], 1);
                holder_release(&holder);
                holder_release(&waiter);
        }
        wire_close(&wire);
}

ZOOKEEPER_MAIN;

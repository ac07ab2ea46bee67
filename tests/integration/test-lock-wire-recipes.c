/* The recipes beyond the plain queue when one request or one answer is lost: stepping down, single
 * nodes, slots, other namings. As test-lock-wire.c, each loss in every way there is. */
#include <criterion/criterion.h>
#include <glib.h>
#include <string.h>

#include "helper-wire.h"
#include "helper-zookeeper-main.h"

#define TIMEOUT (8 * USEC_PER_SEC)
#define FOREVER USEC_INFINITY
#define A_WHILE (300 * USEC_PER_MSEC)

/* Without staying silent, which takes the library 5 s to notice and is then the same to us. */
static const ProxyFate fates[] = {PROXY_LOSE_ANSWER, PROXY_CUT_BEFORE, PROXY_TEAR_ANSWER,
                                  PROXY_SPOIL_ANSWER};

static void acquire(Wire *wire, Holder *holder, size_t client, LockRequest request,
                    bool may_downgrade) {
        const LockOptions options = {.parent = wire->world.parent,
                                     .payload = "{}",
                                     .wait = FOREVER,
                                     .may_downgrade = may_downgrade};

        *holder = (Holder){0};
        cr_assert_eq(lock_set_acquire(wire_session(wire, client), &request, 1, &options,
                                      holder_callback, holder, &holder->set),
                     0);
}

static void hold(Wire *wire, Holder *holder, size_t client, LockRequest request,
                 bool may_downgrade) {
        acquire(wire, holder, client, request, may_downgrade);
        holder_await(&wire->world, holder, LOCK_EVENT_HELD);
}

static void forget_events(Holder *holder) {
        memset(holder->events, 0, sizeof(holder->events));
        holder->total = 0;
}

static void await_gone(Wire *wire, const char *resource) {
        world_await_children(&wire->world, wire_session(wire, 0), resource, 0);
}

Test(lock_wire_recipes, a_step_down_whose_answer_was_lost_is_done_once) {
        const LockRequest exclusive = {.resource = "a"}, shared = {"a", LOCK_SHARED};
        Wire wire;

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        for (size_t i = 0; i < G_N_ELEMENTS(fates); i++) {
                Holder holder, reader, writer;

                hold(&wire, &holder, 1, exclusive, true);
                acquire(&wire, &writer, 0, exclusive, false);
                world_await_children(&wire.world, wire_session(&wire, 0), "a", 2);
                world_settle(&wire.world, wire_session(&wire, 1));
                proxy_order(wire.proxies[1], OPCODE_MULTI, fates[i], 1);
                forget_events(&holder);
                cr_assert_eq(lock_set_downgrade(holder.set), 0);
                holder_await(&wire.world, &holder, LOCK_EVENT_DOWNGRADED);
                cr_assert_gt(lock_set_held_until(holder.set), clock_boottime());
                world_await_children(&wire.world, wire_session(&wire, 0), "a", 2);
                cr_assert_eq(writer.total, 0, "a writer beside a reader");
                holder_release(&writer);
                hold(&wire, &reader, 0, shared, false); /* beside us */
                holder_release(&reader);
                cr_assert_eq(holder.total, 1);
                holder_release(&holder);
                await_gone(&wire, "a");
        }
        wire_close(&wire);
}

/* Which of the two names stands is not known. */
Test(lock_wire_recipes, a_release_before_a_step_down_was_answered_leaves_no_node) {
        Wire wire;

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        for (size_t i = 0; i < G_N_ELEMENTS(fates); i++) {
                Holder holder;

                hold(&wire, &holder, 1, (LockRequest){.resource = "a"}, true);
                wire_reset_counts(&wire);
                proxy_order(wire.proxies[1], OPCODE_MULTI, fates[i], 1);
                cr_assert_eq(lock_set_downgrade(holder.set), 0);
                wire_await_order(&wire, 1);
                holder_release(&holder);
                await_gone(&wire, "a");
        }
        wire_close(&wire);
}

static void create_lost(Wire *wire, LockRequest request) {
        for (size_t i = 0; i < G_N_ELEMENTS(fates); i++) {
                Holder holder, waiter;

                hold(wire, &holder, 0, request, false);
                holder_release(&holder);
                await_gone(wire, "a");
                proxy_order(wire->proxies[1], OPCODE_CREATE, fates[i], 1);
                hold(wire, &holder, 1, request, false);
                cr_assert_eq(proxy_ordered(wire->proxies[1]), 0);
                wire_assert_alone(wire, &holder, "a");

                acquire(wire, &waiter, 0, request, false);
                if (request.slots > 1)
                        holder_await(&wire->world, &waiter, LOCK_EVENT_HELD);
                loop_for(wire->world.event, A_WHILE);
                cr_assert_eq(waiter.total, request.slots > 1, "held beside the holder");
                holder_release(&holder);
                if (request.slots <= 1)
                        holder_await(&wire->world, &waiter, LOCK_EVENT_HELD);
                holder_release(&waiter);
                await_gone(wire, "a");
        }
}

/* Naming by naming; directories are emptied, and one naming does not see the other's. */
Test(lock_wire_recipes, a_lost_creation_is_found_again_in_every_naming) {
        static const LockRequest requests[] = {
            {.resource = "a", .naming = LOCK_NAMING_CURATOR_MUTEX},
            {.resource = "a", .naming = LOCK_NAMING_KAZOO},
            {.resource = "a", .naming = LOCK_NAMING_SINGLE_NODE},
            {.resource = "a", .slots = 2},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(requests); i++) {
                Wire wire;

                wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
                create_lost(&wire, requests[i]);
                wire_close(&wire);
        }
}

/* The name is the same for everybody: what stands there when the deletion is repeated may be
 * another's. */
Test(lock_wire_recipes, a_repeated_release_of_a_single_node_spares_the_next_holders) {
        const LockRequest single = {.resource = "a", .naming = LOCK_NAMING_SINGLE_NODE};
        Wire wire;

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        for (size_t i = 0; i < G_N_ELEMENTS(fates); i++) {
                Holder holder, next;

                hold(&wire, &holder, 1, single, false);
                acquire(&wire, &next, 0, single, false);
                world_settle(&wire.world, wire_session(&wire, 0));
                wire_reset_counts(&wire);
                proxy_order(wire.proxies[1], OPCODE_DELETE, fates[i], 1);
                holder_release(&holder);
                holder_await(&wire.world, &next, LOCK_EVENT_HELD);
                loop_for(wire.world.event, 2 * A_WHILE); /* retries would be 50 ms apart */
                cr_assert_eq(next.total, 1, "its node was deleted");
                cr_assert_eq(proxy_ordered(wire.proxies[1]), 0);
                cr_assert_eq(proxy_count(wire.proxies[1], OPCODE_DELETE),
                             fates[i] == PROXY_CUT_BEFORE ? 2 : 1);
                wire_assert_alone(&wire, &next, "a");
                holder_release(&next);
                await_gone(&wire, "a");
        }
        wire_close(&wire);
}

/* A session of one's own may take the node again before the deletion is repeated. */
Test(lock_wire_recipes, a_repeated_release_of_a_single_node_spares_our_own_next_one) {
        const LockRequest single = {.resource = "a", .naming = LOCK_NAMING_SINGLE_NODE};
        Wire wire;

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        for (size_t i = 0; i < G_N_ELEMENTS(fates); i++) {
                Holder holder, next;

                hold(&wire, &holder, 1, single, false);
                wire_reset_counts(&wire);
                proxy_order(wire.proxies[1], OPCODE_DELETE, fates[i], 1);
                holder_release(&holder);
                hold(&wire, &next, 1, single, false);
                loop_for(wire.world.event, 2 * A_WHILE);
                cr_assert_eq(next.total, 1, "its node was deleted");
                cr_assert_eq(proxy_ordered(wire.proxies[1]), 0);
                wire_assert_alone(&wire, &next, "a");
                holder_release(&next);
                await_gone(&wire, "a");
        }
        wire_close(&wire);
}

/* What a waiter reads besides: how many slots there are, who has been served. */
Test(lock_wire_recipes, a_read_of_the_directory_that_was_lost_delays_no_turn) {
        static const LockRequest requests[] = {{.resource = "a"}, {.resource = "b", .slots = 2}};
        Wire wire;

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        for (size_t i = 0; i < G_N_ELEMENTS(fates) * G_N_ELEMENTS(requests); i++) {
                const LockRequest *request = &requests[i % G_N_ELEMENTS(requests)];
                Holder others[3], waiter;
                unsigned resumed = wire.world.clients[1].events[SESSION_EVENT_RESUMED];

                for (size_t k = 0; k < G_N_ELEMENTS(others); k++) {
                        acquire(&wire, &others[k], 0, *request, false);
                        world_settle(&wire.world, wire_session(&wire, 0));
                }
                acquire(&wire, &waiter, 1, *request, false);
                world_await_children(&wire.world, wire_session(&wire, 0), request->resource, 4);
                for (unsigned k = 0; k < 3; k++)
                        world_settle(&wire.world, wire_session(&wire, 1));
                proxy_order(wire.proxies[1], OPCODE_GET, fates[i / G_N_ELEMENTS(requests)], 1);
                for (size_t k = 0; k < G_N_ELEMENTS(others); k++) {
                        holder_await(&wire.world, &others[k], LOCK_EVENT_HELD);
                        holder_release(&others[k]);
                        if (k == 1 && proxy_ordered(wire.proxies[1]) == 0)
                                world_await_event(&wire.world, 1, SESSION_EVENT_RESUMED,
                                                  resumed + 1);
                }
                holder_await(&wire.world, &waiter, LOCK_EVENT_HELD);
                proxy_order(wire.proxies[1], OPCODE_GET, PROXY_CUT_BEFORE, 0);
                holder_release(&waiter);
                await_gone(&wire, request->resource);
        }
        wire_close(&wire);
}

/* What the process before us left: taken over, or swept away. */
static char *leave_behind(Wire *wire) {
        Holder holder = {0};
        char *path;

        wire_hold(wire, &holder, 1, "a");
        path = g_strdup(lock_set_paths(holder.set)[0]);
        holder.set = lock_set_forget(holder.set);
        world_settle(&wire->world, wire_session(wire, 1));
        wire_reset_counts(wire);
        return path;
}

Test(lock_wire_recipes, an_adoption_whose_list_was_lost_holds_all_the_same) {
        Wire wire;

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        for (size_t i = 0; i < G_N_ELEMENTS(fates); i++) {
                g_autofree char *path = leave_behind(&wire);
                Holder holder = {0};

                proxy_order(wire.proxies[1], OPCODE_LIST, fates[i], 1);
                cr_assert_eq(lock_set_adopt(wire_session(&wire, 1),
                                            (const char *const[]){path, NULL}, NULL,
                                            holder_callback, &holder, &holder.set),
                             0);
                holder_await(&wire.world, &holder, LOCK_EVENT_HELD);
                cr_assert_eq(proxy_ordered(wire.proxies[1]), 0);
                wire_assert_alone(&wire, &holder, "a");
                holder_release(&holder);
                await_gone(&wire, "a");
        }
        wire_close(&wire);
}

Test(lock_wire_recipes, a_sweep_whose_list_or_deletion_was_lost_is_done) {
        static const Opcode opcodes[] = {OPCODE_LIST, OPCODE_EXISTS, OPCODE_DELETE};
        Wire wire;

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        for (size_t i = 0; i < G_N_ELEMENTS(fates) * G_N_ELEMENTS(opcodes); i++) {
                g_autofree char *path = leave_behind(&wire), *directory = NULL;

                directory = world_path(&wire.world, "a");
                proxy_order(wire.proxies[1], opcodes[i % G_N_ELEMENTS(opcodes)],
                            fates[i / G_N_ELEMENTS(opcodes)], 1);
                cr_assert_eq(lock_sweep(wire_session(&wire, 1),
                                        (const char *const[]){directory, NULL}, NULL),
                             0);
                await_gone(&wire, "a");
                cr_assert_eq(proxy_ordered(wire.proxies[1]), 0, "%s is not how it is done", path);
        }
        wire_close(&wire);
}

ZOOKEEPER_MAIN;

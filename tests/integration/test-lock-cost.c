/* What locks cost on the wire, counted by a proxy: requests of each kind, never time. */
#include <criterion/criterion.h>
#include <glib.h>
#include <string.h>

#include "helper-wire.h"
#include "helper-zookeeper-main.h"

#define TIMEOUT (20 * USEC_PER_SEC)
#define LONG_TIMEOUT (10 * USEC_PER_SEC)
#define FOREVER USEC_INFINITY
#define A_WHILE (300 * USEC_PER_MSEC)

/* Asserts that this is all that the client asked for. */
static void assert_counts(const Wire *wire, size_t index, Opcode opcode, unsigned count,
                          unsigned total) {
        g_autofree char *seen = proxy_describe(wire->proxies[index]);

        cr_assert_eq(proxy_count(wire->proxies[index], opcode), count, "client %zu: %s", index,
                     seen);
        cr_assert_eq(proxy_total(wire->proxies[index]), total, "client %zu: %s", index, seen);
}

Test(lock_cost, an_uncontended_acquisition_is_one_create_and_one_list_and_a_release_one_write) {
        Wire wire;
        Holder holder = {0};

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        for (unsigned i = 0; i < 10; i++) {
                wire_prepare(&wire, "a");
                wire_reset_counts(&wire);
                wire_hold(&wire, &holder, 1, "a");
                world_mark(&wire.world, wire_session(&wire, 1));
                cr_assert_eq(proxy_count(wire.proxies[1], OPCODE_CREATE), 1);
                assert_counts(&wire, 1, OPCODE_LIST, 1, 2);

                world_settle(&wire.world, wire_session(&wire, 1));
                loop_for(wire.world.event, A_WHILE / 3); /* the watch on our own contender */
                wire_reset_counts(&wire);
                holder_release(&holder);
                world_await_children(&wire.world, wire_session(&wire, 0), "a", 0);
                world_mark(&wire.world, wire_session(&wire, 1));
                assert_counts(&wire, 1, OPCODE_DELETE, 1, 1);
        }
        wire_close(&wire);
}

Test(lock_cost, a_missing_directory_is_made_by_one_write_as_a_container_or_persistent_as_asked) {
        static const char *const resources[] = {"container", "persistent"};
        Wire wire;

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        wire_prepare(&wire, "other"); /* the parents */
        for (unsigned persistent = 0; persistent < 2; persistent++) {
                const Proxy *proxy = wire.proxies[1];
                Holder holder = {0};

                wire_reset_counts(&wire);
                holder_acquire_with(&wire.world, &holder, wire_session(&wire, 1),
                                    (LockRequest){.resource = resources[persistent]},
                                    (LockOptions){.wait = FOREVER, .persistent = persistent});
                holder_await(&wire.world, &holder, LOCK_EVENT_HELD);
                world_mark(&wire.world, wire_session(&wire, 1));
                cr_assert_eq(proxy_count(proxy, OPCODE_CREATE_CONTAINER), !persistent);
                cr_assert_eq(proxy_count(proxy, OPCODE_CREATE), 2 + persistent,
                             "the contender in vain, and again");
                cr_assert_eq(proxy_writes(proxy), 3);
                holder_release(&holder);
        }
        wire_close(&wire);
}

/* Who comes next knows already that nobody else is before it. */
Test(lock_cost, a_handover_to_the_second_in_line_is_one_write_and_no_read) {
        static const char *const resources[] = {"a", "~b"};
        Wire wire;

        wire_open(&wire, zookeeper_shared(), 3, TIMEOUT);
        for (size_t i = 0; i < 2 * G_N_ELEMENTS(resources); i++) {
                Holder holder = {0}, second = {0};
                const char *name = resources[i / 2];

                wire_prepare(&wire, name + (name[0] == '~'));
                wire_hold(&wire, &holder, 1, name + (name[0] == '~'));
                wire_queue(&wire, &second, 2, name, 1);
                loop_for(wire.world.event, A_WHILE / 3);
                wire_reset_counts(&wire);
                holder_release(&holder);
                holder_await(&wire.world, &second, LOCK_EVENT_HELD);
                world_mark(&wire.world, wire_session(&wire, 2));
                world_mark(&wire.world, wire_session(&wire, 1));
                assert_counts(&wire, 1, OPCODE_DELETE, 1, 1);
                assert_counts(&wire, 2, OPCODE_GET, 0, 0);
                cr_assert_eq(proxy_notifications(wire.proxies[2]), 1);
                holder_release(&second);
                world_await_children(&wire.world, wire_session(&wire, 0), name + (name[0] == '~'),
                                     0);
        }
        wire_close(&wire);
}

/* A queue of holders, spread over the clients that have proxies. */
typedef struct Queue {
        Wire *wire;
        Holder *holders;
        size_t n;
} Queue;

static size_t client_of(size_t index) {
        return 1 + index % (WORLD_CLIENTS - 1);
}

static void queue_add(Queue *queue, size_t index) {
        holder_acquire(&queue->wire->world, &queue->holders[index],
                       wire_session(queue->wire, client_of(index)), "q", FOREVER);
}

/* In the order of their index, behind `before` others. */
static void queue_open(Queue *queue, Wire *wire, size_t n, size_t before) {
        *queue = (Queue){wire, g_new0(Holder, n), n};
        for (size_t i = 0; i < n; i++) {
                queue_add(queue, i);
                world_settle(&wire->world, wire_session(wire, client_of(i)));
        }
        world_await_children(&wire->world, wire_session(wire, 0), "q", n + before);
        loop_for(wire->world.event, A_WHILE);
        wire_reset_counts(wire);
}

static unsigned queue_count(const Queue *queue, Opcode opcode) {
        unsigned count = 0;

        for (size_t i = 1; i < WORLD_CLIENTS; i++)
                count += proxy_count(queue->wire->proxies[i], opcode);
        return count;
}

static unsigned queue_total(const Queue *queue) {
        unsigned total = 0;

        for (size_t i = 1; i < WORLD_CLIENTS; i++)
                total += proxy_total(queue->wire->proxies[i]);
        return total;
}

static size_t queue_bytes(const Queue *queue) {
        size_t bytes = 0;

        for (size_t i = 1; i < WORLD_CLIENTS; i++)
                bytes += proxy_bytes_asked(queue->wire->proxies[i]) +
                         proxy_bytes_answered(queue->wire->proxies[i]);
        return bytes;
}

static char *queue_describe(const Queue *queue) {
        g_autofree char *one = proxy_describe(queue->wire->proxies[1]),
                        *two = proxy_describe(queue->wire->proxies[2]),
                        *three = proxy_describe(queue->wire->proxies[3]);

        return g_strjoin(" | ", one, two, three, NULL);
}

static void assert_only_holder(const Queue *queue, size_t index) {
        for (size_t i = 0; i < queue->n; i++)
                cr_assert(i == index || queue->holders[i].total == 0, "%zu was granted beside %zu",
                          i, index);
}

static void queue_drain(Queue *queue) {
        for (size_t i = 0; i < queue->n; i++) {
                holder_await(&queue->wire->world, &queue->holders[i], LOCK_EVENT_HELD);
                assert_only_holder(queue, i);
                holder_release(&queue->holders[i]);
                queue->holders[i].total = 0;
        }
        for (size_t i = 1; i < WORLD_CLIENTS; i++)
                world_mark(&queue->wire->world, wire_session(queue->wire, i));
}

static void queue_close(Queue *queue) {
        for (size_t i = 0; i < queue->n; i++)
                holder_release(&queue->holders[i]);
        world_await_children(&queue->wire->world, wire_session(queue->wire, 0), "q", 0);
        g_free(queue->holders);
}

/* Who was the second but one when the holder went has found out by the time that its turn comes. */
Test(lock_cost, in_a_queue_no_grant_waits_for_a_read) {
        Wire wire;
        Queue queue;

        wire_open(&wire, zookeeper_shared(), WORLD_CLIENTS, TIMEOUT);
        wire_prepare(&wire, "q");
        queue_open(&queue, &wire, WORLD_CLIENTS - 1, 0); /* one a client */
        for (size_t i = 1; i < queue.n; i++) {
                holder_release(&queue.holders[i - 1]);
                holder_await(&wire.world, &queue.holders[i], LOCK_EVENT_HELD);
                world_mark(&wire.world, wire_session(&wire, client_of(i)));
                assert_counts(&wire, client_of(i), OPCODE_GET, 0, 0);
                loop_for(wire.world.event, A_WHILE / 3);
                wire_reset_counts(&wire);
        }
        queue_close(&queue);
        wire_close(&wire);
}

/* The release, and a look at the directory's mark by the one that is the next but one now. */
#define REQUESTS_A_LEAVING 2
#define BYTES_A_LEAVING 900

Test(lock_cost, no_handover_lists_the_queue_whatever_its_length) {
        static const size_t lengths[] = {3, 10, 50};
        Wire wire;

        wire_open(&wire, zookeeper_shared(), WORLD_CLIENTS, TIMEOUT);
        for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++) {
                g_autofree char *seen = NULL;
                size_t n = lengths[i];
                Queue queue;

                wire_prepare(&wire, "q");
                queue_open(&queue, &wire, n, 0);
                queue_drain(&queue);
                seen = queue_describe(&queue);
                cr_assert_eq(queue_count(&queue, OPCODE_LIST), 0, "%zu in the queue: %s", n, seen);
                cr_assert_leq(queue_total(&queue), REQUESTS_A_LEAVING * n, "%zu in the queue: %s",
                              n, seen);
                cr_assert_leq(queue_bytes(&queue), BYTES_A_LEAVING * n, "%zu in the queue: %s", n,
                              seen);
                queue_close(&queue);
        }
        wire_close(&wire);
}

/* A create, a list, three watches (on itself and the nearest two), a look at the mark, a release;
 * and one to spare. */
#define REQUESTS_A_HANDOVER 8
#define HANDOVERS 60

static bool anybody_was_told(void *userdata) {
        const Queue *queue = userdata;

        for (size_t i = 0; i < queue->n; i++)
                if (queue->holders[i].total > 0)
                        return true;
        return false;
}

/* Whose turn it is. Two who queue again at nearly the same time, each on a connection of its own,
 * may come to stand in either order. */
static size_t await_turn(Queue *queue) {
        size_t turn = 0;

        cr_assert(loop_until(queue->wire->world.event, anybody_was_told, queue, WORLD_LIMIT),
                  "nobody was told anything");
        while (queue->holders[turn].total == 0)
                turn++;
        return turn;
}

/* Everybody queues again after its release. Return: requests a handover, of all together. */
static double cycle(Queue *queue) {
        for (size_t i = 0; i < HANDOVERS + queue->n; i++) {
                size_t turn = await_turn(queue);
                Holder *holder = &queue->holders[turn];

                if (i == queue->n) /* until here the queue was not one of those who cycle */
                        wire_reset_counts(queue->wire);
                holder_await(&queue->wire->world, holder, LOCK_EVENT_HELD);
                assert_only_holder(queue, turn);
                holder_release(holder);
                queue_add(queue, turn);
        }
        for (size_t i = 1; i < WORLD_CLIENTS; i++)
                world_mark(&queue->wire->world, wire_session(queue->wire, i));
        return (double)queue_total(queue) / HANDOVERS;
}

Test(lock_cost, requests_per_handover_do_not_grow_with_the_queue) {
        static const size_t lengths[] = {3, 10, 50};
        Wire wire;

        wire_open(&wire, zookeeper_shared(), WORLD_CLIENTS, TIMEOUT);
        for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++) {
                g_autofree char *seen = NULL;
                Queue queue;
                double requests;

                wire_prepare(&wire, "q");
                queue_open(&queue, &wire, lengths[i], 0);
                requests = cycle(&queue);
                seen = queue_describe(&queue);
                cr_assert_leq(requests, REQUESTS_A_HANDOVER, "%.2f with %zu in the queue: %s",
                              requests, lengths[i], seen);
                cr_assert_eq(queue_count(&queue, OPCODE_LIST), HANDOVERS,
                             "one for each that joins: %s", seen);
                queue_close(&queue);
        }
        wire_close(&wire);
}

#define WAITERS 500

Test(lock_cost, five_hundred_waiters_that_reconnect_send_no_list) {
        Wire wire;
        Queue queue;
        Holder holder = {0};
        g_autofree char *seen = NULL;

        wire_open(&wire, zookeeper_shared(), WORLD_CLIENTS, LONG_TIMEOUT);
        wire_hold(&wire, &holder, 0, "q");
        queue_open(&queue, &wire, WAITERS, 1);
        for (unsigned round = 1; round <= 3; round++) {
                for (size_t i = 1; i < WORLD_CLIENTS; i++)
                        proxy_cut(wire.proxies[i]);
                for (size_t i = 1; i < WORLD_CLIENTS; i++)
                        world_await_event(&wire.world, i, SESSION_EVENT_RESUMED, round);
        }
        loop_for(wire.world.event, 2 * A_WHILE);
        seen = queue_describe(&queue);
        cr_assert_eq(queue_count(&queue, OPCODE_LIST), 0, "%s", seen);
        cr_assert_eq(queue_total(&queue), 3 * (WORLD_CLIENTS - 1),
                     "each time one packet a session sets the watches again: %s", seen);
        for (size_t i = 0; i < WAITERS; i++)
                cr_assert_eq(queue.holders[i].total, 0, "%zu was told something", i);

        holder_release(&holder); /* and they go on in their order, all of them */
        queue_drain(&queue);
        cr_assert_eq(queue_count(&queue, OPCODE_LIST), 0);
        queue_close(&queue);
        wire_close(&wire);
}

#define LOCKS 2000

static bool all_hold(void *userdata) {
        const Holder *holders = userdata;

        for (size_t i = 0; i < LOCKS; i++)
                if (holders[i].events[LOCK_EVENT_HELD] == 0)
                        return false;
        return true;
}

Test(lock_cost, two_thousand_locks_in_one_session_reconnect, .timeout = 120) {
        Wire wire;
        g_autofree Holder *holders = g_new0(Holder, LOCKS);

        wire_open(&wire, zookeeper_shared(), 2, LONG_TIMEOUT);
        for (size_t i = 0; i < LOCKS; i++) {
                g_autofree char *name = g_strdup_printf("lock-%zu", i);

                holder_acquire(&wire.world, &holders[i], wire_session(&wire, 1), name, FOREVER);
        }
        cr_assert(loop_until(wire.world.event, all_hold, holders, WORLD_LIMIT));
        loop_for(wire.world.event, A_WHILE); /* the watches on the contenders */
        wire_reset_counts(&wire);
        for (unsigned round = 1; round <= 2; round++) {
                proxy_cut(wire.proxies[1]);
                world_await_event(&wire.world, 1, SESSION_EVENT_RESUMED, round);
        }
        world_mark(&wire.world, wire_session(&wire, 1));
        cr_assert_geq(proxy_bytes_asked(wire.proxies[1]), (size_t)2 * LOCKS * 60,
                      "the watches of 2,000 were set again");
        cr_assert_eq(proxy_total(wire.proxies[1]), 2);
        cr_assert_eq(wire.world.clients[1].events[SESSION_EVENT_SUSPENDED], 2,
                     "it went in circles");
        for (size_t i = 0; i < LOCKS; i++) {
                cr_assert_eq(holders[i].total, 1);
                cr_assert_gt(lock_set_held_until(holders[i].set), clock_boottime());
        }
        for (size_t i = 0; i < LOCKS; i++)
                holder_release(&holders[i]);
        wire_close(&wire);
}

ZOOKEEPER_MAIN;

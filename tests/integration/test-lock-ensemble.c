/* Locks on three servers, of which one goes or lags. */
#include <criterion/criterion.h>
#include <glib.h>

#include "helper-ensemble.h"
#include "helper-wire.h"
#include "zk-request.h"

#define TIMEOUT (10 * USEC_PER_SEC)
#define FOREVER USEC_INFINITY
#define A_WHILE (300 * USEC_PER_MSEC)

/* "B,C,A" for 1: in the order in which a client tries them. */
static char *addresses_from(Ensemble *ensemble, size_t first) {
        return g_strdup_printf("%s,%s,%s", ensemble_address(ensemble, first),
                               ensemble_address(ensemble, (first + 1) % ENSEMBLE_SIZE),
                               ensemble_address(ensemble, (first + 2) % ENSEMBLE_SIZE));
}

static size_t server_of(const World *world, Ensemble *ensemble, size_t client) {
        return ensemble_find(ensemble, zk_server(session_zk(world_session(world, client))));
}

/* clients[0] holds and is at `victim`, clients[1] waits at another. */
static void lose(Ensemble *ensemble, size_t victim) {
        g_autofree char *from_victim = addresses_from(ensemble, victim),
                        *from_next = addresses_from(ensemble, (victim + 1) % ENSEMBLE_SIZE);
        World world;
        Holder holder = {0}, waiter = {0};

        world_open(&world);
        world_connect(&world, 0, from_victim, TIMEOUT, NULL);
        world_connect(&world, 1, from_next, TIMEOUT, NULL);
        cr_assert_eq(server_of(&world, ensemble, 0), victim);
        holder_take(&world, &holder, 0, "a");
        holder_acquire(&world, &waiter, world_session(&world, 1), "a", FOREVER);
        world_await_children(&world, world_session(&world, 1), "a", 2);

        zookeeper_server_kill(ensemble_server(ensemble, victim));
        world_await_event(&world, 0, SESSION_EVENT_RESUMED, 1);
        cr_assert_neq(server_of(&world, ensemble, 0), victim);
        loop_for(world.event, A_WHILE);
        cr_assert_eq(holder.total, 1, "told more than that it holds");
        cr_assert_gt(lock_set_held_until(holder.set), clock_boottime());
        cr_assert_eq(waiter.total, 0, "granted beside the holder");
        for (size_t i = 0; i < 2; i++)
                cr_assert_eq(world.clients[i].events[SESSION_EVENT_LOST], 0);
        world_await_children(&world, world_session(&world, 0), "a", 2);

        holder_release(&holder);
        holder_await(&world, &waiter, LOCK_EVENT_HELD);
        holder_release(&waiter);
        world_close(&world);
        zookeeper_server_start(ensemble_server(ensemble, victim));
}

Test(lock_ensemble, holders_survive_the_loss_of_one_server, .timeout = 120) {
        _cleanup_(ensemble_freep) Ensemble *ensemble = ensemble_new(ZOOKEEPER_TICK_MS);

        zoo_deterministic_conn_order(1);
        lose(ensemble, (ensemble_leader(ensemble) + 1) % ENSEMBLE_SIZE);
        lose(ensemble, ensemble_leader(ensemble));
}

static bool has_reconnected(void *userdata) {
        return proxy_connects(userdata) > 1;
}

/* The creation is committed by the other two while `lagging` stands still; there the client comes
 * back. That one may not have heard of it yet when it is asked. */
static void lose_creation(Ensemble *ensemble, size_t taker, size_t lagging, size_t looker) {
        ZooKeeperServer *server = ensemble_server(ensemble, lagging);
        Wire wire = {0};
        Holder holder = {0};

        world_open(&wire.world);
        world_connect(&wire.world, 0, ensemble_address(ensemble, looker), TIMEOUT, NULL);
        wire.proxies[1] = proxy_new(wire.world.event, ensemble_address(ensemble, taker));
        world_connect(&wire.world, 1, proxy_address(wire.proxies[1]), TIMEOUT, NULL);
        wire_prepare(&wire, "a");
        wire_reset_counts(&wire);

        zookeeper_server_freeze(server);
        proxy_order(wire.proxies[1], OPCODE_CREATE, PROXY_LOSE_ANSWER, 1);
        proxy_retarget(wire.proxies[1], ensemble_address(ensemble, lagging));
        holder_acquire(&wire.world, &holder, wire_session(&wire, 1), "a", FOREVER);
        cr_assert(loop_until(wire.world.event, has_reconnected, wire.proxies[1], WORLD_LIMIT));
        world_await_children(&wire.world, wire_session(&wire, 0), "a", 1);
        zookeeper_server_thaw(server);
        holder_await(&wire.world, &holder, LOCK_EVENT_HELD);

        world_settle(&wire.world, wire_session(&wire, 0)); /* another server than the holder's */
        wire_assert_alone(&wire, &holder, "a");
        cr_assert_eq(proxy_count(wire.proxies[1], OPCODE_CREATE), 1, "it was created again");
        cr_assert_geq(proxy_count(wire.proxies[1], OPCODE_MULTI), 1,
                      "what a follower shows counts only after a sync");
        cr_assert_eq(wire.world.clients[1].events[SESSION_EVENT_LOST], 0);
        holder_release(&holder);
        wire_close(&wire);
}

Test(lock_ensemble, a_lost_creation_makes_no_duplicate_at_a_lagging_follower, .timeout = 120) {
        _cleanup_(ensemble_freep) Ensemble *ensemble = ensemble_new(ZOOKEEPER_TICK_MS);
        size_t leader = ensemble_leader(ensemble), one = (leader + 1) % ENSEMBLE_SIZE,
               two = (leader + 2) % ENSEMBLE_SIZE;

        for (unsigned i = 0; i < 3; i++) {
                lose_creation(ensemble, leader, one, two);
                lose_creation(ensemble, one, two, leader);
        }
}

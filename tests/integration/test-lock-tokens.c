/* Fencing tokens: that they grow in the order of holds, whoever queued when, and what that costs.
 * lock-token.c explains the two kinds; "freshly" is the one that is drawn when all is held.
 */
#include <criterion/criterion.h>
#include <glib.h>
#include <string.h>

#include "helper-wire.h"
#include "helper-zookeeper-main.h"

#define TIMEOUT (20 * USEC_PER_SEC)
#define FOREVER USEC_INFINITY
#define A_WHILE (300 * USEC_PER_MSEC)

/* Asks by clients[index], and waits until `n` contenders stand in the resource. */
static void ask(World *world, Holder *holder, size_t index, const char *resources, bool freshly,
                const char *resource, size_t n) {
        if (freshly)
                holder_acquire_freshly(world, holder, world_session(world, index), resources);
        else
                holder_acquire(world, holder, world_session(world, index), resources, FOREVER);
        world_await_children(world, world_session(world, 0), resource, n);
}

static ZkStat contender_stat(World *world, const Holder *holder) {
        ZkStat stat;

        cr_assert_eq(
            world_exists(world, world_session(world, 0), lock_set_paths(holder->set)[0], &stat),
            ZK_OK);
        return stat;
}

static int64_t token(const Holder *holder) {
        int64_t number = lock_set_fencing_token(holder->set);

        cr_assert_gt(number, 0);
        return number;
}

static int64_t token_of(const Holder *holder, const char *resource) {
        int64_t number = lock_set_fencing_token_of(holder->set, resource);

        cr_assert_gt(number, 0, "%s", resource);
        return number;
}

/* What a holder wrote while it held, as a job does with its claim: the number of that. */
static int64_t write_a_claim(World *world, const char *name) {
        g_autofree char *path = world_path(world, name);
        ZkStat stat;

        cr_assert_eq(world_create(world, world_session(world, 0), path, 0), ZK_OK);
        cr_assert_eq(world_exists(world, world_session(world, 0), path, &stat), ZK_OK);
        cr_assert_eq(world_delete(world, world_session(world, 0), path), ZK_OK);
        return stat.czxid;
}

/* `both` queues at a before `second` does, and at b after it. */
static void cross(World *world, Holder *both, Holder *second, bool freshly) {
        Holder first = {0};

        ask(world, &first, 0, "a", freshly, "a", 1);
        holder_await(world, &first, LOCK_EVENT_HELD);
        ask(world, both, 0, "a b", freshly, "a", 2);
        ask(world, second, 1, "a", freshly, "a", 3);
        holder_release(&first);
        holder_await(world, both, LOCK_EVENT_HELD);
}

Test(lock_tokens, each_of_several_resources_has_its_own_in_the_order_of_its_holds) {
        Holder both = {0}, second = {0}, third = {0};
        int64_t a, b;
        World world;

        world_open_shared(&world, 2, TIMEOUT);
        cross(&world, &both, &second, false);
        a = token_of(&both, "a");
        b = token_of(&both, "b");
        ask(&world, &third, 1, "b", false, "b", 2);
        holder_release(&both);
        holder_await(&world, &second, LOCK_EVENT_HELD);
        holder_await(&world, &third, LOCK_EVENT_HELD);
        cr_assert_lt(a, token_of(&second, "a"));
        cr_assert_lt(b, token_of(&third, "b"));
        cr_assert_gt(b, token(&second), "one number would have been right: this shows nothing");
        holder_release(&second);
        holder_release(&third);
        world_close(&world);
}

Test(lock_tokens, there_is_no_number_for_several_resources_that_was_not_drawn_freshly) {
        Holder both = {0};
        World world;

        world_open_shared(&world, 2, TIMEOUT);
        ask(&world, &both, 0, "a b", false, "b", 1);
        holder_await(&world, &both, LOCK_EVENT_HELD);
        cr_assert_eq(lock_set_fencing_token(both.set), 0);
        cr_assert_lt(token_of(&both, "a"), token_of(&both, "b"));
        cr_assert_eq(lock_set_fencing_token_of(both.set, "c"), 0);
        holder_release(&both);
        world_close(&world);
}

Test(lock_tokens, a_fresh_one_is_one_for_all_resources_in_the_order_of_holds) {
        Holder both = {0}, second = {0}, third = {0};
        World world;
        int64_t one;

        world_open_shared(&world, 2, TIMEOUT);
        cross(&world, &both, &second, true);
        one = token(&both);
        cr_assert_eq(token_of(&both, "a"), one);
        cr_assert_eq(token_of(&both, "b"), one);
        ask(&world, &third, 1, "b", true, "b", 2);
        holder_release(&both);
        holder_await(&world, &second, LOCK_EVENT_HELD);
        holder_await(&world, &third, LOCK_EVENT_HELD);
        cr_assert_gt(token(&second), one);
        cr_assert_gt(token(&third), one);
        holder_release(&second);
        holder_release(&third);
        world_close(&world);
}

/* A waiter has a contender that is older than what the holder does. */
Test(lock_tokens, a_fresh_one_is_larger_than_what_a_holder_wrote_while_we_waited) {
        static const char *const wanted[] = {"a", "~a", "a b", "~a b"};
        World world;

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++) {
                Holder holder = {0}, waiter = {0};
                int64_t claim;

                ask(&world, &holder, 0, "a", true, "a", 1);
                holder_await(&world, &holder, LOCK_EVENT_HELD);
                ask(&world, &waiter, 1, wanted[i], true, "a", 2);
                claim = write_a_claim(&world, "claim");
                cr_assert_gt(claim, token(&holder));
                cr_assert_eq(waiter.total, 0);
                cr_assert_eq(lock_set_fencing_token(waiter.set), 0, "it waits");
                holder_release(&holder);
                holder_await(&world, &waiter, LOCK_EVENT_HELD);
                cr_assert_lt(contender_stat(&world, &waiter).czxid, claim);
                cr_assert_gt(token(&waiter), claim, "%s", wanted[i]);
                holder_release(&waiter);
                world_await_children(&world, world_session(&world, 0), "a", 0);
        }
        world_close(&world);
}

/* It is made when it is held. */
Test(lock_tokens, that_of_a_single_node_is_fresh_without_being_drawn) {
        const LockRequest single = {.resource = "a", .naming = LOCK_NAMING_SINGLE_NODE};
        const LockOptions options = {.wait = FOREVER, .fresh_token = true};
        Holder holder = {0}, waiter = {0};
        int64_t claim;
        ZkStat stat;
        World world;

        world_open_shared(&world, 2, TIMEOUT);
        holder_acquire_with(&world, &holder, world_session(&world, 0), single, options);
        holder_await(&world, &holder, LOCK_EVENT_HELD);
        holder_acquire_with(&world, &waiter, world_session(&world, 1), single, options);
        world_settle(&world, world_session(&world, 1));
        claim = write_a_claim(&world, "claim");
        holder_release(&holder);
        holder_await(&world, &waiter, LOCK_EVENT_HELD);
        stat = contender_stat(&world, &waiter);
        cr_assert_gt(token(&waiter), claim);
        cr_assert_eq(token(&waiter), stat.czxid);
        cr_assert_eq(stat.mzxid, stat.czxid, "it was written to");
        holder_release(&waiter);
        world_close(&world);
}

/* A set that draws writes to the node in which it is asked. */
Test(lock_tokens, who_was_asked_to_let_go_while_he_waited_is_told_in_spite_of_the_draw) {
        World world;

        world_open_shared(&world, 2, TIMEOUT);
        for (LockStrategy strategy = LOCK_STRATEGY_PREDECESSOR; strategy <= LOCK_STRATEGY_PARENT;
             strategy++) {
                Holder holder = {0}, waiter = {0};

                ask(&world, &holder, 0, "a", true, "a", 1);
                holder_await(&world, &holder, LOCK_EVENT_HELD);
                holder_acquire_with(&world, &waiter, world_session(&world, 1),
                                    (LockRequest){.resource = "a"},
                                    (LockOptions){.wait = FOREVER,
                                                  .revocable = true,
                                                  .fresh_token = true,
                                                  .strategy = strategy});
                world_await_children(&world, world_session(&world, 0), "a", 2);
                world_settle(&world, world_session(&world, 1)); /* its path is known */
                cr_assert_eq(lock_revoke(world_session(&world, 0), lock_set_paths(waiter.set)[0],
                                         NULL, NULL),
                             0);
                holder_release(&holder);
                while (waiter.total < 2)
                        holder_await_total(&world, &waiter, waiter.total);
                cr_assert_eq(waiter.events[LOCK_EVENT_HELD], 1);
                cr_assert_eq(waiter.events[LOCK_EVENT_REVOKED], 1);
                holder_release(&waiter);
                world_await_children(&world, world_session(&world, 0), "a", 0);
        }
        world_close(&world);
}

static void hold_to_step_down(World *world, Holder *holder, bool freshly, bool behind) {
        const LockOptions options = {
            .wait = FOREVER, .may_downgrade = true, .fresh_token = freshly};
        Holder first = {0};

        if (behind)
                ask(world, &first, 0, "a", freshly, "a", 1);
        holder_acquire_with(world, holder, world_session(world, 1), (LockRequest){.resource = "a"},
                            options);
        world_await_children(world, world_session(world, 0), "a", behind ? 2 : 1);
        if (behind)
                holder_release(&first);
        holder_await(world, holder, LOCK_EVENT_HELD);
}

Test(lock_tokens, who_steps_down_keeps_it) {
        World world;

        world_open_shared(&world, 2, TIMEOUT);
        for (unsigned i = 0; i < 4; i++) {
                bool freshly = i & 1, behind = i & 2;
                Holder holder = {0}, next = {0};
                int64_t before;

                hold_to_step_down(&world, &holder, freshly, behind);
                before = token(&holder);
                cr_assert_eq(lock_set_downgrade(holder.set), 0);
                holder_await_total(&world, &holder, 1);
                cr_assert_eq(holder.events[LOCK_EVENT_DOWNGRADED], 1);
                for (unsigned k = 0; k < 2; k++) /* the read of the new node was answered */
                        world_settle(&world, world_session(&world, 1));
                cr_assert_eq(token(&holder), before);
                cr_assert_eq(token_of(&holder, "a"), before);
                cr_assert_gt(contender_stat(&world, &holder).czxid, before, "no other node");
                ask(&world, &next, 0, "a", freshly, "a", 2);
                holder_release(&holder);
                holder_await(&world, &next, LOCK_EVENT_HELD);
                cr_assert_gt(token(&next), before);
                holder_release(&next);
                world_await_children(&world, world_session(&world, 0), "a", 0);
        }
        world_close(&world);
}

/* What it costs, and what becomes of a draw on a bad connection: clients[1] is behind a proxy. */

static void assert_writes(Wire *wire, unsigned creates, unsigned sets) {
        g_autofree char *seen = NULL;

        world_mark(&wire->world, wire_session(wire, 1));
        seen = proxy_describe(wire->proxies[1]);
        cr_assert_eq(proxy_count(wire->proxies[1], OPCODE_CREATE), creates, "%s", seen);
        cr_assert_eq(proxy_count(wire->proxies[1], OPCODE_SET), sets, "%s", seen);
        cr_assert_eq(proxy_writes(wire->proxies[1]), creates + sets, "%s", seen);
}

Test(lock_tokens, a_fresh_one_costs_nothing_where_nobody_held_before) {
        static const char *const wanted[] = {"a", "~a", "a b"};
        Wire wire;

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        wire_prepare(&wire, "a");
        wire_prepare(&wire, "b");
        for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++) {
                unsigned n = strlen(wanted[i]) > 2 ? 2 : 1;
                Holder holder = {0};

                wire_reset_counts(&wire);
                holder_acquire_freshly(&wire.world, &holder, wire_session(&wire, 1), wanted[i]);
                holder_await(&wire.world, &holder, LOCK_EVENT_HELD);
                (void)token(&holder);
                assert_writes(&wire, n, 0);
                cr_assert_eq(proxy_count(wire.proxies[1], OPCODE_LIST), n);
                holder_release(&holder);
                world_await_empty(&wire.world, wire_session(&wire, 0));
        }
        wire_close(&wire);
}

/* clients[1] waits behind clients[0]. */
static void wait_behind(Wire *wire, Holder *holder, Holder *waiter, const char *resources) {
        *holder = *waiter = (Holder){0};
        wire_hold(wire, holder, 0, "a");
        ask(&wire->world, waiter, 1, resources, true, "a", 2);
        world_settle(&wire->world, wire_session(wire, 1)); /* the list */
        wire_reset_counts(wire);                           /* and the watches */
}

Test(lock_tokens, who_waited_draws_a_fresh_one_with_one_write) {
        Holder holder, waiter;
        Wire wire;

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        wire_prepare(&wire, "b");
        wait_behind(&wire, &holder, &waiter, "a");
        holder_release(&holder);
        holder_await(&wire.world, &waiter, LOCK_EVENT_HELD);
        assert_writes(&wire, 0, 1);
        holder_release(&waiter);
        world_await_empty(&wire.world, wire_session(&wire, 0));

        wait_behind(&wire, &holder, &waiter, "a b");
        holder_release(&holder);
        holder_await(&wire.world, &waiter, LOCK_EVENT_HELD);
        assert_writes(&wire, 1, 1);
        holder_release(&waiter);
        wire_close(&wire);
}

static const ProxyFate fates[] = {PROXY_LOSE_ANSWER, PROXY_CUT_BEFORE, PROXY_TEAR_ANSWER,
                                  PROXY_SPOIL_ANSWER};

Test(lock_tokens, a_draw_whose_answer_is_lost_is_repeated_and_held_is_told_once) {
        Wire wire;

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        for (size_t i = 0; i < G_N_ELEMENTS(fates); i++) {
                Holder holder, waiter;
                int64_t claim;

                wait_behind(&wire, &holder, &waiter, "a");
                claim = write_a_claim(&wire.world, "claim");
                proxy_order(wire.proxies[1], OPCODE_SET, fates[i], 2);
                holder_release(&holder);
                holder_await(&wire.world, &waiter, LOCK_EVENT_HELD);
                cr_assert_eq(proxy_ordered(wire.proxies[1]), 0);
                loop_for(wire.world.event, A_WHILE);
                cr_assert_eq(waiter.total, 1);
                cr_assert_gt(token(&waiter), claim);
                cr_assert_eq(token(&waiter), contender_stat(&wire.world, &waiter).mzxid);
                holder_release(&waiter);
                world_await_empty(&wire.world, wire_session(&wire, 0));
        }
        wire_close(&wire);
}

Test(lock_tokens, who_is_deleted_during_the_draw_has_lost_and_was_never_told_that_he_holds) {
        Wire wire;

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        for (size_t i = 0; i < G_N_ELEMENTS(fates); i++) {
                Proxy *proxy = wire.proxies[1];
                Holder holder, waiter;

                wait_behind(&wire, &holder, &waiter, "a");
                proxy_order(proxy, OPCODE_SET, fates[i], 1);
                proxy_admit(proxy, false);
                holder_release(&holder);
                world_await_event(&wire.world, 1, SESSION_EVENT_SUSPENDED, (unsigned)i + 1);
                cr_assert_eq(proxy_ordered(proxy), 0);
                cr_assert_eq(world_delete(&wire.world, wire_session(&wire, 0),
                                          lock_set_paths(waiter.set)[0]),
                             ZK_OK);
                cr_assert_eq(waiter.total, 0);
                proxy_admit(proxy, true);
                holder_await(&wire.world, &waiter, LOCK_EVENT_LOST);
                cr_assert_eq(lock_set_fencing_token(waiter.set), 0);
                holder_release(&waiter);
                world_await_event(&wire.world, 1, SESSION_EVENT_RESUMED, (unsigned)i + 1);
        }
        wire_close(&wire);
}

/* The process after us is told the same number, not that of the place in the queue. */
Test(lock_tokens, one_that_was_drawn_survives_an_adoption) {
        const LockOptions freshly = {.fresh_token = true};
        Holder first = {0}, holder = {0};
        StateFile file = world_state_file_new();
        g_autofree char *path = NULL;
        int64_t earlier, before;
        World world;

        world_open_shared(&world, 1, TIMEOUT);
        world_connect(&world, 1, zookeeper_shared(), TIMEOUT, file.path);
        ask(&world, &first, 0, "a", true, "a", 1);
        holder_await(&world, &first, LOCK_EVENT_HELD);
        ask(&world, &holder, 1, "a", true, "a", 2);
        earlier = write_a_claim(&world, "claim");
        holder_release(&first);
        holder_await(&world, &holder, LOCK_EVENT_HELD);
        before = token(&holder);
        cr_assert_gt(before, earlier);
        path = g_strdup(lock_set_paths(holder.set)[0]);
        holder.set = lock_set_forget(holder.set);
        world_reattach(&world, 1, zookeeper_shared(), TIMEOUT, file.path);
        holder_adopt_with(&world, &holder, 1, path, &freshly);
        holder_await(&world, &holder, LOCK_EVENT_HELD);
        cr_assert_eq(token(&holder), before);
        holder_release(&holder);
        world_disconnect(&world, 1);
        world_state_file_clear(&file);
        world_close(&world);
}

ZOOKEEPER_MAIN;

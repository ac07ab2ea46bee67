/* Locks against a real server that behaves: order, modes, wait, several at once, takeover by
 * another process. What happens when connection or server do not behave is in test-lock-faults.c.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "helper-crowd.h"
#include "helper-zookeeper-main.h"

#define TIMEOUT (20 * USEC_PER_SEC)
#define SHORT_TIMEOUT (3 * USEC_PER_SEC)
#define FOREVER USEC_INFINITY
#define A_WHILE (300 * USEC_PER_MSEC)
#define UUID "01234567-89ab-cdef-0123-456789abcdef"

Test(lock, alone_it_is_held_and_released) {
        World world;
        Holder holder = {0};
        usec_t server, sent, received;
        size_t before = 99;

        world_open_shared(&world, 2, TIMEOUT);
        holder_acquire(&world, &holder, world_session(&world, 0), "a", FOREVER);
        cr_assert_eq(lock_set_held_until(holder.set), 0);
        cr_assert_eq(lock_set_fencing_token(holder.set), 0);
        holder_await(&world, &holder, LOCK_EVENT_HELD);
        cr_assert_gt(lock_set_held_until(holder.set), clock_boottime());
        cr_assert_gt(lock_set_fencing_token(holder.set), 0);
        cr_assert_not_null(lock_set_paths(holder.set)[0]);
        cr_assert_null(lock_set_paths(holder.set)[1]);
        cr_assert_str_empty(lock_set_waiting_for(holder.set, &before));
        cr_assert_eq(before, 0);
        cr_assert(lock_set_clock_sample(holder.set, &server, &sent, &received));
        cr_assert_leq(sent, received);
        cr_assert_geq(server + USEC_PER_SEC, sent);
        cr_assert_leq(server, received + USEC_PER_SEC);
        holder_release(&holder);
        world_close(&world);
}

Test(lock, bad_requests_are_refused_and_send_nothing) {
        static const char *const bad[] = {"", "a/b", "a\nb", "a\x7f", "job:a/b", ".", "..", "\xff"};
        World world;
        Holder holder = {0};

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                cr_assert_eq(
                    holder_try_acquire(&world, &holder, world_session(&world, 0), bad[i], FOREVER),
                    -EINVAL, "'%s'", bad[i]);
                cr_assert_null(holder.set, "outputs are untouched");
        }
        cr_assert_eq(lock_set_acquire(world_session(&world, 0), NULL, 0,
                                      &(LockOptions){.parent = "/x"}, holder_callback, &holder,
                                      &holder.set),
                     -EINVAL);
        cr_assert_eq(lock_set_adopt(world_session(&world, 0), (const char *const[]){"/a/b", NULL},
                                    NULL, holder_callback, &holder, &holder.set),
                     -EINVAL);
        cr_assert_null(holder.set);
        world_close(&world);
}

/* A server does not tell a container from a persistent node: which of them was asked for is seen on
 * the wire (test-lock-cost.c). */
Test(lock, the_resource_and_its_parents_are_made_where_missing) {
        World world;
        Holder holder = {0};

        world_open_shared(&world, 2, TIMEOUT);
        holder_take(&world, &holder, 0, "Any:name,\xc3\xa4");
        world_await_children(&world, world_session(&world, 1), "Any:name,\xc3\xa4", 1);
        holder_release(&holder);
        holder_acquire_with(&world, &holder, world_session(&world, 0),
                            (LockRequest){.resource = "a"},
                            (LockOptions){.wait = FOREVER, .persistent = true});
        holder_await(&world, &holder, LOCK_EVENT_HELD);
        world_await_children(&world, world_session(&world, 1), "a", 1);
        holder_release(&holder);
        world_close(&world);
}

/* Each takes the lock many times; `inside` counts who believes to have it. */
typedef struct Contest {
        World *world;
        unsigned inside, rounds;
        struct Player {
                struct Contest *contest;
                Session *session;
                LockSet *set;
                unsigned rounds;
                sd_event_source *leave;
        } players[2];
} Contest;

static void player_enter(struct Player *player);

static int on_player_leaves(sd_event_source *source, void *userdata) {
        struct Player *player = userdata;

        player->leave = sd_event_source_disable_unref(player->leave);
        player->contest->inside--;
        player->set = lock_set_free(player->set);
        if (--player->rounds > 0)
                player_enter(player);
        else
                player->contest->rounds--;
        return 0;
}

static void on_player_event(LockSet *set, LockEvent event, void *userdata) {
        struct Player *player = userdata;

        cr_assert_eq(event, LOCK_EVENT_HELD);
        cr_assert_eq(player->contest->inside, 0, "both hold");
        player->contest->inside++;
        cr_assert_geq(sd_event_add_defer(player->contest->world->event, &player->leave,
                                         on_player_leaves, player),
                      0);
}

static void player_enter(struct Player *player) {
        int r = lock_set_acquire(
            player->session, &(LockRequest){.resource = "a"}, 1,
            &(LockOptions){.parent = player->contest->world->parent, .wait = FOREVER},
            on_player_event, player, &player->set);

        cr_assert_eq(r, 0);
}

static bool contest_is_over(void *userdata) {
        return ((Contest *)userdata)->rounds == 0;
}

Test(lock, two_clients_never_both_hold) {
        World world;
        Contest contest = {.world = &world, .rounds = 2};

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t i = 0; i < 2; i++) {
                contest.players[i] =
                    (struct Player){&contest, world_session(&world, i), NULL, 60, NULL};
                player_enter(&contest.players[i]);
        }
        cr_assert(loop_until(world.event, contest_is_over, &contest, WORLD_LIMIT),
                  "a player starved");
        world_close(&world);
}

#define WAITERS 50

Test(lock, fifty_waiters_are_served_in_their_order) {
        World world;
        Holder first = {0}, waiters[WAITERS] = {{0}};
        unsigned turns = 0;
        size_t before;

        world_open_shared(&world, 2, TIMEOUT);
        holder_take(&world, &first, 0, "a");
        for (size_t i = 0; i < WAITERS; i++) {
                waiters[i].turns = &turns;
                holder_acquire(&world, &waiters[i], world_session(&world, i % 2), "a", FOREVER);
                world_await_children(&world, world_session(&world, 0), "a", i + 2);
        }
        world_settle(&world, world_session(&world, 0));
        world_settle(&world, world_session(&world, 1));
        cr_assert_str_eq(lock_set_waiting_for(waiters[WAITERS - 1].set, &before), "a");
        cr_assert_eq(before, WAITERS);
        holder_release(&first);
        for (size_t i = 0; i < WAITERS; i++) {
                holder_await(&world, &waiters[i], LOCK_EVENT_HELD);
                cr_assert_eq(waiters[i].turn, i + 1);
                cr_assert_eq(turns, i + 1, "somebody else was granted, too");
                holder_release(&waiters[i]);
        }
        world_close(&world);
}

Test(lock, a_waiter_in_the_middle_that_goes_grants_nothing) {
        World world;
        Holder queue[6] = {{0}};

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t i = 0; i < 6; i++) {
                holder_acquire(&world, &queue[i], world_session(&world, i % 2), "a", FOREVER);
                world_await_children(&world, world_session(&world, 0), "a", i + 1);
        }
        holder_await(&world, &queue[0], LOCK_EVENT_HELD);
        holder_release(&queue[3]);
        holder_release(&queue[4]);
        holder_release(&queue[1]);
        world_await_children(&world, world_session(&world, 0), "a", 3);
        loop_for(world.event, A_WHILE);
        cr_assert_eq(queue[2].total, 0);
        cr_assert_eq(queue[5].total, 0);
        holder_release(&queue[0]);
        holder_await(&world, &queue[2], LOCK_EVENT_HELD);
        loop_for(world.event, A_WHILE);
        cr_assert_eq(queue[5].total, 0);
        holder_release(&queue[2]);
        holder_await(&world, &queue[5], LOCK_EVENT_HELD);
        holder_release(&queue[5]);
        world_close(&world);
}

Test(lock, readers_share_and_a_writer_waits_for_all_of_them) {
        World world;
        Holder readers[3] = {{0}}, writer = {0};

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t i = 0; i < 3; i++) {
                holder_take(&world, &readers[i], i % 2, "~a");
        }
        holder_acquire(&world, &writer, world_session(&world, 1), "a", FOREVER);
        for (size_t i = 3; i-- > 0;) {
                loop_for(world.event, A_WHILE / 2);
                cr_assert_eq(writer.total, 0, "a writer beside a reader");
                holder_release(&readers[i == 2 ? 0 : i == 0 ? 2 : 1]);
        }
        holder_await(&world, &writer, LOCK_EVENT_HELD);
        holder_release(&writer);
        world_close(&world);
}

Test(lock, a_reader_waits_behind_a_queued_writer) {
        World world;
        Holder reader = {0}, writer = {0}, late = {0};

        world_open_shared(&world, 2, TIMEOUT);
        holder_take(&world, &reader, 0, "~a");
        holder_acquire(&world, &writer, world_session(&world, 1), "a", FOREVER);
        world_await_children(&world, world_session(&world, 0), "a", 2);
        holder_acquire(&world, &late, world_session(&world, 0), "~a", FOREVER);
        loop_for(world.event, A_WHILE);
        cr_assert_eq(late.total, 0, "it overtook the writer");
        holder_release(&reader);
        holder_await(&world, &writer, LOCK_EVENT_HELD);
        loop_for(world.event, A_WHILE);
        cr_assert_eq(late.total, 0);
        holder_release(&writer);
        holder_await(&world, &late, LOCK_EVENT_HELD);
        holder_release(&late);
        world_close(&world);
}

Test(lock, a_reader_goes_on_when_the_writer_before_it_gives_up) {
        World world;
        Holder reader = {0}, writer = {0}, late = {0};

        world_open_shared(&world, 2, TIMEOUT);
        holder_take(&world, &reader, 0, "~a");
        holder_acquire(&world, &writer, world_session(&world, 1), "a", A_WHILE);
        world_await_children(&world, world_session(&world, 0), "a", 2);
        holder_acquire(&world, &late, world_session(&world, 0), "~a", FOREVER);
        holder_await(&world, &writer, LOCK_EVENT_TIMEOUT);
        holder_await(&world, &late, LOCK_EVENT_HELD);
        holder_release(&writer);
        holder_release(&reader);
        holder_release(&late);
        world_close(&world);
}

Test(lock, a_try_and_a_timed_wait_leave_no_node) {
        World world;
        Holder holder = {0}, loser = {0};
        size_t before = 0;
        usec_t begin;

        world_open_shared(&world, 2, TIMEOUT);
        holder_acquire(&world, &loser, world_session(&world, 1), "a", 0);
        holder_await(&world, &loser, LOCK_EVENT_HELD);
        holder_release(&loser);
        holder_take(&world, &holder, 0, "a");

        holder_acquire(&world, &loser, world_session(&world, 1), "a", 0);
        holder_await(&world, &loser, LOCK_EVENT_TIMEOUT);
        world_await_children(&world, world_session(&world, 0), "a", 1);
        cr_assert_eq(lock_set_held_until(loser.set), 0);
        cr_assert_null(lock_set_paths(loser.set)[0]);
        cr_assert_str_eq(lock_set_waiting_for(loser.set, &before), "a");
        cr_assert_eq(before, 1);
        holder_release(&loser);

        begin = clock_monotonic();
        holder_acquire(&world, &loser, world_session(&world, 1), "a", A_WHILE);
        holder_await(&world, &loser, LOCK_EVENT_TIMEOUT);
        cr_assert_geq(clock_monotonic() - begin, A_WHILE);
        world_await_children(&world, world_session(&world, 0), "a", 1);
        holder_release(&loser);
        cr_assert_eq(holder.total, 1);
        holder_release(&holder);
        world_close(&world);
}

Test(lock, a_set_freed_while_its_creation_is_on_its_way_leaves_no_node) {
        World world;
        Holder holder = {0};

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t i = 0; i < 20; i++) {
                holder_acquire(&world, &holder, world_session(&world, 0), "a", FOREVER);
                (void)sd_event_run(world.event, 50 * i);
                holder_release(&holder);
        }
        world_settle(&world, world_session(&world, 0));
        world_await_children(&world, world_session(&world, 1), "a", 0);
        world_close(&world);
}

Test(lock, a_set_may_be_freed_by_its_own_event) {
        World world;
        Holder holder = {.free_in_callback = true}, other = {.free_in_callback = true};

        world_open_shared(&world, 2, TIMEOUT);
        holder_acquire(&world, &holder, world_session(&world, 0), "a", FOREVER);
        holder_acquire(&world, &other, world_session(&world, 1), "a", FOREVER);
        holder_await(&world, &holder, LOCK_EVENT_HELD);
        holder_await(&world, &other, LOCK_EVENT_HELD);
        cr_assert_null(holder.set);
        world_close(&world);
}

Test(lock, several_resources_are_taken_all_or_none) {
        World world;
        Holder blocker = {0}, both = {0}, probe = {0};
        g_autofree char *a = NULL, *b = NULL;

        world_open_shared(&world, 2, TIMEOUT);
        holder_take(&world, &blocker, 0, "b");
        holder_acquire(&world, &both, world_session(&world, 1), "b a ~c", A_WHILE);
        world_await_children(&world, world_session(&world, 0), "b", 2);
        holder_acquire(&world, &probe, world_session(&world, 0), "a", 0);
        holder_await(&world, &probe, LOCK_EVENT_TIMEOUT);
        holder_release(&probe);
        holder_await(&world, &both, LOCK_EVENT_TIMEOUT);
        world_await_children(&world, world_session(&world, 0), "a", 0);
        world_await_children(&world, world_session(&world, 0), "b", 1);
        world_await_children(&world, world_session(&world, 0), "c", 0);
        holder_release(&both);

        holder_acquire(&world, &both, world_session(&world, 1), "b a ~c", FOREVER);
        world_await_children(&world, world_session(&world, 0), "b", 2);
        holder_release(&blocker);
        holder_await(&world, &both, LOCK_EVENT_HELD);
        a = world_path(&world, "a/");
        b = world_path(&world, "b/");
        cr_assert(g_str_has_prefix(lock_set_paths(both.set)[0], a), "canonical order");
        cr_assert(g_str_has_prefix(lock_set_paths(both.set)[1], b));
        cr_assert_null(lock_set_paths(both.set)[3]);
        holder_release(&both);
        world_close(&world);
}

Test(lock, two_sets_in_opposite_order_do_not_block_each_other) {
        World world;
        Holder one = {0}, two = {0};

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t i = 0; i < 10; i++) {
                holder_acquire(&world, &one, world_session(&world, 0), "a b c", FOREVER);
                holder_acquire(&world, &two, world_session(&world, 1), "c b a", FOREVER);
                while (one.total + two.total == 0)
                        (void)sd_event_run(world.event, USEC_PER_SEC);
                cr_assert_neq(one.total, two.total, "both hold");
                holder_release(one.total ? &one : &two);
                holder_await(&world, one.total ? &two : &one, LOCK_EVENT_HELD);
                holder_release(one.set ? &one : &two);
        }
        world_close(&world);
}

Test(lock, fencing_tokens_grow_also_when_the_directory_was_made_again) {
        World world;
        Holder holder = {0};
        int64_t last = 0;
        g_autofree char *path = NULL;

        world_open_shared(&world, 2, TIMEOUT);
        path = world_path(&world, "a");
        for (size_t i = 0; i < 5; i++) {
                holder_take(&world, &holder, i % 2, "a");
                cr_assert_gt(lock_set_fencing_token(holder.set), last);
                last = lock_set_fencing_token(holder.set);
                holder_release(&holder);
                world_await_children(&world, world_session(&world, 0), "a", 0);
                if (i > 2)
                        cr_assert_eq(world_delete(&world, world_session(&world, 0), path), ZK_OK);
        }
        world_close(&world);
}

/* Contenders of other schemes, before and after ours. */
Test(lock, a_contender_that_cannot_see_ours_is_refused_and_named) {
        static const char *const foreign[] = {"0123456789abcdef0123456789abcdef__lock__",
                                              "_c_" UUID "-lock-", "x-"};
        World world;
        Holder holder = {0};

        world_open_shared(&world, 2, TIMEOUT);
        holder_take(&world, &holder, 0, "a");
        holder_release(&holder);
        for (size_t i = 0; i < G_N_ELEMENTS(foreign); i++) {
                g_autofree char *directory = world_path(&world, "a");
                g_autofree char *path = g_strconcat(directory, "/", foreign[i], NULL);
                g_auto(GStrv) children = NULL;

                world_await_children(&world, world_session(&world, 1), "a", 0);
                cr_assert_eq(world_create(&world, world_session(&world, 1), path,
                                          ZK_CREATE_EPHEMERAL | ZK_CREATE_SEQUENTIAL),
                             ZK_OK);
                holder_acquire(&world, &holder, world_session(&world, 0), "a", FOREVER);
                holder_await(&world, &holder, LOCK_EVENT_FAILED);
                cr_assert_not_null(strstr(lock_set_fault(holder.set), path), "%s",
                                   lock_set_fault(holder.set));
                world_await_children(&world, world_session(&world, 1), "a", 1);
                holder_release(&holder);
                children = world_list(&world, world_session(&world, 1), "a");
                g_free(path);
                path = g_strconcat(directory, "/", children[0], NULL);
                cr_assert_eq(world_delete(&world, world_session(&world, 1), path), ZK_OK);
        }
        world_close(&world);
}

Test(lock, a_resource_that_is_ephemeral_is_no_resource) {
        World world;
        Holder holder = {0};
        g_autofree char *path = NULL;

        world_open_shared(&world, 2, TIMEOUT);
        holder_take(&world, &holder, 0, "a");
        holder_release(&holder);
        path = world_path(&world, "b");
        cr_assert_eq(world_create(&world, world_session(&world, 1), path, ZK_CREATE_EPHEMERAL),
                     ZK_OK);
        holder_acquire(&world, &holder, world_session(&world, 0), "b", FOREVER);
        holder_await(&world, &holder, LOCK_EVENT_FAILED);
        cr_assert_not_null(strstr(lock_set_fault(holder.set), path));
        holder_release(&holder);
        world_close(&world);
}

Test(lock, a_contender_that_somebody_deletes_is_lost) {
        World world;
        Holder holder = {0}, waiter = {0}, last = {0};

        world_open_shared(&world, 2, TIMEOUT);
        holder_take(&world, &holder, 0, "a");
        holder_acquire(&world, &waiter, world_session(&world, 0), "a", FOREVER);
        world_await_children(&world, world_session(&world, 1), "a", 2);
        holder_acquire(&world, &last, world_session(&world, 0), "a", FOREVER);
        world_await_children(&world, world_session(&world, 1), "a", 3);
        world_settle(&world, world_session(&world, 0));

        cr_assert_eq(world_delete(&world, world_session(&world, 1), lock_set_paths(waiter.set)[0]),
                     ZK_OK);
        holder_await(&world, &waiter, LOCK_EVENT_LOST);
        cr_assert_eq(world_delete(&world, world_session(&world, 1), lock_set_paths(holder.set)[0]),
                     ZK_OK);
        holder_await_total(&world, &holder, 1);
        cr_assert_eq(holder.events[LOCK_EVENT_LOST], 1);
        cr_assert_eq(lock_set_held_until(holder.set), 0);
        holder_await(&world, &last, LOCK_EVENT_HELD);
        cr_assert_eq(waiter.total, 1, "a waiter that lost its place is granted nothing");
        holder_release(&holder);
        holder_release(&waiter);
        holder_release(&last);
        world_close(&world);
}

Test(lock, losing_one_of_several_keeps_the_others_until_they_are_freed) {
        World world;
        Holder holder = {0};

        world_open_shared(&world, 2, TIMEOUT);
        holder_take(&world, &holder, 0, "a b");
        world_settle(&world, world_session(&world, 0));
        cr_assert_eq(world_delete(&world, world_session(&world, 1), lock_set_paths(holder.set)[0]),
                     ZK_OK);
        holder_await_total(&world, &holder, 1);
        cr_assert_eq(holder.events[LOCK_EVENT_LOST], 1);
        world_await_children(&world, world_session(&world, 1), "b", 1);
        holder_release(&holder);
        world_close(&world);
}

Test(lock, a_write_to_a_contender_changes_nothing) {
        World world;
        Holder holder = {0}, waiter = {0};

        world_open_shared(&world, 2, TIMEOUT);
        holder_take(&world, &holder, 0, "a");
        holder_acquire(&world, &waiter, world_session(&world, 1), "a", FOREVER);
        world_await_children(&world, world_session(&world, 1), "a", 2);
        world_settle(&world, world_session(&world, 1));
        for (size_t i = 0; i < 3; i++) {
                cr_assert_eq(zk_set(session_zk(world_session(&world, 1)),
                                    lock_set_paths(holder.set)[0], "x", -1, NULL, NULL, NULL),
                             0);
                cr_assert_eq(zk_set(session_zk(world_session(&world, 1)),
                                    lock_set_paths(waiter.set)[0], "x", -1, NULL, NULL, NULL),
                             0);
                loop_for(world.event, A_WHILE / 3);
        }
        cr_assert_eq(holder.total, 1);
        cr_assert_eq(waiter.total, 0);
        holder_release(&holder);
        holder_await(&world, &waiter, LOCK_EVENT_HELD);
        holder_release(&waiter);
        world_close(&world);
}

Test(lock, a_forgotten_set_stays_and_its_settling_elsewhere_is_no_loss) {
        World world;
        Holder holder = {0};
        g_autofree char *path = NULL;

        world_open_shared(&world, 2, TIMEOUT);
        holder_take(&world, &holder, 0, "a");
        path = g_strdup(lock_set_paths(holder.set)[0]);
        holder.set = lock_set_forget(holder.set);
        world_settle(&world, world_session(&world, 0));
        world_await_children(&world, world_session(&world, 1), "a", 1);
        cr_assert_eq(world_delete(&world, world_session(&world, 1), path), ZK_OK);
        world_settle(&world, world_session(&world, 0));
        cr_assert_eq(holder.total, 1);
        world_close(&world);
}

Test(lock, an_abandoned_session_hands_over) {
        World world;
        Holder holder = {0}, waiter = {0};

        world_open_shared(&world, 1, TIMEOUT);
        world_connect(&world, 1, zookeeper_shared(), SHORT_TIMEOUT, NULL);
        holder_take(&world, &holder, 1, "a");
        holder_acquire(&world, &waiter, world_session(&world, 0), "a", FOREVER);
        world_settle(&world, world_session(&world, 0));
        world.clients[1].session = session_free(world.clients[1].session);
        holder_await_total(&world, &holder, 1);
        cr_assert_eq(holder.events[LOCK_EVENT_LOST], 1, "CLOSED is told as LOST");
        holder_assert_waits(&world, &waiter, USEC_PER_SEC, "the session lives on at the server");
        holder_await(&world, &waiter, LOCK_EVENT_HELD);
        holder_release(&holder);
        holder_release(&waiter);
        world_close(&world);
}

Test(lock, the_next_process_adopts_what_the_last_one_held) {
        World world;
        StateFile file = world_state_file_new();
        Holder holder = {0}, waiter = {0};
        g_auto(GStrv) paths = NULL;
        int64_t token;

        world_open_shared(&world, 1, TIMEOUT);
        world_connect(&world, 1, zookeeper_shared(), TIMEOUT, file.path);
        holder_take(&world, &holder, 1, "a ~b");
        holder_acquire(&world, &waiter, world_session(&world, 0), "a b", FOREVER);
        token = lock_set_fencing_token(holder.set);
        paths = g_strdupv((char **)(void *)lock_set_paths(holder.set));
        holder.set = lock_set_forget(holder.set);
        world_reattach(&world, 1, zookeeper_shared(), TIMEOUT, file.path);

        holder = (Holder){0};
        cr_assert_eq(lock_set_adopt(world_session(&world, 1), (const char *const *)paths, NULL,
                                    holder_callback, &holder, &holder.set),
                     0);
        holder_await(&world, &holder, LOCK_EVENT_HELD);
        cr_assert_eq(lock_set_fencing_token(holder.set), token);
        cr_assert_gt(lock_set_held_until(holder.set), clock_boottime());
        cr_assert_str_eq(lock_set_paths(holder.set)[1], paths[1]);
        cr_assert_eq(waiter.total, 0);
        holder_release(&holder);
        holder_await(&world, &waiter, LOCK_EVENT_HELD);
        holder_release(&waiter);
        world_close(&world);
        world_state_file_clear(&file);
}

Test(lock, adopting_what_is_gone_foreign_or_only_waiting_is_a_loss) {
        World world;
        Holder holder = {0}, waiter = {0}, adopted = {0};
        g_autofree char *held = NULL, *waiting = NULL;

        world_open_shared(&world, 2, TIMEOUT);
        holder_take(&world, &holder, 0, "a");
        holder_acquire(&world, &waiter, world_session(&world, 1), "a", FOREVER);
        world_await_children(&world, world_session(&world, 1), "a", 2);
        world_settle(&world, world_session(&world, 1));
        held = g_strdup(lock_set_paths(holder.set)[0]);
        waiting = g_strdup(lock_set_paths(waiter.set)[0]);
        waiter.set = lock_set_forget(waiter.set);

        holder_adopt(&world, &adopted, 1, waiting);
        holder_await(&world, &adopted, LOCK_EVENT_LOST);
        holder_release(&adopted);
        world_await_children(&world, world_session(&world, 1), "a", 1);

        holder_adopt(&world, &adopted, 1, held);
        holder_await(&world, &adopted, LOCK_EVENT_LOST);
        holder_release(&adopted);
        world_settle(&world, world_session(&world, 1));
        world_settle(&world, world_session(&world, 1));
        cr_assert_eq(world_exists(&world, world_session(&world, 1), held, NULL), ZK_OK,
                     "another session's contender was deleted");
        cr_assert_eq(holder.total, 1, "another session's lock was taken away");
        holder_release(&holder);
        world_await_children(&world, world_session(&world, 1), "a", 0);

        holder_adopt(&world, &adopted, 1, held);
        holder_await(&world, &adopted, LOCK_EVENT_LOST);
        holder_release(&adopted);
        world_close(&world);
}

/* Its run may still be at work: what protects it must stand until its owner says so. */
Test(lock, an_adoption_that_is_refused_keeps_its_contenders_until_it_is_freed) {
        World world;
        Holder holder = {0}, adopted = {0};
        g_autofree char *held = NULL, *directory = NULL, *foreign = NULL;

        world_open_shared(&world, 2, TIMEOUT);
        holder_take(&world, &holder, 0, "a");
        held = g_strdup(lock_set_paths(holder.set)[0]);
        holder.set = lock_set_forget(holder.set);
        directory = world_path(&world, "a");
        foreign = g_strconcat(directory, "/lock-0000000000", NULL);
        cr_assert_eq(world_create(&world, world_session(&world, 1), foreign, 0), ZK_OK);

        holder_adopt(&world, &adopted, 0, held);
        holder_await(&world, &adopted, LOCK_EVENT_LOST);
        cr_assert_not_null(strstr(lock_set_fault(adopted.set), "lock-0000000000"));
        world_settle(&world, world_session(&world, 0));
        cr_assert_eq(world_exists(&world, world_session(&world, 0), held, NULL), ZK_OK);
        holder_release(&adopted);
        world_await_children(&world, world_session(&world, 0), "a", 1);
        cr_assert_eq(world_delete(&world, world_session(&world, 1), foreign), ZK_OK);
        world_close(&world);
}

Test(lock, a_sweep_deletes_what_nobody_owns_and_spares_the_rest) {
        World world;
        Holder live = {0}, foreign = {0};
        g_autofree char *missing = NULL, *directory = NULL, *orphan = NULL, *kept = NULL;

        world_open_shared(&world, 2, TIMEOUT);
        holder_acquire(&world, &live, world_session(&world, 0), "~a", FOREVER);
        holder_acquire(&world, &foreign, world_session(&world, 1), "~a", FOREVER);
        holder_await(&world, &live, LOCK_EVENT_HELD);
        holder_await(&world, &foreign, LOCK_EVENT_HELD);
        directory = world_path(&world, "a");
        orphan = g_strconcat(directory, "/_c_" UUID "-__READ__", NULL);
        kept = g_strconcat(orphan, "2147000000", NULL);
        cr_assert_eq(world_create(&world, world_session(&world, 0), orphan,
                                  ZK_CREATE_EPHEMERAL | ZK_CREATE_SEQUENTIAL),
                     ZK_OK);
        cr_assert_eq(world_create(&world, world_session(&world, 0), kept, ZK_CREATE_EPHEMERAL),
                     ZK_OK);
        world_await_children(&world, world_session(&world, 1), "a", 4);
        missing = world_path(&world, "none");
        cr_assert_eq(lock_sweep(world_session(&world, 0),
                                (const char *const[]){directory, missing, NULL},
                                (const char *const[]){kept, NULL}),
                     0);
        world_await_children(&world, world_session(&world, 1), "a", 3);
        loop_for(world.event, A_WHILE);
        world_await_children(&world, world_session(&world, 1), "a", 3);
        cr_assert_eq(world_exists(&world, world_session(&world, 1), kept, NULL), ZK_OK);
        cr_assert_eq(live.total, 1);
        cr_assert_eq(foreign.total, 1);
        cr_assert_eq(world_delete(&world, world_session(&world, 0), kept), ZK_OK);
        holder_release(&live);
        holder_release(&foreign);
        world_close(&world);
}

/* Random readers and writers that come, wait, hold, give up and go. */
Test(lock, never_a_reader_beside_a_writer_over_ten_thousand_operations, .timeout = 240) {
        World world;

        world_open_shared(&world, 4, TIMEOUT);
        crowd_run(&world, &(CrowdRules){
                              .request = {.resource = "a"},
                              .options = {.wait = FOREVER},
                              .size = 12,
                              .sessions = 4,
                              .shared = 6,
                              .steps = 10000,
                          });
        world_close(&world);
}

ZOOKEEPER_MAIN;

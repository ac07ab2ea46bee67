/* Contenders of each naming: their names on the server, who is refused where, and how the next
 * process adopts them. */
#include <criterion/criterion.h>
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

#include "helper-crowd.h"
#include "helper-zookeeper-main.h"

#define TIMEOUT (20 * USEC_PER_SEC)
#define FOREVER USEC_INFINITY
#define A_WHILE (300 * USEC_PER_MSEC)

static void queue(World *world, Holder *holder, size_t index, LockRequest request) {
        request.resource = "a";
        holder_acquire_with(world, holder, world_session(world, index), request,
                            (LockOptions){.wait = FOREVER});
}

static void hold(World *world, Holder *holder, size_t index, LockRequest request) {
        queue(world, holder, index, request);
        holder_await(world, holder, LOCK_EVENT_HELD);
}

/* The kinds there are, and what their names look like. */
static const struct {
        LockRequest request;
        const char *pattern;
} kinds[] = {
#define UUID8 "[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    {{.mode = LOCK_EXCLUSIVE}, "^_c_" UUID8 "-__WRIT__[0-9]{10}$"},
    {{.mode = LOCK_SHARED}, "^_c_" UUID8 "-__READ__[0-9]{10}$"},
    {{.slots = 2}, "^_c_" UUID8 "-__SLOT__[0-9]{10}$"},
    {{.naming = LOCK_NAMING_CURATOR_MUTEX}, "^_c_" UUID8 "-lock-[0-9]{10}$"},
    {{.naming = LOCK_NAMING_KAZOO}, "^[0-9a-f]{32}__lock__[0-9]{10}$"},
    {{.naming = LOCK_NAMING_KAZOO, .mode = LOCK_SHARED}, "^[0-9a-f]{32}__rlock__[0-9]{10}$"},
    {{.naming = LOCK_NAMING_SINGLE_NODE}, "^lock$"},
};
#define QUEUES 6 /* all but the last */

Test(lock_namings, the_names_on_the_server_are_those_of_the_naming) {
        World world;

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
                Holder holder = {0};
                g_auto(GStrv) children = NULL;

                hold(&world, &holder, 0, kinds[i].request);
                children = world_list(&world, world_session(&world, 1), "a");
                cr_assert_eq(g_strv_length(children), 1);
                cr_assert(g_regex_match_simple(kinds[i].pattern, children[0], 0, 0), "%s",
                          children[0]);
                cr_assert(g_str_has_suffix(lock_set_paths(holder.set)[0], children[0]));
                holder_release(&holder);
                world_await_children(&world, world_session(&world, 0), "a", 0);
        }
        world_close(&world);
}

Test(lock_namings, whoever_may_step_down_says_so_in_its_name) {
        World world;
        Holder holder = {0};
        Contender contender;

        world_open_shared(&world, 2, TIMEOUT);
        holder_acquire_with(&world, &holder, world_session(&world, 0),
                            (LockRequest){.resource = "a"},
                            (LockOptions){.wait = FOREVER, .may_downgrade = true});
        holder_await(&world, &holder, LOCK_EVENT_HELD);
        contender_parse(strrchr(lock_set_paths(holder.set)[0], '/') + 1, &contender);
        cr_assert_eq(contender.uuid[14], '4');
        holder_release(&holder);
        world_close(&world);
}

Test(lock_namings, what_a_naming_does_not_know_is_refused_at_once) {
        static const LockRequest bad[] = {
            {.resource = "a", .naming = LOCK_NAMING_CURATOR_MUTEX, .mode = LOCK_SHARED},
            {.resource = "a", .naming = LOCK_NAMING_CURATOR_MUTEX, .slots = 2},
            {.resource = "a", .naming = LOCK_NAMING_KAZOO, .slots = 2},
            {.resource = "a", .naming = LOCK_NAMING_SINGLE_NODE, .mode = LOCK_SHARED},
            {.resource = "a", .naming = LOCK_NAMING_SINGLE_NODE, .slots = 2},
            {.resource = "a", .mode = LOCK_SHARED, .slots = 2},
            {.resource = "a", .path = "relative/a"},
        };
        World world;
        Holder holder = {0};

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                cr_assert_eq(holder_try_acquire_with(&world, &holder, world_session(&world, 0),
                                                     &bad[i], 1, (LockOptions){.wait = FOREVER}),
                             -EINVAL, "%zu", i);
                cr_assert_null(holder.set);
        }
        cr_assert_eq(holder_try_acquire_with(&world, &holder, world_session(&world, 0),
                                             (const LockRequest[]){{.resource = "a", .path = "/x"},
                                                                   {.resource = "b", .path = "/x"}},
                                             2, (LockOptions){.wait = FOREVER}),
                     -EINVAL, "the same directory twice");
        world_close(&world);
}

/* Return: whether a holder of the one kind is to keep the other waiting, rather than to be refused
 * by it. */
static bool same_queue(const LockRequest *a, const LockRequest *b) {
        return a->naming == b->naming && (a->slots > 1) == (b->slots > 1);
}

Test(lock_namings, a_queue_of_another_naming_is_refused_and_its_contender_named) {
        World world;

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t i = 0; i < QUEUES; i++)
                for (size_t j = 0; j < QUEUES; j++) {
                        Holder first = {0}, second = {0};

                        if (same_queue(&kinds[i].request, &kinds[j].request))
                                continue;
                        hold(&world, &first, 0, kinds[i].request);
                        queue(&world, &second, 1, kinds[j].request);
                        holder_await(&world, &second, LOCK_EVENT_FAILED);
                        cr_assert_not_null(
                            strstr(lock_set_fault(second.set), lock_set_paths(first.set)[0]), "%s",
                            lock_set_fault(second.set));
                        world_await_children(&world, world_session(&world, 0), "a", 1);
                        cr_assert_eq(first.total, 1);
                        holder_release(&second);
                        holder_release(&first);
                        world_await_children(&world, world_session(&world, 0), "a", 0);
                }
        world_close(&world);
}

/* The directory of a single node is no queue, and the other way round. */
Test(lock_namings, a_single_node_in_a_queue_is_refused_and_named) {
        World world;

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t i = 0; i < QUEUES; i++) {
                Holder single = {0}, queued = {0};

                hold(&world, &single, 0, kinds[QUEUES].request);
                queue(&world, &queued, 1, kinds[i].request);
                holder_await(&world, &queued, LOCK_EVENT_FAILED);
                cr_assert_not_null(strstr(lock_set_fault(queued.set), "/a/lock"), "%s",
                                   lock_set_fault(queued.set));
                holder_release(&queued);
                holder_release(&single);
                world_await_children(&world, world_session(&world, 0), "a", 0);
        }
        world_close(&world);
}

Test(lock_namings, each_hands_over_to_the_next_in_line) {
        World world;

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
                Holder first = {0}, second = {0}, spare = {0};
                LockRequest writer = {.naming = kinds[i].request.naming,
                                      .slots = kinds[i].request.slots};
                bool slots = writer.slots > 1;

                hold(&world, &first, 0, kinds[i].request);
                if (slots)
                        hold(&world, &spare, 0, writer);
                queue(&world, &second, 1, writer);
                loop_for(world.event, A_WHILE);
                cr_assert_eq(second.total, 0, "%s: both hold", kinds[i].pattern);
                holder_release(&first);
                holder_await(&world, &second, LOCK_EVENT_HELD);
                holder_release(&second);
                holder_release(&spare);
                world_await_children(&world, world_session(&world, 0), "a", 0);
        }
        world_close(&world);
}

Test(lock_namings, kazoos_readers_share_and_its_writers_do_not, .timeout = 120) {
        World world;

        world_open_shared(&world, 2, TIMEOUT);
        crowd_run(&world, &(CrowdRules){
                              .request = {.resource = "a", .naming = LOCK_NAMING_KAZOO},
                              .options = {.wait = FOREVER},
                              .size = 10,
                              .sessions = 2,
                              .shared = 6,
                              .steps = 600,
                          });
        crowd_run(&world, &(CrowdRules){
                              .request = {.resource = "b", .naming = LOCK_NAMING_CURATOR_MUTEX},
                              .options = {.wait = FOREVER},
                              .size = 10,
                              .sessions = 2,
                              .steps = 600,
                          });
        world_close(&world);
}

/* Adoption: what a process before us held, in the session that we attached to. */

Test(lock_namings, the_next_process_adopts_each_kind, .timeout = 120) {
        World world;
        StateFile file = world_state_file_new();

        world_open_shared(&world, 1, TIMEOUT);
        world_connect(&world, 1, zookeeper_shared(), TIMEOUT, file.path);
        for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
                Holder holder = {0}, spare = {0}, waiter = {0};
                LockRequest writer = {.naming = kinds[i].request.naming,
                                      .slots = kinds[i].request.slots};
                g_autofree char *path = NULL;
                int64_t token;

                if (writer.slots > 1)
                        hold(&world, &spare, 0, writer);
                hold(&world, &holder, 1, kinds[i].request);
                queue(&world, &waiter, 0, writer);
                token = lock_set_fencing_token(holder.set);
                path = g_strdup(lock_set_paths(holder.set)[0]);
                holder.set = lock_set_forget(holder.set);
                world_reattach(&world, 1, zookeeper_shared(), TIMEOUT, file.path);

                holder_adopt(&world, &holder, 1, path);
                holder_await(&world, &holder, LOCK_EVENT_HELD);
                cr_assert_eq(lock_set_fencing_token(holder.set), token, "%s", path);
                cr_assert_str_eq(lock_set_paths(holder.set)[0], path);
                cr_assert_null(lock_set_paths(holder.set)[1]);
                loop_for(world.event, A_WHILE);
                cr_assert_eq(waiter.total, 0, "%s: both hold", path);
                holder_release(&holder);
                holder_await(&world, &waiter, LOCK_EVENT_HELD);
                holder_release(&waiter);
                holder_release(&spare);
                world_await_children(&world, world_session(&world, 0), "a", 0);
        }
        world_close(&world);
        world_state_file_clear(&file);
}

/* The one that is to be adopted waits still, belongs to another, or is gone. */
Test(lock_namings, adopting_what_each_kind_does_not_hold_is_a_loss, .timeout = 120) {
        World world;

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
                Holder holder = {0}, adopted = {0};
                g_autofree char *path = NULL;

                hold(&world, &holder, 0, kinds[i].request);
                path = g_strdup(lock_set_paths(holder.set)[0]);
                holder_adopt(&world, &adopted, 1, path);
                holder_await(&world, &adopted, LOCK_EVENT_LOST);
                holder_release(&adopted);
                world_settle(&world, world_session(&world, 1));
                world_settle(&world, world_session(&world, 1));
                cr_assert_eq(world_exists(&world, world_session(&world, 0), path, NULL), ZK_OK,
                             "%s: another session's contender was deleted", path);
                cr_assert_eq(holder.total, 1, "%s", path);
                holder_release(&holder);
                world_await_children(&world, world_session(&world, 0), "a", 0);
                holder_adopt(&world, &adopted, 1, path);
                holder_await(&world, &adopted, LOCK_EVENT_LOST);
                holder_release(&adopted);
        }
        world_close(&world);
}

Test(lock_namings, a_sweep_knows_each_kind) {
        World world;
        g_autofree char *directory = NULL;

        world_open_shared(&world, 2, TIMEOUT);
        directory = world_path(&world, "a");
        for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
                Holder holder = {0};

                hold(&world, &holder, 0, kinds[i].request);
                cr_assert_eq(lock_sweep(world_session(&world, 0),
                                        (const char *const[]){directory, NULL}, NULL),
                             0);
                cr_assert_eq(lock_sweep(world_session(&world, 1),
                                        (const char *const[]){directory, NULL}, NULL),
                             0);
                world_settle(&world, world_session(&world, 0));
                world_settle(&world, world_session(&world, 1));
                loop_for(world.event, A_WHILE);
                cr_assert_eq(holder.total, 1, "%s: swept away while it is owned", kinds[i].pattern);
                holder.set = lock_set_forget(holder.set);
                cr_assert_eq(lock_sweep(world_session(&world, 1),
                                        (const char *const[]){directory, NULL}, NULL),
                             0);
                world_settle(&world, world_session(&world, 1));
                world_await_children(&world, world_session(&world, 0), "a", 1);
                cr_assert_eq(lock_sweep(world_session(&world, 0),
                                        (const char *const[]){directory, NULL}, NULL),
                             0);
                world_await_children(&world, world_session(&world, 1), "a", 0);
        }
        world_close(&world);
}

ZOOKEEPER_MAIN;

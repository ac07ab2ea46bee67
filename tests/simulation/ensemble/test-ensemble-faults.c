/* Many clients on an ensemble whose servers die, freeze and lose each other: what ZooKeeper
 * promises all the same.
 *
 * Each client writes a node of its own, and reads its own and others'. What it was told was done is
 * done for ever; what it reads never goes back while its session lives, and shows what it wrote. In
 * the end, when all is well again, all servers have the same nodes, and those of sessions that are
 * over are gone.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "ensemble-inside.h"
#include "event.h"
#include "handle.h"

#define ACTORS 6
#define TIMEOUT (8 * USEC_PER_SEC)
#define ROUNDS 12
#define DURATION (3 * USEC_PER_MINUTE)

typedef struct Actor {
        Site *site;
        unsigned number;
        Process *process;
        Machine *machine;
        sd_event *event;
        Zk *zk;
        char *path;           /* its own node */
        int32_t written;      /* the version that it was last told of; -1: none */
        int32_t seen[ACTORS]; /* in this session, of everybody's */
        unsigned reading;
        bool waiting, over, made;
        WorldTask *task;
        unsigned answers, unknown, sessions;
} Actor;

static WorldChance *dice;
static bool forgetful; /* nothing is promised then, but that all servers come to the same */

static void actor_connect(void *userdata);
static void actor_act(void *userdata);

static void actor_on_step(void *userdata) {
        Actor *actor = userdata;

        actor->task =
            world_after(site_world(actor->site), world_draw_between(dice, 1, 200 * USEC_PER_MSEC),
                        actor_on_step, actor);
        process_do(actor->process, actor->over ? actor_connect : actor_act, actor);
}

/* ---- sessions ---- */

static void actor_on_state(Zk *zk, ZkState state, void *userdata) {
        Actor *actor = userdata;

        (void)zk;
        if (state != ZK_STATE_EXPIRED)
                return;
        actor->over = true;
}

static void actor_connect(void *userdata) {
        Actor *actor = userdata;
        const ZkOptions options = {
            .servers = ensemble_addresses(site_ensemble(actor->site)),
            .session_timeout = TIMEOUT,
            .state = actor_on_state,
            .userdata = actor,
        };

        actor->zk = zk_free(actor->zk);
        actor->over = actor->waiting = false;
        actor->sessions++;
        for (size_t i = 0; i < ACTORS; i++)
                actor->seen[i] = -1;
        cr_assert_eq(zk_connect(actor->event, &options, &actor->zk), 0);
}

/* ---- requests ---- */

static void actor_count(Actor *actor, const ZkReply *reply) {
        actor->waiting = false;
        actor->answers++;
        actor->unknown += reply->code == ZK_UNKNOWN || reply->code == ZK_CLOSED;
}

static void actor_on_made(const ZkReply *reply, void *userdata) {
        Actor *actor = userdata;

        actor_count(actor, reply);
        if (reply->code != ZK_OK && reply->code != ZK_NODE_EXISTS)
                return;
        actor->made = true;
        actor->written = MAX(actor->written, 0);
}

static void actor_on_written(const ZkReply *reply, void *userdata) {
        Actor *actor = userdata;

        actor_count(actor, reply);
        if (!forgetful)
                cr_assert_neq(reply->code, ZK_NO_NODE, "what was made is there");
        if (reply->code == ZK_NO_NODE)
                actor->made = false;
        if (reply->code != ZK_OK)
                return;
        if (!forgetful)
                cr_assert_gt(reply->stat.version, actor->written);
        actor->written = reply->stat.version;
        actor->seen[actor->number] = MAX(actor->seen[actor->number], actor->written);
}

static void actor_on_read(const ZkReply *reply, void *userdata) {
        Actor *actor = userdata;
        int32_t *seen = &actor->seen[actor->reading];

        actor_count(actor, reply);
        if (reply->code == ZK_NO_NODE && !forgetful)
                cr_assert_eq(*seen, -1, "it was there before");
        if (reply->code != ZK_OK)
                return;
        if (!forgetful)
                cr_assert_geq(reply->stat.version, *seen, "it went back");
        *seen = reply->stat.version;
}

static void actor_on_ephemeral(const ZkReply *reply, void *userdata) {
        actor_count(userdata, reply);
}

static void actor_read(Actor *actor) {
        g_autofree char *path = NULL;

        actor->reading = (unsigned)world_draw_between(dice, 0, ACTORS - 1);
        path = g_strdup_printf("/%u", actor->reading);
        actor->waiting = zk_get(actor->zk, path, actor_on_read, actor, NULL, NULL, NULL, NULL) == 0;
}

static void actor_act(void *userdata) {
        Actor *actor = userdata;
        uint64_t what = world_draw_between(dice, 0, 9);

        if (actor->waiting || zk_state(actor->zk) == ZK_STATE_CONNECTING)
                return;
        if (!actor->made)
                actor->waiting =
                    zk_create(actor->zk, actor->path, "0", 0, actor_on_made, actor, NULL) == 0;
        else if (what == 0)
                actor->waiting =
                    zk_create(actor->zk, "/e-", NULL, ZK_CREATE_EPHEMERAL | ZK_CREATE_SEQUENTIAL,
                              actor_on_ephemeral, actor, NULL) == 0;
        else if (what < 5)
                actor->waiting =
                    zk_set(actor->zk, actor->path, "x", -1, actor_on_written, actor, NULL) == 0;
        else
                actor_read(actor);
}

/* ---- its life ---- */

static void actor_start(void *userdata) {
        Actor *actor = userdata;

        cr_assert_geq(sd_event_new(&actor->event), 0);
        actor_connect(actor);
}

static void actor_begin(Actor *actor, Site *site, unsigned number) {
        g_autofree char *name = g_strdup_printf("n%u", number),
                        *directory = g_build_filename(g_get_tmp_dir(), name, NULL);

        *actor = (Actor){.site = site, .number = number, .written = -1};
        actor->path = g_strdup_printf("/%u", number);
        actor->machine = machine_new(site_world(site), name, directory);
        actor->process = process_new(actor->machine);
        process_do(actor->process, actor_start, actor);
        actor_on_step(actor);
}

static void actor_stop(void *userdata) {
        Actor *actor = userdata;

        actor->zk = zk_free(actor->zk);
        actor->event = sd_event_unref(actor->event);
        handles_finish(actor->process);
}

static void actor_end(Actor *actor) {
        actor->task = world_task_free(actor->task);
        process_end(actor->process);
        process_do(actor->process, actor_stop, actor);
        process_free(actor->process);
        machine_free(actor->machine);
        g_free(actor->path);
}

/* ---- faults ---- */

static Host *any_host(const Site *site) {
        uint64_t i = world_draw_between(dice, 0, ACTORS + ensemble_size(site_ensemble(site)) - 1);
        g_autofree char *name = g_strdup_printf("n%u", (unsigned)i);

        return i < ACTORS ? site_host(site, name)
                          : ensemble_host(site_ensemble(site), (unsigned)(i - ACTORS));
}

static void fault(const Site *site, Actor *actors) {
        Ensemble *ensemble = site_ensemble(site);
        unsigned server = (unsigned)world_draw_between(dice, 0, ensemble_size(ensemble) - 1);
        Actor *actor = &actors[world_draw_between(dice, 0, ACTORS - 1)];
        Host *one = any_host(site), *other = any_host(site);

        switch (world_draw_between(dice, 0, 11)) {
        case 0:
                if (ensemble_is_running(ensemble, server))
                        ensemble_kill(ensemble, server);
                break;
        case 1:
                if (ensemble_is_running(ensemble, server))
                        ensemble_crash(ensemble, server);
                break;
        case 2:
        case 3:
        case 4:
                ensemble_start(ensemble, server);
                break;
        case 5:
                ensemble_freeze(ensemble, server);
                break;
        case 6:
                ensemble_thaw(ensemble, server);
                break;
        case 7:
        case 8:
                network_cut(one, other);
                break;
        case 9:
                network_mend(one, other);
                break;
        case 10:
                process_stop(actor->process);
                break;
        case 11:
                process_continue(actor->process);
                break;
        }
}

static void heal(const Site *site, Actor *actors) {
        Ensemble *ensemble = site_ensemble(site);
        GPtrArray *hosts = g_ptr_array_new();

        for (unsigned i = 0; i < ensemble_size(ensemble); i++) {
                ensemble_start(ensemble, i);
                ensemble_thaw(ensemble, i);
                g_ptr_array_add(hosts, ensemble_host(ensemble, i));
        }
        for (unsigned i = 0; i < ACTORS; i++) {
                process_continue(actors[i].process);
                g_ptr_array_add(hosts, site_host(site, machine_name(actors[i].machine)));
        }
        for (guint i = 0; i < hosts->len; i++)
                for (guint j = 0; j < hosts->len; j++)
                        network_mend(hosts->pdata[i], hosts->pdata[j]);
        g_ptr_array_unref(hosts);
}

/* ---- the end ---- */

static void tree_describe(const DataTree *tree, const TreeNode *node, GString *text) {
        g_auto(GStrv) names = tree_node_children(node);

        g_string_append_printf(text, "%s %" G_GINT64_FORMAT " %d %d %" G_GINT64_FORMAT "\n",
                               node->path, node->mzxid, node->version, node->creations,
                               node->owner);
        for (size_t i = 0; names[i]; i++) {
                g_autofree char *path = g_strdup_printf("%s%s%s", node->path,
                                                        node->path[1] == '\0' ? "" : "/", names[i]);

                tree_describe(tree, data_tree_find(tree, path), text);
        }
}

static char *server_nodes(const Site *site, unsigned server) {
        const DataTree *tree = ensemble_server(site_ensemble(site), server)->tree;
        GString *text = g_string_new(NULL);

        tree_describe(tree, data_tree_find(tree, "/"), text);
        return g_string_free(text, FALSE);
}

static void check_all_is_well(const Site *site, const Actor *actors) {
        g_autofree char *first = server_nodes(site, 0);
        const DataTree *tree = ensemble_tree(site_ensemble(site));

        for (unsigned i = 1; i < ensemble_size(site_ensemble(site)); i++) {
                g_autofree char *nodes = server_nodes(site, i);

                cr_assert_str_eq(nodes, first);
        }
        for (unsigned i = 0; i < ACTORS; i++) {
                const TreeNode *node = data_tree_find(tree, actors[i].path);

                if (!forgetful) {
                        cr_assert_not_null(node);
                        cr_assert_geq(node->version, actors[i].written);
                }
                cr_assert_eq(zk_state(actors[i].zk), ZK_STATE_CONNECTED);
        }
}

/* Return: how many nodes sessions own that nobody of these has. */
static unsigned count_orphans(const Site *site, const Actor *actors) {
        const DataTree *tree = ensemble_tree(site_ensemble(site));
        g_auto(GStrv) names = tree_node_children(data_tree_find(tree, "/"));
        unsigned orphans = 0;

        for (size_t i = 0; names[i]; i++) {
                g_autofree char *path = g_strdup_printf("/%s", names[i]);
                int64_t owner = data_tree_find(tree, path)->owner;
                bool known = owner == 0;

                for (unsigned j = 0; j < ACTORS; j++)
                        known |= zk_session_id(actors[j].zk).id == owner;
                orphans += !known;
        }
        return orphans;
}

/* Return: how often something was lost. */
static unsigned play(uint64_t seed) {
        EnsembleOptions options = ENSEMBLE_DEFAULTS;
        Actor actors[ACTORS];
        Site *site;
        unsigned losses;
        usec_t until;

        options.forgetful = forgetful;
        options.n_servers = seed % 4 == 0 ? 5 : 3;
        site = site_new(seed, &options);
        dice = world_chance_new(site_world(site), "dice");
        for (unsigned i = 0; i < ACTORS; i++)
                actor_begin(&actors[i], site, i);
        until = world_now(site_world(site)) + DURATION;
        while (world_now(site_world(site)) < until) {
                site_run(site, world_draw_between(dice, 1, 2 * USEC_PER_SEC));
                fault(site, actors);
        }
        heal(site, actors);
        site_run(site, USEC_PER_MINUTE);
        for (unsigned i = 0; i < ACTORS; i++)
                actors[i].task = world_task_free(actors[i].task);
        site_run(site, 2 * USEC_PER_SEC);
        check_all_is_well(site, actors);
        cr_assert_eq(count_orphans(site, actors), 0);
        for (unsigned i = 0; i < ACTORS; i++) {
                cr_assert_gt(actors[i].answers, 200);
                actor_end(&actors[i]);
        }
        losses = ensemble_lineage(site_ensemble(site));
        world_chance_free(dice);
        site_free(site);
        return losses;
}

/* JOBKEEPER_TEST_SEED: that one alone, or the first of JOBKEEPER_TEST_ROUNDS. */
static unsigned play_all(void) {
        const char *seed = g_getenv("JOBKEEPER_TEST_SEED"),
                   *rounds = g_getenv("JOBKEEPER_TEST_ROUNDS");
        uint64_t first = seed ? g_ascii_strtoull(seed, NULL, 10) : 1,
                 n = rounds ? g_ascii_strtoull(rounds, NULL, 10)
                     : seed ? 1
                            : ROUNDS;
        unsigned losses = 0;

        for (uint64_t i = first; i < first + n; i++) {
                fprintf(stderr, "JOBKEEPER_TEST_SEED=%" G_GUINT64_FORMAT "\n", i);
                losses += play(i);
        }
        return losses;
}

Test(ensemble_faults, what_is_promised_is_kept) {
        cr_assert_eq(play_all(), 0);
}

/* In these a server comes back to a leader that has done less than itself. */
Test(ensemble_faults, who_knows_more_than_its_leader_does_nothing_twice) {
        cr_assert_eq(play(582) + play(777), 0);
}

/* As Debian's 3.8.0: what such servers do to those who rely on them, they are to be able to do. */
Test(ensemble_faults, a_forgetful_ensemble_loses_what_it_confirmed) {
        forgetful = true;
        cr_assert_gt(play_all(), 0);
}

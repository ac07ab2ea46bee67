/* See aftermath.h. */
#include "aftermath.h"

#include <string.h>

#include "ensemble-record.h"
#include "trace.h"

#define CONTROL_PATH "/jobkeeper/control"
#define ENSEMBLE_PATH "/jobkeeper/ensemble"
#define NODES_PATH "/jobkeeper/nodes"
#define OPEN_PREFIX "/jobkeeper/open/"
#define WORD "0123456789abcdef0123456789abcdef"

/* One cluster of so many. */
#define ONE_IN 3
/* What a daemon was answered stands in its file within this. */
#define REMEMBERED (10 * USEC_PER_SEC)
/* What was asked for before a doubt is committed may be committed after it. */
#define ON_ITS_WAY (5 * USEC_PER_SEC)

struct Aftermath {
        World *world;       /* weak */
        Ensemble *ensemble; /* weak */
        const Fleet *fleet; /* weak */
        WorldTask *task;
        DataTree *backup;
        bool empties;
        GHashTable *claims; /* node → usec_t: its last in peace, before it begins */
        usec_t began;       /* 0: it has not */
        usec_t doubted;     /* 0: it is not */
        bool accepted;
        unsigned following; /* claims */
        char *fault;
};

static void aftermath_on_backup(void *userdata) {
        Aftermath *aftermath = userdata;

        aftermath->task = NULL;
        aftermath->backup = data_tree_copy(ensemble_tree(aftermath->ensemble));
        trace_write("aftermath", "a backup is made");
}

Aftermath *aftermath_new(World *world, Ensemble *ensemble, const Fleet *fleet, usec_t span) {
        WorldChance *chance = world_chance_new(world, "aftermath");
        Aftermath *aftermath = NULL;

        if (world_draw_once_in(chance, ONE_IN)) {
                aftermath = g_new0(Aftermath, 1);
                aftermath->world = world;
                aftermath->ensemble = ensemble;
                aftermath->fleet = fleet;
                aftermath->claims = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
                aftermath->empties = world_draw_once_in(chance, 3);
                aftermath->task = world_after(world, world_draw_between(chance, span / 4, span),
                                              aftermath_on_backup, aftermath);
        }
        world_chance_free(chance);
        return aftermath;
}

Aftermath *aftermath_free(Aftermath *aftermath) {
        if (!aftermath)
                return NULL;
        world_task_free(aftermath->task);
        data_tree_free(aftermath->backup);
        g_hash_table_unref(aftermath->claims);
        g_free(aftermath->fault);
        g_free(aftermath);
        return NULL;
}

const char *aftermath_fault(const Aftermath *aftermath) {
        return aftermath ? aftermath->fault : NULL;
}

static void aftermath_complain(Aftermath *aftermath, char *fault) {
        trace_write("aftermath", "BROKEN: %s", fault);
        if (!aftermath->fault)
                aftermath->fault = fault;
        else
                g_free(fault);
}

/* ---- what is claimed ---- */

/* Return: newly allocated, whose claim the operation is a part of; NULL: no claim's. */
static char *aftermath_author(const TransactionOp *op) {
        const char *node, *end;

        if (op->type != TXN_CREATE || !g_str_has_prefix(op->path, OPEN_PREFIX))
                return NULL;
        node = op->path + strlen(OPEN_PREFIX);
        end = strchr(node, '/');
        return end ? g_strndup(node, (gsize)(end - node)) : NULL;
}

static void aftermath_judge_claim(Aftermath *aftermath, const char *node) {
        const usec_t *known = g_hash_table_lookup(aftermath->claims, node);
        usec_t now = world_now(aftermath->world);

        aftermath->following += aftermath->accepted;
        if (aftermath->accepted)
                return;
        if (aftermath->doubted > 0 && now > aftermath->doubted + ON_ITS_WAY)
                aftermath_complain(aftermath,
                                   g_strdup_printf("%s claims a run, and what stands in ZooKeeper "
                                                   "is doubted",
                                                   node));
        else if (known && *known + REMEMBERED < aftermath->began)
                aftermath_complain(
                    aftermath,
                    g_strdup_printf("%s claims a run although it has claimed others that "
                                    "are not there any more",
                                    node));
}

void aftermath_note(Aftermath *aftermath, const Transaction *txn) {
        for (size_t i = 0; aftermath && i < txn->n_ops; i++) {
                g_autofree char *node = aftermath_author(&txn->ops[i]);

                if (node && aftermath->began > 0)
                        aftermath_judge_claim(aftermath, node);
                else if (node && aftermath->backup) {
                        usec_t now = world_now(aftermath->world);

                        if (!g_hash_table_contains(aftermath->claims, node))
                                g_hash_table_insert(aftermath->claims, g_steal_pointer(&node),
                                                    g_memdup2(&now, sizeof now));
                }
        }
}

void aftermath_is_calm(Aftermath *aftermath) {
        if (aftermath)
                g_hash_table_remove_all(aftermath->claims);
}

static json_t *aftermath_record(const DataTree *tree) {
        const TreeNode *node = data_tree_find(tree, ENSEMBLE_PATH);

        return node && node->data ? ensemble_record_parse(node->data, strlen(node->data)) : NULL;
}

static bool aftermath_is_doubted(const Aftermath *aftermath) {
        json_t *record = aftermath_record(ensemble_tree(aftermath->ensemble));
        bool doubted = ensemble_record_is_doubted(record, NULL);

        json_decref(record);
        return doubted;
}

static void aftermath_on_committed(const Transaction *txn, const DataTree *tree, void *userdata) {
        Aftermath *aftermath = userdata;
        json_t *record = aftermath_record(tree); /* as it was before */

        if (aftermath->doubted == 0 && ensemble_record_is_doubted(record, NULL))
                aftermath->doubted = world_now(aftermath->world);
        json_decref(record);
        aftermath_note(aftermath, txn);
}

/* ---- how it goes on ---- */

void aftermath_begin(Aftermath *aftermath) {
        const EnsembleWatcher watcher = {.committed = aftermath_on_committed,
                                         .userdata = aftermath};

        trace_write("aftermath", aftermath->empties ? "the servers are emptied"
                                                    : "the servers are restored from the backup");
        aftermath->began = world_now(aftermath->world);
        ensemble_watch(aftermath->ensemble, &watcher);
        ensemble_replace(aftermath->ensemble, aftermath->empties ? NULL : aftermath->backup);
        for (unsigned i = 0; i < ensemble_size(aftermath->ensemble); i++)
                ensemble_start(aftermath->ensemble, i);
}

/* The backup may be of a time at which jobs were paused: whoever restored it sees to that. */
static void aftermath_let_begin(const Aftermath *aftermath) {
        if (data_tree_find(ensemble_tree(aftermath->ensemble), CONTROL_PATH))
                (void)ensemble_write(aftermath->ensemble, CONTROL_PATH, "{}", -1);
}

void aftermath_accept(Aftermath *aftermath) {
        const Statement accepted = {(char *)"somebody", (char *)"", 1};
        json_t *record = aftermath_record(ensemble_tree(aftermath->ensemble));
        g_autofree char *text = NULL;

        if (!aftermath_is_doubted(aftermath)) {
                if (g_hash_table_size(aftermath->claims) > 0)
                        aftermath_complain(aftermath,
                                           g_strdup("nobody doubts what stands in ZooKeeper"));
                json_decref(record);
                return;
        }
        trace_write("aftermath", "somebody accepts it");
        aftermath_let_begin(aftermath);
        ensemble_record_accept(record, WORD, &accepted, NULL);
        text = ensemble_record_encode(record);
        json_decref(record);
        aftermath->accepted = true;
        if (!ensemble_write(aftermath->ensemble, ENSEMBLE_PATH, text, -1))
                aftermath_complain(aftermath, g_strdup("nobody leads"));
}

void aftermath_judge(Aftermath *aftermath) {
        const TreeNode *nodes = data_tree_find(ensemble_tree(aftermath->ensemble), NODES_PATH);
        unsigned daemons = 0;

        for (unsigned i = 0; i < fleet_size(aftermath->fleet); i++)
                daemons += fleet_node_daemon(fleet_node(aftermath->fleet, i)) != NULL;
        if (aftermath_is_doubted(aftermath))
                aftermath_complain(aftermath, g_strdup("it is doubted although it was accepted"));
        else if (!nodes || tree_node_count(nodes) != daemons)
                aftermath_complain(aftermath,
                                   g_strdup_printf("of %u nodes %u take part after it was accepted",
                                                   daemons, nodes ? tree_node_count(nodes) : 0));
        else if (aftermath->accepted && aftermath->following == 0)
                aftermath_complain(aftermath,
                                   g_strdup("nothing is claimed although it was accepted"));
}

/* Nothing is left over: in peace no contender stands in a queue for nobody; after a stop of all
 * daemons no contender, no open run, no member and no request stands in ZooKeeper, but what asks
 * for runs that follow those ended with them, and no unit of a run on any machine. */
#include <string.h>

#include "checker.h"
#include "lock-memory.h"
#include "paths.h"
#include "write-checker.h"

#define ROOT "/jobkeeper"

typedef struct Rest {
        Checker *checker;
        const char *what;
        unsigned depth; /* of what counts, below what is looked at */
} Rest;

static gboolean rest_look(gpointer name, gpointer data, gpointer userdata) {
        const TreeNode *node = data;
        const Rest *rest = userdata;
        Rest below = {rest->checker, rest->what, rest->depth - 1};

        if (rest->depth == 0 && ask_id_is_valid(node->name))
                return FALSE; /* of a run that was ended now: who comes back sees to it */
        if (rest->depth == 0)
                checker_complain(rest->checker, "%s is left over: %s%s%s", rest->what, node->path,
                                 node->data ? " " : "", node->data ? node->data : "");
        else if (node->children)
                g_tree_foreach(node->children, rest_look, &below);
        return FALSE;
}

/* Takes over `path`. */
static void checker_judge_below(Checker *checker, const DataTree *tree, char *path,
                                const char *what, unsigned depth) {
        const TreeNode *node = data_tree_find(tree, path);
        Rest rest = {checker, what, depth};

        if (node && node->children)
                g_tree_foreach(node->children, rest_look, &rest);
        g_free(path);
}

/* Return: whether its record may be gone, so that nobody knows what it was. */
static bool checker_may_forget(const Checker *checker, const char *unit) {
        const GPtrArray *jobs = checker_plan(checker)->kept;

        for (guint i = 0; i < jobs->len; i++) {
                const PlanJob *job = jobs->pdata[i];

                g_autofree const char **names = plan_both_names(checker_plan(checker), job);

                for (const char **name = names; *name; name++)
                        if (unit_name_is_of_job(unit, *name))
                                return job->forgets;
        }
        return false;
}

static void checker_judge_units(Checker *checker, const FleetNode *node) {
        const GPtrArray *services = pid1_services(fleet_node_pid1(node));

        for (guint i = 0; i < services->len; i++) {
                const Service *service = services->pdata[i];

                if (!checker_may_forget(checker, service->spec->name))
                        checker_complain(checker, "a unit is left over on %s: %s",
                                         fleet_node_name(node), service->spec->name);
        }
}

/* Of the locks of commands that daemons remember. */
static void checker_judge_memory(Checker *checker, const FleetNode *node) {
        g_autofree char *path = g_build_filename(machine_directory(fleet_node_machine(node)), "run",
                                                 LOCK_MEMORY_DIRECTORY, NULL);
        g_autoptr(GDir) directory = g_dir_open(path, 0, NULL);
        const char *name;

        while (directory && (name = g_dir_read_name(directory)))
                checker_complain(checker, "%s is left over on %s", name, fleet_node_name(node));
}

static void checker_judge_holds(Checker *checker) {
        const GPtrArray *holds = history_holds(checker_history(checker));

        for (guint i = 0; i < holds->len; i++) {
                const HistoryHold *hold = holds->pdata[i];

                checker_complain(checker, "%s (%u) on %s still holds %s", hold->who, hold->number,
                                 hold->node, hold->resource);
        }
}

/* ---- while the cluster works ---- */

/* No wait for a lock, and nobody who is no run holds one, for so long: see plan.c. */
#define QUEUED_AT_MOST_MS (330 * INT64_C(1000))

typedef struct Stale {
        Checker *checker;
        const DataTree *tree;
        int64_t before_ms;
} Stale;

/* Return: whether who stands there waits as long as it takes: a service, or a machine whose turn
 * comes when the others have had theirs. That it takes it is looked at by turn-checker.c. */
static bool stale_waits_for_turn(const Stale *stale, const TreeNode *contender) {
        const PlanJob *job = checker_contender_job(stale->checker, contender);

        return job && (job->roll.node || job->service.is);
}

/* Return: whether it belongs to a node: other programs do as they like. */
static bool stale_is_nodes(const Stale *stale, const TreeNode *contender) {
        const char *host = write_book_host(checker_book(stale->checker), contender->owner);
        g_autofree char *member = path_node(ROOT, host ? host : "");

        return data_tree_find(stale->tree, member);
}

static gboolean stale_look_at(gpointer name, gpointer data, gpointer userdata) {
        const TreeNode *node = data;
        const Stale *stale = userdata;
        const GPtrArray *alive = history_alive(checker_history(stale->checker));
        const Claimed *claimed = write_book_holder(checker_book(stale->checker), node->path);

        if (node->ctime_ms >= stale->before_ms || !stale_is_nodes(stale, node))
                return FALSE;
        if (!claimed && stale_waits_for_turn(stale, node))
                return FALSE;
        for (guint i = 0; claimed && i < alive->len; i++) {
                const HistoryRun *run = alive->pdata[i];

                if (strcmp(run->job, claimed->job) == 0 && strcmp(run->run, claimed->run) == 0)
                        return FALSE;
        }
        checker_complain(stale->checker, "a contender stands in a queue, and nobody behind it: %s",
                         node->path);
        return FALSE;
}

static gboolean stale_look_in(gpointer name, gpointer data, gpointer userdata) {
        const TreeNode *node = data;

        if (node->children)
                g_tree_foreach(node->children, stale_look_at, userdata);
        return FALSE;
}

void checker_judge_queues(Checker *checker, const DataTree *tree, int64_t now) {
        g_autofree char *path = path_locks(ROOT);
        const TreeNode *node = data_tree_find(tree, path);
        Stale stale = {checker, tree, now * 1000 - QUEUED_AT_MOST_MS};

        if (node && node->children)
                g_tree_foreach(node->children, stale_look_in, &stale);
}

void checker_judge_rest(Checker *checker, const DataTree *tree, const Fleet *fleet) {
        checker_judge_below(checker, tree, path_locks(ROOT), "a contender", 1);
        checker_judge_below(checker, tree, path_open(ROOT), "an open run", 1);
        checker_judge_below(checker, tree, path_nodes(ROOT), "a member", 0);
        checker_judge_below(checker, tree, path_requests(ROOT), "a request", 0);
        checker_judge_holds(checker);
        for (unsigned i = 0; i < fleet_size(fleet); i++) {
                checker_judge_units(checker, fleet_node(fleet, i));
                checker_judge_memory(checker, fleet_node(fleet, i));
        }
}

/* Whose definition is in force, as the members say. */
#include <string.h>

#include "checker.h"
#include "member.h"
#include "paths.h"

#define ROOT "/jobkeeper"

typedef struct Opinion {
        const char *job;
        bool somebody_has_it;
} Opinion;

static gboolean opinion_ask(gpointer name, gpointer data, gpointer userdata) {
        const TreeNode *node = data;
        Opinion *opinion = userdata;
        _cleanup_(member_freep) Member *member = NULL;

        if (!node->data || member_decode(name, node->data, strlen(node->data), &member) < 0 ||
            !member_is_drifted(member, opinion->job))
                opinion->somebody_has_it = true;
        return FALSE;
}

bool checker_is_nobodys(const Checker *checker, const DataTree *tree, const PlanJob *job) {
        g_autofree char *path = path_nodes(ROOT);
        const TreeNode *nodes = data_tree_find(tree, path);
        Opinion opinion = {.job = job->name};

        if (!history_has_forgotten(checker_history(checker)) || !nodes || !nodes->children)
                return false;
        g_tree_foreach(nodes->children, opinion_ask, &opinion);
        return !opinion.somebody_has_it;
}

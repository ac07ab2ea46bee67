/* See job-chain.h. */
#include "job-chain.h"

#include "job-graph.h"
#include "job.h"
#include "run-parent.h"

typedef struct ChainNode ChainNode;
struct ChainNode {
        const JobSpec *job;
        GPtrArray *next;         /* ChainNode: those that follow it */
        unsigned before, length; /* links to it that were not walked yet; of the longest way here */
        ChainNode *from;         /* on that way; NULL: it begins here */
};

static void chain_node_free(void *data) {
        ChainNode *node = data;

        g_ptr_array_unref(node->next);
        g_free(node);
}

static void chain_link(guint from, guint to, void *userdata) {
        const GPtrArray *nodes = userdata;
        ChainNode *first = nodes->pdata[from], *second = nodes->pdata[to];

        g_ptr_array_add(first->next, second);
        second->before++;
}

/* Return: newly allocated, a ChainNode for each of the jobs, in their order. */
static GPtrArray *chain_nodes(const GPtrArray *jobs) {
        GPtrArray *nodes = g_ptr_array_new_full(jobs->len, chain_node_free);

        for (guint i = 0; i < jobs->len; i++) {
                ChainNode *node = g_new0(ChainNode, 1);

                node->job = jobs->pdata[i];
                node->next = g_ptr_array_new();
                g_ptr_array_add(nodes, node);
        }
        job_graph_each(jobs, chain_link, nodes);
        return nodes;
}

/* Each once all that come before it are known. Return: the end of the longest; of several the one
 * with the least name, by the order of `jobs`. */
static ChainNode *chain_walk(const GPtrArray *nodes) {
        g_autoptr(GPtrArray) ready = g_ptr_array_new();
        ChainNode *last = NULL;

        for (guint i = 0; i < nodes->len; i++)
                if (((const ChainNode *)nodes->pdata[i])->before == 0)
                        g_ptr_array_add(ready, nodes->pdata[i]);
        for (guint i = 0; i < ready->len; i++) {
                ChainNode *node = ready->pdata[i];

                if (!last || node->length > last->length)
                        last = node;
                for (guint j = 0; j < node->next->len; j++) {
                        ChainNode *next = node->next->pdata[j];

                        if (node->length + 1 > next->length) {
                                next->length = node->length + 1;
                                next->from = node;
                        }
                        if (--next->before == 0)
                                g_ptr_array_add(ready, next);
                }
        }
        return last;
}

void job_chain_check(const GPtrArray *jobs, Diagnostics *diagnostics) {
        g_autoptr(GPtrArray) nodes = chain_nodes(jobs);
        const ChainNode *last = chain_walk(nodes), *first = last, *cut = last;

        if (!last || last->length <= RUN_PARENTS_MAX)
                return;
        for (; first->from; first = first->from)
                if (first->length > RUN_PARENTS_MAX)
                        cut = first;
        diagnostics_warn(diagnostics, &cut->job->mark,
                         "a chain of %u jobs, from \"%s\" to \"%s\", is too long: at most %d runs "
                         "follow one, and what begins with the first does not come to \"%s\": give "
                         "that a schedule of its own, or take links out",
                         last->length + 1, first->job->name, last->job->name, RUN_PARENTS_MAX,
                         cut->job->name);
}

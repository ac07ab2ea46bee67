/* See job-chain.h. */
#include "job-chain.h"

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

static void chain_link(GHashTable *nodes, const char *from, const char *to) {
        ChainNode *first = from ? g_hash_table_lookup(nodes, from) : NULL,
                  *second = to ? g_hash_table_lookup(nodes, to) : NULL;

        if (!first || !second)
                return;
        g_ptr_array_add(first->next, second);
        second->before++;
}

static GHashTable *chain_nodes(const GPtrArray *jobs) {
        GHashTable *nodes = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, chain_node_free);

        for (guint i = 0; i < jobs->len; i++) {
                ChainNode *node = g_new0(ChainNode, 1);

                node->job = jobs->pdata[i];
                node->next = g_ptr_array_new();
                g_hash_table_insert(nodes, node->job->name, node);
        }
        for (guint i = 0; i < jobs->len; i++) {
                const JobSpec *job = jobs->pdata[i];
                const JobLinks *links = &job->books.links;

                for (guint j = 0; links->after && j < links->after->len; j++)
                        chain_link(nodes, ((const JobAfter *)links->after->pdata[j])->job,
                                   job->name);
                chain_link(nodes, job->name, links->on_failure.job);
                chain_link(nodes, job->name, links->on_recovery.job);
        }
        return nodes;
}

/* Each once all that come before it are known. Return: the end of the longest; of several the one
 * with the least name, by the order of `jobs`. */
static ChainNode *chain_walk(const GPtrArray *jobs, GHashTable *nodes) {
        g_autoptr(GPtrArray) ready = g_ptr_array_new();
        ChainNode *last = NULL;

        for (guint i = 0; i < jobs->len; i++) {
                ChainNode *node =
                    g_hash_table_lookup(nodes, ((const JobSpec *)jobs->pdata[i])->name);

                if (node->before == 0)
                        g_ptr_array_add(ready, node);
        }
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
        g_autoptr(GHashTable) nodes = chain_nodes(jobs);
        const ChainNode *last = chain_walk(jobs, nodes), *first = last, *cut = last;

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

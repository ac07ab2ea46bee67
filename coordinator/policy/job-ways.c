/* See job-ways.h. The jobs are put in an order in which each comes behind those that it follows;
 * then one walk along it counts the ways from all beginnings at once. Only where that comes to too
 * many, which it seldom does, they are counted from each beginning alone: first along what it leads
 * to, of which there is little, and only where that is too many along all links to those, to see
 * which of them is in force longest. A job in the middle begins by itself, too, but then less comes
 * of it than of what leads to it. */
#include "job-ways.h"

#include "job-graph.h"
#include "job.h"

/* It is as good as any larger number. */
#define WAYS_SEEN_MAX 1000000U

typedef struct WayNode WayNode;

/* That a job comes after another. */
typedef struct WayLink {
        WayNode *from;
        const JobAfter *after; /* NULL: a hook */
        bool old;              /* it was in force before */
        bool cut;
} WayLink;

/* The same from the other end. */
typedef struct WayNext {
        WayNode *to;
        bool together; /* with all others that are, it is one */
} WayNext;

struct WayNode {
        const JobSpec *job;
        GArray *links;   /* WayLink: how it is come to */
        GArray *next;    /* WayNext: those that follow it */
        unsigned before; /* links to it that were not walked yet */
        unsigned ways;   /* that lead to it */
        bool matters;    /* it, or one behind it, may be come to too often */
        bool together;   /* those that are one were counted */
};

typedef struct Ways {
        GPtrArray *nodes; /* WayNode; owns them */
        GPtrArray *order; /* the same, each behind those that it follows */
        GHashTable *after, *before;
        Diagnostics *diagnostics;
} Ways;

static void way_node_free(void *data) {
        WayNode *node = data;

        g_array_unref(node->links);
        g_array_unref(node->next);
        g_free(node);
}

/* ---- the order ---- */

static bool way_is_in(GHashTable *index, const JobSpec *from, const JobSpec *to) {
        const GPtrArray *followers = index ? g_hash_table_lookup(index, from->name) : NULL;

        for (guint i = 0; followers && i < followers->len; i++)
                if (g_str_equal(((const JobSpec *)followers->pdata[i])->name, to->name))
                        return true;
        return false;
}

/* A job that follows another twice, as one that it names and as its hook, is asked for once. */
static void way_link(guint from, guint to, void *userdata) {
        const Ways *ways = userdata;
        WayNode *first = ways->nodes->pdata[from], *second = ways->nodes->pdata[to];
        const WayLink link = {.from = first,
                              .after = job_links_after(&second->job->books.links, first->job->name),
                              .old = way_is_in(ways->before, first->job, second->job)};
        WayNext next;

        for (guint i = 0; i < second->links->len; i++)
                if (g_array_index(second->links, WayLink, i).from == first)
                        return;
        g_array_append_val(second->links, link);
        next = (WayNext){second, second->job->books.links.all && link.after};
        g_array_append_val(first->next, next);
        second->before++;
}

static void ways_sort(const Ways *ways) {
        for (guint i = 0; i < ways->nodes->len; i++)
                if (((const WayNode *)ways->nodes->pdata[i])->before == 0)
                        g_ptr_array_add(ways->order, ways->nodes->pdata[i]);
        for (guint i = 0; i < ways->order->len; i++) {
                const WayNode *node = ways->order->pdata[i];

                for (guint j = 0; j < node->next->len; j++) {
                        WayNode *next = g_array_index(node->next, WayNext, j).to;

                        if (--next->before == 0)
                                g_ptr_array_add(ways->order, next);
                }
        }
}

static void ways_init(Ways *ways, const GPtrArray *jobs) {
        ways->nodes = g_ptr_array_new_full(jobs->len, way_node_free);
        ways->order = g_ptr_array_sized_new(jobs->len);
        for (guint i = 0; i < jobs->len; i++) {
                WayNode *node = g_new0(WayNode, 1);

                node->job = jobs->pdata[i];
                node->links = g_array_new(FALSE, FALSE, sizeof(WayLink));
                node->next = g_array_new(FALSE, FALSE, sizeof(WayNext));
                g_ptr_array_add(ways->nodes, node);
        }
        job_graph_each(jobs, way_link, ways);
        ways_sort(ways);
}

static void ways_clear(Ways *ways) {
        g_ptr_array_unref(ways->order);
        g_ptr_array_unref(ways->nodes);
}

/* ---- how many lead to one ---- */

static void way_node_leave(const WayNode *from, const WayNode *to) {
        for (guint i = 0; i < from->next->len; i++)
                if (g_array_index(from->next, WayNext, i).to == to) {
                        g_array_remove_index_fast(from->next, i);
                        return;
                }
}

static void ways_cut(const Ways *ways, const WayNode *node, WayLink *link, const WayNode *start) {
        GPtrArray *followers = g_hash_table_lookup(ways->after, link->from->job->name);

        link->cut = true;
        way_node_leave(link->from, node);
        if (followers)
                (void)g_ptr_array_remove(followers, (gpointer)node->job);
        diagnostics_add(ways->diagnostics, &link->after->mark,
                        "job \"%s\" does not run after \"%s\": with that, one tick of \"%s\" has "
                        "it run more than %d times, once for each way on which the links lead to "
                        "it: let it wait for them together (after: {all: [...]}), or take links "
                        "out; the job takes effect without that",
                        node->job->name, link->from->job->name, start->job->name, JOB_WAYS_MAX);
}

/* Those that come before it are known. `start`: where all of them begin; NULL: nothing is taken
 * out. */
static void way_node_count(const Ways *ways, WayNode *node, const WayNode *start) {
        for (unsigned turn = 0; turn < 2; turn++)
                for (guint i = 0; i < node->links->len; i++) {
                        WayLink *link = &g_array_index(node->links, WayLink, i);
                        unsigned sum = node->ways + link->from->ways;

                        if (link->cut || link->old != (turn == 0) || link->from->ways == 0)
                                continue;
                        if (node->job->books.links.all && link->after)
                                sum = MAX(node->ways, 1);
                        else if (start && link->after && sum > JOB_WAYS_MAX) {
                                ways_cut(ways, node, link, start);
                                continue;
                        }
                        node->ways = MIN(sum, WAYS_SEEN_MAX);
                }
}

/* Which of them all of the beginnings together come to too often, and what leads there. */
static void ways_find(const Ways *ways) {
        for (guint i = 0; i < ways->order->len; i++) {
                WayNode *node = ways->order->pdata[i];

                node->ways = node->links->len == 0;
                way_node_count(ways, node, NULL);
                node->matters = node->ways > JOB_WAYS_MAX;
        }
        for (guint i = ways->order->len; i > 0; i--) {
                const WayNode *node = ways->order->pdata[i - 1];

                for (guint j = 0; node->matters && j < node->links->len; j++)
                        g_array_index(node->links, WayLink, j).from->matters = true;
        }
}

/* Return: newly allocated, the start and what it leads to, each behind those of them that it
 * follows. */
static GPtrArray *ways_reached(WayNode *start) {
        g_autoptr(GPtrArray) found = g_ptr_array_new();
        GPtrArray *order = g_ptr_array_new();

        g_ptr_array_add(found, start);
        g_ptr_array_add(order, start);
        for (guint i = 0; i < found->len; i++) {
                const GArray *next = ((const WayNode *)found->pdata[i])->next;

                for (guint j = 0; j < next->len; j++) {
                        WayNode *to = g_array_index(next, WayNext, j).to;

                        if (to->matters && to->before++ == 0)
                                g_ptr_array_add(found, to);
                }
        }
        for (guint i = 0; i < order->len; i++) {
                const GArray *next = ((const WayNode *)order->pdata[i])->next;

                for (guint j = 0; j < next->len; j++) {
                        WayNode *to = g_array_index(next, WayNext, j).to;

                        if (to->matters && --to->before == 0)
                                g_ptr_array_add(order, to);
                }
        }
        return order;
}

static void way_next_add(const WayNext *next, unsigned ways) {
        WayNode *to = next->to;

        if (!to->matters || (next->together && to->together))
                return;
        to->ways += next->together ? 1 : ways;
        to->together |= next->together;
}

/* Return: whether too many ways may lead from the first of them to one of the others. */
static bool ways_may_be_too_many(const GPtrArray *order) {
        for (guint i = 0; i < order->len; i++) {
                const WayNode *node = order->pdata[i];

                if (node->ways > JOB_WAYS_MAX)
                        return true;
                for (guint j = 0; j < node->next->len; j++)
                        way_next_add(&g_array_index(node->next, WayNext, j), node->ways);
        }
        return false;
}

static void ways_forget(const GPtrArray *nodes) {
        for (guint i = 0; i < nodes->len; i++) {
                WayNode *node = nodes->pdata[i];

                node->ways = 0;
                node->together = false;
        }
}

/* No ways are known, before and after. */
static void ways_limit_from(const Ways *ways, WayNode *start) {
        g_autoptr(GPtrArray) order = ways_reached(start);
        bool too_many;

        start->ways = 1;
        too_many = ways_may_be_too_many(order);
        ways_forget(order);
        if (!too_many)
                return;
        start->ways = 1;
        for (guint i = 1; i < order->len; i++)
                way_node_count(ways, order->pdata[i], start);
        ways_forget(order);
}

static bool way_node_begins(const WayNode *node) {
        return node->matters && node->links->len == 0;
}

void job_ways_limit(const GPtrArray *jobs, GHashTable *after, GHashTable *before,
                    Diagnostics *diagnostics) {
        Ways ways = {.after = after, .before = before, .diagnostics = diagnostics};

        ways_init(&ways, jobs);
        ways_find(&ways);
        ways_forget(ways.nodes);
        for (guint i = 0; i < ways.order->len; i++)
                if (way_node_begins(ways.order->pdata[i]))
                        ways_limit_from(&ways, ways.order->pdata[i]);
        ways_clear(&ways);
}

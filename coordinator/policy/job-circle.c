/* See job-circle.h. One walk over all links: what was walked to its end without a circle is not
 * walked again. The way is kept in an array, since a chain may be as long as there are jobs. */
#include "job-circle.h"

#include <string.h>

#include "job-graph.h"
#include "job.h"

/* How many jobs of a circle are named: a message is read by people. */
#define CIRCLE_NAMED_MAX 10

typedef struct CircleNode {
        const JobSpec *job;
        GPtrArray *next; /* CircleNode: the jobs that its ends ask for; weak */
        guint walked;    /* so many of them were looked at */
        bool on_way;
        guint seen;   /* its place in the order in which they were come to; 0: not yet */
        guint lowest; /* the least `seen` that can be come to from it */
        bool knotted; /* it is known in which knot it is */
} CircleNode;

static void circle_node_free(void *data) {
        CircleNode *node = data;

        g_ptr_array_unref(node->next);
        g_free(node);
}

static void circle_link(guint from, guint to, void *userdata) {
        const GPtrArray *nodes = userdata;

        g_ptr_array_add(((const CircleNode *)nodes->pdata[from])->next, nodes->pdata[to]);
}

/* Return: newly allocated, a CircleNode for each of the jobs, in their order. */
static GPtrArray *circle_nodes(const GPtrArray *jobs) {
        GPtrArray *nodes = g_ptr_array_new_full(jobs->len, circle_node_free);

        for (guint i = 0; i < jobs->len; i++) {
                CircleNode *node = g_new0(CircleNode, 1);

                node->job = jobs->pdata[i];
                node->next = g_ptr_array_new();
                g_ptr_array_add(nodes, node);
        }
        job_graph_each(jobs, circle_link, nodes);
        return nodes;
}

/* Return: where the way comes back to itself; NULL when all that begins at `start` was walked. */
static CircleNode *circle_walk(CircleNode *start, GPtrArray *way) {
        start->on_way = true;
        g_ptr_array_add(way, start);
        while (way->len > 0) {
                CircleNode *node = way->pdata[way->len - 1], *next;

                if (node->walked == node->next->len) {
                        node->on_way = false;
                        g_ptr_array_set_size(way, (gint)way->len - 1);
                        continue;
                }
                next = node->next->pdata[node->walked++];
                if (next->on_way)
                        return next;
                if (next->walked == 0) {
                        next->on_way = true;
                        g_ptr_array_add(way, next);
                }
        }
        return NULL;
}

/* Return: newly allocated, the jobs of the way from `begin` on, with the least name first. */
static GPtrArray *circle_of(const GPtrArray *way, const CircleNode *begin) {
        GPtrArray *circle = g_ptr_array_new();
        guint first = 0, least = 0, length;

        while (way->pdata[first] != begin)
                first++;
        length = way->len - first;
        for (guint i = 1; i < length; i++)
                if (strcmp(((const CircleNode *)way->pdata[first + i])->job->name,
                           ((const CircleNode *)way->pdata[first + least])->job->name) < 0)
                        least = i;
        for (guint i = 0; i < length; i++) {
                const CircleNode *node = way->pdata[first + (least + i) % length];
                g_ptr_array_add(circle, (gpointer)node->job);
        }
        return circle;
}

GPtrArray *job_circle_find(const GPtrArray *jobs) {
        g_autoptr(GPtrArray) nodes = circle_nodes(jobs);
        g_autoptr(GPtrArray) way = g_ptr_array_new();

        for (guint i = 0; i < nodes->len; i++) {
                CircleNode *start = nodes->pdata[i],
                           *begin = start->walked == 0 ? circle_walk(start, way) : NULL;

                if (begin)
                        return circle_of(way, begin);
        }
        return NULL;
}

/* ---- all of them ---- */

typedef struct KnotWalk {
        GPtrArray *way, *open; /* CircleNode: the way to here; those that are in no knot yet */
        guint seen;
        GPtrArray *knots;
} KnotWalk;

static void knot_come_to(KnotWalk *walk, CircleNode *node) {
        node->seen = node->lowest = ++walk->seen;
        g_ptr_array_add(walk->way, node);
        g_ptr_array_add(walk->open, node);
}

/* All that can be come to from the node was: where nothing before it can, it and what is open
 * behind it are a knot. */
static void knot_leave(KnotWalk *walk, CircleNode *node) {
        GPtrArray *knot = NULL;
        CircleNode *last = NULL;

        g_ptr_array_set_size(walk->way, (gint)walk->way->len - 1);
        if (walk->way->len > 0) {
                CircleNode *before = walk->way->pdata[walk->way->len - 1];
                before->lowest = MIN(before->lowest, node->lowest);
        }
        if (node->lowest != node->seen)
                return;
        knot = g_ptr_array_new();
        do {
                last = g_ptr_array_steal_index(walk->open, walk->open->len - 1);
                last->knotted = true;
                g_ptr_array_add(knot, (gpointer)last->job);
        } while (last != node);
        if (knot->len > 1)
                g_ptr_array_add(walk->knots, knot);
        else
                g_ptr_array_unref(knot);
}

static void knot_walk(KnotWalk *walk, CircleNode *start) {
        knot_come_to(walk, start);
        while (walk->way->len > 0) {
                CircleNode *node = walk->way->pdata[walk->way->len - 1], *next;

                if (node->walked == node->next->len) {
                        knot_leave(walk, node);
                        continue;
                }
                next = node->next->pdata[node->walked++];
                if (next->seen == 0)
                        knot_come_to(walk, next);
                else if (!next->knotted)
                        node->lowest = MIN(node->lowest, next->seen);
        }
}

GPtrArray *job_knots_find(const GPtrArray *jobs) {
        g_autoptr(GPtrArray) nodes = circle_nodes(jobs);
        g_autoptr(GPtrArray) way = g_ptr_array_new(), open = g_ptr_array_new();
        KnotWalk walk = {.way = way,
                         .open = open,
                         .knots =
                             g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref)};

        for (guint i = 0; i < nodes->len; i++) {
                CircleNode *start = nodes->pdata[i];

                if (start->seen == 0)
                        knot_walk(&walk, start);
        }
        return walk.knots;
}

char *job_circle_to_string(const GPtrArray *circle) {
        GString *text = g_string_new(NULL);

        for (guint i = 0; i < circle->len && i < CIRCLE_NAMED_MAX; i++)
                g_string_append_printf(text, "%s → ", ((const JobSpec *)circle->pdata[i])->name);
        if (circle->len > CIRCLE_NAMED_MAX)
                g_string_append(text, "… → ");
        g_string_append(text, ((const JobSpec *)circle->pdata[0])->name);
        return g_string_free(text, FALSE);
}

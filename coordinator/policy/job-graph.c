/* See job-graph.h. */
#include "job-graph.h"

#include "job.h"

typedef struct JobGraph {
        GHashTable *places; /* name → place, as a pointer */
        JobGraphFunc func;
        void *userdata;
} JobGraph;

static void job_graph_link(const JobGraph *graph, const char *from, const char *to) {
        gpointer first, second;

        if (from && to && g_hash_table_lookup_extended(graph->places, from, NULL, &first) &&
            g_hash_table_lookup_extended(graph->places, to, NULL, &second))
                graph->func(GPOINTER_TO_UINT(first), GPOINTER_TO_UINT(second), graph->userdata);
}

void job_graph_each(const GPtrArray *jobs, JobGraphFunc func, void *userdata) {
        g_autoptr(GHashTable) places = g_hash_table_new(g_str_hash, g_str_equal);
        const JobGraph graph = {.places = places, .func = func, .userdata = userdata};

        for (guint i = 0; i < jobs->len; i++)
                g_hash_table_insert(places, ((const JobSpec *)jobs->pdata[i])->name,
                                    GUINT_TO_POINTER(i));
        for (guint i = 0; i < jobs->len; i++) {
                const JobSpec *job = jobs->pdata[i];
                const JobLinks *links = &job->books.links;

                for (guint j = 0; links->after && j < links->after->len; j++)
                        job_graph_link(&graph, ((const JobAfter *)links->after->pdata[j])->job,
                                       job->name);
                job_graph_link(&graph, job->name, links->on_failure.job);
                job_graph_link(&graph, job->name, links->on_recovery.job);
        }
}

/* See manual-runs.h. */
#include "manual-runs.h"

#include <glib.h>
#include <string.h>

struct ManualRuns {
        GQueue queue; /* ManualRun */
};

static RunParent *manual_run_parent(const RunParent *parent) {
        RunParent *copy = g_new(RunParent, 1);

        *copy = run_parent_copy(parent);
        return copy;
}

ManualRun *manual_run_copy(const ManualRun *run) {
        ManualRun *copy = g_new(ManualRun, 1);

        *copy = *run;
        copy->id = g_strdup(run->id);
        copy->request = g_strdup(run->request);
        copy->who = g_strdup(run->who);
        copy->parent = run->parent ? manual_run_parent(run->parent) : NULL;
        return copy;
}

ManualRun *manual_run_free(ManualRun *run) {
        if (!run)
                return NULL;
        g_free(run->id);
        g_free(run->request);
        g_free(run->who);
        if (run->parent)
                run_parent_clear((RunParent *)run->parent);
        g_free((RunParent *)run->parent);
        g_free(run);
        return NULL;
}

const char *manual_run_request(const ManualRun *run) {
        return run->request ? run->request : run->id;
}

static void manual_run_destroy(void *run) {
        manual_run_free(run);
}

ManualRuns *manual_runs_new(void) {
        ManualRuns *runs = g_new0(ManualRuns, 1);

        g_queue_init(&runs->queue);
        return runs;
}

ManualRuns *manual_runs_free(ManualRuns *runs) {
        if (!runs)
                return NULL;
        manual_runs_clear(runs);
        g_free(runs);
        return NULL;
}

void manual_runs_add(ManualRuns *runs, const ManualRun *run) {
        ManualRun *added = manual_run_copy(run);

        added->asked = clock_realtime();
        g_queue_push_tail(&runs->queue, added);
}

const ManualRun *manual_runs_first(const ManualRuns *runs) {
        return runs->queue.head ? runs->queue.head->data : NULL;
}

void manual_runs_drop(ManualRuns *runs, const char *id) {
        for (GList *link = runs->queue.head; link; link = link->next) {
                ManualRun *run = link->data;
                if (strcmp(run->id, id) != 0)
                        continue;
                g_queue_delete_link(&runs->queue, link);
                manual_run_free(run);
                return;
        }
}

void manual_runs_clear(ManualRuns *runs) {
        g_queue_clear_full(&runs->queue, manual_run_destroy);
}

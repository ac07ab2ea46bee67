/* See left-queues.h. */
#include "left-queues.h"

#include "lock.h"
#include "paths.h"
#include "resource.h"
#include "waiters.h"

struct LeftQueues {
        Node *node; /* weak */
        const LeftQueuesEvents *events;
        void *userdata;
        Waiters *waiters; /* what it waited for is being looked at */
        bool due;
};

LeftQueues *left_queues_new(Node *node, const LeftQueuesEvents *events, void *userdata) {
        LeftQueues *queues = g_new0(LeftQueues, 1);

        queues->node = node;
        queues->events = events;
        queues->userdata = userdata;
        return queues;
}

LeftQueues *left_queues_free(LeftQueues *queues) {
        if (!queues)
                return NULL;
        waiters_free(queues->waiters);
        g_free(queues);
        return NULL;
}

void left_queues_begin(LeftQueues *queues, bool due) {
        queues->due = due;
}

void left_queues_reset(LeftQueues *queues) {
        queues->waiters = waiters_free(queues->waiters);
}

/* `known`: the resources of the jobs before it, which have been added. */
static void add_queues_of_job(const LeftQueues *queues, const JobSpec *spec, GHashTable *known,
                              GPtrArray *directories) {
        const DaemonConfig *config = queues->node->config;
        g_autofree char *parent = path_locks(config->root), *own = resource_of_job(spec->name);

        g_ptr_array_add(directories, g_strconcat(parent, "/", own, NULL));
        for (guint i = 0; i < spec->resources->len; i++) {
                const JobResource *resource = spec->resources->pdata[i];

                if (g_hash_table_add(known, resource->name))
                        g_ptr_array_add(directories, resource_directory(config, resource->name));
        }
}

static void left_queues_sweep(LeftQueues *queues) {
        g_autoptr(GPtrArray) directories = g_ptr_array_new_with_free_func(g_free),
                             keep = g_ptr_array_new_with_free_func(g_free),
                             specs = g_ptr_array_new();
        g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal); /* borrowed */

        queues->events->jobs(specs, queues->userdata);
        for (guint i = 0; i < specs->len; i++)
                add_queues_of_job(queues, specs->pdata[i], known, directories);
        queues->events->keep(directories, keep, queues->userdata);
        g_ptr_array_add(directories, NULL);
        g_ptr_array_add(keep, NULL);
        (void)lock_sweep(queues->node->session, (const char *const *)directories->pdata,
                         (const char *const *)keep->pdata);
}

static void left_queues_on_waiters(int error, const GPtrArray *found, void *userdata) {
        LeftQueues *queues = userdata;

        for (guint i = 0; error >= 0 && i < found->len; i++) {
                const Waiter *waiter = found->pdata[i];
                if (waiter->ours)
                        queues->events->waited_for(waiter->job, waiter->tick, queues->userdata);
        }
        queues->waiters = waiters_free(queues->waiters);
        left_queues_sweep(queues);
}

static bool may_wait_past_its_deadline(const JobSpec *spec) {
        return spec->lock_wait_set && (spec->lock != JOB_LOCK_NONE || spec->resources->len > 0);
}

/* Before its contenders go, the ticks that it waited for are noted: beyond their start deadline
 * nothing else tells of them. */
void left_queues_delete(LeftQueues *queues) {
        g_autoptr(GPtrArray) specs = g_ptr_array_new(), waiting = g_ptr_array_new();

        if (!queues->due)
                return;
        queues->due = false;
        queues->events->jobs(specs, queues->userdata);
        for (guint i = 0; i < specs->len; i++)
                if (may_wait_past_its_deadline(specs->pdata[i]))
                        g_ptr_array_add(waiting, specs->pdata[i]);
        if (waiting->len == 0 || waiters_look(queues->node, waiting, left_queues_on_waiters, queues,
                                              &queues->waiters) < 0)
                left_queues_sweep(queues);
}

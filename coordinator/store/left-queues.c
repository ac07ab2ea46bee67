/* See left-queues.h. */
#include "left-queues.h"

#include "lock.h"
#include "paths.h"
#include "resource.h"
#include "timer.h"
#include "waiters.h"

#define LIST_RETRY_DELAY USEC_PER_SEC

struct LeftQueues {
        Node *node; /* weak */
        const LeftQueuesEvents *events;
        void *userdata;
        Waiters *waiters;  /* what it waited for is being looked at */
        ZkCall *list_call; /* and then all that it may have waited in */
        sd_event_source *retry;
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
        left_queues_reset(queues);
        g_free(queues);
        return NULL;
}

void left_queues_begin(LeftQueues *queues, bool due) {
        queues->due = due;
}

void left_queues_reset(LeftQueues *queues) {
        queues->waiters = waiters_free(queues->waiters);
        queues->list_call = zk_call_free(queues->list_call);
        queues->retry = sd_event_source_disable_unref(queues->retry);
}

/* Directories to be looked through, each once, in the order of their finding. */
typedef struct QueueDirectories {
        GPtrArray *paths;  /* NULL-terminated in the end */
        GHashTable *known; /* a set of the same, borrowed */
} QueueDirectories;

/* Takes over `path`. */
static void directories_add(const QueueDirectories *directories, char *path) {
        if (g_hash_table_contains(directories->known, path)) {
                g_free(path);
                return;
        }
        g_hash_table_add(directories->known, path);
        g_ptr_array_add(directories->paths, path);
}

static void directories_add_job(const QueueDirectories *directories, const DaemonConfig *config,
                                const JobSpec *spec) {
        g_autofree char *parent = path_locks(config->root), *own = resource_of_job(spec->name);

        directories_add(directories, g_strconcat(parent, "/", own, NULL));
        for (guint i = 0; i < spec->resources->len; i++) {
                const JobResource *resource = spec->resources->pdata[i];

                directories_add(directories, resource_directory(config, resource->name));
        }
}

/* Those that stand elsewhere. */
static void directories_add_declared(const QueueDirectories *directories,
                                     const DaemonConfig *config) {
        GHashTableIter iterator;
        gpointer name;

        if (!config->resources)
                return;
        g_hash_table_iter_init(&iterator, config->resources);
        while (g_hash_table_iter_next(&iterator, &name, NULL))
                directories_add(directories, resource_directory(config, name));
}

/* `listed`: what stands below our locks, as the server says; NULL: that is not to be had. */
static void left_queues_sweep(const LeftQueues *queues, const char *const *listed) {
        const DaemonConfig *config = queues->node->config;
        g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free),
                             keep = g_ptr_array_new_with_free_func(g_free),
                             specs = g_ptr_array_new();
        g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);
        const QueueDirectories directories = {paths, known};
        g_autofree char *parent = path_locks(config->root);

        queues->events->jobs(specs, queues->userdata);
        for (guint i = 0; i < specs->len; i++)
                directories_add_job(&directories, config, specs->pdata[i]);
        directories_add_declared(&directories, config);
        for (; listed && *listed; listed++)
                directories_add(&directories, g_strconcat(parent, "/", *listed, NULL));
        queues->events->keep(paths, keep, queues->userdata);
        g_ptr_array_add(paths, NULL);
        g_ptr_array_add(keep, NULL);
        (void)lock_sweep(queues->node->session, (const char *const *)paths->pdata,
                         (const char *const *)keep->pdata);
}

static void left_queues_list(void *userdata);

static void left_queues_on_listed(const ZkReply *reply, void *userdata) {
        LeftQueues *queues = userdata;

        queues->list_call = NULL;
        if (reply->code == ZK_UNKNOWN)
                (void)timer_in(queues->node->event, &queues->retry, LIST_RETRY_DELAY,
                               left_queues_list, queues);
        else if (reply->code != ZK_CLOSED)
                left_queues_sweep(queues, reply->code == ZK_OK ? reply->children : NULL);
}

/* Also queues of jobs that our files do not have any more, or hide behind a fault: whoever stands
 * there would keep all others out for as long as the session lives. */
static void left_queues_list(void *userdata) {
        LeftQueues *queues = userdata;
        g_autofree char *path = path_locks(queues->node->config->root);
        Zk *zk = session_zk(queues->node->session);

        if (zk && zk_get_children(zk, path, left_queues_on_listed, queues, &queues->list_call, NULL,
                                  NULL, NULL) < 0)
                left_queues_sweep(queues, NULL);
}

static void left_queues_on_waiters(int error, const GPtrArray *found, void *userdata) {
        LeftQueues *queues = userdata;

        for (guint i = 0; error >= 0 && i < found->len; i++) {
                const Waiter *waiter = found->pdata[i];
                if (waiter->ours)
                        queues->events->waited_for(waiter->job, waiter->tick, queues->userdata);
        }
        queues->waiters = waiters_free(queues->waiters);
        left_queues_list(queues);
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
                left_queues_list(queues);
}

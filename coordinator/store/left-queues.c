/* See left-queues.h. */
#include "left-queues.h"

#include "lock.h"
#include "log.h"
#include "paths.h"
#include "resource.h"
#include "timer.h"
#include "waiters.h"

#define LIST_RETRY_DELAY USEC_PER_SEC
/* So long, at most, do those stay with which it waited, for the others to see until we stand there
 * anew. They are in the way of whoever waits behind them, so they go once we do: a process that is
 * restarted again and again would leave them there for good. */
#define WAITING_STAYS (5 * USEC_PER_SEC)
/* Nothing is started before it is known what was waited for, and anybody may stand in a queue: one
 * with very many of them is not read to its end. */
#define LOOK_PATIENCE (5 * USEC_PER_SEC)
/* Of both, time without a connection does not count: nothing could be started, nor stand anywhere
 * anew. */
#define LOOK_PERIOD (200 * USEC_PER_MSEC)

typedef struct LeftWaiting {
        char *path;
        char *job;
        int64_t tick;
} LeftWaiting;

struct LeftQueues {
        Node *node; /* weak */
        const LeftQueuesEvents *events;
        void *userdata;
        Waiters *waiters;   /* what it waited for is being looked at */
        GPtrArray *waiting; /* of LeftWaiting: the contenders with which it did, until they go */
        usec_t patience;    /* how much is left of it, with the look or with them */
        ZkCall *list_call;  /* all that it may have waited in */
        sd_event_source *timer; /* of the look, and after it of what follows */
        bool begun;             /* what stands there by now may be ours */
        bool due;
};

static void left_waiting_free(void *data) {
        LeftWaiting *waiting = data;

        g_free(waiting->path);
        g_free(waiting->job);
        g_free(waiting);
}

LeftQueues *left_queues_new(Node *node, const LeftQueuesEvents *events, void *userdata) {
        LeftQueues *queues = g_new0(LeftQueues, 1);

        queues->node = node;
        queues->events = events;
        queues->userdata = userdata;
        queues->waiting = g_ptr_array_new_with_free_func(left_waiting_free);
        return queues;
}

LeftQueues *left_queues_free(LeftQueues *queues) {
        if (!queues)
                return NULL;
        left_queues_reset(queues);
        g_ptr_array_unref(queues->waiting);
        g_free(queues);
        return NULL;
}

void left_queues_reset(LeftQueues *queues) {
        queues->waiters = waiters_free(queues->waiters);
        queues->list_call = zk_call_free(queues->list_call);
        queues->timer = sd_event_source_disable_unref(queues->timer);
        queues->due = false;
}

static void directories_add_job(GPtrArray *directories, const DaemonConfig *config,
                                const JobSpec *spec) {
        g_autofree char *parent = path_locks(config->root), *own = resource_of_job(spec->name);

        g_ptr_array_add(directories, g_strconcat(parent, "/", own, NULL));
        for (guint i = 0; i < spec->resources->len; i++) {
                const JobResource *resource = spec->resources->pdata[i];

                g_ptr_array_add(directories, resource_directory(config, resource->name));
        }
}

/* Those that stand elsewhere. */
static void directories_add_declared(GPtrArray *directories, const DaemonConfig *config) {
        GHashTableIter iterator;
        gpointer name;

        if (!config->resources)
                return;
        g_hash_table_iter_init(&iterator, config->resources);
        while (g_hash_table_iter_next(&iterator, &name, NULL))
                g_ptr_array_add(directories, resource_directory(config, name));
}

/* Takes the directories. What stays so far is spared. */
static void left_queues_sweep_in(LeftQueues *queues, GPtrArray *directories, GPtrArray *keep) {
        for (guint i = 0; i < queues->waiting->len; i++)
                g_ptr_array_add(keep, g_strdup(((LeftWaiting *)queues->waiting->pdata[i])->path));
        g_ptr_array_add(directories, NULL);
        g_ptr_array_add(keep, NULL);
        (void)lock_sweep(queues->node->session, (const char *const *)directories->pdata,
                         (const char *const *)keep->pdata);
}

/* A period has passed. Return: whether that was the last of it. */
static bool left_queues_lose_patience(LeftQueues *queues) {
        if (session_state(queues->node->session) == SESSION_CONNECTED)
                queues->patience = usec_sub(queues->patience, LOOK_PERIOD);
        return queues->patience == 0;
}

static void left_queues_on_stay(void *userdata);

static void left_queues_stay(LeftQueues *queues) {
        if (queues->waiting->len > 0)
                (void)timer_in(queues->node->event, &queues->timer, LOOK_PERIOD,
                               left_queues_on_stay, queues);
}

/* A lock set tells nothing before it holds, so it is asked. */
static void left_queues_on_stay(void *userdata) {
        LeftQueues *queues = userdata;
        bool over = left_queues_lose_patience(queues);
        g_autoptr(GPtrArray) directories = g_ptr_array_new_with_free_func(g_free),
                             others = g_ptr_array_new_with_free_func(g_free),
                             keep = g_ptr_array_new_with_free_func(g_free);

        for (guint i = queues->waiting->len; i-- > 0;) {
                const LeftWaiting *waiting = queues->waiting->pdata[i];

                if (!over &&
                    !queues->events->stands_anew(waiting->job, waiting->tick, queues->userdata))
                        continue;
                g_ptr_array_add(directories, g_path_get_dirname(waiting->path));
                g_ptr_array_remove_index_fast(queues->waiting, i);
        }
        if (directories->len > 0) {
                queues->events->keep(others, keep, queues->userdata);
                left_queues_sweep_in(queues, directories, keep);
        }
        left_queues_stay(queues);
}

/* `listed`: what stands below our locks, as the server says; NULL: that is not to be had. */
static void left_queues_sweep(LeftQueues *queues, const char *const *listed) {
        const DaemonConfig *config = queues->node->config;
        g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free),
                             keep = g_ptr_array_new_with_free_func(g_free),
                             specs = g_ptr_array_new();
        g_autofree char *parent = path_locks(config->root);

        queues->events->jobs(specs, queues->userdata);
        for (guint i = 0; i < specs->len; i++)
                directories_add_job(paths, config, specs->pdata[i]);
        directories_add_declared(paths, config);
        for (; listed && *listed; listed++)
                g_ptr_array_add(paths, g_strconcat(parent, "/", *listed, NULL));
        queues->events->keep(paths, keep, queues->userdata);
        left_queues_sweep_in(queues, paths, keep);
        queues->patience = WAITING_STAYS;
        left_queues_stay(queues);
}

static void left_queues_list(void *userdata);

static void left_queues_on_listed(const ZkReply *reply, void *userdata) {
        LeftQueues *queues = userdata;

        queues->list_call = NULL;
        if (reply->code == ZK_UNKNOWN)
                (void)timer_in(queues->node->event, &queues->timer, LIST_RETRY_DELAY,
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

void left_queues_delete(LeftQueues *queues) {
        if (!queues->due || queues->waiters)
                return;
        queues->due = false;
        left_queues_list(queues);
}

/* ---- what it waited for ---- */

/* `keep`: a set of those of runs, which wait for nothing. */
static void left_queues_take_waiter(LeftQueues *queues, const Waiter *waiter, GHashTable *keep) {
        if (!waiter->ours || g_hash_table_contains(keep, waiter->path))
                return;
        if (queues->events->waited_for(waiter->job, waiter->tick, WAITING_STAYS,
                                       queues->userdata)) {
                LeftWaiting *waiting = g_new0(LeftWaiting, 1);

                *waiting =
                    (LeftWaiting){g_strdup(waiter->path), g_strdup(waiter->job), waiter->tick};
                g_ptr_array_add(queues->waiting, waiting);
        }
}

static void left_queues_end_look(LeftQueues *queues) {
        queues->waiters = waiters_free(queues->waiters);
        queues->timer = sd_event_source_disable_unref(queues->timer);
        queues->events->looked(queues->userdata);
}

static void left_queues_on_waiters(int error, const GPtrArray *found, void *userdata) {
        LeftQueues *queues = userdata;
        g_autoptr(GPtrArray) directories = g_ptr_array_new_with_free_func(g_free),
                             paths = g_ptr_array_new_with_free_func(g_free);
        g_autoptr(GHashTable) keep = g_hash_table_new(g_str_hash, g_str_equal); /* borrowed */

        queues->events->keep(directories, paths, queues->userdata);
        for (guint i = 0; i < paths->len; i++)
                g_hash_table_add(keep, paths->pdata[i]);
        for (guint i = 0; error >= 0 && i < found->len; i++)
                left_queues_take_waiter(queues, found->pdata[i], keep);
        left_queues_end_look(queues);
}

static void left_queues_on_period(void *userdata) {
        LeftQueues *queues = userdata;

        if (!left_queues_lose_patience(queues)) {
                (void)timer_in(queues->node->event, &queues->timer, LOOK_PERIOD,
                               left_queues_on_period, queues);
                return;
        }
        log_warning(NULL,
                    "the queues of the jobs with \"lock-wait\" could not be read in %u s: "
                    "jobs are started without knowing what the previous daemon process "
                    "waited for beyond a start deadline, which is not waited for any more",
                    (unsigned)(LOOK_PATIENCE / USEC_PER_SEC));
        left_queues_end_look(queues);
}

static bool may_wait_past_its_deadline(const JobSpec *spec) {
        return spec->lock_wait_set && (spec->lock != JOB_LOCK_NONE || spec->resources->len > 0);
}

/* Beyond their start deadline nothing but its contenders tells of the ticks that it waited for. */
void left_queues_begin(LeftQueues *queues, bool due) {
        g_autoptr(GPtrArray) specs = g_ptr_array_new(), waiting = g_ptr_array_new();

        if (queues->begun || !due)
                return;
        queues->begun = queues->due = true;
        queues->events->jobs(specs, queues->userdata);
        for (guint i = 0; i < specs->len; i++)
                if (may_wait_past_its_deadline(specs->pdata[i]))
                        g_ptr_array_add(waiting, specs->pdata[i]);
        if (waiting->len > 0 && waiters_look(queues->node, waiting, left_queues_on_waiters, queues,
                                             &queues->waiters) >= 0) {
                queues->patience = LOOK_PATIENCE;
                (void)timer_in(queues->node->event, &queues->timer, LOOK_PERIOD,
                               left_queues_on_period, queues);
        }
}

const char *left_queues_busy(const LeftQueues *queues) {
        return queues->waiters ? "what the previous daemon process waited for is being looked at"
                               : NULL;
}

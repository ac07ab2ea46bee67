/* See fitness.h.
 *
 * A FitnessLook is the loop's until it is pushed to the pool, a thread's until it is pushed to the
 * queue of those that are done, and the loop's again. The queue and the descriptor that wakes the
 * loop outlive the Fitness as long as a thread is still at it.
 */
#include "fitness.h"

#include <errno.h>
#include <glib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "job-fitness.h"
#include "log.h"

/* Counted; one of the Fitness, one of each FitnessLook that is not done. */
typedef struct Shared {
        int wakeup;
        GAsyncQueue *done; /* FitnessLook */
        gint over;         /* atomic: nobody waits for the answers any more */
} Shared;

typedef struct FitnessLook {
        Shared *shared; /* NULL once done */
        guint64 serial;
        char *job;
        char *executable, *user, *group, *directory;
        char *resource_fault; /* known without looking */
        char *why;            /* the answer */
} FitnessLook;

typedef struct Verdict {
        guint64 serial; /* of the look that counts */
        bool known;
        char *why;
} Verdict;

struct Fitness {
        Shared *shared;
        GThreadPool *pool;
        sd_event_source *source;
        GHashTable *verdicts; /* job → Verdict */
        guint64 serial;
        FitnessFunc func;
        void *userdata;
};

static void shared_clear(void *data) {
        Shared *shared = data;

        if (shared->wakeup >= 0)
                (void)close(shared->wakeup);
        g_async_queue_unref(shared->done);
}

static void shared_unref(Shared *shared) {
        g_atomic_rc_box_release_full(shared, shared_clear);
}

static void look_free(void *data) {
        FitnessLook *look = data;

        if (look->shared)
                shared_unref(look->shared);
        g_free(look->job);
        g_free(look->executable);
        g_free(look->user);
        g_free(look->group);
        g_free(look->directory);
        g_free(look->resource_fault);
        g_free(look->why);
        g_free(look);
}

static void verdict_free(void *data) {
        Verdict *verdict = data;

        g_free(verdict->why);
        g_free(verdict);
}

/* On a thread. What it looks at may hang; nothing else here does. */
static void look(void *data, void *userdata) {
        FitnessLook *look = data;
        Shared *shared;

        if (g_atomic_int_get(&look->shared->over)) {
                look_free(look);
                return;
        }
        look->why =
            machine_unfit_reason(look->executable, look->user, look->group, look->directory);
        if (!look->why)
                look->why = g_steal_pointer(&look->resource_fault);
        shared = g_steal_pointer(&look->shared);
        g_async_queue_push(shared->done, look);
        (void)eventfd_write(shared->wakeup, 1);
        shared_unref(shared);
}

/* Return: whether that is news. */
static bool take_answer(Fitness *fitness, FitnessLook *look) {
        Verdict *verdict = g_hash_table_lookup(fitness->verdicts, look->job);

        if (!verdict || verdict->serial != look->serial)
                return false;
        if (verdict->known && g_strcmp0(verdict->why, look->why) == 0)
                return false;
        verdict->known = true;
        g_free(verdict->why);
        verdict->why = g_steal_pointer(&look->why);
        return true;
}

static int on_done(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        g_autoptr(GPtrArray) jobs = g_ptr_array_new_null_terminated(0, g_free, TRUE);
        Fitness *fitness = userdata;
        eventfd_t count;
        FitnessLook *look;

        (void)eventfd_read(fd, &count);
        while ((look = g_async_queue_try_pop(fitness->shared->done))) {
                if (take_answer(fitness, look))
                        g_ptr_array_add(jobs, g_steal_pointer(&look->job));
                look_free(look);
        }
        if (jobs->len > 0)
                fitness->func((const char *const *)jobs->pdata, fitness->userdata);
        return 0;
}

int fitness_new(sd_event *event, FitnessFunc func, void *userdata, Fitness **ret_fitness) {
        _cleanup_(fitness_freep) Fitness *fitness = g_new0(Fitness, 1);
        int r;

        fitness->func = func;
        fitness->userdata = userdata;
        fitness->verdicts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, verdict_free);
        fitness->shared = g_atomic_rc_box_new0(Shared);
        fitness->shared->done = g_async_queue_new_full(look_free);
        fitness->shared->wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (fitness->shared->wakeup < 0)
                return -errno;
        /* Threads that are not ours alone are made when there is something to look at. */
        fitness->pool = g_thread_pool_new(look, NULL, FITNESS_THREADS_MAX, FALSE, NULL);
        r = sd_event_add_io(event, &fitness->source, fitness->shared->wakeup, EPOLLIN, on_done,
                            fitness);
        if (r >= 0)
                r = sd_event_source_set_exit_on_failure(fitness->source, true);
        if (r < 0)
                return r;
        *ret_fitness = g_steal_pointer(&fitness);
        return 0;
}

Fitness *fitness_free(Fitness *fitness) {
        if (!fitness)
                return NULL;
        sd_event_source_disable_unref(fitness->source);
        g_atomic_int_set(&fitness->shared->over, 1);
        if (fitness->pool) /* its threads free what is left in its queue */
                g_thread_pool_free(fitness->pool, FALSE, FALSE);
        shared_unref(fitness->shared);
        g_hash_table_unref(fitness->verdicts);
        g_free(fitness);
        return NULL;
}

void fitness_ask(Fitness *fitness, const JobSpec *spec, const DaemonConfig *config) {
        Verdict *verdict = g_hash_table_lookup(fitness->verdicts, spec->name);
        g_autoptr(GError) error = NULL;
        FitnessLook *look = g_new0(FitnessLook, 1);

        if (!verdict) {
                verdict = g_new0(Verdict, 1);
                g_hash_table_insert(fitness->verdicts, g_strdup(spec->name), verdict);
        }
        verdict->serial = look->serial = ++fitness->serial;
        look->shared = g_atomic_rc_box_acquire(fitness->shared);
        look->job = g_strdup(spec->name);
        look->executable = g_strdup(spec->command.argv[0]);
        look->user = g_strdup(spec->command.user);
        look->group = g_strdup(spec->command.group);
        look->directory = g_strdup(spec->command.working_directory);
        look->resource_fault = resource_unfit_reason(spec, config);
        if (!g_thread_pool_push(fitness->pool, look, &error)) /* it waits in the pool's queue */
                log_warning(&(LogAbout){.job = spec->name},
                            "cannot start a thread to check the job: %s", error->message);
}

void fitness_forget(Fitness *fitness, const char *job) {
        g_hash_table_remove(fitness->verdicts, job);
}

bool fitness_is_pending(const Fitness *fitness, const char *job) {
        const Verdict *verdict = g_hash_table_lookup(fitness->verdicts, job);

        return verdict && !verdict->known;
}

const char *fitness_why(const Fitness *fitness, const char *job) {
        const Verdict *verdict = g_hash_table_lookup(fitness->verdicts, job);

        return verdict ? verdict->why : NULL;
}

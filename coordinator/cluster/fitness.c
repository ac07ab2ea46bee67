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
#include "timer.h"
#include "unit-checks.h"

/* Before what had no answer is looked at again; doubled while there is none. */
#define RETRY_DELAY (5 * USEC_PER_SEC)
#define RETRY_DELAY_MAX (5 * USEC_PER_MINUTE)

/* Counted; one of the Fitness, one of each FitnessLook that is not done. */
typedef struct Shared {
        int wakeup;
        GAsyncQueue *done; /* FitnessLook */
        UnitChecks *units;
        gint over; /* atomic: nobody waits for the answers any more */
} Shared;

typedef struct FitnessLook {
        Shared *shared; /* NULL once done */
        guint64 serial;
        char *job;
        char *executable, *user, *group, *directory;
        char **environment_files, **credentials;
        char *unit;           /* the file of its settings (unit-check.h); NULL: it has none */
        char *resource_fault; /* known without looking */
        char *why;            /* the answer */
        bool certain;         /* it is one; else `why` says what was in the way of one */
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
        GPtrArray *again;     /* FitnessLook: without an answer */
        sd_event_source *retry;
        usec_t pause; /* before they look again */
        guint64 serial;
        FitnessFunc func;
        void *userdata;
};

static void shared_clear(void *data) {
        Shared *shared = data;

        if (shared->wakeup >= 0)
                (void)close(shared->wakeup);
        g_async_queue_unref(shared->done);
        unit_checks_free(shared->units);
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
        g_strfreev(look->environment_files);
        g_strfreev(look->credentials);
        g_free(look->unit);
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
        look->certain = true;
        if (!look->why)
                look->why = inputs_unfit_reason(look->environment_files, look->credentials);
        if (!look->why)
                look->why = g_strdup(look->resource_fault);
        if (!look->why && look->unit)
                look->why = unit_checks_ask(look->shared->units, look->unit, &look->certain);
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
        if (verdict->known && (!look->certain || g_strcmp0(verdict->why, look->why) == 0))
                return false;
        verdict->known = true;
        g_free(verdict->why);
        verdict->why = g_steal_pointer(&look->why);
        return true;
}

static void fitness_push(Fitness *fitness, FitnessLook *look) {
        const LogAbout about = {.job = look->job};
        g_autoptr(GError) error = NULL;

        look->shared = g_atomic_rc_box_acquire(fitness->shared);
        if (!g_thread_pool_push(fitness->pool, look, &error)) /* it waits in the pool's queue */
                log_warning(&about, "cannot start a thread to check the job: %s", error->message);
}

/* ---- what had no answer ---- */

static void fitness_on_retry(void *userdata) {
        Fitness *fitness = userdata;
        g_autoptr(GPtrArray) again = g_steal_pointer(&fitness->again);

        fitness->again = g_ptr_array_new_with_free_func(look_free);
        fitness->pause = MIN(2 * fitness->pause, RETRY_DELAY_MAX);
        while (again->len > 0) {
                FitnessLook *look = g_ptr_array_steal_index(again, again->len - 1);

                g_clear_pointer(&look->why, g_free);
                fitness_push(fitness, look);
        }
}

/* A full disk, or no memory for a process, says nothing of the job: it is looked at again, and
 * keeps the verdict that it had. Return: whether it was taken. */
static bool fitness_keep(Fitness *fitness, FitnessLook *look) {
        const Verdict *verdict = g_hash_table_lookup(fitness->verdicts, look->job);

        if (look->certain || !verdict || verdict->serial != look->serial)
                return false;
        g_ptr_array_add(fitness->again, look);
        if (!fitness->retry)
                (void)timer_in(sd_event_source_get_event(fitness->source), &fitness->retry,
                               fitness->pause, fitness_on_retry, fitness);
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
                        g_ptr_array_add(jobs, g_strdup(look->job));
                if (look->certain && look->unit)
                        fitness->pause = RETRY_DELAY;
                if (!fitness_keep(fitness, look))
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
        fitness->again = g_ptr_array_new_with_free_func(look_free);
        fitness->pause = RETRY_DELAY;
        fitness->shared = g_atomic_rc_box_new0(Shared);
        fitness->shared->done = g_async_queue_new_full(look_free);
        fitness->shared->units = unit_checks_new();
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
        sd_event_source_disable_unref(fitness->retry);
        g_atomic_int_set(&fitness->shared->over, 1);
        if (fitness->pool) /* its threads free what is left in its queue */
                g_thread_pool_free(fitness->pool, FALSE, FALSE);
        shared_unref(fitness->shared);
        g_hash_table_unref(fitness->verdicts);
        g_ptr_array_unref(fitness->again);
        g_free(fitness);
        return NULL;
}

void fitness_ask(Fitness *fitness, const JobSpec *spec, const DaemonConfig *config) {
        Verdict *verdict = g_hash_table_lookup(fitness->verdicts, spec->name);
        FitnessLook *look = g_new0(FitnessLook, 1);

        if (!verdict) {
                verdict = g_new0(Verdict, 1);
                g_hash_table_insert(fitness->verdicts, g_strdup(spec->name), verdict);
        }
        verdict->serial = look->serial = ++fitness->serial;
        look->job = g_strdup(spec->name);
        look->executable = g_strdup(spec->command.argv[0]);
        look->user = g_strdup(spec->command.user);
        look->group = g_strdup(spec->command.group);
        look->directory = g_strdup(spec->command.working_directory);
        look->environment_files = g_strdupv(spec->command.environment_files);
        look->credentials = g_strdupv(spec->command.credentials);
        look->unit = unit_check_text(spec);
        look->resource_fault = resource_unfit_reason(spec, config);
        fitness_push(fitness, look);
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

/* The threads of a simulation: GLib's functions for those that the product starts, and the
 * descriptors with which they wake a loop. (Job files, digests and what a machine can run are
 * looked at on threads, because a disk or a name server may take its time.)
 *
 * A thread is one task: its function is called at once and as a whole, on its process's turn, some
 * moments after it was started. That is all that a loop can see of one that shares nothing with it.
 * Who joins one that has not begun has it done there and then. So does who ends a pool, for what
 * such threads would free if the process lived on.
 */
#include "thread.h"

#include <glib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "event.h"
#include "process.h"

#define THREAD_TIME_MIN (50)
#define THREAD_TIME_MAX (20 * USEC_PER_MSEC)

typedef struct SimulatedThread {
        GThread thread; /* what the product knows of it */
        gint n_ref;     /* its own, and its starter's */
        Process *process;
        ProcessTask *task; /* NULL: it is through */
} SimulatedThread;

typedef struct SimulatedPool {
        GThreadPool pool;
        Process *process;
        GQueue waiting; /* what was pushed */
        ProcessTask *task;
} SimulatedPool;

/* All threads that are not through. */
static GPtrArray *threads;

static usec_t thread_draw_time(const Process *process) {
        return world_draw_between(machine_chance(process_machine(process)), THREAD_TIME_MIN,
                                  THREAD_TIME_MAX);
}

void g_thread_unref(GThread *thread) {
        SimulatedThread *simulated = (SimulatedThread *)thread;

        if (--simulated->n_ref == 0)
                g_free(simulated);
}

static void thread_run(void *userdata) {
        SimulatedThread *thread = userdata;

        thread->task = NULL;
        (void)g_ptr_array_remove(threads, thread);
        if (threads->len == 0)
                g_clear_pointer(&threads, g_ptr_array_unref);
        (void)thread->thread.func(thread->thread.data);
        g_thread_unref(&thread->thread);
}

GThread *g_thread_try_new(const gchar *name, GThreadFunc func, gpointer data, GError **error) {
        SimulatedThread *thread = g_new0(SimulatedThread, 1);

        (void)name;
        (void)error;
        thread->thread.func = func;
        thread->thread.data = data;
        thread->n_ref = 2;
        thread->process = process_turn();
        thread->task =
            process_after(thread->process, thread_draw_time(thread->process), thread_run, thread);
        if (!threads)
                threads = g_ptr_array_new();
        g_ptr_array_add(threads, thread);
        return &thread->thread;
}

static void thread_run_now(SimulatedThread *thread) {
        process_task_free(thread->task);
        thread_run(thread);
}

gpointer g_thread_join(GThread *thread) {
        SimulatedThread *simulated = (SimulatedThread *)thread;

        if (simulated->task)
                thread_run_now(simulated);
        g_thread_unref(thread);
        return NULL;
}

void threads_finish(const Process *process) {
        for (guint i = threads ? threads->len : 0; threads && i > 0; i--) {
                SimulatedThread *thread = threads->pdata[i - 1];

                if (thread->process == process)
                        thread_run_now(thread);
        }
}

/* ---- pools ---- */

static void pool_run(void *userdata) {
        SimulatedPool *pool = userdata;
        gpointer data = g_queue_pop_head(&pool->waiting);

        pool->task = NULL;
        if (!g_queue_is_empty(&pool->waiting))
                pool->task =
                    process_after(pool->process, thread_draw_time(pool->process), pool_run, pool);
        pool->pool.func(data, pool->pool.user_data);
}

GThreadPool *g_thread_pool_new(GFunc func, gpointer user_data, gint max_threads, gboolean exclusive,
                               GError **error) {
        SimulatedPool *pool = g_new0(SimulatedPool, 1);

        (void)max_threads;
        (void)exclusive;
        (void)error;
        pool->pool.func = func;
        pool->pool.user_data = user_data;
        pool->process = process_turn();
        g_queue_init(&pool->waiting);
        return &pool->pool;
}

gboolean g_thread_pool_push(GThreadPool *pool, gpointer data, GError **error) {
        SimulatedPool *simulated = (SimulatedPool *)pool;

        (void)error;
        g_queue_push_tail(&simulated->waiting, data);
        if (!simulated->task)
                simulated->task = process_after(
                    simulated->process, thread_draw_time(simulated->process), pool_run, simulated);
        return TRUE;
}

void g_thread_pool_free(GThreadPool *pool, gboolean immediate, gboolean wait_) {
        SimulatedPool *simulated = (SimulatedPool *)pool;
        gpointer data;

        (void)immediate;
        (void)wait_;
        process_task_free(simulated->task);
        while ((data = g_queue_pop_head(&simulated->waiting)))
                pool->func(data, pool->user_data);
        g_free(simulated);
}

/* ---- descriptors ---- */

int eventfd_write(int fd, eventfd_t value) {
        ssize_t n = write(fd, &value, sizeof(value));

        if (process_turn_if_any())
                event_descriptors_changed();
        return n == (ssize_t)sizeof(value) ? 0 : -1;
}

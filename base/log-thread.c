/* See log-thread.h. */
#include "log-thread.h"

/* Who logs and the thread have one each: who is held up longest frees it. */
typedef struct LogShared {
        GAsyncQueue *lines; /* of GPtrArray, fields; an empty one ends the thread */
        GMutex mutex;
        GCond ended;
        bool has_ended;
        LogSendFunc send;
} LogShared;

struct LogThread {
        LogShared *shared;
        LogLostFunc lost_func;
        unsigned lost; /* lines, since there was room last */
};

static void fields_free(void *data) {
        g_ptr_array_unref(data);
}

static void log_shared_clear(void *data) {
        LogShared *shared = data;

        g_async_queue_unref(shared->lines);
        g_mutex_clear(&shared->mutex);
        g_cond_clear(&shared->ended);
}

static void log_shared_unref(LogShared *shared) {
        g_atomic_rc_box_release_full(shared, log_shared_clear);
}

/* On the thread. */
static void *log_thread_run(void *data) {
        LogShared *shared = data;

        for (;;) {
                g_autoptr(GPtrArray) fields = g_async_queue_pop(shared->lines);

                if (fields->len == 0)
                        break;
                shared->send(fields);
        }
        g_mutex_lock(&shared->mutex);
        shared->has_ended = true;
        g_cond_signal(&shared->ended);
        g_mutex_unlock(&shared->mutex);
        log_shared_unref(shared);
        return NULL;
}

LogThread *log_thread_new(LogSendFunc send, LogLostFunc lost) {
        LogShared *shared = g_atomic_rc_box_new0(LogShared);
        LogThread *thread;
        GThread *started;

        shared->lines = g_async_queue_new_full(fields_free);
        g_mutex_init(&shared->mutex);
        g_cond_init(&shared->ended);
        shared->send = send;
        started = g_thread_try_new("log", log_thread_run, g_atomic_rc_box_acquire(shared), NULL);
        if (!started) {
                log_shared_unref(shared);
                log_shared_unref(shared);
                return NULL;
        }
        g_thread_unref(started);
        thread = g_new0(LogThread, 1);
        thread->shared = shared;
        thread->lost_func = lost;
        return thread;
}

void log_thread_push(LogThread *thread, GPtrArray *fields) {
        GAsyncQueue *lines = thread->shared->lines;

        if (g_async_queue_length(lines) >= LOG_LINES_MAX) {
                thread->lost++;
                g_ptr_array_unref(fields);
                return;
        }
        if (thread->lost > 0)
                g_async_queue_push(lines, thread->lost_func(thread->lost));
        thread->lost = 0;
        g_async_queue_push(lines, fields);
}

bool log_thread_end(LogThread *thread, usec_t limit) {
        gint64 until = g_get_monotonic_time() + (gint64)limit;
        LogShared *shared = thread->shared;
        bool ended;

        if (thread->lost > 0)
                g_async_queue_push(shared->lines, thread->lost_func(thread->lost));
        g_async_queue_push(shared->lines, g_ptr_array_new());
        g_mutex_lock(&shared->mutex);
        while (!shared->has_ended && g_cond_wait_until(&shared->ended, &shared->mutex, until))
                ;
        ended = shared->has_ended;
        g_mutex_unlock(&shared->mutex);
        log_shared_unref(shared);
        g_free(thread);
        return ended;
}

/* See job-loader.h. A Load is the thread's until it is pushed to the queue of those that are done;
 * queue and descriptor outlive the loader as long as a thread is still at it. */
#include "job-loader.h"

#include <errno.h>
#include <glib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Counted; one of the loader, one of each Load that is not done. */
typedef struct LoadShared {
        int wakeup;
        GAsyncQueue *done; /* Load */
} LoadShared;

typedef struct Load {
        LoadShared *shared; /* NULL once done */
        char **directories;
        int r;
        GPtrArray *files;
        Diagnostics *diagnostics;
} Load;

struct JobLoader {
        LoadShared *shared;
        sd_event_source *source;
        char **directories; /* of the last start */
        bool busy, again;
        JobLoaderFunc func;
        void *userdata;
};

static void load_shared_clear(void *data) {
        LoadShared *shared = data;

        if (shared->wakeup >= 0)
                (void)close(shared->wakeup);
        g_async_queue_unref(shared->done);
}

static void load_shared_unref(LoadShared *shared) {
        g_atomic_rc_box_release_full(shared, load_shared_clear);
}

static void load_free(void *data) {
        Load *load = data;

        if (load->shared)
                load_shared_unref(load->shared);
        g_strfreev(load->directories);
        g_clear_pointer(&load->files, g_ptr_array_unref);
        diagnostics_free(load->diagnostics);
        g_free(load);
}

/* On a thread. */
static void *load_read(void *data) {
        Load *load = data;
        LoadShared *shared;

        load->r =
            job_files_load((const char *const *)load->directories, load->diagnostics, &load->files);
        shared = g_steal_pointer(&load->shared);
        g_async_queue_push(shared->done, load);
        (void)eventfd_write(shared->wakeup, 1);
        load_shared_unref(shared);
        return NULL;
}

static int job_loader_begin(JobLoader *loader) {
        Load *load = g_new0(Load, 1);
        GThread *thread;

        load->shared = g_atomic_rc_box_acquire(loader->shared);
        load->directories = g_strdupv(loader->directories);
        load->diagnostics = diagnostics_new();
        thread = g_thread_try_new("job-files", load_read, load, NULL);
        if (!thread) {
                load_free(load);
                return -EAGAIN;
        }
        g_thread_unref(thread);
        loader->busy = true;
        return 0;
}

static int job_loader_on_done(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        JobLoader *loader = userdata;
        eventfd_t count;
        Load *load;

        (void)eventfd_read(fd, &count);
        load = g_async_queue_try_pop(loader->shared->done);
        if (!load)
                return 0;
        loader->busy = false;
        if (loader->again && job_loader_begin(loader) >= 0)
                loader->again = false;
        else
                loader->func(load->r, load->files, load->diagnostics, loader->userdata);
        load_free(load);
        return 0;
}

int job_loader_new(sd_event *event, JobLoaderFunc func, void *userdata, JobLoader **ret_loader) {
        _cleanup_(job_loader_freep) JobLoader *loader = g_new0(JobLoader, 1);
        int r;

        loader->func = func;
        loader->userdata = userdata;
        loader->shared = g_atomic_rc_box_new0(LoadShared);
        loader->shared->done = g_async_queue_new_full(load_free);
        loader->shared->wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (loader->shared->wakeup < 0)
                return -errno;
        r = sd_event_add_io(event, &loader->source, loader->shared->wakeup, EPOLLIN,
                            job_loader_on_done, loader);
        if (r >= 0)
                r = sd_event_source_set_exit_on_failure(loader->source, true);
        if (r < 0)
                return r;
        *ret_loader = g_steal_pointer(&loader);
        return 0;
}

JobLoader *job_loader_free(JobLoader *loader) {
        if (!loader)
                return NULL;
        sd_event_source_disable_unref(loader->source);
        g_strfreev(loader->directories);
        load_shared_unref(loader->shared);
        g_free(loader);
        return NULL;
}

int job_loader_start(JobLoader *loader, const char *const *directories) {
        g_strfreev(loader->directories);
        loader->directories = g_strdupv((char **)directories);
        if (loader->busy) {
                loader->again = true;
                return 0;
        }
        return job_loader_begin(loader);
}

bool job_loader_is_busy(const JobLoader *loader) {
        return loader->busy;
}

/* See digest-memory.h. */
#include "digest-memory.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "json-line.h"
#include "log.h"

/* One write of the file: the thread's until the descriptor wakes the loop. */
typedef struct Write {
        GThread *thread; /* NULL: none is under way */
        char *path, *text;
        GError *error;
        int wakeup;
} Write;

struct DigestMemory {
        sd_event *event;
        char *path;
        json_t *digests; /* job → digest */
        bool changed;    /* since the file was written, or is being */
        bool failed;     /* the last write, and that was said */
        Write write;
        sd_event_source *timer, *written;
};

/* Replaced as a whole by rename: a crash leaves the old or the new one. */
static void write_file(Write *write) {
        (void)g_file_set_contents_full(write->path, write->text, -1, G_FILE_SET_CONTENTS_CONSISTENT,
                                       0600, &write->error);
}

/* A disk may take its time. */
static gpointer write_on_thread(gpointer data) {
        Write *write = data;

        write_file(write);
        (void)eventfd_write(write->wakeup, 1);
        return NULL;
}

static void take_text(DigestMemory *memory) {
        memory->write.text = json_line_dump(json_incref(memory->digests));
        memory->changed = false;
}

/* The write is over, or the thread is waited for. */
static void take_result(DigestMemory *memory) {
        if (memory->write.thread)
                (void)g_thread_join(g_steal_pointer(&memory->write.thread));
        g_clear_pointer(&memory->write.text, g_free);
        if (memory->write.error && !memory->failed)
                log_warning(NULL,
                            "cannot remember which definitions this node has put in force: %s; "
                            "should it be "
                            "restarted before that works again, it may take its job files for "
                            "changed, and put them in force over newer ones of other nodes",
                            memory->write.error->message);
        memory->failed = memory->write.error != NULL;
        memory->changed |= memory->failed;
        g_clear_error(&memory->write.error);
}

static void write_later(DigestMemory *memory, usec_t delay);

static int on_written(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        DigestMemory *memory = userdata;
        eventfd_t count;

        (void)eventfd_read(fd, &count);
        take_result(memory);
        if (memory->changed)
                write_later(memory,
                            memory->failed ? DIGEST_MEMORY_RETRY_DELAY : DIGEST_MEMORY_DELAY);
        return 0;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        DigestMemory *memory = userdata;

        memory->timer = sd_event_source_disable_unref(memory->timer);
        take_text(memory);
        memory->write.thread =
            g_thread_try_new("digests", write_on_thread, &memory->write, &memory->write.error);
        if (!memory->write.thread)
                (void)eventfd_write(memory->write.wakeup, 1); /* as one that failed */
        return 0;
}

/* One at a time, so that they are in order; what changes meanwhile follows. */
static void write_later(DigestMemory *memory, usec_t delay) {
        if (!memory->timer && !memory->write.text)
                (void)sd_event_add_time_relative(memory->event, &memory->timer, CLOCK_MONOTONIC,
                                                 delay, 0, on_timer, memory);
}

DigestMemory *digest_memory_new(sd_event *event, const char *directory) {
        DigestMemory *memory = g_new0(DigestMemory, 1);

        memory->event = sd_event_ref(event);
        memory->path = g_build_filename(directory, "digests.json", NULL);
        memory->write.path = memory->path;
        memory->write.wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        (void)sd_event_add_io(event, &memory->written, memory->write.wakeup, EPOLLIN, on_written,
                              memory);
        memory->digests = json_load_file(memory->path, JSON_REJECT_DUPLICATES, NULL);
        if (!json_is_object(memory->digests)) {
                json_decref(memory->digests);
                memory->digests = json_object();
        }
        return memory;
}

DigestMemory *digest_memory_free(DigestMemory *memory) {
        if (!memory)
                return NULL;
        take_result(memory);
        if (memory->changed) { /* the loop is over, so it may take its time */
                take_text(memory);
                write_file(&memory->write);
                take_result(memory);
        }
        sd_event_source_disable_unref(memory->timer);
        sd_event_source_disable_unref(memory->written);
        (void)close(memory->write.wakeup);
        json_decref(memory->digests);
        g_free(memory->path);
        sd_event_unref(memory->event);
        g_free(memory);
        return NULL;
}

const char *digest_memory_get(const DigestMemory *memory, const char *job) {
        return json_string_value(json_object_get(memory->digests, job));
}

void digest_memory_set(DigestMemory *memory, const char *job, const char *digest) {
        if (g_strcmp0(digest_memory_get(memory, job), digest) == 0)
                return;
        if (digest)
                json_object_set_new(memory->digests, job, json_string(digest));
        else
                json_object_del(memory->digests, job);
        memory->changed = true;
        write_later(memory, DIGEST_MEMORY_DELAY);
}

GPtrArray *digest_memory_jobs(const DigestMemory *memory) {
        GPtrArray *jobs = g_ptr_array_new_with_free_func(g_free);
        const char *job;
        json_t *digest;

        json_object_foreach(memory->digests, job, digest) g_ptr_array_add(jobs, g_strdup(job));
        return jobs;
}

/* See digest-memory.h. */
#include "digest-memory.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "json-line.h"
#include "log.h"

struct DigestMemory {
        sd_event *event;
        char *path;
        json_t *digests; /* job → digest */
        bool changed;    /* since the file was written */
        bool failed;     /* the last write, and that was said */
        sd_event_source *timer;
};

DigestMemory *digest_memory_new(sd_event *event, const char *directory) {
        DigestMemory *memory = g_new0(DigestMemory, 1);

        memory->event = sd_event_ref(event);
        memory->path = g_build_filename(directory, "digests.json", NULL);
        memory->digests = json_load_file(memory->path, JSON_REJECT_DUPLICATES, NULL);
        if (!json_is_object(memory->digests)) {
                json_decref(memory->digests);
                memory->digests = json_object();
        }
        return memory;
}

/* Replaced as a whole by rename: a crash leaves the old or the new one. */
static void write_file(DigestMemory *memory) {
        g_autofree char *text = json_line_dump(json_incref(memory->digests));
        g_autoptr(GError) error = NULL;

        memory->changed = !g_file_set_contents_full(memory->path, text, -1,
                                                    G_FILE_SET_CONTENTS_CONSISTENT, 0600, &error);
        if (memory->changed && !memory->failed)
                log_warning(NULL, "cannot remember the jobs' digests: %s", error->message);
        memory->failed = memory->changed;
}

static void write_later(DigestMemory *memory, usec_t delay);

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        DigestMemory *memory = userdata;

        memory->timer = sd_event_source_disable_unref(memory->timer);
        write_file(memory);
        if (memory->changed)
                write_later(memory, DIGEST_MEMORY_RETRY_DELAY);
        return 0;
}

static void write_later(DigestMemory *memory, usec_t delay) {
        if (!memory->timer &&
            sd_event_add_time_relative(memory->event, &memory->timer, CLOCK_MONOTONIC, delay, 0,
                                       on_timer, memory) < 0)
                write_file(memory); /* no timer to be had */
}

DigestMemory *digest_memory_free(DigestMemory *memory) {
        if (!memory)
                return NULL;
        if (memory->changed)
                write_file(memory);
        sd_event_source_disable_unref(memory->timer);
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

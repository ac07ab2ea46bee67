/* See digest-memory.h. */
#include "digest-memory.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "json-line.h"

struct DigestMemory {
        char *path;
        json_t *digests; /* job → digest */
};

DigestMemory *digest_memory_new(const char *directory) {
        DigestMemory *memory = g_new0(DigestMemory, 1);

        memory->path = g_build_filename(directory, "digests.json", NULL);
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
        json_decref(memory->digests);
        g_free(memory->path);
        g_free(memory);
        return NULL;
}

const char *digest_memory_get(const DigestMemory *memory, const char *job) {
        return json_string_value(json_object_get(memory->digests, job));
}

int digest_memory_set(DigestMemory *memory, const char *job, const char *digest) {
        g_autofree char *text = NULL;

        if (g_strcmp0(digest_memory_get(memory, job), digest) == 0)
                return 0;
        if (digest)
                json_object_set_new(memory->digests, job, json_string(digest));
        else
                json_object_del(memory->digests, job);
        text = json_line_dump(json_incref(memory->digests));
        /* Replaced as a whole by rename: a crash leaves the old or the new one. */
        if (!g_file_set_contents_full(memory->path, text, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0600,
                                      NULL))
                return -EIO;
        return 0;
}

GPtrArray *digest_memory_jobs(const DigestMemory *memory) {
        GPtrArray *jobs = g_ptr_array_new_with_free_func(g_free);
        const char *job;
        json_t *digest;

        json_object_foreach(memory->digests, job, digest) g_ptr_array_add(jobs, g_strdup(job));
        return jobs;
}

/* See digest-memory.h. */
#include "digest-memory.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "json-line.h"
#include "kept-file.h"
#include "log.h"
#include "timer.h"

/* One write of the file: the thread's until the descriptor wakes the loop. */
typedef struct Write {
        GThread *thread; /* NULL: none is under way */
        char *path, *text;
        uint64_t changes; /* how many are in it */
        GError *error;
        int wakeup;
} Write;

/* Far more than of the most jobs that there may be. */
#define DIGEST_MEMORY_BYTES_MAX ((size_t)16 * 1024 * 1024)
#define LOST                                                                                       \
        "this node may take its job files for changed, and put them in force over newer ones of "  \
        "other nodes"

/* How many who waited are told in one turn of the loop. */
#define DIGEST_MEMORY_TOLD_MAX 64

typedef struct Sent {
        char *digest;
        int32_t version;
        uint64_t change; /* which one it was */
} Sent;

struct DigestMemory {
        sd_event *event;
        char *path;
        json_t *digests;        /* job → digest */
        GHashTable *sent;       /* job → Sent */
        uint64_t changes, kept; /* there were so many; so many are in the file */
        char *fault;            /* of the last write, which was told; NULL: it did not fail */
        Write write;
        GQueue waits; /* of DigestWait, in the order of their changes */
        sd_event_source *timer, *written, *told;
};

struct DigestWait {
        DigestMemory *memory; /* weak */
        uint64_t change;
        DigestWaitFunc func;
        void *userdata;
        GList link; /* in `waits` */
};

static void digest_sent_free(gpointer data) {
        Sent *sent = data;

        g_free(sent->digest);
        g_free(sent);
}

/* ---- the file ---- */

/* A job is a digest there, or an object where something was sent. */
static json_t *digest_memory_to_json(const DigestMemory *memory) {
        json_t *all = json_copy(memory->digests);
        GHashTableIter iterator;
        gpointer job, value;

        g_hash_table_iter_init(&iterator, memory->sent);
        while (g_hash_table_iter_next(&iterator, &job, &value)) {
                const Sent *sent = value;
                json_t *object =
                    json_pack("{s:s,s:i}", "sent", sent->digest, "version", sent->version);

                if (json_object_get(all, job))
                        json_object_set(object, "digest", json_object_get(all, job));
                json_object_set_new(all, job, object);
        }
        return all;
}

static void digest_memory_take_sent(DigestMemory *memory, const char *job, const char *digest,
                                    int32_t version) {
        Sent *sent = g_new0(Sent, 1);

        sent->digest = g_strdup(digest);
        sent->version = version;
        sent->change = memory->changes;
        g_hash_table_replace(memory->sent, g_strdup(job), sent);
}

static void digest_memory_from_json(DigestMemory *memory, json_t *all) {
        const char *job;
        json_t *value;

        json_object_foreach(all, job, value) {
                json_t *digest = json_is_object(value) ? json_object_get(value, "digest") : value;
                const char *sent = json_string_value(json_object_get(value, "sent"));
                json_int_t version = json_integer_value(json_object_get(value, "version"));

                if (json_is_string(digest))
                        json_object_set(memory->digests, job, digest);
                if (sent)
                        digest_memory_take_sent(memory, job, sent,
                                                (int32_t)CLAMP(version, -1, INT32_MAX));
        }
}

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
        memory->write.text = json_line_dump(digest_memory_to_json(memory));
        memory->write.changes = memory->changes;
}

static void take_fault(DigestMemory *memory) {
        g_autofree char *before = g_steal_pointer(&memory->fault);

        if (!memory->write.error)
                return;
        memory->fault = g_strdup_printf(
            "cannot remember which definitions this node has put in force: %s; should it be "
            "restarted before that works again, it may take its job files for changed, and put "
            "them in force over newer ones of other nodes",
            memory->write.error->message);
        if (!before)
                log_warning(NULL, "%s", memory->fault);
}

/* The write is over, or the thread is waited for. */
static void take_result(DigestMemory *memory) {
        if (memory->write.thread)
                (void)g_thread_join(g_steal_pointer(&memory->write.thread));
        if (memory->write.text && !memory->write.error)
                memory->kept = memory->write.changes;
        g_clear_pointer(&memory->write.text, g_free);
        take_fault(memory);
        g_clear_error(&memory->write.error);
}

/* ---- when it is written ---- */

static bool digest_memory_is_behind(const DigestMemory *memory) {
        return memory->kept != memory->changes;
}

static usec_t digest_memory_delay(const DigestMemory *memory) {
        if (memory->fault)
                return DIGEST_MEMORY_RETRY_DELAY;
        if (memory->waits.length == 0)
                return DIGEST_MEMORY_DELAY;
        return DIGEST_MEMORY_AWAITED_DELAY +
               json_object_size(memory->digests) * DIGEST_MEMORY_JOB_DELAY;
}

static void digest_memory_on_timer(void *userdata) {
        DigestMemory *memory = userdata;

        take_text(memory);
        memory->write.thread =
            g_thread_try_new("digests", write_on_thread, &memory->write, &memory->write.error);
        if (!memory->write.thread)
                (void)eventfd_write(memory->write.wakeup, 1); /* as one that failed */
}

/* One at a time, so that they are in order; what changes meanwhile follows. What is to be written
 * sooner than this is, still is. */
static void digest_memory_write_soon(DigestMemory *memory) {
        usec_t delay = digest_memory_delay(memory), before;

        if (memory->write.text || !digest_memory_is_behind(memory))
                return;
        if (!memory->timer || sd_event_source_get_time(memory->timer, &before) < 0 ||
            before > usec_add(clock_monotonic(), delay))
                (void)timer_in(memory->event, &memory->timer, delay, digest_memory_on_timer,
                               memory);
}

/* ---- who waits for it ---- */

static bool digest_memory_may_tell(const DigestMemory *memory) {
        const DigestWait *first = memory->waits.head ? memory->waits.head->data : NULL;

        return first && (memory->fault || first->change <= memory->kept);
}

static void digest_memory_on_tell(void *userdata);

static void digest_memory_tell_soon(DigestMemory *memory) {
        if (!memory->told && digest_memory_may_tell(memory))
                (void)timer_next_turn(memory->event, &memory->told, digest_memory_on_tell, memory);
}

static void digest_memory_on_tell(void *userdata) {
        DigestMemory *memory = userdata;

        for (unsigned i = 0; i < DIGEST_MEMORY_TOLD_MAX && digest_memory_may_tell(memory); i++) {
                DigestWait *wait = g_queue_pop_head_link(&memory->waits)->data;

                wait->link.data = NULL;
                wait->func(wait->userdata);
        }
        digest_memory_tell_soon(memory);
}

static int digest_memory_on_written(sd_event_source *source, int fd, uint32_t revents,
                                    void *userdata) {
        DigestMemory *memory = userdata;
        eventfd_t count;

        (void)eventfd_read(fd, &count);
        take_result(memory);
        digest_memory_write_soon(memory);
        digest_memory_tell_soon(memory);
        return 0;
}

DigestWait *digest_memory_wait(DigestMemory *memory, DigestWaitFunc func, void *userdata) {
        DigestWait *wait = g_new0(DigestWait, 1);

        *wait = (DigestWait){
            .memory = memory, .change = memory->changes, .func = func, .userdata = userdata};
        wait->link.data = wait;
        g_queue_push_tail_link(&memory->waits, &wait->link);
        digest_memory_write_soon(memory);
        digest_memory_tell_soon(memory);
        return wait;
}

DigestWait *digest_wait_free(DigestWait *wait) {
        if (wait && wait->link.data)
                g_queue_unlink(&wait->memory->waits, &wait->link);
        g_free(wait);
        return NULL;
}

const char *digest_memory_fault(const DigestMemory *memory) {
        return memory->fault ? memory->fault : "";
}

unsigned digest_memory_waits(const DigestMemory *memory) {
        return memory->waits.length;
}

/* ---- the memory ---- */

static void digest_memory_load(DigestMemory *memory) {
        g_autofree char *text = kept_file_read(memory->path, DIGEST_MEMORY_BYTES_MAX, LOST);
        json_t *all = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;

        if (json_is_object(all))
                digest_memory_from_json(memory, all);
        else if (text)
                kept_file_refuse(memory->path, -EBADMSG, LOST);
        json_decref(all);
}

DigestMemory *digest_memory_new(sd_event *event, const char *directory) {
        DigestMemory *memory = g_new0(DigestMemory, 1);

        memory->event = sd_event_ref(event);
        memory->path = g_build_filename(directory, "digests.json", NULL);
        memory->write.path = memory->path;
        memory->write.wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        (void)sd_event_add_io(event, &memory->written, memory->write.wakeup, EPOLLIN,
                              digest_memory_on_written, memory);
        memory->digests = json_object();
        memory->sent = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, digest_sent_free);
        digest_memory_load(memory);
        return memory;
}

DigestMemory *digest_memory_free(DigestMemory *memory) {
        if (!memory)
                return NULL;
        take_result(memory);
        if (digest_memory_is_behind(memory)) { /* the loop is over, so it may take its time */
                take_text(memory);
                write_file(&memory->write);
                take_result(memory);
        }
        sd_event_source_disable_unref(memory->timer);
        sd_event_source_disable_unref(memory->written);
        sd_event_source_disable_unref(memory->told);
        (void)close(memory->write.wakeup);
        json_decref(memory->digests);
        g_hash_table_unref(memory->sent);
        g_free(memory->path);
        g_free(memory->fault);
        sd_event_unref(memory->event);
        g_free(memory);
        return NULL;
}

const char *digest_memory_get(const DigestMemory *memory, const char *job) {
        return json_string_value(json_object_get(memory->digests, job));
}

bool digest_memory_has(const DigestMemory *memory, const char *job, const char *digest) {
        const char *remembered = digest_memory_get(memory, job);
        size_t length = strlen(digest);

        return remembered && strncmp(remembered, digest, length) == 0 &&
               (remembered[length] == '\0' || remembered[length] == ' ');
}

static void digest_memory_change(DigestMemory *memory) {
        memory->changes++;
        digest_memory_write_soon(memory);
}

void digest_memory_set(DigestMemory *memory, const char *job, const char *digest) {
        bool was_sent = g_hash_table_remove(memory->sent, job);

        if (!was_sent && g_strcmp0(digest_memory_get(memory, job), digest) == 0)
                return;
        if (digest)
                json_object_set_new(memory->digests, job, json_string(digest));
        else
                json_object_del(memory->digests, job);
        digest_memory_change(memory);
}

bool digest_memory_get_sent(const DigestMemory *memory, const char *job, DigestSent *ret_sent) {
        const Sent *sent = g_hash_table_lookup(memory->sent, job);

        if (!sent)
                return false;
        *ret_sent = (DigestSent){.digest = sent->digest, .version = sent->version};
        return true;
}

bool digest_memory_set_sent(DigestMemory *memory, const char *job, const char *digest,
                            int32_t version) {
        Sent *sent = g_hash_table_lookup(memory->sent, job);

        if (sent && strcmp(sent->digest, digest) == 0) {
                sent->version = version; /* an older one in the file says the same */
                return memory->fault || sent->change <= memory->kept;
        }
        digest_memory_change(memory);
        digest_memory_take_sent(memory, job, digest, version);
        return memory->fault;
}

void digest_memory_forget_sent(DigestMemory *memory, const char *job) {
        if (g_hash_table_remove(memory->sent, job))
                digest_memory_change(memory);
}

GPtrArray *digest_memory_jobs(const DigestMemory *memory) {
        GPtrArray *jobs = g_ptr_array_new_with_free_func(g_free);
        GHashTableIter iterator;
        const char *job;
        json_t *digest;
        gpointer sent;

        json_object_foreach(memory->digests, job, digest) g_ptr_array_add(jobs, g_strdup(job));
        g_hash_table_iter_init(&iterator, memory->sent);
        while (g_hash_table_iter_next(&iterator, &sent, NULL))
                if (!json_object_get(memory->digests, sent))
                        g_ptr_array_add(jobs, g_strdup(sent));
        return jobs;
}

/* The digests that a node remembers: what is in the file when, and how often it is written. */
#include <criterion/criterion.h>
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "digest-memory.h"
#include "event-loop.h"

#define PATIENCE (30 * USEC_PER_SEC)

typedef struct Scene {
        sd_event *event;
        DigestMemory *memory;
        char *directory, *file;
        int inotify;
} Scene;

static void scene_init(Scene *scene) {
        scene->directory = g_dir_make_tmp("digests-XXXXXX", NULL);
        scene->file = g_build_filename(scene->directory, "digests.json", NULL);
        scene->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        cr_assert(inotify_add_watch(scene->inotify, scene->directory, IN_MOVED_TO) >= 0);
        scene->event = loop_new();
        scene->memory = digest_memory_new(scene->event, scene->directory);
}

static void scene_clear(Scene *scene) {
        digest_memory_free(scene->memory);
        scene->event = loop_end(scene->event);
        (void)close(scene->inotify);
        (void)g_unlink(scene->file);
        (void)g_rmdir(scene->directory);
        g_free(scene->directory);
        g_free(scene->file);
}

/* How often the file was replaced since the last time we asked. */
static unsigned writes(const Scene *scene) {
        char buffer[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
        unsigned count = 0;
        ssize_t size;

        while ((size = read(scene->inotify, buffer, sizeof buffer)) > 0)
                for (ssize_t at = 0; at < size;) {
                        const struct inotify_event *event = (const void *)(buffer + at);

                        count += g_strcmp0(event->name, "digests.json") == 0;
                        at += (ssize_t)(sizeof *event + event->len);
                }
        return count;
}

static unsigned wait_for_writes(Scene *scene) {
        usec_t end = clock_monotonic() + PATIENCE;
        unsigned count = 0;

        while (count == 0 && clock_monotonic() < end) {
                cr_assert(sd_event_run(scene->event, 50 * USEC_PER_MSEC) >= 0);
                count = writes(scene);
        }
        return count;
}

/* What a process after us would remember. */
static void expect_kept(Scene *scene, const char *job, const char *digest) {
        _cleanup_(digest_memory_freep) DigestMemory *other =
            digest_memory_new(scene->event, scene->directory);

        cr_expect_str_eq(digest_memory_get(other, job) ? digest_memory_get(other, job) : "(none)",
                         digest);
}

Test(digest_memory, many_changes_are_one_write) {
        Scene scene;

        scene_init(&scene);
        for (unsigned i = 0; i < 10000; i++) {
                g_autofree char *job = g_strdup_printf("job-%u", i);

                digest_memory_set(scene.memory, job, "d1");
                cr_assert_str_eq(digest_memory_get(scene.memory, job), "d1");
        }
        cr_expect_eq(writes(&scene), 0, "none while they come");
        cr_expect_eq(wait_for_writes(&scene), 1);
        expect_kept(&scene, "job-0", "d1");
        expect_kept(&scene, "job-9999", "d1");
        scene_clear(&scene);
}

Test(digest_memory, what_is_the_same_is_not_written) {
        Scene scene;

        scene_init(&scene);
        digest_memory_set(scene.memory, "a", "d1");
        digest_memory_set(scene.memory, "b", NULL);
        cr_expect_eq(wait_for_writes(&scene), 1);
        digest_memory_set(scene.memory, "a", "d1");
        digest_memory_set(scene.memory, "b", NULL);
        scene.memory = digest_memory_free(scene.memory);
        cr_expect_eq(writes(&scene), 0);
        scene_clear(&scene);
}

Test(digest_memory, the_end_writes) {
        g_autoptr(GPtrArray) jobs = NULL;
        Scene scene;

        scene_init(&scene);
        digest_memory_set(scene.memory, "a", "d1");
        digest_memory_set(scene.memory, "b", "d2");
        scene.memory = digest_memory_free(scene.memory);
        cr_expect_eq(writes(&scene), 1);
        expect_kept(&scene, "a", "d1");
        scene.memory = digest_memory_new(scene.event, scene.directory);
        digest_memory_set(scene.memory, "a", NULL);
        jobs = digest_memory_jobs(scene.memory);
        cr_assert_eq(jobs->len, 1);
        cr_expect_str_eq(jobs->pdata[0], "b");
        scene.memory = digest_memory_free(scene.memory);
        expect_kept(&scene, "a", "(none)");
        expect_kept(&scene, "b", "d2");
        scene_clear(&scene);
}

Test(digest_memory, a_broken_file_is_an_empty_memory) {
        Scene scene;

        scene_init(&scene);
        cr_assert(g_file_set_contents(scene.file, "[", -1, NULL));
        expect_kept(&scene, "a", "(none)");
        scene_clear(&scene);
}

/* The directory is back before the next try: at the latest the end writes. */
Test(digest_memory, a_write_that_failed_is_not_forgotten) {
        Scene scene;

        scene_init(&scene);
        cr_assert_eq(g_rmdir(scene.directory), 0);
        digest_memory_set(scene.memory, "a", "d1");
        cr_assert_gt(sd_event_run(scene.event, PATIENCE), 0); /* the first try */
        cr_expect_str_eq(digest_memory_fault(scene.memory), "");
        cr_assert_gt(sd_event_run(scene.event, PATIENCE), 0); /* which failed */
        cr_expect_not_null(strstr(digest_memory_fault(scene.memory), "No such file"));
        cr_expect_str_eq(digest_memory_get(scene.memory, "a"), "d1");
        cr_expect_eq(sd_event_run(scene.event, 200 * USEC_PER_MSEC), 0, "not again at once");
        cr_assert_eq(g_mkdir(scene.directory, 0700), 0);
        scene.memory = digest_memory_free(scene.memory);
        expect_kept(&scene, "a", "d1");
        scene_clear(&scene);
}

/* ---- what was sent ---- */

static unsigned n_told;

static void on_told(void *userdata) {
        n_told++;
        if (userdata)
                *(DigestWait **)userdata = digest_wait_free(*(DigestWait **)userdata);
}

static void await_told(Scene *scene, unsigned n) {
        usec_t end = clock_monotonic() + PATIENCE;

        while (n_told < n && clock_monotonic() < end)
                cr_assert(sd_event_run(scene->event, 50 * USEC_PER_MSEC) >= 0);
        cr_assert_eq(n_told, n);
        n_told = 0;
}

static void expect_sent(const DigestMemory *memory, const char *job, const char *digest,
                        int32_t version) {
        DigestSent sent = {.digest = "(none)"};

        (void)digest_memory_get_sent(memory, job, &sent);
        cr_expect_str_eq(sent.digest, digest);
        cr_expect_eq(sent.version, version);
}

Test(digest_memory, what_is_sent_is_in_the_file_before) {
        DigestMemory *other;
        DigestWait *wait;
        Scene scene;

        scene_init(&scene);
        digest_memory_set(scene.memory, "a", "d1");
        cr_expect_not(digest_memory_set_sent(scene.memory, "a", "d2", 7));
        cr_expect_not(digest_memory_set_sent(scene.memory, "new", "d3", -1));
        cr_expect_not(digest_memory_set_sent(scene.memory, "a", "d2", 8), "not yet");
        wait = digest_memory_wait(scene.memory, on_told, &wait);
        await_told(&scene, 1);
        cr_expect_null(wait);
        cr_expect_eq(writes(&scene), 1);
        cr_expect(digest_memory_set_sent(scene.memory, "a", "d2", 9));
        other = digest_memory_new(scene.event, scene.directory);
        cr_expect_str_eq(digest_memory_get(other, "a"), "d1");
        expect_sent(other, "a", "d2", 8);
        cr_expect_null(digest_memory_get(other, "new"));
        expect_sent(other, "new", "d3", -1);
        cr_expect(digest_memory_set_sent(other, "a", "d2", 10), "it is there from before");
        digest_memory_free(other);
        scene_clear(&scene);
}

Test(digest_memory, what_was_sent_is_forgotten_once_it_is_settled) {
        g_autoptr(GPtrArray) jobs = NULL;
        Scene scene;

        scene_init(&scene);
        digest_memory_set(scene.memory, "a", "d1");
        (void)digest_memory_set_sent(scene.memory, "a", "d2", 7);
        (void)digest_memory_set_sent(scene.memory, "b", "d3", -1);
        (void)digest_memory_set_sent(scene.memory, "c", "d4", -1);
        jobs = digest_memory_jobs(scene.memory);
        cr_expect_eq(jobs->len, 3, "each once");
        digest_memory_set(scene.memory, "a", "d1");
        digest_memory_forget_sent(scene.memory, "b");
        digest_memory_set(scene.memory, "c", NULL);
        scene.memory = digest_memory_free(scene.memory);
        scene.memory = digest_memory_new(scene.event, scene.directory);
        expect_sent(scene.memory, "a", "(none)", 0);
        expect_sent(scene.memory, "b", "(none)", 0);
        g_ptr_array_unref(jobs);
        jobs = digest_memory_jobs(scene.memory);
        cr_expect_eq(jobs->len, 1);
        scene_clear(&scene);
}

/* However many they are, the loop turns in between. */
Test(digest_memory, all_who_wait_are_told_and_not_at_once) {
        enum { WAITS = 1000 };
        DigestWait *waits[WAITS];
        unsigned most = 0;
        usec_t end;
        Scene scene;

        scene_init(&scene);
        for (unsigned i = 0; i < WAITS; i++) {
                g_autofree char *job = g_strdup_printf("job-%u", i);

                (void)digest_memory_set_sent(scene.memory, job, "d1", 0);
                waits[i] = digest_memory_wait(scene.memory, on_told, &waits[i]);
        }
        waits[7] = digest_wait_free(waits[7]);
        end = clock_monotonic() + PATIENCE;
        while (n_told < WAITS - 1 && clock_monotonic() < end) {
                unsigned before = n_told;

                cr_assert(sd_event_run(scene.event, 50 * USEC_PER_MSEC) >= 0);
                most = MAX(most, n_told - before);
        }
        cr_expect_eq(n_told, WAITS - 1);
        cr_expect_leq(most, 64);
        cr_expect_eq(writes(&scene), 1);
        n_told = 0;
        scene_clear(&scene);
}

/* Nobody waits for a disk that takes nothing. */
Test(digest_memory, who_waits_is_told_where_it_cannot_be_written) {
        DigestWait *wait, *later;
        Scene scene;

        scene_init(&scene);
        cr_assert_eq(g_rmdir(scene.directory), 0);
        cr_expect_not(digest_memory_set_sent(scene.memory, "a", "d1", 0));
        wait = digest_memory_wait(scene.memory, on_told, &wait);
        await_told(&scene, 1);
        cr_expect(digest_memory_set_sent(scene.memory, "a", "d1", 0));
        cr_expect(digest_memory_set_sent(scene.memory, "b", "d1", 0));
        later = digest_memory_wait(scene.memory, on_told, &later);
        await_told(&scene, 1);
        cr_assert_eq(g_mkdir(scene.directory, 0700), 0);
        scene_clear(&scene);
}

/* ---- a slow disk ---- */

static pthread_t loop_thread;
static atomic_bool disk_is_slow;
static atomic_uint syncs, syncs_in_loop;

/* In place of the library's: the disk is as slow as the test wants. */
int fsync(int fd) {
        (void)fd;
        syncs++;
        if (pthread_equal(pthread_self(), loop_thread))
                syncs_in_loop++;
        while (disk_is_slow)
                g_usleep(1000);
        return 0;
}

Test(digest_memory, a_slow_disk_is_not_waited_for) {
        usec_t until = clock_monotonic() + PATIENCE;
        Scene scene;

        loop_thread = pthread_self();
        scene_init(&scene);
        digest_memory_set(scene.memory, "a", "d1");
        cr_assert_eq(wait_for_writes(&scene), 1);
        syncs = 0;
        disk_is_slow = true;
        digest_memory_set(scene.memory, "a", "d2");
        while (syncs == 0 && clock_monotonic() < until)
                cr_assert(sd_event_run(scene.event, 10 * USEC_PER_MSEC) >= 0);
        cr_assert_eq(syncs, 1);
        digest_memory_set(scene.memory, "a", "d3"); /* follows when that one is through */
        cr_expect_eq(sd_event_run(scene.event, 10 * USEC_PER_MSEC), 0, "the loop is idle");
        cr_expect_eq(writes(&scene), 0);
        disk_is_slow = false;
        cr_expect_eq(wait_for_writes(&scene), 1);
        cr_expect_eq(wait_for_writes(&scene), 1);
        cr_expect_eq(syncs_in_loop, 0);
        expect_kept(&scene, "a", "d3");
        scene_clear(&scene);
}

/* The floor: what a lock cannot do with less, through the same port to the same client library. It
 * is no lock.
 *
 * For a cycle: a create and a delete. For a handover: one session deletes a node and another one,
 * which watches it, gets the event, while as many sessions as in the real queue are connected. For
 * readers: all of them watch the node that is deleted. The nodes have names of the same length.
 */
#include <string.h>

#include "bench.h"

#define NAME "_c_00000000-0000-0000-0000-000000000000-__WRIT__"

typedef struct Watching {
        unsigned n_asked, n_set, n_fired;
        usec_t fired; /* the last one */
        GPtrArray *watches;
} Watching;

static char *child(const char *directory) {
        return g_strconcat(directory, "/" NAME, NULL);
}

static json_t *cycle(Bench *bench, char **words) {
        g_autofree char *path = child(words[0]);
        GArray *samples = g_array_new(FALSE, FALSE, sizeof(usec_t));

        bench_make_directory(bench, words[0]);
        for (unsigned i = 0, n = bench_number(words[1]); i < n; i++) {
                size_t index = i % bench->sessions->len;
                usec_t begin = clock_monotonic(), took;
                g_autofree char *made =
                    bench_create(bench, index, path, ZK_CREATE_EPHEMERAL | ZK_CREATE_SEQUENTIAL);

                bench_delete(bench, index, made);
                took = clock_monotonic() - begin;
                g_array_append_val(samples, took);
        }
        return bench_samples(samples);
}

static void on_event(ZkWatchEvent event, const char *path, void *userdata) {
        Watching *watching = userdata;

        (void)path;
        if (event != ZK_WATCH_DELETED)
                bench_die("a watched node was changed");
        watching->n_fired++;
        watching->fired = clock_monotonic();
}

static void on_watching(const ZkReply *reply, void *userdata) {
        Watching *watching = userdata;

        if (reply->code != ZK_OK)
                bench_die("watching: %s", zk_code_to_string(reply->code));
        watching->n_set++;
}

static void watch(const Bench *bench, size_t index, const char *path, Watching *watching) {
        ZkWatch *one = NULL;
        int r;

        bench_await_node(bench, index, path);
        r = zk_get(bench_zk(bench, index), path, on_watching, watching, NULL, on_event, watching,
                   &one);
        if (r < 0)
                bench_die("watching: %s", g_strerror(-r));
        watching->n_asked++;
        g_ptr_array_add(watching->watches, one);
}

static bool all_set(void *userdata) {
        const Watching *watching = userdata;

        return watching->n_set == watching->n_asked;
}

static bool all_fired(void *userdata) {
        const Watching *watching = userdata;

        return watching->n_fired == watching->n_asked;
}

static bool is_past(void *userdata) {
        return clock_monotonic() >= *(usec_t *)userdata;
}

static int on_time(sd_event_source *source, uint64_t usec, void *userdata) {
        (void)source;
        (void)usec;
        (void)userdata;
        return 0;
}

static void pause_for(const Bench *bench, usec_t pause) {
        usec_t until = clock_monotonic() + pause;
        sd_event_source *timer = NULL;

        if (sd_event_add_time(bench->event, &timer, CLOCK_MONOTONIC, until, 1, on_time, NULL) < 0)
                bench_die("no timer");
        bench_await(bench, is_past, &until, "a pause");
        (void)sd_event_source_disable_unref(timer);
}

static void watch_unref(gpointer watch_pointer) {
        (void)zk_watch_free(watch_pointer);
}

static Watching watching_new(void) {
        return (Watching){.watches = g_ptr_array_new_with_free_func(watch_unref)};
}

/* Deletes `path` by one session. Return: how long it took until all watches fired. */
static usec_t delete_and_await(const Bench *bench, size_t index, const char *path,
                               Watching *watching) {
        usec_t begin = clock_monotonic();

        bench_delete(bench, index, path);
        bench_await(bench, all_fired, watching, "events");
        return watching->fired - begin;
}

static json_t *handover(Bench *bench, char **words) {
        unsigned n = bench_number(words[1]);
        usec_t hold = bench_number(words[2]);
        BenchWindow window = bench_window(bench_number(words[3]) * USEC_PER_MSEC,
                                          bench_number(words[4]) * USEC_PER_MSEC);
        g_autofree char *path = child(words[0]);
        GArray *samples = g_array_new(FALSE, FALSE, sizeof(usec_t));

        bench_make_directory(bench, words[0]);
        for (unsigned i = 0; clock_monotonic() < window.end; i++) {
                Watching watching = watching_new();
                g_autofree char *made =
                    bench_create(bench, i % n, path, ZK_CREATE_EPHEMERAL | ZK_CREATE_SEQUENTIAL);
                usec_t took;

                watch(bench, (i + 1) % n, made, &watching);
                bench_await(bench, all_set, &watching, "watching");
                pause_for(bench, hold);
                took = delete_and_await(bench, i % n, made, &watching);
                if (bench_window_has(&window, watching.fired))
                        g_array_append_val(samples, took);
                g_ptr_array_unref(watching.watches);
        }
        return bench_samples(samples);
}

/* Between `queue` and `finish`. */
typedef struct Audience {
        Watching watching;
        size_t writer;
        char *path;
} Audience;

static json_t *queue(Bench *bench, char **words) {
        g_autofree char *path = child(words[0]);
        Audience *audience = g_new0(Audience, 1);

        bench_make_directory(bench, words[0]);
        audience->writer = bench_number(words[1]);
        audience->watching = watching_new();
        audience->path =
            bench_create(bench, audience->writer, path, ZK_CREATE_EPHEMERAL | ZK_CREATE_SEQUENTIAL);
        for (size_t i = 0; i < audience->writer; i++)
                watch(bench, i, audience->path, &audience->watching);
        bench_await(bench, all_set, &audience->watching, "watching");
        bench->queue = audience;
        return json_object();
}

static json_t *admit(Bench *bench, char **words) {
        Audience *audience = bench->queue;
        GArray *samples = g_array_new(FALSE, FALSE, sizeof(usec_t));
        usec_t took;

        (void)words;
        if (!audience)
                bench_die("nobody queues");
        took = delete_and_await(bench, audience->writer, audience->path, &audience->watching);
        g_array_append_val(samples, took);
        return bench_samples(samples);
}

static json_t *finish(Bench *bench, char **words) {
        Audience *audience = g_steal_pointer(&bench->queue);

        (void)words;
        g_ptr_array_unref(audience->watching.watches);
        g_free(audience->path);
        g_free(audience);
        return json_object();
}

const Contestant lock_floor = {
    .name = "floor",
    .cycle = cycle,
    .handover = handover,
    .queue = queue,
    .admit = admit,
    .finish = finish,
};

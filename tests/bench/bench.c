/* See bench.h. */
#include "bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define SESSION_TIMEOUT (30 * USEC_PER_SEC)
#define LIST_PERIOD (20 * USEC_PER_MSEC)
#define LOOP_TURN (100 * USEC_PER_MSEC)

void bench_die(const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        (void)vfprintf(stderr, format, arguments);
        va_end(arguments);
        (void)fputc('\n', stderr);
        exit(EXIT_FAILURE);
}

void bench_await(const Bench *bench, bool (*condition)(void *userdata), void *userdata,
                 const char *what) {
        usec_t end = usec_add(clock_monotonic(), BENCH_LIMIT);

        while (!condition(userdata)) {
                if (clock_monotonic() > end)
                        bench_die("%s: not within %" PRIu64 " s", what, BENCH_LIMIT / USEC_PER_SEC);
                if (sd_event_run(bench->event, LOOP_TURN) < 0)
                        bench_die("%s: the loop ended", what);
        }
}

unsigned bench_number(const char *word) {
        guint64 number;

        if (!word || !g_ascii_string_to_unsigned(word, 10, 0, UINT32_MAX, &number, NULL))
                bench_die("\"%s\" is no number", word ? word : "");
        return (unsigned)number;
}

/* Sessions */

static void on_session_event(Session *session, SessionEvent event, void *userdata) {
        (void)userdata;
        if (event == SESSION_EVENT_LOST)
                bench_die("a session ended: %s", session_fault(session));
}

static bool all_are(GPtrArray *sessions, SessionState state) {
        for (guint i = 0; i < sessions->len; i++)
                if (session_state(sessions->pdata[i]) != state)
                        return false;
        return true;
}

static bool all_connected(void *userdata) {
        return all_are(userdata, SESSION_CONNECTED);
}

static bool all_closed(void *userdata) {
        return all_are(userdata, SESSION_CLOSED);
}

static Session *session_to(const Bench *bench, const char *server) {
        const SessionOptions options = {
            .servers = server,
            .session_timeout = SESSION_TIMEOUT,
            .rule = {.tick_time = 2 * USEC_PER_SEC,
                     .sync_limit = 5,
                     .heartbeat = bench->heartbeat,
                     .fence_budget = USEC_PER_SEC},
        };
        Session *session = NULL;
        int r = session_new(bench->event, &options, on_session_event, NULL, &session);

        if (r < 0)
                bench_die("a session: %s", g_strerror(-r));
        return session;
}

void bench_connect(Bench *bench, const char *servers, unsigned count) {
        g_auto(GStrv) each = g_strsplit(servers, ",", -1);
        guint n = g_strv_length(each);

        bench_disconnect(bench);
        for (unsigned i = 0; i < count; i++)
                g_ptr_array_add(bench->sessions, session_to(bench, each[i % n]));
        bench_await(bench, all_connected, bench->sessions, "connecting");
}

void bench_disconnect(Bench *bench) {
        for (guint i = 0; i < bench->sessions->len; i++)
                session_close(bench->sessions->pdata[i]);
        bench_await(bench, all_closed, bench->sessions, "closing");
        for (guint i = 0; i < bench->sessions->len; i++)
                (void)session_free(bench->sessions->pdata[i]);
        g_ptr_array_set_size(bench->sessions, 0);
}

Session *bench_session(const Bench *bench, size_t index) {
        if (index >= bench->sessions->len)
                bench_die("there are only %u sessions", bench->sessions->len);
        return bench->sessions->pdata[index];
}

Zk *bench_zk(const Bench *bench, size_t index) {
        return session_zk(bench_session(bench, index));
}

BenchWindow bench_window(usec_t warm, usec_t measure) {
        usec_t begin = clock_monotonic() + warm;

        return (BenchWindow){.begin = begin, .end = begin + measure};
}

bool bench_window_has(const BenchWindow *window, usec_t now) {
        return now >= window->begin && now < window->end;
}

/* Single requests */

typedef struct Answer {
        bool came;
        ZkCode code;
        char *path;
        size_t n_children;
} Answer;

static void on_answer(const ZkReply *reply, void *userdata) {
        Answer *answer = userdata;

        answer->came = true;
        answer->code = reply->code;
        answer->path = g_strdup(reply->path);
        answer->n_children = reply->n_children;
}

static bool has_come(void *userdata) {
        return ((Answer *)userdata)->came;
}

static void await_any_answer(const Bench *bench, Answer *answer, int r, const char *path) {
        if (r < 0)
                bench_die("%s: %s", path, g_strerror(-r));
        bench_await(bench, has_come, answer, path);
}

static void await_answer(const Bench *bench, Answer *answer, int r, const char *path) {
        await_any_answer(bench, answer, r, path);
        if (answer->code != ZK_OK)
                bench_die("%s: %s", path, zk_code_to_string(answer->code));
}

char *bench_create(const Bench *bench, size_t index, const char *path, unsigned flags) {
        Answer answer = {0};

        await_answer(bench, &answer,
                     zk_create(bench_zk(bench, index), path, "", flags, on_answer, &answer, NULL),
                     path);
        return answer.path;
}

static void make_node(const Bench *bench, const char *path) {
        Answer answer = {0};

        await_any_answer(bench, &answer,
                         zk_create(bench_zk(bench, 0), path, "", 0, on_answer, &answer, NULL),
                         path);
        if (answer.code != ZK_OK && answer.code != ZK_NODE_EXISTS)
                bench_die("%s: %s", path, zk_code_to_string(answer.code));
        g_free(answer.path);
}

void bench_make_directory(const Bench *bench, const char *path) {
        g_autofree char *parent = g_path_get_dirname(path);

        make_node(bench, parent);
        make_node(bench, path);
}

void bench_await_node(const Bench *bench, size_t index, const char *path) {
        Answer answer;

        do {
                answer = (Answer){0};
                await_any_answer(bench, &answer,
                                 zk_exists(bench_zk(bench, index), path, on_answer, &answer, NULL,
                                           NULL, NULL, NULL),
                                 path);
                g_free(answer.path);
        } while (answer.code == ZK_NO_NODE);
}

void bench_delete(const Bench *bench, size_t index, const char *path) {
        Answer answer = {0};

        await_answer(bench, &answer,
                     zk_delete(bench_zk(bench, index), path, -1, on_answer, &answer, NULL), path);
        g_free(answer.path);
}

static bool is_past(void *userdata) {
        return clock_monotonic() >= *(usec_t *)userdata;
}

void bench_await_children(const Bench *bench, size_t index, const char *directory, size_t count) {
        usec_t end = usec_add(clock_monotonic(), BENCH_LIMIT);

        for (;;) {
                Answer answer = {0};
                usec_t then;

                await_answer(bench, &answer,
                             zk_get_children(bench_zk(bench, index), directory, on_answer, &answer,
                                             NULL, NULL, NULL, NULL),
                             directory);
                g_free(answer.path);
                if (answer.n_children == count)
                        return;
                then = clock_monotonic() + LIST_PERIOD;
                if (then > end)
                        bench_die("%s has %zu children, not %zu", directory, answer.n_children,
                                  count);
                bench_await(bench, is_past, &then, directory);
        }
}

json_t *bench_samples(GArray *samples) {
        json_t *array = json_array();

        for (guint i = 0; i < samples->len; i++)
                json_array_append_new(array,
                                      json_integer((json_int_t)g_array_index(samples, usec_t, i)));
        g_array_unref(samples);
        return json_pack("{s:o}", "usec", array);
}

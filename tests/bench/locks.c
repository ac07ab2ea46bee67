/* bench-locks ours|floor HEARTBEAT-MS: a worker (bench.h) for this library's locks, or for the
 * least that any lock must do.
 *
 * Commands, one a line, and their answers, each one line of JSON:
 *
 * - connect SERVERS COUNT: have COUNT sessions, the i-th at the (i mod n)-th server.
 *   {"sessions": [ids]}
 * - disconnect: end them. {}
 * - cycle PATH COUNT: acquire and release COUNT times, alone, with each session by turns.
 *   {"usec": [of each]}
 * - handover PATH N HOLD WARM MEASURE: N contenders, a session each, acquire, hold for HOLD us,
 *   release, and again (after HOLD / 2, so that the newcomers' requests are not in the way of what
 *   is timed). Counts after WARM ms for MEASURE ms. {"usec": [from each release to the next
 *   holder], "handovers", "overlaps", "seconds"}
 * - queue PATH R: session R holds, R readers of sessions 0 and up wait. {}
 * - admit: it releases. {"usec": [until the last reader holds]}
 * - line PATH N STRATEGY: the first of N contenders holds, the others wait (predecessor, parent or
 *   poll). {}
 * - drain HOLD: it lets go, and each has its turn once; the last one goes on holding.
 *   {"seconds", "overlaps"}
 * - finish: whoever still holds after `admit` or `drain` lets go. {}
 *
 * PATH is a new directory each time, a child of a directory that exists from the first command of
 * the floor on, which knows neither `line` nor `drain`. The end of the input ends the worker.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "bench.h"

typedef json_t *(*CommandFunc)(Bench *bench, char **words);

static json_t *connect_command(Bench *bench, char **words) {
        json_t *sessions = json_array();

        bench_connect(bench, words[0], bench_number(words[1]));
        for (guint i = 0; i < bench->sessions->len; i++)
                json_array_append_new(sessions,
                                      json_integer(session_id(bench->sessions->pdata[i])));
        return json_pack("{s:o}", "sessions", sessions);
}

static json_t *disconnect_command(Bench *bench, char **words) {
        (void)words;
        bench_disconnect(bench);
        return json_object();
}

static CommandFunc find_command(const Contestant *contestant, const char *name, guint *ret_words) {
        const struct {
                const char *name;
                guint words;
                CommandFunc func;
        } commands[] = {
            {"connect", 2, connect_command},   {"disconnect", 0, disconnect_command},
            {"cycle", 2, contestant->cycle},   {"handover", 5, contestant->handover},
            {"queue", 2, contestant->queue},   {"admit", 0, contestant->admit},
            {"finish", 0, contestant->finish}, {"line", 3, contestant->line},
            {"drain", 1, contestant->drain},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(commands); i++)
                if (strcmp(commands[i].name, name) == 0) {
                        *ret_words = commands[i].words;
                        return commands[i].func;
                }
        return NULL;
}

static json_t *run(Bench *bench, char *line) {
        g_auto(GStrv) words = g_strsplit(g_strstrip(line), " ", -1);
        guint n = g_strv_length(words), wanted = 0;
        CommandFunc func = n > 0 ? find_command(bench->contestant, words[0], &wanted) : NULL;

        if (!func || n - 1 != wanted)
                bench_die("no such command, or other arguments: %s", line);
        return func(bench, words + 1);
}

static int on_input(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        (void)source;
        (void)fd;
        (void)revents;
        *(bool *)userdata = true;
        return 0;
}

/* The next line, which comes only after the last one was answered, so none waits in stdin's buffer.
 * Meanwhile the loop runs: sessions have their heartbeats. Return: whether there is one. */
static bool next_line(const Bench *bench, char **line, size_t *size) {
        sd_event_source *source = NULL;
        bool readable = false;

        if (sd_event_add_io(bench->event, &source, STDIN_FILENO, EPOLLIN, on_input, &readable) < 0)
                bench_die("no input");
        while (!readable)
                if (sd_event_run(bench->event, UINT64_MAX) < 0)
                        bench_die("the loop ended");
        (void)sd_event_source_disable_unref(source);
        return getline(line, size, stdin) > 0;
}

static void serve(Bench *bench) {
        char *line = NULL;
        size_t size = 0;

        while (next_line(bench, &line, &size)) {
                json_t *answer = run(bench, line);

                (void)json_dumpf(answer, stdout, JSON_COMPACT);
                (void)fputc('\n', stdout);
                (void)fflush(stdout);
                json_decref(answer);
        }
        free(line);
}

int main(int argc, char **argv) {
        const Contestant *const contestants[] = {&lock_ours, &lock_floor};
        Bench bench = {0};

        for (size_t i = 0; argc == 3 && i < G_N_ELEMENTS(contestants); i++)
                if (strcmp(contestants[i]->name, argv[1]) == 0)
                        bench.contestant = contestants[i];
        if (!bench.contestant)
                bench_die("usage: bench-locks ours|floor HEARTBEAT-MS");
        bench.heartbeat = bench_number(argv[2]) * USEC_PER_MSEC;
        bench.sessions = g_ptr_array_new();
        if (sd_event_new(&bench.event) < 0)
                bench_die("no loop");

        serve(&bench);
        bench_disconnect(&bench);
        g_ptr_array_unref(bench.sessions);
        (void)sd_event_unref(bench.event);
        return EXIT_SUCCESS;
}

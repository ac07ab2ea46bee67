/* One ZooKeeper session with its locks, driven from outside: commands on stdin, events on stdout, a
 * line each. Tests that need several processes (one is killed, frozen or cut off; or is a program
 * of others altogether) start some of these and put the lines of all of them in order.
 *
 * Every event begins with CLOCK_BOOTTIME in usec, so that one clock orders the lines of all
 * processes. A `held` is stamped when it is told, a `released` before the release is sent: what
 * lies between them was certainly meant to be exclusive. Commands:
 *
 *   acquire ID DIRECTORY[,DIRECTORY...] exclusive|shared WAIT_MS|forever [naming=WORD] [slots=N]
 *           [strategy=predecessor|parent|poll] [may-downgrade] [revocable] [fresh-token]
 *           [payload=WORD]
 *           (several directories, all below one node, are taken at once)
 *   release ID    forget ID    downgrade ID    until ID    clock MS    quit    die
 *
 * Events, where UNTIL is how long the locks are certainly ours as of now:
 *
 *   T session connected|attached|suspended|resumed|stop|lost|fault|closed UNTIL
 *   T held ID TOKEN UNTIL CONTENDER      T until ID UNTIL
 *   T timeout|lost|revoked|downgraded|released|forgotten ID
 *   T failed ID SENTENCE                 it cannot be had
 *   T error ID SENTENCE                  the command was refused
 *   T clock - REALTIME                   the wall clock is MS ahead of the machine's from now on
 *
 * After timeout, lost, failed, released and forgotten the ID is free for the next acquire. The end
 * of stdin is `quit`: everything is released and the session closed, so no probe outlives its test.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lock.h"
#include "wall-clock.h"

#define READ_MAX 4096
#define DIRECTORIES_MAX 8 /* that are taken at once */

typedef struct Probe {
        sd_event *event;
        Session *session;
        GHashTable *holds; /* ID -> Hold */
        GString *input;    /* what was read, up to its last unfinished line */
        bool quitting;
} Probe;

/* One lock that was asked for. */
typedef struct Hold {
        Probe *probe; /* weak: owns us */
        char *id;
        LockSet *set;
} Hold;

/* -- events */

static void say_at(usec_t when, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
static void say_at(usec_t when, const char *format, va_list arguments) {
        g_autofree char *text = g_strdup_vprintf(format, arguments);

        printf("%" PRIu64 " %s\n", when, text);
        (void)fflush(stdout);
}

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        say_at(clock_boottime(), format, arguments);
        va_end(arguments);
}

static void say_since(usec_t when, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say_since(usec_t when, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        say_at(when, format, arguments);
        va_end(arguments);
}

static const char *session_event_word(SessionEvent event) {
        static const char *const words[] = {
            [SESSION_EVENT_CONNECTED] = "connected", [SESSION_EVENT_ATTACHED] = "attached",
            [SESSION_EVENT_SUSPENDED] = "suspended", [SESSION_EVENT_RESUMED] = "resumed",
            [SESSION_EVENT_STOP] = "stop",           [SESSION_EVENT_LOST] = "lost",
            [SESSION_EVENT_FAULT] = "fault",         [SESSION_EVENT_CLOSED] = "closed",
        };

        return words[event];
}

static void on_session_event(Session *session, SessionEvent event, void *userdata) {
        Probe *probe = userdata;

        say("session %s %" PRIu64, session_event_word(event), session_held_until(session));
        if (event == SESSION_EVENT_FAULT)
                (void)fprintf(stderr, "lock-probe: %s\n", session_fault(session));
        if (event == SESSION_EVENT_CLOSED)
                (void)sd_event_exit(probe->event, 0);
}

static void say_held(const Hold *hold) {
        const char *const *paths = lock_set_paths(hold->set);

        say("held %s %" PRId64 " %" PRIu64 " %s", hold->id, lock_set_fencing_token(hold->set),
            lock_set_held_until(hold->set), paths[g_strv_length((char **)paths) - 1]);
}

static void on_lock_event(LockSet *set, LockEvent event, void *userdata) {
        Hold *hold = userdata;

        switch (event) {
        case LOCK_EVENT_HELD:
                say_held(hold);
                return;
        case LOCK_EVENT_REVOKED:
                say("revoked %s", hold->id);
                return;
        case LOCK_EVENT_DOWNGRADED:
                say("downgraded %s", hold->id);
                return;
        case LOCK_EVENT_TIMEOUT:
                say("timeout %s", hold->id);
                break;
        case LOCK_EVENT_LOST:
                say("lost %s", hold->id);
                break;
        case LOCK_EVENT_FAILED:
                say("failed %s %s", hold->id, lock_set_fault(set));
                break;
        }
        g_hash_table_remove(hold->probe->holds, hold->id);
}

/* -- commands */

static void hold_destroy(gpointer data) {
        Hold *hold = data;

        lock_set_free(hold->set);
        g_free(hold->id);
        g_free(hold);
}

static int strategy_from_word(const char *word, LockStrategy *ret_strategy) {
        static const char *const words[] = {
            [LOCK_STRATEGY_PREDECESSOR] = "predecessor",
            [LOCK_STRATEGY_PARENT] = "parent",
            [LOCK_STRATEGY_POLL] = "poll",
        };

        for (unsigned i = 0; i < G_N_ELEMENTS(words); i++)
                if (g_str_equal(word, words[i])) {
                        *ret_strategy = i;
                        return 0;
                }
        return -EINVAL;
}

/* Return: whether it is "NAME=VALUE" of that name. */
static bool takes(const char *word, const char *name, const char **ret_value) {
        size_t length = strlen(name);

        if (!g_str_has_prefix(word, name) || word[length] != '=')
                return false;
        *ret_value = word + length + 1;
        return true;
}

/* One of the words after the wait. `options` borrows from it. */
static int read_option(const char *word, LockRequest *request, LockOptions *options) {
        const char *value;

        if (takes(word, "naming", &value))
                return lock_naming_from_string(value, &request->naming);
        if (takes(word, "strategy", &value))
                return strategy_from_word(value, &options->strategy);
        if (takes(word, "slots", &value))
                request->slots = (unsigned)strtoul(value, NULL, 10);
        else if (takes(word, "payload", &value))
                options->payload = value;
        else if (g_str_equal(word, "may-downgrade"))
                options->may_downgrade = true;
        else if (g_str_equal(word, "revocable"))
                options->revocable = true;
        else if (g_str_equal(word, "fresh-token"))
                options->fresh_token = true;
        else
                return -EINVAL;
        return 0;
}

/* words: acquire ID DIRECTORY MODE WAIT OPTION... */
static int read_request(char **words, LockRequest *request, LockOptions *options) {
        int r = 0;

        if (g_strv_length(words) < 5)
                return -EINVAL;
        if (!g_str_equal(words[3], "exclusive") && !g_str_equal(words[3], "shared"))
                return -EINVAL;
        request->mode = g_str_equal(words[3], "shared") ? LOCK_SHARED : LOCK_EXCLUSIVE;
        options->wait = g_str_equal(words[4], "forever")
                            ? USEC_INFINITY
                            : strtoul(words[4], NULL, 10) * USEC_PER_MSEC;
        for (char **word = words + 5; *word && r >= 0; word++)
                r = read_option(*word, request, options);
        return r;
}

static int acquire(Hold *hold, char **words) {
        LockRequest request = {0}, requests[DIRECTORIES_MAX];
        LockOptions options = {0};
        g_auto(GStrv) directories = NULL;
        g_autofree char *parent = NULL;
        size_t n = 0;
        int r = read_request(words, &request, &options);

        if (r < 0)
                return r;
        directories = g_strsplit(words[2], ",", DIRECTORIES_MAX);
        for (; directories[n]; n++) {
                if (directories[n][0] != '/')
                        return -EINVAL;
                requests[n] = request;
                requests[n].resource = strrchr(directories[n], '/') + 1;
        }
        parent = g_path_get_dirname(directories[0]);
        options.parent = parent;
        return lock_set_acquire(hold->probe->session, requests, n, &options, on_lock_event, hold,
                                &hold->set);
}

static void do_acquire(Probe *probe, const char *id, char **words) {
        Hold *hold;
        int r;

        if (g_hash_table_contains(probe->holds, id)) {
                say("error %s in use", id);
                return;
        }
        hold = g_new0(Hold, 1);
        hold->probe = probe;
        hold->id = g_strdup(id);
        r = acquire(hold, words);
        if (r < 0) {
                say("error %s %s", id, g_strerror(-r));
                hold_destroy(hold);
        } else
                g_hash_table_insert(probe->holds, hold->id, hold);
}

static void do_release(Probe *probe, Hold *hold) {
        usec_t when = clock_boottime(); /* somebody may have it before we could say so */
        g_autofree char *id = g_strdup(hold->id);

        g_hash_table_remove(probe->holds, id);
        say_since(when, "released %s", id);
}

static void do_forget(Probe *probe, Hold *hold) {
        g_autofree char *id = g_strdup(hold->id);

        hold->set = lock_set_forget(hold->set);
        g_hash_table_remove(probe->holds, id);
        say("forgotten %s", id);
}

static void do_downgrade(Probe *probe, Hold *hold) {
        int r = lock_set_downgrade(hold->set);

        (void)probe;
        if (r < 0)
                say("error %s %s", hold->id, g_strerror(-r));
}

static void do_until(Probe *probe, Hold *hold) {
        (void)probe;
        say("until %s %" PRIu64, hold->id, lock_set_held_until(hold->set));
}

static void do_quit(Probe *probe) {
        if (probe->quitting)
                return;
        probe->quitting = true;
        g_hash_table_remove_all(probe->holds);
        session_close(probe->session);
}

static void do_clock(const char *shift) {
        wall_clock_shift(g_ascii_strtoll(shift, NULL, 10) * (int64_t)USEC_PER_MSEC);
        say("clock - %" PRIi64, g_get_real_time());
}

static const struct {
        const char *word;
        void (*func)(Probe *probe, Hold *hold);
} hold_commands[] = {
    {"release", do_release},
    {"forget", do_forget},
    {"downgrade", do_downgrade},
    {"until", do_until},
};

static void obey_hold(Probe *probe, const char *command, const char *id) {
        Hold *hold = g_hash_table_lookup(probe->holds, id);

        for (size_t i = 0; i < G_N_ELEMENTS(hold_commands); i++) {
                if (!g_str_equal(command, hold_commands[i].word))
                        continue;
                if (hold)
                        hold_commands[i].func(probe, hold);
                else
                        say("error %s is not asked for", id);
                return;
        }
        say("error %s unknown command %s", id, command);
}

static void obey(Probe *probe, const char *line) {
        g_auto(GStrv) words = g_strsplit(line, " ", -1);
        const char *command = words[0] ? words[0] : "";

        if (g_str_equal(command, "quit"))
                do_quit(probe);
        else if (g_str_equal(command, "die"))
                (void)kill(getpid(), SIGKILL);
        else if (!words[0] || !words[1])
                say("error - not a command: %s", line);
        else if (g_str_equal(command, "acquire"))
                do_acquire(probe, words[1], words);
        else if (g_str_equal(command, "clock"))
                do_clock(words[1]);
        else
                obey_hold(probe, command, words[1]);
}

static int on_input(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Probe *probe = userdata;
        char buffer[READ_MAX], *end;
        ssize_t size = read(fd, buffer, sizeof buffer);

        if (size < 0)
                return errno == EINTR || errno == EAGAIN ? 0 : -errno;
        if (size == 0) {
                do_quit(probe);
                return sd_event_source_set_enabled(source, SD_EVENT_OFF);
        }
        g_string_append_len(probe->input, buffer, size);
        while (!probe->quitting && (end = strchr(probe->input->str, '\n'))) {
                g_autofree char *line =
                    g_strndup(probe->input->str, (gsize)(end - probe->input->str));

                g_string_erase(probe->input, 0, end - probe->input->str + 1);
                obey(probe, line);
        }
        return 0;
}

/* -- the program */

static int run(const SessionOptions *options) {
        Probe probe = {0};
        int r = sd_event_new(&probe.event);

        probe.holds = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, hold_destroy);
        probe.input = g_string_new(NULL);
        if (r >= 0)
                r = sd_event_add_io(probe.event, NULL, STDIN_FILENO, EPOLLIN, on_input, &probe);
        if (r >= 0)
                r = session_new(probe.event, options, on_session_event, &probe, &probe.session);
        if (r >= 0)
                r = sd_event_loop(probe.event);
        g_hash_table_unref(probe.holds);
        session_free(probe.session);
        sd_event_unref(probe.event);
        g_string_free(probe.input, TRUE);
        return r;
}

typedef struct Arguments {
        char *servers, *auth, *state_file;
        int session_timeout, tick, sync_limit, heartbeat, fence_budget; /* ms */
} Arguments;

static bool read_arguments(int argc, char **argv, Arguments *arguments) {
        const GOptionEntry entries[] = {
            {"servers", 0, 0, G_OPTION_ARG_STRING, &arguments->servers, NULL, "HOST:PORT,..."},
            {"session-timeout", 0, 0, G_OPTION_ARG_INT, &arguments->session_timeout, NULL, "MS"},
            {"tick", 0, 0, G_OPTION_ARG_INT, &arguments->tick, NULL, "MS"},
            {"sync-limit", 0, 0, G_OPTION_ARG_INT, &arguments->sync_limit, NULL, "N"},
            {"heartbeat", 0, 0, G_OPTION_ARG_INT, &arguments->heartbeat, NULL, "MS"},
            {"fence-budget", 0, 0, G_OPTION_ARG_INT, &arguments->fence_budget, NULL, "MS"},
            {"auth", 0, 0, G_OPTION_ARG_STRING, &arguments->auth, NULL, "USER:PASSWORD"},
            {"state-file", 0, 0, G_OPTION_ARG_FILENAME, &arguments->state_file, NULL, "PATH"},
            {0},
        };
        g_autoptr(GOptionContext) context = g_option_context_new(NULL);
        g_autoptr(GError) error = NULL;

        g_option_context_set_summary(context, "Takes locks as it is told on stdin, for tests.");
        g_option_context_add_main_entries(context, entries, NULL);
        if (g_option_context_parse(context, &argc, &argv, &error) && arguments->servers &&
            argc == 1)
                return true;
        (void)fprintf(stderr, "lock-probe: %s\n", error ? error->message : "--servers is needed");
        return false;
}

static void arguments_clear(Arguments *arguments) {
        g_free(arguments->servers);
        g_free(arguments->auth);
        g_free(arguments->state_file);
}

int main(int argc, char **argv) {
        Arguments arguments = {
            .session_timeout = 10000,
            .tick = 500,
            .sync_limit = 5,
            .heartbeat = 250,
            .fence_budget = 1000,
        };
        int r = -EINVAL;

        if (read_arguments(argc, argv, &arguments))
                r = run(&(SessionOptions){
                    .servers = arguments.servers,
                    .session_timeout = (usec_t)arguments.session_timeout * USEC_PER_MSEC,
                    .rule = {.tick_time = (usec_t)arguments.tick * USEC_PER_MSEC,
                             .sync_limit = (unsigned)arguments.sync_limit,
                             .heartbeat = (usec_t)arguments.heartbeat * USEC_PER_MSEC,
                             .fence_budget = (usec_t)arguments.fence_budget * USEC_PER_MSEC},
                    .auth = arguments.auth,
                    .state_file = arguments.state_file,
                });
        if (r < 0)
                (void)fprintf(stderr, "lock-probe: %s\n", g_strerror(-r));
        arguments_clear(&arguments);
        return r < 0 ? 1 : 0;
}

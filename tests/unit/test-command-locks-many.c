/* Very many locks of commands (bus-fixture.h): what one costs does not depend on how many others
 * there are, and when all of them end at once no command waits for what is written down. */
#include <dlfcn.h>

#include "bus-fixture.h"
#include "command-locks.h"
#include "lock-caller.h"
#include "service-scopes.h"

#define MANY 20

static Caller *caller;
static ServiceScope *scopes[MANY];
static unsigned writes;
static size_t bytes;

/* Counts, and writes. This program's own counts for the libraries as well. */
gboolean g_file_set_contents_full(const gchar *filename, const gchar *contents, gssize length,
                                  GFileSetContentsFlags flags, int mode, GError **error) {
        gboolean (*next)(const gchar *, const gchar *, gssize, GFileSetContentsFlags, int,
                         GError **) = NULL;

        *(void **)&next = dlsym(RTLD_NEXT, "g_file_set_contents_full");
        if (strstr(filename, "command-locks")) {
                writes++;
                bytes += length < 0 ? strlen(contents) : (size_t)length;
        }
        return next(filename, contents, length, flags, mode, error);
}

/* Deadlines so short that one can wait for them, as in test-command-lock-loss.c. */
static void setup_caller(void) {
        setup_bus();
        tree_write(root, "jobkeeper.yaml",
                   "node: {name: n1}\ntakeover-delay: 100ms\nheartbeat: 100ms\n"
                   "fence-budget: 2500ms\nkill-slack: 500ms\n"
                   "zookeeper: {session-timeout: 6s, tick-time: 100ms, sync-limit: 1}\n");
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon_on_bus();
        caller = caller_new();
}

static void teardown_caller(void) {
        caller = caller_free(caller);
        teardown_bus();
}

TestSuite(command_locks_many, .init = setup_caller, .fini = teardown_caller, .timeout = 60);

/* The i-th command gets its locks, and its process is moved. */
static void hold(unsigned i) {
        g_autofree char *request = g_strdup_printf("{'resources':[{'resource':'a%02u'},"
                                                   "{'resource':'b%02u'},{'resource':'c%02u'}]}",
                                                   i, i, i);
        const char *id = expect_held(caller_acquire(caller, request));

        (void)expect_answer(caller_ask(caller, "AttachLock", "su", id, 4711U + i));
        scopes[i] = service_scope_newest();
}

static void hold_all(void) {
        for (unsigned i = 0; i < MANY; i++)
                hold(i);
        service_manager.deaf = true;
        bytes = 0;
        writes = 0;
}

static unsigned all(bool (*is_so)(const ServiceScope *scope)) {
        unsigned n = 0;

        for (unsigned i = 0; i < MANY; i++)
                n += is_so(scopes[i]);
        return n;
}

static bool is_killed(const ServiceScope *scope) {
        return scope->kills > 0;
}

static bool is_stopped(const ServiceScope *scope) {
        return scope->stops > 0;
}

Test(command_locks_many, what_is_written_for_one_does_not_grow_with_the_others) {
        size_t of_the_first = 0;

        hold(0);
        of_the_first = bytes;
        for (unsigned i = 1; i < MANY; i++) {
                bytes = 0;
                hold(i);
        }
        cr_expect_gt(of_the_first, 0);
        cr_expect_leq(bytes, of_the_first + 100, "%zu bytes instead of %zu", bytes, of_the_first);
}

static bool all_is_written(void) {
        return writes >= MANY;
}

static bool nothing_is_remembered(void) {
        g_autofree char *path = tree_path(root, "run/command-locks");
        g_autoptr(GDir) directory = g_dir_open(path, 0, NULL);

        return directory && !g_dir_read_name(directory);
}

/* The last as soon as the first. */
Test(command_locks_many, with_the_session_all_commands_are_killed_before_anything_is_written) {
        hold_all();
        server_expire(last_session);
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        cr_expect_eq(writes, 0);
        cr_expect_eq(all(is_killed), MANY);
        await(all_is_written, "it is written down that they end");
        for (unsigned i = 0; i < MANY; i++)
                service_scope_empty(scopes[i]);
        await(nothing_is_remembered, "they are forgotten");
        cr_expect_eq(writes, MANY, "each of them once");
}

static ServerWay keep_heartbeats(const ZkCall *call) {
        return call->request == REQUEST_SYNC ? SERVER_KEEP : SERVER_ANSWER;
}

Test(command_locks_many, after_a_long_silence_all_commands_are_stopped_before_anything_is_written) {
        hold_all();
        server.way = keep_heartbeats;
        while (all(is_stopped) == 0)
                turn();
        cr_expect_eq(writes, 0);
        cr_expect_eq(all(is_stopped), MANY);
        cr_expect_eq(all(is_killed), 0);
        await(all_is_written, "it is written down that they end");
        cr_expect_eq(writes, MANY, "each of them once");
}

/* `jobkeeper lock` against a real ZooKeeper: what it lets through, what it keeps apart, and when it
 * kills. Each test has a root of its own in the shared server; those that freeze their server have
 * a server of their own. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deadline.h"
#include "helper-cli.h"
#include "helper-zookeeper-main.h"

#define LIMIT (20 * USEC_PER_SEC)

/* Sessions of 8 s with ticks of 500 ms: locks are certain for 3.92 s, and commands are stopped 2 s
 * before that. */
static const DeadlineRule rule = {500 * USEC_PER_MSEC, 5, 300 * USEC_PER_MSEC, 2 * USEC_PER_SEC};
#define SESSION_TIMEOUT (8 * USEC_PER_SEC)

static char *directory, *config;

static void configure(const char *servers) {
        g_autofree char *text = g_strdup_printf(
            "zookeeper: {servers: \"%s\", root: /test-%d, session-timeout: 8s, tick-time: 500ms, "
            "sync-limit: 5}\n"
            "heartbeat: 300ms\n"
            "fence-budget: 2s\n"
            "kill-slack: 500ms\n",
            servers, (int)getpid());

        cr_assert(
            g_file_set_contents_full(config, text, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0644, NULL));
}

static void setup(void) {
        directory = g_dir_make_tmp("jobkeeper-lock-XXXXXX", NULL);
        config = g_build_filename(directory, "jobkeeper.yaml", NULL);
        configure(zookeeper_shared());
}

static void teardown(void) {
        (void)unlink(config);
        (void)rmdir(directory);
        g_clear_pointer(&config, g_free);
        g_clear_pointer(&directory, g_free);
}

TestSuite(cli_lock, .init = setup, .fini = teardown);

/* Starts `jobkeeper lock --config CONFIG WORDS…`. */
#define START(...)                                                                                 \
        cli_start((const char *const[]){"lock", "--config", config, __VA_ARGS__, NULL}, NULL)

/* Starts a holder and waits until its command runs. */
static CliRun *start_holder(const char *option) {
        CliRun *run = START(option, "db", "--", "sh", "-c", "echo held; exec sleep 60");

        cr_assert(cli_wait_for_out(run, "held", LIMIT), "no lock");
        return run;
}

static void assert_ends(CliRun *run, int status) {
        int got = cli_wait(run, LIMIT);
        g_autofree char *err = cli_err(run);

        cr_assert_eq(got, status, "status %d, err: %s", got, err);
}

/* What it said but that it waits, which it says once a second has passed: on a busy machine also
 * where the lock is free. */
static char *said_but_waiting(const CliRun *run) {
        g_autofree char *err = cli_err(run);
        g_auto(GStrv) lines = g_strsplit(err, "\n", -1);
        g_autoptr(GString) said = g_string_new(NULL);

        for (char **line = lines; *line && **line; line++)
                if (!g_str_has_prefix(*line, "jobkeeper: waiting for "))
                        g_string_append_printf(said, "%s\n", *line);
        return g_string_free(g_steal_pointer(&said), FALSE);
}

/* Return: whether the process has ended (nobody need have waited for it). */
static bool is_gone(pid_t pid) {
        g_autofree char *path = g_strdup_printf("/proc/%d/stat", (int)pid);
        g_autofree char *stat = NULL;
        const char *state = NULL;

        if (!g_file_get_contents(path, &stat, NULL, NULL))
                return true;
        state = strrchr(stat, ')');
        return !state || state[2] == 'Z' || state[2] == 'X';
}

static bool wait_until_gone(pid_t pid, usec_t limit) {
        usec_t end = clock_monotonic() + limit;

        while (!is_gone(pid)) {
                if (clock_monotonic() > end)
                        return false;
                (void)poll(NULL, 0, 5);
        }
        return true;
}

static pid_t pid_of_command(const CliRun *run) {
        g_autofree char *out = cli_out(run);
        const char *word = strstr(out, "pid ");

        cr_assert(word, "%s", out);
        return (pid_t)g_ascii_strtoll(word + 4, NULL, 10);
}

static void assert_status(int status, const char *script) {
        _cleanup_(cli_run_freep) CliRun *run = START("db", "--", "sh", "-c", script);

        assert_ends(run, status);
}

Test(cli_lock, the_exit_status_passes_through) {
        assert_status(0, "true");
        assert_status(7, "exit 7");
        assert_status(137, "kill -9 $$");
}

Test(cli_lock, a_command_that_cannot_be_executed) {
        _cleanup_(cli_run_freep) CliRun *absent = START("db", "--", "no-such-command");
        _cleanup_(cli_run_freep) CliRun *data = START("db", "--", "/etc/passwd");
        g_autofree char *err = NULL;

        assert_ends(absent, 127);
        assert_ends(data, 126);
        err = said_but_waiting(absent);
        cr_assert_str_eq(err,
                         "jobkeeper: cannot execute no-such-command: No such file or directory\n");
}

static int64_t token_of(CliRun *run) {
        g_autofree char *out = NULL;

        assert_ends(run, 0);
        out = cli_out(run);
        cr_assert(g_str_has_prefix(out, "db "), "%s", out);
        return g_ascii_strtoll(out + 3, NULL, 10);
}

Test(cli_lock, the_command_sees_resource_and_a_token_that_grows) {
        const char *script = "echo $JOBKEEPER_RESOURCE $JOBKEEPER_FENCING_TOKEN";
        _cleanup_(cli_run_freep) CliRun *first = START("db", "--", "sh", "-c", script);
        int64_t token = token_of(first);
        _cleanup_(cli_run_freep) CliRun *second = START("db", "--", "sh", "-c", script);

        cr_assert_gt(token, 0);
        cr_assert_gt(token_of(second), token);
}

Test(cli_lock, not_free_in_time_is_75) {
        _cleanup_(cli_run_freep) CliRun *holder = start_holder("-q");
        _cleanup_(cli_run_freep) CliRun *try = START("--timeout", "0", "db", "--", "echo", "never");
        _cleanup_(cli_run_freep) CliRun *timed =
            START("--timeout", "700ms", "--quiet", "db", "--", "echo", "never");
        _cleanup_(cli_run_freep) CliRun *other = START("--timeout", "0", "other", "--", "true");
        g_autofree char *out = NULL, *err = NULL, *quiet = NULL;

        cr_assert_not_null(holder);
        assert_ends(try, 75);
        assert_ends(timed, 75);
        assert_ends(other, 0);
        out = cli_out(try);
        err = said_but_waiting(try);
        quiet = cli_err(timed);
        cr_assert_str_eq(out, "");
        cr_assert_str_eq(err, "jobkeeper: the lock db was not free in time\n");
        cr_assert_str_eq(quiet, "");
}

Test(cli_lock, the_next_one_gets_it_when_the_holder_ends) {
        _cleanup_(cli_run_freep) CliRun *holder = start_holder("-q");
        _cleanup_(cli_run_freep) CliRun *waiter = START("db", "--", "echo", "mine");
        g_autofree char *out = NULL;

        cr_assert(cli_wait_for_err(
            waiter, "jobkeeper: waiting for the lock db, 1 ahead in the queue\n", LIMIT));
        cr_assert_eq(kill(holder->pid, SIGTERM), 0);
        assert_ends(holder, 143);
        assert_ends(waiter, 0);
        out = cli_out(waiter);
        cr_assert_str_eq(out, "mine\n");
}

#define RIVALS 4

Test(cli_lock, exclusive_holders_never_overlap) {
        g_autofree char *history = g_build_filename(directory, "history", NULL);
        g_autofree char *script =
            g_strdup_printf("echo start >>%s; sleep 0.1; echo end >>%s", history, history);
        g_autofree char *lines = NULL;
        CliRun *runs[RIVALS];

        for (int i = 0; i < RIVALS; i++)
                runs[i] = START("-q", "db", "--", "sh", "-c", script);
        for (int i = 0; i < RIVALS; i++) {
                assert_ends(runs[i], 0);
                cli_run_free(runs[i]);
        }
        cr_assert(g_file_get_contents(history, &lines, NULL, NULL));
        cr_expect_str_eq(lines, "start\nend\nstart\nend\nstart\nend\nstart\nend\n");
        (void)unlink(history);
}

Test(cli_lock, shared_holders_overlap_and_keep_exclusive_ones_out) {
        _cleanup_(cli_run_freep) CliRun *first = start_holder("--shared");
        _cleanup_(cli_run_freep) CliRun *second = start_holder("--shared");
        _cleanup_(cli_run_freep) CliRun *exclusive = START("--timeout", "0", "db", "--", "true");

        cr_assert(first && second);
        assert_ends(exclusive, 75);
}

Test(cli_lock, signals_are_forwarded_and_the_commands_answer_counts) {
        _cleanup_(cli_run_freep) CliRun *run =
            START("db", "--", "sh", "-c",
                  "trap 'echo told; exit 3' TERM; echo held; while :; do sleep 0.05; done");

        cr_assert(cli_wait_for_out(run, "held", LIMIT));
        cr_assert_eq(kill(run->pid, SIGTERM), 0);
        assert_ends(run, 3);
        cr_assert(cli_wait_for_out(run, "told", 0));
}

Test(cli_lock, a_signal_while_waiting_gives_up_and_leaves_nothing) {
        _cleanup_(cli_run_freep) CliRun *holder = start_holder("-q");
        _cleanup_(cli_run_freep) CliRun *waiter = START("db", "--", "echo", "never");
        _cleanup_(cli_run_freep) CliRun *next = NULL;

        cr_assert(cli_wait_for_err(waiter, "waiting for the lock", LIMIT));
        cr_assert_eq(kill(waiter->pid, SIGINT), 0);
        assert_ends(waiter, 130);
        cr_assert_eq(kill(holder->pid, SIGTERM), 0);
        assert_ends(holder, 143);
        next = START("--timeout", "0", "db", "--", "true");
        assert_ends(next, 0);
}

Test(cli_lock, no_descriptor_of_ours_reaches_the_command) {
        _cleanup_(cli_run_freep) CliRun *run = START("db", "--", "ls", "/proc/self/fd");
        g_autofree char *script =
            g_strdup_printf("exec %s lock --config %s db -- ls /proc/self/fd 7</dev/null",
                            JOBKEEPER_BINARY, config);
        _cleanup_(cli_run_freep) CliRun *inherits = START("other", "--", "sh", "-c", script);
        g_autofree char *out = NULL, *with_seven = NULL;

        assert_ends(run, 0);
        assert_ends(inherits, 0);
        out = cli_out(run);
        with_seven = cli_out(inherits);
        cr_assert_str_eq(out, "0\n1\n2\n3\n", "3 is the directory that ls reads");
        cr_assert_str_eq(with_seven, "0\n1\n2\n3\n7\n");
}

Test(cli_lock, the_commands_signals_are_not_blocked) {
        _cleanup_(cli_run_freep) CliRun *run =
            START("db", "--", "grep", "SigBlk", "/proc/self/status");

        assert_ends(run, 0);
        cr_assert(cli_wait_for_out(run, "SigBlk:\t0000000000000000\n", 0));
}

Test(cli_lock, killing_the_holder_kills_the_command) {
        _cleanup_(cli_run_freep) CliRun *run =
            START("db", "--", "sh", "-c", "echo pid $$ held; exec sleep 60");

        cr_assert(cli_wait_for_out(run, "held", LIMIT));
        cr_assert_eq(kill(run->pid, SIGKILL), 0);
        assert_ends(run, 137);
        cr_assert(wait_until_gone(pid_of_command(run), 5 * USEC_PER_SEC));
}

Test(cli_lock, zookeeper_out_of_reach_is_75) {
        _cleanup_(cli_run_freep) CliRun *run = NULL;
        g_autofree char *err = NULL;

        configure("127.0.0.1:1");
        run = START("--timeout", "600ms", "db", "--", "echo", "never");
        assert_ends(run, 75);
        err = cli_err(run);
        cr_assert(strstr(err, "jobkeeper: ZooKeeper at 127.0.0.1:1 cannot be reached"), "%s", err);
}

Test(cli_lock, a_broken_configuration_is_78) {
        _cleanup_(cli_run_freep) CliRun *broken = NULL, *tight = NULL, *absent = NULL;

        cr_assert(g_file_set_contents_full(config, "zookeper: {}\n", -1,
                                           G_FILE_SET_CONTENTS_CONSISTENT, 0644, NULL));
        broken = START("db", "--", "echo", "never");
        assert_ends(broken, 78);
        cr_assert(g_file_set_contents_full(config, "zookeeper: {session-timeout: 10s}\n", -1,
                                           G_FILE_SET_CONTENTS_CONSISTENT, 0644, NULL));
        tight = START("db", "--", "echo", "never");
        assert_ends(tight, 78);
        absent = cli_run(NULL, "lock", "--config", "/nonexistent", "db", "--", "echo", "never");
        cr_assert_eq(absent->status, 78);
}

Test(cli_lock, at_the_deadline_a_stubborn_command_and_its_children_are_dead) {
        const char *script = "trap 'echo told' TERM; (trap '' TERM; exec sleep 60) & "
                             "echo pid $! held; while :; do wait; done";
        ZooKeeperServer *server = zookeeper_server_new(ZOOKEEPER_TICK_MS);
        CliRun *run = NULL;
        usec_t frozen = 0, took = 0;
        g_autofree char *err = NULL;
        pid_t command = 0;

        configure(zookeeper_server_address(server));
        run = START("db", "--", "sh", "-c", script);
        cr_assert(cli_wait_for_out(run, "held", LIMIT));
        command = pid_of_command(run);
        frozen = clock_boottime();
        zookeeper_server_freeze(server);
        cr_assert(cli_wait_for_out(run, "told", LIMIT), "SIGTERM comes first");
        took = clock_boottime() - frozen;
        cr_expect_leq(took, deadline_stop_after(&rule, SESSION_TIMEOUT) + 500 * USEC_PER_MSEC);
        assert_ends(run, 75);
        took = clock_boottime() - frozen;
        cr_expect_leq(took, deadline_lease(&rule, SESSION_TIMEOUT) + 500 * USEC_PER_MSEC,
                      "after %.3f s", (double)took / 1e6);
        cr_expect(is_gone(command), "the child outlives the lock");
        err = cli_err(run);
        cr_expect(strstr(err, "killing") && strstr(err, "killing") == g_strrstr(err, "killing"),
                  "said once: %s", err);
        cli_run_free(run);
        zookeeper_server_thaw(server);
        zookeeper_server_free(server);
}

Test(cli_lock, a_command_that_obeys_is_stopped_before_the_deadline_and_it_is_75) {
        ZooKeeperServer *server = zookeeper_server_new(ZOOKEEPER_TICK_MS);
        CliRun *run = NULL;
        g_autofree char *err = NULL;

        configure(zookeeper_server_address(server));
        run = START("db", "--", "sh", "-c",
                    "trap 'exit 0' TERM; echo held; while :; do sleep 0.05; done");
        cr_assert(cli_wait_for_out(run, "held", LIMIT));
        zookeeper_server_freeze(server);
        assert_ends(run, 75);
        err = cli_err(run);
        cr_expect(g_str_has_prefix(err, "jobkeeper: ZooKeeper has not answered for too long: "
                                        "stopping the command\n"),
                  "%s", err);
        cli_run_free(run);
        zookeeper_server_thaw(server);
        zookeeper_server_free(server);
}

/* Reads what the terminal shows until `text` stands in it. */
static bool terminal_shows(int terminal, GString *shown, const char *text) {
        usec_t end = clock_monotonic() + LIMIT;

        while (!strstr(shown->str, text) && clock_monotonic() < end) {
                struct pollfd readable = {.fd = terminal, .events = POLLIN};
                char buffer[256];
                ssize_t n =
                    poll(&readable, 1, 100) == 1 ? read(terminal, buffer, sizeof(buffer)) : 0;

                if (n < 0)
                        break; /* the other end is closed */
                g_string_append_len(shown, buffer, n);
        }
        return strstr(shown->str, text);
}

Test(cli_lock, the_command_has_the_terminal) {
        /* No command in the loop: a shell that is stopped between vfork and exec waits for ever. */
        const char *script = "trap 'echo continued' CONT; read word; echo got $word; "
                             "while :; do read word; done";
        g_autoptr(GString) shown = g_string_new(NULL);
        int terminal = -1, status = 0;
        pid_t pid = forkpty(&terminal, NULL, NULL, NULL);

        cr_assert_geq(pid, 0);
        if (pid == 0) {
                (void)execl(JOBKEEPER_BINARY, "jobkeeper", "lock", "--config", config, "db", "--",
                            "sh", "-c", script, (char *)NULL);
                _exit(127);
        }
        cr_assert_eq(write(terminal, "hello\n", 6), 6);
        cr_expect(terminal_shows(terminal, shown, "got hello"), "%s", shown->str);
        cr_assert_eq(write(terminal, "\032", 1), 1, "Ctrl-Z");
        cr_assert(terminal_shows(terminal, shown, "continued"), "%s", shown->str);
        cr_assert_eq(write(terminal, "\003", 1), 1, "Ctrl-C");
        cr_expect_not(terminal_shows(terminal, shown, "never"), "reads to the end");
        (void)kill(pid, SIGKILL); /* has ended by now, if all is well */
        cr_assert_eq(waitpid(pid, &status, 0), pid);
        cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 130, "%x: %s", (unsigned)status,
                  shown->str);
        (void)close(terminal);
}

/* ---- several resources, slots, namings ---- */

Test(cli_lock, several_resources_are_held_all_or_none) {
        _cleanup_(cli_run_freep) CliRun *holder =
            START("zebra", "--also", "ant:shared", "--", "sh", "-c",
                  "echo held $JOBKEEPER_RESOURCE; exec sleep 60");
        _cleanup_(cli_run_freep) CliRun *both = NULL, *shared = NULL, *free_one = NULL,
                                        *exclusive = NULL;

        cr_assert(cli_wait_for_out(holder, "held ant zebra\n", LIMIT));
        both = START("-n", "bee", "--also", "zebra", "--", "true");
        assert_ends(both, 75);
        free_one = START("-n", "bee", "--", "true");
        assert_ends(free_one, 0);
        shared = START("-n", "--shared", "ant", "--", "true");
        assert_ends(shared, 0);
        exclusive = START("-n", "ant", "--", "true");
        assert_ends(exclusive, 75);
}

Test(cli_lock, slots_let_so_many_in_and_others_must_say_the_same) {
        _cleanup_(cli_run_freep) CliRun *first = NULL, *second = NULL, *third = NULL, *other = NULL;
        g_autofree char *err = NULL;

        first = START("--slots", "2", "db", "--", "sh", "-c", "echo held; exec sleep 60");
        cr_assert(cli_wait_for_out(first, "held", LIMIT));
        second = START("--slots", "2", "db", "--", "sh", "-c", "echo held; exec sleep 60");
        cr_assert(cli_wait_for_out(second, "held", LIMIT));
        third = START("--slots", "2", "--no-wait", "db", "--", "true");
        assert_ends(third, 75);
        other = START("--slots", "3", "db", "--", "true");
        assert_ends(other, 69);
        err = cli_err(other);
        cr_expect(strstr(err, "the lock db cannot be had: "), "%s", err);
}

static void assert_naming(const char *naming, const char *resource) {
        _cleanup_(cli_run_freep) CliRun *holder =
            START("--naming", naming, resource, "--", "sh", "-c", "echo held; exec sleep 60");
        _cleanup_(cli_run_freep) CliRun *try = NULL;

        cr_assert(cli_wait_for_out(holder, "held", LIMIT), "%s", naming);
        try = START("--naming", naming, "-n", resource, "--", "true");
        assert_ends(try, 75);
}

Test(cli_lock, every_naming_excludes) {
        assert_naming("curator-rw", "a");
        assert_naming("curator-mutex", "b");
        assert_naming("kazoo", "c");
        assert_naming("single-node", "d");
}

Test(cli_lock, a_declared_resource_stands_where_it_is_declared) {
        g_autofree char *text = NULL, *changed = NULL, *list = NULL;
        _cleanup_(cli_run_freep) CliRun *holder = NULL, *against = NULL, *look = NULL;

        cr_assert(g_file_get_contents(config, &text, NULL, NULL));
        changed = g_strdup_printf("%sresources: {far: {path: /else-%d/where, naming: kazoo}}\n",
                                  text, (int)getpid());
        cr_assert(g_file_set_contents(config, changed, -1, NULL));
        holder = START("far", "--", "sh", "-c", "echo held; exec sleep 60");
        cr_assert(cli_wait_for_out(holder, "held", LIMIT));
        against = START("--naming", "curator-rw", "far", "--", "true");
        assert_ends(against, 64);
        look = cli_run(NULL, "locks", "--config", config, "--json");
        list = cli_out(look);
        cr_expect(strstr(list, "/where/") && strstr(list, "__lock__"), "%s", list);
}

/* ---- arguments ---- */

static void assert_refused(const char *const *words, const char *option, const char *value) {
        g_autoptr(GPtrArray) all = g_ptr_array_new();
        _cleanup_(cli_run_freep) CliRun *run = NULL;
        g_autofree char *err = NULL;

        g_ptr_array_add(all, (gpointer) "lock");
        for (; *words; words++)
                g_ptr_array_add(all, (gpointer)*words);
        g_ptr_array_add(all, NULL);
        run = cli_run_to_end((const char *const *)all->pdata, NULL);
        err = cli_err(run);
        cr_expect_eq(run->status, 64, "%s", err);
        cr_expect(strstr(err, option) && strstr(err, value), "%s %s: %s", option, value, err);
}
#define REFUSED(option, value, ...)                                                                \
        assert_refused((const char *const[]){__VA_ARGS__, "--", "true", NULL}, (option), (value))

Test(cli_lock, what_cannot_be_meant_is_refused_by_name) {
        REFUSED("--slots", "\"0\"", "--slots", "0", "db");
        REFUSED("--slots", "\"many\"", "--slots", "many", "db");
        REFUSED("--slots", "\"1001\"", "--slots", "1001", "db");
        REFUSED("--slots 2", "--shared", "--slots", "2", "--shared", "db");
        REFUSED("--also", "\"x:read\"", "--also", "x:read", "db");
        REFUSED("the resource", "db", "--also", "db", "db");
        REFUSED("job:x", "own lock", "--also", "job:x", "db");
        REFUSED("name", "\"A\"", "--also", "A", "db");
        REFUSED("--no-wait", "--timeout 3s", "--no-wait", "--timeout", "3s", "db");
        REFUSED("--timeout", "\"soon\"", "--timeout", "soon", "db");
        REFUSED("--naming", "\"zk\"", "--naming", "zk", "db");
        REFUSED("--on-loss", "\"die\"", "--on-loss", "die", "db");
        REFUSED("--quiet", "--verbose", "--quiet", "--verbose", "db");
        REFUSED("kazoo", "slots: 2", "--standalone", "--naming", "kazoo", "--slots", "2", "db");
        REFUSED("single-node", "shared", "--standalone", "--naming", "single-node", "-s", "db");
        REFUSED("--also", "one resource", "db", "other");
}

/* ---- while it waits ---- */

Test(cli_lock, verbose_says_who_holds_and_when_that_changes) {
        _cleanup_(cli_run_freep) CliRun *first =
            START("db", "--", "sh", "-c", "echo held; exec sleep 60");
        _cleanup_(cli_run_freep) CliRun *second = NULL, *waiter = NULL;
        g_autofree char *pid = NULL;

        cr_assert(cli_wait_for_out(first, "held", LIMIT));
        second = START("db", "--", "sleep", "60");
        cr_assert(cli_wait_for_err(second, "waiting for the lock", LIMIT), "before the next");
        waiter = START("--verbose", "db", "--", "true");
        pid = g_strdup_printf("sh (pid %d, ", (int)first->pid);
        cr_assert(cli_wait_for_err(waiter, pid, LIMIT));
        cr_assert_eq(kill(first->pid, SIGTERM), 0);
        cr_assert(cli_wait_for_err(waiter, "sleep (pid ", LIMIT));
        cr_assert_eq(kill(second->pid, SIGTERM), 0);
        assert_ends(waiter, 0);
}

/* ---- looking ---- */

Test(cli_lock, locks_lists_holders_and_waiters) {
        _cleanup_(cli_run_freep) CliRun *holder = start_holder("-q");
        _cleanup_(cli_run_freep) CliRun *waiter = START("--shared", "db", "--", "true");
        _cleanup_(cli_run_freep) CliRun *table = NULL, *tree = NULL, *nobody = NULL;
        g_autofree char *shown = NULL, *grown = NULL, *none = NULL;

        cr_assert(holder && cli_wait_for_err(waiter, "waiting for the lock", LIMIT));
        table = cli_run(NULL, "locks", "--config", config, "db");
        shown = cli_out(table);
        cr_expect_eq(table->status, 0);
        cr_expect(g_regex_match_simple("^RESOURCE +STATE +MODE +NODE +AGE +WHO\n"
                                       "db +holds +exclusive +\\S+ +\\S+ +sh \\(pid \\d+, \\S+\\)\n"
                                       "db +waits \\(1 before\\) +shared +\\S+ +\\S+ +true "
                                       "\\(pid \\d+, \\S+\\)\n$",
                                       shown, 0, 0),
                  "%s", shown);
        tree = cli_run(NULL, "locks", "--config", config, "--tree");
        grown = cli_out(tree);
        cr_expect(strstr(grown, "\ndb "), "%s", grown);
        nobody = cli_run(NULL, "locks", "--config", config, "none-such");
        none = cli_out(nobody);
        cr_expect_eq(nobody->status, 0);
        cr_expect_str_eq(none, "Nobody holds none-such or waits for it.\n");
}

Test(cli_lock, locks_without_a_server_is_69) {
        _cleanup_(cli_run_freep) CliRun *run = NULL;
        g_autofree char *err = NULL;

        configure("127.0.0.1:1");
        run = cli_run(NULL, "locks", "--config", config);
        err = cli_err(run);
        cr_expect_eq(run->status, 69);
        cr_expect(strstr(err, "ZooKeeper at 127.0.0.1:1 cannot be reached"), "%s", err);
}

/* ---- losing it ---- */

Test(cli_lock, told_to_continue_the_command_outlives_the_lock_and_its_status_counts) {
        ZooKeeperServer *server = zookeeper_server_new(ZOOKEEPER_TICK_MS);
        CliRun *run = NULL;
        g_autofree char *err = NULL;

        configure(zookeeper_server_address(server));
        run = START("--on-loss", "continue", "db", "--", "sh", "-c",
                    "echo held; sleep 6; echo still here; exit 5");
        cr_assert(cli_wait_for_out(run, "held", LIMIT));
        zookeeper_server_freeze(server);
        assert_ends(run, 5);
        cr_expect(cli_wait_for_out(run, "still here", 0));
        err = cli_err(run);
        cr_expect(strstr(err, ": the command continues without the lock db\n"), "%s", err);
        cr_expect_not(strstr(err, "stopping"), "%s", err);
        cr_expect_eq(strstr(err, "continues"), g_strrstr(err, "continues"), "said once: %s", err);
        cli_run_free(run);
        zookeeper_server_thaw(server);
        zookeeper_server_free(server);
}

ZOOKEEPER_MAIN;

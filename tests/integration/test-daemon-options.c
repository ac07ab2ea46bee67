/* What jobkeeperd makes of its command line, and of a configuration with which it cannot begin. */
#include <criterion/criterion.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>

/* In a mount namespace: a /run of its own, so that it is of no account what runs on this machine.
 */
#define OWN_RUN "mount -t tmpfs none /run && mkdir /run/jobkeeper && cd /run/jobkeeper && "

static int spawn(const char *const argv[], char **ret_output, char **ret_error) {
        int status = 0;

        g_unsetenv("NOTIFY_SOCKET");
        cr_assert(g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL,
                               ret_output, ret_error, &status, NULL));
        cr_assert(WIFEXITED(status), "%d", status);
        return WEXITSTATUS(status);
}

/* Runs the daemon with one argument, or two. Return: its exit status. */
static int daemon_with(const char *first, const char *second, char **ret_output, char **ret_error) {
        const char *const argv[] = {JOBKEEPERD_BINARY, first, second, NULL};

        return spawn(argv, ret_output, ret_error);
}

/* Runs a shell's commands as root in a /run of its own; $D is the daemon. Return: the shell's exit
 * status. */
static int shell_alone(const char *commands, char **ret_output, char **ret_error) {
        g_autofree char *script = g_strconcat("D=$1; " OWN_RUN, commands, NULL);
        const char *const argv[] = {"unshare", "--mount",         "sh", "-c", script,
                                    "sh",      JOBKEEPERD_BINARY, NULL};

        return spawn(argv, ret_output, ret_error);
}

Test(daemon_options, help_and_version) {
        g_autofree char *output = NULL, *error = NULL;

        cr_expect_eq(daemon_with("--version", NULL, &output, &error), 0);
        cr_expect_str_eq(output, "jobkeeperd " JOBKEEPER_VERSION "\n");
        cr_expect_str_empty(error);
        g_free(g_steal_pointer(&output));
        g_free(g_steal_pointer(&error));
        cr_expect_eq(daemon_with("--help", NULL, &output, &error), 0);
        cr_expect(g_str_has_prefix(output, "jobkeeperd [OPTIONS...]\n"), "%s", output);
        cr_expect_str_empty(error);
}

Test(daemon_options, what_is_unknown_is_a_usage_error) {
        g_autofree char *output = NULL, *error = NULL;

        cr_expect_eq(daemon_with("--confg=x", NULL, &output, &error), EX_USAGE);
        cr_expect(strstr(error, "--confg"), "%s", error);
        g_free(g_steal_pointer(&output));
        g_free(g_steal_pointer(&error));
        cr_expect_eq(daemon_with("start", NULL, &output, &error), EX_USAGE);
        cr_expect_str_eq(error, "jobkeeperd: unexpected argument \"start\"\n");
        cr_expect_str_empty(output);
}

/* Started by hand, so at once, whatever runs here. */
Test(daemon_options, a_broken_configuration_is_status_78) {
        g_autofree char *output = NULL, *error = NULL;

        cr_expect_eq(
            shell_alone("echo 'nod: x' > x.yaml; $D --config=$PWD/x.yaml", &output, &error),
            EX_CONFIG, "%s", error);
        cr_expect(strstr(error, ".yaml:1:1: error: unknown key \"nod\""), "%s", error);
}

/* With a session file of the other, which a second process would take for its own. */
Test(daemon_options, a_second_daemon_ends_at_once_and_touches_nothing) {
        g_autofree char *output = NULL, *error = NULL;

        cr_expect_eq(shell_alone("echo 4711 > jobkeeperd.lock; echo theirs > session;"
                                 "exec 8< jobkeeperd.lock; flock -x 8; $D 8<&-; status=$?;"
                                 "cat session jobkeeperd.lock; ls -A; exit $status",
                                 &output, &error),
                     EXIT_FAILURE);
        cr_expect_str_eq(output, "theirs\n4711\njobkeeperd.lock\nsession\n");
        cr_expect_str_eq(error,
                         "error: jobkeeperd runs on this machine already (process 4711): see "
                         "\"systemctl status jobkeeperd\". This one ends, and has disturbed "
                         "nothing\n");
}

Test(daemon_options, who_may_not_lock_the_machine_is_told_how_it_is_started) {
        g_autofree char *output = NULL, *error = NULL;

        /* Which lines it executes it can count where it may write. */
        cr_expect_eq(shell_alone("cp $D d; mkdir -m 777 counts; GCOV_PREFIX=$PWD/counts"
                                 " setpriv --reuid=65534 --regid=65534 --clear-groups ./d",
                                 &output, &error),
                     EXIT_FAILURE);
        cr_expect_str_eq(error, "error: cannot lock /run/jobkeeper/jobkeeperd.lock: Permission "
                                "denied; jobkeeperd is started by root, usually by \"systemctl "
                                "start jobkeeperd\"\n");
}

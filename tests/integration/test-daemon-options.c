/* What jobkeeperd makes of its command line, and of a configuration with which it cannot begin. */
#include <criterion/criterion.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <sysexits.h>
#include <unistd.h>

/* Runs the daemon with one argument, or two. Return: its exit status. */
static int daemon_with(const char *first, const char *second, char **ret_output, char **ret_error) {
        const char *const argv[] = {JOBKEEPERD_BINARY, first, second, NULL};
        int status = 0;

        cr_assert(g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, ret_output,
                               ret_error, &status, NULL));
        cr_assert(WIFEXITED(status), "%d", status);
        return WEXITSTATUS(status);
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

/* Started by hand, so at once, whatever runs on this machine. */
Test(daemon_options, a_broken_configuration_is_status_78) {
        g_autofree char *output = NULL, *error = NULL, *path = NULL, *option = NULL;
        int fd = g_file_open_tmp("jobkeeper-XXXXXX.yaml", &path, NULL);

        cr_assert_geq(fd, 0);
        cr_assert_eq(write(fd, "nod: x\n", 7), 7);
        (void)close(fd);
        g_unsetenv("NOTIFY_SOCKET");
        option = g_strconcat("--config=", path, NULL);
        cr_expect_eq(daemon_with(option, NULL, &output, &error), EX_CONFIG);
        cr_expect(strstr(error, ".yaml:1:1: error: unknown key \"nod\""), "%s", error);
        (void)g_unlink(path);
}

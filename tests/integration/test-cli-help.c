/* What `jobkeeper` says where it is asked for nothing that it could do: how it is used. It asks
 * nobody for that. */
#include <criterion/criterion.h>
#include <glib.h>
#include <string.h>

#include "helper-cli.h"

#define EXPECT(status, out, err, ...)                                                              \
        cli_expect((status), (out), (err), (const char *const[]){__VA_ARGS__, NULL})

Test(cli_help, usage_errors_are_64) {
        EXPECT(64, "", "jobkeeper: there is no command \"stats\" (did you mean \"status\"?)\n",
               "stats");
        EXPECT(64, "", NULL, "history");
        EXPECT(64, "", NULL, "history", "a", "b");
        EXPECT(64, "", NULL, "history", "a", "-n", "0");
        EXPECT(64, "", NULL, "status", "--frob");
        EXPECT(64, "", NULL, "lock", "db", "true");
        EXPECT(64, "",
               "jobkeeper lock: a resource is missing before \"--\"\nTry: jobkeeper lock --help\n",
               "lock", "--", "echo", "hi");
        EXPECT(64, "",
               "jobkeeper lock: only one resource can stand before \"--\"; use --also for further "
               "ones\nTry: jobkeeper lock --help\n",
               "lock", "a", "b", "--", "true");
        EXPECT(64, "", NULL, "lock", "DB", "--", "true");
        EXPECT(64, "", NULL, "lock", "--timeout", "soon", "db", "--", "true");
}

Test(cli_help, help_is_for_a_terminal_of_100_columns) {
        static const char *const commands[] = {"status", "history", "run",   "next",    "verify",
                                               "lock",   "locks",   "drain", "undrain", "pause",
                                               "resume", "stop",    "rerun", "resolve"};

        for (size_t i = 0; i < G_N_ELEMENTS(commands); i++) {
                _cleanup_(cli_run_freep) CliRun *run = cli_run(NULL, "help", commands[i]);
                g_autofree char *out = cli_out(run);
                g_auto(GStrv) lines = g_strsplit(out, "\n", -1);

                for (char **line = lines; *line; line++)
                        cr_expect_leq(strlen(*line), 100U, "%s", *line);
        }
}

Test(cli_help, help_is_everywhere) {
        EXPECT(0, NULL, "", "--help");
        EXPECT(0, NULL, "", "help");
        EXPECT(0, NULL, "", "help", "lock");
        EXPECT(0, NULL, "", "lock", "--help");
        EXPECT(0, "jobkeeper " JOBKEEPER_VERSION "\n", "", "--version");
}

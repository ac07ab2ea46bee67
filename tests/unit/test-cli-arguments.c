/* What is typed: commands, options, the lock's arguments; and what comes out: exit statuses,
 * tables, safe text. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>

#include "bus-client.h"
#include "bus-interface.h"
#include "command-process.h"
#include "command.h"
#include "exit-code.h"
#include "lock-arguments.h"
#include "options.h"
#include "output.h"
#include "resource.h"
#include "table.h"

static int run_nothing(int argc, char **argv) {
        return 0;
}

static const Command commands[] = {
    {"status", "Show the status", run_nothing},
    {"history", "Show the runs of a job", run_nothing},
    {"verify", "Check", run_nothing},
    {0},
};

static void assert_nearest(const char *typed, const char *expected) {
        const Command *nearest = command_nearest(commands, typed);

        if (expected)
                cr_assert(nearest && strcmp(nearest->name, expected) == 0, "%s", typed);
        else
                cr_assert_null(nearest, "%s", typed);
}

Test(command, nearest) {
        assert_nearest("statsu", "status");
        assert_nearest("stat", "status");
        assert_nearest("histroy", "history");
        assert_nearest("verfy", "verify");
        assert_nearest("frobnicate", NULL);
        assert_nearest("", NULL);
}

Test(command, find_and_overview) {
        g_autofree char *text = command_overview(commands);

        cr_assert_eq(command_find(commands, "verify"), &commands[2]);
        cr_assert_null(command_find(commands, "verif"));
        cr_assert(strstr(text, "\n  history    Show the runs of a job\n"));
}

/* Runs options_parse over words; returns the exit status, or -1 to go on. */
static int parse(char **words, gboolean *ret_flag, char ***ret_rest) {
        static const OptionsUse use = {"test", "JOB", "Tests.", NULL};
        const GOptionEntry entries[] = {
            {"flag", 'f', 0, G_OPTION_ARG_NONE, ret_flag, "A flag", NULL},
            {0},
        };
        int code = 0;

        return options_parse(&use, entries, (int)g_strv_length(words), words, ret_rest, &code)
                   ? -1
                   : code;
}

Test(options, arguments_and_flags_mix, .init = cr_redirect_stderr) {
        char *words[] = {(char *)"test", (char *)"a",  (char *)"-f",
                         (char *)"--",   (char *)"-b", NULL};
        g_auto(GStrv) rest = NULL;
        gboolean flag = FALSE;

        cr_assert_eq(parse(words, &flag, &rest), -1);
        cr_assert(flag);
        cr_assert_eq(g_strv_length(rest), 2);
        cr_assert_str_eq(rest[1], "-b");
}

Test(options, no_arguments_are_an_empty_list) {
        char *words[] = {(char *)"test", NULL};
        g_auto(GStrv) rest = NULL;
        gboolean flag = FALSE;

        cr_assert_eq(parse(words, &flag, &rest), -1);
        cr_assert_null(rest[0]);
}

Test(options, an_unknown_option_is_a_usage_error, .init = cr_redirect_stderr) {
        char *words[] = {(char *)"test", (char *)"--flog", NULL};
        g_auto(GStrv) rest = NULL;
        gboolean flag = FALSE;

        cr_assert_eq(parse(words, &flag, &rest), EXIT_CODE_USAGE);
        cr_assert_null(rest);
}

Test(options, help_is_a_success, .init = cr_redirect_stdout) {
        char *words[] = {(char *)"test", (char *)"-h", NULL};
        g_auto(GStrv) rest = NULL;
        gboolean flag = FALSE;

        cr_assert_eq(parse(words, &flag, &rest), EXIT_CODE_OK);
}

Test(lock_arguments, are_split_at_the_first_double_dash) {
        char *words[] = {(char *)"lock", (char *)"db", (char *)"--",
                         (char *)"sh",   (char *)"--", NULL};
        char *bare[] = {(char *)"lock", (char *)"db", (char *)"--", NULL};
        char **command = NULL;

        cr_assert_eq(lock_arguments_split(5, words, &command), 2);
        cr_assert_str_eq(command[0], "sh");
        cr_assert_eq(lock_arguments_split(3, bare, &command), -1);
        cr_assert_eq(lock_arguments_split(2, words, &command), -1);
        cr_assert_str_eq(command[0], "sh", "untouched on failure");
}

static void assert_resource(const char *name, const char *fault) {
        g_autofree char *got = resource_refusal(name);

        if (fault)
                cr_assert(got && strstr(got, fault), "%s: %s", name, got);
        else
                cr_assert_null(got);
}

Test(lock_arguments, resource_names) {
        assert_resource("orders-db", NULL);
        assert_resource("job:orders", "job's own lock");
        assert_resource("Orders", "characters");
        assert_resource("", "is empty");
        assert_resource("a/b", "characters");
}

Test(lock_arguments, timeout) {
        usec_t timeout = 1;

        cr_assert_eq(lock_timeout_read(NULL, &timeout), 0);
        cr_assert_eq(timeout, USEC_INFINITY);
        cr_assert_eq(lock_timeout_read("0", &timeout), 0);
        cr_assert_eq(timeout, 0);
        cr_assert_eq(lock_timeout_read("1min 30s", &timeout), 0);
        cr_assert_eq(timeout, 90 * USEC_PER_SEC);
        cr_assert_eq(lock_timeout_read("soon", &timeout), -EINVAL);
        cr_assert_eq(timeout, 90 * USEC_PER_SEC);
}

Test(exit_status, of_a_child) {
        cr_assert_eq(exit_status_from_child(CLD_EXITED, 7), 7);
        cr_assert_eq(exit_status_from_child(CLD_KILLED, SIGTERM), 143);
        cr_assert_eq(exit_status_from_child(CLD_DUMPED, SIGSEGV), 139);
}

Test(exit_status, of_the_daemons_errors) {
        cr_assert_eq(bus_outcome_exit(BUS_ANSWERED), 0);
        cr_assert_eq(bus_outcome_exit(bus_outcome_from_error(BUS_ERROR_NO_SUCH_JOB)), 1);
        cr_assert_eq(bus_outcome_from_error(BUS_ERROR_JOB_ELSEWHERE), BUS_JOB_ELSEWHERE);
        cr_assert_eq(bus_outcome_exit(BUS_JOB_ELSEWHERE), 1);
        cr_assert_eq(bus_outcome_exit(bus_outcome_from_error(BUS_ERROR_NO_CANDIDATE)), 1);
        cr_assert_eq(bus_outcome_exit(bus_outcome_from_error(BUS_ERROR_NOT_CONNECTED)), 69);
        cr_assert_eq(bus_outcome_exit(bus_outcome_from_error(SD_BUS_ERROR_SERVICE_UNKNOWN)), 69);
        cr_assert_eq(bus_outcome_exit(bus_outcome_from_error(SD_BUS_ERROR_NO_REPLY)), 69);
        cr_assert_eq(bus_outcome_from_error(SD_BUS_ERROR_ACCESS_DENIED), BUS_DENIED);
        cr_assert_eq(bus_outcome_from_error("org.example.Other"), BUS_FAILED);
        cr_assert_eq(bus_outcome_from_error(NULL), BUS_FAILED);
}

Test(output, control_characters_do_not_reach_the_terminal) {
        g_autofree char *shown = printable("a\033[31mb\tc\nd\xff\xc2\x9b\xe2\x80\xae");

        cr_assert_str_eq(shown, "a?[31mb\tc\nd\xef\xbf\xbd??");
}

Test(table, colours_by_the_first_word) {
        cr_assert_str_eq(table_colour("failed (exit status 3)"), "red");
        cr_assert_str_eq(table_colour("succeeded"), "green");
        cr_assert_null(table_colour("fail"));
        cr_assert_null(table_colour(""));
}

Test(table, prints_columns_without_the_empty_ones) {
        static const char *const headings[] = {"JOB", "WHY", "A LONG HEADING", NULL};
        Table *table = table_new(headings, 0);
        char *text = NULL;
        size_t size = 0;
        FILE *out = NULL;

        table_add(table, g_strdup("a"), g_strdup(""), g_strdup("x"), NULL);
        table_add(table, g_strdup("b\033"), NULL);
        out = open_memstream(&text, &size);
        cr_assert_eq(table_print(table, out), 0);
        (void)fclose(out);
        cr_assert_str_eq(text, "JOB    A LONG HEADING\na      x\nb\\x1b  \n");
        free(text);
        table_free(table);
}

/* Splitting a command line as ExecStart= does (systemd.service(5)). */
#include <criterion/criterion.h>
#include <errno.h>
#include <glib.h>

#include "exec-shell.h"
#include "exec.h"

static const struct {
        const char *text;
        const char *words; /* joined with '|' */
} good[] = {
    {"/bin/true", "/bin/true"},
    {"  /bin/echo \t one\ntwo  ", "/bin/echo|one|two"},
    {"/bin/echo 'one two' \"three  four\"", "/bin/echo|one two|three  four"},
    {"/bin/echo '' \"\"", "/bin/echo||"},
    {"/bin/echo --name=\"a b\"c", "/bin/echo|--name=a bc"},
    {"/bin/echo \"it's\" 'say \"so\"'", "/bin/echo|it's|say \"so\""},
    {"/bin/echo a\\ b", NULL}, /* no escape of C's */
    {"/bin/echo a\\sb \\x41\\102\\u00e4\\U0001F600", "/bin/echo|a b|AB\xc3\xa4\xf0\x9f\x98\x80"},
    {"/bin/echo \\a\\b\\f\\n\\r\\t\\v\\\\\\\"\\'", "/bin/echo|\a\b\f\n\r\t\v\\\"'"},
    {"/bin/echo '\\'' \"\\\"\"", "/bin/echo|'|\""},
    {"/bin/echo \\; a;b \";\"", "/bin/echo|;|a;b|;"},
    {"/bin/echo ${HOME} $HOME 100%", "/bin/echo|${HOME}|$HOME|100%"},
    {"/bin/echo \\xc3\\xa4", "/bin/echo|\xc3\xa4"},
    {"-/bin/true", "-/bin/true"}, /* judged by exec_path_fault() */
};

Test(exec, split) {
        for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
                g_autofree char *message = NULL, *joined = NULL;
                g_auto(GStrv) argv = NULL;
                int r = exec_split(good[i].text, &argv, &message);

                if (!good[i].words) {
                        cr_expect_eq(r, -EINVAL);
                        continue;
                }
                cr_assert_eq(r, 0, "%s: %s", good[i].text, message);
                joined = g_strjoinv("|", argv);
                cr_expect_str_eq(joined, good[i].words);
        }
}

static const struct {
        const char *text;
        const char *message;
} bad[] = {
    {"", "is empty"},
    {" \t\n", "is empty"},
    {"/bin/echo \"a", "has a quote (\") that is not closed"},
    {"/bin/echo 'a\"", "has a quote (') that is not closed"},
    {"/bin/echo a ; b", "has several commands (a \";\" alone); to pass it on write \"\\;\""},
    {"/bin/echo ;", "has several commands (a \";\" alone); to pass it on write \"\\;\""},
    {"/bin/grep a\\.b", "has the unknown escape sequence \"\\.\" (for a backslash write \"\\\\\")"},
    {"/bin/grep a\\\xc3\xa4",
     "has the unknown escape sequence \"\\\xc3\xa4\" (for a backslash write \"\\\\\")"},
    {"/bin/grep a\\", "has the unknown escape sequence \"\\\" (for a backslash write \"\\\\\")"},
    {"/bin/grep \\x4", "has the unknown escape sequence \"\\x\" (for a backslash write \"\\\\\")"},
    {"/bin/grep \\x00", "has the unknown escape sequence \"\\x\" (for a backslash write \"\\\\\")"},
    {"/bin/grep \\400", "has the unknown escape sequence \"\\4\" (for a backslash write \"\\\\\")"},
    {"/bin/grep \\08", "has the unknown escape sequence \"\\0\" (for a backslash write \"\\\\\")"},
    {"/bin/grep \\ud800",
     "has the unknown escape sequence \"\\u\" (for a backslash write \"\\\\\")"},
    {"/bin/grep \\U00110000",
     "has the unknown escape sequence \"\\U\" (for a backslash write \"\\\\\")"},
    {"/bin/grep \\xff", "has escapes that are not valid UTF-8"},
};

Test(exec, refused) {
        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                g_autofree char *message = NULL;
                char **argv = NULL;

                cr_expect_eq(exec_split(bad[i].text, &argv, &message), -EINVAL, "%s", bad[i].text);
                cr_expect_null(argv);
                cr_assert_not_null(message, "%s", bad[i].text);
                cr_expect_str_eq(message, bad[i].message);
        }
}

Test(exec, path) {
        static const struct {
                const char *path, *fault;
        } paths[] = {
            {"/bin/true", NULL},
            {"+/bin/true",
             "begins with ExecStart='s prefix \"+\", which is not possible for a job"},
            {"!!/bin/true",
             "begins with ExecStart='s prefix \"!\", which is not possible for a job"},
            {"@/bin/true",
             "begins with ExecStart='s prefix \"@\", which is not possible for a job"},
            {"-/bin/true",
             "begins with ExecStart='s prefix \"-\", which is not possible for a job"},
            {":/bin/true",
             "begins with ExecStart='s prefix \":\", which is not possible for a job"},
            {"true", "must begin with an absolute path, not \"true\""},
            {"", "must begin with an absolute path, not \"\""},
            {"/bin/", "must begin with the path of a program, not \"/bin/\""},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
                g_autofree char *fault = exec_path_fault(paths[i].path);

                if (paths[i].fault)
                        cr_expect_str_eq(fault, paths[i].fault);
                else
                        cr_expect_null(fault, "%s", fault);
        }
}

/* What only a shell understands, and what merely looks like it. */
Test(exec, shell_syntax) {
        static const struct {
                const char *text, *syntax;
        } lines[] = {
            {"/bin/true > /dev/null 2>&1", ">"},
            {"/bin/true 2>&1", "2>&1"},
            {"/bin/true >>/var/log/x", ">>/var/log/x"},
            {"/bin/true &>/dev/null", "&>/dev/null"},
            {"/bin/cat </etc/passwd", "</etc/passwd"},
            {"/bin/a | /bin/b", "|"},
            {"/bin/a && /bin/b", "&&"},
            {"/bin/a || /bin/b", "||"},
            {"/bin/a; /bin/b", "/bin/a;"},
            {"/bin/a ; /bin/b", ";"},
            {"/bin/sleep 5 &", "&"},
            {"/bin/echo $(date)", "$("},
            {"/bin/dump -f \"/backup/$(date +%F).sql\"", "$("},
            {"/bin/echo `date`", "`"},
            {"/bin/rm /tmp/*.log", "/tmp/*.log"},
            {"/bin/ls ~/x", "~/x"},
            {"cd /srv && make", "&&"},
            {"/bin/echo a ${HOME} $HOME", NULL},
            {"/bin/sh -c 'a | b > c'", NULL},
            {"/bin/sh -c \"echo $(date) && b\"", NULL},
            {"/usr/bin/ssh host \"echo $(date)\"", NULL},
            {"/bin/grep '|' x", NULL},
            {"/bin/echo \\> x", NULL},
            {"/bin/echo '$(x)'", NULL},
            {"/bin/ls /srv/'a b'/*.log", NULL},
            {"/usr/bin/curl http://x/?a=1&b=2", NULL},
            {"/usr/bin/rsync --exclude=*.o a b", NULL},
            {"/bin/find /x -name x -exec rm {} \\;", NULL},
            {"/bin/echo a|b ~ -5 <(x)", NULL},
            {"", NULL},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
                g_autofree char *syntax = exec_shell_syntax(lines[i].text);

                if (lines[i].syntax)
                        cr_expect_str_eq(syntax ? syntax : "", lines[i].syntax, "%s: %s",
                                         lines[i].text, syntax);
                else
                        cr_expect_null(syntax, "%s: %s", lines[i].text, syntax);
        }
}

Test(exec, as_a_shell_would_get_it) {
        g_autofree char *list = exec_in_shell("a \"b\" \\c");
        g_autofree char *long_line = g_strnfill(EXEC_SHOWN_MAX + 1, 'x');
        g_autofree char *long_list = exec_in_shell(long_line);

        cr_expect_str_eq(list, "[/bin/sh, -c, \"a \\\"b\\\" \\\\c\"]");
        cr_expect_str_eq(long_list, "[/bin/sh, -c, \"...\"]");
}

/* Whether a machine's journal can be followed, and how its entries are written. */
#include <criterion/criterion.h>
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "journal-tail.h"

#define MACHINE "0123456789abcdef0123456789abcdef"
#define NOBODY 65534U

static char *directory;

static void setup(void) {
        directory = g_dir_make_tmp("jobkeeper-tail-XXXXXX", NULL);
        cr_assert_eq(chmod(directory, 0755), 0);
}

static void teardown(void) {
        g_autofree char *machine = g_build_filename(directory, MACHINE, NULL),
                        *file = g_build_filename(machine, "system.journal", NULL);

        cr_assert_eq(seteuid(getuid()), 0);
        (void)g_unlink(file);
        (void)g_rmdir(machine);
        (void)g_rmdir(directory);
        g_free(directory);
}

TestSuite(journal_tail, .init = setup, .fini = teardown);

static void make_journal(mode_t mode) {
        g_autofree char *machine = g_build_filename(directory, MACHINE, NULL),
                        *file = g_build_filename(machine, "system.journal", NULL);

        cr_assert_eq(g_mkdir(machine, 0755), 0);
        cr_assert(g_file_set_contents(file, "", 0, NULL));
        cr_assert_eq(chmod(file, mode), 0);
}

static int check(const char *machine) {
        const char *const directories[] = {"/nonexistent", directory, NULL};

        return journal_tail_check(directories, machine);
}

Test(journal_tail, one_of_the_directories_has_it) {
        cr_expect_eq(check(MACHINE), -ENOENT);
        make_journal(0600);
        cr_expect_eq(check(MACHINE), 0);
        cr_expect_eq(check("f123456789abcdef0123456789abcdef"), -ENOENT, "another machine's");
}

/* Root may read everything, whatever the mode. */
Test(journal_tail, what_may_not_be_read_is_told_from_what_is_not_there) {
        make_journal(0);
        if (geteuid() == 0)
                cr_assert_eq(seteuid(NOBODY), 0);
        cr_expect_eq(check(MACHINE), -EACCES);
        cr_expect_eq(
            journal_tail_check((const char *const[]){directory, "/nonexistent", NULL}, MACHINE),
            -EACCES, "whichever is looked at last");
}

static void expect_written(const char *message, size_t size, const char *line_break,
                           const char *expected, size_t expected_size, bool terminal) {
        char *text = NULL;
        size_t length = 0;
        FILE *out = open_memstream(&text, &length);

        cr_assert_not_null(out);
        journal_tail_write(out, message, size, line_break, terminal);
        (void)fclose(out);
        cr_expect_eq(length, expected_size);
        cr_expect_eq(memcmp(text, expected, MIN(length, expected_size)), 0, "%s", text);
        free(text);
}

#define EXPECT_WRITTEN(message, line_break, expected)                                              \
        expect_written((message), sizeof(message) - 1, (line_break), (expected),                   \
                       sizeof(expected) - 1, false)

Test(journal_tail, a_message_is_a_line_as_it_is) {
        EXPECT_WRITTEN("MESSAGE=hello", NULL, "hello\n");
        EXPECT_WRITTEN("MESSAGE=", NULL, "\n");
        EXPECT_WRITTEN("MESSAGE=\x1b[1m\xff\0 x=MESSAGE=y", NULL, "\x1b[1m\xff\0 x=MESSAGE=y\n");
        EXPECT_WRITTEN("MESSAGE=two\nlines", "_LINE_BREAK=nul", "two\nlines\n");
        EXPECT_WRITTEN("MESSAGE=the end", "_LINE_BREAK=eof", "the end\n");
        EXPECT_WRITTEN("MESS", NULL, "");
}

Test(journal_tail, the_parts_of_a_long_line_are_joined) {
        EXPECT_WRITTEN("MESSAGE=a part", "_LINE_BREAK=line-max", "a part");
}

/* A job that is another user's has no say over root's terminal. */
Test(journal_tail, a_terminal_is_not_steered) {
        static const char message[] = "MESSAGE=\x1b]0;owned\x07\x1b[2Ja\tb\xff\0c\xe2\x80\xae\nd",
                          shown[] = "?]0;owned??[2Ja\tb\xef\xbf\xbd?c?\nd\n";

        expect_written(message, sizeof message - 1, NULL, shown, sizeof shown - 1, true);
}

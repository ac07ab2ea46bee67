/* Files that are left for the next process: what is believed, and what is set aside. */
#include "state-file.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rubbish.h"
#include "temporary-tree.h"

#define MOST 64

static bool simple; /* a file system that does not know RENAME_NOREPLACE */

/* In the place of the library's. */
int stand_in_for_renameat2(int old_directory, const char *old, int new_directory, const char *new,
                           unsigned flags) __asm__("renameat2");
int stand_in_for_renameat2(int old_directory, const char *old, int new_directory, const char *new,
                           unsigned flags) {
        if (simple && flags) {
                errno = EINVAL;
                return -1;
        }
        return (int)syscall(SYS_renameat2, old_directory, old, new_directory, new, flags);
}

static char *root, *path;

static void setup_file(void) {
        root = tree_make();
        path = tree_path(root, "file");
}

static void teardown_file(void) {
        tree_remove(root);
        g_clear_pointer(&root, g_free);
        g_clear_pointer(&path, g_free);
}

TestSuite(state_file, .init = setup_file, .fini = teardown_file);

static int read_it(char **ret_text) {
        return state_file_read(path, MOST, ret_text, NULL);
}

Test(state_file, reads_what_is_ours_whole) {
        g_autofree char *text = NULL, *all = NULL, *most = g_strnfill(MOST, 'x');
        size_t size = 0;

        cr_expect_eq(read_it(&text), -ENOENT);
        tree_write(root, "file", "a\nb\n");
        cr_assert_eq(read_it(&text), 0);
        cr_expect_str_eq(text, "a\nb\n");
        tree_write(root, "file", most);
        cr_assert_eq(state_file_read(path, MOST, &all, &size), 0);
        cr_expect_eq(size, MOST);
        cr_expect_str_eq(all, most);
}

Test(state_file, nuls_are_no_text) {
        g_autofree char *text = NULL;
        size_t size = 0;

        cr_assert(g_file_set_contents(path, "a\0b", 3, NULL));
        cr_expect_eq(read_it(&text), -EBADMSG);
        cr_expect_null(text);
        cr_assert_eq(state_file_read(path, MOST, &text, &size), 0);
        cr_expect_eq(size, 3);
}

/* Nothing of it is waited for. */
Test(state_file, believes_nothing_else, .timeout = 30) {
        static const struct {
                Rubbish kind;
                int error;
        } cases[] = {
            {RUBBISH_LENGTH, -EFBIG},   {RUBBISH_DIRECTORY, -EBADMSG}, {RUBBISH_FIFO, -EBADMSG},
            {RUBBISH_SOCKET, -EBADMSG}, {RUBBISH_LINK, -ELOOP},        {RUBBISH_DANGLING, -ELOOP},
            {RUBBISH_OTHERS, -EPERM},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = NULL;

                if (cases[i].kind == RUBBISH_OTHERS && geteuid() != 0)
                        continue;
                rubbish_put(root, "file", cases[i].kind);
                cr_expect_eq(read_it(&text), cases[i].error, "%s", rubbish_word(cases[i].kind));
                cr_expect_null(text);
                cr_assert_eq(state_file_set_aside(path), 0);
                tree_remove(root);
                cr_assert_eq(g_mkdir(root, 0700), 0);
        }
}

static void expect_a_few_set_aside(void) {
        static const char *const names[] = {"file.damaged", "file.damaged-2", "file.damaged-3"};
        static const char *const texts[] = {"1", "2", "3", "4", "5"};

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
                tree_write(root, "file", texts[i]);
                cr_expect_eq(state_file_set_aside(path), i >= G_N_ELEMENTS(names));
                cr_expect_not(g_file_test(path, G_FILE_TEST_EXISTS));
        }
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                g_autofree char *aside = tree_path(root, names[i]), *text = NULL;

                cr_assert(g_file_get_contents(aside, &text, NULL, NULL));
                cr_expect_str_eq(text, texts[i]);
        }
        cr_expect_eq(state_file_set_aside(path), -ENOENT);
        cr_assert_eq(g_mkdir(path, 0700), 0);
        cr_expect_eq(state_file_set_aside(path), -EISDIR);
        cr_expect(g_file_test(path, G_FILE_TEST_IS_DIR));
}

Test(state_file, sets_aside_a_few_and_no_more) {
        simple = false;
        expect_a_few_set_aside();
}

Test(state_file, sets_aside_a_few_on_a_simple_file_system) {
        simple = true;
        expect_a_few_set_aside();
}

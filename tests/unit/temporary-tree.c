/* See temporary-tree.h. */
#include "temporary-tree.h"

#include <criterion/criterion.h>
#include <glib/gstdio.h>
#include <sys/stat.h>

char *tree_make(void) {
        char *root = g_dir_make_tmp("jobkeeper-test-XXXXXX", NULL);

        cr_assert_not_null(root);
        return root;
}

char *tree_path(const char *root, const char *name) {
        char *path = g_build_filename(root, name, NULL);
        g_autofree char *directory = g_path_get_dirname(path);

        cr_assert_eq(g_mkdir_with_parents(directory, 0755), 0);
        return path;
}

void tree_write(const char *root, const char *name, const char *text) {
        g_autofree char *path = tree_path(root, name);

        cr_assert(g_file_set_contents(path, text, -1, NULL));
        cr_assert_eq(chmod(path, 0644), 0);
}

void tree_link(const char *root, const char *name, const char *target) {
        g_autofree char *path = tree_path(root, name);

        cr_assert_eq(symlink(target, path), 0);
}

void tree_delete(const char *root, const char *name) {
        g_autofree char *path = tree_path(root, name);

        cr_assert_eq(unlink(path), 0);
}

void tree_remove(const char *path) {
        GDir *directory =
            g_file_test(path, G_FILE_TEST_IS_SYMLINK) ? NULL : g_dir_open(path, 0, NULL);
        const char *name;

        while (directory && (name = g_dir_read_name(directory))) {
                g_autofree char *entry = g_build_filename(path, name, NULL);

                tree_remove(entry);
        }
        if (directory)
                g_dir_close(directory);
        cr_expect_eq(g_remove(path), 0, "%s", path);
}

char *tree_strip(const char *root, const char *text) {
        g_auto(GStrv) parts = g_strsplit(text, root, -1);

        return g_strjoinv("ROOT", parts);
}

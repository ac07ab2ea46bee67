/* More job files than JOB_FILES_MAX. A program of its own, because GLib leaks its table of interned
 * strings on purpose whenever it grows past another 2048 of them, and LeakSanitizer would say so.
 */
#include "expect-errors.h"
#include "temporary-tree.h"

#include "job-files.h"

int __lsan_is_turned_off(void);

int __lsan_is_turned_off(void) {
        return 1;
}

Test(job_files_limit, too_many_files) {
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        g_autofree char *root = tree_make();
        g_auto(GStrv) directories = job_directories(root);
        g_auto(GStrv) lines = NULL;
        g_autofree char *line = NULL;
        g_autoptr(GPtrArray) files = NULL;

        for (unsigned file = 0; file <= JOB_FILES_MAX; file++) {
                g_autofree char *name = g_strdup_printf("etc/jobkeeper/jobs.d/%04u.yaml", file);

                tree_write(root, name, "");
        }
        cr_assert_eq(job_files_load((const char *const *)directories, diagnostics, &files), 0);
        cr_expect_eq(files->len, JOB_FILES_MAX);
        lines = diagnostics_to_strv(diagnostics);
        cr_assert_eq(g_strv_length(lines), 1);
        line = tree_strip(root, lines[0]);
        cr_expect_str_eq(line, "ROOT/etc/jobkeeper/jobs.d/4096.yaml: error: is ignored, and so are "
                               "all that follow: there are more than 4096 job files");
        tree_remove(root);
}

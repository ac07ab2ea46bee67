/* More job files than JOB_FILES_MAX, and more jobs than JOBS_MAX. A program of its own, because
 * GLib leaks its table of interned strings on purpose whenever it grows past another 2048 of them,
 * and LeakSanitizer would say so.
 */
#include "expect-errors.h"
#include "temporary-tree.h"

#include "job-files.h"
#include "jobset.h"

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

        for (unsigned file = 0; file < JOB_FILES_MAX + 2; file++) {
                g_autofree char *name = g_strdup_printf("etc/jobkeeper/jobs.d/%04u.yaml", file);

                tree_write(root, name, "jobs:\n");
        }
        cr_assert_eq(job_files_load((const char *const *)directories, diagnostics, &files), 0);
        cr_expect_eq(files->len, JOB_FILES_MAX + 2);
        cr_expect(((const JobFile *)files->pdata[JOB_FILES_MAX - 1])->good);
        for (guint i = JOB_FILES_MAX; i < files->len; i++) {
                const JobFile *file = files->pdata[i];

                cr_expect(!file->good && file->jobs->len == 0, "%s", file->name);
        }
        lines = diagnostics_to_strv(diagnostics);
        cr_assert_eq(g_strv_length(lines), 1);
        line = tree_strip(root, lines[0]);
        cr_expect_str_eq(line, "ROOT/etc/jobkeeper/jobs.d/4096.yaml: error: is refused, and so are "
                               "all that follow: there are more than 4096 job files");
        tree_remove(root);
}

static char *directory;
static JobSet *set;
static const DaemonConfig config = {.fence_budget = 8 * USEC_PER_SEC,
                                    .kill_slack = 2 * USEC_PER_SEC};

static void setup(void) {
        directory = tree_make();
        set = jobset_new();
}

static void teardown(void) {
        set = jobset_free(set);
        tree_remove(directory);
        g_free(directory);
}

TestSuite(jobs_limit, .init = setup, .fini = teardown);

/* Writes a file of `count` jobs, called after `prefix` and a number, with this text in each. */
static void write_many(const char *file, const char *prefix, unsigned count, const char *keys) {
        g_autofree char *name = g_strconcat("jobs.d/", file, NULL);
        g_autoptr(GString) text = g_string_new("jobs:\n");

        for (unsigned i = 0; i < count; i++)
                g_string_append_printf(text, " %s%u: {exec: /a%s}\n", prefix, i, keys);
        tree_write(directory, name, text->str);
}

/* Loads, and expects that many jobs and the first error, with ROOT for the root. */
static void expect_load(unsigned jobs, const char *error) {
        g_autofree char *path = g_build_filename(directory, "jobs.d", NULL), *got = NULL;
        const char *const directories[] = {path, NULL};

        cr_assert_eq(jobset_load(set, directories, &config), 0);
        cr_expect_eq(jobset_size(set), jobs, "%u jobs, not %u", jobset_size(set), jobs);
        got = tree_strip(directory, jobset_errors(set)[0] ? jobset_errors(set)[0] : "");
        cr_expect_str_eq(got, error);
}

#define BEYOND(file, jobs)                                                                         \
        "ROOT/jobs.d/" file ": error: is refused as a whole: with the " jobs                       \
        " jobs in it there would be more than 10000 jobs"

/* Whatever their names: files that come first by name take nobody's room. */
Test(jobs_limit, what_is_in_force_keeps_its_room) {
        write_many("good.yaml", "good", 3, "");
        expect_load(3, "");
        write_many("00-a.yaml", "a", 6000, "");
        write_many("01-b.yaml", "b", 6000, "");
        expect_load(6003, BEYOND("01-b.yaml", "6000"));
        cr_expect_not_null(jobset_find(set, "good2"));
        cr_expect_null(jobset_find(set, "b0"));
        write_many("01-b.yaml", "b", 3997, "");
        expect_load(10000, "");
        write_many("good.yaml", "good", 4, "");
        expect_load(10000, BEYOND("good.yaml", "4"));
        cr_expect_not_null(jobset_find(set, "good2"));
        write_many("01-b.yaml", "b", 3996, "");
        expect_load(10000, "");
        cr_expect_not_null(jobset_find(set, "good3"));
}

/* Nobody has any room yet: it is given out in the order of the names, a file at a time. */
Test(jobs_limit, a_first_load_refuses_whole_files) {
        write_many("a.yaml", "a", 6000, "");
        write_many("b.yaml", "b", 6000, "");
        write_many("c.yaml", "c", 4000, "");
        write_many("d.yaml", "d", 1, "");
        expect_load(10000, BEYOND("b.yaml", "6000"));
        cr_expect_not_null(jobset_find(set, "c3999"));
        cr_expect_null(jobset_find(set, "d0"));
        cr_expect_str_eq(jobset_unloaded(set)[0], "b.yaml");
        cr_expect_str_eq(jobset_unloaded(set)[1], "d.yaml");
}

/* That a job could not be stopped in time is found out after its file was read. */
Test(jobs_limit, jobs_that_are_refused_take_no_room) {
        for (unsigned i = 0; i < 3; i++) {
                g_autofree char *name = g_strdup_printf("0%u.yaml", i),
                                *prefix = g_strdup_printf("x%u-", i);

                write_many(name, prefix, 6000, ", stop-timeout: 7s");
        }
        write_many("good.yaml", "good", 6000, "");
        expect_load(6000, "ROOT/jobs.d/00.yaml:2:33: error: job \"x0-0\" could not be stopped in "
                          "time: stop-timeout 7s + kill-slack 2s = 9s, more than the fence-budget "
                          "8s: set \"stop-timeout\" to 6s or less");
}

/* A file may be renamed, and its jobs may move to others: what went leaves its room. */
Test(jobs_limit, jobs_that_move_take_their_room_with_them) {
        write_many("a.yaml", "a", 6000, "");
        write_many("b.yaml", "b", 4000, "");
        expect_load(10000, "");
        tree_delete(directory, "jobs.d/a.yaml");
        write_many("z.yaml", "a", 6000, "");
        expect_load(10000, "");
        write_many("z.yaml", "b", 4000, "");
        write_many("b.yaml", "a", 6000, "");
        expect_load(10000, "");
}

/* What a broken file last had stays, and is counted; so is what stands in two files. */
Test(jobs_limit, what_stays_in_spite_of_errors_is_counted) {
        write_many("a.yaml", "a", 6000, "");
        write_many("b.yaml", "b", 4000, "");
        expect_load(10000, "");
        tree_write(directory, "jobs.d/a.yaml", "jobs: [\n");
        write_many("0.yaml", "c", 1, "");
        write_many("1.yaml", "b", 1, "");
        write_many("b.yaml", "b", 4001, "");
        expect_load(10000, BEYOND("0.yaml", "1"));
        cr_expect_null(jobset_find(set, "c0"));
        cr_expect_null(jobset_find(set, "b4000"));
}

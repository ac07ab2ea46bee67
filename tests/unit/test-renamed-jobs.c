/* `was` over all files: of one that is defined still, and of one that several had. */
#include "renamed-jobs.h"

#include "jobset.h"
#include "temporary-tree.h"

#include <criterion/criterion.h>
#include <string.h>

#define ETC "etc/jobkeeper/jobs.d/"
#define PLACE "ROOT/etc/jobkeeper/jobs.d/"

static char *root;
static JobSet *set;
static DaemonConfig config;

static void begin_renamed(void) {
        root = tree_make();
        set = jobset_new();
        config = (DaemonConfig){.fence_budget = 8 * USEC_PER_SEC, .kill_slack = 2 * USEC_PER_SEC};
}

static void end_renamed(void) {
        set = jobset_free(set);
        tree_remove(root);
        g_free(root);
}

TestSuite(renamed_jobs, .init = begin_renamed, .fini = end_renamed);

/* A file of jobs, "NAME", or "NAME OLD" for one that was OLD. */
static void write_jobs(const char *file, const char *const *jobs) {
        g_autoptr(GString) text = g_string_new("jobs:\n");
        g_autofree char *path = g_strconcat(ETC, file, NULL);

        for (; *jobs; jobs++) {
                g_auto(GStrv) parts = g_strsplit(*jobs, " ", 2);
                g_string_append_printf(text, "  %s: {exec: /bin/true%s%s}\n", parts[0],
                                       parts[1] ? ", was: " : "", parts[1] ? parts[1] : "");
        }
        tree_write(root, path, text->str);
}

#define WRITE(file, ...) write_jobs(file, (const char *const[]){__VA_ARGS__, NULL})

/* Loads, and expects jobs as "NAME NAME", and errors. */
static void expect_jobs(const char *jobs, const char *errors) {
        g_auto(GStrv) directories = job_directories(root);
        g_autoptr(GString) text = g_string_new(NULL);
        g_autofree char *joined = NULL, *stripped = NULL;

        cr_assert_eq(jobset_load(set, (const char *const *)directories, &config), 0);
        for (guint i = 0; i < jobset_size(set); i++)
                g_string_append_printf(text, "%s%s", i > 0 ? " " : "", jobset_get(set, i)->name);
        cr_expect_str_eq(text->str, jobs, "\n   got: %s\nwanted: %s\n", text->str, jobs);
        joined = g_strjoinv("\n", (char **)jobset_errors(set));
        stripped = tree_strip(root, joined);
        cr_expect_str_eq(stripped, errors, "\n   got: %s\nwanted: %s\n", stripped, errors);
}

Test(renamed_jobs, one_that_is_gone_is_named) {
        WRITE("a.yaml", "new old", "newer new-before");
        expect_jobs("new newer", "");
        cr_expect_str_eq(jobset_find_was(set, "old")->name, "new");
        cr_expect_null(jobset_find_was(set, "new"));
        cr_expect_str_eq(jobset_find_of_run(set, "old")->name, "new");
        cr_expect_str_eq(jobset_find_of_run(set, "new")->name, "new");
        cr_expect_null(jobset_find_of_run(set, "x"));
        cr_expect_null(jobset_definition(set, "old"));
        WRITE("a.yaml", "new", "newer new-before");
        expect_jobs("new newer", "");
        cr_expect_null(jobset_find_was(set, "old"));
}

#define DEFINED(job, was, line, file)                                                              \
        "error: job \"" job "\": \"was\" names \"" was "\", which is defined still, in line " line \
        " of " PLACE file ": take that out, or \"was\" where it is another job; what was in "      \
        "force of \"" job "\" before stays"

Test(renamed_jobs, one_that_is_defined_still_is_not_taken_from) {
        WRITE("a.yaml", "new old");
        WRITE("b.yaml", "other", "old");
        expect_jobs("old other", PLACE "a.yaml:2:31: " DEFINED("new", "old", "3", "b.yaml"));
        WRITE("b.yaml", "other");
        expect_jobs("new other", "");
        WRITE("b.yaml", "other", "old");
        expect_jobs("new old other", PLACE "a.yaml:2:31: " DEFINED("new", "old", "3", "b.yaml"));
}

Test(renamed_jobs, a_circle_is_of_what_is_defined) {
        WRITE("a.yaml", "a b", "b a", "c");
        expect_jobs("c", PLACE "a.yaml:2:29: " DEFINED(
                             "a", "b", "3",
                             "a.yaml") "\n" PLACE "a.yaml:3:29: " DEFINED("b", "a", "2", "a.yaml"));
}

#define SEVERAL(job)                                                                               \
        "error: job \"" job "\": \"was\" names \"old\", and so does that of another job: keep it " \
        "in the one that goes on from there; what was in force of \"" job "\" before stays"

Test(renamed_jobs, two_do_not_go_on_from_one) {
        WRITE("a.yaml", "a old");
        expect_jobs("a", "");
        WRITE("b.yaml", "b old", "c");
        expect_jobs("a c",
                    PLACE "a.yaml:2:29: " SEVERAL("a") "\n" PLACE "b.yaml:2:29: " SEVERAL("b"));
        WRITE("a.yaml", "a");
        expect_jobs("a b c", "");
}

/* It goes on as it last was. */
Test(renamed_jobs, one_of_a_file_with_errors_is_defined) {
        WRITE("a.yaml", "old");
        expect_jobs("old", "");
        tree_write(root, ETC "a.yaml", "jobs:\n  a: {exec: 5}\n");
        WRITE("b.yaml", "new old");
        expect_jobs("old", PLACE "a.yaml:2:13: error: \"exec\" must be a text or a list, not an "
                                 "integer (put it in quotes)\n" PLACE
                                 "b.yaml:2:31: " DEFINED("new", "old", "2", "a.yaml"));
}

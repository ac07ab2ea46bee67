/* `was` over all files: of one that is defined still, and of one that several had. */
#include "renamed-jobs.h"

#include "jobset-fixture.h"
#include "temporary-tree.h"

#include <criterion/criterion.h>
#include <string.h>

#define ETC "etc/jobkeeper/jobs.d/"
#define PLACE "ROOT/etc/jobkeeper/jobs.d/"

static JobFilesScene scene;

static void begin(void) {
        scene_begin(&scene);
}

static void end(void) {
        scene_end(&scene);
}

TestSuite(renamed_jobs, .init = begin, .fini = end);

#define WRITE(file, ...) scene_write(&scene, file, (const char *const[]){__VA_ARGS__, NULL})

Test(renamed_jobs, one_that_is_gone_is_named) {
        WRITE("a.yaml", "new: was: old", "newer: was: new-before");
        scene_expect(&scene, "new newer", "");
        cr_expect_str_eq(jobset_find_was(scene.set, "old")->name, "new");
        cr_expect_null(jobset_find_was(scene.set, "new"));
        cr_expect_str_eq(jobset_find_of_run(scene.set, "old")->name, "new");
        cr_expect_str_eq(jobset_find_of_run(scene.set, "new")->name, "new");
        cr_expect_null(jobset_find_of_run(scene.set, "x"));
        cr_expect_null(jobset_definition(scene.set, "old"));
        WRITE("a.yaml", "new", "newer: was: new-before");
        scene_expect(&scene, "new newer", "");
        cr_expect_null(jobset_find_was(scene.set, "old"));
}

#define DEFINED(job, was, line, file)                                                              \
        "error: job \"" job "\": \"was\" names \"" was "\", which is defined still, in line " line \
        " of " PLACE file ": take that out, or \"was\" where it is another job; what was in "      \
        "force of \"" job "\" before stays"

Test(renamed_jobs, one_that_is_defined_still_is_not_taken_from) {
        WRITE("b.yaml", "other", "old");
        scene_expect(&scene, "old other", "");
        WRITE("a.yaml", "new: was: old");
        scene_expect(&scene, "old other",
                     PLACE "a.yaml:2:31: " DEFINED("new", "old", "3", "b.yaml"));
        WRITE("b.yaml", "other");
        scene_expect(&scene, "new other", "");
        WRITE("a.yaml", "new: was: old", "old");
        scene_expect(&scene, "new old other",
                     PLACE "a.yaml:2:31: " DEFINED("new", "old", "3", "a.yaml"));
}

#define TAKEN(job, by, line, file)                                                                 \
        "error: job \"" job "\" has the name that job \"" by "\" had before, as \"was\" says in "  \
        "line " line " of " PLACE file                                                             \
        ": give it another one, or take that out; it does not take effect"

/* No file takes a good job of another one down. */
Test(renamed_jobs, a_new_one_does_not_take_the_name_that_one_had) {
        WRITE("a.yaml", "new: was: old");
        scene_expect(&scene, "new", "");
        WRITE("b.yaml", "other", "old");
        scene_expect(&scene, "new other", PLACE "b.yaml:3:3: " TAKEN("old", "new", "2", "a.yaml"));
        cr_expect_str_eq(jobset_find_was(scene.set, "old")->name, "new");
        scene_expect(&scene, "new other", PLACE "b.yaml:3:3: " TAKEN("old", "new", "2", "a.yaml"));
        tree_write(scene.root, ETC "a.yaml", "jobs:\n  new: {exec: 5}\n");
        scene_expect(&scene, "new other",
                     PLACE "a.yaml:2:15: error: \"exec\" must be a text or a list, not an "
                           "integer (put it in quotes)\n" PLACE
                           "b.yaml:3:3: " TAKEN("old", "new", "2", "a.yaml"));
        WRITE("a.yaml", "new");
        scene_expect(&scene, "new old other", "");
}

/* Nor after a restart, when nothing is in force yet. */
Test(renamed_jobs, nor_at_a_first_load) {
        WRITE("a.yaml", "old");
        WRITE("b.yaml", "new: was: old");
        scene_expect(&scene, "new", PLACE "a.yaml:2:3: " TAKEN("old", "new", "2", "b.yaml"));
}

Test(renamed_jobs, a_circle_is_of_what_is_defined) {
        WRITE("a.yaml", "a: was: b", "b: was: a", "c");
        scene_expect(&scene, "c",
                     PLACE "a.yaml:2:29: " DEFINED(
                         "a", "b", "3", "a.yaml") "\n" PLACE
                                                  "a.yaml:3:29: " DEFINED("b", "a", "2", "a.yaml"));
}

Test(renamed_jobs, a_circle_over_files_is_broken) {
        WRITE("a.yaml", "a: was: b");
        WRITE("b.yaml", "b: was: a");
        scene_expect(&scene, "a", PLACE "b.yaml:2:3: " TAKEN("b", "a", "2", "a.yaml"));
}

#define SEVERAL(job)                                                                               \
        "error: job \"" job "\": \"was\" names \"old\", and so does that of another job: keep it " \
        "in the one that goes on from there; the job takes effect without that"

Test(renamed_jobs, two_do_not_go_on_from_one) {
        WRITE("a.yaml", "a: was: old");
        scene_expect(&scene, "a", "");
        WRITE("b.yaml", "b: was: old", "c");
        scene_expect(&scene, "a b c", PLACE "b.yaml:2:29: " SEVERAL("b"));
        cr_expect_str_eq(jobset_find_was(scene.set, "old")->name, "a");
        scene_expect(&scene, "a b c", PLACE "b.yaml:2:29: " SEVERAL("b"));
        cr_expect_str_eq(jobset_find_was(scene.set, "old")->name, "a");
        WRITE("a.yaml", "a");
        scene_expect(&scene, "a b c", "");
        cr_expect_str_eq(jobset_find_was(scene.set, "old")->name, "b");
}

Test(renamed_jobs, where_neither_did_before_neither_does) {
        WRITE("a.yaml", "a: was: old");
        WRITE("b.yaml", "b: was: old", "c");
        scene_expect(&scene, "a b c",
                     PLACE "a.yaml:2:29: " SEVERAL("a") "\n" PLACE "b.yaml:2:29: " SEVERAL("b"));
        cr_expect_null(jobset_find_was(scene.set, "old"));
}

/* What is not in force, and will not be, is no job that stands in the way. */
Test(renamed_jobs, one_of_a_file_that_was_never_good_is_not_defined) {
        WRITE("b.yaml", "new: was: old");
        tree_write(scene.root, ETC "a.yaml",
                   "jobs:\n  a: {exec: 5}\n  old: {exec: [/bin/true]}\n"
                   "  newer: {exec: [/bin/true], was: old}\n");
        scene_expect(&scene, "new",
                     PLACE "a.yaml:2:13: error: \"exec\" must be a text or a list, not an "
                           "integer (put it in quotes)");
        cr_expect_str_eq(jobset_find_was(scene.set, "old")->name, "new");
}

/* It goes on as it last was. */
Test(renamed_jobs, one_of_a_file_with_errors_is_defined) {
        WRITE("a.yaml", "old");
        scene_expect(&scene, "old", "");
        tree_write(scene.root, ETC "a.yaml", "jobs:\n  a: {exec: 5}\n");
        WRITE("b.yaml", "new: was: old");
        scene_expect(&scene, "old",
                     PLACE "a.yaml:2:13: error: \"exec\" must be a text or a list, not an "
                           "integer (put it in quotes)\n" PLACE
                           "b.yaml:2:31: " DEFINED("new", "old", "2", "a.yaml"));
}

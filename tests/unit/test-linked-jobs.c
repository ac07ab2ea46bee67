/* The links between jobs over all files: circles, names that nobody has, and who follows whom. */
#include "job-circle.h"
#include "jobset-fixture.h"
#include "linked-jobs.h"
#include "temporary-tree.h"
#include "work-time.h"

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

TestSuite(linked_jobs, .init = begin, .fini = end);

#define WRITE(file, ...) scene_write(&scene, file, (const char *const[]){__VA_ARGS__, NULL})

static void expect_after(const char *name, const char *jobs) {
        const GPtrArray *after = jobset_after(scene.set, name);
        g_autoptr(GString) text = g_string_new(NULL);

        for (guint i = 0; after && i < after->len; i++)
                g_string_append_printf(text, "%s%s", i > 0 ? " " : "",
                                       ((const JobSpec *)after->pdata[i])->name);
        cr_expect_str_eq(text->str, jobs, "%s: got %s, wanted %s", name, text->str, jobs);
}

Test(linked_jobs, who_follows_whom) {
        WRITE("a.yaml", "a", "c: after: [a, {job: b, on: any}]", "b: after: a");
        WRITE("b.yaml", "d: after: {job: a, on: failure}", "e: on-failure: a");
        scene_expect(&scene, "a b c d e", "");
        expect_after("a", "b c d");
        expect_after("b", "c");
        expect_after("c", "");
        expect_after("e", "");
        WRITE("a.yaml", "a", "b");
        scene_expect(&scene, "a b d e", "");
        expect_after("a", "d");
}

Test(linked_jobs, a_job_that_is_not_there_is_told_and_the_rest_runs) {
        WRITE("a.yaml", "orders", "b: after: oders, on-failure: mial, on-recovery: zzzzzz");
        scene_expect(
            &scene, "b orders",
            PLACE
            "a.yaml:3:31: error: job \"b\": \"after\" names \"oders\", and there is no such "
            "job (did you mean \"orders\"?): write the name of one that is defined; the job "
            "takes effect without that\n" PLACE
            "a.yaml:3:50: error: job \"b\": \"on-failure\" names \"mial\", and there is no "
            "such job: write the name of one that is defined; the job takes effect without "
            "that\n" PLACE
            "a.yaml:3:69: error: job \"b\": \"on-recovery\" names \"zzzzzz\", and there is no "
            "such job: write the name of one that is defined; the job takes effect without that");
        WRITE("z.yaml", "oders", "mial", "zzzzzz");
        scene_expect(&scene, "b mial oders orders zzzzzz", "");
}

#define EACH(key)                                                                                  \
        "\"" key                                                                                   \
        "\" names \"roll\", which is of mode each-node, a job of its own on every node: name "     \
        "one of mode once; the job takes effect without that"

/* On this node, or on others. */
Test(linked_jobs, one_that_is_on_every_node_is_not_followed) {
        static const char *const nodes[] = {"n1", "n2"};

        scene.config.node_name = (char *)"n1";
        for (size_t i = 0; i < G_N_ELEMENTS(nodes); i++) {
                g_autofree char *roll =
                    g_strdup_printf("roll: mode: each-node, on-failure: a, nodes: %s", nodes[i]);

                WRITE("a.yaml", "a: after: roll, on-failure: roll", roll);
                scene_expect(&scene, i == 0 ? "a roll@n1" : "a",
                             PLACE "a.yaml:2:31: error: job \"a\": " EACH(
                                 "after") "\n" PLACE
                                          "a.yaml:2:49: error: job \"a\": " EACH("on-failure"));
        }
}

/* It has neither an end that others could follow nor a beginning that they could ask for. */
Test(linked_jobs, a_service_is_not_followed) {
        WRITE("a.yaml", "a: after: web, on-failure: web", "web: mode: service");
        scene_expect(&scene, "a web",
                     PLACE "a.yaml:2:31: error: job \"a\": \"after\" names \"web\", which is of "
                           "mode service, and neither runs after others nor has an end that could "
                           "be followed: name one of mode once; the job takes effect without "
                           "that\n" PLACE
                           "a.yaml:2:48: error: job \"a\": \"on-failure\" names \"web\", which is "
                           "of mode service, and neither runs after others nor has an end that "
                           "could be followed: name one of mode once; the job takes effect without "
                           "that");
}

/* What stands in a file with an error is no further error elsewhere. */
Test(linked_jobs, one_of_a_file_with_errors_is_there) {
        tree_write(scene.root, ETC "a.yaml", "jobs:\n  a: {exec: 5}\n");
        WRITE("b.yaml", "b: after: a");
        scene_expect(&scene, "b",
                     PLACE "a.yaml:2:13: error: \"exec\" must be a text or a list, not an "
                           "integer (put it in quotes)");
}

#define CIRCLE(job, text)                                                                          \
        "error: job \"" job "\" is in a circle that would never end: " text                        \
        ": take one of these links out; what was in force of the job before stays"

Test(linked_jobs, a_circle_does_not_take_effect) {
        WRITE("a.yaml", "a: after: c", "b: after: a, on-failure: c", "c", "d: after: b");
        scene_expect(
            &scene, "d",
            PLACE "a.yaml:2:31: " CIRCLE("a", "a → b → c → a") "\n" PLACE "a.yaml:3:31: " CIRCLE(
                "b", "a → b → c → a") "\n" PLACE "a.yaml:4:3: " CIRCLE("c", "a → b → c → a"));
}

Test(linked_jobs, a_circle_may_lead_through_what_is_waited_for_together) {
        WRITE("a.yaml", "a: after: {all: [x, b]}", "b: after: {any: [a]}", "x");
        scene_expect(&scene, "x",
                     PLACE "a.yaml:2:41: " CIRCLE(
                         "a", "a → b → a") "\n" PLACE "a.yaml:3:38: " CIRCLE("b", "a → b → a"));
}

Test(linked_jobs, what_was_in_force_stays) {
        WRITE("a.yaml", "a", "b: after: a");
        WRITE("c.yaml", "c: after: b");
        scene_expect(&scene, "a b c", "");
        WRITE("a.yaml", "a: on-recovery: c", "b: after: c, on-recovery: a");
        WRITE("c.yaml", "c: on-failure: b");
        scene_expect(
            &scene, "a b c",
            PLACE "a.yaml:2:37: " CIRCLE("a", "a → c → b → a") "\n" PLACE "a.yaml:3:31: " CIRCLE(
                "b", "a → c → b → a") "\n" PLACE "c.yaml:2:36: " CIRCLE("c", "a → c → b → a"));
        expect_after("a", "b");
        expect_after("b", "c");
}

/* By itself it is none: the jobs of a.yaml are as they were, because the file is broken. */
Test(linked_jobs, a_circle_with_what_was_in_force) {
        WRITE("a.yaml", "a", "b: after: a");
        WRITE("c.yaml", "c");
        scene_expect(&scene, "a b c", "");
        tree_write(scene.root, ETC "a.yaml", "jobs: {a: {exec: 5}}\n");
        WRITE("c.yaml", "c: after: b, on-failure: a");
        scene_expect(&scene, "a b c",
                     PLACE "a.yaml:1:18: error: \"exec\" must be a text or a list, not an "
                           "integer (put it in quotes)\n" PLACE
                           "c.yaml:2:31: " CIRCLE("c", "a → b → c → a"));
        expect_after("b", "");
}

/* At the first start nothing was in force: whoever names others' jobs may not switch them off. */
Test(linked_jobs, a_file_that_closes_a_circle_takes_no_other_down) {
        WRITE("good.yaml", "backup", "verify: after: backup");
        WRITE("common.yaml", "mail: after: {job: verify, on: failure}");
        WRITE("evil.yaml", "z: after: mail, on-failure: backup");
        scene_expect(&scene, "backup mail verify",
                     PLACE "evil.yaml:2:31: " CIRCLE("z", "backup → verify → mail → z → backup"));
        expect_after("backup", "verify");
}

/* Both say a link of it. */
Test(linked_jobs, whoever_names_each_other_ties_it_together) {
        WRITE("a.yaml", "a: on-failure: b", "c: after: a");
        WRITE("b.yaml", "b: on-failure: a");
        scene_expect(&scene, "c",
                     PLACE "a.yaml:2:36: " CIRCLE(
                         "a", "a → b → a") "\n" PLACE "b.yaml:2:36: " CIRCLE("b", "a → b → a"));
}

/* The daemon does nothing else meanwhile. */
Test(linked_jobs, so_many_circles_as_a_file_can_have) {
        GString *text = g_string_new("jobs:\n");
        usec_t begun;

        for (unsigned i = 0; i < 3900; i++)
                g_string_append_printf(
                    text, " a%04u: {exec: /b, after: b%04u}\n b%04u: {exec: /b, after: a%04u}\n", i,
                    i, i, i);
        tree_write(scene.root, ETC "evil.yaml", text->str);
        g_string_free(text, TRUE);
        WRITE("good.yaml", "good");
        begun = work_time();
        scene_load(&scene);
        cr_expect_lt(work_time() - begun, 5 * USEC_PER_SEC);
        cr_expect_eq(jobset_size(scene.set), 1);
}

/* One slip in "defaults" is one of every job. */
Test(linked_jobs, a_name_that_all_jobs_have_wrong) {
        GString *text = g_string_new("defaults: {on-failure: mial}\njobs:\n");
        usec_t begun;

        for (unsigned i = 0; i < 6000; i++)
                g_string_append_printf(text, " orders-backup-%04u: {exec: /b}\n", i);
        tree_write(scene.root, ETC "a.yaml", text->str);
        g_string_free(text, TRUE);
        begun = work_time();
        scene_load(&scene);
        cr_expect_lt(work_time() - begun, 5 * USEC_PER_SEC);
        cr_expect_eq(jobset_size(scene.set), 6000);
}

/* A chain of all the jobs that there may be is no circle, and no stack ends with it. */
Test(linked_jobs, a_long_chain) {
        GString *text = g_string_new("jobs:\n  j0: {exec: /bin/true}\n");

        for (unsigned i = 1; i < 5000; i++)
                g_string_append_printf(text, "  j%u: {exec: /bin/true, after: j%u}\n", i, i - 1);
        tree_write(scene.root, ETC "a.yaml", text->str);
        g_string_free(text, TRUE);
        {

                scene_load(&scene);
                cr_expect_eq(jobset_size(scene.set), 5000);
                cr_expect_null(jobset_errors(scene.set)[0], "%s", jobset_errors(scene.set)[0]);
        }
}

Test(linked_jobs, so_many_may_follow_one) {
        GString *text = g_string_new("jobs:\n  a: {exec: /bin/true}\n");

        for (unsigned i = 0; i <= JOB_AFTER_MAX; i++)
                g_string_append_printf(text, "  j%02u: {exec: /bin/true, after: a}\n", i);
        tree_write(scene.root, ETC "a.yaml", text->str);
        g_string_free(text, TRUE);
        scene_load(&scene);
        cr_expect_eq(jobset_after(scene.set, "a")->len, JOB_AFTER_MAX);
        cr_assert_not_null(jobset_errors(scene.set)[0]);
        cr_expect_not_null(
            strstr(jobset_errors(scene.set)[0],
                   "a.yaml:67:33: error: job \"j64\" does not run after \"a\", which "
                   "is followed by 64 jobs already: let it follow one of those"),
            "%s", jobset_errors(scene.set)[0]);
        cr_expect_null(jobset_errors(scene.set)[1]);
}

/* Whether the others come later, or at the first start. */
Test(linked_jobs, no_new_file_takes_the_places_of_those_that_follow) {
        GString *text = g_string_new("jobs:\n");
        const GPtrArray *after = NULL;

        WRITE("good.yaml", "backup", "verify: after: backup");
        WRITE("other.yaml", "weekly: after: backup");
        scene_expect(&scene, "backup verify weekly", "");
        for (unsigned i = 0; i < JOB_AFTER_MAX; i++)
                g_string_append_printf(text, "  a%02u: {exec: /bin/true, after: backup}\n", i);
        tree_write(scene.root, ETC "evil.yaml", text->str);
        g_string_free(text, TRUE);
        for (unsigned round = 0; round < 2; round++) {

                scene_load(&scene);
                after = jobset_after(scene.set, "backup");
                cr_expect_eq(after->len, JOB_AFTER_MAX);
                cr_expect(
                    g_ptr_array_find((GPtrArray *)after, jobset_find(scene.set, "verify"), NULL));
                cr_expect_eq(
                    g_ptr_array_find((GPtrArray *)after, jobset_find(scene.set, "weekly"), NULL),
                    round == 0);
                jobset_free(scene.set);
                scene.set = jobset_new();
        }
}

Test(linked_jobs, of_a_large_circle_ten_are_named) {
        GString *text = g_string_new("jobs:\n  j11: {exec: /bin/true, after: j10}\n");

        for (unsigned i = 0; i < 11; i++)
                g_string_append_printf(text, "  j%02u: {exec: /bin/true, after: j%02u}\n", i,
                                       i == 0 ? 11 : i - 1);
        tree_write(scene.root, ETC "a.yaml", text->str);
        g_string_free(text, TRUE);
        scene_load(&scene);
        cr_expect_eq(jobset_size(scene.set), 0);
        cr_assert_not_null(jobset_errors(scene.set)[0]);
        cr_expect_not_null(strstr(jobset_errors(scene.set)[0], "j00 → j01 → "));
        cr_expect_not_null(strstr(jobset_errors(scene.set)[0], "j09 → … → j00: take"));
}

/* Circles that share jobs: once all that were found are taken out, none is left. */
Test(linked_jobs, what_is_left_has_no_circle) {
        g_auto(GStrv) directories = job_directories(scene.root);
        g_autoptr(GPtrArray) files = NULL, others = g_ptr_array_new();
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();

        WRITE("a.yaml", "a: after: [b, d]", "b: after: [a, c]", "c: after: b", "d: after: [a, e]",
              "e: after: f", "f: after: [e, c]", "g: after: [a, c, f]");
        cr_assert_eq(job_files_load((const char *const *)directories, diagnostics, &files), 0);
        cr_expect(linked_jobs_break_circle(files, others, diagnostics));
        cr_expect_not(linked_jobs_break_circle(files, others, diagnostics));
        cr_expect_eq(diagnostics_count(diagnostics),
                     ((const JobFile *)files->pdata[0])->duplicates->len);
}

/* What may be meant takes a look at all names: it is not looked for as often as there are jobs. */
Test(linked_jobs, of_many_unknown_names_the_first_are_compared) {
        g_autoptr(GString) text = g_string_new("jobs:\n");
        unsigned errors = 0, compared = 0;

        for (unsigned i = 0; i < 150; i++)
                g_string_append_printf(text, "  job-%03u: {exec: /bin/true, after: jbo-%03u}\n", i,
                                       i);
        tree_write(scene.root, ETC "a.yaml", text->str);
        scene_load(&scene);
        for (const char *const *error = jobset_errors(scene.set); *error; error++) {
                errors++;
                compared += strstr(*error, "did you mean") != NULL;
        }
        cr_expect_eq(errors, 150);
        cr_expect_eq(compared, 20, "%u of 150 names each", compared);
}

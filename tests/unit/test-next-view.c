/* The coming ticks where no daemon is asked: what job files say of them. */
#include "next-view.h"

#include "job-file-fixture.h"

#include <criterion/criterion.h>

#define NOW 1763700000
#define DELAYED "    every: 1h\n    random-delay: 50min\n    exec: [/bin/true]\n"

static GPtrArray *files;

static void begin(void) {
        files = g_ptr_array_new();
        g_ptr_array_add(
            files,
            parse_job_file("jobs:\n  a:\n" DELAYED "  r:\n" DELAYED "    mode: each-node\n", ""));
}

static void end(void) {
        job_file_free(files->pdata[0]);
        g_ptr_array_unref(files);
}

TestSuite(next_view, .init = begin, .fini = end);

/* `delayed_as`: the name by which its starts are delayed; NULL: none are told. */
static void expect_next(const char *job, const char *delayed_as) {
        const Schedule *schedule = job_in_file(files->pdata[0], "a")->schedule;
        json_t *next = next_compute_of_files(files, job, NOW, 3), *expected = NULL;

        cr_assert_not_null(next, "%s", job);
        expected = next_compute(schedule, delayed_as, NOW, 3);
        json_object_set_new(expected, "job", json_string(job));
        cr_expect(json_equal(next, expected), "%s", job);
        json_decref(expected);
        json_decref(next);
}

Test(next_view, of_a_job_its_own) {
        expect_next("a", "a");
        cr_expect_null(next_compute_of_files(files, "b", NOW, 3));
        cr_expect_null(next_compute_of_files(files, "a@web1", NOW, 3), "there is one of it");
        cr_expect_null(next_compute_of_files(files, "b@web1", NOW, 3));
}

/* The delay of each goes by its whole name. */
Test(next_view, of_a_job_of_every_node_that_of_one) {
        expect_next("r@web1", "r@web1");
        expect_next("r@web2", "r@web2");
        expect_next("r", NULL);
}

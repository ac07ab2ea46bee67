/* Job files are read on a thread, and the last state of them is what is told. */
#include <criterion/criterion.h>

#include "event-loop.h"
#include "job-loader.h"
#include "temporary-tree.h"

static char *tree;
static char **directories;
static sd_event *event;
static JobLoader *loader;
static unsigned told, jobs;
static int result;

static void on_loaded(int r, GPtrArray *files, Diagnostics *diagnostics, void *userdata) {
        cr_assert_eq(userdata, &loader);
        cr_assert_not_null(diagnostics);
        told++;
        result = r;
        jobs = 0;
        for (guint i = 0; files && i < files->len; i++)
                jobs += ((const JobFile *)files->pdata[i])->jobs->len;
}

static void begin(void) {
        tree = tree_make();
        directories = job_directories(tree);
        event = loop_new();
        cr_assert_eq(job_loader_new(event, on_loaded, &loader, &loader), 0);
}

static void end(void) {
        loader = job_loader_free(loader);
        event = loop_end(event);
        g_strfreev(directories);
        tree_remove(tree);
        g_free(tree);
}

TestSuite(job_loader, .init = begin, .fini = end);

Test(job_loader, where_there_is_none_none_is_freed) {
        cr_expect_null(job_loader_free(NULL));
}

static void write_file(const char *name) {
        g_autofree char *path = g_strconcat("etc/jobkeeper/jobs.d/", name, ".yaml", NULL),
                        *text = g_strdup_printf("jobs:\n  %s:\n    exec: [/bin/true]\n", name);

        tree_write(tree, path, text);
}

static void start(void) {
        cr_assert_eq(job_loader_start(loader, (const char *const *)directories), 0);
        cr_expect(job_loader_is_busy(loader));
}

static void wait_for_it(void) {
        while (job_loader_is_busy(loader))
                cr_assert_gt(sd_event_run(event, 10 * USEC_PER_SEC), 0);
}

Test(job_loader, reads) {
        write_file("a");
        start();
        cr_expect_eq(told, 0, "never from inside");
        wait_for_it();
        cr_expect_eq(told, 1);
        cr_expect_eq(result, 0);
        cr_expect_eq(jobs, 1);
}

Test(job_loader, what_changes_meanwhile_is_read_once_more) {
        write_file("a");
        start();
        write_file("b");
        start();
        write_file("c");
        start();
        wait_for_it();
        cr_expect_eq(told, 1);
        cr_expect_eq(jobs, 3);
        start();
        wait_for_it();
        cr_expect_eq(told, 2);
}

Test(job_loader, a_directory_that_cannot_be_read_is_told) {
        tree_write(tree, "etc/jobkeeper/jobs.d", "no directory");
        start();
        wait_for_it();
        cr_expect_eq(told, 1);
        cr_expect_lt(result, 0);
}

Test(job_loader, may_go_while_a_thread_reads) {
        for (unsigned i = 0; i < 20; i++) {
                g_autofree char *name = g_strdup_printf("job-%u", i);
                write_file(name);
        }
        start();
}

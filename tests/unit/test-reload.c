/* A reload: what is said of it to the service manager, whose `systemctl status` shows it. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon-fixture.h"
#include "inventory.h"
#include "job-files.h"
#include "job-table.h"
#include "journal.h"
#include "leftovers.h"

static int notify_fd = -1;
static GString *notified;

TestSuite(reload, .init = setup, .fini = teardown);

/* Return: a socket on which sd_notify() is heard. */
static int listen_to_notify(void) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        g_autofree char *path = g_build_filename(root, "notify", NULL);
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        cr_assert_lt(strlen(path), sizeof address.sun_path);
        (void)g_strlcpy(address.sun_path, path, sizeof address.sun_path);
        cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
        cr_assert_eq(setenv("NOTIFY_SOCKET", path, true), 0);
        return fd;
}

static void hear(void) {
        char buffer[4096];
        ssize_t n;

        while ((n = recv(notify_fd, buffer, sizeof buffer, 0)) > 0)
                g_string_append_printf(notified, "%.*s\n", (int)n, buffer);
}

static const char *wanted_line;

/* Return: whether the reload has been declared over, and the line is the one that is wanted. */
static bool is_over(void) {
        const char *last = NULL;

        hear();
        last = g_strrstr(notified->str, "STATUS=");
        return strstr(notified->str, "READY=1") && (!last || g_str_has_prefix(last, wanted_line));
}

static bool is_at_work(void) {
        return node_is_ready(coordinator->node) && !leftovers_busy(coordinator->left.leftovers);
}

static void begin_notified(void) {
        notify_fd = listen_to_notify();
        notified = g_string_new(NULL);
        open_daemon();
        await(is_at_work, "it is at work");
        turn();
        hear();
}

static void end_notified(void) {
        close_daemon();
        (void)g_string_free(notified, TRUE);
        (void)close(notify_fd);
}

/* Reloads, until this is the line of `systemctl status`. */
static void expect_reload(const char *line) {
        (void)g_string_truncate(notified, 0);
        wanted_line = line;
        coordinator_reload(coordinator);
        await(is_over, line);
        cr_expect_not_null(strstr(notified->str, "RELOADING=1\n"), "%s", notified->str);
}

Test(reload, refused_files_are_counted_and_named) {
        write_job("    exec: /bin/true\n");
        begin_notified();
        expect_reload("STATUS=Connected to ZooKeeper, 1 job\n");
        tree_write(root, "etc/jobkeeper/jobs.d/x.yaml", "jobs: {x: {exec: 5, usr: a}}\n");
        tree_write(root, "etc/jobkeeper/jobs.d/y.yaml", "jobs: [\n");
        expect_reload("STATUS=Connected to ZooKeeper, 1 job, 2 files refused (3 errors): x.yaml "
                      "(its jobs are not loaded), y.yaml (its jobs are not loaded)\n");
        end_notified();
}

/* Beside which there would be too many; it comes first by name. */
Test(reload, a_file_with_too_many_jobs_displaces_nobody) {
        g_autoptr(GString) text = g_string_new("jobs:\n");

        write_job("    exec: /bin/true\n");
        begin_notified();
        for (unsigned i = 0; i < JOBS_MAX; i++)
                g_string_append_printf(text, " j%u: {exec: /a}\n", i);
        tree_write(root, "etc/jobkeeper/jobs.d/00-many.yaml", text->str);
        expect_reload("STATUS=Connected to ZooKeeper, 1 job, 1 file refused (1 error): "
                      "00-many.yaml (its jobs are not loaded)\n");
        cr_expect_not_null(job_table_find(coordinator->jobs, "a"));
        end_notified();
}

/* A directory that cannot be read hides what it has: nothing is taken for gone. */
Test(reload, files_that_cannot_be_read_leave_all_as_it_is) {
        g_autofree char *directory = NULL;

        write_job("    exec: /bin/true\n");
        begin_notified();
        directory = tree_path(root, "etc/jobkeeper/jobs.d");
        tree_remove(directory);
        tree_write(root, "etc/jobkeeper/jobs.d", "a file\n");
        expect_reload("STATUS=Connected to ZooKeeper, 1 job; the job files cannot be read (Not a "
                      "directory)\n");
        cr_expect(inventory_has(coordinator->inventory, "a"));
        cr_expect_not_null(job_table_find(coordinator->jobs, "a"));
        tree_delete(root, "etc/jobkeeper/jobs.d");
        expect_reload("STATUS=Connected to ZooKeeper, 0 jobs\n");
        cr_expect_null(job_table_find(coordinator->jobs, "a"));
        end_notified();
}

/* An emptied file, a directory that was renamed: what went is named, as far as that can be read. */
Test(reload, jobs_that_went_are_named) {
        g_autoptr(GString) text = g_string_new("jobs:\n");

        for (unsigned i = 10; i < 22; i++)
                g_string_append_printf(text, "  j%u: {exec: /bin/true}\n", i);
        tree_write(root, "etc/jobkeeper/jobs.d/many.yaml", text->str);
        write_job("    exec: /bin/true\n");
        open_daemon();
        reload();
        cr_expect_not(journal_has("warning: no longer in this node's job files"));
        tree_delete(root, "etc/jobkeeper/jobs.d/a.yaml");
        reload();
        cr_expect(journal_has("warning: no longer in this node's job files: a"));
        tree_write(root, "etc/jobkeeper/jobs.d/many.yaml", "jobs:\n");
        reload();
        cr_expect(
            journal_has("warning: no longer in this node's job files: j10, j11, j12, j13, j14, "
                        "j15, j16, j17, j18, j19 and 2 more"));
}

static void write_many(unsigned from, unsigned to) {
        g_autoptr(GString) text = g_string_new("jobs:\n");

        for (unsigned i = from; i < to; i++)
                g_string_append_printf(text, "  j%u: {exec: /bin/true}\n", i);
        tree_write(root, "etc/jobkeeper/jobs.d/many.yaml", text->str);
}

static bool are_some_new(void) {
        return job_table_size(coordinator->jobs) > 1;
}

/* The definitions that the first one was about to take are gone. */
Test(reload, another_one_in_the_middle_of_one) {
        write_job("    exec: /bin/true\n");
        open_daemon();
        write_many(0, 9000);
        coordinator_reload(coordinator);
        await(are_some_new, "the first new jobs");
        cr_assert_lt(job_table_size(coordinator->jobs), 1000U);
        write_many(9000, 9010);
        reload();
        cr_expect_eq(job_table_size(coordinator->jobs), 11U);
        cr_expect_null(job_table_find(coordinator->jobs, "j0"));
        cr_expect_not_null(job_table_find(coordinator->jobs, "j9009"));
}

Test(reload, a_daemon_does_not_begin_without_its_files) {
        g_autofree char *config = tree_path(root, "jobkeeper.yaml"),
                        *runtime = g_build_filename(root, "run", NULL),
                        *state = g_build_filename(root, "state", NULL);
        const CoordinatorOptions options = {config, root, runtime, state};

        tree_write(root, "etc/jobkeeper/jobs.d", "a file\n");
        cr_expect_eq(coordinator_new(event, &options, &coordinator), -ENOTDIR);
        cr_expect_null(coordinator);
}

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
#include "job-table.h"

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

static int notify_fd = -1;
static GString *notified;

/* Return: whether the reload has been declared over. */
static bool is_ready(void) {
        char buffer[4096];
        ssize_t n;

        while ((n = recv(notify_fd, buffer, sizeof buffer, 0)) > 0)
                g_string_append_printf(notified, "%.*s\n", (int)n, buffer);
        return strstr(notified->str, "READY=1") != NULL;
}

/* Reloads. Return: all that was notified, newly allocated. */
static char *reload_heard(void) {
        notified = g_string_new(NULL);
        coordinator_reload(coordinator);
        await(is_ready, "the files have been read");
        return g_string_free(g_steal_pointer(&notified), FALSE);
}

Test(reload, refused_files_are_counted_and_named) {
        g_autofree char *good = NULL, *bad = NULL;

        write_job("    exec: /bin/true\n");
        open_daemon();
        notify_fd = listen_to_notify();
        good = reload_heard();
        cr_expect_not_null(strstr(good, "RELOADING=1\n"), "%s", good);
        cr_expect_not_null(strstr(good, "READY=1\nSTATUS=1 job\n"), "%s", good);
        tree_write(root, "etc/jobkeeper/jobs.d/x.yaml", "jobs: {x: {exec: 5, usr: a}}\n");
        tree_write(root, "etc/jobkeeper/jobs.d/y.yaml", "jobs: [\n");
        bad = reload_heard();
        cr_expect_not_null(
            strstr(bad,
                   "READY=1\nSTATUS=1 job, 2 files refused (3 errors): x.yaml (its jobs are not "
                   "loaded), y.yaml (its jobs are not loaded)\n"),
            "%s", bad);
        close_daemon();
        (void)close(notify_fd);
}

/* A directory that cannot be read hides what it has: nothing is taken for gone. */
Test(reload, files_that_cannot_be_read_leave_all_as_it_is) {
        g_autofree char *heard = NULL, *again = NULL, *directory = NULL;

        write_job("    exec: /bin/true\n");
        open_daemon();
        notify_fd = listen_to_notify();
        directory = tree_path(root, "etc/jobkeeper/jobs.d");
        tree_remove(directory);
        tree_write(root, "etc/jobkeeper/jobs.d", "a file\n");
        heard = reload_heard();
        cr_expect_not_null(strstr(heard, "READY=1\nSTATUS=The job files cannot be read\n"), "%s",
                           heard);
        cr_expect(inventory_has(coordinator->inventory, "a"));
        cr_expect_not_null(job_table_find(coordinator->jobs, "a"));
        tree_delete(root, "etc/jobkeeper/jobs.d");
        again = reload_heard();
        cr_expect_not_null(strstr(again, "READY=1\nSTATUS=0 jobs\n"), "%s", again);
        cr_expect_null(job_table_find(coordinator->jobs, "a"));
        close_daemon();
        (void)close(notify_fd);
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

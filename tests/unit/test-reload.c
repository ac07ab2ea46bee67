/* A reload: what is said of it to the service manager, whose `systemctl status` shows it. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon-fixture.h"

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
            strstr(bad, "READY=1\nSTATUS=1 job, 2 files refused (3 errors): x.yaml, y.yaml\n"),
            "%s", bad);
        close_daemon();
        (void)close(notify_fd);
}

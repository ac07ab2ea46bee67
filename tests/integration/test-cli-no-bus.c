/* `jobkeeper lock` without a daemon, and where the daemon runs and the bus lets nobody in. */
#include <criterion/criterion.h>
#include <glib.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "bus-interface.h"
#include "helper-cli-service.h"

TestSuite(cli_lock_alone, .init = cli_bus_setup, .fini = cli_bus_teardown);

/* In a network of its own, where nobody is a ZooKeeper server. */
Test(cli_lock_alone, a_time_limit_is_waited_for_without_a_bus_too) {
        usec_t began = clock_monotonic();

        (void)setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent/bus", 1);
        cr_assert_eq(unshare(CLONE_NEWNET), 0);
        EXPECT(75, "",
               "jobkeeper: jobkeeperd cannot be reached on the system bus (No such file or "
               "directory): this process will hold the lock db itself; when "
               "it is lost, only the command's process group is stopped (see jobkeeper(1))\n",
               "lock", "--quiet", "--timeout", "1s", "db", "--", "echo", "never");
        cr_expect_geq(clock_monotonic() - began, USEC_PER_SEC);
}

/* In a network of its own, where nobody is a ZooKeeper server. */
Test(cli_lock_alone, who_holds_a_lock_without_one_is_told_that_he_has_less) {
        cr_assert_eq(unshare(CLONE_NEWNET), 0);
        EXPECT(75, "",
               "jobkeeper: jobkeeperd does not run on this machine: this process will hold the "
               "lock db itself; when "
               "it is lost, only the command's process group is stopped (see jobkeeper(1))\n"
               "jobkeeper: ZooKeeper at 127.0.0.1:2181 cannot be reached\n",
               "lock", "-t", "100ms", "db", "--", "echo", "never");
        EXPECT(75, "", "jobkeeper: ZooKeeper at 127.0.0.1:2181 cannot be reached\n", "lock",
               "--standalone", "-t", "100ms", "db", "--", "echo", "never");
}

/* ---- a bus that lets nobody in, on a machine whose daemon listens on its own socket ---- */

static int door = -1;

static int listen_at(const char *path) {
        struct sockaddr_un where = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        g_strlcpy(where.sun_path, path, sizeof(where.sun_path));
        cr_assert_eq(bind(fd, (const struct sockaddr *)&where, sizeof(where)), 0, "%s", path);
        cr_assert_eq(listen(fd, 1), 0); /* two wait, and no more */
        return fd;
}

/* In a /run and a network of its own. */
static void setup_served(void) {
        (void)setenv("TZ", "UTC", 1);
        cr_assert_eq(unshare(CLONE_NEWNS | CLONE_NEWNET), 0);
        cr_assert_eq(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
        cr_assert_eq(mount("none", "/run", "tmpfs", 0, NULL), 0);
        cr_assert_eq(mkdir("/run/jobkeeper", 0755), 0);
        door = listen_at("/run/jobkeeper/" LEASE_SOCKET);
        cli_bus_choose();
}

static void leave_door(void) {
        (void)close(door);
        door = -1;
}

static void teardown_served(void) {
        if (door >= 0)
                leave_door();
        cli_bus_teardown();
}

TestSuite(cli_no_bus, .init = setup_served, .fini = teardown_served);

#define NOT_LET_IN(why)                                                                            \
        "jobkeeper: jobkeeperd runs on this machine, but cannot be asked: the system bus does "    \
        "not "                                                                                     \
        "let this command in (" why "). Another process may keep it busy (journalctl -u dbus). "   \
        "The lock db is not held; with --standalone it is held without jobkeeperd\n"

Test(cli_no_bus, a_bus_that_refuses_does_not_take_the_daemon_away) {
        usec_t began = clock_monotonic();

        EXPECT(75, "", NOT_LET_IN("No such file or directory"), "lock", "-t", "900ms", "db", "--",
               "echo", "never");
        cr_expect_geq(clock_monotonic() - began, 900 * USEC_PER_MSEC);
        leave_door();
        EXPECT(75, "",
               "jobkeeper: jobkeeperd cannot be reached on the system bus (No such file or "
               "directory): this process will hold the lock db itself; when "
               "it is lost, only the command's process group is stopped (see jobkeeper(1))\n"
               "jobkeeper: ZooKeeper at 127.0.0.1:2181 cannot be reached\n",
               "lock", "-t", "100ms", "db", "--", "echo", "never");
}

static int listen_as_bus(void) {
        g_autofree char *path = cli_bus_path();

        return listen_at(path);
}

Test(cli_no_bus, nor_does_a_bus_that_says_nothing) {
        int bus = listen_as_bus();

        EXPECT(75, "", NOT_LET_IN("no answer"), "lock", "-q", "-t", "1500ms", "db", "--", "echo",
               "never");
        EXPECT(75, "", "jobkeeper: waiting for the system bus\n" NOT_LET_IN("no answer"), "lock",
               "-t", "1500ms", "db", "--", "echo", "never");
        (void)close(bus);
}

Test(cli_no_bus, nor_keeps_that_a_command_from_being_interrupted) {
        int bus = listen_as_bus();
        _cleanup_(cli_run_freep) CliRun *run =
            cli_start((const char *const[]){"lock", "db", "--", "echo", "never", NULL}, NULL);

        cr_expect(
            cli_wait_for_err(run, "jobkeeper: waiting for the system bus\n", 20 * USEC_PER_SEC));
        (void)kill(run->pid, SIGINT);
        cr_expect_eq(cli_wait(run, 5 * USEC_PER_SEC), 128 + SIGINT);
        (void)close(bus);
}

Test(cli_no_bus, nor_does_a_bus_at_which_too_many_wait_to_be_let_in) {
        int bus = listen_as_bus(), waiting[3];
        g_autofree char *path = cli_bus_path();
        struct sockaddr_un where = {.sun_family = AF_UNIX};
        size_t n = 0;

        g_strlcpy(where.sun_path, path, sizeof(where.sun_path));
        do
                waiting[n] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        while (connect(waiting[n], (const struct sockaddr *)&where, sizeof(where)) == 0 &&
               ++n < G_N_ELEMENTS(waiting));
        cr_assert_lt(n, G_N_ELEMENTS(waiting), "there is room for more");
        EXPECT(75, "", NOT_LET_IN("Resource temporarily unavailable"), "lock", "-t", "900ms", "db",
               "--", "echo", "never");
        for (size_t i = 0; i <= n; i++)
                (void)close(waiting[i]);
        (void)close(bus);
}

Test(cli_no_bus, without_a_time_limit_there_is_one_all_the_same, .timeout = 60) {
        usec_t began = clock_monotonic();

        EXPECT(69, "", NOT_LET_IN("No such file or directory"), "lock", "-q", "db", "--", "echo",
               "never");
        cr_expect_geq(clock_monotonic() - began, 10 * USEC_PER_SEC);
}

Test(cli_no_bus, it_is_asked_again_until_the_daemon_can_be_asked) {
        _cleanup_(cli_run_freep) CliRun *run =
            cli_start((const char *const[]){"lock", "db", "--", "echo", "mine", NULL}, NULL);
        g_autofree char *out = NULL;

        cr_expect(
            cli_wait_for_err(run, "jobkeeper: waiting for the system bus\n", 20 * USEC_PER_SEC));
        cli_bus_start();
        cli_service_start();
        cr_expect_eq(cli_wait(run, 20 * USEC_PER_SEC), 0);
        out = cli_out(run);
        cr_expect_str_eq(out, "mine\n");
}

Test(cli_no_bus, nor_does_a_daemon_that_is_not_on_the_bus_yet) {
        _cleanup_(cli_run_freep) CliRun *run = NULL;
        g_autofree char *out = NULL;

        cli_bus_start();
        run = cli_start((const char *const[]){"lock", "db", "--", "echo", "mine", NULL}, NULL);
        cr_expect(cli_wait_for_err(run, "jobkeeper: waiting for jobkeeperd\n", 20 * USEC_PER_SEC));
        cli_service_start();
        cr_expect_eq(cli_wait(run, 20 * USEC_PER_SEC), 0);
        out = cli_out(run);
        cr_expect_str_eq(out, "mine\n");
}

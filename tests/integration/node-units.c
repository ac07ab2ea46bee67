/* The units room against a real PID 1. Not part of ctest: it must run as root inside a booted
 * systemd node (the cluster tests do that), because no other systemd will do. One line a check, "N
 * passed, N failed" at the end, exit status 1 if any failed.
 */
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "node-units-fixture.h"

static unsigned count_fds(void) {
        g_autoptr(GDir) dir = g_dir_open("/proc/self/fd", 0, NULL);
        unsigned n = 0;

        while (dir && g_dir_read_name(dir))
                n++;
        return n;
}

static unsigned count_units(void) {
        const char *const list[] = {"systemctl",   "list-units",       "--all", "--plain",
                                    "--no-legend", "jobkeeper-test-*", NULL};
        g_autofree char *output = command_output(list);
        unsigned lines = 0;

        for (const char *c = output; *c; c++)
                lines += *c == '\n' || c[1] == '\0';
        return lines;
}

/* PID 1 may still be executing what a stop executes. Return: how many are left after that. */
static unsigned wait_no_units(Fixture *f) {
        usec_t end = clock_monotonic() + PATIENCE;

        while (count_units() > 0 && clock_monotonic() < end)
                run_for(f, 50 * USEC_PER_MSEC);
        return count_units();
}

static const struct {
        const char *name;
        void (*run)(Fixture *f);
} tests[] = {
    {"success", test_success},
    {"failures", test_failures},
    {"timeout", test_timeout},
    {"start-failures", test_start_failures},
    {"arguments", test_arguments},
    {"expansion", test_expansion},
    {"surroundings", test_surroundings},
    {"stop", test_stop},
    {"stopped-by-others", test_stopped_by_others},
    {"stop-early", test_stop_early},
    {"left-behind", test_left_behind},
    {"stopped-when-over", test_stopped_when_over},
    {"adopt", test_adopt},
    {"adopt-absent", test_adopt_absent},
    {"adopt-finished", test_adopt_finished},
    {"same-name", test_same_name},
    {"bus-lost", test_bus_lost},
    {"start-answers-lost", test_start_answers_lost},
    {"reexec", test_reexec},
    {"subscribe-refused", test_subscribe_refused},
    {"reload", test_reload},
    {"forged", test_forged},
    {"silent", test_silent},
    {"one-way", test_one_way},
    {"query-systemd-job", test_query_systemd_job},
    {"own-jobs", test_own_jobs},
    {"hundred", test_hundred},
    {"scope", test_scope},
    {"clearing", test_clearing},
    {"launch", test_launch},
};

/* With a name as argument: that test alone. */
int main(int argc, char **argv) {
        Fixture f = {0};
        unsigned fds;

        if (access(PRIVATE_SOCKET, F_OK) < 0) {
                (void)fprintf(stderr, "node-units: PID 1 is not systemd here\n");
                return 2;
        }
        f.directory = g_mkdtemp(g_strdup("/run/node-units-XXXXXX"));
        fds = count_fds();
        if (sd_event_new(&f.event) < 0 || unit_manager_new(f.event, &f.manager) < 0 ||
            !wait_connected(&f, true) || !wait_referable(&f)) {
                (void)fprintf(stderr, "node-units: no connection to PID 1\n");
                return 2;
        }
        for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
                if (argc < 2 || strcmp(argv[1], tests[i].name) == 0)
                        tests[i].run(&f);
        wait_idle(&f);
        check(&f, !unit_manager_busy(f.manager), "every discard is answered");
        check(&f, wait_no_units(&f) == 0, "no unit is left behind: %u", count_units());
        f.manager = unit_manager_free(f.manager);
        f.event = sd_event_unref(f.event);
        check(&f, count_fds() == fds, "no descriptor is leaked: %u, %u at the start", count_fds(),
              fds);
        const char *const clean[] = {"rm", "-rf", f.directory, NULL};
        g_free(command_output(clean));
        g_free(f.directory);
        printf("%u passed, %u failed\n", f.passed, f.failed);
        return f.failed > 0;
}

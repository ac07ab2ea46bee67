/* When a service is started again, cell by cell: each end of a run, after a short life and a long
 * one, for the first time and again; and that the pause has a floor and a ceiling. */
#include "service-restart.h"

#include <criterion/criterion.h>
#include <glib.h>
#include <limits.h>

#define SECONDS(n) ((n)*USEC_PER_SEC)

typedef struct RestartCell {
        RunState state;
        bool continues;
        unsigned lived, short_lived; /* seconds; runs */
        bool follows;
        unsigned pause, then; /* seconds; runs */
} RestartCell;

/* The delay is 5 s, the most 60 s. */
static const RestartCell cells[] = {
    {RUN_CLAIMED, false, 1, 0, false, 0, 0},
    {RUN_RUNNING, false, 99, 3, false, 0, 0},
    {RUN_SKIPPED, false, 0, 0, false, 0, 0},
    {RUN_SUCCEEDED, false, 1, 0, true, 5, 1},
    {RUN_SUCCEEDED, false, 1, 2, true, 20, 3},
    {RUN_SUCCEEDED, false, 600, 2, true, 5, 0},
    {RUN_FAILED, false, 1, 0, true, 5, 1},
    {RUN_FAILED, false, 1, 1, true, 10, 2},
    {RUN_FAILED, false, 1, 3, true, 40, 4},
    {RUN_FAILED, false, 1, 4, true, 60, 5},
    {RUN_FAILED, false, 599, 4, true, 60, 5},
    {RUN_FAILED, false, 600, 4, true, 5, 0},
    {RUN_FAILED, false, 1, UINT_MAX, true, 60, UINT_MAX},
    {RUN_TIMED_OUT, false, 1, 1, true, 10, 2},
    {RUN_TIMED_OUT, false, 600, 1, true, 5, 0},
    {RUN_STOPPED, false, 1, 4, true, 5, 0},
    {RUN_STOPPED, false, 600, 4, true, 5, 0},
    {RUN_INTERRUPTED, false, 1, 0, true, 0, 1},
    {RUN_INTERRUPTED, false, 1, 1, true, 5, 2},
    {RUN_INTERRUPTED, false, 1, 2, true, 10, 3},
    {RUN_INTERRUPTED, false, 600, 2, true, 0, 0},
    {RUN_UNKNOWN, false, 0, 0, true, 0, 1},
    {RUN_UNKNOWN, false, 0, 1, true, 5, 2},
    {RUN_UNKNOWN, false, 600, 1, true, 0, 0},
    {RUN_UNKNOWN, true, 0, 0, false, 0, 0},
    {RUN_UNKNOWN, true, 600, 1, false, 0, 0},
};

Test(service_restart, cells) {
        for (size_t i = 0; i < G_N_ELEMENTS(cells); i++) {
                const RestartCell *cell = &cells[i];
                ServiceEnd end = {cell->state,       cell->continues, SECONDS(cell->lived),
                                  cell->short_lived, SECONDS(5),      SECONDS(60)};
                ServiceRestart restart = service_restart_after(&end);

                cr_expect_eq(restart.follows, cell->follows, "cell %zu: follows", i);
                cr_expect_eq(restart.pause, SECONDS(cell->pause), "cell %zu: pause", i);
                cr_expect_eq(restart.short_lived, cell->then, "cell %zu: count", i);
        }
}

Test(service_restart, pause_has_a_floor) {
        ServiceEnd end = {RUN_FAILED, false, 0, 7, 0, 0};

        cr_expect_eq(service_restart_after(&end).pause, SERVICE_RESTART_MIN);
}

Test(service_restart, pause_has_a_ceiling) {
        ServiceEnd longer = {RUN_FAILED, false, 0, 0, SECONDS(90), SECONDS(60)};
        ServiceEnd endless = {RUN_FAILED, false, 0, 100, SECONDS(1), USEC_INFINITY};

        cr_expect_eq(service_restart_after(&longer).pause, SECONDS(60));
        cr_expect_eq(service_restart_after(&endless).pause, USEC_INFINITY);
}

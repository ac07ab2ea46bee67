/* Arithmetic that sticks to its ends instead of wrapping, and three clocks that run. */
#include <criterion/criterion.h>
#include <glib.h>
#include <time.h>

#include "clock.h"

static const usec_t samples[] = {0,
                                 1,
                                 2,
                                 USEC_PER_SEC,
                                 USEC_INFINITY / 2,
                                 USEC_INFINITY / 2 + 1,
                                 USEC_INFINITY - 1,
                                 USEC_INFINITY};

Test(clock, doubled_up_to_a_most) {
        cr_expect_eq(usec_doubled(3, 20, 0), 3);
        cr_expect_eq(usec_doubled(3, 20, 2), 12);
        cr_expect_eq(usec_doubled(3, 20, 3), 20);
        cr_expect_eq(usec_doubled(30, 20, 0), 20);
        cr_expect_eq(usec_doubled(0, 20, UINT_MAX), 0);
        cr_expect_eq(usec_doubled(1, USEC_INFINITY, UINT_MAX), USEC_INFINITY);
}

Test(clock, add) {
        cr_expect_eq(usec_add(0, 0), 0);
        cr_expect_eq(usec_add(1, 2), 3);
        cr_expect_eq(usec_add(USEC_INFINITY - 1, 1), USEC_INFINITY);
        cr_expect_eq(usec_add(USEC_INFINITY - 1, 2), USEC_INFINITY);
        cr_expect_eq(usec_add(USEC_INFINITY, 0), USEC_INFINITY);
        cr_expect_eq(usec_add(USEC_INFINITY, USEC_INFINITY), USEC_INFINITY);
        cr_expect_eq(usec_add(0, USEC_INFINITY), USEC_INFINITY);
}

Test(clock, sub) {
        cr_expect_eq(usec_sub(0, 0), 0);
        cr_expect_eq(usec_sub(3, 2), 1);
        cr_expect_eq(usec_sub(2, 3), 0);
        cr_expect_eq(usec_sub(0, USEC_INFINITY), 0);
        cr_expect_eq(usec_sub(5, USEC_INFINITY), 0);
        cr_expect_eq(usec_sub(USEC_INFINITY, 5), USEC_INFINITY, "never is never, whatever is off");
        cr_expect_eq(usec_sub(USEC_INFINITY, USEC_INFINITY), USEC_INFINITY);
        cr_expect_eq(usec_sub(USEC_INFINITY - 1, 1), USEC_INFINITY - 2);
}

Test(clock, neither_ever_wraps) {
        for (size_t i = 0; i < G_N_ELEMENTS(samples); i++)
                for (size_t j = 0; j < G_N_ELEMENTS(samples); j++) {
                        usec_t a = samples[i], b = samples[j];

                        cr_expect(usec_add(a, b) >= MAX(a, b));
                        cr_expect_eq(usec_add(a, b), usec_add(b, a));
                        cr_expect(usec_sub(a, b) <= a);
                        if (a != USEC_INFINITY && b <= a)
                                cr_expect_eq(usec_add(usec_sub(a, b), b), a);
                }
}

Test(clock, clocks_run_forward_and_agree_with_libc) {
        usec_t monotonic = clock_monotonic(), boottime = clock_boottime();
        time_t now = time(NULL);

        cr_expect_gt(monotonic, 0);
        cr_expect(clock_monotonic() >= monotonic);
        cr_expect(clock_boottime() >= boottime);
        cr_expect(boottime + USEC_PER_MSEC >= monotonic, "the time spent asleep counts too");
        cr_expect(clock_realtime() / USEC_PER_SEC - (usec_t)now <= 10);
}

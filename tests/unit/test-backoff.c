/* Pauses between tries: computed, without dice. */
#include <criterion/criterion.h>
#include <glib.h>

#include "backoff.h"

#define FIRST (2 * USEC_PER_SEC)
#define MOST (300 * USEC_PER_SEC)
#define NAMES 1000

Test(backoff, it_doubles_up_to_its_limit) {
        usec_t whole = FIRST;

        for (unsigned failures = 0; failures < 200; failures++) {
                cr_assert_eq(backoff_pause(FIRST, MOST, failures, 0), whole / 2, "%u", failures);
                cr_assert_eq(backoff_pause(FIRST, MOST, failures, 1U << 31), whole * 3 / 4);
                cr_assert_lt(backoff_pause(FIRST, MOST, failures, UINT32_MAX), whole);
                cr_assert_gt(backoff_pause(FIRST, MOST, failures, UINT32_MAX), whole - 10);
                whole = MIN(2 * whole, MOST);
        }
        cr_assert_eq(backoff_pause(FIRST, MOST, UINT_MAX, 0), MOST / 2);
        cr_assert_eq(backoff_pause(MOST, FIRST, 0, 0), FIRST / 2, "the limit counts");
}

/* What has other reasons to be tried meanwhile is none the worse for it. */
Test(backoff, a_try_before_the_pause_is_over_makes_it_no_longer) {
        Backoff backoff = {0};
        usec_t now = 12345, first = backoff_pause(FIRST, MOST, 0, 17),
               second = backoff_pause(FIRST, MOST, 1, 17);

        cr_assert_eq(backoff_failed(&backoff, FIRST, MOST, 17, now), first);
        for (unsigned i = 0; i < 100; i++)
                cr_assert_eq(backoff_failed(&backoff, FIRST, MOST, 17, now + i), first - i);
        cr_assert_eq(backoff_failed(&backoff, FIRST, MOST, 17, now + first - 1), 1);
        now += first;
        cr_assert_eq(backoff_failed(&backoff, FIRST, MOST, 17, now), second);
        cr_assert_eq(backoff_failed(&backoff, FIRST, MOST, 17, now + 1), second - 1);
        backoff = (Backoff){0};
        cr_assert_eq(backoff_failed(&backoff, FIRST, MOST, 17, now + 2), first, "it began anew");
}

/* Jobs are numbered more often than not. */
Test(backoff, names_that_are_alike_are_spread_evenly) {
        unsigned tenths[10] = {0};

        for (unsigned i = 0; i < NAMES; i++) {
                g_autofree char *name = g_strdup_printf("job-with-a-name-of-some-length-%05u", i);
                usec_t pause = backoff_pause(FIRST, MOST, 0, backoff_spread(name));

                cr_assert_eq(backoff_pause(FIRST, MOST, 0, backoff_spread(name)), pause);
                tenths[(pause - FIRST / 2) * 10 / (FIRST / 2)]++;
        }
        for (unsigned i = 0; i < 10; i++) {
                cr_expect_geq(tenths[i], NAMES / 20, "tenth %u: %u", i, tenths[i]);
                cr_expect_leq(tenths[i], NAMES / 5, "tenth %u: %u", i, tenths[i]);
        }
}

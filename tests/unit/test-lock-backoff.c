/* The pauses between attempts: they grow, up to a limit, and no two clients agree on them. */
#include <criterion/criterion.h>
#include <glib.h>

#include "lock-backoff.h"

#define SHORTEST (50 * USEC_PER_MSEC)
#define LONGEST (5 * USEC_PER_SEC)
#define SAMPLES 2000

typedef struct Range {
        usec_t low, high;
} Range;

static Range sample(unsigned failures) {
        Range range = {USEC_INFINITY, 0};

        for (unsigned i = 0; i < SAMPLES; i++) {
                usec_t pause = lock_backoff(failures);

                range.low = MIN(range.low, pause);
                range.high = MAX(range.high, pause);
        }
        return range;
}

Test(lock_backoff, it_doubles_up_to_its_limit_and_is_spread_over_half_of_it) {
        usec_t limit = SHORTEST;

        for (unsigned failures = 0; failures <= 20; failures++) {
                Range range = sample(failures);

                cr_assert_geq(range.low, limit / 2, "after %u failures", failures);
                cr_assert_lt(range.high, limit, "after %u failures", failures);
                /* All but a twentieth of the half is used: dice that fail at this in one of 10^40
                 * runs. */
                cr_assert_leq(range.low, limit / 2 + limit / 40, "after %u failures", failures);
                cr_assert_geq(range.high, limit - limit / 40, "after %u failures", failures);
                limit = MIN(2 * limit, LONGEST);
        }
        cr_assert_eq(limit, LONGEST);
}

Test(lock_backoff, it_does_not_wrap) {
        Range range = sample(G_MAXUINT);

        cr_assert_geq(range.low, LONGEST / 2);
        cr_assert_lt(range.high, LONGEST);
}

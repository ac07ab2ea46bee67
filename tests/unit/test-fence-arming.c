/* When the fence's timers may be moved: cell by cell. */
#include <criterion/criterion.h>

#include "fence-arming.h"

Test(fence_arming, every_cell) {
        static const FenceArming of_another[][2] = {
            [FENCE_TIMERS_UNSET] = {FENCE_ARMING_TAKE, FENCE_ARMING_TAKE},
            [FENCE_TIMERS_SET] = {FENCE_ARMING_TAKE, FENCE_ARMING_KEEP},
            [FENCE_TIMERS_PASSED] = {FENCE_ARMING_TAKE, FENCE_ARMING_KEEP},
        };
        static const FenceArming ours[][2] = {
            [FENCE_TIMERS_UNSET] = {FENCE_ARMING_MOVE, FENCE_ARMING_MOVE},
            [FENCE_TIMERS_SET] = {FENCE_ARMING_MOVE, FENCE_ARMING_MOVE},
            [FENCE_TIMERS_PASSED] = {FENCE_ARMING_MOVE, FENCE_ARMING_KEEP},
        };

        for (unsigned timers = 0; timers < FENCE_TIMERS_COUNT; timers++)
                for (int populated = 0; populated < 2; populated++) {
                        cr_expect_eq(fence_arming(timers, false, populated),
                                     of_another[timers][populated], "timers %u, populated %d",
                                     timers, populated);
                        cr_expect_eq(fence_arming(timers, true, populated), ours[timers][populated],
                                     "ours, timers %u, populated %d", timers, populated);
                }
}

Test(fence_arming, something_may_begin_behind_timers_that_are_its_sessions) {
        cr_expect(fence_arming_guards(FENCE_ARMING_MOVE));
        cr_expect(fence_arming_guards(FENCE_ARMING_TAKE));
        cr_expect_not(fence_arming_guards(FENCE_ARMING_KEEP));
}

/* See fence-arming.h. */
#include "fence-arming.h"

FenceArming fence_arming(FenceTimers timers, bool ours, bool populated) {
        static const FenceArming steps[FENCE_TIMERS_COUNT][2][2] = {
            /* of another session: nothing lives, something does; ours: the same */
            [FENCE_TIMERS_UNSET] = {{FENCE_ARMING_TAKE, FENCE_ARMING_TAKE},
                                    {FENCE_ARMING_MOVE, FENCE_ARMING_MOVE}},
            [FENCE_TIMERS_SET] = {{FENCE_ARMING_TAKE, FENCE_ARMING_KEEP},
                                  {FENCE_ARMING_MOVE, FENCE_ARMING_MOVE}},
            [FENCE_TIMERS_PASSED] = {{FENCE_ARMING_TAKE, FENCE_ARMING_KEEP},
                                     {FENCE_ARMING_MOVE, FENCE_ARMING_KEEP}},
        };

        return steps[timers][ours][populated];
}

bool fence_arming_guards(FenceArming arming) {
        return arming == FENCE_ARMING_MOVE || arming == FENCE_ARMING_TAKE;
}

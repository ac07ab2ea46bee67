/* See fence-table.h. */
#include "fence-table.h"

FenceStep fence_next_step(FenceState state, FenceInstant passed, bool populated) {
        static const FenceStep steps[FENCE_STATES][FENCE_INSTANTS][2] = {
            [FENCE_GUARDING] =
                {
                    /*                      nothing lives, something does */
                    [FENCE_NEITHER] = {FENCE_REST, FENCE_REST},
                    /* The daemon of an idle machine is gone. What it might yet begin is late. */
                    [FENCE_STOP_PASSED] = {FENCE_WATCH, FENCE_STOP},
                    [FENCE_KILL_PASSED] = {FENCE_WATCH, FENCE_KILL},
                },
            [FENCE_LEAVING] =
                {
                    [FENCE_NEITHER] = {FENCE_RETIRE, FENCE_WATCH},
                    [FENCE_STOP_PASSED] = {FENCE_RETIRE, FENCE_STOP},
                    [FENCE_KILL_PASSED] = {FENCE_RETIRE, FENCE_KILL},
                },
            [FENCE_STOPPING] =
                {
                    /* Too late to be taken back: the manager has been told. */
                    [FENCE_NEITHER] = {FENCE_FAIL, FENCE_WATCH},
                    [FENCE_STOP_PASSED] = {FENCE_FAIL, FENCE_WATCH},
                    [FENCE_KILL_PASSED] = {FENCE_FAIL, FENCE_KILL},
                },
        };

        return steps[state][passed][populated];
}

/* What the fence does next, as a table of what it knows.
 *
 * It is asked anew whenever anything has happened, and remembers nothing but its state: whether an
 * instant has passed is a matter of its timer as that stands now (who sets it anew has taken it
 * back), and so is whether anything lives. So no order of events, and none that was missed, can
 * lead anywhere else.
 */
#pragma once

#include <stdbool.h>

typedef enum FenceState {
        FENCE_GUARDING, /* the timers decide */
        FENCE_LEAVING,  /* it was told to end once nothing fenced lives */
        FENCE_STOPPING, /* the service manager stops what is bound to it */
        FENCE_STATES
} FenceState;

/* The last of the two instants that has passed. */
typedef enum FenceInstant {
        FENCE_NEITHER,
        FENCE_STOP_PASSED,
        FENCE_KILL_PASSED,
        FENCE_INSTANTS
} FenceInstant;

typedef enum FenceStep {
        FENCE_REST,   /* wait for a timer, or for somebody */
        FENCE_WATCH,  /* also for something fenced that begins or ends */
        FENCE_STOP,   /* have the service manager stop what is fenced: FENCE_STOPPING */
        FENCE_KILL,   /* kill it, and fail */
        FENCE_FAIL,   /* what was to be stopped is gone */
        FENCE_RETIRE, /* end, without a fault */
} FenceStep;

/* `populated`: something fenced lives; for FENCE_GUARDING before any instant has passed it makes no
 * difference. */
FenceStep fence_next_step(FenceState state, FenceInstant passed, bool populated);

/* See place-state.h. */
#include "place-state.h"

static const PlaceState table[PLACE_STATE_COUNT][PLACE_EVENT_COUNT] = {
    [PLACE_IDLE] =
        {
            [PLACE_EVENT_QUEUE] = PLACE_QUEUEING,
            [PLACE_EVENT_SEARCH] = PLACE_SEARCHING, /* adopted */
            [PLACE_EVENT_STALL] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_WAIT] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_HOLD] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_STEP] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_STEP_LOST] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_STEPPED] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_SEEN] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_RELEASE] = PLACE_IDLE, /* it was never begun */
        },
    [PLACE_QUEUEING] =
        {
            [PLACE_EVENT_QUEUE] = PLACE_QUEUEING,   /* with its directory */
            [PLACE_EVENT_SEARCH] = PLACE_SEARCHING, /* the slots changed */
            [PLACE_EVENT_STALL] = PLACE_STALLED,
            [PLACE_EVENT_WAIT] = PLACE_WAITING,
            [PLACE_EVENT_HOLD] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_STEP] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_STEP_LOST] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_STEPPED] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_SEEN] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_RELEASE] = PLACE_IDLE,
        },
    [PLACE_SEARCHING] =
        {
            [PLACE_EVENT_QUEUE] = PLACE_QUEUEING, /* it was not made */
            [PLACE_EVENT_SEARCH] = PLACE_SEARCHING,
            [PLACE_EVENT_STALL] = PLACE_STALLED,
            [PLACE_EVENT_WAIT] = PLACE_WAITING,
            [PLACE_EVENT_HOLD] = PLACE_HELD, /* a single node */
            [PLACE_EVENT_STEP] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_STEP_LOST] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_STEPPED] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_SEEN] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_RELEASE] = PLACE_IDLE,
        },
    [PLACE_STALLED] =
        {
            [PLACE_EVENT_QUEUE] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_SEARCH] = PLACE_SEARCHING,
            [PLACE_EVENT_STALL] = PLACE_STALLED, /* two of one flight were lost */
            [PLACE_EVENT_WAIT] = PLACE_WAITING,  /* one of them was not */
            [PLACE_EVENT_HOLD] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_STEP] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_STEP_LOST] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_STEPPED] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_SEEN] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_RELEASE] = PLACE_IDLE,
        },
    [PLACE_WAITING] =
        {
            [PLACE_EVENT_QUEUE] = PLACE_QUEUEING, /* a single node, which is gone */
            [PLACE_EVENT_SEARCH] = PLACE_SEARCHING,
            [PLACE_EVENT_STALL] = PLACE_STALLED,
            [PLACE_EVENT_WAIT] = PLACE_WAITING, /* listed again */
            [PLACE_EVENT_HOLD] = PLACE_HELD,
            [PLACE_EVENT_STEP] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_STEP_LOST] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_STEPPED] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_SEEN] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_RELEASE] = PLACE_IDLE,
        },
    [PLACE_HELD] =
        {
            [PLACE_EVENT_QUEUE] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_SEARCH] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_STALL] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_WAIT] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_HOLD] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_STEP] = PLACE_STEPPING,
            [PLACE_EVENT_STEP_LOST] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_STEPPED] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_SEEN] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_RELEASE] = PLACE_IDLE,
        },
    [PLACE_STEPPING] =
        {
            [PLACE_EVENT_QUEUE] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_SEARCH] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_STALL] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_WAIT] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_HOLD] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_STEP] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_STEP_LOST] = PLACE_STEP_LOST,
            [PLACE_EVENT_STEPPED] = PLACE_STEPPED,
            [PLACE_EVENT_SEEN] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_RELEASE] = PLACE_IDLE,
        },
    [PLACE_STEP_LOST] =
        {
            [PLACE_EVENT_QUEUE] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_SEARCH] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_STALL] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_WAIT] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_HOLD] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_STEP] = PLACE_STEPPING,
            [PLACE_EVENT_STEP_LOST] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_STEPPED] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_SEEN] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_RELEASE] = PLACE_IDLE,
        },
    [PLACE_STEPPED] =
        {
            [PLACE_EVENT_QUEUE] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_SEARCH] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_STALL] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_WAIT] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_HOLD] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_STEP] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_STEP_LOST] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_STEPPED] = PLACE_IMPOSSIBLE,
            [PLACE_EVENT_SEEN] = PLACE_HELD,
            [PLACE_EVENT_RELEASE] = PLACE_IDLE,
        },
};

PlaceState place_state_after(PlaceState state, PlaceEvent event) {
        return table[state][event];
}

bool place_state_is_held(PlaceState state) {
        return state >= PLACE_HELD && state <= PLACE_STEPPED;
}

bool place_state_steps(PlaceState state) {
        return state >= PLACE_STEPPING && state <= PLACE_STEPPED;
}

const char *place_state_to_string(PlaceState state) {
        static const char *const words[PLACE_STATE_COUNT] = {"idle",     "queueing",  "searching",
                                                             "stalled",  "waiting",   "held",
                                                             "stepping", "step-lost", "stepped"};

        return words[state];
}

const char *place_event_to_string(PlaceEvent event) {
        static const char *const words[PLACE_EVENT_COUNT] = {
            "queue", "search",    "stall",   "wait", "hold",
            "step",  "step-lost", "stepped", "seen", "release"};

        return words[event];
}

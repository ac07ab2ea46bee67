/* See run-table.h. */
#include "run-table.h"

#define STAY(phase)                                                                                \
        { RUN_PHASE_##phase, RUN_ACTION_NONE }
#define GO(phase, action)                                                                          \
        { RUN_PHASE_##phase, RUN_ACTION_##action }
#define IMPOSSIBLE(phase)                                                                          \
        { RUN_PHASE_##phase, RUN_ACTION_IMPOSSIBLE }

static const RunStep table[RUN_PHASE_COUNT][RUN_EVENT_COUNT] = {
    [RUN_PHASE_CLAIMED] =
        {
            [RUN_EVENT_UNIT_STARTED] = GO(RUNNING, ANNOUNCE),
            [RUN_EVENT_UNIT_EXITED] = STAY(DRAINING),
            [RUN_EVENT_UNIT_ENDED] = GO(
                SETTLING, SETTLE), /* refused by PID 1, or over before we were told of its start */
            [RUN_EVENT_UNIT_ABSENT] = GO(SETTLING, SETTLE_UNKNOWN),
            [RUN_EVENT_FORBIDDEN] = GO(SETTLING, FORSAKE),
            [RUN_EVENT_STOP] = GO(STOPPING, STOP_UNIT),
            [RUN_EVENT_SETTLED] = IMPOSSIBLE(CLAIMED),
        },
    [RUN_PHASE_RUNNING] =
        {
            [RUN_EVENT_UNIT_STARTED] = STAY(RUNNING), /* read again after the bus was lost */
            [RUN_EVENT_UNIT_EXITED] = STAY(DRAINING),
            [RUN_EVENT_UNIT_ENDED] = GO(SETTLING, SETTLE),
            [RUN_EVENT_UNIT_ABSENT] = GO(SETTLING, SETTLE_UNKNOWN),
            [RUN_EVENT_FORBIDDEN] = STAY(RUNNING),
            [RUN_EVENT_STOP] = GO(STOPPING, STOP_UNIT),
            [RUN_EVENT_SETTLED] = IMPOSSIBLE(RUNNING),
        },
    [RUN_PHASE_STOPPING] =
        {
            [RUN_EVENT_UNIT_STARTED] =
                GO(STOPPING, STOP_UNIT), /* the start overtook our stop: say it again */
            [RUN_EVENT_UNIT_EXITED] = STAY(STOPPING),
            [RUN_EVENT_UNIT_ENDED] = GO(SETTLING, SETTLE),
            [RUN_EVENT_UNIT_ABSENT] = GO(SETTLING, SETTLE_UNKNOWN),
            [RUN_EVENT_FORBIDDEN] = GO(SETTLING, FORSAKE),
            [RUN_EVENT_STOP] = STAY(STOPPING),
            [RUN_EVENT_SETTLED] = IMPOSSIBLE(STOPPING),
        },
    [RUN_PHASE_DRAINING] =
        {
            [RUN_EVENT_UNIT_STARTED] = STAY(DRAINING),
            [RUN_EVENT_UNIT_EXITED] = STAY(DRAINING),
            [RUN_EVENT_UNIT_ENDED] = GO(SETTLING, SETTLE),
            [RUN_EVENT_UNIT_ABSENT] = GO(SETTLING, SETTLE_UNKNOWN),
            [RUN_EVENT_FORBIDDEN] = STAY(DRAINING),
            [RUN_EVENT_STOP] = GO(STOPPING, STOP_UNIT),
            [RUN_EVENT_SETTLED] = IMPOSSIBLE(DRAINING),
        },
    [RUN_PHASE_SETTLING] =
        {
            [RUN_EVENT_UNIT_STARTED] = IMPOSSIBLE(SETTLING),
            [RUN_EVENT_UNIT_EXITED] = IMPOSSIBLE(SETTLING),
            [RUN_EVENT_UNIT_ENDED] = IMPOSSIBLE(SETTLING), /* ENDED comes exactly once */
            [RUN_EVENT_UNIT_ABSENT] = IMPOSSIBLE(SETTLING),
            [RUN_EVENT_FORBIDDEN] = STAY(SETTLING),
            [RUN_EVENT_STOP] = STAY(SETTLING),
            [RUN_EVENT_SETTLED] = GO(SETTLED, DISCARD),
        },
    [RUN_PHASE_SETTLED] =
        {
            [RUN_EVENT_UNIT_STARTED] = IMPOSSIBLE(SETTLED),
            [RUN_EVENT_UNIT_EXITED] = IMPOSSIBLE(SETTLED),
            [RUN_EVENT_UNIT_ENDED] = IMPOSSIBLE(SETTLED),
            [RUN_EVENT_UNIT_ABSENT] = IMPOSSIBLE(SETTLED),
            [RUN_EVENT_FORBIDDEN] = STAY(SETTLED),
            [RUN_EVENT_STOP] = STAY(SETTLED),
            [RUN_EVENT_SETTLED] = IMPOSSIBLE(SETTLED),
        },
};

RunStep run_table_step(RunPhase phase, RunEvent event) {
        return table[phase][event];
}

const char *run_phase_to_string(RunPhase phase) {
        static const char *const words[RUN_PHASE_COUNT] = {"claimed",  "running",  "stopping",
                                                           "draining", "settling", "settled"};

        return words[phase];
}

const char *run_event_to_string(RunEvent event) {
        static const char *const words[RUN_EVENT_COUNT] = {
            "unit started", "unit exited", "unit ended", "unit absent",
            "forbidden",    "stop",        "settled"};

        return words[event];
}

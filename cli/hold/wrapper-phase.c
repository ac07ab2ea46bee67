/* See wrapper-phase.h. */
#include "wrapper-phase.h"

#define GO(phase, action)                                                                          \
        { WRAPPER_##phase, WRAPPER_##action }
#define STAY(phase) GO(phase, NOTHING)
#define NEVER(phase) GO(phase, IMPOSSIBLE)
/* Nobody waits for the lock any more. */
#define NOT_WAITING(phase)                                                                         \
        [WRAPPER_EVENT_SESSION] = STAY(phase), [WRAPPER_EVENT_GRANTED] = NEVER(phase),             \
        [WRAPPER_EVENT_GRANTED_TO_GO_ON] = NEVER(phase),                                           \
        [WRAPPER_EVENT_GRANTED_LATE] = NEVER(phase), [WRAPPER_EVENT_TIMEOUT] = NEVER(phase)
/* There is a command; where it cannot be executed, that is told at its start. */
#define WITH_COMMAND(phase)                                                                        \
        NOT_WAITING(phase), [WRAPPER_EVENT_SIGNAL] = GO(phase, FORWARD),                           \
                            [WRAPPER_EVENT_CLOSED] = NEVER(phase)

static const WrapperStep table[WRAPPER_PHASE_COUNT][WRAPPER_EVENT_COUNT] = {
    [WRAPPER_WAITING] =
        {
            [WRAPPER_EVENT_SESSION] = GO(WAITING, QUEUE),
            [WRAPPER_EVENT_GRANTED] = GO(HOLDING, START),
            [WRAPPER_EVENT_GRANTED_TO_GO_ON] = GO(HOLDING_ON, START),
            /* Not worth a start, and who waits behind us may be better off. */
            [WRAPPER_EVENT_GRANTED_LATE] = GO(WAITING, QUEUE_ANEW),
            [WRAPPER_EVENT_TIMEOUT] = GO(RELEASING, GIVE_UP),
            [WRAPPER_EVENT_REFUSED] = GO(RELEASING, FINISH),
            [WRAPPER_EVENT_STOP] = STAY(WAITING),
            [WRAPPER_EVENT_LOST] = GO(WAITING, QUEUE_ANEW),
            [WRAPPER_EVENT_ENDED] = NEVER(WAITING),
            [WRAPPER_EVENT_SIGNAL] = GO(RELEASING, FINISH),
            [WRAPPER_EVENT_CLOSED] = NEVER(WAITING),
        },
    [WRAPPER_HOLDING] =
        {
            WITH_COMMAND(HOLDING),
            [WRAPPER_EVENT_REFUSED] = GO(RELEASING, FINISH),
            [WRAPPER_EVENT_STOP] = GO(STOPPING, STOP),
            [WRAPPER_EVENT_LOST] = GO(KILLED, KILL),
            [WRAPPER_EVENT_ENDED] = GO(RELEASING, FINISH),
        },
    [WRAPPER_HOLDING_ON] =
        {
            WITH_COMMAND(HOLDING_ON),
            [WRAPPER_EVENT_REFUSED] = GO(RELEASING, FINISH),
            [WRAPPER_EVENT_STOP] = STAY(HOLDING_ON),
            [WRAPPER_EVENT_LOST] = GO(GOING_ON, TELL),
            [WRAPPER_EVENT_ENDED] = GO(RELEASING, FINISH),
        },
    [WRAPPER_STOPPING] =
        {
            WITH_COMMAND(STOPPING),
            [WRAPPER_EVENT_REFUSED] = NEVER(STOPPING),
            [WRAPPER_EVENT_STOP] = STAY(STOPPING), /* ZooKeeper answered, and does not any more */
            [WRAPPER_EVENT_LOST] = GO(KILLED, KILL),
            [WRAPPER_EVENT_ENDED] = GO(RELEASING, FINISH_LOST),
        },
    [WRAPPER_KILLED] =
        {
            WITH_COMMAND(KILLED),
            [WRAPPER_EVENT_REFUSED] = NEVER(KILLED),
            [WRAPPER_EVENT_STOP] = STAY(KILLED),
            [WRAPPER_EVENT_LOST] = STAY(KILLED), /* told twice, by the lock and by the session */
            [WRAPPER_EVENT_ENDED] = GO(RELEASING, FINISH_LOST),
        },
    [WRAPPER_GOING_ON] =
        {
            WITH_COMMAND(GOING_ON),
            [WRAPPER_EVENT_REFUSED] = NEVER(GOING_ON),
            [WRAPPER_EVENT_STOP] = STAY(GOING_ON),
            [WRAPPER_EVENT_LOST] = STAY(GOING_ON),
            [WRAPPER_EVENT_ENDED] = GO(RELEASING, FINISH),
        },
    [WRAPPER_RELEASING] =
        {
            NOT_WAITING(RELEASING),
            [WRAPPER_EVENT_REFUSED] = NEVER(RELEASING),
            [WRAPPER_EVENT_STOP] = STAY(RELEASING),
            [WRAPPER_EVENT_LOST] = STAY(RELEASING),
            [WRAPPER_EVENT_ENDED] = NEVER(RELEASING),
            [WRAPPER_EVENT_SIGNAL] = GO(RELEASING, LEAVE), /* impatient while we tidy up */
            [WRAPPER_EVENT_CLOSED] = GO(RELEASING, LEAVE),
        },
};

WrapperStep wrapper_phase_step(WrapperPhase phase, WrapperEvent event) {
        return table[phase][event];
}

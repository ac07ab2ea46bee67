/* See daemon-phase.h. */
#include "daemon-phase.h"

#define GO(phase, action)                                                                          \
        { SESSION_PHASE_##phase, SESSION_PHASE_##action }
#define STAY(phase) GO(phase, NOTHING)
#define IMPOSSIBLE(phase) GO(phase, IMPOSSIBLE)

static const SessionPhaseStep session_table[SESSION_PHASE_COUNT][SESSION_PHASE_EVENT_COUNT] = {
    [SESSION_PHASE_ABSENT] =
        {
            [SESSION_PHASE_CONNECTED] = GO(PREPARING, PREPARE),
            [SESSION_PHASE_CONNECTED_BESIDE_LEFTOVERS] = GO(HELD_BACK, WAIT),
            [SESSION_PHASE_LEFTOVERS_GONE] = STAY(ABSENT),
            [SESSION_PHASE_RESUMED] = IMPOSSIBLE(ABSENT),
            [SESSION_PHASE_RECOVERED] = IMPOSSIBLE(ABSENT),
            [SESSION_PHASE_LOST] = GO(ABSENT, FORGET), /* told of before it was ever connected */
        },
    [SESSION_PHASE_HELD_BACK] =
        {
            [SESSION_PHASE_CONNECTED] = IMPOSSIBLE(HELD_BACK), /* LOST comes between two sessions */
            [SESSION_PHASE_CONNECTED_BESIDE_LEFTOVERS] = IMPOSSIBLE(HELD_BACK),
            [SESSION_PHASE_LEFTOVERS_GONE] = GO(PREPARING, PREPARE),
            [SESSION_PHASE_RESUMED] = STAY(HELD_BACK),
            [SESSION_PHASE_RECOVERED] = IMPOSSIBLE(HELD_BACK),
            [SESSION_PHASE_LOST] = GO(ABSENT, FORGET),
        },
    [SESSION_PHASE_PREPARING] =
        {
            [SESSION_PHASE_CONNECTED] = IMPOSSIBLE(PREPARING),
            [SESSION_PHASE_CONNECTED_BESIDE_LEFTOVERS] = IMPOSSIBLE(PREPARING),
            [SESSION_PHASE_LEFTOVERS_GONE] = STAY(PREPARING),
            [SESSION_PHASE_RESUMED] = GO(PREPARING, ASK_AGAIN),
            [SESSION_PHASE_RECOVERED] = GO(READY, BEGIN),
            [SESSION_PHASE_LOST] = GO(ABSENT, FORGET),
        },
    [SESSION_PHASE_READY] =
        {
            [SESSION_PHASE_CONNECTED] = IMPOSSIBLE(READY),
            [SESSION_PHASE_CONNECTED_BESIDE_LEFTOVERS] = IMPOSSIBLE(READY),
            [SESSION_PHASE_LEFTOVERS_GONE] = STAY(READY), /* those that nothing stands open for */
            [SESSION_PHASE_RESUMED] = GO(READY, CONTINUE),
            [SESSION_PHASE_RECOVERED] =
                GO(READY, BEGIN), /* registered anew: somebody had deleted our node */
            [SESSION_PHASE_LOST] = GO(ABSENT, FORGET),
        },
};

SessionPhaseStep session_phase_step(SessionPhase phase, SessionPhaseEvent event) {
        return session_table[phase][event];
}

static const ProcessPhase process_table[PROCESS_PHASE_COUNT][PROCESS_PHASE_EVENT_COUNT] = {
    [PROCESS_PHASE_WORKING] =
        {
            [PROCESS_PHASE_RESTART] = PROCESS_PHASE_LEAVING,
            [PROCESS_PHASE_STOP] = PROCESS_PHASE_DRAINING,
            [PROCESS_PHASE_END_RUNS] = PROCESS_PHASE_WORKING,
            [PROCESS_PHASE_CLOSE] = PROCESS_PHASE_WORKING,
        },
    [PROCESS_PHASE_LEAVING] =
        {
            [PROCESS_PHASE_RESTART] = PROCESS_PHASE_LEAVING,
            [PROCESS_PHASE_STOP] = PROCESS_PHASE_LEAVING,
            [PROCESS_PHASE_END_RUNS] = PROCESS_PHASE_LEAVING,
            [PROCESS_PHASE_CLOSE] = PROCESS_PHASE_LEAVING,
        },
    [PROCESS_PHASE_DRAINING] =
        {
            [PROCESS_PHASE_RESTART] = PROCESS_PHASE_DRAINING,
            [PROCESS_PHASE_STOP] = PROCESS_PHASE_DRAINING,
            [PROCESS_PHASE_END_RUNS] = PROCESS_PHASE_STOPPING,
            [PROCESS_PHASE_CLOSE] = PROCESS_PHASE_DRAINING, /* its runs are ended first */
        },
    [PROCESS_PHASE_STOPPING] =
        {
            [PROCESS_PHASE_RESTART] = PROCESS_PHASE_STOPPING,
            [PROCESS_PHASE_STOP] = PROCESS_PHASE_STOPPING,
            [PROCESS_PHASE_END_RUNS] = PROCESS_PHASE_STOPPING,
            [PROCESS_PHASE_CLOSE] = PROCESS_PHASE_CLOSING,
        },
    [PROCESS_PHASE_CLOSING] =
        {
            [PROCESS_PHASE_RESTART] = PROCESS_PHASE_CLOSING,
            [PROCESS_PHASE_STOP] = PROCESS_PHASE_CLOSING,
            [PROCESS_PHASE_END_RUNS] = PROCESS_PHASE_CLOSING,
            [PROCESS_PHASE_CLOSE] = PROCESS_PHASE_CLOSING,
        },
};

ProcessPhase process_phase_next(ProcessPhase phase, ProcessPhaseEvent event) {
        return process_table[phase][event];
}

/* See recovery-phase.h. */
#include "recovery-phase.h"

#define GO(phase, action)                                                                          \
        { RECOVERY_PHASE_##phase, RECOVERY_ACTION_##action }
#define STAY(phase) GO(phase, NONE)
#define IMPOSSIBLE(phase) GO(phase, IMPOSSIBLE)

static const RecoveryStep table[RECOVERY_PHASE_COUNT][RECOVERY_EVENT_COUNT] = {
    [RECOVERY_PHASE_IDLE] =
        {
            [RECOVERY_EVENT_REGISTERED] = GO(LOOKING, LOOK),
            [RECOVERY_EVENT_NO_SESSION] = STAY(IDLE),
            [RECOVERY_EVENT_CLAIM_LOST] = STAY(IDLE), /* found by the look that is to come */
            [RECOVERY_EVENT_ANSWER_LOST] = IMPOSSIBLE(IDLE),
            [RECOVERY_EVENT_ANSWERED] = IMPOSSIBLE(IDLE),
            [RECOVERY_EVENT_ANSWERED_DOUBT] = IMPOSSIBLE(IDLE),
            [RECOVERY_EVENT_TIME] = IMPOSSIBLE(IDLE),
        },
    [RECOVERY_PHASE_LOOKING] =
        {
            [RECOVERY_EVENT_REGISTERED] = GO(LOOKING, LOOK),
            [RECOVERY_EVENT_NO_SESSION] = GO(IDLE, CANCEL),
            [RECOVERY_EVENT_CLAIM_LOST] = STAY(SPOILED), /* it may have come too early for that */
            [RECOVERY_EVENT_ANSWER_LOST] = STAY(SPOILED),
            [RECOVERY_EVENT_ANSWERED] = GO(CLEAR, TAKE),
            [RECOVERY_EVENT_ANSWERED_DOUBT] = GO(PAUSING, TAKE_DOUBT),
            [RECOVERY_EVENT_TIME] = IMPOSSIBLE(LOOKING),
        },
    [RECOVERY_PHASE_SPOILED] =
        {
            [RECOVERY_EVENT_REGISTERED] = GO(LOOKING, LOOK),
            [RECOVERY_EVENT_NO_SESSION] = GO(IDLE, CANCEL),
            [RECOVERY_EVENT_CLAIM_LOST] = STAY(SPOILED),
            [RECOVERY_EVENT_ANSWER_LOST] = STAY(SPOILED),
            [RECOVERY_EVENT_ANSWERED] = GO(PAUSING, PAUSE),
            [RECOVERY_EVENT_ANSWERED_DOUBT] = GO(PAUSING, PAUSE),
            [RECOVERY_EVENT_TIME] = IMPOSSIBLE(SPOILED),
        },
    [RECOVERY_PHASE_PAUSING] =
        {
            [RECOVERY_EVENT_REGISTERED] = GO(LOOKING, LOOK),
            [RECOVERY_EVENT_NO_SESSION] = GO(IDLE, CANCEL),
            [RECOVERY_EVENT_CLAIM_LOST] = STAY(PAUSING), /* it is looked for soon */
            [RECOVERY_EVENT_ANSWER_LOST] = IMPOSSIBLE(PAUSING),
            [RECOVERY_EVENT_ANSWERED] = IMPOSSIBLE(PAUSING),
            [RECOVERY_EVENT_ANSWERED_DOUBT] = IMPOSSIBLE(PAUSING),
            [RECOVERY_EVENT_TIME] = GO(LOOKING, LOOK),
        },
    [RECOVERY_PHASE_CLEAR] =
        {
            [RECOVERY_EVENT_REGISTERED] = GO(LOOKING, LOOK),
            [RECOVERY_EVENT_NO_SESSION] = GO(IDLE, CANCEL),
            [RECOVERY_EVENT_CLAIM_LOST] = GO(PAUSING, PAUSE),
            [RECOVERY_EVENT_ANSWER_LOST] = IMPOSSIBLE(CLEAR),
            [RECOVERY_EVENT_ANSWERED] = IMPOSSIBLE(CLEAR),
            [RECOVERY_EVENT_ANSWERED_DOUBT] = IMPOSSIBLE(CLEAR),
            [RECOVERY_EVENT_TIME] = IMPOSSIBLE(CLEAR),
        },
};

RecoveryStep recovery_phase_step(RecoveryPhase phase, RecoveryEvent event) {
        return table[phase][event];
}

const char *recovery_phase_to_string(RecoveryPhase phase) {
        static const char *const words[RECOVERY_PHASE_COUNT] = {"idle", "looking", "spoiled",
                                                                "pausing", "clear"};

        return words[phase];
}

const char *recovery_event_to_string(RecoveryEvent event) {
        static const char *const words[RECOVERY_EVENT_COUNT] = {"registered",
                                                                "no session",
                                                                "a claim's answer lost",
                                                                "an answer lost",
                                                                "answered",
                                                                "answered, in doubt",
                                                                "time"};

        return words[event];
}

/* Where the search for our own open runs stands, as one table of phases × events. Pure: recovery.c
 * tells what happened and does what follows.
 *
 * A look lists what stands open under our name and reads every record. It counts only when all of
 * that was answered and nothing happened meanwhile that it may have missed; then what it found is
 * what there is.
 */
// clang-format off
/*
 *            registered              all answered, nothing in doubt
 *      IDLE ────────────▶ LOOKING ──────────────────────────────────▶ CLEAR
 *                          │   ▲ └──── all answered, some in doubt ──┐  │
 *           an answer lost,│   └─────────── time's up ─────────────┐ │  │ a claim's answer was lost
 *        or a claim's was  ▼                                       │ ▼  ▼
 *                        SPOILED ──────── all answered ─────────▶ PAUSING
 *
 * Not drawn: without a session every phase leads to IDLE, and whoever registers anew looks anew.
 */
// clang-format on
#pragma once

typedef enum RecoveryPhase {
        RECOVERY_PHASE_IDLE,    /* there is nobody to ask */
        RECOVERY_PHASE_LOOKING, /* a look is under way */
        RECOVERY_PHASE_SPOILED, /* one is, and will not count */
        RECOVERY_PHASE_PAUSING, /* before the next */
        RECOVERY_PHASE_CLEAR,   /* all are found, and can be read or do not run */
        RECOVERY_PHASE_COUNT,
} RecoveryPhase;

typedef enum RecoveryEvent {
        RECOVERY_EVENT_REGISTERED,
        RECOVERY_EVENT_NO_SESSION,
        RECOVERY_EVENT_CLAIM_LOST,     /* a claim may stand open that nobody here knows of */
        RECOVERY_EVENT_ANSWER_LOST,    /* one of the look's, or it could not be asked for */
        RECOVERY_EVENT_ANSWERED,       /* the last one of the look; nothing found is in doubt */
        RECOVERY_EVENT_ANSWERED_DOUBT, /* the same, but something lives whose record is unreadable
                                        */
        RECOVERY_EVENT_TIME,           /* the pause is over */
        RECOVERY_EVENT_COUNT,
} RecoveryEvent;

typedef enum RecoveryAction {
        RECOVERY_ACTION_NONE,
        RECOVERY_ACTION_CANCEL,     /* whatever is on its way */
        RECOVERY_ACTION_LOOK,       /* from the beginning */
        RECOVERY_ACTION_PAUSE,      /* the look is of no use: another one later */
        RECOVERY_ACTION_TAKE,       /* it counts: tell */
        RECOVERY_ACTION_TAKE_DOUBT, /* it counts: tell, and look again later */
        RECOVERY_ACTION_IMPOSSIBLE, /* cannot happen: the program is wrong, and aborts */
} RecoveryAction;

typedef struct RecoveryStep {
        RecoveryPhase phase;
        RecoveryAction action;
} RecoveryStep;

RecoveryStep recovery_phase_step(RecoveryPhase phase, RecoveryEvent event);

const char *recovery_phase_to_string(RecoveryPhase phase);
const char *recovery_event_to_string(RecoveryEvent event);

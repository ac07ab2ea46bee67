/* The life of a lock that `jobkeeper lock` holds itself, as one table of phases × events. Pure:
 * lock-wrapper.c tells what happened and does what follows.
 *
 * The command runs only under the lock, and the lock goes only after the command's own process: at
 * D - K it is told to end, at D it is killed, unless it was to go on. Whatever it ends with once it
 * was told to, it ended because of the lock.
 */
// clang-format off
/*
 *              granted               time to stop              lost
 *   WAITING ─────────────▶ HOLDING ────────────────▶ STOPPING ───────▶ KILLED
 *      │                      │ └─────────────────────────────────────▶  │
 *      │                      │              lost    │                   │
 *      │ to go on             ▼ ended                ▼ ended             ▼ ended
 *      ├──────▶ HOLDING_ON ─▶ └───────────▶ RELEASING ◀─────────────────┘
 *      │             └─ lost ─▶ GOING_ON ─────▶ ▲
 *      └──── not had, or told to end ───────────┘
 */
// clang-format on
#pragma once

typedef enum WrapperPhase {
        WRAPPER_WAITING,    /* for a session, and then for the lock */
        WRAPPER_HOLDING,    /* the command runs under the lock */
        WRAPPER_HOLDING_ON, /* the same; it goes on when the lock is lost */
        WRAPPER_STOPPING,   /* it was told to end, because the lock ends */
        WRAPPER_KILLED,     /* and killed */
        WRAPPER_GOING_ON,   /* it runs without the lock */
        WRAPPER_RELEASING,  /* there is no command any more; the lock is given back */
        WRAPPER_PHASE_COUNT,
} WrapperPhase;

typedef enum WrapperEvent {
        WRAPPER_EVENT_SESSION,          /* there is one */
        WRAPPER_EVENT_GRANTED,          /* the lock is ours */
        WRAPPER_EVENT_GRANTED_TO_GO_ON, /* the same, for a command that goes on without it */
        WRAPPER_EVENT_GRANTED_LATE,     /* it would have to be stopped at once */
        WRAPPER_EVENT_TIMEOUT,          /* it was not had in time */
        WRAPPER_EVENT_REFUSED,          /* it cannot be had, or the command cannot be executed */
        WRAPPER_EVENT_STOP,             /* D - K has come */
        WRAPPER_EVENT_LOST,             /* the lock, or the session */
        WRAPPER_EVENT_ENDED,            /* the command's own process has */
        WRAPPER_EVENT_SIGNAL,           /* we were sent one */
        WRAPPER_EVENT_CLOSED,           /* the session: the lock is given back */
        WRAPPER_EVENT_COUNT,
} WrapperEvent;

typedef enum WrapperAction {
        WRAPPER_NOTHING,
        WRAPPER_QUEUE,       /* for the lock, where that was not done */
        WRAPPER_QUEUE_ANEW,  /* at the end */
        WRAPPER_START,       /* the command */
        WRAPPER_GIVE_UP,     /* say why it was not had, and release */
        WRAPPER_FINISH,      /* release, and end as the event says */
        WRAPPER_FINISH_LOST, /* kill what the command has left, release, and end as not held */
        WRAPPER_STOP,        /* tell the command to end */
        WRAPPER_KILL,        /* the command and all of its group */
        WRAPPER_TELL,        /* say that it goes on without the lock */
        WRAPPER_FORWARD,     /* the signal to the command */
        WRAPPER_LEAVE,       /* the loop */
        WRAPPER_IMPOSSIBLE,  /* cannot happen: the program is wrong, and aborts */
} WrapperAction;

typedef struct WrapperStep {
        WrapperPhase phase;
        WrapperAction action;
} WrapperStep;

WrapperStep wrapper_phase_step(WrapperPhase phase, WrapperEvent event);

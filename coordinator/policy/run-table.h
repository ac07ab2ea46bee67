/* The life of a run on the node that claimed it, as one table of states × events. Pure: run.c asks
 * the table what follows and does it.
 *
 * The lock goes only with the settle, and the settle comes only after the empty cgroup: nothing of
 * a run is alive when another can hold its locks, and this table is why.
 */
// clang-format off
/*
 *          unit started         main process ended          cgroup empty         written
 *   CLAIMED ───────────▶ RUNNING ──────────────────▶ DRAINING ────────────▶ SETTLING ───────▶ SETTLED
 *      │                    │                           │                       ▲
 *      │ stop               │ stop                      │ stop                  │
 *      └────────────────────┴──────▶ STOPPING ◀─────────┘                       │
 *                                       └───────────── cgroup empty ────────────┘
 *
 * Not drawn: a unit that is over, or absent, leads from each of the first four to SETTLING at once.
 * What has not begun in time and is made never to begin goes from CLAIMED, or STOPPING, to SETTLING
 * as well. A stop is the deadline's, the daemon's own, or somebody's wish.
 */
// clang-format on
#pragma once

typedef enum RunPhase {
        RUN_PHASE_CLAIMED,  /* the claim is written; PID 1 was asked to start the unit (or the unit
                               is being looked for) */
        RUN_PHASE_RUNNING,  /* PID 1 took it */
        RUN_PHASE_STOPPING, /* we want it gone */
        RUN_PHASE_DRAINING, /* the main process ended, what it left behind is being killed */
        RUN_PHASE_SETTLING, /* nothing is left of it; the result is to be written */
        RUN_PHASE_SETTLED,  /* final */
        RUN_PHASE_COUNT,
} RunPhase;

typedef enum RunEvent {
        RUN_EVENT_UNIT_STARTED,
        RUN_EVENT_UNIT_EXITED,
        RUN_EVENT_UNIT_ENDED,
        RUN_EVENT_UNIT_ABSENT, /* adoption found no such unit */
        RUN_EVENT_FORBIDDEN,   /* it had not begun when it should have, and never will */
        RUN_EVENT_STOP,        /* the deadline's stop, the daemon's stop, somebody's request */
        RUN_EVENT_SETTLED,     /* the result stands in the ledger */
        RUN_EVENT_COUNT,
} RunEvent;

typedef enum RunAction {
        RUN_ACTION_NONE,
        RUN_ACTION_ANNOUNCE, /* log that it started */
        RUN_ACTION_STOP_UNIT,
        RUN_ACTION_SETTLE,         /* with the unit's result */
        RUN_ACTION_SETTLE_UNKNOWN, /* there is no result to be had */
        RUN_ACTION_FORSAKE,        /* settle what is known of it; its unit is not waited for */
        RUN_ACTION_DISCARD,        /* let PID 1 forget the unit, let go of everything */
        RUN_ACTION_IMPOSSIBLE,     /* cannot happen: the program is wrong, and aborts */
} RunAction;

typedef struct RunStep {
        RunPhase phase;
        RunAction action;
} RunStep;

RunStep run_table_step(RunPhase phase, RunEvent event);

const char *run_phase_to_string(RunPhase phase);
const char *run_event_to_string(RunEvent event);

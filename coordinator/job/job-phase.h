/* What a job is about, as one table of states × events. One thing is under way at a time. Pure:
 * job-work.c asks the table what follows and does it.
 *
 * Rank 0 asks for the locks and reads the ledger in one flight, because it will most likely run; so
 * the two answers come in either order, and only when both are there it is decided. The others read
 * first, and create nothing when the tick is claimed or settled.
 */
// clang-format off
/*
 *                        ┌──────────────── QUEUEING ───────────────┐
 *                  queue │          ledger │       │ locks         │ not in time
 *   IDLE ────────────────┤                 ▼       ▼               ▼
 *    │                   ▲             WAITING    HELD            LATE
 *    │ read              │           locks │       │ ledger        │ ledger
 *    ▼          decided  │                 ▼       ▼               │
 *   READING ─────────────┤                  HOLDING                │
 *    │    ▲              │                     │ claim             │
 *    │ look              │                     ▼                   │
 *    ▼                   │                 CLAIMING                │
 *   LOOKING ─────────────┘                     │                   │
 *    └─────────────────── write ───────────────┴─────▶ WRITING ◀───┘
 *
 * Not drawn: each of them ends in IDLE; what is decided in WAITING and HOLDING may also be to read,
 * look or write, and to queue for something else; where a claim was stale, HELD follows, and
 * HOLDING where it waits for another node, or LATE.
 */
// clang-format on
#pragma once

#include <stdbool.h>

typedef enum JobPhase {
        JOB_PHASE_IDLE,     /* nothing is under way */
        JOB_PHASE_READING,  /* the ledger */
        JOB_PHASE_LOOKING,  /* whether anybody waits for what would be skipped */
        JOB_PHASE_QUEUEING, /* locks are asked for, and the ledger is being read */
        JOB_PHASE_WAITING,  /* locks are asked for, the ledger is read */
        JOB_PHASE_HELD,     /* they are held, the ledger is being read */
        JOB_PHASE_HOLDING,  /* they are held, the ledger is read, and the clock or a turn is awaited
                             */
        JOB_PHASE_LATE,     /* they were not had in time, and the ledger is being read */
        JOB_PHASE_CLAIMING,
        JOB_PHASE_WRITING, /* the ledger: made, put in force, skips, refused, repaired */
        JOB_PHASE_COUNT,
} JobPhase;

typedef enum JobEvent {
        /* What happens: */
        JOB_EVENT_CONSIDER, /* something changed that may change the answer */
        JOB_EVENT_LEDGER_READ,
        JOB_EVENT_LEDGER_CHANGED, /* since it was read */
        JOB_EVENT_LOCKS_HELD,
        JOB_EVENT_LOCKS_LATE, /* they were not free in time, or its turn has not come */
        JOB_EVENT_CLAIM_STALE,
        JOB_EVENT_CLAIM_WAITS, /* another node has to come to an end first */
        /* What is decided: */
        JOB_EVENT_READ,
        JOB_EVENT_WATCH, /* the ledger is to be read again, watched, while we wait for locks */
        JOB_EVENT_LOOK,
        JOB_EVENT_QUEUE,
        JOB_EVENT_QUEUE_FREE, /* as QUEUE, where no locks are asked for */
        JOB_EVENT_CLAIM,
        JOB_EVENT_WRITE,
        JOB_EVENT_END,
        JOB_EVENT_COUNT,
} JobEvent;

typedef enum JobAction {
        JOB_ACTION_NONE,
        JOB_ACTION_CONSIDER,   /* is there anything to do? */
        JOB_ACTION_RECONSIDER, /* the same, and what is known of the ledger is out of date */
        JOB_ACTION_REMEMBER,   /* considers once this is over */
        JOB_ACTION_DECIDE,     /* by the ledger as it was just read */
        JOB_ACTION_READ,       /* the ledger, again */
        JOB_ACTION_GIVE_UP,    /* what the locks were for is skipped */
        JOB_ACTION_IMPOSSIBLE, /* cannot happen: the program is wrong, and aborts */
} JobAction;

typedef struct JobStep {
        JobPhase phase;
        JobAction action;
} JobStep;

JobStep job_phase_step(JobPhase phase, JobEvent event);
/* Return: whether a place in the queues is had or asked for, and nothing is decided of it yet. */
bool job_phase_is_in_queues(JobPhase phase);

const char *job_phase_to_string(JobPhase phase);
const char *job_event_to_string(JobEvent event);

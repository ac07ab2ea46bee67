/* What a job does next, now that its ledger is known. Pure: who is due is decided by decision.h;
 * this is what comes before it, and what follows for somebody who may stand in the queues already.
 *
 * Manual runs go first; but one that another run asks for, and that finds all places taken of a job
 * whose runs may be side by side, waits for one, after whatever comes due. And before one is queued
 * for, it is said what became of older ticks: such runs may come again and again. Nothing is
 * decided by a clock that was not compared with the server's lately. After a change of membership
 * the lower ranks go first. */
#pragma once

#include "decision.h"
#include "job-phase.h"
#include "manual-runs.h"

typedef enum JobNextWhat {
        JOB_NEXT_NOTHING,
        JOB_NEXT_WATCH,   /* nothing, until the ledger changes */
        JOB_NEXT_STAY,    /* the locks that are asked for bring what is missing */
        JOB_NEXT_MEASURE, /* the clock */
        JOB_NEXT_REFUSE,  /* the manual run, for `why` */
        JOB_NEXT_QUEUE_MANUAL,
        JOB_NEXT_QUEUE_TICK,
        JOB_NEXT_GO_ON, /* in the queues */
        JOB_NEXT_LATER, /* in `delay` */
        JOB_NEXT_SKIP,
        JOB_NEXT_LOOK,    /* whether anybody waits for what would be skipped */
        JOB_NEXT_BLOCKED, /* by a run of another node */
        JOB_NEXT_REPLACE, /* a run, which is to end */
} JobNextWhat;

typedef struct JobNext {
        JobNextWhat what;
        DecisionWhy why;
        usec_t delay;
        bool wakes;   /* the decision says when it is to be asked again */
        usec_t until; /* CLOCK_REALTIME: at the latest then; 0: it says so alone */
} JobNext;

typedef struct JobOutlook {
        const JobSpec *spec;
        const Ledger *ledger;
        const Decision *decision;
        const ManualRun *manual; /* the first one that waits, or NULL */
        bool nobody;             /* no member can run the job */
        JobPhase phase;
        int64_t queued_tick;          /* for which we stand in the queues, or 0 */
        bool queued_manual;           /* we do for that manual run */
        const DecisionPause *pause;   /* as the decision goes by it; or NULL */
        const DecisionWindow *window; /* the same */
        bool clock_known;
        bool may_be_waited_for; /* what is to be skipped, by others or by the process before us */
        usec_t now;             /* CLOCK_REALTIME */
        usec_t lower_ranks;     /* so long they go first */
} JobOutlook;

JobNext job_next(const JobOutlook *outlook);
/* Return: whether it stays in line for the tick that it is queued for (`queued_tick`), although
 * that would be missed by now. */
bool job_next_is_long_wait(const JobOutlook *outlook);

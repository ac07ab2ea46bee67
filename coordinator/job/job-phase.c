/* See job-phase.h. */
#include "job-phase.h"

#define STAY(phase)                                                                                \
        { JOB_PHASE_##phase, JOB_ACTION_NONE }
#define GO(phase, action)                                                                          \
        { JOB_PHASE_##phase, JOB_ACTION_##action }
#define IMPOSSIBLE(phase)                                                                          \
        { JOB_PHASE_##phase, JOB_ACTION_IMPOSSIBLE }

static const JobStep table[JOB_PHASE_COUNT][JOB_EVENT_COUNT] =
    {
        [JOB_PHASE_IDLE] =
            {
                [JOB_EVENT_CONSIDER] = GO(IDLE, CONSIDER),
                [JOB_EVENT_LEDGER_READ] = IMPOSSIBLE(IDLE),
                [JOB_EVENT_LEDGER_CHANGED] = GO(IDLE, RECONSIDER),
                [JOB_EVENT_LOCKS_HELD] = IMPOSSIBLE(IDLE),
                [JOB_EVENT_LOCKS_LATE] = IMPOSSIBLE(IDLE),
                [JOB_EVENT_CLAIM_STALE] = IMPOSSIBLE(IDLE),
                [JOB_EVENT_CLAIM_WAITS] = IMPOSSIBLE(IDLE),
                [JOB_EVENT_READ] = STAY(READING),
                [JOB_EVENT_WATCH] = IMPOSSIBLE(IDLE),
                [JOB_EVENT_LOOK] = IMPOSSIBLE(IDLE),
                [JOB_EVENT_QUEUE] = STAY(QUEUEING),
                [JOB_EVENT_QUEUE_FREE] = STAY(HELD),
                [JOB_EVENT_CLAIM] = IMPOSSIBLE(IDLE),
                [JOB_EVENT_WRITE] = IMPOSSIBLE(IDLE),
                [JOB_EVENT_END] = STAY(IDLE),
            },
        [JOB_PHASE_READING] =
            {
                [JOB_EVENT_CONSIDER] = GO(READING, REMEMBER),
                [JOB_EVENT_LEDGER_READ] = GO(READING, DECIDE),
                [JOB_EVENT_LEDGER_CHANGED] = STAY(READING), /* it is being read */
                [JOB_EVENT_LOCKS_HELD] = IMPOSSIBLE(READING),
                [JOB_EVENT_LOCKS_LATE] = IMPOSSIBLE(READING),
                [JOB_EVENT_CLAIM_STALE] = IMPOSSIBLE(READING),
                [JOB_EVENT_CLAIM_WAITS] = IMPOSSIBLE(READING),
                [JOB_EVENT_READ] = STAY(READING), /* and watched this time */
                [JOB_EVENT_WATCH] = IMPOSSIBLE(READING),
                [JOB_EVENT_LOOK] = STAY(LOOKING),
                [JOB_EVENT_QUEUE] = STAY(QUEUEING),
                [JOB_EVENT_QUEUE_FREE] = STAY(HELD),
                [JOB_EVENT_CLAIM] = IMPOSSIBLE(READING),
                [JOB_EVENT_WRITE] = STAY(WRITING),
                [JOB_EVENT_END] = STAY(IDLE),
            },
        [JOB_PHASE_LOOKING] =
            {
                [JOB_EVENT_CONSIDER] = GO(LOOKING, REMEMBER),
                [JOB_EVENT_LEDGER_READ] = IMPOSSIBLE(LOOKING),
                [JOB_EVENT_LEDGER_CHANGED] = STAY(LOOKING), /* what is written on it is refused */
                [JOB_EVENT_LOCKS_HELD] = IMPOSSIBLE(LOOKING),
                [JOB_EVENT_LOCKS_LATE] = IMPOSSIBLE(LOOKING),
                [JOB_EVENT_CLAIM_STALE] = IMPOSSIBLE(LOOKING),
                [JOB_EVENT_CLAIM_WAITS] = IMPOSSIBLE(LOOKING),
                [JOB_EVENT_READ] = STAY(READING),
                [JOB_EVENT_WATCH] = IMPOSSIBLE(LOOKING),
                [JOB_EVENT_LOOK] = IMPOSSIBLE(LOOKING), /* once is enough */
                [JOB_EVENT_QUEUE] = STAY(QUEUEING),
                [JOB_EVENT_QUEUE_FREE] = STAY(HELD),
                [JOB_EVENT_CLAIM] = IMPOSSIBLE(LOOKING),
                [JOB_EVENT_WRITE] = STAY(WRITING),
                [JOB_EVENT_END] = STAY(IDLE),
            },
        [JOB_PHASE_QUEUEING] =
            {
                [JOB_EVENT_CONSIDER] = GO(QUEUEING, REMEMBER),
                [JOB_EVENT_LEDGER_READ] = GO(WAITING, DECIDE),
                [JOB_EVENT_LEDGER_CHANGED] = STAY(QUEUEING),
                [JOB_EVENT_LOCKS_HELD] = STAY(HELD),
                [JOB_EVENT_LOCKS_LATE] = STAY(LATE),
                [JOB_EVENT_CLAIM_STALE] = IMPOSSIBLE(QUEUEING),
                [JOB_EVENT_CLAIM_WAITS] = IMPOSSIBLE(QUEUEING),
                [JOB_EVENT_READ] = IMPOSSIBLE(QUEUEING),
                [JOB_EVENT_WATCH] = IMPOSSIBLE(QUEUEING),
                [JOB_EVENT_LOOK] = IMPOSSIBLE(QUEUEING),
                [JOB_EVENT_QUEUE] = IMPOSSIBLE(QUEUEING),
                [JOB_EVENT_QUEUE_FREE] = IMPOSSIBLE(QUEUEING),
                [JOB_EVENT_CLAIM] = IMPOSSIBLE(QUEUEING),
                [JOB_EVENT_WRITE] = STAY(WRITING), /* there is no ledger, or not our definition */
                [JOB_EVENT_END] = STAY(IDLE),
            },
        [JOB_PHASE_WAITING] =
            {
                [JOB_EVENT_CONSIDER] = GO(WAITING, REMEMBER),
                [JOB_EVENT_LEDGER_READ] = IMPOSSIBLE(WAITING),
                [JOB_EVENT_LEDGER_CHANGED] = GO(QUEUEING, READ),
                [JOB_EVENT_LOCKS_HELD] = GO(HOLDING, DECIDE),
                [JOB_EVENT_LOCKS_LATE] = GO(LATE, GIVE_UP),
                [JOB_EVENT_CLAIM_STALE] = IMPOSSIBLE(WAITING),
                [JOB_EVENT_CLAIM_WAITS] = IMPOSSIBLE(WAITING),
                [JOB_EVENT_READ] = STAY(READING), /* they are of no use */
                [JOB_EVENT_WATCH] = STAY(QUEUEING),
                [JOB_EVENT_LOOK] = STAY(LOOKING),
                [JOB_EVENT_QUEUE] = STAY(QUEUEING), /* for something else */
                [JOB_EVENT_QUEUE_FREE] = STAY(HELD),
                [JOB_EVENT_CLAIM] = IMPOSSIBLE(WAITING),
                [JOB_EVENT_WRITE] = STAY(WRITING),
                [JOB_EVENT_END] = STAY(IDLE),
            },
        [JOB_PHASE_HELD] =
            {
                [JOB_EVENT_CONSIDER] = GO(HELD, REMEMBER),
                [JOB_EVENT_LEDGER_READ] = GO(HOLDING, DECIDE),
                [JOB_EVENT_LEDGER_CHANGED] = STAY(HELD),
                [JOB_EVENT_LOCKS_HELD] = IMPOSSIBLE(HELD),
                [JOB_EVENT_LOCKS_LATE] = IMPOSSIBLE(HELD),
                [JOB_EVENT_CLAIM_STALE] = IMPOSSIBLE(HELD),
                [JOB_EVENT_CLAIM_WAITS] = IMPOSSIBLE(HELD),
                [JOB_EVENT_READ] = IMPOSSIBLE(HELD),
                [JOB_EVENT_WATCH] = IMPOSSIBLE(HELD),
                [JOB_EVENT_LOOK] = IMPOSSIBLE(HELD),
                [JOB_EVENT_QUEUE] = IMPOSSIBLE(HELD),
                [JOB_EVENT_QUEUE_FREE] = IMPOSSIBLE(HELD),
                [JOB_EVENT_CLAIM] = IMPOSSIBLE(HELD),
                [JOB_EVENT_WRITE] = STAY(WRITING),
                [JOB_EVENT_END] = STAY(IDLE),
            },
        [JOB_PHASE_HOLDING] =
            {
                [JOB_EVENT_CONSIDER] = GO(HOLDING, DECIDE), /* the clock was to be measured first */
                [JOB_EVENT_LEDGER_READ] = IMPOSSIBLE(HOLDING),
                [JOB_EVENT_LEDGER_CHANGED] = GO(HELD, READ),
                [JOB_EVENT_LOCKS_HELD] = IMPOSSIBLE(HOLDING),
                [JOB_EVENT_LOCKS_LATE] = IMPOSSIBLE(HOLDING),
                [JOB_EVENT_CLAIM_STALE] = IMPOSSIBLE(HOLDING),
                [JOB_EVENT_CLAIM_WAITS] = IMPOSSIBLE(HOLDING),
                [JOB_EVENT_READ] = STAY(READING),
                [JOB_EVENT_WATCH] = IMPOSSIBLE(HOLDING),
                [JOB_EVENT_LOOK] = STAY(LOOKING),
                [JOB_EVENT_QUEUE] = STAY(QUEUEING),
                [JOB_EVENT_QUEUE_FREE] = STAY(HELD),
                [JOB_EVENT_CLAIM] = STAY(CLAIMING),
                [JOB_EVENT_WRITE] = STAY(WRITING),
                [JOB_EVENT_END] = STAY(IDLE),
            },
        [JOB_PHASE_LATE] =
            {
                [JOB_EVENT_CONSIDER] = GO(LATE, REMEMBER),
                [JOB_EVENT_LEDGER_READ] = GO(LATE, GIVE_UP),
                [JOB_EVENT_LEDGER_CHANGED] = STAY(LATE),
                [JOB_EVENT_LOCKS_HELD] = IMPOSSIBLE(LATE),
                [JOB_EVENT_LOCKS_LATE] = IMPOSSIBLE(LATE),
                [JOB_EVENT_CLAIM_STALE] = IMPOSSIBLE(LATE),
                [JOB_EVENT_CLAIM_WAITS] = IMPOSSIBLE(LATE),
                [JOB_EVENT_READ] = IMPOSSIBLE(LATE),
                [JOB_EVENT_WATCH] = IMPOSSIBLE(LATE),
                [JOB_EVENT_LOOK] = IMPOSSIBLE(LATE),
                [JOB_EVENT_QUEUE] = IMPOSSIBLE(LATE),
                [JOB_EVENT_QUEUE_FREE] = IMPOSSIBLE(LATE),
                [JOB_EVENT_CLAIM] = IMPOSSIBLE(LATE),
                [JOB_EVENT_WRITE] = STAY(WRITING),
                [JOB_EVENT_END] = STAY(IDLE),
            },
        [JOB_PHASE_CLAIMING] =
            {
                [JOB_EVENT_CONSIDER] = GO(CLAIMING, REMEMBER),
                [JOB_EVENT_LEDGER_READ] = IMPOSSIBLE(CLAIMING),
                [JOB_EVENT_LEDGER_CHANGED] = STAY(CLAIMING), /* by the claim, or it is stale */
                [JOB_EVENT_LOCKS_HELD] = IMPOSSIBLE(CLAIMING),
                [JOB_EVENT_LOCKS_LATE] = GO(LATE, GIVE_UP), /* its turn did not come */
                [JOB_EVENT_CLAIM_STALE] = GO(HELD, READ),
                [JOB_EVENT_CLAIM_WAITS] = STAY(HOLDING), /* for its turn */
                [JOB_EVENT_READ] = STAY(READING),        /* it was stale, and the locks are lost */
                [JOB_EVENT_WATCH] = IMPOSSIBLE(CLAIMING),
                [JOB_EVENT_LOOK] = IMPOSSIBLE(CLAIMING),
                [JOB_EVENT_QUEUE] = IMPOSSIBLE(CLAIMING),
                [JOB_EVENT_QUEUE_FREE] = IMPOSSIBLE(CLAIMING),
                [JOB_EVENT_CLAIM] = IMPOSSIBLE(CLAIMING),
                [JOB_EVENT_WRITE] = STAY(WRITING), /* a record stands in the way */
                [JOB_EVENT_END] = STAY(IDLE),
            },
        [JOB_PHASE_WRITING] =
            {
                [JOB_EVENT_CONSIDER] = GO(WRITING, REMEMBER),
                [JOB_EVENT_LEDGER_READ] = IMPOSSIBLE(WRITING),
                [JOB_EVENT_LEDGER_CHANGED] = STAY(WRITING), /* by us, or it fails */
                [JOB_EVENT_LOCKS_HELD] = IMPOSSIBLE(WRITING),
                [JOB_EVENT_LOCKS_LATE] = IMPOSSIBLE(WRITING),
                [JOB_EVENT_CLAIM_STALE] = IMPOSSIBLE(WRITING),
                [JOB_EVENT_CLAIM_WAITS] = IMPOSSIBLE(WRITING),
                [JOB_EVENT_READ] = IMPOSSIBLE(WRITING),
                [JOB_EVENT_WATCH] = IMPOSSIBLE(WRITING),
                [JOB_EVENT_LOOK] = IMPOSSIBLE(WRITING),
                [JOB_EVENT_QUEUE] = IMPOSSIBLE(WRITING),
                [JOB_EVENT_QUEUE_FREE] = IMPOSSIBLE(WRITING),
                [JOB_EVENT_CLAIM] = IMPOSSIBLE(WRITING),
                [JOB_EVENT_WRITE] = IMPOSSIBLE(WRITING),
                [JOB_EVENT_END] = STAY(IDLE),
            },
};

JobStep job_phase_step(JobPhase phase, JobEvent event) {
        return table[phase][event];
}

bool job_phase_is_in_queues(JobPhase phase) {
        return phase >= JOB_PHASE_QUEUEING && phase <= JOB_PHASE_LATE;
}

const char *job_phase_to_string(JobPhase phase) {
        static const char *const words[JOB_PHASE_COUNT] = {
            "idle", "reading", "looking", "queueing", "waiting",
            "held", "holding", "late",    "claiming", "writing"};

        return words[phase];
}

const char *job_event_to_string(JobEvent event) {
        static const char *const words[JOB_EVENT_COUNT] = {
            "consider",    "ledger read", "ledger changed", "locks held", "locks late",
            "claim stale", "claim waits", "read",           "watch",      "look",
            "queue",       "queue free",  "claim",          "write",      "end"};

        return words[event];
}

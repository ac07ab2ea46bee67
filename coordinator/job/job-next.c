/* See job-next.h. */
#include "job-next.h"

static bool job_next_is_idle(const JobOutlook *outlook) {
        return !outlook->manual && outlook->decision->n_skips == 0 &&
               outlook->decision->verdict == DECISION_NOTHING;
}

/* Asking for the locks compares the clocks; otherwise a write of our own does. */
static JobNext job_next_without_clock(const JobOutlook *outlook) {
        return (JobNext){.what = outlook->phase == JOB_PHASE_WAITING ? JOB_NEXT_STAY
                                                                     : JOB_NEXT_MEASURE};
}

/* Return: whether it is for us to do something about the manual run. Where nobody can run the job,
 * we were a candidate when we took it on, and may be one again. */
static bool job_next_has_manual(const JobOutlook *outlook) {
        return outlook->manual && (!outlook->nobody || outlook->now > outlook->manual->not_after);
}

static JobNext job_next_manual(const JobOutlook *outlook) {
        const char *why = outlook->now > outlook->manual->not_after
                              ? "no node could start it in time"
                          : decision_pause_lasts(outlook->pause)
                              ? outlook->pause->why
                              : decision_why_not(outlook->spec->overlap, outlook->ledger);

        if (why)
                return (JobNext){.what = JOB_NEXT_REFUSE, .why = why};
        return (JobNext){.what = outlook->queued_manual ? JOB_NEXT_GO_ON : JOB_NEXT_QUEUE_MANUAL};
}

/* Return: whether what is queued for is not to begin. */
static bool job_next_is_paused(const JobOutlook *outlook) {
        return decision_pause_lasts(outlook->pause) ||
               (decision_pause_covers(outlook->pause,
                                      job_spec_start(outlook->spec, outlook->queued_tick)) &&
                !ledger_is_decided(outlook->ledger, outlook->queued_tick));
}

/* start-deadline bounds when queueing may begin; how long it lasts is lock-wait's business, so a
 * tick that is queued for is neither too old nor too late. It may be too early: another node was
 * quicker, and the next attempt is to come later. */
static bool job_next_is_long_wait(const JobOutlook *outlook) {
        const Ledger *ledger = outlook->ledger;
        int64_t tick = outlook->queued_tick;

        return outlook->spec->lock_wait_set && tick && !job_next_is_paused(outlook) &&
               ledger_is_claimable(ledger, tick) &&
               (usec_t)ledger_due(ledger, tick, job_spec_start(outlook->spec, tick)) *
                       USEC_PER_SEC <=
                   outlook->now &&
               !decision_why_not(outlook->spec->overlap, ledger);
}

static JobNext job_next_by_decision(const JobOutlook *outlook) {
        const Decision *decision = outlook->decision;

        if (decision->n_skips > 0)
                return (JobNext){.what =
                                     outlook->may_be_waited_for ? JOB_NEXT_LOOK : JOB_NEXT_SKIP};
        switch (decision->verdict) {
        case DECISION_RUN:
                return (JobNext){.what = outlook->queued_tick == decision->tick
                                             ? JOB_NEXT_GO_ON
                                             : JOB_NEXT_QUEUE_TICK,
                                 .wakes = true};
        case DECISION_BLOCKED:
                return (JobNext){.what = JOB_NEXT_BLOCKED, .wakes = true};
        case DECISION_NOTHING:
                break;
        }
        return (JobNext){.what = decision->watch ? JOB_NEXT_WATCH : JOB_NEXT_NOTHING,
                         .wakes = true};
}

JobNext job_next(const JobOutlook *outlook) {
        if (job_next_is_idle(outlook))
                return job_next_by_decision(outlook);
        if (!outlook->clock_known)
                return job_next_without_clock(outlook);
        if (job_next_is_long_wait(
                outlook)) /* its place in the line is not given up for a request */
                return (JobNext){.what = JOB_NEXT_GO_ON};
        if (job_next_has_manual(outlook))
                return job_next_manual(outlook);
        if (outlook->lower_ranks > 0)
                return (JobNext){.what = JOB_NEXT_LATER, .delay = outlook->lower_ranks};
        return job_next_by_decision(outlook);
}

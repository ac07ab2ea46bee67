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

/* It is no other run that is the reason. */
static DecisionWhy job_next_because(const char *text) {
        return (DecisionWhy){DECISION_KIND_OTHER, text};
}

static const char *job_next_late(const ManualRun *manual) {
        return manual->is_ours ? "the node that it is for could not start it in time"
                               : "no node could start it in time";
}

/* Return: why nothing new of the job may begin, or no further attempt of that tick. */
static DecisionWhy job_next_why_not(const JobOutlook *outlook) {
        DecisionWhy why = decision_why_not(outlook->spec, outlook->ledger);
        int64_t tick = outlook->manual->tick;

        if (outlook->spec->place.mode == JOB_MODE_SERVICE)
                return job_next_because("it is a service, which is run by itself");
        if (why.text || !tick || ledger_is_settled(outlook->ledger, tick))
                return why;
        return job_next_because(
            "its tick is not settled: an attempt of it is under way, or follows by itself");
}

/* Many failures at a time ask for as many runs of the job that tells of them. */
static bool job_next_waits_for_place(const JobOutlook *outlook) {
        const ManualRun *manual = outlook->manual;

        return manual && manual->parent && outlook->now <= manual->not_after &&
               !decision_pause_lasts(outlook->pause) && job_spec_beside(outlook->spec) > 1 &&
               decision_why_not(outlook->spec, outlook->ledger).text;
}

/* Return: whether what became of older ticks is said before the manual run is queued for: as long
 * as such runs come one after the other, nobody would say it. Not what somebody may wait for, or
 * others say first. */
static bool job_next_owes_a_word(const JobOutlook *outlook) {
        return outlook->decision->n_skips > 0 && !outlook->may_be_waited_for &&
               outlook->lower_ranks == 0;
}

static JobNext job_next_manual(const JobOutlook *outlook) {
        DecisionWhy why = job_next_why_not(outlook);

        if (outlook->now > outlook->manual->not_after)
                why = job_next_because(job_next_late(outlook->manual));
        else if (decision_pause_lasts(outlook->pause))
                why = (DecisionWhy){DECISION_KIND_PAUSED, outlook->pause->why};
        if (why.text)
                return (JobNext){.what = JOB_NEXT_REFUSE, .why = why};
        if (outlook->queued_manual)
                return (JobNext){.what = JOB_NEXT_GO_ON};
        return (JobNext){.what =
                             job_next_owes_a_word(outlook) ? JOB_NEXT_SKIP : JOB_NEXT_QUEUE_MANUAL};
}

/* Return: whether what is queued for is not to begin. */
static bool job_next_is_paused(const JobOutlook *outlook) {
        return decision_pause_lasts(outlook->pause) ||
               (decision_pause_covers(outlook->pause,
                                      job_spec_start(outlook->spec, outlook->queued_tick)) &&
                !ledger_is_decided(outlook->ledger, outlook->queued_tick));
}

/* Return: whether a newer tick takes the place of what is queued for. */
static bool job_next_gives_way(const JobOutlook *outlook) {
        for (size_t i = 0; i < outlook->decision->n_skips; i++) {
                const DecisionSkip *skip = &outlook->decision->skips[i];

                if (skip->from <= outlook->queued_tick && outlook->queued_tick <= skip->to &&
                    skip->why.kind == DECISION_KIND_REPLACED)
                        return true;
        }
        return false;
}

/* Return: whether what is due then may not begin any more. */
static bool job_next_is_shut_out(const JobOutlook *outlook, int64_t due) {
        return outlook->window && (usec_t)due * USEC_PER_SEC < outlook->window->since;
}

/* start-deadline bounds when queueing may begin; how long it lasts is lock-wait's business, so a
 * tick that is queued for is neither too old nor too late. It may be too early: another node was
 * quicker, and the next attempt is to come later. */
bool job_next_is_long_wait(const JobOutlook *outlook) {
        const Ledger *ledger = outlook->ledger;
        int64_t tick = outlook->queued_tick, due = decision_due(outlook->spec, ledger, tick);

        return outlook->spec->lock_wait_set && tick && !job_next_is_paused(outlook) &&
               !job_next_gives_way(outlook) && !job_next_is_shut_out(outlook, due) &&
               ledger_is_claimable(ledger, tick) && (usec_t)due * USEC_PER_SEC <= outlook->now &&
               !decision_why_not(outlook->spec, ledger).text;
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
        case DECISION_REPLACE:
                return (JobNext){.what = JOB_NEXT_REPLACE, .wakes = true};
        case DECISION_NOTHING:
                break;
        }
        return (JobNext){.what = decision->watch ? JOB_NEXT_WATCH : JOB_NEXT_NOTHING,
                         .wakes = true};
}

static JobNext job_next_of(const JobOutlook *outlook, bool waits) {
        if (job_next_is_idle(outlook))
                return job_next_by_decision(outlook);
        if (!outlook->clock_known)
                return job_next_without_clock(outlook);
        if (job_next_is_long_wait(
                outlook)) /* its place in the line is not given up for a request */
                return (JobNext){.what = JOB_NEXT_GO_ON};
        if (!waits && job_next_has_manual(outlook))
                return job_next_manual(outlook);
        if (outlook->lower_ranks > 0 && outlook->decision->verdict != DECISION_REPLACE &&
            !decision_only_overlaps(outlook->decision)) /* who runs it says so at once */
                return (JobNext){.what = JOB_NEXT_LATER, .delay = outlook->lower_ranks};
        return job_next_by_decision(outlook);
}

JobNext job_next(const JobOutlook *outlook) {
        bool waits = job_next_waits_for_place(outlook);
        JobNext next = job_next_of(outlook, waits);

        if (!waits)
                return next;
        if (next.what == JOB_NEXT_NOTHING)
                next.what = JOB_NEXT_WATCH; /* a place that becomes free shows in the ledger */
        next.until = outlook->manual->not_after + 1;
        return next;
}

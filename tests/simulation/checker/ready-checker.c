/* Services that say themselves when they have started (`ready: notify`): what does not say so
 * within its timeout is ended, and only for that; what has said so is not ended for it. That it is
 * begun again then, after its pause, is looked at with all services (service-checker.c), and what
 * its record says with all runs (ledger-checker.c). */
#include <inttypes.h>

#include "service-checker.h"

/* PID 1 has come to it by then, and what obeys nothing is killed. */
#define ENDED_WITHIN (5 * USEC_PER_SEC)
/* By how much clocks differ in that time. */
#define TOLERANCE (50 * USEC_PER_MSEC)

/* Return: the job, if its runs are limited so; NULL. */
static const PlanJob *ready_job(const Checker *checker, const HistoryRun *run) {
        const PlanJob *job = plan_find(checker_plan(checker), run->job);

        return job && job->service.notifies && job->service.timeout > 0 ? job : NULL;
}

void ready_look_at(Checker *checker, const HistoryRun *run) {
        const PlanJob *job = ready_job(checker, run);
        usec_t now = checker_now(checker), limit;

        if (!job || run->ready || run->over || run->stopped)
                return;
        limit = (job->service.timeout + job->stop_timeout) * USEC_PER_SEC;
        if (now >= run->begun + limit + ENDED_WITHIN &&
            !history_befell(checker_history(checker), run->node, HISTORY_STANDSTILL, run->begun,
                            now))
                checker_complain(checker,
                                 "run %s of the service %s has not said on %s for %" PRIu64
                                 " s that it is ready, and is not ended",
                                 run->run, run->job, run->node, (now - run->begun) / USEC_PER_SEC);
}

void ready_judge_end(Checker *checker, const HistoryRun *run) {
        const PlanJob *job = ready_job(checker, run);
        bool timed_out = run->result.outcome == UNIT_OUTCOME_TIMEOUT;

        if (!job || !timed_out)
                return;
        if (run->ready)
                checker_complain(checker,
                                 "run %s of the service %s said on %s after %" PRIu64
                                 " ms that it is ready, and is ended for its timeout",
                                 run->run, run->job, run->node,
                                 (run->ready - run->begun) / USEC_PER_MSEC);
        else if (run->over + TOLERANCE < run->begun + job->service.timeout * USEC_PER_SEC)
                checker_complain(checker,
                                 "run %s of the service %s is ended on %s after %" PRIu64
                                 " ms, and had %u s to say that it is ready",
                                 run->run, run->job, run->node,
                                 (run->over - run->begun) / USEC_PER_MSEC, job->service.timeout);
}

/* See next-attempt.h. */
#include "next-attempt.h"

#include <glib.h>
#include <limits.h>

#include "exit-set.h"
#include "job.h"
#include "service-restart.h"

/* What stands in a record may be anything: no job says more than these. */
static unsigned next_attempt_limit(const RunTerms *terms) {
        return MAX(MIN(terms->attempts, JOB_ATTEMPTS_MAX), terms->rerun ? 2U : 1U);
}

bool next_attempt_may_follow(const RunRecord *record) {
        unsigned limit = record->terms.service ? UINT_MAX : next_attempt_limit(&record->terms);

        return record->tick && record->attempt < limit;
}

/* ---- of a service ---- */

static ServiceRestart next_attempt_of_service(const RunRecord *record) {
        const RunTerms *terms = &record->terms;
        ServiceEnd end = {
            .state = record->state,
            .continues = record->continues,
            .lived = usec_sub(record->ended, record->started ? record->started : record->claimed),
            .short_lived = terms->short_lived,
            .delay = MIN(terms->delay, JOB_RETRY_DELAY_MAX),
            .max_delay = MIN(terms->max_delay, JOB_RETRY_DELAY_MAX),
        };

        return service_restart_after(&end);
}

unsigned next_attempt_short_lived(const RunRecord *record) {
        return next_attempt_of_service(record).short_lived;
}

static usec_t next_attempt_begin_of_service(const RunRecord *record, usec_t now) {
        ServiceRestart restart = next_attempt_of_service(record);

        return restart.follows ? usec_add(now, restart.pause) : 0;
}

/* ---- of a tick ---- */

static usec_t next_attempt_pause(const RunRecord *record) {
        const RunTerms *terms = &record->terms;

        return usec_doubled(terms->delay, MIN(terms->max_delay, JOB_RETRY_DELAY_MAX),
                            MAX(record->attempt, 1) - 1);
}

/* Return: whether it is over, and not known to have done its work. */
static bool next_attempt_was_lost(const RunRecord *record) {
        return record->state == RUN_INTERRUPTED ||
               (record->state == RUN_UNKNOWN && !record->continues);
}

usec_t next_attempt_not_before(const RunRecord *record, usec_t now) {
        const RunTerms *terms = &record->terms;

        if (!next_attempt_may_follow(record))
                return 0;
        if (terms->service)
                return next_attempt_begin_of_service(record, now);
        switch (record->state) {
        case RUN_FAILED:
        case RUN_TIMED_OUT:
                if (record->attempt >= terms->attempts ||
                    exit_set_has(terms->no_retry, record->exit_status))
                        return 0;
                return usec_add(now, next_attempt_pause(record));
        case RUN_INTERRUPTED:
        case RUN_UNKNOWN:
                if (!terms->rerun || !next_attempt_was_lost(record))
                        return 0;
                return usec_add(now, record->attempt > 1 ? next_attempt_pause(record) : 0);
        default:
                return 0;
        }
}

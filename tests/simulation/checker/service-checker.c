/* Services, whose runs are attempts of one tick without end: never two of them live at once in the
 * whole cluster, whatever else is excused, and be it one that continues without its locks and was
 * given up; and the next begins no sooner than after its pause since the one before was gone. The
 * pause is told again in the checker's own words, from the records of the runs before, so that a
 * fault of the product's rule (record/service-restart.h) is seen.
 *
 * That a ledger has the next one follow, and when, is looked at with all further attempts
 * (retry-checker.c). */
#include "service-checker.h"

#include <inttypes.h>
#include <string.h>

/* A run that lived for so long can be kept running: the pauses begin anew. */
#define LONG (10 * USEC_PER_MINUTE)
/* max-skew: by whose clock the next one begins. */
#define SKEW (2 * USEC_PER_SEC)

/* ---- what follows ---- */

/* What may be alive although it was given up is followed by none. */
bool service_follows(const RunRecord *record) {
        return record->tick && record->attempt > 0 && run_state_is_final(record->state) &&
               record->state != RUN_SKIPPED && !(record->state == RUN_UNKNOWN && record->continues);
}

/* Return: whether it counts as one that cannot be kept running; whoever stopped it says nothing of
 * that. */
static bool service_was_short(const RunRecord *record) {
        usec_t begun = record->started ? record->started : record->claimed;

        return service_follows(record) && record->state != RUN_STOPPED &&
               record->ended < usec_add(begun, LONG);
}

/* Return: how many such ones there were in a row right before it. */
static unsigned service_short_before(const Write *write, const RunRecord *record) {
        unsigned n = 0;

        for (unsigned attempt = record->attempt - 1; attempt > 0; attempt--) {
                g_autofree char *run = g_strdup_printf("%" PRId64 "-%u", record->tick, attempt);
                _cleanup_(run_record_freep) RunRecord *before =
                    write_record(write, record->job, run, false);

                if (!before || !service_was_short(before))
                        break;
                n++;
        }
        return n;
}

usec_t service_pause(const Write *write, const RunRecord *record) {
        bool lost = record->state == RUN_INTERRUPTED || record->state == RUN_UNKNOWN;
        unsigned before = service_was_short(record) ? service_short_before(write, record) : 0;
        usec_t pause = record->terms.delay;

        if (lost && before == 0)
                return 0;
        for (unsigned i = lost ? 1 : 0; i < before && pause < record->terms.max_delay; i++)
                pause *= 2;
        return MIN(pause, record->terms.max_delay);
}

bool service_goes_on(const Ledger *ledger, int64_t tick) {
        return ledger->digest && *ledger->digest &&
               g_strcmp0(ledger->schedule, LEDGER_SERVICE) == 0 &&
               tick == MAX(ledger->mark, ledger->from) + 1;
}

/* ---- what is written ---- */

static bool service_has_terms(const PlanJob *job, const char *name, const RunRecord *record) {
        return g_str_equal(job->name, name) && record->terms.service &&
               record->terms.delay == job->service.delay * USEC_PER_SEC &&
               record->terms.max_delay == job->service.max_delay * USEC_PER_SEC;
}

void service_judge_claim(const Write *write, const PlanJob *job, const RunRecord *record) {
        const GPtrArray *edits = checker_plan(write->checker)->edits;
        bool has = service_has_terms(job, job->name, record);

        for (guint i = 0; i < edits->len && !has; i++)
                has = service_has_terms(edits->pdata[i], job->name, record);
        if (!has)
                checker_complain(write->checker,
                                 "run %s of the service %s is claimed by %s with pauses that no "
                                 "definition of it ever had",
                                 record->run, record->job, record->node);
}

void service_note_end(const Write *write, const RunRecord *record) {
        Claimed *claimed = write_claimed(write, record->job, record->run);

        if (claimed)
                claimed->pause = service_pause(write, record);
}

/* ---- what happens ---- */

static void service_judge_alone(Checker *checker, const HistoryRun *run) {
        const GPtrArray *alive = history_alive(checker_history(checker));

        for (guint i = 0; i < alive->len; i++) {
                const HistoryRun *other = alive->pdata[i];

                if (other != run && (!other->excused || other->continues) &&
                    strcmp(other->job, run->job) == 0)
                        checker_complain(checker,
                                         "run %s of the service %s begins on %s while its run %s "
                                         "is alive on %s",
                                         run->run, run->job, run->node, other->run, other->node);
        }
}

/* Return: the run before it; NULL where that never began. */
static const HistoryRun *service_run_before(const Checker *checker, const HistoryRun *run) {
        const GPtrArray *runs = history_runs(checker_history(checker));

        for (guint i = runs->len; i > 0; i--) {
                const HistoryRun *other = runs->pdata[i - 1];

                if (other->tick == run->tick && other->attempt + 1 == run->attempt &&
                    strcmp(other->job, run->job) == 0)
                        return other;
        }
        return NULL;
}

static void service_judge_pause(Checker *checker, const HistoryRun *run) {
        const HistoryRun *before = service_run_before(checker, run);
        const Claimed *claimed =
            before ? write_book_find(checker_book(checker), before->job, before->run) : NULL;
        usec_t slack;

        if (!claimed || before->excused || before->empty == 0)
                return;
        slack = SKEW + (usec_t)checker_skew(checker, before->node) * USEC_PER_SEC;
        if (run->begun + slack < before->empty + claimed->pause)
                checker_complain(checker,
                                 "run %s of the service %s begins on %s %" PRIu64
                                 " ms after %s was gone, and its pause is %" PRIu64 " ms",
                                 run->run, run->job, run->node,
                                 (run->begun - before->empty) / USEC_PER_MSEC, before->run,
                                 claimed->pause / USEC_PER_MSEC);
}

void service_judge_begin(Checker *checker, const HistoryRun *run) {
        service_judge_alone(checker, run);
        service_judge_pause(checker, run);
}

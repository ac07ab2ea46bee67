/* The attempts of a tick: another one follows exactly where the job's definition says so, one after
 * the other, not before its pause is over, and as often as it says; what is to be retried is, or is
 * given up when it is too late, or when it turns out that the attempt before has done its work. Of
 * a service there is no last one, and none is given up. */
#include <inttypes.h>

#include "follow-checker.h"
#include "service-checker.h"
#include "skip-record.h"
#include "write-checker.h"

/* max-skew, seconds: by whose clock the next attempt begins. */
#define SKEW 2
/* What is asked for is done within this, or never: its session ends. */
#define ASKED_WITHIN (60 * USEC_PER_SEC)

static unsigned retry_limit(const PlanJob *job) {
        return job->service.is ? G_MAXUINT : MAX(job->attempts, job->reruns ? 2 : 1);
}

bool retry_follows(const PlanJob *job, const RunRecord *record) {
        if (job->service.is)
                return service_follows(record);
        if (!record->tick || record->attempt == 0)
                return false;
        switch (record->state) {
        case RUN_FAILED:
                if (job->gives_in && record->exit_status == PLAN_NO_RETRY)
                        return false;
                /* fall through */
        case RUN_TIMED_OUT:
                return record->attempt < job->attempts;
        case RUN_INTERRUPTED:
        case RUN_UNKNOWN:
                return job->reruns && record->attempt < retry_limit(job) &&
                       (record->state == RUN_INTERRUPTED || !record->continues);
        default:
                return false;
        }
}

static usec_t retry_time(const Write *write) {
        return (usec_t)write->txn->time_ms * USEC_PER_MSEC;
}

/* ---- a claim ---- */

void retry_judge_claim(const Write *write, const PlanJob *job, const RunRecord *record) {
        const Ledger *before = write_ledger(write, record->job);
        const LedgerEntry *entry = before ? ledger_find_tick(before, record->tick) : NULL;
        g_autofree char *run = g_strdup_printf("%" PRId64 "-%u", record->tick, record->attempt - 1);
        _cleanup_(run_record_freep) RunRecord *last = write_record(write, record->job, run, false);

        if (record->attempt > retry_limit(job))
                checker_complain(write->checker, "run %s of %s is attempt %u of %u", record->run,
                                 record->job, record->attempt, retry_limit(job));
        if (!last || !retry_follows(job, last))
                checker_complain(write->checker,
                                 "run %s of %s is claimed by %s after one that is %s", record->run,
                                 record->job, record->node,
                                 last ? run_state_to_string(last->state) : "not there");
        if (!entry || !entry->not_before || !g_str_equal(entry->run, run))
                checker_complain(write->checker,
                                 "run %s of %s is claimed by %s, and its tick is not to be retried",
                                 record->run, record->job, record->node);
        else if (retry_time(write) + SKEW * USEC_PER_SEC < entry->not_before)
                checker_complain(write->checker, "run %s of %s is claimed before its time",
                                 record->run, record->job);
}

/* ---- from one ledger to the next ---- */

/* The pause, as the definition has it. */
static usec_t retry_pause(const Write *write, const PlanJob *job, const RunRecord *record) {
        usec_t pause = job->retry_delay * USEC_PER_SEC;

        if (job->service.is)
                return service_pause(write, record);
        if (record->attempt == 1 &&
            (record->state == RUN_INTERRUPTED || record->state == RUN_UNKNOWN))
                return 0;
        for (unsigned i = 1; i < record->attempt; i++)
                pause *= 2;
        return MIN(pause, PLAN_MAX_DELAY * USEC_PER_SEC);
}

/* Return: whether the pause is counted from the settle, by clocks that are right; what is asked
 * for is written a while later, or never. */
static bool retry_is_at_its_time(const Write *write, const PlanJob *job, const RunRecord *record,
                                 const LedgerEntry *entry) {
        const Claimed *claimed = write_book_find(write->book, record->job, record->run);
        usec_t pause = retry_pause(write, job, record), latest = usec_add(retry_time(write), pause),
               earliest = usec_sub(latest, ASKED_WITHIN);
        usec_t skew = (usec_t)checker_skew(write->checker, write_author(write)) * USEC_PER_SEC;

        if (claimed)
                earliest =
                    MAX(earliest, (usec_t)MACHINE_EPOCH * USEC_PER_SEC + claimed->at + pause);
        return entry->not_before <= latest + skew && entry->not_before + skew >= earliest;
}

/* Return: whether the job has ticks. */
static bool retry_has_ticks(const Ledger *after) {
        return after->digest && *after->digest;
}

/* Return: whether the tick may be attempted again: that of a service until it is another one. */
static bool retry_is_possible(const PlanJob *job, const Ledger *after, int64_t tick) {
        return job->service.is ? service_goes_on(after, tick) : retry_has_ticks(after);
}

/* Return: whether a node has lost the job, and said so: then nobody may have it. */
static bool retry_is_nobodys(const Write *write, const char *job) {
        const Ledger *before = write_ledger(write, job);

        return before && before->withdrawn != 0;
}

/* Return: whether a newer tick takes its place. */
static bool retry_is_replaced(const Write *write, const char *job, int64_t tick) {
        return plan_is_replaced(checker_plan(write->checker), job, tick,
                                write->txn->time_ms / 1000 + SKEW);
}

/* What a person or a newer tick had ended is not retried, however it ended; unless that was over by
 * then. */
static bool retry_is_unwanted(const Write *write, const RunRecord *record) {
        return history_is_unwanted(checker_history(write->checker), record->job, record->run) ||
               retry_is_replaced(write, record->job, record->tick);
}

/* A run of a tick was settled, or its result is another now. */
static void retry_judge_settled(const Write *write, const PlanJob *job, const RunRecord *record,
                                const LedgerEntry *now, const Ledger *after) {
        bool is = now && now->not_before > 0,
             follows = retry_follows(job, record) && retry_is_possible(job, after, record->tick);

        if (job->service.is)
                service_note_end(write, record);
        if (is != follows && !(follows && !job->service.is && retry_is_unwanted(write, record)))
                checker_complain(
                    write->checker, "run %s of %s is settled as %s (%d), and %s", record->run,
                    job->name, run_state_to_string(record->state), record->exit_status,
                    is ? "its tick is to be retried" : "its tick is not to be retried");
        else if (is && !retry_is_at_its_time(write, job, record, now))
                checker_complain(
                    write->checker,
                    "run %s of %s is settled by %s, and to be retried %" PRId64 " ms later",
                    record->run, job->name, write_author(write) ? write_author(write) : "somebody",
                    ((int64_t)now->not_before - (int64_t)retry_time(write)) /
                        (int64_t)USEC_PER_MSEC);
}

/* Return: whether it is too late for it. */
static bool retry_is_late(const Write *write, const PlanJob *job, const LedgerEntry *entry) {
        return retry_time(write) + SKEW * USEC_PER_SEC >=
               usec_add(entry->not_before, job->deadline * USEC_PER_SEC);
}

/* Return: whether it was to begin outside of its window, or that has closed. */
static bool retry_is_shut_out(const Write *write, const LedgerEntry *entry, const Ledger *after) {
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        WindowStretch stretch;

        if (ledger_schedule(after, &schedule) < 0 || !schedule)
                return false;
        stretch = schedule_window(
            schedule, (int64_t)(usec_add(entry->not_before, USEC_PER_SEC - 1) / USEC_PER_SEC));
        return !stretch.open ||
               (stretch.to != INT64_MAX &&
                retry_time(write) + SKEW * USEC_PER_SEC >= (usec_t)stretch.to * USEC_PER_SEC);
}

/* Why it is given up stands beside its attempts. */
static void retry_judge_end(const Write *write, const LedgerEntry *entry, const char *job) {
        g_autofree char *run = g_strdup_printf("%" PRId64 "-0", entry->tick);
        _cleanup_(run_record_freep) RunRecord *record = write_record(write, job, run, true);
        g_autofree char *why = g_strdup_printf(SKIP_ATTEMPT "%u is not made: ", entry->attempt + 1);

        if (!record || !record->why || !g_str_has_prefix(record->why, why))
                checker_complain(write->checker,
                                 "run %s of %s was to be retried, and is given up without a word",
                                 entry->run, job);
}

void retry_judge_step(const Write *write, const LedgerEntry *entry, const char *name,
                      const Ledger *after) {
        const PlanJob *job = plan_find(checker_plan(write->checker), name);
        const LedgerEntry *now = entry->tick ? ledger_find_tick(after, entry->tick) : NULL;
        _cleanup_(run_record_freep) RunRecord *was = write_record(write, name, entry->run, false),
                                              *is = write_record(write, name, entry->run, true);

        if (!job || !was || !is || (entry->state != RUN_CLAIMED && !entry->not_before))
                return;
        if (run_state_is_final(is->state) && is->state != was->state) {
                retry_judge_settled(write, job, is, now, after);
                return;
        }
        if (!entry->not_before || (now && (now->state == RUN_CLAIMED || now->not_before > 0)) ||
            !retry_is_possible(job, after, entry->tick))
                return;
        if (job->service.is) {
                checker_complain(write->checker,
                                 "the service %s is to be run again after %s, and is given up",
                                 name, entry->run);
                return;
        }
        if (!retry_is_late(write, job, entry) && !retry_is_shut_out(write, entry, after) &&
            !retry_is_replaced(write, name, entry->tick) && !retry_is_nobodys(write, name))
                checker_complain(
                    write->checker, "run %s of %s was to be retried, and is given up by %s in time",
                    entry->run, name, write_author(write) ? write_author(write) : "somebody");
        retry_judge_end(write, entry, name);
        follow_judge_end(write, was, is);
}

void retry_judge_withdrawn(const Write *write, const char *name, const Ledger *before,
                           const Ledger *after) {
        if (retry_has_ticks(after))
                return;
        if (ledger_first_retry(after))
                checker_complain(write->checker,
                                 "job %s is withdrawn, and a tick of it is to be retried", name);
        if (retry_has_ticks(before) && ledger_first_retry_by_ticks(before))
                checker_complain(write->checker,
                                 "job %s is withdrawn, and of a tick of it that was to be retried "
                                 "nothing was said before",
                                 name);
}

/* ---- records that are deleted ---- */

/* What stands in a ledger is kept, but that is the last one. What a job has done under another name
 * stays there, whatever goes under this one. */
void retry_judge_forgotten(const Write *write, const RunRecord *record) {
        for (unsigned attempt = 1; record->tick && attempt < record->attempt; attempt++) {
                g_autofree char *run = g_strdup_printf("%" PRId64 "-%u", record->tick, attempt);
                _cleanup_(run_record_freep) RunRecord *before =
                    write_record_of(write, record->job, run, true);

                if (before)
                        checker_complain(write->checker,
                                         "the record of run %s of %s is deleted before that of %s",
                                         record->run, record->job, run);
        }
}

/* Every change of a ledger, as it is committed: what was decided stays decided, the mark only
 * grows, and passes no tick that nobody decided; nothing is claimed before it starts, and nothing
 * of a job that runs alone beside another claim. */
#include <inttypes.h>
#include <string.h>

#include "checker.h"
#include "ledger.h"
#include "paths.h"
#include "rename-checker.h"
#include "run-record.h"

#define ROOT "/jobkeeper"

typedef struct Change {
        Checker *checker;
        const PlanJob *job;
        const char *name; /* under which it is written */
        const Transaction *txn;
        const Ledger *before, *after;
} Change;

/* Return: whether the transaction writes a record that covers the tick. */
static bool change_has_record(const Change *change, int64_t tick) {
        g_autofree char *runs = path_runs(ROOT, change->name);

        for (size_t i = 0; i < change->txn->n_ops; i++) {
                const TransactionOp *op = &change->txn->ops[i];
                _cleanup_(run_record_freep) RunRecord *record = NULL;

                if (op->path && op->data && g_str_has_prefix(op->path, runs) &&
                    run_record_decode(op->data, strlen(op->data), &record) >= 0 &&
                    tick >= record->tick && tick <= MAX(record->stretch.to, record->tick))
                        return true;
        }
        return false;
}

/* Return: the next tick of the schedule in force; INT64_MAX where none is. */
static int64_t change_next_tick(const Schedule *schedule, int64_t after) {
        int64_t tick = 0;

        return schedule && schedule_next(schedule, after, &tick) ? tick : INT64_MAX;
}

static void change_judge_mark(const Change *change) {
        int64_t was = ledger_floor(change->before), is = ledger_floor(change->after);
        _cleanup_(schedule_freep) Schedule *schedule = NULL;

        (void)ledger_schedule(change->after, &schedule);

        if (is < was)
                checker_complain(change->checker,
                                 "the mark of %s goes back from %" PRId64 " to %" PRId64,
                                 change->job->name, was, is);
        for (int64_t tick = change_next_tick(schedule, MAX(was, change->after->from)); tick <= is;
             tick = change_next_tick(schedule, tick))
                if (!ledger_is_decided(change->before, tick) && !change_has_record(change, tick))
                        checker_complain(change->checker,
                                         "the mark of %s passes tick %" PRId64
                                         ", which nobody decided",
                                         change->job->name, tick);
}

/* Return: when it starts, by the schedule in force. */
static int64_t change_start(const Change *change, int64_t tick) {
        _cleanup_(schedule_freep) Schedule *schedule = NULL;

        (void)ledger_schedule(change->after, &schedule);
        return tick && schedule ? schedule_start(schedule, change->name, tick) : tick;
}

static unsigned change_count_claimed(const Change *change) {
        unsigned n = 0;

        for (guint i = 0; i < change->before->open->len; i++)
                n += ((const LedgerEntry *)change->before->open->pdata[i])->state == RUN_CLAIMED;
        return n;
}

static void change_judge_claim(const Change *change, const LedgerEntry *entry) {
        const PlanLock *own = change->job->locks->len > 0 ? change->job->locks->pdata[0] : NULL;
        const LedgerEntry *other = ledger_first_claimed(change->before);
        int64_t skew = checker_skew(change->checker, entry->node);

        /* A further attempt of a tick is of a time at which another definition may be in force. */
        if (entry->attempt <= 1 &&
            change_start(change, entry->tick) > change->txn->time_ms / 1000 + skew)
                checker_complain(change->checker,
                                 "tick %" PRId64 " of %s is claimed before it starts", entry->tick,
                                 change->job->name);
        if (other && own && own->mode == PLAN_EXCLUSIVE &&
            g_str_has_prefix(own->resource, "job:") && change_count_claimed(change) >= own->slots)
                checker_complain(change->checker, "run %s of %s is claimed while %s is under way",
                                 entry->run, change->job->name, other->run);
}

/* What a range of skips has decided. */
static void change_judge_range(const Change *change, const Schedule *schedule,
                               const LedgerEntry *entry) {
        for (int64_t tick = entry->tick > 0 ? change_next_tick(schedule, entry->tick - 1)
                                            : INT64_MAX;
             tick <= entry->to; tick = change_next_tick(schedule, tick))
                if (!ledger_is_decided(change->after, tick))
                        checker_complain(change->checker,
                                         "tick %" PRId64 " of %s was decided, and is no more", tick,
                                         change->job->name);
}

/* Return: whether the mark passed it. A run of a definition before does not count, were it claimed
 * a moment too soon, by a clock that is ahead, so that its tick comes after the new one. */
static bool change_passed(const Change *change, const LedgerEntry *entry) {
        _cleanup_(schedule_freep) Schedule *schedule = NULL;

        (void)ledger_schedule(change->after, &schedule);
        return entry->tick > change->after->from && entry->tick <= change->after->mark &&
               change_next_tick(schedule, entry->tick - 1) == entry->tick;
}

static void change_judge_entries(const Change *change) {
        _cleanup_(schedule_freep) Schedule *schedule = NULL;

        (void)ledger_schedule(change->before, &schedule);
        if (change->after->open->len > LEDGER_OPEN_MAX)
                checker_complain(change->checker, "the ledger of %s has %u entries",
                                 change->job->name, change->after->open->len);
        for (guint i = 0; i < change->before->open->len; i++)
                change_judge_range(change, schedule, change->before->open->pdata[i]);
        for (guint i = 0; i < change->after->open->len; i++) {
                const LedgerEntry *entry = change->after->open->pdata[i];

                if ((!run_state_is_final(entry->state) || entry->not_before) &&
                    change_passed(change, entry))
                        checker_complain(
                            change->checker,
                            "the mark of %s passes run %s, which is under way or to be retried",
                            change->job->name, entry->run);
                if (!run_state_is_final(entry->state) &&
                    !ledger_find_run(change->before, entry->run))
                        change_judge_claim(change, entry);
        }
}

/* `before` NULL: it is the first. */
static void checker_judge_change(const Change *change) {
        if (!change->before)
                return;
        change_judge_mark(change);
        change_judge_entries(change);
}

/* Return: the name of the job whose ledger stands there, within the path; NULL: none does. */
static const char *change_name_of_ledger(const char *path) {
        g_autofree char *jobs = path_jobs(ROOT);
        size_t length = strlen(jobs);

        return strncmp(path, jobs, length) == 0 && path[length] == '/' ? path + length + 1 : NULL;
}

/* What fails is committed as well, and changes nothing. */
static bool change_has_failed(const Transaction *txn) {
        for (size_t i = 0; i < txn->n_ops; i++)
                if (txn->ops[i].type == TXN_ERROR)
                        return true;
        return false;
}

/* Takes over the ledger. */
static void checker_take_ledger(Checker *checker, const Transaction *txn, const PlanJob *job,
                                const char *name, Ledger *ledger) {
        GHashTable *ledgers = checker_ledgers(checker);
        const Change change = {checker, job, name, txn, g_hash_table_lookup(ledgers, job->name),
                               ledger};

        checker_judge_change(&change);
        g_hash_table_insert(ledgers, job->name, ledger);
}

void checker_on_commit(Checker *checker, const Transaction *txn) {
        if (change_has_failed(txn))
                return;
        for (size_t i = 0; i < txn->n_ops; i++) {
                const TransactionOp *op = &txn->ops[i];
                const char *name = op->path ? change_name_of_ledger(op->path) : NULL;
                const PlanJob *job = name ? plan_find(checker_plan(checker), name) : NULL;
                Ledger *ledger = NULL;

                if (!job || (op->type != TXN_SET && op->type != TXN_CREATE))
                        continue;
                if (!op->data || ledger_decode(op->data, strlen(op->data), &ledger) < 0) {
                        checker_complain(checker, "%s is no ledger: %s", op->path,
                                         op->data ? op->data : "no data");
                        return;
                }
                if (rename_note_ledger(checker, job, name, ledger))
                        checker_take_ledger(checker, txn, job, name, ledger);
                else
                        ledger_free(ledger);
        }
}

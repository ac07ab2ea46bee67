/* A job that gets another name is one job: everything else is judged of both names together, by
 * the one that it had first, so that no tick runs under either that the other one has decided, no
 * attempt is dropped between them, no two runs live side by side that would not under one name, and
 * each tick has its records under one of them. Here it is looked at how it passes from one to the
 * other: by one transaction, while nothing is under way, with all that the ledger knows; and that
 * nothing is decided under the first name after it. */
#include "rename-checker.h"

#include <inttypes.h>
#include <string.h>

#include "paths.h"
#include "write-checker.h"

#define ROOT "/jobkeeper"

struct RenameBook {
        GHashTable *gone_on; /* jobs that stand under their other name: PlanJob, a set */
};

RenameBook *rename_book_new(void) {
        RenameBook *book = g_new0(RenameBook, 1);

        book->gone_on = g_hash_table_new(g_direct_hash, g_direct_equal);
        return book;
}

RenameBook *rename_book_free(RenameBook *book) {
        if (!book)
                return NULL;
        g_hash_table_unref(book->gone_on);
        g_free(book);
        return NULL;
}

static bool rename_has_gone_on(const Checker *checker, const PlanJob *job) {
        return g_hash_table_contains(checker_renames(checker)->gone_on, job);
}

const char *rename_name(const Checker *checker, const PlanJob *job) {
        return rename_has_gone_on(checker, job) ? plan_next_name(checker_plan(checker), job)
                                                : job->name;
}

bool rename_waits(const Checker *checker, const PlanJob *job, int64_t tick) {
        const Plan *plan = checker_plan(checker);
        const GPtrArray *alive = history_alive(checker_history(checker));

        if (plan_renamed_count(plan, job) < plan->machines ||
            !g_str_equal(rename_name(checker, job), job->name))
                return false;
        for (guint i = 0; i < alive->len; i++) {
                const HistoryRun *run = alive->pdata[i];

                if (g_str_equal(run->job, job->name) &&
                    MACHINE_EPOCH + (int64_t)(run->begun / USEC_PER_SEC) <= tick)
                        return true;
        }
        return false;
}

/* ---- a ledger ---- */

/* Return: what stands there behind the transaction, if that writes it; NULL: it does not. */
static Ledger *rename_written(const Write *write, const char *name) {
        g_autofree char *path = path_job(ROOT, name);
        Ledger *ledger = NULL;

        for (size_t i = 0; i < write->txn->n_ops; i++) {
                const TransactionOp *op = &write->txn->ops[i];

                if ((op->type == TXN_SET || op->type == TXN_CREATE) && op->data &&
                    strcmp(op->path, path) == 0 &&
                    ledger_decode(op->data, strlen(op->data), &ledger) == 0)
                        return ledger;
        }
        return NULL;
}

/* What was skipped up to the mark says no more than that. */
static bool rename_keeps_entry(const Ledger *before, const LedgerEntry *entry,
                               const Ledger *after) {
        const LedgerEntry *now = ledger_find_run(after, entry->run);

        if (entry->state == RUN_SKIPPED && entry->to <= ledger_floor(before))
                return true;
        return now && now->tick == entry->tick && now->to == entry->to &&
               now->state == entry->state && now->attempt == entry->attempt &&
               now->not_before == entry->not_before;
}

/* Return: what the new name does not know; NULL: it knows all. */
static const char *rename_forgets(const Ledger *before, const Ledger *after) {
        for (guint i = 0; i < before->open->len; i++)
                if (!rename_keeps_entry(before, before->open->pdata[i], after))
                        return "what was open";
        if (after->mark != before->mark || after->from != before->from)
                return "what was settled";
        if (g_strcmp0(after->digest, before->digest) != 0 ||
            g_strcmp0(after->schedule, before->schedule) != 0)
                return "what was in force";
        if (after->succeeded != before->succeeded || after->overdue != before->overdue ||
            after->failing != before->failing)
                return "how it went";
        return NULL;
}

static void rename_judge_passing(const Write *write, const PlanJob *job, const char *next,
                                 const Ledger *after) {
        _cleanup_(ledger_freep) Ledger *left = rename_written(write, job->name);
        const Ledger *before = write_ledger(write, job->name);
        const LedgerEntry *run = before ? ledger_first_claimed(before) : NULL;
        const char *forgotten = before ? rename_forgets(before, after) : NULL;

        if (!left || g_strcmp0(left->renamed, next) != 0)
                checker_complain(write->checker,
                                 "%s goes on as %s, and its first name is left open", job->name,
                                 next);
        if (run)
                checker_complain(write->checker, "%s goes on as %s while its run %s is under way",
                                 job->name, next, run->run);
        if (forgotten)
                checker_complain(write->checker, "%s goes on as %s, which does not know %s",
                                 job->name, next, forgotten);
}

/* Under its first name. Return: whether it is the job's. */
static bool rename_judge_first(const Write *write, const PlanJob *job, const char *next,
                               const Ledger *after) {
        bool gone_on = rename_has_gone_on(write->checker, job);
        _cleanup_(ledger_freep) Ledger *goes_on = rename_written(write, next);

        if (!after->renamed && gone_on)
                checker_complain(write->checker, "%s is in use again, and goes on as %s", job->name,
                                 next);
        if (after->renamed && !gone_on && (!goes_on || strcmp(after->renamed, next) != 0))
                checker_complain(write->checker,
                                 "%s is closed since it is %s now, and that does not go on",
                                 job->name, after->renamed);
        return !after->renamed;
}

bool rename_judge_ledger(const Write *write, const PlanJob *job, const char *name) {
        const char *next = plan_next_name(checker_plan(write->checker), job);
        _cleanup_(ledger_freep) Ledger *after = next ? rename_written(write, name) : NULL;

        if (!after)
                return true;
        if (strcmp(name, job->name) == 0)
                return rename_judge_first(write, job, next, after);
        if (after->renamed)
                checker_complain(write->checker, "%s, which was %s, is closed as %s", next,
                                 job->name, after->renamed);
        if (!rename_has_gone_on(write->checker, job))
                rename_judge_passing(write, job, next, after);
        return true;
}

bool rename_note_ledger(const Checker *checker, const PlanJob *job, const char *name,
                        const Ledger *ledger) {
        if (strcmp(name, job->name) != 0)
                g_hash_table_add(checker_renames(checker)->gone_on, (gpointer)job);
        return !ledger->renamed;
}

/* ---- the rest ---- */

/* A stretch of skips that goes on under the other name has its record there from then on, as a
 * whole; what it said before stays where it was. */
static bool rename_goes_on_in(const RunRecord *first, const RunRecord *after) {
        return first->state == RUN_SKIPPED && after->state == RUN_SKIPPED &&
               first->tick == after->tick && g_strcmp0(first->why, after->why) == 0 &&
               MAX(first->tick, first->stretch.to) < after->stretch.to;
}

void rename_judge_record(const Write *write, const RunRecord *record) {
        const Plan *plan = checker_plan(write->checker);
        const PlanJob *job = plan_find(plan, record->job);
        g_autofree const char **names = job ? plan_both_names(plan, job) : NULL;

        for (const char **other = names; other && *other; other++) {
                _cleanup_(run_record_freep) RunRecord *first =
                    write_record_of(write, *other, record->run, false);

                if (strcmp(*other, record->job) != 0 && first && !rename_goes_on_in(first, record))
                        checker_complain(write->checker, "run %s has a record of %s and one of %s",
                                         record->run, record->job, *other);
        }
}

void rename_judge_end(Checker *checker, const PlanJob *job) {
        const Plan *plan = checker_plan(checker);
        const Ledger *ledger = g_hash_table_lookup(checker_ledgers(checker), job->name);

        if (plan_renamed_count(plan, job) == plan->machines && !rename_has_gone_on(checker, job) &&
            !(ledger && ledger_first_claimed(ledger)))
                checker_complain(checker, "%s is %s in all files, and does not go on as that",
                                 job->name, plan_next_name(plan, job));
}

/* From one state of a ledger to the next, beside change-checker.c: what was claimed is there until
 * it is settled, and a job ends in two steps. */

#include "write-checker.h"

static void step_judge_claimed(const Write *write, const char *job, const LedgerEntry *entry,
                               const Ledger *after) {
        const LedgerEntry *now = ledger_find_run(after, entry->run);
        _cleanup_(run_record_freep) RunRecord *record = NULL;

        if (now && !run_state_is_final(now->state))
                return;
        record = write_record(write, job, entry->run, true);
        if (record && !run_state_is_final(record->state))
                checker_complain(write->checker,
                                 "the ledger of %s drops run %s, which is not settled", job,
                                 entry->run);
}

void step_judge(const Write *write, const char *job, const Ledger *before, const Ledger *after) {
        if (before->digest && *before->digest && after->digest && !*after->digest &&
            before->withdrawn == 0)
                checker_complain(write->checker,
                                 "job %s is withdrawn, and nobody was asked before who has it",
                                 job);
        retry_judge_withdrawn(write, job, before, after);
        for (guint i = 0; i < before->open->len; i++) {
                const LedgerEntry *entry = before->open->pdata[i];

                if (!run_state_is_final(entry->state))
                        step_judge_claimed(write, job, entry, after);
                retry_judge_step(write, entry, job, after);
        }
}

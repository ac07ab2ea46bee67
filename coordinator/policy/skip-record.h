/* Skips that are written outside of the daily decisions: what was still owed when a definition went
 * out of force, and the record that a skip leaves. */
#pragma once

#include "decision.h"
#include "ledger.h"

/* Collects what the definition in force owes up to `until`, at most DECISION_SKIPS_MAX stretches,
 * for `why` (constant), or as paused where it was (`pause` may be NULL). Return: how many; 0 also
 * when its schedule is not known. */
size_t owed_skips(const char *job, const Ledger *ledger, const Schedule *schedule, int64_t until,
                  const char *why, const DecisionPause *pause, DecisionSkip *ret_skips);

/* Return: whether a tick is to be attempted again by what is in force: *ret_skip is that it is not,
 * for `why` (constant). */
bool owed_attempt(const Ledger *ledger, const char *why, DecisionSkip *ret_skip);

/* How the reason begins of what is no skip: that a tick is not attempted again. */
#define SKIP_ATTEMPT "attempt "

/* Return: the record of a skipped entry that `node` decided, one line, newly allocated (g_free). */
char *skip_record_encode(const char *node, const char *job, const LedgerEntry *entry);

/* Return: the record of a run for which `who` asked, or the end of another one (`parent`; NULL: it
 * was by hand), and which does not begin. */
RunRecord *skip_record_by_hand(const char *job, const char *run, const char *who,
                               const RunParent *parent, const char *why);

/* Return: a sentence for the log, newly allocated (g_free). */
char *skips_note(const DecisionSkip *skips, size_t n);

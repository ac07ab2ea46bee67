/* Ledgers and schedules from short texts, for tests of what is decided about ticks. */
#pragma once

#include <criterion/criterion.h>
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "ledger.h"

Schedule *every(unsigned seconds);
/* Entries as the znode has them, in single quotes instead of double ones. */
Ledger *ledger_of(int64_t mark, int64_t from, const char *entries);
/* Return: newly allocated, a short form: "mark 40 | 50 claimed 50-1 | 60-80 x3 skipped 60-0
 * (overlap)". */
char *ledger_to_text(const Ledger *ledger);
void expect_ledger(const Ledger *ledger, const char *expected);
RunRecord *run_of(int64_t tick, const char *run, const char *node, RunState state);
/* Claims the tick for that run on n1. Return: as ledger_claim(). */
int claim_tick(Ledger *ledger, int64_t tick, const char *run);
/* Settles it so, when it ended. Return: as ledger_settle(). */
int settle_tick(Ledger *ledger, const Schedule *schedule, int64_t tick, const char *run,
                RunState state);

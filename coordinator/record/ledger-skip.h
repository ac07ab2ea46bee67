/* How a ledger stays short: what is skipped goes into the entry before it, what is over goes once
 * the mark has passed it, and where many are kept from that they are joined. Pure, as ledger.h. */
#pragma once

#include "ledger.h"

/* Adds [from, to] as skipped, joining it to the entry before when that was skipped for the same
 * reason (in a full ledger: for any) and nothing undecided lies between. *ret_entry is the entry as
 * it now is (borrowed), *ret_joined whether its record exists already. ledger_compact() is to
 * follow. Return: 0; -EEXIST when a tick in the range is decided; -ENOSPC. */
int ledger_skip(Ledger *ledger, const Schedule *schedule, int64_t from, int64_t to, unsigned count,
                const char *why, const LedgerEntry **ret_entry, bool *ret_joined);
/* Moves the mark over what is final and drops those entries, but for a skipped stretch that ends at
 * the mark and may go on. When there are many, what is final above it and lies side by side becomes
 * one entry, which covers all of it and has the run and state of the last: their records say more.
 * `schedule` NULL: only what is at or before the floor is dropped. */
void ledger_compact(Ledger *ledger, const Schedule *schedule);

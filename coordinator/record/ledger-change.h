/* What happens to a job, as its ledger takes it: a run is claimed, ends, is not attempted again,
 * and another definition is in force. Pure, as ledger.h. */
#pragma once

#include "ledger.h"

/* Adds a claim; that of a retry takes over the entry of the attempt before. Return: 0; -EEXIST when
 * the tick is decided (of an attempt by hand: when it is not settled) or the run is known; -ENOSPC
 * when LEDGER_OPEN_MAX is reached. */
int ledger_claim(Ledger *ledger, const RunRecord *record);
/* Settles a claimed run (or refines an unknown one) at `now` (the server's time), updates `last`,
 * then moves the mark. Where the record has it so, the tick is to be retried. Return: 0; -ENOENT
 * when there is no such entry: then no tick is touched, but of a success it is noted, and `last`
 * changes, with `failing`, if it is the same run. */
int ledger_settle(Ledger *ledger, const RunRecord *record, const Schedule *schedule, usec_t now);
/* The tick is not retried any more, from `now` on. Return: whether it was to be.
 * ledger_compact() is to follow. */
bool ledger_give_up(Ledger *ledger, int64_t tick, usec_t now);
/* The job changed: another digest is in force from `now` on. Undecided ticks before it are not owed
 * any more: whoever does this skips first what is due by the schedule that was in force
 * (ledger_schedule()). Of a job that is withdrawn for good ("") no success is known any more: it
 * starts anew when it is back. */
void ledger_adopt_digest(Ledger *ledger, const char *digest, int64_t now);
/* The same because nobody has the one that was in force; it is remembered in whose place. */
void ledger_stand_in(Ledger *ledger, const char *digest, int64_t now);
/* Notes which schedule is in force with the digest (NULL: none). */
void ledger_set_schedule(Ledger *ledger, const Schedule *schedule);
/* Notes that what is in force is a service: it has one tick, ledger_service_tick(), and runs of
 * that for ever. What was to be attempted again of another definition is not. */
void ledger_set_service(Ledger *ledger);

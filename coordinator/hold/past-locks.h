/* Locks of commands that are over, while contenders of theirs may still stand in the queues: what
 * is being deleted, and what a process before us left, which is swept once nothing of its runs is
 * in doubt. Each is remembered as a record without contenders (lock-memory.h) until nothing of it
 * is left, so that a process that is killed leaves the rest to the next. So is the scope of a
 * command that goes on without its lock, while something runs in it: who ends what nobody sees to
 * any more leaves that alone (failed-start.h).
 *
 * Nothing is written in the turn in which they are added: many may end at once, and their commands
 * are to be stopped first.
 */
#pragma once

#include "lock-memory.h"
#include "node.h"
#include "unit-manager.h"

typedef struct PastLocks PastLocks;

PastLocks *past_locks_new(const Node *node, UnitManager *units);
/* Writes what is still to be written. */
PastLocks *past_locks_free(PastLocks *locks);
DEFINE_CLEANUP(PastLocks, past_locks_free);

/* One is over; its contenders are being deleted, or went with their session. */
void past_locks_add(PastLocks *locks, const LockRecord *record);
/* What a process before us remembered of one: its directories are to be swept, whatever it was. */
void past_locks_recall(PastLocks *locks, const LockRecord *record);
/* The session of the process before us is over: nothing of what was in it is left. */
void past_locks_session_is_another(PastLocks *locks);
/* Adds the directories that are to be swept: new copies. They are, from this turn on. */
void past_locks_sweep(PastLocks *locks, GPtrArray *directories);

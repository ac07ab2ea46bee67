/* Housekeeping: what nobody needs any more is deleted from ZooKeeper, now and then, by the one node
 * that ranks first for it: the ledgers and records of jobs that all files lost long ago, those of
 * the jobs of mode each-node of nodes that were not seen for as long, and the lock directories of
 * jobs that have no ledger. What a job goes on from (`was`) is kept for as long
 * as a file here says so: it keeps nodes with an old file from the old name. A tree in which
 * something stands that is not jobkeeper's is left as it is, and so is a lock directory in which
 * somebody stands.
 */
#pragma once

#include "jobset.h"
#include "members.h"
#include "node.h"

typedef struct Housekeeping Housekeeping;

/* The history of a job that was removed can be read for so long. */
#define HOUSEKEEPING_KEEP (30 * USEC_PER_DAY)

/* The servers' clock is asked for: nothing old is judged by a clock that nobody compared. */
typedef void (*HousekeepingClockFunc)(void *userdata);

/* What `jobset` has is left alone. */
Housekeeping *housekeeping_new(Node *node, Members *members, const JobSet *jobset,
                               HousekeepingClockFunc measure_clock, void *userdata);
Housekeeping *housekeeping_free(Housekeeping *housekeeping);
DEFINE_CLEANUP(Housekeeping, housekeeping_free);

/* There is a session: looks in a while, and then now and then. */
void housekeeping_start(Housekeeping *housekeeping);
/* Looks now. */
void housekeeping_look(Housekeeping *housekeeping);
/* The session is gone. */
void housekeeping_reset(Housekeeping *housekeeping);

/* Housekeeping: what nobody needs any more is deleted from ZooKeeper, now and then, by the one node
 * that ranks first for it: the ledgers and records of jobs that all files lost long ago, and the
 * lock directories of jobs that have no ledger. A tree in which something stands that is not
 * jobkeeper's is left as it is, and so is a lock directory in which somebody stands.
 */
#pragma once

#include "jobset.h"
#include "node.h"

typedef struct Housekeeping Housekeeping;

/* The history of a job that was removed can be read for so long. */
#define HOUSEKEEPING_KEEP (30 * USEC_PER_DAY)

typedef struct HousekeepingEvents {
        /* Return: our rank for a key among all members: 0 does it. */
        uint32_t (*rank)(const char *key, void *userdata);
        /* The servers' clock is asked for: nothing old is judged by a clock that nobody compared.
         */
        void (*measure_clock)(void *userdata);
} HousekeepingEvents;

/* What `jobset` has is left alone. */
Housekeeping *housekeeping_new(Node *node, const JobSet *jobset, const HousekeepingEvents *events,
                               void *userdata);
Housekeeping *housekeeping_free(Housekeeping *housekeeping);
DEFINE_CLEANUP(Housekeeping, housekeeping_free);

/* There is a session: looks in a while, and then now and then. */
void housekeeping_start(Housekeeping *housekeeping);
/* Looks now. */
void housekeeping_look(Housekeeping *housekeeping);
/* The session is gone. */
void housekeeping_reset(Housekeeping *housekeeping);

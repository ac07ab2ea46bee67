/* Recovery: the runs that stand open under our own node's name and that this process does not know,
 * because a process before it claimed them, or because the answer to a claim was lost. Each is
 * found again by its unit's name and settled, never started: claimed without a unit is unknown.
 *
 * One without a record that we can read goes on as long as its unit does, and keeps whatever locks
 * we have; after that it is settled as unknown. Where a look stands is a table of its own
 * (policy/recovery-phase.h). */
#pragma once

#include "node.h"
#include "runs.h"
#include "unit-manager.h"

typedef struct Recovery Recovery;
typedef struct RecoveryEvents {
        void (*recovered)(void *userdata); /* our own open runs are all known */
        void (*undoubted)(void *userdata); /* and are readable, or do not run */
} RecoveryEvents;

/* `units` tells whether one lives. */
Recovery *recovery_new(const Node *node, const UnitManager *units, Runs *runs,
                       const RecoveryEvents *events, void *userdata);
Recovery *recovery_free(Recovery *recovery);
DEFINE_CLEANUP(Recovery, recovery_free);

/* We are registered. `attached`: the session of the process before us lives on, and its locks with
 * it. Ends in RecoveryEvents.recovered. */
void recovery_start(Recovery *recovery, bool attached);
/* Return: whether that unit lives though the record of its run cannot be read, so that nothing is
 * known of its locks; NULL: whether there is any such unit. */
bool recovery_doubts(const Recovery *recovery, const char *unit);
/* A claim's answer was lost: looks again, whatever look is under way. */
void recovery_check(Recovery *recovery);
void recovery_reset(Recovery *recovery);

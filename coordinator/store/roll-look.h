/* What a claim needs to know of the roll before it (record/rolls.h): whether it is this node's turn
 * (policy/roll.h). Read once the locks are held, and named by the claim with its version: whatever
 * others settle in between makes the claim stale.
 *
 * A run that stands in the way is looked for in its record: where that says that it is over, or is
 * gone, nobody will ever take it out of the roll, and it is what the record says: failed, or none
 * any more. Somebody may have deleted it, or a version settled it that knows of no rolls.
 *
 * So is the machine of each run that has ended and is waited for, among the members: what is seen
 * there the claim takes out of the roll. That one is late is written before anything else, so that
 * all skip the tick who have not begun it, whenever they come.
 *
 * What is damaged is left as it is, for people to look at; one that is deleted is made anew. */
#pragma once

#include "cleanup.h"
#include "job.h"
#include "node.h"
#include "roll.h"
#include "tree.h"

typedef struct RollLook RollLook;
/* ZK_OK: the verdict is there. The look may be freed in it. */
typedef void (*RollLookFunc)(ZkCode code, void *userdata);

/* What the claim adds to its transaction; borrowed from the look. */
typedef struct RollTurn {
        const char *path;
        const char *data; /* what it becomes; NULL: it only stays what it is */
        int32_t version;
} RollTurn;

/* `spec` is an instance whose job keeps account of its rolls; `attempt` of the tick, from 1.
 * Return: 0 when the function will be told, never from inside this call; -ENOTCONN, or another
 * negative errno. */
int roll_look_start(const Node *node, Tree *tree, const JobSpec *spec, int64_t tick,
                    unsigned attempt, RollLookFunc func, void *userdata, RollLook **ret_look);
RollLook *roll_look_free(RollLook *look);
DEFINE_CLEANUP(RollLook, roll_look_free);

RollVerdict roll_look_verdict(const RollLook *look);
/* Return: why it is so, newly allocated; "" for ROLL_GO. */
char *roll_look_why(const RollLook *look);
/* Return: after ROLL_GO, what the claim of that run writes. */
RollTurn roll_look_turn(RollLook *look, const char *run);

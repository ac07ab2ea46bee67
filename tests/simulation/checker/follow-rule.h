/* Which runs come of the end of another one, by the plan: told again in the checker's own words, so
 * that a fault of the product's rule (policy/follow.h) is seen. Pure. */
#pragma once

#include "follow.h"
#include "plan.h"
#include "run-state.h"

/* What a run has come to: at the first index before the transaction, at the second one behind it.
 */
typedef struct FollowEnds {
        RunState state[2];
        bool again[2]; /* another attempt follows */
        bool recovers;
} FollowEnds;

/* Return: whether the other one's run counts as one of those that the job waits for together, when
 * it comes to that. */
bool follow_must_count(const PlanJob *parent, const PlanJob *job, const FollowEnds *ends);
/* Return: whether the job is to be run when the other one's run comes to that; of the ways in which
 * it is bound to it the first that suits counts, and is *ret_why. What waits for
 * several together is not meant. */
bool follow_must_come(const PlanJob *parent, const PlanJob *job, const FollowEnds *ends,
                      FollowWhy *ret_why);
/* Return: whether it may be, in that way, by any definitions that there ever were. */
bool follow_may_come(const Plan *plan, const char *parent_name, const char *name, FollowWhy why,
                     const FollowEnds *ends);

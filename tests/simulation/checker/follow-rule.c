/* See follow-rule.h. */
#include "follow-rule.h"

#include <string.h>

/* Return: whether what has ended so is followed by whoever is bound to it in that way. */
static bool follow_suits(FollowWhy why, PlanOn on, RunState state) {
        bool well = state == RUN_SUCCEEDED;

        if (!run_state_is_final(state) || state == RUN_SKIPPED)
                return false;
        if (why == FOLLOW_ON_RECOVERY || (why == FOLLOW_AFTER && on == PLAN_ON_SUCCESS))
                return well;
        return (why == FOLLOW_AFTER && on == PLAN_ON_ANY) || (!well && state != RUN_STOPPED);
}

static bool follow_is_due_at(const FollowEnds *ends, unsigned at, FollowWhy why, PlanOn on) {
        return follow_suits(why, on, ends->state[at]) && !ends->again[at] &&
               (why != FOLLOW_ON_RECOVERY || (at == 1 && ends->recovers));
}

static bool follow_is_due(const FollowEnds *ends, FollowWhy why, PlanOn on) {
        return follow_is_due_at(ends, 1, why, on) && !follow_is_due_at(ends, 0, why, on);
}

static bool follow_is_bound(const PlanJob *parent, const PlanJob *job, FollowWhy why) {
        const char *const names[] = {
            [FOLLOW_AFTER] =
                g_strcmp0(job->links.also, parent->name) == 0 ? parent->name : job->links.after,
            [FOLLOW_ON_FAILURE] = parent->links.on_failure,
            [FOLLOW_ON_RECOVERY] = parent->links.on_recovery,
        };

        return g_strcmp0(names[why], why == FOLLOW_AFTER ? parent->name : job->name) == 0;
}

/* Return: which ends of the other one it is that it follows. */
static PlanOn follow_on(const PlanJob *parent, const PlanJob *job) {
        return g_strcmp0(job->links.also, parent->name) == 0 ? PLAN_ON_ANY : job->links.on;
}

bool follow_must_count(const PlanJob *parent, const PlanJob *job, const FollowEnds *ends) {
        return job->links.also && follow_is_bound(parent, job, FOLLOW_AFTER) &&
               follow_is_due(ends, FOLLOW_AFTER, follow_on(parent, job));
}

bool follow_must_come(const PlanJob *parent, const PlanJob *job, const FollowEnds *ends,
                      FollowWhy *ret_why) {
        for (FollowWhy why = job->links.also ? FOLLOW_ON_FAILURE : FOLLOW_AFTER;
             why <= FOLLOW_ON_RECOVERY; why++)
                if (follow_is_bound(parent, job, why) &&
                    follow_suits(why, job->links.on, ends->state[1])) {
                        *ret_why = why;
                        return follow_is_due(ends, why, job->links.on);
                }
        return false;
}

/* Return: the definition of that number, of all that the job ever had; NULL: there are no more. */
static const PlanJob *follow_definition(const Plan *plan, const char *name, guint number) {
        name = plan_first_name(plan, name);
        if (number == 0)
                return plan_find(plan, name);
        for (guint i = 0; i < plan->edits->len; i++) {
                const PlanJob *edit = plan->edits->pdata[i];

                if (g_str_equal(edit->name, name) && --number == 0)
                        return edit;
        }
        return NULL;
}

bool follow_may_come(const Plan *plan, const char *parent_name, const char *name, FollowWhy why,
                     const FollowEnds *ends) {
        const PlanJob *parent, *job;

        for (guint i = 0; (parent = follow_definition(plan, parent_name, i)); i++)
                for (guint j = 0; (job = follow_definition(plan, name, j)); j++)
                        if (follow_is_bound(parent, job, why) &&
                            follow_is_due(ends, why, follow_on(parent, job)))
                                return true;
        return false;
}

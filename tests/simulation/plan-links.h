/* What joins the jobs of a simulated cluster to each other: whose runs a job follows, and which
 * jobs are run when it has failed, or is well again. Each link leads from a job to one with a
 * larger number, so that there are no circles; what each machine runs follows nothing, and is
 * followed by what it calls alone. What is called so need not have a schedule. */
#pragma once

#include <glib.h>

#include "world.h"

typedef struct Plan Plan;
typedef struct PlanJob PlanJob;

typedef enum PlanOn { PLAN_ON_SUCCESS, PLAN_ON_FAILURE, PLAN_ON_ANY, PLAN_ONS } PlanOn;

typedef struct PlanLinks {
        const char *after; /* whose runs it follows, borrowed from the plan, as are these; NULL */
        PlanOn on;         /* which ends of them */
        const char
            *also; /* who is waited for beside that, for the same tick, however it ends; NULL */
        const char *on_failure, *on_recovery; /* that are run then; NULL */
} PlanLinks;

/* Of all jobs, by a chance of its own: what else is drawn stays as it is. */
void plan_draw_links(const Plan *plan, World *world);
/* The same: some of what others call, and a few that nothing does but people, have no schedule of
 * their own. Once the links are drawn. */
void plan_draw_unscheduled(const Plan *plan, World *world);
/* As somebody may change them: to other ends, and the hooks exchanged. */
void plan_edit_links(PlanLinks *links);
/* Appends lines of a job file. */
void plan_write_links(const Plan *plan, const PlanLinks *links, unsigned machine, GString *text);
/* Return: how many runs of the job its ticks and what it follows make in so many seconds, at most,
 * on one machine where each runs it. */
uint64_t plan_runs_due(const Plan *plan, const PlanJob *job, uint64_t seconds);

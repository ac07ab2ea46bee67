/* What is expected of the jobs of a simulated cluster: of some, that a run of them succeeds within
 * so long (`expect-within`), which may be shorter than the time between two that are due. */
#pragma once

#include <glib.h>

#include "world.h"

typedef struct Plan Plan;
typedef struct PlanJob PlanJob;

/* Of all jobs, once it is known what they are, by a chance of its own. */
void plan_draw_expectations(const Plan *plan, World *world);
/* As somebody may change it. */
void plan_edit_expectation(PlanJob *job);
/* Appends a line of a job file, or none. */
void plan_write_expectation(const PlanJob *job, GString *text);

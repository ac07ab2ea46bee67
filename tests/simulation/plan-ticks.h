/* The ticks of the jobs of a simulated cluster: every so many seconds since the epoch began; but of
 * some none is in each minute of a few (`except`), as if there were none by their schedule. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "world.h"

typedef struct Plan Plan;
typedef struct PlanJob PlanJob;

/* Of all jobs, once it is known what they are, by a chance of its own. */
void plan_draw_exceptions(const Plan *plan, World *world);
/* As somebody may change it. */
void plan_edit_exceptions(PlanJob *job);
/* Appends a line of a job file, or none. */
void plan_write_exceptions(const PlanJob *job, GString *text);

/* Return: whether it is a tick of the job, by this definition. */
bool plan_is_tick(const PlanJob *job, int64_t second);
/* The same, by any that the job of that name ever had. */
bool plan_was_tick(const Plan *plan, const PlanJob *job, int64_t second);
/* Return: the first tick after that second; the last before it. */
int64_t plan_tick_after(const PlanJob *job, int64_t second);
int64_t plan_tick_before(const PlanJob *job, int64_t second);
/* Return: how many seconds there are from one to the next, at most. */
int64_t plan_longest_gap(const PlanJob *job);

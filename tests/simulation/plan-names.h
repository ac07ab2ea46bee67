/* Jobs of a simulated cluster that get another name, once each: machine by machine their files then
 * have the job under that, with `was`. For the checker such a job is one, and is called as it was
 * called first; what stands in ZooKeeper, and what runs, has the name of the file. What each
 * machine runs, services, and what calls others or is named by others, whose definitions would have
 * to be changed with it, keep theirs; what follows others itself does not. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "world.h"

typedef struct Plan Plan;
typedef struct PlanJob PlanJob;

typedef struct PlanNames PlanNames;

/* Of all jobs, once it is known how they are joined: which of them get another name is known from
 * the beginning, and no file has it yet. */
PlanNames *plan_names_new(const Plan *plan);
PlanNames *plan_names_free(PlanNames *names);

/* Return: the name that the job gets; NULL: it keeps its own. Borrowed, as are all names here. */
const char *plan_next_name(const Plan *plan, const PlanJob *job);
/* Return: how the job of that name, be it either of the two, was called first; the name itself
 * where it is no job's. */
const char *plan_first_name(const Plan *plan, const char *name);
/* Return: both names, newly allocated, ended by NULL: the one that it had first, and the other one
 * if there is one. */
const char **plan_both_names(const Plan *plan, const PlanJob *job);

/* Return: what the job is called in the files of that machine, by its number from 0. */
const char *plan_name_on(const Plan *plan, const PlanJob *job, unsigned machine);
/* The files of the machine have it under its other name from now on, or under its first again. */
void plan_rename_on(const Plan *plan, const PlanJob *job, unsigned machine, bool renamed);
/* Return: on how many machines it is under its other name. */
unsigned plan_renamed_count(const Plan *plan, const PlanJob *job);

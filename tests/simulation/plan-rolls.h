/* Jobs that every machine of a simulated cluster runs, each for itself: those of mode each-node. In
 * the files such a job is one; for the checker, as for the daemons, there is one of each machine,
 * called JOB@NODE, whose runs have their turn by the lock of the job. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "world.h"

typedef struct Plan Plan;
typedef struct PlanJob PlanJob;

/* The machines' names, by their number from 1. */
#define PLAN_MACHINE "n%u"

/* What a run has come to that the reboot of its machine has ended. */
typedef enum PlanReboot {
        PLAN_REBOOT_INTERRUPTS,
        PLAN_REBOOT_SUCCESS,
        PLAN_REBOOT_FAIL,
} PlanReboot;

typedef struct PlanRoll {
        bool each;               /* of mode each-node */
        char *node;              /* whose it is; NULL: as the files have it, or of no single one */
        unsigned max_failures;   /* of a tick: then no further machine begins it; 0: any number */
        unsigned rejoin_timeout; /* seconds: so long a machine is waited for after its run; 0: it
                                    is not */
        PlanReboot reboot;
} PlanRoll;

/* Of all jobs, by a chance of its own: some become such ones. Before the links are drawn. */
void plan_draw_rolls(const Plan *plan, World *world);
/* Once they are known, by a chance of its own: some wait for machines that are away after their
 * run, which may reboot them. */
void plan_draw_reboots(const Plan *plan, World *world);
/* Appends lines of a job file. */
void plan_write_roll(const PlanRoll *roll, GString *text);
/* Return: newly allocated, what the job is on the machine of that number, from 0. */
PlanJob *plan_roll_instance(const PlanJob *job, unsigned machine);
/* Return: how many machines have their turn at a time; 0: nobody waits for another. */
unsigned plan_roll_turns(const PlanJob *job);

/* Jobs of a simulated cluster that are services: kept running on one machine for as long as there
 * is one that can have them. They have one tick, that of their definition, and run after run of it.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "world.h"

typedef struct Plan Plan;
typedef struct PlanJob PlanJob;

typedef struct PlanService {
        bool is;                   /* of mode service */
        unsigned delay, max_delay; /* seconds, as in its `restart` */
        bool notifies;             /* it says itself when it has started */
        unsigned timeout;          /* seconds, until it has; 0: none */
} PlanService;

/* Of all jobs, by a chance of its own: some become such ones. Once it is known which are of each
 * machine, and before the links are drawn. */
void plan_draw_services(const Plan *plan, World *world);
/* Once they are known, by a chance of its own: some say themselves when they have started. */
void plan_draw_readiness(const Plan *plan, World *world);
/* As somebody may change it: with another pause. */
void plan_edit_service(PlanService *service);
/* Appends lines of a job file. */
void plan_write_service(const PlanService *service, GString *text);

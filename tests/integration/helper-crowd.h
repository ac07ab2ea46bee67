/* A crowd that comes, waits, holds, gives up and goes at random, and is checked at each step: never
 * more inside than may be. */
#pragma once

#include "helper-lock.h"

#define CROWD_MAX 16

typedef struct CrowdRules {
        LockRequest request; /* mode exclusive; `shared` of ten ask for it shared instead */
        LockOptions options;
        size_t size;     /* at most CROWD_MAX */
        size_t sessions; /* of the world's clients, from 0 */
        unsigned shared; /* of ten */
        unsigned steps;
} CrowdRules;

/* Runs so many steps, with the dice of random_seed(), then lets everybody who still waits have his
 * turn. Leaves nothing behind. */
void crowd_run(World *world, const CrowdRules *rules);

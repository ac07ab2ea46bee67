/* A program that is not jobkeeper, on a machine of its own, which takes locks at the same resources
 * by the recipes of Curator (InterProcessReadWriteLock, InterProcessMutex) and kazoo (WriteLock,
 * ReadLock): a sequential ephemeral node, a list, and a watch on who stands before it. It stops
 * what it does under a lock as soon as it has lost its connection, as both libraries advise.
 */
#pragma once

#include "checker.h"
#include "ensemble.h"

typedef struct Foreigner Foreigner;

typedef enum ForeignNaming {
        FOREIGN_CURATOR,
        FOREIGN_CURATOR_MUTEX,
        FOREIGN_KAZOO,
} ForeignNaming;

/* What it is to do once. */
typedef struct ForeignPlan {
        PlanLock lock; /* `resource` is copied; without slots, which neither library knows */
        ForeignNaming naming;
        usec_t wait; /* so long at most */
        usec_t duration;
} ForeignPlan;

typedef struct ForeignSetting {
        World *world;
        const Ensemble *ensemble;
        History *history;
        Checker *checker;
} ForeignSetting;

/* It begins, and connects. `setting` lives longer. */
Foreigner *foreigner_new(const ForeignSetting *setting, const char *name, const char *directory);
Foreigner *foreigner_free(Foreigner *foreigner);

const char *foreigner_name(const Foreigner *foreigner);
/* Nothing happens while it is busy. */
void foreigner_ask(Foreigner *foreigner, const ForeignPlan *plan);
/* It gives back what it has, and ends its session. */
void foreigner_stop(Foreigner *foreigner);

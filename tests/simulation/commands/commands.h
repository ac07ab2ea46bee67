/* Commands under a lock: what people, scripts and timers do with `jobkeeper lock` on the machines
 * of a cluster. Each asks its machine's daemon for a lock, runs for a while once it has it, and is
 * ended when it loses it, as cli/hold/held-command.c sees to it.
 */
#pragma once

#include "checker.h"
#include "fleet.h"
#include "history.h"
#include "plan.h"

typedef struct Commands Commands;

/* What one does. */
typedef struct CommandPlan {
        PlanLock lock; /* `resource` is copied */
        double wait;   /* seconds; 0: a try */
        usec_t duration;
        usec_t remains; /* what it leaves lives on for so long */
        ServiceManners manners;
        usec_t last_words;
} CommandPlan;

/* All others live longer. */
Commands *commands_new(Fleet *fleet, History *history, Checker *checker);
Commands *commands_free(Commands *commands);
DEFINE_CLEANUP(Commands, commands_free);

/* Somebody types it. Nothing happens on a machine that is off. */
void commands_begin(Commands *commands, FleetNode *node, const CommandPlan *plan);
/* kill -9 of one that holds its lock there, the n-th in turn: of `jobkeeper lock`, with which its
 * command dies, but not what that has started. Return: whether there is one. */
bool commands_kill_one(Commands *commands, const FleetNode *node, unsigned n);
/* The bus of that machine is started anew: all lose it, and find it again. Return: whether a daemon
 * is there. */
bool commands_lose_bus(Commands *commands, const FleetNode *node);

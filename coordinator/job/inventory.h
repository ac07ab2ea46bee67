/* Inventory: the jobs that this node's files have, and what it says of them to the other nodes:
 * whether this machine can run them, and which it has no more.
 *
 * Whether it can run a job is looked at on threads (fitness.h), and said once it is known; until
 * then the last verdict holds. What left the files is withdrawn (withdrawal.h), also what left them
 * while there was no session, or no daemon: the digests remember it.
 */
#pragma once

#include "fitness.h"
#include "jobset.h"
#include "ranks.h"
#include "withdrawal.h"

typedef struct Inventory Inventory;

/* All live longer than the inventory. */
typedef struct InventoryParts {
        const Node *node;
        const JobSet *jobset;
        Fitness *fitness;
        Registration *registration;
        const Ranks *ranks;
        DigestMemory *digests;
        Withdrawals *withdrawals;
} InventoryParts;

typedef struct InventoryEvents {
        void (*added)(const JobSpec *spec, void *userdata);
        /* Another definition took effect, or the same one, in other memory. */
        void (*replaced)(const JobSpec *spec, void *userdata);
        void (*removed)(const char *job, void *userdata);
        /* The machine was looked at for a job that there is. */
        void (*judged)(const char *job, void *userdata);
} InventoryEvents;

/* `events` lives longer than the inventory. */
Inventory *inventory_new(const InventoryParts *parts, const InventoryEvents *events,
                         void *userdata);
Inventory *inventory_free(Inventory *inventory);
DEFINE_CLEANUP(Inventory, inventory_free);

void inventory_add(Inventory *inventory, const JobSpec *spec);
/* The machine is looked at again also where the definition is the old one. */
void inventory_replace(Inventory *inventory, const JobSpec *spec);
void inventory_remove(Inventory *inventory, const char *job);
bool inventory_has(const Inventory *inventory, const char *job);
/* Return: the names, borrowed until each is removed; g_ptr_array_unref(). */
GPtrArray *inventory_names(const Inventory *inventory);

/* FitnessFunc, with the inventory: what this machine can run is said to people and to the other
 * nodes. */
void inventory_judge(const char *const *jobs, void *userdata);
/* There is a session: withdraws what was removed while there was none, or no daemon. */
void inventory_withdraw_removed(Inventory *inventory);
/* All that is to be said is known now: the other nodes may have it. */
void inventory_publish(Inventory *inventory);

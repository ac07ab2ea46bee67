/* Leftovers: units of runs that live on this machine and that no Run of ours follows. A process
 * before us started them, and either we do not know them yet, because only ZooKeeper tells of them,
 * or nobody knows them any more. When their locks are about to be lost, or it is not known whether
 * they still have any, they are ended. Until they are gone nothing new is begun; when some of them
 * turn out not to end soon, only what could run beside them is not. */
#pragma once

#include "coordinator.h"

typedef struct Leftovers Leftovers;

typedef enum LeftoversWhich {
        LEFTOVERS_UNCLAIMED, /* those for which nothing stands open in ZooKeeper */
        LEFTOVERS_ALL,
} LeftoversWhich;

Leftovers *leftovers_new(Coordinator *coordinator);
Leftovers *leftovers_free(Leftovers *leftovers);
DEFINE_CLEANUP(Leftovers, leftovers_free);

/* Ends them: SIGTERM, SIGKILL after the stop timeout; `at_once`: SIGKILL, now. Asked while it is
 * going on, the harsher wish counts. Leads to coordinator_leftovers_changed(), from the loop. */
void leftovers_end(Leftovers *leftovers, LeftoversWhich which, bool at_once, const char *why);
/* Return: whether some may be left of those that are to be ended, and it is not known yet which
 * those are that do not end soon: a sentence, for nothing is begun until then; or NULL. */
const char *leftovers_busy(const Leftovers *leftovers);
/* Return: whether some may be left of those that are to be ended. */
bool leftovers_left(const Leftovers *leftovers);
/* Return: why that job must not run here although others may: one that does not end is a run of it,
 * or of a job that excludes it as far as our files tell. A sentence, borrowed, or NULL. */
const char *leftovers_block(const Leftovers *leftovers, const JobSpec *spec);
/* Return: why we, or a process before us, ended that unit; NULL when nobody did. */
const char *leftovers_ended(const Leftovers *leftovers, const char *unit);
/* Return: whether something of that unit runs. */
bool leftovers_alive(const Leftovers *leftovers, const char *unit);

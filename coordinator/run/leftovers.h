/* Leftovers: units of runs that live on this machine and that no Run of ours follows. A process
 * before us started them, and either we do not know them yet, because only ZooKeeper tells of them,
 * or nobody knows them any more. When their locks are about to be lost, or it is not known whether
 * they still have any, they are ended. Until they are gone nothing new is begun; when some of them
 * turn out not to end soon, only what could run beside them is not.
 *
 * What continues without its locks is ended only where everything is. */
#pragma once

#include "ended-units.h"
#include "jobset.h"
#include "recovery.h"
#include "runs.h"
#include "unit-manager.h"

typedef struct Leftovers Leftovers;

typedef enum LeftoversWhich {
        LEFTOVERS_UNCLAIMED, /* those for which nothing stands open in ZooKeeper */
        LEFTOVERS_GUARDED,   /* all that must not go on without their locks */
        LEFTOVERS_ALL,
} LeftoversWhich;

typedef struct LeftoversParts {
        UnitManager *units;       /* weak */
        const JobSet *jobset;     /* weak: what excludes what */
        const Runs *runs;         /* weak: whose units are none */
        const Recovery *recovery; /* weak: whose doubts are none while something stands open */
        EndedUnits *ended;        /* weak */
        sd_event *event;          /* weak: ended where nothing can be looked for */
        /* They are gone, or not soon. */
        void (*changed)(void *userdata);
        /* No Run of ours follows it, and it is not ended: nothing of it lives, or it continues. */
        void (*spared)(const char *unit, void *userdata);
        void *userdata;
} LeftoversParts;

/* The parts are copied. */
Leftovers *leftovers_new(const LeftoversParts *parts);
Leftovers *leftovers_free(Leftovers *leftovers);
DEFINE_CLEANUP(Leftovers, leftovers_free);

/* Ends them: SIGTERM, SIGKILL after the stop timeout; `at_once`: SIGKILL, now. Asked while it is
 * going on, the harsher wish counts. Leads to `changed`, from the loop. */
void leftovers_end(Leftovers *leftovers, LeftoversWhich which, bool at_once, const char *why);
/* Return: whether some may be left of those that are to be ended, and it is not known yet which
 * those are that do not end soon: a sentence, for nothing is begun until then; or NULL. */
const char *leftovers_busy(const Leftovers *leftovers);
/* Return: whether some may be left of those that are to be ended. */
bool leftovers_left(const Leftovers *leftovers);
/* Return: why that job must not run here although others may: one that does not end is a run of it,
 * or of a job that excludes it, or of one that is in our files no more, and then any job that names
 * resources may be excluded. A sentence, borrowed, or NULL. */
const char *leftovers_block(const Leftovers *leftovers, const JobSpec *spec);

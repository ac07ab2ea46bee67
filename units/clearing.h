/* Clearing: ending units that nobody here has a Unit of, because a process before this one started
 * them. Found by their names and their slice; gone when PID 1 has no job for them any more and
 * their cgroups are empty.
 */
#pragma once

#include "unit-manager.h"

/* Whatever is left of what was asked to end so long ago cannot be ended soon. */
#define CLEARING_PATIENCE (10 * USEC_PER_SEC)

typedef struct Clearing Clearing;

typedef struct ClearingOptions {
        const char *const *patterns; /* of their names, as PID 1 matches them (glob) */
        /* That they run in: a unit of such a name elsewhere is left alone. NULL-terminated. */
        const char *const *slices;
        /* Return: whether it is left alone. May change from one look to the next. */
        bool (*spare)(const char *unit, void *userdata);
        /* It is being ended; told once a unit, before. `exited`: only what it left is, as the main
         * process has ended well by itself. */
        void (*found)(const char *unit, bool exited, void *userdata);
        /* PID 1 has it, and nothing of it lives; told at every look. May be NULL. */
        void (*over)(const char *unit, void *userdata);
        void (*gone)(void *userdata); /* none is left. The last call; the clearing may be freed */
        /* Those that are left were all asked to end so long ago: told at every look that finds it
         * so. `units` is NULL-terminated. May be NULL. */
        void (*stuck)(const char *const *units, void *userdata);
        usec_t patience; /* 0: CLEARING_PATIENCE */
        void *userdata;  /* of all of these, which come from the loop only */
} ClearingOptions;

/* SIGTERM to each, SIGKILL after its own stop timeout (StopUnit). It looks again and again until
 * there are none, also for those that PID 1 is only about to start; without a connection to PID 1
 * it waits for one. Return: 0 or negative errno. */
int clearing_new(UnitManager *manager, const ClearingOptions *options, Clearing **ret_clearing);
/* What `spare` answers has changed: a look that is under way does not count. */
void clearing_look_anew(Clearing *clearing);
/* SIGKILL instead, from now on. Idempotent. */
void clearing_kill(Clearing *clearing);
/* Stops looking. What was asked of PID 1 it does. */
Clearing *clearing_free(Clearing *clearing);
DEFINE_CLEANUP(Clearing, clearing_free);

/* Return: whether a process lives in the cgroup that a unit of one of these slices has.
 * NULL-terminated. */
bool unit_is_populated(const UnitManager *manager, const char *const *slices, const char *unit);

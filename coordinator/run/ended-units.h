/* Which units of runs jobkeeperd has ended, when and why: kept under the runtime directory, so that
 * a later process that finds such a run open settles it as interrupted. From the unit alone it
 * could not tell this end from a failure of its own. And which had ended well by themselves before
 * what they left was ended: PID 1 forgets that. */
#pragma once

#include <glib.h>

#include "clock.h"

/* A file that would grow beyond this loses its older half: a machine may be up for years. What is
 * ended at once, thousands of runs, is less than that half. */
#define ENDED_UNITS_BYTES_MAX 1048576 /* 1 MiB */

/* What is older is nobody's question any more when a process begins. */
#define ENDED_UNITS_AGE_MAX (4 * USEC_PER_DAY)

typedef struct EndedUnits EndedUnits;

typedef struct EndedUnit {
        usec_t when; /* CLOCK_MONOTONIC */
        char *why;   /* NULL: its main process had ended well by itself */
} EndedUnit;

/* Return: newly allocated, with what was remembered before. */
EndedUnits *ended_units_new(const char *runtime_dir);
EndedUnits *ended_units_free(EndedUnits *ended);
/* One more, now: remembered here and for later processes. `why` may be NULL. */
void ended_units_note(EndedUnits *ended, const char *unit, const char *why);
/* Return: when and why we, or a process before us, ended that unit first, or that it had ended
 * well, borrowed; NULL when nothing is known, or unit is NULL. */
const EndedUnit *ended_units_find(const EndedUnits *ended, const char *unit);
/* Return: newly allocated (g_free), NULL-terminated, the names borrowed. */
const char **ended_units_list(const EndedUnits *ended);

/* Later processes are not to believe what was remembered of that unit: it had ended badly by itself
 * before it was ended, as turned out. Where that fails, as for ended_units_add(). */
void ended_units_retract(const char *runtime_dir, const char *unit);

/* Return: newly allocated, unit → EndedUnit; empty where nothing is remembered. */
GHashTable *ended_units_load(const char *runtime_dir);
/* Remembers one more, of that time (CLOCK_MONOTONIC). Where that fails a result is less exact, and
 * nothing else. */
void ended_units_add(const char *runtime_dir, const char *unit, usec_t when, const char *why);

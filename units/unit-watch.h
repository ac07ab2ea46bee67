/* Following one unit of PID 1's to its end, whoever started it: see unit-watch.c. Events come from
 * the loop (unit-event.h). */
#pragma once

#include "unit-ending.h"
#include "unit-event.h"
#include "unit-manager.h"
#include "unit-result.h"

typedef struct UnitWatch UnitWatch;

/* Why it must be read before anything else, which decides what its absence means. */
typedef enum UnitDoubt {
        UNIT_DOUBT_NONE,
        UNIT_DOUBT_ADOPT,  /* absence is the answer: UNIT_EVENT_ABSENT */
        UNIT_DOUBT_LOST,   /* the answer to our start was lost */
        UNIT_DOUBT_EXISTS, /* PID 1 says that a unit of this name exists */
} UnitDoubt;

/* Of a unit that is not there yet: unit_watch_taken(), unit_watch_doubt() or unit_watch_never()
 * follows. `slice`: where it is going to be, NULL: PID 1 will say. Return: 0 or negative errno. */
int unit_watch_new(UnitManager *manager, const char *name, const char *nonce, const char *slice,
                   UnitEventFunc func, void *userdata, UnitWatch **ret_watch);
/* The unit itself is left as it is. */
UnitWatch *unit_watch_free(UnitWatch *watch);
DEFINE_CLEANUP(UnitWatch, unit_watch_free);

/* On that connection PID 1 keeps it loaded for us; 0: on none. */
void unit_watch_set_reference(UnitWatch *watch, unsigned generation);

/* It is being asked for now, and its start job is done before its main process is:
 * UNIT_EVENT_STARTED tells of that. */
void unit_watch_set_short_start(UnitWatch *watch);
/* It is being asked for now, and bound to the fence. */
void unit_watch_set_fenced(UnitWatch *watch);
/* PID 1 took the start, and this is its job. */
void unit_watch_taken(UnitWatch *watch, const char *systemd_job);
/* It is there, perhaps. */
void unit_watch_doubt(UnitWatch *watch, UnitDoubt doubt);
/* It never ran, and will not. */
void unit_watch_never(UnitWatch *watch, UnitOutcome outcome, const char *detail);
/* Return: whether none of the three was said yet. */
bool unit_watch_waits(const UnitWatch *watch);

/* The owner wants it to end: `order` is a stop or a kill. Kept until the unit is there. */
void unit_watch_end(UnitWatch *watch, UnitOrder order);
/* Somebody before us wanted it to end, and told PID 1 so then (CLOCK_MONOTONIC). */
void unit_watch_was_ordered(UnitWatch *watch, usec_t when);
/* Return: when PID 1 was first told to end it, also by somebody before us (CLOCK_MONOTONIC);
 * USEC_INFINITY: never. */
usec_t unit_watch_asked(const UnitWatch *watch);
/* After the last event: PID 1 may forget it. */
void unit_watch_discard(UnitWatch *watch);

const UnitResult *unit_watch_result(const UnitWatch *watch);

/* Work on very many things without holding up the loop.
 *
 * What concerns every job (a member joined, the clocks agree again, the files were read anew) is
 * not done to all of them at once: they are put into a queue, and each turn of the loop takes some,
 * as many as SWEEP_TURN_ITEMS and for no longer than SWEEP_TURN_TIME. In between the loop serves
 * whatever else is due; a heartbeat never waits for ten thousand jobs. What waits already is not
 * queued a second time, so that two events in a row cost no more than one.
 */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "cleanup.h"
#include "clock.h"

#define SWEEP_TURN_ITEMS 100
#define SWEEP_TURN_TIME (5 * USEC_PER_MSEC)

typedef struct Sweep Sweep;
/* `what` are all the bits that the item was added with since its last turn. */
typedef void (*SweepFunc)(void *item, unsigned what, void *userdata);

Sweep *sweep_new(sd_event *event, SweepFunc func, void *userdata);
/* What still waits is forgotten. */
Sweep *sweep_free(Sweep *sweep);
DEFINE_CLEANUP(Sweep, sweep_free);

/* Has the item taken on one of the next turns, never from inside this call. */
void sweep_add(Sweep *sweep, void *item, unsigned what);
/* The item is going: it is not taken any more. NULL sweep: nothing. */
void sweep_remove(Sweep *sweep, const void *item);
void sweep_clear(Sweep *sweep);
/* Has all that waits taken now, where there is no next turn. NULL: nothing. */
void sweep_finish(Sweep *sweep);

/* Return: how many wait. */
unsigned sweep_length(const Sweep *sweep);
/* Return: the most items that one turn took so far. */
unsigned sweep_longest_turn(const Sweep *sweep);

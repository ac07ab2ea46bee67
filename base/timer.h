/* One-shot timers: "in two seconds, once, unless it is cancelled before".
 *
 * The slot is an ordinary `sd_event_source *` of the object that waits. Setting a timer in it
 * cancels the one before; sd_event_source_disable_unref() cancels it, as it does any source; when
 * it fires the slot is empty again before the function is called, so that the function may set it
 * anew. Nothing outlives the slot: the closure goes with the source.
 */
#pragma once

#include <systemd/sd-event.h>
#include <time.h>

#include "clock.h"

typedef void (*TimerFunc)(void *userdata);

/* Calls `func` after `delay`, at most a millisecond late by the loop's own doing, on
 * CLOCK_MONOTONIC. `*slot` must stay where it is until then. Return: 0, or a negative errno with
 * the slot empty. */
int timer_in(sd_event *event, sd_event_source **slot, usec_t delay, TimerFunc func, void *userdata);
/* The same at an instant of a clock, on CLOCK_BOOTTIME and CLOCK_REALTIME to the microsecond. On
 * CLOCK_REALTIME the timer goes with the clock when that is set. */
int timer_at(sd_event *event, sd_event_source **slot, clockid_t clock, usec_t at, TimerFunc func,
             void *userdata);
/* The same on one of the next turns of the loop, behind everything that is due already. (A deferred
 * source that is enabled again stands before all that became due since it was made.) */
int timer_next_turn(sd_event *event, sd_event_source **slot, TimerFunc func, void *userdata);

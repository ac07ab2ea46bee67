/* Orders to PID 1 that end a unit, or what it remembers of one: asked until PID 1 has obeyed or
 * refused. The answer may be lost with the connection, and PID 1 may be busy; then it is asked
 * again. That it refuses means that there is no such unit, or nothing in it to kill, which is what
 * was wanted; whoever is not sure of that gives the order again.
 */
#pragma once

#include "unit-manager.h"

typedef struct UnitEnding UnitEnding;

typedef enum UnitOrder {
        UNIT_ORDER_STOP,  /* SIGTERM, SIGKILL after the stop timeout; also takes back a start */
        UNIT_ORDER_KILL,  /* SIGKILL to the whole cgroup */
        UNIT_ORDER_RESET, /* forgets that it failed */
        UNIT_ORDER_COUNT,
} UnitOrder;

/* From the loop. The ending may be freed in it. */
typedef void (*UnitEndingFunc)(UnitOrder order, bool obeyed, void *userdata);

/* `flags`: of its calls. `func` may be NULL. */
UnitEnding *unit_ending_new(UnitManager *manager, const char *name, BusCallFlags flags,
                            UnitEndingFunc func, void *userdata);
/* Asks no more. What was asked of PID 1 it does. */
UnitEnding *unit_ending_free(UnitEnding *ending);
DEFINE_CLEANUP(UnitEnding, unit_ending_free);

/* Gives an order; nothing happens while it is under way, or obeyed already. */
void unit_ending_order(UnitEnding *ending, UnitOrder order);
/* What is not gone so long after PID 1 has begun to stop it is killed: a process that talks to PID
 * 1 (sd_notify(3)) can have it put off its own SIGKILL for ever. 0, as at first: PID 1 is trusted.
 */
void unit_ending_set_limit(UnitEnding *ending, usec_t limit);
/* It is being stopped, whoever asked PID 1 to; told again, it changes nothing. */
void unit_ending_begun(UnitEnding *ending);
/* Return: when the first order to end it was sent, CLOCK_MONOTONIC; USEC_INFINITY: none was. */
usec_t unit_ending_asked(const UnitEnding *ending);
/* PID 1 may not have got it, or has forgotten: what was obeyed is not any more. */
void unit_ending_anew(UnitEnding *ending);

/* Has PID 1 forget a unit whose result is safe, now or when there is a connection again: a stop for
 * one that is active (exited), then a reset for one that failed; both are harmless where they do
 * not apply. It is waited for (unit_manager_busy()), because PID 1 asks the bus who the caller is
 * and refuses one that has gone. */
void unit_forget(UnitManager *manager, const char *name);

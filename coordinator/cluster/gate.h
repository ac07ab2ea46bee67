/* The gate: may anything begin here, and if not, why, and who hears when it may. Jobs ask it rather
 * than find out for themselves.
 *
 *   Shut for all.  Nothing is claimed without a session that is ready, past the instant at which
 *                  every run would have to be stopped, without a state file that runs can look
 *                  into, while PID 1 does not answer, without a fence, by a clock that is skewed or
 *                  not synchronised yet, on a node that is drained or outside of its window
 *                  (node-window.h), or beside what must end first. Who has to wait hears of it when
 *                  that may be over.
 *
 *   Places.        The places of max-runs (places.h) are counted beside the runs that are under
 *                  way, and whoever is first in line hears of one that was given back.
 *
 *   The others.    That this node begins nothing at present is told to the other nodes, whose ranks
 *                  then move on past it. To be kept from beginning something for a moment is common
 *                  and concerns nobody; each word to the others is a write, and a read for each of
 *                  them. So what lasts is told, and nothing is looked at unless something could not
 *                  begin. The window is told for itself, by its edges alone.
 */
#pragma once

#include "member.h"
#include "node-window.h"
#include "node.h"

typedef struct Gate Gate;

typedef struct GateEvents {
        /* Return: why somebody wants nothing to begin here, a sentence; or NULL. */
        const char *(*drained)(void *userdata);
        /* Return: what has to end first, a sentence; or NULL. */
        const char *(*held_back)(void *userdata);
        /* Return: whether anything has still to end here, were it only for some jobs. */
        bool (*is_cleaning)(void *userdata);
        /* Return: how many runs are under way. */
        unsigned (*runs)(void *userdata);
        /* Something may be claimed again. */
        void (*open)(void *userdata);
        /* The job stood in line and has a place now. */
        void (*given)(const char *job, void *userdata);
        /* What keeps this node from beginning anything, for the others. */
        void (*tell)(MemberBusy busy, void *userdata);
        /* The window of this node opened or closed: gate_outside_until() is new. */
        NodeWindowFunc window;
} GateEvents;

/* With as many places as max-runs says. `events` lives longer than the gate. */
Gate *gate_new(const Node *node, const GateEvents *events, void *userdata);
Gate *gate_free(Gate *gate);
DEFINE_CLEANUP(Gate, gate_free);

/* Return: NULL where a claim may be made now: ready, not stopping, before D - K, its state kept,
 * PID 1 answering, fence there, clock good, not drained, inside of the window; otherwise
 * a sentence. */
const char *gate_closed(const Gate *gate);
bool gate_is_open(const Gate *gate);
/* Return: whether it is shut only for what has to end first, which does not take long. */
bool gate_opens_soon(const Gate *gate);
/* Return: whether it is shut only because somebody, or the window, wants nothing to begin here. */
bool gate_is_only_shut(const Gate *gate);
/* Return: that this node is outside of its window, a sentence, or NULL. */
const char *gate_outside(const Gate *gate);
/* Return: as Member.outside. */
int64_t gate_outside_until(const Gate *gate);
/* Nothing may be claimed now, and somebody would: the owner is told when that is over. */
void gate_wait(Gate *gate);
/* Return: whether anybody does. */
bool gate_is_waiting(const Gate *gate);
/* Something could not begin here that could on another node. */
void gate_refused(Gate *gate);
/* We are drained, or PID 1 does not answer, or that is over, or we have a session now: the others
 * are told at once. */
void gate_drained(Gate *gate);
/* The session is over, and what was told with it; who waits begins anew with the next. */
void gate_reset(Gate *gate);

/* As places_ask(). */
bool gate_ask_place(Gate *gate, const char *job, usec_t since);
/* The job wants no place any more, whether it has one or stands in line. A node that is ending
 * gives it to nobody. */
void gate_leave_place(Gate *gate, const char *job);
/* A run is over. */
void gate_give_places(Gate *gate);
bool gate_has_place(const Gate *gate, const char *job);
/* Return: whether the job stands in line. */
bool gate_waits_for_place(const Gate *gate, const char *job);
/* Return: how many stand in line. */
unsigned gate_in_line(const Gate *gate);

/* The gate: says to the other nodes that this one begins nothing at present, for a reason that is
 * not of one job: it is full, it has still to end something, it stops. Ranks then move on past it.
 *
 * To be kept from beginning something for a moment is common and concerns nobody; each word to the
 * others is a write, and a read for each of them. So what lasts is told, and nothing is looked at
 * unless something could not begin. */
#pragma once

#include <systemd/sd-event.h>

#include "cleanup.h"
#include "clock.h"
#include "member.h"

typedef struct Gate Gate;

typedef struct GateEvents {
        /* Return: what keeps this node from beginning anything; `told`: what the others know. */
        MemberBusy (*look)(MemberBusy told, void *userdata);
        void (*tell)(MemberBusy busy, void *userdata);
} GateEvents;

/* `patience`: what lasts so long is told, and looked at again so often until it is over. */
Gate *gate_new(sd_event *event, usec_t patience, const GateEvents *events, void *userdata);
Gate *gate_free(Gate *gate);
DEFINE_CLEANUP(Gate, gate_free);

/* Something could not begin. */
void gate_is_shut(Gate *gate);
/* The session is over, and what was told with it. */
void gate_reset(Gate *gate);

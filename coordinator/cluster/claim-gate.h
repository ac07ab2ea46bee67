/* The gate before every claim: may anything be claimed now, and if not, why. Parts ask it rather
 * than find out for themselves, and whoever has to wait hears of it when the wait may be over. */
#pragma once

#include "node.h"

typedef struct ClaimGate ClaimGate;

typedef struct ClaimGateEvents {
        /* Return: why the owner wants nothing to be claimed, a sentence; or NULL. */
        const char *(*held_back)(void *userdata);
        /* Something may be claimed again. */
        void (*open)(void *userdata);
} ClaimGateEvents;

/* `events` lives longer than the gate. */
ClaimGate *claim_gate_new(const Node *node, const ClaimGateEvents *events, void *userdata);
ClaimGate *claim_gate_free(ClaimGate *gate);
DEFINE_CLEANUP(ClaimGate, claim_gate_free);

/* Return: NULL where a claim may be made now: ready, not stopping, before D - K, clock good.
 * Otherwise a sentence. */
const char *claim_gate_closed(const ClaimGate *gate);
bool claim_gate_is_open(const ClaimGate *gate);
/* Nothing may be claimed now, and somebody would: the owner is told when that is over. */
void claim_gate_wait(ClaimGate *gate);
/* Return: whether anybody does. */
bool claim_gate_is_waiting(const ClaimGate *gate);
/* The session is gone, and who waits begins anew with the next. */
void claim_gate_reset(ClaimGate *gate);

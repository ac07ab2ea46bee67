/* Is this the ensemble that we know, and may its data be trusted? Asked at each connection before
 * anything else is done there, and whenever /ensemble changes.
 *
 * What is read is current: a write goes before it, so a server that lags behind does not look like
 * one that was restored. Where nobody has given the ensemble an id yet, it gets one. Where we find
 * less than we know, our doubt is written there, so that everybody holds back; only a person who
 * accepts what is there ends that (accept-call.h), for all nodes at once. */
#pragma once

#include "ensemble-memory.h"
#include "node.h"
#include "statement.h"

typedef struct Trust Trust;

typedef struct TrustEvents {
        /* It may be trusted: told at each look. */
        void (*trusted)(void *userdata);
        /* It may not: likewise. */
        void (*doubted)(void *userdata);
        /* We may not read or make what says so. */
        void (*refused)(void *userdata);
} TrustEvents;

Trust *trust_new(const Node *node, const TrustEvents *events, void *userdata);
Trust *trust_free(Trust *trust);
DEFINE_CLEANUP(Trust, trust_free);

/* Looks (again): nothing is trusted until the answers are there. */
void trust_look(Trust *trust);
/* The connection is lost: what answers next has to show who it is. */
void trust_suspend(Trust *trust);
/* The session is gone. */
void trust_reset(Trust *trust);

bool trust_is_given(const Trust *trust);
/* Return: whether it was looked at, and is not to be trusted. It outlives the session. */
bool trust_is_doubted(const Trust *trust);
/* Who doubts it, and why; of no use while nobody does. Borrowed. */
const Statement *trust_doubt(const Trust *trust);
/* Return: the id of the ensemble that this node knows, borrowed; NULL: none. */
const char *trust_known_id(const Trust *trust);
/* Return: why nothing is run, and what to do, a sentence; "" where nobody doubts it. Borrowed. */
const char *trust_fault(const Trust *trust);
/* Return: the last that could be read, borrowed; NULL: none could. */
const json_t *trust_record(const Trust *trust);

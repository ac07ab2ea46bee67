/* Remains: runs that ended on this machine, or continue, and that nobody follows, because the
 * process that did was restarted before it could write their result, and another node has settled
 * them as unknown meanwhile. Recovery does not see those: nothing stands open for them any more.
 * But PID 1 still has their units, or we remember that we have ended them; what is known so of a
 * run whose record says "unknown" is written there, and the units are forgotten. */
#pragma once

#include "ended-units.h"
#include "node.h"
#include "runs.h"

typedef struct Remains Remains;

/* What it is given is borrowed. */
Remains *remains_new(const Node *node, Runs *runs, const EndedUnits *ended);
Remains *remains_free(Remains *remains);
DEFINE_CLEANUP(Remains, remains_free);

/* A session is ready, and all runs that stand open are known: looks at the units that were ended.
 */
void remains_begin(Remains *remains);
/* PID 1 has this unit, and nothing of it lives, or it continues though others have given it up: it
 * is followed to its end. Without a session that is ready it is passed over: it is found again. */
void remains_found(const char *unit, Remains *remains);
/* The session is gone. */
void remains_reset(Remains *remains);

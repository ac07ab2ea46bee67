/* What some clusters have to live through in the end: their servers are emptied, or restored from a
 * backup of some time before. Nobody who knows better may claim anything in what is there then, and
 * nobody at all once a doubt stands there, until a person accepts it; after that the cluster works
 * again. */
#pragma once

#include "ensemble.h"
#include "fleet.h"

typedef struct Aftermath Aftermath;

/* A backup is made within `span`. Return: NULL where this cluster is spared. */
Aftermath *aftermath_new(World *world, Ensemble *ensemble, const Fleet *fleet, usec_t span);
Aftermath *aftermath_free(Aftermath *aftermath);
DEFINE_CLEANUP(Aftermath, aftermath_free);

/* A transaction is committed, before it begins: who claims something knows what was there then. */
void aftermath_note(Aftermath *aftermath, const Transaction *txn);
/* All faults are over: what is noted before counts for nothing. */
void aftermath_is_calm(Aftermath *aftermath);
/* The servers stop, and come back with what they had then, or nothing. Looks on from now on. */
void aftermath_begin(Aftermath *aftermath);
/* Everybody had the time to find out. */
void aftermath_accept(Aftermath *aftermath);
/* And to go on. */
void aftermath_judge(Aftermath *aftermath);
/* Return: what was wrong, borrowed; NULL: nothing. */
const char *aftermath_fault(const Aftermath *aftermath);

/* Which definition of a job is in force: ours, or another that stands in the ledger.
 *
 * Only a node whose own file changed since it last agreed with the ledger puts its definition there
 * (digest-memory.h), and not before it remembers that it is about to; likewise its time zone data
 * (zones.h). Any other node that differs is drifted:
 * it claims and skips nothing of the job until they agree, and says so to people and to the other
 * nodes.
 *
 * That alone could leave a job to nobody: whoever put its definition in force has lost its memory
 * and has another file now, say, and all others have their old one still. So where a definition is
 * in force that none of the members has that have the job, and that stays so for IN_FORCE_PATIENCE,
 * the first of them puts its own in force, until somebody comes who has the other. While files are
 * given out node by node that does not happen: the nodes that have the new one have what is in
 * force. */
#pragma once

#include "ledger-cache.h"
#include "ledger-writer.h"
#include "members.h"
#include "registration.h"
#include "rename.h"

/* Longer than a restart of the daemon whose file is in force, and than members take to tell. */
#define IN_FORCE_PATIENCE (180 * USEC_PER_SEC)

typedef struct DigestMemory DigestMemory;
typedef struct InForce InForce;

/* All weak. */
typedef struct InForceParts {
        Node *node;
        const Tree *tree;
        LedgerCache *ledgers;
        DigestMemory *digests;
        Registration *registration;
        Members *members;
        LedgerWriter *writer; /* of the same job */
        const JobSet *jobset; /* whether a job that was renamed is here, too */
} InForceParts;

typedef enum InForceVerdict {
        IN_FORCE_OURS,
        IN_FORCE_DRIFTED,
        IN_FORCE_NEEDS_CLOCK, /* it is to be changed, by a clock that is known to be good */
        IN_FORCE_REMEMBERS,   /* it is to be changed, once that is remembered: it is told */
        IN_FORCE_WRITES,      /* it is being changed */
        IN_FORCE_FAILED,      /* it could not be: in_force_error() */
} InForceVerdict;

/* From the loop, after IN_FORCE_REMEMBERS: the ledger is to be read again. */
typedef void (*InForceFunc)(void *userdata);

/* The parts are copied. */
InForce *in_force_new(const InForceParts *parts, const char *job, InForceFunc remembered,
                      void *userdata);
InForce *in_force_free(InForce *in_force);
DEFINE_CLEANUP(InForce, in_force_free);

/* The session is gone. */
void in_force_reset(InForce *in_force);
/* Our definition is another now: the ledger has to be read to know whether it is in force. */
void in_force_changed(InForce *in_force);
/* Return: whether that was not looked at yet. */
bool in_force_is_unchecked(const InForce *in_force);
bool in_force_is_drifted(const InForce *in_force);

/* The ledger was just read, or there is none. Return: what the name that the job had, or has now,
 * means for it (policy/rename.h). */
RenameNeed in_force_rename_need(const InForce *in_force, const JobSpec *spec);
/* What has the ledger, or is to have it, goes on under another name: we are drifted. `why`: a
 * sentence; NULL: the ledger says so. */
InForceVerdict in_force_close(InForce *in_force, const char *why);
/* Return: that sentence, borrowed; NULL: it does not. */
const char *in_force_closed_why(const InForce *in_force);

/* Return: whether the ledger as last seen has that definition in force. */
bool in_force_is(const InForce *in_force, const JobSpec *spec);
/* The ledger was just read. `may_change`: our clock is good. */
InForceVerdict in_force_check(InForce *in_force, const JobSpec *spec, bool may_change);
/* There is no ledger: makes it, with our definition. */
InForceVerdict in_force_make_ledger(InForce *in_force, const JobSpec *spec);
/* What was begun is done (`outcome`), or not. */
void in_force_written(InForce *in_force, LedgerWriteOutcome outcome);
int in_force_error(const InForce *in_force);
/* We are drifted. Return: when to look again because nobody has what is in force, a pause;
 * USEC_INFINITY: somebody has, or it is for another node to change it. */
usec_t in_force_patience_left(const InForce *in_force);

/* What the end of a run changes in what is known of its roll (record/rolls.h), by the very
 * transaction that records that end, on the version that was read: so whoever claims next has seen
 * it. For that must be read what stands there, before the first try already.
 *
 * Where the job waits for machines it is noted of every run, with what tells whether its machine is
 * back since; whoever claims after that takes out what has been seen (roll-look.h). */
#pragma once

#include "cleanup.h"
#include "follow.h"
#include "job.h"
#include "node.h"
#include "run-record.h"
#include "zk.h"

typedef struct Flight Flight;
typedef struct RollNote RollNote;

/* `spec`: what this node knows of the definition, or NULL; borrowed for the call. Return: newly
 * allocated; NULL where no account is kept of that run: it has no tick, somebody asked for it, or
 * its job keeps none. */
RollNote *roll_note_new(const Node *node, const JobSpec *spec, const RunRecord *record);
RollNote *roll_note_free(RollNote *note);
DEFINE_CLEANUP(RollNote, roll_note_free);

/* Has it read in that flight what stands there. */
void roll_note_read(RollNote *note, Flight *flight);
/* Appends to `ops` (zk-ops.h) what is changed there by a run that comes from the one state to the
 * other; `now` is the servers' time. Nothing where nothing is, or what stands there is damaged,
 * which is told. Where it was deleted since the claim it is made anew. */
void roll_note_add(RollNote *note, GArray *ops, const FollowState *before, const FollowState *after,
                   usec_t now);
/* Return: whether the transaction was refused since others of the roll were quicker. */
bool roll_note_was_outrun(const RollNote *note, const ZkReply *reply);
/* Return: whether it was since the server does not let us write there, or the directory is gone:
 * then nothing of it is from now on, which is told. The same where it cannot be read. */
bool roll_note_gives_up(RollNote *note, const ZkReply *reply);

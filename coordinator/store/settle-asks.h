/* What a settle asks for: the runs that follow the one that is settled (policy/follow.h). Each is a
 * persistent request, made by the very transaction that writes the result. So it is there if and
 * only if the run is settled, whichever node dies at whatever moment; it is run as a request by
 * hand is, once, by any node that may, and its claim deletes it.
 *
 * Where a job waits for several others together, each end that counts is noted in the same way
 * (record/meetings.h), and the last one to come makes the request: named by the tick, it is one,
 * whoever came last. For that must be read what stands there, before the first try already.
 *
 * So is what is known of the roll that the run is of (roll-note.h).
 *
 * Who settles goes by its own definitions. The names of the request and of the run that it asks for
 * come from the run that is settled and the job that follows. So what is settled anew, since an
 * answer was lost, or since more is known by now, finds what it asked for before: the request, or
 * the record of the run that came of it; also by the name that the job had, by which another
 * machine may have asked that has its file of before. What stands there is not asked for again. */
#pragma once

#include "cleanup.h"
#include "follow.h"
#include "jobset.h"
#include "node.h"
#include "run-record.h"

typedef struct Flight Flight;
typedef struct SettleAsks SettleAsks;

/* Return: newly allocated, what the end of that run (as it is to be; copied) may ask for. */
SettleAsks *settle_asks_new(const Node *node, const JobSet *jobset, const RunRecord *record);
SettleAsks *settle_asks_free(SettleAsks *asks);
DEFINE_CLEANUP(SettleAsks, settle_asks_free);

/* Return: the run whose end that is, borrowed, and (ret_state) how it is to have ended. */
const char *settle_asks_run(const SettleAsks *asks, RunState *ret_state);
/* Return: whether nothing may be written before what stands there is read. */
bool settle_asks_must_look(const SettleAsks *asks);
bool settle_asks_was_read(const SettleAsks *asks);
/* Has it read in that flight what of it stands there. Before, nothing is believed to. */
void settle_asks_read(SettleAsks *asks, Flight *flight);
/* Appends to `ops` (zk-ops.h) what makes those requests that the run asks for as it comes from the
 * one state to the other; `now` is the server's time. What is borrowed lives as long as `asks`. */
void settle_asks_add(SettleAsks *asks, GArray *ops, const FollowState *before,
                     const FollowState *after, usec_t now);
/* Return: whether they were refused since somebody else has come, or has ended in the same roll,
 * meanwhile, whom one sees who reads again. */
bool settle_asks_was_outrun(const SettleAsks *asks, const ZkReply *reply);
/* Return: whether they were refused since the server does not let us write where jobs are waited
 * for together, or what is known of the roll: then that is left out from now on, so that no node
 * that somebody closed keeps a run from being settled. It is told, and so it is where it cannot be
 * read. */
bool settle_asks_gives_up(SettleAsks *asks, const ZkReply *reply);
/* They are written. */
void settle_asks_tell(const SettleAsks *asks);

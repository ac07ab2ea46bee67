/* Where a job waits for several others together (record/meetings.h): what the end of a run of one
 * of them changes there. Read with the rest of what its settle reads, written by its transaction on
 * the version that was read, and told when that is done (settle-asks.h). */
#pragma once

#include <glib.h>

#include "cleanup.h"
#include "jobset.h"
#include "node.h"
#include "zk.h"

typedef struct Flight Flight;
typedef struct SettleMeeting SettleMeeting;

/* Whose end it is. */
typedef struct SettleComer {
        const char *name;      /* by which the job is waited for; borrowed */
        const char *job, *run; /* borrowed */
        int64_t tick;
} SettleComer;

/* Return: newly allocated. `job` waits for several together; it is not kept. What the comer borrows
 * lives longer. */
SettleMeeting *settle_meeting_new(const Node *node, const JobSet *jobset, const JobSpec *job,
                                  const SettleComer *comer);
SettleMeeting *settle_meeting_free(SettleMeeting *meeting);
DEFINE_CLEANUP(SettleMeeting, settle_meeting_free);

/* Has it read in that flight who has come. */
void settle_meeting_read(SettleMeeting *meeting, Flight *flight);
/* Nothing of it is in the transaction that is being made. */
void settle_meeting_forget(SettleMeeting *meeting);
/* Appends to `ops` (zk-ops.h) that the run has come; what is kept is not larger than `size_max`
 * then. Return: whether all have, with it. */
bool settle_meeting_add(SettleMeeting *meeting, GArray *ops, size_t size_max);
/* Return: whether the transaction was refused since somebody else has come meanwhile. */
bool settle_meeting_was_outrun(const SettleMeeting *meeting, const ZkReply *reply);
/* Return: whether it was since the server does not let us write there: then nothing of it is from
 * now on, which is told. The same where it cannot be read. */
bool settle_meeting_gives_up(SettleMeeting *meeting, const ZkReply *reply);
/* It is written: says who is waited for still, and what was given up. */
void settle_meeting_tell(const SettleMeeting *meeting);

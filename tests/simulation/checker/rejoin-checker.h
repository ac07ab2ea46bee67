/* Who waits for machines that are away after their runs. See rejoin-checker.c. */
#pragma once

#include "write-checker.h"

RejoinBook *rejoin_book_new(void);
RejoinBook *rejoin_book_free(RejoinBook *book);

/* A run is settled, or claimed. */
void rejoin_note_settled(const Write *write, const RunRecord *before, const RunRecord *after);
void rejoin_judge_claim(const Write *write, const PlanJob *job, const RunRecord *record);
/* A node becomes a member, or is none any more. */
void rejoin_note_member(const Write *write, const char *node, const TransactionOp *op);
/* A tick is skipped since a machine is not back. */
void rejoin_note_stop(const Write *write, const PlanJob *job, int64_t tick);

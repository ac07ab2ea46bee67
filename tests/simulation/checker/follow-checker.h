/* What follows the end of a run, as it is written. See follow-checker.c. */
#pragma once

#include "write-checker.h"

FollowBook *follow_book_new(void);
FollowBook *follow_book_free(FollowBook *book);

/* The record of a run is written; `before`: as it was; NULL: there was none. */
void follow_judge_record(const Write *write, const RunRecord *before, const RunRecord *after);
/* It ends so, since that is written, or no further attempt follows after all. */
void follow_judge_end(const Write *write, const RunRecord *before, const RunRecord *after);
/* A request is made, or deleted. */
void follow_judge_request(const Write *write, const TransactionOp *op);
/* Return: the id of the request for that run, by the end of another one; NULL: there was none. */
const char *follow_request_of(const Write *write, const RunRecord *record);

/* What the leader makes of requests: transactions. See prepare.c. */
#pragma once

#include "data-tree.h"

typedef struct Preparer Preparer;

/* `tree`: what the leader has done already; borrowed. */
Preparer *preparer_new(const DataTree *tree);
Preparer *preparer_free(Preparer *preparer);
DEFINE_CLEANUP(Preparer, preparer_free);

/* Return: the transaction that a write becomes, an error where it may not be done; `session` is
 * what the leader thinks of the one who asks: ZK_OK, or why it is refused. The caller's
 * (txn_unref()). */
Transaction *preparer_prepare(Preparer *preparer, const Request *request, ZkCode session,
                              int64_t zxid, int64_t time_ms);
/* The session ends, and what it owns goes with it. */
Transaction *preparer_close_session(Preparer *preparer, int64_t session, int64_t zxid,
                                    int64_t time_ms);
/* A transaction of this preparer has been done in the tree. */
void preparer_done(Preparer *preparer, int64_t zxid);

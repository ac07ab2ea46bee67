/* The answer about locks: Locks. A look at all locks reads every directory, with reads of its own,
 * so few looks are made at a time and the others wait. One whose caller left goes on to its end:
 * what it has asked is not taken back by leaving. */
#pragma once

#include "answer.h"

typedef struct LockLooks LockLooks;

LockLooks *lock_looks_new(Answers *owner);
/* To be freed after the answers are dropped, and before them. */
LockLooks *lock_looks_free(LockLooks *looks);

/* Return: 0 or negative errno with `error` set, as sd-bus wants it. */
int lock_looks_ask(LockLooks *looks, sd_bus_message *message, sd_bus_error *error);

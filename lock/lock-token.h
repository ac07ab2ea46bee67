/* The fencing token of what is held. See lock-token.c. */
#pragma once

#include "lock-outcome.h"

typedef struct LockToken {
        Outcome *outcome;        /* weak: its set's */
        const GPtrArray *places; /* weak */
        ZkCall *call;
        int64_t drawn; /* when all was held, or 0 */
} LockToken;

/* Everything is held; announces it, once there is a token. */
void token_draw(LockToken *token);
/* Return: that of one resource by its name, or of the first (NULL); 0 when there is no such one. */
int64_t token_of(const LockToken *token, const char *resource);

/* A waiter: what a contender of a job that waits for a tick says of itself. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cleanup.h"

typedef struct Waiter {
        char *job;
        int64_t tick;
        bool ours; /* of our session */
} Waiter;

/* Return: newly allocated (g_free), the payload of a contender of that node and job, which is in
 * the queue for a tick, or (0) for a manual run. */
char *waiter_encode(const char *node, const char *job, int64_t tick);
/* Return: the waiter for a tick whose payload it is; NULL where it is none's. */
Waiter *waiter_decode(const char *payload, bool ours);
Waiter *waiter_free(Waiter *waiter);
DEFINE_CLEANUP(Waiter, waiter_free);

/* Who waits: the contenders that stand in the queues of jobs, and for which of their ticks.
 *
 * That a tick is waited for stands nowhere but in the queues: to wait is no decision, and costs no
 * write. Whoever is about to record a tick as missed that may be waited for, because its lock-wait
 * is longer than its start deadline, looks here first; and a process looks here for what the one
 * before it waited for.
 */
#pragma once

#include "job.h"
#include "node.h"

typedef struct Waiter {
        char *job;
        int64_t tick;
        char *path;
        bool ours; /* of our session */
} Waiter;

typedef struct Waiters Waiters;

/* `error` as of a survey (lock-survey.h), 0 with `found`, of Waiter, borrowed. The look may be
 * freed in it. */
typedef void (*WaitersFunc)(int error, const GPtrArray *found, void *userdata);

/* Looks at the queues of all that these jobs (JobSpec, at least one that locks anything) lock.
 * Return: 0 once sent, then exactly one call of `func`; negative errno. */
int waiters_look(Node *node, const GPtrArray *specs, WaitersFunc func, void *userdata,
                 Waiters **ret_waiters);
Waiters *waiters_free(Waiters *waiters);
DEFINE_CLEANUP(Waiters, waiters_free);

/* What the process before us left in queues while it waited: deleted once its session is ours and
 * nothing of its runs is in doubt, for whoever stands there waits for nobody. Its held locks belong
 * to runs, which are found again by then. */
#pragma once

#include <glib.h>

#include "node.h"

typedef struct LeftQueues LeftQueues;

typedef struct LeftQueuesEvents {
        /* Adds the jobs (JobSpec, borrowed) that our files have. */
        void (*jobs)(GPtrArray *specs, void *userdata);
        /* Adds directories beside theirs, and the paths of contenders that stay: new copies. */
        void (*keep)(GPtrArray *directories, GPtrArray *paths, void *userdata);
        /* It waited for that tick. Return: whether it is to be seen for `span` more that somebody
         * does: its contenders stay, and are in the way of the new ones. */
        bool (*waited_for)(const char *job, int64_t tick, usec_t span, void *userdata);
        /* Return: whether we stand in the queues for that tick ourselves, for the others to see. */
        bool (*stands_anew)(const char *job, int64_t tick, void *userdata);
        /* All that it waited for was said, or could not be learnt in time. */
        void (*looked)(void *userdata);
} LeftQueuesEvents;

/* `events` lives longer than they do. */
LeftQueues *left_queues_new(Node *node, const LeftQueuesEvents *events, void *userdata);
LeftQueues *left_queues_free(LeftQueues *queues);
DEFINE_CLEANUP(LeftQueues, left_queues_free);

/* There is a session: `due`, if it is the one of the process before us. Looks what it waited for,
 * once: another session that comes later is not that one. */
void left_queues_begin(LeftQueues *queues, bool due);
/* Return: NULL once that is known, else a sentence: it is to come before what is due now. */
const char *left_queues_busy(const LeftQueues *queues);
/* Nothing of its runs is in doubt: deletes them, if that is due still, and known. */
void left_queues_delete(LeftQueues *queues);
/* The session is gone, and what stood there with it. */
void left_queues_reset(LeftQueues *queues);

/* Which sessions live: the leader alone knows. See session-tracker.c. */
#pragma once

#include <glib.h>

#include "zk.h"

typedef struct SessionTracker SessionTracker;

/* `tick`: sessions expire when it is a multiple of that. */
SessionTracker *session_tracker_new(usec_t tick);
SessionTracker *session_tracker_free(SessionTracker *tracker);
DEFINE_CLEANUP(SessionTracker, session_tracker_free);

/* It was just made, or a new leader has just come: its whole timeout is before it. */
void session_tracker_add(SessionTracker *tracker, int64_t session, usec_t timeout, usec_t now);
/* It was heard of. Return: whether it lives. */
bool session_tracker_touch(SessionTracker *tracker, int64_t session, usec_t timeout, usec_t now);
/* Its client is at that server now. */
void session_tracker_set_owner(SessionTracker *tracker, int64_t session, unsigned server);
/* Return: ZK_OK; ZK_CLOSED: it is over; ZK_UNKNOWN: its client has moved to another server. */
ZkCode session_tracker_check(SessionTracker *tracker, int64_t session, unsigned server);
/* It is about to be closed: no request of it counts any more. */
void session_tracker_set_closing(SessionTracker *tracker, int64_t session);
void session_tracker_remove(SessionTracker *tracker, int64_t session);
/* Return: those whose time is over, in the order of their ids; they are closing now. Newly
 * allocated, of int64_t. */
GArray *session_tracker_expire(SessionTracker *tracker, usec_t now);

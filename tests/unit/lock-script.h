/* Locks and sessions on a scripted port: the test answers each request, so that it can tell what no
 * server can be made to tell at will, such as a connection that breaks between two requests of one
 * flight.
 */
#pragma once

#include <criterion/criterion.h>
#include <glib.h>
#include <string.h>

#include "lock.h"
#include "scripted-port.h"

#define LIMIT (5 * USEC_PER_SEC)
#define QUIET (300 * USEC_PER_MSEC) /* after which no request is to come any more */

typedef struct Script {
        sd_event *event;
        Session *session;
        LockSet *set;
        unsigned events[LOCK_EVENT_DOWNGRADED + 1];
        char *contender; /* the path that the creation asked for, with a number */
        unsigned warnings;
        char *warning;          /* the latest */
        const char *state_file; /* of the session, or NULL */
} Script;

/* A session with a good heartbeat, the next one far away. */
void script_open(Script *script);
void script_close(Script *script);
/* The connection breaks and comes back, with the same session. */
void script_reconnect(Script *script);

Zk *port(void);
/* Takes the next request. Return: NULL when none came in time. */
ZkCall *script_next(Script *script, usec_t limit);
/* Waits for the next request, which must be this one, and takes it. */
ZkCall *expect(Script *script, Request request);
/* Nothing more is asked for. */
void expect_quiet(Script *script);
void answer(Script *script, Request request, ZkCode code);

/* What the list of a directory shows: `names`, which NULL ends. */
ZkReply list_of(const char *const *names);
/* What a read of a node of ours shows. */
ZkReply node_of(int64_t owner, const char *data);
ZkStat own_stat(void);

/* Asks for a resource below /locks, for as long as it takes. */
void script_ask_with(Script *script, LockRequest request, LockOptions options);
void script_ask(Script *script, LockRequest request);
/* Counts the events of the script's set. */
void on_lock(LockSet *set, LockEvent event, void *userdata);
/* Waits until the set is told so. */
void script_await(Script *script, LockEvent event);

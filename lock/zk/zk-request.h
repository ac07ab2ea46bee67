/* Requests: what the port needs for them. See zk-request.c. */
#pragma once

#include "zk-send.h"

/* So many requests of a session are under way. Few, because a heartbeat is served after them, and
 * because servers stop reading where all clients together have 1,000 (globalOutstandingLimit); not
 * fewer, because an answer may take some milliseconds, of which a server could do as much as this
 * in the meantime. */
#define ZK_REQUESTS_MAX 200

/* A Zk begins with this. */
typedef struct ZkRequests {
        ZkQueue *queue; /* weak: the port's */
        ZkWatches watches;
        zhandle_t *handle; /* NULL: not connected yet, or closed */
        char *identity; /* how the servers write whom our credentials prove: "USER:hash"; NULL: we
                           have none, and every node is open */
        GQueue calls;   /* of ZkCall, in the order of asking */
        GQueue waiting; /* of them, weak: those that the library was not told of yet */
        unsigned under_way; /* told, and the answer is not dispatched yet; without heartbeats */
        unsigned lost;      /* the first of `waiting` are never told */
        int loss;           /* but answered with this error */
} ZkRequests;

/* Return: what the port begins with. */
ZkRequests *zk_requests(Zk *zk);

/* `auth`: "USER:PASSWORD" or NULL. */
void zk_requests_init(ZkRequests *requests, ZkQueue *queue, const char *auth);
void zk_requests_clear(ZkRequests *requests);
/* Moves what waits to an empty queue of ZkSending, which stay in the books: for who sends it now,
 * before an orderly end. */
void zk_requests_take_unsent(ZkRequests *requests, GQueue *ret_unsent);
/* Answers everything that is pending; the library's own answers are then ignored. A callback may
 * free the port. */
void zk_requests_drain(ZkRequests *requests);

ZkCode zk_code_from_error(int error);
void zk_call_answer(ZkRequests *requests, const ZkItem *item);

/* Requests: what the port needs for them. See zk-request.c. */
#pragma once

#include "zk-watch.h"

/* A Zk begins with this. */
typedef struct ZkRequests {
        ZkQueue *queue; /* weak: the port's */
        ZkWatches watches;
        zhandle_t *handle; /* NULL: not connected yet, or closed */
        char *identity; /* how the servers write whom our credentials prove: "USER:hash"; NULL: we
                           have none, and every node is open */
        GQueue calls;   /* of ZkCall, in the order of sending */
} ZkRequests;

/* Return: what the port begins with. */
ZkRequests *zk_requests(Zk *zk);

/* `auth`: "USER:PASSWORD" or NULL. */
void zk_requests_init(ZkRequests *requests, ZkQueue *queue, const char *auth);
void zk_requests_clear(ZkRequests *requests);
/* Answers everything that is pending; the library's own answers are then ignored. A callback may
 * free the port. */
void zk_requests_drain(ZkRequests *requests);

ZkCode zk_code_from_error(int error);
void zk_call_answer(ZkRequests *requests, const ZkItem *item);

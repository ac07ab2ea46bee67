/* One request, as it is told to the library, and its answer. See zk-send.c. */
#pragma once

#include "zk-watch.h"

typedef enum ZkRequestType {
        ZK_REQUEST_CREATE,
        ZK_REQUEST_DELETE,
        ZK_REQUEST_SET,
        ZK_REQUEST_SYNC,
        ZK_REQUEST_GET,
        ZK_REQUEST_EXISTS,
        ZK_REQUEST_GET_CHILDREN,
        ZK_REQUEST_GET_ACL,
        ZK_REQUEST_MULTI,
} ZkRequestType;

/* What is asked for. Its strings are borrowed, but for a copy's. */
typedef struct ZkRequest {
        ZkRequestType type;
        const char *path; /* but of a multi */
        const char *data;
        int32_t version;
        unsigned flags;
        const ZkOp *ops; /* multi */
        size_t n_ops;
} ZkRequest;

/* Return: 0, or -EINVAL for what no server could be asked. */
int zk_request_check(const ZkRequest *request);
ZkRequest *zk_request_copy(const ZkRequest *request);
/* Of a copy; NULL is fine. */
ZkRequest *zk_request_free(ZkRequest *request);
DEFINE_CLEANUP(ZkRequest, zk_request_free);

/* What the library's threads touch of a request under way. A ZkCall begins with it. */
typedef struct ZkSending {
        ZkQueue *queue;       /* weak: where the answer goes */
        const char *identity; /* weak: see ZkRequests */
        ZkWatched *watched;   /* what the request arms, in the books at least until the answer */
        ZkRequest *waiting;   /* a copy of what it is to say; NULL once the library was told */

        size_t n_ops; /* multi: the library writes the results here before it answers */
        zoo_op_result_t *op_results;
        struct Stat *op_stats;
} ZkSending;

/* Makes room for the results of a multi. */
void zk_sending_init(ZkSending *sending, const ZkRequest *request);
void zk_sending_clear(ZkSending *sending);

/* Hands it to the library. Return: ZOK, and the queue gets one ZK_ITEM_REPLY, perhaps before this
 * returns; else the library's error, and it gets none. */
int zk_send(zhandle_t *handle, const ZkRequest *request, ZkSending *sending);
/* The same item for a request that the library was never told of. */
void zk_send_back(ZkSending *sending, int error);

/* What is asked of a server, what its leader makes of it, and what comes of that.
 *
 * A request is what a client sends. The leader turns a write into a transaction that says what will
 * be, and not what was asked (idempotent, as in org.apache.zookeeper.txn): a version, a name with
 * its number. What fails is a transaction, too. Each server that does it comes to the same. */
#pragma once

#include <glib.h>
#include <limits.h>

#include "zk.h"

typedef enum RequestType {
        REQUEST_CONNECT,
        REQUEST_CREATE,
        REQUEST_DELETE,
        REQUEST_SET,
        REQUEST_MULTI,
        REQUEST_SYNC,
        REQUEST_GET,
        REQUEST_EXISTS,
        REQUEST_CHILDREN,
        REQUEST_ACL,
        REQUEST_AUTH,
        REQUEST_PING,
        REQUEST_SET_WATCHES,
        REQUEST_CLOSE,
        REQUEST_DELETE_CONTAINER, /* the servers' own */
} RequestType;

typedef enum WatchKind { WATCH_DATA, WATCH_EXISTS, WATCH_CHILDREN, WATCH_KINDS } WatchKind;

typedef struct Request {
        gint refs;
        RequestType type;
        uint64_t xid;    /* the client's number; 0 for what nobody waits for */
        int64_t session; /* CONNECT: to attach to, or 0 */
        char *path;      /* what is not a write */
        bool watch;
        ZkOp *ops; /* of a write: one, or those of a multi; strings are its own */
        size_t n_ops;
        bool creator_only; /* what it creates is for its creator's identity alone */
        char *identity;    /* AUTH: whom the client proves to be; a write at the leader: whom its
                              connection had proved by then */
        int64_t zxid;      /* CONNECT, SET_WATCHES: the newest that the client saw */
        usec_t timeout;    /* CONNECT */
        char password[16]; /* CONNECT */
        GPtrArray *watches[WATCH_KINDS]; /* SET_WATCHES: paths */
} Request;

typedef enum TransactionType {
        TXN_CREATE,
        TXN_SET,
        TXN_DELETE,
        TXN_CHECK,
        TXN_ERROR,
        TXN_CREATE_SESSION,
        TXN_CLOSE_SESSION,
} TransactionType;

typedef struct TransactionOp {
        TransactionType type;
        ZkCode code; /* ERROR */
        char *path, *data, *acl;
        int64_t owner;   /* CREATE: of an ephemeral node, CONTAINER_OWNER, or 0 */
        int32_t version; /* SET: the new one; CREATE: the parent's new count of creations */
} TransactionOp;

/* Of the servers' own requests: nobody waits for them. */
#define TXN_NO_ORIGIN UINT_MAX
/* Of what somebody does who reaches the servers, and is no client. */
#define TXN_BY_HAND (UINT_MAX - 1)

typedef struct Transaction {
        gint refs;
        int64_t zxid, time_ms;
        int64_t session;
        usec_t timeout; /* CREATE_SESSION */
        RequestType of; /* the request's type */
        uint64_t xid;
        unsigned origin;    /* the server at which somebody may wait for it */
        TransactionOp *ops; /* CLOSE_SESSION: first itself, then a DELETE for each ephemeral node */
        size_t n_ops;
} Transaction;

/* What the client of a transaction is told. */
typedef struct TransactionResult {
        ZkCode code;         /* of the first that failed */
        const char *path;    /* CREATE; the transaction's */
        ZkStat stat;         /* CREATE, SET */
        ZkOpResult *results; /* MULTI: as the server says it: OK before what failed, UNKNOWN (its
                                "runtime inconsistency") after it */
        size_t n_results;
} TransactionResult;

Request *request_new(RequestType type, const char *path);
/* Copies the operations. */
Request *request_new_write(RequestType type, const ZkOp *ops, size_t n_ops);
Request *request_ref(Request *request);
Request *request_unref(Request *request);
DEFINE_CLEANUP(Request, request_unref);
/* Return: whether only the leader can do it. */
bool request_is_write(const Request *request);
/* Return: about how many bytes it is on the wire. */
size_t request_size(const Request *request);

Transaction *txn_new(int64_t zxid, int64_t time_ms, size_t n_ops);
Transaction *txn_ref(Transaction *txn);
Transaction *txn_unref(Transaction *txn);
DEFINE_CLEANUP(Transaction, txn_unref);
TransactionResult *txn_result_free(TransactionResult *result);
DEFINE_CLEANUP(TransactionResult, txn_result_free);

/* A ZooKeeper server behind the scripted port, as small as can be: one transaction after another,
 * watches, versions, ephemeral nodes, and a clock that the test sets. For tests of what the daemon
 * does between a request and its answer, which no real server can be made to hold back at will.
 */
#pragma once

#include <criterion/criterion.h>

#include "scripted-port.h"

typedef struct ServerNode {
        char *data;
        ZkStat stat;
} ServerNode;

/* What becomes of a request. */
typedef enum ServerWay {
        SERVER_ANSWER,
        SERVER_KEEP,        /* it waits: server_release() */
        SERVER_LOSE,        /* it is not done, and its connection breaks */
        SERVER_LOSE_ANSWER, /* it is done, and its connection breaks */
        SERVER_REFUSE,      /* it is not done; the answer is `refusal` */
} ServerWay;

typedef struct Server {
        GHashTable *nodes;   /* path → ServerNode */
        GHashTable *shown;   /* the same, as reads find it: server_lag(); NULL: as it is */
        GPtrArray *watches;  /* of ServerWatch */
        int64_t zxid, clock; /* `clock`: the server's minus ours, µs */
        const char *broken;  /* reads of this path find their connection broken; or NULL */
        const char *unreadable, *unwritable; /* nobody is permitted to, of these paths; or NULL */
        const char *others;                  /* who beside us may change every node; NULL: nobody */
        unsigned reads, writes;              /* writes: transactions that change something */
        ServerWay (*way)(const ZkCall *call); /* NULL: every request is answered */
        ZkCode refusal;
        GQueue kept;         /* of ZkCall */
        bool hold_claims;    /* a transaction that makes a run's record is done, its answer kept */
        ZkCall *held;        /* the call that is to be answered with */
        ZkOpResult *results; /* these */
        size_t n_results;
} Server;

extern Server server;

void server_begin(void);
void server_end(void);

/* Answers what was asked so far. */
void server_serve(void);
/* The answer that was held back arrives; what was kept is served. */
void server_release(void);
/* The session is over: its ephemeral nodes go. Its client does not hear of it. */
void server_expire(int64_t session);
/* From now on it lags behind the others: reads find what stands there now, or when a sync or a
 * write of its client was answered last. */
void server_lag(void);
/* No watch is left, as after the client's end. */
void server_forget_watches(void);

/* Return: borrowed; NULL where there is no such node. */
ServerNode *server_node(const char *path);
/* Return: its data, borrowed; "" where there is no such node. */
const char *server_data(const char *path);
/* Makes a node that nobody is told of, and changes one. */
void server_create(const char *path, const char *data, int64_t owner);
/* Fires the watches on the children of its parent. */
void server_fire_parent(const char *path);
void server_set(ServerNode *node, const char *data);
void server_remove(const char *path);
/* Somebody else's write, of which the watches tell. */
void server_write(const char *path, const char *data);
void server_delete(const char *path);
/* Return: how many children it has. */
unsigned server_count(const char *path);

/* Return: whether the request makes a run's record. */
bool is_claim(const ZkCall *call);
/* Return: whether the request is a transaction with such an operation on a path that has `part`. */
bool call_has(const ZkCall *call, ZkOpType type, const char *part);

/* Does all or nothing, with *ret_results (g_free). Return: ZK_OK, or the code of the first that
 * fails. */
ZkCode server_transact(const ZkOp *ops, size_t n, int64_t owner, ZkOpResult **ret_results);

/* The port to ZooKeeper's C client: the only place that knows zookeeper.h.
 *
 * The threaded library is used so that a stalled loop does not cost the session and a slow name
 * server does not stall the loop. Every request leaves from the loop's thread, but for what still
 * waits at an orderly end. The library's callbacks, which run on its own threads, only copy their
 * arguments into a mutex-guarded queue and write an eventfd; the loop swaps the queue and
 * dispatches unlocked. Nothing here blocks: what would (connecting, which resolves names, and
 * closing) runs on a short-lived helper thread that answers through the same queue.
 *
 * A Zk is one ZooKeeper session: it is connected once, and once its session has expired or it was
 * closed it only answers ZK_CLOSED. A new session is a new Zk, so a stale reply cannot be taken for
 * a fresh one.
 *
 * Replies and watch events are always delivered from the loop, never from inside a zk_*() function.
 *
 * A server answers a session's requests in the order in which it got them. So a heartbeat sent
 * after tens of thousands of requests, as when thousands of jobs are due in one second, would be
 * answered after all of them, and the session be taken for dead that long. Therefore only a few
 * hundred requests are under way at a time (ZK_REQUESTS_MAX in zk-request.h); what is asked beyond
 * that waits in the process and is sent as answers come. The order stays that in which it was
 * asked, and who asks sees no difference: a request that waits is cancelled, lost with the
 * connection and ended with the session as one that was sent. Only heartbeats (zk_heartbeat()) are
 * sent before what waits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "cleanup.h"
#include "clock.h"

typedef struct Zk Zk;
typedef struct ZkCall
    ZkCall; /* a request on its way; freeing it cancels the callback, not the request */
typedef struct ZkWatch ZkWatch; /* a one-shot watch; freeing it cancels the callback */

/* Outcomes of a request. Codes that only mean a fault in our own arguments arrive as ZK_FAULT. */
typedef enum ZkCode {
        ZK_OK,
        ZK_NO_NODE,
        ZK_NODE_EXISTS,
        ZK_BAD_VERSION,
        ZK_NOT_EMPTY,
        ZK_NO_AUTH,
        ZK_NO_CHILDREN_FOR_EPHEMERALS,
        ZK_ROLLED_BACK, /* in a multi: this operation was fine, another one failed */
        ZK_UNKNOWN,     /* the server may or may not have done it: connection loss, time-out, -2 */
        ZK_CLOSED,      /* the session is over (expired, closed here); it was or was not done */
        ZK_UNIMPLEMENTED, /* the server does not know this request or node type */
        ZK_FAULT,
} ZkCode;

typedef struct ZkStat {
        int64_t czxid, mzxid, pzxid;
        int64_t ctime_ms, mtime_ms; /* the server's wall clock */
        int64_t ephemeral_owner;
        int32_t version, cversion, num_children, data_length;
} ZkStat;

typedef struct ZkOpResult {
        ZkCode code;
        ZkStat stat; /* of a set operation that succeeded */
} ZkOpResult;

/* What a request brought. Everything is borrowed for the duration of the callback. */
typedef struct ZkReply {
        ZkCode code;
        const char *path; /* create: the path that was made */
        const char *data; /* get: NUL-terminated for convenience, may have NULs inside */
        size_t data_size;
        const char *const *children; /* get_children: names, NULL-terminated */
        size_t n_children;
        const char *others;        /* get_acl: who beside us may change the node, for people:
                                      "world:anyone, digest:mallory"; "" nobody */
        ZkStat stat;               /* create2, get, exists, set, get_children */
        const ZkOpResult *results; /* multi: one an operation, n_results of them */
        size_t n_results;
        usec_t sent;          /* CLOCK_BOOTTIME when the request was handed to the library, which
                                 may be later than it was asked; of one that never was: when it was
                                 asked */
        usec_t sent_realtime; /* CLOCK_REALTIME then */
} ZkReply;

typedef void (*ZkReplyFunc)(const ZkReply *reply, void *userdata);

/* What a watch saw. Session events never reach a watch; a watch dies silently with its session. */
typedef enum ZkWatchEvent {
        ZK_WATCH_CREATED,
        ZK_WATCH_DELETED,
        ZK_WATCH_CHANGED,
        ZK_WATCH_CHILDREN,
} ZkWatchEvent;
typedef void (*ZkWatchFunc)(ZkWatchEvent event, const char *path, void *userdata);

/* How the connection fares. */
typedef enum ZkState {
        ZK_STATE_CONNECTING,
        ZK_STATE_CONNECTED,
        ZK_STATE_SUSPENDED,   /* was connected, is looking for a server */
        ZK_STATE_EXPIRED,     /* the server said so; final */
        ZK_STATE_AUTH_FAILED, /* final */
        ZK_STATE_FAILED, /* the addresses do not resolve, or the library gave up; final. zk_fault()
                            says what */
        ZK_STATE_CLOSED, /* after zk_close(); final */
} ZkState;
typedef void (*ZkStateFunc)(Zk *zk, ZkState state, void *userdata);

/* The identity of a session, as needed to attach to it again from another process. */
typedef struct ZkSessionId {
        int64_t id;
        char password[16];
} ZkSessionId;

typedef struct ZkOptions {
        const char *servers;        /* host:port[,host:port...] */
        usec_t session_timeout;     /* asked for; the server may grant another, see zk_timeout() */
        const ZkSessionId *session; /* attach to this one, or NULL for a new one */
        const char *auth; /* "user:password" of ZooKeeper's digest scheme, or NULL. With it, every
                             node is made so that only who has the same may touch it */
        void (*log)(int priority, const char *message,
                    void *userdata); /* the library's own log, may be NULL; called from the loop */
        ZkStateFunc state;
        void *userdata; /* for log and state */
} ZkOptions;

/* Starts connecting. Options are copied. Return: 0, or negative errno (-EINVAL also for an `auth`
 * that is not user:password); an address that does not resolve is no error here but ZK_STATE_FAILED
 * later. Names are looked up once, here: what a name
 * means later is seen by the next Zk. The library's log level is process-wide and set to ERROR; its
 * log lines carry no session, so each Zk with a `log` gets the lines of all in the process. The
 * library's descriptors get CLOEXEC a moment after they are opened: a program that forks on another
 * thread, or between two turns of the loop, should call close_range() in its child. */
int zk_connect(sd_event *event, const ZkOptions *options, Zk **ret_zk);

/* Ends the session at the server (tidy, when connected) or just forgets it (abandon: the session
 * lives on at the server until it expires or somebody attaches to it). Pending calls are answered
 * ZK_CLOSED first; a server that is connected has 2 s to do all the same what was asked before the
 * session is closed, without a connection nothing more is done. Both are asynchronous: the state
 * callback gets ZK_STATE_CLOSED when the helper thread is through. Idempotent. */
void zk_close(Zk *zk);
void zk_abandon(Zk *zk);

/* Frees it, abandoning the session if it was not closed; waits for nothing. No callback afterwards.
 */
Zk *zk_free(Zk *zk);
DEFINE_CLEANUP(Zk, zk_free);

ZkState zk_state(const Zk *zk);
/* The negotiated session timeout as of the latest CONNECTED, in usec; 0 before the first. */
usec_t zk_timeout(const Zk *zk);
/* When the names of the servers were known and the library began, CLOCK_BOOTTIME: before that no
 * server had heard from it. 0 before the first CONNECTED. */
usec_t zk_asked(const Zk *zk);
/* The session's identity; all zero before the first CONNECTED. */
ZkSessionId zk_session_id(const Zk *zk);
/* How many connections there have been; what happened on an earlier one may not be known on this.
 */
unsigned zk_connections(const Zk *zk); /* 0 for NULL */
/* "host:port" of the server we are connected to, "" when not. Valid until the next loop iteration.
 */
const char *zk_server(const Zk *zk);
/* Why the state is FAILED, a sentence for people; "" otherwise. */
const char *zk_fault(const Zk *zk);

typedef enum ZkCreateFlags {
        ZK_CREATE_EPHEMERAL = 1 << 0,
        ZK_CREATE_SEQUENTIAL = 1 << 1,
        ZK_CREATE_CONTAINER = 1 << 2,
} ZkCreateFlags;

/* Requests. They are sent and served in the order of the calls, at once unless very many are under
 * way, and each is answered exactly once through `func`, unless its ZkCall is freed first. Those
 * that still wait when the session is closed while it is connected are sent before that; those that
 * wait when it is abandoned, or when the connection is lost, never are, and are answered ZK_CLOSED
 * or ZK_UNKNOWN as those under way. Paths and data are copied. `ret_call` may be NULL: the call
 * then belongs to the Zk and cannot be cancelled. A call frees itself after its callback; its
 * owner's pointer must be dropped in the callback. `ret_watch`, where not NULL, gets a watch that
 * fires at most once, calls `watch_func` with `watch_userdata`, and stays the caller's to free,
 * also after it fired; if the request failed (but for NO_NODE of exists) no watch was set. Calls
 * and watches may be freed at any time, also after their Zk; then nothing is called back any more.
 * Return: 0 once sent or waiting; -ENOTCONN when the session is over, was not connected yet, or
 * `zk` is NULL; -ENOBUFS when there are too many watches; -EINVAL on a malformed path (ZK_FAULT is
 * the answer where that is found after it has waited); negative errno on a fault. Nothing is called
 * back on an error. */
int zk_create(Zk *zk, const char *path, const char *data, unsigned flags, ZkReplyFunc func,
              void *userdata, ZkCall **ret_call);
int zk_delete(Zk *zk, const char *path, int32_t version, ZkReplyFunc func, void *userdata,
              ZkCall **ret_call);
int zk_set(Zk *zk, const char *path, const char *data, int32_t version, ZkReplyFunc func,
           void *userdata, ZkCall **ret_call);
int zk_sync(Zk *zk, const char *path, ZkReplyFunc func, void *userdata, ZkCall **ret_call);
int zk_get(Zk *zk, const char *path, ZkReplyFunc func, void *userdata, ZkCall **ret_call,
           ZkWatchFunc watch_func, void *watch_userdata, ZkWatch **ret_watch);
int zk_exists(Zk *zk, const char *path, ZkReplyFunc func, void *userdata, ZkCall **ret_call,
              ZkWatchFunc watch_func, void *watch_userdata, ZkWatch **ret_watch);
int zk_get_children(Zk *zk, const char *path, ZkReplyFunc func, void *userdata, ZkCall **ret_call,
                    ZkWatchFunc watch_func, void *watch_userdata, ZkWatch **ret_watch);

/* Asks whether the session lives: a sync, or with `write` a multi of a check, which is a
 * transaction; both of the root. It passes whatever waits to be sent, and is not counted among
 * those under way. That breaks no order that anybody could rely on, because it changes no node and
 * reads none: the same answers come to all other requests wherever it stands among them. Nothing
 * else may do so. */
int zk_heartbeat(Zk *zk, bool write, ZkReplyFunc func, void *userdata, ZkCall **ret_call);

/* Reads who may do what with a node. */
int zk_get_acl(Zk *zk, const char *path, ZkReplyFunc func, void *userdata, ZkCall **ret_call);

typedef enum ZkOpType { ZK_OP_CHECK, ZK_OP_CREATE, ZK_OP_SET, ZK_OP_DELETE } ZkOpType;

/* One operation of a multi. `version` -1 means any. `data` and `flags` as in zk_create() and
 * zk_set(). */
typedef struct ZkOp {
        ZkOpType type;
        const char *path;
        const char *data;
        int32_t version;
        unsigned flags;
} ZkOp;

/* All or nothing. When one fails, reply.code is that operation's code and `results` tells which.
 * The results of set operations carry their stat: its mzxid is the zxid of the whole transaction.
 * Return: as the others; -EINVAL also for no operation at all, and for one that makes a container,
 * which the library cannot say. */
int zk_multi(Zk *zk, const ZkOp *ops, size_t n_ops, ZkReplyFunc func, void *userdata,
             ZkCall **ret_call);

ZkCall *zk_call_free(ZkCall *call);
DEFINE_CLEANUP(ZkCall, zk_call_free);
ZkWatch *zk_watch_free(ZkWatch *watch);
DEFINE_CLEANUP(ZkWatch, zk_watch_free);

/* A constant word for messages. */
const char *zk_code_to_string(ZkCode code);

/* Return: whether the server said no, and will say so again until somebody changes something:
 * neither is a node not what it was thought to be, nor is the connection lost. */
static inline bool zk_code_is_refusal(ZkCode code) {
        return code == ZK_NO_AUTH || code == ZK_NO_CHILDREN_FOR_EPHEMERALS ||
               code == ZK_UNIMPLEMENTED || code == ZK_FAULT;
}

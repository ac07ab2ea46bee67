/* The port as a test's puppet: requests are queued instead of sent, and the test answers them. A
 * program that uses it gets these functions from its linker, and not the library's.
 */
#pragma once

#include <glib.h>
#include <string.h>

#include "session-probe.h"
#include "zk.h"

typedef enum Request {
        REQUEST_CREATE,
        REQUEST_DELETE,
        REQUEST_SYNC,
        REQUEST_GET,
        REQUEST_EXISTS,
        REQUEST_LIST,
        REQUEST_SET,
        REQUEST_MULTI,
        REQUEST_ACL,
} Request;

struct ZkCall {
        Request request;
        char *path;
        char *data; /* create, set */
        unsigned flags;
        int32_t version; /* set, delete */
        size_t n_ops;    /* multi */
        ZkOp *ops;
        ZkReplyFunc func; /* NULL once cancelled */
        void *userdata;
        ZkWatch *watch; /* the one that it asks for, NULL once freed */
        usec_t sent;
};

struct ZkWatch {
        Zk *zk;
        ZkWatchFunc func; /* NULL once freed */
        void *userdata;
        char *path;
        int64_t czxid;
        int32_t version; /* for who answers to keep: of the node when the watch was set */
        bool known;      /* the request was answered: the client sets it again after a cut */
        bool active;     /* the server has it */
};

struct Zk {
        unsigned connections;
        ZkOptions options;
        ZkState state;
        ZkSessionId session;
        usec_t granted;     /* 0: what was asked for */
        usec_t asked;       /* when it was made */
        GQueue calls;       /* of ZkCall, not answered yet */
        GPtrArray *watches; /* of ZkWatch, all that there ever were */
        bool ended;         /* zk_close() or zk_abandon() was asked for */
        bool tidy;          /* and the server is to hear of it */
};

extern GPtrArray *ports;  /* of Zk, those that are not freed, the newest last */
extern int connect_error; /* what zk_connect() returns instead, while it is not 0 */
extern unsigned n_requests;
/* Nor is the servers' tick asked for, which would be a second port: this is the one that asked
 * last, and while `port_probe_waits` it is told that the answer is awaited. */
extern SessionProbe *port_probe;
extern unsigned n_probes;
extern bool port_probe_waits;
extern int64_t last_session;
extern bool
    port_attaches; /* a session that somebody wants to attach to lives; otherwise it is over */

extern void (*port_freed)(const Zk *zk); /* told before one is; may be NULL */

/* Frees a call that was taken from its queue and is never answered. */
void call_clear(ZkCall *call);
/* Answers a call that was taken from its queue. */
void port_reply(ZkCall *call, ZkReply reply);
/* The connection's state is another now. */
void port_tell(Zk *zk, ZkState state);

/* The inside of the port, shared by zk.c (states), zk-handle.c (what blocks), zk-queue.c (thread to
 * loop), zk-request.c and zk-watch.c. Nobody else includes this, nor zookeeper.h.
 *
 * Who touches what: everything in Zk belongs to the loop's thread, but for the part under the
 * mutex, and for `refs`. The mutex is never held while the library is called, because the library
 * calls back (its log, for one) from inside.
 *
 * Who owns what: the library may call back with a ZkCall or ZkWatched at any time until
 * zookeeper_close() has returned, whatever its owner did meanwhile. So both stand in the Zk's books
 * until the library has forgotten the pointer. A ZkCall is counted, one reference being its
 * owner's, if he asked for the pointer; a ZkWatch, which the library does not know, is one owner's
 * interest in a ZkWatched. The Zk itself is counted for the same reason: its helper thread holds a
 * reference.
 */
#pragma once

#include <glib.h>
#include <pthread.h>
#include <zookeeper/zookeeper.h>

#include "zk.h"

/* The library re-registers all watches in one packet after a reconnect. A server refuses packets
 * over jute.maxbuffer (1 MiB - 1 by default), drops the connection, and the client tries the same
 * again for ever: so the paths under watch may not add up to more than this. Each costs its length
 * and 4 bytes. */
#define ZK_WATCH_BYTES_MAX ((size_t)900 * 1000)

/* Log lines of the library that may wait for a stalled loop; more are dropped. */
#define ZK_LOG_LINES_MAX 200

/* What one turn of the loop dispatches at most: answers to thousands of requests come at once, and
 * nothing else that is due waits for all of them. */
#define ZK_TURN_ITEMS 100
#define ZK_TURN_TIME (5 * USEC_PER_MSEC)

/* What the library knows: that this path is watched in this way. */
typedef struct ZkWatched {
        char *key; /* what it occupies in the library's packet: a letter for the kind, then the path
                    */
        bool armed;           /* the library will call back once */
        unsigned pending;     /* requests under way that may arm it */
        GPtrArray *interests; /* of ZkWatch, weak, in the order in which they asked */
} ZkWatched;

typedef enum ZkItemType {
        ZK_ITEM_REPLY,   /* a request was answered */
        ZK_ITEM_WATCH,   /* a watch fired */
        ZK_ITEM_SESSION, /* the library reports a state */
        ZK_ITEM_LOG,     /* a line of the library's log */
        ZK_ITEM_STARTED, /* the connecting helper is through; `text` is a fault or NULL */
        ZK_ITEM_DRAIN,   /* from the loop to itself: answer pending calls with ZK_CLOSED */
        ZK_ITEM_CLOSED,  /* the closing helper is through */
} ZkItemType;

/* A copy of what a callback of the library was told. */
typedef struct ZkItem {
        ZkItemType type;
        int code; /* REPLY: ZOO_ERRORS; WATCH: the event; SESSION: the state; LOG: the syslog
                     priority */

        ZkCall *call;       /* REPLY; borrowed from the books */
        ZkWatched *watched; /* WATCH; borrowed from the books */
        char *text; /* REPLY: created path; WATCH: path; SESSION: the server; LOG, STARTED: a
                       sentence */
        char *data; /* REPLY to get */
        size_t data_size;
        char **children; /* REPLY to get_children */
        size_t n_children;
        char *others; /* REPLY to get_acl */
        ZkStat stat;

        zhandle_t *handle; /* SESSION */
        ZkSessionId session;
        usec_t timeout;
} ZkItem;

struct ZkCall {
        gint refs;
        bool owned;    /* the owner has not freed it, nor has it been answered */
        bool answered; /* the owner has been called back or has lost interest: only the library
                          still knows it */
        Zk *zk; /* weak: for the library's thread to find the queue, while the handle is open */
        GList *link;      /* in zk->calls */
        ZkReplyFunc func; /* NULL once nobody waits */
        void *userdata;
        ZkWatched *watched;   /* what this request arms, in the books at least until the answer */
        ZkWatch *watch;       /* for whom; a reference */
        bool watch_if_absent; /* exists: the watch is set also when there is no such node */
        usec_t sent, sent_realtime;

        size_t n_ops; /* multi: the library writes the results here before it answers */
        zoo_op_result_t *op_results;
        struct Stat *op_stats;
};

struct ZkWatch {
        gint refs;
        bool owned;
        bool armed;         /* its request was answered: the next event is for it */
        ZkWatched *watched; /* weak; NULL once it fired, was freed, or could not be set */
        ZkWatchFunc func;   /* NULL once nobody waits */
        void *userdata;
};

/* What the helper thread is to do with the handle. Grows only. */
typedef enum ZkWish { ZK_WISH_RUN, ZK_WISH_ABANDON, ZK_WISH_CLOSE } ZkWish;

struct Zk {
        gint refs;

        /* the loop's */
        sd_event_source *source;
        ZkState state;
        bool over; /* no further requests */
        bool closing;
        bool freed; /* zk_free() was called: no further callbacks */
        zhandle_t *handle;
        char *servers;
        char *auth;         /* a secret, wiped when freed; NULL: every node is open */
        char *identity;     /* how the servers write whom `auth` proves: "USER:hash"; or NULL */
        int timeout_ms;     /* asked for */
        ZkSessionId wanted; /* id 0: a new session */
        void (*log)(int priority, const char *message, void *userdata);
        ZkStateFunc func;
        void *userdata;
        usec_t timeout;
        unsigned connections;
        ZkSessionId session;
        char *server;
        char *fault;
        GQueue calls;        /* of ZkCall, in the order of sending */
        GQueue taken;        /* of ZkItem, from `queue`: what is dispatched next */
        GHashTable *watched; /* key → ZkWatched that the library may know */
        size_t watched_bytes;
        bool helper_joinable;
        pthread_t helper;

        /* shared with the library's threads and the helper */
        int wakeup; /* an eventfd; never changes */
        pthread_mutex_t mutex;
        pthread_cond_t changed; /* in_flight fell to 0 */
        GQueue queue;           /* of ZkItem */
        unsigned log_lines;     /* of them */
        size_t in_flight;       /* requests that the library will still call back for */
        ZkWish wish;
        bool helper_running;
        zhandle_t *helper_handle;           /* the handle as the helper made it */
        struct sockaddr_storage *addresses; /* what `servers` resolved to; written before the handle
                                               is made, read by its threads */
        size_t n_addresses;
        bool authenticated; /* the library knows `auth`; its completion thread's alone */
};

/* zk.c */
Zk *zk_ref(Zk *zk);
Zk *zk_unref(Zk *zk);

/* zk-queue.c: from any thread to the loop. zk_post() takes the item over. */
ZkItem *zk_item_new(ZkItemType type);
ZkItem *zk_item_free(ZkItem *item);
DEFINE_CLEANUP(ZkItem, zk_item_free);
void zk_post(Zk *zk, ZkItem *item);
/* Moves everything that waits to the end of what the loop has taken. */
void zk_take(Zk *zk);
void zk_stat_copy(const struct Stat *stat, ZkStat *ret);
/* The library's log callback has no context: whoever registers here gets every line of the
 * process's library. */
void zk_log_register(Zk *zk);
void zk_log_unregister(Zk *zk);
void zk_log_line(const char *line);

/* zk-handle.c: what blocks. Starts the helper thread if none runs, else leaves word with it.
 * Return: 0 or negative errno. */
int zk_helper_start(Zk *zk, ZkWish wish);
void zk_helper_join(Zk *zk);
/* Return: whether there is neither a helper at work nor a handle to close. */
bool zk_helper_is_idle(Zk *zk);

/* zk-request.c */
ZkCode zk_code_from_error(int error);
void zk_call_answer(Zk *zk, const ZkItem *item);
void zk_calls_drain(Zk *zk);
ZkCall *zk_call_unref(ZkCall *call);

/* zk-watch.c */
int zk_watch_new(Zk *zk, char kind, const char *path, ZkWatchFunc func, void *userdata,
                 ZkWatch **ret_watch);
/* The library's last word on a watch that travelled with a request: whether it is set. */
void zk_watch_settle(Zk *zk, ZkWatched *watched, ZkWatch *watch, bool set);
void zk_watch_fire(Zk *zk, const ZkItem *item);
/* Drops every interest: nothing is called back any more, and what is left in the books touches no
 * ZkWatch. */
void zk_watches_forget(Zk *zk);
ZkWatched *zk_watched_free(ZkWatched *watched);
/* A watcher_fn for the library. */
void zk_on_watch(zhandle_t *handle, int type, int state, const char *path, void *context);
ZkWatch *zk_watch_unref(ZkWatch *watch);

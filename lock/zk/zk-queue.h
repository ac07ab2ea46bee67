/* From the library's threads to the loop: a queue of copies under a mutex, and an eventfd.
 *
 * Who touches what in this room: everything belongs to the loop's thread, but for what is said to
 * be under the queue's mutex, and for reference counts. The mutex is never held while the library
 * is called, because the library calls back (its log, for one) from inside.
 *
 * Who owns what: the library may call back with a ZkCall or ZkWatched at any time until
 * zookeeper_close() has returned, whatever its owner did meanwhile. So both stand in books until
 * the library has forgotten the pointer, and the whole port is there as long as anybody counts on
 * its queue: its owner, its helper thread, the library's log.
 */
#pragma once

#include <glib.h>
#include <pthread.h>
#include <zookeeper/zookeeper.h>

#include "zk.h"

/* Log lines of the library that may wait for a stalled loop; more are dropped. */
#define ZK_LOG_LINES_MAX 200

/* What one turn of the loop dispatches at most: answers to thousands of requests come at once, and
 * nothing else that is due waits for all of them. */
#define ZK_TURN_ITEMS 100
#define ZK_TURN_TIME (5 * USEC_PER_MSEC)

struct ZkWatched;

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

        ZkCall *call;              /* REPLY; borrowed from the books */
        struct ZkWatched *watched; /* WATCH; borrowed from the books */
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
        usec_t timeout, asked;
} ZkItem;

typedef struct ZkQueue {
        gint refs;
        void (*destroy)(void *owner); /* once nobody counts on it any more; on whichever thread is
                                         the last: may touch nothing of the loop */
        void *owner;
        int wakeup; /* an eventfd; never changes */

        /* the loop's */
        bool over;    /* no further requests */
        bool freed;   /* no further callbacks */
        GQueue taken; /* of ZkItem, from `items`: what is dispatched next */

        /* under the mutex */
        pthread_mutex_t mutex;
        pthread_cond_t changed; /* in_flight fell to 0 */
        GQueue items;           /* of ZkItem */
        unsigned log_lines;     /* of them */
        size_t in_flight;       /* requests that the library will still call back for */
} ZkQueue;

/* Return: 0 or negative errno. Either way zk_queue_unref() destroys the owner. */
int zk_queue_init(ZkQueue *queue, void (*destroy)(void *owner), void *owner);
ZkQueue *zk_queue_ref(ZkQueue *queue);
ZkQueue *zk_queue_unref(ZkQueue *queue);
/* For `destroy`. */
void zk_queue_clear(ZkQueue *queue);

/* From any thread to the loop; takes the item over. */
void zk_post(ZkQueue *queue, ZkItem *item);
/* Moves everything that waits to the end of what the loop has taken. */
void zk_take(ZkQueue *queue);
/* A request is about to be sent; the item with its reply takes that back. */
void zk_queue_expect(ZkQueue *queue);
/* It was refused, or its answer is for nobody. */
void zk_queue_unexpect(ZkQueue *queue);
/* Waits until nothing is in flight, or for so long. On the helper thread. */
void zk_queue_await_answers(ZkQueue *queue, unsigned limit_ms);

ZkItem *zk_item_new(ZkItemType type);
ZkItem *zk_item_free(ZkItem *item);
DEFINE_CLEANUP(ZkItem, zk_item_free);
void zk_stat_copy(const struct Stat *stat, ZkStat *ret);

/* The library's log callback has no context: whoever registers here gets every line of the
 * process's library. */
void zk_log_register(ZkQueue *queue);
void zk_log_unregister(ZkQueue *queue);
void zk_log_line(const char *line);

/* Watches: what the library knows of them, and who wants to know. See zk-watch.c. */
#pragma once

#include "zk-queue.h"

/* The library re-registers all watches in one packet after a reconnect. A server refuses packets
 * over jute.maxbuffer (1 MiB - 1 by default), drops the connection, and the client tries the same
 * again for ever: so the paths under watch may not add up to more than this. Each costs its length
 * and 4 bytes. */
#define ZK_WATCH_BYTES_MAX ((size_t)900 * 1000)

/* What the library knows: that this path is watched in this way. */
typedef struct ZkWatched {
        ZkQueue *queue; /* weak: for the library's thread */
        char *key; /* what it occupies in the library's packet: a letter for the kind, then the path
                    */
        bool armed;           /* the library will call back once */
        unsigned pending;     /* requests under way that may arm it */
        GPtrArray *interests; /* of ZkWatch, weak, in the order in which they asked */
} ZkWatched;

struct ZkWatch {
        gint refs;
        bool owned;
        bool armed;         /* its request was answered: the next event is for it */
        ZkWatched *watched; /* weak; NULL once it fired, was freed, or could not be set */
        ZkWatchFunc func;   /* NULL once nobody waits */
        void *userdata;
};

/* The book of one port. */
typedef struct ZkWatches {
        ZkQueue *queue;      /* weak: the port's */
        GHashTable *watched; /* key → ZkWatched that the library may know */
        size_t bytes;
} ZkWatches;

void zk_watches_init(ZkWatches *watches, ZkQueue *queue);
void zk_watches_clear(ZkWatches *watches);
/* Drops every interest: nothing is called back any more, and what is left in the book touches no
 * ZkWatch. */
void zk_watches_forget(ZkWatches *watches);

int zk_watch_new(ZkWatches *watches, char kind, const char *path, ZkWatchFunc func, void *userdata,
                 ZkWatch **ret_watch);
/* The library's last word on a watch that travelled with a request: whether it is set. */
void zk_watch_settle(ZkWatches *watches, ZkWatched *watched, ZkWatch *watch, bool set);
void zk_watch_fire(ZkWatches *watches, const ZkItem *item);
/* A watcher_fn for the library. */
void zk_on_watch(zhandle_t *handle, int type, int state, const char *path, void *context);
ZkWatch *zk_watch_unref(ZkWatch *watch);

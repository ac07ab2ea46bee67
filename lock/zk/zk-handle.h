/* The library's handle, and the helper thread that does with it what blocks. See zk-handle.c. */
#pragma once

#include "zk-send.h"

/* What the helper thread is to do with the handle. Grows only. */
typedef enum ZkWish { ZK_WISH_RUN, ZK_WISH_ABANDON, ZK_WISH_CLOSE } ZkWish;

typedef struct ZkHandle {
        ZkQueue *queue; /* weak: the port's; the helper has a reference while it runs */
        char *servers;
        char *auth;         /* a secret, wiped when freed; NULL: every node is open */
        int timeout_ms;     /* asked for */
        ZkSessionId wanted; /* id 0: a new session */
        GQueue unsent; /* of ZkSending, weak: what goes out before a close; the helper's from the
                          wish to close on */
        bool joinable;
        pthread_t helper;

        /* under the queue's mutex */
        ZkWish wish;
        bool running;
        zhandle_t *made; /* by the helper, until it closes it */

        pthread_mutex_t opening; /* the helper's, while it makes the handle */

        struct sockaddr_storage *addresses; /* what `servers` resolved to; written before the handle
                                               is made, read by its threads */
        size_t n_addresses;
        usec_t asked;       /* zk_asked(); written and read as the addresses are */
        bool authenticated; /* the library knows `auth`; its completion thread's alone */
} ZkHandle;

void zk_handle_init(ZkHandle *handle, ZkQueue *queue, const ZkOptions *options);
void zk_handle_clear(ZkHandle *handle);
/* Starts the helper thread if none runs, else leaves word with it. Return: 0 or negative errno. */
int zk_handle_start(ZkHandle *handle, ZkWish wish);
/* Only for a helper that has posted its last item: it is as good as gone. */
void zk_handle_join(ZkHandle *handle);
/* Nobody waits for the helper any more. */
void zk_handle_detach(ZkHandle *handle);
/* Return: whether there is neither a helper at work nor a handle to close. */
bool zk_handle_is_idle(ZkHandle *handle);

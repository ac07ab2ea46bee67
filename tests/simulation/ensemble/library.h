/* ZooKeeper's C client, simulated: the functions of zookeeper.h that the port calls, over a
 * simulated network. See library.c, and handle.c for what the port does with it on a thread. */
#pragma once

#include <zookeeper/zookeeper.h>

#include "ensemble.h"
#include "process.h"

/* What a handle tells whoever made it, before anything else of it. `state`: as zookeeper.h says. */
typedef void (*LibraryFunc)(zhandle_t *handle, int state, void *userdata);

/* Belongs to the process whose turn it is. `servers`: their numbers in the order of the list, which
 * the handle shuffles. `session`: to attach to; id 0: a new one. */
zhandle_t *library_open(Ensemble *ensemble, const unsigned *servers, size_t n_servers,
                        int timeout_ms, const clientid_t *session, LibraryFunc func,
                        void *userdata);
/* Whom it proves to be on each connection: "USER:hash"; from the next request on. */
void library_add_auth(zhandle_t *handle, const char *identity);
/* Nobody hears of it any more; what was asked is answered as lost. The server is told nothing. */
void library_disconnect(zhandle_t *handle);
/* The server is told that the session ends. */
void library_say_goodbye(zhandle_t *handle);
/* Return: whether the server has answered that, or there is none. */
bool library_is_through(const zhandle_t *handle);
zhandle_t *library_free(zhandle_t *handle);
/* Return: the name of the server that it is connected to, "zk1:2181"; newly allocated. */
char *library_server(const zhandle_t *handle);

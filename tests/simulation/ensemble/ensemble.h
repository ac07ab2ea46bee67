/* A simulated ZooKeeper ensemble: its servers, and what may befall them. See ensemble.c.
 *
 * A perfect server is an ensemble of one. Clients reach it through lock/zk/zk.h (client.c). */
#pragma once

#include "data-tree.h"
#include "network.h"
#include "transaction.h"

typedef struct Ensemble Ensemble;

typedef struct EnsembleOptions {
        unsigned n_servers;
        usec_t tick;
        unsigned sync_limit; /* ticks */
        usec_t min_timeout;  /* 0: 2 ticks */
        usec_t max_timeout;  /* 0: 20 ticks */
        usec_t container_interval;
        bool forgetful; /* as 3.8.0 is: see forgetting.c */
} EnsembleOptions;

/* The servers' own defaults: one server. */
#define ENSEMBLE_DEFAULTS                                                                          \
        {                                                                                          \
                .n_servers = 1, .tick = 2 * USEC_PER_SEC, .sync_limit = 5,                         \
                .container_interval = 60 * USEC_PER_SEC                                            \
        }

/* Who looks on and changes nothing: told of what happens, when it happens. A function may be NULL.
 */
typedef struct EnsembleWatcher {
        /* It is about to be done; `tree`: the nodes without it. */
        void (*committed)(const Transaction *txn, const DataTree *tree, void *userdata);
        /* A client on that host has just sent it. */
        void (*asked)(const char *host, const Request *request, void *userdata);
        /* A sync (or a multi: `write`) of a client on that host is answered well. `asked`: when the
         * client asked for it, true time. */
        void (*answered)(const char *host, int64_t session, bool write, usec_t asked,
                         void *userdata);
        /* A client on that host has a session, made or come back to. */
        void (*connected)(const char *host, int64_t session, void *userdata);
        void *userdata;
} EnsembleWatcher;

/* Starts servers on the hosts "zk1", "zk2" and so on. One ensemble a world. */
Ensemble *ensemble_new(Network *network, const EnsembleOptions *options);
/* No client may be left. */
Ensemble *ensemble_free(Ensemble *ensemble);
DEFINE_CLEANUP(Ensemble, ensemble_free);

/* Return: the ensemble of this world. */
Ensemble *ensemble_of(const World *world);
Network *ensemble_network(const Ensemble *ensemble);
const EnsembleOptions *ensemble_options(const Ensemble *ensemble);
/* "zk1:2181,zk2:2181" */
const char *ensemble_addresses(const Ensemble *ensemble);
unsigned ensemble_size(const Ensemble *ensemble);

/* One at a time, copied; NULL: nobody. */
void ensemble_watch(Ensemble *ensemble, const EnsembleWatcher *watcher);
const EnsembleWatcher *ensemble_watcher(const Ensemble *ensemble);

/* Somebody on `host` connects to a server. Return: the wire to it; `out`, the one from it, is then
 * the server's; NULL: nobody listens there. */
Wire *ensemble_connect(Ensemble *ensemble, unsigned server, Host *host, Wire *out);

/* ---- faults; servers are counted from 0 ---- */

Host *ensemble_host(const Ensemble *ensemble, unsigned server);
/* The process is killed: its connections end. What it wrote down stays. */
void ensemble_kill(Ensemble *ensemble, unsigned server);
/* Its machine goes without a word. */
void ensemble_crash(Ensemble *ensemble, unsigned server);
/* A server that was killed, or whose machine crashed, starts again. */
void ensemble_start(Ensemble *ensemble, unsigned server);
bool ensemble_is_running(const Ensemble *ensemble, unsigned server);
void ensemble_freeze(Ensemble *ensemble, unsigned server);
void ensemble_thaw(Ensemble *ensemble, unsigned server);
/* Writing to its disk takes so much longer. */
void ensemble_set_disk(Ensemble *ensemble, unsigned server, usec_t delay);
/* It hears of what others write so much later, while its clients hear of it as ever. */
void ensemble_set_lag(Ensemble *ensemble, unsigned server, usec_t lag);
/* The two hear nothing of each other. */
void ensemble_part(Ensemble *ensemble, unsigned one, unsigned other, bool parted);
/* Somebody ends a session that is not theirs (its password follows from its id). Return: false
 * while nobody leads. */
bool ensemble_end_session(Ensemble *ensemble, int64_t session);
/* Somebody who may do so deletes a node. Return: false while nobody leads. */
bool ensemble_delete(Ensemble *ensemble, const char *path);
/* The same of what stands in a node, where it is of that version. */
bool ensemble_write(Ensemble *ensemble, const char *path, const char *data, int32_t version);
/* The servers' machines lose their disks, or are given back what was on them: all stop, and none
 * starts by itself. `tree`: what each has from then on; NULL: nothing. */
void ensemble_replace(Ensemble *ensemble, const DataTree *tree);
/* The connections of that host to all servers break, and both ends hear of it soon. What the host
 * has sent arrives before that (`arrives`), or not; what servers have sent does not. */
void ensemble_break_connections(Ensemble *ensemble, const char *host, bool arrives);

/* ---- what a checker may know ---- */

/* Return: who leads and serves; -1: nobody, or nobody yet. */
int ensemble_leader(const Ensemble *ensemble);
bool ensemble_serves(const Ensemble *ensemble, unsigned server);
/* Return: the nodes as of the newest transaction that was ever committed. */
const DataTree *ensemble_tree(const Ensemble *ensemble);
/* Return: how many transactions were committed. */
size_t ensemble_committed(const Ensemble *ensemble);

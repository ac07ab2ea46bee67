/* One server of the ensemble, as its parts see it: what it has (server.c), whom it serves
 * (connection.c), and whether it leads (leader.c) or follows (follower.c). */
#pragma once

#include "data-tree.h"
#include "ensemble.h"
#include "packet.h"
#include "watch-table.h"

typedef enum ServerState {
        SERVER_DOWN,
        SERVER_LOOKING,   /* for a leader */
        SERVER_FOLLOWING, /* connected to a leader, or about to be */
        SERVER_LEADING,   /* or about to */
} ServerState;

typedef struct Server Server;
typedef struct Connection Connection;
typedef struct Leader Leader;
typedef struct Follower Follower;
typedef struct ServerTimer ServerTimer;
typedef struct Forgetting Forgetting;

struct Server {
        Ensemble *ensemble; /* weak */
        unsigned index;
        Host *host;
        ServerState state;
        bool frozen;
        usec_t phase;        /* what its clock counts from */
        usec_t disk_delay;   /* what a write to its disk takes more than usual */
        usec_t lag;          /* what it takes more than usual to hear of its leader */
        uint64_t n_sessions; /* that it made, for their ids */
        GQueue timers;       /* of ServerTimer */
        WorldChance *chance;
        Forgetting *forgetting; /* NULL: all of what follows is on its disk */

        /* on its disk */
        DataTree *tree;
        size_t position;  /* so many transactions of the history are done in the tree */
        unsigned lineage; /* of that history: how often one had lost its end */
        int64_t accepted; /* the newest leader's epoch that it knows of: it follows none before */
        int64_t epoch;    /* of the leader whose log it has */
        GQueue logged;    /* of Transaction: written down besides, and not done yet; in order */

        /* while it serves clients */
        WatchTable *watches;
        GQueue connections;     /* of Connection */
        GHashTable *by_session; /* id → Connection */
        Leader *leader;         /* LEADING */
        Follower *follower;     /* FOLLOWING */
};

/* ---- server.c ---- */

Server *server_new(Ensemble *ensemble, unsigned index, Host *host);
Server *server_free(Server *server);
usec_t server_now(const Server *server);
/* Return: what its wall clock shows. */
int64_t server_time_ms(const Server *server);
World *server_world(const Server *server);
/* Return: the newest transaction that it has written down. */
int64_t server_logged_zxid(const Server *server);
/* Return: whether somebody with a log of that epoch, up to there, knows more. */
bool server_is_behind(const Server *server, int64_t epoch, int64_t zxid);
/* Return: whether clients are served. */
bool server_serves(const Server *server);
/* It has no leader, or is none, any more: clients and servers are let go. */
void server_look(Server *server, const char *why);
/* Nobody runs there any more. */
void server_stop(Server *server);
void server_freeze(Server *server, bool frozen);

/* Done once, in so long; later where the server is frozen by then; never once it looks for another
 * leader or stops. */
ServerTimer *server_after(Server *server, usec_t delay, WorldFunc func, void *userdata);
ServerTimer *server_timer_free(ServerTimer *timer);

/* The next transaction of the history is done here. */
void server_apply(Server *server, Transaction *txn);
/* All of the history up to there is done, without anybody to tell of it. */
void server_catch_up(Server *server, size_t position);

/* ---- connection.c ---- */

/* A client of `host` connects. Return: the wire to the server; the client's own is `out`. */
Wire *connection_open(Server *server, Host *host, Wire *out);
void connection_end(Connection *connection);
void connection_pause(Connection *connection, bool paused);
/* A write of this session is done, or came to nothing. */
void connection_on_applied(Server *server, const Transaction *txn, const TransactionResult *result);
/* Everything that was decided before a sync is done here. */
void connection_on_flushed(Server *server, int64_t session, uint64_t xid);
void connection_on_revalidated(Server *server, int64_t session, uint64_t xid, bool valid);

/* ---- what a server asks its leader, be it itself ---- */

/* A write, or the making of a session; takes no reference. */
void server_submit(Server *server, Request *request);
void server_flush(Server *server, int64_t session, uint64_t xid);
void server_revalidate(Server *server, int64_t session, uint64_t xid, usec_t timeout);
void server_touch(Server *server, int64_t session, usec_t timeout);

/* ---- leader.c ---- */

/* A quorum wants it; it begins to serve once a quorum follows. */
Leader *leader_new(Server *server);
Leader *leader_free(Leader *leader);
bool leader_serves(const Leader *leader);
void leader_pause(Leader *leader, bool paused);
/* Somebody wants to follow. Return: the wire to the leader; the follower's own is `out`. */
Wire *leader_accept(Leader *leader, Server *follower, Wire *out);
unsigned leader_followers(const Leader *leader);
void leader_submit(Leader *leader, Request *request, unsigned origin);
void leader_close_session(Leader *leader, int64_t session, uint64_t xid, unsigned origin);
void leader_flush(Leader *leader, unsigned origin, int64_t session, uint64_t xid);
/* A client of the leader's own asks for it. */
void leader_flush_here(Leader *leader, int64_t session, uint64_t xid);
bool leader_revalidate(Leader *leader, unsigned origin, int64_t session, usec_t timeout);
void leader_touch(Leader *leader, int64_t session, usec_t timeout);

/* ---- follower.c ---- */

Follower *follower_new(Server *server, Server *leader);
Follower *follower_free(Follower *follower);
bool follower_serves(const Follower *follower);
void follower_pause(Follower *follower, bool paused);
/* Hears of its leader with the server's lag from now on. */
void follower_lag(Follower *follower);
const Server *follower_leader(const Follower *follower);
void follower_send(Follower *follower, Packet *packet);
void follower_heard(Follower *follower, int64_t session, usec_t timeout);

/* ---- forgetting.c ---- */

/* What the server has is on its disk, and what it is about to be told will not be for a while. */
void forgetting_begin(Server *server);
/* The server died: what was not on its disk is gone. */
void forgetting_strike(Server *server);
/* Return: how much of the history is on its disk for sure. */
size_t forgetting_position(const Server *server);
Forgetting *forgetting_free(Forgetting *forgetting);

/* ---- election.c ---- */

/* It looks for a leader from now on. */
void election_begin(Server *server);

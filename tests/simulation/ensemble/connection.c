/* A client at a server: org.apache.zookeeper.server.ZooKeeperServer, CommitProcessor and
 * FinalRequestProcessor.
 *
 * The requests of a connection are answered in the order in which they came. A write goes to the
 * leader at once; what stands behind it waits here until it was done here, so that a client sees
 * what it has written. Events go out while a transaction is done, before its answer and before any
 * answer that shows what it made.
 */
#include "ensemble-inside.h"

#include <string.h>

/* jute.maxbuffer. */
#define REQUEST_MAX 0xfffff
/* How long a connection may be silent before it asked for a session. */
#define NAMELESS_TIMEOUT (10 * USEC_PER_SEC)

typedef struct Pending {
        Request *request;
        Answer *answer; /* NULL: it is not ready */
} Pending;

struct Connection {
        Server *server;
        Wire *in, *out;
        GList link;
        int64_t session; /* 0: not asked for yet */
        uint64_t connect_xid;
        bool established;
        usec_t timeout, heard;
        Request *connect;
        char *identity; /* whom the client has proved to be; NULL: nobody */
        Watcher *watcher;
        GQueue pending; /* of Pending */
        ServerTimer *idle;
};

static void connection_send(const Connection *connection, Answer *answer) {
        wire_send(connection->out, answer);
}

static void pending_free(void *data) {
        Pending *pending = data;

        (void)request_unref(pending->request);
        answer_free(pending->answer);
        g_free(pending);
}

void connection_end(Connection *connection) {
        Server *server = connection->server;

        if (g_hash_table_lookup(server->by_session, &connection->session) == connection)
                g_hash_table_remove(server->by_session, &connection->session);
        g_queue_unlink(&server->connections, &connection->link);
        server_timer_free(connection->idle);
        watcher_free(connection->watcher);
        wire_ignore(connection->in);
        wire_close(connection->out);
        g_queue_clear_full(&connection->pending, pending_free);
        g_free(connection->identity);
        g_free(connection);
}

void connection_pause(Connection *connection, bool paused) {
        wire_pause(connection->in, paused);
}

static Connection *connection_of(const Server *server, int64_t session) {
        return g_hash_table_lookup(server->by_session, &session);
}

/* ---- its session ---- */

static void connection_establish(Connection *connection, bool valid) {
        Answer *answer = answer_new(ANSWER_CONNECTED);

        if (valid) {
                answer->session = connection->session;
                answer->timeout = connection->timeout;
                session_password(connection->session, answer->password);
        }
        connection->established = valid;
        connection_send(connection, answer);
        if (!valid)
                connection_end(connection);
}

void connection_on_revalidated(Server *server, int64_t session, uint64_t xid, bool valid) {
        Connection *connection = connection_of(server, session);

        if (connection && !connection->established && connection->connect_xid == xid)
                connection_establish(connection, valid);
}

static void connection_name(Connection *connection, int64_t session) {
        connection->session = session;
        g_hash_table_insert(connection->server->by_session, g_memdup2(&session, sizeof(session)),
                            connection);
}

/* SessionTrackerImpl.initializeNextSessionId: the server's number, then what grows. */
static void connection_create_session(Connection *connection, Request *request) {
        Server *server = connection->server;

        connection_name(connection, (int64_t)(((uint64_t)server->index + 1) << 56 |
                                              (uint64_t)world_now(server_world(server)) << 8 |
                                              (++server->n_sessions & 0xff)));
        request->session = connection->session;
        request->timeout = connection->timeout;
        server_submit(server, request);
}

/* ZooKeeperServer.reopenSession. */
static void connection_reopen_session(Connection *connection, const Request *request) {
        Server *server = connection->server;
        Connection *former = connection_of(server, request->session);
        char password[16];

        if (former)
                connection_end(former);
        session_password(request->session, password);
        if (memcmp(password, request->password, sizeof(password)) != 0) {
                connection_establish(connection, false);
                return;
        }
        connection_name(connection, request->session);
        server_revalidate(server, request->session, request->xid, connection->timeout);
}

/* ZooKeeperServer.processConnectRequest. */
static void connection_on_connect(Connection *connection, Request *request) {
        const EnsembleOptions *options = ensemble_options(connection->server->ensemble);

        if (request->zxid > data_tree_zxid(connection->server->tree)) {
                ensemble_say(connection->server, "refuses a client that has seen more");
                connection_end(connection);
                return;
        }
        connection->connect_xid = request->xid;
        connection->timeout = CLAMP(request->timeout, options->min_timeout, options->max_timeout);
        if (request->session == 0)
                connection_create_session(connection, request);
        else
                connection_reopen_session(connection, request);
}

/* ---- reads ---- */

static bool connection_may(const Connection *connection, const TreeNode *node) {
        return !node->acl || g_strcmp0(node->acl, connection->identity) == 0;
}

static void connection_watch(const Connection *connection, const Request *request, WatchKind kind) {
        if (request->watch)
                watcher_add(connection->watcher, kind, request->path);
}

static void answer_get(const Connection *connection, const Request *request, const TreeNode *node,
                       Answer *answer) {
        connection_watch(connection, request, WATCH_DATA);
        answer->data = g_strdup(node->data);
        answer->stat = tree_node_stat(node);
}

static void answer_children(const Connection *connection, const Request *request,
                            const TreeNode *node, Answer *answer) {
        connection_watch(connection, request, WATCH_CHILDREN);
        answer->children = tree_node_children(node);
        answer->stat = tree_node_stat(node);
}

static void answer_acl(const TreeNode *node, Answer *answer) {
        answer->acl = g_strdup(node->acl);
        answer->stat = tree_node_stat(node);
}

/* DataTree.statNode: the watch is set also where there is no node, and nobody needs a permission.
 */
static void answer_exists(const Connection *connection, const Request *request,
                          const TreeNode *node, Answer *answer) {
        connection_watch(connection, request, node ? WATCH_DATA : WATCH_EXISTS);
        if (node)
                answer->stat = tree_node_stat(node);
        else
                answer->code = ZK_NO_NODE;
}

static Answer *connection_read(const Connection *connection, const Request *request) {
        const TreeNode *node =
            request->path ? data_tree_find(connection->server->tree, request->path) : NULL;
        Answer *answer = answer_new(ANSWER_REPLY);

        if (request->type == REQUEST_EXISTS)
                answer_exists(connection, request, node, answer);
        else if (request->type == REQUEST_SET_WATCHES)
                watcher_add_again(connection->watcher, request, connection->server->tree);
        else if (request->type == REQUEST_SYNC || request->type == REQUEST_PING)
                answer->code = ZK_OK;
        else if (!node)
                answer->code = ZK_NO_NODE;
        else if (!connection_may(connection, node))
                answer->code = ZK_NO_AUTH;
        else if (request->type == REQUEST_GET)
                answer_get(connection, request, node, answer);
        else if (request->type == REQUEST_CHILDREN)
                answer_children(connection, request, node, answer);
        else
                answer_acl(node, answer);
        return answer;
}

/* ---- the queue ---- */

static bool request_waits(const Request *request) {
        return request_is_write(request) || request->type == REQUEST_SYNC;
}

/* Answers what can be answered. The connection may be gone afterwards. */
static void connection_proceed(Connection *connection) {
        Pending *pending;

        while ((pending = g_queue_peek_head(&connection->pending))) {
                bool last = pending->request->type == REQUEST_CLOSE;

                if (!pending->answer && request_waits(pending->request))
                        return;
                if (!pending->answer)
                        pending->answer = connection_read(connection, pending->request);
                pending->answer->xid = pending->request->xid;
                pending->answer->zxid = data_tree_zxid(connection->server->tree);
                connection_send(connection, g_steal_pointer(&pending->answer));
                pending_free(g_queue_pop_head(&connection->pending));
                if (last) {
                        connection_end(connection);
                        return;
                }
        }
}

static Pending *connection_find(const Connection *connection, uint64_t xid) {
        for (GList *link = connection->pending.head; link; link = link->next)
                if (((Pending *)link->data)->request->xid == xid)
                        return link->data;
        return NULL;
}

static Answer *answer_of_txn(const TransactionResult *result) {
        Answer *answer = answer_new(ANSWER_REPLY);

        answer->code = result->code;
        answer->path = g_strdup(result->path);
        answer->stat = result->stat;
        answer->results = g_memdup2(result->results, result->n_results * sizeof(ZkOpResult));
        answer->n_results = result->n_results;
        return answer;
}

void connection_on_applied(Server *server, const Transaction *txn,
                           const TransactionResult *result) {
        Connection *connection = connection_of(server, txn->session);
        Pending *pending = connection && txn->origin == server->index
                               ? connection_find(connection, txn->xid)
                               : NULL;
        /* The leader has the session at another server. That is never answered: the connection is
         * torn down, and whichever the client opens next has the session (FinalRequestProcessor on
         * SessionMovedException). */
        bool moved = pending && result->code == ZK_UNKNOWN;

        if (!connection)
                return;
        if (txn->of == REQUEST_CONNECT && connection->connect_xid == txn->xid &&
            !connection->established)
                connection_establish(connection, true);
        else if (pending && !moved) {
                pending->answer = answer_of_txn(result);
                connection_proceed(connection);
        } else if (moved || txn->of == REQUEST_CLOSE) /* somebody else has ended it */
                connection_end(connection);
}

void connection_on_flushed(Server *server, int64_t session, uint64_t xid) {
        Connection *connection = connection_of(server, session);
        Pending *pending = connection ? connection_find(connection, xid) : NULL;

        if (!pending)
                return;
        pending->answer = answer_new(ANSWER_REPLY);
        connection_proceed(connection);
}

/* ---- what comes ---- */

static void connection_on_event(ZkWatchEvent event, const char *path, void *userdata) {
        Answer *answer = answer_new(ANSWER_EVENT);

        answer->event = event;
        answer->path = g_strdup(path);
        connection_send(userdata, answer);
}

static void connection_on_idle(void *userdata) {
        Connection *connection = userdata;
        usec_t now = server_now(connection->server), until;

        until = usec_add(connection->heard, connection->timeout);
        connection->idle = NULL;
        if (now >= until)
                connection_end(connection);
        else
                connection->idle =
                    server_after(connection->server, until - now, connection_on_idle, connection);
}

static void connection_on_auth(Connection *connection, const Request *request) {
        g_free(connection->identity);
        connection->identity = g_strdup(request->identity);
        watcher_set_identity(connection->watcher, request->identity);
}

static void connection_enqueue(Connection *connection, Request *request) {
        Pending *pending = g_new0(Pending, 1);

        request->session = connection->session;
        pending->request = request_ref(request);
        g_queue_push_tail(&connection->pending, pending);
        if (request_is_write(request)) {
                g_free(request->identity);
                request->identity = g_strdup(connection->identity);
                server_submit(connection->server, request); /* done later, in any case */
        } else if (request->type == REQUEST_SYNC)
                server_flush(connection->server, connection->session, request->xid);
        else
                connection_proceed(connection);
}

static void connection_on_message(void *message, void *userdata) {
        Connection *connection = userdata;
        _cleanup_(request_unrefp) Request *request = message;

        if (!request || !server_serves(connection->server) || request_size(request) > REQUEST_MAX ||
            (!connection->established && connection->session != 0)) {
                connection_end(connection);
                return;
        }
        connection->heard = server_now(connection->server);
        if (connection->session == 0) {
                connection_on_connect(connection, request);
                return;
        }
        server_touch(connection->server, connection->session, connection->timeout);
        if (request->type == REQUEST_AUTH)
                connection_on_auth(connection, request);
        else
                connection_enqueue(connection, request);
}

static void request_drop(void *request) {
        (void)request_unref(request);
}

Wire *connection_open(Server *server, Host *host, Wire *out) {
        Connection *connection = g_new0(Connection, 1);

        connection->server = server;
        connection->out = out;
        connection->in =
            wire_new(host, server->host, connection_on_message, connection, request_drop);
        wire_pause(connection->in, server->frozen);
        connection->link.data = connection;
        g_queue_push_tail_link(&server->connections, &connection->link);
        g_queue_init(&connection->pending);
        connection->watcher = watcher_new(server->watches, connection_on_event, connection);
        connection->timeout = NAMELESS_TIMEOUT;
        connection->heard = server_now(server);
        connection->idle =
            server_after(server, connection->timeout, connection_on_idle, connection);
        return connection->in;
}

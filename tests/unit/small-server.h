/* A ZooKeeper server for one client behind the scripted port, as small as can be: one transaction
 * after another, watches, versions, and a clock that the test sets. For tests of what the daemon
 * does between a request and its answer, which no real server can be made to hold back at will.
 */
#pragma once

#include <criterion/criterion.h>

#include "scripted-port.h"

typedef struct ServerNode {
        char *data;
        ZkStat stat;
} ServerNode;

typedef struct ServerWatch {
        ZkWatch *watch;
        bool children;
} ServerWatch;

typedef struct Server {
        GHashTable *nodes;   /* path → ServerNode */
        GPtrArray *watches;  /* ServerWatch */
        int64_t zxid, clock; /* `clock`: the server's minus ours, µs */
        const char *broken;  /* reads of this path find their connection broken; or NULL */
        unsigned reads;
        bool hold_claims;    /* a transaction that makes a run's record is done, its answer kept */
        ZkCall *held;        /* the call that is to be answered with */
        ZkOpResult *results; /* these */
        size_t n_results;
} Server;

static Server server;

static void server_node_free(gpointer data) {
        ServerNode *node = data;

        g_free(node->data);
        g_free(node);
}

static ServerNode *server_node(const char *path) {
        return g_hash_table_lookup(server.nodes, path);
}

static void server_end(void) {
        g_clear_pointer(&server.nodes, g_hash_table_unref);
        g_clear_pointer(&server.watches, g_ptr_array_unref);
        g_clear_pointer(&server.results, g_free);
        if (server.held)
                call_clear(server.held);
        server.held = NULL;
}

static int64_t server_clock_ms(void) {
        return ((int64_t)clock_realtime() + server.clock) / 1000;
}

static bool is_child(const char *path, const char *parent) {
        const char *slash = strrchr(path, '/');

        return slash && (size_t)(slash - path) == strlen(parent) && g_str_has_prefix(path, parent);
}

/* Something happened at `path`: to the node, or (`children`) to its children. */
static void server_fire(const char *path, bool children, ZkWatchEvent event) {
        for (guint i = 0; i < server.watches->len;) {
                const ServerWatch *item = server.watches->pdata[i];
                ZkWatch *watch = item->watch;

                if (item->children != children || strcmp(watch->path, path) != 0) {
                        i++;
                        continue;
                }
                g_ptr_array_remove_index(server.watches, i);
                if (watch->func)
                        watch->func(event, watch->path, watch->userdata);
        }
}

static void server_fire_parent(const char *path) {
        g_autofree char *parent = g_path_get_dirname(path);

        server_fire(parent, true, ZK_WATCH_CHILDREN);
}

static void server_create(const char *path, const char *data, int64_t owner) {
        ServerNode *node = g_new0(ServerNode, 1);

        node->data = g_strdup(data ? data : "");
        node->stat.czxid = node->stat.mzxid = server.zxid;
        node->stat.ctime_ms = node->stat.mtime_ms = server_clock_ms();
        node->stat.ephemeral_owner = owner;
        g_hash_table_insert(server.nodes, g_strdup(path), node);
}

static void server_begin(void) {
        server = (Server){
            .nodes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, server_node_free),
            .watches = g_ptr_array_new_with_free_func(g_free)};
        server_create("/", "", 0);
}

static void server_set(ServerNode *node, const char *data) {
        g_free(node->data);
        node->data = g_strdup(data);
        node->stat.version++;
        node->stat.mzxid = server.zxid;
        node->stat.mtime_ms = server_clock_ms();
}

/* `made`: what the same transaction makes before it, or NULL. */
static bool has_parent(const char *path, const char *made) {
        g_autofree char *parent = g_path_get_dirname(path);

        return server_node(parent) || g_strcmp0(parent, made) == 0;
}

static ZkCode server_judge(const ZkOp *op, const char *made) {
        const ServerNode *node = server_node(op->path);

        if (op->type == ZK_OP_CREATE)
                return node ? ZK_NODE_EXISTS : has_parent(op->path, made) ? ZK_OK : ZK_NO_NODE;
        if (!node)
                return ZK_NO_NODE;
        return op->version >= 0 && op->version != node->stat.version ? ZK_BAD_VERSION : ZK_OK;
}

static void server_perform(const ZkOp *op, int64_t owner, ZkOpResult *result) {
        if (op->type == ZK_OP_CREATE)
                server_create(op->path, op->data, owner);
        else if (op->type == ZK_OP_SET)
                server_set(server_node(op->path), op->data);
        else if (op->type == ZK_OP_DELETE)
                g_hash_table_remove(server.nodes, op->path);
        if (op->type == ZK_OP_SET)
                result->stat = server_node(op->path)->stat;
}

static void server_tell_watches(const ZkOp *op) {
        if (op->type == ZK_OP_SET)
                server_fire(op->path, false, ZK_WATCH_CHANGED);
        if (op->type == ZK_OP_CREATE || op->type == ZK_OP_DELETE) {
                server_fire(op->path, false,
                            op->type == ZK_OP_CREATE ? ZK_WATCH_CREATED : ZK_WATCH_DELETED);
                server_fire_parent(op->path);
        }
}

/* Does all or nothing. Return: ZK_OK with *ret_results (g_free), or the code of the first that
 * fails. */
static ZkCode server_transact(const ZkOp *ops, size_t n, int64_t owner, ZkOpResult **ret_results) {
        ZkOpResult *results;
        ZkCode code;

        for (size_t i = 0; i < n; i++)
                if ((code = server_judge(&ops[i], i > 0 ? ops[i - 1].path : NULL)) != ZK_OK)
                        return code;
        server.zxid++;
        results = g_new0(ZkOpResult, n + 1);
        for (size_t i = 0; i < n; i++)
                server_perform(&ops[i], owner, &results[i]);
        for (size_t i = 0; i < n; i++)
                server_tell_watches(&ops[i]);
        *ret_results = results;
        return ZK_OK;
}

static bool is_claim(const ZkCall *call) {
        for (size_t i = 0; i < call->n_ops; i++)
                if (call->ops[i].type == ZK_OP_CREATE && strstr(call->ops[i].path, "/open/"))
                        return true;
        return false;
}

static void answer_multi(ZkCall *call) {
        g_autofree ZkOpResult *results = NULL;
        ZkCode code = server_transact(call->ops, call->n_ops, 0, &results);

        if (code == ZK_OK && server.hold_claims && !server.held && is_claim(call)) {
                server.held = call;
                server.results = g_steal_pointer(&results);
                server.n_results = call->n_ops;
                return;
        }
        port_reply(call, (ZkReply){.code = code,
                                   .results = results,
                                   .n_results = code == ZK_OK ? call->n_ops : 0,
                                   .sent_realtime = clock_realtime()});
}

/* The answer that was held back arrives. */
static inline void server_release(void) {
        ZkCall *call = server.held;
        g_autofree ZkOpResult *results = g_steal_pointer(&server.results);

        server.held = NULL;
        port_reply(call, (ZkReply){.code = ZK_OK,
                                   .results = results,
                                   .n_results = server.n_results,
                                   .sent_realtime = clock_realtime()});
}

static void answer_write(ZkCall *call) {
        g_autofree char *path = call->flags & ZK_CREATE_SEQUENTIAL
                                    ? g_strdup_printf("%s%010d", call->path, (int)server.zxid)
                                    : g_strdup(call->path);
        ZkOp op = {.path = path, .data = call->data, .version = call->version};
        g_autofree ZkOpResult *results = NULL;
        ZkReply reply = {.sent_realtime = clock_realtime()};
        Zk *zk = ports->pdata[0];

        op.type = call->request == REQUEST_CREATE ? ZK_OP_CREATE
                  : call->request == REQUEST_SET  ? ZK_OP_SET
                                                  : ZK_OP_DELETE;
        reply.code = server_transact(&op, 1, call->flags & ZK_CREATE_EPHEMERAL ? zk->session.id : 0,
                                     &results);
        reply.path = path;
        if (reply.code == ZK_OK && op.type != ZK_OP_DELETE)
                reply.stat = server_node(path)->stat;
        port_reply(call, reply);
}

static void answer_list(ZkCall *call) {
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
        GHashTableIter iterator;
        gpointer path;

        g_hash_table_iter_init(&iterator, server.nodes);
        while (g_hash_table_iter_next(&iterator, &path, NULL))
                if (is_child(path, call->path))
                        g_ptr_array_add(names, g_path_get_basename(path));
        g_ptr_array_add(names, NULL);
        port_reply(call, (ZkReply){.code = server_node(call->path) ? ZK_OK : ZK_NO_NODE,
                                   .children = (const char *const *)names->pdata,
                                   .n_children = names->len - 1});
}

static void answer_read(ZkCall *call) {
        const ServerNode *node = server_node(call->path);
        ZkReply reply = {.code = node ? ZK_OK : ZK_NO_NODE};

        server.reads++;
        if (g_strcmp0(call->path, server.broken) == 0) {
                port_reply(call, (ZkReply){.code = ZK_UNKNOWN});
                return;
        }
        if (call->watch && (node || call->request == REQUEST_EXISTS)) {
                ServerWatch *watch = g_new0(ServerWatch, 1);
                *watch = (ServerWatch){call->watch, call->request == REQUEST_LIST};
                g_ptr_array_add(server.watches, watch);
        }
        if (call->request == REQUEST_LIST) {
                answer_list(call);
                return;
        }
        if (node) {
                g_autofree char *data = g_strdup(node->data);
                reply.stat = node->stat;
                reply.data = data;
                reply.data_size = strlen(data);
                port_reply(call, reply);
                return;
        }
        port_reply(call, reply);
}

/* Answers what was asked so far. */
static void server_serve(void) {
        Zk *zk = ports->pdata[0];
        ZkCall *call;

        while ((call = g_queue_pop_head(&zk->calls))) {
                if (call->request == REQUEST_MULTI)
                        answer_multi(call);
                else if (call->request == REQUEST_SYNC)
                        port_reply(call, (ZkReply){.code = ZK_OK});
                else if (call->request == REQUEST_CREATE || call->request == REQUEST_SET ||
                         call->request == REQUEST_DELETE)
                        answer_write(call);
                else
                        answer_read(call);
        }
}

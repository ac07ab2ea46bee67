/* See small-server.h. */
#include "small-server.h"

#include <string.h>

typedef struct ServerWatch {
        ZkWatch *watch;
        bool children;
} ServerWatch;

Server server;

static void server_node_free(gpointer data) {
        ServerNode *node = data;

        g_free(node->data);
        g_free(node);
}

ServerNode *server_node(const char *path) {
        return g_hash_table_lookup(server.nodes, path);
}

const char *server_data(const char *path) {
        const ServerNode *node = server_node(path);

        return node ? node->data : "";
}

void server_end(void) {
        ZkCall *call;

        g_clear_pointer(&server.nodes, g_hash_table_unref);
        g_clear_pointer(&server.shown, g_hash_table_unref);
        g_clear_pointer(&server.watches, g_ptr_array_unref);
        g_clear_pointer(&server.results, g_free);
        if (server.held)
                call_clear(server.held);
        server.held = NULL;
        while ((call = g_queue_pop_head(&server.kept)))
                call_clear(call);
}

static int64_t server_clock_ms(void) {
        return ((int64_t)clock_realtime() + server.clock) / 1000;
}

/* ---- a server that lags ---- */

void server_lag(void) {
        GHashTableIter iterator;
        gpointer path, node;

        g_clear_pointer(&server.shown, g_hash_table_unref);
        server.shown = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, server_node_free);
        g_hash_table_iter_init(&iterator, server.nodes);
        while (g_hash_table_iter_next(&iterator, &path, &node)) {
                ServerNode *copy = g_memdup2(node, sizeof(ServerNode));

                copy->data = g_strdup(copy->data);
                g_hash_table_insert(server.shown, g_strdup(path), copy);
        }
}

/* What the others did before has come to it. */
static void server_catch_up(void) {
        if (server.shown)
                server_lag();
}

static GHashTable *server_shown(void) {
        return server.shown ? server.shown : server.nodes;
}

static bool is_child(const char *path, const char *parent) {
        const char *slash = strrchr(path, '/');

        return slash && (size_t)(slash - path) == strlen(parent) && g_str_has_prefix(path, parent);
}

unsigned server_count(const char *path) {
        GHashTableIter iterator;
        gpointer child;
        unsigned n = 0;

        g_hash_table_iter_init(&iterator, server.nodes);
        while (g_hash_table_iter_next(&iterator, &child, NULL))
                n += is_child(child, path);
        return n;
}

/* ---- watches ---- */

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

void server_fire_parent(const char *path) {
        g_autofree char *parent = g_path_get_dirname(path);

        server_fire(parent, true, ZK_WATCH_CHILDREN);
}

void server_forget_watches(void) {
        g_ptr_array_set_size(server.watches, 0);
}

static void forget_watches_of(const Zk *zk) {
        for (guint i = server.watches->len; i > 0; i--)
                if (((ServerWatch *)server.watches->pdata[i - 1])->watch->zk == zk)
                        g_ptr_array_remove_index(server.watches, i - 1);
}

/* ---- nodes ---- */

static void count_child(const char *path, int by) {
        g_autofree char *parent = g_path_get_dirname(path);
        ServerNode *node = server_node(parent);

        if (!node || strcmp(path, "/") == 0)
                return;
        node->stat.num_children += by;
        node->stat.cversion++;
        node->stat.pzxid = server.zxid;
}

void server_create(const char *path, const char *data, int64_t owner) {
        ServerNode *node = g_new0(ServerNode, 1);

        node->data = g_strdup(data ? data : "");
        node->stat.czxid = node->stat.mzxid = node->stat.pzxid = server.zxid;
        node->stat.ctime_ms = node->stat.mtime_ms = server_clock_ms();
        node->stat.ephemeral_owner = owner;
        if (!server_node(path))
                count_child(path, 1);
        g_hash_table_insert(server.nodes, g_strdup(path), node);
}

void server_set(ServerNode *node, const char *data) {
        g_free(node->data);
        node->data = g_strdup(data ? data : "");
        node->stat.version++;
        node->stat.mzxid = server.zxid;
        node->stat.mtime_ms = server_clock_ms();
}

void server_remove(const char *path) {
        if (g_hash_table_remove(server.nodes, path))
                count_child(path, -1);
}

void server_begin(void) {
        server = (Server){
            .nodes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, server_node_free),
            .watches = g_ptr_array_new_with_free_func(g_free)};
        g_queue_init(&server.kept);
        port_freed = forget_watches_of;
        server_create("/", "", 0);
}

/* ---- transactions ---- */

/* Return: whether there is such a node once the first `n` operations are done. */
static bool exists_after(const ZkOp *ops, size_t n, const char *path) {
        while (n-- > 0)
                if (strcmp(ops[n].path, path) == 0 && ops[n].type != ZK_OP_CHECK)
                        return ops[n].type != ZK_OP_DELETE;
        return server_node(path);
}

static bool has_parent_after(const ZkOp *ops, size_t n, const char *path) {
        g_autofree char *parent = g_path_get_dirname(path);

        return exists_after(ops, n, parent);
}

static bool has_children_after(const ZkOp *ops, size_t n, const char *path) {
        int children = server_node(path) ? server_node(path)->stat.num_children : 0;

        for (size_t i = 0; i < n; i++)
                if (is_child(ops[i].path, path))
                        children +=
                            ops[i].type == ZK_OP_CREATE ? 1 : -(ops[i].type == ZK_OP_DELETE);
        return children > 0;
}

static ZkCode server_judge(const ZkOp *ops, size_t i) {
        const ZkOp *op = &ops[i];
        const ServerNode *node = server_node(op->path);
        bool exists = exists_after(ops, i, op->path);

        if (op->type != ZK_OP_CHECK && g_strcmp0(op->path, server.unwritable) == 0)
                return ZK_NO_AUTH;
        if (op->type == ZK_OP_CREATE)
                return exists                               ? ZK_NODE_EXISTS
                       : has_parent_after(ops, i, op->path) ? ZK_OK
                                                            : ZK_NO_NODE;
        if (!exists)
                return ZK_NO_NODE;
        if (node && op->version >= 0 && op->version != node->stat.version)
                return ZK_BAD_VERSION;
        return op->type == ZK_OP_DELETE && has_children_after(ops, i, op->path) ? ZK_NOT_EMPTY
                                                                                : ZK_OK;
}

static void server_perform(const ZkOp *op, int64_t owner, ZkOpResult *result) {
        if (op->type == ZK_OP_CREATE)
                server_create(op->path, op->data, owner);
        else if (op->type == ZK_OP_SET)
                server_set(server_node(op->path), op->data);
        else if (op->type == ZK_OP_DELETE)
                server_remove(op->path);
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

/* A heartbeat that is a proof checks, and that is all. */
static bool server_only_checks(const ZkOp *ops, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (ops[i].type != ZK_OP_CHECK)
                        return false;
        return true;
}

ZkCode server_transact(const ZkOp *ops, size_t n, int64_t owner, ZkOpResult **ret_results) {
        ZkOpResult *results;
        ZkCode code;

        *ret_results = results = g_new0(ZkOpResult, n + 1);
        for (size_t i = 0; i < n; i++) {
                if ((code = server_judge(ops, i)) == ZK_OK)
                        continue;
                for (size_t j = 0; j < n; j++)
                        results[j].code = ZK_ROLLED_BACK;
                results[i].code = code;
                return code;
        }
        server.zxid++;
        server.writes += !server_only_checks(ops, n);
        for (size_t i = 0; i < n; i++)
                server_perform(&ops[i], owner, &results[i]);
        for (size_t i = 0; i < n; i++)
                server_tell_watches(&ops[i]);
        return ZK_OK;
}

static void transact_one(ZkOpType type, const char *path, const char *data) {
        const ZkOp op = {.type = type, .path = path, .data = data, .version = -1};
        g_autofree ZkOpResult *results = NULL;

        cr_assert_eq(server_transact(&op, 1, 0, &results), ZK_OK, "%s", path);
}

void server_write(const char *path, const char *data) {
        transact_one(server_node(path) ? ZK_OP_SET : ZK_OP_CREATE, path, data);
}

void server_delete(const char *path) {
        transact_one(ZK_OP_DELETE, path, NULL);
}

void server_expire(int64_t session) {
        g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
        GHashTableIter iterator;
        gpointer path, node;

        g_hash_table_iter_init(&iterator, server.nodes);
        while (g_hash_table_iter_next(&iterator, &path, &node))
                if (session && ((ServerNode *)node)->stat.ephemeral_owner == session)
                        g_ptr_array_add(paths, g_strdup(path));
        for (guint i = 0; i < paths->len; i++)
                server_delete(paths->pdata[i]);
}

/* ---- requests ---- */

bool call_has(const ZkCall *call, ZkOpType type, const char *part) {
        for (size_t i = 0; i < call->n_ops; i++)
                if (call->ops[i].type == type && strstr(call->ops[i].path, part))
                        return true;
        return false;
}

bool is_claim(const ZkCall *call) {
        return call_has(call, ZK_OP_CREATE, "/open/");
}

/* `lost`: the answer does not arrive. */
static void answer(ZkCall *call, ZkReply reply, bool lost) {
        port_reply(call, lost ? (ZkReply){.code = ZK_UNKNOWN} : reply);
}

static void answer_multi(ZkCall *call, bool lost) {
        g_autofree ZkOpResult *results = NULL;
        ZkCode code = server_transact(call->ops, call->n_ops, 0, &results);

        if (!lost)
                server_catch_up();
        if (code == ZK_OK && server.hold_claims && !server.held && is_claim(call)) {
                server.held = call;
                server.results = g_steal_pointer(&results);
                server.n_results = call->n_ops;
                return;
        }
        answer(call,
               (ZkReply){.code = code,
                         .results = results,
                         .n_results = call->n_ops,
                         .sent_realtime = clock_realtime()},
               lost);
}

static void answer_write(const Zk *zk, ZkCall *call, bool lost) {
        g_autofree char *path = call->flags & ZK_CREATE_SEQUENTIAL
                                    ? g_strdup_printf("%s%010d", call->path, (int)server.zxid)
                                    : g_strdup(call->path);
        ZkOp op = {.path = path, .data = call->data, .version = call->version};
        g_autofree ZkOpResult *results = NULL;
        ZkReply reply = {.sent_realtime = clock_realtime()};

        op.type = call->request == REQUEST_CREATE ? ZK_OP_CREATE
                  : call->request == REQUEST_SET  ? ZK_OP_SET
                                                  : ZK_OP_DELETE;
        reply.code = server_transact(&op, 1, call->flags & ZK_CREATE_EPHEMERAL ? zk->session.id : 0,
                                     &results);
        reply.path = path;
        if (!lost)
                server_catch_up();
        if (reply.code == ZK_OK && op.type != ZK_OP_DELETE)
                reply.stat = server_node(path)->stat;
        answer(call, reply, lost);
}

static void answer_list(ZkCall *call) {
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
        const ServerNode *node = g_hash_table_lookup(server_shown(), call->path);
        GHashTableIter iterator;
        gpointer path;

        g_hash_table_iter_init(&iterator, server_shown());
        while (node && g_hash_table_iter_next(&iterator, &path, NULL))
                if (is_child(path, call->path))
                        g_ptr_array_add(names, g_path_get_basename(path));
        g_ptr_array_add(names, NULL);
        port_reply(call, (ZkReply){.code = node ? ZK_OK : ZK_NO_NODE,
                                   .children = (const char *const *)names->pdata,
                                   .n_children = names->len - 1,
                                   .stat = node ? node->stat : (ZkStat){0}});
}

static void answer_read(ZkCall *call) {
        const ServerNode *node = g_hash_table_lookup(server_shown(), call->path);
        ZkReply reply = {.code = node ? ZK_OK : ZK_NO_NODE};
        g_autofree char *data = node ? g_strdup(node->data) : NULL;

        if (call->request == REQUEST_GET && g_strcmp0(call->path, server.unreadable) == 0) {
                port_reply(call, (ZkReply){.code = ZK_NO_AUTH});
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
                reply.stat = node->stat;
                reply.data = data;
                reply.data_size = strlen(data);
        }
        port_reply(call, reply);
}

static bool is_read(const ZkCall *call) {
        return call->request == REQUEST_GET || call->request == REQUEST_EXISTS ||
               call->request == REQUEST_LIST;
}

static void perform(const Zk *zk, ZkCall *call, bool lost) {
        server.reads += is_read(call);
        if (is_read(call) && (lost || g_strcmp0(call->path, server.broken) == 0))
                port_reply(call, (ZkReply){.code = ZK_UNKNOWN});
        else if (is_read(call))
                answer_read(call);
        else if (call->request == REQUEST_MULTI)
                answer_multi(call, lost);
        else if (call->request == REQUEST_ACL)
                answer(call,
                       (ZkReply){.code = server_node(call->path) ? ZK_OK : ZK_NO_NODE,
                                 .others = server.others ? server.others : ""},
                       lost);
        else if (call->request == REQUEST_SYNC)
                answer(call, (ZkReply){.code = ZK_OK}, lost);
        else
                answer_write(zk, call, lost);
}

static void serve_call(const Zk *zk, ZkCall *call) {
        ServerWay way = server.way ? server.way(call) : SERVER_ANSWER;

        if (call->request == REQUEST_SYNC && way == SERVER_ANSWER)
                server_catch_up();
        switch (way) {
        case SERVER_ANSWER:
                perform(zk, call, false);
                return;
        case SERVER_KEEP:
                g_queue_push_tail(&server.kept, call);
                return;
        case SERVER_LOSE:
                port_reply(call, (ZkReply){.code = ZK_UNKNOWN});
                return;
        case SERVER_LOSE_ANSWER:
                perform(zk, call, true);
                return;
        case SERVER_REFUSE:
                port_reply(call, (ZkReply){.code = server.refusal});
                return;
        }
}

/* What was asked of a session that its client ends is answered so, and then the client is told. */
static void serve_end(Zk *zk) {
        ZkCall *call;

        while ((call = g_queue_pop_head(&zk->calls)))
                port_reply(call, (ZkReply){.code = ZK_CLOSED});
        zk->ended = false;
        forget_watches_of(zk);
        if (zk->tidy)
                server_expire(zk->session.id);
        port_tell(zk, ZK_STATE_CLOSED);
}

static bool is_there(const Zk *zk) {
        return ports && g_ptr_array_find(ports, zk, NULL);
}

void server_serve(void) {
        g_autoptr(GPtrArray) all = ports ? g_ptr_array_copy(ports, NULL, NULL) : g_ptr_array_new();
        ZkCall *call;

        for (guint i = 0; i < all->len; i++) {
                Zk *zk = all->pdata[i];

                while (is_there(zk) && !zk->ended && (call = g_queue_pop_head(&zk->calls)))
                        serve_call(zk, call);
                if (is_there(zk) && zk->ended)
                        serve_end(zk);
        }
}

void server_release(void) {
        ZkCall *call = server.held;
        g_autofree ZkOpResult *results = g_steal_pointer(&server.results);
        guint n = g_queue_get_length(&server.kept);

        server.held = NULL;
        if (call)
                port_reply(call, (ZkReply){.code = ZK_OK,
                                           .results = results,
                                           .n_results = server.n_results,
                                           .sent_realtime = clock_realtime()});
        while (n-- > 0)
                perform(ports->pdata[0], g_queue_pop_head(&server.kept), false);
}

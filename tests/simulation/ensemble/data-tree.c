/* The data of one server: org.apache.zookeeper.server.DataTree.
 *
 * Whether something may be done was decided by the leader (prepare.c); here it is done. So nothing
 * fails, with one exception: a count of creations that passed 2^31 - 1 does not go on, since only a
 * greater one is taken (DataTree.createNode), and sequence numbers repeat.
 *
 * Lists come in the order of the names' hashes. A server's come in that of a hash table: whoever
 * relies on a sorted one is to find out.
 */
#include "data-tree.h"

#include <string.h>

struct DataTree {
        GHashTable *nodes; /* path → TreeNode, the tree's */
        GHashTable *owned; /* session → GTree of paths, the nodes' own */
        GTree *containers; /* of paths, the nodes' own */
        GTree *sessions;   /* id → timeout */
        int64_t zxid;
};

static uint64_t name_hash(const char *name) {
        uint64_t hash = UINT64_C(0xcbf29ce484222325);

        for (; *name; name++)
                hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
        return hash ^ (hash >> 29);
}

static int name_compare(const void *one, const void *other, void *userdata) {
        uint64_t a = name_hash(one), b = name_hash(other);

        (void)userdata;
        return a != b ? (a > b) - (a < b) : strcmp(one, other);
}

static int id_compare(const void *one, const void *other, void *userdata) {
        int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;

        (void)userdata;
        return (a > b) - (a < b);
}

static GTree *names_new(void) {
        return g_tree_new_full(name_compare, NULL, NULL, NULL);
}

static void tree_node_destroy(void *data) {
        TreeNode *node = data;

        if (node->children)
                g_tree_unref(node->children);
        g_free(node->path);
        g_free(node->data);
        g_free(node->acl);
        g_free(node);
}

static TreeNode *tree_node_new(const char *path) {
        TreeNode *node = g_new0(TreeNode, 1);

        node->path = g_strdup(path);
        node->name = strrchr(node->path, '/') + 1;
        return node;
}

static DataTree *tree_new_empty(void) {
        DataTree *tree = g_new0(DataTree, 1);

        tree->nodes = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, tree_node_destroy);
        tree->owned = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free,
                                            (GDestroyNotify)(void (*)(void))g_tree_unref);
        tree->containers = names_new();
        tree->sessions = g_tree_new_full(id_compare, NULL, g_free, g_free);
        return tree;
}

static void tree_node_adopt(TreeNode *parent, TreeNode *node) {
        if (!parent->children)
                parent->children = names_new();
        node->parent = parent;
        g_tree_insert(parent->children, (void *)node->name, node);
}

/* A new server has these, and the system's nodes count (DataTree's constructor). */
DataTree *data_tree_new(void) {
        static const char *const paths[] = {"/", "/zookeeper", "/zookeeper/config",
                                            "/zookeeper/quota"};
        DataTree *tree = tree_new_empty();

        for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
                TreeNode *node = tree_node_new(paths[i]);
                g_autofree char *parent = g_path_get_dirname(paths[i]);

                if (i > 0)
                        tree_node_adopt(g_hash_table_lookup(tree->nodes, parent), node);
                g_hash_table_insert(tree->nodes, node->path, node);
        }
        return tree;
}

DataTree *data_tree_free(DataTree *tree) {
        if (!tree)
                return NULL;
        g_tree_unref(tree->containers);
        g_tree_unref(tree->sessions);
        g_hash_table_unref(tree->owned);
        g_hash_table_unref(tree->nodes);
        g_free(tree);
        return NULL;
}

static void tree_own(DataTree *tree, TreeNode *node) {
        GTree *paths;

        if (node->owner == CONTAINER_OWNER)
                g_tree_insert(tree->containers, node->path, node->path);
        if (node->owner == 0 || node->owner == CONTAINER_OWNER)
                return;
        paths = g_hash_table_lookup(tree->owned, &node->owner);
        if (!paths) {
                paths = names_new();
                g_hash_table_insert(tree->owned, g_memdup2(&node->owner, sizeof(node->owner)),
                                    paths);
        }
        g_tree_insert(paths, node->path, node->path);
}

static void tree_disown(DataTree *tree, const TreeNode *node) {
        GTree *paths;

        if (node->owner == CONTAINER_OWNER)
                g_tree_remove(tree->containers, node->path);
        paths = g_hash_table_lookup(tree->owned, &node->owner);
        if (!paths)
                return;
        g_tree_remove(paths, node->path);
        if (g_tree_nnodes(paths) == 0)
                g_hash_table_remove(tree->owned, &node->owner);
}

static gboolean tree_copy_child(void *name, void *value, void *userdata);

static void tree_copy_node(DataTree *tree, const TreeNode *node, TreeNode *parent) {
        TreeNode *copy = g_memdup2(node, sizeof(*node));

        copy->path = g_strdup(node->path);
        copy->name = strrchr(copy->path, '/') + 1;
        copy->data = g_strdup(node->data);
        copy->acl = g_strdup(node->acl);
        copy->children = NULL;
        if (parent)
                tree_node_adopt(parent, copy);
        g_hash_table_insert(tree->nodes, copy->path, copy);
        tree_own(tree, copy);
        if (node->children)
                g_tree_foreach(node->children, tree_copy_child, tree);
}

static gboolean tree_copy_child(void *name, void *value, void *userdata) {
        const TreeNode *node = value;
        DataTree *tree = userdata;

        (void)name;
        tree_copy_node(tree, node, g_hash_table_lookup(tree->nodes, node->parent->path));
        return FALSE;
}

static gboolean tree_copy_session(void *id, void *timeout, void *userdata) {
        g_tree_insert(userdata, g_memdup2(id, sizeof(int64_t)), g_memdup2(timeout, sizeof(usec_t)));
        return FALSE;
}

DataTree *data_tree_copy(const DataTree *tree) {
        DataTree *copy = tree_new_empty();

        copy->zxid = tree->zxid;
        tree_copy_node(copy, g_hash_table_lookup(tree->nodes, "/"), NULL);
        g_tree_foreach(tree->sessions, tree_copy_session, copy->sessions);
        return copy;
}

int64_t data_tree_zxid(const DataTree *tree) {
        return tree->zxid;
}

void data_tree_set_zxid(DataTree *tree, int64_t zxid) {
        tree->zxid = zxid;
}

const TreeNode *data_tree_find(const DataTree *tree, const char *path) {
        return g_hash_table_lookup(tree->nodes, path);
}

guint data_tree_count(const DataTree *tree) {
        return g_hash_table_size(tree->nodes);
}

unsigned tree_node_count(const TreeNode *node) {
        return node->children ? (unsigned)g_tree_nnodes(node->children) : 0;
}

/* DataNode.copyStat: who counts changes and not creations is told of those: each creation had a
 * deletion, but for the children that are there. */
ZkStat tree_node_stat(const TreeNode *node) {
        unsigned count = tree_node_count(node);

        return (ZkStat){
            .czxid = node->czxid,
            .mzxid = node->mzxid,
            .pzxid = node->pzxid,
            .ctime_ms = node->ctime_ms,
            .mtime_ms = node->mtime_ms,
            .ephemeral_owner = node->owner == CONTAINER_OWNER ? 0 : node->owner,
            .version = node->version,
            .cversion = (int32_t)(2 * (uint32_t)node->creations - count),
            .num_children = (int32_t)count,
            .data_length = node->data ? (int32_t)strlen(node->data) : 0,
        };
}

static gboolean collect_name(void *name, void *value, void *userdata) {
        (void)value;
        g_ptr_array_add(userdata, g_strdup(name));
        return FALSE;
}

char **tree_node_children(const TreeNode *node) {
        GPtrArray *names = g_ptr_array_new();

        if (node->children)
                g_tree_foreach(node->children, collect_name, names);
        g_ptr_array_add(names, NULL);
        return (char **)g_ptr_array_free(names, FALSE);
}

GPtrArray *data_tree_owned(const DataTree *tree, int64_t session) {
        GPtrArray *paths = g_ptr_array_new_with_free_func(g_free);
        GTree *owned = g_hash_table_lookup(tree->owned, &session);

        if (owned)
                g_tree_foreach(owned, collect_name, paths);
        return paths;
}

static gboolean collect_empty(void *path, void *value, void *userdata) {
        void **arguments = userdata;
        const DataTree *tree = arguments[0];
        const TreeNode *node = data_tree_find(tree, path);

        (void)value;
        if (node->creations > 0 && tree_node_count(node) == 0)
                g_ptr_array_add(arguments[1], g_strdup(path));
        return FALSE;
}

/* ContainerManager.getCandidates: those that have had a child. */
GPtrArray *data_tree_empty_containers(const DataTree *tree) {
        GPtrArray *paths = g_ptr_array_new_with_free_func(g_free);
        void *arguments[] = {(void *)tree, paths};

        g_tree_foreach(tree->containers, collect_empty, arguments);
        return paths;
}

typedef struct EachSession {
        void (*func)(int64_t session, usec_t timeout, void *userdata);
        void *userdata;
} EachSession;

static gboolean tell_session(void *id, void *timeout, void *userdata) {
        const EachSession *each = userdata;

        each->func(*(int64_t *)id, *(usec_t *)timeout, each->userdata);
        return FALSE;
}

void data_tree_each_session(const DataTree *tree,
                            void (*func)(int64_t session, usec_t timeout, void *userdata),
                            void *userdata) {
        EachSession each = {func, userdata};

        g_tree_foreach(tree->sessions, tell_session, &each);
}

/* PathUtils.validatePath, for bytes: what is not ASCII is taken as it is. */
bool data_tree_path_is_valid(const char *path) {
        if (path[0] != '/')
                return false;
        if (path[1] == '\0')
                return true;
        for (const char *part = path; *part;) {
                const char *name = part + 1;
                size_t length = strcspn(name, "/");

                if (length == 0 || (length == 1 && name[0] == '.') ||
                    (length == 2 && memcmp(name, "..", 2) == 0))
                        return false;
                for (size_t i = 0; i < length; i++)
                        if ((unsigned char)name[i] <= 0x1f || name[i] == 0x7f)
                                return false;
                part = name + length;
        }
        return true;
}

/* Transactions */

typedef struct Applying {
        DataTree *tree;
        const Transaction *txn;
        DataTreeFunc func;
        void *userdata;
} Applying;

static void applying_tell(const Applying *applying, ZkWatchEvent event, const TreeNode *node) {
        if (applying->func)
                applying->func(event, node, applying->userdata);
}

static TreeNode *tree_parent(const DataTree *tree, const char *path) {
        const char *slash = strrchr(path, '/');
        g_autofree char *parent = g_strndup(path, MAX((size_t)(slash - path), (size_t)1));

        return g_hash_table_lookup(tree->nodes, parent);
}

/* DataTree.createNode. */
static const TreeNode *apply_create(const Applying *applying, const TransactionOp *op) {
        TreeNode *parent = tree_parent(applying->tree, op->path), *node = tree_node_new(op->path);

        if (op->version > parent->creations) {
                parent->creations = op->version;
                parent->pzxid = applying->txn->zxid;
        }
        node->data = g_strdup(op->data);
        node->acl = g_strdup(op->acl);
        node->owner = op->owner;
        node->czxid = node->mzxid = node->pzxid = applying->txn->zxid;
        node->ctime_ms = node->mtime_ms = applying->txn->time_ms;
        tree_node_adopt(parent, node);
        g_hash_table_insert(applying->tree->nodes, node->path, node);
        tree_own(applying->tree, node);
        applying_tell(applying, ZK_WATCH_CREATED, node);
        return node;
}

/* DataTree.deleteNode. */
static void apply_delete(const Applying *applying, const char *path) {
        TreeNode *node = g_hash_table_lookup(applying->tree->nodes, path);

        if (!node)
                return;
        g_tree_remove(node->parent->children, node->name);
        node->parent->pzxid = MAX(node->parent->pzxid, applying->txn->zxid);
        tree_disown(applying->tree, node);
        applying_tell(applying, ZK_WATCH_DELETED, node);
        g_hash_table_remove(applying->tree->nodes, path);
}

/* DataTree.setData. */
static const TreeNode *apply_set(const Applying *applying, const TransactionOp *op) {
        TreeNode *node = g_hash_table_lookup(applying->tree->nodes, op->path);

        g_free(node->data);
        node->data = g_strdup(op->data);
        node->version = op->version;
        node->mzxid = applying->txn->zxid;
        node->mtime_ms = applying->txn->time_ms;
        applying_tell(applying, ZK_WATCH_CHANGED, node);
        return node;
}

static void apply_session(const Applying *applying, bool there) {
        int64_t id = applying->txn->session;

        if (there)
                g_tree_insert(applying->tree->sessions, g_memdup2(&id, sizeof(id)),
                              g_memdup2(&applying->txn->timeout, sizeof(usec_t)));
        else
                g_tree_remove(applying->tree->sessions, &id);
}

static void apply_op(const Applying *applying, const TransactionOp *op, ZkOpResult *ret) {
        switch (op->type) {
        case TXN_CREATE:
                ret->stat = tree_node_stat(apply_create(applying, op));
                break;
        case TXN_SET:
                ret->stat = tree_node_stat(apply_set(applying, op));
                break;
        case TXN_DELETE:
                apply_delete(applying, op->path);
                break;
        case TXN_ERROR:
                ret->code = op->code;
                break;
        case TXN_CREATE_SESSION:
        case TXN_CLOSE_SESSION:
                apply_session(applying, op->type == TXN_CREATE_SESSION);
                break;
        case TXN_CHECK:
                break;
        }
}

TransactionResult *data_tree_apply(DataTree *tree, const Transaction *txn, DataTreeFunc func,
                                   void *userdata) {
        const Applying applying = {tree, txn, func, userdata};
        TransactionResult *result = g_new0(TransactionResult, 1);
        bool failed = false;

        result->results = g_new0(ZkOpResult, txn->n_ops);
        result->n_results = txn->of == REQUEST_MULTI ? txn->n_ops : 0;
        for (size_t i = 0; i < txn->n_ops; i++)
                failed |= txn->ops[i].type == TXN_ERROR;
        tree->zxid = txn->zxid;
        /* DataTree.processTxn: with one error among them, none is done. */
        for (size_t i = 0; i < txn->n_ops; i++)
                if (!failed || txn->ops[i].type == TXN_ERROR)
                        apply_op(&applying, &txn->ops[i], &result->results[i]);
        for (size_t i = 0; failed && result->code == ZK_OK && i < txn->n_ops; i++)
                if (txn->ops[i].type == TXN_ERROR)
                        result->code = txn->ops[i].code;
        if (txn->n_ops > 0 && result->n_results == 0) {
                result->path = txn->ops[0].type == TXN_CREATE ? txn->ops[0].path : NULL;
                result->stat = result->results[0].stat;
        }
        return result;
}

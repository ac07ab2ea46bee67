/* Watches: org.apache.zookeeper.server.watch.WatchManager, of which a server has two, one for data
 * (and for nodes that are not there), one for children.
 *
 * A watch is a path and a connection, once, however often it was asked for. It fires once. Who may
 * not read the node is not told (NIOServerCnxn.process, since CVE-2024-23944), and the watch is
 * gone all the same. */
#include "watch-table.h"

#include <string.h>

struct WatchTable {
        GHashTable *paths[2]; /* by kind: path → GPtrArray of Watcher, in the order of asking */
};

struct Watcher {
        WatchTable *table;
        GHashTable *paths[2]; /* by kind: a set; the tables' own strings */
        WatcherFunc func;
        void *userdata;
        char *identity;
};

static size_t table_of(WatchKind kind) {
        return kind == WATCH_CHILDREN ? 1 : 0;
}

WatchTable *watch_table_new(void) {
        WatchTable *table = g_new0(WatchTable, 1);

        for (size_t i = 0; i < G_N_ELEMENTS(table->paths); i++)
                table->paths[i] =
                    g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                          (GDestroyNotify)(void (*)(void))g_ptr_array_unref);
        return table;
}

WatchTable *watch_table_free(WatchTable *table) {
        if (!table)
                return NULL;
        for (size_t i = 0; i < G_N_ELEMENTS(table->paths); i++) {
                g_assert_cmpuint(g_hash_table_size(table->paths[i]), ==, 0);
                g_hash_table_unref(table->paths[i]);
        }
        g_free(table);
        return NULL;
}

Watcher *watcher_new(WatchTable *table, WatcherFunc func, void *userdata) {
        Watcher *watcher = g_new0(Watcher, 1);

        watcher->table = table;
        watcher->func = func;
        watcher->userdata = userdata;
        for (size_t i = 0; i < G_N_ELEMENTS(watcher->paths); i++)
                watcher->paths[i] = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        return watcher;
}

static void table_remove(GHashTable *paths, const char *path, Watcher *watcher) {
        GPtrArray *watchers = g_hash_table_lookup(paths, path);

        g_ptr_array_remove(watchers, watcher);
        if (watchers->len == 0)
                g_hash_table_remove(paths, path);
}

Watcher *watcher_free(Watcher *watcher) {
        if (!watcher)
                return NULL;
        for (size_t i = 0; i < G_N_ELEMENTS(watcher->paths); i++) {
                GHashTableIter iter;
                void *path;

                g_hash_table_iter_init(&iter, watcher->paths[i]);
                while (g_hash_table_iter_next(&iter, &path, NULL))
                        table_remove(watcher->table->paths[i], path, watcher);
                g_hash_table_unref(watcher->paths[i]);
        }
        g_free(watcher->identity);
        g_free(watcher);
        return NULL;
}

void watcher_set_identity(Watcher *watcher, const char *identity) {
        g_free(watcher->identity);
        watcher->identity = g_strdup(identity);
}

void watcher_add(Watcher *watcher, WatchKind kind, const char *path) {
        GHashTable *paths = watcher->table->paths[table_of(kind)];
        GPtrArray *watchers;

        if (!g_hash_table_add(watcher->paths[table_of(kind)], g_strdup(path)))
                return;
        watchers = g_hash_table_lookup(paths, path);
        if (!watchers) {
                watchers = g_ptr_array_new();
                g_hash_table_insert(paths, g_strdup(path), watchers);
        }
        g_ptr_array_add(watchers, watcher);
}

/* DataTree.setWatches. Return: whether there is something to tell at once. */
static bool watch_is_due(WatchKind kind, const TreeNode *node, int64_t zxid, ZkWatchEvent *ret) {
        if (kind == WATCH_EXISTS) {
                *ret = ZK_WATCH_CREATED;
                return node;
        }
        if (!node) {
                *ret = ZK_WATCH_DELETED;
                return true;
        }
        *ret = kind == WATCH_DATA ? ZK_WATCH_CHANGED : ZK_WATCH_CHILDREN;
        return (kind == WATCH_DATA ? node->mzxid : node->pzxid) > zxid;
}

void watcher_add_again(Watcher *watcher, const Request *request, const DataTree *tree) {
        for (WatchKind kind = 0; kind < WATCH_KINDS; kind++) {
                const GPtrArray *paths = request->watches[kind];

                for (guint i = 0; paths && i < paths->len; i++) {
                        const char *path = paths->pdata[i];
                        ZkWatchEvent event;

                        if (watch_is_due(kind, data_tree_find(tree, path), request->zxid, &event))
                                watcher->func(event, path, watcher->userdata);
                        else
                                watcher_add(watcher, kind, path);
                }
        }
}

static void watcher_tell(const Watcher *watcher, ZkWatchEvent event, const TreeNode *node) {
        if (!node->acl || g_strcmp0(node->acl, watcher->identity) == 0)
                watcher->func(event, node->path, watcher->userdata);
}

/* Return: those who were told, for whom no second word about the same is said; NULL: nobody. */
static GPtrArray *table_fire(WatchTable *table, WatchKind kind, ZkWatchEvent event,
                             const TreeNode *node, const GPtrArray *told) {
        GHashTable *paths = table->paths[table_of(kind)];
        void *key, *value;
        GPtrArray *watchers;

        if (!g_hash_table_steal_extended(paths, node->path, &key, &value))
                return NULL;
        watchers = value;
        for (guint i = 0; i < watchers->len; i++) {
                Watcher *watcher = watchers->pdata[i];

                g_hash_table_remove(watcher->paths[table_of(kind)], node->path);
                if (!told || !g_ptr_array_find((GPtrArray *)told, watcher, NULL))
                        watcher_tell(watcher, event, node);
        }
        g_free(key);
        return watchers;
}

static void watchers_drop(GPtrArray *watchers) {
        if (watchers)
                g_ptr_array_unref(watchers);
}

/* The order of DataTree.createNode, deleteNode and setData: the node's own watches, those on its
 * children, those on its parent's. */
void watch_table_fire(WatchTable *table, ZkWatchEvent event, const TreeNode *node) {
        GPtrArray *told = table_fire(table, WATCH_DATA, event, node, NULL);

        if (event == ZK_WATCH_DELETED)
                watchers_drop(table_fire(table, WATCH_CHILDREN, event, node, told));
        watchers_drop(told);
        if (event != ZK_WATCH_CHANGED && node->parent)
                watchers_drop(
                    table_fire(table, WATCH_CHILDREN, ZK_WATCH_CHILDREN, node->parent, NULL));
}

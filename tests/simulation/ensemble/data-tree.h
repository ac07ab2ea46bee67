/* The nodes that one server has, and how a transaction changes them. Pure: no time, no chance, no
 * network. Each rule names the class of the server that it was taken from. See data-tree.c. */
#pragma once

#include <glib.h>

#include "transaction.h"
#include "zk.h"

/* What the server keeps as the owner of a container (EphemeralType.CONTAINER_EPHEMERAL_OWNER); to
 * clients it shows none. */
#define CONTAINER_OWNER INT64_MIN

typedef struct TreeNode {
        char *path;
        const char *name; /* the path's last part; "" for the root */
        struct TreeNode *parent;
        char *data; /* NULL: none */
        char *acl;  /* who alone may touch it, "USER:hash"; NULL: everybody */
        int64_t czxid, mzxid, pzxid, ctime_ms, mtime_ms;
        int64_t owner;
        int32_t version;
        int32_t creations; /* of children, ever: what the next sequence number is taken from */
        GTree *children;   /* name → TreeNode, by the names' hashes; NULL: there were none */
} TreeNode;

typedef struct DataTree DataTree;

/* Told of each change while it is made: of a deletion before the node is freed. */
typedef void (*DataTreeFunc)(ZkWatchEvent event, const TreeNode *node, void *userdata);

DataTree *data_tree_new(void);
/* Return: the same nodes and sessions in another tree, as a server gets them from its leader's
 * snapshot. */
DataTree *data_tree_copy(const DataTree *tree);
DataTree *data_tree_free(DataTree *tree);
DEFINE_CLEANUP(DataTree, data_tree_free);

/* Does a transaction; `func` may be NULL. Return: what its request is answered with; the caller's
 * (txn_result_free()). */
TransactionResult *data_tree_apply(DataTree *tree, const Transaction *txn, DataTreeFunc func,
                                   void *userdata);
/* Return: the newest transaction that was done. */
int64_t data_tree_zxid(const DataTree *tree);
/* A new leader counts from there. */
void data_tree_set_zxid(DataTree *tree, int64_t zxid);

/* Return: borrowed; NULL: there is none. */
const TreeNode *data_tree_find(const DataTree *tree, const char *path);
guint data_tree_count(const DataTree *tree);
unsigned tree_node_count(const TreeNode *node); /* its children */
ZkStat tree_node_stat(const TreeNode *node);
/* Return: the children's names, in an order that looks like none but is the same each time (a
 * server's is that of a hash table); newly allocated. */
char **tree_node_children(const TreeNode *node);

/* Return: the paths of what a session owns, in such an order, too; newly allocated, may be empty.
 */
GPtrArray *data_tree_owned(const DataTree *tree, int64_t session);
/* Return: the paths of containers whose last child has gone. */
GPtrArray *data_tree_empty_containers(const DataTree *tree);

/* The sessions that there are: they are part of what is agreed on. */
void data_tree_each_session(const DataTree *tree,
                            void (*func)(int64_t session, usec_t timeout, void *userdata),
                            void *userdata);

/* Return: whether a server takes such a path (PathUtils.validatePath). */
bool data_tree_path_is_valid(const char *path);

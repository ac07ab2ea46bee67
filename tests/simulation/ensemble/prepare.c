/* Deciding about writes: org.apache.zookeeper.server.PrepRequestProcessor.
 *
 * Requests are decided one after the other, each in view of all that were decided before it, also
 * of those that are not committed yet. So beside the tree there are change records: what a node
 * will be once the transactions under way are done. A multi that fails takes its own back. */
#include "prepare.h"

#include <string.h>

/* What is to become of a node. */
typedef struct ChangeRecord {
        int64_t zxid;
        bool deleted;
        int64_t owner;
        int32_t version, creations;
        unsigned children;
        char *acl;
} ChangeRecord;

/* A record that was put, in order: to be dropped once done, or taken back. */
typedef struct Put {
        int64_t zxid;
        char *path;
        ChangeRecord *before; /* what it replaced, while a multi may be taken back */
} Put;

struct Preparer {
        const DataTree *tree;
        GHashTable *records; /* path → ChangeRecord */
        GQueue puts;         /* of Put */
};

typedef struct Preparing {
        Preparer *preparer;
        const Request *request;
        int64_t zxid;
        ZkCode session;
        bool undoable;
} Preparing;

static void change_record_free(void *data) {
        ChangeRecord *record = data;

        if (record)
                g_free(record->acl);
        g_free(record);
}

static ChangeRecord *change_record_copy(const ChangeRecord *record) {
        ChangeRecord *copy = g_memdup2(record, sizeof(*record));

        copy->acl = g_strdup(record->acl);
        return copy;
}

static void put_free(void *data) {
        Put *put = data;

        change_record_free(put->before);
        g_free(put->path);
        g_free(put);
}

Preparer *preparer_new(const DataTree *tree) {
        Preparer *preparer = g_new0(Preparer, 1);

        preparer->tree = tree;
        preparer->records =
            g_hash_table_new_full(g_str_hash, g_str_equal, g_free, change_record_free);
        g_queue_init(&preparer->puts);
        return preparer;
}

Preparer *preparer_free(Preparer *preparer) {
        if (!preparer)
                return NULL;
        g_queue_clear_full(&preparer->puts, put_free);
        g_hash_table_unref(preparer->records);
        g_free(preparer);
        return NULL;
}

void preparer_done(Preparer *preparer, int64_t zxid) {
        Put *put;

        while ((put = g_queue_peek_head(&preparer->puts)) && put->zxid <= zxid) {
                const ChangeRecord *record = g_hash_table_lookup(preparer->records, put->path);

                if (record && record->zxid <= zxid)
                        g_hash_table_remove(preparer->records, put->path);
                put_free(g_queue_pop_head(&preparer->puts));
        }
}

/* getRecordForPath. Return: what the node will be, to be changed and put, or freed; NULL: there
 * will be none. */
static ChangeRecord *preparer_record(const Preparer *preparer, const char *path) {
        const ChangeRecord *record = g_hash_table_lookup(preparer->records, path);
        const TreeNode *node = record ? NULL : data_tree_find(preparer->tree, path);
        ChangeRecord *made;

        if (record)
                return record->deleted ? NULL : change_record_copy(record);
        if (!node)
                return NULL;
        made = g_new0(ChangeRecord, 1);
        made->owner = node->owner;
        made->version = node->version;
        made->creations = node->creations;
        made->children = tree_node_count(node);
        made->acl = g_strdup(node->acl);
        return made;
}

/* addChangeRecord; takes the record over. */
static void preparing_put(const Preparing *preparing, const char *path, ChangeRecord *record) {
        Preparer *preparer = preparing->preparer;
        Put *put = g_new0(Put, 1);
        void *key = NULL, *before = NULL;

        record->zxid = preparing->zxid;
        put->zxid = preparing->zxid;
        put->path = g_strdup(path);
        if (preparing->undoable &&
            g_hash_table_steal_extended(preparer->records, path, &key, &before)) {
                put->before = before;
                g_free(key);
        }
        g_queue_push_tail(&preparer->puts, put);
        g_hash_table_insert(preparer->records, g_strdup(path), record);
}

static void preparing_put_deleted(const Preparing *preparing, const char *path) {
        ChangeRecord *record = g_new0(ChangeRecord, 1);

        record->deleted = true;
        preparing_put(preparing, path, record);
}

/* rollbackPendingChanges. */
static void preparing_roll_back(const Preparing *preparing) {
        Preparer *preparer = preparing->preparer;
        Put *put;

        while ((put = g_queue_peek_tail(&preparer->puts)) && put->zxid == preparing->zxid) {
                (void)g_queue_pop_tail(&preparer->puts);
                if (put->before)
                        g_hash_table_insert(preparer->records, g_strdup(put->path),
                                            g_steal_pointer(&put->before));
                else
                        g_hash_table_remove(preparer->records, put->path);
                put_free(put);
        }
}

/* ZooKeeperServer.checkACL, for the two that there are: everybody, or one identity alone. */
static bool preparing_may(const Preparing *preparing, const ChangeRecord *record) {
        return !record->acl || g_strcmp0(record->acl, preparing->request->identity) == 0;
}

static char *parent_of(const char *path) {
        return g_strndup(path, MAX((size_t)(strrchr(path, '/') - path), (size_t)1));
}

/* ZKDatabase.isSpecialPath: nobody deletes these. */
static bool path_is_special(const char *path) {
        return strcmp(path, "/") == 0 || strcmp(path, "/zookeeper") == 0 ||
               strcmp(path, "/zookeeper/config") == 0 || strcmp(path, "/zookeeper/quota") == 0;
}

static void change_record_clear(ChangeRecord **record) {
        change_record_free(*record);
}
#define _cleanup_record_ __attribute__((cleanup(change_record_clear)))

/* CreateMode.isEphemeral, isContainer. */
static int64_t owner_of_new(const Preparing *preparing, const ZkOp *op) {
        if (op->flags & ZK_CREATE_EPHEMERAL)
                return preparing->request->session;
        return op->flags & ZK_CREATE_CONTAINER ? CONTAINER_OWNER : 0;
}

/* pRequest2TxnCreate. */
static ZkCode prepare_create(const Preparing *preparing, const ZkOp *op, TransactionOp *ret) {
        const Request *request = preparing->request;
        g_autofree char *parent_path = parent_of(op->path), *path = g_strdup(op->path);
        _cleanup_record_ ChangeRecord *parent = NULL, *present = NULL;
        ChangeRecord *record;

        if (request->creator_only && !request->identity)
                return ZK_FAULT; /* InvalidACLException */
        parent = preparer_record(preparing->preparer, parent_path);
        if (!parent)
                return ZK_NO_NODE;
        if (!preparing_may(preparing, parent))
                return ZK_NO_AUTH;
        if (op->flags & ZK_CREATE_SEQUENTIAL) {
                g_free(path);
                path = g_strdup_printf("%s%010d", op->path, parent->creations);
        }
        if (!data_tree_path_is_valid(path))
                return ZK_FAULT;
        present = preparer_record(preparing->preparer, path);
        if (present)
                return ZK_NODE_EXISTS;
        if (parent->owner != 0 && parent->owner != CONTAINER_OWNER)
                return ZK_NO_CHILDREN_FOR_EPHEMERALS;

        parent->children++;
        parent->creations = (int32_t)((uint32_t)parent->creations + 1);
        ret->type = TXN_CREATE;
        ret->version = parent->creations;
        ret->owner = owner_of_new(preparing, op);
        ret->data = g_strdup(op->data);
        ret->acl = request->creator_only ? g_strdup(request->identity) : NULL;
        record = g_new0(ChangeRecord, 1);
        record->owner = ret->owner;
        record->acl = g_strdup(ret->acl);
        preparing_put(preparing, parent_path, g_steal_pointer(&parent));
        preparing_put(preparing, path, record);
        ret->path = g_steal_pointer(&path);
        return ZK_OK;
}

/* checkAndIncVersion. */
static bool version_is(const ChangeRecord *record, int32_t expected) {
        return expected == -1 || expected == record->version;
}

static void prepare_removal(const Preparing *preparing, const char *path, const char *parent_path,
                            ChangeRecord *parent, TransactionOp *ret) {
        ret->type = TXN_DELETE;
        ret->path = g_strdup(path);
        parent->children--;
        preparing_put(preparing, parent_path, parent);
        preparing_put_deleted(preparing, path);
}

/* pRequest2Txn, delete. */
static ZkCode prepare_delete(const Preparing *preparing, const ZkOp *op, TransactionOp *ret) {
        g_autofree char *parent_path = parent_of(op->path);
        _cleanup_record_ ChangeRecord *parent = NULL, *record = NULL;

        if (path_is_special(op->path))
                return ZK_FAULT;
        parent = preparer_record(preparing->preparer, parent_path);
        if (!parent)
                return ZK_NO_NODE;
        if (!preparing_may(preparing, parent))
                return ZK_NO_AUTH;
        record = preparer_record(preparing->preparer, op->path);
        if (!record)
                return ZK_NO_NODE;
        if (!version_is(record, op->version))
                return ZK_BAD_VERSION;
        if (record->children > 0)
                return ZK_NOT_EMPTY;
        prepare_removal(preparing, op->path, parent_path, g_steal_pointer(&parent), ret);
        return ZK_OK;
}

/* pRequest2Txn, deleteContainer. */
static ZkCode prepare_delete_container(const Preparing *preparing, const ZkOp *op,
                                       TransactionOp *ret) {
        g_autofree char *parent_path = parent_of(op->path);
        _cleanup_record_ ChangeRecord *parent = preparer_record(preparing->preparer, parent_path),
                                      *record = preparer_record(preparing->preparer, op->path);

        if (!parent || !record)
                return ZK_NO_NODE;
        if (record->children > 0)
                return ZK_NOT_EMPTY;
        if (record->owner != 0 && record->owner != CONTAINER_OWNER)
                return ZK_BAD_VERSION;
        prepare_removal(preparing, op->path, parent_path, g_steal_pointer(&parent), ret);
        return ZK_OK;
}

/* pRequest2Txn, setData and check: what both ask first. */
static ZkCode prepare_version(const Preparing *preparing, const ZkOp *op,
                              ChangeRecord **ret_record) {
        if (!data_tree_path_is_valid(op->path))
                return ZK_FAULT;
        *ret_record = preparer_record(preparing->preparer, op->path);
        if (!*ret_record)
                return ZK_NO_NODE;
        if (!preparing_may(preparing, *ret_record))
                return ZK_NO_AUTH;
        return version_is(*ret_record, op->version) ? ZK_OK : ZK_BAD_VERSION;
}

static ZkCode prepare_check(const Preparing *preparing, const ZkOp *op, TransactionOp *ret) {
        _cleanup_record_ ChangeRecord *record = NULL;
        ZkCode code = prepare_version(preparing, op, &record);

        ret->type = TXN_CHECK;
        return code;
}

static ZkCode prepare_set(const Preparing *preparing, const ZkOp *op, TransactionOp *ret) {
        _cleanup_record_ ChangeRecord *record = NULL;
        ZkCode code = prepare_version(preparing, op, &record);

        if (code != ZK_OK)
                return code;
        record->version = (int32_t)((uint32_t)record->version + 1);
        ret->type = TXN_SET;
        ret->version = record->version;
        ret->path = g_strdup(op->path);
        ret->data = g_strdup(op->data);
        preparing_put(preparing, op->path, g_steal_pointer(&record));
        return ZK_OK;
}

static ZkCode prepare_op(const Preparing *preparing, const ZkOp *op, TransactionOp *ret) {
        if (preparing->request->type == REQUEST_DELETE_CONTAINER)
                return prepare_delete_container(preparing, op, ret);
        if (preparing->session != ZK_OK)
                return preparing->session;
        switch (op->type) {
        case ZK_OP_CHECK:
                return prepare_check(preparing, op, ret);
        case ZK_OP_CREATE:
                return prepare_create(preparing, op, ret);
        case ZK_OP_SET:
                return prepare_set(preparing, op, ret);
        case ZK_OP_DELETE:
                return prepare_delete(preparing, op, ret);
        }
        return ZK_FAULT;
}

Transaction *preparer_prepare(Preparer *preparer, const Request *request, ZkCode session,
                              int64_t zxid, int64_t time_ms) {
        Transaction *txn = txn_new(zxid, time_ms, request->n_ops);
        Preparing preparing = {.preparer = preparer,
                               .request = request,
                               .zxid = zxid,
                               .session = session,
                               .undoable = request->type == REQUEST_MULTI};
        ZkCode failed = ZK_OK;

        txn->session = request->session;
        txn->of = request->type;
        txn->xid = request->xid;
        for (size_t i = 0; i < request->n_ops; i++) {
                /* What stands behind the one that failed: "runtime inconsistency". */
                ZkCode code = failed != ZK_OK
                                  ? ZK_UNKNOWN
                                  : prepare_op(&preparing, &request->ops[i], &txn->ops[i]);

                if (code == ZK_OK)
                        continue;
                txn->ops[i].type = TXN_ERROR;
                txn->ops[i].code = code;
                if (failed != ZK_OK)
                        continue;
                failed = code;
                if (preparing.undoable)
                        preparing_roll_back(&preparing);
        }
        return txn;
}

/* What the session will own once all that was decided is done. */
static GPtrArray *preparer_owned(const Preparer *preparer, int64_t session) {
        GPtrArray *paths = data_tree_owned(preparer->tree, session);

        for (const GList *link = preparer->puts.head; link; link = link->next) {
                const Put *put = link->data;
                const ChangeRecord *record = g_hash_table_lookup(preparer->records, put->path);
                guint index;
                bool known =
                    g_ptr_array_find_with_equal_func(paths, put->path, g_str_equal, &index);

                if (record->deleted && known)
                        g_ptr_array_remove_index(paths, index);
                else if (!record->deleted && record->owner == session && !known)
                        g_ptr_array_add(paths, g_strdup(put->path));
        }
        return paths;
}

/* pRequest2Txn, closeSession. The parents' counts of children stay: whoever deletes a parent before
 * this is done is told that it is not empty. */
Transaction *preparer_close_session(Preparer *preparer, int64_t session, int64_t zxid,
                                    int64_t time_ms) {
        const Preparing preparing = {.preparer = preparer, .zxid = zxid};
        g_autoptr(GPtrArray) paths = preparer_owned(preparer, session);
        Transaction *txn = txn_new(zxid, time_ms, paths->len + 1);

        txn->session = session;
        txn->of = REQUEST_CLOSE;
        txn->ops[0].type = TXN_CLOSE_SESSION;
        for (guint i = 0; i < paths->len; i++) {
                g_autofree char *parent_path = parent_of(paths->pdata[i]);
                ChangeRecord *parent = preparer_record(preparer, parent_path);

                if (parent)
                        preparing_put(&preparing, parent_path, parent);
                preparing_put_deleted(&preparing, paths->pdata[i]);
                txn->ops[i + 1].type = TXN_DELETE;
                txn->ops[i + 1].path = g_strdup(paths->pdata[i]);
        }
        return txn;
}

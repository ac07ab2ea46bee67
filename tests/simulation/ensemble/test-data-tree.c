/* Nodes and transactions without servers: what the leader decides, and what comes of it. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "prepare.h"

#define SESSION 7
#define OTHER 8

typedef struct Bench {
        DataTree *tree;
        Preparer *preparer;
        int64_t zxid;
        GPtrArray *decided; /* of Transaction, not done yet */
        const char *identity;
        bool creator_only;
} Bench;

static void bench_begin(Bench *bench) {
        *bench = (Bench){
            .tree = data_tree_new(),
            .decided = g_ptr_array_new_with_free_func((GDestroyNotify)(void (*)(void))txn_unref)};
        bench->preparer = preparer_new(bench->tree);
}

static void bench_end(Bench *bench) {
        g_ptr_array_unref(bench->decided);
        preparer_free(bench->preparer);
        data_tree_free(bench->tree);
}

/* Decides, and leaves it to be done. */
static void bench_decide(Bench *bench, RequestType type, const ZkOp *ops, size_t n_ops,
                         int64_t session) {
        _cleanup_(request_unrefp) Request *request = request_new_write(type, ops, n_ops);

        bench->zxid++;
        request->session = session;
        request->identity = g_strdup(bench->identity);
        request->creator_only = bench->creator_only;
        g_ptr_array_add(bench->decided, preparer_prepare(bench->preparer, request, ZK_OK,
                                                         bench->zxid, 1000 + bench->zxid));
}

/* Does the first that was decided. */
static TransactionResult *bench_do(Bench *bench) {
        _cleanup_(txn_unrefp) Transaction *txn = g_ptr_array_steal_index(bench->decided, 0);
        TransactionResult *result = data_tree_apply(bench->tree, txn, NULL, NULL);

        preparer_done(bench->preparer, txn->zxid);
        return result;
}

static ZkCode bench_ask(Bench *bench, RequestType type, const ZkOp *ops, size_t n_ops) {
        _cleanup_(txn_result_freep) TransactionResult *result = NULL;

        bench_decide(bench, type, ops, n_ops, SESSION);
        result = bench_do(bench);
        return result->code;
}

static ZkCode create(Bench *bench, const char *path, unsigned flags) {
        const ZkOp op = {.type = ZK_OP_CREATE, .path = path, .flags = flags};

        return bench_ask(bench, REQUEST_CREATE, &op, 1);
}

static ZkCode delete (Bench *bench, const char *path, int32_t version) {
        const ZkOp op = {.type = ZK_OP_DELETE, .path = path, .version = version};

        return bench_ask(bench, REQUEST_DELETE, &op, 1);
}

static ZkCode set(Bench *bench, const char *path, int32_t version) {
        const ZkOp op = {.type = ZK_OP_SET, .path = path, .data = "new", .version = version};

        return bench_ask(bench, REQUEST_SET, &op, 1);
}

static ZkStat stat_of(const Bench *bench, const char *path) {
        return tree_node_stat(data_tree_find(bench->tree, path));
}

Test(data_tree, a_node_knows_who_made_and_changed_it) {
        Bench bench;
        ZkStat stat;

        bench_begin(&bench);
        cr_assert_eq(create(&bench, "/a", 0), ZK_OK);
        cr_assert_eq(create(&bench, "/a/b", ZK_CREATE_EPHEMERAL), ZK_OK);
        cr_assert_eq(set(&bench, "/a", 0), ZK_OK);
        stat = stat_of(&bench, "/a");
        cr_assert_eq(stat.czxid, 1);
        cr_assert_eq(stat.pzxid, 2);
        cr_assert_eq(stat.mzxid, 3);
        cr_assert_eq(stat.ctime_ms, 1001);
        cr_assert_eq(stat.mtime_ms, 1003);
        cr_assert_eq(stat.version, 1);
        cr_assert_eq(stat.cversion, 1);
        cr_assert_eq(stat.num_children, 1);
        cr_assert_eq(stat.data_length, 3);
        cr_assert_eq(stat_of(&bench, "/a/b").ephemeral_owner, SESSION);
        cr_assert_eq(delete (&bench, "/a/b", 0), ZK_OK);
        cr_assert_eq(stat_of(&bench, "/a").cversion, 2, "a creation and a deletion");
        cr_assert_eq(stat_of(&bench, "/a").pzxid, 4);
        bench_end(&bench);
}

Test(data_tree, what_may_not_be_done_is_refused_and_a_transaction_all_the_same) {
        Bench bench;

        bench_begin(&bench);
        cr_assert_eq(create(&bench, "/a", ZK_CREATE_EPHEMERAL), ZK_OK);
        cr_assert_eq(create(&bench, "/a", 0), ZK_NODE_EXISTS);
        cr_assert_eq(create(&bench, "/a/b", 0), ZK_NO_CHILDREN_FOR_EPHEMERALS);
        cr_assert_eq(create(&bench, "/b/c", 0), ZK_NO_NODE);
        cr_assert_eq(create(&bench, "/b//c", 0), ZK_NO_NODE, "its parent is asked for first");
        cr_assert_eq(create(&bench, "/.", 0), ZK_FAULT);
        cr_assert_eq(set(&bench, "/a", 1), ZK_BAD_VERSION);
        cr_assert_eq(set(&bench, "/b", -1), ZK_NO_NODE);
        cr_assert_eq(delete (&bench, "/a", 1), ZK_BAD_VERSION);
        cr_assert_eq(delete (&bench, "/", -1), ZK_FAULT);
        cr_assert_eq(delete (&bench, "/zookeeper", -1), ZK_FAULT);
        cr_assert_eq(create(&bench, "/c", 0), ZK_OK);
        cr_assert_eq(create(&bench, "/c/d", 0), ZK_OK);
        cr_assert_eq(delete (&bench, "/c", -1), ZK_NOT_EMPTY);
        cr_assert_eq(data_tree_zxid(bench.tree), 14);
        bench_end(&bench);
}

Test(data_tree, sequence_numbers_count_creations) {
        Bench bench;

        bench_begin(&bench);
        cr_assert_eq(create(&bench, "/d", 0), ZK_OK);
        cr_assert_eq(create(&bench, "/d/n-", ZK_CREATE_SEQUENTIAL), ZK_OK);
        cr_assert_eq(create(&bench, "/d/plain", 0), ZK_OK);
        cr_assert_eq(delete (&bench, "/d/n-0000000000", -1), ZK_OK);
        cr_assert_eq(create(&bench, "/d/n-", ZK_CREATE_SEQUENTIAL), ZK_OK);
        cr_assert_not_null(data_tree_find(bench.tree, "/d/n-0000000002"));
        bench_end(&bench);
}

Test(data_tree, sequence_numbers_stand_still_past_their_end) {
        TreeNode *node;
        Bench bench;

        bench_begin(&bench);
        cr_assert_eq(create(&bench, "/d", 0), ZK_OK);
        node = (TreeNode *)data_tree_find(bench.tree, "/d");
        node->creations = INT32_MAX;
        cr_assert_eq(create(&bench, "/d/n-", ZK_CREATE_SEQUENTIAL), ZK_OK);
        cr_assert_not_null(data_tree_find(bench.tree, "/d/n-2147483647"));
        cr_assert_eq(create(&bench, "/d/n-", ZK_CREATE_SEQUENTIAL), ZK_NODE_EXISTS);
        bench_end(&bench);
}

Test(data_tree, a_multi_is_all_or_nothing) {
        const ZkOp good[] = {
            {.type = ZK_OP_CREATE, .path = "/m"},
            {.type = ZK_OP_CREATE, .path = "/m/n"},
            {.type = ZK_OP_SET, .path = "/m", .data = "x", .version = 0},
            {.type = ZK_OP_CHECK, .path = "/m", .version = 1},
            {.type = ZK_OP_DELETE, .path = "/m/n", .version = -1},
        };
        const ZkOp bad[] = {
            {.type = ZK_OP_DELETE, .path = "/m", .version = -1},
            {.type = ZK_OP_SET, .path = "/m", .data = "y", .version = -1},
            {.type = ZK_OP_CREATE, .path = "/o"},
        };
        _cleanup_(txn_result_freep) TransactionResult *done = NULL, *failed = NULL, *last = NULL;
        Bench bench;

        bench_begin(&bench);
        bench_decide(&bench, REQUEST_MULTI, good, G_N_ELEMENTS(good), SESSION);
        bench_decide(&bench, REQUEST_MULTI, bad, G_N_ELEMENTS(bad), SESSION);
        bench_decide(&bench, REQUEST_SET, &good[2], 1, SESSION);
        done = bench_do(&bench);
        cr_assert_eq(done->code, ZK_OK);
        cr_assert_eq(done->n_results, G_N_ELEMENTS(good));
        cr_assert_eq(done->results[2].stat.mzxid, 1);
        failed = bench_do(&bench);
        cr_assert_eq(failed->code, ZK_NO_NODE);
        cr_assert_eq(failed->results[0].code, ZK_OK);
        cr_assert_eq(failed->results[1].code, ZK_NO_NODE);
        cr_assert_eq(failed->results[2].code, ZK_UNKNOWN);
        cr_assert_eq(stat_of(&bench, "/m").version, 1, "decided before it was done");
        last = bench_do(&bench);
        cr_assert_eq(last->code, ZK_BAD_VERSION, "in view of both that were decided before");
        bench_end(&bench);
}

Test(data_tree, a_session_takes_with_it_what_it_owns) {
        const ZkOp mine = {.type = ZK_OP_CREATE, .path = "/d/late", .flags = ZK_CREATE_EPHEMERAL};
        const ZkOp theirs = {.type = ZK_OP_CREATE, .path = "/d/x", .flags = ZK_CREATE_EPHEMERAL};
        const ZkOp parent = {.type = ZK_OP_DELETE, .path = "/d", .version = -1};
        _cleanup_(txn_unrefp) Transaction *close = NULL;
        _cleanup_(txn_result_freep) TransactionResult *result = NULL;
        Bench bench;

        bench_begin(&bench);
        cr_assert_eq(create(&bench, "/d", 0), ZK_OK);
        cr_assert_eq(create(&bench, "/d/a", ZK_CREATE_EPHEMERAL), ZK_OK);
        bench_decide(&bench, REQUEST_CREATE, &theirs, 1, OTHER);
        bench_decide(&bench, REQUEST_CREATE, &mine, 1, SESSION); /* under way */
        close = preparer_close_session(bench.preparer, SESSION, ++bench.zxid, 2000);
        txn_result_free(bench_do(&bench));
        txn_result_free(bench_do(&bench));
        bench_decide(&bench, REQUEST_DELETE, &parent, 1, OTHER);
        result = data_tree_apply(bench.tree, close, NULL, NULL);
        cr_assert_eq(result->code, ZK_OK);
        cr_assert_null(data_tree_find(bench.tree, "/d/a"));
        cr_assert_null(data_tree_find(bench.tree, "/d/late"));
        cr_assert_not_null(data_tree_find(bench.tree, "/d/x"));
        cr_assert_eq(stat_of(&bench, "/d").num_children, 1);
        bench_end(&bench);
}

Test(data_tree, only_its_creator_may_touch_a_closed_node) {
        Bench bench;

        bench_begin(&bench);
        bench.creator_only = true;
        cr_assert_eq(create(&bench, "/mine", 0), ZK_FAULT, "nobody proved to be anybody");
        bench.identity = "alice:hash";
        cr_assert_eq(create(&bench, "/mine", 0), ZK_OK);
        cr_assert_eq(set(&bench, "/mine", -1), ZK_OK);
        bench.identity = "bob:hash";
        cr_assert_eq(set(&bench, "/mine", -1), ZK_NO_AUTH);
        cr_assert_eq(create(&bench, "/mine/x", 0), ZK_NO_AUTH);
        cr_assert_eq(delete (&bench, "/mine", -1), ZK_OK, "that is the parent's to permit");
        bench_end(&bench);
}

Test(data_tree, an_empty_container_is_one_that_had_a_child) {
        g_autoptr(GPtrArray) before = NULL, after = NULL;
        Bench bench;

        bench_begin(&bench);
        cr_assert_eq(create(&bench, "/box", ZK_CREATE_CONTAINER), ZK_OK);
        before = data_tree_empty_containers(bench.tree);
        cr_assert_eq(before->len, 0);
        cr_assert_eq(create(&bench, "/box/x", 0), ZK_OK);
        cr_assert_eq(delete (&bench, "/box/x", -1), ZK_OK);
        after = data_tree_empty_containers(bench.tree);
        cr_assert_eq(after->len, 1);
        cr_assert_str_eq(after->pdata[0], "/box");
        cr_assert_eq(stat_of(&bench, "/box").ephemeral_owner, 0);
        bench_end(&bench);
}

Test(data_tree, a_copy_is_the_same) {
        g_autoptr(GPtrArray) owned = NULL;
        DataTree *copy;
        Bench bench;

        bench_begin(&bench);
        cr_assert_eq(create(&bench, "/a", 0), ZK_OK);
        cr_assert_eq(create(&bench, "/a/b", ZK_CREATE_EPHEMERAL), ZK_OK);
        copy = data_tree_copy(bench.tree);
        cr_assert_eq(data_tree_count(copy), data_tree_count(bench.tree));
        cr_assert_eq(tree_node_stat(data_tree_find(copy, "/a")).num_children, 1);
        owned = data_tree_owned(copy, SESSION);
        cr_assert_eq(owned->len, 1);
        data_tree_free(copy);
        bench_end(&bench);
}

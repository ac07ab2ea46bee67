/* See zk-ops.h. */
#include "zk-ops.h"

GArray *zk_ops_new(void) {
        return g_array_new(FALSE, TRUE, sizeof(ZkOp));
}

void zk_ops_add(GArray *ops, ZkOpType type, const char *path, const char *data, int32_t version) {
        ZkOp op = {.type = type, .path = path, .data = data, .version = version};

        g_array_append_val(ops, op);
}

int zk_ops_send(const GArray *ops, Zk *zk, ZkReplyFunc func, void *userdata, ZkCall **ret_call) {
        return zk_multi(zk, (const ZkOp *)(void *)ops->data, ops->len, func, userdata, ret_call);
}

bool zk_ops_failed_at(const ZkReply *reply, guint op) {
        return op < reply->n_results && reply->results[op].code == reply->code;
}

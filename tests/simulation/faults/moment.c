/* See moment.h: what a request is for, by the paths in it. */
#include "moment.h"

#include <string.h>

#define ROOT "/jobkeeper"

static bool op_is(const ZkOp *op, ZkOpType type, const char *head) {
        return op->type == type && g_str_has_prefix(op->path, head);
}

static Moment moment_of_op(const char *node, const ZkOp *op) {
        const char *open = ROOT "/open/";

        if (op_is(op, ZK_OP_CREATE, open))
                return MOMENT_CLAIM;
        if (op_is(op, ZK_OP_DELETE, open))
                return strncmp(op->path + strlen(open), node, strlen(node)) == 0 ? MOMENT_SETTLE
                                                                                 : MOMENT_ORPHAN;
        return MOMENT_NONE;
}

static Moment moment_of_write(const char *node, const Request *request) {
        const ZkOp *first = request->ops;

        for (size_t i = 0; i < request->n_ops; i++) {
                Moment moment = moment_of_op(node, &request->ops[i]);

                if (moment != MOMENT_NONE)
                        return moment;
        }
        if (request->n_ops == 0)
                return MOMENT_NONE;
        if (op_is(first, ZK_OP_CREATE, ROOT "/locks/") && (first->flags & ZK_CREATE_SEQUENTIAL))
                return MOMENT_QUEUE;
        if (op_is(first, ZK_OP_DELETE, ROOT "/locks/"))
                return MOMENT_LEAVE;
        return op_is(first, ZK_OP_SET, ROOT "/jobs/") ? MOMENT_LEDGER : MOMENT_NONE;
}

Moment moment_of(const char *node, const Request *request) {
        if (request->type == REQUEST_CONNECT)
                return request->session != 0 ? MOMENT_ATTACH : MOMENT_NONE;
        if (request->type == REQUEST_GET)
                return request->watch && g_str_has_prefix(request->path, ROOT "/locks/")
                           ? MOMENT_WATCH
                           : MOMENT_NONE;
        if (request->type == REQUEST_SYNC)
                return g_str_has_prefix(request->path, ROOT "/jobs/") ? MOMENT_READ : MOMENT_NONE;
        return request_is_write(request) ? moment_of_write(node, request) : MOMENT_NONE;
}

const char *moment_to_string(Moment moment) {
        static const char *const words[MOMENTS] = {
            "nothing",
            "attaches to a session",
            "queues",
            "watches a queue",
            "claims",
            "settles",
            "settles for another",
            "leaves a queue",
            "writes a ledger",
            "reads it again",
        };

        return words[moment];
}

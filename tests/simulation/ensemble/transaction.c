/* See transaction.h. */
#include "transaction.h"

#include <string.h>

/* Lengths, the header, the ACL: what a request costs beside its strings, about. */
#define OP_BYTES 60

Request *request_new(RequestType type, const char *path) {
        Request *request = g_new0(Request, 1);

        request->refs = 1;
        request->type = type;
        request->path = g_strdup(path);
        return request;
}

Request *request_new_write(RequestType type, const ZkOp *ops, size_t n_ops) {
        Request *request = request_new(type, NULL);

        request->ops = g_memdup2(ops, n_ops * sizeof(*ops));
        request->n_ops = n_ops;
        for (size_t i = 0; i < n_ops; i++) {
                request->ops[i].path = g_strdup(ops[i].path);
                request->ops[i].data = g_strdup(ops[i].data);
        }
        return request;
}

Request *request_ref(Request *request) {
        request->refs++;
        return request;
}

Request *request_unref(Request *request) {
        if (!request || --request->refs > 0)
                return NULL;
        for (size_t i = 0; i < request->n_ops; i++) {
                g_free((char *)request->ops[i].path);
                g_free((char *)request->ops[i].data);
        }
        for (size_t i = 0; i < WATCH_KINDS; i++)
                if (request->watches[i])
                        g_ptr_array_unref(request->watches[i]);
        g_free(request->ops);
        g_free(request->path);
        g_free(request->identity);
        g_free(request);
        return NULL;
}

bool request_is_write(const Request *request) {
        switch (request->type) {
        case REQUEST_CREATE:
        case REQUEST_DELETE:
        case REQUEST_SET:
        case REQUEST_MULTI:
        case REQUEST_CLOSE:
        case REQUEST_DELETE_CONTAINER:
                return true;
        default:
                return false;
        }
}

static size_t text_size(const char *text) {
        return text ? strlen(text) : 0;
}

size_t request_size(const Request *request) {
        size_t size = OP_BYTES + text_size(request->path);

        for (size_t i = 0; i < request->n_ops; i++)
                size +=
                    OP_BYTES + text_size(request->ops[i].path) + text_size(request->ops[i].data);
        for (size_t kind = 0; kind < WATCH_KINDS; kind++)
                for (guint i = 0; request->watches[kind] && i < request->watches[kind]->len; i++)
                        size += 4 + text_size(request->watches[kind]->pdata[i]);
        return size;
}

Transaction *txn_new(int64_t zxid, int64_t time_ms, size_t n_ops) {
        Transaction *txn = g_new0(Transaction, 1);

        txn->refs = 1;
        txn->zxid = zxid;
        txn->time_ms = time_ms;
        txn->ops = g_new0(TransactionOp, n_ops);
        txn->n_ops = n_ops;
        return txn;
}

Transaction *txn_ref(Transaction *txn) {
        txn->refs++;
        return txn;
}

Transaction *txn_unref(Transaction *txn) {
        if (!txn || --txn->refs > 0)
                return NULL;
        for (size_t i = 0; i < txn->n_ops; i++) {
                g_free(txn->ops[i].path);
                g_free(txn->ops[i].data);
                g_free(txn->ops[i].acl);
        }
        g_free(txn->ops);
        g_free(txn);
        return NULL;
}

TransactionResult *txn_result_free(TransactionResult *result) {
        if (!result)
                return NULL;
        g_free(result->results);
        g_free(result);
        return NULL;
}

/* Requests: each is one call into the library with a ZkCall as its context, and one completion that
 * copies the answer into the queue.
 *
 * In the books from before it is sent (the answer may arrive on the other thread at once) until the
 * library has answered, it is also what "pending" means: closing the port answers whatever is left
 * there with ZK_CLOSED, in order.
 */
#include <errno.h>
#include <string.h>

#include "zk-request.h"

/* What an answer that cannot be read says: as much as one that was lost. */
#define ANSWER_DAMAGED ZCONNECTIONLOSS
/* So much of whom an ACL names is shown. */
#define ACL_ID_MAX 100

struct ZkCall {
        gint refs;
        bool owned;    /* the owner has not freed it, nor has it been answered */
        bool answered; /* the owner has been called back or has lost interest: only the library
                          still knows it */
        const ZkRequests *requests; /* weak: for the library's thread */
        GList *link;                /* in the requests' calls */
        ZkReplyFunc func;           /* NULL once nobody waits */
        void *userdata;
        ZkWatched *watched;   /* what this request arms, in the books at least until the answer */
        ZkWatch *watch;       /* for whom; a reference */
        bool watch_if_absent; /* exists: the watch is set also when there is no such node */
        usec_t sent, sent_realtime;

        size_t n_ops; /* multi: the library writes the results here before it answers */
        zoo_op_result_t *op_results;
        struct Stat *op_stats;
};

ZkRequests *zk_requests(Zk *zk) {
        return (ZkRequests *)(void *)zk;
}

static ZkCall *call_unref(ZkCall *call) {
        if (!call || !g_atomic_int_dec_and_test(&call->refs))
                return NULL;
        (void)zk_watch_unref(call->watch);
        g_free(call->op_results);
        g_free(call->op_stats);
        g_free(call);
        return NULL;
}

ZkCall *zk_call_free(ZkCall *call) {
        if (!call || !call->owned)
                return NULL;
        call->owned = false;
        call->answered = true;
        call->func = NULL;
        return call_unref(call);
}

ZkCode zk_code_from_error(int error) {
        switch (error) {
        case ZOK:
                return ZK_OK;
        case ZNONODE:
                return ZK_NO_NODE;
        case ZNODEEXISTS:
                return ZK_NODE_EXISTS;
        case ZBADVERSION:
                return ZK_BAD_VERSION;
        case ZNOTEMPTY:
                return ZK_NOT_EMPTY;
        case ZNOAUTH:
                return ZK_NO_AUTH;
        case ZNOCHILDRENFOREPHEMERALS:
                return ZK_NO_CHILDREN_FOR_EPHEMERALS;
        case ZUNIMPLEMENTED:
                return ZK_UNIMPLEMENTED;
        case ZCONNECTIONLOSS:
        case ZOPERATIONTIMEOUT:
        case ZRUNTIMEINCONSISTENCY:
        /* Not done, but worth another try, which is what "unknown" leads to. */
        case ZSESSIONMOVED:
        case ZNOTREADONLY:
        case ZTHROTTLEDOP:
                return ZK_UNKNOWN;
        case ZCLOSING:
        case ZINVALIDSTATE:
        case ZSESSIONEXPIRED:
        case ZAUTHFAILED:
        case ZSESSIONCLOSEDREQUIRESASLAUTH:
                return ZK_CLOSED;
        default:
                return ZK_FAULT;
        }
}

const char *zk_code_to_string(ZkCode code) {
        static const char *const words[] = {
            [ZK_OK] = "done",
            [ZK_NO_NODE] = "no such node",
            [ZK_NODE_EXISTS] = "node exists",
            [ZK_BAD_VERSION] = "version changed",
            [ZK_NOT_EMPTY] = "node has children",
            [ZK_NO_AUTH] = "not permitted",
            [ZK_NO_CHILDREN_FOR_EPHEMERALS] = "ephemeral nodes have no children",
            [ZK_ROLLED_BACK] = "rolled back",
            [ZK_UNKNOWN] = "outcome unknown",
            [ZK_CLOSED] = "session over",
            [ZK_UNIMPLEMENTED] = "not supported by the server",
            [ZK_FAULT] = "fault",
        };

        return (size_t)code < G_N_ELEMENTS(words) ? words[code] : "?";
}

/* The results of a multi, as the library left them in the call. When it failed, the server calls
 * what stands before the culprit "OK" and what stands behind it "runtime inconsistency": both were
 * fine and are undone. */
static ZkOpResult *call_results_new(const ZkCall *call, ZkCode code) {
        ZkOpResult *results = g_new0(ZkOpResult, call->n_ops);

        for (size_t i = 0; i < call->n_ops; i++) {
                int error = call->op_results[i].err;
                bool fine = error == ZOK || error == ZRUNTIMEINCONSISTENCY;

                if (code == ZK_OK || code == ZK_UNKNOWN || code == ZK_CLOSED)
                        results[i].code = code;
                else
                        results[i].code = fine ? ZK_ROLLED_BACK : zk_code_from_error(error);
                if (code == ZK_OK && call->op_results[i].stat)
                        zk_stat_copy(call->op_results[i].stat, &results[i].stat);
        }
        return results;
}

/* The library's last word on the watch that travelled with a request. */
static void call_settle_watch(ZkRequests *requests, ZkCall *call, ZkCode code) {
        bool set = code == ZK_OK || (code == ZK_NO_NODE && call->watch_if_absent);

        if (call->watched)
                zk_watch_settle(&requests->watches, call->watched, call->watch, set);
        call->watched = NULL;
}

/* Calls back, unless nobody waits any more. The caller holds a reference to the call. */
static void call_tell(ZkCall *call, const ZkReply *reply) {
        ZkReplyFunc func = call->func;

        call->answered = true;
        call->func = NULL;
        if (func)
                func(reply, call->userdata);
        (void)zk_call_free(call); /* its owner's reference */
}

void zk_call_answer(ZkRequests *requests, const ZkItem *item) {
        ZkCall *call = item->call;
        ZkCode code = zk_code_from_error(item->code);
        g_autofree ZkOpResult *results = NULL;

        g_queue_delete_link(&requests->calls, call->link);
        call->link = NULL;
        call_settle_watch(requests, call, code);

        if (!call->answered) {
                if (call->n_ops > 0)
                        results = call_results_new(call, code);
                call_tell(call, &(ZkReply){
                                    .code = code,
                                    .path = item->text,
                                    .data = item->data,
                                    .data_size = item->data_size,
                                    .children = (const char *const *)item->children,
                                    .n_children = item->n_children,
                                    .others = item->others,
                                    .stat = item->stat,
                                    .results = results,
                                    .n_results = call->n_ops,
                                    .sent = call->sent,
                                    .sent_realtime = call->sent_realtime,
                                });
        }
        (void)call_unref(call); /* the books' */
}

/* Return: newly allocated, how the servers write whom "USER:PASSWORD" proves; NULL for NULL. */
static char *requests_identity(const char *auth) {
        gsize size = 20; /* SHA-1's */
        guint8 digest[20];
        GChecksum *checksum;
        g_autofree char *hash = NULL;

        if (!auth)
                return NULL;
        checksum = g_checksum_new(G_CHECKSUM_SHA1);
        g_checksum_update(checksum, (const guchar *)auth, (gssize)strlen(auth));
        g_checksum_get_digest(checksum, digest, &size);
        g_checksum_free(checksum);
        hash = g_base64_encode(digest, size);
        return g_strdup_printf("%.*s:%s", (int)strcspn(auth, ":"), auth, hash);
}

void zk_requests_init(ZkRequests *requests, ZkQueue *queue, const char *auth) {
        requests->identity = requests_identity(auth);
        requests->queue = queue;
        zk_watches_init(&requests->watches, queue);
        g_queue_init(&requests->calls);
}

void zk_requests_clear(ZkRequests *requests) {
        ZkCall *call;

        while ((call = g_queue_pop_head(&requests->calls)))
                (void)call_unref(call);
        zk_watches_clear(&requests->watches);
        g_free(requests->identity);
}

void zk_requests_drain(ZkRequests *requests) {
        g_autoptr(GPtrArray) pending = g_ptr_array_new();

        for (GList *link = requests->calls.head; link; link = link->next) {
                ZkCall *call = link->data;

                g_atomic_int_inc(&call->refs);
                g_ptr_array_add(pending, call);
        }
        for (guint i = 0; i < pending->len; i++) {
                ZkCall *call = pending->pdata[i];

                if (!requests->queue->freed && !call->answered)
                        call_tell(call, &(ZkReply){
                                            .code = ZK_CLOSED,
                                            .n_results = 0,
                                            .sent = call->sent,
                                            .sent_realtime = call->sent_realtime,
                                        });
                (void)call_unref(call);
        }
}

static ZkCall *call_begin(ZkRequests *requests, ZkReplyFunc func, void *userdata, bool owned) {
        ZkCall *call = g_new0(ZkCall, 1);

        call->refs = owned ? 2 : 1;
        call->owned = owned;
        call->requests = requests;
        call->func = func;
        call->userdata = userdata;
        g_queue_push_tail(&requests->calls, call);
        call->link = requests->calls.tail;

        zk_queue_expect(requests->queue);
        call->sent_realtime = clock_realtime();
        call->sent = clock_boottime();
        return call;
}

static int call_errno(int error) {
        switch (zk_code_from_error(error)) {
        case ZK_CLOSED:
                return -ENOTCONN;
        case ZK_FAULT:
                return error == ZBADARGUMENTS ? -EINVAL : -EIO;
        default:
                return -EIO;
        }
}

/* Takes the call back when the library refused it, else hands it to its owner. */
static int call_end(ZkRequests *requests, ZkCall *call, int error, ZkCall **ret_call,
                    ZkWatch **ret_watch) {
        if (error == ZOK) {
                if (ret_call)
                        *ret_call = call;
                if (ret_watch)
                        *ret_watch = call->watch;
                return 0;
        }

        zk_queue_unexpect(requests->queue);
        if (call->watched)
                zk_watch_settle(&requests->watches, g_steal_pointer(&call->watched), call->watch,
                                false);
        (void)zk_watch_free(call->watch); /* its owner has not got it */
        g_queue_delete_link(&requests->calls, call->link);
        (void)zk_call_free(call);
        (void)call_unref(call);
        return call_errno(error);
}

/* Completions, on the library's thread. */

static ZkItem *call_item_new(int rc, const void *data) {
        ZkItem *item = zk_item_new(ZK_ITEM_REPLY);

        item->code = rc;
        item->call = (ZkCall *)data;
        return item;
}

static void call_post(ZkItem *item) {
        zk_post(item->call->requests->queue, item);
}

static void call_on_void(int rc, const void *data) {
        call_post(call_item_new(rc, data));
}

static void call_on_string(int rc, const char *value, const void *data) {
        call_post(call_item_new(rc, data));
}

static void call_on_string_stat(int rc, const char *string, const struct Stat *stat,
                                const void *data) {
        ZkItem *item = call_item_new(rc, data);

        item->text = g_strdup(string);
        if (stat)
                zk_stat_copy(stat, &item->stat);
        call_post(item);
}

static void call_on_stat(int rc, const struct Stat *stat, const void *data) {
        ZkItem *item = call_item_new(rc, data);

        if (stat)
                zk_stat_copy(stat, &item->stat);
        call_post(item);
}

static void call_on_data(int rc, const char *value, int value_len, const struct Stat *stat,
                         const void *data) {
        ZkItem *item = call_item_new(rc, data);

        if (rc == ZOK) {
                item->data_size = value && value_len > 0 ? (size_t)value_len : 0;
                item->data = g_malloc0(item->data_size + 1);
                if (item->data_size > 0)
                        memcpy(item->data, value, item->data_size);
        }
        if (stat)
                zk_stat_copy(stat, &item->stat);
        call_post(item);
}

/* The library hands on what it made of an answer, also when it could not read it to its end: names
 * are missing then. No server says such a thing; whoever does in its place is not believed, and the
 * question is asked again. */
static bool children_are_whole(const struct String_vector *strings) {
        if (!strings || strings->count < 0 || (strings->count > 0 && !strings->data))
                return false;
        for (int32_t i = 0; i < strings->count; i++)
                if (!strings->data[i])
                        return false;
        return true;
}

/* Likewise. */
static bool acl_is_whole(const struct ACL_vector *acl) {
        if (!acl || acl->count < 0 || (acl->count > 0 && !acl->data))
                return false;
        for (int32_t i = 0; i < acl->count; i++)
                if (!acl->data[i].id.scheme || !acl->data[i].id.id)
                        return false;
        return true;
}

static void call_on_children(int rc, const struct String_vector *strings, const struct Stat *stat,
                             const void *data) {
        ZkItem *item = call_item_new(rc, data);

        if (rc == ZOK && !children_are_whole(strings)) {
                item->code = ANSWER_DAMAGED;
        } else if (rc == ZOK) {
                item->n_children = (size_t)strings->count;
                item->children = g_new0(char *, item->n_children + 1);
                for (size_t i = 0; i < item->n_children; i++)
                        item->children[i] = g_strdup(strings->data[i]);
        }
        if (stat)
                zk_stat_copy(stat, &item->stat);
        call_post(item);
}

/* Return: whether it may stand in a sentence, and in a command that people are told to type. */
static bool acl_is_readable(const char *text) {
        return strspn(text, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "-_.@/:=,") == strlen(text);
}

/* Whom an entry of an ACL lets in, for people. A digest's hash is nobody's business. What is not
 * plain was put there to be read as something else. */
static void acl_append_other(GString *others, const struct Id *id) {
        const char *colon = strcmp(id->scheme, "digest") == 0 ? strchr(id->id, ':') : NULL;
        g_autofree char *name = g_strndup(id->id, colon ? (size_t)(colon - id->id) : ACL_ID_MAX);

        if (others->len > 0)
                g_string_append(others, ", ");
        if (acl_is_readable(id->scheme) && acl_is_readable(name) && strlen(name) < ACL_ID_MAX)
                g_string_append_printf(others, "%s:%s", id->scheme, name);
        else
                g_string_append(others, "somebody (unreadable id)");
}

static bool acl_entry_is_ours(const ZkRequests *requests, const struct Id *id) {
        return requests->identity && strcmp(id->scheme, "digest") == 0 &&
               strcmp(id->id, requests->identity) == 0;
}

static void call_on_acl(int rc, struct ACL_vector *acl, struct Stat *stat, const void *data) {
        const int change = ZOO_PERM_ALL & ~ZOO_PERM_READ;
        g_autoptr(GString) others = g_string_new(NULL);
        ZkItem *item = call_item_new(rc, data);

        if (rc == ZOK && !acl_is_whole(acl))
                item->code = rc = ANSWER_DAMAGED;
        for (int32_t i = 0; rc == ZOK && i < acl->count; i++)
                if ((acl->data[i].perms & change) &&
                    !acl_entry_is_ours(item->call->requests, &acl->data[i].id))
                        acl_append_other(others, &acl->data[i].id);
        item->others = g_string_free(g_steal_pointer(&others), FALSE);
        if (stat)
                zk_stat_copy(stat, &item->stat);
        call_post(item);
}

/* The requests themselves. */

static int op_data_length(const char *data) {
        return data ? (int)strlen(data) : -1;
}

static int op_create_mode(unsigned flags, int *ret_mode) {
        switch (flags) {
        case 0:
                *ret_mode = ZOO_PERSISTENT;
                return 0;
        case ZK_CREATE_EPHEMERAL:
                *ret_mode = ZOO_EPHEMERAL;
                return 0;
        case ZK_CREATE_SEQUENTIAL:
                *ret_mode = ZOO_PERSISTENT_SEQUENTIAL;
                return 0;
        case ZK_CREATE_EPHEMERAL | ZK_CREATE_SEQUENTIAL:
                *ret_mode = ZOO_EPHEMERAL_SEQUENTIAL;
                return 0;
        case ZK_CREATE_CONTAINER:
                *ret_mode = ZOO_CONTAINER;
                return 0;
        default:
                return -EINVAL;
        }
}

/* Who may do what with a node of ours: everybody, or who knows the same secret. */
static const struct ACL_vector *requests_acl(const ZkRequests *requests) {
        return requests->identity ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE;
}

static bool requests_go(const ZkRequests *requests) {
        return requests && !requests->queue->over && requests->handle;
}

int zk_create(Zk *zk, const char *path, const char *data, unsigned flags, ZkReplyFunc func,
              void *userdata, ZkCall **ret_call) {
        ZkRequests *requests = zk_requests(zk);
        ZkCall *call;
        int mode, r;

        r = op_create_mode(flags, &mode);
        if (r < 0)
                return r;
        if (!requests_go(requests))
                return -ENOTCONN;
        call = call_begin(requests, func, userdata, ret_call != NULL);
        r = zoo_acreate2(requests->handle, path, data, op_data_length(data), requests_acl(requests),
                         mode, call_on_string_stat, call);
        return call_end(requests, call, r, ret_call, NULL);
}

int zk_delete(Zk *zk, const char *path, int32_t version, ZkReplyFunc func, void *userdata,
              ZkCall **ret_call) {
        ZkRequests *requests = zk_requests(zk);
        ZkCall *call;

        if (!requests_go(requests))
                return -ENOTCONN;
        call = call_begin(requests, func, userdata, ret_call != NULL);
        return call_end(requests, call,
                        zoo_adelete(requests->handle, path, version, call_on_void, call), ret_call,
                        NULL);
}

int zk_set(Zk *zk, const char *path, const char *data, int32_t version, ZkReplyFunc func,
           void *userdata, ZkCall **ret_call) {
        ZkRequests *requests = zk_requests(zk);
        ZkCall *call;
        int r;

        if (!requests_go(requests))
                return -ENOTCONN;
        call = call_begin(requests, func, userdata, ret_call != NULL);
        r = zoo_aset(requests->handle, path, data, op_data_length(data), version, call_on_stat,
                     call);
        return call_end(requests, call, r, ret_call, NULL);
}

int zk_sync(Zk *zk, const char *path, ZkReplyFunc func, void *userdata, ZkCall **ret_call) {
        ZkRequests *requests = zk_requests(zk);
        ZkCall *call;

        if (!requests_go(requests))
                return -ENOTCONN;
        call = call_begin(requests, func, userdata, ret_call != NULL);
        return call_end(requests, call, zoo_async(requests->handle, path, call_on_string, call),
                        ret_call, NULL);
}

/* Begins a request that may set a watch of this kind (a letter, see zk_watch_new()). */
static int call_begin_watch(ZkRequests *requests, char kind, const char *path, ZkReplyFunc func,
                            void *userdata, bool owned, ZkWatchFunc watch_func,
                            void *watch_userdata, bool with_watch, ZkCall **ret_call) {
        ZkWatch *watch = NULL;
        int r;

        if (!requests_go(requests))
                return -ENOTCONN;
        if (with_watch) {
                r = zk_watch_new(&requests->watches, kind, path, watch_func, watch_userdata,
                                 &watch);
                if (r < 0)
                        return r;
        }
        *ret_call = call_begin(requests, func, userdata, owned);
        (*ret_call)->watch = watch;
        (*ret_call)->watched = watch ? watch->watched : NULL;
        return 0;
}

int zk_get(Zk *zk, const char *path, ZkReplyFunc func, void *userdata, ZkCall **ret_call,
           ZkWatchFunc watch_func, void *watch_userdata, ZkWatch **ret_watch) {
        ZkRequests *requests = zk_requests(zk);
        ZkCall *call;
        int r;

        r = call_begin_watch(requests, 'd', path, func, userdata, ret_call != NULL, watch_func,
                             watch_userdata, ret_watch != NULL, &call);
        if (r < 0)
                return r;
        r = zoo_awget(requests->handle, path, call->watched ? zk_on_watch : NULL, call->watched,
                      call_on_data, call);
        return call_end(requests, call, r, ret_call, ret_watch);
}

int zk_exists(Zk *zk, const char *path, ZkReplyFunc func, void *userdata, ZkCall **ret_call,
              ZkWatchFunc watch_func, void *watch_userdata, ZkWatch **ret_watch) {
        ZkRequests *requests = zk_requests(zk);
        ZkCall *call;
        int r;

        r = call_begin_watch(requests, 'e', path, func, userdata, ret_call != NULL, watch_func,
                             watch_userdata, ret_watch != NULL, &call);
        if (r < 0)
                return r;
        call->watch_if_absent = true;
        r = zoo_awexists(requests->handle, path, call->watched ? zk_on_watch : NULL, call->watched,
                         call_on_stat, call);
        return call_end(requests, call, r, ret_call, ret_watch);
}

int zk_get_children(Zk *zk, const char *path, ZkReplyFunc func, void *userdata, ZkCall **ret_call,
                    ZkWatchFunc watch_func, void *watch_userdata, ZkWatch **ret_watch) {
        ZkRequests *requests = zk_requests(zk);
        ZkCall *call;
        int r;

        r = call_begin_watch(requests, 'c', path, func, userdata, ret_call != NULL, watch_func,
                             watch_userdata, ret_watch != NULL, &call);
        if (r < 0)
                return r;
        r = zoo_awget_children2(requests->handle, path, call->watched ? zk_on_watch : NULL,
                                call->watched, call_on_children, call);
        return call_end(requests, call, r, ret_call, ret_watch);
}

int zk_get_acl(Zk *zk, const char *path, ZkReplyFunc func, void *userdata, ZkCall **ret_call) {
        ZkRequests *requests = zk_requests(zk);
        ZkCall *call;

        if (!requests_go(requests))
                return -ENOTCONN;
        call = call_begin(requests, func, userdata, ret_call != NULL);
        return call_end(requests, call, zoo_aget_acl(requests->handle, path, call_on_acl, call),
                        ret_call, NULL);
}

/* Turns one of our operations into the library's. Return: 0 or -EINVAL. */
static int op_init(const ZkRequests *requests, zoo_op_t *op, const ZkOp *ours, struct Stat *stat) {
        int mode, r;

        switch (ours->type) {
        case ZK_OP_CHECK:
                zoo_check_op_init(op, ours->path, ours->version);
                return 0;
        case ZK_OP_CREATE:
                r = op_create_mode(ours->flags, &mode);
                if (r < 0)
                        return r;
                zoo_create_op_init(op, ours->path, ours->data, op_data_length(ours->data),
                                   requests_acl(requests), mode, NULL, 0);
                return 0;
        case ZK_OP_SET:
                zoo_set_op_init(op, ours->path, ours->data, op_data_length(ours->data),
                                ours->version, stat);
                return 0;
        case ZK_OP_DELETE:
                zoo_delete_op_init(op, ours->path, ours->version);
                return 0;
        }
        return -EINVAL;
}

int zk_multi(Zk *zk, const ZkOp *ops, size_t n_ops, ZkReplyFunc func, void *userdata,
             ZkCall **ret_call) {
        ZkRequests *requests = zk_requests(zk);
        g_autofree zoo_op_t *theirs = g_new0(zoo_op_t, n_ops);
        g_autofree struct Stat *stats = g_new0(struct Stat, n_ops);
        ZkCall *call;
        int r;

        if (n_ops == 0)
                return -EINVAL;
        if (!requests_go(requests))
                return -ENOTCONN;
        for (size_t i = 0; i < n_ops; i++) {
                r = op_init(requests, &theirs[i], &ops[i], &stats[i]);
                if (r < 0)
                        return r;
        }

        call = call_begin(requests, func, userdata, ret_call != NULL);
        call->n_ops = n_ops;
        call->op_stats = g_steal_pointer(&stats);
        call->op_results = g_new0(zoo_op_result_t, n_ops);
        r = zoo_amulti(requests->handle, (int)n_ops, theirs, call->op_results, call_on_void, call);
        return call_end(requests, call, r, ret_call, NULL);
}

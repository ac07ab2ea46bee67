/* Requests: from the call that asks to the callback that is answered. zk-send.c tells the library.
 *
 * In the books from when it is asked (the answer may arrive on the other thread at once) until the
 * library has answered, a ZkCall is also what "pending" means: closing the port answers whatever is
 * left there with ZK_CLOSED, in order.
 *
 * So many are under way, ZK_REQUESTS_MAX; what is asked beyond that waits here, and goes out as
 * answers are dispatched. Nothing overtakes: as long as one waits, the next one waits behind it. A
 * heartbeat is no exception to the order, since it says nothing that could have one.
 *
 * When a connection is lost, the library answers all that it was told of with that. What waits was
 * asked on that connection, too, and those who asked count on what is asked together being lost
 * together: so it is not kept for the next one, but answered alike, behind the last of those that
 * were under way. What is asked after the first of these answers waits until then, and is for the
 * connection to come.
 */
#include <errno.h>
#include <string.h>

#include "zk-request.h"

struct ZkCall {
        ZkSending sending; /* the first: the library is told a call, and zk-send.c finds this */
        gint refs;
        bool owned;       /* the owner has not freed it, nor has it been answered */
        bool answered;    /* the owner has been called back or has lost interest: only the library
                             still knows it */
        bool counted;     /* it is one of those under way */
        GList *link;      /* in the requests' calls */
        ZkReplyFunc func; /* NULL once nobody waits */
        void *userdata;
        ZkWatch *watch;       /* for whom the request arms a watch; a reference */
        bool watch_if_absent; /* exists: the watch is set also when there is no such node */
        usec_t sent, sent_realtime;
};

ZkRequests *zk_requests(Zk *zk) {
        return (ZkRequests *)(void *)zk;
}

static ZkCall *call_unref(ZkCall *call) {
        if (!call || !g_atomic_int_dec_and_test(&call->refs))
                return NULL;
        (void)zk_watch_unref(call->watch);
        zk_sending_clear(&call->sending);
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
        const ZkSending *sending = &call->sending;
        ZkOpResult *results = g_new0(ZkOpResult, sending->n_ops);

        for (size_t i = 0; i < sending->n_ops; i++) {
                int error = sending->op_results[i].err;
                bool fine = error == ZOK || error == ZRUNTIMEINCONSISTENCY;

                if (code == ZK_OK || code == ZK_UNKNOWN || code == ZK_CLOSED)
                        results[i].code = code;
                else
                        results[i].code = fine ? ZK_ROLLED_BACK : zk_code_from_error(error);
                if (code == ZK_OK && sending->op_results[i].stat)
                        zk_stat_copy(sending->op_results[i].stat, &results[i].stat);
        }
        return results;
}

/* The library's last word on the watch that travelled with a request. */
static void call_settle_watch(ZkRequests *requests, ZkCall *call, ZkCode code) {
        bool set = code == ZK_OK || (code == ZK_NO_NODE && call->watch_if_absent);

        if (call->sending.watched)
                zk_watch_settle(&requests->watches, call->sending.watched, call->watch, set);
        call->sending.watched = NULL;
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

/* Return: 0, or the library's error. */
static int call_hand_on(ZkRequests *requests, ZkCall *call, const ZkRequest *request) {
        int error;

        zk_queue_expect(requests->queue);
        call->sent_realtime = clock_realtime();
        call->sent = clock_boottime();
        error = zk_send(requests->handle, request, &call->sending);
        if (error != ZOK)
                zk_queue_unexpect(requests->queue);
        else
                requests->under_way += call->counted;
        return error;
}

/* What was lost while it waited is answered, behind all that was under way. */
static void requests_answer_lost(ZkRequests *requests) {
        for (; requests->lost > 0; requests->lost--) {
                ZkCall *call = g_queue_pop_head(&requests->waiting);

                call->counted = false;
                call->sending.waiting = zk_request_free(call->sending.waiting);
                zk_send_back(&call->sending, requests->loss);
        }
}

static void requests_lose(ZkRequests *requests, int error) {
        if (requests->lost > 0)
                return; /* this is one more of the same loss */
        requests->lost = requests->waiting.length;
        requests->loss = error;
}

/* It has waited: who asked can only be told by an answer that the library does not take it. */
static void requests_send_first(ZkRequests *requests) {
        ZkCall *call = requests->waiting.head->data;
        int error = call_hand_on(requests, call, call->sending.waiting);

        if (zk_code_from_error(error) == ZK_CLOSED) {
                requests_lose(requests, error);
                return;
        }
        (void)g_queue_pop_head(&requests->waiting);
        call->sending.waiting = zk_request_free(call->sending.waiting);
        if (error == ZOK)
                return;
        call->counted = false;
        zk_send_back(&call->sending, error);
}

/* Sends what may be sent by now. */
static void requests_move_on(ZkRequests *requests) {
        while (requests->waiting.length > 0) {
                if (requests->queue->over) /* the library may be being closed on another thread */
                        requests_lose(requests, ZCLOSING);
                if (requests->lost == 0 && requests->under_way < ZK_REQUESTS_MAX)
                        requests_send_first(requests);
                else if (requests->lost > 0 && requests->under_way == 0)
                        requests_answer_lost(requests);
                else
                        break;
        }
}

/* Return: whether an answer says that whatever was under way with it was lost, too. One that could
 * not be read says the same, and need not: what waits is then asked again by those who asked. */
static bool error_is_loss(int error) {
        return error == ZCONNECTIONLOSS || error == ZOPERATIONTIMEOUT ||
               error == ZRUNTIMEINCONSISTENCY || zk_code_from_error(error) == ZK_CLOSED;
}

static void requests_on_answer(ZkRequests *requests, const ZkCall *call, int error) {
        if (!call->counted)
                return;
        requests->under_way--;
        if (error_is_loss(error))
                requests_lose(requests, error);
        requests_move_on(requests);
}

void zk_requests_take_unsent(ZkRequests *requests, GQueue *ret_unsent) {
        if (requests->lost > 0)
                return;
        for (GList *link = requests->waiting.head; link; link = link->next)
                ((ZkCall *)link->data)->counted = false;
        *ret_unsent = requests->waiting;
        g_queue_init(&requests->waiting);
}

void zk_call_answer(ZkRequests *requests, const ZkItem *item) {
        ZkCall *call = item->call;
        ZkCode code = zk_code_from_error(item->code);
        g_autofree ZkOpResult *results = NULL;

        g_queue_delete_link(&requests->calls, call->link);
        call->link = NULL;
        call_settle_watch(requests, call, code);
        requests_on_answer(requests, call, item->code);

        if (!call->answered) {
                if (call->sending.n_ops > 0)
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
                                    .n_results = call->sending.n_ops,
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
        g_queue_init(&requests->waiting);
}

void zk_requests_clear(ZkRequests *requests) {
        ZkCall *call;

        g_queue_clear(&requests->waiting);
        while ((call = g_queue_pop_head(&requests->calls)))
                (void)call_unref(call);
        zk_watches_clear(&requests->watches);
        g_free(requests->identity);
}

void zk_requests_drain(ZkRequests *requests) {
        g_autoptr(GPtrArray) pending = g_ptr_array_new();

        g_queue_clear(&requests->waiting); /* they stay in the books */
        requests->lost = 0;
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

static ZkCall *call_begin(ZkRequests *requests, const ZkRequest *request, ZkReplyFunc func,
                          void *userdata, bool owned) {
        ZkCall *call = g_new0(ZkCall, 1);

        call->sending.queue = requests->queue;
        call->sending.identity = requests->identity;
        zk_sending_init(&call->sending, request);
        call->refs = owned ? 2 : 1;
        call->owned = owned;
        call->counted = true;
        call->func = func;
        call->userdata = userdata;
        g_queue_push_tail(&requests->calls, call);
        call->link = requests->calls.tail;
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

        call_settle_watch(requests, call, zk_code_from_error(error));
        (void)zk_watch_free(call->watch); /* its owner has not got it */
        g_queue_delete_link(&requests->calls, call->link);
        (void)zk_call_free(call);
        (void)call_unref(call);
        return call_errno(error);
}

/* Return: ZOK once it is sent or waits, else the library's error. */
static int call_hand_on_in_turn(ZkRequests *requests, ZkCall *call, const ZkRequest *request) {
        if (requests->waiting.length == 0 && requests->under_way < ZK_REQUESTS_MAX)
                return call_hand_on(requests, call, request);
        call->sending.waiting = zk_request_copy(request);
        g_queue_push_tail(&requests->waiting, call);
        return ZOK;
}

static bool requests_go(const ZkRequests *requests) {
        return requests && !requests->queue->over && requests->handle;
}

static int requests_ask(Zk *zk, const ZkRequest *request, ZkReplyFunc func, void *userdata,
                        ZkCall **ret_call) {
        ZkRequests *requests = zk_requests(zk);
        ZkCall *call;
        int r;

        r = zk_request_check(request);
        if (r < 0)
                return r;
        if (!requests_go(requests))
                return -ENOTCONN;
        call = call_begin(requests, request, func, userdata, ret_call != NULL);
        return call_end(requests, call, call_hand_on_in_turn(requests, call, request), ret_call,
                        NULL);
}

int zk_create(Zk *zk, const char *path, const char *data, unsigned flags, ZkReplyFunc func,
              void *userdata, ZkCall **ret_call) {
        const ZkRequest request = {
            .type = ZK_REQUEST_CREATE, .path = path, .data = data, .flags = flags};

        return requests_ask(zk, &request, func, userdata, ret_call);
}

int zk_delete(Zk *zk, const char *path, int32_t version, ZkReplyFunc func, void *userdata,
              ZkCall **ret_call) {
        const ZkRequest request = {.type = ZK_REQUEST_DELETE, .path = path, .version = version};

        return requests_ask(zk, &request, func, userdata, ret_call);
}

int zk_set(Zk *zk, const char *path, const char *data, int32_t version, ZkReplyFunc func,
           void *userdata, ZkCall **ret_call) {
        const ZkRequest request = {
            .type = ZK_REQUEST_SET, .path = path, .data = data, .version = version};

        return requests_ask(zk, &request, func, userdata, ret_call);
}

int zk_sync(Zk *zk, const char *path, ZkReplyFunc func, void *userdata, ZkCall **ret_call) {
        const ZkRequest request = {.type = ZK_REQUEST_SYNC, .path = path};

        return requests_ask(zk, &request, func, userdata, ret_call);
}

int zk_get_acl(Zk *zk, const char *path, ZkReplyFunc func, void *userdata, ZkCall **ret_call) {
        const ZkRequest request = {.type = ZK_REQUEST_GET_ACL, .path = path};

        return requests_ask(zk, &request, func, userdata, ret_call);
}

int zk_multi(Zk *zk, const ZkOp *ops, size_t n_ops, ZkReplyFunc func, void *userdata,
             ZkCall **ret_call) {
        const ZkRequest request = {.type = ZK_REQUEST_MULTI, .ops = ops, .n_ops = n_ops};

        return requests_ask(zk, &request, func, userdata, ret_call);
}

int zk_heartbeat(Zk *zk, bool write, ZkReplyFunc func, void *userdata, ZkCall **ret_call) {
        static const ZkOp check = {.type = ZK_OP_CHECK, .path = "/", .version = -1};
        const ZkRequest sync = {.type = ZK_REQUEST_SYNC, .path = "/"},
                        multi = {.type = ZK_REQUEST_MULTI, .ops = &check, .n_ops = 1};
        const ZkRequest *request = write ? &multi : &sync;
        ZkRequests *requests = zk_requests(zk);
        ZkCall *call;

        if (!requests_go(requests))
                return -ENOTCONN;
        call = call_begin(requests, request, func, userdata, ret_call != NULL);
        call->counted = false;
        return call_end(requests, call, call_hand_on(requests, call, request), ret_call, NULL);
}

/* Who wants to be told by a watch. */
typedef struct Watcher {
        char kind; /* see zk_watch_new() */
        ZkWatchFunc func;
        void *userdata;
        ZkWatch **ret_watch; /* NULL: nobody */
} Watcher;

/* A request that may set a watch. */
static int requests_ask_and_watch(Zk *zk, const ZkRequest *request, ZkReplyFunc func,
                                  void *userdata, ZkCall **ret_call, const Watcher *watcher) {
        ZkRequests *requests = zk_requests(zk);
        ZkWatch *watch = NULL;
        ZkCall *call;
        int r;

        if (!requests_go(requests))
                return -ENOTCONN;
        if (watcher->ret_watch) {
                r = zk_watch_new(&requests->watches, watcher->kind, request->path, watcher->func,
                                 watcher->userdata, &watch);
                if (r < 0)
                        return r;
        }
        call = call_begin(requests, request, func, userdata, ret_call != NULL);
        call->watch = watch;
        call->sending.watched = watch ? watch->watched : NULL;
        call->watch_if_absent = request->type == ZK_REQUEST_EXISTS;
        return call_end(requests, call, call_hand_on_in_turn(requests, call, request), ret_call,
                        watcher->ret_watch);
}

int zk_get(Zk *zk, const char *path, ZkReplyFunc func, void *userdata, ZkCall **ret_call,
           ZkWatchFunc watch_func, void *watch_userdata, ZkWatch **ret_watch) {
        const ZkRequest request = {.type = ZK_REQUEST_GET, .path = path};
        const Watcher watcher = {'d', watch_func, watch_userdata, ret_watch};

        return requests_ask_and_watch(zk, &request, func, userdata, ret_call, &watcher);
}

int zk_exists(Zk *zk, const char *path, ZkReplyFunc func, void *userdata, ZkCall **ret_call,
              ZkWatchFunc watch_func, void *watch_userdata, ZkWatch **ret_watch) {
        const ZkRequest request = {.type = ZK_REQUEST_EXISTS, .path = path};
        const Watcher watcher = {'e', watch_func, watch_userdata, ret_watch};

        return requests_ask_and_watch(zk, &request, func, userdata, ret_call, &watcher);
}

int zk_get_children(Zk *zk, const char *path, ZkReplyFunc func, void *userdata, ZkCall **ret_call,
                    ZkWatchFunc watch_func, void *watch_userdata, ZkWatch **ret_watch) {
        const ZkRequest request = {.type = ZK_REQUEST_GET_CHILDREN, .path = path};
        const Watcher watcher = {'c', watch_func, watch_userdata, ret_watch};

        return requests_ask_and_watch(zk, &request, func, userdata, ret_call, &watcher);
}

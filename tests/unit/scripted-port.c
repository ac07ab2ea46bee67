/* See scripted-port.h. */
#include "scripted-port.h"

#include <errno.h>
#include <string.h>

#include "session-probe.h"

GPtrArray *ports;
int connect_error;
unsigned n_requests;
SessionProbe *port_probe;
unsigned n_probes;
bool port_probe_waits;
int64_t last_session = 0x1000;
bool port_attaches;
void (*port_freed)(const Zk *zk);

/* Calls and watches of ports that are freed: who made them may free them later. */
static GPtrArray *remains;

int session_probe_begin(SessionProbe *probe, const char *server, const char *auth, usec_t tick_time,
                        usec_t left) {
        (void)server;
        (void)auth;
        (void)tick_time;
        (void)left;
        port_probe = probe;
        n_probes++;
        return 0;
}

bool session_probe_waits(const SessionProbe *probe) {
        return probe == port_probe && port_probe_waits;
}

void session_probe_init(SessionProbe *probe, sd_event *event, SessionProbeFunc func,
                        void *userdata) {
        *probe = (SessionProbe){.event = event, .func = func, .userdata = userdata};
}

void session_probe_end(SessionProbe *probe) {
        if (probe == port_probe)
                port_probe = NULL;
}

void call_clear(ZkCall *call) {
        for (size_t i = 0; i < call->n_ops; i++) {
                g_free((char *)call->ops[i].path);
                g_free((char *)call->ops[i].data);
        }
        g_free(call->ops);
        g_free(call->data);
        g_free(call->path);
        g_free(call);
}

static void watch_clear(gpointer data) {
        ZkWatch *watch = data;

        g_free(watch->path);
        g_free(watch);
}

int zk_connect(sd_event *event, const ZkOptions *options, Zk **ret_zk) {
        Zk *zk;

        (void)event;
        if (connect_error < 0)
                return connect_error;
        zk = g_new0(Zk, 1);
        zk->options = *options;
        zk->asked = clock_boottime();
        if (port_attaches && options->session)
                zk->session = *options->session;
        else
                zk->session.id = ++last_session;
        g_queue_init(&zk->calls);
        zk->watches = g_ptr_array_new_with_free_func(watch_clear);
        if (!ports)
                ports = g_ptr_array_new();
        g_ptr_array_add(ports, zk);
        *ret_zk = zk;
        return 0;
}

void zk_close(Zk *zk) {
        zk->ended = zk->tidy = true;
        zk->state = ZK_STATE_CLOSED;
}

void zk_abandon(Zk *zk) {
        zk->ended = true;
        zk->state = ZK_STATE_CLOSED;
}

Zk *zk_free(Zk *zk) {
        ZkCall *call;

        if (!zk)
                return NULL;
        if (!remains)
                remains = g_ptr_array_new();
        while ((call = g_queue_pop_head(&zk->calls))) {
                call->func = NULL;
                g_ptr_array_add(remains, call);
        }
        if (port_freed)
                port_freed(zk);
        g_ptr_array_add(remains, zk->watches);
        g_ptr_array_remove(ports, zk);
        if (ports->len == 0)
                g_clear_pointer(&ports, g_ptr_array_unref);
        g_free(zk);
        return NULL;
}

ZkState zk_state(const Zk *zk) {
        return zk->state;
}

usec_t zk_asked(const Zk *zk) {
        return zk->asked;
}

usec_t zk_timeout(const Zk *zk) {
        return zk->granted > 0 ? zk->granted : zk->options.session_timeout;
}

unsigned zk_connections(const Zk *zk) {
        return zk ? zk->connections : 0;
}

ZkSessionId zk_session_id(const Zk *zk) {
        return zk->session;
}

const char *zk_server(const Zk *zk) {
        (void)zk;
        return "scripted";
}

const char *zk_fault(const Zk *zk) {
        (void)zk;
        return "";
}

const char *zk_code_to_string(ZkCode code) {
        (void)code;
        return "code";
}

void port_tell(Zk *zk, ZkState state) {
        zk->state = state;
        zk->connections += state == ZK_STATE_CONNECTED;
        zk->options.state(zk, state, zk->options.userdata);
}

/* Return: NULL, as for a session that is over, where there is none. */
static ZkCall *request(Zk *zk, Request what, const char *path, ZkReplyFunc func, void *userdata,
                       ZkCall **ret_call) {
        ZkCall *call;

        if (!zk)
                return NULL;
        call = g_new0(ZkCall, 1);
        call->request = what;
        call->path = g_strdup(path);
        call->func = func;
        call->userdata = userdata;
        call->sent = clock_boottime();
        g_queue_push_tail(&zk->calls, call);
        n_requests++;
        if (ret_call)
                *ret_call = call;
        return call;
}

static int request_watch(Zk *zk, Request what, const char *path, ZkReplyFunc func, void *userdata,
                         ZkCall **ret_call, ZkWatchFunc watch_func, void *watch_userdata,
                         ZkWatch **ret_watch) {
        ZkCall *call = request(zk, what, path, func, userdata, ret_call);

        if (!call)
                return -ENOTCONN;
        if (!ret_watch)
                return 0;
        call->watch = g_new0(ZkWatch, 1);
        call->watch->zk = zk;
        call->watch->func = watch_func;
        call->watch->userdata = watch_userdata;
        call->watch->path = g_strdup(path);
        g_ptr_array_add(zk->watches, call->watch);
        *ret_watch = call->watch;
        return 0;
}

int zk_create(Zk *zk, const char *path, const char *data, unsigned flags, ZkReplyFunc func,
              void *userdata, ZkCall **ret_call) {
        ZkCall *call = request(zk, REQUEST_CREATE, path, func, userdata, ret_call);

        if (!call)
                return -ENOTCONN;
        call->flags = flags;
        call->data = g_strdup(data);
        return 0;
}

int zk_set(Zk *zk, const char *path, const char *data, int32_t version, ZkReplyFunc func,
           void *userdata, ZkCall **ret_call) {
        ZkCall *call = request(zk, REQUEST_SET, path, func, userdata, ret_call);

        if (!call)
                return -ENOTCONN;
        call->version = version;
        call->data = g_strdup(data);
        return 0;
}

int zk_delete(Zk *zk, const char *path, int32_t version, ZkReplyFunc func, void *userdata,
              ZkCall **ret_call) {
        ZkCall *call = request(zk, REQUEST_DELETE, path, func, userdata, ret_call);

        if (!call)
                return -ENOTCONN;
        call->version = version;
        return 0;
}

int zk_sync(Zk *zk, const char *path, ZkReplyFunc func, void *userdata, ZkCall **ret_call) {
        return request(zk, REQUEST_SYNC, path, func, userdata, ret_call) ? 0 : -ENOTCONN;
}

int zk_get(Zk *zk, const char *path, ZkReplyFunc func, void *userdata, ZkCall **ret_call,
           ZkWatchFunc watch_func, void *watch_userdata, ZkWatch **ret_watch) {
        return request_watch(zk, REQUEST_GET, path, func, userdata, ret_call, watch_func,
                             watch_userdata, ret_watch);
}

int zk_exists(Zk *zk, const char *path, ZkReplyFunc func, void *userdata, ZkCall **ret_call,
              ZkWatchFunc watch_func, void *watch_userdata, ZkWatch **ret_watch) {
        return request_watch(zk, REQUEST_EXISTS, path, func, userdata, ret_call, watch_func,
                             watch_userdata, ret_watch);
}

int zk_get_children(Zk *zk, const char *path, ZkReplyFunc func, void *userdata, ZkCall **ret_call,
                    ZkWatchFunc watch_func, void *watch_userdata, ZkWatch **ret_watch) {
        return request_watch(zk, REQUEST_LIST, path, func, userdata, ret_call, watch_func,
                             watch_userdata, ret_watch);
}

int zk_get_acl(Zk *zk, const char *path, ZkReplyFunc func, void *userdata, ZkCall **ret_call) {
        (void)request(zk, REQUEST_ACL, path, func, userdata, ret_call);
        return 0;
}

int zk_multi(Zk *zk, const ZkOp *ops, size_t n_ops, ZkReplyFunc func, void *userdata,
             ZkCall **ret_call) {
        ZkCall *call = request(zk, REQUEST_MULTI, ops[0].path, func, userdata, ret_call);

        if (!call)
                return -ENOTCONN;
        call->n_ops = n_ops;
        call->ops = g_memdup2(ops, n_ops * sizeof(*ops));
        for (size_t i = 0; i < n_ops; i++) {
                call->ops[i].path = g_strdup(ops[i].path);
                call->ops[i].data = g_strdup(ops[i].data);
        }
        return 0;
}

int zk_heartbeat(Zk *zk, bool write, ZkReplyFunc func, void *userdata, ZkCall **ret_call) {
        const ZkOp check = {.type = ZK_OP_CHECK, .path = "/", .version = -1};

        return write ? zk_multi(zk, &check, 1, func, userdata, ret_call)
                     : zk_sync(zk, "/", func, userdata, ret_call);
}

ZkCall *zk_call_free(ZkCall *call) {
        if (call)
                call->func = NULL;
        return NULL;
}

/* The port keeps it, as the real one does. */
ZkWatch *zk_watch_free(ZkWatch *watch) {
        if (watch)
                watch->func = NULL;
        return NULL;
}

void port_reply(ZkCall *call, ZkReply reply) {
        reply.sent = call->sent;
        if (call->func)
                call->func(&reply, call->userdata);
        call_clear(call);
}

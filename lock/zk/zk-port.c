/* One ZooKeeper session as an object of the loop. See zk.h for the contract and zk-queue.h for
 * who owns what.
 *
 * This file has the states: what the library and the helper thread report is dispatched here, in
 * the order in which it happened.
 */
#include "zk.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>

#include "zk-handle.h"
#include "zk-request.h"

struct Zk {
        ZkRequests requests; /* the first: a request is told the port, and finds this */
        ZkQueue queue;
        ZkHandle handle;
        sd_event_source *source;
        ZkState state;
        bool closing;
        void (*log)(int priority, const char *message, void *userdata);
        ZkStateFunc func;
        void *userdata;
        usec_t timeout, asked;
        unsigned connections;
        ZkSessionId session;
        char *server;
        char *fault;
};

/* By now the library has forgotten us. */
static void zk_destroy(void *owner) {
        Zk *zk = owner;

        zk_requests_clear(&zk->requests);
        zk_handle_clear(&zk->handle);
        zk_queue_clear(&zk->queue);
        g_free(zk->server);
        g_free(zk->fault);
        g_free(zk);
}

static void zk_set_state(Zk *zk, ZkState state) {
        zk->state = state;
        if (state != ZK_STATE_CONNECTED)
                g_clear_pointer(&zk->server, g_free);
        if (zk->func && !zk->queue.freed)
                zk->func(zk, state, zk->userdata);
}

static void zk_end(Zk *zk, ZkState state) {
        zk->queue.over = true;
        zk_set_state(zk, state);
}

static void zk_on_connected(Zk *zk, ZkItem *item) {
        zk->requests.handle = item->handle;
        zk->timeout = item->timeout;
        zk->asked = item->asked;
        zk->connections++;
        zk->session = item->session;
        g_free(zk->server);
        zk->server = g_steal_pointer(&item->text);
        zk_set_state(zk, ZK_STATE_CONNECTED);
}

static void zk_on_session(Zk *zk, ZkItem *item) {
        if (zk->queue.over)
                return; /* closing, or final already */
        if (item->code == ZOO_CONNECTED_STATE)
                zk_on_connected(zk, item);
        else if (item->code == ZOO_EXPIRED_SESSION_STATE)
                zk_end(zk, ZK_STATE_EXPIRED);
        else if (item->code == ZOO_AUTH_FAILED_STATE)
                zk_end(zk, ZK_STATE_AUTH_FAILED);
        else if (zk->state == ZK_STATE_CONNECTED)
                zk_set_state(zk, ZK_STATE_SUSPENDED);
}

static void zk_on_started(Zk *zk, ZkItem *item) {
        if (!item->text || zk->queue.over)
                return;
        zk->fault = g_steal_pointer(&item->text);
        zk_end(zk, ZK_STATE_FAILED);
}

static void zk_on_closed(Zk *zk) {
        zk_handle_join(&zk->handle);
        zk->requests.handle = NULL;
        zk_set_state(zk, ZK_STATE_CLOSED);
}

static void zk_dispatch(Zk *zk, ZkItem *item) {
        switch (item->type) {
        case ZK_ITEM_REPLY:
                zk_call_answer(&zk->requests, item);
                break;
        case ZK_ITEM_WATCH:
                zk_watch_fire(&zk->requests.watches, item);
                break;
        case ZK_ITEM_SESSION:
                zk_on_session(zk, item);
                break;
        case ZK_ITEM_LOG:
                if (zk->log)
                        zk->log(item->code, item->text, zk->userdata);
                break;
        case ZK_ITEM_STARTED:
                zk_on_started(zk, item);
                break;
        case ZK_ITEM_DRAIN:
                zk_requests_drain(&zk->requests);
                break;
        case ZK_ITEM_CLOSED:
                zk_on_closed(zk);
                break;
        }
}

static int zk_on_wakeup(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Zk *zk = userdata;
        usec_t until = usec_add(clock_monotonic(), ZK_TURN_TIME);
        eventfd_t count;
        ZkItem *item;

        (void)zk_queue_ref(&zk->queue); /* a callback may free it */
        (void)eventfd_read(fd, &count);
        zk_take(&zk->queue);
        for (unsigned n = 0; n < ZK_TURN_ITEMS && (n == 0 || clock_monotonic() < until) &&
                             (item = g_queue_pop_head(&zk->queue.taken));
             n++) {
                if (!zk->queue.freed)
                        zk_dispatch(zk, item);
                (void)zk_item_free(item);
        }
        if (zk->queue.taken.length > 0) /* the rest on the next turn, after whatever else is due */
                (void)eventfd_write(fd, 1);
        (void)zk_queue_unref(&zk->queue);
        return 0;
}

static Zk *zk_new(const ZkOptions *options, int *ret_error) {
        Zk *zk = g_new0(Zk, 1);

        zk->state = ZK_STATE_CONNECTING;
        zk->log = options->log;
        zk->func = options->state;
        zk->userdata = options->userdata;
        *ret_error = zk_queue_init(&zk->queue, zk_destroy, zk);
        zk_handle_init(&zk->handle, &zk->queue, options);
        zk_requests_init(&zk->requests, &zk->queue, options->auth);
        return zk;
}

int zk_connect(sd_event *event, const ZkOptions *options, Zk **ret_zk) {
        _cleanup_(zk_freep) Zk *zk = NULL;
        int r;

        if (!options->servers || options->session_timeout < USEC_PER_MSEC)
                return -EINVAL;
        if (options->auth && (options->auth[0] == ':' || !strchr(options->auth, ':')))
                return -EINVAL;
        zk = zk_new(options, &r);
        if (r < 0)
                return r;
        r = sd_event_add_io(event, &zk->source, zk->queue.wakeup, EPOLLIN, zk_on_wakeup, zk);
        if (r < 0)
                return r;
        (void)sd_event_source_set_description(zk->source, "zookeeper");
        r = sd_event_source_set_exit_on_failure(zk->source, true);
        if (r < 0)
                return r;
        if (zk->log)
                zk_log_register(&zk->queue);
        r = zk_handle_start(&zk->handle, ZK_WISH_RUN);
        if (r < 0)
                return r;
        *ret_zk = g_steal_pointer(&zk);
        return 0;
}

static void zk_close_with(Zk *zk, ZkWish wish) {
        if (zk->closing)
                return;
        zk->closing = true;
        zk->queue.over = true;
        if (wish == ZK_WISH_CLOSE && zk->state == ZK_STATE_CONNECTED)
                zk_requests_take_unsent(&zk->requests, &zk->handle.unsent);
        zk_post(&zk->queue, zk_item_new(ZK_ITEM_DRAIN));
        if (!zk_handle_is_idle(&zk->handle)) {
                if (zk_handle_start(&zk->handle, wish) >= 0)
                        return;
                /* Without a thread the handle stays open until the process ends, and the library
                 * calls back: we stay with it. The owner must not wait for that. */
                (void)zk_queue_ref(&zk->queue);
        }
        zk_post(&zk->queue, zk_item_new(ZK_ITEM_CLOSED));
}

void zk_close(Zk *zk) {
        zk_close_with(zk, ZK_WISH_CLOSE);
}

void zk_abandon(Zk *zk) {
        zk_close_with(zk, ZK_WISH_ABANDON);
}

Zk *zk_free(Zk *zk) {
        if (!zk)
                return NULL;
        zk->queue.freed = true;
        zk_watches_forget(&zk->requests.watches);
        zk_log_unregister(&zk->queue);
        if (zk->source)
                zk_abandon(zk);
        zk->source = sd_event_source_disable_unref(zk->source);
        zk_handle_detach(&zk->handle);
        (void)zk_queue_unref(&zk->queue);
        return NULL;
}

ZkState zk_state(const Zk *zk) {
        return zk->state;
}

unsigned zk_connections(const Zk *zk) {
        return zk ? zk->connections : 0;
}

usec_t zk_timeout(const Zk *zk) {
        return zk->timeout;
}

usec_t zk_asked(const Zk *zk) {
        return zk->asked;
}

ZkSessionId zk_session_id(const Zk *zk) {
        return zk->session;
}

const char *zk_server(const Zk *zk) {
        return zk->server ? zk->server : "";
}

const char *zk_fault(const Zk *zk) {
        return zk->fault ? zk->fault : "";
}

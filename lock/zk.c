/* One ZooKeeper session as an object of the loop. See zk.h for the contract and zk-private.h for
 * who owns what.
 *
 * This file has the states: what the library and the helper thread report is dispatched here, in
 * the order in which it happened.
 */
#include "zk.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>

#include "zk-private.h"

Zk *zk_ref(Zk *zk) {
        g_atomic_int_inc(&zk->refs);
        return zk;
}

/* Runs on whichever thread is last: touches nothing of the loop. By now the library has forgotten
 * us. */
static void destroy(Zk *zk) {
        ZkCall *call;

        while ((call = g_queue_pop_head(&zk->calls)))
                (void)zk_call_unref(call);
        g_clear_pointer(&zk->watched, g_hash_table_unref);
        for (GList *link = zk->queue.head; link; link = link->next)
                (void)zk_item_free(link->data);
        g_queue_clear(&zk->queue);
        for (GList *link = zk->taken.head; link; link = link->next)
                (void)zk_item_free(link->data);
        g_queue_clear(&zk->taken);

        if (zk->wakeup >= 0)
                (void)close(zk->wakeup);
        pthread_cond_destroy(&zk->changed);
        pthread_mutex_destroy(&zk->mutex);
        if (zk->auth)
                explicit_bzero(zk->auth, strlen(zk->auth));
        g_free(zk->auth);
        g_free(zk->identity);
        g_free(zk->servers);
        g_free(zk->server);
        g_free(zk->fault);
        g_free(zk->addresses);
        g_free(zk);
}

Zk *zk_unref(Zk *zk) {
        if (zk && g_atomic_int_dec_and_test(&zk->refs))
                destroy(zk);
        return NULL;
}

static void set_state(Zk *zk, ZkState state) {
        zk->state = state;
        if (state != ZK_STATE_CONNECTED)
                g_clear_pointer(&zk->server, g_free);
        if (zk->func && !zk->freed)
                zk->func(zk, state, zk->userdata);
}

static void end(Zk *zk, ZkState state) {
        zk->over = true;
        set_state(zk, state);
}

static void on_connected(Zk *zk, ZkItem *item) {
        zk->handle = item->handle;
        zk->timeout = item->timeout;
        zk->connections++;
        zk->session = item->session;
        g_free(zk->server);
        zk->server = g_steal_pointer(&item->text);
        set_state(zk, ZK_STATE_CONNECTED);
}

static void on_session(Zk *zk, ZkItem *item) {
        if (zk->over)
                return; /* closing, or final already */
        if (item->code == ZOO_CONNECTED_STATE)
                on_connected(zk, item);
        else if (item->code == ZOO_EXPIRED_SESSION_STATE)
                end(zk, ZK_STATE_EXPIRED);
        else if (item->code == ZOO_AUTH_FAILED_STATE)
                end(zk, ZK_STATE_AUTH_FAILED);
        else if (zk->state == ZK_STATE_CONNECTED)
                set_state(zk, ZK_STATE_SUSPENDED);
}

static void on_started(Zk *zk, ZkItem *item) {
        if (!item->text || zk->over)
                return;
        zk->fault = g_steal_pointer(&item->text);
        end(zk, ZK_STATE_FAILED);
}

static void on_closed(Zk *zk) {
        zk_helper_join(zk);
        zk->handle = NULL;
        set_state(zk, ZK_STATE_CLOSED);
}

static void dispatch(Zk *zk, ZkItem *item) {
        switch (item->type) {
        case ZK_ITEM_REPLY:
                zk_call_answer(zk, item);
                break;
        case ZK_ITEM_WATCH:
                zk_watch_fire(zk, item);
                break;
        case ZK_ITEM_SESSION:
                on_session(zk, item);
                break;
        case ZK_ITEM_LOG:
                if (zk->log)
                        zk->log(item->code, item->text, zk->userdata);
                break;
        case ZK_ITEM_STARTED:
                on_started(zk, item);
                break;
        case ZK_ITEM_DRAIN:
                zk_calls_drain(zk);
                break;
        case ZK_ITEM_CLOSED:
                on_closed(zk);
                break;
        }
}

static int on_wakeup(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Zk *zk = zk_ref(userdata); /* a callback may free it */
        usec_t until = usec_add(clock_monotonic(), ZK_TURN_TIME);
        eventfd_t count;
        ZkItem *item;

        (void)source;
        (void)revents;
        (void)eventfd_read(fd, &count);
        zk_take(zk);
        for (unsigned n = 0; n < ZK_TURN_ITEMS && (n == 0 || clock_monotonic() < until) &&
                             (item = g_queue_pop_head(&zk->taken));
             n++) {
                if (!zk->freed)
                        dispatch(zk, item);
                (void)zk_item_free(item);
        }
        if (zk->taken.length > 0) /* the rest on the next turn, after whatever else is due */
                (void)eventfd_write(fd, 1);
        (void)zk_unref(zk);
        return 0;
}

/* Return: newly allocated, how the servers write whom "USER:PASSWORD" proves; NULL for NULL. */
static char *identity_of(const char *auth) {
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

static Zk *new_zk(const ZkOptions *options) {
        Zk *zk = g_new0(Zk, 1);
        pthread_condattr_t monotonic;

        zk->refs = 1;
        zk->state = ZK_STATE_CONNECTING;
        zk->servers = g_strdup(options->servers);
        zk->auth = g_strdup(options->auth);
        zk->identity = identity_of(options->auth);
        zk->timeout_ms = (int)MIN(options->session_timeout / USEC_PER_MSEC, (usec_t)INT32_MAX);
        if (options->session)
                zk->wanted = *options->session;
        zk->log = options->log;
        zk->func = options->state;
        zk->userdata = options->userdata;
        g_queue_init(&zk->calls);
        g_queue_init(&zk->queue);
        g_queue_init(&zk->taken);
        zk->watched = g_hash_table_new_full(g_str_hash, g_str_equal, NULL,
                                            (GDestroyNotify)(void (*)(void))zk_watched_free);
        pthread_mutex_init(&zk->mutex, NULL);
        /* Not on the wall clock, which may be set while somebody waits. */
        pthread_condattr_init(&monotonic);
        pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
        pthread_cond_init(&zk->changed, &monotonic);
        pthread_condattr_destroy(&monotonic);
        zk->wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        return zk;
}

int zk_connect(sd_event *event, const ZkOptions *options, Zk **ret_zk) {
        _cleanup_(zk_freep) Zk *zk = NULL;
        int r;

        if (!options->servers || options->session_timeout < USEC_PER_MSEC)
                return -EINVAL;
        if (options->auth && (options->auth[0] == ':' || !strchr(options->auth, ':')))
                return -EINVAL;
        zk = new_zk(options);
        if (zk->wakeup < 0)
                return -errno;
        r = sd_event_add_io(event, &zk->source, zk->wakeup, EPOLLIN, on_wakeup, zk);
        if (r < 0)
                return r;
        (void)sd_event_source_set_description(zk->source, "zookeeper");
        r = sd_event_source_set_exit_on_failure(zk->source, true);
        if (r < 0)
                return r;
        if (zk->log)
                zk_log_register(zk);
        r = zk_helper_start(zk, ZK_WISH_RUN);
        if (r < 0)
                return r;
        *ret_zk = g_steal_pointer(&zk);
        return 0;
}

static void close_with(Zk *zk, ZkWish wish) {
        if (zk->closing)
                return;
        zk->closing = true;
        zk->over = true;
        zk_post(zk, zk_item_new(ZK_ITEM_DRAIN));
        if (!zk_helper_is_idle(zk)) {
                if (zk_helper_start(zk, wish) >= 0)
                        return;
                /* Without a thread the handle stays open until the process ends, and the library
                 * calls back: we stay with it. The owner must not wait for that. */
                (void)zk_ref(zk);
        }
        zk_post(zk, zk_item_new(ZK_ITEM_CLOSED));
}

void zk_close(Zk *zk) {
        close_with(zk, ZK_WISH_CLOSE);
}

void zk_abandon(Zk *zk) {
        close_with(zk, ZK_WISH_ABANDON);
}

Zk *zk_free(Zk *zk) {
        if (!zk)
                return NULL;
        zk->freed = true;
        zk_watches_forget(zk);
        zk_log_unregister(zk);
        if (zk->source)
                zk_abandon(zk);
        zk->source = sd_event_source_disable_unref(zk->source);
        if (zk->helper_joinable)
                pthread_detach(zk->helper);
        zk->helper_joinable = false;
        return zk_unref(zk);
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

ZkSessionId zk_session_id(const Zk *zk) {
        return zk->session;
}

const char *zk_server(const Zk *zk) {
        return zk->server ? zk->server : "";
}

const char *zk_fault(const Zk *zk) {
        return zk->fault ? zk->fault : "";
}

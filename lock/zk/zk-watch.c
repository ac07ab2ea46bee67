/* Watches: one-shot, shared, and outlived by their bookkeeping.
 *
 * The library keeps the pointer that it was given with a watch until the watch fires or the handle
 * is closed; it cannot be made to forget it earlier in a way that works. So freeing a ZkWatch only
 * drops its owner's interest, and what the library points to is another thing, the ZkWatched: one
 * for each path and kind, however many want to know and however often they come and go. (The
 * library takes the same pointer for the same path once.) Somebody that waits for an hour in tries
 * of a second leaves one behind, not thousands, until the path changes.
 *
 * It also tells every registered watch of every change of the connection: those are ignored here,
 * because acting on them would have every waiter of every machine list its queue at the moment a
 * server comes back.
 *
 * Answers and events reach the loop in the order in which the library took them from the server. So
 * an event is for those whose request was answered before it; what was asked later is told by a
 * later one.
 */
#include <errno.h>
#include <string.h>

#include "zk-watch.h"

/* What one path costs in the packet that re-registers the watches: its length in 4 bytes, and
 * itself. */
static size_t packet_bytes(const char *key) {
        return strlen(key + 1) + 4;
}

static void watched_destroy(gpointer data) {
        ZkWatched *watched = data;

        g_ptr_array_unref(watched->interests);
        g_free(watched->key);
        g_free(watched);
}

void zk_watches_init(ZkWatches *watches, ZkQueue *queue) {
        watches->queue = queue;
        watches->watched = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, watched_destroy);
}

void zk_watches_clear(ZkWatches *watches) {
        g_clear_pointer(&watches->watched, g_hash_table_unref);
}

static ZkWatched *watched_get(ZkWatches *watches, char kind, const char *path) {
        g_autofree char *key = g_strdup_printf("%c%s", kind, path);
        ZkWatched *watched = g_hash_table_lookup(watches->watched, key);

        if (watched)
                return watched;
        if (watches->bytes + packet_bytes(key) > ZK_WATCH_BYTES_MAX)
                return NULL;
        watches->bytes += packet_bytes(key);
        watched = g_new0(ZkWatched, 1);
        watched->queue = watches->queue;
        watched->key = g_steal_pointer(&key);
        watched->interests = g_ptr_array_new();
        g_hash_table_insert(watches->watched, watched->key, watched);
        return watched;
}

/* Out of the books once the library does not know it and no request is about to tell it. */
static void watched_check(ZkWatches *watches, ZkWatched *watched) {
        if (watched->armed || watched->pending > 0)
                return;
        watches->bytes -= packet_bytes(watched->key);
        g_hash_table_remove(watches->watched, watched->key);
}

static void watch_lose_interest(ZkWatch *watch) {
        if (watch->watched)
                g_ptr_array_remove(watch->watched->interests, watch);
        watch->watched = NULL;
        watch->func = NULL;
}

int zk_watch_new(ZkWatches *watches, char kind, const char *path, ZkWatchFunc func, void *userdata,
                 ZkWatch **ret_watch) {
        ZkWatched *watched = watched_get(watches, kind, path);
        ZkWatch *watch;

        if (!watched)
                return -ENOBUFS;
        watched->pending++;
        watch = g_new0(ZkWatch, 1);
        watch->refs = 2; /* the request's, the owner's */
        watch->owned = true;
        watch->func = func;
        watch->userdata = userdata;
        watch->watched = watched;
        g_ptr_array_add(watched->interests, watch);
        *ret_watch = watch;
        return 0;
}

void zk_watch_settle(ZkWatches *watches, ZkWatched *watched, ZkWatch *watch, bool set) {
        watched->pending--;
        watched->armed |= set;
        watch->armed = set;
        if (!set)
                watch_lose_interest(watch);
        watched_check(watches, watched);
}

static bool watch_event(int type, ZkWatchEvent *ret_event) {
        if (type == ZOO_CREATED_EVENT)
                *ret_event = ZK_WATCH_CREATED;
        else if (type == ZOO_DELETED_EVENT)
                *ret_event = ZK_WATCH_DELETED;
        else if (type == ZOO_CHANGED_EVENT)
                *ret_event = ZK_WATCH_CHANGED;
        else if (type == ZOO_CHILD_EVENT)
                *ret_event = ZK_WATCH_CHILDREN;
        else
                return false;
        return true;
}

/* Those that the event is for, in the order in which they asked, and each with a reference: one's
 * callback may free another. */
static GPtrArray *watched_take_armed(ZkWatched *watched) {
        GPtrArray *armed =
            g_ptr_array_new_with_free_func((GDestroyNotify)(void (*)(void))zk_watch_unref);

        for (guint i = 0; i < watched->interests->len;) {
                ZkWatch *watch = watched->interests->pdata[i];

                if (!watch->armed) {
                        i++;
                        continue;
                }
                g_atomic_int_inc(&watch->refs);
                g_ptr_array_add(armed, watch);
                watch->watched = NULL;
                g_ptr_array_remove_index(watched->interests, i);
        }
        return armed;
}

void zk_watch_fire(ZkWatches *watches, const ZkItem *item) {
        g_autoptr(GPtrArray) armed = watched_take_armed(item->watched);
        ZkWatchEvent event = ZK_WATCH_CHANGED;
        bool known = watch_event(item->code, &event);

        item->watched->armed = false;
        watched_check(watches, item->watched); /* may free it */
        for (guint i = 0; i < armed->len; i++) {
                ZkWatch *watch = armed->pdata[i];
                ZkWatchFunc func = g_steal_pointer(&watch->func);

                if (func && known && !watches->queue->over && !watches->queue->freed)
                        func(event, item->text, watch->userdata);
        }
}

/* On the library's completion thread. */
void zk_on_watch(zhandle_t *handle, int type, int state, const char *path, void *context) {
        ZkWatched *watched = context;
        ZkWatchEvent event;
        ZkItem *item;

        if (!watch_event(type, &event))
                return; /* a session event: the watch stays set */

        item = zk_item_new(ZK_ITEM_WATCH);
        item->code = type;
        item->watched = watched;
        item->text = g_strdup(path);
        zk_post(watched->queue, item);
}

void zk_watches_forget(ZkWatches *watches) {
        GHashTableIter iter;
        gpointer value;

        g_hash_table_iter_init(&iter, watches->watched);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                const ZkWatched *watched = value;

                while (watched->interests->len > 0)
                        watch_lose_interest(watched->interests->pdata[0]);
        }
}

ZkWatch *zk_watch_unref(ZkWatch *watch) {
        if (watch && g_atomic_int_dec_and_test(&watch->refs))
                g_free(watch);
        return NULL;
}

ZkWatch *zk_watch_free(ZkWatch *watch) {
        if (!watch || !watch->owned)
                return NULL;
        watch->owned = false;
        watch_lose_interest(watch);
        return zk_watch_unref(watch);
}

/* Watches: one-shot, and outlived by their bookkeeping.
 *
 * The library keeps the pointer that it was given with a watch until the watch fires or the handle
 * is closed; it cannot be made to forget it earlier in a way that works. So freeing a ZkWatch only
 * drops its owner's interest. It also tells every registered watch of every change of the
 * connection: those are ignored here, because acting on them would have every waiter of every
 * machine list its queue at the moment a server comes back.
 */
#include <errno.h>
#include <string.h>

#include "zk-private.h"

/* What one path costs in the packet that re-registers the watches: its length in 4 bytes, and
 * itself. */
static size_t packet_bytes(const char *key) {
        return strlen(key + 1) + 4;
}

int zk_watch_new(Zk *zk, char kind, const char *path, ZkWatchFunc func, void *userdata,
                 ZkWatch **ret_watch) {
        g_autofree char *key = g_strdup_printf("%c%s", kind, path);
        gpointer count = g_hash_table_lookup(zk->watched, key);
        ZkWatch *watch;

        if (!count && zk->watched_bytes + packet_bytes(key) > ZK_WATCH_BYTES_MAX)
                return -ENOBUFS;
        if (!count)
                zk->watched_bytes += packet_bytes(key);
        g_hash_table_replace(zk->watched, g_strdup(key),
                             GINT_TO_POINTER(GPOINTER_TO_INT(count) + 1));

        watch = g_new0(ZkWatch, 1);
        watch->refs = 2; /* the books', the owner's */
        watch->owned = true;
        watch->func = func;
        watch->userdata = userdata;
        watch->key = g_steal_pointer(&key);
        g_hash_table_add(zk->watches, watch);
        *ret_watch = watch;
        return 0;
}

/* The library does not know it (any more): out of the books. */
void zk_watch_disarm(Zk *zk, ZkWatch *watch) {
        int count = GPOINTER_TO_INT(g_hash_table_lookup(zk->watched, watch->key));

        if (count > 1)
                g_hash_table_replace(zk->watched, g_strdup(watch->key), GINT_TO_POINTER(count - 1));
        else {
                zk->watched_bytes -= packet_bytes(watch->key);
                g_hash_table_remove(zk->watched, watch->key);
        }
        g_hash_table_remove(zk->watches, watch); /* drops the books' reference */
}

static bool event_of(int type, ZkWatchEvent *ret_event) {
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

void zk_watch_fire(Zk *zk, const ZkItem *item) {
        ZkWatch *watch = item->watch;
        ZkWatchFunc func = watch->func;
        void *userdata = watch->userdata;
        ZkWatchEvent event;

        watch->func = NULL;
        zk_watch_disarm(zk, watch); /* may free it */
        if (func && !zk->over && event_of(item->code, &event))
                func(event, item->text, userdata);
}

/* On the library's completion thread. */
void zk_on_watch(zhandle_t *handle, int type, int state, const char *path, void *context) {
        ZkWatchEvent event;
        ZkItem *item;

        (void)state;
        if (!event_of(type, &event))
                return; /* a session event: the watch stays set */

        item = zk_item_new(ZK_ITEM_WATCH);
        item->code = type;
        item->watch = context;
        item->text = g_strdup(path);
        zk_post((Zk *)zoo_get_context(handle), item);
}

ZkWatch *zk_watch_unref(ZkWatch *watch) {
        if (watch && g_atomic_int_dec_and_test(&watch->refs)) {
                g_free(watch->key);
                g_free(watch);
        }
        return NULL;
}

ZkWatch *zk_watch_free(ZkWatch *watch) {
        if (!watch || !watch->owned)
                return NULL;
        watch->owned = false;
        watch->func = NULL;
        return zk_watch_unref(watch);
}

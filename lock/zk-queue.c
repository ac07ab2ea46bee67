/* The way from the library's threads to the loop: a queue of copies under a mutex, and an eventfd
 * that wakes the loop.
 *
 * The library's log comes the same way. Its callback is told a line and nothing else, so this file
 * has the one global of the room: the list of ports that want lines. Two ports in one process both
 * get the lines of both, as the library's log level is one for all.
 */
#include <string.h>
#include <sys/eventfd.h>
#include <syslog.h>

#include "zk-private.h"

static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;
static GList *log_receivers; /* of Zk, each holding a reference */

ZkItem *zk_item_new(ZkItemType type) {
        ZkItem *item = g_new0(ZkItem, 1);

        item->type = type;
        return item;
}

ZkItem *zk_item_free(ZkItem *item) {
        if (!item)
                return NULL;
        g_free(item->text);
        g_free(item->data);
        g_strfreev(item->children);
        g_free(item->others);
        g_free(item);
        return NULL;
}

static bool post_locked(Zk *zk, ZkItem *item) {
        if (item->type == ZK_ITEM_LOG) {
                if (zk->log_lines >= ZK_LOG_LINES_MAX)
                        return false;
                zk->log_lines++;
        }
        g_queue_push_tail(&zk->queue, item);
        return true;
}

void zk_post(Zk *zk, ZkItem *item) {
        bool posted, first;

        pthread_mutex_lock(&zk->mutex);
        first = g_queue_is_empty(&zk->queue);
        posted = post_locked(zk, item);
        if (item->type == ZK_ITEM_REPLY && --zk->in_flight == 0)
                pthread_cond_broadcast(&zk->changed);
        pthread_mutex_unlock(&zk->mutex);

        if (!posted) {
                zk_item_free(item);
                return;
        }
        /* The loop takes all at once, so only the first of them need wake it. Fails only when the
         * counter is full, and then the loop is awake anyway. */
        if (first)
                (void)eventfd_write(zk->wakeup, 1);
}

void zk_take(Zk *zk) {
        GList *link;

        pthread_mutex_lock(&zk->mutex);
        while ((link = g_queue_pop_head_link(&zk->queue)))
                g_queue_push_tail_link(&zk->taken, link);
        zk->log_lines = 0;
        pthread_mutex_unlock(&zk->mutex);
}

void zk_stat_copy(const struct Stat *stat, ZkStat *ret) {
        *ret = (ZkStat){
            .czxid = stat->czxid,
            .mzxid = stat->mzxid,
            .pzxid = stat->pzxid,
            .ctime_ms = stat->ctime,
            .mtime_ms = stat->mtime,
            .ephemeral_owner = stat->ephemeralOwner,
            .version = stat->version,
            .cversion = stat->cversion,
            .num_children = stat->numChildren,
            .data_length = stat->dataLength,
        };
}

void zk_log_register(Zk *zk) {
        pthread_mutex_lock(&log_mutex);
        log_receivers = g_list_prepend(log_receivers, zk_ref(zk));
        pthread_mutex_unlock(&log_mutex);
}

void zk_log_unregister(Zk *zk) {
        GList *link;

        pthread_mutex_lock(&log_mutex);
        link = g_list_find(log_receivers, zk);
        log_receivers = g_list_delete_link(log_receivers, link);
        pthread_mutex_unlock(&log_mutex);
        if (link)
                zk_unref(zk);
}

/* One step lower than the library says: what matters to people is a change of state, and that is
 * reported as such. */
static int priority_of(const char *line) {
        if (strstr(line, ":ZOO_ERROR@"))
                return LOG_WARNING;
        if (strstr(line, ":ZOO_WARN@"))
                return LOG_INFO;
        return LOG_DEBUG;
}

/* "2024-05-01 10:00:00,123:77(0x7f..):ZOO_INFO@function@12: text" -> "text". */
static char *text_of(const char *line) {
        const char *origin = strstr(line, ":ZOO_"), *text = origin ? strstr(origin, ": ") : NULL;

        return g_strstrip(g_strdup(text ? text + 2 : line));
}

void zk_log_line(const char *line) {
        pthread_mutex_lock(&log_mutex);
        for (GList *link = log_receivers; link; link = link->next) {
                ZkItem *item = zk_item_new(ZK_ITEM_LOG);

                item->code = priority_of(line);
                item->text = text_of(line);
                zk_post(link->data, item);
        }
        pthread_mutex_unlock(&log_mutex);
}

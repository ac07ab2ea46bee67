/* The way from the library's threads to the loop: a queue of copies under a mutex, and an eventfd
 * that wakes the loop.
 *
 * The library's log comes the same way. Its callback is told a line and nothing else, so this file
 * has the one global of the room: the list of ports that want lines. Two ports in one process both
 * get the lines of both, as the library's log level is one for all.
 */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "zk-queue.h"

static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;
static GList *log_receivers; /* of ZkQueue, each holding a reference */

int zk_queue_init(ZkQueue *queue, void (*destroy)(void *owner), void *owner) {
        pthread_condattr_t monotonic;

        queue->refs = 1;
        queue->destroy = destroy;
        queue->owner = owner;
        g_queue_init(&queue->items);
        g_queue_init(&queue->taken);
        pthread_mutex_init(&queue->mutex, NULL);
        /* Not on the wall clock, which may be set while somebody waits. */
        pthread_condattr_init(&monotonic);
        pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
        pthread_cond_init(&queue->changed, &monotonic);
        pthread_condattr_destroy(&monotonic);
        queue->wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        return queue->wakeup < 0 ? -errno : 0;
}

ZkQueue *zk_queue_ref(ZkQueue *queue) {
        g_atomic_int_inc(&queue->refs);
        return queue;
}

ZkQueue *zk_queue_unref(ZkQueue *queue) {
        if (queue && g_atomic_int_dec_and_test(&queue->refs))
                queue->destroy(queue->owner);
        return NULL;
}

void zk_queue_clear(ZkQueue *queue) {
        ZkItem *item;

        zk_take(queue);
        while ((item = g_queue_pop_head(&queue->taken)))
                (void)zk_item_free(item);
        if (queue->wakeup >= 0)
                (void)close(queue->wakeup);
        pthread_cond_destroy(&queue->changed);
        pthread_mutex_destroy(&queue->mutex);
}

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

static bool queue_put(ZkQueue *queue, ZkItem *item) {
        if (item->type == ZK_ITEM_LOG) {
                if (queue->log_lines >= ZK_LOG_LINES_MAX)
                        return false;
                queue->log_lines++;
        }
        g_queue_push_tail(&queue->items, item);
        return true;
}

void zk_post(ZkQueue *queue, ZkItem *item) {
        bool posted, first;

        pthread_mutex_lock(&queue->mutex);
        first = g_queue_is_empty(&queue->items);
        posted = queue_put(queue, item);
        if (item->type == ZK_ITEM_REPLY && --queue->in_flight == 0)
                pthread_cond_broadcast(&queue->changed);
        pthread_mutex_unlock(&queue->mutex);

        if (!posted) {
                zk_item_free(item);
                return;
        }
        /* The loop takes all at once, so only the first of them need wake it. Fails only when the
         * counter is full, and then the loop is awake anyway. */
        if (first)
                (void)eventfd_write(queue->wakeup, 1);
}

void zk_take(ZkQueue *queue) {
        GList *link;

        pthread_mutex_lock(&queue->mutex);
        while ((link = g_queue_pop_head_link(&queue->items)))
                g_queue_push_tail_link(&queue->taken, link);
        queue->log_lines = 0;
        pthread_mutex_unlock(&queue->mutex);
}

void zk_queue_expect(ZkQueue *queue) {
        pthread_mutex_lock(&queue->mutex);
        queue->in_flight++;
        pthread_mutex_unlock(&queue->mutex);
}

void zk_queue_unexpect(ZkQueue *queue) {
        pthread_mutex_lock(&queue->mutex);
        if (--queue->in_flight == 0)
                pthread_cond_broadcast(&queue->changed);
        pthread_mutex_unlock(&queue->mutex);
}

void zk_queue_await_answers(ZkQueue *queue, unsigned limit_ms) {
        struct timespec until;

        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += limit_ms * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;

        pthread_mutex_lock(&queue->mutex);
        while (queue->in_flight > 0)
                if (pthread_cond_timedwait(&queue->changed, &queue->mutex, &until) != 0)
                        break;
        pthread_mutex_unlock(&queue->mutex);
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

void zk_log_register(ZkQueue *queue) {
        pthread_mutex_lock(&log_mutex);
        log_receivers = g_list_prepend(log_receivers, zk_queue_ref(queue));
        pthread_mutex_unlock(&log_mutex);
}

void zk_log_unregister(ZkQueue *queue) {
        GList *link;

        pthread_mutex_lock(&log_mutex);
        link = g_list_find(log_receivers, queue);
        log_receivers = g_list_delete_link(log_receivers, link);
        pthread_mutex_unlock(&log_mutex);
        if (link)
                zk_queue_unref(queue);
}

/* One step lower than the library says: what matters to people is a change of state, and that is
 * reported as such. */
static int line_priority(const char *line) {
        if (strstr(line, ":ZOO_ERROR@"))
                return LOG_WARNING;
        if (strstr(line, ":ZOO_WARN@"))
                return LOG_INFO;
        return LOG_DEBUG;
}

/* "2024-05-01 10:00:00,123:77(0x7f..):ZOO_INFO@function@12: text" -> "text". */
static char *line_text(const char *line) {
        const char *origin = strstr(line, ":ZOO_"), *text = origin ? strstr(origin, ": ") : NULL;

        return g_strstrip(g_strdup(text ? text + 2 : line));
}

void zk_log_line(const char *line) {
        pthread_mutex_lock(&log_mutex);
        for (GList *link = log_receivers; link; link = link->next) {
                ZkItem *item = zk_item_new(ZK_ITEM_LOG);

                item->code = line_priority(line);
                item->text = line_text(line);
                zk_post(link->data, item);
        }
        pthread_mutex_unlock(&log_mutex);
}

/* What a process before us left in very many queues (lock.h): a few directories at a time are
 * looked through, and whatever stands there, but for what is to be spared, is looked at and deleted
 * if it is an orphan of this session (lock-delete.c). So a heartbeat never stands behind all of
 * them, and what is spared is remembered once, and not for each.
 *
 * A server may be behind what the process before us did. The write that makes it current (lock-
 * barrier.c) is needed once for all: a session is never shown less than it was shown before.
 *
 * What the server refuses, and is asked for again only after a while, holds up nothing else.
 */
#include <errno.h>

#include "lock-delete.h"
#include "lock-deleting.h"
#include "lock.h"

typedef struct QueueSweep {
        Session *session; /* weak: we go at its end */
        SessionListener *listener;
        GHashTable *keep;   /* a set of paths */
        GQueue directories; /* to be looked through: char * */
        GQueue found;       /* to be looked at: char *, paths */
        bool current;       /* what is asked is answered as things are */
        unsigned n_under_way;
        unsigned users; /* removals that may tell us of something */
} QueueSweep;

/* ---- what waits ---- */

/* Takes the path. What waits counts as being deleted, in that directory. */
static void queue_sweep_add(QueueSweep *sweep, GQueue *queue, char *path, const char *directory) {
        g_queue_push_tail(queue, path);
        deleting_begins(sweep->session, directory);
}

/* Return: newly allocated; NULL where nothing waits. Its directory, newly allocated, counts on. */
static char *queue_sweep_next(QueueSweep *sweep, bool *ret_found, char **ret_directory) {
        bool found = sweep->found.length > 0;
        char *path = g_queue_pop_head(found ? &sweep->found : &sweep->directories);

        if (path)
                *ret_directory = found ? g_path_get_dirname(path) : g_strdup(path);
        *ret_found = found;
        return path;
}

static void queue_sweep_clear(QueueSweep *sweep) {
        bool found = false;
        char *path, *directory = NULL;

        while ((path = queue_sweep_next(sweep, &found, &directory))) {
                deleting_ends(sweep->session, directory);
                g_free(directory);
                g_free(path);
        }
}

static void queue_sweep_free(QueueSweep *sweep) {
        queue_sweep_clear(sweep);
        session_unlisten(sweep->listener);
        g_hash_table_unref(sweep->keep);
        g_free(sweep);
}

/* ---- what is under way ---- */

static void queue_sweep_on_current(void *userdata);
static void queue_sweep_on_found(const char *path, void *userdata);
static void queue_sweep_on_yield(void *userdata);
static void queue_sweep_on_over(void *userdata);

static const RemovalEvents removal_events = {
    .current = queue_sweep_on_current,
    .found = queue_sweep_on_found,
    .yields = queue_sweep_on_yield,
    .over = queue_sweep_on_over,
};

/* Return: whether something waited. */
static bool queue_sweep_begin_one(QueueSweep *sweep) {
        g_autofree char *path = NULL, *directory = NULL;
        bool found = false, begun;

        path = queue_sweep_next(sweep, &found, &directory);
        if (!path)
                return false;
        sweep->n_under_way++;
        sweep->users++;
        begun = found
                    ? orphan_delete(sweep->session, path, &removal_events, sweep)
                    : orphans_search(sweep->session, path, sweep->current, &removal_events, sweep);
        if (!begun) { /* without a session nothing is left of it */
                sweep->n_under_way--;
                sweep->users--;
        }
        deleting_ends(sweep->session, directory);
        return true;
}

static void queue_sweep_fill(QueueSweep *sweep) {
        while (sweep->n_under_way < LOCK_SWEEP_UNDER_WAY_MAX && queue_sweep_begin_one(sweep))
                ;
}

static void queue_sweep_on_current(void *userdata) {
        ((QueueSweep *)userdata)->current = true;
}

static void queue_sweep_on_found(const char *path, void *userdata) {
        QueueSweep *sweep = userdata;
        g_autofree char *directory = NULL;

        if (g_hash_table_contains(sweep->keep, path))
                return;
        directory = g_path_get_dirname(path);
        queue_sweep_add(sweep, &sweep->found, g_strdup(path), directory);
}

static void queue_sweep_on_yield(void *userdata) {
        QueueSweep *sweep = userdata;

        sweep->n_under_way--;
        queue_sweep_fill(sweep);
}

/* One that had yielded may have found something since: nobody else begins that. */
static void queue_sweep_on_over(void *userdata) {
        QueueSweep *sweep = userdata;

        queue_sweep_fill(sweep);
        if (--sweep->users == 0)
                queue_sweep_free(sweep);
}

/* ---- the whole ---- */

/* We listen longer than what we have begun. */
static void queue_sweep_on_session(Session *session, SessionEvent event, void *userdata) {
        if (event == SESSION_EVENT_LOST || event == SESSION_EVENT_CLOSED)
                queue_sweep_clear(userdata);
}

static QueueSweep *queue_sweep_new(Session *session, const char *const *keep) {
        QueueSweep *sweep = g_new0(QueueSweep, 1);

        sweep->session = session;
        sweep->keep = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        for (size_t i = 0; keep && keep[i]; i++)
                g_hash_table_add(sweep->keep, g_strdup(keep[i]));
        return sweep;
}

int lock_sweep(Session *session, const char *const *directories, const char *const *keep) {
        g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal); /* borrowed */
        QueueSweep *sweep;
        int r;

        if (!session_zk(session))
                return -ENOTCONN;
        sweep = queue_sweep_new(session, keep);
        r = session_listen(session, queue_sweep_on_session, sweep, &sweep->listener);
        for (size_t i = 0; r >= 0 && directories[i]; i++)
                if (g_hash_table_add(known, (gpointer)directories[i]))
                        queue_sweep_add(sweep, &sweep->directories, g_strdup(directories[i]),
                                        directories[i]);
        sweep->users++; /* ourselves, until it has begun */
        queue_sweep_fill(sweep);
        queue_sweep_on_over(sweep);
        return r;
}

/* See past-locks.h. */
#include "past-locks.h"

#include "lock.h"
#include "scope.h"
#include "sweep.h"
#include "timer.h"

/* How often it is looked what of theirs is gone. */
#define LOOK_PERIOD USEC_PER_SEC

/* What is to be done with one on its turn. */
enum {
        PAST_WRITE = 1 << 0,
        PAST_LOOK = 1 << 1,
};

typedef struct PastLock {
        PastLocks *locks; /* weak */
        char *id;
        char **directories;
        char *scope_name, *cgroup;
        Scope *scope;   /* of a command that goes on without it; NULL: none (any more) */
        bool unwritten; /* its file says that it is held */
        bool gone;      /* with its session: nothing is left in the queues */
} PastLock;

struct PastLocks {
        const Node *node;   /* weak */
        UnitManager *units; /* weak */
        GHashTable *locks;  /* id → PastLock */
        GHashTable *before; /* a set: the directories in which a process before us queued */
        bool to_be_swept;   /* those */
        Sweep *turns;
        sd_event_source *timer;
};

static void past_free(void *data) {
        PastLock *past = data;

        sweep_remove(past->locks->turns, past);
        scope_free(past->scope);
        g_free(past->scope_name);
        g_free(past->cgroup);
        g_strfreev(past->directories);
        g_free(past->id);
        g_free(past);
}

static void past_on_scope(Scope *scope, ScopeEvent event, void *userdata) {
        PastLock *past = userdata;

        past->scope = scope_free(past->scope);
        sweep_add(past->locks->turns, past, PAST_LOOK);
}

static void past_watch_scope(PastLock *past, const LockRecord *record) {
        if (!record->go_on || !record->scope || !record->cgroup)
                return;
        past->scope_name = g_strdup(record->scope);
        past->cgroup = g_strdup(record->cgroup);
        (void)scope_adopt(past->locks->units, record->scope, record->cgroup, past_on_scope, past,
                          &past->scope);
        if (past->scope && !scope_is_populated(past->scope))
                past->scope = scope_free(past->scope);
}

static PastLock *past_new(PastLocks *locks, const LockRecord *record) {
        PastLock *past = g_new0(PastLock, 1);

        past->locks = locks;
        past->id = g_strdup(record->id);
        past->directories = g_strdupv(record->directories);
        past_watch_scope(past, record);
        g_hash_table_replace(locks->locks, past->id, past);
        return past;
}

static bool past_is_over(const PastLock *past) {
        return past->gone && !past->scope;
}

static void past_write(PastLock *past) {
        const char *runtime_dir = past->locks->node->runtime_dir;

        past->unwritten = false;
        if (past_is_over(past))
                lock_memory_remove(runtime_dir, past->id);
        else
                /* Why it could not was logged. */
                g_free(lock_memory_save(runtime_dir,
                                        &(LockRecord){
                                            .id = past->id,
                                            .directories = past->gone ? NULL : past->directories,
                                            .scope = past->scope ? past->scope_name : NULL,
                                            .cgroup = past->scope ? past->cgroup : NULL,
                                            .go_on = past->scope,
                                        }));
}

/* Without a session nothing is known of what is deleted: it is kept for the next process. Return:
 * whether nothing of it stands anywhere. */
static bool past_is_gone(const PastLock *past) {
        Session *session = past->locks->node->session;

        if (past->gone)
                return true;
        if (past->locks->to_be_swept || !session_zk(session))
                return false;
        for (char **directory = past->directories; directory && *directory; directory++)
                if (lock_is_deleting(session, *directory))
                        return false;
        return true;
}

/* ---- a few at a time ---- */

static void past_locks_on_look(void *userdata);

static void past_locks_look_later(PastLocks *locks) {
        if (!locks->timer && g_hash_table_size(locks->locks) > 0)
                (void)timer_in(locks->node->event, &locks->timer, LOOK_PERIOD, past_locks_on_look,
                               locks);
}

static void past_locks_on_look(void *userdata) {
        PastLocks *locks = userdata;
        GHashTableIter iterator;
        gpointer past;

        g_hash_table_iter_init(&iterator, locks->locks);
        while (g_hash_table_iter_next(&iterator, NULL, &past))
                sweep_add(locks->turns, past, PAST_LOOK);
        past_locks_look_later(locks);
}

static void past_locks_on_turn(void *item, unsigned what, void *userdata) {
        PastLocks *locks = userdata;
        PastLock *past = item;

        if (what & PAST_LOOK)
                past->gone = past_is_gone(past);
        if ((what & PAST_WRITE) || past_is_over(past))
                past_write(past);
        if (past_is_over(past))
                g_hash_table_remove(locks->locks, past->id);
}

/* ---- the whole ---- */

PastLocks *past_locks_new(const Node *node, UnitManager *units) {
        PastLocks *locks = g_new0(PastLocks, 1);

        locks->node = node;
        locks->units = units;
        locks->locks = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, past_free);
        locks->before = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        locks->turns = sweep_new(node->event, past_locks_on_turn, locks);
        return locks;
}

PastLocks *past_locks_free(PastLocks *locks) {
        GHashTableIter iterator;
        gpointer past;

        if (!locks)
                return NULL;
        g_hash_table_iter_init(&iterator, locks->locks);
        while (g_hash_table_iter_next(&iterator, NULL, &past))
                if (((PastLock *)past)->unwritten)
                        past_write(past);
        g_hash_table_unref(locks->locks);
        g_hash_table_unref(locks->before);
        sweep_free(locks->turns);
        sd_event_source_disable_unref(locks->timer);
        g_free(locks);
        return NULL;
}

void past_locks_add(PastLocks *locks, const LockRecord *record) {
        PastLock *past = past_new(locks, record);

        past->gone = record->session_over;
        past->unwritten = past->gone || lock_record_is_held(record);
        if (past->unwritten)
                sweep_add(locks->turns, past, PAST_WRITE);
        past_locks_look_later(locks);
}

void past_locks_recall(PastLocks *locks, const LockRecord *record) {
        for (char **directory = record->directories; directory && *directory; directory++)
                g_hash_table_add(locks->before, g_strdup(*directory));
        locks->to_be_swept = true;
        if (lock_record_is_held(record))
                return;
        (void)past_new(locks, record);
        past_locks_look_later(locks);
}

void past_locks_session_is_another(PastLocks *locks) {
        GHashTableIter iterator;
        gpointer past;

        g_hash_table_remove_all(locks->before);
        locks->to_be_swept = false;
        g_hash_table_iter_init(&iterator, locks->locks);
        while (g_hash_table_iter_next(&iterator, NULL, &past)) {
                ((PastLock *)past)->gone = ((PastLock *)past)->unwritten = true;
                sweep_add(locks->turns, past, PAST_WRITE);
        }
        sweep_finish(locks->turns); /* before anything is held in the next */
}

void past_locks_sweep(PastLocks *locks, GPtrArray *directories) {
        GHashTableIter iterator;
        gpointer directory;

        g_hash_table_iter_init(&iterator, locks->before);
        while (g_hash_table_iter_next(&iterator, &directory, NULL))
                g_ptr_array_add(directories, g_strdup(directory));
        locks->to_be_swept = false;
}

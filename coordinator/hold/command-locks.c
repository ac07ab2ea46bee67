/* See command-locks.h. The file is rewritten whenever a lock is queued for, held, attached or over.
 */
#include "command-locks.h"

#include "lock.h"
#include "timer.h"

struct CommandLocks {
        CommandLockSetting setting; /* of every lock */
        const CommandLocksEvents *events;
        void *userdata;
        GHashTable *locks; /* id → CommandLock */
        GPtrArray *swept;  /* directories where a process before us queued */
        GPtrArray *left;   /* directories where contenders that we have given up may still stand */
        char *path;        /* of the file */
        sd_event_source *again; /* ends those that were ending before */
};

/* The table may change while we go through it. */
static void command_locks_for_all(CommandLocks *locks, void (*func)(CommandLock *)) {
        g_autoptr(GList) all = g_hash_table_get_values(locks->locks);

        for (GList *link = all; link; link = link->next)
                func(link->data);
}

/* ---- what is remembered ---- */

static void directories_add(GPtrArray *all, char *const *directories) {
        for (char *const *directory = directories; directory && *directory; directory++)
                if (!g_ptr_array_find_with_equal_func(all, *directory, g_str_equal, NULL))
                        g_ptr_array_add(all, g_strdup(*directory));
}

/* Without a session nothing is known of what is deleted: it is kept for who comes next. */
static void command_locks_forget_left(CommandLocks *locks) {
        Session *session = locks->setting.node->session;

        if (!session_zk(session))
                return;
        for (guint i = locks->left->len; i > 0; i--)
                if (!lock_is_deleting(session, locks->left->pdata[i - 1]))
                        g_ptr_array_remove_index_fast(locks->left, i - 1);
}

/* A process that is killed before it could sweep, or before what it gives up is deleted, leaves
 * that to the next. */
bool command_locks_remember(CommandLocks *locks) {
        g_autoptr(GPtrArray) records = g_ptr_array_new(), sweep = g_ptr_array_new();
        GHashTableIter iterator;
        gpointer lock;

        g_hash_table_iter_init(&iterator, locks->locks);
        while (g_hash_table_iter_next(&iterator, NULL, &lock))
                g_ptr_array_add(records, (void *)command_lock_record(lock));
        command_locks_forget_left(locks);
        g_ptr_array_extend(sweep, locks->swept, NULL, NULL);
        g_ptr_array_extend(sweep, locks->left, NULL, NULL);
        return lock_memory_save(locks->path, records, sweep);
}

static void command_locks_insert(CommandLocks *locks, CommandLock *lock) {
        g_hash_table_replace(locks->locks, command_lock_record(lock)->id, lock);
}

static void command_locks_recall(CommandLocks *locks) {
        g_auto(GStrv) swept = NULL;
        g_autoptr(GPtrArray) records = lock_memory_load(locks->path, &swept);

        directories_add(locks->swept, swept);
        /* All of them before one of them ends, which writes the file again. */
        for (guint i = 0; i < records->len; i++) {
                const LockRecord *record = records->pdata[i];

                directories_add(locks->swept, record->directories);
                if (record->paths && *record->paths && !command_locks_find(locks, record->id))
                        command_locks_insert(locks, command_lock_recall(&locks->setting, record));
        }
}

/* From the loop, since one of which nothing is left is over at once. */
static void command_locks_end_again(void *userdata) {
        command_locks_for_all(userdata, command_lock_end_again);
}

/* ---- what a lock tells ---- */

static bool command_locks_on_remember(void *userdata) {
        return command_locks_remember(userdata);
}

static void command_locks_on_over(CommandLock *lock, void *userdata) {
        CommandLocks *locks = userdata;

        directories_add(locks->left, command_lock_record(lock)->directories);
        g_hash_table_remove(locks->locks, command_lock_record(lock)->id);
        (void)command_locks_remember(locks);
        locks->events->over(locks->userdata);
}

static const char *command_locks_unreachable(const void *userdata) {
        const CommandLocks *locks = userdata;

        return locks->events->unreachable(locks->userdata);
}

/* ---- the table ---- */

static void command_locks_destroy_lock(void *data) {
        command_lock_free(data);
}

CommandLocks *command_locks_new(const Node *node, UnitManager *units,
                                const CommandLocksEvents *events, void *userdata) {
        static const CommandLockEvents lock_events = {
            .remember = command_locks_on_remember,
            .over = command_locks_on_over,
            .unreachable = command_locks_unreachable,
        };
        CommandLocks *locks = g_new0(CommandLocks, 1);

        locks->setting = (CommandLockSetting){node, units, &lock_events, locks};
        locks->events = events;
        locks->userdata = userdata;
        locks->locks =
            g_hash_table_new_full(g_str_hash, g_str_equal, NULL, command_locks_destroy_lock);
        locks->swept = g_ptr_array_new_with_free_func(g_free);
        locks->left = g_ptr_array_new_with_free_func(g_free);
        locks->path = g_build_filename(node->runtime_dir, LOCK_MEMORY_FILE, NULL);
        command_locks_recall(locks);
        (void)timer_in(node->event, &locks->again, 0, command_locks_end_again, locks);
        return locks;
}

CommandLocks *command_locks_free(CommandLocks *locks) {
        if (!locks)
                return NULL;
        sd_event_source_disable_unref(locks->again);
        g_hash_table_unref(locks->locks);
        g_ptr_array_unref(locks->swept);
        g_ptr_array_unref(locks->left);
        g_free(locks->path);
        g_free(locks);
        return NULL;
}

const Node *command_locks_node(const CommandLocks *locks) {
        return locks->setting.node;
}

unsigned command_locks_count(const CommandLocks *locks) {
        return g_hash_table_size(locks->locks);
}

CommandLock *command_locks_find(const CommandLocks *locks, const char *id) {
        return g_hash_table_lookup(locks->locks, id);
}

CommandLock *command_locks_add(CommandLocks *locks, CommandRequest *request) {
        CommandLock *lock = command_lock_new(&locks->setting, request);

        command_locks_insert(locks, lock);
        return lock;
}

/* ---- the session ---- */

void command_locks_session_begins(CommandLocks *locks, bool attached) {
        if (!attached) { /* what stood there is going, too */
                g_ptr_array_set_size(locks->swept, 0);
                g_ptr_array_set_size(locks->left, 0);
        }
        command_locks_for_all(locks, attached ? command_lock_session_is_the_same
                                              : command_lock_session_is_another);
}

void command_locks_session_ready(CommandLocks *locks) {
        command_locks_for_all(locks, command_lock_queue);
        command_locks_for_all(locks, command_lock_session_is_the_same);
}

void command_locks_session_stop(CommandLocks *locks) {
        command_locks_for_all(locks, command_lock_session_stops);
}

void command_locks_session_lost(CommandLocks *locks) {
        command_locks_for_all(locks, command_lock_session_is_lost);
}

/* ---- the end ---- */

void command_locks_stop(CommandLocks *locks) {
        command_locks_for_all(locks, command_lock_stop);
}

void command_locks_leave(CommandLocks *locks) {
        command_locks_for_all(locks, command_lock_leave);
}

bool command_locks_idle(const CommandLocks *locks) {
        return command_locks_count(locks) == 0;
}

static void command_locks_keep_paths(const LockRecord *record, GPtrArray *keep) {
        for (char **path = record->paths; path && *path && !record->session_over; path++)
                g_ptr_array_add(keep, g_strdup(*path));
}

void command_locks_keep(const CommandLocks *locks, GPtrArray *directories, GPtrArray *keep) {
        GHashTableIter iterator;
        gpointer lock;

        for (guint i = 0; i < locks->swept->len; i++)
                g_ptr_array_add(directories, g_strdup(locks->swept->pdata[i]));
        g_hash_table_iter_init(&iterator, locks->locks);
        while (g_hash_table_iter_next(&iterator, NULL, &lock))
                command_locks_keep_paths(command_lock_record(lock), keep);
}

/* ---- the bus ---- */

void command_locks_bus_lost(CommandLocks *locks, const sd_bus *bus) {
        g_autoptr(GList) all = g_hash_table_get_values(locks->locks);

        for (GList *link = all; link; link = link->next)
                if (command_caller_is_on(command_lock_caller(link->data), bus))
                        command_lock_bus_is_lost(link->data);
}

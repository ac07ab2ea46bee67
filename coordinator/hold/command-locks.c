/* See command-locks.h.
 *
 * A lock is written down before it is queued for, before its caller is told that it is held, and
 * before its process is moved, each time its own file alone (lock-memory.h). What nobody relies on
 * (that it ends, that its command has ended) waits for one of the next turns: when the session ends
 * and all locks with it, all commands are told first.
 */
#include "command-locks.h"

#include "past-locks.h"
#include "sweep.h"
#include "timer.h"

struct CommandLocks {
        CommandLockSetting setting; /* of every lock */
        const CommandLocksEvents *events;
        void *userdata;
        GHashTable *locks; /* id → CommandLock */
        PastLocks *past;
        Sweep *unwritten;       /* CommandLock: what is to be remembered of it has changed */
        sd_event_source *again; /* ends those that were ending before */
};

/* The table may change while we go through it. */
static void command_locks_for_all(CommandLocks *locks, void (*func)(CommandLock *)) {
        g_autoptr(GList) all = g_hash_table_get_values(locks->locks);

        for (GList *link = all; link; link = link->next)
                func(link->data);
}

/* ---- what is remembered ---- */

static char *command_locks_on_remember(const CommandLock *lock, void *userdata) {
        const CommandLocks *locks = userdata;

        sweep_remove(locks->unwritten, lock);
        return lock_memory_save(locks->setting.node->runtime_dir, command_lock_record(lock));
}

static void command_locks_on_remember_later(CommandLock *lock, void *userdata) {
        sweep_add(((const CommandLocks *)userdata)->unwritten, lock, 0);
}

static void command_locks_on_turn(void *item, unsigned what, void *userdata) {
        g_free(command_locks_on_remember(item, userdata)); /* why it could not was logged */
}

static void command_locks_insert(CommandLocks *locks, CommandLock *lock) {
        g_hash_table_replace(locks->locks, command_lock_record(lock)->id, lock);
}

static void command_locks_recall(CommandLocks *locks) {
        g_autoptr(GPtrArray) records = lock_memory_take_over(locks->setting.node->runtime_dir);

        for (guint i = 0; i < records->len; i++) {
                const LockRecord *record = records->pdata[i];

                past_locks_recall(locks->past, record);
                if (lock_record_is_held(record))
                        command_locks_insert(locks, command_lock_recall(&locks->setting, record));
        }
}

/* From the loop, since one of which nothing is left is over at once. */
static void command_locks_end_again(void *userdata) {
        command_locks_for_all(userdata, command_lock_end_again);
}

/* ---- what a lock tells ---- */

static void command_locks_on_over(CommandLock *lock, void *userdata) {
        CommandLocks *locks = userdata;

        sweep_remove(locks->unwritten, lock);
        if (command_lock_is_remembered(lock))
                past_locks_add(locks->past, command_lock_record(lock));
        g_hash_table_remove(locks->locks, command_lock_record(lock)->id);
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

static const CommandLockEvents lock_events = {
    .remember = command_locks_on_remember,
    .remember_later = command_locks_on_remember_later,
    .over = command_locks_on_over,
    .unreachable = command_locks_unreachable,
};

CommandLocks *command_locks_new(const Node *node, UnitManager *units,
                                const CommandLocksEvents *events, void *userdata) {
        CommandLocks *locks = g_new0(CommandLocks, 1);

        locks->setting = (CommandLockSetting){node, units, &lock_events, locks};
        locks->events = events;
        locks->userdata = userdata;
        locks->locks =
            g_hash_table_new_full(g_str_hash, g_str_equal, NULL, command_locks_destroy_lock);
        locks->unwritten = sweep_new(node->event, command_locks_on_turn, locks);
        locks->past = past_locks_new(node, units);
        command_locks_recall(locks);
        (void)timer_in(node->event, &locks->again, 0, command_locks_end_again, locks);
        return locks;
}

CommandLocks *command_locks_free(CommandLocks *locks) {
        if (!locks)
                return NULL;
        sd_event_source_disable_unref(locks->again);
        sweep_finish(locks->unwritten);
        sweep_free(locks->unwritten);
        g_hash_table_unref(locks->locks);
        past_locks_free(locks->past);
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
        /* What is remembered of a lost lock must not be taken for something in this session. */
        sweep_finish(locks->unwritten);
        if (!attached) /* what stood there is going, too */
                past_locks_session_is_another(locks->past);
        command_locks_for_all(locks, attached ? command_lock_session_is_the_same
                                              : command_lock_session_is_another);
}

void command_locks_session_ready(CommandLocks *locks) {
        command_locks_for_all(locks, command_lock_queue);
}

void command_locks_session_stop(CommandLocks *locks) {
        command_locks_for_all(locks, command_lock_session_stops);
}

void command_locks_session_lost(CommandLocks *locks) {
        command_locks_for_all(locks, command_lock_session_is_lost);
}

/* ---- the end ---- */

void command_locks_stop_queueing(CommandLocks *locks) {
        command_locks_for_all(locks, command_lock_stop_queueing);
}

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

void command_locks_keep(CommandLocks *locks, GPtrArray *directories, GPtrArray *keep) {
        GHashTableIter iterator;
        gpointer lock;

        past_locks_sweep(locks->past, directories);
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

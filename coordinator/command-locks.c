/* See command-lock.h: all of them, and what is remembered of them over a restart.
 *
 * The file is rewritten whenever a lock is queued for, held, attached or over. It names the
 * directories of those that queue, so that their contenders are swept, and of those held all that
 * is needed to go on: the contenders, the scope, and whether a loss stops it.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "bus-interface.h"
#include "command-lock-internal.h"
#include "coordinator-internal.h"
#include "json-line.h"
#include "log.h"
#include "resource.h"

/* The table may change while we go through it. */
static void for_all(CommandLocks *locks, void (*func)(CommandLock *)) {
        g_autoptr(GList) all = g_hash_table_get_values(locks->locks);

        for (GList *link = all; link; link = link->next)
                func(link->data);
}

/* ---- the file ---- */

static json_t *strings_to_json(char **strings) {
        json_t *array = json_array();

        for (; strings && *strings; strings++)
                json_array_append_new(array, json_string(*strings));
        return array;
}

/* Return: newly allocated, the strings; those that are none are left out. */
static char **strings_from_json(const json_t *array) {
        g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
        const json_t *item = NULL;
        size_t index = 0;

        json_array_foreach(array, index, item) if (json_is_string(item))
            g_strv_builder_add(builder, json_string_value(item));
        return g_strv_builder_end(builder);
}

static void set_string(json_t *object, const char *member, const char *value) {
        if (value)
                json_object_set_new(object, member, json_string(value));
}

static json_t *lock_to_json(const CommandLock *lock) {
        json_t *object = json_object();

        set_string(object, "id", lock->id);
        set_string(object, "label", lock->label);
        set_string(object, "scope", lock->scope_name);
        set_string(object, "cgroup", lock->cgroup);
        json_object_set_new(object, "directories", strings_to_json(lock->directories));
        json_object_set_new(object, "paths", strings_to_json(lock->paths));
        json_object_set_new(object, "token", json_integer(lock->token));
        json_object_set_new(object, "go-on", json_boolean(lock->go_on));
        json_object_set_new(object, "ending", json_boolean(lock->state == COMMAND_LOCK_ENDING));
        json_object_set_new(object, "session-over", json_boolean(lock->session_over));
        return object;
}

bool command_locks_remember(CommandLocks *locks) {
        json_t *file = json_object(), *array = json_array(), *swept = json_array();
        g_autofree char *text = NULL;
        g_autoptr(GError) error = NULL;
        GHashTableIter iterator;
        gpointer lock;

        g_hash_table_iter_init(&iterator, locks->locks);
        while (g_hash_table_iter_next(&iterator, NULL, &lock))
                json_array_append_new(array, lock_to_json(lock));
        json_object_set_new(file, "locks", array);
        /* A process that is killed before it could sweep leaves that to the next. */
        for (guint i = 0; i < locks->swept->len; i++)
                json_array_append_new(swept, json_string(locks->swept->pdata[i]));
        json_object_set_new(file, "swept", swept);
        text = json_line_dump(file);
        /* Replaced as a whole by rename. */
        if (g_file_set_contents_full(locks->path, text, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0600,
                                     &error))
                return true;
        log_warning(NULL, "the locks of commands cannot be written down: %s", error->message);
        return false;
}

static void recall_held(CommandLocks *locks, const json_t *object, const char *id, char **paths) {
        CommandLock *lock = command_lock_new(locks, id);

        lock->state = COMMAND_LOCK_HELD;
        lock->session_over = json_is_true(json_object_get(object, "session-over"));
        lock->recalled = !lock->session_over;
        lock->label = g_strdup(json_string_value(json_object_get(object, "label")));
        lock->scope_name = g_strdup(json_string_value(json_object_get(object, "scope")));
        lock->cgroup = g_strdup(json_string_value(json_object_get(object, "cgroup")));
        lock->directories = strings_from_json(json_object_get(object, "directories"));
        lock->paths = paths;
        lock->token = json_integer_value(json_object_get(object, "token"));
        lock->go_on = json_is_true(json_object_get(object, "go-on"));
        lock->was_ending = json_is_true(json_object_get(object, "ending"));
        if (!lock->label)
                lock->label = g_strdup(id);
        command_lock_adopt_scope(lock);
        command_lock_expect_caller(lock);
}

static void end_what_was_ending(CommandLock *lock) {
        if (lock->was_ending)
                command_lock_end(lock, lock->session_over,
                                 "it was ending when jobkeeperd was restarted");
}

static void add_swept(CommandLocks *locks, char **directories) {
        for (char **directory = directories; *directory; directory++)
                if (!g_ptr_array_find_with_equal_func(locks->swept, *directory, g_str_equal, NULL))
                        g_ptr_array_add(locks->swept, g_strdup(*directory));
}

static void recall(CommandLocks *locks, const json_t *object) {
        g_auto(GStrv) directories = strings_from_json(json_object_get(object, "directories"));
        g_auto(GStrv) paths = strings_from_json(json_object_get(object, "paths"));
        const char *id = json_string_value(json_object_get(object, "id"));

        add_swept(locks, directories);
        if (id && *paths && !g_hash_table_contains(locks->locks, id))
                recall_held(locks, object, id, g_steal_pointer(&paths));
}

CommandLocks *command_locks_new(Coordinator *coordinator) {
        CommandLocks *locks = g_new0(CommandLocks, 1);
        g_auto(GStrv) swept = NULL;
        const json_t *object = NULL;
        json_t *file = NULL;
        size_t index = 0;

        locks->coordinator = coordinator;
        locks->locks = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, command_lock_destroy);
        locks->swept = g_ptr_array_new_with_free_func(g_free);
        locks->path = g_build_filename(coordinator->node->runtime_dir, COMMAND_LOCKS_FILE, NULL);
        file = json_load_file(locks->path, JSON_REJECT_DUPLICATES, NULL);
        swept = strings_from_json(json_object_get(file, "swept"));
        add_swept(locks, swept);
        /* All of them before one of them ends, which writes the file again. */
        json_array_foreach(json_object_get(file, "locks"), index, object) recall(locks, object);
        for_all(locks, end_what_was_ending);
        json_decref(file);
        return locks;
}

CommandLocks *command_locks_free(CommandLocks *locks) {
        if (!locks)
                return NULL;
        g_hash_table_unref(locks->locks);
        g_ptr_array_unref(locks->swept);
        g_free(locks->path);
        g_free(locks);
        return NULL;
}

/* ---- the session ---- */

static void end_with_session(CommandLock *lock) {
        lock->session_over = true;
        lock->recalled = false;
        command_lock_end(lock, true, "the ZooKeeper session is over");
}

/* Another session than that in which the process before us held them: it is over, or not ours any
 * more. */
static void session_is_another(CommandLock *lock) {
        if (lock->recalled)
                end_with_session(lock);
}

static void session_is_the_same(CommandLock *lock) {
        if (lock->recalled && !lock->set)
                command_lock_find_again(lock);
}

static void session_stops(CommandLock *lock) {
        if (lock->state == COMMAND_LOCK_HELD && !lock->go_on)
                command_lock_end(lock, false, "ZooKeeper has not answered for too long");
}

static void session_is_lost(CommandLock *lock) {
        if (lock->state == COMMAND_LOCK_QUEUED)
                lock->set = lock_set_free(lock->set);
        else
                end_with_session(lock);
}

void command_locks_session_begins(CommandLocks *locks, bool attached) {
        if (!attached)
                g_ptr_array_set_size(locks->swept, 0); /* what stood there is going, too */
        for_all(locks, attached ? session_is_the_same : session_is_another);
}

void command_locks_session_ready(CommandLocks *locks) {
        for_all(locks, command_lock_queue);
        for_all(locks, session_is_the_same);
}

void command_locks_session_stop(CommandLocks *locks) {
        for_all(locks, session_stops);
}

void command_locks_session_lost(CommandLocks *locks) {
        for_all(locks, session_is_lost);
}

/* ---- the end ---- */

/* Nobody waits for a daemon that goes: the caller asks the next one. */
static void stop_queueing(CommandLock *lock) {
        command_lock_refuse(&lock->acquiring, BUS_ERROR_STOPPING, "jobkeeperd is stopping");
        command_lock_release(lock);
}

static void stop_lock(CommandLock *lock) {
        if (lock->state == COMMAND_LOCK_QUEUED)
                stop_queueing(lock);
        else
                command_lock_end(lock, false, "jobkeeperd was stopped");
}

static void leave_lock(CommandLock *lock) {
        if (lock->state == COMMAND_LOCK_QUEUED)
                stop_queueing(lock);
        else
                lock->set = lock_set_forget(lock->set);
}

void command_locks_stop(CommandLocks *locks) {
        for_all(locks, stop_lock);
}

void command_locks_leave(CommandLocks *locks) {
        for_all(locks, leave_lock);
}

bool command_locks_idle(const CommandLocks *locks) {
        return g_hash_table_size(locks->locks) == 0;
}

static void keep_paths(const CommandLock *lock, GPtrArray *keep) {
        for (char **path = lock->paths; path && *path && !lock->session_over; path++)
                g_ptr_array_add(keep, g_strdup(*path));
}

void command_locks_keep(const CommandLocks *locks, GPtrArray *directories, GPtrArray *keep) {
        GHashTableIter iterator;
        gpointer value;

        for (guint i = 0; i < locks->swept->len; i++)
                g_ptr_array_add(directories, g_strdup(locks->swept->pdata[i]));
        g_hash_table_iter_init(&iterator, locks->locks);
        while (g_hash_table_iter_next(&iterator, NULL, &value))
                keep_paths(value, keep);
}

/* ---- the bus ---- */

static void bus_is_lost(CommandLock *lock) {
        if (lock->state == COMMAND_LOCK_QUEUED)
                command_lock_release(lock); /* its call went with the connection */
        else
                command_lock_expect_caller(lock);
}

void command_locks_bus_lost(CommandLocks *locks, const sd_bus *bus) {
        g_autoptr(GList) all = g_hash_table_get_values(locks->locks);

        for (GList *link = all; link; link = link->next)
                if (((const CommandLock *)link->data)->bus == bus)
                        bus_is_lost(link->data);
}

/* See command-lock.h: the life of one.
 *
 *   QUEUED ── held ──▶ HELD ── released by its caller ──▶ gone
 *     │                  └── lost, or its caller vanished ──▶ ENDING ── cgroup empty ──▶ gone
 *     └── timeout, fault, its caller vanished ──▶ gone
 */
#include <errno.h>
#include <string.h>

#include "bus-interface.h"
#include "command-lock-internal.h"
#include "coordinator-internal.h"
#include "json-line.h"
#include "log.h"
#include "message-id.h"
#include "paths.h"
#include "unit-spec.h"

/* How long a held lock waits for its caller to come back after a restart of ours, or when the bus
 * is back. */
#define CALLER_PATIENCE (10 * USEC_PER_SEC)
#define NOT_WRITTEN "jobkeeperd cannot write it down under its runtime directory"

CommandLock *command_lock_new(CommandLocks *table, const char *id) {
        CommandLock *lock = g_new0(CommandLock, 1);

        lock->table = table;
        lock->id = g_strdup(id);
        lock->strings = g_ptr_array_new_with_free_func(g_free);
        lock->requests = g_array_new(FALSE, TRUE, sizeof(LockRequest));
        g_hash_table_insert(table->locks, lock->id, lock);
        return lock;
}

static void forget_caller(CommandLock *lock) {
        lock->presence = bus_owner_free(lock->presence);
        g_clear_pointer(&lock->caller, g_free);
        lock->bus = NULL;
}

void command_lock_destroy(void *data) {
        CommandLock *lock = data;

        command_lock_refuse(&lock->acquiring, BUS_ERROR_STOPPING, "jobkeeperd is stopping");
        command_lock_refuse(&lock->attaching, BUS_ERROR_NO_SUCH_LOCK, "the lock has ended");
        command_lock_refuse(&lock->adopting, BUS_ERROR_NO_SUCH_LOCK, "the lock has ended");
        forget_caller(lock);
        sd_event_source_disable_unref(lock->timer);
        scope_free(lock->scope);
        /* What is still held belongs to the process after us, or ends with the session. */
        lock_set_forget(lock->set);
        g_ptr_array_unref(lock->strings);
        g_array_unref(lock->requests);
        g_strfreev(lock->directories);
        g_strfreev(lock->paths);
        g_free(lock->label);
        g_free(lock->payload);
        g_free(lock->scope_name);
        g_free(lock->cgroup);
        g_free(lock->id);
        g_free(lock);
}

void command_lock_release(CommandLock *lock) {
        CommandLocks *table = lock->table;

        /* Contenders that no LockSet of ours owns yet: taking them over and giving them up deletes
         * them. Without a session the sweep does, as nobody spares them any more. */
        if (lock->recalled && !lock->set)
                (void)lock_set_adopt(table->coordinator->session, (const char *const *)lock->paths,
                                     NULL, NULL, NULL, &lock->set);
        lock->set = lock_set_free(lock->set);
        g_hash_table_remove(table->locks, lock->id);
        (void)command_locks_remember(table);
        if (node_is_ending(table->coordinator->node))
                coordinator_close_when_idle(table->coordinator);
}

/* ---- answers ---- */

void command_lock_answer(sd_bus_message **call, json_t *object) {
        g_autofree char *text = json_line_dump(object);

        if (*call)
                (void)sd_bus_reply_method_return(*call, "s", text);
        *call = sd_bus_message_unref(*call);
}

void command_lock_refuse(sd_bus_message **call, const char *name, const char *why) {
        if (*call)
                (void)sd_bus_reply_method_errorf(*call, name, "%s", why);
        *call = sd_bus_message_unref(*call);
}

json_t *command_lock_lease(const CommandLock *lock) {
        bool held = lock->state == COMMAND_LOCK_HELD && lock->set;
        json_t *object = json_object();

        json_object_set_new(object, "id", json_string(lock->id));
        json_object_set_new(object, "state",
                            json_string(lock->state == COMMAND_LOCK_ENDING ? "ending" : "held"));
        json_object_set_new(object, "held_until",
                            json_integer(held ? (json_int_t)lock_set_held_until(lock->set) : 0));
        json_object_set_new(
            object, "stop_at",
            json_integer(held ? (json_int_t)session_stop_at(lock->table->coordinator->session)
                              : 0));
        return object;
}

static void answer_held(CommandLock *lock) {
        json_t *object = command_lock_lease(lock), *paths = json_array();

        for (char **path = lock->paths; *path; path++)
                json_array_append_new(paths, json_string(*path));
        json_object_set_new(object, "token", json_integer(lock->token));
        json_object_set_new(object, "paths", paths);
        command_lock_answer(&lock->acquiring, object);
}

static void answer_not_held(CommandLock *lock, const char *state, const char *why) {
        json_t *object = json_object();

        json_object_set_new(object, "state", json_string(state));
        json_object_set_new(object, "why", json_string(why));
        command_lock_answer(&lock->acquiring, object);
        command_lock_release(lock);
}

static void tell_caller(const CommandLock *lock, const char *signal, const char *why,
                        bool at_once) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        sd_bus *bus = lock->bus;

        if (bus && lock->caller &&
            sd_bus_message_new_signal(bus, &message, BUS_PATH, BUS_INTERFACE, signal) >= 0 &&
            sd_bus_message_append(message, "ssb", lock->id, why, (int)at_once) >= 0 &&
            sd_bus_message_set_destination(message, lock->caller) >= 0)
                (void)sd_bus_send(bus, message, NULL);
}

/* ---- the end ---- */

static void on_scope(Scope *scope, ScopeEvent event, void *userdata) {
        CommandLock *lock = userdata;

        if (event == SCOPE_EVENT_STARTED) {
                json_t *object = json_object();

                lock->cgroup = g_strdup(scope_cgroup(scope));
                if (!command_locks_remember(lock->table)) {
                        command_lock_refuse(&lock->attaching, BUS_ERROR_FAILED, NOT_WRITTEN);
                        command_lock_end(lock, true, NOT_WRITTEN);
                        return;
                }
                json_object_set_new(object, "scope", json_string(lock->scope_name));
                json_object_set_new(object, "cgroup", json_string(lock->cgroup));
                command_lock_answer(&lock->attaching, object);
                return;
        }
        command_lock_refuse(&lock->attaching, BUS_ERROR_FAILED, scope_fault(scope));
        lock->scope = scope_free(lock->scope);
        g_clear_pointer(&lock->scope_name, g_free);
        g_clear_pointer(&lock->cgroup, g_free);
        if (lock->state == COMMAND_LOCK_ENDING)
                command_lock_release(lock);
        else
                (void)command_locks_remember(lock->table);
}

void command_lock_end(CommandLock *lock, bool at_once, const char *why) {
        const LogAbout about = {.message_id = MESSAGE_COMMAND_LOCK_ENDED};

        if (lock->state == COMMAND_LOCK_HELD) {
                log_warning(&about, "the lock %s of a command ends: %s", lock->label, why);
                tell_caller(lock, "LockLost", why, at_once);
        }
        lock->state = COMMAND_LOCK_ENDING;
        lock->timer = sd_event_source_disable_unref(lock->timer);
        /* A process that has not moved in yet has not executed anything, and will not. */
        if (!lock->scope || lock->go_on) {
                command_lock_release(lock);
                return;
        }
        (void)command_locks_remember(lock->table);
        if (at_once)
                scope_kill(lock->scope);
        else
                scope_stop(lock->scope);
}

/* ---- the caller ---- */

static void caller_vanished(CommandLock *lock) {
        forget_caller(lock);
        if (lock->state == COMMAND_LOCK_QUEUED) {
                lock->acquiring = sd_bus_message_unref(lock->acquiring);
                command_lock_release(lock);
                return;
        }
        /* It had promised to hold for as long as its command runs: so that must not run on, even
         * where a loss would have let it. */
        lock->go_on = false;
        command_lock_end(lock, false, "who asked for it has vanished");
}

static void lock_on_presence(BusOwner *presence, const char *before, const char *now,
                             void *userdata) {
        if (!*now)
                caller_vanished(userdata);
}

void command_lock_set_caller(CommandLock *lock, sd_bus_message *message) {
        sd_bus *bus = sd_bus_message_get_bus(message);

        forget_caller(lock);
        lock->bus = bus;
        lock->caller = g_strdup(sd_bus_message_get_sender(message));
        if (lock->state != COMMAND_LOCK_QUEUED)
                lock->timer = sd_event_source_disable_unref(lock->timer);
        (void)bus_owner_new(bus, lock->caller, lock_on_presence, lock, &lock->presence);
}

static int on_no_caller(sd_event_source *source, uint64_t usec, void *userdata) {
        CommandLock *lock = userdata;

        lock->go_on = false;
        command_lock_end(lock, false, "who asked for it has not come back");
        return 0;
}

void command_lock_expect_caller(CommandLock *lock) {
        forget_caller(lock);
        lock->attaching = sd_bus_message_unref(lock->attaching);
        lock->adopting = sd_bus_message_unref(lock->adopting);
        lock->timer = sd_event_source_disable_unref(lock->timer);
        (void)sd_event_add_time_relative(lock->table->coordinator->event, &lock->timer,
                                         CLOCK_MONOTONIC, CALLER_PATIENCE, USEC_PER_MSEC,
                                         on_no_caller, lock);
}

/* ---- the scope ---- */

int command_lock_attach(CommandLock *lock, pid_t pid) {
        const DaemonConfig *config = lock->table->coordinator->config;
        g_autofree char *description = g_strdup_printf("jobkeeper lock %s", lock->label);
        ScopeSpec spec = {
            .description = description,
            .slice = UNIT_SLICE,
            .pid = pid,
            .stop_timeout = usec_sub(config->fence_budget, config->kill_slack),
        };

        lock->scope_name = g_strdup_printf("jobkeeper-lock-%s.scope", lock->id);
        spec.name = lock->scope_name;
        return scope_start(lock->table->coordinator->units, &spec, on_scope, lock, &lock->scope);
}

void command_lock_adopt_scope(CommandLock *lock) {
        if (lock->scope_name && lock->cgroup)
                (void)scope_adopt(lock->table->coordinator->units, lock->scope_name, lock->cgroup,
                                  on_scope, lock, &lock->scope);
}

/* ---- the queue ---- */

static void lock_held(CommandLock *lock) {
        Session *session = lock->table->coordinator->session;
        usec_t now = clock_boottime();

        /* Granted so late that the command would be stopped at once: queue again. */
        if (lock->state == COMMAND_LOCK_QUEUED &&
            (lock_set_held_until(lock->set) <= now || session_stop_at(session) <= now)) {
                lock->set = lock_set_free(lock->set);
                command_lock_queue(lock);
                return;
        }
        if (lock->state == COMMAND_LOCK_QUEUED) {
                lock->timer = sd_event_source_disable_unref(lock->timer);
                lock->state = COMMAND_LOCK_HELD;
                lock->token = lock_set_fencing_token(lock->set);
                lock->paths = g_strdupv((char **)lock_set_paths(lock->set));
                if (command_locks_remember(lock->table))
                        answer_held(lock);
                else
                        answer_not_held(lock, "failed", NOT_WRITTEN);
                return;
        }
        lock->recalled = false;
        if (lock->adopting)
                command_lock_answer(&lock->adopting, command_lock_lease(lock));
}

static void lock_lost(CommandLock *lock) {
        if (lock->state == COMMAND_LOCK_QUEUED) {
                lock->set = lock_set_free(lock->set);
                command_lock_queue(lock);
                return;
        }
        command_lock_end(lock, true, "the lock is lost");
}

static void on_set(LockSet *set, LockEvent event, void *userdata) {
        CommandLock *lock = userdata;

        switch (event) {
        case LOCK_EVENT_HELD:
                lock_held(lock);
                return;
        case LOCK_EVENT_TIMEOUT:
                answer_not_held(lock, lock->is_try ? "busy" : "timeout", "");
                return;
        case LOCK_EVENT_LOST:
                lock_lost(lock);
                return;
        case LOCK_EVENT_FAILED:
                answer_not_held(lock, "failed", lock_set_fault(set));
                return;
        case LOCK_EVENT_REVOKED:
                tell_caller(lock, "LockRevoked", "", false);
                return;
        case LOCK_EVENT_DOWNGRADED:
                return; /* not asked for */
        }
}

void command_lock_queue(CommandLock *lock) {
        const Coordinator *coordinator = lock->table->coordinator;
        g_autofree char *parent = path_locks(coordinator->config->root), *why = NULL;
        const LockOptions options = {
            .parent = parent,
            .payload = lock->payload,
            .wait = lock->is_try ? 0 : usec_sub(lock->give_up_at, clock_monotonic()),
            .revocable = true,
            .fresh_token = true, /* comparable with those of jobs, which are their claims' */
        };
        int r = 0;

        if (lock->state != COMMAND_LOCK_QUEUED || lock->set || !node_is_ready(coordinator->node) ||
            session_state(coordinator->session) != SESSION_CONNECTED)
                return;
        if (!command_locks_remember(lock->table)) { /* where to look for it after a crash */
                answer_not_held(lock, "failed", NOT_WRITTEN);
                return;
        }
        r = lock_set_acquire(coordinator->session,
                             (const LockRequest *)(void *)lock->requests->data, lock->requests->len,
                             &options, on_set, lock, &lock->set);
        if (r >= 0 || r == -ENOTCONN)
                return;
        why = g_strdup_printf("cannot queue: %s", g_strerror(-r));
        answer_not_held(lock, "failed", why);
}

void command_lock_find_again(CommandLock *lock) {
        const LockOptions options = {
            .payload = lock->payload, .revocable = true, .fresh_token = true};
        int r = lock_set_adopt(lock->table->coordinator->session, (const char *const *)lock->paths,
                               &options, on_set, lock, &lock->set);

        if (r < 0 && r != -ENOTCONN)
                command_lock_end(lock, true, "the lock is lost");
}

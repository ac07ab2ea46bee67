/* See command-lock.h. */
#include "command-lock.h"

#include <errno.h>

#include "bus-interface.h"
#include "cgroup.h"
#include "draw.h"
#include "fence-link.h"
#include "lock.h"
#include "log.h"
#include "message-id.h"
#include "paths.h"
#include "scope.h"
#include "timer.h"
#include "unit-spec.h"

/* How long a held lock waits for its caller to come back after a restart of ours, or when the bus
 * is back. */
#define CALLER_PATIENCE (10 * USEC_PER_SEC)

typedef enum CommandLockState {
        COMMAND_LOCK_QUEUED, /* in the queue, or waits for a session to queue in */
        COMMAND_LOCK_HELD,
        COMMAND_LOCK_ENDING, /* its scope is being stopped; released once that is empty */
} CommandLockState;

struct CommandLock {
        const CommandLockSetting *setting; /* weak */
        LockRecord record;
        CommandRequest *request; /* NULL where it was recalled */
        CommandCaller *caller;
        CommandLockState state;
        bool recalled;   /* a process before us got it; not found in our session yet */
        bool remembered; /* something of it was written down */
        LockSet *set;
        Scope *scope;
        char *fence; /* the instance of the fence that was linked when the scope was asked for */
        sd_event_source *timer; /* queued: gives up; held: the caller's coming back */
        sd_event_source *again; /* queues again */
};

static void command_lock_end(CommandLock *lock, bool at_once, const char *why);
static void command_lock_on_vanished(void *userdata);

static CommandLock *command_lock_alloc(const CommandLockSetting *setting) {
        CommandLock *lock = g_new0(CommandLock, 1);

        lock->setting = setting;
        lock->caller = command_caller_new(command_lock_on_vanished, lock);
        return lock;
}

CommandLock *command_lock_new(const CommandLockSetting *setting, CommandRequest *request) {
        CommandLock *lock = command_lock_alloc(setting);
        uint32_t high = draw_bits(), low = draw_bits();

        lock->request = request;
        lock->record.id = g_strdup_printf("%08x%08x", high, low);
        lock->record.label = g_strdup(request->label);
        lock->record.directories = g_strdupv(request->directories);
        lock->record.go_on = request->go_on;
        return lock;
}

CommandLock *command_lock_free(CommandLock *lock) {
        if (!lock)
                return NULL;
        command_caller_free(lock->caller);
        sd_event_source_disable_unref(lock->timer);
        sd_event_source_disable_unref(lock->again);
        scope_free(lock->scope);
        lock_set_forget(lock->set);
        g_free(lock->fence);
        command_request_free(lock->request);
        lock_record_clear(&lock->record);
        g_free(lock);
        return NULL;
}

/* ---- what others see ---- */

const LockRecord *command_lock_record(const CommandLock *lock) {
        return &lock->record;
}

bool command_lock_is_remembered(const CommandLock *lock) {
        return lock->remembered;
}

CommandCaller *command_lock_caller(const CommandLock *lock) {
        return lock->caller;
}

bool command_lock_is_queued(const CommandLock *lock) {
        return lock->state == COMMAND_LOCK_QUEUED;
}

bool command_lock_is_held(const CommandLock *lock) {
        return lock->state == COMMAND_LOCK_HELD;
}

static Session *command_lock_session(const CommandLock *lock) {
        return lock->setting->node->session;
}

/* Return: NULL; or why it could not be written down, the caller's. */
static char *command_lock_remember(CommandLock *lock) {
        char *why = lock->setting->events->remember(lock, lock->setting->userdata);

        lock->remembered = lock->remembered || !why;
        return why;
}

static void command_lock_remember_later(CommandLock *lock) {
        lock->setting->events->remember_later(lock, lock->setting->userdata);
}

/* Return: why its command would have no fence, a sentence; NULL where it has one, or needs none. */
static const char *command_lock_unfenced(const CommandLock *lock) {
        return lock->record.go_on ? NULL : fence_link_fault(lock->setting->node->fence);
}

static bool command_lock_may_queue(const CommandLock *lock) {
        return node_is_ready(lock->setting->node) &&
               session_state(command_lock_session(lock)) == SESSION_CONNECTED &&
               !command_lock_unfenced(lock);
}

/* Lets go of the lock and frees it. The scope, if one is left, stays as it is. Contenders of a
 * recalled one that were not found again yet are left to the sweep: nobody spares them any more. */
static void command_lock_release(CommandLock *lock) {
        lock->set = lock_set_free(lock->set);
        lock->setting->events->over(lock, lock->setting->userdata);
}

/* ---- answers ---- */

json_t *command_lock_lease(const CommandLock *lock) {
        bool held = lock->state == COMMAND_LOCK_HELD && lock->set;
        usec_t held_until = held ? lock_set_held_until(lock->set) : 0;
        usec_t stop_at = held ? session_stop_at(command_lock_session(lock)) : 0;
        json_t *object = json_object();

        json_object_set_new(object, "id", json_string(lock->record.id));
        json_object_set_new(object, "state",
                            json_string(lock->state == COMMAND_LOCK_ENDING ? "ending" : "held"));
        json_object_set_new(object, "held_until", json_integer((json_int_t)held_until));
        json_object_set_new(object, "stop_at", json_integer((json_int_t)stop_at));
        return object;
}

static void command_lock_answer_held(CommandLock *lock) {
        json_t *object = command_lock_lease(lock), *paths = json_array();

        for (char **path = lock->record.paths; *path; path++)
                json_array_append_new(paths, json_string(*path));
        json_object_set_new(object, "token", json_integer(lock->record.token));
        json_object_set_new(object, "paths", paths);
        command_caller_answer(lock->caller, COMMAND_CALL_ACQUIRE, object);
}

static void command_lock_answer_not_held(CommandLock *lock, const char *state, const char *why) {
        json_t *object = json_object();

        json_object_set_new(object, "state", json_string(state));
        json_object_set_new(object, "why", json_string(why));
        command_caller_answer(lock->caller, COMMAND_CALL_ACQUIRE, object);
        command_lock_release(lock);
}

/* ---- the end ---- */

/* Return: whether it is written down. If not, it is ended, and may be free. */
static bool command_lock_write_scope(CommandLock *lock) {
        g_autofree char *why = command_lock_remember(lock);

        if (!why)
                return true;
        command_caller_refuse(lock->caller, COMMAND_CALL_ATTACH, BUS_ERROR_FAILED, why);
        command_lock_end(lock, true, why);
        return false;
}

static void command_lock_answer_attached(const CommandLock *lock) {
        json_t *object = json_object();

        json_object_set_new(object, "scope", json_string(lock->record.scope));
        json_object_set_new(object, "cgroup", json_string(lock->record.cgroup));
        command_caller_answer(lock->caller, COMMAND_CALL_ATTACH, object);
}

static bool command_lock_is_fenced(const CommandLock *lock) {
        const char *fence = fence_link_instance(lock->setting->node->fence);

        return lock->record.go_on || g_strcmp0(fence, lock->fence) == 0;
}

/* A start that was asked for while the fence left off waits for the next one, and is done beside
 * that, whose timers follow us only once it is linked: the command is not to be executed there. */
static void command_lock_on_started(CommandLock *lock) {
        g_free(lock->record.cgroup);
        lock->record.cgroup = g_strdup(scope_cgroup(lock->scope));
        if (!command_lock_is_fenced(lock)) {
                command_caller_refuse(lock->caller, COMMAND_CALL_ATTACH, BUS_ERROR_FAILED,
                                      "the fence is being replaced");
                scope_kill(lock->scope);
        } else if (command_lock_write_scope(lock))
                command_lock_answer_attached(lock);
}

static void command_lock_forget_scope(CommandLock *lock) {
        lock->scope = scope_free(lock->scope);
        g_clear_pointer(&lock->record.scope, g_free);
        g_clear_pointer(&lock->record.cgroup, g_free);
        lock->record.pid = 0;
}

static void command_lock_on_scope(Scope *scope, ScopeEvent event, void *userdata) {
        CommandLock *lock = userdata;

        if (event == SCOPE_EVENT_STARTED) {
                command_lock_on_started(lock);
                return;
        }
        command_caller_refuse(lock->caller, COMMAND_CALL_ATTACH, BUS_ERROR_FAILED,
                              scope_fault(scope));
        command_lock_forget_scope(lock);
        if (lock->state == COMMAND_LOCK_ENDING)
                command_lock_release(lock);
        else
                command_lock_remember_later(lock);
}

/* Ends it because the lock is lost or to be: the command's scope is stopped or killed, and then the
 * lock is released. May free it. Nothing is written here: all of them may end at once, and the last
 * command is to be stopped as soon as the first. */
static void command_lock_end(CommandLock *lock, bool at_once, const char *why) {
        const LogAbout about = {.message_id = MESSAGE_COMMAND_LOCK_ENDED};
        bool known = lock->record.ending;

        if (lock->state == COMMAND_LOCK_HELD) {
                log_warning(&about, "releasing the lock %s of a command: %s", lock->record.label,
                            why);
                command_caller_tell(lock->caller, "LockLost", lock->record.id, why, at_once);
        }
        lock->state = COMMAND_LOCK_ENDING;
        lock->record.ending = true;
        lock->timer = sd_event_source_disable_unref(lock->timer);
        /* A process that has not moved in yet has not executed anything, and will not. */
        if (!lock->scope || lock->record.go_on) {
                command_lock_release(lock);
                return;
        }
        if (at_once)
                scope_kill(lock->scope);
        else
                scope_stop(lock->scope);
        if (!known)
                command_lock_remember_later(lock);
}

void command_lock_give_back(CommandLock *lock) {
        if (lock->state != COMMAND_LOCK_ENDING)
                command_lock_release(lock);
}

/* ---- the caller ---- */

static void command_lock_on_vanished(void *userdata) {
        CommandLock *lock = userdata;

        if (lock->state == COMMAND_LOCK_QUEUED) {
                command_caller_drop(lock->caller, COMMAND_CALL_ACQUIRE);
                command_lock_release(lock);
                return;
        }
        /* It had promised to hold for as long as its command runs: so that must not run on, even
         * where a loss would have let it. */
        lock->record.go_on = false;
        command_lock_end(lock, false, "the process that asked for it has vanished");
}

static void command_lock_on_no_caller(void *userdata) {
        CommandLock *lock = userdata;

        lock->record.go_on = false;
        command_lock_end(lock, false, "the process that asked for it has not come back");
}

/* The lock has nobody who asked for it: ends unless somebody adopts it soon. */
static void command_lock_expect_caller(CommandLock *lock) {
        command_caller_forget(lock->caller);
        command_caller_drop(lock->caller, COMMAND_CALL_ATTACH);
        command_caller_drop(lock->caller, COMMAND_CALL_ADOPT);
        (void)timer_in(lock->setting->node->event, &lock->timer, CALLER_PATIENCE,
                       command_lock_on_no_caller, lock);
}

bool command_lock_adopt(CommandLock *lock, sd_bus_message *message) {
        command_caller_set(lock->caller, message);
        lock->timer = sd_event_source_disable_unref(lock->timer);
        return lock->state != COMMAND_LOCK_HELD || !lock->recalled;
}

void command_lock_bus_is_lost(CommandLock *lock) {
        if (lock->state == COMMAND_LOCK_QUEUED)
                command_lock_release(lock); /* its call went with the connection */
        else
                command_lock_expect_caller(lock);
}

/* ---- the scope ---- */

bool command_lock_may_attach(const CommandLock *lock, pid_t pid) {
        return !lock->scope || lock->record.pid == pid;
}

/* What goes on without its lock the fence has no part in. */
static const char *command_lock_slice(const CommandLock *lock) {
        return lock->record.go_on ? UNIT_SLICE_UNFENCED : UNIT_SLICE;
}

static int command_lock_start_scope(CommandLock *lock) {
        const DaemonConfig *config = lock->setting->node->config;
        g_autofree char *description = g_strdup_printf("jobkeeper lock %s", lock->record.label);
        ScopeSpec spec = {
            .description = description,
            .name = lock->record.scope,
            .slice = command_lock_slice(lock),
            .fenced = !lock->record.go_on,
            .pid = lock->record.pid,
            .stop_timeout = usec_sub(config->fence_budget, config->kill_slack),
        };

        g_free(lock->fence);
        lock->fence = g_strdup(fence_link_instance(lock->setting->node->fence));
        return scope_start(lock->setting->units, &spec, command_lock_on_scope, lock, &lock->scope);
}

/* It is written down before the process is moved: a process of ours that is killed meanwhile leaves
 * to the next one where to look. */
int command_lock_attach(CommandLock *lock, pid_t pid) {
        LockRecord *record = &lock->record;

        if (lock->scope) {
                if (scope_cgroup(lock->scope))
                        command_lock_answer_attached(lock);
                return 0; /* otherwise that comes when the process has moved */
        }
        if (command_lock_unfenced(lock)) {
                command_caller_refuse(lock->caller, COMMAND_CALL_ATTACH, BUS_ERROR_FAILED,
                                      command_lock_unfenced(lock));
                return 0;
        }
        record->pid = pid;
        g_free(record->scope);
        record->scope = g_strdup_printf("jobkeeper-lock-%s.scope", record->id);
        g_free(record->cgroup);
        record->cgroup = cgroup_path_of_unit(command_lock_slice(lock), record->scope);
        return command_lock_write_scope(lock) ? command_lock_start_scope(lock) : 0;
}

/* In one where nobody is, the process had not been moved, or the command has ended. */
static void command_lock_adopt_scope(CommandLock *lock) {
        const LockRecord *record = &lock->record;

        if (record->scope && record->cgroup)
                (void)scope_adopt(lock->setting->units, record->scope, record->cgroup,
                                  command_lock_on_scope, lock, &lock->scope);
        if (lock->scope && !scope_is_populated(lock->scope))
                command_lock_forget_scope(lock);
}

/* ---- the queue ---- */

static void command_lock_on_again(void *userdata) {
        command_lock_queue(userdata);
}

static void command_lock_on_granted(CommandLock *lock) {
        usec_t now = clock_boottime();
        g_autofree char *why = NULL;

        /* Granted so late that the command would be stopped at once: queue again, when another
         * heartbeat may have come, for until then it would be as late. */
        if (lock_set_held_until(lock->set) <= now ||
            session_stop_at(command_lock_session(lock)) <= now || command_lock_unfenced(lock)) {
                lock->set = lock_set_free(lock->set);
                (void)timer_in(lock->setting->node->event, &lock->again,
                               lock->setting->node->config->heartbeat, command_lock_on_again, lock);
                return;
        }
        lock->timer = sd_event_source_disable_unref(lock->timer);
        lock->state = COMMAND_LOCK_HELD;
        lock->record.token = lock_set_fencing_token(lock->set);
        lock->record.paths = g_strdupv((char **)lock_set_paths(lock->set));
        why = command_lock_remember(lock);
        if (!why)
                command_lock_answer_held(lock);
        else
                command_lock_answer_not_held(lock, "failed", why);
}

static void command_lock_on_held(CommandLock *lock) {
        if (lock->state == COMMAND_LOCK_QUEUED) {
                command_lock_on_granted(lock);
                return;
        }
        lock->recalled = false;
        if (command_caller_waits(lock->caller, COMMAND_CALL_ADOPT))
                command_caller_answer(lock->caller, COMMAND_CALL_ADOPT, command_lock_lease(lock));
}

static void command_lock_on_lost(CommandLock *lock) {
        if (lock->state == COMMAND_LOCK_QUEUED) {
                lock->set = lock_set_free(lock->set);
                command_lock_queue(lock);
                return;
        }
        command_lock_end(lock, true, "the lock is lost");
}

static void command_lock_on_set(LockSet *set, LockEvent event, void *userdata) {
        CommandLock *lock = userdata;

        switch (event) {
        case LOCK_EVENT_HELD:
                command_lock_on_held(lock);
                return;
        case LOCK_EVENT_TIMEOUT:
                command_lock_answer_not_held(
                    lock, lock->request && lock->request->is_try ? "busy" : "timeout", "");
                return;
        case LOCK_EVENT_LOST:
                command_lock_on_lost(lock);
                return;
        case LOCK_EVENT_FAILED:
                command_lock_answer_not_held(lock, "failed", lock_set_fault(set));
                return;
        case LOCK_EVENT_REVOKED:
                command_caller_tell(lock->caller, "LockRevoked", lock->record.id, "", false);
                return;
        case LOCK_EVENT_DOWNGRADED:
                return; /* not asked for */
        }
}

void command_lock_queue(CommandLock *lock) {
        const CommandRequest *request = lock->request;
        g_autofree char *parent = path_locks(lock->setting->node->config->root), *why = NULL;
        LockOptions options = {
            .parent = parent,
            .revocable = true,
            .fresh_token = true, /* comparable with those of jobs, which are their claims' */
        };
        int r = 0;

        if (lock->state != COMMAND_LOCK_QUEUED || lock->set || !command_lock_may_queue(lock))
                return;
        /* Where to look for it after a crash: once, for that stays the same. */
        if (!lock->remembered && (why = command_lock_remember(lock))) {
                command_lock_answer_not_held(lock, "failed", why);
                return;
        }
        options.payload = request->payload;
        options.wait = request->is_try ? 0 : usec_sub(request->give_up_at, clock_monotonic());
        r = lock_set_acquire(
            command_lock_session(lock), (const LockRequest *)(void *)request->resources->data,
            request->resources->len, &options, command_lock_on_set, lock, &lock->set);
        if (r >= 0 || r == -ENOTCONN)
                return;
        why = g_strdup_printf("cannot queue: %s", g_strerror(-r));
        command_lock_answer_not_held(lock, "failed", why);
}

/* The queue has a time limit of its own, but not the time without a session. */
static void command_lock_on_give_up(void *userdata) {
        CommandLock *lock = userdata;
        const char *state = command_lock_may_queue(lock) ? "timeout" : "unreachable";
        const char *fault = session_fault(command_lock_session(lock));

        if (!*fault)
                fault = lock->setting->events->unreachable(lock->setting->userdata);
        if (!*fault && command_lock_unfenced(lock))
                fault = command_lock_unfenced(lock);
        command_lock_answer_not_held(lock, state, fault);
}

void command_lock_acquire(CommandLock *lock) {
        if (lock->request->give_up_at != USEC_INFINITY)
                (void)timer_at(lock->setting->node->event, &lock->timer, CLOCK_MONOTONIC,
                               lock->request->give_up_at, command_lock_on_give_up, lock);
        command_lock_queue(lock);
}

/* ---- over a restart ---- */

CommandLock *command_lock_recall(const CommandLockSetting *setting, const LockRecord *record) {
        CommandLock *lock = command_lock_alloc(setting);

        lock_record_copy(record, &lock->record);
        if (!lock->record.label)
                lock->record.label = g_strdup(record->id);
        lock->state = COMMAND_LOCK_HELD;
        lock->recalled = !record->session_over;
        lock->remembered = true;
        command_lock_adopt_scope(lock);
        command_lock_expect_caller(lock);
        return lock;
}

void command_lock_end_again(CommandLock *lock) {
        if (lock->record.ending && lock->state == COMMAND_LOCK_HELD)
                command_lock_end(lock, lock->record.session_over,
                                 "it was ending when jobkeeperd was restarted");
}

/* Takes over the contenders of one that was recalled. */
void command_lock_session_is_the_same(CommandLock *lock) {
        const LockOptions options = {.revocable = true, .fresh_token = true};
        int r = 0;

        if (lock->recalled && !lock->set)
                r = lock_set_adopt(command_lock_session(lock),
                                   (const char *const *)lock->record.paths, &options,
                                   command_lock_on_set, lock, &lock->set);
        if (r < 0 && r != -ENOTCONN)
                command_lock_end(lock, true, "the lock is lost");
}

/* ---- the session ---- */

static void command_lock_end_with_session(CommandLock *lock) {
        if (!lock->record.session_over)
                command_lock_remember_later(lock);
        lock->record.session_over = true;
        lock->recalled = false;
        command_lock_end(lock, true, "the ZooKeeper session is over");
}

/* That in which the process before us held them is over, or not ours any more. */
void command_lock_session_is_another(CommandLock *lock) {
        if (lock->recalled)
                command_lock_end_with_session(lock);
}

void command_lock_session_stops(CommandLock *lock) {
        if (lock->state == COMMAND_LOCK_HELD && !lock->record.go_on)
                command_lock_end(lock, false, "ZooKeeper has not answered for too long");
}

/* Who waits is told by the set, and queues again. */
void command_lock_session_is_lost(CommandLock *lock) {
        if (lock->state != COMMAND_LOCK_QUEUED)
                command_lock_end_with_session(lock);
}

/* ---- the daemon's end ---- */

void command_lock_stop_queueing(CommandLock *lock) {
        if (lock->state != COMMAND_LOCK_QUEUED)
                return;
        command_caller_refuse(lock->caller, COMMAND_CALL_ACQUIRE, BUS_ERROR_STOPPING,
                              "jobkeeperd is stopping");
        command_lock_release(lock);
}

void command_lock_stop(CommandLock *lock) {
        if (lock->state == COMMAND_LOCK_QUEUED)
                command_lock_stop_queueing(lock);
        else
                command_lock_end(lock, false, "jobkeeperd was stopped");
}

void command_lock_leave(CommandLock *lock) {
        if (lock->state == COMMAND_LOCK_QUEUED)
                command_lock_stop_queueing(lock);
        else
                lock->set = lock_set_forget(lock->set);
}

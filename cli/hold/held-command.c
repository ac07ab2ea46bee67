/* See held-command.h. */
#include "held-command.h"

#include <errno.h>

#include "bus-interface.h"
#include "cgroup.h"
#include "exit-code.h"
#include "lease-way.h"
#include "lock-call.h"
#include "output.h"
#include "run-view.h"
#include "timer.h"

/* The daemon is asked so often, and so many times before D - K: a late answer, of its own or of
 * ZooKeeper's, must not cost a lock that it still has. */
#define LEASE_PERIOD USEC_PER_SEC
#define LEASE_PERIOD_MIN (50 * USEC_PER_MSEC)
#define LEASE_TIMES 4
/* So long may it take from the lock to the command, a restart of the daemon included. The lease is
 * kept meanwhile: without a limit a lock could be held for a command that never comes. */
#define ATTACH_PATIENCE (10 * USEC_PER_SEC)
/* The daemon stops the scope at D - K; we do if it has not said so by then. */
#define STOP_SLACK (300 * USEC_PER_MSEC)
/* So long may giving back take, a restart of the daemon included. */
#define RELEASE_PATIENCE (5 * USEC_PER_SEC)

typedef enum HeldPhase {
        HELD_WAITS,   /* the process is at its gate */
        HELD_RUNS,    /* the command is executed under the lock */
        HELD_RUNS_ON, /* the lock is lost, and the command was to go on */
        HELD_STOPS,   /* it was told to stop */
        HELD_KILLED,
        HELD_ENDED, /* it ended under the lock, as far as we know; that is given back */
        HELD_OVER,  /* there is no command any more */
} HeldPhase;

struct HeldCommand {
        sd_event *event;
        sd_bus *bus;
        LeaseWay *way; /* to the daemon, for leases */
        const LockTask *task;
        HeldCommandFunc func;
        void *userdata;
        sd_bus_slot *call, *lease;
        sd_event_source *attach_timer, *lease_timer, *stop_timer, *kill_timer, *leave_timer;
        usec_t stop_at; /* CLOCK_BOOTTIME: D - K, by the last lease */
        char *id;
        char *cgroup_root, *cgroup;
        CommandProcess *process;
        int64_t token;
        int status;
        bool there; /* the daemon */
        HeldPhase phase;
};

/* ---- the end ---- */

static void held_command_on_leave(void *userdata) {
        const HeldCommand *command = userdata;

        command->func(command->status, command->userdata);
}

/* Tells the owner, from the loop. `after` 0: at once. */
static void held_command_leave(HeldCommand *command, usec_t after) {
        if (timer_in(command->event, &command->leave_timer, after, held_command_on_leave, command) <
            0)
                (void)sd_event_exit(command->event, 0);
}

static int held_command_on_released(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        /* One that went away is asked again when it is back. */
        if (!sd_bus_message_is_method_error(reply, NULL) || !lock_reply_is_missing(reply))
                held_command_leave(userdata, 0);
        return 0;
}

static void held_command_release(HeldCommand *command) {
        if (lock_call(command->bus, &command->call, "ReleaseLock", RELEASE_PATIENCE,
                      held_command_on_released, command, "s", command->id) < 0)
                held_command_leave(command, 0);
}

/* A lock that was lost is the daemon's to end; one that we have is given back first. */
static void held_command_finish(HeldCommand *command, int status, bool give_back) {
        if (command->phase >= HELD_ENDED)
                return;
        command->phase = command->phase == HELD_RUNS ? HELD_ENDED : HELD_OVER;
        command->status = status;
        command->attach_timer = sd_event_source_disable_unref(command->attach_timer);
        command->lease_timer = sd_event_source_disable_unref(command->lease_timer);
        command->stop_timer = sd_event_source_disable_unref(command->stop_timer);
        command->kill_timer = sd_event_source_disable_unref(command->kill_timer);
        command->process = command_process_free(command->process);
        held_command_leave(command, give_back ? RELEASE_PATIENCE : 0);
        if (give_back)
                held_command_release(command);
}

/* ---- losing it ---- */

static void held_command_kill(HeldCommand *command, int signal) {
        if (command->cgroup && command->cgroup_root)
                cgroup_signal(command->cgroup_root, command->cgroup, signal);
        if (command->process && (signal == SIGKILL || !command->cgroup))
                command_process_signal(command->process, signal);
}

/* The lock ends before the command. `signal` 0: the daemon stops it. */
static void held_command_stop(HeldCommand *command, int signal, const char *why) {
        if (command->phase >= HELD_KILLED || command->phase == HELD_RUNS_ON ||
            (command->phase == HELD_RUNS && command->task->go_on))
                return;
        if (command->phase != HELD_STOPS || signal == SIGKILL)
                complain("%s: %s the command", why, signal == SIGKILL ? "killing" : "stopping");
        if (command->phase == HELD_WAITS) {
                held_command_finish(command, EXIT_CODE_NOT_HELD, false);
                return;
        }
        command->phase = signal == SIGKILL ? HELD_KILLED : HELD_STOPS;
        if (signal)
                held_command_kill(command, signal);
}

static void held_command_lost(HeldCommand *command, const char *why) {
        if (!command->task->go_on || command->phase == HELD_WAITS) {
                held_command_stop(command, SIGKILL, why);
                return;
        }
        if (command->phase != HELD_RUNS)
                return;
        complain("%s: the command continues without the lock %s", why, command->task->label);
        command->phase = HELD_RUNS_ON;
}

/* The daemon tells of it before it has the command stopped, but the end is seen at once, and the
 * bus may be slow. What it tells comes before its answer to the giving back. */
static void held_command_lost_before_end(HeldCommand *command, const char *why) {
        if (command->task->go_on)
                return;
        complain("%s: the command may have been stopped", why);
        command->status = EXIT_CODE_NOT_HELD;
        command->phase = HELD_OVER;
}

static void held_command_on_stop_time(void *userdata) {
        HeldCommand *command = userdata;

        if (command->phase < HELD_STOPS)
                held_command_stop(command, SIGTERM,
                                  command->there ? "jobkeeperd cannot keep the lock"
                                                 : "jobkeeperd is not there");
}

static void held_command_on_kill_time(void *userdata) {
        held_command_lost(userdata, "the lock can no longer be guaranteed");
}

void held_command_take_signal(HeldCommand *command, sd_bus_message *message) {
        const char *id = NULL, *why = NULL;
        int at_once = 0;

        if (sd_bus_message_read(message, "ssb", &id, &why, &at_once) < 0 ||
            g_strcmp0(id, command->id) != 0)
                return;
        if (!sd_bus_message_is_signal(message, BUS_INTERFACE, "LockLost")) {
                if (!command->task->quiet)
                        complain("release of the lock %s was requested", command->task->label);
        } else if (command->phase == HELD_ENDED)
                held_command_lost_before_end(command, why);
        else if (at_once || command->task->go_on)
                held_command_lost(command, why);
        else
                held_command_stop(command, 0, why);
}

/* ---- the lease ---- */

/* Return: whether the answer has a lease that leaves time to do anything. */
static bool held_command_take_lease(HeldCommand *command, const json_t *answer) {
        usec_t held_until = (usec_t)json_integer_value(json_object_get(answer, "held_until"));
        usec_t stop_at = (usec_t)json_integer_value(json_object_get(answer, "stop_at"));

        if (stop_at <= clock_boottime() || held_until <= stop_at)
                return false;
        command->stop_at = stop_at;
        return timer_at(command->event, &command->stop_timer, CLOCK_BOOTTIME, stop_at + STOP_SLACK,
                        held_command_on_stop_time, command) >= 0 &&
               timer_at(command->event, &command->kill_timer, CLOCK_BOOTTIME, held_until,
                        held_command_on_kill_time, command) >= 0;
}

static int held_command_on_lease(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        HeldCommand *command = userdata;
        json_t *answer = lock_reply_json(reply);

        command->lease = sd_bus_slot_unref(command->lease);
        if (!answer && lock_reply_is_missing(reply))
                lease_way_is_lost(command->way);
        if (answer && command->phase < HELD_STOPS)
                (void)held_command_take_lease(command, answer);
        else if (!answer && lock_reply_outcome(reply) == BUS_NO_SUCH_LOCK)
                held_command_lost(command, "jobkeeperd no longer knows the lock");
        json_decref(answer);
        return 0;
}

static usec_t held_command_lease_period(const HeldCommand *command) {
        usec_t left = usec_sub(command->stop_at, clock_boottime());

        if (command->phase >= HELD_RUNS_ON)
                return LEASE_PERIOD;
        return CLAMP(left / LEASE_TIMES, LEASE_PERIOD_MIN, LEASE_PERIOD);
}

static void held_command_on_lease_timer(void *userdata) {
        HeldCommand *command = userdata;
        sd_bus *bus;

        (void)timer_in(command->event, &command->lease_timer, held_command_lease_period(command),
                       held_command_on_lease_timer, command);
        /* A late answer is better than none: it is not asked over before it came. */
        if (command->lease)
                return;
        bus = lease_way_bus(command->way);
        if (!bus && command->there)
                bus = command->bus;
        if (bus)
                (void)lock_call(bus, &command->lease, "LockLease", LOCK_CALL_TIMEOUT,
                                held_command_on_lease, command, "s", command->id);
}

/* ---- the command ---- */

static void held_command_on_ended(CommandProcess *process, int status, void *userdata) {
        HeldCommand *command = userdata;
        bool stopped = command->phase == HELD_STOPS || command->phase == HELD_KILLED;

        if (stopped)
                held_command_kill(command, SIGKILL); /* what it has left behind */
        held_command_finish(command, stopped ? EXIT_CODE_NOT_HELD : status, !stopped);
}

static void held_command_execute(HeldCommand *command) {
        int r = 0;

        /* We may have been stopped ourselves while the answer came. */
        if (command->stop_at <= clock_boottime()) {
                held_command_stop(command, SIGKILL, "the lock can no longer be guaranteed");
                return;
        }
        command->attach_timer = sd_event_source_disable_unref(command->attach_timer);
        r = command_process_execute(command->process, command->event, held_command_on_ended,
                                    command);
        if (r >= 0) {
                command->phase = HELD_RUNS;
                return;
        }
        complain("cannot execute %s: %s", command->task->argv[0], g_strerror(-r));
        held_command_finish(command, r == -ENOENT ? EXIT_CODE_NOT_FOUND : EXIT_CODE_CANNOT_EXECUTE,
                            true);
}

/* What we are going to kill must be our own scope, whoever says what. */
static void held_command_take_cgroup(HeldCommand *command, const char *cgroup) {
        g_autofree char *scope = g_strdup_printf("/jobkeeper-lock-%s.scope", command->id);

        if (g_str_has_suffix(cgroup, scope))
                command->cgroup = g_strdup(cgroup);
}

static int held_command_on_attached(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        HeldCommand *command = userdata;
        json_t *answer = lock_reply_json(reply);

        if (command->phase != HELD_WAITS) {
                /* it is over */
        } else if (answer) {
                held_command_take_cgroup(command, json_text(answer, "cgroup"));
                held_command_execute(command);
        } else if (lock_reply_outcome(reply) == BUS_NO_SUCH_LOCK)
                held_command_stop(command, SIGKILL, "the lock is lost");
        else if (!lock_reply_is_missing(reply)) {
                complain("cannot move the command to a scope of its own: %s",
                         lock_reply_error(reply));
                held_command_finish(command, EXIT_CODE_UNAVAILABLE, true);
        }
        json_decref(answer);
        return 0;
}

static void held_command_attach(HeldCommand *command) {
        (void)lock_call(command->bus, &command->call, "AttachLock", USEC_INFINITY,
                        held_command_on_attached, command, "su", command->id,
                        (uint32_t)command_process_pid(command->process));
}

static void held_command_on_not_attached(void *userdata) {
        complain("moving the command to a scope of its own timed out");
        held_command_finish(userdata, EXIT_CODE_UNAVAILABLE, true);
}

static int held_command_prepare(HeldCommand *command) {
        g_auto(GStrv) environment = lock_task_environment(command->task, command->token);
        int r = command_process_prepare(command->task->argv, environment,
                                        command->task->inheritance, &command->process);

        if (r >= 0)
                r = timer_in(command->event, &command->lease_timer,
                             held_command_lease_period(command), held_command_on_lease_timer,
                             command);
        if (r >= 0)
                r = timer_in(command->event, &command->attach_timer, ATTACH_PATIENCE,
                             held_command_on_not_attached, command);
        return r;
}

void held_command_begin(HeldCommand *command) {
        int r;

        if (command->stop_at == 0) {
                held_command_finish(command, EXIT_CODE_NOT_HELD, true);
                return;
        }
        r = held_command_prepare(command);
        if (r >= 0) {
                held_command_attach(command);
                return;
        }
        complain("cannot make a process: %s", g_strerror(-r));
        held_command_finish(command, EXIT_CODE_FAILED, true);
}

/* ---- the daemon's going and coming ---- */

static int held_command_on_adopted(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        HeldCommand *command = userdata;
        json_t *answer = lock_reply_json(reply);

        if (!answer && !lock_reply_is_missing(reply))
                held_command_lost(command, "jobkeeperd came back without the lock");
        else if (answer && command->phase >= HELD_ENDED)
                held_command_release(command);
        else if (answer && command->phase < HELD_STOPS) {
                (void)held_command_take_lease(command, answer);
                if (command->phase == HELD_WAITS)
                        held_command_attach(command);
        }
        json_decref(answer);
        return 0;
}

void held_command_daemon(HeldCommand *command, bool there) {
        command->there = there;
        /* What we asked before may reach the new one before it knows us; its answer comes later. */
        command->lease = sd_bus_slot_unref(command->lease);
        if (there)
                (void)lock_call(command->bus, &command->call, "AdoptLock", USEC_INFINITY,
                                held_command_on_adopted, command, "s", command->id);
}

void held_command_signal(HeldCommand *command, int signal) {
        if (command->phase >= HELD_ENDED)
                held_command_leave(command, 0); /* impatient while we tidy up */
        else if (command->phase == HELD_WAITS)
                held_command_finish(command, EXIT_CODE_SIGNAL + signal, true);
        else
                command_process_signal(command->process, signal);
}

int held_command_new(sd_event *event, sd_bus *bus, const LockTask *task, const json_t *answer,
                     HeldCommandFunc func, void *userdata, HeldCommand **ret_command) {
        _cleanup_(held_command_freep) HeldCommand *command = g_new0(HeldCommand, 1);
        int r = cgroup_root_find(&command->cgroup_root);

        if (r < 0)
                return r;
        command->event = sd_event_ref(event);
        command->bus = sd_bus_ref(bus);
        command->way = lease_way_new(event, LEASE_ADDRESS);
        command->task = task;
        command->func = func;
        command->userdata = userdata;
        command->there = true;
        command->id = g_strdup(json_text(answer, "id"));
        command->token = json_integer_value(json_object_get(answer, "token"));
        if (!held_command_take_lease(command, answer))
                command->stop_at = 0;
        *ret_command = g_steal_pointer(&command);
        return 0;
}

HeldCommand *held_command_free(HeldCommand *command) {
        if (!command)
                return NULL;
        command_process_free(command->process);
        sd_event_source_disable_unref(command->attach_timer);
        sd_event_source_disable_unref(command->lease_timer);
        sd_event_source_disable_unref(command->stop_timer);
        sd_event_source_disable_unref(command->kill_timer);
        sd_event_source_disable_unref(command->leave_timer);
        sd_bus_slot_unref(command->call);
        sd_bus_slot_unref(command->lease);
        lease_way_free(command->way);
        sd_bus_unref(command->bus);
        sd_event_unref(command->event);
        g_free(command->id);
        g_free(command->cgroup);
        g_free(command->cgroup_root);
        g_free(command);
        return NULL;
}

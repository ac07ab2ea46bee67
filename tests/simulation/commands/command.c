/* See command.h. */
#include "command.h"

#include <glib.h>
#include <jansson.h>
#include <signal.h>
#include <string.h>

#include "bus-interface.h"
#include "bus.h"
#include "command-lock-call.h"
#include "trace.h"

/* Of cli/hold/held-command.c and lock-asking.c. */
#define LEASE_PERIOD USEC_PER_SEC
#define LEASE_PERIOD_MIN (50 * USEC_PER_MSEC)
#define LEASE_TIMES 4
#define ATTACH_PATIENCE (10 * USEC_PER_SEC)
#define STOP_SLACK (300 * USEC_PER_MSEC)
#define RELEASE_PATIENCE (5 * USEC_PER_SEC)
#define DAEMON_PATIENCE (10 * USEC_PER_SEC)
#define RETRY_DELAY (500 * USEC_PER_MSEC)
/* How long it takes to hear that a daemon is there. */
#define LOOK_PERIOD (200 * USEC_PER_MSEC)

#define TRAVEL_MIN 50
#define TRAVEL_MAX USEC_PER_MSEC

typedef enum CommandPhase {
        COMMAND_ASKS,
        COMMAND_WAITS,
        COMMAND_RUNS,
        COMMAND_STOPS,
        COMMAND_KILLED,
        COMMAND_ENDED, /* by itself; the lock is given back */
        COMMAND_OVER,  /* `jobkeeper lock` is no more; what was left of it may be */
} CommandPhase;

typedef enum CommandMethod {
        METHOD_ACQUIRE,
        METHOD_ATTACH,
        METHOD_RELEASE,
        METHOD_ADOPT,
        METHOD_LEASE,
} CommandMethod;

/* A call under way. */
typedef struct Way {
        Command *command;
        CommandMethod method;
        ProcessTask *there;
        unsigned call; /* that is to be answered; 0: none */
} Way;

typedef enum CommandTimer {
        TIMER_LEASE,
        TIMER_STOP,
        TIMER_KILL,
        TIMER_LIFE, /* of what it executes, or of what that left */
        TIMER_PATIENCE,
        TIMER_LOOK,
        TIMERS
} CommandTimer;

struct Command {
        const CommandSetting *setting;
        FleetNode *node;
        CommandPlan plan;
        unsigned number;
        Process *process;
        BusPeer *peer;
        Outsider *outsider;
        CommandPhase phase;
        char *id;
        usec_t stop_at; /* CLOCK_BOOTTIME */
        Way calls, lease;
        ProcessTask *timers[TIMERS];
        WorldTask *burial;
        HistoryHold *hold;
};

static void command_on_letter(unsigned call, const char *error, const char *text, void *userdata);
static void command_on_signal(int signal, void *userdata);
static void command_look(void *userdata);
static void command_attach(Command *command);

/* ---- small things ---- */

static Machine *command_machine(const Command *command) {
        return fleet_node_machine(command->node);
}

static void command_say(const Command *command, const char *what) {
        g_autofree char *who = NULL;

        if (!trace_is_on())
                return;
        who = g_strdup_printf("%s/lock %u", fleet_node_name(command->node), command->number);
        trace_write(who, "%s/%u %s", command->plan.lock.resource, command->plan.lock.slots, what);
}

static usec_t command_boottime(const Command *command) {
        return machine_clock(command_machine(command), CLOCK_BOOTTIME);
}

static void command_set(Command *command, CommandTimer timer, usec_t delay, WorldFunc func) {
        process_task_free(command->timers[timer]);
        command->timers[timer] = process_after(command->process, delay, func, command);
}

static void command_unset(Command *command, CommandTimer timer) {
        command->timers[timer] = process_task_free(command->timers[timer]);
}

/* ---- the end ---- */

static void command_bury(void *userdata) {
        Command *command = userdata;

        command->burial = NULL;
        command->setting->over(command, command->setting->userdata);
}

/* Nothing of what it executed lives. */
static void command_is_gone(Command *command) {
        command->outsider = outsider_free(command->outsider);
        if (command->hold)
                history_hold_ends(command->setting->history, command->hold);
        command->hold = NULL;
        command_unset(command, TIMER_LIFE);
        if (command->phase == COMMAND_OVER && !command->burial)
                command->burial =
                    world_after(machine_world(command_machine(command)), 0, command_bury, command);
}

static void command_forget_calls(Command *command) {
        command->calls.there = process_task_free(command->calls.there);
        command->lease.there = process_task_free(command->lease.there);
        command->calls.call = command->lease.call = 0;
}

/* `jobkeeper lock` is no more. */
static void command_leave(Command *command) {
        if (command->phase == COMMAND_OVER)
                return;
        command->phase = COMMAND_OVER;
        command_forget_calls(command);
        for (CommandTimer timer = 0; timer < TIMERS; timer++)
                if (timer != TIMER_LIFE)
                        command_unset(command, timer);
        command->peer = bus_peer_free(command->peer);
        if (!command->outsider || !command->timers[TIMER_LIFE])
                command_is_gone(command);
}

static void command_has_no_patience(void *userdata) {
        Command *command = userdata;

        command->timers[TIMER_PATIENCE] = NULL;
        command_leave(command);
}

/* ---- calls ---- */

static int method_acquire(void *locks, sd_bus_message *message, sd_bus_error *error) {
        return command_locks_acquire(locks, message, error);
}

static int method_attach(void *locks, sd_bus_message *message, sd_bus_error *error) {
        return command_locks_attach(locks, message, error);
}

static int method_release(void *locks, sd_bus_message *message, sd_bus_error *error) {
        return command_locks_release(locks, message, error);
}

static int method_adopt(void *locks, sd_bus_message *message, sd_bus_error *error) {
        return command_locks_adopt(locks, message, error);
}

static int method_lease(void *locks, sd_bus_message *message, sd_bus_error *error) {
        return command_locks_lease(locks, message, error);
}

static char *command_request(const Command *command) {
        const PlanLock *lock = &command->plan.lock;

        return g_strdup_printf("{\"resources\": [{\"resource\": \"%s\", \"shared\": %s, "
                               "\"slots\": %u}], \"wait\": %.3f, "
                               "\"who\": {\"command\": \"sh\", \"pid\": %d}}",
                               lock->resource, lock->mode == PLAN_SHARED ? "true" : "false",
                               lock->slots, command->plan.wait,
                               (int)outsider_pid(command->outsider));
}

/* On the daemon's turn. */
static void way_arrives(void *userdata) {
        static const BusMethod methods[] = {method_acquire, method_attach, method_release,
                                            method_adopt, method_lease};
        Way *way = userdata;
        const Command *command = way->command;
        const Daemon *daemon = fleet_node_daemon(command->node);
        const Coordinator *coordinator = daemon ? daemon_coordinator(daemon) : NULL;
        g_autofree char *text =
            way->method == METHOD_ACQUIRE ? command_request(command) : g_strdup(command->id);

        way->there = NULL;
        if (coordinator)
                way->call = bus_peer_ask(
                    command->peer, process_turn(), methods[way->method], coordinator->command_locks,
                    text,
                    way->method == METHOD_ATTACH ? (uint32_t)outsider_pid(command->outsider) : 0);
}

/* Where there is no daemon, it is looked for, and then asked what is to be asked. */
static void command_ask(Command *command, Way *way, CommandMethod method) {
        const Daemon *daemon = fleet_node_daemon(command->node);

        way->there = process_task_free(way->there);
        way->call = 0;
        if (!daemon || !daemon_coordinator(daemon))
                return;
        way->command = command;
        way->method = method;
        way->there = process_after(
            daemon_process(daemon),
            world_draw_between(machine_chance(command_machine(command)), TRAVEL_MIN, TRAVEL_MAX),
            way_arrives, way);
}

/* ---- losing it ---- */

/* `jobkeeper lock` tidies up. */
static void command_finish(Command *command, bool give_back) {
        command->phase = COMMAND_ENDED;
        command_unset(command, TIMER_LEASE);
        command_unset(command, TIMER_STOP);
        command_unset(command, TIMER_KILL);
        if (!give_back || !command->id) {
                command_leave(command);
                return;
        }
        command_set(command, TIMER_PATIENCE, RELEASE_PATIENCE, command_has_no_patience);
        command_ask(command, &command->calls, METHOD_RELEASE);
}

/* `signal` 0: the daemon sees to it. */
static void command_stop(Command *command, int signal, const char *why) {
        if (command->phase < COMMAND_WAITS || command->phase >= COMMAND_KILLED)
                return;
        command_say(command, why);
        if (command->phase == COMMAND_WAITS) { /* it has not executed anything, and will not */
                command_is_gone(command);
                command_finish(command, false);
                return;
        }
        command->phase = signal == SIGKILL ? COMMAND_KILLED : COMMAND_STOPS;
        if (signal != 0)
                outsider_signal(command->outsider, signal);
}

static void command_on_stop_time(void *userdata) {
        Command *command = userdata;

        command->timers[TIMER_STOP] = NULL;
        if (command->phase < COMMAND_STOPS)
                command_stop(command, SIGTERM, "cannot be kept");
}

static void command_on_kill_time(void *userdata) {
        Command *command = userdata;

        command->timers[TIMER_KILL] = NULL;
        command_stop(command, SIGKILL, "can no longer be guaranteed");
}

/* ---- what it executes ---- */

static void command_on_rest_gone(void *userdata) {
        Command *command = userdata;

        command->timers[TIMER_LIFE] = NULL;
        command_is_gone(command);
}

/* Its main process is over. What it left goes with it where it was to end. */
static void command_ends(void *userdata) {
        Command *command = userdata;
        bool by_itself = command->phase == COMMAND_RUNS;

        command->timers[TIMER_LIFE] = NULL;
        command_say(command, by_itself ? "is given back" : "and what ran under it is gone");
        if (by_itself && command->plan.remains > 0) {
                history_hold_ends(command->setting->history, command->hold);
                command->hold = NULL;
                command_set(command, TIMER_LIFE, command->plan.remains, command_on_rest_gone);
        } else {
                command_is_gone(command);
        }
        if (command->phase != COMMAND_OVER)
                command_finish(command, by_itself);
}

/* A signal for all of it. */
static void command_on_signal(int signal, void *userdata) {
        Command *command = userdata;

        if (signal == SIGTERM && command->phase != COMMAND_WAITS) {
                if (command->plan.manners == SERVICE_IGNORES)
                        return;
                if (command->phase == COMMAND_RUNS)
                        command->phase = COMMAND_STOPS;
                command_set(command, TIMER_LIFE, command->plan.last_words, command_ends);
                return;
        }
        if (command->phase == COMMAND_RUNS || command->phase == COMMAND_STOPS)
                command->phase = COMMAND_KILLED;
        command_is_gone(command);
        if (signal == 0)
                command_leave(command);
        else if (command->phase != COMMAND_ENDED && command->phase != COMMAND_OVER)
                command_finish(command, false);
}

static void command_execute(Command *command) {
        if (command->stop_at <= command_boottime(command)) {
                command_stop(command, SIGKILL, "can no longer be guaranteed");
                return;
        }
        command_unset(command, TIMER_PATIENCE);
        command->phase = COMMAND_RUNS;
        command_say(command, "is held");
        command->hold =
            history_hold_begins(command->setting->history, fleet_node_name(command->node),
                                "a command", &command->plan.lock);
        checker_hold_begins(command->setting->checker, command->hold);
        command_set(command, TIMER_LIFE, command->plan.duration, command_ends);
}

/* ---- the lease ---- */

static bool command_take_lease(Command *command, const json_t *answer) {
        usec_t held_until = (usec_t)json_integer_value(json_object_get(answer, "held_until"));
        usec_t stop_at = (usec_t)json_integer_value(json_object_get(answer, "stop_at"));
        const Machine *machine = command_machine(command);

        if (stop_at <= command_boottime(command) || held_until <= stop_at)
                return false;
        command->stop_at = stop_at;
        command_set(command, TIMER_STOP,
                    machine_until(machine, CLOCK_BOOTTIME, stop_at + STOP_SLACK),
                    command_on_stop_time);
        command_set(command, TIMER_KILL, machine_until(machine, CLOCK_BOOTTIME, held_until),
                    command_on_kill_time);
        return true;
}

static void command_renew(void *userdata) {
        Command *command = userdata;
        usec_t left = usec_sub(command->stop_at, command_boottime(command));

        command->timers[TIMER_LEASE] = NULL;
        command_set(command, TIMER_LEASE, CLAMP(left / LEASE_TIMES, LEASE_PERIOD_MIN, LEASE_PERIOD),
                    command_renew);
        if (!command->lease.there && command->lease.call == 0)
                command_ask(command, &command->lease, METHOD_LEASE);
}

/* ---- answers ---- */

static void command_on_acquired(Command *command, const char *error, const json_t *answer) {
        if (g_strcmp0(error, BUS_ERROR_STOPPING) == 0) {
                command_set(command, TIMER_LOOK, RETRY_DELAY, command_look);
                return;
        }
        if (g_strcmp0(json_string_value(json_object_get(answer, "state")), "held") != 0) {
                command_say(command, "is not to be had");
                command_leave(command);
                return;
        }
        command->id = g_strdup(json_string_value(json_object_get(answer, "id")));
        if (!command_take_lease(command, answer)) {
                command_finish(command, true);
                return;
        }
        command->phase = COMMAND_WAITS;
        command_set(command, TIMER_PATIENCE, ATTACH_PATIENCE, command_has_no_patience);
        command_set(command, TIMER_LEASE, LEASE_PERIOD_MIN, command_renew);
        command_attach(command);
}

static void command_attach(Command *command) {
        command_ask(command, &command->calls, METHOD_ATTACH);
}

static void command_on_attached(Command *command, const char *error) {
        if (command->phase != COMMAND_WAITS)
                return;
        if (!error)
                command_execute(command);
        else if (strcmp(error, BUS_ERROR_NO_SUCH_LOCK) == 0)
                command_stop(command, SIGKILL, "is lost");
        else
                command_finish(command, true);
}

static void command_on_adopted(Command *command, const char *error, const json_t *answer) {
        if (error) {
                command_stop(command, SIGKILL, "is not there any more");
        } else if (command->phase == COMMAND_ENDED) {
                command_ask(command, &command->calls, METHOD_RELEASE);
        } else if (command->phase < COMMAND_STOPS) {
                (void)command_take_lease(command, answer);
                if (command->phase == COMMAND_WAITS)
                        command_attach(command);
        }
}

static void command_on_answer(Command *command, CommandMethod method, const char *error,
                              const json_t *answer) {
        switch (method) {
        case METHOD_ACQUIRE:
                command_on_acquired(command, error, answer);
                break;
        case METHOD_ATTACH:
                command_on_attached(command, error);
                break;
        case METHOD_RELEASE:
                command_leave(command);
                break;
        case METHOD_ADOPT:
                command_on_adopted(command, error, answer);
                break;
        case METHOD_LEASE:
                if (error)
                        command_stop(command, SIGKILL, "is not known any more");
                else if (command->phase < COMMAND_STOPS)
                        (void)command_take_lease(command, answer);
        }
}

static void command_on_told(Command *command, const char *signal, const char *how) {
        if (strcmp(signal, "LockLost") != 0)
                return;
        if (strcmp(how, "at once") == 0)
                command_stop(command, SIGKILL, "is lost");
        else if (command->phase < COMMAND_STOPS)
                command_stop(command, 0, "is about to be lost");
}

static void command_on_letter(unsigned call, const char *error, const char *text, void *userdata) {
        Command *command = userdata;
        Way *way = call == command->lease.call ? &command->lease : &command->calls;
        json_t *answer = NULL;

        if (call == 0) {
                command_on_told(command, error, text);
                return;
        }
        if (call != way->call) /* nobody waits for it any more */
                return;
        way->call = 0;
        answer = error ? NULL : json_loads(text, 0, NULL);
        command_on_answer(command, way->method, error, answer);
        json_decref(answer);
}

/* ---- daemons that go and come ---- */

static void command_look(void *userdata) {
        Command *command = userdata;
        const Daemon *daemon = fleet_node_daemon(command->node);

        command->timers[TIMER_LOOK] = NULL;
        if (!daemon || !daemon_coordinator(daemon))
                command_set(command, TIMER_LOOK, LOOK_PERIOD, command_look);
        else if (command->phase == COMMAND_ASKS)
                command_ask(command, &command->calls, METHOD_ACQUIRE);
        else
                command_ask(command, &command->calls, METHOD_ADOPT);
        if (daemon && command->phase == COMMAND_ASKS)
                command_unset(command, TIMER_PATIENCE);
}

void command_lose_daemon(Command *command) {
        bool asks = command->phase == COMMAND_ASKS;

        command_forget_calls(command);
        if (command->phase == COMMAND_OVER)
                return;
        command_set(command, TIMER_LOOK, LOOK_PERIOD, command_look);
        if (asks && !command->timers[TIMER_PATIENCE])
                command_set(command, TIMER_PATIENCE, DAEMON_PATIENCE, command_has_no_patience);
}

/* ---- from outside ---- */

bool command_holds(const Command *command) {
        return command->hold;
}

/* What is left of it is the daemon's to end, or the fence's. */
static void command_desert(Command *command) {
        if (command->hold)
                command->hold->unattended = true;
}

void command_kill(Command *command) {
        bool leaves_something =
            command->phase >= COMMAND_RUNS && command->outsider && command->plan.remains > 0;

        if (command->phase == COMMAND_OVER)
                return;
        command_say(command, "has its command killed");
        command_desert(command);
        command_leave(command);
        if (!leaves_something)
                command_is_gone(command);
        else
                command_set(command, TIMER_LIFE, command->plan.remains, command_ends);
}

static void command_begin(void *userdata) {
        Command *command = userdata;

        command_say(command, "is asked for");
        command_look(command);
        if (command->timers[TIMER_LOOK]) /* it runs without one: that is not simulated */
                command_leave(command);
}

Command *command_new(const CommandSetting *setting, FleetNode *node, unsigned number,
                     const CommandPlan *plan) {
        Command *command = g_new0(Command, 1);

        command->setting = setting;
        command->node = node;
        command->number = number;
        command->plan = *plan;
        command->plan.lock.resource = g_strdup(plan->lock.resource);
        command->process = process_new(fleet_node_machine(node));
        command->peer = bus_peer_new(command->process, command_on_letter, command);
        command->outsider = outsider_new(fleet_node_pid1(node), command_on_signal, command);
        process_do(command->process, command_begin, command);
        return command;
}

const FleetNode *command_node(const Command *command) {
        return command->node;
}

Command *command_free(Command *command) {
        if (!command)
                return NULL;
        command_forget_calls(command);
        for (CommandTimer timer = 0; timer < TIMERS; timer++)
                command_unset(command, timer);
        bus_peer_free(command->peer);
        outsider_free(command->outsider);
        world_task_free(command->burial);
        process_end(command->process);
        process_free(command->process);
        g_free(command->plan.lock.resource);
        g_free(command->id);
        g_free(command);
        return NULL;
}

/* Holding the lock, and losing it: see lock-client.c. */
#include <errno.h>

#include "bus-interface.h"
#include "cgroup.h"
#include "exit-code.h"
#include "lock-client-internal.h"
#include "output.h"
#include "run-view.h"

#define LEASE_PERIOD USEC_PER_SEC
/* So long may it take from the lock to the command, a restart of the daemon included. The lease is
 * kept meanwhile: without a limit a lock could be held for a command that never comes. */
#define ATTACH_PATIENCE (10 * USEC_PER_SEC)
/* The daemon stops the scope at D - K; we do if it has not said so by then. */
#define STOP_SLACK (300 * USEC_PER_MSEC)

/* ---- losing it ---- */

static void signal_all(LockClient *client, int signal) {
        if (client->cgroup && client->cgroup_root)
                cgroup_signal(client->cgroup_root, client->cgroup, signal);
        if (client->process && (signal == SIGKILL || !client->cgroup))
                command_process_signal(client->process, signal);
}

/* The lock ends before the command. `signal` 0: the daemon stops it. */
static void client_stop(LockClient *client, int signal, const char *why) {
        if (client->finished || client->killed || (client->task->go_on && client->executing))
                return;
        if (!client->stopping || signal == SIGKILL)
                complain("%s: %s the command", why, signal == SIGKILL ? "killing" : "stopping");
        client->stopping = true;
        client->killed = signal == SIGKILL;
        if (!client->executing) {
                client_finish(client, EXIT_CODE_NOT_HELD);
                return;
        }
        if (signal)
                signal_all(client, signal);
}

void client_lost(LockClient *client, const char *why) {
        if (!client->task->go_on || !client->executing) {
                client_stop(client, SIGKILL, why);
                return;
        }
        if (!client->lost && !client->finished)
                complain("%s: the command continues without the lock %s", why, client->task->label);
        client->lost = true;
}

static int on_stop_time(sd_event_source *source, uint64_t usec, void *userdata) {
        LockClient *client = userdata;

        if (!client->stopping)
                client_stop(client, SIGTERM,
                            client->absent_since ? "jobkeeperd is not there"
                                                 : "jobkeeperd cannot keep the "
                                                   "lock");
        return 0;
}

static int on_kill_time(sd_event_source *source, uint64_t usec, void *userdata) {
        client_lost(userdata, "the lock can no longer be guaranteed");
        return 0;
}

int client_on_signal(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const char *id = NULL, *why = NULL;
        LockClient *client = userdata;
        int at_once = 0;

        if (!bus_owner_sent(client->daemon, message) ||
            sd_bus_message_read(message, "ssb", &id, &why, &at_once) < 0 ||
            g_strcmp0(id, client->id) != 0)
                return 0;
        if (!sd_bus_message_is_signal(message, BUS_INTERFACE, "LockLost")) {
                if (!client->task->quiet)
                        complain("release of the lock %s was requested", client->task->label);
        } else if (at_once || client->task->go_on)
                client_lost(client, why);
        else
                client_stop(client, 0, why);
        return 0;
}

/* ---- the lease ---- */

static int arm(LockClient *client, sd_event_source **timer, usec_t at,
               sd_event_time_handler_t func) {
        *timer = sd_event_source_disable_unref(*timer);
        return sd_event_add_time(client->event, timer, CLOCK_BOOTTIME, at, USEC_PER_MSEC, func,
                                 client);
}

bool client_take_lease(LockClient *client, const json_t *answer) {
        usec_t held_until = (usec_t)json_integer_value(json_object_get(answer, "held_until"));
        usec_t stop_at = (usec_t)json_integer_value(json_object_get(answer, "stop_at"));

        if (stop_at <= clock_boottime() || held_until <= stop_at)
                return false;
        client->stop_at = stop_at;
        return arm(client, &client->stop_timer, stop_at + STOP_SLACK, on_stop_time) >= 0 &&
               arm(client, &client->kill_timer, held_until, on_kill_time) >= 0;
}

static int on_lease(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        LockClient *client = userdata;
        json_t *answer = reply_json(reply);

        client->lease = sd_bus_slot_unref(client->lease);
        if (answer && !client->stopping)
                (void)client_take_lease(client, answer);
        else if (!answer && reply_outcome(reply) == BUS_NO_SUCH_LOCK)
                client_lost(client, "jobkeeperd no longer knows the lock");
        json_decref(answer);
        return 0;
}

static int on_lease_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        LockClient *client = userdata;
        int r = sd_event_source_set_time_relative(source, LEASE_PERIOD);

        /* A late answer is better than none: it is not asked over before it came. */
        if (client->id && !client->absent_since && !client->lease)
                (void)client_call(client, &client->lease, "LockLease", LEASE_TIMEOUT, on_lease, "s",
                                  client->id);
        return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* ---- the command ---- */

static void on_command_ended(CommandProcess *process, int status, void *userdata) {
        LockClient *client = userdata;

        if (client->stopping)
                signal_all(client, SIGKILL); /* what it has left behind */
        client_finish(client, client->stopping ? EXIT_CODE_NOT_HELD : status);
}

static void client_execute(LockClient *client) {
        const char *name = client->task->argv[0];
        int r = 0;

        /* We may have been stopped ourselves while the answer came. */
        if (client->stopping || client->stop_at <= clock_boottime()) {
                client_stop(client, SIGKILL, "the lock can no longer be guaranteed");
                return;
        }
        client->retry = sd_event_source_disable_unref(client->retry);
        r = command_process_execute(client->process, client->event, on_command_ended, client);
        client->executing = r >= 0;
        if (r >= 0)
                return;
        complain("cannot execute %s: %s", name, g_strerror(-r));
        client_finish(client, r == -ENOENT ? EXIT_CODE_NOT_FOUND : EXIT_CODE_CANNOT_EXECUTE);
}

/* What we are going to kill must be our own scope, whoever says what. */
static void take_cgroup(LockClient *client, const char *cgroup) {
        g_autofree char *scope = g_strdup_printf("/jobkeeper-lock-%s.scope", client->id);

        if (g_str_has_suffix(cgroup, scope))
                client->cgroup = g_strdup(cgroup);
}

static int on_attached(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        LockClient *client = userdata;
        json_t *answer = reply_json(reply);

        if (answer) {
                take_cgroup(client, json_text(answer, "cgroup"));
                json_decref(answer);
                client_execute(client);
        } else if (reply_outcome(reply) == BUS_NO_SUCH_LOCK)
                client_stop(client, SIGKILL, "the lock is lost");
        else if (!went_away(reply_outcome(reply))) {
                complain("cannot move the command to a scope of its own: %s", reply_error(reply));
                client_finish(client, EXIT_CODE_UNAVAILABLE);
        }
        return 0;
}

void client_attach(LockClient *client) {
        (void)client_call(client, &client->call, "AttachLock", USEC_INFINITY, on_attached, "su",
                          client->id, (uint32_t)command_process_pid(client->process));
}

static int on_not_attached(sd_event_source *source, uint64_t usec, void *userdata) {
        LockClient *client = userdata;

        complain("moving the command to a scope of its own timed out");
        client_finish(client, EXIT_CODE_UNAVAILABLE);
        return 0;
}

void client_held(LockClient *client, const json_t *answer) {
        g_auto(GStrv) environment = NULL;
        int r = 0;

        client->id = g_strdup(json_text(answer, "id"));
        client->token = json_integer_value(json_object_get(answer, "token"));
        environment = lock_task_environment(client->task, client->token);
        client_end_wait(client);
        if (!client_take_lease(client, answer)) {
                client_finish(client, EXIT_CODE_NOT_HELD);
                return;
        }
        r = command_process_prepare(client->task->argv, environment, client->task->inheritance,
                                    &client->process);
        if (r >= 0)
                r = sd_event_add_time_relative(client->event, &client->lease_timer, CLOCK_MONOTONIC,
                                               LEASE_PERIOD, USEC_PER_MSEC, on_lease_timer, client);
        if (r >= 0)
                r = sd_event_add_time_relative(client->event, &client->retry, CLOCK_MONOTONIC,
                                               ATTACH_PATIENCE, USEC_PER_MSEC, on_not_attached,
                                               client);
        if (r >= 0) {
                client_attach(client);
                return;
        }
        complain("cannot make a process: %s", g_strerror(-r));
        client_finish(client, EXIT_CODE_FAILED);
}

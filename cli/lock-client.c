/* See lock-client.h.
 *
 * What exists tells the phase. Without an `id` we ask, and wait for the answer. With an `id` the
 * daemon holds the lock: the process is made and waits at its gate, the daemon has it moved into
 * the lock's scope, then it executes. From then on we ask every second until when the lock is
 * certain. Everything that must happen in time hangs on the last answer, on two timers of our own:
 * a little after D - K the cgroup gets SIGTERM if the daemon has not seen to it by then, and at D
 * SIGKILL, whatever anybody says.
 *
 * A daemon that goes away takes nothing with it: lock and command go on, and when a daemon is there
 * again we ask it to adopt the lock. Only while there is no lock yet does a daemon that stays away
 * mean that we go on without one. */
#include <errno.h>

#include "bus-interface.h"
#include "cgroup.h"
#include "exit-code.h"
#include "lock-client-internal.h"
#include "output.h"

/* So long may giving back take, a restart of the daemon included. */
#define RELEASE_PATIENCE (5 * USEC_PER_SEC)

/* ---- calls ---- */

int client_call(LockClient *client, sd_bus_slot **slot, const char *method, usec_t timeout,
                sd_bus_message_handler_t func, const char *types, ...) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        va_list arguments;
        int r = sd_bus_message_new_method_call(client->bus, &message, BUS_NAME_ROOT, BUS_PATH,
                                               BUS_INTERFACE, method);

        *slot = sd_bus_slot_unref(*slot);
        va_start(arguments, types);
        if (r >= 0)
                r = sd_bus_message_appendv(message, types, arguments);
        va_end(arguments);
        return r < 0 ? r : sd_bus_call_async(client->bus, slot, message, func, client, timeout);
}

json_t *reply_json(sd_bus_message *reply) {
        const char *text = NULL;

        if (sd_bus_message_is_method_error(reply, NULL) ||
            sd_bus_message_read(reply, "s", &text) < 0)
                return NULL;
        return json_loads(text, 0, NULL);
}

const char *reply_error(sd_bus_message *reply) {
        const sd_bus_error *error = sd_bus_message_get_error(reply);

        return error && error->message ? error->message : "unexpected reply";
}

BusOutcome reply_outcome(sd_bus_message *reply) {
        const sd_bus_error *error = sd_bus_message_get_error(reply);

        return bus_outcome_from_error(error ? error->name : NULL);
}

bool went_away(BusOutcome outcome) {
        return outcome == BUS_NO_DAEMON || outcome == BUS_NO_ANSWER;
}

/* ---- the end ---- */

static int on_leave(sd_event_source *source, uint64_t usec, void *userdata) {
        LockClient *client = userdata;

        return sd_event_exit(client->event, 0);
}

void client_finish(LockClient *client, int status) {
        if (client->finished)
                return;
        client->finished = true;
        client->status = status;
        client_end_wait(client);
        client->lease_timer = sd_event_source_disable_unref(client->lease_timer);
        client->stop_timer = sd_event_source_disable_unref(client->stop_timer);
        client->kill_timer = sd_event_source_disable_unref(client->kill_timer);
        client->process = command_process_free(client->process);
        if (!client->id || client->stopping ||
            sd_event_add_time_relative(client->event, &client->leave_timer, CLOCK_MONOTONIC,
                                       RELEASE_PATIENCE, USEC_PER_MSEC, on_leave, client) < 0)
                (void)sd_event_exit(client->event, 0);
        else
                client_release(client);
}

static int on_released(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        LockClient *client = userdata;

        /* One that went away is asked again when it is back. */
        return sd_bus_message_is_method_error(reply, NULL) && went_away(reply_outcome(reply))
                   ? 0
                   : sd_event_exit(client->event, 0);
}

void client_release(LockClient *client) {
        if (client_call(client, &client->call, "ReleaseLock", RELEASE_PATIENCE, on_released, "s",
                        client->id) < 0)
                (void)sd_event_exit(client->event, 0);
}

/* ---- the daemon's going and coming ---- */

static int on_adopted(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        LockClient *client = userdata;
        json_t *answer = reply_json(reply);

        if (!answer && !went_away(reply_outcome(reply)))
                client_lost(client, "jobkeeperd came back without the lock");
        else if (answer && client->finished)
                client_release(client);
        else if (answer && !client->stopping) {
                (void)client_take_lease(client, answer);
                if (client->process && !client->executing)
                        client_attach(client);
        }
        json_decref(answer);
        return 0;
}

static void client_on_owner(BusOwner *daemon, const char *before, const char *now, void *userdata) {
        LockClient *client = userdata;

        client->absent_since = *now ? 0 : clock_monotonic();
        client->asked = client->asked || client->id || *before;
        /* What we asked before may reach the new one before it knows us; its answer comes later. */
        client->lease = sd_bus_slot_unref(client->lease);
        if (*now && client->id)
                (void)client_call(client, &client->call, "AdoptLock", USEC_INFINITY, on_adopted,
                                  "s", client->id);
}

/* ---- all of it ---- */

static int on_give_up(sd_event_source *source, uint64_t usec, void *userdata) {
        LockClient *client = userdata;

        if (!client->task->quiet)
                complain("the lock %s was not free in time", client->task->label);
        client_finish(client, EXIT_CODE_NOT_HELD);
        return 0;
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata) {
        LockClient *client = userdata;
        int signal = (int)info->ssi_signo;

        if (client->executing && !client->finished)
                command_process_signal(client->process, signal);
        else if (client->finished)
                (void)sd_event_exit(client->event, 0); /* impatient while we tidy up */
        else
                client_finish(client, EXIT_CODE_SIGNAL + signal);
        return 0;
}

static int client_bus(LockClient *client) {
        int r = sd_bus_open_system(&client->bus);

        if (r >= 0)
                r = sd_bus_attach_event(client->bus, client->event, SD_EVENT_PRIORITY_NORMAL);
        if (r >= 0)
                r = sd_bus_match_signal_async(client->bus, &client->signals, BUS_NAME_ROOT,
                                              BUS_PATH, BUS_INTERFACE, NULL, client_on_signal, NULL,
                                              client);
        if (r >= 0)
                r = bus_owner_new(client->bus, BUS_NAME_ROOT, client_on_owner, client,
                                  &client->daemon);
        return r;
}

/* The daemon keeps to the time limit, and its answer tells why the lock was not had; this is for a
 * daemon that does not answer. A try is as long as the daemon's own patience with its connection.
 */
static int client_time_limit(LockClient *client) {
        usec_t slack = (client->task->timeout ? 1 : 10) * USEC_PER_SEC;

        if (client->give_up_at == USEC_INFINITY)
                return 0;
        return sd_event_add_time(client->event, &client->give_up, CLOCK_MONOTONIC,
                                 usec_add(client->give_up_at, slack), USEC_PER_MSEC, on_give_up,
                                 client);
}

static void free_slot(void *slot) {
        sd_bus_slot_unref(slot);
}

static int client_prepare(LockClient *client) {
        int r = sd_event_new(&client->event);

        client->asking = g_ptr_array_new_with_free_func(free_slot);
        for (const int *signal = lock_task_signals; *signal && r >= 0; signal++)
                r = sd_event_add_signal(client->event, NULL, *signal, on_signal, client);
        if (r >= 0)
                r = client_bus(client);
        if (r >= 0)
                r = cgroup_root_find(&client->cgroup_root);
        if (r >= 0)
                r = client_time_limit(client);
        if (r >= 0)
                r = lock_notice_new(client->event, client->task, &client_notice_funcs, client,
                                    &client->notice);
        return r;
}

static void client_done(LockClient *client) {
        if (client->asking)
                client_end_wait(client);
        command_process_free(client->process);
        sd_event_source_disable_unref(client->lease_timer);
        sd_event_source_disable_unref(client->stop_timer);
        sd_event_source_disable_unref(client->kill_timer);
        sd_event_source_disable_unref(client->leave_timer);
        sd_bus_slot_unref(client->signals);
        bus_owner_free(client->daemon);
        sd_bus_slot_unref(client->call);
        sd_bus_slot_unref(client->lease);
        g_clear_pointer(&client->asking, g_ptr_array_unref);
        sd_bus_flush_close_unref(client->bus);
        sd_event_unref(client->event);
        json_decref(client->told);
        g_free(client->id);
        g_free(client->cgroup);
        g_free(client->cgroup_root);
}

bool lock_client_run(LockTask *task, int *ret_status) {
        /* The time counts from here, also where there is not even a bus. */
        LockClient client = {.task = task,
                             .status = EXIT_CODE_FAILED,
                             .give_up_at = usec_add(clock_monotonic(), task->timeout)};
        bool here = false;
        int r = client_prepare(&client);

        if (r >= 0)
                r = client_begin(&client);
        if (r >= 0) {
                r = sd_event_loop(client.event);
                here = !client.absent;
        }
        if (here && r < 0)
                complain("%s", g_strerror(-r));
        if (task->timeout > 0 && task->timeout != USEC_INFINITY)
                task->timeout = MAX(usec_sub(client.give_up_at, clock_monotonic()), 1);
        *ret_status = client.status;
        client_done(&client);
        return here;
}

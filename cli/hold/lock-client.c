/* See lock-client.h. Without a held command we ask and wait; with one the daemon holds the lock.
 * Only while there is no lock yet does a daemon that stays away mean that we go on without one. */
#include "lock-client.h"

#include <errno.h>

#include "bus-interface.h"
#include "bus-owner.h"
#include "exit-code.h"
#include "held-command.h"
#include "lock-asking.h"
#include "output.h"

typedef struct LockClient {
        LockTask *task;
        sd_event *event;
        sd_bus *bus;
        sd_bus_slot *signals;
        BusOwner *daemon; /* whose signals count */
        LockAsking *asking;
        HeldCommand *command; /* NULL: not held yet */
        bool absent;          /* no daemon: somebody else's turn */
        int status;
} LockClient;

static void lock_client_leave(int status, void *userdata) {
        LockClient *client = userdata;

        client->status = status;
        lock_asking_end(client->asking);
        (void)sd_event_exit(client->event, 0);
}

static void lock_client_on_absent(void *userdata) {
        LockClient *client = userdata;

        client->absent = true;
        lock_client_leave(EXIT_CODE_UNAVAILABLE, client);
}

static void lock_client_on_held(const json_t *answer, void *userdata) {
        LockClient *client = userdata;
        int r = held_command_new(client->event, client->bus, client->task, answer,
                                 lock_client_leave, client, &client->command);

        lock_asking_end(client->asking);
        if (r >= 0) {
                held_command_begin(client->command);
                return;
        }
        complain("%s", g_strerror(-r));
        lock_client_leave(EXIT_CODE_FAILED, client); /* leaving the bus gives the lock back */
}

static void lock_client_on_owner(BusOwner *daemon, const char *before, const char *now,
                                 void *userdata) {
        LockClient *client = userdata;

        lock_asking_daemon(client->asking, *now, *before);
        if (client->command)
                held_command_daemon(client->command, *now);
}

static int lock_client_on_message(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        LockClient *client = userdata;

        if (client->command && bus_owner_sent(client->daemon, message))
                held_command_take_signal(client->command, message);
        return 0;
}

static int lock_client_on_signal(sd_event_source *source, const struct signalfd_siginfo *info,
                                 void *userdata) {
        LockClient *client = userdata;
        int signal = (int)info->ssi_signo;

        if (client->command)
                held_command_signal(client->command, signal);
        else
                lock_client_leave(EXIT_CODE_SIGNAL + signal, client);
        return 0;
}

static int lock_client_open_bus(LockClient *client) {
        int r = sd_bus_open_system(&client->bus);

        if (r >= 0)
                r = sd_bus_attach_event(client->bus, client->event, SD_EVENT_PRIORITY_NORMAL);
        if (r >= 0)
                r = sd_bus_match_signal_async(client->bus, &client->signals, BUS_NAME_ROOT,
                                              BUS_PATH, BUS_INTERFACE, NULL, lock_client_on_message,
                                              NULL, client);
        if (r >= 0)
                r = bus_owner_new(client->bus, BUS_NAME_ROOT, lock_client_on_owner, client,
                                  &client->daemon);
        return r;
}

static int lock_client_prepare(LockClient *client, usec_t give_up_at) {
        static const LockAskingFuncs funcs = {lock_client_on_held, lock_client_leave,
                                              lock_client_on_absent};
        int r = sd_event_new(&client->event);

        for (const int *signal = lock_task_signals; *signal && r >= 0; signal++)
                r = sd_event_add_signal(client->event, NULL, *signal, lock_client_on_signal,
                                        client);
        if (r >= 0)
                r = lock_client_open_bus(client);
        if (r >= 0)
                r = lock_asking_new(client->event, client->bus, client->task, give_up_at, &funcs,
                                    client, &client->asking);
        return r;
}

static void lock_client_done(LockClient *client) {
        held_command_free(client->command);
        lock_asking_free(client->asking);
        sd_bus_slot_unref(client->signals);
        bus_owner_free(client->daemon);
        sd_bus_flush_close_unref(client->bus);
        sd_event_unref(client->event);
}

bool lock_client_run(LockTask *task, int *ret_status) {
        /* The time counts from here, also where there is not even a bus. */
        usec_t give_up_at = usec_add(clock_monotonic(), task->timeout);
        LockClient client = {.task = task, .status = EXIT_CODE_FAILED};
        bool here = false;
        int r = lock_client_prepare(&client, give_up_at);

        if (r >= 0)
                r = lock_asking_begin(client.asking);
        if (r >= 0) {
                r = sd_event_loop(client.event);
                here = !client.absent;
        }
        if (here && r < 0)
                complain("%s", g_strerror(-r));
        if (task->timeout > 0 && task->timeout != USEC_INFINITY)
                task->timeout = MAX(usec_sub(give_up_at, clock_monotonic()), 1);
        *ret_status = client.status;
        lock_client_done(&client);
        return here;
}

/* See lock-client.h. Without a held command we ask and wait; with one the daemon holds the lock.
 * Only while there is no lock yet does a daemon that stays away mean that we go on without one. */
#include "lock-client.h"

#include "bus-interface.h"
#include "bus-owner.h"
#include "bus-reach.h"
#include "exit-code.h"
#include "held-command.h"
#include "lease-way.h"
#include "lock-asking.h"
#include "output.h"

typedef struct LockClient {
        LockTask *task;
        sd_event *event;
        sd_bus *bus;
        sd_bus_slot *signals;
        BusOwner *daemon; /* whose signals count */
        BusReach *reach;
        LockAsking *asking;   /* NULL: the bus is not reached yet */
        HeldCommand *command; /* NULL: not held yet */
        usec_t give_up_at;    /* CLOCK_MONOTONIC */
        bool absent;          /* no daemon: somebody else's turn */
        int status;
} LockClient;

static void lock_client_leave(int status, void *userdata) {
        LockClient *client = userdata;

        client->status = status;
        bus_reach_stop(client->reach);
        if (client->asking)
                lock_asking_end(client->asking);
        (void)sd_event_exit(client->event, 0);
}

/* Whoever relies on a cgroup that is stopped must learn that there is none. */
static void lock_client_on_absent(const char *why, void *userdata) {
        LockClient *client = userdata;

        complain("%s: this process will hold the lock %s itself; when it is lost, only the "
                 "command's process group is stopped (see jobkeeper(1))",
                 why, client->task->label);
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

        if (client->asking)
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

static int lock_client_listen(LockClient *client) {
        int r =
            sd_bus_match_signal_async(client->bus, &client->signals, BUS_NAME_ROOT, BUS_PATH,
                                      BUS_INTERFACE, NULL, lock_client_on_message, NULL, client);

        return r < 0 ? r
                     : bus_owner_new(client->bus, BUS_NAME_ROOT, lock_client_on_owner, client,
                                     &client->daemon);
}

static void lock_client_ask(LockClient *client) {
        static const LockAskingFuncs funcs = {lock_client_on_held, lock_client_leave,
                                              lock_client_on_absent};
        int r = lock_client_listen(client);

        if (r >= 0)
                r = lock_asking_new(client->event, client->bus, client->task, client->give_up_at,
                                    &funcs, client, &client->asking);
        if (r >= 0) {
                lock_asking_begin(client->asking);
                return;
        }
        complain("cannot ask jobkeeperd: %s", g_strerror(-r));
        lock_client_leave(EXIT_CODE_UNAVAILABLE, client);
}

static void lock_client_out_of_reach(LockClient *client, const char *why) {
        bool is_late = clock_monotonic() >= client->give_up_at;

        complain("jobkeeperd runs on this machine, but cannot be asked: the system bus does not "
                 "let this command in (%s). Another process may keep it busy (journalctl -u dbus). "
                 "The lock %s is not held; with --standalone it is held without jobkeeperd",
                 why, client->task->label);
        lock_client_leave(is_late ? EXIT_CODE_NOT_HELD : EXIT_CODE_UNAVAILABLE, client);
}

static void lock_client_on_reach_end(BusReachEnd end, sd_bus *bus, const char *why,
                                     void *userdata) {
        g_autofree char *sentence = NULL;
        LockClient *client = userdata;

        client->bus = bus;
        switch (end) {
        case BUS_REACHED:
                lock_client_ask(client);
                return;
        case BUS_OF_OTHERS:
                lock_client_on_absent("the system bus is that of another machine or container",
                                      client);
                return;
        case BUS_WITHOUT_DAEMON:
                sentence =
                    g_strdup_printf("jobkeeperd cannot be reached on the system bus (%s)", why);
                lock_client_on_absent(sentence, client);
                return;
        case BUS_OUT_OF_REACH:
                lock_client_out_of_reach(client, why);
                return;
        }
}

static void lock_client_on_slow(void *userdata) {
        const LockClient *client = userdata;

        if (!client->task->quiet && client->task->timeout > 0)
                complain("waiting for the system bus");
}

static int lock_client_prepare(LockClient *client) {
        static const BusReachFuncs funcs = {lock_client_on_reach_end, lock_client_on_slow};
        usec_t patience = client->task->timeout ? client->task->timeout : LOCK_TRY_CONNECT_MAX;
        int r = sd_event_new(&client->event);

        for (const int *signal = lock_task_signals; *signal && r >= 0; signal++)
                r = sd_event_add_signal(client->event, NULL, *signal, lock_client_on_signal,
                                        client);
        return r < 0
                   ? r
                   : bus_reach_new(client->event, LEASE_PATH, usec_add(clock_monotonic(), patience),
                                   &funcs, client, &client->reach);
}

static void lock_client_done(LockClient *client) {
        held_command_free(client->command);
        bus_reach_free(client->reach);
        lock_asking_free(client->asking);
        sd_bus_slot_unref(client->signals);
        bus_owner_free(client->daemon);
        sd_bus_flush_close_unref(client->bus);
        sd_event_unref(client->event);
}

bool lock_client_run(LockTask *task, int *ret_status) {
        /* The time counts from here, also where there is not even a bus. */
        LockClient client = {.task = task,
                             .give_up_at = usec_add(clock_monotonic(), task->timeout),
                             .status = EXIT_CODE_FAILED};
        int r = lock_client_prepare(&client);

        if (r >= 0)
                r = sd_event_loop(client.event);
        if (r < 0)
                complain("%s", g_strerror(-r));
        if (task->timeout > 0 && task->timeout != USEC_INFINITY)
                task->timeout = MAX(usec_sub(client.give_up_at, clock_monotonic()), 1);
        *ret_status = client.status;
        lock_client_done(&client);
        return !client.absent;
}

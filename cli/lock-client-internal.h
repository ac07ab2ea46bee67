/* What the parts of lock-client.c share: lock-client-ask.c (asking for the lock, and waiting for
 * it) and lock-client-hold.c (holding it, and losing it). */
#pragma once

#include <jansson.h>
#include <systemd/sd-bus.h>

#include "bus-client.h"
#include "bus-owner.h"
#include "lock-client.h"
#include "lock-notice.h"

/* So long may an answer take that the daemon has at hand. */
#define LEASE_TIMEOUT (5 * USEC_PER_SEC)

typedef struct LockClient {
        LockTask *task;
        sd_event *event;
        sd_bus *bus;
        sd_bus_slot *signals, *call, *lease;
        BusOwner *daemon;  /* whose signals count */
        GPtrArray *asking; /* sd_bus_slot of Locks() */
        json_t *told;      /* their answers so far */
        unsigned n_asking;
        LockNotice *notice;
        sd_event_source *give_up, *retry, *lease_timer, *stop_timer, *kill_timer, *leave_timer;
        usec_t give_up_at, absent_since; /* CLOCK_MONOTONIC; 0: it is there */
        usec_t stop_at;                  /* CLOCK_BOOTTIME: D - K, by the last lease */
        char *id;
        int64_t token;
        char *cgroup_root, *cgroup;
        CommandProcess *process;
        bool executing, stopping, killed, finished;
        bool lost;   /* the command goes on without the lock */
        bool asked;  /* a daemon has taken our question */
        bool absent; /* no daemon: somebody else's turn */
        int status;
} LockClient;

/* lock-client.c */
/* Calls a method, whose answer `func` gets; `slot` owns the call. Return: 0 or negative errno. */
int client_call(LockClient *client, sd_bus_slot **slot, const char *method, usec_t timeout,
                sd_bus_message_handler_t func, const char *types, ...);
/* Return: a new reference, the answer's JSON; NULL when it is an error. */
json_t *reply_json(sd_bus_message *reply);
const char *reply_error(sd_bus_message *reply);
BusOutcome reply_outcome(sd_bus_message *reply);
/* Return: whether the daemon (or the bus) went away rather than answered. */
bool went_away(BusOutcome outcome);
/* Ends it all with this status. What we hold is given back first; of what we wait for the daemon
 * hears when we leave the bus. */
void client_finish(LockClient *client, int status);
void client_release(LockClient *client);

/* lock-client-ask.c */
extern const LockNoticeFuncs client_notice_funcs;
void client_ask(LockClient *client);
/* Asks, if the daemon sees the same processes as we do. */
int client_begin(LockClient *client);
void client_end_wait(LockClient *client);

/* lock-client-hold.c */
/* The daemon has the lock for us: makes the process, has it attached, executes the command. */
void client_held(LockClient *client, const json_t *answer);
void client_attach(LockClient *client);
/* Return: whether the answer has a lease that leaves time to do anything. */
bool client_take_lease(LockClient *client, const json_t *answer);
/* It is not ours any more. */
void client_lost(LockClient *client, const char *why);
/* LockLost and LockRevoked. */
int client_on_signal(sd_bus_message *message, void *userdata, sd_bus_error *error);

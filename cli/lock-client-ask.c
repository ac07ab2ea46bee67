/* Asking for the lock, and waiting for it: see lock-client.c. */
#include <string.h>

#include "bus-interface.h"
#include "exit-code.h"
#include "json-line.h"
#include "lock-client-internal.h"
#include "options.h"
#include "output.h"
#include "run-view.h"

#define RETRY_DELAY (500 * USEC_PER_MSEC)
/* So long does one who waits, wait for a daemon to come back. */
#define DAEMON_PATIENCE (10 * USEC_PER_SEC)

/* ---- while we wait ---- */

static void say_waiting(void *userdata) {
        LockClient *client = userdata;

        if (client->absent_since)
                complain("waiting for jobkeeperd");
        else
                complain("waiting for the lock %s", client->task->label);
}

static int on_locks(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        LockClient *client = userdata;
        json_t *answer = reply_json(reply);

        if (answer)
                (void)json_array_extend(json_object_get(client->told, "resources"),
                                        json_object_get(answer, "resources"));
        json_decref(answer);
        if (--client->n_asking == 0 && client->notice)
                lock_notice_take(client->notice, client->told);
        return 0;
}

static void ask_who_holds(void *userdata) {
        LockClient *client = userdata;

        if (client->n_asking > 0 || client->absent_since)
                return;
        g_ptr_array_set_size(client->asking, 0);
        json_decref(client->told);
        client->told = json_pack("{s:[]}", "resources");
        for (guint i = 0; i < client->task->wishes->len; i++) {
                const LockWish *wish = client->task->wishes->pdata[i];
                sd_bus_slot *slot = NULL;

                if (client_call(client, &slot, "Locks", LEASE_TIMEOUT, on_locks, "s", wish->name) <
                    0)
                        continue;
                g_ptr_array_add(client->asking, slot);
                client->n_asking++;
        }
}

const LockNoticeFuncs client_notice_funcs = {say_waiting, ask_who_holds};

void client_end_wait(LockClient *client) {
        client->notice = lock_notice_free(client->notice);
        client->give_up = sd_event_source_disable_unref(client->give_up);
        client->retry = sd_event_source_disable_unref(client->retry);
        g_ptr_array_set_size(client->asking, 0);
        client->n_asking = 0;
}

/* ---- asking ---- */

static void client_not_held(LockClient *client, const json_t *answer) {
        const char *state = json_text(answer, "state"), *why = json_text(answer, "why");

        if (g_str_equal(state, "failed")) {
                complain("the lock %s cannot be had: %s", client->task->label, why);
                client_finish(client, EXIT_CODE_UNAVAILABLE);
                return;
        }
        if (client->task->quiet) {
                /* the status says it */
        } else if (g_str_equal(state, "unreachable"))
                complain("jobkeeperd cannot use ZooKeeper%s%s", *why ? ": " : "", why);
        else
                complain("the lock %s was not free in time", client->task->label);
        client_finish(client, EXIT_CODE_NOT_HELD);
}

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata) {
        client_ask(userdata);
        return 0;
}

/* No daemon has our question at present. */
static void client_retry(LockClient *client) {
        usec_t now = clock_monotonic();

        if (client->absent_since == 0)
                client->absent_since = now;
        if (usec_sub(now, client->absent_since) > DAEMON_PATIENCE) {
                client->absent = true;
                (void)sd_event_exit(client->event, 0);
                return;
        }
        client->retry = sd_event_source_disable_unref(client->retry);
        (void)sd_event_add_time_relative(client->event, &client->retry, CLOCK_MONOTONIC,
                                         RETRY_DELAY, USEC_PER_MSEC, on_retry, client);
}

static void client_refused(LockClient *client, sd_bus_message *reply) {
        BusOutcome outcome = reply_outcome(reply);
        bool old = sd_bus_message_is_method_error(reply, SD_BUS_ERROR_UNKNOWN_METHOD);

        if (!client->asked && outcome == BUS_DENIED && !client->task->quiet)
                complain("jobkeeperd holds locks for root only: this process holds the lock %s "
                         "itself, and stops less when it is lost (see jobkeeper(1))",
                         client->task->label);
        if (!client->asked && (outcome == BUS_NO_DAEMON || outcome == BUS_DENIED || old)) {
                client->absent = true;
                (void)sd_event_exit(client->event, 0);
        } else if (went_away(outcome) || outcome == BUS_STOPPING) {
                client_retry(client);
        } else if (sd_bus_message_is_method_error(reply, SD_BUS_ERROR_INVALID_ARGS)) {
                client_finish(client, options_error("lock", "%s", reply_error(reply)));
        } else {
                complain("jobkeeperd refused the request: %s", reply_error(reply));
                client_finish(client, EXIT_CODE_UNAVAILABLE);
        }
}

static int on_acquired(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        LockClient *client = userdata;
        json_t *answer = reply_json(reply);

        client->asked = client->asked || answer || reply_outcome(reply) == BUS_STOPPING;
        if (!answer)
                client_refused(client, reply);
        else if (g_str_equal(json_text(answer, "state"), "held"))
                client_held(client, answer);
        else
                client_not_held(client, answer);
        json_decref(answer);
        return 0;
}

static json_t *wishes_to_json(const LockTask *task) {
        json_t *resources = json_array();

        for (guint i = 0; i < task->wishes->len; i++) {
                const LockWish *wish = task->wishes->pdata[i];
                json_t *resource = json_object();

                json_object_set_new(resource, "resource", json_string(wish->name));
                json_object_set_new(resource, "shared", json_boolean(wish->mode == LOCK_SHARED));
                if (wish->slots)
                        json_object_set_new(resource, "slots", json_integer(wish->slots));
                if (wish->naming)
                        json_object_set_new(resource, "naming", json_string(wish->naming));
                json_array_append_new(resources, resource);
        }
        return resources;
}

static char *client_request(const LockClient *client) {
        const LockTask *task = client->task;
        g_autofree char *who = lock_task_payload(task, NULL);
        json_t *request = json_object();

        json_object_set_new(request, "resources", wishes_to_json(task));
        if (task->timeout == 0)
                json_object_set_new(request, "wait", json_integer(0));
        else if (client->give_up_at != USEC_INFINITY)
                json_object_set_new(
                    request, "wait",
                    json_real((double)MAX(usec_sub(client->give_up_at, clock_monotonic()), 1) /
                              (double)USEC_PER_SEC));
        json_object_set_new(request, "go_on", json_boolean(task->go_on));
        json_object_set_new(request, "who", json_loads(who, 0, NULL));
        return json_line_dump(request);
}

void client_ask(LockClient *client) {
        g_autofree char *request = client_request(client);
        int r = client_call(client, &client->call, "AcquireLock", USEC_INFINITY, on_acquired, "s",
                            request);

        if (r >= 0)
                return;
        client->absent = !client->asked;
        client_finish(client, EXIT_CODE_UNAVAILABLE);
}

/* The daemon will have our child moved by its number, which must mean the same process to it as to
 * us: in a container with a bus from outside it does not. The bus knows our number outside. */
static int on_own_pid(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        LockClient *client = userdata;
        uint32_t pid = 0;

        if (!sd_bus_message_is_method_error(reply, NULL) &&
            sd_bus_message_read(reply, "u", &pid) >= 0 && (pid_t)pid == getpid()) {
                client_ask(client);
                return 0;
        }
        client->absent = true;
        return sd_event_exit(client->event, 0);
}

int client_begin(LockClient *client) {
        const char *name = NULL;
        int r = sd_bus_get_unique_name(client->bus, &name);

        if (r < 0)
                return r;
        return sd_bus_call_method_async(
            client->bus, &client->call, "org.freedesktop.DBus", "/org/freedesktop/DBus",
            "org.freedesktop.DBus", "GetConnectionUnixProcessID", on_own_pid, client, "s", name);
}

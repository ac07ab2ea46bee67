/* See lock-asking.h. */
#include "lock-asking.h"

#include "exit-code.h"
#include "json-line.h"
#include "lease-way.h"
#include "lock-call.h"
#include "lock-notice.h"
#include "options.h"
#include "output.h"
#include "run-view.h"
#include "timer.h"

#define RETRY_DELAY (500 * USEC_PER_MSEC)
/* So long does one who waits, wait for a daemon to come back. */
#define DAEMON_PATIENCE (10 * USEC_PER_SEC)

struct LockAsking {
        sd_event *event;
        sd_bus *bus;
        const LockTask *task;
        const LockAskingFuncs *funcs;
        void *userdata;
        sd_bus_slot *call;
        GPtrArray *looks; /* sd_bus_slot of Locks() */
        unsigned n_looks; /* those that were not answered yet */
        json_t *told;     /* their answers so far */
        sd_bus_slot *why; /* of Locks(), asked once: can the daemon get at locks at all? */
        LockNotice *notice;
        sd_event_source *give_up, *retry;
        usec_t give_up_at, absent_since; /* CLOCK_MONOTONIC; 0: it is there */
        bool asked;                      /* a daemon has taken our question */
        bool stopping;                   /* it was, when it last answered */
};

static void lock_asking_fail(LockAsking *asking, int status) {
        asking->funcs->on_failed(status, asking->userdata);
}

/* ---- while we wait ---- */

/* A daemon without a session waits as we do, and takes locks when it has one again. */
static int lock_asking_on_why(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        if (lock_reply_outcome(reply) == BUS_NOT_CONNECTED)
                complain("jobkeeperd can give no locks at present, and waits until it can: %s",
                         lock_reply_error(reply));
        return 0;
}

static void lock_asking_say_waiting(void *userdata) {
        LockAsking *asking = userdata;
        const LockWish *wish = asking->task->wishes->pdata[0];

        if (asking->absent_since) {
                complain("waiting for jobkeeperd");
                return;
        }
        complain("waiting for the lock %s", asking->task->label);
        (void)lock_call(asking->bus, &asking->why, "Locks", LOCK_CALL_TIMEOUT, lock_asking_on_why,
                        asking, "s", wish->name);
}

static int lock_asking_on_locks(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        LockAsking *asking = userdata;
        json_t *answer = lock_reply_json(reply);

        if (answer)
                (void)json_array_extend(json_object_get(asking->told, "resources"),
                                        json_object_get(answer, "resources"));
        json_decref(answer);
        if (--asking->n_looks == 0 && asking->notice)
                lock_notice_take(asking->notice, asking->told);
        return 0;
}

static void lock_asking_look(void *userdata) {
        LockAsking *asking = userdata;

        if (asking->n_looks > 0 || asking->absent_since)
                return;
        g_ptr_array_set_size(asking->looks, 0);
        json_decref(asking->told);
        asking->told = json_pack("{s:[]}", "resources");
        for (guint i = 0; i < asking->task->wishes->len; i++) {
                const LockWish *wish = asking->task->wishes->pdata[i];
                sd_bus_slot *slot = NULL;

                if (lock_call(asking->bus, &slot, "Locks", LOCK_CALL_TIMEOUT, lock_asking_on_locks,
                              asking, "s", wish->name) < 0)
                        continue;
                g_ptr_array_add(asking->looks, slot);
                asking->n_looks++;
        }
}

void lock_asking_end(LockAsking *asking) {
        asking->notice = lock_notice_free(asking->notice);
        asking->give_up = sd_event_source_disable_unref(asking->give_up);
        asking->retry = sd_event_source_disable_unref(asking->retry);
        g_ptr_array_set_size(asking->looks, 0);
        asking->n_looks = 0;
        asking->why = sd_bus_slot_unref(asking->why);
        asking->call = sd_bus_slot_unref(asking->call);
}

void lock_asking_daemon(LockAsking *asking, bool there, bool known) {
        asking->absent_since = there ? 0 : clock_monotonic();
        asking->asked = asking->asked || known;
}

/* A daemon that is stopped lets its runs end, and may take its time for that. */
static void lock_asking_say_stopping(const LockAsking *asking) {
        complain("jobkeeperd is being stopped on this machine (systemctl status jobkeeperd): the "
                 "lock %s is not held",
                 asking->task->label);
}

static void lock_asking_on_give_up(void *userdata) {
        LockAsking *asking = userdata;

        if (asking->task->quiet) {
                /* the status says it */
        } else if (asking->stopping)
                lock_asking_say_stopping(asking);
        else
                complain("jobkeeperd did not answer in time: the lock %s is not held",
                         asking->task->label);
        lock_asking_fail(asking, EXIT_CODE_NOT_HELD);
}

/* ---- asking ---- */

static void lock_asking_not_held(LockAsking *asking, const json_t *answer) {
        const char *state = json_text(answer, "state"), *why = json_text(answer, "why");

        if (g_str_equal(state, "failed")) {
                complain("the lock %s cannot be had: %s", asking->task->label, why);
                lock_asking_fail(asking, EXIT_CODE_UNAVAILABLE);
                return;
        }
        if (asking->task->quiet) {
                /* the status says it */
        } else if (g_str_equal(state, "unreachable"))
                complain("jobkeeperd can give no locks at present%s%s", *why ? ": " : "", why);
        else
                complain("the lock %s was not free in time", asking->task->label);
        lock_asking_fail(asking, EXIT_CODE_NOT_HELD);
}

static void lock_asking_ask(void *userdata);

/* The lock is held without the daemon only where there is none. */
static void lock_asking_absent(LockAsking *asking) {
        asking->funcs->on_absent("jobkeeperd does not run on this machine", asking->userdata);
}

/* Nobody takes our question. */
static void lock_asking_unheard(LockAsking *asking) {
        if (!lease_way_is_served(LEASE_PATH)) {
                lock_asking_absent(asking);
                return;
        }
        complain("jobkeeperd runs on this machine, but cannot be asked on the system bus "
                 "(journalctl -u dbus -u jobkeeperd): the lock %s is not held",
                 asking->task->label);
        lock_asking_fail(asking, EXIT_CODE_UNAVAILABLE);
}

/* No daemon has our question at present. */
static void lock_asking_retry(LockAsking *asking) {
        usec_t now = clock_monotonic();

        if (asking->absent_since == 0)
                asking->absent_since = now;
        if (usec_sub(now, asking->absent_since) > DAEMON_PATIENCE) {
                if (!asking->stopping) {
                        lock_asking_unheard(asking);
                        return;
                }
                lock_asking_say_stopping(asking);
                lock_asking_fail(asking, EXIT_CODE_UNAVAILABLE);
                return;
        }
        (void)timer_in(asking->event, &asking->retry, RETRY_DELAY, lock_asking_ask, asking);
}

static void lock_asking_refused(LockAsking *asking, sd_bus_message *reply) {
        BusOutcome outcome = lock_reply_outcome(reply);
        const LockAskingFuncs *funcs = asking->funcs;

        if (!asking->asked && outcome == BUS_DENIED) {
                funcs->on_absent("jobkeeperd holds locks for root only", asking->userdata);
        } else if (!asking->asked &&
                   sd_bus_message_is_method_error(reply, SD_BUS_ERROR_UNKNOWN_METHOD)) {
                funcs->on_absent("jobkeeperd on this machine is too old to hold locks",
                                 asking->userdata);
        } else if (!asking->asked && outcome == BUS_NO_DAEMON && !lease_way_is_served(LEASE_PATH)) {
                lock_asking_absent(asking);
        } else if (lock_reply_is_missing(reply) || outcome == BUS_STOPPING) {
                lock_asking_retry(asking);
        } else if (sd_bus_message_is_method_error(reply, SD_BUS_ERROR_INVALID_ARGS)) {
                lock_asking_fail(asking, options_error("lock", "%s", lock_reply_error(reply)));
        } else {
                complain("jobkeeperd refused the request: %s", lock_reply_error(reply));
                lock_asking_fail(asking, EXIT_CODE_UNAVAILABLE);
        }
}

static int lock_asking_on_acquired(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        LockAsking *asking = userdata;
        json_t *answer = lock_reply_json(reply);

        asking->stopping = lock_reply_outcome(reply) == BUS_STOPPING;
        asking->asked = asking->asked || answer || asking->stopping;
        if (!answer)
                lock_asking_refused(asking, reply);
        else if (g_str_equal(json_text(answer, "state"), "held"))
                asking->funcs->on_held(answer, asking->userdata);
        else
                lock_asking_not_held(asking, answer);
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

static char *lock_asking_request(const LockAsking *asking) {
        const LockTask *task = asking->task;
        g_autofree char *who = lock_task_payload(task, NULL);
        json_t *request = json_object();

        json_object_set_new(request, "resources", wishes_to_json(task));
        if (task->timeout == 0)
                json_object_set_new(request, "wait", json_integer(0));
        else if (asking->give_up_at != USEC_INFINITY)
                json_object_set_new(
                    request, "wait",
                    json_real((double)MAX(usec_sub(asking->give_up_at, clock_monotonic()), 1) /
                              (double)USEC_PER_SEC));
        json_object_set_new(request, "go_on", json_boolean(task->go_on));
        json_object_set_new(request, "who", json_loads(who, 0, NULL));
        return json_line_dump(request);
}

static void lock_asking_ask(void *userdata) {
        LockAsking *asking = userdata;
        g_autofree char *request = lock_asking_request(asking);

        if (lock_call(asking->bus, &asking->call, "AcquireLock", USEC_INFINITY,
                      lock_asking_on_acquired, asking, "s", request) < 0)
                lock_asking_unheard(asking);
}

void lock_asking_begin(LockAsking *asking) {
        lock_asking_ask(asking);
}

/* The daemon keeps to the time limit, and its answer tells why the lock was not had; this is for a
 * daemon that does not answer. A try is as long as the daemon's own patience with its connection.
 */
static int lock_asking_limit(LockAsking *asking) {
        usec_t from = asking->task->timeout ? asking->give_up_at : clock_monotonic();
        usec_t slack = (asking->task->timeout ? 1 : 10) * USEC_PER_SEC;

        if (asking->give_up_at == USEC_INFINITY)
                return 0;
        return timer_at(asking->event, &asking->give_up, CLOCK_MONOTONIC, usec_add(from, slack),
                        lock_asking_on_give_up, asking);
}

static void lock_asking_free_slot(void *slot) {
        sd_bus_slot_unref(slot);
}

int lock_asking_new(sd_event *event, sd_bus *bus, const LockTask *task, usec_t give_up_at,
                    const LockAskingFuncs *funcs, void *userdata, LockAsking **ret_asking) {
        static const LockNoticeFuncs notice_funcs = {lock_asking_say_waiting, lock_asking_look};
        _cleanup_(lock_asking_freep) LockAsking *asking = g_new0(LockAsking, 1);
        int r;

        asking->event = sd_event_ref(event);
        asking->bus = sd_bus_ref(bus);
        asking->task = task;
        asking->give_up_at = give_up_at;
        asking->funcs = funcs;
        asking->userdata = userdata;
        asking->looks = g_ptr_array_new_with_free_func(lock_asking_free_slot);
        r = lock_asking_limit(asking);
        if (r >= 0)
                r = lock_notice_new(event, task, &notice_funcs, asking, &asking->notice);
        if (r < 0)
                return r;
        *ret_asking = g_steal_pointer(&asking);
        return 0;
}

LockAsking *lock_asking_free(LockAsking *asking) {
        if (!asking)
                return NULL;
        lock_asking_end(asking);
        g_ptr_array_unref(asking->looks);
        json_decref(asking->told);
        sd_bus_unref(asking->bus);
        sd_event_unref(asking->event);
        g_free(asking);
        return NULL;
}

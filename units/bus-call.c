/* See bus-call.h. */
#include "bus-call.h"

#include <errno.h>
#include <glib.h>
#include <stdarg.h>

#define DBUS_PROPERTIES "org.freedesktop.DBus.Properties"

/* A call is in the list of its state, until it is done. */
typedef enum CallState {
        CALL_URGENT, /* waits, and goes before all that is not urgent */
        CALL_WAITING,
        CALL_SENT,
        CALL_CUT, /* the connection on which it was sent is gone: nobody but us will answer it */
        CALL_DONE,
} CallState;

struct BusQueue {
        sd_bus *bus; /* weak: the manager's */
        GQueue calls[CALL_DONE];
        /* Sends from the loop, so that no callback comes from inside bus_call_new(). */
        sd_event_source *pump;
        BusQueueFunc func; /* or NULL */
        void *userdata;
};

struct BusCall {
        BusQueue *queue; /* weak */
        CallState state;
        BusCallBuild build;
        BusCallFunc func;
        void *userdata;
        usec_t timeout;
        usec_t sent; /* CLOCK_MONOTONIC */
        GList link;
        sd_bus_slot *slot;
};

static void queue_tell(const BusQueue *queue, BusQueueNews news) {
        if (queue->func)
                queue->func(news, queue->userdata);
}

/* Return: the call that is to be sent next, or NULL. */
static BusCall *queue_next(const BusQueue *queue) {
        const GQueue *waiting =
            &queue->calls[queue->calls[CALL_URGENT].length > 0 ? CALL_URGENT : CALL_WAITING];

        return waiting->length > 0 ? waiting->head->data : NULL;
}

static bool queue_can_send(const BusQueue *queue) {
        return queue->bus && queue_next(queue) &&
               queue->calls[CALL_SENT].length < UNIT_CALLS_IN_FLIGHT_MAX;
}

static void queue_wake(BusQueue *queue) {
        bool busy = queue->calls[CALL_CUT].length > 0 || queue_can_send(queue);

        (void)sd_event_source_set_enabled(queue->pump, busy ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

static void call_move(BusCall *call, CallState state) {
        if (call->state != CALL_DONE)
                g_queue_unlink(&call->queue->calls[call->state], &call->link);
        call->state = state;
        if (state != CALL_DONE)
                g_queue_push_tail_link(&call->queue->calls[state], &call->link);
}

/* Return: whether somebody else says, in place of PID 1, that there is no answer. */
static bool call_was_missed(const sd_bus_error *error) {
        static const char *const names[] = {
            SD_BUS_ERROR_NO_REPLY,        SD_BUS_ERROR_TIMEOUT,
            SD_BUS_ERROR_DISCONNECTED,    SD_BUS_ERROR_LIMITS_EXCEEDED,
            SD_BUS_ERROR_SERVICE_UNKNOWN, SD_BUS_ERROR_NAME_HAS_NO_OWNER};

        for (size_t i = 0; error && i < G_N_ELEMENTS(names); i++)
                if (sd_bus_error_has_name(error, names[i]))
                        return true;
        return false;
}

/* Nothing of the call may be touched after func, which may free it. */
static void call_finish(BusCall *call, sd_bus_message *reply, const sd_bus_error *error) {
        bool sent = bus_call_sent(call);

        call->slot = sd_bus_slot_unref(call->slot);
        call_move(call, CALL_DONE);
        queue_wake(call->queue);
        if (sent)
                queue_tell(call->queue,
                           call_was_missed(error) ? BUS_QUEUE_MISSED : BUS_QUEUE_ANSWERED);
        call->func(reply, error, call->userdata);
}

static int call_on_reply(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        bool failed = sd_bus_message_is_method_error(message, NULL) > 0;

        call_finish(userdata, failed ? NULL : message,
                    failed ? sd_bus_message_get_error(message) : NULL);
        return 0;
}

static void call_send(BusCall *call) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        BusQueue *queue = call->queue;
        int r;

        r = call->build(queue->bus, call->userdata, &message);
        if (r >= 0)
                r = sd_bus_call_async(queue->bus, &call->slot, message, call_on_reply, call,
                                      call->timeout);
        if (r == -ENOTCONN || r == -ECONNRESET) {
                queue->bus = NULL; /* The connection is just going down, and no whole message has
                                      left: the call waits for the next one. */
                return;
        }
        if (r < 0) {
                (void)sd_bus_error_set_errno(&error, r);
                call_finish(call, NULL, &error);
                return;
        }
        call->sent = clock_monotonic();
        call_move(call, CALL_SENT);
        queue_tell(queue, BUS_QUEUE_SENT);
}

static int queue_on_pump(sd_event_source *source, void *userdata) {
        const sd_bus_error cut =
            SD_BUS_ERROR_MAKE_CONST(SD_BUS_ERROR_DISCONNECTED, "The connection was given up");
        BusQueue *queue = userdata;

        if (queue->calls[CALL_CUT].length > 0) {
                call_finish(queue->calls[CALL_CUT].head->data, NULL, &cut);
                return 0;
        }
        if (queue_can_send(queue))
                call_send(queue_next(queue));
        queue_wake(queue);
        return 0;
}

int bus_queue_new(sd_event *event, BusQueue **ret_queue) {
        _cleanup_(bus_queue_freep) BusQueue *queue = g_new0(BusQueue, 1);
        int r;

        for (CallState state = CALL_URGENT; state < CALL_DONE; state++)
                g_queue_init(&queue->calls[state]);
        r = sd_event_add_defer(event, &queue->pump, queue_on_pump, queue);
        if (r < 0)
                return r;
        (void)sd_event_source_set_enabled(queue->pump, SD_EVENT_OFF);
        *ret_queue = g_steal_pointer(&queue);
        return 0;
}

BusQueue *bus_queue_free(BusQueue *queue) {
        if (!queue)
                return NULL;
        for (CallState state = CALL_URGENT; state < CALL_DONE; state++)
                g_assert(queue->calls[state].length == 0);
        sd_event_source_disable_unref(queue->pump);
        g_free(queue);
        return NULL;
}

/* sd-bus answers what is pending on a connection that the other side ends, and forgets what is
 * pending on one that we close. */
static void queue_cut(BusQueue *queue) {
        while (queue->calls[CALL_SENT].length > 0) {
                BusCall *call = queue->calls[CALL_SENT].head->data;

                call->slot = sd_bus_slot_unref(call->slot);
                call_move(call, CALL_CUT);
        }
}

void bus_queue_set_bus(BusQueue *queue, sd_bus *bus) {
        if (!bus)
                queue_cut(queue);
        queue->bus = bus;
        queue_wake(queue);
}

void bus_queue_on_news(BusQueue *queue, BusQueueFunc func, void *userdata) {
        queue->func = func;
        queue->userdata = userdata;
}

usec_t bus_queue_oldest(const BusQueue *queue) {
        const GList *oldest = queue->calls[CALL_SENT].head;

        return oldest ? ((const BusCall *)oldest->data)->sent : 0;
}

BusCall *bus_call_new(BusQueue *queue, BusCallBuild build, BusCallFunc func, void *userdata,
                      usec_t timeout, BusCallFlags flags) {
        BusCall *call = g_new0(BusCall, 1);

        *call = (BusCall){.queue = queue,
                          .state = flags & BUS_CALL_URGENT ? CALL_URGENT : CALL_WAITING,
                          .build = build,
                          .func = func,
                          .userdata = userdata,
                          .timeout = timeout};
        call->link.data = call;
        g_queue_push_tail_link(&queue->calls[call->state], &call->link);
        queue_wake(queue);
        return call;
}

BusCall *bus_call_free(BusCall *call) {
        bool waited;

        if (!call)
                return NULL;
        waited = call->state == CALL_SENT;
        call_move(call, CALL_DONE);
        sd_bus_slot_unref(call->slot);
        queue_wake(call->queue);
        if (waited)
                queue_tell(call->queue, BUS_QUEUE_LET_GO);
        g_free(call);
        return NULL;
}

bool bus_call_sent(const BusCall *call) {
        return call->state > CALL_WAITING;
}

bool bus_call_done(const BusCall *call) {
        return call->state == CALL_DONE;
}

/* ---- messages ---- */

int systemd_method(sd_bus *bus, sd_bus_message **ret_message, const char *member, const char *types,
                   ...) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        va_list arguments;
        int r;

        r = sd_bus_message_new_method_call(bus, &message, SYSTEMD_SERVICE, SYSTEMD_PATH,
                                           SYSTEMD_MANAGER, member);
        if (r < 0)
                return r;
        va_start(arguments, types);
        r = sd_bus_message_appendv(message, types, arguments);
        va_end(arguments);
        if (r >= 0)
                *ret_message = g_steal_pointer(&message);
        return r;
}

int systemd_get(sd_bus *bus, sd_bus_message **ret_message, const char *path, const char *interface,
                const char *property) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        int r;

        r = sd_bus_message_new_method_call(bus, &message, SYSTEMD_SERVICE, path, DBUS_PROPERTIES,
                                           property ? "Get" : "GetAll");
        if (r >= 0)
                r = property ? sd_bus_message_append(message, "ss", interface, property)
                             : sd_bus_message_append(message, "s", "");
        if (r >= 0)
                *ret_message = g_steal_pointer(&message);
        return r;
}

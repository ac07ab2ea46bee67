/* See bus-call.h. */
#include "bus-call.h"

#include <errno.h>
#include <glib.h>

#include "unit.h"

struct BusQueue {
        sd_bus *bus; /* weak: the manager's */
        GQueue waiting;
        unsigned in_flight;
        sd_event_source
            *pump; /* sends from the loop, so that no callback comes from inside bus_call_new() */
};

typedef enum CallState { CALL_WAITING, CALL_IN_FLIGHT, CALL_DONE } CallState;

struct BusCall {
        BusQueue *queue; /* weak */
        CallState state;
        BusCallBuild build;
        BusCallFunc func;
        void *userdata;
        usec_t timeout;
        BusCallFlags flags;
        GList link;
        sd_bus_slot *slot;
};

static void queue_wake(BusQueue *queue) {
        bool can_send =
            queue->bus && queue->in_flight < UNIT_CALLS_IN_FLIGHT_MAX && queue->waiting.length > 0;

        (void)sd_event_source_set_enabled(queue->pump, can_send ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

/* Nothing of the call may be touched after func, which may free it. */
static void call_finish(BusCall *call, sd_bus_message *reply, const sd_bus_error *error) {
        if (call->state == CALL_IN_FLIGHT)
                call->queue->in_flight--;
        call->slot = sd_bus_slot_unref(call->slot);
        call->state = CALL_DONE;
        queue_wake(call->queue);
        call->func(reply, error, call->userdata);
}

static int on_reply(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
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
                r = sd_bus_call_async(queue->bus, &call->slot, message, on_reply, call,
                                      call->timeout);
        if (r == -ENOTCONN || r == -ECONNRESET) {
                /* The connection is just going down, and no whole message has left: the call waits
                 * for the next one. */
                g_queue_push_head_link(&queue->waiting, &call->link);
                queue->bus = NULL;
                return;
        }
        if (r < 0) {
                (void)sd_bus_error_set_errno(&error, r);
                call_finish(call, NULL, &error);
                return;
        }
        call->state = CALL_IN_FLIGHT;
        queue->in_flight++;
}

static int on_pump(sd_event_source *source, void *userdata) {
        BusQueue *queue = userdata;
        GList *link = g_queue_pop_head_link(&queue->waiting);

        if (link)
                call_send(link->data);
        queue_wake(queue);
        return 0;
}

int bus_queue_new(sd_event *event, BusQueue **ret_queue) {
        _cleanup_(bus_queue_freep) BusQueue *queue = g_new0(BusQueue, 1);
        int r;

        g_queue_init(&queue->waiting);
        r = sd_event_add_defer(event, &queue->pump, on_pump, queue);
        if (r < 0)
                return r;
        (void)sd_event_source_set_enabled(queue->pump, SD_EVENT_OFF);
        *ret_queue = g_steal_pointer(&queue);
        return 0;
}

BusQueue *bus_queue_free(BusQueue *queue) {
        if (!queue)
                return NULL;
        g_assert(queue->waiting.length == 0 && queue->in_flight == 0);
        sd_event_source_disable_unref(queue->pump);
        g_free(queue);
        return NULL;
}

void bus_queue_set_bus(BusQueue *queue, sd_bus *bus) {
        queue->bus = bus;
        queue_wake(queue);
}

BusCall *bus_call_new(BusQueue *queue, BusCallBuild build, BusCallFunc func, void *userdata,
                      usec_t timeout, BusCallFlags flags) {
        BusCall *call = g_new0(BusCall, 1);
        GList *place = NULL;

        *call = (BusCall){.queue = queue,
                          .build = build,
                          .func = func,
                          .userdata = userdata,
                          .timeout = timeout,
                          .flags = flags};
        call->link.data = call;
        if (flags & BUS_CALL_URGENT)
                for (place = queue->waiting.head;
                     place && ((BusCall *)place->data)->flags & BUS_CALL_URGENT;)
                        place = place->next;
        g_queue_insert_before_link(&queue->waiting, place, &call->link);
        queue_wake(queue);
        return call;
}

BusCall *bus_call_free(BusCall *call) {
        if (!call)
                return NULL;
        if (call->state == CALL_WAITING)
                g_queue_unlink(&call->queue->waiting, &call->link);
        if (call->state == CALL_IN_FLIGHT)
                call->queue->in_flight--;
        sd_bus_slot_unref(call->slot);
        queue_wake(call->queue);
        g_free(call);
        return NULL;
}

bool bus_call_sent(const BusCall *call) {
        return call->state != CALL_WAITING;
}

bool bus_call_done(const BusCall *call) {
        return call->state == CALL_DONE;
}

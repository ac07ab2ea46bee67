/* See bus-reach.h. */
#include "bus-reach.h"

#include <errno.h>
#include <glib.h>
#include <unistd.h>

#include "bus-open.h"
#include "lease-way.h"
#include "timer.h"

/* A queue that is full has room again for whoever asks often. */
#define RETRY_DELAY (100 * USEC_PER_MSEC)
#define SLOW_AFTER USEC_PER_SEC

struct BusReach {
        sd_event *event;
        char *door;
        usec_t give_up_at;
        const BusReachFuncs *funcs;
        void *userdata;
        sd_bus *bus;
        sd_bus_slot *call;
        sd_event_source *retry, *limit, *slow;
        char *why;
};

static void bus_reach_close(BusReach *reach) {
        reach->call = sd_bus_slot_unref(reach->call);
        reach->bus = sd_bus_close_unref(reach->bus);
}

void bus_reach_stop(BusReach *reach) {
        reach->retry = sd_event_source_disable_unref(reach->retry);
        reach->limit = sd_event_source_disable_unref(reach->limit);
        reach->slow = sd_event_source_disable_unref(reach->slow);
        if (reach->bus) /* not closed from inside its own dispatching */
                (void)sd_bus_detach_event(reach->bus);
}

static void bus_reach_end(BusReach *reach, BusReachEnd end) {
        sd_bus *bus = end == BUS_REACHED ? g_steal_pointer(&reach->bus) : NULL;

        bus_reach_stop(reach);
        reach->funcs->on_end(end, bus, reach->why, reach->userdata);
}

static void bus_reach_give_up(void *userdata) {
        BusReach *reach = userdata;

        bus_reach_end(reach,
                      lease_way_is_served(reach->door) ? BUS_OUT_OF_REACH : BUS_WITHOUT_DAEMON);
}

static void bus_reach_try(void *userdata);

static void bus_reach_fault(BusReach *reach, const char *why) {
        g_free(reach->why);
        reach->why = g_strdup(why);
        if (!lease_way_is_served(reach->door) ||
            timer_in(reach->event, &reach->retry, RETRY_DELAY, bus_reach_try, reach) < 0)
                bus_reach_give_up(reach);
}

/* Return: whether it is an error, which was told. */
static bool bus_reach_refused(BusReach *reach, sd_bus_message *reply) {
        const sd_bus_error *error = sd_bus_message_get_error(reply);

        if (error)
                bus_reach_fault(reach, error->message ? error->message : error->name);
        return error;
}

/* The daemon will have a child of ours moved by its number, which must mean the same process to it
 * as to us: in a container with a bus from outside it does not. The bus knows our number outside.
 */
static int bus_reach_on_own_pid(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        BusReach *reach = userdata;
        uint32_t pid = 0;

        if (bus_reach_refused(reach, reply))
                return 0;
        bus_reach_end(reach, sd_bus_message_read(reply, "u", &pid) >= 0 && (pid_t)pid == getpid()
                                 ? BUS_REACHED
                                 : BUS_OF_OTHERS);
        return 0;
}

static int bus_reach_call(BusReach *reach, const char *method, sd_bus_message_handler_t func,
                          const char *argument) {
        reach->call = sd_bus_slot_unref(reach->call);
        return sd_bus_call_method_async(reach->bus, &reach->call, "org.freedesktop.DBus",
                                        "/org/freedesktop/DBus", "org.freedesktop.DBus", method,
                                        func, reach, argument ? "s" : "", argument);
}

/* An answer, whatever it says, means that the bus has let us in and given us a name: asking for
 * that earlier would block. */
static int bus_reach_on_answer(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        BusReach *reach = userdata;
        const char *name = NULL;
        int r = 0;

        if (bus_reach_refused(reach, reply))
                return 0;
        r = sd_bus_get_unique_name(reach->bus, &name);
        if (r >= 0)
                r = bus_reach_call(reach, "GetConnectionUnixProcessID", bus_reach_on_own_pid, name);
        if (r < 0)
                bus_reach_fault(reach, g_strerror(-r));
        return 0;
}

static void bus_reach_try(void *userdata) {
        BusReach *reach = userdata;
        int r;

        bus_reach_close(reach);
        r = bus_open_system(&reach->bus);
        if (r >= 0)
                r = sd_bus_attach_event(reach->bus, reach->event, SD_EVENT_PRIORITY_NORMAL);
        if (r >= 0)
                r = bus_reach_call(reach, "GetId", bus_reach_on_answer, NULL);
        if (r < 0)
                bus_reach_fault(reach, g_strerror(-r));
}

static void bus_reach_on_slow(void *userdata) {
        const BusReach *reach = userdata;

        reach->funcs->on_slow(reach->userdata);
}

int bus_reach_new(sd_event *event, const char *door, usec_t give_up_at, const BusReachFuncs *funcs,
                  void *userdata, BusReach **ret_reach) {
        _cleanup_(bus_reach_freep) BusReach *reach = g_new0(BusReach, 1);
        usec_t limit = MIN(give_up_at, usec_add(clock_monotonic(), BUS_REACH_PATIENCE));
        int r;

        reach->event = sd_event_ref(event);
        reach->door = g_strdup(door);
        reach->funcs = funcs;
        reach->userdata = userdata;
        reach->why = g_strdup("no answer");
        r = timer_at(event, &reach->limit, CLOCK_MONOTONIC, limit, bus_reach_give_up, reach);
        if (r >= 0)
                r = timer_in(event, &reach->slow, SLOW_AFTER, bus_reach_on_slow, reach);
        if (r >= 0)
                r = timer_in(event, &reach->retry, 0, bus_reach_try, reach);
        if (r < 0)
                return r;
        *ret_reach = g_steal_pointer(&reach);
        return 0;
}

BusReach *bus_reach_free(BusReach *reach) {
        if (!reach)
                return NULL;
        bus_reach_close(reach);
        sd_event_source_disable_unref(reach->retry);
        sd_event_source_disable_unref(reach->limit);
        sd_event_source_disable_unref(reach->slow);
        sd_event_unref(reach->event);
        g_free(reach->door);
        g_free(reach->why);
        g_free(reach);
        return NULL;
}

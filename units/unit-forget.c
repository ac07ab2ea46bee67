/* Having PID 1 forget a unit whose result is safe: StopUnit for one that is active (exited), then
 * ResetFailedUnit for one that failed. Both are harmless where they do not apply. The answers are
 * waited for, because PID 1 asks the bus who the caller is and refuses one that has gone, and
 * because a connection may be lost on the way. */
#include <glib.h>

#include "unit-manager.h"

#define RETRY_DELAY (500 * USEC_PER_MSEC)

typedef struct Forget {
        Errand errand;
        UnitManager *manager; /* weak: owns us */
        char *name;
        bool stopped; /* StopUnit is answered, ResetFailedUnit is next */
        BusCall *call;
        sd_event_source *timer;
} Forget;

static void forget_call(Forget *forget);

static void forget_free(Errand *errand) {
        Forget *forget = (Forget *)errand;

        unit_manager_disown(forget->manager, errand);
        bus_call_free(forget->call);
        sd_event_source_disable_unref(forget->timer);
        g_free(forget->name);
        g_free(forget);
}

static int build_forget(sd_bus *bus, void *userdata, sd_bus_message **ret_message) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        Forget *forget = userdata;
        int r;

        r = sd_bus_message_new_method_call(bus, &message, SYSTEMD_SERVICE, SYSTEMD_PATH,
                                           SYSTEMD_MANAGER,
                                           forget->stopped ? "ResetFailedUnit" : "StopUnit");
        if (r >= 0)
                r = forget->stopped ? sd_bus_message_append(message, "s", forget->name)
                                    : sd_bus_message_append(message, "ss", forget->name, "replace");
        if (r < 0)
                return r;
        *ret_message = g_steal_pointer(&message);
        return 0;
}

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata) {
        forget_call(userdata);
        return 0;
}

static void on_forgotten(sd_bus_message *reply, const sd_bus_error *error, void *userdata) {
        UnitBusFault fault = error ? unit_bus_fault_from_error(error->name) : UNIT_BUS_REFUSED;
        Forget *forget = userdata;

        /* Refused means that there is no such unit, which is what we want. */
        if (fault == UNIT_BUS_UNKNOWN || fault == UNIT_BUS_BUSY) {
                sd_event_source_disable_unref(forget->timer);
                forget->timer = NULL;
                if (sd_event_add_time_relative(unit_manager_event(forget->manager), &forget->timer,
                                               CLOCK_MONOTONIC, RETRY_DELAY, USEC_PER_MSEC,
                                               on_retry, forget) < 0)
                        forget_free(&forget->errand);
        } else if (!forget->stopped) {
                forget->stopped = true;
                forget_call(forget);
        } else
                forget_free(&forget->errand);
}

static void forget_call(Forget *forget) {
        bus_call_free(forget->call);
        forget->call = bus_call_new(unit_manager_queue(forget->manager), build_forget, on_forgotten,
                                    forget, SYSTEMD_CALL_TIMEOUT, BUS_CALL_ORDINARY);
}

void unit_forget(UnitManager *manager, const char *name) {
        Forget *forget = g_new0(Forget, 1);

        forget->errand.destroy = forget_free;
        forget->manager = manager;
        forget->name = g_strdup(name);
        unit_manager_own(manager, &forget->errand);
        forget_call(forget);
}

/* See unit-ending.h. */
#include "unit-ending.h"

#include <glib.h>
#include <signal.h>

#include "launch-dropin.h"
#include "timer.h"
#include "unit-result.h"

#define RETRY_DELAY (500 * USEC_PER_MSEC)

typedef enum OrderState {
        ORDER_NONE,
        ORDER_ASKED,
        ORDER_AGAIN, /* to be asked again when the timer fires */
        ORDER_OBEYED,
} OrderState;

typedef struct Order {
        UnitEnding *ending; /* weak: owns us */
        OrderState state;
        BusCall *call;
        sd_event_source *timer;
} Order;

struct UnitEnding {
        UnitManager *manager; /* weak */
        char *name;
        BusCallFlags flags;
        UnitEndingFunc func;
        void *userdata;
        usec_t asked;           /* CLOCK_MONOTONIC; USEC_INFINITY: nothing was sent yet */
        usec_t limit;           /* 0: none */
        sd_event_source *timer; /* runs while it is being stopped, where there is a limit */
        Order orders[UNIT_ORDER_COUNT];
};

static UnitOrder order_kind(const Order *order) {
        return (UnitOrder)(order - order->ending->orders);
}

static int order_build(sd_bus *bus, void *userdata, sd_bus_message **ret_message) {
        const Order *order = userdata;
        const char *name = order->ending->name;

        if (order_kind(order) != UNIT_ORDER_RESET)
                order->ending->asked = MIN(order->ending->asked, clock_monotonic());
        switch (order_kind(order)) {
        case UNIT_ORDER_STOP:
                return systemd_method(bus, ret_message, "StopUnit", "ss", name, "replace");
        case UNIT_ORDER_KILL:
                return systemd_method(bus, ret_message, "KillUnit", "ssi", name, "all", SIGKILL);
        case UNIT_ORDER_RESET:
        default:
                return systemd_method(bus, ret_message, "ResetFailedUnit", "s", name);
        }
}

static void order_ask(void *userdata);

static void order_on_answer(sd_bus_message *reply, const sd_bus_error *error, void *userdata) {
        UnitBusFault fault = error ? unit_bus_fault_from_error(error->name) : UNIT_BUS_REFUSED;
        Order *order = userdata;
        UnitEnding *ending = order->ending;

        if (fault == UNIT_BUS_UNKNOWN || fault == UNIT_BUS_BUSY || fault == UNIT_BUS_NO_ROOM) {
                order->state = ORDER_AGAIN;
                if (timer_in(unit_manager_event(ending->manager), &order->timer, RETRY_DELAY,
                             order_ask, order) < 0)
                        order_ask(order);
                return;
        }
        order->state = error ? ORDER_NONE : ORDER_OBEYED;
        if (!error && order_kind(order) == UNIT_ORDER_STOP)
                unit_ending_begun(ending);
        if (ending->func)
                ending->func(order_kind(order), !error, ending->userdata);
}

static void order_ask(void *userdata) {
        Order *order = userdata;

        order->state = ORDER_ASKED;
        unit_manager_call(order->ending->manager, &order->call, order_build, order_on_answer, order,
                          order->ending->flags);
}

UnitEnding *unit_ending_new(UnitManager *manager, const char *name, BusCallFlags flags,
                            UnitEndingFunc func, void *userdata) {
        UnitEnding *ending = g_new0(UnitEnding, 1);

        ending->manager = manager;
        ending->name = g_strdup(name);
        ending->flags = flags;
        ending->func = func;
        ending->userdata = userdata;
        ending->asked = USEC_INFINITY;
        for (UnitOrder order = 0; order < UNIT_ORDER_COUNT; order++)
                ending->orders[order].ending = ending;
        return ending;
}

UnitEnding *unit_ending_free(UnitEnding *ending) {
        if (!ending)
                return NULL;
        for (UnitOrder order = 0; order < UNIT_ORDER_COUNT; order++) {
                bus_call_free(ending->orders[order].call);
                sd_event_source_disable_unref(ending->orders[order].timer);
        }
        sd_event_source_disable_unref(ending->timer);
        g_free(ending->name);
        g_free(ending);
        return NULL;
}

void unit_ending_order(UnitEnding *ending, UnitOrder order) {
        if (ending->orders[order].state == ORDER_NONE)
                order_ask(&ending->orders[order]);
}

static void ending_on_limit(void *userdata) {
        unit_ending_order(userdata, UNIT_ORDER_KILL);
}

void unit_ending_begun(UnitEnding *ending) {
        if (ending->limit > 0 && !ending->timer)
                (void)timer_in(unit_manager_event(ending->manager), &ending->timer, ending->limit,
                               ending_on_limit, ending); /* none to be had: the next look asks */
}

void unit_ending_set_limit(UnitEnding *ending, usec_t limit) {
        ending->limit = limit;
        if (ending->orders[UNIT_ORDER_STOP].state == ORDER_OBEYED)
                unit_ending_begun(ending);
}

usec_t unit_ending_asked(const UnitEnding *ending) {
        return ending->asked;
}

void unit_ending_anew(UnitEnding *ending) {
        for (UnitOrder order = 0; order < UNIT_ORDER_COUNT; order++)
                if (ending->orders[order].state == ORDER_OBEYED)
                        ending->orders[order].state = ORDER_NONE;
}

/* ---- forgetting ---- */

typedef struct Forget {
        Errand errand;
        UnitManager *manager; /* weak: owns us */
        UnitEnding *ending;
} Forget;

static void forget_free(Errand *errand) {
        Forget *forget = (Forget *)errand;

        unit_manager_disown(forget->manager, errand);
        unit_ending_free(forget->ending);
        g_free(forget);
}

static void forget_on_answer(UnitOrder order, bool obeyed, void *userdata) {
        Forget *forget = userdata;

        if (order == UNIT_ORDER_STOP) {
                unit_ending_order(forget->ending, UNIT_ORDER_RESET);
                return;
        }
        launch_dropin_remove(unit_manager_dropin_root(forget->manager), forget->ending->name);
        forget_free(&forget->errand);
}

void unit_forget(UnitManager *manager, const char *name) {
        Forget *forget = g_new0(Forget, 1);

        forget->errand.destroy = forget_free;
        forget->manager = manager;
        forget->ending =
            unit_ending_new(manager, name, BUS_CALL_ORDINARY, forget_on_answer, forget);
        unit_manager_own(manager, &forget->errand);
        unit_ending_order(forget->ending, UNIT_ORDER_STOP);
}

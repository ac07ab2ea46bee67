/* See gate.h. */
#include "gate.h"

#include <glib.h>

#include "timer.h"

struct Gate {
        sd_event *event;
        usec_t patience;
        GateEvents events;
        void *userdata;
        MemberBusy told;
        sd_event_source *timer;
};

Gate *gate_new(sd_event *event, usec_t patience, const GateEvents *events, void *userdata) {
        Gate *gate = g_new0(Gate, 1);

        gate->event = sd_event_ref(event);
        gate->patience = patience;
        gate->events = *events;
        gate->userdata = userdata;
        return gate;
}

Gate *gate_free(Gate *gate) {
        if (!gate)
                return NULL;
        sd_event_source_disable_unref(gate->timer);
        sd_event_unref(gate->event);
        g_free(gate);
        return NULL;
}

static void gate_on_timer(void *userdata) {
        Gate *gate = userdata;
        MemberBusy busy = gate->events.look(gate->told, gate->userdata);

        if (busy != gate->told) {
                gate->told = busy;
                gate->events.tell(busy, gate->userdata);
        }
        if (busy != MEMBER_FREE)
                gate_is_shut(gate);
}

void gate_is_shut(Gate *gate) {
        if (!gate->timer)
                (void)timer_in(gate->event, &gate->timer, gate->patience, gate_on_timer, gate);
}

void gate_reset(Gate *gate) {
        gate->timer = sd_event_source_disable_unref(gate->timer);
        gate->told = MEMBER_FREE;
}

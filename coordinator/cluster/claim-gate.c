/* See claim-gate.h. */
#include "claim-gate.h"

#include <glib.h>

#include "timer.h"

/* What ends without an event (an answer of the server that moves D - K) is looked for so often. */
#define LOOK_PERIOD (1 * USEC_PER_SEC)

struct ClaimGate {
        const Node *node; /* weak */
        const ClaimGateEvents *events;
        void *userdata;
        sd_event_source *timer;
};

ClaimGate *claim_gate_new(const Node *node, const ClaimGateEvents *events, void *userdata) {
        ClaimGate *gate = g_new0(ClaimGate, 1);

        gate->node = node;
        gate->events = events;
        gate->userdata = userdata;
        return gate;
}

ClaimGate *claim_gate_free(ClaimGate *gate) {
        if (!gate)
                return NULL;
        sd_event_source_disable_unref(gate->timer);
        g_free(gate);
        return NULL;
}

const char *claim_gate_closed(const ClaimGate *gate) {
        const Node *node = gate->node;
        const char *why;

        if (node_is_ending(node))
                return "the daemon is stopping";
        if (!node_is_ready(node) || session_state(node->session) != SESSION_CONNECTED)
                return "no ZooKeeper session";
        why = gate->events->held_back(gate->userdata);
        if (why)
                return why;
        if (clock_boottime() >= session_stop_at(node->session))
                return "ZooKeeper has not answered for too long";
        return node_is_skewed(node) ? "the clock is skewed" : NULL;
}

bool claim_gate_is_open(const ClaimGate *gate) {
        return !claim_gate_closed(gate);
}

/* Return: whether there is anything to wait for: no session comes with an event, the end with none.
 */
static bool claim_gate_may_open(const ClaimGate *gate) {
        return node_is_ready(gate->node) && !node_is_ending(gate->node);
}

static void claim_gate_on_timer(void *userdata) {
        ClaimGate *gate = userdata;

        if (!claim_gate_may_open(gate))
                return;
        if (claim_gate_is_open(gate))
                gate->events->open(gate->userdata);
        else
                claim_gate_wait(gate);
}

void claim_gate_wait(ClaimGate *gate) {
        if (claim_gate_may_open(gate) && !gate->timer)
                (void)timer_in(gate->node->event, &gate->timer, LOOK_PERIOD, claim_gate_on_timer,
                               gate);
}

bool claim_gate_is_waiting(const ClaimGate *gate) {
        return gate->timer;
}

void claim_gate_reset(ClaimGate *gate) {
        gate->timer = sd_event_source_disable_unref(gate->timer);
}

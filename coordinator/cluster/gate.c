/* See gate.h. */
#include "gate.h"

#include <glib.h>

#include "fence-link.h"
#include "places.h"
#include "timer.h"

/* What ends without an event (an answer of the server that moves D - K) is looked for so often. */
#define LOOK_PERIOD (1 * USEC_PER_SEC)

struct Gate {
        const Node *node; /* weak */
        const GateEvents *events;
        void *userdata;
        sd_event_source *look_timer; /* somebody waits for the gate to open */
        Places *places;
        NodeWindow *window;
        MemberBusy told;
        sd_event_source *tell_timer;
};

Gate *gate_new(const Node *node, const GateEvents *events, void *userdata) {
        Gate *gate = g_new0(Gate, 1);

        gate->node = node;
        gate->events = events;
        gate->userdata = userdata;
        gate->places = places_new(node->config->max_runs);
        gate->window = node_window_new(node, events->window, userdata);
        return gate;
}

Gate *gate_free(Gate *gate) {
        if (!gate)
                return NULL;
        sd_event_source_disable_unref(gate->look_timer);
        sd_event_source_disable_unref(gate->tell_timer);
        places_free(gate->places);
        node_window_free(gate->window);
        g_free(gate);
        return NULL;
}

void gate_reset(Gate *gate) {
        gate->look_timer = sd_event_source_disable_unref(gate->look_timer);
        gate->tell_timer = sd_event_source_disable_unref(gate->tell_timer);
        gate->told = MEMBER_FREE;
}

/* ---- shut for all ---- */

/* Return: why somebody, or the hour, wants nothing to begin here; NULL: nobody does. What runs goes
 * on then. */
static const char *gate_shut(const Gate *gate) {
        const char *drained = gate->events->drained(gate->userdata);

        return drained ? drained : node_window_closed(gate->window);
}

/* Return: why, whatever has to end first and whatever the hour. */
static const char *gate_closed_anyway(const Gate *gate) {
        const Node *node = gate->node;

        if (node_is_ending(node))
                return "the daemon is stopping";
        if (!node_is_ready(node) || session_state(node->session) != SESSION_CONNECTED)
                return "no ZooKeeper session";
        if (clock_boottime() >= session_stop_at(node->session))
                return "ZooKeeper has not answered for too long";
        if (node_unfiled(node))
                return node_unfiled(node);
        if (systemd_fault_why(node->systemd_fault))
                return systemd_fault_why(node->systemd_fault);
        if (fence_link_fault(node->fence))
                return fence_link_fault(node->fence);
        if (node->waits_for_clock)
                return "the clock is not synchronised yet";
        if (node_clock_is_impossible(node))
                return "the clock shows a time before 2000 or after 2099";
        if (node_is_skewed(node))
                return "the clock is skewed";
        return gate->events->drained(gate->userdata);
}

const char *gate_closed(const Gate *gate) {
        const char *why = gate_closed_anyway(gate);

        why = why ? why : node_window_closed(gate->window);
        return why ? why : gate->events->held_back(gate->userdata);
}

bool gate_opens_soon(const Gate *gate) {
        return !gate_closed_anyway(gate) && !node_window_closed(gate->window) &&
               gate->events->held_back(gate->userdata);
}

bool gate_is_only_shut(const Gate *gate) {
        const char *drained = gate->events->drained(gate->userdata);

        return gate_shut(gate) && g_strcmp0(gate_closed_anyway(gate), drained) == 0 &&
               !gate->events->held_back(gate->userdata);
}

bool gate_is_open(const Gate *gate) {
        return !gate_closed(gate);
}

/* Return: whether there is anything to wait for: a session comes with an event, and so does the end
 * of a drain, and the window; after the daemon's end comes nothing. */
static bool gate_may_open(const Gate *gate) {
        return node_is_ready(gate->node) && !node_is_ending(gate->node) && !gate_shut(gate);
}

static void gate_on_look(void *userdata);

static void gate_look_soon(Gate *gate) {
        if (gate_may_open(gate) && !gate->look_timer)
                (void)timer_in(gate->node->event, &gate->look_timer, LOOK_PERIOD, gate_on_look,
                               gate);
}

static void gate_on_look(void *userdata) {
        Gate *gate = userdata;

        if (!gate_may_open(gate))
                return;
        if (gate_is_open(gate))
                gate->events->open(gate->userdata);
        else
                gate_look_soon(gate);
}

void gate_wait(Gate *gate) {
        gate_refused(gate);
        gate_look_soon(gate);
}

bool gate_is_waiting(const Gate *gate) {
        return gate->look_timer;
}

/* ---- places ---- */

static unsigned gate_runs(const Gate *gate) {
        return gate->events->runs(gate->userdata);
}

bool gate_ask_place(Gate *gate, const char *job, usec_t since) {
        return places_ask(gate->places, job, since, gate_runs(gate));
}

void gate_leave_place(Gate *gate, const char *job) {
        if (places_leave(gate->places, job))
                gate_give_places(gate);
}

void gate_give_places(Gate *gate) {
        const char *job;

        if (node_is_ending(gate->node))
                return;
        while ((job = places_next(gate->places, gate_runs(gate))))
                gate->events->given(job, gate->userdata);
}

bool gate_has_place(const Gate *gate, const char *job) {
        return places_has(gate->places, job);
}

bool gate_waits_for_place(const Gate *gate, const char *job) {
        return places_waits(gate->places, job);
}

unsigned gate_in_line(const Gate *gate) {
        return places_in_line(gate->places);
}

/* ---- the others ---- */

/* Once told that we are full, we are so until a place is free: that nobody stands in line any more
 * is because others were told. */
static MemberBusy gate_busy(const Gate *gate) {
        if (node_is_ending(gate->node))
                return MEMBER_STOPPING;
        if (gate->events->drained(gate->userdata))
                return MEMBER_DRAINED;
        if (gate->events->is_cleaning(gate->userdata))
                return MEMBER_ENDING;
        if (node_unfiled(gate->node))
                return MEMBER_UNFILED;
        if (systemd_fault_why(gate->node->systemd_fault))
                return MEMBER_SYSTEMD;
        if (fence_link_fault(gate->node->fence))
                return MEMBER_UNFENCED;
        if (gate->node->waits_for_clock || node_clock_is_impossible(gate->node))
                return MEMBER_CLOCK;
        if (places_is_full(gate->places, gate_runs(gate)) &&
            (gate->told == MEMBER_FULL || gate_in_line(gate) > 0))
                return MEMBER_FULL;
        return MEMBER_FREE;
}

static void gate_on_tell(void *userdata) {
        Gate *gate = userdata;
        MemberBusy busy = gate_busy(gate);

        if (busy != gate->told) {
                gate->told = busy;
                gate->events->tell(busy, gate->userdata);
        }
        if (busy != MEMBER_FREE)
                gate_refused(gate);
}

/* What lasts for so long that another node would act in our place is told, and looked at again so
 * often until it is over. */
void gate_refused(Gate *gate) {
        if (!gate->tell_timer)
                (void)timer_in(gate->node->event, &gate->tell_timer,
                               gate->node->config->takeover_delay, gate_on_tell, gate);
}

const char *gate_outside(const Gate *gate) {
        return node_window_closed(gate->window);
}

int64_t gate_outside_until(const Gate *gate) {
        return node_window_outside(gate->window);
}

void gate_drained(Gate *gate) {
        gate->tell_timer = sd_event_source_disable_unref(gate->tell_timer);
        gate_on_tell(gate);
}

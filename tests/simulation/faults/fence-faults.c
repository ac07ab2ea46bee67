/* What befalls a fence: it is killed, or hangs until the service manager's watchdog kills it. What
 * it guarded ends with it, and nothing begins until there is another. And what it is there for. */
#include "fault.h"

static usec_t fault_kill_fence(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        const FleetNode *node = fault_draw_node(site, chance, fault);

        if (!fault_node_works(node) || !fence_model_lives(fleet_node_fence(node)))
                return fault_miss(fault);
        fence_model_kill(fleet_node_fence(node));
        return 0;
}

static usec_t fault_hang_fence(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        const FleetNode *node = fault_draw_node(site, chance, fault);

        if (!fault_node_works(node) || !fence_model_lives(fleet_node_fence(node)))
                return fault_miss(fault);
        fence_model_hang(fleet_node_fence(node));
        return world_draw_between(chance, 10 * USEC_PER_MSEC, 3600 * USEC_PER_MSEC);
}

static void fault_fence_goes_on(const FaultSite *site, const FaultCase *fault) {
        fence_model_go_on(fleet_node_fence(fleet_node(site->fleet, fault->target)));
}

/* What the fence is for: the daemon hangs when it should stop what runs. */
static usec_t fault_hang_and_cut(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        const FleetNode *node = fault_draw_node(site, chance, fault);

        if (!fleet_node_daemon(node) || !fault_node_works(node))
                return fault_miss(fault);
        daemon_hang(fleet_node_daemon(node));
        fault_cut_off(site, fault, FAULT_CUT_AWAY | FAULT_CUT_BACK);
        return world_draw_between(chance, 5 * USEC_PER_SEC, USEC_PER_MINUTE);
}

static void fault_hang_no_more(const FaultSite *site, const FaultCase *fault) {
        const FleetNode *node = fleet_node(site->fleet, fault->target);

        fault_mend(site, fault);
        if (fleet_node_daemon(node))
                daemon_go_on(fleet_node_daemon(node));
}

typedef struct FenceTrip {
        History *history;
        const FleetNode *node;
} FenceTrip;

static void fault_trip(void *userdata) {
        const FenceTrip *trip = userdata;

        history_note(trip->history, fleet_node_name(trip->node), HISTORY_DAEMON);
        history_note(trip->history, fleet_node_name(trip->node), HISTORY_STANDSTILL);
        daemon_hang(fleet_node_daemon(trip->node));
        fence_model_kill(fleet_node_fence(trip->node));
}

/* The fence is replaced when a start is on its way, which then is to come to it beside the next,
 * whose timers nobody sets as long as the daemon hangs. */
static usec_t fault_replace_fence(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        const FleetNode *node = fault_draw_node(site, chance, fault);
        FenceTrip *trip = g_new0(FenceTrip, 1);

        *trip = (FenceTrip){site->history, node};
        g_free(pid1_trip(fleet_node_pid1(node), fault_trip, trip));
        return world_draw_between(chance, 15 * USEC_PER_SEC, USEC_PER_MINUTE);
}

static void fault_replace_no_more(const FaultSite *site, const FaultCase *fault) {
        const FleetNode *node = fleet_node(site->fleet, fault->target);

        g_free(pid1_trip(fleet_node_pid1(node), NULL, NULL));
        if (fleet_node_daemon(node))
                daemon_go_on(fleet_node_daemon(node));
}

const FaultKind fence_faults[] = {
    {"fence-kill", 60 * USEC_PER_SEC, fault_kill_fence, NULL, .aim = 1, .explains = HISTORY_DAEMON},
    {"fence-hang", 60 * USEC_PER_SEC, fault_hang_fence, fault_fence_goes_on,
     .explains = HISTORY_DAEMON},
    {"hang-and-cut", 90 * USEC_PER_SEC, fault_hang_and_cut, fault_hang_no_more, .aim = 2,
     .explains = HISTORY_DAEMON | HISTORY_STANDSTILL},
    {"fence-replaced", 60 * USEC_PER_SEC, fault_replace_fence, fault_replace_no_more, .aim = 4,
     .explains = HISTORY_DAEMON | HISTORY_STANDSTILL},
    {NULL},
};

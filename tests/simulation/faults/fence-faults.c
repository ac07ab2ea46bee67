/* What befalls a fence: it is killed, or hangs until the service manager's watchdog kills it. What
 * it guarded ends with it, and nothing begins until there is another. */
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

const FaultKind fence_faults[] = {
    {"fence-kill", 60 * USEC_PER_SEC, fault_kill_fence, NULL, .aim = 1, .explains = HISTORY_DAEMON},
    {"fence-hang", 60 * USEC_PER_SEC, fault_hang_fence, fault_fence_goes_on,
     .explains = HISTORY_DAEMON},
    {NULL},
};

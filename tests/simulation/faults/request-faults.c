/* People: they ask for runs. */
#include "fault.h"

static usec_t fault_manual_run(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        const FleetNode *node = fault_draw_node(site, chance, fault);
        guint job = (guint)world_draw_between(chance, 0, site->plan->jobs->len - 1);

        if (fleet_node_daemon(node) && !machine_is_frozen(fleet_node_machine(node)))
                daemon_request(fleet_node_daemon(node),
                               ((const PlanJob *)site->plan->jobs->pdata[job])->name);
        return 0;
}

const FaultKind request_faults[] = {
    {"manual-run", 20 * USEC_PER_SEC, fault_manual_run, NULL},
    {NULL},
};

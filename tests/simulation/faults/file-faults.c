/* What befalls the job files of a node: somebody takes a job out, or breaks the file, and has the
 * daemon read it; and mends it later. */
#include "fault.h"

static usec_t fault_remove_job(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        FleetNode *node = fault_draw_node(site, chance, fault);
        g_autofree char *text = NULL;

        fault->way = (unsigned)world_draw_between(chance, 0, site->plan->jobs->len - 1);
        text = plan_text_without(site->plan, site->plan->jobs->pdata[fault->way]);
        fleet_node_write(node, FAULT_JOB_FILE, text);
        fleet_node_reload(node);
        return world_draw_between(chance, USEC_PER_SEC, USEC_PER_MINUTE);
}

static usec_t fault_break_file(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        FleetNode *node = fault_draw_node(site, chance, fault);

        fleet_node_write(node, FAULT_JOB_FILE, "jobs:\n  j00: {every: never}\n");
        fleet_node_reload(node);
        return world_draw_between(chance, USEC_PER_SEC, USEC_PER_MINUTE);
}

static void fault_mend_file(const FaultSite *site, const FaultCase *fault) {
        FleetNode *node = fleet_node(site->fleet, fault->target);
        g_autofree char *text = plan_text(site->plan);

        fleet_node_write(node, FAULT_JOB_FILE, text);
        fleet_node_reload(node);
}

const FaultKind file_faults[] = {
    {"job-removed", 60 * USEC_PER_SEC, fault_remove_job, fault_mend_file},
    {"file-broken", 60 * USEC_PER_SEC, fault_break_file, fault_mend_file},
    {NULL},
};

/* People: they ask for runs, and one who reaches the servers ends sessions. */
#include "fault.h"

static usec_t fault_manual_run(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        const FleetNode *node = fault_draw_node(site, chance, fault);
        guint job = (guint)world_draw_between(chance, 0, site->plan->jobs->len - 1);

        if (!fleet_node_daemon(node) || !fault_node_works(node))
                return fault_miss(fault);
        daemon_request(fleet_node_daemon(node),
                       ((const PlanJob *)site->plan->jobs->pdata[job])->name);
        return 0;
}

/* Its locks are gone before it hears of it: for its runs no promise holds. */
static usec_t fault_end_session(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        const FleetNode *node = fault_draw_node(site, chance, fault);
        const Coordinator *coordinator =
            fleet_node_daemon(node) ? daemon_coordinator(fleet_node_daemon(node)) : NULL;

        if (!coordinator || session_id(coordinator->session) == 0)
                return fault_miss(fault);
        history_excuse(site->history, fleet_node_name(node));
        (void)ensemble_end_session(site->ensemble, session_id(coordinator->session));
        return 0;
}

/* Somebody clears a queue by hand. What runs there holds its lock no more. */
static usec_t fault_delete_contender(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        const FleetNode *node = fault_draw_node(site, chance, fault);
        const Coordinator *coordinator =
            fleet_node_daemon(node) ? daemon_coordinator(fleet_node_daemon(node)) : NULL;
        g_autoptr(GPtrArray) owned = NULL;

        if (!coordinator || session_id(coordinator->session) == 0)
                return fault_miss(fault);
        owned = data_tree_owned(ensemble_tree(site->ensemble), session_id(coordinator->session));
        for (guint i = owned->len; i > 0; i--)
                if (!g_str_has_prefix(owned->pdata[i - 1], "/jobkeeper/locks/"))
                        g_ptr_array_remove_index(owned, i - 1);
        if (owned->len == 0)
                return fault_miss(fault);
        history_excuse(site->history, fleet_node_name(node));
        (void)ensemble_delete(site->ensemble,
                              owned->pdata[world_draw_between(chance, 0, owned->len - 1)]);
        return 0;
}

const FaultKind request_faults[] = {
    {"session-end", 120 * USEC_PER_SEC, fault_end_session, NULL, .aim = 1,
     .explains = HISTORY_SESSION},
    {"contender-deleted", 120 * USEC_PER_SEC, fault_delete_contender, NULL, .aim = 2,
     .explains = HISTORY_SESSION},
    {"manual-run", 20 * USEC_PER_SEC, fault_manual_run, NULL},
    {NULL},
};

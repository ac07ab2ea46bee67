/* People: they ask for runs and drain nodes, and one who reaches the servers ends sessions. */
#include <string.h>

#include "control.h"
#include "fault.h"
#include "trace.h"

#define CONTROL "/jobkeeper/control"
/* So often somebody looks whether a node is drained no more, and so many times it is: what was
 * asked of the servers before may still come. */
#define DRAIN_LOOK (2 * USEC_PER_SEC)
#define DRAIN_LOOKS 60

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

/* ---- drained ---- */

/* Who has taken a drain back, and looks whether it is. */
typedef struct DrainEnd {
        const FaultSite *site;
        char *node;
        unsigned looks;
        WorldTask *task;
} DrainEnd;

/* Those that still look. */
static GPtrArray *drain_ends;

static void drain_end_free(void *data) {
        DrainEnd *end = data;

        world_task_free(end->task);
        g_free(end->node);
        g_free(end);
}

void fault_forget_drains(void) {
        g_clear_pointer(&drain_ends, g_ptr_array_unref);
}

/* Return: whether the node is as wished; it is asked for where it is not. */
static bool fault_set_drained(const FaultSite *site, const char *node, bool wanted) {
        const TreeNode *at = data_tree_find(ensemble_tree(site->ensemble), CONTROL);
        json_t *control = at && at->data ? control_parse(at->data, strlen(at->data)) : NULL;
        const ControlDrain drain = {(char *)"somebody", (char *)"a new disk", USEC_PER_SEC};
        g_autofree char *text = NULL;
        bool is = control && control_is_drained(control, node, NULL) == wanted;

        if (control && !is) {
                if (wanted)
                        (void)control_drain(control, node, &drain);
                else
                        (void)control_undrain(control, node);
                text = control_encode(control);
                trace_write(node, wanted ? "is to be drained" : "is to be drained no more");
                (void)ensemble_write(site->ensemble, CONTROL, text, at->version);
        }
        json_decref(control);
        return is;
}

static void fault_look_drained(void *userdata) {
        DrainEnd *end = userdata;

        end->task = NULL;
        if (fault_set_drained(end->site, end->node, false))
                end->looks--;
        if (end->looks > 0)
                end->task = world_after(end->site->world, DRAIN_LOOK, fault_look_drained, end);
        else
                (void)g_ptr_array_remove(drain_ends, end);
}

static usec_t fault_drain(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        const FleetNode *node = fault_draw_node(site, chance, fault);

        if (fault_set_drained(site, fleet_node_name(node), true))
                return fault_miss(fault);
        return world_draw_between(chance, USEC_PER_SEC, USEC_PER_MINUTE);
}

static void fault_undrain(const FaultSite *site, const FaultCase *fault) {
        DrainEnd *end = g_new0(DrainEnd, 1);

        end->site = site;
        end->node = g_strdup(fleet_node_name(fleet_node(site->fleet, fault->target)));
        end->looks = DRAIN_LOOKS;
        if (!drain_ends)
                drain_ends = g_ptr_array_new_with_free_func(drain_end_free);
        g_ptr_array_add(drain_ends, end);
        fault_look_drained(end);
}

const FaultKind request_faults[] = {
    {"session-end", 120 * USEC_PER_SEC, fault_end_session, NULL, .aim = 1,
     .explains = HISTORY_SESSION},
    {"contender-deleted", 120 * USEC_PER_SEC, fault_delete_contender, NULL, .aim = 2,
     .explains = HISTORY_SESSION},
    {"node-drain", 60 * USEC_PER_SEC, fault_drain, fault_undrain, .aim = 1},
    {"manual-run", 20 * USEC_PER_SEC, fault_manual_run, NULL},
    {NULL},
};

/* What befalls jobkeeper.yaml: somebody breaks it, and reloads the daemon, which keeps what is in
 * force, or restarts it, which fails; or it ends meanwhile for another reason. Later the file is
 * mended, and a daemon that could not begin is started. */
#include <string.h>

#include "fault.h"

typedef enum Spoiling {
        SPOIL_TYPO,
        SPOIL_VALUE,
        SPOIL_DEADLINE, /* each value is one, and no lock could be held by them */
        SPOIL_UNREADABLE,
        SPOILINGS,
} Spoiling;

/* Return: newly allocated; NULL: nothing that can be read. */
static char *config_spoil(const char *text, Spoiling how) {
        g_auto(GStrv) parts = NULL;

        switch (how) {
        case SPOIL_TYPO:
                parts = g_strsplit(text, "session-timeout", 2);
                return g_strjoinv("sesion-timeout", parts);
        case SPOIL_VALUE:
                return g_strconcat(text, "kill-slack: much\n", NULL);
        case SPOIL_DEADLINE:
                return g_strconcat(text, "fence-budget: 60s\n", NULL);
        default:
                return NULL;
        }
}

static usec_t fault_break_config(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        FleetNode *node = fault_draw_node(site, chance, fault);
        g_autofree char *right = fleet_node_config(node),
                        *text = config_spoil(
                            right, (Spoiling)world_draw_between(chance, 0, SPOILINGS - 1));

        fleet_node_write_config(node, text);
        if (world_draw_once_in(chance, 3))
                fleet_node_reload(node);
        else
                fleet_node_restart(node);
        return world_draw_between(chance, USEC_PER_SEC, 90 * USEC_PER_SEC);
}

static void fault_mend_config(const FaultSite *site, const FaultCase *fault) {
        FleetNode *node = fleet_node(site->fleet, fault->target);
        g_autofree char *right = fleet_node_config(node);

        fleet_node_write_config(node, right);
        if (fleet_node_has_failed(node))
                fleet_node_restart(node);
}

const FaultKind config_faults[] = {
    {"config-broken", 90 * USEC_PER_SEC, fault_break_config, fault_mend_config, .explains = true,
     .aim = 1},
    {NULL},
};

/* What befalls a ZooKeeper server. */
#include "fault.h"

static unsigned fault_draw_server(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        fault->target = (unsigned)world_draw_between(chance, 0, ensemble_size(site->ensemble) - 1);
        return fault->target;
}

static usec_t fault_kill_server(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        ensemble_kill(site->ensemble, fault_draw_server(site, chance, fault));
        return world_draw_between(chance, 100 * USEC_PER_MSEC, 20 * USEC_PER_SEC);
}

static void fault_start_server(const FaultSite *site, const FaultCase *fault) {
        if (!ensemble_is_running(site->ensemble, fault->target))
                ensemble_start(site->ensemble, fault->target);
}

static usec_t fault_freeze_server(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        ensemble_freeze(site->ensemble, fault_draw_server(site, chance, fault));
        return world_draw_between(chance, 100 * USEC_PER_MSEC, 20 * USEC_PER_SEC);
}

static void fault_thaw_server(const FaultSite *site, const FaultCase *fault) {
        ensemble_thaw(site->ensemble, fault->target);
}

const FaultKind server_faults[] = {
    {"server-kill", 40 * USEC_PER_SEC, fault_kill_server, fault_start_server},
    {"server-freeze", 60 * USEC_PER_SEC, fault_freeze_server, fault_thaw_server},
    {NULL},
};

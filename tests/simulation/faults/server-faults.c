/* What befalls a ZooKeeper server. */
#include "fault.h"

static unsigned fault_draw_server(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        fault->target = (unsigned)world_draw_between(chance, 0, ensemble_size(site->ensemble) - 1);
        return fault->target;
}

static usec_t fault_kill_server(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        unsigned server = fault_draw_server(site, chance, fault);

        fault->missed = !ensemble_is_running(site->ensemble, server);
        ensemble_kill(site->ensemble, server);
        return world_draw_between(chance, 100 * USEC_PER_MSEC, 20 * USEC_PER_SEC);
}

/* Its machine's power fails: nobody is told, and connections stay open until they time out. */
static usec_t fault_crash_server(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        unsigned server = fault_draw_server(site, chance, fault);

        fault->missed = !ensemble_is_running(site->ensemble, server);
        ensemble_crash(site->ensemble, server);
        return world_draw_between(chance, 100 * USEC_PER_MSEC, 20 * USEC_PER_SEC);
}

static void fault_start_server(const FaultSite *site, const FaultCase *fault) {
        if (!ensemble_is_running(site->ensemble, fault->target))
                ensemble_start(site->ensemble, fault->target);
}

static usec_t fault_freeze_server(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        unsigned server = fault_draw_server(site, chance, fault);

        fault->missed = !ensemble_is_running(site->ensemble, server);
        ensemble_freeze(site->ensemble, server);
        return world_draw_between(chance, 100 * USEC_PER_MSEC, 20 * USEC_PER_SEC);
}

static void fault_thaw_server(const FaultSite *site, const FaultCase *fault) {
        ensemble_thaw(site->ensemble, fault->target);
}

/* It hears nothing of the other servers, while clients still reach it. */
static void fault_part_server(const FaultSite *site, const FaultCase *fault, bool parted) {
        for (unsigned i = 0; i < ensemble_size(site->ensemble); i++)
                if (i != fault->target)
                        ensemble_part(site->ensemble, fault->target, i, parted);
}

static usec_t fault_cut_server_off(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        int leader = ensemble_leader(site->ensemble);

        (void)fault_draw_server(site, chance, fault);
        if (leader >= 0 && world_draw_once_in(chance, 2))
                fault->target = (unsigned)leader;
        fault_part_server(site, fault, true);
        return world_draw_between(chance, 100 * USEC_PER_MSEC, USEC_PER_MINUTE);
}

static void fault_join_server(const FaultSite *site, const FaultCase *fault) {
        fault_part_server(site, fault, false);
}

static usec_t fault_slow_disk(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        unsigned server = fault_draw_server(site, chance, fault);

        ensemble_set_disk(site->ensemble, server,
                          world_draw_between(chance, USEC_PER_MSEC, 2 * USEC_PER_SEC));
        return world_draw_between(chance, USEC_PER_SEC, 30 * USEC_PER_SEC);
}

static void fault_fast_disk(const FaultSite *site, const FaultCase *fault) {
        ensemble_set_disk(site->ensemble, fault->target, 0);
}

static usec_t fault_lag(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        unsigned server = fault_draw_server(site, chance, fault);

        ensemble_set_lag(site->ensemble, server,
                         world_draw_between(chance, USEC_PER_MSEC, 5 * USEC_PER_SEC));
        return world_draw_between(chance, USEC_PER_SEC, 30 * USEC_PER_SEC);
}

static void fault_catch_up(const FaultSite *site, const FaultCase *fault) {
        ensemble_set_lag(site->ensemble, fault->target, 0);
}

const FaultKind server_faults[] = {
    {"server-lag", 40 * USEC_PER_SEC, fault_lag, fault_catch_up},
    {"server-cut-off", 60 * USEC_PER_SEC, fault_cut_server_off, fault_join_server},
    {"server-disk", 60 * USEC_PER_SEC, fault_slow_disk, fault_fast_disk},
    {"server-kill", 40 * USEC_PER_SEC, fault_kill_server, fault_start_server},
    {"server-crash", 60 * USEC_PER_SEC, fault_crash_server, fault_start_server},
    {"server-freeze", 60 * USEC_PER_SEC, fault_freeze_server, fault_thaw_server},
    {NULL},
};

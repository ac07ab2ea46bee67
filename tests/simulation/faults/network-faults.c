/* What befalls the way between a machine and the servers: it is cut, in one direction or both,
 * slow, or loses packets. */
#include "fault.h"

static Host *fault_host(const FaultSite *site, const FaultCase *fault) {
        return network_host(ensemble_network(site->ensemble),
                            fleet_node_name(fleet_node(site->fleet, fault->target)));
}

void fault_cut_off(const FaultSite *site, const FaultCase *fault, unsigned ways) {
        for (unsigned i = 0; i < ensemble_size(site->ensemble); i++) {
                if (ways & FAULT_CUT_AWAY)
                        network_cut(fault_host(site, fault), ensemble_host(site->ensemble, i));
                if (ways & FAULT_CUT_BACK)
                        network_cut(ensemble_host(site->ensemble, i), fault_host(site, fault));
        }
}

static usec_t fault_cut(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        (void)fault_draw_node(site, chance, fault);
        fault_cut_off(
            site, fault,
            (unsigned)world_draw_between(chance, FAULT_CUT_AWAY, FAULT_CUT_AWAY | FAULT_CUT_BACK));
        return world_draw_between(chance, 100 * USEC_PER_MSEC, 45 * USEC_PER_SEC);
}

void fault_mend(const FaultSite *site, const FaultCase *fault) {
        for (unsigned i = 0; i < ensemble_size(site->ensemble); i++) {
                network_mend(fault_host(site, fault), ensemble_host(site->ensemble, i));
                network_mend(ensemble_host(site->ensemble, i), fault_host(site, fault));
        }
}

static usec_t fault_slow_down(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        (void)fault_draw_node(site, chance, fault);
        host_set_slow(fault_host(site, fault),
                      world_draw_between(chance, USEC_PER_MSEC, 3 * USEC_PER_SEC));
        return world_draw_between(chance, USEC_PER_SEC, 30 * USEC_PER_SEC);
}

static void fault_speed_up(const FaultSite *site, const FaultCase *fault) {
        host_set_slow(fault_host(site, fault), 0);
}

/* What was sent at once arrives in two parts, some time apart. */
static usec_t fault_lose_packets(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        (void)fault_draw_node(site, chance, fault);
        host_set_loss(fault_host(site, fault), (unsigned)world_draw_between(chance, 2, 12));
        return world_draw_between(chance, USEC_PER_SEC / 2, 15 * USEC_PER_SEC);
}

static void fault_lose_none(const FaultSite *site, const FaultCase *fault) {
        host_set_loss(fault_host(site, fault), 0);
}

/* What was asked is done, or not: the answer does not come. */
static usec_t fault_lose_answer(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        const FleetNode *node = fault_draw_node(site, chance, fault);

        ensemble_break_connections(site->ensemble, fleet_node_name(node),
                                   !world_draw_once_in(chance, 4));
        return 0;
}

static void fault_set_lag(const FaultSite *site, usec_t lag) {
        for (unsigned i = 0; i < ensemble_size(site->ensemble); i++)
                ensemble_set_lag(site->ensemble, i, lag);
}

/* And the next server that is asked does not know of it yet. */
static usec_t fault_lose_answer_behind(const FaultSite *site, WorldChance *chance,
                                       FaultCase *fault) {
        fault_set_lag(site, world_draw_between(chance, USEC_PER_SEC / 2, 8 * USEC_PER_SEC));
        (void)fault_lose_answer(site, chance, fault);
        return world_draw_between(chance, USEC_PER_SEC, 10 * USEC_PER_SEC);
}

static void fault_catch_up(const FaultSite *site, const FaultCase *fault) {
        (void)fault;
        fault_set_lag(site, 0);
}

const FaultKind network_faults[] = {
    {"cut", 30 * USEC_PER_SEC, fault_cut, fault_mend, .aim = 2},
    {"answer-lost", 60 * USEC_PER_SEC, fault_lose_answer, NULL, .aim = 6},
    {"answer-lost-behind", 60 * USEC_PER_SEC, fault_lose_answer_behind, fault_catch_up, .aim = 4},
    {"packet-loss", 60 * USEC_PER_SEC, fault_lose_packets, fault_lose_none, .aim = 2},
    {"slow-network", 60 * USEC_PER_SEC, fault_slow_down, fault_speed_up},
    {NULL},
};

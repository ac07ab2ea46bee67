/* Programs that are not jobkeeper: they take locks at the resources of the jobs, and lose their
 * connections. */
#include "fault.h"

static const Foreigner *fault_draw_foreigner(const FaultSite *site, WorldChance *chance,
                                             FaultCase *fault) {
        fault->target = (unsigned)world_draw_between(chance, 0, site->foreigners->len - 1);
        return site->foreigners->pdata[fault->target];
}

/* Those without slots; which resource is whose naming stands in the daemons' configuration. */
static usec_t fault_foreign_lock(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        ForeignPlan plan = {0};

        (void)fault_draw_foreigner(site, chance, fault);
        do {
                g_free(plan.lock.resource);
                plan_draw_lock(chance, &plan.lock);
        } while (plan.lock.slots != 1);
        plan.naming = plan_is_of_kazoo(&plan.lock) ? FOREIGN_KAZOO
                      : plan_is_mutex(&plan.lock)  ? FOREIGN_CURATOR_MUTEX
                                                   : FOREIGN_CURATOR;
        plan.wait = world_draw_between(chance, USEC_PER_SEC, USEC_PER_MINUTE);
        plan.duration = world_draw_between(chance, 10 * USEC_PER_MSEC, 20 * USEC_PER_SEC);
        foreigner_ask(site->foreigners->pdata[fault->target], &plan);
        g_free(plan.lock.resource);
        return 0;
}

static void fault_part_foreigner(const FaultSite *site, const FaultCase *fault, bool parted) {
        const Foreigner *foreigner = site->foreigners->pdata[fault->target];
        Host *host = network_host(ensemble_network(site->ensemble), foreigner_name(foreigner));

        for (unsigned i = 0; i < ensemble_size(site->ensemble); i++) {
                Host *server = ensemble_host(site->ensemble, i);

                (parted ? network_cut : network_mend)(host, server);
                (parted ? network_cut : network_mend)(server, host);
        }
}

static usec_t fault_cut_foreigner(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        (void)fault_draw_foreigner(site, chance, fault);
        fault_part_foreigner(site, fault, true);
        return world_draw_between(chance, 100 * USEC_PER_MSEC, 60 * USEC_PER_SEC);
}

static void fault_mend_foreigner(const FaultSite *site, const FaultCase *fault) {
        fault_part_foreigner(site, fault, false);
}

const FaultKind foreign_faults[] = {
    {"foreign-lock", 6 * USEC_PER_SEC, fault_foreign_lock, NULL},
    {"foreign-cut", 60 * USEC_PER_SEC, fault_cut_foreigner, fault_mend_foreigner},
    {NULL},
};

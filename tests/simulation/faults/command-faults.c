/* Commands under a lock of the resources that jobs take, too; those who end them; and a bus that is
 * started anew beneath them. */
#include "fault.h"

static void fault_draw_command(WorldChance *chance, CommandPlan *plan) {
        plan_draw_lock(chance, &plan->lock);
        plan->wait = world_draw_once_in(chance, 4)
                         ? 0
                         : (double)world_draw_between(chance, 100, 60000) / 1000;
        plan->duration = world_draw_between(chance, 10 * USEC_PER_MSEC, 20 * USEC_PER_SEC);
        plan->remains =
            world_draw_once_in(chance, 2) ? world_draw_between(chance, 1, 20 * USEC_PER_SEC) : 0;
        plan->manners = (ServiceManners)world_draw_between(chance, SERVICE_DIES, SERVICE_IGNORES);
        plan->last_words = world_draw_between(chance, 100, 200 * USEC_PER_MSEC);
}

static usec_t fault_command(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        FleetNode *node = fault_draw_node(site, chance, fault);
        CommandPlan plan = {0};

        fault->missed = !fault_node_works(node);
        fault_draw_command(chance, &plan);
        commands_begin(site->commands, node, &plan);
        g_free(plan.lock.resource);
        return 0;
}

/* The same on several machines at once, as timers do it; those who wrote it do not agree how many
 * may run at a time. */
static usec_t fault_commands_at_once(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        uint64_t n = world_draw_between(chance, 3, 7);
        CommandPlan plan = {.lock = {(char *)"many", PLAN_EXCLUSIVE, 1}};

        for (uint64_t i = 0; i < n; i++) {
                FleetNode *node = fault_draw_node(site, chance, fault);

                plan.lock.slots = world_draw_once_in(chance, 4) ? 3 : 2;
                plan.wait = (double)world_draw_between(chance, 100, 20000) / 1000;
                plan.duration = world_draw_between(chance, 10 * USEC_PER_MSEC, 4 * USEC_PER_SEC);
                plan.manners = SERVICE_DIES;
                commands_begin(site->commands, node, &plan);
        }
        return 0;
}

static usec_t fault_kill_command(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        const FleetNode *node = fault_draw_node(site, chance, fault);

        fault->missed =
            machine_is_frozen(fleet_node_machine(node)) ||
            !commands_kill_one(site->commands, node, (unsigned)world_draw_between(chance, 0, 100));
        return 0;
}

static usec_t fault_lose_bus(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        fault->missed = !commands_lose_bus(site->commands, fault_draw_node(site, chance, fault));
        return 0;
}

const FaultKind command_faults[] = {
    {"command", 8 * USEC_PER_SEC, fault_command, NULL},
    {"commands-at-once", 20 * USEC_PER_SEC, fault_commands_at_once, NULL},
    {"command-kill", 10 * USEC_PER_SEC, fault_kill_command, NULL},
    {"bus-lost", 120 * USEC_PER_SEC, fault_lose_bus, NULL},
    {NULL},
};

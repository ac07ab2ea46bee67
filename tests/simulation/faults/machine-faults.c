/* What befalls a machine: it crashes or is shut down, be it by a run, and boots, freezes, has its
 * clock set, or a PID 1 that is slow or out of reach. */
#include "fault.h"
#include "paths.h"

#define ROOT "/jobkeeper"

/* ---- crash ---- */

static usec_t fault_crash(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        FleetNode *node = fault_draw_node(site, chance, fault);

        if (!fleet_node_is_on(node))
                return fault_miss(fault);
        if (fleet_node_daemon(node) && process_is_stopped(daemon_process(fleet_node_daemon(node))))
                history_lose(site->history, fleet_node_name(node));
        host_crash(network_host(ensemble_network(site->ensemble), fleet_node_name(node)));
        fleet_node_crash(node);
        return world_draw_between(chance, USEC_PER_SEC, 90 * USEC_PER_SEC);
}

static void fault_boot(const FaultSite *site, const FaultCase *fault) {
        FleetNode *node = fleet_node(site->fleet, fault->target);

        if (!fleet_node_is_on(node))
                history_note(site->history, fleet_node_name(node), HISTORY_BOOT);
        host_boot(network_host(ensemble_network(site->ensemble), fleet_node_name(node)));
        fleet_node_boot(node);
}

/* ---- shut down ---- */

static bool fault_is_member(const FaultSite *site, const char *node) {
        g_autofree char *member = path_node(ROOT, node);

        return data_tree_find(ensemble_tree(site->ensemble), member);
}

/* Return: whether its daemon could not write all that it had to: its session is not closed, or it
 * had none. What it could not is known to nobody. */
static bool fault_leaves_something(const FaultSite *site, const char *node) {
        g_autofree char *open = path_open_node(ROOT, node);
        const TreeNode *runs = data_tree_find(ensemble_tree(site->ensemble), open);

        return fault_is_member(site, node) || (runs && tree_node_count(runs) > 0);
}

static void fault_is_off(FleetNode *node, void *userdata) {
        const FaultSite *site = userdata;

        if (fault_leaves_something(site, fleet_node_name(node)))
                history_note(site->history, fleet_node_name(node), HISTORY_CRASH);
        host_crash(network_host(ensemble_network(site->ensemble), fleet_node_name(node)));
}

static usec_t fault_power_off(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        FleetNode *node = fault_draw_node(site, chance, fault);

        if (!fault_node_works(node) || fleet_node_shuts_down(node))
                return fault_miss(fault);
        if (!fault_is_member(site, fleet_node_name(node))) /* nor may it become one any more */
                history_note(site->history, fleet_node_name(node), HISTORY_CRASH);
        fleet_node_power_off(node, fault_is_off, (void *)site);
        return world_draw_between(chance, 2 * USEC_PER_SEC, 90 * USEC_PER_SEC);
}

/* Whoever waits no longer switches it off and on. */
static void fault_power_on(const FaultSite *site, const FaultCase *fault) {
        FleetNode *node = fleet_node(site->fleet, fault->target);

        if (fleet_node_shuts_down(node)) {
                history_note(site->history, fleet_node_name(node), HISTORY_CRASH);
                if (fleet_node_daemon(node) &&
                    process_is_stopped(daemon_process(fleet_node_daemon(node))))
                        history_lose(site->history, fleet_node_name(node));
                host_crash(network_host(ensemble_network(site->ensemble), fleet_node_name(node)));
                fleet_node_crash(node);
        }
        fault_boot(site, fault);
}

/* ---- rebooted by a run ---- */

enum { REBOOT_WITH_CARE, REBOOT_BY_FORCE };

/* It may be back before its session is over, long after that, and after all patience with it. */
static usec_t fault_reboot(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        static const unsigned longest[] = {8, 25, 90};
        const FleetNode *node = fault_draw_node(site, chance, fault);
        uint64_t most = longest[world_draw_between(chance, 0, G_N_ELEMENTS(longest) - 1)];
        usec_t away = world_draw_between(chance, 2 * USEC_PER_SEC, most * USEC_PER_SEC);

        fault->way = world_draw_once_in(chance, 3) ? REBOOT_BY_FORCE : REBOOT_WITH_CARE;
        if (!fault_node_works(node) || fleet_node_shuts_down(node))
                return fault_miss(fault);
        if (fault->way == REBOOT_BY_FORCE)
                (void)fault_crash(site, chance, fault);
        else
                (void)fault_power_off(site, chance, fault);
        if (fault->way == REBOOT_BY_FORCE)
                history_note(site->history, fleet_node_name(node), HISTORY_CRASH);
        return away;
}

static void fault_is_rebooted(const FaultSite *site, const FaultCase *fault) {
        if (fault->way == REBOOT_BY_FORCE)
                history_note(site->history, fleet_node_name(fleet_node(site->fleet, fault->target)),
                             HISTORY_CRASH);
        fault_power_on(site, fault);
}

const FaultKind reboot_faults[] = {
    {"run-reboots", 0, fault_reboot, fault_is_rebooted, .explains = HISTORY_DAEMON},
    {NULL},
};

/* ---- frozen ---- */

static usec_t fault_freeze(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        const FleetNode *node = fault_draw_node(site, chance, fault);

        if (!fleet_node_is_on(node))
                return fault_miss(fault);
        machine_freeze(fleet_node_machine(node));
        history_excuse(site->history, fleet_node_name(node));
        return world_draw_between(chance, 100 * USEC_PER_MSEC, USEC_PER_MINUTE);
}

static void fault_thaw(const FaultSite *site, const FaultCase *fault) {
        const FleetNode *node = fleet_node(site->fleet, fault->target);

        history_excuse(site->history, fleet_node_name(node));
        machine_thaw(fleet_node_machine(node));
}

/* ---- clocks ---- */

static int64_t fault_draw_step(WorldChance *chance) {
        static const int64_t largest[] = {1, 5, 60, 3600};
        int64_t most = largest[world_draw_between(chance, 0, G_N_ELEMENTS(largest) - 1)] *
                       (int64_t)USEC_PER_SEC;

        return (int64_t)world_draw_between(chance, 0, (uint64_t)(2 * most)) - most;
}

static usec_t fault_step(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        const FleetNode *node = fault_draw_node(site, chance, fault);

        machine_step_clock(fleet_node_machine(node), fault_draw_step(chance));
        return world_draw_between(chance, USEC_PER_SEC, USEC_PER_MINUTE);
}

/* Its time service sets it right. */
static void fault_set_right(const FaultSite *site, const FaultCase *fault) {
        const FleetNode *node = fleet_node(site->fleet, fault->target);

        machine_set_clock_right(fleet_node_machine(node));
}

/* ---- PID 1 ---- */

static usec_t fault_slow(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        const FleetNode *node = fault_draw_node(site, chance, fault);

        pid1_set_slowness(fleet_node_pid1(node),
                          world_draw_between(chance, 10 * USEC_PER_MSEC, 1500 * USEC_PER_MSEC));
        return world_draw_between(chance, USEC_PER_SEC, 30 * USEC_PER_SEC);
}

static void fault_quick(const FaultSite *site, const FaultCase *fault) {
        pid1_set_slowness(fleet_node_pid1(fleet_node(site->fleet, fault->target)), 0);
}

/* It answers nobody, for longer than what is claimed may take to begin, or not so long. */
static usec_t fault_hang(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        const FleetNode *node = fault_draw_node(site, chance, fault);

        if (!fault_node_works(node) || fleet_node_shuts_down(node))
                return fault_miss(fault);
        pid1_hang(fleet_node_pid1(node), true);
        history_note_begin(site->history, fleet_node_name(node), HISTORY_HANG);
        return world_draw_between(chance, USEC_PER_SEC, USEC_PER_MINUTE);
}

static void fault_go_on(const FaultSite *site, const FaultCase *fault) {
        const FleetNode *node = fleet_node(site->fleet, fault->target);

        pid1_hang(fleet_node_pid1(node), false);
        history_note_end(site->history, fleet_node_name(node), HISTORY_HANG);
}

/* Shorter than what is left for a stop after the loss of a lock. */
static usec_t fault_disconnect(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        const FleetNode *node = fault_draw_node(site, chance, fault);

        if (pid1_awaits_start(fleet_node_pid1(node))) /* nobody can know what came of it */
                history_note(site->history, fleet_node_name(node), HISTORY_PID1);
        history_note(site->history, fleet_node_name(node), HISTORY_BUS);
        pid1_disconnect(fleet_node_pid1(node),
                        world_draw_between(chance, 10 * USEC_PER_MSEC, 800 * USEC_PER_MSEC));
        return 0;
}

/* Nobody wants that: what the unit depended on came back, or PID 1 is confused. */
static usec_t fault_restart_unit(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        const FleetNode *node = fault_draw_node(site, chance, fault);
        const GPtrArray *services = pid1_services(fleet_node_pid1(node));
        Service *service;

        if (!fault_node_works(node) || services->len == 0)
                return fault_miss(fault);
        service = services->pdata[world_draw_between(chance, 0, services->len - 1)];
        if (!service->spec->launch || !pid1_restart(fleet_node_pid1(node), service))
                return fault_miss(fault);
        if (machine_is_full(fleet_node_machine(node))) /* there is no room to note how it ended */
                history_note(site->history, fleet_node_name(node), HISTORY_PID1);
        return 0;
}

const FaultKind machine_faults[] = {
    {"unit-restart", 30 * USEC_PER_SEC, fault_restart_unit, NULL},
    {"machine-crash", 60 * USEC_PER_SEC, fault_crash, fault_boot, .aim = 1,
     .explains = HISTORY_CRASH},
    {"machine-off", 90 * USEC_PER_SEC, fault_power_off, fault_power_on, .aim = 1,
     .explains = HISTORY_DAEMON},
    {"machine-freeze", 60 * USEC_PER_SEC, fault_freeze, fault_thaw, .aim = 1,
     .explains = HISTORY_STANDSTILL},
    {"clock-step", 60 * USEC_PER_SEC, fault_step, fault_set_right, .explains = HISTORY_CLOCK},
    {"pid1-slow", 60 * USEC_PER_SEC, fault_slow, fault_quick},
    {"pid1-hang", 60 * USEC_PER_SEC, fault_hang, fault_go_on, .aim = 1},
    {"pid1-disconnect", 30 * USEC_PER_SEC, fault_disconnect, NULL},
    {NULL},
};

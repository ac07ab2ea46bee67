/* What befalls a daemon: it is killed, restarted, stopped for a while, or hangs. */
#include <unistd.h>

#include "fault.h"

/* kill -9, of a daemon that runs. */
static void fault_kill_daemon(const FaultSite *site, FleetNode *node, FaultCase *fault) {
        fault->missed = !fleet_node_daemon(node) || !fault_node_works(node);
        fleet_node_kill(node);
}

static usec_t fault_kill(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        fault_kill_daemon(site, fault_draw_node(site, chance, fault), fault);
        return 0;
}

static usec_t fault_restart(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        fleet_node_restart(fault_draw_node(site, chance, fault));
        return 0;
}

static usec_t fault_stop(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        fleet_node_stop(fault_draw_node(site, chance, fault));
        return world_draw_between(chance, USEC_PER_SEC, USEC_PER_MINUTE);
}

static void fault_start(const FaultSite *site, const FaultCase *fault) {
        fleet_node_start(fleet_node(site->fleet, fault->target));
}

/* Its state is gone when it comes back: what it remembers of its own definitions, or of its
 * session. */
static usec_t fault_lose_state(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        static const char *const files[][2] = {{"state", "digests.json"}, {"run", "session"}};
        FleetNode *node = fault_draw_node(site, chance, fault);
        const char *const *file = files[world_draw_between(chance, 0, G_N_ELEMENTS(files) - 1)];
        g_autofree char *path =
            g_build_filename(machine_directory(fleet_node_machine(node)), file[0], file[1], NULL);

        fault_kill_daemon(site, node, fault);
        if (!fleet_node_daemon(node))
                (void)unlink(path);
        return 0;
}

/* It is cut off, or something else stands behind. */
static void fault_tear(const char *path, WorldChance *chance) {
        g_autofree char *text = NULL;
        size_t length = 0;

        if (!g_file_get_contents(path, &text, &length, NULL) || length == 0)
                return;
        if (world_draw_once_in(chance, 2)) {
                length = world_draw_between(chance, 0, length - 1);
        } else {
                text = g_realloc(text, length + 2);
                text[length++] = '}';
                text[length++] = (char)world_draw_between(chance, 0, 255);
        }
        g_assert_true(g_file_set_contents(path, text, (gssize)length, NULL));
}

static usec_t fault_tear_state(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        static const char *const files[][2] = {{"state", "digests.json"}, {"run", "session"}};
        FleetNode *node = fault_draw_node(site, chance, fault);
        const char *const *file = files[world_draw_between(chance, 0, G_N_ELEMENTS(files) - 1)];
        g_autofree char *path =
            g_build_filename(machine_directory(fleet_node_machine(node)), file[0], file[1], NULL);

        fault_kill_daemon(site, node, fault);
        if (!fleet_node_daemon(node))
                fault_tear(path, chance);
        return 0;
}

static usec_t fault_hang(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        const FleetNode *node = fault_draw_node(site, chance, fault);

        if (!fleet_node_daemon(node))
                return fault_miss(fault);
        daemon_hang(fleet_node_daemon(node));
        return world_draw_between(chance, 100 * USEC_PER_MSEC, USEC_PER_MINUTE);
}

static void fault_go_on(const FaultSite *site, const FaultCase *fault) {
        const FleetNode *node = fleet_node(site->fleet, fault->target);

        if (fleet_node_daemon(node))
                daemon_go_on(fleet_node_daemon(node));
}

const FaultKind daemon_faults[] = {
    {"daemon-kill", 20 * USEC_PER_SEC, fault_kill, NULL, .aim = 4, .explains = HISTORY_DAEMON},
    {"state-lost", 90 * USEC_PER_SEC, fault_lose_state, NULL, .aim = 1,
     .explains = HISTORY_DAEMON | HISTORY_SESSION},
    {"state-torn", 90 * USEC_PER_SEC, fault_tear_state, NULL,
     .explains = HISTORY_DAEMON | HISTORY_SESSION},
    {"daemon-restart", 30 * USEC_PER_SEC, fault_restart, NULL, .aim = 2,
     .explains = HISTORY_DAEMON},
    {"daemon-stop", 60 * USEC_PER_SEC, fault_stop, fault_start, .explains = HISTORY_DAEMON},
    {"daemon-hang", 60 * USEC_PER_SEC, fault_hang, fault_go_on, .aim = 1,
     .explains = HISTORY_STANDSTILL},
    {NULL},
};

/* The machines of a cluster, with PID 1, the fence and jobkeeperd on each, and the files that they
 * read.
 *
 * PID 1 keeps jobkeeperd running as its unit says: a process that failed or was killed is started
 * again after a second; one that was asked to end is not, nor one that cannot begin because of what
 * is in jobkeeper.yaml. What befalls them from outside is done
 * with the functions here, at any step of the world.
 */
#pragma once

#include "daemon.h"
#include "fence-model.h"
#include "pid1.h"

typedef struct Fleet Fleet;
typedef struct FleetNode FleetNode;

typedef struct FleetOptions {
        const char *directory; /* theirs: one below it each */
        unsigned nodes;
        const char *config;            /* of all, beside the node's name: lines of jobkeeper.yaml */
        const ServiceWatcher *watcher; /* `userdata` is not used: it is the node */
} FleetOptions;

/* Machines that are on, without files and without daemons. */
Fleet *fleet_new(World *world, const FleetOptions *options);
Fleet *fleet_free(Fleet *fleet);
DEFINE_CLEANUP(Fleet, fleet_free);

unsigned fleet_size(const Fleet *fleet);
FleetNode *fleet_node(const Fleet *fleet, unsigned i);
/* For who is told of services: the fleet's owner. */
void fleet_set_userdata(Fleet *fleet, void *userdata);
void *fleet_userdata(const FleetNode *node);

/* Told whenever a daemon is over, just before it is freed. One at most; NULL: nobody. */
typedef void (*FleetFunc)(FleetNode *node, void *userdata);
void fleet_listen(Fleet *fleet, FleetFunc gone, void *userdata);
/* The same, where its start has failed and PID 1 does not try again. */
void fleet_listen_failed(Fleet *fleet, FleetFunc failed, void *userdata);

const char *fleet_node_name(const FleetNode *node);
Machine *fleet_node_machine(const FleetNode *node);
Pid1 *fleet_node_pid1(const FleetNode *node);
FenceModel *fleet_node_fence(const FleetNode *node);
/* Return: NULL while none runs. */
Daemon *fleet_node_daemon(const FleetNode *node);
bool fleet_node_is_on(const FleetNode *node);

/* Writes jobs.d/NAME there, or removes it (NULL). A daemon that runs is not told. */
void fleet_node_write(FleetNode *node, const char *name, const char *text);

/* Return: newly allocated, jobkeeper.yaml as it should be there. */
char *fleet_node_config(const FleetNode *node);
/* Writes it; NULL: something that cannot be read stands in its place. A daemon is not told. */
void fleet_node_write_config(const FleetNode *node, const char *text);
/* Return: whether jobkeeperd should run there, and its start has failed. */
bool fleet_node_has_failed(const FleetNode *node);

/* Return: whether somebody stopped it, and not longer ago than that. */
bool fleet_node_was_stopped(const FleetNode *node, usec_t span);

/* systemctl start, stop, restart, reload. */
void fleet_node_start(FleetNode *node);
void fleet_node_stop(FleetNode *node);
void fleet_node_restart(FleetNode *node);
void fleet_node_reload(FleetNode *node);
/* kill -9: PID 1 starts it again. Not on a frozen machine. */
void fleet_node_kill(FleetNode *node);
/* systemctl poweroff, of a machine that is on: PID 1 ends runs and commands, then the daemon; then
 * the machine is off, and `off` is told. What is asked for meanwhile is not done. */
void fleet_node_power_off(FleetNode *node, FleetFunc off, void *userdata);
bool fleet_node_shuts_down(const FleetNode *node);
/* The machine loses its power, and is switched on again; then everything on it is started. */
void fleet_node_crash(FleetNode *node);
void fleet_node_boot(FleetNode *node);

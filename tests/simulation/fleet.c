/* See fleet.h. */
#include "fleet.h"

#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>

#include "plan-rolls.h"
#include "trace.h"

/* RestartSec of packaging/jobkeeperd.service. */
#define RESTART_DELAY USEC_PER_SEC
/* From the stop of a process to the start of the next, in a restart. */
#define EXCHANGE_TIME (100 * USEC_PER_MSEC)
/* How often it is looked whether something is gone that has to be before the next. */
#define SHUTDOWN_LOOK (20 * USEC_PER_MSEC)
/* The daemon asks for so much time, and has no more. */
#define SHUTDOWN_PATIENCE (120 * USEC_PER_SEC)

struct FleetNode {
        Fleet *fleet;
        char *name;
        Machine *machine;
        Pid1 *pid1;
        FenceModel *fence;
        ServiceWatcher watcher;
        Daemon *daemon;
        ProcessTask *start; /* PID 1's: nothing starts on a frozen machine */
        bool on, wanted, restarts;
        bool failed;         /* PID 1 does not try again */
        usec_t stopped;      /* when it was last; 0: never */
        WorldTask *shutdown; /* the next look at it; NULL: there is none */
        usec_t patience;     /* until when the daemon may end, true time; 0: it was not told yet */
        FleetFunc off;
        void *off_userdata;
};

struct Fleet {
        World *world;
        char *config;
        unsigned n_nodes;
        FleetNode *nodes;
        void *userdata;
        FleetFunc gone, failed;
        void *gone_userdata, *failed_userdata;
};

static void fleet_node_on_start(void *userdata);

/* ---- making and freeing ---- */

void fleet_listen(Fleet *fleet, FleetFunc gone, void *userdata) {
        fleet->gone = gone;
        fleet->gone_userdata = userdata;
}

void fleet_listen_failed(Fleet *fleet, FleetFunc failed, void *userdata) {
        fleet->failed = failed;
        fleet->failed_userdata = userdata;
}

static void fleet_node_free_daemon(FleetNode *node) {
        Daemon *daemon = g_steal_pointer(&node->daemon);

        if (daemon && node->fleet->gone)
                node->fleet->gone(node, node->fleet->gone_userdata);
        daemon_free(daemon);
}

char *fleet_node_config(const FleetNode *node) {
        return g_strdup_printf("node: {name: %s}\n%s", node->name, node->fleet->config);
}

void fleet_node_write_config(const FleetNode *node, const char *text) {
        g_autofree char *path =
            g_build_filename(machine_directory(node->machine), "jobkeeper.yaml", NULL);

        (void)g_remove(path);
        if (text)
                g_assert_true(g_file_set_contents(path, text, -1, NULL));
        else
                g_assert_cmpint(g_mkdir(path, 0755), ==, 0);
        g_assert_cmpint(g_chmod(path, text ? 0644 : 0755), ==, 0);
}

static void fleet_node_configure(const FleetNode *node) {
        g_autofree char *text = fleet_node_config(node),
                        *jobs = g_build_filename(machine_directory(node->machine), "etc",
                                                 "jobkeeper", "jobs.d", NULL);

        fleet_node_write_config(node, text);
        g_assert_cmpint(g_mkdir_with_parents(jobs, 0755), ==, 0);
}

static void fleet_node_init(Fleet *fleet, unsigned i, const FleetOptions *options) {
        FleetNode *node = &fleet->nodes[i];
        g_autofree char *directory = NULL;

        node->fleet = fleet;
        node->name = g_strdup_printf(PLAN_MACHINE, i + 1);
        directory = g_build_filename(options->directory, node->name, NULL);
        node->machine = machine_new(fleet->world, node->name, directory);
        node->watcher = *options->watcher;
        node->watcher.userdata = node;
        node->pid1 = pid1_new(node->machine, &node->watcher);
        node->fence = fence_model_new(node->machine, node->pid1);
        node->on = true;
        fleet_node_configure(node);
}

Fleet *fleet_new(World *world, const FleetOptions *options) {
        Fleet *fleet = g_new0(Fleet, 1);

        fleet->world = world;
        fleet->config = g_strdup(options->config);
        fleet->n_nodes = options->nodes;
        fleet->nodes = g_new0(FleetNode, options->nodes);
        for (unsigned i = 0; i < fleet->n_nodes; i++)
                fleet_node_init(fleet, i, options);
        return fleet;
}

Fleet *fleet_free(Fleet *fleet) {
        if (!fleet)
                return NULL;
        for (unsigned i = 0; i < fleet->n_nodes; i++) {
                FleetNode *node = &fleet->nodes[i];

                process_task_free(node->start);
                world_task_free(node->shutdown);
                fleet_node_free_daemon(node);
                fence_model_free(node->fence);
                pid1_free(node->pid1);
                machine_free(node->machine);
                g_free(node->name);
        }
        g_free(fleet->nodes);
        g_free(fleet->config);
        g_free(fleet);
        return NULL;
}

unsigned fleet_size(const Fleet *fleet) {
        return fleet->n_nodes;
}

FleetNode *fleet_node(const Fleet *fleet, unsigned i) {
        return &fleet->nodes[i];
}

void fleet_set_userdata(Fleet *fleet, void *userdata) {
        fleet->userdata = userdata;
}

void *fleet_userdata(const FleetNode *node) {
        return node->fleet->userdata;
}

const char *fleet_node_name(const FleetNode *node) {
        return node->name;
}

Machine *fleet_node_machine(const FleetNode *node) {
        return node->machine;
}

Pid1 *fleet_node_pid1(const FleetNode *node) {
        return node->pid1;
}

FenceModel *fleet_node_fence(const FleetNode *node) {
        return node->fence;
}

Daemon *fleet_node_daemon(const FleetNode *node) {
        return node->daemon;
}

bool fleet_node_is_on(const FleetNode *node) {
        return node->on;
}

bool fleet_node_was_stopped(const FleetNode *node, usec_t span) {
        return node->stopped > 0 && world_now(node->fleet->world) <= node->stopped + span;
}

bool fleet_node_has_failed(const FleetNode *node) {
        return node->wanted && (node->failed || (node->daemon && daemon_is_failing(node->daemon)));
}

void fleet_node_write(FleetNode *node, const char *name, const char *text) {
        g_autofree char *path = g_build_filename(machine_directory(node->machine), "etc",
                                                 "jobkeeper", "jobs.d", name, NULL);

        if (text) {
                g_assert_true(g_file_set_contents(path, text, -1, NULL));
                g_assert_cmpint(g_chmod(path, 0644), ==, 0);
        } else {
                (void)g_unlink(path);
        }
}

/* ---- the daemon ---- */

static void fleet_node_start_in(FleetNode *node, usec_t delay) {
        node->start = process_task_free(node->start);
        node->failed = false;
        if (node->on && node->wanted)
                node->start =
                    process_after(pid1_process(node->pid1), delay, fleet_node_on_start, node);
}

/* RestartPreventExitStatus of packaging/jobkeeperd.service. */
static bool fleet_tries_again(int code) {
        return code != -EBADMSG && code != -ENOKEY;
}

static void fleet_node_on_end(int code, void *userdata) {
        FleetNode *node = userdata;

        trace_write(node->name, "jobkeeperd ended: %d", code);
        fleet_node_free_daemon(node);
        if (!node->shutdown)
                pid1_set_daemon_job(node->pid1, SYSTEMD_JOB_NONE);
        node->failed = !node->restarts && !fleet_tries_again(code);
        if (node->failed && node->fleet->failed)
                node->fleet->failed(node, node->fleet->failed_userdata);
        if (!node->failed)
                fleet_node_start_in(node, node->restarts ? EXCHANGE_TIME : RESTART_DELAY);
        node->restarts = false;
}

static void fleet_node_on_start(void *userdata) {
        FleetNode *node = userdata;

        node->start = NULL;
        if (node->daemon)
                return;
        trace_write(node->name, "jobkeeperd starts");
        node->daemon = daemon_new(node->machine, fleet_node_on_end, node);
}

void fleet_node_start(FleetNode *node) {
        if (node->shutdown)
                return;
        node->wanted = true;
        if (!node->daemon)
                fleet_node_start_in(node, 0);
}

static void fleet_node_terminate(FleetNode *node, SystemdJob systemd_job) {
        pid1_set_daemon_job(node->pid1, systemd_job);
        if (node->daemon)
                daemon_signal(node->daemon, DAEMON_TERMINATE);
}

void fleet_node_stop(FleetNode *node) {
        if (node->shutdown)
                return;
        trace_write(node->name, "jobkeeperd is stopped");
        node->stopped = world_now(node->fleet->world);
        node->wanted = node->restarts = node->failed = false;
        node->start = process_task_free(node->start);
        fleet_node_terminate(node, SYSTEMD_JOB_STOP);
}

void fleet_node_restart(FleetNode *node) {
        if (node->shutdown)
                return;
        trace_write(node->name, "jobkeeperd is restarted");
        node->wanted = true;
        node->restarts = node->daemon;
        if (node->daemon)
                fleet_node_terminate(node, SYSTEMD_JOB_RESTART);
        else
                fleet_node_start_in(node, 0);
}

void fleet_node_reload(FleetNode *node) {
        if (node->daemon)
                daemon_signal(node->daemon, DAEMON_RELOAD);
}

void fleet_node_kill(FleetNode *node) {
        if (!node->daemon || machine_is_frozen(node->machine))
                return;
        trace_write(node->name, "jobkeeperd is killed");
        fleet_node_free_daemon(node);
        pid1_set_daemon_job(node->pid1, SYSTEMD_JOB_NONE);
        node->restarts = false;
        fleet_node_start_in(node, RESTART_DELAY);
}

/* ---- the machine ---- */

static void fleet_node_is_off(FleetNode *node) {
        node->on = false;
        node->start = process_task_free(node->start);
        node->shutdown = world_task_free(node->shutdown);
        fleet_node_free_daemon(node);
        fence_model_crash(node->fence);
        pid1_crash(node->pid1);
}

void fleet_node_crash(FleetNode *node) {
        if (!node->on)
                return;
        trace_write(node->name, "the machine crashes");
        fleet_node_is_off(node);
}

bool fleet_node_shuts_down(const FleetNode *node) {
        return node->shutdown;
}

static void fleet_node_on_shutdown(void *userdata);

static void fleet_node_look_again(FleetNode *node) {
        node->shutdown =
            world_after(node->fleet->world, SHUTDOWN_LOOK, fleet_node_on_shutdown, node);
}

/* The daemon's turn. Return: whether it is over. */
static bool fleet_node_ends_daemon(FleetNode *node) {
        usec_t now = world_now(node->fleet->world);

        if (!node->daemon)
                return true;
        if (node->patience == 0) {
                node->patience = now + SHUTDOWN_PATIENCE;
                daemon_signal(node->daemon, DAEMON_TERMINATE);
        }
        return now >= node->patience;
}

static void fleet_node_on_shutdown(void *userdata) {
        FleetNode *node = userdata;

        node->shutdown = NULL;
        if (machine_is_frozen(node->machine) || pid1_has_units(node->pid1) ||
            !fleet_node_ends_daemon(node)) {
                fleet_node_look_again(node);
                return;
        }
        trace_write(node->name, "the machine is switched off");
        fleet_node_is_off(node);
        node->off(node, node->off_userdata);
}

void fleet_node_power_off(FleetNode *node, FleetFunc off, void *userdata) {
        trace_write(node->name, "the machine is shut down");
        node->stopped = world_now(node->fleet->world);
        node->wanted = node->restarts = node->failed = false;
        node->start = process_task_free(node->start);
        node->patience = 0;
        node->off = off;
        node->off_userdata = userdata;
        fleet_node_look_again(node);
        pid1_shut_down(node->pid1);
}

void fleet_node_boot(FleetNode *node) {
        if (node->on)
                return;
        trace_write(node->name, "the machine boots");
        node->on = true;
        machine_boot(node->machine);
        pid1_boot(node->pid1);
        fence_model_boot(node->fence);
        node->wanted = true;
        fleet_node_start_in(node, 0);
}

/* The script with the simulated PID 1. Usage: units-simulated SEED STEPS */
#include <glib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"
#include "pid1.h"
#include "script.h"

#define LIMIT (300 * USEC_PER_SEC)
/* What lives until somebody ends it, and a connection that does not come back by itself. */
#define FOR_EVER USEC_PER_DAY

static struct {
        World *world;
        Machine *machine;
        Pid1 *pid1;
        Process *process;
        sd_event *event;
        GTree *conducts; /* unit → ScriptConduct */
        GTree *begun;    /* scope → StageCommand */
} stage;

void stage_do(void (*func)(void *userdata), void *userdata) {
        process_do(stage.process, func, userdata);
}

sd_event *stage_event(void) {
        return stage.event;
}

int stage_manager_new(UnitManager **ret_manager) {
        return unit_manager_new(stage.event, ret_manager);
}

bool stage_is_connected(UnitManager *manager) {
        return unit_manager_connected(manager);
}

void stage_await(bool (*condition)(void *userdata), void *userdata) {
        usec_t until = world_now(stage.world) + LIMIT;

        while (!condition(userdata))
                if (!world_step(stage.world, until)) {
                        printf("nothing comes any more\n");
                        exit(EXIT_FAILURE);
                }
}

/* ---- what commands do ---- */

static int stage_compare(const void *one, const void *other, void *userdata) {
        (void)userdata;
        return strcmp(one, other);
}

const char *const *stage_command(const char *name, const ScriptConduct *conduct) {
        static const char *const argv[] = {"/bin/true", NULL};

        if (!g_tree_lookup(stage.conducts, name)) /* the first who starts it decides */
                g_tree_insert(stage.conducts, g_strdup(name), g_memdup2(conduct, sizeof(*conduct)));
        return argv;
}

static void stage_on_conduct(const Service *service, ServiceConduct *ret_conduct, void *userdata) {
        const ScriptConduct *conduct = g_tree_lookup(stage.conducts, service->spec->name);
        static const int statuses[] = {0, 203, 217, 200}; /* systemd's own, by the fault */

        (void)userdata;
        *ret_conduct = (ServiceConduct){
            .start = 5 * USEC_PER_MSEC,
            .cannot = statuses[conduct->fault],
            .duration = conduct->lives ? FOR_EVER : 5 * USEC_PER_MSEC,
            .status = conduct->status,
            .remains = conduct->remains ? FOR_EVER : 0,
            .manners = (ServiceManners)conduct->manners,
            .last_words = 10 * USEC_PER_MSEC,
        };
}

static void stage_on_service(const Service *service, void *userdata) {
        (void)service;
        (void)userdata;
}

static const ServiceWatcher stage_watcher = {.conduct = stage_on_conduct,
                                             .begun = stage_on_service,
                                             .over = stage_on_service,
                                             .ordered = stage_on_service,
                                             .empty = stage_on_service};

bool stage_is_ready(const char *name) {
        const Service *service = pid1_find(stage.pid1, name);

        return (service && service->phase == SERVICE_RUNNING) || pid1_find_scope(stage.pid1, name);
}

static void stage_release_it(void *userdata) {
        service_end(userdata);
}

/* ---- commands of others ---- */

typedef struct StageCommand {
        ScriptConduct conduct;
        Outsider *outsider; /* NULL: nothing of it lives */
        int status;
} StageCommand;

static void command_ends(StageCommand *command, int status) {
        if (command->status < 0)
                command->status = status;
        command->outsider = outsider_free(command->outsider);
}

static void command_on_signal(int number, void *userdata) {
        StageCommand *command = userdata;

        if (number == SIGTERM && command->conduct.manners == SCRIPT_IGNORES)
                return;
        command_ends(command, number == SIGTERM && command->conduct.manners == SCRIPT_EXITS
                                  ? 0
                                  : 128 + number);
}

static void command_free(void *data) {
        StageCommand *command = data;

        outsider_free(command->outsider);
        g_free(command);
}

pid_t stage_begin(const char *name, const ScriptConduct *conduct) {
        StageCommand *command = g_new0(StageCommand, 1);

        *command =
            (StageCommand){*conduct, outsider_new(stage.pid1, command_on_signal, command), -1};
        g_tree_insert(stage.begun, g_strdup(name), command);
        return outsider_pid(command->outsider);
}

static void command_kill(void *userdata) {
        command_ends(userdata, 128 + SIGKILL);
}

void stage_end(const char *name) {
        process_do(pid1_process(stage.pid1), command_kill, g_tree_lookup(stage.begun, name));
}

int stage_status(const char *name) {
        return ((const StageCommand *)g_tree_lookup(stage.begun, name))->status;
}

bool stage_has_scope(const char *name) {
        return pid1_find_scope(stage.pid1, name);
}

static void command_release(void *userdata) {
        StageCommand *command = userdata;

        if (!command->conduct.remains)
                command_ends(command, command->conduct.status);
        else if (command->status < 0)
                command->status = command->conduct.status;
}

void stage_release(const char *name) {
        Service *service = pid1_find(stage.pid1, name);
        StageCommand *command = g_tree_lookup(stage.begun, name);

        if (command && command->outsider)
                process_do(pid1_process(stage.pid1), command_release, command);
        if (service)
                process_do(pid1_process(stage.pid1), stage_release_it, service);
}

/* ---- what others do ---- */

typedef struct StageOrdering {
        const char *name;
        StageOrder order;
} StageOrdering;

static void stage_order_it(void *userdata) {
        const StageOrdering *ordering = userdata;

        switch (ordering->order) {
        case STAGE_STOP:
                (void)pid1_stop(stage.pid1, ordering->name);
                break;
        case STAGE_KILL:
                (void)pid1_kill(stage.pid1, ordering->name);
                break;
        default:
                (void)pid1_reset(stage.pid1, ordering->name);
        }
}

void stage_order(const char *name, StageOrder order) {
        StageOrdering ordering = {name, order};

        process_do(pid1_process(stage.pid1), stage_order_it, &ordering);
}

const char *stage_state(const char *name) {
        const Service *service = pid1_find(stage.pid1, name);

        if (!service)
                return "absent";
        if (service->phase != SERVICE_OVER && service->stopping)
                return "ends";
        switch (service->phase) {
        case SERVICE_QUEUED:
        case SERVICE_RUNNING:
                return "runs";
        case SERVICE_LINGERING:
                return "ended";
        case SERVICE_OVER:
                break;
        }
        if (service_has_failed(service))
                return "failed";
        return service_is_inactive(service) ? "inactive" : "ended";
}

/* ---- the fence ---- */

static void stage_set_fence(void *userdata) {
        pid1_set_fence(stage.pid1, (Pid1Fence)GPOINTER_TO_UINT(userdata));
}

static void stage_have_fence(Pid1Fence fence) {
        process_do(pid1_process(stage.pid1), stage_set_fence, GUINT_TO_POINTER(fence));
}

static bool stage_fence_may_begin(void *userdata) {
        (void)userdata;
        return pid1_fence_may_begin(stage.pid1);
}

void stage_fence_leaves(bool says) {
        stage_have_fence(says ? PID1_FENCE_STOPPING : PID1_FENCE_GONE);
}

void stage_fence_returns(void) {
        stage_have_fence(PID1_FENCE_GONE);
        stage_await(stage_fence_may_begin, NULL);
        stage_have_fence(PID1_FENCE_ACTIVE);
}

/* ---- the connection ---- */

void stage_break(void) {
        pid1_disconnect(stage.pid1, FOR_EVER);
}

void stage_mend(void) {
        pid1_reconnect(stage.pid1);
}

static void stage_open_loop(void *userdata) {
        (void)userdata;
        g_assert_cmpint(sd_event_new(&stage.event), >=, 0);
}

static void stage_close_loop(void *userdata) {
        (void)userdata;
        stage.event = sd_event_unref(stage.event);
}

int main(int argc, char **argv) {
        g_autofree char *directory = g_dir_make_tmp("compared-XXXXXX", NULL);

        if (argc != 3)
                return EXIT_FAILURE;
        stage.conducts = g_tree_new_full(stage_compare, NULL, g_free, g_free);
        stage.begun = g_tree_new_full(stage_compare, NULL, g_free, command_free);
        stage.world = world_new(strtoull(argv[1], NULL, 10));
        stage.machine = machine_new(stage.world, "n1", directory);
        stage.pid1 = pid1_new(stage.machine, &stage_watcher);
        stage.process = process_new(stage.machine);
        stage_do(stage_open_loop, NULL);
        script_play((uint32_t)strtoul(argv[1], NULL, 10), (unsigned)strtoul(argv[2], NULL, 10));
        scopes_play((uint32_t)strtoul(argv[1], NULL, 10), (unsigned)strtoul(argv[2], NULL, 10));
        stage_do(stage_close_loop, NULL);
        g_tree_unref(stage.begun);
        process_end(stage.process);
        process_free(stage.process);
        pid1_free(stage.pid1);
        machine_free(stage.machine);
        world_free(stage.world);
        g_tree_unref(stage.conducts);
        return EXIT_SUCCESS;
}

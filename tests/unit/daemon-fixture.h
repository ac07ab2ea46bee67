/* A whole daemon in this process, with a server that answers when the test wants (small-server.h),
 * and a service manager that only remembers. To be included by one file of a program. */
#pragma once

#include "clearing.h"
#include "coordinator.h"
#include "scope.h"
#include "small-server.h"
#include "temporary-tree.h"

#define LIMIT (10 * USEC_PER_SEC)

/* ---- the service manager ---- */

struct Unit {
        char *command;
};

static GPtrArray *started; /* what units were started with: "PROGRAM ARGUMENT" */

int unit_manager_new(sd_event *event, UnitManager **ret_manager) {
        (void)event;
        *ret_manager = NULL;
        return 0;
}

UnitManager *unit_manager_free(UnitManager *manager) {
        return manager;
}

bool unit_manager_connected(const UnitManager *manager) {
        return !manager;
}

bool unit_manager_busy(const UnitManager *manager) {
        return manager;
}

int unit_manager_query_systemd_job(UnitManager *manager, const char *unit, usec_t timeout,
                                   SystemdJobFunc func, void *userdata) {
        (void)manager;
        (void)unit;
        (void)timeout;
        (void)func;
        (void)userdata;
        return -ENOTCONN;
}

int unit_start(UnitManager *manager, const UnitSpec *spec, UnitFunc func, void *userdata,
               Unit **ret_unit) {
        (void)manager;
        (void)func;
        (void)userdata;
        g_ptr_array_add(started, g_strjoinv(" ", (char **)spec->argv));
        *ret_unit = g_new0(Unit, 1);
        return 0;
}

int unit_adopt(UnitManager *manager, const char *name, const char *nonce, UnitFunc func,
               void *userdata, Unit **ret_unit) {
        (void)name;
        (void)nonce;
        return unit_start(manager, &(UnitSpec){0}, func, userdata, ret_unit);
}

void unit_stop(Unit *unit) {
        (void)unit;
}

void unit_kill(Unit *unit) {
        (void)unit;
}

void unit_discard(Unit *unit) {
        (void)unit;
}

Unit *unit_free(Unit *unit) {
        g_free(unit);
        return NULL;
}

const UnitResult *unit_result(const Unit *unit) {
        static const UnitResult result;

        (void)unit;
        return &result;
}

int scope_start(UnitManager *manager, const ScopeSpec *spec, ScopeFunc func, void *userdata,
                Scope **ret_scope) {
        (void)manager;
        (void)spec;
        (void)func;
        (void)userdata;
        (void)ret_scope;
        return -ENOTCONN;
}

int scope_adopt(UnitManager *manager, const char *name, const char *cgroup, ScopeFunc func,
                void *userdata, Scope **ret_scope) {
        (void)name;
        (void)cgroup;
        return scope_start(manager, NULL, func, userdata, ret_scope);
}

void scope_stop(Scope *scope) {
        (void)scope;
}

void scope_kill(Scope *scope) {
        (void)scope;
}

const char *scope_cgroup(const Scope *scope) {
        (void)scope;
        return "";
}

const char *scope_fault(const Scope *scope) {
        return scope_cgroup(scope);
}

Scope *scope_free(Scope *scope) {
        return scope;
}

/* ---- the daemon ---- */

static char *root;
static sd_event *event;
static Coordinator *coordinator;

/* Nothing of a process before us runs, which is found out a moment later. */
struct Clearing {
        ClearingOptions options;
        sd_event_source *source;
};

static inline int clearing_is_done(sd_event_source *source, void *userdata) {
        const ClearingOptions options = ((Clearing *)userdata)->options;

        (void)source;
        options.gone(options.userdata);
        return 0;
}

int clearing_new(UnitManager *manager, const ClearingOptions *options, Clearing **ret_clearing) {
        (void)manager;
        *ret_clearing = g_new0(Clearing, 1);
        (*ret_clearing)->options = *options;
        return sd_event_add_defer(event, &(*ret_clearing)->source, clearing_is_done, *ret_clearing);
}

void clearing_look_anew(Clearing *clearing) {
        (void)clearing;
}

void clearing_kill(Clearing *clearing) {
        (void)clearing;
}

Clearing *clearing_free(Clearing *clearing) {
        if (clearing)
                sd_event_source_disable_unref(clearing->source);
        g_free(clearing);
        return NULL;
}

bool unit_is_populated(const UnitManager *manager, const char *slice, const char *unit) {
        (void)manager;
        (void)slice;
        return !unit;
}

static inline void write_job(const char *keys) {
        g_autofree char *text = g_strconcat("jobs:\n  a:\n    stop-timeout: 1s\n", keys, NULL);

        tree_write(root, "etc/jobkeeper/jobs.d/a.yaml", text);
}

static inline void open_daemon(void) {
        g_autofree char *config = tree_path(root, "jobkeeper.yaml"),
                        *runtime = g_build_filename(root, "run", NULL),
                        *state = g_build_filename(root, "state", NULL);
        const CoordinatorOptions options = {config, root, runtime, state};

        cr_assert_eq(coordinator_new(event, &options, &coordinator), 0);
        port_tell(ports->pdata[0], ZK_STATE_CONNECTED);
}

static inline void close_daemon(void) {
        coordinator = coordinator_free(coordinator);
}

static inline void setup(void) {
        g_setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent", TRUE);
        root = tree_new();
        tree_write(root, "jobkeeper.yaml", "node: {name: n1}\ntakeover-delay: 100ms\n");
        started = g_ptr_array_new_with_free_func(g_free);
        cr_assert_geq(sd_event_new(&event), 0);
        server_begin();
}

static inline void teardown(void) {
        close_daemon();
        server_end();
        event = sd_event_unref(event);
        g_clear_pointer(&started, g_ptr_array_unref);
        tree_remove(root);
        g_clear_pointer(&root, g_free);
}

static inline void turn(void) {
        if (ports)
                server_serve();
        (void)sd_event_run(event, 10 * USEC_PER_MSEC);
}

static inline void await(bool (*condition)(void), const char *what) {
        usec_t until = clock_monotonic() + LIMIT;

        while (!condition() && clock_monotonic() < until)
                turn();
        cr_assert(condition(), "%s", what);
}

static inline void serve_for(usec_t span) {
        usec_t until = clock_monotonic() + span;

        while (clock_monotonic() < until)
                turn();
}

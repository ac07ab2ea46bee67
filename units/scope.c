/* See scope.h.
 *
 * A start is three answers one after another: StartTransientUnit's, the end of the start job (only
 * then has the process moved), and where the cgroup is. From then on the cgroup tells of the end,
 * and PID 1 is asked only to stop or to kill. A connection that is lost before the process has
 * moved fails the start: the command has not been executed yet, and nothing is lost by that.
 */
#include "scope.h"

#include <glib.h>

#include "cgroup.h"
#include "unit-ending.h"
#include "unit-start.h"

struct Scope {
        UnitManager *manager; /* weak */
        UnitListener listener;
        char *name, *description, *slice;
        pid_t pid;
        bool fenced;
        usec_t stop_timeout;
        ScopeFunc func;
        void *userdata;
        char *cgroup; /* NULL until it is known */
        char *fault;
        bool systemd_job_done;
        unsigned wishes; /* bits of UnitOrder */
        UnitEnding *ending;
        BusCall *start, *locate;
        CgroupWatch *watch;
        sd_event_source *failure;
};

static int scope_on_failure(sd_event_source *source, void *userdata) {
        Scope *scope = userdata;

        scope->func(scope, SCOPE_EVENT_FAILED, scope->userdata);
        return 0;
}

/* Told from the loop, since a lost connection may be noticed anywhere. */
static void scope_fail(Scope *scope, const char *why) {
        if (scope->fault || scope->cgroup)
                return;
        scope->fault = g_strdup(why);
        (void)sd_event_add_defer(unit_manager_event(scope->manager), &scope->failure,
                                 scope_on_failure, scope);
}

static void scope_on_empty(void *userdata) {
        Scope *scope = userdata;

        scope->func(scope, SCOPE_EVENT_EMPTY, scope->userdata);
}

static int scope_watch(Scope *scope) {
        return cgroup_watch_new(unit_manager_event(scope->manager),
                                unit_manager_cgroup_root(scope->manager), scope->cgroup,
                                scope_on_empty, scope, &scope->watch);
}

/* ---- stopping ---- */

/* Before the process has moved in there is nothing to stop; it is looked at again when it has. What
 * is killed is not asked to end before. */
static void scope_pursue(Scope *scope) {
        static const UnitOrder orders[] = {UNIT_ORDER_KILL, UNIT_ORDER_STOP};

        for (size_t i = 0; scope->cgroup && i < G_N_ELEMENTS(orders); i++)
                if (scope->wishes & (1U << orders[i]))
                        unit_ending_order(scope->ending, orders[i]);
}

void scope_stop(Scope *scope) {
        scope->wishes |= 1U << UNIT_ORDER_STOP;
        scope_pursue(scope);
}

void scope_kill(Scope *scope) {
        scope->wishes |= 1U << UNIT_ORDER_KILL | 1U << UNIT_ORDER_STOP;
        scope_pursue(scope);
}

/* ---- starting ---- */

static void scope_on_located(sd_bus_message *reply, const sd_bus_error *error, void *userdata) {
        Scope *scope = userdata;
        const char *cgroup = NULL;

        scope->locate = bus_call_free(scope->locate);
        if (!reply || sd_bus_message_read(reply, "v", "s", &cgroup) < 0 || !*cgroup) {
                scope_fail(scope, "the service manager does not say where its cgroup is");
                return;
        }
        scope->cgroup = g_strdup(cgroup);
        if (scope_watch(scope) < 0) {
                g_clear_pointer(&scope->cgroup, g_free);
                scope_fail(scope, "its cgroup cannot be watched");
                return;
        }
        scope_pursue(scope);
        scope->func(scope, SCOPE_EVENT_STARTED, scope->userdata);
}

static int scope_build_locate(sd_bus *bus, void *userdata, sd_bus_message **ret_message) {
        g_autofree char *path = NULL;
        const Scope *scope = userdata;
        int r = sd_bus_path_encode(SYSTEMD_UNIT_PATH_PREFIX, scope->name, &path);

        return r < 0
                   ? r
                   : systemd_get(bus, ret_message, path, SYSTEMD_SERVICE ".Scope", "ControlGroup");
}

static void scope_on_job_removed(const char *systemd_job, const char *word, void *userdata) {
        Scope *scope = userdata;

        if (scope->systemd_job_done || scope->cgroup || scope->fault)
                return;
        scope->systemd_job_done = true;
        if (!g_str_equal(word, "done")) {
                scope_fail(scope, "the service manager could not move the process");
                return;
        }
        unit_manager_call(scope->manager, &scope->locate, scope_build_locate, scope_on_located,
                          scope, BUS_CALL_ORDINARY);
}

static void scope_on_disconnected(void *userdata) {
        scope_fail(userdata, "the connection to the service manager was lost");
}

static void scope_on_start(sd_bus_message *reply, const sd_bus_error *error, void *userdata) {
        Scope *scope = userdata;

        scope->start = bus_call_free(scope->start);
        if (error)
                scope_fail(scope, error->message ? error->message : error->name);
}

static int scope_append_properties(sd_bus_message *message, const Scope *scope) {
        int r = sd_bus_message_append(message, "(sv)(sv)(sv)(sv)(sv)(sv)", "Description", "s",
                                      scope->description, "Slice", "s", scope->slice, "CollectMode",
                                      "s", "inactive-or-failed", "TimeoutStopUSec", "t",
                                      MAX(scope->stop_timeout, 1), "SendSIGKILL", "b", 1, "PIDs",
                                      "au", 1, (uint32_t)scope->pid);

        /* At shutdown it stops before the daemon that holds its lock. */
        return r < 0 ? r : unit_start_append_order(message, NULL, scope->fenced);
}

static int scope_build_start(sd_bus *bus, void *userdata, sd_bus_message **ret_message) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        int r;

        if ((r = systemd_method(bus, &message, "StartTransientUnit", "ss",
                                ((Scope *)userdata)->name, "fail")) < 0 ||
            (r = sd_bus_message_open_container(message, 'a', "(sv)")) < 0 ||
            (r = scope_append_properties(message, userdata)) < 0 ||
            (r = sd_bus_message_close_container(message)) < 0 ||
            (r = sd_bus_message_append(message, "a(sa(sv))", 0)) < 0)
                return r;
        *ret_message = g_steal_pointer(&message);
        return 0;
}

static Scope *scope_new(UnitManager *manager, const char *name, ScopeFunc func, void *userdata) {
        Scope *scope = g_new0(Scope, 1);

        scope->manager = manager;
        scope->name = g_strdup(name);
        scope->func = func;
        scope->userdata = userdata;
        scope->listener = (UnitListener){.unit = scope->name,
                                         .systemd_job_removed = scope_on_job_removed,
                                         .disconnected = scope_on_disconnected,
                                         .userdata = scope};
        unit_manager_listen(manager, &scope->listener);
        scope->ending = unit_ending_new(manager, name, BUS_CALL_URGENT, NULL, NULL);
        return scope;
}

int scope_start(UnitManager *manager, const ScopeSpec *spec, ScopeFunc func, void *userdata,
                Scope **ret_scope) {
        Scope *scope = scope_new(manager, spec->name, func, userdata);

        scope->description = g_strdup(spec->description);
        scope->slice = g_strdup(spec->slice);
        scope->pid = spec->pid;
        scope->fenced = spec->fenced;
        scope->stop_timeout = spec->stop_timeout;
        unit_manager_call(manager, &scope->start, scope_build_start, scope_on_start, scope,
                          BUS_CALL_ORDINARY);
        *ret_scope = scope;
        return 0;
}

int scope_adopt(UnitManager *manager, const char *name, const char *cgroup, ScopeFunc func,
                void *userdata, Scope **ret_scope) {
        _cleanup_(scope_freep) Scope *scope = scope_new(manager, name, func, userdata);
        int r = 0;

        scope->cgroup = g_strdup(cgroup);
        r = scope_watch(scope);
        if (r >= 0)
                *ret_scope = g_steal_pointer(&scope);
        return r;
}

const char *scope_cgroup(const Scope *scope) {
        return scope->cgroup;
}

const char *scope_fault(const Scope *scope) {
        return scope->fault ? scope->fault : "";
}

bool scope_is_populated(const Scope *scope) {
        return !scope->cgroup ||
               cgroup_is_populated(unit_manager_cgroup_root(scope->manager), scope->cgroup);
}

Scope *scope_free(Scope *scope) {
        if (!scope)
                return NULL;
        unit_manager_unlisten(scope->manager, &scope->listener);
        bus_call_free(scope->start);
        bus_call_free(scope->locate);
        unit_ending_free(scope->ending);
        cgroup_watch_free(scope->watch);
        sd_event_source_disable_unref(scope->failure);
        g_free(scope->name);
        g_free(scope->description);
        g_free(scope->slice);
        g_free(scope->cgroup);
        g_free(scope->fault);
        g_free(scope);
        return NULL;
}

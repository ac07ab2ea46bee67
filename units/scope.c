/* See scope.h.
 *
 * A start is three answers one after another: StartTransientUnit's, the end of the start job (only
 * then has the process moved), and where the cgroup is. From then on the cgroup tells of the end,
 * and PID 1 is asked only to stop or to kill, again and again until it has said yes or that there
 * is no such unit. A connection that is lost before the process has moved fails the start: the
 * command has not been executed yet, and nothing is lost by that.
 */
#include "scope.h"

#include <glib.h>
#include <signal.h>

#include "cgroup.h"
#include "unit-manager.h"

#define RETRY_DELAY (500 * USEC_PER_MSEC)

struct Scope {
        UnitManager *manager; /* weak */
        char *name, *description, *slice;
        pid_t pid;
        usec_t stop_timeout;
        ScopeFunc func;
        void *userdata;
        char *cgroup; /* NULL until it is known */
        char *fault;
        bool systemd_job_done;
        bool want_stop, want_kill, stop_sent, kill_sent;
        BusCall *start, *locate, *stop, *kill;
        CgroupWatch *watch;
        sd_event_source *timer, *failure;
};

static int on_failure(sd_event_source *source, void *userdata) {
        Scope *scope = userdata;

        scope->func(scope, SCOPE_EVENT_FAILED, scope->userdata);
        return 0;
}

/* Told from the loop, since a lost connection may be noticed anywhere. */
static void scope_fail(Scope *scope, const char *why) {
        if (scope->fault || scope->cgroup)
                return;
        scope->fault = g_strdup(why);
        (void)sd_event_add_defer(unit_manager_event(scope->manager), &scope->failure, on_failure,
                                 scope);
}

static void on_empty(void *userdata) {
        Scope *scope = userdata;

        scope->func(scope, SCOPE_EVENT_EMPTY, scope->userdata);
}

static int scope_watch(Scope *scope) {
        return cgroup_watch_new(unit_manager_event(scope->manager),
                                unit_manager_cgroup_root(scope->manager), scope->cgroup, on_empty,
                                scope, &scope->watch);
}

/* ---- stopping ---- */

static void scope_pursue(Scope *scope);

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata) {
        scope_pursue(userdata);
        return 0;
}

static void scope_retry(Scope *scope) {
        scope->timer = sd_event_source_disable_unref(scope->timer);
        (void)sd_event_add_time_relative(unit_manager_event(scope->manager), &scope->timer,
                                         CLOCK_MONOTONIC, RETRY_DELAY, USEC_PER_MSEC, on_retry,
                                         scope);
}

/* Refused means that there is no such unit (any more), which is what we want. */
static bool must_ask_again(const sd_bus_error *error) {
        UnitBusFault fault = error ? unit_bus_fault_from_error(error->name) : UNIT_BUS_REFUSED;

        return fault == UNIT_BUS_UNKNOWN || fault == UNIT_BUS_BUSY;
}

static void on_stopped(sd_bus_message *reply, const sd_bus_error *error, void *userdata) {
        Scope *scope = userdata;

        scope->stop_sent = !must_ask_again(error);
        scope->stop = bus_call_free(scope->stop);
        if (!scope->stop_sent)
                scope_retry(scope);
}

static void on_killed(sd_bus_message *reply, const sd_bus_error *error, void *userdata) {
        Scope *scope = userdata;

        scope->kill_sent = !must_ask_again(error);
        scope->kill = bus_call_free(scope->kill);
        if (!scope->kill_sent)
                scope_retry(scope);
}

static int build_manager_call(sd_bus *bus, const char *member, sd_bus_message **ret_message) {
        return sd_bus_message_new_method_call(bus, ret_message, SYSTEMD_SERVICE, SYSTEMD_PATH,
                                              SYSTEMD_MANAGER, member);
}

static int build_stop(sd_bus *bus, void *userdata, sd_bus_message **ret_message) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        Scope *scope = userdata;
        int r = build_manager_call(bus, "StopUnit", &message);

        if (r >= 0)
                r = sd_bus_message_append(message, "ss", scope->name, "replace");
        if (r >= 0)
                *ret_message = g_steal_pointer(&message);
        return r;
}

static int build_kill(sd_bus *bus, void *userdata, sd_bus_message **ret_message) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        Scope *scope = userdata;
        int r = build_manager_call(bus, "KillUnit", &message);

        if (r >= 0)
                r = sd_bus_message_append(message, "ssi", scope->name, "all", SIGKILL);
        if (r >= 0)
                *ret_message = g_steal_pointer(&message);
        return r;
}

/* Before the process has moved in there is nothing to stop; it is looked at again when it has. */
static void scope_pursue(Scope *scope) {
        BusQueue *queue = unit_manager_queue(scope->manager);

        if (!scope->cgroup)
                return;
        if (scope->want_kill && !scope->kill_sent && !scope->kill)
                scope->kill = bus_call_new(queue, build_kill, on_killed, scope,
                                           SYSTEMD_CALL_TIMEOUT, BUS_CALL_URGENT);
        if (scope->want_stop && !scope->stop_sent && !scope->stop)
                scope->stop = bus_call_new(queue, build_stop, on_stopped, scope,
                                           SYSTEMD_CALL_TIMEOUT, BUS_CALL_URGENT);
}

void scope_stop(Scope *scope) {
        scope->want_stop = true;
        scope_pursue(scope);
}

void scope_kill(Scope *scope) {
        scope->want_kill = scope->want_stop = true;
        scope_pursue(scope);
}

/* ---- starting ---- */

static void on_located(sd_bus_message *reply, const sd_bus_error *error, void *userdata) {
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

static int build_locate(sd_bus *bus, void *userdata, sd_bus_message **ret_message) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        g_autofree char *path = NULL;
        Scope *scope = userdata;
        char *encoded = NULL;
        int r = sd_bus_path_encode(SYSTEMD_UNIT_PATH_PREFIX, scope->name, &encoded);

        path = encoded;
        if (r >= 0)
                r = sd_bus_message_new_method_call(bus, &message, SYSTEMD_SERVICE, path,
                                                   DBUS_PROPERTIES, "Get");
        if (r >= 0)
                r = sd_bus_message_append(message, "ss", SYSTEMD_SERVICE ".Scope", "ControlGroup");
        if (r >= 0)
                *ret_message = g_steal_pointer(&message);
        return r;
}

void scope_on_systemd_job_removed(Scope *scope, const char *word) {
        if (scope->systemd_job_done || scope->cgroup || scope->fault)
                return;
        scope->systemd_job_done = true;
        if (!g_str_equal(word, "done")) {
                scope_fail(scope, "the service manager could not move the process");
                return;
        }
        scope->locate = bus_call_new(unit_manager_queue(scope->manager), build_locate, on_located,
                                     scope, SYSTEMD_CALL_TIMEOUT, BUS_CALL_ORDINARY);
}

void scope_on_disconnected(Scope *scope) {
        scope_fail(scope, "the service manager went away");
}

static void on_start(sd_bus_message *reply, const sd_bus_error *error, void *userdata) {
        Scope *scope = userdata;

        scope->start = bus_call_free(scope->start);
        if (error)
                scope_fail(scope, error->message ? error->message : error->name);
}

static int append_properties(sd_bus_message *message, const Scope *scope) {
        int r = sd_bus_message_append(message, "(sv)(sv)(sv)(sv)(sv)(sv)", "Description", "s",
                                      scope->description, "Slice", "s", scope->slice, "CollectMode",
                                      "s", "inactive-or-failed", "TimeoutStopUSec", "t",
                                      MAX(scope->stop_timeout, 1), "SendSIGKILL", "b", 1, "PIDs",
                                      "au", 1, (uint32_t)scope->pid);

        /* At shutdown it stops before the daemon that holds its lock. The fence's BindsTo= belongs
         * here. */
        return r < 0 ? r
                     : sd_bus_message_append(message, "(sv)", "After", "as", 2, UNIT_AFTER_DEFAULT);
}

static int build_start(sd_bus *bus, void *userdata, sd_bus_message **ret_message) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        int r = build_manager_call(bus, "StartTransientUnit", &message);

        if (r >= 0)
                r = sd_bus_message_append(message, "ss", ((Scope *)userdata)->name, "fail");
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'a', "(sv)");
        if (r >= 0)
                r = append_properties(message, userdata);
        if (r >= 0)
                r = sd_bus_message_close_container(message);
        if (r >= 0)
                r = sd_bus_message_append(message, "a(sa(sv))", 0);
        if (r >= 0)
                *ret_message = g_steal_pointer(&message);
        return r;
}

static Scope *scope_new(UnitManager *manager, const char *name, ScopeFunc func, void *userdata) {
        Scope *scope = g_new0(Scope, 1);

        scope->manager = manager;
        scope->name = g_strdup(name);
        scope->func = func;
        scope->userdata = userdata;
        unit_manager_add_scope(manager, scope);
        return scope;
}

int scope_start(UnitManager *manager, const ScopeSpec *spec, ScopeFunc func, void *userdata,
                Scope **ret_scope) {
        Scope *scope = scope_new(manager, spec->name, func, userdata);

        scope->description = g_strdup(spec->description);
        scope->slice = g_strdup(spec->slice);
        scope->pid = spec->pid;
        scope->stop_timeout = spec->stop_timeout;
        scope->start = bus_call_new(unit_manager_queue(manager), build_start, on_start, scope,
                                    SYSTEMD_CALL_TIMEOUT, BUS_CALL_ORDINARY);
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

const char *scope_name(const Scope *scope) {
        return scope->name;
}

const char *scope_fault(const Scope *scope) {
        return scope->fault ? scope->fault : "";
}

Scope *scope_free(Scope *scope) {
        if (!scope)
                return NULL;
        unit_manager_remove_scope(scope->manager, scope);
        bus_call_free(scope->start);
        bus_call_free(scope->locate);
        bus_call_free(scope->stop);
        bus_call_free(scope->kill);
        cgroup_watch_free(scope->watch);
        sd_event_source_disable_unref(scope->timer);
        sd_event_source_disable_unref(scope->failure);
        g_free(scope->name);
        g_free(scope->description);
        g_free(scope->slice);
        g_free(scope->cgroup);
        g_free(scope->fault);
        g_free(scope);
        return NULL;
}

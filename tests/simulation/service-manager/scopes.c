/* units/scope.h for a simulation: PID 1 moves a process, and the kernel says when nobody is left.
 */
#include "scope.h"

#include <glib.h>

#include "cgroup.h"
#include "pid1-call.h"

struct Scope {
        UnitManager *manager; /* weak */
        ManagerListener listener;
        char *name, *slice, *cgroup, *fault;
        ScopeFunc func;
        void *userdata;
        bool wants_stop, wants_kill, gave_stop, gave_kill;
        Pid1Call *start, *stop, *kill;
        sd_event_source *teller; /* of the last event */
        ScopeEvent last;
};

static int scope_on_teller(sd_event_source *source, void *userdata) {
        Scope *scope = userdata;

        (void)source;
        scope->func(scope, scope->last, scope->userdata); /* may free the scope */
        return 0;
}

static void scope_tell_last(Scope *scope, ScopeEvent event) {
        if (scope->teller)
                return;
        scope->last = event;
        (void)sd_event_add_defer(manager_event(scope->manager), &scope->teller, scope_on_teller,
                                 scope);
}

static void scope_fail(Scope *scope, const char *why) {
        g_free(scope->fault);
        scope->fault = g_strdup(why);
        scope_tell_last(scope, SCOPE_EVENT_FAILED);
}

/* ---- stopping ---- */

static void scope_pursue(Scope *scope) {
        if (!scope->cgroup)
                return;
        if (scope->wants_kill && !scope->gave_kill)
                pid1_call_send(scope->manager, PID1_CALL_KILL, scope->name, NULL, NULL, NULL,
                               &scope->kill);
        scope->gave_kill |= scope->wants_kill;
        if ((!scope->wants_stop && !scope->wants_kill) || scope->gave_stop)
                return;
        scope->gave_stop = true;
        pid1_call_send(scope->manager, PID1_CALL_STOP, scope->name, NULL, NULL, NULL, &scope->stop);
}

void scope_stop(Scope *scope) {
        scope->wants_stop = true;
        scope_pursue(scope);
}

void scope_kill(Scope *scope) {
        scope->wants_kill = true;
        scope_pursue(scope);
}

/* ---- what is heard ---- */

static void scope_on_change(const char *word, void *userdata) {
        (void)word;
        (void)userdata;
}

static void scope_on_empty(void *userdata) {
        Scope *scope = userdata;

        if (scope->cgroup)
                scope_tell_last(scope, SCOPE_EVENT_EMPTY);
}

static void scope_on_connected(void *userdata) {
        Scope *scope = userdata;

        scope->gave_stop = scope->gave_kill = false;
        scope_pursue(scope);
}

static bool scope_has_somebody(const Scope *scope) {
        return pid1_find_scope(manager_pid1(scope->manager), scope->name);
}

static void scope_on_started(const Pid1Answer *answer, void *userdata) {
        Scope *scope = userdata;

        if (answer->r < 0) {
                scope_fail(scope, g_strerror(-answer->r));
                return;
        }
        scope->cgroup = cgroup_path_of_unit(scope->slice, scope->name);
        if (!scope_has_somebody(scope))
                scope_tell_last(scope, SCOPE_EVENT_EMPTY);
        scope_pursue(scope);
        scope->func(scope, SCOPE_EVENT_STARTED, scope->userdata); /* may free the scope */
}

/* ---- from outside ---- */

static Scope *scope_new(UnitManager *manager, const char *name, ScopeFunc func, void *userdata) {
        Scope *scope = g_new0(Scope, 1);

        scope->manager = manager;
        scope->name = g_strdup(name);
        scope->func = func;
        scope->userdata = userdata;
        scope->listener = (ManagerListener){scope->name, scope_on_change, scope_on_empty,
                                            scope_on_connected, scope};
        manager_listen(manager, &scope->listener);
        return scope;
}

int scope_start(UnitManager *manager, const ScopeSpec *spec, ScopeFunc func, void *userdata,
                Scope **ret_scope) {
        const UnitSpec unit = {.name = spec->name,
                               .slice = spec->slice,
                               .fenced = spec->fenced,
                               .stop_timeout = spec->stop_timeout};
        Scope *scope = scope_new(manager, spec->name, func, userdata);

        scope->slice = g_strdup(spec->slice);
        pid1_call_send_scope(manager, &unit, spec->pid, scope_on_started, scope, &scope->start);
        *ret_scope = scope;
        return 0;
}

int scope_adopt(UnitManager *manager, const char *name, const char *cgroup, ScopeFunc func,
                void *userdata, Scope **ret_scope) {
        Scope *scope = scope_new(manager, name, func, userdata);

        scope->cgroup = g_strdup(cgroup);
        if (!scope_has_somebody(scope))
                scope_tell_last(scope, SCOPE_EVENT_EMPTY);
        *ret_scope = scope;
        return 0;
}

const char *scope_cgroup(const Scope *scope) {
        return scope->cgroup;
}

const char *scope_fault(const Scope *scope) {
        return scope->fault ? scope->fault : "";
}

bool scope_is_populated(const Scope *scope) {
        return !scope->cgroup || scope_has_somebody(scope);
}

Scope *scope_free(Scope *scope) {
        if (!scope)
                return NULL;
        manager_unlisten(scope->manager, &scope->listener);
        pid1_call_let_go(&scope->start);
        pid1_call_let_go(&scope->stop);
        pid1_call_let_go(&scope->kill);
        sd_event_source_disable_unref(scope->teller);
        g_free(scope->name);
        g_free(scope->slice);
        g_free(scope->cgroup);
        g_free(scope->fault);
        g_free(scope);
        return NULL;
}

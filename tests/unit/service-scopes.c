/* See service-scopes.h. */
#include "service-scopes.h"

#include <criterion/criterion.h>
#include <string.h>

#include "cgroup.h"
#include "service-manager.h"

static GPtrArray *scopes; /* of ServiceScope, in the order in which they were asked for */

struct Scope {
        ServiceScope *service; /* NULL: there is none of that name */
        bool starting;         /* PID 1 has not moved the process */
        ScopeFunc func;
        void *userdata;
        unsigned events; /* bits of ScopeEvent still to be told */
        sd_event_source *teller;
};

static void service_scope_free(gpointer data) {
        ServiceScope *service = data;

        g_free(service->name);
        g_free(service->description);
        g_free(service->slice);
        g_free(service->cgroup);
        g_free(service);
}

void service_scopes_begin(void) {
        scopes = g_ptr_array_new_with_free_func(service_scope_free);
}

void service_scopes_end(void) {
        g_clear_pointer(&scopes, g_ptr_array_unref);
}

ServiceScope *service_scope_newest(void) {
        return scopes->len > 0 ? scopes->pdata[scopes->len - 1] : NULL;
}

ServiceScope *service_scope_add(const char *name) {
        ServiceScope *service = g_new0(ServiceScope, 1);

        service->name = g_strdup(name);
        service->cgroup = g_strconcat("/test.slice/", name, NULL);
        service->alive = true;
        g_ptr_array_add(scopes, service);
        return service;
}

static ServiceScope *service_scope_find(const char *name) {
        for (guint i = scopes->len; i > 0; i--) {
                ServiceScope *service = scopes->pdata[i - 1];

                if (service->alive && strcmp(service->name, name) == 0)
                        return service;
        }
        return NULL;
}

/* ---- what whoever watches is told, one event a round of the loop ---- */

static int scope_on_teller(sd_event_source *source, void *userdata) {
        Scope *scope = userdata;
        unsigned event = 0;

        (void)source;
        while (!(scope->events & 1U << event))
                event++;
        scope->events &= ~(1U << event);
        if (scope->events == 0)
                scope->teller = sd_event_source_disable_unref(scope->teller);
        scope->func(scope, (ScopeEvent)event, scope->userdata);
        return 0;
}

static void scope_tell(Scope *scope, ScopeEvent event) {
        if (!scope)
                return;
        scope->events |= 1U << event;
        if (scope->teller)
                return;
        cr_assert_geq(
            sd_event_add_defer(service_manager.event, &scope->teller, scope_on_teller, scope), 0);
        cr_assert_geq(sd_event_source_set_enabled(scope->teller, SD_EVENT_ON), 0);
}

void service_scope_begin(ServiceScope *service) {
        if (service->scope)
                service->scope->starting = false;
        scope_tell(service->scope, SCOPE_EVENT_STARTED);
}

void service_scope_empty(ServiceScope *service) {
        cr_assert(service->alive);
        service->alive = false;
        scope_tell(service->scope, SCOPE_EVENT_EMPTY);
}

/* ---- scopes ---- */

static Scope *scope_new(ServiceScope *service, ScopeFunc func, void *userdata) {
        Scope *scope = g_new0(Scope, 1);

        scope->service = service;
        scope->func = func;
        scope->userdata = userdata;
        if (service)
                service->scope = scope;
        return scope;
}

int scope_start(UnitManager *manager, const ScopeSpec *spec, ScopeFunc func, void *userdata,
                Scope **ret_scope) {
        ServiceScope *service = service_scope_add(spec->name);

        (void)manager;
        service->description = g_strdup(spec->description);
        service->slice = g_strdup(spec->slice);
        g_free(service->cgroup);
        service->cgroup = cgroup_path_of_unit(spec->slice, spec->name);
        service->pid = spec->pid;
        service->fenced = spec->fenced;
        service->stop_timeout = spec->stop_timeout;
        service->alive = !service_manager.refuses;
        *ret_scope = scope_new(service, func, userdata);
        (*ret_scope)->starting = true;
        if (service_manager.refuses)
                scope_tell(*ret_scope, SCOPE_EVENT_FAILED);
        else if (!service_manager.hold_starts)
                service_scope_begin(service);
        return 0;
}

int scope_adopt(UnitManager *manager, const char *name, const char *cgroup, ScopeFunc func,
                void *userdata, Scope **ret_scope) {
        ServiceScope *service = service_scope_find(name);

        (void)manager;
        if (service_manager.start_error < 0)
                return service_manager.start_error;
        if (service)
                cr_expect_str_eq(cgroup, service->cgroup);
        *ret_scope = scope_new(service, func, userdata);
        if (!service)
                scope_tell(*ret_scope, SCOPE_EVENT_EMPTY);
        return 0;
}

static void scope_end(const Scope *scope) {
        if (scope->service && scope->service->alive && !service_manager.deaf)
                service_scope_empty(scope->service);
}

void scope_stop(Scope *scope) {
        if (scope->service)
                scope->service->stops++;
        scope_end(scope);
}

void scope_kill(Scope *scope) {
        if (scope->service)
                scope->service->kills++;
        scope_end(scope);
}

const char *scope_cgroup(const Scope *scope) {
        return scope->service && !scope->starting ? scope->service->cgroup : NULL;
}

bool scope_is_populated(const Scope *scope) {
        return scope->service && scope->service->alive;
}

const char *scope_fault(const Scope *scope) {
        (void)scope;
        return "refused";
}

Scope *scope_free(Scope *scope) {
        if (!scope)
                return NULL;
        sd_event_source_disable_unref(scope->teller);
        if (scope->service && scope->service->scope == scope)
                scope->service->scope = NULL;
        g_free(scope);
        return NULL;
}

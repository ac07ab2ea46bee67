/* units/scope.h for a simulation. Commands with a lock come over the bus, which is not simulated:
 * nothing asks for a scope, and none is left of an earlier process. */
#include "scope.h"

#include <glib.h>

int scope_start(UnitManager *manager, const ScopeSpec *spec, ScopeFunc func, void *userdata,
                Scope **ret_scope) {
        g_error("scope %s: commands with a lock are not simulated", spec->name);
}

int scope_adopt(UnitManager *manager, const char *name, const char *cgroup, ScopeFunc func,
                void *userdata, Scope **ret_scope) {
        g_error("scope %s: commands with a lock are not simulated", name);
}

void scope_stop(Scope *scope) {
        g_assert_null(scope);
}

void scope_kill(Scope *scope) {
        g_assert_null(scope);
}

const char *scope_cgroup(const Scope *scope) {
        g_assert_null(scope);
        return NULL;
}

const char *scope_fault(const Scope *scope) {
        g_assert_null(scope);
        return "";
}

bool scope_is_populated(const Scope *scope) {
        g_assert_null(scope);
        return false;
}

Scope *scope_free(Scope *scope) {
        g_assert_null(scope);
        return NULL;
}

/* Scopes: processes that somebody else has started, put into a cgroup of their own by PID 1, so
 * that all of it can be stopped and one knows when it is empty. Here: the command of `jobkeeper
 * lock`, which is its caller's child and not PID 1's.
 *
 * As with a Unit, "empty" is the kernel's word, not PID 1's; and a lost answer means that the
 * question is asked again.
 */
#pragma once

#include <sys/types.h>

#include "unit-manager.h"

typedef struct Scope Scope;

typedef struct ScopeSpec {
        const char *name; /* "....scope" */
        const char *description;
        const char *slice;
        bool fenced;         /* it ends when the fence does */
        pid_t pid;           /* the process that moves in */
        usec_t stop_timeout; /* from SIGTERM to SIGKILL */
} ScopeSpec;

typedef enum ScopeEvent {
        SCOPE_EVENT_STARTED, /* the process has moved in; scope_cgroup() says where */
        SCOPE_EVENT_FAILED,  /* it has not: scope_fault() says why. The last event */
        SCOPE_EVENT_EMPTY,   /* nobody is left. The last event */
} ScopeEvent;
/* From the loop only. The scope may be freed in it. */
typedef void (*ScopeFunc)(Scope *scope, ScopeEvent event, void *userdata);

/* The spec is copied. Return: 0; whatever goes wrong is told later, as FAILED. */
int scope_start(UnitManager *manager, const ScopeSpec *spec, ScopeFunc func, void *userdata,
                Scope **ret_scope);

/* Goes on watching one that a process before us started: EMPTY follows, at once where it is gone.
 * Return: 0 or negative errno. */
int scope_adopt(UnitManager *manager, const char *name, const char *cgroup, ScopeFunc func,
                void *userdata, Scope **ret_scope);

/* SIGTERM now, SIGKILL after the stop timeout, to the whole cgroup. Idempotent; EMPTY follows. */
void scope_stop(Scope *scope);
/* SIGKILL to the whole cgroup now. */
void scope_kill(Scope *scope);

/* Return: its cgroup, as in a unit's ControlGroup property; NULL before STARTED. Borrowed. */
const char *scope_cgroup(const Scope *scope);
const char *scope_fault(const Scope *scope);
/* Return: whether a process lives in it now; true where that cannot be told. */
bool scope_is_populated(const Scope *scope);

/* Stops watching; the scope itself is left as it is. No callback afterwards. */
Scope *scope_free(Scope *scope);
DEFINE_CLEANUP(Scope, scope_free);

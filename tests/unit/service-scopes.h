/* The scopes of the service manager (service-manager.h): processes that somebody else has started.
 * They outlive the daemon that made them, as units do. `hold_starts`, `deaf` and `refuses` count
 * for them as well. A program that uses them gets scope_start() and the like from its linker, and
 * not the library's. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "scope.h"

/* A scope as PID 1 has it. */
typedef struct ServiceScope {
        char *name, *description, *slice, *cgroup;
        pid_t pid;
        usec_t stop_timeout;
        bool alive, fenced;
        unsigned stops, kills; /* how often each was asked for */
        Scope *scope;          /* who watches it; NULL */
} ServiceScope;

/* Part of service_manager_begin() and service_manager_end(). */
void service_scopes_begin(void);
void service_scopes_end(void);

/* Return: the one that was asked for last; NULL where there is none. */
ServiceScope *service_scope_newest(void);
/* One that nobody here asked for, and that lives. */
ServiceScope *service_scope_add(const char *name);

/* PID 1 has moved the process. */
void service_scope_begin(ServiceScope *service);
/* Nobody is left in it. */
void service_scope_empty(ServiceScope *service);

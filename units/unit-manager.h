/* What the manager offers to the other files of this room; the public face is unit.h. */
#pragma once

#include <systemd/sd-bus.h>

#include "bus-call.h"
#include "scope.h"
#include "unit.h"

#define SYSTEMD_SERVICE "org.freedesktop.systemd1"
#define SYSTEMD_PATH "/org/freedesktop/systemd1"
#define SYSTEMD_UNIT_PATH_PREFIX "/org/freedesktop/systemd1/unit"
#define SYSTEMD_MANAGER "org.freedesktop.systemd1.Manager"
#define DBUS_PROPERTIES "org.freedesktop.DBus.Properties"

/* PID 1 answers in milliseconds; when a hundred units start at once, in seconds. sd-bus's own
 * default is 25 s. */
#define SYSTEMD_CALL_TIMEOUT (25 * USEC_PER_SEC)

sd_event *unit_manager_event(const UnitManager *manager);
BusQueue *unit_manager_queue(const UnitManager *manager);
const char *unit_manager_cgroup_root(const UnitManager *manager);

/* The connection's number, 0 while there is none and on the private socket, where PID 1 counts no
 * references: what references a unit was taken in connection N is dropped by PID 1 when N ends. */
unsigned unit_manager_ref_generation(const UnitManager *manager);

/* Sends a Manager method that takes `types`, without waiting for an answer; nothing happens while
 * there is no connection. */
void unit_manager_tell(UnitManager *manager, const char *member, const char *types, ...);

/* Units that want to hear of JobRemoved and of the connection's coming and going. */
void unit_manager_add(UnitManager *manager, Unit *unit);
void unit_manager_remove(UnitManager *manager, Unit *unit);

/* Errands are what outlives the call, or the Unit, that began it: job queries and the forgetting of
 * units. The manager destroys those that it still has when it goes; an errand takes itself out when
 * it ends. It is the first member of what it stands for. */
typedef struct Errand {
        void (*destroy)(struct Errand *errand);
} Errand;
void unit_manager_own(UnitManager *manager, Errand *errand);
void unit_manager_disown(UnitManager *manager, Errand *errand);

/* Has PID 1 forget a unit that is over and done with, now or when there is a connection again. */
void unit_forget(UnitManager *manager, const char *name);

/* Scopes, which want to hear of the same (scope.c). */
void unit_manager_add_scope(UnitManager *manager, Scope *scope);
void unit_manager_remove_scope(UnitManager *manager, Scope *scope);
void scope_on_systemd_job_removed(Scope *scope, const char *word);
void scope_on_disconnected(Scope *scope);

/* Implemented in unit-watch.c; they report nothing from inside. */
void unit_on_systemd_job_removed(Unit *unit, const char *systemd_job, const char *word);
void unit_on_connected(Unit *unit);
void unit_on_disconnected(Unit *unit);

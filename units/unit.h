/* Units: running a command as a transient systemd service, watched to its true end.
 *
 * UnitManager is the connection to PID 1 (the system bus; systemd's private socket where there is
 * no bus), which comes back by itself. Unit is one transient service of ours: Type=oneshot with
 * RemainAfterExit, so that its result can be read after it ended. Nothing here knows of jobs.
 *
 * A start is tracked in two phases: until JobRemoved property changes are noise; then the unit's
 * own state counts, read with one GetAll. After the main process ended, children may still live in
 * the cgroup: they are killed, and UNIT_EVENT_ENDED comes only when the cgroup is empty, because
 * then, and only then, may the owner let go of the locks. NoReply or a lost bus mean "unknown",
 * never "failed": the unit is read again when the bus is back.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "cleanup.h"
#include "clock.h"
#include "unit-result.h"

typedef struct UnitManager UnitManager;
typedef struct Unit Unit;

#define UNIT_CALLS_IN_FLIGHT_MAX                                                                   \
        64 /* dbus-daemon limits pending replies to 128 for a root client and answers              \
              LimitsExceeded above */

/* What a unit is ordered after unless its spec says otherwise: at shutdown runs stop first, and are
 * settled while there is a network. */
#define DAEMON_UNIT "jobkeeperd.service"
#define UNIT_AFTER_DEFAULT DAEMON_UNIT, "network.target"

typedef struct UnitSpec {
        const char *name; /* "....service" */
        const char *description;
        const char *const *argv;        /* NULL-terminated */
        bool argv_expand;               /* let PID 1 expand ${VARIABLES} */
        const char *user, *group;       /* NULL: not set */
        const char *const *environment; /* "NAME=value", NULL-terminated */
        const char *working_directory;  /* NULL: not set */
        const char *const *log_fields;  /* "NAME=value", NULL-terminated */
        const char *slice;
        const char *const *after; /* units it is ordered after, so that at shutdown it stops before
                                     them; NULL: UNIT_AFTER_DEFAULT */
        const char *nonce;   /* 32 hex digits: tells our unit from another of the same name; travels
                                in its environment as JOBKEEPER_NONCE */
        usec_t timeout;      /* of the main process, USEC_INFINITY: none */
        usec_t stop_timeout; /* from SIGTERM to SIGKILL */
} UnitSpec;

/* In this order, each once at most. A unit that never ran has ENDED alone. After a failure PID 1
 * keeps the start job until what is left is dead, so that EXITED then comes together with ENDED. */
typedef enum UnitEvent {
        UNIT_EVENT_STARTED, /* the start job began (or an adopted unit is running): invocation id is
                               known */
        UNIT_EVENT_EXITED,  /* main process ended: unit_result() is final but for CPU time; what is
                               left is being killed */
        UNIT_EVENT_ENDED, /* cgroup is empty (or never was): unit_result() is final. Always the last
                           */
        UNIT_EVENT_ABSENT, /* unit_adopt(): no such unit, or it has another nonce. The last event,
                              without ENDED */
} UnitEvent;
typedef void (*UnitFunc)(Unit *unit, UnitEvent event, void *userdata);

/* What PID 1 has queued for a unit. */
typedef enum SystemdJob {
        SYSTEMD_JOB_NONE,
        SYSTEMD_JOB_STOP,
        SYSTEMD_JOB_RESTART,
        SYSTEMD_JOB_OTHER,
        SYSTEMD_JOB_UNKNOWN
} SystemdJob;
typedef void (*SystemdJobFunc)(SystemdJob systemd_job, void *userdata);

/* Connects; a bus that is not there yet is retried. Return: 0 or negative errno; -EOPNOTSUPP on a
 * machine without the unified cgroup hierarchy, where nobody could tell when a run is over. */
int unit_manager_new(sd_event *event, UnitManager **ret_manager);
/* Units must have been freed before; queries that are not answered yet never will be. */
UnitManager *unit_manager_free(UnitManager *manager);
DEFINE_CLEANUP(UnitManager, unit_manager_free);
/* Return: whether the bus answers at the moment. */
bool unit_manager_connected(const UnitManager *manager);
/* Return: whether PID 1 has still to answer what unit_discard() or unit_manager_query_systemd_job()
 * asked of it. A program that is about to end runs its loop until this is false (or for a second at
 * most): PID 1 does nothing for a caller who has left when it looks. */
bool unit_manager_busy(const UnitManager *manager);

/* How long PID 1 may take to say whether our SIGTERM is part of a restart. */
#define RESTART_QUERY_TIMEOUT (2 * USEC_PER_SEC)
/* Asks which job PID 1 has queued for a unit ("jobkeeperd.service"): is our own SIGTERM part of a
 * restart? Answers within `timeout`, with SYSTEMD_JOB_UNKNOWN where PID 1 does not. Return: 0 or
 * negative errno. */
int unit_manager_query_systemd_job(UnitManager *manager, const char *unit, usec_t timeout,
                                   SystemdJobFunc func, void *userdata);

/* Starts a unit. The spec is copied. A unit of this name that exists is adopted if it has our
 * nonce; with another nonce the start fails (result UNIT_OUTCOME_START_FAILED). Waits its turn when
 * UNIT_CALLS_IN_FLIGHT_MAX calls are under way. Events come from the loop only. Return: 0 or
 * negative errno. */
int unit_start(UnitManager *manager, const UnitSpec *spec, UnitFunc func, void *userdata,
               Unit **ret_unit);

/* Finds a unit that a process before us started, and goes on watching it. Return: 0 or negative
 * errno. */
int unit_adopt(UnitManager *manager, const char *name, const char *nonce, UnitFunc func,
               void *userdata, Unit **ret_unit);

/* SIGTERM now, SIGKILL after the stop timeout, to the whole cgroup (StopUnit). Idempotent; ENDED
 * follows. */
void unit_stop(Unit *unit);
/* SIGKILL to the whole cgroup now. Idempotent; ENDED follows. */
void unit_kill(Unit *unit);

/* After ENDED and once the result is safe elsewhere: lets PID 1 forget the unit (StopUnit,
 * ResetFailed). Nothing is reported. */
void unit_discard(Unit *unit);

/* Stops watching; the unit itself is left as it is. No callback afterwards. */
Unit *unit_free(Unit *unit);
DEFINE_CLEANUP(Unit, unit_free);

const char *unit_name(const Unit *unit);
const UnitResult *unit_result(const Unit *unit);

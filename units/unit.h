/* Units: running a command as a transient systemd service, watched to its true end.
 *
 * UnitManager is the connection to PID 1 (systemd's private socket; the system bus while that
 * cannot be had), which comes back by itself. Unit is one transient service of ours (unit-start.c)
 * with RemainAfterExit, so that its result can be read after it ended. Nothing here knows of jobs.
 *
 * A start is tracked in two phases: until JobRemoved property changes are noise; then the unit's
 * own state counts, read with one GetAll. After the main process ended, children may still live in
 * the cgroup: they are killed, and UNIT_EVENT_ENDED comes only when the cgroup is empty, because
 * then, and only then, may the owner let go of the locks. NoReply or a lost bus mean "unknown",
 * never "failed": the unit is read again when the bus is back.
 */
#pragma once

#include "systemd-job.h"
#include "unit-event.h"
#include "unit-manager.h"
#include "unit-result.h"
#include "unit-start.h"

typedef struct Unit Unit;

typedef void (*UnitFunc)(Unit *unit, UnitEvent event, void *userdata);

/* Starts a unit. The spec is copied. A unit of this name that exists is adopted if it has our
 * nonce; with another nonce the start fails (result UNIT_OUTCOME_START_FAILED). Waits its turn when
 * START_WINDOW_SIZE units are starting, or UNIT_CALLS_IN_FLIGHT_MAX calls are under way. Events
 * come from the loop only. Return: 0 or negative errno, also where its launch step could not be
 * written. */
int unit_start(UnitManager *manager, const UnitSpec *spec, UnitFunc func, void *userdata,
               Unit **ret_unit);

/* Finds a unit that a process before us started, and goes on watching it. Return: 0 or negative
 * errno. */
int unit_adopt(UnitManager *manager, const char *name, const char *nonce, UnitFunc func,
               void *userdata, Unit **ret_unit);

/* SIGTERM now, SIGKILL after the stop timeout, to the whole cgroup (StopUnit). Idempotent; ENDED
 * follows. What was over before PID 1 was asked has its own result. */
void unit_stop(Unit *unit);
/* A process before us has ordered an adopted one to end at that time (CLOCK_MONOTONIC), so that one
 * that is found over was stopped, unless it was over before. Before its first event. */
void unit_was_ordered(Unit *unit, usec_t when);
/* Return: when PID 1 was first told to end it, also by a process before us (CLOCK_MONOTONIC);
 * USEC_INFINITY: never. */
usec_t unit_asked(const Unit *unit);
/* SIGKILL to the whole cgroup now. Idempotent; ENDED follows. */
void unit_kill(Unit *unit);

/* After ENDED and once the result is safe elsewhere: lets PID 1 forget the unit (StopUnit,
 * ResetFailedUnit). Nothing is reported. */
void unit_discard(Unit *unit);

/* Its owner has made sure that it never begins, and waits for it no longer: what PID 1 has yet to
 * do about it is seen to here, in whatever time that takes, until PID 1 can forget it. Takes the
 * unit over. */
void unit_forsake(Unit *unit);

/* Stops watching; the unit itself is left as it is. No callback afterwards. */
Unit *unit_free(Unit *unit);
DEFINE_CLEANUP(Unit, unit_free);

const UnitResult *unit_result(const Unit *unit);

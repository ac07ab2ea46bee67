/* The model of PID 1, one a machine: its services, which outlive the daemon that started them and
 * not a boot.
 *
 * What it keeps: a start is a job that waits, then runs or is refused; a unit's name is taken as
 * long as PID 1 has the unit; a stop is SIGTERM, then SIGKILL after the unit's own time; a unit
 * that ended by itself, or failed, is kept until somebody has it forgotten; one that was stopped
 * and ended well is forgotten at once where nobody refers to it. Messages take their time each way,
 * more where PID 1 is slow, and are lost with the connection (pid1-call.h).
 *
 * What is fenced (UnitSpec.fenced) is bound to the fence, which is not a service of the model's:
 * who plays it says how it stands (pid1_set_fence()). As long as it is not active what is bound to
 * it does not begin, and waits for it; when it leaves off all of it is stopped. Until somebody
 * plays it, it is active.
 *
 * unit.h, clearing.h and scope.h on top of it are in units.c, clearings.c and scopes.c.
 */
#pragma once

#include "outsider.h"
#include "service.h"
#include "unit-manager.h"

/* `watcher` lives as long. */
Pid1 *pid1_new(Machine *machine, const ServiceWatcher *watcher);
Pid1 *pid1_free(Pid1 *pid1);
DEFINE_CLEANUP(Pid1, pid1_free);

/* Return: whose turn it is while PID 1 acts. */
Process *pid1_process(const Pid1 *pid1);
const ServiceWatcher *pid1_watcher(const Pid1 *pid1);

/* Daemons that begin from here on, on this machine, find this one. */
Pid1 *pid1_of(const Machine *machine);

/* The machine crashed: nothing runs there any more, and nothing is remembered. */
void pid1_crash(Pid1 *pid1);
/* It is there again: after machine_boot(). */
void pid1_boot(Pid1 *pid1);

/* From now on it takes so long, at most, to answer; 0: as ever. */
void pid1_set_slowness(Pid1 *pid1, usec_t most);
usec_t pid1_slowness(const Pid1 *pid1);
/* From now on it answers nobody and tells nothing, as if it were stopped; what it has begun goes
 * on. With `hangs` false it does what it was asked meanwhile, in that order. */
void pid1_hang(Pid1 *pid1, bool hangs);
bool pid1_hangs(const Pid1 *pid1);
/* Return: whether what was asked of it while it was slow is still on its way. */
bool pid1_is_behind(const Pid1 *pid1);
/* Return: when a message arrives that would at `at`, true time: after all that were sent before it,
 * whoever sent them, as the bus passes them on. */
usec_t pid1_in_turn(Pid1 *pid1, usec_t at);
/* Return: whether a start is on its way there, which is lost where the connection breaks now. */
bool pid1_awaits_start(const Pid1 *pid1);
/* `func` hears, once, when the next start is on its way there, on the turn of who asks for it;
 * NULL: nobody does. Return: the `userdata` before. */
void *pid1_trip(Pid1 *pid1, WorldFunc func, void *userdata);
/* One is. */
void pid1_start_leaves(Pid1 *pid1);
/* The machine is to be shut down: all services and scopes are stopped, nothing begins any more, and
 * there is a job for the daemon's own unit, which is to be ended once they are gone. Until
 * pid1_crash(). */
void pid1_shut_down(Pid1 *pid1);
bool pid1_shuts_down(const Pid1 *pid1);
/* Return: whether a service or a scope lives that is to be gone before the daemon. */
bool pid1_has_units(const Pid1 *pid1);

/* The daemon's connection breaks, and comes back in `after`. */
void pid1_disconnect(Pid1 *pid1, usec_t after);
/* It comes back now. */
void pid1_reconnect(Pid1 *pid1);
/* Which job it has for the daemon's own unit while that is being ended. */
void pid1_set_daemon_job(Pid1 *pid1, unsigned systemd_job);
unsigned pid1_daemon_job(const Pid1 *pid1);

/* ---- the fence, as PID 1 has it ---- */

typedef enum Pid1Fence {
        PID1_FENCE_ACTIVE,
        PID1_FENCE_STOPPING, /* it has said so, and lives on */
        PID1_FENCE_GONE,     /* it is started again, or will be */
} Pid1Fence;

/* May end services and scopes, and tells them so at once. */
void pid1_set_fence(Pid1 *pid1, Pid1Fence fence);
Pid1Fence pid1_fence(const Pid1 *pid1);
/* Return: whether PID 1 starts it again: not while it still stops anything that is bound to it. */
bool pid1_fence_may_begin(const Pid1 *pid1);
/* Return: where it says which it is (FENCE_INSTANCE_PATH); borrowed. Whoever plays it writes that
 * before it is active. */
const char *pid1_fence_file(const Pid1 *pid1);
/* Return: when it left off being active last, CLOCK_MONOTONIC; 0: never in this boot. */
usec_t pid1_fence_left(const Pid1 *pid1);
/* Return: whether anything lives in the fence's slice. */
bool pid1_has_fenced(const Pid1 *pid1);
/* cgroup.kill of that slice, which the kernel does: SIGKILL to all in it. */
void pid1_kill_fenced(Pid1 *pid1);

/* Return: of Service, in the order of their starts. Borrowed. */
const GPtrArray *pid1_services(const Pid1 *pid1);
Service *pid1_find(const Pid1 *pid1, const char *name);
/* Return: where drop-ins of units are; borrowed. */
const char *pid1_dropin_root(const Pid1 *pid1);

/* Return: of Outsider, in no scope or in one. Borrowed. */
const GPtrArray *pid1_outsiders(const Pid1 *pid1);
/* Return: who is in that scope; NULL: nobody. */
Outsider *pid1_find_scope(const Pid1 *pid1, const char *scope);

/* ---- what it is asked for, at the moment it gets to it ---- */

/* Moves the process there. Return: 0; -ESRCH: there is no such process; -EEXIST; -ESHUTDOWN. */
int pid1_start_scope(Pid1 *pid1, const UnitSpec *scope, pid_t pid);

/* Return: 0; -EEXIST: a unit of that name is there; -ESHUTDOWN. */
int pid1_start(Pid1 *pid1, const UnitSpec *spec);
/* What is over is stopped, and forgotten as a failure: nothing is lost by it. */
void pid1_forget(Pid1 *pid1, const char *name);
/* StopUnit, KillUnit, ResetFailedUnit. Return: 0; -ENOENT: there is no such unit. */
int pid1_stop(Pid1 *pid1, const char *name);
int pid1_kill(Pid1 *pid1, const char *name);
int pid1_reset(Pid1 *pid1, const char *name);
/* Nobody has asked for it: PID 1 is confused, or what the unit depended on came back. Return:
 * whether it came to that. */
bool pid1_restart(Pid1 *pid1, Service *service);
/* RefUnit, UnrefUnit. */
void pid1_refer(Pid1 *pid1, const char *name);
void pid1_unrefer(Pid1 *pid1, const char *name);

/* ---- for its parts ---- */

/* `word`: how its start job has just ended; NULL: it has not. May free the service, once it is
 * over.
 */
void pid1_service_changed(Pid1 *pid1, Service *service, const char *word);
/* Return: its pid. */
pid_t pid1_add_outsider(Pid1 *pid1, Outsider *outsider);
void pid1_remove_outsider(Pid1 *pid1, Outsider *outsider);
/* Managers of daemons on this machine. */
void pid1_listen(Pid1 *pid1, UnitManager *manager);
void pid1_unlisten(Pid1 *pid1, UnitManager *manager);

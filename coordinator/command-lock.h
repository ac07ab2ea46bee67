/* Command locks: what jobkeeperd holds for `jobkeeper lock`, in its own session.
 *
 * A command asks for a lock and is told when it has it; it has its process moved into a scope,
 * jobkeeper-lock-ID.scope, before it executes anything; it asks every second until when the lock is
 * certain, so that it needs nobody's word to stop in time; and it gives the lock back. When the
 * lock ends first, the scope is stopped: SIGTERM at D - K, SIGKILL at D. When the caller vanishes
 * from the bus, having promised to hold still, its scope is stopped and the lock released only when
 * the cgroup is empty: dead before the lock moves.
 *
 * The locks outlive the daemon: they are remembered under the runtime directory, stay in the
 * session that the next process attaches to, and their callers come back with AdoptLock(). What
 * nobody asks for again is ended.
 */
#pragma once

#include <systemd/sd-bus.h>

#include "coordinator.h"

/* What is remembered over a restart, under the runtime directory. */
#define COMMAND_LOCKS_FILE "command-locks.json"
#define COMMAND_LOCKS_MAX 256 /* dbus-daemon allows 512 match rules a connection; one each */
#define COMMAND_LOCK_RESOURCES_MAX 64

/* Also recalls what a process before us has left. Needs the unit manager. */
CommandLocks *command_locks_new(Coordinator *coordinator);
/* Leaves what is held as it is, for the next process or the session's end. */
CommandLocks *command_locks_free(CommandLocks *locks);
DEFINE_CLEANUP(CommandLocks, command_locks_free);

/* The session's life. `attached`: it is that of the process before us. */
void command_locks_session_begins(CommandLocks *locks, bool attached);
void command_locks_session_ready(CommandLocks *locks);
void command_locks_session_stop(CommandLocks *locks);
void command_locks_session_lost(CommandLocks *locks);

/* The daemon's end: a real one, which ends all command locks, or a restart, which leaves them. */
void command_locks_stop(CommandLocks *locks);
void command_locks_leave(CommandLocks *locks);
/* Return: whether none is left that has to be ended before the session is. */
bool command_locks_idle(const CommandLocks *locks);

/* For the sweep of the session that we are attached to: adds the directories in which contenders of
 * command locks may stand, and those contenders' paths that are to be spared. Both get strings of
 * their own (g_free). */
void command_locks_keep(const CommandLocks *locks, GPtrArray *directories, GPtrArray *keep);

/* This connection to the bus is gone, and with it those who asked on it. Those who are still
 * connected when it is back are found again; one whose own connection ended, too, stops its command
 * by the deadline. */
void command_locks_bus_lost(CommandLocks *locks, const sd_bus *bus);

/* The methods: bus-interface.h. Return: as sd-bus wants it. */
int command_locks_acquire(CommandLocks *locks, sd_bus_message *message, sd_bus_error *error);
int command_locks_attach(CommandLocks *locks, sd_bus_message *message, sd_bus_error *error);
int command_locks_lease(CommandLocks *locks, sd_bus_message *message, sd_bus_error *error);
int command_locks_release(CommandLocks *locks, sd_bus_message *message, sd_bus_error *error);
int command_locks_adopt(CommandLocks *locks, sd_bus_message *message, sd_bus_error *error);

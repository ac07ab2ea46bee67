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

#include "command-lock.h"

#define COMMAND_LOCKS_MAX 256 /* dbus-daemon allows 512 match rules a connection; one each */

typedef struct CommandLocks CommandLocks;

typedef struct CommandLocksEvents {
        /* One is over. */
        void (*over)(void *userdata);
        /* Why no lock can be had, a sentence, where the session has no fault; "" otherwise. */
        const char *(*unreachable)(const void *userdata);
} CommandLocksEvents;

/* Also recalls what a process before us has left. */
CommandLocks *command_locks_new(const Node *node, UnitManager *units,
                                const CommandLocksEvents *events, void *userdata);
/* Leaves what is held as it is, for the next process or the session's end. */
CommandLocks *command_locks_free(CommandLocks *locks);
DEFINE_CLEANUP(CommandLocks, command_locks_free);

const Node *command_locks_node(const CommandLocks *locks);
unsigned command_locks_count(const CommandLocks *locks);
/* Return: the lock of that id, or NULL. Borrowed. */
CommandLock *command_locks_find(const CommandLocks *locks, const char *id);
/* One more, which is to be asked for (command_lock_acquire()). Takes the request. Borrowed. */
CommandLock *command_locks_add(CommandLocks *locks, CommandRequest *request);

/* The session's life. `attached`: it is that of the process before us. */
void command_locks_session_begins(CommandLocks *locks, bool attached);
void command_locks_session_ready(CommandLocks *locks);
void command_locks_session_stop(CommandLocks *locks);
void command_locks_session_lost(CommandLocks *locks);

/* The daemon's end: a real one, at which nobody waits any longer, and which ends all command locks
 * at last, or a restart, which leaves them. */
void command_locks_stop_queueing(CommandLocks *locks);
void command_locks_stop(CommandLocks *locks);
void command_locks_leave(CommandLocks *locks);
/* Return: whether none is left that has to be ended before the session is. */
bool command_locks_idle(const CommandLocks *locks);

/* For the sweep of the session that we are attached to, which begins now: adds the directories in
 * which contenders of command locks may stand, and those contenders' paths that are to be spared.
 * Both get strings of their own (g_free). */
void command_locks_keep(CommandLocks *locks, GPtrArray *directories, GPtrArray *keep);

/* This connection to the bus is gone, and with it those who asked on it. Those who are still
 * connected when it is back are found again; one whose own connection ended, too, stops its command
 * by the deadline. */
void command_locks_bus_lost(CommandLocks *locks, const sd_bus *bus);

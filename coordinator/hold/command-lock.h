/* One lock that jobkeeperd holds for `jobkeeper lock`, in its own session.
 *
 *   QUEUED ── held ──▶ HELD ── released by its caller ──▶ gone
 *     │                  └── lost, or its caller vanished ──▶ ENDING ── cgroup empty ──▶ gone
 *     └── timeout, fault, its caller vanished ──▶ gone
 */
#pragma once

#include "command-caller.h"
#include "command-request.h"
#include "lock-memory.h"
#include "node.h"
#include "unit.h"

typedef struct CommandLock CommandLock;

typedef struct CommandLockEvents {
        /* What is to be remembered of it is another now. Return: NULL where that is written
         * down; or why it is not, the caller's: nobody may begin to rely on it. */
        char *(*remember)(const CommandLock *lock, void *userdata);
        /* The same, on one of the next turns: nobody relies on it. */
        void (*remember_later)(CommandLock *lock, void *userdata);
        /* It has let go: to be freed, in here. */
        void (*over)(CommandLock *lock, void *userdata);
        /* Why it cannot be queued for, a sentence, where the session has no fault; "" otherwise. */
        const char *(*unreachable)(const void *userdata);
} CommandLockEvents;

/* What every lock works with. */
typedef struct CommandLockSetting {
        const Node *node;
        UnitManager *units;
        const CommandLockEvents *events;
        void *userdata;
} CommandLockSetting;

/* One that is asked for; takes the request. `setting` is borrowed, here and below. */
CommandLock *command_lock_new(const CommandLockSetting *setting, CommandRequest *request);
/* One that a process before us held; the record is copied. Goes on with its scope, and ends unless
 * somebody adopts it soon. */
CommandLock *command_lock_recall(const CommandLockSetting *setting, const LockRecord *record);
/* Refuses what is still to be answered. What is held belongs to the process after us, or ends with
 * the session. */
CommandLock *command_lock_free(CommandLock *lock);
DEFINE_CLEANUP(CommandLock, command_lock_free);

/* What is to be remembered of it. */
const LockRecord *command_lock_record(const CommandLock *lock);
/* Return: whether something of it was written down. */
bool command_lock_is_remembered(const CommandLock *lock);
CommandCaller *command_lock_caller(const CommandLock *lock);
bool command_lock_is_queued(const CommandLock *lock);
/* Return: whether it is held, and not about to end. */
bool command_lock_is_held(const CommandLock *lock);

/* ---- what its caller asks; each may end it ---- */

/* Begins to wait for it; the caller's acquiring call is answered when that is decided. */
void command_lock_acquire(CommandLock *lock);
/* Return: whether this process may be moved: none was yet, or it is the same, whose caller asks
 * again because the answer did not reach it. */
bool command_lock_may_attach(const CommandLock *lock, pid_t pid);
/* Moves the process into the lock's scope, unless it is there, and answers the attaching call.
 * Return: 0 or negative errno. */
int command_lock_attach(CommandLock *lock, pid_t pid);
/* Return: a new reference, until when it is certain. */
json_t *command_lock_lease(const CommandLock *lock);
/* The lock has a caller (again). Return: whether it is certain now; if not, an adopting call is to
 * be kept, and answered once it is found again. */
bool command_lock_adopt(CommandLock *lock, sd_bus_message *message);
/* Lets go of the lock. One that is ending is let go when its cgroup is empty. */
void command_lock_give_back(CommandLock *lock);

/* ---- what befalls all of them; each may end it ---- */

/* Queues when there is a session and it does not stand in the queue yet. */
void command_lock_queue(CommandLock *lock);
/* The session is that of the process before us, or another. */
void command_lock_session_is_the_same(CommandLock *lock);
void command_lock_session_is_another(CommandLock *lock);
void command_lock_session_stops(CommandLock *lock);
void command_lock_session_is_lost(CommandLock *lock);
/* All are recalled: those that were about to end do. */
void command_lock_end_again(CommandLock *lock);
/* The daemon is going to end: one that waits is given up, and its caller asks the next process. */
void command_lock_stop_queueing(CommandLock *lock);
/* The daemon ends, or leaves what it holds to the next. */
void command_lock_stop(CommandLock *lock);
void command_lock_leave(CommandLock *lock);
/* The connection to its caller is gone. */
void command_lock_bus_is_lost(CommandLock *lock);

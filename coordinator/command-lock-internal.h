/* What command-lock.c (one lock's life), command-locks.c (all of them, and what is remembered) and
 * command-lock-call.c (the methods) share. */
#pragma once

#include <jansson.h>

#include "bus-owner.h"
#include "command-lock.h"
#include "lock.h"
#include "scope.h"

typedef enum CommandLockState {
        COMMAND_LOCK_QUEUED, /* in the queue, or waits for a session to queue in */
        COMMAND_LOCK_HELD,
        COMMAND_LOCK_ENDING, /* its scope is being stopped; released once that is empty */
} CommandLockState;

typedef struct CommandLock {
        CommandLocks *table; /* weak: owns us */
        char *id;
        CommandLockState state;

        GPtrArray *strings; /* what `requests` points to */
        GArray *requests;   /* LockRequest; empty where it was recalled */
        char *label;        /* the resources' names, for messages */
        char *payload;
        bool go_on;        /* its loss does not stop the command */
        bool is_try;       /* does not wait for the lock */
        usec_t give_up_at; /* CLOCK_MONOTONIC */

        char *caller;       /* its name on the bus; NULL while there is none */
        sd_bus *bus;        /* weak: the connection on which it asked */
        BusOwner *presence; /* tells when that leaves */
        sd_bus_message *acquiring, *attaching, *adopting; /* calls to be answered */

        LockSet *set;
        bool recalled;      /* a process before us got it; not found in our session yet */
        bool was_ending;    /* and was about to give it up */
        bool session_over;  /* in which it had been: what stands at its paths now is another's */
        char **directories; /* of its resources */
        char **paths;       /* of its contenders, once held */
        int64_t token;
        char *scope_name, *cgroup; /* once attached */
        Scope *scope;
        sd_event_source *timer; /* queued: gives up; held: the caller's coming back */
} CommandLock;

struct CommandLocks {
        Coordinator *coordinator; /* weak: owns us */
        GHashTable *locks;        /* id → CommandLock */
        GPtrArray *swept;         /* directories where a process before us queued */
        char *path;               /* of the file */
};

/* command-lock.c */
CommandLock *command_lock_new(CommandLocks *table, const char *id);
void command_lock_destroy(void *data);
/* Queues when there is a session and it does not stand in the queue yet. May free it. */
void command_lock_queue(CommandLock *lock);
/* Takes over the contenders of one that was recalled. May free it. */
void command_lock_find_again(CommandLock *lock);
/* The caller, who is known from now on; its vanishing ends the lock. */
void command_lock_set_caller(CommandLock *lock, sd_bus_message *message);
/* The lock has nobody who asked for it: ends unless somebody adopts it soon. */
void command_lock_expect_caller(CommandLock *lock);
/* Moves the process into the lock's scope, and answers `attaching`. Return: 0 or negative errno. */
int command_lock_attach(CommandLock *lock, pid_t pid);
/* Goes on with the scope of one that was recalled. */
void command_lock_adopt_scope(CommandLock *lock);
/* Ends it because the lock is lost or to be: the command's scope is stopped or killed, and then the
 * lock is released. May free it. */
void command_lock_end(CommandLock *lock, bool at_once, const char *why);
/* Lets go of the lock and frees it. The scope, if one is left, stays as it is. */
void command_lock_release(CommandLock *lock);
/* Return: a new reference, until when it is certain; for answers. */
json_t *command_lock_lease(const CommandLock *lock);
/* Answers a call, if there is one, and forgets it; takes the reference. */
void command_lock_answer(sd_bus_message **call, json_t *object);
void command_lock_refuse(sd_bus_message **call, const char *name, const char *why);

/* command-locks.c: writes down what has to be known after a restart. Return: whether it could,
 * which is logged where not: nobody may begin to rely on what is not written down. */
bool command_locks_remember(CommandLocks *locks);

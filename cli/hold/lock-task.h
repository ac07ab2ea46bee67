/* What `jobkeeper lock` is to do, once its arguments are understood: shared by its two ways of
 * doing it, a session of its own (lock-wrapper.c) and the daemon's (lock-client.c). */
#pragma once

#include "command-process.h"
#include "contender.h"
#include "daemon-config.h"

/* A try waits for no lock, but connecting takes its time: as much as trying three servers may. */
#define LOCK_TRY_CONNECT_MAX (5 * USEC_PER_SEC)

/* One resource that was asked for. */
typedef struct LockWish {
        char *name;
        LockMode mode;
        unsigned slots; /* 0: as the configuration declares it */
        char *naming;   /* NULL: as the configuration declares it */
} LockWish;

typedef struct LockTask {
        GPtrArray *wishes; /* LockWish, in canonical order */
        char *label;       /* their names, separated by spaces: JOBKEEPER_RESOURCE, and messages */
        usec_t timeout;    /* 0: try; USEC_INFINITY: for ever */
        bool quiet;        /* no word about waiting */
        bool verbose;      /* tells who holds */
        bool go_on;        /* the command goes on when the lock is lost */
        char **argv;
        const Inheritance *inheritance;
} LockTask;

/* The signals that are forwarded to the command, for inheritance_take(). */
extern const int lock_task_signals[];

void lock_task_done(LockTask *task);

/* Adds a wish; takes over `naming`. Return: newly allocated (g_free), what is wrong with it, or
 * NULL. */
char *lock_task_add(LockTask *task, const char *name, LockMode mode, unsigned slots, char *naming);
/* Sorts the wishes and makes the label. */
void lock_task_finish(LockTask *task);

/* Return: newly allocated (g_strfreev), our environment and what the command sees in addition. */
char **lock_task_environment(const LockTask *task, int64_t token);

/* Whom others find at the head of the queue: only the command's name, since its arguments may be
 * nobody's business. Return: newly allocated (g_free), one line of JSON {node, command, pid, user}.
 * `node` may be NULL. */
char *lock_task_payload(const LockTask *task, const char *node);

/* One line of a survey. See lock-entry.c. */
#pragma once

#include <glib.h>

#include "lock.h"

/* One contender, or one holder of a single node. */
typedef struct LockEntry {
        char *resource;
        char *path; /* of the contender */
        LockNaming naming;
        LockMode mode;
        bool slot;       /* one of several; `slots` of the resource tells of how many */
        unsigned slots;  /* 1 for a lock */
        bool foreign;    /* of no naming that we know, or of another than those before it */
        bool holds;      /* nobody is before it that keeps it waiting */
        unsigned before; /* how many are before it in the queue, whatever they are */
        char *payload;   /* its data as it stands there, valid UTF-8 */
        int64_t session; /* whose it is */
        int64_t token;   /* czxid */
        usec_t since;    /* the server's wall clock when it was made, CLOCK_REALTIME's epoch */
} LockEntry;

/* Return: the entry of the child `name` of the directory, as far as its name tells. */
LockEntry *lock_entry_new(const char *resource, const char *directory, const char *name);
LockEntry *lock_entry_free(LockEntry *entry);
DEFINE_CLEANUP(LockEntry, lock_entry_free);

/* Puts the entries of one resource into the order of its queue, and works out `slots`, `foreign`,
 * `holds` and `before`. `slots`: how many its directory says it has, 0 for a lock. What is of no
 * naming that we know comes last: nothing tells where it stands. Pure. */
void lock_entries_rank(GPtrArray *entries, unsigned slots);

/* Longer payloads are cut: they are for people. */
#define LOCK_ENTRY_PAYLOAD_MAX 4096

/* The contenders that live LockSets of a session have, or may have. See lock-live.c. */
#pragma once

#include "contender.h"
#include "session.h"

/* A contender, as the set that made it knows it. */
typedef struct LiveNode {
        LockNaming naming;
        char *directory;
        char *uuid;
        char *path;    /* NULL until known */
        int64_t czxid; /* 0 until known */
        int64_t sequence;
        bool unsure; /* a creation's outcome was unknown: it may stand, and more than one of it */
} LiveNode;

void live_add(Session *session, const LiveNode *node);
void live_remove(Session *session, const LiveNode *node);

/* Return: whether one of them made the contender at `path`. */
bool live_owns(Session *session, const char *path);
/* Return: whether one of them, other than `except` (or NULL), made the single node of that
 * directory and czxid, or may have. `uuid`: what it says; NULL where its data was written over. */
bool live_owns_single(Session *session, const char *directory, const char *uuid, int64_t czxid,
                      const LiveNode *except);

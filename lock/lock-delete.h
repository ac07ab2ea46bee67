/* Getting out of a queue for certain: all of this lives on by itself until it is done or the
 * session is over. See lock-delete.c. */
#pragma once

#include "session.h"

typedef struct Departure {
        const char *path;
        int64_t
            served; /* the directory is to remember that everybody up to here is through; or -1 */
        bool empty_directory; /* delete it too, if nobody is in it */
} Departure;

/* Of a sweep, which does one thing after another (lock-sweep.c). */
typedef struct RemovalEvents {
        /* Who asks from now on is answered as things are (lock-barrier.h). */
        void (*current)(void *userdata);
        /* A contender stands there, whosesoever it is. */
        void (*found)(const char *path, void *userdata);
        /* It is done, or tried again only after a while: the next may begin. Told once. */
        void (*yields)(void *userdata);
        /* It is over. The last, after `yields`. */
        void (*over)(void *userdata);
} RemovalEvents;

void contender_delete(Session *session, const Departure *departure);
/* Only if it belongs to this session: another's may protect something still. */
void contender_delete_if_ours(Session *session, const char *path);
/* Finds and deletes whatever carries the uuid. */
void contender_search_and_delete(Session *session, const char *directory, const char *uuid);
/* Deletes the single node of that directory if it is the one of that czxid; 0: if it carries the
 * uuid, or, where there is none ("", or written over), if no live set made it. */
void single_delete(Session *session, const char *directory, const char *uuid, int64_t czxid);

/* Looks through a directory, and tells what stands there. `current`: that was told before. `events`
 * lives longer than the search. Return: whether it has begun: not without a session. */
bool orphans_search(Session *session, const char *directory, bool current,
                    const RemovalEvents *events, void *userdata);
/* Deletes what stands there if it belongs to this session and to no LockSet. Return: as above. */
bool orphan_delete(Session *session, const char *path, const RemovalEvents *events, void *userdata);

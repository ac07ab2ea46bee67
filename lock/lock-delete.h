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

void contender_delete(Session *session, const Departure *departure);
/* Only if it belongs to this session: another's may protect something still. */
void contender_delete_if_ours(Session *session, const char *path);
/* Finds and deletes whatever carries the uuid. */
void contender_search_and_delete(Session *session, const char *directory, const char *uuid);
/* Deletes the single node of that directory if it is the one of that czxid; 0: if it carries the
 * uuid, or, where there is none ("", or written over), if no live set made it. */
void single_delete(Session *session, const char *directory, const char *uuid, int64_t czxid);

/* Who hears of a session's events, its owner last. See session-listen.c. */
#pragma once

#include "session.h"

typedef struct SessionListeners {
        Session *session; /* weak: its owner; that of which they are told */
        SessionEventFunc func;
        void *userdata;
        GPtrArray *array; /* of SessionListener */
        unsigned emitting;
} SessionListeners;

void session_listeners_init(SessionListeners *listeners, Session *session, SessionEventFunc func,
                            void *userdata);
/* The tokens stay their owners' to free, but for those that were given back during an event. Also
 * from inside an event. */
void session_listeners_drop(SessionListeners *listeners);
void session_listeners_clear(SessionListeners *listeners);
int session_listeners_add(SessionListeners *listeners, SessionEventFunc func, void *userdata,
                          SessionListener **ret_listener);
void session_listeners_tell(SessionListeners *listeners, SessionEvent event);

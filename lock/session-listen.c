/* Events of a session: who is told, in which order, and what may happen while they are told
 * (anything: listeners come and go, and the session itself may be freed). */
#include <errno.h>

#include "session-private.h"

struct SessionListener {
        Session *session;      /* weak; NULL once it is gone */
        SessionEventFunc func; /* NULL once unlistened from inside an event */
        void *userdata;
};

void session_unref(Session *session) {
        if (--session->refs > 0)
                return;
        g_ptr_array_unref(session->listeners);
        g_free(session);
}

static void purge(Session *session) {
        for (guint i = session->listeners->len; i-- > 0;) {
                SessionListener *listener = session->listeners->pdata[i];

                if (!listener->func) {
                        g_ptr_array_remove_index(session->listeners, i);
                        g_free(listener);
                }
        }
}

void session_emit_to_listeners(Session *session, SessionEvent event) {
        guint known = session->listeners->len; /* those that come meanwhile wait for the next */

        session->emitting++;
        /* When one of them frees the session, the others are told from there, and the array is
         * empty. */
        for (guint i = 0; i < MIN(known, session->listeners->len); i++) {
                SessionListener *listener = session->listeners->pdata[i];

                if (listener->func)
                        listener->func(session, event, listener->userdata);
        }
        if (--session->emitting == 0)
                purge(session);
}

bool session_emit(Session *session, SessionEvent event) {
        bool alive;

        session->refs++;
        session_emit_to_listeners(session, event);
        if (!session->freed && session->func)
                session->func(session, event, session->userdata);
        alive = !session->freed;
        session_unref(session);
        return alive;
}

int session_listen(Session *session, SessionEventFunc func, void *userdata,
                   SessionListener **ret_listener) {
        SessionListener *listener;

        if (!func)
                return -EINVAL;
        listener = g_new0(SessionListener, 1);
        listener->session = session;
        listener->func = func;
        listener->userdata = userdata;
        g_ptr_array_add(session->listeners, listener);
        *ret_listener = listener;
        return 0;
}

SessionListener *session_unlisten(SessionListener *listener) {
        if (!listener)
                return NULL;
        if (listener->session && listener->session->emitting > 0) {
                listener->func = NULL;
                return NULL;
        }
        if (listener->session)
                g_ptr_array_remove(listener->session->listeners, listener);
        g_free(listener);
        return NULL;
}

/* The tokens stay their owners' to free, but for those that were given back during an event. */
void session_listeners_free(Session *session) {
        for (guint i = 0; i < session->listeners->len; i++) {
                SessionListener *listener = session->listeners->pdata[i];

                if (listener->func)
                        listener->session = NULL;
                else
                        g_free(listener);
        }
        g_ptr_array_set_size(session->listeners, 0);
}

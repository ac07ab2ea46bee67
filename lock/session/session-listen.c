/* Events of a session: who is told, in which order, and what may happen while they are told
 * (anything: listeners come and go, and the session itself may be freed). */
#include "session-listen.h"

#include <errno.h>

struct SessionListener {
        SessionListeners *listeners; /* weak; NULL once they are gone */
        SessionEventFunc func;       /* NULL once unlistened from inside an event */
        void *userdata;
};

void session_listeners_init(SessionListeners *listeners, Session *session, SessionEventFunc func,
                            void *userdata) {
        *listeners = (SessionListeners){
            .session = session, .func = func, .userdata = userdata, .array = g_ptr_array_new()};
}

static void listeners_purge(SessionListeners *listeners) {
        for (guint i = listeners->array->len; i-- > 0;) {
                SessionListener *listener = listeners->array->pdata[i];

                if (!listener->func) {
                        g_ptr_array_remove_index(listeners->array, i);
                        g_free(listener);
                }
        }
}

void session_listeners_tell(SessionListeners *listeners, SessionEvent event) {
        guint known = listeners->array->len; /* those that come meanwhile wait for the next */

        listeners->emitting++;
        /* When one of them frees the session, the others are told from there, and the array is
         * empty. */
        for (guint i = 0; i < MIN(known, listeners->array->len); i++) {
                SessionListener *listener = listeners->array->pdata[i];

                if (listener->func)
                        listener->func(listeners->session, event, listener->userdata);
        }
        if (--listeners->emitting == 0)
                listeners_purge(listeners);
}

int session_listeners_add(SessionListeners *listeners, SessionEventFunc func, void *userdata,
                          SessionListener **ret_listener) {
        SessionListener *listener;

        if (!func)
                return -EINVAL;
        listener = g_new0(SessionListener, 1);
        listener->listeners = listeners;
        listener->func = func;
        listener->userdata = userdata;
        g_ptr_array_add(listeners->array, listener);
        *ret_listener = listener;
        return 0;
}

SessionListener *session_unlisten(SessionListener *listener) {
        if (!listener)
                return NULL;
        if (listener->listeners && listener->listeners->emitting > 0) {
                listener->func = NULL;
                return NULL;
        }
        if (listener->listeners)
                g_ptr_array_remove(listener->listeners->array, listener);
        g_free(listener);
        return NULL;
}

void session_listeners_drop(SessionListeners *listeners) {
        for (guint i = 0; i < listeners->array->len; i++) {
                SessionListener *listener = listeners->array->pdata[i];

                if (listener->func)
                        listener->listeners = NULL;
                else
                        g_free(listener);
        }
        g_ptr_array_set_size(listeners->array, 0);
}

void session_listeners_clear(SessionListeners *listeners) {
        g_clear_pointer(&listeners->array, g_ptr_array_unref);
}

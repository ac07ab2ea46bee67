/* A session: one Zk after another, a heartbeat, and the deadline.
 *
 * The session connects, and connects again with a new ZooKeeper session when the old one is lost,
 * until it is closed. It sends a heartbeat (zoo_async) every period and remembers when the last one
 * that was answered had been sent; from that follows the deadline D (deadline.h). Locks are ours
 * only before D, whatever the library believes. At D - K it reports SESSION_EVENT_STOP (the owner
 * must begin to stop what its locks protect), at D it reports SESSION_EVENT_LOST, discards the
 * handle and starts anew, also when the old ZooKeeper session could have been resumed.
 *
 * The deadline counts with the servers' tick, and a tick that is configured shorter than theirs
 * would make it too late. So at each connection the server is asked: a second, short-lived session
 * asks for 2 of the configured ticks, and of what it is granted, which is no less than the servers'
 * minSessionTimeout (2 of their ticks by default), half counts as their tick where that is longer;
 * the log has a line then (LOG_WARNING). Where the sum leaves too little with it, the session is
 * refused (SESSION_EVENT_FAULT). CONNECTED, ATTACHED and RESUMED wait for the answer, some
 * milliseconds; when there is none within 2 s, what is known already counts, or else the configured
 * tick, and the log says so.
 *
 * With a state file the session's id and password are kept there (mode 0600), so that a restarted
 * process attaches to the same session: see session_detach(). The deadline is kept there as well,
 * and stays in force: until the first good heartbeat of the new process the locks are certain only
 * as long as they were for the process before it. So a process that found such a file reports STOP
 * and LOST at the old D - K and D, at once where they have passed, unless it has reported ATTACHED
 * by then; it reports LOST as well when a server says that the session has expired.
 */
#pragma once

#include <glib.h>

#include "deadline.h"
#include "zk.h"

typedef struct Session Session;

typedef struct SessionOptions {
        const char *servers;
        usec_t session_timeout;
        DeadlineRule rule;
        const char *auth;       /* see ZkOptions; may be NULL */
        const char *state_file; /* NULL: keep nothing */
        const char *identity;   /* one line, or NULL: a state file of another one is ignored */
        /* May be NULL. The library's own lines come at LOG_DEBUG. */
        void (*log)(int priority, const char *message, void *userdata);
        /* May be NULL. The deadline of a session that is established, or is about to be reported
         * so, has moved: before anybody is told of it, and before the state file has it. Nothing
         * may be done to the session in it. */
        void (*moved)(void *userdata);
        void *moved_userdata;
} SessionOptions;

typedef enum SessionEvent {
        SESSION_EVENT_CONNECTED, /* a new ZooKeeper session: nothing of ours exists in it yet */
        SESSION_EVENT_ATTACHED, /* the session of the state file lives on: ephemerals of the process
                                   before us are ours */
        SESSION_EVENT_SUSPENDED, /* no server at the moment; locks stay ours until the deadline */
        SESSION_EVENT_RESUMED,   /* the same session goes on */
        SESSION_EVENT_STOP,  /* D - K passed without a good heartbeat. May be followed by RESUMED */
        SESSION_EVENT_LOST,  /* D passed, or a server said "expired". Every lock and ephemeral of
                                this session is gone for us.  Sent before the new session connects;
                                requests return -ENOTCONN until then */
        SESSION_EVENT_FAULT, /* cannot connect (address does not resolve, nobody answers, auth
                                failed, the negotiated timeout leaves no room): session_fault() is
                                the sentence; sent once a cause, retrying goes on */
        SESSION_EVENT_CLOSED, /* after session_close() */
} SessionEvent;
typedef void (*SessionEventFunc)(Session *session, SessionEvent event, void *userdata);

typedef enum SessionState {
        SESSION_CONNECTING, /* no session at present */
        SESSION_CONNECTED,
        SESSION_SUSPENDED,
        SESSION_CLOSED,
} SessionState;

/* Begins connecting. Options are copied. `func` is never called from inside a session_*() function.
 * Further listeners (lock/ itself) register with session_listen(). Return: 0; -EINVAL for a rule
 * without a heartbeat or a tick, or for options that zk_connect() refuses; negative errno. */
int session_new(sd_event *event, const SessionOptions *options, SessionEventFunc func,
                void *userdata, Session **ret_session);

/* Frees it; an open ZooKeeper session is abandoned (lives on at the server until its timeout).
 * Listeners that are still registered (not `func`) get SESSION_EVENT_CLOSED first, from inside this
 * function, so that what belongs to the session is freed with it. */
Session *session_free(Session *session);
DEFINE_CLEANUP(Session, session_free);

/* Ends the session at the server, deletes the state file, then SESSION_EVENT_CLOSED. At most 5 s,
 * connected or not. */
void session_close(Session *session);

/* Stops all activity but leaves the ZooKeeper session alive at the server and the state file in
 * place, for the next process. At most 5 s, then SESSION_EVENT_CLOSED. */
void session_detach(Session *session);

/* The session is of no use any more, though its server may still know it: SESSION_EVENT_LOST
 * follows from the loop, and then a new session. What stands in it goes once the servers expire it,
 * so that whoever relied on it has ended by then. */
void session_forsake(Session *session);

SessionState session_state(const Session *session);
/* The port of the present session, or NULL while there is none. Valid until SESSION_EVENT_LOST or
 * CLOSED. */
Zk *session_zk(const Session *session);
/* ZooKeeper's id of the present session, 0 while there is none. */
int64_t session_id(const Session *session);
/* D on CLOCK_BOOTTIME; 0 when there is no session. Before the first answer it is that of the
 * process before us, if its state file was found. Always compare with clock_boottime(): "held" is a
 * question about time. */
usec_t session_held_until(const Session *session);
/* D - K on CLOCK_BOOTTIME, likewise. */
usec_t session_stop_at(const Session *session);
/* When the heartbeat was sent that was the last to be answered, on CLOCK_BOOTTIME; 0 when there is
 * no session. */
usec_t session_heard(const Session *session);
/* Return: false while the state file cannot be written, which each good heartbeat tries again. It
 * always is where there is to be none. */
bool session_is_filed(const Session *session);
const char *session_fault(const Session *session);
/* A line for the log that its owner gave with the options. */
void session_say(Session *session, int priority, const char *message);
/* The loop that it was made for. Borrowed. */
sd_event *session_event_loop(const Session *session);
/* What others keep with it (g_datalist_set_data_full and friends; lock/ keeps its live LockSets
 * here), cleared by session_free() after the listeners were told. */
GData **session_data(Session *session);

/* Additional listeners, called before the owner's func and in the order of registration. Listeners
 * may come and go from inside a listener: one that was unlistened is not called any more, and one
 * that came waits for the next event. At SESSION_EVENT_LOST and SESSION_EVENT_CLOSED the old port
 * is still there to free calls and watches of (session_zk() may already be NULL). Return: 0 on
 * success, negative errno. */
typedef struct SessionListener SessionListener;
int session_listen(Session *session, SessionEventFunc func, void *userdata,
                   SessionListener **ret_listener);
SessionListener *session_unlisten(SessionListener *listener);

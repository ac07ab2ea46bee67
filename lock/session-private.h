/* The inside of a session, shared by session.c (states), session-beat.c (heartbeat and deadline),
 * session-probe.c (the servers' tick), session-listen.c (events) and session-file.c (what the next
 * process needs). */
#pragma once

#include <glib.h>

#include "session.h"

/* Nobody answered for so long: say so. */
#define SESSION_SILENCE (3 * USEC_PER_SEC)
/* The same while there is a session to attach to, at first: with the defaults its runs are stopped
 * 8 s after its last heartbeat, so that several hosts can be tried. Doubled each time, or who needs
 * longer to connect would never get through. */
#define SESSION_HURRY (1 * USEC_PER_SEC)
/* Nobody answered for so long: take a fresh handle, and with it a fresh look at the names. */
#define SESSION_PATIENCE (30 * USEC_PER_SEC)
/* Between attempts where the library itself gave up: doubled each time, and shortened at random by
 * up to a half, so that the machines of a cluster do not come back in step. */
#define SESSION_RETRY_FIRST (500 * USEC_PER_MSEC)
#define SESSION_RETRY_MAX (10 * USEC_PER_SEC)
/* Closing tells the server, which may not answer. */
#define SESSION_CLOSE_LIMIT (5 * USEC_PER_SEC)
/* So long a new session is held back, at most, for the answer about the servers' tick. Shorter than
 * SESSION_SILENCE. */
#define SESSION_PROBE_LIMIT (2 * USEC_PER_SEC)

typedef enum SessionEnding { ENDING_NOT, ENDING_CLOSE, ENDING_DETACH } SessionEnding;

struct Session {
        unsigned refs; /* the owner's, and one for each emit() on the stack */
        bool freed;
        sd_event *event;
        char *servers;
        char *auth; /* a secret, wiped when freed; or NULL */
        usec_t session_timeout;
        DeadlineRule rule;
        char *state_file, *identity;
        bool filed;   /* the state file is of the present session */
        bool unfiled; /* it could not be written, which was said */
        void (*log)(int priority, const char *message, void *userdata);

        SessionEventFunc func;
        void *userdata;
        GPtrArray *listeners;
        unsigned emitting;
        GData *data;

        SessionState state;
        SessionEnding ending;
        Zk *zk;             /* being connected, or established */
        Zk *unwanted;       /* is being closed because its timeout leaves no room */
        bool established;   /* the first heartbeat of this zk was good: session_zk() gives it */
        ZkSessionId wanted; /* from the state file, until it is attached to or known to be gone; id
                               0: none */
        usec_t inherited_until, inherited_stop_at; /* its D and D - K; 0 when nothing is wanted */
        usec_t hurry;                              /* so long the next attempt to attach may take */
        char *fault;
        usec_t retry_delay;
        sd_event_source *retry;
        sd_event_source *silence;
        sd_event_source *end;

        /* session-beat.c */
        sd_event_source *beat;
        sd_event_source *stop;
        sd_event_source *lost;
        ZkCall *beat_call; /* the one in flight */
        usec_t beat_sent;
        bool doubt;     /* only a write proves that the server still speaks for the quorum */
        bool stopped;   /* STOP was reported, and no RESUMED since */
        usec_t good;    /* when the last good heartbeat was sent, CLOCK_BOOTTIME; 0: none yet */
        usec_t timeout; /* negotiated */
        usec_t until, stop_at; /* D and D - K, once a heartbeat was good */

        /* session-probe.c */
        Zk *probe; /* asks for the least timeout; meanwhile there is no first event */
        sd_event_source *probe_limit;
        usec_t probe_said; /* the least timeout that the log has a line about */
};

/* session.c */
void session_established(Session *session);
/* What can be known of the servers' tick is known: begins, or refuses. May free the session. */
void session_probed(Session *session);
/* Writes down what the next process needs; at every change of the deadline. */
void session_file_it(Session *session);
void session_lose(Session *session);

/* session-listen.c. Return: false when the session was freed meanwhile; it must then not be touched
 * any more. */
bool session_emit(Session *session, SessionEvent event);
void session_emit_to_listeners(Session *session, SessionEvent event);
void session_listeners_free(Session *session);
void session_unref(Session *session);

/* session-beat.c */
/* (Re)arms a one-shot timer; makes it first where *source is NULL. A failure ends the loop: nothing
 * here may go silent. */
void session_arm(Session *session, sd_event_source **source, clockid_t clock, usec_t at,
                 sd_event_time_handler_t func);
/* The library says that it is connected (again): asks for proof at once. */
void session_beat_begin(Session *session);
/* Moves the timers to D and D - K. */
void session_beat_arm(Session *session);
/* The deadline is to be counted with less than before: takes effect at once. With more, it does
 * from the next good heartbeat on. */
void session_beat_recount(Session *session);
/* The connection is gone: what is answered from now on was asked before a gap. */
void session_beat_suspend(Session *session);
/* Asks for a heartbeat at once. */
void session_beat_now(Session *session);
/* Forgets the session that was. */
void session_beat_end(Session *session);

/* session-probe.c */
/* Asks the server that we are connected to, and calls session_probed() when it is through. */
void session_probe_begin(Session *session);
/* The connection is gone: the next one's server will be asked. */
void session_probe_suspend(Session *session);
/* Return: whether the answer is still awaited. */
bool session_probe_waits(const Session *session);
/* Forgets the question and the answer. */
void session_probe_end(Session *session);

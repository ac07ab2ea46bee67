/* The heartbeat of a session, and its deadline. See session-beat.c. */
#pragma once

#include "deadline.h"
#include "zk.h"

typedef enum BeatNews {
        BEAT_GOOD,       /* one was answered: session_beat_count() makes it count */
        BEAT_STOP,       /* D - K has passed; may be told again */
        BEAT_LOST,       /* D has passed */
        BEAT_LATE,       /* the first, so late that the session is to be asked for anew */
        BEAT_LATE_AGAIN, /* that, too: for a while none counts */
} BeatNews;

/* `sent`: when the good one was, CLOCK_BOOTTIME. Anything may be done in it. */
typedef void (*SessionBeatFunc)(BeatNews news, usec_t sent, void *userdata);

typedef struct SessionBeat {
        sd_event *event;          /* weak */
        const DeadlineRule *rule; /* weak */
        SessionBeatFunc func;
        void *userdata;
        Zk *zk; /* weak: where it beats; NULL while it does not */
        sd_event_source *timer, *stop, *lost;
        ZkCall *call; /* the one in flight */
        usec_t sent;
        usec_t counts_from; /* CLOCK_BOOTTIME: none counts that was sent before; 0: they do */
        bool late;          /* the session was granted late, and none has counted since */
        bool doubt;         /* only a write proves that the server still speaks for the quorum */
        usec_t good;    /* when the last one that counts was sent, CLOCK_BOOTTIME; 0: none yet */
        usec_t timeout; /* negotiated */
        usec_t until, stop_at; /* D and D - K; 0 while there is none */
} SessionBeat;

void session_beat_init(SessionBeat *beat, sd_event *event, const DeadlineRule *rule,
                       SessionBeatFunc func, void *userdata);
/* The deadline of the process before us is in force, until the first of ours that counts. It does
 * not depend on how our attempts fare. */
void session_beat_inherit(SessionBeat *beat, usec_t until, usec_t stop_at);
/* There is no such deadline any more. */
void session_beat_disinherit(SessionBeat *beat);
/* The library says that it is connected (again): asks for proof at once. */
void session_beat_begin(SessionBeat *beat, Zk *zk);
/* Asks for one at once. */
void session_beat_now(SessionBeat *beat);
/* A heartbeat that was sent then proves that the session was alive then: moves the deadline. */
void session_beat_count(SessionBeat *beat, usec_t sent);
/* The deadline is to be counted with less than before: takes effect at once. With more, it does
 * from the next good heartbeat on. */
void session_beat_recount(SessionBeat *beat);
/* The deadline is now. */
void session_beat_forsake(SessionBeat *beat);
/* The connection is gone: what is answered from now on was asked before a gap. */
void session_beat_suspend(SessionBeat *beat);
/* Forgets the session that was. */
void session_beat_end(SessionBeat *beat);

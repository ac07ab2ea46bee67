/* What becomes of one attempt to hold something: the lowest part of the recipes, to which all
 * others report. See lock-outcome.c. */
#pragma once

#include "lock.h"

/* What follows from that is its owner's. */
typedef struct OutcomeFuncs {
        void (*tell)(LockEvent event, void *userdata); /* from the loop, the last thing done */
        void (*retry)(void *userdata); /* what was lost is to be sent again; connected */
        void (*watch)(void *userdata); /* our own contenders are to be watched by now */
        void (*held)(void *userdata);  /* one of its places is ours */
        void (*down)(void *userdata);  /* one of its places is shared from now on */
} OutcomeFuncs;

typedef enum OutcomeAim {
        OUTCOME_WAIT,
        OUTCOME_TRY,   /* now or not at all: wait 0 */
        OUTCOME_ADOPT, /* it was held, and is to be found so */
} OutcomeAim;

typedef enum OutcomeState {
        OUTCOME_PENDING,
        OUTCOME_HELD,
        OUTCOME_OVER, /* timed out, lost or failed: nothing that still arrives matters */
} OutcomeState;

typedef struct Outcome {
        Session *session; /* weak; NULL once it is over for us */
        const OutcomeFuncs *funcs;
        void *userdata;
        LockOptions options; /* the payload is ours */
        OutcomeAim aim;
        OutcomeState state; /* written by outcome_announce() alone */
        unsigned pending;   /* a bit for each LockEvent that is yet to be told */
        unsigned failures;  /* flights lost since the last answer */
        char *fault;
        sd_event_source *deliver, *timeout, *retry, *watch_later;
        bool sampled;
        usec_t sample_server, sample_sent, sample_received;
} Outcome;

static inline bool outcome_is_held(const Outcome *outcome) {
        return outcome->state == OUTCOME_HELD;
}
static inline bool outcome_is_over(const Outcome *outcome) {
        return outcome->state == OUTCOME_OVER;
}
static inline bool outcome_adopts(const Outcome *outcome) {
        return outcome->aim == OUTCOME_ADOPT;
}

/* Return: 0 or negative errno; in both cases it is to be cleared. */
int outcome_init(Outcome *outcome, Session *session, usec_t wait, const OutcomeFuncs *funcs,
                 void *userdata);
void outcome_clear(Outcome *outcome);
/* Return: until when it is held (CLOCK_BOOTTIME); 0 when it is not. */
usec_t outcome_held_until(const Outcome *outcome);

/* Only takes a note: it is told from the loop. So nothing disappears while it is at work. */
void outcome_announce(Outcome *outcome, LockEvent event);
/* Somebody is before us. Return: whether to wait; else it is over. */
bool outcome_may_wait(Outcome *outcome);
/* It cannot be had, and why. */
void outcome_fail(Outcome *outcome, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What is held cannot be any longer, and why. */
void outcome_lose(Outcome *outcome, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A request was lost: what is stalled is tried again after a pause, or sooner when the session says
 * that it goes on. */
void outcome_stall(Outcome *outcome);
/* A little later, our own contenders are to be watched: a hold of a moment is spared the request.
 */
void outcome_watch_later(Outcome *outcome);
/* Our first contender was made: what that tells of the server's clock. */
void outcome_note_clock(Outcome *outcome, const ZkReply *reply);

/* What has become of a place in one resource, as one table of states × events. Pure: lock-place.c
 * asks the table what follows, and nobody else writes it down.
 */
// clang-format off
/*
 *    IDLE ── queue ──▶ QUEUEING ───────┐
 *     │                 ▲  │           │ wait
 *     │ search   queue  │  │ search    ▼
 *     └────────▶ SEARCHING ◀─┘ ── wait ──▶ WAITING ── hold ──▶ HELD ◀── seen ── STEPPED
 *                  ▲   └──────────── hold ──────────────────▶  │                  ▲
 *           search │                                           │ step             │ stepped
 *                STALLED ◀── stall: from each of the three     └──▶ STEPPING ─────┘
 *                                                          step │    │ step lost
 *                                                             STEP_LOST
 *
 * Not drawn: a release ends each of them in IDLE. A waiting place may search again (there may be a twin,
 * other slots), or, at a single node, create again. A second answer of a lost flight may come while
 * the place is stalled already.
 */
// clang-format on
#pragma once

#include <stdbool.h>

typedef enum PlaceState {
        PLACE_IDLE,      /* not begun, or given back */
        PLACE_QUEUEING,  /* the creation is on its way */
        PLACE_SEARCHING, /* what became of our contender is being asked */
        PLACE_STALLED,   /* an answer was lost: search once connected */
        PLACE_WAITING,   /* in the queue, or for the single node to go */
        PLACE_HELD,
        PLACE_STEPPING,  /* held; the transaction from exclusive to shared is on its way */
        PLACE_STEP_LOST, /* held; that was lost: send it again once connected */
        PLACE_STEPPED,   /* held, and shared by now; the new contender was not seen yet */
        PLACE_STATE_COUNT,
        PLACE_IMPOSSIBLE = PLACE_STATE_COUNT,
} PlaceState;

typedef enum PlaceEvent {
        PLACE_EVENT_QUEUE,  /* our contender is created */
        PLACE_EVENT_SEARCH, /* what stands there is asked for */
        PLACE_EVENT_STALL,  /* an answer was lost */
        PLACE_EVENT_WAIT,   /* an answer tells who is before us */
        PLACE_EVENT_HOLD,   /* nobody is */
        PLACE_EVENT_STEP,   /* down from exclusive to shared is sent */
        PLACE_EVENT_STEP_LOST,
        PLACE_EVENT_STEPPED, /* that was done */
        PLACE_EVENT_SEEN,    /* the contender that it made was read */
        PLACE_EVENT_RELEASE,
        PLACE_EVENT_COUNT,
} PlaceEvent;

/* Return: the state that follows; PLACE_IMPOSSIBLE when that event cannot come in that state. */
PlaceState place_state_after(PlaceState state, PlaceEvent event);

/* Return: whether it is ours. */
bool place_state_is_held(PlaceState state);
/* Return: whether it is on its way from exclusive to shared. */
bool place_state_steps(PlaceState state);

/* Return: a word for messages and tests: "queueing", "step-lost". */
const char *place_state_to_string(PlaceState state);
const char *place_event_to_string(PlaceEvent event);

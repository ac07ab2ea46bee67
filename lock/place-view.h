/* Who is before us in a queue, as far as is known: a list shows all, who goes is struck out, and a
 * deletion is final, so names seen deleted are kept as tombstones. Pure but for the requests and
 * watches that a Sight carries; lock-watch.c sends them.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "zk.h"

typedef struct Place Place;

typedef enum SightState {
        SIGHT_UNASKED,
        SIGHT_ASKED,   /* a request is on its way */
        SIGHT_WATCHED, /* it exists, and a watch will tell when it does no more */
        SIGHT_STALLED, /* the request was lost and with it the watch: ask again once connected */
} SightState;

/* A node on which we keep an eye: our own contender, or one ahead of us. */
typedef struct Sight {
        Place *place; /* weak: owns us */
        char *name;
        int64_t sequence;
        SightState state;
        bool watching; /* the request on its way sets a watch */
        ZkCall *call;
        ZkWatch *watch;
} Sight;

Sight *sight_new(Place *place, const char *name, int64_t sequence);
Sight *sight_free(Sight *sight);

typedef struct PlaceView {
        GPtrArray *ahead; /* of Sight: those before us that matter and are not known to be gone, the
                             nearest last */
        GHashTable *gone; /* names seen deleted: final, whatever an older list still says */
        size_t before;    /* how many there were when the place was given up, for messages */
} PlaceView;

void place_view_init(PlaceView *view);
void place_view_done(PlaceView *view);

/* A list came: what it shows is added from the farthest to the nearest. */
void place_view_begin(PlaceView *view);
void place_view_add(PlaceView *view, Sight *sight);
/* The place is given up: nobody is before us any more, but how many there were is remembered. */
void place_view_give_up(PlaceView *view);

/* That name never comes again. */
void place_view_bury(PlaceView *view, const char *name);
bool place_view_is_buried(const PlaceView *view, const char *name);
/* It is gone; frees it. */
void place_view_strike(PlaceView *view, const Sight *sight);
/* Everybody ahead with a number up to this one is gone. */
void place_view_strike_up_to(PlaceView *view, int64_t sequence);

/* Return: how many are before us. */
size_t place_view_length(const PlaceView *view);
/* Return: how many are before us, or were. */
size_t place_view_told(const PlaceView *view);
/* Return: the nearest (0), the one before it (1) and so on; NULL beyond the last. */
Sight *place_view_nearest(const PlaceView *view, size_t index);
/* What was lost may be asked again. */
void place_view_forget_stalled(PlaceView *view);
/* Return: whether an answer is to come, or to be asked for again, about somebody ahead. */
bool place_view_awaits_any(const PlaceView *view);
/* Return: whether the nearest so many, or all there are, are under watch. */
bool place_view_watches(const PlaceView *view, size_t depth);

/* Our place in one resource: what is known of it, and what its recipe does. See lock-place.c.
 *
 * A LockSet owns Places, one a resource, a Place owns Sights, one a node that it keeps an eye on.
 * Replies and watch events arrive at the object that asked, and freeing that object cancels them,
 * so no callback outlives its object.
 */
#pragma once

#include "lock-barrier.h"
#include "lock-live.h"
#include "lock-make.h"
#include "lock-outcome.h"
#include "place-state.h"
#include "place-view.h"

/* How one resource is taken: in a queue (lock-queue.h), or by a single node (lock-single.h). What
 * the parts of a recipe find, they report by it. */
typedef struct PlaceRecipe {
        int (*begin)(Place *place);  /* sends the first flight. Return: 0 or negative errno */
        int (*search)(Place *place); /* asks for what is current. Return: the same */
        void (*retry)(Place *place); /* connected again: what was lost is sent again */
        /* Something is known that was not: is it our turn? `present`: a list that just came shows
         * our contender and all before it. */
        void (*look)(Place *place, bool present);
        /* A list came that is to hold our contender and everybody before it. */
        void (*listed)(Place *place, const ZkReply *reply);
        void (*erase)(const Place *place); /* deletes the contender, for certain */
} PlaceRecipe;

/* How many may hold it (lock-slots.c). */
typedef struct PlaceSlots {
        ZkCall *call;    /* asks for the directory's, or does something about it */
        bool lost;       /* the answer was: ask again once connected */
        unsigned number; /* 0 while that is not known (adoption) */
        bool leaves;     /* our contender goes, or is gone, with the directory */
        ZkCode code;     /* the directory's answer */
        int32_t version;
        unsigned said; /* by the directory; 0: it says nothing of slots */
        ZkWatch *watch;
} PlaceSlots;

/* The directory's mark, up to which everybody is through (lock-watch.c). */
typedef struct PlaceMark {
        ZkCall *call;
        bool wanted; /* somebody is gone of whom it may tell more */
        bool lost;   /* the answer was: wanted once connected */
} PlaceMark;

/* What we keep an eye on, and how (lock-watch.c). */
typedef struct PlaceWatch {
        Sight *self; /* our own contender */
        PlaceMark mark;
        unsigned doubt;   /* that many beyond those to be watched are to be asked about as well */
        unsigned seen_on; /* the connection on which our own contender was seen last */
} PlaceWatch;

/* What the lists told of the queue (lock-join.c). */
typedef struct PlaceQueue {
        bool waited; /* somebody was before us: others may be behind */
        bool first;  /* nobody kept us waiting when our contender was made */
        bool twins;  /* a writer ahead may leave one: search before taking the lock */
} PlaceQueue;

/* A reason to list again (lock-relist.c; a single node's: lock-single.c). */
typedef struct PlaceRelist {
        LockStrategy strategy; /* how we wait by now */
        ZkWatch *children;     /* of the directory */
        sd_event_source *poll;
} PlaceRelist;

/* What is on its way to get in, and to see who else is there: a creation and a list, a barrier and
 * a list, or a list. At a single node, in place of the list, its data. */
typedef struct PlaceFlight {
        ZkCall *create;
        ZkCode created; /* its answer */
        Barrier barrier;
        ZkCall *read;
} PlaceFlight;

struct Place {
        Outcome *outcome; /* weak: its set's */
        const PlaceRecipe *recipe;
        char *resource; /* the name that it was asked by, or the last component of the directory */
        ContenderKind kind;
        PlaceState state; /* written by place_happen() alone */
        LiveNode node;    /* our contender */
        int64_t token;    /* see lock-token.c; a twin changes it not */
        PlaceFlight flight;
        Making making; /* of the directory */
        PlaceSlots slots;
        PlaceView view;
        PlaceWatch watch;
        PlaceQueue queue;
        PlaceRelist relist;
        ZkCall *step; /* down from exclusive to shared */
};

Place *place_new(Outcome *outcome, const PlaceRecipe *recipe, const char *directory,
                 const char *resource, LockNaming naming, ContenderKind kind);
Place *place_free(Place *place);
/* The session is over for it: cancels, and stands in it no more. */
void place_leave(Place *place);
/* Cancels, and deletes the contender for certain. */
void place_release(Place *place);

/* Goes on to the state that follows; aborts where that event cannot come. */
void place_happen(Place *place, PlaceEvent event);
/* Our contender is the node of that stat. */
void place_identify(Place *place, const ZkStat *stat);
/* The creation of the contender was answered. */
void place_note_created(Place *place, const ZkReply *reply);
/* Our own contender was read; tells a revocation. */
void place_note_data(Place *place, const ZkReply *reply);
/* There is no such contender (any more). */
void place_forget_contender(Place *place);
/* Return: how many may be before us when it is our turn. */
size_t place_allowance(const Place *place);
/* Return: whether the directory's numbers are used up: it is begun anew when nobody is in it. */
bool place_is_used_up(const Place *place);
/* It is ours. */
void place_hold(Place *place);
/* What was sent was lost: searches once connected. */
void place_stall(Place *place);
/* Turns what a request could not be sent for into a fault, but for the end of the session, which is
 * about to be told. */
void place_check(Place *place, int r);

/* Sends the creation of the directory, where a creation in it found none. Return: 0, negative
 * errno. */
int place_make_directory(Place *place, Zk *zk);
/* A creation found no directory: calls `again`, which sends what makes it in the same flight as the
 * creation, unless that was tried too often. */
void place_on_directory_missing(Place *place, int (*again)(Place *place));

static inline Zk *place_zk(const Place *place) {
        return session_zk(place->outcome->session);
}

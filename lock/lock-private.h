/* The inside of the lock recipes. Nobody else includes this.
 *
 *   lock.c            the LockSet, its events, and the essay
 *   lock-barrier.c    how to read what is current
 *   lock-live.c       which sets there are
 *   lock-token.c      the fencing token
 *   lock-hold.c       what one does with a lock that is held: enter again, step down, revoke
 *   lock-queue.c      getting into a queue
 *   lock-join.c       what the list of a queue says
 *   lock-watch.c      waiting in it: the nearest contenders before us
 *   lock-relist.c     waiting in it by listing again: the other strategies
 *   lock-directory.c  what a queue's directory remembers: the mark, the slots
 *   lock-single.c     the older recipe, without a queue
 *   lock-delete.c     getting out for certain
 *   lock-survey.c     who holds and who waits, for people; lock-entry.c, its lines
 *
 * A LockSet owns Places, one a resource, a Place owns Sights, one a node that it keeps an eye on.
 * Replies and watch events arrive at the object that asked, and freeing that object cancels them,
 * so no callback outlives its object. What is decided on the way is announced by set_announce(),
 * which only takes a note; the owner hears of it from an event source of its own. So nothing here
 * disappears while it is at work.
 */
#pragma once

#include <glib.h>

#include "lock.h"

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

typedef enum PlaceState {
        PLACE_IDLE,      /* not begun */
        PLACE_QUEUEING,  /* create and list are on their way */
        PLACE_SEARCHING, /* barrier and list are on their way: what became of our contender? */
        PLACE_STALLED,   /* either was lost: search once connected */
        PLACE_WAITING,   /* in the queue */
        PLACE_HELD,
} PlaceState;

/* Our place in one resource's queue. */
struct Place {
        LockSet *set; /* weak: owns us */
        char *directory;
        char *resource; /* the name that it was asked by, or the last component of the directory */
        LockNaming naming;
        ContenderKind kind;
        unsigned slots; /* of a SLOT: how many there are; 0 while that is not known (adoption) */
        PlaceState state;
        char *uuid;
        char *contender; /* absolute path, NULL until known */
        int64_t czxid;   /* of the contender, 0 until known */
        int64_t token;   /* see lock-token.c; a twin changes it not */
        int64_t sequence;

        ZkCall *create, *list, *make, *barrier, *step;
        bool current;       /* the answer to `barrier` came: what was asked after it is current */
        ZkCode created;     /* the answer to `create` */
        ZkCode made;        /* the answer to `make`, the creation of the directory */
        unsigned attempts;  /* creations that found no directory */
        bool no_containers; /* the server does not know them */
        bool unsure; /* a creation's outcome was unknown: more than one contender may carry our
                        uuid */
        bool waited; /* somebody was before us: others may be behind */
        bool first;  /* nobody kept us waiting when our contender was made */
        unsigned replaced; /* the number of slots that we wrote ours over, until nobody counts with
                              it */
        bool used_up;      /* the directory's numbers are: begin it anew when it is empty */
        bool stepping;     /* down from exclusive to shared */

        Sight *self;      /* our own contender */
        GPtrArray *ahead; /* of Sight: those before us that matter and are not known to be gone, the
                             nearest last */
        GHashTable *gone; /* names seen deleted: final, whatever an older list still says */
        unsigned doubt;   /* that many beyond those to be watched are to be asked about as well */
        size_t before;    /* length of `ahead` when the place was given up, for messages */
        bool by_list;     /* somebody ahead cannot be watched */
        unsigned seen_on; /* the connection on which our own contender was seen last */
        bool look_twice;  /* a writer ahead may leave a twin: search before taking the lock */

        /* lock-relist.c */
        ZkWatch *children;
        sd_event_source *poll;

        /* lock-directory.c */
        ZkCall *read; /* of its data, or its declaration; a single node's own */
        ZkWatch *data_watch;
        bool mark_wanted; /* somebody is gone of whom it may tell more */
        bool read_lost;   /* ask again once connected */
        ZkCode data_code; /* the answer to `read` */
        int32_t data_version;
        unsigned data_slots; /* 0: it says nothing of slots */
};

struct LockSet {
        Session *session; /* weak; NULL once it is over for us */
        SessionListener *listener;
        LockSetFunc func;
        void *userdata;
        GPtrArray *places; /* of Place, in canonical order */
        size_t n_held;     /* that many of them, from the front, are ours */
        GPtrArray *paths;  /* of borrowed paths, NULL-terminated */
        char *payload;
        LockStrategy strategy;
        int64_t sequence_max;
        bool persistent;
        bool may_downgrade;
        bool revocable;
        bool fresh_token;
        bool try_only; /* wait 0 */
        bool adopting;
        unsigned entries; /* beyond the first */
        bool held;
        bool over;        /* timed out, lost or failed: nothing that still arrives matters */
        unsigned pending; /* a bit for each LockEvent that the owner is yet to hear */
        char *fault;
        unsigned failures; /* flights lost since the last answer */
        sd_event_source *deliver, *timeout, *retry, *watch_later;
        ZkCall *token_call;
        int64_t token; /* drawn when all was held, or 0 */
        bool sampled;
        usec_t sample_server, sample_sent, sample_received;
};

/* lock.c: what a Place tells its set. None of them frees anything. */
void set_announce(LockSet *set, LockEvent event);
void set_fail(LockSet *set, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What is held cannot be any longer, and why. */
void set_lose(LockSet *set, const char *format, ...) __attribute__((format(printf, 2, 3)));
void set_on_place_held(LockSet *set);
/* A request was lost: everything stalled is tried again after a pause, or sooner when the session
 * says that it goes on. */
void set_stall(LockSet *set);
void set_refresh_paths(LockSet *set);
/* Sees to it that the contenders of places that are held are under watch, a little later: who holds
 * a lock for a moment is spared the request. */
void set_watch_later(LockSet *set);
/* Return: how long to wait after that many failures: exponential, with jitter. */
usec_t lock_backoff(unsigned failures);
/* A callback for requests whose answer a later one of the same flight tells. */
void lock_on_ignored(const ZkReply *reply, void *userdata);

/* lock-live.c */
void live_set_add(LockSet *set);
void live_set_remove(LockSet *set);
/* Return: whether a live LockSet of the session made the contender at `path`. */
bool lock_is_owned(Session *session, const char *path);
/* A single node of the session that was read. */
typedef struct SingleNode {
        const char *directory;
        const char *uuid; /* NULL where its data was written over */
        int64_t czxid;
} SingleNode;
/* Return: whether a place of a live LockSet, other than this one (or NULL), made it, or may have.
 */
bool lock_is_owned_single(Session *session, const SingleNode *node, const Place *except);

/* lock-token.c: everything is held; announces it, once there is a token. */
void set_draw_token(LockSet *set);

/* lock-hold.c */
void place_step_down(Place *place);
/* Our own contender was read; tells a revocation. */
void place_note_data(Place *place, const ZkReply *reply);

/* lock-barrier.c: sends what makes the answers to later requests of this connection current.
 * Return: as zk_multi(). */
int barrier_send(Zk *zk, const char *path, ZkReplyFunc func, void *userdata, ZkCall **ret_call);
/* Return: whether that answer is one: what follows it is current. */
bool barrier_is_done(const ZkReply *reply);

/* lock-queue.c */
Place *place_new(LockSet *set, const char *directory, const char *resource, LockNaming naming,
                 ContenderKind kind);
/* Cancels what is on its way; contenders stay where they are. */
void place_cancel(Place *place);
Place *place_free(Place *place);
/* Sends the creation and the list, or, where the set adopts, the search. Return: 0 once sent,
 * negative errno. */
int place_begin(Place *place);
/* Looks by a list that is current whether and where our contender stands. */
int place_search(Place *place);
void place_retry(Place *place);
void place_stall(Place *place);
/* Turns what a request could not be sent for into a fault of the set, but for the end of the
 * session, which is about to be told. */
void place_check(Place *place, int r);
/* A creation found no directory: makes it, and calls `again` (in the same flight as the creation),
 * unless that was tried too often. */
void place_on_directory_missing(Place *place, int (*again)(Place *place));
/* Sends the creation of the directory if a creation found none. Return: 0, negative errno. */
int place_make_directory(Place *place, Zk *zk);
/* Our contender is the node of that stat. */
void place_identify(Place *place, const ZkStat *stat);
/* There is no such contender (any more). */
void place_forget_contender(Place *place);
/* The contender is made: what the answer tells of it. */
void place_note_created(Place *place, const ZkReply *reply);
/* Return: newly allocated (g_free), what our contender has in it. */
char *place_data(const Place *place);
void place_on_barrier(const ZkReply *reply, void *userdata);
/* Cancels, and deletes the contender for certain. */
void place_release(Place *place);

/* lock-join.c */
/* A list came that is to hold our contender and everybody before it. */
void place_on_own_list(Place *place, const ZkReply *reply);
/* Return: how many may be before us when it is our turn. */
size_t place_allowance(const Place *place);
/* Grants the lock if nobody keeps us waiting, else waits as the strategy says. `present`: a list
 * that just came shows our contender and all before it. */
void place_look(Place *place, bool present);
void place_hold(Place *place);

/* lock-watch.c */
Sight *sight_new(Place *place, const char *name, int64_t sequence);
Sight *sight_free(Sight *sight);
/* Asks about our own contender, and watches it. */
void place_watch_self(Place *place);
/* Return: whether our own contender is known to stand, and a watch will tell when it does not;
 * else that is asked for. */
bool place_self_stands(Place *place);
/* Sees to it that the nearest ahead are watched. */
void place_watch_ahead(Place *place);
/* Everybody ahead with a number up to this one is gone. */
void place_strike(Place *place, int64_t sequence);
void place_retry_sights(Place *place);

/* lock-relist.c */
/* Asks for the queue, with the watch that the place's way of waiting needs. `func` begins with
 * place_list_came(). Return: 0 once sent, negative errno. */
int place_send_list(Place *place, Zk *zk, ZkReplyFunc func);
void place_list_came(Place *place, const ZkReply *reply);
/* Waits for a reason to list again. */
void place_await_list(Place *place);

/* lock-directory.c */
/* Return: newly allocated (g_free), what a new directory of the place remembers. */
char *directory_data(const Place *place);
/* Return: newly allocated (g_free), what says that everybody up to that number has been served. */
char *directory_mark(int64_t sequence);
/* Asks for the mark, unless there is no point in it. Return: whether it is on its way. */
bool place_ask_mark(Place *place);
/* Asks how many slots there are. Return: 0 once sent, negative errno. */
int place_ask_slots(Place *place, Zk *zk);
/* `alone`: nobody else is in the queue. Return: whether the directory's slots are known and ours;
 * else something was done about it, or the set has failed. */
bool place_slots_agree(Place *place, bool alone);
/* As `text` says of a directory, see lock-survey.c: 0 when it says nothing. */
unsigned directory_slots(const char *text, size_t size);

/* lock-single.c */
#define SINGLE_NODE_NAME "lock"
int single_begin(Place *place);
/* Return: as place_data(). */
char *single_data(const Place *place);
int single_search(Place *place);
void single_await(Place *place);
/* Return: newly allocated (g_free), who made this node, from its data; NULL when it is none of
 * ours. */
char *single_uuid(const char *data, size_t size);

/* lock-delete.c: all of this lives on by itself until it is done or the session is over. */
typedef struct Departure {
        const char *path;
        int64_t
            served; /* the directory is to remember that everybody up to here is through; or -1 */
        bool empty_directory; /* delete it too, if nobody is in it */
} Departure;
void contender_delete(Session *session, const Departure *departure);
/* Only if it belongs to this session: another's may protect something still. */
void contender_delete_if_ours(Session *session, const char *path);
/* Finds and deletes whatever carries the uuid. */
void contender_search_and_delete(Session *session, const char *directory, const char *uuid);
/* Deletes the single node of that directory if it is the one of that czxid; 0: if it carries the
 * uuid, or, where there is none ("", or written over), if no live set made it. */
void single_delete(Session *session, const char *directory, const char *uuid, int64_t czxid);

/* Locks over ZooKeeper: exclusive, shared, and of several slots; fair; shared with Curator, kazoo
 * and older programs where these are told apart by a naming. The recipe is explained at the top of
 * lock-set.c, what it promises in README.md.
 *
 * A LockSet is one attempt to hold one or several resources together, all or none, taken in
 * canonical order (by name) under one overall wait. Outcomes are events that the owner gets from
 * the loop, never from inside a lock_*() function.
 */
#pragma once

#include "contender.h"
#include "session.h"

typedef struct LockSet LockSet;

#define LOCK_RESOURCE_LENGTH_MAX 255

typedef struct LockRequest {
        const char *resource; /* becomes a child of LockOptions.parent: any name that a znode can
                                 have, on one line, at most LOCK_RESOURCE_LENGTH_MAX bytes */
        LockMode mode;
        unsigned slots; /* 0 or 1: a lock; else so many may hold it at a time (naming curator-rw,
                           mode exclusive) */
        LockNaming naming;
        const char *path; /* the directory, where it does not stand under LockOptions.parent; or
                             NULL */
} LockRequest;

/* How a waiter learns that it is its turn. PREDECESSOR is the one to use; the others exist to be
 * compared with it (tests/bench). */
typedef enum LockStrategy {
        LOCK_STRATEGY_PREDECESSOR, /* a watch on those immediately before */
        LOCK_STRATEGY_PARENT,      /* a watch on the directory: everybody wakes up each time */
        LOCK_STRATEGY_POLL,        /* a list every second */
} LockStrategy;

typedef struct LockOptions {
        const char *parent;  /* the znode under which resources stand, for example /jobkeeper/locks.
                                Must exist, or its parents are made */
        const char *payload; /* the contender's data, one line, for people who ask what holds:
                                may be NULL */
        usec_t wait; /* overall, CLOCK_MONOTONIC: 0 = try, USEC_INFINITY = as long as it takes */
        bool persistent; /* resources that are made are persistent instead of containers */
        LockStrategy strategy;
        bool may_downgrade;   /* lock_set_downgrade() will be allowed; costs those that wait a list
                                 of the queue at our release (contender.h, "Twins") */
        bool revocable;       /* wants to hear LOCK_EVENT_REVOKED */
        bool fresh_token;     /* see lock_set_fencing_token(); one more write after a wait */
        int64_t sequence_max; /* refuse larger numbers; 0: CONTENDER_SEQUENCE_MAX */
} LockOptions;

typedef enum LockEvent {
        LOCK_EVENT_HELD,
        LOCK_EVENT_TIMEOUT,    /* not had in time (or at once, for wait 0); our contenders are being
                                  deleted and nothing is left */
        LOCK_EVENT_LOST,       /* the session is past its deadline, or our contender was deleted by
                                  somebody: not ours (any more). What is left of several stays until
                                  lock_set_free(): stop first what they protect */
        LOCK_EVENT_FAILED,     /* cannot be had: lock_set_fault() says why (no rights, a foreign
                                  contender, other slots, sequence overflow); nothing is left */
        LOCK_EVENT_REVOKED,    /* somebody asks us to let go (lock_revoke(), or Curator's Revoker).
                                  Still held; nothing follows from it by itself */
        LOCK_EVENT_DOWNGRADED, /* lock_set_downgrade() is done: held, and shared from now on */
} LockEvent;
typedef void (*LockSetFunc)(LockSet *set, LockEvent event, void *userdata);

/* Queues for all the requests (copied; each directory at most once). The create and the list of the
 * first resource leave in this call, so a request sent right after it through session_zk() travels
 * in the same flight. Return: 0 once queued; -ENOTCONN when there is no session; -EINVAL on an
 * empty, repeated or malformed request, or where a naming has no such mode or no slots; negative
 * errno on a fault. */
int lock_set_acquire(Session *session, const LockRequest *requests, size_t n_requests,
                     const LockOptions *options, LockSetFunc func, void *userdata,
                     LockSet **ret_set);

/* Takes over contenders that a process before us made in the session we are attached to, and held.
 * Paths are absolute; each must exist and be owned by the session and have nobody before it (one of
 * several slots need only stand: there may be fewer by now): HELD if so, LOST otherwise, with
 * lock_set_fault() where there is a reason to give (lock_set_free() then deletes those that are
 * ours). Of the options (NULL: none) `revocable` and `fresh_token` count, which should be those
 * that they were acquired with, and `payload`; without that, what stands there is kept. Return: 0;
 * -EINVAL when a path is no contender's; -ENOTCONN; negative errno on a fault. */
int lock_set_adopt(Session *session, const char *const *paths, const LockOptions *options,
                   LockSetFunc func, void *userdata, LockSet **ret_set);

/* Hands the set's events to another owner from now on. NULL is allowed as a set. */
void lock_set_set_func(LockSet *set, LockSetFunc func, void *userdata);

/* Reentrance: holds what is held once more; so many more lock_set_free() are needed to let go.
 * Return: how many times it is held now; -ENOLCK when it is not held; -EDEADLK for an upgrade
 * (exclusive, while it is held shared or steps down to it): it would wait for itself. */
int lock_set_enter(LockSet *set, LockMode mode);

/* Gives up: contenders are deleted (until the answer is "deleted" or "no such node" or the session
 * is gone), held or still waiting. The deletion goes on by itself after the LockSet is freed. Of a
 * set that was entered again, takes one entry back instead, and it goes on being held (or, once
 * lost, being there for those who still have it). Return: always NULL. */
LockSet *lock_set_free(LockSet *set);
DEFINE_CLEANUP(LockSet, lock_set_free);

/* As lock_set_free() (of the last entry), but leaves the contenders where they are: somebody else's
 * transaction deletes (or has deleted) them, or the process after us adopts them. */
LockSet *lock_set_forget(LockSet *set);
DEFINE_CLEANUP(LockSet, lock_set_forget);

/* Steps down from exclusive to shared without letting go in between: nothing that waits for it
 * exclusively gets it, all that wait for it shared do. The set must have been acquired with
 * may_downgrade. LOCK_EVENT_DOWNGRADED follows, or LOST, with lock_set_fault() where the server
 * refuses. Return: 0; -ENOLCK when it is not held; -EPERM without may_downgrade; -EINVAL when there
 * is nothing exclusive in it, or something whose naming or slots do not know it; -EBUSY when it was
 * entered again, by somebody who may count on its being exclusive; -EINPROGRESS while an earlier
 * one is under way; -ENOTCONN when the session is gone. */
int lock_set_downgrade(LockSet *set);

/* Return: until when (CLOCK_BOOTTIME) it is certainly ours; 0 when it is not held. */
usec_t lock_set_held_until(const LockSet *set);

/* The contenders' absolute paths, NULL-terminated, in the order of acquisition; only those created
 * so far. Borrowed. */
const char *const *lock_set_paths(const LockSet *set);

/* The fencing token: a number that is larger than that of everybody who held the resource
 * exclusively before, and smaller than that of everybody who will. With `fresh_token` it is drawn
 * once all is held, one for all resources; else it is the czxid of the contender, one for each
 * resource. All who share a resource must do the same (lock-token.c says why). Return: the token; 0
 * when it is not held, and for a set of several resources without `fresh_token`. */
int64_t lock_set_fencing_token(const LockSet *set);
/* Return: as above, for one of several resources by its name; 0 when it is not held or not in it.
 */
int64_t lock_set_fencing_token_of(const LockSet *set, const char *resource);

/* A sample of our clock against the server's, from the creation of our first contender: the
 * server's wall clock (ms precision) then, and our CLOCK_REALTIME when the request was sent and its
 * answer came. Return: false before there is one. */
bool lock_set_clock_sample(const LockSet *set, usec_t *ret_server, usec_t *ret_sent,
                           usec_t *ret_received);

/* The resource that stands in the way, and how many contenders are before us there; "" and 0 when
 * none. For messages. */
const char *lock_set_waiting_for(const LockSet *set, size_t *ret_before);
/* Of those that are held, the resource that was waited for longest, and for how long; "" and 0
 * before the first is. For messages. */
const char *lock_set_waited_for(const LockSet *set, usec_t *ret_wait);
const char *lock_set_fault(const LockSet *set);

/* Asks the holder whose contender stands at `path` to let go: writes "__REVOKE__" to it, as
 * Curator's Revoker does. `func` (may be NULL) gets the answer. Return: 0 once sent; -ENOTCONN
 * without a session; negative errno as zk_set(). */
int lock_revoke(Session *session, const char *path, ZkReplyFunc func, void *userdata);

/* Changes how many slots a resource has (its directory must exist and be in use with slots). Those
 * that wait for one follow it, up and down, whatever they asked for; with fewer, those that hold
 * stay. `func` (may be NULL) gets the answer. Return: 0 once sent; -EINVAL for fewer than 2;
 * -ENOTCONN without a session; negative errno as zk_set(). */
int lock_change_slots(Session *session, const char *directory, unsigned slots, ZkReplyFunc func,
                      void *userdata);

/* How many directories, and contenders found in them, a sweep asks of at a time. */
#define LOCK_SWEEP_UNDER_WAY_MAX 64

/* Deletes contenders of this session that no LockSet owns, in each of the directories (absolute
 * paths): what a process before us left behind while it waited. `keep` are absolute paths to leave
 * alone. Both are copied. Asynchronous, nothing is reported. Return: 0; -ENOTCONN when there is no
 * session. */
int lock_sweep(Session *session, const char *const *directories, const char *const *keep);

/* Return: whether contenders of this session in the directory are still to be deleted: a process
 * that ends before that leaves them behind, where the session lives on. */
bool lock_is_deleting(Session *session, const char *directory);

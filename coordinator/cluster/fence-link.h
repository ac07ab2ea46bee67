/* The link to the fence, by which it follows our session's deadline (fence-protocol.h), and what
 * says whether anything fenced may begin.
 *
 *   ABSENT ── connected ──▶ WAITING ── its greeting ──▶ LINKED, OUTDATED or FOREIGN
 *     ▲                        │                           │
 *     └─────── its end ────────┴───────────────────────────┘
 *
 * Only its greeting makes a link: the socket is there without a fence. One of another version
 * (OUTDATED) guards as well as any; when nothing runs here it is asked to make place for one of
 * ours (LEAVING), and nothing begins until the next is there. Where that is of the very version
 * that was asked, it stays. One that speaks another protocol (FOREIGN) guards nothing.
 *
 * The fence's timers are moved when the session's deadline is, before anybody else hears of that;
 * and at once when it greets. Whose locks the timers follow is kept in a file, for the process
 * after us (fence-arming.h): the instance of the fence and the session.
 */
#pragma once

#include "node.h"

typedef struct FenceLink FenceLink;

/* So long after stopping should begin the fence begins it: we, who know more of what we stop, and
 * remember how it ended, do it first where we can. What ignores SIGTERM is killed no later. */
#define FENCE_LINK_GRACE (500 * USEC_PER_MSEC)

typedef struct FenceLinkEvents {
        /* Something fenced may begin again. */
        void (*open)(void *userdata);
        /* The one that guarded what runs here is gone, and has taken that with it; what has not
         * begun by then may yet, beside the new one, and must not. */
        void (*replaced)(void *userdata);
        /* Return: whether nothing runs here or is about to. */
        bool (*is_idle)(const void *userdata);
        /* Return: whether something of an earlier session may be left here, or may yet begin. */
        bool (*has_past)(const void *userdata);
} FenceLinkEvents;

/* Connects from the loop; the node is given it. `events` lives longer. */
FenceLink *fence_link_new(Node *node, const FenceLinkEvents *events, void *userdata);
/* After the session. */
FenceLink *fence_link_free(FenceLink *link);
DEFINE_CLEANUP(FenceLink, fence_link_free);

/* The session's deadline is another now. */
void fence_link_follow(FenceLink *link);

/* Return: NULL where what begins now is guarded (without a link nobody asks for that: a part that
 * is looked at alone); otherwise why not, a sentence, borrowed. What is
 * to be said of the session is not said here. */
const char *fence_link_fault(const FenceLink *link);
/* Return: the instance of the fence that guards what begins now, borrowed; NULL while none is
 * linked. */
const char *fence_link_instance(const FenceLink *link);

/* Members: who is there, and our rank among them. Watches only: an idle fleet sends no request for
 * them.
 *
 * Nothing here costs more because much happens at once. What changes within MEMBERS_CHANGED_DELAY
 * is told once; a peer that leaves is known by the watch on its own node, so that the list of all
 * is read at most once in MEMBERS_LIST_PERIOD, however many come and go.
 */
#pragma once

#include "member.h"
#include "ranking.h"
#include "registration.h"

#define MEMBERS_CHANGED_DELAY (20 * USEC_PER_MSEC)
#define MEMBERS_LIST_PERIOD (500 * USEC_PER_MSEC)

typedef struct Members Members;

typedef struct MembersEvents {
        void (*registered)(void *userdata); /* we are, and all that are listed are known */
        /* `jobs`: only what members say of these (a set) is new; NULL: there may be other ranks for
         * all. */
        void (*changed)(GHashTable *jobs, void *userdata);
        void (*left)(const char *node, void *userdata);
} MembersEvents;

/* `events` lives longer than the members. */
Members *members_new(const Node *node, Tree *tree, Registration *registration,
                     const MembersEvents *events, void *userdata);
Members *members_free(Members *members);
DEFINE_CLEANUP(Members, members_free);

/* We register just now: lists and watches all that are there. */
void members_start(Members *members);
/* The session is gone, and with it all that we knew. */
void members_reset(Members *members);
/* Some answers may have been lost while the session was suspended: asks again for what is missing.
 */
void members_resume(Members *members);
/* Our own node stands there, perhaps anew: tells once the others are known, too. */
void members_self_registered(Members *members);

/* The members whose data is known, sorted by name: Member. Borrowed until the loop runs. */
const GPtrArray *members_list(Members *members);
/* Our rank for jobs among them (ranking.h). Borrowed until the loop runs. */
Ranking *members_ranking(Members *members);
bool members_contains(const Members *members, const char *node);
/* Return: those that were members and left, since we look: node → when (usec_t, CLOCK_REALTIME).
 * Borrowed. */
GHashTable *members_away(const Members *members);
/* Return: whether we are registered, and the list of all was read. */
bool members_registered(const Members *members);

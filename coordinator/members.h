/* Members: our own registration in /nodes, who else is there, and our rank among them. Watches
 * only: an idle fleet sends no request for them.
 *
 * Nothing here costs more because much happens at once. What changes within MEMBERS_CHANGED_DELAY
 * is told once; our own node is written at most once in MEMBERS_PUBLISH_PERIOD, with all that
 * changed meanwhile; a peer that leaves is known by the watch on its own node, so that the list of
 * all is read at most once in MEMBERS_LIST_PERIOD, however many come and go.
 */
#pragma once

#include "coordinator.h"
#include "member.h"
#include "ranking.h"

#define MEMBERS_CHANGED_DELAY (20 * USEC_PER_MSEC)
#define MEMBERS_PUBLISH_PERIOD (1 * USEC_PER_SEC)
#define MEMBERS_LIST_PERIOD (500 * USEC_PER_MSEC)

Members *members_new(Coordinator *coordinator);
Members *members_free(Members *members);
DEFINE_CLEANUP(Members, members_free);

/* The tree is there: registers us, lists and watches the others; coordinator_registered() once both
 * are through. */
void members_start(Members *members);
/* The session is gone, and with it all that we knew. */
void members_reset(Members *members);
/* Some answers may have been lost while the session was suspended: asks again for what is missing.
 */
void members_resume(Members *members);

/* What our node says of itself changed (unfit jobs, skew): writes it soon, if it differs from what
 * is written. */
void members_publish(Members *members);
/* Says why this node cannot run a job; NULL: it can. Publish afterwards. */
void members_set_unfit(Members *members, const char *job, const char *why);
/* Says whether a job left this node's files, which is no want of anything: others may have it. */
void members_set_absent(Members *members, const char *job, bool absent);
/* Says whether the definition of a job here is another than the one in force. Publish afterwards.
 */
void members_set_drifted(Members *members, const char *job, bool drifted);
void members_set_skewed(Members *members, bool skewed);
/* Return: why this node cannot run the job, or NULL. Borrowed. */
const char *members_unfit(const Members *members, const char *job);

/* The members whose data is known, sorted by name: Member. Borrowed until the loop runs. */
const GPtrArray *members_list(Members *members);
/* Our rank for jobs among them (ranking.h). Borrowed until the loop runs. */
Ranking *members_ranking(Members *members);
/* Return: how often our own node was put into words so far. */
unsigned members_encoded(const Members *members);
bool members_contains(const Members *members, const char *node);
bool members_registered(const Members *members);
/* Why we cannot register, a sentence; "" otherwise. */
const char *members_fault(const Members *members);

/* Members: our own registration in /nodes, and who else is there. Watches only: an idle fleet sends
 * no request for them. */
#pragma once

#include "coordinator.h"
#include "member.h"

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

/* What our node says of itself changed (unfit jobs, skew): writes it if it differs from what is
 * written. */
void members_publish(Members *members);
/* Writes our own node even if nothing changed, to measure the clock. */
void members_measure(Members *members);
/* Says why this node cannot run a job; NULL: it can. Publish afterwards. */
void members_set_unfit(Members *members, const char *job, const char *why);
/* Says whether the definition of a job here is another than the one in force. Publish afterwards.
 */
void members_set_drifted(Members *members, const char *job, bool drifted);
void members_set_skewed(Members *members, bool skewed);
/* Return: why this node cannot run the job, or NULL. Borrowed. */
const char *members_unfit(const Members *members, const char *job);

/* The members whose data is known, sorted by name: Member, borrowed; g_ptr_array_unref(). */
GPtrArray *members_list(const Members *members);
bool members_contains(const Members *members, const char *node);
bool members_registered(const Members *members);
/* Why we cannot register, a sentence; "" otherwise. */
const char *members_fault(const Members *members);

/* Registration: our own member node in /nodes, and what it says of us.
 *
 * Created as our ephemeral. If a node of our name stands there: of our own session, it is ours; of
 * the session before it (this process's, or the one in the state file of the process before this
 * one), it is what we left, and is replaced. Any other is tried again later, because two machines
 * must not share a name: one would settle the other's runs. It is refused at once where the machine
 * ids differ. Where they are the same, it is most likely what we left before a crash of the whole
 * machine, and goes when its session expires; a machine that was cloned without a machine id of its
 * own says so by staying.
 *
 * It is written at most once in REGISTRATION_PUBLISH_PERIOD, with all that changed meanwhile:
 * everybody reads it each time. What somebody else writes over it is corrected, at most once in
 * REGISTRATION_CORRECT_PERIOD where nothing of ours changes: whoever insists has the last word for
 * most of the time, but makes no storm of writes that everybody reads.
 */
#pragma once

#include "member.h"
#include "node.h"
#include "tree.h"

#define REGISTRATION_PUBLISH_PERIOD (1 * USEC_PER_SEC)
#define REGISTRATION_CORRECT_PERIOD (30 * USEC_PER_SEC)

typedef struct Registration Registration;
/* Our node stands there; again, when somebody had deleted it. */
typedef void (*RegistrationFunc)(void *userdata);

Registration *registration_new(Node *node, Tree *tree, RegistrationFunc registered, void *userdata);
Registration *registration_free(Registration *registration);
DEFINE_CLEANUP(Registration, registration_free);

/* The tree is there: registers us. */
void registration_start(Registration *registration);
/* The session is gone. */
void registration_reset(Registration *registration);
/* Some answers may have been lost while the session was suspended: asks again for what is missing.
 */
void registration_resume(Registration *registration);
/* Somebody saw that our node is not there: registers again, unless that is known. */
void registration_missing(Registration *registration);
/* Somebody read our node: this stood in it. */
void registration_seen(Registration *registration, const char *data, size_t size);
bool registration_is_done(const Registration *registration);
/* Why we cannot register, a sentence; "" otherwise. */
const char *registration_fault(const Registration *registration);

/* What our node says of itself changed (unfit jobs, skew): writes it soon, if it differs from what
 * is written. */
void registration_publish(Registration *registration);
/* Says why this node cannot run a job; NULL: it can. Publish afterwards. */
void registration_set_unfit(Registration *registration, const char *job, const char *why);
/* Says whether a job left this node's files, which is no want of anything: others may have it. */
void registration_set_absent(Registration *registration, const char *job, bool absent);
/* Says whether the definition of a job here is another than the one in force. Publish afterwards.
 */
void registration_set_drifted(Registration *registration, const char *job, bool drifted);
void registration_set_skewed(Registration *registration, bool skewed);
void registration_set_busy(Registration *registration, MemberBusy busy);
/* As Member.outside. Publish afterwards. */
void registration_set_outside(Registration *registration, int64_t outside);
/* Return: why this node cannot run the job, or NULL. Borrowed. */
const char *registration_unfit(const Registration *registration, const char *job);
/* Return: how often our own node was put into words so far. */
unsigned registration_encoded(const Registration *registration);

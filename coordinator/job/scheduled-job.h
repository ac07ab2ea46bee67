/* A job as the daemon keeps it: its definition, its ledger as last seen, its timer, and the one
 * question it asks again and again: what is to be done now? (decision.h)
 *
 * One thing is under way at a time: which, and what may follow, stands in job-phase.h. What it does
 * is done by parts of its own, each with its own waits: the ledger is read by a LedgerCursor and
 * written by a LedgerWriter; InForce tells whose definition counts; an Attempt queues for the locks
 * and claims. Each tells the job what became of it, and none knows the others.
 */
#pragma once

#include "job-parts.h"
#include "job-state.h"

typedef struct ScheduledJob ScheduledJob;

/* The parts are borrowed, and live longer. */
ScheduledJob *scheduled_job_new(const JobParts *parts, const JobSpec *spec);
ScheduledJob *scheduled_job_free(ScheduledJob *job);
DEFINE_CLEANUP(ScheduledJob, scheduled_job_free);

const char *scheduled_job_name(const ScheduledJob *job);
const JobSpec *scheduled_job_spec(const ScheduledJob *job);
/* Another definition took effect, or the same one, in other memory. What is under way goes on
 * where it waits for the same under both; no request is sent. */
void scheduled_job_replace(ScheduledJob *job, const JobSpec *spec);

/* There is a ready session: reads the ledger, makes it if it is missing, looks for missed ticks.
 * Delayed by our rank. */
void scheduled_job_begin(ScheduledJob *job);
/* The session is gone: everything under way is dropped, what we know of the ledger is forgotten. */
void scheduled_job_reset(ScheduledJob *job);
/* Something changed that may change the answer. */
void scheduled_job_consider(ScheduledJob *job);
/* The process before us waited for the locks of this tick. */
void scheduled_job_waited_for(ScheduledJob *job, int64_t tick);
/* As scheduled_job_consider(), from the loop. */
void scheduled_job_hurry(ScheduledJob *job);
/* A manual run was asked for: ID is claimed by the rank that comes first. */
void scheduled_job_request(ScheduledJob *job, const char *id, const char *who, usec_t not_after);

/* For status. *ret_why is a sentence or "", borrowed. */
ScheduledJobState scheduled_job_state(const ScheduledJob *job, const char **ret_why);

/* A job as the daemon keeps it: its definition, its ledger as last seen, its timer, and the one
 * question it asks again and again: what is to be done now? (decision.h)
 *
 * One operation at a time: reading the ledger, queueing for the locks, claiming, or writing skips.
 * Rank 0 sends the queueing and the reading in one flight, because it will most likely run; the
 * others read first, and create nothing when the tick is claimed or settled.
 */
#pragma once

#include "coordinator.h"
#include "job-state.h"
#include "ledger.h"
#include "lock.h"

typedef struct ScheduledJob ScheduledJob;

ScheduledJob *scheduled_job_new(Coordinator *coordinator, const JobSpec *spec);
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

/* A job as the daemon keeps it: its definition, its timers, the manual runs that were asked for,
 * and the one question it asks again and again: what is to be done now?
 *
 *   whether   decision.h and job-next.h decide by the ledger, by our rank (job-decision.h) and by
 *             what is under way already. Both are pure.
 *   what      JobWork does it, one thing at a time: which, and what may follow, is a table
 *             (job-phase.h).
 *   whether it has succeeded, as its definition expects, JobExpectation sees to by itself
 *   with what JobLedger reads and writes the job's ledger; a Bid queues for the locks of one
 *             tick or manual run, and claims.
 *
 * Each tells the one above it what became of it, and none knows that one.
 */
#pragma once

#include "job-parts.h"
#include "job-state.h"
#include "manual-runs.h"

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
/* Nothing may be claimed here for long: what waits in the queues for locks waits there no more. */
void scheduled_job_leave_queues(ScheduledJob *job);
/* What is paused has changed, and may be this job: the same where it is. */
void scheduled_job_paused(ScheduledJob *job);
/* As job_work_try_anew(). */
bool scheduled_job_try_anew(ScheduledJob *job);

/* There is a ready session: reads the ledger, makes it if it is missing, looks for missed ticks.
 * Delayed by our rank. */
void scheduled_job_begin(ScheduledJob *job);
/* The session is gone: everything under way is dropped, what we know of the ledger is forgotten. */
void scheduled_job_reset(ScheduledJob *job);
/* Something changed that may change the answer. */
void scheduled_job_consider(ScheduledJob *job);
/* The process before us waited for the locks of this tick; to be considered once anything may
 * begin. Return: whether, for `span` from now and longer, nothing but its contenders tells the
 * others that somebody does. */
bool scheduled_job_waited_for(ScheduledJob *job, int64_t tick, usec_t span);
/* Return: whether it stands in a queue for this tick, for the others to see. */
bool scheduled_job_stands_for_tick(const ScheduledJob *job, int64_t tick);
/* As scheduled_job_consider(), from the loop. */
void scheduled_job_hurry(ScheduledJob *job);
/* The same, and what is known of the ledger is not the truth any more. */
void scheduled_job_look_again(ScheduledJob *job);
/* A manual run was asked for, and is for us to claim by our rank, or alone; copied. */
void scheduled_job_request(ScheduledJob *job, const ManualRun *run);
/* The request of that run is gone: nothing is queued for it any more. */
void scheduled_job_request_gone(ScheduledJob *job, const char *id);
/* Return: whether it stands in the queues for that run. */
bool scheduled_job_stands_for(const ScheduledJob *job, const char *id);

/* For status. */
ScheduledJobState scheduled_job_state(const ScheduledJob *job);
/* Return: what keeps it, a sentence or ""; the caller's. */
char *scheduled_job_why(const ScheduledJob *job);

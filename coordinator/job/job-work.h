/* The work of a job: the one thing that is under way, from the reading of its ledger to the claim.
 *
 * Which it is, and what may follow, stands in job-phase.h; what is done about it is done by parts
 * of its own, each with its own waits: a JobLedger reads and writes the ledger; a Bid queues
 * for the locks and claims. Each tells the work what became of it, and none knows the others. When
 * something has to be decided, the owner is asked. */
#pragma once

#include "job-ledger.h"
#include "job-phase.h"
#include "manual-runs.h"
#include "waited-for.h"

typedef struct JobWork JobWork;

typedef struct JobWorkEvents {
        /* The ledger was just read (or the locks are held): begin something, or end.
         * `nobody_waits`: for what would be skipped, that was just looked for. */
        void (*decide)(bool nobody_waits, void *userdata);
        /* That look found these: likewise. */
        void (*found)(const GPtrArray *waiters, void *userdata);
        /* Nothing is under way, and the ledger is not what it was. */
        void (*changed)(void *userdata);
        /* To be considered again after so long. Nothing else may be done in it. */
        void (*again)(usec_t delay, void *userdata);
        /* A manual run is started, or refused. Likewise. */
        void (*manual_gone)(const char *id, void *userdata);
} JobWorkEvents;

/* Parts and events are borrowed, and live longer. */
JobWork *job_work_new(const JobParts *parts, const JobSpec *spec, const JobWorkEvents *events,
                      void *userdata);
JobWork *job_work_free(JobWork *work);
DEFINE_CLEANUP(JobWork, job_work_free);

/* The session is gone, and with it what was known. */
void job_work_reset(JobWork *work);

/* Another definition, or the same one in other memory. What is under way goes on where it waits for
 * the same under both. Return: whether it does; otherwise it is cancelled, or is answered first. */
bool job_work_replace(JobWork *work, const JobSpec *spec);
/* Somebody asks to have it tried now. Return: whether anything keeps the job from being run for
 * which the next try would be later: the job is to be considered. */
bool job_work_try_anew(JobWork *work);

/* May the job be considered now? Return: JOB_ACTION_CONSIDER when nothing is under way;
 * JOB_ACTION_DECIDE when the locks are held already; otherwise it is remembered. */
JobAction job_work_consider(JobWork *work);

/* What may be begun; what was under way is dropped. Where it cannot be, `again` follows. */
void job_work_end(JobWork *work);
void job_work_end_and_retry(JobWork *work, usec_t delay);
void job_work_read(JobWork *work, bool watch);
/* Looks who waits for what would be skipped. */
void job_work_look(JobWork *work);
void job_work_skip(JobWork *work, DecisionSkip *skips, size_t n);
void job_work_refuse(JobWork *work, const ManualRun *run, DecisionWhy why);
/* Asks for the locks and, in the same flight, for the ledger as it is now, once there is a place;
 * until then we stand in line for one, and nothing is under way. `run` NULL: for the tick. */
void job_work_queue(JobWork *work, int64_t tick, const ManualRun *run);
/* We stand in the queues for what is to be run: claims, or sees to it that we hear of it when
 * somebody else settles what we wait for. */
void job_work_go_on(JobWork *work);
/* The process before us waited for that tick. */
void job_work_wait_again(JobWork *work, int64_t tick);
/* Return: whether it is not known so far what becomes of that. */
bool job_work_restores(const JobWork *work);
/* Nothing is to be run at present: neither a place nor one in line is needed. */
void job_work_leave_line(JobWork *work);

JobPhase job_work_phase(const JobWork *work);
/* Return: the tick that we stand in the queues for, or 0. */
int64_t job_work_queued_tick(const JobWork *work);
/* Return: whether the others can see that we do, for this tick. */
bool job_work_stands_for(const JobWork *work, int64_t tick);
bool job_work_is_queued_for(const JobWork *work, const ManualRun *run);
/* For what the owner has to know to decide. */
JobLedger *job_work_ledger(JobWork *work);
WaitedFor *job_work_waited_for(JobWork *work);

/* Return: which lock what stands in the queues waits for, a sentence, or ""; the caller's. */
char *job_work_waits_for(const JobWork *work);
/* Return: why the locks could not be had the last time, or the server refused the claim; a
 * sentence, borrowed, or NULL. */
const char *job_work_fault(const JobWork *work);

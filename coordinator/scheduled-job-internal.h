/* What scheduled-job.c (when and whether), job-claim.c (locks and claims) and job-ledger.c (what is
 * written to the ledger) share. */
#pragma once

#include "claim.h"
#include "decision.h"
#include "ledger-cache.h"
#include "scheduled-job.h"
#include "waiters.h"

#define JOB_RETRY_DELAY (1 * USEC_PER_SEC)
#define JOB_FAULT_DELAY (30 * USEC_PER_SEC)

typedef enum JobOperation {
        JOB_OPERATION_NONE,
        JOB_OPERATION_READING,  /* the ledger */
        JOB_OPERATION_QUEUEING, /* locks asked for; the ledger is read in the same flight */
        JOB_OPERATION_CLAIMING,
        JOB_OPERATION_WRITING, /* the ledger: made, adopted, skips, repaired */
} JobOperation;

/* A manual run that somebody asked for. */
typedef struct JobRequest {
        char *id;
        char *who;
        usec_t asked, not_after; /* CLOCK_REALTIME */
} JobRequest;

struct ScheduledJob {
        Coordinator *coordinator; /* weak: owns us */
        JobSpec *spec;
        JobSpec *asked_spec; /* what the locks were asked for and the claim is made for */
        char *name;
        char *path, *resource;

        bool records_there; /* their directory */
        ZkWatch *ledger_watch;
        bool drifted, replaced;
        char *fault;      /* why the ledger cannot be used */
        char *lock_fault; /* why the locks could not be had the last time */

        JobOperation operation;
        bool again; /* asked to consider during an operation */
        ZkCall *read_call, *records_call, *write_call;
        bool ledger_read; /* in this operation */
        LockSet *locks;
        bool locks_held;
        bool late; /* the locks were not had in time, and the ledger is not read yet */
        Claim *claim;
        char *claim_key;
        int64_t tick;        /* what the queueing and the claim are for; 0: a manual run */
        JobRequest *request; /* likewise; borrowed from requests */
        unsigned attempts;   /* of this claim */
        Waiters *waiters;    /* who waits for what would be skipped is being looked at */
        bool nobody_waits;   /* and that is nobody */
        int64_t waited_tick; /* the process before us waited for it; 0: for none */
        bool overwrite_records, remake_records, one_skip_at_a_time;
        char *looked_for; /* a run that the ledger says is ours and that recovery was asked for */
        char *refused;    /* the request whose refusal is being written */

        GQueue *requests;
        char *waited_run;    /* of another node, in our way */
        usec_t waited_since; /* CLOCK_BOOTTIME */
        usec_t hold_until;   /* CLOCK_BOOTTIME: lower ranks go first */
        sd_event_source *timer, *retry;

        /* what the ledger write under way will have changed */
        Ledger *next_ledger;
        guint ledger_op;
        char *remember;   /* digest to remember when it succeeded */
        char *write_note; /* what to log then */
        char *write_note_id;
        int64_t write_note_tick;
        bool reread;         /* another write is to follow: read the ledger again */
        ZkCall *resume_call; /* beside any operation */
};

/* job-ledger.c: each begins a write (operation WRITING) and ends in scheduled_job_write_done(). */
void job_ledger_create(ScheduledJob *job);
/* Only sends the creation of the directory of records, which is missing. */
void job_ledger_create_runs(ScheduledJob *job);
/* Return: true when the ledger is in force for our definition; false when something else was begun,
 * or the job is drifted. */
bool job_ledger_check_digest(ScheduledJob *job);
void job_ledger_write_skips(ScheduledJob *job, const DecisionSkip *skips, size_t n);
void job_ledger_refuse_request(ScheduledJob *job, const JobRequest *request, const char *why);
/* A record stands where we wanted to claim: takes it into the ledger. */
void job_ledger_repair(ScheduledJob *job, const char *run);

/* job-claim.c */
/* Asks for the locks and, in the same flight, for the ledger as it is now (operation QUEUEING),
 * once it has a place; until then it stands in line for one, and no operation is under way. `tick`
 * 0: for the request. */
void job_claim_queue(ScheduledJob *job, int64_t tick, JobRequest *request);
bool job_claim_needs_locks(const ScheduledJob *job);
/* Return: until when (CLOCK_REALTIME) anybody waits for a tick's locks, of a job that says for how
 * long: queueing begins before the start deadline. */
usec_t job_claim_wait_ends(const ScheduledJob *job, int64_t tick);
/* The locks are held and the ledger was read: claims (operation CLAIMING). */
void job_claim_begin(ScheduledJob *job);
/* What is claimed and run is of this definition: one that waits as the one asked for before. */
void job_claim_ask_for(ScheduledJob *job, const JobSpec *spec);
void job_claim_release(ScheduledJob *job);
/* The locks could not be had in time: the tick (the request) is skipped, once the ledger is read.
 */
void job_claim_timed_out(ScheduledJob *job);

/* scheduled-job.c */
/* The ledger was just read: what now? */
void scheduled_job_act(ScheduledJob *job);
/* Nothing is written by a clock that was not compared with the server's lately. Return: whether it
 * was; otherwise that is begun, the operation is over, and the ledger is read again a moment later.
 */
bool scheduled_job_clock_is_known(ScheduledJob *job);
/* The ledger as last seen, with its version; NULL when not known. */
const Ledger *scheduled_job_ledger(const ScheduledJob *job);
int32_t scheduled_job_ledger_version(const ScheduledJob *job);
void scheduled_job_set_ledger(ScheduledJob *job, Ledger *ledger, int32_t version);
void scheduled_job_forget_ledger(ScheduledJob *job);
void scheduled_job_read_ledger(ScheduledJob *job, bool watch);
void scheduled_job_operation_over(ScheduledJob *job);
void scheduled_job_release_locks(ScheduledJob *job);
/* Nothing is to be run at present: neither a place nor one in line is needed. */
void scheduled_job_leave_line(ScheduledJob *job);
void scheduled_job_write_done(ScheduledJob *job, ZkCode code);
void scheduled_job_retry_in(ScheduledJob *job, usec_t delay);
void scheduled_job_drop_request(ScheduledJob *job, const char *id);

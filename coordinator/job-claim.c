/* From a due tick or a request to a claim: queueing for the locks, and the claim once they are
 * held. What comes before is in scheduled-job.c, the transaction itself in claim.c. */
#include <errno.h>
#include <string.h>

#include "gate.h"
#include "json-line.h"
#include "log.h"
#include "message-id.h"
#include "paths.h"
#include "recovery.h"
#include "resource.h"
#include "run-places.h"
#include "runs.h"
#include "scheduled-job-internal.h"

#define CLAIM_ATTEMPTS_MAX 5
#define CLOCK_SAMPLE_AGE_MAX (1 * USEC_PER_SEC)

void job_claim_release(ScheduledJob *job) {
        if (job->claim_key)
                runs_claim_ends(job->coordinator->runs, job->claim_key);
        g_clear_pointer(&job->claim_key, g_free);
        job->claim = claim_free(job->claim);
}

void job_claim_ask_for(ScheduledJob *job, const JobSpec *spec) {
        JobSpec *asked = job_spec_ref(spec);

        job_spec_free(job->asked_spec);
        job->asked_spec = asked;
}

/* ---- claiming ---- */

static void claim_won(ScheduledJob *job) {
        int32_t version = 0;
        Ledger *ledger = claim_steal_ledger(job->claim, &version);
        RunRecord *record = claim_steal_record(job->claim);
        LockSet *locks = g_steal_pointer(&job->locks);

        scheduled_job_set_ledger(job, ledger, version);
        if (job->request)
                scheduled_job_drop_request(job, record->run);
        runs_start(job->coordinator->runs, job->asked_spec, record, locks);
        job_claim_release(job);
        scheduled_job_operation_over(job);
        scheduled_job_retry_in(job, 0); /* the timer for the next tick */
}

static void claim_lost(ScheduledJob *job) {
        g_autofree char *run =
            job->request ? g_strdup(job->request->id) : run_id_for_tick(job->tick, 1);

        job_claim_release(job);
        scheduled_job_release_locks(job);
        if (job->request)
                scheduled_job_drop_request(job, run);
        job_ledger_repair(job, run);
}

static void on_claim(ClaimOutcome outcome, void *userdata) {
        ScheduledJob *job = userdata;

        switch (outcome) {
        case CLAIM_WON:
                claim_won(job);
                return;
        case CLAIM_LOST:
                claim_lost(job);
                return;
        case CLAIM_STALE:
                job_claim_release(job);
                /* Locks that another definition asked for are not those of the one in force. */
                if (++job->attempts < CLAIM_ATTEMPTS_MAX &&
                    job_spec_waits_alike(job->asked_spec, job->spec)) {
                        job_claim_ask_for(job, job->spec);
                        job->operation = JOB_OPERATION_QUEUEING;
                        scheduled_job_read_ledger(job, false);
                        return;
                }
                scheduled_job_operation_over(job);
                scheduled_job_retry_in(job, JOB_RETRY_DELAY);
                return;
        case CLAIM_OVER:
                job_claim_release(job);
                scheduled_job_forget_ledger(job);
                scheduled_job_operation_over(job);
                /* It may have been done after all: whatever stands open under our name is looked
                 * at. */
                recovery_check(job->coordinator->recovery);
                scheduled_job_retry_in(job, JOB_RETRY_DELAY);
        }
}

static void on_records(const ZkReply *reply, void *userdata) {
        ScheduledJob *job = userdata;

        job->records_call = NULL;
        job->records_there = reply->code == ZK_OK;
        if (reply->code == ZK_NO_NODE) /* somebody deleted the directory: no claim without it */
                job_ledger_create_runs(job);
}

/* Once a session, on the way. */
static void look_for_records(ScheduledJob *job) {
        g_autofree char *path = path_runs(job->coordinator->config->root, job->name);

        if (!job->records_there && !job->records_call)
                (void)zk_exists(node_zk(job->coordinator->node), path, on_records, job,
                                &job->records_call, NULL, NULL, NULL);
}

/* Return: whether a run of the job is still being ended here, though the ledger has done with it:
 * after a lost session the others settle as unknown what we are stopping. */
static bool is_still_ending(const ScheduledJob *job) {
        g_autoptr(GPtrArray) runs = runs_list(job->coordinator->runs);

        for (guint i = 0; i < runs->len; i++) {
                const Run *run = runs->pdata[i];
                if (run->phase < RUN_PHASE_SETTLING && strcmp(run->record->job, job->name) == 0 &&
                    !ledger_find_run(scheduled_job_ledger(job), run->record->run))
                        return true;
        }
        return false;
}

void job_claim_begin(ScheduledJob *job) {
        Coordinator *coordinator = job->coordinator;
        g_autofree char *run =
            job->request ? g_strdup(job->request->id) : run_id_for_tick(job->tick, 1);
        g_autofree char *request_path =
            job->request ? path_request(coordinator->config->root, run) : NULL;
        RunRecord *record = run_record_for_claim(coordinator->node, job->name, run,
                                                 job->request ? 0 : job->tick, 1);
        Ledger *next = ledger_copy(scheduled_job_ledger(job));
        int r = is_still_ending(job) ? -EBUSY : ledger_claim(next, record);

        if (r == -EBUSY)
                gate_is_shut(coordinator->gate);
        if (job->request)
                record->who = g_strdup(job->request->who);
        if (r == 0)
                r = claim_start(coordinator->node, coordinator->tree, record, next,
                                scheduled_job_ledger_version(job),
                                job->locks ? lock_set_paths(job->locks) : NULL, request_path,
                                on_claim, job, &job->claim);
        if (r < 0) {
                run_record_free(record);
                ledger_free(next);
                scheduled_job_operation_over(job);
                scheduled_job_retry_in(job, JOB_RETRY_DELAY);
                return;
        }
        job->operation = JOB_OPERATION_CLAIMING;
        job->claim_key = run_key(job->name, run);
        runs_claim_begins(coordinator->runs, job->claim_key);
        look_for_records(job);
}

/* ---- queueing ---- */

static void take_clock_sample(ScheduledJob *job) {
        usec_t server, sent, received, now = clock_realtime();

        /* It was taken when we began to queue; what has waited since says nothing of now. */
        if (lock_set_clock_sample(job->locks, &server, &sent, &received) && received <= now &&
            now - received <= CLOCK_SAMPLE_AGE_MAX)
                node_clock_sample_at(job->coordinator->node, server, sent, received);
}

void job_claim_timed_out(ScheduledJob *job) {
        DecisionSkip skip = {.from = job->tick,
                             .to = job->tick,
                             .count = 1,
                             .why = "lock-wait: its locks were not free in time"};

        scheduled_job_release_locks(job);
        if (job->request) {
                job_ledger_refuse_request(job, job->request, skip.why);
        } else if (!job->ledger_read && job->read_call) {
                job->late = true;
        } else if (scheduled_job_ledger(job) &&
                   !ledger_is_decided(scheduled_job_ledger(job), job->tick)) {
                job_ledger_write_skips(job, &skip, 1);
        } else {
                scheduled_job_operation_over(job);
                scheduled_job_retry_in(job, 0);
        }
}

static void locks_failed(ScheduledJob *job) {
        const LogAbout about = {.message_id = MESSAGE_FOREIGN_DATA, .job = job->name};
        const char *fault = lock_set_fault(job->locks);

        if (g_strcmp0(job->lock_fault, fault) != 0)
                log_error(&about, "its locks cannot be had: %s", fault);
        g_free(job->lock_fault);
        job->lock_fault = g_strdup(fault);
        scheduled_job_operation_over(job);
        scheduled_job_retry_in(job, JOB_FAULT_DELAY);
}

static void on_locks(LockSet *set, LockEvent event, void *userdata) {
        ScheduledJob *job = userdata;

        switch (event) {
        case LOCK_EVENT_HELD:
                take_clock_sample(job);
                job->locks_held = true;
                g_clear_pointer(&job->lock_fault, g_free);
                if (job->ledger_read && job->operation == JOB_OPERATION_QUEUEING)
                        scheduled_job_act(job);
                return;
        case LOCK_EVENT_TIMEOUT:
                job_claim_timed_out(job);
                return;
        case LOCK_EVENT_LOST:
                if (job->operation == JOB_OPERATION_CLAIMING) {
                        scheduled_job_release_locks(job); /* the claim's own check tells */
                        return;
                }
                scheduled_job_operation_over(job);
                scheduled_job_retry_in(job, JOB_RETRY_DELAY);
                return;
        case LOCK_EVENT_FAILED:
                locks_failed(job);
                return;
        case LOCK_EVENT_REVOKED:
        case LOCK_EVENT_DOWNGRADED:
                return; /* not asked for */
        }
}

bool job_claim_needs_locks(const ScheduledJob *job) {
        return job->spec->lock != JOB_LOCK_NONE || job->spec->resources->len > 0;
}

usec_t job_claim_wait_ends(const ScheduledJob *job, int64_t tick) {
        return usec_add(usec_add((usec_t)tick * USEC_PER_SEC, job->spec->start_deadline),
                        job->spec->lock_wait);
}

/* What a process before us waited for has less time left. */
static usec_t lock_wait(const ScheduledJob *job) {
        if (job->spec->lock_wait_set && !job->request && job->spec->lock_wait != USEC_INFINITY)
                return MIN(job->spec->lock_wait,
                           usec_sub(job_claim_wait_ends(job, job->tick), clock_realtime()));
        if (job->spec->lock_wait_set)
                return job->spec->lock_wait;
        if (job->request)
                return usec_sub(job->request->not_after, clock_realtime());
        return usec_sub(usec_add((usec_t)job->tick * USEC_PER_SEC, job->spec->start_deadline),
                        clock_realtime());
}

static char *contender_payload(const ScheduledJob *job) {
        json_t *object = json_object();

        json_object_set_new(object, "node", json_string(job->coordinator->config->node_name));
        json_object_set_new(object, "job", json_string(job->name));
        if (!job->request)
                json_object_set_new(object, "tick", json_integer(job->tick));
        return json_line_dump(object);
}

static int queue(ScheduledJob *job) {
        g_autofree char *parent = path_locks(job->coordinator->config->root),
                        *payload = contender_payload(job);
        g_autoptr(GArray) requests = g_array_new(FALSE, TRUE, sizeof(LockRequest));
        const LockOptions options = {
            .parent = parent, .payload = payload, .wait = lock_wait(job), .persistent = true};

        if (job->spec->lock != JOB_LOCK_NONE) {
                LockRequest own = {.resource = job->resource,
                                   .mode = job->spec->lock == JOB_LOCK_SHARED ? LOCK_SHARED
                                                                              : LOCK_EXCLUSIVE};
                g_array_append_val(requests, own);
        }
        for (guint i = 0; i < job->spec->resources->len; i++) {
                LockRequest further = {0};
                resource_request_of_job(job->coordinator->config, job->spec->resources->pdata[i],
                                        &further);
                g_array_append_val(requests, further);
        }
        return lock_set_acquire(job->coordinator->session,
                                (const LockRequest *)(void *)requests->data, requests->len,
                                &options, on_locks, job, &job->locks);
}

/* Return: when it is too late for this tick (this request). What a process before us waited for has
 * its start deadline behind it. */
static usec_t too_late(const ScheduledJob *job, int64_t tick, const JobRequest *request) {
        if (request)
                return request->not_after;
        if (tick == job->waited_tick)
                return job_claim_wait_ends(job, tick);
        return usec_add((usec_t)tick * USEC_PER_SEC, job->spec->start_deadline);
}

/* Return: whether a place is had. Otherwise we hear of it once one is, and look again when it is
 * too late. */
static bool has_place(ScheduledJob *job, int64_t tick, const JobRequest *request) {
        Coordinator *coordinator = job->coordinator;
        usec_t due = request ? request->asked : (usec_t)tick * USEC_PER_SEC;
        usec_t end = too_late(job, tick, request);

        if (run_places_ask(coordinator->places, job->name, due))
                return true;
        scheduled_job_operation_over(job);
        gate_is_shut(coordinator->gate);
        if (end != USEC_INFINITY)
                scheduled_job_retry_in(job, usec_add(usec_sub(end, clock_realtime()), 1));
        return false;
}

void job_claim_queue(ScheduledJob *job, int64_t tick, JobRequest *request) {
        if (!has_place(job, tick, request))
                return;
        job->tick = tick;
        job->request = request;
        job_claim_ask_for(job, job->spec);
        job->operation = JOB_OPERATION_QUEUEING;
        job->locks_held = !job_claim_needs_locks(job);
        if (!job->locks_held && queue(job) < 0) {
                scheduled_job_operation_over(job);
                scheduled_job_retry_in(job, JOB_RETRY_DELAY);
                return;
        }
        scheduled_job_read_ledger(job, false);
}

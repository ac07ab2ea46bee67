/* See job-work.h. */
#include "job-work.h"

#include <errno.h>

#include "attempt.h"
#include "in-force.h"
#include "ledger-cursor.h"
#include "log.h"
#include "message-id.h"

#define JOB_RETRY_DELAY (1 * USEC_PER_SEC)
#define JOB_FAULT_DELAY (30 * USEC_PER_SEC)
#define JOB_CLOCK_DELAY (100 * USEC_PER_MSEC)

struct JobWork {
        const JobParts *parts; /* weak */
        JobSpec *spec;
        const JobWorkEvents *events;
        void *userdata;

        LedgerCursor *cursor;
        LedgerWriter *writer;
        InForce *in_force;
        WaitedFor *waited_for;
        Attempt *attempt; /* while it is in the queues, or claims */

        JobPhase phase;
        bool again;       /* to be considered once what is under way is over */
        char *lock_fault; /* why the locks could not be had the last time */
};

static void job_work_on_cursor(LedgerCursorEvent event, void *userdata);
static void job_work_on_written(LedgerWriteOutcome outcome, const char *refused, void *userdata);
static void job_work_on_attempt(AttemptEvent event, void *userdata);
static void job_work_on_waiters(int error, const GPtrArray *found, void *userdata);
static void job_work_happen(JobWork *work, JobEvent event);

JobWork *job_work_new(const JobParts *parts, const JobSpec *spec, const JobWorkEvents *events,
                      void *userdata) {
        const LedgerCursorParts cursor = {parts->node, parts->ledgers, parts->runs,
                                          parts->recovery};
        const LedgerWriterParts writer = {parts->node, parts->tree, parts->ledgers, parts->pruner};
        InForceParts in_force = {.node = parts->node,
                                 .ledgers = parts->ledgers,
                                 .digests = parts->digests,
                                 .registration = parts->registration,
                                 .members = parts->members};
        JobWork *work = g_new0(JobWork, 1);

        work->parts = parts;
        work->spec = job_spec_ref(spec);
        work->events = events;
        work->userdata = userdata;
        work->cursor = ledger_cursor_new(&cursor, spec->name, job_work_on_cursor, work);
        work->writer = ledger_writer_new(&writer, spec->name, job_work_on_written, work);
        in_force.writer = work->writer;
        work->in_force = in_force_new(&in_force, spec->name);
        work->waited_for = waited_for_new(parts->node, spec->name, job_work_on_waiters, work);
        return work;
}

JobWork *job_work_free(JobWork *work) {
        if (!work)
                return NULL;
        job_work_reset(work);
        waited_for_free(work->waited_for);
        in_force_free(work->in_force);
        ledger_writer_free(work->writer);
        ledger_cursor_free(work->cursor);
        g_free(work->lock_fault);
        job_spec_free(work->spec);
        g_free(work);
        return NULL;
}

/* ---- what it is about ---- */

const JobSpec *job_work_spec(const JobWork *work) {
        return work->spec;
}

JobPhase job_work_phase(const JobWork *work) {
        return work->phase;
}

int64_t job_work_queued_tick(const JobWork *work) {
        int64_t tick = job_phase_is_in_queues(work->phase) ? attempt_tick(work->attempt) : 0;

        return tick && attempt_is_for(work->attempt, tick, NULL) ? tick : 0;
}

bool job_work_is_queued_for(const JobWork *work, const ManualRun *run) {
        return job_phase_is_in_queues(work->phase) && attempt_is_for(work->attempt, 0, run);
}

WaitedFor *job_work_waited_for(JobWork *work) {
        return work->waited_for;
}

const Ledger *job_work_ledger(const JobWork *work) {
        return ledger_cursor_ledger(work->cursor);
}

void job_work_forget_ledger(JobWork *work) {
        ledger_cursor_forget(work->cursor);
}

bool job_work_is_watching(const JobWork *work) {
        return ledger_cursor_is_watching(work->cursor);
}

bool job_work_is_unchecked(const JobWork *work) {
        return in_force_is_unchecked(work->in_force);
}

bool job_work_is_drifted(const JobWork *work) {
        return in_force_is_drifted(work->in_force);
}

const char *job_work_ledger_fault(const JobWork *work) {
        return ledger_cursor_fault(work->cursor);
}

const char *job_work_lock_fault(const JobWork *work) {
        return work->lock_fault;
}

/* ---- from one phase to the next ---- */

static void job_work_retry_in(JobWork *work, usec_t delay) {
        work->events->again(delay, work->userdata);
}

static JobAction job_work_step(JobWork *work, JobEvent event) {
        JobStep step = job_phase_step(work->phase, event);

        if (step.action == JOB_ACTION_IMPOSSIBLE)
                g_error("%s: %s while %s: impossible", work->spec->name, job_event_to_string(event),
                        job_phase_to_string(work->phase));
        work->phase = step.phase;
        return step.action;
}

/* Something else is begun: what was under way is dropped, and locks are let go of. */
static void job_work_begin_phase(JobWork *work, JobEvent event) {
        (void)job_work_step(work, event);
        ledger_cursor_stop(work->cursor);
        waited_for_stop(work->waited_for);
        work->attempt = attempt_free(work->attempt);
}

void job_work_leave_line(JobWork *work) {
        gate_leave_place(work->parts->gate, work->spec->name);
}

void job_work_end(JobWork *work) {
        job_work_begin_phase(work, JOB_EVENT_END);
        if (gate_has_place(work->parts->gate, work->spec->name))
                job_work_leave_line(work); /* one in line is kept: what is due still is */
        if (work->again)
                job_work_retry_in(work, 0);
        work->again = false;
}

void job_work_end_and_retry(JobWork *work, usec_t delay) {
        job_work_end(work);
        job_work_retry_in(work, delay);
}

void job_work_cancel(JobWork *work) {
        job_work_begin_phase(work, JOB_EVENT_END);
        ledger_cursor_reset(work->cursor);
        ledger_writer_cancel(work->writer);
        in_force_reset(work->in_force);
        work->again = false;
        job_work_leave_line(work);
}

void job_work_reset(JobWork *work) {
        job_work_cancel(work);
        ledger_cursor_forget(work->cursor);
        ledger_writer_reset(work->writer);
        waited_for_set_tick(work->waited_for, 0);
}

/* ---- writing ---- */

static void job_work_on_written(LedgerWriteOutcome outcome, const char *refused, void *userdata) {
        JobWork *work = userdata;

        in_force_written(work->in_force, outcome);
        if (refused)
                work->events->manual_gone(refused, work->userdata);
        job_work_end(work);
        if (outcome == LEDGER_WRITE_CLOSED)
                return; /* the coordinator begins again with the next session */
        job_work_retry_in(work, outcome == LEDGER_WRITE_FAILED ? JOB_RETRY_DELAY : 0);
}

/* A write was begun, or (`r`) could not be. */
static void job_work_write_begun(JobWork *work, int r) {
        if (r < 0)
                job_work_on_written(ledger_writer_outcome(r), NULL, work);
}

void job_work_refuse(JobWork *work, const ManualRun *run, const char *why) {
        job_work_begin_phase(work, JOB_EVENT_WRITE);
        job_work_write_begun(work, ledger_writer_refuse(work->writer, run->id, run->who, why));
}

/* What was missed because its locks cannot be had was not missed for want of a node. */
static const char *job_work_skip_why(const JobWork *work, const char *why) {
        if (!g_str_has_prefix(why, "missed"))
                return why;
        if (work->lock_fault)
                return "missed: its locks could not be had";
        if (gate_waits_for_place(work->parts->gate, work->spec->name))
                return "missed: max-runs was reached on the nodes whose turn it was";
        return why;
}

void job_work_skip(JobWork *work, DecisionSkip *skips, size_t n) {
        for (size_t i = 0; i < n; i++)
                skips[i].why = job_work_skip_why(work, skips[i].why);
        job_work_begin_phase(work, JOB_EVENT_WRITE);
        job_work_write_begun(
            work, ledger_writer_skip(work->writer, work->spec->schedule, skips, n, false));
}

/* ---- reading ---- */

/* The phase is one in which the ledger is read. */
static void job_work_send_read(JobWork *work, bool watch) {
        int r = ledger_cursor_read(work->cursor, watch);

        if (r < 0)
                job_work_end(work);
        if (r < 0 && r != -ENOTCONN)
                job_work_retry_in(work, JOB_RETRY_DELAY);
}

void job_work_read(JobWork *work, bool watch) {
        job_work_begin_phase(work, JOB_EVENT_READ);
        job_work_send_read(work, watch);
}

/* Nothing is written by a clock that was not compared with the server's lately. That is begun, and
 * the ledger is read again a moment later. */
static void job_work_wait_for_good_clock(JobWork *work) {
        clock_watch_measure(work->parts->clock);
        ledger_cursor_forget(work->cursor);
        job_work_end_and_retry(work, JOB_CLOCK_DELAY);
}

static void job_work_on_ledger(JobWork *work) {
        switch (
            in_force_check(work->in_force, work->spec, clock_watch_is_good(work->parts->clock))) {
        case IN_FORCE_OURS:
                job_work_happen(work, JOB_EVENT_LEDGER_READ);
                return;
        case IN_FORCE_DRIFTED: /* the others may come round to our definition */
                job_work_end_and_retry(work, JOB_FAULT_DELAY);
                return;
        case IN_FORCE_NEEDS_CLOCK:
                job_work_wait_for_good_clock(work);
                return;
        case IN_FORCE_WRITES:
                job_work_begin_phase(work, JOB_EVENT_WRITE);
                return;
        case IN_FORCE_FAILED:
                job_work_begin_phase(work, JOB_EVENT_WRITE);
                job_work_write_begun(work, in_force_error(work->in_force));
        }
}

static void job_work_on_no_ledger(JobWork *work) {
        if (!clock_watch_is_good(work->parts->clock)) {
                job_work_wait_for_good_clock(work);
                return;
        }
        job_work_begin_phase(work, JOB_EVENT_WRITE);
        job_work_write_begun(work, in_force_make_ledger(work->in_force, work->spec));
}

static void job_work_on_cursor(LedgerCursorEvent event, void *userdata) {
        JobWork *work = userdata;

        switch (event) {
        case LEDGER_CURSOR_READ:
                job_work_on_ledger(work);
                return;
        case LEDGER_CURSOR_ABSENT:
                job_work_on_no_ledger(work);
                return;
        case LEDGER_CURSOR_UNREADABLE:
                job_work_end_and_retry(work, JOB_FAULT_DELAY);
                return;
        case LEDGER_CURSOR_FAILED:
                job_work_end_and_retry(work, JOB_RETRY_DELAY);
                return;
        case LEDGER_CURSOR_CLOSED:
                job_work_end(work);
                return;
        case LEDGER_CURSOR_CHANGED:
                job_work_happen(work, JOB_EVENT_LEDGER_CHANGED);
        }
}

/* ---- queueing ---- */

/* Return: when it is too late for this tick (this manual run). What a process before us waited for
 * has its start deadline behind it. */
static usec_t job_work_too_late(const JobWork *work, int64_t tick, const ManualRun *run) {
        if (run)
                return run->not_after;
        if (tick == waited_for_tick(work->waited_for))
                return attempt_wait_ends(work->spec, tick);
        return usec_add((usec_t)tick * USEC_PER_SEC, work->spec->start_deadline);
}

/* Return: whether a place is had. Otherwise we hear of it once one is, and look again when it is
 * too late. */
static bool job_work_has_place(JobWork *work, int64_t tick, const ManualRun *run) {
        usec_t due = run ? run->asked : (usec_t)tick * USEC_PER_SEC;
        usec_t end = job_work_too_late(work, tick, run);

        if (gate_ask_place(work->parts->gate, work->spec->name, due))
                return true;
        job_work_end(work);
        gate_refused(work->parts->gate);
        if (end != USEC_INFINITY)
                job_work_retry_in(work, usec_add(usec_sub(end, clock_realtime()), 1));
        return false;
}

void job_work_queue(JobWork *work, int64_t tick, const ManualRun *run) {
        const AttemptParts parts = {work->parts->node, work->parts->tree, work->parts->ledgers,
                                    work->parts->runs};

        if (!job_work_has_place(work, tick, run))
                return;
        job_work_begin_phase(work, attempt_needs_locks(work->spec) ? JOB_EVENT_QUEUE
                                                                   : JOB_EVENT_QUEUE_FREE);
        if (attempt_new(&parts, work->spec, tick, run, job_work_on_attempt, work, &work->attempt) <
            0)
                job_work_end_and_retry(work, JOB_RETRY_DELAY);
        else
                job_work_send_read(work, false);
}

static void job_work_claim(JobWork *work) {
        int r;

        (void)job_work_step(work, JOB_EVENT_CLAIM);
        r = attempt_claim(work->attempt);
        if (r >= 0) {
                ledger_writer_look_for_records(work->writer); /* on the way */
                return;
        }
        if (r == -EBUSY)
                gate_refused(work->parts->gate);
        job_work_end_and_retry(work, JOB_RETRY_DELAY);
}

void job_work_go_on(JobWork *work) {
        if (work->phase == JOB_PHASE_HOLDING) {
                job_work_claim(work);
        } else if (!ledger_cursor_is_watching(work->cursor)) {
                (void)job_work_step(work, JOB_EVENT_WATCH);
                job_work_send_read(work, true);
        }
}

/* The locks could not be had in time, and the ledger is read: what they were for is skipped. */
static void job_work_give_up(JobWork *work) {
        int64_t tick = attempt_tick(work->attempt);
        DecisionSkip skip = {.from = tick,
                             .to = tick,
                             .count = 1,
                             .why = "lock-wait: its locks were not free in time"};
        _cleanup_(manual_run_freep) ManualRun *run =
            attempt_manual(work->attempt) ? manual_run_copy(attempt_manual(work->attempt)) : NULL;

        if (run)
                job_work_refuse(work, run, skip.why);
        else if (!ledger_is_decided(job_work_ledger(work), tick))
                job_work_skip(work, &skip, 1);
        else
                job_work_end_and_retry(work, 0);
}

static void job_work_on_faulty_locks(JobWork *work) {
        const LogAbout about = {.message_id = MESSAGE_FOREIGN_DATA, .job = work->spec->name};
        const char *fault = attempt_fault(work->attempt);

        if (g_strcmp0(work->lock_fault, fault) != 0)
                log_error(&about, "its locks cannot be had: %s", fault);
        g_free(work->lock_fault);
        work->lock_fault = g_strdup(fault);
        job_work_end_and_retry(work, JOB_FAULT_DELAY);
}

static void job_work_on_won(JobWork *work) {
        work->events->manual_gone(attempt_run(work->attempt), work->userdata);
        job_work_end_and_retry(work, 0); /* the timer for the next tick */
}

static void job_work_on_taken(JobWork *work) {
        g_autofree char *run = g_strdup(attempt_run(work->attempt));
        _cleanup_(job_spec_freep) JobSpec *spec = job_spec_ref(attempt_spec(work->attempt));
        int64_t tick = attempt_tick(work->attempt);

        work->events->manual_gone(run, work->userdata);
        job_work_begin_phase(work, JOB_EVENT_WRITE);
        job_work_write_begun(work, ledger_writer_repair(work->writer, run, tick, spec));
}

static void job_work_on_stale(JobWork *work) {
        if (!attempt_may_claim_again(work->attempt, work->spec))
                job_work_end_and_retry(work, JOB_RETRY_DELAY);
        else if (attempt_holds_locks(work->attempt))
                job_work_happen(work, JOB_EVENT_CLAIM_STALE);
        else
                job_work_read(work, false);
}

/* The claim may have been done after all: whatever stands open under our name is looked at. */
static void job_work_on_claim_over(JobWork *work) {
        ledger_cursor_forget(work->cursor);
        job_work_end_and_retry(work, JOB_RETRY_DELAY);
        recovery_check(work->parts->recovery);
}

static void job_work_on_attempt(AttemptEvent event, void *userdata) {
        JobWork *work = userdata;

        switch (event) {
        case ATTEMPT_HELD:
                g_clear_pointer(&work->lock_fault, g_free);
                job_work_happen(work, JOB_EVENT_LOCKS_HELD);
                return;
        case ATTEMPT_TIMED_OUT:
                job_work_happen(work, JOB_EVENT_LOCKS_LATE);
                return;
        case ATTEMPT_FAULTY:
                job_work_on_faulty_locks(work);
                return;
        case ATTEMPT_LOST:
                job_work_end_and_retry(work, JOB_RETRY_DELAY);
                return;
        case ATTEMPT_WON:
                job_work_on_won(work);
                return;
        case ATTEMPT_TAKEN:
                job_work_on_taken(work);
                return;
        case ATTEMPT_STALE:
                job_work_on_stale(work);
                return;
        case ATTEMPT_OVER:
                job_work_on_claim_over(work);
        }
}

static void job_work_on_waiters(int error, const GPtrArray *found, void *userdata) {
        JobWork *work = userdata;

        if (error < 0 || !job_work_ledger(work))
                job_work_end_and_retry(work, error < 0 ? JOB_RETRY_DELAY : JOB_FAULT_DELAY);
        else
                work->events->found(found, work->userdata);
}

void job_work_look(JobWork *work) {
        job_work_begin_phase(work, JOB_EVENT_LOOK);
        if (waited_for_look(work->waited_for, work->spec) < 0)
                job_work_end_and_retry(work, JOB_RETRY_DELAY);
}

/* ---- what happens ---- */

static void job_work_happen(JobWork *work, JobEvent event) {
        switch (job_work_step(work, event)) {
        case JOB_ACTION_NONE:
        case JOB_ACTION_CONSIDER: /* only when somebody asks: job_work_consider() */
        case JOB_ACTION_REMEMBER:
        case JOB_ACTION_IMPOSSIBLE:
                return;
        case JOB_ACTION_RECONSIDER:
                ledger_cursor_forget(work->cursor);
                work->events->changed(work->userdata);
                return;
        case JOB_ACTION_DECIDE:
                work->events->decide(false, work->userdata);
                return;
        case JOB_ACTION_READ:
                job_work_send_read(work, false);
                return;
        case JOB_ACTION_GIVE_UP:
                job_work_give_up(work);
        }
}

JobAction job_work_consider(JobWork *work) {
        JobAction action = job_work_step(work, JOB_EVENT_CONSIDER);

        work->again |= action == JOB_ACTION_REMEMBER;
        return action;
}

static void job_work_take_spec(JobWork *work, const JobSpec *spec) {
        JobSpec *taken = job_spec_ref(spec);

        job_spec_free(work->spec);
        work->spec = taken;
}

bool job_work_replace(JobWork *work, const JobSpec *spec) {
        bool equal = job_spec_equal(work->spec, spec);
        bool alike = equal || job_spec_waits_alike(work->spec, spec);

        /* What waits will run the new one; what is claimed was. */
        if (alike && work->attempt && (equal || work->phase != JOB_PHASE_CLAIMING))
                attempt_take_spec(work->attempt, spec);
        job_work_take_spec(work, spec);
        if (alike)
                return true;
        in_force_changed(work->in_force);
        /* What is on its way is answered first. */
        if (work->phase != JOB_PHASE_CLAIMING && work->phase != JOB_PHASE_WRITING)
                job_work_cancel(work);
        return false;
}

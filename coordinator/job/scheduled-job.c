/* See scheduled-job.h. */
#include "scheduled-job.h"

#include <errno.h>

#include "attempt.h"
#include "in-force.h"
#include "job-decision.h"
#include "job-phase.h"
#include "ledger-cursor.h"
#include "log.h"
#include "message-id.h"
#include "placement.h"
#include "timer.h"
#include "waited-for.h"

#define JOB_RETRY_DELAY (1 * USEC_PER_SEC)
#define JOB_FAULT_DELAY (30 * USEC_PER_SEC)
#define JOB_CLOCK_DELAY (100 * USEC_PER_MSEC)

struct ScheduledJob {
        const JobParts *parts; /* weak */
        JobSpec *spec;
        char *name;

        LedgerCursor *cursor;
        LedgerWriter *writer;
        InForce *in_force;
        JobDecision *decision;
        WaitedFor *waited_for;
        ManualRuns *manual;
        Attempt *attempt; /* while it is in the queues, or claims */

        JobPhase phase;
        bool again;        /* to be considered once what is under way is over */
        usec_t hold_until; /* CLOCK_BOOTTIME: lower ranks go first */
        char *lock_fault;  /* why the locks could not be had the last time */
        sd_event_source *timer, *retry;
};

static void job_on_cursor(LedgerCursorEvent event, void *userdata);
static void job_on_written(LedgerWriteOutcome outcome, const char *refused, void *userdata);
static void job_on_attempt(AttemptEvent event, void *userdata);
static void job_on_waiters(int error, const GPtrArray *found, void *userdata);
static void job_decide_now(ScheduledJob *job, bool nobody_waits);
static void job_happen(ScheduledJob *job, JobEvent event);

static void job_make_parts(ScheduledJob *job) {
        const JobParts *parts = job->parts;
        const LedgerCursorParts cursor = {parts->node, parts->ledgers, parts->runs,
                                          parts->recovery};
        const LedgerWriterParts writer = {parts->node, parts->tree, parts->ledgers, parts->pruner};
        const JobDecisionParts decision = {parts->node, parts->ledgers, parts->ranks};
        InForceParts in_force = {.node = parts->node,
                                 .ledgers = parts->ledgers,
                                 .digests = parts->digests,
                                 .registration = parts->registration,
                                 .members = parts->members};

        job->cursor = ledger_cursor_new(&cursor, job->name, job_on_cursor, job);
        job->writer = ledger_writer_new(&writer, job->name, job_on_written, job);
        in_force.writer = job->writer;
        job->in_force = in_force_new(&in_force, job->name);
        job->decision = job_decision_new(&decision, job->name);
        job->waited_for = waited_for_new(parts->node, job->name, job_on_waiters, job);
        job->manual = manual_runs_new();
}

ScheduledJob *scheduled_job_new(const JobParts *parts, const JobSpec *spec) {
        ScheduledJob *job = g_new0(ScheduledJob, 1);

        job->parts = parts;
        job->spec = job_spec_ref(spec);
        job->name = g_strdup(spec->name);
        job_make_parts(job);
        return job;
}

const char *scheduled_job_name(const ScheduledJob *job) {
        return job->name;
}

const JobSpec *scheduled_job_spec(const ScheduledJob *job) {
        return job->spec;
}

static const Ledger *job_ledger(const ScheduledJob *job) {
        return ledger_cursor_ledger(job->cursor);
}

/* ---- timers ---- */

static void job_on_timer(void *userdata) {
        scheduled_job_consider(userdata);
}

/* `at` on CLOCK_REALTIME: when the clock is set, the timer goes with it. */
static void job_wake_at(ScheduledJob *job, usec_t at) {
        job->timer = sd_event_source_disable_unref(job->timer);
        if (at != USEC_INFINITY)
                (void)timer_at(job->parts->node->event, &job->timer, CLOCK_REALTIME, at,
                               job_on_timer, job);
}

/* Whoever asked to be asked again sooner still is: what happened meanwhile is not forgotten over a
 * longer wait. */
static void job_retry_in(ScheduledJob *job, usec_t delay) {
        usec_t at = usec_add(clock_boottime(), delay), before;

        if (!job->retry || sd_event_source_get_time(job->retry, &before) < 0 || before > at)
                (void)timer_at(job->parts->node->event, &job->retry, CLOCK_BOOTTIME, at,
                               job_on_timer, job);
}

void scheduled_job_hurry(ScheduledJob *job) {
        job_retry_in(job, 0);
}

/* ---- from one phase to the next ---- */

static JobAction job_step(ScheduledJob *job, JobEvent event) {
        JobStep step = job_phase_step(job->phase, event);

        if (step.action == JOB_ACTION_IMPOSSIBLE)
                g_error("%s: %s while %s: impossible", job->name, job_event_to_string(event),
                        job_phase_to_string(job->phase));
        job->phase = step.phase;
        return step.action;
}

/* Something else is begun: what was under way is dropped, and locks are let go of. */
static void job_begin_phase(ScheduledJob *job, JobEvent event) {
        (void)job_step(job, event);
        ledger_cursor_stop(job->cursor);
        waited_for_stop(job->waited_for);
        job->attempt = attempt_free(job->attempt);
}

/* Nothing is to be run at present: neither a place nor one in line is needed. */
static void job_leave_line(ScheduledJob *job) {
        gate_leave_place(job->parts->gate, job->name);
}

static void job_end(ScheduledJob *job) {
        job_begin_phase(job, JOB_EVENT_END);
        if (gate_has_place(job->parts->gate, job->name))
                job_leave_line(job); /* one in line is kept: what is due still is */
        if (job->again)
                job_retry_in(job, 0);
        job->again = false;
}

static void job_end_and_retry(ScheduledJob *job, usec_t delay) {
        job_end(job);
        job_retry_in(job, delay);
}

/* Drops whatever is under way, and what we would have been woken for. */
static void job_cancel(ScheduledJob *job) {
        job_begin_phase(job, JOB_EVENT_END);
        ledger_cursor_reset(job->cursor);
        ledger_writer_cancel(job->writer);
        in_force_reset(job->in_force);
        job->timer = sd_event_source_disable_unref(job->timer);
        job->retry = sd_event_source_disable_unref(job->retry);
        job->again = false;
        job_leave_line(job);
}

void scheduled_job_reset(ScheduledJob *job) {
        job_cancel(job);
        ledger_cursor_forget(job->cursor);
        ledger_writer_reset(job->writer);
        job_decision_reset(job->decision);
        manual_runs_clear(job->manual);
        waited_for_set_tick(job->waited_for, 0);
}

ScheduledJob *scheduled_job_free(ScheduledJob *job) {
        if (!job)
                return NULL;
        scheduled_job_reset(job);
        manual_runs_free(job->manual);
        waited_for_free(job->waited_for);
        job_decision_free(job->decision);
        in_force_free(job->in_force);
        ledger_writer_free(job->writer);
        ledger_cursor_free(job->cursor);
        g_free(job->lock_fault);
        g_free(job->name);
        job_spec_free(job->spec);
        g_free(job);
        return NULL;
}

/* ---- writing ---- */

static void job_on_written(LedgerWriteOutcome outcome, const char *refused, void *userdata) {
        ScheduledJob *job = userdata;

        in_force_written(job->in_force, outcome);
        if (refused)
                manual_runs_drop(job->manual, refused);
        job_end(job);
        if (outcome == LEDGER_WRITE_CLOSED)
                return; /* the coordinator begins again with the next session */
        job_retry_in(job, outcome == LEDGER_WRITE_FAILED ? JOB_RETRY_DELAY : 0);
}

/* A write was begun, or (`r`) could not be. */
static void job_write_begun(ScheduledJob *job, int r) {
        if (r < 0)
                job_on_written(ledger_writer_outcome(r), NULL, job);
}

static void job_refuse(ScheduledJob *job, const ManualRun *run, const char *why) {
        job_begin_phase(job, JOB_EVENT_WRITE);
        job_write_begun(job, ledger_writer_refuse(job->writer, run->id, run->who, why));
}

/* What was missed because its locks cannot be had was not missed for want of a node. */
static const char *job_skip_why(const ScheduledJob *job, const char *why) {
        if (!g_str_has_prefix(why, "missed"))
                return why;
        if (job->lock_fault)
                return "missed: its locks could not be had";
        if (gate_waits_for_place(job->parts->gate, job->name))
                return "missed: max-runs was reached on the nodes whose turn it was";
        return why;
}

static void job_skip(ScheduledJob *job, DecisionSkip *skips, size_t n) {
        for (size_t i = 0; i < n; i++)
                skips[i].why = job_skip_why(job, skips[i].why);
        job_begin_phase(job, JOB_EVENT_WRITE);
        job_write_begun(job, ledger_writer_skip(job->writer, job->spec->schedule, skips, n, false));
}

/* ---- reading ---- */

/* The phase is one in which the ledger is read. */
static void job_send_read(ScheduledJob *job, bool watch) {
        int r = ledger_cursor_read(job->cursor, watch);

        if (r < 0)
                job_end(job);
        if (r < 0 && r != -ENOTCONN)
                job_retry_in(job, JOB_RETRY_DELAY);
}

static void job_read(ScheduledJob *job, bool watch) {
        job_begin_phase(job, JOB_EVENT_READ);
        job_send_read(job, watch);
}

/* Nothing is written by a clock that was not compared with the server's lately. That is begun, and
 * the ledger is read again a moment later. */
static void job_wait_for_good_clock(ScheduledJob *job) {
        clock_watch_measure(job->parts->clock);
        ledger_cursor_forget(job->cursor);
        job_end_and_retry(job, JOB_CLOCK_DELAY);
}

static void job_on_ledger(ScheduledJob *job) {
        switch (in_force_check(job->in_force, job->spec, clock_watch_is_good(job->parts->clock))) {
        case IN_FORCE_OURS:
                job_happen(job, JOB_EVENT_LEDGER_READ);
                return;
        case IN_FORCE_DRIFTED: /* the others may come round to our definition */
                job_end_and_retry(job, JOB_FAULT_DELAY);
                return;
        case IN_FORCE_NEEDS_CLOCK:
                job_wait_for_good_clock(job);
                return;
        case IN_FORCE_WRITES:
                job_begin_phase(job, JOB_EVENT_WRITE);
                return;
        case IN_FORCE_FAILED:
                job_begin_phase(job, JOB_EVENT_WRITE);
                job_write_begun(job, in_force_error(job->in_force));
        }
}

static void job_on_no_ledger(ScheduledJob *job) {
        if (!clock_watch_is_good(job->parts->clock)) {
                job_wait_for_good_clock(job);
                return;
        }
        job_begin_phase(job, JOB_EVENT_WRITE);
        job_write_begun(job, in_force_make_ledger(job->in_force, job->spec));
}

static void job_on_cursor(LedgerCursorEvent event, void *userdata) {
        ScheduledJob *job = userdata;

        switch (event) {
        case LEDGER_CURSOR_READ:
                job_on_ledger(job);
                return;
        case LEDGER_CURSOR_ABSENT:
                job_on_no_ledger(job);
                return;
        case LEDGER_CURSOR_UNREADABLE:
                job_end_and_retry(job, JOB_FAULT_DELAY);
                return;
        case LEDGER_CURSOR_FAILED:
                job_end_and_retry(job, JOB_RETRY_DELAY);
                return;
        case LEDGER_CURSOR_CLOSED:
                job_end(job);
                return;
        case LEDGER_CURSOR_CHANGED:
                job_happen(job, JOB_EVENT_LEDGER_CHANGED);
        }
}

/* ---- queueing ---- */

/* Return: when it is too late for this tick (this manual run). What a process before us waited for
 * has its start deadline behind it. */
static usec_t job_too_late(const ScheduledJob *job, int64_t tick, const ManualRun *run) {
        if (run)
                return run->not_after;
        if (tick == waited_for_tick(job->waited_for))
                return attempt_wait_ends(job->spec, tick);
        return usec_add((usec_t)tick * USEC_PER_SEC, job->spec->start_deadline);
}

/* Return: whether a place is had. Otherwise we hear of it once one is, and look again when it is
 * too late. */
static bool job_has_place(ScheduledJob *job, int64_t tick, const ManualRun *run) {
        usec_t due = run ? run->asked : (usec_t)tick * USEC_PER_SEC;
        usec_t end = job_too_late(job, tick, run);

        if (gate_ask_place(job->parts->gate, job->name, due))
                return true;
        job_end(job);
        gate_refused(job->parts->gate);
        if (end != USEC_INFINITY)
                job_retry_in(job, usec_add(usec_sub(end, clock_realtime()), 1));
        return false;
}

/* Asks for the locks and, in the same flight, for the ledger as it is now, once there is a place;
 * until then we stand in line for one, and nothing is under way. `run` NULL: for the tick. */
static void job_queue(ScheduledJob *job, int64_t tick, const ManualRun *run) {
        const AttemptParts parts = {job->parts->node, job->parts->tree, job->parts->ledgers,
                                    job->parts->runs};

        if (!job_has_place(job, tick, run))
                return;
        job_begin_phase(job,
                        attempt_needs_locks(job->spec) ? JOB_EVENT_QUEUE : JOB_EVENT_QUEUE_FREE);
        if (attempt_new(&parts, job->spec, tick, run, job_on_attempt, job, &job->attempt) < 0)
                job_end_and_retry(job, JOB_RETRY_DELAY);
        else
                job_send_read(job, false);
}

static void job_claim(ScheduledJob *job) {
        int r;

        (void)job_step(job, JOB_EVENT_CLAIM);
        r = attempt_claim(job->attempt);
        if (r >= 0) {
                ledger_writer_look_for_records(job->writer); /* on the way */
                return;
        }
        if (r == -EBUSY)
                gate_refused(job->parts->gate);
        job_end_and_retry(job, JOB_RETRY_DELAY);
}

/* In the queues: claims, or sees to it that we hear of it when somebody else settles what we wait
 * for. */
static void job_go_on_queueing(ScheduledJob *job) {
        if (job->phase == JOB_PHASE_HOLDING) {
                job_claim(job);
        } else if (!ledger_cursor_is_watching(job->cursor)) {
                (void)job_step(job, JOB_EVENT_WATCH);
                job_send_read(job, true);
        }
}

/* The locks could not be had in time, and the ledger is read: what they were for is skipped. */
static void job_give_up(ScheduledJob *job) {
        int64_t tick = attempt_tick(job->attempt);
        DecisionSkip skip = {.from = tick,
                             .to = tick,
                             .count = 1,
                             .why = "lock-wait: its locks were not free in time"};
        _cleanup_(manual_run_freep) ManualRun *run =
            attempt_manual(job->attempt) ? manual_run_copy(attempt_manual(job->attempt)) : NULL;

        if (run)
                job_refuse(job, run, skip.why);
        else if (!ledger_is_decided(job_ledger(job), tick))
                job_skip(job, &skip, 1);
        else
                job_end_and_retry(job, 0);
}

static void job_on_faulty_locks(ScheduledJob *job) {
        const LogAbout about = {.message_id = MESSAGE_FOREIGN_DATA, .job = job->name};
        const char *fault = attempt_fault(job->attempt);

        if (g_strcmp0(job->lock_fault, fault) != 0)
                log_error(&about, "its locks cannot be had: %s", fault);
        g_free(job->lock_fault);
        job->lock_fault = g_strdup(fault);
        job_end_and_retry(job, JOB_FAULT_DELAY);
}

static void job_on_won(ScheduledJob *job) {
        manual_runs_drop(job->manual, attempt_run(job->attempt));
        job_end_and_retry(job, 0); /* the timer for the next tick */
}

static void job_on_taken(ScheduledJob *job) {
        g_autofree char *run = g_strdup(attempt_run(job->attempt));
        _cleanup_(job_spec_freep) JobSpec *spec = job_spec_ref(attempt_spec(job->attempt));
        int64_t tick = attempt_tick(job->attempt);

        manual_runs_drop(job->manual, run);
        job_begin_phase(job, JOB_EVENT_WRITE);
        job_write_begun(job, ledger_writer_repair(job->writer, run, tick, spec));
}

static void job_on_stale(ScheduledJob *job) {
        if (!attempt_may_claim_again(job->attempt, job->spec))
                job_end_and_retry(job, JOB_RETRY_DELAY);
        else if (attempt_holds_locks(job->attempt))
                job_happen(job, JOB_EVENT_CLAIM_STALE);
        else
                job_read(job, false);
}

/* The claim may have been done after all: whatever stands open under our name is looked at. */
static void job_on_claim_over(ScheduledJob *job) {
        ledger_cursor_forget(job->cursor);
        job_end_and_retry(job, JOB_RETRY_DELAY);
        recovery_check(job->parts->recovery);
}

static void job_on_attempt(AttemptEvent event, void *userdata) {
        ScheduledJob *job = userdata;

        switch (event) {
        case ATTEMPT_HELD:
                g_clear_pointer(&job->lock_fault, g_free);
                job_happen(job, JOB_EVENT_LOCKS_HELD);
                return;
        case ATTEMPT_TIMED_OUT:
                job_happen(job, JOB_EVENT_LOCKS_LATE);
                return;
        case ATTEMPT_FAULTY:
                job_on_faulty_locks(job);
                return;
        case ATTEMPT_LOST:
                job_end_and_retry(job, JOB_RETRY_DELAY);
                return;
        case ATTEMPT_WON:
                job_on_won(job);
                return;
        case ATTEMPT_TAKEN:
                job_on_taken(job);
                return;
        case ATTEMPT_STALE:
                job_on_stale(job);
                return;
        case ATTEMPT_OVER:
                job_on_claim_over(job);
        }
}

/* ---- deciding ---- */

/* Return: whether we stand in the queues for this tick (this manual run) already. */
static bool job_is_queued_for(const ScheduledJob *job, int64_t tick, const ManualRun *run) {
        return job_phase_is_in_queues(job->phase) && attempt_is_for(job->attempt, tick, run);
}

static Decision job_ask(const ScheduledJob *job) {
        bool queues = job_phase_is_in_queues(job->phase) && !attempt_manual(job->attempt);

        return job_decide(job->decision, job->spec, queues);
}

/* Waits until the ledger changes (a watch), or the run in our way has stood there for too long. */
static void job_wait_for_blocker(ScheduledJob *job, const LedgerEntry *blocker) {
        usec_t patience = job_decision_wait_for(job->decision, blocker);

        job_end_and_retry(job, MAX(patience, 10 * USEC_PER_MSEC));
}

/* Manual runs go first. Return: whether something was begun. */
static bool job_act_on_request(ScheduledJob *job) {
        const ManualRun *run = manual_runs_first(job->manual);
        bool nobody, expired = run && clock_realtime() > run->not_after;

        if (!run)
                return false;
        (void)ranks_of_job(job->parts->ranks, job->spec, &nobody);
        if (nobody && !expired)
                return false; /* we were a candidate when we took it on */
        if (expired)
                job_refuse(job, run, "no node could start it in time");
        else if (ledger_first_claimed(job_ledger(job)))
                job_refuse(job, run, "overlap: the previous run was still under way");
        else if (job_is_queued_for(job, 0, run))
                job_go_on_queueing(job);
        else
                job_queue(job, 0, run);
        return true;
}

/* start-deadline bounds when queueing may begin; how long it lasts is lock-wait's business, so a
 * tick that is queued for is neither too old nor too late. Return: whether that goes on. */
static bool job_act_on_long_wait(ScheduledJob *job) {
        int64_t tick = job->attempt ? attempt_tick(job->attempt) : 0;

        if (!job->spec->lock_wait_set || !tick || !job_is_queued_for(job, tick, NULL) ||
            ledger_is_decided(job_ledger(job), tick) || ledger_first_claimed(job_ledger(job)))
                return false;
        job_go_on_queueing(job);
        return true;
}

static void job_on_waiters(int error, const GPtrArray *found, void *userdata) {
        ScheduledJob *job = userdata;
        Decision decision = job_ledger(job) ? job_ask(job) : (Decision){.n_skips = 0};

        if (error < 0 || !job_ledger(job)) {
                job_end_and_retry(job, error < 0 ? JOB_RETRY_DELAY : JOB_FAULT_DELAY);
                return;
        }
        switch (waited_for_judge(job->waited_for, job->spec, found, &decision)) {
        case WAITED_FOR_BY_NOBODY:
                job_decide_now(job, true);
                return;
        case WAITED_FOR_BY_US:
                job_queue(job, waited_for_tick(job->waited_for), NULL);
                return;
        case WAITED_FOR_BY_OTHERS:
                job_end_and_retry(job, JOB_FAULT_DELAY);
        }
}

static void job_act_on_skips(ScheduledJob *job, Decision *decision, bool nobody_waits) {
        if (nobody_waits || !waited_for_matters(job->spec, decision)) {
                job_skip(job, decision->skips, decision->n_skips);
                return;
        }
        job_begin_phase(job, JOB_EVENT_LOOK);
        if (waited_for_look(job->waited_for, job->spec) < 0)
                job_end_and_retry(job, JOB_RETRY_DELAY);
}

/* Nothing is decided by a clock that was not compared with the server's lately. Asking for the
 * locks compares them; otherwise a write of our own does. Locks that are held are kept meanwhile.
 * Return: whether that has to be waited for. */
static bool job_wait_for_clock(ScheduledJob *job) {
        if (clock_watch_is_known(job->parts->clock))
                return false;
        if (job->phase == JOB_PHASE_WAITING)
                return true;
        clock_watch_measure(job->parts->clock);
        if (job->phase != JOB_PHASE_HOLDING || !members_registered(job->parts->members))
                job_end(job);
        job_retry_in(job, JOB_CLOCK_DELAY);
        return true;
}

/* After a change of membership the lower ranks go first. Return: whether that has to be waited for.
 */
static bool job_wait_for_lower_ranks(ScheduledJob *job) {
        usec_t now = clock_boottime();

        if (now >= job->hold_until)
                return false;
        job_end_and_retry(job, job->hold_until - now);
        return true;
}

/* Return: whether nothing may be claimed for it now; when that is over it is considered again. */
static bool job_is_held_back(const ScheduledJob *job) {
        if (!gate_is_open(job->parts->gate)) {
                gate_wait(job->parts->gate);
                return true;
        }
        if (!leftovers_block(job->parts->leftovers, job->spec))
                return false;
        gate_refused(job->parts->gate);
        return true;
}

static void job_act_on_tick(ScheduledJob *job, int64_t tick) {
        if (job_is_queued_for(job, tick, NULL))
                job_go_on_queueing(job);
        else
                job_queue(job, tick, NULL);
}

static void job_act_on_blocker(ScheduledJob *job, const LedgerEntry *blocker) {
        job_leave_line(job);
        if (ledger_cursor_is_watching(job->cursor)) {
                job_wait_for_blocker(job, blocker);
                return;
        }
        (void)job_decision_wait_for(job->decision, blocker);
        job_read(job, true);
}

/* The ledger was just read. What now? */
static void job_decide_now(ScheduledJob *job, bool nobody_waits) {
        Decision decision;

        if (job_is_held_back(job)) {
                job_end(job);
                return;
        }
        decision = job_ask(job);
        if ((manual_runs_first(job->manual) || decision.n_skips > 0 ||
             decision.verdict != DECISION_NOTHING) &&
            (job_wait_for_clock(job) || job_act_on_request(job) || job_act_on_long_wait(job) ||
             job_wait_for_lower_ranks(job)))
                return;
        if (decision.n_skips > 0) {
                job_act_on_skips(job, &decision, nobody_waits);
                return;
        }
        job_wake_at(job, decision.again);
        switch (decision.verdict) {
        case DECISION_NOTHING:
                job_leave_line(job);
                job_end(job);
                return;
        case DECISION_BLOCKED:
                job_act_on_blocker(job, decision.blocker);
                return;
        case DECISION_RUN:
                job_act_on_tick(job, decision.tick);
        }
}

/* ---- asking ---- */

/* Return: whether the ledger has to be read to know what to do. What we last saw of it is enough to
 * say "nothing yet". */
static bool job_has_something_to_do(const ScheduledJob *job, Decision *decision) {
        if (!job_ledger(job) || in_force_is_drifted(job->in_force) ||
            manual_runs_first(job->manual))
                return true;
        *decision = job_ask(job);
        return decision->verdict != DECISION_NOTHING || decision->n_skips > 0;
}

/* Return: whether it is for us to look at it at all. */
static bool job_is_our_business(const ScheduledJob *job, uint32_t rank) {
        return rank < PLACEMENT_RANKS || in_force_is_drifted(job->in_force) ||
               job_decision_is_running_here(job->decision);
}

/* By what we know already. Return: whether it is enough to act by. */
static bool job_act_on_what_we_know(ScheduledJob *job, const Decision *decision, uint32_t rank) {
        if (decision->n_skips > 0 || !job_ledger(job) || in_force_is_drifted(job->in_force))
                return false;
        if (rank == 0 && decision->verdict == DECISION_RUN) {
                job_wake_at(job, decision->again); /* a newer tick, should it still wait by then */
                job_queue(job, decision->tick, NULL);
                return true;
        }
        /* What we know is watched, so it is the truth. */
        if (decision->verdict != DECISION_BLOCKED || !ledger_cursor_is_watching(job->cursor))
                return false;
        job_wait_for_blocker(job, decision->blocker);
        return true;
}

/* Nothing is under way. Is anything to be done? */
static void job_look(ScheduledJob *job) {
        Decision decision = {.verdict = DECISION_NOTHING, .again = USEC_INFINITY};
        uint32_t rank;
        bool nobody;

        if (in_force_is_unchecked(job->in_force)) /* whether it is in force stands in the ledger */
                ledger_cursor_forget(job->cursor);
        if (job_is_held_back(job)) {
                job_leave_line(job);
                return;
        }
        rank = ranks_act(job->parts->ranks, job->spec, &nobody);
        if (!job_is_our_business(job, rank) || !job_has_something_to_do(job, &decision)) {
                job_leave_line(job);
                job_wake_at(job, decision.again);
                return;
        }
        if (!job_act_on_what_we_know(job, &decision, rank))
                job_read(job, false);
}

static void job_happen(ScheduledJob *job, JobEvent event) {
        switch (job_step(job, event)) {
        case JOB_ACTION_NONE:
        case JOB_ACTION_IMPOSSIBLE:
                return;
        case JOB_ACTION_REMEMBER:
                job->again = true;
                return;
        case JOB_ACTION_RECONSIDER:
                ledger_cursor_forget(job->cursor);
                job_look(job);
                return;
        case JOB_ACTION_CONSIDER:
                job_look(job);
                return;
        case JOB_ACTION_DECIDE:
                job_decide_now(job, false);
                return;
        case JOB_ACTION_READ:
                job_send_read(job, false);
                return;
        case JOB_ACTION_GIVE_UP:
                job_give_up(job);
        }
}

void scheduled_job_consider(ScheduledJob *job) {
        job_happen(job, JOB_EVENT_CONSIDER);
}

void scheduled_job_begin(ScheduledJob *job) {
        bool nobody;
        uint32_t rank = ranks_of_job(job->parts->ranks, job->spec, &nobody);

        job->hold_until = 0;
        if (rank != 0 && rank < PLACEMENT_RANKS)
                job->hold_until =
                    usec_add(clock_boottime(), rank * job->parts->node->config->takeover_delay);
        scheduled_job_consider(job);
}

void scheduled_job_waited_for(ScheduledJob *job, int64_t tick) {
        waited_for_set_tick(job->waited_for, tick);
}

void scheduled_job_request(ScheduledJob *job, const char *id, const char *who, usec_t not_after) {
        manual_runs_add(job->manual, id, who, not_after);
        scheduled_job_consider(job);
}

static void job_take_spec(ScheduledJob *job, const JobSpec *spec) {
        JobSpec *taken = job_spec_ref(spec);

        job_spec_free(job->spec);
        job->spec = taken;
}

void scheduled_job_replace(ScheduledJob *job, const JobSpec *spec) {
        bool equal = job_spec_equal(job->spec, spec);
        bool alike = equal || job_spec_waits_alike(job->spec, spec);

        /* What waits will run the new one; what is claimed was. */
        if (alike && job->attempt && (equal || job->phase != JOB_PHASE_CLAIMING))
                attempt_take_spec(job->attempt, spec);
        job_take_spec(job, spec);
        if (alike)
                return;
        in_force_changed(job->in_force);
        /* What is on its way is answered first; `again` is set by the begin that follows. */
        if (job->phase != JOB_PHASE_CLAIMING && job->phase != JOB_PHASE_WRITING)
                job_cancel(job);
}

/* ---- for people ---- */

/* Return: what keeps it, a sentence or "". */
static const char *job_why_not(const ScheduledJob *job, const char *unfit, bool no_node) {
        const char *fault = ledger_cursor_fault(job->cursor);
        const char *block = leftovers_block(job->parts->leftovers, job->spec);

        if (unfit || fault || job->lock_fault)
                return unfit ? unfit : fault ? fault : job->lock_fault;
        if (block)
                return block;
        if (gate_waits_for_place(job->parts->gate, job->name))
                return "max-runs is reached on this node";
        return no_node ? "no node of the cluster can run it at present" : "";
}

ScheduledJobState scheduled_job_state(const ScheduledJob *job, const char **ret_why) {
        const char *unfit = ranks_unfit(job->parts->ranks, job->name);
        bool no_node = job_decision_has_no_node(job->decision, job->spec);
        const Ledger *ledger = job_ledger(job);

        *ret_why = job_why_not(job, unfit, no_node);
        if (in_force_is_drifted(job->in_force))
                return JOB_DRIFTED;
        if (unfit)
                return JOB_UNFIT;
        if (ledger_cursor_fault(job->cursor) || (!ledger && !no_node))
                return JOB_UNREAD;
        if (ledger && ledger_first_claimed(ledger))
                return JOB_RUNNING;
        if (job_phase_is_in_queues(job->phase) || gate_waits_for_place(job->parts->gate, job->name))
                return JOB_WAITING;
        return no_node ? JOB_NO_NODE : JOB_IDLE;
}

/* See job-work.h. */
#include "job-work.h"

#include <errno.h>

#include "backoff.h"
#include "bid.h"
#include "job-ledger.h"
#include "log.h"
#include "message-id.h"
#include "paths.h"

struct JobWork {
        const JobParts *parts; /* weak */
        const JobWorkEvents *events;
        void *userdata;

        JobLedger *ledger;
        WaitedFor *waited_for;
        Bid *bid; /* while it is in the queues, or claims */

        JobPhase phase;
        bool again;       /* to be considered once what is under way is over */
        bool restores;    /* a place is kept for what the process before us waited for */
        char *lock_fault; /* why the locks could not be had the last time */

        GPtrArray *whys;        /* char *: of what is skipped, where they name the run in the way */
        char *claim_fault;      /* why the last claim could not be made */
        const char *missed_why; /* with that: why what passes meanwhile was missed */
        Backoff claims;         /* nothing is claimed until then */
        char *refused_run;
};

static void job_work_on_bid(BidEvent event, void *userdata);
static void job_work_happen(JobWork *work, JobEvent event);

static const char *job_work_name(const JobWork *work) {
        return job_ledger_spec(work->ledger)->name;
}

/* ---- what it is about ---- */

JobPhase job_work_phase(const JobWork *work) {
        return work->phase;
}

int64_t job_work_queued_tick(const JobWork *work) {
        int64_t tick = job_phase_is_in_queues(work->phase) ? bid_tick(work->bid) : 0;

        return tick && bid_is_for(work->bid, tick, NULL) ? tick : 0;
}

bool job_work_stands_for(const JobWork *work, int64_t tick) {
        return tick != 0 && job_work_queued_tick(work) == tick && bid_stands(work->bid);
}

/* Return: the run of the job beside which none begins here, whatever the ledger says; or NULL. */
static const char *job_work_goes_on(const JobWork *work) {
        return bid_goes_on(work->parts->runs, job_ledger_spec(work->ledger),
                           job_ledger_known(work->ledger));
}

char *job_work_waits_for(const JobWork *work) {
        const char *run = job_work_goes_on(work);

        if (run)
                return g_strdup_printf("its run %s, which was given up, goes on here", run);
        /* While it looks whether its turn has come it waits for what it last saw. */
        return job_phase_is_in_queues(work->phase) || work->phase == JOB_PHASE_CLAIMING
                   ? bid_waits_for(work->bid)
                   : g_strdup("");
}

bool job_work_is_queued_for(const JobWork *work, const ManualRun *run) {
        return job_phase_is_in_queues(work->phase) && bid_is_for(work->bid, 0, run);
}

WaitedFor *job_work_waited_for(JobWork *work) {
        return work->waited_for;
}

JobLedger *job_work_ledger(JobWork *work) {
        return work->ledger;
}

const char *job_work_fault(const JobWork *work) {
        if (work->lock_fault)
                return work->lock_fault;
        /* After the pause it is not known any more: others may have run what was refused to us. */
        return clock_boottime() < work->claims.until ? work->claim_fault : NULL;
}

/* ---- from one phase to the next ---- */

static void job_work_retry_in(JobWork *work, usec_t delay) {
        work->events->again(delay, work->userdata);
}

static JobAction job_work_step(JobWork *work, JobEvent event) {
        JobStep step = job_phase_step(work->phase, event);

        if (step.action == JOB_ACTION_IMPOSSIBLE)
                g_error("%s: %s while %s: impossible", job_work_name(work),
                        job_event_to_string(event), job_phase_to_string(work->phase));
        work->phase = step.phase;
        return step.action;
}

/* Something else is begun: what was under way is dropped, and locks are let go of. */
static void job_work_begin_phase(JobWork *work, JobEvent event) {
        (void)job_work_step(work, event);
        job_ledger_stop_reading(work->ledger);
        waited_for_stop(work->waited_for);
        work->bid = bid_free(work->bid);
}

void job_work_leave_line(JobWork *work) {
        work->restores = false;
        gate_leave_place(work->parts->gate, job_work_name(work));
}

void job_work_end(JobWork *work) {
        job_work_begin_phase(work, JOB_EVENT_END);
        if (!work->restores && gate_has_place(work->parts->gate, job_work_name(work)))
                job_work_leave_line(work); /* one in line is kept: what is due still is */
        if (work->again)
                job_work_retry_in(work, 0);
        work->again = false;
}

void job_work_end_and_retry(JobWork *work, usec_t delay) {
        job_work_end(work);
        job_work_retry_in(work, delay);
}

/* Drops whatever is under way; locks are let go of. */
static void job_work_cancel(JobWork *work) {
        job_work_begin_phase(work, JOB_EVENT_END);
        job_ledger_cancel(work->ledger);
        work->again = false;
        job_work_leave_line(work);
}

static void job_work_forget_refusals(JobWork *work) {
        g_clear_pointer(&work->claim_fault, g_free);
        g_clear_pointer(&work->refused_run, g_free);
        work->claims = (Backoff){0};
}

void job_work_reset(JobWork *work) {
        job_work_cancel(work);
        job_work_forget_refusals(work);
        job_ledger_reset(work->ledger);
        waited_for_set_tick(work->waited_for, 0);
}

/* ---- writing ---- */

/* Something was asked of the ledger, or (`r`) could not be. Without a session the coordinator
 * begins again with the next. */
static void job_work_asked(JobWork *work, int r) {
        if (r < 0)
                job_work_end(work);
        if (r < 0 && r != -ENOTCONN)
                job_work_retry_in(work, JOB_RETRY_DELAY);
}

/* Return: borrowed until something else is skipped. */
static const char *job_work_keep_why(JobWork *work, char *why) {
        g_ptr_array_add(work->whys, why);
        return why;
}

/* Nobody sees that it is under way: its node is out of touch, and it is waited for. */
static const char *job_work_overlap_why(JobWork *work, const char *why) {
        const LedgerEntry *claimed = ledger_first_claimed(job_ledger_known(work->ledger));

        if (!claimed || !claimed->node || members_contains(work->parts->members, claimed->node))
                return why;
        return job_work_keep_why(work, g_strdup_printf("%s (%s on %s, which is out of touch)", why,
                                                       claimed->run, claimed->node));
}

/* What stood in a queue until a newer one came did not lack a node. */
static const char *job_work_missed_why(JobWork *work, const char *why) {
        const char *lock =
            job_phase_is_in_queues(work->phase) ? bid_lock_in_the_way(work->bid) : "";

        return *lock ? job_work_keep_why(
                           work, g_strdup_printf("%s (it waited for the lock %s)", why, lock))
                     : why;
}

/* What was missed because its locks cannot be had was not missed for want of a node. */
static const char *job_work_skip_why(JobWork *work, DecisionWhy why) {
        const char *run = job_work_goes_on(work);

        if (decision_is_overlap(why))
                return job_work_overlap_why(work, why.text);
        if (why.kind != DECISION_KIND_MISSED)
                return why.text;
        if (run)
                return job_work_keep_why(
                    work, g_strdup_printf(
                              "overlap: the previous run, which was given up, goes on (%s)", run));
        if (work->lock_fault)
                return "missed: its locks could not be had";
        if (work->claim_fault)
                return work->missed_why;
        if (gate_waits_for_place(work->parts->gate, job_work_name(work)))
                return "missed: max-runs was reached on the nodes whose turn it was";
        return job_work_missed_why(work, why.text);
}

void job_work_refuse(JobWork *work, const ManualRun *run, DecisionWhy why) {
        const char *text;

        g_ptr_array_set_size(work->whys, 0);
        text = job_work_skip_why(work, why);
        job_work_begin_phase(work, JOB_EVENT_WRITE);
        job_work_asked(work, job_ledger_refuse(work->ledger, run, text));
}

void job_work_skip(JobWork *work, DecisionSkip *skips, size_t n) {
        g_ptr_array_set_size(work->whys, 0);
        for (size_t i = 0; i < n; i++)
                skips[i].why.text = job_work_skip_why(work, skips[i].why);
        job_work_begin_phase(work, JOB_EVENT_WRITE);
        job_work_asked(work, job_ledger_skip(work->ledger, skips, n));
}

/* ---- reading ---- */

/* The phase is one in which the ledger is read. */
static void job_work_send_read(JobWork *work, bool watch) {
        job_work_asked(work, job_ledger_read(work->ledger, watch));
}

void job_work_read(JobWork *work, bool watch) {
        job_work_begin_phase(work, JOB_EVENT_READ);
        job_work_send_read(work, watch);
}

static void job_work_on_read(void *userdata) {
        job_work_happen(userdata, JOB_EVENT_LEDGER_READ);
}

static void job_work_on_changed(void *userdata) {
        job_work_happen(userdata, JOB_EVENT_LEDGER_CHANGED);
}

static void job_work_on_writes(void *userdata) {
        job_work_begin_phase(userdata, JOB_EVENT_WRITE);
}

static void job_work_on_over(usec_t delay, void *userdata) {
        JobWork *work = userdata;

        work->restores = false; /* that may last */
        job_work_end(work);
        if (delay != USEC_INFINITY)
                job_work_retry_in(work, delay);
}

static void job_work_on_refused(const char *run, void *userdata) {
        JobWork *work = userdata;

        work->events->manual_gone(run, work->userdata);
}

/* ---- queueing ---- */

/* Return: the second from which on the tick may be started. */
static int64_t job_work_due(const JobWork *work, int64_t tick) {
        return decision_due(job_ledger_spec(work->ledger), job_ledger_known(work->ledger), tick);
}

/* Return: when it is too late for this tick (this manual run). What a process before us waited for
 * has its start deadline behind it. */
static usec_t job_work_too_late(const JobWork *work, int64_t tick, const ManualRun *run) {
        if (run)
                return run->not_after;
        if (tick == waited_for_tick(work->waited_for))
                return bid_wait_ends(job_ledger_spec(work->ledger), job_work_due(work, tick));
        return job_spec_start_by(job_ledger_spec(work->ledger), job_work_due(work, tick));
}

/* It had a place, and has one until it is known what becomes of it: by then, others who are due may
 * have taken all. */
void job_work_wait_again(JobWork *work, int64_t tick) {
        waited_for_set_tick(work->waited_for, tick);
        work->restores = true;
        (void)gate_ask_place(work->parts->gate, job_work_name(work), (usec_t)tick * USEC_PER_SEC);
}

bool job_work_restores(const JobWork *work) {
        return work->restores;
}

/* Return: whether a place is had. Otherwise we hear of it once one is, and look again when it is
 * too late. */
static bool job_work_has_place(JobWork *work, int64_t tick, const ManualRun *run) {
        usec_t due = run ? run->asked : (usec_t)job_work_due(work, tick) * USEC_PER_SEC;
        usec_t end = job_work_too_late(work, tick, run);

        if (gate_ask_place(work->parts->gate, job_work_name(work), due))
                return true;
        job_work_end(work);
        gate_refused(work->parts->gate);
        if (end != USEC_INFINITY)
                job_work_retry_in(work, usec_add(usec_sub(end, clock_realtime()), 1));
        return false;
}

/* Return: whether the server did not refuse a claim of the job just now, or people asked for this
 * run since. Otherwise we look again later: ticks that come meanwhile change nothing of that. */
static bool job_work_may_claim(JobWork *work, const ManualRun *run) {
        usec_t rest = usec_sub(work->claims.until, clock_boottime());

        if (rest == 0 || (run && g_strcmp0(run->id, work->refused_run) != 0))
                return true;
        job_work_end_and_retry(work, rest);
        return false;
}

void job_work_queue(JobWork *work, int64_t tick, const ManualRun *run) {
        const BidParts parts = {work->parts->node, work->parts->tree, work->parts->ledgers,
                                work->parts->runs};

        work->restores = false;
        if (job_work_goes_on(work)) { /* whoever else may run it does */
                job_work_end_and_retry(work, JOB_RETRY_DELAY);
                return;
        }
        if (!job_work_may_claim(work, run) || !job_work_has_place(work, tick, run))
                return;
        job_work_begin_phase(work, bid_needs_locks(job_ledger_spec(work->ledger))
                                       ? JOB_EVENT_QUEUE
                                       : JOB_EVENT_QUEUE_FREE);
        if (bid_new(&parts, job_ledger_spec(work->ledger), tick, run, job_work_on_bid, work,
                    &work->bid) < 0)
                job_work_end_and_retry(work, JOB_RETRY_DELAY);
        else
                job_work_send_read(work, false);
}

static void job_work_claim(JobWork *work) {
        int r;

        (void)job_work_step(work, JOB_EVENT_CLAIM);
        r = bid_claim(work->bid);
        if (r >= 0) {
                job_ledger_look_for_records(work->ledger); /* on the way */
                return;
        }
        if (r == -EBUSY)
                gate_refused(work->parts->gate);
        job_work_end_and_retry(work, JOB_RETRY_DELAY);
}

void job_work_go_on(JobWork *work) {
        if (work->phase == JOB_PHASE_HOLDING && !job_ledger_is_ours(work->ledger)) {
                (void)job_work_step(work, JOB_EVENT_LEDGER_CHANGED);
                job_work_send_read(work, false);
        } else if (work->phase == JOB_PHASE_HOLDING) {
                job_work_claim(work);
        } else if (!job_ledger_is_watching(work->ledger) &&
                   !job_ledger_is_crowded_out(work->ledger)) {
                /* Without a watch the place in the queues is kept, perhaps for too long. */
                (void)job_work_step(work, JOB_EVENT_WATCH);
                job_work_send_read(work, true);
        }
}

/* Return: whether the clock was ahead when the wait for the tick's locks began, and is so still, or
 * by the one that we have now there is time left, or it is not even due. */
static bool job_work_was_hasty(const JobWork *work) {
        const JobSpec *spec = bid_spec(work->bid);
        usec_t end = usec_add((usec_t)job_work_due(work, bid_tick(work->bid)) * USEC_PER_SEC,
                              spec->lock_wait_set ? 0 : spec->start_deadline);

        return node_is_skewed(work->parts->node) || usec_add(clock_realtime(), JOB_HASTE_MAX) < end;
}

/* Return: whether our clock was set since it was compared, so that nobody knows what time it is. */
static bool job_work_clock_was_set(const JobWork *work) {
        return clock_skew_was_stepped(&work->parts->node->skew, clock_realtime(), clock_boottime());
}

/* Return: whether what was due then waited until its window closed, which may be in a moment by the
 * wall clock. What waits less long has not waited for that. */
static bool job_work_is_shut_out(const JobWork *work, int64_t due) {
        const JobSpec *spec = bid_spec(work->bid);
        usec_t haste = MIN(JOB_HASTE_MAX, spec->lock_wait);

        return job_spec_closes(spec, due) <= usec_add(clock_realtime(), haste);
}

/* Return: newly allocated. */
static char *job_work_why_late(const JobWork *work) {
        const char *turn = bid_turn(work->bid);

        return turn ? g_strconcat("lock-wait: its turn did not come in time: ", turn, NULL)
                    : g_strdup("lock-wait: its locks were not free in time");
}

/* The locks, or its turn, could not be had in time, and the ledger is read: what they were for is
 * skipped. */
static void job_work_give_up(JobWork *work) {
        int64_t tick = bid_tick(work->bid);
        g_autofree char *why = job_work_why_late(work);
        const Ledger *ledger = job_ledger_known(work->ledger);
        DecisionSkip skip = {.from = tick,
                             .to = tick,
                             .count = 1,
                             .why = {DECISION_KIND_OTHER, why},
                             .gives_up = ledger_is_decided(ledger, tick),
                             .due = job_work_due(work, tick)};
        _cleanup_(manual_run_freep) ManualRun *run =
            bid_manual(work->bid) ? manual_run_copy(bid_manual(work->bid)) : NULL;

        if (run)
                job_work_refuse(work, run, skip.why);
        else if (job_work_clock_was_set(work))
                job_work_end_and_retry(work, clock_watch_measure(work->parts->clock));
        else if (ledger_is_claimable(ledger, tick) && !job_work_was_hasty(work) &&
                 !job_work_is_shut_out(work, skip.due))
                job_work_skip(work, &skip, 1);
        else /* also where its window closes: for that reason, then */
                job_work_end_and_retry(work, 0);
}

/* What has not begun by then is skipped. */
static void job_work_on_stopped_roll(JobWork *work) {
        int64_t tick = bid_tick(work->bid);
        g_autofree char *why = g_strdup(bid_fault(work->bid));
        DecisionSkip skip = {.from = tick,
                             .to = tick,
                             .count = 1,
                             .why = {DECISION_KIND_OTHER, why},
                             .due = job_work_due(work, tick)};

        job_work_skip(work, &skip, 1);
}

static void job_work_on_faulty_locks(JobWork *work) {
        const LogAbout about = {.message_id = MESSAGE_FOREIGN_DATA, .job = job_work_name(work)};
        const char *fault = bid_fault(work->bid);

        if (g_strcmp0(work->lock_fault, fault) != 0)
                log_error(&about, "its locks cannot be had: %s", fault);
        g_free(work->lock_fault);
        work->lock_fault = g_strdup(fault);
        job_work_end_and_retry(work, JOB_FAULT_DELAY);
}

/* It is tried again, less and less often. */
static void job_work_on_refused_claim(JobWork *work, const char *message_id,
                                      const char *missed_why) {
        const char *name = job_work_name(work);
        const LogAbout about = {.message_id = message_id, .job = name};
        const char *fault = bid_fault(work->bid);
        usec_t pause = backoff_failed(&work->claims, JOB_FAULT_DELAY, JOB_REFUSED_DELAY_MAX,
                                      backoff_spread(name), clock_boottime());

        if (g_strcmp0(work->claim_fault, fault) != 0)
                log_error(&about, "%s", fault);
        g_free(work->claim_fault);
        work->claim_fault = g_strdup(fault);
        work->missed_why = missed_why;
        g_free(work->refused_run);
        work->refused_run = g_strdup(bid_run(work->bid));
        job_work_end_and_retry(work, pause);
}

static void job_work_on_won(JobWork *work) {
        job_work_forget_refusals(work);
        work->events->manual_gone(bid_run(work->bid), work->userdata);
        job_work_end_and_retry(work, 0); /* the timer for the next tick */
}

static void job_work_on_taken(JobWork *work) {
        g_autofree char *run = g_strdup(bid_run(work->bid));
        _cleanup_(job_spec_freep) JobSpec *spec = job_spec_ref(bid_spec(work->bid));
        int64_t tick = bid_tick(work->bid);

        job_work_forget_refusals(work); /* the server lets us, but somebody was first */
        work->events->manual_gone(run, work->userdata);
        if (!tick && run_id_tick(run)) { /* that attempt was asked for twice, and is made */
                job_work_end_and_retry(work, 0);
                return;
        }
        job_work_begin_phase(work, JOB_EVENT_WRITE);
        job_work_asked(work, job_ledger_repair(work->ledger, run, tick, spec));
}

static void job_work_on_stale(JobWork *work) {
        if (!bid_may_claim_again(work->bid, job_ledger_spec(work->ledger)))
                job_work_end_and_retry(work, JOB_RETRY_DELAY);
        else if (bid_holds_locks(work->bid))
                job_work_happen(work, JOB_EVENT_CLAIM_STALE);
        else
                job_work_read(work, false);
}

/* The claim may have been done after all: whatever stands open under our name is looked at. */
static void job_work_on_claim_over(JobWork *work) {
        job_ledger_forget(work->ledger);
        job_work_end_and_retry(work, JOB_RETRY_DELAY);
        recovery_check(work->parts->recovery);
}

static void job_work_on_bid(BidEvent event, void *userdata) {
        JobWork *work = userdata;

        switch (event) {
        case BID_HELD:
                g_clear_pointer(&work->lock_fault, g_free);
                job_work_happen(work, JOB_EVENT_LOCKS_HELD);
                return;
        case BID_TIMED_OUT:
                job_work_happen(work, JOB_EVENT_LOCKS_LATE);
                return;
        case BID_FAULTY:
                job_work_on_faulty_locks(work);
                return;
        case BID_LOST:
                job_work_end_and_retry(work, JOB_RETRY_DELAY);
                return;
        case BID_WAITS:
                job_work_happen(work, JOB_EVENT_CLAIM_WAITS);
                job_work_retry_in(work, JOB_RETRY_DELAY);
                return;
        case BID_STOPPED:
                job_work_on_stopped_roll(work);
                return;
        case BID_WON:
                job_work_on_won(work);
                return;
        case BID_TAKEN:
                job_work_on_taken(work);
                return;
        case BID_STALE:
                job_ledger_doubt_records(work->ledger);
                job_work_on_stale(work);
                return;
        case BID_REFUSED:
                job_work_on_refused_claim(work, MESSAGE_REFUSED,
                                          "missed: ZooKeeper refused to have it claimed");
                return;
        case BID_DAMAGED:
                job_work_on_refused_claim(work, MESSAGE_ROLL_DAMAGED,
                                          "missed: what is known of its roll was damaged");
                return;
        case BID_OVER:
                job_work_on_claim_over(work);
        }
}

static void job_work_on_waiters(int error, const GPtrArray *found, void *userdata) {
        JobWork *work = userdata;

        work->restores = false;
        if (error < 0 || !job_ledger_known(work->ledger))
                job_work_end_and_retry(work, error < 0 ? JOB_RETRY_DELAY : JOB_FAULT_DELAY);
        else
                work->events->found(found, work->userdata);
}

void job_work_look(JobWork *work) {
        job_work_begin_phase(work, JOB_EVENT_LOOK);
        if (waited_for_look(work->waited_for, job_ledger_spec(work->ledger)) < 0)
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
                job_ledger_forget(work->ledger);
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

bool job_work_try_anew(JobWork *work) {
        if (!work->lock_fault && !work->claim_fault && !job_ledger_fault(work->ledger) &&
            !job_ledger_is_drifted(work->ledger))
                return false;
        job_ledger_try_anew(work->ledger);
        job_work_forget_refusals(work);
        return true;
}

bool job_work_replace(JobWork *work, const JobSpec *spec) {
        const JobSpec *before = job_ledger_spec(work->ledger);
        bool alike = job_spec_waits_alike(before, spec);

        /* What waits will run the new one; what is claimed runs as it was. */
        if (alike && work->bid && work->phase != JOB_PHASE_CLAIMING)
                bid_take_spec(work->bid, spec);
        job_ledger_take_spec(work->ledger, spec);
        if (alike)
                return true;
        job_ledger_definition_changed(work->ledger);
        job_work_forget_refusals(work);
        /* What is on its way is answered first. */
        if (work->phase != JOB_PHASE_CLAIMING && work->phase != JOB_PHASE_WRITING)
                job_work_cancel(work);
        return false;
}

/* ---- the work itself ---- */

JobWork *job_work_new(const JobParts *parts, const JobSpec *spec, const JobWorkEvents *events,
                      void *userdata) {
        static const JobLedgerEvents ledger_events = {
            .read = job_work_on_read,
            .changed = job_work_on_changed,
            .writes = job_work_on_writes,
            .over = job_work_on_over,
            .refused = job_work_on_refused,
        };
        JobWork *work = g_new0(JobWork, 1);

        work->parts = parts;
        work->events = events;
        work->userdata = userdata;
        work->whys = g_ptr_array_new_with_free_func(g_free);
        work->ledger = job_ledger_new(parts, spec, &ledger_events, work);
        work->waited_for = waited_for_new(parts->looks, spec->name, job_work_on_waiters, work);
        return work;
}

JobWork *job_work_free(JobWork *work) {
        if (!work)
                return NULL;
        job_work_reset(work);
        waited_for_free(work->waited_for);
        job_ledger_free(work->ledger);
        g_free(work->lock_fault);
        g_ptr_array_unref(work->whys);
        g_free(work);
        return NULL;
}

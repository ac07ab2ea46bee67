/* See scheduled-job.h. */
#include "scheduled-job.h"

#include "bid.h"
#include "job-decision.h"
#include "job-expectation.h"
#include "job-next.h"
#include "job-work.h"
#include "placement.h"
#include "request-note.h"
#include "run.h"
#include "timer.h"
#include "unit-spec.h"

#define SCHEDULED_JOB_OTHERS_DELAY (30 * USEC_PER_SEC)

struct ScheduledJob {
        const JobParts *parts; /* weak */
        char *name;

        JobWork *work;
        JobLedger *ledger; /* weak: of the work */
        JobDecision *decision;
        JobExpectation *expectation;
        ManualRuns *manual;
        usec_t hold_until; /* CLOCK_BOOTTIME: lower ranks go first */
        sd_event_source *timer, *retry;
};

/* ---- when ---- */

static void scheduled_job_on_timer(void *userdata) {
        scheduled_job_consider(userdata);
}

/* `at` on CLOCK_REALTIME: when the clock is set, the timer goes with it. */
static void scheduled_job_wake_at(ScheduledJob *job, usec_t at) {
        job->timer = sd_event_source_disable_unref(job->timer);
        if (at != USEC_INFINITY)
                (void)timer_at(job->parts->node->event, &job->timer, CLOCK_REALTIME, at,
                               scheduled_job_on_timer, job);
}

/* Whoever asked to be asked again sooner still is: what happened meanwhile is not forgotten over a
 * longer wait. */
static void scheduled_job_retry_in(usec_t delay, void *userdata) {
        ScheduledJob *job = userdata;
        usec_t at = usec_add(clock_boottime(), delay), before;

        if (!job->retry || sd_event_source_get_time(job->retry, &before) < 0 || before > at)
                (void)timer_at(job->parts->node->event, &job->retry, CLOCK_BOOTTIME, at,
                               scheduled_job_on_timer, job);
}

static void scheduled_job_cancel_timers(ScheduledJob *job) {
        job->timer = sd_event_source_disable_unref(job->timer);
        job->retry = sd_event_source_disable_unref(job->retry);
}

void scheduled_job_hurry(ScheduledJob *job) {
        scheduled_job_retry_in(0, job);
}

/* Where something is under way, what it is about to do is checked against the ledger anyway. */
void scheduled_job_look_again(ScheduledJob *job) {
        if (job_work_phase(job->work) != JOB_PHASE_IDLE)
                return;
        job_ledger_forget(job->ledger);
        scheduled_job_hurry(job);
}

/* ---- what ---- */

/* Return: whether nothing may be claimed for it now; when that is over it is considered again. */
static bool scheduled_job_is_held_back(const ScheduledJob *job) {
        const JobParts *parts = job->parts;

        if (!gate_is_open(parts->gate)) {
                gate_wait(parts->gate);
                return true;
        }
        if (!leftovers_block(parts->leftovers, scheduled_job_spec(job)))
                return false;
        gate_refused(parts->gate);
        return true;
}

/* Return: whether it is for us, although nothing begins here, to say that the run here is still
 * under way: of a node that is drained, or outside of its window, others know no more than that,
 * and would wait for its word. */
static bool scheduled_job_only_answers(const ScheduledJob *job) {
        return gate_is_only_shut(job->parts->gate) && job_decision_is_running_here(job->decision) &&
               !job_ledger_is_drifted(job->ledger);
}

static Decision scheduled_job_ask(const ScheduledJob *job) {
        return job_decide(job->decision, scheduled_job_spec(job),
                          job_work_queued_tick(job->work) != 0);
}

static JobOutlook scheduled_job_outlook(const ScheduledJob *job, const Decision *decision,
                                        bool nobody_waits) {
        const JobSpec *spec = scheduled_job_spec(job);
        const ManualRun *manual = manual_runs_first(job->manual);
        bool nobody;

        (void)ranks_of_job(job->parts->ranks, spec, &nobody);
        return (JobOutlook){
            .spec = spec,
            .ledger = job_ledger_known(job->ledger),
            .decision = decision,
            .manual = manual,
            .nobody = nobody,
            .phase = job_work_phase(job->work),
            .queued_tick = job_work_queued_tick(job->work),
            .queued_manual = manual && job_work_is_queued_for(job->work, manual),
            .clock_known = clock_watch_is_known(job->parts->clock),
            .pause = job_decision_pause(job->decision),
            .window = job_decision_window(job->decision),
            .may_be_waited_for = !nobody_waits && waited_for_matters(spec, decision),
            .now = clock_realtime(),
            /* What was waited for is not left to others first. */
            .lower_ranks =
                job_work_restores(job->work) ? 0 : usec_sub(job->hold_until, clock_boottime()),
        };
}

/* Return: whether it stands in the queues past its start deadline: nothing else tells of it, and
 * whoever left would not come back. */
static bool scheduled_job_is_seen_in_queues_alone(const ScheduledJob *job) {
        const Ledger *ledger = job_ledger_known(job->ledger);
        const JobSpec *spec = scheduled_job_spec(job);
        int64_t tick = job_work_queued_tick(job->work);

        return tick && ledger && ledger_is_claimable(ledger, tick) &&
               bid_is_seen_in_queues_alone(spec, decision_due(spec, ledger, tick), 0);
}

/* Locks that are held are kept meanwhile. */
static void scheduled_job_measure_clock(ScheduledJob *job) {
        usec_t delay = clock_watch_measure(job->parts->clock);

        if (job_work_phase(job->work) != JOB_PHASE_HOLDING ||
            (!members_registered(job->parts->members) &&
             !scheduled_job_is_seen_in_queues_alone(job)))
                job_work_end(job->work);
        scheduled_job_retry_in(delay, job);
}

/* Waits until the ledger changes (a watch), or the run in our way has stood there for too long. */
static void scheduled_job_wait_for(ScheduledJob *job, const LedgerEntry *blocker) {
        usec_t patience = job_decision_wait_for(job->decision, blocker);

        if (job_ledger_is_watching(job->ledger))
                job_work_end_and_retry(job->work, MAX(patience, 10 * USEC_PER_MSEC));
        else if (job_ledger_is_crowded_out(job->ledger))
                job_work_end_and_retry(job->work,
                                       CLAMP(patience, 10 * USEC_PER_MSEC, JOB_CROWDED_OUT_DELAY));
        else
                job_work_read(job->work, true);
}

/* Nothing is to be done before the ledger changes. */
static void scheduled_job_watch(ScheduledJob *job) {
        job_work_leave_line(job->work);
        if (job_ledger_is_watching(job->ledger))
                job_work_end(job->work);
        else if (job_ledger_is_crowded_out(job->ledger))
                job_work_end_and_retry(job->work, JOB_CROWDED_OUT_DELAY);
        else
                job_work_read(job->work, true);
}

/* Return: newly allocated, in whose name it is ended. */
static char *scheduled_job_who_ends(const Decision *decision) {
        g_autofree char *tick = tick_to_rfc3339(decision->tick);

        return decision->blocker->service
                   ? g_strdup("the job's definition, which is another by now")
                   : g_strdup_printf("the tick %s, which takes its place", tick);
}

/* Return: whether its node can be asked: a service may be waited for for as long as that is away,
 * and is ended by it, or asked for, when it is back. */
static bool scheduled_job_can_ask(const ScheduledJob *job, const LedgerEntry *blocker) {
        return g_strcmp0(blocker->node, job->parts->node->config->node_name) != 0 &&
               (!blocker->service || members_contains(job->parts->members, blocker->node));
}

/* The tick takes the place of a run: that ends, here or by the node that has it, and then the
 * ledger changes. Where it has not ended after a while it is asked for anew, as if it had only been
 * seen now. */
static void scheduled_job_end_blocker(ScheduledJob *job, const Decision *decision) {
        const LedgerEntry *blocker = decision->blocker;
        const Node *node = job->parts->node;
        g_autofree char *who = scheduled_job_who_ends(decision),
                        *key = run_key(job->name, blocker->run);
        Run *run = runs_find(job->parts->runs, key);

        if (run)
                run_stop_for(run, who);
        else if (scheduled_job_can_ask(job, blocker))
                request_note_send_stop(node, &(Requested){.job = job->name,
                                                          .run = blocker->run,
                                                          .node = blocker->node,
                                                          .who = who});
        job_decision_reset(job->decision);
}

static void scheduled_job_act(ScheduledJob *job, JobNext next, Decision *decision) {
        const ManualRun *manual = manual_runs_first(job->manual);

        switch (next.what) {
        case JOB_NEXT_NOTHING:
                job_work_leave_line(job->work);
                job_work_end(job->work);
                return;
        case JOB_NEXT_WATCH:
                scheduled_job_watch(job);
                return;
        case JOB_NEXT_STAY:
                return;
        case JOB_NEXT_MEASURE:
                scheduled_job_measure_clock(job);
                return;
        case JOB_NEXT_REFUSE:
                job_work_refuse(job->work, manual, next.why);
                return;
        case JOB_NEXT_QUEUE_MANUAL:
                job_work_queue(job->work, 0, manual);
                return;
        case JOB_NEXT_QUEUE_TICK:
                job_work_queue(job->work, decision->tick, NULL);
                return;
        case JOB_NEXT_GO_ON:
                job_work_go_on(job->work);
                return;
        case JOB_NEXT_LATER:
                job_work_end_and_retry(job->work, next.delay);
                return;
        case JOB_NEXT_SKIP:
                job_work_skip(job->work, decision->skips, decision->n_skips);
                return;
        case JOB_NEXT_LOOK:
                job_work_look(job->work);
                return;
        case JOB_NEXT_BLOCKED:
        case JOB_NEXT_REPLACE:
                job_work_leave_line(job->work);
                if (next.what == JOB_NEXT_REPLACE)
                        scheduled_job_end_blocker(job, decision);
                scheduled_job_wait_for(job, decision->blocker);
        }
}

/* Nothing may be claimed at present. Return: whether what stands in the queues stays there until it
 * may be. */
static bool scheduled_job_stays_in_queues(const ScheduledJob *job) {
        return gate_opens_soon(job->parts->gate) && scheduled_job_is_seen_in_queues_alone(job);
}

/* The ledger was just read. What is more than that the run here is under way, or stands in another
 * node's queue, is for the others to say; and it is said by a clock that was compared. */
static void scheduled_job_answer(ScheduledJob *job) {
        Decision decision = scheduled_job_ask(job);
        JobOutlook outlook = scheduled_job_outlook(job, &decision, false);
        JobNext next = {.what = JOB_NEXT_NOTHING, .wakes = true};

        outlook.manual = NULL;
        if (decision_only_overlaps(&decision) && !outlook.may_be_waited_for)
                next = job_next(&outlook);
        if (next.wakes)
                scheduled_job_wake_at(job, decision.again);
        scheduled_job_act(job, next, &decision);
}

static void scheduled_job_decide(bool nobody_waits, void *userdata) {
        ScheduledJob *job = userdata;
        Decision decision;
        JobOutlook outlook;
        JobNext next;

        if (scheduled_job_is_held_back(job)) {
                if (scheduled_job_only_answers(job))
                        scheduled_job_answer(job);
                else if (!scheduled_job_stays_in_queues(job))
                        job_work_end(job->work);
                else if (job_work_phase(job->work) != JOB_PHASE_HOLDING)
                        job_work_go_on(job->work);
                return;
        }
        decision = scheduled_job_ask(job);
        outlook = scheduled_job_outlook(job, &decision, nobody_waits);
        next = job_next(&outlook);
        if (next.wakes)
                scheduled_job_wake_at(job, next.until > 0 ? MIN(decision.again, next.until)
                                                          : decision.again);
        scheduled_job_act(job, next, &decision);
}

/* What the others know of us may be older, for example right after a reload. */
static bool scheduled_job_runs_here(const ScheduledJob *job) {
        const Node *node = job->parts->node;
        const DaemonConfig *config = node->config;

        return !ranks_unfit(job->parts->ranks, job->name) && !node_is_skewed(node) &&
               job_spec_matches_node(scheduled_job_spec(job), config->node_name, config->labels);
}

/* In a pause nobody stands in a queue: whoever did would leave it at once, and look again. */
static bool scheduled_job_may_wait_again(const ScheduledJob *job) {
        return !decision_pause_lasts(job_decision_pause(job->decision)) &&
               (scheduled_job_runs_here(job) || ranks_is_undecided(job->parts->ranks, job->name));
}

/* Return: whether what queues for that tick stays in line; else it would leave at once, and find
 * what the process before us left there again. */
static bool scheduled_job_would_wait(const ScheduledJob *job, const Decision *decision,
                                     int64_t tick) {
        JobOutlook outlook = scheduled_job_outlook(job, decision, false);

        outlook.queued_tick = tick;
        return job_next_is_long_wait(&outlook);
}

static void scheduled_job_on_waiters(const GPtrArray *waiters, void *userdata) {
        ScheduledJob *job = userdata;
        WaitedFor *waited_for = job_work_waited_for(job->work);
        Decision decision = scheduled_job_ask(job);

        switch (waited_for_judge(waited_for, scheduled_job_spec(job), waiters, &decision,
                                 scheduled_job_may_wait_again(job))) {
        case WAITED_FOR_BY_NOBODY:
                scheduled_job_decide(true, job);
                return;
        case WAITED_FOR_BY_US:
                if (scheduled_job_would_wait(job, &decision, waited_for_tick(waited_for)))
                        job_work_queue(job->work, waited_for_tick(waited_for), NULL);
                else
                        scheduled_job_decide(true, job);
                return;
        case WAITED_FOR_BY_OTHERS:
                job_work_end_and_retry(job->work, SCHEDULED_JOB_OTHERS_DELAY);
        }
}

/* ---- whether ---- */

/* Return: whether the ledger has to be read to know what to do. What we last saw of it is enough to
 * say "nothing yet". */
static bool scheduled_job_has_something_to_do(const ScheduledJob *job, Decision *decision) {
        if (!job_ledger_known(job->ledger) || job_ledger_is_drifted(job->ledger) ||
            manual_runs_first(job->manual))
                return true;
        *decision = scheduled_job_ask(job);
        return decision->verdict != DECISION_NOTHING || decision->n_skips > 0 ||
               (decision->watch && !job_ledger_is_watching(job->ledger));
}

/* Return: whether it is for us to look at it at all. */
static bool scheduled_job_is_our_business(const ScheduledJob *job, uint32_t rank) {
        const ManualRun *manual = manual_runs_first(job->manual);

        return rank < PLACEMENT_RANKS || job_ledger_is_drifted(job->ledger) ||
               job_decision_is_running_here(job->decision) || (manual && manual->is_ours);
}

/* Return: whether what is known of the ledger was enough to act by. */
static bool scheduled_job_act_on_what_is_known(ScheduledJob *job, const Decision *decision,
                                               uint32_t rank) {
        if (decision->n_skips > 0 || !job_ledger_known(job->ledger) ||
            job_ledger_is_drifted(job->ledger))
                return false;
        if (rank == 0 && decision->verdict == DECISION_RUN) {
                /* A newer tick, should it still wait by then. */
                scheduled_job_wake_at(job, decision->again);
                job_work_queue(job->work, decision->tick, NULL);
                return true;
        }
        /* What is watched is the truth. */
        if (decision->verdict != DECISION_BLOCKED || !job_ledger_is_watching(job->ledger))
                return false;
        scheduled_job_wait_for(job, decision->blocker);
        return true;
}

/* Return: whether it is not known so far what becomes of what the process before us waited for. */
static bool scheduled_job_may_restore(const ScheduledJob *job) {
        return job_work_restores(job->work) && ranks_is_undecided(job->parts->ranks, job->name);
}

static void scheduled_job_look_to_answer(ScheduledJob *job) {
        Decision decision = scheduled_job_ask(job);

        if (decision_only_overlaps(&decision))
                job_work_read(job->work, false);
        else
                scheduled_job_wake_at(job, decision.again);
}

/* Nothing is under way. Is anything to be done? */
static void scheduled_job_look(void *userdata) {
        ScheduledJob *job = userdata;
        Decision decision = {.verdict = DECISION_NOTHING, .again = USEC_INFINITY};
        uint32_t rank;
        bool nobody;

        if (job_ledger_is_unchecked(job->ledger)) /* whether it is in force stands in the ledger */
                job_ledger_forget(job->ledger);
        if (scheduled_job_is_held_back(job)) {
                if (!job_work_restores(job->work))
                        job_work_leave_line(job->work);
                if (scheduled_job_only_answers(job))
                        scheduled_job_look_to_answer(job);
                return;
        }
        rank = ranks_act(job->parts->ranks, scheduled_job_spec(job), &nobody);
        if (!scheduled_job_is_our_business(job, rank) ||
            !scheduled_job_has_something_to_do(job, &decision)) {
                if (!scheduled_job_may_restore(job))
                        job_work_leave_line(job->work);
                scheduled_job_wake_at(job, decision.again);
                return;
        }
        if (!scheduled_job_act_on_what_is_known(job, &decision, rank))
                job_work_read(job->work, decision.watch);
}

void scheduled_job_consider(ScheduledJob *job) {
        switch (job_work_consider(job->work)) {
        case JOB_ACTION_CONSIDER:
                scheduled_job_look(job);
                return;
        case JOB_ACTION_DECIDE:
                scheduled_job_decide(false, job);
                return;
        default:
                return; /* once what is under way is over */
        }
}

void scheduled_job_begin(ScheduledJob *job) {
        bool nobody;
        uint32_t rank = ranks_of_job(job->parts->ranks, scheduled_job_spec(job), &nobody);

        job->hold_until = 0;
        if (rank != 0 && rank < PLACEMENT_RANKS)
                job->hold_until =
                    usec_add(clock_boottime(), rank * job->parts->node->config->takeover_delay);
        job_expectation_begin(job->expectation);
        scheduled_job_consider(job);
}

/* ---- the job itself ---- */

static void scheduled_job_on_manual_gone(const char *id, void *userdata) {
        manual_runs_drop(((ScheduledJob *)userdata)->manual, id);
}

ScheduledJob *scheduled_job_new(const JobParts *parts, const JobSpec *spec) {
        static const JobWorkEvents events = {
            .decide = scheduled_job_decide,
            .found = scheduled_job_on_waiters,
            .changed = scheduled_job_look,
            .again = scheduled_job_retry_in,
            .manual_gone = scheduled_job_on_manual_gone,
        };
        const JobDecisionParts decision = {parts->node, parts->tree, parts->ledgers, parts->ranks};
        ScheduledJob *job = g_new0(ScheduledJob, 1);

        job->parts = parts;
        job->name = g_strdup(spec->name);
        job->work = job_work_new(parts, spec, &events, job);
        job->ledger = job_work_ledger(job->work);
        job->decision = job_decision_new(&decision, spec->name);
        job->expectation = job_expectation_new(parts, job->ledger);
        job->manual = manual_runs_new();
        return job;
}

void scheduled_job_reset(ScheduledJob *job) {
        job_work_reset(job->work);
        job_decision_reset(job->decision);
        job_expectation_reset(job->expectation);
        manual_runs_clear(job->manual);
        scheduled_job_cancel_timers(job);
}

ScheduledJob *scheduled_job_free(ScheduledJob *job) {
        if (!job)
                return NULL;
        scheduled_job_reset(job);
        job_expectation_free(job->expectation);
        job_work_free(job->work);
        job_decision_free(job->decision);
        manual_runs_free(job->manual);
        g_free(job->name);
        g_free(job);
        return NULL;
}

const char *scheduled_job_name(const ScheduledJob *job) {
        return job->name;
}

const JobSpec *scheduled_job_spec(const ScheduledJob *job) {
        return job_ledger_spec(job->ledger);
}

void scheduled_job_replace(ScheduledJob *job, const JobSpec *spec) {
        /* Otherwise a begin follows, and what is on its way is answered first. */
        if (!job_work_replace(job->work, spec) && job_work_phase(job->work) == JOB_PHASE_IDLE)
                scheduled_job_cancel_timers(job);
}

void scheduled_job_leave_queues(ScheduledJob *job) {
        if (job_work_phase(job->work) == JOB_PHASE_WAITING)
                job_work_end(job->work);
}

void scheduled_job_paused(ScheduledJob *job) {
        const json_t *control = drain_view_control(tree_drain_view(job->parts->tree));
        _cleanup_(decision_pause_freep) DecisionPause *pause =
            decision_pause_new(control, job->name, clock_realtime());

        if (decision_pause_lasts(pause))
                scheduled_job_leave_queues(job);
}

bool scheduled_job_try_anew(ScheduledJob *job) {
        return job_work_try_anew(job->work);
}

bool scheduled_job_waited_for(ScheduledJob *job, int64_t tick, usec_t span) {
        const JobSpec *spec = scheduled_job_spec(job);

        job_work_wait_again(job->work, tick);
        return bid_is_seen_in_queues_alone(
            spec, decision_due(spec, job_ledger_known(job->ledger), tick), span);
}

bool scheduled_job_stands_for_tick(const ScheduledJob *job, int64_t tick) {
        return job_work_stands_for(job->work, tick);
}

void scheduled_job_request(ScheduledJob *job, const ManualRun *run) {
        manual_runs_add(job->manual, run);
        scheduled_job_consider(job);
}

/* Where the claim that took it is ours, its answer is on its way. */
void scheduled_job_request_gone(ScheduledJob *job, const char *id) {
        bool queues = scheduled_job_stands_for(job, id);

        manual_runs_drop(job->manual, id);
        if (queues)
                job_work_end_and_retry(job->work, 0);
        else
                scheduled_job_consider(job);
}

bool scheduled_job_stands_for(const ScheduledJob *job, const char *id) {
        const ManualRun *first = manual_runs_first(job->manual);

        return first && strcmp(first->id, id) == 0 && job_work_is_queued_for(job->work, first);
}

/* ---- for people ---- */

static bool scheduled_job_has_no_node(const ScheduledJob *job) {
        return job_decision_has_no_node(job->decision, scheduled_job_spec(job)) &&
               !scheduled_job_runs_here(job);
}

/* Return: newly allocated, of what is or was a service: what has to be known before it is run
 * again, or NULL. */
static char *scheduled_job_awaits_word(const ScheduledJob *job) {
        const Ledger *ledger = job_ledger_known(job->ledger);
        const LedgerEntry *entry = ledger ? ledger_first_claimed(ledger) : NULL;

        if (!entry || !ledger_may_be_alive(entry))
                return NULL;
        return g_strdup_printf(
            "its run %s on %s may be alive, and no other one is begun beside it: "
            "\"jobkeeper resolve %s %s\" says how it ended",
            entry->run, entry->node ? entry->node : "?", job->name, entry->run);
}

char *scheduled_job_why(const ScheduledJob *job) {
        const char *unfit = ranks_unfit(job->parts->ranks, job->name);
        const char *fault = job_ledger_fault(job->ledger);
        const char *work_fault = job_work_fault(job->work);
        const char *block = leftovers_block(job->parts->leftovers, scheduled_job_spec(job));
        char *awaits = NULL;

        if (fault && job_ledger_is_drifted(job->ledger)) /* why says more than that it is */
                return g_strdup(fault);
        if (unfit || fault || work_fault)
                return g_strdup(unfit ? unfit : fault ? fault : work_fault);
        if (block)
                return g_strdup(block);
        awaits = scheduled_job_awaits_word(job);
        if (awaits)
                return awaits;
        if (gate_waits_for_place(job->parts->gate, job->name))
                return g_strdup("max-runs is reached on this node");
        if (scheduled_job_has_no_node(job))
                return g_strdup("no node of the cluster can run it at present");
        return job_work_waits_for(job->work);
}

ScheduledJobState scheduled_job_state(const ScheduledJob *job) {
        const char *unfit = ranks_unfit(job->parts->ranks, job->name);
        bool no_node = scheduled_job_has_no_node(job);
        const Ledger *ledger = job_ledger_known(job->ledger);
        const LedgerEntry *claimed = ledger ? ledger_first_claimed(ledger) : NULL;

        if (job_ledger_is_drifted(job->ledger))
                return JOB_DRIFTED;
        if (unfit)
                return JOB_UNFIT;
        if (job_ledger_waits(job->ledger))
                return JOB_WAITING;
        if (job_ledger_fault(job->ledger) || (!ledger && !no_node))
                return JOB_UNREAD;
        if (claimed && !ledger_may_be_alive(claimed))
                return JOB_RUNNING;
        if (job_phase_is_in_queues(job_work_phase(job->work)) ||
            gate_waits_for_place(job->parts->gate, job->name))
                return JOB_WAITING;
        return no_node ? JOB_NO_NODE : JOB_IDLE;
}

/* See scheduled-job.h. Locks and claims are in job-claim.c, the other writes to the ledger in
 * job-ledger.c. */
#include "scheduled-job.h"

#include <string.h>

#include "claim-gate.h"
#include "clock-watch.h"
#include "gate.h"
#include "leftovers.h"
#include "log.h"
#include "members.h"
#include "message-id.h"
#include "paths.h"
#include "placement.h"
#include "ranks.h"
#include "recovery.h"
#include "run-places.h"
#include "runs.h"
#include "scheduled-job-internal.h"

#define CLOCK_DELAY (100 * USEC_PER_MSEC)

static void job_request_free(void *data) {
        JobRequest *request = data;

        g_free(request->id);
        g_free(request->who);
        g_free(request);
}

ScheduledJob *scheduled_job_new(Coordinator *coordinator, const JobSpec *spec) {
        ScheduledJob *job = g_new0(ScheduledJob, 1);

        job->coordinator = coordinator;
        job->spec = job_spec_ref(spec);
        job->name = g_strdup(spec->name);
        job->path = path_job(coordinator->config->root, spec->name);
        job->resource = resource_of_job(spec->name);
        ledger_cache_add(coordinator->ledgers, spec->name);
        job->requests = g_queue_new();
        return job;
}

void scheduled_job_leave_line(ScheduledJob *job) {
        run_places_leave(job->coordinator->places, job->name);
}

/* Drops whatever is under way. Locks are let go of. */
static void cancel(ScheduledJob *job) {
        job->read_call = zk_call_free(job->read_call);
        job->records_call = zk_call_free(job->records_call);
        job->write_call = zk_call_free(job->write_call);
        job->resume_call = zk_call_free(job->resume_call);
        job->ledger_watch = zk_watch_free(job->ledger_watch);
        job->waiters = waiters_free(job->waiters);
        job->locks = lock_set_free(job->locks);
        job->locks_held = false;
        job_claim_release(job);
        job->next_ledger = ledger_free(job->next_ledger);
        g_clear_pointer(&job->remember, g_free);
        g_clear_pointer(&job->write_note, g_free);
        g_clear_pointer(&job->write_note_id, g_free);
        g_clear_pointer(&job->refused, g_free);
        job->timer = sd_event_source_disable_unref(job->timer);
        job->retry = sd_event_source_disable_unref(job->retry);
        job->operation = JOB_OPERATION_NONE;
        job->request = NULL;
        job->attempts = 0;
        job->again = job->late = job->nobody_waits = false;
        scheduled_job_leave_line(job);
}

void scheduled_job_reset(ScheduledJob *job) {
        cancel(job);
        scheduled_job_forget_ledger(job);
        job->records_there = false;
        g_clear_pointer(&job->waited_run, g_free);
        g_queue_clear_full(job->requests, job_request_free);
        job->request = NULL;
        job->waited_tick = 0;
}

ScheduledJob *scheduled_job_free(ScheduledJob *job) {
        if (!job)
                return NULL;
        scheduled_job_reset(job);
        registration_set_drifted(job->coordinator->registration, job->name, false);
        g_queue_free(job->requests);
        g_free(job->fault);
        g_free(job->lock_fault);
        g_free(job->looked_for);
        ledger_cache_remove(job->coordinator->ledgers, job->name);
        g_free(job->name);
        g_free(job->path);
        g_free(job->resource);
        job_spec_free(job->asked_spec);
        job_spec_free(job->spec);
        g_free(job);
        return NULL;
}

const char *scheduled_job_name(const ScheduledJob *job) {
        return job->name;
}

const JobSpec *scheduled_job_spec(const ScheduledJob *job) {
        return job->spec;
}

const Ledger *scheduled_job_ledger(const ScheduledJob *job) {
        return ledger_cache_get(job->coordinator->ledgers, job->name, NULL);
}

int32_t scheduled_job_ledger_version(const ScheduledJob *job) {
        int32_t version = 0;

        (void)ledger_cache_get(job->coordinator->ledgers, job->name, &version);
        return version;
}

void scheduled_job_set_ledger(ScheduledJob *job, Ledger *ledger, int32_t version) {
        ledger_cache_set(job->coordinator->ledgers, job->name, ledger, version);
}

void scheduled_job_forget_ledger(ScheduledJob *job) {
        ledger_cache_forget(job->coordinator->ledgers, job->name);
}

/* ---- timers ---- */

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        ScheduledJob *job = userdata;

        job->timer = sd_event_source_disable_unref(job->timer);
        scheduled_job_consider(job);
        return 0;
}

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata) {
        ScheduledJob *job = userdata;

        job->retry = sd_event_source_disable_unref(job->retry);
        if (job->operation == JOB_OPERATION_QUEUEING && job->locks_held && job->ledger_read)
                scheduled_job_act(job); /* the clock was to be measured first */
        else
                scheduled_job_consider(job);
        return 0;
}

/* `at` on CLOCK_REALTIME: when the clock is set, the timer goes with it. */
static void wake_at(ScheduledJob *job, usec_t at) {
        job->timer = sd_event_source_disable_unref(job->timer);
        if (at != USEC_INFINITY)
                (void)sd_event_add_time(job->coordinator->event, &job->timer, CLOCK_REALTIME, at, 1,
                                        on_timer, job);
}

/* Whoever asked to be asked again sooner still is: what happened meanwhile is not forgotten over a
 * longer wait. */
void scheduled_job_retry_in(ScheduledJob *job, usec_t delay) {
        usec_t at = usec_add(clock_boottime(), delay), before;

        if (job->retry && sd_event_source_get_time(job->retry, &before) >= 0 && before <= at)
                return;
        job->retry = sd_event_source_disable_unref(job->retry);
        (void)sd_event_add_time(job->coordinator->event, &job->retry, CLOCK_BOOTTIME, at, 1,
                                on_retry, job);
}

void scheduled_job_hurry(ScheduledJob *job) {
        scheduled_job_retry_in(job, 0);
}

/* ---- the end of an operation ---- */

void scheduled_job_release_locks(ScheduledJob *job) {
        job->locks = lock_set_free(job->locks);
        job->locks_held = false;
}

void scheduled_job_operation_over(ScheduledJob *job) {
        job->read_call = zk_call_free(job->read_call);
        job->waiters = waiters_free(job->waiters);
        job->nobody_waits = false;
        scheduled_job_release_locks(job);
        job->operation = JOB_OPERATION_NONE;
        job->request = NULL;
        job->attempts = 0;
        job->late = false;
        if (run_places_has(job->coordinator->places, job->name))
                scheduled_job_leave_line(job); /* one in line is kept: what is due still is */
        if (job->again)
                scheduled_job_retry_in(job, 0);
        job->again = false;
}

void scheduled_job_write_done(ScheduledJob *job, ZkCode code) {
        /* What the write was based on has changed, or will have to be read again. */
        if (code != ZK_OK)
                scheduled_job_forget_ledger(job);
        scheduled_job_operation_over(job);
        if (code == ZK_CLOSED)
                return; /* the coordinator begins again with the next session */
        scheduled_job_retry_in(job,
                               code == ZK_OK || code == ZK_BAD_VERSION || code == ZK_NODE_EXISTS
                                   ? 0
                                   : JOB_RETRY_DELAY);
}

void scheduled_job_drop_request(ScheduledJob *job, const char *id) {
        for (GList *link = job->requests->head; link; link = link->next) {
                JobRequest *request = link->data;
                if (strcmp(request->id, id) != 0)
                        continue;
                if (job->request == request)
                        job->request = NULL;
                g_queue_delete_link(job->requests, link);
                job_request_free(request);
                return;
        }
}

/* ---- deciding ---- */

static usec_t dead_session_time(const ScheduledJob *job) {
        const DaemonConfig *config = job->coordinator->config;

        return usec_add(config->session_timeout, 2 * config->tick_time);
}

static void note_blocker(ScheduledJob *job, const LedgerEntry *blocker) {
        if (g_strcmp0(job->waited_run, blocker->run) == 0)
                return;
        g_free(job->waited_run);
        job->waited_run = g_strdup(blocker->run);
        job->waited_since = clock_boottime();
}

/* Return: our rank for the job. Where no member can run it, the members share by rank the duty to
 * say so. */
static uint32_t rank_for(const ScheduledJob *job, bool *ret_nobody) {
        return ranks_of_job(job->coordinator->ranks, job->spec, ret_nobody);
}

/* Whoever stands in the queues had its turn, whatever its rank has become since: who joined, what a
 * reload has not looked at yet, or that we are full with what waits beside it does not end a wait.
 */
static uint32_t rank_to_decide_by(const ScheduledJob *job, bool *ret_nobody) {
        Coordinator *coordinator = job->coordinator;
        bool pending = ranks_is_undecided(coordinator->ranks, job->name);
        uint32_t rank = rank_for(job, ret_nobody);

        if (job->operation == JOB_OPERATION_QUEUEING && !job->request &&
            (pending || !ranks_unfit(coordinator->ranks, job->name))) {
                *ret_nobody = false;
                return 0;
        }
        /* It may well be for us to run: before we know, nobody can say that no node can. */
        if (!*ret_nobody || !pending)
                return rank;
        *ret_nobody = false;
        return PLACEMENT_NONE;
}

static Decision decide_now(const ScheduledJob *job) {
        const DaemonConfig *config = job->coordinator->config;
        bool nobody;
        uint32_t rank = rank_to_decide_by(job, &nobody);
        DecisionInput input = {
            .schedule = job->spec->schedule,
            .ledger = scheduled_job_ledger(job),
            .self = config->node_name,
            .now = clock_realtime(),
            .rank = rank,
            .nobody = nobody,
            .takeover_delay = config->takeover_delay,
            .start_deadline = job->spec->start_deadline,
            .catch_up = job->spec->catch_up,
            .waited_run = job->waited_run,
            .waited_long_enough =
                job->waited_run &&
                clock_boottime() >= usec_add(job->waited_since, dead_session_time(job)),
        };
        Decision decision = {.verdict = DECISION_NOTHING, .again = USEC_INFINITY};

        if (job->spec->schedule)
                decide(&input, &decision);
        return decision;
}

/* Waits until the ledger changes (a watch), or the run in our way has stood there for too long. */
static void wait_for_blocker(ScheduledJob *job, const LedgerEntry *blocker) {
        usec_t patience;

        note_blocker(job, blocker);
        patience = usec_sub(usec_add(job->waited_since, dead_session_time(job)), clock_boottime());
        scheduled_job_operation_over(job);
        scheduled_job_retry_in(job, MAX(patience, 10 * USEC_PER_MSEC));
}

/* Return: whether we stand in the queues for this tick (or, `tick` 0, this request) already. Locks
 * that were lost while a claim was under way are gone: then we do not. */
static bool is_queued_for(const ScheduledJob *job, int64_t tick, const JobRequest *request) {
        return job->operation == JOB_OPERATION_QUEUEING && job->request == request &&
               job->tick == tick && (job->locks || job->locks_held);
}

/* In the queues: claims, or sees to it that we hear of it when somebody else settles what we wait
 * for. */
static void go_on_queueing(ScheduledJob *job) {
        if (job->locks_held)
                job_claim_begin(job);
        else if (!job->ledger_watch)
                scheduled_job_read_ledger(job, true);
}

static void refuse(ScheduledJob *job, const JobRequest *request, const char *why) {
        scheduled_job_release_locks(job);
        job_ledger_refuse_request(job, request, why);
}

/* Manual runs go first. Return: whether something was begun. */
static bool act_on_request(ScheduledJob *job) {
        JobRequest *request = g_queue_peek_head(job->requests);
        bool nobody;

        if (!request)
                return false;
        (void)rank_for(job, &nobody);
        if (nobody && clock_realtime() <= request->not_after)
                return false; /* we were a candidate when we took it on */
        if (clock_realtime() > request->not_after) {
                refuse(job, request, "no node could start it in time");
        } else if (ledger_first_claimed(scheduled_job_ledger(job))) {
                refuse(job, request, "overlap: the previous run was still under way");
        } else if (is_queued_for(job, 0, request)) {
                go_on_queueing(job);
        } else {
                scheduled_job_release_locks(job);
                job_claim_queue(job, 0, request);
        }
        return true;
}

/* start-deadline bounds when queueing may begin; how long it lasts is lock-wait's business, so a
 * tick that is queued for is neither too old nor too late. Return: whether that goes on. */
static bool act_on_long_wait(ScheduledJob *job) {
        if (!job->spec->lock_wait_set || job->request || !is_queued_for(job, job->tick, NULL) ||
            ledger_is_decided(scheduled_job_ledger(job), job->tick) ||
            ledger_first_claimed(scheduled_job_ledger(job)))
                return false;
        go_on_queueing(job);
        return true;
}

/* ---- what is skipped, unless it is waited for ---- */

static bool may_be_waited_for(const ScheduledJob *job, int64_t tick) {
        return clock_realtime() < job_claim_wait_ends(job, tick);
}

/* Only what would be recorded as missed: what overlaps is so whoever waits. */
static bool may_skip_what_waits(const ScheduledJob *job, const Decision *decision) {
        if (!job->spec->lock_wait_set || !job_claim_needs_locks(job))
                return false;
        for (size_t i = 0; i < decision->n_skips; i++)
                if (g_str_has_prefix(decision->skips[i].why, "missed") &&
                    may_be_waited_for(job, decision->skips[i].to))
                        return true;
        return false;
}

static bool would_skip(const Decision *decision, int64_t tick) {
        for (size_t i = 0; i < decision->n_skips; i++)
                if (decision->skips[i].from <= tick && tick <= decision->skips[i].to)
                        return true;
        return false;
}

static void act_on_skips(ScheduledJob *job, const Decision *decision) {
        scheduled_job_release_locks(job);
        job_ledger_write_skips(job, decision->skips, decision->n_skips);
}

/* Return: whether we, or else anybody, stands in a queue for a tick that would be skipped. */
static bool is_waited_for(ScheduledJob *job, const GPtrArray *found, const Decision *decision) {
        bool others = false;

        for (guint i = 0; i < found->len; i++) {
                const Waiter *waiter = found->pdata[i];
                if (strcmp(waiter->job, job->name) != 0 || !would_skip(decision, waiter->tick) ||
                    !may_be_waited_for(job, waiter->tick))
                        continue;
                if (waiter->ours)
                        job->waited_tick = waiter->tick;
                else
                        others = true;
        }
        return others || would_skip(decision, job->waited_tick);
}

/* What the process before us waited for we wait for again; what others wait for is theirs. */
static void wait_on_found(int error, const GPtrArray *found, void *userdata) {
        ScheduledJob *job = userdata;
        Decision decision = scheduled_job_ledger(job) ? decide_now(job) : (Decision){.n_skips = 0};
        bool waited_for = error >= 0 && is_waited_for(job, found, &decision);

        job->waiters = waiters_free(job->waiters);
        if (error < 0 || !scheduled_job_ledger(job) ||
            (waited_for && !would_skip(&decision, job->waited_tick))) {
                scheduled_job_operation_over(job);
                scheduled_job_retry_in(job, error < 0 ? JOB_RETRY_DELAY : JOB_FAULT_DELAY);
        } else if (waited_for) {
                job_claim_queue(job, job->waited_tick, NULL);
        } else {
                job->nobody_waits = true;
                scheduled_job_act(job);
        }
}

/* Return: whether that is looked for first. */
static bool look_for_waiters(ScheduledJob *job, const Decision *decision) {
        g_autoptr(GPtrArray) specs = g_ptr_array_new();

        if (job->nobody_waits || !may_skip_what_waits(job, decision))
                return false;
        scheduled_job_release_locks(job);
        job->operation = JOB_OPERATION_READING;
        g_ptr_array_add(specs, job->spec);
        job->waiters = waiters_free(job->waiters);
        if (waiters_look(job->coordinator->node, specs, wait_on_found, job, &job->waiters) < 0) {
                scheduled_job_operation_over(job);
                scheduled_job_retry_in(job, JOB_RETRY_DELAY);
        }
        return true;
}

void scheduled_job_waited_for(ScheduledJob *job, int64_t tick) {
        job->waited_tick = tick;
}

/* ---- what is due ---- */

static void act_on_tick(ScheduledJob *job, const Decision *decision) {
        if (is_queued_for(job, decision->tick, NULL)) {
                go_on_queueing(job);
                return;
        }
        scheduled_job_release_locks(job);
        job_claim_queue(job, decision->tick, NULL);
}

/* Nothing is decided by a clock that was not compared with the server's lately. Asking for the
 * locks compares them; otherwise a write of our own does. Locks that are held are kept meanwhile.
 * Return: whether that has to be waited for. */
static bool wait_for_clock(ScheduledJob *job) {
        if (clock_watch_is_known(job->coordinator->clock))
                return false;
        if (job->operation == JOB_OPERATION_QUEUEING && job->locks && !job->locks_held)
                return true;
        clock_watch_measure(job->coordinator->clock);
        if (job->operation != JOB_OPERATION_QUEUEING ||
            !members_registered(job->coordinator->members))
                scheduled_job_operation_over(job);
        scheduled_job_retry_in(job, CLOCK_DELAY);
        return true;
}

bool scheduled_job_clock_is_known(ScheduledJob *job) {
        const Coordinator *coordinator = job->coordinator;

        if (clock_watch_is_good(coordinator->clock))
                return true;
        clock_watch_measure(job->coordinator->clock);
        scheduled_job_forget_ledger(job);
        scheduled_job_operation_over(job);
        scheduled_job_retry_in(job, CLOCK_DELAY);
        return false;
}

/* After a change of membership the lower ranks go first. Return: whether that has to be waited for.
 */
static bool wait_for_lower_ranks(ScheduledJob *job) {
        usec_t now = clock_boottime();

        if (now >= job->hold_until)
                return false;
        scheduled_job_operation_over(job);
        scheduled_job_retry_in(job, job->hold_until - now);
        return true;
}

static bool is_idle(const ScheduledJob *job, const Decision *decision) {
        return g_queue_is_empty(job->requests) && decision->n_skips == 0 &&
               decision->verdict == DECISION_NOTHING;
}

/* Return: whether nothing may be claimed for it now; when that is over it is considered again. */
static bool held_back(const ScheduledJob *job) {
        if (!claim_gate_is_open(job->coordinator->claim_gate)) {
                gate_is_shut(job->coordinator->gate);
                claim_gate_wait(job->coordinator->claim_gate);
                return true;
        }
        if (!leftovers_block(job->coordinator->leftovers, job->spec))
                return false;
        gate_is_shut(job->coordinator->gate);
        return true;
}

/* The ledger was just read. What now? */
void scheduled_job_act(ScheduledJob *job) {
        Decision decision;

        if (held_back(job)) {
                scheduled_job_operation_over(job);
                return;
        }
        decision = decide_now(job);
        if (!is_idle(job, &decision) && (wait_for_clock(job) || act_on_request(job) ||
                                         act_on_long_wait(job) || wait_for_lower_ranks(job)))
                return;
        if (decision.n_skips > 0) {
                if (!look_for_waiters(job, &decision))
                        act_on_skips(job, &decision);
                return;
        }
        wake_at(job, decision.again);
        switch (decision.verdict) {
        case DECISION_NOTHING:
                scheduled_job_leave_line(job);
                scheduled_job_operation_over(job);
                return;
        case DECISION_BLOCKED:
                scheduled_job_leave_line(job);
                scheduled_job_release_locks(job);
                if (!job->ledger_watch) {
                        note_blocker(job, decision.blocker);
                        job->operation = JOB_OPERATION_READING;
                        scheduled_job_read_ledger(job, true);
                        return;
                }
                wait_for_blocker(job, decision.blocker);
                return;
        case DECISION_RUN:
                act_on_tick(job, &decision);
        }
}

/* ---- reading ---- */

static void on_ledger_changed(ZkWatchEvent event, const char *path, void *userdata) {
        ScheduledJob *job = userdata;

        job->ledger_watch = zk_watch_free(job->ledger_watch);
        if (job->operation == JOB_OPERATION_QUEUEING && !job->read_call)
                scheduled_job_read_ledger(job, false);
        else if (job->operation == JOB_OPERATION_NONE) {
                scheduled_job_forget_ledger(job);
                scheduled_job_consider(job);
        }
}

static void ledger_unreadable(ScheduledJob *job) {
        const LogAbout about = {.message_id = MESSAGE_FOREIGN_DATA, .job = job->name};

        if (!job->fault)
                log_error(&about,
                          "%s: not a ledger of jobkeeper; the job is not run until it is repaired "
                          "or deleted",
                          job->path);
        g_free(job->fault);
        job->fault = g_strdup_printf("%s: not a ledger of jobkeeper", job->path);
        scheduled_job_forget_ledger(job);
        scheduled_job_operation_over(job);
        scheduled_job_retry_in(job, JOB_FAULT_DELAY);
}

/* Whatever the ledger says we run must be known to us. What is not was claimed by a transaction
 * that we took for lost, and would stand in the way of every tick to come. */
static void look_for_untracked(ScheduledJob *job, const Ledger *ledger) {
        Coordinator *coordinator = job->coordinator;

        for (guint i = 0; i < ledger->open->len; i++) {
                const LedgerEntry *entry = ledger->open->pdata[i];
                g_autofree char *key = run_key(job->name, entry->run);
                if (entry->state == RUN_CLAIMED &&
                    g_strcmp0(entry->node, coordinator->config->node_name) == 0 &&
                    !runs_knows(coordinator->runs, key) &&
                    g_strcmp0(job->looked_for, entry->run) != 0) {
                        g_free(job->looked_for);
                        job->looked_for = g_strdup(entry->run);
                        recovery_check(coordinator->recovery);
                }
        }
}

static void on_ledger(const ZkReply *reply, void *userdata) {
        ScheduledJob *job = userdata;
        Ledger *ledger = NULL;

        job->read_call = NULL;
        if (reply->code == ZK_NO_NODE) {
                scheduled_job_release_locks(job);
                job->ledger_watch = zk_watch_free(job->ledger_watch);
                if (scheduled_job_clock_is_known(job))
                        job_ledger_create(job);
                return;
        }
        if (reply->code != ZK_OK) {
                job->ledger_watch = zk_watch_free(job->ledger_watch);
                scheduled_job_forget_ledger(job);
                scheduled_job_operation_over(job);
                if (reply->code != ZK_CLOSED)
                        scheduled_job_retry_in(job, JOB_RETRY_DELAY);
                return;
        }
        if (ledger_decode(reply->data, reply->data_size, &ledger) < 0) {
                ledger_unreadable(job);
                return;
        }
        g_clear_pointer(&job->fault, g_free);
        scheduled_job_set_ledger(job, ledger, reply->stat.version);
        job->ledger_read = true;
        look_for_untracked(job, ledger);
        if (!job_ledger_check_digest(job)) {
                if (job->operation == JOB_OPERATION_WRITING) {
                        scheduled_job_release_locks(job);
                        return;
                }
                scheduled_job_operation_over(job);
                scheduled_job_retry_in(
                    job,
                    JOB_FAULT_DELAY); /* drifted: the others may come round to our definition */
                return;
        }
        if (job->late)
                job_claim_timed_out(job);
        else
                scheduled_job_act(job);
}

void scheduled_job_read_ledger(ScheduledJob *job, bool watch) {
        Zk *zk = node_zk(job->coordinator->node);
        int r;

        job->read_call = zk_call_free(job->read_call);
        job->ledger_read = false;
        if (watch)
                job->ledger_watch = zk_watch_free(job->ledger_watch);
        r = !zk ? -ENOTCONN
                : zk_get(zk, job->path, on_ledger, job, &job->read_call,
                         watch ? on_ledger_changed : NULL, job, watch ? &job->ledger_watch : NULL);
        if (r < 0) {
                scheduled_job_operation_over(job);
                if (zk)
                        scheduled_job_retry_in(job, JOB_RETRY_DELAY);
        }
}

/* ---- asking ---- */

/* Return: whether the ledger has to be read to know what to do. What we last saw of it is enough to
 * say "nothing yet". */
static bool has_something_to_do(ScheduledJob *job, Decision *decision) {
        if (!scheduled_job_ledger(job) || job->drifted || !g_queue_is_empty(job->requests))
                return true;
        *decision = decide_now(job);
        return decision->verdict != DECISION_NOTHING || decision->n_skips > 0;
}

/* The owner of the run in the way answers for every tick, whatever its rank has become. */
static bool is_running_here(const ScheduledJob *job) {
        const Ledger *ledger = scheduled_job_ledger(job);
        const LedgerEntry *claimed = ledger ? ledger_first_claimed(ledger) : NULL;

        return claimed && g_strcmp0(claimed->node, job->coordinator->config->node_name) == 0;
}

void scheduled_job_consider(ScheduledJob *job) {
        Coordinator *coordinator = job->coordinator;
        bool nobody;
        uint32_t rank;
        Decision decision = {.verdict = DECISION_NOTHING, .again = USEC_INFINITY};

        if (job->operation != JOB_OPERATION_NONE) {
                job->again = true;
                return;
        }
        if (job->replaced) /* whether it is in force stands in the ledger */
                scheduled_job_forget_ledger(job);
        job->replaced = false;
        if (held_back(job)) {
                scheduled_job_leave_line(job);
                return;
        }
        rank = ranks_act(coordinator->ranks, job->spec, &nobody);
        if (rank >= PLACEMENT_RANKS && !job->drifted && !is_running_here(job)) {
                scheduled_job_leave_line(job);
                wake_at(job, USEC_INFINITY);
                return;
        }
        if (!has_something_to_do(job, &decision)) {
                scheduled_job_leave_line(job);
                wake_at(job, decision.again);
                return;
        }
        if (rank == 0 && scheduled_job_ledger(job) && !job->drifted &&
            decision.verdict == DECISION_RUN && decision.n_skips == 0) {
                wake_at(job, decision.again); /* a newer tick, should it still wait by then */
                job_claim_queue(job, decision.tick, NULL);
                return;
        }
        if (decision.verdict == DECISION_BLOCKED && decision.n_skips == 0 && job->ledger_watch) {
                wait_for_blocker(
                    job, decision.blocker); /* what we know is watched, so it is the truth */
                return;
        }
        job->operation = JOB_OPERATION_READING;
        scheduled_job_read_ledger(job, false);
}

void scheduled_job_begin(ScheduledJob *job) {
        bool nobody;
        uint32_t rank = rank_for(job, &nobody);

        job->hold_until = 0;
        if (rank != 0 && rank < PLACEMENT_RANKS)
                job->hold_until =
                    usec_add(clock_boottime(), rank * job->coordinator->config->takeover_delay);
        scheduled_job_consider(job);
}

/* Takes a definition by which all that is under way goes on. What waits will run the new one. */
static void take_alike(ScheduledJob *job, const JobSpec *spec, bool equal) {
        if (equal || job->operation == JOB_OPERATION_QUEUEING)
                job_claim_ask_for(job, spec);
        job_spec_free(job->spec);
        job->spec = job_spec_ref(spec);
}

void scheduled_job_replace(ScheduledJob *job, const JobSpec *spec) {
        bool equal = job_spec_equal(job->spec, spec);

        if (equal || job_spec_waits_alike(job->spec, spec)) {
                take_alike(job, spec, equal);
                return;
        }
        job_spec_free(job->spec);
        job->spec = job_spec_ref(spec);
        job->replaced = true;
        job->drifted = false; /* to be found out anew, and to be published anew */
        registration_set_drifted(job->coordinator->registration, job->name, false);
        if (job->operation == JOB_OPERATION_CLAIMING || job->operation == JOB_OPERATION_WRITING)
                return; /* what is on its way is answered first; `again` is set by the begin that
                           follows */
        cancel(job);
}

void scheduled_job_request(ScheduledJob *job, const char *id, const char *who, usec_t not_after) {
        JobRequest *request = g_new0(JobRequest, 1);

        request->id = g_strdup(id);
        request->who = g_strdup(who);
        request->asked = clock_realtime();
        request->not_after = not_after;
        g_queue_push_tail(job->requests, request);
        scheduled_job_consider(job);
}

/* Return: whether no member can run it; while we do not know who is there, nobody knows. */
static bool has_no_node(const ScheduledJob *job) {
        bool nobody;

        (void)rank_for(job, &nobody);
        return nobody && node_is_ready(job->coordinator->node);
}

/* Return: what keeps it, a sentence or "". */
static const char *why_not(const ScheduledJob *job, const char *unfit) {
        const char *block = leftovers_block(job->coordinator->leftovers, job->spec);

        if (unfit || job->fault || job->lock_fault)
                return unfit ? unfit : job->fault ? job->fault : job->lock_fault;
        if (block)
                return block;
        if (run_places_waits(job->coordinator->places, job->name))
                return "max-runs is reached on this node";
        return has_no_node(job) ? "no node of the cluster can run it at present" : "";
}

ScheduledJobState scheduled_job_state(const ScheduledJob *job, const char **ret_why) {
        const char *unfit = ranks_unfit(job->coordinator->ranks, job->name);
        bool nobody = has_no_node(job);

        *ret_why = why_not(job, unfit);
        if (job->drifted)
                return JOB_DRIFTED;
        if (unfit)
                return JOB_UNFIT;
        if (job->fault || (!scheduled_job_ledger(job) && !nobody))
                return JOB_UNREAD;
        if (scheduled_job_ledger(job) && ledger_first_claimed(scheduled_job_ledger(job)))
                return JOB_RUNNING;
        if (job->operation == JOB_OPERATION_QUEUEING ||
            run_places_waits(job->coordinator->places, job->name))
                return JOB_WAITING;
        return nobody ? JOB_NO_NODE : JOB_IDLE;
}

/* See life.h. */
#include "life.h"

#include "clock-watch.h"
#include "command-locks.h"
#include "ending.h"
#include "fence-link.h"
#include "gate.h"
#include "housekeeping.h"
#include "inventory.h"
#include "job-table.h"
#include "launch-sweep.h"
#include "left-queues.h"
#include "leftovers.h"
#include "log.h"
#include "message-id.h"
#include "orphans.h"
#include "prune.h"
#include "remains.h"
#include "requests.h"
#include "runs.h"
#include "withdrawal.h"

static void life_phase(Coordinator *coordinator, SessionPhaseEvent event);

/* Whoever found the gate shut while that was looked at. */
static void life_consider_waiting(Coordinator *coordinator) {
        if (gate_is_waiting(coordinator->gate) && gate_is_open(coordinator->gate))
                job_table_sweep(coordinator->jobs, JOB_SWEEP_CONSIDER);
}

/* Others are to have what is to run always. What is not known to be drained, because nobody can
 * read that, is not. Whoever is ending has them ended in any case. */
static void life_judge_services(const Coordinator *coordinator) {
        const DrainView *view = tree_drain_view(coordinator->tree);

        if (node_is_ending(coordinator->node))
                return;
        if (drain_view_closed(view) && drain_view_control(view))
                runs_stop_services(coordinator->runs, "the node is drained");
        else
                runs_spare_services(coordinator->runs);
}

/* Which of the runs that a process before us left are to go on here is known before any is found.
 */
static void life_on_tree_done(void *userdata) {
        Coordinator *coordinator = userdata;

        life_judge_services(coordinator);
        if (node_is_ready(coordinator->node)) /* read again after a short break */
                return;
        registration_start(coordinator->registration);
        members_start(coordinator->members);
}

static void life_on_tree_looked(void *userdata) {
        life_consider_waiting(userdata);
}

/* Whether anything is wanted to begin here is new: others are to have what we queue for; or
 * something may begin again. */
static void life_wanted(Coordinator *coordinator, bool nothing) {
        if (nothing)
                job_table_for_all(coordinator->jobs, scheduled_job_leave_queues);
        job_table_sweep(coordinator->jobs, JOB_SWEEP_CONSIDER);
}

static void life_on_drained(void *userdata) {
        Coordinator *coordinator = userdata;

        life_judge_services(coordinator);
        if (!node_is_ready(coordinator->node) || node_is_ending(coordinator->node))
                return;
        gate_drained(coordinator->gate);
        life_wanted(coordinator, drain_view_closed(tree_drain_view(coordinator->tree)));
}

void life_on_window(void *userdata) {
        Coordinator *coordinator = userdata;

        registration_set_outside(coordinator->registration, gate_outside_until(coordinator->gate));
        registration_publish(coordinator->registration);
        if (node_is_ready(coordinator->node) && !node_is_ending(coordinator->node))
                life_wanted(coordinator, gate_outside(coordinator->gate));
}

/* What waits for locks waits no more where its job is paused, and where it is not that is looked at
 * again. */
static void life_on_paused(void *userdata) {
        Coordinator *coordinator = userdata;

        if (!node_is_ready(coordinator->node) || node_is_ending(coordinator->node))
                return;
        job_table_for_all(coordinator->jobs, scheduled_job_paused);
        job_table_sweep(coordinator->jobs, JOB_SWEEP_CONSIDER);
}

/* A session in which nothing of ours stands may stay: it hears when the tree is accepted. */
static void life_on_doubted(void *userdata) {
        Coordinator *coordinator = userdata;

        if (tree_is_done(coordinator->tree) || coordinator->node->attached)
                session_forsake(coordinator->session);
        ending_look(coordinator->ending);
}

const TreeEvents life_tree_events = {
    .done = life_on_tree_done,
    .looked = life_on_tree_looked,
    .drained = life_on_drained,
    .paused = life_on_paused,
    .doubted = life_on_doubted,
};

void life_on_self_registered(void *userdata) {
        members_self_registered(((Coordinator *)userdata)->members);
}

static void life_on_registered(void *userdata) {
        Coordinator *coordinator = userdata;

        recovery_start(coordinator->left.recovery, coordinator->node->attached);
}

/* A run whose record cannot be read while its unit runs keeps all that was left. */
static void life_sweep_queues(Coordinator *coordinator) {
        if (node_is_ready(coordinator->node) && !leftovers_left(coordinator->left.leftovers) &&
            !recovery_doubts(coordinator->left.recovery, NULL))
                left_queues_delete(coordinator->left.queues);
}

static void life_begin(Coordinator *coordinator) {
        const LogAbout about = {.message_id = MESSAGE_SESSION_CONNECTED};
        Zk *zk = session_zk(coordinator->session);

        log_info(&about,
                 "connected to ZooKeeper at %s as node \"%s\", session 0x%" G_GINT64_MODIFIER "x",
                 zk ? zk_server(zk) : "?", coordinator->config->node_name,
                 session_id(coordinator->session));
        left_queues_begin(coordinator->left.queues, coordinator->node->attached);
        remains_begin(coordinator->left.remains);
        leftovers_end(coordinator->left.leftovers, LEFTOVERS_UNCLAIMED, false,
                      "ZooKeeper has no open run of this name");
        if (node_is_ending(coordinator->node)) {
                runs_for_all(coordinator->runs, run_session_ready);
                ending_stop_found_runs(coordinator->ending);
                return;
        }
        if (drain_view_closed(tree_drain_view(coordinator->tree)))
                gate_drained(coordinator->gate);
        life_judge_services(coordinator);
        command_locks_session_ready(coordinator->command_locks);
        orphans_start(coordinator->left.orphans);
        housekeeping_start(coordinator->store.housekeeping);
        requests_start(coordinator->requests);
        runs_for_all(coordinator->runs, run_session_ready);
        job_table_sweep(coordinator->jobs, JOB_SWEEP_BEGIN);
        inventory_withdraw_removed(coordinator->inventory);
}

static void life_on_members_changed(GHashTable *jobs, void *userdata) {
        Coordinator *coordinator = userdata;
        GHashTableIter iterator;
        gpointer name;

        if (!node_is_ready(coordinator->node))
                return;
        if (!jobs) {
                orphans_members_changed(coordinator->left.orphans);
                job_table_sweep(coordinator->jobs, JOB_SWEEP_RANK);
                return;
        }
        g_hash_table_iter_init(&iterator, jobs);
        while (g_hash_table_iter_next(&iterator, &name, NULL))
                job_table_sweep_one(coordinator->jobs, name, JOB_SWEEP_BEGIN);
}

static void life_on_member_left(const char *node, void *userdata) {
        Coordinator *coordinator = userdata;

        if (node_is_ready(coordinator->node))
                orphans_node_left(coordinator->left.orphans, node);
}

static void life_on_undoubted(void *userdata) {
        life_sweep_queues(userdata);
}

/* What was waited for has its places: now whatever else is due. */
void life_on_queues_looked(void *userdata) {
        Coordinator *coordinator = userdata;

        life_sweep_queues(coordinator);
        life_consider_waiting(coordinator);
}

void life_on_leftover_spared(const char *unit, void *userdata) {
        remains_found(unit, ((Coordinator *)userdata)->left.remains);
}

void life_on_leftovers_changed(void *userdata) {
        Coordinator *coordinator = userdata;

        if (!leftovers_busy(coordinator->left.leftovers)) {
                fence_link_follow(coordinator->fence); /* which may be the present session's now */
                life_phase(coordinator, SESSION_PHASE_LEFTOVERS_GONE);
        }
        life_sweep_queues(coordinator);
        if (node_is_ending(coordinator->node))
                ending_look(coordinator->ending);
        else if (node_is_ready(coordinator->node))
                job_table_sweep(coordinator->jobs, JOB_SWEEP_BEGIN);
}

static void life_connected(Coordinator *coordinator, bool attached) {
        coordinator->node->attached = attached;
        command_locks_session_begins(coordinator->command_locks, attached);
        life_phase(coordinator, leftovers_busy(coordinator->left.leftovers)
                                    ? SESSION_PHASE_CONNECTED_BESIDE_LEFTOVERS
                                    : SESSION_PHASE_CONNECTED);
}

static void life_forget(Coordinator *coordinator) {
        const LogAbout about = {.message_id = MESSAGE_SESSION_LOST};

        log_warning(
            &about,
            "the ZooKeeper session is lost, and all locks with it; connecting with a new session");
        coordinator->node->attached = false;
        registration_set_skewed(coordinator->registration, false);
        registration_set_busy(coordinator->registration, MEMBER_FREE);
        gate_reset(coordinator->gate);
        clock_watch_reset(coordinator->clock);
        withdrawals_reset(coordinator->withdrawals);
        left_queues_reset(coordinator->left.queues);
        job_table_for_all(coordinator->jobs, scheduled_job_reset);
        runs_for_all(coordinator->runs, run_session_lost);
        leftovers_end(coordinator->left.leftovers, LEFTOVERS_GUARDED, true,
                      "the ZooKeeper session was lost");
        command_locks_session_lost(coordinator->command_locks);
        requests_reset(coordinator->requests);
        orphans_reset(coordinator->left.orphans);
        pruner_reset(coordinator->store.pruner);
        housekeeping_reset(coordinator->store.housekeeping);
        recovery_reset(coordinator->left.recovery);
        remains_reset(coordinator->left.remains);
        members_reset(coordinator->members);
        registration_reset(coordinator->registration);
        tree_reset(coordinator->tree);
        ending_look(coordinator->ending);
}

/* Some answers may have been lost while nobody answered. */
static void life_ask_again(Coordinator *coordinator) {
        if (!tree_is_done(coordinator->tree)) {
                tree_start(coordinator->tree);
                return;
        }
        tree_look_again(coordinator->tree);
        tree_refresh_control(coordinator->tree);
        registration_resume(coordinator->registration);
        members_resume(coordinator->members);
}

static void life_continue(Coordinator *coordinator) {
        life_ask_again(coordinator);
        command_locks_session_ready(coordinator->command_locks);
        requests_start(coordinator->requests);
        orphans_start(coordinator->left.orphans);
        runs_for_all(coordinator->runs, run_session_ready);
        job_table_sweep(coordinator->jobs, JOB_SWEEP_CONSIDER);
}

static void life_phase(Coordinator *coordinator, SessionPhaseEvent event) {
        SessionPhaseStep step = session_phase_step(coordinator->node->session_phase, event);

        coordinator->node->session_phase = step.phase;
        switch (step.action) {
        case SESSION_PHASE_NOTHING:
        case SESSION_PHASE_WAIT:
                return;
        case SESSION_PHASE_PREPARE:
                tree_start(coordinator->tree);
                return;
        case SESSION_PHASE_ASK_AGAIN:
                life_ask_again(coordinator);
                return;
        case SESSION_PHASE_BEGIN:
                life_begin(coordinator);
                return;
        case SESSION_PHASE_CONTINUE:
                life_continue(coordinator);
                return;
        case SESSION_PHASE_FORGET:
                life_forget(coordinator);
                return;
        case SESSION_PHASE_IMPOSSIBLE:
                g_error("session phase %u, event %u: impossible", (unsigned)step.phase,
                        (unsigned)event);
        }
}

static void life_on_recovered(void *userdata) {
        const Coordinator *coordinator = userdata;

        launch_sweep_begin(coordinator->left.launches);
        life_phase(userdata, SESSION_PHASE_RECOVERED);
}

static void life_stop(Coordinator *coordinator) {
        const LogAbout about = {.message_id = MESSAGE_STOPPING_RUNS};
        const char *why =
            "ZooKeeper did not answer, and the locks could have expired before the run ended";

        unsigned guarded = runs_count_guarded(coordinator->runs);

        if (guarded > 0)
                log_warning(
                    &about,
                    "no reply from ZooKeeper: stopping all runs (%u) before their locks can expire",
                    guarded);
        runs_stop_guarded(coordinator->runs, why);
        leftovers_end(coordinator->left.leftovers, LEFTOVERS_GUARDED, false, why);
        command_locks_session_stop(coordinator->command_locks);
}

static void life_faulty(Coordinator *coordinator) {
        const LogAbout about = {.message_id = MESSAGE_ZOOKEEPER_UNREACHABLE};

        log_warning(&about, "%s; no jobs are run until this is resolved, retrying",
                    session_fault(coordinator->session));
}

void life_on_session(Session *session, SessionEvent event, void *userdata) {
        Coordinator *coordinator = userdata;

        switch (event) {
        case SESSION_EVENT_CONNECTED:
                life_connected(coordinator, false);
                return;
        case SESSION_EVENT_ATTACHED:
                life_connected(coordinator, true);
                return;
        case SESSION_EVENT_SUSPENDED:
                tree_suspend(coordinator->tree);
                log_warning(&(LogAbout){.message_id = MESSAGE_SESSION_SUSPENDED},
                            "the connection to ZooKeeper was lost, reconnecting");
                return;
        case SESSION_EVENT_RESUMED:
                log_info(&(LogAbout){.message_id = MESSAGE_SESSION_CONNECTED},
                         "reconnected to ZooKeeper, the session continues");
                life_phase(coordinator, SESSION_PHASE_RESUMED);
                return;
        case SESSION_EVENT_STOP:
                life_stop(coordinator);
                return;
        case SESSION_EVENT_LOST:
                life_phase(coordinator, SESSION_PHASE_LOST);
                return;
        case SESSION_EVENT_FAULT:
                life_faulty(coordinator);
                return;
        case SESSION_EVENT_CLOSED:
                ending_session_closed(coordinator->ending);
                return;
        }
}

/* ---- beside the session ---- */

void life_on_skew(bool skewed, void *userdata) {
        Coordinator *coordinator = userdata;

        registration_set_skewed(coordinator->registration, skewed);
        registration_publish(coordinator->registration);
        (void)gate_outside(coordinator->gate); /* our clock may have been set past an edge */
        job_table_sweep(coordinator->jobs, JOB_SWEEP_CONSIDER);
}

/* Others are to have what comes due meanwhile, and what we queue for. */
void life_on_systemd(void *userdata) {
        Coordinator *coordinator = userdata;

        if (!node_is_ready(coordinator->node) || node_is_ending(coordinator->node))
                return;
        gate_drained(coordinator->gate);
        if (systemd_fault_why(coordinator->node->systemd_fault))
                job_table_for_all(coordinator->jobs, scheduled_job_leave_queues);
        job_table_sweep(coordinator->jobs, JOB_SWEEP_CONSIDER);
}

void life_on_fence_open(void *userdata) {
        Coordinator *coordinator = userdata;

        if (!node_is_ready(coordinator->node) || node_is_ending(coordinator->node))
                return;
        command_locks_session_ready(coordinator->command_locks);
        job_table_sweep(coordinator->jobs, JOB_SWEEP_CONSIDER);
}

void life_on_fence_replaced(void *userdata) {
        runs_stop_guarded(((Coordinator *)userdata)->runs, "the fence that guarded it has ended");
}

void life_on_settled(const char *job, void *userdata) {
        Coordinator *coordinator = userdata;
        ScheduledJob *scheduled = job_table_find(coordinator->jobs, job);

        fence_link_follow(coordinator->fence); /* it may have been the last of an earlier session */
        if (node_is_ending(coordinator->node))
                ending_look(coordinator->ending);
        else if (scheduled)
                scheduled_job_consider(scheduled);
        gate_give_places(coordinator->gate);
}

const MembersEvents life_members_events = {
    .registered = life_on_registered,
    .changed = life_on_members_changed,
    .left = life_on_member_left,
};

const RecoveryEvents life_recovery_events = {life_on_recovered, life_on_undoubted};

/* How the daemon ends: at a real stop it stops its runs, settles them and closes the session; at a
 * restart it leaves runs and session to the next process. */
#include <systemd/sd-daemon.h>

#include "command-locks.h"
#include "coordinator-internal.h"
#include "gate.h"
#include "job-table.h"
#include "leftovers.h"
#include "log.h"
#include "members.h"
#include "message-id.h"
#include "runs.h"
#include "tree.h"

/* A real stop gives up waiting for runs to be settled after this long; below TimeoutStopSec= of our
 * unit. */
#define STOP_TIMEOUT (90 * USEC_PER_SEC)
/* How often, and how many times at most, the last calls to PID 1 are looked at before the process
 * ends. */
#define EXIT_LOOK (20 * USEC_PER_MSEC)
#define EXIT_LOOKS 50
/* How long a restart waits for the starts that are on their way. */
#define START_PATIENCE (2 * USEC_PER_SEC)

static int on_exit_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        Coordinator *coordinator = userdata;

        if (--coordinator->ending.exit_patience == 0 || !unit_manager_busy(coordinator->units))
                return sd_event_exit(coordinator->event, 0);
        return sd_event_source_set_time_relative(source, EXIT_LOOK);
}

/* The session is closed. What we last told PID 1 (forget that unit) must still reach it: it asks
 * the bus who we are, and refuses one that has gone already. */
void coordinator_exit_when_told(Coordinator *coordinator) {
        coordinator->ending.exit_patience = EXIT_LOOKS;
        coordinator->ending.exit_timer =
            sd_event_source_disable_unref(coordinator->ending.exit_timer);
        if (sd_event_add_time_relative(coordinator->event, &coordinator->ending.exit_timer,
                                       CLOCK_MONOTONIC, 0, USEC_PER_MSEC, on_exit_timer,
                                       coordinator) < 0 ||
            sd_event_source_set_enabled(coordinator->ending.exit_timer, SD_EVENT_ON) < 0)
                (void)sd_event_exit(coordinator->event, 0);
}

static void process_phase(Coordinator *coordinator, ProcessPhaseEvent event) {
        coordinator->node->process_phase =
            process_phase_next(coordinator->node->process_phase, event);
}

/* Return: whether the session is being closed, or left. */
static bool is_closing(const Coordinator *coordinator) {
        return coordinator->node->process_phase == PROCESS_PHASE_CLOSING ||
               coordinator->node->process_phase == PROCESS_PHASE_LEAVING;
}

/* Return: whether runs that a process before us left may still turn up. */
static bool is_recovering(const Coordinator *coordinator) {
        return session_zk(coordinator->session) && !node_is_ready(coordinator->node) &&
               !*registration_fault(coordinator->registration) && !*tree_fault(coordinator->tree);
}

/* Ends the session, which lets go of whatever it holds, once nothing of ours runs any more. One
 * that was never reached is left as it is: whoever comes next settles what we have ended.
 */
void coordinator_close_when_idle(Coordinator *coordinator) {
        if (runs_count(coordinator->runs) > 0 || is_closing(coordinator) ||
            coordinator->ending.claim_wait || leftovers_left(coordinator->leftovers) ||
            !command_locks_idle(coordinator->command_locks) || is_recovering(coordinator))
                return;
        process_phase(coordinator, PROCESS_PHASE_CLOSE);
        if (session_zk(coordinator->session))
                session_close(coordinator->session);
        else
                session_detach(coordinator->session);
}

/* We were asked to stop before the runs of the process before us were found. */
void coordinator_stop_found_runs(Coordinator *coordinator) {
        if (is_closing(coordinator))
                return;
        runs_stop_all(coordinator->runs, "the daemon was stopped");
        coordinator_close_when_idle(coordinator);
}

static int on_stop_timeout(sd_event_source *source, uint64_t usec, void *userdata) {
        Coordinator *coordinator = userdata;

        /* Runs that cannot be settled now (no ZooKeeper) are settled by the next process, or by the
         * other nodes. */
        if (!is_closing(coordinator)) {
                process_phase(coordinator, PROCESS_PHASE_CLOSE);
                session_detach(coordinator->session);
        }
        return 0;
}

static int on_claim_wait(sd_event_source *source, uint64_t usec, void *userdata) {
        Coordinator *coordinator = userdata;

        if (runs_count_claims(coordinator->runs) > 0)
                return sd_event_source_set_time_relative(source, EXIT_LOOK);
        coordinator->ending.claim_wait =
            sd_event_source_disable_unref(coordinator->ending.claim_wait);
        job_table_for_all(coordinator->jobs, scheduled_job_reset);
        coordinator_close_when_idle(coordinator);
        return 0;
}

/* What stands in a queue is given up at once. But a claim that is on its way may be written
 * already: what it claims is not started, and settled as such. Without an answer the loss of the
 * session, or the end of our patience, ends the wait. */
static void wait_for_claims(Coordinator *coordinator) {
        if (runs_count_claims(coordinator->runs) == 0 ||
            sd_event_add_time_relative(coordinator->event, &coordinator->ending.claim_wait,
                                       CLOCK_MONOTONIC, EXIT_LOOK, USEC_PER_MSEC, on_claim_wait,
                                       coordinator) < 0 ||
            sd_event_source_set_enabled(coordinator->ending.claim_wait, SD_EVENT_ON) < 0) {
                coordinator->ending.claim_wait =
                    sd_event_source_disable_unref(coordinator->ending.claim_wait);
                job_table_for_all(coordinator->jobs, scheduled_job_reset);
        }
}

void coordinator_stop(Coordinator *coordinator) {
        const LogAbout about = {.message_id = MESSAGE_STOPPING};

        if (node_is_ending(coordinator->node))
                return;
        process_phase(coordinator, PROCESS_PHASE_STOP);
        log_info(&about, "stopping: runs (%u) are stopped first", runs_count(coordinator->runs));
        (void)sd_notify(0, "STOPPING=1\nSTATUS=Ending runs");
        gate_is_shut(coordinator->gate);
        runs_stop_all(coordinator->runs, "the daemon was stopped");
        leftovers_end(coordinator->leftovers, LEFTOVERS_ALL, false, "the daemon was stopped");
        wait_for_claims(coordinator);
        command_locks_stop(coordinator->command_locks);
        (void)sd_event_add_time_relative(coordinator->event, &coordinator->ending.stop_timer,
                                         CLOCK_MONOTONIC, STOP_TIMEOUT, USEC_PER_SEC,
                                         on_stop_timeout, coordinator);
        coordinator_close_when_idle(coordinator);
}

/* Return: whether a claim, or the start that follows it, is on its way: what is cut off there is a
 * run that nobody starts any more. */
static bool is_starting(const Coordinator *coordinator) {
        return runs_count_claims(coordinator->runs) > 0 || runs_are_starting(coordinator->runs);
}

static void leave(Coordinator *coordinator) {
        const LogAbout about = {.message_id = MESSAGE_STOPPING};

        log_info(&about,
                 "restarting: runs (%u) and the ZooKeeper session are left for the next process",
                 runs_count(coordinator->runs));
        /* To our locks the end of the session object is a loss, which would stop their runs. */
        runs_for_all(coordinator->runs, run_leave);
        command_locks_leave(coordinator->command_locks);
        session_detach(coordinator->session);
}

static int on_leave_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        Coordinator *coordinator = userdata;

        if (clock_monotonic() < coordinator->ending.leave_by && is_starting(coordinator))
                return sd_event_source_set_time_relative(source, EXIT_LOOK);
        coordinator->ending.stop_timer =
            sd_event_source_disable_unref(coordinator->ending.stop_timer);
        leave(coordinator);
        return 0;
}

static void leave_for_the_next(Coordinator *coordinator) {
        process_phase(coordinator, PROCESS_PHASE_RESTART);
        coordinator->ending.leave_by = clock_monotonic() + START_PATIENCE;
        if (!is_starting(coordinator) ||
            sd_event_add_time_relative(coordinator->event, &coordinator->ending.stop_timer,
                                       CLOCK_MONOTONIC, EXIT_LOOK, USEC_PER_MSEC, on_leave_timer,
                                       coordinator) < 0 ||
            sd_event_source_set_enabled(coordinator->ending.stop_timer, SD_EVENT_ON) < 0)
                leave(coordinator);
}

static void on_own_systemd_job(SystemdJob systemd_job, void *userdata) {
        Coordinator *coordinator = userdata;

        if (node_is_ending(coordinator->node))
                return;
        if (systemd_job == SYSTEMD_JOB_STOP)
                coordinator_stop(coordinator);
        else
                leave_for_the_next(coordinator);
}

void coordinator_terminate(Coordinator *coordinator) {
        if (node_is_ending(coordinator->node))
                return;
        if (unit_manager_query_systemd_job(coordinator->units, DAEMON_UNIT, RESTART_QUERY_TIMEOUT,
                                           on_own_systemd_job, coordinator) < 0)
                on_own_systemd_job(SYSTEMD_JOB_UNKNOWN, coordinator);
}

/* See ending.h. */
#include "ending.h"

#include "log.h"
#include "message-id.h"
#include "timer.h"

/* A real stop gives up waiting for runs to be settled after this long; below TimeoutStopSec= of our
 * unit. */
#define STOP_TIMEOUT (90 * USEC_PER_SEC)
/* How often, and how many times at most, the last calls to PID 1 are looked at before the process
 * ends. */
#define EXIT_LOOK (20 * USEC_PER_MSEC)
#define EXIT_LOOKS 50
/* How long a restart waits for the starts that are on their way. */
#define START_PATIENCE (2 * USEC_PER_SEC)

struct Ending {
        EndingParts parts; /* weak */
        const EndingEvents *events;
        void *userdata;
        usec_t leave_by; /* CLOCK_MONOTONIC: a restart waits no longer for starts on their way */
        sd_event_source *stop_timer;
        sd_event_source *claim_wait; /* a real stop, and claims are on their way */
        sd_event_source *exit_timer;
        unsigned exit_patience;
};

Ending *ending_new(const EndingParts *parts, const EndingEvents *events, void *userdata) {
        Ending *ending = g_new0(Ending, 1);

        ending->parts = *parts;
        ending->events = events;
        ending->userdata = userdata;
        return ending;
}

Ending *ending_free(Ending *ending) {
        if (!ending)
                return NULL;
        sd_event_source_disable_unref(ending->stop_timer);
        sd_event_source_disable_unref(ending->claim_wait);
        sd_event_source_disable_unref(ending->exit_timer);
        g_free(ending);
        return NULL;
}

static void ending_phase(Ending *ending, ProcessPhaseEvent event) {
        Node *node = ending->parts.node;

        node->process_phase = process_phase_next(node->process_phase, event);
}

/* Return: whether the session is being closed, or left. */
static bool ending_is_closing(const Ending *ending) {
        return ending->parts.node->process_phase == PROCESS_PHASE_CLOSING ||
               ending->parts.node->process_phase == PROCESS_PHASE_LEAVING;
}

/* ---- the last words ---- */

static void ending_exit(void *userdata) {
        Ending *ending = userdata;
        sd_event *event = ending->parts.node->event;

        if (--ending->exit_patience == 0 || !unit_manager_busy(ending->parts.units))
                (void)sd_event_exit(event, 0);
        else
                (void)timer_in(event, &ending->exit_timer, EXIT_LOOK, ending_exit, ending);
}

/* What we last told PID 1 (forget that unit) must still reach it: it asks the bus who we are, and
 * refuses one that has gone already. */
void ending_session_closed(Ending *ending) {
        ending->exit_patience = EXIT_LOOKS;
        (void)timer_in(ending->parts.node->event, &ending->exit_timer, 0, ending_exit, ending);
}

/* ---- a real stop ---- */

/* Return: whether runs that a process before us left may still turn up. */
static bool ending_is_recovering(const Ending *ending) {
        const Node *node = ending->parts.node;

        return session_zk(node->session) && !node_is_ready(node) &&
               !ending->events->is_faulty(ending->userdata);
}

/* A session that was never reached is left as it is: whoever comes next settles what we have ended.
 */
void ending_look(Ending *ending) {
        const EndingParts *parts = &ending->parts;

        if (!node_is_ending(parts->node) || runs_count(parts->runs) > 0 ||
            ending_is_closing(ending) || ending->claim_wait || leftovers_left(parts->leftovers) ||
            !command_locks_idle(parts->locks) || ending_is_recovering(ending))
                return;
        ending_phase(ending, PROCESS_PHASE_CLOSE);
        if (session_zk(parts->node->session))
                session_close(parts->node->session);
        else
                session_detach(parts->node->session);
}

void ending_stop_found_runs(Ending *ending) {
        if (ending_is_closing(ending))
                return;
        runs_stop_all(ending->parts.runs, "the daemon was stopped");
        ending_look(ending);
}

/* Runs that cannot be settled now (no ZooKeeper) are settled by the next process, or by the other
 * nodes. */
static void ending_waits_no_longer(void *userdata) {
        Ending *ending = userdata;

        if (ending_is_closing(ending))
                return;
        ending_phase(ending, PROCESS_PHASE_CLOSE);
        session_detach(ending->parts.node->session);
}

/* What stands in a queue is given up at once. But a claim that is on its way may be written
 * already: what it claims is not started, and settled as such. Without an answer the loss of the
 * session, or the end of our patience, ends the wait. */
static void ending_await_claims(void *userdata) {
        Ending *ending = userdata;

        if (runs_count_claims(ending->parts.runs) > 0 &&
            timer_in(ending->parts.node->event, &ending->claim_wait, EXIT_LOOK, ending_await_claims,
                     ending) >= 0)
                return;
        ending->events->reset_jobs(ending->userdata);
        ending_look(ending);
}

void ending_stop(Ending *ending) {
        const LogAbout about = {.message_id = MESSAGE_STOPPING};
        const EndingParts *parts = &ending->parts;

        if (node_is_ending(parts->node))
                return;
        ending_phase(ending, PROCESS_PHASE_STOP);
        log_info(&about, "stopping: runs (%u) are stopped first", runs_count(parts->runs));
        notify_say(parts->node->notify, "STOPPING=1\nSTATUS=Ending runs");
        gate_refused(parts->gate);
        runs_stop_all(parts->runs, "the daemon was stopped");
        leftovers_end(parts->leftovers, LEFTOVERS_ALL, false, "the daemon was stopped");
        ending_await_claims(ending);
        command_locks_stop(parts->locks);
        (void)timer_in(parts->node->event, &ending->stop_timer, STOP_TIMEOUT,
                       ending_waits_no_longer, ending);
        ending_look(ending);
}

/* ---- a restart ---- */

/* Return: whether a claim, or the start that follows it, is on its way: what is cut off there is a
 * run that nobody starts any more. */
static bool ending_is_starting(const Ending *ending) {
        return runs_count_claims(ending->parts.runs) > 0 || runs_are_starting(ending->parts.runs);
}

/* Return: newly allocated. */
static char *ending_what_is_left(const Ending *ending) {
        unsigned results = runs_count_results(ending->parts.runs),
                 runs = runs_count(ending->parts.runs) - results;

        if (results == 0)
                return g_strdup_printf("runs (%u)", runs);
        return g_strdup_printf("runs (%u), results that are not written yet (%u)", runs, results);
}

static bool ending_has_session(const Ending *ending) {
        return session_held_until(ending->parts.node->session) > clock_boottime();
}

static void ending_leave(Ending *ending) {
        const LogAbout about = {.message_id = MESSAGE_STOPPING};
        g_autofree char *runs = ending_what_is_left(ending);

        log_info(&about, "restarting: %s%s left for the next process", runs,
                 ending_has_session(ending) ? " and the ZooKeeper session are" : " are");
        /* To our locks the end of the session object is a loss, which would stop their runs. */
        runs_for_all(ending->parts.runs, run_leave);
        command_locks_leave(ending->parts.locks);
        session_detach(ending->parts.node->session);
}

static void ending_await_starts(void *userdata) {
        Ending *ending = userdata;

        if (clock_monotonic() >= ending->leave_by || !ending_is_starting(ending) ||
            timer_in(ending->parts.node->event, &ending->stop_timer, EXIT_LOOK, ending_await_starts,
                     ending) < 0)
                ending_leave(ending);
}

static void ending_on_systemd_job(SystemdJob systemd_job, void *userdata) {
        Ending *ending = userdata;

        if (node_is_ending(ending->parts.node))
                return;
        if (systemd_job == SYSTEMD_JOB_STOP) {
                ending_stop(ending);
                return;
        }
        ending_phase(ending, PROCESS_PHASE_RESTART);
        ending->leave_by = clock_monotonic() + START_PATIENCE;
        ending_await_starts(ending);
}

void ending_terminate(Ending *ending) {
        if (node_is_ending(ending->parts.node))
                return;
        if (unit_manager_query_systemd_job(ending->parts.units, DAEMON_UNIT, RESTART_QUERY_TIMEOUT,
                                           ending_on_systemd_job, ending) < 0)
                ending_on_systemd_job(SYSTEMD_JOB_UNKNOWN, ending);
}

/* See ending.h.
 *
 * PID 1 ends who does not stop within TimeoutStopSec=. How long it may take is in the
 * configuration, so we ask for that time (EXTEND_TIMEOUT_USEC=), once it waits: it does from its
 * SIGTERM on.
 *
 * At a shutdown of the machine PID 1 ends all runs before it ends us. So what still lives at our
 * SIGTERM is what nobody could end, and has no more time: the whole machine would wait for it.
 */
#include "ending.h"

#include "duration.h"
#include "log.h"
#include "message-id.h"
#include "timer.h"

/* Once runs are to end, a real stop gives up waiting for them to be settled after this long; below
 * TimeoutStopSec= of our unit, by this much. */
#define STOP_TIMEOUT (90 * USEC_PER_SEC)
#define STOP_SLACK (30 * USEC_PER_SEC)
/* How often, and how many times at most, the last calls to PID 1 are looked at before the process
 * ends. */
#define EXIT_LOOK (20 * USEC_PER_MSEC)
#define EXIT_LOOKS 50
/* How often a drain looks at what nobody tells of: that a run is over, and only not written. */
#define DRAIN_LOOK (1 * USEC_PER_SEC)
/* How long a restart waits for the starts that are on their way. */
#define START_PATIENCE (2 * USEC_PER_SEC)

struct Ending {
        EndingParts parts; /* weak */
        const EndingEvents *events;
        void *userdata;
        usec_t leave_by;    /* CLOCK_MONOTONIC: a restart waits no longer for starts on their way */
        usec_t drain_until; /* CLOCK_MONOTONIC: runs are ended then */
        bool signalled;     /* asked to stop by a signal, not only by what PID 1 is about to do */
        bool shuts_down;    /* the machine does, and PID 1 ends what runs */
        bool asks;          /* PID 1 is being asked whether it does */
        char *until;        /* the same for people */
        char *told;         /* what we wait for, as PID 1 knows it */
        UnitListener listener;
        sd_event_source *stop_timer; /* the end of our patience */
        sd_event_source *drain_look;
        sd_event_source *claim_wait; /* a real stop, and claims are on their way */
        sd_event_source *exit_timer;
        unsigned exit_patience;
};

static void ending_on_job_added(void *userdata);

Ending *ending_new(const EndingParts *parts, const EndingEvents *events, void *userdata) {
        Ending *ending = g_new0(Ending, 1);

        ending->parts = *parts;
        ending->events = events;
        ending->userdata = userdata;
        ending->listener = (UnitListener){
            .unit = DAEMON_UNIT, .systemd_job_added = ending_on_job_added, .userdata = ending};
        unit_manager_listen(parts->units, &ending->listener);
        return ending;
}

Ending *ending_free(Ending *ending) {
        if (!ending)
                return NULL;
        unit_manager_unlisten(ending->parts.units, &ending->listener);
        sd_event_source_disable_unref(ending->stop_timer);
        sd_event_source_disable_unref(ending->drain_look);
        sd_event_source_disable_unref(ending->claim_wait);
        sd_event_source_disable_unref(ending->exit_timer);
        g_free(ending->until);
        g_free(ending->told);
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

/* Return: how many runs have not ended yet. */
static unsigned ending_count_alive(const Ending *ending) {
        return runs_count(ending->parts.runs) - runs_count_results(ending->parts.runs);
}

static bool ending_has_session(const Ending *ending) {
        return session_held_until(ending->parts.node->session) > clock_boottime();
}

/* Return: whether nothing is left that has to end before the session does. */
static bool ending_has_drained(const Ending *ending) {
        const EndingParts *parts = &ending->parts;

        return ending_count_alive(ending) == 0 && command_locks_idle(parts->locks) &&
               !leftovers_left(parts->leftovers) && !ending->claim_wait &&
               !ending_is_recovering(ending);
}

/* Return: whether the session of the process before us is still to be resumed, and its runs with
 * it.
 */
static bool ending_may_find_runs(const Ending *ending) {
        return ending_has_session(ending) && !node_is_ready(ending->parts.node) &&
               !ending->events->is_doubted(ending->userdata);
}

/* Return: how many runs are still to be ended, or settled where that can be. */
static unsigned ending_count_unsettled(const Ending *ending) {
        return ending->events->is_doubted(ending->userdata) ? ending_count_alive(ending)
                                                            : runs_count(ending->parts.runs);
}

/* PID 1 ends us if this lasts longer. */
static void ending_ask_for_time(const Ending *ending, usec_t span) {
        notify_say(ending->parts.node->notify, "EXTEND_TIMEOUT_USEC=%" G_GUINT64_FORMAT,
                   usec_add(usec_add(span, STOP_TIMEOUT), STOP_SLACK));
}

static void ending_say_what_is_awaited(Ending *ending) {
        unsigned runs = ending_count_alive(ending),
                 commands = command_locks_count(ending->parts.locks);
        g_autofree char *text =
            ending->shuts_down
                ? g_strdup_printf(
                      "Stopping: systemd ends runs (%u) and commands with locks (%u) first", runs,
                      commands)
                : g_strdup_printf("Stopping: until %s runs (%u) and commands with locks (%u) may "
                                  "end by themselves",
                                  ending->until, runs, commands);

        if (g_strcmp0(text, ending->told) == 0)
                return;
        notify_say(ending->parts.node->notify, "STATUS=%s", text);
        g_free(ending->told);
        ending->told = g_steal_pointer(&text);
}

static void ending_set_time(Ending *ending, usec_t span) {
        usec_t at = usec_add(clock_realtime(), span);
        g_autoptr(GDateTime) until = g_date_time_new_from_unix_utc((gint64)(at / USEC_PER_SEC));

        ending->drain_until = usec_add(clock_monotonic(), span);
        ending->until = until ? g_date_time_format(until, "%F %T UTC") : g_strdup("?");
}

static void ending_end_runs(void *userdata);

/* A session that was never reached is left as it is: whoever comes next settles what we have ended.
 */
void ending_look(Ending *ending) {
        const EndingParts *parts = &ending->parts;

        if (parts->node->process_phase == PROCESS_PHASE_DRAINING) {
                if (ending_has_drained(ending) && !ending_may_find_runs(ending))
                        ending_end_runs(ending);
                else
                        ending_say_what_is_awaited(ending);
                return;
        }
        if (parts->node->process_phase != PROCESS_PHASE_STOPPING ||
            ending_count_unsettled(ending) > 0 || !ending_has_drained(ending))
                return;
        ending_phase(ending, PROCESS_PHASE_CLOSE);
        if (session_zk(parts->node->session))
                session_close(parts->node->session);
        else
                session_detach(parts->node->session);
}

static void ending_stop_runs(const Ending *ending) {
        if (ending->shuts_down)
                runs_stop_for_shutdown(ending->parts.runs, "the machine was shut down");
        else
                runs_stop_all(ending->parts.runs, "the daemon was stopped");
}

void ending_stop_found_runs(Ending *ending) {
        if (ending->parts.node->process_phase == PROCESS_PHASE_STOPPING)
                ending_stop_runs(ending);
        gate_refused(ending->parts.gate); /* the new session says so, too */
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

/* What has not ended by itself is ended now, and settled. */
static void ending_end_runs(void *userdata) {
        const LogAbout about = {.message_id = MESSAGE_STOPPING_RUNS};
        Ending *ending = userdata;
        const EndingParts *parts = &ending->parts;
        unsigned alive = ending_count_alive(ending), commands = command_locks_count(parts->locks);

        if (parts->node->process_phase != PROCESS_PHASE_DRAINING)
                return;
        ending_phase(ending, PROCESS_PHASE_END_RUNS);
        if (alive + commands > 0)
                log_info(&about, "ending runs (%u) and commands with locks (%u)", alive, commands);
        notify_say(parts->node->notify, "STATUS=Stopping, ending and settling runs");
        ending_ask_for_time(ending, 0);
        (void)timer_in(parts->node->event, &ending->stop_timer, STOP_TIMEOUT,
                       ending_waits_no_longer, ending);
        ending_stop_runs(ending);
        leftovers_end(parts->leftovers, LEFTOVERS_ALL, false, "the daemon was stopped");
        command_locks_stop(parts->locks);
        ending_look(ending);
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
        ending->claim_wait = sd_event_source_disable_unref(ending->claim_wait);
        ending->events->reset_jobs(ending->userdata);
        ending_look(ending);
}

static void ending_announce(const Ending *ending) {
        const LogAbout about = {.message_id = MESSAGE_STOPPING};
        const EndingParts *parts = &ending->parts;
        usec_t span = parts->node->config->drain_timeout;
        unsigned runs = ending_count_alive(ending), commands = command_locks_count(parts->locks);
        g_autofree char *words = duration_to_string(span), *more = duration_to_string(STOP_TIMEOUT);

        if (ending->shuts_down)
                log_info(&about,
                         "stopping, as the machine is: nothing begins here any more; systemd ends "
                         "runs (%u) and commands with locks (%u), which are then settled",
                         runs, commands);
        else if (span == 0 || runs + commands == 0)
                log_info(&about, "stopping: runs (%u) and commands with locks (%u) are ended first",
                         runs, commands);
        else
                log_info(&about,
                         "stopping: nothing begins here any more; runs (%u) and commands with "
                         "locks (%u) may end by themselves within %s (drain-timeout), until %s; "
                         "what has not is ended, and settled within %s",
                         runs, commands, words, ending->until, more);
}

/* PID 1 counts from its signal on. Told before, that we are stopping, it would send none. */
static void ending_tell_pid1(const Ending *ending) {
        notify_say(ending->parts.node->notify, "STOPPING=1");
        ending_ask_for_time(ending, usec_sub(ending->drain_until, clock_monotonic()));
}

static void ending_on_state(SystemdJob systemd_job, void *userdata) {
        Ending *ending = userdata;

        ending->asks = false;
        if (systemd_job != SYSTEMD_JOB_SHUTDOWN)
                return;
        ending->shuts_down = true;
        if (ending->signalled)
                ending_end_runs(ending);
        else
                ending_look(ending);
}

/* A shutdown may begin while runs have their time, or PID 1 may not have said so yet when it was
 * first asked. */
static void ending_ask_for_shutdown(Ending *ending) {
        if (!ending->shuts_down && !ending->asks)
                ending->asks = unit_manager_query_systemd_job(ending->parts.units, DAEMON_UNIT,
                                                              RESTART_QUERY_TIMEOUT,
                                                              ending_on_state, ending) >= 0;
}

static void ending_on_drain_look(void *userdata) {
        Ending *ending = userdata;

        ending_look(ending);
        if (ending->parts.node->process_phase != PROCESS_PHASE_DRAINING)
                return;
        ending_ask_for_shutdown(ending);
        (void)timer_in(ending->parts.node->event, &ending->drain_look, DRAIN_LOOK,
                       ending_on_drain_look, ending);
}

/* Nothing begins any more, and what runs has its time. */
static void ending_drain(Ending *ending) {
        const EndingParts *parts = &ending->parts;
        usec_t span = parts->node->config->drain_timeout;

        ending_phase(ending, PROCESS_PHASE_STOP);
        ending_set_time(ending, span);
        ending_announce(ending);
        if (ending->signalled)
                ending_tell_pid1(ending);
        gate_refused(parts->gate);
        runs_stop_services(parts->runs, "the daemon was stopped");
        if (span > 0)
                (void)timer_in(parts->node->event, &ending->stop_timer, span, ending_end_runs,
                               ending);
        ending_await_claims(ending);
        /* Last: with the last of them there may be nothing left to wait for, and that is acted upon
         * at once. */
        command_locks_stop_queueing(parts->locks);
        if (span == 0)
                ending_end_runs(ending);
        else
                ending_on_drain_look(ending);
}

/* Whoever asks again while runs have their time does not want to wait for them. */
void ending_stop(Ending *ending) {
        bool again = ending->signalled;

        ending->signalled = true;
        switch (ending->parts.node->process_phase) {
        case PROCESS_PHASE_WORKING:
                ending_drain(ending);
                break;
        case PROCESS_PHASE_DRAINING:
                if (!again)
                        ending_tell_pid1(ending);
                ending_ask_for_shutdown(ending);
                break;
        case PROCESS_PHASE_LEAVING:
        case PROCESS_PHASE_STOPPING:
        case PROCESS_PHASE_CLOSING:
        case PROCESS_PHASE_COUNT:
                return;
        }
        if (again || ending->shuts_down)
                ending_end_runs(ending);
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

/* Return: whether we are to stop. */
static bool ending_is_stop(Ending *ending, SystemdJob systemd_job) {
        if (systemd_job == SYSTEMD_JOB_SHUTDOWN)
                ending->shuts_down = true;
        return systemd_job == SYSTEMD_JOB_STOP || systemd_job == SYSTEMD_JOB_SHUTDOWN;
}

static void ending_on_systemd_job(SystemdJob systemd_job, void *userdata) {
        Ending *ending = userdata;

        if (ending_is_stop(ending, systemd_job) || node_is_ending(ending->parts.node)) {
                ending_stop(ending);
                return;
        }
        ending_phase(ending, PROCESS_PHASE_RESTART);
        ending->leave_by = clock_monotonic() + START_PATIENCE;
        ending_await_starts(ending);
}

void ending_terminate(Ending *ending) {
        if (node_is_ending(ending->parts.node))
                ending_stop(ending);
        else if (unit_manager_query_systemd_job(ending->parts.units, DAEMON_UNIT,
                                                RESTART_QUERY_TIMEOUT, ending_on_systemd_job,
                                                ending) < 0)
                ending_on_systemd_job(SYSTEMD_JOB_UNKNOWN, ending);
}

/* ---- a stop that is to come ---- */

static void ending_on_coming_job(SystemdJob systemd_job, void *userdata) {
        Ending *ending = userdata;

        if (ending_is_stop(ending, systemd_job) && !node_is_ending(ending->parts.node))
                ending_drain(ending);
}

/* When the machine is shut down our SIGTERM comes last, when all runs are gone: their units are
 * stopped before ours. Until then PID 1 would refuse what we start. */
static void ending_on_job_added(void *userdata) {
        Ending *ending = userdata;

        if (!node_is_ending(ending->parts.node))
                (void)unit_manager_query_systemd_job(ending->parts.units, DAEMON_UNIT,
                                                     RESTART_QUERY_TIMEOUT, ending_on_coming_job,
                                                     ending);
}

/* See lock-wrapper.h.
 *
 * What is done when is in the table of wrapper-phase.h. While we wait, whatever ends the session
 * just begins the wait again, within the one time limit; contenders are deleted by closing the
 * session, and the loop ends when that is through.
 *
 * The lock is given back only after the command's own process has ended. What it leaves behind in
 * its group is killed only when the lock is lost: an orderly command may start what outlives it,
 * and the manual says that the lock does not cover it. */
#include "lock-wrapper.h"

#include <errno.h>
#include <stdlib.h>

#include "exit-code.h"
#include "lock-notice.h"
#include "lock-report.h"
#include "lock-session.h"
#include "output.h"
#include "paths.h"
#include "timer.h"
#include "wrapper-phase.h"

typedef struct LockWrapper {
        const LockTask *task;
        const DaemonConfig *config;
        const LockRequest *requests;
        sd_event *event;
        Session *session;
        LockSet *set;
        LockNotice *notice;
        LockSurvey *survey;
        CommandProcess *process;
        sd_event_source *give_up_timer;
        usec_t give_up_at; /* CLOCK_MONOTONIC */
        bool complained;   /* has said why it waits */
        WrapperPhase phase;
        int status; /* with which it ends; of a lock that is being released */
} LockWrapper;

/* Nobody waits any more. */
static void wrapper_end_wait(LockWrapper *wrapper) {
        wrapper->survey = lock_survey_free(wrapper->survey);
        wrapper->notice = lock_notice_free(wrapper->notice);
        wrapper->give_up_timer = sd_event_source_disable_unref(wrapper->give_up_timer);
}

/* What the event brings: an exit status or a signal's number, and why, for people. */
static void wrapper_step(LockWrapper *wrapper, WrapperEvent event, int number, const char *why);

/* ---- what follows ---- */

/* Ends it all with this status: releases what we have, then leaves the loop. */
static void wrapper_finish(LockWrapper *wrapper, int status) {
        wrapper->status = status;
        wrapper_end_wait(wrapper);
        wrapper->process = command_process_free(wrapper->process);
        wrapper->set = lock_set_forget(wrapper->set); /* its contenders end with the session */
        if (session_state(wrapper->session) == SESSION_CONNECTING)
                (void)sd_event_exit(wrapper->event, status);
        else
                session_close(wrapper->session);
}

static void wrapper_give_up(LockWrapper *wrapper) {
        const char *fault = session_fault(wrapper->session);

        if (wrapper->task->quiet) {
                /* the status says it */
        } else if (session_state(wrapper->session) != SESSION_CONNECTED)
                complain("ZooKeeper at %s cannot be reached%s%s", wrapper->config->servers,
                         *fault ? ": " : "", fault);
        else
                complain("the lock %s was not free in time", wrapper->task->label);
        wrapper_finish(wrapper, EXIT_CODE_NOT_HELD);
}

static void wrapper_on_command_ended(CommandProcess *process, int status, void *userdata) {
        wrapper_step(userdata, WRAPPER_EVENT_ENDED, status, NULL);
}

static void wrapper_start_command(LockWrapper *wrapper) {
        char **argv = wrapper->task->argv;
        g_auto(GStrv) environment =
            lock_task_environment(wrapper->task, lock_set_fencing_token(wrapper->set));
        int r;

        wrapper_end_wait(wrapper);
        r = command_process_start(wrapper->event, argv, environment, wrapper->task->inheritance,
                                  wrapper_on_command_ended, wrapper, &wrapper->process);
        if (r >= 0)
                return;
        complain("cannot execute %s: %s", argv[0], g_strerror(-r));
        wrapper_step(wrapper, WRAPPER_EVENT_REFUSED,
                     r == -ENOENT ? EXIT_CODE_NOT_FOUND : EXIT_CODE_CANNOT_EXECUTE, NULL);
}

static void wrapper_signal_command(LockWrapper *wrapper, int signal, const char *why) {
        complain("%s: %s the command", why, signal == SIGKILL ? "killing" : "stopping");
        command_process_signal(wrapper->process, signal);
}

static WrapperEvent wrapper_granted(const LockWrapper *wrapper) {
        usec_t now = clock_boottime();

        if (lock_set_held_until(wrapper->set) <= now || session_stop_at(wrapper->session) <= now)
                return WRAPPER_EVENT_GRANTED_LATE;
        return wrapper->task->go_on ? WRAPPER_EVENT_GRANTED_TO_GO_ON : WRAPPER_EVENT_GRANTED;
}

static void wrapper_on_lock_event(LockSet *set, LockEvent event, void *userdata) {
        LockWrapper *wrapper = userdata;

        switch (event) {
        case LOCK_EVENT_HELD:
                wrapper_step(wrapper, wrapper_granted(wrapper), 0, NULL);
                return;
        case LOCK_EVENT_TIMEOUT:
                wrapper_step(wrapper, WRAPPER_EVENT_TIMEOUT, 0, NULL);
                return;
        case LOCK_EVENT_LOST:
                wrapper_step(wrapper, WRAPPER_EVENT_LOST, 0, "the lock is lost");
                return;
        case LOCK_EVENT_FAILED:
                complain("the lock %s cannot be had: %s", wrapper->task->label,
                         lock_set_fault(set));
                wrapper_step(wrapper, WRAPPER_EVENT_REFUSED, EXIT_CODE_UNAVAILABLE, NULL);
                return;
        case LOCK_EVENT_REVOKED:
                if (!wrapper->task->quiet)
                        complain("release of the lock %s was requested", wrapper->task->label);
                return;
        case LOCK_EVENT_DOWNGRADED:
                return; /* not asked for */
        }
}

static usec_t wrapper_remaining(const LockWrapper *wrapper) {
        return wrapper->task->timeout == 0 ? 0 : usec_sub(wrapper->give_up_at, clock_monotonic());
}

/* Queues for the lock if there is a session and we do not stand in the queue yet. */
static void wrapper_queue(LockWrapper *wrapper) {
        g_autofree char *parent = NULL, *payload = NULL;
        LockOptions options = {
            .wait = wrapper_remaining(wrapper), .revocable = true, .fresh_token = true};
        int r = 0;

        if (wrapper->set || session_state(wrapper->session) != SESSION_CONNECTED)
                return;
        payload = lock_task_payload(wrapper->task, wrapper->config->node_name);
        options.payload = payload;
        parent = path_locks(wrapper->config->root);
        options.parent = parent;
        r = lock_set_acquire(wrapper->session, wrapper->requests, wrapper->task->wishes->len,
                             &options, wrapper_on_lock_event, wrapper, &wrapper->set);
        if (r >= 0 || r == -ENOTCONN)
                return;
        complain("cannot queue for the lock %s: %s", wrapper->task->label, g_strerror(-r));
        wrapper_step(wrapper, WRAPPER_EVENT_REFUSED, EXIT_CODE_UNAVAILABLE, NULL);
}

static void wrapper_queue_anew(LockWrapper *wrapper) {
        wrapper->survey = lock_survey_free(wrapper->survey);
        wrapper->set = lock_set_free(wrapper->set);
        wrapper_queue(wrapper);
}

static void wrapper_do(LockWrapper *wrapper, WrapperAction action, int number, const char *why) {
        switch (action) {
        case WRAPPER_NOTHING:
                return;
        case WRAPPER_QUEUE:
                wrapper_queue(wrapper);
                return;
        case WRAPPER_QUEUE_ANEW:
                wrapper_queue_anew(wrapper);
                return;
        case WRAPPER_START:
                wrapper_start_command(wrapper);
                return;
        case WRAPPER_GIVE_UP:
                wrapper_give_up(wrapper);
                return;
        case WRAPPER_FINISH:
                wrapper_finish(wrapper, number);
                return;
        case WRAPPER_FINISH_LOST:
                command_process_signal(wrapper->process, SIGKILL); /* what it has left behind */
                wrapper_finish(wrapper, EXIT_CODE_NOT_HELD);
                return;
        case WRAPPER_STOP:
                wrapper_signal_command(wrapper, SIGTERM, why);
                return;
        case WRAPPER_KILL:
                wrapper_signal_command(wrapper, SIGKILL, why);
                return;
        case WRAPPER_TELL:
                complain("%s: the command continues without the lock %s", why,
                         wrapper->task->label);
                return;
        case WRAPPER_FORWARD:
                command_process_signal(wrapper->process, number);
                return;
        case WRAPPER_LEAVE:
                (void)sd_event_exit(wrapper->event, wrapper->status);
                return;
        case WRAPPER_IMPOSSIBLE:
                abort();
        }
}

static void wrapper_step(LockWrapper *wrapper, WrapperEvent event, int number, const char *why) {
        WrapperStep step = wrapper_phase_step(wrapper->phase, event);

        wrapper->phase = step.phase;
        wrapper_do(wrapper, step.action, number, why);
}

/* ---- what happens ---- */

static void wrapper_fault(LockWrapper *wrapper) {
        if (wrapper->phase == WRAPPER_RELEASING || wrapper->task->quiet)
                return;
        wrapper->complained = true;
        complain("%s, retrying", session_fault(wrapper->session));
}

static void wrapper_on_session_event(Session *session, SessionEvent event, void *userdata) {
        LockWrapper *wrapper = userdata;

        switch (event) {
        case SESSION_EVENT_CONNECTED:
        case SESSION_EVENT_ATTACHED:
        case SESSION_EVENT_RESUMED:
                wrapper_step(wrapper, WRAPPER_EVENT_SESSION, 0, NULL);
                return;
        case SESSION_EVENT_SUSPENDED:
                return;
        case SESSION_EVENT_STOP:
                wrapper_step(wrapper, WRAPPER_EVENT_STOP, 0,
                             "ZooKeeper has not answered for too long");
                return;
        case SESSION_EVENT_LOST:
                wrapper_step(wrapper, WRAPPER_EVENT_LOST, 0, "the ZooKeeper session is over");
                return;
        case SESSION_EVENT_FAULT:
                wrapper_fault(wrapper);
                return;
        case SESSION_EVENT_CLOSED:
                wrapper_step(wrapper, WRAPPER_EVENT_CLOSED, 0, NULL);
                return;
        }
}

static int wrapper_on_signal(sd_event_source *source, const struct signalfd_siginfo *info,
                             void *userdata) {
        LockWrapper *wrapper = userdata;
        int signal = (int)info->ssi_signo;

        /* A command gets it; without one it is what we end with. */
        wrapper_step(wrapper, WRAPPER_EVENT_SIGNAL,
                     wrapper->process ? signal : EXIT_CODE_SIGNAL + signal, NULL);
        return 0;
}

static void wrapper_say_waiting(void *userdata) {
        LockWrapper *wrapper = userdata;
        size_t before = 0;

        if (wrapper->complained)
                return;
        if (!wrapper->set) {
                complain("waiting for ZooKeeper at %s", wrapper->config->servers);
                return;
        }
        (void)lock_set_waiting_for(wrapper->set, &before);
        complain("waiting for the lock %s, %zu ahead in the queue", wrapper->task->label, before);
}

static void wrapper_on_survey(LockSurvey *survey, int error, void *userdata) {
        LockWrapper *wrapper = userdata;
        json_t *report = NULL;

        if (error == 0 && wrapper->notice) {
                report =
                    lock_report(lock_survey_entries(survey), NULL, NULL, clock_realtime(), false);
                lock_notice_take(wrapper->notice, report);
                json_decref(report);
        }
        wrapper->survey = lock_survey_free(wrapper->survey);
}

static void wrapper_ask_who_holds(void *userdata) {
        LockWrapper *wrapper = userdata;
        g_autofree char *parent = path_locks(wrapper->config->root);
        guint n = wrapper->task->wishes->len;
        g_autofree LockPlace *places = g_new0(LockPlace, n);

        if (wrapper->survey || !wrapper->set)
                return;
        for (guint i = 0; i < n; i++)
                places[i] = (LockPlace){wrapper->requests[i].resource, wrapper->requests[i].path};
        (void)lock_survey_new(wrapper->session, parent, NULL, places, n, wrapper_on_survey, wrapper,
                              &wrapper->survey);
}

/* A LockSet has a time limit of its own, but not a try, which may wait for a server that does not
 * answer, nor the time without a place in the queue. */
static void wrapper_on_give_up(void *userdata) {
        wrapper_step(userdata, WRAPPER_EVENT_TIMEOUT, 0, NULL);
}

static int wrapper_timers(LockWrapper *wrapper) {
        static const LockNoticeFuncs funcs = {wrapper_say_waiting, wrapper_ask_who_holds};
        usec_t timeout = wrapper->task->timeout ? wrapper->task->timeout : LOCK_TRY_CONNECT_MAX;
        int r = lock_notice_new(wrapper->event, wrapper->task, &funcs, wrapper, &wrapper->notice);

        wrapper->give_up_at = usec_add(clock_monotonic(), timeout);
        if (r < 0 || wrapper->give_up_at == USEC_INFINITY)
                return r;
        return timer_at(wrapper->event, &wrapper->give_up_timer, CLOCK_MONOTONIC,
                        wrapper->give_up_at, wrapper_on_give_up, wrapper);
}

static int wrapper_prepare(LockWrapper *wrapper) {
        int r = sd_event_new(&wrapper->event);

        for (const int *signal = lock_task_signals; *signal && r >= 0; signal++)
                r = sd_event_add_signal(wrapper->event, NULL, *signal, wrapper_on_signal, wrapper);
        if (r >= 0)
                r = wrapper_timers(wrapper);
        if (r >= 0)
                r = lock_session_new(wrapper->event, wrapper->config, wrapper_on_session_event,
                                     wrapper, &wrapper->session);
        return r;
}

static int wrapper_exit(int error) {
        if (error == -EACCES)
                return EXIT_CODE_CONFIGURATION;
        complain("%s", g_strerror(-error));
        return EXIT_CODE_FAILED;
}

int lock_wrapper_run(const LockTask *task, const DaemonConfig *config,
                     const LockRequest *requests) {
        LockWrapper wrapper = {.task = task, .config = config, .requests = requests};
        int r = wrapper_prepare(&wrapper);

        if (r >= 0)
                r = sd_event_loop(wrapper.event);
        if (r < 0)
                r = wrapper_exit(r);
        wrapper_end_wait(&wrapper);
        command_process_free(wrapper.process);
        lock_set_free(wrapper.set);
        session_free(wrapper.session);
        sd_event_unref(wrapper.event);
        return r;
}

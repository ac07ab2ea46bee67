/* See lock-wrapper.h.
 *
 * Three phases, told apart by what exists. While there is no `process` we wait: for a session,
 * then, with a `set`, for the lock; whatever ends the session in this phase just begins the phase
 * again, within the one time limit. With a `process` we hold: signals are forwarded; at D - K
 * (SESSION_EVENT_STOP) the command's group gets SIGTERM and at D SIGKILL, and whatever it then ends
 * with, the status is 75, because it ended for the lock's sake (unless it was told to go on without
 * the lock). Once `finished` we release: contenders are deleted by closing the session, and the
 * loop ends when that is through.
 *
 * The lock is given back only after the command's own process has ended. What it leaves behind in
 * its group is killed only when the lock is lost: an orderly command may start what outlives it,
 * and the manual says that the lock does not cover it. */
#include "lock-wrapper.h"

#include <errno.h>

#include "exit-code.h"
#include "lock-notice.h"
#include "lock-report.h"
#include "lock-session.h"
#include "output.h"
#include "paths.h"

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
        bool stopping;     /* the command was told to end for the lock's sake */
        bool killed;       /* and killed */
        bool lost;         /* the command goes on without the lock */
        bool finished;
        int status;
} LockWrapper;

/* Nobody waits any more. */
static void wrapper_end_wait(LockWrapper *wrapper) {
        wrapper->survey = lock_survey_free(wrapper->survey);
        wrapper->notice = lock_notice_free(wrapper->notice);
        wrapper->give_up_timer = sd_event_source_disable_unref(wrapper->give_up_timer);
}

/* Ends it all with this status: releases what we have, then leaves the loop. */
static void wrapper_finish(LockWrapper *wrapper, int status) {
        if (wrapper->finished)
                return;
        wrapper->finished = true;
        wrapper->status = status;
        wrapper_end_wait(wrapper);
        wrapper->set = lock_set_forget(wrapper->set); /* its contenders end with the session */
        if (session_state(wrapper->session) == SESSION_CONNECTING)
                (void)sd_event_exit(wrapper->event, status);
        else
                session_close(wrapper->session);
}

static void wrapper_not_acquired(LockWrapper *wrapper) {
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
        LockWrapper *wrapper = userdata;

        if (wrapper->stopping)
                command_process_signal(process, SIGKILL); /* what it has left behind */
        wrapper->process = command_process_free(wrapper->process);
        wrapper_finish(wrapper, wrapper->stopping ? EXIT_CODE_NOT_HELD : status);
}

static void wrapper_start_command(LockWrapper *wrapper) {
        char **argv = wrapper->task->argv;
        g_auto(GStrv) environment =
            lock_task_environment(wrapper->task, lock_set_fencing_token(wrapper->set));
        int r = command_process_start(wrapper->event, argv, environment, wrapper->task->inheritance,
                                      wrapper_on_command_ended, wrapper, &wrapper->process);

        if (r >= 0)
                return;
        complain("cannot execute %s: %s", argv[0], g_strerror(-r));
        wrapper_finish(wrapper, r == -ENOENT ? EXIT_CODE_NOT_FOUND : EXIT_CODE_CANNOT_EXECUTE);
}

/* Ends the command because the lock ends. Its end may be told twice, by the lock and by the
 * session. */
static void wrapper_stop_command(LockWrapper *wrapper, int signal, const char *why) {
        if (!wrapper->process || wrapper->killed || wrapper->task->go_on)
                return;
        complain("%s: %s the command", why, signal == SIGKILL ? "killing" : "stopping");
        wrapper->stopping = true;
        wrapper->killed = signal == SIGKILL;
        command_process_signal(wrapper->process, signal);
}

static void wrapper_lost(LockWrapper *wrapper, const char *why) {
        if (wrapper->process && wrapper->task->go_on && !wrapper->lost)
                complain("%s: the command continues without the lock %s", why,
                         wrapper->task->label);
        wrapper->lost = wrapper->process;
        wrapper_stop_command(wrapper, SIGKILL, why);
}

static void wrapper_acquire(LockWrapper *wrapper);

static void wrapper_held(LockWrapper *wrapper) {
        usec_t now = clock_boottime();

        /* Granted so late that it would have to be stopped at once: not worth a start. Whoever
         * waits behind us may be better off; we queue again, now or when there is a session. */
        if (lock_set_held_until(wrapper->set) <= now || session_stop_at(wrapper->session) <= now) {
                wrapper->set = lock_set_free(wrapper->set);
                wrapper_acquire(wrapper);
                return;
        }
        wrapper_end_wait(wrapper);
        wrapper_start_command(wrapper);
}

static void wrapper_on_lock_event(LockSet *set, LockEvent event, void *userdata) {
        LockWrapper *wrapper = userdata;

        switch (event) {
        case LOCK_EVENT_HELD:
                wrapper_held(wrapper);
                return;
        case LOCK_EVENT_TIMEOUT:
                wrapper_not_acquired(wrapper);
                return;
        case LOCK_EVENT_LOST:
                if (wrapper->process) {
                        wrapper_lost(wrapper, "the lock is lost");
                        return;
                }
                wrapper->set = lock_set_free(wrapper->set);
                wrapper_acquire(wrapper);
                return;
        case LOCK_EVENT_FAILED:
                complain("the lock %s cannot be had: %s", wrapper->task->label,
                         lock_set_fault(set));
                wrapper_finish(wrapper, EXIT_CODE_UNAVAILABLE);
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
static void wrapper_acquire(LockWrapper *wrapper) {
        g_autofree char *parent = NULL, *payload = NULL;
        LockOptions options = {
            .wait = wrapper_remaining(wrapper), .revocable = true, .fresh_token = true};
        int r = 0;

        if (wrapper->set || wrapper->process || wrapper->finished ||
            session_state(wrapper->session) != SESSION_CONNECTED)
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
        wrapper_finish(wrapper, EXIT_CODE_UNAVAILABLE);
}

static void wrapper_fault(LockWrapper *wrapper) {
        if (wrapper->finished || wrapper->task->quiet)
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
                wrapper_acquire(wrapper);
                return;
        case SESSION_EVENT_SUSPENDED:
                return;
        case SESSION_EVENT_STOP:
                wrapper_stop_command(wrapper, SIGTERM, "ZooKeeper has not answered for too long");
                return;
        case SESSION_EVENT_LOST:
                wrapper_lost(wrapper, "the ZooKeeper session is over");
                wrapper->survey = lock_survey_free(wrapper->survey);
                if (!wrapper->process)
                        wrapper->set = lock_set_free(wrapper->set);
                return;
        case SESSION_EVENT_FAULT:
                wrapper_fault(wrapper);
                return;
        case SESSION_EVENT_CLOSED:
                (void)sd_event_exit(wrapper->event, wrapper->status);
                return;
        }
}

static int wrapper_on_signal(sd_event_source *source, const struct signalfd_siginfo *info,
                             void *userdata) {
        LockWrapper *wrapper = userdata;
        int signal = (int)info->ssi_signo;

        if (wrapper->process)
                command_process_signal(wrapper->process, signal);
        else if (wrapper->finished)
                (void)sd_event_exit(wrapper->event,
                                    wrapper->status); /* impatient while we tidy up */
        else
                wrapper_finish(wrapper, EXIT_CODE_SIGNAL + signal);
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
static int wrapper_on_give_up(sd_event_source *source, uint64_t usec, void *userdata) {
        wrapper_not_acquired(userdata);
        return 0;
}

static int wrapper_timers(LockWrapper *wrapper) {
        static const LockNoticeFuncs funcs = {wrapper_say_waiting, wrapper_ask_who_holds};
        usec_t timeout = wrapper->task->timeout ? wrapper->task->timeout : LOCK_TRY_CONNECT_MAX;
        int r = lock_notice_new(wrapper->event, wrapper->task, &funcs, wrapper, &wrapper->notice);

        wrapper->give_up_at = usec_add(clock_monotonic(), timeout);
        if (r < 0 || wrapper->give_up_at == USEC_INFINITY)
                return r;
        return sd_event_add_time(wrapper->event, &wrapper->give_up_timer, CLOCK_MONOTONIC,
                                 wrapper->give_up_at, USEC_PER_MSEC, wrapper_on_give_up, wrapper);
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

/* See daemon.h. A process that is killed still has objects, and they are freed on its turn when it
 * is over: requests and orders that they send go nowhere, and so that no file of theirs changes,
 * the machine's directory is another's for that long. */
#include "daemon.h"

#include <glib.h>
#include <stdio.h>

#include "event.h"
#include "failed-start.h"
#include "handle.h"
#include "requests.h"
#include "thread.h"

#define CLOCK_ASK_PERIOD (5 * USEC_PER_SEC)

struct Daemon {
        Machine *machine;
        Process *process;
        sd_event *event;
        Coordinator *coordinator; /* NULL: it has ended, or cannot begin */
        FailedStart *failing;
        sd_event_source *signals[DAEMON_SIGNALS];
        GPtrArray *requests; /* of DaemonRequest, that are not answered */
        WorldTask *telling;
        ProcessTask *clock_task;
        int code;
        DaemonFunc ended;
        void *userdata;
};

/* ---- requests ---- */

typedef struct DaemonRequest {
        Daemon *daemon;
        char *job;
        char *run, *node; /* that is to be stopped there; NULL: one is to begin */
        RequestCall *call;
} DaemonRequest;

static void daemon_request_free(void *data) {
        DaemonRequest *request = data;

        request_call_free(request->call);
        g_free(request->job);
        g_free(request->run);
        g_free(request->node);
        g_free(request);
}

static void daemon_on_request_written(int error, const char *run, void *userdata) {
        DaemonRequest *request = userdata;

        (void)error;
        (void)run;
        (void)g_ptr_array_remove(request->daemon->requests, request);
}

static int daemon_submit(Requests *requests, DaemonRequest *request) {
        const Requested wish = {
            .job = request->job, .run = request->run, .node = request->node, .who = "somebody"};

        return (wish.run ? requests_submit_stop : requests_submit)(
            requests, &wish, daemon_on_request_written, request, &request->call);
}

static void daemon_send_request(void *userdata) {
        DaemonRequest *request = userdata;
        Daemon *daemon = request->daemon;

        if (!daemon->coordinator || daemon_submit(daemon->coordinator->requests, request) < 0)
                (void)g_ptr_array_remove(daemon->requests, request);
}

void daemon_request(Daemon *daemon, const char *job) {
        daemon_request_stop(daemon, job, NULL, NULL);
}

void daemon_request_stop(Daemon *daemon, const char *job, const char *run, const char *node) {
        DaemonRequest *request;

        if (process_is_over(daemon->process))
                return;
        request = g_new0(DaemonRequest, 1);
        request->daemon = daemon;
        request->job = g_strdup(job);
        request->run = g_strdup(run);
        request->node = g_strdup(node);
        g_ptr_array_add(daemon->requests, request);
        process_do(daemon->process, daemon_send_request, request);
}

/* ---- the end ---- */

static void daemon_clear(void *userdata) {
        Daemon *daemon = userdata;

        for (unsigned i = 0; i < DAEMON_SIGNALS; i++)
                daemon->signals[i] = sd_event_source_disable_unref(daemon->signals[i]);
        daemon->clock_task = process_task_free(daemon->clock_task);
        g_ptr_array_set_size(daemon->requests, 0);
        daemon->coordinator = coordinator_free(daemon->coordinator);
        daemon->failing = failed_start_free(daemon->failing);
        daemon->event = sd_event_unref(daemon->event);
        threads_finish(daemon->process);
        handles_finish(daemon->process);
}

static void daemon_tell(void *userdata) {
        Daemon *daemon = userdata;

        daemon->telling = NULL;
        daemon->ended(daemon->code, daemon->userdata); /* may free the daemon */
}

static void daemon_is_over(int code, void *userdata) {
        Daemon *daemon = userdata;

        daemon_clear(daemon);
        process_end(daemon->process);
        daemon->code = code;
        daemon->telling = world_after(machine_world(daemon->machine), 0, daemon_tell, daemon);
}

static void daemon_kill(Daemon *daemon) {
        const char *directory = machine_directory(daemon->machine);
        g_autofree char *elsewhere = g_strconcat(directory, ".killed", NULL);

        process_end(daemon->process);
        g_assert_cmpint(rename(directory, elsewhere), ==, 0);
        process_do(daemon->process, daemon_clear, daemon);
        g_assert_cmpint(rename(elsewhere, directory), ==, 0);
}

Daemon *daemon_free(Daemon *daemon) {
        if (!daemon)
                return NULL;
        world_task_free(daemon->telling);
        if (!process_is_over(daemon->process))
                daemon_kill(daemon);
        process_free(daemon->process);
        g_ptr_array_unref(daemon->requests);
        g_free(daemon);
        return NULL;
}

/* ---- signals ---- */

static int daemon_on_terminate(sd_event_source *source, void *userdata) {
        Daemon *daemon = userdata;

        (void)source;
        if (daemon->failing)
                failed_start_terminate(daemon->failing);
        else
                coordinator_terminate(daemon->coordinator);
        return 0;
}

static int daemon_on_interrupt(sd_event_source *source, void *userdata) {
        Daemon *daemon = userdata;

        (void)source;
        if (daemon->failing)
                failed_start_terminate(daemon->failing);
        else
                coordinator_stop(daemon->coordinator);
        return 0;
}

/* Of one that has failed it is blocked. */
static int daemon_on_reload(sd_event_source *source, void *userdata) {
        Daemon *daemon = userdata;

        (void)source;
        if (daemon->coordinator)
                coordinator_reload(daemon->coordinator);
        return 0;
}

static void daemon_add_signals(Daemon *daemon) {
        static const sd_event_handler_t handlers[DAEMON_SIGNALS] = {
            daemon_on_terminate, daemon_on_interrupt, daemon_on_reload};

        for (unsigned i = 0; i < DAEMON_SIGNALS; i++) {
                g_assert_cmpint(
                    sd_event_add_defer(daemon->event, &daemon->signals[i], handlers[i], daemon), >=,
                    0);
                (void)sd_event_source_set_enabled(daemon->signals[i], SD_EVENT_OFF);
        }
}

void daemon_signal(Daemon *daemon, DaemonSignal signal) {
        if (!process_is_over(daemon->process))
                (void)sd_event_source_set_enabled(daemon->signals[signal], SD_EVENT_ONESHOT);
}

void daemon_hang(Daemon *daemon) {
        process_stop(daemon->process);
}

void daemon_go_on(Daemon *daemon) {
        process_continue(daemon->process);
}

/* ---- the clock ---- */

/* As bus/time-sync.c does, with timedated's answer. */
static void daemon_wait_for_clock(void *userdata) {
        Daemon *daemon = userdata;
        Node *node = daemon->coordinator ? daemon->coordinator->node : NULL;

        daemon->clock_task = NULL;
        if (!node)
                return;
        node->waits_for_clock = !machine_is_synchronised(daemon->machine);
        if (node->waits_for_clock)
                daemon->clock_task =
                    process_after(daemon->process, CLOCK_ASK_PERIOD, daemon_wait_for_clock, daemon);
}

/* ---- the beginning ---- */

static void daemon_begin(void *userdata) {
        Daemon *daemon = userdata;
        const char *directory = machine_directory(daemon->machine);
        g_autofree char *config = g_build_filename(directory, "jobkeeper.yaml", NULL),
                        *runtime = g_build_filename(directory, "run", NULL),
                        *state = g_build_filename(directory, "state", NULL);
        const CoordinatorOptions options = {config, directory, runtime, state};
        int r;

        g_assert_cmpint(sd_event_new(&daemon->event), >=, 0);
        event_on_exit(daemon->event, daemon_is_over, daemon);
        r = coordinator_new(daemon->event, &options, &daemon->coordinator);
        if (r < 0)
                r = failed_start_new(daemon->event, NULL, runtime, r, &daemon->failing);
        if (r < 0)
                daemon_is_over(r, daemon);
        else {
                daemon_add_signals(daemon);
                daemon_wait_for_clock(daemon);
        }
}

Daemon *daemon_new(Machine *machine, DaemonFunc ended, void *userdata) {
        Daemon *daemon = g_new0(Daemon, 1);

        daemon->machine = machine;
        daemon->process = process_new(machine);
        daemon->requests = g_ptr_array_new_with_free_func(daemon_request_free);
        daemon->ended = ended;
        daemon->userdata = userdata;
        process_do(daemon->process, daemon_begin, daemon);
        return daemon;
}

bool daemon_is_failing(const Daemon *daemon) {
        return daemon->failing;
}

const Coordinator *daemon_coordinator(const Daemon *daemon) {
        return daemon->coordinator;
}

Process *daemon_process(const Daemon *daemon) {
        return daemon->process;
}

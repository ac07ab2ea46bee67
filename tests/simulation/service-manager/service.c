/* See service.h. The main process begins, lives and ends; what it leaves in the cgroup ends later,
 * by itself or because it is ended. SIGTERM is obeyed as the conduct says, and SIGKILL follows it
 * after the stop timeout. */
#include "service.h"

#include <signal.h>
#include <string.h>

#include "launch-dropin.h"
#include "launch.h"
#include "pid1.h"

static void service_end_all(Service *service);
static void service_main_ends(void *userdata);

static void service_next(Service *service, usec_t delay, WorldFunc func) {
        service->next = process_task_free(service->next);
        service->next = process_after(pid1_process(service->pid1), delay, func, service);
}

static usec_t service_clock(const Service *service) {
        return machine_clock(process_machine(pid1_process(service->pid1)), CLOCK_REALTIME);
}

static usec_t service_monotonic(const Service *service) {
        return machine_clock(process_machine(pid1_process(service->pid1)), CLOCK_MONOTONIC);
}

/* PID 1 has news of it. `word`: its start job has ended so, if it had not ended before; NULL: no
 * job has. */
static void service_tell(Service *service, const char *word) {
        bool ends = word && !service->job_over;

        service->job_over |= ends;
        pid1_service_changed(service->pid1, service, ends ? word : NULL);
}

/* ---- the launch step: the product's own, in the machine's files ---- */

static const Machine *service_machine(const Service *service) {
        return process_machine(pid1_process(service->pid1));
}

/* Return: where its notes are; `ret_directory` is freed by the caller. */
static LaunchPlace service_place(const Service *service, char **ret_directory) {
        const Machine *machine = service_machine(service);

        *ret_directory =
            launch_dropin_directory(pid1_dropin_root(service->pid1), service->spec->name);
        return (LaunchPlace){.directory = *ret_directory,
                             .nonce = service->spec->nonce,
                             .now = machine_clock(machine, CLOCK_BOOTTIME),
                             .now_wall = machine_clock(machine, CLOCK_REALTIME)};
}

static bool service_was_attempted(const LaunchPlace *place) {
        g_autofree char *path = g_strdup_printf("%s/%s.started", place->directory, place->nonce);

        return g_file_test(path, G_FILE_TEST_EXISTS);
}

static LaunchRefusal service_step_before(const Service *service) {
        g_autofree char *directory = NULL;
        const LaunchPlace place = service_place(service, &directory);
        const char *const *words = service->spec->launch;
        LaunchClaim claim;

        if (!words)
                return LAUNCH_ALLOWED;
        if (machine_is_full(service_machine(service))) /* what is there is seen first */
                return service_was_attempted(&place) ? LAUNCH_AGAIN : LAUNCH_NO_MARKER;
        claim = (LaunchClaim){.session_file = words[1],
                              .session = words[2],
                              .instance_file = pid1_fence_file(service->pid1)};
        launch_claim_read(&claim, words + 3);
        return launch_start(&place, &claim);
}

/* Time is told as of the end of the main process. */
static void service_step_after(const Service *service) {
        static const char *const words[] = {[UNIT_OUTCOME_SUCCESS] = "success",
                                            [UNIT_OUTCOME_EXIT_CODE] = "exit-code",
                                            [UNIT_OUTCOME_SIGNAL] = "signal",
                                            [UNIT_OUTCOME_OTHER] = SYSTEMD_PROTOCOL};
        const char *word = service_ended_well(service) ? "success" : words[service->own.outcome];
        bool late = service->overdue || service->timed_out,
             exited = service->own.outcome != UNIT_OUTCOME_SIGNAL;
        g_autofree char *directory = NULL,
                        *status = g_strdup_printf("%d", service->own.exit_status);
        LaunchPlace place = service_place(service, &directory);

        if (!service->spec->launch || service->gone == 0 || service->conduct.cannot ||
            machine_is_full(service_machine(service)))
                return;
        place.now_wall = service->own.ended;
        (void)launch_note_result(&place, late ? "timeout" : word, exited ? "exited" : "killed",
                                 status);
}

void service_step_at_stop(Service *service) {
        g_autofree char *directory = NULL;
        LaunchPlace place = service_place(service, &directory);

        if (!service->spec->launch || !service->was_active || service->stopping ||
            machine_is_full(service_machine(service)))
                return;
        if (!service_starts_early(service)) /* such a one has no step for that */
                (void)launch_note_good_end(&place);
        if (service->phase == SERVICE_OVER)
                service_step_after(service);
}

/* ---- the end ---- */

static void service_is_empty(Service *service) {
        const ServiceWatcher *watcher = pid1_watcher(service->pid1);

        service->next = process_task_free(service->next);
        service->limit = process_task_free(service->limit);
        service->killer = process_task_free(service->killer);
        service->word = process_task_free(service->word);
        service->phase = SERVICE_OVER;
        if (service->stopping || !service->was_active)
                service_step_after(service);
        watcher->empty(service, watcher->userdata);
        service_tell(service, SYSTEMD_JOB_FAILED);
}

static void service_on_empty(void *userdata) {
        Service *service = userdata;

        service->next = NULL;
        service_is_empty(service);
}

static void service_take_result(Service *service, UnitOutcome outcome, int status,
                                const char *detail) {
        service->result.outcome = outcome;
        service->result.exit_status = status;
        (void)g_strlcpy(service->result.detail, detail, sizeof(service->result.detail));
        service->result.ended = service_clock(service);
        service->gone = service_monotonic(service);
        service->result.cpu = USEC_PER_MSEC;
        service->own = service->result;
        if (service->timed_out) {
                service->result.outcome = UNIT_OUTCOME_TIMEOUT;
                (void)g_strlcpy(service->result.detail, "timeout", sizeof(service->result.detail));
        }
}

/* All that is known from now on is how the main process ended. */
void service_forgive(Service *service) {
        if (service->phase != SERVICE_OVER || !service_has_failed(service))
                return;
        service->forgiven = true;
        service->overdue = service->timed_out = false;
        service->result = service->own;
}

/* What is left was asked to end when the main process was. */
static void service_terminate_rest(Service *service) {
        if (service->conduct.manners != SERVICE_IGNORES)
                service_next(service, service->conduct.last_words, service_on_empty);
}

static void service_main_is_over(Service *service, UnitOutcome outcome, int status,
                                 const char *detail) {
        const ServiceWatcher *watcher = pid1_watcher(service->pid1);

        service->limit = process_task_free(service->limit);
        service->word = process_task_free(service->word);
        service_take_result(service, outcome, status, detail);
        service->was_active = outcome == UNIT_OUTCOME_SUCCESS && !service->stopping;
        service->phase = SERVICE_LINGERING;
        watcher->over(service, watcher->userdata);
        if (service->was_active)
                service_tell(service, SYSTEMD_JOB_DONE);
        if (service->killed || service->conduct.remains == 0) {
                service_is_empty(service);
                return;
        }
        service_next(service, service->conduct.remains, service_on_empty);
        if (service->stopping)
                service_terminate_rest(service);
        else if (!service->was_active)
                service_end_all(service);
}

/* Nobody is left who could say that it is ready: what it leaves does not, nor does it leave
 * anything (cluster.c). */
static bool service_breaks_its_word(const Service *service, int status) {
        return service->spec->ready == UNIT_READY_NOTIFIED && !service->outlives_start &&
               !service->stopping && status == 0;
}

static void service_exits(Service *service, int status) {
        if (service_breaks_its_word(service, status)) {
                service_main_is_over(service, UNIT_OUTCOME_OTHER, 0, SYSTEMD_PROTOCOL);
                return;
        }
        service_main_is_over(service, status == 0 ? UNIT_OUTCOME_SUCCESS : UNIT_OUTCOME_EXIT_CODE,
                             status, status == 0 ? "" : "exit-code");
}

static void service_dies(Service *service, int signal) {
        service_main_is_over(service, UNIT_OUTCOME_SIGNAL, signal, "signal");
}

static void service_main_ends(void *userdata) {
        Service *service = userdata;

        service->next = NULL;
        if (!service->stopping || service->conduct.manners == SERVICE_IGNORES)
                service_exits(service, service->conduct.status);
        else if (service->conduct.manners == SERVICE_EXITS)
                service_exits(service, 0);
        else
                service_dies(service, SIGTERM);
}

void service_end(Service *service) {
        if (service->phase != SERVICE_RUNNING)
                return;
        service->next = process_task_free(service->next);
        service_main_ends(service);
}

/* ---- stopping ---- */

void service_kill(Service *service) {
        if (service->phase != SERVICE_OVER)
                service->killed = true;
        if (service->phase == SERVICE_RUNNING)
                service_dies(service, SIGKILL);
        else if (service->phase == SERVICE_LINGERING)
                service_is_empty(service);
}

/* What was clean so far is not any more. */
static void service_on_killer(void *userdata) {
        Service *service = userdata;

        service->killer = NULL;
        service->overdue = service->phase == SERVICE_RUNNING || service_ended_well(service);
        service_kill(service);
}

/* SIGTERM to all, and SIGKILL later. */
static void service_end_all(Service *service) {
        service->stopping = true;
        service->killer = process_after(pid1_process(service->pid1), service->spec->stop_timeout,
                                        service_on_killer, service);
        if (service->phase == SERVICE_LINGERING)
                service_terminate_rest(service);
        else if (service->conduct.manners != SERVICE_IGNORES)
                service_next(service, service->conduct.last_words, service_main_ends);
}

/* Its start job is taken back. */
static void service_never_runs(Service *service) {
        service->never = true;
        service_take_result(service, UNIT_OUTCOME_START_FAILED, 0, "the start job ended: canceled");
        service->result.ended = service->gone = 0;
        service_is_empty(service);
}

void service_stop(Service *service) {
        if (!service->job_over)
                service_tell(service, SYSTEMD_JOB_CANCELED);
        service->limit = process_task_free(service->limit);
        if (service->phase == SERVICE_QUEUED) {
                service->stopping = true;
                service_never_runs(service);
        } else if (!service->stopping) {
                service_step_at_stop(service);
                service_end_all(service);
        }
}

static void service_on_limit(void *userdata) {
        Service *service = userdata;

        service->limit = NULL;
        service->timed_out = true;
        service_end_all(service);
}

void service_vanish(Service *service) {
        const ServiceWatcher *watcher = pid1_watcher(service->pid1);
        ServicePhase before = service->phase;

        service->next = process_task_free(service->next);
        service->limit = process_task_free(service->limit);
        service->killer = process_task_free(service->killer);
        service->word = process_task_free(service->word);
        service->phase = SERVICE_OVER;
        service->killed = true;
        if (before == SERVICE_RUNNING)
                watcher->over(service, watcher->userdata);
        if (before != SERVICE_OVER)
                watcher->empty(service, watcher->userdata);
}

/* ---- the beginning ---- */

static void service_draw_invocation(Service *service) {
        WorldChance *chance = machine_chance(process_machine(pid1_process(service->pid1)));
        uint64_t high = world_draw(chance), low = world_draw(chance);

        (void)g_snprintf(service->result.invocation_id, sizeof(service->result.invocation_id),
                         "%016" G_GINT64_MODIFIER "x%016" G_GINT64_MODIFIER "x", high, low);
}

/* PID 1 made a process, and that ended without becoming the command. */
static void service_cannot(Service *service) {
        const char *name = unit_exit_status_name(service->conduct.cannot);
        g_autofree char *detail =
            g_strdup_printf("exit status %d/%s", service->conduct.cannot, name ? name : "?");

        service->result.started = service_clock(service);
        service_take_result(service, UNIT_OUTCOME_START_FAILED, service->conduct.cannot, detail);
        service_is_empty(service);
}

/* Its launch step failed: there is no main process. */
static void service_is_refused(Service *service, LaunchRefusal refusal) {
        service_take_result(service, UNIT_OUTCOME_START_FAILED, 0,
                            "exit-code before the main process started");
        service->result.ended = service->gone = 0;
        service->result.refusal = (int)refusal;
        service_is_empty(service);
}

/* Its start job is done, and its limit of time was for that. */
static void service_has_started(Service *service) {
        service->outlives_start = true;
        service->limit = process_task_free(service->limit);
        service_tell(service, SYSTEMD_JOB_DONE);
}

/* Whatever PID 1 makes of that. */
static void service_speaks(void *userdata) {
        Service *service = userdata;
        const ServiceWatcher *watcher = pid1_watcher(service->pid1);

        service->word = NULL;
        if (service->stopping)
                return;
        if (service->conduct.reboots) {
                watcher->reboots(service, watcher->userdata);
                return;
        }
        watcher->ready(service, watcher->userdata);
        if (service->spec->ready == UNIT_READY_NOTIFIED)
                service_has_started(service);
}

static void service_begins(void *userdata) {
        Service *service = userdata;
        const ServiceWatcher *watcher = pid1_watcher(service->pid1);
        LaunchRefusal refusal = service_step_before(service);

        service->next = NULL;
        service_draw_invocation(service);
        if (refusal != LAUNCH_ALLOWED) {
                service_is_refused(service, refusal);
                return;
        }
        if (service->conduct.cannot) {
                service_cannot(service);
                return;
        }
        service->phase = SERVICE_RUNNING;
        service->result.started = service_clock(service);
        watcher->begun(service, watcher->userdata);
        service_next(service, service->conduct.duration, service_main_ends);
        if (service->spec->timeout != USEC_INFINITY)
                service->limit = process_after(pid1_process(service->pid1), service->spec->timeout,
                                               service_on_limit, service);
        if (service->conduct.word > 0 && service->conduct.word != USEC_INFINITY)
                service->word = process_after(pid1_process(service->pid1), service->conduct.word,
                                              service_speaks, service);
        if (service->spec->ready == UNIT_READY_AT_START)
                service_has_started(service);
        else
                service_tell(service, NULL);
}

/* All that is left of it ends at once. */
static void service_ends_now(Service *service) {
        service_step_at_stop(service);
        service->stopping = true;
        if (service->phase == SERVICE_RUNNING)
                service_dies(service, SIGTERM);
        if (service->phase == SERVICE_LINGERING)
                service_is_empty(service);
}

void service_restart(Service *service) {
        service_ends_now(service);
        service->result = (UnitResult){.cpu = USEC_INFINITY};
        service->own = service->result;
        service->gone = 0;
        service->stopping = service->killed = service->timed_out = service->overdue = false;
        service->was_active = service->forgiven = service->outlives_start = false;
        service->phase = SERVICE_QUEUED;
        service_begins(service);
}

Service *service_new(Pid1 *pid1, const UnitSpec *spec) {
        const ServiceWatcher *watcher = pid1_watcher(pid1);
        Service *service = g_new0(Service, 1);

        service->pid1 = pid1;
        service->spec = unit_spec_copy(spec);
        service->result.cpu = USEC_INFINITY;
        watcher->conduct(service, &service->conduct, watcher->userdata);
        if (!spec->fenced || pid1_fence(pid1) == PID1_FENCE_ACTIVE)
                service_is_let(service);
        return service;
}

bool service_waits(const Service *service) {
        return service->phase == SERVICE_QUEUED && service->began == 0;
}

void service_is_let(Service *service) {
        if (!service_waits(service))
                return;
        service->began = service_monotonic(service);
        service_next(service, service->conduct.start, service_begins);
}

void service_free(void *data) {
        Service *service = data;

        process_task_free(service->next);
        process_task_free(service->limit);
        process_task_free(service->killer);
        process_task_free(service->word);
        unit_spec_free(service->spec);
        g_free(service);
}

bool service_is_alive(const Service *service) {
        return service->phase == SERVICE_RUNNING || service->phase == SERVICE_LINGERING;
}

bool service_has_failed(const Service *service) {
        return !service->forgiven && !service->never &&
               (service->overdue || !service_ended_well(service));
}

bool service_ended_well(const Service *service) {
        const UnitResult *result = &service->result;

        return result->outcome == UNIT_OUTCOME_SUCCESS ||
               (service_starts_early(service) && result->outcome == UNIT_OUTCOME_SIGNAL &&
                result->exit_status == SIGTERM);
}

bool service_starts_early(const Service *service) {
        return service->spec->ready != UNIT_READY_AT_END;
}

bool service_is_inactive(const Service *service) {
        return service->phase == SERVICE_OVER && !service_has_failed(service) &&
               (service->stopping || service->forgiven || service->never);
}

const char *service_variable(const Service *service, const char *name) {
        size_t length = strlen(name);

        for (const char *const *item = service->spec->environment; item && *item; item++)
                if (strncmp(*item, name, length) == 0 && (*item)[length] == '=')
                        return *item + length + 1;
        return NULL;
}

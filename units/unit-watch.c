/* Following a unit to its end.
 *
 * A signal only ever says "look": JobRemoved of any job of the unit, a new connection, a timer lead
 * to one GetAll, and what that shows decides. Doubt (UNSURE) is resolved first: a unit of our name
 * counts only with our nonce. Then, while a job is queued or the main process lives, there is
 * nothing to do but to send what the owner wants. When the main process has ended, its result is
 * noted before anything is stopped, because a unit that was stopped and is clean may be unloaded by
 * PID 1. What still lives in the cgroup is stopped (SIGTERM, SIGKILL after the stop timeout) and
 * the kernel, not PID 1, says when it is empty: PID 1 forgets the cgroup of a unit whose processes
 * survive SIGKILL.
 */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "unit-internal.h"

#define LOOK_DELAY_MIN (10 * USEC_PER_MSEC)
#define LOOK_DELAY_MAX (1 * USEC_PER_SEC)
/* The start may have been on its way through a bus that then broke down: absence counts when seen
 * twice, this far apart. */
#define ABSENCE_DELAY (2 * USEC_PER_SEC)
#define ABSENCES_NEEDED 2
/* PID 1 hears of the empty cgroup when we do, and sums the CPU time up a moment later. */
#define COUNTS_MAX 6
#define COUNT_TIMEOUT (2 * USEC_PER_SEC)

static void unit_started(Unit *unit) {
        if (!unit->started_told)
                unit_tell(unit, UNIT_EVENT_STARTED);
        unit->started_told = true;
}

static int on_look(sd_event_source *source, uint64_t usec, void *userdata) {
        Unit *unit = userdata;

        if (unit->state == UNIT_STATE_STARTING)
                unit_send_start(unit);
        else if (unit->state == UNIT_STATE_RUNNING && !unit->started_told)
                unit_peek(unit);
        else
                unit_read(unit);
        return 0;
}

void unit_look_again(Unit *unit, usec_t delay) {
        sd_event *event = unit_manager_event(unit->manager);

        if (unit->timer) {
                (void)sd_event_source_set_time_relative(unit->timer, delay);
                (void)sd_event_source_set_enabled(unit->timer, SD_EVENT_ONESHOT);
        } else if (sd_event_add_time_relative(event, &unit->timer, CLOCK_MONOTONIC, delay,
                                              USEC_PER_MSEC, on_look, unit) < 0)
                unit_read(unit); /* no timer to be had: look at once */
}

static void unit_look_later(Unit *unit) {
        unit->look_delay = CLAMP(2 * unit->look_delay, LOOK_DELAY_MIN, LOOK_DELAY_MAX);
        unit_look_again(unit, unit->look_delay);
}

/* --- the invocation id --- */

static int build_peek(sd_bus *bus, void *userdata, sd_bus_message **ret_message) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        Unit *unit = userdata;
        int r;

        r = sd_bus_message_new_method_call(bus, &message, SYSTEMD_SERVICE, unit->path,
                                           DBUS_PROPERTIES, "Get");
        if (r >= 0)
                r = sd_bus_message_append(message, "ss", SYSTEMD_SERVICE ".Unit", "InvocationID");
        if (r < 0)
                return r;
        *ret_message = g_steal_pointer(&message);
        return 0;
}

static void on_peek(sd_bus_message *reply, const sd_bus_error *error, void *userdata) {
        Unit *unit = userdata;
        char id[33] = "";

        if (unit->state != UNIT_STATE_RUNNING || unit->started_told)
                return;
        if (reply && sd_bus_message_enter_container(reply, 'v', "ay") > 0)
                (void)unit_invocation_id_read(reply, id);
        if (id[0]) {
                (void)g_strlcpy(unit->result.invocation_id, id, sizeof unit->result.invocation_id);
                unit_started(unit);
        } else
                unit_look_later(unit); /* its start job still waits for its turn */
        unit_pursue(unit);
}

void unit_peek(Unit *unit) {
        bus_call_free(unit->peek);
        unit->peek = bus_call_new(unit_manager_queue(unit->manager), build_peek, on_peek, unit,
                                  SYSTEMD_CALL_TIMEOUT, BUS_CALL_ORDINARY);
}

/* --- who stops it --- */

static int build_ask(sd_bus *bus, void *userdata, sd_bus_message **ret_message) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        int r;

        r = sd_bus_message_new_method_call(bus, &message, SYSTEMD_SERVICE, SYSTEMD_PATH,
                                           DBUS_PROPERTIES, "Get");
        if (r >= 0)
                r = sd_bus_message_append(message, "ss", SYSTEMD_MANAGER, "SystemState");
        if (r < 0)
                return r;
        *ret_message = g_steal_pointer(&message);
        return 0;
}

static void on_ask(sd_bus_message *reply, const sd_bus_error *error, void *userdata) {
        Unit *unit = userdata;
        const char *state;

        if (reply && sd_bus_message_read(reply, "v", "s", &state) >= 0 &&
            strcmp(state, "stopping") == 0)
                unit->stopper = UNIT_STOP_SHUTDOWN;
        if (unit->result.stop == UNIT_STOP_OTHER)
                unit->result.stop = unit->stopper;
        if (unit->events)
                (void)sd_event_source_set_enabled(unit->teller, SD_EVENT_ONESHOT);
}

void unit_ask(Unit *unit) {
        unit->stopper = UNIT_STOP_OTHER;
        bus_call_free(unit->ask);
        unit->ask = bus_call_new(unit_manager_queue(unit->manager), build_ask, on_ask, unit,
                                 COUNT_TIMEOUT, BUS_CALL_URGENT);
}

/* Its start job is gone, and no other is there, and it runs: `systemctl cancel` is no stop. */
static void unit_was_only_cancelled(Unit *unit) {
        if (unit->start_word && strcmp(unit->start_word, "canceled") == 0)
                g_clear_pointer(&unit->start_word, g_free);
        unit->stopper = UNIT_STOP_NONE;
}

/* --- the end of the main process, and of the rest --- */

/* Was it our (or somebody else's) stop that ended the start job, so that a "timeout" is the stop
 * timeout and no time limit? */
static bool unit_stop_came_first(const Unit *unit) {
        if (unit->start_word)
                return strcmp(unit->start_word, "canceled") == 0 || unit->want_kill;
        return unit->result.stop == UNIT_STOP_OWNER;
}

static void unit_note_detail(Unit *unit, const UnitProperties *p, const char *word) {
        const char *name = unit_exit_status_name(p->exec_main_status);

        if (unit->result.outcome == UNIT_OUTCOME_SUCCESS)
                return;
        if (unit->result.outcome != UNIT_OUTCOME_START_FAILED)
                unit_set_detail(unit, "%s", word);
        else if (p->exec_main_code)
                unit_set_detail(unit, "exit status %d/%s", p->exec_main_status, name ? name : "?");
        else if (strcmp(word, "success") != 0)
                unit_set_detail(unit, "%s before the main process started", word);
        else
                unit_set_detail(unit, "the start job ended: %s",
                                unit->start_word ? unit->start_word : "unknown");
}

static void unit_note_result(Unit *unit, const UnitProperties *p) {
        UnitResult *result = &unit->result;
        const char *word = p->result ? p->result : "";

        if (strcmp(word, "timeout") == 0 && unit_stop_came_first(unit))
                word = unit_result_word_of_process(p->exec_main_code, p->exec_main_status);
        result->outcome = unit_outcome_from_service(word, p->exec_main_code, p->exec_main_status);
        result->exit_status = p->exec_main_status;
        result->started = p->exec_main_start;
        result->ended = p->exec_main_exit;
        result->cpu = p->cpu;
        /* A wish that PID 1 heard after the main process had ended by itself changed nothing. */
        if (unit->start_word && (strcmp(unit->start_word, "done") == 0 ||
                                 (strcmp(unit->start_word, "failed") == 0 && !unit->want_kill)))
                result->stop = UNIT_STOP_NONE;
        else if (result->stop == UNIT_STOP_NONE)
                result->stop = unit->stopper;
        unit_note_detail(unit, p, word);
}

static void on_empty(void *userdata) {
        Unit *unit = userdata;

        unit->state = UNIT_STATE_COUNTING;
        if (unit_manager_connected(unit->manager) && unit->known_ours)
                unit_read(unit);
        else
                unit_end(unit, UNIT_OUTCOME_UNKNOWN, "");
}

/* The main process is no more; is anything else left? */
static void unit_drain(Unit *unit, bool stop) {
        sd_event *event = unit_manager_event(unit->manager);
        const char *root = unit_manager_cgroup_root(unit->manager);

        unit->state = UNIT_STATE_DRAINING;
        if (!unit->cgroup || !cgroup_is_populated(root, unit->cgroup)) {
                unit_end(unit, UNIT_OUTCOME_UNKNOWN, "");
                return;
        }
        if (stop)
                unit_send_stop(unit);
        unit_pursue(unit);
        if (cgroup_watch_new(event, root, unit->cgroup, on_empty, unit, &unit->watch) < 0)
                unit_look_again(unit, LOOK_DELAY_MAX);
}

static void unit_main_over(Unit *unit, const UnitProperties *p) {
        bool deactivating = strcmp(p->active_state, "deactivating") == 0;

        unit_note_result(unit, p);
        if (p->exec_main_code) {
                if (unit->spec)
                        unit_started(unit);
                unit_tell(unit, UNIT_EVENT_EXITED);
        }
        if (deactivating && unit->cgroup &&
            !cgroup_is_populated(unit_manager_cgroup_root(unit->manager), unit->cgroup))
                on_empty(unit); /* PID 1 is about to hear of it; what is discarded now would still
                                   turn into a failed unit */
        else
                unit_drain(unit, strcmp(p->active_state, "active") == 0);
}

/* --- what a read shows --- */

static void unit_apply_running(Unit *unit, const UnitProperties *p) {
        bool deactivating = strcmp(p->active_state, "deactivating") == 0;

        if (unit_properties_over(p)) {
                unit_main_over(unit, p);
                return;
        }
        if (unit->result.invocation_id[0] && p->main_pid)
                unit_started(unit);
        if (!unit->systemd_job && p->systemd_job && !deactivating)
                unit->systemd_job = g_strdup(p->systemd_job);
        unit_pursue(unit);
        if (deactivating && !p->systemd_job)
                unit_send_stop(unit); /* its time limit passed: PID 1 is at it already, but only a
                                         job's end is told */
        if (!p->systemd_job && !deactivating)
                unit_was_only_cancelled(unit);
        if (!p->systemd_job)
                unit_look_again(
                    unit,
                    LOOK_DELAY_MAX); /* somebody took the job away; nothing else will wake us */
}

static void unit_apply_counting(Unit *unit, const UnitProperties *p) {
        if (strcmp(p->active_state, "deactivating") == 0 && ++unit->counts < COUNTS_MAX) {
                unit_look_later(unit);
                return;
        }
        if (p->cpu != USEC_INFINITY)
                unit->result.cpu = p->cpu;
        unit_end(unit, UNIT_OUTCOME_UNKNOWN, "");
}

static void unit_apply_ours(Unit *unit, const UnitProperties *p) {
        unit->known_ours = true;
        if (p->control_group && *p->control_group) {
                g_free(unit->cgroup);
                unit->cgroup = g_strdup(p->control_group);
        } else if (!unit->cgroup && p->slice)
                unit->cgroup = cgroup_path_of_unit(p->slice, unit->name);
        if (p->invocation_id[0])
                (void)g_strlcpy(unit->result.invocation_id, p->invocation_id,
                                sizeof unit->result.invocation_id);
        switch (unit->state) {
        case UNIT_STATE_UNSURE:
                unit->state = UNIT_STATE_RUNNING;
                unit_apply_running(unit, p);
                break;
        case UNIT_STATE_RUNNING:
                unit_apply_running(unit, p);
                break;
        case UNIT_STATE_DRAINING:
                if (strcmp(p->active_state, "active") == 0)
                        unit_send_stop(unit);
                unit_pursue(unit);
                if (!unit->watch)
                        unit_drain(unit, false);
                break;
        case UNIT_STATE_COUNTING:
                unit_apply_counting(unit, p);
                break;
        case UNIT_STATE_STARTING:
        case UNIT_STATE_OVER:
                g_assert_not_reached(); /* nothing is read before the start is answered, nor after
                                           the end */
        }
}

static void unit_apply_doubt(Unit *unit, bool foreign) {
        switch (unit->doubt) {
        case UNIT_DOUBT_ADOPT:
                unit_end(unit, UNIT_OUTCOME_UNKNOWN, "no such unit");
                unit->events = 0;
                unit_tell(unit, UNIT_EVENT_ABSENT);
                break;
        case UNIT_DOUBT_EXISTS:
                unit_end(unit, foreign ? UNIT_OUTCOME_START_FAILED : UNIT_OUTCOME_UNKNOWN,
                         foreign ? "another unit of this name exists"
                                 : "a unit of this name existed, and vanished");
                break;
        case UNIT_DOUBT_LOST:
                if (!foreign && ++unit->absences < ABSENCES_NEEDED)
                        unit_look_again(unit, ABSENCE_DELAY);
                else
                        unit_end(unit, UNIT_OUTCOME_UNKNOWN,
                                 "the answer to the start was lost, and the unit is not there");
                break;
        }
}

/* There is no unit of our name, or (foreign) it is somebody else's. */
static void unit_apply_absent(Unit *unit, bool foreign) {
        switch (unit->state) {
        case UNIT_STATE_UNSURE:
                unit_apply_doubt(unit, foreign);
                break;
        case UNIT_STATE_RUNNING:
                unit->known_ours = false;
                unit->result.outcome = UNIT_OUTCOME_UNKNOWN;
                unit_set_detail(unit, "the unit vanished before its result could be read");
                if (foreign)
                        unit_end(unit, UNIT_OUTCOME_UNKNOWN, "");
                else
                        unit_drain(unit, false);
                break;
        case UNIT_STATE_DRAINING: /* the cgroup decides */
                unit->known_ours = false;
                if (!unit->watch)
                        unit_drain(unit, false);
                break;
        case UNIT_STATE_COUNTING:
                unit_end(unit, UNIT_OUTCOME_UNKNOWN, "");
                break;
        case UNIT_STATE_STARTING:
        case UNIT_STATE_OVER:
                g_assert_not_reached();
        }
}

/* --- reading --- */

static int build_read(sd_bus *bus, void *userdata, sd_bus_message **ret_message) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        Unit *unit = userdata;
        unsigned generation = unit_manager_ref_generation(unit->manager);
        int r;

        /* Before the read, so that what it shows stays there. Whether it was ours to refer to is
         * known a moment later. */
        if (generation != unit->ref_generation && generation != 0 &&
            unit->state < UNIT_STATE_COUNTING) {
                unit_manager_tell(unit->manager, "RefUnit", "s", unit->name);
                unit->ref_generation = generation;
        }
        r = sd_bus_message_new_method_call(bus, &message, SYSTEMD_SERVICE, unit->path,
                                           DBUS_PROPERTIES, "GetAll");
        if (r >= 0)
                r = sd_bus_message_append(message, "s", ""); /* of all interfaces */
        if (r < 0)
                return r;
        *ret_message = g_steal_pointer(&message);
        return 0;
}

static void on_read(sd_bus_message *reply, const sd_bus_error *error, void *userdata) {
        Unit *unit = userdata;
        UnitProperties properties = {0};
        bool again = unit->read_again;

        unit->read_again = false;
        if (!reply || unit_properties_read(reply, &properties) < 0) {
                if (error && strcmp(error->name, SD_BUS_ERROR_UNKNOWN_OBJECT) == 0)
                        unit_apply_absent(unit, false);
                else if (unit->state == UNIT_STATE_COUNTING)
                        unit_end(unit, UNIT_OUTCOME_UNKNOWN, "");
                else
                        unit_look_again(unit, LOOK_DELAY_MAX); /* unknown, never failed */
                return;
        }
        if (again && unit->state >= UNIT_STATE_DRAINING)
                unit_read(unit); /* asked before the cgroup was empty */
        else if (unit_properties_are_of(&properties, unit->nonce))
                unit_apply_ours(unit, &properties);
        else
                unit_apply_absent(unit, strcmp(properties.load_state, "not-found") != 0);
        unit_properties_clear(&properties);
        if (again && unit->state == UNIT_STATE_RUNNING)
                unit_read(unit);
}

void unit_read(Unit *unit) {
        if (unit->read && !bus_call_done(unit->read)) {
                unit->read_again = true;
                return;
        }
        bus_call_free(unit->read);
        unit->read =
            bus_call_new(unit_manager_queue(unit->manager), build_read, on_read, unit,
                         unit->state == UNIT_STATE_COUNTING ? COUNT_TIMEOUT : SYSTEMD_CALL_TIMEOUT,
                         BUS_CALL_ORDINARY);
}

/* --- what the manager tells --- */

void unit_on_systemd_job_removed(Unit *unit, const char *systemd_job, const char *word) {
        if (unit->state != UNIT_STATE_UNSURE && unit->state != UNIT_STATE_RUNNING)
                return;
        if (unit->systemd_job && strcmp(unit->systemd_job, systemd_job) == 0) {
                g_free(unit->start_word);
                unit->start_word = g_strdup(word);
                if (strcmp(word, "canceled") == 0 && !unit->want_stop && !unit->want_kill)
                        unit_ask(unit);
        }
        unit_read(unit);
}

void unit_on_connected(Unit *unit) {
        unit->stop_sent = false;
        unit->kill_sent = false;
        if (unit->state >= UNIT_STATE_UNSURE && unit->state < UNIT_STATE_COUNTING)
                unit_read(unit);
}

void unit_on_disconnected(Unit *unit) {
        if (unit->state == UNIT_STATE_COUNTING)
                unit_end(unit, UNIT_OUTCOME_UNKNOWN, "");
}

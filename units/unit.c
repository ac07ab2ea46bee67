/* A unit as its owner sees it: started or adopted, stopped, killed, discarded; see unit.h. What PID
 * 1 and the kernel tell is followed in unit-watch.c.
 *
 * All of a unit's calls, timers and watches belong to the Unit, so that unit_free() is the end of
 * them, and every event is told by one event source, so that no owner is ever called from inside a
 * call of its own.
 */
#include <errno.h>
#include <glib.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include "unit-internal.h"

/* How long to wait after PID 1 had too many calls, and after it refused to stop something. */
#define BUSY_DELAY (100 * USEC_PER_MSEC)
#define RETRY_DELAY (1 * USEC_PER_SEC)

void unit_set_detail(Unit *unit, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        (void)g_vsnprintf(unit->result.detail, sizeof unit->result.detail, format, arguments);
        va_end(arguments);
        /* An error message may be cut inside a character. */
        const char *end;
        if (!g_utf8_validate(unit->result.detail, -1, &end))
                unit->result.detail[end - unit->result.detail] = '\0';
}

static int on_teller(sd_event_source *source, void *userdata) {
        Unit *unit = userdata;
        bool asking = unit->ask && !bus_call_done(unit->ask);

        for (UnitEvent event = UNIT_EVENT_STARTED; event <= UNIT_EVENT_ABSENT; event++)
                if (unit->events & (1U << event) && !(asking && event != UNIT_EVENT_STARTED)) {
                        unit->events &= ~(1U << event);
                        (void)sd_event_source_set_enabled(source, unit->events ? SD_EVENT_ONESHOT
                                                                               : SD_EVENT_OFF);
                        unit->func(unit, event, unit->userdata); /* may free the unit */
                        return 0;
                }
        return 0;
}

void unit_tell(Unit *unit, UnitEvent event) {
        unit->events |= 1U << event;
        (void)sd_event_source_set_enabled(unit->teller, SD_EVENT_ONESHOT);
}

static void unit_release(Unit *unit) {
        unit->start = bus_call_free(unit->start);
        unit->peek = bus_call_free(unit->peek);
        unit->read = bus_call_free(unit->read);
        unit->stop = bus_call_free(unit->stop);
        unit->kill = bus_call_free(unit->kill);
        unit->watch = cgroup_watch_free(unit->watch);
        unit->timer = sd_event_source_disable_unref(unit->timer);
}

void unit_end(Unit *unit, UnitOutcome outcome, const char *detail) {
        if (unit->result.outcome == UNIT_OUTCOME_PENDING) {
                unit->result.outcome = outcome;
                unit_set_detail(unit, "%s", detail);
        }
        unit->state = UNIT_STATE_OVER;
        unit_release(unit);
        unit_tell(unit, UNIT_EVENT_ENDED);
}

/* --- starting --- */

static int build_start(sd_bus *bus, void *userdata, sd_bus_message **ret_message) {
        Unit *unit = userdata;
        unsigned generation = unit_manager_ref_generation(unit->manager);
        int r;

        r = unit_start_message(bus, unit->spec, generation != 0, ret_message);
        if (r >= 0)
                unit->ref_generation = generation;
        return r;
}

static void unit_on_start_failed(Unit *unit, const sd_bus_error *error) {
        switch (unit_bus_fault_from_error(error->name)) {
        case UNIT_BUS_REFUSED:
                unit->ref_generation = 0;
                unit_end(unit, UNIT_OUTCOME_START_FAILED,
                         error->message ? error->message : error->name);
                break;
        case UNIT_BUS_BUSY:
                unit->ref_generation = 0;
                if (unit->want_stop || unit->want_kill)
                        unit_end(unit, UNIT_OUTCOME_START_FAILED, "stopped before it was started");
                else
                        unit_look_again(unit, BUSY_DELAY);
                break;
        case UNIT_BUS_EXISTS:
                unit->ref_generation = 0;
                unit->state = UNIT_STATE_UNSURE;
                unit->doubt = UNIT_DOUBT_EXISTS;
                unit_read(unit);
                break;
        case UNIT_BUS_UNKNOWN:
                unit->state = UNIT_STATE_UNSURE;
                unit->doubt = UNIT_DOUBT_LOST;
                unit_read(unit);
                break;
        }
}

static void on_start(sd_bus_message *reply, const sd_bus_error *error, void *userdata) {
        Unit *unit = userdata;
        const char *path;

        if (error) {
                unit_on_start_failed(unit, error);
                return;
        }
        if (sd_bus_message_read(reply, "o", &path) >= 0)
                unit->systemd_job = g_strdup(path);
        unit->state = UNIT_STATE_RUNNING;
        unit_peek(unit);
        unit_pursue(unit);
}

void unit_send_start(Unit *unit) {
        bus_call_free(unit->start);
        unit->start = bus_call_new(unit_manager_queue(unit->manager), build_start, on_start, unit,
                                   SYSTEMD_CALL_TIMEOUT, BUS_CALL_ORDINARY);
}

static int unit_new(UnitManager *manager, const char *name, const char *nonce, UnitFunc func,
                    void *userdata, Unit **ret_unit) {
        _cleanup_(unit_freep) Unit *unit = g_new0(Unit, 1);
        int r;

        unit->manager = manager;
        unit->name = g_strdup(name);
        unit->nonce = g_strdup(nonce);
        unit->func = func;
        unit->userdata = userdata;
        unit->result.cpu = USEC_INFINITY;
        r = sd_bus_path_encode(SYSTEMD_UNIT_PATH_PREFIX, name, &unit->path);
        if (r < 0)
                return r;
        r = sd_event_add_defer(unit_manager_event(manager), &unit->teller, on_teller, unit);
        if (r < 0)
                return r;
        (void)sd_event_source_set_enabled(unit->teller, SD_EVENT_OFF);
        unit_manager_add(manager, unit);
        *ret_unit = g_steal_pointer(&unit);
        return 0;
}

int unit_start(UnitManager *manager, const UnitSpec *spec, UnitFunc func, void *userdata,
               Unit **ret_unit) {
        Unit *unit = NULL;
        int r;

        if (!spec->name || !spec->nonce || !spec->argv || !spec->argv[0])
                return -EINVAL;
        r = unit_new(manager, spec->name, spec->nonce, func, userdata, &unit);
        if (r < 0)
                return r;
        unit->state = UNIT_STATE_STARTING;
        unit->spec = unit_spec_copy(spec);
        unit->cgroup = cgroup_path_of_unit(spec->slice ? spec->slice : "system.slice", spec->name);
        unit_send_start(unit);
        *ret_unit = unit;
        return 0;
}

int unit_adopt(UnitManager *manager, const char *name, const char *nonce, UnitFunc func,
               void *userdata, Unit **ret_unit) {
        Unit *unit = NULL;
        int r;

        if (!name || !nonce)
                return -EINVAL;
        r = unit_new(manager, name, nonce, func, userdata, &unit);
        if (r < 0)
                return r;
        unit->state = UNIT_STATE_UNSURE;
        unit->doubt = UNIT_DOUBT_ADOPT;
        unit_read(unit);
        *ret_unit = unit;
        return 0;
}

/* --- stopping --- */

static int build_stop(sd_bus *bus, void *userdata, sd_bus_message **ret_message) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        Unit *unit = userdata;
        int r;

        r = sd_bus_message_new_method_call(bus, &message, SYSTEMD_SERVICE, SYSTEMD_PATH,
                                           SYSTEMD_MANAGER, "StopUnit");
        if (r >= 0)
                r = sd_bus_message_append(message, "ss", unit->name, "replace");
        if (r < 0)
                return r;
        *ret_message = g_steal_pointer(&message);
        return 0;
}

static int build_kill(sd_bus *bus, void *userdata, sd_bus_message **ret_message) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        Unit *unit = userdata;
        int r;

        r = sd_bus_message_new_method_call(bus, &message, SYSTEMD_SERVICE, SYSTEMD_PATH,
                                           SYSTEMD_MANAGER, "KillUnit");
        if (r >= 0)
                r = sd_bus_message_append(message, "ssi", unit->name, "all", SIGKILL);
        if (r < 0)
                return r;
        *ret_message = g_steal_pointer(&message);
        return 0;
}

/* PID 1 did not do it: whether the unit is gone or PID 1 in trouble, a look at the unit tells, and
 * sends the wish again. */
static void on_stop(sd_bus_message *reply, const sd_bus_error *error, void *userdata) {
        Unit *unit = userdata;

        if (error) {
                unit->stop_sent = false;
                unit_look_again(unit, RETRY_DELAY);
        }
}

/* "No process to kill" is an error too, and what we wish for. */
static void on_kill(sd_bus_message *reply, const sd_bus_error *error, void *userdata) {
        Unit *unit = userdata;

        if (error && unit_bus_fault_from_error(error->name) != UNIT_BUS_REFUSED) {
                unit->kill_sent = false;
                unit_look_again(unit, RETRY_DELAY);
        }
}

void unit_send_stop(Unit *unit) {
        if (unit->stop_sent)
                return;
        unit->stop_sent = true;
        bus_call_free(unit->stop);
        unit->stop = bus_call_new(unit_manager_queue(unit->manager), build_stop, on_stop, unit,
                                  SYSTEMD_CALL_TIMEOUT, BUS_CALL_URGENT);
}

static void unit_send_kill(Unit *unit) {
        if (unit->kill_sent)
                return;
        unit->kill_sent = true;
        bus_call_free(unit->kill);
        unit->kill = bus_call_new(unit_manager_queue(unit->manager), build_kill, on_kill, unit,
                                  SYSTEMD_CALL_TIMEOUT, BUS_CALL_URGENT);
}

void unit_pursue(Unit *unit) {
        if (unit->state != UNIT_STATE_RUNNING && unit->state != UNIT_STATE_DRAINING)
                return; /* not known to be ours yet, or nothing there any more */
        if (unit->want_kill)
                unit_send_kill(unit);
        if (unit->want_stop || unit->want_kill) /* also takes back a start job that still waits */
                unit_send_stop(unit);
}

static void unit_want(Unit *unit, bool *wish) {
        if (unit->state == UNIT_STATE_OVER)
                return;
        *wish = true;
        if (unit->state < UNIT_STATE_DRAINING)
                unit->result.stop = UNIT_STOP_OWNER;
        if (unit->state == UNIT_STATE_STARTING &&
            !(unit->start && bus_call_sent(unit->start) && !bus_call_done(unit->start)))
                unit_end(unit, UNIT_OUTCOME_START_FAILED, "stopped before it was started");
        else
                unit_pursue(unit);
}

void unit_stop(Unit *unit) {
        unit_want(unit, &unit->want_stop);
}

void unit_kill(Unit *unit) {
        unit_want(unit, &unit->want_kill);
}

/* --- the end --- */

static void unit_unref_in_systemd(Unit *unit) {
        if (unit->ref_generation &&
            unit->ref_generation == unit_manager_ref_generation(unit->manager))
                unit_manager_tell(unit->manager, "UnrefUnit", "s", unit->name);
        unit->ref_generation = 0;
}

void unit_discard(Unit *unit) {
        if (unit->state == UNIT_STATE_OVER && unit->known_ours)
                unit_forget(unit->manager, unit->name);
        unit_unref_in_systemd(unit);
}

Unit *unit_free(Unit *unit) {
        if (!unit)
                return NULL;
        unit_manager_remove(unit->manager, unit);
        unit_release(unit);
        bus_call_free(unit->ask);
        unit_unref_in_systemd(unit);
        sd_event_source_disable_unref(unit->teller);
        unit_spec_free(unit->spec);
        g_free(unit->name);
        g_free(unit->path);
        g_free(unit->nonce);
        g_free(unit->cgroup);
        g_free(unit->systemd_job);
        g_free(unit->start_word);
        g_free(unit);
        return NULL;
}

const char *unit_name(const Unit *unit) {
        return unit->name;
}

const UnitResult *unit_result(const Unit *unit) {
        return &unit->result;
}

/* A unit as its owner sees it: started or adopted, stopped, killed, discarded; see unit.h. What PID
 * 1 and the kernel tell of it is followed in unit-watch.c; here is how it begins. */
#include "unit.h"

#include <errno.h>
#include <glib.h>

#include "clearing.h"
#include "launch-dropin.h"
#include "timer.h"
#include "unit-watch.h"

/* How long to wait after PID 1 had too many calls. */
#define BUSY_DELAY (100 * USEC_PER_MSEC)

#define NOT_STARTED "stopped before it was started"

struct Unit {
        Errand errand;        /* once its owner has forsaken it */
        UnitManager *manager; /* weak; owns us then */
        UnitSpec *spec;       /* NULL when adopted */
        UnitFunc func;
        void *userdata;
        UnitWatch *watch;
        StartTurn turn; /* until its main process is there */
        BusCall *start;
        sd_event_source *timer; /* asks again */
};

static void unit_on_event(UnitEvent event, void *userdata) {
        Unit *unit = userdata;

        start_turn_end(&unit->turn); /* whatever it is: it is no longer about to start */
        unit->func(unit, event, unit->userdata); /* may free the unit */
}

static int unit_new(UnitManager *manager, const char *name, const char *nonce, const char *slice,
                    UnitFunc func, void *userdata, Unit **ret_unit) {
        _cleanup_(unit_freep) Unit *unit = g_new0(Unit, 1);
        int r;

        unit->manager = manager;
        unit->func = func;
        unit->userdata = userdata;
        r = unit_watch_new(manager, name, nonce, slice, unit_on_event, unit, &unit->watch);
        if (r >= 0)
                *ret_unit = g_steal_pointer(&unit);
        return r;
}

/* ---- starting ---- */

static void unit_send_start(void *userdata);

static int unit_build_start(sd_bus *bus, void *userdata, sd_bus_message **ret_message) {
        Unit *unit = userdata;
        /* Only there can the start itself refer to the unit. */
        unsigned generation =
            sd_bus_is_bus_client(bus) > 0 ? unit_manager_ref_generation(unit->manager) : 0;
        int r;

        r = unit_start_message(bus, unit->spec, generation != 0, ret_message);
        if (r >= 0)
                unit_watch_set_reference(unit->watch, generation);
        if (unit->spec->fenced)
                unit_watch_set_fenced(unit->watch);
        return r;
}

static void unit_on_busy(Unit *unit) {
        if (unit_watch_result(unit->watch)->stop == UNIT_STOP_OWNER)
                unit_watch_never(unit->watch, UNIT_OUTCOME_START_FAILED, NOT_STARTED);
        else if (timer_in(unit_manager_event(unit->manager), &unit->timer, BUSY_DELAY,
                          unit_send_start, unit) < 0)
                unit_send_start(unit);
}

static void unit_on_start_failed(Unit *unit, const sd_bus_error *error) {
        UnitBusFault fault = unit_bus_fault_from_error(error->name);
        const char *words = error->message ? error->message : error->name;

        if (fault != UNIT_BUS_UNKNOWN)
                unit_watch_set_reference(unit->watch, 0);
        switch (fault) {
        case UNIT_BUS_REFUSED:
                unit_watch_never(unit->watch, UNIT_OUTCOME_START_FAILED, words);
                break;
        case UNIT_BUS_NO_ROOM:
                unit_watch_never(unit->watch, UNIT_OUTCOME_NO_ROOM, words);
                break;
        case UNIT_BUS_OUTRANKED:
                unit_watch_never(unit->watch, UNIT_OUTCOME_NOT_BEGUN, words);
                break;
        case UNIT_BUS_BUSY:
                unit_on_busy(unit);
                break;
        case UNIT_BUS_EXISTS:
        case UNIT_BUS_UNKNOWN:
                unit_watch_doubt(unit->watch,
                                 fault == UNIT_BUS_EXISTS ? UNIT_DOUBT_EXISTS : UNIT_DOUBT_LOST);
        }
}

static void unit_on_start(sd_bus_message *reply, const sd_bus_error *error, void *userdata) {
        const char *systemd_job = NULL;
        Unit *unit = userdata;

        if (error) {
                unit_on_start_failed(unit, error);
                return;
        }
        (void)sd_bus_message_read(reply, "o", &systemd_job);
        unit_watch_taken(unit->watch, systemd_job);
}

static void unit_send_start(void *userdata) {
        Unit *unit = userdata;

        unit_manager_call(unit->manager, &unit->start, unit_build_start, unit_on_start, unit,
                          BUS_CALL_ORDINARY);
}

static const char *unit_slice_of(const UnitSpec *spec) {
        return spec->slice ? spec->slice : "system.slice";
}

/* What lives under that name keeps its own step, which tells it from another run, and by which its
 * end is noted: PID 1 refuses a second one. Return: 0 or negative errno. */
static int unit_write_step(UnitManager *manager, const UnitSpec *spec) {
        const char *const slices[] = {unit_slice_of(spec), NULL};

        return unit_is_populated(manager, slices, spec->name)
                   ? 0
                   : launch_dropin_write(unit_manager_dropin_root(manager), spec);
}

int unit_start(UnitManager *manager, const UnitSpec *spec, UnitFunc func, void *userdata,
               Unit **ret_unit) {
        Unit *unit = NULL;
        int r;

        if (!spec->name || !spec->nonce || !spec->argv || !spec->argv[0])
                return -EINVAL;
        r = unit_write_step(manager, spec);
        if (r < 0)
                return r;
        r = unit_new(manager, spec->name, spec->nonce, unit_slice_of(spec), func, userdata, &unit);
        if (r < 0)
                return r;
        unit->spec = unit_spec_copy(spec);
        if (spec->ready != UNIT_READY_AT_END)
                unit_watch_set_short_start(unit->watch);
        start_turn_take(&unit->turn, unit_manager_starts(manager), unit_send_start, unit);
        *ret_unit = unit;
        return 0;
}

int unit_adopt(UnitManager *manager, const char *name, const char *nonce, UnitFunc func,
               void *userdata, Unit **ret_unit) {
        Unit *unit = NULL;
        int r;

        if (!name || !nonce)
                return -EINVAL;
        r = unit_new(manager, name, nonce, NULL, func, userdata, &unit);
        if (r < 0)
                return r;
        unit_watch_doubt(unit->watch, UNIT_DOUBT_ADOPT);
        *ret_unit = unit;
        return 0;
}

/* ---- ending ---- */

/* A start that PID 1 has not been asked for, or was and is to be asked for again, is left out. */
static void unit_end(Unit *unit, UnitOrder order) {
        bool asked = unit->start && bus_call_sent(unit->start) && !bus_call_done(unit->start);

        unit_watch_end(unit->watch, order);
        if (!unit_watch_waits(unit->watch) || asked)
                return;
        start_turn_end(&unit->turn);
        unit->start = bus_call_free(unit->start);
        unit->timer = sd_event_source_disable_unref(unit->timer);
        unit_watch_never(unit->watch, UNIT_OUTCOME_START_FAILED, NOT_STARTED);
}

void unit_stop(Unit *unit) {
        unit_end(unit, UNIT_ORDER_STOP);
}

void unit_was_ordered(Unit *unit, usec_t when) {
        unit_watch_was_ordered(unit->watch, when);
}

usec_t unit_asked(const Unit *unit) {
        return unit_watch_asked(unit->watch);
}

void unit_kill(Unit *unit) {
        unit_end(unit, UNIT_ORDER_KILL);
}

void unit_discard(Unit *unit) {
        unit_watch_discard(unit->watch);
}

static void unit_destroy(Errand *errand) {
        Unit *unit = (Unit *)errand;

        unit_manager_disown(unit->manager, errand);
        unit_free(unit);
}

static void unit_on_forsaken(Unit *unit, UnitEvent event, void *userdata) {
        if (event != UNIT_EVENT_ENDED && event != UNIT_EVENT_ABSENT)
                return;
        unit_discard(unit);
        unit_destroy(&unit->errand);
}

void unit_forsake(Unit *unit) {
        unit->func = unit_on_forsaken;
        unit->userdata = NULL;
        unit->errand.destroy = unit_destroy;
        unit_manager_own(unit->manager, &unit->errand);
        unit_stop(unit);
}

Unit *unit_free(Unit *unit) {
        if (!unit)
                return NULL;
        start_turn_end(&unit->turn);
        bus_call_free(unit->start);
        sd_event_source_disable_unref(unit->timer);
        unit_watch_free(unit->watch);
        unit_spec_free(unit->spec);
        g_free(unit);
        return NULL;
}

const UnitResult *unit_result(const Unit *unit) {
        return unit_watch_result(unit->watch);
}

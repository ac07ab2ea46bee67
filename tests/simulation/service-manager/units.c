/* units/unit.h for a simulation: one service of PID 1's as the daemon follows it. What PID 1 tells
 * of it only says "look again"; what a look shows decides, as in units/unit-watch.c, whose states
 * these are. */
#include "unit.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>

#include "launch-dropin.h"
#include "pid1-call.h"
#include "timer.h"

/* Of units/unit-watch.c: absence after a lost answer counts when seen twice. */
#define ABSENCE_DELAY (2 * USEC_PER_SEC)
#define ABSENCES_NEEDED 2
#define LOOK_DELAY USEC_PER_SEC

typedef enum UnitState {
        UNIT_WAITING,  /* the start is under way */
        UNIT_UNSURE,   /* is there such a unit, and is it ours? */
        UNIT_RUNNING,  /* PID 1 has a start job for it, or its main process lives */
        UNIT_DRAINING, /* what the main process left is being ended */
        UNIT_IS_OVER,  /* the last event is told, or about to be */
} UnitState;

struct Unit {
        UnitManager *manager; /* weak */
        char *name, *nonce;
        UnitSpec *spec; /* NULL: adopted */
        UnitFunc func;
        void *userdata;
        ManagerListener listener;
        UnitState state;
        bool adopts;                  /* UNIT_UNSURE: absence is the answer */
        bool existed;                 /* UNIT_UNSURE: PID 1 said so */
        unsigned absences, reference; /* the connection in which it is referred to; 0: none */
        const char *word;             /* how its start job ended, as told */
        bool others;                  /* who ended it */
        bool wants_stop, wants_kill, gave_stop, gave_kill;
        bool has_rest; /* what an active one left is to be ended */
        usec_t asked;  /* PID 1, first, also by a process before us; USEC_INFINITY: never */
        bool known, again;
        bool fenced;
        usec_t began; /* as it was shown last */
        UnitResult result;
        unsigned told, waiting; /* bits of UnitEvent */
        Pid1Call *start, *look, *stop, *kill;
        sd_event_source *teller, *timer;
};

static void unit_look(void *userdata);

/* ---- what is told, one event a turn ---- */

static int unit_on_teller(sd_event_source *source, void *userdata) {
        Unit *unit = userdata;
        unsigned event = 0;

        while (!(unit->waiting & 1U << event))
                event++;
        unit->waiting &= ~(1U << event);
        if (unit->waiting != 0)
                (void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
        unit->func(unit, (UnitEvent)event, unit->userdata); /* may free the unit */
        return 0;
}

static void unit_tell(Unit *unit, UnitEvent event) {
        if (unit->told & 1U << event)
                return;
        unit->told |= 1U << event;
        unit->waiting |= 1U << event;
        (void)sd_event_source_set_enabled(unit->teller, SD_EVENT_ONESHOT);
}

/* Of one that is gone; as units/fence-end.c judges. */
static bool unit_went_with_fence(const Unit *unit) {
        return unit->fenced && unit->result.stop == UNIT_STOP_NONE &&
               unit->result.fence_left >= unit->began &&
               (!unit->word || strcmp(unit->word, SYSTEMD_JOB_CANCELED) == 0);
}

static void unit_is_over(Unit *unit, UnitOutcome outcome, const char *detail, UnitEvent event) {
        if (unit->result.outcome == UNIT_OUTCOME_PENDING) {
                unit->result.outcome = outcome;
                (void)g_strlcpy(unit->result.detail, detail, sizeof(unit->result.detail));
                if (outcome == UNIT_OUTCOME_UNKNOWN && unit_went_with_fence(unit))
                        unit->result.stop = UNIT_STOP_FENCE;
        }
        unit->state = UNIT_IS_OVER;
        pid1_call_let_go(&unit->start);
        pid1_call_let_go(&unit->look);
        pid1_call_let_go(&unit->stop);
        pid1_call_let_go(&unit->kill);
        unit->timer = sd_event_source_disable_unref(unit->timer);
        unit_tell(unit, event);
}

/* ---- orders: once each in a connection, as units/unit-ending.c gives them ---- */

static void unit_on_stop(const Pid1Answer *answer, void *userdata) {
        Unit *unit = userdata;

        if (answer->r >= 0)
                return;
        unit->gave_stop = false;
        unit_look(unit);
}

static void unit_on_kill(const Pid1Answer *answer, void *userdata) {
        if (answer->r < 0)
                ((Unit *)userdata)->gave_kill = false;
}

static void unit_pursue(Unit *unit) {
        if (unit->state != UNIT_RUNNING && unit->state != UNIT_DRAINING)
                return;
        if ((unit->wants_kill || unit->wants_stop) && unit_manager_connected(unit->manager))
                unit->asked = MIN(unit->asked, clock_monotonic());
        if (unit->wants_kill && !unit->gave_kill)
                pid1_call_send(unit->manager, PID1_CALL_KILL, unit->name, NULL, unit_on_kill, unit,
                               &unit->kill);
        unit->gave_kill |= unit->wants_kill;
        if (!(unit->wants_kill || unit->wants_stop || unit->has_rest) || unit->gave_stop)
                return;
        unit->gave_stop = true;
        pid1_call_send(unit->manager, PID1_CALL_STOP, unit->name, NULL, unit_on_stop, unit,
                       &unit->stop);
}

/* ---- what a look shows ---- */

static void unit_look_in(Unit *unit, usec_t delay) {
        (void)timer_in(manager_event(unit->manager), &unit->timer, delay, unit_look, unit);
}

/* ---- as units/unit-verdict.c judges ---- */

static bool unit_job_ended_as(const Unit *unit, const char *word) {
        return g_strcmp0(unit->word, word) == 0;
}

/* Return: whether it was over before PID 1 was asked to end it: a wish that comes too late changes
 * nothing. */
static bool unit_was_over(const Unit *unit, const ShownUnit *shown) {
        return unit->asked == USEC_INFINITY || (shown->gone > 0 && shown->gone < unit->asked);
}

/* Return: whether its start job was taken back, and not because we came too late. */
static bool unit_job_was_taken(const Unit *unit, const ShownUnit *shown) {
        return unit_job_ended_as(unit, SYSTEMD_JOB_CANCELED) &&
               (unit->others || !unit_was_over(unit, shown));
}

static bool unit_is_killed(const Unit *unit, const ShownUnit *shown) {
        return unit->wants_kill && !unit_was_over(unit, shown);
}

/* Return: whether nothing but somebody's stop can have made it so. */
static bool unit_shows_a_stop(const Unit *unit, const ShownUnit *shown, bool late) {
        return (!unit->word || (unit_job_ended_as(unit, SYSTEMD_JOB_CANCELED) &&
                                !unit_job_was_taken(unit, shown))) &&
               !late && shown->result.outcome == UNIT_OUTCOME_SUCCESS && shown->gone > 0;
}

/* Of what went on after its start job. */
static UnitStop unit_stop_after_start(const Unit *unit, const ShownUnit *shown) {
        if (unit->result.stop != UNIT_STOP_NONE && !unit_was_over(unit, shown))
                return unit->result.stop;
        return (shown->overdue && !shown->notifies) || (shown->well && !shown->active)
                   ? UNIT_STOP_OTHER
                   : UNIT_STOP_NONE;
}

static UnitStop unit_stop_of(const Unit *unit, const ShownUnit *shown, bool late) {
        if (shown->outlives_start)
                return unit_stop_after_start(unit, shown);
        if (shown->was_active || unit_job_ended_as(unit, SYSTEMD_JOB_DONE) ||
            (unit_job_ended_as(unit, SYSTEMD_JOB_FAILED) && !unit_is_killed(unit, shown)))
                return UNIT_STOP_NONE;
        if (unit->result.stop != UNIT_STOP_NONE && !unit_was_over(unit, shown))
                return unit->result.stop;
        return unit->others || unit_shows_a_stop(unit, shown, late) ? UNIT_STOP_OTHER
                                                                    : UNIT_STOP_NONE;
}

/* As units/fence-end.c judges. */
static bool unit_was_fenced(const Unit *unit, const ShownUnit *shown, UnitStop stop, bool late,
                            usec_t fence_left) {
        const UnitResult *result = &shown->result;

        if (!shown->fenced || fence_left == 0 || fence_left < shown->began)
                return false;
        if (shown->gone > 0 && fence_left > shown->gone && /* not this end */
            (stop != UNIT_STOP_NONE || result->outcome != UNIT_OUTCOME_SIGNAL ||
             (result->exit_status != SIGTERM && result->exit_status != SIGKILL)))
                return false;
        if (stop == UNIT_STOP_NONE)
                return (!unit->word || unit_job_ended_as(unit, SYSTEMD_JOB_CANCELED)) &&
                       (late || shown->result.outcome != UNIT_OUTCOME_SUCCESS) &&
                       shown->result.outcome != UNIT_OUTCOME_TIMEOUT &&
                       shown->result.outcome != UNIT_OUTCOME_START_FAILED;
        return stop == UNIT_STOP_OTHER;
}

static bool unit_fence_left_after(const ShownUnit *shown, UnitStop stop, usec_t fence_left) {
        return shown->phase >= SERVICE_LINGERING && shown->fenced && stop == UNIT_STOP_OTHER &&
               shown->gone > 0 && shown->gone < fence_left;
}

static bool unit_was_stopped_first(const Unit *unit, const ShownUnit *shown) {
        if (unit->word)
                return unit_job_was_taken(unit, shown) || unit_is_killed(unit, shown);
        return unit->result.stop == UNIT_STOP_OWNER && !unit_was_over(unit, shown);
}

static void unit_take(Unit *unit, const ShownUnit *shown, usec_t fence_left) {
        bool late = (shown->timed_out || (shown->overdue && !shown->limitless)) &&
                    !shown->was_active && !unit_was_stopped_first(unit, shown);
        UnitStop stop = unit->result.stop;

        if (shown->phase >= SERVICE_LINGERING)
                stop = unit_stop_of(unit, shown, late);
        if (shown->phase >= SERVICE_LINGERING && !shown->timed_out &&
            unit_was_fenced(unit, shown, stop, late, fence_left)) {
                stop = UNIT_STOP_FENCE;
        } else if (unit_fence_left_after(shown, stop, fence_left) &&
                   (shown->timed_out || shown->result.outcome == UNIT_OUTCOME_EXIT_CODE)) {
                stop = UNIT_STOP_NONE;
                late |= shown->timed_out;
        }
        if (stop == UNIT_STOP_OTHER && (unit->others || shown->outlives_start) && shown->shutdown)
                stop = UNIT_STOP_SHUTDOWN;
        unit->result = shown->result;
        unit->result.stop = stop;
        if (shown->phase < SERVICE_LINGERING) { /* nothing but its id is known */
                unit->result.outcome = UNIT_OUTCOME_PENDING;
                unit->result.started = 0;
        } else if (late) {
                unit->result.outcome = UNIT_OUTCOME_TIMEOUT;
                (void)g_strlcpy(unit->result.detail, "timeout", sizeof(unit->result.detail));
        }
}

static void unit_see(Unit *unit, const ShownUnit *shown, usec_t fence_left) {
        bool over = shown->phase >= SERVICE_LINGERING,
             counts = !shown->starts_early || shown->outlives_start;

        unit->known = true;
        unit->fenced = shown->fenced;
        if (over && shown->outlives_start) { /* how that job ended tells nothing of this end */
                unit->word = NULL;
                unit->others = false;
        }
        if (shown->began > 0)
                unit->began = shown->began;
        if (unit->state == UNIT_UNSURE)
                unit->state = UNIT_RUNNING;
        if (unit->state == UNIT_RUNNING) /* the result is that of the main process */
                unit_take(unit, shown, fence_left);
        if (shown->result.started > 0 && counts && !(unit->adopts && over))
                unit_tell(unit, UNIT_EVENT_STARTED);
        if (over && shown->result.started > 0)
                unit_tell(unit, UNIT_EVENT_EXITED);
        if (shown->phase == SERVICE_LINGERING) {
                unit->state = UNIT_DRAINING;
                unit->result.left = true;
        }
        unit->has_rest = shown->phase == SERVICE_LINGERING && shown->active;
        if (shown->phase == SERVICE_OVER)
                unit_is_over(unit, UNIT_OUTCOME_UNKNOWN, "", UNIT_EVENT_ENDED);
        unit_pursue(unit);
}

static void unit_miss_in_doubt(Unit *unit, bool foreign) {
        if (unit->adopts)
                unit_is_over(unit, UNIT_OUTCOME_UNKNOWN, "no such unit", UNIT_EVENT_ABSENT);
        else if (unit->existed)
                unit_is_over(unit, foreign ? UNIT_OUTCOME_START_FAILED : UNIT_OUTCOME_UNKNOWN,
                             foreign ? "a unit of this name already exists"
                                     : "a unit of this name existed, and disappeared",
                             UNIT_EVENT_ENDED);
        else if (!foreign && ++unit->absences < ABSENCES_NEEDED)
                unit_look_in(unit, ABSENCE_DELAY);
        else
                unit_is_over(unit, UNIT_OUTCOME_UNKNOWN,
                             "no reply to the start request, and the unit was not found",
                             UNIT_EVENT_ENDED);
}

/* PID 1 has none of our name, or somebody else's. What it forgot may live no more. */
static void unit_miss(Unit *unit, bool foreign, usec_t fence_left) {
        unit->result.fence_left = fence_left;
        if (unit->state == UNIT_UNSURE) {
                unit_miss_in_doubt(unit, foreign);
                return;
        }
        unit->known = false;
        unit_is_over(unit, UNIT_OUTCOME_UNKNOWN,
                     "the unit disappeared before its result could be read", UNIT_EVENT_ENDED);
}

static void unit_on_look(const Pid1Answer *answer, void *userdata) {
        Unit *unit = userdata;
        bool again = unit->again;

        unit->again = false;
        if (answer->r == -ENOENT) {
                unit_miss(unit, false, answer->fence_left);
        } else if (answer->r < 0) {
                unit_look_in(unit, LOOK_DELAY);
        } else {
                const ShownUnit *shown = answer->units->pdata[0];

                if (g_strcmp0(shown->nonce, unit->nonce) == 0)
                        unit_see(unit, shown, answer->fence_left);
                else
                        unit_miss(unit, true, answer->fence_left);
        }
        if (again && unit->state != UNIT_IS_OVER)
                unit_look(unit);
}

/* So that PID 1 keeps it, and with it its result. */
static void unit_refer(Unit *unit) {
        unsigned connection = manager_connection(unit->manager);

        if (unit->reference == connection || connection == 0)
                return;
        pid1_call_send(unit->manager, PID1_CALL_REFER, unit->name, NULL, NULL, NULL, NULL);
        unit->reference = connection;
}

static void unit_unrefer(Unit *unit) {
        if (unit->reference != 0 && unit->reference == manager_connection(unit->manager))
                pid1_call_send(unit->manager, PID1_CALL_UNREFER, unit->name, NULL, NULL, NULL,
                               NULL);
        unit->reference = 0;
}

static void unit_look(void *userdata) {
        Unit *unit = userdata;

        if (unit->state == UNIT_WAITING || unit->state == UNIT_IS_OVER)
                return;
        unit_refer(unit);
        if (unit->look)
                unit->again = true;
        else
                pid1_call_send(unit->manager, PID1_CALL_READ, unit->name, NULL, unit_on_look, unit,
                               &unit->look);
}

/* Its job is known once PID 1 has shown it, or has taken it. */
static void unit_on_change(const char *word, void *userdata) {
        Unit *unit = userdata;

        if (word && !unit->word && (unit->state == UNIT_RUNNING || unit->state == UNIT_UNSURE)) {
                unit->word = word;
                unit->others =
                    unit_job_ended_as(unit, SYSTEMD_JOB_CANCELED) && unit->asked == USEC_INFINITY;
        }
        unit_look(unit);
}

/* The kernel says that the cgroup is empty; PID 1, asked at once, may know more. */
static void unit_on_empty(void *userdata) {
        Unit *unit = userdata;

        if (unit->state == UNIT_DRAINING && !unit_manager_connected(unit->manager))
                unit_is_over(unit, UNIT_OUTCOME_UNKNOWN, "", UNIT_EVENT_ENDED);
}

static void unit_on_connected(void *userdata) {
        Unit *unit = userdata;

        if (unit->stop || unit->kill) /* they waited, and have just left */
                unit->asked = MIN(unit->asked, clock_monotonic());
        pid1_call_let_go(&unit->stop);
        pid1_call_let_go(&unit->kill);
        unit->gave_stop = unit->gave_kill = false;
        unit_look(unit);
}

/* ---- beginning ---- */

static Unit *unit_new(UnitManager *manager, const char *name, const char *nonce, UnitFunc func,
                      void *userdata) {
        Unit *unit = g_new0(Unit, 1);

        unit->manager = manager;
        unit->name = g_strdup(name);
        unit->nonce = g_strdup(nonce);
        unit->func = func;
        unit->userdata = userdata;
        unit->result.cpu = USEC_INFINITY;
        unit->asked = USEC_INFINITY;
        unit->listener =
            (ManagerListener){unit->name, unit_on_change, unit_on_empty, unit_on_connected, unit};
        manager_listen(manager, &unit->listener);
        (void)sd_event_add_defer(manager_event(manager), &unit->teller, unit_on_teller, unit);
        (void)sd_event_source_set_enabled(unit->teller, SD_EVENT_OFF);
        return unit;
}

static void unit_on_start(const Pid1Answer *answer, void *userdata) {
        Unit *unit = userdata;

        if (answer->r == -ESHUTDOWN) {
                unit->reference = 0;
                unit_is_over(unit, UNIT_OUTCOME_NOT_BEGUN, "the transaction is destructive",
                             UNIT_EVENT_ENDED);
                return;
        }
        unit->state = answer->r == 0 ? UNIT_RUNNING : UNIT_UNSURE;
        unit->existed = answer->r == -EEXIST;
        if (unit->existed)
                unit->reference = 0;
        unit_look(unit);
        unit_pursue(unit);
}

static void unit_send_start(void *userdata) {
        Unit *unit = userdata;

        unit->timer = sd_event_source_disable_unref(unit->timer);
        unit->reference = manager_connection(unit->manager);
        unit->fenced = unit->spec->fenced;
        unit->began = clock_monotonic();
        pid1_call_send(unit->manager, PID1_CALL_START, unit->name, unit->spec, unit_on_start, unit,
                       &unit->start);
        pid1_start_leaves(manager_pid1(unit->manager));
}

/* It leaves from the loop, as one that waits for its turn does. */
int unit_start(UnitManager *manager, const UnitSpec *spec, UnitFunc func, void *userdata,
               Unit **ret_unit) {
        const char *root = unit_manager_dropin_root(manager);
        Unit *unit;
        int r;

        (void)g_mkdir(root, 0755);
        r = launch_dropin_write(root, spec);
        if (r < 0)
                return r;
        unit = unit_new(manager, spec->name, spec->nonce, func, userdata);
        unit->spec = unit_spec_copy(spec);
        (void)timer_in(manager_event(manager), &unit->timer, 0, unit_send_start, unit);
        *ret_unit = unit;
        return 0;
}

int unit_adopt(UnitManager *manager, const char *name, const char *nonce, UnitFunc func,
               void *userdata, Unit **ret_unit) {
        Unit *unit = unit_new(manager, name, nonce, func, userdata);

        unit->adopts = true;
        unit->state = UNIT_UNSURE;
        unit_look(unit);
        *ret_unit = unit;
        return 0;
}

/* ---- ending ---- */

static void unit_end(Unit *unit) {
        if (unit->state == UNIT_IS_OVER)
                return;
        if (unit->state < UNIT_DRAINING)
                unit->result.stop = UNIT_STOP_OWNER;
        if (unit->state == UNIT_WAITING && (!unit->start || !pid1_call_was_sent(unit->start)))
                unit_is_over(unit, UNIT_OUTCOME_START_FAILED, "stopped before it was started",
                             UNIT_EVENT_ENDED);
        else
                unit_pursue(unit);
}

void unit_stop(Unit *unit) {
        unit->wants_stop = true;
        unit_end(unit);
}

void unit_was_ordered(Unit *unit, usec_t when) {
        unit->asked = when;
}

usec_t unit_asked(const Unit *unit) {
        return unit->asked;
}

void unit_kill(Unit *unit) {
        unit->wants_kill = true;
        unit_end(unit);
}

void unit_discard(Unit *unit) {
        if (unit->state == UNIT_IS_OVER && unit->known)
                pid1_call_send(unit->manager, PID1_CALL_FORGET, unit->name, NULL, NULL, NULL, NULL);
        else if (launch_dropin_is_of(unit_manager_dropin_root(unit->manager), unit->name,
                                     unit->nonce))
                launch_dropin_remove(unit_manager_dropin_root(unit->manager), unit->name);
        unit_unrefer(unit);
}

static void unit_on_forsaken(Unit *unit, UnitEvent event, void *userdata) {
        if (event != UNIT_EVENT_ENDED && event != UNIT_EVENT_ABSENT)
                return;
        unit_discard(unit);
        (void)g_ptr_array_remove(manager_forsaken(unit->manager), unit);
}

void unit_forsake(Unit *unit) {
        unit->func = unit_on_forsaken;
        unit->userdata = NULL;
        g_ptr_array_add(manager_forsaken(unit->manager), unit);
        unit_stop(unit);
}

Unit *unit_free(Unit *unit) {
        if (!unit)
                return NULL;
        manager_unlisten(unit->manager, &unit->listener);
        unit_unrefer(unit);
        pid1_call_let_go(&unit->start);
        pid1_call_let_go(&unit->look);
        pid1_call_let_go(&unit->stop);
        pid1_call_let_go(&unit->kill);
        sd_event_source_disable_unref(unit->teller);
        sd_event_source_disable_unref(unit->timer);
        unit_spec_free(unit->spec);
        g_free(unit->name);
        g_free(unit->nonce);
        g_free(unit);
        return NULL;
}

const UnitResult *unit_result(const Unit *unit) {
        return &unit->result;
}

/* See unit-watch.h.
 *
 * A signal only ever says "look": JobRemoved of any job of the unit, a new connection, a timer lead
 * to one GetAll, and what that shows decides. Doubt (UNSURE) is resolved first: a unit of our name
 * counts only with our nonce. Then, while a job is queued or the main process lives, there is
 * nothing to do but to give the orders that the owner wants. When the main process has ended, its
 * result is noted before anything is stopped, because a unit that was stopped and is clean may be
 * unloaded by PID 1. What still lives in the cgroup is stopped (SIGTERM, SIGKILL after the stop
 * timeout) and the kernel, not PID 1, says when it is empty: PID 1 forgets the cgroup of a unit
 * whose processes survive SIGKILL. One whose processes may talk to PID 1 can ask it for more time
 * to stop, again and again: those we kill ourselves.
 */
#include "unit-watch.h"

#include <glib.h>
#include <string.h>

#include "cgroup.h"
#include "launch-dropin.h"
#include "timer.h"
#include "unit-properties.h"
#include "unit-verdict.h"

#define LOOK_DELAY_MIN (10 * USEC_PER_MSEC)
#define LOOK_DELAY_MAX (1 * USEC_PER_SEC)
/* While the main process goes on after its start job. The kernel tells when nothing lives any more;
 * what ends and leaves something behind is found by a look. */
#define LOOK_DELAY_STARTED (10 * USEC_PER_SEC)
/* The start may have been on its way through a bus that then broke down: absence counts when seen
 * twice, this far apart. */
#define ABSENCE_DELAY (2 * USEC_PER_SEC)
#define ABSENCES_NEEDED 2
/* So long after the limit that PID 1 has for it, what is being stopped is killed by us. */
#define STOP_SLACK USEC_PER_SEC
/* PID 1 hears of the empty cgroup when we do, and sums the CPU time up a moment later. */
#define COUNTS_MAX 6
#define COUNT_TIMEOUT (2 * USEC_PER_SEC)

typedef enum WatchState {
        WATCH_WAITING, /* the start is queued or under way */
        WATCH_UNSURE, /* must be read before anything else: is there such a unit, and is it ours? */
        WATCH_RUNNING,  /* ours; PID 1 has a start job for it, or its main process lives */
        WATCH_DRAINING, /* main process ended; what is left is being killed, until none is */
        WATCH_COUNTING, /* cgroup is empty; one last read for the CPU time of what was left */
        WATCH_OVER,     /* the last event is told, or about to be */
} WatchState;

struct UnitWatch {
        UnitManager *manager; /* weak */
        char *name;
        char *path; /* object path on the bus */
        char *nonce;
        char *cgroup; /* as PID 1 told, or where it would place us; NULL: not known */
        UnitListener listener;
        UnitEvents events;
        UnitEnding *ending;
        StartJob start_job;

        WatchState state;
        UnitDoubt doubt;
        UnitResult result;
        unsigned tries;  /* reads in doubt that found nothing; then reads that came too early */
        unsigned wishes; /* bits of UnitOrder: the owner's */
        unsigned ref_generation; /* the connection that holds our reference, 0: none */
        usec_t look_delay;       /* of the next look, doubling */
        bool read_again;         /* something happened while a read was under way */
        bool known_ours;         /* seen with our nonce */
        bool started_told;
        /* To end, by a process before us, and once it is over by us; USEC_INFINITY: never. */
        usec_t ordered;

        BusCall *peek, *read;
        CgroupWatch *empty;
        sd_event_source *timer; /* looks again */
};

static void watch_read(UnitWatch *watch);
static void watch_peek(UnitWatch *watch);

/* ---- what is told ---- */

static void watch_release(UnitWatch *watch) {
        watch->peek = bus_call_free(watch->peek);
        watch->read = bus_call_free(watch->read);
        watch->ordered = unit_watch_asked(watch);
        watch->ending = unit_ending_free(watch->ending);
        watch->empty = cgroup_watch_free(watch->empty);
        watch->timer = sd_event_source_disable_unref(watch->timer);
}

/* Sets the outcome (unless there is one) and ends the watch. */
static void watch_end_as(UnitWatch *watch, UnitOutcome outcome, const char *detail,
                         UnitEvent event) {
        if (watch->result.outcome == UNIT_OUTCOME_PENDING) {
                watch->result.outcome = outcome;
                unit_verdict_detail(&watch->result, "%s", detail);
        }
        watch->state = WATCH_OVER;
        watch_release(watch);
        if (event == UNIT_EVENT_ABSENT ||
            fence_end_may_be(&watch->start_job.fence, &watch->result, watch->start_job.word))
                fence_end_ask(&watch->start_job.fence);
        unit_events_hold(&watch->events, start_job_asks(&watch->start_job));
        unit_events_add(&watch->events, event);
}

static void watch_end(UnitWatch *watch, UnitOutcome outcome, const char *detail) {
        watch_end_as(watch, outcome, detail, UNIT_EVENT_ENDED);
}

static void watch_started(UnitWatch *watch) {
        if (!watch->started_told)
                unit_events_add(&watch->events, UNIT_EVENT_STARTED);
        watch->started_told = true;
}

/* ---- looking again ---- */

static void watch_on_look(void *userdata) {
        UnitWatch *watch = userdata;

        if (watch->state == WATCH_RUNNING && !watch->started_told && !watch->start_job.is_short)
                watch_peek(watch);
        else
                watch_read(watch);
}

static void watch_look_in(UnitWatch *watch, usec_t delay) {
        if (timer_in(unit_manager_event(watch->manager), &watch->timer, delay, watch_on_look,
                     watch) < 0)
                watch_read(watch); /* no timer to be had: look at once */
}

static void watch_look_later(UnitWatch *watch) {
        watch->look_delay = CLAMP(2 * watch->look_delay, LOOK_DELAY_MIN, LOOK_DELAY_MAX);
        watch_look_in(watch, watch->look_delay);
}

/* ---- orders ---- */

/* PID 1 did not do it: whether the unit is gone or PID 1 in trouble, a look at the unit tells. */
static void watch_on_order(UnitOrder order, bool obeyed, void *userdata) {
        if (order == UNIT_ORDER_STOP && !obeyed)
                watch_look_in(userdata, LOOK_DELAY_MAX);
}

/* Also on our own account: for what is left in the cgroup, or to get a job whose end we hear of. */
static void watch_order_stop(UnitWatch *watch) {
        unit_ending_order(watch->ending, UNIT_ORDER_STOP);
}

static bool watch_wishes(const UnitWatch *watch, UnitOrder order) {
        return watch->wishes & (1U << order);
}

/* Gives the orders that the owner wants and PID 1 does not have yet. */
static void watch_pursue(UnitWatch *watch) {
        if (watch->state != WATCH_RUNNING && watch->state != WATCH_DRAINING)
                return; /* not known to be ours yet, or nothing there any more */
        if (watch_wishes(watch, UNIT_ORDER_KILL))
                unit_ending_order(watch->ending, UNIT_ORDER_KILL);
        if (watch->wishes) /* also takes back a start job that still waits */
                watch_order_stop(watch);
}

/* ---- the invocation id ---- */

static int watch_build_peek(sd_bus *bus, void *userdata, sd_bus_message **ret_message) {
        const UnitWatch *watch = userdata;

        return systemd_get(bus, ret_message, watch->path, SYSTEMD_SERVICE ".Unit", "InvocationID");
}

static void watch_on_peek(sd_bus_message *reply, const sd_bus_error *error, void *userdata) {
        UnitWatch *watch = userdata;
        char id[33] = "";

        if (watch->state != WATCH_RUNNING || watch->started_told)
                return;
        if (reply && sd_bus_message_enter_container(reply, 'v', "ay") > 0)
                (void)unit_invocation_id_read(reply, id);
        if (id[0]) {
                (void)g_strlcpy(watch->result.invocation_id, id,
                                sizeof watch->result.invocation_id);
                if (!watch->start_job.is_short)
                        watch_started(watch);
        } else if (error)
                watch_read(watch); /* it may have vanished */
        else
                watch_look_later(watch); /* its start job still waits for its turn */
        watch_pursue(watch);
}

static void watch_peek(UnitWatch *watch) {
        unit_manager_call(watch->manager, &watch->peek, watch_build_peek, watch_on_peek, watch,
                          BUS_CALL_ORDINARY);
}

/* ---- the end of the main process, and of the rest ---- */

static void watch_on_empty(void *userdata) {
        UnitWatch *watch = userdata;

        watch->state = WATCH_COUNTING;
        watch->tries = 0;
        if (unit_manager_connected(watch->manager) && watch->known_ours)
                watch_read(watch);
        else
                watch_end(watch, UNIT_OUTCOME_UNKNOWN, "");
}

/* The main process is no more; is anything else left? */
static void watch_drain(UnitWatch *watch, bool stop) {
        sd_event *event = unit_manager_event(watch->manager);
        const char *root = unit_manager_cgroup_root(watch->manager);

        watch->state = WATCH_DRAINING;
        watch->empty = cgroup_watch_free(watch->empty);
        if (!watch->cgroup || !cgroup_is_populated(root, watch->cgroup)) {
                watch_end(watch, UNIT_OUTCOME_UNKNOWN, "");
                return;
        }
        watch->result.left = true;
        if (stop)
                watch_order_stop(watch);
        watch_pursue(watch);
        if (cgroup_watch_new(event, root, watch->cgroup, watch_on_empty, watch, &watch->empty) < 0)
                watch_look_in(watch, LOOK_DELAY_MAX);
}

/* Return: whether its main process, which runs or has run, has started as far as its owner is
 * concerned. */
static bool watch_counts_as_started(const UnitProperties *p) {
        return !unit_properties_short_start(p) || unit_properties_outlive_start(p);
}

/* How what goes on after its start has ended does not tell of a shutdown of the machine. */
static void watch_ask_who(UnitWatch *watch, const UnitProperties *p) {
        UnitStop stop = watch->result.stop;

        if (!unit_properties_outlive_start(p) ||
            !(stop == UNIT_STOP_OTHER || (stop == UNIT_STOP_NONE && unit_verdict_was_leaving(p))))
                return;
        start_job_ask_who(&watch->start_job);
        unit_events_hold(&watch->events, start_job_asks(&watch->start_job));
}

/* What ended while PID 1 ended it, with whatever status, ended with its machine where that does. */
static bool watch_ended_with_machine(const UnitWatch *watch) {
        const StartJob *job = &watch->start_job;

        return job->stopper == UNIT_STOP_SHUTDOWN &&
               (watch->result.stop == UNIT_STOP_OTHER ||
                (watch->result.stop == UNIT_STOP_NONE && job->outlived));
}

static void watch_main_over(UnitWatch *watch, const UnitProperties *p) {
        bool deactivating = strcmp(p->active_state, "deactivating") == 0;

        if (unit_properties_outlive_start(p))
                start_job_was_outlived(&watch->start_job);
        unit_verdict(&watch->result, p, &watch->start_job, watch_wishes(watch, UNIT_ORDER_KILL),
                     unit_watch_asked(watch));
        watch_ask_who(watch, p);
        if (p->exec_main_code) {
                if (watch->doubt != UNIT_DOUBT_ADOPT && watch_counts_as_started(p))
                        watch_started(watch);
                unit_events_add(&watch->events, UNIT_EVENT_EXITED);
        }
        if (deactivating && watch->cgroup &&
            !cgroup_is_populated(unit_manager_cgroup_root(watch->manager), watch->cgroup))
                /* PID 1 is about to hear of it; what is discarded now would still turn into a
                 * failed unit. */
                watch_on_empty(watch);
        else
                watch_drain(watch, strcmp(p->active_state, "active") == 0);
}

/* ---- what a read shows ---- */

static void watch_on_gone(void *userdata) {
        UnitWatch *watch = userdata;

        watch->empty = cgroup_watch_free(watch->empty);
        watch_look_in(watch, LOOK_DELAY_MIN); /* PID 1 hears of it when we do */
}

/* The start job is done, and the main process goes on: no job's end tells of its own. */
static void watch_follow_started(UnitWatch *watch) {
        sd_event *event = unit_manager_event(watch->manager);
        const char *root = unit_manager_cgroup_root(watch->manager);
        bool lives = watch->cgroup && cgroup_is_populated(root, watch->cgroup);

        if (lives && !watch->empty)
                lives = cgroup_watch_new(event, root, watch->cgroup, watch_on_gone, watch,
                                         &watch->empty) >= 0;
        if (watch->empty)
                cgroup_watch_set_period(watch->empty, LOOK_DELAY_STARTED);
        watch_look_in(watch, lives ? LOOK_DELAY_STARTED : LOOK_DELAY_MAX);
}

static void watch_apply_running(UnitWatch *watch, const UnitProperties *p) {
        bool deactivating = strcmp(p->active_state, "deactivating") == 0;

        if (unit_properties_over(p)) {
                watch_main_over(watch, p);
                return;
        }
        if (watch->result.invocation_id[0] && p->main_pid && watch_counts_as_started(p))
                watch_started(watch);
        if (p->systemd_job && !deactivating)
                start_job_found(&watch->start_job, p->systemd_job);
        watch_pursue(watch);
        if (p->systemd_job)
                return;
        if (unit_properties_outlive_start(p) && !deactivating) {
                watch_follow_started(watch);
                return;
        }
        /* Its time limit passed, and PID 1 is at it already, but only a job's end is told; or
         * somebody took the job away, and nothing else will wake us. */
        if (deactivating)
                watch_order_stop(watch);
        else
                start_job_was_only_cancelled(&watch->start_job);
        watch_look_in(watch, LOOK_DELAY_MAX);
}

static void watch_apply_counting(UnitWatch *watch, const UnitProperties *p) {
        if (strcmp(p->active_state, "deactivating") == 0 && ++watch->tries < COUNTS_MAX) {
                watch_look_later(watch);
                return;
        }
        if (p->cpu != USEC_INFINITY)
                watch->result.cpu = p->cpu;
        watch_end(watch, UNIT_OUTCOME_UNKNOWN, "");
}

static void watch_apply_ours(UnitWatch *watch, const UnitProperties *p) {
        watch->known_ours = true;
        watch->start_job.is_short = unit_properties_short_start(p);
        if (watch->start_job.is_short && p->stop_limit != USEC_INFINITY && p->stop_limit > 0)
                unit_ending_set_limit(watch->ending, p->stop_limit + STOP_SLACK);
        if (strcmp(p->active_state, "deactivating") == 0)
                unit_ending_begun(watch->ending);
        fence_end_see(&watch->start_job.fence, p);
        if (p->control_group && *p->control_group) {
                g_free(watch->cgroup);
                watch->cgroup = g_strdup(p->control_group);
        } else if (!watch->cgroup && p->slice)
                watch->cgroup = cgroup_path_of_unit(p->slice, watch->name);
        if (p->invocation_id[0])
                (void)g_strlcpy(watch->result.invocation_id, p->invocation_id,
                                sizeof watch->result.invocation_id);
        switch (watch->state) {
        case WATCH_UNSURE:
        case WATCH_RUNNING:
                watch->state = WATCH_RUNNING;
                watch_apply_running(watch, p);
                break;
        case WATCH_DRAINING:
                if (strcmp(p->active_state, "active") == 0)
                        watch_order_stop(watch);
                watch_pursue(watch);
                if (!watch->empty)
                        watch_drain(watch, false);
                break;
        case WATCH_COUNTING:
                watch_apply_counting(watch, p);
                break;
        case WATCH_WAITING:
        case WATCH_OVER:
                g_assert_not_reached(); /* nothing is read before or after that */
        }
}

static void watch_apply_doubt(UnitWatch *watch, bool foreign) {
        switch (watch->doubt) {
        case UNIT_DOUBT_NONE:
                g_assert_not_reached();
        case UNIT_DOUBT_ADOPT:
                watch_end_as(watch, UNIT_OUTCOME_UNKNOWN, "no such unit", UNIT_EVENT_ABSENT);
                break;
        case UNIT_DOUBT_EXISTS:
                watch_end(watch, foreign ? UNIT_OUTCOME_START_FAILED : UNIT_OUTCOME_UNKNOWN,
                          foreign ? "a unit of this name already exists"
                                  : "a unit of this name existed, and disappeared");
                break;
        case UNIT_DOUBT_LOST:
                if (!foreign && ++watch->tries < ABSENCES_NEEDED)
                        watch_look_in(watch, ABSENCE_DELAY);
                else
                        watch_end(watch, UNIT_OUTCOME_UNKNOWN,
                                  "no reply to the start request, and the unit was not found");
                break;
        }
}

/* There is no unit of our name, or (foreign) it is somebody else's. */
static void watch_apply_absent(UnitWatch *watch, bool foreign) {
        switch (watch->state) {
        case WATCH_UNSURE:
                watch_apply_doubt(watch, foreign);
                break;
        case WATCH_RUNNING:
                watch->known_ours = false;
                watch->result.outcome = UNIT_OUTCOME_UNKNOWN;
                unit_verdict_detail(&watch->result,
                                    "the unit disappeared before its result could be read");
                if (foreign)
                        watch_end(watch, UNIT_OUTCOME_UNKNOWN, "");
                else
                        watch_drain(watch, false);
                break;
        case WATCH_DRAINING: /* the cgroup decides */
                watch->known_ours = false;
                if (!watch->empty)
                        watch_drain(watch, false);
                break;
        case WATCH_COUNTING:
                watch_end(watch, UNIT_OUTCOME_UNKNOWN, "");
                break;
        case WATCH_WAITING:
        case WATCH_OVER:
                g_assert_not_reached();
        }
}

/* ---- reading ---- */

/* Has PID 1 keep the unit, and with it the result, also when it was stopped and is clean. As early
 * as can be; whether it was ours to refer to is known a moment later. */
static void watch_refer(void *userdata) {
        UnitWatch *watch = userdata;
        unsigned generation = unit_manager_ref_generation(watch->manager);

        if (generation == watch->ref_generation || generation == 0 || watch->state < WATCH_UNSURE ||
            watch->state >= WATCH_COUNTING)
                return;
        unit_manager_refer(watch->manager, "RefUnit", watch->name);
        watch->ref_generation = generation;
}

static int watch_build_read(sd_bus *bus, void *userdata, sd_bus_message **ret_message) {
        UnitWatch *watch = userdata;

        watch_refer(watch);
        return systemd_get(bus, ret_message, watch->path, "", NULL);
}

static void watch_on_read(sd_bus_message *reply, const sd_bus_error *error, void *userdata) {
        UnitWatch *watch = userdata;
        UnitProperties properties = {0};
        bool again = watch->read_again;

        watch->read_again = false;
        if (!reply || unit_properties_read(reply, &properties) < 0) {
                if (error && strcmp(error->name, SD_BUS_ERROR_UNKNOWN_OBJECT) == 0)
                        watch_apply_absent(watch, false);
                else if (watch->state == WATCH_COUNTING)
                        watch_end(watch, UNIT_OUTCOME_UNKNOWN, "");
                else
                        watch_look_in(watch, LOOK_DELAY_MAX); /* unknown, never failed */
                return;
        }
        if (again && watch->state >= WATCH_DRAINING)
                watch_read(watch); /* asked before the cgroup was empty */
        else if (unit_properties_are_of(&properties, watch->nonce))
                watch_apply_ours(watch, &properties);
        else
                watch_apply_absent(watch, strcmp(properties.load_state, "not-found") != 0);
        unit_properties_clear(&properties);
        if (again && watch->state == WATCH_RUNNING)
                watch_read(watch);
}

static void watch_read(UnitWatch *watch) {
        if (watch->read && !bus_call_done(watch->read)) {
                watch->read_again = true;
                return;
        }
        bus_call_free(watch->read);
        watch->read =
            bus_call_new(unit_manager_queue(watch->manager), watch_build_read, watch_on_read, watch,
                         watch->state == WATCH_COUNTING ? COUNT_TIMEOUT : SYSTEMD_CALL_TIMEOUT,
                         BUS_CALL_ORDINARY);
}

/* ---- what the manager tells ---- */

static void watch_was_overdue(UnitWatch *watch) {
        watch->result.stop = UNIT_STOP_NONE;
        watch->result.outcome = UNIT_OUTCOME_TIMEOUT;
        unit_verdict_detail(&watch->result, "timeout");
}

/* Who ended it PID 1 has said, of one question or of both. */
static void watch_on_stopper(void *userdata) {
        UnitWatch *watch = userdata;
        const FenceEnd *fence = &watch->start_job.fence;

        if (watch_ended_with_machine(watch))
                watch->result.stop = UNIT_STOP_SHUTDOWN;
        if (fence_end_may_be(fence, &watch->result, watch->start_job.word) &&
            fence_end_was(fence, &watch->result))
                watch->result.stop = UNIT_STOP_FENCE;
        else if (fence_end_was_overdue(fence, &watch->result))
                watch_was_overdue(watch);
        else if (fence_end_was_late(fence, &watch->result))
                watch->result.stop = UNIT_STOP_NONE;
        watch->result.fence_left = fence->left;
        unit_events_hold(&watch->events, start_job_asks(&watch->start_job));
}

static void watch_on_job_removed(const char *systemd_job, const char *word, void *userdata) {
        UnitWatch *watch = userdata;

        if (watch->state != WATCH_UNSURE && watch->state != WATCH_RUNNING)
                return;
        /* A wish that PID 1 has not heard of took nothing away. */
        start_job_removed(&watch->start_job, systemd_job, word,
                          unit_watch_asked(watch) != USEC_INFINITY);
        unit_events_hold(&watch->events, start_job_asks(&watch->start_job));
        watch_read(watch);
}

static void watch_on_connected(void *userdata) {
        UnitWatch *watch = userdata;

        if (watch->state == WATCH_OVER)
                return;
        unit_ending_anew(watch->ending);
        if (watch->state >= WATCH_UNSURE && watch->state < WATCH_COUNTING)
                watch_read(watch);
}

static void watch_on_disconnected(void *userdata) {
        UnitWatch *watch = userdata;

        if (watch->state == WATCH_COUNTING)
                watch_end(watch, UNIT_OUTCOME_UNKNOWN, "");
}

/* ---- from outside ---- */

int unit_watch_new(UnitManager *manager, const char *name, const char *nonce, const char *slice,
                   UnitEventFunc func, void *userdata, UnitWatch **ret_watch) {
        _cleanup_(unit_watch_freep) UnitWatch *watch = g_new0(UnitWatch, 1);
        int r;

        watch->manager = manager;
        watch->name = g_strdup(name);
        watch->nonce = g_strdup(nonce);
        watch->cgroup = slice ? cgroup_path_of_unit(slice, name) : NULL;
        watch->result.cpu = USEC_INFINITY;
        watch->ordered = USEC_INFINITY;
        watch->listener = (UnitListener){.unit = watch->name,
                                         .systemd_job_removed = watch_on_job_removed,
                                         .connected = watch_on_connected,
                                         .disconnected = watch_on_disconnected,
                                         .references_gone = watch_refer,
                                         .userdata = watch};
        unit_manager_listen(manager, &watch->listener);
        start_job_init(&watch->start_job, manager, watch_on_stopper, watch);
        watch->ending = unit_ending_new(manager, name, BUS_CALL_URGENT, watch_on_order, watch);
        r = sd_bus_path_encode(SYSTEMD_UNIT_PATH_PREFIX, name, &watch->path);
        if (r >= 0)
                r = unit_events_init(&watch->events, unit_manager_event(manager), func, userdata);
        if (r >= 0)
                *ret_watch = g_steal_pointer(&watch);
        return r;
}

static void watch_unref_in_systemd(UnitWatch *watch) {
        if (watch->ref_generation &&
            watch->ref_generation == unit_manager_ref_generation(watch->manager))
                unit_manager_refer(watch->manager, "UnrefUnit", watch->name);
        watch->ref_generation = 0;
}

UnitWatch *unit_watch_free(UnitWatch *watch) {
        if (!watch)
                return NULL;
        unit_manager_unlisten(watch->manager, &watch->listener);
        watch_release(watch);
        watch_unref_in_systemd(watch);
        start_job_clear(&watch->start_job);
        sd_event_source_disable_unref(watch->events.teller);
        g_free(watch->name);
        g_free(watch->path);
        g_free(watch->nonce);
        g_free(watch->cgroup);
        g_free(watch);
        return NULL;
}

void unit_watch_set_reference(UnitWatch *watch, unsigned generation) {
        watch->ref_generation = generation;
}

void unit_watch_taken(UnitWatch *watch, const char *systemd_job) {
        if (systemd_job)
                start_job_found(&watch->start_job, systemd_job);
        watch->state = WATCH_RUNNING;
        watch_refer(watch);
        watch_peek(watch);
        watch_pursue(watch);
}

void unit_watch_doubt(UnitWatch *watch, UnitDoubt doubt) {
        watch->state = WATCH_UNSURE;
        watch->doubt = doubt;
        watch_read(watch);
}

void unit_watch_never(UnitWatch *watch, UnitOutcome outcome, const char *detail) {
        watch_end(watch, outcome, detail);
}

void unit_watch_set_fenced(UnitWatch *watch) {
        fence_end_expect(&watch->start_job.fence);
}

void unit_watch_set_short_start(UnitWatch *watch) {
        watch->start_job.is_short = true;
}

bool unit_watch_waits(const UnitWatch *watch) {
        return watch->state == WATCH_WAITING;
}

void unit_watch_end(UnitWatch *watch, UnitOrder order) {
        if (watch->state == WATCH_OVER)
                return;
        watch->wishes |= 1U << order;
        if (watch->state < WATCH_DRAINING)
                watch->result.stop = UNIT_STOP_OWNER;
        watch_pursue(watch);
}

void unit_watch_was_ordered(UnitWatch *watch, usec_t when) {
        watch->ordered = when;
}

usec_t unit_watch_asked(const UnitWatch *watch) {
        usec_t asked = watch->ending ? unit_ending_asked(watch->ending) : USEC_INFINITY;

        return MIN(watch->ordered, asked);
}

void unit_watch_discard(UnitWatch *watch) {
        if (watch->state == WATCH_OVER && watch->known_ours)
                unit_forget(watch->manager, watch->name);
        else if (launch_dropin_is_of(unit_manager_dropin_root(watch->manager), watch->name,
                                     watch->nonce))
                launch_dropin_remove(unit_manager_dropin_root(watch->manager), watch->name);
        watch_unref_in_systemd(watch);
}

const UnitResult *unit_watch_result(const UnitWatch *watch) {
        return &watch->result;
}

/* See failed-start.h.
 *
 * One look a second, by Clearing: until the time to stop it spares what it finds, so that a look
 * only counts. When a look counts nothing, or later when the clearing is through, it is over.
 */
#include "failed-start.h"

#include <errno.h>
#include <glib.h>
#include <signal.h>
#include <string.h>

#include "clearing.h"
#include "ended-units.h"
#include "lock-memory.h"
#include "log.h"
#include "message-id.h"
#include "session-file.h"
#include "timer.h"
#include "unit-spec.h"

#define LOOK_PERIOD (1 * USEC_PER_SEC)
/* The service manager tries again after a second: with so much time left the next attempt is early
 * enough, also on a machine that is busy. */
#define NEXT_ATTEMPT (4 * USEC_PER_SEC)
/* Once it is being ended: only for PID 1's patience, as the clearing itself looks often. */
#define LATE_LOOK_PERIOD (10 * USEC_PER_SEC)
/* PID 1 gives a start 90 s, and our wait may last as long as a session. */
#define EXTEND_TIMEOUT (30 * USEC_PER_SEC)

struct FailedStart {
        sd_event *event; /* weak, as the next one */
        Notify *notify;
        char *runtime_dir;
        UnitManager *units;
        Clearing *clearing;
        int fault;                  /* why the start cannot go on */
        int result;                 /* what the loop ends with */
        usec_t held_until, stop_at; /* D and D - K, CLOCK_BOOTTIME; 0: not known */
        GHashTable *going_on;       /* a set: scopes that are left alone */
        unsigned waiting;           /* what this look found and spared */
        bool told;
        bool ends_all; /* people want jobkeeperd, and what runs, to end */
        sd_event_source *look, *deadline;
};

static void failed_start_look(void *userdata);

FailedStart *failed_start_free(FailedStart *start) {
        if (!start)
                return NULL;
        sd_event_source_disable_unref(start->look);
        sd_event_source_disable_unref(start->deadline);
        clearing_free(start->clearing);
        unit_manager_free(start->units);
        g_hash_table_unref(start->going_on);
        g_free(start->runtime_dir);
        g_free(start);
        return NULL;
}

static const char *failed_start_why(const FailedStart *start) {
        if (start->fault == -EBADMSG)
                return "the configuration has errors";
        if (start->fault == -ENOKEY)
                return "the secret for ZooKeeper is missing or badly formed";
        return start->fault == -EBUSY ? "another jobkeeperd does not end"
                                      : g_strerror(-start->fault);
}

/* ---- looking ---- */

/* Return: whether it goes on without its locks, until people end it. */
static bool failed_start_goes_on(const FailedStart *start, const char *unit) {
        return g_hash_table_contains(start->going_on, unit) ||
               (!start->ends_all && unit_is_populated(start->units, unit_slices_continue, unit));
}

static bool failed_start_spares(const char *unit, void *userdata) {
        FailedStart *start = userdata;

        if (failed_start_goes_on(start, unit))
                return true;
        if (clock_boottime() >= start->stop_at)
                return false;
        start->waiting++;
        return true;
}

static void failed_start_found(const char *unit, bool exited, void *userdata) {
        const LogAbout about = {.message_id = MESSAGE_STOPPING_RUNS};
        const FailedStart *start = userdata;
        g_autofree char *why =
            g_strdup_printf("jobkeeperd could not be started (%s)", failed_start_why(start));

        log_warning(&about, "stopping %s, started by a previous daemon process: %s", unit, why);
        ended_units_add(start->runtime_dir, unit, clock_monotonic(), exited ? NULL : why);
}

/* To people and to PID 1, whose patience with a start is ours as well. */
static void failed_start_tell(FailedStart *start, const char *doing) {
        notify_say(start->notify,
                   "EXTEND_TIMEOUT_USEC=%" G_GUINT64_FORMAT "\nSTATUS=Failed (%s): %s",
                   EXTEND_TIMEOUT, failed_start_why(start), doing);
}

static void failed_start_tell_waiting(FailedStart *start) {
        const LogAbout about = {.message_id = MESSAGE_STOPPING_RUNS};
        double left = (double)usec_sub(start->stop_at, clock_boottime()) / (double)USEC_PER_SEC;
        g_autofree char *doing =
            g_strdup_printf("what runs (%u) is stopped in %.0f s unless jobkeeperd is started "
                            "successfully before",
                            start->waiting, left);

        failed_start_tell(start, doing);
        if (!start->told)
                log_error(&about, "failed (%s): %s", failed_start_why(start), doing);
        start->told = true;
}

static void failed_start_arm(FailedStart *start, sd_event_source **source, usec_t at,
                             TimerFunc func) {
        int r = timer_at(start->event, source, CLOCK_BOOTTIME, at, func, start);

        if (r < 0)
                (void)sd_event_exit(start->event, r);
}

/* None was found that has to be ended now. */
static void failed_start_on_gone(void *userdata) {
        FailedStart *start = userdata;
        usec_t now = clock_boottime();

        start->clearing = clearing_free(start->clearing);
        if (start->waiting == 0) {
                (void)sd_event_exit(start->event, start->result);
                return;
        }
        failed_start_tell_waiting(start);
        failed_start_arm(start, &start->look, MIN(now + LOOK_PERIOD, MAX(start->stop_at, now)),
                         failed_start_look);
}

static void failed_start_look(void *userdata) {
        FailedStart *start = userdata;
        static const char *const patterns[] = {RUN_UNIT_PATTERN, LOCK_SCOPE_PATTERN, NULL};
        const ClearingOptions options = {
            .patterns = patterns,
            .slices = unit_slices,
            .spare = failed_start_spares,
            .found = failed_start_found,
            .gone = failed_start_on_gone,
            .userdata = start,
        };
        int r;

        start->waiting = 0;
        if (clock_boottime() >= start->stop_at) {
                failed_start_tell(start, "stopping runs left by the previous daemon process");
                failed_start_arm(start, &start->look, clock_boottime() + LATE_LOOK_PERIOD,
                                 failed_start_look);
        }
        r = start->clearing ? 0 : clearing_new(start->units, &options, &start->clearing);
        if (r < 0)
                (void)sd_event_exit(start->event, r);
        else
                clearing_look_anew(start->clearing);
}

/* Others may have their locks from now on. */
static void failed_start_on_deadline(void *userdata) {
        FailedStart *start = userdata;

        start->stop_at = 0;
        failed_start_look(start);
        if (start->clearing)
                clearing_kill(start->clearing);
}

/* ---- being asked to end ---- */

static void failed_start_on_systemd_job(SystemdJob systemd_job, void *userdata) {
        FailedStart *start = userdata;

        /* The next process inherits the deadline, too. */
        if (systemd_job != SYSTEMD_JOB_STOP && systemd_job != SYSTEMD_JOB_SHUTDOWN) {
                (void)sd_event_exit(start->event, 0);
                return;
        }
        start->stop_at = 0;
        start->ends_all = true;
        start->result = 0;
        failed_start_look(start);
}

void failed_start_terminate(FailedStart *start) {
        if (unit_manager_query_systemd_job(start->units, DAEMON_UNIT, RESTART_QUERY_TIMEOUT,
                                           failed_start_on_systemd_job, start) < 0)
                failed_start_on_systemd_job(SYSTEMD_JOB_UNKNOWN, start);
}

/* ---- the whole ---- */

/* Return: newly allocated, a set: the scopes of those commands that go on when their lock is lost.
 */
static GHashTable *scopes_going_on(const char *runtime_dir) {
        GHashTable *scopes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        g_autoptr(GPtrArray) records = lock_memory_load(runtime_dir);

        for (guint i = 0; i < records->len; i++) {
                const LockRecord *record = records->pdata[i];

                if (record->scope && record->go_on)
                        g_hash_table_add(scopes, g_strdup(record->scope));
        }
        return scopes;
}

/* Return: whether there is something to do here that the next attempt would come too late for. */
static bool failed_start_inherits(FailedStart *start) {
        g_autofree char *path = g_build_filename(start->runtime_dir, "session", NULL);
        SessionFile file = {0};
        bool found = false;

        if (!notify_has_manager())
                return false;
        if (session_file_load_any(path, &file) >= 0) {
                start->held_until = file.held_until;
                start->stop_at = file.stop_at;
                found = true;
        }
        explicit_bzero(&file, sizeof file);
        /* Another process sees to what runs, unless it hangs: then the file is not renewed. */
        if (start->fault == -EBUSY)
                return found && start->stop_at < clock_boottime();
        return start->fault == -EBADMSG || start->fault == -ENOKEY ||
               start->stop_at < clock_boottime() + NEXT_ATTEMPT;
}

static int failed_start_begin(FailedStart *start) {
        int r;

        if (!failed_start_inherits(start))
                return start->fault;
        r = unit_manager_new(start->event, &start->units);
        if (r < 0)
                return start->fault;
        failed_start_look(start);
        if (start->held_until > 0)
                failed_start_arm(start, &start->deadline, start->held_until,
                                 failed_start_on_deadline);
        return 0;
}

int failed_start_new(sd_event *event, Notify *notify, const char *runtime_dir, int fault,
                     FailedStart **ret_start) {
        _cleanup_(failed_start_freep) FailedStart *start = g_new0(FailedStart, 1);
        int r;

        start->event = event;
        start->notify = notify;
        start->runtime_dir = g_strdup(runtime_dir);
        start->fault = start->result = fault;
        start->going_on = scopes_going_on(runtime_dir);
        r = failed_start_begin(start);
        if (r < 0)
                return r;
        *ret_start = g_steal_pointer(&start);
        return 0;
}

/* ---- as a process ---- */

static int failed_start_on_signal(sd_event_source *source, const struct signalfd_siginfo *info,
                                  void *userdata) {
        failed_start_terminate(userdata);
        return 0;
}

int failed_start(sd_event *event, Notify *notify, const char *runtime_dir, int fault) {
        _cleanup_(sd_event_source_unrefp) sd_event_source *terminate = NULL, *interrupt = NULL;
        _cleanup_(failed_start_freep) FailedStart *start = NULL;
        int r = failed_start_new(event, notify, runtime_dir, fault, &start);

        if (r < 0 ||
            sd_event_add_signal(event, &terminate, SIGTERM, failed_start_on_signal, start) < 0 ||
            sd_event_add_signal(event, &interrupt, SIGINT, failed_start_on_signal, start) < 0)
                return fault;
        return sd_event_loop(event);
}

/* See run.h. */
#include "run.h"

#include <stdlib.h>

#include "clearing.h"
#include "ended-units.h"
#include "fence-link.h"
#include "launched.h"
#include "log.h"
#include "message-id.h"
#include "timer.h"
#include "unit-spec.h"

/* How the reason of an end begins that a person wanted; a later process knows it by that. */
#define STOPPED_BY "stopped by "

static void run_event(Run *run, RunEvent event);

char *run_key(const char *job, const char *run) {
        return g_strconcat(job, ":", run, NULL);
}

static LogAbout run_about(const Run *run, const char *message_id) {
        return (LogAbout){.message_id = message_id,
                          .job = run->record->job,
                          .run = run->record->run,
                          .tick = run->record->tick};
}

Run *run_free(Run *run) {
        if (!run)
                return NULL;
        sd_event_source_disable_unref(run->overdue);
        settle_free(run->settle);
        unit_free(run->unit);
        /* What is not settled keeps its contenders: the process after us, or the session's end,
         * disposes of them. */
        lock_set_forget(run->locks);
        run_record_free(run->record);
        g_free(run->key);
        g_free(run);
        return NULL;
}

/* ---- the end ---- */

/* Our transaction would have deleted them; it was not ours to write. Taking them over and giving
 * them up deletes them for certain. */
static void run_release_contenders(Run *run) {
        const char *const *paths = (const char *const *)run->record->locks;
        LockSet *locks = NULL;

        /* What stands at a path of another session's may be another run's of ours. */
        if (paths && *paths && !run->session_lost &&
            lock_set_adopt(run->parts->node->session, paths, NULL, NULL, NULL, &locks) >= 0)
                lock_set_free(locks);
}

static void run_on_settled(SettleOutcome outcome, void *userdata) {
        Run *run = userdata;

        run->settle = settle_free(run->settle);
        if (outcome == SETTLE_AGAIN)
                return; /* run_session_ready() begins again */
        if (outcome == SETTLE_ELSEWHERE)
                run_release_contenders(run);
        run_event(run, RUN_EVENT_SETTLED);
}

/* Return: whether its contenders are certainly its own still. */
static bool run_holds_its_locks(const Run *run) {
        return !run->record->locks || !*run->record->locks ||
               (run->locks && lock_set_held_until(run->locks) > 0);
}

static void run_begin_settle(Run *run) {
        const SettleRequest request = {
            .record = run->record,
            .owner = run->record->node,
            .record_version = run_holds_its_locks(run) ? run->record_version : -1,
        };

        if (run->settle || run->phase != RUN_PHASE_SETTLING)
                return;
        /* The transaction deletes the contenders, and their watches tell of it before its answer
         * does: that is no loss. */
        run->locks = lock_set_forget(run->locks);
        (void)settle_start(run->parts->settler, &request, run_on_settled, run,
                           &run->settle); /* no session: begun when there is one */
}

/* systemd's words for what the exit status or the signal says already. */
static bool run_why_is_said(const RunRecord *record) {
        static const char *const said[] = {"exit-code", "signal", "timeout", NULL};

        return !record->why || g_strv_contains(said, record->why);
}

/* Return: newly allocated; the id alone is an epoch second, which nobody can read. */
static char *run_in_words(const RunRecord *record) {
        g_autofree char *tick = record->tick ? tick_to_rfc3339(record->tick) : NULL;

        return tick ? g_strdup_printf("run %s (tick %s)", record->run, tick)
                    : g_strdup_printf("run %s", record->run);
}

static void run_log_end(const Run *run) {
        const LogAbout fields = run_about(run, MESSAGE_RUN_ENDED);
        const RunRecord *record = run->record;
        g_autofree char *detail = NULL, *words = run_in_words(record);
        bool said = run_why_is_said(record);

        if (record->signal)
                detail = g_strdup_printf(" (signal %d)", record->signal);
        else if (record->exit_status > 0)
                detail = g_strdup_printf(" (exit status %d)", record->exit_status);
        log_write(record->state == RUN_SUCCEEDED ? LOG_INFO : LOG_WARNING, &fields, "%s %s%s%s%s",
                  words, run_state_to_string(record->state), detail ? detail : "", said ? "" : ": ",
                  said ? "" : record->why);
}

/* ---- the unit ---- */

/* A process after us sees how it ended, and not that it was ended, nor when that began: it may be
 * over by the time that we hear of it. */
static void run_note_end(const Run *run) {
        if (run->interrupted || run->unwanted)
                ended_units_add(run->parts->node->runtime_dir, run->record->unit,
                                MIN(clock_monotonic(), unit_asked(run->unit)), run->record->why);
}

static bool run_is_populated(const Run *run) {
        return unit_is_populated(run->parts->units, unit_slices, run->record->unit);
}

bool run_is_known_to_live(const Run *run) {
        return run->phase == RUN_PHASE_RUNNING ||
               (run->phase > RUN_PHASE_RUNNING && run->phase < RUN_PHASE_SETTLING &&
                run_is_populated(run));
}

bool run_lives_unfenced(const Run *run) {
        return unit_is_populated(run->parts->units, unit_slices_unfenced, run->record->unit);
}

/* Return: whether nobody has seen yet that its unit lives: it is looked for, or was only just asked
 * for. There may be nothing to end. */
static bool run_is_unseen(const Run *run) {
        return run->phase == RUN_PHASE_CLAIMED && !run_is_populated(run);
}

/* It has ended well by itself. PID 1 forgets that when what it left is stopped, and was told to end
 * it, perhaps. */
static void run_note_success(const Run *run) {
        const UnitResult *result = unit_result(run->unit);

        if (result->outcome == UNIT_OUTCOME_SUCCESS && result->stop == UNIT_STOP_NONE &&
            (run->phase == RUN_PHASE_STOPPING || result->left))
                ended_units_add(run->parts->node->runtime_dir, run->record->unit, clock_monotonic(),
                                NULL);
}

/* Return: whether that says what becomes of a wish that nobody may have noted: what nobody had seen
 * lives, and is stopped now; or it is over, and no main process of its was seen. */
static bool run_end_is_news(const Run *run, UnitEvent event) {
        const UnitResult *result = unit_result(run->unit);

        if (run->phase != RUN_PHASE_STOPPING)
                return false;
        return event == UNIT_EVENT_STARTED ||
               (event == UNIT_EVENT_ENDED && !result->started && result->stop == UNIT_STOP_OWNER);
}

static void run_on_unit(Unit *unit, UnitEvent event, void *userdata) {
        static const RunEvent events[] = {
            [UNIT_EVENT_STARTED] = RUN_EVENT_UNIT_STARTED,
            [UNIT_EVENT_EXITED] = RUN_EVENT_UNIT_EXITED,
            [UNIT_EVENT_ENDED] = RUN_EVENT_UNIT_ENDED,
            [UNIT_EVENT_ABSENT] = RUN_EVENT_UNIT_ABSENT,
        };
        Run *run = userdata;

        run->overdue = sd_event_source_disable_unref(run->overdue);
        if (run_end_is_news(run, event))
                run_note_end(run);
        if (event == UNIT_EVENT_EXITED)
                run_note_success(run);
        run_event(run, events[event]);
}

/* The good end that is remembered under its unit's name is another run's where it was before the
 * claim: a tick is claimed again after the ensemble was restored from a backup. Both times are this
 * machine's, whose clock may have been set meanwhile, from one bound of what claims bear to the
 * other. Return: whether it is its own, and taken. */
static bool run_take_success(const Run *run, usec_t when) {
        usec_t ended = clock_realtime() - usec_sub(clock_monotonic(), when);
        RunRecord *record = run->record;

        if (ended + 2 * run->parts->node->config->max_skew < record->claimed)
                return false;
        record->state = RUN_SUCCEEDED;
        record->exit_status = 0;
        record->ended = ended;
        g_clear_pointer(&record->why, g_free);
        return true;
}

/* What was bound to a fence that left off after the claim was stopped with it, if it had been
 * started. Return: whether that was so. */
static bool run_went_with_fence(const Run *run) {
        usec_t left = run->unit && !run->record->continues ? unit_result(run->unit)->fence_left : 0;

        return left > 0 &&
               clock_realtime() - usec_sub(clock_monotonic(), left) >= run->record->claimed;
}

/* Return: who had PID 1 end it, where that is known; NONE: by ourselves or the fence nobody. */
static UnitStop run_stopper(const Run *run, const UnitResult *result) {
        const EndedUnit *ended = ended_units_find(run->parts->ended, run->record->unit);

        if (run->phase == RUN_PHASE_STOPPING || run->interrupted || (ended && ended->why))
                return UNIT_STOP_OWNER;
        return (result ? result->stop == UNIT_STOP_FENCE : run_went_with_fence(run))
                   ? UNIT_STOP_FENCE
                   : UNIT_STOP_NONE;
}

/* Return: whether its launch step tells what PID 1 does not. */
static bool run_take_note(const Run *run, const UnitResult *result) {
        return launched_take(unit_manager_dropin_root(run->parts->units), run->record, result,
                             run_stopper(run, result));
}

/* By what is known of it, it may be there: no other one follows it. */
static void run_may_be_alive(const Run *run) {
        run->record->terms.rerun = false;
        run->record->continues |= run->record->terms.service;
}

/* Where nothing of it is here, whatever it would have gone on without, a service is not kept
 * waiting for word of how it ended. */
static void run_look_for_rest(const Run *run) {
        if (run_is_populated(run))
                run_may_be_alive(run);
        else
                run->record->continues &= !run->record->terms.service;
}

/* What was ended and is gone has left no result, but that it was ended is known, or that it had
 * ended well before. */
static void run_take_unknown(Run *run) {
        const EndedUnit *ended = ended_units_find(run->parts->ended, run->record->unit);
        bool fenced = run_went_with_fence(run);

        if ((ended && !ended->why && run_take_success(run, ended->when)) ||
            run_take_note(run, NULL)) {
                if (run->record->state == RUN_UNKNOWN)
                        run_look_for_rest(run);
                return;
        }
        run->record->state = fenced || (ended && ended->why) ? RUN_INTERRUPTED : RUN_UNKNOWN;
        run_look_for_rest(run);
        run->record->ended = clock_realtime();
        if (run->unwanted && run->record->state == RUN_UNKNOWN)
                g_clear_pointer(&run->record->why, g_free); /* nobody knows that it was stopped */
        if (!run->record->why && fenced)
                run->record->why = g_strdup("stopped with its fence while jobkeeperd was away, "
                                            "unless it had ended before: its unit was not found");
        if (!run->record->why)
                run->record->why =
                    g_strdup("claimed, but its unit was not found: it may or may not have run");
}

/* It was wanted to end, and a later process is told so; but it had failed before systemd was asked
 * to end it, which may take as long as that hangs. What a person wanted stays. */
static void run_note_failure(const Run *run) {
        RunState state = run->record->state;

        if (run->interrupted && !run->unwanted && (state == RUN_FAILED || state == RUN_TIMED_OUT))
                ended_units_retract(run->parts->node->runtime_dir, run->record->unit);
}

static void run_take_result(Run *run) {
        const UnitResult *result = unit_result(run->unit);

        if (!run->recovering)
                launched_note_refusal(run->parts->node, unit_manager_dropin_root(run->parts->units),
                                      result);
        if (!run_take_note(run, result))
                run_record_take_result(run->record, result, run->interrupted);
        if (run->record->state == RUN_UNKNOWN)
                run_look_for_rest(run);
        run_note_failure(run);
}

/* What it has come to is said when the node is back (run_recover()), or by the others when that
 * takes too long (orphans.h): until then it stands claimed. Return: whether it is one of those. */
static bool run_ends_with_reboot(const Run *run) {
        const UnitResult *result = run->unit ? unit_result(run->unit) : NULL;

        if (run->record->terms.reboot == JOB_REBOOT_INTERRUPTS || run->unwanted || !result ||
            !result->started)
                return false;
        return result->stop == UNIT_STOP_SHUTDOWN ||
               (run->shut_down && result->stop == UNIT_STOP_OWNER);
}

/* Nothing of it is left here. The contenders, where there are some, go with the session. */
static void run_discard(Run *run) {
        if (run->unit)
                unit_discard(run->unit);
        run->locks = lock_set_forget(run->locks);
        run->parts->settled(run, run->parts->userdata);
}

static void run_leave_to_reboot(Run *run) {
        const LogAbout fields = run_about(run, NULL);
        g_autofree char *words = run_in_words(run->record);

        log_notice(&fields,
                   "%s was ended by the shutdown of the machine: it is settled when that "
                   "is back",
                   words);
        /* Where no reboot follows, a process after us is to know that this has ended it. */
        ended_units_add(run->parts->node->runtime_dir, run->record->unit, clock_monotonic(),
                        "the machine was shut down");
        run->phase = RUN_PHASE_SETTLED;
        run_discard(run);
}

static bool run_action_is_end(RunAction action) {
        return action == RUN_ACTION_SETTLE || action == RUN_ACTION_SETTLE_UNKNOWN;
}

static void run_perform(Run *run, RunAction action) {
        const LogAbout started = run_about(run, MESSAGE_RUN_STARTED);
        g_autofree char *words = run_in_words(run->record);

        if (run_action_is_end(action) && run_ends_with_reboot(run)) {
                run_leave_to_reboot(run);
                return;
        }
        switch (action) {
        case RUN_ACTION_NONE:
                return;
        case RUN_ACTION_ANNOUNCE:
                if (!run->recovering) /* the unit's own time replaces it in the end */
                        run->record->started = clock_realtime();
                log_info(&started, run->recovering ? "%s continues" : "%s started", words);
                return;
        case RUN_ACTION_STOP_UNIT:
                unit_stop(run->unit);
                return;
        case RUN_ACTION_SETTLE:
                run_take_result(run);
                break;
        case RUN_ACTION_SETTLE_UNKNOWN:
                run_take_unknown(run);
                break;
        case RUN_ACTION_FORSAKE:
                unit_forsake(g_steal_pointer(&run->unit));
                break;
        case RUN_ACTION_DISCARD:
                run_discard(run);
                return;
        case RUN_ACTION_IMPOSSIBLE:
                abort();
        }
        if (run->unwanted && run->record->state == RUN_INTERRUPTED)
                run->record->state = RUN_STOPPED; /* also before it began */
        run_log_end(run);
        run_begin_settle(run);
}

static void run_event(Run *run, RunEvent event) {
        RunStep step = run_table_step(run->phase, event);

        if (step.action == RUN_ACTION_IMPOSSIBLE) {
                log_error(NULL, "run %s: event \"%s\" in phase \"%s\" cannot happen", run->key,
                          run_event_to_string(event), run_phase_to_string(run->phase));
                abort();
        }
        run->phase = step.phase;
        run_perform(run, step.action);
}

/* ---- the locks ---- */

static void run_on_locks(LockSet *set, LockEvent event, void *userdata) {
        Run *run = userdata;

        if (event == LOCK_EVENT_HELD)
                return; /* adopted */
        if (run->record->continues)
                return; /* its record stands for them */
        /* Those of its contenders that still stand protect it until its cgroup is empty: the settle
         * deletes them. Until then they are this set's, so that a sweep that is under way does not
         * take them for nobody's. */
        run_stop(run, true, "its locks were lost");
}

/* Others may have its locks already: what did not end between D - K and D, or was not told because
 * the server was first to say so, has no time left to end by itself. */
static void run_kill_if_locked(Run *run) {
        if (run->record->continues)
                return; /* its record still keeps others from beginning */
        if (run->phase == RUN_PHASE_STOPPING && run->record->locks && *run->record->locks)
                unit_kill(run->unit);
}

/* Return: whether it goes on without the session that it was claimed in. */
static bool run_outlives_session(const Run *run) {
        return run->record->continues && run->phase < RUN_PHASE_STOPPING;
}

static void run_end_with_session(Run *run, const char *why) {
        const LogAbout fields = run_about(run, MESSAGE_RUN_CONTINUES);

        if (run_outlives_session(run)) {
                log_warning(
                    &fields,
                    "run %s continues without its locks: %s; no other run of the job begins "
                    "before this one is recorded",
                    run->record->run, why);
                return;
        }
        run_stop(run, true, why);
        run_kill_if_locked(run);
}

void run_session_lost(Run *run) {
        /* The contenders are the dead session's: the server removes them, or the settle does. */
        run->locks = lock_set_forget(run->locks);
        run->settle = settle_free(run->settle);
        run->record_version = -1;
        run->session_lost = true;
        run_end_with_session(run, "the ZooKeeper session was lost");
}

void run_leave(Run *run) {
        run->locks = lock_set_forget(run->locks);
}

void run_session_ready(Run *run) {
        run_begin_settle(run);
}

void run_stop(Run *run, bool interrupted, const char *why) {
        if (run->phase == RUN_PHASE_SETTLING || run->phase == RUN_PHASE_SETTLED ||
            run->phase == RUN_PHASE_STOPPING)
                return;
        run->interrupted = interrupted;
        if (!run->record->why)
                run->record->why = g_strdup(why);
        /* One that nobody has seen yet is ended where it is found alive. */
        if (run->unit && run->phase <= RUN_PHASE_RUNNING && !run_is_unseen(run))
                run_note_end(run);
        run_event(run, RUN_EVENT_STOP);
}

void run_stop_for_shutdown(Run *run, const char *why) {
        run->shut_down |= run->phase < RUN_PHASE_STOPPING;
        run_stop(run, true, why);
}

/* A person wants it to end: whatever comes of it, no other attempt follows. */
static void run_is_unwanted(Run *run) {
        run->unwanted = true;
        run->record->terms.attempts = 0;
        run->record->terms.rerun = false;
}

void run_stop_for(Run *run, const char *who) {
        const LogAbout about = run_about(run, MESSAGE_STOP_ASKED);
        g_autofree char *why = g_strconcat(STOPPED_BY, who, NULL),
                        *words = run_in_words(run->record);

        if (run->unwanted || run->phase >= RUN_PHASE_SETTLING)
                return; /* it is being ended for that already, or is over */
        log_notice(&about, "%s is %s", words, why);
        run_is_unwanted(run);
        if (run->phase == RUN_PHASE_STOPPING) { /* for another reason, which would be tried again */
                g_free(run->record->why);
                run->record->why = g_steal_pointer(&why);
        } else if (run->phase != RUN_PHASE_DRAINING) {
                run_stop(run, false, why);
        }
}

/* ---- the beginning ---- */

static Run *run_new(const RunParts *parts, RunRecord *record, LockSet *locks) {
        Run *run = g_new0(Run, 1);

        run->parts = parts;
        run->phase = RUN_PHASE_CLAIMED;
        run->record = record;
        run->key = run_key(record->job, record->run);
        run->locks = locks;
        return run;
}

/* Its unit has not been heard of. Where its launch step has let it begin all the same we hear of
 * that once PID 1 answers. */
static void run_on_overdue(void *userdata) {
        Run *run = userdata;

        if (launched_forbid(unit_manager_dropin_root(run->parts->units), run->record,
                            "systemd did not begin it in time"))
                run_event(run, RUN_EVENT_FORBIDDEN);
}

/* Return: until when it may begin, CLOCK_BOOTTIME. */
static usec_t run_begins_by(usec_t start_by) {
        usec_t left = usec_sub(start_by, clock_realtime());

        return usec_add(clock_boottime(), CLAMP(left, RUN_BEGIN_PATIENCE, RUN_BEGIN_MOST));
}

/* There is no unit to wait for: it never was, or is known to be gone. */
static void run_over(Run *run, RunState state, char *why) {
        run->record->state = state;
        run->record->ended = clock_realtime();
        g_free(run->record->why);
        run->record->why = why;
        run->phase = RUN_PHASE_SETTLING;
        run_log_end(run);
        run_begin_settle(run);
}

Run *run_start(const RunParts *parts, const JobSpec *spec, RunRecord *record, LockSet *locks,
               usec_t start_by) {
        Run *run = run_new(parts, record, locks);
        usec_t begin_by = run_begins_by(start_by);
        g_auto(GStrv) launch = launched_words(parts->node, !record->continues, begin_by);
        RunUnitSpec unit_spec;
        int r;

        lock_set_set_func(locks, run_on_locks, run);
        if (!locks && record->locks && *record->locks) {
                run_over(run, RUN_INTERRUPTED,
                         g_strdup("not started: its locks were lost right after the claim"));
                return run;
        }
        if (node_is_ending(parts->node) && !(parts->node->process_phase == PROCESS_PHASE_LEAVING)) {
                run_over(run, RUN_INTERRUPTED, g_strdup("not started: the daemon was stopped"));
                return run;
        }
        /* The claim's answer may have come late, after the stop of all runs was due: what would be
         * started now would not be stopped in time. */
        if (clock_boottime() >= session_stop_at(parts->node->session)) {
                run_over(run, RUN_INTERRUPTED,
                         g_strdup("not started: ZooKeeper answered too late"));
                return run;
        }
        if (!record->continues && fence_link_fault(parts->node->fence)) {
                run_over(run, RUN_INTERRUPTED,
                         g_strdup_printf("not started: %s", fence_link_fault(parts->node->fence)));
                return run;
        }
        run_unit_spec_init(&unit_spec, spec, record);
        unit_spec.spec.launch = (const char *const *)launch;
        r = unit_start(parts->units, &unit_spec.spec, run_on_unit, run, &run->unit);
        run_unit_spec_clear(&unit_spec);
        if (r < 0) {
                launched_note_error(parts->node, unit_manager_dropin_root(parts->units), r);
                run_over(run, RUN_INTERRUPTED,
                         g_strdup_printf("not started: its unit could not be prepared: %s",
                                         g_strerror(-r)));
        } else if (begin_by != USEC_INFINITY) {
                (void)timer_at(parts->node->event, &run->overdue, CLOCK_BOOTTIME, begin_by,
                               run_on_overdue, run);
        }
        return run;
}

/* Its unit is looked for. One that was ordered to end before has to, if it lives. */
static void run_end_again(Run *run) {
        const EndedUnit *ended = ended_units_find(run->parts->ended, run->record->unit);

        if (!ended || !ended->why)
                return;
        unit_was_ordered(run->unit, ended->when);
        if (g_str_has_prefix(ended->why, STOPPED_BY))
                run_is_unwanted(run);
        run_stop(run, true, ended->why);
}

static void run_over_unseen(Run *run) {
        run_may_be_alive(run);
        run_over(run, RUN_UNKNOWN, g_strdup("its unit could not be queried"));
}

/* What a run has come to that the reboot of its node has ended. */
static RunState run_state_by_reboot(JobReboot reboot) {
        static const RunState states[] = {[JOB_REBOOT_INTERRUPTS] = RUN_INTERRUPTED,
                                          [JOB_REBOOT_SUCCESS] = RUN_SUCCEEDED,
                                          [JOB_REBOOT_FAIL] = RUN_FAILED};

        return states[reboot];
}

Run *run_recover(const RunParts *parts, RunRecord *record, int32_t record_version, bool attached) {
        Run *run = run_new(parts, record, NULL);
        const LogAbout fields = run_about(run, MESSAGE_RUN_ADOPTED);
        int r;

        run->record_version = record_version;
        run->recovering = true;
        run->session_lost = !attached;
        g_clear_pointer(&record->why, g_free); /* of one that is open nobody of us has said any */
        if (g_strcmp0(record->boot, parts->node->boot_id) != 0) { /* so whatever ran is gone */
                run_over(run, run_state_by_reboot(record->terms.reboot),
                         g_strdup("the node was rebooted"));
                return run;
        }
        log_info(&fields, "run %s was claimed by a previous daemon process, looking for its unit",
                 record->run);
        r = unit_adopt(parts->units, record->unit, record->nonce, run_on_unit, run, &run->unit);
        if (r < 0) {
                run_over_unseen(run);
                return run;
        }
        if (attached && record->locks && *record->locks)
                r = lock_set_adopt(parts->node->session, (const char *const *)record->locks, NULL,
                                   run_on_locks, run, &run->locks);
        if (r < 0 && !record->continues)
                run_stop(run, true, "its locks cannot be taken over");
        if (run->session_lost)
                run_end_with_session(run,
                                     "the ZooKeeper session was lost while the daemon was away");
        run_end_again(run);
        return run;
}

Run *run_recover_result(const RunParts *parts, RunRecord *record) {
        Run *run = run_new(parts, record, NULL);
        const LogAbout fields = run_about(run, MESSAGE_RUN_ADOPTED);

        run->record_version = -1;
        run->recovering = true;
        run->session_lost = true; /* whatever stands at its locks' paths is not its own */
        log_info(&fields, "run %s was recorded as %s by another process, reading its unit",
                 record->run, run_state_to_string(record->state));
        record->state = RUN_CLAIMED;
        g_clear_pointer(&record->why, g_free);
        if (unit_adopt(parts->units, record->unit, record->nonce, run_on_unit, run, &run->unit) < 0)
                run_over_unseen(run);
        else
                run_end_again(run);
        return run;
}

Run *run_recover_nothing(const RunParts *parts, RunRecord *record, char *why) {
        Run *run = run_new(parts, record, NULL);

        run->record_version = -1;
        run_over(run, RUN_UNKNOWN, why);
        return run;
}

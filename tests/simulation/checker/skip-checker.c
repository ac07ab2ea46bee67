/* Why a tick was skipped: the reason that its record gives was one, when it was written. Nodes
 * judge by the ledger that they change, and by clocks that may be wrong by some seconds. */
#include <inttypes.h>
#include <string.h>

#include "control-pause.h"
#include "rejoin-checker.h"
#include "skip-record.h"
#include "unit-spec.h"

/* So long may it take until the end of a run is known, and a write is done. */
#define BESIDE (USEC_PER_MINUTE)

typedef struct Skip {
        const Write *write;
        const PlanJob *job;
        const Ledger *before;
        const RunRecord *record;
        const char *why;
        bool is_attempt;
        int64_t last, due; /* the last tick of it; when that, or its next attempt, could begin */
        int64_t now;       /* the latest that its node's clock may show */
} Skip;

/* Return: when the tick starts by the schedule that was in force. */
static int64_t skip_start(const Skip *skip, int64_t tick) {
        _cleanup_(schedule_freep) Schedule *schedule = NULL;

        return ledger_schedule(skip->before, &schedule) >= 0 && schedule && tick
                   ? schedule_start(schedule, skip->record->job, tick)
                   : tick;
}

static bool skip_was_too_late(const Skip *skip) {
        return skip->now >= skip->due + skip->job->deadline;
}

/* The last one of a stretch, which is the one that is skipped now: what was owed before a run of
 * the job began is caught up with, where all are. */
static bool skip_was_owed_before(const Skip *skip, const LedgerEntry *run) {
        return skip->job->catches_all && skip->record->tick > 0 &&
               (usec_t)skip_start(skip, skip->last) * USEC_PER_SEC <= run->claimed;
}

/* Another run was claimed, and kept it waiting. What is in line is not skipped for that. */
static bool skip_was_in_the_way(const Skip *skip) {
        const LedgerEntry *run = ledger_first_claimed(skip->before);

        return run && skip->job->beside == 1 &&
               ((!skip->job->queues && !skip->job->replaces) || skip->record->tick == 0) &&
               !skip_was_owed_before(skip, run);
}

/* Return: whether it is in line behind another one, which goes on waiting. */
static bool skip_was_behind_another(const Skip *skip) {
        _cleanup_(ledger_freep) Ledger *after = write_ledger_after(skip->write, skip->job->name);
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        int64_t first;

        return skip->job->queues && after &&
               (ledger_first_claimed(skip->before) || ledger_first_retry(skip->before)) &&
               ledger_schedule(skip->before, &schedule) >= 0 && schedule &&
               ledger_next_undecided(after, schedule, 0, skip->last - 1, &first);
}

/* Return: whether it was in line behind the last run, or is behind one that is under way, and is
 * not too late. */
static bool skip_was_in_line(const Skip *skip) {
        const RunRecord *last = skip->before->last;
        usec_t from = (usec_t)skip_start(skip, skip->last) * USEC_PER_SEC;

        return (skip->job->queues || skip->job->replaces) && !skip_was_too_late(skip) &&
               (ledger_first_claimed(skip->before) ||
                (last && last->tick < skip->last && ledger_free_since(skip->before) >= from));
}

/* One that had been given up lived on the node that says so, not long ago. */
static bool skip_was_beside(const Skip *skip) {
        const GPtrArray *runs = history_runs(checker_history(skip->write->checker));

        if (skip->job->beside > 1)
                return false;
        for (guint i = 0; i < runs->len; i++) {
                const HistoryRun *run = runs->pdata[i];

                if (run->continues && g_str_equal(run->job, skip->job->name) &&
                    g_str_equal(run->node, skip->record->node) &&
                    (run->empty == 0 || run->empty + BESIDE > checker_now(skip->write->checker)))
                        return true;
        }
        return false;
}

static bool skip_was_at_an_older_one(const Skip *skip) {
        const LedgerEntry *run = ledger_first_retry(skip->before);

        return run && skip->job->beside == 1 &&
               (skip_was_too_late(skip) || !skip_was_owed_before(skip, run));
}

static bool skip_had_many_beside(const Skip *skip) {
        return skip->job->allows && ledger_count_unsettled(skip->before) >= PLAN_BESIDE;
}

static bool skip_had_no_slot(const Skip *skip) {
        return !skip->job->allows && skip->job->beside > 1 &&
               ledger_count_unsettled(skip->before) >= skip->job->beside;
}

/* A newer one had come. */
static bool skip_was_replaced(const Skip *skip) {
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        int64_t next = 0;

        return skip->job->replaces && ledger_schedule(skip->before, &schedule) >= 0 && schedule &&
               schedule_next(schedule, skip->last, &next) && skip_start(skip, next) <= skip->now;
}

static bool skip_waited_too_long(const Skip *skip) {
        return (skip->job->queues || skip->job->replaces) && ledger_first_claimed(skip->before) &&
               skip_was_too_late(skip);
}

static bool skip_was_not_caught_up(const Skip *skip) {
        return !skip->job->catches_up && !skip_was_in_line(skip);
}

static bool skip_had_no_place(const Skip *skip) {
        return checker_plan(skip->write->checker)->max_runs > 0;
}

static bool skip_was_overtaken(const Skip *skip) {
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        int64_t next = 0;

        return !skip_was_in_line(skip) && !skip->job->catches_all &&
               ledger_schedule(skip->before, &schedule) >= 0 &&
               schedule_next(schedule, skip->last, &next) && skip_start(skip, next) <= skip->now;
}

/* Return: whether it came due while the job was paused, be that over by now; *ret_pause is filled
 * in then. A further attempt only waits for the end. */
static bool skip_came_in_a_pause(const Skip *skip, ControlPause *ret_pause) {
        json_t *control = write_control(skip->write);
        bool found = control_pause_of(control, skip->record->job,
                                      (usec_t)skip->write->txn->time_ms * USEC_PER_MSEC, ret_pause),
             is = found &&
                  (ret_pause->until == 0 ||
                   (!skip->is_attempt && (usec_t)skip->due * USEC_PER_SEC <= ret_pause->until));

        json_decref(control);
        if (found && !is)
                control_pause_clear(ret_pause);
        return is;
}

static bool skip_was_paused(const Skip *skip) {
        ControlPause pause = {0};
        bool was = skip_came_in_a_pause(skip, &pause);

        control_pause_clear(&pause);
        return was && (!skip->is_attempt || skip_was_too_late(skip));
}

/* Return: the stretch that it was to begin in, by the schedule that was in force. */
static WindowStretch skip_window(const Skip *skip) {
        _cleanup_(schedule_freep) Schedule *schedule = NULL;

        if (ledger_schedule(skip->before, &schedule) < 0 || !schedule)
                return (WindowStretch){.open = true, .to = INT64_MAX};
        return schedule_window(schedule, skip->due);
}

/* The next beginning that is named is the one after it. */
static bool skip_was_outside(const Skip *skip) {
        WindowStretch stretch = skip_window(skip);
        g_autofree char *next = stretch.open ? NULL : tick_to_rfc3339(stretch.to);

        return next && g_str_has_suffix(skip->why, next);
}

static bool skip_was_shut_out(const Skip *skip) {
        WindowStretch stretch = skip_window(skip);

        return stretch.open && stretch.to <= skip->now;
}

/* The window that it was to begin in has, or the one after that. */
static bool skip_was_left_behind(const Skip *skip) {
        WindowStretch stretch = skip_window(skip);
        _cleanup_(schedule_freep) Schedule *schedule = NULL;

        if (!stretch.open && ledger_schedule(skip->before, &schedule) >= 0 && schedule)
                stretch = schedule_window(schedule, stretch.to);
        return stretch.to <= skip->now;
}

/* Of a job that takes locks. (That somebody had them is judged at the end.) */
static bool skip_waited_for_locks(const Skip *skip) {
        const Plan *plan = checker_plan(skip->write->checker);
        bool has_locks = skip->job->locks->len > 0;

        for (guint i = 0; i < plan->edits->len; i++) {
                const PlanJob *edit = plan->edits->pdata[i];

                has_locks |= g_str_equal(edit->name, skip->job->name) && edit->locks->len > 0;
        }
        return has_locks && skip_was_too_late(skip);
}

/* There is no room for one more reason. */
static bool skip_was_one_of_many(const Skip *skip) {
        return skip->before->open->len >= LEDGER_OPEN_MAX;
}

/* It had failed on so many other machines, or one was not back in time. */
static bool skip_was_stopped(const Skip *skip) {
        if (!strstr(skip->why, " is not back since "))
                return roll_may_have_stopped(skip->write, skip->job, skip->last);
        rejoin_note_stop(skip->write, skip->job, skip->last);
        return rejoin_may_have_stopped(skip->write, skip->job, skip->last);
}

static const struct {
        const char *why;
        bool (*was_so)(const Skip *skip);
} reasons[] = {
    {"overlap: the previous run was still under way", skip_was_in_the_way},
    {"overlap: the previous run, which was given up, goes on", skip_was_beside},
    {"overlap: an earlier tick is to be attempted again", skip_was_at_an_older_one},
    {"overlap: another tick waits already", skip_was_behind_another},
    {"overlap: the previous run was still under way at its start deadline", skip_waited_too_long},
    {"overlap: too many of its runs are under way or to be attempted again", skip_had_many_beside},
    {"overlap: its slots are taken by runs that are under way or to be attempted again",
     skip_had_no_slot},
    {"overlap: a newer tick took its place", skip_was_replaced},
    {"missed: the start deadline passed", skip_was_too_late},
    {"missed: no node could start it", skip_was_not_caught_up},
    {"missed: no node started it in time, and a newer tick came", skip_was_overtaken},
    {"missed: max-runs was reached on the nodes whose turn it was", skip_had_no_place},
    {"lock-wait: its locks were not free in time", skip_waited_for_locks},
    {"no node could run it", skip_was_too_late},
    {"outside its window; the next begins at ", skip_was_outside},
    {"its window closed before it could begin", skip_was_shut_out},
    {"missed: a window has closed since", skip_was_left_behind},
    {ROLL_STOPPED_WHY, skip_was_stopped},
    {LEDGER_WHY_SEVERAL, skip_was_one_of_many},
    {"its definition changed while it waited", NULL},
    {"its job left the job files while it waited", NULL},
    {"paused by somebody: the database moves", skip_was_paused},
    {"all jobs are paused by somebody: the database moves", skip_was_paused},
};

/* Return: whether that is the reason given, be it with particulars in brackets. */
static bool skip_gives(const Skip *skip, const char *why) {
        size_t length = strlen(why);

        return strncmp(skip->why, why, length) == 0 &&
               (skip->why[length] == '\0' || why[length - 1] == ' ' ||
                g_str_has_prefix(skip->why + length, " ("));
}

/* A tick that is not attempted again: it was due when that could have been. */
static void skip_take_attempt(Skip *skip) {
        const char *why = strstr(skip->why, " is not made: ");

        if (!g_str_has_prefix(skip->why, SKIP_ATTEMPT) || !why)
                return;
        skip->why = why + strlen(" is not made: ");
        skip->is_attempt = true;
        skip->due = ledger_due(skip->before, skip->last, skip->due);
}

/* What is paused is skipped as that, but for what was too late before, could not have its locks
 * meanwhile, or went with its job. */
static void skip_judge_pause(const Skip *skip) {
        ControlPause pause = {0};

        if (!skip_came_in_a_pause(skip, &pause))
                return;
        if (!strstr(skip->why, "paused by") && !g_str_has_prefix(skip->why, "lock-wait") &&
            !g_str_has_prefix(skip->why, "its job left") &&
            !(skip->is_attempt && strstr(skip->why, "window")) &&
            (usec_t)(skip->due + skip->job->deadline - 1) * USEC_PER_SEC > pause.said.since)
                checker_complain(skip->write->checker,
                                 "tick %" PRId64 " of %s is skipped by %s in a pause, and not for "
                                 "that: %s",
                                 skip->last, skip->job->name, skip->record->node, skip->why);
        control_pause_clear(&pause);
}

void skip_judge(const Write *write, const RunRecord *record) {
        Skip skip = {
            .write = write,
            .job = plan_find(checker_plan(write->checker), record->job),
            .before = write_ledger(write, record->job),
            .record = record,
            .why = record->why ? record->why : "no reason",
            .last = MAX(record->tick, record->stretch.to),
            .now = write->txn->time_ms / 1000 + checker_skew(write->checker, record->node),
        };
        size_t i = 0;

        if (!skip.job || !skip.before)
                return;
        if (skip.job->service.is)
                checker_complain(write->checker, "the service %s is skipped by %s: %s", record->job,
                                 record->node, skip.why);
        if (!tick_was_one(write, record, skip.last))
                checker_complain(write->checker,
                                 "%" PRId64 " is skipped of %s by %s, and never was a tick of it",
                                 skip.last, record->job, record->node);
        skip.due = skip_start(&skip, skip.last);
        skip_take_attempt(&skip);
        skip_judge_pause(&skip);
        while (i < G_N_ELEMENTS(reasons) && !skip_gives(&skip, reasons[i].why))
                i++;
        if (i == G_N_ELEMENTS(reasons) || (reasons[i].was_so && !reasons[i].was_so(&skip)))
                checker_complain(write->checker,
                                 "tick %" PRId64 " of %s is skipped by %s, and it was not so: %s",
                                 skip.last, record->job, record->node,
                                 record->why ? record->why : "no reason");
}

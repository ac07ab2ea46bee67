/* What the ledgers and the records say of the ticks, beside what happened. A run that ended is
 * settled with its own result; what nobody could know may be "unknown", and what was stopped from
 * outside is what it was stopped as. */
#include <inttypes.h>
#include <string.h>

#include "checker.h"
#include "ledger.h"
#include "loss-checker.h"
#include "paths.h"
#include "rename-checker.h"
#include "run-record.h"
#include "service-checker.h"
#include "skip-record.h"
#include "spread.h"
#include "write-checker.h"

#define ROOT "/jobkeeper"
/* So long after its deadline a tick is decided, seconds. */
#define DECIDED_AFTER 60
/* What befell a node before or after a claim explains that nothing came of it. */
#define ASKED_WITHIN (20 * USEC_PER_SEC)
#define STARTED_WITHIN (30 * USEC_PER_SEC)
/* So long into the calm nothing of what was before is felt, seconds. */
#define SETTLED_AFTER 60
/* In the calm what has ended is settled within this. */
#define SETTLED_WITHIN (2 * USEC_PER_SEC)
/* So much a clock may be wrong, seconds, and so long a claim may take. */
#define WRONG_AT_MOST 60
#define CLAIMED_WITHIN 60
/* From one window of a job to the next. */
#define WINDOW_EACH 60
/* In the calm a run begins so soon after the start of its tick, seconds. */
#define ON_TIME 5

typedef struct TickState {
        unsigned runs, skips; /* records that decide it */
        unsigned attempts;    /* the last of those runs */
} TickState;

typedef struct JobView {
        Checker *checker;
        const PlanJob *job;
        GHashTable *ticks;   /* tick → TickState */
        GHashTable *records; /* run → RunRecord */
        GHashTable *written; /* run → when it was, true time, usec_t */
        usec_t recent;       /* what was claimed after that may be under way */
        int64_t calm_from;   /* since then nothing is wrong */
        int64_t from;        /* since then what all files say is in force */
        int64_t in_line_for; /* the oldest tick that it stands in a queue for without a limit of
                                time; INT64_MAX: none */
} JobView;

static TickState *view_tick(const JobView *view, int64_t tick) {
        TickState *state = g_hash_table_lookup(view->ticks, &tick);

        if (!state) {
                state = g_new0(TickState, 1);
                g_hash_table_insert(view->ticks, g_memdup2(&tick, sizeof(tick)), state);
        }
        return state;
}

/* Return: whether, of locks, nothing but the job itself keeps its runs from their locks: no other
 * machine where they take turns. */
static bool view_is_alone(const JobView *view) {
        const GPtrArray *locks = view->job->locks;

        if (view->job->roll.node && plan_roll_turns(view->job) > 0)
                return false;
        return locks->len == 0 ||
               (locks->len == 1 &&
                g_str_has_prefix(((const PlanLock *)locks->pdata[0])->resource, "job:"));
}

/* Return: the second in which the tick starts, by the plan. */
static int64_t view_start(const JobView *view, int64_t tick) {
        return tick + spread_of(rename_name(view->checker, view->job), tick, view->job->delay);
}

/* Return: whether a run of the job lived in the second before, or began so much later at most. */
static bool view_has_run_around(const JobView *view, int64_t second, usec_t later) {
        const GPtrArray *runs = history_runs(checker_history(view->checker));
        usec_t time = (usec_t)(second - MACHINE_EPOCH) * USEC_PER_SEC;

        for (guint i = 0; i < runs->len; i++) {
                const HistoryRun *run = runs->pdata[i];

                if (strcmp(run->job, view->job->name) == 0 && run->begun <= time + later &&
                    (run->empty == 0 || run->empty >= usec_sub(time, USEC_PER_SEC)))
                        return true;
        }
        return false;
}

/* Return: whether the job was held in that second by a run that could not be started, and that its
 * node settled as that soon after. */
static bool view_has_vain_run_at(const JobView *view, int64_t second) {
        usec_t time = (usec_t)(second - MACHINE_EPOCH) * USEC_PER_SEC;
        GHashTableIter iterator;
        gpointer value;

        if (view->job->forgets)
                return true; /* its record may be gone */
        g_hash_table_iter_init(&iterator, view->records);
        while (g_hash_table_iter_next(&iterator, NULL, &value)) {
                const RunRecord *record = value;
                usec_t made = usec_sub(record->claimed, MACHINE_EPOCH * USEC_PER_SEC),
                       written = *(const usec_t *)g_hash_table_lookup(view->written, record->run);

                if (record->state == RUN_FAILED && record->why &&
                    g_str_has_prefix(record->why, "could not be started") &&
                    made <= time + USEC_PER_SEC && written + USEC_PER_SEC >= time &&
                    written <= made + ON_TIME * USEC_PER_SEC)
                        return true;
        }
        return false;
}

/* Return: whether a run of the job was in the way around the start of the tick. */
static bool view_has_run_at(const JobView *view, int64_t tick) {
        return view_has_run_around(view, view_start(view, tick), ON_TIME * USEC_PER_SEC) ||
               view_has_vain_run_at(view, view_start(view, tick));
}

/* Return: whether it stood in line until its start deadline, or for so long that nobody could start
 * it any more. */
static bool view_stood_in_line(const JobView *view, int64_t tick) {
        bool waits = view->job->queues || view->job->replaces ||
                     (view->job->catches_all && view->job->beside > 1);

        return waits &&
               view_has_run_around(view, view_start(view, tick) + (int64_t)view->job->deadline, 0);
}

/* Return: whether older ticks were to be retried, or it was in line behind such a one; that this
 * was so was judged before. */
static bool view_was_between_attempts(const RunRecord *record) {
        return record->why && (strstr(record->why, "to be attempted again") ||
                               g_str_has_prefix(record->why, "overlap: another tick waits") ||
                               strstr(record->why, "under way at its start deadline"));
}

/* Return: whether nothing was in its way but its window; that this was so was judged before. */
static bool view_was_shut_out(const RunRecord *record) {
        return record->why && strstr(record->why, "window");
}

/* Return: whether the others had failed with it; that it was so was judged before. */
static bool view_was_stopped(const RunRecord *record) {
        return record->why && g_str_has_prefix(record->why, ROLL_STOPPED_WHY);
}

/* Return: whether a run by the name of before was in its way, whatever is said of that otherwise,
 * until it was too late. */
static bool view_waited_for_its_name(const JobView *view, const RunRecord *record, int64_t tick) {
        const GPtrArray *runs = history_runs(checker_history(view->checker));

        for (guint i = 0; i < runs->len && !g_str_equal(record->job, view->job->name); i++) {
                const HistoryRun *run = runs->pdata[i];

                if (g_str_equal(run->job, view->job->name) &&
                    MACHINE_EPOCH + (int64_t)(run->begun / USEC_PER_SEC) <= tick &&
                    MACHINE_EPOCH + (int64_t)(run->empty / USEC_PER_SEC) >=
                        tick + (int64_t)view->job->deadline - ON_TIME)
                        return true;
        }
        return false;
}

/* A range may have begun with ticks of another schedule, which somebody has edited since. */
static void view_take_skips(const JobView *view, const RunRecord *record) {
        int64_t to = record->stretch.to ? record->stretch.to : record->tick,
                first = plan_tick_after(view->job, record->tick - 1);

        for (int64_t tick = first; tick <= to; tick = plan_tick_after(view->job, tick))
                view_tick(view, tick)->skips++;
        if (checker_plan(view->checker)->max_runs > 0 || !view_is_alone(view))
                return;
        if (to >= view->calm_from && record->why && g_str_has_prefix(record->why, "missed") &&
            !view_stood_in_line(view, to) && !view_waited_for_its_name(view, record, to))
                checker_complain(view->checker,
                                 "tick %" PRId64 " of %s was skipped though nothing was wrong: %s",
                                 to, view->job->name, record->why);
        for (int64_t tick = first; tick <= to; tick = plan_tick_after(view->job, tick))
                if (tick >= view->calm_from + SETTLED_AFTER && !view_has_run_at(view, tick) &&
                    !view_was_between_attempts(record) && !view_was_shut_out(record) &&
                    !view_was_stopped(record))
                        checker_complain(view->checker,
                                         "tick %" PRId64
                                         " of %s was skipped, and nothing was in its way: %s",
                                         tick, view->job->name, record->why ? record->why : "");
}

/* Return: whether that run lives, or (NULL) any of the job, or did just now, and is being settled.
 */
static bool view_has_alive(const JobView *view, const char *name) {
        const GPtrArray *runs = history_runs(checker_history(view->checker));
        usec_t lately = usec_sub(checker_now(view->checker), SETTLED_WITHIN);

        for (guint i = 0; i < runs->len; i++) {
                const HistoryRun *run = runs->pdata[i];

                if (strcmp(run->job, view->job->name) == 0 &&
                    (!name || strcmp(run->run, name) == 0) &&
                    (run->empty == 0 || run->empty > lately))
                        return true;
        }
        return false;
}

/* Return: whether a run that is not settled should be: whatever lived of it is gone for long. */
static bool view_is_through(const JobView *view, const RunRecord *record) {
        return record->claimed < view->recent && !view_has_alive(view, record->run);
}

/* Return: newly allocated, true time. The clocks of the servers are never wrong. */
static usec_t *view_time(int64_t server_ms) {
        usec_t time = (usec_t)(server_ms - MACHINE_EPOCH * 1000) * USEC_PER_MSEC;

        return g_memdup2(&time, sizeof(time));
}

/* Return: the second in which the record was written, of a clock that is right. */
static int64_t view_was_written(const JobView *view, const RunRecord *record) {
        const usec_t *written = g_hash_table_lookup(view->written, record->run);

        return MACHINE_EPOCH + (int64_t)(*written / USEC_PER_SEC);
}

static const HistoryRun *view_find_run(const JobView *view, const char *name) {
        const GPtrArray *runs = history_runs(checker_history(view->checker));

        for (guint i = 0; i < runs->len; i++) {
                const HistoryRun *run = runs->pdata[i];

                if (strcmp(run->job, view->job->name) == 0 && strcmp(run->run, name) == 0)
                        return run;
        }
        return NULL;
}

/* A run that was claimed is started, unless something befalls its node meanwhile, or the daemon
 * says why it did not (its servers may have answered too late). */
static void view_judge_start(const JobView *view, const TreeNode *node, const RunRecord *record) {
        g_autofree usec_t *time = view_time(node->ctime_ms);
        const History *history = checker_history(view->checker);
        usec_t made = *time, until = made + STARTED_WITHIN;

        if (record->state == RUN_SKIPPED || record->state == RUN_FAILED || reboot_is_said(record) ||
            record->state == RUN_INTERRUPTED || record->state == RUN_STOPPED ||
            view_find_run(view, record->run))
                return;
        /* where PID 1 does not answer it is still to be started for so long */
        if (history_befell(history, record->node, HISTORY_HANG, made, until))
                until += USEC_PER_MINUTE;
        if (record->state == RUN_SUCCEEDED || record->state == RUN_TIMED_OUT ||
            !history_befell(history, record->node, HISTORY_ANY, usec_sub(made, ASKED_WITHIN),
                            until))
                checker_complain(view->checker,
                                 "run %s of %s on %s was never started, and is settled as %s (%s)",
                                 record->run, view->job->name, record->node,
                                 run_state_to_string(record->state),
                                 record->why ? record->why : "");
}

/* Return: whether it says of a tick that it is not attempted again. */
static bool view_is_of_attempts(const RunRecord *record) {
        return record->why && g_str_has_prefix(record->why, SKIP_ATTEMPT);
}

static void view_take_attempt(const JobView *view, const RunRecord *record) {
        TickState *state = view_tick(view, record->tick);

        state->runs++;
        state->attempts = MAX(state->attempts, record->attempt);
}

/* What has come since by what is in force, and not a moment before by a clock that was wrong. */
static void view_judge_is_tick(const JobView *view, const RunRecord *record) {
        int64_t last = MAX(record->tick, record->stretch.to);

        if (!record->who && !view->job->service.is && last > view->from + WRONG_AT_MOST &&
            !plan_is_tick(view->job, last))
                checker_complain(view->checker,
                                 "%" PRId64 " is no tick of %s, and is recorded as %s", last,
                                 view->job->name, run_state_to_string(record->state));
}

static gboolean view_take_record(gpointer name, gpointer data, gpointer userdata) {
        const TreeNode *node = data;
        const JobView *view = userdata;
        RunRecord *record = NULL;

        if (g_hash_table_contains(view->records, name))
                return FALSE; /* it went on under the other name */
        if (!node->data || run_record_decode(node->data, strlen(node->data), &record) < 0) {
                checker_complain(view->checker, "%s is no record: %s", node->path,
                                 node->data ? node->data : "no data");
                return FALSE;
        }
        if (!run_state_is_final(record->state) && view_is_through(view, record))
                checker_complain(view->checker, "run %s of %s was never settled", record->run,
                                 view->job->name);
        if (run_state_is_final(record->state))
                view_judge_start(view, node, record);
        view_judge_is_tick(view, record);
        if (record->state != RUN_SKIPPED && record->tick && record->attempt > 0)
                view_take_attempt(view, record);
        g_hash_table_insert(view->records, g_strdup(node->name), record);
        g_hash_table_insert(view->written, record->run, view_time(node->mtime_ms));
        return FALSE;
}

/* Of all records: what was in the way of a tick is among them. */
static void view_judge_skips(const JobView *view) {
        GHashTableIter iterator;
        gpointer value;

        g_hash_table_iter_init(&iterator, view->records);
        while (g_hash_table_iter_next(&iterator, NULL, &value)) {
                const RunRecord *record = value;

                if (record->state == RUN_SKIPPED && !view_is_of_attempts(record))
                        view_take_skips(view, record);
        }
}

/* ---- every tick ---- */

static void view_judge_tick(const JobView *view, int64_t tick) {
        const TickState *state = view_tick(view, tick);

        if (state->runs + state->skips == 0 && !rename_waits(view->checker, view->job, tick))
                checker_complain(view->checker, "tick %" PRId64 " of %s has disappeared", tick,
                                 view->job->name);
        else if (state->skips > 1 || (state->skips > 0 && state->runs > 0) ||
                 state->runs != state->attempts)
                checker_complain(view->checker,
                                 "tick %" PRId64
                                 " of %s was decided as %u runs, up to attempt %u, and %u skips",
                                 tick, view->job->name, state->runs, state->attempts, state->skips);
}

/* Return: whether a tick is to be retried, and it is not too late for that. */
static bool view_is_between_attempts(const JobView *view, const Ledger *ledger, int64_t until) {
        const LedgerEntry *entry = ledger_first_retry(ledger);

        return entry && entry->not_before >= (usec_t)until * USEC_PER_SEC;
}

/* Return: whether nobody has said yet what became of the tick, since an attempt of one before it
 * was to begin by its deadline, and may wait for its locks for as long again. */
static bool view_waits_behind_attempt(const JobView *view, const Ledger *ledger, int64_t tick) {
        const LedgerEntry *entry = ledger_first_retry(ledger);
        const TickState *state = view_tick(view, tick);

        return entry && state->runs + state->skips == 0 &&
               (usec_t)(tick + view->job->deadline) * USEC_PER_SEC >= entry->not_before;
}

/* Return: whether nobody has said yet what became of the tick, since the machine has its turn for
 * it, or for one before it, when the others have had theirs, and whoever else has those locks. */
static bool view_waits_in_line(const JobView *view, int64_t tick) {
        const TickState *state = view_tick(view, tick);

        return tick >= view->in_line_for && state->runs + state->skips == 0;
}

static void view_judge_ticks(const JobView *view, const Ledger *ledger, int64_t until) {
        const PlanJob *job = view->job;

        for (int64_t tick = plan_tick_after(job, ledger->from); tick < until;
             tick = plan_tick_after(job, tick))
                if (!view_waits_behind_attempt(view, ledger, tick) &&
                    !view_waits_in_line(view, tick))
                        view_judge_tick(view, tick);
        if (view->in_line_for == INT64_MAX && !view_has_alive(view, NULL) &&
            !view_is_between_attempts(view, ledger, until) &&
            ledger_floor(ledger) < plan_tick_before(job, until))
                checker_complain(view->checker,
                                 "the ledger of %s stands at %" PRId64 ", and it is %" PRId64,
                                 view->job->name, ledger_floor(ledger), until);
}

/* ---- every run ---- */

static bool run_befell(const JobView *view, const HistoryRun *run, unsigned matters, usec_t from,
                       usec_t to) {
        return history_befell(checker_history(view->checker), run->node, matters,
                              usec_sub(from, USEC_PER_SEC), to + USEC_PER_SEC);
}

/* Return: whether its tick was attempted again: then what is known of it is not written any more.
 */
static bool view_is_followed(const JobView *view, const HistoryRun *run) {
        g_autofree char *next = g_strdup_printf("%" PRId64 "-%u", run->tick, run->attempt + 1);

        return run->tick && g_hash_table_contains(view->records, next);
}

/* Return: whether whoever settled the run, at that time, may have missed how it ended. What is
 * there to be read its node reads, also after a restart of its daemon. What went with its fence
 * before that is told by when it was claimed, by a clock that somebody may have set. A session that
 * is lost explains nothing of what continues; where others gave that up its node says so later, as
 * long as it can. */
static bool view_may_not_know(const JobView *view, const HistoryRun *run, usec_t written) {
        const Claimed *claimed = write_book_find(checker_book(view->checker), run->job, run->run);
        unsigned matters =
            HISTORY_CRASH | HISTORY_PID1 | HISTORY_DISK | (run->continues ? 0 : HISTORY_SESSION);
        usec_t until =
            claimed && claimed->given_up ? checker_now(view->checker) : MAX(written, run->empty);

        return (claimed && claimed->by_others && view_is_followed(view, run)) ||
               run_befell(view, run, matters, run->begun, until) ||
               (run->ordered && run_befell(view, run, HISTORY_DAEMON, run->ordered, written)) ||
               (run->by_fence && run_befell(view, run, HISTORY_CLOCK, run->begun, written));
}

/* Return: whether somebody wanted it to end while its main process lived, as far as its node can
 * know: the daemon had asked PID 1, or somebody else did, be it in the same moment. When a machine
 * goes on, all that was due happens in one: its fence may leave off as well. */
static bool view_was_asked(const JobView *view, const HistoryRun *run) {
        const History *history = checker_history(view->checker);

        return !run->by_itself || run->asked || run->ordered == run->over ||
               history_befell(history, run->node, HISTORY_STANDSTILL, run->over, run->over);
}

/* Return: whether it had ended well, and its daemon, which wanted it to end just then, could not
 * see that before PID 1 forgot it: it was replaced before it had read it, or asked anew. Or the
 * fence had it end where the daemon did not, which had not found it yet, or hung. */
static bool view_was_forgotten(const JobView *view, const HistoryRun *run, usec_t written) {
        return run->result.outcome == UNIT_OUTCOME_SUCCESS && run->ordered > 0 &&
               (run_befell(view, run, HISTORY_DAEMON | HISTORY_BUS, run->over, written) ||
                (run->by_fence &&
                 run_befell(view, run, HISTORY_DAEMON | HISTORY_BUS | HISTORY_STANDSTILL,
                            run->begun, written)));
}

/* Return: whether it was killed at the limit of its stop, and PID 1 does not tell any more that it
 * was the fence that it was stopped with: another one has left off since, and nobody had read it.
 * Nor does it where the daemon finds a run at its end, or only now hears of it, that is stopped
 * with the machine. */
static bool view_was_overdue(const JobView *view, const HistoryRun *run, usec_t written) {
        if (run->by_shutdown && run->result.outcome == UNIT_OUTCOME_SIGNAL)
                return true;
        return run->by_fence &&
               run_befell(view, run, HISTORY_DAEMON | HISTORY_STANDSTILL, run->ordered, written);
}

/* Return: whether it had failed, and PID 1 was still ending what it had left when the machine was
 * shut down: that cancels the job that would have said so, as it does where a run fails because it
 * is told to end. Its status is in the record. */
static bool view_was_swept(const HistoryRun *run) {
        return run->by_shutdown && (run->empty == 0 || run->empty > run->over) &&
               (run->result.outcome == UNIT_OUTCOME_EXIT_CODE ||
                run->result.outcome == UNIT_OUTCOME_TIMEOUT ||
                run->result.outcome == UNIT_OUTCOME_SIGNAL);
}

/* Return: whether it says that a person had it ended, and nobody wanted that, or it is said not to
 * have been. */
static bool view_invents_a_stop(const JobView *view, const RunRecord *record) {
        return record->why && strstr(record->why, "stopped by somebody") &&
               (record->state != RUN_STOPPED ||
                !history_is_unwanted(checker_history(view->checker), record->job, record->run));
}

/* Return: whether the service has been another one since: a run of that has a record. */
static bool view_is_another_service(const JobView *view, const HistoryRun *run) {
        GHashTableIter iterator;
        gpointer record;

        g_hash_table_iter_init(&iterator, view->records);
        while (g_hash_table_iter_next(&iterator, NULL, &record))
                if (((const RunRecord *)record)->tick > run->tick)
                        return true;
        return false;
}

/* Return: whether it says that a tick has ended it, and none had come. */
static bool view_invents_a_tick(const JobView *view, const HistoryRun *run,
                                const RunRecord *record) {
        int64_t begun = MACHINE_EPOCH + (int64_t)(run->begun / USEC_PER_SEC),
                ended = MACHINE_EPOCH + (int64_t)(run->empty / USEC_PER_SEC),
                delay = view->job->delay; /* a tick of before may start so much later */

        if (view->job->service.is)
                return record->why && strstr(record->why, PLAN_REPLACED) &&
                       !view_is_another_service(view, run);
        return record->why && strstr(record->why, PLAN_REPLACED) &&
               !plan_is_replaced(checker_plan(view->checker), record->job,
                                 run->tick ? run->tick : begun - CLAIMED_WITHIN - delay,
                                 ended + WRONG_AT_MOST);
}

/* Return: whether it went on when nothing was wrong though a tick had come to take its place: the
 * next one may be outside of the window, which opens each minute. */
static bool view_outlived_a_tick(const JobView *view, const HistoryRun *run) {
        int64_t begun = MACHINE_EPOCH + (int64_t)(run->begun / USEC_PER_SEC),
                closed = view->job->window > 0 ? WINDOW_EACH : 0,
                over = MACHINE_EPOCH + (int64_t)(run->over / USEC_PER_SEC);

        return view->job->replaces && begun >= view->calm_from + SETTLED_AFTER &&
               over > begun + plan_longest_gap(view->job) + (int64_t)view->job->delay +
                          (int64_t)view->job->stop_timeout + closed + ON_TIME;
}

/* Return: whether a run that ended so may be settled so. */
static bool view_is_true(const JobView *view, const HistoryRun *run, const RunRecord *record) {
        usec_t written = *(const usec_t *)g_hash_table_lookup(view->written, record->run);

        if (view_invents_a_stop(view, record) || view_invents_a_tick(view, run, record))
                return false;
        if (reboot_is_said(record) && record->state != RUN_INTERRUPTED) /* as was judged then */
                return reboot_was_one(view->checker, run, written);
        switch (record->state) {
        case RUN_SUCCEEDED:
                return run->result.outcome == UNIT_OUTCOME_SUCCESS && run->by_itself;
        case RUN_FAILED:
                return run->result.outcome == UNIT_OUTCOME_EXIT_CODE ||
                       run->result.outcome == UNIT_OUTCOME_SIGNAL ||
                       run->result.outcome == UNIT_OUTCOME_OTHER;
        case RUN_TIMED_OUT:
                return run->result.outcome == UNIT_OUTCOME_TIMEOUT ||
                       view_was_overdue(view, run, written);
        case RUN_STOPPED:
        case RUN_INTERRUPTED:
                return view_was_asked(view, run) || view_was_forgotten(view, run, written) ||
                       view_was_swept(run) ||
                       run_befell(view, run, HISTORY_CRASH | HISTORY_PID1, run->over, written);
        case RUN_UNKNOWN:
                return run->lost || view_may_not_know(view, run, written);
        case RUN_CLAIMED: /* it was judged before */
                return true;
        case RUN_RUNNING:
        case RUN_SKIPPED:
        case RUN_STATE_COUNT:
                break;
        }
        return false;
}

static void view_judge_run(const JobView *view, const HistoryRun *run) {
        const RunRecord *record = g_hash_table_lookup(view->records, run->run);

        if (!record)
                checker_complain(view->checker, "run %s of %s on %s has no record", run->run,
                                 run->job, run->node);
        else if (g_strcmp0(record->node, run->node) != 0)
                checker_complain(view->checker, "run %s of %s ran on %s, and its record says %s",
                                 run->run, run->job, run->node, record->node);
        else if (run->empty && !view_is_true(view, run, record))
                checker_complain(view->checker, "run %s of %s on %s: %s %d%s, and is settled as %s",
                                 run->run, run->job, run->node,
                                 unit_outcome_to_string(run->result.outcome),
                                 run->result.exit_status, run->by_itself ? "" : ", stopped",
                                 run_state_to_string(record->state));
        else if (run->empty && view_outlived_a_tick(view, run))
                checker_complain(view->checker,
                                 "run %s of %s on %s went on for %" G_GUINT64_FORMAT
                                 " s, and no tick took its place",
                                 run->run, run->job, run->node,
                                 (run->over - run->begun) / USEC_PER_SEC);
        else if (run->empty)
                time_judge(view->checker, run, record,
                           *(const usec_t *)g_hash_table_lookup(view->written, run->run));
}

/* Return: whether a run of the job was under way in that second that follows another one, or that
 * somebody asked for: such ones go first, also between two attempts of a tick. */
static bool view_has_asked_run_at(const JobView *view, int64_t second) {
        const GPtrArray *runs = history_runs(checker_history(view->checker));
        usec_t time = (usec_t)(second - MACHINE_EPOCH) * USEC_PER_SEC;

        for (guint i = 0; i < runs->len; i++) {
                const HistoryRun *run = runs->pdata[i];

                if (!run->tick && strcmp(run->job, view->job->name) == 0 &&
                    run->begun <= time + USEC_PER_SEC &&
                    (run->empty == 0 || run->empty >= usec_sub(time, USEC_PER_SEC)))
                        return true;
        }
        return false;
}

/* Return: whether it was given up for its window, or since another run was in its way until it was
 * too late; that it was so was judged before. */
static bool view_gave_attempt_up(const JobView *view, int64_t tick) {
        g_autofree char *run = g_strdup_printf("%" PRId64 "-0", tick);
        const RunRecord *record = g_hash_table_lookup(view->records, run);

        return record && (view_was_shut_out(record) ||
                          view_has_asked_run_at(view, view_was_written(view, record)));
}

/* What was to be retried when nothing was wrong was retried, or will be. */
static void view_judge_retry(const JobView *view, const RunRecord *record, const Ledger *ledger) {
        g_autofree char *next =
            g_strdup_printf("%" PRId64 "-%u", record->tick, record->attempt + 1);
        const LedgerEntry *entry = ledger_find_tick(ledger, record->tick);

        if (checker_plan(view->checker)->max_runs > 0 || !view_is_alone(view) ||
            !retry_follows(view->job, record) || view_gave_attempt_up(view, record->tick) ||
            history_is_unwanted(checker_history(view->checker), record->job, record->run) ||
            plan_is_replaced(checker_plan(view->checker), record->job, record->tick,
                             view_was_written(view, record) + PLAN_MAX_DELAY) ||
            view_was_written(view, record) < view->calm_from + SETTLED_AFTER)
                return;
        if (!g_hash_table_contains(view->records, next) && !(entry && entry->not_before > 0))
                checker_complain(view->checker,
                                 "run %s of %s was not retried though nothing was wrong",
                                 record->run, view->job->name);
}

static void view_judge_retries(const JobView *view, const Ledger *ledger) {
        GHashTableIter iterator;
        gpointer record;

        g_hash_table_iter_init(&iterator, view->records);
        while (g_hash_table_iter_next(&iterator, NULL, &record))
                view_judge_retry(view, record, ledger);
}

static void view_judge_runs(const JobView *view) {
        const GPtrArray *runs = history_runs(checker_history(view->checker));

        for (guint i = 0; i < runs->len; i++) {
                const HistoryRun *run = runs->pdata[i];

                if (strcmp(run->job, view->job->name) == 0)
                        view_judge_run(view, run);
        }
}

/* ---- one that has just ended ---- */

void checker_run_ends(Checker *checker, const HistoryRun *run, const DataTree *tree) {
        const TreeNode *node = checker_find_record(checker, tree, run->job, run->run);
        _cleanup_(run_record_freep) RunRecord *record = NULL;

        loss_judge(checker, run);
        ready_judge_end(checker, run);
        if (run->excused || !node || !node->data ||
            run_record_decode(node->data, strlen(node->data), &record) < 0 ||
            !run_state_is_final(record->state))
                return;
        checker_complain(checker, "run %s of %s on %s was settled as %s while it was alive",
                         run->run, run->job, run->node, run_state_to_string(record->state));
}

/* ---- the whole ---- */

static void record_free(void *record) {
        run_record_free(record);
}

/* What all files say by now. */
static void view_judge_delay(const JobView *view, const Ledger *ledger) {
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        bool known = ledger_schedule(ledger, &schedule) >= 0;

        if (view->job->every == PLAN_NEVER) {
                if (!known || schedule)
                        checker_complain(
                            view->checker, "job %s has no schedule, and its ledger says %s",
                            view->job->name, ledger->schedule ? ledger->schedule : "nothing");
        } else if (!known || !schedule || schedule_random_delay(schedule) != view->job->delay)
                checker_complain(view->checker, "job %s is delayed by %us, and its ledger says %s",
                                 view->job->name, view->job->delay,
                                 ledger->schedule ? ledger->schedule : "nothing");
}

static gboolean view_look_at_contender(gpointer name, gpointer data, gpointer userdata) {
        const TreeNode *node = data;
        JobView *view = userdata;
        json_t *said = node->data ? json_loads(node->data, 0, NULL) : NULL;
        const char *job = json_string_value(json_object_get(said, "job"));
        int64_t tick = json_integer_value(json_object_get(said, "tick"));

        if (tick && g_strcmp0(job, view->job->name) == 0)
                view->in_line_for = MIN(view->in_line_for, tick);
        json_decref(said);
        return FALSE;
}

static gboolean view_look_in_queue(gpointer name, gpointer data, gpointer userdata) {
        const TreeNode *node = data;

        if (node->children)
                g_tree_foreach(node->children, view_look_at_contender, userdata);
        return FALSE;
}

static void view_look_in_queues(JobView *view, const DataTree *tree) {
        g_autofree char *path = path_locks(ROOT);
        const TreeNode *locks = data_tree_find(tree, path);

        view->in_line_for = INT64_MAX;
        if (view->job->roll.node && locks && locks->children)
                g_tree_foreach(locks->children, view_look_in_queue, view);
}

/* Of a service nothing comes due, and each run of it is an attempt that its record tells of. */
static void view_judge_service(const JobView *view, const Ledger *ledger) {
        GHashTableIter iterator;
        gpointer tick;

        if (g_strcmp0(ledger->schedule, LEDGER_SERVICE) != 0)
                checker_complain(view->checker, "job %s is a service, and its ledger says %s",
                                 view->job->name, ledger->schedule ? ledger->schedule : "nothing");
        g_hash_table_iter_init(&iterator, view->ticks);
        while (g_hash_table_iter_next(&iterator, &tick, NULL))
                view_judge_tick(view, *(const int64_t *)tick);
        view_judge_runs(view);
}

static void view_judge_all(const JobView *view, const Ledger *ledger, int64_t until) {
        view_judge_ticks(view, ledger, until);
        view_judge_runs(view);
        view_judge_retries(view, ledger);
}

static void view_take_records(JobView *view, const DataTree *tree, const char *name) {
        g_autofree char *path = name ? path_runs(ROOT, name) : NULL;
        const TreeNode *runs = name ? data_tree_find(tree, path) : NULL;

        if (runs && runs->children)
                g_tree_foreach(runs->children, view_take_record, view);
}

static void view_judge(JobView *view, const DataTree *tree, const Ledger *ledger, int64_t until) {
        if (!view->job->service.is)
                view_judge_delay(view, ledger);
        beginning_judge(view->checker, view->job, ledger);
        view->from = ledger->from;
        view_look_in_queues(view, tree);
        /* Until a definition that nobody had gave way, nobody could decide anything. */
        if (ledger->instead_of)
                view->calm_from = MAX(view->calm_from, ledger->from);
        view->ticks = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
        view->records = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, record_free);
        view->written = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
        view_take_records(view, tree, plan_next_name(checker_plan(view->checker), view->job));
        view_take_records(view, tree, view->job->name);
        view_judge_skips(view);
        if (view->job->service.is)
                view_judge_service(view, ledger);
        else if (!view->job->forgets) /* of others every record is there */
                view_judge_all(view, ledger, until);
        g_hash_table_unref(view->ticks);
        g_hash_table_unref(view->written);
        g_hash_table_unref(view->records);
}

static void checker_judge_ledger(Checker *checker, const DataTree *tree, const PlanJob *job,
                                 int64_t calm_from, int64_t until) {
        g_autofree char *path = path_job(ROOT, rename_name(checker, job));
        const TreeNode *node = data_tree_find(tree, path);
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        JobView view = {.checker = checker,
                        .job = job,
                        .recent = (usec_t)until * USEC_PER_SEC,
                        .calm_from = calm_from};

        rename_judge_end(checker, job);
        if (!node || !node->data || ledger_decode(node->data, strlen(node->data), &ledger) < 0)
                checker_complain(checker, "job %s has no ledger", job->name);
        else
                view_judge(&view, tree, ledger, until);
}

void checker_judge_ledgers(Checker *checker, const DataTree *tree, int64_t calm_from, int64_t now) {
        const GPtrArray *jobs = checker_plan(checker)->kept;

        for (guint i = 0; i < jobs->len; i++) {
                const PlanJob *job = jobs->pdata[i];

                checker_judge_ledger(checker, tree, job, calm_from,
                                     now - job->delay - job->deadline - DECIDED_AFTER);
        }
}

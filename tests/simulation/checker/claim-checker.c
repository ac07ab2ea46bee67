/* A claim: whoever makes it holds every lock that the run needs at that very moment, and its tick
 * is nobody's yet; and it is no node that is drained, and no job that is paused. */
#include <inttypes.h>
#include <string.h>

#include "contender.h"
#include "control-pause.h"
#include "control.h"
#include "follow-checker.h"
#include "name.h"
#include "paths.h"
#include "service-checker.h"
#include "write-checker.h"

#define ROOT "/jobkeeper"

/* Those that stand before a contender in its queue, and keep it waiting. */
typedef struct Queue {
        Contender own;
        unsigned before;
} Queue;

static gboolean queue_count(gpointer name, gpointer data, gpointer userdata) {
        const TreeNode *node = data;
        Queue *queue = userdata;
        Contender other;

        contender_parse(node->name, &other);
        if (other.kind != CONTENDER_FOREIGN && other.sequence < queue->own.sequence &&
            contender_is_in_the_way(queue->own.kind, &other))
                queue->before++;
        return FALSE;
}

/* Return: newly allocated, what that lock of the job, or of an edit of it, is called by the name by
 * which the run is claimed. */
static char *claim_resource(const RunRecord *record, const PlanJob *job, const char *resource) {
        g_autofree char *own = g_strconcat(NAME_OF_JOB_LOCK_PREFIX, job->name, NULL);

        return g_str_equal(resource, own) ? g_strconcat(NAME_OF_JOB_LOCK_PREFIX, record->job, NULL)
                                          : g_strdup(resource);
}

/* Return: the path of the run's contender for that resource; NULL where it names none. */
static const char *claim_find_contender(const RunRecord *record, const PlanJob *job,
                                        const char *resource) {
        g_autofree char *locks = path_locks(ROOT), *name = claim_resource(record, job, resource),
                        *head = g_strdup_printf("%s/%s/", locks, name);

        for (char **path = record->locks; path && *path; path++)
                if (g_str_has_prefix(*path, head))
                        return *path;
        return NULL;
}

static bool claim_has_lock(const RunRecord *record, const PlanJob *job, const PlanLock *lock) {
        static const ContenderKind kinds[] = {
            [PLAN_SHARED] = CONTENDER_READER, [PLAN_EXCLUSIVE] = CONTENDER_WRITER};
        const char *path = claim_find_contender(record, job, lock->resource);
        Contender contender;

        if (!path)
                return false;
        contender_parse(strrchr(path, '/') + 1, &contender);
        return contender.kind == (lock->slots > 1 ? CONTENDER_SLOT : kinds[lock->mode]);
}

/* `name`: what the job of the record was called first. */
static bool claim_is_by(const RunRecord *record, const char *name, const PlanJob *job) {
        if (strcmp(job->name, name) != 0 ||
            job->locks->len != (record->locks ? g_strv_length(record->locks) : 0))
                return false;
        for (guint i = 0; i < job->locks->len; i++)
                if (!claim_has_lock(record, job, job->locks->pdata[i]))
                        return false;
        return true;
}

/* Return: the definition, of all that the job ever had, whose locks these are; NULL: none is. */
static const PlanJob *claim_find_definition(const Plan *plan, const PlanJob *job,
                                            const RunRecord *record) {
        if (claim_is_by(record, job->name, job))
                return job;
        for (guint i = 0; i < plan->edits->len; i++)
                if (claim_is_by(record, job->name, plan->edits->pdata[i]))
                        return plan->edits->pdata[i];
        return NULL;
}

static void claim_judge_lock(const Write *write, const RunRecord *record, const PlanJob *job,
                             const PlanLock *lock) {
        const char *path = claim_find_contender(record, job, lock->resource);
        const TreeNode *node = path ? data_tree_find(write->tree, path) : NULL;
        Queue queue = {.before = 0};

        if (!node || node->owner != write->txn->session) {
                checker_complain(write->checker, "run %s of %s is claimed by %s, which %s %s",
                                 record->run, record->job, record->node,
                                 node ? "is not who stands in the queue of"
                                      : "stands in no queue of",
                                 lock->resource);
                return;
        }
        contender_parse(node->name, &queue.own);
        g_tree_foreach(node->parent->children, queue_count, &queue);
        if (queue.before >= (queue.own.kind == CONTENDER_SLOT ? lock->slots : 1))
                checker_complain(write->checker,
                                 "run %s of %s is claimed by %s, and %u stand before it in the "
                                 "queue of %s",
                                 record->run, record->job, record->node, queue.before,
                                 lock->resource);
}

/* Without any lock it is the member node that stands for who claims: its session's, since nobody
 * starts what was on its way when that node began another one. */
static void claim_judge_member(const Write *write, const RunRecord *record) {
        g_autofree char *path = path_node(ROOT, record->node);
        const TreeNode *member = data_tree_find(write->tree, path);

        if (!member || member->owner != write->txn->session)
                checker_complain(write->checker,
                                 "run %s of %s is claimed by %s, which is no member%s", record->run,
                                 record->job, record->node,
                                 member ? " but in another session" : "");
}

/* Others of the job are under way. */
static void claim_judge_others(const Write *write, const RunRecord *record, const Ledger *before) {
        const PlanJob *job = plan_find(checker_plan(write->checker), record->job);

        if (!job || job->beside == 1)
                checker_complain(write->checker,
                                 "tick %" PRId64 " of %s is claimed by %s while run %s is claimed",
                                 record->tick, record->job, record->node,
                                 ledger_first_claimed(before)->run);
        else if (record->attempt <= 1 && ledger_count_unsettled(before) >= job->beside)
                checker_complain(
                    write->checker, "tick %" PRId64 " of %s is claimed by %s beside %u others",
                    record->tick, record->job, record->node, ledger_count_unsettled(before));
}

/* Where all ticks are caught up with, none is left behind that might still begin. */
static void claim_judge_order(const Write *write, const RunRecord *record, const Ledger *before) {
        const PlanJob *job = plan_find(checker_plan(write->checker), record->job);
        int64_t now = write->txn->time_ms / 1000 + checker_skew(write->checker, record->node),
                older;
        _cleanup_(schedule_freep) Schedule *schedule = NULL;

        if (job && job->catches_all && ledger_schedule(before, &schedule) >= 0 && schedule &&
            ledger_next_undecided(before, schedule, now - job->deadline, record->tick - 1, &older))
                checker_complain(write->checker,
                                 "tick %" PRId64 " of %s is claimed by %s before tick %" PRId64,
                                 record->tick, record->job, record->node, older);
}

bool tick_was_one(const Write *write, const RunRecord *record, int64_t tick) {
        const Plan *plan = checker_plan(write->checker);
        const PlanJob *job = plan_find(plan, record->job);

        return !tick || record->who || !job || job->service.is || plan_was_tick(plan, job, tick);
}

static void claim_judge_tick(const Write *write, const RunRecord *record) {
        const Ledger *before = write_ledger(write, record->job);
        _cleanup_(ledger_freep) Ledger *after = write_ledger_after(write, record->job);

        if (before && record->tick && record->attempt <= 1 &&
            ledger_is_decided(before, record->tick))
                checker_complain(write->checker,
                                 "tick %" PRId64 " of %s is claimed by %s, and was decided before",
                                 record->tick, record->job, record->node);
        if (before && record->tick && record->attempt <= 1)
                claim_judge_order(write, record, before);
        if (!tick_was_one(write, record, record->tick))
                checker_complain(write->checker,
                                 "%" PRId64 " is claimed of %s by %s, and never was a tick of it",
                                 record->tick, record->job, record->node);
        if (before && record->tick && ledger_first_claimed(before))
                claim_judge_others(write, record, before);
        if (!after || !ledger_find_run(after, record->run))
                checker_complain(write->checker, "run %s of %s is claimed, and not in the ledger",
                                 record->run, record->job);
}

static void claim_judge_locks(const Write *write, const RunRecord *record, Claimed *claimed) {
        const Plan *plan = checker_plan(write->checker);
        const PlanJob *job = plan_find(plan, record->job),
                      *definition = job ? claim_find_definition(plan, job, record) : NULL;

        if (!job)
                return;
        if (!definition)
                checker_complain(write->checker,
                                 "run %s of %s is claimed by %s with locks that no definition of "
                                 "the job ever named",
                                 record->run, record->job, record->node);
        claimed->locks = definition ? definition->locks : job->locks;
        for (guint i = 0; i < claimed->locks->len; i++)
                claim_judge_lock(write, record, job, claimed->locks->pdata[i]);
}

/* A run that somebody, or the end of another one, asked for is claimed with the request, so that
 * nobody takes it again. */
static void claim_judge_request(const Write *write, const RunRecord *record) {
        const char *ask = follow_request_of(write, record);
        g_autofree char *path = path_request(ROOT, ask ? ask : record->run);

        for (size_t i = 0; i < write->txn->n_ops; i++)
                if (write->txn->ops[i].type == TXN_DELETE &&
                    g_str_equal(write->txn->ops[i].path, path))
                        return;
        checker_complain(write->checker, "run %s of %s is claimed by %s, and its request is left",
                         record->run, record->job, record->node);
}

json_t *write_control(const Write *write) {
        g_autofree char *path = path_control(ROOT);
        const TreeNode *node = data_tree_find(write->tree, path);

        return node && node->data ? control_parse(node->data, strlen(node->data)) : NULL;
}

/* Return: when its tick starts by the schedule that is in force. */
static int64_t claim_tick_start(const Write *write, const RunRecord *record) {
        const Ledger *ledger = write_ledger(write, record->job);
        _cleanup_(schedule_freep) Schedule *schedule = NULL;

        return ledger && ledger_schedule(ledger, &schedule) >= 0 && schedule
                   ? schedule_start(schedule, record->job, record->tick)
                   : record->tick;
}

/* Nothing begins while it is paused, nor afterwards what was to start by its end, but a service. */
static void claim_judge_pause(const Write *write, const RunRecord *record) {
        json_t *control = write_control(write);
        ControlPause pause = {0};

        if (control_pause_of(control, record->job, (usec_t)write->txn->time_ms * USEC_PER_MSEC,
                             &pause) &&
            (pause.until == 0 ||
             (record->tick && record->attempt <= 1 && !record->terms.service &&
              (usec_t)claim_tick_start(write, record) * USEC_PER_SEC <= pause.until)))
                checker_complain(write->checker, "run %s of %s is claimed by %s, and it %s paused",
                                 record->run, record->job, record->node,
                                 pause.until == 0 ? "is" : "came due while the job was");
        control_pause_clear(&pause);
        json_decref(control);
}

/* So late may the write of a claim be that was sent in time. */
#define WRITTEN_WITHIN 15

/* What a schedule begins was to start in a window, and that is still open. */
static void claim_judge_window(const Write *write, const RunRecord *record) {
        const Ledger *ledger = write_ledger(write, record->job);
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        int64_t now = write->txn->time_ms / 1000,
                slack = WRITTEN_WITHIN + (int64_t)checker_skew(write->checker, record->node), due;
        WindowStretch stretch;

        if (record->who || !record->tick || !ledger || ledger_schedule(ledger, &schedule) < 0 ||
            !schedule)
                return;
        due = ledger_due(ledger, record->tick, schedule_start(schedule, record->job, record->tick));
        stretch = schedule_window(schedule, due);
        if (!stretch.open || (stretch.to != INT64_MAX && now >= stretch.to + slack))
                checker_complain(write->checker,
                                 "run %s of %s is claimed by %s outside of its window", record->run,
                                 record->job, record->node);
}

/* Whoever drained it may rely on it from then on. */
static void claim_judge_drain(const Write *write, const RunRecord *record) {
        json_t *control = write_control(write);

        if (control_is_drained(control, record->node, NULL))
                checker_complain(write->checker, "run %s of %s is claimed by %s, which is drained",
                                 record->run, record->job, record->node);
        json_decref(control);
}

/* What its job is, beside one that comes due. */
static void claim_judge_mode(const Write *write, const RunRecord *record) {
        const PlanJob *job = plan_find(checker_plan(write->checker), record->job);

        roll_judge_claim(write, record);
        if (job && job->service.is)
                service_judge_claim(write, job, record);
        if (job && record->attempt > 1)
                retry_judge_claim(write, job, record);
}

void claim_judge(const Write *write, const RunRecord *record) {
        Claimed *claimed = write_note_claim(write, record);

        claim_judge_drain(write, record);
        claim_judge_pause(write, record);
        claim_judge_window(write, record);

        claim_judge_locks(write, record, claimed);
        for (char **path = record->locks; path && *path; path++)
                write_note_lock(write, *path, claimed);
        if (!record->locks || !*record->locks)
                claim_judge_member(write, record);
        if (!record->tick)
                claim_judge_request(write, record);
        claim_judge_tick(write, record);
        claim_judge_mode(write, record);
}

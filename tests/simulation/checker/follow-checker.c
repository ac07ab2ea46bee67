/* What follows the end of a run. Whoever settles it, or gives up the attempt that was to follow it,
 * asks in the very transaction for each run that comes of that; of each that is asked for there is
 * one record in the end, a run's or one that says why there was none; and nothing is asked for by a
 * run that has not ended so, nor twice. At the end of the play nothing asks for what is too late.
 *
 * A job that waits for two together is asked for once for a tick: by the transaction that has the
 * last one of them end, and by none before.
 *
 * That there is no run where there should be one is excused where
 * - the job file of who settles says something else of one of the two jobs, or did lately: he goes
 *   by his own definitions, and those of the others do not count. What he reads anew he begins to
 *   go by a moment later, and a settle under way is by what he went by when it began;
 * - that file cannot be read, and his daemon has begun meanwhile: what it had is not kept then;
 * - the job has no ticks any more: whoever withdraws it owes nothing for the attempts that were to
 *   follow;
 * - the records of the job that follows have no directory yet: nobody knows the job, so that
 *   nothing can be said of its runs, and the request alone goes.
 * What of a drained node, a pause, a window or a lock is in the way for too long is no excuse: that
 * is said in a record. Servers that are emptied or restored in the end are judged otherwise. */
#include "follow-checker.h"

#include <string.h>

#include "follow-rule.h"
#include "json-line.h"
#include "meetings.h"
#include "name.h"
#include "paths.h"
#include "rename-checker.h"

#define ROOT "/jobkeeper"
/* By what he has read a daemon goes within this, and has written by then what it settles; and
 * where it stood still, within this. */
#define READ_WITHIN USEC_PER_MINUTE
#define READ_WITHIN_AT_MOST (3 * USEC_PER_MINUTE)
/* So long after its time is over a request is gone: all nodes look at it one after the other. */
#define GONE_WITHIN (2 * USEC_PER_MINUTE)
/* A wish that a run be stopped is left to the run's own node for so long. */
#define STOP_LEFT_FOR (5 * USEC_PER_MINUTE)
#define REQUEST_TIME USEC_PER_MINUTE

/* What was asked for. */
typedef struct FollowAsk {
        char *id, *job, *run;
        RunParent parent;
        usec_t until; /* true time */
        unsigned records;
} FollowAsk;

/* Whether one of those has come that a job waits for together. */
typedef enum FollowPart {
        FOLLOW_NOT_COME,
        FOLLOW_MAY_HAVE_COME, /* by some definition that there was */
        FOLLOW_HAS_COME,
} FollowPart;

struct FollowBook {
        GHashTable *parts; /* "JOB:TICK:PARENT" → FollowPart */
        GHashTable *asks;  /* id → FollowAsk */
        GHashTable *runs;  /* "JOB:RUN" → FollowAsk, borrowed */
};

static void follow_ask_free(void *data) {
        FollowAsk *ask = data;

        g_free(ask->id);
        g_free(ask->job);
        g_free(ask->run);
        run_parent_clear(&ask->parent);
        g_free(ask);
}

FollowBook *follow_book_new(void) {
        FollowBook *book = g_new0(FollowBook, 1);

        book->asks = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, follow_ask_free);
        book->runs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        book->parts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        return book;
}

FollowBook *follow_book_free(FollowBook *book) {
        if (!book)
                return NULL;
        g_hash_table_unref(book->parts);
        g_hash_table_unref(book->runs);
        g_hash_table_unref(book->asks);
        g_free(book);
        return NULL;
}

static const FollowAsk *follow_find(const Write *write, const char *id) {
        return g_hash_table_lookup(write_follows(write)->asks, id);
}

/* By whichever of the job's names. */
static char *follow_run_key(const Write *write, const char *job, const char *run) {
        return g_strdup_printf("%s:%s", plan_first_name(checker_plan(write->checker), job), run);
}

static FollowAsk *follow_find_run(const Write *write, const RunRecord *record) {
        g_autofree char *key = follow_run_key(write, record->job, record->run);

        return g_hash_table_lookup(write_follows(write)->runs, key);
}

const char *follow_request_of(const Write *write, const RunRecord *record) {
        const FollowAsk *ask = follow_find_run(write, record);

        return ask ? ask->id : NULL;
}

/* Return: whether the transaction makes that node. */
static bool follow_is_made(const Write *write, const char *path) {
        for (size_t i = 0; i < write->txn->n_ops; i++)
                if (write->txn->ops[i].type == TXN_CREATE &&
                    g_str_equal(write->txn->ops[i].path, path))
                        return true;
        return false;
}

/* ---- a run ends ---- */

/* Return: whether another attempt of its tick follows, or has been begun. */
static bool follow_is_again(const Ledger *ledger, const RunRecord *record) {
        const LedgerEntry *entry =
            ledger && record->tick ? ledger_find_tick(ledger, record->tick) : NULL;

        return entry && (entry->not_before > 0 || !g_str_equal(entry->run, record->run));
}

/* `before`: NULL: there was no record, or none any more. */
static FollowEnds follow_ends(const Write *write, const RunRecord *before, const RunRecord *after) {
        const Claimed *claimed = write_claimed(write, after->job, after->run);
        const Ledger *known = write_ledger(write, after->job);
        _cleanup_(ledger_freep) Ledger *next = write_ledger_after(write, after->job);
        RunState pruned = claimed && claimed->settled ? RUN_UNKNOWN : RUN_CLAIMED;

        return (FollowEnds){
            .state = {before ? before->state : pruned, after->state},
            .again = {follow_is_again(known, after), follow_is_again(next, after)},
            .recovers = known && known->failing && next && !next->failing,
        };
}

/* Return: whether who settles may go by other definitions of that job. */
static bool follow_was_edited(const Write *write, const char *node, const char *job) {
        const History *history = checker_history(write->checker);
        g_autofree char *base = job_name_base(job);
        usec_t now = checker_now(write->checker), most = usec_sub(now, READ_WITHIN_AT_MOST),
               since = history_befell(history, node, HISTORY_STANDSTILL, most, now)
                           ? most
                           : usec_sub(now, READ_WITHIN);

        return history_was_edited(history, node, base, since, now);
}

static bool follow_is_excused(const Write *write, const PlanJob *parent, const PlanJob *job) {
        const History *history = checker_history(write->checker);
        const char *node = write_author(write);
        usec_t now = checker_now(write->checker), since = usec_sub(now, READ_WITHIN_AT_MOST);

        return !node || follow_was_edited(write, node, parent->name) ||
               follow_was_edited(write, node, job->name) ||
               (history_was_edited(history, node, NULL, since, now) &&
                history_befell(history, node, HISTORY_DAEMON | HISTORY_CRASH, since, now));
}

/* Return: newly allocated, what asks for the job by that name when that run has ended. */
static char *follow_id(const char *parent, const char *run, const char *name, FollowWhy why) {
        g_autofree char *what =
            g_strconcat(name, why == FOLLOW_ON_RECOVERY ? ":on-recovery" : NULL, NULL);

        return ask_id(parent, run, what);
}

/* Return: whether the transaction asks for it, or one before it did, by whichever of its names. */
static bool follow_is_asked_by(const Write *write, const char *parent, const char *run,
                               const PlanJob *job, FollowWhy why) {
        g_autofree const char **names = plan_both_names(checker_plan(write->checker), job);
        bool is = false;

        for (const char **name = names; *name && !is; name++) {
                g_autofree char *id = follow_id(parent, run, *name, why),
                                *path = path_request(ROOT, id);

                is = follow_is_made(write, path) || follow_find(write, id);
        }
        return is;
}

/* The same for both jobs: what was to be attempted again by the first name of the one that ended,
 * and is given up by the other one, asks by that. */
static bool follow_is_asked(const Write *write, const RunRecord *record, const PlanJob *parent,
                            const PlanJob *job, FollowWhy why) {
        g_autofree const char **names = plan_both_names(checker_plan(write->checker), parent);
        bool is = false;

        for (const char **name = names; *name && !is; name++)
                is = follow_is_asked_by(write, *name, record->run, job, why);
        return is;
}

/* Return: whether it was asked for before, by whichever of the job's names. */
static bool follow_was_asked(const Write *write, const FollowAsk *ask, FollowWhy why) {
        const Plan *plan = checker_plan(write->checker);
        const PlanJob *job = plan_find(plan, ask->job);
        g_autofree const char **names = job ? plan_both_names(plan, job) : NULL;
        g_autofree char *of_all = ask_id_for_all(ask->parent.tick, ask->job);
        bool is_of_all = g_str_equal(ask->id, of_all), was = follow_find(write, ask->id);

        for (const char **name = names; name && *name && !was; name++) {
                g_autofree char *id = is_of_all
                                          ? ask_id_for_all(ask->parent.tick, *name)
                                          : follow_id(ask->parent.job, ask->parent.run, *name, why);

                was = follow_find(write, id);
        }
        return was;
}

/* ---- several together ---- */

static int64_t follow_tick(const RunRecord *record) {
        return record->tick ? record->tick : record->terms.parent.tick;
}

static char *follow_part_key(const char *job, int64_t tick, const char *parent) {
        return g_strdup_printf("%s:%" G_GINT64_FORMAT ":%s", job, tick, parent);
}

static FollowPart follow_part(const Write *write, const char *job, int64_t tick,
                              const char *parent) {
        g_autofree char *key = follow_part_key(job, tick, parent);

        return (FollowPart)GPOINTER_TO_UINT(g_hash_table_lookup(write_follows(write)->parts, key));
}

static void follow_note_part(const Write *write, const char *job, int64_t tick, const char *parent,
                             FollowPart part) {
        g_hash_table_insert(write_follows(write)->parts, follow_part_key(job, tick, parent),
                            GUINT_TO_POINTER(MAX(part, follow_part(write, job, tick, parent))));
}

/* Return: whether so many newer ticks wait that this one was given up, or may have been. */
static bool follow_is_given_up(const Write *write, const char *job, int64_t tick) {
        g_autofree char *path = path_meeting(ROOT, job);
        const TreeNode *node = data_tree_find(write->tree, path);
        _cleanup_(meetings_freep) Meetings *meetings = NULL;

        return node && node->data &&
               meetings_decode(node->data, strlen(node->data), &meetings) == 0 &&
               meetings->list->len == MEETINGS_MAX &&
               ((const Meeting *)meetings->list->pdata[0])->tick > tick;
}

static bool follow_is_asked_for_all(const Write *write, int64_t tick, const PlanJob *job) {
        g_autofree const char **names = plan_both_names(checker_plan(write->checker), job);
        bool is = false;

        for (const char **name = names; *name && !is; name++) {
                g_autofree char *id = ask_id_for_all(tick, *name), *path = path_request(ROOT, id);

                is = follow_is_made(write, path) || follow_find(write, id);
        }
        return is;
}

/* One of those ends that the job waits for together. */
static void follow_judge_part(const Write *write, const RunRecord *record, const PlanJob *parent,
                              const PlanJob *job, const FollowEnds *ends) {
        bool is_after = g_strcmp0(job->links.after, parent->name) == 0;
        const char *other = is_after ? job->links.also : job->links.after;
        int64_t tick = follow_tick(record);
        bool comes = follow_must_count(parent, job, ends) && !follow_is_excused(write, parent, job);

        if (!tick || !follow_may_come(checker_plan(write->checker), parent->name, job->name,
                                      FOLLOW_AFTER, ends))
                return;
        follow_note_part(write, job->name, tick, parent->name,
                         comes ? FOLLOW_HAS_COME : FOLLOW_MAY_HAVE_COME);
        if (comes && follow_part(write, job->name, tick, other) == FOLLOW_HAS_COME &&
            !follow_is_asked_for_all(write, tick, job) &&
            !follow_is_given_up(write, rename_name(write->checker, job), tick))
                checker_complain(write->checker,
                                 "run %s of %s is settled as %s by %s, %s has come to the tick "
                                 "before, and %s, which waits for both, is not asked for",
                                 record->run, record->job, run_state_to_string(record->state),
                                 write_author(write), other, job->name);
}

/* Of a request by the end of `parent`: of a job that waits for two, the other one has come. */
static void follow_judge_ask_of_all(const Write *write, const FollowAsk *ask) {
        const Plan *plan = checker_plan(write->checker);
        const PlanJob *job = plan_find(plan, ask->job);
        const RunParent *parent = &ask->parent;
        g_autofree char *id = ask_id_for_all(parent->tick, ask->job);
        const char *first = plan_first_name(plan, parent->job), *other;

        if (!job || !job->links.also)
                return;
        other = g_strcmp0(job->links.after, first) == 0 ? job->links.also : job->links.after;
        if (!g_str_equal(ask->id, id))
                checker_complain(write->checker,
                                 "%s asks for %s, which waits for two, and is not called %s",
                                 ask->id, ask->job, id);
        else if (follow_part(write, job->name, parent->tick, other) == FOLLOW_NOT_COME)
                checker_complain(
                    write->checker,
                    "%s asks for %s, since run %s of %s has ended, and %s has not come", ask->id,
                    ask->job, parent->run, parent->job, other);
}

void follow_judge_end(const Write *write, const RunRecord *before, const RunRecord *after) {
        const Plan *plan = checker_plan(write->checker);
        const PlanJob *parent = plan_find(plan, after->job);
        FollowEnds ends = follow_ends(write, before, after);
        FollowWhy why;

        for (guint i = 0; parent && i < plan->jobs->len; i++) {
                const PlanJob *job = plan->jobs->pdata[i];

                if (job->links.also && (g_strcmp0(job->links.after, parent->name) == 0 ||
                                        g_strcmp0(job->links.also, parent->name) == 0))
                        follow_judge_part(write, after, parent, job, &ends);
                if (follow_must_come(parent, job, &ends, &why) &&
                    !follow_is_asked(write, after, parent, job, why) &&
                    !follow_is_excused(write, parent, job))
                        checker_complain(write->checker,
                                         "run %s of %s is settled as %s by %s, and %s (%s) is not "
                                         "asked for",
                                         after->run, after->job, run_state_to_string(after->state),
                                         write_author(write), job->name, follow_why_to_string(why));
        }
}

/* ---- what is asked for ---- */

/* Return: newly allocated, what stands there; NULL: nothing that says whose end asks. */
static FollowAsk *follow_ask_new(const Write *write, const char *id, const json_t *note,
                                 FollowWhy *ret_why) {
        double within = json_number_value(json_object_get(note, "within"));
        const char *job = json_string_value(json_object_get(note, "job")),
                   *run = json_string_value(json_object_get(note, "run")),
                   *word = json_string_value(json_object_get(note, "why"));
        RunParent parent = RUN_PARENT_NONE;
        FollowAsk *ask;

        if (!job || !run || follow_why_from_string(word, ret_why) < 0 ||
            !run_parent_from_json(json_object_get(note, "parent"), &parent))
                return NULL;
        ask = g_new0(FollowAsk, 1);
        ask->id = g_strdup(id);
        ask->job = g_strdup(job);
        ask->run = g_strdup(run);
        ask->parent = parent;
        ask->until = checker_now(write->checker) + (usec_t)(within * (double)USEC_PER_SEC);
        return ask;
}

/* It is asked for by the transaction that has its parent end so. */
static void follow_judge_ask(const Write *write, const FollowAsk *ask, FollowWhy why) {
        const RunParent *parent = &ask->parent;
        _cleanup_(run_record_freep)
            RunRecord *before = write_record(write, parent->job, parent->run, false),
                      *after = write_record(write, parent->job, parent->run, true);
        FollowEnds ends;

        if (after)
                ends = follow_ends(write, before, after);
        if (!after || (ends.state[0] == ends.state[1] && ends.again[0] == ends.again[1]) ||
            !g_str_equal(parent->state, run_state_to_string(after->state)))
                checker_complain(
                    write->checker,
                    "%s asks for %s, since run %s of %s was %s, and does not settle it", ask->id,
                    ask->job, parent->run, parent->job, parent->state);
        else if (!follow_may_come(checker_plan(write->checker), parent->job, ask->job, why, &ends))
                checker_complain(write->checker,
                                 "%s asks for %s (%s), which does not follow run %s of %s, %s",
                                 ask->id, ask->job, follow_why_to_string(why), parent->run,
                                 parent->job, parent->state);
}

static void follow_take_ask(const Write *write, const char *id, const char *data) {
        FollowBook *book = write_follows(write);
        json_t *note = data ? json_line_parse(data, strlen(data)) : NULL;
        FollowWhy why = FOLLOW_AFTER;
        FollowAsk *ask = follow_ask_new(write, id, note, &why);

        json_decref(note);
        if (ask && !follow_was_asked(write, ask, why)) {
                follow_judge_ask(write, ask, why);
                if (why == FOLLOW_AFTER)
                        follow_judge_ask_of_all(write, ask);
                g_hash_table_insert(book->asks, ask->id, ask);
                g_hash_table_insert(book->runs, follow_run_key(write, ask->job, ask->run), ask);
                return;
        }
        checker_complain(
            write->checker,
            ask ? "%s asks a second time" : "%s does not say whose end asks, and for what", id);
        if (ask)
                follow_ask_free(ask);
}

/* It goes with the record of what has become of it. */
static void follow_take_leave(const Write *write, const char *id) {
        const FollowAsk *ask = follow_find(write, id);
        g_autofree char *runs = NULL;
        _cleanup_(run_record_freep) RunRecord *record = NULL;

        if (!ask || ask->records > 0)
                return;
        runs = path_runs(ROOT, ask->job);
        record = write_record(write, ask->job, ask->run, true);
        if (data_tree_find(write->tree, runs) && !record)
                checker_complain(write->checker,
                                 "%s, which asks for %s, is gone, and nothing says what has become "
                                 "of it",
                                 id, ask->job);
}

void follow_judge_request(const Write *write, const TransactionOp *op) {
        const char *id = strrchr(op->path, '/') + 1;

        if (!ask_id_is_valid(id))
                return;
        if (op->type == TXN_CREATE)
                follow_take_ask(write, id, op->data);
        else if (op->type == TXN_DELETE)
                follow_take_leave(write, id);
}

/* ---- what has become of it ---- */

static bool follow_is_parent(const RunParent *one, const RunParent *other) {
        return g_strcmp0(one->job, other->job) == 0 && g_strcmp0(one->run, other->run) == 0 &&
               g_strcmp0(one->state, other->state) == 0;
}

/* A run is claimed, or refused. */
static void follow_judge_new(const Write *write, const RunRecord *record) {
        FollowAsk *ask = follow_find_run(write, record);
        const RunParent *parent = &record->terms.parent;

        if (!ask && !parent->job)
                return;
        if (!ask || !follow_is_parent(parent, &ask->parent))
                checker_complain(write->checker,
                                 "run %s of %s is %s as what follows run %s of %s, which has not "
                                 "asked for it",
                                 record->run, record->job, run_state_to_string(record->state),
                                 parent->run ? parent->run : "none",
                                 parent->job ? parent->job : "none");
        else if (ask->records++ > 0)
                checker_complain(write->checker,
                                 "run %s of %s, which follows run %s of %s, is %s, "
                                 "and was so before",
                                 record->run, record->job, parent->run, parent->job,
                                 run_state_to_string(record->state));
}

void follow_judge_record(const Write *write, const RunRecord *before, const RunRecord *after) {
        if (!before && (after->state == RUN_CLAIMED || after->state == RUN_SKIPPED))
                follow_judge_new(write, after);
        if (run_state_is_final(after->state) && after->state != RUN_SKIPPED &&
            (!before || before->state != after->state))
                follow_judge_end(write, before, after);
}

/* ---- in the end ---- */

static gboolean follow_look_at(gpointer name, gpointer data, gpointer userdata) {
        const TreeNode *node = data;
        const Write *write = userdata;
        const FollowAsk *ask = follow_find(write, name);
        usec_t made = (usec_t)(node->ctime_ms - MACHINE_EPOCH * 1000) * USEC_PER_MSEC,
               over = ask ? ask->until : made + REQUEST_TIME;

        if (stop_id_is_valid(name))
                over += STOP_LEFT_FOR;
        if (over + GONE_WITHIN < checker_now(write->checker))
                checker_complain(write->checker, "its time is over, and it still asks: %s %s",
                                 node->path, node->data ? node->data : "");
        return FALSE;
}

static void follow_judge_asked(Checker *checker, const FollowBook *book) {
        GHashTableIter iterator;
        gpointer value;

        g_hash_table_iter_init(&iterator, book->asks);
        while (g_hash_table_iter_next(&iterator, NULL, &value)) {
                const FollowAsk *ask = value;

                if (ask->records == 0 && ask->until + GONE_WITHIN < checker_now(checker))
                        checker_complain(checker,
                                         "%s was asked for by run %s of %s, and never came",
                                         ask->job, ask->parent.run, ask->parent.job);
        }
}

void checker_judge_follows(Checker *checker, const DataTree *tree) {
        g_autofree char *path = path_requests(ROOT);
        const TreeNode *requests = data_tree_find(tree, path);
        Write write = {checker_book(checker), checker, NULL, tree};

        if (requests && requests->children)
                g_tree_foreach(requests->children, follow_look_at, &write);
        follow_judge_asked(checker, write_follows(&write));
}

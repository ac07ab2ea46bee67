/* See checker.h. */
#include "checker.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "ledger.h"
#include "loss-checker.h"
#include "paths.h"
#include "rename-checker.h"
#include "requests.h"
#include "run.h"
#include "service-checker.h"
#include "trace.h"
#include "write-checker.h"

#define ROOT "/jobkeeper"
/* max-skew, seconds. */
#define SKEW 2
/* A server that takes longer is given up, seconds. */
#define ANSWER_MAX 20
/* A clock that somebody has set is set right within that. */
#define SET_FOR USEC_PER_MINUTE

/* The largest that runs began with. */
typedef struct Tokens {
        int64_t exclusive, any;
} Tokens;

struct Checker {
        World *world;
        const Plan *plan;
        const History *history;
        GHashTable *started; /* "JOB:RUN", a set */
        GHashTable *tokens;  /* resource → Tokens */
        GHashTable *ledgers; /* job → Ledger */
        WriteBook *book;
        LossBook *losses;
        RenameBook *renames;
        char *fault;
        const char *rule; /* that it breaks; constant */
};

static void checker_drop_ledger(void *ledger) {
        ledger_free(ledger);
}

Checker *checker_new(World *world, const Plan *plan, const History *history) {
        Checker *checker = g_new0(Checker, 1);

        checker->world = world;
        checker->plan = plan;
        checker->history = history;
        checker->started = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        checker->tokens = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        checker->ledgers =
            g_hash_table_new_full(g_str_hash, g_str_equal, NULL, checker_drop_ledger);
        checker->book = write_book_new(checker);
        checker->losses = loss_book_new();
        checker->renames = rename_book_new();
        return checker;
}

Checker *checker_free(Checker *checker) {
        if (!checker)
                return NULL;
        g_hash_table_unref(checker->started);
        g_hash_table_unref(checker->tokens);
        g_hash_table_unref(checker->ledgers);
        write_book_free(checker->book);
        loss_book_free(checker->losses);
        rename_book_free(checker->renames);
        g_free(checker->fault);
        g_free(checker);
        return NULL;
}

const char *checker_fault(const Checker *checker) {
        return checker->fault;
}

const char *checker_rule(const Checker *checker) {
        return checker->rule;
}

const Plan *checker_plan(const Checker *checker) {
        return checker->plan;
}

const PlanJob *checker_contender_job(const Checker *checker, const TreeNode *contender) {
        json_t *said = contender->data ? json_loads(contender->data, 0, NULL) : NULL;
        const char *name = json_string_value(json_object_get(said, "job"));
        const PlanJob *job = name ? plan_find(checker->plan, name) : NULL;

        json_decref(said);
        return job;
}

const History *checker_history(const Checker *checker) {
        return checker->history;
}

GHashTable *checker_ledgers(const Checker *checker) {
        return checker->ledgers;
}

const GPtrArray *checker_locks(const Checker *checker, const HistoryRun *run) {
        const Claimed *claimed = write_book_find(checker->book, run->job, run->run);

        return claimed && claimed->locks ? claimed->locks
                                         : plan_find(checker->plan, run->job)->locks;
}

WriteBook *checker_book(const Checker *checker) {
        return checker->book;
}

LossBook *checker_losses(const Checker *checker) {
        return checker->losses;
}

RenameBook *checker_renames(const Checker *checker) {
        return checker->renames;
}

const TreeNode *checker_find_record(const Checker *checker, const DataTree *tree, const char *job,
                                    const char *run) {
        const PlanJob *one = plan_find(checker->plan, job);
        g_autofree const char **names = one ? plan_both_names(checker->plan, one) : NULL;
        const TreeNode *node = NULL;

        for (const char **name = names; name && *name && !node; name++) {
                g_autofree char *path = path_run(ROOT, *name, run);

                node = data_tree_find(tree, path);
        }
        return node;
}

usec_t checker_now(const Checker *checker) {
        return world_now(checker->world);
}

int64_t checker_skew(const Checker *checker, const char *node) {
        usec_t now = checker_now(checker);

        return history_befell(checker->history, node, HISTORY_CLOCK, usec_sub(now, SET_FOR), now)
                   ? SKEW + ANSWER_MAX
                   : SKEW;
}

void checker_complain(Checker *checker, const char *format, ...) {
        g_autofree char *text = NULL;
        va_list arguments;

        va_start(arguments, format);
        text = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        trace_write("checker", "BROKEN: %s", text);
        if (checker->fault)
                return;
        checker->rule = format;
        checker->fault = g_strdup_printf("at %" PRIu64 ".%06" PRIu64 ": %s",
                                         world_now(checker->world) / USEC_PER_SEC,
                                         world_now(checker->world) % USEC_PER_SEC, text);
}

/* ---- a run begins ---- */

/* Two attempts of one tick, whatever locks the job takes. */
static void checker_judge_attempts(Checker *checker, const HistoryRun *run) {
        const GPtrArray *alive = history_alive(checker->history);

        for (guint i = 0; run->tick != 0 && i < alive->len; i++) {
                const HistoryRun *other = alive->pdata[i];

                if (other != run && !other->excused && other->tick == run->tick &&
                    strcmp(other->job, run->job) == 0)
                        checker_complain(checker,
                                         "attempt %u of tick %" PRId64 " of %s begins on %s while "
                                         "attempt %u is alive on %s",
                                         run->attempt, run->tick, run->job, run->node,
                                         other->attempt, other->node);
        }
}

/* A token is the number of the claim. */
static void checker_judge_claim(Checker *checker, const HistoryRun *run) {
        const Claimed *claimed = write_book_find(checker->book, run->job, run->run);

        if (!claimed)
                checker_complain(checker, "run %s of %s begins on %s, and nobody has claimed it",
                                 run->run, run->job, run->node);
        else if (strcmp(claimed->node, run->node) != 0)
                checker_complain(checker, "run %s of %s begins on %s, and %s has claimed it",
                                 run->run, run->job, run->node, claimed->node);
        else if (run->token != claimed->zxid)
                checker_complain(checker,
                                 "run %s of %s has token %" PRId64 ", and was claimed as %" PRId64,
                                 run->run, run->job, run->token, claimed->zxid);
}

static Tokens *checker_tokens(const Checker *checker, const char *resource) {
        Tokens *tokens = g_hash_table_lookup(checker->tokens, resource);

        if (!tokens) {
                tokens = g_new0(Tokens, 1);
                g_hash_table_insert(checker->tokens, g_strdup(resource), tokens);
        }
        return tokens;
}

/* Whoever holds a lock alone has a larger one than all before, and all after have larger ones. */
static void checker_judge_token(Checker *checker, const HistoryRun *run, const PlanLock *lock) {
        Tokens *tokens = checker_tokens(checker, lock->resource);
        bool alone = lock->mode == PLAN_EXCLUSIVE;
        int64_t before = alone ? tokens->any : tokens->exclusive;

        if (run->token <= before)
                checker_complain(checker,
                                 "run %s of %s has token %" PRId64 ", and one that had %s before "
                                 "it %" PRId64,
                                 run->run, run->job, run->token, lock->resource, before);
        tokens->any = MAX(tokens->any, run->token);
        if (alone)
                tokens->exclusive = MAX(tokens->exclusive, run->token);
}

static void checker_judge_tokens(Checker *checker, const HistoryRun *run) {
        const GPtrArray *locks = checker_locks(checker, run);

        for (guint i = 0; i < locks->len; i++) {
                const PlanLock *lock = locks->pdata[i];

                if (lock->slots == 1)
                        checker_judge_token(checker, run, lock);
        }
}

void checker_run_is_late(Checker *checker, const HistoryRun *run, usec_t stop_at, usec_t now) {
        if (stop_at > 0 && now >= stop_at)
                checker_complain(checker,
                                 "run %s of %s begins on %s %" PRIu64
                                 " ms after the time at which it would be stopped",
                                 run->run, run->job, run->node, (now - stop_at) / USEC_PER_MSEC);
}

static unsigned checker_latest(const PlanJob *job) {
        return job->delay + job->deadline;
}

/* Return: so long after a tick of the job it may begin at most, as it was defined at some time. */
static usec_t checker_deadline(const Checker *checker, const char *job) {
        const GPtrArray *edits = checker->plan->edits;
        unsigned latest = checker_latest(plan_find(checker->plan, job));

        for (guint i = 0; i < edits->len; i++) {
                const PlanJob *edit = edits->pdata[i];

                if (strcmp(edit->name, job) == 0)
                        latest = MAX(latest, checker_latest(edit));
        }
        return latest * USEC_PER_SEC;
}

/* What was claimed begins within its start deadline, that of a retry from its pause on and that of
 * a request from when it was made, or soon after the claim. A service has none. */
static void checker_judge_deadline(Checker *checker, const HistoryRun *run) {
        const Claimed *claimed = write_book_find(checker->book, run->job, run->run);
        bool endless = plan_find(checker->plan, run->job)->service.is;
        usec_t deadline = endless     ? RUN_BEGIN_MOST
                          : run->tick ? checker_deadline(checker, run->job)
                                      : REQUEST_LIFETIME,
               soon = RUN_BEGIN_PATIENCE + ANSWER_MAX * USEC_PER_SEC, until;

        if (!claimed)
                return;
        until = run->tick && run->attempt == 1 && !endless
                    ? (usec_t)(run->tick - MACHINE_EPOCH) * USEC_PER_SEC + deadline
                    : claimed->at + deadline;
        until = CLAMP(until, claimed->at + soon,
                      claimed->at + RUN_BEGIN_MOST + ANSWER_MAX * USEC_PER_SEC) +
                (usec_t)checker_skew(checker, run->node) * USEC_PER_SEC;
        if (checker_now(checker) > until)
                checker_complain(
                    checker,
                    "run %s of %s begins on %s %" PRIu64 " ms after it was too late for that",
                    run->run, run->job, run->node, (checker_now(checker) - until) / USEC_PER_MSEC);
}

void checker_run_begins(Checker *checker, const HistoryRun *run) {
        if (!plan_find(checker->plan, run->job)) {
                checker_complain(checker, "run %s of %s, which is no job", run->run, run->job);
                return;
        }
        if (!g_hash_table_add(checker->started, g_strdup_printf("%s:%s", run->job, run->run)))
                checker_complain(checker, "run %s of %s is started a second time, on %s", run->run,
                                 run->job, run->node);
        checker_judge_claim(checker, run);
        if (run->excused)
                return;
        if (plan_find(checker->plan, run->job)->service.is)
                service_judge_begin(checker, run);
        checker_judge_locks(checker, run);
        checker_judge_attempts(checker, run);
        checker_judge_deadline(checker, run);
        checker_judge_tokens(checker, run);
}

/* The rolls of jobs that each machine runs, told again in the checker's own words, so that a fault
 * of the product's rule (policy/roll.h) is seen: as it is claimed, a machine's run is claimed by
 * that machine and by no other one; where account is kept of failures, no more machines have
 * claimed than have their turn at a time, whatever became of their locks; and nothing begins for a
 * tick on a further machine once it has failed on as many as its definition says, as that stands in
 * ZooKeeper.
 *
 * That no more live at once than the lock lets is looked at with all other locks (lock-checker.c),
 * and that each machine has decided each tick once with all other ledgers (ledger-checker.c). */
#include <inttypes.h>
#include <string.h>

#include "name.h"
#include "paths.h"
#include "rejoin-checker.h"
#include "rolls.h"

#define ROOT "/jobkeeper"

static bool roll_ends_badly(const RunRecord *record) {
        return record->state == RUN_FAILED || record->state == RUN_TIMED_OUT ||
               record->state == RUN_INTERRUPTED || record->state == RUN_UNKNOWN;
}

/* Return: the record of the last attempt of the tick, a copy; NULL: there is none. */
static RunRecord *roll_last_attempt(const Write *write, const PlanJob *job, int64_t tick) {
        for (unsigned attempt = job->attempts; attempt > 0; attempt--) {
                g_autofree char *run = g_strdup_printf("%" PRId64 "-%u", tick, attempt);
                RunRecord *record = write_record(write, job->name, run, false);

                if (record)
                        return record;
        }
        return NULL;
}

/* Return: whether the machine's run of the tick has failed, and is not attempted again. */
static bool roll_may_have_failed(const Write *write, const PlanJob *job, int64_t tick) {
        const Ledger *ledger = write_ledger(write, job->name);
        const LedgerEntry *entry = ledger ? ledger_find_tick(ledger, tick) : NULL;
        _cleanup_(run_record_freep) RunRecord *last = roll_last_attempt(write, job, tick);

        return last && roll_ends_badly(last) && !(entry && entry->not_before > 0);
}

/* The same where everybody knows that. What it had to do before its job was edited or withdrawn
 * there is none of its ledger's: who settles it may tell the roll of it, or may not. */
static bool roll_has_failed(const Write *write, const PlanJob *job, int64_t tick) {
        const Ledger *ledger = write_ledger(write, job->name);

        return ledger && ledger->digest && *ledger->digest && tick > ledger->from &&
               roll_may_have_failed(write, job, tick);
}

/* Return: whether the job is the other's on another machine. */
static bool roll_is_of_another(const PlanJob *job, const PlanJob *other) {
        g_autofree char *base = job_name_base(job->name), *others = job_name_base(other->name);

        return other->roll.node && !g_str_equal(job->name, other->name) &&
               g_str_equal(base, others);
}

static unsigned roll_count(const Write *write, const PlanJob *job, int64_t tick,
                           bool (*counts)(const Write *write, const PlanJob *job, int64_t tick)) {
        const GPtrArray *kept = checker_plan(write->checker)->kept;
        unsigned n = 0;

        for (guint i = 0; i < kept->len; i++)
                n += roll_is_of_another(job, kept->pdata[i]) && counts(write, kept->pdata[i], tick);
        return n;
}

/* What somebody asked for is of no roll. */
static bool roll_is_under_way(const Write *write, const PlanJob *job, int64_t tick) {
        const Ledger *ledger = write_ledger(write, job->name);

        (void)tick;
        for (guint i = 0; ledger && i < ledger->open->len; i++) {
                const LedgerEntry *entry = ledger->open->pdata[i];

                if (entry->state == RUN_CLAIMED && entry->tick)
                        return true;
        }
        return false;
}

unsigned roll_count_under_way(const Write *write, const PlanJob *job) {
        return roll_count(write, job, 0, roll_is_under_way);
}

bool roll_may_have_stopped(const Write *write, const PlanJob *job, int64_t tick) {
        return job->roll.max_failures > 0 &&
               roll_count(write, job, tick, roll_may_have_failed) >= job->roll.max_failures;
}

bool roll_is_over(const Write *write, const PlanJob *job, int64_t tick) {
        g_autofree char *path = path_roll(ROOT, job->name);
        const TreeNode *node = data_tree_find(write->tree, path);
        _cleanup_(rolls_freep) Rolls *rolls = NULL;
        unsigned newer = 0;
        int64_t last = tick;

        if (!node || !node->data || rolls_decode(node->data, strlen(node->data), &rolls) < 0)
                return false;
        for (guint i = 0; i < rolls->runs->len; i++) {
                const RollRun *run = rolls->runs->pdata[i];

                newer += run->tick > last;
                last = MAX(last, run->tick);
        }
        return newer >= ROLL_TICKS_MAX;
}

static void roll_judge_turn(const Write *write, const PlanJob *job, const RunRecord *record) {
        unsigned turns = plan_roll_turns(job),
                 others = roll_count(write, job, record->tick, roll_is_under_way),
                 failed = roll_count(write, job, record->tick, roll_has_failed);

        if (turns > 0 && others >= turns)
                checker_complain(write->checker,
                                 "run %s of %s is claimed while the runs of %u other machines are "
                                 "under way, and %u have their turn",
                                 record->run, record->job, others, turns);
        if (record->attempt <= 1 && job->roll.max_failures > 0 &&
            failed >= job->roll.max_failures && !roll_is_over(write, job, record->tick))
                checker_complain(write->checker,
                                 "run %s of %s is claimed, and it has failed on %u other machines "
                                 "before",
                                 record->run, record->job, failed);
}

void roll_judge_claim(const Write *write, const RunRecord *record) {
        const PlanJob *job = plan_find(checker_plan(write->checker), record->job);

        if (!job || !job->roll.node)
                return;
        if (strcmp(job->roll.node, record->node) != 0)
                checker_complain(write->checker, "run %s of %s is claimed by %s", record->run,
                                 record->job, record->node);
        if ((job->roll.max_failures > 0 || job->roll.rejoin_timeout > 0) && record->tick)
                roll_judge_turn(write, job, record);
        if (job->roll.rejoin_timeout > 0 && record->tick)
                rejoin_judge_claim(write, job, record);
}

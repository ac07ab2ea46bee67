/* No two who conflict hold a lock at once: runs of jobs, by the locks of their definition, and all
 * others (history.h); and of several slots never more are held than any of their holders asked for.
 */
#include <string.h>

#include "checker.h"

/* Who holds one lock, beside who has just begun to. */
typedef struct Holders {
        const PlanLock *lock;
        unsigned alike; /* that hold it in the same way */
        unsigned slots; /* the least number that any of those, or the newcomer, asked for */
        bool otherwise; /* somebody holds it in another */
        char *other;    /* the last of them, for people */
} Holders;

static void holders_add(Holders *holders, PlanMode mode, unsigned slots, char *who) {
        if (mode == holders->lock->mode) {
                holders->alike++;
                holders->slots = MIN(holders->slots, slots);
        } else {
                holders->otherwise = true;
        }
        g_free(holders->other);
        holders->other = who;
}

static void holders_add_run(Holders *holders, const Checker *checker, const HistoryRun *run) {
        const GPtrArray *locks = checker_locks(checker, run);

        for (guint i = 0; !run->excused && i < locks->len; i++) {
                const PlanLock *lock = locks->pdata[i];

                if (strcmp(lock->resource, holders->lock->resource) == 0)
                        holders_add(
                            holders, lock->mode, lock->slots,
                            g_strdup_printf("run %s of %s on %s", run->run, run->job, run->node));
        }
}

static void holders_add_hold(Holders *holders, const HistoryHold *hold) {
        if (!hold->excused && strcmp(hold->resource, holders->lock->resource) == 0)
                holders_add(holders, hold->mode, hold->slots,
                            g_strdup_printf("%s (%u) on %s", hold->who, hold->number, hold->node));
}

/* `newcomer`: the run or the hold that has just begun. Takes over `who`. */
static void checker_judge_lock(Checker *checker, const PlanLock *lock, const void *newcomer,
                               char *who) {
        const GPtrArray *runs = history_alive(checker_history(checker)),
                        *holds = history_holds(checker_history(checker));
        Holders holders = {.lock = lock, .slots = lock->slots};

        for (guint i = 0; i < runs->len; i++)
                if (runs->pdata[i] != newcomer)
                        holders_add_run(&holders, checker, runs->pdata[i]);
        for (guint i = 0; i < holds->len; i++)
                if (holds->pdata[i] != newcomer)
                        holders_add_hold(&holders, holds->pdata[i]);
        if (holders.otherwise || (lock->mode == PLAN_EXCLUSIVE && holders.alike >= holders.slots))
                checker_complain(checker, "%s: %s begins while %s is alive", lock->resource, who,
                                 holders.other);
        g_free(holders.other);
        g_free(who);
}

void checker_judge_locks(Checker *checker, const HistoryRun *run) {
        const GPtrArray *locks = checker_locks(checker, run);

        for (guint i = 0; i < locks->len; i++)
                checker_judge_lock(
                    checker, locks->pdata[i], run,
                    g_strdup_printf("run %s of %s on %s", run->run, run->job, run->node));
}

void checker_hold_begins(Checker *checker, const HistoryHold *hold) {
        const PlanLock lock = {hold->resource, hold->mode, hold->slots};

        if (!hold->excused)
                checker_judge_lock(
                    checker, &lock, hold,
                    g_strdup_printf("%s (%u) on %s", hold->who, hold->number, hold->node));
}

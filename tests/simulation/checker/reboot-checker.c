/* What becomes of a run whose machine is rebooted over it. The machine says when it is back that it
 * is what its definition makes of that (`reboot`), of whatever job: it was interrupted, or has
 * succeeded, or failed; and of no other run that. Where its definition says that, nobody says
 * anything before: not the machine as it goes down; and others only once it has been gone for as
 * long as it is waited for (`rejoin-timeout`), that nothing is known. */
#include <inttypes.h>
#include <string.h>

#include "member.h"
#include "paths.h"
#include "write-checker.h"

#define ROOT "/jobkeeper"
#define REBOOT_WHY "the node was rebooted"
/* By what the clocks of machines differ in a minute, and more. */
#define GIVEN_UP_SLACK (100 * USEC_PER_MSEC)
/* What befell a machine is felt for so long, and may be why a run was to end. */
#define FELT_FOR (10 * USEC_PER_SEC)

bool reboot_is_said(const RunRecord *record) {
        return g_strcmp0(record->why, REBOOT_WHY) == 0;
}

bool reboot_was_one(const Checker *checker, const HistoryRun *run, usec_t written) {
        return history_befell(checker_history(checker), run->node, HISTORY_BOOT, run->begun,
                              written);
}

static RunState reboot_state(const PlanJob *job) {
        static const RunState states[] = {[PLAN_REBOOT_INTERRUPTS] = RUN_INTERRUPTED,
                                          [PLAN_REBOOT_SUCCESS] = RUN_SUCCEEDED,
                                          [PLAN_REBOOT_FAIL] = RUN_FAILED};

        return states[job->roll.reboot];
}

/* Return: newly allocated, the boot id of who writes, as it says as a member; NULL: it is none. */
static char *reboot_author_boot(const Write *write, const char *node) {
        g_autofree char *path = path_node(ROOT, node);
        const TreeNode *found = data_tree_find(write->tree, path);
        _cleanup_(member_freep) Member *member = NULL;

        if (!found || found->owner != write->txn->session || !found->data ||
            member_decode(node, found->data, strlen(found->data), &member) < 0)
                return NULL;
        return g_steal_pointer(&member->boot);
}

static const HistoryRun *reboot_find_run(const Checker *checker, const Claimed *claimed) {
        const GPtrArray *runs = history_runs(checker_history(checker));

        for (guint i = runs->len; i > 0; i--) {
                const HistoryRun *run = runs->pdata[i - 1];

                if (strcmp(run->job, claimed->job) == 0 && strcmp(run->run, claimed->run) == 0)
                        return run;
        }
        return NULL;
}

/* Return: whether nothing but the shutdown of its machine had the run end. */
static bool reboot_ended_it(const Checker *checker, const HistoryRun *run) {
        const History *history = checker_history(checker);
        usec_t felt = usec_sub(run->ordered, FELT_FOR), now = checker_now(checker);

        return run->by_shutdown && !run->by_itself && !run->excused &&
               !history_befell(history, run->node,
                               HISTORY_BUS | HISTORY_HANG | HISTORY_DISK |
                                   (HISTORY_ANY & ~HISTORY_DAEMON),
                               felt, now) &&
               !history_befell(history, run->node, HISTORY_DAEMON, felt, run->ordered - 1);
}

/* As the machine goes down. */
static void reboot_judge_shutdown(const Write *write, const PlanJob *job, const Claimed *claimed,
                                  const RunRecord *after) {
        const HistoryRun *run = reboot_find_run(write->checker, claimed);

        if (job->roll.reboot != PLAN_REBOOT_INTERRUPTS && after->state == RUN_INTERRUPTED && run &&
            reboot_ended_it(write->checker, run))
                checker_complain(write->checker,
                                 "run %s of %s, which the shutdown of %s has ended, is settled as "
                                 "%s before that is back",
                                 after->run, after->job, claimed->node,
                                 run_state_to_string(after->state));
}

static void reboot_judge_own(const Write *write, const PlanJob *job, const Claimed *claimed,
                             const RunRecord *before, const RunRecord *after) {
        g_autofree char *boot = reboot_author_boot(write, claimed->node);

        if (!boot)
                return;
        if (g_strcmp0(boot, before->boot) == 0)
                reboot_judge_shutdown(write, job, claimed, after);
        if ((g_strcmp0(boot, before->boot) != 0) !=
            (reboot_is_said(after) && after->state == reboot_state(job)))
                checker_complain(write->checker,
                                 "run %s of %s is settled as %s (%s) by %s, which %s since it "
                                 "claimed it",
                                 after->run, after->job, run_state_to_string(after->state),
                                 after->why ? after->why : "", claimed->node,
                                 g_strcmp0(boot, before->boot) != 0 ? "was rebooted"
                                                                    : "was not rebooted");
}

/* Since nobody has heard of the machine. */
static void reboot_judge_others(const Write *write, const PlanJob *job, const Claimed *claimed,
                                const RunRecord *after) {
        usec_t gone = write_gone_for(write, claimed->node),
               timeout = job->roll.rejoin_timeout * USEC_PER_SEC;

        if (gone == 0 || gone + GIVEN_UP_SLACK < timeout || after->state != RUN_UNKNOWN)
                checker_complain(write->checker,
                                 "run %s of %s is settled as %s by others than %s, which may have "
                                 "been rebooted and has been gone for %" PRIu64 " s",
                                 after->run, after->job, run_state_to_string(after->state),
                                 claimed->node, gone / USEC_PER_SEC);
}

void reboot_judge_settled(const Write *write, const Claimed *claimed, const RunRecord *before,
                          const RunRecord *after) {
        const PlanJob *job = plan_find(checker_plan(write->checker), claimed->job);

        if (!job)
                return;
        if (!claimed->by_others)
                reboot_judge_own(write, job, claimed, before, after);
        else if (job->roll.reboot != PLAN_REBOOT_INTERRUPTS)
                reboot_judge_others(write, job, claimed, after);
}

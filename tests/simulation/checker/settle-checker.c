/* A settle: what is final stays as it is but for "unknown", which is refined; a run is settled by
 * the node that it runs on, or once nothing stands there any more by which that node has claimed
 * it; and until then its contenders stay. One that continues without them others give up once its
 * node has been gone for as long as its definition says, and not before. */
#include <string.h>

#include "paths.h"
#include "rejoin-checker.h"

#define ROOT "/jobkeeper"
/* By what the clocks of machines differ in a minute, and more. */
#define TAKEOVER_SLACK (100 * USEC_PER_MSEC)

static bool settle_is_owned(const Write *write, const char *path, int64_t session) {
        const TreeNode *node = data_tree_find(write->tree, path);

        return node && node->owner == session;
}

/* Return: whether the session that claimed the run still stands in a queue for it, or for one that
 * needs no lock is still its node's. */
static bool settle_is_held(const Write *write, const Claimed *claimed, const RunRecord *record) {
        g_autofree char *member = path_node(ROOT, claimed->node);

        if (!record->locks || !*record->locks)
                return settle_is_owned(write, member, claimed->session);
        for (char **path = record->locks; *path; path++)
                if (settle_is_owned(write, *path, claimed->session))
                        return true;
        return false;
}

/* Return: whether whoever claimed the run may be about to start it, or to write its end. */
static bool settle_is_anothers(const Write *write, const Claimed *claimed,
                               const RunRecord *record) {
        return write->txn->session != claimed->session &&
               g_strcmp0(write_author(write), claimed->node) != 0 &&
               settle_is_held(write, claimed, record);
}

/* Somebody else says that nothing is known of a run that continues without its locks. */
static void settle_judge_takeover(const Write *write, Claimed *claimed) {
        usec_t gone = write_gone_for(write, claimed->node), after = claimed->takeover_after;
        const PlanJob *job = plan_find(checker_plan(write->checker), claimed->job);

        /* Who has shortened it since, wants it to be over. */
        if (job && plan_job_continues(job) && job->takeover_after > 0)
                after = MIN(after, job->takeover_after * USEC_PER_SEC);
        if (gone == 0 || usec_add(gone, TAKEOVER_SLACK) < after)
                checker_complain(write->checker,
                                 "run %s of %s on %s, which continues without its locks, is given "
                                 "up by %s when its node has been gone for %" G_GUINT64_FORMAT " s",
                                 claimed->run, claimed->job, claimed->node,
                                 write_author(write) ? write_author(write) : "somebody",
                                 gone / USEC_PER_SEC);
        claimed->given_up = true;
        history_give_up(checker_history(write->checker), claimed->job, claimed->run);
}

static void settle_judge_author(const Write *write, const RunRecord *before,
                                const RunRecord *after) {
        Claimed *claimed = write_claimed(write, after->job, after->run);

        if (!claimed || claimed->settled)
                return;
        claimed->settled = true;
        claimed->by_others = g_strcmp0(write_author(write), claimed->node) != 0;
        reboot_judge_settled(write, claimed, before, after);
        rejoin_note_settled(write, before, after);
        if (claimed->continues && g_strcmp0(write_author(write), claimed->node) != 0)
                settle_judge_takeover(write, claimed);
        if (!claimed->cleared && settle_is_anothers(write, claimed, after))
                checker_complain(write->checker,
                                 "run %s of %s is settled as %s by %s while the contenders of %s "
                                 "stand, which claimed it",
                                 after->run, after->job, run_state_to_string(after->state),
                                 write_author(write) ? write_author(write) : "somebody",
                                 claimed->node);
}

static void settle_complain_of_change(const Write *write, const RunRecord *before,
                                      const RunRecord *after) {
        checker_complain(write->checker, "run %s of %s was settled as %s, and is now %s",
                         before->run, before->job, run_state_to_string(before->state),
                         run_state_to_string(after->state));
}

static void settle_complain_of_repetition(const Write *write, const RunRecord *after) {
        const char *author = write_author(write);

        checker_complain(write->checker, "run %s of %s is settled as %s a second time, by %s",
                         after->run, after->job, run_state_to_string(after->state),
                         author ? author : "somebody");
}

void settle_judge(const Write *write, const RunRecord *before, const RunRecord *after) {
        if (!after)
                retry_judge_forgotten(write, before);
        if (!run_state_is_final(before->state)) {
                if (!after)
                        checker_complain(write->checker,
                                         "the record of run %s of %s, claimed, is "
                                         "deleted",
                                         before->run, before->job);
                else if (run_state_is_final(after->state))
                        settle_judge_author(write, before, after);
        } else if (after && after->state != before->state) {
                if (before->state != RUN_UNKNOWN)
                        settle_complain_of_change(write, before, after);
        } else if (after && after->state != RUN_SKIPPED) { /* a range of skips grows */
                settle_complain_of_repetition(write, after);
        }
}

/* A claim whose bid was given up before its answer came may leave its locks: nothing runs. */
void settle_judge_leaving(const Write *write, const char *path, const Claimed *claimed) {
        const GPtrArray *alive = history_alive(checker_history(write->checker));

        for (guint i = 0; i < alive->len; i++) {
                const HistoryRun *run = alive->pdata[i];

                if (!run->excused && strcmp(run->job, claimed->job) == 0 &&
                    strcmp(run->run, claimed->run) == 0)
                        checker_complain(
                            write->checker, "%s lets %s go while its run %s of %s is alive",
                            claimed->node, strrchr(path, '/') + 1, claimed->run, claimed->job);
        }
}

/* The promises, looked at by somebody who knows everything.
 *
 * While the cluster works (checker.c): no tick is started twice, no two runs that conflict are
 * alive at once, none is settled while something of it lives, fencing tokens grow. What a run does
 * on a node that could not do its part (it was frozen) is excused. Where its daemon hung, or was
 * gone, its fence does.
 *
 * Of every change of a ledger (change-checker.c): nothing is decided twice, forgotten, or early.
 *
 * At the end (ledger-checker.c), of what stands in ZooKeeper: every due tick was decided once, and
 * with the state that really happened, and what is excepted is no tick. (quiet-checker.c): nothing
 * is left over.
 *
 * Of a job that gets another name (rename-checker.c): it is one job under both.
 *
 * What is to run always (service-checker.c, service-watch.c) runs once, is begun again after its
 * pause, and is not left down.
 *
 * That no run of a job succeeds for too long (alarm-checker.c) is told, once.
 *
 * What follows the end of a run (follow-checker.c) is asked for with it, and comes once.
 *
 * What the nodes ask of the servers (request-checker.c) is bounded.
 */
#pragma once

#include "data-tree.h"
#include "fleet.h"
#include "history.h"
#include "plan.h"
#include "transaction.h"

typedef struct Checker Checker;
typedef struct WriteBook WriteBook;
typedef struct LossBook LossBook;
typedef struct RenameBook RenameBook;

/* `plan` and `history` live longer. */
Checker *checker_new(World *world, const Plan *plan, const History *history);
Checker *checker_free(Checker *checker);
DEFINE_CLEANUP(Checker, checker_free);

/* Return: whether somebody has taken the run's locks away by hand since it was claimed, its session
 * or a contender: its node may hear of it late, and nothing is promised for it. */
bool checker_has_cleared(const Checker *checker, const HistoryRun *run);
/* A run has just begun. `stop_at`: when what runs there now is to be stopped, by the machine's
 * CLOCK_BOOTTIME, which shows `now`; 0: nobody has noted that. */
void checker_run_is_late(Checker *checker, const HistoryRun *run, usec_t stop_at, usec_t now);
void checker_run_begins(Checker *checker, const HistoryRun *run);

/* The start of that node's daemon has failed, and nobody tries again: nothing runs there that it
 * would have to end. */
void checker_start_failed(Checker *checker, const char *node);

/* That node's daemon has PID 1 end the unit, and nobody has stopped the daemon: it is no run that
 * continues without its locks. */
void checker_is_asked_to_end(Checker *checker, const char *node, const char *unit);

/* A run's fence has it end, although that node's daemon is well: it has forgotten it. */
void checker_fence_ends(Checker *checker, const HistoryRun *run);

/* That node's daemon says that the job of that name is overdue. */
void checker_says_overdue(Checker *checker, const char *node, const char *name);

/* Somebody else has just begun to rely on a lock. */
void checker_hold_begins(Checker *checker, const HistoryHold *hold);
/* The session is that node's. */
void checker_session(Checker *checker, const char *node, int64_t session);
/* A server has answered in that session what was asked then. */
void checker_answered(Checker *checker, int64_t session, usec_t asked);
/* A transaction is committed; `tree`: the nodes without it. See write-checker.h. */
void checker_write(Checker *checker, const Transaction *txn, const DataTree *tree);

/* Nothing of a run lives any more, since just now. */
void checker_run_ends(Checker *checker, const HistoryRun *run, const DataTree *tree);

/* The same, for change-checker.c. */
void checker_on_commit(Checker *checker, const Transaction *txn);

/* The cluster was left in peace: all ticks are decided whose deadline has passed, and since
 * `calm_from` none was missed. Seconds, of a clock without fault. */
void checker_judge_ledgers(Checker *checker, const DataTree *tree, int64_t calm_from, int64_t now);
/* The same: nobody waits, or is waited for, in vain. */
void checker_judge_queues(Checker *checker, const DataTree *tree, int64_t now);
/* The same: what follows a run has come, or will, and nothing asks for what is too late. */
void checker_judge_follows(Checker *checker, const DataTree *tree);
/* The same: what is to run always does. */
void checker_judge_services(Checker *checker, const DataTree *tree, int64_t calm_from);
/* The same: what is overdue was told. */
void checker_judge_alarms(Checker *checker, const DataTree *tree, int64_t calm_from, int64_t now);
/* Every daemon was stopped as it should be. */
void checker_judge_rest(Checker *checker, const DataTree *tree, const Fleet *fleet);

/* The first broken promise. Return: NULL while all are kept. */
const char *checker_fault(const Checker *checker);
/* Return: its words without what is particular to it, the same for whatever breaks that promise;
 * constant, NULL likewise. */
const char *checker_rule(const Checker *checker);

/* ---- for its other files ---- */

void checker_complain(Checker *checker, const char *format, ...) G_GNUC_PRINTF(2, 3);
const Plan *checker_plan(const Checker *checker);
/* Return: the node of the record of that run, by whichever of the job's names; NULL: there is none.
 */
const TreeNode *checker_find_record(const Checker *checker, const DataTree *tree, const char *job,
                                    const char *run);
/* Return: the job that a contender says it stands for; NULL: none of the plan. */
const PlanJob *checker_contender_job(const Checker *checker, const TreeNode *contender);
const History *checker_history(const Checker *checker);
/* A run begins. */
void checker_judge_locks(Checker *checker, const HistoryRun *run);
/* Return: job → Ledger, as it was committed last; of one that has another name by now, that of this
 * one. */
GHashTable *checker_ledgers(const Checker *checker);
/* Return: of PlanLock, by the definition that the run was claimed by. Borrowed. */
const GPtrArray *checker_locks(const Checker *checker, const HistoryRun *run);
WriteBook *checker_book(const Checker *checker);
LossBook *checker_losses(const Checker *checker);
RenameBook *checker_renames(const Checker *checker);
usec_t checker_now(const Checker *checker);
/* Return: by how much the node's clock may be wrong while it goes by it, seconds: max-skew; and
 * where somebody has set it, what slow answers may explain. */
int64_t checker_skew(const Checker *checker, const char *node);

/* Where the ledger of a job that each machine runs begins. */
#include <inttypes.h>

#include "checker.h"
#include "in-force.h"
#include "ledger.h"
#include "name.h"
#include "write-checker.h"

/* The first ledger is made within this, and an edit read. */
#define BEGUN_WITHIN USEC_PER_MINUTE
#define READ_WITHIN (3 * USEC_PER_MINUTE)

static bool beginning_was_edited(const Checker *checker, const char *node, const char *job,
                                 usec_t time) {
        return history_was_edited(checker_history(checker), node, job, usec_sub(time, READ_WITHIN),
                                  time + USEC_PER_MINUTE);
}

/* Return: whether the node could not put anything in force in the minute before that time: it was
 * off, or had no daemon, session or disk. */
static bool beginning_was_kept(const Checker *checker, const char *node, usec_t time) {
        return history_befell(checker_history(checker), node,
                              HISTORY_DAEMON | HISTORY_STANDSTILL | HISTORY_CRASH |
                                  HISTORY_SESSION | HISTORY_DISK,
                              usec_sub(time, BEGUN_WITHIN), time);
}

/* Return: whether the node waited until nobody had what is in force: a machine that has lost what
 * it knows of what it put in force (its disk was full, or it was handed what it had had before)
 * does not trust its file to be newer. */
static bool beginning_was_patient(const Checker *checker, const char *node, const char *job,
                                  usec_t time) {
        const History *history = checker_history(checker);
        usec_t from = usec_sub(time, IN_FORCE_PATIENCE + BEGUN_WITHIN);

        return history_befell(history, node, HISTORY_DISK, 0, time) &&
               (history_was_edited(history, node, job, from, time) ||
                history_was_edited(history, node, NULL, from, time));
}

/* Return: whether there was something to begin with then, or before something kept the node from
 * it ever since: the cluster, or an edit of the job or of all files. */
static bool beginning_may_begin(const Checker *checker, const char *node, const char *job,
                                usec_t time) {
        while (time > BEGUN_WITHIN && !beginning_was_edited(checker, node, job, time) &&
               !beginning_was_edited(checker, node, NULL, time)) {
                if (beginning_was_patient(checker, node, job, time))
                        return true;
                if (!beginning_was_kept(checker, node, time))
                        return false;
                time -= BEGUN_WITHIN;
        }
        return true;
}

/* A machine has each tick since the first one that it could have known of: what stands in its
 * ledger began with the cluster, or anew after the job was edited there, or had left, be it since a
 * daemon began with a file that it could not read; or as soon after that as it could. */
void beginning_judge(Checker *checker, const PlanJob *job, const Ledger *ledger) {
        const char *node = job->roll.node;
        g_autofree char *base = job_name_base(job->name);
        usec_t from = (usec_t)(ledger->from - MACHINE_EPOCH) * USEC_PER_SEC;

        if (node && !beginning_may_begin(checker, node, base, from))
                checker_complain(checker,
                                 "the ledger of %s begins at %" PRId64
                                 ", and nobody has edited the job there",
                                 job->name, ledger->from);
}

/* Machines that are waited for after their runs (`rejoin-timeout`), told again in the checker's own
 * words. After its run a machine is away until it is back: a member with another boot than that
 * which it claimed in, or still one some seconds after. For so long it has its turn as if it ran,
 * so that nobody else begins in its place; if it is not back in time, nobody begins its tick any
 * more who has not; and nobody says that it is not back where it is.
 *
 * When the time begins stands in what is kept of the roll: that it is written with each end is
 * looked at, too. */
#include "rejoin-checker.h"

#include <inttypes.h>
#include <string.h>

#include "member.h"
#include "name.h"
#include "paths.h"
#include "rolls.h"

#define ROOT "/jobkeeper"
/* It is believed to stay then. */
#define STAYS_AFTER (10 * USEC_PER_SEC)
/* max-skew: by whose clocks the time is measured. */
#define SKEW (2 * USEC_PER_SEC)
/* So late may the write of a claim be that was sent in time; and so soon is it looked again. */
#define WRITTEN_WITHIN (20 * USEC_PER_SEC)
#define LOOKED_WITHIN (5 * USEC_PER_SEC)
/* A record of an end is written so long after the time that it tells, at most. */
#define SENT_WITHIN (60 * USEC_PER_SEC)

/* The last run of a machine, which is over. */
typedef struct Away {
        int64_t tick;
        char *boot;    /* in which it was claimed */
        usec_t since;  /* true time */
        usec_t until;  /* it is waited for */
        usec_t back;   /* 0: it is not, as far as it was looked */
        bool given_up; /* others have settled the run since the machine was not back */
        char node[16];
} Away;

struct RejoinBook {
        GHashTable *aways;   /* job of a machine → Away */
        GHashTable *late;    /* "JOB:TICK", a set: a machine may not have been back in time */
        GHashTable *stopped; /* the same: somebody has said that it was not */
};

static void away_free(void *data) {
        Away *away = data;

        g_free(away->boot);
        g_free(away);
}

RejoinBook *rejoin_book_new(void) {
        RejoinBook *book = g_new0(RejoinBook, 1);

        book->aways = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, away_free);
        book->late = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        book->stopped = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        return book;
}

RejoinBook *rejoin_book_free(RejoinBook *book) {
        if (!book)
                return NULL;
        g_hash_table_unref(book->aways);
        g_hash_table_unref(book->late);
        g_hash_table_unref(book->stopped);
        g_free(book);
        return NULL;
}

static char *rejoin_key(const char *job, int64_t tick) {
        g_autofree char *base = job_name_base(job);

        return g_strdup_printf("%s:%" PRId64, base, tick);
}

/* ---- who is back ---- */

static char *rejoin_boot(const char *node, const char *data) {
        _cleanup_(member_freep) Member *member = NULL;

        if (!data || member_decode(node, data, strlen(data), &member) < 0)
                return NULL;
        return g_steal_pointer(&member->boot);
}

/* Return: whether it is a member, and is not being stopped. */
static bool away_is_there(const Write *write, const Away *away) {
        g_autofree char *path = path_node(ROOT, away->node);
        const TreeNode *found = data_tree_find(write->tree, path);
        _cleanup_(member_freep) Member *member = NULL;

        return found && found->data &&
               member_decode(away->node, found->data, strlen(found->data), &member) == 0 &&
               member->busy != MEMBER_STOPPING;
}

/* The machine is a member, and has been since it became one. */
static void away_look(const Write *write, Away *away) {
        g_autofree char *path = path_node(ROOT, away->node);
        const TreeNode *found = data_tree_find(write->tree, path);
        g_autofree char *boot = found ? rejoin_boot(away->node, found->data) : NULL;
        usec_t there;

        if (!found || away->back > 0)
                return;
        there = MAX((usec_t)(found->ctime_ms - MACHINE_EPOCH * 1000) * USEC_PER_MSEC, away->since);
        if (g_strcmp0(boot, away->boot) == 0)
                there = MAX(there, away->since + STAYS_AFTER);
        if (there <= checker_now(write->checker) + SKEW)
                away->back = there;
}

static bool away_is_late(const Write *write, const Away *away) {
        return away->given_up || (checker_now(write->checker) + SKEW >= away->until &&
                                  (away->back == 0 || away->back + LOOKED_WITHIN >= away->until ||
                                   !away_is_there(write, away)));
}

/* What is known of it is not true any more. */
static void away_note_late(const Write *write, RejoinBook *book, const char *job, Away *away) {
        away_look(write, away);
        if (away_is_late(write, away))
                g_hash_table_add(book->late, rejoin_key(job, away->tick));
}

void rejoin_note_member(const Write *write, const char *node, const TransactionOp *op) {
        RejoinBook *book = write_book_rejoin(write->book);
        g_autofree char *boot = op->type == TXN_CREATE ? rejoin_boot(node, op->data) : NULL;
        GHashTableIter iterator;
        gpointer job, value;

        g_hash_table_iter_init(&iterator, book->aways);
        while (g_hash_table_iter_next(&iterator, &job, &value)) {
                Away *away = value;

                if (!g_str_equal(away->node, node))
                        continue;
                away_look(write, away);
                if (boot && away->back == 0 && g_strcmp0(boot, away->boot) != 0)
                        away->back = checker_now(write->checker);
                away_note_late(write, book, job, away);
        }
}

/* ---- a run is over ---- */

/* Return: since when it is waited for the machine, as is written now; 0: it is not. */
static usec_t rejoin_since(const Write *write, const PlanJob *job, const RunRecord *record) {
        g_autofree char *path = path_roll(ROOT, record->job);
        const char *data = write_data_after(write, path);
        _cleanup_(rolls_freep) Rolls *rolls = NULL;
        const RollRun *run;

        if (!data || rolls_decode(data, strlen(data), &rolls) < 0)
                return 0;
        run = rolls_get(rolls, record->tick, job->roll.node);
        return run ? usec_sub(run->back.since, (usec_t)MACHINE_EPOCH * USEC_PER_SEC) : 0;
}

static bool rejoin_is_in_force(const Write *write, const RunRecord *record) {
        const Ledger *ledger = write_ledger(write, record->job);

        return ledger && ledger->digest && *ledger->digest && record->tick > ledger->from;
}

/* By the clock of the machine that has settled it, which somebody may have set. */
static bool rejoin_is_plausible(const Write *write, const char *node, usec_t since) {
        usec_t now = checker_now(write->checker);

        return (since <= now + SKEW && since + SENT_WITHIN >= now) ||
               history_befell(checker_history(write->checker), node, HISTORY_CLOCK,
                              usec_sub(now, SENT_WITHIN), now);
}

void rejoin_note_settled(const Write *write, const RunRecord *before, const RunRecord *after) {
        const PlanJob *job = plan_find(checker_plan(write->checker), after->job);
        const Claimed *claimed = write_claimed(write, after->job, after->run);
        RejoinBook *book = write_book_rejoin(write->book);
        usec_t since;
        Away *away;

        if (!job || !job->roll.node || job->roll.rejoin_timeout == 0 || !after->tick || after->who)
                return;
        since = rejoin_since(write, job, after);
        if (rejoin_is_in_force(write, after) && !rejoin_is_plausible(write, after->node, since))
                checker_complain(write->checker,
                                 "run %s of %s is settled as %s, and its roll has its machine "
                                 "waited for since %" PRIu64,
                                 after->run, after->job, run_state_to_string(after->state), since);
        if (since == 0)
                return;
        away = g_new0(Away, 1);
        *away = (Away){.tick = after->tick,
                       .boot = g_strdup(before->boot),
                       .since = since,
                       .until = since + job->roll.rejoin_timeout * USEC_PER_SEC,
                       .given_up = claimed && claimed->by_others && after->state == RUN_UNKNOWN &&
                                   job->roll.reboot != PLAN_REBOOT_INTERRUPTS};
        (void)g_strlcpy(away->node, job->roll.node, sizeof(away->node));
        g_hash_table_replace(book->aways, g_strdup(job->name), away);
        away_note_late(write, book, job->name, away);
}

/* ---- who begins ---- */

/* Return: the last run of that one where it is another machine's of the same job; NULL. */
static Away *rejoin_other(const Write *write, const PlanJob *job, const PlanJob *other) {
        g_autofree char *base = job_name_base(job->name), *others = job_name_base(other->name);
        Away *away = NULL;

        if (other->roll.node && !g_str_equal(job->name, other->name) && g_str_equal(base, others))
                away = g_hash_table_lookup(write_book_rejoin(write->book)->aways, other->name);
        if (away)
                away_look(write, away);
        return away;
}

/* Return: how many other machines are away, and waited for at that time, as far as anybody knows
 * (`certain`), or may be. */
static unsigned rejoin_count(const Write *write, const PlanJob *job, usec_t at, bool certain) {
        const GPtrArray *kept = checker_plan(write->checker)->kept;
        unsigned n = 0;

        for (guint i = 0; i < kept->len; i++) {
                const Away *away = rejoin_other(write, job, kept->pdata[i]);

                n += away && !away->given_up && at < away->until &&
                     (away->back == 0 ||
                      (!certain && (away->back > at || !away_is_there(write, away))));
        }
        return n;
}

/* Return: so long after the time of a machine is over somebody may begin all the same. Where only
 * one has its turn nobody asked before. */
static usec_t rejoin_slack(const Write *write, const PlanJob *job, const RunRecord *record) {
        usec_t skew = (usec_t)checker_skew(write->checker, record->node) * USEC_PER_SEC;

        return skew + (plan_roll_turns(job) == 1 ? 0 : WRITTEN_WITHIN);
}

static void rejoin_judge_late(const Write *write, const PlanJob *job, const RunRecord *record,
                              const Away *away) {
        usec_t latest = away->until + rejoin_slack(write, job, record);

        if (away->tick != record->tick || (away->back > 0 && !away->given_up) ||
            (!away->given_up && checker_now(write->checker) < latest) ||
            roll_is_over(write, job, record->tick))
                return;
        checker_complain(write->checker,
                         "run %s of %s is claimed, and %s is not back since its own, for which it "
                         "had %" PRIu64 " s",
                         record->run, record->job, away->node,
                         (away->until - away->since) / USEC_PER_SEC);
}

static void rejoin_judge_stop(const Write *write, const PlanJob *job, const RunRecord *record) {
        const GPtrArray *kept = checker_plan(write->checker)->kept;
        g_autofree char *key = rejoin_key(job->name, record->tick);

        for (guint i = 0; i < kept->len; i++) {
                const Away *away = rejoin_other(write, job, kept->pdata[i]);

                if (away)
                        rejoin_judge_late(write, job, record, away);
        }
        if (g_hash_table_contains(write_book_rejoin(write->book)->stopped, key) &&
            !roll_is_over(write, job, record->tick))
                checker_complain(write->checker,
                                 "run %s of %s is claimed, and somebody has skipped its tick since "
                                 "a machine was not back",
                                 record->run, record->job);
}

void rejoin_judge_claim(const Write *write, const PlanJob *job, const RunRecord *record) {
        RejoinBook *book = write_book_rejoin(write->book);
        usec_t skew = (usec_t)checker_skew(write->checker, record->node) * USEC_PER_SEC,
               now = checker_now(write->checker);
        unsigned turns = plan_roll_turns(job),
                 away = rejoin_count(write, job, now + SKEW + skew, true),
                 busy = roll_count_under_way(write, job);
        Away *own = g_hash_table_lookup(book->aways, job->name);

        if (turns > 0 && away + busy >= turns)
                checker_complain(write->checker,
                                 "run %s of %s is claimed while %u other machines are away after "
                                 "their runs, and %u in them, and %u have their turn",
                                 record->run, record->job, away, busy, turns);
        if (record->attempt <= 1)
                rejoin_judge_stop(write, job, record);
        if (own)
                away_note_late(write, book, job->name, own);
        g_hash_table_remove(book->aways, job->name);
}

bool rejoin_keeps_waiting(const Write *write, const PlanJob *job) {
        usec_t lately = usec_sub(checker_now(write->checker), LOOKED_WITHIN);
        unsigned turns = plan_roll_turns(job);

        return job->roll.rejoin_timeout > 0 && turns > 0 &&
               rejoin_count(write, job, lately, false) + roll_count_under_way(write, job) >= turns;
}

/* ---- who does not ---- */

bool rejoin_may_have_stopped(const Write *write, const PlanJob *job, int64_t tick) {
        const GPtrArray *kept = checker_plan(write->checker)->kept;
        g_autofree char *key = rejoin_key(job->name, tick);
        bool may = g_hash_table_contains(write_book_rejoin(write->book)->late, key);

        for (guint i = 0; i < kept->len && !may; i++) {
                const Away *away = rejoin_other(write, job, kept->pdata[i]);

                may = away && away->tick == tick && away_is_late(write, away);
        }
        return may;
}

void rejoin_note_stop(const Write *write, const PlanJob *job, int64_t tick) {
        g_hash_table_add(write_book_rejoin(write->book)->stopped, rejoin_key(job->name, tick));
}

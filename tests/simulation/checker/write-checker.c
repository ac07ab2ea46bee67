/* See write-checker.h: what a transaction is about, and what is remembered of those before it. */
#include "write-checker.h"

#include <string.h>

#include "alarm-checker.h"
#include "follow-checker.h"
#include "loss-checker.h"
#include "paths.h"
#include "rejoin-checker.h"
#include "rename-checker.h"
#include "service-checker.h"
#include "turn-checker.h"

#define ROOT "/jobkeeper"

/* Who gave a run up just then has not seen yet that its node is back: for as long as a session
 * lasts that hears nothing, or what a server says that is behind. */
#define JUST_BACK (40 * USEC_PER_SEC)

typedef struct Absence {
        usec_t since, back; /* back: 0: it is not */
} Absence;

struct WriteBook {
        Checker *checker;
        GHashTable *claims;   /* "JOB:RUN" → Claimed */
        GHashTable *locks;    /* path of a contender → Claimed, borrowed */
        GHashTable *sessions; /* int64_t → name of a node */
        GHashTable *gone;     /* name of a node → the last time that it was no member, Absence */
        TurnBook *turns;
        FollowBook *follows;
        ServiceBook *services;
        RejoinBook *rejoin;
        AlarmBook *alarms;
};

static void claimed_free(void *data) {
        Claimed *claimed = data;

        g_free(claimed->job);
        g_free(claimed->run);
        g_free(claimed->node);
        g_free(claimed);
}

WriteBook *write_book_new(Checker *checker) {
        WriteBook *book = g_new0(WriteBook, 1);

        book->checker = checker;
        book->claims = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, claimed_free);
        book->locks = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        book->sessions = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
        book->gone = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        book->turns = turn_book_new();
        book->follows = follow_book_new();
        book->services = service_book_new();
        book->rejoin = rejoin_book_new();
        book->alarms = alarm_book_new();
        return book;
}

WriteBook *write_book_free(WriteBook *book) {
        if (!book)
                return NULL;
        turn_book_free(book->turns);
        follow_book_free(book->follows);
        service_book_free(book->services);
        rejoin_book_free(book->rejoin);
        alarm_book_free(book->alarms);
        g_hash_table_unref(book->locks);
        g_hash_table_unref(book->claims);
        g_hash_table_unref(book->sessions);
        g_hash_table_unref(book->gone);
        g_free(book);
        return NULL;
}

/* ---- what is known ---- */

static char *write_claim_key(const WriteBook *book, const char *job, const char *run) {
        return g_strdup_printf("%s:%s", plan_first_name(checker_plan(book->checker), job), run);
}

const Claimed *write_book_find(const WriteBook *book, const char *job, const char *run) {
        g_autofree char *key = write_claim_key(book, job, run);

        return g_hash_table_lookup(book->claims, key);
}

const Claimed *write_book_holder(const WriteBook *book, const char *path) {
        return g_hash_table_lookup(book->locks, path);
}

Claimed *write_claimed(const Write *write, const char *job, const char *run) {
        return (Claimed *)write_book_find(write->book, job, run);
}

Claimed *write_note_claim(const Write *write, const RunRecord *record) {
        Claimed *claimed = g_new0(Claimed, 1);

        *claimed = (Claimed){
            .job = g_strdup(plan_first_name(checker_plan(write->checker), record->job)),
            .run = g_strdup(record->run),
            .node = g_strdup(record->node),
            .session = write->txn->session,
            .zxid = write->txn->zxid,
            .at = checker_now(write->checker),
            .continues = record->continues,
            .takeover_after = record->terms.takeover_after,
        };
        g_hash_table_replace(write->book->claims,
                             write_claim_key(write->book, record->job, record->run), claimed);
        return claimed;
}

void write_note_lock(const Write *write, const char *path, Claimed *claimed) {
        g_hash_table_insert(write->book->locks, g_strdup(path), claimed);
}

const char *write_book_host(const WriteBook *book, int64_t session) {
        return g_hash_table_lookup(book->sessions, &session);
}

const char *write_author(const Write *write) {
        return write_book_host(write->book, write->txn->session);
}

ServiceBook *write_book_services(const WriteBook *book) {
        return book->services;
}

RejoinBook *write_book_rejoin(const WriteBook *book) {
        return book->rejoin;
}

AlarmBook *write_book_alarms(const WriteBook *book) {
        return book->alarms;
}

FollowBook *write_follows(const Write *write) {
        return write->book->follows;
}

/* ---- what is written ---- */

static const char *write_data(const Write *write, const char *path, bool after) {
        const TreeNode *node = data_tree_find(write->tree, path);
        const char *data = node ? node->data : NULL;

        for (size_t i = 0; after && i < write->txn->n_ops; i++) {
                const TransactionOp *op = &write->txn->ops[i];

                if (op->path && op->type != TXN_CHECK && strcmp(op->path, path) == 0)
                        data = op->data;
        }
        return data;
}

const char *write_data_after(const Write *write, const char *path) {
        return write_data(write, path, true);
}

RunRecord *write_record_of(const Write *write, const char *name, const char *run, bool after) {
        g_autofree char *path = path_run(ROOT, name, run);
        const char *data = write_data(write, path, after);
        RunRecord *record = NULL;

        return data && run_record_decode(data, strlen(data), &record) == 0 ? record : NULL;
}

RunRecord *write_record(const Write *write, const char *name, const char *run, bool after) {
        const PlanJob *job = plan_find(checker_plan(write->checker), name);
        const char *next = job ? plan_next_name(checker_plan(write->checker), job) : NULL;
        RunRecord *record = write_record_of(write, job ? job->name : name, run, after);

        return record || !next ? record : write_record_of(write, next, run, after);
}

const Ledger *write_ledger(const Write *write, const char *job) {
        return g_hash_table_lookup(checker_ledgers(write->checker),
                                   plan_first_name(checker_plan(write->checker), job));
}

static Ledger *write_ledger_of(const Write *write, const char *name) {
        g_autofree char *path = path_job(ROOT, name);
        const char *data = write_data(write, path, true);
        Ledger *ledger = NULL;

        return data && ledger_decode(data, strlen(data), &ledger) == 0 ? ledger : NULL;
}

Ledger *write_ledger_after(const Write *write, const char *name) {
        const PlanJob *job = plan_find(checker_plan(write->checker), name);
        const char *next = job ? plan_next_name(checker_plan(write->checker), job) : NULL;
        Ledger *ledger = next ? write_ledger_of(write, next) : NULL;

        return ledger ? ledger : write_ledger_of(write, job ? job->name : name);
}

/* ---- one operation after the other ---- */

static void write_take_record(const Write *write, const char *job, const char *run) {
        _cleanup_(run_record_freep) RunRecord *before = write_record_of(write, job, run, false),
                                              *after = write_record_of(write, job, run, true);

        if (!before && after)
                rename_judge_record(write, after);
        if (after) /* before a settle is noted */
                follow_judge_record(write, before, after);
        if (after)
                alarm_note_record(write, before, after);
        if (!before && after && after->state == RUN_CLAIMED)
                claim_judge(write, after);
        else if (before)
                settle_judge(write, before, after);
        if (after && after->state == RUN_SKIPPED && after->tick)
                skip_judge(write, after);
}

static void write_take_ledger(const Write *write, const char *name) {
        const PlanJob *job = plan_find(checker_plan(write->checker), name);
        const Ledger *before = write_ledger(write, name);
        _cleanup_(ledger_freep) Ledger *after = NULL;

        if (!job || !rename_judge_ledger(write, job, name) || !before)
                return;
        after = write_ledger_after(write, name);
        if (!after)
                return;
        step_judge(write, job->name, before, after);
        alarm_judge_ledger(write, job, name, before, after);
}

static void write_take_contender(const Write *write, const TransactionOp *op) {
        Claimed *claimed = g_hash_table_lookup(write->book->locks, op->path);

        if (op->type != TXN_DELETE || !claimed)
                return;
        claimed->cleared |= write->txn->origin == TXN_BY_HAND;
        if (write->txn->of != REQUEST_CLOSE && !claimed->cleared)
                settle_judge_leaving(write, op->path, claimed);
        g_hash_table_remove(write->book->locks, op->path);
}

usec_t write_gone_for(const Write *write, const char *node) {
        const Absence *absence = g_hash_table_lookup(write->book->gone, node);
        usec_t now = checker_now(write->checker);

        if (!absence || (absence->back > 0 && absence->back + JUST_BACK < now))
                return 0;
        return (absence->back > 0 ? absence->back : now) - absence->since;
}

static void write_take_presence(const Write *write, const char *node, bool is_there) {
        Absence *absence = g_hash_table_lookup(write->book->gone, node);
        Absence begins = {.since = checker_now(write->checker)};

        if (absence && absence->back > 0 && begins.since < usec_add(absence->back, JUST_BACK))
                begins.since = absence->since; /* somebody may not have seen it at all */

        if (!is_there)
                g_hash_table_insert(write->book->gone, g_strdup(node),
                                    g_memdup2(&begins, sizeof(begins)));
        else if (absence)
                absence->back = checker_now(write->checker);
}

/* What a node has claimed in another session it does not hold in that of its new member. */
static void write_take_member(const Write *write, const char *node) {
        const GPtrArray *alive = history_alive(checker_history(write->checker));

        for (guint i = 0; i < alive->len; i++) {
                const HistoryRun *run = alive->pdata[i];
                const Claimed *claimed = write_book_find(write->book, run->job, run->run);

                if (claimed && claimed->session != write->txn->session &&
                    strcmp(run->node, node) == 0)
                        loss_note(write->checker, run->job, run->run);
        }
}

static void write_take(const Write *write, const TransactionOp *op) {
        g_auto(GStrv) parts = g_strsplit(op->path, "/", 7); /* the first is empty */
        guint n = g_strv_length(parts);

        if (n == 3 && strcmp(parts[2], "control") == 0)
                service_note_control(write);
        if (n < 4 || strcmp(parts[1], &ROOT[1]) != 0)
                return;
        if (strcmp(parts[2], "jobs") == 0 && n == 4)
                write_take_ledger(write, parts[3]);
        else if (strcmp(parts[2], "jobs") == 0 && n == 6)
                write_take_record(write, parts[3], parts[5]);
        else if (strcmp(parts[2], "locks") == 0 && n == 5)
                write_take_contender(write, op);
        else if (strcmp(parts[2], "nodes") == 0 && op->type == TXN_CREATE)
                write_take_member(write, parts[3]);
        else if (strcmp(parts[2], "requests") == 0 && n == 4)
                follow_judge_request(write, op);
        if (strcmp(parts[2], "nodes") != 0 || (op->type != TXN_CREATE && op->type != TXN_DELETE))
                return;
        write_take_presence(write, parts[3], op->type == TXN_CREATE);
        rejoin_note_member(write, parts[3], op);
}

bool checker_has_cleared(const Checker *checker, const HistoryRun *run) {
        const Claimed *claimed = write_book_find(checker_book(checker), run->job, run->run);

        return claimed && claimed->cleared;
}

void checker_session(Checker *checker, const char *node, int64_t session) {
        g_hash_table_insert(checker_book(checker)->sessions, g_memdup2(&session, sizeof(session)),
                            g_strdup(node));
        alarm_note_connected(checker_book(checker)->alarms, node, checker_now(checker));
}

void checker_answered(Checker *checker, int64_t session, usec_t asked) {
        turn_note_answer(checker_book(checker)->turns, session, asked, checker_now(checker));
}

void checker_write(Checker *checker, const Transaction *txn, const DataTree *tree) {
        const Write write = {checker_book(checker), checker, txn, tree};

        turn_look(checker, write.book->turns, tree);
        service_look(&write, write.book->services, write.book->turns);
        for (size_t i = 0; i < txn->n_ops; i++)
                if (txn->ops[i].type == TXN_ERROR)
                        return;
        for (size_t i = 0; i < txn->n_ops; i++)
                if (txn->ops[i].path && txn->ops[i].type != TXN_CHECK)
                        write_take(&write, &txn->ops[i]);
}

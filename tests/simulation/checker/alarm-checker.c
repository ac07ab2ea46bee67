/* Alarms. Of which job a success is expected, within which time, and when there was one last the
 * checker knows from the plan and from the records of runs, not from what the nodes make of them.
 *
 * What is told is true: it is written to the ledger by a machine that is a member, and the last
 * success is longer ago than that machine's files allow, or have allowed lately.
 *
 * It is told once of each silence, as long as no day has passed. Who writes it says it in its
 * journal, and nobody else does: unless the answer to a write was lost, which breaks a connection.
 * Then it may be said twice. Whoever is killed between the write and the word says nothing.
 *
 * It is told in time (checker_judge_alarms()), when all is well. */
#include "alarm-checker.h"

#include <inttypes.h>
#include <string.h>

#include "name.h"
#include "paths.h"
#include "placement.h"
#include "rename-checker.h"

#define ROOT "/jobkeeper"
/* It may be told again after that. */
#define REMIND USEC_PER_DAY
/* An edit is in force, or is not any more, within this. */
#define READ_WITHIN USEC_PER_MINUTE
/* All is well, and a silence is too long: somebody may have found something amiss just before, and
 * looks again after a minute, or has just begun, and looks after ten seconds. */
#define TOLD_WITHIN (90 * USEC_PER_SEC)
/* What befalls a machine in this time around a write explains that it says nothing of it. */
#define BEFORE_WORD USEC_PER_MINUTE
#define AFTER_WORD USEC_PER_MINUTE
/* A connection that broke is there again within this. */
#define CONNECTED_WITHIN (2 * USEC_PER_MINUTE)

/* What is known of a job; times are the servers'. */
typedef struct Alarm {
        usec_t came;    /* 0: nobody has changed its definition since */
        usec_t success; /* the end of the last one; 0: none since the job is there */
        usec_t told;    /* of this silence, by the ledger; 0: it was not */
        usec_t moved;   /* it goes on under another name since then; 0: it does not */
} Alarm;

/* That one was told: by the ledger, `node` wrote it; or in the journal of `node` alone. */
typedef struct Telling {
        const PlanJob *job;
        char *node;
        usec_t at;         /* true time */
        bool is_explained; /* it was said in that journal; or a connection broke */
} Telling;

/* It was too long, and nobody told before it was over, at that time. */
typedef struct Silence {
        const PlanJob *job;
        usec_t due, over;
} Silence;

struct AlarmBook {
        GHashTable *jobs;             /* PlanJob, the plan's → Alarm */
        GPtrArray *written, *unheard; /* of Telling */
        GArray *silences;             /* of Silence */
};

static void telling_free(void *data) {
        Telling *telling = data;

        g_free(telling->node);
        g_free(telling);
}

AlarmBook *alarm_book_new(void) {
        AlarmBook *book = g_new0(AlarmBook, 1);

        book->jobs = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
        book->written = g_ptr_array_new_with_free_func(telling_free);
        book->unheard = g_ptr_array_new_with_free_func(telling_free);
        book->silences = g_array_new(FALSE, FALSE, sizeof(Silence));
        return book;
}

AlarmBook *alarm_book_free(AlarmBook *book) {
        if (!book)
                return NULL;
        g_hash_table_unref(book->jobs);
        g_ptr_array_unref(book->written);
        g_ptr_array_unref(book->unheard);
        g_array_unref(book->silences);
        g_free(book);
        return NULL;
}

static Alarm *alarm_of(const AlarmBook *book, const PlanJob *job) {
        Alarm *alarm = g_hash_table_lookup(book->jobs, job);

        if (!alarm) {
                alarm = g_new0(Alarm, 1);
                g_hash_table_insert(book->jobs, (gpointer)job, alarm);
        }
        return alarm;
}

/* Return: since when the job is there. A changed definition is no new job. */
static usec_t alarm_came(const Alarm *alarm, const Ledger *ledger) {
        return alarm->came ? alarm->came : (usec_t)ledger->from * USEC_PER_SEC;
}

/* Return: since when no run has succeeded. */
static usec_t alarm_since(const Alarm *alarm, const Ledger *ledger) {
        return alarm->success ? alarm->success : alarm_came(alarm, ledger);
}

static usec_t alarm_time(const Write *write) {
        return (usec_t)write->txn->time_ms * USEC_PER_MSEC;
}

/* ---- what is expected ---- */

static usec_t alarm_within(const PlanJob *job) {
        return job->within > 0 ? job->within * USEC_PER_SEC : USEC_INFINITY;
}

/* Return: whether the files of the machine said something else of the job lately. */
static bool alarm_was_edited(const Checker *checker, const PlanJob *job, const char *node,
                             usec_t from, usec_t to) {
        g_autofree char *base = job_name_base(job->name);

        return history_was_edited(checker_history(checker), node, base, usec_sub(from, READ_WITHIN),
                                  to);
}

/* Return: the least that the machine may expect of the job. */
static usec_t alarm_least(const Checker *checker, const PlanJob *job, const char *node) {
        const GPtrArray *edits = checker_plan(checker)->edits;
        usec_t now = checker_now(checker), least = alarm_within(job);

        if (!alarm_was_edited(checker, job, node, now, now))
                return least;
        for (guint i = 0; i < edits->len; i++) {
                const PlanJob *edit = edits->pdata[i];

                if (g_str_equal(edit->name, job->name))
                        least = MIN(least, alarm_within(edit));
        }
        return least;
}

/* ---- a success ---- */

/* When all is well it is told by then. */
static usec_t alarm_patience(const Checker *checker) {
        return TOLD_WITHIN +
               (usec_t)(PLACEMENT_RANKS - 1) * checker_plan(checker)->takeover_ms * USEC_PER_MSEC;
}

/* It is over; whether all was well is known at the end. */
static void alarm_note_silence(const Checker *checker, const PlanJob *job, const Ledger *ledger,
                               usec_t now) {
        AlarmBook *book = write_book_alarms(checker_book(checker));
        const Alarm *alarm = alarm_of(book, job);
        usec_t since = alarm_since(alarm, ledger);
        Silence silence = {job, MAX(usec_add(since, alarm_within(job)), alarm->moved), now};

        if (alarm->told == 0 && now > usec_add(silence.due, alarm_patience(checker)))
                g_array_append_val(book->silences, silence);
}

/* An end that lies ahead, by a clock that was wrong, is now; what ended before the job was there is
 * no success of it. What was told before the success was known is over as well. */
void alarm_note_record(const Write *write, const RunRecord *before, const RunRecord *after) {
        const PlanJob *job = plan_find(checker_plan(write->checker), after->job);
        const Ledger *ledger = write_ledger(write, after->job);
        usec_t ended = MIN(after->ended, alarm_time(write));
        Alarm *alarm;

        if (!job || !ledger || after->state != RUN_SUCCEEDED ||
            (before && before->state == RUN_SUCCEEDED))
                return;
        alarm = alarm_of(write_book_alarms(write->book), job);
        if (ended < alarm->success || (!alarm->success && ended < alarm_came(alarm, ledger)))
                return;
        alarm_note_silence(write->checker, job, ledger, alarm_time(write));
        alarm->success = ended;
        alarm->told = 0;
}

/* ---- it is told ---- */

/* Return: whether the machine that writes is a member, in that session. */
static bool alarm_is_of_member(const Write *write, const char *node) {
        g_autofree char *path = path_node(ROOT, node);
        const TreeNode *member = data_tree_find(write->tree, path);

        return member && member->owner == write->txn->session;
}

static void alarm_judge_truth(const Write *write, const PlanJob *job, const char *node,
                              usec_t since, usec_t told) {
        usec_t skew = (usec_t)checker_skew(write->checker, node) * USEC_PER_SEC,
               now = alarm_time(write), within = alarm_least(write->checker, job, node);

        if (!alarm_is_of_member(write, node))
                checker_complain(write->checker, "%s tells that %s is overdue, and is not a member",
                                 node, job->name);
        else if (within == USEC_INFINITY)
                checker_complain(write->checker,
                                 "%s tells that %s is overdue, of which nothing is expected there",
                                 node, job->name);
        else if (usec_add(since, within) > now + skew)
                checker_complain(write->checker,
                                 "%s tells that %s is overdue %" PRIu64
                                 " ms after a success, and one is expected within %" PRIu64 " ms",
                                 node, job->name, usec_sub(now, since) / USEC_PER_MSEC,
                                 within / USEC_PER_MSEC);
        else if (told > now + skew)
                checker_complain(write->checker,
                                 "%s tells that %s is overdue %" PRIu64 " ms ahead of time", node,
                                 job->name, (told - now) / USEC_PER_MSEC);
}

static void alarm_judge_once(const Write *write, const PlanJob *job, const char *node,
                             const Alarm *alarm) {
        usec_t skew = (usec_t)checker_skew(write->checker, node) * USEC_PER_SEC,
               now = alarm_time(write);

        if (alarm->told > 0 && now + skew < usec_add(alarm->told, REMIND))
                checker_complain(write->checker,
                                 "%s tells that %s is overdue, which was told %" PRIu64 " s ago",
                                 node, job->name, usec_sub(now, alarm->told) / USEC_PER_SEC);
}

/* Return: the newest of these that is of that node and job, and not explained; NULL: there is none.
 */
static Telling *telling_find(const GPtrArray *tellings, const PlanJob *job, const char *node) {
        for (guint i = tellings->len; i > 0; i--) {
                Telling *telling = tellings->pdata[i - 1];

                if (telling->job == job && !telling->is_explained &&
                    g_str_equal(telling->node, node))
                        return telling;
        }
        return NULL;
}

/* Return: it, in the list. */
static Telling *telling_add(GPtrArray *tellings, const PlanJob *job, const char *node, usec_t now) {
        Telling *telling = g_new0(Telling, 1);

        *telling = (Telling){job, g_strdup(node), now, false};
        g_ptr_array_add(tellings, telling);
        return telling;
}

/* What was said before it was done is explained by that. */
static void alarm_note_written(const Write *write, const PlanJob *job, const char *node) {
        AlarmBook *book = write_book_alarms(write->book);
        Telling *said = telling_find(book->unheard, job, node),
                *written = telling_add(book->written, job, node, checker_now(write->checker));

        if (!said)
                return;
        written->is_explained = true;
        g_ptr_array_remove(book->unheard, said);
}

static void alarm_take(const Write *write, const PlanJob *job, const Ledger *before,
                       const Ledger *after) {
        Alarm *alarm = alarm_of(write_book_alarms(write->book), job);
        const char *node = write_author(write);
        usec_t since = alarm_since(alarm, before);

        if (!node) {
                checker_complain(write->checker, "nobody tells that %s is overdue", job->name);
                return;
        }
        alarm_judge_truth(write, job, node, since, after->overdue);
        alarm_judge_once(write, job, node, alarm);
        alarm->told = after->overdue;
        alarm_note_written(write, job, node);
}

void alarm_judge_ledger(const Write *write, const PlanJob *job, const char *name,
                        const Ledger *before, const Ledger *after) {
        Alarm *alarm = alarm_of(write_book_alarms(write->book), job);

        if (*before->digest)
                alarm->came = alarm_came(alarm, before);
        if (!alarm->moved && strcmp(name, job->name) != 0)
                alarm->moved = alarm_time(write);
        if (after->overdue > 0 && after->overdue != before->overdue)
                alarm_take(write, job, before, after);
        if (!*after->digest) /* it begins anew when it comes back */
                alarm->came = alarm->success = alarm->told = 0;
}

/* ---- it is said ---- */

void checker_says_overdue(Checker *checker, const char *node, const char *name) {
        AlarmBook *book = write_book_alarms(checker_book(checker));
        const PlanJob *job = plan_find(checker_plan(checker), name);
        Telling *written = job ? telling_find(book->written, job, node) : NULL;

        if (written)
                written->is_explained = true;
        else
                (void)telling_add(book->unheard, job, node, checker_now(checker));
}

void alarm_note_connected(AlarmBook *book, const char *host, usec_t now) {
        for (guint i = 0; i < book->unheard->len; i++) {
                Telling *said = book->unheard->pdata[i];

                if (g_str_equal(said->node, host) && now < said->at + CONNECTED_WITHIN)
                        said->is_explained = true;
        }
}

/* ---- in peace ---- */

static bool alarm_befell(const Checker *checker, const Telling *telling, unsigned matters) {
        return history_befell(checker_history(checker), telling->node, matters,
                              usec_sub(telling->at, BEFORE_WORD), telling->at + AFTER_WORD);
}

/* An edit may have it that nothing is expected any more. */
static void alarm_judge_words(Checker *checker, const AlarmBook *book) {
        for (guint i = 0; i < book->written->len; i++) {
                const Telling *one = book->written->pdata[i];

                if (!one->is_explained &&
                    !alarm_befell(checker, one, HISTORY_DAEMON | HISTORY_CRASH) &&
                    !alarm_was_edited(checker, one->job, one->node, one->at, one->at + AFTER_WORD))
                        checker_complain(checker,
                                         "%s has written that %s is overdue at %" PRIu64
                                         ", and never said it",
                                         one->node, one->job->name, one->at);
        }
        for (guint i = 0; i < book->unheard->len; i++) {
                const Telling *one = book->unheard->pdata[i];

                if (!one->is_explained && !alarm_befell(checker, one, HISTORY_ANY))
                        checker_complain(checker,
                                         "%s says that %s is overdue at %" PRIu64
                                         ", and has not written it",
                                         one->node, one->job ? one->job->name : "no job", one->at);
        }
}

/* Return: whether somebody can tell: of what each machine has, that machine, if it is there; and
 * what waits to go on under its other name stands under neither. */
static bool alarm_is_told_by_somebody(const Checker *checker, const DataTree *tree,
                                      const PlanJob *job) {
        g_autofree char *member = path_node(ROOT, job->roll.node ? job->roll.node : "");
        bool waits = plan_renamed_count(checker_plan(checker), job) > 0 &&
                     g_str_equal(rename_name(checker, job), job->name);

        return !waits && (!job->roll.node || data_tree_find(tree, member));
}

static void alarm_judge_silences(Checker *checker, const AlarmBook *book, usec_t calm_from) {
        for (guint i = 0; i < book->silences->len; i++) {
                const Silence *silence = &g_array_index(book->silences, Silence, i);
                usec_t due = MAX(silence->due, calm_from);

                if (silence->over > usec_add(due, alarm_patience(checker)))
                        checker_complain(checker,
                                         "%s was overdue for %" PRIu64
                                         " s, and nobody told it though nothing was wrong",
                                         silence->job->name, (silence->over - due) / USEC_PER_SEC);
        }
}

void checker_judge_alarms(Checker *checker, const DataTree *tree, int64_t calm_from, int64_t now) {
        const GPtrArray *kept = checker_plan(checker)->kept;
        const AlarmBook *book = write_book_alarms(checker_book(checker));

        for (guint i = 0; i < kept->len; i++) {
                const PlanJob *job = kept->pdata[i];
                const Ledger *ledger = g_hash_table_lookup(checker_ledgers(checker), job->name);

                if (ledger && *ledger->digest && alarm_is_told_by_somebody(checker, tree, job))
                        alarm_note_silence(checker, job, ledger, (usec_t)now * USEC_PER_SEC);
        }
        alarm_judge_silences(checker, book, (usec_t)calm_from * USEC_PER_SEC);
        alarm_judge_words(checker, book);
}

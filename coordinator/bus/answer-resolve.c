/* See answer-resolve.h. What is said is held against the run's record first, for whoever asks to
 * hear why not; then it is settled as its owner would refine it (settle.h), which looks again.
 *
 * Of a run of a service that may be alive the ledger knows as well, and nothing of the job begins
 * before its end is said: where its record was lost that is done by what the ledger has.
 *
 * A job that was renamed is known by either name: the record of a run is under the name that the
 * job had when it was claimed, and what its ledger has of it is under the one that it has now.
 * Where the one that was said has no such run, it is looked for under those that lead to it or from
 * it.
 *
 * Only of what is unknown it is taken. Of an interrupted run is known how it ended: it was stopped.
 * While it is settled the daemon may die at any point: it is one transaction. Who asks again after
 * that is told what is recorded. */
#include "answer-resolve.h"

#include <string.h>

#include "answer-control.h"
#include "bus-interface.h"
#include "json-line.h"
#include "ledger.h"
#include "log.h"
#include "message-id.h"
#include "name.h"
#include "paths.h"
#include "rename.h"
#include "settle.h"
#include "statement.h"

/* What stands under a name of the job. */
typedef struct ResolveName {
        char *job;
        RunRecord *record; /* of the run; NULL: there is none that can be read */
        Ledger *ledger;    /* likewise */
        unsigned newest;   /* attempt of the run's tick that there is a record of */
        bool missing;      /* there is no such record */
} ResolveName;

/* What is said, and the settle that writes it. */
typedef struct Word {
        RunState state;
        char *by, *why;
        GPtrArray *names; /* ResolveName: first the one that was said */
        guint n_read;     /* of them */
        unsigned newest;  /* attempt of the run's tick, under the name of the record or a later */
        Settle *settle;
} Word;

static void resolve_name_free(void *data) {
        ResolveName *name = data;

        run_record_free(name->record);
        ledger_free(name->ledger);
        g_free(name->job);
        g_free(name);
}

static Word *word_of(const Answer *answer) {
        return answer->gone.userdata;
}

static void resolve_on_gone(const Answer *answer, void *userdata) {
        Word *word = userdata;

        settle_free(word->settle);
        g_ptr_array_unref(word->names);
        g_free(word->by);
        g_free(word->why);
        g_free(word);
}

/* Return: the record as it was read, which becomes what it is to be; NULL where there is none. */
static RunRecord *resolve_record(const Answer *answer) {
        return answer->records->len > 0 ? answer->records->pdata[0] : NULL;
}

static void resolve_done(Answer *answer) {
        const RunRecord *record = resolve_record(answer);
        const LogAbout about = {.message_id = MESSAGE_RUN_RESOLVED,
                                .job = record->job,
                                .run = record->run,
                                .tick = record->tick};

        log_notice(&about, "run %s was unknown and is recorded as %s: %s%s", record->run,
                   run_state_to_string(record->state), record->why,
                   record->terms.service ? "; nothing of the service waits for its end any more"
                                         : "");
        answer_reply(answer, run_record_to_json(record));
}

static void resolve_on_settled(SettleOutcome outcome, void *userdata) {
        Answer *answer = userdata;

        switch (outcome) {
        case SETTLE_DONE:
                resolve_done(answer);
                return;
        case SETTLE_ELSEWHERE:
                answer_error(answer, BUS_ERROR_FAILED,
                             "more has become known of run %s of job \"%s\" meanwhile: look again "
                             "(jobkeeper history %s)",
                             answer->run, answer->job, answer->job);
                return;
        case SETTLE_AGAIN:
                answer_error(answer, BUS_ERROR_NOT_CONNECTED,
                             "the ZooKeeper session was lost: it may be recorded all the same "
                             "(jobkeeper history %s)",
                             answer->job);
        }
}

/* ---- what is recorded ---- */

/* Return: newly allocated, why nothing can be said of the run any more or yet, a part of a
 * sentence; NULL: it is unknown. */
static char *resolve_state_why(const RunRecord *record) {
        const char *why = record->why ? record->why : "";

        if (!run_state_is_final(record->state))
                return g_strdup_printf("is under way on %s, which will say how it ends",
                                       record->node ? record->node : "?");
        if (record->state != RUN_UNKNOWN)
                return g_strdup_printf("is known to have ended: %s%s%s",
                                       run_state_to_string(record->state), *why ? ": " : "", why);
        return NULL;
}

/* The record of a run that a service waits for the end of was lost: as far as the ledger knows it.
 */
static void resolve_record_by_ledger(const Answer *answer, ResolveName *name) {
        const LedgerEntry *entry = name->ledger ? ledger_find_run(name->ledger, answer->run) : NULL;
        RunRecord *record;

        if (!entry || !ledger_may_be_alive(entry))
                return;
        record = run_record_new(name->job, answer->run);
        record->tick = entry->tick;
        record->attempt = entry->attempt;
        record->node = g_strdup(entry->node);
        record->state = RUN_UNKNOWN;
        record->continues = true;
        record->ended = record->claimed = entry->claimed; /* how long it lived is not known */
        name->record = record;
}

/* ---- which name ---- */

static ResolveName *resolve_find_name(const Word *word, const char *job) {
        for (guint i = 0; job && i < word->names->len; i++) {
                ResolveName *name = word->names->pdata[i];

                if (g_str_equal(name->job, job))
                        return name;
        }
        return NULL;
}

static void resolve_add_name(Word *word, const char *job) {
        ResolveName *name;

        if (!job || resolve_find_name(word, job) || word->names->len >= RENAME_NAMES_MAX)
                return;
        name = g_new0(ResolveName, 1);
        name->job = g_strdup(job);
        g_ptr_array_add(word->names, name);
}

/* Adds the names that lead from that one, and where the run is not known to be of it, to it. While
 * a job waits to go on from another it has no ledger, and the files alone say so. */
static void resolve_add_names_beside(const Answer *answer, const ResolveName *name) {
        const JobSet *jobset = answer_view(answer)->jobset;
        Word *word = word_of(answer);
        const JobSpec *here = jobset_find(jobset, name->job),
                      *now = jobset_find_was(jobset, name->job);

        if (name->ledger)
                resolve_add_name(word, name->ledger->renamed);
        if (name->record)
                return;
        if (name->ledger)
                resolve_add_name(word, name->ledger->was);
        resolve_add_name(word, here ? here->books.was.job : NULL);
        resolve_add_name(word, now ? now->name : NULL);
}

/* Return: the name under which there is something of the run; NULL: there is none. */
static ResolveName *resolve_choose_name(const Answer *answer) {
        const GPtrArray *names = word_of(answer)->names;

        for (guint i = 0; i < names->len; i++) {
                ResolveName *name = names->pdata[i];

                if (!name->record)
                        resolve_record_by_ledger(answer, name);
                if (name->record)
                        return name;
        }
        return NULL;
}

/* The answer is about the run by that name from now on. What the job did by later names counts. */
static void resolve_take_name(Answer *answer, ResolveName *name) {
        Word *word = word_of(answer);
        RunRecord *record = g_steal_pointer(&name->record);

        g_ptr_array_add(answer->records, record);
        g_free(answer->job);
        answer->job = g_strdup(name->job);
        for (guint i = 0; name && i < word->names->len; i++) {
                word->newest = MAX(word->newest, name->newest);
                if (name->ledger)
                        ledger_complete(name->ledger, record, false);
                name = resolve_find_name(word, name->ledger ? name->ledger->renamed : NULL);
        }
}

/* Return: whether there is no such record, rather than one that cannot be read. */
static bool resolve_is_missing(const Answer *answer) {
        const GPtrArray *names = word_of(answer)->names;
        bool missing = true;

        for (guint i = 0; i < names->len; i++)
                missing &= ((const ResolveName *)names->pdata[i])->missing;
        return missing;
}

/* ---- the settle ---- */

/* Return: newly allocated, a part of a sentence; NULL: it can be resolved. */
static char *resolve_why_not(const Answer *answer) {
        const RunRecord *record = resolve_record(answer);
        char *why = resolve_state_why(record);

        if (!why && record->tick && word_of(answer)->newest > record->attempt)
                return g_strdup_printf("was followed by attempt %u of its tick, whose end counts",
                                       word_of(answer)->newest);
        return why;
}

static void resolve_settle(Answer *answer) {
        const View *view = answer_view(answer);
        Word *word = word_of(answer);
        RunRecord *record = resolve_record(answer);
        const SettleRequest request = {
            .record = record, .owner = record->node ? record->node : "", .record_version = -1};

        run_record_resolve(record, word->state, word->by, word->why, node_server_time(view->node));
        if (settle_start(view->settler, &request, resolve_on_settled, answer, &word->settle) < 0)
                answer_error(answer, BUS_ERROR_NOT_CONNECTED, "no ZooKeeper session");
}

/* Everything that there is to read is read. */
static void resolve_judge(Answer *answer) {
        ResolveName *name = resolve_choose_name(answer);
        g_autofree char *why = NULL;

        if (!name) {
                answer_error(answer, BUS_ERROR_FAILED,
                             resolve_is_missing(answer)
                                 ? "there is no record of a run %s of job \"%s\" (jobkeeper "
                                   "history %s)"
                                 : "the record of run %s of job \"%s\" cannot be read (jobkeeper "
                                   "history %s)",
                             answer->run, answer->job, answer->job);
                return;
        }
        resolve_take_name(answer, name);
        why = resolve_why_not(answer);
        if (why)
                answer_error(answer, BUS_ERROR_FAILED, "run %s of job \"%s\" %s", answer->run,
                             answer->job, why);
        else
                resolve_settle(answer);
}

/* ---- the reads ---- */

static void resolve_on_record(Answer *answer, const char *tag, const ZkReply *reply) {
        ResolveName *name = resolve_find_name(word_of(answer), tag);
        RunRecord *record = NULL;

        name->missing = reply->code == ZK_NO_NODE;
        answer->broken |= reply->code != ZK_OK && !name->missing;
        if (reply->code != ZK_OK || run_record_decode(reply->data, reply->data_size, &record) < 0)
                return;
        if (g_str_equal(record->job, name->job) && g_str_equal(record->run, answer->run))
                name->record = record;
        else
                run_record_free(record);
}

static void resolve_on_ledger(Answer *answer, const char *tag, const ZkReply *reply) {
        ResolveName *name = resolve_find_name(word_of(answer), tag);

        answer->broken |= reply->code != ZK_OK && reply->code != ZK_NO_NODE;
        if (reply->code == ZK_OK)
                (void)ledger_decode(reply->data, reply->data_size, &name->ledger);
}

static void resolve_on_records(Answer *answer, const char *tag, const ZkReply *reply) {
        ResolveName *name = resolve_find_name(word_of(answer), tag);
        int64_t tick = run_id_tick(answer->run);

        answer->broken |= reply->code != ZK_OK && reply->code != ZK_NO_NODE;
        for (size_t i = 0; reply->code == ZK_OK && i < reply->n_children; i++)
                if (run_id_is_valid(reply->children[i]) && tick > 0 &&
                    run_id_tick(reply->children[i]) == tick)
                        name->newest = MAX(name->newest, run_id_attempt(reply->children[i]));
}

/* Return: 0, or -ENOTCONN. */
static int resolve_read_name(Answer *answer, const char *job) {
        const char *root = answer_view(answer)->node->config->root;
        g_autofree char *record = path_run(root, job, answer->run), *records = path_runs(root, job),
                        *ledger = path_job(root, job);

        if (answer_get(answer, record, job, resolve_on_record) < 0 ||
            answer_get(answer, ledger, job, resolve_on_ledger) < 0 ||
            answer_get_children(answer, records, job, resolve_on_records) < 0)
                return -ENOTCONN;
        return 0;
}

/* Of the names that were added since. */
static void resolve_read(Answer *answer) {
        Word *word = word_of(answer);

        while (word->n_read < word->names->len) {
                const ResolveName *name = word->names->pdata[word->n_read++];

                if (resolve_read_name(answer, name->job) < 0) {
                        answer_error(answer, BUS_ERROR_NOT_CONNECTED, "no ZooKeeper session");
                        return;
                }
        }
}

static void resolve_on_read(Answer *answer) {
        const Word *word = word_of(answer);

        if (answer->broken) {
                answer_error(answer, BUS_ERROR_NOT_CONNECTED,
                             "what is recorded of the run could not be read from ZooKeeper");
                return;
        }
        for (guint i = 0; i < word->n_read; i++)
                resolve_add_names_beside(answer, word->names->pdata[i]);
        if (word->n_read < word->names->len)
                resolve_read(answer);
        else
                resolve_judge(answer);
}

/* ---- the question ---- */

/* A reason that was cut, or in which something was replaced, is not what was said. Return: 0;
 * negative errno with `error` set. */
static int resolve_check_reason(const char *why, sd_bus_error *error) {
        g_autofree char *clean = statement_clean(why), *stripped = g_strstrip(g_strdup(why));

        if (!*stripped)
                return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS,
                                        "the reason is empty: say how its end is known");
        if (strlen(why) > SAID_TEXT_MAX)
                return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
                                         "the reason is too long: write %d bytes at most",
                                         SAID_TEXT_MAX);
        if (!g_str_equal(clean, why))
                return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS,
                                        "the reason has a control character, or is no UTF-8: write "
                                        "it as one line of text");
        return 0;
}

/* Return: 0 with *ret_state; negative errno with `error` set. */
static int resolve_check_state(const char *word, RunState *ret_state, sd_bus_error *error) {
        if (run_state_from_string(word, ret_state) == 0 &&
            (*ret_state == RUN_SUCCEEDED || *ret_state == RUN_FAILED))
                return 0;
        return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS,
                                "a run is resolved as \"succeeded\" or \"failed\"");
}

/* Also of a job that has left the files: its records are there. */
int answer_resolve(Answers *owner, sd_bus_message *message, sd_bus_error *error) {
        const View *view = owner->view;
        const char *job, *run, *state, *why, *who;
        RunState said = RUN_UNKNOWN;
        g_autofree char *person = NULL;
        Word *word;
        Answer *answer;
        int r = sd_bus_message_read(message, "sssss", &job, &run, &state, &why, &who);

        if (r < 0)
                return r;
        if (!job_name_is_valid(job) || !run_id_is_valid(run))
                return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS,
                                        "that can be no job's name, or no run's id");
        if ((r = resolve_check_state(state, &said, error)) < 0 ||
            (r = resolve_check_reason(why, error)) < 0 ||
            (r = answer_control_admit(view, error)) < 0)
                return r;
        answer = answer_new(owner, message, resolve_on_read);
        answer->job = g_strdup(job);
        answer->run = g_strdup(run);
        word = g_new0(Word, 1);
        word->state = said;
        person = answer_control_person(view, who);
        word->by = statement_clean(person);
        word->why = g_strdup(why);
        word->names = g_ptr_array_new_with_free_func(resolve_name_free);
        resolve_add_name(word, job);
        answer_on_gone(answer, resolve_on_gone, word);
        resolve_read(answer);
        return 1;
}

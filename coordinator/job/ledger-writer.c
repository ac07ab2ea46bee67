/* See ledger-writer.h. */
#include "ledger-writer.h"

#include <errno.h>
#include <string.h>

#include "damaged.h"
#include "flight.h"
#include "ledger-change.h"
#include "ledger-skip.h"
#include "log.h"
#include "message-id.h"
#include "paths.h"
#include "settle-asks.h"
#include "skip-record.h"
#include "zk-ops.h"
#include "zones.h"

/* What a write under way will have changed. */
typedef struct LedgerWrite {
        Ledger *next;    /* NULL: the ledger stays as it is */
        guint ledger_op; /* the operation that writes it */
        bool more_follows;
        bool adds_record;
        bool checks_control; /* by its first operation */
        char *refused;       /* the manual run whose refusal it is */
        GPtrArray *asks;     /* SettleAsks: what follows attempts that are the last ones after all;
                                NULL: nothing */
        bool looked;         /* it was read what of these stands there */
        char *note;          /* to be logged; NULL: nothing is */
        const char *note_id;
        int64_t note_tick;
} LedgerWrite;

/* What follows an attempt that is the last one after all, where that is read first, or a part of it
 * was refused: then all is decided again. */
typedef struct LedgerLook {
        SettleAsks *asks; /* NULL: there is none */
        char *run;        /* which attempt that was, and how it had ended */
        RunState state;
        Flight *flight;
} LedgerLook;

/* A record that stands in the way. */
typedef struct LedgerRepair {
        char *run;
        int64_t tick;
        JobSpec *spec; /* by which it was to be claimed */
        bool damage_kept;
} LedgerRepair;

/* Whether the records of what is to be skipped are there already: where the ledger was written anew
 * and they were not, or not any more. */
typedef enum SkipRecords {
        SKIP_RECORDS_AS_LEDGER_SAYS,
        SKIP_RECORDS_EXIST,
        SKIP_RECORDS_MISSING,
} SkipRecords;

struct LedgerWriter {
        LedgerWriterParts parts;
        char *job, *path;
        LedgerWriterFunc over;
        void *userdata;

        ZkCall *call;
        LedgerWrite write;
        char *fault;

        /* Some may exist and others not: one by one, each is made or written over. */
        SkipRecords skip_records;
        bool one_skip_at_a_time;
        int64_t without_asks; /* the tick for which the name of one is taken; 0: none */

        LedgerLook look;
        LedgerRepair repair;

        ZkCall *records_call; /* beside any write */
        bool records_there;   /* their directory */
};

LedgerWriter *ledger_writer_new(const LedgerWriterParts *parts, const char *job,
                                LedgerWriterFunc over, void *userdata) {
        LedgerWriter *writer = g_new0(LedgerWriter, 1);

        writer->parts = *parts;
        writer->job = g_strdup(job);
        writer->path = path_job(parts->node->config->root, job);
        writer->over = over;
        writer->userdata = userdata;
        return writer;
}

LedgerWriter *ledger_writer_free(LedgerWriter *writer) {
        if (!writer)
                return NULL;
        ledger_writer_reset(writer);
        g_free(writer->repair.run);
        job_spec_free(writer->repair.spec);
        g_free(writer->job);
        g_free(writer->path);
        g_free(writer);
        return NULL;
}

static void ledger_writer_forget_write(LedgerWriter *writer) {
        ledger_free(writer->write.next);
        if (writer->write.asks)
                g_ptr_array_unref(writer->write.asks);
        g_free(writer->write.refused);
        g_free(writer->write.note);
        writer->write = (LedgerWrite){0};
}

static void ledger_writer_forget_look(LedgerWriter *writer) {
        writer->look.flight = flight_free(writer->look.flight);
        writer->look.asks = settle_asks_free(writer->look.asks);
        g_clear_pointer(&writer->look.run, g_free);
}

void ledger_writer_cancel(LedgerWriter *writer) {
        writer->call = zk_call_free(writer->call);
        ledger_writer_forget_look(writer);
        ledger_writer_forget_write(writer);
}

void ledger_writer_reset(LedgerWriter *writer) {
        ledger_writer_cancel(writer);
        writer->records_call = zk_call_free(writer->records_call);
        writer->records_there = false;
        g_clear_pointer(&writer->fault, g_free);
}

static const Ledger *ledger_writer_known(const LedgerWriter *writer, int32_t *ret_version) {
        return ledger_cache_get(writer->parts.ledgers, writer->job, ret_version);
}

/* ---- how it ends ---- */

LedgerWriteOutcome ledger_writer_outcome(int error) {
        return error == -ENOTCONN ? LEDGER_WRITE_CLOSED : LEDGER_WRITE_FAILED;
}

static LedgerWriteOutcome ledger_writer_outcome_of(ZkCode code) {
        switch (code) {
        case ZK_OK:
                return LEDGER_WRITE_DONE;
        case ZK_BAD_VERSION:
        case ZK_NODE_EXISTS:
                return LEDGER_WRITE_AGAIN;
        case ZK_CLOSED:
                return LEDGER_WRITE_CLOSED;
        default:
                return zk_code_is_refusal(code) ? LEDGER_WRITE_REFUSED : LEDGER_WRITE_FAILED;
        }
}

const char *ledger_writer_fault(const LedgerWriter *writer) {
        return writer->fault;
}

static void ledger_writer_note_fault(LedgerWriter *writer, ZkCode code) {
        const LogAbout about = {.message_id = MESSAGE_REFUSED, .job = writer->job};
        bool is_new = !writer->fault;

        if (code == ZK_OK)
                g_clear_pointer(&writer->fault, g_free);
        if (!zk_code_is_refusal(code))
                return;
        g_free(writer->fault);
        writer->fault =
            g_strdup_printf("%s: cannot be written: %s", writer->path, zk_code_to_string(code));
        if (is_new)
                log_error(&about, "%s; the job is not run until it can be", writer->fault);
}

/* Nothing is sent. Return: the error. */
static int ledger_writer_give_up(LedgerWriter *writer, int error) {
        ledger_writer_forget_write(writer);
        ledger_cache_forget(writer->parts.ledgers, writer->job);
        return error;
}

static void ledger_writer_finish(LedgerWriter *writer, ZkCode code) {
        g_autofree char *refused = g_steal_pointer(&writer->write.refused);
        bool is_gone = code == ZK_OK || code == ZK_NO_NODE || code == ZK_NODE_EXISTS;

        /* What the write was based on has changed, or will have to be read again. */
        if (code != ZK_OK || writer->write.more_follows)
                ledger_cache_forget(writer->parts.ledgers, writer->job);
        ledger_writer_forget_write(writer);
        ledger_writer_note_fault(writer, code);
        /* Is the refused request gone? Otherwise it is refused again. */
        writer->over(ledger_writer_outcome_of(code), is_gone ? refused : NULL, writer->userdata);
}

static void ledger_writer_succeeded(LedgerWriter *writer, const ZkReply *reply) {
        LedgerWrite *write = &writer->write;
        const LogAbout about = {
            .message_id = write->note_id, .job = writer->job, .tick = write->note_tick};
        /* The result of a create carries no version: it is 0. */
        int32_t version =
            write->ledger_op < reply->n_results ? reply->results[write->ledger_op].stat.version : 0;

        if (write->next)
                ledger_cache_set(writer->parts.ledgers, writer->job, g_steal_pointer(&write->next),
                                 version);
        if (write->note)
                log_info(&about, "%s", write->note);
        for (guint i = 0; write->asks && i < write->asks->len; i++)
                settle_asks_tell(write->asks->pdata[i]);
        if (write->adds_record)
                pruner_note(writer->parts.pruner, writer->job);
}

static void ledger_writer_note_records(LedgerWriter *writer, ZkCode code) {
        /* The record is not what is there already: so it is what was asked for. */
        if (code == ZK_NODE_EXISTS && writer->write.asks && !writer->write.looked &&
            writer->skip_records != SKIP_RECORDS_AS_LEDGER_SAYS)
                writer->without_asks = writer->write.note_tick;
        else if (code == ZK_OK)
                writer->without_asks = 0;
        writer->skip_records = code == ZK_NODE_EXISTS ? SKIP_RECORDS_EXIST
                               : code == ZK_NO_NODE   ? SKIP_RECORDS_MISSING
                                                      : SKIP_RECORDS_AS_LEDGER_SAYS;
        writer->one_skip_at_a_time = writer->skip_records != SKIP_RECORDS_AS_LEDGER_SAYS ||
                                     (writer->one_skip_at_a_time && code != ZK_OK);
}

/* What is written is decided on what is read now. */
static void ledger_writer_on_looked(ZkCode code, void *userdata) {
        LedgerWriter *writer = userdata;

        writer->look.flight = flight_free(writer->look.flight);
        if (code != ZK_OK)
                ledger_writer_forget_look(writer);
        ledger_writer_finish(writer, code == ZK_OK ? ZK_BAD_VERSION : code);
}

static int ledger_writer_look(LedgerWriter *writer) {
        int r;

        ledger_writer_forget_write(writer);
        writer->one_skip_at_a_time = true;
        writer->look.flight =
            flight_new(node_zk(writer->parts.node), ledger_writer_on_looked, writer);
        flight_sync(writer->look.flight, writer->path);
        settle_asks_read(writer->look.asks, writer->look.flight);
        r = flight_depart(writer->look.flight);
        if (r < 0)
                ledger_writer_forget_look(writer);
        return r < 0 ? ledger_writer_give_up(writer, r) : 0;
}

/* Return: whether what was refused is a part of what follows, which is left out from now on: that
 * keeps no ledger from being written. The rest is read anew then, and all is decided again. */
static bool ledger_writer_leaves_out(LedgerWriter *writer, const ZkReply *reply) {
        GPtrArray *asks = writer->write.asks;
        guint i = 0;

        while (asks && i < asks->len && !settle_asks_gives_up(asks->pdata[i], reply))
                i++;
        if (!asks || i == asks->len)
                return false;
        ledger_writer_forget_look(writer);
        writer->look.asks = g_ptr_array_steal_index(asks, i);
        writer->look.run = g_strdup(settle_asks_run(writer->look.asks, &writer->look.state));
        return ledger_writer_look(writer) >= 0;
}

void ledger_writer_doubt_records(LedgerWriter *writer) {
        writer->records_there = false;
}

/* What has to be there for any write is made again. */
static void ledger_writer_make_way(LedgerWriter *writer) {
        tree_repair(writer->parts.tree);
        ledger_writer_doubt_records(writer);
        ledger_writer_look_for_records(writer);
}

static void ledger_writer_on_written(const ZkReply *reply, void *userdata) {
        LedgerWriter *writer = userdata;
        ZkCode code = reply->code;

        writer->call = NULL;
        if (code == ZK_OK)
                ledger_writer_succeeded(writer, reply);
        if (code != ZK_OK && ledger_writer_leaves_out(writer, reply))
                return;
        ledger_writer_note_records(writer, code);
        if (code == ZK_NO_NODE)
                ledger_writer_make_way(writer);
        if (code == ZK_BAD_VERSION && writer->write.checks_control && zk_ops_failed_at(reply, 0))
                tree_control_is_stale(writer->parts.tree);
        ledger_writer_finish(writer, code);
}

static int ledger_writer_send(LedgerWriter *writer, const GArray *ops) {
        int r = zk_ops_send(ops, node_zk(writer->parts.node), ledger_writer_on_written, writer,
                            &writer->call);

        return r < 0 ? ledger_writer_give_up(writer, r) : 0;
}

/* Sends the operations and after them, last, that the ledger becomes `next` (taken over). */
static int ledger_writer_send_next(LedgerWriter *writer, GArray *ops, Ledger *next) {
        g_autofree char *data = ledger_encode(next);
        int32_t version = 0;

        (void)ledger_writer_known(writer, &version);
        zk_ops_add(ops, ZK_OP_SET, writer->path, data, version);
        writer->write.next = next;
        writer->write.ledger_op = ops->len - 1;
        return ledger_writer_send(writer, ops);
}

/* ---- the ledger itself ---- */

int ledger_writer_make(LedgerWriter *writer, Ledger *ledger) {
        g_autoptr(GArray) ops = zk_ops_new();
        g_autofree char *data = ledger_encode(ledger),
                        *runs = path_runs(writer->parts.node->config->root, writer->job);

        zk_ops_add(ops, ZK_OP_CREATE, writer->path, data, 0);
        zk_ops_add(ops, ZK_OP_CREATE, runs, "", 0);
        writer->write.next = ledger;
        return ledger_writer_send(writer, ops);
}

int ledger_writer_set(LedgerWriter *writer, Ledger *next, const char *note_id, const char *note) {
        g_autoptr(GArray) ops = zk_ops_new();

        writer->write.note = g_strdup(note);
        writer->write.note_id = note_id;
        return ledger_writer_send_next(writer, ops, next);
}

/* ---- skips ---- */

/* Appends the operation that writes one skip's record; its strings are kept in `strings`. */
static void ledger_writer_add_record(const LedgerWriter *writer, GArray *ops, GPtrArray *strings,
                                     const LedgerEntry *entry, bool joined) {
        const DaemonConfig *config = writer->parts.node->config;
        bool there = writer->skip_records == SKIP_RECORDS_EXIST ||
                     (joined && writer->skip_records != SKIP_RECORDS_MISSING);
        char *path = path_run(config->root, writer->job, entry->run),
             *data = skip_record_encode(config->node_name, writer->job, entry);

        g_ptr_array_add(strings, path);
        g_ptr_array_add(strings, data);
        zk_ops_add(ops, there ? ZK_OP_SET : ZK_OP_CREATE, path, data, -1);
}

static void ledger_writer_free_asks(void *asks) {
        settle_asks_free(asks);
}

/* Return: newly allocated, the attempt of the tick that was to be followed by another one. */
static RunRecord *ledger_writer_ended(const LedgerWriter *writer, const Ledger *ledger,
                                      int64_t tick, const char *why) {
        const LedgerEntry *entry = ledger_find_tick(ledger, tick);
        bool is_last = ledger->last && g_str_equal(ledger->last->run, entry->run);
        RunRecord *record =
            is_last ? run_record_copy(ledger->last) : run_record_new(writer->job, entry->run);

        record->tick = tick;
        record->state = entry->state;
        g_free(record->node);
        record->node = g_strdup(entry->node);
        g_free(record->why);
        record->why = g_strdup(why);
        return record;
}

/* Return: newly allocated, what that end asks for; what was read of it where that is needed. NULL:
 * it is to be read first, which writer->look says. */
static SettleAsks *ledger_writer_asks(LedgerWriter *writer, const RunRecord *ended) {
        SettleAsks *asks;

        /* How it ended may have been said better meanwhile. */
        if (writer->look.asks && g_str_equal(writer->look.run, ended->run) &&
            writer->look.state == ended->state) {
                g_clear_pointer(&writer->look.run, g_free);
                writer->write.looked = true;
                return g_steal_pointer(&writer->look.asks);
        }
        asks = settle_asks_new(writer->parts.node, writer->parts.jobset, ended);
        if (!settle_asks_must_look(asks))
                return asks;
        ledger_writer_forget_look(writer);
        writer->look.asks = asks;
        writer->look.run = g_strdup(ended->run);
        writer->look.state = ended->state;
        return NULL;
}

/* The attempt before is the last one after all: what follows that is asked for by the same write
 * (settle-asks.h). */
static void ledger_writer_add_asks(LedgerWriter *writer, GArray *ops, const Ledger *ledger,
                                   const DecisionSkip *skip, const char *why) {
        LedgerWrite *write = &writer->write;
        _cleanup_(run_record_freep) RunRecord *ended =
            ledger_writer_ended(writer, ledger, skip->from, why);
        const FollowState before = {.state = ended->state, .attempt_follows = true},
                          after = {.state = ended->state};
        SettleAsks *asks;

        if (!writer->parts.jobset || writer->without_asks == skip->from)
                return;
        if (!write->asks)
                write->asks = g_ptr_array_new_with_free_func(ledger_writer_free_asks);
        asks = ledger_writer_asks(writer, ended);
        if (!asks)
                return;
        g_ptr_array_add(write->asks, asks);
        settle_asks_add(asks, ops, &before, &after,
                        node_server_time_or(writer->parts.node, clock_realtime()));
}

/* Return: whether the tick was to be attempted again. Beside its attempts stands why no further one
 * is made. */
static bool ledger_writer_add_end(LedgerWriter *writer, GArray *ops, GPtrArray *strings,
                                  Ledger *next, const DecisionSkip *skip) {
        g_autofree char *run = run_id_for_skip(skip->from),
                        *why =
                            g_strdup_printf(SKIP_ATTEMPT "%u is not made: %s",
                                            ledger_next_attempt(next, skip->from), skip->why.text);
        const LedgerEntry entry = {
            .tick = skip->from, .to = skip->from, .count = 1, .run = run, .why = why};
        usec_t now = node_server_time_or(writer->parts.node, clock_realtime());

        if (!ledger_give_up(next, skip->from, now))
                return false;
        ledger_writer_add_asks(writer, ops, next, skip, why);
        ledger_writer_add_record(writer, ops, strings, &entry, false);
        return true;
}

/* Return: whether anything changes. */
static bool ledger_writer_add_skip(LedgerWriter *writer, const Schedule *schedule, GArray *ops,
                                   GPtrArray *strings, Ledger *next, const DecisionSkip *skip) {
        const LedgerEntry *entry = NULL;
        bool joined = false;

        if (skip->gives_up)
                return ledger_writer_add_end(writer, ops, strings, next, skip);
        if (ledger_skip(next, schedule, skip->from, skip->to, skip->count, skip->why.text, &entry,
                        &joined) < 0)
                return false;
        ledger_writer_add_record(writer, ops, strings, entry, joined);
        return true;
}

int ledger_writer_skip(LedgerWriter *writer, const Schedule *schedule, const DecisionSkip *skips,
                       size_t n, bool more_follows) {
        g_autoptr(GArray) ops = zk_ops_new();
        g_autoptr(GPtrArray) strings = g_ptr_array_new_with_free_func(g_free);
        g_autofree char *control = path_control(writer->parts.node->config->root);
        _cleanup_(ledger_freep) Ledger *next = ledger_copy(ledger_writer_known(writer, NULL));
        bool changes = false;

        if (writer->one_skip_at_a_time)
                n = MIN(n, 1);
        zk_ops_add(ops, ZK_OP_CHECK, control, NULL, tree_control_version(writer->parts.tree));
        for (size_t i = 0; i < n; i++)
                changes |= ledger_writer_add_skip(writer, schedule, ops, strings, next, &skips[i]);
        if (writer->look.asks && !settle_asks_was_read(writer->look.asks))
                return ledger_writer_look(writer);
        if (!changes) /* full, and of runs under way: one of them has to end first */
                return ledger_writer_give_up(writer, -ENOSPC);
        ledger_compact(next, schedule);
        writer->write.more_follows = more_follows;
        writer->write.adds_record = writer->write.checks_control = true;
        writer->write.note = skips_note(skips, n);
        writer->write.note_tick = skips[0].from;
        writer->write.note_id = skips[0].gives_up ? MESSAGE_RETRY_GIVEN_UP : MESSAGE_TICK_SKIPPED;
        return ledger_writer_send_next(writer, ops, g_steal_pointer(&next));
}

/* ---- refused requests ---- */

/* Return: whether a record may stand there: of a tick that is not settled, it is in the way of an
 * attempt that comes by itself, or is that of another who asked. */
static bool ledger_writer_may_record(const LedgerWriter *writer, const ManualRun *run) {
        const Ledger *ledger = ledger_writer_known(writer, NULL);

        return !run->tick || (ledger && ledger_is_settled(ledger, run->tick));
}

int ledger_writer_refuse(LedgerWriter *writer, const ManualRun *run, const char *why) {
        const DaemonConfig *config = writer->parts.node->config;
        g_autoptr(GArray) ops = zk_ops_new();
        g_autofree char *record_path = path_run(config->root, writer->job, run->id),
                        *request_path = path_request(config->root, manual_run_request(run)),
                        *data = NULL;
        _cleanup_(run_record_freep) RunRecord *record =
            skip_record_by_hand(writer->job, run->id, run->who, run->parent, why);

        record->node = g_strdup(config->node_name);
        data = run_record_encode(record);
        zk_ops_add(ops, ZK_OP_DELETE, request_path, NULL, -1);
        if (ledger_writer_may_record(writer, run))
                zk_ops_add(ops, ZK_OP_CREATE, record_path, data, 0);
        writer->write.adds_record = true;
        writer->write.note = g_strdup_printf("manual run %s skipped: %s", run->id, why);
        writer->write.note_id = MESSAGE_TICK_SKIPPED;
        writer->write.refused = g_strdup(run->id);
        return ledger_writer_send(writer, ops);
}

/* ---- repair ---- */

/* The mark moves by the schedule in force, and by none where our time zone data are not those in
 * force. */
static void ledger_writer_settle(const LedgerWriter *writer, Ledger *ledger,
                                 const RunRecord *found) {
        int64_t now = (int64_t)(clock_realtime() / USEC_PER_SEC);
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        const Schedule *in_force =
            ledger_schedule(ledger, &schedule) < 0 ? writer->repair.spec->schedule : schedule;

        if (zones_judge(ledger, in_force, NULL, now) == ZONES_DIFFER)
                in_force = NULL;
        (void)ledger_settle(ledger, found, in_force,
                            node_server_time_or(writer->parts.node, found->claimed));
}

/* Adds the run to the ledger, and writes it. */
static int ledger_writer_take_in(LedgerWriter *writer, GArray *ops, const RunRecord *found) {
        Ledger *next = ledger_copy(ledger_writer_known(writer, NULL));

        (void)ledger_claim(next, found);
        if (run_state_is_final(found->state))
                ledger_writer_settle(writer, next, found);
        writer->write.note = g_strdup_printf(
            "run %s has a record but no entry in the ledger, adding it", found->run);
        writer->write.note_id = MESSAGE_FOREIGN_DATA;
        return ledger_writer_send_next(writer, ops, next);
}

/* What somebody wrote over: nothing can be learnt from it. */
static int ledger_writer_replace_damaged(LedgerWriter *writer, const ZkReply *reply) {
        const Node *node = writer->parts.node;
        g_autoptr(GArray) ops = zk_ops_new();
        _cleanup_(run_record_freep) RunRecord *record =
            run_record_new(writer->job, writer->repair.run);
        g_autofree char *path = path_run(node->config->root, writer->job, record->run),
                        *data = NULL;

        if (!writer->repair.damage_kept && node_zk(node))
                damaged_keep(node_zk(node), node->config->root, writer->job, record->run,
                             reply->data, reply->data_size);
        writer->repair.damage_kept = true;
        record->tick = writer->repair.tick;
        record->attempt = run_id_attempt(writer->repair.run);
        record->state = RUN_UNKNOWN;
        record->why = g_strdup(DAMAGED_WHY);
        record->claimed = (usec_t)reply->stat.ctime_ms * USEC_PER_MSEC;
        record->ended = clock_realtime();
        data = run_record_encode(record);
        zk_ops_add(ops, ZK_OP_SET, path, data, reply->stat.version);
        return ledger_writer_take_in(writer, ops, record);
}

/* Return: whether it is the one of that run. One that tells of another tick, or another attempt,
 * would not be taken in, and would be met again by the next claim, and so on. */
static bool ledger_writer_is_sought(const LedgerWriter *writer, const RunRecord *found) {
        return strcmp(found->job, writer->job) == 0 &&
               strcmp(found->run, writer->repair.run) == 0 && found->tick == writer->repair.tick &&
               (!found->tick || found->attempt == run_id_attempt(found->run));
}

/* What stands in the place of the tick's own attempt is that, whoever asked for it. */
static int ledger_writer_take_in_found(LedgerWriter *writer, GArray *ops, RunRecord *found) {
        if (found->tick)
                g_clear_pointer(&found->who, g_free);
        return ledger_writer_take_in(writer, ops, found);
}

static void ledger_writer_on_found(const ZkReply *reply, void *userdata) {
        LedgerWriter *writer = userdata;
        _cleanup_(run_record_freep) RunRecord *found = NULL;
        g_autoptr(GArray) ops = zk_ops_new();
        int r;

        writer->call = NULL;
        if (reply->code != ZK_OK || !ledger_writer_known(writer, NULL)) {
                ledger_writer_finish(writer, reply->code == ZK_OK ? ZK_UNKNOWN : reply->code);
                return;
        }
        if (run_record_decode(reply->data, reply->data_size, &found) == 0 &&
            ledger_writer_is_sought(writer, found))
                r = ledger_writer_take_in_found(writer, ops, found);
        else
                r = ledger_writer_replace_damaged(writer, reply);
        if (r < 0)
                ledger_writer_finish(writer, r == -ENOTCONN ? ZK_CLOSED : ZK_UNKNOWN);
}

int ledger_writer_repair(LedgerWriter *writer, const char *run, int64_t tick, const JobSpec *spec) {
        g_autofree char *path = path_run(writer->parts.node->config->root, writer->job, run);
        Zk *zk = node_zk(writer->parts.node);
        int r;

        writer->repair.damage_kept &= g_strcmp0(writer->repair.run, run) == 0;
        g_free(writer->repair.run);
        writer->repair.run = g_strdup(run);
        writer->repair.tick = tick;
        job_spec_free(writer->repair.spec);
        writer->repair.spec = job_spec_ref(spec);
        r = !zk ? -ENOTCONN
                : zk_get(zk, path, ledger_writer_on_found, writer, &writer->call, NULL, NULL, NULL);
        return r < 0 ? ledger_writer_give_up(writer, r) : 0;
}

/* ---- the directory of the records ---- */

static void ledger_writer_on_records(const ZkReply *reply, void *userdata) {
        LedgerWriter *writer = userdata;
        g_autofree char *path = path_runs(writer->parts.node->config->root, writer->job);

        writer->records_call = NULL;
        writer->records_there = reply->code == ZK_OK;
        if (reply->code == ZK_NO_NODE && node_zk(writer->parts.node)) /* no claim without it */
                (void)zk_create(node_zk(writer->parts.node), path, "", 0, NULL, NULL, NULL);
}

void ledger_writer_look_for_records(LedgerWriter *writer) {
        g_autofree char *path = path_runs(writer->parts.node->config->root, writer->job);

        if (!writer->records_there && !writer->records_call)
                (void)zk_exists(node_zk(writer->parts.node), path, ledger_writer_on_records, writer,
                                &writer->records_call, NULL, NULL, NULL);
}

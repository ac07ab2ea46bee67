/* See settle.h. */
#include "settle.h"

#include <errno.h>
#include <string.h>

#include "damaged.h"
#include "ledger.h"
#include "log.h"
#include "message-id.h"
#include "paths.h"
#include "prune.h"
#include "scheduled-job.h"
#include "zk-ops.h"

#define ATTEMPTS_BEFORE_PAUSE 4
#define PAUSE (500 * USEC_PER_MSEC)
#define PAUSE_MAX (8 * USEC_PER_SEC)

/* One read of the truth. */
typedef struct SettleRead {
        Settle *settle; /* weak: owns us */
        ZkCall *call;
        char *path;
        guint index; /* of a contender */
} SettleRead;

struct Settle {
        Coordinator *coordinator; /* weak */
        SettleFunc func;
        void *userdata;
        RunRecord *record;
        char *owner;
        char *record_path, *ledger_path, *runs_path, *open_path;
        bool only_if_claimed;

        /* what is believed of the other side */
        int32_t record_version; /* -1: the record does not exist and is created */
        bool record_known, open_exists;
        bool no_directory; /* of records: somebody deleted the job */
        Ledger *ledger;    /* NULL: there is none that we could read */
        int32_t ledger_version;
        bool *lock_exists;

        /* what the write under way will have changed */
        Ledger *next_ledger;
        guint ledger_op;

        GPtrArray *reads; /* SettleRead */
        unsigned pending;
        ZkCode read_code; /* the worst answer */
        bool finished_elsewhere, finished_already;
        bool refines; /* what stands there is "unknown", and we know better */
        bool newer_attempt;
        bool damage_kept;
        ZkCall *write;
        sd_event_source *pause;
        unsigned attempts, pauses;
};

static void read_truth(Settle *settle);

static void settle_read_free(void *data) {
        SettleRead *item = data;

        zk_call_free(item->call);
        g_free(item->path);
        g_free(item);
}

Settle *settle_free(Settle *settle) {
        if (!settle)
                return NULL;
        sd_event_source_disable_unref(settle->pause);
        zk_call_free(settle->write);
        g_clear_pointer(&settle->reads, g_ptr_array_unref);
        ledger_free(settle->ledger);
        ledger_free(settle->next_ledger);
        run_record_free(settle->record);
        g_free(settle->owner);
        g_free(settle->record_path);
        g_free(settle->ledger_path);
        g_free(settle->runs_path);
        g_free(settle->open_path);
        g_free(settle->lock_exists);
        g_free(settle);
        return NULL;
}

static ScheduledJob *job_of(const Settle *settle) {
        return g_hash_table_lookup(settle->coordinator->jobs, settle->record->job);
}

/* Return: our own file's schedule where that is the definition in force, or NULL. */
static const Schedule *own_schedule(const Settle *settle) {
        const ScheduledJob *job = job_of(settle);
        const Ledger *ledger = settle->next_ledger;
        g_autofree char *digest = job ? job_spec_digest(scheduled_job_spec(job),
                                                        settle->coordinator->config, ledger->from)
                                      : NULL;

        return g_strcmp0(digest, ledger->digest) == 0 ? scheduled_job_spec(job)->schedule : NULL;
}

/* The mark moves by the schedule in force, which is not ours where our file differs; one that is
 * too long to stand in the ledger is known only to who has it. */
static void settle_in_ledger(Settle *settle) {
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        int r = ledger_schedule(settle->next_ledger, &schedule);

        (void)ledger_settle(settle->next_ledger, settle->record,
                            r < 0 ? own_schedule(settle) : schedule);
}

/* The owner frees us in its callback or after it. */
static void finish(Settle *settle, SettleOutcome outcome) {
        settle->func(outcome, settle->userdata);
}

static int on_pause_over(sd_event_source *source, uint64_t usec, void *userdata) {
        Settle *settle = userdata;

        settle->pause = sd_event_source_disable_unref(settle->pause);
        read_truth(settle);
        return 0;
}

/* Longer and longer: what refuses us for long will not change in a moment. */
static void again_later(Settle *settle) {
        usec_t pause = MIN(PAUSE << MIN(settle->pauses, 10U), PAUSE_MAX);

        settle->pauses++;
        settle->pause = sd_event_source_disable_unref(settle->pause);
        if (sd_event_add_time_relative(settle->coordinator->event, &settle->pause, CLOCK_MONOTONIC,
                                       pause, USEC_PER_MSEC, on_pause_over, settle) < 0)
                finish(settle, SETTLE_AGAIN);
}

/* ---- the write ---- */

static unsigned n_locks(const Settle *settle) {
        return settle->record->locks ? g_strv_length(settle->record->locks) : 0;
}

static void write_done(Settle *settle, const ZkReply *reply) {
        ScheduledJob *job = job_of(settle);

        if (job && settle->next_ledger && settle->ledger_op < reply->n_results)
                scheduled_job_set_ledger(job, g_steal_pointer(&settle->next_ledger),
                                         reply->results[settle->ledger_op].stat.version);
        pruner_note(settle->coordinator->pruner, settle->record->job);
        finish(settle, SETTLE_DONE);
}

static void on_written(const ZkReply *reply, void *userdata) {
        Settle *settle = userdata;

        settle->write = NULL;
        switch (reply->code) {
        case ZK_OK:
                write_done(settle, reply);
                return;
        case ZK_CLOSED:
                finish(settle, SETTLE_AGAIN);
                return;
        case ZK_UNKNOWN:
                again_later(settle);
                return;
        default:
                if (++settle->attempts % ATTEMPTS_BEFORE_PAUSE == 0)
                        again_later(settle);
                else
                        read_truth(settle);
        }
}

static void write_result(Settle *settle) {
        g_autoptr(GArray) ops = zk_ops_new();
        g_autofree char *record = run_record_encode(settle->record), *ledger = NULL;
        int r;

        settle->next_ledger = ledger_free(settle->next_ledger);
        if (settle->ledger) {
                settle->next_ledger = ledger_copy(settle->ledger);
                settle_in_ledger(settle);
                ledger = ledger_encode(settle->next_ledger);
        }
        if (settle->record_version >= 0)
                zk_ops_add(ops, ZK_OP_SET, settle->record_path, record, settle->record_version);
        else if (!settle->no_directory)
                zk_ops_add(ops, ZK_OP_CREATE, settle->record_path, record, 0);
        settle->ledger_op = ops->len;
        if (ledger)
                zk_ops_add(ops, ZK_OP_SET, settle->ledger_path, ledger, settle->ledger_version);
        if (settle->open_exists)
                zk_ops_add(ops, ZK_OP_DELETE, settle->open_path, NULL, -1);
        for (guint i = 0; i < n_locks(settle); i++)
                if (settle->lock_exists[i] && !settle->only_if_claimed)
                        zk_ops_add(ops, ZK_OP_DELETE, settle->record->locks[i], NULL, -1);
        if (ops->len == 0) { /* nothing is left of the job */
                finish(settle, SETTLE_DONE);
                return;
        }
        r = zk_ops_send(ops, session_zk(settle->coordinator->session), on_written, settle,
                        &settle->write);
        if (r < 0)
                again_later(settle);
}

/* ---- the truth ---- */

/* Everything is read: is there still something to be written? */
static void truth_is_read(Settle *settle) {
        if (settle->read_code == ZK_CLOSED)
                finish(settle, SETTLE_AGAIN);
        else if (settle->read_code != ZK_OK)
                again_later(settle);
        else if (settle->finished_already)
                finish(settle, SETTLE_DONE);
        else if (settle->finished_elsewhere || (settle->refines && settle->newer_attempt))
                finish(settle, SETTLE_ELSEWHERE);
        else
                write_result(settle);
}

static void answered(Settle *settle, ZkCode code) {
        if (code == ZK_CLOSED ||
            (code != ZK_OK && code != ZK_NO_NODE && settle->read_code == ZK_OK))
                settle->read_code = code;
        if (--settle->pending == 0)
                truth_is_read(settle);
}

/* What the record that stands there means for us. */
static void judge_record(Settle *settle, const RunRecord *found) {
        const RunRecord *ours = settle->record;

        bool same = g_strcmp0(found->nonce, ours->nonce) == 0;

        if (same && !run_state_is_final(found->state))
                return;
        if (same && found->state == ours->state && found->ended == ours->ended)
                settle->finished_already = true; /* an answer of ours was lost */
        else if (!same || settle->only_if_claimed || found->state != RUN_UNKNOWN ||
                 ours->state == RUN_UNKNOWN)
                settle->finished_elsewhere = true;
        else
                settle->refines = true;
}

/* Return: whether it is a record, and the one of our run. */
static bool is_of_run(const Settle *settle, const RunRecord *found) {
        return found && strcmp(found->job, settle->record->job) == 0 &&
               strcmp(found->run, settle->record->run) == 0;
}

/* It is written anew. */
static void note_damage(Settle *settle, const ZkReply *reply) {
        if (!settle->damage_kept)
                damaged_keep(session_zk(settle->coordinator->session),
                             settle->coordinator->config->root, settle->record->job,
                             settle->record->run, reply->data, reply->data_size);
        settle->damage_kept = true;
}

static void on_record(const ZkReply *reply, void *userdata) {
        SettleRead *item = userdata;
        Settle *settle = item->settle;
        _cleanup_(run_record_freep) RunRecord *found = NULL;

        item->call = NULL;
        settle->record_known = true;
        settle->record_version = reply->code == ZK_OK ? reply->stat.version : -1;
        if (reply->code == ZK_OK)
                (void)run_record_decode(reply->data, reply->data_size, &found);
        if (is_of_run(settle, found))
                judge_record(settle, found);
        else if (reply->code == ZK_OK)
                note_damage(settle, reply);
        answered(settle, reply->code);
}

static void on_ledger(const ZkReply *reply, void *userdata) {
        SettleRead *item = userdata;
        Settle *settle = item->settle;
        const LogAbout about = {.message_id = MESSAGE_FOREIGN_DATA, .job = settle->record->job};

        item->call = NULL;
        settle->ledger = ledger_free(settle->ledger);
        if (reply->code == ZK_OK &&
            ledger_decode(reply->data, reply->data_size, &settle->ledger) < 0)
                log_warning(&about, "%s: not a ledger; the run is settled in its record alone",
                            settle->ledger_path);
        settle->ledger_version = reply->stat.version;
        answered(settle, reply->code);
}

/* Return: whether that is a later attempt of our tick. */
static bool is_newer_attempt(const RunRecord *ours, const char *name) {
        g_autofree char *prefix = g_strdup_printf("%" G_GINT64_FORMAT "-", ours->tick);

        return ours->tick && g_str_has_prefix(name, prefix) && run_id_is_valid(name) &&
               g_ascii_strtoull(name + strlen(prefix), NULL, 10) > ours->attempt;
}

static void on_records(const ZkReply *reply, void *userdata) {
        SettleRead *item = userdata;
        Settle *settle = item->settle;

        item->call = NULL;
        settle->no_directory = reply->code == ZK_NO_NODE;
        settle->newer_attempt = false;
        for (size_t i = 0; i < reply->n_children; i++)
                settle->newer_attempt |= is_newer_attempt(settle->record, reply->children[i]);
        answered(settle, reply->code);
}

static void on_open(const ZkReply *reply, void *userdata) {
        SettleRead *item = userdata;

        item->call = NULL;
        item->settle->open_exists = reply->code == ZK_OK;
        answered(item->settle, reply->code);
}

/* A single node of a session that is over goes by itself, and another's may come in its place
 * before our transaction does: only in our own session it stays where we saw it. Other names are
 * unique. */
static bool may_delete(const SettleRead *item, const ZkStat *stat) {
        return run_record_is_contender(item->settle->record, stat->czxid) &&
               (!g_str_has_suffix(item->path, "/lock") ||
                stat->ephemeral_owner == session_id(item->settle->coordinator->session));
}

static void on_lock(const ZkReply *reply, void *userdata) {
        SettleRead *item = userdata;

        item->call = NULL;
        item->settle->lock_exists[item->index] =
            reply->code == ZK_OK && may_delete(item, &reply->stat);
        answered(item->settle, reply->code);
}

static void on_synced(const ZkReply *reply, void *userdata) {
        SettleRead *item = userdata;

        item->call = NULL;
        answered(item->settle, reply->code);
}

static SettleRead *add_read(Settle *settle, const char *path, guint index) {
        SettleRead *item = g_new0(SettleRead, 1);

        item->settle = settle;
        item->path = g_strdup(path);
        item->index = index;
        g_ptr_array_add(settle->reads, item);
        settle->pending++;
        return item;
}

static int send_reads(Settle *settle, Zk *zk) {
        SettleRead *item = add_read(settle, settle->record_path, 0);
        int r;

        /* The server we are connected to may lag behind the one that took the write: sync first.
         * All in one flight. */
        if ((r = zk_sync(zk, item->path, on_synced, item, &item->call)) < 0)
                return r;
        item = add_read(settle, settle->record_path, 0);
        if ((r = zk_get(zk, item->path, on_record, item, &item->call, NULL, NULL, NULL)) < 0)
                return r;
        item = add_read(settle, settle->ledger_path, 0);
        if ((r = zk_get(zk, item->path, on_ledger, item, &item->call, NULL, NULL, NULL)) < 0)
                return r;
        item = add_read(settle, settle->runs_path, 0);
        if ((r = zk_get_children(zk, item->path, on_records, item, &item->call, NULL, NULL, NULL)) <
            0)
                return r;
        item = add_read(settle, settle->open_path, 0);
        if ((r = zk_exists(zk, item->path, on_open, item, &item->call, NULL, NULL, NULL)) < 0)
                return r;
        for (guint i = 0; i < n_locks(settle); i++) {
                item = add_read(settle, settle->record->locks[i], i);
                if ((r = zk_exists(zk, item->path, on_lock, item, &item->call, NULL, NULL, NULL)) <
                    0)
                        return r;
        }
        return 0;
}

static void read_truth(Settle *settle) {
        Zk *zk = session_zk(settle->coordinator->session);

        g_ptr_array_set_size(settle->reads, 0);
        settle->pending = 0;
        settle->read_code = ZK_OK;
        settle->finished_elsewhere = settle->finished_already = settle->refines = false;
        if (!zk) {
                finish(settle, SETTLE_AGAIN);
                return;
        }
        if (send_reads(settle, zk) < 0) {
                g_ptr_array_set_size(settle->reads, 0);
                again_later(settle);
        }
}

/* Takes over what the job knows of its ledger and records, for a first try without a read. Return:
 * whether that is enough. */
static bool trust_what_we_know(Settle *settle, int32_t record_version) {
        ScheduledJob *job = job_of(settle);
        const Ledger *ledger = job ? scheduled_job_ledger(job, &settle->ledger_version) : NULL;

        if (record_version < 0 || !ledger || settle->only_if_claimed)
                return false;
        settle->record_version = record_version;
        settle->ledger = ledger_copy(ledger);
        settle->open_exists = true;
        for (guint i = 0; i < n_locks(settle); i++)
                settle->lock_exists[i] = true;
        return true;
}

static int on_begin(sd_event_source *source, uint64_t usec, void *userdata) {
        Settle *settle = userdata;

        settle->pause = sd_event_source_disable_unref(settle->pause);
        if (!session_zk(settle->coordinator->session))
                finish(settle, SETTLE_AGAIN);
        else if (settle->record_known)
                write_result(settle);
        else
                read_truth(settle);
        return 0;
}

int settle_start(Coordinator *coordinator, const SettleRequest *request, SettleFunc func,
                 void *userdata, Settle **ret_settle) {
        const char *root = coordinator->config->root;
        _cleanup_(settle_freep) Settle *settle = g_new0(Settle, 1);
        int r;

        if (!session_zk(coordinator->session))
                return -ENOTCONN;
        settle->coordinator = coordinator;
        settle->func = func;
        settle->userdata = userdata;
        settle->record = run_record_copy(request->record);
        settle->owner = g_strdup(request->owner);
        settle->only_if_claimed = request->only_if_claimed;
        settle->record_path = path_run(root, settle->record->job, settle->record->run);
        settle->ledger_path = path_job(root, settle->record->job);
        settle->runs_path = path_runs(root, settle->record->job);
        settle->open_path =
            path_open_run(root, settle->owner, settle->record->job, settle->record->run);
        settle->lock_exists = g_new0(bool, n_locks(settle) + 1);
        settle->reads = g_ptr_array_new_with_free_func(settle_read_free);
        settle->record_known = trust_what_we_know(settle, request->record_version);
        /* From the loop, so that the callback never comes from inside this function. */
        r = sd_event_add_time(coordinator->event, &settle->pause, CLOCK_MONOTONIC, 0, 1, on_begin,
                              settle);
        if (r < 0)
                return r;
        *ret_settle = g_steal_pointer(&settle);
        return 0;
}

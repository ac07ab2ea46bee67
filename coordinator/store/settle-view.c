/* See settle-view.h. */
#include "settle-view.h"

#include <string.h>

#include "damaged.h"
#include "flight.h"
#include "log.h"
#include "message-id.h"
#include "paths.h"
#include "rename.h"
#include "settle-asks.h"

typedef struct SettleViewLock {
        SettleView *view; /* weak: owns us */
        const char *path; /* borrowed from the record */
        bool exists;
} SettleViewLock;

static void settle_view_left_clear(void *data) {
        g_free(((SettleViewLeft *)data)->path);
}

static void settle_view_set_ledger_job(SettleView *view, const char *job) {
        g_free(view->ledger_job);
        g_free(view->ledger_path);
        view->ledger_job = g_strdup(job);
        view->ledger_path = path_job(view->node->config->root, job);
}

SettleView *settle_view_new(const Node *node, const RunRecord *record, const char *owner,
                            bool only_if_claimed, SettleViewFunc func, void *userdata) {
        const char *root = node->config->root;
        SettleView *view = g_new0(SettleView, 1);

        view->node = node;
        view->record = record;
        view->only_if_claimed = only_if_claimed;
        view->func = func;
        view->userdata = userdata;
        view->record_path = path_run(root, record->job, record->run);
        settle_view_set_ledger_job(view, record->job);
        view->runs_path = path_runs(root, record->job);
        view->open_path = path_open_run(root, owner, record->job, record->run);
        view->left = g_array_new(FALSE, TRUE, sizeof(SettleViewLeft));
        g_array_set_clear_func(view->left, settle_view_left_clear);
        view->locks = g_array_new(FALSE, TRUE, sizeof(SettleViewLock));
        /* What a person says is no reason to let go of anything. */
        for (char **path = record->locks; path && *path && !record->resolution.at; path++) {
                SettleViewLock lock = {.view = view, .path = *path};
                g_array_append_val(view->locks, lock);
        }
        return view;
}

SettleView *settle_view_free(SettleView *view) {
        if (!view)
                return NULL;
        flight_free(view->flight);
        ledger_free(view->ledger);
        g_array_unref(view->locks);
        g_array_unref(view->left);
        g_free(view->ledger_job);
        g_free(view->record_path);
        g_free(view->ledger_path);
        g_free(view->runs_path);
        g_free(view->open_path);
        g_free(view);
        return NULL;
}

static SettleViewLock *settle_view_lock(const SettleView *view, guint index) {
        return &g_array_index(view->locks, SettleViewLock, index);
}

bool settle_view_has_lock(const SettleView *view, guint index) {
        return settle_view_lock(view, index)->exists;
}

void settle_view_believe(SettleView *view, int32_t record_version, const Ledger *ledger,
                         int32_t ledger_version) {
        view->record_known = true;
        view->record_version = record_version;
        ledger_free(view->ledger);
        view->ledger = ledger_copy(ledger);
        view->ledger_version = ledger_version;
        view->open_exists = true;
        for (guint i = 0; i < view->locks->len; i++)
                settle_view_lock(view, i)->exists = true;
}

/* How it ended was said already, by somebody who could not see its end: his word stays, for whoever
 * looks goes by it by now. */
static void settle_view_tell_contradiction(const RunRecord *ours, const RunRecord *found) {
        const LogAbout about = {.message_id = MESSAGE_RUN_RESOLVED,
                                .job = ours->job,
                                .run = ours->run,
                                .tick = ours->tick};

        log_warning(&about, "run %s ended here as %s, but stays recorded as %s: %s", ours->run,
                    run_state_to_string(ours->state), run_state_to_string(found->state),
                    found->why ? found->why : "resolved");
}

/* What stands there means for what a person says of the run: he says it of one that is unknown. */
static SettleVerdict settle_view_judge_word(const RunRecord *ours, const RunRecord *found) {
        if (found->state == RUN_UNKNOWN)
                return SETTLE_VERDICT_REFINE;
        return found->state == ours->state && found->resolution.at == ours->resolution.at &&
                       g_strcmp0(found->resolution.by, ours->resolution.by) == 0
                   ? SETTLE_VERDICT_WRITTEN
                   : SETTLE_VERDICT_ELSEWHERE;
}

/* How it ended nobody knows, but that it has is known by now: that is what a service waits for. */
static bool settle_view_is_known_to_be_over(const RunRecord *ours, const RunRecord *found) {
        return ours->terms.service && ours->state == RUN_UNKNOWN && !ours->continues &&
               found->state == RUN_UNKNOWN && found->continues;
}

/* What the record that stands there means for us. */
static SettleVerdict settle_view_judge(const SettleView *view, const RunRecord *found) {
        const RunRecord *ours = view->record;
        bool same = g_strcmp0(found->nonce, ours->nonce) == 0;

        if (same && ours->resolution.at)
                return settle_view_judge_word(ours, found);
        if (same && found->resolution.at && !view->only_if_claimed && ours->state != RUN_UNKNOWN &&
            ours->state != found->state)
                settle_view_tell_contradiction(ours, found);
        if (same && !run_state_is_final(found->state))
                return SETTLE_VERDICT_WRITE;
        if (same && found->state == ours->state && found->ended == ours->ended)
                return SETTLE_VERDICT_WRITTEN;
        if (same && settle_view_is_known_to_be_over(ours, found) && !view->only_if_claimed)
                return SETTLE_VERDICT_REFINE;
        if (!same || view->only_if_claimed || found->state != RUN_UNKNOWN ||
            ours->state == RUN_UNKNOWN)
                return SETTLE_VERDICT_ELSEWHERE;
        return SETTLE_VERDICT_REFINE;
}

/* Return: whether it is a record, and the one of our run. */
static bool settle_view_is_of_run(const SettleView *view, const RunRecord *found) {
        return found && strcmp(found->job, view->record->job) == 0 &&
               strcmp(found->run, view->record->run) == 0;
}

/* It is written anew. */
static void settle_view_note_damage(SettleView *view, const ZkReply *reply) {
        if (!view->damage_kept)
                damaged_keep(session_zk(view->node->session), view->node->config->root,
                             view->record->job, view->record->run, reply->data, reply->data_size);
        view->damage_kept = true;
}

static void settle_view_on_record(const ZkReply *reply, void *userdata) {
        SettleView *view = userdata;
        _cleanup_(run_record_freep) RunRecord *found = NULL;

        view->record_known = true;
        view->record_version = reply->code == ZK_OK ? reply->stat.version : -1;
        if (reply->code == ZK_OK)
                (void)run_record_decode(reply->data, reply->data_size, &found);
        view->found = settle_view_is_of_run(view, found);
        if (view->found)
                view->verdict = settle_view_judge(view, found);
        else if (reply->code == ZK_OK)
                settle_view_note_damage(view, reply);
}

static void settle_view_on_ledger(const ZkReply *reply, void *userdata) {
        SettleView *view = userdata;
        const LogAbout about = {.message_id = MESSAGE_FOREIGN_DATA, .job = view->record->job};

        view->ledger = ledger_free(view->ledger);
        if (reply->code == ZK_OK && ledger_decode(reply->data, reply->data_size, &view->ledger) < 0)
                log_warning(&about, "%s: not a ledger; the run is settled in its record alone",
                            view->ledger_path);
        view->ledger_version = reply->stat.version;
}

/* Return: whether that is a later attempt of our tick. */
static bool settle_view_is_newer(const RunRecord *ours, const char *name) {
        g_autofree char *prefix = g_strdup_printf("%" G_GINT64_FORMAT "-", ours->tick);

        return ours->tick && g_str_has_prefix(name, prefix) && run_id_is_valid(name) &&
               g_ascii_strtoull(name + strlen(prefix), NULL, 10) > ours->attempt;
}

/* Those of a name that the job got since. */
static void settle_view_on_later_records(const ZkReply *reply, void *userdata) {
        SettleView *view = userdata;

        for (size_t i = 0; i < reply->n_children; i++)
                view->newer_attempt |= settle_view_is_newer(view->record, reply->children[i]);
}

static void settle_view_on_records(const ZkReply *reply, void *userdata) {
        SettleView *view = userdata;

        view->no_directory = reply->code == ZK_NO_NODE;
        view->newer_attempt = false;
        settle_view_on_later_records(reply, view);
}

static void settle_view_on_open(const ZkReply *reply, void *userdata) {
        ((SettleView *)userdata)->open_exists = reply->code == ZK_OK;
}

/* A single node of a session that is over goes by itself, and another's may come in its place
 * before our transaction does: only in our own session it stays where we saw it. Other names are
 * unique. */
static bool settle_view_may_delete(const SettleViewLock *lock, const ZkStat *stat) {
        const SettleView *view = lock->view;

        return run_record_is_contender(view->record, stat->czxid) &&
               (!g_str_has_suffix(lock->path, "/lock") ||
                stat->ephemeral_owner == session_id(view->node->session));
}

static void settle_view_on_lock(const ZkReply *reply, void *userdata) {
        SettleViewLock *lock = userdata;

        lock->exists = reply->code == ZK_OK && settle_view_may_delete(lock, &reply->stat);
}

/* A service waits for that word, whose run has no record any more: the ledger knows it. */
static bool settle_view_is_waited_for(const SettleView *view) {
        const LedgerEntry *entry =
            view->ledger ? ledger_find_run(view->ledger, view->record->run) : NULL;

        return view->record->resolution.at && entry && ledger_may_be_alive(entry);
}

static void settle_view_on_landed(ZkCode code, void *userdata);

/* Return: 0 where the ledger of the name that the job has now is being read; negative errno. */
static int settle_view_follow(SettleView *view) {
        SettleViewLeft left = {.path = g_strdup(view->ledger_path),
                               .version = view->ledger_version};
        g_autofree char *job = g_strdup(view->ledger->renamed), *runs = NULL;
        int r;

        g_array_append_val(view->left, left);
        settle_view_set_ledger_job(view, job);
        runs = path_runs(view->node->config->root, job);
        view->flight = flight_new(session_zk(view->node->session), settle_view_on_landed, view);
        flight_get(view->flight, view->ledger_path, settle_view_on_ledger, view);
        flight_get_children(view->flight, runs, settle_view_on_later_records, view);
        r = flight_depart(view->flight);
        if (r < 0)
                view->flight = flight_free(view->flight);
        return r;
}

static void settle_view_end(SettleView *view, ZkCode code) {
        if (!view->found && settle_view_is_waited_for(view))
                view->verdict = SETTLE_VERDICT_WRITE;
        view->func(code, view->userdata);
}

static void settle_view_on_looked(ZkCode code, void *userdata) {
        SettleView *view = userdata;

        view->flight = flight_free(view->flight);
        settle_view_end(view, code);
}

/* The job has its name again, and had another one in between, by which a newer attempt may have
 * been made. Return: 0 where that is being read; negative errno. */
static int settle_view_look_between(SettleView *view) {
        g_autofree char *runs = path_runs(view->node->config->root, view->ledger->was);
        int r;

        view->flight = flight_new(session_zk(view->node->session), settle_view_on_looked, view);
        flight_get_children(view->flight, runs, settle_view_on_later_records, view);
        r = flight_depart(view->flight);
        if (r < 0)
                view->flight = flight_free(view->flight);
        return r;
}

static void settle_view_on_landed(ZkCode code, void *userdata) {
        SettleView *view = userdata;
        const Ledger *ledger = view->ledger;
        bool leads_on = ledger && ledger->renamed && view->left->len < RENAME_NAMES_MAX,
             is_back = ledger && ledger->was && view->left->len == 0 &&
                       view->verdict == SETTLE_VERDICT_REFINE;
        int r = 0;

        view->flight = flight_free(view->flight);
        if (code == ZK_OK && (leads_on || is_back)) {
                r = leads_on ? settle_view_follow(view) : settle_view_look_between(view);
                if (r >= 0)
                        return;
                code = ZK_UNKNOWN;
        }
        settle_view_end(view, code);
}

/* Where no record stands there, or none that can be read: it is written anew, but not by whoever
 * has only a word to say of it that nothing waits for. */
static SettleVerdict settle_view_first_verdict(const SettleView *view) {
        return view->record->resolution.at ? SETTLE_VERDICT_ELSEWHERE : SETTLE_VERDICT_WRITE;
}

int settle_view_read(SettleView *view) {
        int r;

        flight_free(view->flight);
        g_array_set_size(view->left, 0);
        settle_view_set_ledger_job(view, view->record->job);
        view->verdict = settle_view_first_verdict(view);
        view->found = false;
        view->flight = flight_new(session_zk(view->node->session), settle_view_on_landed, view);
        /* The server we are connected to may lag behind the one that took the write: sync first. */
        flight_sync(view->flight, view->record_path);
        flight_get(view->flight, view->record_path, settle_view_on_record, view);
        flight_get(view->flight, view->ledger_path, settle_view_on_ledger, view);
        flight_get_children(view->flight, view->runs_path, settle_view_on_records, view);
        if (!view->record->resolution.at) /* whose owner may not be known any more */
                flight_exists(view->flight, view->open_path, settle_view_on_open, view);
        for (guint i = 0; i < view->locks->len; i++) {
                SettleViewLock *lock = settle_view_lock(view, i);
                flight_exists(view->flight, lock->path, settle_view_on_lock, lock);
        }
        if (view->asks)
                settle_asks_read(view->asks, view->flight);
        r = flight_depart(view->flight);
        if (r < 0)
                view->flight = flight_free(view->flight);
        return r;
}

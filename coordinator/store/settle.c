/* See settle.h. What is read and believed of the other side is in settle-view.h. */
#include "settle.h"

#include <errno.h>
#include <inttypes.h>

#include "backoff.h"
#include "chance.h"
#include "ensemble-memory.h"
#include "ledger-change.h"
#include "log.h"
#include "message-id.h"
#include "next-attempt.h"
#include "settle-asks.h"
#include "settle-view.h"
#include "timer.h"
#include "zk-ops.h"
#include "zones.h"

#define SETTLE_ATTEMPTS_BEFORE_PAUSE 4
#define SETTLE_PAUSE (500 * USEC_PER_MSEC)
#define SETTLE_PAUSE_MAX (8 * USEC_PER_SEC)
/* Where the server says no, until somebody sees to that: there may be many runs, of several nodes.
 */
#define SETTLE_REFUSED_PAUSE_MAX (1 * USEC_PER_MINUTE)
/* Where others were quicker: for very many of them to come one after the other. */
#define SETTLE_OUTRUN_PAUSE (10 * USEC_PER_MSEC)
#define SETTLE_OUTRUN_PAUSE_MAX (200 * USEC_PER_MSEC)
/* How often it is asked for the server's clock before ours has to do. */
#define SETTLE_CLOCK_LOOKS_MAX 20

struct Settle {
        const Settler *settler; /* weak */
        SettleFunc func;
        void *userdata;
        RunRecord *record;
        bool only_if_claimed, is_own;
        SettleView *view;
        SettleAsks *asks;

        /* what the write under way will have changed */
        Ledger *next_ledger;
        guint ledger_op;

        SettleTurn turn; /* from reading the truth to the answer to what is then written */
        ZkCall *write;
        sd_event_source *pause;
        unsigned attempts, outrun, pauses, clock_looks;
        bool refused; /* and it was told */
};

static void settle_read_truth(Settle *settle);

Settle *settle_free(Settle *settle) {
        if (!settle)
                return NULL;
        settle_turn_end(&settle->turn);
        sd_event_source_disable_unref(settle->pause);
        zk_call_free(settle->write);
        settle_view_free(settle->view);
        settle_asks_free(settle->asks);
        ledger_free(settle->next_ledger);
        run_record_free(settle->record);
        g_free(settle);
        return NULL;
}

static Zk *settle_zk(const Settle *settle) {
        return session_zk(settle->settler->node->session);
}

/* Return: our own file's schedule where that is the definition in force, or NULL. */
static const Schedule *settle_own_schedule(const Settle *settle) {
        const Settler *settler = settle->settler;
        const JobSpec *spec = jobset_find_of_run(settler->jobset, settle->view->ledger_job);
        const Ledger *ledger = settle->next_ledger;
        g_autofree char *digest = spec ? job_spec_digest(spec, settler->node->config) : NULL;

        return spec && g_str_equal(digest, ledger->digest) ? spec->schedule : NULL;
}

/* Return: newly allocated, the record as a run of the name that the job has now; NULL: it has that
 * still. */
static RunRecord *settle_renamed_record(const Settle *settle) {
        RunRecord *renamed = NULL;

        if (settle->view->left->len == 0)
                return NULL;
        renamed = run_record_copy(settle->record);
        g_free(renamed->job);
        renamed->job = g_strdup(settle->view->ledger_job);
        return renamed;
}

/* The mark moves by the schedule in force, which is not ours where our file differs; one that is
 * too long to stand in the ledger is known only to who has it. */
static void settle_in_ledger(Settle *settle) {
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        _cleanup_(run_record_freep) RunRecord *renamed = settle_renamed_record(settle);
        int r = ledger_schedule(settle->next_ledger, &schedule);

        const Schedule *in_force = r < 0 ? settle_own_schedule(settle) : schedule;

        /* Whose time zone data are not those in force moves no mark. */
        if (zones_judge(settle->next_ledger, in_force, NULL,
                        (int64_t)(clock_realtime() / USEC_PER_SEC)) == ZONES_DIFFER)
                in_force = NULL;
        (void)ledger_settle(settle->next_ledger, renamed ? renamed : settle->record, in_force,
                            node_server_time_or(settle->settler->node, settle->record->claimed));
}

/* The owner frees us in its callback or after it. */
static void settle_finish(Settle *settle, SettleOutcome outcome) {
        settle_turn_end(&settle->turn);
        settle->func(outcome, settle->userdata);
}

/* It is written, by a transaction whose answer we have not seen: what else that changed is news,
 * such as another attempt that is owed. */
static void settle_finish_by_truth(Settle *settle, SettleOutcome outcome) {
        LedgerCache *ledgers = settle->settler->ledgers;
        SettleView *view = settle->view;
        int32_t known = 0;

        if (view->ledger && ledger_cache_get(ledgers, view->ledger_job, &known) &&
            view->ledger_version > known)
                ledger_cache_set(ledgers, view->ledger_job, g_steal_pointer(&view->ledger),
                                 view->ledger_version);
        settle_finish(settle, outcome);
}

static void settle_on_pause_over(void *userdata) {
        settle_read_truth(userdata);
}

static void settle_again_in(Settle *settle, usec_t pause) {
        settle_turn_end(&settle->turn);
        if (timer_in(settle->settler->node->event, &settle->pause, pause, settle_on_pause_over,
                     settle) < 0)
                settle_finish(settle, SETTLE_AGAIN);
}

/* Longer and longer: what refuses us for long will not change in a moment. */
static void settle_again_later(Settle *settle) {
        unsigned doublings = MIN(settle->pauses, 10U);

        settle->pauses++;
        settle_again_in(settle, MIN(SETTLE_PAUSE << doublings,
                                    settle->refused ? SETTLE_REFUSED_PAUSE_MAX : SETTLE_PAUSE_MAX));
}

/* It failed by that: where nobody but a person can help it is told. */
static void settle_failed(Settle *settle, ZkCode code) {
        const RunRecord *record = settle->record;
        const LogAbout about = {.message_id = MESSAGE_REFUSED,
                                .job = record->job,
                                .run = record->run,
                                .tick = record->tick};

        if (zk_code_is_refusal(code) && !settle->refused)
                log_error(&about,
                          "that run %s is %s cannot be recorded: %s; it is tried again until it "
                          "can",
                          record->run, run_state_to_string(record->state), zk_code_to_string(code));
        settle->refused = zk_code_is_refusal(code);
        settle_again_later(settle);
}

/* Others who write to the same place were quicker: each time one of them is through, so it ends.
 * The run's locks are held meanwhile, and it waits only so long that not all of them come again at
 * once. */
static void settle_again_soon(Settle *settle) {
        uint32_t dice;

        chance_fill(&dice, sizeof(dice));
        settle_again_in(settle, backoff_pause(SETTLE_OUTRUN_PAUSE, SETTLE_OUTRUN_PAUSE_MAX,
                                              settle->outrun++, dice));
}

/* ---- the write ---- */

static void settle_tell_retry(const Settle *settle) {
        const RunRecord *record = settle->record;
        const LogAbout about = {.message_id = MESSAGE_RETRY_FOLLOWS,
                                .job = record->job,
                                .run = record->run,
                                .tick = record->tick};
        const LedgerEntry *entry = ledger_find_run(settle->next_ledger, record->run);
        usec_t now = node_server_time(settle->settler->node);

        if (entry && entry->not_before > 0)
                log_info(&about, "run %s is followed by attempt %u of its tick, in %" PRIu64 " s",
                         record->run, entry->attempt + 1,
                         (usec_sub(entry->not_before, now) + USEC_PER_SEC - 1) / USEC_PER_SEC);
}

/* It was told that the job is overdue, by whatever node: it is not any more. */
static void settle_tell_success(const Settle *settle) {
        const RunRecord *record = settle->record;
        const LogAbout about = {.message_id = MESSAGE_JOB_NOT_OVERDUE,
                                .job = record->job,
                                .run = record->run,
                                .tick = record->tick};

        if (settle->view->ledger->overdue && !settle->next_ledger->overdue)
                log_notice(&about, "run %s has succeeded: the job is not overdue any more",
                           record->run);
}

/* The directory of our own open runs changed by it; that of others may be older than what we write
 * for them. */
static void settle_remember(const Settle *settle, const ZkReply *reply) {
        const Node *node = settle->settler->node;
        int64_t zxid = 0;

        for (size_t i = 0; i < reply->n_results; i++)
                zxid = MAX(zxid, reply->results[i].stat.mzxid);
        if (settle->is_own && settle->view->open_exists)
                ensemble_memory_wrote(node->ensemble, zxid);
}

static void settle_write_done(Settle *settle, const ZkReply *reply) {
        const Settler *settler = settle->settler;
        const char *job = settle->view->ledger_job;

        settle_remember(settle, reply);
        settle_asks_tell(settle->asks);
        if (settle->next_ledger) {
                settle_tell_retry(settle);
                settle_tell_success(settle);
        }
        if (settle->next_ledger && settle->ledger_op < reply->n_results)
                ledger_cache_set(settler->ledgers, job, g_steal_pointer(&settle->next_ledger),
                                 reply->results[settle->ledger_op].stat.version);
        pruner_note(settler->pruner, settle->record->job);
        settle_finish(settle, SETTLE_DONE);
}

static void settle_on_written(const ZkReply *reply, void *userdata) {
        Settle *settle = userdata;

        settle->write = NULL;
        switch (reply->code) {
        case ZK_OK:
                settle_write_done(settle, reply);
                return;
        case ZK_CLOSED:
                settle_finish(settle, SETTLE_AGAIN);
                return;
        case ZK_UNKNOWN:
                settle_again_later(settle);
                return;
        default:
                if (settle_asks_was_outrun(settle->asks, reply))
                        settle_again_soon(settle);
                else if (settle_asks_gives_up(settle->asks, reply) ||
                         (!zk_code_is_refusal(reply->code) &&
                          ++settle->attempts % SETTLE_ATTEMPTS_BEFORE_PAUSE != 0))
                        settle_read_truth(settle);
                else
                        settle_failed(settle, reply->code);
        }
}

/* Return: the ledger as it will be, encoded; NULL where there is none. */
static char *settle_encode_ledger(Settle *settle) {
        settle->next_ledger = ledger_free(settle->next_ledger);
        if (!settle->view->ledger)
                return NULL;
        settle->next_ledger = ledger_copy(settle->view->ledger);
        settle_in_ledger(settle);
        return ledger_encode(settle->next_ledger);
}

/* Return: what the run has come to by that ledger, NULL where there is none. */
static FollowState settle_state_by(const Settle *settle, const Ledger *ledger, RunState state) {
        const LedgerEntry *entry = ledger ? ledger_find_run(ledger, settle->record->run) : NULL;

        return (FollowState){.state = state, .attempt_follows = entry && entry->not_before > 0};
}

/* Return: whether somebody settled it before, as unknown; also where the record of that was deleted
 * since. */
static bool settle_was_over(const Settle *settle) {
        const SettleView *view = settle->view;

        return view->verdict == SETTLE_VERDICT_REFINE ||
               (view->record_version < 0 && view->ledger &&
                !ledger_find_run(view->ledger, settle->record->run));
}

/* What it asks for. The newest run that was over before has failed where the ledger says so, and
 * this one changes that. */
static void settle_add_asks(const Settle *settle, GArray *ops) {
        const Node *node = settle->settler->node;
        const Ledger *known = settle->view->ledger;
        RunState state = settle->record->state;
        FollowState before = settle_state_by(settle, known,
                                             settle_was_over(settle) ? RUN_UNKNOWN : RUN_CLAIMED),
                    after = settle_state_by(settle, settle->next_ledger, state);

        after.failing = known && known->failing && !settle->next_ledger->failing;
        settle_asks_add(settle->asks, ops, &before, &after,
                        node_server_time_or(node, clock_realtime()));
}

/* Nobody has taken the job back to a name that it had, while we write by the one that it has. */
static void settle_add_left(const SettleView *view, GArray *ops) {
        for (guint i = 0; i < view->left->len; i++) {
                const SettleViewLeft *left = &g_array_index(view->left, SettleViewLeft, i);

                zk_ops_add(ops, ZK_OP_CHECK, left->path, NULL, left->version);
        }
}

static void settle_write(Settle *settle) {
        const SettleView *view = settle->view;
        g_autoptr(GArray) ops = zk_ops_new();
        g_autofree char *record = run_record_encode(settle->record),
                        *ledger = settle_encode_ledger(settle);

        if (view->record_version >= 0)
                zk_ops_add(ops, ZK_OP_SET, view->record_path, record, view->record_version);
        else if (!view->no_directory)
                zk_ops_add(ops, ZK_OP_CREATE, view->record_path, record, 0);
        settle->ledger_op = ops->len;
        if (ledger)
                zk_ops_add(ops, ZK_OP_SET, view->ledger_path, ledger, view->ledger_version);
        if (view->open_exists)
                zk_ops_add(ops, ZK_OP_DELETE, view->open_path, NULL, -1);
        for (guint i = 0; i < view->locks->len; i++)
                if (settle_view_has_lock(view, i) && !settle->only_if_claimed)
                        zk_ops_add(ops, ZK_OP_DELETE, settle->record->locks[i], NULL, -1);
        if (ops->len > 0 && !view->no_directory)
                settle_add_asks(settle, ops);
        if (ops->len > 0)
                settle_add_left(view, ops);
        if (ops->len == 0) /* nothing is left of the job */
                settle_finish(settle, SETTLE_DONE);
        else if (zk_ops_send(ops, settle_zk(settle), settle_on_written, settle, &settle->write) < 0)
                settle_again_later(settle);
}

/* Where an attempt follows, and it is not known yet what time it is. Return: whether it is begun
 * again once that may be. */
static bool settle_waits_for_clock(Settle *settle) {
        const Node *node = settle->settler->node;

        if (node->skew.measured || settle->clock_looks == SETTLE_CLOCK_LOOKS_MAX ||
            !next_attempt_not_before(settle->record, 1))
                return false;
        settle->clock_looks++;
        settle_turn_end(&settle->turn);
        return timer_in(node->event, &settle->pause, clock_watch_measure(settle->settler->clock),
                        settle_on_pause_over, settle) >= 0;
}

static void settle_go_on(Settle *settle) {
        if (settle->view->ledger)
                ledger_complete(settle->view->ledger, settle->record, settle->only_if_claimed);
        if (!settle_waits_for_clock(settle))
                settle_write(settle);
}

/* ---- the truth ---- */

/* Everything is read: is there still something to be written? */
static void settle_on_truth(ZkCode code, void *userdata) {
        Settle *settle = userdata;
        const SettleView *view = settle->view;

        if (code == ZK_CLOSED)
                settle_finish(settle, SETTLE_AGAIN);
        else if (code != ZK_OK)
                settle_failed(settle, code);
        else if (view->verdict == SETTLE_VERDICT_WRITTEN)
                settle_finish_by_truth(settle, SETTLE_DONE);
        else if (view->verdict == SETTLE_VERDICT_ELSEWHERE ||
                 (view->verdict == SETTLE_VERDICT_REFINE && view->newer_attempt))
                settle_finish_by_truth(settle, SETTLE_ELSEWHERE);
        else
                settle_go_on(settle);
}

static void settle_on_turn(void *userdata) {
        Settle *settle = userdata;

        if (!settle_zk(settle))
                settle_finish(settle, SETTLE_AGAIN);
        else if (settle_view_read(settle->view) < 0)
                settle_again_later(settle);
}

static void settle_read_truth(Settle *settle) {
        settle_turn_take(&settle->turn, settle->settler->window, settle->record->job,
                         settle_on_turn, settle);
}

/* Takes over what the node knows of the ledger and the record, for a first try without a read. */
static void settle_trust_what_we_know(Settle *settle, int32_t record_version) {
        const Settler *settler = settle->settler;
        int32_t version = 0;
        const Ledger *ledger = ledger_cache_get(settler->ledgers, settle->record->job, &version);

        if (record_version >= 0 && ledger && !ledger->renamed && !settle->only_if_claimed)
                settle_view_believe(settle->view, record_version, ledger, version);
}

static void settle_on_begin(void *userdata) {
        Settle *settle = userdata;

        if (!settle_zk(settle))
                settle_finish(settle, SETTLE_AGAIN);
        else if (settle->view->record_known && !settle_asks_must_look(settle->asks))
                settle_go_on(settle);
        else
                settle_read_truth(settle);
}

int settle_start(const Settler *settler, const SettleRequest *request, SettleFunc func,
                 void *userdata, Settle **ret_settle) {
        _cleanup_(settle_freep) Settle *settle = g_new0(Settle, 1);
        int r;

        settle->settler = settler;
        if (!settle_zk(settle))
                return -ENOTCONN;
        settle->func = func;
        settle->userdata = userdata;
        settle->record = run_record_copy(request->record);
        settle->only_if_claimed = request->only_if_claimed;
        settle->is_own = g_strcmp0(request->owner, settler->node->config->node_name) == 0;
        settle->view = settle_view_new(settler->node, settle->record, request->owner,
                                       request->only_if_claimed, settle_on_truth, settle);
        settle->asks = settle_asks_new(settler->node, settler->jobset, settle->record);
        settle->view->asks = settle->asks;
        settle_trust_what_we_know(settle, request->record_version);
        /* From the loop, so that the callback never comes from inside this function. */
        r = timer_in(settler->node->event, &settle->pause, 0, settle_on_begin, settle);
        if (r < 0)
                return r;
        *ret_settle = g_steal_pointer(&settle);
        return 0;
}

/* See withdrawal.h.
 *
 * In two steps, because this node cannot know whether others have the job still. First the ledger
 * says that a node has lost it, and when; its definition stays in force and what is due stays owed.
 * A node that has the job, unchanged, says so when it reads that (in-force.c): at once where a tick
 * waits, at the next tick otherwise, and once said it is settled for good. If a tick was due and
 * none did within a patience, none has it: what waited is skipped, and the job begins anew when it
 * is added again.
 *
 * Meanwhile the memory of the job's digest is empty but there, so that a restart goes on with it,
 * and a job that is added again counts as changed.
 */
#include "withdrawal.h"

#include "ledger-change.h"
#include "ledger-skip.h"
#include "ledger.h"
#include "log.h"
#include "message-id.h"
#include "paths.h"
#include "placement.h"
#include "skip-record.h"
#include "timer.h"
#include "zk-ops.h"

#define RETRY_DELAY (1 * USEC_PER_SEC)
#define LOOK_PERIOD (10 * USEC_PER_MINUTE)

struct Withdrawals {
        const Node *node;             /* weak */
        DigestMemory *digests;        /* weak */
        ClockWatch *clock;            /* weak */
        GHashTable *jobs;             /* job → Withdrawal */
        GQueue waiting;               /* Withdrawal: for one of those that are busy to be done */
        unsigned busy;                /* with a request under way */
        sd_event_source *clock_timer; /* all that wait do so until our clock is good */
};

typedef struct Withdrawal {
        Withdrawals *withdrawals; /* weak: owns us */
        char *job, *path;
        ZkCall *call;
        sd_event_source *timer;
        GList link;         /* in `waiting` */
        bool waits;         /* it is there */
        bool said;          /* the ledger said so: who has the job knows, and may have answered */
        bool records_exist; /* of what is to be skipped, or their directory is gone */
        char *note;         /* what to log when the skips are written */
        int64_t note_tick;
} Withdrawal;

static void withdrawal_look(Withdrawal *withdrawal);

static void withdrawal_free(void *data) {
        Withdrawal *withdrawal = data;

        if (withdrawal->call)
                withdrawal->withdrawals->busy--;
        zk_call_free(withdrawal->call);
        if (withdrawal->waits)
                g_queue_unlink(&withdrawal->withdrawals->waiting, &withdrawal->link);
        sd_event_source_disable_unref(withdrawal->timer);
        g_free(withdrawal->note);
        g_free(withdrawal->job);
        g_free(withdrawal->path);
        g_free(withdrawal);
}

Withdrawals *withdrawals_new(const Node *node, DigestMemory *digests, ClockWatch *clock) {
        Withdrawals *withdrawals = g_new0(Withdrawals, 1);

        withdrawals->node = node;
        withdrawals->digests = digests;
        withdrawals->clock = clock;
        withdrawals->jobs = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, withdrawal_free);
        g_queue_init(&withdrawals->waiting);
        return withdrawals;
}

Withdrawals *withdrawals_free(Withdrawals *withdrawals) {
        if (!withdrawals)
                return NULL;
        withdrawals_reset(withdrawals);
        g_hash_table_unref(withdrawals->jobs);
        g_free(withdrawals);
        return NULL;
}

void withdrawals_reset(Withdrawals *withdrawals) {
        withdrawals->clock_timer = sd_event_source_disable_unref(withdrawals->clock_timer);
        g_hash_table_remove_all(withdrawals->jobs);
}

unsigned withdrawals_size(const Withdrawals *withdrawals) {
        return g_hash_table_size(withdrawals->jobs);
}

static void withdrawals_go_on(Withdrawals *withdrawals);

static void withdrawals_on_clock(void *userdata) {
        withdrawals_go_on(userdata);
}

/* Nothing is dated by a clock that is not good. That may last, and while it is skewed somebody else
 * measures it: a look for each of thousands would be as many requests each second. */
static bool withdrawals_may_look(Withdrawals *withdrawals) {
        if (clock_watch_is_good(withdrawals->clock))
                return true;
        if (!clock_watch_is_known(withdrawals->clock))
                (void)clock_watch_measure(withdrawals->clock);
        if (!withdrawals->clock_timer)
                (void)timer_in(withdrawals->node->event, &withdrawals->clock_timer, RETRY_DELAY,
                               withdrawals_on_clock, withdrawals);
        return false;
}

static void withdrawals_go_on(Withdrawals *withdrawals) {
        while (withdrawals->busy < WITHDRAWALS_BUSY_MAX && withdrawals->waiting.length > 0 &&
               withdrawals_may_look(withdrawals)) {
                Withdrawal *next = g_queue_pop_head_link(&withdrawals->waiting)->data;
                next->waits = false;
                withdrawal_look(next);
        }
}

static void withdrawal_wait(Withdrawal *withdrawal) {
        withdrawal->waits = true;
        withdrawal->link = (GList){.data = withdrawal};
        g_queue_push_tail_link(&withdrawal->withdrawals->waiting, &withdrawal->link);
        withdrawals_go_on(withdrawal->withdrawals);
}

/* Done, or it cannot be: then the job is still remembered, and the next reload or restart tries
 * again. */
static void withdrawal_over(Withdrawal *withdrawal, bool done) {
        const LogAbout about = {.message_id = MESSAGE_RELOADED, .job = withdrawal->job};

        if (done) {
                digest_memory_set(withdrawal->withdrawals->digests, withdrawal->job, NULL);
                log_info(&about, "the job is no longer in this node's files: withdrawn");
        }
        g_hash_table_remove(withdrawal->withdrawals->jobs, withdrawal->job);
}

static void withdrawal_on_timer(void *userdata) {
        withdrawal_wait(userdata);
}

static void withdrawal_look_in(Withdrawal *withdrawal, usec_t delay) {
        (void)timer_in(withdrawal->withdrawals->node->event, &withdrawal->timer, delay,
                       withdrawal_on_timer, withdrawal);
}

/* A request was sent, or (`r`) could not be. */
static void withdrawal_sent(Withdrawal *withdrawal, int r) {
        if (r < 0)
                withdrawal_over(withdrawal, false);
        else
                withdrawal->withdrawals->busy++;
}

static void withdrawal_answered(Withdrawal *withdrawal) {
        withdrawal->call = NULL;
        withdrawal->withdrawals->busy--;
}

/* Somebody else wrote in between, or nobody knows: the ledger tells. */
static bool is_worth_another_look(ZkCode code) {
        return code == ZK_OK || code == ZK_BAD_VERSION || code == ZK_UNKNOWN;
}

static void withdrawal_on_withdrawn(const ZkReply *reply, void *userdata) {
        Withdrawal *withdrawal = userdata;
        Withdrawals *withdrawals = withdrawal->withdrawals;

        withdrawal_answered(withdrawal);
        withdrawal->said |= reply->code == ZK_OK;
        if (is_worth_another_look(reply->code))
                withdrawal_look_in(withdrawal, reply->code == ZK_OK ? 0 : RETRY_DELAY);
        else
                withdrawal_over(withdrawal, false);
        withdrawals_go_on(withdrawals);
}

static void withdrawal_begin(Withdrawal *withdrawal, Ledger *ledger, int32_t version) {
        g_autofree char *data = NULL;

        ledger_withdraw(ledger, (int64_t)(clock_realtime() / USEC_PER_SEC));
        data = ledger_encode(ledger);
        withdrawal_sent(withdrawal,
                        zk_set(node_zk(withdrawal->withdrawals->node), withdrawal->path, data,
                               version, withdrawal_on_withdrawn, withdrawal, &withdrawal->call));
}

usec_t withdrawal_patience(const DaemonConfig *config) {
        return config->session_timeout + 2 * config->tick_time +
               PLACEMENT_RANKS * config->takeover_delay;
}

/* Return: for how long they may from now on. */
static usec_t withdrawal_time_for_others(const Withdrawal *withdrawal, const Ledger *ledger) {
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        usec_t patience = withdrawal_patience(withdrawal->withdrawals->node->config);

        (void)ledger_schedule(ledger, &schedule);
        return usec_sub((usec_t)ledger_withdrawal_shows(ledger, schedule) * USEC_PER_SEC + patience,
                        clock_realtime());
}

/* The next tick may be far away: looks now and then whether somebody has said it. */
static void withdrawal_wait_for_others(Withdrawal *withdrawal, usec_t duration) {
        withdrawal->said = true;
        digest_memory_set(withdrawal->withdrawals->digests, withdrawal->job, "");
        withdrawal_look_in(withdrawal, CLAMP(duration, RETRY_DELAY, LOOK_PERIOD));
}

/* Return: whether what was skipped is written; otherwise that is begun again, or it is over. */
static bool withdrawal_take_answer(Withdrawal *withdrawal, ZkCode code) {
        const LogAbout about = {.message_id = MESSAGE_TICK_SKIPPED,
                                .job = withdrawal->job,
                                .tick = withdrawal->note_tick};

        withdrawal_answered(withdrawal);
        if (code == ZK_OK && withdrawal->note)
                log_info(&about, "%s", withdrawal->note);
        if (code == ZK_OK)
                return true;
        withdrawal->records_exist |= code == ZK_NODE_EXISTS || code == ZK_NO_NODE;
        if (code == ZK_NODE_EXISTS || code == ZK_NO_NODE || is_worth_another_look(code))
                withdrawal_look_in(withdrawal, RETRY_DELAY);
        else
                withdrawal_over(withdrawal, false);
        return false;
}

static void withdrawal_on_finished(const ZkReply *reply, void *userdata) {
        Withdrawal *withdrawal = userdata;
        Withdrawals *withdrawals = withdrawal->withdrawals;

        if (withdrawal_take_answer(withdrawal, reply->code))
                withdrawal_over(withdrawal, true);
        withdrawals_go_on(withdrawals);
}

/* More is owed than goes into one write. */
static void withdrawal_on_skipped(const ZkReply *reply, void *userdata) {
        Withdrawal *withdrawal = userdata;
        Withdrawals *withdrawals = withdrawal->withdrawals;

        if (withdrawal_take_answer(withdrawal, reply->code)) {
                withdrawal->records_exist = false;
                withdrawal_look_in(withdrawal, 0);
        }
        withdrawals_go_on(withdrawals);
}

/* Takes the skips into the ledger and appends what writes their records. Return: whether more may
 * be owed, for which there is room. */
static bool withdrawal_add_skips(Withdrawal *withdrawal, GArray *ops, GPtrArray *strings,
                                 Ledger *ledger, int64_t now) {
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        DecisionSkip skips[DECISION_SKIPS_MAX];
        size_t n = 0, taken = 0;

        if (ledger_schedule(ledger, &schedule) == 0)
                n = owed_skips(withdrawal->job, ledger, schedule, now,
                               "its job left the job files while it waited", NULL, skips);
        for (size_t i = 0; i < n; i++) {
                const LedgerEntry *entry = NULL;
                bool joined = false;
                char *path, *data;

                if (ledger_skip(ledger, schedule, skips[i].from, skips[i].to, skips[i].count,
                                skips[i].why.text, &entry, &joined) < 0)
                        continue;
                taken++;
                path = path_run(withdrawal->withdrawals->node->config->root, withdrawal->job,
                                entry->run);
                data = skip_record_encode(withdrawal->withdrawals->node->config->node_name,
                                          withdrawal->job, entry);
                g_ptr_array_add(strings, path);
                g_ptr_array_add(strings, data);
                if (!withdrawal->records_exist)
                        zk_ops_add(ops, joined ? ZK_OP_SET : ZK_OP_CREATE, path, data, -1);
        }
        g_free(withdrawal->note);
        withdrawal->note = n > 0 ? skips_note(skips, n) : NULL;
        withdrawal->note_tick = n > 0 ? skips[0].from : 0;
        return n == DECISION_SKIPS_MAX && taken > 0;
}

/* Nobody has it. */
static void withdrawal_finish(Withdrawal *withdrawal, Ledger *ledger, int32_t version) {
        g_autoptr(GArray) ops = zk_ops_new();
        g_autoptr(GPtrArray) strings = g_ptr_array_new_with_free_func(g_free);
        int64_t now = (int64_t)(clock_realtime() / USEC_PER_SEC);
        bool more = withdrawal_add_skips(withdrawal, ops, strings, ledger, now);

        if (!more)
                ledger_adopt_digest(ledger, "", now);
        g_ptr_array_add(strings, ledger_encode(ledger));
        zk_ops_add(ops, ZK_OP_SET, withdrawal->path, strings->pdata[strings->len - 1], version);
        withdrawal_sent(withdrawal,
                        zk_ops_send(ops, node_zk(withdrawal->withdrawals->node),
                                    more ? withdrawal_on_skipped : withdrawal_on_finished,
                                    withdrawal, &withdrawal->call));
}

static void withdrawal_go_on(Withdrawal *withdrawal, Ledger *ledger, int32_t version) {
        usec_t left;

        if (!*ledger->digest || ledger->renamed || (withdrawal->said && !ledger->withdrawn)) {
                withdrawal_over(withdrawal, true); /* nobody has it, or others do */
                return;
        }
        if (!clock_watch_is_good(withdrawal->withdrawals->clock)) {
                withdrawal_wait(withdrawal);
                return;
        }
        if (!ledger->withdrawn) {
                withdrawal_begin(withdrawal, ledger, version);
                return;
        }
        left = withdrawal_time_for_others(withdrawal, ledger);
        if (left > 0)
                withdrawal_wait_for_others(withdrawal, left);
        else
                withdrawal_finish(withdrawal, ledger, version);
}

static void withdrawal_on_ledger(const ZkReply *reply, void *userdata) {
        Withdrawal *withdrawal = userdata;
        Withdrawals *withdrawals = withdrawal->withdrawals;
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        withdrawal_answered(withdrawal);
        if (reply->code == ZK_UNKNOWN)
                withdrawal_look_in(withdrawal, RETRY_DELAY);
        else if (reply->code != ZK_OK || ledger_decode(reply->data, reply->data_size, &ledger) < 0)
                withdrawal_over(withdrawal, reply->code == ZK_OK || reply->code == ZK_NO_NODE);
        else
                withdrawal_go_on(withdrawal, ledger, reply->stat.version);
        withdrawals_go_on(withdrawals);
}

static void withdrawal_look(Withdrawal *withdrawal) {
        withdrawal_sent(withdrawal, zk_get(node_zk(withdrawal->withdrawals->node), withdrawal->path,
                                           withdrawal_on_ledger, withdrawal, &withdrawal->call,
                                           NULL, NULL, NULL));
}

void withdrawals_add(Withdrawals *withdrawals, const char *job) {
        Withdrawal *withdrawal;

        if (!node_zk(withdrawals->node) || g_hash_table_contains(withdrawals->jobs, job))
                return;
        withdrawal = g_new0(Withdrawal, 1);
        withdrawal->withdrawals = withdrawals;
        withdrawal->job = g_strdup(job);
        withdrawal->path = path_job(withdrawals->node->config->root, job);
        g_hash_table_insert(withdrawals->jobs, withdrawal->job, withdrawal);
        withdrawal_wait(withdrawal);
}

void withdrawals_remove(Withdrawals *withdrawals, const char *job) {
        g_hash_table_remove(withdrawals->jobs, job);
        withdrawals_go_on(withdrawals);
}

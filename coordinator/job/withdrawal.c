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
 *
 * What was to be attempted again is given up first, then what is owed is skipped, then the
 * definition goes: a write each, and the ledger is read again after each.
 */
#include "withdrawal.h"

#include <errno.h>

#include "ledger-change.h"
#include "ledger-writer.h"
#include "ledger.h"
#include "log.h"
#include "message-id.h"
#include "paths.h"
#include "placement.h"
#include "skip-record.h"
#include "timer.h"

#define RETRY_DELAY (1 * USEC_PER_SEC)
#define FULL_DELAY (5 * USEC_PER_SEC)
#define LOOK_PERIOD (10 * USEC_PER_MINUTE)
#define SKIP_WHY "its job left the job files while it waited"

struct Withdrawals {
        WithdrawalsParts parts;
        LedgerCache *ledgers;         /* of these jobs, as what is written was decided on */
        GHashTable *jobs;             /* job → Withdrawal */
        GQueue waiting;               /* Withdrawal: for one of those that are busy to be done */
        unsigned busy;                /* with a request under way */
        sd_event_source *clock_timer; /* all that wait do so until our clock is good */
};

typedef struct Withdrawal {
        Withdrawals *withdrawals; /* weak: owns us */
        char *job, *path;
        ZkCall *call;
        LedgerWriter *writer; /* of what nobody will do */
        sd_event_source *timer;
        GList link;      /* in `waiting` */
        bool waits;      /* it is there */
        bool busy;       /* a request of it, or of the writer, is under way */
        bool said;       /* the ledger said so: who has the job knows, and may have answered */
        int64_t nobodys; /* the withdrawal that nobody has answered for as long as that takes */
} Withdrawal;

static void withdrawal_look(Withdrawal *withdrawal);

static void withdrawal_free(void *data) {
        Withdrawal *withdrawal = data;

        if (withdrawal->busy)
                withdrawal->withdrawals->busy--;
        zk_call_free(withdrawal->call);
        ledger_writer_free(withdrawal->writer);
        ledger_cache_remove(withdrawal->withdrawals->ledgers, withdrawal->job);
        if (withdrawal->waits)
                g_queue_unlink(&withdrawal->withdrawals->waiting, &withdrawal->link);
        sd_event_source_disable_unref(withdrawal->timer);
        g_free(withdrawal->job);
        g_free(withdrawal->path);
        g_free(withdrawal);
}

Withdrawals *withdrawals_new(const WithdrawalsParts *parts) {
        Withdrawals *withdrawals = g_new0(Withdrawals, 1);

        withdrawals->parts = *parts;
        withdrawals->ledgers = ledger_cache_new();
        withdrawals->jobs = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, withdrawal_free);
        g_queue_init(&withdrawals->waiting);
        return withdrawals;
}

Withdrawals *withdrawals_free(Withdrawals *withdrawals) {
        if (!withdrawals)
                return NULL;
        withdrawals_reset(withdrawals);
        g_hash_table_unref(withdrawals->jobs);
        ledger_cache_free(withdrawals->ledgers);
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
        if (clock_watch_is_good(withdrawals->parts.clock))
                return true;
        if (!clock_watch_is_known(withdrawals->parts.clock))
                (void)clock_watch_measure(withdrawals->parts.clock);
        if (!withdrawals->clock_timer)
                (void)timer_in(withdrawals->parts.node->event, &withdrawals->clock_timer,
                               RETRY_DELAY, withdrawals_on_clock, withdrawals);
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
                digest_memory_set(withdrawal->withdrawals->parts.digests, withdrawal->job, NULL);
                log_info(&about, "the job is no longer in this node's files: withdrawn");
        }
        g_hash_table_remove(withdrawal->withdrawals->jobs, withdrawal->job);
}

static void withdrawal_on_timer(void *userdata) {
        withdrawal_wait(userdata);
}

static void withdrawal_look_in(Withdrawal *withdrawal, usec_t delay) {
        (void)timer_in(withdrawal->withdrawals->parts.node->event, &withdrawal->timer, delay,
                       withdrawal_on_timer, withdrawal);
}

/* A request was sent, or (`r`) could not be. */
static void withdrawal_sent(Withdrawal *withdrawal, int r) {
        if (r < 0) {
                withdrawal_over(withdrawal, false);
                return;
        }
        withdrawal->busy = true;
        withdrawal->withdrawals->busy++;
}

static void withdrawal_answered(Withdrawal *withdrawal) {
        withdrawal->call = NULL;
        withdrawal->busy = false;
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
                        zk_set(node_zk(withdrawal->withdrawals->parts.node), withdrawal->path, data,
                               version, withdrawal_on_withdrawn, withdrawal, &withdrawal->call));
}

usec_t withdrawal_patience(const DaemonConfig *config) {
        return config->session_timeout + 2 * config->tick_time +
               PLACEMENT_RANKS * config->takeover_delay;
}

/* Return: for how long they may from now on. */
static usec_t withdrawal_time_for_others(const Withdrawal *withdrawal, const Ledger *ledger) {
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        usec_t patience = withdrawal_patience(withdrawal->withdrawals->parts.node->config);

        (void)ledger_schedule(ledger, &schedule);
        return usec_sub((usec_t)ledger_withdrawal_shows(ledger, schedule) * USEC_PER_SEC + patience,
                        clock_realtime());
}

/* The next tick may be far away: looks now and then whether somebody has said it. */
static void withdrawal_wait_for_others(Withdrawal *withdrawal, usec_t duration) {
        withdrawal->said = true;
        digest_memory_set(withdrawal->withdrawals->parts.digests, withdrawal->job, "");
        withdrawal_look_in(withdrawal, CLAMP(duration, RETRY_DELAY, LOOK_PERIOD));
}

/* ---- nobody has it ---- */

/* Writes what is owed, of which an attempt comes first. Return: whether anything is; *ret is what
 * came of it. */
static bool withdrawal_skips(Withdrawal *withdrawal, const Ledger *ledger, int64_t now, int *ret) {
        const DrainView *drains = tree_drain_view(withdrawal->withdrawals->parts.tree);
        _cleanup_(decision_pause_freep) DecisionPause *pause =
            decision_pause_new(drain_view_control(drains), withdrawal->job,
                               clock_realtime()); /* the skips borrow it */
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        DecisionSkip skips[DECISION_SKIPS_MAX];
        size_t n;

        (void)ledger_schedule(ledger, &schedule);
        n = owed_attempt(ledger, SKIP_WHY, skips)
                ? 1
                : owed_skips(withdrawal->job, ledger, schedule, now, SKIP_WHY, pause, skips);
        if (n > 0)
                *ret = ledger_writer_skip(withdrawal->writer, schedule, skips, n, true);
        return n > 0;
}

/* It begins anew when it is added again. */
static int withdrawal_end(Withdrawal *withdrawal, const Ledger *ledger, int64_t now) {
        Ledger *next = ledger_copy(ledger);

        ledger_adopt_digest(next, "", now);
        return ledger_writer_set(withdrawal->writer, next, MESSAGE_RELOADED, NULL);
}

/* `ledger` is taken over. */
static void withdrawal_finish(Withdrawal *withdrawal, Ledger *ledger, int32_t version) {
        int64_t now = (int64_t)(clock_realtime() / USEC_PER_SEC);
        int r;

        ledger_cache_set(withdrawal->withdrawals->ledgers, withdrawal->job, ledger, version);
        if (!withdrawal_skips(withdrawal, ledger, now, &r))
                r = withdrawal_end(withdrawal, ledger, now);
        if (r == -ENOSPC) /* it is full of runs under way: one of them has to end first */
                withdrawal_look_in(withdrawal, FULL_DELAY);
        else
                withdrawal_sent(withdrawal, r);
}

/* What is done next, and whether that is all, is seen in what stands there then. */
static void withdrawal_on_written(LedgerWriteOutcome outcome, const char *refused, void *userdata) {
        Withdrawal *withdrawal = userdata;
        Withdrawals *withdrawals = withdrawal->withdrawals;

        (void)refused;
        withdrawal_answered(withdrawal);
        if (outcome == LEDGER_WRITE_REFUSED || outcome == LEDGER_WRITE_CLOSED)
                withdrawal_over(withdrawal, false);
        else
                withdrawal_look_in(withdrawal, outcome == LEDGER_WRITE_DONE ? 0 : RETRY_DELAY);
        withdrawals_go_on(withdrawals);
}

/* `ledger` is taken over. */
static void withdrawal_go_on(Withdrawal *withdrawal, Ledger *taken, int32_t version) {
        _cleanup_(ledger_freep) Ledger *ledger = taken;
        usec_t left;

        if (!*ledger->digest || ledger->renamed || (withdrawal->said && !ledger->withdrawn)) {
                withdrawal_over(withdrawal, true); /* nobody has it, or others do */
                return;
        }
        if (!clock_watch_is_good(withdrawal->withdrawals->parts.clock)) {
                withdrawal_wait(withdrawal);
                return;
        }
        if (!ledger->withdrawn) {
                withdrawal_begin(withdrawal, ledger, version);
                return;
        }
        left = withdrawal->nobodys == ledger->withdrawn
                   ? 0 /* what becomes due between our writes is none's either */
                   : withdrawal_time_for_others(withdrawal, ledger);
        if (left > 0) {
                withdrawal_wait_for_others(withdrawal, left);
                return;
        }
        withdrawal->nobodys = ledger->withdrawn;
        withdrawal_finish(withdrawal, g_steal_pointer(&ledger), version);
}

static void withdrawal_on_ledger(const ZkReply *reply, void *userdata) {
        Withdrawal *withdrawal = userdata;
        Withdrawals *withdrawals = withdrawal->withdrawals;
        Ledger *ledger = NULL;

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
        withdrawal_sent(withdrawal, zk_get(node_zk(withdrawal->withdrawals->parts.node),
                                           withdrawal->path, withdrawal_on_ledger, withdrawal,
                                           &withdrawal->call, NULL, NULL, NULL));
}

static LedgerWriter *withdrawals_new_writer(const Withdrawals *withdrawals,
                                            Withdrawal *withdrawal) {
        const LedgerWriterParts parts = {.node = withdrawals->parts.node,
                                         .tree = withdrawals->parts.tree,
                                         .ledgers = withdrawals->ledgers,
                                         .pruner = withdrawals->parts.pruner,
                                         .jobset = withdrawals->parts.jobset};

        return ledger_writer_new(&parts, withdrawal->job, withdrawal_on_written, withdrawal);
}

void withdrawals_add(Withdrawals *withdrawals, const char *job) {
        Withdrawal *withdrawal;

        if (!node_zk(withdrawals->parts.node) || g_hash_table_contains(withdrawals->jobs, job))
                return;
        withdrawal = g_new0(Withdrawal, 1);
        withdrawal->withdrawals = withdrawals;
        withdrawal->job = g_strdup(job);
        withdrawal->path = path_job(withdrawals->parts.node->config->root, job);
        withdrawal->writer = withdrawals_new_writer(withdrawals, withdrawal);
        ledger_cache_add(withdrawals->ledgers, job);
        g_hash_table_insert(withdrawals->jobs, withdrawal->job, withdrawal);
        withdrawal_wait(withdrawal);
}

void withdrawals_remove(Withdrawals *withdrawals, const char *job) {
        g_hash_table_remove(withdrawals->jobs, job);
        withdrawals_go_on(withdrawals);
}

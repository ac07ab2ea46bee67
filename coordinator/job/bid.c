/* See bid.h. The transaction itself is in claim.c. */
#include "bid.h"

#include <errno.h>
#include <string.h>

#include "claim.h"
#include "decision.h"
#include "json-line.h"
#include "ledger-change.h"
#include "paths.h"
#include "resource.h"
#include "unit-spec.h"

#define BID_CLAIMS_MAX 5
#define BID_SAMPLE_AGE_MAX (1 * USEC_PER_SEC)
/* No record says that anybody waits for longer. */
#define FOR_EVER (100ULL * 365 * USEC_PER_DAY)

/* What is had sooner was as good as free. */
#define BID_WAIT_MIN (1 * USEC_PER_SEC)

struct Bid {
        BidParts parts;
        JobSpec *spec;
        int64_t tick;
        ManualRun *manual; /* or NULL */
        char *run;         /* the id of the run that it would make */
        BidFunc func;
        void *userdata;

        LockSet *locks;
        bool held;
        char *fault;

        RollLook *look;                          /* before the claim */
        int32_t control_version, ledger_version; /* on which it was decided, before the look */
        char *turn; /* why it has no turn in the roll, as it was last seen; or NULL */
        Claim *claim;
        char *claim_key; /* as long as it is under way */
        usec_t start_by; /* CLOCK_REALTIME: until when what is claimed may begin */
        unsigned claims; /* how many were stale */
};

static void bid_end_claim(Bid *bid) {
        if (bid->claim_key)
                runs_claim_ends(bid->parts.runs, bid->claim_key);
        g_clear_pointer(&bid->claim_key, g_free);
        bid->claim = claim_free(bid->claim);
}

Bid *bid_free(Bid *bid) {
        if (!bid)
                return NULL;
        lock_set_free(bid->locks);
        bid_end_claim(bid);
        roll_look_free(bid->look);
        g_free(bid->turn);
        manual_run_free(bid->manual);
        job_spec_free(bid->spec);
        g_free(bid->run);
        g_free(bid->fault);
        g_free(bid);
        return NULL;
}

bool bid_is_for(const Bid *bid, int64_t tick, const ManualRun *run) {
        if (bid->tick != tick || !bid->manual != !run ||
            (run && strcmp(run->id, bid->manual->id) != 0))
                return false;
        return bid->locks || bid->held;
}

int64_t bid_tick(const Bid *bid) {
        return bid->tick;
}

/* Return: of which tick it would be an attempt, by hand or not; 0: of none. */
static int64_t bid_attempted_tick(const Bid *bid) {
        return bid->manual ? bid->manual->tick : bid->tick;
}

const char *bid_run(const Bid *bid) {
        return bid->run;
}

const ManualRun *bid_manual(const Bid *bid) {
        return bid->manual;
}

const JobSpec *bid_spec(const Bid *bid) {
        return bid->spec;
}

void bid_take_spec(Bid *bid, const JobSpec *spec) {
        JobSpec *taken = job_spec_ref(spec);

        job_spec_free(bid->spec);
        bid->spec = taken;
}

bool bid_holds_locks(const Bid *bid) {
        return bid->held;
}

bool bid_stands(const Bid *bid) {
        return bid->locks && *lock_set_paths(bid->locks);
}

const char *bid_fault(const Bid *bid) {
        return bid->fault;
}

static const char *bid_resource(const Bid *bid, size_t *ret_before) {
        return bid->locks && !bid->held ? lock_set_waiting_for(bid->locks, ret_before) : "";
}

const char *bid_lock_in_the_way(const Bid *bid) {
        size_t before;
        usec_t wait = 0;
        const char *resource;

        if (!bid->locks || !bid->held)
                return bid_resource(bid, &before);
        resource = lock_set_waited_for(bid->locks, &wait);
        return wait >= BID_WAIT_MIN ? resource : "";
}

/* Return: newly allocated, what is bid for. */
static char *bid_what(const Bid *bid) {
        g_autofree char *tick = bid->tick ? tick_to_rfc3339(bid->tick) : NULL;

        if (tick)
                return g_strconcat("tick ", tick, NULL);
        return bid->manual && bid->manual->parent
                   ? g_strconcat("run after ", bid->manual->parent->job, NULL)
                   : g_strdup("run by hand");
}

const char *bid_turn(const Bid *bid) {
        return bid->turn;
}

char *bid_waits_for(const Bid *bid) {
        size_t before = 0;
        const char *resource = bid_resource(bid, &before);
        g_autofree char *what = bid_what(bid);

        if (bid->turn)
                return g_strdup(bid->turn);
        return *resource ? g_strdup_printf("its %s waits for the lock %s (%zu before it)", what,
                                           resource, before)
                         : g_strdup("");
}

static void bid_let_go(Bid *bid) {
        bid->locks = lock_set_free(bid->locks);
        bid->held = false;
}

/* ---- claiming ---- */

static int bid_look(Bid *bid);

static void bid_won(Bid *bid) {
        const BidParts *parts = &bid->parts;
        int32_t version = 0;
        Ledger *ledger = claim_steal_ledger(bid->claim, &version);
        RunRecord *record = claim_steal_record(bid->claim);

        ledger_cache_set(parts->ledgers, bid->spec->name, ledger, version);
        runs_start(parts->runs, bid->spec, record, g_steal_pointer(&bid->locks), bid->start_by);
}

static void bid_refused(Bid *bid) {
        g_autofree char *path = path_job(bid->parts.node->config->root, bid->spec->name);

        g_free(bid->fault);
        bid->fault =
            g_strdup_printf("%s: no run can be claimed: %s", path, claim_fault(bid->claim));
}

/* Others were quicker, in ever so large a roll: that is no reason to lose one's place in it.
 * Return: whether it goes on. */
static bool bid_look_again(Bid *bid) {
        bid_end_claim(bid);
        return bid_look(bid) == 0;
}

static void bid_on_claim(ClaimOutcome outcome, void *userdata) {
        static const BidEvent events[] = {[CLAIM_WON] = BID_WON,
                                          [CLAIM_LOST] = BID_TAKEN,
                                          [CLAIM_STALE] = BID_STALE,
                                          [CLAIM_REFUSED] = BID_REFUSED,
                                          [CLAIM_OVER] = BID_OVER};
        Bid *bid = userdata;

        if (outcome == CLAIM_STALE && bid->held && claim_was_outrun(bid->claim) &&
            bid_look_again(bid))
                return;
        if (outcome == CLAIM_WON)
                bid_won(bid);
        if (outcome == CLAIM_REFUSED)
                bid_refused(bid);
        bid_end_claim(bid);
        bid->func(events[outcome], bid->userdata);
}

static bool bid_is_open(const Ledger *ledger, const char *run) {
        const LedgerEntry *entry = ledger_find_run(ledger, run);

        return entry && entry->state == RUN_CLAIMED;
}

/* Runs of a job may be side by side, attempts of one tick never. */
static bool bid_excludes(const JobSpec *spec, int64_t tick, const RunRecord *record) {
        return job_spec_beside(spec) < 2 || (tick && tick == record->tick);
}

/* Return: a run here that excludes one of that tick, though the ledger has done with it: after a
 * lost session the others settle as unknown what we are stopping, or what continues; or NULL.
 * `lives`: only one that is known to live. */
static const Run *bid_beside_of(const Runs *all, const char *job, const JobSpec *spec, int64_t tick,
                                const Ledger *ledger, bool lives) {
        const GPtrArray *runs = runs_of_job(all, job);

        for (guint i = 0; runs && i < runs->len; i++) {
                const Run *run = runs->pdata[i];

                if (run->phase < RUN_PHASE_SETTLING && bid_excludes(spec, tick, run->record) &&
                    !bid_is_open(ledger, run->record->run) && (!lives || run_is_known_to_live(run)))
                        return run;
        }
        return NULL;
}

/* As above, also of a run under the name that the job had. */
static const Run *bid_beside(const Runs *all, const JobSpec *spec, int64_t tick,
                             const Ledger *ledger, bool lives) {
        const Run *run = bid_beside_of(all, spec->name, spec, tick, ledger, lives);

        return run || !ledger->was ? run
                                   : bid_beside_of(all, ledger->was, spec, tick, ledger, lives);
}

/* Of what a process before us left it is not known yet whether it goes on. */
const char *bid_goes_on(const Runs *runs, const JobSpec *spec, const Ledger *ledger) {
        const Run *run = ledger ? bid_beside(runs, spec, 0, ledger, true) : NULL;

        return run && run->record->continues ? run->record->run : NULL;
}

static void bid_take_terms_of_service(const Bid *bid, const Ledger *ledger, RunTerms *terms) {
        const JobService *service = &bid->spec->place.service;
        const LedgerEntry *before = ledger_find_tick(ledger, bid->tick);

        terms->service = true;
        terms->short_lived = before ? before->short_lived : 0;
        terms->delay = service->delay;
        terms->max_delay = service->max_delay;
}

static void bid_take_terms(const Bid *bid, const Ledger *ledger, RunRecord *record) {
        const JobSpec *spec = bid->spec;
        const JobRetries *retries = &spec->retries;
        RunTerms *terms = &record->terms;

        record->continues = spec->on_lock_loss == JOB_LOCK_LOSS_CONTINUE;
        if (record->continues && spec->takeover_after < FOR_EVER)
                terms->takeover_after = spec->takeover_after;
        terms->rejoin_timeout = spec->place.roll.rejoin_timeout;
        terms->reboot = spec->place.roll.reboot;
        if (bid->manual) /* who asked for it sees how it ends */
                return;
        terms->roll = job_spec_keeps_rolls(spec);
        if (spec->place.mode == JOB_MODE_SERVICE) {
                bid_take_terms_of_service(bid, ledger, terms);
                return;
        }
        terms->rerun = retries->on_owner_lost == JOB_OWNER_LOST_RERUN;
        if (retries->attempts < 2)
                return;
        terms->attempts = retries->attempts;
        terms->delay = retries->delay;
        terms->max_delay = retries->max_delay;
        terms->no_retry = g_strdup(retries->no_retry);
}

static RunRecord *bid_record(const Bid *bid, const Ledger *ledger) {
        unsigned attempt =
            bid->manual ? run_id_attempt(bid->run) : ledger_next_attempt(ledger, bid->tick);
        RunRecord *record = run_record_for_claim(bid->parts.node, bid->spec->name, bid->run,
                                                 bid_attempted_tick(bid), attempt);

        if (bid->manual)
                record->who = g_strdup(bid->manual->who);
        if (bid->manual && bid->manual->parent)
                record->terms.parent = run_parent_copy(bid->manual->parent);
        bid_take_terms(bid, ledger, record);
        return record;
}

static int bid_send_claim(Bid *bid, const Ledger *ledger, int32_t version) {
        const BidParts *parts = &bid->parts;
        _cleanup_(run_record_freep) RunRecord *record = bid_record(bid, ledger);
        _cleanup_(ledger_freep) Ledger *next = ledger_copy(ledger);
        g_autofree char *request =
            bid->manual ? path_request(parts->node->config->root, manual_run_request(bid->manual))
                        : NULL;
        RollTurn turn = {0};
        int r = ledger_claim(next, record);

        if (r == 0 && bid->look)
                turn = roll_look_turn(bid->look, record->run);
        if (r == 0)
                r = claim_start(parts->node, parts->tree, record, next, version,
                                bid->locks ? lock_set_paths(bid->locks) : NULL, request,
                                bid->look ? &turn : NULL, bid_on_claim, bid, &bid->claim);
        if (r < 0)
                return r;
        record = NULL;
        next = NULL;
        return 0;
}

static void bid_name_run(Bid *bid, const Ledger *ledger) {
        if (bid->manual)
                return;
        g_free(bid->run);
        bid->run = run_id_for_tick(bid->tick, ledger_next_attempt(ledger, bid->tick));
}

static int bid_begin_claim(Bid *bid) {
        const BidParts *parts = &bid->parts;
        int32_t version = 0;
        const Ledger *ledger = ledger_cache_get(parts->ledgers, bid->spec->name, &version);
        int r;

        if (bid_beside(parts->runs, bid->spec, bid_attempted_tick(bid), ledger, false))
                return -EBUSY;
        bid_name_run(bid, ledger);
        bid->start_by =
            bid->manual ? bid->manual->not_after
                        : job_spec_start_by(bid->spec, decision_due(bid->spec, ledger, bid->tick));
        r = bid_send_claim(bid, ledger, version);
        if (r < 0)
                return r;
        bid->claim_key = run_key(bid->spec->name, bid->run);
        runs_claim_begins(parts->runs, bid->claim_key);
        return 0;
}

/* The locks are gone. Of a claim that is on its way its own check tells. */
static void bid_lost(Bid *bid, BidEvent event) {
        bid_let_go(bid);
        if (!bid->claim)
                bid->func(event, bid->userdata);
}

/* ---- the turn ---- */

/* Return: whether nothing has been heard since that may forbid what was decided. */
static bool bid_is_as_decided(const Bid *bid) {
        const BidParts *parts = &bid->parts;
        int32_t version = 0;

        return ledger_cache_get(parts->ledgers, bid->spec->name, &version) &&
               version == bid->ledger_version &&
               tree_control_version(parts->tree) == bid->control_version &&
               !node_is_ending(parts->node);
}

/* Return: whether it has waited for its turn for as long as its job may wait for its locks. */
static bool bid_turn_is_late(const Bid *bid) {
        const Ledger *ledger = ledger_cache_get(bid->parts.ledgers, bid->spec->name, NULL);

        return ledger && bid->spec->lock_wait_set &&
               clock_realtime() >
                   bid_wait_ends(bid->spec, decision_due(bid->spec, ledger, bid->tick));
}

/* Nobody can tell from what stands there whose turn it is. */
static void bid_roll_fails(Bid *bid, BidEvent event, const char *why) {
        g_autofree char *path = path_roll(bid->parts.node->config->root, bid->spec->name);

        g_free(bid->fault);
        bid->fault = g_strdup_printf("%s: %s", path, why);
        bid->func(event, bid->userdata);
}

static void bid_on_turn(Bid *bid) {
        g_autofree char *why = roll_look_why(bid->look);
        int r;

        switch (roll_look_verdict(bid->look)) {
        case ROLL_WAIT:
                bid->turn = g_steal_pointer(&why);
                if (bid_turn_is_late(bid))
                        bid_lost(bid, BID_TIMED_OUT);
                else
                        bid->func(BID_WAITS, bid->userdata);
                return;
        case ROLL_STOPPED:
                g_free(bid->fault);
                bid->fault = g_steal_pointer(&why);
                bid->func(BID_STOPPED, bid->userdata);
                return;
        case ROLL_DAMAGED:
                bid_roll_fails(bid, BID_DAMAGED, why);
                return;
        case ROLL_GO:
        case ROLL_VERDICT_COUNT:
                break;
        }
        if (!bid_is_as_decided(bid)) {
                bid->func(BID_STALE, bid->userdata);
                return;
        }
        r = bid_begin_claim(bid);
        if (r < 0)
                bid->func(BID_LOST, bid->userdata);
}

static void bid_on_look(ZkCode code, void *userdata) {
        Bid *bid = userdata;

        g_clear_pointer(&bid->turn, g_free);
        if (code == ZK_OK)
                bid_on_turn(bid);
        else if (zk_code_is_refusal(code))
                bid_roll_fails(bid, BID_REFUSED, zk_code_to_string(code));
        else
                bid->func(BID_LOST, bid->userdata);
}

static int bid_look(Bid *bid) {
        const BidParts *parts = &bid->parts;
        const Ledger *ledger = ledger_cache_get(parts->ledgers, bid->spec->name, NULL);

        bid->look = roll_look_free(bid->look);
        return !ledger ? -EAGAIN
                       : roll_look_start(parts->node, parts->tree, bid->spec, bid->tick,
                                         ledger_next_attempt(ledger, bid->tick), bid_on_look, bid,
                                         &bid->look);
}

/* What is asked for by hand is of no roll. */
static bool bid_is_of_roll(const Bid *bid) {
        return !bid->manual && job_spec_keeps_rolls(bid->spec);
}

int bid_claim(Bid *bid) {
        const BidParts *parts = &bid->parts;
        const Ledger *ledger =
            ledger_cache_get(parts->ledgers, bid->spec->name, &bid->ledger_version);

        bid->look = roll_look_free(bid->look);
        if (!ledger)
                return -EAGAIN;
        if (!bid_is_of_roll(bid))
                return bid_begin_claim(bid);
        bid->control_version = tree_control_version(parts->tree);
        if (bid_beside(parts->runs, bid->spec, bid->tick, ledger, false))
                return -EBUSY;
        return bid_look(bid);
}

bool bid_may_claim_again(Bid *bid, const JobSpec *spec) {
        /* Locks that another definition asked for are not those of the one in force. */
        if (++bid->claims >= BID_CLAIMS_MAX || !job_spec_waits_alike(bid->spec, spec))
                return false;
        bid_take_spec(bid, spec);
        return true;
}

/* ---- queueing ---- */

static void bid_take_clock_sample(const Bid *bid) {
        usec_t server, sent, received, now = clock_realtime();

        /* It was taken when we began to queue; what has waited since says nothing of now. */
        if (lock_set_clock_sample(bid->locks, &server, &sent, &received) && received <= now &&
            now - received <= BID_SAMPLE_AGE_MAX)
                node_clock_sample_at(bid->parts.node, server, sent, received);
}

static void bid_on_locks(LockSet *set, LockEvent event, void *userdata) {
        Bid *bid = userdata;

        switch (event) {
        case LOCK_EVENT_HELD:
                bid_take_clock_sample(bid);
                bid->held = true;
                bid->func(BID_HELD, bid->userdata);
                return;
        case LOCK_EVENT_TIMEOUT:
                bid_lost(bid, BID_TIMED_OUT);
                return;
        case LOCK_EVENT_LOST:
                bid_lost(bid, BID_LOST);
                return;
        case LOCK_EVENT_FAILED:
                g_free(bid->fault);
                bid->fault = g_strdup(lock_set_fault(set));
                bid_lost(bid, BID_FAULTY);
                return;
        case LOCK_EVENT_REVOKED:
        case LOCK_EVENT_DOWNGRADED:
                return; /* not asked for */
        }
}

bool bid_needs_locks(const JobSpec *spec) {
        return spec->lock != JOB_LOCK_NONE || spec->resources->len > 0;
}

usec_t bid_wait_ends(const JobSpec *spec, int64_t due) {
        return MIN(usec_add(job_spec_start_by(spec, due), spec->lock_wait),
                   job_spec_closes(spec, due));
}

bool bid_is_seen_in_queues_alone(const JobSpec *spec, int64_t due, usec_t span) {
        usec_t then = usec_add(clock_realtime(), span);

        return spec->lock_wait_set && spec->lock_wait > span &&
               then >= job_spec_start_by(spec, due) && then < bid_wait_ends(spec, due);
}

/* What a process before us waited for has less time left. */
static usec_t bid_wait(const Bid *bid) {
        const JobSpec *spec = bid->spec;
        usec_t now = clock_realtime();
        int64_t due =
            decision_due(spec, ledger_cache_get(bid->parts.ledgers, spec->name, NULL), bid->tick);

        if (spec->lock_wait_set && (bid->manual || bid_wait_ends(spec, due) == USEC_INFINITY))
                return spec->lock_wait;
        if (spec->lock_wait_set)
                return MIN(spec->lock_wait, usec_sub(bid_wait_ends(spec, due), now));
        return usec_sub(bid->manual ? bid->manual->not_after : job_spec_start_by(spec, due), now);
}

/* What stands in the queues says whose it is. */
static char *bid_payload(const Bid *bid) {
        json_t *object = json_object();

        json_object_set_new(object, "node", json_string(bid->parts.node->config->node_name));
        json_object_set_new(object, "job", json_string(bid->spec->name));
        if (!bid->manual)
                json_object_set_new(object, "tick", json_integer(bid->tick));
        return json_line_dump(object);
}

static int bid_queue(Bid *bid) {
        const Node *node = bid->parts.node;
        const JobSpec *spec = bid->spec;
        g_autofree char *parent = path_locks(node->config->root), *payload = bid_payload(bid),
                        *own = resource_of_job(spec->name);
        g_autoptr(GArray) requests = g_array_new(FALSE, TRUE, sizeof(LockRequest));
        const LockOptions options = {
            .parent = parent, .payload = payload, .wait = bid_wait(bid), .persistent = true};

        if (spec->lock != JOB_LOCK_NONE) {
                LockRequest request = {.resource = own,
                                       .mode = spec->lock == JOB_LOCK_SHARED ? LOCK_SHARED
                                                                             : LOCK_EXCLUSIVE,
                                       .slots = spec->slots};
                g_array_append_val(requests, request);
        }
        for (guint i = 0; i < spec->resources->len; i++) {
                LockRequest request = {0};
                resource_request_of_job(node->config, spec->resources->pdata[i], &request);
                g_array_append_val(requests, request);
        }
        return lock_set_acquire(node->session, (const LockRequest *)(void *)requests->data,
                                requests->len, &options, bid_on_locks, bid, &bid->locks);
}

int bid_new(const BidParts *parts, const JobSpec *spec, int64_t tick, const ManualRun *run,
            BidFunc func, void *userdata, Bid **ret_bid) {
        _cleanup_(bid_freep) Bid *bid = g_new0(Bid, 1);
        int r;

        bid->parts = *parts;
        bid->spec = job_spec_ref(spec);
        bid->tick = run ? 0 : tick;
        bid->manual = run ? manual_run_copy(run) : NULL;
        bid->run = run ? g_strdup(run->id) : run_id_for_tick(tick, 1);
        bid->func = func;
        bid->userdata = userdata;
        bid->held = !bid_needs_locks(spec);
        if (!bid->held && (r = bid_queue(bid)) < 0)
                return r;
        *ret_bid = g_steal_pointer(&bid);
        return 0;
}

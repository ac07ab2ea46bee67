/* See attempt.h. The transaction itself is in claim.c. */
#include "attempt.h"

#include <errno.h>
#include <string.h>

#include "claim.h"
#include "json-line.h"
#include "paths.h"
#include "resource.h"
#include "unit-spec.h"

#define ATTEMPT_CLAIMS_MAX 5
#define ATTEMPT_SAMPLE_AGE_MAX (1 * USEC_PER_SEC)

struct Attempt {
        AttemptParts parts;
        JobSpec *spec;
        int64_t tick;
        ManualRun *manual; /* or NULL */
        char *run;         /* the id of the run that it would make */
        AttemptFunc func;
        void *userdata;

        LockSet *locks;
        bool held;
        char *fault;
        char *waits_for; /* for people */

        Claim *claim;
        char *claim_key; /* as long as it is under way */
        unsigned claims; /* how many were stale */
};

static void attempt_end_claim(Attempt *attempt) {
        if (attempt->claim_key)
                runs_claim_ends(attempt->parts.runs, attempt->claim_key);
        g_clear_pointer(&attempt->claim_key, g_free);
        attempt->claim = claim_free(attempt->claim);
}

Attempt *attempt_free(Attempt *attempt) {
        if (!attempt)
                return NULL;
        lock_set_free(attempt->locks);
        attempt_end_claim(attempt);
        manual_run_free(attempt->manual);
        job_spec_free(attempt->spec);
        g_free(attempt->run);
        g_free(attempt->fault);
        g_free(attempt->waits_for);
        g_free(attempt);
        return NULL;
}

bool attempt_is_for(const Attempt *attempt, int64_t tick, const ManualRun *run) {
        if (attempt->tick != tick || !attempt->manual != !run ||
            (run && strcmp(run->id, attempt->manual->id) != 0))
                return false;
        return attempt->locks || attempt->held;
}

int64_t attempt_tick(const Attempt *attempt) {
        return attempt->tick;
}

const char *attempt_run(const Attempt *attempt) {
        return attempt->run;
}

const ManualRun *attempt_manual(const Attempt *attempt) {
        return attempt->manual;
}

const JobSpec *attempt_spec(const Attempt *attempt) {
        return attempt->spec;
}

void attempt_take_spec(Attempt *attempt, const JobSpec *spec) {
        JobSpec *taken = job_spec_ref(spec);

        job_spec_free(attempt->spec);
        attempt->spec = taken;
}

bool attempt_holds_locks(const Attempt *attempt) {
        return attempt->held;
}

const char *attempt_fault(const Attempt *attempt) {
        return attempt->fault;
}

const char *attempt_waits_for(Attempt *attempt) {
        size_t before = 0;
        const char *resource =
            attempt->locks && !attempt->held ? lock_set_waiting_for(attempt->locks, &before) : "";
        g_autofree char *tick = attempt->tick ? tick_to_rfc3339(attempt->tick) : NULL;

        if (!*resource)
                return "";
        g_free(attempt->waits_for);
        attempt->waits_for = g_strdup_printf("%s%s waits for the lock %s (%zu before it)",
                                             tick ? "its tick " : "its run by hand",
                                             tick ? tick : "", resource, before);
        return attempt->waits_for;
}

static void attempt_let_go(Attempt *attempt) {
        attempt->locks = lock_set_free(attempt->locks);
        attempt->held = false;
}

/* ---- claiming ---- */

static void attempt_won(Attempt *attempt) {
        const AttemptParts *parts = &attempt->parts;
        int32_t version = 0;
        Ledger *ledger = claim_steal_ledger(attempt->claim, &version);
        RunRecord *record = claim_steal_record(attempt->claim);

        ledger_cache_set(parts->ledgers, attempt->spec->name, ledger, version);
        runs_start(parts->runs, attempt->spec, record, g_steal_pointer(&attempt->locks));
}

static void attempt_on_claim(ClaimOutcome outcome, void *userdata) {
        static const AttemptEvent events[] = {[CLAIM_WON] = ATTEMPT_WON,
                                              [CLAIM_LOST] = ATTEMPT_TAKEN,
                                              [CLAIM_STALE] = ATTEMPT_STALE,
                                              [CLAIM_OVER] = ATTEMPT_OVER};
        Attempt *attempt = userdata;

        if (outcome == CLAIM_WON)
                attempt_won(attempt);
        attempt_end_claim(attempt);
        attempt->func(events[outcome], attempt->userdata);
}

/* Return: whether a run of the job is still being ended here, though the ledger has done with it:
 * after a lost session the others settle as unknown what we are stopping. */
static bool attempt_is_beside_an_end(const Attempt *attempt, const Ledger *ledger) {
        g_autoptr(GPtrArray) runs = runs_list(attempt->parts.runs);

        for (guint i = 0; i < runs->len; i++) {
                const Run *run = runs->pdata[i];
                if (run->phase < RUN_PHASE_SETTLING &&
                    strcmp(run->record->job, attempt->spec->name) == 0 &&
                    !ledger_find_run(ledger, run->record->run))
                        return true;
        }
        return false;
}

static RunRecord *attempt_record(const Attempt *attempt) {
        RunRecord *record = run_record_for_claim(attempt->parts.node, attempt->spec->name,
                                                 attempt->run, attempt->tick, 1);

        if (attempt->manual)
                record->who = g_strdup(attempt->manual->who);
        return record;
}

static int attempt_send_claim(Attempt *attempt, const Ledger *ledger, int32_t version) {
        const AttemptParts *parts = &attempt->parts;
        _cleanup_(run_record_freep) RunRecord *record = attempt_record(attempt);
        _cleanup_(ledger_freep) Ledger *next = ledger_copy(ledger);
        g_autofree char *request =
            attempt->manual ? path_request(parts->node->config->root, attempt->run) : NULL;
        int r = ledger_claim(next, record);

        if (r == 0)
                r = claim_start(parts->node, parts->tree, record, next, version,
                                attempt->locks ? lock_set_paths(attempt->locks) : NULL, request,
                                attempt_on_claim, attempt, &attempt->claim);
        if (r < 0)
                return r;
        record = NULL;
        next = NULL;
        return 0;
}

int attempt_claim(Attempt *attempt) {
        const AttemptParts *parts = &attempt->parts;
        int32_t version = 0;
        const Ledger *ledger = ledger_cache_get(parts->ledgers, attempt->spec->name, &version);
        int r = attempt_is_beside_an_end(attempt, ledger)
                    ? -EBUSY
                    : attempt_send_claim(attempt, ledger, version);

        if (r < 0)
                return r;
        attempt->claim_key = run_key(attempt->spec->name, attempt->run);
        runs_claim_begins(parts->runs, attempt->claim_key);
        return 0;
}

bool attempt_may_claim_again(Attempt *attempt, const JobSpec *spec) {
        /* Locks that another definition asked for are not those of the one in force. */
        if (++attempt->claims >= ATTEMPT_CLAIMS_MAX || !job_spec_waits_alike(attempt->spec, spec))
                return false;
        attempt_take_spec(attempt, spec);
        return true;
}

/* ---- queueing ---- */

static void attempt_take_clock_sample(const Attempt *attempt) {
        usec_t server, sent, received, now = clock_realtime();

        /* It was taken when we began to queue; what has waited since says nothing of now. */
        if (lock_set_clock_sample(attempt->locks, &server, &sent, &received) && received <= now &&
            now - received <= ATTEMPT_SAMPLE_AGE_MAX)
                node_clock_sample_at(attempt->parts.node, server, sent, received);
}

/* The locks are gone. Of a claim that is on its way its own check tells. */
static void attempt_lost(Attempt *attempt, AttemptEvent event) {
        attempt_let_go(attempt);
        if (!attempt->claim)
                attempt->func(event, attempt->userdata);
}

static void attempt_on_locks(LockSet *set, LockEvent event, void *userdata) {
        Attempt *attempt = userdata;

        switch (event) {
        case LOCK_EVENT_HELD:
                attempt_take_clock_sample(attempt);
                attempt->held = true;
                attempt->func(ATTEMPT_HELD, attempt->userdata);
                return;
        case LOCK_EVENT_TIMEOUT:
                attempt_lost(attempt, ATTEMPT_TIMED_OUT);
                return;
        case LOCK_EVENT_LOST:
                attempt_lost(attempt, ATTEMPT_LOST);
                return;
        case LOCK_EVENT_FAILED:
                g_free(attempt->fault);
                attempt->fault = g_strdup(lock_set_fault(set));
                attempt_lost(attempt, ATTEMPT_FAULTY);
                return;
        case LOCK_EVENT_REVOKED:
        case LOCK_EVENT_DOWNGRADED:
                return; /* not asked for */
        }
}

bool attempt_needs_locks(const JobSpec *spec) {
        return spec->lock != JOB_LOCK_NONE || spec->resources->len > 0;
}

static usec_t attempt_deadline(const JobSpec *spec, int64_t tick) {
        return usec_add((usec_t)tick * USEC_PER_SEC, spec->start_deadline);
}

usec_t attempt_wait_ends(const JobSpec *spec, int64_t tick) {
        return usec_add(attempt_deadline(spec, tick), spec->lock_wait);
}

/* What a process before us waited for has less time left. */
static usec_t attempt_wait(const Attempt *attempt) {
        const JobSpec *spec = attempt->spec;
        usec_t now = clock_realtime();

        if (spec->lock_wait_set && (attempt->manual || spec->lock_wait == USEC_INFINITY))
                return spec->lock_wait;
        if (spec->lock_wait_set)
                return MIN(spec->lock_wait, usec_sub(attempt_wait_ends(spec, attempt->tick), now));
        return usec_sub(attempt->manual ? attempt->manual->not_after
                                        : attempt_deadline(spec, attempt->tick),
                        now);
}

/* What stands in the queues says whose it is. */
static char *attempt_payload(const Attempt *attempt) {
        json_t *object = json_object();

        json_object_set_new(object, "node", json_string(attempt->parts.node->config->node_name));
        json_object_set_new(object, "job", json_string(attempt->spec->name));
        if (!attempt->manual)
                json_object_set_new(object, "tick", json_integer(attempt->tick));
        return json_line_dump(object);
}

static int attempt_queue(Attempt *attempt) {
        const Node *node = attempt->parts.node;
        const JobSpec *spec = attempt->spec;
        g_autofree char *parent = path_locks(node->config->root),
                        *payload = attempt_payload(attempt), *own = resource_of_job(spec->name);
        g_autoptr(GArray) requests = g_array_new(FALSE, TRUE, sizeof(LockRequest));
        const LockOptions options = {.parent = parent,
                                     .payload = payload,
                                     .wait = attempt_wait(attempt),
                                     .persistent = true};

        if (spec->lock != JOB_LOCK_NONE) {
                LockRequest request = {.resource = own,
                                       .mode = spec->lock == JOB_LOCK_SHARED ? LOCK_SHARED
                                                                             : LOCK_EXCLUSIVE};
                g_array_append_val(requests, request);
        }
        for (guint i = 0; i < spec->resources->len; i++) {
                LockRequest request = {0};
                resource_request_of_job(node->config, spec->resources->pdata[i], &request);
                g_array_append_val(requests, request);
        }
        return lock_set_acquire(node->session, (const LockRequest *)(void *)requests->data,
                                requests->len, &options, attempt_on_locks, attempt,
                                &attempt->locks);
}

int attempt_new(const AttemptParts *parts, const JobSpec *spec, int64_t tick, const ManualRun *run,
                AttemptFunc func, void *userdata, Attempt **ret_attempt) {
        _cleanup_(attempt_freep) Attempt *attempt = g_new0(Attempt, 1);
        int r;

        attempt->parts = *parts;
        attempt->spec = job_spec_ref(spec);
        attempt->tick = run ? 0 : tick;
        attempt->manual = run ? manual_run_copy(run) : NULL;
        attempt->run = run ? g_strdup(run->id) : run_id_for_tick(tick, 1);
        attempt->func = func;
        attempt->userdata = userdata;
        attempt->held = !attempt_needs_locks(spec);
        if (!attempt->held && (r = attempt_queue(attempt)) < 0)
                return r;
        *ret_attempt = g_steal_pointer(&attempt);
        return 0;
}

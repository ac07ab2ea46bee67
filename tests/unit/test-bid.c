/* One bid by itself, on top of a whole daemon (daemon-fixture.h): what becomes of its locks and
 * of its claim, and who hears of it. */
#include "bid.h"

#include <errno.h>

#include "daemon-fixture.h"
#include "heard.h"
#include "jobset.h"
#include "ledger-change.h"
#include "paths.h"

#define ROOT "/jobkeeper"
#define JOB ROOT "/jobs/a"
#define RUNS JOB "/runs"
#define OWN_LOCK ROOT "/locks/job:a"
#define BLOCKER OWN_LOCK "/_c_00000000-0000-0000-0000-000000000000-__WRIT__0000000000"
#define TICK INT64_C(2000000000)
#define ID "1000000000-m0badcafe"

static Bid *bid;
static bool frees; /* at the first event */

static bool is_ready(void) {
        return node_is_ready(coordinator->node) && server_node(RUNS);
}

static void on_event(BidEvent told, void *userdata) {
        static const char *const words[] = {
            [BID_HELD] = "held",       [BID_TIMED_OUT] = "timed-out",
            [BID_FAULTY] = "faulty",   [BID_LOST] = "lost",
            [BID_WON] = "won",         [BID_TAKEN] = "taken",
            [BID_STALE] = "stale",     [BID_OVER] = "over",
            [BID_REFUSED] = "refused", [BID_WAITS] = "waits",
            [BID_STOPPED] = "stopped",
        };

        hear(words[told]);
        if (frees)
                bid = bid_free(bid);
}

static void setup_bid(void) {
        setup();
        heard_begin();
        write_job("    exec: [/bin/true]\n");
        open_daemon();
        await(is_ready, "ready");
        await_quiet();
}

static void teardown_bid(void) {
        bid = bid_free(bid);
        heard_end();
        teardown();
}

TestSuite(bid, .init = setup_bid, .fini = teardown_bid);

static const JobSpec *spec_now(void) {
        return jobset_find(coordinator->jobset, "a");
}

static bool is_in_force(void) {
        g_autofree char *digest = job_spec_digest(spec_now(), coordinator->config);

        return strstr(server_data(JOB), digest) != NULL;
}

static void redefine(const char *keys) {
        write_job(keys);
        reload();
        await(is_in_force, "it is in force");
        await_quiet();
}

/* Its second attempt has failed. */
static void put_retry(Ledger *ledger) {
        _cleanup_(run_record_freep) RunRecord *record = run_record_new("a", "2000000000-1");

        record->tick = TICK;
        record->attempt = 1;
        record->node = g_strdup("n2");
        cr_assert_eq(ledger_claim(ledger, record), 0);
        ((LedgerEntry *)ledger_find_run(ledger, "2000000000-1"))->attempt = 2;
        ((LedgerEntry *)ledger_find_run(ledger, "2000000000-1"))->state = RUN_FAILED;
        ((LedgerEntry *)ledger_find_run(ledger, "2000000000-1"))->not_before = 1;
}

static bool is_nobody_there(void) {
        return server_count(OWN_LOCK) == 0;
}

static bool is_one_there(void) {
        return server_count(OWN_LOCK) == 1;
}

static void begin(const ManualRun *run) {
        const BidParts parts = {.node = coordinator->node,
                                .tree = coordinator->tree,
                                .ledgers = coordinator->store.ledgers,
                                .runs = coordinator->runs};

        bid_free(bid);
        bid = NULL;
        cr_assert_eq(bid_new(&parts, spec_now(), run ? 0 : TICK, run, on_event, NULL, &bid), 0);
}

/* ---- locks ---- */

Test(bid, the_locks_are_asked_for_and_go_with_it) {
        begin(NULL);
        cr_expect_not(bid_holds_locks(bid));
        cr_expect_eq(bid_tick(bid), TICK);
        cr_expect_str_eq(bid_run(bid), "2000000000-1");
        cr_expect_null(bid_manual(bid));
        expect_heard("held");
        cr_expect(bid_holds_locks(bid));
        cr_expect_eq(server_count(OWN_LOCK), 1);
        bid = bid_free(bid);
        await(is_nobody_there, "they are let go of");
}

Test(bid, it_is_for_one_tick_or_for_one_manual_run) {
        const ManualRun one = {.id = (char *)ID, .who = (char *)"me", .not_after = USEC_INFINITY},
                        other = {.id = (char *)"2000000000-m0badcafe"};

        begin(NULL);
        cr_expect(bid_is_for(bid, TICK, NULL));
        cr_expect_not(bid_is_for(bid, TICK + 1, NULL));
        cr_expect_not(bid_is_for(bid, 0, &one));
        begin(&one);
        cr_expect(bid_is_for(bid, 0, &one));
        cr_expect_not(bid_is_for(bid, 0, &other));
        cr_expect_not(bid_is_for(bid, 0, NULL));
        cr_expect_str_eq(bid_run(bid), ID);
        cr_expect_str_eq(bid_manual(bid)->who, "me");
}

Test(bid, where_none_are_needed_they_are_held_from_the_beginning) {
        redefine("    exec: [/bin/true]\n    lock: none\n");
        cr_expect_not(bid_needs_locks(spec_now()));
        begin(NULL);
        cr_expect(bid_holds_locks(bid));
        cr_expect(bid_is_for(bid, TICK, NULL));
        cr_expect_eq(bid_claim(bid), 0);
        expect_heard("won");
        cr_expect_eq(started->len, 1);
}

Test(bid, what_is_not_free_in_time_leaves_nothing_behind) {
        const ManualRun run = {.id = (char *)ID,
                               .who = (char *)"me",
                               .not_after = clock_realtime() + 200 * USEC_PER_MSEC};

        server_create(ROOT "/locks", "", 0);
        server_create(OWN_LOCK, "", 0);
        server_create(BLOCKER, "", 99);
        begin(&run);
        expect_heard("timed-out");
        cr_expect_not(bid_is_for(bid, 0, &run), "it waits with nothing");
        await(is_one_there, "the other one's alone");
}

Test(bid, what_cannot_be_had_is_said) {
        server_create(ROOT "/locks", "", 0);
        server_create(OWN_LOCK, "", 0);
        server_create(OWN_LOCK "/nonsense", "", 99);
        begin(NULL);
        cr_expect_null(bid_fault(bid));
        expect_heard("faulty");
        cr_expect_not_null(bid_fault(bid));
}

/* Deletes what stands in the job's own queue. */
static void empty_queue(void) {
        GHashTableIter iterator;
        gpointer path;
        g_autofree char *found = NULL;

        g_hash_table_iter_init(&iterator, server.nodes);
        while (!found && g_hash_table_iter_next(&iterator, &path, NULL))
                if (g_str_has_prefix(path, OWN_LOCK "/"))
                        found = g_strdup(path);
        server_delete(found);
}

Test(bid, what_somebody_takes_away_is_lost) {
        begin(NULL);
        expect_heard("held");
        empty_queue();
        expect_heard("lost");
        cr_expect_not(bid_holds_locks(bid));
}

/* Whoever says how long it waits for locks does so beyond the start deadline, and no longer. */
Test(bid, when_the_waiting_ends) {
        redefine("    exec: [/bin/true]\n    start-deadline: 2min\n    lock-wait: 1h\n");
        cr_expect_eq(bid_wait_ends(spec_now(), TICK), (usec_t)(TICK + 120 + 3600) * USEC_PER_SEC);
        redefine("    exec: [/bin/true]\n    start-deadline: 2min\n    lock-wait: infinity\n");
        cr_expect_eq(bid_wait_ends(spec_now(), TICK), USEC_INFINITY);
        begin(NULL);
        expect_heard("held");
}

/* ---- claims ---- */

/* Return: what is said of a tick so long ago. */
static bool is_seen_in_queues_alone(usec_t start_deadline, usec_t lock_wait, int64_t ago) {
        const JobSpec spec = {
            .start_deadline = start_deadline, .lock_wait = lock_wait, .lock_wait_set = true};

        return bid_is_seen_in_queues_alone(&spec, (int64_t)(clock_realtime() / USEC_PER_SEC) - ago,
                                           5 * USEC_PER_SEC);
}

Test(bid, what_is_seen_in_queues_alone) {
        cr_expect(is_seen_in_queues_alone(USEC_PER_SEC, 3600 * USEC_PER_SEC, 10));
        cr_expect(is_seen_in_queues_alone(2 * USEC_PER_SEC, 3600 * USEC_PER_SEC, 0), "it will be");
        cr_expect_not(is_seen_in_queues_alone(3600 * USEC_PER_SEC, 3600 * USEC_PER_SEC, 10),
                      "it may still be started");
        cr_expect_not(is_seen_in_queues_alone(USEC_PER_SEC, 12 * USEC_PER_SEC, 10),
                      "nobody waits then");
        cr_expect_not(is_seen_in_queues_alone(3 * USEC_PER_SEC, 4 * USEC_PER_SEC, 0),
                      "it waits for less");
}

Test(bid, what_is_won_runs_with_its_locks) {
        int32_t version = -1;
        const Ledger *ledger;

        begin(NULL);
        expect_heard("held");
        frees = true;
        cr_assert_eq(bid_claim(bid), 0);
        cr_expect_eq(runs_count_claims(coordinator->runs), 1);
        expect_heard("won");
        cr_expect_eq(runs_count_claims(coordinator->runs), 0);
        cr_expect_eq(runs_count(coordinator->runs), 1);
        cr_expect_eq(server_count(OWN_LOCK), 1);
        ledger = ledger_cache_get(coordinator->store.ledgers, "a", &version);
        cr_expect_not_null(ledger_find_run(ledger, "2000000000-1"));
        cr_expect_eq(version, server_node(JOB)->stat.version);
}

Test(bid, what_is_there_already_is_taken) {
        server_create(RUNS "/2000000000-1", "{}", 0);
        begin(NULL);
        expect_heard("held");
        cr_assert_eq(bid_claim(bid), 0);
        expect_heard("taken");
        cr_expect_eq(runs_count_claims(coordinator->runs), 0);
        cr_expect_eq(runs_count(coordinator->runs), 0);
}

static ServerWay refuse_claims(const ZkCall *call) {
        return is_claim(call) ? SERVER_REFUSE : SERVER_ANSWER;
}

Test(bid, a_stale_one_may_be_made_again_a_few_times) {
        server.refusal = ZK_BAD_VERSION;
        server.way = refuse_claims;
        begin(NULL);
        expect_heard("held");
        for (unsigned i = 1; i <= 5; i++) {
                cr_assert_eq(bid_claim(bid), 0);
                expect_heard("stale");
                cr_expect(bid_holds_locks(bid));
                cr_expect_eq(bid_may_claim_again(bid, spec_now()), i < 5);
        }
}

/* Locks that another definition asked for are not those of the one in force. */
Test(bid, a_stale_one_is_not_made_again_for_another_definition) {
        server.refusal = ZK_BAD_VERSION;
        server.way = refuse_claims;
        begin(NULL);
        expect_heard("held");
        redefine("    exec: [/bin/true, new]\n");
        cr_assert_eq(bid_claim(bid), 0);
        expect_heard("stale");
        cr_expect(bid_may_claim_again(bid, spec_now()), "it waits for the same");
        cr_expect_eq(bid_spec(bid), spec_now());
        redefine("    exec: [/bin/true, new]\n    locks: {other: exclusive}\n");
        cr_expect_not(bid_may_claim_again(bid, spec_now()));
        cr_expect_neq(bid_spec(bid), spec_now());
}

static bool is_kept(void) {
        return g_queue_get_length(&server.kept) > 0;
}

static bool is_lost(void) {
        return !bid_holds_locks(bid);
}

static ServerWay keep_claims(const ZkCall *call) {
        return is_claim(call) ? SERVER_KEEP : SERVER_ANSWER;
}

Test(bid, locks_that_are_lost_during_a_claim_are_told_by_its_check) {
        server.way = keep_claims;
        begin(NULL);
        expect_heard("held");
        cr_assert_eq(bid_claim(bid), 0);
        await(is_kept, "the claim");
        empty_queue();
        await(is_lost, "the locks are lost");
        expect_silence(); /* nobody can tell yet */
        server.way = NULL;
        server_release();
        expect_heard("stale");
        cr_expect_not(bid_is_for(bid, TICK, NULL));
}

static bool is_held_back(void) {
        return server.held;
}

Test(bid, nobody_hears_of_a_claim_that_is_given_up) {
        server.hold_claims = true;
        begin(NULL);
        expect_heard("held");
        cr_assert_eq(bid_claim(bid), 0);
        await(is_held_back, "the claim");
        bid = bid_free(bid);
        cr_expect_eq(runs_count_claims(coordinator->runs), 0);
        server_release();
        cr_expect_not(has_heard());
}

Test(bid, a_claim_whose_session_ends_is_over) {
        server.refusal = ZK_CLOSED;
        server.way = refuse_claims;
        begin(NULL);
        expect_heard("held");
        cr_assert_eq(bid_claim(bid), 0);
        expect_heard("over");
}

/* The ledger has done with a run that still has to end here: the others settled it. */
Test(bid, nothing_is_claimed_beside_a_run_that_is_still_being_ended) {
        Ledger *done;

        begin(NULL);
        expect_heard("held");
        cr_assert_eq(bid_claim(bid), 0);
        expect_heard("won");
        done = ledger_copy(ledger_cache_get(coordinator->store.ledgers, "a", NULL));
        g_ptr_array_set_size(done->open, 0);
        ledger_cache_set(coordinator->store.ledgers, "a", done, server_node(JOB)->stat.version);
        begin(NULL);
        cr_expect_eq(bid_claim(bid), -EBUSY);
        cr_expect_eq(runs_count_claims(coordinator->runs), 0);
}

/* An older tick that is still owed keeps its entry. */
Test(bid, nor_is_it_where_that_one_is_in_the_ledger_as_unknown) {
        Ledger *done;

        begin(NULL);
        expect_heard("held");
        cr_assert_eq(bid_claim(bid), 0);
        expect_heard("won");
        done = ledger_copy(ledger_cache_get(coordinator->store.ledgers, "a", NULL));
        cr_assert_eq(done->open->len, 1);
        ((LedgerEntry *)done->open->pdata[0])->state = RUN_UNKNOWN;
        ledger_cache_set(coordinator->store.ledgers, "a", done, server_node(JOB)->stat.version);
        begin(NULL);
        cr_expect_eq(bid_claim(bid), -EBUSY);
}

static const char *what_goes_on(void) {
        return bid_goes_on(coordinator->runs, jobset_find(coordinator->jobset, "a"),
                           ledger_cache_get(coordinator->store.ledgers, "a", NULL));
}

/* Of one that continues; what is being stopped is soon gone. */
static void expect_goes_on(bool continues) {
        g_autoptr(GPtrArray) runs = runs_list(coordinator->runs);
        Run *run = runs->pdata[0];
        Ledger *done = ledger_copy(ledger_cache_get(coordinator->store.ledgers, "a", NULL));
        char *unit = run->record->unit;

        cr_assert_eq(runs->len, 1);
        run->record->continues = continues;
        cr_expect_null(what_goes_on(), "nobody has given it up");
        g_ptr_array_set_size(done->open, 0);
        ledger_cache_set(coordinator->store.ledgers, "a", done, server_node(JOB)->stat.version);
        run->phase = RUN_PHASE_CLAIMED;
        cr_expect_null(what_goes_on(), "its unit has not been read yet");
        run->phase = RUN_PHASE_STOPPING;
        run->record->unit = (char *)"jobkeeper-none.service";
        cr_expect_null(what_goes_on(), "it was ordered to end, and nobody has seen it");
        run->record->unit = unit;
        run->phase = RUN_PHASE_RUNNING;
        if (continues)
                cr_expect_str_eq(what_goes_on(), "2000000000-1");
        else
                cr_expect_null(what_goes_on());
}

Test(bid, one_that_continues_goes_on_once_it_is_known_to_live) {
        begin(NULL);
        expect_heard("held");
        cr_assert_eq(bid_claim(bid), 0);
        expect_heard("won");
        expect_goes_on(true);
}

Test(bid, one_that_does_not_continue_is_no_reason) {
        begin(NULL);
        expect_heard("held");
        cr_assert_eq(bid_claim(bid), 0);
        expect_heard("won");
        expect_goes_on(false);
}

/* It was given up before the job got another name, and goes on here under the old one. */
Test(bid, one_that_continues_under_the_name_that_the_job_had_goes_on) {
        g_autoptr(GPtrArray) runs = NULL;
        _cleanup_(ledger_freep) Ledger *given_up = NULL, *moved = NULL, *other = NULL;
        const JobSpec *renamed;

        write_job_named("b", "    every: 1h\n    exec: [/bin/true]\n");
        reload();
        renamed = jobset_find(coordinator->jobset, "b");
        cr_assert_not_null(renamed);
        begin(NULL);
        expect_heard("held");
        cr_assert_eq(bid_claim(bid), 0);
        expect_heard("won");
        runs = runs_list(coordinator->runs);
        ((Run *)runs->pdata[0])->record->continues = true;
        ((Run *)runs->pdata[0])->phase = RUN_PHASE_RUNNING;
        given_up = ledger_copy(ledger_cache_get(coordinator->store.ledgers, "a", NULL));
        ((LedgerEntry *)given_up->open->pdata[0])->state = RUN_UNKNOWN;
        moved = ledger_move(given_up, "a", "b");
        other = ledger_move(given_up, "c", "b");
        cr_expect_str_eq(bid_goes_on(coordinator->runs, renamed, moved), "2000000000-1");
        cr_expect_null(bid_goes_on(coordinator->runs, renamed, other), "it had another name");
}

/* The lock itself has so many, beside what the ledger counts. */
Test(bid, the_own_lock_has_slots) {
        redefine("    every: 1h\n    exec: [/bin/true]\n    slots: 2\n");
        begin(NULL);
        expect_heard("held");
        cr_expect_str_eq(server_data(OWN_LOCK), "{\"slots\": 2}");
        cr_assert_eq(bid_claim(bid), 0);
        expect_heard("won");
}

#define BESIDE "    every: 1h\n    exec: [/bin/true]\n    lock: shared\n    overlap: allow\n"

/* Another tick is: test-overlap.c. */
Test(bid, where_runs_are_side_by_side_the_same_tick_is_not) {
        g_autoptr(GPtrArray) runs = NULL;
        Ledger *done;

        redefine(BESIDE);
        begin(NULL);
        expect_heard("held");
        cr_assert_eq(bid_claim(bid), 0);
        expect_heard("won");
        done = ledger_copy(ledger_cache_get(coordinator->store.ledgers, "a", NULL));
        g_ptr_array_set_size(done->open, 0);
        ledger_cache_set(coordinator->store.ledgers, "a", done, server_node(JOB)->stat.version);
        runs = runs_list(coordinator->runs);
        ((Run *)runs->pdata[0])->record->continues = true;
        begin(NULL);
        cr_expect_eq(bid_claim(bid), -EBUSY);
        cr_expect_null(what_goes_on(), "it keeps no other tick from beginning");
}

/* They have settled it as lost, and it is to be rerun: but not yet by us. */
Test(bid, nor_is_its_rerun) {
        Ledger *lost;
        LedgerEntry *entry;

        begin(NULL);
        expect_heard("held");
        cr_assert_eq(bid_claim(bid), 0);
        expect_heard("won");
        lost = ledger_copy(ledger_cache_get(coordinator->store.ledgers, "a", NULL));
        entry = (LedgerEntry *)ledger_find_run(lost, "2000000000-1");
        cr_assert_not_null(entry);
        entry->state = RUN_UNKNOWN;
        entry->not_before = 1;
        ledger_cache_set(coordinator->store.ledgers, "a", lost, server_node(JOB)->stat.version);
        begin(NULL);
        cr_expect_eq(bid_claim(bid), -EBUSY);
}

/* Which one it is stands in the ledger; what follows it, in its record. */
Test(bid, the_next_attempt_is_claimed_with_its_terms) {
        _cleanup_(run_record_freep) RunRecord *record = NULL;
        const char *data;
        Ledger *ledger;

        redefine("    schedule: \"2096-02-29 00:00:00\"\n    exec: [/bin/true]\n"
                 "    retries: {attempts: 4, delay: 1s, max-delay: 2min}\n"
                 "    no-retry: [64..78, 2]\n    on-owner-lost: rerun\n");
        ledger = ledger_copy(ledger_cache_get(coordinator->store.ledgers, "a", NULL));
        put_retry(ledger);
        ledger_cache_set(coordinator->store.ledgers, "a", ledger, server_node(JOB)->stat.version);
        begin(NULL);
        expect_heard("held");
        frees = true;
        cr_assert_eq(bid_claim(bid), 0);
        cr_expect_str_eq(bid_run(bid), "2000000000-3");
        expect_heard("won");
        data = server_data(RUNS "/2000000000-3");
        cr_assert_eq(run_record_decode(data, strlen(data), &record), 0);
        cr_expect_eq(record->attempt, 3);
        cr_expect_eq(record->terms.attempts, 4);
        cr_expect_eq(record->terms.delay, USEC_PER_SEC);
        cr_expect_eq(record->terms.max_delay, 2 * USEC_PER_MINUTE);
        cr_expect_str_eq(record->terms.no_retry, "2,64..78");
        cr_expect(record->terms.rerun);
        cr_expect(
            ledger_find_run(ledger_cache_get(coordinator->store.ledgers, "a", NULL), "2000000000-3")
                ->again);
}

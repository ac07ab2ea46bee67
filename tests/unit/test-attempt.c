/* One attempt by itself, on top of a whole daemon (daemon-fixture.h): what becomes of its locks and
 * of its claim, and who hears of it. */
#include "attempt.h"

#include <errno.h>

#include "daemon-fixture.h"
#include "paths.h"

#define ROOT "/jobkeeper"
#define JOB ROOT "/jobs/a"
#define RUNS JOB "/runs"
#define OWN_LOCK ROOT "/locks/job:a"
#define BLOCKER OWN_LOCK "/_c_00000000-0000-0000-0000-000000000000-__WRIT__0000000000"
#define TICK INT64_C(2000000000)
#define ID "1000000000-m0badcafe"

static Attempt *attempt;
static GString *heard;
static bool frees; /* at the first event */

static bool is_ready(void) {
        return node_is_ready(coordinator->node) && server_node(RUNS);
}

static void on_event(AttemptEvent told, void *userdata) {
        static const char *const words[] = {
            [ATTEMPT_HELD] = "held",     [ATTEMPT_TIMED_OUT] = "timed-out",
            [ATTEMPT_FAULTY] = "faulty", [ATTEMPT_LOST] = "lost",
            [ATTEMPT_WON] = "won",       [ATTEMPT_TAKEN] = "taken",
            [ATTEMPT_STALE] = "stale",   [ATTEMPT_OVER] = "over",
        };

        g_string_append_printf(heard, "%s%s", heard->len ? " " : "", words[told]);
        if (frees)
                attempt = attempt_free(attempt);
}

static void setup_attempt(void) {
        setup();
        heard = g_string_new(NULL);
        write_job("    exec: [/bin/true]\n");
        open_daemon();
        await(is_ready, "ready");
        serve_for(100 * USEC_PER_MSEC);
}

static void teardown_attempt(void) {
        attempt = attempt_free(attempt);
        g_string_free(heard, TRUE);
        teardown();
}

TestSuite(attempt, .init = setup_attempt, .fini = teardown_attempt);

static const JobSpec *spec_now(void) {
        return jobset_find(coordinator->jobset, "a");
}

static void redefine(const char *keys) {
        write_job(keys);
        reload();
        serve_for(200 * USEC_PER_MSEC);
}

static void begin(const ManualRun *run) {
        const AttemptParts parts = {.node = coordinator->node,
                                    .tree = coordinator->tree,
                                    .ledgers = coordinator->store.ledgers,
                                    .runs = coordinator->runs};

        attempt_free(attempt);
        attempt = NULL;
        cr_assert_eq(attempt_new(&parts, spec_now(), run ? 0 : TICK, run, on_event, NULL, &attempt),
                     0);
}

static bool has_heard(void) {
        return heard->len > 0;
}

static void expect_heard(const char *expected) {
        await(has_heard, expected);
        cr_expect_str_eq(heard->str, expected);
        g_string_truncate(heard, 0);
}

/* ---- locks ---- */

Test(attempt, the_locks_are_asked_for_and_go_with_it) {
        begin(NULL);
        cr_expect_not(attempt_holds_locks(attempt));
        cr_expect_eq(attempt_tick(attempt), TICK);
        cr_expect_str_eq(attempt_run(attempt), "2000000000-1");
        cr_expect_null(attempt_manual(attempt));
        expect_heard("held");
        cr_expect(attempt_holds_locks(attempt));
        cr_expect_eq(server_count(OWN_LOCK), 1);
        attempt = attempt_free(attempt);
        serve_for(100 * USEC_PER_MSEC);
        cr_expect_eq(server_count(OWN_LOCK), 0);
}

Test(attempt, it_is_for_one_tick_or_for_one_manual_run) {
        const ManualRun one = {.id = (char *)ID, .who = (char *)"me", .not_after = USEC_INFINITY},
                        other = {.id = (char *)"2000000000-m0badcafe"};

        begin(NULL);
        cr_expect(attempt_is_for(attempt, TICK, NULL));
        cr_expect_not(attempt_is_for(attempt, TICK + 1, NULL));
        cr_expect_not(attempt_is_for(attempt, 0, &one));
        begin(&one);
        cr_expect(attempt_is_for(attempt, 0, &one));
        cr_expect_not(attempt_is_for(attempt, 0, &other));
        cr_expect_not(attempt_is_for(attempt, 0, NULL));
        cr_expect_str_eq(attempt_run(attempt), ID);
        cr_expect_str_eq(attempt_manual(attempt)->who, "me");
}

Test(attempt, where_none_are_needed_they_are_held_from_the_beginning) {
        redefine("    exec: [/bin/true]\n    lock: none\n");
        cr_expect_not(attempt_needs_locks(spec_now()));
        begin(NULL);
        cr_expect(attempt_holds_locks(attempt));
        cr_expect(attempt_is_for(attempt, TICK, NULL));
        cr_expect_eq(attempt_claim(attempt), 0);
        expect_heard("won");
        cr_expect_eq(started->len, 1);
}

Test(attempt, what_is_not_free_in_time_leaves_nothing_behind) {
        const ManualRun run = {.id = (char *)ID,
                               .who = (char *)"me",
                               .not_after = clock_realtime() + 200 * USEC_PER_MSEC};

        server_create(ROOT "/locks", "", 0);
        server_create(OWN_LOCK, "", 0);
        server_create(BLOCKER, "", 99);
        begin(&run);
        expect_heard("timed-out");
        cr_expect_not(attempt_is_for(attempt, 0, &run), "it waits with nothing");
        serve_for(100 * USEC_PER_MSEC);
        cr_expect_eq(server_count(OWN_LOCK), 1, "the other one's");
}

Test(attempt, what_cannot_be_had_is_said) {
        server_create(ROOT "/locks", "", 0);
        server_create(OWN_LOCK, "", 0);
        server_create(OWN_LOCK "/nonsense", "", 99);
        begin(NULL);
        cr_expect_null(attempt_fault(attempt));
        expect_heard("faulty");
        cr_expect_not_null(attempt_fault(attempt));
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

Test(attempt, what_somebody_takes_away_is_lost) {
        begin(NULL);
        expect_heard("held");
        empty_queue();
        expect_heard("lost");
        cr_expect_not(attempt_holds_locks(attempt));
}

/* Whoever says how long it waits for locks does so beyond the start deadline, and no longer. */
Test(attempt, when_the_waiting_ends) {
        redefine("    exec: [/bin/true]\n    start-deadline: 2min\n    lock-wait: 1h\n");
        cr_expect_eq(attempt_wait_ends(spec_now(), TICK),
                     (usec_t)(TICK + 120 + 3600) * USEC_PER_SEC);
        redefine("    exec: [/bin/true]\n    start-deadline: 2min\n    lock-wait: infinity\n");
        cr_expect_eq(attempt_wait_ends(spec_now(), TICK), USEC_INFINITY);
        begin(NULL);
        expect_heard("held");
}

/* ---- claims ---- */

Test(attempt, what_is_won_runs_with_its_locks) {
        int32_t version = -1;
        const Ledger *ledger;

        begin(NULL);
        expect_heard("held");
        frees = true;
        cr_assert_eq(attempt_claim(attempt), 0);
        cr_expect_eq(runs_count_claims(coordinator->runs), 1);
        expect_heard("won");
        cr_expect_eq(runs_count_claims(coordinator->runs), 0);
        cr_expect_eq(runs_count(coordinator->runs), 1);
        cr_expect_eq(server_count(OWN_LOCK), 1);
        ledger = ledger_cache_get(coordinator->store.ledgers, "a", &version);
        cr_expect_not_null(ledger_find_run(ledger, "2000000000-1"));
        cr_expect_eq(version, server_node(JOB)->stat.version);
}

Test(attempt, what_is_there_already_is_taken) {
        server_create(RUNS "/2000000000-1", "{}", 0);
        begin(NULL);
        expect_heard("held");
        cr_assert_eq(attempt_claim(attempt), 0);
        expect_heard("taken");
        cr_expect_eq(runs_count_claims(coordinator->runs), 0);
        cr_expect_eq(runs_count(coordinator->runs), 0);
}

static ServerWay refuse_claims(const ZkCall *call) {
        return is_claim(call) ? SERVER_REFUSE : SERVER_ANSWER;
}

Test(attempt, a_stale_one_may_be_made_again_a_few_times) {
        server.refusal = ZK_BAD_VERSION;
        server.way = refuse_claims;
        begin(NULL);
        expect_heard("held");
        for (unsigned i = 1; i <= 5; i++) {
                cr_assert_eq(attempt_claim(attempt), 0);
                expect_heard("stale");
                cr_expect(attempt_holds_locks(attempt));
                cr_expect_eq(attempt_may_claim_again(attempt, spec_now()), i < 5);
        }
}

/* Locks that another definition asked for are not those of the one in force. */
Test(attempt, a_stale_one_is_not_made_again_for_another_definition) {
        server.refusal = ZK_BAD_VERSION;
        server.way = refuse_claims;
        begin(NULL);
        expect_heard("held");
        redefine("    exec: [/bin/true, new]\n");
        cr_assert_eq(attempt_claim(attempt), 0);
        expect_heard("stale");
        cr_expect(attempt_may_claim_again(attempt, spec_now()), "it waits for the same");
        cr_expect_eq(attempt_spec(attempt), spec_now());
        redefine("    exec: [/bin/true, new]\n    locks: {other: exclusive}\n");
        cr_expect_not(attempt_may_claim_again(attempt, spec_now()));
        cr_expect_neq(attempt_spec(attempt), spec_now());
}

static bool is_kept(void) {
        return g_queue_get_length(&server.kept) > 0;
}

static ServerWay keep_claims(const ZkCall *call) {
        return is_claim(call) ? SERVER_KEEP : SERVER_ANSWER;
}

Test(attempt, locks_that_are_lost_during_a_claim_are_told_by_its_check) {
        server.way = keep_claims;
        begin(NULL);
        expect_heard("held");
        cr_assert_eq(attempt_claim(attempt), 0);
        await(is_kept, "the claim");
        empty_queue();
        serve_for(200 * USEC_PER_MSEC);
        cr_expect_str_eq(heard->str, "", "nobody can tell yet: %s", heard->str);
        cr_expect_not(attempt_holds_locks(attempt));
        server.way = NULL;
        server_release();
        expect_heard("stale");
        cr_expect_not(attempt_is_for(attempt, TICK, NULL));
}

static bool is_held_back(void) {
        return server.held;
}

Test(attempt, nobody_hears_of_a_claim_that_is_given_up) {
        server.hold_claims = true;
        begin(NULL);
        expect_heard("held");
        cr_assert_eq(attempt_claim(attempt), 0);
        await(is_held_back, "the claim");
        attempt = attempt_free(attempt);
        cr_expect_eq(runs_count_claims(coordinator->runs), 0);
        server_release();
        cr_expect_eq(heard->len, 0);
}

Test(attempt, a_claim_whose_session_ends_is_over) {
        server.refusal = ZK_CLOSED;
        server.way = refuse_claims;
        begin(NULL);
        expect_heard("held");
        cr_assert_eq(attempt_claim(attempt), 0);
        expect_heard("over");
}

/* The ledger has done with a run that still has to end here: the others settled it. */
Test(attempt, nothing_is_claimed_beside_a_run_that_is_still_being_ended) {
        Ledger *done;

        begin(NULL);
        expect_heard("held");
        cr_assert_eq(attempt_claim(attempt), 0);
        expect_heard("won");
        done = ledger_copy(ledger_cache_get(coordinator->store.ledgers, "a", NULL));
        g_ptr_array_set_size(done->open, 0);
        ledger_cache_set(coordinator->store.ledgers, "a", done, server_node(JOB)->stat.version);
        begin(NULL);
        cr_expect_eq(attempt_claim(attempt), -EBUSY);
        cr_expect_eq(runs_count_claims(coordinator->runs), 0);
}

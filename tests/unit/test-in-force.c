/* Whose definition is in force, by itself, on top of a whole daemon (daemon-fixture.h). What it
 * means for ticks that wait, and time zones, are tested with the daemon's own jobs
 * (test-scheduled-job.c, test-scheduled-job-zones.c). */
#include "in-force.h"

#include <time.h>

#include "daemon-fixture.h"
#include "digest-memory.h"
#include "journal.h"
#include "ledger-change.h"
#include "ledger-fixture.h"
#include "paths.h"
#include "placement.h"

#define DIFFERS "this node's definition differs from the one in force in the cluster"
#define ROOT "/jobkeeper"
#define PATH ROOT "/jobs/b" /* of no job of this node, so that nobody else has to do with it */

static usec_t ahead; /* so much later it is than the machine's clock says */

/* In place of base/clock.c. */
static usec_t read_clock(clockid_t id) {
        struct timespec ts = {0};

        (void)clock_gettime(id, &ts);
        return (usec_t)ts.tv_sec * USEC_PER_SEC + (usec_t)ts.tv_nsec / 1000;
}

usec_t clock_boottime(void) {
        return read_clock(CLOCK_BOOTTIME) + ahead;
}

usec_t clock_monotonic(void) {
        return read_clock(CLOCK_MONOTONIC);
}

usec_t clock_realtime(void) {
        return read_clock(CLOCK_REALTIME);
}

static InForce *in_force;
static LedgerWriter *writer;
static JobSpec *spec;
static char *own; /* its digest */
static unsigned n_told, n_remembered;
static LedgerWriteOutcome outcome;

static bool is_ready(void) {
        return node_is_ready(coordinator->node) && server_node(ROOT "/jobs/a/runs");
}

static void on_over(LedgerWriteOutcome told, const char *refused, void *userdata) {
        n_told++;
        outcome = told;
        in_force_written(in_force, told);
}

static void on_remembered(void *userdata) {
        n_remembered++;
}

static void setup_with(const char *job) {
        LedgerWriterParts writes;
        InForceParts parts;

        setup();
        write_job(job);
        open_daemon();
        await(is_ready, "ready");
        serve_for(100 * USEC_PER_MSEC);
        writes = (LedgerWriterParts){.node = coordinator->node,
                                     .tree = coordinator->tree,
                                     .ledgers = coordinator->store.ledgers,
                                     .pruner = coordinator->store.pruner};
        writer = ledger_writer_new(&writes, "b", on_over, NULL);
        parts = (InForceParts){.node = coordinator->node,
                               .tree = coordinator->tree,
                               .ledgers = coordinator->store.ledgers,
                               .digests = coordinator->digests,
                               .registration = coordinator->registration,
                               .members = coordinator->members,
                               .writer = writer};
        in_force = in_force_new(&parts, "b", on_remembered, NULL);
        spec = job_spec_ref(jobset_find(coordinator->jobset, "a"));
        own = job_spec_digest(spec, coordinator->config);
        ledger_cache_add(coordinator->store.ledgers, "b");
}

static void teardown_in_force(void) {
        in_force = in_force_free(in_force);
        writer = ledger_writer_free(writer);
        spec = job_spec_free(spec);
        g_clear_pointer(&own, g_free);
        teardown();
}

static void setup_in_force(void) {
        setup_with("    every: 10s\n    exec: [/bin/true]\n    nodes: [another]\n");
}

static void setup_nobodys(void) {
        setup_with("    every: 300d\n    exec: [/bin/true]\n");
}

TestSuite(in_force, .init = setup_in_force, .fini = teardown_in_force);
TestSuite(nobodys, .init = setup_nobodys, .fini = teardown_in_force);

static bool is_told(void) {
        return n_told > 0;
}

static void expect_outcome(LedgerWriteOutcome expected) {
        await(is_told, "it is over");
        cr_expect_eq(outcome, expected, "%u rather than %u", outcome, expected);
        n_told = 0;
}

/* It stands there and was read. */
static void know_ledger(Ledger *ledger) {
        g_autofree char *data = ledger_encode(ledger);

        server_write(PATH, data);
        server_create(PATH "/runs", "", 0);
        ledger_cache_set(coordinator->store.ledgers, "b", ledger, server_node(PATH)->stat.version);
}

static void know(const char *digest, const char *schedule, int64_t from) {
        Ledger *ledger = ledger_new(from, digest);

        g_free(ledger->schedule);
        ledger->schedule = g_strdup(schedule);
        know_ledger(ledger);
}

static const Ledger *known(void) {
        return ledger_cache_get(coordinator->store.ledgers, "b", NULL);
}

static Ledger *there(void) {
        Ledger *ledger = NULL;

        cr_assert_eq(ledger_decode(server_data(PATH), strlen(server_data(PATH)), &ledger), 0);
        return ledger;
}

static bool is_remembered(void) {
        return n_remembered > 0;
}

/* It is changed, and that was remembered first. */
static void expect_writes(void) {
        cr_assert_eq(in_force_check(in_force, spec, true), IN_FORCE_REMEMBERS);
        await(is_remembered, "it is remembered");
        cr_expect_eq(n_remembered, 1);
        n_remembered = 0;
        cr_assert_eq(in_force_check(in_force, spec, true), IN_FORCE_WRITES);
}

static int64_t now(void) {
        return (int64_t)(clock_realtime() / USEC_PER_SEC);
}

static bool is_said_to_be_drifted(void) {
        return strstr(server_data(ROOT "/nodes/n1"), "\"drifted\":[\"b\"]");
}

static bool is_said_to_agree(void) {
        return strstr(server_data(ROOT "/nodes/n1"), "\"drifted\":[]");
}

/* ---- tests ---- */

Test(in_force, a_ledger_is_made_with_our_definition) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        cr_expect(in_force_is_unchecked(in_force));
        cr_assert_eq(in_force_make_ledger(in_force, spec), IN_FORCE_REMEMBERS);
        await(is_remembered, "it is remembered");
        cr_assert_eq(in_force_make_ledger(in_force, spec), IN_FORCE_WRITES);
        cr_expect_not(in_force_is_unchecked(in_force), "what is written last needs no look");
        cr_expect_null(digest_memory_get(coordinator->digests, "b"), "not before it stands there");
        expect_outcome(LEDGER_WRITE_DONE);
        ledger = there();
        cr_expect_str_eq(ledger->digest, own);
        cr_expect_str_eq(ledger->schedule, "every 10s");
        cr_expect(ledger->from >= now() - 2 && ledger->from <= now());
        cr_expect_str_eq(digest_memory_get(coordinator->digests, "b"), own);
        cr_expect_not_null(server_node(PATH "/runs"));
        cr_expect_eq(in_force_check(in_force, spec, false), IN_FORCE_OURS);
}

Test(in_force, what_is_ours_is_remembered) {
        know(own, "every 10s", now());
        cr_expect_eq(in_force_check(in_force, spec, false), IN_FORCE_OURS);
        cr_expect_not(in_force_is_unchecked(in_force) || in_force_is_drifted(in_force));
        cr_expect_str_eq(digest_memory_get(coordinator->digests, "b"), own);
        in_force_changed(in_force);
        cr_expect(in_force_is_unchecked(in_force));
}

/* What a version before this one did not write is put right with the next write. */
Test(in_force, what_is_missing_in_the_ledger_is_known_anyway) {
        know(own, NULL, now());
        cr_expect_eq(in_force_check(in_force, spec, false), IN_FORCE_OURS);
        cr_expect_str_eq(known()->schedule, "every 10s");
}

/* Our file is what it was when we last agreed, so it was another node's that changed. */
Test(in_force, another_ones_change_makes_us_drifted_until_we_agree) {
        digest_memory_set(coordinator->digests, "b", own);
        know("other", "every 20s", now());
        for (unsigned i = 0; i < 2; i++)
                cr_expect_eq(in_force_check(in_force, spec, true), IN_FORCE_DRIFTED);
        cr_expect(in_force_is_drifted(in_force));
        await(is_said_to_be_drifted, "the others are told");
        cr_expect(journal_has("b: " DIFFERS ": its schedule is \"every 10s\", in force is "
                              "\"every 20s\": this node neither starts"));
        know(own, "every 10s", now());
        cr_expect_eq(in_force_check(in_force, spec, true), IN_FORCE_OURS);
        cr_expect_not(in_force_is_drifted(in_force));
        await(is_said_to_agree, "that, too");
        cr_expect_eq(n_told, 0, "nothing was written");
}

Test(in_force, a_definition_that_differs_elsewhere_than_in_the_schedule_is_told_so) {
        digest_memory_set(coordinator->digests, "b", own);
        know("other", "every 10s", now());
        cr_expect_eq(in_force_check(in_force, spec, true), IN_FORCE_DRIFTED);
        cr_expect(journal_has("b: " DIFFERS " not in the schedule: in lock or locks, or in what "
                              "jobkeeper.yaml says of their resources: this node neither starts"));
}

Test(in_force, of_a_schedule_in_force_that_is_not_known_nothing_is_told) {
        digest_memory_set(coordinator->digests, "b", own);
        know("other", "\x1b[31m never", now());
        cr_expect_eq(in_force_check(in_force, spec, true), IN_FORCE_DRIFTED);
        cr_expect(journal_has("b: " DIFFERS ": this node neither starts"));
}

Test(in_force, our_own_change_is_put_in_force_by_a_good_clock) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        digest_memory_set(coordinator->digests, "b", "older");
        know("other", "every 300d", now());
        cr_expect_eq(in_force_check(in_force, spec, false), IN_FORCE_NEEDS_CLOCK);
        cr_expect(in_force_is_unchecked(in_force));
        expect_writes();
        expect_outcome(LEDGER_WRITE_DONE);
        ledger = there();
        cr_expect_str_eq(ledger->digest, own);
        cr_expect_str_eq(ledger->schedule, "every 10s");
        cr_expect_str_eq(digest_memory_get(coordinator->digests, "b"), own);
}

Test(in_force, what_could_not_be_put_in_force_is_not_remembered) {
        g_autofree char *data = NULL;

        digest_memory_set(coordinator->digests, "b", "older");
        know("other", "every 300d", now());
        data = g_strdup(server_data(PATH));
        server_set(server_node(PATH), data); /* somebody was quicker */
        expect_writes();
        expect_outcome(LEDGER_WRITE_AGAIN);
        cr_expect_str_eq(digest_memory_get(coordinator->digests, "b"), "older");
        cr_expect_null(known());
}

/* Under ours nobody would owe it. */
Test(in_force, what_is_owed_is_skipped_first) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        int64_t tick = now() / 10 * 10;
        g_autofree char *record = g_strdup_printf(PATH "/runs/%" G_GINT64_FORMAT "-0", tick);

        digest_memory_set(coordinator->digests, "b", "older");
        know("other", "every 10s", tick - 1);
        cr_expect_eq(in_force_check(in_force, spec, true), IN_FORCE_WRITES);
        expect_outcome(LEDGER_WRITE_DONE);
        cr_expect_not_null(strstr(server_data(record), "its definition changed while it waited"),
                           "%s", server_data(record));
        cr_expect_null(known(), "it is read again");
        ledger = there();
        cr_expect_str_eq(ledger->digest, "other");
        cr_expect_str_eq(digest_memory_get(coordinator->digests, "b"), "older");
}

/* A tick of before is to be attempted again, in an hour. */
static void know_retry(const char *digest, int64_t tick) {
        g_autofree char *entries = g_strdup_printf(
            "{'run':'%" G_GINT64_FORMAT "-1','tick':%" G_GINT64_FORMAT
            ",'state':'failed','node':'n2','attempt':1,'not_before':%" G_GINT64_FORMAT "}",
            tick, tick, now() + 3600);
        Ledger *ledger = ledger_of(0, tick - 1, entries);

        g_free(ledger->digest);
        ledger->digest = g_strdup(digest);
        g_free(ledger->schedule);
        ledger->schedule = g_strdup("every 300d");
        cr_assert_not_null(ledger_first_retry(ledger));
        know_ledger(ledger);
}

/* Of what has no ticks nobody would attempt it. */
Test(in_force, what_is_to_be_attempted_again_by_no_schedule_is_given_up_first) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        int64_t tick = now() - 100;
        g_autofree char *record = g_strdup_printf(PATH "/runs/%" G_GINT64_FORMAT "-0", tick);

        digest_memory_set(coordinator->digests, "b", "older");
        know_retry("other", tick);
        spec->schedule = schedule_free(spec->schedule);
        g_free(own);
        own = job_spec_digest(spec, coordinator->config);
        cr_expect_eq(in_force_check(in_force, spec, true), IN_FORCE_WRITES);
        expect_outcome(LEDGER_WRITE_DONE);
        cr_expect_not_null(strstr(server_data(record), "attempt 2 is not made: its definition "
                                                       "changed while it waited, and has no "
                                                       "schedule any more"),
                           "%s", server_data(record));
        cr_expect(journal_has("is not retried: its definition changed while it waited"));
        cr_expect_null(known(), "it is read again");
        ledger = there();
        cr_expect_null(ledger_first_retry(ledger));
        cr_expect(ledger->failing);
        cr_expect_str_eq(ledger->digest, "other");
        ledger_cache_set(coordinator->store.ledgers, "b", g_steal_pointer(&ledger),
                         server_node(PATH)->stat.version);
        expect_writes();
        expect_outcome(LEDGER_WRITE_DONE);
        ledger = there();
        cr_expect_str_eq(ledger->digest, own);
}

Test(in_force, what_another_schedule_goes_on_with_is_not) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        digest_memory_set(coordinator->digests, "b", "older");
        know_retry("other", now() - 100);
        expect_writes();
        expect_outcome(LEDGER_WRITE_DONE);
        ledger = there();
        cr_expect_str_eq(ledger->digest, own);
        cr_expect_not_null(ledger_first_retry(ledger));
}

/* Nothing is owed of what nobody has any more, and it is anybody's. */
Test(in_force, what_was_withdrawn_for_good_is_taken_by_whoever_has_it) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        digest_memory_set(coordinator->digests, "b", own);
        know("", "every 10s", now() - 100);
        expect_writes();
        expect_outcome(LEDGER_WRITE_DONE);
        ledger = there();
        cr_expect_str_eq(ledger->digest, own);
        cr_expect_eq(server_count(PATH "/runs"), 0);
}

static bool is_resumed(void) {
        _cleanup_(ledger_freep) Ledger *ledger = there();

        return ledger->withdrawn == 0;
}

static void expect_resumed(void) {
        int32_t version = 0;
        Ledger *withdrawn = ledger_copy(known());

        ledger_withdraw(withdrawn, now());
        {
                g_autofree char *data = ledger_encode(withdrawn);

                server_set(server_node(PATH), data);
        }
        ledger_cache_set(coordinator->store.ledgers, "b", withdrawn,
                         server_node(PATH)->stat.version);
        cr_expect_eq(in_force_check(in_force, spec, false), IN_FORCE_OURS);
        cr_expect_eq(known()->withdrawn, 0);
        await(is_resumed, "it is said");
        serve_for(50 * USEC_PER_MSEC);
        (void)ledger_cache_get(coordinator->store.ledgers, "b", &version);
        cr_expect_eq(version, server_node(PATH)->stat.version,
                     "what is known is what stands there");
}

#define STAYS "b: the job was about to be withdrawn, but this node has it: it stays in force"

Test(in_force, what_another_node_lost_stays_in_force) {
        know(own, "every 10s", now());
        expect_resumed();
        cr_expect(journal_has("info: " STAYS));
}

/* Nobody lost it: the machine was off, and others do not speak of it. */
Test(in_force, that_its_own_instance_stays_in_force_nobody_is_told) {
        g_autofree char *digest = NULL;

        spec->place.node = g_strdup("n1");
        digest = job_spec_digest(spec, coordinator->config);
        know(digest, "every 10s", now());
        expect_resumed();
        cr_expect_not(journal_has("info: " STAYS));
        cr_expect(journal_has("debug: " STAYS));
}

/* Without a memory only the one node of a cluster may change it. */
Test(in_force, without_a_memory_it_is_ours_where_nobody_else_is) {
        know("other", "every 300d", now());
        expect_writes();
        expect_outcome(LEDGER_WRITE_DONE);
}

static bool are_two(void) {
        return members_list(coordinator->members)->len == 2;
}

Test(in_force, and_another_ones_where_somebody_who_may_run_it_agrees) {
        server_write(ROOT "/nodes/another", "{\"machine\":\"m\",\"boot\":\"b\"}");
        await(are_two, "two members");
        know("other", "every 300d", now());
        cr_expect_eq(in_force_check(in_force, spec, true), IN_FORCE_DRIFTED);
}

/* Nobody else has it. */
Test(in_force, without_a_memory_an_instance_of_this_node_is_ours) {
        server_write(ROOT "/nodes/another", "{\"machine\":\"m\",\"boot\":\"b\"}");
        await(are_two, "two members");
        know("other", "every 300d", now());
        spec->place.node = g_strdup("n1");
        expect_writes();
        expect_outcome(LEDGER_WRITE_DONE);
}

Test(in_force, where_it_cannot_be_written_that_is_told) {
        digest_memory_set(coordinator->digests, "b", "older");
        know("other", "every 300d", now());
        cr_assert_eq(in_force_check(in_force, spec, true), IN_FORCE_REMEMBERS);
        await(is_remembered, "it is remembered");
        coordinator->node->session_phase = 0;
        cr_expect_eq(in_force_check(in_force, spec, true), IN_FORCE_FAILED);
        cr_expect_eq(ledger_writer_outcome(in_force_error(in_force)), LEDGER_WRITE_CLOSED);
        cr_expect_null(known());
        cr_expect_null(in_force_free(NULL));
}

/* ---- what nobody has ---- */

static void add_member(const char *data) {
        server_write(ROOT "/nodes/another", data);
        await(are_two, "two members");
}

/* Our file is what it was, and what is in force is another for so long. */
static InForceVerdict look_after(usec_t time) {
        InForceVerdict verdict;

        ahead = time;
        verdict = in_force_check(in_force, spec, true);
        ahead = 0;
        return verdict;
}

static void know_what_nobody_has(void) {
        digest_memory_set(coordinator->digests, "b", own);
        know("other", "every 300d", now());
        cr_assert_eq(look_after(0), IN_FORCE_DRIFTED);
}

Test(nobodys, what_nobody_has_gives_way_in_time) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        know_what_nobody_has();
        cr_expect_leq(in_force_patience_left(in_force), IN_FORCE_PATIENCE);
        cr_expect_eq(look_after(IN_FORCE_PATIENCE / 2), IN_FORCE_DRIFTED);
        cr_expect_eq(look_after(IN_FORCE_PATIENCE + USEC_PER_SEC), IN_FORCE_REMEMBERS);
        await(is_remembered, "it is remembered");
        await(is_said_to_agree, "it is told"); /* which is no agreement with what is in force */
        cr_expect_eq(look_after(IN_FORCE_PATIENCE + USEC_PER_SEC), IN_FORCE_WRITES);
        expect_outcome(LEDGER_WRITE_DONE);
        ledger = there();
        cr_expect_str_eq(ledger->digest, own);
        cr_expect_str_eq(ledger->instead_of, "other");
        cr_expect_eq(in_force_check(in_force, spec, true), IN_FORCE_OURS);
        cr_expect_eq(in_force_patience_left(in_force), USEC_INFINITY);
}

Test(nobodys, the_time_begins_anew_with_what_another_puts_in_force) {
        know_what_nobody_has();
        know("a third", "every 10s", now());
        cr_expect_eq(look_after(IN_FORCE_PATIENCE + USEC_PER_SEC), IN_FORCE_DRIFTED);
        cr_expect_gt(in_force_patience_left(in_force), IN_FORCE_PATIENCE);
}

Test(nobodys, what_somebody_has_stays_however_long) {
        add_member("{\"machine\":\"m\",\"boot\":\"b\"}");
        know_what_nobody_has();
        cr_expect_eq(in_force_patience_left(in_force), USEC_INFINITY);
        cr_expect_eq(look_after(IN_FORCE_PATIENCE + USEC_PER_SEC), IN_FORCE_DRIFTED);
        cr_expect_eq(look_after(3 * IN_FORCE_PATIENCE), IN_FORCE_DRIFTED);
}

Test(nobodys, who_lost_the_job_does_not_have_what_is_in_force) {
        add_member("{\"machine\":\"m\",\"boot\":\"b\",\"absent\":[\"b\"]}");
        know_what_nobody_has();
        cr_expect_eq(look_after(IN_FORCE_PATIENCE + USEC_PER_SEC), IN_FORCE_REMEMBERS);
}

/* It does not look, and would not run it. */
Test(nobodys, a_drained_node_keeps_nothing_in_force) {
        add_member("{\"machine\":\"m\",\"boot\":\"b\",\"busy\":\"drained\"}");
        know_what_nobody_has();
        cr_expect_eq(look_after(IN_FORCE_PATIENCE / 2), IN_FORCE_DRIFTED);
        cr_expect_eq(look_after(IN_FORCE_PATIENCE + USEC_PER_SEC), IN_FORCE_REMEMBERS);
}

Test(nobodys, nor_does_one_that_is_outside_of_its_window) {
        add_member("{\"machine\":\"m\",\"boot\":\"b\",\"outside\":4102444800}");
        know_what_nobody_has();
        cr_expect_eq(look_after(IN_FORCE_PATIENCE / 2), IN_FORCE_DRIFTED);
        cr_expect_eq(look_after(IN_FORCE_PATIENCE + USEC_PER_SEC), IN_FORCE_REMEMBERS);
}

Test(nobodys, nor_is_it_one_of_those_that_differ) {
        add_member("{\"machine\":\"m\",\"boot\":\"b\",\"drifted\":[\"b\"],\"busy\":\"drained\"}");
        know_what_nobody_has();
        cr_expect_eq(look_after(IN_FORCE_PATIENCE + USEC_PER_SEC), IN_FORCE_REMEMBERS);
}

Test(nobodys, one_that_is_full_keeps_it) {
        add_member("{\"machine\":\"m\",\"boot\":\"b\",\"busy\":\"max-runs\"}");
        know_what_nobody_has();
        cr_expect_eq(look_after(IN_FORCE_PATIENCE + USEC_PER_SEC), IN_FORCE_DRIFTED);
}

Test(nobodys, of_those_that_differ_one_changes_it) {
        const char *const both[] = {"another", "n1", NULL};
        bool first = placement_rank("b", both, "n1") == 0;

        add_member("{\"machine\":\"m\",\"boot\":\"b\",\"drifted\":[\"b\"]}");
        know_what_nobody_has();
        cr_expect_eq(look_after(IN_FORCE_PATIENCE + USEC_PER_SEC),
                     first ? IN_FORCE_REMEMBERS : IN_FORCE_DRIFTED);
}

Test(nobodys, and_not_one_whose_clock_is_wrong) {
        add_member("{\"machine\":\"m\",\"boot\":\"b\",\"drifted\":[\"b\"],\"skewed\":true}");
        know_what_nobody_has();
        cr_expect_eq(look_after(IN_FORCE_PATIENCE + USEC_PER_SEC), IN_FORCE_REMEMBERS);
}

/* A new machine with an old file, while the one that has what is in force restarts. */
Test(nobodys, without_a_memory_the_time_is_waited_for_where_there_are_others) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        add_member("{\"machine\":\"m\",\"boot\":\"b\",\"drifted\":[\"b\"],\"skewed\":true}");
        know("other", "every 300d", now());
        cr_assert_eq(look_after(0), IN_FORCE_DRIFTED);
        cr_expect_leq(in_force_patience_left(in_force), IN_FORCE_PATIENCE);
        cr_expect_eq(look_after(IN_FORCE_PATIENCE / 2), IN_FORCE_DRIFTED);
        cr_expect_eq(look_after(IN_FORCE_PATIENCE + USEC_PER_SEC), IN_FORCE_REMEMBERS);
        await(is_remembered, "it is remembered");
        cr_expect_eq(look_after(IN_FORCE_PATIENCE + USEC_PER_SEC), IN_FORCE_WRITES);
        expect_outcome(LEDGER_WRITE_DONE);
        ledger = there();
        cr_expect_str_eq(ledger->instead_of, "other", "who has that puts it back");
}

/* A disk that is full on the first of them keeps the job from nobody. */
Test(nobodys, what_nobody_has_gives_way_also_where_that_cannot_be_remembered) {
        g_autofree char *state = tree_path(root, "state"), *away = g_strconcat(state, "-", NULL);

        know_what_nobody_has();
        cr_assert_eq(rename(state, away), 0);
        cr_expect_eq(look_after(IN_FORCE_PATIENCE + USEC_PER_SEC), IN_FORCE_REMEMBERS);
        await(is_remembered, "it cannot be");
        cr_expect_str_neq(digest_memory_fault(coordinator->digests), "");
        cr_expect_eq(look_after(IN_FORCE_PATIENCE + USEC_PER_SEC), IN_FORCE_WRITES);
        expect_outcome(LEDGER_WRITE_DONE);
        cr_assert_eq(rename(away, state), 0);
}

/* Whoever comes with what nobody had puts it back at once. */
Test(nobodys, what_stands_in_goes_when_the_other_comes) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(now(), own);
        _cleanup_(ledger_freep) Ledger *after = NULL;

        digest_memory_set(coordinator->digests, "b", own);
        ledger_stand_in(ledger, "other", now());
        ledger_stand_in(ledger, "a third", now());
        cr_expect_str_eq(ledger->instead_of, own);
        know_ledger(g_steal_pointer(&ledger));
        expect_writes();
        expect_outcome(LEDGER_WRITE_DONE);
        after = there();
        cr_expect_str_eq(after->digest, own);
        cr_expect_null(after->instead_of);
}

/* ... unless it cannot run the job: those that can would differ again. */
Test(in_force, what_stands_in_stays_where_the_other_cannot_be_run) {
        Ledger *ledger = ledger_new(now(), own);

        digest_memory_set(coordinator->digests, "b", own);
        ledger_stand_in(ledger, "other", now());
        know_ledger(ledger);
        cr_expect_eq(in_force_check(in_force, spec, true), IN_FORCE_DRIFTED);
}

/* ---- what was sent, and nobody said whether it was written ---- */

/* What this node sent once, on that version of the ledger. */
static void remember_sent(const char *remembered, const char *digest, int32_t version) {
        digest_memory_set(coordinator->digests, "b", remembered);
        (void)digest_memory_set_sent(coordinator->digests, "b", digest, version);
}

static bool remembers_sent(void) {
        DigestSent sent;

        return digest_memory_get_sent(coordinator->digests, "b", &sent);
}

/* Our file is what it was before we sent it. */
Test(in_force, what_we_sent_and_took_back_is_ours_to_change) {
        DigestSent sent;

        remember_sent(own, "sent", 0);
        know("sent", "every 300d", now());
        cr_expect_eq(in_force_check(in_force, spec, true), IN_FORCE_REMEMBERS);
        cr_expect_str_eq(digest_memory_get(coordinator->digests, "b"), "sent");
        cr_assert(digest_memory_get_sent(coordinator->digests, "b", &sent));
        cr_expect_str_eq(sent.digest, own);
        cr_expect_eq(sent.version, server_node(PATH)->stat.version);
        await(is_remembered, "it is remembered");
        cr_expect_eq(in_force_check(in_force, spec, true), IN_FORCE_WRITES);
        expect_outcome(LEDGER_WRITE_DONE);
        cr_expect_str_eq(digest_memory_get(coordinator->digests, "b"), own);
        cr_expect_not(remembers_sent());
}

Test(in_force, what_we_sent_and_have_is_settled) {
        remember_sent("older", own, 0);
        know(own, "every 10s", now());
        cr_expect_eq(in_force_check(in_force, spec, true), IN_FORCE_OURS);
        cr_expect_not(remembers_sent());
}

/* It may still come, until somebody wrote something else. Another node may send the same one day.
 */
Test(in_force, what_we_sent_is_forgotten_once_it_cannot_come_any_more) {
        know("other", "every 300d", now());
        remember_sent(own, "sent", server_node(PATH)->stat.version);
        cr_expect_eq(in_force_check(in_force, spec, true), IN_FORCE_DRIFTED);
        cr_expect(remembers_sent());
        know("other", "every 300d", now());
        cr_expect_eq(in_force_check(in_force, spec, true), IN_FORCE_DRIFTED);
        cr_expect_not(remembers_sent());
        know("sent", "every 300d", now());
        cr_expect_eq(in_force_check(in_force, spec, true), IN_FORCE_DRIFTED);
}

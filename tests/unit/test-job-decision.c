/* What is due of a job for this node, by itself, on top of a whole daemon (daemon-fixture.h): by
 * its rank, by where it stands already, and by how long a run of another node has been in the way.
 * What a rank does about a tick is decided elsewhere (test-decision.c). */
#include "job-decision.h"

#include "daemon-fixture.h"
#include "diagnostics.h"
#include "job-file.h"
#include "job-table.h"
#include "ledger-fixture.h"
#include "placement.h"

#define ROOT "/jobkeeper"
#define HOUR INT64_C(3600)
#define MONTH (HOUR * 24 * 30)

static JobDecision *decision;
static JobFile *file;
static int64_t tick; /* the newest that is due */

/* The daemon's own job of this name has no schedule, and waits. */
static bool is_idle(void) {
        return node_is_ready(coordinator->node) &&
               scheduled_job_state(job_table_find(coordinator->jobs, "a")) == JOB_IDLE;
}

static void setup_decision(void) {
        JobDecisionParts parts;

        setup();
        write_job("    exec: [/bin/true]\n");
        open_daemon();
        await(is_idle, "idle");
        parts = (JobDecisionParts){coordinator->node, coordinator->tree, coordinator->store.ledgers,
                                   coordinator->ranks};
        decision = job_decision_new(&parts, "a");
        tick = (int64_t)(clock_realtime() / USEC_PER_SEC) / HOUR * HOUR;
}

static void teardown_decision(void) {
        decision = job_decision_free(decision);
        file = job_file_free(file);
        teardown();
}

TestSuite(job_decision, .init = setup_decision, .fini = teardown_decision);

/* Return: the job with these further keys; until it is asked again. */
static const JobSpec *job_with(const char *keys) {
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        g_autofree char *text = g_strdup_printf("jobs: {a: {exec: [/bin/true]%s}}", keys);

        file = job_file_free(file);
        cr_assert_eq(job_file_parse("f", text, strlen(text), diagnostics, &file), 0, "%s", text);
        return file->jobs->pdata[0];
}

static const JobSpec *hourly(void) {
        return job_with(", every: 1h, start-deadline: 3h");
}

/* The ledger, of which all up to an hour before the newest tick is settled, has these entries. */
static void know(const char *entries) {
        ledger_cache_set(coordinator->store.ledgers, "a",
                         ledger_of(tick - HOUR, tick - 2 * HOUR, entries), 0);
}

/* A run of the newest tick. */
static void know_claimed_by(const char *node) {
        g_autofree char *entry =
            g_strdup_printf("{'run':'%" G_GINT64_FORMAT
                            "-1','state':'claimed','tick':%" G_GINT64_FORMAT ",'node':'%s'}",
                            tick, tick, node);

        know(entry);
}

static bool are_two(void) {
        return members_list(coordinator->members)->len == 2;
}

/* Another node is there that is before this one. */
static void add_better_node(void) {
        for (unsigned i = 0;; i++) {
                g_autofree char *name = g_strdup_printf("p%u", i),
                                *path = g_strconcat(ROOT "/nodes/", name, NULL);

                if (placement_score("a", name) < placement_score("a", "n1"))
                        continue;
                server_write(path, "{\"machine\":\"m\",\"boot\":\"b\"}");
                break;
        }
        await(are_two, "two members");
}

/* ---- by rank ---- */

Test(job_decision, the_first_rank_runs_what_is_due) {
        Decision found;

        know("");
        found = job_decide(decision, hourly(), false);
        cr_expect_eq(found.verdict, DECISION_RUN);
        cr_expect_eq(found.tick, tick);
}

Test(job_decision, what_is_delayed_is_due_at_its_start) {
        const JobSpec *spec = job_with(", every: 30d, random-delay: 1d");
        int64_t next = (tick / MONTH + 1) * MONTH, start;
        Decision found;

        ledger_cache_set(coordinator->store.ledgers, "a", ledger_of(next - 1, 0, ""), 0);
        start = job_spec_start(spec, next);
        cr_assert(start > next && start < next + 24 * HOUR);
        found = job_decide(decision, spec, false);
        cr_expect_eq(found.verdict, DECISION_NOTHING);
        cr_expect_eq(found.again, (usec_t)start * USEC_PER_SEC);
}

Test(job_decision, nothing_is_ever_due_without_a_schedule) {
        Decision found;

        know("");
        found = job_decide(decision, job_with(""), false);
        cr_expect_eq(found.verdict, DECISION_NOTHING);
        cr_expect_eq(found.n_skips, 0);
        cr_expect_eq(found.again, USEC_INFINITY);
}

/* ... but who stands in the queues had its turn, whoever came since. */
Test(job_decision, a_later_rank_waits_for_its_turn) {
        Decision found;

        coordinator->config->takeover_delay = 10 * USEC_PER_HOUR;
        add_better_node();
        know("");
        found = job_decide(decision, hourly(), false);
        cr_expect_eq(found.verdict, DECISION_NOTHING);
        cr_expect_eq(found.again, (usec_t)(tick + 10 * HOUR) * USEC_PER_SEC);
        found = job_decide(decision, hourly(), true);
        cr_expect_eq(found.verdict, DECISION_RUN);
        cr_expect_eq(found.tick, tick);
}

Test(job_decision, where_no_member_can_run_it_nobody_does) {
        const JobSpec *spec = job_with(", every: 1h, start-deadline: 3h, nodes: [elsewhere]");
        Decision found;

        know("");
        cr_expect(job_decision_has_no_node(decision, spec));
        found = job_decide(decision, spec, false);
        cr_expect_neq(found.verdict, DECISION_RUN);
        found = job_decide(decision, spec, true);
        cr_expect_eq(found.verdict, DECISION_RUN, "whoever stands in the queues is a node");
        coordinator->node->session_phase = 0;
        cr_expect_not(job_decision_has_no_node(decision, spec), "nobody knows who is there");
}

Test(job_decision, a_job_that_some_node_can_run_has_one) {
        cr_expect_not(job_decision_has_no_node(decision, hourly()));
}

/* ---- what is claimed ---- */

Test(job_decision, what_is_claimed_is_run_by_whoever_claimed_it) {
        cr_expect_not(job_decision_is_running_here(decision), "nothing is known");
        know("");
        cr_expect_not(job_decision_is_running_here(decision));
        know_claimed_by("n2");
        cr_expect_not(job_decision_is_running_here(decision));
        know_claimed_by("n1");
        cr_expect(job_decision_is_running_here(decision));
}

/* ---- what is in the way ---- */

static usec_t whole_patience(void) {
        return coordinator->config->session_timeout + 2 * coordinator->config->tick_time;
}

/* A run of an earlier tick, by another node. */
static const LedgerEntry *block(const char *run) {
        g_autofree char *entry = g_strdup_printf(
            "{'run':'%s','state':'claimed','tick':%" G_GINT64_FORMAT ",'node':'n2'}", run,
            tick - HOUR);
        Decision found;

        ledger_cache_set(coordinator->store.ledgers, "a",
                         ledger_of(tick - 2 * HOUR, tick - 3 * HOUR, entry), 0);
        found = job_decide(decision, hourly(), false);
        cr_assert_eq(found.verdict, DECISION_BLOCKED);
        cr_assert_eq(found.n_skips, 0);
        return found.blocker;
}

/* However often that is asked. */
Test(job_decision, a_run_is_waited_for_as_long_as_its_node_may_live) {
        const LedgerEntry *blocker = block("1000-1");
        usec_t left = job_decision_wait_for(decision, blocker);

        cr_expect(left <= whole_patience() && left > whole_patience() - USEC_PER_SEC);
        serve_for(100 * USEC_PER_MSEC);
        cr_expect_leq(job_decision_wait_for(decision, blocker), left - 100 * USEC_PER_MSEC,
                      "it stands there since");
        blocker = block("2000-1");
        cr_expect_gt(job_decision_wait_for(decision, blocker), left - 100 * USEC_PER_MSEC,
                     "another one does not");
}

Test(job_decision, after_that_a_tick_that_it_keeps_is_skipped) {
        const LedgerEntry *blocker = block("1000-1");
        Decision found;

        coordinator->config->session_timeout = coordinator->config->tick_time = 0;
        found = job_decide(decision, hourly(), false);
        cr_expect_eq(found.n_skips, 0, "it was not waited for yet");
        cr_expect_eq(job_decision_wait_for(decision, blocker), 0);
        found = job_decide(decision, hourly(), false);
        cr_assert_eq(found.n_skips, 1);
        cr_expect_eq(found.skips[0].from, tick);
        cr_expect(decision_is_overlap(found.skips[0].why), "%s", found.skips[0].why.text);
        job_decision_reset(decision); /* the session that it was seen in is gone */
        found = job_decide(decision, hourly(), false);
        cr_expect_eq(found.n_skips, 0);
        cr_expect_null(job_decision_free(NULL));
}

/* Definitions that change, and clocks that are not known yet, in a whole daemon
 * (daemon-fixture.h). */
#include <unistd.h>

#include "daemon-fixture.h"
#include "fitness.h"
#include "job-table.h"
#include "journal.h"
#include "ledger-cache.h"
#include "placement.h"
#include "ranks.h"
#include "runs.h"
#include "unit-spec.h"
#include "withdrawal.h"

#define LEDGER_PATH "/jobkeeper/jobs/a"
#define BLOCKER "/jobkeeper/locks/r/_c_00000000-0000-0000-0000-000000000000-__WRIT__0000000000"
#define DAY INT64_C(86400)

TestSuite(scheduled_job, .init = setup, .fini = teardown);

static Ledger *ledger_there(void) {
        const ServerNode *node = server_node(LEDGER_PATH);
        Ledger *ledger = NULL;

        if (node)
                cr_assert_eq(ledger_decode(node->data, strlen(node->data), &ledger), 0);
        return ledger;
}

static bool is_idle(void) {
        ScheduledJob *job = job_table_find(coordinator->jobs, "a");

        return node_is_ready(coordinator->node) && scheduled_job_state(job) == JOB_IDLE;
}

static bool is_claiming(void) {
        return server.held;
}

static bool has_started(void) {
        return started->len > 0;
}

static int64_t now(void) {
        return (int64_t)(clock_realtime() / USEC_PER_SEC);
}

/* ---- tests ---- */

/* The locks that were claimed with are the old definition's, and so is what runs under them. */
Test(scheduled_job, what_starts_is_what_was_claimed) {
        write_job("    every: 1s\n    exec: [/bin/true, old]\n");
        server.hold_claims = true;
        open_daemon();
        await(is_claiming, "a claim");
        write_job("    every: 1s\n    exec: [/bin/true, new]\n    locks: {other: exclusive}\n");
        coordinator_reload(coordinator);
        server.hold_claims = false;
        server_release();
        await(has_started, "a start");
        cr_expect_str_eq(started->pdata[0], "/bin/true old");
}

static bool new_one_is_in_force(void) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_there();

        return strstr(ledger->schedule, "every 1h");
}

/* Nothing else happens for a day that would have it read the ledger. */
Test(scheduled_job, a_change_during_a_claim_takes_effect_after_it) {
        write_job("    every: 1s\n    exec: [/bin/true, old]\n");
        server.hold_claims = true;
        open_daemon();
        await(is_claiming, "a claim");
        write_job("    every: 1h\n    exec: [/bin/true, new]\n");
        coordinator_reload(coordinator);
        server_release();
        await(new_one_is_in_force, "the new definition");
}

static char *skip_of(int64_t tick) {
        g_autofree char *path = g_strdup_printf(LEDGER_PATH "/runs/%" G_GINT64_FORMAT "-0", tick);
        const ServerNode *node = server_node(path);

        return g_strdup(node ? node->data : "");
}

/* Another program holds what the job needs, so its tick waits, 2 s from now. */
static void write_job_that_waits(int64_t tick, const char *exec, const char *more) {
        g_autofree char *keys = NULL;
        g_autoptr(GDateTime) when = g_date_time_new_from_unix_utc(tick);
        g_autofree char *text = g_date_time_format(when, "%Y-%m-%d %H:%M:%S");

        keys = g_strdup_printf("    schedule: \"%s\"\n    exec: [%s]\n"
                               "    locks: {r: exclusive}\n    lock-wait: 4h\n%s",
                               text, exec, more);
        write_job(keys);
}

static void take_the_resource(void) {
        server_create("/jobkeeper", "", 0);
        server_create("/jobkeeper/locks", "", 0);
        server_create("/jobkeeper/locks/r", "", 0);
        server_create(BLOCKER, "", 99);
}

static int64_t tick_that_waits(void) {
        int64_t tick = now() + 2;

        take_the_resource();
        write_job_that_waits(tick, "/bin/true", "");
        open_daemon();
        await(is_idle, "idle");
        return tick;
}

static bool is_waiting(void) {
        ScheduledJob *job = job_table_find(coordinator->jobs, "a");

        return scheduled_job_state(job) == JOB_WAITING;
}

static int64_t deadline_to_pass;

static bool deadline_has_passed(void) {
        return clock_realtime() > (usec_t)deadline_to_pass * USEC_PER_SEC + USEC_PER_SEC / 10;
}

/* What stands in the way is gone. */
static void free_the_resource(void) {
        static const ZkOp op = {.type = ZK_OP_DELETE, .path = BLOCKER, .version = -1};
        g_autofree ZkOpResult *results = NULL;

        cr_assert_eq(server_transact(&op, 1, 0, &results), ZK_OK);
}

/* Return: what people are told that the job waits for. */
static const char *why_waiting(void) {
        g_autofree char *why = scheduled_job_why(job_table_find(coordinator->jobs, "a"));

        return g_intern_string(why);
}

Test(scheduled_job, what_a_tick_waits_for_is_said) {
        int64_t tick = tick_that_waits();
        g_autofree char *text = tick_to_rfc3339(tick),
                        *wanted =
                            g_strdup_printf("its tick %s waits for the lock r (1 before it)", text);

        await(is_waiting, "it waits");
        serve_for(100 * USEC_PER_MSEC);
        cr_expect_str_eq(why_waiting(), wanted);
        free_the_resource();
        await(has_started, "it runs");
        cr_expect_str_eq(why_waiting(), "");
}

/* The others do not know yet that we have it again; we do. */
Test(scheduled_job, a_job_whose_file_is_put_back_lacks_no_node) {
        write_job("    every: 300d\n    exec: [/bin/true]\n");
        open_daemon();
        await(is_idle, "idle");
        tree_delete(root, "etc/jobkeeper/jobs.d/a.yaml");
        reload();
        serve_for(300 * USEC_PER_MSEC);
        write_job("    every: 300d\n    exec: [/bin/true]\n");
        reload();
        for (unsigned i = 0; i < 100; i++) {
                cr_assert_neq(scheduled_job_state(job_table_find(coordinator->jobs, "a")),
                              JOB_NO_NODE, "turn %u", i);
                turn();
        }
        cr_expect(
            journal_has("the job was about to be withdrawn, but this node has it: it stays in "
                        "force"));
}

/* A tick whose start deadline has passed while it waits. */
static int64_t tick_that_waits_long(void) {
        int64_t tick = now() + 2;

        take_the_resource();
        write_job_that_waits(tick, "/bin/true, old", "    start-deadline: 2s\n");
        open_daemon();
        await(is_waiting, "it waits");
        deadline_to_pass = tick + 2;
        await(deadline_has_passed, "the start deadline");
        cr_assert(is_waiting());
        return tick;
}

static unsigned asked_of_jobs; /* requests for what stands under a job or in a queue */

static ServerWay count_asked(const ZkCall *call) {
        asked_of_jobs += strstr(call->path, "/jobs/") || strstr(call->path, "/locks/");
        return SERVER_ANSWER;
}

Test(scheduled_job, a_reload_that_changes_nothing_ends_no_wait) {
        int64_t tick = tick_that_waits_long();
        g_autofree char *skip = NULL;

        serve_for(100 * USEC_PER_MSEC);
        asked_of_jobs = 0;
        server.way = count_asked;
        reload();
        cr_expect_eq(asked_of_jobs, 0, "%u requests", asked_of_jobs);
        cr_expect(is_waiting());
        /* The machine has not been looked at again yet. */
        free_the_resource();
        await(has_started, "a start");
        skip = skip_of(tick);
        cr_expect_str_eq(skip, "");
}

static bool is_twice_in_line(void) {
        return server_count("/jobkeeper/locks/job:a") == 2;
}

static bool is_once_in_line(void) {
        return server_count("/jobkeeper/locks/job:a") == 1;
}

/* ... nor does a restart: the process before this one left its contender where it stood. */
Test(scheduled_job, a_restart_ends_no_wait) {
        int64_t tick = tick_that_waits_long();
        g_autofree char *skip = NULL;

        close_daemon();
        server_forget_watches();
        open_daemon_again();
        await(is_twice_in_line, "it waits again, beside the old contender");
        await(is_once_in_line, "the old contender is gone");
        cr_expect(is_waiting());
        free_the_resource();
        await(has_started, "a start");
        skip = skip_of(tick);
        cr_expect_str_eq(skip, "");
}

static bool has_new_label(void) {
        return strstr(server_data("/jobkeeper/nodes/n1"), "worker");
}

/* The node of the process before this one stands there in the same session. */
Test(scheduled_job, a_restart_publishes_what_changed) {
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon();
        await(is_idle, "idle");
        close_daemon();
        server_forget_watches();
        tree_write(root, "jobkeeper.yaml",
                   "node: {name: n1, labels: {role: worker}}\ntakeover-delay: 100ms\n");
        open_daemon_again();
        await(has_new_label, "the new label");
}

static bool both_are_there(void) {
        return node_is_ready(coordinator->node) && server_count("/jobkeeper/jobs") == 2;
}

/* ... nor does it ask over and over while max-runs leaves it no place. */
Test(scheduled_job, what_waits_for_a_place_after_a_restart_is_quiet) {
        int64_t tick = now() + 3;
        g_autoptr(GDateTime) when = g_date_time_new_from_unix_utc(tick);
        g_autofree char *text = g_date_time_format(when, "%Y-%m-%d %H:%M:%S"),
                        *keys = g_strdup_printf("    schedule: \"%s\"\n    exec: [/bin/true, b]\n",
                                                text);
        unsigned reads;

        take_the_resource();
        tree_write(root, "jobkeeper.yaml",
                   "node: {name: n1}\ntakeover-delay: 100ms\nmax-runs: 2\n");
        write_job_that_waits(tick, "/bin/true", "    start-deadline: 2s\n");
        write_job_named("b", keys);
        open_daemon();
        await(both_are_there, "both ledgers");
        await(has_started, "the other one runs");
        deadline_to_pass = tick + 2;
        await(deadline_has_passed, "the start deadline");
        cr_assert(is_waiting());
        close_daemon();
        server_forget_watches();
        tree_write(root, "jobkeeper.yaml",
                   "node: {name: n1}\ntakeover-delay: 100ms\nmax-runs: 1\n");
        open_daemon_again();
        await(is_waiting, "it waits again");
        serve_for(USEC_PER_SEC);
        reads = server.reads;
        serve_for(2 * USEC_PER_SEC);
        cr_expect_lt(server.reads - reads, 20, "%u reads", server.reads - reads);
        cr_expect(is_waiting());
}

static bool is_said_to_be_gone(void) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_there();

        return ledger->withdrawn > 0 || !*ledger->digest;
}

/* Until then it is not known whether a broken file has it. */
Test(scheduled_job, what_was_removed_beside_a_broken_file_is_withdrawn_once_that_is_mended) {
        static const char keys[] = "    every: 1h\n    exec: [/bin/true]\n";
        g_autofree char *file = tree_path(root, "etc/jobkeeper/jobs.d/a.yaml");

        write_job(keys);
        write_job_named("b", keys);
        open_daemon();
        await(both_are_there, "both ledgers");
        serve_for(200 * USEC_PER_MSEC);
        write_job_named("b", "    nonsense: 1\n");
        cr_assert_eq(unlink(file), 0);
        reload();
        serve_for(200 * USEC_PER_MSEC);
        cr_assert_not(is_said_to_be_gone());
        write_job_named("b", keys);
        reload();
        await(is_said_to_be_gone, "it is withdrawn");
}

static bool is_settled(void) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_there();

        return ledger->last && run_state_is_final(ledger->last->state);
}

/* What makes of SIGTERM an exit status of 0 has not succeeded, whoever reads that. */
Test(scheduled_job, what_was_being_stopped_at_a_restart_has_not_succeeded) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        Service *service;

        write_job("    every: 2s\n    exec: [/bin/true]\n");
        open_daemon();
        await(has_started, "a start");
        serve_for(100 * USEC_PER_MSEC);
        service = service_newest();
        service_manager.deaf = true;
        runs_stop_all(coordinator->runs, "ZooKeeper did not answer");
        cr_assert_eq(service->stops, 1);
        close_daemon();
        server_forget_watches();
        service->result.stop = UNIT_STOP_NONE; /* which the next process does not know */
        open_daemon_again();
        serve_for(500 * USEC_PER_MSEC);
        service_exit(service, 0);
        await(is_settled, "it is settled");
        ledger = ledger_there();
        cr_expect_eq(ledger->last->state, RUN_INTERRUPTED, "%u", ledger->last->state);
}

/* Five nodes come that are all before this one. */
static void add_better_nodes(void) {
        for (unsigned i = 0, n = 0; n < 5; i++) {
                g_autofree char *name = g_strdup_printf("p%u", i),
                                *path = g_strconcat("/jobkeeper/nodes/", name, NULL);

                if (placement_score("a", name) < placement_score("a", "n1"))
                        continue;
                server_write(path, "{\"machine\":\"m\",\"boot\":\"b\"}");
                n++;
        }
}

static bool is_far_behind(void) {
        ScheduledJob *job = job_table_find(coordinator->jobs, "a");

        return ranks_of_key(coordinator->ranks, scheduled_job_spec(job), "a") >= PLACEMENT_RANKS;
}

/* Whoever stands in the queue had its turn. */
Test(scheduled_job, nodes_that_come_end_no_wait) {
        int64_t tick = tick_that_waits_long();
        g_autofree char *skip = NULL;

        add_better_nodes();
        await(is_far_behind, "other ranks");
        serve_for(500 * USEC_PER_MSEC);
        cr_expect(is_waiting());
        free_the_resource();
        await(has_started, "a start");
        skip = skip_of(tick);
        cr_expect_str_eq(skip, "");
}

static int64_t tick_to_skip;

static bool is_skipped_as_missed(void) {
        g_autofree char *skip = skip_of(tick_to_skip);

        return strstr(skip, "missed: the start deadline passed");
}

#define OTHER "/jobkeeper/locks/job:a/_c_00000000-0000-0000-0000-000000000001-__WRIT__0000000007"

/* A tick that this node slept through, and whose start deadline has passed by now; another node
 * (`waiter`) stands in the queue for it, or none does. */
static void be_away_past_the_deadline(bool waiter) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        g_autofree char *payload = NULL;
        int64_t tick = now() + 5;

        take_the_resource();
        write_job_that_waits(tick, "/bin/true", "    start-deadline: 2s\n");
        open_daemon();
        await(is_idle, "idle");
        ledger = ledger_there();
        cr_assert_lt(ledger->from, tick, "it is owed");
        close_daemon();
        server_forget_watches();
        server_expire(last_session);
        payload =
            g_strdup_printf("{\"node\":\"n2\",\"job\":\"a\",\"tick\":%" G_GINT64_FORMAT "}", tick);
        server_create("/jobkeeper/locks/job:a", "", 0);
        if (waiter)
                server_create(OTHER, payload, 77);
        deadline_to_pass = tick_to_skip = tick;
        deadline_to_pass += 2;
        while (!deadline_has_passed())
                (void)sd_event_run(event, 10 * USEC_PER_MSEC);
}

static void return_after_the_deadline(bool waiter) {
        be_away_past_the_deadline(waiter);
        open_daemon();
        await(is_idle, "idle");
}

Test(scheduled_job, what_another_node_waits_for_is_not_missed) {
        ScheduledJob *job;

        return_after_the_deadline(true);
        serve_for(1500 * USEC_PER_MSEC);
        cr_expect_not(is_skipped_as_missed());
        server_remove(OTHER);
        job = job_table_find(coordinator->jobs, "a");
        scheduled_job_consider(job); /* for it to be noticed at once */
        await(is_skipped_as_missed, "nobody waits any more");
        cr_expect_eq(started->len, 0);
}

/* start-deadline bounds when queueing may begin, however long lock-wait is. */
Test(scheduled_job, what_nobody_waits_for_is_missed_at_its_deadline) {
        return_after_the_deadline(false);
        await(is_skipped_as_missed, "it is missed");
        cr_expect_eq(started->len, 0);
}

static bool is_ready_and_unchecked(void) {
        ScheduledJob *job = job_table_find(coordinator->jobs, "a");

        fitness_forget(coordinator->fitness, "a");
        fitness_ask(coordinator->fitness, scheduled_job_spec(job), coordinator->config);
        return node_is_ready(coordinator->node);
}

/* That this node has not checked yet whether it can run a job says nothing of whether any can. */
Test(scheduled_job, what_is_not_checked_yet_is_not_what_no_node_can_run) {
        g_autofree char *skip = NULL;

        be_away_past_the_deadline(false);
        open_daemon();
        await(is_ready_and_unchecked, "ready; each time the check begins anew");
        for (unsigned turns = 0; turns < 200; turns++) {
                (void)is_ready_and_unchecked();
                turn();
        }
        skip = skip_of(tick_to_skip);
        cr_expect_str_empty(skip);
        await(is_skipped_as_missed, "it is missed once it was checked");
        cr_expect_eq(started->len, 0);
}

Test(scheduled_job, what_waits_runs_as_the_file_says_by_then) {
        int64_t tick = tick_that_waits_long();

        write_job_that_waits(tick, "/bin/true, new", "    start-deadline: 2s\n");
        reload();
        cr_expect(is_waiting());
        serve_for(USEC_PER_SEC);
        free_the_resource();
        await(has_started, "a start");
        cr_expect_str_eq(started->pdata[0], "/bin/true new");
}

Test(scheduled_job, a_tick_that_waits_while_its_schedule_changes_is_skipped) {
        int64_t tick = tick_that_waits();
        g_autofree char *skip = NULL;

        await(is_waiting, "it waits");
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        coordinator_reload(coordinator);
        await(new_one_is_in_force, "the new definition");
        skip = skip_of(tick);
        cr_expect_not_null(strstr(skip, "its definition changed while it waited"), "%s", skip);
        cr_expect_eq(started->len, 0);
}

/* The one before this process knew the old schedule; this one has it from the ledger. */
Test(scheduled_job, also_when_the_daemon_was_restarted_for_it) {
        int64_t tick = tick_that_waits();
        g_autofree char *skip = NULL;

        await(is_waiting, "it waits");
        close_daemon();
        server_forget_watches();
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon();
        await(new_one_is_in_force, "the new definition");
        skip = skip_of(tick);
        cr_expect_not_null(strstr(skip, "its definition changed while it waited"), "%s", skip);
}

static bool is_skewed(void) {
        return clock_skew_exceeds(&coordinator->node->skew, 2 * USEC_PER_SEC);
}

/* A restart, with a clock that is a day ahead. The session is the old process's, so the node's
 * registration writes nothing that would measure it. */
static void restart_a_day_ahead(void) {
        ServerNode *member = server_node("/jobkeeper/nodes/n1");

        close_daemon();
        cr_assert_not_null(member);
        member->stat.ephemeral_owner = last_session + 1;
        server_forget_watches();
        server.clock = -DAY * (int64_t)USEC_PER_SEC;
        open_daemon();
        await(is_skewed, "it is noticed");
        serve_for(2 * USEC_PER_SEC);
}

static unsigned contenders_made;

static ServerWay count_contenders(const ZkCall *call) {
        contenders_made += call->request == REQUEST_CREATE && strstr(call->path, "/locks/job:a/");
        return SERVER_ANSWER;
}

static bool has_started_again(void) {
        return started->len > 1;
}

/* Nothing could be claimed before it is back, and by then it may be for another node. */
Test(scheduled_job, nothing_queues_while_the_connection_is_broken) {
        write_job("    every: 1s\n    exec: [/bin/true]\n");
        server.way = count_contenders;
        open_daemon();
        await(has_started, "a start");
        cr_assert_geq(contenders_made, 1);
        service_exit(service_newest(), 0);
        await(is_settled, "it is settled");
        port_tell(ports->pdata[0], ZK_STATE_SUSPENDED);
        contenders_made = 0;
        serve_for(2500 * USEC_PER_MSEC);
        cr_expect_eq(contenders_made, 0, "%u contenders", contenders_made);
        port_tell(ports->pdata[0], ZK_STATE_CONNECTED);
        await(has_started_again, "the next tick, once it is back");
}

Test(scheduled_job, a_clock_that_was_not_measured_puts_nothing_in_force) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon();
        await(is_idle, "idle");
        write_job("    every: 2h\n    exec: [/bin/true]\n");
        restart_a_day_ahead();
        ledger = ledger_there();
        cr_expect_str_eq(ledger->schedule, "every 1h");
}

Test(scheduled_job, a_clock_that_was_not_measured_makes_no_ledger) {
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon();
        await(is_idle, "idle");
        server_remove(LEDGER_PATH);
        restart_a_day_ahead();
        cr_expect_null(server_node(LEDGER_PATH));
}

static bool is_in_force_again(void) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_there();

        return *ledger->digest && !ledger->withdrawn;
}

/* Another node's file lost it: ours has it, unchanged, and waits on. */
Test(scheduled_job, a_tick_that_waits_here_outlives_a_withdrawal_elsewhere) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        g_autofree char *data = NULL, *skip = NULL;
        ZkOp op = {.type = ZK_OP_SET, .path = LEDGER_PATH, .version = -1};
        g_autofree ZkOpResult *results = NULL;
        int64_t tick = tick_that_waits();

        await(is_waiting, "it waits");
        serve_for(USEC_PER_SEC);
        ledger = ledger_there();
        ledger_withdraw(ledger, now());
        data = ledger_encode(ledger);
        op.data = data;
        cr_assert_eq(server_transact(&op, 1, 0, &results), ZK_OK);
        await(is_in_force_again, "it is in force again");
        cr_expect(is_waiting());
        free_the_resource();
        await(has_started, "a start");
        skip = skip_of(tick);
        cr_expect_str_eq(skip, "");
}

/* Another node puts this definition in force. */
static void set_ledger_digest(const char *digest) {
        ScheduledJob *job = job_table_find(coordinator->jobs, "a");
        _cleanup_(ledger_freep) Ledger *ledger = ledger_there();
        g_autofree char *data = NULL;
        ZkOp op = {.type = ZK_OP_SET, .path = LEDGER_PATH, .version = -1};
        g_autofree ZkOpResult *results = NULL;

        g_free(ledger->digest);
        ledger->digest = g_strdup(digest);
        data = ledger_encode(ledger);
        op.data = data;
        cr_assert_eq(server_transact(&op, 1, 0, &results), ZK_OK);
        ledger_cache_forget(coordinator->store.ledgers, "a"); /* for it to be noticed at once */
        scheduled_job_consider(job);
}

static bool says(const char *text) {
        return strstr(server_node("/jobkeeper/nodes/n1")->data, text);
}

static bool is_unfit(void) {
        return server_node(LEDGER_PATH) && says("/nonexistent does not exist");
}

static bool is_drifted_and_unfit(void) {
        return says("\"drifted\":[\"a\"]") && is_unfit();
}

static bool is_not_drifted(void) {
        return says("\"drifted\":[]");
}

Test(scheduled_job, what_a_drifted_node_lacks_it_lacks_afterwards) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        write_job("    every: 1h\n    exec: [/nonexistent]\n");
        open_daemon();
        await(is_unfit, "unfit");
        ledger = ledger_there();
        set_ledger_digest("other");
        await(is_drifted_and_unfit, "drifted and unfit");
        set_ledger_digest(ledger->digest);
        await(is_not_drifted, "not drifted any more");
        serve_for(USEC_PER_SEC);
        cr_expect(is_not_drifted() && is_unfit());
}

/* The last node that had it loses it, and gives the others no time to say that they have it. */
static void withdraw(void) {
        coordinator->config->session_timeout = coordinator->config->tick_time = 0;
        tree_delete(root, "etc/jobkeeper/jobs.d/a.yaml");
        coordinator_reload(coordinator);
}

static bool is_withdrawn_for_good(void) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_there();

        return !*ledger->digest && !ledger->withdrawn &&
               withdrawals_size(coordinator->withdrawals) == 0;
}

Test(scheduled_job, a_tick_that_waits_while_its_job_goes_is_skipped) {
        int64_t tick = tick_that_waits();
        g_autofree char *skip = NULL;

        await(is_waiting, "it waits");
        withdraw();
        await(is_withdrawn_for_good, "it is withdrawn");
        skip = skip_of(tick);
        cr_expect_not_null(strstr(skip, "its job left the job files while it waited"), "%s", skip);
        /* Added again, it begins now. */
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        coordinator_reload(coordinator);
        await(new_one_is_in_force, "the new definition");
        cr_expect_eq(started->len, 0);
}

static bool is_withdrawn(void) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_there();

        return ledger->withdrawn;
}

static bool is_no_candidate(void) {
        return says("\"absent\":[\"a\"]") && says("\"unfit\":{}");
}

/* Whoever else has it looks at it then; until then nothing shows that nobody does. */
Test(scheduled_job, a_job_without_a_tick_that_waits_is_in_force_until_the_next_one) {
        _cleanup_(ledger_freep) Ledger *before = NULL, *after = NULL;

        write_job("    every: 300d\n    exec: [/bin/true]\n");
        open_daemon();
        await(is_idle, "idle");
        before = ledger_there();
        withdraw();
        await(is_withdrawn, "it is said");
        await(is_no_candidate, "nobody waits for this node");
        serve_for(3 * USEC_PER_SEC);
        after = ledger_there();
        cr_expect(after->withdrawn);
        cr_expect_str_eq(after->digest, before->digest);
        cr_expect_eq(after->from, before->from);
}

static ServerWay keep_open_runs(const ZkCall *call) {
        return call->request == REQUEST_LIST && strcmp(call->path, "/jobkeeper/open/n1") == 0
                   ? SERVER_KEEP
                   : SERVER_ANSWER;
}

static bool looks_for_open_runs(void) {
        return g_queue_get_length(&server.kept) > 0;
}

/* The others do not wait for this node at each of its ticks. By the time at which it is known that
 * the job is gone, all else that it says of itself has long been said. */
Test(scheduled_job, what_left_the_files_while_there_was_no_daemon_is_said_to_be_absent) {
        write_job("    every: 300d\n    exec: [/bin/true]\n");
        open_daemon();
        await(is_idle, "idle");
        close_daemon();
        tree_delete(root, "etc/jobkeeper/jobs.d/a.yaml");
        server.way = keep_open_runs;
        open_daemon_again();
        await(looks_for_open_runs, "it looks for what the process before it left");
        serve_for(100 * USEC_PER_MSEC);
        server.way = NULL;
        server_release();
        await(is_no_candidate, "it is said");
}

/* Somebody deleted the ledger once, and left its records. */
Test(scheduled_job, a_withdrawal_is_not_held_up_by_a_record_that_exists) {
        int64_t tick = tick_that_waits();
        g_autofree char *path = g_strdup_printf(LEDGER_PATH "/runs/%" G_GINT64_FORMAT "-0", tick);

        await(is_waiting, "it waits");
        server_create(path, "old", 0);
        withdraw();
        await(is_withdrawn_for_good, "it is withdrawn");
}

/* It is added again before the others had their time. */
Test(scheduled_job, what_comes_back_at_once_is_put_in_force_anew) {
        int64_t tick = tick_that_waits();
        g_autofree char *skip = NULL;

        await(is_waiting, "it waits");
        tree_delete(root, "etc/jobkeeper/jobs.d/a.yaml");
        coordinator_reload(coordinator);
        serve_for(USEC_PER_SEC);
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        coordinator_reload(coordinator);
        await(new_one_is_in_force, "the new definition");
        skip = skip_of(tick);
        cr_expect_not_null(strstr(skip, "its definition changed while it waited"), "%s", skip);
}

/* A job that this node does not have, so that it is for others to run it. */
Test(scheduled_job, a_clock_that_was_not_measured_expires_no_request) {
        g_autofree char *request = g_strdup_printf(
            "{\"job\":\"b\",\"who\":\"\",\"not_after\":%" G_GINT64_FORMAT "}", now() - DAY + 3600);

        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon();
        await(is_idle, "idle");
        server_create("/jobkeeper/requests/1-m1", request, 0);
        restart_a_day_ahead();
        cr_expect_not_null(server_node("/jobkeeper/requests/1-m1"));
}

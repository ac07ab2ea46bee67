/* max-runs in a whole daemon (daemon-fixture.h): what many due jobs cost, and who comes first. */
#include "daemon-fixture.h"
#include "gate.h"
#include "job-table.h"
#include "ledger.h"
#include "placement.h"
#include "runs.h"

#define JOBS 500
#define WRITES_PER_RUN 3 /* queue, claim, settle */

TestSuite(max_runs, .init = setup, .fini = teardown, .timeout = 110);

static unsigned runs_wanted;

static bool is_ready(void) {
        return node_is_ready(coordinator->node);
}

static bool all_ledgers_are_there(void) {
        return is_ready() && server_count("/jobkeeper/jobs") == job_table_size(coordinator->jobs);
}

static char *calendar_at(int64_t tick) {
        g_autoptr(GDateTime) when = g_date_time_new_from_unix_utc(tick);

        return g_date_time_format(when, "%Y-%m-%d %H:%M:%S");
}

static void write_jobs(unsigned n, int64_t tick, const char *more) {
        g_autofree char *when = calendar_at(tick);
        g_autoptr(GString) text = g_string_new("jobs:\n");

        for (unsigned i = 0; i < n; i++)
                g_string_append_printf(text,
                                       "  j%u:\n    schedule: \"%s\"\n    exec: [/bin/true, j%u]\n"
                                       "    stop-timeout: 1s\n%s",
                                       i, when, i, more);
        tree_write(root, "etc/jobkeeper/jobs.d/a.yaml", text->str);
}

static void allow(unsigned max_runs) {
        g_autofree char *text = g_strdup_printf("node: {name: n1}\ntakeover-delay: 100ms\n"
                                                "max-runs: %u\n",
                                                max_runs);

        tree_write(root, "jobkeeper.yaml", text);
}

static unsigned most_alive;

/* Each run ends as soon as it was looked at. */
static bool all_have_run(void) {
        unsigned alive = services_alive();
        Service *service = service_newest();

        most_alive = MAX(most_alive, alive);
        if (service && service->unit && service->state == SERVICE_RUNNING)
                service_exit(service, 0);
        return started->len >= runs_wanted && runs_count(coordinator->runs) == 0;
}

static void wait_for_runs(unsigned n) {
        usec_t until = clock_monotonic() + 90 * USEC_PER_SEC;

        runs_wanted = n;
        while (!all_have_run() && clock_monotonic() < until)
                turn();
        cr_assert_eq(started->len, n, "%u of %u", started->len, n);
}

/* Counted, not timed: what a run costs does not depend on how many wait for it to end. */
static void request(ScheduledJob *job, const char *id, const char *who, usec_t not_after) {
        scheduled_job_request(
            job, &(ManualRun){.id = (char *)id, .who = (char *)who, .not_after = not_after});
}

Test(max_runs, many_due_jobs_cost_three_writes_a_run) {
        int64_t tick = (int64_t)(clock_realtime() / USEC_PER_SEC) + 8;
        unsigned writes;

        allow(1);
        write_jobs(JOBS, tick, "    start-deadline: 1h\n");
        open_daemon();
        await(all_ledgers_are_there, "the ledgers");
        serve_for(200 * USEC_PER_MSEC);
        for (unsigned i = 0; i < JOBS; i++) { /* of runs before */
                g_autofree char *path = g_strdup_printf("/jobkeeper/locks/job:j%u", i);
                server_create(path, "", 0);
        }
        cr_assert_lt(clock_realtime(), (usec_t)tick * USEC_PER_SEC, "not due yet");
        writes = server.writes;
        wait_for_runs(JOBS);
        cr_expect_eq(most_alive, 1);
        writes = server.writes - writes;
        cr_expect_leq(writes, JOBS * WRITES_PER_RUN + 4, "%u writes for %u runs", writes, JOBS);
        cr_expect_eq(gate_in_line(coordinator->gate), 0);
}

/* "late" is due a second after the others, and its name comes before theirs. */
Test(max_runs, who_is_due_first_runs_first) {
        int64_t tick = (int64_t)(clock_realtime() / USEC_PER_SEC) + 3;
        g_autofree char *late = calendar_at(tick + 1), *keys = NULL;

        allow(1);
        write_jobs(4, tick, "");
        keys = g_strdup_printf("    schedule: \"%s\"\n    exec: [/bin/true, late]\n", late);
        write_job_named("a-late", keys);
        open_daemon();
        await(all_ledgers_are_there, "the ledgers");
        while (clock_realtime() < (usec_t)(tick + 1) * USEC_PER_SEC + USEC_PER_SEC / 2)
                turn();
        cr_assert_eq(started->len, 1);
        wait_for_runs(5);
        cr_expect_str_eq(started->pdata[4], "/bin/true late");
}

Test(max_runs, as_many_run_as_may) {
        int64_t tick = (int64_t)(clock_realtime() / USEC_PER_SEC) + 2;

        allow(3);
        write_jobs(7, tick, "");
        open_daemon();
        await(all_ledgers_are_there, "the ledgers");
        while (clock_realtime() < (usec_t)tick * USEC_PER_SEC + USEC_PER_SEC)
                turn();
        cr_expect_eq(services_alive(), 3);
        for (unsigned i = 0; i < 3; i++)
                service_exit(service_manager.services->pdata[i], 0);
        serve_for(500 * USEC_PER_MSEC);
        cr_expect_eq(services_alive(), 3);
        cr_expect_eq(started->len, 6);
}

static int64_t missed;

static bool is_recorded_as_missed(void) {
        unsigned n = 0;

        for (unsigned i = 0; i < 2; i++) {
                g_autofree char *path =
                    g_strdup_printf("/jobkeeper/jobs/j%u/runs/%" G_GINT64_FORMAT "-0", i, missed);
                n += strstr(server_data(path), "max-runs was reached") != NULL;
        }
        return n == 1;
}

static const char *state_of(const char *name, ScheduledJobState *ret_state) {
        const ScheduledJob *job = job_table_find(coordinator->jobs, name);
        g_autofree char *why = scheduled_job_why(job);

        *ret_state = scheduled_job_state(job);
        return g_intern_string(why);
}

/* No node was free for it in time: it is not forgotten, and it says why. */
Test(max_runs, what_found_no_place_in_time_is_skipped) {
        int64_t tick = (int64_t)(clock_realtime() / USEC_PER_SEC) + 2;
        ScheduledJobState state;
        const char *why;
        bool first;

        allow(1);
        write_jobs(2, tick, "    start-deadline: 2s\n");
        open_daemon();
        await(all_ledgers_are_there, "the ledgers");
        while (clock_realtime() < (usec_t)tick * USEC_PER_SEC + USEC_PER_SEC)
                turn();
        first = strcmp(started->pdata[0], "/bin/true j0") == 0;
        why = state_of(first ? "j1" : "j0", &state);
        cr_expect_eq(state, JOB_WAITING);
        cr_expect_str_eq(why, "max-runs is reached on this node");
        missed = tick;
        await(is_recorded_as_missed, "it is said");
        cr_expect_eq(started->len, 1);
        cr_expect_eq(gate_in_line(coordinator->gate), 0);
}

static bool is_skipped(void) {
        return strstr(server_data("/jobkeeper/jobs/j1/runs/1-m1"), "skipped");
}

/* A person's request stands in the same line. */
Test(max_runs, a_request_waits_in_line_and_is_refused_in_time) {
        int64_t tick = (int64_t)(clock_realtime() / USEC_PER_SEC) + 2;
        ScheduledJob *job;

        allow(1);
        write_jobs(1, tick, "");
        write_job_named("j1", "    exec: [/bin/true, by-hand]\n");
        open_daemon();
        await(all_ledgers_are_there, "the ledgers");
        while (clock_realtime() < (usec_t)tick * USEC_PER_SEC + USEC_PER_SEC / 2)
                turn();
        cr_assert_eq(started->len, 1);
        job = job_table_find(coordinator->jobs, "j1");
        server_create("/jobkeeper/requests/1-m1", "{}", 0);
        request(job, "1-m1", "me", clock_realtime() + USEC_PER_SEC);
        await(is_skipped, "refused");
        cr_expect_eq(started->len, 1);
        server_create("/jobkeeper/requests/2-m1", "{}", 0);
        request(job, "2-m1", "me", clock_realtime() + 60 * USEC_PER_SEC);
        serve_for(300 * USEC_PER_MSEC);
        service_exit(service_newest(), 0);
        runs_wanted = 2;
        await(all_have_run, "it is its turn");
        cr_expect_str_eq(started->pdata[1], "/bin/true by-hand");
}

/* ---- beside other nodes ---- */

#define PEERS 5

static void add_peers(const char *busy) {
        server_create("/jobkeeper", "", 0);
        server_create("/jobkeeper/nodes", "", 0);
        for (unsigned i = 0; i < PEERS; i++) {
                g_autofree char *path = g_strdup_printf("/jobkeeper/nodes/p%u", i);
                g_autofree char *data =
                    g_strdup_printf("{\"node\":\"p%u\",\"machine\":\"m%u\",\"boot\":\"b\","
                                    "\"busy\":\"%s\"}",
                                    i, i, busy);
                server_create(path, data, 99);
        }
}

/* Return: the name of a job for which we have this rank among the peers. */
static char *job_of_rank(uint32_t wanted, const char *besides) {
        static const char *const candidates[] = {"n1", "p0", "p1", "p2", "p3", "p4", NULL};

        for (unsigned i = 0;; i++) {
                g_autofree char *name = g_strdup_printf("j%u", i);
                if (placement_rank(name, candidates, "n1") == wanted &&
                    g_strcmp0(name, besides) != 0)
                        return g_steal_pointer(&name);
        }
}

static void write_due(const char *name, int64_t tick) {
        g_autofree char *when = calendar_at(tick);
        g_autofree char *keys =
            g_strdup_printf("    schedule: \"%s\"\n    exec: [/bin/true, %s]\n", when, name);

        write_job_named(name, keys);
}

static bool one_has_started(void) {
        return started->len == 1;
}

/* A tick does not pass its start deadline while we are idle, only because all before us are held
 * up. */
Test(max_runs, who_is_idle_takes_over_from_the_busy) {
        g_autofree char *name = job_of_rank(PEERS, NULL);

        add_peers("ending");
        write_due(name, (int64_t)(clock_realtime() / USEC_PER_SEC) + 2);
        open_daemon();
        await(one_has_started, "a start");
}

Test(max_runs, who_is_far_behind_the_idle_does_nothing) {
        g_autofree char *name = job_of_rank(PEERS, NULL);
        int64_t tick = (int64_t)(clock_realtime() / USEC_PER_SEC) + 2;

        add_peers("");
        write_due(name, tick);
        open_daemon();
        while (clock_realtime() < (usec_t)tick * USEC_PER_SEC + 2 * USEC_PER_SEC)
                turn();
        cr_expect_eq(started->len, 0);
}

static bool says_that_it_is_full(void) {
        return strstr(server_data("/jobkeeper/nodes/n1"), "\"busy\":\"max-runs\"");
}

static bool says_that_it_is_free(void) {
        return strstr(server_data("/jobkeeper/nodes/n1"), "\"busy\":\"\"");
}

/* Two jobs of ours are due, and there is one place: the other is left to the others at once. */
Test(max_runs, who_is_full_says_so) {
        g_autofree char *name = job_of_rank(0, NULL), *other = job_of_rank(0, name);
        int64_t tick = (int64_t)(clock_realtime() / USEC_PER_SEC) + 3;

        allow(1);
        add_peers("");
        write_due(name, tick);
        write_job_named(other, "    exec: [/bin/true, by-hand]\n");
        open_daemon();
        await(one_has_started, "a start");
        serve_for(500 * USEC_PER_MSEC);
        cr_expect(says_that_it_is_free(), "nobody waits for a place");
        server_create("/jobkeeper/requests/1-m1", "{}", 0);
        request(job_table_find(coordinator->jobs, other), "1-m1", "me",
                clock_realtime() + 60 * USEC_PER_SEC);
        await(says_that_it_is_full, "it is full");
        service_exit(service_newest(), 0);
        await(says_that_it_is_free, "it is free again");
}

/* A node of a large fleet with as many jobs as there may be: what concerns all of them is done some
 * at a turn of the loop, once, and costs no requests that tell nothing. Requests, turns and
 * computations are counted. How long the longest turn took is printed, and decides only where it is
 * out of all proportion: this machine may be busy, and the sanitizers are slow.
 */
#include <unistd.h>

#include "daemon-fixture.h"
#include "digest-memory.h"
#include "fitness.h"
#include "gate.h"
#include "job-files.h"
#include "job-table.h"
#include "ledger.h"
#include "leftovers.h"
#include "members.h"
#include "paths.h"
#include "ranking.h"
#include "reload.h"
#include "runs.h"
#include "sweep.h"
#include "unit-spec.h"
#include "withdrawal.h"
#include "work-time.h"

#define JOBS JOBS_MAX
#define MEMBERS 300
#define TURN_MAX (2 * USEC_PER_SEC)
#define OTHER_SESSION 77
#define SELF "/jobkeeper/nodes/m000"

static usec_t longest;

TestSuite(scale, .init = setup, .fini = teardown, .timeout = 100);

/* The first `n` of them. */
static void write_jobs(unsigned n) {
        unsigned file = 0;

        for (unsigned i = 0; i < JOBS;) {
                g_autoptr(GString) yaml = g_string_new("jobs:\n");
                g_autofree char *name = g_strdup_printf("etc/jobkeeper/jobs.d/f%02u.yaml", file++);
                g_autofree char *path = tree_path(root, name);

                for (unsigned in_file = 0; in_file < 1000 && i < n; in_file++, i++)
                        g_string_append_printf(yaml,
                                               "  job-with-a-name-of-some-length-%05u:\n"
                                               "    schedule: \"2030-01-01 %02u:%02u\"\n"
                                               "    exec: [/bin/true]\n"
                                               "    nodes: {role: worker}\n"
                                               "    locks: {database: shared}\n",
                                               i, i % 24, i % 60);
                if (yaml->len > strlen("jobs:\n"))
                        tree_write(root, name, yaml->str);
                else if (access(path, F_OK) == 0)
                        tree_delete(root, name);
                if (i >= n && file * 1000 >= JOBS)
                        break;
        }
}

static char *member_path(unsigned i) {
        return g_strdup_printf("/jobkeeper/nodes/m%03u", i);
}

static void add_member(unsigned i, bool tell) {
        g_autofree char *path = member_path(i),
                        *data = g_strdup_printf("{\"node\":\"m%03u\",\"machine\":\"x%u\","
                                                "\"boot\":\"y\",\"labels\":{\"role\":"
                                                "\"worker\"}}",
                                                i, i);

        if (tell) {
                server_write(path, data);
                server_node(path)->stat.ephemeral_owner = OTHER_SESSION;
        } else {
                server_create(path, data, OTHER_SESSION);
        }
}

static void one_turn(void) {
        usec_t before;

        server_serve();
        before = clock_monotonic();
        (void)sd_event_run(event, USEC_PER_MSEC);
        longest = MAX(longest, clock_monotonic() - before);
}

static bool is_ready(void) {
        return node_is_ready(coordinator->node);
}

static bool is_quiet(void) {
        return is_ready() && sweep_length(job_table_sweeping(coordinator->jobs)) == 0 &&
               ((Zk *)ports->pdata[0])->calls.length == 0;
}

static bool all_are_looked_at(void) {
        for (guint i = 0; i < jobset_size(coordinator->jobset); i++)
                if (fitness_is_pending(coordinator->fitness,
                                       jobset_get(coordinator->jobset, i)->name))
                        return false;
        return true;
}

static void run_for(usec_t span) {
        usec_t until = clock_monotonic() + span;

        while (clock_monotonic() < until)
                one_turn();
}

static bool is_settled(void) {
        return is_quiet() && all_are_looked_at() && digest_memory_waits(coordinator->digests) == 0;
}

static void settle_down(void) {
        usec_t until = clock_monotonic() + 60 * USEC_PER_SEC;

        do
                run_for(USEC_PER_SEC / 10);
        while (!is_settled() && clock_monotonic() < until);
        cr_assert(is_settled());
        run_for(USEC_PER_SEC / 10);
}

static void begin(unsigned jobs, unsigned n_members) {
        tree_write(root, "jobkeeper.yaml", "node: {name: m000, labels: {role: worker}}\n");
        write_jobs(jobs);
        server_create("/jobkeeper", "", 0);
        server_create("/jobkeeper/nodes", "", 0);
        for (unsigned i = 1; i < n_members; i++)
                add_member(i, false);
        open_daemon();
        settle_down();
}

/* Return: ranks computed, and to be computed, in what follows. */
static unsigned ranks_computed(void) {
        return ranking_computed(members_ranking(coordinator->members));
}

static void expect_short_turns(const char *what) {
        fprintf(stderr, "%s: the longest turn took %.1f ms; %u jobs at most in one\n", what,
                (double)longest / USEC_PER_MSEC,
                sweep_longest_turn(job_table_sweeping(coordinator->jobs)));
        cr_expect_leq(sweep_longest_turn(job_table_sweeping(coordinator->jobs)), SWEEP_TURN_ITEMS);
        cr_expect_lt(longest, TURN_MAX, "%s", what);
        longest = 0;
}

Test(scale, members_come_and_go) {
        g_autofree char *path = member_path(1);
        unsigned ranks, requests;

        begin(JOBS, MEMBERS);
        expect_short_turns("the start");

        ranks = ranks_computed();
        requests = n_requests;
        for (unsigned i = 0; i < 10; i++)
                add_member(MEMBERS + i, true);
        settle_down();
        expect_short_turns("ten join");
        cr_expect_leq(ranks_computed() - ranks, JOBS, "once for all of them");
        /* Themselves, two lists at most, and what they took over; our heartbeat. */
        cr_expect_leq(n_requests - requests, 40);

        ranks = ranks_computed();
        requests = n_requests;
        server_delete(path);
        settle_down();
        expect_short_turns("one leaves");
        cr_expect_leq(ranks_computed() - ranks, JOBS);
        /* One in a hundred jobs has us among its first four now. */
        cr_expect_leq(n_requests - requests, 40);
        cr_expect_leq(registration_encoded(coordinator->registration), 4);
}

static void reload_in_turns(void) {
        coordinator_reload(coordinator);
        while (coordinator_is_reloading(coordinator))
                one_turn();
}

static unsigned asked; /* requests that are no heartbeats */

static ServerWay count_asked(const ZkCall *call) {
        asked += call->request != REQUEST_SYNC;
        return SERVER_ANSWER;
}

Test(scale, a_reload_that_changes_nothing_asks_nothing) {
        begin(JOBS, 3);
        longest = 0;
        server.way = count_asked;
        reload_in_turns();
        settle_down();
        cr_expect_eq(asked, 0, "%u", asked);
        expect_short_turns("a reload without a change");
}

static unsigned most_under_way;

static ServerWay count_under_way(const ZkCall *call) {
        unsigned n = g_str_has_prefix(call->path, "/jobkeeper/jobs/");

        for (GList *link = ((Zk *)ports->pdata[0])->calls.head; link; link = link->next) {
                const ZkCall *other = link->data;
                n += other->func && g_str_has_prefix(other->path, "/jobkeeper/jobs/");
        }
        most_under_way = MAX(most_under_way, n);
        return SERVER_ANSWER;
}

static unsigned n_withdrawn(void) {
        unsigned n = 0;

        for (unsigned i = 0; i < JOBS; i++) {
                g_autofree char *path =
                    g_strdup_printf("/jobkeeper/jobs/job-with-a-name-of-some-length-%05u", i);
                n += strstr(server_data(path), "\"withdrawn\":") != NULL;
        }
        return n;
}

Test(scale, nine_tenths_of_the_jobs_are_removed) {
        g_autofree char *record = NULL;
        unsigned encoded;

        begin(JOBS, 1);
        longest = 0;
        encoded = registration_encoded(coordinator->registration);
        /* Nobody else has them, and the others are given no time to say so. */
        coordinator->config->session_timeout = coordinator->config->tick_time = 0;
        write_jobs(JOBS / 10);
        server.way = count_under_way;
        reload_in_turns();
        cr_assert_eq(job_table_size(coordinator->jobs), JOBS / 10);
        settle_down();
        cr_expect_gt(most_under_way, 1);
        cr_expect_leq(most_under_way, WITHDRAWALS_BUSY_MAX);
        cr_expect_leq(reload_longest_turn(coordinator->reload), SWEEP_TURN_ITEMS);
        cr_expect_eq(n_withdrawn(), JOBS - JOBS / 10);
        expect_short_turns("nine thousand jobs are removed");
        record = g_strdup(server_data(SELF));
        cr_expect_lt(strlen(record), 1000, "%s", record);
        cr_expect_leq(registration_encoded(coordinator->registration) - encoded, 5);
        cr_expect_not_null(strstr(record, "\"unfit\":{}"), "%s", record);
}

Test(scale, nine_thousand_jobs_are_new) {
        unsigned before, most = 0;

        begin(JOBS / 10, 1);
        longest = 0;
        write_jobs(JOBS);
        coordinator_reload(coordinator);
        do {
                before = job_table_size(coordinator->jobs);
                one_turn();
                most = MAX(most, job_table_size(coordinator->jobs) - before);
        } while (coordinator_is_reloading(coordinator));
        cr_expect_eq(job_table_size(coordinator->jobs), JOBS);
        cr_expect_leq(most, SWEEP_TURN_ITEMS, "%u", most);
        settle_down();
        expect_short_turns("nine thousand jobs are new");
}

static bool is_waiting_to_claim(void) {
        return gate_is_waiting(coordinator->gate);
}

/* What each job had asked to be woken for is over: on a busy machine that takes a while. */
static void run_until_idle(void) {
        usec_t until = clock_monotonic() + 60 * USEC_PER_SEC;

        while (sd_event_run(event, 20 * USEC_PER_MSEC) > 0 && clock_monotonic() < until)
                server_serve();
}

/* Nothing may be claimed, and nothing is tried over and over. */
Test(scale, while_the_clock_is_skewed_the_loop_sleeps) {
        uint64_t before, after;

        begin(JOBS, 1);
        server.clock = -(int64_t)(24 * USEC_PER_HOUR);
        node_clock_sample(coordinator->node, 1000, clock_realtime());
        job_table_sweep(coordinator->jobs, JOB_SWEEP_CONSIDER);
        settle_down();
        run_until_idle();
        cr_expect(is_waiting_to_claim());
        longest = 0;
        cr_assert_geq(sd_event_get_iteration(event, &before), 0);
        for (usec_t until = clock_monotonic() + 3 * USEC_PER_SEC; clock_monotonic() < until;) {
                server_serve();
                (void)sd_event_run(event, 100 * USEC_PER_MSEC);
        }
        cr_assert_geq(sd_event_get_iteration(event, &after), 0);
        cr_expect_lt(after - before, 300);
        expect_short_turns("skewed");
}

/* Every ledger has another digest, of definitions that the other node has. */
Test(scale, all_jobs_drift) {
        unsigned encoded;

        server_create("/jobkeeper", "", 0);
        server_create("/jobkeeper/jobs", "", 0);
        for (unsigned i = 0; i < JOBS; i++) {
                g_autofree char *path =
                    g_strdup_printf("/jobkeeper/jobs/job-with-a-name-of-some-length-%05u", i);
                server_create(path,
                              "{\"v\":1,\"mark\":0,\"from\":1700000000,\"digest\":\"other\","
                              "\"open\":[]}",
                              0);
        }
        begin(JOBS, 2);
        run_for(2 * USEC_PER_SEC);
        expect_short_turns("ten thousand jobs drift");
        encoded = registration_encoded(coordinator->registration);
        fprintf(stderr, "encoded %u times, %zu bytes\n", encoded, strlen(server_data(SELF)));
        cr_expect_leq(encoded, 100);
        cr_expect_gt(strlen(server_data(SELF)), 30000);
        cr_expect_leq(strlen(server_data(SELF)), 65536);
}

static unsigned looks_at_the_dead;

static ServerWay count_looks(const ZkCall *call) {
        looks_at_the_dead +=
            call->request == REQUEST_LIST && g_str_has_prefix(call->path, "/jobkeeper/open/m");
        return SERVER_ANSWER;
}

static void begin_quick(unsigned n_members) {
        tree_write(root, "jobkeeper.yaml",
                   "node: {name: m000, labels: {role: worker}}\ntakeover-delay: 10ms\n");
        server_create("/jobkeeper", "", 0);
        server_create("/jobkeeper/nodes", "", 0);
        for (unsigned i = 1; i < n_members; i++)
                add_member(i, false);
        open_daemon();
        settle_down();
        looks_at_the_dead = 0;
        server.way = count_looks;
}

static void let_die(unsigned from, unsigned to) {
        for (unsigned i = from; i < to; i++) {
                g_autofree char *path = member_path(i);
                server_delete(path);
        }
        settle_down();
}

/* Four of the survivors look after each. */
Test(scale, a_death_costs_the_same_in_a_large_fleet) {
        begin_quick(MEMBERS);
        let_die(1, 101);
        cr_expect_leq(looks_at_the_dead, 12, "%u", looks_at_the_dead);
        /* Those who looked after them die as well: in the end all are ours. */
        let_die(101, MEMBERS);
        run_for(USEC_PER_SEC / 2);
        cr_expect_eq(looks_at_the_dead, MEMBERS - 1, "%u", looks_at_the_dead);
}

/* A death is known by the watch on the node itself, and who comes by one list for many. */
Test(scale, the_list_of_all_is_not_read_for_each) {
        unsigned requests;

        begin_quick(100);
        requests = n_requests;
        for (unsigned i = 1; i < 100; i++) {
                g_autofree char *path = member_path(i);
                server_delete(path);
                one_turn();
        }
        /* Lists, looks after the dead, heartbeats: it was a list for each before. */
        cr_expect_leq(n_requests - requests - looks_at_the_dead, 10, "%u",
                      n_requests - requests - looks_at_the_dead);
}

#define STUCK 500

/* Whether they are in the way of a job is asked each time that it is looked at. */
Test(scale, what_a_process_before_left_and_cannot_be_ended_holds_up_nothing_else) {
        begin(JOBS, 1);
        service_manager.deaf = true;
        service_manager.patience = 0;
        for (unsigned i = 0; i < STUCK; i++) {
                g_autofree char *unit = g_strdup_printf(
                    "jobkeeper-job-with-a-name-of-some-length-%05u-1700000000-1.service", i);

                (void)service_add(unit, "nonce", UNIT_SLICE);
        }
        longest = 0;
        leftovers_end(coordinator->left.leftovers, LEFTOVERS_ALL, false, "a test");
        run_for(USEC_PER_SEC);
        cr_assert(leftovers_left(coordinator->left.leftovers));
        cr_assert_null(leftovers_busy(coordinator->left.leftovers), "they are stuck");
        settle_down();
        expect_short_turns("five hundred leftovers are stuck");
        service_manager.deaf = false;
        for (unsigned i = 0; i < STUCK; i++)
                service_obey(service_manager.services->pdata[i]);
}

static char *unit_of(unsigned i) {
        g_autofree char *job = g_strdup_printf("job-with-a-name-of-some-length-%05u", i);

        return unit_name_for_run(job, "1700000000-1");
}

static void add_run(unsigned i) {
        g_autofree char *job = g_strdup_printf("job-with-a-name-of-some-length-%05u", i);
        RunRecord *record = run_record_new(job, "1700000000-1");

        record->unit = unit_of(i);
        runs_recover_nothing(coordinator->runs, record, g_strdup("a test"));
}

/* All units that there are are looked at in one turn, as often as PID 1 lists them. */
Test(scale, whose_units_are_whose_is_not_asked_of_all_runs) {
        usec_t before;

        begin(1, 1);
        for (unsigned i = 0; i < JOBS; i++)
                add_run(i);
        before = work_time();
        for (unsigned i = 0; i < 2 * JOBS; i++) {
                g_autofree char *unit = unit_of(i);

                cr_assert_eq(runs_has_unit(coordinator->runs, unit), i < JOBS, "%s", unit);
        }
        cr_expect_lt(work_time() - before, USEC_PER_SEC);
}

/* It is asked of each job: at each claim, and by whoever asks for the status while ZooKeeper is
 * silent. */
Test(scale, which_runs_a_job_has_is_not_asked_of_all_runs) {
        g_autoptr(GPtrArray) jobs = NULL;
        usec_t before;

        begin(1, 1);
        for (unsigned i = 0; i < JOBS; i++)
                add_run(i);
        before = work_time();
        jobs = runs_jobs(coordinator->runs);
        cr_assert_eq(jobs->len, JOBS);
        for (unsigned i = 0; i < JOBS; i++) {
                const GPtrArray *runs = runs_of_job(coordinator->runs, jobs->pdata[i]);

                cr_assert(runs && runs->len == 1, "%s", (const char *)jobs->pdata[i]);
        }
        cr_expect_lt(work_time() - before, USEC_PER_SEC);
        cr_expect_null(runs_of_job(coordinator->runs, "another"));
}

#define SETTLES 500
/* Of one settle: what it reads, without locks, and some more. */
#define SETTLE_REQUESTS 8

static bool all_are_settled(void) {
        return runs_count(coordinator->runs) == 0;
}

static unsigned kept;

static ServerWay keep_settles(const ZkCall *call) {
        if (!g_str_has_prefix(call->path, "/jobkeeper/jobs/job-with-"))
                return SERVER_ANSWER;
        kept++;
        return SERVER_KEEP;
}

/* All runs of this machine, and of all others as well: heartbeats are to come through. */
Test(scale, after_a_lost_session_not_all_is_settled_at_once) {
        begin(1, 1);
        server.way = keep_settles;
        for (unsigned i = 0; i < SETTLES; i++)
                add_run(i);
        run_for(USEC_PER_SEC);
        cr_expect_gt(kept, SETTLE_WINDOW_SIZE);
        cr_expect_leq(kept, SETTLE_WINDOW_SIZE * SETTLE_REQUESTS, "%u", kept);
        server.way = NULL;
        server_release();
        await_within(all_are_settled, "they are settled", 60 * USEC_PER_SEC);
}

#define WAITERS 100
#define LATE 200

static unsigned contenders_read;

static ServerWay count_contenders(const ZkCall *call) {
        contenders_read +=
            call->request == REQUEST_GET && strstr(call->path, "/locks/database/") != NULL;
        return SERVER_ANSWER;
}

/* Its last tick is long over, by a definition that was in force before it. */
static void let_be_late(unsigned i) {
        g_autofree char *path =
            g_strdup_printf("/jobkeeper/jobs/job-with-a-name-of-some-length-%05u", i);
        ServerNode *node = server_node(path);
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        g_autofree char *data = NULL;

        cr_assert_eq(ledger_decode(node->data, strlen(node->data), &ledger), 0);
        ledger->from -= INT64_C(400) * 86400;
        data = ledger_encode(ledger);
        server_set(node, data);
}

static void write_late_jobs(void) {
        g_autoptr(GDateTime) now = g_date_time_new_now_utc();
        g_autoptr(GDateTime) tick = g_date_time_add_hours(now, -1);
        g_autofree char *schedule = g_date_time_format(tick, "*-%m-%d %H:%M:%S");
        g_autoptr(GString) yaml = g_string_new("jobs:\n");

        for (unsigned i = 0; i < LATE; i++)
                g_string_append_printf(yaml,
                                       "  job-with-a-name-of-some-length-%05u:\n"
                                       "    schedule: \"%s\"\n"
                                       "    exec: [/bin/true]\n"
                                       "    lock-wait: 4h\n"
                                       "    locks: {database: exclusive}\n",
                                       i, schedule);
        tree_write(root, "etc/jobkeeper/jobs.d/late.yaml", yaml->str);
}

/* What is late may be waited for. */
Test(scale, a_queue_is_not_read_by_each_that_names_it) {
        write_late_jobs();
        begin(0, 1);
        for (unsigned i = 0; i < LATE; i++)
                let_be_late(i);
        server_create("/jobkeeper/locks/database", "", 0);
        for (unsigned i = 0; i < WAITERS; i++) {
                g_autofree char *path =
                    g_strdup_printf("/jobkeeper/locks/database/"
                                    "_c_11111111-1111-1111-1111-111111111111-__WRIT__%010u",
                                    i);

                server_create(path, "{\"node\":\"m7\"}", OTHER_SESSION);
        }
        server.way = count_contenders;
        server_expire(last_session);
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        run_for(2 * USEC_PER_SEC);
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_CONNECTED);
        run_for(2 * USEC_PER_SEC);
        settle_down();
        cr_expect_geq(contenders_read, WAITERS);
        cr_expect_leq(contenders_read, WAITERS * LATE / 10, "%u", contenders_read);
}

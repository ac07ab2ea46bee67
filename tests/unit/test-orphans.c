/* Runs of a node that vanished, in a whole daemon (daemon-fixture.h): they are settled by whoever
 * is left, and not before nothing of them can live. */
#include "counted-reads.h"
#include "daemon-fixture.h"
#include "ledger-change.h"
#include "ledger.h"
#include "orphans.h"
#include "paths.h"
#include "read-window.h"
#include "runs.h"

#define ROOT "/jobkeeper"
#define JOB_PATH ROOT "/jobs/a"
#define LOCK_PATH ROOT "/locks/job:a"
#define CONTENDER LOCK_PATH "/_c_00000000-0000-0000-0000-000000000000-__WRIT__0000000000"
#define GARBAGE "]["

static char *run_name; /* of the run of n2 */
static RunRecord *claim;
static bool is_of_service; /* then: one that goes on without its locks */

static void setup_orphan(void) {
        setup();
        write_job("    every: 1s\n    exec: [/bin/true]\n");
}

static void teardown_orphan(void) {
        g_clear_pointer(&run_name, g_free);
        claim = run_record_free(claim);
        teardown();
}

TestSuite(orphans, .init = setup_orphan, .fini = teardown_orphan);

static bool has_started(void) {
        return service_newest() && service_newest()->state == SERVICE_RUNNING &&
               service_newest()->unit;
}

static bool is_ready(void) {
        return node_is_ready(coordinator->node);
}

static char *record_path(void) {
        return path_run(ROOT, "a", run_name);
}

static RunRecord *record_there(void) {
        g_autofree char *path = record_path();
        RunRecord *record = NULL;

        cr_assert_eq(run_record_decode(server_data(path), strlen(server_data(path)), &record), 0,
                     "%s", server_data(path));
        return record;
}

static void expect_unknown(const char *why) {
        _cleanup_(run_record_freep) RunRecord *record = record_there();
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        cr_expect_eq(record->state, RUN_UNKNOWN);
        cr_expect_str_eq(record->why, why);
        cr_assert_eq(ledger_decode(server_data(JOB_PATH), strlen(server_data(JOB_PATH)), &ledger),
                     0);
        cr_expect_null(ledger_find_run(ledger, run_name));
        cr_expect_str_eq(ledger->last->run, run_name);
        cr_expect_neq(ledger->last->claimed, 0);
}

static void expect_kept(const char *data) {
        g_autofree char *path = path_damaged(ROOT, "a", run_name);

        cr_expect_str_eq(server_data(path), data);
}

static bool is_idle(void) {
        return runs_count(coordinator->runs) == 0;
}

/* As its daemon left it. */
static void claimed_by_another(const char *record) {
        int64_t tick;
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        g_autofree char *data = NULL, *path = NULL, *open = NULL;

        open_daemon();
        await(is_ready, "ready");
        await(has_started, "a start");
        service_exit(service_newest(), 0);
        await(is_idle, "it is settled");
        close_daemon();
        tick = (int64_t)(clock_realtime() / USEC_PER_SEC) + 1;
        run_name = g_strdup_printf("%" G_GINT64_FORMAT "-1", tick);
        claim = run_record_new("a", run_name);
        claim->tick = tick;
        claim->attempt = 1;
        claim->node = g_strdup("n2");
        claim->claimed = clock_realtime();
        claim->terms.service = claim->continues = is_of_service;
        data = g_strdup(server_data(JOB_PATH));
        cr_assert_eq(ledger_decode(data, strlen(data), &ledger), 0);
        cr_assert_eq(ledger_claim(ledger, claim), 0);
        g_free(data);
        data = ledger_encode(ledger);
        server_set(server_node(JOB_PATH), data);
        path = record_path();
        if (record)
                server_create(path, record, 0);
        open = path_open_run(ROOT, "n2", "a", run_name);
        server_create(ROOT "/open/n2", "", 0);
        server_create(open, "", 0);
        g_ptr_array_set_size(started, 0);
}

static bool n2_is_settled(void) {
        g_autofree char *open = path_open_run(ROOT, "n2", "a", run_name);

        return !server_node(open);
}

static bool has_started_any(void) {
        return started->len > 0;
}

Test(orphans, a_damaged_one_of_a_node_that_vanished_is_settled_by_others) {
        claimed_by_another(GARBAGE);
        open_daemon_again();
        await(n2_is_settled, "it is settled");
        expect_unknown("its record in ZooKeeper was damaged, and node n2 disappeared");
        expect_kept(GARBAGE);
        await(has_started_any, "the job runs again");
}

Test(orphans, so_is_a_deleted_one) {
        claimed_by_another(NULL);
        open_daemon_again();
        await(n2_is_settled, "it is settled");
        expect_unknown("node n2 disappeared during the run");
        await(has_started_any, "the job runs again");
}

/* Whoever is a member answers for its runs itself. */
Test(orphans, one_of_a_node_that_is_there_is_left_to_it) {
        claimed_by_another(GARBAGE);
        server_create(ROOT "/nodes/n2", "{}", 77);
        open_daemon_again();
        await(is_ready, "ready");
        serve_for(3 * USEC_PER_SEC);
        cr_expect_not(n2_is_settled());
        server_delete(ROOT "/nodes/n2");
        await(n2_is_settled, "it is settled");
}

/* ---- records that tell ---- */

static char *claim_text(const char *lock, RunState state) {
        static const char *const none[] = {NULL};
        const char *const locks[] = {lock, NULL};

        g_strfreev(claim->locks);
        claim->locks = g_strdupv((char **)(lock ? locks : none));
        claim->state = state;
        return run_record_encode(claim);
}

/* The record of the run, as it is claimed with that lock. */
static void set_record(const char *lock, RunState state) {
        g_autofree char *path = record_path(), *data = claim_text(lock, state);

        server_set(server_node(path), data);
}

static ServerNode *node_of_record(void) {
        g_autofree char *path = record_path();

        return server_node(path);
}

/* It is a member again, and has claimed a run without locks, before we hear of it. */
Test(orphans, one_of_a_node_that_is_just_back_is_left_to_it) {
        claimed_by_another("{}");
        set_record(NULL, RUN_CLAIMED);
        open_daemon_again();
        await(is_ready, "ready");
        server_create(ROOT "/nodes/n2", "{}", 77); /* nobody is told */
        serve_for(3 * USEC_PER_SEC);
        cr_expect_not(n2_is_settled());
        server_delete(ROOT "/nodes/n2");
        await(n2_is_settled, "it is settled");
}

/* It may live as long as its contender does. */
Test(orphans, one_whose_contender_stands_is_left_until_that_goes) {
        claimed_by_another("{}");
        set_record(CONTENDER, RUN_CLAIMED);
        server_create(CONTENDER, "", 99);
        node_of_record()->stat.czxid = ++server.zxid; /* the claim came after it */
        open_daemon_again();
        await(is_ready, "ready");
        serve_for(3 * USEC_PER_SEC);
        cr_expect_not(n2_is_settled());
        cr_expect_eq(started->len, 0);
        server_delete(CONTENDER);
        await(n2_is_settled, "it is settled");
        expect_unknown("node n2 disappeared during the run");
        await(has_started_any, "the job runs again");
}

/* Without one only the member node tells, which may be just being replaced. */
Test(orphans, one_without_locks_is_looked_at_twice) {
        claimed_by_another("{}");
        set_record(NULL, RUN_CLAIMED);
        open_daemon_again();
        await(is_ready, "ready");
        serve_for(500 * USEC_PER_MSEC);
        cr_expect_not(n2_is_settled());
        await(n2_is_settled, "it is settled");
        expect_unknown("node n2 disappeared during the run");
}

static bool is_owed_again(void) {
        return strstr(server_data(JOB_PATH), "not_before");
}

static void set_to_be_rerun(void) {
        claim->terms.rerun = true;
        set_record(NULL, RUN_CLAIMED);
}

Test(orphans, one_that_is_to_be_attempted_again) {
        claimed_by_another("{}");
        set_to_be_rerun();
        open_daemon_again();
        await(n2_is_settled, "it is settled");
        await(has_started_any, "another attempt");
        cr_expect(strstr(service_newest()->name, "-2.service"));
}

/* Its node was gone when that was asked for, or went before it heard of it. */
Test(orphans, one_that_somebody_wanted_to_end_is_not_attempted_again) {
        g_autofree char *wish = NULL;

        claimed_by_another("{}");
        set_to_be_rerun();
        wish = g_strdup_printf("{\"job\":\"a\",\"run\":\"%s\",\"on\":\"n2\",\"by\":\"bob on "
                               "n3\",\"node\":\"n3\",\"not_after\":%" G_GINT64_FORMAT "}",
                               run_name, (int64_t)(clock_realtime() / USEC_PER_SEC) + 60);
        server_create(ROOT "/requests/1000-s0badcafe", wish, 0);
        open_daemon_again();
        await(n2_is_settled, "it is settled");
        cr_expect_not(is_owed_again());
        expect_unknown("node n2 disappeared during the run; bob on n3 wanted it to end");
        await(has_started_any, "the job runs again, at another tick");
        cr_expect(strstr(service_newest()->name, "-1.service"));
}

Test(orphans, of_what_is_settled_only_the_entry_goes) {
        claimed_by_another("{}");
        set_record(NULL, RUN_SUCCEEDED);
        open_daemon_again();
        await(n2_is_settled, "its entry is gone");
        _cleanup_(run_record_freep) RunRecord *record = record_there();
        cr_expect_eq(record->state, RUN_SUCCEEDED);
}

/* ---- what continues without its locks ---- */

static void set_continuing(usec_t takeover_after) {
        claim->continues = true;
        claim->terms.takeover_after = takeover_after;
        set_record(NULL, RUN_CLAIMED);
}

Test(orphans, one_that_continues_is_waited_for) {
        claimed_by_another("{}");
        set_continuing(USEC_INFINITY);
        open_daemon_again();
        await(is_ready, "ready");
        serve_for(4 * USEC_PER_SEC);
        cr_expect_not(n2_is_settled());
        cr_expect_eq(started->len, 0);
}

Test(orphans, one_that_continues_is_given_up_after_takeover_after) {
        usec_t begun;

        claimed_by_another("{}");
        set_continuing(2 * USEC_PER_SEC);
        begun = clock_boottime();
        open_daemon_again();
        await(n2_is_settled, "it is settled");
        cr_expect_geq(clock_boottime(), begun + 2 * USEC_PER_SEC);
        expect_unknown("node n2 disappeared during the run, which may continue there: "
                       "takeover-after has passed");
        await(has_started_any, "the job runs again");
}

/* So whoever waits for a machine that will never be back has a way out. */
Test(orphans, what_a_definition_says_since_counts_where_it_is_less) {
        claimed_by_another("{}");
        set_continuing(USEC_INFINITY);
        write_job("    every: 1s\n    exec: [/bin/true]\n    on-lock-loss: continue\n"
                  "    takeover-after: 2s\n");
        open_daemon_again();
        await(n2_is_settled, "it is settled");
}

Test(orphans, what_a_definition_says_of_runs_that_are_stopped_does_not) {
        claimed_by_another("{}");
        set_continuing(USEC_INFINITY);
        tree_write(root, "jobs.d/a.yaml",
                   "defaults: {takeover-after: 1s}\njobs:\n  a:\n    every: 1s\n"
                   "    exec: [/bin/true]\n");
        open_daemon_again();
        await(is_ready, "ready");
        serve_for(4 * USEC_PER_SEC);
        cr_expect_not(n2_is_settled());
}

/* What it was cannot be read, or is gone: it may be one of those. */
static void check_believed(const char *record) {
        usec_t begun;

        claimed_by_another(record);
        write_job("    every: 1s\n    exec: [/bin/true]\n    on-lock-loss: continue\n"
                  "    takeover-after: 4s\n");
        begun = clock_boottime();
        open_daemon_again();
        await(n2_is_settled, "it is settled");
        cr_expect_geq(clock_boottime(), begun + 4 * USEC_PER_SEC);
        await(has_started_any, "the job runs again");
}

Test(orphans, a_damaged_one_of_a_job_that_continues_is_waited_for) {
        check_believed(GARBAGE);
}

Test(orphans, one_without_a_record_of_a_job_that_continues_is_waited_for) {
        check_believed(NULL);
}

/* The job is another by now, and the record is gone: the ledger alone knows what it was. */
Test(orphans, one_of_a_service_that_continues_may_be_alive_for_all_that_is_known) {
        _cleanup_(run_record_freep) RunRecord *record = NULL;

        is_of_service = true;
        claimed_by_another(NULL);
        open_daemon_again();
        await(n2_is_settled, "it is settled");
        record = record_there();
        cr_expect_eq(record->state, RUN_UNKNOWN);
        cr_expect(record->continues);
        serve_for(3 * USEC_PER_SEC);
        cr_expect_eq(started->len, 0U, "nothing begins beside it");
}

/* ---- what the reboot of its node may end ---- */

static void set_rebooting(usec_t rejoin_timeout) {
        claim->terms.reboot = JOB_REBOOT_FAIL;
        claim->terms.rejoin_timeout = rejoin_timeout;
        set_record(NULL, RUN_CLAIMED);
}

Test(orphans, one_whose_node_may_be_rebooting_is_left_to_it) {
        claimed_by_another("{}");
        set_rebooting(600 * USEC_PER_SEC);
        open_daemon_again();
        await(is_ready, "ready");
        serve_for(4 * USEC_PER_SEC);
        cr_expect_not(n2_is_settled());
}

Test(orphans, one_whose_node_is_not_back_in_time_is_unknown) {
        usec_t begun;

        claimed_by_another("{}");
        set_rebooting(3 * USEC_PER_SEC);
        begun = clock_boottime();
        open_daemon_again();
        await(n2_is_settled, "it is settled");
        cr_expect_geq(clock_boottime(), begun + 3 * USEC_PER_SEC);
        expect_unknown("node n2 disappeared during the run, and was not back within "
                       "rejoin-timeout");
}

/* ---- and again of what continues ---- */

/* It is counted from when its node was gone the last time. */
Test(orphans, one_whose_node_was_back_is_waited_for_anew) {
        usec_t gone;

        claimed_by_another("{}");
        set_continuing(3 * USEC_PER_SEC);
        open_daemon_again();
        await(is_ready, "ready");
        serve_for(2 * USEC_PER_SEC);
        gone = clock_boottime();
        orphans_node_left(coordinator->left.orphans, "n2");
        await(n2_is_settled, "it is settled");
        cr_expect_geq(clock_boottime(), gone + 3 * USEC_PER_SEC);
}

static unsigned tries;

static bool is_of_n2(const ZkCall *call) {
        return strstr(call->path, "/open/n2") ||
               (run_name && g_str_has_suffix(call->path, run_name));
}

static ServerWay lose_some(const ZkCall *call) {
        static const bool lost[] = {true, false, true};

        return is_of_n2(call) && tries < G_N_ELEMENTS(lost) && lost[tries++] ? SERVER_LOSE
                                                                             : SERVER_ANSWER;
}

Test(orphans, answers_that_are_lost_are_asked_for_again) {
        claimed_by_another("{}");
        set_record(CONTENDER, RUN_CLAIMED);
        server.way = lose_some;
        open_daemon_again();
        await(n2_is_settled, "it is settled");
        cr_expect_eq(tries, 3);
        expect_unknown("node n2 disappeared during the run");
}

/* Its session is lost meanwhile, and the next one begins again. */
Test(orphans, a_lost_session_only_delays_it) {
        claimed_by_another("{}");
        set_record(NULL, RUN_CLAIMED);
        open_daemon_again();
        await(is_ready, "ready");
        server_expire(last_session);
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_CONNECTED);
        await(n2_is_settled, "it is settled");
}

#define MANY 300
#define GHOST ROOT "/open/ghost"

static bool all_are_read(void) {
        (void)counted_reads_serve();
        return counted_reads_served() >= MANY;
}

/* Anybody who reaches the server can put any number of entries there, of a node that never was. */
Test(orphans, very_many_are_read_a_few_at_a_time) {
        open_daemon();
        await(is_ready, "ready");
        server_create(GHOST, "", 0);
        for (unsigned i = 0; i < MANY; i++) {
                g_autofree char *entry = g_strdup_printf(GHOST "/a:%u-1", 1000000000 + i),
                                *record = g_strdup_printf(JOB_PATH "/runs/%u-1", 1000000000 + i),
                                *data = g_strdup_printf(
                                    "{\"run\":\"%u-1\",\"job\":\"a\",\"state\":\"failed\"}",
                                    1000000000 + i);

                server_create(entry, "", 0);
                server_create(record, data, 0);
        }
        counted_reads_begin(JOB_PATH "/runs");
        orphans_node_left(coordinator->left.orphans, "ghost");
        await(all_are_read, "all are read");
        cr_expect_eq(counted_reads_most(), (unsigned)READ_WINDOW_SIZE);
        counted_reads_end();
}

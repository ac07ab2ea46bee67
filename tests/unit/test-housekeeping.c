/* What is deleted from ZooKeeper in the end, and what never is, in a whole daemon
 * (daemon-fixture.h). */
#include "clock-watch.h"
#include "daemon-fixture.h"
#include "housekeeping.h"
#include "journal.h"
#include "ledger-change.h"
#include "ledger.h"
#include "paths.h"

#define ROOT "/jobkeeper"
#define OLD ROOT "/jobs/old"
#define OLD_LOCK ROOT "/locks/job:old"
#define MONTH INT64_C(2678400)

static bool is_ready(void) {
        return node_is_ready(coordinator->node);
}

static bool knows_the_clock(void) {
        return clock_watch_is_known(coordinator->clock);
}

static void setup_ready(void) {
        setup();
        write_job("    every: 300d\n    exec: [/bin/true]\n");
        open_daemon();
        await(is_ready, "ready");
        await(knows_the_clock, "the clock was compared");
}

TestSuite(housekeeping, .init = setup_ready, .fini = teardown);

/* A job that was withdrawn for good so many seconds ago, and a run of it. */
static void make_old(int64_t age, const char *digest) {
        int64_t then = (int64_t)(clock_realtime() / USEC_PER_SEC) - age;
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(then, digest);
        g_autofree char *data = ledger_encode(ledger);

        server_create(OLD, data, 0);
        server_create(OLD "/runs", "", 0);
        server_create(OLD_LOCK, "", 0);
        for (unsigned i = 0; i < 100; i++) {
                g_autofree char *path = g_strdup_printf(OLD "/runs/%u-1", 1000000000 + i);
                server_create(path, "{}", 0);
        }
}

/* A look that finds something to delete takes several flights. */
static void look(void) {
        housekeeping_look(coordinator->store.housekeeping);
        serve_for(300 * USEC_PER_MSEC);
}

static bool is_deleted(void) {
        return !server_node(OLD) && !server_node(OLD_LOCK);
}

static void expect_left(unsigned n_runs) {
        look();
        cr_expect_not_null(server_node(OLD));
        cr_expect_not_null(server_node(OLD_LOCK));
        cr_expect_eq(server_count(OLD "/runs"), n_runs);
}

Test(housekeeping, a_job_that_was_removed_long_ago_goes) {
        make_old(MONTH, "");
        server_create(OLD "/damaged-1000000000-1", "][", 0);
        housekeeping_look(coordinator->store.housekeeping);
        await(is_deleted, "it is deleted");
        cr_expect(journal_has("info: old: the job was removed long ago: its history is deleted"));
}

static bool is_deleted_with_its_meetings(void) {
        return is_deleted() && !server_node(ROOT "/meetings/old");
}

/* Who had come of those that it waited for. */
Test(housekeeping, what_it_waited_for_goes_with_it_and_no_other_s) {
        make_old(MONTH, "");
        server_create(ROOT "/meetings/old", "{\"meetings\":[]}", 0);
        server_create(ROOT "/meetings/a", "{\"meetings\":[]}", 0);
        housekeeping_look(coordinator->store.housekeeping);
        await(is_deleted_with_its_meetings, "both are deleted");
        cr_expect_not_null(server_node(ROOT "/meetings/a"));
}

Test(housekeeping, one_that_was_removed_lately_stays) {
        make_old(MONTH / 2, "");
        expect_left(100);
}

Test(housekeeping, one_that_other_nodes_have_stays) {
        make_old(MONTH, "d");
        expect_left(100);
}

static void rename_old(void) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        g_autofree char *data = NULL;

        make_old(MONTH, "");
        cr_assert_eq(ledger_decode(server_data(OLD), strlen(server_data(OLD)), &ledger), 0);
        ledger_leave(ledger, "new", 0);
        data = ledger_encode(ledger);
        server_set(server_node(OLD), data);
}

Test(housekeeping, one_that_was_renamed_long_ago_goes) {
        rename_old();
        housekeeping_look(coordinator->store.housekeeping);
        await(is_deleted, "it is deleted");
        cr_expect(journal_has("info: old: the job was renamed long ago, and goes on as new: its "
                              "history is deleted"));
}

static bool n3_is_a_member(void) {
        return members_contains(coordinator->members, "n3");
}

static void join_n3(const char *drifted) {
        g_autofree char *data = g_strdup_printf("{\"node\":\"n3\",\"machine\":\"x3\","
                                                "\"boot\":\"y\",\"drifted\":%s}",
                                                drifted);

        server_write(ROOT "/nodes/n3", data);
        server_node(ROOT "/nodes/n3")->stat.ephemeral_owner = 77;
        await(n3_is_a_member, "n3 is a member");
}

/* Of the two, we rank first for it. */
static void look_as_the_first(void) {
        cr_assert_eq(ranking_among_all(members_ranking(coordinator->members), "housekeeping"), 0);
        look();
}

/* Its files still have it by that name: without the ledger it would begin there, beside "new". */
Test(housekeeping, one_that_was_renamed_and_that_a_member_has_still_stays) {
        rename_old();
        join_n3("[\"old\"]");
        look_as_the_first();
        cr_expect_not_null(server_node(OLD));
        cr_expect_eq(server_count(OLD "/runs"), 100);
}

Test(housekeeping, one_that_was_renamed_and_that_no_member_has_goes) {
        rename_old();
        join_n3("[\"another\"]");
        look_as_the_first();
        await(is_deleted, "it is deleted");
}

Test(housekeeping, one_that_a_file_says_was_renamed_stays) {
        write_job_named("new", "    exec: [/bin/true]\n    was: old\n    nodes: [another]\n");
        reload();
        rename_old();
        expect_left(100);
}

Test(housekeeping, one_with_a_run_under_way_stays) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        _cleanup_(run_record_freep) RunRecord *run = run_record_new("old", "1000000000-m1");
        g_autofree char *data = NULL;

        make_old(MONTH, "");
        cr_assert_eq(ledger_decode(server_data(OLD), strlen(server_data(OLD)), &ledger), 0);
        cr_assert_eq(ledger_claim(ledger, run), 0);
        data = ledger_encode(ledger);
        server_set(server_node(OLD), data);
        expect_left(100);
}

Test(housekeeping, one_with_something_foreign_stays) {
        make_old(MONTH, "");
        server_create(OLD "/notes", "do not delete", 0);
        expect_left(100);
}

Test(housekeeping, so_does_one_with_something_foreign_among_its_records) {
        make_old(MONTH, "");
        server_create(OLD "/runs/notes", "do not delete", 0);
        expect_left(101);
}

Test(housekeeping, a_ledger_that_is_none_stays) {
        make_old(MONTH, "");
        server_set(server_node(OLD), "][");
        expect_left(100);
}

/* Somebody adds the job again while it is being deleted. */
static ServerWay added_again(const ZkCall *call) {
        if (call_has(call, ZK_OP_DELETE, "/runs/"))
                server_set(server_node(OLD), "{}");
        return SERVER_ANSWER;
}

Test(housekeeping, one_that_is_added_again_meanwhile_stays) {
        make_old(MONTH, "");
        server.way = added_again;
        expect_left(100);
}

/* ---- jobs of mode each-node ---- */

#define OF_N2 ROOT "/jobs/each@n2"
#define OF_N3 ROOT "/jobs/each@n3"

static void make_instance(const char *path, int64_t withdrawn_ago) {
        int64_t now = (int64_t)(clock_realtime() / USEC_PER_SEC);
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(now - 12 * MONTH, "d");
        g_autofree char *runs = g_strconcat(path, "/runs", NULL), *data = NULL;

        if (withdrawn_ago)
                ledger_withdraw(ledger, now - withdrawn_ago);
        data = ledger_encode(ledger);
        server_create(path, data, 0);
        server_create(runs, "", 0);
}

/* "n3" is there, and "n2" is not. */
static void make_instances(int64_t withdrawn_ago) {
        join_n3("[]");
        make_instance(OF_N2, withdrawn_ago);
        make_instance(OF_N3, withdrawn_ago);
}

Test(housekeeping, one_of_a_node_that_is_gone_is_marked) {
        make_instances(0);
        look_as_the_first();
        cr_expect_not_null(strstr(server_data(OF_N2), "\"withdrawn\":"));
        cr_expect_null(strstr(server_data(OF_N3), "\"withdrawn\":"), "its node is there");
}

Test(housekeeping, one_of_a_node_that_was_gone_lately_stays) {
        make_instances(MONTH / 2);
        look_as_the_first();
        cr_expect_not_null(server_node(OF_N2));
}

Test(housekeeping, one_of_a_node_that_is_gone_for_long_goes) {
        make_instances(MONTH);
        look_as_the_first();
        cr_expect_null(server_node(OF_N2));
        cr_expect_not_null(server_node(OF_N3), "its node is there");
        cr_expect(journal_has(": its machine n2 was not seen for 30d: its history is deleted"));
}

#define ROLL ROOT "/rolls/each"

Test(housekeeping, what_is_known_of_the_rolls_stays_with_the_last_of_them) {
        make_instances(MONTH);
        server_create(ROLL, "{\"runs\":[]}", 0);
        look_as_the_first();
        cr_expect_null(server_node(OF_N2));
        cr_expect_not_null(server_node(ROLL), "n3 has it");
}

static bool roll_is_deleted(void) {
        return !server_node(ROLL);
}

Test(housekeeping, what_is_known_of_the_rolls_goes_with_the_last_of_them) {
        make_instances(MONTH);
        server_remove(OF_N3 "/runs");
        server_remove(OF_N3);
        server_create(ROLL, "{\"runs\":[]}", 0);
        server_create(ROOT "/rolls/a", "{\"runs\":[]}", 0);
        look_as_the_first();
        await(roll_is_deleted, "it is deleted");
        cr_expect_not_null(server_node(ROOT "/rolls/a"));
}

#define TURNS ROOT "/locks/job:each"

/* At which its instances wait for each other; our files do not have the job. */
Test(housekeeping, the_lock_directory_of_instances_elsewhere_stays) {
        make_instances(0);
        server_create(TURNS, "{\"slots\": 2}", 0);
        look_as_the_first();
        cr_expect_not_null(server_node(TURNS));
}

/* No instance has a ledger yet. */
Test(housekeeping, so_does_that_of_a_job_of_our_files) {
        write_job_named("each", "    exec: [/bin/true]\n    mode: each-node\n    nodes: [n9]\n");
        reload();
        server_create(TURNS, "", 0);
        look();
        cr_expect_not_null(server_node(TURNS));
}

Test(housekeeping, a_lock_directory_in_which_somebody_stands_stays) {
        make_old(MONTH, "");
        server_create(OLD_LOCK "/_c_x-__WRIT__0000000000", "", 99);
        look();
        cr_expect_null(server_node(OLD));
        cr_expect_not_null(server_node(OLD_LOCK));
}

Test(housekeeping, only_lock_directories_of_jobs_go) {
        server_create(ROOT "/locks/data", "", 0);
        server_create(ROOT "/locks/job:never", "", 0);
        server_create(ROOT "/locks/job:a", "", 0);
        look();
        cr_expect_not_null(server_node(ROOT "/locks/data"));
        cr_expect_not_null(server_node(ROOT "/locks/job:a"));
        cr_expect_null(server_node(ROOT "/locks/job:never"));
}

/* ---- what a dead node leaves ---- */

static bool n2_is_deleted(void) {
        return !server_node(ROOT "/open/n2");
}

Test(housekeeping, the_directory_of_a_node_that_is_gone_goes) {
        close_daemon();
        server_create(ROOT "/open/n2", "", 0);
        open_daemon_again();
        await(n2_is_deleted, "it is deleted");
        cr_expect_not_null(server_node(ROOT "/open/n1"));
}

Test(housekeeping, one_with_something_foreign_in_it_does_not) {
        close_daemon();
        server_create(ROOT "/open/n2", "", 0);
        server_create(ROOT "/open/n2/notes", "", 0);
        open_daemon_again();
        await(is_ready, "ready");
        serve_for(3 * USEC_PER_SEC);
        cr_expect_not(n2_is_deleted());
}

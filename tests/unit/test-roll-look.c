/* Whose turn it is in a roll, in a whole daemon: what a claim reads before it, what it writes, and
 * what becomes of who may not begin. */
#include "roll-look.h"

#include <string.h>

#include "control-pause.h"
#include "job-table.h"
#include "journal.h"
#include "member.h"
#include "orphans.h"
#include "paths.h"
#include "roll-fixture.h"
#include "run-record.h"
#include "scheduled-job.h"
#include "tree.h"

static unsigned tries;

TestSuite(roll_look, .init = setup, .fini = teardown);

/* `reboot`: what its job makes of a reboot, for which others wait a second. */
static void put_record_of(const char *node, RunState state, JobReboot reboot) {
        g_autofree char *path = roll_record_path(node, "1"), *job = g_strconcat("a@", node, NULL),
                        *run = g_strdup_printf("%" G_GINT64_FORMAT "-1", roll_tick), *data = NULL;
        _cleanup_(run_record_freep) RunRecord *record = run_record_new(job, run);
        g_autofree char *jobs = g_strconcat(ROLL_ROOT "/jobs/", job, NULL),
                        *runs = g_strconcat(jobs, "/runs", NULL);

        record->tick = roll_tick;
        record->attempt = 1;
        record->node = g_strdup(node);
        record->state = state;
        record->claimed = (usec_t)roll_tick * USEC_PER_SEC;
        record->terms.roll = true;
        record->terms.rejoin_timeout = USEC_PER_SEC;
        record->terms.reboot = reboot;
        data = run_record_encode(record);
        server_create(jobs, "", 0);
        server_create(runs, "", 0);
        server_create(path, data, 0);
}

static void put_record(const char *node, RunState state) {
        put_record_of(node, state, JOB_REBOOT_INTERRUPTS);
}

static bool is_skipped(void) {
        g_autofree char *path = roll_record_path("n1", "0");

        return server_node(path);
}

static void expect_skipped(const char *why) {
        g_autofree char *path = roll_record_path("n1", "0");

        await(is_skipped, "it is skipped");
        cr_expect_not_null(strstr(server_data(path), why), "%s", server_data(path));
        cr_expect_eq(started->len, 0U);
}

Test(roll_look, a_claim_says_that_the_run_is_under_way) {
        roll_begin("    max-failures: 1\n", NULL);
        await(roll_has_started, "a start");
        roll_expect("n1 claimed");
        service_exit(service_newest(), 0);
        await(roll_is_over, "its end");
        cr_expect_str_eq(server_data(ROLL_PATH), ROLL_NOTHING);
}

Test(roll_look, nobody_begins_in_a_roll_that_has_stopped) {
        roll_begin("    max-failures: 1\n", "n2 failed");
        expect_skipped("roll-stopped: failed on n2 (");
        roll_expect("n2 failed");
}

Test(roll_look, one_that_may_fail_more_often_goes_on) {
        roll_begin("    max-failures: 2\n", "n2 failed");
        await(roll_has_started, "a start");
        roll_expect("n2 failed n1 claimed");
}

Test(roll_look, where_all_begin_together_a_claim_writes_nothing) {
        roll_begin("    max-failures: 1\n    lock: shared\n", "n2 claimed");
        await(roll_has_started, "a start");
        roll_expect("n2 claimed");
}

/* Whatever names it, alone or in a transaction. */
static ServerWay count_asked(const ZkCall *call) {
        tries += call->path && strstr(call->path, "/rolls/");
        for (size_t i = 0; i < call->n_ops; i++)
                tries += strstr(call->ops[i].path, "/rolls/") != NULL;
        return SERVER_ANSWER;
}

static void run_counted(const char *keys) {
        roll_begin(keys, "n2 failed");
        server.way = count_asked;
        await(roll_has_started, "a start");
        service_exit(service_newest(), 1);
        await(roll_is_over, "its end");
}

Test(roll_look, without_the_key_nothing_is_read_or_written) {
        run_counted("");
        roll_expect("n2 failed");
        cr_expect_eq(tries, 0U);
}

/* To claim: it is current, it is read and written; to settle, read and written. */
Test(roll_look, with_the_key_it_is_asked_for_twice_and_written_twice) {
        run_counted("    max-failures: 2\n");
        roll_expect("n2 failed n1 failed");
        cr_expect_eq(tries, 5U);
}

static char *why_it_waits(void) {
        return scheduled_job_why(job_table_find(coordinator->jobs, "a@n1"));
}

static bool is_told(void) {
        return journal_count(MESSAGE_REFUSED) > 0;
}

/* Somebody closed it: nothing begins, and people see why. */
Test(roll_look, what_cannot_be_read_is_told) {
        g_autofree char *why = NULL;

        roll_begin("    max-failures: 1\n", "");
        server.unreadable = ROLL_PATH;
        await(is_told, "it is told");
        cr_expect(journal_has(ROLL_PATH ": "));
        why = why_it_waits();
        cr_expect_not_null(strstr(why, ROLL_PATH ": "), "%s", why);
        cr_expect_eq(started->len, 0U);
}

static bool is_waiting(void) {
        return clock_realtime() > ((usec_t)roll_tick + 3) * USEC_PER_SEC;
}

/* Its node is gone, and its lock with it; nobody has settled it yet. */
Test(roll_look, who_died_is_waited_for_until_it_is_settled) {
        roll_begin("    max-failures: 2\n    start-deadline: 1s\n", "n2 claimed");
        put_record("n2", RUN_CLAIMED);
        await(is_waiting, "it is past the deadline");
        cr_expect_eq(started->len, 0U);
        cr_expect_not(is_skipped(), "it waits on");
        roll_write("n2 unknown");
        await(roll_has_started, "a start");
        roll_expect("n2 unknown n1 claimed");
}

/* With its lock held all the time. */
Test(roll_look, whose_turn_does_not_come_in_time_is_skipped) {
        g_autofree char *why = NULL;

        roll_begin("    max-failures: 2\n    start-deadline: 1s\n    lock-wait: 1s\n",
                   "n2 claimed");
        put_record("n2", RUN_CLAIMED);
        why = g_strdup_printf("lock-wait: its turn did not come in time: its turn comes when the "
                              "run %" G_GINT64_FORMAT "-1 on n2 is settled",
                              roll_tick);
        expect_skipped(why);
        cr_expect_eq(server_count(ROLL_ROOT "/locks/job:a"), 0U);
}

Test(roll_look, who_died_may_be_the_failure_that_stops_it) {
        roll_begin("    max-failures: 1\n", "n2 claimed");
        put_record("n2", RUN_CLAIMED);
        await(is_waiting, "it waits");
        cr_expect_eq(started->len, 0U);
        roll_write("n2 unknown");
        expect_skipped("roll-stopped: unknown on n2 (");
}

Test(roll_look, whose_record_is_gone_is_waited_for_no_more) {
        roll_begin("    max-failures: 1\n", "n2 claimed");
        await(roll_has_started, "a start");
        roll_expect("n1 claimed");
}

Test(roll_look, nor_is_whose_record_says_that_it_is_over) {
        roll_begin("    max-failures: 1\n", "n2 claimed");
        put_record("n2", RUN_SUCCEEDED);
        await(roll_has_started, "a start");
        roll_expect("n1 claimed");
}

/* Whoever settled it did not say so in the roll. */
Test(roll_look, whose_record_says_that_it_has_failed_counts) {
        roll_begin("    max-failures: 1\n", "n2 claimed");
        put_record("n2", RUN_FAILED);
        expect_skipped("roll-stopped: failed on n2 (");
}

Test(roll_look, whose_record_says_that_it_has_failed_is_noted) {
        roll_begin("    max-failures: 2\n", "n2 claimed");
        put_record("n2", RUN_UNKNOWN);
        await(roll_has_started, "a start");
        roll_expect("n2 unknown n1 claimed");
}

static ServerWay keep_look(const ZkCall *call) {
        return call->request == REQUEST_GET && g_str_equal(call->path, ROLL_PATH) ? SERVER_KEEP
                                                                                  : SERVER_ANSWER;
}

static bool is_looked_at(void) {
        return g_queue_get_length(&server.kept) == 1;
}

static bool knows_the_pause(void) {
        return control_is_paused(drain_view_control(tree_drain_view(coordinator->tree)), NULL,
                                 clock_realtime(), NULL);
}

/* Meanwhile something was heard that forbids what was decided. */
Test(roll_look, nothing_begins_that_is_paused_while_it_looks) {
        roll_begin("    max-failures: 1\n", "n2 succeeded");
        server.way = keep_look;
        await(is_looked_at, "it looks");
        server_write(
            ROLL_ROOT "/control",
            "{\"paused\":{\"all\":{\"by\":\"bob\",\"why\":\"new db\",\"since\":1763000000}}}");
        await(knows_the_pause, "it is paused");
        server.way = NULL;
        server_release();
        serve_for(USEC_PER_SEC);
        cr_expect_eq(started->len, 0U);
}

static bool is_told_as_damaged(void) {
        return journal_count(MESSAGE_ROLL_DAMAGED) > 0;
}

/* It may have said that the roll has stopped: nothing begins, and people see why. */
Test(roll_look, nobody_begins_where_what_is_known_is_damaged) {
        g_autofree char *why = NULL;

        roll_begin("    max-failures: 1\n", "n2 failed");
        server_write(ROLL_PATH, "{\"runs\":[{\"tick\":0}]}");
        await(is_told_as_damaged, "it is told");
        cr_expect(journal_has(ROLL_PATH ": it is damaged"));
        why = why_it_waits();
        cr_expect_not_null(strstr(why, "none begins until it is deleted"), "%s", why);
        await_quiet();
        cr_expect_eq(started->len, 0U);
        cr_expect_eq(journal_count(MESSAGE_ROLL_DAMAGED), 1U);
        cr_expect_str_eq(server_data(ROLL_PATH), "{\"runs\":[{\"tick\":0}]}", "people see it");
        cr_expect_eq(server_count(ROLL_ROOT "/locks/job:a"), 0U, "it is in nobody's way");
}

/* As the manual says. */
Test(roll_look, whoever_deletes_what_is_damaged_has_it_go_on) {
        roll_begin("    max-failures: 1\n", "n2 failed");
        server_write(ROLL_PATH, "");
        await(is_told_as_damaged, "it is told");
        server_remove(ROLL_PATH);
        reload();
        await(roll_has_started, "a start");
        roll_expect("n1 claimed");
}

Test(roll_look, what_is_missed_meanwhile_was_so_for_that_reason) {
        roll_begin("    max-failures: 1\n    start-deadline: 20s\n", "");
        server_write(ROLL_PATH, "junk");
        await(is_told_as_damaged, "it is told");
        await_within(is_skipped, "it is skipped", 60 * USEC_PER_SEC); /* the next try is far off */
        expect_skipped("missed: what is known of its roll was damaged");
}

/* Another node settles its failure right between what we read and what we write. */
static ServerWay n2_fails_meanwhile(const ZkCall *call) {
        if (call_has(call, ZK_OP_CREATE, "/jobs/a@n1/runs/") &&
            call_has(call, ZK_OP_SET, ROLL_PATH) && tries++ == 0)
                roll_write("n2 failed");
        return SERVER_ANSWER;
}

Test(roll_look, a_failure_that_comes_before_the_claim_makes_it_stale) {
        roll_begin("    max-failures: 1\n", "");
        server.way = n2_fails_meanwhile;
        expect_skipped("roll-stopped: failed on n2 (");
        cr_expect_eq(tries, 1U);
}

/* ---- what is seen of a server that lags ---- */

static unsigned claims, reads;
static char *blocker_path;

/* Right before it is looked at, and before the server hears of it. */
static ServerWay n2_has_failed_already(const ZkCall *call) {
        claims += is_claim(call);
        if (g_strcmp0(call->path, ROLL_PATH) == 0 && tries++ == 0)
                roll_write("n2 failed");
        return SERVER_ANSWER;
}

Test(roll_look, what_others_were_told_is_read) {
        roll_begin("    max-failures: 1\n", "");
        server.way = n2_has_failed_already;
        server_lag();
        expect_skipped("roll-stopped: failed on n2 (");
        cr_expect_eq(claims, 0U, "nothing is tried by what was");
}

static ServerWay n2_is_settled_already(const ZkCall *call) {
        if (g_strcmp0(call->path, blocker_path) != 0)
                return SERVER_ANSWER;
        reads += call->request == REQUEST_GET;
        if (tries++ == 0) {
                server_remove(blocker_path);
                put_record("n2", RUN_SUCCEEDED);
        }
        return SERVER_ANSWER;
}

Test(roll_look, so_is_how_a_run_has_ended_that_is_in_the_way) {
        roll_begin("    max-failures: 1\n", "n2 claimed");
        put_record("n2", RUN_CLAIMED);
        blocker_path = roll_record_path("n2", "1");
        server.way = n2_is_settled_already;
        server_lag();
        await(roll_has_started, "a start");
        cr_expect_eq(reads, 1U, "it is not waited for");
        g_free(blocker_path);
}

/* Ever so many others are quicker. */
static ServerWay others_are_quicker(const ZkCall *call) {
        if (call_has(call, ZK_OP_CREATE, "/jobs/a@n1/runs/") &&
            call_has(call, ZK_OP_SET, ROLL_PATH) && ++tries <= 12)
                roll_write(tries % 2 ? "n2 failed" : "");
        return SERVER_ANSWER;
}

Test(roll_look, who_is_outrun_keeps_its_place) {
        roll_begin("    max-failures: 2\n    start-deadline: 2s\n", "");
        server.way = others_are_quicker;
        await(roll_has_started, "a start");
        cr_expect_eq(tries, 13U);
        roll_expect("n1 claimed");
}

/* Who began it goes on, whatever has become of the others since. */
Test(roll_look, a_further_attempt_is_made_in_a_roll_that_has_stopped) {
        roll_begin("    max-failures: 1\n    retries: {attempts: 2, delay: 1s}\n", "");
        await(roll_has_started, "a start");
        roll_write("n2 failed n1 claimed");
        service_exit(service_newest(), 1);
        await(roll_is_over, "its end");
        roll_expect("n2 failed");
        g_ptr_array_set_size(started, 0);
        await(roll_has_started, "the second attempt");
        cr_expect_not_null(strstr(server_data(ROLL_PATH), "-2\",\"state\":\"claimed\""), "%s",
                           server_data(ROLL_PATH));
}

/* Somebody deleted where they are. */
Test(roll_look, their_directory_is_made_again) {
        roll_begin("    max-failures: 1\n", NULL);
        server_remove(ROLL_ROOT "/rolls");
        await(roll_has_started, "a start");
        roll_expect("n1 claimed");
}

static bool is_past_the_tick(void) {
        return clock_realtime() > ((usec_t)roll_tick + 1) * USEC_PER_SEC;
}

Test(roll_look, what_cannot_be_read_is_read_again) {
        roll_begin("    max-failures: 2\n", "n2 failed");
        server.broken = ROLL_PATH;
        await(is_past_the_tick, "it is tried");
        cr_expect_eq(started->len, 0U);
        server.broken = NULL;
        await(roll_has_started, "a start");
        roll_expect("n2 failed n1 claimed");
}

/* ---- machines that are to come back ---- */

#define REJOIN "    rejoin-timeout: 15s\n"
#define N2 ROLL_ROOT "/nodes/n2"

static void put_member(const char *boot, MemberBusy busy) {
        _cleanup_(member_freep) Member *member = member_new("n2");
        g_autofree char *data = NULL;

        member->machine = g_strdup("m2");
        member->boot = g_strdup(boot);
        member->busy = busy;
        data = member_encode(member);
        server_create(N2, data, 77);
}

static void expect_waits(const char *why) {
        g_autofree char *text = NULL;

        await(is_waiting, "it waits");
        text = why_it_waits();
        cr_expect_not_null(strstr(text, why), "%s", text);
        cr_expect_eq(started->len, 0U);
        cr_expect_not(is_skipped());
}

Test(roll_look, whose_machine_is_away_is_waited_for) {
        roll_begin(REJOIN, "n2 succeeded@0");
        expect_waits("its turn comes when n2 is a member again after its run ");
        put_member("b2", MEMBER_FREE);
        await(roll_has_started, "a start");
        roll_expect("n1 claimed");
}

/* Once what is known of the roll is read. */
static ServerWay n2_is_back_already(const ZkCall *call) {
        bool syncs = call->request == REQUEST_SYNC && g_strcmp0(call->path, ROLL_PATH) == 0,
             looks = call->request == REQUEST_GET && g_strcmp0(call->path, N2) == 0;

        reads += looks;
        tries += syncs;
        if ((tries == 2 || looks) && !server_node(N2))
                put_member("b2", MEMBER_FREE);
        return SERVER_ANSWER;
}

Test(roll_look, whose_machine_is_back_by_then_is_not_waited_for) {
        roll_begin(REJOIN, "n2 succeeded@0");
        server.way = n2_is_back_already;
        server_lag();
        await(roll_has_started, "a start");
        cr_expect_eq(reads, 1U);
}

Test(roll_look, whose_machine_failed_and_is_back_has_failed) {
        roll_begin(REJOIN "    max-failures: 2\n", "n2 failed@0");
        put_member("b2", MEMBER_FREE);
        await(roll_has_started, "a start");
        roll_expect("n2 failed n1 claimed");
}

Test(roll_look, whose_machine_was_there_all_the_time_has_some_seconds_to_go_down) {
        roll_begin(REJOIN, "n2 succeeded@5");
        put_member("b1", MEMBER_FREE);
        expect_waits("its turn comes when n2 is a member again after its run ");
        await(roll_has_started, "it stays");
        cr_expect_geq(clock_realtime(), ((usec_t)roll_tick + 5) * USEC_PER_SEC);
        roll_expect("n1 claimed");
}

Test(roll_look, whose_machine_is_going_down_is_not_back) {
        roll_begin(REJOIN, "n2 succeeded@11");
        put_member("b1", MEMBER_STOPPING);
        expect_waits("its turn comes when n2 is a member again after its run ");
}

/* And stays stopped when it comes after all. */
Test(roll_look, whose_machine_is_late_stops_the_roll) {
        roll_begin(REJOIN, "n2 succeeded@16");
        expect_skipped("roll-stopped: n2 is not back since its run ");
        roll_expect("n2 succeeded@16!");
}

Test(roll_look, whose_machine_was_late_has_stopped_the_roll) {
        roll_begin(REJOIN, "n2 succeeded@16!");
        put_member("b2", MEMBER_FREE);
        expect_skipped("roll-stopped: n2 is not back since its run ");
        roll_expect("n2 succeeded@16!");
}

/* Another node is quicker to say so. */
static ServerWay n2_is_said_to_be_late(const ZkCall *call) {
        if (call->request == REQUEST_SET && g_str_equal(call->path, ROLL_PATH) && tries++ == 0)
                roll_write("n2 succeeded@16!");
        return SERVER_ANSWER;
}

Test(roll_look, of_two_that_see_that_it_is_late_one_says_so) {
        roll_begin(REJOIN, "n2 succeeded@16");
        server.way = n2_is_said_to_be_late;
        expect_skipped("roll-stopped: n2 is not back since its run ");
        roll_expect("n2 succeeded@16!");
        cr_expect_eq(tries, 1U);
}

Test(roll_look, whose_machine_is_back_late_but_before_anybody_looks_stops_nothing) {
        roll_begin(REJOIN, "n2 succeeded@16");
        put_member("b2", MEMBER_FREE);
        await(roll_has_started, "a start");
}

/* Its lock is free, so its node is gone: it is settled by that when it is back. */
Test(roll_look, whose_machine_reboots_over_its_run_is_waited_for) {
        roll_begin(REJOIN, "n2 claimed");
        put_record("n2", RUN_CLAIMED);
        expect_waits("its turn comes when n2 is back and its run ");
}

/* Whoever settled it did not say so in the roll. */
Test(roll_look, whose_record_says_that_it_is_over_is_to_come_back) {
        roll_begin(REJOIN, "n2 claimed");
        put_record("n2", RUN_SUCCEEDED);
        expect_waits("its turn comes when n2 is a member again after its run ");
}

/* The file of this machine does not ask for it. */
Test(roll_look, who_waits_for_nobody_looks_for_no_machine) {
        roll_begin("    max-failures: 1\n", "n2 succeeded@0");
        await(roll_has_started, "a start");
        roll_expect("n2 succeeded@0 n1 claimed");
}

/* Its node vanished over it. */
static void put_orphan(JobReboot reboot) {
        g_autofree char *run = run_id_for_tick(roll_tick, 1),
                        *open = path_open_run(ROLL_ROOT, "n2", "a@n2", run);

        put_record_of("n2", RUN_CLAIMED, reboot);
        server_create(ROLL_ROOT "/open/n2", "", 0);
        server_create(open, "", 0);
        orphans_node_left(coordinator->left.orphans, "n2");
}

static bool is_said_of_n2(const char *what) {
        return strstr(server_data(ROLL_PATH), what);
}

static bool is_unknown(void) {
        return is_said_of_n2("\"unknown\"");
}

/* It has been waited for, and is so once. */
Test(roll_look, whose_machine_was_not_back_from_its_reboot_stops_the_roll_at_once) {
        roll_begin(REJOIN "    reboot: success\n", "n2 claimed");
        put_orphan(JOB_REBOOT_SUCCESS);
        await(is_unknown, "it is given up");
        cr_expect(is_said_of_n2("\"late\":true"), "%s", server_data(ROLL_PATH));
        expect_skipped("roll-stopped: n2 is not back since its run ");
}

Test(roll_look, whose_machine_vanished_over_its_run_may_still_come_back) {
        roll_begin(REJOIN, "n2 claimed");
        put_orphan(JOB_REBOOT_INTERRUPTS);
        await(is_unknown, "it is given up");
        cr_expect(is_said_of_n2("\"since\""), "%s", server_data(ROLL_PATH));
        cr_expect_not(is_said_of_n2("\"late\""), "%s", server_data(ROLL_PATH));
        expect_waits("its turn comes when n2 is a member again after its run ");
}

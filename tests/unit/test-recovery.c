/* Finding our own open runs again, in a whole daemon (daemon-fixture.h). What is no matter of
 * single looks is tested by a daemon that is started beside what another left
 * (test-lost-records.c); here a second Recovery beside the daemon's own says to the test what it
 * says to a daemon. */
#include "recovery.h"

#include "counted-reads.h"
#include "daemon-fixture.h"
#include "journal.h"
#include "paths.h"
#include "read-window.h"
#include "unit-spec.h"

#define OPEN "/jobkeeper/open/n1"
#define RUNS "/jobkeeper/jobs/a/runs"
#define RUN "1000000000-1"
#define UNIT "jobkeeper-a-" RUN ".service"
#define NONCE "00000000000000000000000000000001"

static Recovery *recovery;
static unsigned recovered, undoubted;

static void on_recovered(void *userdata) {
        (void)userdata;
        recovered++;
}

static void on_undoubted(void *userdata) {
        (void)userdata;
        undoubted++;
}

static const RecoveryEvents events = {on_recovered, on_undoubted};

static bool is_ready(void) {
        return node_is_ready(coordinator->node) && server_node(RUNS);
}

static void setup_recovery(void) {
        setup();
        write_job("    exec: [/bin/true]\n");
        open_daemon();
        await(is_ready, "ready");
        recovery =
            recovery_new(coordinator->node, coordinator->units, coordinator->runs, &events, NULL);
}

static void teardown_recovery(void) {
        recovery = recovery_free(recovery);
        teardown();
}

TestSuite(recovery, .init = setup_recovery, .fini = teardown_recovery);

/* A run that a process before this one claimed, or a claim whose answer was lost. */
static void leave_open_since(const char *state, usec_t claimed) {
        g_autofree char *data = g_strdup_printf(
            "{\"run\":\"" RUN "\",\"job\":\"a\",\"tick\":1000000000,\"attempt\":1,\"state\":\"%s\","
            "\"node\":\"n1\",\"unit\":\"" UNIT "\",\"nonce\":\"" NONCE "\",\"boot\":\"%s\","
            "\"claimed\":%" PRIu64 "}",
            state, coordinator->node->boot_id, claimed / USEC_PER_SEC);

        if (!server_node(OPEN))
                server_create(OPEN, "", 0);
        server_create(OPEN "/a:" RUN, "", 0);
        server_create(RUNS "/" RUN, data, 0);
}

static void leave_open(const char *state) {
        leave_open_since(state, 1000000000 * USEC_PER_SEC);
}

static bool is_recovered(void) {
        return recovered > 0;
}

static bool is_undoubted(void) {
        return undoubted > 0;
}

static bool is_settled(void) {
        return !server_node(OPEN "/a:" RUN);
}

static void expect_unknown(void) {
        cr_expect_not_null(strstr(server_data(RUNS "/" RUN), "\"state\":\"unknown\""), "%s",
                           server_data(RUNS "/" RUN));
        cr_expect_eq(started->len, 0U, "and never started");
}

/* ---- what is found ---- */

Test(recovery, where_nothing_is_open_it_is_told_at_once) {
        recovery_start(recovery, true);
        cr_expect_eq(recovered, 0U, "never from inside");
        await(is_recovered, "it is told");
        cr_expect_eq(undoubted, 1U);
        cr_expect_not(recovery_doubts(recovery, NULL));
        cr_expect_not(recovery_doubts(recovery, UNIT));
        serve_for(USEC_PER_SEC + USEC_PER_SEC / 5);
        cr_expect_eq(recovered, 1U, "and once");
}

Test(recovery, what_was_claimed_and_has_no_unit_is_unknown) {
        leave_open("claimed");
        recovery_start(recovery, true);
        await(is_recovered, "it is told");
        cr_expect_not_null(runs_find(coordinator->runs, "a:" RUN), "found before it is told");
        await(is_settled, "it is settled");
        expect_unknown();
}

static void expect_without_unit(usec_t claimed, const char *state) {
        service_manager.fence_left = clock_monotonic() - USEC_PER_MINUTE;
        leave_open_since("claimed", claimed);
        recovery_start(recovery, true);
        await(is_settled, "it is settled");
        cr_expect_not_null(strstr(server_data(RUNS "/" RUN), state), "%s",
                           server_data(RUNS "/" RUN));
        cr_expect_eq(started->len, 0U, "and never started");
}

/* It may have ended well when the fence had it stopped, and then PID 1 forgets it. */
Test(recovery, what_was_claimed_before_the_fence_left_off_and_has_no_unit_is_interrupted) {
        expect_without_unit(clock_realtime() - 2 * USEC_PER_MINUTE,
                            "\"state\":\"interrupted\",\"why\":\"stopped with its fence");
}

Test(recovery, what_was_claimed_after_the_fence_left_off_and_has_no_unit_is_unknown) {
        expect_without_unit(clock_realtime() - USEC_PER_SEC, "\"state\":\"unknown\"");
}

static bool is_adopted(void) {
        return service_find(UNIT)->unit;
}

static bool has_failed(void) {
        return strstr(server_data(RUNS "/" RUN), "\"state\":\"failed\"");
}

Test(recovery, what_runs_is_followed_to_its_end) {
        leave_open("claimed");
        (void)service_add(UNIT, NONCE, UNIT_SLICE);
        recovery_start(recovery, true);
        await(is_adopted, "its unit is found");
        cr_expect_eq(recovered, 1U);
        service_exit(service_find(UNIT), 3);
        await(has_failed, "its result is written");
        cr_expect_eq(started->len, 0U);
}

Test(recovery, what_has_its_result_is_left_alone) {
        leave_open("succeeded");
        recovery_start(recovery, true);
        await(is_recovered, "it is told");
        cr_expect_null(runs_find(coordinator->runs, "a:" RUN));
        cr_expect_eq(undoubted, 1U);
}

/* The unit of the first would be that of a run of job "a-b". */
Test(recovery, what_is_no_open_run_is_passed_over) {
        server_create(OPEN, "", 0);
        server_create(OPEN "/a:b-" RUN, "", 0);
        server_create(OPEN "/a", "", 0);
        server_create(OPEN "/$(x):" RUN, "", 0);
        recovery_start(recovery, true);
        await(is_recovered, "it is told");
        cr_expect_eq(undoubted, 1U);
        cr_expect_eq(runs_count(coordinator->runs), 0U);
}

static bool reads_record(const ZkCall *call) {
        return call->request == REQUEST_GET && g_str_equal(call->path, RUNS "/" RUN);
}

static unsigned records_read;

static ServerWay count_records(const ZkCall *call) {
        records_read += reads_record(call);
        return SERVER_ANSWER;
}

/* Its answer says what became of it. */
Test(recovery, what_is_being_claimed_is_not_looked_into) {
        leave_open("claimed");
        runs_claim_begins(coordinator->runs, "a:" RUN);
        server.way = count_records;
        recovery_start(recovery, true);
        await(is_recovered, "it is told");
        cr_expect_eq(records_read, 0U);
        runs_claim_ends(coordinator->runs, "a:" RUN);
}

#define MANY 300

static bool all_are_read(void) {
        (void)counted_reads_serve();
        return is_recovered();
}

/* Anybody who reaches the server can put any number of entries there. */
Test(recovery, very_many_are_read_a_few_at_a_time) {
        server_create(OPEN, "", 0);
        for (unsigned i = 0; i < MANY; i++) {
                g_autofree char *entry = g_strdup_printf(OPEN "/a:%u-1", 1000000000 + i),
                                *record = g_strdup_printf(RUNS "/%u-1", 1000000000 + i),
                                *data = g_strdup_printf(
                                    "{\"run\":\"%u-1\",\"job\":\"a\",\"state\":\"failed\"}",
                                    1000000000 + i);

                server_create(entry, "", 0);
                server_create(record, data, 0);
        }
        counted_reads_begin(RUNS);
        recovery_start(recovery, true);
        await(all_are_read, "it is told");
        counted_reads_end();
        cr_expect_eq(counted_reads_served(), (unsigned)MANY);
        cr_expect_eq(counted_reads_most(), (unsigned)READ_WINDOW_SIZE);
}

/* ---- what cannot be read ---- */

Test(recovery, what_lives_and_cannot_be_read_is_in_doubt_until_it_ends) {
        leave_open("claimed");
        server_set(server_node(RUNS "/" RUN), "][");
        (void)service_add(UNIT, NONCE, UNIT_SLICE);
        recovery_start(recovery, true);
        await(is_recovered, "it is told all the same");
        cr_expect(recovery_doubts(recovery, UNIT));
        cr_expect(recovery_doubts(recovery, NULL));
        cr_expect_not(recovery_doubts(recovery, "jobkeeper-a-1000000000-2.service"));
        cr_expect_eq(undoubted, 0U);
        serve_for(2 * USEC_PER_SEC + USEC_PER_SEC / 5);
        cr_expect_eq(journal_count(MESSAGE_FOREIGN_DATA), 1U,
                     "named once, however often looked at");
        cr_expect_eq(service_find(UNIT)->stops, 0U);
        service_exit(service_find(UNIT), 0);
        await(is_undoubted, "it is over");
        cr_expect_not(recovery_doubts(recovery, NULL));
        cr_expect_eq(recovered, 1U);
        await(is_settled, "and settled");
        expect_unknown();
}

/* ---- answers that are lost ---- */

Test(recovery, nothing_is_told_before_the_list_was_read) {
        server.broken = OPEN;
        recovery_start(recovery, true);
        serve_for(USEC_PER_SEC + USEC_PER_SEC / 5);
        cr_expect_eq(recovered, 0U);
        server.broken = NULL;
        await(is_recovered, "it is told");
}

Test(recovery, nor_before_every_record_was) {
        leave_open("claimed");
        server.broken = RUNS "/" RUN;
        recovery_start(recovery, true);
        serve_for(USEC_PER_SEC + USEC_PER_SEC / 5);
        cr_expect_eq(recovered, 0U);
        server.broken = NULL;
        await(is_recovered, "it is told");
        cr_expect_not_null(runs_find(coordinator->runs, "a:" RUN));
}

static ServerWay refuse_records(const ZkCall *call) {
        return reads_record(call) ? SERVER_REFUSE : SERVER_ANSWER;
}

/* Somebody has changed its rights. */
Test(recovery, one_record_that_may_not_be_read_holds_up_nothing_else) {
        leave_open("claimed");
        server.way = refuse_records;
        server.refusal = ZK_NO_AUTH;
        recovery_start(recovery, true);
        await(is_undoubted, "nothing else waits");
        cr_expect_eq(journal_count(MESSAGE_FOREIGN_DATA), 1U);
        cr_expect_null(runs_find(coordinator->runs, "a:" RUN), "nothing is known of it");
        recovery_check(recovery);
        serve_for(USEC_PER_SEC + USEC_PER_SEC / 5);
        cr_expect_eq(journal_count(MESSAGE_FOREIGN_DATA), 1U, "named once");
        server.way = NULL;
        recovery_check(recovery);
        await(is_settled, "it is found and settled");
        expect_unknown();
}

/* Started by a version that had no fence, which was upgraded. */
Test(recovery, what_lives_and_may_not_be_read_is_in_doubt) {
        leave_open("claimed");
        (void)service_add(UNIT, NONCE, UNIT_SLICE_UNFENCED);
        server.way = refuse_records;
        server.refusal = ZK_NO_AUTH;
        recovery_start(recovery, true);
        await(is_recovered, "it is told all the same");
        cr_expect(recovery_doubts(recovery, UNIT));
        cr_expect_eq(undoubted, 0U);
        server.way = NULL;
        await(is_undoubted, "it is read");
        cr_expect_not_null(runs_find(coordinator->runs, "a:" RUN));
        service_exit(service_find(UNIT), 0);
}

static unsigned syncs;

static ServerWay lose_first_sync(const ZkCall *call) {
        return call->request == REQUEST_SYNC && g_str_equal(call->path, OPEN) && syncs++ == 0
                   ? SERVER_REFUSE
                   : SERVER_ANSWER;
}

/* Without it the list may be that of a server that is behind. */
Test(recovery, a_list_whose_sync_failed_does_not_count) {
        server.way = lose_first_sync;
        server.refusal = ZK_UNKNOWN;
        recovery_start(recovery, true);
        serve_for(USEC_PER_SEC / 2);
        cr_expect_eq(recovered, 0U);
        await(is_recovered, "it is told after another");
        cr_expect_eq(syncs, 2U);
}

/* ---- a claim's answer is lost ---- */

Test(recovery, a_lost_claim_is_found) {
        recovery_start(recovery, true);
        await(is_recovered, "it is told");
        leave_open("claimed");
        recovery_check(recovery);
        await(is_settled, "it is found and settled");
        expect_unknown();
        cr_expect_eq(recovered, 1U, "told once");
}

static ServerWay keep_list(const ZkCall *call) {
        return call->request == REQUEST_LIST && g_str_equal(call->path, OPEN) ? SERVER_KEEP
                                                                              : SERVER_ANSWER;
}

static bool is_kept(void) {
        return g_queue_get_length(&server.kept) == 1;
}

/* Also the first look, which may have been asked for before the claim was made. */
Test(recovery, one_that_is_lost_while_it_looks_is_looked_for_once_more) {
        server_create(OPEN, "", 0);
        server.way = keep_list;
        recovery_start(recovery, true);
        await(is_kept, "it looks");
        recovery_check(recovery);
        server.way = NULL;
        server_release();
        serve_for(USEC_PER_SEC / 2);
        cr_expect_eq(recovered, 0U, "that look does not count");
        leave_open("claimed");
        await(is_recovered, "it is told");
        cr_expect_not_null(runs_find(coordinator->runs, "a:" RUN));
}

static unsigned lists;

static ServerWay count_lists(const ZkCall *call) {
        lists += call->request == REQUEST_LIST && g_str_equal(call->path, OPEN);
        return SERVER_ANSWER;
}

Test(recovery, before_it_was_begun_nothing_is_looked_for) {
        server.way = count_lists;
        recovery_check(recovery);
        serve_for(USEC_PER_SEC + USEC_PER_SEC / 5);
        cr_expect_eq(lists, 0U);
        cr_expect_eq(recovered, 0U);
}

/* ---- the end of the session ---- */

Test(recovery, what_was_asked_before_a_reset_says_nothing) {
        leave_open("claimed");
        server.way = keep_list;
        recovery_start(recovery, true);
        await(is_kept, "it looks");
        recovery_reset(recovery);
        server.way = NULL;
        server_release();
        serve_for(USEC_PER_SEC + USEC_PER_SEC / 5);
        cr_expect_eq(recovered, 0U);
        cr_expect_null(runs_find(coordinator->runs, "a:" RUN));
        recovery_start(recovery, true);
        await(is_recovered, "it begins anew");
        cr_expect_not_null(runs_find(coordinator->runs, "a:" RUN));
}

Test(recovery, a_reset_forgets_what_was_in_doubt) {
        leave_open("claimed");
        server_set(server_node(RUNS "/" RUN), "][");
        (void)service_add(UNIT, NONCE, UNIT_SLICE);
        recovery_start(recovery, true);
        await(is_recovered, "it is told");
        cr_assert(recovery_doubts(recovery, UNIT));
        recovery_reset(recovery);
        cr_expect_not(recovery_doubts(recovery, NULL));
        recovered = 0;
        recovery_start(recovery, true);
        await(is_recovered, "it is told again");
        cr_expect_null(recovery_free(NULL));
}

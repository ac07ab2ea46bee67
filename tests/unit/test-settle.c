/* What a settle does when the other side is not as it was, in a whole daemon (daemon-fixture.h). */
#include "daemon-fixture.h"
#include "journal.h"
#include "ledger-change.h"
#include "ledger.h"
#include "paths.h"
#include "runs.h"

#define ROOT "/jobkeeper"
#define JOB_PATH ROOT "/jobs/a"
#define RUNS_PATH JOB_PATH "/runs"

static int64_t tick; /* of the run that is under way */

TestSuite(settle, .init = setup, .fini = teardown);

static bool has_started(void) {
        return service_newest() && service_newest()->state == SERVICE_RUNNING &&
               service_newest()->unit;
}

static bool is_over(void) {
        return runs_count(coordinator->runs) == 0;
}

static bool has_found_it(void) {
        return node_is_ready(coordinator->node) && runs_count(coordinator->runs) == 1;
}

static void start_one(const char *more) {
        tick = due_soon(more);
        await(has_started, "a start");
}

static char *run_path(unsigned attempt) {
        g_autofree char *run = run_id_for_tick(tick, attempt);

        return path_run(ROOT, "a", run);
}

static RunRecord *record_there(void) {
        g_autofree char *path = run_path(1);
        const char *data = server_data(path);
        RunRecord *record = NULL;

        cr_assert_eq(run_record_decode(data, strlen(data), &record), 0, "%s", data);
        return record;
}

static Ledger *ledger_there(void) {
        const char *data = server_data(JOB_PATH);
        Ledger *ledger = NULL;

        cr_assert_eq(ledger_decode(data, strlen(data), &ledger), 0, "%s", data);
        return ledger;
}

/* Somebody else writes it; nobody here is told. */
static void set_ledger(const Ledger *ledger) {
        g_autofree char *data = ledger_encode(ledger);

        server_set(server_node(JOB_PATH), data);
}

static void expect_state(RunState state) {
        _cleanup_(run_record_freep) RunRecord *record = record_there();

        cr_expect_eq(record->state, state, "%s", run_state_to_string(record->state));
}

/* ---- the mark ---- */

/* By the one in force each second is a tick, by ours there is but one. */
static void put_in_force(const char *schedule) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_there();

        ledger->mark = ledger->from = tick - 10;
        g_free(ledger->digest);
        ledger->digest = g_strdup("another");
        g_free(ledger->schedule);
        ledger->schedule = g_strdup(schedule);
        set_ledger(ledger);
}

Test(settle, the_mark_moves_by_the_schedule_in_force) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        start_one("");
        put_in_force("every 1s");
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        expect_state(RUN_SUCCEEDED);
        ledger = ledger_there();
        cr_expect_eq(ledger->mark, tick - 10, "what is owed is owed still");
        cr_assert_not_null(ledger_find_tick(ledger, tick));
        cr_expect_eq(ledger_find_tick(ledger, tick)->state, RUN_SUCCEEDED);
}

Test(settle, by_none_where_that_is_not_known) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        start_one("");
        put_in_force(NULL);
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        ledger = ledger_there();
        cr_expect_eq(ledger->mark, tick - 10);
}

/* It is too long to stand in the ledger, but it is ours. */
Test(settle, by_ours_where_ours_is_in_force) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        start_one("");
        ledger = ledger_there();
        g_clear_pointer(&ledger->schedule, g_free);
        set_ledger(ledger);
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        ledger_free(ledger);
        ledger = ledger_there();
        cr_expect_eq(ledger->mark, tick);
        cr_expect_eq(ledger->open->len, 0);
}

/* ---- what others wrote ---- */

/* Another node could not know how it would end. */
static void settled_as_unknown(void) {
        _cleanup_(run_record_freep) RunRecord *record = record_there();
        _cleanup_(ledger_freep) Ledger *ledger = ledger_there();
        g_autofree char *path = run_path(1), *data = NULL;

        record->state = RUN_UNKNOWN;
        record->ended = clock_realtime();
        data = run_record_encode(record);
        server_set(server_node(path), data);
        (void)ledger_settle(ledger, record, NULL, record->ended);
        set_ledger(ledger);
}

Test(settle, unknown_is_refined) {
        start_one("");
        settled_as_unknown();
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        expect_state(RUN_SUCCEEDED);
}

Test(settle, but_not_once_there_is_a_newer_attempt) {
        g_autofree char *path = NULL;

        start_one("");
        settled_as_unknown();
        path = run_path(2);
        server_create(path, "{}", 0);
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        expect_state(RUN_UNKNOWN);
        cr_expect_eq(server_count(ROOT "/locks/job:a"), 0, "its contender goes all the same");
}

/* Somebody deleted the job. */
Test(settle, nothing_is_left_to_write) {
        g_autofree char *path = NULL;

        start_one("");
        path = run_path(1);
        server_remove(path);
        server_remove(RUNS_PATH);
        server_remove(JOB_PATH);
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        cr_expect_eq(server_count(ROOT "/open/n1"), 0);
}

Test(settle, a_ledger_that_is_none_is_left_alone) {
        start_one("");
        server_set(server_node(JOB_PATH), "][");
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        expect_state(RUN_SUCCEEDED);
        cr_expect_str_eq(server_data(JOB_PATH), "][");
}

/* ---- answers that do not come ---- */

static unsigned tries;

static bool is_settle(const ZkCall *call) {
        return call_has(call, ZK_OP_DELETE, "/open/");
}

static ServerWay lose_the_first_answer(const ZkCall *call) {
        return is_settle(call) && tries++ == 0 ? SERVER_LOSE_ANSWER : SERVER_ANSWER;
}

Test(settle, an_answer_that_was_lost_is_read_back) {
        int32_t version;
        g_autofree char *path = NULL;

        start_one("");
        path = run_path(1);
        server.way = lose_the_first_answer;
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        version = server_node(path)->stat.version;
        cr_expect_eq(version, 1, "written once");
        cr_expect_eq(tries, 1);
        expect_state(RUN_SUCCEEDED);
}

static bool has_begun_again(void) {
        return started->len == 2;
}

/* Nobody else tells its owner that another attempt is owed, and no further tick comes. */
Test(settle, what_it_owes_is_read_back_as_well) {
        start_one("    retries: {attempts: 2, delay: 0}\n");
        server.way = lose_the_first_answer;
        service_exit(service_newest(), 1);
        await(has_begun_again, "another attempt");
        cr_expect_eq(tries, 1);
}

static ServerWay lose_the_first(const ZkCall *call) {
        return is_settle(call) && tries++ == 0 ? SERVER_LOSE : SERVER_ANSWER;
}

Test(settle, a_request_that_was_lost_is_repeated) {
        start_one("");
        server.way = lose_the_first;
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        cr_expect_eq(tries, 2);
        expect_state(RUN_SUCCEEDED);
}

/* Another node settles it right before it is looked at, and the server has not heard of it. */
static ServerWay lose_the_first_and_settle(const ZkCall *call) {
        g_autofree char *path = run_path(1);
        bool first = g_strcmp0(call->path, path) == 0 && tries == 1 && !server.shown;

        if (first) {
                server_lag();
                settled_as_unknown();
        }
        return lose_the_first(call);
}

Test(settle, what_is_read_is_not_what_a_server_shows_that_lags) {
        start_one("");
        server.way = lose_the_first_and_settle;
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        cr_expect_eq(tries, 2, "none is tried by what was");
        expect_state(RUN_SUCCEEDED);
}

static ServerWay refuse_three(const ZkCall *call) {
        server.refusal = ZK_NO_AUTH;
        return is_settle(call) && tries++ < 3 ? SERVER_REFUSE : SERVER_ANSWER;
}

static bool has_tried(void) {
        return tries > 0;
}

/* Nothing but a person can help, who is told, and it is not tried over and over. */
Test(settle, what_is_refused_has_tried_again) {
        start_one("");
        server.way = refuse_three;
        service_exit(service_newest(), 0);
        await(has_tried, "a try");
        serve_for(USEC_PER_SEC / 4);
        cr_expect_eq(tries, 1);
        cr_expect_eq(journal_count(MESSAGE_REFUSED), 1);
        await(is_over, "it is settled");
        cr_expect_eq(tries, 4);
        cr_expect_eq(journal_count(MESSAGE_REFUSED), 1);
        expect_state(RUN_SUCCEEDED);
}

static ServerWay close_the_first(const ZkCall *call) {
        server.refusal = ZK_CLOSED;
        return is_settle(call) && tries++ == 0 ? SERVER_REFUSE : SERVER_ANSWER;
}

Test(settle, what_a_session_leaves_unwritten_is_written_in_the_next) {
        start_one("");
        server.way = close_the_first;
        service_exit(service_newest(), 0);
        await(has_tried, "it is tried");
        serve_for(100 * USEC_PER_MSEC);
        cr_expect_not(is_over(), "nothing is written so far");
        server_expire(last_session);
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_CONNECTED);
        await(is_over, "it is settled");
        cr_expect_eq(tries, 2);
        expect_state(RUN_SUCCEEDED);
}

/* ---- a lock of a single node ---- */

#define SINGLE ROOT "/locks/r/lock"

static void start_with_single_node(void) {
        tree_write(root, "jobkeeper.yaml",
                   "node: {name: n1}\ntakeover-delay: 100ms\ndrain-timeout: 0\n"
                   "resources: {r: {naming: single-node}}\n");
        start_one("    locks: {r: exclusive}\n");
        cr_assert_not_null(server_node(SINGLE));
}

Test(settle, a_single_node_goes_with_the_run) {
        start_with_single_node();
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        cr_expect_null(server_node(SINGLE));
}

Test(settle, also_where_it_has_to_be_looked_for) {
        start_with_single_node();
        server.way = lose_the_first;
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        cr_expect_eq(tries, 2);
        cr_expect_null(server_node(SINGLE));
}

/* The session is over for us; the server has not ended it yet, and does so at any moment. */
static void settle_in_the_next_session(const char *lock) {
        int64_t owner = server_node(lock)->stat.ephemeral_owner,
                czxid = server_node(lock)->stat.czxid;

        server.way = close_the_first;
        service_exit(service_newest(), 0);
        await(has_tried, "it is tried");
        server_expire(last_session);
        server_create(lock, "", owner);
        server_node(lock)->stat.czxid = czxid;
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_CONNECTED);
        await(is_over, "it is settled");
        expect_state(RUN_SUCCEEDED);
}

Test(settle, but_not_that_of_the_session_before) {
        start_with_single_node();
        settle_in_the_next_session(SINGLE);
        cr_expect_not_null(server_node(SINGLE), "it goes by itself, if it is still that");
}

Test(settle, whose_contender_with_a_name_of_its_own_goes) {
        _cleanup_(run_record_freep) RunRecord *record = NULL;

        start_one("    locks: {r: exclusive}\n");
        record = record_there();
        settle_in_the_next_session(record->locks[0]);
        cr_expect_null(server_node(record->locks[0]));
}

/* Somebody deleted it, and another run of ours has it since. */
static ServerWay lose_the_first_and_the_lock(const ZkCall *call) {
        int64_t session = ((Zk *)ports->pdata[ports->len - 1])->session.id;

        if (!is_settle(call) || tries++ > 0)
                return SERVER_ANSWER;
        server_remove(SINGLE);
        server_create(SINGLE, "", session);
        return SERVER_LOSE;
}

Test(settle, nor_one_that_came_in_its_place) {
        start_with_single_node();
        server.way = lose_the_first_and_the_lock;
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        cr_expect_eq(tries, 2);
        cr_expect_not_null(server_node(SINGLE));
}

/* ---- old records ---- */

static void make_old_records(unsigned n) {
        for (unsigned i = 0; i < n; i++) {
                g_autofree char *path = g_strdup_printf(RUNS_PATH "/%u-1", 1000000000 + i);
                server_create(path, "{}", 0);
        }
}

static bool is_pruned(void) {
        return server_count(RUNS_PATH) == 4;
}

Test(settle, one_that_cannot_be_deleted_is_in_nobodys_way) {
        start_one("    history: 2\n");
        make_old_records(100);
        server_create(RUNS_PATH "/1000000000-1/child", "", 0);
        server_create(RUNS_PATH "/1000000001-not-a-run", "", 0);
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        expect_state(RUN_SUCCEEDED);
        await(is_pruned, "the others are deleted");
        cr_expect_not_null(server_node(RUNS_PATH "/1000000000-1"));
        cr_expect_not_null(server_node(RUNS_PATH "/1000000001-not-a-run"));
        cr_expect_not_null(server_node(RUNS_PATH "/1000000099-1"));
}

static bool has_two_records(void) {
        return server_count(RUNS_PATH) == 2;
}

static bool has_one_record(void) {
        return server_count(RUNS_PATH) == 1;
}

/* It tells how many there were: what is said beside it goes first. */
Test(settle, of_the_records_of_a_tick_its_last_attempt_is_kept_longest) {
        g_autofree char *second = NULL, *beside = NULL;

        start_one("    history: 1\n");
        second = run_path(2);
        beside = run_path(0);
        server_create(second, "{}", 0);
        server_create(beside, "{}", 0);
        service_exit(service_newest(), 0);
        await(has_one_record, "the others are deleted");
        cr_expect_not_null(server_node(second));
}

/* By their number, not as text. */
Test(settle, of_many_attempts_the_last_ones_are_kept) {
        start_one("    history: 2\n");
        for (unsigned attempt = 2; attempt <= 12; attempt++) {
                g_autofree char *path = run_path(attempt);
                server_create(path, "{}", 0);
        }
        service_exit(service_newest(), 0);
        await(has_two_records, "the others are deleted");
        for (unsigned attempt = 11; attempt <= 12; attempt++) {
                g_autofree char *path = run_path(attempt);
                cr_expect_not_null(server_node(path), "%s", path);
        }
}

static bool second_is_begun;

static void claim_second_elsewhere(void) {
        g_autofree char *path = run_path(2), *run = run_id_for_tick(tick, 2), *data = NULL;
        _cleanup_(run_record_freep) RunRecord *record = run_record_new("a", run);
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        data = g_strdup(server_data(ROOT "/jobs/a"));
        cr_assert_eq(ledger_decode(data, strlen(data), &ledger), 0);
        record->tick = tick;
        record->attempt = 2;
        record->node = g_strdup("n2");
        cr_assert_eq(ledger_claim(ledger, record), 0);
        g_free(data);
        data = ledger_encode(ledger);
        server_set(server_node(ROOT "/jobs/a"), data);
        server_create(path, "{}", 0);
}

/* Another node begins the next attempt, and writes of ticks that it skips. */
static void begin_second_elsewhere(void) {
        second_is_begun = true;
        claim_second_elsewhere();
        for (int64_t i = 1; i <= 3; i++) {
                g_autofree char *run = run_id_for_skip(tick + 60 * i),
                                *skipped = path_run(ROOT, "a", run);
                server_create(skipped, "{}", 0);
        }
}

/* ... just before what is old is listed. */
static ServerWay begin_second_before_list(const ZkCall *call) {
        _cleanup_(run_record_freep) RunRecord *first = record_there();

        if (call->request == REQUEST_LIST && strcmp(call->path, RUNS_PATH) == 0 &&
            first->state == RUN_FAILED && !second_is_begun)
                begin_second_elsewhere();
        return SERVER_ANSWER;
}

static bool is_second_begun(void) {
        return second_is_begun;
}

Test(settle, an_attempt_that_begins_meanwhile_is_not_old) {
        g_autofree char *second = NULL;

        start_one("    history: 2\n    retries: {attempts: 2, delay: 1h, max-delay: 1h}\n");
        second = run_path(2);
        server.way = begin_second_before_list;
        service_exit(service_newest(), 5);
        await(is_second_begun, "the records are listed");
        serve_for(100 * USEC_PER_MSEC);
        cr_expect_not_null(server_node(second));
}

/* How many are wanted is known to who has the job. */
Test(settle, who_does_not_have_the_job_deletes_none_of_its_records) {
        unsigned before;

        start_one("    history: 100\n");
        make_old_records(90);
        before = server_count(RUNS_PATH);
        tree_delete(root, "etc/jobkeeper/jobs.d/a.yaml");
        reload();
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        expect_state(RUN_SUCCEEDED);
        serve_for(200 * USEC_PER_MSEC);
        cr_expect_eq(server_count(RUNS_PATH), before);
}

static ServerWay keep_deletions(const ZkCall *call) {
        return call_has(call, ZK_OP_DELETE, RUNS_PATH "/") ? SERVER_KEEP : SERVER_ANSWER;
}

static bool is_kept(void) {
        return g_queue_get_length(&server.kept) > 0;
}

/* Whoever asked for it has forgotten it with the session. */
Test(settle, a_deletion_that_is_answered_after_the_session_is_lost_is_nobodys) {
        start_one("    history: 2\n");
        make_old_records(100);
        server.way = keep_deletions;
        service_exit(service_newest(), 0);
        await(is_kept, "old records are to be deleted");
        server.way = NULL;
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        server_release();
        serve_for(100 * USEC_PER_MSEC);
        cr_expect_null(server_node(RUNS_PATH "/1000000000-1"), "it was done");
}

static unsigned settlements;

static ServerWay count_settlements(const ZkCall *call) {
        settlements += call_has(call, ZK_OP_SET, RUNS_PATH "/");
        return SERVER_ANSWER;
}

/* Somebody has written to it since it was claimed. */
Test(settle, a_record_of_a_later_version_is_settled_with_one_transaction) {
        g_autofree char *path = NULL, *record = NULL;

        start_one("");
        close_daemon();
        path = run_path(1);
        record = g_strdup(server_data(path));
        server_write(path, record);
        open_daemon_again();
        await(has_found_it, "it is found");
        serve_for(200 * USEC_PER_MSEC); /* and so is the ledger */
        server.way = count_settlements;
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        expect_state(RUN_SUCCEEDED);
        cr_expect_eq(settlements, 1, "%u", settlements);
}

/* ---- jobs that never run ---- */

static bool has_skipped_three(void) {
        const char *data = server_data(JOB_PATH);
        Ledger *ledger = NULL;
        const LedgerEntry *entry;
        bool done;

        if (!*data || ledger_decode(data, strlen(data), &ledger) < 0)
                return false;
        entry = ledger->open->len > 0 ? ledger->open->pdata[0] : NULL;
        done = entry && entry->count >= 3;
        ledger_free(ledger);
        return done;
}

/* What is skipped tick after tick for the same reason is one record. */
Test(settle, a_job_that_is_only_skipped_has_one_record) {
        write_job("    every: 1s\n    exec: [/nonexistent]\n    start-deadline: 1s\n");
        open_daemon();
        await(has_skipped_three, "three are skipped");
        cr_expect_eq(server_count(RUNS_PATH), 1);
}

static bool has_skipped(void) {
        return server_count(RUNS_PATH) > 0;
}

static bool is_pruned_to_two(void) {
        return server_count(RUNS_PATH) == 2;
}

/* As a version before this one left them: no run comes to be settled, so the skips prune. */
Test(settle, what_only_skips_prunes_as_well) {
        write_job("    every: 1s\n    exec: [/nonexistent]\n    start-deadline: 1s\n"
                  "    history: 2\n");
        open_daemon();
        await(has_skipped, "one is skipped");
        make_old_records(200);
        await(is_pruned_to_two, "the oldest are deleted");
}

static bool is_pruned_to_four(void) {
        return server_count(RUNS_PATH) == 4;
}

/* Somebody had one of those ticks attempted: what is said of it stays as the last thing that the
 * ledger says, and would tell nothing of that attempt. */
Test(settle, the_attempt_of_a_tick_that_was_skipped_is_kept_as_long_as_that) {
        g_autofree char *path = NULL;
        Ledger *ledger = NULL;

        write_job("    every: 1s\n    exec: [/nonexistent]\n    start-deadline: 1s\n"
                  "    history: 2\n");
        open_daemon();
        await(has_skipped_three, "three are skipped");
        cr_assert_eq(ledger_decode(server_data(JOB_PATH), strlen(server_data(JOB_PATH)), &ledger),
                     0);
        path = g_strdup_printf(RUNS_PATH "/%" G_GINT64_FORMAT "-1",
                               ((const LedgerEntry *)ledger->open->pdata[0])->tick);
        ledger_free(ledger);
        server_create(path, "{}", 0);
        for (unsigned i = 0; i < 3; i++) {
                g_autofree char *newer = g_strdup_printf(RUNS_PATH "/%u-1", 4000000000U + i);
                server_create(newer, "{}", 0);
        }
        await(is_pruned_to_four, "the oldest that may go is deleted");
        cr_expect_not_null(server_node(path));
}

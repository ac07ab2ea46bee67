/* Runs that continue without their locks, in a whole daemon (daemon-fixture.h): nothing of what
 * befalls session, locks, daemon or fence ends them, and their results are written when there is a
 * session again. */
#include "daemon-fixture.h"
#include "fence-link.h"
#include "fence-stand-in.h"
#include "gate.h"
#include "job-table.h"
#include "ledger-change.h"
#include "ledger.h"
#include "life.h"
#include "paths.h"
#include "runs.h"
#include "unit-spec.h"

#define ROOT "/jobkeeper"
#define OPEN_PATH ROOT "/open/n1"
#define LOCK_PATH ROOT "/locks/job:a"
#define CONTINUES "    on-lock-loss: continue\n"

static int64_t tick; /* of the run that is under way */

TestSuite(continues, .init = setup, .fini = teardown);

static Run *the_run(void) {
        g_autoptr(GPtrArray) runs = runs_list(coordinator->runs);

        return runs->len > 0 ? runs->pdata[0] : NULL;
}

static bool is_running(void) {
        return the_run() && the_run()->phase == RUN_PHASE_RUNNING;
}

static bool is_ready(void) {
        return node_is_ready(coordinator->node);
}

static char *record_path(void) {
        g_autofree char *run = run_id_for_tick(tick, 1);

        return path_run(ROOT, "a", run);
}

static RunRecord *record_there(void) {
        g_autofree char *path = record_path();
        RunRecord *record = NULL;

        cr_assert_eq(run_record_decode(server_data(path), strlen(server_data(path)), &record), 0,
                     "%s: %s", path, server_data(path));
        return record;
}

static void start_one(void) {
        tick = due_soon(CONTINUES);
        await(is_running, "a start");
}

static bool is_settled(void) {
        return server_count(OPEN_PATH) == 0 && runs_count(coordinator->runs) == 0;
}

static void expect_state(RunState state) {
        _cleanup_(run_record_freep) RunRecord *record = NULL;

        await(is_settled, "it is settled");
        record = record_there();
        cr_expect_eq(record->state, state, "%s", run_state_to_string(record->state));
        cr_expect_eq(server_count(LOCK_PATH), 0);
}

static void expect_left_alone(void) {
        cr_expect(service_is_alive(service_newest()));
        cr_expect_eq(service_newest()->stops, 0);
        cr_expect_eq(service_newest()->kills, 0);
}

static bool is_away(void) {
        return !node_is_ready(coordinator->node);
}

static void lose_session(void) {
        server_expire(last_session);
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_EXPIRED);
        await(is_away, "the session is lost");
        serve_for(100 * USEC_PER_MSEC);
}

static void have_session_again(void) {
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_CONNECTED);
        await(is_ready, "another session");
}

/* ---- what it is begun with ---- */

Test(continues, its_record_says_so_and_its_unit_lives_apart_from_what_is_fenced) {
        _cleanup_(run_record_freep) RunRecord *record = NULL;

        tick = due_soon(CONTINUES "    takeover-after: 1h\n");
        await(is_running, "a start");
        record = record_there();
        cr_expect(record->continues);
        cr_expect_eq(record->terms.takeover_after, USEC_PER_HOUR);
        cr_expect_str_eq(service_newest()->slice, "system-jobkeeper-continue.slice");
        cr_expect_eq(server_count(LOCK_PATH), 1, "it has its lock as any other");
        service_exit(service_newest(), 0);
        expect_state(RUN_SUCCEEDED);
}

/* ---- the session ---- */

Test(continues, it_is_not_stopped_when_the_deadline_comes) {
        start_one();
        life_on_session(coordinator->session, SESSION_EVENT_STOP, coordinator);
        serve_for(200 * USEC_PER_MSEC);
        expect_left_alone();
        service_exit(service_newest(), 3);
        expect_state(RUN_FAILED);
}

Test(continues, a_lost_session_does_not_end_it_and_the_next_one_has_its_result) {
        start_one();
        lose_session();
        expect_left_alone();
        have_session_again();
        serve_for(200 * USEC_PER_MSEC);
        expect_left_alone();
        cr_expect_not(is_settled());
        service_exit(service_newest(), 0);
        expect_state(RUN_SUCCEEDED);
}

Test(continues, one_that_ends_without_a_session_is_settled_in_the_next) {
        start_one();
        lose_session();
        service_exit(service_newest(), 0);
        serve_for(100 * USEC_PER_MSEC);
        have_session_again();
        expect_state(RUN_SUCCEEDED);
}

static bool may_begin(void) {
        return gate_is_open(coordinator->gate);
}

/* Nothing else of this machine waits for its end. */
Test(continues, its_node_goes_on_beside_it) {
        start_one();
        lose_session();
        have_session_again();
        await(may_begin, "the gate is open");
        expect_left_alone();
        cr_expect_not(runs_have_lost(coordinator->runs));
}

Test(continues, a_lock_that_somebody_deletes_does_not_end_it) {
        g_autofree char *path = NULL;

        start_one();
        path = g_strdup(the_run()->record->locks[0]);
        server_delete(path);
        serve_for(200 * USEC_PER_MSEC);
        expect_left_alone();
        service_exit(service_newest(), 0);
        expect_state(RUN_SUCCEEDED);
}

/* ---- the fence ---- */

static bool is_linked(void) {
        return fence_link_instance(coordinator->fence);
}

static bool is_not_linked(void) {
        return !is_linked();
}

Test(continues, the_end_of_a_fence_does_not_end_it) {
        start_one();
        fence_stand_in.silent = true;
        fence_stand_in_replace();
        await(is_not_linked, "the fence is gone");
        fence_stand_in.silent = false;
        fence_stand_in_hang_up();
        await(is_linked, "another one");
        serve_for(200 * USEC_PER_MSEC);
        expect_left_alone();
}

static bool has_claimed(void) {
        return server.held;
}

/* It is nobody's business to guard it. */
Test(continues, one_that_is_claimed_when_the_fence_goes_begins) {
        server.hold_claims = true;
        tick = due_soon(CONTINUES);
        await(has_claimed, "a claim");
        fence_stand_in.silent = true;
        fence_stand_in_replace();
        await(is_not_linked, "the fence is gone");
        server.hold_claims = false;
        server_release();
        await(is_running, "a start");
}

/* ---- the daemon ---- */

/* The process goes, and its session with it. */
static void lose_process_and_session(void) {
        close_daemon();
        server_expire(last_session);
}

Test(continues, a_process_without_the_session_finds_it_and_leaves_it_alone) {
        start_one();
        lose_process_and_session();
        open_daemon();
        await(is_running, "it is found");
        serve_for(200 * USEC_PER_MSEC);
        expect_left_alone();
        service_exit(service_newest(), 3);
        expect_state(RUN_FAILED);
}

static void settle_as_other(void) {
        _cleanup_(run_record_freep) RunRecord *record = record_there();
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        g_autofree char *run = run_id_for_tick(tick, 1), *path = record_path(), *text = NULL,
                        *open = path_open_run(ROOT, "n1", "a", run);
        const char *data = server_data(ROOT "/jobs/a");

        record->state = RUN_UNKNOWN;
        record->ended = clock_realtime();
        record->why = g_strdup("node n1 disappeared during the run");
        text = run_record_encode(record);
        server_set(server_node(path), text);
        cr_assert_eq(ledger_decode(data, strlen(data), &ledger), 0);
        cr_assert_eq(ledger_settle(ledger, record, NULL, record->ended), 0);
        g_free(text);
        text = ledger_encode(ledger);
        server_set(server_node(ROOT "/jobs/a"), text);
        server_remove(open);
        server_forget_watches();
}

/* Nothing stands open for it any more, and it is known to be no leftover all the same. */
Test(continues, one_that_others_have_given_up_is_followed_to_its_end) {
        start_one();
        lose_process_and_session();
        settle_as_other();
        open_daemon();
        await(is_running, "it is found");
        serve_for(200 * USEC_PER_MSEC);
        expect_left_alone();
        service_exit(service_newest(), 0);
        expect_state(RUN_SUCCEEDED);
}

/* Return: whether a tick is recorded as skipped because of the run. */
static bool is_skipped_for_it(void) {
        g_autofree char *run = run_id_for_tick(tick, 1);
        g_autofree char *why =
            g_strdup_printf("overlap: the previous run, which was given up, goes on (%s)", run);
        GHashTableIter iterator;
        gpointer path, node;

        g_hash_table_iter_init(&iterator, server.nodes);
        while (g_hash_table_iter_next(&iterator, &path, &node))
                if (g_str_has_prefix(path, ROOT "/jobs/a/runs/") &&
                    strstr(((ServerNode *)node)->data, why))
                        return true;
        return false;
}

/* Nor does anybody stand in the queue for it each second. */
Test(continues, beside_one_that_was_given_up_none_begins_and_what_is_missed_says_why) {
        g_autofree char *why = NULL;

        start_one();
        lose_session();
        settle_as_other();
        have_session_again();
        write_job("    every: 1s\n    start-deadline: 2s\n    exec: [/bin/true]\n" CONTINUES);
        reload();
        await(is_skipped_for_it, "a tick is skipped for it");
        why = scheduled_job_why(job_table_find(coordinator->jobs, "a"));
        cr_expect(g_str_has_suffix(why, ", which was given up, goes on here"), "%s", why);
        cr_expect_eq(started->len, 1);
        cr_expect_eq(server_count(LOCK_PATH), 0);
        expect_left_alone();
}

static int64_t decided; /* a tick between those that are missed */

static ServerWay keep_reads_of_the_ledger(const ZkCall *call) {
        return call->request == REQUEST_GET && g_str_equal(call->path, ROOT "/jobs/a")
                   ? SERVER_KEEP
                   : SERVER_ANSWER;
}

static bool is_long_past(void) {
        return !g_queue_is_empty(&server.kept) &&
               clock_realtime() > (usec_t)(decided + 4) * USEC_PER_SEC;
}

/* Somebody ran it by hand, as it were, and it is over. */
static void decide_one(void) {
        const char *data = server_data(ROOT "/jobs/a");
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        _cleanup_(run_record_freep) RunRecord *record = NULL;
        g_autofree char *run = run_id_for_tick(decided, 1), *text = NULL;

        cr_assert_eq(ledger_decode(data, strlen(data), &ledger), 0);
        record = run_record_new("a", run);
        record->tick = decided;
        record->attempt = 1;
        record->node = g_strdup("n2");
        record->state = RUN_CLAIMED;
        cr_assert_eq(ledger_claim(ledger, record), 0);
        record->state = RUN_SUCCEEDED;
        cr_assert_eq(ledger_settle(ledger, record, NULL, clock_realtime()), 0);
        text = ledger_encode(ledger);
        server_set(server_node(ROOT "/jobs/a"), text);
}

static bool is_all_decided(void) {
        const char *data = server_data(ROOT "/jobs/a");
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        cr_assert_eq(ledger_decode(data, strlen(data), &ledger), 0);
        return ledger->mark > decided;
}

/* Several stretches at once have the same reason. */
Test(continues, and_so_does_what_is_missed_on_both_sides_of_another_tick) {
        start_one();
        lose_session();
        settle_as_other();
        have_session_again();
        write_job("    every: 1s\n    start-deadline: 2s\n    exec: [/bin/true]\n" CONTINUES);
        reload();
        await(is_skipped_for_it, "a tick is skipped for it");
        server.way = keep_reads_of_the_ledger;
        decided = (int64_t)(clock_realtime() / USEC_PER_SEC) + 1;
        await(is_long_past, "it was due");
        decide_one();
        server.way = NULL;
        server_release();
        await(is_all_decided, "what was due before and after it is skipped");
        expect_left_alone();
}

Test(continues, the_process_that_began_it_corrects_those_who_gave_it_up) {
        start_one();
        lose_session();
        settle_as_other();
        have_session_again();
        expect_left_alone();
        service_exit(service_newest(), 0);
        expect_state(RUN_SUCCEEDED);
}

Test(continues, a_stop_of_the_daemon_ends_it) {
        start_one();
        coordinator_stop(coordinator);
        await(is_settled, "it is settled");
        cr_expect_not(service_is_alive(service_newest()));
        expect_state(RUN_INTERRUPTED);
}

static bool nothing_lives(void) {
        return services_alive() == 0;
}

/* What stands behind it is gone: nobody would ever ask for its end. */
Test(continues, a_stop_of_the_daemon_ends_one_that_no_record_names) {
        start_one();
        (void)service_add("jobkeeper-b-1000-1.service", "00", UNIT_SLICE_CONTINUE);
        coordinator_stop(coordinator);
        await(nothing_lives, "an end of both");
        await(is_settled, "what is known is settled");
}

static bool is_being_stopped(void) {
        return service_newest()->stops > 0;
}

/* Its record keeps others from beginning meanwhile: it has all of its time to end. */
Test(continues, it_is_not_killed_where_the_session_goes_while_it_is_stopped) {
        start_one();
        service_manager.deaf = true;
        coordinator_stop(coordinator);
        await(is_being_stopped, "a stop");
        server_expire(last_session);
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_EXPIRED);
        serve_for(200 * USEC_PER_MSEC);
        cr_expect_eq(service_newest()->kills, 0);
}

static void boot_before(RunRecord *record) {
        g_free(record->boot);
        record->boot = g_strdup("00000000000000000000000000000000");
}

/* A reboot ended it for certain. */
Test(continues, after_a_reboot_its_own_node_settles_it) {
        _cleanup_(run_record_freep) RunRecord *record = NULL;
        g_autofree char *path = NULL, *text = NULL;

        start_one();
        lose_process_and_session();
        record = record_there();
        path = record_path();
        boot_before(record);
        text = run_record_encode(record);
        server_set(server_node(path), text);
        service_vanish(service_newest());
        open_daemon();
        expect_state(RUN_INTERRUPTED);
}

/* Runs from the claim to the settle, in a whole daemon (daemon-fixture.h): what a unit's end makes
 * of the record, the ledger, and the locks, and what becomes of a run when its daemon or its
 * session goes. */
#include <errno.h>
#include <signal.h>

#include "ended-units.h"
#include "journal.h"
#include "paths.h"
#include "run-fixture.h"

TestSuite(run, .init = setup, .fini = teardown);

static bool has_claimed(void) {
        return server.held;
}

/* Changes what the record says, as if the run had been claimed so. */
static void alter_record(void (*func)(RunRecord *)) {
        _cleanup_(run_record_freep) RunRecord *record = record_there();
        g_autofree char *path = record_path(), *data = NULL;

        func(record);
        data = run_record_encode(record);
        server_set(server_node(path), data);
}

static void expect_state(RunState state) {
        _cleanup_(run_record_freep) RunRecord *record = record_there();

        cr_expect_eq(record->state, state, "%s", run_state_to_string(record->state));
}

/* ---- how units end ---- */

Test(run, one_that_succeeds) {
        unsigned writes;

        start_one("");
        writes = server.writes;
        service_exit(service_newest(), 0);
        expect_settled(RUN_SUCCEEDED, "");
        cr_expect_eq(server.writes, writes + 1, "one transaction");
        cr_expect(is_forgotten());
}

Test(run, one_that_fails) {
        _cleanup_(run_record_freep) RunRecord *record = NULL;

        start_one("");
        service_exit(service_newest(), 3);
        expect_settled(RUN_FAILED, "exit-code");
        record = record_there();
        cr_expect_eq(record->exit_status, 3);
}

Test(run, one_that_dies) {
        _cleanup_(run_record_freep) RunRecord *record = NULL;

        start_one("");
        service_die(service_newest(), SIGSEGV);
        await(is_over, "it is settled");
        record = record_there();
        cr_expect_eq(record->state, RUN_FAILED);
        cr_expect_eq(record->signal, SIGSEGV);
}

Test(run, one_that_takes_too_long) {
        _cleanup_(run_record_freep) RunRecord *record = NULL;

        start_one("");
        service_end(service_newest(), UNIT_OUTCOME_TIMEOUT, SIGTERM, "timeout");
        await(is_over, "it is settled");
        record = record_there();
        cr_expect_eq(record->state, RUN_TIMED_OUT);
}

Test(run, one_whose_unit_vanishes) {
        start_one("");
        service_vanish(service_newest());
        await(is_over, "it is settled");
        expect_state(RUN_UNKNOWN);
}

Test(run, one_that_pid_1_refuses) {
        service_manager.refuses = true;
        tick = due_soon("");
        await(is_claimed_and_over, "it is settled");
        expect_state(RUN_FAILED);
}

Test(run, one_that_pid_1_has_no_room_for_is_not_started) {
        service_manager.refuses = service_manager.no_room = true;
        tick = due_soon("");
        await(is_claimed_and_over, "it is settled");
        expect_settled(RUN_INTERRUPTED, "not started: systemd could not write its unit under /run "
                                        "(is there no space?): refused");
        cr_expect_not_null(node_unfiled(coordinator->node), "nor would the next be");
}

Test(run, one_that_cannot_be_asked_for) {
        service_manager.start_error = -ENOMEM;
        tick = due_soon("");
        await(is_claimed_and_over, "it is settled");
        expect_settled(RUN_INTERRUPTED,
                       "not started: its unit could not be prepared: Cannot allocate memory");
        cr_expect_eq(journal_count(MESSAGE_RUN_ENDED), 1U);
        cr_expect(journal_has("interrupted: not started: its unit could not be prepared: "
                              "Cannot allocate memory"));
        cr_expect_null(node_unfiled(coordinator->node), "the next may have it");
}

/* The locks go when the last of its processes has. */
Test(run, what_it_leaves_keeps_its_locks) {
        start_one("");
        service_newest()->lingers = true;
        service_exit(service_newest(), 0);
        serve_for(USEC_PER_SEC);
        cr_expect_eq(server_count(RUN_LOCK), 1);
        cr_expect_eq(server_count(RUN_OPEN), 1);
        service_empty(service_newest());
        expect_settled(RUN_SUCCEEDED, "");
}

/* ---- its locks, its session ---- */

static char *contender_path(void) {
        _cleanup_(run_record_freep) RunRecord *record = record_there();

        return g_strdup(record->locks[0]);
}

Test(run, one_whose_lock_somebody_deletes_is_stopped) {
        g_autofree char *path = NULL;

        start_one("");
        path = contender_path();
        server_delete(path);
        expect_settled(RUN_INTERRUPTED, "its locks were lost");
        cr_expect_eq(service_newest()->stops, 1);
}

/* Others may have the locks already: it is killed, and settled in the next session. */
Test(run, one_whose_session_is_lost_is_killed) {
        int64_t before;

        start_one("");
        before = last_session;
        server_expire(before);
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        cr_expect_geq(service_newest()->kills, 1);
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_CONNECTED);
        expect_settled(RUN_INTERRUPTED, "the ZooKeeper session was lost");
        cr_expect_neq(last_session, before);
}

/* It is obeyed late: what is left is not settled before. */
Test(run, it_is_settled_when_it_is_gone_and_not_before) {
        start_one("");
        service_manager.deaf = true;
        server_expire(last_session);
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_CONNECTED);
        serve_for(USEC_PER_SEC);
        cr_expect_eq(server_count(RUN_OPEN), 1);
        service_obey(service_newest());
        expect_settled(RUN_INTERRUPTED, "the ZooKeeper session was lost");
}

/* ---- its daemon ---- */

Test(run, the_next_daemon_finds_it_and_goes_on) {
        leave_it();
        open_daemon_again();
        await(a_run_goes_on, "it is found");
        cr_expect_eq(started->len, 1);
        service_exit(service_newest(), 0);
        expect_settled(RUN_SUCCEEDED, "");
        cr_expect(is_forgotten());
}

/* Nobody was there when it ended. */
Test(run, one_that_ended_meanwhile_has_its_result) {
        leave_it();
        service_exit(service_newest(), 3);
        open_daemon_again();
        expect_settled(RUN_FAILED, "exit-code");
}

Test(run, one_without_a_unit_is_unknown) {
        leave_it();
        service_vanish(service_newest());
        open_daemon_again();
        expect_settled(RUN_UNKNOWN,
                       "claimed, but its unit was not found: it may or may not have run");
}

/* Nobody can tell whether its unit, which lives, is its own. */
static void expect_no_rerun(const char *nonce, const char *why) {
        _cleanup_(run_record_freep) RunRecord *record = NULL;
        g_autofree char *path = NULL, *data = NULL, *second = NULL, *next = NULL;

        start_one("    on-owner-lost: rerun\n");
        close_daemon();
        path = record_path();
        record = record_there();
        g_free(record->nonce);
        record->nonce = g_strdup(nonce);
        data = run_record_encode(record);
        server_set(server_node(path), data);
        open_daemon_again();
        expect_settled(RUN_UNKNOWN, why);
        second = run_id_for_tick(tick, 2);
        next = path_run(RUN_ROOT, "a", second);
        await_quiet();
        cr_expect_null(server_node(next));
        cr_expect_eq(started->len, 1);
}

Test(run, one_that_may_be_alive_is_not_rerun) {
        expect_no_rerun(NULL, "its unit could not be queried");
}

Test(run, nor_is_one_that_is_there_by_its_name) {
        expect_no_rerun("another",
                        "claimed, but its unit was not found: it may or may not have run");
}

static void boot_before(RunRecord *record) {
        g_free(record->boot);
        record->boot = g_strdup("00000000000000000000000000000000");
}

Test(run, one_of_before_a_reboot_was_interrupted) {
        leave_it();
        service_vanish(service_newest());
        alter_record(boot_before);
        open_daemon_again();
        expect_settled(RUN_INTERRUPTED, "the node was rebooted");
}

static void rebooting_well(RunRecord *record) {
        boot_before(record);
        record->terms.reboot = JOB_REBOOT_SUCCESS;
}

static void rebooting_badly(RunRecord *record) {
        boot_before(record);
        record->terms.reboot = JOB_REBOOT_FAIL;
}

static void come_back_after(void (*how)(RunRecord *)) {
        leave_it();
        service_vanish(service_newest());
        alter_record(how);
        open_daemon_again();
}

Test(run, one_that_its_reboot_ends_well_has_succeeded) {
        come_back_after(rebooting_well);
        expect_settled(RUN_SUCCEEDED, "the node was rebooted");
}

Test(run, one_that_its_reboot_ends_badly_has_failed) {
        come_back_after(rebooting_badly);
        expect_settled(RUN_FAILED, "the node was rebooted");
}

static void rebooting(RunRecord *record) {
        record->terms.reboot = JOB_REBOOT_SUCCESS;
}

/* Nobody knows how it ended, but it was no reboot. */
Test(run, one_that_no_reboot_ended_is_unknown_as_others_are) {
        come_back_after(rebooting);
        await(is_over, "it is settled");
        expect_state(RUN_UNKNOWN);
}

Test(run, one_that_cannot_be_looked_for_is_unknown) {
        leave_it();
        service_manager.start_error = -ENOMEM;
        open_daemon_again();
        await(is_over, "it is settled");
        expect_state(RUN_UNKNOWN);
}

/* The session was lost while nobody was there: so were the locks. */
Test(run, one_whose_session_is_gone_is_ended) {
        leave_it();
        server_expire(last_session);
        open_daemon();
        await(is_over, "it is settled");
        expect_state(RUN_INTERRUPTED);
        cr_expect_not(service_is_alive(service_newest()));
}

static void forge_reason(RunRecord *record) {
        record->why = g_strdup("stopped by eve");
}

/* A record that is open has none of ours: somebody put it there. */
Test(run, one_that_is_ended_is_so_for_no_reason_that_its_record_had) {
        _cleanup_(run_record_freep) RunRecord *record = NULL;

        leave_it();
        alter_record(forge_reason);
        server_expire(last_session);
        open_daemon();
        await(is_over, "it is settled");
        record = record_there();
        cr_expect_eq(record->state, RUN_INTERRUPTED);
        cr_expect_str_eq(record->why, "the ZooKeeper session was lost while the daemon was away");
}

/* ... but what had ended before has ended by itself, and no later process is told otherwise. */
Test(run, one_that_failed_before_its_session_was_found_gone_has_failed) {
        g_autoptr(GHashTable) ended = NULL;

        leave_it();
        service_exit(service_newest(), 3);
        server_expire(last_session);
        open_daemon();
        await(is_over, "it is settled");
        expect_state(RUN_FAILED);
        ended = ended_units_load(coordinator->node->runtime_dir);
        cr_expect_null(g_hash_table_lookup(ended, service_newest()->name));
}

static bool is_stopped_unseen(void) {
        return service_newest()->stops > 0;
}

static bool is_asked_for(void) {
        return service_newest() != NULL;
}

static bool its_end_is_noted(void) {
        g_autoptr(GHashTable) ended = ended_units_load(coordinator->node->runtime_dir);

        return g_hash_table_contains(ended, service_newest()->name);
}

static usec_t noted_end(void) {
        g_autoptr(GHashTable) ended = ended_units_load(coordinator->node->runtime_dir);

        return ((const EndedUnit *)g_hash_table_lookup(ended, service_newest()->name))->when;
}

/* The daemon wants it to end, and PID 1 has not answered its start. */
static void stop_unseen(void) {
        service_manager.hold_starts = service_manager.deaf = true;
        tick = due_soon("");
        await(is_asked_for, "PID 1 is asked");
        coordinator_stop(coordinator);
        await(is_stopped_unseen, "it is to end");
}

/* It is over when its start is told; what a later process reads is when that was asked for. */
Test(run, one_that_nobody_has_seen_was_not_ended) {
        usec_t over;

        stop_unseen();
        serve_for(100 * USEC_PER_MSEC);
        cr_expect_not(its_end_is_noted());
        service_manager.deaf = false;
        over = clock_monotonic();
        service_begin(service_newest());
        await(its_end_is_noted, "it is ended where it is seen");
        cr_expect_lt(noted_end(), over);
        expect_settled(RUN_INTERRUPTED, "the daemon was stopped");
}

/* Nobody could settle it: the process goes with an answer outstanding. */
static void end_without_an_answer(void) {
        for (unsigned i = 0; i < 20; i++)
                (void)sd_event_run(event, 5 * USEC_PER_MSEC);
        close_daemon();
}

/* ... or taken back before it ran, of which nobody finds anything later. */
Test(run, one_that_never_ran_was_ended) {
        stop_unseen();
        cr_expect_not(its_end_is_noted());
        service_vanish(service_newest());
        end_without_an_answer();
        open_daemon_again();
        expect_settled(RUN_INTERRUPTED, "the daemon was stopped");
}

/* PID 1 forgets what has ended well once what it left is stopped. */
static void forget_what_it_left(void) {
        service_empty(service_newest());
        service_vanish(service_newest());
}

Test(run, one_that_ended_well_is_remembered_when_pid_1_has_forgotten_it) {
        start_one("");
        service_newest()->lingers = true;
        service_exit(service_newest(), 0);
        serve_for(100 * USEC_PER_MSEC);
        close_daemon();
        forget_what_it_left();
        open_daemon_again();
        expect_settled(RUN_SUCCEEDED, "");
}

/* What it left was ordered to end, and was gone a moment later, when that was told. */
Test(run, one_that_ended_well_is_remembered_when_what_it_left_goes_at_once) {
        start_one("");
        service_newest()->lingers = true;
        service_exit(service_newest(), 0);
        service_empty(service_newest());
        end_without_an_answer();
        service_vanish(service_newest());
        open_daemon_again();
        expect_settled(RUN_SUCCEEDED, "");
}

/* PID 1 keeps it for the next process. */
Test(run, one_that_ended_well_and_left_nothing_need_not_be_remembered) {
        g_autoptr(GHashTable) ended = NULL;

        start_one("");
        service_exit(service_newest(), 0);
        end_without_an_answer();
        open_daemon_again();
        expect_settled(RUN_SUCCEEDED, "");
        ended = ended_units_load(coordinator->node->runtime_dir);
        cr_expect_eq(g_hash_table_size(ended), 0);
}

/* Nobody knows yet that it was a run; what it left is ended all the same. */
Test(run, one_that_ended_well_is_remembered_when_it_was_a_leftover) {
        g_autofree char *session = NULL;

        leave_it();
        service_newest()->lingers = true;
        service_exit(service_newest(), 0);
        session = g_build_filename(root, "run", "session", NULL);
        cr_assert_eq(unlink(session), 0);
        server_expire(last_session);
        open_daemon();
        await(is_stopped_unseen, "what it left is stopped");
        forget_what_it_left();
        expect_settled(RUN_SUCCEEDED, "");
}

static bool is_ready(void) {
        return node_is_ready(coordinator->node);
}

/* The claim's answer was lost with its daemon, so nobody started it. */
Test(run, a_claim_without_a_start_is_unknown) {
        server.hold_claims = true;
        tick = due_soon("");
        await(has_claimed, "a claim");
        close_daemon();
        server.hold_claims = false;
        open_daemon_again();
        await(is_ready, "ready");
        expect_settled(RUN_UNKNOWN,
                       "claimed, but its unit was not found: it may or may not have run");
        cr_expect_eq(started->len, 0);
}

/* The ensemble is restored, and the tick is claimed again: what had ended well was another run. */
Test(run, a_good_end_of_before_its_claim_is_not_its_own) {
        g_autofree char *unit = NULL, *line = NULL;

        server.hold_claims = true;
        tick = due_soon("");
        await(has_claimed, "a claim");
        close_daemon();
        server.hold_claims = false;
        unit = g_strdup_printf("jobkeeper-a-%" G_GINT64_FORMAT "-1.service", tick);
        line = g_strdup_printf("%s %" G_GUINT64_FORMAT "\n", unit,
                               usec_sub(clock_monotonic(), USEC_PER_HOUR));
        tree_write(root, "run/ended-units", line);
        open_daemon_again();
        expect_settled(RUN_UNKNOWN,
                       "claimed, but its unit was not found: it may or may not have run");
}

/* ---- claims whose answers come late, or not ---- */

static unsigned tries;

static ServerWay lose_first_answer(const ZkCall *call) {
        return is_claim(call) && tries++ == 0 ? SERVER_LOSE_ANSWER : SERVER_ANSWER;
}

static ServerWay lose_first_claim(const ZkCall *call) {
        return is_claim(call) && tries++ == 0 ? SERVER_LOSE : SERVER_ANSWER;
}

Test(run, a_claim_whose_answer_is_lost_is_read_back) {
        server.way = lose_first_answer;
        tick = due_soon("");
        await(a_run_goes_on, "it is started");
        cr_expect_eq(tries, 1);
        service_exit(service_newest(), 0);
        expect_settled(RUN_SUCCEEDED, "");
}

Test(run, a_claim_that_is_lost_is_made_again) {
        server.way = lose_first_claim;
        tick = due_soon("");
        await(a_run_goes_on, "it is started");
        cr_expect_eq(tries, 2);
        service_exit(service_newest(), 0);
        expect_settled(RUN_SUCCEEDED, "");
}

/* Its lock goes while the claim's answer is on its way: what was claimed is not started. */
Test(run, one_whose_lock_goes_during_its_claim_is_not_started) {
        g_autofree char *path = NULL;

        server.hold_claims = true;
        tick = due_soon("");
        await(has_claimed, "a claim");
        path = contender_path();
        server_delete(path);
        serve_for(100 * USEC_PER_MSEC);
        server_release();
        await(is_claimed_and_over, "it is settled");
        expect_settled(RUN_INTERRUPTED, "not started: its locks were lost right after the claim");
        cr_expect_eq(started->len, 0);
}

Test(run, one_without_locks_is_claimed_by_its_member) {
        start_one("    lock: none\n");
        cr_expect_eq(server_count(RUN_LOCK), 0);
        service_exit(service_newest(), 0);
        expect_settled(RUN_SUCCEEDED, "");
}

/* Runs from the claim to the settle, in a whole daemon (daemon-fixture.h): what a unit's end makes
 * of the record, the ledger, and the locks, and what becomes of a run when its daemon or its
 * session goes. */
#include <errno.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#include "daemon-fixture.h"
#include "fence-link.h"
#include "gate.h"
#include "journal.h"
#include "launch-dropin.h"
#include "launch.h"
#include "ledger.h"
#include "paths.h"
#include "runs.h"

#define ROOT "/jobkeeper"
#define LEDGER_PATH ROOT "/jobs/a"
#define OPEN_PATH ROOT "/open/n1"
#define LOCK_PATH ROOT "/locks/job:a"
#define FORGOTTEN_UNIT "jobkeeper-a-1000000000-1.service"

static int64_t tick; /* of the run that is under way */

TestSuite(run, .init = setup, .fini = teardown);

static bool is_running(void) {
        g_autoptr(GPtrArray) runs = runs_list(coordinator->runs);

        return runs->len > 0 && ((Run *)runs->pdata[0])->phase == RUN_PHASE_RUNNING;
}

static bool has_claimed(void) {
        return server.held;
}

static void start_one(const char *more) {
        tick = due_soon(more);
        await(is_running, "a start");
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

/* Changes what the record says, as if the run had been claimed so. */
static void alter_record(void (*func)(RunRecord *)) {
        _cleanup_(run_record_freep) RunRecord *record = record_there();
        g_autofree char *path = record_path(), *data = NULL;

        func(record);
        data = run_record_encode(record);
        server_set(server_node(path), data);
}

static bool is_over(void) {
        return server_count(OPEN_PATH) == 0 && runs_count(coordinator->runs) == 0;
}

static bool is_forgotten(void) {
        return service_newest()->state == SERVICE_FORGOTTEN;
}

static bool is_claimed_and_over(void) {
        g_autofree char *path = record_path();

        return server_node(path) && is_over();
}

/* Nothing stands open, and nobody stands in the queue. */
static void expect_settled(RunState state, const char *why) {
        _cleanup_(run_record_freep) RunRecord *record = NULL;
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        await(is_over, "it is settled");
        record = record_there();
        cr_expect_eq(record->state, state, "%s", run_state_to_string(record->state));
        cr_expect_str_eq(record->why ? record->why : "", why);
        cr_expect_neq(record->ended, 0);
        cr_expect_eq(server_count(LOCK_PATH), 0);
        cr_assert_eq(
            ledger_decode(server_data(LEDGER_PATH), strlen(server_data(LEDGER_PATH)), &ledger), 0);
        cr_expect_eq(ledger->open->len, 0);
        cr_expect_eq(ledger->mark, record->tick);
        cr_expect_eq(ledger->last->state, state);
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
        cr_expect_eq(server_count(LOCK_PATH), 1);
        cr_expect_eq(server_count(OPEN_PATH), 1);
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
        cr_expect_eq(server_count(OPEN_PATH), 1);
        service_obey(service_newest());
        expect_settled(RUN_INTERRUPTED, "the ZooKeeper session was lost");
}

/* ---- its daemon ---- */

static void leave_it(void) {
        start_one("");
        close_daemon();
}

Test(run, the_next_daemon_finds_it_and_goes_on) {
        leave_it();
        open_daemon_again();
        await(is_running, "it is found");
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
        next = path_run(ROOT, "a", second);
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

/* ---- with a launch step ---- */

/* What it writes is below the fixture's directory. */
static void have_launch_steps(void) {
        static char *units; /* the fixture's tree goes with it */

        g_free(units);
        units = g_build_filename(root, "units", NULL);
        cr_assert_eq(g_mkdir(units, 0700), 0);
        service_manager.dropin_root = units;
}

/* As PID 1 executes it. */
static LaunchPlace launch_place(char **ret_directory) {
        const Service *service = service_newest();

        *ret_directory = launch_dropin_directory(service_manager.dropin_root, service->name);
        return (LaunchPlace){.directory = *ret_directory,
                             .nonce = service->nonce,
                             .now = clock_boottime(),
                             .now_wall = clock_realtime()};
}

static LaunchRefusal launch_it(void) {
        g_autofree char *directory = NULL, *session = g_build_filename(root, "run/session", NULL),
                        *id = g_strdup_printf("0x%016" G_GINT64_MODIFIER "x",
                                              (uint64_t)session_id(coordinator->session));
        const LaunchPlace place = launch_place(&directory);
        const LaunchClaim claim = {.session_file = session, .session = id};

        return launch_start(&place, &claim);
}

static bool has_drop_in(void) {
        const Service *service = service_newest();

        return launch_dropin_is_of(service_manager.dropin_root, service->name, service->nonce);
}

Test(run, its_launch_step_lets_it_begin_in_its_session) {
        have_launch_steps();
        start_one("");
        cr_expect(has_drop_in());
        cr_expect_eq(launch_it(), LAUNCH_ALLOWED);
        cr_expect_eq(launch_it(), LAUNCH_AGAIN);
        service_exit(service_newest(), 0);
        expect_settled(RUN_SUCCEEDED, "");
}

/* What would otherwise begin beside a fence that came instead, which nobody may have set. */
Test(run, its_launch_step_names_its_fence) {
        g_autofree char *directory = NULL, *path = NULL, *text = NULL, *wanted = NULL;

        have_launch_steps();
        start_one("");
        directory = launch_dropin_directory(service_manager.dropin_root, service_newest()->name);
        path = g_build_filename(directory, "50-jobkeeper-launch.conf", NULL);
        cr_assert(g_file_get_contents(path, &text, NULL, NULL));
        wanted = g_strdup_printf(
            "0x%016" G_GINT64_MODIFIER "x %s begin-by:", (uint64_t)session_id(coordinator->session),
            fence_link_instance(coordinator->fence));
        cr_expect(strstr(text, wanted), "%s", text);
}

Test(run, one_that_never_began_is_not_started) {
        have_launch_steps();
        leave_it();
        service_vanish(service_newest());
        open_daemon_again();
        expect_settled(RUN_INTERRUPTED, "not started: its unit was not found, and had not begun");
        cr_expect_eq(started->len, 1);
}

Test(run, one_that_had_begun_and_is_gone_is_unknown) {
        have_launch_steps();
        start_one("");
        cr_assert_eq(launch_it(), LAUNCH_ALLOWED);
        close_daemon();
        service_vanish(service_newest());
        open_daemon_again();
        expect_settled(RUN_UNKNOWN,
                       "claimed, but its unit was not found: it may or may not have run");
}

/* PID 1 has forgotten it, and what it noted has not. */
Test(run, one_that_is_gone_has_the_result_that_was_noted) {
        g_autofree char *directory = NULL;
        _cleanup_(run_record_freep) RunRecord *record = NULL;
        LaunchPlace place;

        have_launch_steps();
        start_one("");
        cr_assert_eq(launch_it(), LAUNCH_ALLOWED);
        place = launch_place(&directory);
        close_daemon();
        cr_assert_eq(launch_note_result(&place, "exit-code", "exited", "3"), 0);
        service_vanish(service_newest());
        open_daemon_again();
        expect_settled(RUN_FAILED, "exit-code");
        record = record_there();
        cr_expect_eq(record->exit_status, 3);
        cr_expect_neq(record->started, 0);
}

/* Leaves one that has begun and noted that, and is gone, and whose fence has left off since. */
static LaunchPlace leave_to_fence(char **ret_directory) {
        LaunchPlace place;

        have_launch_steps();
        start_one("");
        cr_assert_eq(launch_it(), LAUNCH_ALLOWED);
        place = launch_place(ret_directory);
        close_daemon();
        service_vanish(service_newest());
        service_manager.fence_left = clock_monotonic();
        return place;
}

/* It ended well on SIGTERM. */
Test(run, one_that_went_with_its_fence_is_interrupted) {
        g_autofree char *directory = NULL;
        const LaunchPlace place = leave_to_fence(&directory);

        cr_assert_eq(launch_note_result(&place, "success", "exited", "0"), 0);
        open_daemon_again();
        expect_settled(RUN_INTERRUPTED,
                       "stopped with its fence, which ended or saw no sign of jobkeeperd in time "
                       "(journalctl -u jobkeeper-fence)");
}

/* The fence had what was left of it stopped, and PID 1 forgot it. */
Test(run, one_that_had_ended_well_when_the_fence_left_off_has_succeeded) {
        g_autofree char *directory = NULL;
        const LaunchPlace place = leave_to_fence(&directory);

        cr_assert_eq(launch_note_good_end(&place), 0);
        open_daemon_again();
        expect_settled(RUN_SUCCEEDED, "");
}

/* So it never will. */
Test(run, one_that_had_not_begun_when_the_fence_left_off_is_not_started) {
        have_launch_steps();
        leave_it();
        service_vanish(service_newest());
        service_manager.fence_left = clock_monotonic();
        open_daemon_again();
        expect_settled(RUN_INTERRUPTED, "not started: its unit was not found, and had not begun");
}

/* It was another fence's. */
Test(run, one_that_was_claimed_after_the_fence_left_off_is_unknown) {
        leave_it();
        service_vanish(service_newest());
        service_manager.fence_left = 1;
        open_daemon_again();
        expect_settled(RUN_UNKNOWN,
                       "claimed, but its unit was not found: it may or may not have run");
}

static void make_old(const char *directory) {
        struct utimbuf long_ago = {.modtime = time(NULL) - 5L * 24 * 3600};

        cr_assert_eq(utime(directory, &long_ago), 0);
}

static bool is_swept(void) {
        g_autofree char *directory =
            launch_dropin_directory(service_manager.dropin_root, FORGOTTEN_UNIT);

        return !g_file_test(directory, G_FILE_TEST_EXISTS);
}

/* Of whom nobody asks any more what became of it; a run may be older. */
Test(run, what_is_old_is_swept_but_not_of_a_run_that_lives) {
        static const char *const words[] = {"/x/launch", "/x/session", "0x1", NULL};
        const UnitSpec spec = {.name = FORGOTTEN_UNIT, .nonce = "00", .launch = words};
        g_autofree char *directory = NULL, *forgotten = NULL;

        have_launch_steps();
        leave_it();
        (void)launch_place(&directory);
        make_old(directory);
        cr_assert_eq(launch_dropin_write(service_manager.dropin_root, &spec), 0);
        forgotten = launch_dropin_directory(service_manager.dropin_root, FORGOTTEN_UNIT);
        make_old(forgotten);
        open_daemon_again();
        await(is_swept, "the sweep");
        cr_expect(has_drop_in());
}

/* ---- PID 1 does not answer ---- */

static bool is_claimed(void) {
        g_autofree char *path = record_path();

        return server_node(path) && service_newest();
}

/* Its time ends RUN_BEGIN_PATIENCE after the claim, as its start deadline is shorter. */
static void claim_what_does_not_begin(void) {
        have_launch_steps();
        service_manager.hold_starts = service_manager.deaf = true;
        tick = due_soon("    start-deadline: 2s\n");
        await(is_claimed, "its claim");
}

Test(run, what_systemd_does_not_begin_in_time_is_not_started, .timeout = 60) {
        claim_what_does_not_begin();
        await_within(is_over, "it is given up", RUN_BEGIN_PATIENCE + LIMIT);
        expect_settled(RUN_INTERRUPTED,
                       "not started: systemd did not begin it in time, by its start-deadline");
        cr_expect(has_drop_in(), "as long as systemd may come to it");
        cr_expect_eq(launch_it(), LAUNCH_AGAIN, "never again");
        cr_expect_eq(service_newest()->stops, 1, "it is not to begin");
        service_begin(service_newest());
        await(is_forgotten, "its unit is, once systemd has come to it");
}

Test(run, what_begins_late_and_in_time_runs, .timeout = 60) {
        claim_what_does_not_begin();
        serve_for(4 * USEC_PER_SEC);
        cr_expect_eq(launch_it(), LAUNCH_ALLOWED, "past its start deadline, just after the claim");
        serve_for(RUN_BEGIN_PATIENCE);
        cr_expect_not(is_over(), "it has begun, and who says so is not heard");
        service_begin(service_newest());
        service_manager.deaf = false;
        service_exit(service_newest(), 0);
        expect_settled(RUN_SUCCEEDED, "");
}

Test(run, what_is_stopped_before_it_begins_is_given_up_as_well, .timeout = 60) {
        claim_what_does_not_begin();
        runs_stop_all(coordinator->runs, "the test wants it to end");
        await_within(is_over, "it is given up", RUN_BEGIN_PATIENCE + LIMIT);
        expect_settled(RUN_INTERRUPTED, "not started: the test wants it to end");
}

static bool says_so(void) {
        return server_node(ROOT "/nodes/n1") &&
               strstr(server_data(ROOT "/nodes/n1"), "\"busy\":\"systemd\"");
}

static bool says_no_more(void) {
        return strstr(server_data(ROOT "/nodes/n1"), "\"busy\":\"\"");
}

Test(run, nothing_is_claimed_while_systemd_does_not_answer) {
        tick = due_soon("");
        service_manager_falls_silent(12 * USEC_PER_SEC);
        await(says_so, "the others hear of it");
        cr_expect_str_eq(gate_closed(coordinator->gate), "systemd has not answered for 12 s");
        cr_expect_eq(journal_count(MESSAGE_SYSTEMD_SILENT), 1U);
        serve_for(usec_sub((usec_t)(tick + 2) * USEC_PER_SEC, clock_realtime()));
        cr_expect_null(service_newest(), "it is claimed");
        service_manager_falls_silent(0);
        await(is_running, "its start");
        await(says_no_more, "the others hear of it");
        cr_expect_eq(journal_count(MESSAGE_SYSTEMD_SILENT), 2U);
}

Test(run, one_without_room_for_its_launch_step_is_not_started) {
        service_manager.dropin_root = "/nonexistent";
        tick = due_soon("");
        await(is_claimed_and_over, "it is settled");
        expect_settled(RUN_INTERRUPTED,
                       "not started: its unit could not be prepared: No such file or directory");
        cr_expect_not_null(node_unfiled(coordinator->node), "nor would the next be");
        cr_expect_eq(journal_count(MESSAGE_NOTHING_LAUNCHED), 1U);
}

/* 203: systemd could not execute it. */
Test(run, one_whose_launch_step_cannot_be_executed_speaks_for_the_next) {
        start_one("");
        service_newest()->result.refusal = 203;
        service_end(service_newest(), UNIT_OUTCOME_START_FAILED, 0, "exit status 203/EXEC");
        await(is_over, "it is settled");
        cr_expect_not_null(node_unfiled(coordinator->node));
}

Test(run, one_of_a_user_that_there_is_not_does_not) {
        start_one("");
        service_newest()->result.refusal = 217;
        service_end(service_newest(), UNIT_OUTCOME_START_FAILED, 0, "exit status 217/USER");
        await(is_over, "it is settled");
        cr_expect_null(node_unfiled(coordinator->node));
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
        await(is_running, "it is started");
        cr_expect_eq(tries, 1);
        service_exit(service_newest(), 0);
        expect_settled(RUN_SUCCEEDED, "");
}

Test(run, a_claim_that_is_lost_is_made_again) {
        server.way = lose_first_claim;
        tick = due_soon("");
        await(is_running, "it is started");
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
        cr_expect_eq(server_count(LOCK_PATH), 0);
        service_exit(service_newest(), 0);
        expect_settled(RUN_SUCCEEDED, "");
}

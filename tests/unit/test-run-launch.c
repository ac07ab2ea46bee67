/* The launch step of a run, and a PID 1 that does not come to it, in a whole daemon
 * (run-fixture.h): what never began never will, what began is not begun again, and what it noted is
 * its result. */
#include <glib/gstdio.h>
#include <string.h>
#include <time.h>
#include <utime.h>

#include "fence-link.h"
#include "gate.h"
#include "journal.h"
#include "launch-dropin.h"
#include "launch.h"
#include "run-fixture.h"
#include "runs.h"

#define FORGOTTEN_UNIT "jobkeeper-a-1000000000-1.service"

TestSuite(run_launch, .init = setup, .fini = teardown);

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

Test(run_launch, its_launch_step_lets_it_begin_in_its_session) {
        have_launch_steps();
        start_one("");
        cr_expect(has_drop_in());
        cr_expect_eq(launch_it(), LAUNCH_ALLOWED);
        cr_expect_eq(launch_it(), LAUNCH_AGAIN);
        service_exit(service_newest(), 0);
        expect_settled(RUN_SUCCEEDED, "");
}

/* Return: by when the newest may begin, as its launch step is told. */
static usec_t begin_by_told(void) {
        g_autofree char *directory = launch_dropin_directory(service_manager.dropin_root,
                                                             service_newest()->name),
                        *path = g_build_filename(directory, "50-jobkeeper-launch.conf", NULL),
                        *text = NULL;
        const char *word;

        cr_assert(g_file_get_contents(path, &text, NULL, NULL));
        word = strstr(text, "begin-by:");
        cr_assert(word, "%s", text);
        return g_ascii_strtoull(word + strlen("begin-by:"), NULL, 10);
}

/* It is claimed for so long, and all that comes meanwhile is an overlap. */
Test(run_launch, however_late_it_may_be_it_begins_within_a_minute_of_its_claim) {
        usec_t before = clock_boottime();

        have_launch_steps();
        start_one("    start-deadline: 10h\n");
        cr_expect_geq(begin_by_told(), before + RUN_BEGIN_MOST);
        cr_expect_leq(begin_by_told(), clock_boottime() + RUN_BEGIN_MOST);
}

/* What would otherwise begin beside a fence that came instead, which nobody may have set. */
Test(run_launch, its_launch_step_names_its_fence) {
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

Test(run_launch, one_that_never_began_is_not_started) {
        have_launch_steps();
        leave_it();
        service_vanish(service_newest());
        open_daemon_again();
        expect_settled(RUN_INTERRUPTED, "not started: its unit was not found, and had not begun");
        cr_expect_eq(started->len, 1);
}

Test(run_launch, one_that_had_begun_and_is_gone_is_unknown) {
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
Test(run_launch, one_that_is_gone_has_the_result_that_was_noted) {
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
Test(run_launch, one_that_went_with_its_fence_is_interrupted) {
        g_autofree char *directory = NULL;
        const LaunchPlace place = leave_to_fence(&directory);

        cr_assert_eq(launch_note_result(&place, "success", "exited", "0"), 0);
        open_daemon_again();
        expect_settled(RUN_INTERRUPTED,
                       "stopped with its fence, which ended or saw no sign of jobkeeperd in time "
                       "(journalctl -u jobkeeper-fence)");
}

/* The fence had what was left of it stopped, and PID 1 forgot it. */
Test(run_launch, one_that_had_ended_well_when_the_fence_left_off_has_succeeded) {
        g_autofree char *directory = NULL;
        const LaunchPlace place = leave_to_fence(&directory);

        cr_assert_eq(launch_note_good_end(&place), 0);
        open_daemon_again();
        expect_settled(RUN_SUCCEEDED, "");
}

/* So it never will. */
Test(run_launch, one_that_had_not_begun_when_the_fence_left_off_is_not_started) {
        have_launch_steps();
        leave_it();
        service_vanish(service_newest());
        service_manager.fence_left = clock_monotonic();
        open_daemon_again();
        expect_settled(RUN_INTERRUPTED, "not started: its unit was not found, and had not begun");
}

/* It was another fence's. */
Test(run_launch, one_that_was_claimed_after_the_fence_left_off_is_unknown) {
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
Test(run_launch, what_is_old_is_swept_but_not_of_a_run_that_lives) {
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

Test(run_launch, what_systemd_does_not_begin_in_time_is_not_started, .timeout = 60) {
        claim_what_does_not_begin();
        await_within(is_over, "it is given up", RUN_BEGIN_PATIENCE + LIMIT);
        expect_settled(RUN_INTERRUPTED, "not started: systemd did not begin it in time");
        cr_expect(has_drop_in(), "as long as systemd may come to it");
        cr_expect_eq(launch_it(), LAUNCH_AGAIN, "never again");
        cr_expect_eq(service_newest()->stops, 1, "it is not to begin");
        service_begin(service_newest());
        await(is_forgotten, "its unit is, once systemd has come to it");
}

Test(run_launch, what_begins_late_and_in_time_runs, .timeout = 60) {
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

Test(run_launch, what_is_stopped_before_it_begins_is_given_up_as_well, .timeout = 60) {
        claim_what_does_not_begin();
        runs_stop_all(coordinator->runs, "the test wants it to end");
        await_within(is_over, "it is given up", RUN_BEGIN_PATIENCE + LIMIT);
        expect_settled(RUN_INTERRUPTED, "not started: the test wants it to end");
}

static bool says_so(void) {
        return server_node(RUN_ROOT "/nodes/n1") &&
               strstr(server_data(RUN_ROOT "/nodes/n1"), "\"busy\":\"systemd\"");
}

static bool says_no_more(void) {
        return strstr(server_data(RUN_ROOT "/nodes/n1"), "\"busy\":\"\"");
}

Test(run_launch, nothing_is_claimed_while_systemd_does_not_answer) {
        tick = due_soon("");
        service_manager_falls_silent(12 * USEC_PER_SEC);
        await(says_so, "the others hear of it");
        cr_expect_str_eq(gate_closed(coordinator->gate), "systemd has not answered for 12 s");
        cr_expect_eq(journal_count(MESSAGE_SYSTEMD_SILENT), 1U);
        serve_for(usec_sub((usec_t)(tick + 2) * USEC_PER_SEC, clock_realtime()));
        cr_expect_null(service_newest(), "it is claimed");
        service_manager_falls_silent(0);
        await(a_run_goes_on, "its start");
        await(says_no_more, "the others hear of it");
        cr_expect_eq(journal_count(MESSAGE_SYSTEMD_SILENT), 2U);
}

Test(run_launch, one_without_room_for_its_launch_step_is_not_started) {
        service_manager.dropin_root = "/nonexistent";
        tick = due_soon("");
        await(is_claimed_and_over, "it is settled");
        expect_settled(RUN_INTERRUPTED,
                       "not started: its unit could not be prepared: No such file or directory");
        cr_expect_not_null(node_unfiled(coordinator->node), "nor would the next be");
        cr_expect_eq(journal_count(MESSAGE_NOTHING_LAUNCHED), 1U);
}

/* 203: systemd could not execute it. */
Test(run_launch, one_whose_launch_step_cannot_be_executed_speaks_for_the_next) {
        start_one("");
        service_newest()->result.refusal = 203;
        service_end(service_newest(), UNIT_OUTCOME_START_FAILED, 0, "exit status 203/EXEC");
        await(is_over, "it is settled");
        cr_expect_not_null(node_unfiled(coordinator->node));
}

Test(run_launch, one_of_a_user_that_there_is_not_does_not) {
        start_one("");
        service_newest()->result.refusal = 217;
        service_end(service_newest(), UNIT_OUTCOME_START_FAILED, 0, "exit status 217/USER");
        await(is_over, "it is settled");
        cr_expect_null(node_unfiled(coordinator->node));
}

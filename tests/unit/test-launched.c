/* What becomes of a record by what the launch step noted. */
#include <criterion/criterion.h>
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <utime.h>

#include "event-loop.h"
#include "launch-dropin.h"
#include "launch-sweep.h"
#include "launch.h"
#include "launched.h"
#include "service-manager.h"
#include "sweep.h"
#include "temporary-tree.h"
#include "unit-spec.h"

#define NONCE "00112233445566778899aabbccddeeff"
#define UNIT "jobkeeper-backup-1750000000-1.service"

static char *root, *directory;
static LaunchPlace place;
static const LaunchClaim claim = {.session_file = "/nonexistent", .session = "0x1"};
static Node node;
static RunRecord *record;

static void setup(void) {
        static const char *const words[] = {"/x/jobkeeper-launch", "/x/session", "0x1", NULL};
        const UnitSpec spec = {.name = UNIT, .nonce = NONCE, .launch = words};

        root = g_dir_make_tmp("jobkeeper-launched-XXXXXX", NULL);
        directory = launch_dropin_directory(root, UNIT);
        cr_assert_eq(launch_dropin_write(root, &spec), 0);
        place = (LaunchPlace){.directory = directory, .nonce = NONCE, .now_wall = 5 * USEC_PER_SEC};
        record = run_record_new("backup", "1750000000-1");
        record->unit = g_strdup(UNIT);
        record->nonce = g_strdup(NONCE);
        record->state = RUN_CLAIMED;
}

static void teardown(void) {
        tree_remove(root);
        record = run_record_free(record);
        g_clear_pointer(&root, g_free);
        g_clear_pointer(&directory, g_free);
}

TestSuite(launched, .init = setup, .fini = teardown);

static const UnitResult refused_again = {.outcome = UNIT_OUTCOME_START_FAILED,
                                         .refusal = LAUNCH_AGAIN},
                        vanished = {.outcome = UNIT_OUTCOME_UNKNOWN},
                        no_user = {.outcome = UNIT_OUTCOME_START_FAILED, .refusal = 217};

static void begin(void) {
        (void)launch_start(&place, &claim);
}

static void end(const char *word, const char *code, const char *status) {
        cr_assert_eq(launch_note_result(&place, word, code, status), 0);
}

static void expect_taken(const UnitResult *result, UnitStop stopper, RunState state,
                         const char *why) {
        cr_expect(launched_take(root, record, result, stopper));
        cr_expect_eq(record->state, state, "%s", run_state_to_string(record->state));
        cr_expect_str_eq(record->why ? record->why : "", why);
        cr_expect_neq(record->ended, 0);
}

static void expect_left(const UnitResult *result, UnitStop stopper) {
        cr_expect_not(launched_take(root, record, result, stopper));
        cr_expect_eq(record->state, RUN_CLAIMED);
}

static const char *why_nothing_starts(int error, int refusal) {
        const UnitResult result = {.outcome = refusal < 0 ? UNIT_OUTCOME_NO_ROOM
                                                          : UNIT_OUTCOME_START_FAILED,
                                   .refusal = MAX(refusal, 0)};
        sd_event *event = loop_new();
        const char *why;

        node.launch_fault = launch_fault_new(event, USEC_PER_SEC);
        if (error < 0)
                launched_note_error(&node, root, error);
        else
                launched_note_refusal(&node, root, &result);
        why = launch_fault_why(node.launch_fault);
        node.launch_fault = launch_fault_free(node.launch_fault);
        (void)loop_end(event);
        return why;
}

Test(launched, what_would_befall_every_run_is_noted_and_what_is_a_runs_own_is_not) {
        static const int own[] = {
            0, 217, LAUNCH_AGAIN, LAUNCH_NO_SESSION, LAUNCH_OTHER_SESSION, LAUNCH_LATE};

        for (size_t i = 0; i < G_N_ELEMENTS(own); i++)
                cr_expect_null(why_nothing_starts(0, own[i]), "%d", own[i]);
        cr_expect_null(why_nothing_starts(-EINVAL, 0));
        cr_expect_null(why_nothing_starts(-ENOMEM, 0));
        cr_expect_not_null(strstr(why_nothing_starts(-ENOSPC, 0), "written under /run"));
        cr_expect_not_null(strstr(why_nothing_starts(0, LAUNCH_NO_MARKER), "written under /run"));
        cr_expect_not_null(strstr(why_nothing_starts(0, -1), "written under /run"));
        cr_expect_not_null(strstr(why_nothing_starts(0, 203), "execute jobkeeper-launch"));
        cr_expect_not_null(strstr(why_nothing_starts(0, 64), "execute jobkeeper-launch"));
}

Test(launched, what_pid_1_tells_is_not_asked_for) {
        static const UnitResult results[] = {{.outcome = UNIT_OUTCOME_SUCCESS},
                                             {.outcome = UNIT_OUTCOME_EXIT_CODE, .exit_status = 3},
                                             {.outcome = UNIT_OUTCOME_SIGNAL, .exit_status = 9},
                                             {.outcome = UNIT_OUTCOME_TIMEOUT},
                                             {.outcome = UNIT_OUTCOME_START_FAILED, .started = 1}};

        begin();
        end("exit-code", "exited", "7");
        for (size_t i = 0; i < G_N_ELEMENTS(results); i++)
                expect_left(&results[i], UNIT_STOP_NONE);
}

Test(launched, without_a_launch_step_nothing_is_known) {
        launch_dropin_remove(root, UNIT);
        expect_left(NULL, UNIT_STOP_NONE);
        expect_left(&vanished, UNIT_STOP_NONE);
        expect_left(&refused_again, UNIT_STOP_NONE);
}

Test(launched, another_runs_is_not_believed) {
        g_free(record->nonce);
        record->nonce = g_strdup("ffeeddccbbaa99887766554433221100");
        expect_left(NULL, UNIT_STOP_NONE);
}

Test(launched, what_did_not_begin_never_will) {
        expect_taken(NULL, UNIT_STOP_NONE, RUN_INTERRUPTED,
                     "not started: its unit was not found, and had not begun");
        cr_expect_eq(launch_start(&place, &claim), LAUNCH_AGAIN);
        g_clear_pointer(&record->why, g_free);
        expect_taken(&vanished, UNIT_STOP_NONE, RUN_INTERRUPTED,
                     "not started: its unit was not found, and had not begun");
}

/* A process before us gave it up, and the start came after that. */
Test(launched, what_was_given_up_is_refused_and_was_not_started) {
        cr_assert_eq(launch_forbid(&place), 0);
        expect_taken(&refused_again, false, RUN_INTERRUPTED,
                     "not started: it had been given up before it began");
}

Test(launched, what_was_to_end_says_so) {
        record->why = g_strdup("the ZooKeeper session was lost");
        expect_taken(NULL, UNIT_STOP_OWNER, RUN_INTERRUPTED,
                     "not started: the ZooKeeper session was lost");
}

Test(launched, what_began_and_is_gone_is_not_known) {
        begin();
        expect_left(NULL, UNIT_STOP_NONE);
        expect_left(&vanished, UNIT_STOP_OWNER);
}

/* Neither is it where nothing can be noted: it may begin yet. */
Test(launched, without_room_nothing_is_certain) {
        g_autofree char *path = g_strdup_printf("%s/" NONCE ".started", directory);

        cr_assert_eq(g_mkdir(path, 0700), 0); /* in the way */
        expect_left(NULL, UNIT_STOP_NONE);
        cr_assert_eq(g_rmdir(path), 0);
}

Test(launched, why_the_step_refused) {
        for (int i = LAUNCH_NO_MARKER; i <= LAUNCH_FORETOLD; i++) {
                const UnitResult result = {.outcome = UNIT_OUTCOME_START_FAILED, .refusal = i};
                g_autofree char *why =
                    g_strconcat("not started: ", launch_refusal_in_words(i), NULL);

                g_clear_pointer(&record->why, g_free);
                expect_taken(&result, UNIT_STOP_NONE, RUN_INTERRUPTED, why);
        }
}

/* That is PID 1's to say; but the step was not executed, and never will be. */
Test(launched, what_pid_1_refused) {
        expect_left(&no_user, UNIT_STOP_NONE);
        cr_expect_eq(launch_start(&place, &claim), LAUNCH_AGAIN);
}

Test(launched, a_result_that_was_noted) {
        begin();
        end("exit-code", "exited", "3");
        expect_taken(NULL, UNIT_STOP_NONE, RUN_FAILED, "exit-code");
        cr_expect_eq(record->exit_status, 3);
        cr_expect_eq(record->started, 5 * USEC_PER_SEC);
        cr_expect_eq(record->ended, 5 * USEC_PER_SEC);
}

Test(launched, a_signal_that_was_noted) {
        begin();
        end("signal", "killed", "KILL");
        expect_taken(&vanished, UNIT_STOP_NONE, RUN_FAILED, "signal");
        cr_expect_eq(record->signal, SIGKILL);
}

Test(launched, a_good_end_that_was_noted) {
        begin();
        cr_assert_eq(launch_note_good_end(&place), 0);
        end("success", "exited", "0");
        record->why = g_strdup("the ZooKeeper session was lost");
        expect_taken(NULL, UNIT_STOP_OWNER, RUN_SUCCEEDED, "");
        cr_expect_eq(record->exit_status, 0);
        cr_expect_eq(record->ended, 5 * USEC_PER_SEC);
}

/* It was stopped and made a good end of that. */
Test(launched, a_stop_that_was_noted) {
        begin();
        end("success", "exited", "0");
        expect_taken(NULL, UNIT_STOP_NONE, RUN_STOPPED,
                     "its unit was stopped, and not by jobkeeper (systemctl stop)");
}

/* What is no command that ends by itself makes a good end by dying of SIGTERM, and is gone then. */
Test(launched, a_service_that_died_of_its_stop_was_stopped) {
        begin();
        end("success", "killed", "TERM");
        expect_taken(&vanished, UNIT_STOP_FENCE, RUN_INTERRUPTED,
                     "stopped with its fence, which ended or saw no sign of jobkeeperd in time "
                     "(journalctl -u jobkeeper-fence)");
}

Test(launched, a_service_that_ended_before_it_was_ready_has_failed) {
        begin();
        end("protocol", "exited", "0");
        expect_taken(&vanished, UNIT_STOP_NONE, RUN_FAILED, "protocol");
}

Test(launched, also_where_it_was_started_again) {
        begin();
        end("protocol", "exited", "0");
        expect_taken(&refused_again, UNIT_STOP_NONE, RUN_FAILED, "protocol");
}

Test(launched, our_own_stop_is_known_already) {
        begin();
        end("signal", "killed", "TERM");
        expect_left(NULL, UNIT_STOP_OWNER);
}

/* Its own limit, or that of a stop. */
Test(launched, a_time_out_may_be_either) {
        begin();
        end("timeout", "killed", "KILL");
        expect_left(NULL, UNIT_STOP_NONE);
}

Test(launched, one_that_was_started_again) {
        begin();
        end("signal", "killed", "TERM");
        expect_taken(&refused_again, UNIT_STOP_NONE, RUN_STOPPED,
                     "its unit was stopped, and not by jobkeeper (systemctl stop)");
}

/* A shell that traps SIGTERM ends so. */
Test(launched, one_that_obeyed_in_its_own_way_and_was_started_again) {
        begin();
        end("exit-code", "exited", "143");
        expect_taken(&refused_again, UNIT_STOP_FENCE, RUN_INTERRUPTED,
                     "stopped with its fence, which ended or saw no sign of jobkeeperd in time "
                     "(journalctl -u jobkeeper-fence)");
}

Test(launched, one_that_ended_so_by_itself_has_failed) {
        begin();
        end("exit-code", "exited", "143");
        expect_taken(&vanished, UNIT_STOP_NONE, RUN_FAILED, "exit-code");
}

Test(launched, one_that_was_started_again_when_it_had_failed) {
        begin();
        end("exit-code", "exited", "1");
        expect_taken(&refused_again, UNIT_STOP_OWNER, RUN_FAILED, "exit-code");
}

Test(launched, one_that_was_started_again_and_is_not_known) {
        begin();
        expect_taken(
            &refused_again, UNIT_STOP_NONE, RUN_UNKNOWN,
            "systemd was made to start its unit again, which was refused; how it had ended "
            "before is not known");
}

/* ---- what is old ---- */

static sd_event *loop;

static void sweep_all(LaunchSweep *sweep) {
        launch_sweep_begin(sweep);
        launch_sweep_begin(sweep); /* which changes nothing */
        while (launch_sweep_length(sweep) > 0)
                cr_assert_geq(sd_event_run(loop, USEC_PER_SEC), 0);
}

static void make_old(const char *path) {
        struct utimbuf long_ago = {.modtime = time(NULL) - 5L * 24 * 3600};

        cr_assert_eq(utime(path, &long_ago), 0);
}

static void begin_services(void) {
        loop = loop_new();
        service_manager.dropin_root = root;
        service_manager.services = g_ptr_array_new();
}

static void end_services(void) {
        g_ptr_array_unref(service_manager.services);
        loop = loop_end(loop);
}

/* What still lives, and is nobody's: others have settled it, say. */
Test(launched, what_is_old_is_removed_unless_it_lives) {
        Service service = {
            .name = (char *)UNIT, .state = SERVICE_RUNNING, .slice = (char *)unit_slices[0]};
        Runs *runs = runs_new(&node, NULL, NULL, NULL, NULL, NULL);
        LaunchSweep *sweep;

        begin_services();
        g_ptr_array_add(service_manager.services, &service);
        sweep = launch_sweep_new(loop, NULL, runs);
        sweep_all(sweep);
        cr_expect(launch_dropin_is_of(root, UNIT, NONCE));
        make_old(directory);
        sweep_all(sweep);
        cr_expect(launch_dropin_is_of(root, UNIT, NONCE));
        service.state = SERVICE_FORGOTTEN;
        sweep_all(sweep);
        cr_expect_not(g_file_test(directory, G_FILE_TEST_EXISTS));
        launch_sweep_free(sweep);
        runs_free(runs);
        end_services();
}

#define LEFT 250

static char *make_one_that_is_left(unsigned i) {
        static const char *const words[] = {"/x/jobkeeper-launch", NULL};
        g_autofree char *unit = g_strdup_printf("jobkeeper-left-%u-1.service", i);
        const UnitSpec spec = {.name = unit, .nonce = NONCE, .launch = words};
        char *path = launch_dropin_directory(root, unit);

        cr_assert_eq(launch_dropin_write(root, &spec), 0);
        make_old(path);
        return path;
}

/* Each is a directory with its files: the loop does other things in between. What ends in the midst
 * of it ends. */
Test(launched, what_is_old_is_removed_some_at_a_turn) {
        Runs *runs = runs_new(&node, NULL, NULL, NULL, NULL, NULL);
        g_autoptr(GPtrArray) left = g_ptr_array_new_with_free_func(g_free);
        LaunchSweep *sweep;
        unsigned before, most = 0;

        begin_services();
        for (unsigned i = 0; i < LEFT; i++)
                g_ptr_array_add(left, make_one_that_is_left(i));
        sweep = launch_sweep_new(loop, NULL, runs);
        launch_sweep_begin(sweep);
        do {
                before = launch_sweep_length(sweep);
                cr_assert_geq(sd_event_run(loop, USEC_PER_SEC), 0);
                most = MAX(most, before - launch_sweep_length(sweep));
        } while (launch_sweep_length(sweep) > 0);
        cr_expect_leq(most, SWEEP_TURN_ITEMS, "%u", most);
        for (guint i = 0; i < LEFT; i++)
                cr_expect_not(g_file_test(left->pdata[i], G_FILE_TEST_EXISTS));
        g_free(make_one_that_is_left(0));
        launch_sweep_begin(sweep);
        launch_sweep_free(sweep);
        runs_free(runs);
        end_services();
}

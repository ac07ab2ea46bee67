/* Units whose main process says itself when it has started (sd_notify(3)), or has when it was
 * executed, against a PID 1 of the test's own (private-pid1.h): their start job is done then, and
 * tells nothing of how they end. */
#include <signal.h>
#include <string.h>

#include <glib/gstdio.h>

#include "private-pid1.h"

static void setup_notify(void) {
        setup();
        answers.type = "notify";
        answers.ready = UNIT_READY_NOTIFIED;
}

TestSuite(unit_notify, .init = setup_notify, .fini = teardown);

/* PID 1 has heard that it has started. */
static void it_says_so(void) {
        answers.active = "active";
        answers.active_enter = 9;
        answers.with_job = false;
        answers.begun = true;
        job_removed("done");
        await(is_running, "it has started");
}

/* Nothing lives of it: that is seen by a look. */
static void it_ends(const char *active, const char *result, int32_t code, int32_t status) {
        main_process_ends(result, code, status);
        answers.active = active;
        job_removed_of(NAME, "/org/freedesktop/systemd1/job/8", "done");
}

static void expect_started_when_pid_1_has_heard(void) {
        answers.begun = true;
        start_unit();
        run_for(200 * USEC_PER_MSEC);
        cr_expect_str_eq(told, "");
        it_says_so();
        run_for(200 * USEC_PER_MSEC);
        cr_expect_str_eq(told, "s");
}

Test(unit_notify, it_has_started_when_it_says_so) {
        expect_started_when_pid_1_has_heard();
        it_ends("active", "success", CLD_EXITED, 0);
        expect_end("sxe", UNIT_OUTCOME_SUCCESS, UNIT_STOP_NONE, "");
}

Test(unit_notify, it_ends_before_it_has_said_so) {
        start_unit();
        main_process_ends("protocol", CLD_EXITED, 0);
        answers.active = "failed";
        job_removed("failed");
        expect_end("xe", UNIT_OUTCOME_OTHER, UNIT_STOP_NONE, "protocol");
}

Test(unit_notify, it_does_not_say_so_in_time) {
        answers.limit = USEC_PER_SEC;
        start_unit();
        main_process_ends("timeout", CLD_KILLED, SIGTERM);
        job_removed("failed");
        expect_end("xe", UNIT_OUTCOME_TIMEOUT, UNIT_STOP_NONE, "timeout");
}

Test(unit_notify, it_fails_by_itself) {
        start_unit();
        it_says_so();
        it_ends("failed", "exit-code", CLD_EXITED, 3);
        expect_end("sxe", UNIT_OUTCOME_EXIT_CODE, UNIT_STOP_NONE, "exit-code");
}

/* A daemon that ends by SIGTERM has ended well, as PID 1 has it. */
Test(unit_notify, we_stop_it) {
        start_unit();
        it_says_so();
        unit_stop(unit);
        await(is_stopped, "a stop");
        it_ends("inactive", "success", CLD_KILLED, SIGTERM);
        expect_end("sxe", UNIT_OUTCOME_SIGNAL, UNIT_STOP_OWNER, "signal");
}

Test(unit_notify, we_stop_it_and_it_ends_well) {
        start_unit();
        it_says_so();
        unit_stop(unit);
        await(is_stopped, "a stop");
        it_ends("inactive", "success", CLD_EXITED, 0);
        expect_end("sxe", UNIT_OUTCOME_SUCCESS, UNIT_STOP_OWNER, "");
}

/* It may have asked PID 1 for more time (EXTEND_TIMEOUT_USEC=), again and again. */
Test(unit_notify, it_is_killed_when_it_does_not_end_in_its_time) {
        usec_t begun;

        answers.stop_limit = 100 * USEC_PER_MSEC;
        start_unit();
        it_says_so();
        begun = clock_monotonic();
        unit_stop(unit);
        await(is_stopped, "a stop");
        answers.active = "deactivating";
        await(is_killed, "a SIGKILL");
        cr_expect_geq(clock_monotonic() - begun, answers.stop_limit);
        it_ends("failed", "signal", CLD_KILLED, SIGKILL);
        expect_end("sxe", UNIT_OUTCOME_SIGNAL, UNIT_STOP_OWNER, "signal");
        cr_expect_eq(kills, 1);
}

Test(unit_notify, it_is_killed_whoever_stops_it) {
        answers.active = "active";
        answers.active_enter = 9;
        answers.with_job = false;
        answers.begun = true;
        answers.stop_limit = 100 * USEC_PER_MSEC;
        cr_assert_eq(unit_adopt(manager, NAME, NONCE, on_unit, NULL, &unit), 0);
        await(is_running, "it has started");
        answers.active = "deactivating";
        await(is_killed, "a SIGKILL"); /* a look shows that it is being stopped */
        it_ends("failed", "signal", CLD_KILLED, SIGKILL);
        expect_end("sxe", UNIT_OUTCOME_SIGNAL, UNIT_STOP_NONE, "signal");
}

/* So is what has started when it was executed. */
Test(unit_notify, it_may_have_nothing_to_say) {
        answers.type = "exec";
        answers.ready = UNIT_READY_AT_START;
        expect_started_when_pid_1_has_heard();
        it_ends("failed", "exit-code", CLD_EXITED, 3);
        expect_end("sxe", UNIT_OUTCOME_EXIT_CODE, UNIT_STOP_NONE, "exit-code");
}

Test(unit_notify, what_cannot_be_executed_has_not_started) {
        answers.type = "exec";
        answers.ready = UNIT_READY_AT_START;
        start_unit();
        main_process_ends("exit-code", CLD_EXITED, 203);
        answers.active = "failed";
        job_removed("failed");
        expect_end("xe", UNIT_OUTCOME_START_FAILED, UNIT_STOP_NONE, "exit status 203/EXEC");
}

/* PID 1 sees to what cannot talk to it. */
Test(unit_notify, what_is_no_such_unit_is_left_to_pid_1) {
        answers.type = "oneshot";
        answers.ready = UNIT_READY_AT_END;
        answers.begun = true;
        answers.stop_limit = 100 * USEC_PER_MSEC;
        start_unit();
        await(is_running, "it has started");
        unit_stop(unit);
        await(is_stopped, "a stop");
        answers.active = "deactivating";
        run_for(1500 * USEC_PER_MSEC);
        cr_expect_eq(kills, 0);
}

Test(unit_notify, somebody_else_stops_it) {
        start_unit();
        it_says_so();
        it_ends("inactive", "success", CLD_EXITED, 0);
        expect_end("sxe", UNIT_OUTCOME_SUCCESS, UNIT_STOP_OTHER, "");
}

Test(unit_notify, it_is_stopped_with_its_machine) {
        answers.system_state = "stopping";
        start_unit();
        it_says_so();
        it_ends("inactive", "success", CLD_EXITED, 0);
        expect_end("sxe", UNIT_OUTCOME_SUCCESS, UNIT_STOP_SHUTDOWN, "");
}

/* PID 1 was ending it when it ended with a status of its own. */
static void it_ends_while_it_is_ended(void) {
        start_unit();
        it_says_so();
        answers.active_left = clock_monotonic() - 1;
        it_ends("failed", "exit-code", CLD_EXITED, 143);
}

Test(unit_notify, it_is_stopped_with_its_machine_whatever_its_status) {
        answers.system_state = "stopping";
        it_ends_while_it_is_ended();
        expect_end("sxe", UNIT_OUTCOME_EXIT_CODE, UNIT_STOP_SHUTDOWN, "exit-code");
}

/* Nor that its main process has, while something of it lives. */
Test(unit_notify, nothing_is_told_of_its_end_before_that_is_known) {
        g_autofree char *group = g_dir_make_tmp("unit-notify-XXXXXX", NULL),
                        *file = g_build_filename(group, "cgroup.events", NULL),
                        *path = g_strconcat("/../../../../../../..", group, NULL);

        cr_assert(g_file_set_contents(file, "populated 1\n", -1, NULL));
        answers.control_group = path;
        answers.slow_state = true;
        it_ends_while_it_is_ended();
        await(is_asked, "PID 1 is asked what it is about");
        run_for(100 * USEC_PER_MSEC);
        cr_expect_str_eq(told, "s");
        cr_assert(g_file_set_contents(file, "populated 0\n", -1, NULL));
        (void)sd_bus_reply_method_return(asked, "v", "s", "stopping");
        expect_end("sxe", UNIT_OUTCOME_EXIT_CODE, UNIT_STOP_SHUTDOWN, "exit-code");
        (void)g_unlink(file);
        (void)g_rmdir(group);
}

/* Whoever may say that it is ready may say that it stops, and then fail. */
Test(unit_notify, where_the_machine_stays_it_has_failed) {
        it_ends_while_it_is_ended();
        expect_end("sxe", UNIT_OUTCOME_EXIT_CODE, UNIT_STOP_NONE, "exit-code");
}

Test(unit_notify, what_fails_by_itself_is_no_matter_of_its_machine) {
        answers.system_state = "stopping";
        start_unit();
        it_says_so();
        answers.active_left = clock_monotonic() + USEC_PER_SEC;
        it_ends("failed", "exit-code", CLD_EXITED, 3);
        expect_end("sxe", UNIT_OUTCOME_EXIT_CODE, UNIT_STOP_NONE, "exit-code");
}

/* However long it has lived: the limit of its start is none of its life. */
Test(unit_notify, it_ends_with_the_fence) {
        answers.fenced = true;
        answers.limit = 10;
        answers.since = 100;
        answers.fence_left = 150;
        start_unit();
        it_says_so();
        main_process_ends("success", CLD_KILLED, SIGTERM);
        answers.active = "inactive";
        answers.gone = 200;
        job_removed_of(NAME, "/org/freedesktop/systemd1/job/8", "done");
        expect_end("sxe", UNIT_OUTCOME_SIGNAL, UNIT_STOP_FENCE, "signal");
}

Test(unit_notify, it_is_adopted_when_it_had_started) {
        answers.active = "active";
        answers.active_enter = 9;
        answers.with_job = false;
        answers.begun = true;
        cr_assert_eq(unit_adopt(manager, NAME, NONCE, on_unit, NULL, &unit), 0);
        await(is_running, "it has started");
        it_ends("failed", "signal", CLD_KILLED, SIGSEGV);
        expect_end("sxe", UNIT_OUTCOME_SIGNAL, UNIT_STOP_NONE, "signal");
}

Test(unit_notify, it_is_adopted_before_it_has_started) {
        answers.begun = true;
        cr_assert_eq(unit_adopt(manager, NAME, NONCE, on_unit, NULL, &unit), 0);
        run_for(200 * USEC_PER_MSEC);
        cr_expect_str_eq(told, "");
        it_says_so();
        it_ends("active", "success", CLD_EXITED, 0);
        expect_end("sxe", UNIT_OUTCOME_SUCCESS, UNIT_STOP_NONE, "");
}

/* Nobody asks PID 1 again and again while it lives. */
Test(unit_notify, it_is_left_alone_while_it_lives) {
        g_autofree char *group = g_dir_make_tmp("unit-notify-XXXXXX", NULL),
                        *file = g_build_filename(group, "cgroup.events", NULL),
                        *path = g_strconcat("/../../../../../../..", group, NULL);
        unsigned before;

        cr_assert(g_file_set_contents(file, "populated 1\n", -1, NULL));
        answers.control_group = path;
        start_unit();
        it_says_so();
        run_for(100 * USEC_PER_MSEC);
        before = reads;
        run_for(2500 * USEC_PER_MSEC);
        cr_expect_eq(reads, before);
        main_process_ends("exit-code", CLD_EXITED, 3);
        cr_assert(g_file_set_contents(file, "populated 0\n", -1, NULL));
        (void)g_unlink(file);
        job_removed_of(NAME, "/org/freedesktop/systemd1/job/8", "done");
        expect_end("sxe", UNIT_OUTCOME_EXIT_CODE, UNIT_STOP_NONE, "exit-code");
        (void)g_rmdir(group);
}

/* Units and scopes against a PID 1 of the test's own (private-pid1.h): what it answers. */
#include <errno.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>

#include "cgroup.h"
#include "private-pid1.h"

TestSuite(unit_bus, .init = setup, .fini = teardown);

static bool is_asked_again(void) {
        return starts > 1;
}

Test(unit_bus, a_busy_bus_is_asked_again) {
        answers.start = "org.freedesktop.DBus.Error.LimitsExceeded";
        start_unit();
        await(is_asked_again, "it is asked for again");
        answers.start = "org.freedesktop.systemd1.BadUnitSetting";
        expect_end("e", UNIT_OUTCOME_START_FAILED, UNIT_STOP_NONE, "the test says so");
}

/* That is no fault of the run's. */
Test(unit_bus, what_pid_1_has_no_time_for_any_more_is_not_begun) {
        answers.start = "org.freedesktop.systemd1.TransactionIsDestructive";
        start_unit();
        expect_end("e", UNIT_OUTCOME_NOT_BEGUN, UNIT_STOP_NONE, "the test says so");
}

Test(unit_bus, what_pid_1_has_no_room_for_is_not_begun) {
        answers.start = "System.Error.ENOSPC";
        start_unit();
        expect_end("e", UNIT_OUTCOME_NO_ROOM, UNIT_STOP_NONE, "the test says so");
        cr_expect_eq(starts, 1);
}

Test(unit_bus, what_is_stopped_while_the_bus_is_busy_is_not_started) {
        unsigned before;

        answers.start = "org.freedesktop.DBus.Error.LimitsExceeded";
        start_unit();
        before = starts;
        run_for(20 * USEC_PER_MSEC); /* the answer is there */
        unit_stop(unit);
        answers.start = NULL;
        expect_end("e", UNIT_OUTCOME_START_FAILED, UNIT_STOP_OWNER,
                   "stopped before it was started");
        run_for(300 * USEC_PER_MSEC);
        cr_expect_eq(starts, before);
}

Test(unit_bus, a_unit_that_vanishes_is_unknown) {
        start_unit();
        answers.get_all = "org.freedesktop.DBus.Error.UnknownObject";
        job_removed("done");
        expect_end("e", UNIT_OUTCOME_UNKNOWN, UNIT_STOP_NONE,
                   "the unit disappeared before its result could be read");
}

Test(unit_bus, another_unit_in_its_place_is_not_it) {
        start_unit();
        answers.nonce = "00000000000000000000000000000002";
        job_removed("done");
        expect_end("e", UNIT_OUTCOME_UNKNOWN, UNIT_STOP_NONE,
                   "the unit disappeared before its result could be read");
}

/* ... nor is it ours to be forgotten, which would stop it. */
Test(unit_bus, another_unit_in_its_place_is_left_alone) {
        answers.begun = true;
        cr_assert_eq(unit_adopt(manager, NAME, NONCE, on_unit, NULL, &unit), 0);
        await(is_running, "it is found");
        answers.nonce = "00000000000000000000000000000002";
        job_removed("done");
        expect_end("se", UNIT_OUTCOME_UNKNOWN, UNIT_STOP_NONE,
                   "the unit disappeared before its result could be read");
        unit_discard(unit);
        unit = unit_free(unit);
        run_for(100 * USEC_PER_MSEC);
        cr_expect_eq(stops, 0);
}

Test(unit_bus, a_stop_that_is_refused_looks_again) {
        start_unit();
        answers.stop = "org.freedesktop.systemd1.NoSuchUnit";
        answers.get_all = "org.freedesktop.DBus.Error.UnknownObject";
        unit_stop(unit);
        expect_end("e", UNIT_OUTCOME_UNKNOWN, UNIT_STOP_OWNER,
                   "the unit disappeared before its result could be read");
        cr_expect_geq(stops, 1);
}

static bool is_stopped_again(void) {
        return stops > 1;
}

Test(unit_bus, a_stop_that_pid_1_has_no_time_for_is_said_again) {
        start_unit();
        answers.stop = "org.freedesktop.DBus.Error.NoReply";
        unit_stop(unit);
        await(is_stopped, "a stop");
        answers.stop = NULL;
        await(is_stopped_again, "and again");
        main_process_ends("signal", CLD_KILLED, SIGTERM);
        job_removed("canceled");
        expect_end("sxe", UNIT_OUTCOME_SIGNAL, UNIT_STOP_OWNER, "signal");
}

Test(unit_bus, stopped_by_a_person) {
        start_unit();
        main_process_ends("success", CLD_EXITED, 0);
        job_removed("canceled");
        expect_end("sxe", UNIT_OUTCOME_SUCCESS, UNIT_STOP_OTHER, "");
}

/* A person has asked for another start, say, and thought better of it. */
Test(unit_bus, what_becomes_of_another_job_of_the_unit_says_nothing) {
        start_unit();
        main_process_ends("success", CLD_EXITED, 0);
        answers.active = "active";
        job_removed_of(NAME, "/org/freedesktop/systemd1/job/9", "canceled");
        run_for(100 * USEC_PER_MSEC);
        job_removed("done");
        expect_end("sxe", UNIT_OUTCOME_SUCCESS, UNIT_STOP_NONE, "");
}

/* No end is told before it is known who ended it. */
Test(unit_bus, stopped_by_a_shutdown) {
        answers.slow_state = true;
        start_unit();
        main_process_ends("success", CLD_EXITED, 0);
        job_removed("canceled");
        await(is_asked, "PID 1 is asked for its state");
        run_for(200 * USEC_PER_MSEC);
        cr_expect_str_eq(told, "s");
        (void)sd_bus_reply_method_return(asked, "v", "s", "stopping");
        expect_end("sxe", UNIT_OUTCOME_SUCCESS, UNIT_STOP_SHUTDOWN, "");
}

static int build_stop_of_another(sd_bus *bus, void *userdata, sd_bus_message **ret_message) {
        (void)userdata;
        return systemd_method(bus, ret_message, "StopUnit", "ss", "another.service", "replace");
}

static void on_nothing(sd_bus_message *reply, const sd_bus_error *error, void *userdata) {
        (void)reply;
        (void)error;
        (void)userdata;
}

static bool are_all_under_way(void) {
        return stops == UNIT_CALLS_IN_FLIGHT_MAX;
}

/* PID 1 has so much to answer that our own stop has to wait: it was not that. */
Test(unit_bus, stopped_by_a_person_before_our_own_stop_could_be_sent) {
        BusCall *calls[UNIT_CALLS_IN_FLIGHT_MAX];

        start_unit();
        run_for(20 * USEC_PER_MSEC); /* the answer is there */
        answers.slow_stop = true;
        for (size_t i = 0; i < G_N_ELEMENTS(calls); i++)
                calls[i] = bus_call_new(unit_manager_queue(manager), build_stop_of_another,
                                        on_nothing, NULL, SYSTEMD_CALL_TIMEOUT, BUS_CALL_URGENT);
        await(are_all_under_way, "there is no room");
        unit_stop(unit);
        main_process_ends("signal", CLD_KILLED, SIGTERM);
        job_removed("canceled");
        run_for(20 * USEC_PER_MSEC);
        cr_expect_eq(stops, UNIT_CALLS_IN_FLIGHT_MAX, "ours waits");
        for (size_t i = 0; i < G_N_ELEMENTS(calls); i++)
                bus_call_free(calls[i]);
        expect_end("sxe", UNIT_OUTCOME_SIGNAL, UNIT_STOP_OTHER, "signal");
}

/* Nor is it waited for for ever. */
Test(unit_bus, who_stopped_it_is_not_told) {
        answers.slow_state = true;
        start_unit();
        main_process_ends("signal", CLD_KILLED, SIGTERM);
        job_removed("canceled");
        expect_end("sxe", UNIT_OUTCOME_SIGNAL, UNIT_STOP_OTHER, "signal");
}

/* Whoever takes the start job away does not stop anything. */
Test(unit_bus, a_start_job_that_is_cancelled_is_no_stop) {
        start_unit();
        answers.with_job = false;
        answers.begun = true;
        reads = 0;
        job_removed("canceled");
        run_for(200 * USEC_PER_MSEC);
        cr_expect_geq(reads, 1);
        main_process_ends("success", CLD_EXITED, 0);
        answers.active = "active";
        expect_end("sxe", UNIT_OUTCOME_SUCCESS, UNIT_STOP_NONE, "");
}

/* A cgroup of the test's own: whatever the real ones' root is, it has a way up. */
#define WAY_UP "/../../../../../../.."

/* Whether something was left is decided where its end is ordered. */
Test(unit_bus, what_it_left_is_known_when_it_is_gone) {
        g_autofree char *group = g_dir_make_tmp("unit-bus-cgroup-XXXXXX", NULL),
                        *file = g_build_filename(group, "cgroup.events", NULL),
                        *path = g_strconcat(WAY_UP, group, NULL);

        cr_assert(g_file_set_contents(file, "populated 1\n", -1, NULL));
        answers.control_group = path;
        start_unit();
        main_process_ends("success", CLD_EXITED, 0);
        answers.active = "active";
        job_removed("done");
        await(is_stopped, "what it left is stopped");
        (void)g_unlink(file);
        expect_end("sxe", UNIT_OUTCOME_SUCCESS, UNIT_STOP_NONE, "");
        cr_expect(unit_result(unit)->left);
        (void)g_rmdir(group);
}

Test(unit_bus, nothing_was_left_where_its_cgroup_was_empty) {
        start_unit();
        main_process_ends("success", CLD_EXITED, 0);
        answers.active = "active";
        job_removed("done");
        expect_end("sxe", UNIT_OUTCOME_SUCCESS, UNIT_STOP_NONE, "");
        cr_expect_not(unit_result(unit)->left);
        cr_expect_eq(stops, 0);
}

Test(unit_bus, adopted_and_not_there) {
        answers.get_all = "org.freedesktop.DBus.Error.UnknownObject";
        cr_assert_eq(unit_adopt(manager, NAME, NONCE, on_unit, NULL, &unit), 0);
        run_for(200 * USEC_PER_MSEC);
        cr_expect_str_eq(told, "a");
}

/* It ended by itself while nobody followed it: that somebody wants its end now changes nothing. */
Test(unit_bus, adopted_when_it_had_ended_well_and_stopped_too_late) {
        main_process_ends("success", CLD_EXITED, 0);
        answers.active = "active";
        answers.begun = true;
        cr_assert_eq(unit_adopt(manager, NAME, NONCE, on_unit, NULL, &unit), 0);
        unit_stop(unit);
        unit_kill(unit);
        expect_end("xe", UNIT_OUTCOME_SUCCESS, UNIT_STOP_NONE, "");
}

/* Nor does a wish of before it was seen: what had failed has failed. */
static void adopt_failed(void) {
        main_process_ends("exit-code", CLD_EXITED, 3);
        answers.active = "failed";
        answers.with_job = false;
        answers.begun = true;
        cr_assert_eq(unit_adopt(manager, NAME, NONCE, on_unit, NULL, &unit), 0);
}

Test(unit_bus, adopted_when_it_had_failed_and_stopped_before_it_was_seen) {
        adopt_failed();
        unit_stop(unit);
        unit_kill(unit);
        expect_end("xe", UNIT_OUTCOME_EXIT_CODE, UNIT_STOP_NONE, "exit-code");
}

Test(unit_bus, adopted_when_a_process_before_us_had_it_ended) {
        adopt_failed();
        unit_was_ordered(unit, answers.gone - 1);
        unit_stop(unit);
        expect_end("xe", UNIT_OUTCOME_EXIT_CODE, UNIT_STOP_OWNER, "exit-code");
}

Test(unit_bus, adopted_when_a_process_before_us_had_what_it_left_ended) {
        adopt_failed();
        unit_was_ordered(unit, answers.gone + 1);
        unit_stop(unit);
        expect_end("xe", UNIT_OUTCOME_EXIT_CODE, UNIT_STOP_NONE, "exit-code");
}

/* PID 1 keeps the start job of what has failed until what is left is dead, and a stop takes it
 * away. */
Test(unit_bus, stopped_when_it_had_failed_and_what_it_left_lived) {
        start_unit();
        main_process_ends("exit-code", CLD_EXITED, 3);
        run_for(USEC_PER_MSEC);
        unit_stop(unit);
        await(is_stopped, "a stop");
        job_removed("canceled");
        expect_end("sxe", UNIT_OUTCOME_EXIT_CODE, UNIT_STOP_NONE, "exit-code");
}

Test(unit_bus, adopted_alive_and_stopped_before_it_was_seen) {
        answers.begun = true;
        cr_assert_eq(unit_adopt(manager, NAME, NONCE, on_unit, NULL, &unit), 0);
        unit_stop(unit);
        await(is_stopped, "a stop");
        main_process_ends("signal", CLD_KILLED, SIGTERM);
        job_removed("canceled");
        expect_end("sxe", UNIT_OUTCOME_SIGNAL, UNIT_STOP_OWNER, "signal");
}

/* That is known when all is over, too. */
Test(unit_bus, when_it_was_asked_to_end) {
        usec_t before;

        start_unit();
        cr_expect_eq(unit_asked(unit), USEC_INFINITY);
        before = clock_monotonic();
        unit_stop(unit);
        await(is_stopped, "a stop");
        cr_expect_geq(unit_asked(unit), before);
        cr_expect_leq(unit_asked(unit), clock_monotonic());
        before = unit_asked(unit);
        main_process_ends("signal", CLD_KILLED, SIGTERM);
        job_removed("canceled");
        expect_end("sxe", UNIT_OUTCOME_SIGNAL, UNIT_STOP_OWNER, "signal");
        cr_expect_eq(unit_asked(unit), before);
}

/* PID 1 stops it already, at its time limit; only a job's end is told. */
Test(unit_bus, one_that_is_being_stopped_is_given_a_job_whose_end_is_told) {
        answers.active = "deactivating";
        answers.with_job = false;
        answers.begun = true;
        cr_assert_eq(unit_adopt(manager, NAME, NONCE, on_unit, NULL, &unit), 0);
        await(is_stopped, "a stop");
        main_process_ends("timeout", CLD_KILLED, SIGTERM);
        job_removed("done");
        expect_end("sxe", UNIT_OUTCOME_TIMEOUT, UNIT_STOP_NONE, "timeout");
}

/* What PID 1 told was from before that, and nobody else would ask for the last time. */
Test(unit_bus, what_was_asked_before_its_cgroup_was_empty_is_asked_again) {
        g_autofree char *directory = g_dir_make_tmp("unit-bus-cgroup-XXXXXX", NULL),
                        *file = g_build_filename(directory, "cgroup.events", NULL),
                        *cgroup = g_strconcat("/../../../..", directory, NULL);
        unsigned before;

        cr_assert(g_file_set_contents(file, "populated 1\n", -1, NULL));
        answers.control_group = cgroup;
        answers.stop = "org.freedesktop.systemd1.NoSuchUnit";
        start_unit();
        main_process_ends("success", CLD_EXITED, 0);
        answers.active = "active"; /* for what it left */
        job_removed("done");
        await(is_stopped, "a stop");
        answers.slow_read = true;
        await(is_unread, "a look at what was not stopped");
        before = reads;
        cr_assert_eq(g_unlink(file), 0);
        run_for(2 * CGROUP_POLL_PERIOD);
        cr_expect_str_eq(told, "sx");
        answers.active = "inactive";
        answer_read();
        expect_end("sxe", UNIT_OUTCOME_SUCCESS, UNIT_STOP_NONE, "");
        cr_expect_eq(reads, before + 1);
        (void)g_rmdir(directory);
}

Test(unit_bus, what_is_no_unit_is_refused) {
        static const char *const none[] = {NULL};
        const UnitSpec spec = {.name = NAME, .argv = none, .nonce = NONCE};

        cr_expect_eq(unit_start(manager, &spec, on_unit, NULL, &unit), -EINVAL);
        cr_expect_eq(unit_adopt(manager, NAME, NULL, on_unit, NULL, &unit), -EINVAL);
        cr_expect_null(unit);
}

/* ---- scopes ---- */

#define SCOPE "jobkeeper-lock-1.scope"

static Scope *scope;
static unsigned scope_failures;

#define CROWD 100U

static bool has_room_for_no_more(void) {
        return starts == START_WINDOW_SIZE;
}

static bool are_the_others_asked_for(void) {
        return starts == CROWD - 1;
}

/* PID 1 takes them all at once, and has the work later. */
Test(unit_bus, only_so_many_are_starting_at_a_time) {
        static const char *const argv[] = {"/bin/true", NULL};
        usec_t begun = clock_monotonic();
        Unit *crowd[CROWD] = {0};

        for (unsigned i = 0; i < CROWD; i++) {
                g_autofree char *name = g_strdup_printf("jobkeeper-a-17%08u-1.service", i);
                const UnitSpec spec = {
                    .name = name, .argv = argv, .nonce = NONCE, .stop_timeout = USEC_PER_SEC};

                cr_assert_eq(unit_start(manager, &spec, on_unit, NULL, &crowd[i]), 0);
        }
        await(has_room_for_no_more, "the first are asked for");
        run_for(200 * USEC_PER_MSEC);
        cr_expect_eq(starts, START_WINDOW_SIZE);
        unit_kill(crowd[CROWD - 1]); /* its turn never came */
        await(has_ended, "it ends without");
        crowd[CROWD - 1] = unit_free(crowd[CROWD - 1]);
        cr_expect_eq(starts, START_WINDOW_SIZE);
        crowd[0] = unit_free(crowd[0]); /* and another one of the last takes its place */
        answers.begun = true;
        await(are_the_others_asked_for, "the others follow as they begin");
        cr_expect_lt(clock_monotonic() - begun, START_WINDOW_PATIENCE,
                     "and not because nobody has patience any more");
        for (unsigned i = 0; i < CROWD; i++)
                unit_free(crowd[i]);
}

static void on_scope(Scope *which, ScopeEvent event, void *userdata) {
        (void)which;
        (void)userdata;
        scope_failures += event == SCOPE_EVENT_FAILED;
}

static bool scope_has_failed(void) {
        return scope_failures > 0;
}

static void start_scope(void) {
        const ScopeSpec spec = {
            .name = SCOPE, .description = "a test", .slice = "system.slice", .pid = 5};

        cr_assert_eq(scope_start(manager, &spec, on_scope, NULL, &scope), 0);
        await(is_started, "it is asked for");
        run_for(20 * USEC_PER_MSEC);
}

static void expect_scope_fails(const char *fault) {
        await(scope_has_failed, "it has failed");
        cr_expect_str_eq(scope_fault(scope), fault);
        cr_expect_null(scope_cgroup(scope));
        run_for(100 * USEC_PER_MSEC);
        cr_expect_eq(scope_failures, 1);
        scope = scope_free(scope);
}

Test(unit_bus, a_scope_whose_process_cannot_be_moved) {
        start_scope();
        scope_stop(scope); /* there is nothing to stop yet */
        job_removed_of(SCOPE, START_JOB, "failed");
        expect_scope_fails("the service manager could not move the process");
        cr_expect_eq(stops, 0);
}

/* What has failed fails once, for its first reason. */
Test(unit_bus, a_scope_whose_connection_is_lost_after_it_has_failed) {
        start_scope();
        job_removed_of(SCOPE, START_JOB, "failed");
        await(scope_has_failed, "it has failed");
        way_cut(&private_socket);
        expect_scope_fails("the service manager could not move the process");
}

Test(unit_bus, a_scope_that_nobody_knows_the_place_of) {
        start_scope();
        answers.get_all = "org.freedesktop.DBus.Error.UnknownObject";
        job_removed_of(SCOPE, START_JOB, "done");
        expect_scope_fails("the service manager does not say where its cgroup is");
}

/* What nobody knows the place of may be full of processes. */
Test(unit_bus, a_scope_in_which_nobody_is) {
        start_scope();
        cr_expect(scope_is_populated(scope));
        scope = scope_free(scope);
        cr_assert_eq(scope_adopt(manager, SCOPE, "/none.slice/" SCOPE, on_scope, NULL, &scope), 0);
        cr_expect_not(scope_is_populated(scope));
        scope = scope_free(scope);
}

Test(unit_bus, a_scope_whose_connection_is_lost_before_it_is_there) {
        start_scope();
        way_cut(&private_socket);
        expect_scope_fails("the connection to the service manager was lost");
}

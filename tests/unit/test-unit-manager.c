/* The ways to PID 1, the private socket and the bus, with one of the test's own behind them
 * (private-pid1.h): which is used, and what becomes of references where one goes. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "private-pid1.h"
#include "systemd-job.h"

TestSuite(unit_ways, .init = setup_ways, .fini = teardown);

static bool has_moved(void) {
        return private_socket.calls > 0;
}

static void end_unit(void) {
        main_process_ends("success", CLD_EXITED, 0);
        job_removed("done");
        expect_end("sxe", UNIT_OUTCOME_SUCCESS, UNIT_STOP_NONE, "");
}

static void end_unit_by_owner(void) {
        main_process_ends("signal", CLD_KILLED, SIGTERM);
        job_removed("canceled");
        expect_end("sxe", UNIT_OUTCOME_SIGNAL, UNIT_STOP_OWNER, "signal");
}

Test(unit_ways, the_private_socket_is_asked_and_references_are_on_the_bus) {
        new_manager();
        await(is_referable, "a connection to the bus");
        start_unit();
        await(is_referred_to, "a reference");
        cr_expect_eq(referring_starts, 0);
        end_unit();
        cr_expect_eq(system_bus.calls, 0);
        unit = unit_free(unit);
        await(is_not_referred_to, "no reference");
}

/* Whoever keeps dbus-daemon busy keeps nothing else from going on. */
Test(unit_ways, a_bus_that_says_nothing_delays_nothing) {
        system_bus.silent = true;
        new_manager();
        start_unit();
        answers.slow_stop = true;
        unit_stop(unit);
        await(is_stopped, "a stop");
        end_unit_by_owner();
        cr_expect_not(is_referable());
}

Test(unit_ways, what_is_said_on_the_bus_meanwhile_does_not_count) {
        unsigned before;

        new_manager();
        await(is_referable, "a connection to the bus");
        start_unit();
        run_for(50 * USEC_PER_MSEC);
        before = reads;
        used = &system_bus;
        job_removed("done");
        run_for(200 * USEC_PER_MSEC);
        cr_expect_eq(reads, before);
        used = &private_socket;
        end_unit();
}

Test(unit_ways, a_bus_that_was_gone_is_told_the_references_again) {
        new_manager();
        await(is_referable, "a connection to the bus");
        start_unit();
        await(is_referred_to, "a reference");
        references = 0;
        way_cut(&system_bus);
        await(is_referred_to, "a reference again");
        end_unit();
}

/* PID 1 executes itself anew. */
Test(unit_ways, a_private_socket_that_comes_back_is_waited_for) {
        new_manager();
        await(is_referable, "a connection to the bus");
        start_unit();
        answers.slow_stop = true;
        unit_stop(unit);
        await(is_stopped, "a stop");
        way_close(&private_socket);
        run_for(500 * USEC_PER_MSEC);
        cr_expect_not(is_connected());
        way_open(&private_socket);
        stops = 0;
        await(is_stopped, "the stop again");
        cr_expect_eq(system_bus.calls, 0);
        end_unit_by_owner();
}

Test(unit_ways, the_bus_is_asked_while_there_is_no_private_socket) {
        way_close(&private_socket);
        used = &system_bus;
        new_manager();
        start_unit();
        cr_expect_eq(referring_starts, 1);
        end_unit();
        cr_expect_eq(references, 0); /* taken by the start */
        cr_expect_eq(private_socket.calls, 0);
}

/* With what the bus has not answered. */
Test(unit_ways, the_bus_is_left_when_there_is_a_private_socket) {
        way_close(&private_socket);
        new_manager();
        start_unit();
        answers.slow_stop = true;
        unit_stop(unit);
        await(is_stopped, "a stop");
        way_open(&private_socket);
        stops = 0;
        await(is_stopped, "the stop again");
        cr_expect(has_moved());
        end_unit_by_owner();
}

/* ---- PID 1's plans ---- */

static int planned; /* SystemdJob; -1: not told */

static void on_planned(SystemdJob systemd_job, void *userdata) {
        (void)userdata;
        planned = (int)systemd_job;
}

static bool is_told_of_plans(void) {
        return planned >= 0;
}

static void expect_planned(SystemdJob systemd_job, usec_t timeout) {
        planned = -1;
        cr_assert_eq(
            unit_manager_query_systemd_job(manager, "a.service", timeout, on_planned, NULL), 0);
        await(is_told_of_plans, "an answer");
        cr_expect_eq(planned, (int)systemd_job, "%d", planned);
}

Test(unit_ways, a_stop_that_is_part_of_a_shutdown_is_told_apart) {
        new_manager();
        await(is_referable, "a connection to the bus");
        expect_planned(SYSTEMD_JOB_NONE, USEC_PER_MINUTE);
        answers.job_type = "stop";
        expect_planned(SYSTEMD_JOB_STOP, USEC_PER_MINUTE);
        answers.system_state = "stopping";
        expect_planned(SYSTEMD_JOB_SHUTDOWN, USEC_PER_MINUTE);
        answers.job_type = "restart";
        expect_planned(SYSTEMD_JOB_RESTART, USEC_PER_MINUTE);
}

static bool is_asked_for_the_state(void) {
        return asked;
}

/* That it is to stop is known by then. */
Test(unit_ways, a_stop_is_one_where_pid_1_says_no_more) {
        new_manager();
        await(is_referable, "a connection to the bus");
        answers.job_type = "stop";
        answers.slow_state = true;
        planned = -1;
        cr_assert_eq(unit_manager_query_systemd_job(manager, "a.service", 5 * USEC_PER_SEC,
                                                    on_planned, NULL),
                     0);
        await(is_asked_for_the_state, "it is asked");
        await(is_told_of_plans, "an answer");
        cr_expect_eq(planned, (int)SYSTEMD_JOB_STOP, "%d", planned);
}

/* ---- who does not answer ---- */

static unsigned silences, ends;

static void on_silence(bool silent, void *userdata) {
        silences += silent;
        ends += !silent;
}

static bool is_silent(void) {
        return silences > 0;
}

static bool is_silent_no_more(void) {
        return ends > 0;
}

static void listen_for_silence(void) {
        new_manager();
        silences = ends = 0;
        unit_manager_on_silence(manager, on_silence, NULL);
}

Test(unit_ways, who_answers_nothing_for_long_is_silent_until_he_does) {
        listen_for_silence();
        start_unit();
        run_for(50 * USEC_PER_MSEC);
        cr_expect_eq(unit_manager_silence(manager), 0);
        answers.slow_read = true;
        main_process_ends("success", CLD_EXITED, 0);
        job_removed("done");
        await(is_unread, "a question");
        await(is_silent, "silence");
        cr_expect_geq(unit_manager_silence(manager), 5 * USEC_PER_SEC);
        answer_read();
        await(is_silent_no_more, "its end");
        cr_expect_eq(unit_manager_silence(manager), 0);
        cr_expect_eq(silences, 1);
}

Test(unit_ways, who_cannot_be_reached_is_silent_until_he_can) {
        listen_for_silence();
        await(is_referable, "a connection to the bus");
        way_close(&private_socket);
        way_close(&system_bus);
        await(is_silent, "silence");
        way_open(&private_socket);
        await(is_silent_no_more, "its end");
}

/* What nobody answers any more is asked again in another way. */
Test(unit_ways, what_is_answered_by_nobody_is_found_out) {
        listen_for_silence();
        start_unit();
        answers.slow_stop = true;
        unit_stop(unit);
        await(is_stopped, "a stop");
        await(is_silent, "silence");
        unit = unit_free(unit);
        await(is_silent_no_more, "a question that costs little, and its answer");
}

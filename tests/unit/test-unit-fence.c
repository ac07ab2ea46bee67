/* Units and scopes that are bound to the fence: how PID 1 is asked for them, and whether it was the
 * fence that ended one, also when nobody saw that (fence-end.h). */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "fence-end.h"
#include "fence-protocol.h"
#include "private-pid1.h"
#include "unit-start.h"

TestSuite(unit_fence, .init = setup, .fini = teardown);

/* When the fence leaves off, beside a unit that lives from 100 to 200. */
static void setup_lives(usec_t left) {
        answers.fenced = true;
        answers.since = 100;
        answers.fence_left = left;
}

static void main_process_goes(const char *result, int32_t code, int32_t status) {
        main_process_ends(result, code, status);
        answers.gone = 200;
}

/* ---- followed from its start ---- */

static void start_and_lose_it(usec_t left, UnitStop stop) {
        setup_lives(left);
        start_unit();
        main_process_goes("signal", CLD_KILLED, SIGTERM);
        job_removed("canceled");
        expect_end("sxe", UNIT_OUTCOME_SIGNAL, stop, "signal");
}

Test(unit_fence, it_ended_with_the_fence) {
        start_and_lose_it(150, UNIT_STOP_FENCE);
}

Test(unit_fence, it_was_stopped_and_the_fence_had_left_off_before_it_began) {
        start_and_lose_it(99, UNIT_STOP_OTHER);
}

Test(unit_fence, it_was_stopped_and_the_fence_left_off_after_it_had_ended) {
        start_and_lose_it(201, UNIT_STOP_OTHER);
}

/* What it left was ended, and with that its start job. */
Test(unit_fence, it_failed_by_itself_and_the_fence_left_off_after_that) {
        setup_lives(201);
        start_unit();
        main_process_goes("exit-code", CLD_EXITED, 3);
        job_removed("canceled");
        expect_end("sxe", UNIT_OUTCOME_EXIT_CODE, UNIT_STOP_NONE, "exit-code");
}

/* ... also where the time limit had it end, as well as it could. */
static void reach_the_limit_and_leave_something(usec_t limit, UnitOutcome outcome, UnitStop stop,
                                                const char *detail) {
        setup_lives(201);
        answers.limit = limit;
        start_unit();
        main_process_goes("timeout", CLD_EXITED, 0);
        job_removed("canceled");
        expect_end("sxe", outcome, stop, detail);
}

Test(unit_fence, it_had_reached_its_limit_and_the_fence_left_off_after_that) {
        reach_the_limit_and_leave_something(100, UNIT_OUTCOME_TIMEOUT, UNIT_STOP_NONE, "timeout");
}

Test(unit_fence, it_was_stopped_before_its_limit_and_the_fence_left_off_after_that) {
        reach_the_limit_and_leave_something(101, UNIT_OUTCOME_SUCCESS, UNIT_STOP_OTHER, "");
}

Test(unit_fence, it_was_stopped_with_a_status_and_the_fence_left_off_before_it_began) {
        setup_lives(99);
        start_unit();
        main_process_goes("exit-code", CLD_EXITED, 3);
        job_removed("canceled");
        expect_end("sxe", UNIT_OUTCOME_EXIT_CODE, UNIT_STOP_OTHER, "exit-code");
}

Test(unit_fence, it_was_stopped_and_the_fence_never_left_off) {
        start_and_lose_it(0, UNIT_STOP_OTHER);
}

Test(unit_fence, it_was_stopped_and_is_not_bound_to_the_fence) {
        setup_lives(150);
        answers.fenced = false;
        start_unit();
        main_process_goes("signal", CLD_KILLED, SIGTERM);
        job_removed("canceled");
        expect_end("sxe", UNIT_OUTCOME_SIGNAL, UNIT_STOP_OTHER, "signal");
}

/* Both happened: the machine goes, and with it the fence. */
Test(unit_fence, it_ended_with_the_machine) {
        answers.system_state = "stopping";
        start_and_lose_it(150, UNIT_STOP_SHUTDOWN);
}

Test(unit_fence, it_was_stopped_by_us) {
        setup_lives(150);
        start_unit();
        unit_stop(unit);
        await(is_stopped, "a stop");
        main_process_ends("signal", CLD_KILLED, SIGTERM);
        answers.gone = clock_monotonic() + USEC_PER_SEC;
        job_removed("canceled");
        expect_end("sxe", UNIT_OUTCOME_SIGNAL, UNIT_STOP_OWNER, "signal");
}

/* We hung just then, and want it to end by the time that we hear of it. */
Test(unit_fence, it_ended_with_the_fence_and_we_came_too_late) {
        setup_lives(150);
        start_unit();
        unit_stop(unit);
        await(is_stopped, "a stop");
        main_process_goes("exit-code", CLD_EXITED, 143);
        job_removed("canceled");
        expect_end("sxe", UNIT_OUTCOME_EXIT_CODE, UNIT_STOP_FENCE, "exit-code");
}

Test(unit_fence, it_ended_by_itself_while_the_fence_left_off) {
        setup_lives(150);
        start_unit();
        main_process_goes("exit-code", CLD_EXITED, 3);
        answers.active = "failed";
        job_removed("failed");
        expect_end("sxe", UNIT_OUTCOME_EXIT_CODE, UNIT_STOP_NONE, "exit-code");
}

/* The fence was not there when its turn came. */
Test(unit_fence, it_never_began) {
        setup_lives(0);
        answers.main_pid = 0;
        start_unit();
        answers.active = "inactive";
        answers.with_job = false;
        job_removed("dependency");
        expect_end("e", UNIT_OUTCOME_START_FAILED, UNIT_STOP_FENCE,
                   "the start job ended: dependency");
}

/* It ended well on SIGTERM, and nobody had referred to it. */
Test(unit_fence, it_is_gone) {
        setup_lives(0);
        start_unit();
        answers.get_all = "org.freedesktop.DBus.Error.UnknownObject";
        answers.fence_left = clock_monotonic();
        job_removed("canceled");
        expect_end("e", UNIT_OUTCOME_UNKNOWN, UNIT_STOP_FENCE,
                   "the unit disappeared before its result could be read");
}

Test(unit_fence, it_is_gone_and_the_fence_had_left_off_before_it_was_asked_for) {
        setup_lives(clock_monotonic() - 1);
        start_unit();
        answers.get_all = "org.freedesktop.DBus.Error.UnknownObject";
        job_removed("canceled");
        expect_end("e", UNIT_OUTCOME_UNKNOWN, UNIT_STOP_NONE,
                   "the unit disappeared before its result could be read");
}

/* ---- found when it was over ---- */

static void adopt_over(const char *result, int32_t code, int32_t status) {
        main_process_goes(result, code, status);
        answers.active = "failed";
        answers.with_job = false;
        answers.begun = true;
        cr_assert_eq(unit_adopt(manager, NAME, NONCE, on_unit, NULL, &unit), 0);
}

Test(unit_fence, it_had_ended_with_the_fence) {
        setup_lives(150);
        adopt_over("signal", CLD_KILLED, SIGTERM);
        expect_end("xe", UNIT_OUTCOME_SIGNAL, UNIT_STOP_FENCE, "signal");
}

/* What it made of SIGTERM. */
Test(unit_fence, it_had_ended_with_the_fence_and_an_exit_status) {
        setup_lives(150);
        adopt_over("exit-code", CLD_EXITED, 3);
        expect_end("xe", UNIT_OUTCOME_EXIT_CODE, UNIT_STOP_FENCE, "exit-code");
}

/* ... which was the end of another one than of that which ended it. */
Test(unit_fence, it_had_ended_as_what_is_stopped_does_before_the_fence_left_off) {
        setup_lives(201);
        adopt_over("signal", CLD_KILLED, SIGTERM);
        expect_end("xe", UNIT_OUTCOME_SIGNAL, UNIT_STOP_FENCE, "signal");
}

Test(unit_fence, it_had_said_that_it_was_stopped_before_the_fence_left_off) {
        setup_lives(201);
        adopt_over("exit-code", CLD_EXITED, 128 + SIGTERM);
        expect_end("xe", UNIT_OUTCOME_EXIT_CODE, UNIT_STOP_FENCE, "exit-code");
}

Test(unit_fence, it_had_crashed_before_the_fence_left_off) {
        setup_lives(201);
        adopt_over("signal", CLD_KILLED, SIGSEGV);
        expect_end("xe", UNIT_OUTCOME_SIGNAL, UNIT_STOP_NONE, "signal");
}

Test(unit_fence, it_had_failed_before_the_fence_left_off) {
        setup_lives(201);
        adopt_over("exit-code", CLD_EXITED, 3);
        expect_end("xe", UNIT_OUTCOME_EXIT_CODE, UNIT_STOP_NONE, "exit-code");
}

/* PID 1 says so of a stop that had to be followed by a kill, too. */
Test(unit_fence, it_was_killed_after_the_fence_had_left_off) {
        setup_lives(150);
        answers.limit = 51;
        adopt_over("timeout", CLD_KILLED, SIGKILL);
        expect_end("xe", UNIT_OUTCOME_TIMEOUT, UNIT_STOP_FENCE, "timeout");
}

Test(unit_fence, it_had_reached_its_limit_before_the_fence_left_off) {
        setup_lives(150);
        answers.limit = 50;
        adopt_over("timeout", CLD_KILLED, SIGTERM);
        expect_end("xe", UNIT_OUTCOME_TIMEOUT, UNIT_STOP_NONE, "timeout");
}

static bool is_absent(void) {
        return strcmp(told, "a") == 0;
}

/* When it was started only others know. */
Test(unit_fence, nothing_is_found_but_when_the_fence_left_off) {
        setup_lives(150);
        answers.get_all = "org.freedesktop.DBus.Error.UnknownObject";
        cr_assert_eq(unit_adopt(manager, NAME, NONCE, on_unit, NULL, &unit), 0);
        await(is_absent, "it is absent");
        cr_expect_eq(unit_result(unit)->fence_left, 150);
        cr_expect_eq(unit_result(unit)->stop, UNIT_STOP_NONE);
}

/* ---- what PID 1 is asked for ---- */

/* Return: newly allocated, the units in that list of the message. */
static char *list_in(sd_bus_message *message, const char *name) {
        g_autoptr(GString) text = g_string_new(NULL);
        const char *property = NULL, *unit_name = NULL;

        while (sd_bus_message_enter_container(message, 'r', "sv") > 0) {
                cr_assert_gt(sd_bus_message_read(message, "s", &property), 0);
                if (strcmp(property, name) == 0) {
                        cr_assert_gt(sd_bus_message_enter_container(message, 'v', "as"), 0);
                        cr_assert_gt(sd_bus_message_enter_container(message, 'a', "s"), 0);
                        while (sd_bus_message_read(message, "s", &unit_name) > 0)
                                g_string_append_printf(text, "%s ", unit_name);
                        cr_assert_geq(sd_bus_message_exit_container(message), 0);
                        cr_assert_geq(sd_bus_message_exit_container(message), 0);
                } else {
                        cr_assert_geq(sd_bus_message_skip(message, "v"), 0);
                }
                cr_assert_geq(sd_bus_message_exit_container(message), 0);
        }
        return g_string_free(g_steal_pointer(&text), FALSE);
}

static void expect_order(const char *const *after, bool fenced, const char *name,
                         const char *expected) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        g_autofree char *found = NULL;
        sd_bus *bus = system_bus.server;

        cr_assert_geq(
            sd_bus_message_new_method_call(bus, &message, "a.b", "/a", "a.b", "StartTransientUnit"),
            0);
        cr_assert_geq(sd_bus_message_open_container(message, 'a', "(sv)"), 0);
        cr_assert_geq(unit_start_append_order(message, after, fenced), 0);
        cr_assert_geq(sd_bus_message_close_container(message), 0);
        cr_assert_geq(sd_bus_message_seal(message, 1, 0), 0);
        cr_assert_gt(sd_bus_message_enter_container(message, 'a', "(sv)"), 0);
        found = list_in(message, name);
        cr_expect_str_eq(found, expected);
}

Test(unit_fence, what_is_fenced_is_bound_to_it_and_stops_before_it) {
        static const char *const after[] = {"a.service", NULL};

        expect_order(NULL, true, "After",
                     "jobkeeperd.service network.target jobkeeper-fence.service ");
        expect_order(NULL, true, "BindsTo", "jobkeeper-fence.service ");
        expect_order(after, true, "After", "a.service jobkeeper-fence.service ");
        expect_order(NULL, false, "After", "jobkeeperd.service network.target ");
        expect_order(NULL, false, "BindsTo", "");
}

/* ---- what is decided without asking ---- */

Test(unit_fence, what_leaves_it_open) {
        static const struct {
                bool bound;
                UnitOutcome outcome;
                UnitStop stop;
                const char *word;
                bool open;
        } cases[] = {
            {false, UNIT_OUTCOME_SIGNAL, UNIT_STOP_OTHER, NULL, false},
            {true, UNIT_OUTCOME_SIGNAL, UNIT_STOP_OTHER, NULL, true},
            {true, UNIT_OUTCOME_SUCCESS, UNIT_STOP_OTHER, "canceled", true},
            {true, UNIT_OUTCOME_SIGNAL, UNIT_STOP_OWNER, NULL, false},
            {true, UNIT_OUTCOME_SIGNAL, UNIT_STOP_SHUTDOWN, NULL, false},
            {true, UNIT_OUTCOME_SUCCESS, UNIT_STOP_NONE, NULL, false},
            {true, UNIT_OUTCOME_EXIT_CODE, UNIT_STOP_NONE, NULL, true},
            {true, UNIT_OUTCOME_EXIT_CODE, UNIT_STOP_NONE, "failed", false},
            {true, UNIT_OUTCOME_SIGNAL, UNIT_STOP_NONE, NULL, true},
            {true, UNIT_OUTCOME_SIGNAL, UNIT_STOP_NONE, "canceled", true},
            {true, UNIT_OUTCOME_OTHER, UNIT_STOP_NONE, NULL, true},
            {true, UNIT_OUTCOME_TIMEOUT, UNIT_STOP_NONE, NULL, true},
            {true, UNIT_OUTCOME_START_FAILED, UNIT_STOP_NONE, NULL, false},
            {true, UNIT_OUTCOME_UNKNOWN, UNIT_STOP_NONE, NULL, true},
            {true, UNIT_OUTCOME_UNKNOWN, UNIT_STOP_NONE, "canceled", true},
            {true, UNIT_OUTCOME_UNKNOWN, UNIT_STOP_NONE, "done", false},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                const FenceEnd end = {.bound = cases[i].bound};
                const UnitResult result = {.outcome = cases[i].outcome, .stop = cases[i].stop};

                cr_expect_eq(fence_end_may_be(&end, &result, cases[i].word), cases[i].open,
                             "case %zu", i);
        }
}

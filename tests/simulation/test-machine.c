/* Machines and processes of a simulation: clocks, and whose turn it is. */
#include <criterion/criterion.h>
#include <glib.h>
#include <glib/gstdio.h>

#include "clock.h"
#include "process.h"

static World *world;
static Machine *machine;
static Process *process;
static char *directory;
static unsigned calls;

static void setup(void) {
        directory = g_dir_make_tmp("simulation-XXXXXX", NULL);
        world = world_new(1);
        machine = machine_new(world, "n1", directory);
        process = process_new(machine);
}

static void teardown(void) {
        process_end(process);
        process = process_free(process);
        machine = machine_free(machine);
        world = world_free(world);
        g_free(directory);
}

TestSuite(machine, .init = setup, .fini = teardown);
TestSuite(process, .init = setup, .fini = teardown);

static void nothing(void *userdata) {
        (void)userdata;
}

static void pass(usec_t span) {
        usec_t until = world_now(world) + span;

        while (world_step(world, until))
                ;
}

Test(machine, clocks_drift_by_so_many_parts_per_million) {
        machine_set_drift(machine, 100);
        pass(10000 * USEC_PER_SEC);
        cr_expect_eq(machine_clock(machine, CLOCK_BOOTTIME), 10006 * USEC_PER_SEC);
        cr_expect_eq(machine_clock(machine, CLOCK_REALTIME),
                     ((usec_t)MACHINE_EPOCH + 10001) * USEC_PER_SEC);
        machine_set_clock_right(machine);
        cr_expect_eq(machine_clock(machine, CLOCK_REALTIME),
                     ((usec_t)MACHINE_EPOCH + 10000) * USEC_PER_SEC);
        machine_step_clock(machine, -(int64_t)USEC_PER_SEC);
        cr_expect_eq(machine_clock(machine, CLOCK_REALTIME),
                     ((usec_t)MACHINE_EPOCH + 9999) * USEC_PER_SEC);
        cr_expect_eq(machine_clock(machine, CLOCK_MONOTONIC), 10006 * USEC_PER_SEC);
}

/* After exactly so long, and not a microsecond sooner. */
Test(machine, how_long_until_a_clock_shows_something) {
        for (int32_t ppm = -200; ppm <= 200; ppm += 7) {
                usec_t at, wait;

                machine_set_drift(machine, ppm);
                at = machine_clock(machine, CLOCK_BOOTTIME) + 1234567 + 1000 * (usec_t)(ppm + 200);
                wait = machine_until(machine, CLOCK_BOOTTIME, at);
                pass(wait - 1);
                cr_expect_lt(machine_clock(machine, CLOCK_BOOTTIME), at, "%d ppm", ppm);
                pass(1);
                cr_expect_geq(machine_clock(machine, CLOCK_BOOTTIME), at, "%d ppm", ppm);
                cr_expect_eq(machine_until(machine, CLOCK_BOOTTIME, at), 0);
        }
}

Test(machine, a_boot_begins_anew_and_keeps_what_is_on_disk) {
        g_autofree char *before = g_strdup(machine_boot_id(machine)),
                        *id = g_strdup(machine_id(machine)),
                        *lost = g_build_filename(directory, "run", "a", NULL),
                        *kept = g_build_filename(directory, "state", "a", NULL);

        cr_assert(g_file_set_contents(lost, "x", 1, NULL));
        cr_assert(g_file_set_contents(kept, "x", 1, NULL));
        pass(100 * USEC_PER_SEC);
        machine_boot(machine);
        cr_expect_eq(machine_clock(machine, CLOCK_BOOTTIME), 5 * USEC_PER_SEC);
        cr_expect_eq(machine_clock(machine, CLOCK_REALTIME),
                     ((usec_t)MACHINE_EPOCH + 100) * USEC_PER_SEC);
        cr_expect_str_neq(before, machine_boot_id(machine));
        cr_expect_str_eq(id, machine_id(machine));
        cr_expect_not(g_file_test(lost, G_FILE_TEST_EXISTS));
        cr_expect(g_file_test(kept, G_FILE_TEST_EXISTS));
}

static void on_call(void *userdata) {
        cr_expect_eq(process_turn(), process);
        cr_expect_eq(clock_monotonic(), machine_clock(machine, CLOCK_MONOTONIC));
        calls++;
        if (userdata)
                (void)process_after(process, 1, on_call, NULL);
}

Test(process, what_it_does_later_is_done_on_its_turn) {
        (void)process_after(process, 10, on_call, process);
        pass(9);
        cr_expect_eq(calls, 0);
        pass(2);
        cr_expect_eq(calls, 2);
        cr_expect_null(process_turn_if_any());
}

static void expect_to_wait(void (*stop)(void), void (*go_on)(void)) {
        ProcessTask *taken_back;

        calls = 0;
        stop();
        (void)process_after(process, 10, on_call, NULL);
        taken_back = process_after(process, 10, on_call, NULL);
        (void)process_after(process, 50, on_call, NULL);
        pass(20);
        cr_expect_eq(calls, 0, "it is stopped");
        process_task_free(taken_back);
        go_on();
        pass(10);
        cr_expect_eq(calls, 1, "what was due is done");
        pass(50);
        cr_expect_eq(calls, 2);
}

static void process_stops(void) {
        process_stop(process);
}

static void process_goes_on(void) {
        process_continue(process);
}

static void machine_stops(void) {
        machine_freeze(machine);
}

static void machine_goes_on(void) {
        machine_thaw(machine);
}

Test(process, what_is_due_waits_while_nothing_can_run) {
        expect_to_wait(process_stops, process_goes_on);
        expect_to_wait(machine_stops, machine_goes_on);
        process_stop(process);
        machine_freeze(machine);
        (void)process_after(process, 0, on_call, NULL);
        machine_thaw(machine);
        pass(10);
        cr_expect_eq(calls, 2, "one of the two is not enough");
        process_continue(process);
        pass(10);
        cr_expect_eq(calls, 3);
}

static void on_number(void *userdata) {
        cr_expect_eq(GPOINTER_TO_UINT(userdata), calls);
        calls++;
}

Test(process, what_has_waited_is_done_in_the_order_of_its_time) {
        process_stop(process);
        for (unsigned i = 0; i < 10; i++)
                (void)process_after(process, 100 - i, on_number, GUINT_TO_POINTER(9 - i));
        pass(200);
        process_continue(process);
        pass(200);
        cr_expect_eq(calls, 10);
}

Test(process, one_that_is_over_does_nothing_more) {
        ProcessTask *before = process_after(process, 10, on_call, NULL), *after;

        process_end(process);
        after = process_after(process, 10, on_call, NULL);
        pass(100);
        cr_expect_eq(calls, 0);
        process_do(process, nothing, NULL);
        process_task_free(before);
        process_task_free(after);
}

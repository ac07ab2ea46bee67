/* That no run can be let start here, and that it is tried again. */
#include <criterion/criterion.h>
#include <glib.h>
#include <glib/gstdio.h>

#include "event-loop.h"
#include "launch-fault.h"
#include "temporary-tree.h"

static char *root;
static sd_event *event;
static LaunchFault *fault;

static void setup(void) {
        root = tree_make();
        event = loop_new();
        fault = launch_fault_new(event, USEC_PER_MSEC);
}

static void teardown(void) {
        launch_fault_free(fault);
        event = loop_end(event);
        tree_remove(root);
}

TestSuite(launch_fault, .init = setup, .fini = teardown);

/* It is tried again once. */
static void turn(void) {
        cr_assert_gt(sd_event_run(event, 10 * USEC_PER_SEC), 0);
}

Test(launch_fault, what_cannot_be_written_is_tried_until_it_can) {
        g_autofree char *directory = g_build_filename(root, "system", NULL);

        cr_expect_null(launch_fault_why(fault));
        launch_fault_note_root(fault, directory);
        turn();
        turn();
        cr_expect_str_eq(launch_fault_why(fault), "what systemd needs to begin a run cannot be "
                                                  "written under /run (is there no space?)");
        cr_assert_eq(g_mkdir(directory, 0755), 0);
        turn();
        cr_expect_null(launch_fault_why(fault));
        cr_expect_eq(g_rmdir(directory), 0, "nothing is left of it");
}

Test(launch_fault, what_cannot_be_executed_is_tried_until_it_can) {
        g_autofree char *program = g_build_filename(root, "program", NULL);

        launch_fault_note_program(fault, program);
        turn();
        cr_assert(g_file_set_contents(program, "", 0, NULL));
        turn();
        cr_expect_not_null(launch_fault_why(fault));
        cr_assert_eq(g_chmod(program, 0755), 0);
        turn();
        cr_expect_null(launch_fault_why(fault));
}

/* It is of another version, say, or its disk is torn. */
Test(launch_fault, what_only_systemd_can_tell_is_left_to_the_next_run) {
        launch_fault_note_root(fault, "/nonexistent");
        launch_fault_note_program(fault, "/bin/true");
        cr_expect_str_eq(launch_fault_why(fault),
                         "systemd cannot execute jobkeeper-launch, which lets runs start");
        turn();
        cr_expect_null(launch_fault_why(fault));
        launch_fault_note_program(fault, "/bin/true");
        cr_expect_not_null(launch_fault_why(fault), "it came to nothing, too");
}

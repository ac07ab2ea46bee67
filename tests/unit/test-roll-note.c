/* What the end of a run changes in what is known of its roll, in a whole daemon. */
#include "roll-note.h"

#include <string.h>

#include "journal.h"
#include "roll-fixture.h"
#include "runs.h"

static unsigned tries;

TestSuite(roll_note, .init = setup, .fini = teardown);

static void begin_run(const char *keys, const char *others) {
        roll_begin(keys, others);
        await(roll_has_started, "a start");
}

static void end_run(int status) {
        service_exit(service_newest(), status);
        await(roll_is_over, "its end");
}

Test(roll_note, a_failure_is_noted) {
        begin_run("    max-failures: 1\n", "");
        end_run(1);
        roll_expect("n1 failed");
}

/* Nobody begins by it, and people see what stands there. */
Test(roll_note, what_is_damaged_is_left_and_told) {
        begin_run("    max-failures: 1\n    lock: none\n", "");
        server_write(ROLL_PATH, "junk");
        end_run(1);
        cr_expect_str_eq(server_data(ROLL_PATH), "junk");
        cr_expect_eq(journal_count(MESSAGE_ROLL_DAMAGED), 1U);
        cr_expect(journal_has("is not noted for the others of its roll"));
        cr_expect_not_null(strstr(roll_record(), "\"failed\""), "%s", roll_record());
}

Test(roll_note, beside_those_of_others) {
        begin_run("    max-failures: 3\n", "n2 failed");
        end_run(1);
        roll_expect("n2 failed n1 failed");
}

Test(roll_note, a_success_leaves_nothing) {
        begin_run("    max-failures: 2\n", "n2 failed");
        end_run(0);
        roll_expect("n2 failed");
}

Test(roll_note, where_all_began_together_a_failure_is_noted_as_well) {
        begin_run("    max-failures: 2\n    lock: none\n", "");
        end_run(1);
        roll_expect("n1 failed");
}

Test(roll_note, what_is_attempted_again_has_not_failed_yet) {
        begin_run("    max-failures: 2\n    retries: {attempts: 2, delay: 1s}\n", "");
        end_run(1);
        cr_expect_str_eq(server_data(ROLL_PATH), ROLL_NOTHING);
        g_ptr_array_set_size(started, 0);
        await(roll_has_started, "the second attempt");
        end_run(1);
        cr_expect_not_null(strstr(server_data(ROLL_PATH), "failed"));
}

static bool is_given_up(void) {
        return strstr(server_data(ROLL_PATH), "failed");
}

/* The last attempt is not made: the one before it has failed after all. */
Test(roll_note, so_has_what_is_not_attempted_again_after_all) {
        begin_run("    max-failures: 2\n    retries: {attempts: 2, delay: 3s}\n"
                  "    start-deadline: 1s\n",
                  "");
        end_run(1);
        close_daemon();
        g_usleep(6 * USEC_PER_SEC); /* nobody is there when it would be */
        open_daemon();
        await(is_given_up, "it is given up");
}

/* Another node settles its own right between what we read and what we write. */
static ServerWay n2_fails_meanwhile(const ZkCall *call) {
        if (call_has(call, ZK_OP_SET, ROLL_PATH) && tries++ == 0)
                roll_write("n2 failed n1 claimed");
        return SERVER_ANSWER;
}

Test(roll_note, of_two_that_end_at_the_same_moment_both_are_noted) {
        begin_run("    max-failures: 3\n", "");
        server.way = n2_fails_meanwhile;
        end_run(1);
        roll_expect("n2 failed n1 failed");
        cr_expect_eq(tries, 2U);
}

/* So many others end at the same moment, and each is quicker. */
#define QUICKER 17

static ServerWay others_are_quicker(const ZkCall *call) {
        if (call_has(call, ZK_OP_SET, ROLL_PATH) && tries++ < QUICKER)
                roll_write("n1 claimed");
        return SERVER_ANSWER;
}

/* The locks of the run are held until it is settled. */
Test(roll_note, who_is_outrun_pauses_for_moments_alone) {
        usec_t began;

        begin_run("    max-failures: 3\n", "");
        server.way = others_are_quicker;
        began = clock_monotonic();
        end_run(1);
        cr_expect_eq(tries, QUICKER + 1U);
        cr_expect_lt(clock_monotonic() - began, 7 * USEC_PER_SEC, "four pauses are longer");
        roll_expect("n1 failed");
}

/* Return: newly allocated, that they have failed on so many others. */
static char *failed_on_others(unsigned n) {
        g_autoptr(GString) text = g_string_new(NULL);

        for (unsigned i = 0; i < n; i++)
                g_string_append_printf(text, "%sn%u failed", i > 0 ? " " : "", i + 2);
        return g_string_free(g_steal_pointer(&text), FALSE);
}

/* It changes nothing for anybody, and very many would be in each other's way by it. */
Test(roll_note, more_failures_than_any_job_takes_are_not_noted) {
        g_autofree char *others = failed_on_others(JOB_FAILURES_MAX);

        begin_run("    max-failures: 3\n    lock: none\n", "");
        roll_write(others);
        server.way = others_are_quicker;
        end_run(1);
        cr_expect_eq(tries, 0U);
        roll_expect(others);
}

Test(roll_note, but_as_many_are) {
        g_autofree char *others = failed_on_others(JOB_FAILURES_MAX - 1),
                        *all = g_strconcat(others, " n1 failed", NULL);

        begin_run("    max-failures: 3\n    lock: none\n", "");
        roll_write(others);
        end_run(1);
        roll_expect(all);
}

/* Its own turn ends all the same. */
Test(roll_note, what_is_not_noted_is_not_under_way_either) {
        g_autofree char *others = failed_on_others(JOB_FAILURES_MAX),
                        *all = g_strconcat(others, " n1 claimed", NULL);

        begin_run("    max-failures: 3\n", "");
        roll_write(all);
        end_run(1);
        roll_expect(others);
}

/* Somebody closed it: that is told once, and keeps no run from being settled. */
Test(roll_note, what_cannot_be_read_keeps_no_run_from_being_settled) {
        begin_run("    max-failures: 1\n    lock: none\n", "");
        server.unreadable = ROLL_PATH;
        end_run(1);
        cr_expect_eq(journal_count(MESSAGE_REFUSED), 1U);
        cr_expect(journal_has(ROLL_PATH ": "));
}

Test(roll_note, nor_does_what_cannot_be_changed) {
        begin_run("    max-failures: 1\n    lock: none\n", "");
        server.unwritable = ROLL_PATH;
        end_run(1);
        cr_expect_eq(journal_count(MESSAGE_REFUSED), 1U);
        roll_expect("");
}

/* What is under way when somebody deletes it still says that it has failed. */
Test(roll_note, what_somebody_deleted_is_made_anew) {
        begin_run("    max-failures: 1\n", "");
        server_remove(ROLL_PATH);
        end_run(1);
        roll_expect("n1 failed");
}

Test(roll_note, by_a_success_it_is_not) {
        begin_run("    max-failures: 1\n", "");
        server_remove(ROLL_PATH);
        end_run(0);
        cr_expect_null(server_node(ROLL_PATH));
}

/* Another node that saw it missing is quicker. */
static ServerWay n2_makes_it(const ZkCall *call) {
        if (call_has(call, ZK_OP_CREATE, ROLL_PATH) && tries++ == 0)
                roll_write("n2 failed");
        return SERVER_ANSWER;
}

Test(roll_note, of_two_that_make_it_anew_both_are_noted) {
        begin_run("    max-failures: 3\n", "");
        server_remove(ROLL_PATH);
        server.way = n2_makes_it;
        end_run(1);
        roll_expect("n2 failed n1 failed");
}

/* ---- machines that are to come back ---- */

#define REJOIN "    rejoin-timeout: 10min\n"

static void expect_known(const char *known) {
        g_autofree char *text = roll_known();

        cr_expect_str_eq(text, known, "%s", server_data(ROLL_PATH));
}

Test(roll_note, whose_machine_is_waited_for_is_noted_whatever_its_end) {
        begin_run(REJOIN, "n2 failed");
        end_run(0);
        expect_known("succeeded@");
        cr_expect_not_null(strstr(server_data(ROLL_PATH), "\"boot\""));
}

Test(roll_note, of_one_that_fails_its_machine_is_waited_for_too) {
        begin_run(REJOIN, "");
        end_run(1);
        expect_known("failed@");
}

Test(roll_note, between_two_attempts_as_well) {
        begin_run(REJOIN "    retries: {attempts: 2, delay: 1s}\n", "");
        end_run(1);
        expect_known("failed@+");
        g_ptr_array_set_size(started, 0);
        await(roll_has_started, "the second attempt");
        expect_known("claimed");
        end_run(0);
        expect_known("succeeded@");
}

/* Others had settled it, and the machine was waited for since; its own word comes later. */
Test(roll_note, what_is_known_better_is_waited_for_as_before) {
        begin_run(REJOIN, "");
        roll_write("n1 unknown@100");
        roll_settle_record(RUN_UNKNOWN);
        end_run(0);
        roll_expect("n1 succeeded@100");
}

Test(roll_note, what_is_known_better_of_a_machine_that_is_back_is_not_waited_for) {
        begin_run(REJOIN, "");
        roll_write("n1 unknown");
        roll_settle_record(RUN_UNKNOWN);
        end_run(0);
        expect_known("");
}

/* ---- a reboot ends it ---- */

static bool is_left(void) {
        return runs_count(coordinator->runs) == 0;
}

/* It stands claimed for its machine to say what it has come to, whatever the unit made of it. */
Test(roll_note, what_the_shutdown_of_its_machine_ends_is_left_to_its_return) {
        begin_run(REJOIN "    reboot: success\n", "");
        service_manager.shuts_down = true;
        service_exit(service_newest(), 1);
        await(is_left, "nobody follows it");
        expect_known("claimed");
        cr_expect_eq(server_count(ROLL_ROOT "/open/n1"), 1);
        cr_expect_not_null(strstr(roll_record(), "\"state\":\"claimed\""));
        cr_expect_not_null(strstr(roll_record(), "\"reboot\":\"success\""));
}

Test(roll_note, without_the_key_it_was_interrupted) {
        begin_run(REJOIN, "");
        service_manager.shuts_down = true;
        end_run(0);
        expect_known("interrupted@");
}

/* It has failed before the shutdown came to it. */
Test(roll_note, what_ends_by_itself_is_settled_at_once) {
        begin_run(REJOIN "    reboot: success\n", "");
        end_run(1);
        expect_known("failed@");
}

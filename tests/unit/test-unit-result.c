/* The tables of unit-result.c, cell by cell. */
#include <criterion/criterion.h>
#include <glib.h>
#include <signal.h>

#include "unit-result.h"

#define NEVER_RAN 0

Test(unit_result, outcome_by_result_and_process) {
        static const struct {
                const char *result;
                int code, status;
                UnitOutcome outcome;
        } cells[] = {
            {"success", CLD_EXITED, 0, UNIT_OUTCOME_SUCCESS},
            {"success", CLD_EXITED, 1, UNIT_OUTCOME_SUCCESS}, /* SuccessExitStatus= */
            {"success", CLD_KILLED, SIGTERM, UNIT_OUTCOME_SUCCESS},
            {"success", NEVER_RAN, 0, UNIT_OUTCOME_START_FAILED},
            {"exit-code", CLD_EXITED, 1, UNIT_OUTCOME_EXIT_CODE},
            {"exit-code", CLD_EXITED, 199, UNIT_OUTCOME_EXIT_CODE},
            {"exit-code", CLD_EXITED, 200, UNIT_OUTCOME_START_FAILED},
            {"exit-code", CLD_EXITED, 203, UNIT_OUTCOME_START_FAILED},
            {"exit-code", CLD_EXITED, 217, UNIT_OUTCOME_START_FAILED},
            {"exit-code", CLD_EXITED, 243, UNIT_OUTCOME_START_FAILED},
            {"exit-code", CLD_EXITED, 244, UNIT_OUTCOME_EXIT_CODE},
            {"exit-code", CLD_EXITED, 255, UNIT_OUTCOME_EXIT_CODE},
            {"exit-code", NEVER_RAN, 0, UNIT_OUTCOME_START_FAILED},
            {"signal", CLD_KILLED, SIGKILL, UNIT_OUTCOME_SIGNAL},
            {"signal", NEVER_RAN, 0, UNIT_OUTCOME_START_FAILED},
            {"core-dump", CLD_DUMPED, SIGSEGV, UNIT_OUTCOME_SIGNAL},
            {"core-dump", NEVER_RAN, 0, UNIT_OUTCOME_START_FAILED},
            {"timeout", CLD_KILLED, SIGTERM, UNIT_OUTCOME_TIMEOUT},
            {"timeout", CLD_EXITED, 0, UNIT_OUTCOME_TIMEOUT},
            {"timeout", CLD_EXITED, 203, UNIT_OUTCOME_TIMEOUT},
            {"timeout", NEVER_RAN, 0, UNIT_OUTCOME_TIMEOUT},
            {"resources", CLD_EXITED, 0, UNIT_OUTCOME_OTHER},
            {"resources", NEVER_RAN, 0, UNIT_OUTCOME_START_FAILED},
            {"protocol", CLD_EXITED, 0, UNIT_OUTCOME_OTHER},
            {"protocol", NEVER_RAN, 0, UNIT_OUTCOME_START_FAILED},
            {"exec-condition", CLD_EXITED, 1, UNIT_OUTCOME_START_FAILED},
            {"exec-condition", NEVER_RAN, 0, UNIT_OUTCOME_START_FAILED},
            {"start-limit-hit", CLD_EXITED, 0, UNIT_OUTCOME_START_FAILED},
            {"start-limit-hit", NEVER_RAN, 0, UNIT_OUTCOME_START_FAILED},
            {"oom-kill", CLD_KILLED, SIGKILL, UNIT_OUTCOME_OTHER},
            {"oom-kill", NEVER_RAN, 0, UNIT_OUTCOME_OTHER},
            {"watchdog", CLD_KILLED, SIGABRT, UNIT_OUTCOME_OTHER},
            {"a word of a later systemd", CLD_EXITED, 0, UNIT_OUTCOME_OTHER},
            {"", CLD_EXITED, 0, UNIT_OUTCOME_OTHER},
            {NULL, CLD_EXITED, 0, UNIT_OUTCOME_OTHER},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cells); i++) {
                UnitOutcome outcome =
                    unit_outcome_from_service(cells[i].result, cells[i].code, cells[i].status);

                cr_expect(outcome == cells[i].outcome, "%s, code %d, status %d: %s instead of %s",
                          cells[i].result ? cells[i].result : "(null)", cells[i].code,
                          cells[i].status, unit_outcome_to_string(outcome),
                          unit_outcome_to_string(cells[i].outcome));
        }
}

Test(unit_result, word_of_process) {
        cr_expect_str_eq(unit_result_word_of_process(CLD_EXITED, 0), "success");
        cr_expect_str_eq(unit_result_word_of_process(CLD_EXITED, 1), "exit-code");
        cr_expect_str_eq(unit_result_word_of_process(CLD_KILLED, SIGKILL), "signal");
        cr_expect_str_eq(unit_result_word_of_process(CLD_DUMPED, SIGSEGV), "core-dump");
        cr_expect_str_eq(unit_result_word_of_process(NEVER_RAN, 0), "success");
}

Test(unit_result, exit_status_names) {
        cr_expect_null(unit_exit_status_name(-1));
        cr_expect_null(unit_exit_status_name(0));
        cr_expect_null(unit_exit_status_name(199));
        cr_expect_str_eq(unit_exit_status_name(200), "CHDIR");
        cr_expect_str_eq(unit_exit_status_name(203), "EXEC");
        cr_expect_str_eq(unit_exit_status_name(216), "GROUP");
        cr_expect_str_eq(unit_exit_status_name(217), "USER");
        cr_expect_str_eq(unit_exit_status_name(226), "NAMESPACE");
        cr_expect_str_eq(unit_exit_status_name(238), "STATE_DIRECTORY");
        cr_expect_null(unit_exit_status_name(223));
        cr_expect_str_eq(unit_exit_status_name(243), "CREDENTIALS");
        cr_expect_null(unit_exit_status_name(244));
}

Test(unit_result, bus_faults) {
        static const struct {
                const char *name;
                UnitBusFault fault;
        } cells[] = {
            {"org.freedesktop.systemd1.UnitExists", UNIT_BUS_EXISTS},
            {"org.freedesktop.systemd1.UnitExistsNot", UNIT_BUS_REFUSED},
            {"org.freedesktop.systemd1.NoSuchUnit", UNIT_BUS_REFUSED},
            {"org.freedesktop.systemd1.TransactionIsDestructive", UNIT_BUS_OUTRANKED},
            {"org.freedesktop.systemd1.ShuttingDown", UNIT_BUS_OUTRANKED},
            {"org.freedesktop.systemd1.UnitMasked", UNIT_BUS_REFUSED},
            {"org.freedesktop.DBus.Error.InvalidArgs", UNIT_BUS_REFUSED},
            {"org.freedesktop.DBus.Error.AccessDenied", UNIT_BUS_REFUSED},
            {"org.freedesktop.DBus.Error.PropertyReadOnly", UNIT_BUS_REFUSED},
            {"System.Error.EINVAL", UNIT_BUS_REFUSED},
            {"System.Error.ENOSPC", UNIT_BUS_NO_ROOM},
            {"org.freedesktop.DBus.Error.LimitsExceeded", UNIT_BUS_BUSY},
            {"org.freedesktop.DBus.Error.ServiceUnknown", UNIT_BUS_BUSY},
            {"org.freedesktop.DBus.Error.NameHasNoOwner", UNIT_BUS_BUSY},
            {"org.freedesktop.DBus.Error.Spawn.ChildExited", UNIT_BUS_BUSY},
            {"org.freedesktop.DBus.Error.Spawn", UNIT_BUS_UNKNOWN},
            {"org.freedesktop.DBus.Error.NoReply", UNIT_BUS_UNKNOWN},
            {"org.freedesktop.DBus.Error.Timeout", UNIT_BUS_UNKNOWN},
            {"org.freedesktop.DBus.Error.TimedOut", UNIT_BUS_UNKNOWN},
            {"org.freedesktop.DBus.Error.Disconnected", UNIT_BUS_UNKNOWN},
            {"System.Error.ECONNRESET", UNIT_BUS_UNKNOWN},
            {"System.Error.ETIMEDOUT", UNIT_BUS_UNKNOWN},
            {"com.example.Unheard", UNIT_BUS_UNKNOWN},
            {"", UNIT_BUS_UNKNOWN},
            {NULL, UNIT_BUS_UNKNOWN},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cells); i++)
                cr_expect(unit_bus_fault_from_error(cells[i].name) == cells[i].fault, "%s",
                          cells[i].name ? cells[i].name : "(null)");
}

Test(unit_result, every_outcome_has_a_word_of_its_own) {
        for (UnitOutcome a = UNIT_OUTCOME_PENDING; a <= UNIT_OUTCOME_UNKNOWN; a++)
                for (UnitOutcome b = UNIT_OUTCOME_PENDING; b < a; b++)
                        cr_expect_str_neq(unit_outcome_to_string(a), unit_outcome_to_string(b));
}

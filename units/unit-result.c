/* See unit-result.h. Three tables: systemd's Result words, its own exit statuses, and the errors of
 * the bus. */
#include "unit-result.h"

#include <glib.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

/* Exit statuses below 200 are the command's own; those from here on systemd uses for what fails
 * between fork and exec. */
#define EXIT_SYSTEMD_FIRST 200
#define EXIT_SYSTEMD_LAST 243

/* systemd.exec(5), "Process Exit Codes". */
// clang-format off
static const char *const exit_status_names[EXIT_SYSTEMD_LAST - EXIT_SYSTEMD_FIRST + 1] = {
    "CHDIR", "NICE", "FDS", "EXEC", "MEMORY", "LIMITS", "OOM_ADJUST", "SIGNAL_MASK", "STDIN",
    "STDOUT", "CHROOT", "IOPRIO", "TIMERSLACK", "SECUREBITS", "SETSCHEDULER", "CPUAFFINITY",
    "GROUP", "USER", "CAPABILITIES", "CGROUP", "SETSID", "CONFIRM", "STDERR", NULL, "PAM",
    "NETWORK", "NAMESPACE", "NO_NEW_PRIVILEGES", "SECCOMP", "SELINUX_CONTEXT", "PERSONALITY",
    "APPARMOR_PROFILE", "ADDRESS_FAMILIES", "RUNTIME_DIRECTORY", NULL, "CHOWN",
    "SMACK_PROCESS_LABEL", "KEYRING", "STATE_DIRECTORY", "CACHE_DIRECTORY", "LOGS_DIRECTORY",
    "CONFIGURATION_DIRECTORY", "NUMA_POLICY", "CREDENTIALS"
};
// clang-format on

const char *unit_exit_status_name(int status) {
        if (status < EXIT_SYSTEMD_FIRST || status > EXIT_SYSTEMD_LAST)
                return NULL;
        return exit_status_names[status - EXIT_SYSTEMD_FIRST];
}

/* What each word of a service's Result property means when its main process ran, and when it never
 * did. */
static const struct {
        const char *result;
        UnitOutcome ran;
        UnitOutcome never_ran;
} outcomes[] = {
    {"success", UNIT_OUTCOME_SUCCESS, UNIT_OUTCOME_START_FAILED},
    {"exit-code", UNIT_OUTCOME_EXIT_CODE, UNIT_OUTCOME_START_FAILED},
    {"signal", UNIT_OUTCOME_SIGNAL, UNIT_OUTCOME_START_FAILED},
    {"core-dump", UNIT_OUTCOME_SIGNAL, UNIT_OUTCOME_START_FAILED},
    {"timeout", UNIT_OUTCOME_TIMEOUT, UNIT_OUTCOME_TIMEOUT},
    {"resources", UNIT_OUTCOME_OTHER, UNIT_OUTCOME_START_FAILED},
    {"protocol", UNIT_OUTCOME_OTHER, UNIT_OUTCOME_START_FAILED},
    {"exec-condition", UNIT_OUTCOME_START_FAILED, UNIT_OUTCOME_START_FAILED},
    {"start-limit-hit", UNIT_OUTCOME_START_FAILED, UNIT_OUTCOME_START_FAILED},
};

UnitOutcome unit_outcome_from_service(const char *result, int exec_main_code,
                                      int exec_main_status) {
        UnitOutcome outcome = UNIT_OUTCOME_OTHER;

        for (size_t i = 0; result && i < G_N_ELEMENTS(outcomes); i++)
                if (strcmp(outcomes[i].result, result) == 0)
                        outcome = exec_main_code ? outcomes[i].ran : outcomes[i].never_ran;
        if (outcome == UNIT_OUTCOME_EXIT_CODE && exec_main_status >= EXIT_SYSTEMD_FIRST &&
            exec_main_status <= EXIT_SYSTEMD_LAST)
                return UNIT_OUTCOME_START_FAILED;
        return outcome;
}

const char *unit_result_word_of_process(int exec_main_code, int exec_main_status) {
        switch (exec_main_code) {
        case CLD_EXITED:
                return exec_main_status == 0 ? "success" : "exit-code";
        case CLD_KILLED:
                return "signal";
        case CLD_DUMPED:
                return "core-dump";
        default:
                return "success"; /* never ran: no fault of its own */
        }
}

/* The first entry that matches decides; a trailing dot makes it a prefix. */
static const struct {
        const char *name;
        UnitBusFault fault;
} bus_faults[] = {
    {"org.freedesktop.systemd1.UnitExists", UNIT_BUS_EXISTS},
    {"org.freedesktop.systemd1.TransactionIsDestructive", UNIT_BUS_OUTRANKED},
    {"org.freedesktop.systemd1.ShuttingDown", UNIT_BUS_OUTRANKED},
    {"org.freedesktop.systemd1.", UNIT_BUS_REFUSED},
    {"org.freedesktop.DBus.Error.LimitsExceeded", UNIT_BUS_BUSY},
    /* PID 1 is not on the bus at the moment: the call was not delivered to anybody. */
    {"org.freedesktop.DBus.Error.ServiceUnknown", UNIT_BUS_BUSY},
    {"org.freedesktop.DBus.Error.NameHasNoOwner", UNIT_BUS_BUSY},
    {"org.freedesktop.DBus.Error.Spawn.", UNIT_BUS_BUSY},
    {"org.freedesktop.DBus.Error.InvalidArgs", UNIT_BUS_REFUSED},
    {"org.freedesktop.DBus.Error.InvalidSignature", UNIT_BUS_REFUSED},
    {"org.freedesktop.DBus.Error.AccessDenied", UNIT_BUS_REFUSED},
    {"org.freedesktop.DBus.Error.InteractiveAuthorizationRequired", UNIT_BUS_REFUSED},
    {"org.freedesktop.DBus.Error.PropertyReadOnly", UNIT_BUS_REFUSED},
    {"org.freedesktop.DBus.Error.UnknownProperty", UNIT_BUS_REFUSED},
    {"org.freedesktop.DBus.Error.UnknownMethod", UNIT_BUS_REFUSED},
    {"org.freedesktop.DBus.Error.UnknownInterface", UNIT_BUS_REFUSED},
    {"org.freedesktop.DBus.Error.UnknownObject", UNIT_BUS_REFUSED},
    {"org.freedesktop.DBus.Error.NotSupported", UNIT_BUS_REFUSED},
    {"org.freedesktop.DBus.Error.FileNotFound", UNIT_BUS_REFUSED},
    /* PID 1 makes the unit's file before it has a job for it, and nothing after that asks for room:
     * so there is no job, and nothing is executed. */
    {"System.Error.ENOSPC", UNIT_BUS_NO_ROOM},
    {"System.Error.EINVAL", UNIT_BUS_REFUSED},
    {"System.Error.EPERM", UNIT_BUS_REFUSED},
    {"System.Error.EACCES", UNIT_BUS_REFUSED},
    {"System.Error.ENOENT", UNIT_BUS_REFUSED},
    {"System.Error.E2BIG", UNIT_BUS_REFUSED},
    {"System.Error.ENAMETOOLONG", UNIT_BUS_REFUSED},
    {"System.Error.EBADMSG", UNIT_BUS_REFUSED},
    {"System.Error.EOPNOTSUPP", UNIT_BUS_REFUSED},
};

UnitBusFault unit_bus_fault_from_error(const char *error_name) {
        for (size_t i = 0; error_name && i < G_N_ELEMENTS(bus_faults); i++) {
                const char *name = bus_faults[i].name;

                if (g_str_has_suffix(name, ".") ? g_str_has_prefix(error_name, name)
                                                : strcmp(error_name, name) == 0)
                        return bus_faults[i].fault;
        }
        return UNIT_BUS_UNKNOWN; /* NoReply, Timeout, Disconnected and whatever we do not know */
}

const char *unit_outcome_to_string(UnitOutcome outcome) {
        static const char *const words[] = {
            [UNIT_OUTCOME_PENDING] = "pending",     [UNIT_OUTCOME_SUCCESS] = "success",
            [UNIT_OUTCOME_EXIT_CODE] = "exit-code", [UNIT_OUTCOME_SIGNAL] = "signal",
            [UNIT_OUTCOME_TIMEOUT] = "timeout",     [UNIT_OUTCOME_START_FAILED] = "start-failed",
            [UNIT_OUTCOME_OTHER] = "other",         [UNIT_OUTCOME_UNKNOWN] = "unknown",
            [UNIT_OUTCOME_NOT_BEGUN] = "not-begun", [UNIT_OUTCOME_NO_ROOM] = "no-room",
        };

        g_assert((size_t)outcome < G_N_ELEMENTS(words));
        return words[outcome];
}

/* See bus-client.h. */
#include "bus-client.h"

#include <glib.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "bus-interface.h"
#include "bus-open.h"
#include "exit-code.h"
#include "output.h"

#define MESSAGE_NO_DAEMON "jobkeeperd is not running on this machine (systemctl status jobkeeperd)"

typedef struct ErrorOutcome {
        const char *name;
        BusOutcome outcome;
} ErrorOutcome;

static const ErrorOutcome error_outcomes[] = {
    {BUS_ERROR_NO_SUCH_JOB, BUS_NO_SUCH_JOB},
    {BUS_ERROR_JOB_ELSEWHERE, BUS_JOB_ELSEWHERE},
    {BUS_ERROR_NOT_CONNECTED, BUS_NOT_CONNECTED},
    {BUS_ERROR_NO_CANDIDATE, BUS_NO_CANDIDATE},
    {BUS_ERROR_NO_SUCH_LOCK, BUS_NO_SUCH_LOCK},
    {BUS_ERROR_STOPPING, BUS_STOPPING},
    {BUS_ERROR_FAILED, BUS_FAILED},
    {SD_BUS_ERROR_SERVICE_UNKNOWN, BUS_NO_DAEMON},
    {SD_BUS_ERROR_NAME_HAS_NO_OWNER, BUS_NO_DAEMON},
    {SD_BUS_ERROR_NO_REPLY, BUS_NO_ANSWER},
    {SD_BUS_ERROR_TIMEOUT, BUS_NO_ANSWER},
    {"org.freedesktop.DBus.Error.TimedOut", BUS_NO_ANSWER},
    {SD_BUS_ERROR_DISCONNECTED, BUS_NO_ANSWER},
    {SD_BUS_ERROR_ACCESS_DENIED, BUS_DENIED},
    {SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED, BUS_DENIED},
};

BusOutcome bus_outcome_from_error(const char *name) {
        for (size_t i = 0; name && i < G_N_ELEMENTS(error_outcomes); i++)
                if (strcmp(error_outcomes[i].name, name) == 0)
                        return error_outcomes[i].outcome;
        return BUS_FAILED;
}

int bus_outcome_exit(BusOutcome outcome) {
        switch (outcome) {
        case BUS_ANSWERED:
                return EXIT_CODE_OK;
        case BUS_NO_DAEMON:
        case BUS_NO_ANSWER:
        case BUS_NOT_CONNECTED:
        case BUS_STOPPING:
                return EXIT_CODE_UNAVAILABLE;
        case BUS_NO_SUCH_JOB:
        case BUS_JOB_ELSEWHERE:
        case BUS_NO_CANDIDATE:
        case BUS_NO_SUCH_LOCK:
        case BUS_DENIED:
        case BUS_FAILED:
                return EXIT_CODE_FAILED;
        }
        g_assert_not_reached();
}

void bus_answer_done(BusAnswer *answer) {
        g_clear_pointer(&answer->text, g_free);
        g_clear_pointer(&answer->message, g_free);
        json_decref(answer->json);
        answer->json = NULL;
}

/* Fills in what kind of no it is. Takes the message. */
static void answer_no(BusAnswer *answer, BusOutcome outcome, char *message) {
        answer->outcome = outcome;
        answer->message = message;
}

static void bus_answer_take_error(BusAnswer *answer, const sd_bus_error *error,
                                  const char *method) {
        BusOutcome outcome = bus_outcome_from_error(error->name);

        switch (outcome) {
        case BUS_NO_DAEMON:
                answer_no(answer, outcome, g_strdup(MESSAGE_NO_DAEMON));
                break;
        case BUS_NO_ANSWER:
                answer_no(answer, outcome,
                          g_strdup("jobkeeperd did not answer (systemctl status jobkeeperd)"));
                break;
        case BUS_DENIED:
                answer_no(answer, outcome,
                          g_strdup_printf(
                              "not allowed to ask jobkeeperd for this (%s): try as root", method));
                break;
        default:
                answer_no(answer, outcome, g_strdup(error->message ? error->message : error->name));
        }
}

static void bus_answer_read(BusAnswer *answer, sd_bus_message *reply) {
        const char *text = NULL;
        json_error_t error;

        if (sd_bus_message_read(reply, "s", &text) < 0) {
                answer_no(answer, BUS_FAILED, g_strdup("unexpected reply from jobkeeperd"));
                return;
        }
        answer->json = json_loads(text, 0, &error);
        if (!answer->json) {
                answer_no(
                    answer, BUS_FAILED,
                    g_strdup_printf("reply from jobkeeperd is not valid JSON: %s", error.text));
                return;
        }
        answer->text = g_strdup(text);
        answer->outcome = BUS_ANSWERED;
}

void bus_answer_take(BusAnswer *ret, sd_bus_message *reply, const char *method) {
        bus_answer_done(ret);
        if (sd_bus_message_is_method_error(reply, NULL))
                bus_answer_take_error(ret, sd_bus_message_get_error(reply), method);
        else
                bus_answer_read(ret, reply);
}

static int bus_message_new(sd_bus *bus, const char *name, const char *method, const char *types,
                           va_list arguments, sd_bus_message **ret) {
        sd_bus_message *message = NULL;
        int r =
            sd_bus_message_new_method_call(bus, &message, name, BUS_PATH, BUS_INTERFACE, method);

        if (r >= 0 && *types)
                r = sd_bus_message_appendv(message, types, arguments);
        if (r < 0) {
                sd_bus_message_unref(message);
                return r;
        }
        *ret = message;
        return 0;
}

static void bus_ask_message(BusAnswer *answer, sd_bus *bus, sd_bus_message *message,
                            usec_t timeout) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus_message *reply = NULL;
        int r = sd_bus_call(bus, message, timeout, &error, &reply);

        if (r >= 0)
                bus_answer_read(answer, reply);
        else if (sd_bus_error_is_set(&error))
                bus_answer_take_error(answer, &error, sd_bus_message_get_member(message));
        else
                answer_no(answer, BUS_FAILED,
                          g_strdup_printf("the call failed: %s", g_strerror(-r)));
        sd_bus_message_unref(reply);
        sd_bus_error_free(&error);
}

static void bus_ask_name(BusAnswer *ret, sd_bus *bus, const char *name, const char *method,
                         usec_t timeout, const char *types, va_list arguments) {
        sd_bus_message *message = NULL;
        int r = bus_message_new(bus, name, method, types, arguments, &message);

        bus_answer_done(ret);
        if (r < 0)
                answer_no(ret, BUS_FAILED,
                          g_strdup_printf("cannot make the call: %s", g_strerror(-r)));
        else
                bus_ask_message(ret, bus, message, timeout);
        sd_bus_message_unref(message);
}

/* Root's questions are answered apart from those of others. A daemon of an older version does not
 * have that name, and root in a container may not be root to it. */
void bus_ask(BusAnswer *ret, const char *method, usec_t timeout, const char *types, ...) {
        bool is_root = geteuid() == 0;
        sd_bus *bus = NULL;
        va_list arguments;
        int r = bus_open_system(&bus);

        bus_answer_done(ret);
        if (r < 0) {
                answer_no(ret, BUS_NO_DAEMON,
                          g_strdup_printf("cannot reach the system bus: %s", g_strerror(-r)));
                return;
        }
        va_start(arguments, types);
        if (is_root)
                bus_ask_name(ret, bus, BUS_NAME_ROOT, method, timeout, types, arguments);
        va_end(arguments);
        va_start(arguments, types);
        if (!is_root || ret->outcome == BUS_NO_DAEMON || ret->outcome == BUS_DENIED)
                bus_ask_name(ret, bus, BUS_NAME, method, timeout, types, arguments);
        va_end(arguments);
        sd_bus_flush_close_unref(bus);
}

int bus_answer_report(const BusAnswer *answer) {
        if (answer->outcome != BUS_ANSWERED)
                complain("%s", answer->message);
        return bus_outcome_exit(answer->outcome);
}

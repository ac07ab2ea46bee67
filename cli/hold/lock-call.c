/* See lock-call.h. */
#include "lock-call.h"

#include "bus-interface.h"

int lock_call(sd_bus *bus, sd_bus_slot **slot, const char *method, usec_t timeout,
              sd_bus_message_handler_t func, void *userdata, const char *types, ...) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        va_list arguments;
        int r = sd_bus_message_new_method_call(bus, &message, BUS_NAME_ROOT, BUS_PATH,
                                               BUS_INTERFACE, method);

        *slot = sd_bus_slot_unref(*slot);
        va_start(arguments, types);
        if (r >= 0)
                r = sd_bus_message_appendv(message, types, arguments);
        va_end(arguments);
        return r < 0 ? r : sd_bus_call_async(bus, slot, message, func, userdata, timeout);
}

json_t *lock_reply_json(sd_bus_message *reply) {
        const char *text = NULL;

        if (sd_bus_message_is_method_error(reply, NULL) ||
            sd_bus_message_read(reply, "s", &text) < 0)
                return NULL;
        return json_loads(text, 0, NULL);
}

const char *lock_reply_error(sd_bus_message *reply) {
        const sd_bus_error *error = sd_bus_message_get_error(reply);

        return error && error->message ? error->message : "unexpected reply";
}

BusOutcome lock_reply_outcome(sd_bus_message *reply) {
        const sd_bus_error *error = sd_bus_message_get_error(reply);

        return bus_outcome_from_error(error ? error->name : NULL);
}

bool lock_reply_is_missing(sd_bus_message *reply) {
        BusOutcome outcome = lock_reply_outcome(reply);

        return outcome == BUS_NO_DAEMON || outcome == BUS_NO_ANSWER;
}

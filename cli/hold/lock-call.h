/* Calls of jobkeeperd's methods for locks, and what their answers say. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <systemd/sd-bus.h>

#include "bus-client.h"

/* So long may an answer take that the daemon has at hand. */
#define LOCK_CALL_TIMEOUT (5 * USEC_PER_SEC)

/* Calls a method, whose answer `func` gets; `slot` owns the call, and what it owned before is
 * forgotten. Return: 0 or negative errno. */
int lock_call(sd_bus *bus, sd_bus_slot **slot, const char *method, usec_t timeout,
              sd_bus_message_handler_t func, void *userdata, const char *types, ...);

/* Return: a new reference, the answer's JSON; NULL when it is an error. */
json_t *lock_reply_json(sd_bus_message *reply);
const char *lock_reply_error(sd_bus_message *reply);
BusOutcome lock_reply_outcome(sd_bus_message *reply);

/* Return: whether the daemon (or the bus) went away rather than answered. */
bool lock_reply_is_missing(sd_bus_message *reply);

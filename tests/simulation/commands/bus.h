/* The system bus between commands and daemons of one machine, as far as locks of commands need it:
 * calls of a daemon's methods, their answers, signals to one caller, and word when a caller leaves.
 *
 * The functions are libsystemd's own, as far as coordinator/hold/ uses them, linked before it; what
 * a message is, is known here alone.
 */
#pragma once

#include <stdint.h>
#include <systemd/sd-bus.h>

#include "process.h"

/* Who calls: alive or not any more when an answer comes. */
typedef struct BusPeer BusPeer;

/* `error` NULL: an answer with that text (a call's number is what bus_peer_ask() returned); a
 * signal has the number 0, and `error` is its name. On the peer's turn. */
typedef void (*BusPeerFunc)(unsigned call, const char *error, const char *text, void *userdata);

BusPeer *bus_peer_new(Process *process, BusPeerFunc func, void *userdata);
/* It has left the bus: who follows it is told, from their own turn. */
BusPeer *bus_peer_free(BusPeer *peer);

/* As sd-bus's own handlers, for a daemon on that machine. */
typedef int (*BusMethod)(void *object, sd_bus_message *message, sd_bus_error *error);

/* Calls a method on the turn of `process`, now. `id` may be NULL. Return: the call's number. */
unsigned bus_peer_ask(BusPeer *peer, Process *process, BusMethod method, void *object,
                      const char *text, uint32_t number);

/* The connection of that process to the bus. */
sd_bus *bus_of(const Process *process);

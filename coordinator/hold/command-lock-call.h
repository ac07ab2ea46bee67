/* The methods for command locks (bus-interface.h): what their callers ask is read and judged here.
 * Who may call at all is the bus policy's business; a lock is its caller's alone. */
#pragma once

#include "command-locks.h"

/* Return: as sd-bus wants it. */
int command_locks_acquire(CommandLocks *locks, sd_bus_message *message, sd_bus_error *error);
int command_locks_attach(CommandLocks *locks, sd_bus_message *message, sd_bus_error *error);
int command_locks_lease(CommandLocks *locks, sd_bus_message *message, sd_bus_error *error);
/* The same for whoever only root can be, and knows the id. */
int command_locks_lease_by_id(CommandLocks *locks, sd_bus_message *message, sd_bus_error *error);
int command_locks_release(CommandLocks *locks, sd_bus_message *message, sd_bus_error *error);
int command_locks_adopt(CommandLocks *locks, sd_bus_message *message, sd_bus_error *error);

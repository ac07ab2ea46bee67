/* Connections that speak D-Bus, as all of ours are made: none takes file descriptors.
 *
 * One of sd-bus takes them unless told otherwise, and closes what nobody asked for when the message
 * is freed: in the loop. The last close() of a socket that lingers with data unsent (SO_LINGER,
 * socket(7)) waits for as long as its maker chose, so that any local user who may send us a call,
 * or a signal to our unique name, could hold up heartbeats and stops until a lock has moved. The
 * bus delivers no message with descriptors to who has not agreed to them, and tells its sender.
 */
#pragma once

#include <systemd/sd-bus.h>

/* Where the system's bus listens: `$DBUS_SYSTEM_BUS_ADDRESS`, if it is set and we are not more
 * trusted than who set it. */
const char *bus_system_address(void);

/* A connection that has no address and is not started yet (sd_bus_start(3)).
 * Return: 0 or negative errno. */
int bus_new(sd_bus **ret_bus);
/* One to the system's bus, which is started: what it is asked waits until it has let us in.
 * Return: 0 or negative errno. */
int bus_open_system(sd_bus **ret_bus);

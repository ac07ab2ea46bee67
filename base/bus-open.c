/* See bus-open.h. */
#include "bus-open.h"

#include <glib.h>
#include <stdbool.h>
#include <stdlib.h>

#include "cleanup.h"

#define SYSTEM_ADDRESS "unix:path=/run/dbus/system_bus_socket"

const char *bus_system_address(void) {
        const char *address = secure_getenv("DBUS_SYSTEM_BUS_ADDRESS");

        return address ? address : SYSTEM_ADDRESS;
}

int bus_new(sd_bus **ret_bus) {
        _cleanup_(sd_bus_unrefp) sd_bus *bus = NULL;
        int r;

        if ((r = sd_bus_new(&bus)) < 0 || (r = sd_bus_negotiate_fds(bus, false)) < 0)
                return r;
        *ret_bus = g_steal_pointer(&bus);
        return 0;
}

int bus_open_system(sd_bus **ret_bus) {
        _cleanup_(sd_bus_unrefp) sd_bus *bus = NULL;
        int r;

        if ((r = bus_new(&bus)) < 0 || (r = sd_bus_set_address(bus, bus_system_address())) < 0 ||
            (r = sd_bus_set_bus_client(bus, true)) < 0 || (r = sd_bus_start(bus)) < 0)
                return r;
        *ret_bus = g_steal_pointer(&bus);
        return 0;
}

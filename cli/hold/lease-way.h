/* The way to the daemon on which a command's lease is renewed: its socket for root (lease-door.h),
 * where no other user can keep us waiting. Where it cannot be had, as with a daemon of an older
 * version, the bus has to do. */
#pragma once

#include <systemd/sd-bus.h>

#include "cleanup.h"

#define LEASE_ADDRESS "unix:path=/run/jobkeeper/leases"

typedef struct LeaseWay LeaseWay;

/* `address` is a D-Bus address. */
LeaseWay *lease_way_new(sd_event *event, const char *address);
LeaseWay *lease_way_free(LeaseWay *way);
DEFINE_CLEANUP(LeaseWay, lease_way_free);

/* Return: the connection, made if there is none, or NULL where it cannot be had now. Borrowed. */
sd_bus *lease_way_bus(LeaseWay *way);
/* Nobody answers there any more: it is made anew when it is asked for the next time. */
void lease_way_is_lost(LeaseWay *way);

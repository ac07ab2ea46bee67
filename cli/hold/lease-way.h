/* The way to the daemon on which a command's lease is renewed: its socket for root (lease-door.h),
 * where no other user can keep us waiting. Where it cannot be had, as with a daemon of an older
 * version, the bus has to do. */
#pragma once

#include <stdbool.h>
#include <systemd/sd-bus.h>

#include "bus-interface.h"
#include "cleanup.h"

#define LEASE_PATH "/run/jobkeeper/" LEASE_SOCKET
#define LEASE_ADDRESS "unix:path=" LEASE_PATH

typedef struct LeaseWay LeaseWay;

/* Return: whether a daemon listens at the socket of this path: false too where we may not ask,
 * because we are not root. Nobody else can make it look otherwise. */
bool lease_way_is_served(const char *path);

/* `address` is a D-Bus address. */
LeaseWay *lease_way_new(sd_event *event, const char *address);
LeaseWay *lease_way_free(LeaseWay *way);
DEFINE_CLEANUP(LeaseWay, lease_way_free);

/* Return: the connection, made if there is none, or NULL where it cannot be had now. Borrowed. */
sd_bus *lease_way_bus(LeaseWay *way);
/* Nobody answers there any more: it is made anew when it is asked for the next time. */
void lease_way_is_lost(LeaseWay *way);

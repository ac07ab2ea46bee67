/* The way in for leases: a socket in the runtime directory that is root's alone, on which the
 * daemon speaks D-Bus with whoever connects, without a bus in between.
 *
 * A lease has to come in time, or the command whose lock it is gets stopped. Every local user can
 * keep the system bus busy for as long as they like, and the daemon can do nothing about it; here
 * nobody else waits before us. A lock is asked for, and given back, on the bus: that may be late
 * without harm. So a lock's id is all that is asked for here, and nobody but root can ask.
 */
#pragma once

#include "command-locks.h"
#include "node.h"

typedef struct LeaseDoor LeaseDoor;

/* Listens at "leases" in the node's runtime directory; what stands there is replaced. Both are
 * borrowed. Return: 0 or negative errno. */
int lease_door_new(const Node *node, CommandLocks *locks, LeaseDoor **ret_door);
LeaseDoor *lease_door_free(LeaseDoor *door);
DEFINE_CLEANUP(LeaseDoor, lease_door_free);

/* The fence: stops what is fenced when its instants come, whatever has become of jobkeeperd.
 *
 * How it works, and what it agrees on with jobkeeperd, stands in base/fence-protocol.h; what it
 * does when, in fence-table.h. It is a loop around poll(): it allocates nothing and starts nothing
 * while it rests, opens nothing but the socket of what it says, and waits there only as long as
 * none of its instants comes, so that there is little that could keep it. What it cannot do itself
 * others do in its place: if it is killed, or hangs and the service manager's watchdog kills it,
 * all that is bound to it is stopped with it.
 *
 * It begins with nothing alive but what the kernel cannot end: the service manager starts it when
 * all that was bound to the one before is stopped, and what was left of that it kills.
 */
#pragma once

#include "usec.h"

typedef struct FenceOptions {
        int listener;              /* a listening socket, which stays the caller's */
        int signals;               /* a signalfd: SIGTERM asks it to leave; -1: none */
        const char *slice_path;    /* directory of the cgroup of what is fenced */
        const char *client_cgroup; /* of jobkeeperd */
        const char *instance;      /* "" where it has none; longer ones are cut off */
        usec_t watchdog;           /* the service manager's; 0: none */
} FenceOptions;

/* Return: the exit status: 0 once it was asked to leave and nothing fenced lives; 1 once it has had
 * something stopped, or cannot work. */
int fence_run(const FenceOptions *options);

/* Getting at the system bus of the daemon: the first step of asking it for a lock.
 *
 * Any local user can keep others from the bus for a while, by connecting to it again and again and
 * saying nothing. So a bus that refuses, or does not answer, says nothing about the daemon: it is
 * asked again as long as the daemon's own socket, which is root's alone, shows that there is one.
 * Only where none listens there, the lock may be held without the daemon. */
#pragma once

#include <systemd/sd-bus.h>

#include "cleanup.h"
#include "clock.h"

/* So long is the bus asked again, unless the caller's time is up before. */
#define BUS_REACH_PATIENCE (20 * USEC_PER_SEC)

typedef struct BusReach BusReach;

typedef enum BusReachEnd {
        BUS_REACHED,
        BUS_WITHOUT_DAEMON, /* none that could be asked listens on this machine */
        BUS_OF_OTHERS,      /* its processes are numbered otherwise: we are in a container */
        BUS_OUT_OF_REACH,   /* the daemon is there, and the bus lets nobody through to it */
} BusReachEnd;

typedef struct BusReachFuncs {
        /* `bus` is the receiver's (sd_bus_flush_close_unref), and NULL unless it is reached. `why`
         * says what was last wrong with it. */
        void (*on_end)(BusReachEnd end, sd_bus *bus, const char *why, void *userdata);
        /* It takes longer than people like to wait without a word. */
        void (*on_slow)(void *userdata);
} BusReachFuncs;

/* `give_up_at` is on CLOCK_MONOTONIC; `door` is the path of the daemon's socket. The end comes from
 * the loop. Return: 0 or negative errno. */
int bus_reach_new(sd_event *event, const char *door, usec_t give_up_at, const BusReachFuncs *funcs,
                  void *userdata, BusReach **ret_reach);
/* Nothing is told any more, and nothing waits for the bus: a loop that ends would do so. */
void bus_reach_stop(BusReach *reach);
BusReach *bus_reach_free(BusReach *reach);
DEFINE_CLEANUP(BusReach, bus_reach_free);

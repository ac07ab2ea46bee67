/* The fence, as this process reaches it: a connection, and the two timers that came with it
 * (base/fence-protocol.h). What follows from what is the fence link's.
 *
 * The connection is the socket unit's: that it can be made says nothing of the fence, which may be
 * gone or about to come. Its greeting does.
 */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "cleanup.h"
#include "fence-arming.h"
#include "fence-protocol.h"
#include "usec.h"

typedef struct FencePort FencePort;

typedef enum FencePortEvent {
        FENCE_PORT_GREETED, /* fence_port_hello(); the timers can be set */
        FENCE_PORT_ENDED,   /* the other end is gone, or says what nobody says; told once */
} FencePortEvent;

/* From the loop. The port may be freed in it. */
typedef void (*FencePortFunc)(FencePortEvent event, void *userdata);

/* Connects. Return: 0; -ENOENT or -ECONNREFUSED where there is no socket unit, or another negative
 * errno. */
int fence_port_new(sd_event *event, const char *socket_path, FencePortFunc func, void *userdata,
                   FencePort **ret_port);
FencePort *fence_port_free(FencePort *port);
DEFINE_CLEANUP(FencePort, fence_port_free);

/* Of one that was greeted. Its texts have an end. */
const FenceHello *fence_port_hello(const FencePort *port);
/* How its two timers stand. */
FenceTimers fence_port_timers(const FencePort *port);
/* Sets one of them to an instant of CLOCK_BOOTTIME; one that is past passes at once. */
void fence_port_set(FencePort *port, unsigned timer, usec_t at);
/* Asks it to end once nothing fenced lives. */
void fence_port_leave(FencePort *port);
/* Return: whether anything fenced lives on this machine; true where that cannot be told. */
bool fence_port_is_populated(const FencePort *port);

/* The fence in this process (fence-port.h): one that is there, greets and does nothing, unless the
 * test has it otherwise. A program that uses it gets fence_port_new() and the like from its linker,
 * and not the room's. */
#pragma once

#include "fence-port.h"

typedef struct FenceStandIn {
        bool absent; /* nobody can be connected to */
        bool silent; /* it does not greet */
        bool populated;
        FenceHello hello;
        usec_t at[FENCE_TIMERS]; /* CLOCK_BOOTTIME; 0: never set */
        unsigned sets[FENCE_TIMERS], leaves, connections;
        unsigned last_set; /* which of the timers */
        FencePort *port;   /* who is connected; NULL */
} FenceStandIn;

extern FenceStandIn fence_stand_in;

/* As at the beginning: it is there. */
void fence_stand_in_reset(void);
/* The connection ends. */
void fence_stand_in_hang_up(void);
/* There is another one, whose timers nobody has set: the connection ends, too. */
void fence_stand_in_replace(void);

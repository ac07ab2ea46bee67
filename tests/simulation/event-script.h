/* A script of event sources by a seed: the same calls, on the real loop and on the simulated one,
 * and the order of the callbacks on standard output. */
#pragma once

#include <stdint.h>
#include <systemd/sd-event.h>

/* Makes the first sources; the loop ends by itself. */
void event_script_begin(sd_event *event, uint64_t seed);
/* Frees what is left. */
void event_script_end(void);

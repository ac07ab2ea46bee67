/* One-shot timers that may not fail silently. */
#pragma once

#include <systemd/sd-event.h>

#include "clock.h"

/* (Re)arms one; makes it first where *source is NULL. A failure ends the loop. */
void session_timer_arm(sd_event *event, sd_event_source **source, clockid_t clock, usec_t at,
                       sd_event_time_handler_t func, void *userdata);

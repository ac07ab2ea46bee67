/* One-shot timers on which the deadline rests. Unlike those of base/timer.h they are set anew at
 * each heartbeat, so they are moved in place, and where one cannot be set the loop ends: a hold of
 * which nobody is told that it is over would be the worst that can happen. */
#pragma once

#include <systemd/sd-event.h>

#include "clock.h"

/* (Re)arms one; makes it first where *source is NULL. A failure ends the loop. */
void session_timer_arm(sd_event *event, sd_event_source **source, clockid_t clock, usec_t at,
                       sd_event_time_handler_t func, void *userdata);

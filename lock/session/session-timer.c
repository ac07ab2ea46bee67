/* See session-timer.h. */
#include "session-timer.h"

#include <stdbool.h>

void session_timer_arm(sd_event *event, sd_event_source **source, clockid_t clock, usec_t at,
                       sd_event_time_handler_t func, void *userdata) {
        int r;

        if (*source) {
                r = sd_event_source_set_time(*source, at);
                if (r >= 0)
                        r = sd_event_source_set_enabled(*source, SD_EVENT_ONESHOT);
        } else {
                r = sd_event_add_time(event, source, clock, at, 1, func, userdata);
                if (r >= 0)
                        r = sd_event_source_set_exit_on_failure(*source, true);
        }
        if (r < 0)
                (void)sd_event_exit(event, r);
}

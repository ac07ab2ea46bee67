/* The event loop of a test. A source that somebody forgot keeps the whole loop in memory, and what
 * it would have called; where anything else points to the loop, no leak checker sees it.
 */
#pragma once

#include <systemd/sd-event.h>

sd_event *loop_new(void);
/* Takes the program down where a source of the loop is left, or the loop itself. Return: NULL. */
sd_event *loop_end(sd_event *loop);

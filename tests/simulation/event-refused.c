/* What sd-event has and a simulated loop has not: nobody waits inside a call, and there are no
 * signals, no children and no files that change by themselves. Whoever in the product comes to use
 * one of these is to be given it here, or cut at its own header. */
#include <glib.h>

#include "event.h"

int sd_event_default(sd_event **e) {
        g_error("sd_event_default() is not simulated");
}

int sd_event_run(sd_event *event, uint64_t usec) {
        g_error("sd_event_run() is not simulated");
}

int sd_event_loop(sd_event *event) {
        g_error("sd_event_loop() is not simulated");
}

int sd_event_set_watchdog(sd_event *event, int b) {
        g_error("sd_event_set_watchdog() is not simulated");
}

int sd_event_add_signal(sd_event *event, sd_event_source **s, int sig,
                        sd_event_signal_handler_t callback, void *userdata) {
        g_error("sd_event_add_signal() is not simulated");
}

int sd_event_add_inotify(sd_event *event, sd_event_source **s, const char *path, uint32_t mask,
                         sd_event_inotify_handler_t callback, void *userdata) {
        g_error("sd_event_add_inotify() is not simulated");
}

/* See timer.h. */
#include "timer.h"

#include <glib.h>

#define ACCURACY_RELATIVE USEC_PER_MSEC /* so that timers of one moment are one wake-up */
#define ACCURACY_ABSOLUTE                                                                          \
        ((usec_t)1) /* the finest that sd-event has; 0 would be its default of 250 ms */

typedef struct Timer {
        sd_event_source **slot; /* weak: the waiting object's */
        TimerFunc func;
        void *userdata;
} Timer;

static int timer_on_turn(sd_event_source *source, void *userdata) {
        Timer timer = *(Timer *)userdata; /* the closure goes with the source */

        *timer.slot = sd_event_source_disable_unref(*timer.slot);
        timer.func(timer.userdata);
        return 0;
}

static int timer_on_event(sd_event_source *source, uint64_t usec, void *userdata) {
        return timer_on_turn(source, userdata);
}

static Timer *timer_new(sd_event_source **slot, TimerFunc func, void *userdata) {
        Timer *timer = g_new(Timer, 1);

        *slot = sd_event_source_disable_unref(*slot);
        *timer = (Timer){.slot = slot, .func = func, .userdata = userdata};
        return timer;
}

/* `r`: whether there is a source for it. */
static int timer_give(sd_event_source *const *slot, Timer *timer, int r) {
        if (r < 0) {
                g_free(timer);
                return r;
        }
        return sd_event_source_set_destroy_callback(*slot, g_free);
}

int timer_at(sd_event *event, sd_event_source **slot, clockid_t clock, usec_t at, TimerFunc func,
             void *userdata) {
        Timer *timer = timer_new(slot, func, userdata);

        return timer_give(
            slot, timer,
            sd_event_add_time(event, slot, clock, at,
                              clock == CLOCK_MONOTONIC ? ACCURACY_RELATIVE : ACCURACY_ABSOLUTE,
                              timer_on_event, timer));
}

int timer_in(sd_event *event, sd_event_source **slot, usec_t delay, TimerFunc func,
             void *userdata) {
        return timer_at(event, slot, CLOCK_MONOTONIC, usec_add(clock_monotonic(), delay), func,
                        userdata);
}

int timer_next_turn(sd_event *event, sd_event_source **slot, TimerFunc func, void *userdata) {
        Timer *timer = timer_new(slot, func, userdata);

        return timer_give(slot, timer, sd_event_add_defer(event, slot, timer_on_turn, timer));
}

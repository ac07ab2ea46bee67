/* The window of a job (config/time/windows.h), as what is due of it is decided by it at a moment.
 * Pure. */
#pragma once

#include <stdbool.h>

#include "cleanup.h"
#include "clock.h"
#include "schedule.h"

typedef struct DecisionWindow {
        bool open;
        usec_t opened, closed; /* the last one before `since`, or before now; 0: there was none */
        usec_t since; /* what is to start before that may not begin; USEC_INFINITY: nothing may */
        usec_t until; /* open: when it closes; USEC_INFINITY: never */
        char *why;    /* a part of a sentence: why nothing begins that starts outside, the same as
                         long as that stretch lasts: what is skipped is then one record */
} DecisionWindow;

/* Return: as it is at `now` (CLOCK_REALTIME); NULL: there is none. `schedule` may be NULL. */
DecisionWindow *decision_window_new(const Schedule *schedule, usec_t now);
DecisionWindow *decision_window_free(DecisionWindow *window);
DEFINE_CLEANUP(DecisionWindow, decision_window_free);

/* Return: newly allocated (g_free), a part of a sentence: that what begins then is outside of its
 * window, and when the next one begins; NULL: it is inside, or there is none. `schedule` may be
 * NULL. */
char *decision_window_outside(const Schedule *schedule, int64_t instant);

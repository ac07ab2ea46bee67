/* See decision-window.h. */
#include "decision-window.h"

#include <glib.h>

#include "unit-spec.h"

static char *window_outside(int64_t next) {
        g_autofree char *begin = next == INT64_MAX ? NULL : tick_to_rfc3339(next);

        return begin ? g_strdup_printf("outside its window; the next begins at %s", begin)
                     : g_strdup("outside its window, which does not begin any more");
}

static usec_t window_moment(int64_t second) {
        return second == INT64_MAX ? USEC_INFINITY : (usec_t)second * USEC_PER_SEC;
}

DecisionWindow *decision_window_new(const Schedule *schedule, usec_t now) {
        DecisionWindow *window;
        WindowStretch at, shut, before;

        if (!schedule || !schedule_has_windows(schedule))
                return NULL;
        at = schedule_window(schedule, (int64_t)(now / USEC_PER_SEC));
        shut = at.open ? schedule_window(schedule, at.from - 1) : at;
        before = schedule_window(schedule, (shut.open ? at.from : shut.from) - 1);
        window = g_new0(DecisionWindow, 1);
        window->open = at.open;
        window->opened = before.open ? window_moment(before.from) : 0;
        window->closed = window_moment(shut.open ? at.from : shut.from);
        window->since = at.open ? window_moment(at.from) : USEC_INFINITY;
        window->until = at.open ? window_moment(at.to) : 0;
        window->why = window_outside(at.open ? at.from : at.to);
        return window;
}

DecisionWindow *decision_window_free(DecisionWindow *window) {
        if (!window)
                return NULL;
        g_free(window->why);
        g_free(window);
        return NULL;
}

char *decision_window_outside(const Schedule *schedule, int64_t instant) {
        WindowStretch at;

        if (!schedule)
                return NULL;
        at = schedule_window(schedule, instant);
        return at.open ? NULL : window_outside(at.to);
}

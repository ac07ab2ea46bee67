/* See decision-pause.h. */
#include "decision-pause.h"

#include <glib.h>

#include "control-pause.h"

DecisionPause *decision_pause_new(const json_t *control, const char *job, usec_t now) {
        ControlPause found = {0};
        g_autofree char *text = NULL;
        DecisionPause *pause;

        if (!control_pause_of(control, job, now, &found))
                return NULL;
        pause = g_new0(DecisionPause, 1);
        pause->since = found.said.since;
        pause->until = found.until ? found.until : USEC_INFINITY;
        text = control_pause_to_text(&found);
        pause->why = statement_clean(text);
        control_pause_clear(&found);
        return pause;
}

DecisionPause *decision_pause_free(DecisionPause *pause) {
        if (!pause)
                return NULL;
        g_free(pause->why);
        g_free(pause);
        return NULL;
}

bool decision_pause_lasts(const DecisionPause *pause) {
        return pause && pause->until == USEC_INFINITY;
}

int64_t decision_pause_last(const DecisionPause *pause) {
        return decision_pause_lasts(pause) ? INT64_MAX : (int64_t)(pause->until / USEC_PER_SEC);
}

bool decision_pause_covers(const DecisionPause *pause, int64_t start) {
        return pause && start <= decision_pause_last(pause);
}

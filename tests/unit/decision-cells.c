/* See decision-cells.h. */
#include "decision-cells.h"

static char *decision_to_text(const Decision *decision) {
        GString *text = g_string_new(NULL);

        for (size_t i = 0; i < decision->n_skips; i++) {
                const DecisionSkip *one = &decision->skips[i];

                g_string_append_printf(text,
                                       "%s %" G_GINT64_FORMAT "-%" G_GINT64_FORMAT " x%u (%s), ",
                                       one->gives_up ? "give up" : "skip", one->from, one->to,
                                       one->count, one->why.text);
        }
        if (decision->verdict == DECISION_NOTHING)
                g_string_append(text, decision->watch ? "watch" : "nothing");
        else
                g_string_append_printf(text, "%s %" G_GINT64_FORMAT,
                                       decision->verdict == DECISION_RUN       ? "run"
                                       : decision->verdict == DECISION_BLOCKED ? "blocked"
                                                                               : "replace",
                                       decision->tick);
        if (decision->blocker)
                g_string_append_printf(text, " by %s", decision->blocker->run);
        if (decision->again == USEC_INFINITY)
                g_string_append(text, ", never again");
        else
                g_string_append_printf(text, ", again %g",
                                       (double)decision->again / (double)USEC_PER_SEC);
        return g_string_free(text, FALSE);
}

void expect_decision(const DecisionInput *input, const char *title, const char *expected) {
        g_autofree char *text = NULL;
        Decision decision;

        decide(input, &decision);
        text = decision_to_text(&decision);
        cr_expect_str_eq(text, expected, "%s:\n  %s\nrather than\n  %s", title, text, expected);
}

void give_window(Schedule *schedule, unsigned seconds) {
        g_autofree char *fault = NULL;

        if (seconds > 0)
                cr_assert_eq(
                    schedule_add_window(schedule, "*:*", "UTC", seconds * USEC_PER_SEC, &fault), 0);
}

void expect_cell(const DecisionCell *cell) {
        const DecisionPause pause = {.since = cell->paused * USEC_PER_SEC,
                                     .until = cell->resumed ? cell->resumed * USEC_PER_SEC + 1
                                                            : USEC_INFINITY,
                                     .why = (char *)"paused"};
        _cleanup_(schedule_freep) Schedule *schedule = every(cell->every ? cell->every : 100);
        _cleanup_(ledger_freep) Ledger *ledger =
            ledger_of(0, 50, cell->entries ? cell->entries : "");
        _cleanup_(decision_window_freep) DecisionWindow *window = NULL;
        g_autofree char *fault = NULL;
        RunRecord *last = cell->last_ended ? run_record_new("a", "1-1") : NULL;
        DecisionInput input = {
            .job = DELAYED_JOB,
            .schedule = schedule,
            .ledger = ledger,
            .self = "n1",
            .now = cell->ms * USEC_PER_MSEC,
            .rank = cell->rank,
            .takeover_delay = 2 * USEC_PER_SEC,
            .start_deadline = (cell->deadline ? cell->deadline : 60) * USEC_PER_SEC,
            .overlap = cell->overlap,
            .beside = cell->beside,
            .catch_up = cell->catch_up,
            .waited_run = cell->waited_run,
            .waited_long_enough = cell->waited_long_enough,
            .nobody = cell->nobody,
            .pause = cell->paused ? &pause : NULL,
        };

        cr_assert_eq(schedule_set_random_delay(schedule, cell->random_delay * USEC_PER_SEC, &fault),
                     0);
        give_window(schedule, cell->window);
        window = decision_window_new(schedule, input.now);
        input.window = window;
        if (last) {
                last->tick = cell->last_tick;
                last->who = cell->last_by_hand ? g_strdup("me") : NULL;
                last->ended = cell->last_ended * USEC_PER_SEC;
                ledger->last = last;
        }
        ledger->freed = cell->freed * USEC_PER_SEC;
        expect_decision(&input, cell->title, cell->expected);
}

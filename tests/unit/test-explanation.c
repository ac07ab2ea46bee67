/* Why a tick is run, was run, or is not: each state of a tick, in tables, and that the reasons are
 * those of the decision. */
#include "explanation.h"

#include <criterion/criterion.h>

#include "decision-cells.h"

/* Ticks are 100, 200, ..., owed from 50 on. */
typedef struct ExplanationCell {
        const char *title;
        unsigned now; /* s */
        int64_t tick;
        const char *expected;
        const char *entries;
        int64_t mark, from;
        JobOverlap overlap;
        unsigned beside;
        JobCatchUp catch_up;
        unsigned deadline; /* s; 0: 60 */
        bool paused, nobody;
        unsigned window; /* s at the beginning of each minute; 0: always */
} ExplanationCell;

static char *explanation_to_text(const Explanation *explanation) {
        GString *text = g_string_new(explanation_state_to_string(explanation->state));

        if (explanation->begins)
                g_string_append(text, ", begins");
        if (explanation->run)
                g_string_append_printf(text, ", run %s", explanation->run);
        if (explanation->attempt)
                g_string_append_printf(text, ", attempt %u", explanation->attempt);
        if (explanation->why)
                g_string_append_printf(text, ", %s", explanation->why);
        if (explanation->when)
                g_string_append_printf(text, ", at %g",
                                       (double)explanation->when / (double)USEC_PER_SEC);
        if (explanation->before || explanation->after)
                g_string_append_printf(text, ", %d and %d", (int)explanation->before,
                                       (int)explanation->after);
        return g_string_free(text, FALSE);
}

static void expect_explanation(const ExplanationCell *cell) {
        const DecisionPause pause = {
            .since = 1, .until = USEC_INFINITY, .why = (char *)"paused by alice"};
        _cleanup_(schedule_freep) Schedule *schedule = every(100);
        _cleanup_(ledger_freep) Ledger *ledger =
            ledger_of(cell->mark, cell->from ? cell->from : 50, cell->entries ? cell->entries : "");
        _cleanup_(decision_window_freep) DecisionWindow *window = NULL;
        DecisionInput input = {
            .job = "a",
            .schedule = schedule,
            .ledger = ledger,
            .self = "n9",
            .now = cell->now * USEC_PER_SEC,
            .rank = PLACEMENT_NONE,
            .takeover_delay = 2 * USEC_PER_SEC,
            .start_deadline = (cell->deadline ? cell->deadline : 60) * USEC_PER_SEC,
            .overlap = cell->overlap,
            .beside = cell->beside,
            .catch_up = cell->catch_up,
            .nobody = cell->nobody,
            .pause = cell->paused ? &pause : NULL,
        };
        g_autofree char *text = NULL;
        Explanation explanation;

        give_window(schedule, cell->window);
        window = decision_window_new(schedule, input.now);
        input.window = window;
        explain(&input, cell->tick, &explanation);
        text = explanation_to_text(&explanation);
        cr_expect_str_eq(text, cell->expected, "%s:\n  %s\nrather than\n  %s", cell->title, text,
                         cell->expected);
        explanation_clear(&explanation);
}

#define EXPECT_EXPLANATIONS(cells)                                                                 \
        for (size_t i = 0; i < G_N_ELEMENTS(cells); i++)                                           \
        expect_explanation(&(cells)[i])

Test(explanation, what_the_ledger_has) {
        static const ExplanationCell cells[] = {
            {"no tick", 150, 150, "no-tick, 100 and 200"},
            {"before any", 150, -7, "no-tick"},
            {"before the definition was in force", 150, 100, "not-owed", .from = 120},
            {"in the very second in which it came", 150, 100, "not-owed", .from = 100},
            {"behind the mark", 350, 200, "settled", .mark = 300},
            {"the mark itself", 350, 300, "settled", .mark = 300},
            {"claimed", 150, 100, "under-way, run 100-1", OTHER_100},
            {"attempted again by hand", 350, 100, "under-way, run 100-2",
             "{'run':'100-2','state':'claimed','node':'n2'}", .mark = 300},
            {"to be retried", 110, 100, "retry, run 100-1, attempt 2, at 115", RETRY_100},
            {"and waits for more than its time", 110, 100,
             "retry, run 100-1, attempt 2, it waits for the end of a pause (paused by alice), at "
             "115",
             RETRY_100, .paused = true},
            {"over, while an older one is not", 250, 200, "settled, run 200-1",
             OTHER_100 ",{'run':'200-1','state':'succeeded','tick':200,'node':'n1'}"},
            {"skipped, while an older one is not", 350, 300, "settled, run 200-0, for a reason",
             OTHER_100 ",{'run':'200-0','state':'skipped','tick':200,'to':300,'count':2,"
                       "'why':'for a reason'}"},
        };

        EXPECT_EXPLANATIONS(cells);
}

Test(explanation, what_is_due) {
        static const ExplanationCell cells[] = {
            {"at once", 100, 100, "due, begins, at 100"},
            {"fresh still", 109, 100, "due, begins, at 109"},
            {"past its deadline", 161, 100, "due, missed: the start deadline passed"},
            {"missed, and a newer one came", 205, 100,
             "due, missed: no node started it in time, and a newer tick came", .deadline = 600},
            {"which is run first where all are caught up with", 205, 200,
             "due, begins, an older tick is run before it", .deadline = 600,
             .catch_up = JOB_CATCH_UP_ALL},
            {"an overlap", 205, 200, "due, " OVERLAP, OTHER_100},
            {"which waits", 205, 200, "due, begins, it waits for run 100-1 on n2 to end", OTHER_100,
             .overlap = JOB_OVERLAP_QUEUE},
            {"whose place it takes", 205, 200,
             "due, begins, it waits for run 100-1 on n2 to end, which is stopped for it", OTHER_100,
             .overlap = JOB_OVERLAP_REPLACE},
            {"one waits already", 305, 300, "due, " DECISION_WHY_WAITS, OTHER_100,
             .overlap = JOB_OVERLAP_QUEUE, .deadline = 600},
            {"side by side", 205, 200, "due, begins, at 205", OTHER_100,
             .overlap = JOB_OVERLAP_ALLOW, .beside = JOB_BESIDE_MAX},
            {"paused", 105, 100, "due, paused by alice", .paused = true},
            {"outside its window", 105, 100,
             "due, outside its window; the next begins at 1970-01-01T00:02:00Z", .window = 20},
            {"which closed", 321, 300, "due, its window closed before it could begin", .mark = 200,
             .window = 20},
            {"nobody can", 105, 100, "due, begins, no node can run it at present, at 160",
             .nobody = true},
            {"nobody could", 161, 100, "due, no node could run it", .nobody = true},
        };

        EXPECT_EXPLANATIONS(cells);
}

Test(explanation, what_is_to_come) {
        static const ExplanationCell cells[] = {
            {"the next one", 50, 100, "coming, begins, at 100"},
            {"far off, whatever comes before it", 50, 100000, "coming, begins, at 100000"},
            {"and where that would be caught up with", 50, 400, "coming, begins, at 400",
             .catch_up = JOB_CATCH_UP_ALL, .deadline = 600},
            {"as long as that goes on", 150, 200, "coming, " OVERLAP ", at 200", OTHER_100},
            {"likewise", 150, 200, "coming, begins, it waits for run 100-1 on n2 to end, at 200",
             OTHER_100, .overlap = JOB_OVERLAP_QUEUE},
            {"behind a retry", 110, 200, "coming, " EARLIER ", at 200", LATE},
            {"paused", 50, 100, "coming, paused by alice, at 100", .paused = true},
            {"outside its window", 50, 100,
             "coming, outside its window; the next begins at 1970-01-01T00:02:00Z, at 100",
             .window = 20},
            {"inside, seen from outside", 50, 300, "coming, begins, at 300", .window = 20},
        };

        EXPECT_EXPLANATIONS(cells);
}

/* Which is skipped by no pause. */
Test(explanation, a_service) {
        static const struct {
                const char *title, *entries, *expected;
                unsigned now; /* s */
                bool paused;
        } cells[] = {
            {"to begin", "", "due, begins, at 60", 60, false},
            {"in a pause", "", "due, begins, it waits for the end of a pause (paused by alice)", 60,
             true},
            {"before its time, in a pause", "",
             "coming, begins, it waits for the end of a pause (paused by alice), at 51", 40, true},
            {"between two runs, in a pause",
             "{'run':'51-1','state':'failed','tick':51,'attempt':1,'node':'n2','service':true,"
             "'not_before':70}",
             "retry, run 51-1, attempt 2, it waits for the end of a pause (paused by alice), at 70",
             60, true},
        };
        const DecisionPause pause = {
            .since = 1, .until = USEC_INFINITY, .why = (char *)"paused by alice"};

        for (size_t i = 0; i < G_N_ELEMENTS(cells); i++) {
                _cleanup_(ledger_freep) Ledger *ledger = ledger_of(0, 50, cells[i].entries);
                const DecisionInput input = {.job = "a",
                                             .ledger = ledger,
                                             .self = "n9",
                                             .service = true,
                                             .now = cells[i].now * USEC_PER_SEC,
                                             .pause = cells[i].paused ? &pause : NULL};
                g_autofree char *text = NULL;
                Explanation explanation;

                g_free(ledger->schedule);
                ledger->schedule = g_strdup(LEDGER_SERVICE);
                explain(&input, 51, &explanation);
                text = explanation_to_text(&explanation);
                cr_expect_str_eq(text, cells[i].expected, "%s: %s", cells[i].title, text);
                explanation_clear(&explanation);
        }
}

/* By hand only: of any time there is no tick. */
Test(explanation, without_a_schedule) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_of(0, 50, "");
        const DecisionInput input = {.job = "a", .ledger = ledger, .now = 100 * USEC_PER_SEC};
        Explanation explanation;

        explain(&input, 100, &explanation);
        cr_expect_eq(explanation.state, EXPLAINED_NO_TICK);
        cr_expect_eq(explanation.before, 0);
        cr_expect_eq(explanation.after, 0);
        explanation_clear(&explanation);
}

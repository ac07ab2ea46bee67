/* Whether a node may begin in a roll, cell by cell. */
#include "roll.h"

#include <criterion/criterion.h>

/* The others as they are written here: "NODE STATE", of tick 10 but where "TICK:" stands before. */
typedef struct RollCell {
        const char *others;
        bool begun;
        unsigned turns, max_failures;
        RollVerdict verdict;
        const char *why;
} RollCell;

static const RollCell cells[] = {
    {"", false, 1, 0, ROLL_GO, ""},
    {"", false, 1, 1, ROLL_GO, ""},
    {"n2 failed", false, 1, 0, ROLL_GO, ""},
    {"n2 failed", false, 1, 1, ROLL_STOPPED,
     "roll-stopped: failed on n2 (10-1); max-failures is 1"},
    {"n2 timed-out", false, 0, 1, ROLL_STOPPED,
     "roll-stopped: timed-out on n2 (10-1); max-failures is 1"},
    {"n2 interrupted", false, 0, 1, ROLL_STOPPED,
     "roll-stopped: interrupted on n2 (10-1); max-failures is 1"},
    {"n2 unknown", false, 0, 1, ROLL_STOPPED,
     "roll-stopped: unknown on n2 (10-1); max-failures is 1"},
    {"n2 stopped", false, 1, 1, ROLL_GO, ""},
    {"n2 succeeded", false, 1, 1, ROLL_GO, ""},
    {"n2 failed", false, 1, 2, ROLL_GO, ""},
    {"n2 failed n3 unknown", false, 1, 2, ROLL_STOPPED,
     "roll-stopped: failed on n2 (10-1), unknown on n3 (10-1); max-failures is 2"},
    {"n2 failed n3 failed n4 failed n5 failed n6 failed", false, 1, 2, ROLL_STOPPED,
     "roll-stopped: failed on n2 (10-1), failed on n3 (10-1), failed on n4 (10-1), and on 2 more; "
     "max-failures is 2"},
    /* another roll, or our own run */
    {"9: n2 failed 11: n2 failed", false, 1, 1, ROLL_GO, ""},
    {"n1 failed", false, 1, 1, ROLL_GO, ""},
    /* who has begun goes on */
    {"n2 failed", true, 1, 1, ROLL_GO, ""},
    /* turns */
    {"n2 claimed", false, 1, 1, ROLL_WAIT, "its turn comes when the run 10-1 on n2 is settled"},
    {"n2 claimed", true, 1, 1, ROLL_WAIT, "its turn comes when the run 10-1 on n2 is settled"},
    {"n2 claimed", false, 2, 1, ROLL_GO, ""},
    {"n2 claimed n3 claimed", false, 2, 1, ROLL_WAIT,
     "its turn comes when the run 10-1 on n2 is settled"},
    {"9: n3 claimed 10: n2 failed", false, 1, 2, ROLL_WAIT,
     "its turn comes when the run 9-1 on n3 is settled"},
    {"n2 claimed n3 claimed", false, 0, 1, ROLL_GO, ""},
    {"n1 claimed", false, 1, 1, ROLL_GO, ""},
    /* it is stopped, whoever is still under way */
    {"n2 failed n3 claimed", false, 1, 1, ROLL_STOPPED,
     "roll-stopped: failed on n2 (10-1); max-failures is 1"},
    {"n2 failed n3 claimed", true, 1, 1, ROLL_WAIT,
     "its turn comes when the run 10-1 on n3 is settled"},
};

static Rolls *rolls_of(const char *others) {
        g_auto(GStrv) words = g_strsplit(others, " ", -1);
        Rolls *rolls = rolls_new();
        int64_t tick = 10;

        for (char **word = words; *word && **word; word++) {
                g_autofree char *run = NULL;
                RunState state;

                if (g_str_has_suffix(*word, ":")) {
                        tick = g_ascii_strtoll(*word, NULL, 10);
                        continue;
                }
                run = g_strdup_printf("%" G_GINT64_FORMAT "-1", tick);
                cr_assert_eq(run_state_from_string(word[1], &state), 0, "%s", word[1]);
                (void)rolls_note(rolls, tick, *word, run, state);
                word++;
        }
        return rolls;
}

Test(roll, cell_by_cell) {
        for (size_t i = 0; i < G_N_ELEMENTS(cells); i++) {
                const RollCell *cell = &cells[i];
                _cleanup_(rolls_freep) Rolls *rolls = rolls_of(cell->others);
                const RollInput input = {.rolls = rolls,
                                         .tick = 10,
                                         .node = "n1",
                                         .begun = cell->begun,
                                         .turns = cell->turns,
                                         .max_failures = cell->max_failures};
                g_autofree char *why = roll_why(&input);
                const RollRun *run = NULL;

                cr_expect_eq(roll_judge(&input, &run), cell->verdict, "cell %zu", i);
                cr_expect_eq(run != NULL, cell->verdict == ROLL_WAIT, "cell %zu", i);
                cr_expect_str_eq(why, cell->why, "cell %zu: %s", i, why);
        }
}

Test(roll, what_is_a_failure) {
        static const RunState failures[] = {RUN_FAILED, RUN_TIMED_OUT, RUN_INTERRUPTED,
                                            RUN_UNKNOWN};
        unsigned n = 0;

        for (int state = 0; state < RUN_STATE_COUNT; state++)
                n += roll_is_failure((RunState)state);
        cr_expect_eq(n, G_N_ELEMENTS(failures));
        for (size_t i = 0; i < G_N_ELEMENTS(failures); i++)
                cr_expect(roll_is_failure(failures[i]));
}

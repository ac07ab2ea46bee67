/* Whether a node may begin in a roll, cell by cell. */
#include "roll.h"

#include <criterion/criterion.h>

#include <stdlib.h>

/* The others as they are written here: "NODE STATE", of tick 10 but where "TICK:" stands before.
 * Behind a state: "@SECOND" since when its machine is waited for, "+" another attempt follows, "!"
 * it was late. */
typedef struct RollCell {
        const char *others;
        bool begun;
        unsigned turns, max_failures;
        RollVerdict verdict;
        const char *why;
        unsigned rejoin_timeout; /* in seconds; it is second 1000 */
        bool away;
} RollCell;

/* What is said of the machine of n2. */
#define BACK_UNTIL(second)                                                                         \
        "its turn comes when n2 is a member again after its run 10-1 (succeeded); it is waited "   \
        "for until 1970-01-01T00:" second "Z"
#define NOT_BACK(state)                                                                            \
        "roll-stopped: n2 is not back since its run 10-1 (" state "); rejoin-timeout is 1min"

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
    /* machines that are to come back */
    {"n2 succeeded@990", false, 1, 0, ROLL_WAIT, BACK_UNTIL("17:30"), 60},
    {"n2 succeeded@941", false, 1, 0, ROLL_WAIT, BACK_UNTIL("16:41"), 60},
    {"n2 succeeded@940", false, 1, 0, ROLL_STOPPED, NOT_BACK("succeeded"), 60},
    {"n2 unknown@940", false, 1, 0, ROLL_STOPPED, NOT_BACK("unknown"), 60},
    {"n2 stopped@940", false, 1, 2, ROLL_STOPPED, NOT_BACK("stopped"), 60},
    {"n2 failed@940+", false, 1, 1, ROLL_STOPPED, NOT_BACK("failed"), 60},
    {"n2 succeeded@990!", false, 1, 0, ROLL_STOPPED, NOT_BACK("succeeded"), 60},
    {"n2 succeeded!", false, 1, 0, ROLL_STOPPED, NOT_BACK("succeeded"), 60},
    /* nobody waits for it by his own file, or for himself */
    {"n2 succeeded@990", false, 1, 0, ROLL_GO, ""},
    {"n2 succeeded@940", false, 1, 0, ROLL_GO, ""},
    {"n2 succeeded@940!", false, 1, 0, ROLL_GO, ""},
    {"n1 succeeded@990", false, 1, 0, ROLL_GO, "", 60},
    {"n1 succeeded@940", false, 1, 0, ROLL_GO, "", 60},
    {"n1 succeeded@940!", false, 1, 0, ROLL_GO, "", 60},
    /* of another tick it is waited for, and stops nothing */
    {"9: n2 succeeded@990", false, 1, 0, ROLL_WAIT,
     "its turn comes when n2 is a member again after its run 9-1 (succeeded); it is waited for "
     "until 1970-01-01T00:17:30Z",
     60},
    {"9: n2 succeeded@940", false, 1, 0, ROLL_GO, "", 60},
    {"9: n2 succeeded@990!", false, 1, 0, ROLL_GO, "", 60},
    /* turns */
    {"n2 succeeded@990", false, 2, 0, ROLL_GO, "", 60},
    {"n2 succeeded@990 n3 claimed", false, 2, 0, ROLL_WAIT, BACK_UNTIL("17:30"), 60},
    {"n3 succeeded@990 n2 succeeded@940", false, 3, 0, ROLL_STOPPED, NOT_BACK("succeeded"), 60},
    {"n2 succeeded", false, 1, 0, ROLL_GO, "", 60},
    /* who has begun goes on when it is its turn */
    {"n2 succeeded@940", true, 1, 0, ROLL_GO, "", 60},
    {"n2 succeeded@990!", true, 1, 0, ROLL_GO, "", 60},
    {"n2 succeeded@990", true, 1, 0, ROLL_WAIT, BACK_UNTIL("17:30"), 60},
    /* what is attempted again has not failed */
    {"n2 failed@990+", false, 2, 1, ROLL_GO, "", 60},
    {"n2 failed@990", false, 2, 1, ROLL_STOPPED,
     "roll-stopped: failed on n2 (10-1); max-failures is 1", 60},
    /* both */
    {"n2 failed@940", false, 1, 1, ROLL_STOPPED,
     "roll-stopped: failed on n2 (10-1); max-failures is 1", 60},
    /* one that has gone over its run */
    {"n2 claimed", false, 1, 0, ROLL_WAIT,
     "its turn comes when n2 is back and its run 10-1 is settled", 60, true},
};

/* Return: the run of that word, "STATE@SECOND+!", borrowed but for its state. */
static RollRun run_of(int64_t tick, char *node, char *run, const char *word) {
        const char *since = strchr(word, '@');
        g_autofree char *state = g_strndup(word, strcspn(word, "@+!"));
        RollRun noted = {.tick = tick, .node = node, .run = run};

        cr_assert_eq(run_state_from_string(state, &noted.state), 0, "%s", word);
        noted.back = (RollReturn){.since = since ? strtoull(since + 1, NULL, 10) * USEC_PER_SEC : 0,
                                  .again = strchr(word, '+'),
                                  .late = strchr(word, '!')};
        return noted;
}

static Rolls *rolls_of(const char *others) {
        g_auto(GStrv) words = g_strsplit(others, " ", -1);
        Rolls *rolls = rolls_new();
        int64_t tick = 10;

        for (char **word = words; *word && **word; word++) {
                g_autofree char *run = NULL;
                RollRun noted;

                if (g_str_has_suffix(*word, ":")) {
                        tick = g_ascii_strtoll(*word, NULL, 10);
                        continue;
                }
                run = g_strdup_printf("%" G_GINT64_FORMAT "-1", tick);
                noted = run_of(tick, *word, run, word[1]);
                (void)rolls_put(rolls, &noted);
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
                                         .max_failures = cell->max_failures,
                                         .rejoin_timeout = cell->rejoin_timeout * USEC_PER_SEC,
                                         .now = 1000 * USEC_PER_SEC,
                                         .away = cell->away};
                g_autofree char *why = roll_why(&input);
                const RollRun *run = NULL;

                cr_expect_eq(roll_judge(&input, &run), cell->verdict, "cell %zu", i);
                cr_expect_eq(run != NULL, cell->verdict == ROLL_WAIT, "cell %zu", i);
                cr_expect_str_eq(why, cell->why, "cell %zu: %s", i, why);
        }
}

Test(roll, nobody_begins_where_nothing_can_be_known) {
        const RollInput input = {.tick = 10, .node = "n1", .begun = true};
        g_autofree char *why = roll_why(&input);
        const RollRun *run;

        cr_expect_eq(roll_judge(&input, &run), ROLL_DAMAGED);
        cr_expect_null(run);
        cr_expect_not_null(strstr(why, "until it is deleted"), "%s", why);
}

/* Whose machine is looked for among the members before it is judged. */
Test(roll, whom_it_awaits) {
        static const struct {
                const char *other;
                bool awaits;
                unsigned rejoin_timeout;
        } awaited[] = {
            {"n2 succeeded@990", true, 60},    {"n2 succeeded@990", false, 0},
            {"n2 succeeded@940", true, 60}, /* it may be back meanwhile */
            {"n2 succeeded@990!", false, 60},  {"n2 succeeded", false, 60},
            {"n2 claimed", false, 60},         {"n1 succeeded@990", false, 60},
            {"9: n2 succeeded@990", true, 60}, {"9: n2 succeeded@940", false, 60},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(awaited); i++) {
                _cleanup_(rolls_freep) Rolls *rolls = rolls_of(awaited[i].other);
                const RollInput input = {.rolls = rolls,
                                         .tick = 10,
                                         .node = "n1",
                                         .turns = 1,
                                         .rejoin_timeout = awaited[i].rejoin_timeout * USEC_PER_SEC,
                                         .now = 1000 * USEC_PER_SEC};

                cr_expect_eq(roll_awaits(&input, rolls->runs->pdata[0]), awaited[i].awaits,
                             "%s, %u", awaited[i].other, awaited[i].rejoin_timeout);
        }
}

/* A member with that boot is seen then, in seconds; "": none is, or one that says nothing of it. */
Test(roll, who_is_back) {
        static const struct {
                const char *before, *boot; /* NULL: not known, or no member */
                MemberBusy busy;
                unsigned now;
                bool back;
        } seen[] = {
            {"b1", "b2", MEMBER_FREE, 100, true},      {"b1", "b2", MEMBER_DRAINED, 100, true},
            {"b1", "b2", MEMBER_STOPPING, 500, false}, {"b1", "b1", MEMBER_FREE, 109, false},
            {"b1", "b1", MEMBER_FREE, 110, true},      {"b1", "b1", MEMBER_FULL, 110, true},
            {"b1", "b1", MEMBER_STOPPING, 110, false}, {NULL, "b1", MEMBER_FREE, 109, false},
            {NULL, "b1", MEMBER_FREE, 110, true},      {"b1", NULL, MEMBER_FREE, 500, false},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(seen); i++) {
                const RollRun run = {
                    .state = RUN_SUCCEEDED,
                    .back = {.since = 100 * USEC_PER_SEC, .boot = (char *)seen[i].before}};
                _cleanup_(member_freep) Member *member = seen[i].boot ? member_new("n2") : NULL;

                if (member) {
                        member->boot = g_strdup(seen[i].boot);
                        member->busy = seen[i].busy;
                }
                cr_expect_eq(roll_is_back(&run, member, seen[i].now * USEC_PER_SEC), seen[i].back,
                             "%zu", i);
        }
}

/* What is kept of a run whose machine is back, and of those that are late. */
Test(roll, what_is_kept) {
        static const struct {
                const char *other, *back, *late;
        } kept[] = {
            {"n2 succeeded@940", "", "n2 succeeded@940!"},
            {"n2 failed@940", "n2 failed", "n2 failed@940!"},
            {"n2 failed@940+", "", "n2 failed@940+!"},
            {"n2 stopped@990", "", NULL},
            {"9: n2 unknown@990", "9: n2 unknown", NULL},
            {"9: n2 unknown@940", "9: n2 unknown", NULL},
            {"n2 succeeded@940 n3 succeeded@990", "n3 succeeded@990",
             "n3 succeeded@990 n2 succeeded@940!"},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(kept); i++) {
                _cleanup_(rolls_freep)
                    Rolls *rolls = rolls_of(kept[i].other),
                          *late = rolls_copy(rolls), *back_expected = rolls_of(kept[i].back),
                          *late_expected = rolls_of(kept[i].late ? kept[i].late : "");
                const RollInput input = {.rolls = late,
                                         .tick = 10,
                                         .node = "n1",
                                         .turns = 1,
                                         .rejoin_timeout = 60 * USEC_PER_SEC,
                                         .now = 1000 * USEC_PER_SEC};
                g_autofree char *text = NULL, *expected = NULL;

                roll_take_back(rolls, rolls->runs->pdata[0]);
                text = rolls_encode(rolls);
                expected = rolls_encode(back_expected);
                cr_expect_str_eq(text, expected, "%s", kept[i].other);
                cr_expect_eq(roll_note_late(&input, late), kept[i].late != NULL, "%s",
                             kept[i].other);
                if (!kept[i].late)
                        continue;
                g_free(text);
                g_free(expected);
                text = rolls_encode(late);
                expected = rolls_encode(late_expected);
                cr_expect_str_eq(text, expected, "%s", kept[i].other);
                cr_expect_not(roll_note_late(&input, late), "%s: it is no news", kept[i].other);
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

/* What may stand where nodes of a roll tell each other how it goes, and where jobs that are waited
 * for together meet: anything. What is taken for such means the same when it is written and read
 * again, keeps to its limits whatever is added, and is never too large to be read. Whatever it says
 * of others, a roll is judged with a reason, and a run that is noted is what is known then. */
#include <glib.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "json-line.h"
#include "meetings.h"
#include "roll.h"
#include "rolls.h"

#define CHECK(condition)                                                                           \
        do {                                                                                       \
                if (!(condition))                                                                  \
                        __builtin_trap();                                                          \
        } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- rolls ---- */

static void check_rolls_text(const Rolls *rolls) {
        _cleanup_(rolls_freep) Rolls *again = NULL, *copy = rolls_copy(rolls);
        g_autofree char *text = rolls_encode(rolls), *text_copy = rolls_encode(copy),
                        *text_again = NULL;

        CHECK(g_str_equal(text, text_copy));
        if (strlen(text) > JSON_LINE_MAX)
                return;
        CHECK(rolls_decode(text, strlen(text), &again) == 0);
        text_again = rolls_encode(again);
        CHECK(g_str_equal(text, text_again));
}

static void check_verdict(const Rolls *rolls, int64_t tick, usec_t now) {
        for (unsigned i = 0; i < 16; i++) {
                const RollInput input = {.rolls = rolls,
                                         .tick = tick,
                                         .node = i % 2 ? "n1" : "n2",
                                         .begun = i / 2 % 2,
                                         .turns = i / 4 % 2 + (i % 3),
                                         .max_failures = i % 3,
                                         .rejoin_timeout = (usec_t)(i / 8) * USEC_PER_MINUTE,
                                         .now = now};
                const RollRun *run = NULL;
                RollVerdict verdict = roll_judge(&input, &run);
                g_autofree char *why = roll_why(&input);
                _cleanup_(rolls_freep) Rolls *copy = rolls_copy(rolls);

                CHECK((run != NULL) == (verdict == ROLL_WAIT));
                CHECK((*why == '\0') == (verdict == ROLL_GO));
                CHECK(!run || strcmp(run->node, input.node) != 0);
                CHECK(!input.begun || verdict != ROLL_STOPPED);
                if (verdict == ROLL_STOPPED && roll_note_late(&input, copy))
                        CHECK(!roll_note_late(&input, copy));
        }
}

/* One that is under way, fails and is forgotten. */
static void check_note(const Rolls *rolls, int64_t tick) {
        _cleanup_(rolls_freep) Rolls *copy = rolls_copy(rolls);
        const RollRun *run;

        if (!rolls_get(copy, tick, "n1") && rolls_note(copy, tick, "n1", "10-1", RUN_CLAIMED))
                check_rolls_text(copy);
        (void)rolls_note(copy, tick, "n1", "10-2", RUN_FAILED);
        CHECK(!rolls_note(copy, tick, "n1", "10-2", RUN_FAILED));
        CHECK(copy->runs->len <= ROLL_RUNS_MAX);
        run = rolls_get(copy, tick, "n1");
        CHECK(!run || run->state == RUN_FAILED); /* NULL: newer ones have its place */
        CHECK(rolls_forget(copy, tick, "n1") == (run != NULL));
        check_rolls_text(copy);
}

static void check_back(const Rolls *rolls, usec_t now) {
        _cleanup_(rolls_freep) Rolls *copy = rolls_copy(rolls);

        while (copy->runs->len > 0) {
                const RollRun *run = copy->runs->pdata[0];
                guint left = copy->runs->len;

                (void)roll_is_back(run, NULL, now);
                roll_take_back(copy, run);
                CHECK(copy->runs->len <= left);
                if (copy->runs->len == left)
                        g_ptr_array_remove_index(copy->runs, 0);
        }
}

static void check_rolls(const char *data, size_t size) {
        _cleanup_(rolls_freep) Rolls *rolls = NULL;
        int64_t tick;

        if (rolls_decode(data, size, &rolls) < 0) {
                CHECK(!rolls);
                return;
        }
        CHECK(rolls->runs->len <= ROLL_RUNS_MAX);
        tick = rolls->runs->len > 0 ? ((const RollRun *)rolls->runs->pdata[0])->tick : 10;
        check_rolls_text(rolls);
        check_verdict(rolls, tick, 0);
        check_verdict(rolls, tick, 1763700000 * USEC_PER_SEC);
        check_verdict(rolls, 10, USEC_INFINITY - 1);
        check_note(rolls, tick);
        check_note(rolls, 1763700000);
        check_back(rolls, 1763700000 * USEC_PER_SEC);
}

/* ---- meetings ---- */

static void check_meetings_text(const Meetings *meetings) {
        _cleanup_(meetings_freep) Meetings *again = NULL;
        g_autofree char *text = meetings_encode(meetings), *text_again = NULL;

        if (strlen(text) > JSON_LINE_MAX)
                return;
        CHECK(meetings_decode(text, strlen(text), &again) == 0);
        text_again = meetings_encode(again);
        CHECK(g_str_equal(text, text_again));
}

/* All of them come, whoever has before: then it is over for the tick, by the last one alone. */
static void check_come(Meetings *meetings, int64_t tick) {
        static const char *const parents[] = {"a", "b", "c", NULL};
        unsigned met = 0;

        for (size_t i = 0; parents[i]; i++) {
                Meeting *gone = NULL;
                g_autofree char *missing = NULL;

                met += meetings_come(meetings, parents, tick, parents[i], "10-1", &gone);
                CHECK(meetings->list->len <= MEETINGS_MAX);
                if (gone)
                        missing = meeting_missing(gone, parents);
                meeting_free(gone);
                check_meetings_text(meetings);
        }
        CHECK(met <= 3);
}

static void check_meetings(const char *data, size_t size) {
        static const char *const parents[] = {"a", "b", "c", NULL};
        _cleanup_(meetings_freep) Meetings *meetings = NULL;
        _cleanup_(meeting_freep) Meeting *gone = NULL;
        g_autofree char *missing = NULL;

        if (meetings_decode(data, size, &meetings) < 0) {
                CHECK(!meetings);
                return;
        }
        check_meetings_text(meetings);
        meetings_rename(meetings, "was", "a");
        check_meetings_text(meetings);
        missing = meetings_missing(meetings, parents, 10);
        json_decref(meetings_report(meetings, parents));
        gone = meetings_give_up(meetings, 100);
        if (meetings->list->len > 0)
                check_come(meetings, ((const Meeting *)meetings->list->pdata[0])->tick);
        check_come(meetings, 1763700000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        check_rolls((const char *)data, size);
        check_meetings((const char *)data, size);
        return 0;
}

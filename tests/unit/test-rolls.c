/* What is known of the rolls of a job, line by line: who is noted, replaced, forgotten, what goes
 * when more is noted than is kept; and what is read back. */
#include "rolls.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "json-line.h"
#include "schedule.h"

typedef struct NoteLine {
        int64_t tick;
        const char *node, *run;
        RunState state; /* RUN_SUCCEEDED: it is forgotten */
        bool changes;
        const char *left; /* behind it: "TICK NODE STATE" */
} NoteLine;

/* Each line goes on from the one before. */
static const NoteLine lines[] = {
    {20, "n1", "20-1", RUN_CLAIMED, true, "20 n1 claimed"},
    {20, "n1", "20-1", RUN_CLAIMED, false, "20 n1 claimed"},
    {20, "n2", "20-1", RUN_FAILED, true, "20 n1 claimed, 20 n2 failed"},
    {10, "n1", "10-1", RUN_UNKNOWN, true, "10 n1 unknown, 20 n1 claimed, 20 n2 failed"},
    {20, "n1", "20-1", RUN_TIMED_OUT, true, "10 n1 unknown, 20 n2 failed, 20 n1 timed-out"},
    {20, "n2", "20-2", RUN_FAILED, true, "10 n1 unknown, 20 n1 timed-out, 20 n2 failed"},
    {20, "n3", "20-1", RUN_SUCCEEDED, false, "10 n1 unknown, 20 n1 timed-out, 20 n2 failed"},
    {10, "n2", "10-1", RUN_SUCCEEDED, false, "10 n1 unknown, 20 n1 timed-out, 20 n2 failed"},
    {20, "n1", "20-1", RUN_SUCCEEDED, true, "10 n1 unknown, 20 n2 failed"},
    {10, "n1", "10-1", RUN_SUCCEEDED, true, "20 n2 failed"},
    {20, "n2", "20-2", RUN_SUCCEEDED, true, ""},
};

static char *noted(const Rolls *rolls) {
        GString *text = g_string_new(NULL);

        for (guint i = 0; i < rolls->runs->len; i++) {
                const RollRun *run = rolls->runs->pdata[i];

                g_string_append_printf(text, "%s%" G_GINT64_FORMAT " %s %s", i > 0 ? ", " : "",
                                       run->tick, run->node, run_state_to_string(run->state));
        }
        return g_string_free(text, FALSE);
}

Test(rolls, line_by_line) {
        _cleanup_(rolls_freep) Rolls *rolls = rolls_new();

        for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
                const NoteLine *line = &lines[i];
                bool changes =
                    line->state == RUN_SUCCEEDED
                        ? rolls_forget(rolls, line->tick, line->node)
                        : rolls_note(rolls, line->tick, line->node, line->run, line->state);
                g_autofree char *left = noted(rolls), *text = rolls_encode(rolls), *again = NULL;
                _cleanup_(rolls_freep) Rolls *read = NULL, *copy = rolls_copy(rolls);

                cr_expect_eq(changes, line->changes, "line %zu", i);
                cr_expect_str_eq(left, line->left, "line %zu: %s", i, left);
                cr_assert_eq(rolls_decode(text, strlen(text), &read), 0, "%s", text);
                again = rolls_encode(read);
                cr_expect_str_eq(again, text);
                g_free(again);
                again = rolls_encode(copy);
                cr_expect_str_eq(again, text);
        }
}

/* All that is known of one run is read back as it was written, and each of it is news. */
Test(rolls, whose_machine_is_waited_for) {
        static const RollRun runs[] = {
            {20, (char *)"n1", (char *)"20-1", RUN_SUCCEEDED, {.since = 1500000}},
            {20, (char *)"n1", (char *)"20-1", RUN_SUCCEEDED, {1500001, (char *)"b1"}},
            {20, (char *)"n1", (char *)"20-1", RUN_SUCCEEDED, {1500001, (char *)"b2"}},
            {20, (char *)"n1", (char *)"20-1", RUN_FAILED, {1500001, (char *)"b2", true}},
            {20, (char *)"n1", (char *)"20-1", RUN_FAILED, {1500001, (char *)"b2", true, true}},
            {20, (char *)"n1", (char *)"20-1", RUN_FAILED, {0}},
        };
        _cleanup_(rolls_freep) Rolls *rolls = rolls_new();

        cr_expect_null(rolls_get(rolls, 20, "n1"));
        for (size_t i = 0; i < G_N_ELEMENTS(runs); i++) {
                _cleanup_(rolls_freep) Rolls *read = NULL;
                g_autofree char *text = NULL;
                const RollRun *found;

                cr_expect(rolls_put(rolls, &runs[i]), "%zu", i);
                cr_expect_not(rolls_put(rolls, &runs[i]), "%zu", i);
                text = rolls_encode(rolls);
                cr_assert_eq(rolls_decode(text, strlen(text), &read), 0, "%s", text);
                cr_expect_eq(read->runs->len, 1U);
                found = rolls_get(read, 20, "n1");
                cr_assert(found);
                cr_expect_eq(found->state, runs[i].state);
                cr_expect_eq(found->back.since, runs[i].back.since);
                cr_expect_str_eq(found->back.boot ? found->back.boot : "",
                                 runs[i].back.boot ? runs[i].back.boot : "");
                cr_expect_eq(found->back.again, runs[i].back.again);
                cr_expect_eq(found->back.late, runs[i].back.late);
        }
        cr_expect_null(rolls_get(rolls, 21, "n1"));
        cr_expect_null(rolls_get(rolls, 20, "n2"));
}

/* Its own texts may be put in again. */
Test(rolls, what_is_there_may_be_put_in_again) {
        _cleanup_(rolls_freep) Rolls *rolls = rolls_new();
        RollRun run;

        (void)rolls_note(rolls, 20, "n1", "20-1", RUN_FAILED);
        run = *rolls_get(rolls, 20, "n1");
        run.back.late = true;
        cr_expect(rolls_put(rolls, &run));
        cr_expect_str_eq(rolls_get(rolls, 20, "n1")->run, "20-1");
}

Test(rolls, the_oldest_ticks_go) {
        _cleanup_(rolls_freep) Rolls *rolls = rolls_new();
        const RollRun *oldest;

        for (int64_t tick = 1; tick <= ROLL_TICKS_MAX + 3; tick++) {
                (void)rolls_note(rolls, tick, "n1", "1-1", RUN_FAILED);
                (void)rolls_note(rolls, tick, "n2", "1-1", RUN_FAILED);
        }
        oldest = rolls->runs->pdata[0];
        cr_expect_eq(oldest->tick, 4);
        cr_expect_eq(rolls->runs->len, 2U * ROLL_TICKS_MAX);
}

Test(rolls, whom_somebody_waits_for_stays) {
        _cleanup_(rolls_freep) Rolls *rolls = rolls_new();
        const int64_t last = INT64_C(2) * ROLL_TICKS_MAX;
        const RollRun awaited = {.tick = 2,
                                 .node = (char *)"n2",
                                 .run = (char *)"2-1",
                                 .state = RUN_SUCCEEDED,
                                 .back = {.since = 1}};

        (void)rolls_note(rolls, 1, "n1", "1-1", RUN_CLAIMED);
        (void)rolls_put(rolls, &awaited);
        for (int64_t tick = 3; tick <= last; tick++)
                (void)rolls_note(rolls, tick, "n3", "3-1", RUN_FAILED);
        cr_expect_eq(rolls->runs->len, (guint)ROLL_TICKS_MAX);
        cr_expect(rolls_get(rolls, 1, "n1"));
        cr_expect(rolls_get(rolls, 2, "n2"));
        cr_expect(rolls_get(rolls, last, "n3"));
        for (int64_t tick = 101; tick <= 100 + ROLL_TICKS_MAX; tick++)
                (void)rolls_note(rolls, tick, "n1", "3-1", RUN_CLAIMED);
        cr_expect_not(rolls_get(rolls, 1, "n1"), "there is no end to them: the oldest goes");
}

Test(rolls, as_many_as_are_kept_can_be_read_whatever_they_are_called) {
        static const char boot[] = "0123456789abcdef0123456789abcdef";
        _cleanup_(rolls_freep) Rolls *rolls = rolls_new(), *read = NULL;
        g_autofree char *text = NULL;

        for (unsigned i = 0; i < ROLL_RUNS_MAX + 10; i++) {
                g_autofree char *node = g_strdup_printf("%0100u", i);

                (void)rolls_put(rolls, &(RollRun){.tick = SCHEDULE_TICK_MAX,
                                                  .node = node,
                                                  .run = (char *)"9999999999-100",
                                                  .state = RUN_INTERRUPTED,
                                                  .back = {.since = 8000000000 * USEC_PER_SEC + 1,
                                                           .boot = (char *)boot,
                                                           .again = true,
                                                           .late = true}});
        }
        cr_expect_eq(rolls->runs->len, (guint)ROLL_RUNS_MAX);
        text = rolls_encode(rolls);
        cr_expect_lt(strlen(text), JSON_LINE_MAX);
        cr_expect_eq(rolls_decode(text, strlen(text), &read), 0);
}

Test(rolls, what_we_would_not_have_written_is_refused) {
        static const char newer_first[] =
            "{\"runs\":[{\"tick\":2,\"node\":\"n1\",\"run\":\"2-1\",\"state\":\"failed\"},"
            "{\"tick\":1,\"node\":\"n1\",\"run\":\"1-1\",\"state\":\"failed\"}]}";
        static const char twice[] =
            "{\"runs\":[{\"tick\":1,\"node\":\"n1\",\"run\":\"1-1\",\"state\":\"failed\"},"
            "{\"tick\":1,\"node\":\"n1\",\"run\":\"1-1\",\"state\":\"failed\"}]}";
        static const char *const bad[] = {
            /* NOLINTBEGIN(bugprone-suspicious-missing-comma): lines that are too long */
            "",
            "junk",
            "{}",
            "[]",
            "{\"runs\":{}}",
            "{\"runs\":[5]}",
            "{\"runs\":[{}]}",
            "{\"runs\":[{\"tick\":0,\"node\":\"n1\",\"run\":\"1-1\",\"state\":\"failed\"}]}",
            "{\"runs\":[{\"tick\":1,\"node\":\"../x\",\"run\":\"1-1\",\"state\":\"failed\"}]}",
            "{\"runs\":[{\"tick\":1,\"run\":\"1-1\",\"state\":\"failed\"}]}",
            "{\"runs\":[{\"tick\":1,\"node\":\"n1\",\"state\":\"failed\"}]}",
            "{\"runs\":[{\"tick\":1,\"node\":\"n1\",\"run\":\"a/b\",\"state\":\"failed\"}]}",
            "{\"runs\":[{\"tick\":1,\"node\":\"n1\",\"run\":\"1-1\",\"state\":\"broken\"}]}",
            "{\"runs\":[{\"tick\":1,\"node\":\"n1\",\"run\":\"1-1\",\"state\":\"skipped\"}]}",
            "{\"runs\":[{\"tick\":1,\"node\":\"n1\",\"run\":\"1-1\",\"state\":\"claimed\","
            "\"since\":5}]}",
            "{\"runs\":[{\"tick\":1,\"node\":\"n1\",\"run\":\"1-1\",\"state\":\"claimed\",\"late\":"
            "true}]}",
            "{\"runs\":[{\"tick\":1,\"node\":\"n1\",\"run\":\"1-1\",\"state\":\"failed\",\"since\":"
            "-5}]}",
            "{\"runs\":[{\"tick\":1,\"node\":\"n1\",\"run\":\"1-1\",\"state\":\"failed\",\"boot\":"
            "\"a/b\"}]}",
            newer_first,
            twice,
            /* NOLINTEND(bugprone-suspicious-missing-comma) */
        };

        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                Rolls *rolls = NULL;

                cr_expect_eq(rolls_decode(bad[i], strlen(bad[i]), &rolls), -EBADMSG, "%s", bad[i]);
                cr_expect_null(rolls);
        }
}

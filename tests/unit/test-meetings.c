/* Who has come of those that a job waits for together, cell by cell: one after the other in every
 * order, again, for other ticks, with another list; what is given up; and what is read back. */
#include "meetings.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "job-links.h"
#include "json-line.h"
#include "schedule.h"

static const char *const parents[] = {"a", "b", "c", NULL};
static const char *const others[] = {"a", "d", NULL};

typedef struct MeetingCell {
        const char *const *parents;
        int64_t tick;
        const char *parent;
        bool met;
        const char *left; /* behind it: the first letter of each that has come, by ticks */
} MeetingCell;

/* Each line goes on from the one before. */
static const MeetingCell cells[] = {
    {parents, 10, "a", false, "10a"},
    {parents, 10, "a", false, "10a"}, /* another run of the same tick */
    {parents, 20, "c", false, "10a 20c"},
    {parents, 10, "c", false, "10ac 20c"},
    {parents, 5, "b", false, "5b 10ac 20c"}, /* an older tick, later */
    {parents, 10, "b", true, "5b 20c"},
    {parents, 10, "b", false, "5b 10b 20c"}, /* begins anew */
    {parents, 20, "b", false, "5b 10b 20cb"},
    {parents, 20, "a", true, "5b 10b"},
    {others, 10, "a", false, "5b 10a"}, /* who is waited for no more is forgotten */
    {others, 10, "d", true, "5b"},
    {others, 5, "d", false, "5d"},
    {parents, 5, "a", false, "5a"},
    {others, 7, "d", false, "5a 7d"},
    {others, 5, "d", true, "7d"},
};

static char *shown(const Meetings *meetings) {
        GString *text = g_string_new(NULL);

        for (guint i = 0; i < meetings->list->len; i++) {
                const Meeting *meeting = meetings->list->pdata[i];

                g_string_append_printf(text, "%s%" G_GINT64_FORMAT, i > 0 ? " " : "",
                                       meeting->tick);
                for (guint j = 0; j < meeting->come->len; j++)
                        g_string_append(text, ((const MeetingPart *)meeting->come->pdata[j])->job);
        }
        return g_string_free(text, FALSE);
}

Test(meetings, each_comes_in_its_turn) {
        _cleanup_(meetings_freep) Meetings *meetings = meetings_new();

        for (size_t i = 0; i < G_N_ELEMENTS(cells); i++) {
                const MeetingCell *cell = &cells[i];
                g_autofree char *left = NULL, *run = g_strdup_printf("%zu-1", i + 1);
                Meeting *gone = NULL;

                cr_expect_eq(
                    meetings_come(meetings, cell->parents, cell->tick, cell->parent, run, &gone),
                    cell->met, "cell %zu", i);
                cr_expect_null(gone, "cell %zu", i);
                left = shown(meetings);
                cr_expect_str_eq(left, cell->left, "cell %zu", i);
        }
}

Test(meetings, the_last_one_to_come_is_one_whatever_the_order) {
        static const char *const orders[] = {"abc", "acb", "bac", "bca", "cab", "cba"};

        for (size_t i = 0; i < G_N_ELEMENTS(orders); i++) {
                _cleanup_(meetings_freep) Meetings *meetings = meetings_new();

                for (unsigned j = 0; j < 3; j++) {
                        const char job[] = {orders[i][j], 0};
                        Meeting *gone = NULL;

                        cr_expect_eq(meetings_come(meetings, parents, 10, job, "10-1", &gone),
                                     j == 2, "%s, %u", orders[i], j);
                        cr_expect_null(gone);
                }
                cr_expect_eq(meetings->list->len, 0U);
        }
}

#define A_AT_FIVE "{\"tick\":5,\"come\":{\"a\":\"1-1\"}}"
#define B_AT_FIVE "{\"tick\":5,\"come\":{\"b\":\"1-1\"}}"

static Meetings *full(void) {
        Meetings *meetings = meetings_new();
        Meeting *gone = NULL;

        for (int64_t i = 1; i <= MEETINGS_MAX; i++) {
                cr_expect_not(meetings_come(meetings, parents, i * 10, "a", "10-1", &gone));
                cr_expect_null(gone);
        }
        return meetings;
}

Test(meetings, the_oldest_tick_is_given_up) {
        _cleanup_(meetings_freep) Meetings *meetings = full();
        _cleanup_(meeting_freep) Meeting *first = NULL, *second = NULL, *none = NULL;
        g_autofree char *missing = NULL;

        cr_expect_not(meetings_come(meetings, parents, INT64_C(10) * (MEETINGS_MAX + 1), "b",
                                    "10-1", &first));
        cr_assert_not_null(first);
        cr_expect_eq(first->tick, 10);
        missing = meeting_missing(first, parents);
        cr_expect_str_eq(missing, "b, c");
        cr_expect_eq(meetings->list->len, (guint)MEETINGS_MAX);
        cr_expect_not(meetings_come(meetings, parents, 15, "b", "15-1", &second), "older than all");
        cr_assert_not_null(second);
        cr_expect_eq(second->tick, 15);
        cr_expect_not(meetings_come(meetings, parents, 20, "b", "20-1", &none), "has its place");
        cr_expect_null(none);
        cr_expect(meetings_come(meetings, parents, 20, "c", "20-1", &none));
        cr_expect_eq(meetings->list->len, MEETINGS_MAX - 1U);
}

Test(meetings, one_with_another_name_has_come_by_that) {
        _cleanup_(meetings_freep) Meetings *meetings = meetings_new();
        g_autofree char *text = NULL;
        Meeting *gone = NULL;

        (void)meetings_come(meetings, parents, 10, "a", "10-1", &gone);
        (void)meetings_come(meetings, parents, 20, "a", "20-1", &gone);
        (void)meetings_come(meetings, parents, 20, "c", "20-2", &gone);
        meetings_rename(meetings, "a", "c");
        meetings_rename(meetings, "nobody", "a");
        text = meetings_encode(meetings);
        cr_expect_str_eq(text,
                         "{\"meetings\":[{\"tick\":10,\"come\":{\"c\":\"10-1\"}},{\"tick\":20,"
                         "\"come\":{\"a\":\"20-1\",\"c\":\"20-2\"}}]}");
}

/* However large it is, or what comes last would never be noted. */
Test(meetings, the_newest_tick_is_never_given_up_for_its_size) {
        _cleanup_(meetings_freep) Meetings *meetings = full();
        unsigned n = 0;
        Meeting *gone;

        while ((gone = meetings_give_up(meetings, 1))) {
                meeting_free(gone);
                n++;
        }
        cr_expect_eq(n, MEETINGS_MAX - 1U);
        cr_assert_eq(meetings->list->len, 1U);
        cr_expect_eq(((const Meeting *)meetings->list->pdata[0])->tick, (int64_t)MEETINGS_MAX * 10);
}

Test(meetings, of_one_that_comes_twice_the_later_run_is_kept) {
        _cleanup_(meetings_freep) Meetings *meetings = meetings_new();
        g_autofree char *text = NULL;
        Meeting *gone = NULL;

        cr_expect_not(meetings_come(meetings, parents, 10, "a", "10-1", &gone));
        cr_expect_not(meetings_come(meetings, parents, 10, "a", "10-2", &gone));
        text = meetings_encode(meetings);
        cr_expect_str_eq(text, "{\"meetings\":[{\"tick\":10,\"come\":{\"a\":\"10-2\"}}]}");
}

/* ---- what is written ---- */

Test(meetings, what_was_written_is_read) {
        _cleanup_(meetings_freep) Meetings *meetings = meetings_new(), *read = NULL;
        g_autofree char *text = NULL, *again = NULL;
        Meeting *gone = NULL;

        (void)meetings_come(meetings, parents, 20, "c", "20-1", &gone);
        (void)meetings_come(meetings, parents, 10, "a", "10-2", &gone);
        (void)meetings_come(meetings, parents, 10, "b", "9-m00ff", &gone);
        text = meetings_encode(meetings);
        cr_expect_str_eq(text,
                         "{\"meetings\":[{\"tick\":10,\"come\":{\"a\":\"10-2\",\"b\":\"9-m00ff\"}},"
                         "{\"tick\":20,\"come\":{\"c\":\"20-1\"}}]}");
        cr_assert_eq(meetings_decode(text, strlen(text), &read), 0);
        again = meetings_encode(read);
        cr_expect_str_eq(again, text);
}

Test(meetings, the_most_that_can_be_kept_can_be_read) {
        _cleanup_(meetings_freep) Meetings *meetings = meetings_new(), *read = NULL;
        g_auto(GStrv) names = g_new0(char *, JOB_AFTER_ALL_MAX + 1);
        g_autofree char *text = NULL;
        Meeting *gone = NULL;

        for (unsigned i = 0; i < JOB_AFTER_ALL_MAX; i++)
                names[i] = g_strdup_printf("%0100u", i);
        for (int64_t tick = 0; tick < MEETINGS_MAX; tick++)
                for (unsigned i = 1; i < JOB_AFTER_ALL_MAX; i++)
                        cr_expect_not(meetings_come(meetings, (const char *const *)names,
                                                    SCHEDULE_TICK_MAX - MEETINGS_MAX + tick,
                                                    names[i], "100000000000-m0123456789abcdef",
                                                    &gone));
        text = meetings_encode(meetings);
        cr_expect_lt(strlen(text), JSON_LINE_MAX);
        cr_expect_eq(meetings_decode(text, strlen(text), &read), 0);
}

Test(meetings, what_we_would_not_have_written_is_refused) {
        static const char twice[] = "{\"meetings\":[" A_AT_FIVE "," B_AT_FIVE "]}",
                          backwards[] =
                              "{\"meetings\":[{\"tick\":6,\"come\":{\"a\":\"1-1\"}}," B_AT_FIVE
                              "]}";
        static const char *const texts[] = {
            "",
            "{}",
            "[]",
            "{\"meetings\":{}}",
            "{\"meetings\":[1]}",
            "{\"meetings\":[{\"come\":{\"a\":\"1-1\"}}]}",
            "{\"meetings\":[{\"tick\":0,\"come\":{\"a\":\"1-1\"}}]}",
            "{\"meetings\":[{\"tick\":-5,\"come\":{\"a\":\"1-1\"}}]}",
            "{\"meetings\":[{\"tick\":999999999999999,\"come\":{\"a\":\"1-1\"}}]}",
            "{\"meetings\":[{\"tick\":5}]}",
            "{\"meetings\":[{\"tick\":5,\"come\":{}}]}",
            "{\"meetings\":[{\"tick\":5,\"come\":{\"A B\":\"1-1\"}}]}",
            "{\"meetings\":[{\"tick\":5,\"come\":{\"a\":\"1\"}}]}",
            "{\"meetings\":[{\"tick\":5,\"come\":{\"a\":5}}]}",
            twice,
            backwards,
        };

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
                Meetings *read = NULL;

                cr_expect_eq(meetings_decode(texts[i], strlen(texts[i]), &read), -EBADMSG, "%s",
                             texts[i]);
                cr_expect_null(read);
        }
}

/* Who waits for that many waits for nobody any more. */
Test(meetings, a_tick_that_all_have_come_for_is_refused) {
        for (unsigned n = JOB_AFTER_ALL_MAX - 1; n <= JOB_AFTER_ALL_MAX; n++) {
                g_autoptr(GString) text = g_string_new("{\"meetings\":[{\"tick\":5,\"come\":{");
                _cleanup_(meetings_freep) Meetings *read = NULL;

                for (unsigned i = 0; i < n; i++)
                        g_string_append_printf(text, "%s\"a%u\":\"1-1\"", i > 0 ? "," : "", i);
                g_string_append(text, "}}]}");
                cr_expect_eq(meetings_decode(text->str, text->len, &read),
                             n < JOB_AFTER_ALL_MAX ? 0 : -EBADMSG, "%u", n);
        }
}

Test(meetings, no_more_are_read_than_are_kept) {
        GString *text = g_string_new("{\"meetings\":[");
        Meetings *read = NULL;

        for (int i = 1; i <= MEETINGS_MAX + 1; i++)
                g_string_append_printf(text, "%s{\"tick\":%d,\"come\":{\"a\":\"1-1\"}}",
                                       i > 1 ? "," : "", i);
        g_string_append(text, "]}");
        cr_expect_eq(meetings_decode(text->str, text->len, &read), -EBADMSG);
        g_string_free(text, TRUE);
}

Test(meetings, people_are_told_who_has_come_and_who_has_not) {
        _cleanup_(meetings_freep) Meetings *meetings = meetings_new();
        Meeting *gone = NULL;
        json_t *report = NULL;
        g_autofree char *text = NULL;

        (void)meetings_come(meetings, parents, 10, "c", "10-2", &gone);
        report = json_pack("{s:o}", "waits", meetings_report(meetings, parents));
        text = json_line_dump(report);
        cr_expect_str_eq(text,
                         "{\"waits\":[{\"tick\":10,\"come\":[{\"job\":\"c\",\"run\":\"10-2\"}],"
                         "\"missing\":[\"a\",\"b\"]}]}");
}

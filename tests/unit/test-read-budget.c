/* Who may read how often: the bounds of a budget, and the turns of those who share one. */
#include "read-budget.h"

#include <criterion/criterion.h>
#include <glib.h>

#include "clock.h"
#include "event-loop.h"

#define LIMIT (10 * USEC_PER_SEC)

static sd_event *event;
static GString *order; /* who took, a letter for each read */

typedef struct Reader {
        ReadShare *share;
        char letter;
        unsigned wants;
} Reader;

static void setup_budget(void) {
        event = loop_new();
        order = g_string_new(NULL);
}

static void teardown_budget(void) {
        (void)g_string_free(order, TRUE);
        event = loop_end(event);
}

TestSuite(read_budget, .init = setup_budget, .fini = teardown_budget);

static void reader_take(void *userdata) {
        Reader *reader = userdata;

        while (reader->wants > 0 && read_share_take(reader->share)) {
                reader->wants--;
                g_string_append_c(order, reader->letter);
        }
}

static void reader_begin(Reader *reader, ReadBudget *budget) {
        reader->share = read_share_new(budget, reader_take, reader);
        reader_take(reader);
}

static void await_order(size_t length) {
        usec_t until = clock_monotonic() + LIMIT;

        while (order->len < length && clock_monotonic() < until)
                (void)sd_event_run(event, 10 * USEC_PER_MSEC);
        cr_assert_eq(order->len, length, "%s", order->str);
}

Test(read_budget, so_many_at_once_and_no_more) {
        ReadBudget *budget = read_budget_new(event, 1, 10);
        Reader reader = {.letter = 'a', .wants = 12};

        reader_begin(&reader, budget);
        cr_expect_str_eq(order->str, "aaaaaaaaaa");
        cr_expect(read_budget_is_short(budget));
        read_share_free(reader.share);
        cr_expect_not(read_budget_is_short(budget));
        read_budget_free(budget);
}

Test(read_budget, so_many_a_second_after_that) {
        ReadBudget *budget = read_budget_new(event, 50, 2);
        Reader reader = {.letter = 'a', .wants = 12};
        usec_t begun = clock_monotonic();

        reader_begin(&reader, budget);
        await_order(12);
        cr_expect_geq(clock_monotonic() - begun, (12 - 2) * USEC_PER_SEC / 50);
        cr_expect_not(read_budget_is_short(budget));
        read_share_free(reader.share);
        read_budget_free(budget);
}

Test(read_budget, those_who_want_more_than_there_is_take_turns) {
        ReadBudget *budget = read_budget_new(event, 100, 1);
        Reader a = {.letter = 'a', .wants = 5}, b = {.letter = 'b', .wants = 4};

        reader_begin(&a, budget);
        reader_begin(&b, budget);
        await_order(9);
        cr_expect_str_eq(order->str, "aabababab", "%s", order->str);
        read_share_free(a.share);
        read_share_free(b.share);
        read_budget_free(budget);
}

Test(read_budget, what_was_taken_counts_when_it_grows) {
        ReadBudget *budget = read_budget_new(event, 1, 2);
        Reader reader = {.letter = 'a', .wants = 40};

        reader_begin(&reader, budget);
        read_budget_set(budget, 1, 60);
        reader_take(&reader);
        cr_expect_str_eq(order->str, "aa", "whoever waits has to wait for the turn");
        await_order(40);
        read_share_free(reader.share);
        read_budget_free(budget);
}

Test(read_budget, who_left_is_not_called) {
        ReadBudget *budget = read_budget_new(event, 20, 1);
        Reader a = {.letter = 'a', .wants = 3}, b = {.letter = 'b', .wants = 1};

        reader_begin(&a, budget);
        reader_begin(&b, budget);
        a.share = read_share_free(a.share);
        await_order(2);
        cr_expect_str_eq(order->str, "ab");
        read_share_free(b.share);
        read_budget_free(budget);
}

Test(read_budget, none_is_without_bounds) {
        Reader reader = {.letter = 'a', .wants = 10000};

        reader_begin(&reader, NULL);
        cr_expect_eq(order->len, 10000U);
        cr_expect_not(read_budget_is_short(NULL));
        read_share_free(reader.share);
        cr_expect_null(read_share_free(NULL));
        cr_expect_null(read_budget_free(NULL));
}

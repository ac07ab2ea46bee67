/* How far our clock is off, as far as a sample can tell. Times in the cells are microseconds after
 * some instant. */
#include <criterion/criterion.h>
#include <glib.h>

#include "clock-skew.h"

#define EPOCH (UINT64_C(1763700000) * USEC_PER_SEC)
#define MS USEC_PER_MSEC

static int64_t skew_of(usec_t server, usec_t sent, usec_t received) {
        ClockSkew skew = {0};

        clock_skew_sample(&skew, EPOCH + server, EPOCH + sent, EPOCH + received, 1, USEC_PER_SEC);
        return skew.skew;
}

Test(clock_skew, nearest_to_zero_that_the_sample_allows) {
        cr_expect_eq(skew_of(5 * MS, 4 * MS, 6 * MS), 0, "inside");
        cr_expect_eq(skew_of(5 * MS, 5 * MS, 5 * MS), 0);
        cr_expect_eq(skew_of(5 * MS, 5 * MS + 999, 7 * MS), 0, "its stamp has only milliseconds");
        cr_expect_eq(skew_of(5 * MS, 6 * MS, 7 * MS), 0);
        cr_expect_eq(skew_of(5 * MS, 6 * MS + 1, 7 * MS), 1, "ours is ahead");
        cr_expect_eq(skew_of(5 * MS, 3000 * MS, 3001 * MS), 2994 * (int64_t)MS);
        cr_expect_eq(skew_of(5 * MS, 3 * MS, 4 * MS), -1 * (int64_t)MS, "ours is behind");
        cr_expect_eq(skew_of(3000 * MS, 0, 1 * MS), -2999 * (int64_t)MS);
}

Test(clock_skew, a_slow_answer_says_too_little) {
        ClockSkew skew = {0};

        clock_skew_sample(&skew, EPOCH, EPOCH + 100 * MS, EPOCH + 101 * MS, 10, 50 * MS);
        cr_assert_eq(skew.skew, 99 * (int64_t)MS);
        clock_skew_sample(&skew, EPOCH, EPOCH, EPOCH + 51 * MS, 20, 50 * MS);
        cr_expect_eq(skew.skew, 99 * (int64_t)MS, "the slow one is ignored");
        cr_expect_eq(skew.measured, 10);
        clock_skew_sample(&skew, EPOCH, EPOCH, EPOCH + 50 * MS, 30, 50 * MS);
        cr_expect_eq(skew.skew, 0);
        cr_expect_eq(skew.measured, 30);
}

Test(clock_skew, a_slow_answer_is_better_than_none) {
        ClockSkew skew = {0};

        clock_skew_sample(&skew, EPOCH, EPOCH + 9000 * MS, EPOCH + 20000 * MS, 20000 * MS, 50 * MS);
        cr_expect_eq(skew.measured, 0, "whether the clock was set meanwhile is not known");
        clock_skew_sample(&skew, EPOCH, EPOCH + 19000 * MS, EPOCH + 21000 * MS, 21000 * MS,
                          50 * MS);
        cr_expect_eq(skew.measured, 0, "nor when this was asked for");
        clock_skew_sample(&skew, EPOCH, EPOCH + 22000 * MS, EPOCH + 30000 * MS, 30000 * MS,
                          50 * MS);
        cr_expect_eq(skew.skew, 21999 * (int64_t)MS);
        cr_expect_eq(skew.measured, 30000 * MS);
}

/* An hour forward: between the two, our clock showed what the server's did. */
Test(clock_skew, a_clock_that_is_set_while_the_answer_is_under_way_is_not_right) {
        ClockSkew skew = {0};

        clock_skew_sample(&skew, EPOCH, EPOCH, EPOCH + USEC_PER_HOUR, 2 * MS, 50 * MS);
        cr_expect_not(clock_skew_is_known(&skew, EPOCH + USEC_PER_HOUR, 2 * MS));
        clock_skew_sample(&skew, EPOCH + 60 * MS, EPOCH + USEC_PER_HOUR + 60 * MS,
                          EPOCH + 2 * USEC_PER_HOUR, 120 * MS, 50 * MS);
        cr_expect_not(clock_skew_is_known(&skew, EPOCH + 2 * USEC_PER_HOUR, 120 * MS), "again");
        clock_skew_sample(&skew, EPOCH + 121 * MS, EPOCH + 2 * USEC_PER_HOUR + 1 * MS,
                          EPOCH + 2 * USEC_PER_HOUR + 61 * MS, 181 * MS, 50 * MS);
        cr_expect(clock_skew_is_known(&skew, EPOCH + 2 * USEC_PER_HOUR + 61 * MS, 181 * MS));
        cr_expect(clock_skew_exceeds(&skew, USEC_PER_MINUTE));
}

Test(clock_skew, fresh_for_a_minute) {
        ClockSkew skew = {0};

        cr_expect_not(clock_skew_is_fresh(&skew, 0), "never measured");
        cr_expect_not(clock_skew_is_fresh(&skew, 5));
        skew.measured = 100;
        cr_expect(clock_skew_is_fresh(&skew, 100));
        cr_expect(clock_skew_is_fresh(&skew, 100 + CLOCK_SKEW_AGE_MAX - 1));
        cr_expect_not(clock_skew_is_fresh(&skew, 100 + CLOCK_SKEW_AGE_MAX));
        cr_expect_not(clock_skew_is_fresh(&skew, USEC_INFINITY));
}

Test(clock_skew, limit) {
        ClockSkew skew = {.skew = 3 * (int64_t)USEC_PER_SEC};

        cr_expect_not(clock_skew_exceeds(&skew, 2 * USEC_PER_SEC), "not measured");
        skew.measured = 1;
        cr_expect(clock_skew_exceeds(&skew, 2 * USEC_PER_SEC));
        cr_expect_not(clock_skew_exceeds(&skew, 3 * USEC_PER_SEC), "no more than the limit");
        skew.skew = -skew.skew;
        cr_expect(clock_skew_exceeds(&skew, 3 * USEC_PER_SEC - 1), "either way");
        cr_expect_not(clock_skew_exceeds(&skew, USEC_INFINITY));
}

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

Test(clock_skew, what_the_server_shows_is_known_whatever_ours_is_set_to) {
        ClockSkew skew = {0};

        cr_expect_eq(clock_skew_server_time(&skew, 10), 0, "not yet");
        clock_skew_sample(&skew, EPOCH, EPOCH + 100 * MS, EPOCH + 100 * MS, 10 * MS, 50 * MS);
        cr_expect_eq(clock_skew_server_time(&skew, 10 * MS), EPOCH + MS);
        cr_expect_eq(clock_skew_server_time(&skew, 70 * MS), EPOCH + 61 * MS);
}

/* What it was ahead when it was asked does not tell what it shows since. */
Test(clock_skew, a_clock_that_is_set_back_while_it_is_asked_says_nothing) {
        ClockSkew skew = {0};

        clock_skew_sample(&skew, EPOCH, EPOCH, EPOCH + MS, 10 * MS, 50 * MS);
        clock_skew_sample(&skew, EPOCH + 10 * MS, EPOCH + 800 * USEC_PER_SEC, EPOCH + 11 * MS,
                          20 * MS, 50 * MS);
        cr_expect_eq(skew.skew, 0);
        cr_expect_eq(skew.measured, 10 * MS);
        cr_expect_eq(clock_skew_server_time(&skew, 20 * MS), EPOCH + 11 * MS);
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

/* Return: whether the clock is known all the time while each answer takes `took`, and one is asked
 * for every `period`. */
static bool is_known_by_slow_answers(ClockSkew *skew, usec_t period, usec_t took) {
        bool known = true;

        for (usec_t sent = USEC_PER_SEC; sent < 10 * USEC_PER_MINUTE; sent += period) {
                usec_t at = sent + took;

                clock_skew_sample(skew, EPOCH + sent + took / 2, EPOCH + sent, EPOCH + at, at,
                                  USEC_PER_SEC);
                known = known && clock_skew_is_known(skew, EPOCH + at, at);
        }
        return known;
}

Test(clock_skew, a_server_that_is_slow_all_the_time_keeps_it_known) {
        ClockSkew skew = {0};

        clock_skew_sample(&skew, EPOCH, EPOCH, EPOCH + 1 * MS, 1 * MS, USEC_PER_SEC);
        cr_expect(is_known_by_slow_answers(&skew, 5 * USEC_PER_SEC, 1200 * MS));
        cr_expect_eq(skew.skew, 0);
}

Test(clock_skew, answers_that_overlap_make_it_known_too) {
        ClockSkew never = {0}, before = {.measured = 1, .offset = EPOCH};

        (void)is_known_by_slow_answers(&never, 500 * MS, 1200 * MS);
        cr_expect(clock_skew_is_known(&never, EPOCH + 10 * USEC_PER_MINUTE, 10 * USEC_PER_MINUTE));
        cr_expect(is_known_by_slow_answers(&before, 500 * MS, 1200 * MS));
}

/* An answer of three seconds does not excuse a clock that was known to be two seconds ahead. */
Test(clock_skew, a_slow_answer_does_not_forget_what_is_known) {
        ClockSkew skew = {0};
        usec_t ahead = 2100 * MS;

        clock_skew_sample(&skew, EPOCH, EPOCH + ahead, EPOCH + ahead + 1 * MS, 1 * MS,
                          USEC_PER_SEC);
        cr_assert_eq(skew.skew, (int64_t)(ahead - MS));
        clock_skew_sample(&skew, EPOCH + 3200 * MS, EPOCH + ahead + 200 * MS,
                          EPOCH + ahead + 3200 * MS, 3200 * MS, USEC_PER_SEC);
        cr_expect_eq(skew.skew, (int64_t)(ahead - MS), "it allows that");
        cr_expect_eq(skew.measured, 3200 * MS);
        clock_skew_sample(&skew, EPOCH + ahead + 5000 * MS, EPOCH + ahead + 4000 * MS,
                          EPOCH + ahead + 5500 * MS, 5500 * MS, USEC_PER_SEC);
        cr_expect_eq(skew.skew, 500 * (int64_t)MS, "it does not: it was slewed");
}

/* The clock moves by that little before each of so many answers, which take nine seconds. */
static void slew(ClockSkew *skew, int64_t by, unsigned times) {
        for (unsigned i = 1; i <= times; i++) {
                usec_t at = (usec_t)i * 10 * USEC_PER_SEC,
                       shown = EPOCH + at + (usec_t)(by * (int64_t)i);

                clock_skew_sample(skew, EPOCH + at - 4500 * MS, shown - 9000 * MS, shown, at,
                                  USEC_PER_SEC);
                cr_expect_eq(skew->measured, at);
        }
}

/* Each time by less than what counts as set. */
Test(clock_skew, a_slow_server_does_not_hide_many_small_steps) {
        ClockSkew skew = {0};

        clock_skew_sample(&skew, EPOCH, EPOCH, EPOCH + 1 * MS, 1 * MS, USEC_PER_SEC);
        slew(&skew, 150 * (int64_t)MS, 16);
        cr_expect_eq(skew.skew, 2399 * (int64_t)MS);
        cr_expect(clock_skew_exceeds(&skew, 2 * USEC_PER_SEC));
}

/* What was known was never more than that it is within some seconds. */
Test(clock_skew, a_clock_that_comes_right_by_small_steps_is_not_blamed_for_them) {
        ClockSkew skew = {.seen = 1, .seen_offset = EPOCH};

        clock_skew_sample(&skew, EPOCH + 5000 * MS, EPOCH, EPOCH + 10000 * MS, 10000 * MS,
                          USEC_PER_SEC);
        cr_assert_eq(skew.measured, 10000 * MS);
        skew.measured = 1;
        slew(&skew, -150 * (int64_t)MS, 20);
        cr_expect_eq(skew.skew, 0);
}

Test(clock_skew, a_clock_that_was_set_is_known_by_a_slow_server_too) {
        ClockSkew skew = {.skew = -9 * (int64_t)USEC_PER_SEC, .measured = 1, .offset = 0};

        (void)is_known_by_slow_answers(&skew, 5 * USEC_PER_SEC, 1200 * MS);
        cr_expect(clock_skew_is_known(&skew, EPOCH + 10 * USEC_PER_MINUTE, 10 * USEC_PER_MINUTE));
        cr_expect_eq(skew.skew, 0, "what was known before says nothing any more");
}

/* A new session, and ours is set before its first sample: what is dated then is dated by the
 * server.
 */
Test(clock_skew, what_the_server_shows_outlasts_what_is_known_of_our_clock) {
        ClockSkew skew = {0};

        cr_expect_eq(clock_skew_server_time(&skew, 5 * MS), 0U);
        clock_skew_forget(&skew);
        cr_expect_eq(clock_skew_server_time(&skew, 5 * MS), 0U);
        clock_skew_sample(&skew, EPOCH, EPOCH + USEC_PER_HOUR, EPOCH + USEC_PER_HOUR + 2 * MS,
                          10 * MS, USEC_PER_SEC);
        clock_skew_forget(&skew);
        clock_skew_forget(&skew);
        cr_expect_not(clock_skew_is_known(&skew, EPOCH + USEC_PER_HOUR + 2 * MS, 10 * MS));
        cr_expect_not(clock_skew_exceeds(&skew, USEC_PER_SEC));
        cr_expect_geq(clock_skew_server_time(&skew, 1010 * MS), EPOCH + 1000 * MS);
        cr_expect_leq(clock_skew_server_time(&skew, 1010 * MS), EPOCH + 1003 * MS);
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

/* When ticks start: later than they come by a delay that is shorter than what lies between any two,
 * so that they start one after the other. */
#include <criterion/criterion.h>
#include <errno.h>
#include <glib.h>
#include <inttypes.h>

#include "schedule.h"
#include "spread.h"

static Schedule *schedule_of_lines(const char *zone, const char *expressions) {
        g_auto(GStrv) lines = g_strsplit(expressions, ";", -1);
        g_autofree char *message = NULL;
        Schedule *schedule = NULL;
        usec_t interval = 0;

        cr_assert_eq(schedule_new(zone, &schedule, &message), 0);
        for (char **line = lines; *line; line++) {
                if (g_str_has_prefix(*line, "every ")) {
                        interval = g_ascii_strtoull(*line + strlen("every "), NULL, 10);
                        cr_assert_eq(
                            schedule_add_every(schedule, interval * USEC_PER_SEC, &message), 0);
                } else {
                        cr_assert_eq(schedule_add_calendar(schedule, *line, &message), 0, "%s",
                                     message);
                }
        }
        return schedule;
}

static Schedule *delayed(const char *expressions, usec_t delay) {
        Schedule *schedule = schedule_of_lines(NULL, expressions);
        g_autofree char *message = NULL;

        cr_assert_eq(schedule_set_random_delay(schedule, delay, &message), 0, "%s", message);
        return schedule;
}

static void expect_refused(const char *zone, const char *expressions, usec_t delay,
                           const char *expected) {
        _cleanup_(schedule_freep) Schedule *schedule = schedule_of_lines(zone, expressions);
        g_autofree char *message = NULL;

        cr_expect_eq(schedule_set_random_delay(schedule, delay, &message), -EINVAL, "%s",
                     expressions);
        cr_expect_str_eq(message, expected);
        cr_expect_eq(schedule_random_delay(schedule), 0);
}

#define MUST "must be shorter than the time between any two ticks, and from "

Test(schedule_delay, is_shorter_than_the_time_between_two_ticks) {
        expect_refused(NULL, "every 300", 300 * USEC_PER_SEC,
                       MUST "2025-01-01 00:00:00 to 2025-01-01 00:05:00 UTC that is only 5min: "
                            "write 4min 59s or less");
        expect_refused(NULL, "*:0/5", USEC_PER_HOUR,
                       MUST "2025-01-01 00:00:00 to 2025-01-01 00:05:00 UTC that is only 5min: "
                            "write 4min 59s or less");
        expect_refused(NULL, "02:00;03:30", 2 * USEC_PER_HOUR,
                       MUST "2025-01-01 02:00:00 to 2025-01-01 03:30:00 UTC that is only 1h 30min: "
                            "write 1h 29min 59s or less");
        expect_refused(NULL, "12:00;*-02-29 12:10", USEC_PER_HOUR,
                       MUST "2028-02-29 12:00:00 to 2028-02-29 12:10:00 UTC that is only 10min: "
                            "write 9min 59s or less");
        expect_refused(NULL, "every 1", USEC_PER_SEC,
                       MUST
                       "2025-01-01 00:00:00 to 2025-01-01 00:00:01 UTC that is only 1s: write 0 "
                       "or less");
        expect_refused(NULL, "every 300", 1500 * USEC_PER_MSEC, "must be whole seconds");
}

/* What two zones, or a change of the clocks, bring close together counts. */
Test(schedule_delay, is_shorter_than_clock_changes_make_it) {
        expect_refused("Europe/Berlin", "01:50;02:30", 30 * USEC_PER_MINUTE,
                       MUST "2025-03-30 00:50:00 to 2025-03-30 01:00:00 UTC that is only 10min: "
                            "write 9min 59s or less");
        expect_refused(NULL, "12:00 UTC;08:00 America/New_York", USEC_PER_HOUR + USEC_PER_SEC,
                       MUST "2025-01-01 12:00:00 to 2025-01-01 13:00:00 UTC that is only 1h: write "
                            "59min 59s or less");
}

Test(schedule_delay, may_be_just_shorter) {
        _cleanup_(schedule_freep) Schedule *interval = delayed("every 300", 299 * USEC_PER_SEC);
        _cleanup_(schedule_freep) Schedule *daily = delayed("daily", USEC_PER_DAY - USEC_PER_SEC);
        _cleanup_(schedule_freep) Schedule *once = delayed("2031-01-01", USEC_PER_DAY);
        _cleanup_(schedule_freep) Schedule *over = delayed("2001-01-01", USEC_PER_DAY);

        cr_expect_eq(schedule_random_delay(interval), 299);
        cr_expect_eq(schedule_random_delay(daily), 86399);
        cr_expect_eq(schedule_random_delay(once), 86400);
        cr_expect_eq(schedule_random_delay(over), 86400);
}

Test(schedule_delay, is_the_jobs_and_the_ticks) {
        _cleanup_(schedule_freep) Schedule *schedule = delayed("every 7200", 600 * USEC_PER_SEC);
        _cleanup_(schedule_freep) Schedule *plain = delayed("every 7200", 0);

        cr_expect_eq(schedule_start(schedule, "a", 7200), 7200 + 213);
        cr_expect_eq(schedule_start(schedule, "b", 7200), 7200 + 224);
        cr_expect_eq(schedule_start(plain, "a", 7200), 7200);
}

/* Nobody saw how rarely two ticks lie that close: the first of them starts before the second all
 * the same. */
Test(schedule_delay, ends_before_the_next_tick) {
        _cleanup_(schedule_freep) Schedule *schedule =
            delayed("12:00;2090-06-01 12:00:01", USEC_PER_HOUR);
        int64_t tick;

        cr_assert(schedule_next(schedule, 3799999999 - INT64_C(100) * 86400, &tick));
        for (int i = 0; i < 200; i++) {
                int64_t next = 0, start = schedule_start(schedule, "a", tick);

                cr_assert(schedule_next(schedule, tick, &next));
                cr_assert(start >= tick && start < next);
                tick = next;
        }
}

Test(schedule_delay, started_is_what_has_been_started) {
        _cleanup_(schedule_freep) Schedule *schedule = delayed("every 7200", 600 * USEC_PER_SEC);
        _cleanup_(schedule_freep) Schedule *plain = delayed("every 7200", 0);
        int64_t start = 7200 + 213;

        cr_expect_eq(schedule_started(schedule, "a", 7199), 7199);
        cr_expect_eq(schedule_started(schedule, "a", 7200), 7199, "it has come");
        cr_expect_eq(schedule_started(schedule, "a", start - 1), 7199);
        cr_expect_eq(schedule_started(schedule, "a", start), start);
        cr_expect_eq(schedule_started(plain, "a", 7200), 7200);
}

/* Each tick is one of them from its start on, to the second, whatever the schedule. */
Test(schedule_delay, starts_come_in_the_order_of_ticks) {
        static const char *const expressions[] = {"every 61", "*:0/5", "02:30;14:30;15:00",
                                                  "Mon 03:00"};

        for (size_t i = 0; i < G_N_ELEMENTS(expressions); i++) {
                _cleanup_(schedule_freep) Schedule *schedule =
                    delayed(expressions[i], 60 * USEC_PER_SEC);
                int64_t tick = 1764126000, before = 0;

                for (int n = 0; n < 300; n++) {
                        int64_t start, last;

                        cr_assert(schedule_next(schedule, tick, &tick));
                        start = schedule_start(schedule, "a", tick);
                        cr_assert(start >= tick && start <= tick + 60 && start > before);
                        last = schedule_started(schedule, "a", start - 1);
                        cr_assert(last < tick && last >= before);
                        cr_assert_eq(schedule_started(schedule, "a", start), start);
                        before = start;
                }
        }
}

Test(schedule_delay, normal_form_and_back) {
        _cleanup_(schedule_freep) Schedule *schedule =
            delayed("Mon..Fri 02:30 Europe/Berlin;12:00", 5400 * USEC_PER_SEC);
        _cleanup_(schedule_freep) Schedule *again = NULL;
        g_autofree char *text = schedule_to_string(schedule), *text_again = NULL;

        cr_expect_str_eq(text, "Mon..Fri *-*-* 02:30:00 Europe/Berlin\n*-*-* 12:00:00 UTC\n"
                               "random-delay 1h 30min");
        cr_assert_eq(schedule_from_string(text, &again), 0);
        text_again = schedule_to_string(again);
        cr_expect_str_eq(text_again, text);
        cr_expect_eq(schedule_random_delay(again), 5400);
}

Test(schedule_delay, what_is_no_normal_form_is_refused) {
        static const char *const texts[] = {
            "random-delay 1h",
            "every 1h\nrandom-delay 0",
            "every 1h\nrandom-delay 500ms",
            "every 1h\nrandom-delay soon",
            "every 1h\nrandom-delay infinity",
            "every 1h\nrandom-delay",
        };

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
                Schedule *schedule = NULL;

                cr_expect_eq(schedule_from_string(texts[i], &schedule), -EINVAL, "%s", texts[i]);
        }
}

/* The longest there is, and the line that the delay adds to it. */
Test(schedule_delay, has_room_beside_what_is_longest) {
        _cleanup_(schedule_freep) Schedule *schedule = delayed("daily", 86399 * USEC_PER_SEC);
        g_autofree char *text = schedule_to_string(schedule);

        cr_expect_str_eq(strchr(text, '\n'), "\nrandom-delay 23h 59min 59s");
        cr_expect_leq(strlen("\ngap skip\noverlap first\nrandom-delay 999d 23h 59min 59s"),
                      SCHEDULE_MORE_TEXT_MAX);
}

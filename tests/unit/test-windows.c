/* When a window is open: in the tables that people would ask about, by looking at every second, and
 * what is refused. */
#include "windows.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "duration.h"
#include "schedule.h"

static int64_t instant(const char *text) {
        g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
        g_autoptr(GDateTime) time = g_date_time_new_from_iso8601(text, utc);

        cr_assert_not_null(time, "%s", text);
        return g_date_time_to_unix(time);
}

static char *moment(int64_t second) {
        g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(second);

        if (second == 0 || second == INT64_MAX)
                return g_strdup("-");
        return g_date_time_format(time, "%Y-%m-%dT%H:%M:%S");
}

/* Of "EXPRESSION for LENGTH", between semicolons. */
static Windows *windows_of(const char *zone, const char *text) {
        g_auto(GStrv) parts = g_strsplit(text, ";", -1);
        Windows *windows = windows_new();

        for (char **part = parts; *part; part++) {
                g_auto(GStrv) both = g_strsplit(*part, " for ", 2);
                g_autofree char *message = NULL;
                usec_t length;

                cr_assert_eq(duration_parse(both[1], &length), 0);
                cr_assert_eq(windows_add(windows, both[0], zone, length, &message), 0, "%s",
                             message);
                cr_assert_null(windows_explain_last(windows));
        }
        return windows;
}

Test(windows, table) {
        static const struct {
                const char *zone, *windows, *at, *expected;
        } cases[] = {
            {"UTC", "Sat 22:00 for 6h", "2026-11-28T21:59:59",
             "shut 2026-11-22T04:00:00 2026-11-28T22:00:00"},
            {"UTC", "Sat 22:00 for 6h", "2026-11-28T22:00:00",
             "open 2026-11-28T22:00:00 2026-11-29T04:00:00"},
            {"UTC", "Sat 22:00 for 6h", "2026-11-29T03:59:59",
             "open 2026-11-28T22:00:00 2026-11-29T04:00:00"},
            {"UTC", "Sat 22:00 for 6h", "2026-11-29T04:00:00",
             "shut 2026-11-29T04:00:00 2026-12-05T22:00:00"},
            /* Any of a list. */
            {"UTC", "Sat 22:00 for 1h;Sun 12:00 for 1h", "2026-11-29T11:00:00",
             "shut 2026-11-28T23:00:00 2026-11-29T12:00:00"},
            /* They overlap, touch each other, and one lies in another. */
            {"UTC", "22:00 for 3h;23:00 for 4h", "2026-11-28T22:30:00",
             "open 2026-11-28T22:00:00 2026-11-29T03:00:00"},
            {"UTC", "22:00 for 3h;23:00 for 4h", "2026-11-29T02:30:00",
             "open 2026-11-28T22:00:00 2026-11-29T03:00:00"},
            {"UTC", "22:00 for 2h;00:00 for 1h", "2026-11-29T00:00:00",
             "open 2026-11-28T22:00:00 2026-11-29T01:00:00"},
            {"UTC", "22:00 for 6h;23:00 for 1h", "2026-11-29T01:00:00",
             "open 2026-11-28T22:00:00 2026-11-29T04:00:00"},
            /* Before the first, and after the last. */
            {"UTC", "2026-12-24 12:00 for 1h", "2026-12-24T11:00:00", "shut - 2026-12-24T12:00:00"},
            {"UTC", "2026-12-24 12:00 for 1h", "2026-12-24T13:00:00", "shut 2026-12-24T13:00:00 -"},
            /* In its zone, or in the one that it names. */
            {"Europe/Berlin", "22:00 for 1h", "2026-11-28T21:00:00",
             "open 2026-11-28T21:00:00 2026-11-28T22:00:00"},
            {"Europe/Berlin", "22:00 UTC for 1h", "2026-11-28T21:00:00",
             "shut 2026-11-27T23:00:00 2026-11-28T22:00:00"},
            /* Six hours are six hours, whatever clocks show at their end. */
            {"Europe/Berlin", "Sat 22:00 for 6h", "2023-03-26T00:30:00",
             "open 2023-03-25T21:00:00 2023-03-26T03:00:00"},
            {"Europe/Berlin", "Sat 22:00 for 6h", "2023-10-29T00:30:00",
             "open 2023-10-28T20:00:00 2023-10-29T02:00:00"},
            /* A beginning that does not exist, and one that comes twice. */
            {"Europe/Berlin", "02:30 for 1h", "2023-03-26T01:00:00",
             "open 2023-03-26T01:00:00 2023-03-26T02:00:00"},
            {"Europe/Berlin", "02:30 for 1h", "2023-10-29T01:30:00",
             "shut 2023-10-29T01:30:00 2023-10-30T01:30:00"},
            {"Europe/Berlin", "*:30 for 10min", "2023-10-29T01:30:00",
             "open 2023-10-29T01:30:00 2023-10-29T01:40:00"},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                _cleanup_(windows_freep) Windows *windows =
                    windows_of(cases[i].zone, cases[i].windows);
                WindowStretch at = windows_at(windows, instant(cases[i].at));
                g_autofree char *from = moment(at.from), *to = moment(at.to),
                                *text = g_strdup_printf("%s %s %s", at.open ? "open" : "shut", from,
                                                        to);

                cr_expect_str_eq(text, cases[i].expected, "%s at %s: %s", cases[i].windows,
                                 cases[i].at, text);
        }
}

/* Each second is in a stretch that has it, all of which is alike, and after which it is the other
 * way; over clocks that change. */
Test(windows, every_second_is_in_one_or_one_follows) {
        static const char *const zones[] = {"UTC", "Europe/Berlin", "Australia/Lord_Howe",
                                            "America/Sao_Paulo"};
        static const char *const windows[] = {
            "22:00 for 6h", "02:30 for 1h;Sun 01:00 for 90min", "*:0/20 for 10min",
            "*:*:00/20 for 10s", "Sat,Sun 12:00 for 13h;*:15 for 15min;Mon 00:30 for 2h"};
        static const char *const from[] = {"2023-03-24T12:00:00", "2023-10-27T12:00:00",
                                           "2018-11-03T00:00:00"};
        const size_t n = G_N_ELEMENTS(zones) * G_N_ELEMENTS(from);

        for (size_t i = 0; i < n * G_N_ELEMENTS(windows); i++) {
                _cleanup_(windows_freep) Windows *these =
                    windows_of(zones[i % G_N_ELEMENTS(zones)], windows[i / n]);
                int64_t at = instant(from[i / G_N_ELEMENTS(zones) % G_N_ELEMENTS(from)]),
                        end = at + INT64_C(4) * 86400;
                WindowStretch stretch = windows_at(these, at);

                for (; at < end; at += 97) {
                        WindowStretch found = windows_at(these, at);

                        if (at < stretch.to) {
                                cr_assert_eq(found.open, stretch.open);
                                cr_assert_eq(found.from, stretch.from);
                                cr_assert_eq(found.to, stretch.to);
                                continue;
                        }
                        cr_assert_eq(windows_at(these, stretch.to).open, !stretch.open);
                        cr_assert_eq(windows_at(these, stretch.to).from, stretch.to);
                        cr_assert_eq(windows_at(these, found.from - 1).to, found.from);
                        cr_assert(found.from <= at && at < found.to);
                        stretch = found;
                }
        }
}

/* As long as they are said to be, in seconds of real time. */
Test(windows, last_for_their_length_over_any_change_of_clocks) {
        _cleanup_(windows_freep) Windows *windows = windows_of("Europe/Berlin", "Sat 22:00 for 6h");
        WindowStretch stretch = windows_at(windows, instant("2023-01-02T00:00:00"));

        for (int i = 0; i < 104; i++) {
                stretch = windows_at(windows, stretch.to);
                cr_assert_eq(stretch.open, i % 2 == 0);
                cr_assert(!stretch.open || stretch.to - stretch.from == INT64_C(6) * 3600);
        }
}

Test(windows, what_always_is_one_comes_to_an_end) {
        _cleanup_(windows_freep) Windows *windows =
            windows_of("UTC", "*:*:00/2 for 1s;*:*:01/2 for 1s");
        int64_t at = instant("2026-11-28T12:00:00");
        WindowStretch stretch = windows_at(windows, at);

        cr_expect(stretch.open && stretch.from <= at - 1000 && stretch.to >= at + 1000);
}

Test(windows, what_is_refused) {
        static const struct {
                const char *expression, *length, *expected;
                int r;
        } cases[] = {
            {"22:00", "0", "must be whole seconds, from 1s to 366d", -ERANGE},
            {"22:00", "1500ms", "must be whole seconds, from 1s to 366d", -ERANGE},
            {"22:00", "367d", "must be whole seconds, from 1s to 366d", -ERANGE},
            {"22:00", "1d",
             "must be shorter than the time between any two beginnings of the window, and from "
             "2025-01-01 22:00:00 to 2025-01-02 22:00:00 UTC that is only 1d",
             -ERANGE},
            {"22:00 Europe/Berlin", "23h",
             "must be shorter than the time between any two beginnings of the window, and from "
             "2025-03-29 21:00:00 to 2025-03-30 20:00:00 UTC that is only 23h",
             -ERANGE},
            {"Sat,Sun 22:00", "25h",
             "must be shorter than the time between any two beginnings of the window, and from "
             "2025-01-04 22:00:00 to 2025-01-05 22:00:00 UTC that is only 1d",
             -ERANGE},
            {"2020-01-01,02 22:00", "1d",
             "must be shorter than the time between any two beginnings of the window, and from "
             "2020-01-01 22:00:00 to 2020-01-02 22:00:00 UTC that is only 1d",
             -ERANGE},
            {"*-02-30", "1h",
             "calendar expression \"*-02-30\": there is no such moment, so the window never "
             "begins, from 1970 to 2199",
             -EINVAL},
            {"often", "1h",
             "calendar expression \"often\": \"often\" is no weekday, date, time or word such as "
             "\"daily\"",
             -EINVAL},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                _cleanup_(schedule_freep) Schedule *schedule = NULL;
                g_autofree char *message = NULL, *before = NULL, *after = NULL;
                usec_t length;

                cr_assert_eq(schedule_new(NULL, &schedule, &message), 0);
                cr_assert_eq(schedule_add_calendar(schedule, "daily", &message), 0);
                before = schedule_to_string(schedule);
                cr_assert_eq(duration_parse(cases[i].length, &length), 0);
                cr_expect_eq(
                    schedule_add_window(schedule, cases[i].expression, "UTC", length, &message),
                    cases[i].r);
                cr_expect_str_eq(message, cases[i].expected, "%s", message);
                after = schedule_to_string(schedule);
                cr_expect_str_eq(after, before);
        }
}

/* Return: newly allocated, days of so many years from 1970 on. */
static char *days_of_years(unsigned years) {
        GString *text = g_string_new("1970");

        for (unsigned i = 1; i < years; i++)
                g_string_append_printf(text, ",%u", 1970 + i);
        g_string_append(text, "-01-01");
        return g_string_free(text, FALSE);
}

/* In the ledger its normal form stands, with its zone. */
Test(windows, are_not_without_size) {
        static const struct {
                const char *zone;
                unsigned years;
                int r;
                const char *expected;
        } cases[] = {
            {"UTC", 198, 0, NULL},
            {"America/Argentina/ComodRivadavia", 198, -E2BIG,
             "its normal form has more than 1024 characters, its time zone included"},
            {"UTC", 205, -E2BIG, "there are at most 32 windows, each of at most 1024 characters"},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                _cleanup_(windows_freep) Windows *windows = windows_new();
                g_autofree char *text = days_of_years(cases[i].years), *message = NULL;

                cr_expect_eq(windows_add(windows, text, cases[i].zone, USEC_PER_HOUR, &message),
                             cases[i].r, "%zu: %s", i, message);
                cr_expect(!cases[i].expected || (message && strstr(message, cases[i].expected)),
                          "%zu: %s", i, message);
        }
}

Test(windows, are_not_without_number) {
        _cleanup_(windows_freep) Windows *windows = windows_new();
        g_autofree char *message = NULL;

        for (unsigned i = 0; i < WINDOWS_MAX; i++)
                cr_assert_eq(windows_add(windows, "daily", "UTC", USEC_PER_HOUR, &message), 0);
        cr_expect_eq(windows_add(windows, "daily", "UTC", USEC_PER_HOUR, &message), -E2BIG);
        cr_expect_str_eq(message, "there are at most 32 windows, each of at most 1024 characters");
}

Test(windows, normal_form_and_back) {
        static const char *const wrong[] = {"daily UTC\nwindow Sat UTC", "daily UTC\nwindow for 1h",
                                            "daily UTC\nwindow Sat UTC for long",
                                            "daily UTC\nwindow Sat UTC for 0"};
        _cleanup_(schedule_freep) Schedule *schedule = NULL, *again = NULL;
        g_autofree char *message = NULL, *text = NULL, *text_again = NULL, *zones = NULL;

        cr_assert_eq(schedule_new("Europe/Berlin", &schedule, &message), 0);
        cr_assert_eq(schedule_add_calendar(schedule, "*:0/10 UTC", &message), 0);
        cr_expect_not(schedule_has_windows(schedule));
        cr_assert_eq(schedule_add_window(schedule, "Sat 22:00", "Europe/Berlin", 6 * USEC_PER_HOUR,
                                         &message),
                     0);
        cr_assert_eq(schedule_add_window(schedule, "Wed 01:30 UTC", "Europe/Berlin",
                                         90 * USEC_PER_MINUTE, &message),
                     0);
        text = schedule_to_string(schedule);
        cr_expect_str_eq(text, "*-*-* *:00/10:00 UTC\n"
                               "window Sat *-*-* 22:00:00 Europe/Berlin for 6h\n"
                               "window Wed *-*-* 01:30:00 UTC for 1h 30min");
        cr_assert_eq(schedule_from_string(text, &again), 0);
        text_again = schedule_to_string(again);
        cr_expect_str_eq(text_again, text);
        cr_expect(schedule_has_windows(again));
        cr_expect(schedule_window(again, instant("2026-11-28T21:00:00")).open);
        /* Nodes whose time zone data differ have not the same. */
        zones = schedule_transitions(schedule, instant("2023-01-01T00:00:00"));
        cr_expect(g_str_has_prefix(zones, "Europe/Berlin +3600\nEurope/Berlin 1679792400 +7200\n"));
        for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
                _cleanup_(schedule_freep) Schedule *none = NULL;

                cr_expect_eq(schedule_from_string(wrong[i], &none), -EINVAL, "%s", wrong[i]);
        }
}

Test(windows, whether_a_tick_is_ever_in_one) {
        static const struct {
                const char *schedule, *window;
                usec_t length, delay;
                bool meets;
        } cases[] = {
            {"02:30", "02:30", USEC_PER_SEC, 0, true},
            {"02:30", "02:31", USEC_PER_HOUR, 0, false},
            {"02:30", "01:30", USEC_PER_HOUR, 0, false}, /* its end is outside */
            {"02:30", "Sat 22:00", 6 * USEC_PER_HOUR, 0, true},
            {"Mon..Fri 02:30", "Sat 22:00", 6 * USEC_PER_HOUR, 0, false},
            {"*:*:*", "2027-01-01", USEC_PER_SEC, 0, true},
            {"2027-01-01", "daily", USEC_PER_SEC, 0, true},
            {"2021-01-01", "daily", USEC_PER_SEC, 0, true},
            {"2027-01-01", "2026-01-01", USEC_PER_HOUR, 0, false},
            {"02:30", "03:00", USEC_PER_HOUR, USEC_PER_HOUR, true},
            {"*:*:15", "*:*:00/20", 10 * USEC_PER_SEC, 0, false},
            {"*-02-29 02:30", "Sat 22:00", 6 * USEC_PER_HOUR, 0, true}, /* in 2032 */
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                _cleanup_(schedule_freep) Schedule *schedule = NULL;
                g_autofree char *message = NULL;

                cr_assert_eq(schedule_new(NULL, &schedule, &message), 0);
                cr_assert_eq(schedule_add_calendar(schedule, cases[i].schedule, &message), 0);
                cr_assert_eq(schedule_set_random_delay(schedule, cases[i].delay, &message), 0);
                cr_expect(schedule_meets_window(schedule, "a"), "without a window all do");
                cr_assert_eq(schedule_add_window(schedule, cases[i].window, "UTC", cases[i].length,
                                                 &message),
                             0);
                cr_expect_eq(schedule_meets_window(schedule, "a"), cases[i].meets, "%s in %s",
                             cases[i].schedule, cases[i].window);
        }
}

static const char *fault_of(const char *expression, const char *zone, const char *length) {
        static char *fault;
        Windows *windows = windows_new();
        g_autofree char *message = NULL;
        usec_t span;

        g_clear_pointer(&fault, g_free);
        cr_assert_eq(duration_parse(length, &span), 0);
        cr_assert_eq(windows_add(windows, expression, zone, span, &message), 0);
        fault = windows_explain_last(windows);
        windows_free(windows);
        return fault;
}

/* Of most windows the times of day tell that they are short enough; of those that are nearly as
 * long as what is between them, the days on which clocks are put forward. */
Test(windows, what_is_nearly_too_long) {
        cr_expect_null(fault_of("22:00", "Europe/Berlin", "21h 59min"));
        cr_expect_null(fault_of("22:00", "Europe/Berlin", "22h 59min 59s"));
        cr_expect_not_null(fault_of("22:00", "Europe/Berlin", "23h"));
        cr_expect_null(fault_of("22:00", "UTC", "23h 59min 59s"));
        cr_expect_not_null(fault_of("22:00", "UTC", "24h"));
        cr_expect_null(fault_of("Mon,Wed 22:00", "Europe/Berlin", "46h"));
        cr_expect_not_null(fault_of("Mon,Tue 22:00", "Europe/Berlin", "1d"));
        cr_expect_not_null(fault_of("00,02,22:00", "UTC", "2h"));
        cr_expect_null(fault_of("00,02,22:00", "UTC", "1h 59min"));
        cr_expect_not_null(fault_of("10:00:05,15", "UTC", "10s"));
        cr_expect_null(fault_of("10:00:05,15", "UTC", "9s"));
        cr_expect_null(fault_of("*:0/15", "Europe/Berlin", "14min 59s"));
        cr_expect_not_null(fault_of("*:0/15", "Europe/Berlin", "15min"));
        cr_expect_null(fault_of("*:00", "Australia/Lord_Howe", "29min"));
        cr_expect_not_null(fault_of("00,23:30", "UTC", "1h"));
        cr_expect_null(fault_of("00,23:30", "UTC", "59min"));
}

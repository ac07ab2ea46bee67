/* What is excepted is no tick: by looking at every second, and in the tables that people would ask
 * about. */
#include "exceptions.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "schedule.h"
#include "work-time.h"

static Schedule *schedule_without(const char *zone, const char *expression,
                                  const char *exceptions) {
        g_auto(GStrv) lines = g_strsplit(exceptions, ";", -1);
        g_autofree char *message = NULL;
        Schedule *schedule = NULL;

        cr_assert_eq(schedule_new(zone, &schedule, &message), 0);
        cr_assert_eq(schedule_add_calendar(schedule, expression, &message), 0, "%s", message);
        for (char **line = lines; *line && **line; line++)
                cr_assert_eq(schedule_add_exception(schedule, *line, zone, &message), 0, "%s",
                             message);
        return schedule;
}

static int64_t instant(const char *text) {
        g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
        g_autoptr(GDateTime) time = g_date_time_new_from_iso8601(text, utc);

        cr_assert_not_null(time, "%s", text);
        return g_date_time_to_unix(time);
}

Test(exceptions, table) {
        static const struct {
                const char *zone, *expression, *exceptions, *after;
                const char *ticks[5];
        } cases[] = {
            {"UTC", "02:00", "", "2026-12-23T12:00:00", {"2026-12-24T02:00:00"}},
            {"UTC",
             "02:00",
             "2026-12-24;*-12-25",
             "2026-12-22T12:00:00",
             {"2026-12-23T02:00:00", "2026-12-26T02:00:00"}},
            {"UTC",
             "02:00",
             "Sat,Sun",
             "2026-12-24T12:00:00",
             {"2026-12-25T02:00:00", "2026-12-28T02:00:00"}},
            {"UTC",
             "*:00",
             "monthly",
             "2026-12-31T22:30:00",
             {"2026-12-31T23:00:00", "2027-01-02T00:00:00"}},
            {"UTC",
             "*:00",
             "*-*-* 02..04:00",
             "2026-12-24T00:30:00",
             {"2026-12-24T01:00:00", "2026-12-24T05:00:00"}},
            {"UTC", "*:0/15", "hourly", "2026-12-24T00:45:00", {"2026-12-24T01:15:00"}},
            /* The day is that of the zone: 23:00 UTC on Saturday is Sunday in Berlin. */
            {"Europe/Berlin",
             "*:00",
             "Sun",
             "2026-12-19T22:30:00",
             {"2026-12-20T23:00:00", "2026-12-21T00:00:00"}},
            {"Europe/Berlin",
             "*:00",
             "Sun UTC",
             "2026-12-19T22:30:00",
             {"2026-12-19T23:00:00", "2026-12-21T00:00:00"}},
            /* On days of 23 and 25 hours. */
            {"Europe/Berlin", "*:00", "2023-03-26", "2023-03-25T22:30:00", {"2023-03-26T22:00:00"}},
            {"Europe/Berlin", "*:00", "2023-10-29", "2023-10-28T21:30:00", {"2023-10-29T23:00:00"}},
            /* What clocks show: both passes, and the end of the gap. */
            {"Europe/Berlin",
             "*:30",
             "02:30",
             "2023-10-28T23:00:00",
             {"2023-10-28T23:30:00", "2023-10-29T02:30:00"}},
            {"Europe/Berlin", "02:30", "03:00", "2023-03-25T12:00:00", {"2023-03-27T00:30:00"}},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                _cleanup_(schedule_freep) Schedule *schedule =
                    schedule_without(cases[i].zone, cases[i].expression, cases[i].exceptions);
                int64_t at = instant(cases[i].after), tick;

                for (size_t j = 0; cases[i].ticks[j]; j++) {
                        cr_assert(schedule_next(schedule, at, &tick));
                        cr_assert_eq(tick, instant(cases[i].ticks[j]), "%zu: %" PRId64 ", not %s",
                                     i, tick, cases[i].ticks[j]);
                        cr_assert(schedule_previous(schedule, tick + 1, &tick));
                        cr_assert_eq(tick, instant(cases[i].ticks[j]), "%zu", i);
                        cr_assert(!schedule_previous(schedule, tick, &tick) || tick <= at);
                        at = instant(cases[i].ticks[j]);
                }
        }
}

/* The stretch that is jumped over is excepted to its ends, whatever the zone does in it. */
Test(exceptions, are_excepted_from_first_to_last) {
        static const char *const zones[] = {"UTC", "Europe/Berlin", "America/Sao_Paulo",
                                            "Australia/Lord_Howe", "Pacific/Apia"};
        static const char *const days[] = {"2023-03-26", "2023-10-29", "2018-02-17",
                                           "2018-11-04", "2024-04-07", "2011-12-31"};
        static const char *const forms[] = {"%s", "%s 01..03:*:*", "%s 2:*:*", "%s 0/2:30:*",
                                            "%s 23:10:0/20"};
        g_autofree char *message = NULL;

        for (size_t i = 0; i < G_N_ELEMENTS(zones) * G_N_ELEMENTS(days); i++) {
                const char *day = days[i / G_N_ELEMENTS(zones)];
                g_autofree char *noon = g_strdup_printf("%sT12:00:00", day);
                int64_t from = instant(noon) - INT64_C(36) * 3600, first = 0, last = 0;

                for (size_t form = 0; form < G_N_ELEMENTS(forms); form++) {
                        _cleanup_(exceptions_freep) Exceptions *exceptions = exceptions_new();
                        g_auto(GStrv) parts = g_strsplit(forms[form], "%s", 2);
                        g_autofree char *expression = g_strjoinv(day, parts);

                        cr_assert_eq(exceptions_add(exceptions, expression,
                                                    zones[i % G_N_ELEMENTS(zones)], &message),
                                     0);
                        for (int64_t at = from; at < from + INT64_C(72) * 3600; at += 290) {
                                int64_t a, b;

                                if (!exceptions_have(exceptions, at, &first, &last))
                                        continue;
                                cr_assert(first <= at && at <= last);
                                cr_assert(exceptions_have(exceptions, first, &a, &b));
                                cr_assert(exceptions_have(exceptions, last, &a, &b));
                                cr_assert(exceptions_have(exceptions, (first + last) / 2, &a, &b));
                        }
                }
        }
}

/* From any tick of the whole to the next, in both directions. */
Test(exceptions, what_is_left_is_the_rest_in_order) {
        static const char *const exceptions[] = {
            "Sun", "*-*-1,15", "02..05:*", "*:15", "Mon 12:00;Tue", "*-03-26;*-10-29;Wed 02:*"};

        for (size_t i = 0; i < G_N_ELEMENTS(exceptions); i++) {
                _cleanup_(schedule_freep) Schedule *whole =
                    schedule_without("Europe/Berlin", "*:0/15", "");
                _cleanup_(schedule_freep) Schedule *rest =
                    schedule_without("Europe/Berlin", "*:0/15", exceptions[i]);
                _cleanup_(exceptions_freep) Exceptions *these = exceptions_new();
                g_auto(GStrv) lines = g_strsplit(exceptions[i], ";", -1);
                int64_t at = instant("2023-03-24T00:00:00"), before = at, first, last, tick, back;
                g_autofree char *message = NULL;

                for (char **line = lines; *line; line++)
                        cr_assert_eq(exceptions_add(these, *line, "Europe/Berlin", &message), 0);
                cr_assert(schedule_next(rest, at, &tick));
                for (int n = 0; n < 2000; n++) {
                        cr_assert(schedule_next(whole, at, &at));
                        if (exceptions_have(these, at, &first, &last))
                                continue;
                        cr_assert_eq(at, tick, "%s", exceptions[i]);
                        cr_assert(!schedule_previous(rest, tick, &back) || back <= before ||
                                  back == before);
                        before = tick;
                        cr_assert(schedule_next(rest, tick, &tick));
                        cr_assert(schedule_previous(rest, tick, &back) && back == before);
                }
        }
}

Test(exceptions, normal_form_and_back) {
        _cleanup_(schedule_freep) Schedule *schedule = schedule_without(
            "Europe/Berlin", "02:30", "Sat,Sun;*-12-24..26;daily UTC;2027-01-01 02:30;*:*:0/2");
        _cleanup_(schedule_freep) Schedule *again = NULL;
        g_autofree char *text = schedule_to_string(schedule), *text_again = NULL;

        cr_expect_str_eq(text, "*-*-* 02:30:00 Europe/Berlin\n"
                               "except Sat,Sun *-*-* Europe/Berlin\n"
                               "except *-12-24..26 Europe/Berlin\n"
                               "except *-*-* UTC\n"
                               "except 2027-01-01 02:30:00 Europe/Berlin\n"
                               "except *-*-* *:*:00/2 Europe/Berlin");
        cr_assert_eq(schedule_from_string(text, &again), 0);
        text_again = schedule_to_string(again);
        cr_expect_str_eq(text_again, text);
}

/* Nodes whose time zone data differ do not except the same. */
Test(exceptions, have_zones_that_change) {
        _cleanup_(schedule_freep) Schedule *schedule =
            schedule_without("UTC", "02:30", "Sun Europe/Berlin");
        g_autofree char *text = schedule_transitions(schedule, instant("2023-01-01T00:00:00"));

        cr_expect(g_str_has_prefix(text, "Europe/Berlin +3600\nEurope/Berlin 1679792400 +7200\n"));
}

Test(exceptions, that_leave_nothing_end_the_search) {
        _cleanup_(schedule_freep) Schedule *schedule = schedule_without("UTC", "*:*:*", "daily");
        usec_t began = work_time();
        int64_t tick;

        cr_expect_not(schedule_next(schedule, 0, &tick));
        cr_expect_not(schedule_previous(schedule, 4000000000, &tick));
        cr_expect_lt(work_time() - began, 2 * USEC_PER_SEC);
}

Test(exceptions, limits) {
        _cleanup_(schedule_freep) Schedule *schedule = schedule_without("UTC", "02:30", "");
        g_autofree char *message = NULL, *text = NULL, *longest = g_strnfill(1025, '0');

        for (int i = 0; i < EXCEPTIONS_MAX; i++)
                cr_assert_eq(schedule_add_exception(schedule, "Sun", "UTC", &message), 0);
        cr_expect_eq(schedule_add_exception(schedule, "Sun", "UTC", &message), -E2BIG);
        g_clear_pointer(&message, g_free);
        schedule_free(schedule);
        schedule = schedule_without("UTC", "02:30", "");
        cr_expect_eq(schedule_add_exception(schedule, longest, "UTC", &message), -E2BIG);
        g_clear_pointer(&message, g_free);
        for (int i = 0; i < EXCEPTIONS_MAX && !message; i++)
                (void)schedule_add_exception(
                    schedule, "Mon,Wed,Fri 2001,2003,2005,2007,2009,2011,2013,2015,2017-*-* 01:00",
                    "America/Argentina/ComodRivadavia", &message);
        cr_assert_not_null(message);
        cr_expect_not_null(strstr(message, "4096 characters"));
        text = schedule_to_string(schedule);
        cr_expect_leq(strlen(text), SCHEDULE_SIZE_MAX);
        cr_expect_null(exceptions_free(NULL));
}

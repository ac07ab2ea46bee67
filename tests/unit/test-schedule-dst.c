/* Daylight saving and other changes of a zone's offset: fixed times are shifted to a gap's end and
 * taken at the first of an overlap, or otherwise where that is said; hourly schedules follow real
 * time. The instants in the tables were worked out by hand from tzdata. */
#include <criterion/criterion.h>
#include <glib.h>
#include <inttypes.h>
#include <string.h>

#include "../random-seed.h"
#include "schedule.h"
#include "timezone.h"

static Schedule *schedule_by(const Dst *dst, const char *expression, const char *zone) {
        g_autofree char *message = NULL;
        Schedule *schedule = NULL;

        cr_assert_eq(schedule_new(zone, &schedule, &message), 0, "%s", zone);
        schedule_set_dst(schedule, dst);
        cr_assert_eq(schedule_add_calendar(schedule, expression, &message), 0, "%s", message);
        return schedule;
}

static Schedule *schedule_of(const char *expression, const char *zone) {
        return schedule_by(&(Dst){0}, expression, zone);
}

static int64_t instant(const char *text) {
        g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
        g_autoptr(GDateTime) time = g_date_time_new_from_iso8601(text, utc);

        cr_assert_not_null(time, "%s", text);
        return g_date_time_to_unix(time);
}

typedef struct Case {
        const char *expression;
        const char *timezone;
        const char *after;    /* UTC */
        const char *ticks[6]; /* UTC; the ones that follow, in order */
        Dst dst;
} Case;

static const Case cases[] = {
    /* Berlin: 2023-03-26 02:00 → 03:00 (01:00 UTC), 2023-10-29 03:00 → 02:00 (01:00 UTC). */
    {"02:30",
     "Europe/Berlin",
     "2023-03-24T12:00:00",
     {"2023-03-25T01:30:00", "2023-03-26T01:00:00", "2023-03-27T00:30:00"}},
    {"02:00",
     "Europe/Berlin",
     "2023-03-25T12:00:00",
     {"2023-03-26T01:00:00", "2023-03-27T00:00:00"}},
    {"02:59:59",
     "Europe/Berlin",
     "2023-03-25T12:00:00",
     {"2023-03-26T01:00:00", "2023-03-27T00:59:59"}},
    {"03:00",
     "Europe/Berlin",
     "2023-03-25T12:00:00",
     {"2023-03-26T01:00:00", "2023-03-27T01:00:00"}},
    {"01:59:59",
     "Europe/Berlin",
     "2023-03-25T12:00:00",
     {"2023-03-26T00:59:59", "2023-03-26T23:59:59"}},
    {"02,03:00",
     "Europe/Berlin",
     "2023-03-25T12:00:00",
     {"2023-03-26T01:00:00", "2023-03-27T00:00:00", "2023-03-27T01:00:00"}},
    {"02:0/15",
     "Europe/Berlin",
     "2023-03-26T00:59:59",
     {"2023-03-26T01:00:00", "2023-03-27T00:00:00"}},
    {"02:30",
     "Europe/Berlin",
     "2023-10-28T12:00:00",
     {"2023-10-29T00:30:00", "2023-10-30T01:30:00"}},
    {"02:00",
     "Europe/Berlin",
     "2023-10-28T12:00:00",
     {"2023-10-29T00:00:00", "2023-10-30T01:00:00"}},
    {"03:00",
     "Europe/Berlin",
     "2023-10-28T12:00:00",
     {"2023-10-29T02:00:00", "2023-10-30T02:00:00"}},
    {"02:0/15",
     "Europe/Berlin",
     "2023-10-29T00:29:59",
     {"2023-10-29T00:30:00", "2023-10-29T00:45:00", "2023-10-30T01:00:00"}},
    {"02:30", "Europe/Berlin", "2023-10-29T01:10:00", {"2023-10-30T01:30:00"}},
    {"Sun *-*~7/1 02:30",
     "Europe/Berlin",
     "2023-02-28T00:00:00",
     {"2023-03-26T01:00:00", "2023-04-30T00:30:00"}},
    {"2023-03-26 02:30", "Europe/Berlin", "2000-01-01T00:00:00", {"2023-03-26T01:00:00"}},
    {"0/2:00",
     "Europe/Berlin",
     "2023-03-25T23:30:00",
     {"2023-03-26T01:00:00", "2023-03-26T02:00:00"}},
    {"hourly",
     "Europe/Berlin",
     "2023-03-25T23:30:00",
     {"2023-03-26T00:00:00", "2023-03-26T01:00:00", "2023-03-26T02:00:00"}},
    {"hourly",
     "Europe/Berlin",
     "2023-10-28T23:30:00",
     {"2023-10-29T00:00:00", "2023-10-29T01:00:00", "2023-10-29T02:00:00", "2023-10-29T03:00:00"}},
    {"*:30",
     "Europe/Berlin",
     "2023-10-28T23:40:00",
     {"2023-10-29T00:30:00", "2023-10-29T01:30:00", "2023-10-29T02:30:00"}},
    {"0..23:30",
     "Europe/Berlin",
     "2023-10-28T23:40:00",
     {"2023-10-29T00:30:00", "2023-10-29T01:30:00"}},
    {"*:0/20",
     "Europe/Berlin",
     "2023-03-26T00:30:00",
     {"2023-03-26T00:40:00", "2023-03-26T01:00:00", "2023-03-26T01:20:00"}},
    {"*-10-29 *:30", "Europe/Berlin", "2022-12-01T00:00:00", {"2023-10-28T22:30:00"}},

    /* New York: 2024-03-10 02:00 → 03:00 (07:00 UTC), 2024-11-03 02:00 → 01:00 (06:00 UTC). */
    {"02:30",
     "America/New_York",
     "2024-03-09T12:00:00",
     {"2024-03-10T07:00:00", "2024-03-11T06:30:00"}},
    {"01:30",
     "America/New_York",
     "2024-11-02T12:00:00",
     {"2024-11-03T05:30:00", "2024-11-04T06:30:00"}},
    {"*:15",
     "America/New_York",
     "2024-11-03T04:30:00",
     {"2024-11-03T05:15:00", "2024-11-03T06:15:00", "2024-11-03T07:15:00"}},

    /* Lord Howe, half an hour: 2023-10-01 02:00 → 02:30 (15:30 UTC the day before), 2024-04-07
       02:00 → 01:30 (15:00 UTC). */
    {"02:15",
     "Australia/Lord_Howe",
     "2023-09-29T16:00:00",
     {"2023-09-30T15:30:00", "2023-10-01T15:15:00"}},
    {"01:45",
     "Australia/Lord_Howe",
     "2024-04-05T16:00:00",
     {"2024-04-06T14:45:00", "2024-04-07T15:15:00"}},
    {"hourly",
     "Australia/Lord_Howe",
     "2023-09-30T14:00:00",
     {"2023-09-30T14:30:00", "2023-09-30T16:00:00", "2023-09-30T17:00:00"}},
    {"*:45",
     "Australia/Lord_Howe",
     "2024-04-06T14:00:00",
     {"2024-04-06T14:45:00", "2024-04-06T15:15:00", "2024-04-06T16:15:00"}},

    /* Apia went without 2011-12-30: at 10:00 UTC it became 2011-12-31 00:00. */
    {"02:30",
     "Pacific/Apia",
     "2011-12-29T00:00:00",
     {"2011-12-29T12:30:00", "2011-12-30T10:00:00", "2011-12-30T12:30:00"}},
    {"*-*-30 12:00",
     "Pacific/Apia",
     "2011-12-01T00:00:00",
     {"2011-12-30T10:00:00", "2012-01-29T22:00:00"}},
    {"Fri 09:00",
     "Pacific/Apia",
     "2011-12-24T00:00:00",
     {"2011-12-30T10:00:00", "2012-01-05T19:00:00"}},
    {"Fri *:00", "Pacific/Apia", "2011-12-25T00:00:00", {"2012-01-05T10:00:00"}},
    {"hourly",
     "Pacific/Apia",
     "2011-12-30T08:30:00",
     {"2011-12-30T09:00:00", "2011-12-30T10:00:00"}},

    /* Casablanca goes back for Ramadan: 2023-03-19 03:00 → 02:00 (02:00 UTC), 2023-04-23 02:00 →
     * 03:00 (02:00 UTC). Its summer is tzdata's "standard" time: the first of an overlap is not the
     * pass with the daylight flag. */
    {"02:30",
     "Africa/Casablanca",
     "2023-03-18T12:00:00",
     {"2023-03-19T01:30:00", "2023-03-20T02:30:00"}},
    {"02:30",
     "Africa/Casablanca",
     "2023-04-22T12:00:00",
     {"2023-04-23T02:00:00", "2023-04-24T01:30:00"}},
    {"*:30",
     "Africa/Casablanca",
     "2023-03-19T01:00:00",
     {"2023-03-19T01:30:00", "2023-03-19T02:30:00", "2023-03-19T03:30:00"}},

    /* Dublin's winter is tzdata's "daylight" time, with a negative offset. */
    {"01:30",
     "Europe/Dublin",
     "2023-10-28T12:00:00",
     {"2023-10-29T00:30:00", "2023-10-30T01:30:00"}},

    /* Kathmandu: +5:45 and no change; on 1986-01-01 00:00 → 00:15 (1985-12-31 18:30 UTC). */
    {"06:00",
     "Asia/Kathmandu",
     "2023-01-01T00:00:00",
     {"2023-01-01T00:15:00", "2023-01-02T00:15:00"}},
    {"daily",
     "Asia/Kathmandu",
     "1985-12-30T20:00:00",
     {"1985-12-31T18:30:00", "1986-01-01T18:15:00"}},

    /* A gap at midnight, and an overlap at midnight that repeats the end of the day before. */
    {"daily",
     "America/Sao_Paulo",
     "2018-11-03T12:00:00",
     {"2018-11-04T03:00:00", "2018-11-05T02:00:00"}},
    {"23:30",
     "America/Sao_Paulo",
     "2018-02-17T12:00:00",
     {"2018-02-18T01:30:00", "2018-02-19T02:30:00"}},
    {"2018-02-17 *:30",
     "America/Sao_Paulo",
     "2018-02-18T00:45:00",
     {"2018-02-18T01:30:00", "2018-02-18T02:30:00"}},

    /* The other ways. */
    {"02:30",
     "Europe/Berlin",
     "2023-03-24T12:00:00",
     {"2023-03-25T01:30:00", "2023-03-27T00:30:00"},
     {.gap = DST_GAP_SKIP}},
    {"02,03:00",
     "Europe/Berlin",
     "2023-03-25T12:00:00",
     {"2023-03-26T01:00:00", "2023-03-27T00:00:00"},
     {.gap = DST_GAP_SKIP}},
    {"02:30",
     "Europe/Berlin",
     "2023-10-28T12:00:00",
     {"2023-10-29T01:30:00", "2023-10-30T01:30:00"},
     {.overlap = DST_OVERLAP_LAST}},
    {"02:30",
     "Europe/Berlin",
     "2023-10-28T12:00:00",
     {"2023-10-29T00:30:00", "2023-10-29T01:30:00", "2023-10-30T01:30:00"},
     {.overlap = DST_OVERLAP_BOTH}},
    {"01,02:30",
     "Europe/Berlin",
     "2023-10-28T12:00:00",
     {"2023-10-28T23:30:00", "2023-10-29T01:30:00", "2023-10-30T00:30:00"},
     {.overlap = DST_OVERLAP_LAST}},
    {"01,02:00",
     "Europe/Berlin",
     "2023-10-28T12:00:00",
     {"2023-10-28T23:00:00", "2023-10-29T00:00:00", "2023-10-29T01:00:00", "2023-10-30T00:00:00"},
     {.overlap = DST_OVERLAP_BOTH}},
    {"01:30",
     "Europe/Dublin",
     "2023-10-28T12:00:00",
     {"2023-10-29T01:30:00", "2023-10-30T01:30:00"},
     {.overlap = DST_OVERLAP_LAST}},
    {"daily",
     "America/Sao_Paulo",
     "2018-11-03T12:00:00",
     {"2018-11-05T02:00:00"},
     {.gap = DST_GAP_SKIP}},
    {"23:30",
     "America/Sao_Paulo",
     "2018-02-17T12:00:00",
     {"2018-02-18T02:30:00", "2018-02-19T02:30:00"},
     {.overlap = DST_OVERLAP_LAST}},
    {"*:30",
     "Europe/Berlin",
     "2023-10-28T23:45:00",
     {"2023-10-29T00:30:00", "2023-10-29T01:30:00", "2023-10-29T02:30:00"},
     {.overlap = DST_OVERLAP_LAST}},
    {"02:30",
     "Europe/Berlin",
     "2060-03-27T12:00:00",
     {"2060-03-29T00:30:00"},
     {.gap = DST_GAP_SKIP}},

    /* Long after the last change that tzdata spells out. */
    {"02:30",
     "Europe/Berlin",
     "2060-03-27T12:00:00",
     {"2060-03-28T01:00:00", "2060-03-29T00:30:00"}},
};

/* The ticks in order, every one found again from behind, and none before the first. */
static void check(const Case *wanted) {
        _cleanup_(schedule_freep) Schedule *schedule =
            schedule_by(&wanted->dst, wanted->expression, wanted->timezone);
        int64_t at = instant(wanted->after), tick;

        for (size_t i = 0; i < G_N_ELEMENTS(wanted->ticks) && wanted->ticks[i]; i++) {
                int64_t expected = instant(wanted->ticks[i]);

                cr_assert(schedule_next(schedule, at, &tick));
                cr_assert_eq(tick, expected, "%s %s: %" PRId64 " follows, wanted %s",
                             wanted->expression, wanted->timezone, tick, wanted->ticks[i]);
                cr_assert(schedule_previous(schedule, tick + 1, &tick));
                cr_assert_eq(tick, expected, "%s %s: %s is not found from behind, but %" PRId64,
                             wanted->expression, wanted->timezone, wanted->ticks[i], tick);
                cr_assert(!schedule_previous(schedule, expected, &tick) || tick <= at);
                at = expected;
        }
}

Test(schedule_dst, table) {
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
                check(&cases[i]);
}

Test(schedule_dst, what_a_gap_swallows_never_elapses) {
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        g_autofree char *message = NULL;

        cr_assert_eq(schedule_new("Pacific/Apia", &schedule, &message), 0);
        cr_assert_lt(schedule_add_calendar(schedule, "2011-12-30 *:00", &message), 0);
        cr_assert_not_null(strstr(message, "never elapses"));
        cr_assert_eq(schedule_add_calendar(schedule, "2011-12-30 09:00", &message), 0);
}

Test(schedule_dst, what_is_skipped_in_every_gap_never_elapses) {
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        g_autofree char *message = NULL;

        cr_assert_eq(schedule_new("Europe/Berlin", &schedule, &message), 0);
        schedule_set_dst(schedule, &(Dst){.gap = DST_GAP_SKIP});
        cr_assert_lt(schedule_add_calendar(schedule, "2023-03-26 02:30", &message), 0);
        cr_assert_not_null(strstr(message, "never elapses"));
        cr_assert_eq(schedule_add_calendar(schedule, "2023..2024-03-26 02:30", &message), 0);
}

/* Only of fixed times in a zone that may change. */
Test(schedule_dst, normal_form_and_back) {
        static const struct {
                Dst dst;
                const char *expression, *zone, *text;
        } forms[] = {
            {{0}, "02:30", "Europe/Berlin", "*-*-* 02:30:00 Europe/Berlin"},
            {{DST_GAP_SKIP, 0}, "02:30", "Europe/Berlin", "*-*-* 02:30:00 Europe/Berlin\ngap skip"},
            {{0, DST_OVERLAP_LAST},
             "02:30",
             "Europe/Berlin",
             "*-*-* 02:30:00 Europe/Berlin\noverlap last"},
            {{DST_GAP_SKIP, DST_OVERLAP_BOTH},
             "02:30",
             "Europe/Berlin",
             "*-*-* 02:30:00 Europe/Berlin\ngap skip\noverlap both"},
            {{DST_GAP_SKIP, DST_OVERLAP_BOTH}, "02:30", "UTC", "*-*-* 02:30:00 UTC"},
            {{DST_GAP_SKIP, 0}, "hourly", "Europe/Berlin", "*-*-* *:00:00 Europe/Berlin"},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(forms); i++) {
                _cleanup_(schedule_freep) Schedule *schedule =
                    schedule_by(&forms[i].dst, forms[i].expression, forms[i].zone);
                _cleanup_(schedule_freep) Schedule *again = NULL;
                g_autofree char *text = schedule_to_string(schedule), *text_again = NULL;

                cr_expect_str_eq(text, forms[i].text);
                cr_assert_eq(schedule_from_string(text, &again), 0);
                text_again = schedule_to_string(again);
                cr_expect_str_eq(text_again, text);
                for (int64_t at = instant("2023-01-01T00:00:00"), tick, other;
                     at < instant("2024-01-01T00:00:00"); at = tick) {
                        cr_assert(schedule_next(schedule, at, &tick) &&
                                  schedule_next(again, at, &other));
                        cr_assert_eq(tick, other);
                }
        }
}

/* From any instant: next grows strictly, previous undoes it, nothing lies between, and an hourly
 * tick has a local time that elapses. */
Test(schedule_dst, next_and_previous_undo_each_other) {
        static const char *const zones[] = {
            "Europe/Berlin",     "America/New_York", "Australia/Lord_Howe",  "Pacific/Apia",
            "Africa/Casablanca", "Asia/Kathmandu",   "America/Sao_Paulo",    "Europe/Dublin",
            "Antarctica/Troll",  "Asia/Tehran",      "America/Scoresbysund", "UTC"};
        static const char *const expressions[] = {
            "02:30",     "*:0/15",           "hourly",        "0:0",
            "1..3:0/10", "*-*~01 23:59:59",  "Sun 2:0",       "*:*:0/20",
            "0/2:30",    "Mon *-02-29 *:30", "*-*-29..31 *:0"};
        guint32 seed = random_seed();
        g_autoptr(GRand) random = g_rand_new_with_seed(seed);

        (void)fflush(stdout); /* a failure ends the process without */
        for (size_t i = 0; i < G_N_ELEMENTS(zones) * G_N_ELEMENTS(expressions); i++) {
                const char *zone = zones[i % G_N_ELEMENTS(zones)];
                const char *expression = expressions[i / G_N_ELEMENTS(zones)];
                const Dst dst = {.gap = (DstGap)g_rand_int_range(random, 0, 2),
                                 .overlap = (DstOverlap)g_rand_int_range(random, 0, 3)};
                _cleanup_(schedule_freep) Schedule *schedule = schedule_by(&dst, expression, zone);
                int64_t at = g_rand_int_range(random, 0, G_MAXINT32), tick, back, last = INT64_MIN;

                for (unsigned step = 0; step < 400; step++) {
                        if (!schedule_next(schedule, at, &tick))
                                break;
                        cr_assert_gt(tick, at, "%s %s after %" PRId64 " (seed %u)", expression,
                                     zone, at, seed);
                        cr_assert(schedule_previous(schedule, tick + 1, &back) && back == tick,
                                  "%s %s at %" PRId64 " (seed %u)", expression, zone, tick, seed);
                        if (schedule_previous(schedule, tick, &back))
                                cr_assert(last == INT64_MIN ? back <= at : back == last,
                                          "%s %s before %" PRId64 ": %" PRId64 " (seed %u)",
                                          expression, zone, tick, back, seed);
                        last = tick;
                        /* Mostly tick by tick, now and then from somewhere before the next one. */
                        at = tick;
                        if (g_rand_int_range(random, 0, 8) == 0 &&
                            schedule_next(schedule, tick, &back))
                                at += (back - tick) / 2;
                }
        }
}

/* The search's answer compared with looking at every second, over days around changes. */
Test(schedule_dst, hourly_is_every_matching_second, .timeout = 60) {
        static const struct {
                const char *zone;
                const char *from;
        } days[] = {{"Europe/Berlin", "2023-10-28T12:00:00"},
                    {"Australia/Lord_Howe", "2024-04-06T06:00:00"},
                    {"Pacific/Apia", "2011-12-29T20:00:00"},
                    {"Africa/Casablanca", "2023-04-22T18:00:00"},
                    {"America/Sao_Paulo", "2018-02-17T12:00:00"}};

        for (size_t i = 0; i < G_N_ELEMENTS(days); i++) {
                _cleanup_(schedule_freep) Schedule *schedule =
                    schedule_of("*:7/13:30", days[i].zone);
                _cleanup_(zone_freep) Zone *zone = zone_new(days[i].zone);
                int64_t from = instant(days[i].from), expected = from;

                for (int64_t at = from + 1; at < from + 86400; at++) {
                        int64_t local = at + zone_span_offset(zone, zone_span(zone, at)), tick;

                        if (local % 60 != 30 || local / 60 % 60 < 7 ||
                            (local / 60 % 60 - 7) % 13 != 0)
                                continue;
                        cr_assert(schedule_next(schedule, expected, &tick));
                        cr_assert_eq(tick, at, "%s", days[i].zone);
                        cr_assert(schedule_previous(schedule, at + 1, &tick));
                        cr_assert_eq(tick, at, "%s", days[i].zone);
                        expected = at;
                }
                cr_assert_gt(expected, from + 86400 - 3600);
        }
}

/* Fixed times: whatever the zone does, one tick for each local day, and a whole year of them. */
Test(schedule_dst, a_fixed_time_comes_once_a_day) {
        for (unsigned hour = 0; hour < 24; hour++) {
                g_autofree char *expression = g_strdup_printf("*-*-* %02u:30", hour);
                _cleanup_(schedule_freep) Schedule *schedule =
                    schedule_of(expression, "Europe/Berlin");

                cr_assert_eq(schedule_count(schedule, instant("2022-12-31T23:00:00"),
                                            instant("2023-12-31T23:00:00"), 1000),
                             365);
        }
}

Test(schedule_dst, transitions_are_listed) {
        _cleanup_(schedule_freep) Schedule *schedule = schedule_of("02:30", "Europe/Berlin");
        g_autofree char *message = NULL, *text = NULL, *plain = NULL;
        _cleanup_(schedule_freep) Schedule *utc = schedule_of("02:30", NULL);

        cr_assert_eq(schedule_add_calendar(schedule, "03:30", &message), 0);
        cr_assert_eq(schedule_add_calendar(schedule, "03:30 Asia/Kathmandu", &message), 0);
        cr_assert_eq(schedule_add_calendar(schedule, "03:30 UTC", &message), 0);
        text = schedule_transitions(schedule, instant("2023-01-01T00:00:00"));
        cr_assert_str_eq(text, "Europe/Berlin +3600\n"
                               "Europe/Berlin 1679792400 +7200\n"
                               "Europe/Berlin 1698541200 +3600\n"
                               "Europe/Berlin 1711846800 +7200\n"
                               "Europe/Berlin 1729990800 +3600\n"
                               "Asia/Kathmandu +20700\n");
        cr_assert_eq(schedule_add_every(utc, USEC_PER_HOUR, &message), 0);
        plain = schedule_transitions(utc, 0);
        cr_assert_str_empty(plain);
}

/* Sparse and hourly at once, over the whole range: no search walks from change to change. */
Test(schedule_dst, far_answers_are_quick, .timeout = 10) {
        _cleanup_(schedule_freep) Schedule *schedule =
            schedule_of("Mon *-02-29 *:0", "Africa/Casablanca");
        int64_t tick;

        for (int64_t at = 0; at < INT64_C(7000000000); at += INT64_C(5000015)) {
                cr_assert(schedule_next(schedule, at, &tick));
                cr_assert(at < 700000000 || schedule_previous(schedule, at, &tick));
        }
}

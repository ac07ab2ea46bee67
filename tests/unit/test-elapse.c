/* Fixed local times around changes of the clocks, each way that dst.h has: as its words say, by
 * looking at every minute of some days, forwards and backwards. */
#include <criterion/criterion.h>
#include <glib.h>
#include <inttypes.h>
#include <string.h>

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

static int64_t instant(const char *text) {
        g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
        g_autoptr(GDateTime) time = g_date_time_new_from_iso8601(text, utc);

        cr_assert_not_null(time, "%s", text);
        return g_date_time_to_unix(time);
}

#define MINUTES_MAX (6 * 1440)

typedef struct Minutes {
        int64_t from;
        int64_t local[MINUTES_MAX];
        bool expected[MINUTES_MAX];
} Minutes;

static void minutes_look(Minutes *minutes, const char *zone_name, int64_t from) {
        _cleanup_(zone_freep) Zone *zone = zone_new(zone_name);

        minutes->from = from;
        for (int i = 0; i < MINUTES_MAX; i++) {
                int64_t at = from + INT64_C(60) * i;

                minutes->local[i] = at + zone_span_offset(zone, zone_span(zone, at));
        }
}

/* Marks what becomes of one local time. */
static void minutes_expect(Minutes *minutes, const Dst *dst, int64_t local) {
        int first = -1, last = -1, reached = -1;

        for (int i = 0; i < MINUTES_MAX; i++) {
                if (minutes->local[i] >= local && reached < 0)
                        reached = i;
                if (minutes->local[i] != local)
                        continue;
                first = first < 0 ? i : first;
                last = i;
        }
        if (first < 0) {
                if (dst->gap == DST_GAP_SHIFT)
                        minutes->expected[reached] = true;
                return;
        }
        if (dst->overlap != DST_OVERLAP_LAST)
                minutes->expected[first] = true;
        if (dst->overlap != DST_OVERLAP_FIRST)
                minutes->expected[last] = true;
}

/* Of the four days in the middle, forwards and backwards. */
static void minutes_compare(const Minutes *minutes, const Schedule *schedule, const char *what) {
        int first = 1440, last = MINUTES_MAX - 1440;
        int64_t tick, at = minutes->from + 60 * (int64_t)(first - 1);

        for (int i = first; i < last; i++) {
                int64_t now = minutes->from + 60 * (int64_t)i;

                if (!minutes->expected[i])
                        continue;
                cr_assert(schedule_next(schedule, at, &tick));
                cr_assert_eq(tick, now, "%s: %" PRId64 " and not %" PRId64 " follows", what, tick,
                             now);
                at = now;
        }
        cr_assert(schedule_next(schedule, at, &tick) && tick >= minutes->from + 60 * (int64_t)last);
        at = minutes->from + 60 * (int64_t)last;
        for (int i = last; i-- > first;) {
                int64_t now = minutes->from + 60 * (int64_t)i;

                if (!minutes->expected[i])
                        continue;
                cr_assert(schedule_previous(schedule, at, &tick));
                cr_assert_eq(tick, now, "%s: %" PRId64 " and not %" PRId64 " comes before", what,
                             tick, now);
                at = now;
        }
}

static void check_around(Minutes *minutes, const char *zone, const Dst *dst, int minute) {
        g_autofree char *expression = g_strdup_printf("*-*-* %02d:%02d", minute / 60, minute % 60),
                        *what = g_strdup_printf("%s in %s (%d %d)", expression, zone, dst->gap,
                                                dst->overlap);
        _cleanup_(schedule_freep) Schedule *schedule = schedule_by(dst, expression, zone);

        memset(minutes->expected, 0, sizeof(minutes->expected));
        for (int day = -1; day < MINUTES_MAX / 1440 + 1; day++) {
                int64_t local = minutes->from + INT64_C(86400) * day + INT64_C(60) * minute;

                if (local > minutes->local[0] && local <= minutes->local[MINUTES_MAX - 1])
                        minutes_expect(minutes, dst, local);
        }
        minutes_compare(minutes, schedule, what);
}

/* Changes forwards and back, by an hour, by half of one, by two, and by a day; negative daylight
 * saving; one that comes twice within some weeks; at midnight. */
Test(elapse, each_way_is_what_its_words_say, .timeout = 60) {
        static const struct {
                const char *zone, *middle;
        } changes[] = {
            {"Europe/Berlin", "2023-03-26T01:00:00"},
            {"Europe/Berlin", "2023-10-29T01:00:00"},
            {"Europe/Dublin", "2023-10-29T01:00:00"},
            {"Australia/Lord_Howe", "2024-04-06T15:00:00"},
            {"Australia/Lord_Howe", "2024-10-05T15:30:00"},
            {"Antarctica/Troll", "2023-03-26T01:00:00"},
            {"Antarctica/Troll", "2023-10-29T01:00:00"},
            {"Pacific/Apia", "2011-12-30T10:00:00"},
            {"Africa/Casablanca", "2023-03-19T02:00:00"},
            {"America/Sao_Paulo", "2018-02-18T02:00:00"},
            {"America/Sao_Paulo", "2018-11-04T03:00:00"},
        };

        Minutes *minutes = g_new0(Minutes, 1);

        for (size_t i = 0; i < G_N_ELEMENTS(changes) * 6; i++) {
                Dst dst = {.gap = (DstGap)(i % 2), .overlap = (DstOverlap)(i / 2 % 3)};
                const char *zone = changes[i / 6].zone;

                if (i % 6 == 0)
                        minutes_look(minutes, zone,
                                     (instant(changes[i / 6].middle) / 86400 - 3) * 86400);
                for (int minute = 0; minute < 1440; minute += minute % 60 ? 35 : 25)
                        check_around(minutes, zone, &dst, minute);
        }
        g_free(minutes);
}

/* Every zone of tzdata, at each change of its offset to 2037: a daily time comes once on each local
 * date that has it, at the end of a gap where it does not exist, and the first time where it exists
 * twice. Between changes a day is a day. */
#include <criterion/criterion.h>
#include <glib.h>
#include <inttypes.h>
#include <string.h>

#include "../random-seed.h"
#include "schedule.h"
#include "timezone.h"

#define TABLE "/usr/share/zoneinfo/tzdata.zi"
#define DAY INT64_C(86400)
#define LAST INT64_C(2145916800) /* 2038-01-01 */
/* Local dates around a change that are looked at, on each side. */
#define SIDE 2

typedef struct Change {
        const char *name;
        const Zone *zone;
        int64_t at, before, after; /* the instant, the offsets */
} Change;

/* Return: the names of all zones; links are the same under other names. */
static char **zone_names(void) {
        g_autofree char *table = NULL;
        g_auto(GStrv) lines = NULL;
        GPtrArray *names = g_ptr_array_new_null_terminated(0, NULL, TRUE);

        cr_assert(g_file_get_contents(TABLE, &table, NULL, NULL));
        lines = g_strsplit(table, "\n", -1);
        for (char **line = lines; *line; line++) {
                g_auto(GStrv) words = g_strsplit(*line, " ", 4);

                if (g_strv_length(words) >= 3 && strcmp(words[0], "Z") == 0)
                        g_ptr_array_add(names, g_strdup(words[1]));
        }
        return (char **)g_ptr_array_free(names, FALSE);
}

static int64_t date_of(int64_t local) {
        return local >= 0 ? local / DAY : -((DAY - 1 - local) / DAY);
}

/* Return: when the time of that date comes, by what a change of the offset is. */
static int64_t expected_at(const Change *change, int64_t date, int64_t time) {
        int64_t local = date * DAY + time;

        if (local < change->at + change->before)
                return local - change->before;
        return MAX(local - change->after, change->at); /* before that: in the gap */
}

static void check_time(const Change *change, int64_t time) {
        g_autofree char *expression = g_strdup_printf("*-*-* %02d:%02d:%02d", (int)(time / 3600),
                                                      (int)(time / 60 % 60), (int)(time % 60));
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        g_autofree char *message = NULL;
        int64_t first = date_of(change->at + MIN(change->before, change->after)) - SIDE,
                last = date_of(change->at + MAX(change->before, change->after)) + SIDE,
                at = expected_at(change, first, time) - 1, tick, back, before = INT64_MIN;

        cr_assert_eq(schedule_new(change->name, &schedule, &message), 0);
        cr_assert_eq(schedule_add_calendar(schedule, expression, &message), 0);
        for (int64_t date = first; date <= last; date++) {
                int64_t expected = expected_at(change, date, time);

                if (expected ==
                    before) /* a date that is left out ends with the first of the next */
                        continue;
                cr_assert(schedule_next(schedule, at, &tick));
                cr_assert_gt(tick, at);
                cr_assert_eq(tick, expected,
                             "%s in %s around %" PRId64 ": %" PRId64 " and not %" PRId64,
                             expression, change->name, change->at, tick, expected);
                cr_assert(schedule_previous(schedule, tick + 1, &back) && back == tick);
                cr_assert(before == INT64_MIN ||
                          (schedule_previous(schedule, tick, &back) && back == before));
                before = at = tick;
        }
}

/* Changes of other names than the offset change nothing; of two within days each would need more
 * words than the test has. Return: whether there is one to look at. */
static bool change_counts(const Change *change) {
        int span = zone_span(change->zone, change->at);

        return change->before != change->after &&
               zone_span(change->zone, change->at - 4 * DAY) >= span - 1 &&
               zone_span(change->zone, change->at + 4 * DAY) == span;
}

/* At any time of the day, and at one that is left out or comes twice. */
static void check_change(const Change *change, GRand *random) {
        int64_t low = change->at + MIN(change->before, change->after),
                high = change->at + MAX(change->before, change->after),
                inside = low + g_rand_int_range(random, 0, (int)(high - low));

        check_time(change, g_rand_int_range(random, 0, (int)DAY));
        check_time(change, inside - date_of(inside) * DAY);
        check_time(change, low - date_of(low) * DAY);
        check_time(change, high - date_of(high) * DAY);
}

static unsigned check_zone(const char *name, GRand *random) {
        _cleanup_(zone_freep) Zone *zone = zone_new(name);
        int64_t at = 10 * DAY;
        int span, last;
        unsigned changes = 0;

        cr_assert_not_null(zone, "%s", name);
        if (zone_is_utc(zone))
                return 0;
        span = zone_span(zone, at);
        last = zone_span(zone, LAST);
        while (span < last) {
                Change change = {.name = name, .zone = zone};

                change.at = zone_span_begin(zone, span + 1, at, LAST);
                change.before = zone_span_offset(zone, span);
                span = zone_span(zone, change.at);
                change.after = zone_span_offset(zone, span);
                at = change.at;
                if (!change_counts(&change))
                        continue;
                changes++;
                check_change(&change, random);
        }
        return changes;
}

Test(schedule_zones, a_daily_time_comes_once_a_day_in_every_zone, .timeout = 120) {
        g_autoptr(GRand) random = g_rand_new_with_seed(random_seed());
        g_auto(GStrv) names = zone_names();
        unsigned changes = 0;

        (void)fflush(stdout); /* a failure ends the process without */
        for (char **name = names; *name; name++)
                changes += check_zone(*name, random);
        cr_assert_gt(g_strv_length(names), 300);
        cr_assert_gt(changes, 10000);
}

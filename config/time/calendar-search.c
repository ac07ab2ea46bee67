/* The neighbours of a local time in a compiled calendar expression.
 *
 * A local time is a day and a second of that day, and the expression is the product of a set of
 * days and a set of seconds of a day. So: if the day itself elapses and has a second left, that is
 * the answer; otherwise it is the nearest day that elapses, at its first or last second. Days are
 * found a month at a time: the wanted days of a month are one AND of two bit sets.
 */
#include "calendar.h"

#include <glib.h>

#define SECONDS_PER_DAY INT64_C(86400)
/* GDate counts days from 1 January of year 1, which is its day 1. */
#define JULIAN_EPOCH INT64_C(719163)
#define DAY_FIRST INT64_C(0)
#define DAY_LAST INT64_C(84005) /* 2199-12-31 */

G_STATIC_ASSERT(SCHEDULE_YEAR_MIN == 1970 && SCHEDULE_YEAR_MAX == 2199);

static bool bit_from(uint64_t bits, unsigned from, unsigned *ret_bit) {
        uint64_t rest = from > 63 ? 0 : bits & (UINT64_MAX << from);

        if (rest == 0)
                return false;
        *ret_bit = (unsigned)__builtin_ctzll(rest);
        return true;
}

static bool bit_up_to(uint64_t bits, unsigned to, unsigned *ret_bit) {
        uint64_t rest = to > 62 ? bits : bits & ((UINT64_C(1) << (to + 1)) - 1);

        if (rest == 0)
                return false;
        *ret_bit = 63 - (unsigned)__builtin_clzll(rest);
        return true;
}

static bool bit_is_set(uint64_t bits, unsigned bit) {
        return bits >> bit & 1;
}

static unsigned lowest(uint64_t bits) {
        return (unsigned)__builtin_ctzll(bits);
}

static unsigned highest(uint64_t bits) {
        return 63 - (unsigned)__builtin_clzll(bits);
}

static unsigned second_of_day(unsigned hour, unsigned minute, unsigned second) {
        return (hour * 60 + minute) * 60 + second;
}

/* The first second of the day that elapses at or after `from`. */
static bool time_from(const Calendar *calendar, unsigned from, unsigned *ret_time) {
        unsigned hour = from / 3600, minute = from / 60 % 60, second = from % 60;

        if (bit_is_set(calendar->hours, hour)) {
                unsigned later;

                if (bit_is_set(calendar->minutes, minute) &&
                    bit_from(calendar->seconds, second, &later)) {
                        *ret_time = second_of_day(hour, minute, later);
                        return true;
                }
                if (bit_from(calendar->minutes, minute + 1, &later)) {
                        *ret_time = second_of_day(hour, later, lowest(calendar->seconds));
                        return true;
                }
        }
        if (!bit_from(calendar->hours, hour + 1, &hour))
                return false;
        *ret_time = second_of_day(hour, lowest(calendar->minutes), lowest(calendar->seconds));
        return true;
}

/* The last second of the day that elapses at or before `to`. */
static bool time_up_to(const Calendar *calendar, unsigned to, unsigned *ret_time) {
        unsigned hour = to / 3600, minute = to / 60 % 60, second = to % 60;

        if (bit_is_set(calendar->hours, hour)) {
                unsigned earlier;

                if (bit_is_set(calendar->minutes, minute) &&
                    bit_up_to(calendar->seconds, second, &earlier)) {
                        *ret_time = second_of_day(hour, minute, earlier);
                        return true;
                }
                if (minute > 0 && bit_up_to(calendar->minutes, minute - 1, &earlier)) {
                        *ret_time = second_of_day(hour, earlier, highest(calendar->seconds));
                        return true;
                }
        }
        if (hour == 0 || !bit_up_to(calendar->hours, hour - 1, &hour))
                return false;
        *ret_time = second_of_day(hour, highest(calendar->minutes), highest(calendar->seconds));
        return true;
}

/* The days of a month that elapse, as bits. */
static uint64_t days_of_month(const Calendar *calendar, unsigned year, unsigned month) {
        unsigned length;
        GDate first;

        if (!calendar->years[year - SCHEDULE_YEAR_MIN] || !bit_is_set(calendar->months, month))
                return 0;
        g_date_clear(&first, 1);
        g_date_set_dmy(&first, 1, (GDateMonth)month, (GDateYear)year);
        length = g_date_get_days_in_month((GDateMonth)month, (GDateYear)year);
        return calendar->days[length - CALENDAR_MONTH_LENGTH_MIN] &
               calendar->weekdays[g_date_get_weekday(&first) - G_DATE_MONDAY];
}

static GDate date_of_day(int64_t day) {
        GDate date;

        g_date_clear(&date, 1);
        g_date_set_julian(&date, (guint32)(day + JULIAN_EPOCH));
        return date;
}

static int64_t day_of_date(unsigned year, unsigned month, unsigned day) {
        GDate date;

        g_date_clear(&date, 1);
        g_date_set_dmy(&date, (GDateDay)day, (GDateMonth)month, (GDateYear)year);
        return (int64_t)g_date_get_julian(&date) - JULIAN_EPOCH;
}

/* The first day that elapses at or after `from`. */
static bool day_from(const Calendar *calendar, int64_t from, int64_t *ret_day) {
        GDate date;
        unsigned month, day;

        if (from > DAY_LAST)
                return false;
        date = date_of_day(MAX(from, DAY_FIRST));
        month = g_date_get_month(&date);
        day = g_date_get_day(&date);
        for (unsigned year = g_date_get_year(&date); year <= SCHEDULE_YEAR_MAX; year++) {
                for (; month <= 12; month++) {
                        if (bit_from(days_of_month(calendar, year, month), day, &day)) {
                                *ret_day = day_of_date(year, month, day);
                                return true;
                        }
                        day = 1;
                }
                month = 1;
        }
        return false;
}

/* The last day that elapses at or before `to`. */
static bool day_up_to(const Calendar *calendar, int64_t to, int64_t *ret_day) {
        GDate date;
        unsigned month, day;

        if (to < DAY_FIRST)
                return false;
        date = date_of_day(MIN(to, DAY_LAST));
        month = g_date_get_month(&date);
        day = g_date_get_day(&date);
        for (unsigned year = g_date_get_year(&date); year >= SCHEDULE_YEAR_MIN; year--) {
                for (; month >= 1; month--) {
                        if (bit_up_to(days_of_month(calendar, year, month), day, &day)) {
                                *ret_day = day_of_date(year, month, day);
                                return true;
                        }
                        day = 31;
                }
                month = 12;
        }
        return false;
}

/* The day of a local time; division rounds towards the past. */
static int64_t day_of(int64_t local) {
        return local >= 0 ? local / SECONDS_PER_DAY
                          : -((SECONDS_PER_DAY - 1 - local) / SECONDS_PER_DAY);
}

bool calendar_next(const Calendar *calendar, int64_t after, int64_t *ret_local) {
        int64_t day = day_of(after + 1), elapsing;
        unsigned time;

        if (!day_from(calendar, day, &elapsing))
                return false;
        if (elapsing == day) {
                if (time_from(calendar, (unsigned)(after + 1 - day * SECONDS_PER_DAY), &time)) {
                        *ret_local = day * SECONDS_PER_DAY + time;
                        return true;
                }
                if (!day_from(calendar, day + 1, &elapsing))
                        return false;
        }
        *ret_local = elapsing * SECONDS_PER_DAY + second_of_day(lowest(calendar->hours),
                                                                lowest(calendar->minutes),
                                                                lowest(calendar->seconds));
        return true;
}

bool calendar_previous(const Calendar *calendar, int64_t before, int64_t *ret_local) {
        int64_t day = day_of(before - 1), elapsing;
        unsigned time;

        if (!day_up_to(calendar, day, &elapsing))
                return false;
        if (elapsing == day) {
                if (time_up_to(calendar, (unsigned)(before - 1 - day * SECONDS_PER_DAY), &time)) {
                        *ret_local = day * SECONDS_PER_DAY + time;
                        return true;
                }
                if (!day_up_to(calendar, day - 1, &elapsing))
                        return false;
        }
        *ret_local = elapsing * SECONDS_PER_DAY + second_of_day(highest(calendar->hours),
                                                                highest(calendar->minutes),
                                                                highest(calendar->seconds));
        return true;
}

/* A calendar expression, compiled: the set of local times at which it elapses. No time zone is
 * looked at here (elapse.h does): a "local time" is a count of seconds since 1970-01-01 00:00:00 on
 * a wall clock that is never put forward or back.
 *
 * calendar-parse.h reads systemd's grammar; calendar-search.c finds neighbours. Every field is a
 * set of bits, so that the search looks at no second that it does not return: it goes over months
 * at most, and there are few of those up to SCHEDULE_YEAR_MAX.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cleanup.h"
#include "schedule-years.h"

#define CALENDAR_MONTH_LENGTH_MIN 28

typedef struct Calendar {
        char *text;     /* normal form, without the zone */
        char *timezone; /* the one that the expression names; NULL: none */
        bool years[SCHEDULE_YEAR_MAX - SCHEDULE_YEAR_MIN + 1];
        uint64_t months;      /* bit 1 is January */
        uint64_t days[4];     /* bit N is day N, in a month of 28, 29, 30, 31 days */
        uint64_t weekdays[7]; /* the days that fall on a wanted weekday, in a month that begins on a
                                 Monday, ... Sunday */
        uint64_t hours;
        uint64_t minutes;
        uint64_t seconds;
} Calendar;

/* Return: 0; -EINVAL with a newly allocated sentence fragment in *ret_message (g_free). An
 * expression without any elapse (30 February) is read without complaint. */
int calendar_parse(const char *text, Calendar **ret_calendar, char **ret_message);
Calendar *calendar_free(Calendar *calendar);
DEFINE_CLEANUP(Calendar, calendar_free);

/* Return: whether it elapses in every hour of its days, be that written `*`, "0/1" or "0..23". */
bool calendar_is_hourly(const Calendar *calendar);

/* The first local time after, and the last before, a local time (both exclusive). Return: false
 * when there is none. */
bool calendar_next(const Calendar *calendar, int64_t after, int64_t *ret_local);
bool calendar_previous(const Calendar *calendar, int64_t before, int64_t *ret_local);

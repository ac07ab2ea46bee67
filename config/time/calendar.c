/* A calendar expression from its fields: judged against the limits of each place, written in normal
 * form, and compiled to bit sets. */
#include "calendar.h"

#include <errno.h>
#include <glib.h>

#include "calendar-parse.h"

/* Two digits are a year of 1970 to 2069. */
static void widen_years(CalendarField *field) {
        for (guint i = 0; field->ranges && i < field->ranges->len; i++) {
                CalendarRange *range = &g_array_index(field->ranges, CalendarRange, i);
                int *years[] = {&range->start, &range->stop};

                for (size_t j = 0; j < G_N_ELEMENTS(years); j++)
                        if (*years[j] >= 0 && *years[j] < 100)
                                *years[j] += *years[j] < 70 ? 2000 : 1900;
        }
}

/* Normalizes all fields, then judges them: a fault of any refuses the expression. */
static int judge(CalendarFields *fields, char **ret_message) {
        const struct {
                CalendarField *field;
                CalendarLimits limits;
        } places[] = {
            {&fields->year, {"year", SCHEDULE_YEAR_MIN, SCHEDULE_YEAR_MAX, false}},
            {&fields->month, {"month", 1, 12, false}},
            {&fields->day,
             {"day", 1, fields->from_end ? CALENDAR_MONTH_LENGTH_MIN : 31, fields->from_end}},
            {&fields->hour, {"hour", 0, 23, false}},
            {&fields->minute, {"minute", 0, 59, false}},
            {&fields->second, {"second", 0, 59, false}},
        };

        widen_years(&fields->year);
        for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
                char *fault;

                calendar_field_normalize(places[i].field);
                fault = calendar_field_fault(places[i].field, &places[i].limits);
                if (fault) {
                        *ret_message = fault;
                        return -EINVAL;
                }
        }
        return 0;
}

static void format_weekdays(unsigned weekdays, GString *text) {
        const char *separator = "";

        for (int day = 0; day < 7; day++) {
                int last = day;

                if (!(weekdays >> day & 1))
                        continue;
                while (last < 6 && weekdays >> (last + 1) & 1)
                        last++;
                g_string_append_printf(text, "%s%.3s", separator, calendar_weekday_names[day]);
                if (last > day)
                        g_string_append_printf(text, "%s%.3s", last > day + 1 ? ".." : ",",
                                               calendar_weekday_names[last]);
                separator = ",";
                day = last;
        }
        if (weekdays)
                g_string_append_c(text, ' ');
}

static char *format(const CalendarFields *fields) {
        GString *text = g_string_new(NULL);

        format_weekdays(fields->weekdays, text);
        calendar_field_format(&fields->year, 4, false, text);
        g_string_append_c(text, '-');
        calendar_field_format(&fields->month, 2, false, text);
        g_string_append_c(text, fields->from_end && fields->day.ranges ? '~' : '-');
        calendar_field_format(&fields->day, 2, false, text);
        g_string_append_c(text, ' ');
        calendar_field_format(&fields->hour, 2, false, text);
        g_string_append_c(text, ':');
        calendar_field_format(&fields->minute, 2, false, text);
        g_string_append_c(text, ':');
        calendar_field_format(&fields->second, 2, true, text);
        return g_string_free(text, FALSE);
}

static uint64_t bits_of(const CalendarField *field, int min, int max) {
        uint64_t bits = 0;

        for (int value = min; value <= max; value++)
                if (calendar_field_has(field, value))
                        bits |= UINT64_C(1) << value;
        return bits;
}

static uint64_t day_bits(const CalendarFields *fields, int length) {
        uint64_t bits = 0;

        if (!fields->from_end)
                return bits_of(&fields->day, 1, length);
        for (int day = 1; day <= length; day++)
                if (calendar_field_has_from_end(&fields->day, day, length))
                        bits |= UINT64_C(1) << day;
        return bits;
}

/* The days that fall on a wanted weekday in a month whose first day is a `first` (0: Monday). */
static uint64_t weekday_bits(unsigned weekdays, int first) {
        uint64_t bits = 0;

        for (int day = 1; day <= 31; day++)
                if (weekdays == 0 || weekdays >> (first + day - 1) % 7 & 1)
                        bits |= UINT64_C(1) << day;
        return bits;
}

static Calendar *compile(const CalendarFields *fields) {
        Calendar *calendar = g_new0(Calendar, 1);

        calendar->text = format(fields);
        calendar->timezone = g_strdup(fields->timezone);
        for (int year = SCHEDULE_YEAR_MIN; year <= SCHEDULE_YEAR_MAX; year++)
                calendar->years[year - SCHEDULE_YEAR_MIN] = calendar_field_has(&fields->year, year);
        calendar->months = bits_of(&fields->month, 1, 12);
        for (size_t i = 0; i < G_N_ELEMENTS(calendar->days); i++)
                calendar->days[i] = day_bits(fields, CALENDAR_MONTH_LENGTH_MIN + (int)i);
        for (int first = 0; first < 7; first++)
                calendar->weekdays[first] = weekday_bits(fields->weekdays, first);
        calendar->hours = bits_of(&fields->hour, 0, 23);
        calendar->minutes = bits_of(&fields->minute, 0, 59);
        calendar->seconds = bits_of(&fields->second, 0, 59);
        return calendar;
}

int calendar_parse(const char *text, Calendar **ret_calendar, char **ret_message) {
        __attribute__((cleanup(calendar_fields_clear))) CalendarFields fields;
        int r;

        r = calendar_fields_parse(text, &fields, ret_message);
        if (r < 0)
                return r;
        r = judge(&fields, ret_message);
        if (r < 0)
                return r;
        *ret_calendar = compile(&fields);
        return 0;
}

Calendar *calendar_free(Calendar *calendar) {
        if (!calendar)
                return NULL;
        g_free(calendar->text);
        g_free(calendar->timezone);
        g_free(calendar);
        return NULL;
}

bool calendar_is_hourly(const Calendar *calendar) {
        return calendar->hours == (UINT64_C(1) << 24) - 1;
}

/* The grammar of systemd's calendar expressions, from text to fields.
 *
 *     [WEEKDAYS] [[YEAR-]MONTH-DAY] [HOUR:MINUTE[:SECOND]] [ZONE]   at least one of the first three
 *     [WEEKDAYS] @SECONDS                 an instant since the epoch, always UTC
 *     minutely, hourly, ... [ZONE]        read as the longer expression they stand for
 *
 * `~` in place of the last `-` of a date counts days from the end of the month. What systemd
 * refuses is refused here too; beyond that we refuse what cannot mean the same on every node or is
 * of no use here: parts of a second, zones that tzdata does not list
 * ("localtime", "posix/..."), signs and spaces behind the "@".
 */
#include "calendar-parse.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "schedule-years.h"
#include "timezone.h"

#define ALL_WEEKDAYS 0x7fU

const char *const calendar_weekday_names[7] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                               "Friday", "Saturday", "Sunday"};

static int refuse(char **ret_message, const char *format, ...) G_GNUC_PRINTF(2, 3);

static int refuse(char **ret_message, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        *ret_message = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        return -EINVAL;
}

/* Return: the weekday whose full or short name *text begins with, moving *text behind it; -1 when
 * it is none. */
static int skip_weekday_name(const char **text) {
        for (int day = 0; day < 7; day++) {
                size_t length = strlen(calendar_weekday_names[day]);

                if (g_ascii_strncasecmp(*text, calendar_weekday_names[day], length) != 0)
                        length = 3;
                if (g_ascii_strncasecmp(*text, calendar_weekday_names[day], length) != 0)
                        continue;
                *text += length;
                return day;
        }
        return -1;
}

/* Reads one weekday or one range ("Mon..Fri", of old also "Mon-Fri") and adds its days. */
static int parse_weekday_range(const char **text, unsigned *weekdays, char **ret_message) {
        const char *at = *text;
        int first = skip_weekday_name(&at), last = first;

        if (first < 0)
                return refuse(ret_message, "a weekday is missing at \"%.20s\"", at);
        if (*at == '-' || g_str_has_prefix(at, "..")) {
                at += *at == '-' ? 1 : 2;
                last = skip_weekday_name(&at);
                if (last < 0)
                        return refuse(ret_message, "a weekday is missing after \"%.*s\"",
                                      (int)(at - *text), *text);
                if (last < first)
                        return refuse(ret_message,
                                      "the weekday range %.3s..%.3s runs backwards: a week "
                                      "begins on Monday",
                                      calendar_weekday_names[first], calendar_weekday_names[last]);
        }
        for (int day = first; day <= last; day++)
                *weekdays |= 1U << day;
        *text = at;
        return 0;
}

/* A list of weekdays, if there is one; a comma may trail it. Leaves *text at what follows. */
static int parse_weekdays(const char **text, unsigned *ret_weekdays, char **ret_message) {
        const char *at = *text, *probe = *text;
        unsigned weekdays = 0;

        if (skip_weekday_name(&probe) < 0)
                return 0;
        do {
                int r = parse_weekday_range(&at, &weekdays, ret_message);

                if (r < 0)
                        return r;
                if (*at && *at != ' ' && *at != ',')
                        return refuse(ret_message, "unexpected text at \"%.20s\"", at);
                if (*at == ',')
                        at++;
        } while (*at && *at != ' ');
        *text = at + strspn(at, " ");
        *ret_weekdays = weekdays == ALL_WEEKDAYS ? 0 : weekdays;
        return 0;
}

/* The separator in front of a day, which may be `~`. */
static int parse_day_separator(const char **text, CalendarFields *fields, char **ret_message) {
        if (**text != '-' && **text != '~')
                return refuse(ret_message, "\"-\" or \":\" is missing at \"%.20s\"", *text);
        fields->from_end = **text == '~';
        (*text)++;
        return 0;
}

/* MONTH-DAY or YEAR-MONTH-DAY, if there is a date. A first field that ":" or the end follows is a
 * time and is left unread. */
static int parse_date(const char **text, CalendarFields *fields, char **ret_message) {
        const char *at = *text;
        int r;

        if (*at == 0)
                return 0;
        r = calendar_field_parse(&at, false, &fields->month, ret_message);
        if (r < 0)
                return r;
        if (*at == 0 || *at == ':') {
                calendar_field_clear(&fields->month);
                return 0;
        }
        r = parse_day_separator(&at, fields, ret_message);
        if (r < 0)
                return r;
        r = calendar_field_parse(&at, false, &fields->day, ret_message);
        if (r < 0)
                return r;
        if (*at && *at != ' ') {
                if (fields->from_end)
                        return refuse(ret_message, "\"~\" can only stand in front of the day");
                fields->year = fields->month;
                fields->month = fields->day;
                fields->day.ranges = NULL;
                r = parse_day_separator(&at, fields, ret_message);
                if (r < 0)
                        return r;
                r = calendar_field_parse(&at, false, &fields->day, ret_message);
                if (r < 0)
                        return r;
                if (*at && *at != ' ')
                        return refuse(ret_message, "unexpected text at \"%.20s\"", at);
        }
        *text = at + strspn(at, " ");
        return 0;
}

static void field_set(CalendarField *field, int value) {
        CalendarRange range = {.start = value, .stop = -1};

        field->ranges = g_array_new(FALSE, FALSE, sizeof range);
        g_array_append_val(field->ranges, range);
}

/* HOUR:MINUTE[:SECOND]; no time at all means midnight. */
static int parse_time(const char **text, CalendarFields *fields, char **ret_message) {
        const char *at = *text;
        int r;

        if (*at == 0) {
                field_set(&fields->hour, 0);
                field_set(&fields->minute, 0);
                field_set(&fields->second, 0);
                return 0;
        }
        r = calendar_field_parse(&at, false, &fields->hour, ret_message);
        if (r < 0)
                return r;
        if (*at != ':')
                return refuse(ret_message, "a time is HOUR:MINUTE or HOUR:MINUTE:SECOND");
        at++;
        r = calendar_field_parse(&at, false, &fields->minute, ret_message);
        if (r < 0)
                return r;
        if (*at == ':') {
                at++;
                r = calendar_field_parse(&at, true, &fields->second, ret_message);
                if (r < 0)
                        return r;
        } else {
                field_set(&fields->second, 0);
        }
        if (*at)
                return refuse(ret_message, "unexpected text at \"%.20s\"", at);
        *text = at;
        return 0;
}

/* @SECONDS, as the date and time that it is in UTC. */
static int parse_epoch(const char *text, CalendarFields *fields, char **ret_message) {
        g_autoptr(GDateTime) instant = NULL;
        guint64 seconds;

        if (!g_ascii_string_to_unsigned(text + 1, 10, 0, SCHEDULE_TICK_MAX, &seconds, NULL))
                return refuse(ret_message,
                              "\"@\" takes the whole seconds since the epoch, up to the year %d",
                              SCHEDULE_YEAR_MAX);
        instant = g_date_time_new_from_unix_utc((gint64)seconds);
        field_set(&fields->year, g_date_time_get_year(instant));
        field_set(&fields->month, g_date_time_get_month(instant));
        field_set(&fields->day, g_date_time_get_day_of_month(instant));
        field_set(&fields->hour, g_date_time_get_hour(instant));
        field_set(&fields->minute, g_date_time_get_minute(instant));
        field_set(&fields->second, g_date_time_get_second(instant));
        g_free(fields->timezone);
        fields->timezone = g_strdup("UTC");
        return 0;
}

static const char *expand_shorthand(const char *text) {
        static const struct {
                const char *name;
                const char *expression;
        } shorthands[] = {
            {"minutely", "*-*-* *:*:00"},
            {"hourly", "*-*-* *:00:00"},
            {"daily", "*-*-* 00:00:00"},
            {"weekly", "Mon *-*-* 00:00:00"},
            {"monthly", "*-*-01 00:00:00"},
            {"quarterly", "*-01,04,07,10-01 00:00:00"},
            {"semiannually", "*-01,07-01 00:00:00"},
            {"semi-annually", "*-01,07-01 00:00:00"},
            {"biannually", "*-01,07-01 00:00:00"},
            {"bi-annually", "*-01,07-01 00:00:00"},
            {"yearly", "*-01-01 00:00:00"},
            {"annually", "*-01-01 00:00:00"},
            {"anually", "*-01-01 00:00:00"}, /* a misspelling that systemd once documented */
        };

        for (size_t i = 0; i < G_N_ELEMENTS(shorthands); i++)
                if (g_ascii_strcasecmp(text, shorthands[i].name) == 0)
                        return shorthands[i].expression;
        return text;
}

/* Cuts a zone off the end of `text`. No other word of an expression but the first begins with a
 * letter, so that a last word that does and is no zone is a mistaken one. */
static int split_timezone(char *text, char **ret_timezone, char **ret_message) {
        char *space = strrchr(text, ' ');

        if (!space || !g_ascii_isalpha(space[1]))
                return 0;
        if (g_ascii_strcasecmp(space + 1, "UTC") == 0)
                *ret_timezone = g_strdup("UTC");
        else if (timezone_is_valid(space + 1))
                *ret_timezone = g_strdup(space + 1);
        else
                return refuse(ret_message, "tzdata lists no time zone \"%.64s\"", space + 1);
        *space = 0;
        return 0;
}

static int parse_fields(const char *text, CalendarFields *fields, char **ret_message) {
        const char *at = expand_shorthand(text);
        int r;

        if (*at == 0)
                return refuse(ret_message, "it is empty");
        r = parse_weekdays(&at, &fields->weekdays, ret_message);
        if (r < 0)
                return r;
        if (*at == '@')
                return parse_epoch(at, fields, ret_message);
        if (g_ascii_isalpha(*at))
                return refuse(ret_message,
                              "\"%.20s\" is no weekday, date, time or word such as \"daily\"", at);
        r = parse_date(&at, fields, ret_message);
        if (r < 0)
                return r;
        return parse_time(&at, fields, ret_message);
}

int calendar_fields_parse(const char *text, CalendarFields *ret_fields, char **ret_message) {
        g_autofree char *expression = g_strdup(text);
        int r;

        *ret_fields = (CalendarFields){0};
        r = split_timezone(expression, &ret_fields->timezone, ret_message);
        if (r < 0)
                return r;
        return parse_fields(expression, ret_fields, ret_message);
}

void calendar_fields_clear(CalendarFields *fields) {
        calendar_field_clear(&fields->year);
        calendar_field_clear(&fields->month);
        calendar_field_clear(&fields->day);
        calendar_field_clear(&fields->hour);
        calendar_field_clear(&fields->minute);
        calendar_field_clear(&fields->second);
        g_clear_pointer(&fields->timezone, g_free);
}

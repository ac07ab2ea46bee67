/* See exceptions.h. */
#include "exceptions.h"

#include <errno.h>
#include <string.h>

#include "calendar.h"
#include "cron-hint.h"
#include "schedule-years.h"
#include "timezone.h"

#define TEXT_MAX 1024
#define MIDNIGHT " 00:00:00"
#define ALL(n) ((UINT64_C(1) << (n)) - 1)

typedef struct Exception {
        Calendar *calendar;
        Zone *zone;
        int64_t unit; /* seconds: it has all of such a stretch of local time, or none */
} Exception;

struct Exceptions {
        GPtrArray *items;
};

static void exception_free(void *data) {
        Exception *exception = data;

        calendar_free(exception->calendar);
        zone_free(exception->zone);
        g_free(exception);
}

Exceptions *exceptions_new(void) {
        Exceptions *exceptions = g_new0(Exceptions, 1);

        exceptions->items = g_ptr_array_new_with_free_func(exception_free);
        return exceptions;
}

Exceptions *exceptions_free(Exceptions *exceptions) {
        if (!exceptions)
                return NULL;
        g_ptr_array_unref(exceptions->items);
        g_free(exceptions);
        return NULL;
}

/* ---- reading ---- */

/* "daily" and the like have no time of day, either; "hourly" has many. */
static bool exception_is_of_days(const char *expression, const Calendar *calendar) {
        return !strchr(expression, ':') && calendar->hours == 1 && calendar->minutes == 1 &&
               calendar->seconds == 1;
}

static void exception_take_days(Calendar *calendar) {
        calendar->text[strlen(calendar->text) - strlen(MIDNIGHT)] = '\0';
        calendar->hours = ALL(24);
        calendar->minutes = ALL(60);
        calendar->seconds = ALL(60);
}

static int64_t exception_unit(const Calendar *calendar) {
        if (calendar->seconds != ALL(60))
                return 1;
        if (calendar->minutes != ALL(60))
                return 60;
        return calendar->hours != ALL(24) ? 3600 : 86400;
}

static int exception_parse(Exception *exception, const char *expression, const char *zone,
                           char **ret_message) {
        int64_t local;
        int r = calendar_parse(expression, &exception->calendar, ret_message);

        if (r < 0)
                return r;
        if (exception->calendar->timezone)
                zone = exception->calendar->timezone;
        exception->zone = zone_new(zone);
        if (!exception->zone) {
                *ret_message = g_strdup_printf("time zone \"%s\" cannot be read", zone);
                return -EINVAL;
        }
        if (!calendar_next(exception->calendar, -1, &local)) {
                *ret_message = g_strdup_printf(
                    "there is no such moment, so nothing is excepted, from %d to %d",
                    SCHEDULE_YEAR_MIN, SCHEDULE_YEAR_MAX);
                return -EINVAL;
        }
        if (exception_is_of_days(expression, exception->calendar))
                exception_take_days(exception->calendar);
        exception->unit = exception_unit(exception->calendar);
        return 0;
}

int exceptions_add(Exceptions *exceptions, const char *expression, const char *zone,
                   char **ret_message) {
        g_autofree char *general = NULL;
        Exception *exception;
        int r;

        if (exceptions->items->len >= EXCEPTIONS_MAX || strlen(expression) > TEXT_MAX) {
                *ret_message =
                    g_strdup_printf("there are at most %d exceptions, each of at most %d "
                                    "characters",
                                    EXCEPTIONS_MAX, TEXT_MAX);
                return -E2BIG;
        }
        exception = g_new0(Exception, 1);
        r = exception_parse(exception, expression, zone, &general);
        if (r < 0) {
                g_autofree char *cron = NULL;

                (void)cron_explain(expression, &cron);
                *ret_message = g_strdup_printf("calendar expression \"%.80s\": %s", expression,
                                               cron ? cron : general);
                exception_free(exception);
                return r;
        }
        g_ptr_array_add(exceptions->items, exception);
        return 0;
}

void exceptions_drop_last(Exceptions *exceptions) {
        g_ptr_array_set_size(exceptions->items, (int)exceptions->items->len - 1);
}

/* ---- looking ---- */

/* Division rounds towards the past. */
static int64_t unit_begin(int64_t local, int64_t unit) {
        int64_t over = local % unit;

        return local - (over < 0 ? over + unit : over);
}

/* The unit that the local time is in, as far as the offset of the instant lasts. */
static void exception_stretch(const Exception *exception, int64_t instant, int64_t *ret_first,
                              int64_t *ret_last) {
        const Zone *zone = exception->zone;
        int span = zone_span(zone, instant);
        int64_t offset = zone_span_offset(zone, span),
                first = unit_begin(instant + offset, exception->unit) - offset,
                last = first + exception->unit - 1;

        if (zone_span(zone, first) < span)
                first = zone_span_begin(zone, span, first, instant);
        if (zone_span(zone, last) > span)
                last = zone_span_begin(zone, span + 1, instant, last) - 1;
        *ret_first = first;
        *ret_last = last;
}

static bool exception_has(const Exception *exception, int64_t instant) {
        const Zone *zone = exception->zone;
        int64_t local = instant + zone_span_offset(zone, zone_span(zone, instant)), next;

        return calendar_next(exception->calendar, local - 1, &next) && next == local;
}

bool exceptions_have(const Exceptions *exceptions, int64_t instant, int64_t *ret_first,
                     int64_t *ret_last) {
        for (guint i = 0; i < exceptions->items->len; i++) {
                const Exception *exception = exceptions->items->pdata[i];

                if (exception_has(exception, instant)) {
                        exception_stretch(exception, instant, ret_first, ret_last);
                        return true;
                }
        }
        return false;
}

void exceptions_append(const Exceptions *exceptions, const char *prefix, GString *text) {
        for (guint i = 0; i < exceptions->items->len; i++) {
                const Exception *exception = exceptions->items->pdata[i];

                g_string_append_printf(text, "\n%s%s %s", prefix, exception->calendar->text,
                                       zone_name(exception->zone));
        }
}

void exceptions_each_zone(const Exceptions *exceptions,
                          void (*func)(const Zone *zone, void *userdata), void *userdata) {
        for (guint i = 0; i < exceptions->items->len; i++)
                func(((const Exception *)exceptions->items->pdata[i])->zone, userdata);
}

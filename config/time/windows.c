/* See windows.h. */
#include "windows.h"

#include <errno.h>
#include <string.h>

#include "calendar.h"
#include "cron-hint.h"
#include "duration.h"
#include "elapse.h"
#include "schedule-years.h"

#define TEXT_MAX 1024
#define LENGTH_MARK " for "
/* So many looks at a window are made to put together those that touch each other, on either side:
 * it is done for each decision. */
#define JOINED_MAX 2000
/* Where the shortest time between two beginnings is looked for: a fixed time, so that a file is
 * right or wrong whenever it is read. */
#define BEGINNINGS_FROM INT64_C(1735689600) /* 2025-01-01 */
#define BEGINNINGS_SPAN (INT64_C(5) * 366 * 86400)
#define BEGINNINGS_MAX 2000
#define DAY INT64_C(86400)

typedef struct Window {
        Calendar *calendar;
        Zone *zone;
        int64_t length; /* seconds */
} Window;

struct Windows {
        GPtrArray *items;
};

static const Dst window_dst = {DST_GAP_SHIFT, DST_OVERLAP_FIRST};

static void window_free(void *data) {
        Window *window = data;

        calendar_free(window->calendar);
        zone_free(window->zone);
        g_free(window);
}

Windows *windows_new(void) {
        Windows *windows = g_new0(Windows, 1);

        windows->items = g_ptr_array_new_with_free_func(window_free);
        return windows;
}

Windows *windows_free(Windows *windows) {
        if (!windows)
                return NULL;
        g_ptr_array_unref(windows->items);
        g_free(windows);
        return NULL;
}

/* ---- looking ---- */

/* Return: whether it has begun by then, and when it did so last. */
static bool window_begun(const Window *window, int64_t instant, int64_t *ret_begin) {
        int64_t begin, before = CLAMP(instant, -1, SCHEDULE_TICK_MAX) + 1;

        if (!elapse_previous(window->calendar, window->zone, &window_dst, before, &begin) ||
            begin < 0)
                return false;
        *ret_begin = begin;
        return true;
}

static bool window_begins(const Window *window, int64_t after, int64_t *ret_begin) {
        return elapse_next(window->calendar, window->zone, &window_dst,
                           CLAMP(after, -1, SCHEDULE_TICK_MAX), ret_begin) &&
               *ret_begin <= SCHEDULE_TICK_MAX;
}

/* Return: whether the instant is in a window, with the first beginning and the last end of those
 * that it is in. */
static bool windows_have(const Windows *windows, int64_t instant, int64_t *ret_from,
                         int64_t *ret_to) {
        int64_t from = INT64_MAX, to = 0, begin;

        for (guint i = 0; i < windows->items->len; i++) {
                const Window *window = windows->items->pdata[i];

                if (!window_begun(window, instant, &begin) || instant - begin >= window->length)
                        continue;
                from = MIN(from, begin);
                to = MAX(to, begin + window->length);
        }
        if (to == 0)
                return false;
        *ret_from = from;
        *ret_to = to;
        return true;
}

static WindowStretch windows_between(const Windows *windows, int64_t instant) {
        WindowStretch stretch = {.from = 0, .to = INT64_MAX};
        int64_t begin;

        for (guint i = 0; i < windows->items->len; i++) {
                const Window *window = windows->items->pdata[i];

                if (window_begun(window, instant, &begin))
                        stretch.from = MAX(stretch.from, begin + window->length);
                if (window_begins(window, instant, &begin))
                        stretch.to = MIN(stretch.to, begin);
        }
        return stretch;
}

WindowStretch windows_at(const Windows *windows, int64_t instant) {
        const unsigned most = JOINED_MAX / windows->items->len;
        WindowStretch stretch = {.open = true};
        int64_t from, to;

        if (!windows_have(windows, instant, &stretch.from, &stretch.to))
                return windows_between(windows, instant);
        for (unsigned i = 0; i < most && windows_have(windows, stretch.to, &from, &to); i++)
                stretch.to = to;
        for (unsigned i = 0; i < most && windows_have(windows, stretch.from - 1, &from, &to); i++)
                stretch.from = from;
        return stretch;
}

/* ---- reading ---- */

static int window_parse(Window *window, const char *expression, const char *zone,
                        char **ret_message) {
        int64_t begin;
        int r = calendar_parse(expression, &window->calendar, ret_message);

        if (r < 0)
                return r;
        if (window->calendar->timezone)
                zone = window->calendar->timezone;
        window->zone = zone_new(zone);
        if (!window->zone) {
                *ret_message = g_strdup_printf("time zone \"%s\" cannot be read", zone);
                return -EINVAL;
        }
        if (strlen(window->calendar->text) + 1 + strlen(zone_name(window->zone)) > TEXT_MAX) {
                *ret_message = g_strdup_printf("its normal form has more than %d characters, its "
                                               "time zone included",
                                               TEXT_MAX);
                return -E2BIG;
        }
        if (window_begins(window, -1, &begin))
                return 0;
        *ret_message =
            g_strdup_printf("there is no such moment, so the window never begins, from %d to %d",
                            SCHEDULE_YEAR_MIN, SCHEDULE_YEAR_MAX);
        return -EINVAL;
}

static int windows_check(const Windows *windows, const char *expression, usec_t length,
                         char **ret_message) {
        if (windows->items->len >= WINDOWS_MAX || strlen(expression) > TEXT_MAX) {
                *ret_message =
                    g_strdup_printf("there are at most %d windows, each of at most %d characters",
                                    WINDOWS_MAX, TEXT_MAX);
                return -E2BIG;
        }
        if (length >= USEC_PER_SEC && length <= WINDOW_LENGTH_MAX && length % USEC_PER_SEC == 0)
                return 0;
        *ret_message = g_strdup("must be whole seconds, from 1s to 366d");
        return -ERANGE;
}

int windows_add(Windows *windows, const char *expression, const char *zone, usec_t length,
                char **ret_message) {
        g_autofree char *general = NULL, *cron = NULL;
        Window *window;
        int r = windows_check(windows, expression, length, ret_message);

        if (r < 0)
                return r;
        window = g_new0(Window, 1);
        window->length = (int64_t)(length / USEC_PER_SEC);
        r = window_parse(window, expression, zone, &general);
        if (r < 0) {
                (void)cron_explain(expression, &cron);
                *ret_message = g_strdup_printf("calendar expression \"%.80s\": %s", expression,
                                               cron ? cron : general);
                window_free(window);
                return r;
        }
        g_ptr_array_add(windows->items, window);
        return 0;
}

void windows_drop_last(Windows *windows) {
        g_ptr_array_set_size(windows->items, (int)windows->items->len - 1);
}

static char *window_explain_length(int64_t first, int64_t second) {
        g_autoptr(GDateTime) from = g_date_time_new_from_unix_utc(first),
                             to = g_date_time_new_from_unix_utc(second);
        const usec_t distance = (usec_t)(second - first) * USEC_PER_SEC;
        g_autofree char *from_text = g_date_time_format(from, "%Y-%m-%d %H:%M:%S"),
                        *to_text = g_date_time_format(to, "%Y-%m-%d %H:%M:%S"),
                        *is = duration_to_string(distance);

        return g_strdup_printf("must be shorter than the time between any two beginnings of the "
                               "window, and from %s to %s UTC that is only %s",
                               from_text, to_text, is);
}

/* Return: the shortest time between two beginnings, were there some on every day. */
static int64_t window_step(const Calendar *calendar) {
        int64_t first = -1, last = -1, least = DAY;

        for (int64_t i = 0; i < DAY; i++) {
                if (!(calendar->hours >> i / 3600 & 1) || !(calendar->minutes >> i / 60 % 60 & 1)) {
                        i += 59; /* the next minute: i is at the beginning of one */
                        continue;
                }
                if (!(calendar->seconds >> i % 60 & 1))
                        continue;
                least = last < 0 ? least : MIN(least, i - last);
                first = first < 0 ? i : first;
                last = i;
        }
        return MIN(least, first + DAY - last);
}

/* Return: by how much the offsets of the zone differ in that time, and whether by whole hours. */
static int64_t zone_range(const Zone *zone, int64_t from, int64_t until, bool *ret_hours) {
        int span = zone_span(zone, from), last = zone_span(zone, until);
        int64_t first = zone_span_offset(zone, span), least = first, most = first;

        *ret_hours = true;
        for (; span <= last; span++) {
                int64_t offset = zone_span_offset(zone, span);

                least = MIN(least, offset);
                most = MAX(most, offset);
                *ret_hours &= (offset - first) % 3600 == 0;
        }
        return most - least;
}

/* Return: whether it is over before it begins again wherever clocks are put forward and back: the
 * times of day and the zone's offsets alone tell so of most windows, and no beginning is looked
 * for. What follows real time is the same in every hour where clocks are put by hours. */
static bool window_is_short(const Window *window, int64_t from) {
        bool hours;
        int64_t step = window_step(window->calendar),
                range =
                    zone_range(window->zone, from, BEGINNINGS_FROM + 2 * BEGINNINGS_SPAN, &hours);

        return calendar_is_hourly(window->calendar) ? hours && window->length < step
                                                    : window->length + 2 * range < step;
}

char *windows_explain_last(const Windows *windows) {
        const Window *window = windows->items->pdata[windows->items->len - 1];
        int64_t before, begin;

        if (!window_begins(window, BEGINNINGS_FROM - 1, &before) &&
            !window_begins(window, -1, &before))
                return NULL;
        if (window_is_short(window, before - DAY))
                return NULL;
        for (unsigned i = 0; i < BEGINNINGS_MAX && before <= BEGINNINGS_FROM + BEGINNINGS_SPAN &&
                             window_begins(window, before, &begin);
             i++) {
                if (begin - before <= window->length)
                        return window_explain_length(before, begin);
                before = begin;
        }
        return NULL;
}

/* ---- as text ---- */

void windows_append(const Windows *windows, const char *prefix, GString *text) {
        for (guint i = 0; i < windows->items->len; i++) {
                const Window *window = windows->items->pdata[i];
                g_autofree char *length = duration_to_string((usec_t)window->length * USEC_PER_SEC);

                g_string_append_printf(text, "\n%s%s %s" LENGTH_MARK "%s", prefix,
                                       window->calendar->text, zone_name(window->zone), length);
        }
}

int windows_add_line(Windows *windows, const char *line) {
        const char *mark = g_strrstr(line, LENGTH_MARK);
        g_autofree char *expression = mark ? g_strndup(line, (gsize)(mark - line)) : NULL,
                        *message = NULL;
        usec_t length;

        if (!mark || duration_parse(mark + strlen(LENGTH_MARK), &length) < 0)
                return -EINVAL;
        return windows_add(windows, expression, "UTC", length, &message) < 0 ? -EINVAL : 0;
}

void windows_each_zone(const Windows *windows, void (*func)(const Zone *zone, void *userdata),
                       void *userdata) {
        for (guint i = 0; i < windows->items->len; i++)
                func(((const Window *)windows->items->pdata[i])->zone, userdata);
}

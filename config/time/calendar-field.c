/* One field of a calendar expression. The rules are those of systemd 252, found by asking
 * `systemd-analyze calendar`: what it refuses is refused here, and its normal form is ours. */
#include "calendar-field.h"

#include <errno.h>
#include <limits.h>

/* systemd keeps seconds in microseconds in an int, so that a larger number is out of range there.
 */
#define SECONDS_NUMBER_MAX (INT_MAX / 1000000)

void calendar_field_clear(CalendarField *field) {
        g_clear_pointer(&field->ranges, g_array_unref);
}

static int fail_at(const char *text, const char *what, char **ret_message) {
        if (*text)
                *ret_message = g_strdup_printf("%s at \"%.20s\"", what, text);
        else
                *ret_message = g_strdup_printf("%s at its end", what);
        return -EINVAL;
}

/* Passes over ".000" behind whole seconds; a range's ".." is left alone. */
static int skip_zero_fraction(const char **text, char **ret_message) {
        const char *at = *text;

        if (at[0] != '.' || at[1] == '.')
                return 0;
        at++;
        if (!g_ascii_isdigit(*at))
                return fail_at(at, "a digit is missing after the point", ret_message);
        for (; g_ascii_isdigit(*at); at++)
                if (*at != '0') {
                        *ret_message = g_strdup("parts of a second are not supported: a tick is a "
                                                "whole second");
                        return -EINVAL;
                }
        *text = at;
        return 0;
}

static int field_parse_number(const char **text, bool seconds, int *ret_number,
                              char **ret_message) {
        const char *at = *text;
        int max = seconds ? SECONDS_NUMBER_MAX : INT_MAX;
        int number = 0;

        if (!g_ascii_isdigit(*at))
                return fail_at(at, "a number is missing", ret_message);
        for (; g_ascii_isdigit(*at); at++) {
                int digit = *at - '0';

                if (number > (max - digit) / 10)
                        return fail_at(*text, "the number is too large", ret_message);
                number = number * 10 + digit;
        }
        if (seconds) {
                int r = skip_zero_fraction(&at, ret_message);

                if (r < 0)
                        return r;
        }
        *text = at;
        *ret_number = number;
        return 0;
}

static int parse_step(const char **text, bool seconds, CalendarRange *range, char **ret_message) {
        int r;

        (*text)++;
        r = field_parse_number(text, seconds, &range->step, ret_message);
        if (r < 0)
                return r;
        if (range->step == 0) {
                *ret_message = g_strdup("the step must not be 0");
                return -EINVAL;
        }
        return 0;
}

/* START, START/STEP, START..STOP or START..STOP/STEP. */
static int parse_range(const char **text, bool seconds, CalendarRange *ret_range,
                       char **ret_message) {
        CalendarRange range = {.stop = -1};
        const char *at = *text;
        int r;

        r = field_parse_number(&at, seconds, &range.start, ret_message);
        if (r < 0)
                return r;
        if (at[0] == '.' && at[1] == '.') {
                at += 2;
                range.step = 1;
                r = field_parse_number(&at, seconds, &range.stop, ret_message);
                if (r < 0)
                        return r;
        }
        if (*at == '/') {
                r = parse_step(&at, seconds, &range, ret_message);
                if (r < 0)
                        return r;
        } else if (seconds && range.stop == range.start) {
                *ret_message = g_strdup_printf("the range %d..%d of seconds has no length",
                                               range.start, range.stop);
                return -EINVAL;
        }
        *text = at;
        *ret_range = range;
        return 0;
}

int calendar_field_parse(const char **text, bool seconds, CalendarField *ret_field,
                         char **ret_message) {
        g_autoptr(GArray) ranges = NULL;
        const char *at = *text;

        if (*at == '*') {
                *text = at + 1;
                ret_field->ranges = NULL;
                return 0;
        }
        ranges = g_array_new(FALSE, FALSE, sizeof(CalendarRange));
        for (;;) {
                CalendarRange range;
                int r;

                r = parse_range(&at, seconds, &range, ret_message);
                if (r < 0)
                        return r;
                if (ranges->len == CALENDAR_FIELD_RANGES_MAX) {
                        *ret_message = g_strdup_printf("a list has more than %d elements",
                                                       CALENDAR_FIELD_RANGES_MAX);
                        return -EINVAL;
                }
                g_array_append_val(ranges, range);
                if (*at != ',')
                        break;
                at++;
        }
        if (*at && !strchr(" -~:", *at))
                return fail_at(at, "unexpected text", ret_message);
        *text = at;
        ret_field->ranges = g_steal_pointer(&ranges);
        return 0;
}

static gint compare_ranges(gconstpointer a, gconstpointer b) {
        const CalendarRange *x = a, *y = b;

        if (x->start != y->start)
                return x->start < y->start ? -1 : 1;
        if (x->stop != y->stop)
                return x->stop < y->stop ? -1 : 1;
        return (x->step > y->step) - (x->step < y->step);
}

void calendar_field_normalize(CalendarField *field) {
        if (!field->ranges)
                return;
        for (guint i = 0; i < field->ranges->len; i++) {
                CalendarRange *range = &g_array_index(field->ranges, CalendarRange, i);

                if (range->stop > range->start)
                        range->stop -= (range->stop - range->start) % range->step;
                if (range->stop == range->start) {
                        range->stop = -1;
                        range->step = 0;
                }
        }
        g_array_sort(field->ranges, compare_ranges);
        for (guint i = field->ranges->len - 1; i > 0; i--)
                if (compare_ranges(&g_array_index(field->ranges, CalendarRange, i - 1),
                                   &g_array_index(field->ranges, CalendarRange, i)) == 0)
                        g_array_remove_index(field->ranges, i);
}

/* A step must be able to be taken once: forwards, or backwards where days count from the end of the
 * month. */
static bool step_fits(const CalendarRange *range, const CalendarLimits *limits) {
        if (range->step > limits->max - limits->min)
                return false;
        if (limits->from_end)
                return range->start - range->step >= limits->min;
        return range->start + range->step <= limits->max;
}

static char *range_fault(const CalendarRange *range, const CalendarLimits *limits) {
        int outside = range->start;

        if (range->start >= limits->min && range->start <= limits->max && range->stop > limits->max)
                outside = range->stop;
        if (outside < limits->min || outside > limits->max)
                return g_strdup_printf(
                    "%s %d is outside %d..%d%s", limits->name, outside, limits->min, limits->max,
                    limits->from_end ? " (counted from the month's end, 3 fewer with each "
                                       "element of a list)"
                                     : "");
        if (range->stop >= 0 && range->stop < range->start)
                return g_strdup_printf("the %s range %d..%d runs backwards", limits->name,
                                       range->start, range->stop);
        if (range->stop < 0 && range->step > 0 && !step_fits(range, limits))
                return g_strdup_printf("the step of %s %d/%d cannot be taken within %d..%d",
                                       limits->name, range->start, range->step, limits->min,
                                       limits->max);
        return NULL;
}

/* Days counted from the end go to 28, so that every month has them; with each element of a list
 * systemd takes three fewer, and so do we: a file that one of the two refuses, the other should not
 * take. */
char *calendar_field_fault(const CalendarField *field, const CalendarLimits *limits) {
        CalendarLimits narrowed = *limits;

        for (guint i = 0; field->ranges && i < field->ranges->len; i++) {
                char *fault =
                    range_fault(&g_array_index(field->ranges, CalendarRange, i), &narrowed);

                if (fault)
                        return fault;
                if (limits->from_end)
                        narrowed.max -= 3;
        }
        return NULL;
}

static bool range_has(const CalendarRange *range, int value) {
        if (value < range->start || (range->stop >= 0 && value > range->stop))
                return false;
        if (range->step == 0)
                return value == range->start;
        return (value - range->start) % range->step == 0;
}

bool calendar_field_has(const CalendarField *field, int value) {
        if (!field->ranges)
                return true;
        for (guint i = 0; i < field->ranges->len; i++)
                if (range_has(&g_array_index(field->ranges, CalendarRange, i), value))
                        return true;
        return false;
}

/* Counted from the end, a range's stop is its earlier day; steps still go forwards from the earlier
 * day. */
bool calendar_field_has_from_end(const CalendarField *field, int day, int length) {
        if (!field->ranges)
                return true;
        for (guint i = 0; i < field->ranges->len; i++) {
                CalendarRange range = g_array_index(field->ranges, CalendarRange, i);
                int start = length + 1 - range.start;

                range.start = range.stop >= 0 ? length + 1 - range.stop : start;
                range.stop = range.stop >= 0 ? start : -1;
                if (range_has(&range, day))
                        return true;
        }
        return false;
}

void calendar_field_format(const CalendarField *field, int width, bool seconds, GString *text) {
        const CalendarRange *first =
            field->ranges ? &g_array_index(field->ranges, CalendarRange, 0) : NULL;

        /* Only of seconds does systemd write "every second" as `*`, and drops what else is listed.
         */
        if (!first || (seconds && first->start == 0 && first->stop < 0 && first->step == 1)) {
                g_string_append_c(text, '*');
                return;
        }
        for (guint i = 0; i < field->ranges->len; i++) {
                const CalendarRange *range = &g_array_index(field->ranges, CalendarRange, i);

                if (i > 0)
                        g_string_append_c(text, ',');
                g_string_append_printf(text, "%0*d", width, range->start);
                if (range->stop >= 0)
                        g_string_append_printf(text, "..%0*d", width, range->stop);
                if (range->step > 0 && !(range->stop >= 0 && range->step == 1))
                        g_string_append_printf(text, "/%d", range->step);
        }
}

/* One field of a calendar expression, the "9..17/2,20" between two separators: a list of values,
 * ranges and steps.
 *
 * A field is read and judged in three steps, because what a number may be depends on what comes
 * later (a year, a month and a day look alike until the whole date is read): calendar_field_parse()
 * reads the text, calendar_field_normalize() brings it into systemd's normal form, and
 * calendar_field_fault() judges it against the limits of its place.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* As many list elements as systemd takes. */
#define CALENDAR_FIELD_RANGES_MAX 241

/* A single value (stop -1, step 0), a value with a step (stop -1), or a range (with its step, 1
 * where none is written). */
typedef struct CalendarRange {
        int start;
        int stop;
        int step;
} CalendarRange;

typedef struct CalendarField {
        GArray *ranges; /* CalendarRange; NULL: any value, written `*` */
} CalendarField;

/* What a field's values may be, and its name in messages. */
typedef struct CalendarLimits {
        const char *name;
        int min;
        int max;
        bool from_end; /* days counted from the end of the month */
} CalendarLimits;

void calendar_field_clear(CalendarField *field);

/* Reads one field and moves *text behind it. `seconds`: a fraction may follow, which must be zero.
 * Return: 0, or -EINVAL with a newly allocated message; *text and *ret_field are untouched then. */
int calendar_field_parse(const char **text, bool seconds, CalendarField *ret_field,
                         char **ret_message);

/* Sorts, removes duplicates, cuts a range at its last step. */
void calendar_field_normalize(CalendarField *field);

/* Return: NULL when the normalized field can stand in its place, else a newly allocated message. */
char *calendar_field_fault(const CalendarField *field, const CalendarLimits *limits);

/* Return: whether `value` is one of the field's. */
bool calendar_field_has(const CalendarField *field, int value);

/* The same for a day of a month of `length` days, where the field counts from the end of the month.
 */
bool calendar_field_has_from_end(const CalendarField *field, int day, int length);

/* Appends the normal form, numbers padded with zeros to `width`. */
void calendar_field_format(const CalendarField *field, int width, bool seconds, GString *text);

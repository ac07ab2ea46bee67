/* The grammar of calendar expressions: from text to fields that are read but not yet judged. */
#pragma once

#include <stdbool.h>

#include "calendar-field.h"
#include "timezone.h"

typedef struct CalendarFields {
        unsigned weekdays; /* bit 0 is Monday; 0: any day */
        bool from_end;     /* days count from the end of the month */
        CalendarField year, month, day, hour, minute, second;
        char *timezone; /* NULL: none is named */
} CalendarFields;

extern const char *const calendar_weekday_names[7];

/* Return: 0, or -EINVAL with a newly allocated message. *ret_fields is to be cleared in both cases.
 */
int calendar_fields_parse(const char *text, CalendarFields *ret_fields, char **ret_message);
void calendar_fields_clear(CalendarFields *fields);

/* Durations as systemd.time(7) writes them: "5min 20s", "1h30min", "2", (seconds), "infinity". */
#pragma once

#include "clock.h"

/* What may stand between the parts of a duration, and around it. */
#define DURATION_WHITESPACE " \t\n\r"

typedef struct DurationUnit {
        const char *name; /* NULL ends the units */
        usec_t length;
} DurationUnit;

/* Return: every unit by all its names, the longest names first. A number without one counts
 * seconds. */
const DurationUnit *duration_units(void);

/* Return: 0; -EINVAL when it is no duration; -ERANGE when too large. *ret untouched on failure. */
int duration_parse(const char *text, usec_t *ret);

/* Return: newly allocated (g_free), the shortest exact form: "1h 30min", "500ms", "infinity", "0".
 */
char *duration_to_string(usec_t duration);

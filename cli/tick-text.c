/* See tick-text.h. */
#include "tick-text.h"

#include <string.h>

#include "options.h"
#include "time-text.h"
#include "timezone.h"

/* Return: whether it is the id of a tick's run, "1763700000-1". */
static bool tick_of_run(const char *text, int64_t *ret_tick) {
        size_t digits = strspn(text, "0123456789");
        const char *attempt = text + digits + 1;

        if (digits == 0 || text[digits] != '-' || !*attempt ||
            strspn(attempt, "0123456789") != strlen(attempt))
                return false;
        *ret_tick = g_ascii_strtoll(text, NULL, 10);
        return true;
}

bool tick_from_text(const char *text, GTimeZone *zone, int64_t *ret_tick) {
        int64_t tick;

        if ((!tick_of_run(text, &tick) && !time_from_text(text, zone, &tick)) || tick <= 0)
                return false;
        *ret_tick = tick;
        return true;
}

bool tick_zone_is_given(const char *command, const char *name, GTimeZone **ret_zone,
                        int *ret_exit) {
        if (name && !timezone_is_valid(name)) {
                *ret_exit = options_error(command, "there is no time zone \"%s\"", name);
                return false;
        }
        *ret_zone = name ? g_time_zone_new_identifier(name) : g_time_zone_new_local();
        return true;
}

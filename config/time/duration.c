/* See duration.h. A duration is a sum of terms, each a decimal number and a unit; a number without
 * a unit counts seconds. Units are matched longest first, so that "min" is not read as "m". */
#include "duration.h"

#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

/* systemd.time(7): a month is 30.44 days and a year 365.25, in whole seconds. */
static const DurationUnit units[] = {
    {"seconds", USEC_PER_SEC},
    {"minutes", USEC_PER_MINUTE},
    {"second", USEC_PER_SEC},
    {"minute", USEC_PER_MINUTE},
    {"months", 2629800 * USEC_PER_SEC},
    {"month", 2629800 * USEC_PER_SEC},
    {"hours", USEC_PER_HOUR},
    {"weeks", 7 * USEC_PER_DAY},
    {"years", 31557600 * USEC_PER_SEC},
    {"usec", 1},
    {"msec", USEC_PER_MSEC},
    {"hour", USEC_PER_HOUR},
    {"days", USEC_PER_DAY},
    {"week", 7 * USEC_PER_DAY},
    {"year", 31557600 * USEC_PER_SEC},
    {"sec", USEC_PER_SEC},
    {"min", USEC_PER_MINUTE},
    {"day", USEC_PER_DAY},
    {"\xc2\xb5s", 1}, /* micro sign */
    {"\xce\xbcs", 1}, /* Greek mu */
    {"us", 1},
    {"ms", USEC_PER_MSEC},
    {"hr", USEC_PER_HOUR},
    {"s", USEC_PER_SEC},
    {"m", USEC_PER_MINUTE},
    {"h", USEC_PER_HOUR},
    {"d", USEC_PER_DAY},
    {"w", 7 * USEC_PER_DAY},
    {"M", 2629800 * USEC_PER_SEC},
    {"y", 31557600 * USEC_PER_SEC},
    {NULL, 0},
};

const DurationUnit *duration_units(void) {
        return units;
}

/* Return: the length of the unit at *text, which is then skipped; a second where none stands there.
 */
static usec_t take_unit(const char **text) {
        for (size_t i = 0; units[i].name; i++) {
                if (!g_str_has_prefix(*text, units[i].name))
                        continue;
                *text += strlen(units[i].name);
                return units[i].length;
        }
        return USEC_PER_SEC;
}

/* Adds amount times unit to *sum. Return: false when it does not fit. */
static bool add_product(usec_t *sum, usec_t amount, usec_t unit) {
        usec_t product, total;

        if (__builtin_mul_overflow(amount, unit, &product) ||
            __builtin_add_overflow(*sum, product, &total) || total == USEC_INFINITY)
                return false;
        *sum = total;
        return true;
}

/* Reads one term at *text and adds it to *sum. Return: 0, -EINVAL, -ERANGE. */
static int take_term(const char **text, usec_t *sum) {
        size_t whole = strspn(*text, "0123456789"), fraction = 0;
        const char *digits = *text, *decimals = *text + whole;
        usec_t amount = 0, unit, part;

        for (size_t i = 0; i < whole; i++)
                if (__builtin_mul_overflow(amount, (usec_t)10, &amount) ||
                    __builtin_add_overflow(amount, (usec_t)(digits[i] - '0'), &amount))
                        return -ERANGE;
        *text += whole;
        if (**text == '.') {
                decimals = ++*text;
                fraction = strspn(decimals, "0123456789");
                *text += fraction;
                if (fraction == 0 || **text == '.')
                        return -EINVAL;
        }
        if (whole + fraction == 0)
                return -EINVAL;

        *text += strspn(*text, DURATION_WHITESPACE);
        unit = take_unit(text);
        if (!add_product(sum, amount, unit))
                return -ERANGE;
        part = unit;
        for (size_t i = 0; i < fraction; i++) {
                part /= 10;
                if (!add_product(sum, (usec_t)(decimals[i] - '0'), part))
                        return -ERANGE;
        }
        return 0;
}

int duration_parse(const char *text, usec_t *ret) {
        g_autofree char *stripped = g_strstrip(g_strdup(text));
        const char *rest = stripped;
        usec_t sum = 0;

        if (g_str_equal(stripped, "infinity")) {
                *ret = USEC_INFINITY;
                return 0;
        }
        if (!*rest)
                return -EINVAL;
        while (*rest) {
                int r = take_term(&rest, &sum);

                if (r < 0)
                        return r;
                rest += strspn(rest, DURATION_WHITESPACE);
        }
        *ret = sum;
        return 0;
}

char *duration_to_string(usec_t duration) {
        static const DurationUnit shown[] = {
            {"d", USEC_PER_DAY}, {"h", USEC_PER_HOUR},  {"min", USEC_PER_MINUTE},
            {"s", USEC_PER_SEC}, {"ms", USEC_PER_MSEC}, {"us", 1},
        };
        GString *text;

        if (duration == USEC_INFINITY)
                return g_strdup("infinity");
        if (duration == 0)
                return g_strdup("0");
        text = g_string_new(NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(shown); i++) {
                usec_t amount = duration / shown[i].length;

                duration %= shown[i].length;
                if (amount > 0)
                        g_string_append_printf(text, "%s%" PRIu64 "%s", text->len > 0 ? " " : "",
                                               amount, shown[i].name);
        }
        return g_string_free(text, FALSE);
}

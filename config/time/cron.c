/* See cron.h. Each field becomes a set of bits and is then written as an expression would have it,
 * so that "0-59/5", "*" with a step of 5 and the twelve numbers one by one come out the same. */
#include "cron.h"

#include <glib.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define WHITESPACE " \t"
#define WEEKDAYS 7

/* The order of a crontab's fields. */
enum { CRON_MINUTE, CRON_HOUR, CRON_DAY, CRON_MONTH, CRON_WEEKDAY };

typedef struct FieldRule {
        unsigned low, high;
        const char *const *names; /* NULL: numbers only; the first stands for `low` */
        unsigned digits;          /* as an expression writes it */
} FieldRule;

static const char *const month_names[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul",
                                          "aug", "sep", "oct", "nov", "dec", NULL};
static const char *const weekday_names[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL};

/* Both 0 and 7 are Sunday. */
static const FieldRule field_rules[CRON_FIELDS] = {{0, 59, NULL, 2},
                                                   {0, 23, NULL, 2},
                                                   {1, 31, NULL, 2},
                                                   {1, 12, month_names, 2},
                                                   {0, 7, weekday_names, 1}};

/* Reads a number or a name. Return: false when it is neither, or out of the field's range. */
static bool cron_field_take_value(const FieldRule *rule, const char **text, unsigned *ret_value) {
        char *end = NULL;
        unsigned long value;

        for (unsigned i = 0; rule->names && rule->names[i]; i++) {
                if (g_ascii_strncasecmp(*text, rule->names[i], 3) != 0)
                        continue;
                *text += 3;
                *ret_value = rule->low + i;
                return true;
        }
        if (!g_ascii_isdigit(**text))
                return false;
        value = strtoul(*text, &end, 10);
        if (value < rule->low || value > rule->high)
                return false;
        *text = end;
        *ret_value = (unsigned)value;
        return true;
}

/* Reads "*", a value or a range, with a step or without, and adds its values. */
static bool cron_field_take_range(const FieldRule *rule, const char **text, uint64_t *values) {
        unsigned first = rule->low, last = rule->high, step = 1;
        bool open = true;

        if (**text == '*') {
                (*text)++;
        } else {
                if (!cron_field_take_value(rule, text, &first))
                        return false;
                open = false;
                last = first;
                if (**text == '-') {
                        (*text)++;
                        if (!cron_field_take_value(rule, text, &last) || last < first)
                                return false;
                        open = true;
                }
        }
        if (**text == '/') {
                char *end = NULL;

                (*text)++;
                if (!g_ascii_isdigit(**text))
                        return false;
                step = (unsigned)MIN(strtoul(*text, &end, 10), 64);
                *text = end;
                if (step == 0)
                        return false;
                if (!open)
                        last = rule->high;
        }
        for (unsigned value = first; value <= last; value += step)
                *values |= UINT64_C(1) << value;
        return true;
}

/* Reads one field and the white space behind it. */
static bool cron_field_take(const FieldRule *rule, const char **text, uint64_t *ret_values) {
        uint64_t values = 0;
        const char *at = *text;

        for (;; at++) {
                if (!cron_field_take_range(rule, &at, &values))
                        return false;
                if (*at != ',')
                        break;
        }
        if (*at && !strchr(WHITESPACE, *at))
                return false;
        *text = at + strspn(at, WHITESPACE);
        *ret_values = values;
        return true;
}

static uint64_t field_all(const FieldRule *rule) {
        return (UINT64_MAX >> (63 - rule->high)) & (UINT64_MAX << rule->low);
}

/* Return: the step with which the values run from the first of them to the field's end; 0 when they
 * do not, or are fewer than three. */
static unsigned field_step(const FieldRule *rule, uint64_t values) {
        unsigned first = (unsigned)__builtin_ctzll(values), step;
        uint64_t expected = 0;

        if (__builtin_popcountll(values) < 3)
                return 0;
        step = (unsigned)__builtin_ctzll(values & (values - 1)) - first;
        for (unsigned value = first; value <= rule->high; value += step)
                expected |= UINT64_C(1) << value;
        return step > 1 && values == expected ? step : 0;
}

/* Writes a set of values: "*", "0/5", "1..5", "1,15". */
static char *field_to_string(const FieldRule *rule, uint64_t values) {
        unsigned step = field_step(rule, values);
        GString *text = g_string_new(NULL);

        if (values == field_all(rule)) {
                g_string_append_c(text, '*');
        } else if (step > 0) {
                g_string_append_printf(text, "%d/%u", __builtin_ctzll(values), step);
        }
        for (unsigned value = rule->low; text->str[0] != '*' && !step && value <= rule->high;
             value++) {
                unsigned last = value;

                if (!(values >> value & 1))
                        continue;
                while (last < rule->high && values >> (last + 1) & 1)
                        last++;
                g_string_append_printf(text, "%s%0*u", text->len > 0 ? "," : "", (int)rule->digits,
                                       value);
                if (last < value + 2)
                        continue;
                g_string_append_printf(text, "..%0*u", (int)rule->digits, last);
                value = last;
        }
        return g_string_free(text, FALSE);
}

/* Writes weekdays, Sunday being bit 0: "Mon..Fri", "Sat,Sun". */
static char *weekdays_to_string(uint64_t values) {
        static const char *const names[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
        GString *text = g_string_new(NULL);

        for (unsigned day = 0; day < WEEKDAYS; day++) {
                unsigned last = day;

                if (!(values >> (day + 1) % WEEKDAYS & 1))
                        continue;
                while (last + 1 < WEEKDAYS && values >> (last + 2) % WEEKDAYS & 1)
                        last++;
                g_string_append_printf(text, "%s%s", text->len > 0 ? "," : "", names[day]);
                if (last < day + 2)
                        continue;
                g_string_append_printf(text, "..%s", names[last]);
                day = last;
        }
        return g_string_free(text, FALSE);
}

/* Writes one expression of the fields; days and weekdays with all their values are left out. */
static char *fields_to_string(const uint64_t *values, uint64_t days, uint64_t weekdays) {
        g_autofree char *month = field_to_string(&field_rules[CRON_MONTH], values[CRON_MONTH]);
        g_autofree char *day = field_to_string(&field_rules[CRON_DAY], days);
        g_autofree char *hour = field_to_string(&field_rules[CRON_HOUR], values[CRON_HOUR]);
        g_autofree char *minute = field_to_string(&field_rules[CRON_MINUTE], values[CRON_MINUTE]);
        g_autofree char *weekday = weekdays_to_string(weekdays);
        bool named = weekdays != 0x7f, dated = *month != '*' || *day != '*' || *hour != '*';

        return g_strdup_printf("%s%s%s%s%s%s%s%s:%s", named ? weekday : "", named ? " " : "",
                               dated ? "*-" : "", dated ? month : "", dated ? "-" : "",
                               dated ? day : "", dated ? " " : "", hour, minute);
}

/* Reads "@daily" and the like. Return: the number of bytes, 0 when it is none of cron's. */
static unsigned nickname_parse(const char *text, CronTimes *ret_times) {
        static const struct {
                const char *name;
                const char *expression;
        } nicknames[] = {
            {"@reboot", NULL},       {"@yearly", "yearly"},    {"@annually", "yearly"},
            {"@monthly", "monthly"}, {"@weekly", "Sun 00:00"}, {"@daily", "daily"},
            {"@midnight", "daily"},  {"@hourly", "hourly"},
        };
        size_t length = strcspn(text, WHITESPACE);

        for (size_t i = 0; i < G_N_ELEMENTS(nicknames); i++) {
                if (strlen(nicknames[i].name) != length ||
                    g_ascii_strncasecmp(text, nicknames[i].name, length) != 0)
                        continue;
                *ret_times = (CronTimes){.first = g_strdup(nicknames[i].expression)};
                return (unsigned)(length + strspn(text + length, WHITESPACE));
        }
        return 0;
}

unsigned cron_times_parse(const char *text, CronTimes *ret_times) {
        const char *at = text + strspn(text, WHITESPACE);
        const FieldRule *day_rule = &field_rules[CRON_DAY];
        uint64_t values[CRON_FIELDS] = {0}, weekdays;
        bool any_day, any_weekday;

        if (*at == '@') {
                unsigned length = nickname_parse(at, ret_times);

                return length > 0 ? (unsigned)(at - text) + length : 0;
        }
        any_day = any_weekday = false;
        for (unsigned i = 0; i < CRON_FIELDS; i++) {
                any_day |= i == CRON_DAY && *at == '*';
                any_weekday |= i == CRON_WEEKDAY && *at == '*';
                if (!cron_field_take(&field_rules[i], &at, &values[i]))
                        return 0;
        }
        weekdays = (values[CRON_WEEKDAY] | values[CRON_WEEKDAY] >> WEEKDAYS) & 0x7f;
        if (any_day || any_weekday)
                *ret_times =
                    (CronTimes){.first = fields_to_string(values, values[CRON_DAY], weekdays)};
        else
                *ret_times = (CronTimes){
                    .first = fields_to_string(values, values[CRON_DAY], 0x7f),
                    .second = fields_to_string(values, field_all(day_rule), weekdays),
                };
        return (unsigned)(at - text);
}

void cron_times_clear(CronTimes *times) {
        g_clear_pointer(&times->first, g_free);
        g_clear_pointer(&times->second, g_free);
}

char *cron_field_fault(unsigned field, const char *word) {
        static const char *const titles[CRON_FIELDS] = {"minute", "hour", "day of the month",
                                                        "month", "weekday"};
        const FieldRule *rule = &field_rules[field];
        const char *at = word;
        uint64_t values = 0;

        if (cron_field_take(rule, &at, &values) && !*at)
                return NULL;
        return g_strdup_printf("has no %s \"%s\" (%u to %u)", titles[field], word, rule->low,
                               rule->high);
}

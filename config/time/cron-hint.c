/* See cron-hint.h. Nearly cron's are five fields of which one is out of range, four, a line with
 * its command, and the six or seven of the schedulers that count seconds: words of nothing but
 * digits, signs and names of months and weekdays. No calendar expression has four of those. */
#include "cron-hint.h"

#include <glib.h>
#include <string.h>

#include "cron.h"

#define WHITESPACE " \t"
#define FIELDS_IN_THEIR_ORDER "minute, hour, day of the month, month, weekday"
#define FIELDS_WITH_SECONDS (CRON_FIELDS + 1)

/* Return: newly allocated, the expressions as a job file has them. */
static char *times_to_string(const CronTimes *times) {
        return times->second ? g_strdup_printf("[\"%s\", \"%s\"]", times->first, times->second)
                             : g_strdup_printf("\"%s\"", times->first);
}

/* Return: what is to be said of their zone: nothing where they are the same in all of them. */
static const char *zone_hint(const CronTimes *times) {
        bool everywhere =
            g_str_has_prefix(times->first, "*:") || g_str_equal(times->first, "hourly");

        return everywhere ? "" : ". " CRON_ZONE_HINT;
}

/* Return: newly allocated, how cron's own times, with what follows them, are written here. */
static char *explain_times(const CronTimes *times, const char *command) {
        g_autofree char *expressions = NULL;

        if (!times->first)
                return g_strdup("this is cron's, and no schedule can say it: for something at each "
                                "boot, enable a systemd service");
        expressions = times_to_string(times);
        if (*command)
                return g_strdup_printf("this is a line of a crontab; here the schedule is %s, and "
                                       "the command stands in \"exec\"%s",
                                       expressions, zone_hint(times));
        return g_strdup_printf("this is cron's form; here it is %s%s", expressions,
                               zone_hint(times));
}

/* Return: the number of leading words that could be fields. */
static unsigned count_fields(char **words) {
        static const char *const names[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul",
                                            "aug", "sep", "oct", "nov", "dec", "sun", "mon",
                                            "tue", "wed", "thu", "fri", "sat", NULL};
        unsigned count = 0;

        for (; words[count]; count++) {
                g_autofree char *name = g_ascii_strdown(words[count], -1);

                if (words[count][strspn(words[count], "0123456789*/,-?#")] &&
                    !g_strv_contains(names, name))
                        break;
        }
        return count;
}

/* Return: newly allocated, what six fields are here where the first can be left out; NULL where
 * that is not so, or where numbers of weekdays have another meaning there than cron's. */
static char *explain_seconds(char **words) {
        g_autofree char *five = g_strjoinv(" ", words + 1), *expressions = NULL, *message = NULL;
        CronTimes times = {0};
        unsigned length;

        g_strdelimit(five, "?", '*');
        if (!g_str_equal(words[0], "0") || strpbrk(words[CRON_FIELDS], "0123456789"))
                return NULL;
        length = cron_times_parse(five, &times);
        if (length > 0 && !five[length]) {
                expressions = times_to_string(&times);
                message = g_strdup_printf("this is cron's form with seconds; here it is %s%s",
                                          expressions, zone_hint(&times));
        }
        cron_times_clear(&times);
        return g_steal_pointer(&message);
}

/* Return: newly allocated, what is said of words that look like cron's and are not; NULL where they
 * do not. */
static char *explain_nearly(char **words) {
        unsigned fields = count_fields(words), count = g_strv_length(words);
        char *message = NULL;

        if (count > fields ? fields < CRON_FIELDS : fields < CRON_FIELDS - 1)
                return NULL;
        if (count == fields && fields == FIELDS_WITH_SECONDS)
                message = explain_seconds(words);
        if (message)
                return message;
        if (count == fields && fields != CRON_FIELDS)
                return g_strdup_printf("this looks like cron's form, but has %u fields, and not "
                                       "the 5 of " FIELDS_IN_THEIR_ORDER,
                                       fields);
        for (unsigned i = 0; i < CRON_FIELDS; i++) {
                g_autofree char *fault = cron_field_fault(i, words[i]);

                if (fault)
                        return g_strdup_printf("this looks like cron's form, but cron %s", fault);
        }
        return NULL;
}

/* Return: newly allocated, the words without the white space between them. */
static char **split_words(const char *text) {
        g_autoptr(GPtrArray) words = g_ptr_array_new_null_terminated(0, g_free, TRUE);

        for (text += strspn(text, WHITESPACE); *text; text += strspn(text, WHITESPACE)) {
                size_t length = strcspn(text, WHITESPACE);

                g_ptr_array_add(words, g_strndup(text, length));
                text += length;
        }
        return (char **)g_ptr_array_free(g_steal_pointer(&words), FALSE);
}

bool cron_explain(const char *text, char **ret_message) {
        g_auto(GStrv) words = split_words(text);
        CronTimes times = {0};
        unsigned length = cron_times_parse(text, &times);
        bool seconds =
            g_strv_length(words) > CRON_FIELDS && count_fields(words) == g_strv_length(words);
        char *message = NULL;

        if (length > 0 && !seconds)
                message = explain_times(&times, text + length);
        else if (strpbrk(text, "0123456789*"))
                message = explain_nearly(words);
        cron_times_clear(&times);
        if (message)
                *ret_message = message;
        return message != NULL;
}

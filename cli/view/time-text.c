/* See time-text.h. */
#include "time-text.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

typedef struct SpanUnit {
        double seconds;
        const char *name;
} SpanUnit;

static const SpanUnit span_units[] = {
    {365.25 * 86400, "y"}, {86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"},
};

#define EPOCH_MIN (-62135596800.0) /* year 1 and the end of year 9999: what GDateTime knows */
#define EPOCH_MAX 253402300799.0

char *time_to_text(double epoch, GTimeZone *zone) {
        g_autoptr(GDateTime) utc = NULL;
        g_autoptr(GDateTime) local = NULL;

        if (!(epoch >= EPOCH_MIN && epoch <= EPOCH_MAX))
                return g_strdup("-");
        utc = g_date_time_new_from_unix_utc((gint64)floor(epoch));
        local = utc ? g_date_time_to_timezone(utc, zone) : NULL;
        return local ? g_date_time_format(local, "%Y-%m-%d %H:%M:%S") : g_strdup("-");
}

bool time_from_text(const char *text, GTimeZone *zone, int64_t *ret_epoch) {
        g_autofree char *iso = g_strdup(text);
        g_autoptr(GDateTime) time = NULL;
        char *space = strchr(iso, ' ');
        guint64 seconds = 0;

        if (*text == '@') {
                if (!g_ascii_string_to_unsigned(text + 1, 10, 0, (guint64)EPOCH_MAX, &seconds,
                                                NULL))
                        return false;
                *ret_epoch = (int64_t)seconds;
                return true;
        }
        if (!space || strlen(space) < strlen(" 00:00"))
                return false;
        *space = 'T';
        if (strlen(space) == strlen("T00:00")) {
                char *with_seconds = g_strconcat(iso, ":00", NULL);

                g_free(iso);
                iso = with_seconds;
        }
        time = g_date_time_new_from_iso8601(iso, zone);
        if (!time)
                return false;
        *ret_epoch = g_date_time_to_unix(time);
        return true;
}

char *span_to_text(double seconds) {
        if (!(seconds >= 0))
                return g_strdup("-");
        if (seconds == 0)
                return g_strdup("0s"); /* also where whole seconds are shown */
        if (seconds < 1)
                return g_strdup_printf("%.0fms", floor(seconds * 1000));
        if (seconds < 10)
                return g_strdup_printf("%.1fs", floor(seconds * 10) / 10);
        for (size_t i = 0; i + 1 < G_N_ELEMENTS(span_units); i++) {
                const SpanUnit *large = &span_units[i], *small = &span_units[i + 1];
                double count = floor(seconds / large->seconds);
                double rest = floor((seconds - count * large->seconds) / small->seconds);

                if (count < 1)
                        continue;
                if (rest < 1)
                        return g_strdup_printf("%.0f%s", count, large->name);
                return g_strdup_printf("%.0f%s %.0f%s", count, large->name, rest, small->name);
        }
        return g_strdup_printf("%.0fs", floor(seconds));
}

char *time_relative(double epoch, double now) {
        g_autofree char *span = NULL;

        if (fabs(epoch - now) < 1)
                return g_strdup("now");
        /* Whole seconds: nobody wants "in 4.7s" of a tick. */
        span = fabs(epoch - now) < 10 ? g_strdup_printf("%.0fs", floor(fabs(epoch - now)))
                                      : span_to_text(fabs(epoch - now));
        return epoch > now ? g_strdup_printf("in %s", span) : g_strdup_printf("%s ago", span);
}

const char *time_without_day_of(const char *time, const char *other) {
        const char *space = strchr(time, ' ');
        bool same_day = space && strncmp(time, other, (size_t)(space - time)) == 0;

        return same_day ? space + 1 : time;
}

char *time_with_age(double epoch, double now, GTimeZone *zone) {
        g_autofree char *time = time_to_text(epoch, zone);
        g_autofree char *today = time_to_text(now, zone);
        g_autofree char *age = time_relative(epoch, now);

        return g_strdup_printf("%s (%s)", time_without_day_of(time, today), age);
}

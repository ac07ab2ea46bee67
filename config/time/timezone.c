/* Time zones over GTimeZone, and the rule for their names.
 *
 * A name is a zone when tzdata has installed a file of that name. That is the same set as the zones
 * and links of tzdata.zi (a test compares them) once three things are left out that are no zones of
 * their own: "localtime" and "posixrules", which are the machine's own choice, and the copies below
 * "posix/" and "right/". GLib is then given the file's path, never the name: names such as
 * "EST5EDT" it would take for a rule of their own and not look the file up, others it would look up
 * below $TZDIR.
 */
#include "timezone.h"

#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ZONEINFO "/usr/share/zoneinfo/"
#define ZONE_NAME_MAX 64
#define TZIF_MAGIC "TZif"

struct Zone {
        char *name;
        GTimeZone *tz; /* NULL: UTC */
};

static bool name_is_plausible(const char *name) {
        if (strlen(name) > ZONE_NAME_MAX || !g_ascii_isalpha(name[0]))
                return false;
        for (const char *at = name; *at; at++)
                if (!g_ascii_isalnum(*at) && !strchr("+-_/", *at))
                        return false;
        return !g_str_equal(name, "localtime") && !g_str_equal(name, "posixrules") &&
               !g_str_has_prefix(name, "posix/") && !g_str_has_prefix(name, "right/") &&
               !g_str_has_suffix(name, "/") && !strstr(name, "//");
}

bool timezone_is_valid(const char *name) {
        char magic[sizeof TZIF_MAGIC - 1];
        _cleanup_close_ int fd = -1;
        g_autofree char *path = NULL;
        struct stat status;

        if (!name)
                return false;
        if (g_str_equal(name, "UTC"))
                return true;
        if (!name_is_plausible(name))
                return false;
        path = g_strconcat(ZONEINFO, name, NULL);
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        return fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
               read(fd, magic, sizeof magic) == sizeof magic &&
               memcmp(magic, TZIF_MAGIC, sizeof magic) == 0;
}

/* Return: NULL where GLib cannot read the file. */
static GTimeZone *open_zone(const char *name) {
        g_autofree char *path = g_strconcat(ZONEINFO, name, NULL);

        return g_time_zone_new_identifier(path);
}

Zone *zone_new(const char *name) {
        GTimeZone *tz = NULL;
        Zone *zone;

        if (!timezone_is_valid(name))
                return NULL;
        if (!g_str_equal(name, "UTC")) {
                tz = open_zone(name);
                if (!tz)
                        return NULL;
        }
        zone = g_new0(Zone, 1);
        zone->name = g_strdup(name);
        zone->tz = tz;
        return zone;
}

Zone *zone_free(Zone *zone) {
        if (!zone)
                return NULL;
        g_clear_pointer(&zone->tz, g_time_zone_unref);
        g_free(zone->name);
        g_free(zone);
        return NULL;
}

const char *zone_name(const Zone *zone) {
        return zone->name;
}

bool zone_is_utc(const Zone *zone) {
        return !zone->tz;
}

int zone_span(const Zone *zone, int64_t utc) {
        return zone->tz ? g_time_zone_find_interval(zone->tz, G_TIME_TYPE_UNIVERSAL, utc) : 0;
}

int64_t zone_span_offset(const Zone *zone, int span) {
        return zone->tz ? g_time_zone_get_offset(zone->tz, span) : 0;
}

int64_t zone_span_begin(const Zone *zone, int span, int64_t low, int64_t high) {
        while (high - low > 1) {
                int64_t middle = low + (high - low) / 2;

                if (zone_span(zone, middle) < span)
                        low = middle;
                else
                        high = middle;
        }
        return high;
}

int64_t zone_first_instant(const Zone *zone, int64_t local) {
        int64_t low = local - ZONE_SHIFT_MAX, high = local + ZONE_SHIFT_MAX;
        int first = zone_span(zone, low), last = zone_span(zone, high);

        for (int span = first; span < last; span++) {
                int64_t instant = local - zone_span_offset(zone, span);
                int actual = zone_span(zone, instant);

                if (actual == span)
                        return instant;
                /* Not yet over in this span's time, but no longer in it, and in no later span's
                 * time reached: a gap behind this span. */
                if (actual > span) {
                        int64_t end = zone_span_begin(zone, span + 1, low, high);

                        if (local - zone_span_offset(zone, span + 1) < end)
                                return end;
                }
        }
        return local - zone_span_offset(zone, last);
}

int64_t zone_last_local(const Zone *zone, int64_t utc) {
        int64_t low = utc - ZONE_SHIFT_MAX;
        int now = zone_span(zone, utc);
        int64_t local = utc + zone_span_offset(zone, now);

        /* In the second pass of an overlap, the first pass of what is yet to come again is already
         * over. */
        for (int span = zone_span(zone, low); span < now; span++) {
                int64_t end = zone_span_begin(zone, span + 1, low, utc);

                local = MAX(local, end + zone_span_offset(zone, span) - 1);
        }
        return local;
}

int64_t zone_last_instant(const Zone *zone, int64_t local) {
        int64_t low = local - ZONE_SHIFT_MAX, high = local + ZONE_SHIFT_MAX;
        int first = zone_span(zone, low), last = zone_span(zone, high);

        for (int span = last; span > first; span--) {
                int64_t instant = local - zone_span_offset(zone, span);

                if (zone_span(zone, instant) == span)
                        return instant;
                /* In the time of the span before, it is not yet reached when that ends: a gap. */
                instant = local - zone_span_offset(zone, span - 1);
                if (zone_span(zone, instant) >= span)
                        return zone_span_begin(zone, span, low, high);
        }
        return local - zone_span_offset(zone, first);
}

/* In the first pass of an overlap, nothing of it has come for the last time. */
int64_t zone_last_local_over(const Zone *zone, int64_t utc) {
        int64_t high = utc + ZONE_SHIFT_MAX;
        int now = zone_span(zone, utc), last = zone_span(zone, high);
        int64_t local = utc + zone_span_offset(zone, now);

        for (int span = now + 1; span <= last; span++) {
                int64_t begin = zone_span_begin(zone, span, utc, high);

                local = MIN(local, begin + zone_span_offset(zone, span) - 1);
        }
        return local;
}

static int64_t zone_local(const Zone *zone, int64_t utc) {
        return utc + zone_span_offset(zone, zone_span(zone, utc));
}

bool zone_is_gap(const Zone *zone, int64_t local, int64_t *ret_before, int64_t *ret_after) {
        int64_t instant = zone_first_instant(zone, local), after = zone_local(zone, instant);

        if (after == local)
                return false;
        *ret_before = zone_local(zone, instant - 1);
        *ret_after = after;
        return true;
}

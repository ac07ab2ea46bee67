/* See ended-units.h. A line an end, "UNIT TIME WHY", or "UNIT TIME", appended with one write; or
 * "UNIT -", which takes back what stands before it. */
#include "ended-units.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "kept-file.h"

/* Versions before may have left one that is a little longer. */
#define ENDED_UNITS_FILE_MAX (2 * (size_t)ENDED_UNITS_BYTES_MAX)

#define ENDED_UNITS_RETRACTED "-"

struct EndedUnits {
        char *runtime_dir;
        GHashTable *units; /* name → EndedUnit */
};

static char *ended_units_path(const char *runtime_dir) {
        return g_build_filename(runtime_dir, "ended-units", NULL);
}

static void ended_unit_free(void *data) {
        EndedUnit *unit = data;

        g_free(unit->why);
        g_free(unit);
}

/* The first end counts, unless it came too late. */
static void ended_units_insert(GHashTable *ended, char *unit, usec_t when, const char *why) {
        EndedUnit *entry;

        if (why && g_hash_table_contains(ended, unit)) {
                g_free(unit);
                return;
        }
        entry = g_new0(EndedUnit, 1);
        entry->when = when;
        entry->why = g_strdup(why);
        g_hash_table_insert(ended, unit, entry);
}

/* What a line without a time says was always so. What is long over is passed over, and so is what
 * is yet to come. */
static void ended_units_take(GHashTable *ended, const char *line) {
        const char *space = strchr(line, ' ');
        char *rest;
        usec_t when;

        if (!space)
                return;
        if (strcmp(space + 1, ENDED_UNITS_RETRACTED) == 0) {
                g_autofree char *unit = g_strndup(line, (gsize)(space - line));

                g_hash_table_remove(ended, unit);
                return;
        }
        when = g_ascii_strtoull(space + 1, &rest, 10);
        if (when > clock_monotonic() ||
            (when > 0 && usec_sub(clock_monotonic(), when) > ENDED_UNITS_AGE_MAX))
                return;
        ended_units_insert(ended, g_strndup(line, (gsize)(space - line)), when,
                           *rest == '\0' ? NULL : g_strchug(rest));
}

GHashTable *ended_units_load(const char *runtime_dir) {
        GHashTable *ended = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, ended_unit_free);
        g_autofree char *path = ended_units_path(runtime_dir), *text = NULL;
        g_auto(GStrv) lines = NULL;

        text = kept_file_read(path, ENDED_UNITS_FILE_MAX,
                              "runs that jobkeeperd has ended may be taken for failed ones");
        if (!text)
                return ended;
        lines = g_strsplit(text, "\n", -1);
        for (char **line = lines; *line; line++)
                ended_units_take(ended, *line);
        return ended;
}

/* The older half of what is remembered goes: those are settled by now. */
static void ended_units_shorten(const char *path) {
        g_autofree char *text = NULL;
        const char *rest;
        size_t size = 0;

        if (state_file_read(path, ENDED_UNITS_FILE_MAX, &text, &size) < 0 ||
            size <= ENDED_UNITS_BYTES_MAX / 2)
                return;
        rest = strchr(text + size - ENDED_UNITS_BYTES_MAX / 2, '\n');
        (void)g_file_set_contents_full(path, rest ? rest + 1 : "", -1,
                                       G_FILE_SET_CONTENTS_CONSISTENT, 0600, NULL);
}

/* Return: newly allocated. Whoever had a run ended has said so elsewhere first: what came from
 * there makes one line, and not another one. */
static char *ended_units_line(const char *unit, usec_t when, const char *why) {
        char *line = g_strdup_printf("%s %" G_GUINT64_FORMAT "%s%s\n", unit, when, why ? " " : "",
                                     why ? why : "");

        for (char *at = line; at[1]; at++)
                if (g_ascii_iscntrl(*at))
                        *at = '?';
        return line;
}

static void ended_units_append(const char *runtime_dir, const char *line) {
        g_autofree char *path = ended_units_path(runtime_dir);
        _cleanup_close_ int fd = -1;
        struct stat st;

        if (lstat(path, &st) >= 0 && st.st_size + (off_t)strlen(line) > ENDED_UNITS_BYTES_MAX)
                ended_units_shorten(path);
        fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
        if (fd >= 0 && fstat(fd, &st) >= 0 && st.st_size < ENDED_UNITS_BYTES_MAX)
                (void)!write(fd, line, strlen(line));
}

void ended_units_add(const char *runtime_dir, const char *unit, usec_t when, const char *why) {
        g_autofree char *line = ended_units_line(unit, when, why);

        ended_units_append(runtime_dir, line);
}

void ended_units_retract(const char *runtime_dir, const char *unit) {
        g_autofree char *line = g_strconcat(unit, " " ENDED_UNITS_RETRACTED "\n", NULL);

        ended_units_append(runtime_dir, line);
}

EndedUnits *ended_units_new(const char *runtime_dir) {
        EndedUnits *ended = g_new0(EndedUnits, 1);

        ended->runtime_dir = g_strdup(runtime_dir);
        ended->units = ended_units_load(runtime_dir);
        return ended;
}

EndedUnits *ended_units_free(EndedUnits *ended) {
        if (!ended)
                return NULL;
        g_hash_table_unref(ended->units);
        g_free(ended->runtime_dir);
        g_free(ended);
        return NULL;
}

void ended_units_note(EndedUnits *ended, const char *unit, const char *why) {
        usec_t when = clock_monotonic();

        ended_units_insert(ended->units, g_strdup(unit), when, why);
        ended_units_add(ended->runtime_dir, unit, when, why);
}

const EndedUnit *ended_units_find(const EndedUnits *ended, const char *unit) {
        return unit ? g_hash_table_lookup(ended->units, unit) : NULL;
}

const char **ended_units_list(const EndedUnits *ended) {
        return (const char **)g_hash_table_get_keys_as_array(ended->units, NULL);
}

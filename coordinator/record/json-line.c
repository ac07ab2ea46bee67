/* See json-line.h. */
#include "json-line.h"

#include <glib.h>
#include <stdlib.h>

json_t *json_line_parse(const char *data, size_t size) {
        json_t *object;

        if (!data || size > JSON_LINE_MAX)
                return NULL;
        object = json_loadb(data, size, JSON_REJECT_DUPLICATES, NULL);
        if (object && !json_is_object(object)) {
                json_decref(object);
                return NULL;
        }
        return object;
}

char *json_line_dump(json_t *object) {
        char *dumped = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(16));
        char *line = g_strdup(dumped);

        free(dumped); // NOLINT(bugprone-unused-return-value): jansson allocates with malloc, ours
                      // is GLib's
        json_decref(object);
        return line;
}

json_t *said_to_json(const char *text) {
        g_autofree char *valid = g_utf8_make_valid(text, -1);
        const char *end = valid;

        while (*end && (size_t)(g_utf8_next_char(end) - valid) <= SAID_TEXT_MAX)
                end = g_utf8_next_char(end);
        return json_stringn(valid, (size_t)(end - valid));
}

json_t *seconds_to_json(usec_t value) {
        return json_real((double)value / (double)USEC_PER_SEC);
}

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

json_t *seconds_to_json(usec_t value) {
        return json_real((double)value / (double)USEC_PER_SEC);
}

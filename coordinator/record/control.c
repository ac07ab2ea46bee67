/* See control.h. */
#include "control.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "json-line.h"
#include "name.h"

#define DRAINED "drained"
#define PAUSED "paused"

/* ---- as a whole ---- */

json_t *control_parse(const char *data, size_t size) {
        json_t *control = json_line_parse(data, size);
        const json_t *drained = json_object_get(control, DRAINED),
                     *paused = json_object_get(control, PAUSED),
                     *jobs = json_object_get(paused, "jobs");

        if ((!drained || json_is_object(drained)) && (!paused || json_is_object(paused)) &&
            (!jobs || json_is_object(jobs)))
                return control;
        json_decref(control);
        return NULL;
}

char *control_encode(const json_t *control) {
        g_autofree char *text = json_line_dump(json_deep_copy(control));

        return strlen(text) <= JSON_LINE_MAX ? g_steal_pointer(&text) : NULL;
}

/* ---- one that is drained ---- */

bool control_is_drained(const json_t *control, const char *node, ControlDrain *ret_drain) {
        const json_t *entry = json_object_get(json_object_get(control, DRAINED), node);

        if (entry && ret_drain)
                statement_read(entry, ret_drain);
        return entry;
}

int control_drain(json_t *control, const char *node, const ControlDrain *drain) {
        json_t *drained = json_object_get(control, DRAINED);

        if (!drained) {
                drained = json_object();
                json_object_set_new(control, DRAINED, drained);
        }
        if (json_object_size(drained) >= CONTROL_DRAINED_MAX && !json_object_get(drained, node))
                return -ENOSPC;
        json_object_set_new(drained, node, statement_write(drain));
        return 0;
}

bool control_undrain(json_t *control, const char *node) {
        json_t *drained = json_object_get(control, DRAINED);
        bool was = json_object_del(drained, node) == 0;

        if (was && json_object_size(drained) == 0)
                json_object_del(control, DRAINED);
        return was;
}

/* ---- for people ---- */

char *control_drain_to_text(const ControlDrain *drain) {
        g_autofree char *text = statement_to_text(drain);

        return g_strconcat("drained", text, NULL);
}

json_t *control_drains_to_json(const json_t *control) {
        json_t *array = json_array(), *drained = json_object_get(control, DRAINED), *entry;
        const char *node;

        json_object_foreach(drained, node, entry) {
                ControlDrain drain = {0};
                json_t *object;

                if (!name_is_valid(node)) /* there can be no such node */
                        continue;
                statement_read(entry, &drain);
                object = statement_to_json(&drain);
                json_object_set_new(object, "node", json_string(node));
                json_array_append_new(array, object);
                statement_clear(&drain);
        }
        return array;
}

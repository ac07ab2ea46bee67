/* See control.h. */
#include "control.h"

#include <errno.h>
#include <glib.h>

#include "field.h"
#include "json-line.h"
#include "name.h"

#define DRAINED "drained"

static const Field drain_fields[] = {
    {.key = "by", .kind = FIELD_STRING, .offset = offsetof(ControlDrain, by)},
    {.key = "why", .kind = FIELD_STRING, .offset = offsetof(ControlDrain, why)},
    {.key = "since", .kind = FIELD_TIME, .offset = offsetof(ControlDrain, since)},
    {NULL},
};

void control_drain_clear(ControlDrain *drain) {
        field_table_clear(drain_fields, drain);
}

/* ---- as a whole ---- */

json_t *control_parse(const char *data, size_t size) {
        json_t *control = json_line_parse(data, size);
        const json_t *drained = json_object_get(control, DRAINED);

        if (!drained || json_is_object(drained))
                return control;
        json_decref(control);
        return NULL;
}

char *control_encode(const json_t *control) {
        return json_line_dump(json_deep_copy(control));
}

/* ---- one that is drained ---- */

/* What a terminal or a log would take for more than a text. Return: newly allocated. */
static char *control_clean(const char *text) {
        g_autofree char *valid = g_utf8_make_valid(text ? text : "", -1);
        GString *clean = g_string_new(NULL);

        for (const char *at = valid; *at; at = g_utf8_next_char(at)) {
                gunichar character = g_utf8_get_char(at);
                bool bad = g_unichar_iscntrl(character) ||
                           g_unichar_type(character) == G_UNICODE_FORMAT ||
                           g_unichar_type(character) == G_UNICODE_LINE_SEPARATOR ||
                           g_unichar_type(character) == G_UNICODE_PARAGRAPH_SEPARATOR;
                const char *next = bad ? "?" : NULL;
                gsize size = next ? 1 : (gsize)(g_utf8_next_char(at) - at);

                if (clean->len + size > SAID_TEXT_MAX)
                        break;
                g_string_append_len(clean, next ? next : at, (gssize)size);
        }
        return g_string_free(clean, FALSE);
}

/* What cannot be read of it does not make the node any less drained. */
static void control_take_drain(const json_t *entry, ControlDrain *ret_drain) {
        ControlDrain read = {0};
        bool good = json_is_object(entry) && field_table_from_json(drain_fields, entry, &read);

        *ret_drain = (ControlDrain){
            .by = control_clean(good ? read.by : NULL),
            .why = control_clean(good ? read.why : NULL),
            .since = good ? read.since : 0,
        };
        control_drain_clear(&read);
}

bool control_is_drained(const json_t *control, const char *node, ControlDrain *ret_drain) {
        const json_t *entry = json_object_get(json_object_get(control, DRAINED), node);

        if (entry && ret_drain)
                control_take_drain(entry, ret_drain);
        return entry;
}

int control_drain(json_t *control, const char *node, const ControlDrain *drain) {
        json_t *drained = json_object_get(control, DRAINED);
        ControlDrain clean = {control_clean(drain->by), control_clean(drain->why), drain->since};
        int r = 0;

        if (!drained) {
                drained = json_object();
                json_object_set_new(control, DRAINED, drained);
        }
        if (json_object_size(drained) >= CONTROL_DRAINED_MAX && !json_object_get(drained, node))
                r = -ENOSPC;
        else
                json_object_set_new(drained, node, field_table_to_json(drain_fields, &clean));
        control_drain_clear(&clean);
        return r;
}

bool control_undrain(json_t *control, const char *node) {
        json_t *drained = json_object_get(control, DRAINED);
        bool was = json_object_del(drained, node) == 0;

        if (was && json_object_size(drained) == 0)
                json_object_del(control, DRAINED);
        return was;
}

/* ---- for people ---- */

json_t *control_drain_to_json(const ControlDrain *drain) {
        json_t *object = json_object();

        json_object_set_new(object, "by", said_to_json(drain->by));
        json_object_set_new(object, "why", said_to_json(drain->why));
        json_object_set_new(object, "since",
                            drain->since ? seconds_to_json(drain->since) : json_null());
        return object;
}

char *control_drain_to_text(const ControlDrain *drain) {
        g_autoptr(GDateTime) since =
            g_date_time_new_from_unix_utc((gint64)(drain->since / USEC_PER_SEC));
        g_autofree char *when =
            drain->since && since ? g_date_time_format(since, " since %F %T UTC") : NULL;

        return g_strdup_printf("drained%s%s%s%s%s", when ? when : "", *drain->by ? " by " : "",
                               drain->by, *drain->why ? ": " : "", drain->why);
}

json_t *control_drains_to_json(const json_t *control) {
        json_t *array = json_array(), *drained = json_object_get(control, DRAINED), *entry;
        const char *node;

        json_object_foreach(drained, node, entry) {
                ControlDrain drain = {0};
                json_t *object;

                if (!name_is_valid(node)) /* there can be no such node */
                        continue;
                control_take_drain(entry, &drain);
                object = control_drain_to_json(&drain);
                json_object_set_new(object, "node", json_string(node));
                json_array_append_new(array, object);
                control_drain_clear(&drain);
        }
        return array;
}

/* See field.h. */
#include "field.h"

#include <glib.h>
#include <math.h>
#include <string.h>

#include "clock.h"
#include "json-line.h"

/* Times from here on (the year 2239) are refused: no kernel lets a clock be set as far. Below it, a
 * double still tells two neighbouring microseconds apart. */
#define TIME_LIMIT 8.5e9

static void *field_member(const Field *field, const void *record) {
        return (char *)record + field->offset;
}

/* ---- numbers of every width are int64_t in between ---- */

static int64_t field_number(const Field *field, const void *record) {
        const void *member = field_member(field, record);

        switch (field->kind) {
        case FIELD_UNSIGNED:
        case FIELD_WORD:
                return *(const unsigned *)member;
        case FIELD_INT:
                return *(const int *)member;
        case FIELD_BOOL:
                return *(const bool *)member;
        case FIELD_TIME:
                return (int64_t) * (const usec_t *)member;
        case FIELD_TICK:
                return *(const int64_t *)member;
        default:
                g_assert_not_reached();
        }
}

static void field_set_number(const Field *field, void *record, int64_t number) {
        void *member = field_member(field, record);

        switch (field->kind) {
        case FIELD_UNSIGNED:
        case FIELD_WORD:
                *(unsigned *)member = (unsigned)number;
                return;
        case FIELD_INT:
                *(int *)member = (int)number;
                return;
        case FIELD_BOOL:
                *(bool *)member = number;
                return;
        case FIELD_TIME:
                *(usec_t *)member = (usec_t)number;
                return;
        case FIELD_TICK:
                *(int64_t *)member = number;
                return;
        default:
                g_assert_not_reached();
        }
}

/* ---- writing ---- */

static json_t *field_paths_to_json(char *const *paths) {
        json_t *array = json_array();

        for (char *const *path = paths; *path; path++)
                json_array_append_new(array, json_string(*path));
        return array;
}

/* Return: a new reference; NULL for a member that has its none value. */
static json_t *field_to_json(const Field *field, const void *record) {
        const void *member = field_member(field, record);
        char *const *paths;
        const char *text;
        int64_t number;

        if (field->kind == FIELD_STRING) {
                text = *(char *const *)member;
                return text && *text ? json_string(text) : NULL;
        }
        if (field->kind == FIELD_PATHS) {
                paths = *(char **const *)member;
                return paths && *paths ? field_paths_to_json(paths) : NULL;
        }
        number = field_number(field, record);
        if (field->kind == FIELD_WORD)
                return *field->words[number] ? json_string(field->words[number]) : NULL;
        if (number == field->none)
                return NULL;
        if (field->kind == FIELD_BOOL)
                return json_true();
        return field->kind == FIELD_TIME ? seconds_to_json((usec_t)number) : json_integer(number);
}

json_t *field_table_to_json(const Field *fields, const void *record) {
        json_t *object = json_object();

        for (const Field *field = fields; field->key; field++) {
                json_t *value = field_to_json(field, record);

                if (!value && field->as_null)
                        value = json_null();
                if (value)
                        json_object_set_new(object, field->key, value);
        }
        return object;
}

/* ---- reading ---- */

static bool field_take_string(const Field *field, const json_t *value, void *record) {
        char **member = field_member(field, record);

        if (!json_is_string(value))
                return false;
        g_free(*member);
        *member = g_strdup(json_string_value(value));
        return true;
}

static bool field_take_paths(const Field *field, const json_t *value, void *record) {
        g_autoptr(GPtrArray) paths = g_ptr_array_new_null_terminated(0, g_free, TRUE);
        char ***member = field_member(field, record);
        const json_t *path;
        size_t index;

        if (!json_is_array(value))
                return false;
        json_array_foreach(value, index, path) {
                if (!json_is_string(path) || json_string_value(path)[0] != '/')
                        return false;
                g_ptr_array_add(paths, g_strdup(json_string_value(path)));
        }
        g_strfreev(*member);
        *member = (char **)g_ptr_array_free(g_steal_pointer(&paths), FALSE);
        return true;
}

/* Seconds and their fraction apart: together they need more digits than a double has. */
static bool field_take_time(const Field *field, const json_t *value, void *record) {
        double number = json_number_value(value), whole = floor(number);

        if (!json_is_number(value) || !(number >= 0 && number < TIME_LIMIT))
                return false;
        field_set_number(field, record,
                         (int64_t)whole * (int64_t)USEC_PER_SEC +
                             llround((number - whole) * (double)USEC_PER_SEC));
        return true;
}

static bool field_take_word(const Field *field, const json_t *value, void *record) {
        const char *text = json_string_value(value);

        for (int64_t i = 0; text && field->words[i]; i++)
                if (strcmp(field->words[i], text) == 0) {
                        field_set_number(field, record, i);
                        return true;
                }
        return false;
}

static bool field_take_integer(const Field *field, const json_t *value, void *record) {
        if (!json_is_integer(value) || json_integer_value(value) < field->low ||
            json_integer_value(value) > field->high)
                return false;
        field_set_number(field, record, json_integer_value(value));
        return true;
}

static bool field_take(const Field *field, const json_t *value, void *record) {
        switch (field->kind) {
        case FIELD_STRING:
                return field_take_string(field, value, record);
        case FIELD_PATHS:
                return field_take_paths(field, value, record);
        case FIELD_TIME:
                return json_is_null(value) || field_take_time(field, value, record);
        case FIELD_WORD:
                return field_take_word(field, value, record);
        case FIELD_BOOL:
                field_set_number(field, record, json_is_true(value));
                return json_is_boolean(value);
        default:
                return json_is_null(value) || field_take_integer(field, value, record);
        }
}

static bool field_must_be_there(const Field *field) {
        return field->kind == FIELD_WORD && *field->words[0];
}

bool field_table_from_json(const Field *fields, const json_t *object, void *record) {
        if (!json_is_object(object))
                return false;
        for (const Field *field = fields; field->key; field++) {
                const json_t *value = json_object_get(object, field->key);

                if (value ? !field_take(field, value, record) : field_must_be_there(field))
                        return false;
        }
        return true;
}

/* ---- what is owned ---- */

void field_table_clear(const Field *fields, void *record) {
        for (const Field *field = fields; field->key; field++) {
                void *member = field_member(field, record);

                if (field->kind == FIELD_STRING)
                        g_clear_pointer((char **)member, g_free);
                else if (field->kind == FIELD_PATHS)
                        g_clear_pointer((char ***)member, g_strfreev);
        }
}

void field_table_own(const Field *fields, void *record) {
        for (const Field *field = fields; field->key; field++) {
                void *member = field_member(field, record);

                if (field->kind == FIELD_STRING)
                        *(char **)member = g_strdup(*(char **)member);
                else if (field->kind == FIELD_PATHS)
                        *(char ***)member = g_strdupv(*(char ***)member);
        }
}

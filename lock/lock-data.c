/* See lock-data.h. */
#include "lock-data.h"

#include <glib.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define SERVED "served"
#define SLOTS "slots"

static char *data_number(const char *key, int64_t number) {
        return g_strdup_printf("{\"%s\": %" PRId64 "}", key, number);
}

char *data_served(int64_t sequence) {
        return data_number(SERVED, sequence);
}

char *data_slots(unsigned slots) {
        return data_number(SLOTS, slots);
}

char *data_single(const char *uuid, const char *payload) {
        g_autofree char *valid = g_utf8_make_valid(payload, -1);
        json_t *object = json_pack("{s:s, s:s}", "id", uuid, "payload", valid);
        char *text = json_dumps(object, JSON_COMPACT), *data = g_strdup(text);

        json_decref(object);
        free(text);
        return data;
}

static json_t *data_parse(const char *text, size_t size) {
        return json_loadb(text ? text : "", text ? size : 0, 0, NULL);
}

/* Return: false when there is no such number. */
static bool data_get_number(const char *text, size_t size, const char *key, int64_t *ret_number) {
        json_t *object = data_parse(text, size), *value = json_object_get(object, key);
        bool found = json_is_integer(value);

        if (found)
                *ret_number = json_integer_value(value);
        json_decref(object);
        return found;
}

bool data_get_served(const char *text, size_t size, int64_t *ret_sequence) {
        return data_get_number(text, size, SERVED, ret_sequence);
}

unsigned data_get_slots(const char *text, size_t size) {
        int64_t slots = 0;

        return data_get_number(text, size, SLOTS, &slots) && slots > 0 && slots <= INT32_MAX
                   ? (unsigned)slots
                   : 0;
}

char *data_get_single(const char *text, size_t size) {
        json_t *object = data_parse(text, size);
        char *uuid = g_strdup(json_string_value(json_object_get(object, "id")));

        json_decref(object);
        return uuid;
}

bool data_asks_to_let_go(const char *text, size_t size) {
        return size == strlen(DATA_REVOKE) && memcmp(text, DATA_REVOKE, size) == 0;
}

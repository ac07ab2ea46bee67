/* field.c: records described by a table. */
#include <criterion/criterion.h>
#include <glib.h>

#include "clock.h"
#include "field.h"

typedef enum Colour { RED, GREEN } Colour;

typedef struct Thing {
        char *name;
        char **paths;
        int64_t tick;
        unsigned count;
        int status;
        bool broken;
        usec_t at;
        Colour colour;
} Thing;

static const char *const colours[] = {"red", "green", NULL};

static const Field things[] = {
    {"name", FIELD_STRING, offsetof(Thing, name)},
    {"paths", FIELD_PATHS, offsetof(Thing, paths)},
    {"tick", FIELD_TICK, offsetof(Thing, tick), .high = 100, .as_null = true},
    {"count", FIELD_UNSIGNED, offsetof(Thing, count), .low = 1, .high = UINT32_MAX},
    {"status", FIELD_INT, offsetof(Thing, status), .none = -1, .high = 255},
    {"broken", FIELD_BOOL, offsetof(Thing, broken)},
    {"at", FIELD_TIME, offsetof(Thing, at)},
    {"colour", FIELD_WORD, offsetof(Thing, colour), .words = colours},
    {NULL},
};

static char *written(const Thing *thing) {
        json_t *object = field_table_to_json(things, thing);
        char *text = json_dumps(object, JSON_COMPACT);

        json_decref(object);
        return text;
}

static bool reads(const char *text, Thing *ret_thing) {
        json_t *object = json_loads(text, JSON_DECODE_ANY, NULL);
        bool good;

        cr_assert_not_null(object, "%s", text);
        *ret_thing = (Thing){.status = -1};
        good = field_table_from_json(things, object, ret_thing);
        json_decref(object);
        return good;
}

Test(field, everything_there_and_back) {
        char *paths[] = {(char *)"/a", (char *)"/b", NULL};
        Thing thing = {.name = (char *)"x",
                       .paths = paths,
                       .tick = 7,
                       .count = UINT32_MAX,
                       .status = 0,
                       .broken = true,
                       .at = 1500 * USEC_PER_MSEC,
                       .colour = GREEN},
              found;
        g_autofree char *text = written(&thing);

        cr_assert_str_eq(text, "{\"name\":\"x\",\"paths\":[\"/a\",\"/"
                               "b\"],\"tick\":7,\"count\":4294967295,\"status\":0,"
                               "\"broken\":true,\"at\":1.5,\"colour\":\"green\"}");
        cr_assert(reads(text, &found));
        cr_expect_str_eq(found.name, "x");
        cr_expect_str_eq(found.paths[1], "/b");
        cr_expect_eq(found.tick, 7);
        cr_expect_eq(found.count, UINT32_MAX);
        cr_expect_eq(found.status, 0);
        cr_expect(found.broken);
        cr_expect_eq(found.at, 1500 * USEC_PER_MSEC);
        cr_expect_eq(found.colour, GREEN);
        field_table_clear(things, &found);
        cr_expect_null(found.name);
        cr_expect_null(found.paths);
}

Test(field, none_is_left_out_and_comes_back) {
        Thing thing = {.status = -1}, found;
        g_autofree char *text = written(&thing);

        cr_assert_str_eq(text, "{\"tick\":null,\"colour\":\"red\"}");
        cr_assert(reads(text, &found));
        cr_expect_eq(found.status, -1);
        cr_expect_eq(found.tick, 0);
        cr_expect_null(found.name);
}

Test(field, what_is_not_ours_is_refused) {
        static const char *const bad[] = {
            "[]",
            "{}",
            "{\"colour\":\"blue\"}",
            "{\"colour\":1}",
            "{\"colour\":\"red\",\"name\":7}",
            "{\"colour\":\"red\",\"name\":null}",
            "{\"colour\":\"red\",\"paths\":[\"a\"]}",
            "{\"colour\":\"red\",\"paths\":[\"/a\",7]}",
            "{\"colour\":\"red\",\"paths\":\"/a\"}",
            "{\"colour\":\"red\",\"tick\":101}",
            "{\"colour\":\"red\",\"tick\":-1}",
            "{\"colour\":\"red\",\"tick\":1.5}",
            "{\"colour\":\"red\",\"count\":0}",
            "{\"colour\":\"red\",\"count\":4294967296}",
            "{\"colour\":\"red\",\"status\":\"0\"}",
            "{\"colour\":\"red\",\"broken\":1}",
            "{\"colour\":\"red\",\"at\":-1}",
            "{\"colour\":\"red\",\"at\":8.5e9}",
            "{\"colour\":\"red\",\"at\":\"now\"}",
        };

        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                Thing thing;
                cr_expect_not(reads(bad[i], &thing), "%s", bad[i]);
                field_table_clear(things, &thing);
        }
}

Test(field, a_copy_owns_what_it_has) {
        Thing thing, copy;

        cr_assert(reads("{\"colour\":\"red\",\"name\":\"x\",\"paths\":[\"/a\"]}", &thing));
        copy = thing;
        field_table_own(things, &copy);
        field_table_clear(things, &thing);
        cr_expect_str_eq(copy.name, "x");
        cr_expect_str_eq(copy.paths[0], "/a");
        field_table_clear(things, &copy);
}

/* A word that is empty is none, as nothing is of other kinds. */
Test(field, a_word_that_may_be_missing) {
        static const char *const maybe[] = {"", "green", NULL};
        static const Field fields[] = {
            {"colour", FIELD_WORD, offsetof(Thing, colour), .words = maybe}, {NULL}};
        static const struct {
                const char *text;
                Colour colour;
        } forms[] = {{"{}", RED}, {"{\"colour\":\"green\"}", GREEN}};
        json_t *wrong = json_pack("{s:s}", "colour", "blue");
        Thing thing = {0};

        for (size_t i = 0; i < G_N_ELEMENTS(forms); i++) {
                json_t *object = json_loads(forms[i].text, 0, NULL), *again;
                g_autofree char *text = NULL;

                thing.colour = RED;
                cr_expect(field_table_from_json(fields, object, &thing), "%s", forms[i].text);
                cr_expect_eq(thing.colour, forms[i].colour);
                again = field_table_to_json(fields, &thing);
                text = json_dumps(again, JSON_COMPACT);
                cr_expect_str_eq(text, forms[i].text);
                json_decref(again);
                json_decref(object);
        }
        cr_expect_not(field_table_from_json(fields, wrong, &thing));
        json_decref(wrong);
}

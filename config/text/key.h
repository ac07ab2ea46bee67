/* Key tables: what may stand in a configuration file, as data.
 *
 * A KeyTable lists the keys of a mapping, each with the forms its value may have, its default as
 * people would write it, its range or its choices, what of it is not supported yet, and a line of
 * documentation. One walk over a table decodes a file into plain data; other walks over the same
 * tables make the JSON schema and the manual's tables, so that the three cannot disagree.
 *
 * The decoder collects errors and goes on. A field whose value was refused keeps what it had
 * before.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "diagnostics.h"
#include "yaml.h"

typedef struct Key Key;
typedef struct KeyTable KeyTable;
typedef struct KeyChoice KeyChoice;

/* The forms of a value: a set, with at most one of the scalar forms (those before KEY_LIST) in it.
 */
typedef enum KeyForm {
        KEY_TEXT = 1 << 0,     /* a text, not a plain number, boolean or null */
        KEY_LITERAL = 1 << 1,  /* any scalar but null, taken as the text that was written */
        KEY_INTEGER = 1 << 2,  /* from min to max */
        KEY_SWITCH = 1 << 3,   /* yes, no, true or false */
        KEY_DURATION = 1 << 4, /* systemd's form or whole seconds, from min to max; infinity where
                                  max is USEC_INFINITY */
        KEY_CHOICE = 1 << 5,   /* one of choices */
        KEY_LIST = 1 << 6,     /* each item as `entry` says */
        KEY_MAPPING = 1 << 7,  /* free names, each value as `entry` says */
        KEY_TABLE = 1 << 8,    /* a mapping with the keys of `table` */
        KEY_NOTHING = 1 << 9,  /* may also be empty: then the key counts as absent */
        KEY_NONE = 1 << 10, /* beside a text: the empty list, which takes away what stood there */
} KeyForm;

typedef enum KeyFlags {
        KEY_DEFAULT_ONLY = 1 << 0, /* any other value than the default (for collections: empty) is
                                      not supported yet */
        KEY_JOB_ONLY = 1 << 1,     /* may not stand in a job file's `defaults:` */
        KEY_NAMES = 1 << 3,        /* what stands in the mapping has names like those of jobs */
        KEY_BY_TAKE = 1 << 2,      /* what is in the list or mapping is decoded by `take` alone */
} KeyFlags;

struct KeyChoice {
        const char *name; /* NULL ends the choices */
        int value;
};

struct Key {
        const char
            *name;      /* NULL ends a table; of an `entry`: what a value stands for, for people */
        unsigned forms; /* KeyForm */
        unsigned flags; /* KeyFlags */
        const char *fallback;      /* the default as people write it; NULL: none */
        const char *documentation; /* one sentence */
        const char *pattern;   /* for editors: what a text must look like at least; may be NULL */
        const char *needs;     /* for editors: the key that must stand beside this; may be NULL */
        char **(*names)(void); /* for editors: which names a mapping may have, newly allocated
                                  (g_strfreev); may be NULL */
        uint64_t min, max;
        const KeyChoice *choices;
        const Key *entry;
        const KeyTable *table;

        /* Where a scalar goes in the target (KEY_FIELD), and its mark (KEY_MARK_FIELD). size 0:
         * nowhere. An int, unsigned or enum has 4 bytes, a usec_t 8, a bool 1; a text is a char *
         * that the target owns. */
        size_t offset, size;
        size_t mark_offset; /* 0: nowhere (a mark is never the first member) */

        /* Says what is wrong with a text, as a sentence fragment ("is empty"), or NULL: with one
         * that is a value, or that stands where another form is meant. May be NULL itself. */
        const char *(*fault)(const char *text);
        /* Takes over what no field can hold. Called with a value of the right form that all other
         * checks passed. */
        void (*take)(const Key *key, const YamlNode *node, void *target, Diagnostics *diagnostics);
};

struct KeyTable {
        const char *title; /* what the mapping is: "a job" */
        const Key *keys;

        /* Says what to write instead of a key that is none of these, newly allocated (g_free); NULL
         * where it knows nothing of it. May be NULL itself. */
        char *(*advice)(const YamlPair *pair);
};

#define KEY_FIELD(Type, member)                                                                    \
        .offset = offsetof(Type, member), .size = sizeof(((Type *)NULL)->member)
#define KEY_MARK_FIELD(Type, member) .mark_offset = offsetof(Type, member)

/* A key that is known and whose default is the only value that is supported: what it may be one day
 * (`form`, the rest as in Key) is read, and refused where it is anything else. */
#define KEY_RESERVED(key, form, only, sentence, ...)                                               \
        {                                                                                          \
                .name = (key), .forms = (form), .flags = KEY_DEFAULT_ONLY, .fallback = (only),     \
                .documentation = (sentence), __VA_ARGS__                                           \
        }

/* Sets every field of `target` that has a default, in nested tables too. */
void key_table_set_defaults(const KeyTable *table, void *target);

/* Decodes a mapping into `target`; NULL checks only. Faults go to `diagnostics`. */
void key_table_decode(const KeyTable *table, const YamlNode *node, void *target,
                      Diagnostics *diagnostics);

/* Decodes one value. `label` is how messages call it: "\"timeout\"". Return: whether it was taken.
 */
bool key_decode(const Key *key, const char *label, const YamlNode *node, void *target,
                Diagnostics *diagnostics);

/* Return: the key of that name, NULL when the table has none. */
const Key *key_table_find(const KeyTable *table, const char *name);

/* Return: the number that a checked integer, duration, choice or switch stands for. */
uint64_t key_number(const Key *key, const YamlNode *node);

/* Faults for Key.fault: of a text on one line; of an absolute, normalised path; of a user or group;
 * of the name of a resource that is no job's own. */
const char *line_fault(const char *text);
const char *path_fault(const char *text);
const char *account_fault(const char *text);
const char *resource_name_fault(const char *text);

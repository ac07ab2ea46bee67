/* Field tables: a record that stands in ZooKeeper or goes over the bus is described once, and
 * written, read, copied and freed by that description.
 *
 * A table is an array that ends with a field without a key. Each field names the member of the
 * struct by its offset and says which values are ours: what is outside `low` and `high`, or of
 * another type, is not a record of ours. A member that has its `none` value is not written, and one
 * that is not there keeps what the struct had before: so a struct begins with its `none` values. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum FieldKind {
        FIELD_STRING,   /* char *; none: NULL or "" */
        FIELD_PATHS,    /* char **, of absolute paths, NULL-terminated; none: NULL or no element */
        FIELD_TICK,     /* int64_t; as an integer */
        FIELD_UNSIGNED, /* unsigned */
        FIELD_INT,      /* int */
        FIELD_WORD,     /* an enum: unsigned, an index into `words`; none: a first word that is "",
                           without such a one it is always written and always there */
        FIELD_TIME,     /* usec_t; in seconds, to the microsecond */
        FIELD_BOOL,     /* bool; none: false */
} FieldKind;

typedef struct Field {
        const char *key;
        FieldKind kind;
        size_t offset;
        int64_t none;             /* of numbers */
        int64_t low, high;        /* of numbers, inclusive */
        const char *const *words; /* FIELD_WORD: NULL-terminated */
        bool as_null;             /* none is written as null */
} Field;

/* Return: a new reference. */
json_t *field_table_to_json(const Field *fields, const void *record);
/* Return: whether everything that is there is of its kind; if not, some members may have been taken
 * all the same, and field_table_clear() frees them. */
bool field_table_from_json(const Field *fields, const json_t *object, void *record);
/* Frees and forgets what the members own. */
void field_table_clear(const Field *fields, void *record);
/* After a plain assignment of the struct: makes the members that are owned the copy's own. */
void field_table_own(const Field *fields, void *record);

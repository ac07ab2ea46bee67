/* A table: headings and rows of plain text, apart from its printing by libsmartcols, so that what
 * stands in the cells can be tested. */
#pragma once

#include <glib.h>
#include <stdio.h>

#include "cleanup.h"

#define TABLE_COLUMNS_MAX 12

typedef struct Table {
        const char *const *headings; /* NULL-terminated, borrowed: constants */
        int colour_column;           /* the cells that are coloured by their first word, or -1 */
        GPtrArray *rows;             /* char **, as long as the headings */
        GHashTable *nested;          /* set of those rows that stand below another */
} Table;

Table *table_new(const char *const *headings, int colour_column);
Table *table_free(Table *table);
DEFINE_CLEANUP(Table, table_free);

/* Appends a row; takes ownership of the cells, which are newly allocated. Too few become "", and
 * too many abort. NULL ends the list, so an empty cell is g_strdup(""). */
void table_add(Table *table, ...) __attribute__((sentinel));

/* Has the last row stand below the last one that was not nested: the first column becomes a tree.
 */
void table_nest(Table *table);

/* Writes it to `out` in columns, in colours where `out` is a terminal and NO_COLOR is not set.
 * Columns whose cells are all empty are left out; where there are no rows nothing is written.
 * Return: 0 or negative errno. */
int table_print(const Table *table, FILE *out);

/* Return: the colour that a state's word is shown in, or NULL. Pure. */
const char *table_colour(const char *cell);

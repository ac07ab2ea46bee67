/* A table: headings and rows of plain text, apart from its printing by libsmartcols, so that what
 * stands in the cells can be tested. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>

#include "cleanup.h"

#define TABLE_COLUMNS_MAX 12

typedef struct Table {
        const char *const *headings; /* NULL-terminated, borrowed: constants */
        int colour_column;           /* the cells that are coloured by their first word, or -1 */
        guint brief;                 /* bits of the columns whose cells have a brief form */
        bool notes;                  /* the last column is a sentence about the row */
        GPtrArray *rows;             /* char **, as long as the headings */
        GHashTable *nested;          /* set of those rows that stand below another */
} Table;

Table *table_new(const char *const *headings, int colour_column);
Table *table_free(Table *table);
DEFINE_CLEANUP(Table, table_free);

/* Says how cells may be shown where a terminal is too narrow for all of them: those of `column` by
 * what stands in their parentheses alone ("07:42:00 (in 3h 2min)"); those of the last column below
 * their row, for they are sentences about it. */
void table_set_brief(Table *table, guint column);
void table_set_notes(Table *table);

/* Appends a row; takes ownership of the cells, which are newly allocated. Too few become "", and
 * too many abort. NULL ends the list, so an empty cell is g_strdup(""). */
void table_add(Table *table, ...) __attribute__((sentinel));

/* Has the last row stand below the last one that was not nested: the first column becomes a tree.
 */
void table_nest(Table *table);

/* Writes it to `out` in columns, in colours where `out` is a terminal and NO_COLOR is not set.
 * Columns whose cells are all empty are left out; where there are no rows nothing is written. On a
 * terminal it fits: no text is cut, long ones are wrapped between words, and where there is no room
 * for columns each row is a block of lines. Otherwise each row is one line.
 * Return: 0 or negative errno. */
int table_print(const Table *table, FILE *out);

/* Return: how many columns the terminal behind `out` has; 0: it is none, or does not know. */
guint terminal_width(FILE *out);

/* The same for a terminal of that width; 0: for none. */
int table_print_to_width(const Table *table, FILE *out, guint width, bool colours);

/* Return: the colour that a state's word is shown in, or NULL. Pure. */
const char *table_colour(const char *cell);

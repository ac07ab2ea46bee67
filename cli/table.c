/* See table.h. Every column is as wide as its cells, whatever the terminal's width: a job's name
 * that is cut or broken helps nobody, so a line that is too long is left for the terminal to fold,
 * and sentences stand in the last column. libsmartcols shows control characters as \x escapes, so
 * no cell can write to the terminal what it likes. */
#include "table.h"

#include <libsmartcols/libsmartcols.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct StateColour {
        const char *word;
        const char *colour;
} StateColour;

static const StateColour state_colours[] = {
    {"holds", "green"},     {"waits", "yellow"},   {"foreign", "red"},    {"succeeded", "green"},
    {"running", "cyan"},    {"claimed", "cyan"},   {"in", "cyan"},        {"no-node", "red"},
    {"waiting", "yellow"},  {"skipped", "yellow"}, {"drifted", "yellow"}, {"unfit", "yellow"},
    {"unread", "red"},      {"failed", "red"},     {"timed-out", "red"},  {"stopped", "red"},
    {"interrupted", "red"}, {"unknown", "magenta"}};

Table *table_new(const char *const *headings, int colour_column) {
        Table *table = g_new0(Table, 1);

        table->headings = headings;
        table->colour_column = colour_column;
        table->rows = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
        table->nested = g_hash_table_new(NULL, NULL);
        return table;
}

Table *table_free(Table *table) {
        if (!table)
                return NULL;
        g_ptr_array_unref(table->rows);
        g_hash_table_unref(table->nested);
        g_free(table);
        return NULL;
}

void table_add(Table *table, ...) {
        guint columns = g_strv_length((char **)table->headings);
        char **row = g_new0(char *, columns + 1);
        va_list cells;
        char *cell = NULL;
        guint used = 0;

        va_start(cells, table);
        while ((cell = va_arg(cells, char *))) {
                g_assert(used < columns);
                row[used++] = cell;
        }
        va_end(cells);
        while (used < columns)
                row[used++] = g_strdup("");
        g_ptr_array_add(table->rows, row);
}

void table_nest(Table *table) {
        g_assert(table->rows->len > 0);
        (void)g_hash_table_add(table->nested, table->rows->pdata[table->rows->len - 1]);
}

const char *table_colour(const char *cell) {
        size_t length = strcspn(cell, " ");

        for (size_t i = 0; i < G_N_ELEMENTS(state_colours); i++)
                if (strlen(state_colours[i].word) == length &&
                    strncmp(cell, state_colours[i].word, length) == 0)
                        return state_colours[i].colour;
        return NULL;
}

static gboolean column_is_empty(const Table *table, guint column) {
        for (guint i = 0; i < table->rows->len; i++) {
                char **row = g_ptr_array_index(table->rows, i);

                if (*row[column])
                        return FALSE;
        }
        return table->rows->len > 0;
}

static int table_fill_line(const Table *table, struct libscols_line *line, char **row,
                           const int *places) {
        for (guint i = 0; table->headings[i]; i++) {
                int r = 0;

                if (places[i] < 0)
                        continue;
                r = scols_line_set_data(line, (size_t)places[i], row[i]);
                if (r < 0)
                        return r;
                if ((int)i == table->colour_column && table_colour(row[i]))
                        (void)scols_cell_set_color(scols_line_get_cell(line, (size_t)places[i]),
                                                   table_colour(row[i]));
        }
        return 0;
}

static int table_fill(const Table *table, struct libscols_table *scols) {
        int flags = g_hash_table_size(table->nested) > 0 ? SCOLS_FL_TREE : 0;
        struct libscols_line *above = NULL;
        int places[TABLE_COLUMNS_MAX];
        int next = 0, r = 0;

        for (guint i = 0; table->headings[i]; i++) {
                g_assert(i < TABLE_COLUMNS_MAX);
                places[i] = column_is_empty(table, i) ? -1 : next++;
                if (places[i] >= 0 &&
                    !scols_table_new_column(scols, table->headings[i], 0, i == 0 ? flags : 0))
                        return -ENOMEM;
        }
        for (guint i = 0; i < table->rows->len && r >= 0; i++) {
                char **row = g_ptr_array_index(table->rows, i);
                bool nested = g_hash_table_contains(table->nested, row);
                struct libscols_line *line = scols_table_new_line(scols, nested ? above : NULL);

                if (!nested)
                        above = line;
                r = line ? table_fill_line(table, line, row, places) : -ENOMEM;
        }
        return r;
}

int table_print(const Table *table, FILE *out) {
        struct libscols_table *scols = scols_new_table();
        const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
        bool colours = isatty(fileno(out)) && !(no_colour && *no_colour) && terminal &&
                       strcmp(terminal, "dumb") != 0;
        int r = 0;

        if (!scols)
                return -ENOMEM;
        scols_table_set_stream(scols, out);
        (void)scols_table_set_termforce(scols, SCOLS_TERMFORCE_NEVER);
        (void)scols_table_set_column_separator(scols, "  "); /* times have spaces of their own */
        (void)scols_table_enable_colors(scols, colours);
        r = table_fill(table, scols);
        if (r >= 0 && table->rows->len > 0)
                r = scols_print_table(scols);
        scols_unref_table(scols);
        return r;
}

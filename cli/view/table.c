/* See table.h: what stands in the cells. table-print.c shows it. */
#include "table.h"

#include <stdarg.h>
#include <string.h>

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

void table_set_brief(Table *table, guint column) {
        table->brief |= 1U << column;
}

void table_set_notes(Table *table) {
        table->notes = true;
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

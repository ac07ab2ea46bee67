/* Showing a table (table.h).
 *
 * Without a terminal every column is as wide as its cells: whatever reads that wants one line a
 * row. On a terminal the first of these that fits is taken: the cells as they are; with the
 * sentences of the last column below their rows; with brief times besides; with the widest columns
 * wrapped; and at last each row as a block of "HEADING  cell" lines, or, of a tree, as its branch
 * with the other cells below it. A name that is wrapped is
 * whole all the same. libsmartcols draws the columns and shows control characters as \x escapes, so
 * no cell can write to the terminal what it likes.
 */
#include <errno.h>
#include <libsmartcols/libsmartcols.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "output.h"
#include "table-layout.h"
#include "table.h"

#define SEPARATOR "  "
#define SEPARATOR_WIDTH 2
#define NOTE_INDENT 4
/* Columns are not made narrower than this. */
#define LEVEL_MIN 10
/* Names are not wider than this part of a terminal. */
#define NAME_PART 4

/* How a table is shown: which columns, how wide, and what stands below the rows. */
typedef struct Layout {
        guint columns[TABLE_COLUMNS_MAX]; /* the table's columns that are shown as such */
        guint widths[TABLE_COLUMNS_MAX];
        guint count;
        bool brief, notes, wrapped, blocks;
} Layout;

static bool column_is_empty(const Table *table, guint column) {
        for (guint i = 0; i < table->rows->len; i++) {
                char **row = g_ptr_array_index(table->rows, i);

                if (*row[column])
                        return false;
        }
        return true;
}

/* Return: newly allocated, the cell on one line and of valid UTF-8. */
static char *cell_text(const Table *table, const Layout *layout, char **row, guint column) {
        bool brief = layout->brief && (table->brief >> column & 1);
        g_autofree char *text = brief ? text_in_brief(row[column]) : g_strdup(row[column]);
        char *valid = g_utf8_make_valid(text, -1);

        return g_strdelimit(valid, "\n", ' ');
}

/* Measures the columns that are shown; of a tree, the first has branches before its cells. */
static void layout_measure(Layout *layout, const Table *table) {
        guint last = g_strv_length((char **)table->headings) - 1;

        layout->count = 0;
        for (guint i = 0; i <= last; i++) {
                guint width = text_width(table->headings[i]), at = layout->count;

                if (column_is_empty(table, i) || (layout->notes && i == last))
                        continue;
                for (guint j = 0; j < table->rows->len; j++) {
                        char **row = g_ptr_array_index(table->rows, j);
                        g_autofree char *text = cell_text(table, layout, row, i);
                        guint branch = i == 0 && g_hash_table_contains(table->nested, row) ? 2 : 0;

                        width = MAX(width, text_width(text) + branch);
                }
                g_assert(at < TABLE_COLUMNS_MAX);
                layout->columns[at] = i;
                layout->widths[at] = width;
                layout->count++;
        }
}

/* Lowers the width of the first column to a part of the terminal: one long name would else push all
 * other cells out of sight. Return: the width of the whole. */
static guint layout_cap(Layout *layout, guint width) {
        guint cap = MAX(width / NAME_PART, 2 * LEVEL_MIN), sum = 0;

        if (layout->count > 1 && layout->widths[0] > cap) {
                layout->widths[0] = cap;
                layout->wrapped = true;
        }
        for (guint i = 0; i < layout->count; i++)
                sum += layout->widths[i] + (i > 0 ? SEPARATOR_WIDTH : 0);
        return sum;
}

static Layout layout_choose(const Table *table, guint width) {
        Layout layout = {0};
        bool tree = g_hash_table_size(table->nested) > 0;
        guint room;

        layout_measure(&layout, table);
        if (width == 0 || layout_cap(&layout, width) <= width)
                return layout;
        layout.notes = table->notes && !tree;
        layout_measure(&layout, table);
        if (layout_cap(&layout, width) <= width)
                return layout;
        layout.brief = table->brief;
        layout_measure(&layout, table);
        if (layout_cap(&layout, width) <= width)
                return layout;
        room = (layout.count - 1) * SEPARATOR_WIDTH;
        room = width > room ? width - room : 0;
        layout.wrapped = true;
        layout.blocks = layout_level(layout.widths, layout.count, room) < LEVEL_MIN;
        return layout;
}

/* Prints a sentence below the row that it is about. */
static void note_print(const char *text, guint width, FILE *out) {
        g_autofree char *wrapped =
            text_wrap(text, width > NOTE_INDENT + LEVEL_MIN ? width - NOTE_INDENT : LEVEL_MIN);
        g_auto(GStrv) lines = g_strsplit(wrapped, "\n", -1);

        for (char **line = lines; *text && *line; line++) {
                g_autofree char *shown = printable(*line);

                (void)fprintf(out, "%*s%s\n", NOTE_INDENT, "", shown);
        }
}

/* ---- a block a row ---- */

static void block_print(const Table *table, const Layout *layout, char **row, guint width,
                        FILE *out) {
        guint indent = 0;

        for (guint i = 0; table->headings[i]; i++)
                indent = MAX(indent, text_width(table->headings[i]) + SEPARATOR_WIDTH);
        for (guint i = 0; table->headings[i]; i++) {
                g_autofree char *text = cell_text(table, layout, row, i);
                g_autofree char *wrapped =
                    text_wrap(text, width > indent + LEVEL_MIN ? width - indent : LEVEL_MIN);
                g_auto(GStrv) lines = g_strsplit(wrapped, "\n", -1);

                for (guint j = 0; *text && lines[j]; j++) {
                        g_autofree char *shown = printable(lines[j]);

                        (void)fprintf(out, "%-*s%s\n", (int)indent,
                                      j == 0 ? table->headings[i] : "", shown);
                }
        }
}

static void blocks_print(const Table *table, const Layout *layout, guint width, FILE *out) {
        Layout whole = *layout;

        whole.brief = false;
        for (guint i = 0; i < table->rows->len; i++) {
                if (i > 0)
                        (void)fputc('\n', out);
                block_print(table, &whole, g_ptr_array_index(table->rows, i), width, out);
        }
}

/* ---- a tree that has no room for columns ---- */

/* Return: newly allocated, all cells of the row but the first. */
static char *branch_note(const Table *table, char **row) {
        g_autoptr(GString) note = g_string_new(NULL);

        for (guint i = 1; table->headings[i]; i++) {
                g_autofree char *text = cell_text(table, &(Layout){0}, row, i);

                g_string_append_printf(note, "%s%s", *text && note->len > 0 ? ", " : "", text);
        }
        return g_string_free(g_steal_pointer(&note), FALSE);
}

static void branches_print(const Table *table, guint width, FILE *out) {
        for (guint i = 0; i < table->rows->len; i++) {
                char **row = g_ptr_array_index(table->rows, i);
                bool nested = g_hash_table_contains(table->nested, row);
                bool last =
                    i + 1 == table->rows->len ||
                    !g_hash_table_contains(table->nested, g_ptr_array_index(table->rows, i + 1));
                const char *branch = !nested ? "" : last ? "`-" : "|-";
                g_autofree char *name = cell_text(table, &(Layout){0}, row, 0);
                g_autofree char *wrapped =
                    text_wrap(name, width > LEVEL_MIN ? width - 2 : LEVEL_MIN);
                g_auto(GStrv) lines = g_strsplit(wrapped, "\n", -1);
                g_autofree char *note = branch_note(table, row);

                for (char **line = lines; *line; line++) {
                        g_autofree char *shown = printable(*line);

                        (void)fprintf(out, "%s%s\n", line == lines ? branch : "  ", shown);
                }
                note_print(note, width, out);
        }
}

/* ---- columns ---- */

static int line_fill(const Table *table, const Layout *layout, struct libscols_line *line,
                     char **row) {
        bool nested = g_hash_table_contains(table->nested, row);

        for (guint i = 0; i < layout->count; i++) {
                guint column = layout->columns[i], width = layout->widths[i];
                g_autofree char *text = cell_text(table, layout, row, column);
                g_autofree char *wrapped =
                    text_wrap(text, !layout->wrapped                        ? 0
                                    : i == 0 && nested && width > LEVEL_MIN ? width - 2
                                                                            : width);
                const char *colour =
                    (int)column == table->colour_column ? table_colour(row[column]) : NULL;
                int r = scols_line_set_data(line, i, wrapped);

                if (r < 0)
                        return r;
                if (colour)
                        (void)scols_cell_set_color(scols_line_get_cell(line, i), colour);
        }
        return 0;
}

static int columns_fill(const Table *table, const Layout *layout, struct libscols_table *scols) {
        bool tree = g_hash_table_size(table->nested) > 0;
        struct libscols_line *above = NULL;
        int r = 0;

        for (guint i = 0; i < layout->count; i++) {
                int flags =
                    (i == 0 && tree ? SCOLS_FL_TREE : 0) | (layout->wrapped ? SCOLS_FL_WRAP : 0);
                struct libscols_column *column =
                    scols_table_new_column(scols, table->headings[layout->columns[i]], 0, flags);

                if (!column)
                        return -ENOMEM;
                if (!layout->wrapped)
                        continue;
                (void)scols_column_set_wrapfunc(column, scols_wrapnl_chunksize,
                                                scols_wrapnl_nextchunk, NULL);
                (void)scols_column_set_safechars(column, "\n");
        }
        for (guint i = 0; i < table->rows->len && r >= 0; i++) {
                char **row = g_ptr_array_index(table->rows, i);
                bool nested = g_hash_table_contains(table->nested, row);
                struct libscols_line *line = scols_table_new_line(scols, nested ? above : NULL);

                if (!nested)
                        above = line;
                r = line ? line_fill(table, layout, line, row) : -ENOMEM;
        }
        return r;
}

/* Prints line by line, each with its note. */
static int columns_print_with_notes(const Table *table, struct libscols_table *scols, guint width,
                                    FILE *out) {
        guint last = g_strv_length((char **)table->headings) - 1;

        for (guint i = 0; i < table->rows->len; i++) {
                struct libscols_line *line = scols_table_get_line(scols, i);
                g_autofree char *text = NULL /* from malloc(), as GLib's */, *note = NULL;
                int r = scols_table_print_range_to_string(scols, line, line, &text);

                if (r < 0)
                        return r;
                (void)fprintf(out, "%s\n", g_strchomp(text));
                note = cell_text(table, &(Layout){0}, g_ptr_array_index(table->rows, i), last);
                note_print(note, width, out);
        }
        return 0;
}

static int columns_print(const Table *table, const Layout *layout, guint width, bool colours,
                         FILE *out) {
        struct libscols_table *scols = scols_new_table();
        int r;

        if (!scols)
                return -ENOMEM;
        scols_table_set_stream(scols, out);
        (void)scols_table_set_termforce(scols, SCOLS_TERMFORCE_NEVER);
        (void)scols_table_set_column_separator(scols,
                                               SEPARATOR); /* times have spaces of their own */
        (void)scols_table_enable_colors(scols, colours);
        r = columns_fill(table, layout, scols);
        if (r >= 0 && layout->notes)
                r = columns_print_with_notes(table, scols, width, out);
        else if (r >= 0)
                r = scols_print_table(scols);
        scols_unref_table(scols);
        return r;
}

int table_print_to_width(const Table *table, FILE *out, guint width, bool colours) {
        Layout layout;

        if (table->rows->len == 0)
                return 0;
        layout = layout_choose(table, width);
        if (!layout.blocks)
                return columns_print(table, &layout, width, colours, out);
        if (g_hash_table_size(table->nested) > 0)
                branches_print(table, width, out);
        else
                blocks_print(table, &layout, width, out);
        return 0;
}

guint terminal_width(FILE *out) {
        struct winsize size = {0};

        if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &size) < 0)
                return 0;
        return size.ws_col;
}

int table_print(const Table *table, FILE *out) {
        const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
        bool terminal = isatty(fileno(out));

        return table_print_to_width(table, out, terminal_width(out),
                                    terminal && !(no_colour && *no_colour) && term &&
                                        strcmp(term, "dumb") != 0);
}

/* See diagnostics.h. Kept sorted as they come in: there are at most DIAGNOSTICS_MAX of them. */
#include "diagnostics.h"

#include <string.h>

/* A message quotes what people wrote, which may be a whole file on one line. */
#define MESSAGE_LENGTH_MAX 400

typedef struct Diagnostic {
        Mark mark;
        char *message;
} Diagnostic;

struct Diagnostics {
        GPtrArray *kept; /* Diagnostic, sorted by place */
        unsigned count;
};

static void diagnostic_free(gpointer data) {
        Diagnostic *diagnostic = data;

        g_free(diagnostic->message);
        g_free(diagnostic);
}

Diagnostics *diagnostics_new(void) {
        Diagnostics *diagnostics = g_new0(Diagnostics, 1);

        diagnostics->kept = g_ptr_array_new_with_free_func(diagnostic_free);
        return diagnostics;
}

Diagnostics *diagnostics_free(Diagnostics *diagnostics) {
        if (!diagnostics)
                return NULL;
        g_ptr_array_unref(diagnostics->kept);
        g_free(diagnostics);
        return NULL;
}

/* Makes `text` fit for a terminal, a log line and JSON: valid UTF-8, one line, no control
 * characters, not endless. */
static char *printable(const char *text) {
        g_autofree char *valid = g_utf8_make_valid(text, -1);
        GString *out = g_string_sized_new(strlen(valid));

        for (const char *c = valid; *c; c = g_utf8_next_char(c)) {
                if (out->len >= MESSAGE_LENGTH_MAX) {
                        g_string_append(out, "...");
                        break;
                }
                if (g_unichar_iscntrl(g_utf8_get_char(c)))
                        g_string_append_printf(out, "\\x%02x", g_utf8_get_char(c));
                else
                        g_string_append_len(out, c, g_utf8_next_char(c) - c);
        }
        return g_string_free(out, FALSE);
}

static int mark_compare(const Mark *a, const Mark *b) {
        int order = strcmp(a->file, b->file);

        if (order)
                return order;
        if (a->line != b->line)
                return a->line < b->line ? -1 : 1;
        if (a->column != b->column)
                return a->column < b->column ? -1 : 1;
        return 0;
}

static void keep(Diagnostics *diagnostics, const Mark *mark, const char *message) {
        Diagnostic *diagnostic = g_new0(Diagnostic, 1);
        guint place = diagnostics->kept->len;

        diagnostic->mark = *mark;
        diagnostic->message = printable(message);
        while (place > 0) {
                const Diagnostic *before = g_ptr_array_index(diagnostics->kept, place - 1);

                if (mark_compare(&before->mark, mark) <= 0)
                        break;
                place--;
        }
        g_ptr_array_insert(diagnostics->kept, (int)place, diagnostic);
}

void diagnostics_add(Diagnostics *diagnostics, const Mark *mark, const char *format, ...) {
        g_autofree char *message = NULL;
        va_list arguments;

        diagnostics->count++;
        if (diagnostics->kept->len >= DIAGNOSTICS_MAX)
                return;

        va_start(arguments, format);
        message = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        keep(diagnostics, mark, message);
}

unsigned diagnostics_count(const Diagnostics *diagnostics) {
        return diagnostics->count;
}

static char *diagnostic_to_string(const Diagnostic *diagnostic) {
        g_autofree char *file = printable(diagnostic->mark.file);

        if (diagnostic->mark.line == 0)
                return g_strdup_printf("%s: error: %s", file, diagnostic->message);
        return g_strdup_printf("%s:%u:%u: error: %s", file, diagnostic->mark.line,
                               diagnostic->mark.column, diagnostic->message);
}

char **diagnostics_to_strv(const Diagnostics *diagnostics) {
        char **lines = g_new0(char *, diagnostics->kept->len + 1);

        for (guint i = 0; i < diagnostics->kept->len; i++)
                lines[i] = diagnostic_to_string(g_ptr_array_index(diagnostics->kept, i));
        return lines;
}

bool diagnostics_get(const Diagnostics *diagnostics, unsigned index, Mark *ret_mark,
                     const char **ret_message) {
        const Diagnostic *diagnostic;

        if (index >= diagnostics->kept->len)
                return false;
        diagnostic = g_ptr_array_index(diagnostics->kept, index);
        *ret_mark = diagnostic->mark;
        *ret_message = diagnostic->message;
        return true;
}

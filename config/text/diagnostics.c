/* See diagnostics.h. Kept sorted as they come in: there are at most DIAGNOSTICS_MAX of them. */
#include "diagnostics.h"

#include <string.h>

/* A message quotes what people wrote, which may be a whole file on one line. */
#define MESSAGE_LENGTH_MAX 400

typedef struct Diagnostic {
        Mark mark;
        char *message;
} Diagnostic;

#define KINDS (DIAGNOSTIC_WARNING + 1)

struct Diagnostics {
        GPtrArray *kept[KINDS]; /* Diagnostic, sorted by place */
        unsigned count[KINDS];
};

static void diagnostic_free(gpointer data) {
        Diagnostic *diagnostic = data;

        g_free(diagnostic->message);
        g_free(diagnostic);
}

Diagnostics *diagnostics_new(void) {
        Diagnostics *diagnostics = g_new0(Diagnostics, 1);

        for (int kind = 0; kind < KINDS; kind++)
                diagnostics->kept[kind] = g_ptr_array_new_with_free_func(diagnostic_free);
        return diagnostics;
}

Diagnostics *diagnostics_free(Diagnostics *diagnostics) {
        if (!diagnostics)
                return NULL;
        for (int kind = 0; kind < KINDS; kind++)
                g_ptr_array_unref(diagnostics->kept[kind]);
        g_free(diagnostics);
        return NULL;
}

/* Makes `text` fit for a terminal, a log line and JSON: valid UTF-8, one line, no control
 * characters, not endless. */
static char *diagnostic_printable(const char *text) {
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

/* Keeps a message at its place among those of its kind. */
static void diagnostics_keep(GPtrArray *kept, const Mark *mark, const char *message) {
        Diagnostic *diagnostic = g_new0(Diagnostic, 1);
        guint place = kept->len;

        diagnostic->mark = *mark;
        diagnostic->message = diagnostic_printable(message);
        while (place > 0) {
                const Diagnostic *before = g_ptr_array_index(kept, place - 1);

                if (mark_compare(&before->mark, mark) <= 0)
                        break;
                place--;
        }
        g_ptr_array_insert(kept, (int)place, diagnostic);
}

__attribute__((format(printf, 4, 0))) static void
diagnostics_add_kind(Diagnostics *diagnostics, DiagnosticKind kind, const Mark *mark,
                     const char *format, va_list arguments) {
        g_autofree char *message = NULL;

        diagnostics->count[kind]++;
        if (diagnostics->kept[kind]->len >= DIAGNOSTICS_MAX)
                return;
        message = g_strdup_vprintf(format, arguments);
        diagnostics_keep(diagnostics->kept[kind], mark, message);
}

void diagnostics_add(Diagnostics *diagnostics, const Mark *mark, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        diagnostics_add_kind(diagnostics, DIAGNOSTIC_ERROR, mark, format, arguments);
        va_end(arguments);
}

void diagnostics_warn(Diagnostics *diagnostics, const Mark *mark, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        diagnostics_add_kind(diagnostics, DIAGNOSTIC_WARNING, mark, format, arguments);
        va_end(arguments);
}

static bool diagnostics_know(const GPtrArray *kept, const Mark *mark) {
        for (guint i = 0; i < kept->len; i++)
                if (mark_compare(&((const Diagnostic *)kept->pdata[i])->mark, mark) == 0)
                        return true;
        return false;
}

void diagnostics_add_unknown(Diagnostics *diagnostics, const Diagnostics *more, const char *who) {
        const GPtrArray *errors = more->kept[DIAGNOSTIC_ERROR];

        for (guint i = 0; i < errors->len; i++) {
                const Diagnostic *error = errors->pdata[i];

                if (!diagnostics_know(diagnostics->kept[DIAGNOSTIC_ERROR], &error->mark))
                        diagnostics_add(diagnostics, &error->mark, "%s%s", who, error->message);
        }
}

unsigned diagnostics_count(const Diagnostics *diagnostics) {
        return diagnostics->count[DIAGNOSTIC_ERROR];
}

unsigned diagnostics_count_kind(const Diagnostics *diagnostics, DiagnosticKind kind) {
        return diagnostics->count[kind];
}

const char *diagnostic_kind_to_string(DiagnosticKind kind) {
        return kind == DIAGNOSTIC_ERROR ? "error" : "warning";
}

static char *diagnostic_to_string(const Diagnostic *diagnostic, DiagnosticKind kind) {
        g_autofree char *file = diagnostic_printable(diagnostic->mark.file);
        const char *word = diagnostic_kind_to_string(kind);

        if (diagnostic->mark.line == 0)
                return g_strdup_printf("%s: %s: %s", file, word, diagnostic->message);
        return g_strdup_printf("%s:%u:%u: %s: %s", file, diagnostic->mark.line,
                               diagnostic->mark.column, word, diagnostic->message);
}

static char **diagnostics_kind_to_strv(const Diagnostics *diagnostics, DiagnosticKind kind) {
        const GPtrArray *kept = diagnostics->kept[kind];
        char **lines = g_new0(char *, kept->len + 1);

        for (guint i = 0; i < kept->len; i++)
                lines[i] = diagnostic_to_string(g_ptr_array_index(kept, i), kind);
        return lines;
}

char **diagnostics_to_strv(const Diagnostics *diagnostics) {
        return diagnostics_kind_to_strv(diagnostics, DIAGNOSTIC_ERROR);
}

char **diagnostics_warnings_to_strv(const Diagnostics *diagnostics) {
        return diagnostics_kind_to_strv(diagnostics, DIAGNOSTIC_WARNING);
}

bool diagnostics_get(const Diagnostics *diagnostics, DiagnosticKind kind, unsigned index,
                     Mark *ret_mark, const char **ret_message) {
        const Diagnostic *diagnostic;

        if (index >= diagnostics->kept[kind]->len)
                return false;
        diagnostic = g_ptr_array_index(diagnostics->kept[kind], index);
        *ret_mark = diagnostic->mark;
        *ret_message = diagnostic->message;
        return true;
}

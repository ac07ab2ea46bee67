/* See output.h. */
#include "output.h"

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* 16 digits keep a microsecond of an epoch second and do not show the binary fraction's tail. */
#define JSON_STYLE JSON_REAL_PRECISION(16)

/* What steers a terminal instead of being shown: also what turns the direction of writing. */
static bool is_control(gunichar character) {
        return g_unichar_iscntrl(character) || g_unichar_type(character) == G_UNICODE_FORMAT;
}

/* As JSON has it: in units of UTF-16. */
static void append_escape(GString *text, gunichar character) {
        if (character < 0x10000)
                g_string_append_printf(text, "\\u%04x", character);
        else
                g_string_append_printf(text, "\\u%04x\\u%04x",
                                       0xd800 + ((character - 0x10000) >> 10),
                                       0xdc00 + ((character - 0x10000) & 0x3ff));
}

char *json_printable(const char *json) {
        g_autoptr(GString) shown = g_string_new(NULL);

        for (const char *c = json; *c; c = g_utf8_next_char(c)) {
                gunichar character = g_utf8_get_char(c);

                if (character != '\n' && is_control(character))
                        append_escape(shown, character);
                else
                        g_string_append_unichar(shown, character);
        }
        return g_string_free(g_steal_pointer(&shown), FALSE);
}

/* What goes into a pipe may still end on a terminal. */
void output_json_text(const char *text, const json_t *parsed) {
        char *indented =
            isatty(STDOUT_FILENO) ? json_dumps(parsed, JSON_STYLE | JSON_INDENT(2)) : NULL;
        g_autofree char *shown = json_printable(indented ? indented : text);

        (void)puts(shown);
        free(indented);
}

void output_json(json_t *json) {
        char *text = json_dumps(json, JSON_STYLE);

        output_json_text(text ? text : "null", json);
        free(text);
        json_decref(json);
}

char *printable(const char *text) {
        g_autofree char *valid = g_utf8_make_valid(text, -1);
        g_autoptr(GString) shown = g_string_new(NULL);

        for (const char *c = valid; *c; c = g_utf8_next_char(c)) {
                gunichar character = g_utf8_get_char(c);

                if (character == '\n' || character == '\t' || !is_control(character))
                        g_string_append_unichar(shown, character);
                else
                        g_string_append_c(shown, '?');
        }
        return g_string_free(g_steal_pointer(&shown), FALSE);
}

void complain(const char *format, ...) {
        g_autofree char *message = NULL;
        g_autofree char *shown = NULL;
        va_list arguments;

        va_start(arguments, format);
        message = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        shown = printable(message);
        fprintf(stderr, "jobkeeper: %s\n", shown);
}

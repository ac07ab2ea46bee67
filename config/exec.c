/* See exec.h. */
#include "exec.h"

#include <errno.h>
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define WHITESPACE " \t\n\r"
#define PREFIXES "+!@-:"

/* How the digits of a numeric escape are written, by the letter after the backslash (0: an octal
 * digit itself). */
typedef struct NumericEscape {
        char letter;
        unsigned digits;
        unsigned base;
} NumericEscape;

static const NumericEscape numeric_escapes[] = {
    {'x', 2, 16}, {'u', 4, 16}, {'U', 8, 16}, {0, 3, 8}};

/* Reads the digits of a numeric escape. Return: false when there are too few, or the value is 0 or
 * no character. */
static bool take_number(const NumericEscape *escape, const char **text, GString *word) {
        bool is_byte = escape->letter == 'x' || escape->letter == 0;
        uint32_t value = 0;

        for (unsigned i = 0; i < escape->digits; i++, (*text)++) {
                int digit = g_ascii_xdigit_value(**text);

                if (digit < 0 || (unsigned)digit >= escape->base)
                        return false;
                value = value * escape->base + (unsigned)digit;
        }
        if (value == 0 || (is_byte ? value > 255 : !g_unichar_validate(value)))
                return false;
        if (is_byte)
                g_string_append_c(word, (char)value);
        else
                g_string_append_unichar(word, value);
        return true;
}

/* Reads what stands after a backslash. Return: false when it is no escape of C's. */
static bool take_escape(const char **text, GString *word) {
        static const char letters[] = "abfnrtvs\\\"'", values[] = "\a\b\f\n\r\t\v \\\"'";
        const char *letter = **text ? strchr(letters, **text) : NULL;

        if (letter) {
                g_string_append_c(word, values[letter - letters]);
                (*text)++;
                return true;
        }
        for (size_t i = 0; i < G_N_ELEMENTS(numeric_escapes); i++) {
                const NumericEscape *escape = &numeric_escapes[i];

                if (escape->letter ? **text != escape->letter : !g_ascii_isdigit(**text))
                        continue;
                *text += escape->letter != 0;
                return take_number(escape, text, word);
        }
        return false;
}

/* Reads one word. Return: NULL, or what is wrong with it. */
static char *take_word(const char **text, GString *word) {
        char quote = 0;

        while (**text && (quote || !strchr(WHITESPACE, **text))) {
                const char *start = *text;
                char c = *(*text)++;

                if (c == '\\') {
                        if (take_escape(text, word))
                                continue;
                        return g_strdup_printf(
                            "has the unknown escape sequence \"%.*s\" (for a backslash write "
                            "\"\\\\\")",
                            start[1] ? (int)(g_utf8_next_char(start + 1) - start) : 1, start);
                }
                if (quote && c == quote)
                        quote = 0;
                else if (!quote && (c == '"' || c == '\''))
                        quote = c;
                else
                        g_string_append_c(word, c);
        }
        if (quote)
                return g_strdup_printf("has a quote (%c) that is not closed", quote);
        if (!g_utf8_validate(word->str, (gssize)word->len, NULL)) /* D-Bus could not carry it */
                return g_strdup("has escapes that are not valid UTF-8");
        return NULL;
}

/* Return: whether a word that is only the text `literal` stands at `text`. */
static bool is_lone(const char *text, const char *literal) {
        size_t length = strlen(literal);

        return strncmp(text, literal, length) == 0 &&
               (!text[length] || strchr(WHITESPACE, text[length]));
}

int exec_split(const char *text, char ***ret_argv, char **ret_message) {
        g_autoptr(GPtrArray) words = g_ptr_array_new_null_terminated(0, g_free, TRUE);

        for (text += strspn(text, WHITESPACE); *text; text += strspn(text, WHITESPACE)) {
                g_autoptr(GString) word = g_string_new(NULL);
                char *fault = NULL;

                if (is_lone(text, ";")) {
                        *ret_message = g_strdup(
                            "has several commands (a \";\" alone); to pass it on write \"\\;\"");
                        return -EINVAL;
                }
                if (is_lone(text, "\\;")) {
                        g_string_append_c(word, ';');
                        text += 2;
                } else {
                        fault = take_word(&text, word);
                }
                if (fault) {
                        *ret_message = fault;
                        return -EINVAL;
                }
                g_ptr_array_add(words, g_string_free(g_steal_pointer(&word), FALSE));
        }
        if (words->len == 0) {
                *ret_message = g_strdup("is empty");
                return -EINVAL;
        }
        *ret_argv = (char **)g_ptr_array_free(g_steal_pointer(&words), FALSE);
        return 0;
}

char *exec_path_fault(const char *path) {
        if (*path && strchr(PREFIXES, *path))
                return g_strdup_printf(
                    "begins with ExecStart='s prefix \"%c\", which is not possible for a job",
                    *path);
        if (*path != '/')
                return g_strdup_printf("must begin with an absolute path, not \"%s\"", path);
        if (g_str_has_suffix(path, "/"))
                return g_strdup_printf("must begin with the path of a program, not \"%s\"", path);
        return NULL;
}

/* What all subcommands print with: JSON, and texts of others that must not reach the terminal's
 * control sequences. */
#pragma once

#include <jansson.h>

/* Return: newly allocated (g_free), the same JSON with DEL and the control characters from U+0080
 * on escaped, which JSON leaves to whoever writes it. */
char *json_printable(const char *json);

/* Writes JSON that came as a text: as one line to a file or a pipe, indented to a terminal.
 * `parsed` is the same text parsed. Control characters are escaped in either case. */
void output_json_text(const char *text, const json_t *parsed);

/* Writes JSON of our own. Takes the reference. */
void output_json(json_t *json);

/* Return: newly allocated (g_free), the text with every control character (and what is no UTF-8)
 * replaced by '?', but for newlines and tabs. */
char *printable(const char *text);

/* One line on standard error: "jobkeeper: …", made printable. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

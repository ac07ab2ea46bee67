/* Diagnostics: every fault found in what people wrote, each with its mark, collected so that all
 * are reported at once. An error makes a file bad; a warning says what is probably not meant, and
 * changes nothing. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "cleanup.h"
#include "mark.h"

typedef struct Diagnostics Diagnostics;

typedef enum DiagnosticKind { DIAGNOSTIC_ERROR, DIAGNOSTIC_WARNING } DiagnosticKind;

/* No more than this many of a kind are kept; the rest are only counted (a broken file can have one
 * a line).
 */
#define DIAGNOSTICS_MAX 200

Diagnostics *diagnostics_new(void);
Diagnostics *diagnostics_free(Diagnostics *diagnostics);
DEFINE_CLEANUP(Diagnostics, diagnostics_free);

/* Adds an error. The message is a fragment without the place and without "error:": `unknown key
 * "retires" (did you mean "retries"?)`. */
void diagnostics_add(Diagnostics *diagnostics, const Mark *mark, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds a warning. */
void diagnostics_warn(Diagnostics *diagnostics, const Mark *mark, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds the errors of `more`, each behind `who` ("job \"a\": "), at whose places none is known yet:
 * of what holds for many, each fault is reported once. */
void diagnostics_add_unknown(Diagnostics *diagnostics, const Diagnostics *more, const char *who);

/* How many errors were added, also beyond the kept ones; and how many of a kind. */
unsigned diagnostics_count(const Diagnostics *diagnostics);
unsigned diagnostics_count_kind(const Diagnostics *diagnostics, DiagnosticKind kind);

/* Return: "error" or "warning". */
const char *diagnostic_kind_to_string(DiagnosticKind kind);

/* Return: the kept errors as "FILE:LINE:COLUMN: error: MESSAGE", ("FILE: error: MESSAGE" where the
 * mark has no line), in the order of file, line and column; NULL-terminated; newly allocated
 * (g_strfreev). */
char **diagnostics_to_strv(const Diagnostics *diagnostics);
/* The same of the warnings: "FILE:LINE:COLUMN: warning: MESSAGE". */
char **diagnostics_warnings_to_strv(const Diagnostics *diagnostics);

/* The kept ones of a kind one by one, in the same order. Return: false when index is past the end.
 * Borrowed. */
bool diagnostics_get(const Diagnostics *diagnostics, DiagnosticKind kind, unsigned index,
                     Mark *ret_mark, const char **ret_message);

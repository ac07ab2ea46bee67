/* Diagnostics: every fault found in what people wrote, each with its mark, collected so that all
 * are reported at once. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "cleanup.h"
#include "mark.h"

typedef struct Diagnostics Diagnostics;

/* No more than this many are kept; the rest are only counted (a broken file can have one a line).
 */
#define DIAGNOSTICS_MAX 200

Diagnostics *diagnostics_new(void);
Diagnostics *diagnostics_free(Diagnostics *diagnostics);
DEFINE_CLEANUP(Diagnostics, diagnostics_free);

/* Adds an error. The message is a fragment without the place and without "error:": `unknown key
 * "retires" (did you mean "retries"?)`. */
void diagnostics_add(Diagnostics *diagnostics, const Mark *mark, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* How many were added, also beyond the kept ones. */
unsigned diagnostics_count(const Diagnostics *diagnostics);

/* Return: the kept ones as "FILE:LINE:COLUMN: error: MESSAGE", ("FILE: error: MESSAGE" where the
 * mark has no line), in the order of file, line and column; NULL-terminated; newly allocated
 * (g_strfreev). */
char **diagnostics_to_strv(const Diagnostics *diagnostics);

/* The kept ones one by one, in the same order. Return: false when index is past the end. Borrowed.
 */
bool diagnostics_get(const Diagnostics *diagnostics, unsigned index, Mark *ret_mark,
                     const char **ret_message);

/* What happens, in words, one line each: the time, who, and what. The same seed gives the same
 * lines to the byte. Nothing is written, and little time is spent, while nobody wants it. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "world.h"

/* From now on lines about what happens in this world go there. NULL file: nobody wants any. */
void trace_begin(const World *world, FILE *file);
void trace_end(void);
bool trace_is_on(void);

/* `who`: a machine, a server, "checker". */
void trace_write(const char *who, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* How the daemon's Explain() is shown. Pure: from JSON to text and tables. */
#pragma once

#include <glib.h>
#include <jansson.h>

#include "table.h"

/* Return: newly allocated (g_free), what has become of the tick, or would, in sentences. */
char *explain_sentences(const json_t *explanation, double now, GTimeZone *zone);

/* Return: the nodes as a table: those that can run it by rank, then the others. */
Table *explain_nodes(const json_t *explanation);

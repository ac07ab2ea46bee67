/* How the daemon's Status() is shown. Pure: from JSON to text and table. */
#pragma once

#include <glib.h>
#include <jansson.h>

#include "table.h"

/* Return: newly allocated (g_free), the lines above the table: node, session, clock, members. */
char *status_head(const json_t *status, double now);

/* Return: the jobs as a table. */
Table *status_table(const json_t *status, double now, GTimeZone *zone);

/* Return: newly allocated (g_free), the lines below the table: what is wrong with the files; ""
 * when nothing is. */
char *status_errors(const json_t *status);

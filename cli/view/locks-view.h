/* What `jobkeeper locks` and `jobkeeper lock --verbose` show of the JSON of Locks(): who holds, who
 * waits, since when. Pure. Texts may come from foreign payloads: whoever prints them makes them
 * printable first; tables do so themselves. */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "table.h"

/* A line each that stands in a queue. With `tree` a line each resource too, and the others below
 * it. */
Table *locks_table(const json_t *report, bool tree, double now, GTimeZone *zone);

/* Return: newly allocated (g_free), for each resource that somebody holds a line "db is held by n1:
 * sleep (pid 12, root) since 02:30:00, 2 wait for it"; "" when nobody holds any. Does not change
 * unless somebody comes or goes. */
char *locks_sentences(const json_t *report, GTimeZone *zone);

/* How coming ticks are shown, and how they are computed where no daemon is asked. Pure but for time
 * zone data. */
#pragma once

#include <glib.h>
#include <jansson.h>

#include "job-files.h"
#include "schedule.h"
#include "table.h"

/* Return: the next `count` ticks that are to be started after `after`, in the shape of the daemon's
 * Next(); `job` may be NULL. A new reference. */
json_t *next_compute(const Schedule *schedule, const char *job, int64_t after, unsigned count);

/* The same of what job files (JobFile) say of the job: also of one node's instance of one of mode
 * each-node, as "JOB@NODE", which has its own delay. By the name of all of these no starts are
 * told, for each has another. Return: NULL: none of the files has it. */
json_t *next_compute_of_files(const GPtrArray *files, const char *job, int64_t after,
                              unsigned count);

/* Return: the ticks as a table: in `zone`, in UTC, and how far away; `headings` are the three
 * columns'. Where starts are delayed, a fourth has them, and it is they that are so far away. */
Table *next_table(const json_t *next, double now, GTimeZone *zone, const char *const *headings);

/* Return: newly allocated, a line for each kind of link that the job has: what
 * it runs after, what runs after it, and when it fails or is well again; "" where it has none. */
char *next_links(const json_t *next);

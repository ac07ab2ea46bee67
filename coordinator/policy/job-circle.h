/* Circles among the jobs that follow each other: whatever began once would never end. Looked for
 * over all jobs that are to be in force, since a circle may go through several files. Pure. */
#pragma once

#include <glib.h>

/* Return: newly allocated (g_ptr_array_unref), the jobs of one circle, each asking for the next one
 * when it ends, and the last one for the first; NULL: there is none. `jobs`: JobSpec, each name but
 * once; borrowed. The one with the least name is the first. */
GPtrArray *job_circle_find(const GPtrArray *jobs);
/* Return: newly allocated, all that is in circles (GPtrArray of JobSpec, borrowed): each is as many
 * jobs as can all be come to from each other. One walk, however many there are. */
GPtrArray *job_knots_find(const GPtrArray *jobs);
/* Return: newly allocated, "a → b → a". */
char *job_circle_to_string(const GPtrArray *circle);

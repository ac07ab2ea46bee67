/* Circles among the jobs that follow each other: whatever began once would never end. Looked for
 * over all jobs that are to be in force, since a circle may go through several files. Pure. */
#pragma once

#include <glib.h>

/* Return: newly allocated (g_ptr_array_unref), circles (GPtrArray) of jobs, each asking for the
 * next one when it ends, and the last one for the first; no job is in two, and without all of them
 * there is none. `jobs`: JobSpec, each name but once; borrowed. The one with the least name is the
 * first of its circle. */
GPtrArray *job_circles_find(const GPtrArray *jobs);
/* Return: newly allocated, "a → b → a". */
char *job_circle_to_string(const GPtrArray *circle);

/* The links between jobs (config/job-links.h), over all jobs together: circles are broken, names
 * that nobody has are told, and whoever settles a run finds the jobs that follow it.
 *
 * A job in a circle does not take effect, like one that two files define: what was in force of it
 * stays. One that names a job that is not there does: it has work of its own to do, and what it
 * names may be in a file that comes later. */
#pragma once

#include <glib.h>

#include "diagnostics.h"
#include "job-file.h"

/* Looks for circles in what will be in force: the jobs of the good ones of `files` (JobFile) and
 * `others` (JobSpec). Their jobs in the files are told of and become their files' duplicates.
 * Return: whether there were such; then what was in force before may close others. */
bool linked_jobs_break_circles(const GPtrArray *files, const GPtrArray *others,
                               Diagnostics *diagnostics);

/* Return: newly allocated, what the names of jobs may be that are linked to: a set of names, which
 * it borrows, of all jobs in these files, those that do not take effect included. */
GHashTable *linked_jobs_names(const GPtrArray *files);
/* Tells of each name that a link of one of the jobs (JobSpec) has and that is not in the set. Which
 * one may be meant is said of the first ones only: it takes a look at all names. */
void linked_jobs_check_names(const GPtrArray *jobs, GHashTable *names, Diagnostics *diagnostics);

/* Return: newly allocated, name of a job → GPtrArray of JobSpec (weak): those that run after it, in
 * the order of `jobs` (JobSpec). Those that are too many for one are told of, and left out. */
GHashTable *linked_jobs_index(const GPtrArray *jobs, Diagnostics *diagnostics);

/* The links between jobs (config/job-links.h), over all jobs together: circles are broken, names
 * that nobody has are told, and whoever settles a run finds the jobs that follow it.
 *
 * A job in a circle does not take effect, like one that two files define: what was in force of it
 * stays. One that names a job that is not there does: it has work of its own to do, and what it
 * names may be in a file that comes later. */
#pragma once

#include <glib.h>

#include "cleanup.h"
#include "diagnostics.h"
#include "job-file.h"

/* Looks for all circles in what will be in force: the jobs of the good ones of `files` (JobFile)
 * and `others` (JobSpec). Their jobs in the files are told of and become their files' duplicates:
 * where a file says every link between its jobs and those of others, its jobs alone, for no bad
 * file takes a good one down. Return: whether there were such; then what was in force may close
 * another. */
bool linked_jobs_break_circle(const GPtrArray *files, const GPtrArray *others,
                              Diagnostics *diagnostics);

/* What the names of jobs may be that are linked to: of all jobs in these files, those that do not
 * take effect included, and of `jobs` (JobSpec; NULL: none). Borrows them. */
typedef struct LinkedNames LinkedNames;
LinkedNames *linked_names_new(const GPtrArray *files, const GPtrArray *jobs);
LinkedNames *linked_names_free(LinkedNames *names);
DEFINE_CLEANUP(LinkedNames, linked_names_free);
/* Tells of each name that one of the job's links has and that is none of them; of the first ones
 * also what may have been meant. */
void linked_jobs_check_names(const JobSpec *job, LinkedNames *names, Diagnostics *diagnostics);

/* Return: newly allocated, name of a job → GPtrArray of JobSpec (weak): those that run after it.
 * Those that are too many for one are told of, and left out: not those that followed it `before`
 * (NULL: none did), and rather others than those of its own file. */
GHashTable *linked_jobs_index(const GPtrArray *jobs, GHashTable *before, Diagnostics *diagnostics);

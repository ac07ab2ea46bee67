/* Finding and loading the job files of jobs.d: directory precedence, masking, ownership, limits.
 *
 * Directories are given highest precedence first. A file name that stands in several is taken from
 * the first; a link to /dev/null hides the name. Only "*.yaml" and "*.yml" that do not begin with a
 * dot count. A file that is not root's (or ours, when we are not root), or is writable by group or
 * others, is refused, and so is one that a link leads to which others could have made. Where others
 * could have changed a directory, or its parent, nothing is loaded at all: what is missing there
 * would be as much their doing as what is there. A missing directory is no error. Of more than
 * JOB_FILES_MAX files those that come last by name are refused without being read. How many jobs
 * there may be is judged where it is known which are in force (policy/jobset.h).
 */
#pragma once

#include "diagnostics.h"
#include "job-file.h"

#define JOB_FILES_MAX 4096
#define JOBS_MAX 10000 /* in force at a time */

/* The directories of a real system, highest precedence first, NULL-terminated, all below `prefix`
 * ("" for the system itself). g_strfreev. */
char **job_directories(const char *prefix);

/* Loads every effective file. All faults go to `diagnostics`. The same job name in two files is an
 * error that names both places, and makes neither of the two a job (the other jobs of both files
 * stay). Return: 0 with *ret_files (JobFile, sorted by name, g_ptr_array_unref), or negative errno
 * when memory or a directory itself fails. */
int job_files_load(const char *const *directories, Diagnostics *diagnostics, GPtrArray **ret_files);

/* Of these files (JobFile), which are to take effect together: tells of each job that a second one
 * of them defines, and moves it to the duplicates of both. */
void job_files_part_duplicates(const GPtrArray *files, Diagnostics *diagnostics);

/* Return: the job of that name, borrowed from `files`; NULL when none of them has it. */
const JobSpec *job_files_find(const GPtrArray *files, const char *name);

/* One job file: from text to JobSpecs, with every fault in it reported at once. A file with any
 * error has no jobs. */
#pragma once

#include <stddef.h>

#include "diagnostics.h"
#include "job.h"

#define JOB_FILE_SIZE_MAX ((size_t)256 * 1024)

typedef struct JobFile {
        char *path;            /* the effective file */
        char *name;            /* its name alone: the key that precedence and "last good" go by */
        GPtrArray *jobs;       /* JobSpec, in the file's order; empty when !good */
        bool good;             /* no error in it. A file with any error has no jobs */
        GPtrArray *refused;    /* JobSpec of a file that is not good: for further checks of them,
                                  so that all errors of a file are reported at once */
        GPtrArray *duplicates; /* JobSpec whose name another file has too: not in force, and no
                                  reason to forget an older definition */
} JobFile;

JobFile *job_file_free(JobFile *file);
DEFINE_CLEANUP(JobFile, job_file_free);

/* Return: a file that is not good (yet), and has no jobs. */
JobFile *job_file_new_refused(const char *path);

/* Loads one file by path, ownership check included (`verify FILE`). Return: 0 with *ret_file also
 * when it has errors. */
int job_file_load(const char *path, Diagnostics *diagnostics, JobFile **ret_file);

/* Parses text as a job file. `file` is the name for marks. Pure but for time zone data. */
int job_file_parse(const char *file, const char *text, size_t size, Diagnostics *diagnostics,
                   JobFile **ret_file);

/* What joins jobs to each other: the runs that a job follows, and the jobs that are run when it
 * fails or is well again. A job's part of it, as it was written; whether the jobs that it names
 * are there, and no circle comes of it, is judged over all of them (policy/job-circle.h). */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "key.h"
#include "mark.h"

/* So many jobs one may follow, and so many may follow one: a settle asks for all of them at once.
 */
#define JOB_AFTER_MAX 64
/* So many are waited for together: what has come of each is kept in one place. */
#define JOB_AFTER_ALL_MAX 16

/* Which ends of a run are followed. */
typedef enum JobAfterOn { JOB_AFTER_SUCCESS, JOB_AFTER_FAILURE, JOB_AFTER_ANY } JobAfterOn;

/* One entry of `after:`. */
typedef struct JobAfter {
        char *job;
        JobAfterOn on;
        Mark mark;
} JobAfter;

/* A job that is run when something is the matter with another. */
typedef struct JobHook {
        char *job; /* NULL: none */
        Mark mark;
} JobHook;

typedef struct JobLinks {
        GPtrArray *after; /* JobAfter; NULL: none */
        bool all;         /* every one of them is waited for, not any */
        JobHook on_failure, on_recovery;
} JobLinks;

/* Frees what it has. */
void job_links_clear(JobLinks *links);
/* Return: the entry by which runs of that job are followed, borrowed; NULL: they are not. */
const JobAfter *job_links_after(const JobLinks *links, const char *job);
/* Return: newly allocated (g_strfreev), the jobs of `after:`, in its order. */
char **job_links_parents(const JobLinks *links);
/* Return: whether they say the same; where they stand does not matter. */
bool job_links_equal(const JobLinks *a, const JobLinks *b);

/* Adds every fault of the links of that job that can be seen without any other. */
void job_links_validate(const char *job, const JobLinks *links, Diagnostics *diagnostics);

/* Takes the value of `after:` over: one entry, a list of such, or {all: LIST} or {any: LIST}; the
 * key's table has what may stand in a mapping, and its entry is one job that is followed. */
void job_links_take_after(JobLinks *links, const Key *key, const YamlNode *node,
                          Diagnostics *diagnostics);

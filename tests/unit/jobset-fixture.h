/* Job files of links between jobs in a directory of the test's own, and the set that is loaded from
 * them. */
#pragma once

#include "jobset.h"

typedef struct JobFilesScene {
        char *root;
        JobSet *set;
        DaemonConfig config;
} JobFilesScene;

void scene_begin(JobFilesScene *scene);
void scene_end(JobFilesScene *scene);
/* Writes a file of jobs.d: NULL-terminated "NAME: KEYS", or "NAME" for one without further keys. */
void scene_write(const JobFilesScene *scene, const char *file, const char *const *jobs);
/* Loads the files. */
void scene_load(JobFilesScene *scene);
/* Loads, and expects jobs as "NAME NAME", and errors with ROOT for the root. */
void scene_expect(JobFilesScene *scene, const char *jobs, const char *errors);
